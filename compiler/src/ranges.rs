//! Value ranges of a program's tensors: measured in a golden run, or declared.

use std::collections::BTreeMap;

/// From here on a value stands for an infinity: words have none, and no data come near it.
const BEYOND: f64 = (1_u128 << 90) as f64;

/// Double precision has every integer below this.
pub const EXACT_INTEGERS: f64 = (1_u64 << 53) as f64;

/// What takes the place of an infinity until formats are known. Sums with other values are still beyond them.
pub(crate) const INSTEAD_OF_INFINITY: f64 = (1_u128 << 100) as f64;

/// Whether a value stands for an infinity, or is none.
pub fn is_beyond(value: f64) -> bool {
    value.is_nan() || value.abs() >= BEYOND
}

/// What a given value is where words are computed with, which have no infinity and no NaN: a number beyond all others, and 0.
pub fn within_words(value: f64) -> f64 {
    if value.is_nan() {
        0.0
    } else if value.is_infinite() {
        INSTEAD_OF_INFINITY.copysign(value)
    } else {
        value
    }
}

/// Smallest and largest value seen or declared, per tensor of a program (by tensor number); `None` where nothing is known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranges {
    /// One entry per tensor.
    pub tensors: Vec<Option<(f64, f64)>>,
    /// Of inputs, where they were seen, smallest and largest value of each element, row by row.
    pub elements: BTreeMap<usize, Vec<(f64, f64)>>,
}

impl Ranges {
    /// Of tensors alone.
    pub fn of_tensors(tensors: Vec<Option<(f64, f64)>>) -> Ranges {
        Ranges { tensors, elements: BTreeMap::new() }
    }

    /// Widen each element of an input to hold its value.
    pub fn include_elements(&mut self, tensor: usize, values: &[f64]) {
        let elements =
            self.elements.entry(tensor).or_insert_with(|| values.iter().map(|&value| (value, value)).collect());
        for ((low, high), &value) in elements.iter_mut().zip(values) {
            (*low, *high) = (low.min(value), high.max(value));
        }
    }

    /// Widen tensor `tensor` to hold `value`.
    pub fn include(&mut self, tensor: usize, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.tensors.len() <= tensor {
            self.tensors.resize(tensor + 1, None);
        }
        let (low, high) = self.tensors[tensor].unwrap_or((value, value));
        self.tensors[tensor] = Some((low.min(value), high.max(value)));
    }
}
