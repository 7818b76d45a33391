//! Indices that are computed.

use super::constants::{affine, at, is_static};
use super::{Draft, bounded, over, zero_based};
use crate::canonical::expr::{Expr, substitute};
use crate::canonical::logic::is_whole;
use crate::tensor::{
    Affine, Aggregate, Binary, Element, Guard, IterId, Iterator, Nest, Node, Program, Role, Start, Tensor, TensorId,
};
use arch::{Origin, Span};
use std::collections::BTreeSet;

/// Constants that say which element a constant index means. More of them are compared.
const MATCHES: u64 = 1 << 20;

/// Pieces that one moved copy may have.
const PIECES: usize = 64;

/// Leave no index that is computed.
///
/// An index that is a function of one affine form, whatever the function, is a copy of the tensor along that form, in a few pieces:
///
///     o[i] = a[i / 2]             =>     a.1[2*q + r] = a[q]     q in 0..n, r in 0..2;     o[i] = a.1[i]
///     o[i] = a[max(i - 2, 0)]     =>     a.1[r] = a[0]   r in 0..2;   a.1[q + 2] = a[q];   o[i] = a.1[i]
///
/// Any other is compared with every index there is:
///
///     o[i] = a[c[i]]              =>     a.1[i] = sum[k](a[k] * (c[i] == k));   o[i] = a.1[i]
///
/// Where `c` is constant, so is the comparison: the sum is a product with a matrix of 0 and 1.
///
/// The golden evaluator refuses an index outside the tensor when it meets one. Here one that is known is moved to the nearest end, and
/// of one that is not, the value is 0. An index that is no whole number is rounded down.
pub fn expand_gathers(program: &Program) -> Program {
    let gathers = |nest: &Nest| nest.body.nodes.iter().any(|node| matches!(node, Node::Gather { .. }));
    let mut draft = Draft::new(program);
    for nest in &program.nests {
        let nest = if gathers(nest) {
            let body = Expr::from_body(&nest.body).map(&mut |e| match e {
                Expr::Gather(tensor, index) => read(&mut draft, nest, tensor, index),
                other => other,
            });
            Nest { body: body.to_body(), ..nest.clone() }
        } else {
            nest.clone()
        };
        draft.nests.push(nest);
    }
    draft.finish()
}

/// The element of a tensor at computed indices as an element at affine ones.
fn read(draft: &mut Draft, nest: &Nest, mut tensor: TensorId, mut index: Vec<Expr>) -> Expr {
    for (dimension, index) in index.iter_mut().enumerate() {
        let extent = i64::from(draft.program.tensors[tensor.0].shape[dimension]);
        if stays_inside(index, nest, extent) {
            continue;
        }
        if let Some(form) = affine(index)
            && let Some(place) = form.as_constant()
        {
            *index = Expr::Constant(place.clamp(0, extent - 1) as f64);
        } else if let Some((form, places)) = of_one_form(index, &nest.iterators, extent)
            && let runs = runs(&places)
            && runs.len() <= PIECES
        {
            tensor = moved(draft, (tensor, dimension), &runs, places.len(), &nest.origin);
            *index = form;
        }
    }
    let extents = draft.program.tensors[tensor.0].shape.clone();
    let inside =
        |(index, &extent): (&Expr, &u32)| affine(index).filter(|_| stays_inside(index, nest, i64::from(extent)));
    let forms: Option<Vec<Affine>> = index.iter().zip(&extents).map(inside).collect();
    match forms {
        Some(forms) => Expr::Read(tensor, forms),
        None => compared(draft, nest, tensor, &index),
    }
}

/// Whether an index is an affine form that needs no bounds of its own.
fn stays_inside(index: &Expr, nest: &Nest, extent: i64) -> bool {
    affine(index).is_some_and(|form| {
        let (low, high) = form.range(&nest.iterators);
        let holds = |guard: &Guard| {
            let (value, bound) = bounded(guard);
            *value == form && bound <= extent
        };
        low >= 0 && high < extent || nest.guards.iter().any(holds)
    })
}

