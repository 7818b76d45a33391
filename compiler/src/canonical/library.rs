//! Functions that are a few operations on others.

use super::expr::Expr;
use super::logic::{choose, floor, less, negative, trunc};
use crate::tensor::{Binary, Function};

/// Largest exponent that is multiplied out.
const LARGEST_POWER: f64 = 8.0;

/// The function in terms of those that the machine has; others stay as they are.
///
///     pow(x, 3)      =>  x*x*x
///     hypot(a, b)    =>  sqrt(a*a + b*b)
///     log2(x)        =>  1/ln(2) * log(x)
pub(super) fn written_out(function: Function, mut arguments: Vec<Expr>) -> Expr {
    let second = if arguments.len() > 1 { Some(arguments.remove(1)) } else { None };
    if function == Function::Fma {
        let c = arguments.pop().expect("fma has three arguments");
        let a = arguments.pop().expect("fma has three arguments");
        return Expr::add(Expr::mul(a, second.expect("fma has three arguments")), c);
    }
    let x = arguments.pop().expect("a function has an argument");
    match (function, second) {
        (_, None) => of_one(function, x),
        (_, Some(y)) => of_two(function, x, y),
    }
}

fn of_one(function: Function, x: Expr) -> Expr {
    let call = |function, x| Expr::Call(function, vec![x]);
    let times = |factor: f64, e: Expr| Expr::mul(Expr::Constant(factor), e);
    let one = || Expr::Constant(1.0);
    match function {
        Function::Abs => abs(x),
        Function::Ceil => Expr::neg(floor(Expr::neg(x))),
        Function::Trunc => trunc(x),
        // Halves away from zero.
        Function::Round => {
            let half = || Expr::Constant(0.5);
            let below = Expr::neg(floor(Expr::sub(half(), x.clone())));
            choose(negative(x.clone()), below, floor(Expr::add(x, half())))
        }
        Function::Exp2 => call(Function::Exp, times(std::f64::consts::LN_2, x)),
        Function::Exp10 => call(Function::Exp, times(std::f64::consts::LN_10, x)),
        Function::Expm1 => Expr::sub(call(Function::Exp, x), one()),
        Function::Log2 => times(std::f64::consts::LOG2_E, call(Function::Log, x)),
        Function::Log10 => times(std::f64::consts::LOG10_E, call(Function::Log, x)),
        Function::Log1p => call(Function::Log, Expr::add(one(), x)),
        Function::Erfc => Expr::sub(one(), call(Function::Erf, x)),
        Function::Tan => divided(call(Function::Sin, x.clone()), call(Function::Cos, x)),
        other => call(other, x),
    }
}

fn of_two(function: Function, x: Expr, y: Expr) -> Expr {
    match function {
        Function::Pow => power(x, y),
        Function::Hypot => {
            let squares = Expr::add(Expr::mul(x.clone(), x), Expr::mul(y.clone(), y));
            Expr::Call(Function::Sqrt, vec![squares])
        }
        Function::Fdim => choose(less(y.clone(), x.clone()), Expr::sub(x, y), Expr::Constant(0.0)),
        Function::Copysign => choose(negative(y), Expr::neg(abs(x.clone())), abs(x)),
        // The remainder has the sign of the dividend.
        Function::Fmod => {
            let (a, b) = (abs(x.clone()), abs(y));
            let quotient = Expr::Binary(Binary::DivFloor, Box::new(a.clone()), Box::new(b.clone()));
            let rest = Expr::sub(a, Expr::mul(b, quotient));
            choose(negative(x), Expr::neg(rest.clone()), rest)
        }
        other => Expr::Call(other, vec![x, y]),
    }
}

/// Small whole exponents by multiplication, halves by roots; positive numbers by logarithm.
fn power(x: Expr, y: Expr) -> Expr {
    let Expr::Constant(exponent) = y else {
        return Expr::Call(Function::Exp, vec![Expr::mul(y, Expr::Call(Function::Log, vec![x]))]);
    };
    let size = exponent.abs();
    if size <= LARGEST_POWER && libm::trunc(size) == size {
        let mut result = if size == 0.0 { Expr::Constant(1.0) } else { x.clone() };
        for _ in 1..size as u32 {
            result = Expr::mul(result, x.clone());
        }
        return if exponent < 0.0 { divided(Expr::Constant(1.0), result) } else { result };
    }
    match exponent {
        0.5 => Expr::Call(Function::Sqrt, vec![x]),
        -0.5 => Expr::Call(Function::Rsqrt, vec![x]),
        _ => Expr::Call(Function::Exp, vec![Expr::mul(Expr::Constant(exponent), Expr::Call(Function::Log, vec![x]))]),
    }
}

fn abs(x: Expr) -> Expr {
    let flipped = Expr::mul(x.clone(), negative(x.clone()));
    Expr::sub(x, Expr::mul(Expr::Constant(2.0), flipped))
}

fn divided(a: Expr, b: Expr) -> Expr {
    Expr::Binary(Binary::Div, Box::new(a), Box::new(b))
}
