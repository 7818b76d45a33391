//! The exponential without a branch: in a loop it becomes vectors.
//!
//! ```text
//! x = k ln 2 + r,  |r| <= ln 2 / 2        exp(x) = 2^k exp(r),  exp(r) = 1 + r + r c / (2 - c),  c = r - r^2 P(r^2)
//! ```
//!
//! Step by step that of FreeBSD and [`libm`], so that every bit is the same.

use crate::number::ONES;

/// `ln 2` in two parts: products of the first with small integers are exact.
const LN2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76)];
const BY_LN2: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);
const P: [f64; 5] = [
    f64::from_bits(0x3fc5_5555_5555_553e),
    f64::from_bits(0xbf66_c16c_16be_bd93),
    f64::from_bits(0x3f11_566a_af25_de2c),
    f64::from_bits(0xbebb_bd41_c5d2_6bf1),
    f64::from_bits(0x3e66_3769_72be_a4d0),
];
/// From here on `x` is more than `ln 2 / 2`, and `1.5 ln 2`; below, it is next to nothing.
const HALF_LN2: f64 = f64::from_bits(0x3fd6_2e43_0000_0000);
const LARGE: f64 = f64::from_bits(0x3ff0_a2b2_0000_0000);
const TINY: f64 = f64::from_bits(0x3e30_0001_0000_0000);
/// Beyond these the result is infinite, or 0.
const HIGHEST: f64 = 709.782_712_893_384;
const LOWEST: f64 = -745.133_219_101_941_1;

/// `e^x`, bit for bit that of `libm`.
#[inline]
pub(super) fn exp(x: f64) -> f64 {
    let (size, sign) = (x.abs(), 1f64.copysign(x));
    // Rounded towards 0.
    let many = BY_LN2 * x + 0.5 * sign;
    let nearest = (many + ONES) - ONES;
    let many = if nearest.abs() > many.abs() { nearest - sign } else { nearest };
    let k = if size >= LARGE { many } else { sign };
    let k = if size >= HALF_LN2 { k } else { 0.0 };
    let (high, low) = (x - k * LN2[0], k * LN2[1]);
    let r = high - low;
    let square = r * r;
    let c = r - square * (P[0] + square * (P[1] + square * (P[2] + square * (P[3] + square * P[4]))));
    let y = 1.0 + (r * c / (2.0 - c) - low + high);
    // In two steps, of which the second one rounds: one alone would not reach all results.
    let k = ((k + ONES).to_bits()).wrapping_sub(ONES.to_bits()) as i64;
    let half = k >> 1;
    let scaled = y * power_of_two(half) * power_of_two(k.wrapping_sub(half));
    let scaled = if size >= TINY { scaled } else { 1.0 + x };
    let scaled = if x > HIGHEST { f64::INFINITY } else { scaled };
    let scaled = if x < LOWEST { 0.0 } else { scaled };
    if x.is_nan() { x } else { scaled }
}

#[inline]
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((exponent.wrapping_add(1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around every border, and everywhere between.
    #[test]
    fn every_bit_is_that_of_libm() {
        let borders =
            [0.0, HALF_LN2, LARGE, TINY, HIGHEST, -LOWEST, 708.396_418_532_264_1, 1.0, f64::MAX, f64::INFINITY];
        let around =
            borders.iter().flat_map(|&border| (-40i64..40).map(move |n| border.to_bits().wrapping_add_signed(n)));
        let spread = (0..400_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let small = (0..1_600_000).map(|n| (f64::from(n) * 1e-3 * 0.5 - 1.0).to_bits());
        for bits in around.chain(spread).chain(small) {
            for x in [f64::from_bits(bits), -f64::from_bits(bits)] {
                assert_eq!(exp(x).to_bits(), libm::exp(x).to_bits(), "of {x:e}");
            }
        }
    }
}
