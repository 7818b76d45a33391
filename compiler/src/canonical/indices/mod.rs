//! Passes about which points a nest has and which elements it reads: after them there are no conditions on iterators and no
//! indices that are computed, only boxes and affine indices.
//!
//! | pass | does | costs |
//! |---|---|---|
//! | [`units`] | a loop of one value goes | nothing |
//! | [`digits`] | an iterator that an index divides becomes two, quotient and remainder | nothing |
//! | [`gathers`] | an index that is computed becomes a moved copy, or a sum over a comparison with it | moving the words once; every element compared |
//! | [`constants`] | what depends on iterators alone becomes a tensor of constants | its words |
//! | [`equations`] | an equation between iterators takes one of them away: a scatter, phases, or a condition | nothing |
//! | [`dimensions`] | a dimension that copies count in two digits becomes two | nothing |
//! | [`super::boxes`] | conditions become bounds, in up to 64 pieces | nothing |
//! | [`conditions`] | what is left becomes a factor that is 0 or 1, and what is read beyond a tensor's ends becomes zeros | every point of the box, whether it exists or not |
//! | [`overwritten`] | zeros that all turn out to be written again go | |
//!
//! The order is that of preference: each pass leaves to the next what it cannot do better.

pub mod conditions;
pub mod constants;
pub mod digits;
pub mod dimensions;
pub mod equations;
pub mod gathers;
pub mod overwritten;
pub mod units;

use super::draft::Draft;
use crate::tensor::{Affine, Guard, IterId, Iterator, Nest, Node, Start, TensorId};

/// The form of a guard, and the bound it stays below.
fn bounded(guard: &Guard) -> (&Affine, i64) {
    match guard {
        Guard::Within { value, bound } => (value, *bound),
        Guard::Zero { value } => (value, 1),
    }
}

/// The elements that a statement writes, begins with and reads.
fn accesses(nest: &Nest) -> Vec<(TensorId, &Vec<Affine>)> {
    let start = match &nest.start {
        Start::Element { tensor, index } => Some((*tensor, index)),
        Start::Identity | Start::Fill(_) => None,
    };
    let reads = nest.body.nodes.iter().filter_map(|node| match node {
        Node::Read { tensor, index } => Some((*tensor, index)),
        _ => None,
    });
    std::iter::once((nest.out, &nest.out_index)).chain(start).chain(reads).collect()
}

/// Iterators over a whole shape, and the plain index they make.
fn over(shape: &[u32]) -> (Vec<Iterator>, Vec<Affine>) {
    let iterator = |(n, &extent): (usize, &u32)| Iterator { name: format!("i{n}"), low: 0, high: i64::from(extent) };
    (shape.iter().enumerate().map(iterator).collect(), plain(0..shape.len()))
}

/// The index that is the iterators themselves.
fn plain(iterators: std::ops::Range<usize>) -> Vec<Affine> {
    iterators.map(|i| Affine::iterator(IterId(i))).collect()
}

/// The iterator, counted from its first value.
fn zero_based(iterator: IterId, iterators: &[Iterator]) -> Affine {
    Affine { offset: -iterators[iterator.0].low, terms: vec![(iterator, 1)] }
}

/// Call `visit` for every point of a box, the last iterator fastest.
fn each_point(iterators: &[Iterator], mut visit: impl FnMut(&[i64])) {
    if iterators.iter().any(|iterator| iterator.extent() == 0) {
        return;
    }
    let mut point: Vec<i64> = iterators.iter().map(|iterator| iterator.low).collect();
    loop {
        visit(&point);
        let Some(next) = (0..point.len()).rev().find(|&n| point[n] + 1 < iterators[n].high) else { return };
        point[next] += 1;
        for (later, iterator) in point.iter_mut().zip(iterators).skip(next + 1) {
            *later = iterator.low;
        }
    }
}

/// Whether every element is written by one point of the free iterators: each of them shows in one dimension, where no two values of
/// those that share it make the same sum, as in `12*i + 3*j + k` with `j < 4` and `k < 3`.
pub(crate) fn writes_each_once(nest: &Nest) -> bool {
    let mut shown = vec![0; nest.free];
    let apart = |form: &Affine| {
        let mut terms: Vec<(i64, i64)> =
            form.terms.iter().map(|&(i, c)| (c.abs(), nest.iterators[i.0].extent() as i64)).collect();
        terms.sort_unstable();
        let mut reach = 0;
        terms.into_iter().all(|(coefficient, extent)| {
            let apart = extent <= 1 || coefficient > reach;
            reach += coefficient * (extent - 1).max(0);
            apart
        })
    };
    for form in &nest.out_index {
        form.terms.iter().for_each(|term| shown[term.0.0] += 1);
    }
    let each = shown.iter().zip(&nest.iterators).all(|(&times, iterator)| times == 1 || iterator.extent() <= 1);
    each && nest.out_index.iter().all(apart)
}