/// An index as a function of one affine form without offset: the form, counted from its smallest value, and the index at each of its
/// values.
fn of_one_form(index: &Expr, iterators: &[Iterator], extent: i64) -> Option<(Expr, Vec<i64>)> {
    let mut form: Option<Affine> = None;
    let mut one = is_static(index);
    // The largest affine parts: what is affine as a whole is not looked into.
    let mut open = vec![index];
    while let Some(part) = open.pop() {
        match affine(part) {
            Some(found) if found.terms.is_empty() => {}
            Some(found) => {
                let linear = Affine { offset: 0, ..found };
                one &= form.as_ref().is_none_or(|form| *form == linear);
                form = Some(linear);
            }
            None => match part {
                Expr::Unary(_, a) | Expr::Cast(_, a) => open.push(a),
                Expr::Binary(_, a, b) => open.extend([&**a, &**b]),
                Expr::Select(parts) => open.extend(parts.iter()),
                Expr::Call(_, list) => open.extend(list),
                _ => one = false,
            },
        }
    }
    let form = form.filter(|_| one)?;
    let (low, high) = form.range(iterators);
    // The form as an iterator of its own.
    let own = IterId(iterators.len());
    let of_own = in_form(index, &form, own);
    let place = |value: i64| Some((at(&of_own, &[own], &[value])? as i64).clamp(0, extent - 1));
    let places: Vec<i64> = (low..=high).map(place).collect::<Option<_>>()?;
    let form = form.plus(-1, &Affine::constant(low));
    Some((form_expr(&form), places))
}

/// The expression with an iterator in the place of a form without offset.
fn in_form(e: &Expr, form: &Affine, own: IterId) -> Expr {
    if let Some(found) = affine(e)
        && found.terms == form.terms
    {
        return Expr::add(Expr::Iterator(own), Expr::Constant(found.offset as f64));
    }
    let each = |e: &Expr| in_form(e, form, own);
    match e {
        Expr::Unary(operation, a) => Expr::Unary(*operation, Box::new(each(a))),
        Expr::Cast(element, a) => Expr::Cast(*element, Box::new(each(a))),
        Expr::Binary(operation, a, b) => Expr::Binary(*operation, Box::new(each(a)), Box::new(each(b))),
        Expr::Select(parts) => Expr::Select(Box::new([each(&parts[0]), each(&parts[1]), each(&parts[2])])),
        Expr::Call(function, list) => Expr::Call(*function, list.iter().map(each).collect()),
        other => other.clone(),
    }
}

/// A form as an expression that [`affine`] understands.
pub(super) fn form_expr(form: &Affine) -> Expr {
    form.terms.iter().fold(Expr::Constant(form.offset as f64), |sum, &(iterator, coefficient)| {
        Expr::add(sum, Expr::mul(Expr::Constant(coefficient as f64), Expr::Iterator(iterator)))
    })
}

/// Places `start + inner*q + r` that hold `first + rise*q + slope*r`, for `q` in `0..outer` and `r` in `0..inner`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: i64,
    outer: i64,
    inner: i64,
    first: i64,
    rise: i64,
    slope: i64,
}

/// A list of places as runs, each as long as it gets.
///
///     0 0 1 1 2 2     =>     one run: inner 2, slope 0, outer 3, rise 1
///     0 0 0 1 2 3     =>     0 0 0: slope 0;  1 2 3: slope 1
fn runs(places: &[i64]) -> Vec<Run> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < places.len() {
        let rest = &places[start..];
        let slope = rest.get(1).map_or(0, |second| second - rest[0]);
        let inner = 1 + rest.windows(2).take_while(|pair| pair[1] - pair[0] == slope).count();
        let rise = rest.get(inner).map_or(0, |next| next - rest[0]);
        let expected = |at: usize| rest[0] + rise * (at / inner) as i64 + slope * (at % inner) as i64;
        let length = (0..rest.len()).take_while(|&at| rest[at] == expected(at)).count();
        let outer = length / inner;
        let (inner, slope_of) = (inner as i64, slope);
        found.push(Run { start: start as i64, outer: outer as i64, inner, first: rest[0], rise, slope: slope_of });
        start += outer * inner as usize;
    }
    found
}

