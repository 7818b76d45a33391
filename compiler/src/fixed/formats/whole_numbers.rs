//! Whole numbers: they have no bits after their binary points, or that is said.

use super::{Formats, best_fraction};
use crate::canonical::primitive::Primitive;
use crate::tensor::{Nest, Role};
use arch::{Code, Diagnostic};

impl Formats<'_> {
    /// Whether a tensor holds whole numbers that were seen to fit a word, and no constants.
    pub(super) fn is_whole(&self, id: usize) -> bool {
        let least = libm::ldexp(1.0, -(self.numbers.headroom as i32));
        let fits = |(low, high): (f64, f64)| best_fraction(low * least, high * least, self.numbers.word) >= 0;
        let constant = matches!(self.program.tensors[id].role, Role::Parameter(_));
        self.whole[id] && !constant && self.ranges[self.same_as[id].0].is_none_or(fits)
    }

    /// Refuse a whole number or a comparison whose tensor holds other values that took the place of the ones.
    pub(super) fn keep_whole_numbers(&mut self, nests: &[(Nest, Primitive)]) {
        for (nest, primitive) in nests {
            let whole = matches!(
                primitive,
                Primitive::MultiplyAdd { negative: true, .. }
                    | Primitive::MultiplyAdd { whole: true, .. }
                    | Primitive::Divide { down: true, .. }
            );
            if whole && self.fraction(nest.out) != 0 {
                self.reject(nest, "beside its other values a whole number has no room");
            }
        }
    }

    /// Say which whole numbers lose their last places, since words have no room for them.
    pub(super) fn note_whole_numbers(&mut self) {
        for (id, tensor) in self.program.tensors.iter().enumerate() {
            let (fraction, same) = (self.fractions[id], self.same_as[id].0 == id);
            if !self.whole[id] || !same || fraction >= 0 || matches!(tensor.role, Role::Parameter(_)) {
                continue;
            }
            let message = format!(
                "the whole numbers of `{}` do not fit words of {} bits: they are rounded to multiples of {}",
                tensor.name,
                self.numbers.word,
                libm::exp2(f64::from(-fraction))
            );
            let help = "wider words hold them exactly";
            self.notes.push(Diagnostic::new(Code::WarnNumber, tensor.span, message).with_help(help));
        }
    }
}
