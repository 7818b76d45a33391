//! Values that did not fit their words: of which tensor, by which operation, how many, in which steps.
//!
//!     value ──▶ nearest word of W bits ──▶ within -2^(W-1) .. 2^(W-1) - 1? ──no──▶ clipped, and counted here

use arch::Span;

/// How many steps are kept by number.
pub const KEPT: usize = 10;

/// How often values were clipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Count {
    /// Values.
    pub values: u64,
    /// Steps in which there were any.
    pub steps: u64,
    /// The first of these steps, counted from 1.
    pub first_steps: Vec<u64>,
}

impl Count {
    /// So many values in step number `step`.
    pub fn add(&mut self, step: u64, values: u64) {
        if values == 0 {
            return;
        }
        self.values += values;
        self.steps += 1;
        if self.first_steps.len() < KEPT {
            self.first_steps.push(step);
        }
    }
}

/// Values of one tensor that were clipped.
#[derive(Debug, Clone, PartialEq)]
pub struct Clipped {
    /// Name of the tensor.
    pub tensor: String,
    /// Place of the operation that computed them; none for what was given.
    pub computed: Option<Span>,
    /// Smallest and largest value of its words.
    pub range: (f64, f64),
    /// How often.
    pub count: Count,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_without_clipped_values_do_not_count() {
        let mut count = Count::default();
        for step in 1..=30 {
            count.add(step, step % 2 * step);
        }
        assert_eq!((count.values, count.steps), ((1..=29).step_by(2).sum(), 15));
        assert_eq!(count.first_steps, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    }
}
