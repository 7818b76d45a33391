//! Comparison, choice and logic as arithmetic on 0 and 1; rounding to whole numbers as division.

mod bits;
mod bounds;
pub(super) mod library;
mod recomputed;

pub use bits::expand_bits;
pub use recomputed::store_recomputed;

use super::expr::Expr;
use super::fold::called;
use super::primitive;
use crate::tensor::{Aggregate, Binary, Element, Function, Nest, Node, Program, Role, Tensor, TensorId, Unary};

/// Leave one comparison, `l < 0`, and no other logic.
///
///     a > b           =>  (b - a) < 0
///     a >= b          =>  1 - ((a - b) < 0)
///     max(a, 0)       =>  max(a, 0)                (an operation of its own)
///     min(a, b)       =>  select(a < b, a, b)      (the one that is known to be the smaller, if one is)
///     min(p, 6)       =>  min(max(p, 0), 6)        (the same, of what is not negative)
///     min(q, 127)     =>  min(max(q + 128, 0), 255) - 128    (of whole numbers of 8 bits that are not below -128)
///     select(c,y,n)   =>  (n - c*n) + c*y           (c is 0 or 1, so both products are exact)
///     abs(x)          =>  x - 2*(x*(x < 0))
///     a % b           =>  a - b*floor(a / b)
///     trunc(x)        =>  floor(x) + (x < 0) * (floor(x) < x)
///     uint8(x)        =>  min(max(trunc(x), 0), 255)    (what cannot lie outside is not compared)
///
/// Functions that are a few of these and of others are written out ([`library`]); conversions are what they do to the value.
///
/// Exact in fixed point, too: the difference is compared before it is rounded, and products with 0 and 1 are not rounded.
pub fn rewrite_logic(program: &Program) -> Program {
    let bounds = &bounds::of_tensors(program);
    let known = Known { bits: &bits(program), whole: &whole(program), bounds };
    let mut result = program.clone();
    for nest in &mut result.nests {
        let is_logic = |node: &Node| match node {
            Node::Binary(operation, ..) => !matches!(operation, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div),
            Node::Unary(operation, _) => *operation == Unary::Not,
            Node::Select { .. } | Node::Call(..) | Node::Cast(..) => true,
            _ => false,
        };
        if nest.body.nodes.iter().any(is_logic) {
            nest.body = Expr::from_body(&nest.body).map(&mut |e| rewrite(e, known)).to_body();
        }
    }
    result
}

/// What is known of values before they are computed.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// Tensors that hold only 0 and 1.
    bits: &'a [bool],
    /// Tensors that hold only whole numbers.
    whole: &'a [bool],
    /// What the elements of each can be.
    bounds: &'a [bounds::Bounds],
}

impl Known<'_> {
    fn is_whole(&self, e: &Expr) -> bool {
        is_whole(e, &|tensor| self.whole[tensor.0])
    }
}

/// Tensors that hold only 0 and 1: constants, and those that only comparisons and logic are written to. Who chooses by one of their elements
/// need not compare it with 0 again.
fn bits(program: &Program) -> Vec<bool> {
    hold(program, |value| value == 0.0 || value == 1.0, |nest, _| is_logical(nest.body.nodes.last()))
}

/// Tensors that hold only whole numbers, likewise.
fn whole(program: &Program) -> Vec<bool> {
    let whole = |tensor: TensorId, held: &[bool]| held[tensor.0] || program.tensors[tensor.0].element != Element::Real;
    let assigned = |nest: &Nest, held: &[bool]| is_whole(&Expr::from_body(&nest.body), &|t| whole(t, held));
    let held = hold(program, |value| libm::trunc(value) == value, assigned);
    (0..held.len()).map(|tensor| whole(TensorId(tensor), &held)).collect()
}

/// Tensors that hold only what is asked for: constants whose values do, and those that only such assignments write. An assignment is asked with
/// what is known of the tensors that are written before it.
fn hold(program: &Program, value: impl Fn(f64) -> bool, assigned: impl Fn(&Nest, &[bool]) -> bool) -> Vec<bool> {
    // Others than these have values that nothing here writes.
    let computed = |tensor: &Tensor| matches!(tensor.role, Role::Temporary | Role::Output);
    let given = |tensor: &Tensor| matches!(&tensor.role, Role::Parameter(values) if values.iter().all(|v| value(*v)));
    let mut held: Vec<bool> = program.tensors.iter().map(given).collect();
    let mut written = vec![false; held.len()];
    for nest in &program.nests {
        let out = nest.out.0;
        let first = !std::mem::replace(&mut written[out], true);
        let holds = nest.aggregate == Aggregate::Assign && assigned(nest, &held);
        held[out] = holds && (first && computed(&program.tensors[out]) || held[out]);
    }
    held
}

