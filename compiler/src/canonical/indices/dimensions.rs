//! Dimensions whose index has two digits.

use super::accesses;
use super::digits::digits;
use crate::tensor::{Affine, IterId, Iterator, Nest, Node, Program, Role, Start, TensorId};
use std::collections::BTreeSet;

/// A dimension that copies count in two digits becomes two, in every statement, so that each index is an iterator again, and the
/// back end can lay each digit on an axis of the grid:
///
///     r[8*q + s] = p[q][s]                                r[q][s] = p[q][s]
///     o[k] = c * r[k]           k in 0..64         =>     o[q][s] = c * r[q][s]       q in 0..8, s in 0..8
///
/// Row by row the elements stay where they were: for who sends and takes words, nothing has changed. Iterators of other statements fall
/// apart into the same digits, and with them the dimensions that they count. A dimension that a statement counts otherwise
/// (`r[k + 1]`, a computed index, half of the elements) stays whole, and with it all that would have to follow.
pub fn split_dimensions(program: &Program) -> Program {
    let mut result = program.clone();
    let mut refused = BTreeSet::new();
    while let Some((dimension, by)) = seed(&result, &refused) {
        if let Some(split) = Split::closed(&result, dimension, by) {
            // Numbers of dimensions are others now. Each round makes extents smaller, so there is an end.
            result = split.done(&result);
            refused.clear();
        } else {
            refused.insert((dimension, by));
        }
    }
    result
}

/// Dimension of a tensor.
type Dimension = (TensorId, usize);

/// Dimensions of a tensor after all splits. Batch, channels, and two digits of rows and columns each.
const MOST_DIMENSIONS: usize = 6;

/// A dimension with two digits in a statement that sums over nothing, and the place value of the first one.
fn seed(program: &Program, refused: &BTreeSet<(Dimension, i64)>) -> Option<(Dimension, i64)> {
    let copies = program.nests.iter().filter(|nest| nest.free == nest.iterators.len() && nest.start == Start::Identity);
    copies.flat_map(|nest| accesses(nest).into_iter().map(move |access| (nest, access))).find_map(
        |(nest, (tensor, index))| {
            let shape = &program.tensors[tensor.0].shape;
            index.iter().enumerate().find_map(|(dimension, form)| {
                let found = (tensor, dimension);
                let places = form.terms.iter().map(|term| term.1).filter(|&by| divides(by, shape[dimension]));
                let two = |by: &i64| {
                    let both = two_digits(form, *by, &nest.iterators);
                    both.is_some_and(|(high, low)| !high.terms.is_empty() && !low.terms.is_empty())
                };
                places.filter(two).find(|&by| !refused.contains(&(found, by))).map(|by| (found, by))
            })
        },
    )
}

/// Whether a dimension has whole digits of this place value, more than one.
fn divides(by: i64, extent: u32) -> bool {
    by > 1 && i64::from(extent) > by && i64::from(extent) % by == 0
}

/// `form == by * high + low`, where `low` is in `0..by` all over the box.
fn two_digits(form: &Affine, by: i64, iterators: &[Iterator]) -> Option<(Affine, Affine)> {
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
    /// By number of the nest.
    iterators: BTreeSet<(usize, IterId)>,
}

impl Split {
    /// The dimension, and everything that has to follow it.
    fn closed(program: &Program, dimension: Dimension, by: i64) -> Option<Split> {
        let mut split = Split { by, dimensions: BTreeSet::new(), iterators: BTreeSet::new() };
        let mut open = vec![dimension];
        while let Some(dimension @ (tensor, number)) = open.pop() {
            if !split.dimensions.insert(dimension) {
                continue;
            }
            let shape = &program.tensors[tensor.0].shape;
            if !divides(by, shape[number]) || !program.descents.is_empty() {
                return None;
            }
            open.extend(of_the_same_shape(program, tensor).map(|other| (other, number)));
            for (place, nest) in program.nests.iter().enumerate() {
                let gathers = |node: &Node| matches!(node, Node::Gather { tensor: of, .. } if *of == tensor);
                if nest.body.nodes.iter().any(gathers) {
                    return None;
                }
                for (_, index) in accesses(nest).into_iter().filter(|access| access.0 == tensor) {
                    open.extend(split.follow(nest, place, &index[number])?);
                }
            }
        }
        let rank = |tensor: TensorId| {
            program.tensors[tensor.0].shape.len() + split.dimensions.iter().filter(|of| of.0 == tensor).count()
        };
        split.dimensions.iter().all(|of| rank(of.0) <= MOST_DIMENSIONS).then_some(split)
    }

    /// Split the iterator that keeps the form from having two digits, if there is one; the dimensions that it counts have to follow.
    fn follow(&mut self, nest: &Nest, place: usize, form: &Affine) -> Option<Vec<Dimension>> {
        if two_digits(form, self.by, &nest.iterators).is_some() {
            return Some(Vec::new());
        }
        let mut others = form.terms.iter().filter(|term| term.1 % self.by != 0);
        let (&(iterator, 1), None) = (others.next()?, others.next()) else { return None };
        let Iterator { low, high, .. } = nest.iterators[iterator.0];
        if form.offset % self.by != 0 || low != 0 || high % self.by != 0 {
            return None;
        }
        if !self.iterators.insert((place, iterator)) {
            return Some(Vec::new());
        }
        let counted = accesses(nest).into_iter().flat_map(|(tensor, index)| {
            let counts = move |(number, form): (usize, &Affine)| {
                (form.as_iterator() == Some(iterator)).then_some((tensor, number))
            };
            index.iter().enumerate().filter_map(counts)
        });
        Some(counted.collect())
    }

    fn done(&self, program: &Program) -> Program {
        let mut result = program.clone();
        for (place, nest) in result.nests.iter_mut().enumerate() {
            for &(_, iterator) in self.iterators.range((place, IterId(0))..(place + 1, IterId(0))).rev() {
                *nest = digits(nest, iterator, self.by);
            }
            let iterators = nest.iterators.clone();
            let split = |tensor: TensorId, index: &mut Vec<Affine>| {
                for &(_, number) in self.dimensions.range((tensor, 0)..(TensorId(tensor.0 + 1), 0)).rev() {
                    let both = two_digits(&index[number], self.by, &iterators);
                    let (high, low) = both.expect("what stands in the way has been split");
                    index.splice(number..=number, [high, low]);
                }
            };
            split(nest.out, &mut nest.out_index);
            if let Start::Element { tensor, index } = &mut nest.start {
                split(*tensor, index);
            }
            for node in &mut nest.body.nodes {
                if let Node::Read { tensor, index } = node {
                    split(*tensor, index);
                }
            }
        }
        for &(tensor, number) in self.dimensions.iter().rev() {
            let shape = &mut result.tensors[tensor.0].shape;
            shape.splice(number..=number, [shape[number] / self.by as u32, self.by as u32]);
        }
        result
    }
}

/// Tensors that go with this one element by element.
fn of_the_same_shape(program: &Program, tensor: TensorId) -> impl std::iter::Iterator<Item = TensorId> + '_ {
    let update = program.updates.iter().map(|update| (update.state, update.next));
    let gradient = program.tensors.iter().enumerate().filter_map(|(id, of)| match of.role {
        Role::Gradient(state) => Some((state, TensorId(id))),
        _ => None,
    });
    update.chain(gradient).filter_map(move |(one, other)| match tensor {
        _ if tensor == one => Some(other),
        _ if tensor == other => Some(one),
        _ => None,
    })
}
