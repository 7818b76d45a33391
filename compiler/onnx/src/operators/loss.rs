//! Losses that are part of a graph.

use crate::build::{Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::expression::{Ex, num, select};
use crate::graph::Lowering;
use compiler::tensor::Aggregate;

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    match c.node.operator {
        "NegativeLogLikelihoodLoss" => {
            let value = likelihood(l, c, c.input(0)?)?;
            Ok(Some(vec![Slot::Tensor(value)]))
        }
        "SoftmaxCrossEntropyLoss" => {
            let logarithms = l.softmax(c.input(0)?, 1, true)?;
            let value = likelihood(l, c, logarithms)?;
            Ok(Some(vec![Slot::Tensor(value), Slot::Tensor(logarithms)]))
        }
        _ => Ok(None),
    }
}

/// The negative value of each target's class, weighted.
fn likelihood(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, x: Val) -> Translated<Val> {
    let (target, weights) = (c.input(1)?, c.optional(2)?);
    let (shape, own) = (l.builder.shape(target), l.builder.shape(x));
    if own.len() < 2 || own.len() != shape.len() + 1 {
        return misfit(format!("{shape:?} are not the classes of {own:?}"));
    }
    let classes = own[1];
    let ignored = c.attribute("ignore_index").and_then(|a| a.integer);
    let mut of_class = |value: &dyn Fn(&crate::build::Builder, &[compiler::tensor::Affine]) -> Ex| {
        l.builder.reduce(&shape, &[classes], x.kind, Aggregate::Add, |b, at, class| {
            let mut index = at.to_vec();
            index.insert(1, class[0].clone());
            let own = b.read(target, at);
            let mut hit = own.clone().equals(Ex::At(class[0].clone()));
            if let Some(ignored) = ignored {
                hit = hit.and(own.differs(ignored as f64));
            }
            select(hit, value(b, &index), num(0.0))
        })
    };
    let weight = |b: &crate::build::Builder, index: &[compiler::tensor::Affine]| match weights {
        Some(weights) => b.read(weights, &index[1..2]),
        None => num(1.0),
    };
    let losses = of_class(&|b, index| -(b.read(x, index) * weight(b, index)))?;
    let reduction = c.text("reduction", "mean");
    if reduction == "none" {
        return Ok(losses);
    }
    let all: Vec<usize> = (0..shape.len()).collect();
    if reduction == "sum" || (weights.is_none() && ignored.is_none()) {
        let total = l.along(losses, &all, Aggregate::Add, |x| x)?;
        let part = if reduction == "sum" { 1.0 } else { 1.0 / shape.iter().product::<i64>() as f64 };
        return l.builder.apply(total, |x| x * part);
    }
    let counted = of_class(&|b, index| weight(b, index))?;
    let total = l.along(losses, &all, Aggregate::Add, |x| x)?;
    let count = l.along(counted, &all, Aggregate::Add, |x| x)?;
    l.builder.zip(&[total, count], x.kind, |x| x[0].clone() / x[1].clone())
}
