//! Carries: copies of what lies elsewhere than where it is read.
//!
//!     t[i] = sum[k](w[k] * x[i][k])                t[i] = sum[k](w[k] * x[i][k])          i on the rows
//!     y[i] = sum[k](v[k] * t[i + k])       =>      t.copy[i] = t[i]                       row after row ─▶ trees ─▶ bus ─▶ all rows
//!                                                  y[i] = sum[k](v[k] * t.copy[i + k])    i in the PE
//!
//! The address `i + k` is computed inside a PE, which needs all that it may reach. With a copy between the two, what is before it may be spread:
//! the copy takes a cycle for each word that goes over the global bus, or over the buses of the rows, and every operation on `t` takes a part of its cycles.
//! Whether that pays [`layouts`](super::layouts) find. What is read with a stride is taken apart before ([`strides`]).

pub(crate) mod strides;

use super::windows::is_computed;
use crate::fixed::{self, Kind, Operand, Operation, for_each_access};
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use arch::Origin;
use arch::isa::Combine;
use std::collections::BTreeSet;

/// A box of elements: the range of each dimension.
type Elements = Vec<(i64, i64)>;

/// Who writes and reads a tensor.
#[derive(Debug, Clone, Default)]
pub(super) struct Touches {
    pub(super) writers: Vec<usize>,
    pub(super) first_read: Option<usize>,
}

/// Per tensor.
pub(super) fn touches(program: &fixed::Program) -> Vec<Touches> {
    let mut all = vec![Touches::default(); program.tensors.len()];
    for (number, operation) in program.operations.iter().enumerate() {
        for_each_access(operation, |tensor, _, written| {
            let touches = &mut all[tensor.0];
            if written {
                touches.writers.push(number);
            } else {
                touches.first_read.get_or_insert(number);
            }
        });
    }
    all
}

/// The last operation that writes a tensor, if all of it is written, and read only after that.
pub(super) fn whole_after(program: &fixed::Program, tensor: TensorId, touches: &Touches) -> Option<usize> {
    let parts: Option<Vec<Elements>> = touches.writers.iter().map(|&n| written(&program.operations[n])).collect();
    let whole: Elements = program.tensors[tensor.0].shape.iter().map(|&extent| (0, i64::from(extent))).collect();
    let last = *touches.writers.last()?;
    (touches.first_read? > last && joined(&parts?)? == whole).then_some(last)
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

/// The operation that copies some elements of a tensor to another one.
pub(crate) fn copying(from: TensorId, to: TensorId, elements: Elements, origin: Origin) -> Operation {
    let index: Vec<Affine> = (0..elements.len()).map(|d| Affine::iterator(IterId(d))).collect();
    let range = |(d, (low, high))| Iterator { name: format!("i{d}"), low, high };
    Operation {
        free: elements.len(),
        iterators: elements.into_iter().enumerate().map(range).collect(),
        out: to,
        out_index: index.clone(),
        kind: Kind::exact(
            None,
            Some((Operand::Read { tensor: from, index }, Operand::Constant { word: 1, fraction: 0 })),
        ),
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
