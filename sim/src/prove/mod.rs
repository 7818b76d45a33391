//! The proof that an image computes what its fixed-point program says, for all inputs and weights.
//!
//!     fixed::Program ──operation by operation──▶ terms ─┐
//!                                                       ├─ equal numbers: proven;  others: the first element that differs, and who made it
//!     Image ──the array, cycle by cycle───────▶ terms ──┘
//!
//! A run of a few steps is simulated with *terms* in place of numbers: what the host sends are unknowns, a sum is a multiset of products of
//! terms modulo 2^A, and roundings, tables and quotients are functions of which only that is known that equal operands give equal
//! results. The grid is [`crate::array`] itself, which computes with [`symbols`]; the host is its driver. So control, addresses, masks, banks,
//! tiles, loading and emission are those of the simulation that is compared with the hardware in every cycle.
//!
//! What is proven: for all words of inputs and weights, every element that the program computes and the host gets, and every weight after
//! the last step, is the same word. Elements that the program leaves undefined are not compared. What is not said: that the machine behaves
//! as the array does (lockstep and formal checks of the hardware say it), and that the rest of an endless run is like its first steps; both banks
//! and all tiles have been in use after two, and what a step leaves behind in memory are terms that nobody expects.
//!
//! | module | holds |
//! |---|---|
//! | [`terms`], [`sums`], [`tables`] | words and sums for all inputs at once; equal ones have one number |
//! | [`symbols`] | the grid that computes with them |
//! | [`reference`](mod@reference), [`expected`] | the fixed-point program that does, and what the host should get |
//! | [`residues`], [`sampled`] | the same at a random point of a field, where terms take too long; of large programs the first words |
//! | [`evaluate`] | terms at certain inputs |
//! | [`blame`], [`likeness`] | from two terms that differ to the first wrong word, and the instruction |
//! | [`witness`] | inputs that show the difference |
//! | [`difference`] | what is told of it |
//! | [`show`] | terms in words |

mod blame;
mod difference;
mod evaluate;
mod expected;
mod hash;
mod likeness;
mod reference;
mod residues;
mod sampled;
mod show;
mod sums;
mod symbols;
mod tables;
mod terms;
#[cfg(test)]
mod tests;
mod witness;

pub use difference::{Cause, Difference, Element, Operand, Place, When, Witness};
pub use sampled::{Sample, Work, prove_within};

use blame::Mismatch;
use difference::Listing;
use expected::Expected;

use crate::array::Array;
use crate::driver::{Driver, Outcome, Run};
use crate::grid::{CycleResult, Grid, Stalls};
use arch::image::{Feed, Image};
use compiler::fixed::{Program, SumBound};
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use symbols::Symbols;
use terms::{Term, Terms};

/// What has been proven, and how much work it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Proof {
    /// Batches that ran.
    pub steps: usize,
    /// Clock cycles of them.
    pub cycles: u64,
    /// Words that are equal for all inputs.
    pub words: u64,
    /// Words to which the program gives no value.
    pub undefined: u64,
    /// Different words of program and grid.
    pub terms: u64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Equal for all inputs.
    Proven(Proof),
    /// As far as it was looked at, the same polynomials at a random point.
    Sampled(Sample),
    /// A word differs; some inputs show it.
    Refuted(Box<Difference>),
    /// Two terms differ, but no inputs were found that show it: the proof needs a law of arithmetic that it does not know.
    Undecided(Box<Difference>),
    /// The grid does not take or give what it should.
    Stuck(String),
    /// Their words cannot be compared.
    Incomparable(String),
    /// The watcher did not want to wait.
    Cancelled,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Proven(Proof { steps, words, .. }) => {
                write!(f, "proven: {words} words of {steps} steps are equal for all inputs and weights")
            }
            Verdict::Sampled(sample) => sample.fmt(f),
            Verdict::Refuted(difference) => write!(f, "refuted: {difference}"),
            Verdict::Undecided(difference) => write!(f, "not proven: {difference}; no inputs were found that show it"),
            Verdict::Stuck(why) => write!(f, "refuted: {why}"),
            Verdict::Incomparable(why) => write!(f, "not proven: {why}"),
            Verdict::Cancelled => write!(f, "stopped before anything was proven"),
        }
    }
}

/// Who is told of the words that came and went, and of all there will be; false stops the work.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Compare an image with its program over so many batches. `source` is the text of the program, for the lines of instructions; it may
/// be empty.
///
/// # Panics
/// When an instruction does not fit its machine: the compiler has checked that.
pub fn prove(program: &Program, image: &Image, source: &str, steps: usize, watch: Watch<'_>) -> Verdict {
    prove_on(program, Listing { image, source }, steps, watch, |symbols| Array::of(&image.machine, symbols))
}

