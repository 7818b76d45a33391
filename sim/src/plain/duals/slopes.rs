//! Slopes of the library's functions, as a table of integrals has them; spelt otherwise than in [`arch::function`].

use super::{Dual, scalar};
use compiler::tensor::Function;
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LN_10, PI};

/// A function of dual numbers. Where it jumps the slope is that of the flat parts.
pub(super) fn call(function: Function, arguments: &[Dual]) -> Dual {
    let values: Vec<f64> = arguments.iter().map(|argument| argument.value).collect();
    let value = scalar::call(function, &values);
    // What does not move adds nothing, even where the slope is infinite.
    let slope = (0..arguments.len())
        .filter(|&by| arguments[by].slope != 0.0)
        .map(|by| arguments[by].slope * slope(function, &values, by))
        .sum();
    Dual { value, slope }
}

/// The partial derivative by one argument.
fn slope(function: Function, arguments: &[f64], by: usize) -> f64 {
    let a = arguments[0];
    match arguments {
        [_] => of_one(function, a),
        [_, b] => of_two(function, a, *b, by),
        _ => [arguments[1], a, 1.0][by],
    }
}

fn of_one(function: Function, a: f64) -> f64 {
    match function {
        Function::Sigmoid => logistic_slope(a),
        Function::SigmoidSymmetric => 2.0 * logistic_slope(a),
        Function::Gaussian => -a * density(a),
        Function::Log => a.recip(),
        Function::Exp | Function::Expm1 => libm::exp(a),
        Function::Tanh => 4.0 * logistic_slope(2.0 * a),
        Function::Sqrt => 0.5 * libm::pow(a, -0.5),
        Function::Rsqrt => -0.5 * libm::pow(a, -1.5),
        Function::Sin => libm::sin(a + PI / 2.0),
        Function::Cos => libm::cos(a + PI / 2.0),
        Function::Tan => libm::pow(libm::cos(a), -2.0),
        Function::Atan => 1.0 / libm::fma(a, a, 1.0),
        Function::Erf => 2.0 * libm::exp(-a * a) / PI.sqrt(),
        Function::Erfc => -2.0 * libm::exp(-a * a) / PI.sqrt(),
        Function::Sinh => 0.5 * (libm::exp(a) + libm::exp(-a)),
        Function::Cosh => 0.5 * (libm::exp(a) - libm::exp(-a)),
        Function::Abs if a == 0.0 => 0.0,
        Function::Abs => a.signum(),
        Function::Asin => 1.0 / ((1.0 - a) * (1.0 + a)).sqrt(),
        Function::Acos => -1.0 / ((1.0 - a) * (1.0 + a)).sqrt(),
        Function::Asinh => 1.0 / libm::hypot(a, 1.0),
        Function::Acosh => 1.0 / ((a - 1.0).sqrt() * (a + 1.0).sqrt()),
        Function::Atanh => 0.5 / (1.0 + a) + 0.5 / (1.0 - a),
        Function::Cbrt => libm::pow(a.abs(), -2.0 / 3.0) / 3.0,
        Function::Exp2 => LN_2 * libm::pow(2.0, a),
        Function::Exp10 => LN_10 * libm::pow(10.0, a),
        Function::Log2 => 1.0 / (a * LN_2),
        Function::Log10 => 1.0 / (a * LN_10),
        Function::Log1p => 1.0 / (1.0 + a),
        Function::Gelu => 0.5 * libm::erfc(-a * FRAC_1_SQRT_2) + a * density(a),
        Function::Silu => 0.5 * (1.0 + libm::tanh(0.5 * a)) + a * logistic_slope(a),
        // Ceil, floor, round, trunc.
        _ => 0.0,
    }
}

fn of_two(function: Function, a: f64, b: f64, by: usize) -> f64 {
    let square = a * a + b * b;
    match (function, by) {
        (Function::Pow, 0) => b * libm::pow(a, b - 1.0),
        (Function::Pow, _) => libm::log(a) * libm::exp(b * libm::log(a)),
        (Function::Atan2, 0) => b / square,
        (Function::Atan2, _) => -a / square,
        (Function::Hypot, 0) => a / square.sqrt(),
        (Function::Hypot, _) => b / square.sqrt(),
        (Function::Copysign, 0) if a != 0.0 => a.signum() * b.signum(),
        (Function::Fdim, 0) if a > b => 1.0,
        (Function::Fdim, _) if a > b => -1.0,
        (Function::Fmod | Function::Remainder, 0) => 1.0,
        _ => 0.0,
    }
}

/// Slope of the logistic function.
fn logistic_slope(a: f64) -> f64 {
    let e = libm::exp(-a.abs());
    e / ((1.0 + e) * (1.0 + e))
}

/// Density of the normal distribution.
fn density(a: f64) -> f64 {
    libm::exp(-0.5 * a * a) / (2.0 * PI).sqrt()
}
