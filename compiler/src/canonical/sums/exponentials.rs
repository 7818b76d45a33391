//! Sums of exponentials that neither overflow nor vanish.

use crate::canonical::draft::Draft;
use crate::canonical::expr::Expr;
use crate::canonical::flow::{Flow, Known};
use crate::tensor::{Affine, Aggregate, Binary, Function, IterId, Iterator, Nest, Program, Start, TensorId};
use std::collections::BTreeMap;

/// Count exponents from the largest one, where a sum of exponentials is a divisor or has its logarithm taken.
///
///     e[i] = exp(z[i]);  s += e[i];  l = log(s);  p[i] = e[i] / s;  q = log(2*s + c)
///     =>  m max= z[i];  e'[i] = exp(z[i] - m);  s' += e'[i];  l = m + log(s');  p[i] = e'[i] / s';  q = m + log(2*s' + exp(log(c) - m))
///
/// The meaning is the same. In words it is not: `e` spans so many powers of two that small ones have no bits, and a sum of those is 0.
/// Now the largest is 1, and the sum is at least 1. Where a constant `c` is added to a sum, `m` is at least its logarithm. Names are looked through.
pub fn shift_exponentials(program: &Program) -> Program {
    let flow = Flow::of(program);
    let sums: BTreeMap<TensorId, Sum> = (0..program.nests.len())
        .filter_map(|number| Sum::of(program, &flow, number))
        .map(|sum| (sum.out, sum))
        .collect();
    if sums.is_empty() {
        return program.clone();
    }
    // Of each sum that is used the largest constant beside it.
    let mut wanted: BTreeMap<TensorId, f64> = BTreeMap::new();
    for (reader, nest) in program.nests.iter().enumerate() {
        let uses = Uses { sums: &sums, known: Known { program, flow: &flow, reader } };
        Expr::from_body(&nest.body).visit(&mut |e| {
            if let Some(Used { of, .. }) = uses.used(e).filter(|used| !sums[&used.of.sum].is_from_largest) {
                let beside = wanted.entry(of.sum).or_insert(0.0);
                *beside = beside.max(of.beside);
            }
        });
    }
    let mut draft = Draft::new(program);
    let mut shifted: BTreeMap<TensorId, Shifted> = BTreeMap::new();
    for (reader, nest) in program.nests.iter().enumerate() {
        let uses = Uses { sums: &sums, known: Known { program, flow: &flow, reader } };
        let body = Expr::from_body(&nest.body).replace(&mut |e| {
            let used = uses.used(e)?;
            let of = used.of.sum;
            Some(used.shifted(program, &sums[&of], shifted.get(&of).copied()))
        });
        draft.nests.push(Nest { body: body.to_body(), ..nest.clone() });
        if let Some(&beside) = wanted.get(&nest.out) {
            shifted.insert(nest.out, sums[&nest.out].shift(&mut draft, nest, beside));
        }
    }
    draft.finish()
}

/// `scale * sum + beside`, or the larger of both; no constant is negative.
#[derive(Clone)]
struct OfSum {
    sum: TensorId,
    /// Its iterators there.
    group: Vec<Affine>,
    scale: f64,
    beside: f64,
    is_larger: bool,
}

/// A use of a sum.
struct Used {
    of: OfSum,
    what: Use,
}

enum Use {
    Logarithm,
    /// So many times an element of the sum, at these iterators, over it; or the logarithm of that.
    Share {
        times: f64,
        place: Vec<Affine>,
        logarithm: bool,
    },
}

/// Finds uses of sums in a nest.
struct Uses<'a> {
    sums: &'a BTreeMap<TensorId, Sum>,
    known: Known<'a>,
}

/// Definitions that are followed, one after the other.
const DEPTH: u32 = 6;

