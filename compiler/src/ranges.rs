//! What values a program's tensors take: measured in a golden run, or declared.

/// Smallest and largest value seen or declared, per tensor of a program (by tensor number); `None` where nothing is known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranges {
    /// One entry per tensor.
    pub tensors: Vec<Option<(f64, f64)>>,
}

impl Ranges {
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
