//! The loop nest of an operation: strides of every operand in every loop, worked out once.
//!
//! ```text
//! s[j] = sum over i (w[j][i] * x[i])        loops    out  start   w   x
//!                                            j        1     0     64   0     free
//!                                            i        0     0      1   1     reduced
//! ```
//!
//! Loops that count as one are merged, and loops of one value are dropped. One free loop is the vector: its values are computed side by side.
//! Free loops run in any order, and so do reductions of integers.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::tiles::Tiled;
use std::ops::Range;

/// Which access a stride belongs to: `NUMBER` counts the free points in lexicographic order.
pub(crate) const OUT: usize = 0;
pub(crate) const START: usize = 1;
pub(crate) const A: usize = 2;
pub(crate) const B: usize = 3;
pub(crate) const NUMBER: usize = 4;
/// Kinds of access.
pub(crate) const ACCESSES: usize = 5;

/// An access: its place at the first point, and its stride in each loop.
pub(crate) type Access<'a> = (i64, &'a [i64]);

/// Where each access is.
pub(crate) type Places = [i64; ACCESSES];

/// One loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) extent: usize,
    pub(crate) strides: Places,
}

impl Loop {
    const ONCE: Loop = Loop { extent: 1, strides: [0; ACCESSES] };

    /// Whether both factors are side by side along it, or one of them the same everywhere.
    pub(crate) fn is_dense(&self) -> bool {
        matches!((self.strides[A], self.strides[B]), (1, 0 | 1) | (0, 1))
    }
}

/// All loops of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Loops {
    /// Accesses at the first point.
    pub(crate) first: Places,
    /// Free loops but the vector.
    pub(crate) free: Vec<Loop>,
    /// The free loop whose values are computed side by side.
    pub(crate) vector: Loop,
    /// Reduction loops but the innermost one.
    pub(crate) reduced: Vec<Loop>,
    /// The innermost reduction loop.
    pub(crate) inner: Loop,
    /// No two free points write the same element.
    pub(crate) writes_once: bool,
    /// Two free loops as tiles, if they are some.
    pub(crate) tiled: Option<Tiled>,
}

