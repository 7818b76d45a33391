//! Gradients derived: from what is minimised to a gradient for every weight.
//!
//! ```text
//! state w[3]                           state w[3]                        the program as it was,
//! h += w[i] * x[i]                     h += w[i] * x[i]
//! e = squared(h, y)             =>     h.gradient = h - y                then its adjoint, in reverse order
//!                                      w.gradient[i] = h.gradient * x[i]
//! minimise e, rate 0.1                 w -= 0.1 * w.gradient
//! ```
//!
//! Reverse mode, as a rewriting of tensor IR. Every Nest is a linear map from small changes of what it reads to a small change of
//! what it writes; its adjoint is the transposed map, which is a Nest again:
//!
//! ```text
//! out[o]  += a[f] * b[g]      over a box      =>     a.gradient[f] += out.gradient[o] * b[g]      over the same box
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`losses`] | the library of losses: names, values, stable derivatives |
//! | [`training`] | what the `[train]` table says about it |
//! | [`optimisers`] | how a gradient changes its weights |
//! | `links` | finds the sigmoid, softmax or exponential that made a prediction |
//! | `versions` | gives every element one value, so that the adjoint can read it afterwards |
//! | `activity` | which values lie between weights and objective |
//! | `extremes` | which point an extreme is: the first |
//! | `sweep` | the adjoint of each Nest, last one first |
//! | `partial` | derivatives inside the body of a Nest |
//! | `functions` | derivatives of the library's functions |
//! | `scatter` | index maps turned round: what was read at `i + k` is added up at `p` |
//! | `gradients` | sums of contributions as Nests |
//! | `builder` | writes bodies |
//!
//! Where a derivative jumps, one side is taken, always the same:
//!
//! | at the kink of | derivative |
//! |---|---|
//! | `max(x, c)`, `min(x, c)` where `c` does not vary with a weight | 0 (so that of `relu` at 0 is 0) |
//! | `max(a, b)`, `min(a, b)` where both vary | the first operand's |
//! | the largest or smallest of many values | that of the first one, in the order of the iterators; what it starts from comes before them |
//! | `abs`, absolute error | 0 |
//! | comparisons and logic | 0 everywhere: they select, they do not vary |
//!
//! Operations without a derivative (rounding, remainders by a weight, whole numbers) are refused between weights and objective.
//! The result is an ordinary program with [`Role::Gradient`] tensors and [`Descent`]s: batches, tiles and everything else work as for
//! gradients that somebody wrote.

mod activity;
mod builder;
mod extremes;
mod functions;
mod gradients;
mod links;
pub mod losses;
pub mod optimisers;
mod partial;
mod scatter;
mod sweep;
pub mod training;
mod versions;

use crate::canonical::contents::separate_contents;
use crate::tensor::{self, Descent, Element, Program, Role, TensorId};
use activity::Activity;
use arch::{Code, Diagnostic, Span};
use losses::Applied;

/// What a training step makes smaller.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// The scalar.
    pub value: TensorId,
    /// Losses of the library that it is computed from: they know their derivatives.
    pub losses: Vec<Applied>,
    /// State tensors that are trained.
    pub weights: Vec<TensorId>,
    /// The learning rate; without one there are gradients and no update.
    pub rate: Option<f64>,
    /// Where it is said.
    pub span: Span,
}

/// The program with a gradient for every weight, and the descents.
///
/// # Errors
/// E-LINK: a weight does not matter, or a loss does not fit its prediction; E-GRADIENT: something on the way has no derivative.
pub fn derive(program: &Program, objective: &Objective) -> Result<Program, Vec<Diagnostic>> {
    let (program, objective) = versions::assign_once(&separate_contents(program), objective);
    let activity = Activity::of(&program, &objective);
    check_weights(&program, &objective, &activity)?;
    let program = extremes::of_elements(&program, &activity);
    let activity = Activity::of(&program, &objective);
    let (mut program, gradients) = sweep::sweep(program, &objective, &activity).map_err(|refused| vec![refused])?;
    for (&state, gradient) in objective.weights.iter().zip(gradients) {
        let tensor = &mut program.tensors[gradient.0];
        tensor.role = Role::Gradient(state);
        let name = tensor.name.clone();
        program.names.push((name, gradient));
        if let Some(rate) = objective.rate {
            program.descents.push(Descent { state, gradient, rate, span: objective.span });
        }
    }
    tensor::verify(&program);
    Ok(program)
}

/// Every weight is a real number that the objective depends on.
fn check_weights(program: &Program, objective: &Objective, activity: &Activity) -> Result<(), Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    for &weight in &objective.weights {
        let tensor = &program.tensors[weight.0];
        if tensor.element != Element::Real {
            let message = format!("`{}` has whole numbers, which cannot be trained", tensor.name);
            wrong.push(Diagnostic::new(Code::Gradient, tensor.span, message));
        } else if !activity.active(weight) {
            let message = format!("what is minimised does not vary with `{}`", tensor.name);
            wrong.push(
                Diagnostic::new(Code::Link, tensor.span, message)
                    .with_label("a weight without influence")
                    .with_note(objective.span, "what is minimised")
                    .with_help("comparisons select and do not vary; what is not to be trained is an input"),
            );
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
