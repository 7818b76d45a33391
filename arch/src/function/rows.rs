//! The table of functions: one row is everything that the project knows about one.
//!
//!     /// doc                          "name" Variant(arguments) = value on real numbers, {
//!     derivative: &["y * (1 - y)"],    one formula per argument, of the arguments and of the value `y`
//!     domain: Domain::Above(0.0),      where it has a value
//!     hardware: Hardware::Table(..),   how the grid computes it
//!     tabla: &["sigmoid"],             how each language spells it; none: the language does not have it
//!     onnx: &["Sigmoid"],              the ONNX operator that it is
//!
//! Whoever adds a row adds a function to every language that the row spells, to the evaluators, to the grid and to the derivatives;
//! the tests run over the rows. docs/languages/functions.md is written of them.

use super::exponential::exp;
use super::facts::{Domain, Hardware, Row, Shape};
use super::special;
use crate::isa::Below;
use std::f64::consts::LN_2;

/// Declare [`Function`] and its rows.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:literal $function:ident($($argument:ident),+) = $value:expr, { $($field:ident: $entry:expr,)* })+) => {
        /// A function of real numbers that programs may call.
        ///
        /// The order is that of tables in a grid's memory.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "where no formula stands, the name is the mathematical one")]
        pub enum Function {
            $($(#[$doc])* $function,)+
        }

        impl Function {
            /// All of them.
            pub const ALL: &[Function] = &[$(Function::$function),+];

            /// The value on real numbers, not a number where there is none. Arguments beyond its own are not looked at.
            #[inline]
            pub fn value(self, arguments: [f64; 3]) -> f64 {
                match self {
                    $(Function::$function => functions!(arguments, $($argument)+, $value),)+
                }
            }
        }

        /// By number of the function.
        #[allow(clippy::needless_update, reason = "some rows say everything")]
        pub(super) const ROWS: &[Row] = &[$(Row {
            name: $name,
            arguments: &[$(stringify!($argument)),+],
            $($field: $entry,)*
            ..Row::PLAIN
        }),+];
    };
    ($arguments:ident, $a:ident, $value:expr) => {{
        let [$a, _, _] = $arguments;
        $value
    }};
    ($arguments:ident, $a:ident $b:ident, $value:expr) => {{
        let [$a, $b, _] = $arguments;
        $value
    }};
    ($arguments:ident, $a:ident $b:ident $c:ident, $value:expr) => {{
        let [$a, $b, $c] = $arguments;
        $value
    }};
}

/// In the place of a derivative: the function jumps, and nothing is to be learned by its slope.
pub(super) const NO_SLOPE: &str = "none";
/// Never constant: the table covers all words.
const EVERYWHERE: Shape = Shape::Uniform(|_, _| f64::INFINITY);
/// Grows until it saturates.
const UNTIL_IT_SATURATES: Shape = Shape::Uniform(|_, limit| libm::log(limit).max(0.0) + 1.0);

/// Of positive arguments, from minus infinity.
const FROM_LOWEST: Hardware = Hardware::Table(Shape::Octaves(Below::Lowest));
/// Of positive arguments, from infinity.
const FROM_HIGHEST: Hardware = Hardware::Table(Shape::Octaves(Below::Highest));