/// The same on a grid that is made of these values.
fn prove_on(
    program: &Program,
    listing: Listing<'_>,
    steps: usize,
    watch: Watch<'_>,
    grid: impl FnOnce(Symbols) -> Array,
) -> Verdict {
    let image = listing.image;
    if let Some(reason) = incomparable(program, image) {
        return Verdict::Incomparable(reason);
    }
    let shared = Rc::new(RefCell::new(Terms::new(image.machine.word(), image.machine.accumulator())));
    let expected = Expected::of(program, image, steps, &mut Symbols(shared.clone()));
    let known = shared.borrow().len();
    let run = Run { load_model: Some(&expected.model), steps: &expected.inputs, emit_model: true };
    let total = transfers(image, steps);
    let mut grid = Watched { grid: grid(Symbols(shared.clone())), watch, done: 0, total, cycles: 0, stopped: false };
    let outcome = Driver::new(&mut grid, image.clone(), Stalls::none()).run(run);
    if grid.stopped {
        return Verdict::Cancelled;
    }
    drop(grid);
    let terms = shared.borrow();
    match outcome {
        Ok(outcome) => compare(&expected, &terms, known, listing, &outcome),
        Err(stuck) => Verdict::Stuck(stuck.to_string()),
    }
}

/// Why words of the two cannot be compared at all.
fn incomparable(program: &Program, image: &Image) -> Option<String> {
    let (word, accumulator) = (image.machine.word(), image.machine.accumulator());
    if program.word != word {
        return Some(format!("the program has words of {} bits, the machine of {word}", program.word));
    }
    // A sum that fits is the same in every accumulator; one of which only ranges say so may wrap around.
    let bits = |operation: &compiler::fixed::Operation| match operation.bound() {
        SumBound::Formats => operation.sum_bits(word) <= accumulator,
        SumBound::Ranges => accumulator == program.accumulator,
    };
    let wide = program.operations.iter().find(|operation| !bits(operation));
    wide.map(|operation| {
        let name = &program.tensors[operation.out.0].name;
        format!(
            "sums of `{name}` may wrap around in accumulators of {accumulator} bits, other than in {}",
            program.accumulator
        )
    })
}

/// Transfers of a whole run.
fn transfers(image: &Image, steps: usize) -> u64 {
    let beats = |feeds: &[Feed]| feeds.iter().map(Feed::beats).sum::<u64>();
    let each = beats(&image.step_in) + beats(&image.step_out);
    beats(&image.model_in) + steps as u64 * each + beats(&image.model_out)
}

/// Every word that came out with every word that should; `known` terms are those of the program.
fn compare(
    expected: &Expected<'_, Term>,
    terms: &Terms,
    known: usize,
    listing: Listing<'_>,
    outcome: &Outcome,
) -> Verdict {
    let mut proof =
        Proof { steps: expected.after.len(), cycles: outcome.cycles, terms: terms.len() as u64, ..Proof::default() };
    let mut wrong: Vec<Mismatch> = Vec::new();
    let walked = expected.walk(listing.image, outcome, |(tensor, element, when), found, expected| {
        let found = Term(found as u32);
        if found == expected {
            proof.words += 1;
        } else if wrong.len() < MOST_WRONG {
            if blame::is_undefined(terms, expected) {
                proof.undefined += 1;
            } else {
                wrong.push(Mismatch { tensor, element, when, expected, found });
            }
        }
    });
    if let Err(stuck) = walked {
        return Verdict::Stuck(stuck);
    }
    if wrong.is_empty() {
        return Verdict::Proven(proof);
    }
    let difference = Box::new(blame::difference(terms, (expected, known), listing, &wrong));
    if difference.witness.is_some() { Verdict::Refuted(difference) } else { Verdict::Undecided(difference) }
}

/// Wrong words that are looked at.
const MOST_WRONG: usize = 256;

/// A grid whose transfers are counted, and which somebody may stop.
struct Watched<'a> {
    grid: Array,
    watch: Watch<'a>,
    done: u64,
    total: u64,
    cycles: u64,
    stopped: bool,
}

/// Cycles between two looks at the watcher.
const LOOK: u64 = 1 << 10;

impl Grid for Watched<'_> {
    fn control_write(&mut self, address: u32, data: u32) {
        self.grid.control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.grid.control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        self.cycles += 1;
        if self.cycles.is_multiple_of(LOOK) && !self.stopped {
            self.stopped = !(self.watch)(self.done, self.total);
        }
        if self.stopped {
            // Nothing moves any more, and the driver gives up.
            return CycleResult::default();
        }
        let result = self.grid.cycle(input, output_ready);
        self.done += u64::from(result.input_taken) + u64::from(!result.output.is_empty());
        result
    }
}
