//! One training in words of several widths, beside the same training on real numbers.
//!
//! | row | weights | predictions |
//! |---|---|---|
//! | golden | trained on real numbers | on real numbers |
//! | rounded | those, rounded to the words of the format | on real numbers, from features rounded to their format |
//! | fixed | trained in words | in words, as the hardware computes them |

use super::checkpoint::{Checkpoint, Reached};
use super::engines::Rung;
use super::{Outcome, RunOptions, Training};
use crate::failure::Failure;
use crate::images::Lowered;
use crate::progress::Progress;
use crate::report::trained;
use crate::saturation::{Saturation, Unit};
use arch::Machine;
use arch::machine::{MachineError, MachineSpec};
use arch::number::{quantise, to_f64};
use compiler::fixed;
use compiler::tensor::Iterator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::train::engine::{NamedValues, Step};
use sim::train::metrics::Metrics;
use sim::train::predict;
use std::collections::BTreeMap;

/// One width.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InWords {
    /// Bits of a word.
    pub word: u32,
    /// Bits after the binary point of the weights.
    pub fractions: BTreeMap<String, i32>,
    /// Trained on real numbers, weights and features rounded.
    pub rounded: Option<Parts>,
    /// Trained in words.
    pub fixed: Option<Parts>,
    /// Results clipped to the word in the training.
    pub clipped: u64,
    /// Why there are no numbers.
    pub refused: Option<String>,
}

/// Training and test part.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// Loss and score of the training part.
    pub train: Metrics,
    /// Of the test part.
    pub test: Option<Metrics>,
}

impl InWords {
    /// Train in words of so many bits what was trained on real numbers.
    ///
    /// # Errors
    /// It is cancelled, or diverges. What the words cannot hold is no error but refused.
    pub fn of(word: u32, training: &Training, golden: &Outcome, progress: &dyn Progress) -> Result<InWords, Failure> {
        let refused = |reason: String| InWords {
            word,
            fractions: BTreeMap::new(),
            rounded: None,
            fixed: None,
            clipped: 0,
            refused: Some(reason),
        };
        let training = match training.in_words(word) {
            Ok(training) => training,
            Err(error) => return Ok(refused(error.to_string())),
        };
        let lowered = match Lowered::new(&training.project, &training.programs, &golden.ranges, progress) {
            Ok(lowered) => lowered,
            Err(Failure::Diagnostics { diagnostics, .. }) => {
                return Ok(refused(
                    diagnostics.first().map_or_else(String::new, |diagnostic| diagnostic.message.clone()),
                ));
            }
            Err(failure) => return Err(failure),
        };
        let fractions = lowered.fractions();
        let round = |value: f64, fraction: i32| to_f64(quantise(value, fraction, word).0, fraction);
        let model: NamedValues = golden.results[0]
            .trained
            .model
            .iter()
            .map(|(name, values)| (name.clone(), values.iter().map(|&value| round(value, fractions[name])).collect()))
            .collect();
        let samples = &training.samples;
        let field_fraction =
            |name: &str| lowered.predict.tensors.iter().find(|tensor| tensor.name == name).map(|t| t.fraction);
        let fields: Vec<Option<i32>> =
            samples.signature.fields.iter().map(|field| field_fraction(&field.name)).collect();
        let judge = |steps: &[Step]| -> Result<Metrics, Failure> {
            let rounded: Vec<Step> = steps
                .iter()
                .map(|step| {
                    let field = |(values, fraction): (&Vec<f64>, &Option<i32>)| match fraction {
                        Some(fraction) => values.iter().map(|&value| round(value, *fraction)).collect(),
                        None => values.clone(),
                    };
                    step.iter().zip(&fields).map(field).collect()
                })
                .collect();
            let mut engine = training.programs.observer(&samples.signature);
            Ok(samples.judge(&predict(engine.as_mut(), &model, &rounded)?, steps))
        };
        let test = if samples.test.is_empty() { None } else { Some(judge(&samples.test)?) };
        let rounded = Parts { train: judge(&samples.train)?, test };
        let outcome = training.again(golden, progress)?;
        let last = outcome.last();
        Ok(InWords {
            word,
            fractions,
            rounded: Some(rounded),
            fixed: Some(Parts { train: last.train, test: last.test }),
            clipped: clipped(&outcome.saturations),
            refused: None,
        })
    }
}

