//! Doubles: a tensor that is read in two ways, for which no single place will do, becomes one tensor for each.
//!
//!     c[i][j] = sum[k](a[i][k] * a[k][j])      =>      c[i][j] = sum[k](a[i][k] * a.again[k][j])
//!
//! Indices that meet in an access lie on one axis ([`classes`](super::classes)). Where that makes two indices of one tensor or operation
//! the same, neither can leave the PE. With a tensor of its own for each read they are apart: an input is sent twice, and what the grid
//! computes is computed twice, together with what it follows from. Reads whose indices meet anyway, elsewhere in the program, share one
//! tensor. Whether it pays is for the shortest step; nothing is rounded differently.
//!
//!     c[i][j] = sum[k](t[i][k] * t[k][j])      =>      t.copy[k][j] = t[k][j];  c[i][j] = sum[k](t[i][k] * t.copy[k][j])
//!
//! Instead of computing it again, what the grid has computed may be copied: the copy lies where the buses take it
//! ([`reshard`](mod@super::reshard)), whatever the place of the original.

use super::classes::Classes;
use super::pieces::rewritten;
use super::{Piece, Program, carries};
use crate::fixed::{self, Operation, Role, Tensor, for_each_access};
use crate::tensor::{Affine, TensorId};
use std::collections::BTreeMap;

/// Tensors that are made at most, before those that need not be apart are one again.
const MOST_TENSORS: usize = 48;

/// The program with tensors doubled where that sets indices free; `None` where it does not, or would take too many.
pub(crate) fn doubled(whole: &Program) -> Option<Program> {
    let tangled = Classes::of(&whole.fixed).tangled;
    if tangled.is_empty() {
        return None;
    }
    let inputs_only = |tensor: &Tensor| tensor.role == Role::Input;
    let computed_too = |tensor: &Tensor| matches!(tensor.role, Role::Input | Role::Temporary);
    [computed_too as fn(&Tensor) -> bool, inputs_only].into_iter().find_map(|may| {
        let joined = Apart::new(whole, may)?.joined(whole);
        (Classes::of(&joined.fixed).tangled.len() < tangled.len()).then_some(joined)
    })
}

/// The program with inputs doubled, and with a copy of each temporary that an operation reads in two ways, for the second of them; `None`
/// where that sets no index free.
pub(crate) fn copied(whole: &Program) -> Option<Program> {
    let tangled = Classes::of(&whole.fixed).tangled;
    if tangled.is_empty() {
        return None;
    }
    let inputs = Apart::new(whole, |tensor| tensor.role == Role::Input)?.joined(whole);
    let mut program = Program::local(inputs.fixed, inputs.pieces, whole.tile);
    let tensors = program.fixed.tensors.len();
    for tensor in (0..tensors).map(TensorId) {
        copy(&mut program, tensor);
    }
    let fewer = Classes::of(&program.fixed).tangled.len() < tangled.len();
    (program.fixed.tensors.len() > tensors && fewer).then(|| {
        fixed::verify(&program.fixed);
        Program::local(program.fixed, program.pieces, whole.tile)
    })
}

/// Copy a temporary behind its writer, if operations read it in two ways, and let the second operand of each read the copy.
fn copy(program: &mut Program, tensor: TensorId) {
    let operations = &program.fixed.operations;
    let mut writers = (0..operations.len()).filter(|&n| operations[n].out == tensor);
    let (Some(writer), None) = (writers.next(), writers.next()) else { return };
    let original = program.fixed.tensors[tensor.0].clone();
    let every = |(form, &extent): (&Affine, &u32)| {
        let range = form.as_iterator().map(|iterator| &operations[writer].iterators[iterator.0]);
        range.is_some_and(|range| range.low == 0 && range.high == i64::from(extent))
    };
    let whole = operations[writer].out_index.iter().zip(&original.shape).all(every);
    if original.role != Role::Temporary || original.shape.is_empty() || !whole {
        return;
    }
    let to = TensorId(program.fixed.tensors.len());
    let separate = |operation: &Operation| {
        let mut first: Option<Vec<Affine>> = None;
        rewritten(operation, |of, index| {
            let another = of == tensor && *first.get_or_insert_with(|| index.to_vec()) != index;
            (if another { to } else { of }, index.to_vec())
        })
    };
    let mut separated: Vec<Operation> = operations.iter().map(separate).collect();
    if separated == *operations {
        return;
    }
    let elements = original.shape.iter().map(|&extent| (0, i64::from(extent))).collect();
    let origin = operations[writer].origin.clone();
    separated.insert(writer + 1, carries::copying(tensor, to, elements, origin));
    let mut name = format!("{}.copy", original.name);
    while program.fixed.tensors.iter().any(|other| other.name == name) {
        name.push('+');
    }
    program.fixed.tensors.push(Tensor { name, ..original });
    program.pieces.push(None);
    program.fixed.operations = separated;
}

/// The program with a tensor of its own for each read.
struct Apart {
    fixed: fixed::Program,
    pieces: Vec<Option<Piece>>,
    /// The tensor of the whole program that each is, or is another one of.
    original: Vec<TensorId>,
}