impl Uses<'_> {
    /// A logarithm of a sum, or a quotient of an exponential and the sum that it is part of, or the logarithm of that.
    fn used(&self, e: &Expr) -> Option<Used> {
        let found = match e {
            Expr::Call(Function::Log, arguments) => match self.of_sum(&arguments[0], DEPTH) {
                Some(of) => Some(Used { of, what: Use::Logarithm }),
                None => self.share(&arguments[0], true, DEPTH),
            },
            Expr::Binary(Binary::Div | Binary::Mul, ..) => self.share(e, false, DEPTH),
            _ => None,
        };
        found.filter(|used| !self.sums[&used.of.sum].is_from_largest || used.is_logarithm_of_share())
    }

    fn share(&self, e: &Expr, logarithm: bool, depth: u32) -> Option<Used> {
        let made = |top: &Expr, of: OfSum| {
            let (times, place) = self.element(top, &of, DEPTH)?;
            Some(Used { of, what: Use::Share { times, place, logarithm } })
        };
        match e {
            Expr::Binary(Binary::Div, top, divisor) => made(top, self.of_sum(divisor, DEPTH)?),
            Expr::Binary(Binary::Mul, a, b) => [(a, b), (b, a)].into_iter().find_map(|(top, other)| {
                let (times, of) = self.reciprocal(other, DEPTH)?;
                let mut used = made(top, of)?;
                if let Use::Share { times: of_top, .. } = &mut used.what {
                    *of_top *= times;
                }
                Some(used)
            }),
            Expr::Read(tensor, index) if logarithm && depth > 0 => {
                self.share(&self.known.definition(*tensor, index)?, logarithm, depth - 1)
            }
            _ => None,
        }
    }

    /// A constant over a sum.
    fn reciprocal(&self, e: &Expr, depth: u32) -> Option<(f64, OfSum)> {
        match e {
            Expr::Binary(Binary::Div, top, divisor) => Some((self.known.constant(top)?, self.of_sum(divisor, DEPTH)?)),
            Expr::Call(Function::Pow, arguments) if self.known.constant(&arguments[1]) == Some(-1.0) => {
                Some((1.0, self.of_sum(&arguments[0], DEPTH)?))
            }
            Expr::Read(tensor, index) if depth > 0 => {
                self.reciprocal(&self.known.definition(*tensor, index)?, depth - 1)
            }
            _ => None,
        }
    }

    fn of_sum(&self, e: &Expr, depth: u32) -> Option<OfSum> {
        let constant = |e: &Expr| self.known.constant(e).filter(|value| (0.0..1e30).contains(value));
        let with = |a: &Expr, b: &Expr| match (constant(a), constant(b)) {
            (Some(value), None) => Some((value, self.of_sum(b, depth)?)),
            (None, Some(value)) => Some((value, self.of_sum(a, depth)?)),
            _ => None,
        };
        let scaled = |factor: f64, of: OfSum| {
            (factor > 0.0).then_some(OfSum { scale: of.scale * factor, beside: of.beside * factor, ..of })
        };
        match e {
            Expr::Read(tensor, index) => match self.sums.get(tensor).filter(|sum| sum.number < self.known.reader) {
                Some(sum) => Some(OfSum {
                    sum: *tensor,
                    group: ordered(index, &sum.dimensions),
                    scale: 1.0,
                    beside: 0.0,
                    is_larger: false,
                }),
                None if depth > 0 => self.of_sum(&self.known.definition(*tensor, index)?, depth - 1),
                None => None,
            },
            Expr::Binary(Binary::Mul, a, b) => with(a, b).and_then(|(factor, of)| scaled(factor, of)),
            Expr::Binary(Binary::Div, a, b) => scaled(1.0 / constant(b)?, self.of_sum(a, depth)?),
            Expr::Binary(operation @ (Binary::Add | Binary::Max), a, b) => {
                let (beside, of) = with(a, b).filter(|(_, of)| of.beside == 0.0)?;
                Some(OfSum { beside, is_larger: *operation == Binary::Max, ..of })
            }
            _ => None,
        }
    }

    /// The iterators at which an expression is an element of the sum, and how many times that.
    fn element(&self, e: &Expr, of: &OfSum, depth: u32) -> Option<(f64, Vec<Affine>)> {
        let sum = &self.sums[&of.sum];
        match e {
            Expr::Read(tensor, index) => match sum.named.as_ref().filter(|named| named.0 == *tensor) {
                // The element has to be part of this sum.
                Some(named) => Some((1.0, ordered(index, &named.1))).filter(|(_, place)| place[..sum.free] == of.group),
                None if depth > 0 => self.element(&self.known.definition(*tensor, index)?, of, depth - 1),
                None => None,
            },
            Expr::Call(Function::Exp, arguments) => {
                let place = place(&sum.exponent, sum.iterators.len(), &of.group, &arguments[0])?;
                Some((1.0, place))
            }
            Expr::Binary(Binary::Mul, a, b) => {
                let (value, other) = match (self.known.constant(a), self.known.constant(b)) {
                    (Some(value), None) => (value, b),
                    (None, Some(value)) => (value, a),
                    _ => return None,
                };
                self.element(other, of, depth).map(|(times, place)| (times * value, place))
            }
            _ => None,
        }
    }
}

impl Used {
    fn is_logarithm_of_share(&self) -> bool {
        matches!(self.what, Use::Share { logarithm: true, .. })
    }

