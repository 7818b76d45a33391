//! Copies: a tensor that is read in two ways lies in two places.
//!
//!     t = [row, column]     a[s][h][u] = sum[e](q[s][h][e] * t[u][e])      u in the PE        =>      t.copy = [local, column], copied over the buses
//!
//! The copy is an operation whose iterators lie as the tensor does and whose result lies elsewhere, where the buses can take it
//! ([`reshard`](mod@crate::placed::reshard)). It moves each word once and rounds nothing.

use super::{Layout, Lies, reads};
use crate::fixed::{self, Operation, Role, Tensor};
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
    let Tensor { role, shape, .. } = &program.tensors[tensor.0];
    let Some(last) = whole_after(program, tensor, touches).filter(|_| *role == Role::Temporary && !shape.is_empty())
    else {
        return homes;
    };
    let copy = copy(program, tensor, tensor, last);
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

/// The operation that copies all of a tensor.
fn copy(program: &fixed::Program, from: TensorId, to: TensorId, last: usize) -> Operation {
    let elements = program.tensors[from.0].shape.iter().map(|&extent| (0, i64::from(extent))).collect();
    copying(from, to, elements, program.operations[last].origin.clone())
}

/// The program with copies of tensors, each behind the last operation that writes the tensor; what cannot read it where it lies reads the copy.
pub(crate) fn copied(mut program: Program, copies: &[(TensorId, Layout)]) -> Program {
    for (tensor, layout) in copies {
        let Some(last) = whole_after(&program.fixed, *tensor, &touches(&program.fixed)[tensor.0]) else { continue };
        let original = program.fixed.tensors[tensor.0].clone();
        let mut name = format!("{}.copy", original.name);
        while program.fixed.tensors.iter().any(|other| other.name == name) {
            name.push('+');
        }
        let to = TensorId(program.fixed.tensors.len());
        program.fixed.tensors.push(Tensor { name, ..original });
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
        let copy = copy(&program.fixed, *tensor, to, last);
        program.fixed.operations.insert(last + 1, copy);
        program.iterators.insert(last + 1, home);
    }
    program
}
