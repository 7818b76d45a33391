//! Bounds of values by the form of their expressions alone.

use super::{bits, limits};
use crate::canonical::expr::Expr;
use crate::tensor::{Aggregate, Binary, Element, Function, Iterator, Nest, Program, Role, Start, Tensor, Unary};

/// The least and the largest value.
pub(super) type Bounds = (f64, f64);

/// Nothing is known.
pub(super) const ANY: Bounds = (f64::NEG_INFINITY, f64::INFINITY);

/// Of no value.
const NONE: Bounds = (f64::INFINITY, f64::NEG_INFINITY);

/// Of each tensor, whatever inputs and weights are.
///
///     r = max(x, 0); q = rint(4 * r)      =>      r and q are at least 0: max(q, 0) is q
pub(super) fn of_tensors(program: &Program) -> Vec<Bounds> {
    let given = |tensor: &Tensor| match &tensor.role {
        Role::Parameter(values) if !values.is_empty() => Some(values.iter().fold(NONE, |all, &v| hull(all, (v, v)))),
        role => (!role.is_computed()).then(|| of_element(tensor.element)),
    };
    let mut known: Vec<Option<Bounds>> = program.tensors.iter().map(given).collect();
    for nest in &program.nests {
        let all: Vec<Bounds> = known.iter().map(|bounds| bounds.unwrap_or(ANY)).collect();
        let written = of_nest(nest, &all);
        let of_out = &mut known[nest.out.0];
        *of_out = Some(of_out.map_or(written, |known| hull(known, written)));
    }
    // Elements that nothing writes keep what they had.
    let next = program.updates.iter().map(|update| update.next.0);
    next.for_each(|next| known[next] = None);
    let known = known.into_iter().zip(&program.tensors);
    known.map(|(bounds, tensor)| meet(bounds.unwrap_or(ANY), of_element(tensor.element))).collect()
}

fn of_nest(nest: &Nest, tensors: &[Bounds]) -> Bounds {
    let body = of(&Expr::from_body(&nest.body), tensors, &nest.iterators);
    let start = match &nest.start {
        Start::Identity => None,
        Start::Fill(value) => Some((*value, *value)),
        Start::Element { tensor, .. } => Some(tensors[tensor.0]),
    };
    match nest.aggregate {
        Aggregate::Assign => body,
        Aggregate::Max | Aggregate::Min => start.map_or(body, |start| hull(start, body)),
        Aggregate::Add => {
            let (low, high) = start.unwrap_or((0.0, 0.0));
            (if body.0 >= 0.0 { low } else { ANY.0 }, if body.1 <= 0.0 { high } else { ANY.1 })
        }
        Aggregate::Mul => ANY,
    }
}

/// Of an expression.
pub(super) fn of(e: &Expr, tensors: &[Bounds], iterators: &[Iterator]) -> Bounds {
    let of = |e: &Expr| of(e, tensors, iterators);
    match e {
        Expr::Constant(value) => (*value, *value),
        Expr::Iterator(iterator) => iterators.get(iterator.0).map_or(ANY, |i| (i.low as f64, (i.high - 1) as f64)),
        Expr::Read(tensor, _) | Expr::Gather(tensor, _) => tensors[tensor.0],
        Expr::Cast(element, a) => meet(of(a), of_element(*element)),
        Expr::Select(parts) => hull(of(&parts[1]), of(&parts[2])),
        Expr::Unary(Unary::Neg, a) => negated(of(a)),
        Expr::Unary(Unary::Not, _) => (0.0, 1.0),
        Expr::Call(Function::Floor, arguments) => each(of(&arguments[0]), libm::floor),
        Expr::Call(Function::Rint, arguments) => each(of(&arguments[0]), libm::rint),
        Expr::Call(function, arguments) => match arguments.as_slice() {
            [a, b] if function.is_of_digits() => bits::limits(*function, of(a), of(b)),
            _ => ANY,
        },
        Expr::Binary(operation, a, b) => {
            let (a, b) = (of(a), of(b));
            match operation {
                Binary::Add => known((a.0 + b.0, a.1 + b.1)),
                Binary::Sub => known((a.0 - b.1, a.1 - b.0)),
                Binary::Mul => product(a, b),
                Binary::Div if b.0 == b.1 && b.0 != 0.0 => product(a, (1.0 / b.0, 1.0 / b.0)),
                Binary::Min => (a.0.min(b.0), a.1.min(b.1)),
                Binary::Max => (a.0.max(b.0), a.1.max(b.1)),
                Binary::Lt
                | Binary::Le
                | Binary::Gt
                | Binary::Ge
                | Binary::Eq
                | Binary::Ne
                | Binary::And
                | Binary::Or => (0.0, 1.0),
                Binary::RemFloor if b.0 == b.1 && b.0 > 0.0 => (0.0, b.0),
                Binary::DivFloor if b.0 == b.1 && b.0 > 0.0 => each(product(a, (1.0 / b.0, 1.0 / b.0)), libm::floor),
                Binary::Div | Binary::DivFloor | Binary::DivControlled | Binary::RemFloor => ANY,
            }
        }
    }
}

/// Of a type.
fn of_element(element: Element) -> Bounds {
    match element {
        Element::Real => ANY,
        Element::Int { bits, signed } => limits(bits, signed),
        Element::Bool => (0.0, 1.0),
    }
}

fn product(a: Bounds, b: Bounds) -> Bounds {
    // 0 times what is not bounded is 0.
    let times = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
    let ends = [times(a.0, b.0), times(a.0, b.1), times(a.1, b.0), times(a.1, b.1)];
    known(ends.into_iter().fold(NONE, |all, end| hull(all, (end, end))))
}

fn negated((low, high): Bounds) -> Bounds {
    (-high, -low)
}

fn each((low, high): Bounds, rounding: fn(f64) -> f64) -> Bounds {
    (rounding(low), rounding(high))
}

/// What is no number bounds nothing.
fn known((low, high): Bounds) -> Bounds {
    (if low.is_nan() { ANY.0 } else { low }, if high.is_nan() { ANY.1 } else { high })
}

fn hull(a: Bounds, b: Bounds) -> Bounds {
    (a.0.min(b.0), a.1.max(b.1))
}

/// What is in both; the first one, where that is nothing.
fn meet(a: Bounds, b: Bounds) -> Bounds {
    let both = (a.0.max(b.0), a.1.min(b.1));
    if both.0 <= both.1 { both } else { a }
}