impl Loops {
    /// The loops of these extents, the first `free` of them free. Where `ordered`, reductions keep their order.
    pub(crate) fn new(extents: &[usize], free: usize, accesses: [Option<Access<'_>>; NUMBER], ordered: bool) -> Loops {
        let mut first = [0; ACCESSES];
        let mut loops: Vec<Loop> = extents.iter().map(|&extent| Loop { extent, ..Loop::ONCE }).collect();
        for (n, (at, strides)) in accesses.iter().enumerate().filter_map(|(n, access)| Some((n, (*access)?))) {
            first[n] = at;
            loops.iter_mut().zip(strides).for_each(|(l, &stride)| l.strides[n] = stride);
        }
        let mut points = 1;
        for l in loops[..free].iter_mut().rev() {
            l.strides[NUMBER] = points;
            points *= l.extent as i64;
        }
        let reduced = loops.split_off(free);
        let writes_once = writes_once(&loops);
        let (mut free, mut reduced) = (merged(loops), merged(reduced));
        let vector = if writes_once { best(&free, 8) } else { free.len().checked_sub(1) };
        let vector = vector.map_or(Loop::ONCE, |n| free.remove(n));
        let inner = if ordered { reduced.len().checked_sub(1) } else { best(&reduced, 8) };
        let inner = inner.map_or(Loop::ONCE, |n| reduced.remove(n));
        let tiled = if writes_once { Tiled::new(&free, &vector, &inner) } else { None };
        Loops { first, free, vector, reduced, inner, writes_once, tiled }
    }

    /// The elements of an access at all free points, if they follow each other; each may be there for several points.
    pub(crate) fn run(&self, access: usize) -> Option<Range<usize>> {
        let mut loops: Vec<&Loop> = self.free.iter().chain([&self.vector]).filter(|l| l.extent > 1).collect();
        loops.retain(|l| l.strides[access] != 0);
        loops.sort_unstable_by_key(|l| l.strides[access]);
        let mut points = 1;
        for l in loops {
            if l.strides[access] != points as i64 {
                return None;
            }
            points *= l.extent;
        }
        let first = self.first[access] as usize;
        Some(first..first + points)
    }

    /// The elements of both factors, if each of the one is multiplied by each of the other, and nothing is added.
    pub(crate) fn crossed(&self) -> Option<[Range<usize>; 2]> {
        let crosses = |l: &Loop| l.strides[A] == 0 || l.strides[B] == 0;
        let all = self.has_no_sums() && self.free.iter().chain([&self.vector]).all(crosses);
        if all { Some([self.run(A)?, self.run(B)?]) } else { None }
    }

    /// Whether each result is made of one product.
    pub(crate) fn has_no_sums(&self) -> bool {
        self.reduced.is_empty() && self.inner.extent == 1
    }

    /// Whether a sum is best made along the innermost loop, value by value of the vector.
    pub(crate) fn sums_along(&self) -> bool {
        (self.inner.strides[A], self.inner.strides[B]) == (1, 1)
            && !(self.vector.is_dense() && self.vector.extent >= 8.min(self.inner.extent))
    }

    /// Call `visit` for the first value of the vector at every other free point.
    #[inline(always)]
    pub(crate) fn each_free(&self, visit: impl FnMut(Places)) {
        each(&self.free, self.first, visit);
    }

    /// Call `visit` for every free point.
    pub(crate) fn each_point(&self, mut visit: impl FnMut(Places)) {
        self.each_free(|places| each(&[self.vector], places, &mut visit));
    }

    /// Call `visit` for every point of the reduction, from a free point on.
    pub(crate) fn each_reduced(&self, places: Places, mut visit: impl FnMut(Places)) {
        each(&self.reduced, places, |places| each(&[self.inner], places, &mut visit));
    }
}

/// Call `visit` for each point of some loops, in lexicographic order.
#[inline(always)]
pub(crate) fn each(loops: &[Loop], mut places: Places, mut visit: impl FnMut(Places)) {
    if loops.is_empty() {
        return visit(places);
    }
    let mut point = vec![0; loops.len()];
    'points: loop {
        visit(places);
        for (count, l) in point.iter_mut().zip(loops).rev() {
            *count += 1;
            let wraps = *count == l.extent;
            let steps = if wraps { 1 - l.extent as i64 } else { 1 };
            places.iter_mut().zip(&l.strides).for_each(|(place, stride)| *place += stride * steps);
            if !wraps {
                continue 'points;
            }
            *count = 0;
        }
        return;
    }
}

/// Without loops of one value, and neighbours as one where every access goes on as if they were.
fn merged(loops: Vec<Loop>) -> Vec<Loop> {
    let mut all: Vec<Loop> = Vec::new();
    for inner in loops.into_iter().filter(|l| l.extent != 1) {
        match all.last_mut() {
            Some(outer) if (0..ACCESSES).all(|n| outer.strides[n] == inner.strides[n] * inner.extent as i64) => {
                *outer = Loop { extent: outer.extent * inner.extent, ..inner };
            }
            _ => all.push(inner),
        }
    }
    all
}

/// The loop that is best computed side by side: dense and of at least so many values, else the longest one.
fn best(loops: &[Loop], enough: usize) -> Option<usize> {
    let worth = |l: &Loop| (l.is_dense() && l.extent >= enough, l.extent.min(32), l.strides[OUT] == 1, l.extent);
    (0..loops.len()).max_by_key(|&n| worth(&loops[n]))
}

/// Whether no two points write the same element: each stride is longer than all that the smaller ones reach.
fn writes_once(free: &[Loop]) -> bool {
    let mut steps: Vec<(i64, i64)> = free.iter().map(|l| (l.strides[OUT].abs(), l.extent as i64 - 1)).collect();
    steps.retain(|&(_, steps)| steps > 0);
    steps.sort_unstable();
    let mut reach = 0;
    steps.iter().all(|&(stride, steps)| {
        let farther = stride > reach;
        reach += stride * steps;
        farther
    })
}