impl Training {
    /// The same in words of another width.
    fn in_words(&self, word: u32) -> Result<Training, MachineError> {
        let mut training = self.clone();
        let config = &mut training.project.config;
        config.spec = MachineSpec { word: Some(word), accumulator: None, ..config.spec.clone() };
        config.machine = Machine::try_from(config.spec.clone())?;
        Ok(training)
    }

    /// Train in words what was trained on real numbers.
    fn again(&self, golden: &Outcome, progress: &dyn Progress) -> Result<Outcome, Failure> {
        let how = RunOptions { tries_wider: false, ..RunOptions::on(Rung::Fixed) };
        let mut known = Checkpoint::new(self.identity(&how));
        let trained = golden.results[0].trained.clone();
        known.golden =
            Reached { epochs: self.schedule.epochs, trained, ranges: golden.ranges.clone(), ..Reached::default() };
        self.run(&how, Some(known), progress)
    }

    /// Whether words of another width suffice for this training.
    pub(super) fn suffices_in(&self, word: u32, golden: &Outcome) -> bool {
        let wide = self.in_words(word).ok();
        let outcome = wide.and_then(|training| training.again(golden, &()).ok());
        outcome.is_some_and(|outcome| outcome.verdict.is_some_and(|verdict| verdict.suffices))
    }

    /// Whether it takes so little time that it can be tried in some widths.
    pub(super) fn is_short(&self, updates: &fixed::Program) -> bool {
        let points = |operation: &fixed::Operation| operation.iterators.iter().map(Iterator::extent).product::<u64>();
        let step: u64 = updates.operations.iter().map(points).sum();
        let steps = self.schedule.epochs * self.samples.train.len().div_ceil(self.schedule.batch);
        step.saturating_mul(steps as u64) <= SHORT
    }
}

/// Elements that the steps of a short training compute.
const SHORT: u64 = 1 << 27;

/// Results of updates that were clipped.
fn clipped(saturations: &[Saturation]) -> u64 {
    let computed = saturations.iter().filter(|clipped| clipped.unit == Unit::Update && clipped.line.is_some());
    computed.map(|clipped| clipped.results).sum()
}

fn loss(metrics: Option<Metrics>) -> String {
    metrics.map_or("-".to_owned(), |metrics| format!("{:.5}", metrics.loss))
}

fn score(metrics: Option<Metrics>) -> String {
    metrics.map_or("-".to_owned(), |metrics| trained::score(&metrics).1)
}

fn cells(name: &str, parts: Option<Parts>) -> [String; 5] {
    let (train, test) = (parts.map(|parts| parts.train), parts.and_then(|parts| parts.test));
    [name.to_owned(), loss(train), loss(test), score(train), score(test)]
}

/// Lines of a table, each with a remark: golden, then per width rounded and fixed. Cells are name, train loss, test loss, train score, test score.
pub fn lines(golden: Parts, rows: &[InWords]) -> Vec<([String; 5], String)> {
    let mut lines = vec![(cells("golden", Some(golden)), String::new())];
    for row in rows {
        if let Some(reason) = &row.refused {
            lines.push((cells(&format!("{} bits", row.word), None), reason.clone()));
            continue;
        }
        let points = row.fractions.iter().map(|(name, fraction)| format!("{name} {fraction}")).collect::<Vec<_>>();
        let clipped = if row.clipped > 0 { format!("; {} results clipped", row.clipped) } else { String::new() };
        lines.push((cells(&format!("{} bits, rounded", row.word), row.rounded), String::new()));
        let remark = format!("bits after the point: {}{clipped}", points.join(", "));
        lines.push((cells(&format!("{} bits, fixed", row.word), row.fixed), remark));
    }
    lines
}
