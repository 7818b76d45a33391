//! The operations of a body, on blocks of numbers.
//!
//! Comparisons give 1 or 0; transcendentals come from `libm`, so that they are the same on every platform.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::Fault;
use crate::lanes::{in_vectors, least, most};
use compiler::tensor::{Aggregate, Binary, Element, Function, Unary};

/// An operation on up to three blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operation {
    Unary(Unary),
    Binary(Binary),
    Select,
    Cast(Element),
    Call(Function),
}

/// Which results are defined: those of defined operands, and of a division that has a value.
pub(super) fn definedness(operation: Operation, operands: [&[f64]; 3], known: [&[bool]; 3], out: &mut [bool]) {
    // A loop for each operation: a jump that depends on it, element by element, took a fifth of a training's time.
    fn place(out: &mut [bool], is_known: impl Fn(usize) -> bool) {
        out.iter_mut().enumerate().for_each(|(n, out)| *out = is_known(n));
    }
    let ([a, b, _], [known_a, known_b, known_c]) = (operands, known);
    match operation {
        Operation::Unary(_) | Operation::Cast(_) => out.copy_from_slice(&known_a[..out.len()]),
        Operation::Binary(Binary::DivControlled) => {
            place(out, |n| known_a[n] && known_b[n] && (b[n] != 0.0 || a[n] == 0.0));
        }
        Operation::Binary(_) => {
            let both = known_a.iter().zip(known_b);
            out.iter_mut().zip(both).for_each(|(out, (a, b))| *out = *a && *b);
        }
        Operation::Select => place(out, |n| known_a[n] && if a[n] == 0.0 { known_c[n] } else { known_b[n] }),
        Operation::Call(_) => place(out, |n| known_a[n] && known_b[n] && known_c[n]),
    }
}

/// The results of an operation. `known` tells which matter; the others may be anything and cause no fault.
pub(super) fn apply(
    operation: Operation,
    operands: [&[f64]; 3],
    known: Option<&[bool]>,
    out: &mut [f64],
) -> Result<(), Fault> {
    let mut result = Ok(());
    in_vectors(
        #[inline(always)]
        || result = applied(operation, operands, known, out),
    );
    result
}

#[inline(always)]
fn applied(operation: Operation, operands: [&[f64]; 3], known: Option<&[bool]>, out: &mut [f64]) -> Result<(), Fault> {
    let [a, b, c] = operands;
    match operation {
        Operation::Unary(Unary::Neg) => each(out, a, |a| -a),
        Operation::Unary(Unary::Not) => each(out, a, |a| truth(a == 0.0)),
        Operation::Binary(operator) => return binary(operator, a, b, known, out),
        Operation::Select => {
            for (n, out) in out.iter_mut().enumerate() {
                *out = if a[n] == 0.0 { c[n] } else { b[n] };
            }
        }
        Operation::Cast(Element::Real) => out.copy_from_slice(a),
        Operation::Cast(Element::Bool) => each(out, a, |a| truth(a != 0.0)),
        Operation::Cast(Element::Int { bits, signed }) => {
            let (low, high) = integer_limits(bits, signed);
            each(out, a, |a| if a.is_nan() { 0.0 } else { libm::trunc(a).clamp(low, high) });
        }
        // Those without a branch become vectors.
        Operation::Call(Function::Sigmoid) => each(out, a, |a| Function::Sigmoid.value([a; 3])),
        Operation::Call(Function::Exp) => each(out, a, |a| Function::Exp.value([a; 3])),
        Operation::Call(Function::Silu) => each(out, a, |a| Function::Silu.value([a; 3])),
        Operation::Call(function) => {
            for (n, out) in out.iter_mut().enumerate() {
                *out = function.value([a[n], b[n], c[n]]);
            }
        }
    }
    Ok(())
}

