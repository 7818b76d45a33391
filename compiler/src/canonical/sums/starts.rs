//! Starts: what is kept and added to a sum, such as a bias, is where the sum starts.

use crate::canonical::expr::linear::{Term, is_power_of_two, term_expr, terms};
use crate::canonical::expr::{Expr, reads, substitute};
use crate::canonical::flow::Flow;
use crate::tensor::{Affine, Aggregate, Nest, Program, Role, Start, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Let a sum start with the weight or constant that is added to it, and to nothing else.
///
///     s[i] = sum[k](w[i][k] * x[k])
///     y[i] = b[i] + 0.5 * s[i]              =>       y[i] = b[i] + sum[k](0.5 * (w[i][k] * x[k]))
///
/// A start costs the sum nothing and saves its rounding. The bias would be an operation of its own, for which each result waits. Values of a
/// sample are not starts: a sum over PEs takes its start from one of them ([`crate::placed`]), where a copy of it is made first. A sum may be
/// computed in parts, such as the border of a convolution. Runs on primitive nests.
pub fn starts_into_sums(program: &Program) -> Program {
    let flow = Flow::of(program);
    let (mut merged, mut started) = (BTreeSet::new(), BTreeMap::new());
    for number in 0..program.nests.len() {
        if let Some(nests) = with_start(program, &flow, number) {
            merged.extend(nests.iter().map(|(sum, _)| *sum));
            started.insert(number, nests);
        }
    }
    let own = |(number, nest): (usize, &Nest)| match started.remove(&number) {
        Some(nests) => nests.into_iter().map(|(_, nest)| nest).collect(),
        None if merged.contains(&number) => Vec::new(),
        None => vec![nest.clone()],
    };
    let nests = program.nests.iter().enumerate().flat_map(own).collect();
    Program { nests, ..program.clone() }
}

/// What is added to a sum: the sum, where it is read, its factor, and the start.
type Added = (TensorId, Vec<Affine>, f64, (TensorId, Vec<Affine>));

/// Find a start in `start + factor * sum`.
fn added(program: &Program, flow: &Flow, nest: &Nest) -> Option<Added> {
    let [one, other]: [Term; 2] = terms(&Expr::from_body(&nest.body)).try_into().ok()?;
    let read = |term: &Term| match &term.factors[..] {
        [Expr::Read(tensor, index)] => Some((*tensor, index.clone(), term.coefficient)),
        _ => None,
    };
    let reads = [read(&one)?, read(&other)?];
    let is_kept = |tensor: TensorId| matches!(program.tensors[tensor.0].role, Role::State | Role::Parameter(_));
    let is_sum = |tensor: TensorId| {
        let private = !flow.kept[tensor.0] && program.tensors[tensor.0].role == Role::Temporary;
        private && flow.readers[tensor.0].len() == 1
    };
    let [one, other] = &reads;
    [(one, other), (other, one)].into_iter().find_map(|((start, at, factor), (sum, index, of_sum))| {
        let added = is_kept(*start) && *factor == 1.0 && is_sum(*sum);
        added.then(|| (*sum, index.clone(), *of_sum, (*start, at.clone())))
    })
}

/// The nests that compute the sum that `number` adds a start to, with their numbers, and with this start.
fn with_start(program: &Program, flow: &Flow, number: usize) -> Option<Vec<(usize, Nest)>> {
    let reader = &program.nests[number];
    // Next values of states are computed last, from sums that stay in their PEs.
    let is_update = program.updates.iter().any(|update| update.next == reader.out);
    if reader.aggregate != Aggregate::Assign || !reader.guards.is_empty() || is_update {
        return None;
    }
    let (sum, read_at, factor, (start, start_at)) = added(program, flow, reader)?;
    // The dimension of the sum that each iterator counts, all of it.
    let shape = &program.tensors[sum.0].shape;
    let mut counts = vec![None; reader.iterators.len()];
    for (dimension, (form, &extent)) in read_at.iter().zip(shape).enumerate() {
        match form.as_iterator() {
            Some(iterator) => {
                let range = &reader.iterators[iterator.0];
                let whole = (range.low, range.high) == (0, i64::from(extent));
                if !whole || counts[iterator.0].replace(dimension).is_some() {
                    return None;
                }
            }
            None if form.as_constant() == Some(0) && extent == 1 => {}
            None => return None,
        }
    }
    let counts: Vec<usize> = counts.into_iter().collect::<Option<_>>()?;
    let of_writer = |&writer: &usize| {
        let nest = &program.nests[writer];
        let changed = |source: &TensorId| flow.written_in(*source, writer + 1..number) || *source == reader.out;
        let plain = nest.aggregate == Aggregate::Add && nest.start == Start::Identity && nest.guards.is_empty();
        if !plain || writer > number || reads(nest).iter().any(changed) {
            return None;
        }
        let [mut product]: [Term; 1] = terms(&Expr::from_body(&nest.body)).try_into().ok()?;
        product.coefficient *= factor;
        // Another factor would be a second constant, or a third factor.
        if !is_power_of_two(product.coefficient) {
            return None;
        }
        let with: Vec<Affine> = counts.iter().map(|&dimension| nest.out_index[dimension].clone()).collect();
        let there = |index: &[Affine]| index.iter().map(|form| substitute(form, &with)).collect();
        let started = Nest {
            out: reader.out,
            out_index: there(&reader.out_index),
            start: Start::Element { tensor: start, index: there(&start_at) },
            body: term_expr(&product).to_body(),
            // Its cycles are those of the sum: people find them there.
            origin: nest.origin.with(&reader.origin),
            ..nest.clone()
        };
        Some((writer, started))
    };
    flow.writers[sum.0].iter().map(of_writer).collect()
}
