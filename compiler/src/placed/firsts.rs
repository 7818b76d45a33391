//! Firsts: an index whose first value is a matter of its own is turned, so that the first comes last.
//!
//!     a[0] = 1;  a[q] = 2 * s[q], q in 1..5, on 2 PEs        =>      a[4] = 1;  a[q] = 2 * s[q], q in 0..4
//!
//!     PE 0:  -  2  4                                                 PE 0:  1  3
//!     PE 1:  1  3  -                                                 PE 1:  2  4
//!
//! A bias takes the first place of an index, and the others would begin in the second lane and reach into one wave more. Values are
//! the same; sums are exact, so their order does not matter. What is streamed is a [piece](super::Piece) that says which of its dimensions are turned.

use super::Program;
use super::classes::Classes;
use super::pieces::alone::MOST_APART;
use super::pieces::rewritten;
use crate::fixed::{self, Kind, Role};
use crate::tensor::Affine;
use arch::machine::Machine;

/// The program with every index turned that fills some lanes evenly without its first value; `None` where there is none.
pub(crate) fn turned(program: &Program, machine: &Machine) -> Option<Program> {
    // What is an iterator or a number stays one, so classes stay what they are.
    let classes = Classes::of(&program.fixed);
    let fills = |class: usize| {
        let rest = classes.extents[&class] - 1;
        let fills = |lanes: u32| lanes > 1 && rest >= lanes && rest.is_multiple_of(lanes);
        // The last ones of a few more than fill the grid may be taken apart.
        let few = rest > machine.pes() && i64::from(rest % machine.pes()) <= MOST_APART;
        [machine.pus(), machine.pes_per_pu(), machine.pes()].into_iter().any(fills) || few
    };
    let even = classes.movable.iter().copied().filter(|&class| fills(class));
    let mut result: Option<Program> = None;
    for class in even {
        result = turn(result.as_ref().unwrap_or(program), &classes, class).or(result);
    }
    result
}

/// Turn one class of indices; `None` where that is not possible, or all operations begin with the first value.
fn turn(program: &Program, classes: &Classes, class: usize) -> Option<Program> {
    let extent = classes.extents[&class];
    let (mut fixed, mut pieces) = (program.fixed.clone(), program.pieces.clone());
    for ((tensor, piece), own) in fixed.tensors.iter().zip(&mut pieces).zip(&classes.tensors) {
        for dimension in (0..own.len()).filter(|&dimension| own[dimension] == class) {
            let streamed_as_it_is = !matches!(tensor.role, Role::Output | Role::Parameter(_));
            if tensor.shape[dimension] != extent || !streamed_as_it_is {
                return None;
            }
            if let Some(piece) = piece {
                // The dimension of the whole tensor that this one is.
                let names = |form: &&mut Affine| form.terms.iter().any(|term| term.0.0 == dimension);
                let mut named = piece.index.iter_mut().enumerate();
                let (whole, form) = named.find(|(_, form)| names(form))?;
                let plain = form.as_iterator().is_some() && piece.shape[whole] == extent;
                if !plain || named.any(|(_, form)| names(&form)) || piece.samples == Some(whole) {
                    return None;
                }
                form.offset = 1;
                piece.turned.push(dimension);
            }
        }
    }
    let mut later = false;
    for (operation, own) in fixed.operations.iter_mut().zip(&classes.iterators) {
        for iterator in (0..own.len()).filter(|&iterator| own[iterator] == class) {
            let range = &mut operation.iterators[iterator];
            let all = (range.low, range.high) == (0, i64::from(extent));
            // Each step of a product is rounded: their order matters.
            let in_order = matches!(operation.kind, Kind::Product { .. }) && iterator >= operation.free;
            if in_order || range.low < 1 && !all {
                return None;
            }
            if !all {
                (range.low, range.high) = (range.low - 1, range.high - 1);
                later = true;
            }
        }
        *operation = rewritten(operation, |tensor, index| {
            let mut index = index.to_vec();
            for (form, _) in index.iter_mut().zip(&classes.tensors[tensor.0]).filter(|(_, own)| **own == class) {
                if let Some(at) = form.as_constant() {
                    *form = Affine::constant((at - 1).rem_euclid(i64::from(extent)));
                }
            }
            (tensor, index)
        });
    }
    fixed::verify(&fixed);
    later.then(|| Program::local(fixed, pieces, program.tile))
}
