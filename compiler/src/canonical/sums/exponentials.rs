//! Sums of exponentials that neither overflow nor vanish.

use crate::canonical::draft::Draft;
use crate::canonical::expr::Expr;
use crate::canonical::flow::Flow;
use crate::tensor::{Affine, Aggregate, Binary, Function, IterId, Iterator, Nest, Program, Start, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Count exponents from the largest one, where a sum of exponentials is a divisor or has its logarithm taken.
///
///     e[i] = exp(z[i]);  s += e[i];  l = log(s);  p[i] = e[i] / s
///     =>  m max= z[i];  e'[i] = exp(z[i] - m);  s' += e'[i];  l = m + log(s');  p[i] = e'[i] / s'
///
/// The meaning is the same. In words it is not: `e` spans so many powers of two that small ones have no bits, and a sum of those is 0.
/// Now the largest is 1, and the sum is at least 1.
pub fn shift_exponentials(program: &Program) -> Program {
    let flow = Flow::of(program);
    let sums: BTreeMap<TensorId, Sum> = (0..program.nests.len())
        .filter_map(|number| Sum::of(program, &flow, number))
        .map(|sum| (sum.out, sum))
        .collect();
    let mut wanted: BTreeSet<TensorId> = BTreeSet::new();
    for nest in &program.nests {
        Expr::from_body(&nest.body).visit(&mut |e| wanted.extend(used(e).filter(|tensor| sums.contains_key(tensor))));
    }
    if wanted.is_empty() {
        return program.clone();
    }
    let mut draft = Draft::new(program);
    let mut shifted: BTreeMap<TensorId, Shifted> = BTreeMap::new();
    for nest in &program.nests {
        let body = Expr::from_body(&nest.body).map(&mut |e| rewrite(e, &sums, &shifted));
        draft.nests.push(Nest { body: body.to_body(), ..nest.clone() });
        if wanted.contains(&nest.out) {
            shifted.insert(nest.out, sums[&nest.out].shift(&mut draft, nest));
        }
    }
    draft.finish()
}

/// The tensor whose logarithm this is, or by which it divides.
fn used(e: &Expr) -> Option<TensorId> {
    let of = match e {
        Expr::Call(Function::Log, arguments) => &arguments[0],
        Expr::Binary(Binary::Div, _, divisor) => &**divisor,
        _ => return None,
    };
    match of {
        Expr::Read(tensor, _) => Some(*tensor),
        _ => None,
    }
}

/// A sum of exponentials, over all of them.
struct Sum {
    out: TensorId,
    /// For each free iterator the dimension of the sum.
    dimensions: Vec<usize>,
    iterators: Vec<Iterator>,
    free: usize,
    /// What the exponentials are of, over these iterators.
    exponent: Expr,
    /// The tensor of the exponentials, if they have one, and its dimension for each iterator.
    named: Option<(TensorId, Vec<usize>)>,
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
    (found.len() == index.len() && found.iter().enumerate().all(whole)).then_some(found)
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
        (whole && exponent.tensors().iter().all(constant)).then(|| Sum {
            out: nest.out,
            dimensions: of_sum,
            iterators: nest.iterators.clone(),
            free: nest.free,
            exponent,
            named,
        })
    }

    /// Put the three tensors behind the sum.
    fn shift(&self, draft: &mut Draft, sum: &Nest) -> Shifted {
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
        draft.nests.push(nest(largest, self.free, Aggregate::Max, &self.exponent));
        draft.nests.push(nest(exponentials, all, Aggregate::Assign, &Expr::Call(Function::Exp, vec![rest])));
        draft.nests.push(nest(total, self.free, Aggregate::Add, &Expr::Read(exponentials, index(all))));
        Shifted { largest, exponentials, sum: total }
    }
}

/// An index in the order of the iterators.
fn ordered(index: &[Affine], dimensions: &[usize]) -> Vec<Affine> {
    dimensions.iter().map(|&dimension| index[dimension].clone()).collect()
}

/// A logarithm of a sum, or a quotient of an exponential and the sum that it is part of, by the new tensors.
fn rewrite(e: Expr, sums: &BTreeMap<TensorId, Sum>, shifted: &BTreeMap<TensorId, Shifted>) -> Expr {
    let known = |e: &Expr| match e {
        Expr::Read(tensor, index) => {
            let (new, sum) = (*shifted.get(tensor)?, &sums[tensor]);
            Some((sum, new, ordered(index, &sum.dimensions)))
        }
        _ => None,
    };
    match &e {
        Expr::Call(Function::Log, arguments) => match known(&arguments[0]) {
            Some((_, new, group)) => {
                let logarithm = Expr::Call(Function::Log, vec![Expr::Read(new.sum, group.clone())]);
                Expr::add(Expr::Read(new.largest, group), logarithm)
            }
            None => e,
        },
        Expr::Binary(Binary::Div, top, divisor) => {
            let (Some((sum, new, group)), Expr::Read(tensor, index)) = (known(divisor), &**top) else { return e };
            let named = sum.named.as_ref().filter(|named| named.0 == *tensor);
            // The element has to be part of this sum.
            match named.map(|named| ordered(index, &named.1)).filter(|place| place[..sum.free] == group) {
                Some(place) => {
                    let top = Box::new(Expr::Read(new.exponentials, place));
                    Expr::Binary(Binary::Div, top, Box::new(Expr::Read(new.sum, group)))
                }
                None => e,
            }
        }
        _ => e,
    }
}
