//! LIBSVM text with comments, empty lines and spaces anywhere: whole, it is read as it is; damaged, it is read or refused, with a place in
//! the text.

use crate::damage::{Fate, arrive, finite, several};
use arbitrary::{Result, Unstructured};
use sim::data::file::{Reading, read as read_file};
use std::collections::BTreeMap;

struct Sample {
    label: f64,
    features: BTreeMap<u32, f64>,
}

/// A number, in one of the ways in which it can be written.
fn number(value: f64, u: &mut Unstructured) -> Result<String> {
    Ok(match u.int_in_range(0..=2)? {
        0 => format!("{value:?}"),
        1 => format!("{value:e}"),
        _ => format!("{value}"),
    })
}

fn try_read(u: &mut Unstructured) -> Result<()> {
    let (mut samples, mut text) = (Vec::new(), String::new());
    for _ in 0..u.int_in_range(1..=6)? {
        text += &several(u, 2, |u| Ok(*u.choose(&["\n", "  \r\n", "# 1 2:3\n", "\t# x\n"])?))?.concat();
        let label = finite(u)?;
        // The first sample has a feature: by that the format is recognised.
        let mut features: Vec<(u32, f64)> = several(u, 5, |u| Ok((u.int_in_range(0..=40)?, finite(u)?)))?;
        if samples.is_empty() && features.is_empty() {
            features.push((1, 0.5));
        }
        let mut known = BTreeMap::new();
        features.retain(|&(number, value)| known.insert(number, value).is_none());
        let known: BTreeMap<u32, f64> = features.iter().copied().collect();
        if label.is_sign_positive() && u.arbitrary()? {
            text += "+";
        }
        text += &number(label, u)?;
        for (feature, value) in features {
            text += *u.choose(&[" ", "  ", "\t"])?;
            text += &format!("{feature}:{}", number(value, u)?);
        }
        text += *u.choose(&["\n", "\r\n", " \n", " # 7:1\n"])?;
        samples.push(Sample { label, features: known });
    }
    let (fate, arrived) = arrive(text.as_bytes(), u)?;
    let table = match read_file(&arrived, &Reading::default()) {
        Ok(table) => table,
        Err((diagnostic, text)) => {
            assert!(fate != Fate::Whole, "{text:?}: {diagnostic:?}");
            let span = diagnostic.span.unwrap_or_default();
            assert!(span.start <= span.end && span.end <= text.len(), "a span outside the text: {diagnostic:?}");
            return Ok(());
        }
    };
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    if fate == Fate::Whole {
        assert_eq!(table.rows.len(), samples.len());
        let all = || samples.iter().flat_map(|sample| sample.features.keys().copied());
        let (least, most) = (all().min().unwrap_or(1).min(1), all().max().unwrap_or(0));
        let numbers = table.numbers(&(0..table.columns.len()).collect::<Vec<_>>()).unwrap();
        for (sample, row) in samples.iter().zip(numbers) {
            let features = (least..=most).map(|number| sample.features.get(&number).copied().unwrap_or(0.0));
            assert_eq!(row, features.chain([sample.label]).collect::<Vec<_>>(), "{text}");
        }
    }
    Ok(())
}

/// Nothing here may panic.
pub(crate) fn read(bytes: &[u8]) {
    let _ = try_read(&mut Unstructured::new(bytes));
}
