//! Values that depend on iterators alone.

use super::{Draft, each_point, zero_based};
use crate::canonical::expr::Expr;
use crate::canonical::fold::simplify;
use crate::tensor::{Affine, Binary, Element, IterId, Iterator, Nest, Program, Unary};
use arch::Span;

/// Words of constants that take the place of one value: the value itself would take as many.
const LARGEST: u64 = 1 << 16;

/// Compute what depends on iterators alone, and keep it as a tensor of constants.
///
///     l[i][j] = select(i >= j, a[i][j], 0)     =>     l[i][j] = select(m[i][j], a[i][j], 0)      m = 1 0 0 / 1 1 0 / 1 1 1
///
/// A plain iterator is left alone, and so is what has no value at some point.
pub fn name_constants(program: &Program) -> Program {
    let mut draft = Draft::new(program);
    for nest in &program.nests {
        let body = Expr::from_body(&nest.body);
        let named = if has_iterators(&body) { name(&mut draft, nest, body) } else { body };
        draft.nests.push(Nest { body: named.to_body(), ..nest.clone() });
    }
    draft.finish()
}

fn has_iterators(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Iterator(_)));
    found
}

/// Whether the value is known when the program is built, iterators being known.
pub(super) fn is_static(e: &Expr) -> bool {
    let mut reads = false;
    e.visit(&mut |e| reads |= matches!(e, Expr::Read(..) | Expr::Gather(..)));
    !reads
}

/// The expression with its largest static parts as reads of constant tensors.
fn name(draft: &mut Draft, nest: &Nest, e: Expr) -> Expr {
    let simple = matches!(e, Expr::Constant(_) | Expr::Iterator(_) | Expr::Read(..));
    if !simple && is_static(&e) && has_iterators(&e) {
        return constant(draft, &nest.iterators, &e, nest.origin.span()).unwrap_or(e);
    }
    let mut each = |e: Expr| name(draft, nest, e);
    match e {
        Expr::Gather(tensor, list) => Expr::Gather(tensor, list.into_iter().map(each).collect()),
        Expr::Call(function, list) => Expr::Call(function, list.into_iter().map(each).collect()),
        Expr::Unary(operation, a) => Expr::Unary(operation, Box::new(each(*a))),
        Expr::Cast(element, a) => Expr::Cast(element, Box::new(each(*a))),
        Expr::Binary(operation, a, b) => {
            let a = each(*a);
            Expr::Binary(operation, Box::new(a), Box::new(each(*b)))
        }
        Expr::Select(parts) => Expr::Select(Box::new(parts.map(each))),
        simple => simple,
    }
}

/// A read of a tensor that holds the value at every point of the iterators it depends on.
fn constant(draft: &mut Draft, iterators: &[Iterator], e: &Expr, span: Span) -> Option<Expr> {
    let used: Vec<IterId> = e.iterators().into_iter().collect();
    let own: Vec<Iterator> = used.iter().map(|i| iterators[i.0].clone()).collect();
    if own.iter().map(Iterator::extent).product::<u64>() > LARGEST {
        return None;
    }
    let mut values = Vec::new();
    each_point(&own, |point| values.push(at(e, &used, point)));
    let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
    let whole = values.iter().all(|value| libm::trunc(*value) == *value);
    let element = if whole { Element::Int { bits: 32, signed: true } } else { Element::Real };
    let shape = own.iter().map(|iterator| iterator.extent() as u32).collect();
    let tensor = draft.constants("constant", shape, values, element, span);
    Some(Expr::Read(tensor, used.iter().map(|&i| zero_based(i, iterators)).collect()))
}

/// The value of a static expression at a point of the iterators it depends on.
pub(super) fn at(e: &Expr, used: &[IterId], point: &[i64]) -> Option<f64> {
    let value = |iterator: IterId| used.iter().position(|&u| u == iterator).map(|p| point[p] as f64);
    let known = e.clone().map(&mut |e| match e {
        Expr::Iterator(iterator) => value(iterator).map_or(Expr::Iterator(iterator), Expr::Constant),
        other => other,
    });
    match simplify(known) {
        Expr::Constant(value) => Some(value),
        _ => None,
    }
}

/// The affine form that an expression is, if it is one.
pub(super) fn affine(e: &Expr) -> Option<Affine> {
    match e {
        Expr::Iterator(iterator) => Some(Affine::iterator(*iterator)),
        Expr::Constant(value) => (libm::trunc(*value) == *value).then(|| Affine::constant(*value as i64)),
        Expr::Unary(Unary::Neg, a) => Some(Affine::default().plus(-1, &affine(a)?)),
        Expr::Cast(Element::Int { .. }, a) => affine(a),
        Expr::Binary(Binary::Add, a, b) => Some(affine(a)?.plus(1, &affine(b)?)),
        Expr::Binary(Binary::Sub, a, b) => Some(affine(a)?.plus(-1, &affine(b)?)),
        Expr::Binary(Binary::Mul, a, b) => {
            let (a, b) = (affine(a)?, affine(b)?);
            match (a.as_constant(), b.as_constant()) {
                (Some(factor), _) => Some(Affine::default().plus(factor, &b)),
                (_, Some(factor)) => Some(Affine::default().plus(factor, &a)),
                _ => None,
            }
        }
        _ => None,
    }
}
