//! Fixed-point IR to image.
//!
//!     fixed::Program ─▶ pieces ─▶ place ─▶ select ─▶ fuse ─▶ scalar ─▶ colour ─▶ schedule ─▶ allocate ─▶ encode ─▶ Image
//!                                  axes     jobs              which unit  pads     cycles       words       │
//!                       several variants and placements; the shortest step goes on                       verify (replays the image)
//!
//! No pass here knows the source language, and none knows an algorithm by name. What the machine cannot do is refused
//! with E-BACKEND; nothing is silently spilled or approximated.

mod allocate;
mod board;
mod cost;
mod encode;
mod fitted;
mod fuse;
mod job;
mod park;
mod pieces;
mod place;
mod refuse;
mod scalar;
mod schedule;
mod seam;
mod search;
mod select;
mod steps;
mod streams;
mod tile;
mod trace;
mod verify;
mod windows;

use search::{Choice, search};

pub use allocate::Words;
pub use board::Cause;
pub use fitted::compile_fitted;
pub use place::{Axis, Placement};
pub use refuse::{Refusal, needs_divider, needs_extremes};
pub use steps::Step;
pub use verify::verify;

use crate::fixed::Program;
use arch::image::Image;
use arch::machine::Machine;

/// An image, and what is worth knowing about how it came about.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What is loaded into the grid.
    pub image: Image,
    /// Where every tensor lies: its name and the axis of each dimension.
    pub placement: Vec<(String, Vec<Axis>)>,
    /// Alu and scalar instructions of the step, in the order in which they start.
    pub steps: Vec<Step>,
    /// For each scalar instruction how many alu instructions of the step come before it in the order of the program.
    pub follows: Vec<u32>,
    /// Scratchpad words in use, per PE.
    pub used: Words,
    /// Samples of a tile, where the batch runs in tiles ([`Image::tiles`] of them).
    pub tile: Option<u32>,
    /// What else was scheduled, best first; the one that was chosen is the first.
    pub alternatives: Vec<Alternative>,
}

/// A placement that was scheduled, chosen or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// The axis of each dimension, by tensor.
    pub placement: Vec<(String, Vec<Axis>)>,
    /// Cycles from the start of a step to the start of the next, if its input is there.
    pub step: u64,
    /// Transfers of one step's input.
    pub load: u64,
    /// Instructions of the scalar unit.
    pub scalar: usize,
}

impl Alternative {
    /// The longer of computing and loading.
    pub fn cycles(&self) -> u64 {
        self.step.max(self.load)
    }
}

/// Compile for a machine. `line_of` gives the source line of a span, for listings.
///
/// # Errors
/// When the program needs more than the machine has, or something it cannot do.
pub fn compile(
    program: &Program,
    machine: &Machine,
    line_of: &dyn Fn(arch::Span) -> usize,
) -> Result<Compiled, Refusal> {
    compile_as(program, machine, line_of, Choice::Best)
}

/// Compile with some other placement, which would not be chosen: results do not depend on it, and tests see to that.
///
/// # Errors
/// As [`compile`].
pub fn compile_elsewhere(program: &Program, machine: &Machine, number: usize) -> Result<Compiled, Refusal> {
    compile_as(program, machine, &|_| 0, Choice::Spread { number })
}

fn compile_as(
    program: &Program,
    machine: &Machine,
    line_of: &dyn Fn(arch::Span) -> usize,
    choice: Choice,
) -> Result<Compiled, Refusal> {
    let found = search(program, machine, choice)?;
    let image = found.image(program, machine, line_of)?;
    Ok(found.compiled(image, line_of))
}
