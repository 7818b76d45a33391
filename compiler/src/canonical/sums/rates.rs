//! Rates: constant factors of updates go to where they are cheapest.

use crate::canonical::expr::Expr;
use crate::canonical::expr::linear::{Term, is_power_of_two, term_expr, terms};
use crate::canonical::flow::{Flow, fresh_name};
use crate::tensor::{Affine, Aggregate, IterId, Nest, Program, Role, Start, Tensor};
use std::collections::BTreeSet;

/// Lanes among which the elements of weights are taken to be spread, where values of a sample are known everywhere.
const SPREAD: u64 = 16;

/// Apply the rate of a batch after the sum over its samples, where the weights are few enough.
///
///     w'[i] = w[i] + sum[b](-0.3 * (d[b] * x[b,i]))      =>      s[i] = sum[b](d[b] * x[b,i]);  w'[i] = w[i] - 0.3 * s[i]
pub fn rates_after_sums(program: &Program) -> Program {
    let mut result = program.clone();
    result.nests.clear();
    for nest in &program.nests {
        match rate_after_sum(&mut result, nest) {
            Some(nests) => result.nests.extend(nests),
            None => result.nests.push(nest.clone()),
        }
    }
    result
}

fn points(nest: &Nest, over: &BTreeSet<IterId>) -> u64 {
    over.iter().map(|i| nest.iterators[i.0].extent()).product()
}

fn rate_after_sum(program: &mut Program, nest: &Nest) -> Option<[Nest; 2]> {
    let Start::Element { tensor, index } = &nest.start else { return None };
    let [Term { coefficient, factors }]: [Term; 1] = terms(&Expr::from_body(&nest.body)).try_into().ok()?;
    let cheapest = factors.iter().map(|factor| points(nest, &factor.iterators())).min()?;
    let free: BTreeSet<IterId> = (0..nest.free).map(IterId).collect();
    let costs = !is_power_of_two(coefficient) && factors.len() > 1;
    if nest.aggregate != Aggregate::Add || !nest.guards.is_empty() || !costs {
        return None;
    }
    if points(nest, &free) > SPREAD * cheapest {
        return None;
    }
    let sum = crate::tensor::TensorId(program.tensors.len());
    let iterators = nest.iterators[..nest.free].to_vec();
    program.tensors.push(Tensor {
        name: fresh_name(program, &program.tensors[nest.out.0].name),
        shape: iterators.iter().map(|i| i.high as u32).collect(),
        role: Role::Temporary,
        element: program.tensors[nest.out.0].element,
        span: nest.origin.span(),
    });
    let own: Vec<Affine> = (0..nest.free).map(|i| Affine::iterator(IterId(i))).collect();
    let body = term_expr(&Term { coefficient: 1.0, factors }).to_body();
    let summed = Nest { out: sum, out_index: own.clone(), start: Start::Identity, body, ..nest.clone() };
    let step = Expr::mul(Expr::Constant(coefficient.abs()), Expr::Read(sum, own));
    let before = Expr::Read(*tensor, index.clone());
    let body = if coefficient < 0.0 { Expr::sub(before, step) } else { Expr::add(before, step) };
    let (aggregate, start, body) = (Aggregate::Assign, Start::Identity, body.to_body());
    Some([summed, Nest { iterators, aggregate, start, body, ..nest.clone() }])
}

/// Multiply a summand instead of the sum, where the summand has a factor with fewer elements than anything beside the sum.
///
///     s[q] = sum[r](v[r][q] * d[r])              r in 0..3, q in 0..100
///     w'[q][p] = w[q][p] - 0.3 * (s[q] * a[q] * x[p])
///     =>  s[q] = sum[r](0.3 * (v[r][q] * d[r]))
///         w'[q][p] = w[q][p] - s[q] * a[q] * x[p]
///
/// The sum is read nowhere else, and in one term only. Dead code has been removed.
pub fn rates_into_sums(program: &Program) -> Program {
    let mut result = program.clone();
    let flow = Flow::of(program);
    for number in (0..program.nests.len()).rev() {
        let nest = result.nests[number].clone();
        if !nest.guards.is_empty() || !matches!(nest.aggregate, Aggregate::Assign | Aggregate::Add) {
            continue;
        }
        let mut all = terms(&Expr::from_body(&nest.body));
        let mut changed = false;
        for term in &mut all {
            if let Some(sum) = cheaper_sum(&result, &flow, &nest, term) {
                let inner = &mut result.nests[sum];
                let [mut own]: [Term; 1] = terms(&Expr::from_body(&inner.body)).try_into().expect("just looked at");
                own.coefficient *= term.coefficient.abs();
                inner.body = term_expr(&own).to_body();
                term.coefficient = term.coefficient.signum();
                changed = true;
            }
        }
        if changed {
            let sum = all.iter().map(term_expr).reduce(Expr::add).expect("a term has changed");
            result.nests[number].body = sum.to_body();
        }
    }
    result
}

/// The nest of a factor of the term that is a sum in which the term's coefficient costs less.
fn cheaper_sum(program: &Program, flow: &Flow, nest: &Nest, term: &Term) -> Option<usize> {
    if is_power_of_two(term.coefficient) || term.factors.len() < 2 {
        return None;
    }
    let here = term.factors.iter().map(|factor| points(nest, &factor.iterators())).min()?;
    term.factors.iter().find_map(|factor| {
        let Expr::Read(tensor, _) = factor else { return None };
        let (&[writer], 1) = (flow.writers[tensor.0].as_slice(), flow.readers[tensor.0].len()) else { return None };
        let sum = &program.nests[writer];
        // Nodes of a body are shared: one read may be a factor of several terms.
        let uses = Expr::from_body(&nest.body).tensors().iter().filter(|&read| read == tensor).count();
        let private = uses == 1 && !flow.kept[tensor.0] && program.tensors[tensor.0].role == Role::Temporary;
        if !private || !sum.guards.is_empty() || sum.aggregate != Aggregate::Add || sum.start != Start::Identity {
            return None;
        }
        let [own]: [Term; 1] = terms(&Expr::from_body(&sum.body)).try_into().ok()?;
        let there = own.factors.iter().map(|factor| points(sum, &factor.iterators())).min()?;
        (own.factors.len() > 1 && there < here).then_some(writer)
    })
}
