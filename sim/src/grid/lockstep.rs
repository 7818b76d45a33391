//! Two grids side by side: the same calls go to both, the answers are compared in every cycle.
//!
//!              ┌──▶ left ──▶ answer ─┬─▶ answer
//!     call ──▶─┤                     ≟
//!              └──▶ right ─▶ answer ─┘─▶ the first mismatch

use super::{CycleResult, Grid};
use arch::timing;
use std::fmt;

/// Where two grids differed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The cycle, counted from 0.
    pub cycle: u64,
    /// What was asked.
    pub call: String,
    /// What the left grid answered.
    pub left: String,
    /// What the right grid answered.
    pub right: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { cycle, call, left, right } = self;
        write!(f, "cycle {cycle}, {call}: {left} against {right}")
    }
}

/// Two grids that get the same calls. Answers as the left one does.
#[derive(Debug)]
pub struct Lockstep<A, B> {
    left: A,
    right: B,
    cycle: u64,
    mismatch: Option<Mismatch>,
}

impl<A: Grid, B: Grid> Lockstep<A, B> {
    /// Both grids are fresh from reset.
    pub fn new(left: A, right: B) -> Lockstep<A, B> {
        Lockstep { left, right, cycle: 0, mismatch: None }
    }

    /// The first difference, if there was one.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.mismatch.as_ref()
    }

    /// Both grids, to do the same to both in one and the same cycle (a reset).
    pub fn grids_mut(&mut self) -> (&mut A, &mut B) {
        (&mut self.left, &mut self.right)
    }

    /// Both grids.
    pub fn into_grids(self) -> (A, B) {
        (self.left, self.right)
    }

    fn compare<T: PartialEq + fmt::Debug>(&mut self, call: impl FnOnce() -> String, left: T, right: &T) -> T {
        if left != *right && self.mismatch.is_none() {
            let (left, right) = (format!("{left:?}"), format!("{right:?}"));
            self.mismatch = Some(Mismatch { cycle: self.cycle, call: call(), left, right });
        }
        self.cycle += 1;
        left
    }
}

impl<A: Grid, B: Grid> Grid for Lockstep<A, B> {
    fn control_write(&mut self, address: u32, data: u32) {
        self.left.control_write(address, data);
        self.right.control_write(address, data);
        self.cycle += 1;
    }

    fn control_read(&mut self, address: u32) -> u32 {
        let (left, right) = (self.left.control_read(address), self.right.control_read(address));
        let value = self.compare(|| format!("control read of {address:#07x}"), left, &right);
        self.cycle += timing::CONTROL_READ - 1;
        value
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let (left, right) = (self.left.cycle(input, output_ready), self.right.cycle(input, output_ready));
        self.compare(|| format!("cycle(input {input:?}, output_ready {output_ready})"), left, &right)
    }
}