/// Whether the rewriting makes 0 or 1 of it.
fn is_logical(node: Option<&Node>) -> bool {
    use Binary::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    match node {
        Some(Node::Binary(operation, ..)) => matches!(operation, And | Eq | Ge | Gt | Le | Lt | Ne | Or),
        Some(Node::Unary(operation, _)) => *operation == Unary::Not,
        Some(Node::Cast(element, _)) => *element == Element::Bool,
        _ => false,
    }
}

/// Whether a value is a whole number, whatever the operands are, if these tensors hold whole numbers.
pub(super) fn is_whole(e: &Expr, of: &dyn Fn(TensorId) -> bool) -> bool {
    match e {
        Expr::Constant(value) => libm::trunc(*value) == *value,
        Expr::Iterator(_) => true,
        Expr::Read(tensor, _) | Expr::Gather(tensor, _) => of(*tensor),
        Expr::Unary(_, a) => is_whole(a, of),
        Expr::Binary(operation, a, b) => match operation {
            Binary::Div | Binary::DivControlled => false,
            Binary::DivFloor | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => true,
            _ => is_whole(a, of) && is_whole(b, of),
        },
        Expr::Select(parts) => is_whole(&parts[1], of) && is_whole(&parts[2], of),
        Expr::Cast(element, a) => *element != Element::Real || is_whole(a, of),
        Expr::Call(function, _) => function.is_whole(),
    }
}

/// 1 if the value is below 0, else 0.
fn negative(e: Expr) -> Expr {
    Expr::Binary(Binary::Lt, Box::new(e), Box::new(Expr::Constant(0.0)))
}

/// 1 if `a < b`, else 0.
pub(super) fn less(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Constant(a), Expr::Constant(b)) => Expr::Constant(f64::from(a < b)),
        // Words are finite.
        (_, Expr::Constant(b)) if b.is_infinite() => Expr::Constant(f64::from(b > 0.0)),
        (Expr::Constant(a), _) if a.is_infinite() => Expr::Constant(f64::from(a < 0.0)),
        (a, Expr::Constant(0.0)) => negative(a),
        (Expr::Constant(0.0), b) => negative(Expr::neg(b)),
        (a, b) => negative(Expr::sub(a, b)),
    }
}

/// The value, or 0 if that is negative.
fn positive(e: Expr) -> Expr {
    Expr::Binary(Binary::Max, Box::new(e), Box::new(Expr::Constant(0.0)))
}

fn not(e: Expr) -> Expr {
    Expr::sub(Expr::Constant(1.0), e)
}

/// `yes` where the condition is 1, `no` where it is 0.
pub(super) fn choose(condition: Expr, yes: Expr, no: Expr) -> Expr {
    if let Expr::Constant(condition) = condition {
        return if condition == 0.0 { no } else { yes };
    }
    let other = Expr::sub(no.clone(), Expr::mul(condition.clone(), no));
    Expr::add(other, Expr::mul(condition, yes))
}

/// Whether the value can only be 0 or 1.
fn is_bit(e: &Expr, known: Known<'_>) -> bool {
    match e {
        Expr::Read(tensor, _) => known.bits[tensor.0],
        Expr::Constant(value) => *value == 0.0 || *value == 1.0,
        Expr::Binary(Binary::Lt, ..) => true,
        Expr::Binary(Binary::Mul, a, b) => is_bit(a, known) && is_bit(b, known),
        Expr::Binary(Binary::Sub, a, b) => matches!(**a, Expr::Constant(1.0)) && is_bit(b, known),
        _ => false,
    }
}

/// The truth of a value: itself if it is a bit, else whether it differs from 0.
fn truth(e: Expr, known: Known<'_>) -> Expr {
    if is_bit(&e, known) {
        return e;
    }
    Expr::add(negative(e.clone()), negative(Expr::neg(e)))
}

/// What fits every word: a value that is larger is saturated anyway.
const WORDS_END: f64 = 2_147_483_648.0;

/// The least and the largest value of an integer type.
fn limits(bits: u32, signed: bool) -> (f64, f64) {
    let end = libm::exp2(f64::from(bits - u32::from(signed)));
    (if signed { -end } else { 0.0 }, end - 1.0)
}

/// What a value can be by its form alone; everything, if that says nothing.
fn bounds(e: &Expr, known: Known<'_>) -> (f64, f64) {
    match e {
        Expr::Constant(value) => (*value, *value),
        _ if is_bit(e, known) => (0.0, 1.0),
        _ => bounds::of(e, known.bounds, &[]),
    }
}

/// The largest limit of a number of 8 bits.
const BYTE: f64 = 255.0;

/// A limit that can be applied as the positive part of a difference: exact if both are whole numbers, and the difference has room in words that
/// have room for the value, since the limit is one of 8 bits.
fn byte_limit(value: &Expr, limit: &Expr, known: Known<'_>) -> Option<f64> {
    let (low, high) = bounds(limit, known);
    (low == high && low.abs() <= BYTE && libm::trunc(low) == low && known.is_whole(value)).then_some(low)
}

