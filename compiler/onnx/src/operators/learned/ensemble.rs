//! Classifiers and regressors of trees.

use super::classes::{Classes, results, transformed, two_columns};
use super::forest::{Combined, values};
use super::trees::{self, Tree, numbers};
use crate::build::{Refusal, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, num};
use crate::graph::Lowering;
use arch::Code;
use std::collections::BTreeSet;

/// The operand as rows of features.
pub(super) fn table(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    match l.builder.shape(x)[..] {
        [_, _] => Ok(x),
        [features] => l.builder.reshape(x, &[1, features]),
        _ => misfit("its operand is not a table"),
    }
}

/// More would take gigabytes before anything is computed.
const MOST_TARGETS: usize = 1 << 16;

/// Which targets leaves speak for.
fn spoken(trees: &[Tree], targets: usize) -> Translated<BTreeSet<usize>> {
    let all = trees.iter().flat_map(Tree::leaves).flatten().map(|&(target, _)| target);
    let all: BTreeSet<usize> = all.collect();
    match all.last() {
        Some(&last) if last >= targets => misfit(format!("a leaf speaks for target {last} of {targets}")),
        _ => Ok(all),
    }
}

/// Trees that compare as their operand's type does.
fn compared(x: Val, mut trees: Vec<Tree>) -> Vec<Tree> {
    if x.kind == Kind::FLOAT {
        trees.iter_mut().for_each(Tree::in_single);
    }
    trees
}

/// Scores with the base values added, if there is one for each or one for all.
fn based(l: &mut Lowering<'_, '_>, scores: Val, base: Vec<f64>) -> Translated<Val> {
    if base.iter().all(|&value| value == 0.0) {
        return Ok(scores);
    }
    let base = l.builder.constants(&[base.len() as i64], Kind::FLOAT, base)?;
    l.builder.zip(&[scores, base], Kind::FLOAT, |x| x[0].clone() + x[1].clone())
}

/// Sums, means or extremes of trees.
pub(super) fn regressed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = table(l, c)?;
    let parts = c.node.operator == "TreeEnsemble";
    let (mut trees, aggregate, post) = if parts {
        let aggregates = ["AVERAGE", "SUM", "MIN", "MAX"];
        let posts = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"];
        let named = |names: &[&str], name: &str, default: i64| {
            usize::try_from(c.int(name, default)).ok().and_then(|n| names.get(n).map(|&name| name.to_owned()))
        };
        let aggregate = named(&aggregates, "aggregate_function", 1);
        (trees::of_parts(l, c)?, aggregate.unwrap_or_default(), named(&posts, "post_transform", 0).unwrap_or_default())
    } else {
        (trees::of_lists(l, c, "target")?, c.text("aggregate_function", "SUM"), c.text("post_transform", "NONE"))
    };
    let targets = usize::try_from(c.int("n_targets", 1)).unwrap_or(0);
    if targets > MOST_TARGETS {
        let message = format!("{targets} targets, {MOST_TARGETS} at most");
        return Err(Refusal::new(Code::Limit, message));
    }
    spoken(&trees, targets)?;
    trees = compared(x, trees);
    let combined = match aggregate.as_str() {
        "SUM" | "AVERAGE" => Combined::Sum,
        "MIN" => Combined::Min,
        "MAX" => Combined::Max,
        _ => return c.refuse("aggregate_function"),
    };
    if aggregate == "AVERAGE" {
        let part = 1.0 / trees.len() as f64;
        for tree in &mut trees {
            tree.scale(part);
        }
    }
    let base = numbers(l, c, "base_values")?;
    if base.len() > 1 && base.len() != targets {
        return misfit(format!("{} base values for {targets} targets", base.len()));
    }
    let scores = values(l, x, trees, targets, combined)?;
    let scores = based(l, scores, base)?;
    transformed(l, c, &post, scores)
}

/// Labels and probabilities.
pub(super) fn classified(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let x = table(l, c)?;
    let classes = Classes::named(l, c)?;
    let count = classes.labels.len();
    let trees = compared(x, trees::of_lists(l, c, "class")?);
    let base = numbers(l, c, "base_values")?;
    let post = c.text("post_transform", "NONE");
    let said = spoken(&trees, count)?;
    if count == 2 {
        return of_two(l, c, x, &classes, (trees, said, base));
    }
    let scores = values(l, x, trees, count, Combined::Sum)?;
    let scores = based(l, scores, base)?;
    if count == 1 {
        // As onnxruntime has it: 1 where the score is above 0, else 0, whatever the class is called; and the score as it is.
        l.builder.store(scores);
        let label = Classes { labels: vec![0, 1] }.second(l, scores, |x| x.gt(0.0))?;
        return Ok(results(label, if post == "PROBIT" { transformed(l, c, &post, scores)? } else { scores }));
    }
    let label = classes.best(l, scores)?;
    let probabilities = transformed(l, c, &post, scores)?;
    Ok(results(label, probabilities))
}

/// Two classes as onnxruntime has them. The label says whether the score of the second class, or the only one there is, is above 0, or above a half
/// if leaves speak for one class only and none is negative.
fn of_two(
    l: &mut Lowering<'_, '_>,
    c: &Call<'_, '_>,
    x: Val,
    classes: &Classes,
    (trees, said, base): (Vec<Tree>, BTreeSet<usize>, Vec<f64>),
) -> Translated<Vec<Slot>> {
    let positive = trees.iter().flat_map(Tree::leaves).flatten().all(|&(_, weight)| weight >= 0.0);
    let half = if said.len() == 1 && positive { 0.5 } else { 0.0 };
    let post = c.text("post_transform", "NONE");
    let targets = if said.contains(&1) { 2 } else { 1 };
    let scores = values(l, x, trees, targets, Combined::Sum)?;
    let column = |l: &mut Lowering<'_, '_>, n: i64, more: f64| -> Translated<Val> {
        let part = l.builder.part(scores, 1, n, 1, 1)?;
        if more == 0.0 { Ok(part) } else { l.builder.apply(part, |x| x + more) }
    };
    let (first, second) = (base.first().copied().unwrap_or(0.0), base.get(1).copied());
    let both = match (targets, second) {
        // The base of the second class and the score of the first one.
        (2, Some(second)) => {
            let sum = column(l, 0, second)?;
            let first = said.contains(&0);
            two_columns(l, sum, |x| [if first { -x.clone() } else { num(0.0) }, x])?
        }
        (2, None) => based(l, scores, if first == 0.0 { Vec::new() } else { vec![first, 0.0] })?,
        (_, Some(_)) => {
            let sum = column(l, 0, first)?;
            two_columns(l, sum, |x| [x, num(0.0)])?
        }
        _ => {
            let score = column(l, 0, first)?;
            l.builder.store(score);
            let label = classes.second(l, score, |x| x.gt(half))?;
            let other = |x: Ex| if positive && post != "LOGISTIC" { num(1.0) - x } else { -x };
            let both = two_columns(l, score, |x| [other(x.clone()), x])?;
            let probabilities = if post == "LOGISTIC" { transformed(l, c, &post, both)? } else { both };
            return Ok(results(label, probabilities));
        }
    };
    l.builder.store(both);
    let deciding = l.builder.part(both, 1, targets as i64 - 1, 1, 1)?;
    let label = classes.second(l, deciding, |x| x.gt(half))?;
    let probabilities = transformed(l, c, &post, both)?;
    Ok(results(label, probabilities))
}
