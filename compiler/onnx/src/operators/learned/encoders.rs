//! Numbers in the place of numbers: encoders, and values for missing ones.

use super::ensemble::table;
use crate::build::{Translated, Val, misfit, unsupported};
use crate::call::Call;
use crate::elements::Kind;
use crate::expression::{Ex, call, num, select};
use crate::graph::Lowering;
use compiler::tensor::{Aggregate, Function};

/// A column for each category, 1 where the value is the category.
pub(super) fn one_hot(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let Some(categories) = c.ints("cats_int64s").filter(|list| !list.is_empty()) else {
        return unsupported(
            "its categories are texts",
            "encode texts as numbers on the host, and train the encoder with those",
        );
    };
    let shape = [l.builder.shape(x), vec![categories.len() as i64]].concat();
    let values = categories.iter().map(|&value| value as f64).collect();
    let known = l.builder.constants(&[categories.len() as i64], Kind::INT64, values)?;
    l.builder.map(&shape, Kind::FLOAT, |b, at| {
        let last = at.len() - 1;
        let value = Ex::Read(x.id, at[..last].to_vec());
        let whole = if matches!(x.kind, Kind::Real(_)) { call(Function::Trunc, value) } else { value };
        whole.equals(b.read(known, &at[last..]))
    })
}

/// Other values in the place of one value, or of missing ones.
pub(super) fn imputed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = table(l, c)?;
    let whole = c.ints("imputed_value_int64s").filter(|list| !list.is_empty());
    let replaced = match &whole {
        Some(_) => c.int("replaced_value_int64", 0) as f64,
        None => c.float("replaced_value_float", 0.0),
    };
    let values = match whole {
        Some(list) => list.into_iter().map(|value| value as f64).collect(),
        None => c.floats("imputed_value_floats").unwrap_or_default(),
    };
    let (count, columns) = (values.len() as i64, l.builder.shape(x)[1]);
    if count != 1 && count != columns {
        return misfit(format!("{count} values for {columns} columns"));
    }
    let values = l.builder.constants(&[count], x.kind, values)?;
    l.builder.zip(&[x, values], x.kind, |x| {
        let hit = if replaced.is_nan() {
            // A number is not below 0 or not above. Words are always numbers, so that nothing is missing in them.
            x[0].clone().le(0.0).or(x[0].clone().gt(0.0)).negated()
        } else {
            x[0].clone().equals(replaced)
        };
        select(hit, x[1].clone(), x[0].clone())
    })
}

/// Numbers in the place of numbers.
pub(super) fn relabelled(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
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
    let Some(keys) = list(l, "keys")? else {
        return unsupported(
            "its keys are texts",
            "encode texts as numbers on the host, and train the model with those",
        );
    };
    let texts = c.attribute("values_strings").map(|attribute| attribute.texts.clone());
    let values = match (list(l, "values")?, texts) {
        (Some(values), _) => values,
        (None, Some(texts)) => texts.iter().map(|text| l.number_of_text(text)).collect(),
        _ => return misfit("it has no values"),
    };
    if keys.len() != values.len() {
        return misfit(format!("{} keys for {} values", keys.len(), values.len()));
    }
    let whole = c.attribute("values_int64s").is_some() || c.attribute("values_strings").is_some();
    let none = if whole { c.int("default_int64", -1) as f64 } else { c.float("default_float", -0.0) };
    let default = match c.attribute("default_tensor") {
        Some(attribute) => {
            let constants = l.attribute_constants(attribute)?;
            l.builder.known(constants).and_then(|values| values.first().copied()).unwrap_or(none)
        }
        None => none,
    };
    let kind = if whole { Kind::INT64 } else { Kind::FLOAT };
    // Before version 4 no value that is missing is a key.
    let table: Vec<(f64, f64)> =
        keys.into_iter().zip(values).filter(|(key, _)| c.version >= 4 || !key.is_nan()).collect();
    mapped(l, x, &table, default, kind)
}

/// The value of the key that an element is, the first one of equal keys, or else the default.
fn mapped(l: &mut Lowering<'_, '_>, x: Val, all: &[(f64, f64)], default: f64, kind: Kind) -> Translated<Val> {
    let shape = l.builder.shape(x);
    let mut table: Vec<(f64, f64)> = Vec::new();
    let mut of_nan = None;
    for &(key, value) in all {
        if key.is_nan() {
            of_nan = of_nan.or(Some(value));
        } else {
            table.push((key, value));
        }
    }
    table.sort_by(|a, b| a.0.total_cmp(&b.0));
    table.dedup_by(|later, first| later.0 == first.0);
    let or_nan = |own: &Ex, value: Ex| match of_nan {
        Some(hit) => select(own.clone().differs(own.clone()), num(hit), value),
        None => value,
    };
    // A few are compared one by one; of more, all are compared in one statement.
    if table.len() <= 8 || table.iter().any(|(_, value)| !value.is_finite()) {
        return l.builder.map(&shape, kind, |b, at| {
            let own = b.read(x, at);
            let each = |other, &(key, value): &(f64, f64)| select(own.clone().equals(key), num(value), other);
            or_nan(&own, table.iter().rev().fold(num(default), each))
        });
    }
    let count = table.len() as i64;
    let (keys, values) = table.into_iter().unzip();
    let keys = l.builder.constants(&[count], x.kind, keys)?;
    let values = l.builder.constants(&[count], kind, values)?;
    let mut sum = |with_values: bool| {
        l.builder.reduce(&shape, &[count], kind, Aggregate::Add, |b, at, k| {
            let hit = b.read(x, at).equals(b.read(keys, k));
            if with_values { hit * b.read(values, k) } else { hit }
        })
    };
    let found = sum(true)?;
    let hits = if default == 0.0 { None } else { Some(sum(false)?) };
    l.builder.map(&shape, kind, |b, at| {
        let rest = hits.map(|hits| (num(1.0) - b.read(hits, at)) * default);
        let value = b.read(found, at);
        or_nan(&b.read(x, at), rest.map_or(value.clone(), |rest| value + rest))
    })
}