functions! {
    /// `1 / (1 + exp(-x))`
    "sigmoid" Sigmoid(x) = 1.0 / (1.0 + exp(-x)), {
        derivative: &["y * (1 - y)"],
        hardware: Hardware::Table(Shape::Uniform(|flat, _| flat)),
        tabla: &["sigmoid"],
        tile: &["sigmoid"],
        onnx: &["Sigmoid"],
    }
    /// `2 * sigmoid(x) - 1 = tanh(x / 2)`
    "sigmoid_symmetric" SigmoidSymmetric(x) = libm::tanh(x / 2.0), {
        derivative: &["0.5 * (1 - y * y)"],
        hardware: Hardware::Table(Shape::Uniform(|flat, _| flat + LN_2)),
        tabla: &["sigmoid_symmetric", "sig_sym"],
    }
    /// Normal density with mean 0 and deviation 1.
    "gaussian" Gaussian(x) = exp(-x * x / 2.0) / libm::sqrt(2.0 * std::f64::consts::PI), {
        derivative: &["-(x * y)"],
        hardware: Hardware::Table(Shape::Uniform(|flat, _| libm::sqrt(2.0 * flat.max(0.0)))),
        tabla: &["gaussian"],
    }
    /// Natural logarithm; the hardware gives the most negative word from zero down.
    "log" Log(x) = if x <= 0.0 { f64::NAN } else { libm::log(x) }, {
        derivative: &["1 / x"],
        domain: Domain::Above(0.0),
        hardware: Hardware::Table(Shape::Octaves(Below::Lowest)),
        tabla: &["log"],
        comprehensions: &["log"],
        tile: &["log"],
        onnx: &["Log"],
    }
    /// Hyperbolic tangent.
    "tanh" Tanh(x) = libm::tanh(x), {
        derivative: &["1 - y * y"],
        hardware: Hardware::Table(Shape::Uniform(|flat, _| (flat + LN_2) / 2.0)),
        comprehensions: &["tanh"],
        tile: &["tanh"],
        onnx: &["Tanh"],
    }
    /// Exponential function; large arguments saturate in hardware.
    "exp" Exp(x) = exp(x), {
        derivative: &["y"],
        hardware: Hardware::Table(Shape::Uniform(|flat, limit| flat.max(libm::log(limit)))),
        tabla: &["exp"],
        comprehensions: &["exp"],
        tile: &["exp"],
        onnx: &["Exp"],
    }
    /// Square root.
    "sqrt" Sqrt(x) = libm::sqrt(x), {
        derivative: &["0.5 / y"],
        domain: Domain::From(0.0),
        hardware: Hardware::Table(Shape::Octaves(Below::Zero)),
        comprehensions: &["sqrt"],
        tile: &["sqrt"],
        onnx: &["Sqrt"],
    }
    /// `1 / sqrt(x)`
    "rsqrt" Rsqrt(x) = 1.0 / libm::sqrt(x), {
        derivative: &["-0.5 * (y * y * y)"],
        domain: Domain::Above(0.0),
        hardware: Hardware::Table(Shape::Octaves(Below::Highest)),
        comprehensions: &["rsqrt"],
    }
    /// Sine.
    "sin" Sin(x) = libm::sin(x), {
        derivative: &["cos(x)"],
        hardware: Hardware::Table(EVERYWHERE),
        comprehensions: &["sin"],
        tile: &["sin"],
        onnx: &["Sin"],
    }
    /// Cosine.
    "cos" Cos(x) = libm::cos(x), {
        derivative: &["-sin(x)"],
        hardware: Hardware::Table(EVERYWHERE),
        comprehensions: &["cos"],
        tile: &["cos"],
        onnx: &["Cos"],
    }
    /// Inverse tangent.
    "atan" Atan(x) = libm::atan(x), {
        derivative: &["1 / (1 + x * x)"],
        hardware: Hardware::Table(EVERYWHERE),
        comprehensions: &["atan"],
        tile: &["atan"],
        onnx: &["Atan"],
    }
    /// Error function.
    "erf" Erf(x) = libm::erf(x), {
        // 2 / sqrt(pi)
        derivative: &["1.1283791670955126 * exp(-(x * x))"],
        hardware: Hardware::Table(Shape::Uniform(|flat, _| libm::sqrt(flat.max(0.0)))),
        comprehensions: &["erf"],
        tile: &["erf"],
        onnx: &["Erf"],
    }
    /// Hyperbolic sine; large arguments saturate in hardware.
    "sinh" Sinh(x) = libm::sinh(x), {
        derivative: &["cosh(x)"],
        hardware: Hardware::Table(UNTIL_IT_SATURATES),
        comprehensions: &["sinh"],
        tile: &["sinh"],
        onnx: &["Sinh"],
    }
    /// Hyperbolic cosine; large arguments saturate in hardware.
    "cosh" Cosh(x) = libm::cosh(x), {
        derivative: &["sinh(x)"],
        hardware: Hardware::Table(UNTIL_IT_SATURATES),
        comprehensions: &["cosh"],
        tile: &["cosh"],
        onnx: &["Cosh"],
    }
    /// `a^b`. Small whole and half exponents are multiplied out and take roots; others need positive numbers in hardware.
    "pow" Pow(a, b) = libm::pow(a, b), {
        derivative: &["b * pow(a, b - 1)", "y * log(a)"],
        domain: Domain::Above(0.0),
        // Negative numbers have whole powers: odd ones are negative, too.
        hardware: Hardware::WrittenOut("exp(b * log(abs(a))) * select(a < 0, 1 - 2 * (b - 2 * floor(0.5 * b)), 1)"),
        comprehensions: &["pow"],
        tile: &["pow"],
    }
    "abs" Abs(x) = libm::fabs(x), {
        derivative: &["(0 < x) - (x < 0)"],
        hardware: Hardware::WrittenOut("x - 2 * (x * (x < 0))"),
        comprehensions: &["fabs"],
        tile: &["abs"],
        onnx: &["Abs"],
    }
    /// The largest whole number that is not above `x`.
    "floor" Floor(x) = libm::floor(x), {
        derivative: &[NO_SLOPE],
        hardware: Hardware::Rounding,
        comprehensions: &["floor"],
        tile: &["floor"],
        onnx: &["Floor"],
    }
    "ceil" Ceil(x) = libm::ceil(x), {
        derivative: &[NO_SLOPE],
        hardware: Hardware::WrittenOut("floor(x) + (floor(x) < x)"),
        comprehensions: &["ceil"],
        tile: &["ceil"],
        onnx: &["Ceil"],
    }
    /// To the nearest whole number, halves away from zero.
    "round" Round(x) = libm::round(x), {
        derivative: &[NO_SLOPE],
        hardware: Hardware::WrittenOut("floor(x) + select(x < 0, 0.5 < x - floor(x), 1 - (x - floor(x) < 0.5))"),
        comprehensions: &["round"],
        tile: &["round"],
    }
    /// To the nearest whole number, of two the even one.
    "rint" Rint(x) = libm::rint(x), {
        derivative: &[NO_SLOPE],
        hardware: Hardware::Rounding,
        comprehensions: &["rint", "nearbyint"],
    }
    /// Towards zero.
    "trunc" Trunc(x) = libm::trunc(x), {
        derivative: &[NO_SLOPE],
        hardware: Hardware::WrittenOut("floor(x) + (x < 0) * (floor(x) < x)"),
        comprehensions: &["trunc"],
    }
    "tan" Tan(x) = libm::tan(x), {
        derivative: &["1 + y * y"],
        hardware: Hardware::WrittenOut("sin(x) / cos(x)"),
        comprehensions: &["tan"],
        tile: &["tan"],
        onnx: &["Tan"],
    }
    "asin" Asin(x) = libm::asin(x), {
        derivative: &["rsqrt(1 - x * x)"],
        domain: Domain::Within(1.0),
        hardware: Hardware::WrittenOut("2 * atan(x / (1 + sqrt(1 - x * x)))"),
        comprehensions: &["asin"],
        tile: &["asin"],
        onnx: &["Asin"],
    }
    "acos" Acos(x) = libm::acos(x), {
        derivative: &["-rsqrt(1 - x * x)"],
        domain: Domain::Within(1.0),
        hardware: Hardware::WrittenOut("1.5707963267948966 - 2 * atan(x / (1 + sqrt(1 - x * x)))"),
        comprehensions: &["acos"],
        tile: &["acos"],
        onnx: &["Acos"],
    }
    "atan2" Atan2(a, b) = libm::atan2(a, b), {
        derivative: &["b / (a * a + b * b)", "-a / (a * a + b * b)"],
        // From the axis that is nearer: the quotient stays between -1 and 1, and is 0 where both are.
        hardware: Hardware::WrittenOut(
            "select(abs(b) < abs(a), select(a < 0, -1.5707963267948966, 1.5707963267948966), \
             select(b < 0, select(a < 0, -3.141592653589793, 3.141592653589793), 0)) \
             + atan(select(abs(b) < abs(a), -b, a) / select(abs(b) < abs(a), a, b + (1 - (0 < b) - (b < 0))))",
        ),
        comprehensions: &["atan2"],
    }
    "asinh" Asinh(x) = libm::asinh(x), {
        derivative: &["rsqrt(x * x + 1)"],
        hardware: Hardware::WrittenOut("((0 < x) - (x < 0)) * log(abs(x) + sqrt(x * x + 1))"),
        comprehensions: &["asinh"],
        tile: &["asinh"],
        onnx: &["Asinh"],
    }
    "acosh" Acosh(x) = libm::acosh(x), {
        derivative: &["rsqrt(x * x - 1)"],
        domain: Domain::From(1.0),
        hardware: Hardware::WrittenOut("log(x + sqrt(x * x - 1))"),
        comprehensions: &["acosh"],
        tile: &["acosh"],
        onnx: &["Acosh"],
    }
    "atanh" Atanh(x) = libm::atanh(x), {
        derivative: &["1 / (1 - x * x)"],
        domain: Domain::Inside(1.0),
        hardware: Hardware::WrittenOut("0.5 * log((1 + x) / (1 - x))"),
        comprehensions: &["atanh"],
        tile: &["atanh"],
        onnx: &["Atanh"],
    }
    "cbrt" Cbrt(x) = libm::cbrt(x), {
        derivative: &["1 / (3 * (y * y))"],
        hardware: Hardware::WrittenOut(
            "((0 < x) - (x < 0)) * exp(0.3333333333333333 * log(abs(x) + (1 - (0 < x) - (x < 0))))",
        ),
        comprehensions: &["cbrt"],
    }
    /// `1 - erf(x)`
    "erfc" Erfc(x) = libm::erfc(x), {
        derivative: &["-1.1283791670955126 * exp(-(x * x))"],
        hardware: Hardware::WrittenOut("1 - erf(x)"),
        comprehensions: &["erfc"],
    }
    "exp2" Exp2(x) = libm::exp2(x), {
        derivative: &["0.6931471805599453 * y"],
        hardware: Hardware::WrittenOut("exp(0.6931471805599453 * x)"),
        comprehensions: &["exp2"],
    }
    "exp10" Exp10(x) = libm::exp10(x), {
        derivative: &["2.302585092994046 * y"],
        hardware: Hardware::WrittenOut("exp(2.302585092994046 * x)"),
        comprehensions: &["exp10"],
    }
    /// `exp(x) - 1`
    "expm1" Expm1(x) = libm::expm1(x), {
        derivative: &["y + 1"],
        hardware: Hardware::WrittenOut("exp(x) - 1"),
        comprehensions: &["expm1"],
    }
    "log2" Log2(x) = libm::log2(x), {
        derivative: &["1.4426950408889634 / x"],
        domain: Domain::Above(0.0),
        hardware: Hardware::WrittenOut("1.4426950408889634 * log(x)"),
        comprehensions: &["log2"],
    }
    "log10" Log10(x) = libm::log10(x), {
        derivative: &["0.4342944819032518 / x"],
        domain: Domain::Above(0.0),
        hardware: Hardware::WrittenOut("0.4342944819032518 * log(x)"),
        comprehensions: &["log10"],
    }
    /// `log(1 + x)`
    "log1p" Log1p(x) = libm::log1p(x), {
        derivative: &["1 / (1 + x)"],
        domain: Domain::Above(-1.0),
        hardware: Hardware::WrittenOut("log(1 + x)"),
        comprehensions: &["log1p"],
    }
    /// The size of `a` with the sign of `b`.
    "copysign" Copysign(a, b) = libm::copysign(a, b), {
        derivative: &["((0 < a) - (a < 0)) * select(b < 0, -1, 1)", "0"],
        hardware: Hardware::WrittenOut("select(b < 0, -abs(a), abs(a))"),
        comprehensions: &["copysign"],
    }
    /// How much `a` is above `b`, or 0.
    "fdim" Fdim(a, b) = libm::fdim(a, b), {
        derivative: &["b < a", "-(b < a)"],
        hardware: Hardware::WrittenOut("select(b < a, a - b, 0)"),
        comprehensions: &["fdim"],
    }
    /// The remainder with the sign of the dividend.
    "fmod" Fmod(a, b) = libm::fmod(a, b), {
        derivative: &["1", NO_SLOPE],
        hardware: Hardware::WrittenOut(
            "select(a < 0, -(abs(a) - abs(b) * (abs(a) // abs(b))), abs(a) - abs(b) * (abs(a) // abs(b)))",
        ),
        comprehensions: &["fmod"],
    }
    /// The remainder of the quotient that is rounded to nearest.
    "remainder" Remainder(a, b) = libm::remainder(a, b), {
        derivative: &["1", NO_SLOPE],
        // The quotient is rounded down from one half above; where that is a tie and odd, it is one less.
        hardware: Hardware::WrittenOut(
            "a - b * ((2 * a + b) // (2 * b) \
             - (1 - (0 < 2 * a + b - 2 * b * ((2 * a + b) // (2 * b))) - (2 * a + b - 2 * b * ((2 * a + b) // (2 * b)) < 0)) \
             * ((2 * a + b) // (2 * b) - 2 * floor(0.5 * ((2 * a + b) // (2 * b)))))",
        ),
        comprehensions: &["remainder"],
    }
    /// `sqrt(a * a + b * b)`
    "hypot" Hypot(a, b) = libm::hypot(a, b), {
        derivative: &["a / y", "b / y"],
        hardware: Hardware::WrittenOut("sqrt(a * a + b * b)"),
        comprehensions: &["hypot"],
    }
    /// `a * b + c`
    "fma" Fma(a, b, c) = libm::fma(a, b, c), {
        derivative: &["b", "a", "1"],
        hardware: Hardware::WrittenOut("a * b + c"),
        comprehensions: &["fma"],
    }
    /// Gaussian error linear unit: `x` times the probability that a normal variable is below it.
    "gelu" Gelu(x) = 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2)), {
        derivative: &["0.5 * (1 + erf(0.7071067811865476 * x)) + x * gaussian(x)"],
        hardware: Hardware::WrittenOut("x * (0.5 + 0.5 * erf(0.7071067811865476 * x))"),
        tabla: &["gelu"],
        comprehensions: &["gelu"],
        tile: &["gelu"],
    }
    /// Sigmoid linear unit, also called swish.
    "silu" Silu(x) = x / (1.0 + exp(-x)), {
        derivative: &["sigmoid(x) + y * (1 - sigmoid(x))"],
        hardware: Hardware::WrittenOut("x * sigmoid(x)"),
        tabla: &["silu"],
        comprehensions: &["silu"],
        tile: &["silu"],
    }
    /// `x * tanh(log(1 + exp(x)))`, of self-regularised networks.
    "mish" Mish(x) = x * libm::tanh(x.max(0.0) + libm::log1p(libm::exp(-libm::fabs(x)))), {
        derivative: &["tanh(log1p(exp(x))) + x * sigmoid(x) * (1 - tanh(log1p(exp(x))) * tanh(log1p(exp(x))))"],
        hardware: Hardware::WrittenOut("x * tanh(select(x < 0, 0, x) + log(1 + exp(-abs(x))))"),
        tabla: &["mish"],
        comprehensions: &["mish"],
        tile: &["mish"],
        onnx: &["Mish"],
    }
    /// Bessel function of the first kind, order 0.
    "j0" J0(x) = libm::j0(x), {
        derivative: &["-j1(x)"],
        hardware: Hardware::Table(EVERYWHERE),
        comprehensions: &["j0"],
    }
    /// Bessel function of the first kind, order 1.
    "j1" J1(x) = libm::j1(x), {
        derivative: &["select((0 < x) + (x < 0), j0(x) - y / (x + (1 - (0 < x) - (x < 0))), 0.5)"],
        hardware: Hardware::Table(EVERYWHERE),
        comprehensions: &["j1"],
    }
    /// Bessel function of the second kind, order 0.
    "y0" Y0(x) = if x <= 0.0 { f64::NAN } else { libm::y0(x) }, {
        derivative: &["-y1(x)"],
        domain: Domain::Above(0.0),
        comprehensions: &["y0"],
    }
    /// Bessel function of the second kind, order 1.
    "y1" Y1(x) = if x <= 0.0 { f64::NAN } else { libm::y1(x) }, {
        derivative: &["y0(x) - y / x"],
        domain: Domain::Above(0.0),
        comprehensions: &["y1"],
    }
    /// Modified Bessel function of the first kind, order 0.
    "cyl_bessel_i0" BesselI0(x) = special::bessel_i0(x), {
        derivative: &["cyl_bessel_i1(x)"],
        hardware: Hardware::Table(UNTIL_IT_SATURATES),
        comprehensions: &["cyl_bessel_i0"],
    }
    /// Modified Bessel function of the first kind, order 1.
    "cyl_bessel_i1" BesselI1(x) = special::bessel_i1(x), {
        derivative: &["select((0 < x) + (x < 0), cyl_bessel_i0(x) - y / (x + (1 - (0 < x) - (x < 0))), 0.5)"],
        hardware: Hardware::Table(UNTIL_IT_SATURATES),
        comprehensions: &["cyl_bessel_i1"],
    }
    /// Gamma function.
    "tgamma" Tgamma(x) = libm::tgamma(x), {
        derivative: &["y * digamma(x)"],
        domain: Domain::Above(0.0),
        comprehensions: &["tgamma"],
    }
    /// Logarithm of the size of the gamma function.
    "lgamma" Lgamma(x) = libm::lgamma(x), {
        derivative: &["digamma(x)"],
        domain: Domain::Above(0.0),
        hardware: FROM_HIGHEST,
        comprehensions: &["lgamma"],
    }
    /// Derivative of `lgamma`.
    "digamma" Digamma(x) = special::digamma(x), {
        derivative: &["trigamma(x)"],
        domain: Domain::Above(0.0),
        hardware: FROM_LOWEST,
    }
    /// Derivative of `digamma`.
    "trigamma" Trigamma(x) = special::trigamma(x), {
        derivative: &["-2 * hurwitz_zeta(x, 3)"],
        domain: Domain::Above(0.0),
        hardware: FROM_HIGHEST,
    }
    /// The sum of `1 / (x + k)^s` over all whole `k` from 0, continued to `s` below 1.
    "hurwitz_zeta" HurwitzZeta(x, s) = special::hurwitz_zeta(x, s), {
        derivative: &["-(s * hurwitz_zeta(x, s + 1))", NO_SLOPE],
        domain: Domain::Above(0.0),
    }
    /// The number whose error function is `x`.
    "erfinv" Erfinv(x) = special::erfinv(x), {
        derivative: &["0.886226925452758 * exp(y * y)"],
        domain: Domain::Inside(1.0),
        comprehensions: &["erfinv"],
    }
    /// The number whose complementary error function is `x`.
    "erfcinv" Erfcinv(x) = special::erfcinv(x), {
        derivative: &["-0.886226925452758 * exp(y * y)"],
        domain: Domain::Between(0.0, 2.0),
        comprehensions: &["erfcinv"],
    }
    /// `exp(x * x) * erfc(x)`
    "erfcx" Erfcx(x) = special::erfcx(x), {
        derivative: &["2 * x * y - 1.1283791670955126"],
        comprehensions: &["erfcx"],
    }
    /// The probability that a normal variable is below `x`.
    "normcdf" Normcdf(x) = special::normcdf(x), {
        derivative: &["gaussian(x)"],
        hardware: Hardware::WrittenOut("0.5 + 0.5 * erf(0.7071067811865476 * x)"),
        comprehensions: &["normcdf"],
    }
    /// Below which number a normal variable is with the probability `x`.
    "normcdfinv" Normcdfinv(x) = special::normcdfinv(x), {
        derivative: &["2.5066282746310002 * exp(0.5 * (y * y))"],
        domain: Domain::Between(0.0, 1.0),
        comprehensions: &["normcdfinv"],
    }
    /// `sin(pi * x)`
    "sinpi" Sinpi(x) = special::sinpi(x), {
        derivative: &["3.141592653589793 * cospi(x)"],
        hardware: Hardware::WrittenOut("sin(3.141592653589793 * (x - 2 * floor(0.5 * x + 0.5)))"),
        comprehensions: &["sinpi"],
    }
    /// `cos(pi * x)`
    "cospi" Cospi(x) = special::cospi(x), {
        derivative: &["-3.141592653589793 * sinpi(x)"],
        hardware: Hardware::WrittenOut("cos(3.141592653589793 * (x - 2 * floor(0.5 * x + 0.5)))"),
        comprehensions: &["cospi"],
    }
    /// `1 / cbrt(x)`
    "rcbrt" Rcbrt(x) = 1.0 / libm::cbrt(x), {
        derivative: &["-y / (3 * x)"],
        domain: Domain::Above(0.0),
        hardware: Hardware::WrittenOut("1 / cbrt(x)"),
        comprehensions: &["rcbrt"],
    }
    /// The exponent of 2 in `x`.
    "logb" Logb(x) = special::logb(x), {
        derivative: &[NO_SLOPE],
        domain: Domain::Above(0.0),
        comprehensions: &["logb"],
    }
    /// The 64-bit number after `a` towards `b`.
    "nextafter" Nextafter(a, b) = libm::nextafter(a, b), {
        derivative: &["1", NO_SLOPE],
        comprehensions: &["nextafter"],
    }
    /// Bits that both whole numbers have, in two's complement.
    "bit_and" BitAnd(a, b) = special::bits(a, b, |a, b| a & b), {
        derivative: &[NO_SLOPE, NO_SLOPE],
        hardware: Hardware::Digits,
        tile: &["bit_and"],
    }
    /// Bits that one of two whole numbers has.
    "bit_or" BitOr(a, b) = special::bits(a, b, |a, b| a | b), {
        derivative: &[NO_SLOPE, NO_SLOPE],
        hardware: Hardware::Digits,
        tile: &["bit_or"],
    }
    /// Bits in which two whole numbers differ.
    "bit_xor" BitXor(a, b) = special::bits(a, b, |a, b| a ^ b), {
        derivative: &[NO_SLOPE, NO_SLOPE],
        hardware: Hardware::Digits,
        tile: &["bit_xor"],
    }
    /// All bits of a whole number turned: `-1 - x`.
    "bit_not" BitNot(x) = -1.0 - x, {
        derivative: &["-1"],
        hardware: Hardware::WrittenOut("-1 - x"),
        tile: &["bit_not"],
    }
    /// `a * 2^b`
    "shift_left" ShiftLeft(a, b) = special::shifted(a, b), {
        derivative: &[NO_SLOPE, NO_SLOPE],
        hardware: Hardware::Digits,
        tile: &["shift_left"],
    }
    /// `a // 2^b`
    "shift_right" ShiftRight(a, b) = special::shifted(a, -b), {
        derivative: &[NO_SLOPE, NO_SLOPE],
        hardware: Hardware::Digits,
        tile: &["shift_right"],
    }
}
