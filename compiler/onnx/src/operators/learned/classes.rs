//! Labels and probabilities of classes, from their scores.

use crate::build::{Refusal, Translated, Val};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, fixed, num, select};
use crate::graph::Lowering;
use arch::Code;
use compiler::tensor::{Aggregate, Function};

/// The classes of a node.
pub(super) struct Classes {
    /// Their numbers, also of classes that are texts.
    pub(super) labels: Vec<i64>,
}

impl Classes {
    /// Those of `classlabels_ints`, `classlabels_int64s` or `classlabels_strings`.
    pub(super) fn of(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Classes {
        let numbers = c.ints("classlabels_ints").or_else(|| c.ints("classlabels_int64s")).unwrap_or_default();
        let texts = c.attribute("classlabels_strings").map(|attribute| attribute.texts.clone()).unwrap_or_default();
        if !numbers.is_empty() || texts.is_empty() {
            return Classes { labels: numbers };
        }
        Classes { labels: texts.iter().map(|text| l.number_of_text(text) as i64).collect() }
    }

    /// The same, where there has to be one at least.
    pub(super) fn named(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Classes> {
        let classes = Classes::of(l, c);
        if classes.labels.is_empty() {
            return Err(Refusal::new(Code::Data, "it has no classes").help("export the model again"));
        }
        Ok(classes)
    }

    /// The label of the class with the largest score, the first of equals; scores are `[rows][classes]`.
    pub(super) fn best(&self, l: &mut Lowering<'_, '_>, scores: Val) -> Translated<Val> {
        l.builder.store(scores);
        let shape = l.builder.shape(scores);
        let most = l.along(scores, &[1], Aggregate::Max, |x| x)?;
        let place = l.builder.reduce(&shape[..1], &[shape[1]], Kind::INT64, Aggregate::Min, |b, at, class| {
            let own = Ex::Read(scores.id, vec![at[0].clone(), class[0].clone()]);
            select(own.equals(b.read(most, at)), Ex::At(class[0].clone()), num(shape[1] as f64))
        })?;
        let labels = &self.labels;
        if (0..).zip(labels).all(|(n, &label)| n == label) {
            return Ok(place);
        }
        if labels.len() > 8 {
            let table = labels.iter().map(|&label| label as f64).collect();
            let table = l.builder.constants(&[labels.len() as i64], Kind::INT64, table)?;
            let last = (labels.len() - 1) as f64;
            return l.builder.apply(place, |x| Ex::Gather(table.id, vec![x.min(last)]));
        }
        l.builder.apply(place, |x| {
            let each = |(n, &label): (usize, &i64)| x.clone().equals(n as f64) * label as f64;
            labels.iter().enumerate().map(each).reduce(|a, b| a + b).unwrap_or(num(0.0))
        })
    }

    /// The second label where a condition on a column `[rows][1]` holds, else the first.
    pub(super) fn second(
        &self,
        l: &mut Lowering<'_, '_>,
        column: Val,
        condition: impl FnOnce(Ex) -> Ex,
    ) -> Translated<Val> {
        let rows = l.builder.shape(column)[0];
        let (first, second) = (self.labels[0] as f64, self.labels[1] as f64);
        l.builder.map(&[rows], Kind::INT64, |_, at| {
            let truth = condition(Ex::Read(column.id, vec![at[0].clone(), fixed(0)]));
            if (first, second) == (0.0, 1.0) {
                select(truth, num(1.0), num(0.0))
            } else {
                select(truth, num(second), num(first))
            }
        })
    }
}

/// A column `[rows][1]` as two.
pub(super) fn two_columns(l: &mut Lowering<'_, '_>, column: Val, both: impl FnOnce(Ex) -> [Ex; 2]) -> Translated<Val> {
    let rows = l.builder.shape(column)[0];
    l.builder.map(&[rows, 2], Kind::FLOAT, |_, at| {
        let [first, second] = both(Ex::Read(column.id, vec![at[0].clone(), fixed(0)]));
        select(Ex::At(at[1].clone()), second, first)
    })
}

/// What a node does to its scores, `[rows][classes]`, in the end.
///
/// # Errors
/// A setting that does not exist.
pub(super) fn transformed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str, value: Val) -> Translated<Val> {
    match name {
        "NONE" => Ok(value),
        "LOGISTIC" => l.builder.apply(value, |x| call(Function::Sigmoid, x)),
        "SOFTMAX" => l.softmax(value, 1, false),
        "SOFTMAX_ZERO" => {
            let most = l.along_kept(value, &[1], Aggregate::Max, |x| x)?;
            let powers = l.builder.zip(&[value, most], Kind::FLOAT, |x| {
                select(x[0].clone().equals(0.0), num(0.0), call(Function::Exp, x[0].clone() - x[1].clone()))
            })?;
            let total = l.along_kept(powers, &[1], Aggregate::Add, |x| x)?;
            l.builder.zip(&[powers, total], Kind::FLOAT, |x| x[0].clone() / x[1].clone())
        }
        "PROBIT" => l.builder.apply(value, probit),
        _ => c.refuse("post_transform"),
    }
}

/// The inverse of the normal distribution's function, by the approximation that onnxruntime has.
fn probit(x: Ex) -> Ex {
    let centred = x * 2.0 - 1.0;
    let log = call(Function::Log, num(1.0) - centred.clone().squared());
    let half = log.clone() * 0.5 + 2.0 / (std::f64::consts::PI * 0.147);
    let size = call(Function::Sqrt, call(Function::Sqrt, half.clone().squared() - log / 0.147) - half)
        * std::f64::consts::SQRT_2;
    select(centred.lt(0.0), -size.clone(), size)
}

/// The results of a classifier.
pub(super) fn results(label: Val, probabilities: Val) -> Vec<Slot> {
    vec![Slot::Tensor(label), Slot::Tensor(probabilities)]
}
