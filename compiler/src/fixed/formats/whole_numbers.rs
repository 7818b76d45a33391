//! Whole numbers: they have no bits after their binary points, or that is said.

use super::{Formats, best_fraction};
use crate::canonical::primitive::{Atom, Primitive};
use crate::tensor::{Nest, Role, TensorId};
use arch::number::{quantise, to_f64};
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
    /// Say which whole constants are rounded where whole numbers alone are computed with: there a neighbour is a wrong number.
    pub(super) fn note_whole_constants(&mut self, nests: &[(Nest, Primitive)]) {
        let mut told = vec![false; self.program.tensors.len()];
        for (_, primitive) in nests {
            let is_whole = |atom: &&Atom| match atom {
                Atom::Read(tensor, _) => self.whole[tensor.0],
                Atom::Constant(value) => libm::trunc(*value) == *value,
            };
            let atoms = primitive.atoms();
            if !atoms.iter().all(is_whole) {
                continue;
            }
            for atom in atoms {
                if let Atom::Read(tensor, _) = atom
                    && !std::mem::replace(&mut told[tensor.0], true)
                {
                    self.note_constants(*tensor);
                }
            }
        }
    }

    fn note_constants(&mut self, id: TensorId) {
        let tensor = &self.program.tensors[id.0];
        let Role::Parameter(values) = &tensor.role else { return };
        let (fraction, word) = (self.fraction(id), self.numbers.word);
        let held = |value: f64| to_f64(quantise(value, fraction, word).0, fraction);
        let Some(element) = values.iter().position(|&value| held(value).total_cmp(&value).is_ne()) else { return };
        let (value, found) = (values[element], held(values[element]));
        let message = format!(
            "element {element} of the constants `{}`, {value}, becomes {found} in words of {word} bits",
            tensor.name
        );
        let help = "wider words hold whole numbers of all these sizes";
        self.notes.push(Diagnostic::new(Code::WarnNumber, tensor.span, message).with_help(help));
    }
}
