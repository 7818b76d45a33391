//! A value of a draw: a residue, which says which polynomial it is, and a real number, which says how comparisons go.
//!
//! | operation | residue | real number |
//! |---|---|---|
//! | `+ - *` | modulo the prime | in `f64` |
//! | `/` | inverse; nothing by 0 | in `f64` |
//! | function | symbol of the function and the residues of its arguments | its value |
//! | comparison, choice, extreme | equal residues are equal; else as the real numbers are ordered | likewise |
//! | floor, conversion to integer, bits | the integer that the real number gives | likewise |
//!
//! The unknowns of the two parts are drawn independently. Both parts are ring homomorphisms, so a rewrite that is an identity keeps both;
//! one that is none changes the residue, but for the stated probability.

use super::constants::Constants;
use super::field::Residue;
use crate::ranges::INSTEAD_OF_INFINITY;
use crate::tensor::{Aggregate, Binary, Element, Function, Unary};
use arch::function::Formula;
use arch::function::formula::Operator;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Real numbers that are closer than this, relative to the larger one, are ordered by their roundings: another draw has to decide.
const CLOSE: f64 = 1e-9;

/// Integers below are exact.
const INTEGERS_END: f64 = 9_007_199_254_740_992.0;

/// A value at the unknowns of a draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Value {
    pub(super) residue: Residue,
    pub(super) real: f64,
}

impl Value {
    pub(super) const ZERO: Value = Value { residue: Residue::ZERO, real: 0.0 };
    pub(super) const ONE: Value = Value { residue: Residue::ONE, real: 1.0 };

    pub(super) fn integer(value: i64) -> Value {
        Value { residue: Residue::of_integer(value.into()), real: value as f64 }
    }

    /// A constant that is nothing but itself.
    pub(super) fn weight(value: f64) -> Value {
        Value { residue: Residue::of_dyadic(value), real: value }
    }

    fn bit(holds: bool) -> Value {
        if holds { Value::ONE } else { Value::ZERO }
    }

    fn is_zero(self) -> bool {
        self.residue == Residue::ZERO
    }

    fn map(self, other: Value, residue: fn(Residue, Residue) -> Residue, real: fn(f64, f64) -> f64) -> Value {
        Value { residue: residue(self.residue, other.residue), real: real(self.real, other.real) }
    }

    pub(super) fn plus(self, other: Value) -> Value {
        self.map(other, Residue::plus, |a, b| a + b)
    }

    pub(super) fn minus(self, other: Value) -> Value {
        self.map(other, Residue::minus, |a, b| a - b)
    }

    pub(super) fn times(self, other: Value) -> Value {
        self.map(other, Residue::times, |a, b| a * b)
    }

    fn negated(self) -> Value {
        Value { residue: self.residue.negated(), real: -self.real }
    }
}

/// The arithmetic of one draw. `None` is a value that a program does not define.
#[derive(Debug, Clone, Default)]
pub(super) struct Arithmetic {
    constants: Constants,
    /// Formulas of the table of functions, once they have been read.
    formulas: BTreeMap<Function, Option<Rc<Formula>>>,
    /// Whether a comparison or a floor was decided by roundings.
    pub(super) unclear: bool,
    /// Whether a quotient by zero has a value, as in words: a rewrite may compute what its source does not take, and multiply it by 0.
    pub(super) finite: bool,
}

impl Arithmetic {
    /// A constant of a program. It stands for what it is a rounding of.
    pub(super) fn constant(&self, value: f64) -> Value {
        let real = if value.is_infinite() { INSTEAD_OF_INFINITY.copysign(value) } else { value };
        Value { residue: self.constants.residue(value), real }
    }

    /// The result of an operation on constants, which folding would round.
    pub(super) fn folded(&mut self, value: Value) -> Value {
        Value { residue: self.constants.compute(value.real, value.residue), real: value.real }
    }

    fn less(&mut self, a: Value, b: Value) -> bool {
        if a.residue == b.residue {
            return false;
        }
        let size = a.real.abs().max(b.real.abs());
        let apart = (a.real - b.real).abs() > CLOSE * size;
        let beyond = a.real != b.real && size.is_infinite();
        self.unclear |= !apart && !beyond;
        a.real < b.real
    }

