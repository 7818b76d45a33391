//! As much of the proof of an image as a budget allows: `build` has a tenth of the time that the compiler took.
//!
//! | the budget allows | is proven |
//! |---|---|
//! | terms of two steps | everything, as by `prove` |
//! | residues of two steps, or of one | every word that the host gets |
//! | less | the first words of a step in the order of the program: the grid makes each of them, and stops after the last one |
//!
//! Work is counted, so that the same image has the same sample on every machine. Where residues differ, terms decide.

use super::expected::Expected;
use super::residues::Residues;
use super::{Verdict, Watched, incomparable, prove, transfers};
use crate::array::Array;
use crate::array::values::Values;
use crate::driver::{Driver, Run};
use crate::grid::Stalls;
use crate::pace::multiply_adds;
use arch::image::Image;
use compiler::fixed::Program;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::Cell;

/// Multiply-adds of program and grid that are worth as much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// As terms.
    pub terms: u64,
    /// As residues.
    pub residues: u64,
}

/// What was compared at a random point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sample {
    /// Batches that ran; the last one not to its end, if this is a sample.
    pub steps: usize,
    /// Words that are the same polynomials: of the results; of all that a step computes, if this is a sample.
    pub words: u64,
    /// Words that there are.
    pub of: u64,
    /// Binary logarithm of the probability that a wrong word is not seen.
    pub log2_error: i32,
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Sample { steps, words, of, log2_error } = self;
        let error = -log2_error;
        if words < of {
            write!(f, "identical polynomials in the first {words} of {of} words of a step, a sample, p < 2^-{error}")
        } else {
            let steps = if *steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
            write!(f, "identical polynomials in {words} of {of} words of {steps}, p < 2^-{error}")
        }
    }
}

/// Compare an image with its program as far as the budget allows. `source` as in [`prove`].
///
/// # Panics
/// When an instruction does not fit its machine: the compiler has checked that.
pub fn prove_within(program: &Program, image: &Image, source: &str, budget: Work) -> Verdict {
    if let Some(reason) = incomparable(program, image) {
        return Verdict::Incomparable(reason);
    }
    let work: u64 = program.operations.iter().map(multiply_adds).sum();
    let terms = || prove(program, image, source, 2, &mut |_, _| true);
    if work <= budget.terms {
        return terms();
    }
    let sampled = match budget.residues / work.max(1) {
        0 => first_words(program, image, budget.residues).or_else(|| whole(program, image, 1)),
        1 => whole(program, image, 1),
        _ => whole(program, image, 2),
    };
    sampled.map_or_else(terms, Verdict::Sampled)
}

/// Every word that the host gets of some steps; nothing if one differs.
fn whole(program: &Program, image: &Image, steps: usize) -> Option<Sample> {
    let mut residues = Residues::new(&image.machine);
    let expected = Expected::of(program, image, steps, &mut residues);
    let run = Run { load_model: Some(&expected.model), steps: &expected.inputs, emit_model: true };
    let grid = Array::of(&image.machine, residues.clone());
    let outcome = Driver::new(grid, image.clone(), Stalls::none()).run(run).ok()?;
    let (mut words, mut same) = (0, true);
    let walked = expected.walk(image, &outcome, |_, found, expected| {
        words += 1;
        same &= residues.shown(expected) == found;
    });
    walked.ok().filter(|()| same)?;
    Some(Sample { steps, words, of: words, log2_error: residues.log2_error() })
}

/// The first words of a step, up to so many multiply-adds; nothing if the grid does not make one of them.
fn first_words(program: &Program, image: &Image, budget: u64) -> Option<Sample> {
    let mut residues = Residues::new(&image.machine);
    let elements = |number: usize| -> (u64, u64) {
        let operation = &program.operations[number];
        let iterators = operation.iterators[..operation.free].iter();
        let elements = iterators.map(compiler::tensor::Iterator::extent).product::<u64>();
        (elements, multiply_adds(operation).div_ceil(elements.max(1)).max(1))
    };
    let left = Cell::new(budget);
    let expected = Expected::up_to(program, image, 1, &mut residues, |computed| {
        left.set(left.get().saturating_sub(elements(computed.operation).1));
        left.get() > 0
    });
    residues.await_grid();
    let run = Run { load_model: Some(&expected.model), steps: &expected.inputs, emit_model: true };
    let own = residues.clone();
    let mut go_on = |_, _| own.awaited() > 0;
    let grid = Array::of(&image.machine, residues.clone());
    let total = transfers(image, 1);
    let mut grid = Watched { grid, watch: &mut go_on, done: 0, total, cycles: 0, stopped: false };
    // A grid that is stopped gives up.
    let _ = Driver::new(&mut grid, image.clone(), Stalls::none()).run(run);
    let of = (0..program.operations.len()).map(|number| elements(number).0).sum();
    let sample = Sample { steps: 1, words: expected.computed.len() as u64, of, log2_error: residues.log2_error() };
    (residues.awaited() == 0).then_some(sample)
}
