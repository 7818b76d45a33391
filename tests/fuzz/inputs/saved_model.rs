//! A saved model of any names, scales and weights: whole, it is read as it is; with a burst, its hash notices; without its hash, as older versions
//! wrote it, and damaged, it is read or refused.

use crate::damage::{Fate, arrive, finite, several};
use arbitrary::{Result, Unstructured};
use compiler::derived::losses::Loss;
use compiler::derived::training::Measure;
use sim::data::fields::Encoding;
use sim::data::labels::Coding;
use sim::data::standardise::Standardiser;
use std::collections::BTreeMap;
use workbench::ModelFile;
use workbench::model_file::{VERSION, Words};

/// A name: letters, quotes, control characters, anything.
fn name(u: &mut Unstructured) -> Result<String> {
    let text: String = u.arbitrary()?;
    Ok(text.chars().take(12).collect())
}

fn range(u: &mut Unstructured) -> Result<(f64, f64)> {
    let (a, b) = (finite(u)?, finite(u)?);
    Ok((a.min(b), a.max(b)))
}

fn scale(columns: usize, u: &mut Unstructured) -> Result<Standardiser> {
    let mut numbers = || (0..columns).map(|_| finite(u)).collect::<Result<Vec<f64>>>();
    let (mean, deviation) = (numbers()?, numbers()?);
    Ok(Standardiser { mean, deviation: deviation.into_iter().map(f64::abs).collect() })
}

fn build(u: &mut Unstructured) -> Result<ModelFile> {
    let (features, targets) = (several(u, 4, name)?, several(u, 2, name)?);
    let coding = match u.int_in_range(0..=2)? {
        0 => Coding::Number,
        1 => Coding::Names(several(u, 3, |u| Ok((name(u)?, finite(u)?)))?),
        _ => Coding::Classes(several(u, 3, name)?),
    };
    let replacements =
        if u.arbitrary()? { Some((0..features.len()).map(|_| finite(u)).collect::<Result<Vec<f64>>>()?) } else { None };
    let (standardise, standardise_targets) = (scale(features.len(), u)?, scale(targets.len(), u)?);
    let bias = u.arbitrary()?;
    let one_hot = if u.arbitrary()? { Some(u.int_in_range(0..=9)?) } else { None };
    let sample_weight = if u.arbitrary()? { Some(name(u)?) } else { None };
    let encoding = Encoding {
        features,
        kinds: BTreeMap::new(),
        targets,
        replacements,
        standardise,
        standardise_targets,
        bias,
        coding,
        one_hot,
        sample_weight,
    };
    let mut model: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let (mut shapes, mut fractions) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..u.int_in_range(0..=3)? {
        let (name, shape) = (name(u)?, several(u, 3, |u| u.int_in_range(0..=3u32))?);
        let elements: u32 = shape.iter().product();
        model.insert(name.clone(), (0..elements).map(|_| finite(u)).collect::<Result<_>>()?);
        shapes.insert(name.clone(), shape);
        fractions.insert(name, u.arbitrary()?);
    }
    let by_name = |u: &mut Unstructured| several(u, 3, |u| Ok((name(u)?, range(u)?)));
    Ok(ModelFile {
        format_version: VERSION,
        program: name(u)?,
        program_hash: name(u)?,
        engine: name(u)?,
        set: several(u, 3, |u| Ok((name(u)?, finite(u)?)))?.into_iter().collect(),
        loss: Measure::Library(*u.choose(Loss::ALL)?),
        encoding,
        ranges: by_name(u)?.into_iter().collect(),
        model,
        shapes,
        words: if u.arbitrary()? { Some(Words { bits: u.int_in_range(8..=32)?, fractions }) } else { None },
        recipe: None,
        valid: by_name(u)?.into_iter().collect(),
        sha256: None,
    })
}

/// What is accepted can be asked for everything, and written.
fn used(file: &ModelFile) -> String {
    let weights: Vec<(String, usize)> = file.model.iter().map(|(name, values)| (name.clone(), values.len())).collect();
    assert!(file.check("model.json".as_ref(), &file.program_hash, &weights).is_ok());
    assert_eq!(file.weights().len(), weights.len());
    let _ = (file.encoding.classes(), file.encoding.inputs(), file.encoding.coding.name(0.5));
    file.to_text("model.json").unwrap_or_else(|failure| panic!("what was read cannot be written: {failure}"))
}

fn try_read(u: &mut Unstructured) -> Result<()> {
    let built = build(u)?;
    let written = built.to_text("model.json").unwrap_or_else(|failure| panic!("{failure}"));
    let hashed = u.arbitrary()?;
    let sent = if hashed {
        written.clone()
    } else {
        let mut value: serde_json::Value = serde_json::from_str(&written).unwrap();
        value.as_object_mut().unwrap().remove("sha256");
        value.to_string()
    };
    let (fate, arrived) = arrive(sent.as_bytes(), u)?;
    match ModelFile::from_text("model.json", &String::from_utf8_lossy(&arrived)) {
        Ok(read) => {
            let again = used(&read);
            let same = fate == Fate::Whole || hashed && fate == Fate::Burst;
            assert!(!same || again == written, "{again} is read, {written} was written");
        }
        Err(failure) => assert!(fate != Fate::Whole, "{failure}"),
    }
    Ok(())
}

/// Nothing here may panic.
pub(crate) fn read(bytes: &[u8]) {
    let _ = try_read(&mut Unstructured::new(bytes));
}
