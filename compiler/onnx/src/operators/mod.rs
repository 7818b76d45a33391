//! Operators, by what they have in common. Each file translates some of them and leaves the others to the next.

mod attention;
mod control;
mod convolution;
mod elementwise;
mod equivalents;
mod independent;
mod index;
mod integers;
mod layout;
mod learned;
mod loss;
mod matrix;
mod norm;
mod pool;
mod quantised;
mod recurrent;
mod reduction;
mod resize;
mod scatter;
mod sequence;

use crate::build::{Translated, unsupported};
use crate::call::{Call, Slot};
use crate::graph::Lowering;

/// Translates a node, or leaves it to others.
type File = fn(&mut Lowering<'_, '_>, &Call<'_, '_>) -> Translated<Option<Vec<Slot>>>;

/// Files of operators, in the order in which they are asked.
const FILES: &[File] = &[
    quantised::tflite::translate,
    elementwise::translate,
    layout::translate,
    matrix::translate,
    reduction::translate,
    norm::translate,
    convolution::translate,
    pool::translate,
    index::translate,
    scatter::translate,
    loss::translate,
    quantised::translate,
    resize::translate,
    recurrent::translate,
    attention::translate,
    learned::translate,
    sequence::translate,
];

/// The results of a node.
pub(crate) fn translate<'m>(l: &mut Lowering<'_, 'm>, c: &Call<'_, 'm>, depth: usize) -> Translated<Vec<Slot>> {
    match control::translate(l, c, depth)? {
        Some(results) => Ok(results),
        None => simple(l, c),
    }
}

/// The results of a node without bodies.
fn simple(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    for file in FILES {
        if let Some(results) = file(l, c)? {
            return Ok(results);
        }
    }
    unsupported(format!("the operator {} is not supported", c.node.operator), equivalents::of(c.node.operator))
}