#[allow(clippy::float_cmp, reason = "the operation is exact equality")]
#[inline(always)]
fn binary(operator: Binary, a: &[f64], b: &[f64], known: Option<&[bool]>, out: &mut [f64]) -> Result<(), Fault> {
    match operator {
        Binary::Add => pair(out, a, b, |a, b| a + b),
        Binary::Sub => pair(out, a, b, |a, b| a - b),
        Binary::Mul => pair(out, a, b, |a, b| a * b),
        Binary::Div => pair(out, a, b, |a, b| a / b),
        Binary::DivControlled => pair(out, a, b, |a, b| if a == 0.0 && b == 0.0 { 0.0 } else { a / b }),
        Binary::DivFloor | Binary::RemFloor => {
            for n in 0..out.len() {
                if known.is_some_and(|known| !known[n]) {
                    out[n] = 0.0;
                    continue;
                }
                if b[n] == 0.0 {
                    return Err(Fault::DivisionByZero);
                }
                let (quotient, rest) = divided_down(a[n], b[n]);
                out[n] = if operator == Binary::DivFloor { quotient } else { rest };
            }
        }
        Binary::Min => pair(out, a, b, least),
        Binary::Max => pair(out, a, b, most),
        Binary::Lt => pair(out, a, b, |a, b| truth(a < b)),
        Binary::Le => pair(out, a, b, |a, b| truth(a <= b)),
        Binary::Gt => pair(out, a, b, |a, b| truth(a > b)),
        Binary::Ge => pair(out, a, b, |a, b| truth(a >= b)),
        Binary::Eq => pair(out, a, b, |a, b| truth(a == b)),
        Binary::Ne => pair(out, a, b, |a, b| truth(a != b)),
        Binary::And => pair(out, a, b, |a, b| truth(a != 0.0 && b != 0.0)),
        Binary::Or => pair(out, a, b, |a, b| truth(a != 0.0 || b != 0.0)),
    }
    Ok(())
}

/// Aggregate rows of equal length side by side, each from its own start and in its own order.
pub(super) fn fold_rows<const ROWS: usize>(
    aggregate: Aggregate,
    totals: [f64; ROWS],
    rows: [&[f64]; ROWS],
) -> [f64; ROWS] {
    fn fold<const ROWS: usize>(
        mut totals: [f64; ROWS],
        rows: [&[f64]; ROWS],
        both: impl Fn(f64, f64) -> f64,
    ) -> [f64; ROWS] {
        let count = rows[0].len();
        let rows = rows.map(|row| &row[..count]);
        for n in 0..count {
            for (total, row) in totals.iter_mut().zip(rows) {
                *total = both(*total, row[n]);
            }
        }
        totals
    }
    match aggregate {
        Aggregate::Assign => fold(totals, rows, |_, value| value),
        Aggregate::Add => fold(totals, rows, |sum, value| sum + value),
        Aggregate::Mul => fold(totals, rows, |product, value| product * value),
        Aggregate::Min => fold(totals, rows, least),
        Aggregate::Max => fold(totals, rows, most),
    }
}

/// The quotient towards minus infinity and its remainder, which has the sign of the divisor. Whole numbers are exact up to 64 bits.
fn divided_down(a: f64, b: f64) -> (f64, f64) {
    if libm::trunc(a) == a && libm::trunc(b) == b {
        let (a, b) = (a as i128, b as i128);
        let quotient = a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0);
        return (quotient as f64, (a - quotient * b) as f64);
    }
    let towards_zero = libm::fmod(a, b);
    let rest = if towards_zero != 0.0 && (towards_zero < 0.0) != (b < 0.0) { towards_zero + b } else { towards_zero };
    (libm::rint((a - rest) / b), rest)
}

fn truth(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// Smallest and largest integer of a type.
pub(super) fn integer_limits(bits: u32, signed: bool) -> (f64, f64) {
    let power = |exponent: u32| libm::exp2(f64::from(exponent));
    if signed { (-power(bits - 1), power(bits - 1) - 1.0) } else { (0.0, power(bits) - 1.0) }
}

#[inline(always)]
fn each(out: &mut [f64], a: &[f64], operation: impl Fn(f64) -> f64) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = operation(a);
    }
}

#[inline(always)]
fn pair(out: &mut [f64], a: &[f64], b: &[f64], operation: impl Fn(f64, f64) -> f64) {
    for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
        *out = operation(a, b);
    }
}

#[cfg(test)]
mod tests {
    use super::divided_down;

    /// As Python's `//` and `%`.
    #[test]
    fn quotients_go_down() {
        for (a, b, expected) in [
            (7.0, 2.0, (3.0, 1.0)),
            (-7.0, 2.0, (-4.0, 1.0)),
            (7.0, -2.0, (-4.0, -1.0)),
            (2.625, 0.875, (3.0, 0.0)),
            (-2.25, 0.875, (-3.0, 0.375)),
            (0.5, -0.75, (-1.0, -0.25)),
        ] {
            assert_eq!(divided_down(a, b), expected, "{a} {b}");
        }
    }
}
