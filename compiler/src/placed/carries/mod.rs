//! Carries: what the grid computes and another operation reads at a sum of indices lies where it is computed, and is carried from there into
//! every PE that reads it.
//!
//!     t[i] = sum[k](w[k] * x[i][k])                t[i] = sum[k](w[k] * x[i][k])          i on the rows
//!     y[i] = sum[k](v[k] * t[i + k])       =>      t.in[i] = t[i]                         row after row ─▶ trees ─▶ bus ─▶ all rows
//!                                                  y[i] = sum[k](v[k] * t.in[i + k])      i in the PE
//!
//! The address `i + k` is computed inside a PE, which needs all that it may reach. With a copy between the two, what is before it may be spread:
//! the copy takes a cycle for each word that goes over the global bus, or over the buses of the rows, and every operation on `t` takes a part of its cycles.
//! Whether that pays is for the shortest step. What is read with a stride is taken apart before ([`strides`]).

pub(crate) mod strides;

use super::Program;
use super::pieces::rewritten;
use super::windows::is_computed;
use crate::fixed::{self, Finish, Kind, Operand, Operation, Role, SumBound, Tensor, for_each_access};
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use arch::Origin;
use arch::isa::Combine;
use std::collections::BTreeSet;

/// The program with copies of all temporaries for which there may be one; `None` if there is none.
pub(crate) fn carried(whole: &Program) -> Option<Program> {
    let mut program = strides::split(whole).unwrap_or_else(|| whole.clone());
    let tensors = program.fixed.tensors.len();
    for tensor in (0..tensors).map(TensorId) {
        if let Some((last, shape)) = may_be_carried(&program.fixed, tensor) {
            carry(&mut program, tensor, last, shape);
        }
    }
    (program.fixed.tensors.len() > tensors).then(|| {
        fixed::verify(&program.fixed);
        Program::local(program.fixed, program.pieces, whole.tile)
    })
}

/// A box of elements: the range of each dimension.
type Elements = Vec<(i64, i64)>;

/// The last operation that writes a temporary, and what they write of it, if it is a box, and others read it at computed indices after that.
fn may_be_carried(program: &fixed::Program, tensor: TensorId) -> Option<(usize, Elements)> {
    if program.tensors[tensor.0].role != Role::Temporary || program.tensors[tensor.0].shape.is_empty() {
        return None;
    }
    let writers: Vec<usize> = (0..program.operations.len()).filter(|&n| program.operations[n].out == tensor).collect();
    let (&first, &last) = (writers.first()?, writers.last()?);
    let parts: Option<Vec<Elements>> = writers.iter().map(|&n| written(&program.operations[n])).collect();
    let all = joined(&parts?)?;
    let mut reads = false;
    for (number, operation) in program.operations.iter().enumerate() {
        let mut early = false;
        for_each_access(operation, |of, index, written| {
            let computed = !written && of == tensor && index.iter().any(is_computed);
            reads |= computed;
            early |= computed && number <= last;
        });
        if early {
            return None;
        }
    }
    // What only copies write is there already.
    let computed = !is_copy(&program.operations[first]);
    (reads && computed).then_some((last, all))
}

/// The box that an operation writes; `None` if an index of it is computed.
fn written(operation: &Operation) -> Option<Elements> {
    let of_form = |form: &Affine| match (form.as_iterator(), form.as_constant()) {
        (Some(iterator), _) => {
            let range = &operation.iterators[iterator.0];
            Some((range.low, range.high))
        }
        (None, Some(at)) => Some((at, at + 1)),
        (None, None) => None,
    };
    operation.out_index.iter().map(of_form).collect()
}

/// The box that boxes are together, if they are one and do not overlap.
fn joined(parts: &[Elements]) -> Option<Elements> {
    let volume = |one: &Elements| one.iter().map(|&(low, high)| high - low).product::<i64>();
    let overlap = |one: &Elements, other: &Elements| one.iter().zip(other).all(|(a, b)| a.0 < b.1 && b.0 < a.1);
    let apart = parts.iter().enumerate().all(|(n, one)| parts[n + 1..].iter().all(|other| !overlap(one, other)));
    let mut all = parts.first()?.clone();
    for part in parts {
        all.iter_mut().zip(part).for_each(|(all, part)| *all = (all.0.min(part.0), all.1.max(part.1)));
    }
    (apart && parts.iter().map(volume).sum::<i64>() == volume(&all)).then_some(all)
}

