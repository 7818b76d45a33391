//! Functions that `libm` does not have, to the last digits of 64 bits.
//!
//! Series with terms of one sign, continued fractions, and Newton's steps on functions that `libm` has.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// `2 / sqrt(pi)`
const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// `exp(x * x)`, with what the square loses in rounding.
fn exp_of_square(x: f64) -> f64 {
    let square = x * x;
    libm::exp(square) * (1.0 + libm::fma(x, x, -square))
}

/// `exp(x * x) * erfc(x)`
pub(super) fn erfcx(x: f64) -> f64 {
    if x < 10.0 {
        return exp_of_square(x) * libm::erfc(x);
    }
    // Laplace's continued fraction, from its end.
    let fraction = (1..=60).rev().fold(x, |tail, n| x + f64::from(n) / 2.0 / tail);
    0.5 * TWO_OVER_ROOT_PI / fraction
}

/// The number whose error function this is.
pub(super) fn erfinv(y: f64) -> f64 {
    if libm::fabs(y) > 0.5 {
        return libm::copysign(erfcinv(1.0 - libm::fabs(y)), y);
    }
    // Newton's steps with the second derivative (Halley), from the slope at 0.
    (0..6).fold(y / TWO_OVER_ROOT_PI, |x, _| {
        let off = (libm::erf(x) - y) / (TWO_OVER_ROOT_PI * libm::exp(-x * x));
        x - off / (1.0 + x * off)
    })
}

/// The number whose complementary error function this is.
pub(super) fn erfcinv(y: f64) -> f64 {
    if y > 1.0 {
        return -erfcinv(2.0 - y);
    }
    if y <= 0.0 || y.is_nan() {
        return if y == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    if y > 0.5 {
        return erfinv(1.0 - y);
    }
    // From the tail `exp(-x^2) / (x * sqrt(pi))`, with what `erfcx` leaves of it.
    let start = libm::sqrt(-libm::log(y * libm::sqrt(-PI * libm::log(y))));
    (0..8).fold(start.max(0.3), |x, _| {
        let off = (erfcx(x) - y * exp_of_square(x)) / TWO_OVER_ROOT_PI;
        x + off / (1.0 - x * off)
    })
}

/// The probability that a normal variable is below `x`.
pub(super) fn normcdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// Below which number a normal variable is with this probability.
pub(super) fn normcdfinv(p: f64) -> f64 {
    -SQRT_2 * erfcinv(2.0 * p)
}

/// The modified Bessel function of the first kind, of order 0 or 1: a series of positive terms.
fn bessel_i(order: u32, x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let mut term = if order == 0 { 1.0 } else { 0.5 * x };
    let mut sum = term;
    for k in 1..2000 {
        let k = f64::from(k);
        term *= quarter / (k * (k + f64::from(order)));
        sum += term;
        if libm::fabs(term) <= libm::fabs(sum) * 1e-18 || sum.is_infinite() {
            break;
        }
    }
    sum
}

pub(super) fn bessel_i0(x: f64) -> f64 {
    bessel_i(0, x)
}

pub(super) fn bessel_i1(x: f64) -> f64 {
    bessel_i(1, x)
}

/// `sin(pi * x)`, exact at whole and half numbers.
pub(super) fn sinpi(x: f64) -> f64 {
    let halves = libm::rint(2.0 * x);
    let rest = PI * (x - 0.5 * halves);
    match libm::fmod(halves, 4.0) as i64 {
        0 => libm::sin(rest),
        1 | -3 => libm::cos(rest),
        2 | -2 => -libm::sin(rest),
        _ => -libm::cos(rest),
    }
}

/// `cos(pi * x)`, exact at whole and half numbers.
pub(super) fn cospi(x: f64) -> f64 {
    let rest = libm::fmod(libm::fabs(x), 2.0);
    sinpi(rest + 0.5)
}

/// The logarithmic derivative of the gamma function.
pub(super) fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        return digamma(1.0 - x) - PI * cospi(x) / sinpi(x);
    }
    let (mut z, mut sum) = (x, 0.0);
    while z < 12.0 {
        sum -= 1.0 / z;
        z += 1.0;
    }
    let s = 1.0 / (z * z);
    let tail = s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s * (1.0 / 132.0)))));
    sum + libm::log(z) - 0.5 / z - tail
}

/// The derivative of [`digamma`].
pub(super) fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        let sine = sinpi(x);
        return PI * PI / (sine * sine) - trigamma(1.0 - x);
    }
    hurwitz_zeta(x, 2.0)
}

/// The sum of `1 / (x + k)^s` above 0: some terms, and of the rest the formula of Euler and Maclaurin.
pub(super) fn hurwitz_zeta(x: f64, s: f64) -> f64 {
    const BERNOULLI: [f64; 8] =
        [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0];
    if x <= 0.0 || x.is_nan() || !(-64.0..=1024.0).contains(&s) {
        return f64::NAN;
    }
    let (mut z, mut sum) = (x, 0.0);
    while z < 12.0 + libm::fabs(s) {
        sum += libm::pow(z, -s);
        z += 1.0;
    }
    // `B[2j] / (2j)!` times the derivative of order `2j - 1` of a term, relative to the term.
    let mut factor = 0.5 * s / z;
    let mut tail = z / (s - 1.0) + 0.5;
    for (number, bernoulli) in (1..).zip(BERNOULLI) {
        tail += bernoulli * factor;
        let order = 2.0 * f64::from(number);
        factor *= (s + order - 1.0) * (s + order) / ((order + 1.0) * (order + 2.0) * z * z);
    }
    sum + tail * libm::pow(z, -s)
}

/// The exponent of 2 in a number.
pub(super) fn logb(x: f64) -> f64 {
    if x == 0.0 { f64::NEG_INFINITY } else { f64::from(libm::ilogb(x)) }
}

/// An operation on the bits of two whole numbers; no value for others.
pub(super) fn bits(a: f64, b: f64, operation: impl Fn(i64, i64) -> i64) -> f64 {
    let whole = |x: f64| libm::fabs(x) < 9.2e18 && libm::trunc(x) == x;
    if whole(a) && whole(b) { operation(a as i64, b as i64) as f64 } else { f64::NAN }
}

/// `a * 2^b` of whole numbers, rounded down.
pub(super) fn shifted(a: f64, b: f64) -> f64 {
    if libm::trunc(b) == b && libm::fabs(b) <= 64.0 { libm::floor(libm::scalbn(a, b as i32)) } else { f64::NAN }
}
