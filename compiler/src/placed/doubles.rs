//! Doubles: a tensor that is read in two ways, for which no single place will do, becomes one tensor for each.
//!
//!     c[i][j] = sum[k](a[i][k] * a[k][j])      =>      c[i][j] = sum[k](a[i][k] * a.again[k][j])
//!
//! Indices that meet in an access lie on one axis ([`classes`](super::classes)). Where that makes two indices of one tensor or operation
//! the same, neither can leave the PE. With a tensor of its own for each read they are apart: an input is sent twice, and what the grid
//! computes is computed twice, together with what it follows from. Reads whose indices meet anyway, elsewhere in the program, share one
//! tensor. Whether it pays is for the shortest step; nothing is rounded differently.

use super::classes::Classes;
use super::pieces::rewritten;
use super::{Piece, Program};
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
