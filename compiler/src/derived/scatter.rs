//! Index maps turned round: a Nest reads `a[f(point)]`, the adjoint adds up at `f(point)`.
//!
//! ```text
//! reads   a[j, i]    over i, j                adds    a'[j, i] =  ...              one point for each element: no sum
//! reads   a[i]       over i, j                adds    a'[i]   += ...  over j       several points
//! reads   a[2*i + k] over i in 0..4, k in 0..2        a'[2*i + k] = ...            mixed radix: one point again
//! reads   a[i + k]   over i in 0..I, k in 0..K        z[v] = 0;  z[i + K-1] = out'[i]
//!         times w[k]                                  a'[p] += z[p - k + K-1] * w[k]  over k
//! ```
//!
//! In the last case, the windows of a convolution, points share elements. The iterator with most values (`i`, the pivot) gives way to the
//! element `p`; what depends on it goes into `z` first, which is 0 wherever `p - k` is not a value of `i`. So there are no conditions,
//! and the sum is a convolution again.

use super::builder::{Builder, mentions, substitute, substitute_form, substitute_index};
use super::gradients::new_tensor;
use super::versions::{element_wise, iterators as box_iterators};
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Guard, IterId, Iterator, Nest, Node, NodeId, Program, Start, Unary,
};
use arch::Span;
use std::collections::BTreeSet;

/// A summand of a gradient: `gradient[index] += body` for every point of a box.
#[derive(Debug, Clone)]
pub(super) struct Contribution {
    pub(super) iterators: Vec<Iterator>,
    pub(super) guards: Vec<Guard>,
    pub(super) index: Vec<Affine>,
    pub(super) body: Body,
    pub(super) span: Span,
}

/// Half-open range of each dimension.
pub(super) type Ranges = Vec<(i64, i64)>;

impl Contribution {
    /// Leave the points whose elements lie in a box, as far as single iterators decide it; false if none is left.
    pub(super) fn restrict(&mut self, ranges: &[(i64, i64)]) -> bool {
        restrict(&mut self.iterators, &self.index, ranges)
    }

    /// With the iterators of the index in front, in its order: their number, and the contribution.
    pub(super) fn ordered(&self) -> (usize, Contribution) {
        let mut order: Vec<usize> = Vec::new();
        for term in self.index.iter().flat_map(|form| &form.terms) {
            if !order.contains(&term.0.0) {
                order.push(term.0.0);
            }
        }
        let free = order.len();
        order.extend((0..self.iterators.len()).filter(|i| !order.contains(i)).collect::<Vec<_>>());
        let place = |old: usize| IterId(order.iter().position(|&o| o == old).expect("a permutation"));
        let with: Vec<Affine> = (0..order.len()).map(|old| Affine::iterator(place(old))).collect();
        let ordered = Contribution {
            iterators: order.iter().map(|&old| self.iterators[old].clone()).collect(),
            guards: self.guards.iter().map(|guard| substitute_guard(guard, &with)).collect(),
            index: substitute_index(&self.index, &with),
            body: substitute(&self.body, &with),
            span: self.span,
        };
        (free, ordered)
    }

    /// The box that is written, if every element of it is, at one point of the index's iterators each, under no condition.
    pub(super) fn exact_box(&self) -> Option<Ranges> {
        let mut seen = BTreeSet::new();
        let apart = self.index.iter().flat_map(|form| &form.terms).all(|term| seen.insert(term.0));
        let dense = self.index.iter().all(|form| is_dense(form, &self.iterators));
        (self.guards.is_empty() && apart && dense).then(|| {
            let range = |form: &Affine| form.range(&self.iterators);
            self.index.iter().map(range).map(|(low, high)| (low, high + 1)).collect()
        })
    }

    /// The same sum, so that each element belongs to one point of the index's iterators. May add Nests to the program.
    pub(super) fn untangled(mut self, program: &mut Program, name: &str) -> Contribution {
        let known = determined(&self.iterators, &self.index, BTreeSet::new());
        let tangled: Vec<usize> =
            (0..self.index.len()).filter(|&d| self.index[d].terms.iter().any(|t| !known.contains(&t.0))).collect();
        if tangled.is_empty() {
            return self;
        }
        if let Some(pivots) = self.pivots(&tangled, &known) {
            return self.through_padding(program, name, &pivots);
        }
        self.compare(&tangled);
        self
    }

