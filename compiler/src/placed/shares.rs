//! Shares: a batch whose samples are divided over several machines.
//!
//!     h    = sum[i](w[i] * x[i])           of each sample, on the machine that has it
//!     s[i] = sum over samples d * x[i]     a part on each machine, unrounded; the parts are added modulo 2^A
//!     w[i] = w[i] - 0.3 * s[i]             once per batch, on every machine the same
//!
//! The parts are those of [tiles](super::tile): what can be cut into tiles can be divided. Addition modulo 2^A is associative, so the words do
//! not depend on how the samples are divided. A largest or smallest value over the batch would have to be compared, not added: it is refused.

use super::tile::{self, When, Whole};
use crate::fixed::{Kind, Program};
use arch::{Code, Diagnostic};

/// When an operation of a divided batch is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Once per batch, before its samples: it needs none of them.
    Before,
    /// For each sample.
    Sample,
    /// For each sample, as a sum over all of them.
    Sum,
    /// Once per batch, with the sums.
    After,
}

/// A batch that can be divided.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// What is done with one sample: the program with a batch of 1, whose sums are those of the whole batch.
    pub sample: Program,
    /// For each of its operations.
    pub parts: Vec<Part>,
    /// Samples of the whole batch.
    pub batch: u32,
}

/// What of a batch each machine does.
///
/// # Errors
/// There is no batch, or what needs all its samples at once.
pub fn shares(program: &Program) -> Result<Shares, Diagnostic> {
    let refused = |Whole { why, span }: Whole| {
        Diagnostic::new(Code::Backend, span, format!("the batch cannot be divided: {why}"))
            .with_help("train on one machine, or without what brings the samples of a batch together")
    };
    let Some(batch) = tile::batch(program) else {
        let message = "there is nothing to divide: a step takes one sample";
        return Err(Diagnostic::global(Code::Backend, message).with_help("use a larger batch: --batch N"));
    };
    let sample = tile::cut(program, 1).map_err(refused)?.fixed;
    let tiles = tile::tiles(program).map_err(refused)?;
    let of_sample = tile::of_samples(program);
    let mut parts = Vec::new();
    for ((operation, when), of_sample) in program.operations.iter().zip(tiles).zip(of_sample) {
        let compares = matches!(operation.kind, Kind::MultiplyAdd { combine, .. } if combine.compares());
        if when == When::Over && compares {
            let why =
                format!("`{}` is the largest or smallest value of a batch", program.tensors[operation.out.0].name);
            return Err(refused(Whole { why, span: operation.origin.span() }));
        }
        parts.push(match when {
            When::Every if of_sample => Part::Sample,
            When::Every => Part::Before,
            When::Over => Part::Sum,
            When::Last => Part::After,
        });
    }
    Ok(Shares { sample, parts, batch })
}
