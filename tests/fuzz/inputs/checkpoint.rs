//! A checkpoint of any training: whole, it is read exactly if its sizes are those of the program and its numbers are numbers, and refused
//! otherwise; with a burst, its hash notices; damaged, it is read or refused.

use crate::damage::{Fate, arrive, finite, several};
use arbitrary::{Result, Unstructured};
use sim::train::Trained;
use sim::train::engine::{Comparison, NamedValues};
use sim::train::metrics::Metrics;
use std::collections::BTreeMap;
use workbench::checkpoint::{Best, Checkpoint, Reached};
use workbench::saturation::{Saturation, Unit};
use workbench::training::Point;

fn name(u: &mut Unstructured) -> Result<String> {
    let text: String = u.arbitrary()?;
    Ok(text.chars().take(12).collect())
}

/// Weights of the program; now and then of another one.
fn model(weights: &[(String, usize)], u: &mut Unstructured) -> Result<NamedValues> {
    let mut model = NamedValues::new();
    for (name, elements) in weights {
        let elements = if u.ratio(1, 16)? { u.int_in_range(0..=4)? } else { *elements };
        model.insert(name.clone(), (0..elements).map(|_| finite(u)).collect::<Result<_>>()?);
    }
    if u.ratio(1, 16)? {
        model.insert(name(u)?, vec![0.5]);
    }
    Ok(model)
}

fn metrics(u: &mut Unstructured) -> Result<Metrics> {
    let loss = finite(u)?;
    let mut score = || -> Result<Option<f64>> { if u.arbitrary()? { finite(u).map(Some) } else { Ok(None) } };
    Ok(Metrics { loss, accuracy: score()?, f1: score()?, auc: score()?, r2: score()?, mae: score()? })
}

fn reached(weights: &[(String, usize)], u: &mut Unstructured) -> Result<Reached> {
    let epochs = u.int_in_range(0..=5)?;
    let model_now = if epochs == 0 && u.arbitrary()? { NamedValues::new() } else { model(weights, u)? };
    let cycles = if u.arbitrary()? { Some(u.arbitrary()?) } else { None };
    let trained = Trained { model: model_now, cycles, samples: u.arbitrary()?, saturated: u.arbitrary()? };
    let ranges = several(u, 3, |u| Ok((name(u)?, (finite(u)?, finite(u)?))))?.into_iter().collect();
    let comparison = if u.arbitrary()? {
        let first = if u.arbitrary()? { Some(name(u)?) } else { None };
        let (words, differing, cycle_counts_differing) = u.arbitrary()?;
        Some(Comparison { with: name(u)?, words, differing, cycle_counts_differing, first })
    } else {
        None
    };
    let saturations = several(u, 2, |u| {
        let (results, steps) = u.arbitrary()?;
        let line = if u.arbitrary()? { Some(u.int_in_range(0..=99)?) } else { None };
        let unit = *u.choose(&[Unit::Update, Unit::Row, Unit::Record])?;
        let (tensor, low, high) = (name(u)?, finite(u)?, finite(u)?);
        Ok(Saturation { tensor, line, low, high, results, unit, steps, first_steps: u.arbitrary()? })
    })?;
    let curve = several(u, 3, |u| {
        let test = if u.arbitrary()? { Some(metrics(u)?) } else { None };
        Ok(Point { epoch: u.int_in_range(0..=9)?, train: metrics(u)?, test })
    })?;
    let best = if u.arbitrary()? {
        Some(Best { epoch: u.int_in_range(0..=9)?, loss: finite(u)?, model: model(weights, u)? })
    } else {
        None
    };
    Ok(Reached { epochs, trained, ranges, comparison, saturations, curve, best })
}

/// Whether a training of these weights can have come there.
fn possible(reached: &Reached, weights: &[(String, usize)]) -> bool {
    let sizes = |model: &NamedValues| {
        model.len() == weights.len()
            && weights.iter().all(|(name, size)| model.get(name).is_some_and(|values| values.len() == *size))
    };
    let begun = reached.epochs > 0 || !reached.trained.model.is_empty();
    (!begun || sizes(&reached.trained.model))
        && reached.best.as_ref().is_none_or(|best| sizes(&best.model))
        && reached.ranges.values().all(|(low, high)| low <= high)
}

fn try_read(u: &mut Unstructured) -> Result<()> {
    let weights: BTreeMap<String, usize> =
        several(u, 3, |u| Ok((name(u)?, u.int_in_range(0..=4)?)))?.into_iter().collect();
    let weights: Vec<(String, usize)> = weights.into_iter().collect();
    let training: BTreeMap<String, String> = several(u, 3, |u| Ok((name(u)?, name(u)?)))?.into_iter().collect();
    let lower = if u.arbitrary()? { Some(reached(&weights, u)?) } else { None };
    let built = Checkpoint { golden: reached(&weights, u)?, lower, ..Checkpoint::new(training.clone()) };
    let written = built.to_text();
    let (fate, arrived) = arrive(written.as_bytes(), u)?;
    let read = Checkpoint::from_text("c.json", &String::from_utf8_lossy(&arrived), &training, &weights);
    let sound =
        [Some(&built.golden), built.lower.as_ref()].into_iter().flatten().all(|reached| possible(reached, &weights));
    match (fate, read) {
        (Fate::Whole, read) => assert_eq!(
            read.is_ok(),
            sound,
            "{}: {written}",
            read.err().map_or(String::new(), |failure| failure.to_string())
        ),
        (Fate::Burst, Ok(read)) => assert_eq!(read, built),
        (Fate::Damaged, Ok(read)) => assert!(possible(&read.golden, &weights)),
        (_, Err(_)) => {}
    }
    if fate == Fate::Whole && sound {
        assert_eq!(Checkpoint::from_text("c.json", &written, &training, &weights).ok(), Some(built));
    }
    Ok(())
}

/// Nothing here may panic.
pub(crate) fn read(bytes: &[u8]) {
    let _ = try_read(&mut Unstructured::new(bytes));
}
