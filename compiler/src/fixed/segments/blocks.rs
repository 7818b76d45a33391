//! Blocks: parts of several operations that follow from some indices of a tensor.
//!
//! ```text
//! h[c,i,j] = sum(w[c,..] * x[..])     c in 0..16          block 0: c in 0..8     block 1: c in 8..16
//! y[c,i,j] = max(h[c,i,j] + b[c], 0)  c in 0..16          follows: c in 0..8              c in 8..16
//! z[k,i,j] = sum[c](v[k,c] * y[c,i,j])                    does not: it reads all of y
//! ```

use super::{Part, Segment};
use crate::fixed::{Operation, Program, for_each_access};
use crate::tensor::{Affine, IterId, TensorId};
use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;

/// Blocks of the tensor that some operations write first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Dimensions that are cut: indices of the tensor, and into how many pieces.
    cuts: Vec<Cut>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    extent: u32,
    count: u32,
    /// The same dimension of every tensor that follows.
    dimensions: BTreeMap<TensorId, usize>,
    first: usize,
}

impl Cut {
    /// Indices of a piece; the last ones may be empty.
    fn piece(&self, number: u32) -> Range<i64> {
        let size = self.extent.div_ceil(self.count);
        let end = |number: u32| i64::from((number * size).min(self.extent));
        end(number)..end(number + 1)
    }
}

impl Blocks {
    /// All ways to cut one or two dimensions of a shape into so many blocks.
    pub(super) fn of(shape: &[u32], count: u32) -> impl Iterator<Item = Blocks> {
        let cut = |dimension: usize, count: u32| Cut {
            extent: shape[dimension],
            count,
            dimensions: BTreeMap::new(),
            first: dimension,
        };
        let fits = |dimension: usize, count: u32| count > 1 && count <= shape[dimension];
        let mut ways: Vec<Blocks> = Vec::new();
        for first in 0..shape.len() {
            ways.extend(fits(first, count).then(|| Blocks { cuts: vec![cut(first, count)] }));
            for second in first + 1..shape.len() {
                let counts = iter::successors(Some(2), |count| Some(2 * count)).take_while(|&outer| outer < count);
                let both = counts.map(|outer| (outer, count / outer));
                let both = both.filter(|&(outer, inner)| fits(first, outer) && fits(second, inner));
                ways.extend(both.map(|(outer, inner)| Blocks { cuts: vec![cut(first, outer), cut(second, inner)] }));
            }
        }
        ways.into_iter()
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.cuts.iter().map(|cut| cut.count).product()
    }

    /// The same for all operations up to some of these ends, the last one first, where they are blocks of this tensor; none if not even the first ones
    /// are in blocks.
    pub(super) fn followed(
        &self,
        program: &Program,
        tensor: TensorId,
        from: usize,
        ends: &[usize],
    ) -> Vec<(usize, Blocks)> {
        let mut blocks = self.clone();
        for cut in &mut blocks.cuts {
            cut.dimensions.insert(tensor, cut.first);
        }
        let mut followed = Vec::new();
        let mut next = from;
        for &end in ends {
            let mut goes_along = |operation: &Operation| {
                blocks.is_apart(operation) || blocks.cuts.iter_mut().all(|cut| follow(cut, operation))
            };
            if !program.operations[next..end].iter().all(&mut goes_along) {
                break;
            }
            next = end;
            followed.push((end, blocks.clone()));
        }
        followed.reverse();
        followed
    }

    /// Whether an operation has nothing to do with what is cut: the first block does it.
    fn is_apart(&self, operation: &Operation) -> bool {
        let mut apart = true;
        for_each_access(operation, |tensor, _, _| {
            apart &= self.cuts.iter().all(|cut| !cut.dimensions.contains_key(&tensor));
        });
        apart
    }

    /// The segment of a block; `None` if it is empty.
    pub(super) fn segment(&self, program: &Program, operations: Range<usize>, number: u32) -> Option<Segment> {
        let inner = self.cuts.get(1).map_or(1, |cut| cut.count);
        let pieces: Vec<Range<i64>> =
            self.cuts.iter().zip([number / inner, number % inner]).map(|(cut, number)| cut.piece(number)).collect();
        let part = |operation_number: usize| {
            let operation = &program.operations[operation_number];
            let mut part = Part::whole(program, operation_number);
            if self.is_apart(operation) {
                return (number == 0).then_some(part);
            }
            for (cut, piece) in self.cuts.iter().zip(&pieces) {
                let form = &operation.out_index[cut.dimensions[&operation.out]];
                match iterator(form) {
                    Some((IterId(level), offset)) => {
                        let own = &mut part.loops[level];
                        *own = own.start.max(piece.start - offset)..own.end.min(piece.end - offset);
                    }
                    None if !piece.contains(&form.offset) => return None,
                    None => {}
                }
            }
            part.loops.iter().all(|range| !range.is_empty()).then_some(part)
        };
        let parts: Vec<Part> = operations.filter_map(part).collect();
        (!parts.is_empty()).then(|| Segment::new(program, parts))
    }
}

/// The iterator that a form is, and its offset; `None` where it is constant, or more than that.
fn iterator(form: &Affine) -> Option<(IterId, i64)> {
    match form.terms.as_slice() {
        [(iterator, 1)] => Some((*iterator, form.offset)),
        _ => None,
    }
}

/// Whether an operation reads of what is cut only the indices that it writes; the tensor that it writes is cut likewise then.
fn follow(cut: &mut Cut, operation: &Operation) -> bool {
    let mut read: Vec<Option<(IterId, i64)>> = Vec::new();
    let mut constant = true;
    for_each_access(operation, |tensor, index, writes| {
        if let (false, Some(&dimension)) = (writes, cut.dimensions.get(&tensor)) {
            read.push(iterator(&index[dimension]));
            constant &= index[dimension].terms.is_empty();
        }
    });
    let out = operation.out;
    if read.is_empty() {
        // It writes what is cut.
        let index = cut.dimensions.get(&out).map(|&dimension| &operation.out_index[dimension]);
        let is_free = |form: &Affine| iterator(form).is_some_and(|(level, _)| level.0 < operation.free);
        return index.is_some_and(|form| form.terms.is_empty() || is_free(form));
    }
    let same = |form: &Affine| iterator(form).is_some() && read.iter().all(|read| *read == iterator(form));
    let dimension = cut.dimensions.get(&out).copied().or_else(|| operation.out_index.iter().position(same));
    let Some(dimension) = dimension.filter(|&dimension| same(&operation.out_index[dimension])) else { return false };
    cut.dimensions.insert(out, dimension);
    true
}