    /// Whether they are equal. Different ones that are close are told apart by roundings only, as by [`Arithmetic::less`].
    fn same(&mut self, a: Value, b: Value) -> bool {
        self.less(a, b);
        a.residue == b.residue
    }

    fn smaller(&mut self, a: Value, b: Value) -> Value {
        if self.less(b, a) { b } else { a }
    }

    fn larger(&mut self, a: Value, b: Value) -> Value {
        if self.less(a, b) { b } else { a }
    }

    /// The whole number to which a rounding brings the value.
    fn whole(&mut self, a: Value, rounding: fn(f64) -> f64) -> Value {
        // Whole numbers and halves that are exactly that are not near a threshold by accident.
        let halves = libm::rint(2.0 * a.real);
        let exact = halves.abs() < 1e15 && Residue::of_dyadic(0.5 * halves) == a.residue;
        let real = rounding(if exact { 0.5 * halves } else { a.real });
        let clear = (2.0 * a.real - halves).abs() > CLOSE * halves.abs().max(1.0) && real.abs() < 1e15;
        self.unclear |= !exact && !clear;
        Value { residue: Residue::of_dyadic(if real.is_finite() { real } else { 0.0 }), real }
    }

    /// `a / b` by a constant: a factor that folding rounds.
    pub(super) fn divide_by_constant(&mut self, operation: Binary, a: Value, b: Value) -> Option<Value> {
        match self.divide(Value::ONE, b) {
            Some(reciprocal) => Some(a.times(self.folded(reciprocal))),
            None => self.binary(operation, a, b),
        }
    }

    fn divide(&self, a: Value, b: Value) -> Option<Value> {
        if b.is_zero() {
            return self.finite.then(|| Value { residue: Residue::symbol(0, [a.residue]), real: 1.0 });
        }
        Some(Value { residue: a.residue.times(b.residue.inverse()), real: a.real / b.real })
    }

    fn divide_down(&mut self, a: Value, b: Value) -> Option<Value> {
        let quotient = self.divide(a, b)?;
        Some(self.whole(quotient, libm::floor))
    }

    pub(super) fn unary(operation: Unary, a: Value) -> Value {
        match operation {
            Unary::Neg => a.negated(),
            Unary::Not => Value::bit(a.is_zero()),
        }
    }

    pub(super) fn binary(&mut self, operation: Binary, a: Value, b: Value) -> Option<Value> {
        Some(match operation {
            Binary::Add => a.plus(b),
            Binary::Sub => a.minus(b),
            Binary::Mul => a.times(b),
            Binary::DivControlled if a.is_zero() => Value::ZERO,
            Binary::Div | Binary::DivControlled => return self.divide(a, b),
            Binary::DivFloor => return self.divide_down(a, b),
            Binary::RemFloor => a.minus(b.times(self.divide_down(a, b)?)),
            Binary::Min => self.smaller(a, b),
            Binary::Max => self.larger(a, b),
            Binary::Lt => Value::bit(self.less(a, b)),
            Binary::Gt => Value::bit(self.less(b, a)),
            Binary::Ge => Value::bit(!self.less(a, b)),
            Binary::Le => Value::bit(!self.less(b, a)),
            Binary::Eq => Value::bit(self.same(a, b)),
            Binary::Ne => Value::bit(!self.same(a, b)),
            Binary::And => Value::bit(!a.is_zero() && !b.is_zero()),
            Binary::Or => Value::bit(!a.is_zero() || !b.is_zero()),
        })
    }

    pub(super) fn aggregate(&mut self, aggregate: Aggregate, total: Value, value: Value) -> Value {
        match aggregate {
            Aggregate::Assign => value,
            Aggregate::Add => total.plus(value),
            Aggregate::Mul => total.times(value),
            Aggregate::Min => self.smaller(total, value),
            Aggregate::Max => self.larger(total, value),
        }
    }