    /// The same of the new tensors; of those that there are, if exponents count from the largest one already.
    fn shifted(self, program: &Program, sum: &Sum, new: Option<Shifted>) -> Expr {
        let Used { of: OfSum { group, scale, beside, is_larger, .. }, what } = self;
        let (largest, total) = match new {
            Some(new) => (Expr::Read(new.largest, group.clone()), Expr::Read(new.sum, group)),
            None => (Expr::Constant(0.0), sum.read(program, &group)),
        };
        let times = |factor: f64, e: Expr| if factor == 1.0 { e } else { Expr::mul(Expr::Constant(factor), e) };
        let total = times(scale, total);
        let total = if beside > 0.0 {
            let exponent = Expr::sub(Expr::Constant(libm::log(beside)), largest.clone());
            let other = Expr::Call(Function::Exp, vec![exponent]);
            Expr::Binary(if is_larger { Binary::Max } else { Binary::Add }, Box::new(total), Box::new(other))
        } else {
            total
        };
        let logarithm = |e: Expr| Expr::Call(Function::Log, vec![e]);
        match what {
            Use::Logarithm => Expr::add(largest, logarithm(total)),
            Use::Share { times: factor, place, logarithm: false } => {
                let exponentials = new.expect("a plain share is of a sum that is shifted").exponentials;
                let top = times(factor, Expr::Read(exponentials, place));
                Expr::Binary(Binary::Div, Box::new(top), Box::new(total))
            }
            Use::Share { times: factor, place, logarithm: true } => {
                let exponent = sum.exponent.clone().substitute(&place);
                let exponent = if new.is_some() { Expr::sub(exponent, largest) } else { exponent };
                let share = Expr::sub(exponent, logarithm(total));
                if factor == 1.0 { share } else { Expr::add(share, Expr::Constant(libm::log(factor))) }
            }
        }
    }
}

/// A sum of exponentials, over all of them.
struct Sum {
    out: TensorId,
    /// Its nest.
    number: usize,
    /// For each free iterator the dimension of the sum.
    dimensions: Vec<usize>,
    iterators: Vec<Iterator>,
    free: usize,
    /// What the exponentials are of, over these iterators.
    exponent: Expr,
    /// The tensor of the exponentials, if they have one, and its dimension for each iterator.
    named: Option<(TensorId, Vec<usize>)>,
    /// Whether exponents count from the largest one already, in a sum that keeps its dimensions: only logarithms of shares gain.
    is_from_largest: bool,
}

/// The tensors that take its place.
#[derive(Clone, Copy)]
struct Shifted {
    largest: TensorId,
    exponentials: TensorId,
    sum: TensorId,
}

/// The dimension for each of the first iterators, if an index is these, in any order, and they run over the whole tensor.
fn dimensions(program: &Program, tensor: TensorId, index: &[Affine], iterators: &[Iterator]) -> Option<Vec<usize>> {
    let of = |i: usize| index.iter().position(|form| form.as_iterator() == Some(IterId(i)));
    let found: Vec<usize> = (0..iterators.len()).map(of).collect::<Option<_>>()?;
    let shape = &program.tensors[tensor.0].shape;
    let whole =
        |(i, &dimension): (usize, &usize)| iterators[i].low == 0 && iterators[i].high == i64::from(shape[dimension]);
    let others = (0..index.len()).filter(|dimension| !found.contains(dimension)).all(|dimension| shape[dimension] == 1);
    (others && found.iter().enumerate().all(whole)).then_some(found)
}

/// The only nest that writes a tensor, if it comes before another.
fn definition<'a>(program: &'a Program, flow: &Flow, tensor: TensorId, before: usize) -> Option<&'a Nest> {
    let [number] = flow.writers[tensor.0][..] else { return None };
    let nest = &program.nests[number];
    (number < before && nest.guards.is_empty()).then_some(nest)
}

impl Sum {
    /// The sum that a nest is.
    fn of(program: &Program, flow: &Flow, number: usize) -> Option<Sum> {
        let nest = definition(program, flow, program.nests[number].out, number + 1)?;
        if nest.aggregate != Aggregate::Add || nest.start != Start::Identity || nest.free == nest.iterators.len() {
            return None;
        }
        let of_sum = dimensions(program, nest.out, &nest.out_index, &nest.iterators[..nest.free])?;
        let (exponent, named) = match Expr::from_body(&nest.body) {
            Expr::Call(Function::Exp, mut arguments) => (arguments.pop()?, None),
            Expr::Read(tensor, index) => {
                let made =
                    definition(program, flow, tensor, number).filter(|made| made.aggregate == Aggregate::Assign)?;
                let Expr::Call(Function::Exp, mut arguments) = Expr::from_body(&made.body) else { return None };
                let of_made = dimensions(program, tensor, &made.out_index, &made.iterators)?;
                let with: Vec<Affine> = of_made.iter().map(|&dimension| index[dimension].clone()).collect();
                let summed = dimensions(program, tensor, &index, &nest.iterators)?;
                (arguments.pop()?.substitute(&with), Some((tensor, summed)))
            }
            _ => return None,
        };
        // The exponents are computed once more behind the sum: what they are made of must not have changed.
        let constant = |tensor: &TensorId| flow.writers[tensor.0].len() <= 1;
        let whole = exponent.iterators().len() == nest.iterators.len();
        let is_from_largest = of_sum.len() < nest.out_index.len()
            && is_from_largest(&Known { program, flow, reader: number }, &exponent, &nest.iterators);
        (whole && exponent.tensors().iter().all(constant)).then(|| Sum {
            is_from_largest,
            out: nest.out,
            number,
            dimensions: of_sum,
            iterators: nest.iterators.clone(),
            free: nest.free,
            exponent,
            named,
        })
    }