    /// For each tangled dimension the iterator with most values that occurs in no other dimension.
    fn pivots(&self, tangled: &[usize], known: &BTreeSet<IterId>) -> Option<Vec<(usize, IterId)>> {
        let elsewhere = |d: usize, i: IterId| {
            self.index.iter().enumerate().any(|(other, form)| other != d && form.terms.iter().any(|t| t.0 == i))
        };
        tangled
            .iter()
            .map(|&d| {
                let candidates = self.index[d].terms.iter().map(|t| t.0);
                let pivot = candidates
                    .filter(|&i| !known.contains(&i) && !elsewhere(d, i))
                    .max_by_key(|i| (self.iterators[i.0].extent(), std::cmp::Reverse(i.0)))?;
                Some((d, pivot))
            })
            .collect()
    }

    /// Let an iterator of its own stand for each tangled dimension, under the condition that it is the element.
    fn compare(&mut self, tangled: &[usize]) {
        for &d in tangled {
            let (low, high) = self.index[d].range(&self.iterators);
            let element = Affine::iterator(IterId(self.iterators.len()));
            self.iterators.push(Iterator { name: format!("p{d}"), low, high: high + 1 });
            self.guards.push(Guard::Zero { value: self.index[d].plus(-1, &element) });
            self.index[d] = element;
        }
    }

    /// Let the pivots give way to the elements, as the head of this file draws it.
    fn through_padding(self, program: &mut Program, name: &str, pivots: &[(usize, IterId)]) -> Contribution {
        let pivot_of = |i: IterId| pivots.iter().find(|pivot| pivot.1 == i).map(|pivot| pivot.0);
        let moves = |used: &BTreeSet<IterId>| used.iter().any(|&i| pivot_of(i).is_some());
        let mut builder = Builder::new(self.body.clone());
        let (inside, outside): (Vec<NodeId>, Vec<NodeId>) =
            factors(&mut builder).into_iter().partition(|&factor| moves(&mentions(&builder.body, factor)));
        let (guards_inside, guards_outside): (Vec<Guard>, Vec<Guard>) =
            self.guards.iter().cloned().partition(|guard| moves(&guard_mentions(guard)));
        let mut used: BTreeSet<IterId> = pivots.iter().map(|pivot| pivot.1).collect();
        used.extend(inside.iter().flat_map(|&factor| mentions(&builder.body, factor)));
        used.extend(guards_inside.iter().flat_map(guard_mentions));
        let used: Vec<IterId> = used.into_iter().collect();

        // Dimensions of z: coefficient * pivot, shifted to start at 0, and the other iterators from their first values.
        let (mut shape, mut written, mut read) = (Vec::new(), Vec::new(), Vec::new());
        let mut iterators = self.iterators.clone();
        let mut index = self.index.clone();
        for &i in &used {
            let this = Affine::iterator(i);
            let Some(d) = pivot_of(i) else {
                let from_zero = this.plus(-1, &Affine::constant(self.iterators[i.0].low));
                shape.push(self.iterators[i.0].extent() as u32);
                written.push(from_zero.clone());
                read.push(from_zero);
                continue;
            };
            let form = &self.index[d];
            let coefficient = form.terms.iter().find(|t| t.0 == i).expect("the pivot occurs").1;
            let rest = form.plus(-coefficient, &this);
            let (element, others) = (form.range(&self.iterators), rest.range(&self.iterators));
            let first = element.0 - others.1;
            shape.push((element.1 - others.0 - first + 1) as u32);
            written.push(Affine::constant(-first).plus(coefficient, &this));
            read.push(this.plus(-1, &rest).plus(-1, &Affine::constant(first)));
            iterators[i.0] = Iterator { name: "p".into(), low: element.0, high: element.1 + 1 };
            index[d] = this;
        }
        let padded = new_tensor(program, &format!("{name}.padded"), shape.clone(), self.span);
        let whole: Ranges = shape.iter().map(|&extent| (0, i64::from(extent))).collect();
        let mut zero = Builder::default();
        zero.constant(0.0);
        let everywhere = (0..whole.len()).map(|d| Affine::iterator(IterId(d))).collect();
        program.nests.push(element_wise(padded, &whole, everywhere, zero, self.span));

        let with: Vec<Affine> = (0..self.iterators.len())
            .map(|i| used.iter().position(|u| u.0 == i).map_or(Affine::default(), |p| Affine::iterator(IterId(p))))
            .collect();
        let value = product(&mut builder, &inside);
        program.nests.push(Nest {
            iterators: used.iter().map(|i| self.iterators[i.0].clone()).collect(),
            free: used.len(),
            guards: guards_inside.iter().map(|guard| substitute_guard(guard, &with)).collect(),
            out: padded,
            out_index: substitute_index(&written, &with),
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body: substitute(&builder.rooted(value), &with),
            origin: self.span.into(),
        });
        let element = builder.read(padded, read);
        let factors: Vec<NodeId> = std::iter::once(element).chain(outside).collect();
        let value = product(&mut builder, &factors);
        Contribution { iterators, guards: guards_outside, index, body: builder.rooted(value), span: self.span }
    }
}

