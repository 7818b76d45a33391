//! Operations on integers, exact in words: neither a function of a table nor a rounded quotient takes part.
//!
//! ```text
//! a << b     (a mod 2^(n - b)) * 2^b: nothing on the way is larger than n bits
//! a >> b     floor(a / 2^b)
//! a ^ b      a * a * ... * a, as many factors as b says
//! a & b      sum of the bits that both have, the highest of a signed type counts negative
//! ```
//!
//! `2^b` is a constant if `b` is, else a product of as many twos.

use super::elementwise::legacy;
use crate::build::{Refusal, Translated, Val};
use crate::call::Call;
use crate::elements::Kind;
use crate::expression::{Ex, call, call2, num, select};
use crate::graph::Lowering;
use arch::Code;
use compiler::ranges::EXACT_INTEGERS;
use compiler::tensor::{Aggregate, Function};

/// Bits of the integers that double precision has, without their sign.
const EXACT_BITS: u32 = 53;

/// Integers of few bits wrap. Where those of 32 and more would, words have no room for what wraps, and golden refuses the result.
pub(super) fn wrapped(value: Ex, kind: Kind) -> Ex {
    match (kind, kind.limits()) {
        (Kind::Int { bits, .. }, Some((low, high))) if bits <= 16 => (value - low).floor_rem(high - low + 1.0) + low,
        _ => value,
    }
}

/// Whole numbers modulo the size of a type.
pub(super) fn wrap(l: &mut Lowering<'_, '_>, value: Val, kind: Kind) -> Translated<Val> {
    let Some((low, high)) = kind.limits() else { return Ok(value) };
    l.builder.apply(value, |x| (x - low).floor_rem(high - low + 1.0) + low)
}

/// The quotient of integers, cut off towards 0: exact in words, too, where a quotient of reals may be rounded to the next integer before it is
/// cut off.
pub(super) fn quotient(a: Ex, b: Ex, kind: Kind) -> Ex {
    if matches!(kind, Kind::Int { signed: false, .. }) {
        return a.floor_div(b);
    }
    let negative = a.clone().lt(0.0).differs(b.clone().lt(0.0));
    let size = call(Function::Abs, a).floor_div(call(Function::Abs, b));
    select(negative, -size.clone(), size)
}

/// Refuse constants that double precision does not have: their low bits, which decide a result of any size, are lost.
///
/// # Errors
/// E-CONST: the first of them.
pub(super) fn all_exact(l: &Lowering<'_, '_>, operands: &[Val]) -> Translated<()> {
    let constants = operands.iter().filter(|operand| operand.kind.is_int());
    let mut values = constants.filter_map(|&operand| l.builder.known(operand)).flatten();
    let Some(value) = values.find(|value| value.abs() >= EXACT_INTEGERS) else { return Ok(()) };
    let message = format!("the integer {value:.0} is an operand, and has no exact value here");
    Err(Refusal::new(Code::Const, message).help("integers are computed with in double precision, up to 2^53"))
}

/// The complement of each bit.
pub(super) fn complement(x: Ex, kind: Kind) -> Ex {
    match (kind, kind.limits()) {
        (Kind::Int { signed: false, .. }, Some((_, high))) => num(high) - x,
        _ => num(-1.0) - x,
    }
}

/// Bit by bit, as a sum over the bits. Those that double precision does not have are copies of the sign.
pub(super) fn bitwise(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str) -> Translated<Val> {
    let (x, y) = (c.input(0)?, c.input(1)?);
    let Kind::Int { bits, signed } = x.kind else { return c.refuse("the element type") };
    let bits = i64::from(bits.min(EXACT_BITS + u32::from(signed)));
    let shape = l.builder.broadcast(&[x, y])?;
    l.builder.reduce(&shape, &[bits], x.kind, Aggregate::Add, |b, at, bit| {
        let place = || Ex::At(bit[0].clone());
        let unit = || call(Function::Exp2, place());
        let of = |value: Val| b.read(value, at).floor_div(unit()).floor_rem(2.0);
        let (x, y) = (of(x), of(y));
        let both = match name {
            "BitwiseAnd" => x * y,
            "BitwiseOr" => x.max(y),
            _ => x.differs(y),
        };
        let weight = if signed { select(place().equals((bits - 1) as f64), -unit(), unit()) } else { unit() };
        both * weight
    })
}

