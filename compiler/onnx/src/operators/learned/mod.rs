//! Models of `ai.onnx.ml`: linear ones, and what prepares their operands.

mod classes;
mod encoders;
mod ensemble;
mod forest;
mod support;
mod trees;

use crate::build::{Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, num};
use crate::graph::Lowering;
use classes::{Classes, results, transformed, two_columns};
use compiler::tensor::{Aggregate, Function};

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "Scaler" => {
            let x = c.input(0)?;
            let (offset, scale) = (row(l, c, "offset")?, row(l, c, "scale")?);
            let values: Vec<Val> = [x, offset, scale].to_vec();
            one(l.builder.zip(&values, Kind::FLOAT, |x| (x[0].clone() - x[1].clone()) * x[2].clone())?)
        }
        "Normalizer" => one(normalised(l, c)?),
        "LinearRegressor" => {
            let value = linear(l, c, c.int("targets", 1))?;
            one(transformed(l, c, &c.text("post_transform", "NONE"), value)?)
        }
        "LinearClassifier" => classified(l, c).map(Some),
        "LabelEncoder" => one(encoders::relabelled(l, c)?),
        "OneHotEncoder" => one(encoders::one_hot(l, c)?),
        "Imputer" => one(encoders::imputed(l, c)?),
        "SVMClassifier" => support::classified(l, c).map(Some),
        "SVMRegressor" => one(support::regressed(l, c)?),
        "FeatureVectorizer" => {
            let values = c.inputs()?;
            let axis = values.first().map_or(0, |&value| l.builder.rank(value).saturating_sub(1));
            one(l.builder.concat(&values, axis)?)
        }
        "TreeEnsembleClassifier" => ensemble::classified(l, c).map(Some),
        "TreeEnsembleRegressor" | "TreeEnsemble" => one(ensemble::regressed(l, c)?),
        "CDist" => one(distances(l, c)?),
        // A dictionary for each row, from classes to probabilities: here a tensor, in the order of the classes.
        "ZipMap" => one(c.input(0)?),
        _ => Ok(None),
    }
}

fn row(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str) -> Translated<Val> {
    let values = c.floats(name).unwrap_or_default();
    l.builder.constants(&[values.len() as i64], Kind::FLOAT, values)
}

/// Rows times coefficients, plus intercepts.
fn linear(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, results: i64) -> Translated<Val> {
    let mut x = c.input(0)?;
    let mut coefficients = c.floats("coefficients").unwrap_or_default();
    if l.builder.rank(x) == 1 {
        let own = l.builder.shape(x);
        x = l.builder.reshape(x, &[1, own[0]])?;
    }
    let [rows, features] = l.builder.shape(x)[..] else { return misfit("its operand is not a table") };
    if results < 1 || (coefficients.len() as i64) < results * features {
        return misfit(format!("{} coefficients for {features} features and {results} results", coefficients.len()));
    }
    coefficients.truncate((results * features) as usize);
    let weights = l.builder.constants(&[results, features], Kind::FLOAT, coefficients)?;
    let bias = c.floats("intercepts").filter(|values| values.len() as i64 == results);
    let bias = bias.map(|values| l.builder.constants(&[results], Kind::FLOAT, values)).transpose()?;
    let value = l.builder.reduce(&[rows, results], &[features], Kind::FLOAT, Aggregate::Add, |_, at, k| {
        Ex::Read(x.id, vec![at[0].clone(), k[0].clone()]) * Ex::Read(weights.id, vec![at[1].clone(), k[0].clone()])
    })?;
    match bias {
        Some(bias) => l.builder.zip(&[value, bias], Kind::FLOAT, |x| x[0].clone() + x[1].clone()),
        None => Ok(value),
    }
}

fn classified(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let classes = Classes::of(l, c);
    let features = l.builder.shape(c.input(0)?).last().copied().unwrap_or(1);
    // There may be more coefficients than are used: as many rows as intercepts.
    let rows = c.floats("coefficients").map_or(0, |values| values.len() as i64) / features.max(1);
    let own = c.floats("intercepts").map_or(rows, |values| rows.min(values.len() as i64));
    let mut scores = linear(l, c, own)?;
    let post = c.text("post_transform", "NONE");
    if own == 1 && classes.labels.len() == 2 {
        // One row of coefficients speaks for the second class. Only LOGISTIC and PROBIT are computed of it.
        if !matches!(post.as_str(), "LOGISTIC" | "PROBIT") {
            l.builder.store(scores);
            let label = classes.second(l, scores, |own| own.gt(0.0))?;
            return Ok(results(label, two_columns(l, scores, |own| [num(1.0) - own.clone(), own])?));
        }
        scores = two_columns(l, scores, |own| [-own.clone(), own])?;
    }
    let probabilities = transformed(l, c, &post, scores)?;
    let label = classes.best(l, scores)?;
    Ok(results(label, probabilities))
}

fn normalised(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let Some(axis) = l.builder.rank(x).checked_sub(1) else { return misfit("it works on tables") };
    let norm = c.text("norm", "MAX");
    let size = match norm.as_str() {
        "L1" => l.along_kept(x, &[axis], Aggregate::Add, |x| call(Function::Abs, x))?,
        "L2" => {
            let sum = l.along_kept(x, &[axis], Aggregate::Add, Ex::squared)?;
            l.builder.apply(sum, |x| call(Function::Sqrt, x))?
        }
        _ => l.along_kept(x, &[axis], Aggregate::Max, |x| x)?,
    };
    l.builder.zip(&[x, size], Kind::FLOAT, |x| x[0].clone() / (x[1].clone() + x[1].clone().equals(0.0)))
}

/// Distances between rows of two tables, `[rows][other rows]`, as nearest neighbours and Gaussian processes have them.
fn distances(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (a, b) = (c.input(0)?, c.input(1)?);
    let ([rows, width], [others, features]) = (&l.builder.shape(a)[..], &l.builder.shape(b)[..]) else {
        return misfit("its operands are not tables");
    };
    if width != features {
        return misfit(format!("its operands have {width} and {features} columns"));
    }
    let squares = l.builder.reduce(&[*rows, *others], &[*width], Kind::FLOAT, Aggregate::Add, |_, at, k| {
        let read = |table: Val, row: usize| Ex::Read(table.id, vec![at[row].clone(), k[0].clone()]);
        (read(a, 0) - read(b, 1)).squared()
    })?;
    match c.text("metric", "sqeuclidean").as_str() {
        "sqeuclidean" => Ok(squares),
        "euclidean" => l.builder.apply(squares, |x| call(Function::Sqrt, x)),
        _ => c.refuse("metric"),
    }
}
