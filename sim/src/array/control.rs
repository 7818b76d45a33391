//! Control alone: a grid that holds nothing.
//!
//! Which beats are issued when does not depend on a word (docs/machine.md, section 1). Who only asks for cycles has no use for words, and a
//! grid without them takes a fraction of the time.

use super::values::Values;
use arch::isa::{Combine, Finish, RootInstruction};

/// Words and sums that are not there; every word that leaves is 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Control;

impl Values for Control {
    type Word = ();
    type Sum = ();
    const EXIST: bool = false;

    fn unwritten_words(&mut self, count: usize) -> Vec<()> {
        vec![(); count]
    }

    fn unwritten_sums(&mut self, count: usize) -> Vec<()> {
        vec![(); count]
    }

    fn constant(&mut self, _: i64) {}

    fn received(&mut self, _: i64) {}

    fn shown(&self, (): ()) -> i64 {
        0
    }

    fn shown_sum(&self, (): &()) -> i128 {
        0
    }

    fn nothing(&mut self, _: Combine) {}

    fn start(&mut self, (): (), _: u32) {}

    fn add(&mut self, (): &mut (), (): (), (): ()) {}

    fn subtract(&mut self, (): &mut (), (): (), (): ()) {}

    fn compare(&mut self, _: Combine, (): &mut (), (): (), (): ()) {}

    fn square(&mut self, _: Combine, (): &mut (), (): (), (): ()) {}

    fn join(&mut self, _: Combine, (): &mut (), (): &()) {}

    fn finish(&mut self, sums: &[()], _: &[bool], _: Finish, _: u32, words: &mut Vec<()>) -> bool {
        words.resize(words.len() + sums.len(), ());
        false
    }

    fn root(&mut self, (): &(), _: &RootInstruction, _: &[(i64, i64)]) -> ((), bool) {
        ((), false)
    }

    fn low(&mut self, (): &()) {}

    fn part(&mut self, (): &(), _: u32) {}

    fn either(&mut self, (): (), (): ()) {}
}
