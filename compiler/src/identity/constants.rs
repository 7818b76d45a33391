//! Residues of real constants: folding rounds them, the identity is about what they stand for.
//!
//!     x / 3 * 0.1     =>     0.03333333333333333 * x         both constants are 1/30
//!
//! An `f64` is taken for the simplest number it can be a rounding of: a decimal of few digits, a quotient of small integers, or a constant
//! that was computed from constants in the program before (by then its exact residue is known). A constant that is none of these is
//! the dyadic number that it is.

use super::field::Residue;
use crate::ranges::INSTEAD_OF_INFINITY;
use std::collections::BTreeMap;

/// Distance, in last places of a mantissa of 53 bits, up to which two constants are roundings of the same number: a few operations.
const WINDOW: u64 = 8;
/// Largest `numerator * denominator` of a simple quotient. There are so few of these that a constant is next to one by accident in one of
/// 2^9 cases; and then it is so in both programs.
const SIMPLE: u64 = 1 << 40;
/// Digits of a decimal that somebody wrote.
const DIGITS: usize = 12;

/// What is known of constants so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Constants {
    /// Mantissas `2^52..2^53` whose value is another number than the dyadic one, and what they stand for.
    computed: BTreeMap<u64, Residue>,
}

impl Constants {
    /// The residue of a constant in a program.
    pub(super) fn residue(&self, value: f64) -> Residue {
        if value.is_nan() {
            return Residue::of_bits(value.to_bits());
        }
        let value = if value.is_infinite() { INSTEAD_OF_INFINITY.copysign(value) } else { value };
        self.known(value).unwrap_or_else(|| Residue::of_dyadic(value))
    }

    /// The residue of a constant that was computed from constants, which is `exact` but for roundings.
    pub(super) fn compute(&mut self, value: f64, exact: Residue) -> Residue {
        if !value.is_finite() || Residue::of_dyadic(value) == exact {
            return exact;
        }
        if let Some(known) = self.known(value) {
            return known;
        }
        let (mantissa, exponent) = parts(value);
        // Such a mantissa stands for a power of two, whatever cancelled here.
        if mantissa != 1 << 52 {
            let magnitude = if value < 0.0 { exact.negated() } else { exact };
            self.computed.insert(mantissa, magnitude.times(Residue::power_of_two(-exponent)));
        }
        exact
    }

    fn known(&self, value: f64) -> Option<Residue> {
        if value == 0.0 {
            return Some(Residue::ZERO);
        }
        let magnitude = decimal(value.abs()).or_else(|| quotient(value.abs())).or_else(|| {
            let (mantissa, exponent) = parts(value);
            let near = self.computed.range(mantissa - WINDOW..=mantissa + WINDOW);
            let (_, of_mantissa) = near.min_by_key(|(known, _)| known.abs_diff(mantissa))?;
            Some(of_mantissa.times(Residue::power_of_two(exponent)))
        })?;
        Some(if value < 0.0 { magnitude.negated() } else { magnitude })
    }
}

/// `|value| = mantissa * 2^exponent` with 53 bits.
fn parts(value: f64) -> (u64, i32) {
    let (fraction, exponent) = libm::frexp(value.abs());
    (libm::ldexp(fraction, 53) as u64, exponent - 53)
}

/// `digits * 10^exponent`, where that is short.
fn decimal(value: f64) -> Option<Residue> {
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() > DIGITS {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent.parse::<i32>().ok()? - fraction.len() as i32;
    let ten = if exponent < 0 { Residue::of_integer(10).inverse() } else { Residue::of_integer(10) };
    Some((0..exponent.unsigned_abs()).fold(Residue::of_integer(digits), |product, _| product.times(ten)))
}

/// The first convergent of the continued fraction that cannot be told from the value, if it is simple.
fn quotient(value: f64) -> Option<Residue> {
    let tolerance = value * libm::ldexp(WINDOW as f64, -53);
    let (mut before, mut now) = ((0u64, 1u64), (1u64, 0u64));
    let mut rest = value;
    loop {
        let whole = libm::floor(rest);
        if whole >= SIMPLE as f64 {
            return None;
        }
        let step = |a: u64, b: u64| (whole as u64).checked_mul(b).and_then(|product| product.checked_add(a));
        let next = (step(before.0, now.0)?, step(before.1, now.1)?);
        if next.0.checked_mul(next.1).is_none_or(|size| size > SIMPLE) {
            return None;
        }
        if next.0 > 0 && (next.0 as f64 / next.1 as f64 - value).abs() <= tolerance {
            let (top, bottom) = (Residue::of_integer(next.0.into()), Residue::of_integer(next.1.into()));
            return Some(top.times(bottom.inverse()));
        }
        (before, now) = (now, next);
        rest = 1.0 / (rest - whole);
        if !rest.is_finite() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(top: i128, bottom: i128) -> Residue {
        Residue::of_integer(top).times(Residue::of_integer(bottom).inverse())
    }

    #[test]
    fn roundings_of_the_same_number_have_its_residue() {
        let constants = Constants::default();
        for (value, residue) in [
            (0.0, Residue::ZERO),
            (-7.0, over(-7, 1)),
            (0.05 / 3.0, over(1, 60)),
            (0.1 + 0.2, over(3, 10)),
            (-1.0 / 3.0, over(-1, 3)),
            (0.044_715, over(44_715, 1_000_000)),
            (1e-12, over(1, 1_000_000_000_000)),
            (3e20, over(300_000_000_000_000_000_000, 1)),
            (std::f64::consts::PI, Residue::of_dyadic(std::f64::consts::PI)),
            (f64::NEG_INFINITY, Residue::power_of_two(100).negated()),
        ] {
            assert_eq!(constants.residue(value), residue, "{value}");
        }
    }

    #[test]
    fn computed_constants_are_found_again() {
        let mut constants = Constants::default();
        let root = Residue::symbol(5, [Residue::of_integer(2)]);
        assert_eq!(constants.compute(std::f64::consts::SQRT_2, root), root);
        assert_eq!(constants.residue(-4.0 * std::f64::consts::SQRT_2), root.times(Residue::of_integer(-4)));
        // What cancels to a power of two is not remembered.
        assert_eq!(constants.compute(libm::ldexp(1.0, -54), Residue::ZERO), Residue::ZERO);
        assert_eq!(constants.residue(0.5), over(1, 2));
    }
}
