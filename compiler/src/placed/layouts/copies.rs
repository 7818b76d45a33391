//! Copies: a tensor that is read in two ways lies in two places.
//!
//!     t = [row, column]     a[s][h][u] = sum[e](q[s][h][e] * t[u][e])      u in the PE        =>      t.copy = [local, column], copied over the buses
//!
//! A weight that the step updates is copied before it is read, so that who reads it in another way has what it was.
//!
//! The copy is an operation whose iterators lie as the tensor does and whose result lies elsewhere, where the buses can take it
//! ([`reshard`](mod@crate::placed::reshard)). It moves each word once and rounds nothing.

use super::{Layout, Lies, reads};
use crate::fixed::{self, Operation, Role, Tensor, for_each_access};
use crate::placed::carries::{Touches, copying, touches, whole_after};
use crate::placed::cost::Cost;
use crate::placed::pieces::rewritten;
use crate::placed::{Axis, Program};
use crate::tensor::TensorId;
use arch::machine::Machine;

/// Where a tensor may lie with a copy of it beside, if there may be one, and without.
pub(super) fn with_copies(
    program: &fixed::Program,
    tensor: TensorId,
    touches: &Touches,
    homes: Vec<Lies>,
    all: &[Layout],
    machine: &Machine,
) -> Vec<Lies> {
    let Some(at) = place(program, tensor, touches) else { return homes };
    let copy = copy(program, tensor, tensor, at);
    let pairs = homes.iter().flat_map(|Lies { home, .. }| {
        let to = |to: &Layout| {
            let elsewhere = to != home && !home.contains(&Axis::Tall);
            let cost = elsewhere.then(|| Cost::of_operation(program, &copy, home, to, machine, false)).flatten()?;
            Some(Lies { home: home.clone(), copy: Some((to.clone(), cost.compute)) })
        };
        all.iter().filter_map(to).collect::<Vec<Lies>>()
    });
    let pairs: Vec<Lies> = pairs.collect();
    homes.into_iter().chain(pairs).collect()
}

/// The operation before which a tensor may be copied; `None` if there may be no copy. What a step keeps for the next one may have a copy if nothing
/// reads it after its update.
fn place(program: &fixed::Program, tensor: TensorId, touches: &Touches) -> Option<usize> {
    let Tensor { role, shape, .. } = &program.tensors[tensor.0];
    if shape.is_empty() {
        return None;
    }
    match role {
        Role::Temporary => Some(whole_after(program, tensor, touches)? + 1),
        Role::State => {
            let updated = &program.operations[*touches.writers.first()?..];
            let mut read_after = false;
            for operation in updated.iter().filter(|operation| operation.out != tensor) {
                for_each_access(operation, |read, _, _| read_after |= read == tensor);
            }
            touches.first_read.filter(|_| !read_after)
        }
        _ => None,
    }
}

/// The operation that copies all of a tensor, before operation number `at`.
fn copy(program: &fixed::Program, from: TensorId, to: TensorId, at: usize) -> Operation {
    let elements = program.tensors[from.0].shape.iter().map(|&extent| (0, i64::from(extent))).collect();
    // What writes a temporary, what reads a weight first.
    let next = if program.tensors[from.0].role == Role::Temporary { at - 1 } else { at };
    copying(from, to, elements, program.operations[next].origin.clone())
}

/// The program with copies of tensors; what cannot read a tensor where it lies reads the copy.
pub(crate) fn copied(mut program: Program, copies: &[(TensorId, Layout)]) -> Program {
    for (tensor, layout) in copies {
        let Some(at) = place(&program.fixed, *tensor, &touches(&program.fixed)[tensor.0]) else { continue };
        let original = program.fixed.tensors[tensor.0].clone();
        let mut name = format!("{}.copy", original.name);
        while program.fixed.tensors.iter().any(|other| other.name == name) {
            name.push('+');
        }
        let to = TensorId(program.fixed.tensors.len());
        program.fixed.tensors.push(Tensor { name, role: Role::Temporary, ..original });
        program.pieces.push(None);
        let home = program.tensors[tensor.0].clone();
        program.tensors.push(layout.clone());
        for (operation, axes) in program.fixed.operations.iter_mut().zip(&program.iterators) {
            let out = operation.out;
            *operation = rewritten(operation, |of, index| {
                let elsewhere = of == *tensor && out != of && !reads(axes, index, &home);
                (if elsewhere { to } else { of }, index.to_vec())
            });
        }
        let copy = copy(&program.fixed, *tensor, to, at);
        program.fixed.operations.insert(at, copy);
        program.iterators.insert(at, home);
    }
    program
}