/// A copy of a tensor whose elements along a dimension are those at given places.
fn moved(
    draft: &mut Draft,
    (tensor, dimension): (TensorId, usize),
    runs: &[Run],
    places: usize,
    origin: &Origin,
) -> TensorId {
    let mut shape = draft.program.tensors[tensor.0].shape.clone();
    shape[dimension] = places as u32;
    let copy = draft.like(tensor, shape.clone());
    for run in runs {
        let (mut iterators, index) = over(&shape);
        let (mut from, mut to) = (index.clone(), index);
        iterators[dimension] = Iterator { name: "q".into(), low: 0, high: run.outer };
        iterators.push(Iterator { name: "r".into(), low: 0, high: run.inner });
        let (q, r) = (Affine::iterator(IterId(dimension)), Affine::iterator(IterId(shape.len())));
        let form = |offset, q_factor, r_factor| Affine::constant(offset).plus(q_factor, &q).plus(r_factor, &r);
        to[dimension] = form(run.start, run.inner, 1);
        from[dimension] = form(run.first, run.rise, run.slope);
        draft.assign(iterators, copy, to, &Expr::Read(tensor, from), origin);
    }
    copy
}

/// The iterators of an expression, and the guards about them: beyond those, what it reads need not exist. Guards bring iterators of
/// their own.
fn guarded<'a>(nest: &'a Nest, e: &Expr) -> (Vec<IterId>, Vec<&'a Guard>) {
    let mut used = e.iterators();
    let mut guards: Vec<&Guard> = Vec::new();
    // One without iterators says whether there is any point at all.
    let about = |guard: &Guard, used: &BTreeSet<IterId>| {
        let terms = &bounded(guard).0.terms;
        terms.is_empty() || terms.iter().any(|term| used.contains(&term.0))
    };
    while let Some(guard) = nest.guards.iter().find(|guard| !guards.contains(guard) && about(guard, &used)) {
        used.extend(bounded(guard).0.terms.iter().map(|term| term.0));
        guards.push(guard);
    }
    (used.into_iter().collect(), guards)
}

/// Where a tensor of constants equals an iterator, as a tensor of constants.
fn known(draft: &mut Draft, index: &Expr, every: IterId, extent: i64, span: Span) -> Option<Expr> {
    let Expr::Read(constants, place) = index else { return None };
    let Tensor { shape, role: Role::Parameter(values), .. } = &draft.program.tensors[constants.0] else { return None };
    if values.len() as u64 * extent as u64 > MATCHES {
        return None;
    }
    let same = |&value: &f64| (0..extent).map(move |k| f64::from(u8::from(libm::floor(value) == k as f64)));
    let same: Vec<f64> = values.iter().flat_map(same).collect();
    let shape = [shape.as_slice(), &[extent as u32]].concat();
    let element = Element::Int { bits: 32, signed: true };
    let tensor = draft.constants("constant", shape, same, element, span);
    Some(Expr::Read(tensor, [place.as_slice(), &[Affine::iterator(every)]].concat()))
}

/// 1 where an index means the element that an iterator counts.
///
///     c == k                      a whole number
///     (c < k + 1) - (c < k)       any other, rounded down
fn meant(index: Expr, every: IterId, tensors: &[Tensor]) -> Expr {
    let place = Expr::Iterator(every);
    let compare = |operation, a: Expr, b| Expr::Binary(operation, Box::new(a), Box::new(b));
    if is_whole(&index, &|tensor| tensors[tensor.0].element != Element::Real) {
        return compare(Binary::Eq, index, place);
    }
    let next = Expr::add(place.clone(), Expr::Constant(1.0));
    Expr::sub(compare(Binary::Lt, index.clone(), next), compare(Binary::Lt, index, place))
}

