//! Equations between iterators.

use super::bounded;
use crate::canonical::expr::{Expr, substitute};
use crate::tensor::{Affine, Aggregate, Guard, IterId, Iterator, Nest, Program, Start};

/// Phases that one equation may make.
const PHASES: i64 = 16;

/// Use every equation to take an iterator away.
///
/// Where the other iterators give each element once, the element is written where they say (a reshape, a repetition, an upsampling):
///
///     o[p] += x[i][j]   where p == 4*i + j, j < 4        =>     o[4*i + j] = x[i][j]
///
/// Where a stride stands in the way, each remainder is a nest of its own (a transposed convolution):
///
///     o[p] += x[i] * w[k]   where p == 2*i + k           =>     o[2*q]     += x[q - r] * w[2*r]       where 0 <= q - r < n
///                                                               o[2*q + 1] += x[q - r] * w[2*r + 1]   where 0 <= q - r < n
///
/// Else a reduction iterator is put in terms of the others, and its bounds become conditions:
///
///     o[p] += x[i] * w[k]   where p == i + k             =>     o[p] += x[p - k] * w[k]               where 0 <= p - k < n
///
/// What no iterator with coefficient 1 stands in stays an equation.
pub fn solve_equations(program: &Program) -> Program {
    let mut result = program.clone();
    result.nests.clear();
    for nest in &program.nests {
        let mut open = vec![nest.clone()];
        while let Some(nest) = open.pop() {
            match solved(&nest) {
                Some(pieces) => open.extend(pieces.into_iter().rev()),
                None => result.nests.push(nest),
            }
        }
    }
    result
}

/// The nests that a nest becomes when one of its equations is solved.
fn solved(nest: &Nest) -> Option<Vec<Nest>> {
    if nest.start != Start::Identity {
        return None;
    }
    nest.guards.iter().enumerate().find_map(|(number, guard)| {
        let Guard::Zero { value } = guard else { return None };
        let mut rest = nest.clone();
        rest.guards.remove(number);
        scattered(&rest, value)
            .map(|nest| vec![nest])
            .or_else(|| phases(&rest, value))
            .or_else(|| eliminated(&rest, value).map(|nest| vec![nest]))
    })
}

/// `value == 0` as the form that this iterator equals; its coefficient is 1 or -1.
fn form_of(value: &Affine, iterator: IterId) -> Option<Affine> {
    let coefficient = value.terms.iter().find(|term| term.0 == iterator)?.1;
    let rest = value.plus(-coefficient, &Affine::iterator(iterator));
    (coefficient.abs() == 1).then(|| Affine::default().plus(-coefficient, &rest))
}

/// A free iterator is given by reduction iterators, which become free in its place.
fn scattered(nest: &Nest, value: &Affine) -> Option<Nest> {
    let mut free = value.terms.iter().map(|term| term.0).filter(|iterator| iterator.0 < nest.free);
    free.find_map(|iterator| {
        let form = form_of(value, iterator)?;
        let chosen: Vec<IterId> = form.terms.iter().map(|term| term.0).filter(|i| i.0 >= nest.free).collect();
        let kept = (0..nest.free).map(IterId).filter(|&i| i != iterator);
        let reduced = (nest.free..nest.iterators.len()).map(IterId).filter(|i| !chosen.contains(i));
        let order: Vec<IterId> = kept.chain(chosen.iter().copied()).chain(reduced).collect();
        let mut result = replaced(nest, iterator, &form, &order);
        result.free = nest.free - 1 + chosen.len();
        if result.free == result.iterators.len() {
            result.aggregate = Aggregate::Assign;
        }
        (!chosen.is_empty() && super::writes_each_once(&result)).then_some(result)
    })
}

/// The longest reduction iterator that the equation gives goes.
fn eliminated(nest: &Nest, value: &Affine) -> Option<Nest> {
    let reduced = value.terms.iter().filter(|term| term.0.0 >= nest.free && term.1.abs() == 1).map(|term| term.0);
    let iterator = reduced.max_by_key(|i| nest.iterators[i.0].extent())?;
    let form = form_of(value, iterator)?;
    let order: Vec<IterId> = (0..nest.iterators.len()).map(IterId).filter(|&i| i != iterator).collect();
    let mut result = replaced(nest, iterator, &form, &order);
    if result.free == result.iterators.len() {
        result.aggregate = Aggregate::Assign;
    }
    Some(result)
}

