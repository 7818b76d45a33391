//! Derivatives of the library's functions.
//!
//! ```text
//! v = sigmoid(x)    =>    v * (1 - v)             by the value, where that is enough: it has been computed
//! v = log(x)        =>    1 / x
//! ```

use super::builder::Builder;
use crate::tensor::{Binary, Function, NodeId};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

/// The derivative of `function(arguments)`, whose value is `value`, by argument number `by`; `None` if there is none.
pub(super) fn derivative(
    b: &mut Builder,
    function: Function,
    arguments: &[NodeId],
    value: NodeId,
    by: usize,
) -> Option<NodeId> {
    let x = arguments[0];
    Some(match function {
        Function::Sigmoid => {
            let other = one_minus(b, value);
            b.mul(value, other)
        }
        Function::Tanh => one_minus_square(b, value),
        Function::SigmoidSymmetric => {
            let slope = one_minus_square(b, value);
            b.scale(0.5, slope)
        }
        Function::Gaussian => {
            let product = b.mul(x, value);
            b.neg(product)
        }
        Function::Exp => value,
        Function::Exp2 => b.scale(LN_2, value),
        Function::Exp10 => b.scale(LN_10, value),
        Function::Expm1 => {
            let one = b.constant(1.0);
            b.add(value, one)
        }
        Function::Log => b.reciprocal(x),
        Function::Log2 | Function::Log10 => {
            let base = if function == Function::Log2 { LN_2 } else { LN_10 };
            let scaled = b.scale(base, x);
            b.reciprocal(scaled)
        }
        Function::Log1p => {
            let one = b.constant(1.0);
            let shifted = b.add(one, x);
            b.reciprocal(shifted)
        }
        Function::Sqrt => {
            let double = b.scale(2.0, value);
            b.reciprocal(double)
        }
        Function::Rsqrt => {
            let square = b.square(value);
            let cube = b.mul(square, value);
            b.scale(-0.5, cube)
        }
        Function::Cbrt => {
            let square = b.square(value);
            let triple = b.scale(3.0, square);
            b.reciprocal(triple)
        }
        Function::Abs => {
            let zero = b.constant(0.0);
            b.sign(x, zero)
        }
        Function::Sin => b.call(Function::Cos, vec![x]),
        Function::Cos => {
            let sine = b.call(Function::Sin, vec![x]);
            b.neg(sine)
        }
        Function::Tan => one_plus_square(b, value),
        Function::Asin | Function::Acos => {
            let rest = one_minus_square(b, x);
            let slope = b.call(Function::Rsqrt, vec![rest]);
            if function == Function::Asin { slope } else { b.neg(slope) }
        }
        Function::Atan => {
            let sum = one_plus_square(b, x);
            b.reciprocal(sum)
        }
        Function::Sinh => b.call(Function::Cosh, vec![x]),
        Function::Cosh => b.call(Function::Sinh, vec![x]),
        Function::Asinh => {
            let sum = one_plus_square(b, x);
            b.call(Function::Rsqrt, vec![sum])
        }
        Function::Acosh => {
            let (square, one) = (b.square(x), b.constant(1.0));
            let difference = b.sub(square, one);
            b.call(Function::Rsqrt, vec![difference])
        }
        Function::Atanh => {
            let rest = one_minus_square(b, x);
            b.reciprocal(rest)
        }
        Function::Erf | Function::Erfc => {
            let square = b.square(x);
            let exponent = b.neg(square);
            let bell = b.call(Function::Exp, vec![exponent]);
            b.scale(if function == Function::Erf { FRAC_2_SQRT_PI } else { -FRAC_2_SQRT_PI }, bell)
        }
        Function::Pow | Function::Atan2 | Function::Hypot | Function::Fdim | Function::Copysign | Function::Fma => {
            of_several(b, function, arguments, value, by)?
        }
        Function::Fmod | Function::Remainder if by == 0 => b.constant(1.0),
        Function::Fmod | Function::Remainder | Function::Floor | Function::Ceil | Function::Round | Function::Trunc => {
            return None;
        }
    })
}

/// The same for functions of several arguments.
fn of_several(b: &mut Builder, function: Function, arguments: &[NodeId], value: NodeId, by: usize) -> Option<NodeId> {
    let (x, y) = (arguments[0], arguments[1]);
    Some(match (function, by) {
        (Function::Pow, 0) => {
            let one = b.constant(1.0);
            let lower = b.sub(y, one);
            let power = b.call(Function::Pow, vec![x, lower]);
            b.mul(y, power)
        }
        (Function::Pow, _) => {
            let logarithm = b.call(Function::Log, vec![x]);
            b.mul(value, logarithm)
        }
        // atan2(x, y): the first argument is the height.
        (Function::Atan2, _) => {
            let (first, second) = (b.square(x), b.square(y));
            let sum = b.add(first, second);
            let quotient = b.div(if by == 0 { y } else { x }, sum);
            if by == 0 { quotient } else { b.neg(quotient) }
        }
        (Function::Hypot, _) => b.div(if by == 0 { x } else { y }, value),
        (Function::Fdim, _) => {
            let above = b.binary(Binary::Gt, x, y);
            if by == 0 { above } else { b.neg(above) }
        }
        (Function::Copysign, 0) => {
            let zero = b.constant(0.0);
            let (left, right) = (b.binary(Binary::Lt, x, zero), b.binary(Binary::Lt, y, zero));
            let same = b.binary(Binary::Eq, left, right);
            let (plus, minus) = (b.constant(1.0), b.constant(-1.0));
            b.select(same, plus, minus)
        }
        (Function::Copysign, _) => b.constant(0.0),
        (Function::Fma, 0) => y,
        (Function::Fma, 1) => x,
        (Function::Fma, _) => b.constant(1.0),
        _ => return None,
    })
}

fn one_minus(b: &mut Builder, a: NodeId) -> NodeId {
    let one = b.constant(1.0);
    b.sub(one, a)
}

fn one_minus_square(b: &mut Builder, a: NodeId) -> NodeId {
    let square = b.square(a);
    one_minus(b, square)
}

fn one_plus_square(b: &mut Builder, a: NodeId) -> NodeId {
    let (square, one) = (b.square(a), b.constant(1.0));
    b.add(one, square)
}
