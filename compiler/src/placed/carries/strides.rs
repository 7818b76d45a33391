//! Strides: a temporary that is read at `2 i + j`, with `j` below 2, gets a dimension for each of the two.
//!
//!     p[i] = max[j](t[2 i + j])    t [28]      =>      p[i] = max[j](t[i][j])    t [14][2]
//!
//! An address that several indices make is computed inside a PE, so `i` could not leave it. What writes `t` falls apart into the same
//! two indices, and with it other temporaries that it reads or writes by the same one; where it does not begin and end at a multiple of 2,
//! into up to three operations. Canonical IR splits what copies count in two digits always
//! ([`split_dimensions`](crate::canonical::indices::dimensions::split_dimensions)); here it is a way among others.

use crate::fixed::{self, Operation, Role, for_each_access};
use crate::placed::Program;
use crate::placed::pieces::rewritten;
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Dimension of a tensor.
type Dimension = (TensorId, usize);

/// The program with all temporaries split that can be; `None` if there is none.
pub(crate) fn split(whole: &Program) -> Option<Program> {
    let mut program = whole.fixed.clone();
    let mut refused = BTreeSet::new();
    while let Some((dimension, by)) = seed(&program, &refused) {
        if let Some(split) = Split::closed(&program, dimension, by) {
            // Numbers of dimensions are others now. Each round makes extents smaller, so there is an end.
            program = split.done(&program);
            refused.clear();
        } else {
            refused.insert((dimension, by));
        }
    }
    fixed::verify(&program);
    (program != whole.fixed).then(|| Program::local(program, whole.pieces.clone(), whole.tile))
}

/// A dimension that is read in two digits, and the place value of the first one.
fn seed(program: &fixed::Program, refused: &BTreeSet<(Dimension, i64)>) -> Option<(Dimension, i64)> {
    let mut found = None;
    for operation in &program.operations {
        for_each_access(operation, |tensor, index, written| {
            if written || program.tensors[tensor.0].role != Role::Temporary {
                return;
            }
            for (number, form) in index.iter().enumerate() {
                let extent = i64::from(program.tensors[tensor.0].shape[number]);
                let places = form.terms.iter().map(|term| term.1).filter(|&by| by > 1 && by < extent);
                let two = |by: &i64| {
                    let both = digits(form, *by, &operation.iterators);
                    both.is_some_and(|(high, low)| !high.terms.is_empty() && !low.terms.is_empty())
                };
                let mut new = places.filter(two).map(|by| ((tensor, number), by));
                found = found.or_else(|| new.find(|one| !refused.contains(one)));
            }
        });
    }
    found
}

/// `form == by * high + low`, where `low` is in `0..by` all over the box.
fn digits(form: &Affine, by: i64, iterators: &[Iterator]) -> Option<(Affine, Affine)> {
    let (high, low): (Vec<_>, Vec<_>) = form.terms.iter().partition(|term| term.1 % by == 0);
    let low = Affine { offset: form.offset, terms: low };
    let (least, most) = low.range(iterators);
    let whole = least.div_euclid(by);
    let high = high.into_iter().map(|(iterator, factor)| (iterator, factor / by)).collect();
    (whole == most.div_euclid(by))
        .then(|| (Affine { offset: whole, terms: high }, low.plus(-by, &Affine::constant(whole))))
}

/// What is split by one place value.
struct Split {
    by: i64,
    dimensions: BTreeSet<Dimension>,
    /// By number of the operation.
    iterators: BTreeMap<usize, BTreeSet<usize>>,
}

impl Split {
    /// The dimension, and everything that has to follow it.
    fn closed(program: &fixed::Program, dimension: Dimension, by: i64) -> Option<Split> {
        let mut split = Split { by, dimensions: BTreeSet::new(), iterators: BTreeMap::new() };
        let mut open = vec![dimension];
        while let Some(dimension @ (tensor, number)) = open.pop() {
            if !split.dimensions.insert(dimension) {
                continue;
            }
            for (place, operation) in program.operations.iter().enumerate() {
                let mut forms = Vec::new();
                for_each_access(operation, |of, index, _| forms.extend((of == tensor).then(|| index[number].clone())));
                for form in forms {
                    if digits(&form, by, &operation.iterators).is_none() {
                        open.extend(split.follow(program, place, &form)?);
                    }
                }
            }
        }
        Some(split)
    }

