//! Values on the command line: names and numbers, with the errors for wrong ones.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use compiler::language::{Language, Limits};
use sim::train::compared::Compare;
use std::ops::Range;
use workbench::Rung;

/// One of the values that a crate names; the names, their aliases and texts are those of the crate.
fn named<T: Copy + Send + Sync + 'static>(values: Vec<(T, PossibleValue)>) -> impl TypedValueParser<Value = T> {
    let names: Vec<PossibleValue> = values.iter().map(|(_, name)| name.clone()).collect();
    PossibleValuesParser::new(names).map(move |given| {
        let (value, _) = values.iter().find(|(_, name)| name.matches(&given, false)).expect("the parser knows these");
        *value
    })
}

/// An input language, by the extension of its files or in full.
pub(super) fn language() -> impl TypedValueParser<Value = Language> {
    let name = |language: &Language| {
        let value = PossibleValue::new(language.extension()).help(language.name());
        (*language, value.aliases(language.alias()))
    };
    named(Language::ALL.iter().map(name).collect())
}

/// An engine that needs no board.
pub(super) fn engine() -> impl TypedValueParser<Value = Rung> {
    named(Rung::ENGINES.iter().map(|rung| (*rung, PossibleValue::new(rung.as_str()).help(rung.text()))).collect())
}

/// Whether a file has a header.
pub(super) fn parse_header(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("write yes or no".to_owned()),
    }
}

pub(super) fn parse_jobs(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|jobs| (1..=1024).contains(jobs)).ok_or_else(|| "between 1 and 1024".to_owned())
}

pub(super) fn parse_epochs(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&epochs| epochs > 0).ok_or_else(|| "at least 1".to_owned())
}

pub(super) fn parse_points(text: &str) -> Result<f64, String> {
    let points = text.parse().ok().filter(|points: &f64| *points >= 0.0 && points.is_finite());
    points.ok_or_else(|| "a number, at least 0".to_owned())
}

pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|&share: &f64| share > 0.0 && share < 1.0);
    share.ok_or_else(|| "a share between 0 and 1".to_owned())
}

pub(super) fn parse_setting(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.trim().parse::<f64>().map_err(|_| format!("`{value}` is not a number"))?;
    if value.is_finite() { Ok((name.trim().to_owned(), value)) } else { Err("the value must be finite".to_owned()) }
}

pub(super) fn parse_key(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

pub(super) fn parse_gaussian(text: &str) -> Result<(f64, f64), String> {
    let (mean, deviation) = text.split_once(',').ok_or("write MEAN,DEVIATION")?;
    match (mean.trim().parse::<f64>(), deviation.trim().parse::<f64>()) {
        (Ok(mean), Ok(deviation)) if mean.is_finite() && deviation.is_finite() && deviation > 0.0 => {
            Ok((mean, deviation))
        }
        _ => Err("two numbers, the second above 0".to_owned()),
    }
}

/// The limit of the memory for a data file; the others are those of a language.
pub(super) const DATA: &str = "data_mib";

/// Names of all limits.
pub(super) fn limits() -> String {
    [Limits::NAMES, &[DATA]].concat().join(", ")
}

pub(super) fn parse_limit(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=N")?;
    let name = name.trim();
    if name != DATA && !Limits::NAMES.contains(&name) {
        return Err(format!("the limits are {}", limits()));
    }
    match value.trim().parse::<u64>() {
        // Deeper nesting than this has no room on the stack.
        Ok(value) if name == "depth" && value > 1024 => Err("depth is at most 1024".to_owned()),
        Ok(value) if value > 0 => Ok((name.to_owned(), value)),
        _ => Err(format!("`{value}` is not a number above 0")),
    }
}

/// A template of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TemplateName {
    /// Two classes: logistic regression
    Binary,
    /// Several classes: softmax regression
    Multiclass,
    /// Numbers: linear regression
    Regression,
    /// Several classes: a network of two layers
    Network,
    /// An ONNX model that is trained further
    Onnx,
    /// A function that trains nothing
    Function,
}

/// When the RTL's weights are compared with the array's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// After each epoch; a difference is traced to its first step
    Epoch,
    /// After each update: much slower
    Update,
}

impl From<When> for Compare {
    fn from(when: When) -> Compare {
        match when {
            When::Epoch => Compare::Trace,
            When::Update => Compare::EveryUpdate,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// The seed language.
    Seed,
    /// With decimal numbers.
    Ext,
}

pub(super) fn parse_separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if !byte.is_ascii_alphanumeric() && !b"\".-+\r\n".contains(byte) => Ok(*byte),
        _ => Err("one character that is part of no number, such as `;`, or `tab`".to_owned()),
    }
}

pub(super) fn parse_timeout(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.001..=1e6).contains(&value) => Ok(value),
        _ => Err("must lie between 0.001 and 1000000".to_owned()),
    }
}

/// Ranks that share the samples of every batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranks {
    /// Threads of this process.
    Threads(usize),
    /// All processes of MPI's world.
    World,
}

/// What stands for [`Ranks::World`] where a value has to be written; `--ranks` alone is the same.
pub(super) const WORLD: &str = "mpi";

pub(super) fn parse_ranks(text: &str) -> Result<Ranks, String> {
    if text == WORLD {
        return Ok(Ranks::World);
    }
    let count = text.parse().ok().filter(|ranks| (1..=256).contains(ranks));
    count.map(Ranks::Threads).ok_or_else(|| "between 1 and 256".to_owned())
}

/// Seeds that every nextpnr accepts.
pub(super) fn parse_place_seed(text: &str) -> Result<u32, String> {
    let seed = text.parse().ok().filter(|&seed: &u32| i32::try_from(seed).is_ok());
    seed.ok_or_else(|| format!("between 0 and {}", i32::MAX))
}

pub(super) fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let bound =
        |text: &str| text.trim().parse::<u64>().map_err(|_| format!("`{text}` is not a number; write FROM..TO"));
    let (from, to) = text.split_once("..").ok_or("write FROM..TO; TO itself is outside")?;
    let range = bound(from)?..bound(to)?;
    if range.is_empty() { Err("the range is empty; TO itself is outside".to_owned()) } else { Ok(range) }
}
