//! Functions that are a few operations on others.

use super::{choose, less};
use crate::canonical::expr::Expr;
use crate::tensor::{Binary, Function};
use arch::function::Formula;
use arch::function::formula::Operator;

/// Largest exponent that is multiplied out.
const LARGEST_POWER: f64 = 8.0;

/// The function in terms of those that the machine has, by its row in the table of functions; others stay as they are.
///
///     hypot(a, b)    =>  sqrt(a*a + b*b)
///     log2(x)        =>  1/ln(2) * log(x)
///     pow(x, 3)      =>  x*x*x
///     pow(x, 0.3)    =>  exp(0.3 * log(x))
pub(in crate::canonical) fn written_out(function: Function, arguments: Vec<Expr>) -> Expr {
    if let (Function::Pow, [x, Expr::Constant(exponent)]) = (function, arguments.as_slice())
        && let Some(power) = power(x, *exponent)
    {
        return power;
    }
    match function.written_out() {
        Some(formula) => expression(&formula, &arguments),
        None => Expr::Call(function, arguments),
    }
}

/// Whether writing it out repeats an argument.
pub(in crate::canonical) fn repeats_arguments(function: Function) -> bool {
    // Powers may be multiplied out.
    function == Function::Pow
        || function.is_of_digits()
        || function.written_out().is_some_and(|formula| formula.uses_of_an_argument() > 1)
}

/// A formula of these arguments; choice and comparison as the array computes them.
fn expression(formula: &Formula, arguments: &[Expr]) -> Expr {
    let of = |formula: &Formula| expression(formula, arguments);
    match formula {
        Formula::Number(value) => Expr::Constant(*value),
        Formula::Argument(place) => arguments[*place].clone(),
        Formula::Value => unreachable!("a function is not written out by its value"),
        Formula::Negate(a) => Expr::neg(of(a)),
        Formula::Binary(Operator::Less, operands) => less(of(&operands[0]), of(&operands[1])),
        Formula::Binary(operator, operands) => {
            let [a, b] = operands.each_ref().map(|operand| Box::new(of(operand)));
            Expr::Binary(binary(*operator), a, b)
        }
        Formula::Select(parts) => {
            let [condition, yes, no] = parts.each_ref().map(of);
            choose(condition, yes, no)
        }
        Formula::Call(function, operands) => written_out(*function, operands.iter().map(of).collect()),
    }
}

/// Small whole exponents by multiplication, halves by roots, other fractions by logarithm.
fn power(x: &Expr, exponent: f64) -> Option<Expr> {
    let size = exponent.abs();
    if size <= LARGEST_POWER && libm::trunc(size) == size {
        let mut result = if size == 0.0 { Expr::Constant(1.0) } else { x.clone() };
        for _ in 1..size as u32 {
            result = Expr::mul(result, x.clone());
        }
        return Some(if exponent < 0.0 { divided(Expr::Constant(1.0), result) } else { result });
    }
    match exponent {
        0.5 => Some(Expr::Call(Function::Sqrt, vec![x.clone()])),
        -0.5 => Some(Expr::Call(Function::Rsqrt, vec![x.clone()])),
        // Only numbers that are not negative have such a power.
        _ if libm::trunc(size) != size => {
            let logarithm = Expr::Call(Function::Log, vec![x.clone()]);
            Some(Expr::Call(Function::Exp, vec![Expr::mul(Expr::Constant(exponent), logarithm)]))
        }
        _ => None,
    }
}

fn divided(a: Expr, b: Expr) -> Expr {
    Expr::Binary(Binary::Div, Box::new(a), Box::new(b))
}

fn binary(operator: Operator) -> Binary {
    match operator {
        Operator::Add => Binary::Add,
        Operator::Subtract => Binary::Sub,
        Operator::Multiply => Binary::Mul,
        Operator::Divide => Binary::Div,
        Operator::DivideDown => Binary::DivFloor,
        Operator::Less => Binary::Lt,
    }
}
