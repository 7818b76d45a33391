//! Quotients: many quotients by few divisors become a reciprocal of each divisor and products.
//!
//!     p[i][j] = e[i][j] / s[i]     =>     r[i] = 1 / s[i]
//!                                         n[i][j] = e[i][j] * r[i]                 near: r has been rounded
//!                                         d[i][j] = e[i][j] - n[i][j] * s[i]       what is missing, exact in the accumulator
//!                                         p[i][j] = n[i][j] + d[i][j] * r[i]
//!
//! Of constant divisors the reciprocals are constants, too, and products are enough: one more rounding, that of the constant, as where a number is
//! the divisor (`x / 3` is `0.333.. * x`).
//!
//! A divider works on one quotient at a time, for two cycles per bit; products are as many per cycle as there are PEs. One product is enough
//! where the reciprocal is so fine that its rounding does not show in the result. Either way a result is at most 9/16 of its last place
//! from the quotient, where a divider's is half of one: what is exact stays so. Divisors whose range reaches 0, or goes over so many
//! powers of two that this could not be kept, stay as they are.

use super::formats::best_fraction;
use super::numbers::Numbers;
use crate::canonical::expr::Expr;
use crate::canonical::primitive::{Atom, Primitive};
use crate::ranges::Ranges;
use crate::tensor::{
    Affine, Aggregate, Binary, Element, IterId, Iterator, Nest, Program, Role, Start, Tensor, TensorId,
};

/// What reciprocals of constants have behind the name of these.
pub(crate) const RECIPROCAL: &str = ".reciprocal";
/// Quotients for each divisor, at least.
const FOR_EACH: u64 = 4;
/// More quotients than divisors, at least: fewer are done while the products would wait for each other.
const MORE: u64 = 32;
/// Part of a result's last place by which it may be off beside its rounding.
const OFF: f64 = 1.0 / 16.0;

/// The program in which such quotients are products, and the ranges of its tensors; `None` if there are none.
pub(super) fn as_products(program: &Program, ranges: &Ranges, numbers: &Numbers) -> Option<(Program, Ranges)> {
    let mut made = Made { program: Program { nests: Vec::new(), ..program.clone() }, ranges: ranges.clone(), numbers };
    made.ranges.tensors.resize(program.tensors.len(), None);
    for nest in &program.nests {
        if made.products(nest).is_none() {
            made.program.nests.push(nest.clone());
        }
    }
    (made.program.tensors.len() > program.tensors.len()).then_some((made.program, made.ranges))
}

/// The iterators of an index, each once.
fn iterators_of(index: &[Affine]) -> Vec<IterId> {
    let mut own: Vec<IterId> = Vec::new();
    for &(iterator, _) in index.iter().flat_map(|form| &form.terms) {
        if !own.contains(&iterator) {
            own.push(iterator);
        }
    }
    own
}

/// The program while it is made.
struct Made<'a> {
    program: Program,
    ranges: Ranges,
    numbers: &'a Numbers,
}

