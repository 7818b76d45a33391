//! Passes from tensor IR to tensor IR, one file each, in the order of [`canonicalise`].
//!
//! | pass | does |
//! |---|---|
//! | [`contents`] | what is input and result at once becomes two tensors |
//! | [`update`] | gradient descent as nests, for one sample or a batch |
//! | [`dead`] | removes what nobody asks for |
//! | [`boxes`] | conditions on iterators become bounds |
//! | [`logic`] | comparison, choice and logic as arithmetic on 0 and 1, rounding and library functions by simpler ones |
//! | [`fold`] | computes what is constant |
//! | [`fuse`] | moves definitions to where they are used |
//! | [`rates`] | moves constant factors of updates to where they are cheapest |
//! | [`split`] | makes every nest primitive: one operation of fixed-point IR each |
//! | [`duplicate`] | computes equal things once |
//! | [`chain`] | shortens what a small step waits for |
//! | [`align`] | temporaries count their elements as the tensors around them do |
//!
//! [`primitive`] says what a primitive nest is, [`padding`] which tensors stay zero beyond their extents.
//!
//! All of them keep the meaning on real numbers; what they change is where a result is rounded, and that is why they come
//! before fixed-point IR.

#![allow(clippy::float_cmp, reason = "a coefficient is exactly 1 or it is something else")]

pub mod align;
pub mod boxes;
pub mod chain;
pub mod contents;
pub mod dead;
pub mod duplicate;
mod expr;
mod flow;
pub mod fold;
pub mod fuse;
mod library;
mod linear;
pub mod logic;
pub mod padding;
pub mod primitive;
pub mod rates;
pub mod split;
pub mod update;

use crate::tensor::Program;
use arch::{Code, Diagnostic};

/// What of a program is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which results.
    pub keep: Keep,
    /// How many samples make one step.
    pub batch: Batch,
}

/// Which results of a step are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Keep {
    /// Every name of the source program, and the updates: evaluation.
    AllNames,
    /// The updates and these names: training.
    Training {
        /// Names whose values are wanted after each step.
        predictions: Vec<String>,
    },
    /// These names, no updates: inference.
    Prediction {
        /// Names whose values are wanted.
        names: Vec<String>,
    },
}

/// Samples per step, and how their gradients are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Samples per step, at least 1.
    pub size: u32,
    /// How gradients are combined.
    pub reduction: Reduction,
}

impl Batch {
    /// One sample per step.
    pub const SINGLE: Batch = Batch { size: 1, reduction: Reduction::Mean };
}

/// How the gradients of a batch are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
}

/// Bring a program into the form that [`crate::fixed::lower`] takes: every nest primitive, nothing unneeded.
pub fn canonicalise(program: &Program, options: &Options) -> Result<Program, Vec<Diagnostic>> {
    limit_expressions(program)?;
    let mut program = contents::separate_contents(&select(program, &options.keep));
    if options.batch.size > 1 {
        program = update::vectorise(&program, options.batch.size)?;
    }
    program = update::lower_descents(&program, options.batch);
    program = dead::remove_dead_nests(&program);
    program = boxes::split_boxes(&program);
    program = split::name_operands(&program);
    program = logic::rewrite_logic(&program);
    program = settle(program, fold::fold_constants);
    program = fuse::forward_copies(&program);
    program = fuse::fuse_maps(&program);
    program = fuse::merge_sums(&program);
    program = settle(program, fold::fold_constants);
    program = dead::remove_dead_nests(&program);
    program = rates::rates_after_sums(&program);
    program = rates::rates_into_sums(&program);
    program = split::split_into_primitives(&program);
    let shared = duplicate::share_duplicates(&program);
    if shared != program {
        // What had two readers may have one now, and become part of it.
        program = split::split_into_primitives(&fuse::fuse_maps(&shared));
        program = duplicate::share_duplicates(&program);
    }
    program = dead::remove_dead_nests(&program);
    program = chain::shorten_chains(&program);
    program = align::align_origins(&program);
    program = update::updates_last(&program);
    Ok(dead::remove_dead_tensors(&program))
}

/// Operations of one statement that the passes take on; their work grows with its square.
const LARGEST_BODY: usize = 2048;

/// Refuse statements that are longer than anybody writes.
fn limit_expressions(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let too_long = program.nests.iter().filter(|nest| nest.body.nodes.len() > LARGEST_BODY);
    let errors: Vec<Diagnostic> = too_long
        .map(|nest| {
            let message = format!(
                "this expression has {} operands and operations, the limit is {LARGEST_BODY}",
                nest.body.nodes.len()
            );
            Diagnostic::new(Code::Limit, nest.origin.span(), message)
                .with_help("name parts of it in statements of their own")
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Repeat a pass until it changes nothing. (A constant that is not a number differs from itself: hence the bound.)
fn settle(mut program: Program, pass: fn(&Program) -> Program) -> Program {
    for _ in 0..16 {
        let next = pass(&program);
        if next == program {
            break;
        }
        program = next;
    }
    program
}

/// Leave the names and updates that are wanted.
fn select(program: &Program, keep: &Keep) -> Program {
    let mut result = program.clone();
    match keep {
        Keep::AllNames => {}
        Keep::Training { predictions } => result.names.retain(|(name, _)| predictions.contains(name)),
        Keep::Prediction { names } => {
            result.names.retain(|(name, _)| names.contains(name));
            result.descents.clear();
            result.updates.clear();
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{Language, Options as Dialect, parse};

    #[test]
    fn endless_expressions_are_refused() {
        let text = format!("model_input x; a = x{};", " + x".repeat(20_000));
        let (program, _) = parse(Language::Tabla, &text, &Dialect::default()).expect("it is a program");
        let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
        let errors = canonicalise(&program, &options).expect_err("it is too long");
        assert_eq!(errors[0].code, Code::Limit);
    }
}