impl Apart {
    /// `may` says of which tensors there may be several.
    fn new(whole: &Program, may: fn(&Tensor) -> bool) -> Option<Apart> {
        let program = &whole.fixed;
        let mut writers = vec![0; program.tensors.len()];
        program.operations.iter().for_each(|operation| writers[operation.out.0] += 1);
        // What is written in parts stays one.
        let several = |id: TensorId| {
            let tensor = &program.tensors[id.0];
            may(tensor) && writers[id.0] == usize::from(tensor.role == Role::Temporary)
        };
        let mut apart = Apart {
            fixed: program.clone(),
            pieces: whole.pieces.clone(),
            original: (0..program.tensors.len()).map(TensorId).collect(),
        };
        let mut read = vec![false; program.tensors.len()];
        // For each tensor the others that are the same: what computes it computes them, too.
        let mut others: BTreeMap<TensorId, Vec<TensorId>> = BTreeMap::new();
        let mut operations = Vec::new();
        for operation in program.operations.iter().rev() {
            let outs = others.remove(&operation.out).unwrap_or_default();
            for out in std::iter::once(operation.out).chain(outs) {
                let mut separate = |tensor: TensorId| {
                    if !several(tensor) || !std::mem::replace(&mut read[tensor.0], true) {
                        return tensor;
                    }
                    let other = apart.add(tensor);
                    others.entry(tensor).or_default().push(other);
                    other
                };
                operations.push(with_tensors(operation, &mut separate, out));
                if apart.fixed.tensors.len() > MOST_TENSORS {
                    return None;
                }
            }
        }
        operations.reverse();
        apart.fixed.operations = operations;
        Some(apart)
    }

    /// Another tensor that is the same.
    fn add(&mut self, tensor: TensorId) -> TensorId {
        let mut name = format!("{}.again", self.fixed.tensors[tensor.0].name);
        while self.fixed.tensors.iter().any(|other| other.name == name) {
            name.push('+');
        }
        self.fixed.tensors.push(Tensor { name, ..self.fixed.tensors[tensor.0].clone() });
        self.pieces.push(self.pieces[tensor.0].clone());
        self.original.push(tensor);
        TensorId(self.fixed.tensors.len() - 1)
    }

    /// The program in which those whose indices meet anyway are one again.
    fn joined(&self, whole: &Program) -> Program {
        let classes = Classes::of(&self.fixed);
        let mut first: BTreeMap<(TensorId, &[usize]), TensorId> = BTreeMap::new();
        let one: Vec<TensorId> = (0..self.original.len())
            .map(|id| *first.entry((self.original[id], &classes.tensors[id])).or_insert(TensorId(id)))
            .collect();
        // Backwards: what nothing reads any more goes, unless nothing has read it before.
        let read = reads(&whole.fixed);
        let mut needed: Vec<bool> = self
            .fixed
            .tensors
            .iter()
            .enumerate()
            .map(|(id, tensor)| match tensor.role {
                Role::Input | Role::Temporary => read.get(id).is_some_and(|read| !read),
                Role::State | Role::Parameter(_) | Role::Output => true,
            })
            .collect();
        let mut operations: Vec<Operation> = Vec::new();
        for operation in self.fixed.operations.iter().rev() {
            if !needed[operation.out.0] {
                continue;
            }
            let joined = with_tensors(operation, &mut |tensor| one[tensor.0], operation.out);
            for_each_access(&joined, |tensor, _, _| needed[tensor.0] = true);
            operations.push(joined);
        }
        operations.reverse();
        let kept: Vec<usize> = (0..needed.len()).filter(|&id| needed[id]).collect();
        let number = |id: TensorId| kept.binary_search(&id.0).ok().map(TensorId);
        let numbered = |id, index: &[Affine]| (number(id).expect("it is needed"), index.to_vec());
        let operations = operations.iter().map(|operation| rewritten(operation, numbered));
        let fixed = fixed::Program {
            operations: operations.collect(),
            tensors: kept.iter().map(|&id| self.fixed.tensors[id].clone()).collect(),
            names: whole.fixed.names.iter().filter_map(|(name, id)| Some((name.clone(), number(*id)?))).collect(),
            ..whole.fixed.clone()
        };
        let pieces = kept.iter().map(|&id| self.pieces[id].clone()).collect();
        fixed::verify(&fixed);
        Program::local(fixed, pieces, whole.tile)
    }
}

/// Which tensors an operation reads.
fn reads(program: &fixed::Program) -> Vec<bool> {
    let mut read = vec![false; program.tensors.len()];
    for operation in &program.operations {
        for_each_access(operation, |tensor, _, written| read[tensor.0] |= !written);
    }
    read
}

/// An operation that reads other tensors, the one it writes excepted, which becomes `out`.
fn with_tensors(operation: &Operation, replace: &mut impl FnMut(TensorId) -> TensorId, out: TensorId) -> Operation {
    let mut result = rewritten(operation, |tensor, index| {
        let own = tensor == operation.out;
        (if own { tensor } else { replace(tensor) }, index.to_vec())
    });
    let own = operation.out;
    if own != out {
        result = rewritten(&result, |tensor, index| (if tensor == own { out } else { tensor }, index.to_vec()));
    }
    result
}
