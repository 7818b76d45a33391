//! Addresses: where the elements of a tensor are that an operation visits.
//!
//!     w[2*i + 1][j]    i in 3..7, w of 16 x 4      =>      base (2*3 + 1) * 4, strides i: 8, j: 1

use compiler::fixed::Operation;
use compiler::tensor::Affine;

/// `base + sum(stride * iterations of each iterator)`, row-major.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(super) base: i64,
    pub(super) strides: Vec<i64>,
}

impl Address {
    /// The address of an element of a tensor of this shape, by the iterators of an operation.
    pub(crate) fn of(operation: &Operation, index: &[Affine], shape: &[u32]) -> Address {
        let mut result = Address { base: 0, strides: vec![0; operation.iterators.len()] };
        for (form, &extent) in index.iter().zip(shape) {
            let extent = i64::from(extent);
            result.base = result.base * extent + form.offset;
            result.strides.iter_mut().for_each(|s| *s *= extent);
            for &(iterator, coefficient) in &form.terms {
                result.strides[iterator.0] += coefficient;
                result.base += coefficient * operation.iterators[iterator.0].low;
            }
        }
        result
    }

    /// The element at a point; what is missing of the point counts as 0.
    pub(crate) fn at(&self, point: &[usize]) -> usize {
        let steps: i64 = self.strides.iter().zip(point).map(|(&stride, &k)| stride * k as i64).sum();
        (self.base + steps) as usize
    }
}

/// The next point of a box in lexicographic order; false (and the first point again) after the last.
pub(crate) fn advance(point: &mut [usize], extents: &[usize]) -> bool {
    for level in (0..point.len()).rev() {
        point[level] += 1;
        if point[level] < extents[level] {
            return true;
        }
        point[level] = 0;
    }
    false
}
