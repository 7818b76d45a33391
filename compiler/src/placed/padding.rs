//! Padding: what the last column of a tall index has beyond the end of the index.
//!
//!     q in 0..21 on 4 rows of 8 columns:      column 5 has q = 20 in row 0, and padding in rows 1, 2 and 3
//!
//! No mask ends inside a column, so what is computed of a tall index is computed of its padding, too. That does no harm where zeros lie there
//! and zeros come of them: nothing is added to a sum, nothing saturates, and weights stay 0. The loader fills padding with zeros. What
//! comes from the rows leaves it out, so zeros are written there (`jobs::select`).

use super::axis::Axis;
use super::reshard::{Reshard, Turn};
use crate::fixed::{Finish, Kind, Operand, Operation, Program, Role, for_each_access};
use arch::machine::Machine;

/// Where the padding of a result begins that changes over from rows to tall, as its last element; `None` where it has none, or the operation does
/// not write its end. Of an index that is turned the last element is written by its number.
pub(crate) fn last_before(
    program: &Program,
    operation: &Operation,
    reshard: Reshard,
    machine: &Machine,
) -> Option<i64> {
    let extent = i64::from(program.tensors[operation.out.0].shape[reshard.dimension]);
    let numbered = program.operations.iter().any(|other| {
        other.out == operation.out && other.out_index[reshard.dimension].as_constant() == Some(extent - 1)
    });
    let high = operation.iterators[reshard.iterator].high;
    let ends = high == extent || numbered && high + 1 == extent;
    (reshard.turn == Turn::Tall && ends && extent % i64::from(machine.pus()) != 0).then_some(extent - 1)
}

/// An iterator of an operation that is tall and ends inside a column.
fn ragged(operation: &Operation, axes: &[Axis], machine: &Machine) -> Option<usize> {
    let rows = i64::from(machine.pus());
    (0..axes.len()).find(|&i| axes[i] == Axis::Tall && operation.iterators[i].high % rows != 0)
}

/// Whether it does no harm that operations compute with the padding of their tall iterators, too.
pub(crate) fn is_harmless(
    program: &Program,
    tensors: &[Vec<Axis>],
    iterators: &[Vec<Axis>],
    machine: &Machine,
) -> bool {
    // Tensors whose padding holds zeros.
    let loaded = |role: &Role| matches!(role, Role::Input | Role::State | Role::Parameter(_));
    let mut zero: Vec<bool> = program.tensors.iter().map(|tensor| loaded(&tensor.role)).collect();
    program.operations.iter().zip(iterators).all(|(operation, axes)| {
        let out = operation.out.0;
        let Ok(reshard) = Reshard::of(operation, axes, &tensors[out], machine) else { return false };
        let Some(tall) = ragged(operation, axes, machine) else {
            zero[out] |= reshard.is_some_and(|reshard| last_before(program, operation, reshard, machine).is_some());
            return true;
        };
        if !ends_with_its_tensors(program, tensors, operation, tall) {
            return false;
        }
        let vanishes = |operand: &Operand| match operand {
            Operand::Constant { word, .. } => *word == 0,
            Operand::Read { tensor, index } => {
                let along = |form: &crate::tensor::Affine| form.as_iterator().is_some_and(|i| i.0 == tall);
                zero[tensor.0] && index.iter().any(along)
            }
        };
        let adds_nothing = match &operation.kind {
            Kind::MultiplyAdd { start, product, square, combine, finish, .. } => {
                let both = |(a, b): &(Operand, Operand)| vanishes(a) && vanishes(b);
                let either = |(a, b): &(Operand, Operand)| vanishes(a) || vanishes(b);
                let product =
                    product.as_ref().is_none_or(|product| if *square { both(product) } else { either(product) });
                let start = start.as_ref().is_none_or(|start| tall >= operation.free || vanishes(start));
                product && start && !combine.compares() && (tall >= operation.free || *finish != Finish::Negative)
            }
            Kind::Product { .. } | Kind::Divide { .. } | Kind::Function { .. } => false,
        };
        // Back on the rows masks are exact.
        let leaves = reshard.is_some_and(|reshard| reshard.iterator == tall);
        zero[out] |= adds_nothing && !leaves && tall < operation.free;
        adds_nothing || leaves
    })
}

/// Whether what is behind the end of a tall iterator is padding in all that it indexes, and not more elements.
fn ends_with_its_tensors(program: &Program, tensors: &[Vec<Axis>], operation: &Operation, tall: usize) -> bool {
    let high = operation.iterators[tall].high;
    let mut ends = true;
    for_each_access(operation, |tensor, index, _| {
        let shape = &program.tensors[tensor.0].shape;
        for ((form, axis), &extent) in index.iter().zip(&tensors[tensor.0]).zip(shape) {
            let own = *axis == Axis::Tall && form.as_iterator().is_some_and(|iterator| iterator.0 == tall);
            ends &= !own || i64::from(extent) == high;
        }
    });
    ends
}