impl Made<'_> {
    /// Compute the quotients of a nest by products; `None`, with nothing done, where they stay quotients.
    fn products(&mut self, nest: &Nest) -> Option<()> {
        let real = |tensor: TensorId| self.program.tensors[tensor.0].element == Element::Real;
        let quotient = Primitive::of(nest).filter(|_| nest.aggregate == Aggregate::Assign && nest.guards.is_empty());
        let Some(Primitive::Divide { dividend: Atom::Read(a, a_index), divisor: Atom::Read(b, b_index), down: false }) =
            quotient
        else {
            return None;
        };
        if ![a, b, nest.out].into_iter().all(real) {
            return None;
        }
        // The divisor's own iterators.
        let own = iterators_of(&b_index);
        let points = |iterators: &[Iterator]| iterators.iter().map(Iterator::extent).product::<u64>();
        let iterators: Vec<Iterator> = own.iter().map(|iterator| nest.iterators[iterator.0].clone()).collect();
        let (all, few) = (points(&nest.iterators), points(&iterators));
        let constants = self.reciprocals(b);
        if constants.is_none() && (all < FOR_EACH * few || all - few < MORE) {
            return None;
        }
        let (of_a, of_q) = (self.range(a)?, self.range(nest.out)?);
        if let Some(reciprocals) = constants {
            return self.constant_products(nest, (a, a_index), (b, b_index), reciprocals, (of_a, of_q));
        }
        let of_b = self.range(b)?;
        if of_b.0 <= 0.0 && of_b.1 >= 0.0 {
            return None;
        }
        // Where words are rounded to, as far as ranges say it: half of a last place.
        let half = |range| self.half(range);
        let of_r = (1.0 / of_b.1, 1.0 / of_b.0);
        let off = reach(self.widened(of_a)) * half(of_r);
        let near = (of_q.0 - off, of_q.1 + off);
        let missing = reach(self.widened(of_b)) * (off + half(near));
        let last_place = 2.0 * half(of_q);
        // The part of what is missing that the reciprocal's rounding takes with it, and its own rounding.
        let of_missing = missing * half(of_r) + half((-missing, missing)) * reach(of_r);
        let enough = off <= OFF * last_place;
        if !enough && of_missing > OFF * last_place {
            return None;
        }

        let new_index = |form: &Affine| {
            let place = |iterator: IterId| own.iter().position(|&own| own == iterator).map_or(iterator, IterId);
            Affine { offset: form.offset, terms: form.terms.iter().map(|&(i, c)| (place(i), c)).collect() }
        };
        let divisor = Expr::Read(b, b_index.iter().map(new_index).collect());
        let one = Expr::Binary(Binary::Div, Box::new(Expr::Constant(1.0)), Box::new(divisor));
        let r = self.step("reciprocal", nest, (&iterators, iterators.len()), &one, of_r);
        let r_index = own.iter().map(|&i| from_zero(i, &nest.iterators[i.0])).collect();
        let (r, a, b) = (Expr::Read(r, r_index), Expr::Read(a, a_index), Expr::Read(b, b_index));
        let product = Expr::mul(a.clone(), r.clone());
        let result = if enough {
            product
        } else {
            let whole = (nest.iterators.as_slice(), nest.free);
            let index: Vec<Affine> =
                nest.iterators.iter().enumerate().map(|(i, iterator)| from_zero(IterId(i), iterator)).collect();
            let near = Expr::Read(self.step("near", nest, whole, &product, near), index.clone());
            let rest = Expr::sub(a, Expr::mul(near.clone(), b));
            let rest = self.step("rest", nest, whole, &rest, (-missing, missing));
            Expr::add(near, Expr::mul(Expr::Read(rest, index), r))
        };
        self.program.nests.push(Nest { body: result.to_body(), ..nest.clone() });
        Some(())
    }

    /// The reciprocals of constants, if they have some that are numbers.
    fn reciprocals(&self, tensor: TensorId) -> Option<Vec<f64>> {
        let Role::Parameter(values) = &self.program.tensors[tensor.0].role else { return None };
        let reciprocals: Vec<f64> = values.iter().map(|value| 1.0 / value).collect();
        reciprocals.iter().all(|value| value.is_finite()).then_some(reciprocals)
    }

    /// Quotients by constants as products, unless the rounding of a small reciprocal beside a large one would show.
    fn constant_products(
        &mut self,
        nest: &Nest,
        (a, a_index): (TensorId, Vec<Affine>),
        (b, b_index): (TensorId, Vec<Affine>),
        reciprocals: Vec<f64>,
        (of_a, of_q): ((f64, f64), (f64, f64)),
    ) -> Option<()> {
        let ends =
            reciprocals.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &r| (low.min(r), high.max(r)));
        // Constants have no headroom.
        let half = libm::ldexp(0.5, -best_fraction(ends.0, ends.1, self.numbers.word));
        if reach(self.widened(of_a)) * half > 2.0 * self.half(of_q) {
            return None;
        }
        let Tensor { shape, span, name, .. } = self.program.tensors[b.0].clone();
        let role = Role::Parameter(reciprocals.into());
        let name = self.fresh(&format!("{name}{RECIPROCAL}"));
        self.program.tensors.push(Tensor { name, shape, role, element: Element::Real, span });
        self.ranges.tensors.push(Some(ends));
        let r = TensorId(self.program.tensors.len() - 1);
        let product = Expr::mul(Expr::Read(a, a_index), Expr::Read(r, b_index));
        self.program.nests.push(Nest { body: product.to_body(), ..nest.clone() });
        Some(())
    }

    /// A name that no tensor has.
    fn fresh(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.program.tensors.iter().any(|tensor| tensor.name == name) {
            name.push('+');
        }
        name
    }

    /// With headroom.
    fn widened(&self, range: (f64, f64)) -> (f64, f64) {
        let wide = libm::ldexp(1.0, self.numbers.headroom as i32);
        (range.0 * wide, range.1 * wide)
    }

    /// Half of the last place of words that hold a range with headroom.
    fn half(&self, range: (f64, f64)) -> f64 {
        let (low, high) = self.widened(range);
        libm::ldexp(0.5, -best_fraction(low, high, self.numbers.word))
    }

    fn range(&self, tensor: TensorId) -> Option<(f64, f64)> {
        self.ranges.tensors.get(tensor.0).copied().flatten()
    }

    /// A temporary with an element for each point of these iterators, so many of them free, which equals the expression.
    fn step(
        &mut self,
        name: &str,
        nest: &Nest,
        (iterators, free): (&[Iterator], usize),
        value: &Expr,
        range: (f64, f64),
    ) -> TensorId {
        let Tensor { name: own, span, .. } = &self.program.tensors[nest.out.0];
        let (name, span) = (self.fresh(&format!("{own}.{name}")), *span);
        let program = &mut self.program;
        let shape = iterators.iter().map(|iterator| iterator.extent() as u32).collect();
        let out_index = iterators.iter().enumerate().map(|(i, iterator)| from_zero(IterId(i), iterator)).collect();
        program.tensors.push(Tensor { name, shape, role: Role::Temporary, element: Element::Real, span });
        let out = TensorId(program.tensors.len() - 1);
        self.ranges.tensors.push(Some(range));
        program.nests.push(Nest {
            iterators: iterators.to_vec(),
            free,
            out,
            out_index,
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body: value.to_body(),
            ..nest.clone()
        });
        out
    }
}

/// The largest size of a value.
fn reach(range: (f64, f64)) -> f64 {
    range.0.abs().max(range.1.abs())
}

/// The index of an iterator's elements, counted from 0.
fn from_zero(id: IterId, iterator: &Iterator) -> Affine {
    Affine::iterator(id).plus(-1, &Affine::constant(iterator.low))
}
