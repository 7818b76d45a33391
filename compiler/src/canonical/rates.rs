//! Rates: constant factors go into sums, where they are cheaper.

use super::expr::Expr;
use super::flow::Flow;
use super::linear::{Term, is_power_of_two, term_expr, terms};
use crate::tensor::{Aggregate, IterId, Nest, Program, Role, Start};
use std::collections::BTreeSet;

/// Multiply a summand instead of the sum, where the summand has a factor with fewer elements than anything beside the sum.
///
///     s[q] = sum[r](v[r][q] * d[r])              r in 0..3, q in 0..100
///     w'[q][p] = w[q][p] - 0.3 * (s[q] * a[q] * x[p])
///     =>  s[q] = sum[r](0.3 * (v[r][q] * d[r]))
///         w'[q][p] = w[q][p] - s[q] * a[q] * x[p]
///
/// The sum is read nowhere else.
pub fn sink_rates(program: &Program) -> Program {
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
    let points = |nest: &Nest, over: &BTreeSet<IterId>| over.iter().map(|i| nest.iterators[i.0].extent()).product();
    let here: u64 = term.factors.iter().map(|factor| points(nest, &factor.iterators())).min()?;
    term.factors.iter().find_map(|factor| {
        let Expr::Read(tensor, _) = factor else { return None };
        let (&[writer], 1) = (flow.writers[tensor.0].as_slice(), flow.readers[tensor.0].len()) else { return None };
        let sum = &program.nests[writer];
        let private = !flow.kept[tensor.0] && matches!(program.tensors[tensor.0].role, Role::Temporary);
        if !private || !sum.guards.is_empty() || sum.aggregate != Aggregate::Add || sum.start != Start::Identity {
            return None;
        }
        let [own]: [Term; 1] = terms(&Expr::from_body(&sum.body)).try_into().ok()?;
        let there = own.factors.iter().map(|factor| points(sum, &factor.iterators())).min()?;
        (own.factors.len() > 1 && there < here).then_some(writer)
    })
}