/// Copy a tensor behind operation `last`, and let what reads it at computed indices read the copy.
fn carry(program: &mut Program, tensor: TensorId, last: usize, elements: Elements) {
    let copy = TensorId(program.fixed.tensors.len());
    let original = program.fixed.tensors[tensor.0].clone();
    let mut name = format!("{}.in", original.name);
    while program.fixed.tensors.iter().any(|other| other.name == name) {
        name.push('+');
    }
    program.fixed.tensors.push(Tensor { name, ..original });
    program.pieces.push(None);
    let replaced = program.fixed.operations.iter().map(|operation| {
        rewritten(operation, |of, index| {
            let copied = of == tensor && index.iter().any(is_computed);
            (if copied { copy } else { of }, index.to_vec())
        })
    });
    let mut operations: Vec<Operation> = replaced.collect();
    let origin = operations[last].origin.clone();
    operations.insert(last + 1, copying(tensor, copy, elements, origin));
    program.fixed.operations = operations;
}

/// The operation that copies some elements of a tensor to another one.
pub(super) fn copying(from: TensorId, to: TensorId, elements: Elements, origin: Origin) -> Operation {
    let index: Vec<Affine> = (0..elements.len()).map(|d| Affine::iterator(IterId(d))).collect();
    let range = |(d, (low, high))| Iterator { name: format!("i{d}"), low, high };
    Operation {
        free: elements.len(),
        iterators: elements.into_iter().enumerate().map(range).collect(),
        out: to,
        out_index: index.clone(),
        kind: Kind::MultiplyAdd {
            start: None,
            align: 0,
            product: Some((Operand::Read { tensor: from, index }, Operand::Constant { word: 1, fraction: 0 })),
            scale: 0,
            square: false,
            combine: Combine::Add,
            shift: 0,
            finish: Finish::Round,
            bound: SumBound::Formats,
        },
        origin,
    }
}

/// Whether an operation copies words, and every index of what it writes is an iterator.
fn is_copy(operation: &Operation) -> bool {
    let one = |operand: &Operand| matches!(operand, Operand::Constant { word: 1, .. });
    operation.free == operation.iterators.len()
        && operation.out_index.iter().all(|form| form.as_iterator().is_some())
        && match &operation.kind {
            Kind::MultiplyAdd {
                start: None,
                product: Some((Operand::Read { .. }, factor)),
                square: false,
                shift: 0,
                combine,
                ..
            } => *combine == Combine::Add && one(factor),
            _ => false,
        }
}

/// The iterators of copies whose words may lie elsewhere than where they are read: those that count what others read at computed indices, so
/// that it lies in the PEs, and all of a copy that others read beside what it is a copy of ([`doubles`](super::doubles)).
pub(crate) fn free_iterators(program: &fixed::Program) -> BTreeSet<(usize, IterId)> {
    let mut computed = BTreeSet::new();
    let mut read: Vec<BTreeSet<TensorId>> = Vec::new();
    for operation in &program.operations {
        let mut tensors = BTreeSet::new();
        for_each_access(operation, |tensor, index, written| {
            tensors.extend((!written).then_some(tensor));
            let own = index.iter().enumerate().filter(|(_, form)| !written && is_computed(form));
            computed.extend(own.map(|(dimension, _)| (tensor, dimension)));
        });
        read.push(tensors);
    }
    let copies = program.operations.iter().enumerate().filter(|(_, operation)| is_copy(operation));
    let free = copies.flat_map(|(number, operation)| {
        let beside = read.iter().any(|all| all.contains(&operation.out) && !all.is_disjoint(&read[number]));
        let dimensions = (0..operation.out_index.len()).filter(|&d| beside || computed.contains(&(operation.out, d)));
        dimensions.filter_map(move |d| Some((number, operation.out_index[d].as_iterator()?))).collect::<Vec<_>>()
    });
    free.collect()
}
