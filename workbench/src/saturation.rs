//! Clipped values of a run, in reports and documents, and the values a model is made for.
//!
//! ```text
//! words ──▶ sim::clipped ──+ lines──▶ Saturation ──▶ result, W-NUMBER, --deny-saturation (E-SATURATED)
//!
//! training ──▶ NamedRanges, saved with the model ──+ new rows, other weights──▶ W-NUMBER
//! ```

use crate::engines::NamedRanges;
use crate::failure::Failure;
use crate::images;
use crate::project::Project;
use arch::{Code, Diagnostic, Span};
use compiler::fixed::{self, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::clipped::Clipped;
use sim::train::engine::{NamedValues, Signature, Step};
use std::fmt;

/// What a step of a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// An update of the weights.
    Update,
    /// A row that is predicted; after a training first those of the training part, then those of the test part.
    Row,
    /// A record of a function.
    Record,
}

/// Values of one tensor that were clipped to the word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saturation {
    /// The tensor.
    pub tensor: String,
    /// Line that computes it; none for values that were given.
    pub line: Option<usize>,
    /// Smallest value that its words can hold.
    pub low: f64,
    /// Largest value that its words can hold.
    pub high: f64,
    /// How many values were clipped.
    pub results: u64,
    /// What is counted by `steps`.
    pub unit: Unit,
    /// In how many updates, rows or records that happened.
    pub steps: u64,
    /// The first of these, counted from 1.
    pub first_steps: Vec<u64>,
}

impl Saturation {
    fn of(clipped: &Clipped, unit: Unit, line_of: impl Fn(Span) -> usize) -> Saturation {
        let Clipped { tensor, computed, range: (low, high), count } = clipped;
        Saturation {
            tensor: tensor.clone(),
            line: computed.map(line_of),
            low: *low,
            high: *high,
            results: count.values,
            unit,
            steps: count.steps,
            first_steps: count.first_steps.clone(),
        }
    }

    /// All that engines say, with the lines of the program.
    pub fn all(project: &Project, clipped: &[Clipped], unit: Unit) -> Vec<Saturation> {
        clipped.iter().map(|clipped| Saturation::of(clipped, unit, |span| images::line_of(project, span))).collect()
    }

    /// Add what happened after so many steps of the same run, or was counted of another program of the same training.
    pub fn merge(into: &mut Vec<Saturation>, more: Vec<Saturation>, after: u64) {
        for mut saturation in more {
            for step in &mut saturation.first_steps {
                *step += after;
            }
            let same = |known: &&mut Saturation| {
                (&known.tensor, known.line, known.unit) == (&saturation.tensor, saturation.line, saturation.unit)
            };
            if let Some(known) = into.iter_mut().find(same) {
                known.results += saturation.results;
                known.steps += saturation.steps;
                known.first_steps.extend(saturation.first_steps);
                known.first_steps.truncate(sim::clipped::KEPT);
            } else {
                into.push(saturation);
            }
        }
    }

    /// The failure that `--deny-saturation` makes of them.
    pub fn denied(all: &[Saturation]) -> Option<Failure> {
        let (first, more) = all.split_first()?;
        let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
        Some(Failure::Saturated(format!("{first}{more}")))
    }
}

/// Without the line.
impl fmt::Display for Saturation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Saturation { tensor, low, high, results, unit, steps, first_steps, .. } = self;
        let (were, unit) = (if *results == 1 { "value was" } else { "values were" }, unit.plural(*steps));
        write!(
            f,
            "`{tensor}`: {results} {were} clipped to {low} .. {high}, in {steps} {unit}{}",
            listed(first_steps, *steps)
        )
    }
}

impl Unit {
    fn plural(self, count: u64) -> &'static str {
        match (self, count) {
            (Unit::Update, 1) => "update",
            (Unit::Update, _) => "updates",
            (Unit::Row, 1) => "row",
            (Unit::Row, _) => "rows",
            (Unit::Record, 1) => "record",
            (Unit::Record, _) => "records",
        }
    }
}

/// The first numbers of `count`.
fn listed(first: &[u64], count: u64) -> String {
    if first.is_empty() {
        return String::new();
    }
    let numbers = first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = if first.len() as u64 == count { "" } else { ", ..." };
    format!(" ({numbers}{more})")
}

/// A warning for each of them, at its place in the program.
pub fn warnings(clipped: &[Clipped], unit: Unit) -> Vec<Diagnostic> {
    let warning = |clipped: &Clipped| {
        let message = Saturation::of(clipped, unit, |_| 0).to_string();
        let diagnostic = Diagnostic::global(Code::WarnNumber, message);
        match clipped.computed {
            None => {
                diagnostic.with_help("the binary points were chosen for smaller values: train with values like these")
            }
            Some(span) => {
                let span = Some(span).filter(|span| *span != Span::default());
                let help =
                    "wider words, or fewer bits after the binary point ([numbers.fractions]), hold larger values";
                Diagnostic { span, ..diagnostic }.with_label("computed here").with_help(help)
            }
        }
    };
    clipped.iter().map(warning).collect()
}

/// What the words of a program's inputs and weights can hold.
pub fn valid_for_words(program: &fixed::Program) -> NamedRanges {
    let taken = program.tensors.iter().filter(|tensor| matches!(tensor.role, Role::Input | Role::State));
    let range = |tensor: &fixed::Tensor| {
        let end = |word: i128| arch::number::to_f64(word as i64, tensor.fraction);
        (end(arch::number::word_min(program.word)), end(arch::number::word_max(program.word)))
    };
    taken.map(|tensor| (tensor.name.clone(), range(tensor))).collect()
}