/// `2^n` for each element of `counts`, where `twos` says how many of `most` twos are factors: words need no constants that are larger.
fn power_of_two(
    l: &mut Lowering<'_, '_>,
    (counts, kind): (Val, Kind),
    most: u32,
    (twos, known): (impl Fn(Ex) -> Ex, impl Fn(f64) -> f64),
) -> Translated<Val> {
    let shape = l.builder.shape(counts);
    if let Some(values) = l.builder.known(counts) {
        let power = |&count: &f64| 2f64.powi(known(count).clamp(0.0, f64::from(most)) as i32);
        let values = values.iter().map(power).collect();
        return l.builder.constants(&shape, kind, values);
    }
    l.builder.reduce(&shape, &[i64::from(most)], kind, Aggregate::Mul, |b, at, place| {
        select(twos(b.read(counts, at)).gt(Ex::At(place[0].clone())), num(2.0), num(1.0))
    })
}

/// Integers shifted by as many places as others say. A count that is negative or too large leaves 0, or copies of the sign.
pub(super) fn shift(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let operands = legacy(l, c)?;
    let (a, counts) = (operands[0], operands[1]);
    let Kind::Int { bits, .. } = a.kind else { return c.refuse("the element type") };
    let all = f64::from(bits);
    let outside = |count: &Ex| count.clone().lt(0.0).or(count.clone().ge(all));
    let unit = power_of_two(l, (counts, a.kind), bits - 1, (|count| count, |count| count))?;
    let (low, high) = a.kind.limits().unwrap_or_default();
    let size = high - low + 1.0;
    if c.text("direction", "LEFT") != "LEFT" {
        return l.builder.zip(&[a, counts, unit], a.kind, |x| {
            select(outside(&x[1]), -x[0].clone().lt(0.0), x[0].clone().floor_div(x[2].clone()))
        });
    }
    if bits > 16 {
        // Words have no room for what is cut off; beyond 32 bits double precision has none, either.
        let cut = |product: Ex| if bits > 32 { product } else { (product - low).floor_rem(size) + low };
        return l
            .builder
            .zip(&[a, counts, unit], a.kind, |x| select(outside(&x[1]), num(0.0), cut(x[0].clone() * x[2].clone())));
    }
    let rest = power_of_two(l, (counts, a.kind), bits - 1, (|count| num(all) - count, |count| all - count))?;
    l.builder.zip(&[a, counts, unit, rest], a.kind, |x| {
        let shifted = x[0].clone().floor_rem(x[3].clone()) * x[2].clone();
        let shifted = if low < 0.0 { shifted.clone() - shifted.ge(high + 1.0) * size } else { shifted };
        select(outside(&x[1]), num(0.0), select(x[1].clone().equals(0.0), x[0].clone(), shifted))
    })
}

/// Powers of integers: cut off towards 0 where the exponent has a fraction or is negative.
pub(super) fn power(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let operands = legacy(l, c)?;
    let (a, exponents) = (operands[0], operands[1]);
    let Kind::Int { bits, .. } = a.kind else { return c.refuse("the element type") };
    if !exponents.kind.is_int() {
        return l
            .builder
            .zip(&operands, a.kind, |x| call(Function::Trunc, call2(Function::Pow, x[0].clone(), x[1].clone())));
    }
    // A whole number for exponents from 0 on, and at most a half below.
    if l.builder.known(exponents).is_some() {
        return l.builder.zip(&operands, a.kind, |x| call2(Function::Pow, x[0].clone(), x[1].clone()).round_even());
    }
    let shape = l.builder.broadcast(&operands)?;
    let factors = i64::from(bits) + 2;
    let product = l.builder.reduce(&shape, &[factors], a.kind, Aggregate::Mul, |b, at, factor| {
        let size = call(Function::Abs, b.read(exponents, at));
        // As many factors as a type has bits leave it, but for 0, 1 and -1: only whether they are even matters then.
        let many = size.clone().ge(factors as f64);
        let taken = select(many, (size.clone() - factors as f64).floor_rem(2.0) + (factors - 2) as f64, size);
        select(taken.gt(Ex::At(factor[0].clone())), b.read(a, at), num(1.0))
    })?;
    l.builder.zip(&[product, a, exponents], a.kind, |x| {
        let inverse = select(call(Function::Abs, x[1].clone()).equals(1.0), x[0].clone(), num(0.0));
        select(x[2].clone().lt(0.0), inverse, x[0].clone())
    })
}
