//! Passes from tensor IR to tensor IR, one file each. [`PASSES`] has them by name, in the order of [`canonicalise`].
//!
//! | pass | does |
//! |---|---|
//! | [`names`] | names of the source: where each is computed, which are wanted |
//! | [`contents`] | what is input and result at once becomes two tensors |
//! | [`update`] | gradient descent as nests, for one sample or a batch |
//! | [`dead`] | removes what nobody asks for |
//! | [`empty`] | removes what has no points or elements |
//! | [`infinite`] | numbers beyond all others in the place of infinities |
//! | [`sums::exponentials`] | sums of exponentials count exponents from the largest one |
//! | [`indices`] | computed indices, equations between iterators and other conditions become boxes and affine indices |
//! | [`boxes`] | conditions on iterators become bounds |
//! | [`logic`] | comparison, choice and logic as arithmetic on 0 and 1, rounding and library functions by simpler ones, bits by digits |
//! | [`fold`] | computes what is constant |
//! | [`fuse`] | moves definitions to where they are used |
//! | [`sums::rates`] | moves constant factors of updates to where they are cheapest |
//! | [`sums::scales`] | moves powers of two from before a function into the sum before it |
//! | [`split`] | makes every nest primitive: one operation of fixed-point IR each |
//! | [`duplicate`] | computes equal things once |
//! | [`sums::starts`] | lets a sum start with the weight that is added to it |
//! | [`sums::chain`] | shortens what a small step waits for |
//! | [`align`] | temporaries count their elements as the tensors around them do |
//! | [`steps`] | what changes a weight becomes one term beside it, where its rounding is not that of other sums |
//!
//! [`primitive`] says what a primitive nest is, [`padding`] which tensors stay zero beyond their extents.
//!
//! All of them keep the meaning on real numbers; what they change is where a result is rounded, and that is why they come
//! before fixed-point IR. Each has examples in `tests/stages`, a program before and a program after.

#![allow(clippy::float_cmp, reason = "a coefficient is exactly 1 or it is something else")]

pub mod align;
pub mod boxes;
pub mod contents;
pub mod dead;
mod draft;
pub mod duplicate;
pub mod empty;
pub(crate) mod expr;
pub(crate) mod flow;
pub mod fold;
pub mod fuse;
pub mod indices;
pub mod infinite;
pub mod logic;
pub mod names;
pub mod padding;
mod passes;
pub mod primitive;
pub mod spelled;
pub mod split;
pub mod steps;
pub mod sums;
pub mod update;

pub(crate) use flow::fresh_name;
pub use passes::{PASSES, Pass};

use crate::laws;
use crate::optimisations::Disabled;
use crate::tensor::{self, Program};
use arch::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// These names: inference.
    Prediction {
        /// Names whose values are wanted.
        names: Vec<String>,
        /// States that go on from sample to sample; others are not updated.
        states: Vec<String>,
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

/// What a batch does with the gradients of its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Their mean; an incomplete last batch is left out.
    #[default]
    Mean,
    /// Their sum; an incomplete last batch makes a smaller update.
    Sum,
}

/// Bring a program into the form that [`crate::fixed::lower`] takes: every nest primitive, nothing unneeded. The work grows with the square of
/// the statements; [`Limits::check`](crate::language::Limits::check) refuses programs of too many.
///
/// # Errors
/// What cannot be done to the user's program.
pub fn canonicalise(program: &Program, options: &Options) -> Result<Program, Vec<Diagnostic>> {
    canonicalise_without(program, options, Disabled::NOTHING)
}

/// [`canonicalise`] with fewer means.
///
/// # Errors
/// As [`canonicalise`].
pub fn canonicalise_without(
    program: &Program,
    options: &Options,
    disabled: Disabled,
) -> Result<Program, Vec<Diagnostic>> {
    run(program, options, disabled, &mut |_, _| {})
}

/// [`canonicalise`], with each pass and what it made told to `watch`.
///
/// # Errors
/// As [`canonicalise`].
///
/// # Panics
/// When a pass breaks a law of tensor IR. The result is verified always, what each pass makes where debug assertions are on.
pub fn canonicalise_watched(
    program: &Program,
    options: &Options,
    watch: &mut dyn FnMut(&Pass, &Program),
) -> Result<Program, Vec<Diagnostic>> {
    run(program, options, Disabled::NOTHING, watch)
}

fn run(
    program: &Program,
    options: &Options,
    disabled: Disabled,
    watch: &mut dyn FnMut(&Pass, &Program),
) -> Result<Program, Vec<Diagnostic>> {
    let mut program = program.clone();
    for pass in PASSES.iter().filter(|pass| pass.optimisation.is_none_or(|optimisation| disabled.uses(optimisation))) {
        program = pass.run(&program, options)?;
        if cfg!(debug_assertions) {
            laws::stop_at(tensor::laws(&program), || format!("after {}:\n{program}", pass.name));
        }
        watch(pass, &program);
    }
    tensor::verify(&program);
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{Language, Options as Dialect, parse};

    /// What doubles with every statement is kept where it is: the work grows with the statements, not with the values.
    #[test]
    fn doubled_values_are_not_fused() {
        let doubled = |count: usize| {
            let head = String::from("model_input x[4]; model_output y[4]; iterator i[0:4]; a0[i] = x[i] * x[i]; ");
            let text = (0..count).fold(head, |text, n| text + &format!("a{}[i] = a{n}[i] + a{n}[i]; ", n + 1));
            let text = text + &format!("y[i] = a{count}[i];");
            let (program, _) = parse(Language::Tabla, &text, &Dialect::default()).expect("it is a program");
            let options = Options {
                keep: Keep::Prediction { names: vec!["y".to_owned()], states: Vec::new() },
                batch: Batch::SINGLE,
            };
            let canonical = canonicalise(&program, &options).expect("it is short");
            canonical.nests.iter().map(|nest| nest.body.tree_size(|_| 1)).sum::<u64>()
        };
        assert!(doubled(40) <= 40 * 8, "{}", doubled(40));
    }
}
