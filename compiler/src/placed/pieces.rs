//! Pieces: an index that does not fill the grid evenly is cut into a part that does, and a rest with a placement of its own.
//!
//!     t[i] = sum[l](w[i][l] * x[l])    i in 0..138, 64 PEs    =>    t.a[i] = sum[l](w.a[i][l] * x[l])      i in 0..128
//!                                                                   t.b[i] = sum[l](w.b[i][l] * x.b[l])    i in 0..10
//!
//! Three beats per `l` become two, and a rest that may lie on other axes. What the rest reads and both parts share, `x`, is loaded
//! twice, so that it can lie elsewhere, too. Nothing is rounded differently: each element is computed as before.

pub(crate) mod alone;

use super::classes::Classes;
use super::{Piece, Program};
use crate::fixed::{Kind, Operand, Operation, Role, Tensor, for_each_access};
use crate::tensor::{Affine, TensorId};
use arch::machine::Machine;
use std::collections::BTreeMap;

impl Piece {
    /// The piece that begins at this index of one of its dimensions.
    fn behind(&self, dimension: usize, at: i64) -> Piece {
        let mut rest = self.clone();
        for form in &mut rest.index {
            let own = form.terms.iter().find(|term| term.0.0 == dimension);
            form.offset += own.map_or(0, |&(_, coefficient)| coefficient * at);
        }
        rest
    }
}

/// The program without the inputs that nothing reads: the labels of a prediction need not come in.
pub(crate) fn without_unread(program: &Program) -> Program {
    let Program { fixed, pieces, .. } = program;
    let mut read = vec![false; fixed.tensors.len()];
    for operation in &fixed.operations {
        for_each_access(operation, |tensor, _, _| read[tensor.0] = true);
    }
    let kept: Vec<usize> = (0..read.len()).filter(|&id| read[id] || fixed.tensors[id].role != Role::Input).collect();
    let number = |id: TensorId| kept.binary_search(&id.0).ok().map(TensorId);
    let renumbered = |tensor, index: &[Affine]| (number(tensor).expect("it is read or written"), index.to_vec());
    let result = crate::fixed::Program {
        tensors: kept.iter().map(|&id| fixed.tensors[id].clone()).collect(),
        operations: fixed.operations.iter().map(|operation| rewritten(operation, renumbered)).collect(),
        names: fixed.names.iter().filter_map(|(name, id)| Some((name.clone(), number(*id)?))).collect(),
        ..fixed.clone()
    };
    Program::local(result, kept.iter().map(|&id| pieces[id].clone()).collect(), program.tile)
}

/// Cut wherever the grid would not be filled evenly; `None` where it would be, or cannot be. Nothing has left its PE yet.
pub(crate) fn evenly(program: &Program, machine: &Machine) -> Option<Program> {
    let mut result = program.clone();
    let mut done = 0;
    loop {
        let classes = Classes::of(&result.fixed);
        let Some((class, at)) = classes.uneven(machine).into_iter().nth(done) else { break };
        match cut(&result, &classes, class, at) {
            Some(next) => result = next,
            None => done += 1,
        }
    }
    (result.fixed != program.fixed).then_some(result)
}

/// Whether each operation and each tensor has a class once at most, along a dimension that can be cut.
fn can_cut(program: &crate::fixed::Program, classes: &Classes, class: usize) -> bool {
    for (operation, own) in program.operations.iter().zip(&classes.iterators) {
        // Half a sum cannot be rounded, and an operation has one iterator of the class.
        let mut of_class = own.iter().enumerate().filter(|&(_, &c)| c == class);
        let first = of_class.next();
        if of_class.next().is_some() || first.is_some_and(|(i, _)| i >= operation.free) {
            return false;
        }
        // What is carried into the PEs lies there whole.
        let mut carried = false;
        for_each_access(operation, |tensor, index, _| {
            let counts = |form: &Affine| form.as_iterator().is_some_and(|i| own[i.0] == class);
            carried |= index.iter().zip(&classes.tensors[tensor.0]).any(|(form, &c)| counts(form) && c != class);
        });
        if carried {
            return false;
        }
    }
    !classes.tensors.iter().any(|own| own.iter().filter(|&&c| c == class).count() > 1)
}

