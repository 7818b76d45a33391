//! Models of `ai.onnx.ml`: linear ones, and what prepares their operands.

use crate::build::{Translated, Val, misfit, unsupported};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, fixed, num, select};
use crate::graph::Lowering;
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
            one(transformed(l, c, value)?)
        }
        "LinearClassifier" => classified(l, c).map(Some),
        "LabelEncoder" => one(relabelled(l, c)?),
        "FeatureVectorizer" => {
            let values = c.inputs()?;
            let axis = values.first().map_or(0, |&value| l.builder.rank(value).saturating_sub(1));
            one(l.builder.concat(&values, axis)?)
        }
        "ZipMap" => unsupported(
            "it makes dictionaries",
            "export with `options={\"zipmap\": False}`, so that the probabilities are a tensor",
        ),
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

fn transformed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, value: Val) -> Translated<Val> {
    match c.text("post_transform", "NONE").as_str() {
        "NONE" => Ok(value),
        "LOGISTIC" => l.builder.apply(value, |x| call(Function::Sigmoid, x)),
        "SOFTMAX" => l.softmax(value, 1, false),
        _ => c.refuse("post_transform"),
    }
}

fn classified(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let labels = c.ints("classlabels_ints").unwrap_or_default();
    let texts = c.attribute("classlabels_strings").map_or(0, |a| a.texts.len());
    let features = l.builder.shape(c.input(0)?).last().copied().unwrap_or(1);
    let classes = labels.len().max(texts) as i64;
    // There may be more coefficients than are used: as many rows as intercepts.
    let rows = c.floats("coefficients").map_or(0, |values| values.len() as i64) / features.max(1);
    let own = c.floats("intercepts").map_or(rows, |values| rows.min(values.len() as i64));
    let mut scores = linear(l, c, own)?;
    if own == 1 && classes == 2 {
        // One row of coefficients speaks for the second class.
        let rows = l.builder.shape(scores)[0];
        let logistic = c.text("post_transform", "NONE") == "LOGISTIC";
        let column = scores;
        scores = l.builder.map(&[rows, 2], Kind::FLOAT, |b, at| {
            let own = b.read(column, &[at[0].clone(), fixed(0)]);
            let second = Ex::At(at[1].clone());
            if logistic { (second * 2.0 - 1.0) * own } else { select(second, own.clone(), -own) }
        })?;
    }
    l.builder.store(scores);
    let most = l.along(scores, &[1], Aggregate::Max, |x| x)?;
    let shape = l.builder.shape(scores);
    let probabilities = transformed(l, c, scores)?;
    if labels.is_empty() {
        return Ok(vec![Slot::Nothing, Slot::Tensor(probabilities)]);
    }
    let place = l.builder.reduce(&shape[..1], &[shape[1]], Kind::INT64, Aggregate::Min, |b, at, class| {
        let own = Ex::Read(scores.id, vec![at[0].clone(), class[0].clone()]);
        select(own.equals(b.read(most, at)), Ex::At(class[0].clone()), num(shape[1] as f64))
    })?;
    let label = l.builder.apply(place, |x| {
        let plain = (0..).zip(&labels).all(|(n, &label)| n == label);
        let each = |(n, &label): (usize, &i64)| x.clone().equals(n as f64) * label as f64;
        if plain { x } else { labels.iter().enumerate().map(each).reduce(|a, b| a + b).unwrap_or(num(0.0)) }
    })?;
    Ok(vec![Slot::Tensor(label), Slot::Tensor(probabilities)])
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

/// Numbers in the place of numbers.
fn relabelled(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let list = |l: &mut Lowering<'_, '_>, name: &str| -> Translated<Option<Vec<f64>>> {
        if let Some(values) = c.ints(&format!("{name}_int64s")) {
            return Ok(Some(values.into_iter().map(|value| value as f64).collect()));
        }
        if let Some(values) = c.floats(&format!("{name}_floats")) {
            return Ok(Some(values));
        }
        let Some(attribute) = c.attribute(&format!("{name}_tensor")) else { return Ok(None) };
        let constants = l.attribute_constants(attribute)?;
        Ok(l.builder.known(constants).map(<[f64]>::to_vec))
    };
    let (Some(keys), Some(values)) = (list(l, "keys")?, list(l, "values")?) else {
        return unsupported("it has keys or values of text", "encode labels as numbers");
    };
    let whole = c.attribute("values_int64s").is_some();
    let none = if whole { c.int("default_int64", -1) as f64 } else { c.float("default_float", -0.0) };
    let default = match c.attribute("default_tensor") {
        Some(attribute) => {
            let constants = l.attribute_constants(attribute)?;
            l.builder.known(constants).and_then(|values| values.first().copied()).unwrap_or(none)
        }
        None => none,
    };
    let kind = if whole { Kind::INT64 } else { Kind::FLOAT };
    let shape = l.builder.shape(x);
    l.builder.map(&shape, kind, |b, at| {
        let own = b.read(x, at);
        keys.iter().zip(&values).rev().fold(num(default), |other, (&key, &value)| {
            let hit = if key.is_nan() { own.clone().differs(own.clone()) } else { own.clone().equals(key) };
            select(hit, num(value), other)
        })
    })
}