/// The nest with a form in the place of an iterator, whose bounds become a condition, and with its iterators in this order.
fn replaced(nest: &Nest, iterator: IterId, form: &Affine, order: &[IterId]) -> Nest {
    let position =
        |i: usize| order.iter().position(|o| o.0 == i).map_or(Affine::default(), |p| Affine::iterator(IterId(p)));
    let mut with: Vec<Affine> = (0..nest.iterators.len()).map(position).collect();
    with[iterator.0] = substitute(form, &with);
    let Iterator { low, high, .. } = nest.iterators[iterator.0];
    let mut result = substituted(nest, &with, order.iter().map(|i| nest.iterators[i.0].clone()).collect());
    let value = with[iterator.0].plus(-1, &Affine::constant(low));
    let range = value.range(&result.iterators);
    if range.0 < 0 || range.1 >= high - low {
        result.guards.push(Guard::Within { value, bound: high - low });
    }
    result
}

/// The nest over other iterators.
pub(super) fn substituted(nest: &Nest, with: &[Affine], iterators: Vec<Iterator>) -> Nest {
    let guard = |guard: &Guard| {
        let value = substitute(bounded(guard).0, with);
        match guard {
            Guard::Within { bound, .. } => Guard::Within { value, bound: *bound },
            Guard::Zero { .. } => Guard::Zero { value },
        }
    };
    let index = |forms: &[Affine]| forms.iter().map(|form| substitute(form, with)).collect();
    let start = match &nest.start {
        Start::Element { tensor, index: forms } => Start::Element { tensor: *tensor, index: index(forms) },
        other => other.clone(),
    };
    Nest {
        iterators,
        guards: nest.guards.iter().map(guard).collect(),
        out_index: index(&nest.out_index),
        start,
        body: Expr::from_body(&nest.body).substitute(with).to_body(),
        ..nest.clone()
    }
}

/// `p == c*i + k` falls apart by the remainders of `p` and `k`, and gives `i`.
fn phases(nest: &Nest, value: &Affine) -> Option<Vec<Nest>> {
    let is_free = |iterator: IterId| iterator.0 < nest.free;
    let strides = value.terms.iter().filter(|term| !is_free(term.0) && term.1.abs() > 1);
    let &(target, coefficient) = strides.max_by_key(|term| nest.iterators[term.0.0].extent())?;
    let stride = coefficient.abs();
    let others: Vec<(IterId, i64)> = value.terms.iter().copied().filter(|term| term.1 % stride != 0).collect();
    // Free iterators come first.
    let &[(p, a), (k, b)] = others.as_slice() else { return None };
    if !is_free(p) || is_free(k) || a.abs() != 1 || b.abs() != 1 || stride > PHASES {
        return None;
    }
    let pieces = (0..stride).filter_map(|phase| {
        // a * (stride * p' + phase) + b * (stride * k' + other) + offset is a multiple of the stride.
        let other = (-b * (a * phase + value.offset)).rem_euclid(stride);
        let mut iterators = nest.iterators.clone();
        let mut with: Vec<Affine> = (0..iterators.len()).map(|i| Affine::iterator(IterId(i))).collect();
        for (iterator, remainder) in [(p, phase), (k, other)] {
            let Iterator { low, high, .. } = &mut iterators[iterator.0];
            (*low, *high) = (-(remainder - *low).div_euclid(stride), -(remainder - *high).div_euclid(stride));
            with[iterator.0] = Affine { offset: remainder, terms: vec![(iterator, stride)] };
        }
        let piece = substituted(nest, &with, iterators);
        let value = substitute(value, &with);
        let value = Affine {
            offset: value.offset / stride,
            terms: value.terms.iter().map(|&(iterator, c)| (iterator, c / stride)).collect(),
        };
        let empty = piece.iterators.iter().any(|iterator| iterator.extent() == 0);
        let form = form_of(&value, target).expect("its coefficient was the stride");
        let order: Vec<IterId> = (0..nest.iterators.len()).map(IterId).filter(|&i| i != target).collect();
        (!empty).then(|| replaced(&piece, target, &form, &order))
    });
    Some(pieces.collect())
}