/// `min(value, limit)`, if the value is not negative, or not below a limit of 8 bits either.
fn clipped_above(value: &Expr, limit: &Expr, known: Known<'_>) -> Option<Expr> {
    let (low, _) = bounds(value, known);
    let limited = |value: Expr, limit: f64| {
        let value = if primitive::rectified(&value).is_some() { value } else { positive(value) };
        Expr::Binary(Binary::Min, Box::new(value), Box::new(Expr::Constant(limit)))
    };
    match limit {
        Expr::Constant(limit) if low >= 0.0 && *limit > 0.0 => Some(limited(value.clone(), *limit)),
        _ => {
            let low = Some(low).filter(|low| *low >= -BYTE && libm::trunc(*low) == *low)?;
            let limit = byte_limit(value, limit, known)?;
            let above = limited(Expr::sub(value.clone(), Expr::Constant(low)), limit - low);
            Some(Expr::add(Expr::Constant(low), above))
        }
    }
}

/// `max(value, limit)`
fn clipped_below(value: &Expr, limit: &Expr, known: Known<'_>) -> Option<Expr> {
    let limit = Expr::Constant(byte_limit(value, limit, known)?);
    Some(Expr::add(limit.clone(), positive(Expr::sub(value.clone(), limit))))
}

/// The smaller value; where it is known which one that is, that one.
fn smaller(a: Expr, b: Expr, known: Known<'_>) -> Expr {
    match (bounds(&a, known), bounds(&b, known)) {
        (of_a, of_b) if of_a.1 <= of_b.0 => a,
        (of_a, of_b) if of_b.1 <= of_a.0 => b,
        _ => clipped_above(&a, &b, known)
            .or_else(|| clipped_above(&b, &a, known))
            .unwrap_or_else(|| choose(less(a.clone(), b.clone()), a, b)),
    }
}

/// The larger value, likewise.
fn larger(a: Expr, b: Expr, known: Known<'_>) -> Expr {
    match (bounds(&a, known), bounds(&b, known)) {
        (of_a, of_b) if of_a.0 >= of_b.1 => a,
        (of_a, of_b) if of_b.0 >= of_a.1 => b,
        _ if b == Expr::Constant(0.0) => positive(a),
        _ if a == Expr::Constant(0.0) => positive(b),
        _ => clipped_below(&a, &b, known)
            .or_else(|| clipped_below(&b, &a, known))
            .unwrap_or_else(|| choose(less(a.clone(), b.clone()), b, a)),
    }
}

/// Truncated, and clipped to the limits of its type.
fn integer(a: Expr, (low, high): (f64, f64), known: Known<'_>) -> Expr {
    let (least, most) = bounds(&a, known);
    let whole = if known.is_whole(&a) { a } else { library::written_out(Function::Trunc, vec![a]) };
    let whole = if least < low && low > -WORDS_END { larger(whole, Expr::Constant(low), known) } else { whole };
    if most > high && high < WORDS_END - 1.0 { smaller(whole, Expr::Constant(high), known) } else { whole }
}

fn rewrite(e: Expr, known: Known<'_>) -> Expr {
    match e {
        Expr::Unary(Unary::Not, a) => not(truth(*a, known)),
        Expr::Binary(operation, a, b) => {
            let (a, b) = (*a, *b);
            match operation {
                Binary::Lt => less(a, b),
                Binary::Gt => less(b, a),
                Binary::Ge => not(less(a, b)),
                Binary::Le => not(less(b, a)),
                Binary::Ne => Expr::add(less(a.clone(), b.clone()), less(b, a)),
                Binary::Eq => not(Expr::add(less(a.clone(), b.clone()), less(b, a))),
                Binary::And => Expr::mul(truth(a, known), truth(b, known)),
                Binary::Or => not(Expr::mul(not(truth(a, known)), not(truth(b, known)))),
                Binary::Min => smaller(a, b, known),
                Binary::Max => larger(a, b, known),
                Binary::RemFloor => {
                    let quotient = Expr::Binary(Binary::DivFloor, Box::new(a.clone()), Box::new(b.clone()));
                    Expr::sub(a, Expr::mul(b, quotient))
                }
                _ => Expr::Binary(operation, Box::new(a), Box::new(b)),
            }
        }
        Expr::Select(parts) => {
            let [condition, yes, no] = *parts;
            choose(truth(condition, known), yes, no)
        }
        Expr::Call(function, arguments) => match called(function, &arguments) {
            Some(value) => Expr::Constant(value),
            None => library::written_out(function, arguments),
        },
        Expr::Cast(Element::Real, a) => *a,
        Expr::Cast(Element::Bool, a) => truth(*a, known),
        Expr::Cast(Element::Int { bits, signed }, a) => integer(*a, limits(bits, signed), known),
        other => other,
    }
}