    /// Split the iterator that an index is; the temporaries' dimensions that it counts have to follow. `None` where that is not possible.
    fn follow(&mut self, program: &fixed::Program, place: usize, form: &Affine) -> Option<Vec<Dimension>> {
        let operation = &program.operations[place];
        let iterator = form.as_iterator()?;
        let Iterator { low, high, .. } = operation.iterators[iterator.0];
        // A part of a sum is no sum.
        if iterator.0 >= operation.free && (low % self.by != 0 || high % self.by != 0) {
            return None;
        }
        let mut counted = Vec::new();
        if self.iterators.entry(place).or_default().insert(iterator.0) {
            for_each_access(operation, |tensor, index, _| {
                let own = index.iter().enumerate().filter(|(_, form)| form.as_iterator() == Some(iterator));
                let temporary = program.tensors[tensor.0].role == Role::Temporary;
                counted.extend(own.filter(|_| temporary).map(|(number, _)| (tensor, number)));
            });
        }
        Some(counted)
    }

    fn done(&self, program: &fixed::Program) -> fixed::Program {
        let mut result = program.clone();
        let parts = program.operations.iter().enumerate().flat_map(|(place, operation)| {
            let mut parts = vec![operation.clone()];
            for &iterator in self.iterators.get(&place).into_iter().flatten().rev() {
                parts = parts.iter().flat_map(|part| in_digits(part, iterator, self.by)).collect();
            }
            parts
        });
        let apart = |operation: Operation| {
            let iterators = operation.iterators.clone();
            rewritten(&operation, |tensor, index| {
                let mut index = index.to_vec();
                for &(_, number) in self.dimensions.range((tensor, 0)..(TensorId(tensor.0 + 1), 0)).rev() {
                    let both = digits(&index[number], self.by, &iterators);
                    let (high, low) = both.expect("what stands in the way has been split");
                    index.splice(number..=number, [high, low]);
                }
                (tensor, index)
            })
        };
        result.operations = parts.map(apart).collect();
        for &(tensor, number) in self.dimensions.iter().rev() {
            let shape = &mut result.tensors[tensor.0].shape;
            shape.splice(number..=number, [shape[number].div_ceil(self.by as u32), self.by as u32]);
        }
        result
    }
}

/// The operation with two iterators for one: its box falls apart into up to three.
fn in_digits(operation: &Operation, iterator: usize, by: i64) -> Vec<Operation> {
    let Iterator { ref name, low, high } = operation.iterators[iterator];
    let (first, last) = (low.div_euclid(by), high.div_euclid(by));
    let (begin, end) = (low.rem_euclid(by), high.rem_euclid(by));
    let mut boxes = Vec::new();
    if first == last {
        boxes.push(((first, first + 1), (begin, end)));
    } else {
        if begin > 0 {
            boxes.push(((first, first + 1), (begin, by)));
        }
        boxes.push(((first + i64::from(begin > 0), last), (0, by)));
        if end > 0 {
            boxes.push(((last, last + 1), (0, end)));
        }
    }
    boxes.retain(|((low, high), _)| low < high);
    let number = |id: IterId| if id.0 > iterator { IterId(id.0 + 1) } else { id };
    let form = |form: &Affine| {
        let terms = form.terms.iter().flat_map(|&(id, factor)| {
            if id.0 == iterator {
                vec![(id, factor * by), (IterId(iterator + 1), factor)]
            } else {
                vec![(number(id), factor)]
            }
        });
        Affine { offset: form.offset, terms: terms.collect() }
    };
    let renumbered = rewritten(operation, |tensor, index| (tensor, index.iter().map(form).collect()));
    let of_box = |((high_low, high_high), (low_low, low_high))| {
        let mut part = renumbered.clone();
        let whole = Iterator { name: name.clone(), low: high_low, high: high_high };
        let rest = Iterator { name: format!("{name}'"), low: low_low, high: low_high };
        part.iterators.splice(iterator..=iterator, [whole, rest]);
        part.free += usize::from(iterator < operation.free);
        part
    };
    boxes.into_iter().map(of_box).collect()
}
