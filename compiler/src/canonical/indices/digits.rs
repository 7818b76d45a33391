//! Iterators of which an index takes the quotient or the remainder.

use super::constants::affine;
use super::equations::substituted;
use super::gathers::form_expr;
use crate::canonical::expr::Expr;
use crate::tensor::{Affine, Binary, IterId, Iterator, Nest, Program, Start, Tensor};

/// An iterator that an index divides falls apart into quotient and remainder, and the index needs no division any more:
///
///     o[k] = a[k / 8][k % 8]   k in 0..64     =>     o[8*q + r] = a[q][r]     q in 0..8, r in 0..8
///     o[i] = a[i / 2]          i in 0..8      =>     o[2*q + r] = a[q]        q in 0..4, r in 0..2
///     o[i][j] = a[(16*i + j) / 8][j % 8]      =>     o[i][8*q + r] = a[2*i + q][r]
///
/// Done where all computed indices of a nest become affine by it, and the extents are multiples of what they are divided by; the others
/// are left to [`super::gathers`].
pub fn split_digits(program: &Program) -> Program {
    let mut result = program.clone();
    for nest in &mut result.nests {
        if nest.start == Start::Identity
            && let Some(split) = split(nest, &program.tensors)
        {
            *nest = split;
        }
    }
    result
}

/// The nest without computed indices.
fn split(nest: &Nest, tensors: &[Tensor]) -> Option<Nest> {
    let mut nest = nest.clone();
    let mut changed = false;
    loop {
        let mut wanted = None;
        let mut open = false;
        let body = Expr::from_body(&nest.body).map(&mut |e| match e {
            Expr::Gather(tensor, index) => {
                let divided: Vec<Expr> = index.into_iter().map(|e| divide(e, &nest.iterators, &mut wanted)).collect();
                let forms: Option<Vec<Affine>> = divided.iter().map(affine).collect();
                match forms {
                    Some(forms) if exists(&forms, &tensors[tensor.0].shape, &nest.iterators) => {
                        Expr::Read(tensor, forms)
                    }
                    _ => {
                        open = true;
                        Expr::Gather(tensor, divided)
                    }
                }
            }
            other => other,
        });
        if !open {
            nest.body = body.to_body();
            return changed.then_some(nest);
        }
        // Each round splits an iterator into shorter ones, so there is an end.
        let (iterator, divisor) = wanted?;
        nest = digits(&nest, iterator, divisor);
        changed = true;
    }
}

/// Whether the elements exist at all points of the box.
fn exists(forms: &[Affine], shape: &[u32], iterators: &[Iterator]) -> bool {
    let inside = |(form, &extent): (&Affine, &u32)| {
        let (low, high) = form.range(iterators);
        low >= 0 && high < i64::from(extent)
    };
    forms.iter().zip(shape).all(inside)
}

/// The index without the divisions that are none; of the first that is one, the iterator to be split, and by what.
fn divide(index: Expr, iterators: &[Iterator], wanted: &mut Option<(IterId, i64)>) -> Expr {
    index.map(&mut |e| {
        let Expr::Binary(operation @ (Binary::DivFloor | Binary::RemFloor), a, b) = &e else { return e };
        let (Some(form), Some(divisor)) = (affine(a), affine(b).and_then(|b| b.as_constant())) else { return e };
        if divisor < 1 {
            return e;
        }
        let (multiples, rest): (Vec<_>, Vec<_>) = form.terms.into_iter().partition(|term| term.1 % divisor == 0);
        let rest = Affine { offset: form.offset, terms: rest };
        let (low, high) = rest.range(iterators);
        let quotient = low.div_euclid(divisor);
        if quotient != high.div_euclid(divisor) {
            *wanted = wanted.or_else(|| splittable(&rest, divisor, iterators));
            return e;
        }
        form_expr(&match operation {
            Binary::DivFloor => {
                let terms = multiples.into_iter().map(|(iterator, factor)| (iterator, factor / divisor)).collect();
                Affine { offset: quotient, terms }
            }
            _ => rest.plus(-1, &Affine::constant(quotient * divisor)),
        })
    })
}

/// An iterator of the form whose quotient would make a multiple of the divisor.
fn splittable(form: &Affine, divisor: i64, iterators: &[Iterator]) -> Option<(IterId, i64)> {
    form.terms.iter().find_map(|&(iterator, factor)| {
        let by = divisor / gcd(factor.abs(), divisor);
        let extent = iterators[iterator.0].extent() as i64;
        (by > 1 && extent > by && extent % by == 0).then_some((iterator, by))
    })
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The nest with two iterators, `by * q + r`, in the place of one.
pub(super) fn digits(nest: &Nest, iterator: IterId, by: i64) -> Nest {
    let at = iterator.0;
    let low = nest.iterators[at].low;
    let mut iterators = nest.iterators.clone();
    let digit = |name: &str, extent| Iterator { name: name.to_owned(), low: 0, high: extent };
    let outer = nest.iterators[at].extent() as i64 / by;
    iterators.splice(at..=at, [digit("q", outer), digit("r", by)]);
    let with: Vec<Affine> = (0..nest.iterators.len())
        .map(|i| match i.cmp(&at) {
            std::cmp::Ordering::Less => Affine::iterator(IterId(i)),
            std::cmp::Ordering::Equal => Affine { offset: low, terms: vec![(IterId(at), by), (IterId(at + 1), 1)] },
            std::cmp::Ordering::Greater => Affine::iterator(IterId(i + 1)),
        })
        .collect();
    Nest { free: nest.free + usize::from(at < nest.free), ..substituted(nest, &with, iterators) }
}