/// Cut one class of indices; `None` where that is not possible.
fn cut(uncut: &Program, classes: &Classes, class: usize, at: i64) -> Option<Program> {
    let program = &uncut.fixed;
    if !can_cut(program, classes, class) {
        return None;
    }
    let dimension_of = |tensor: usize| -> Option<usize> { classes.tensors[tensor].iter().position(|&c| c == class) };
    let (mut fixed, mut pieces) = (program.clone(), uncut.pieces.clone());
    // The second part of each tensor that is cut, and the copy of each that the rest reads, too.
    let mut rests: BTreeMap<usize, TensorId> = BTreeMap::new();
    for (id, tensor) in program.tensors.iter().enumerate() {
        let Some(dimension) = dimension_of(id) else { continue };
        if i64::from(tensor.shape[dimension]) <= at {
            continue;
        }
        if let Role::Parameter(_) | Role::Output = tensor.role {
            return None;
        }
        let (mut rest, piece) = (tensor.clone(), pieces[id].as_ref().map(|piece| piece.behind(dimension, at)));
        rest.name = named(&fixed.tensors, &tensor.name, ".rest");
        rest.shape[dimension] -= at as u32;
        fixed.tensors[id].shape[dimension] = at as u32;
        rests.insert(id, TensorId(fixed.tensors.len()));
        fixed.tensors.push(rest);
        pieces.push(piece);
    }
    let mut operations = Vec::new();
    for (operation, own) in program.operations.iter().zip(&classes.iterators) {
        let Some(iterator) = own.iter().position(|&c| c == class) else {
            operations.push(rewritten(operation, |tensor, index| pick(&rests, &dimension_of, at, tensor, index)));
            continue;
        };
        let (low, high) = (operation.iterators[iterator].low, operation.iterators[iterator].high);
        if low < at {
            // What is read by its number may lie in the rest.
            let mut main = rewritten(operation, |tensor, index| pick(&rests, &dimension_of, at, tensor, index));
            main.iterators[iterator].high = high.min(at);
            operations.push(main);
        }
        if high > at {
            let mut rest = rewritten(operation, |tensor, index| {
                let by_number = dimension_of(tensor.0).is_some_and(|d| index[d].as_iterator().is_none());
                match rests.get(&tensor.0) {
                    _ if by_number => pick(&rests, &dimension_of, at, tensor, index),
                    Some(&rest) => (rest, index.to_vec()),
                    None => (copy_for_rest(&mut fixed, &mut pieces, &mut rests, tensor), index.to_vec()),
                }
            });
            rest.iterators[iterator].low = (low - at).max(0);
            rest.iterators[iterator].high = high - at;
            operations.push(rest);
        }
    }
    fixed.operations = operations;
    crate::fixed::verify(&fixed);
    Some(Program::local(fixed, pieces, uncut.tile))
}

/// A name that no tensor has.
fn named(tensors: &[Tensor], name: &str, suffix: &str) -> String {
    let mut name = format!("{name}{suffix}");
    while tensors.iter().any(|t| t.name == name) {
        name.push('+');
    }
    name
}

/// The copy of an input that the rest reads; other tensors are shared.
fn copy_for_rest(
    fixed: &mut crate::fixed::Program,
    pieces: &mut Vec<Option<Piece>>,
    rests: &mut BTreeMap<usize, TensorId>,
    tensor: TensorId,
) -> TensorId {
    let original = fixed.tensors[tensor.0].clone();
    if original.role != Role::Input || original.shape.is_empty() {
        return tensor;
    }
    let copy = TensorId(fixed.tensors.len());
    let name = named(&fixed.tensors, &original.name, ".again");
    fixed.tensors.push(Tensor { name, ..original });
    pieces.push(pieces[tensor.0].clone());
    rests.insert(tensor.0, copy);
    copy
}

/// The piece in which an element lies whose index along the cut is constant.
fn pick(
    rests: &BTreeMap<usize, TensorId>,
    dimension_of: &dyn Fn(usize) -> Option<usize>,
    at: i64,
    tensor: TensorId,
    index: &[Affine],
) -> (TensorId, Vec<Affine>) {
    let mut index = index.to_vec();
    if let (Some(&rest), Some(dimension)) = (rests.get(&tensor.0), dimension_of(tensor.0))
        && index[dimension].offset >= at
    {
        index[dimension].offset -= at;
        return (rest, index);
    }
    (tensor, index)
}

/// An operation with other tensors.
pub(crate) fn rewritten(
    operation: &Operation,
    mut replace: impl FnMut(TensorId, &[Affine]) -> (TensorId, Vec<Affine>),
) -> Operation {
    let mut result = operation.clone();
    let mut each = |operand: &mut Operand| {
        if let Operand::Read { tensor, index } = operand {
            (*tensor, *index) = replace(*tensor, index);
        }
    };
    match &mut result.kind {
        Kind::MultiplyAdd { start, product, .. } => {
            start.iter_mut().for_each(&mut each);
            if let Some((a, b)) = product {
                each(a);
                each(b);
            }
        }
        Kind::Product { factor, .. } => each(factor),
        Kind::Divide { dividend, divisor, .. } => {
            each(dividend);
            each(divisor);
        }
        Kind::Function { input, .. } => each(input),
    }
    (result.out, result.out_index) = replace(result.out, &result.out_index);
    result
}