    pub(super) fn cast(&mut self, element: Element, a: Value) -> Value {
        match element {
            Element::Real => a,
            Element::Bool => Value::bit(!a.is_zero()),
            Element::Int { bits, signed } => {
                let whole = self.whole(a, libm::trunc);
                let end = libm::exp2(f64::from(bits - u32::from(signed)));
                let low = Value::weight(if signed { -end } else { 0.0 });
                let clipped = self.larger(whole, low);
                self.smaller(clipped, Value::weight(end - 1.0))
            }
        }
    }

    /// A function of the library: by its formula if it has one, else a symbol. Formulas are held to the functions by a test of the table.
    pub(super) fn call(&mut self, function: Function, arguments: &[Value]) -> Option<Value> {
        match function {
            Function::Floor => return Some(self.whole(arguments[0], libm::floor)),
            Function::Rint => return Some(self.whole(arguments[0], libm::rint)),
            // Of whole numbers only.
            _ if function.is_of_digits() => {
                let value = function.value([arguments[0].real, arguments[1].real, 0.0]);
                return (libm::fabs(value) < INTEGERS_END).then(|| Value::integer(value as i64));
            }
            _ => {}
        }
        let formula = self.formulas.entry(function).or_insert_with(|| function.written_out().map(Rc::new)).clone();
        match formula {
            Some(formula) => self.formula(&formula, arguments),
            None => Some(symbol(function, arguments)),
        }
    }

    fn formula(&mut self, formula: &Formula, arguments: &[Value]) -> Option<Value> {
        Some(match formula {
            Formula::Number(value) => self.constant(*value),
            Formula::Argument(place) => arguments[*place],
            Formula::Value => return None,
            Formula::Negate(a) => self.formula(a, arguments)?.negated(),
            Formula::Binary(operator, operands) => {
                let (a, b) = (self.formula(&operands[0], arguments)?, self.formula(&operands[1], arguments)?);
                let operation = match operator {
                    Operator::Add => Binary::Add,
                    Operator::Subtract => Binary::Sub,
                    Operator::Multiply => Binary::Mul,
                    Operator::Divide => Binary::Div,
                    Operator::DivideDown => Binary::DivFloor,
                    Operator::Less => Binary::Lt,
                };
                return self.binary(operation, a, b);
            }
            Formula::Select(parts) => {
                let condition = self.formula(&parts[0], arguments)?;
                return self.formula(&parts[if condition.is_zero() { 2 } else { 1 }], arguments);
            }
            Formula::Call(function, operands) => {
                let operands: Option<Vec<Value>> =
                    operands.iter().map(|operand| self.formula(operand, arguments)).collect();
                return self.call(*function, &operands?);
            }
        })
    }

    /// Law of powers: of a constant exponent, small whole ones multiply, halves are roots, other fractions go by the logarithm.
    pub(super) fn constant_power(&mut self, base: Value, exponent: Value) -> Option<Value> {
        let size = exponent.real.abs();
        if size <= 8.0 && libm::trunc(size) == size {
            let power = (0..size as u32).fold(Value::ONE, |product, _| product.times(base));
            return if exponent.real < 0.0 { self.divide(Value::ONE, power) } else { Some(power) };
        }
        match exponent.real {
            0.5 => self.call(Function::Sqrt, &[base]),
            -0.5 => self.call(Function::Rsqrt, &[base]),
            _ if libm::trunc(size) == size => self.call(Function::Pow, &[base, exponent]),
            _ => {
                let logarithm = self.call(Function::Log, &[base])?;
                self.call(Function::Exp, &[exponent.times(logarithm)])
            }
        }
    }
}

/// An uninterpreted function of the residues; the real number is its value. What is 0 at 0 is 0 there: logic asks for it. Of a function of
/// whole numbers, such as `bit_and`, the residue is that of the number.
fn symbol(function: Function, arguments: &[Value]) -> Value {
    if function.keeps_zero() && arguments.iter().all(|argument| argument.is_zero()) {
        return Value::ZERO;
    }
    let mut reals = [0.0; 3];
    for (real, argument) in reals.iter_mut().zip(arguments) {
        *real = argument.real;
    }
    let real = function.value(reals);
    if function.is_whole() && real.is_finite() {
        return Value::weight(real);
    }
    let residue = Residue::symbol(function as u64 + 1, arguments.iter().map(|argument| argument.residue));
    Value { residue, real }
}
