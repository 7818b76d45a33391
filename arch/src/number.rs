//! The number code: rounding, saturation and conversion, written once.
//!
//!     accumulator (A bits) ──▶ / 2^shift, nearest, ties to even ──▶ saturate to W bits ──▶ word
//!
//! Words and accumulators are plain integers here; where the binary point of a word lies is known only to the
//! compiler. Everything that computes (`sim::fixed`, `sim::array`, table generation) calls these functions, and the
//! RTL is compared with them.

/// Divide by `2^shift`, rounding to nearest, ties to even.
#[inline]
pub fn round_half_even(value: i128, shift: u32) -> i128 {
    if shift == 0 {
        return value;
    }
    if shift >= 127 {
        return 0;
    }
    let floor = value >> shift;
    let rest = value - (floor << shift);
    let half = 1i128 << (shift - 1);
    if rest > half || (rest == half && floor & 1 == 1) { floor + 1 } else { floor }
}

/// Largest word of `width` bits.
pub fn word_max(width: u32) -> i128 {
    (1i128 << (width - 1)) - 1
}

/// Smallest (most negative) word of `width` bits.
pub fn word_min(width: u32) -> i128 {
    -(1i128 << (width - 1))
}

/// Width of the accumulator of a machine that says nothing about it: room for thousands of products at full width.
pub fn default_accumulator(word: u32) -> u32 {
    if word <= 16 { 48 } else { 80 }
}

/// Clamp to a word of `width` bits; the flag says whether it had to.
#[inline]
pub fn saturate(value: i128, width: u32) -> (i64, bool) {
    let clamped = value.clamp(word_min(width), word_max(width));
    (clamped as i64, clamped != value)
}

/// Bits of a sum that a [`Rounder`] can take.
pub const NARROW: u32 = 62;

/// [`round_half_even`] of sums of at most [`NARROW`] bits: the same result, without wide arithmetic and without a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounder {
    shift: u32,
    below_half: i64,
    /// 1 if anything is rounded.
    odd: i64,
}

impl Rounder {
    /// Division by `2^shift`.
    pub fn new(shift: u32) -> Rounder {
        // Beyond that all sums are nearest to 0 alike.
        let shift = shift.min(NARROW);
        Rounder { shift, below_half: ((1 << shift) >> 1) - i64::from(shift > 0), odd: i64::from(shift > 0) }
    }

    /// The quotient nearest to `value / 2^shift`, ties to even.
    #[inline]
    pub fn round(self, value: i64) -> i64 {
        // Just below a half, and the rest to an even result for exactly a half.
        (value + self.below_half + ((value >> self.shift) & self.odd)) >> self.shift
    }

    /// Round, then [`saturate`].
    #[inline]
    pub fn round_and_saturate(self, value: i64, width: u32) -> (i64, bool) {
        let rounded = self.round(value);
        let clamped = rounded.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1);
        (clamped, clamped != rounded)
    }
}

/// Keep the low `width` bits, read as two's complement.
#[inline]
pub fn wrap(value: i128, width: u32) -> i128 {
    if width >= 128 {
        return value;
    }
    let unused = 128 - width;
    (value << unused) >> unused
}

/// The word of at most 32 bits nearest to `value` with `fraction` bits after the binary point (ties to even), saturated; a NaN becomes 0 and counts
/// as saturated.
#[inline]
pub fn quantise(value: f64, fraction: i32, width: u32) -> (i64, bool) {
    let rounded = libm::rint(libm::ldexp(value, fraction));
    let beyond = (1i64 << (width - 1)) as f64;
    let clamped = rounded.clamp(-beyond, beyond - 1.0);
    (clamped as i64, clamped != rounded)
}

/// Between this number and the next power of two the last bit of a double counts ones.
pub const ONES: f64 = 1.5 * (1u64 << 52) as f64;

/// The value of a word with `fraction` bits after the binary point.
pub fn to_f64(word: i64, fraction: i32) -> f64 {
    libm::ldexp(word as f64, -fraction)
}

/// Number of bits needed to count to `n` things: `ceil(log2(n))`.
pub fn ceil_log2(n: u64) -> u32 {
    if n <= 1 { 0 } else { 64 - (n - 1).leading_zeros() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_sums_are_rounded_alike() {
        let mut state = 1u64;
        for n in 0..200_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (state as i64) >> (2 + n % 60);
            let (shift, width) = ((state >> 7) as u32 % 70, 2 + (state >> 20) as u32 % 31);
            // Halves and their neighbours, too.
            let near = (value >> shift.min(50)) << shift.min(50);
            let half = if shift > 0 && shift < 50 { 1i64 << (shift - 1) } else { 0 };
            for value in [value, near + half, near + half - 1, near + half + 1] {
                let expected = saturate(round_half_even(i128::from(value), shift), width);
                let found = Rounder::new(shift).round_and_saturate(value, width);
                assert_eq!(found, expected, "{value} {shift} {width}");
            }
        }
    }

    #[test]
    fn ties_go_to_even() {
        let halves: Vec<i128> = (-6..=6).map(|v| round_half_even(v, 1)).collect();
        assert_eq!(halves, [-3, -2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 2, 3]);
    }

    #[test]
    fn quantise_saturates_and_rounds() {
        assert_eq!(quantise(0.5, 14, 16), (8192, false));
        assert_eq!(quantise(2.0, 14, 16), (32767, true));
        assert_eq!(quantise(-2.0, 14, 16), (-32768, false));
        assert_eq!(quantise(-2.1, 14, 16), (-32768, true));
        assert_eq!(
            [saturate(-129, 8), saturate(-128, 8), saturate(128, 8)],
            [(-128, true), (-128, false), (127, true)]
        );
        assert_eq!(quantise(f64::NAN, 14, 16), (0, true));
        assert_eq!(quantise(f64::INFINITY, 3, 16), (32767, true));
    }
}
