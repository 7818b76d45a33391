//! Division as the divider of a root unit does it (docs/machine.md, section 4).
//!
//!     sum ──▶ dividend (high word) ──▶ |dividend| << places ──┐
//!        └──▶ divisor  (low word)  ──▶ |divisor| ─────────────┴──▶ 2W quotient bits, one per cycle ──▶ round, sign, saturate ──▶ y
//!
//! Both operands travel in one sum, `dividend * 2^W + divisor`, so a divider needs nothing that a tree does not already carry.

use crate::number::{saturate, word_max, word_min, wrap};

/// How a quotient becomes a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Towards minus infinity.
    Down,
}

/// Most places that a dividend of this width can be shifted to the left.
pub fn most_places(word: u32) -> u32 {
    word
}

/// `dividend * 2^places / divisor`, rounded and saturated to a word, and whether it saturated.
///
/// A divisor of 0 gives the word at the end of the format that has the dividend's sign, which counts as saturated; 0 / 0 is 0.
pub fn divide(dividend: i64, divisor: i64, places: u32, rounding: Rounding, word: u32) -> (i64, bool) {
    if divisor == 0 {
        return match dividend.signum() {
            0 => (0, false),
            1 => (word_max(word) as i64, true),
            _ => (word_min(word) as i64, true),
        };
    }
    let (numerator, divisor_size) = (i128::from(dividend.unsigned_abs()) << places, i128::from(divisor.unsigned_abs()));
    let (quotient, rest) = (numerator / divisor_size, numerator % divisor_size);
    let negative = (dividend < 0) != (divisor < 0);
    let up = match rounding {
        Rounding::Nearest => 2 * rest > divisor_size || 2 * rest == divisor_size && quotient & 1 == 1,
        Rounding::Down => negative && rest != 0,
    };
    let size = quotient + i128::from(up);
    saturate(if negative { -size } else { size }, word)
}

/// Dividend and divisor of the sum that carries them.
pub fn operands(sum: i128, word: u32) -> (i64, i64) {
    let divisor = wrap(sum, word);
    // A negative divisor has borrowed from the dividend.
    (wrap((sum >> word) + i128::from(divisor < 0), word) as i64, divisor as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_once() {
        let nearest = |a, b, places| divide(a, b, places, Rounding::Nearest, 16);
        assert_eq!(nearest(7, 2, 0), (4, false));
        assert_eq!(nearest(5, 2, 0), (2, false), "a tie goes to the even side");
        assert_eq!(nearest(-5, 2, 0), (-2, false));
        assert_eq!(nearest(-7, -2, 0), (4, false));
        assert_eq!(nearest(1, 3, 16), (21_845, false));
        assert_eq!(nearest(-32_768, -1, 0), (32_767, true));
        assert_eq!(nearest(-32_768, 1, 0), (-32_768, false));
        assert_eq!(nearest(20_000, 3, 16), (32_767, true));
        assert_eq!(
            (nearest(3, 0, 0), nearest(-3, 0, 0), nearest(0, 0, 0)),
            ((32_767, true), (-32_768, true), (0, false))
        );
    }

    #[test]
    fn down_is_towards_minus_infinity() {
        let down = |a, b| divide(a, b, 0, Rounding::Down, 16).0;
        assert_eq!([down(7, 2), down(-7, 2), down(7, -2), down(-7, -2), down(-6, 2)], [3, -4, -4, 3, -3]);
    }

    #[test]
    fn a_sum_carries_both_operands() {
        for word in [8, 16, 32] {
            let (low, high) = (word_min(word) as i64, word_max(word) as i64);
            for dividend in [low, low + 1, -1, 0, 1, high] {
                for divisor in [low, -7, -1, 0, 1, high] {
                    let sum = wrap((i128::from(dividend) << word) + i128::from(divisor), 2 * word);
                    assert_eq!(operands(sum, word), (dividend, divisor));
                }
            }
        }
    }
}
