//! Binary points of quotients.

use super::{Formats, best_fraction, exact_fraction};
use crate::canonical::primitive::Atom;
use crate::tensor::{Nest, TensorId};
use arch::division::most_places;

/// Whether a value is rounded down that is divided by this: no divider does that.
pub(in crate::fixed) fn is_one(divisor: &Atom) -> bool {
    matches!(divisor, Atom::Constant(one) if *one == 1.0)
}

impl Formats<'_> {
    /// Binary points of dividend and divisor, with those of constants chosen.
    pub(in crate::fixed) fn division_points(&self, out: TensorId, dividend: &Atom, divisor: &Atom) -> (i32, i32) {
        let word = self.numbers.word;
        // As few bits as hold a constant exactly, or all there are; more where the shift of the dividend wants it.
        let constant = |value: f64, wanted: i32| {
            let best = best_fraction(value, value, word);
            let least = exact_fraction(value, word).unwrap_or(best);
            wanted.clamp(least, best)
        };
        let out = self.fraction(out);
        match (dividend, divisor) {
            (Atom::Read(a, _), Atom::Read(b, _)) => (self.fraction(*a), self.fraction(*b)),
            (Atom::Read(a, _), Atom::Constant(b)) => {
                let a = self.fraction(*a);
                (a, constant(*b, a - out))
            }
            (Atom::Constant(a), Atom::Read(b, _)) => {
                let b = self.fraction(*b);
                (constant(*a, out + b), b)
            }
            (Atom::Constant(a), Atom::Constant(b)) => {
                let b = constant(*b, word as i32 / 2);
                (constant(*a, out + b), b)
            }
        }
    }

    /// Keep the shift of the dividend within what a divider has.
    pub(super) fn constrain_division(
        &mut self,
        (number, nest): (usize, &Nest),
        dividend: &Atom,
        divisor: &Atom,
        down: bool,
    ) {
        let most = most_places(self.numbers.word) as i32;
        let out = self.fraction(nest.out);
        let (a, b) = self.division_points(nest.out, dividend, divisor);
        let places = out - a + b;
        if places < 0 {
            if let Some(change) = self.finer((number, nest), &[divisor], -places) {
                self.change = Some(change);
                return;
            }
            match dividend {
                Atom::Read(tensor, _) => self.lower(*tensor, a + places, "its quotient has fewer bits", nest),
                // The dividend keeps what it needs, the divisor gets less.
                Atom::Constant(_) => self.reject(nest, "the quotient of this constant has no room"),
            }
        } else if places > most {
            match divisor {
                _ if !down => self.lower(nest.out, out + most - places, "a divider makes no more bits", nest),
                Atom::Read(tensor, _) => self.lower(*tensor, b + most - places, "a divider makes no more bits", nest),
                Atom::Constant(_) => self.reject(nest, "the divisor is too small for these words"),
            }
        }
    }
}
