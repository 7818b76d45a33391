//! `accuracy`: one training in words of several widths, beside the same training on real numbers.
//!
//! | row | weights | predictions |
//! |---|---|---|
//! | golden | trained on real numbers | on real numbers |
//! | rounded | those, rounded to the words of the format | on real numbers, from features rounded to their format |
//! | fixed | trained in words | in words, as the hardware computes them |

use crate::arguments::{Accuracy, Global};
use crate::commands::train;
use crate::jobs;
use crate::output::{self, Talk};
use crate::subject;
use crate::training_talk::TrainingTalk;
use arch::Machine;
use arch::machine::MachineSpec;
use arch::number::{quantise, to_f64};
use schemars::JsonSchema;
use serde::Serialize;
use sim::train::engine::{Model, Step};
use sim::train::metrics::Metrics;
use sim::train::predict;
use std::collections::BTreeMap;
use workbench::Failure;
use workbench::checkpoint::{Checkpoint, Reached};
use workbench::documents::Document;
use workbench::engines;
use workbench::images::Lowered;
use workbench::report::trained;
use workbench::saturation::{Saturation, Unit};
use workbench::{How, Outcome, Rung, Training};

/// Training in words of several widths, beside real numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Widths {
    /// The program.
    program: String,
    /// Where the data are from.
    data: String,
    /// On real numbers.
    golden: Parts,
    /// One entry per width.
    words: Vec<Row>,
}

/// One width.
#[derive(Debug, Serialize, JsonSchema)]
struct Row {
    /// Bits of a word.
    word: u32,
    /// Bits after the binary point of the weights.
    fractions: BTreeMap<String, i32>,
    /// Trained on real numbers, weights and features rounded.
    rounded: Option<Parts>,
    /// Trained in words.
    fixed: Option<Parts>,
    /// Results clipped to the word in the training.
    clipped: u64,
    /// Why there are no numbers.
    refused: Option<String>,
}

/// Training and test part.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct Parts {
    /// Loss and score of the training part.
    train: Metrics,
    /// Of the test part.
    test: Option<Metrics>,
}

/// Train in every width and compare.
pub fn run(global: &Global, options: &Accuracy, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.train.program.as_deref(), &options.train.limits().into())?;
    let training = train::prepared(project, &options.train, talk)?;
    let project = &training.project;
    let golden = training.run(&How::on(Rung::Golden), None, &TrainingTalk::new(talk, None))?;
    let reals = &golden.results[0];
    let silent = Talk::silent();
    let width = |number: usize| in_words(options.words[number], &training, &golden, &silent);
    // An engine is not made for several threads; the widths run one after the other unless asked otherwise.
    let rows = jobs::each(options.words.len(), global.jobs.or(Some(1)), &width);
    let rows = rows.into_iter().collect::<Result<Vec<Row>, Failure>>()?;
    let golden = Parts { train: reals.train, test: reals.test };
    if options.page {
        return output::result(&page(&project.name(), &training.samples.origin, golden, &rows));
    }
    let text = text(golden, &rows);
    output::either(
        global.format,
        || text,
        || {
            let (program, data) = (project.name(), training.samples.origin.clone());
            Document::new(Widths { program, data, golden, words: rows })
        },
    )
}

fn in_words(word: u32, training: &Training, golden: &Outcome, talk: &Talk) -> Result<Row, Failure> {
    let mut training = training.clone();
    let config = &mut training.project.config;
    let refused = |reason: String| Row {
        word,
        fractions: BTreeMap::new(),
        rounded: None,
        fixed: None,
        clipped: 0,
        refused: Some(reason),
    };
    config.spec = MachineSpec { word: Some(word), accumulator: None, ..config.spec.clone() };
    config.machine = match Machine::try_from(config.spec.clone()) {
        Ok(machine) => machine,
        Err(error) => return Ok(refused(error.to_string())),
    };
    let lowered = match Lowered::new(&training.project, &training.programs, &golden.ranges, talk) {
        Ok(lowered) => lowered,
        Err(Failure::Diagnostics { diagnostics, .. }) => {
            return Ok(refused(diagnostics.first().map_or_else(String::new, |diagnostic| diagnostic.message.clone())));
        }
        Err(failure) => return Err(failure),
    };
    let fractions = lowered.fractions();
    let round = |value: f64, fraction: i32| to_f64(quantise(value, fraction, word).0, fraction);
    let model: Model = golden.results[0]
        .trained
        .model
        .iter()
        .map(|(name, values)| (name.clone(), values.iter().map(|&value| round(value, fractions[name])).collect()))
        .collect();
    let samples = &training.samples;
    let field_fraction =
        |name: &str| lowered.predict.tensors.iter().find(|tensor| tensor.name == name).map(|t| t.fraction);
    let fields: Vec<Option<i32>> = samples.signature.fields.iter().map(|field| field_fraction(&field.name)).collect();
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
        let mut engine = engines::reals(&training.programs.predict, &samples.signature);
        Ok(samples.judge(&predict(engine.as_mut(), &model, &rounded)?, steps))
    };
    let test = if samples.test.is_empty() { None } else { Some(judge(&samples.test)?) };
    let rounded = Parts { train: judge(&samples.train)?, test };
    // The golden part of the training is known.
    let how = How::on(Rung::Fixed);
    let mut known = Checkpoint::new(training.identity(&how));
    let trained = golden.results[0].trained.clone();
    known.golden =
        Reached { epochs: training.schedule.epochs, trained, ranges: golden.ranges.clone(), ..Reached::default() };
    let outcome = training.run(&how, Some(known), talk)?;
    let last = outcome.last();
    Ok(Row {
        word,
        fractions,
        rounded: Some(rounded),
        fixed: Some(Parts { train: last.train, test: last.test }),
        clipped: clipped(&outcome.saturations),
        refused: None,
    })
}

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

/// Cells of one line: what, train loss, test loss, train score, test score.
fn cells(name: &str, parts: Option<Parts>) -> [String; 5] {
    let (train, test) = (parts.map(|parts| parts.train), parts.and_then(|parts| parts.test));
    [name.to_owned(), loss(train), loss(test), score(train), score(test)]
}

/// Lines of a table: golden, then per width rounded and fixed.
fn table(golden: Parts, rows: &[Row]) -> Vec<([String; 5], String)> {
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

fn text(golden: Parts, rows: &[Row]) -> String {
    let (name, _) = trained::score(&golden.train);
    let mut text = format!(
        "{:18} {:>12} {:>12} {:>14} {:>14}\n",
        "",
        "train loss",
        "test loss",
        format!("train {name}"),
        format!("test {name}")
    );
    for ([name, a, b, c, d], remark) in table(golden, rows) {
        text.push_str(format!("{name:18} {a:>12} {b:>12} {c:>14} {d:>14}   {remark}").trim_end());
        text.push('\n');
    }
    text
}

/// One section of docs/accuracy.md.
fn page(program: &str, data: &str, golden: Parts, rows: &[Row]) -> String {
    let (name, _) = trained::score(&golden.train);
    let mut text = format!(
        "## {program} on {data}\n\n| | train loss | test loss | train {name} | test {name} | |\n|---|---|---|---|---|---|\n"
    );
    for (cells, remark) in table(golden, rows) {
        text.push_str(&format!("| {} | {remark} |\n", cells.join(" | ")));
    }
    text + "\n"
}