/// Leave the points of a box whose index lies in another, as far as single iterators decide it; false if none is left.
pub(super) fn restrict(iterators: &mut [Iterator], index: &[Affine], ranges: &[(i64, i64)]) -> bool {
    for (form, &(low, high)) in index.iter().zip(ranges) {
        let (iterator, first, end) = match *form.terms.as_slice() {
            [] if (low..high).contains(&form.offset) => continue,
            [] => return false,
            [(iterator, 1)] => (iterator, low - form.offset, high - form.offset),
            [(iterator, -1)] => (iterator, form.offset - high + 1, form.offset - low + 1),
            _ => continue,
        };
        let iterator = &mut iterators[iterator.0];
        (iterator.low, iterator.high) = (iterator.low.max(first), iterator.high.min(end));
        if iterator.low >= iterator.high {
            return false;
        }
    }
    true
}

/// Whether [`restrict`] is exact for an index.
pub(super) fn is_simple(index: &[Affine]) -> bool {
    index.iter().all(|form| matches!(form.terms.as_slice(), [] | [(_, 1 | -1)]))
}

/// The iterators whose values follow from the element, and those that are known anyway.
fn determined(iterators: &[Iterator], index: &[Affine], mut known: BTreeSet<IterId>) -> BTreeSet<IterId> {
    known.extend((0..iterators.len()).map(IterId).filter(|i| iterators[i.0].extent() <= 1));
    loop {
        let before = known.len();
        for form in index {
            let open: Vec<(IterId, i64)> = form.terms.iter().copied().filter(|t| !known.contains(&t.0)).collect();
            if is_mixed_radix(&open, iterators) {
                known.extend(open.iter().map(|t| t.0));
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// Whether a sum of these terms tells the value of each: every coefficient is larger than what the smaller ones reach.
fn is_mixed_radix(terms: &[(IterId, i64)], iterators: &[Iterator]) -> bool {
    let mut terms: Vec<(u64, u64)> =
        terms.iter().map(|&(i, c)| (c.unsigned_abs(), iterators[i.0].extent().saturating_sub(1))).collect();
    terms.sort_unstable();
    let mut reached = 0;
    terms.iter().all(|&(coefficient, last)| {
        let apart = coefficient > reached;
        reached += coefficient * last;
        apart
    })
}

/// Whether a form takes every value between its smallest and its largest, each once.
fn is_dense(form: &Affine, iterators: &[Iterator]) -> bool {
    let mut terms: Vec<(u64, u64)> = form
        .terms
        .iter()
        .map(|&(i, c)| (c.unsigned_abs(), iterators[i.0].extent()))
        .filter(|term| term.1 > 1)
        .collect();
    terms.sort_unstable();
    let mut next = 1;
    terms.iter().all(|&(coefficient, extent)| {
        let fits = coefficient == next;
        next *= extent;
        fits
    })
}

/// The factors of the value of a body; a sign is a factor of its own.
fn factors(builder: &mut Builder) -> Vec<NodeId> {
    let mut open = vec![builder.body.root()];
    let (mut found, mut negative) = (Vec::new(), false);
    while let Some(node) = open.pop() {
        match builder.body.nodes[node.0] {
            Node::Binary(Binary::Mul, a, b) => open.extend([b, a]),
            Node::Unary(Unary::Neg, a) => {
                negative = !negative;
                open.push(a);
            }
            _ => found.push(node),
        }
    }
    if negative {
        found.push(builder.constant(-1.0));
    }
    found
}

fn product(builder: &mut Builder, factors: &[NodeId]) -> NodeId {
    let one = builder.constant(1.0);
    factors.iter().fold(one, |product, &factor| builder.mul(product, factor))
}

fn guard_mentions(guard: &Guard) -> BTreeSet<IterId> {
    let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
    value.terms.iter().map(|t| t.0).collect()
}

/// A condition with an affine form in the place of each iterator.
pub(super) fn substitute_guard(guard: &Guard, with: &[Affine]) -> Guard {
    match guard {
        Guard::Within { value, bound } => Guard::Within { value: substitute_form(value, with), bound: *bound },
        Guard::Zero { value } => Guard::Zero { value: substitute_form(value, with) },
    }
}

/// A contribution to every element of a box: `body` sees the dimensions as iterators.
pub(super) fn over_box(ranges: &[(i64, i64)], body: Body, span: Span) -> Contribution {
    let index = (0..ranges.len()).map(|d| Affine::iterator(IterId(d))).collect();
    Contribution { iterators: box_iterators(ranges), guards: Vec::new(), index, body, span }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(terms: &[(usize, i64)]) -> Affine {
        Affine { offset: 0, terms: terms.iter().map(|&(i, c)| (IterId(i), c)).collect() }
    }

    fn extents(extents: &[i64]) -> Vec<Iterator> {
        extents.iter().map(|&high| Iterator { name: "i".into(), low: 0, high }).collect()
    }

    /// Every index map of two iterators and two dimensions with small coefficients, against counting.
    #[test]
    fn elements_that_tell_their_point_are_recognised() {
        let coefficients = [-2, -1, 0, 1, 3];
        let term = |i, c| if c == 0 { Vec::new() } else { vec![(i, c)] };
        for &a in &coefficients {
            for &b in &coefficients {
                for &c in &coefficients {
                    let iterators = extents(&[3, 2]);
                    let index = [form(&[term(0, a), term(1, b)].concat()), form(&term(1, c))];
                    let occurring: BTreeSet<IterId> = index.iter().flat_map(|f| f.terms.iter().map(|t| t.0)).collect();
                    let mut elements = BTreeSet::new();
                    let mut points = BTreeSet::new();
                    for i in 0..3 {
                        for j in 0..2 {
                            let at = [i, j];
                            elements.insert([index[0].at(&at), index[1].at(&at)]);
                            points.insert(occurring.iter().map(|i| at[i.0]).collect::<Vec<_>>());
                        }
                    }
                    let claimed = occurring.is_subset(&determined(&iterators, &index, BTreeSet::new()));
                    assert!(!claimed || elements.len() == points.len(), "{index:?}");
                    // Nothing that one dimension tells is missed.
                    assert!(claimed || elements.len() < points.len() || c == 0, "{index:?}");
                }
            }
        }
    }

    #[test]
    fn dense_forms_are_those_without_gaps() {
        assert!(is_dense(&form(&[(0, 4), (1, 1)]), &extents(&[3, 4])));
        assert!(is_dense(&form(&[(0, -1)]), &extents(&[3])));
        assert!(!is_dense(&form(&[(0, 2)]), &extents(&[3])));
        assert!(!is_dense(&form(&[(0, 1), (1, 1)]), &extents(&[3, 4])));
        assert!(!is_dense(&form(&[(0, 5), (1, 1)]), &extents(&[3, 4])));
    }
}