/// What a model of real numbers is valid for: up to the power of two above the largest value of its training, which is what words of
/// few bits would hold.
pub fn valid_for_reals(signature: &Signature, seen: &NamedRanges) -> NamedRanges {
    let inputs = signature.fields[..signature.inputs].iter().map(|field| &field.name);
    let names = inputs.chain(signature.model.iter().map(|(name, _)| name));
    let range = |name: &String| {
        let (low, high) = *seen.get(name)?;
        let size = f64::max(low.abs(), high.abs());
        let bound = power_of_two_above(size);
        Some((name.clone(), (-bound, bound)))
    };
    names.filter_map(range).collect()
}

/// The smallest power of two that is not below `size`; 1 for 0.
fn power_of_two_above(size: f64) -> f64 {
    let mut power = 1.0;
    while size.is_finite() && power < size {
        power *= 2.0;
    }
    while size > 0.0 && power / 2.0 >= size {
        power /= 2.0;
    }
    power
}

/// Inputs that lie outside of what a model is made for, by name.
pub fn outside(valid: &NamedRanges, signature: &Signature, rows: &[Step]) -> Vec<(String, Diagnostic)> {
    let inputs = signature.fields[..signature.inputs].iter().enumerate();
    let found = inputs.filter_map(|(field, input)| {
        let &(low, high) = valid.get(&input.name)?;
        let mut count = sim::clipped::Count::default();
        for (row, step) in (1..).zip(rows) {
            count.add(row, step[field].iter().filter(|value| !(low..=high).contains(*value)).count() as u64);
        }
        (count.values > 0).then(|| {
            let (name, values, unit) = (&input.name, count.values, Unit::Row.plural(count.steps));
            let rows = listed(&count.first_steps, count.steps);
            let places = format!("in {} {unit}{rows}", count.steps);
            (name.clone(), not_valid(name, values, (low, high), &places))
        })
    });
    found.collect()
}

/// Weights that lie outside of what a model is made for, by name.
pub fn weights_outside(valid: &NamedRanges, model: &NamedValues) -> Vec<(String, Diagnostic)> {
    let found = model.iter().filter_map(|(name, values)| {
        let &(low, high) = valid.get(name)?;
        let count = values.iter().filter(|value| !(low..=high).contains(*value)).count() as u64;
        let first = values.iter().position(|value| !(low..=high).contains(value))?;
        Some((name.clone(), not_valid(name, count, (low, high), &format!("first element {first}"))))
    });
    found.collect()
}

fn not_valid(name: &str, values: u64, (low, high): (f64, f64), places: &str) -> Diagnostic {
    let are = if values == 1 { "value is" } else { "values are" };
    let message =
        format!("`{name}`: {values} {are} outside of {low} .. {high}, which the model is valid for, {places}");
    Diagnostic::global(Code::WarnNumber, message)
        .with_help("values that training has not seen: train with values like these")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::train::engine::Field;

    fn signature() -> Signature {
        let field = |name: &str| Field { name: name.to_owned(), shape: vec![2], integer: false };
        Signature {
            fields: vec![field("x"), field("y")],
            inputs: 1,
            prediction: ("h".to_owned(), 1),
            model: vec![("w".to_owned(), 2)],
            sequence: Vec::new(),
        }
    }

    #[test]
    fn what_a_model_has_not_seen_is_outside() {
        let seen = NamedRanges::from([
            ("x".to_owned(), (-3.0, 1.0)),
            ("w".to_owned(), (0.0, 0.0)),
            ("y".to_owned(), (0.0, 9.0)),
        ]);
        let valid = valid_for_reals(&signature(), &seen);
        assert_eq!(valid, NamedRanges::from([("x".to_owned(), (-4.0, 4.0)), ("w".to_owned(), (-1.0, 1.0))]));
        let row = |a, b| vec![vec![a, b], vec![100.0, 100.0]];
        assert!(outside(&valid, &signature(), &[row(-4.0, 4.0)]).is_empty());
        let found = outside(&valid, &signature(), &[row(0.0, 4.5), row(0.0, 0.0), row(-5.0, f64::NAN)]);
        let message = "`x`: 3 values are outside of -4 .. 4, which the model is valid for, in 2 rows (1, 3)";
        assert_eq!(found.iter().map(|(_, found)| found.message.as_str()).collect::<Vec<_>>(), [message]);
        let found = weights_outside(&valid, &NamedValues::from([("w".to_owned(), vec![1.0, -1.5])]));
        assert!(found[0].1.message.starts_with("`w`: 1 value is outside of -1 .. 1"), "{}", found[0].1.message);
    }

    #[test]
    fn what_is_counted_twice_is_added() {
        let saturation = |results, first_steps: &[u64]| Saturation {
            tensor: "h".to_owned(),
            line: Some(3),
            low: -8.0,
            high: 7.5,
            results,
            unit: Unit::Update,
            steps: first_steps.len() as u64,
            first_steps: first_steps.to_vec(),
        };
        let mut all = vec![saturation(4, &[2, 5])];
        Saturation::merge(&mut all, vec![saturation(1, &[1])], 5);
        assert_eq!(all, [saturation(5, &[2, 5, 6])]);
        assert_eq!(all[0].to_string(), "`h`: 5 values were clipped to -8 .. 7.5, in 3 updates (2, 5, 6)");
    }
}
