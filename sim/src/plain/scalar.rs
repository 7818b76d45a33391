//! The operations of tensor IR on single numbers, as a book defines them.
//!
//! Elementary functions are `libm`'s, as everywhere; what is made of them (sigmoid, normal density, reciprocal root) is spelt otherwise
//! than in the golden evaluator, so that a slip in one of them shows. Results differ in the last places of an `f64` therefore.

use super::{Element, Fault};
use compiler::tensor::{Aggregate, Binary, Element as Type, Function, Unary};

/// `1 / sqrt(2 pi)`
const DENSITY_AT_MEAN: f64 = 0.398_942_280_401_432_7;

/// One more value of a sum, product, minimum or maximum; undefined as soon as one is.
pub(super) fn aggregate(aggregate: Aggregate, total: Element, value: Element) -> Element {
    let (total, value) = (total?, value?);
    Some(match aggregate {
        Aggregate::Assign => value,
        Aggregate::Add => total + value,
        Aggregate::Mul => total * value,
        Aggregate::Min => smaller(total, value),
        Aggregate::Max => -smaller(-total, -value),
    })
}

/// No number if one of them is none.
fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

pub(super) fn unary(operator: Unary, a: f64) -> f64 {
    match operator {
        Unary::Neg => -a,
        Unary::Not => f64::from(a == 0.0),
    }
}

#[allow(clippy::float_cmp, reason = "the operation is exact equality")]
pub(super) fn binary(operator: Binary, a: f64, b: f64) -> Result<Element, Fault> {
    Ok(Some(match operator {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::DivControlled if b != 0.0 => a / b,
        Binary::DivControlled if a == 0.0 => 0.0,
        Binary::DivControlled => return Ok(None),
        Binary::DivFloor => divide(a, b)?.0,
        Binary::RemFloor => divide(a, b)?.1,
        Binary::Min => smaller(a, b),
        Binary::Max => -smaller(-a, -b),
        Binary::Lt => f64::from(a < b),
        Binary::Le => f64::from(a <= b),
        Binary::Gt => f64::from(a > b),
        Binary::Ge => f64::from(a >= b),
        Binary::Eq => f64::from(a == b),
        Binary::Ne => f64::from(a != b),
        Binary::And => f64::from(a != 0.0 && b != 0.0),
        Binary::Or => f64::from(a != 0.0 || b != 0.0),
    }))
}

/// The largest integer that is not above the quotient, and what is left of the dividend.
fn divide(a: f64, b: f64) -> Result<(f64, f64), Fault> {
    if b == 0.0 {
        return Err(Fault::DivisionByZero);
    }
    if a.fract() != 0.0 || b.fract() != 0.0 {
        let quotient = (a / b).floor();
        return Ok((quotient, a - b * quotient));
    }
    // Integers of an f64 have 53 bits, quotients of an f64 are rounded.
    let (a, b) = (a as i128, b as i128);
    let towards_zero = a / b;
    let below = a % b != 0 && (a < 0) != (b < 0);
    let quotient = towards_zero - i128::from(below);
    Ok((quotient as f64, (a - quotient * b) as f64))
}

/// Smallest and largest value of an integer type.
fn limits(bits: u32, signed: bool) -> (f64, f64) {
    let values = (0..bits).fold(1.0, |values, _| 2.0 * values);
    if signed { (-values / 2.0, values / 2.0 - 1.0) } else { (0.0, values - 1.0) }
}

/// Whether an integer is one of those that double precision has without gaps.
pub(super) fn is_exact(integer: f64) -> bool {
    integer.abs() < 9_007_199_254_740_992.0
}

/// Whether a value is one of its type.
pub(super) fn fits(element: Type, value: f64) -> bool {
    match element {
        Type::Int { bits, signed } => {
            let (low, high) = limits(bits, signed);
            low <= value && value <= high && is_exact(value)
        }
        Type::Real | Type::Bool => true,
    }
}

pub(super) fn cast(element: Type, a: f64) -> f64 {
    match element {
        Type::Real => a,
        Type::Bool => f64::from(a != 0.0),
        Type::Int { .. } if a.is_nan() => 0.0,
        Type::Int { bits, signed } => {
            let (low, high) = limits(bits, signed);
            a.trunc().max(low).min(high)
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one table: an arm per function")]
pub(super) fn call(function: Function, arguments: &[f64]) -> f64 {
    let a = arguments[0];
    let b = || arguments[1];
    match function {
        Function::Sigmoid => 0.5 + 0.5 * libm::tanh(0.5 * a),
        Function::SigmoidSymmetric => 2.0 / (1.0 + libm::exp(-a)) - 1.0,
        Function::Gaussian => DENSITY_AT_MEAN * libm::exp(-0.5 * a * a),
        // The logarithm of nothing is no number either.
        Function::Log if a == 0.0 => f64::NAN,
        Function::Log => libm::log(a),
        Function::Exp => libm::exp(a),
        Function::Tanh => libm::tanh(a),
        Function::Sqrt => a.sqrt(),
        Function::Rsqrt => a.sqrt().recip(),
        Function::Pow => libm::pow(a, b()),
        Function::Abs => a.abs(),
        Function::Floor => a.floor(),
        Function::Ceil => a.ceil(),
        Function::Round => a.round(),
        Function::Rint => a.round_ties_even(),
        Function::Trunc => a.trunc(),
        Function::Sin => libm::sin(a),
        Function::Cos => libm::cos(a),
        Function::Tan => libm::sin(a) / libm::cos(a),
        Function::Asin => libm::asin(a),
        Function::Acos => libm::acos(a),
        Function::Atan => libm::atan(a),
        Function::Atan2 => libm::atan2(a, b()),
        Function::Sinh => libm::sinh(a),
        Function::Cosh => libm::cosh(a),
        Function::Asinh => libm::asinh(a),
        Function::Acosh => libm::acosh(a),
        Function::Atanh => libm::atanh(a),
        Function::Cbrt => libm::cbrt(a),
        Function::Erf => libm::erf(a),
        Function::Erfc => libm::erfc(a),
        Function::Exp2 => libm::pow(2.0, a),
        Function::Exp10 => libm::pow(10.0, a),
        Function::Expm1 => libm::expm1(a),
        Function::Log2 => libm::log2(a),
        Function::Log10 => libm::log10(a),
        Function::Log1p => libm::log1p(a),
        Function::Copysign => {
            if b().is_sign_negative() {
                -a.abs()
            } else {
                a.abs()
            }
        }
        Function::Fdim if a.is_nan() || b().is_nan() => f64::NAN,
        Function::Fdim => (a - b()).max(0.0),
        Function::Fmod => a % b(),
        Function::Remainder => libm::remainder(a, b()),
        Function::Hypot => libm::hypot(a, b()),
        Function::Fma => a.mul_add(b(), arguments[2]),
        Function::BitAnd => (a as i64 & b() as i64) as f64,
        Function::BitOr => (a as i64 | b() as i64) as f64,
        Function::BitXor => (a as i64 ^ b() as i64) as f64,
        Function::ShiftLeft => a * b().exp2(),
        Function::ShiftRight => (a / b().exp2()).floor(),
        // As the table of functions writes them out; what it does not, it holds to values by mpmath.
        other => match other.written_out() {
            Some(formula) => formula.evaluate(arguments, f64::NAN),
            None => other.value([0, 1, 2].map(|place| arguments.get(place).copied().unwrap_or(0.0))),
        },
    }
}
