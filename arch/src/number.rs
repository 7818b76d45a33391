//! The number code: rounding, saturation and conversion, written once.
//!
//!     accumulator (A bits) ──▶ / 2^shift, nearest, ties to even ──▶ saturate to W bits ──▶ word
//!
//! Words and accumulators are plain integers here; where the binary point of a word lies is known only to the
//! compiler. Everything that computes (`sim::fixed`, `sim::array`, table generation) calls these functions, and the
//! RTL is compared with them.

/// Divide by `2^shift`, rounding to nearest, ties to even.
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

/// Clamp to a word of `width` bits; the flag says whether it had to.
pub fn saturate(value: i128, width: u32) -> (i64, bool) {
    let clamped = value.clamp(word_min(width), word_max(width));
    (clamped as i64, clamped != value)
}

/// Keep the low `width` bits, read as two's complement.
pub fn wrap(value: i128, width: u32) -> i128 {
    if width >= 128 {
        return value;
    }
    let unused = 128 - width;
    (value << unused) >> unused
}

/// The word nearest to `value` with `fraction` bits after the binary point (ties to even), saturated; a NaN becomes 0 and counts as saturated.
pub fn quantise(value: f64, fraction: i32, width: u32) -> (i64, bool) {
    if value.is_nan() {
        return (0, true);
    }
    let scaled = libm::ldexp(value, fraction);
    let (low, high) = (word_min(width), word_max(width));
    if scaled >= high as f64 + 0.5 {
        return (high as i64, true);
    }
    if scaled < low as f64 - 0.5 {
        return (low as i64, true);
    }
    saturate(libm::rint(scaled) as i128, width)
}

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
    fn ties_go_to_even() {
        let halves: Vec<i128> = (-6..=6).map(|v| round_half_even(v, 1)).collect();
        assert_eq!(halves, [-3, -2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 2, 3]);
    }

    #[test]
    fn quantise_saturates_and_rounds() {
        assert_eq!(quantise(0.5, 14, 16), (8192, false));
        assert_eq!(quantise(2.0, 14, 16), (32767, true));
        assert_eq!(quantise(-2.0, 14, 16), (-32768, false));
        assert_eq!(quantise(f64::NAN, 14, 16), (0, true));
        assert_eq!(quantise(f64::INFINITY, 3, 16), (32767, true));
    }
}
