//! Slices: an element of a spread tensor that is read by its number becomes a tensor of its own.
//!
//!     a = x[2] * r      x on the grid      =>    x.2 += x[k], k in 2..3;   a = x.2 * r
//!
//! The element lies in one PE; as a sum over one lane it goes through the trees to all PEs that need it.

use super::starts;
use crate::fixed::{Kind, Operand, Operation, Tensor};
use crate::placed::Program;
use crate::placed::axis::Axis;
use crate::tensor::{Affine, IterId, Iterator};
use arch::machine::Machine;

/// Replace reads with a constant index along a spread dimension by reads of a new tensor that holds just that slice.
pub(crate) fn slices(program: &Program, machine: &Machine) -> Program {
    let (mut result, operations) = program.taken_apart();
    for (operation, axes) in operations {
        let mut own = operation.clone();
        let lanes = starts::summed(operation, axes, machine);
        for operand in operands(&mut own.kind) {
            if !lanes.is_empty() && starts::is_copy(operand, &lanes, &program.fixed) {
                continue;
            }
            if let Some(slice) = slice(&mut result, operand, operation, axes) {
                *operand = slice;
            }
        }
        result.add(own, axes.clone());
    }
    result
}

/// What an operation reads, in the order in which slices are made.
fn operands(kind: &mut Kind) -> Vec<&mut Operand> {
    match kind {
        Kind::MultiplyAdd { start, product, .. } => {
            let factors = product.iter_mut().flat_map(|(a, b)| [a, b]);
            start.iter_mut().chain(factors).collect()
        }
        Kind::Product { factor, .. } => vec![factor],
        Kind::Divide { dividend, divisor, .. } => vec![dividend, divisor],
        Kind::Function { input, .. } => vec![input],
    }
}

/// What an operand becomes, if it is read by its number where its tensor is spread; the slice is computed by a new operation.
fn slice(result: &mut Program, operand: &Operand, operation: &Operation, axes: &[Axis]) -> Option<Operand> {
    let Operand::Read { tensor, index } = operand else { return None };
    let home = result.tensors[tensor.0].clone();
    let by_number = |d: usize, form: &Affine| form.as_constant().filter(|_| home[d] != Axis::Local);
    if !index.iter().enumerate().any(|(d, form)| by_number(d, form).is_some()) {
        return None;
    }
    // Dimensions that stay, and the iterators that run over them.
    let mut kept: Vec<IterId> = Vec::new();
    for &(iterator, _) in index.iter().flat_map(|form| &form.terms) {
        if !kept.contains(&iterator) {
            kept.push(iterator);
        }
    }
    let mut iterators: Vec<Iterator> = kept.iter().map(|i| operation.iterators[i.0].clone()).collect();
    let mut places: Vec<Axis> = kept.iter().map(|i| axes[i.0]).collect();
    let source = &result.fixed.tensors[tensor.0];
    let shape = iterators.iter().map(|iterator| iterator.high as u32).collect();
    let slice = result.add_temporary(Tensor { shape, ..source.clone() }, places.clone());
    let position = |iterator: IterId| IterId(kept.iter().position(|&i| i == iterator).expect("collected"));
    let mut forms = Vec::new();
    for (d, form) in index.iter().enumerate() {
        forms.push(if let Some(at) = by_number(d, form) {
            iterators.push(Iterator { name: format!("={at}"), low: at, high: at + 1 });
            places.push(home[d]);
            Affine::iterator(IterId(iterators.len() - 1))
        } else {
            Affine { offset: form.offset, terms: form.terms.iter().map(|&(i, c)| (position(i), c)).collect() }
        });
    }
    let one = Operand::Constant { word: 1, fraction: 0 };
    let copy = Operation {
        iterators,
        free: kept.len(),
        out: slice,
        out_index: (0..kept.len()).map(|i| Affine::iterator(IterId(i))).collect(),
        kind: Kind::exact(None, Some((Operand::Read { tensor: *tensor, index: forms }, one))),
        origin: operation.origin.clone(),
    };
    result.add(copy, places);
    Some(Operand::Read { tensor: slice, index: kept.into_iter().map(Affine::iterator).collect() })
}