/// The elements at computed indices, as sums over all elements of which all but one are multiplied with 0.
fn compared(draft: &mut Draft, nest: &Nest, tensor: TensorId, index: &[Expr]) -> Expr {
    let (used, guards) = guarded(nest, &Expr::Gather(tensor, index.to_vec()));
    let free = used.len();
    let mut iterators: Vec<Iterator> = used.iter().map(|i| nest.iterators[i.0].clone()).collect();
    let position = |i: usize| used.iter().position(|u| u.0 == i).unwrap_or(0);
    let with: Vec<Affine> = (0..nest.iterators.len()).map(|i| Affine::iterator(IterId(position(i)))).collect();
    let guards = guards.into_iter().map(|guard| match guard {
        Guard::Within { value, bound } => Guard::Within { value: substitute(value, &with), bound: *bound },
        Guard::Zero { value } => Guard::Zero { value: substitute(value, &with) },
    });
    let guards: Vec<Guard> = guards.collect();
    let mut place = Vec::new();
    let mut equal: Option<Expr> = None;
    let extents = draft.program.tensors[tensor.0].shape.clone();
    for (form, extent) in index.iter().zip(extents) {
        let form = form.clone().substitute(&with);
        place.push(affine(&form).unwrap_or_else(|| {
            let every = IterId(iterators.len());
            iterators.push(Iterator { name: "k".into(), low: 0, high: i64::from(extent) });
            let same = known(draft, &form, every, i64::from(extent), nest.origin.span())
                .unwrap_or_else(|| meant(form, every, &draft.program.tensors));
            equal = Some(match equal.take() {
                Some(others) => Expr::mul(others, same),
                None => same,
            });
            Affine::iterator(every)
        }));
    }
    let equal = equal.expect("an index is computed");
    let shape = iterators[..free].iter().map(|iterator| iterator.extent() as u32).collect();
    let found = draft.like(tensor, shape);
    if !guards.is_empty() {
        let (all, index) = over(&draft.program.tensors[found.0].shape);
        draft.assign(all, found, index, &Expr::Constant(0.0), &nest.origin);
    }
    draft.nests.push(Nest {
        out_index: (0..free).map(|i| zero_based(IterId(i), &iterators)).collect(),
        iterators,
        free,
        guards,
        out: found,
        aggregate: Aggregate::Add,
        start: Start::Identity,
        body: Expr::mul(Expr::Read(tensor, place), equal).to_body(),
        origin: nest.origin.clone(),
    });
    Expr::Read(found, used.iter().map(|&i| zero_based(i, &nest.iterators)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the runs say is at each place.
    fn opened(runs: &[Run], places: usize) -> Vec<Option<i64>> {
        let mut found = vec![None; places];
        for run in runs {
            for q in 0..run.outer {
                for r in 0..run.inner {
                    let place = &mut found[(run.start + run.inner * q + r) as usize];
                    assert_eq!(*place, None, "written twice: {run:?}");
                    *place = Some(run.first + run.rise * q + run.slope * r);
                }
            }
        }
        found
    }

    #[test]
    fn runs_hold_every_place_once() {
        let lists: [fn(i64) -> i64; 8] = [
            |i| i / 2,
            |i| i / 3,
            |i| i % 4,
            |i| (i - 2).clamp(0, 7),
            |i| 20 - i,
            |i| i * i,
            |_| 5,
            |i| (2 * i + 1) / 3,
        ];
        for (number, list) in lists.into_iter().enumerate() {
            for length in [1, 2, 3, 11, 12, 13] {
                let places: Vec<i64> = (0..length).map(list).collect();
                let expected: Vec<Option<i64>> = places.iter().copied().map(Some).collect();
                assert_eq!(opened(&runs(&places), places.len()), expected, "list {number} of {length}");
            }
        }
        let halves: Vec<i64> = (0..64).map(|i| i / 2).collect();
        assert_eq!(runs(&halves).len(), 1);
        let clamped: Vec<i64> = (0..64).map(|i: i64| (i - 3).clamp(0, 50)).collect();
        assert_eq!(runs(&clamped).len(), 3);
    }
}
