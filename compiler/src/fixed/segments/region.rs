//! Regions: boxes of tensors.

use super::Part;
use crate::fixed::{Columns, Program, Tensor, for_each_access};
use crate::tensor::{Affine, TensorId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Some elements of a tensor: from the first on, and before the second, in each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The first index of each dimension.
    pub low: Vec<u32>,
    /// One past the last.
    pub high: Vec<u32>,
}

impl Region {
    /// Its extents.
    pub fn shape(&self) -> Vec<u32> {
        self.low.iter().zip(&self.high).map(|(low, high)| high - low).collect()
    }

    /// The elements that an access touches over some loops; the first one, where it touches none.
    pub(super) fn of(index: &[Affine], loops: &[Range<i64>]) -> Region {
        if loops.iter().any(Range::is_empty) {
            return Region { low: vec![0; index.len()], high: vec![1; index.len()] };
        }
        let spans: Vec<Range<i64>> = index.iter().map(|form| span(form, loops)).collect();
        let ends = |end: &dyn Fn(&Range<i64>) -> i64| spans.iter().map(|span| end(span) as u32).collect();
        Region { low: ends(&|span| span.start), high: ends(&|span| span.end) }
    }

    /// Whether they have an element in common.
    pub(super) fn meets(&self, other: &Region) -> bool {
        let ends = self.low.iter().zip(&self.high).zip(other.low.iter().zip(&other.high));
        ends.into_iter().all(|((low, high), (from, to))| low < to && from < high)
    }

    /// The smallest one that holds both.
    fn with(&mut self, other: &Region) {
        for (low, &new) in self.low.iter_mut().zip(&other.low) {
            *low = new.min(*low);
        }
        for (high, &new) in self.high.iter_mut().zip(&other.high) {
            *high = new.max(*high);
        }
    }

    /// Its elements in a tensor of this shape, row by row: where runs of neighbours begin, and how long they are.
    fn runs(&self, shape: &[u32]) -> (Vec<usize>, usize) {
        let (mut starts, mut length) = (vec![0], 1);
        for ((&extent, &low), &high) in shape.iter().zip(&self.low).zip(&self.high) {
            let (extent, low, high) = (extent as usize, low as usize, high as usize);
            // Neighbours stay neighbours where all of a dimension is meant.
            if low == 0 && high == extent {
                for start in &mut starts {
                    *start *= extent;
                }
                length *= extent;
            } else {
                let inner = |start: usize| (start..start + length).map(move |at| at * extent + low);
                starts = starts.into_iter().flat_map(inner).collect();
                length = high - low;
            }
        }
        (starts, length)
    }

    /// Its elements of a tensor.
    pub(super) fn words(&self, shape: &[u32], words: &[i64]) -> Vec<i64> {
        let (starts, length) = self.runs(shape);
        starts.into_iter().flat_map(|start| &words[start..start + length]).copied().collect()
    }

    /// Put its elements into a tensor.
    pub(super) fn put(&self, shape: &[u32], words: &[i64], into: &mut [i64]) {
        let (starts, length) = self.runs(shape);
        for (start, run) in starts.into_iter().zip(words.chunks(length.max(1))) {
            into[start..start + length].copy_from_slice(run);
        }
    }

    /// The binary points of its columns.
    pub(super) fn columns(&self, tensor: &Tensor) -> Option<Columns> {
        tensor.columns.as_ref().map(|columns| {
            let (low, high) = (self.low[columns.dimension], self.high[columns.dimension]);
            Columns { dimension: columns.dimension, more: columns.more[low as usize..high as usize].to_vec() }
        })
    }
}

/// The box of each tensor that some parts touch.
pub(super) fn touched(program: &Program, parts: &[Part]) -> BTreeMap<TensorId, Region> {
    let mut boxes: BTreeMap<TensorId, Region> = BTreeMap::new();
    for part in parts {
        for_each_access(&program.operations[part.operation], |tensor, index, _| {
            let new = Region::of(index, &part.loops);
            boxes.entry(tensor).and_modify(|known| known.with(&new)).or_insert(new);
        });
    }
    boxes
}

/// The values of a form over loops.
fn span(form: &Affine, loops: &[Range<i64>]) -> Range<i64> {
    let ends = form.terms.iter().map(|(iterator, factor)| {
        let range = &loops[iterator.0];
        let (first, last) = (factor * range.start, factor * (range.end - 1));
        (first.min(last), first.max(last))
    });
    let (low, high) = ends.fold((form.offset, form.offset), |(low, high), (least, most)| (low + least, high + most));
    low..high + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::IterId;

    #[test]
    fn an_access_touches_a_box() {
        // a[7 - 2 * i + k], and nothing where a loop runs over nothing.
        let index = [Affine { offset: 7, terms: vec![(IterId(0), -2), (IterId(1), 1)] }];
        assert_eq!(Region::of(&index, &[1..4, 0..3]), Region { low: vec![1], high: vec![8] });
        assert_eq!(Region::of(&index, &[1..4, 0..0]), Region { low: vec![0], high: vec![1] });
    }

    #[test]
    fn elements_go_out_and_back() {
        let place = Region { low: vec![1, 0, 2], high: vec![3, 2, 4] };
        let shape = [3, 2, 5];
        let words: Vec<i64> = (0..30).collect();
        let some = place.words(&shape, &words);
        assert_eq!(some, [12, 13, 17, 18, 22, 23, 27, 28]);
        let mut into = vec![-1; 30];
        place.put(&shape, &some, &mut into);
        let expected = |n: i64| if some.contains(&n) { n } else { -1 };
        assert_eq!(into, (0..30).map(expected).collect::<Vec<i64>>());
    }
}