    /// The sum itself, as it is written, in a group.
    fn read(&self, program: &Program, group: &[Affine]) -> Expr {
        let of = |dimension| match self.dimensions.iter().position(|&known| known == dimension) {
            Some(iterator) => group[iterator].clone(),
            None => Affine::constant(0),
        };
        Expr::Read(self.out, (0..program.tensors[self.out.0].shape.len()).map(of).collect())
    }

    /// Put the three tensors behind the sum.
    fn shift(&self, draft: &mut Draft, sum: &Nest, beside: f64) -> Shifted {
        let shape = |count: usize| self.iterators[..count].iter().map(|iterator| iterator.extent() as u32).collect();
        let all = self.iterators.len();
        let largest = draft.like(self.out, shape(self.free));
        let exponentials = draft.like(self.named.as_ref().map_or(self.out, |named| named.0), shape(all));
        let total = draft.like(self.out, shape(self.free));
        let index = |count: usize| (0..count).map(|i| Affine::iterator(IterId(i))).collect::<Vec<Affine>>();
        let nest = |out: TensorId, free: usize, aggregate: Aggregate, body: &Expr| Nest {
            out,
            free,
            out_index: index(free),
            aggregate,
            start: Start::Identity,
            body: body.to_body(),
            ..sum.clone()
        };
        let rest = Expr::sub(self.exponent.clone(), Expr::Read(largest, index(self.free)));
        let mut found = nest(largest, self.free, Aggregate::Max, &self.exponent);
        if beside > 0.0 {
            found.start = Start::Fill(libm::log(beside));
        }
        draft.nests.push(found);
        draft.nests.push(nest(exponentials, all, Aggregate::Assign, &Expr::Call(Function::Exp, vec![rest])));
        draft.nests.push(nest(total, self.free, Aggregate::Add, &Expr::Read(exponentials, index(all))));
        Shifted { largest, exponentials, sum: total }
    }
}

/// The iterators at which one expression is another: those of a group, and further ones.
fn place(e: &Expr, iterators: usize, group: &[Affine], other: &Expr) -> Option<Vec<Affine>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    e.visit(&mut |e| ours.extend(index_of(e)));
    other.visit(&mut |e| theirs.extend(index_of(e)));
    let of = |iterator: usize| match group.get(iterator) {
        Some(form) => Some(form.clone()),
        None => theirs.get(ours.iter().position(|form| form.as_iterator() == Some(IterId(iterator)))?).cloned(),
    };
    let place: Vec<Affine> = (0..iterators).map(of).collect::<Option<_>>()?;
    (e.clone().substitute(&place) == *other).then_some(place)
}

/// Whether an exponent is one less the largest of these, over all iterators behind those of the largest.
fn is_from_largest(known: &Known, exponent: &Expr, iterators: &[Iterator]) -> bool {
    let found = match exponent {
        Expr::Read(tensor, index) => known.definition(*tensor, index),
        e => Some(e.clone()),
    };
    let Some(Expr::Binary(Binary::Sub, e, largest)) = found else { return false };
    let Expr::Read(tensor, index) = *largest else { return false };
    let Some(made) = definition(known.program, known.flow, tensor, known.reader) else { return false };
    if made.aggregate != Aggregate::Max || made.start != Start::Identity {
        return false;
    }
    let Some(of) = dimensions(known.program, tensor, &made.out_index, &made.iterators[..made.free]) else {
        return false;
    };
    let place = place(&Expr::from_body(&made.body), made.iterators.len(), &ordered(&index, &of), &e);
    place.is_some_and(|place| {
        let reduced = place[made.free..].iter().zip(&made.iterators[made.free..]);
        reduced.into_iter().all(|(form, own)| {
            form.as_iterator().is_some_and(|IterId(i)| iterators[i].low == own.low && iterators[i].high == own.high)
        })
    })
}

/// The forms of what is read.
fn index_of(e: &Expr) -> Vec<Affine> {
    match e {
        Expr::Read(_, index) => index.clone(),
        _ => Vec::new(),
    }
}

/// An index in the order of the iterators.
fn ordered(index: &[Affine], dimensions: &[usize]) -> Vec<Affine> {
    dimensions.iter().map(|&dimension| index[dimension].clone()).collect()
}
