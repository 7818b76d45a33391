//! Result of a training: a table for people, a document for programs.

use super::Number;
use super::figures;
use super::page::charts;
use crate::plan::Plan;
use crate::project::Project;
use crate::samples::Samples;
use crate::saturation::Saturation;
use crate::simulated::System;
use crate::training::{Outcome, Point};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use sim::distance::{Distance, Verdict};
use sim::train::metrics::{Confusion, Metrics};
use sim::train::moves::Stall;
use std::collections::BTreeMap;

/// What a training gave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Trained {
    /// Loss and score of the training part, by engine.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Metrics>")]
    train: Vec<(&'static str, Metrics)>,
    /// Of the test part; nothing where there is none.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Option<Metrics>>")]
    test: Vec<(&'static str, Option<Metrics>)>,
    /// Which classes are taken for which, where predictions are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    confusion: Option<Confusions>,
    /// How the training went.
    settings: Plan,
    /// Samples that went into updates.
    samples: u64,
    /// All cycles of the lowest engine over all samples, if it has a clock: loading of weights, begin and end of each epoch included.
    mean_cycles_per_sample: Option<f64>,
    /// Cycles of all updates.
    cycles: Option<u64>,
    /// Clock of the board.
    clock_mhz: f64,
    /// Time of all updates at that clock.
    seconds: Option<f64>,
    /// Energy of all updates, where the configuration knows the power of the board.
    #[serde(skip_serializing_if = "Option::is_none")]
    joules: Option<f64>,
    /// The same per sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    joules_per_sample: Option<f64>,
    /// Whether a value had been clipped to the word.
    saturated: bool,
    /// The rung that the lowest engine is compared with.
    compared_with: Option<String>,
    /// Words compared with it.
    words_compared: Option<u64>,
    /// Words that differ.
    words_differing: Option<u64>,
    /// Runs whose cycle counts differ.
    cycle_counts_differing: Option<u64>,
    /// The whole system, if the board is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<System>,
    /// How far the weights of the lowest engine are from golden's; nothing on golden.
    #[serde(skip_serializing_if = "Option::is_none")]
    distance_from_golden: Option<Distance>,
    /// Whether the words suffice; nothing on golden.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// Updates that round to nothing in words and not on golden, by weight and epoch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stalls: Vec<Stall>,
    /// Values that were clipped to the word.
    saturations: Vec<Saturation>,
    /// Loss and score after each epoch, by engine; of `report`.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "BTreeMap<String, Vec<Point>>")]
    curves: Vec<(&'static str, Vec<Point>)>,
    /// Binary points, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<Vec<Number>>,
}

/// Which classes are taken for which.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Confusions {
    /// Names of the classes, in the order of rows and columns.
    pub classes: Vec<String>,
    /// The part that was judged: `test`, or `train` where there is no test part.
    pub part: &'static str,
    /// How many samples of a class (rows) were taken for each class (columns), by engine.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Confusion>")]
    pub engines: Vec<(&'static str, Confusion)>,
}

impl Confusions {
    fn of(outcome: &Outcome, samples: &Samples) -> Option<Confusions> {
        let engines: Vec<_> =
            outcome.results.iter().filter_map(|result| Some((result.name, result.confusion.clone()?))).collect();
        let part = if samples.test.is_empty() { "train" } else { "test" };
        (!engines.is_empty()).then(|| Confusions { classes: samples.class_names(), part, engines })
    }

    /// The lowest engine's, for people.
    fn text(&self) -> String {
        let Some((engine, confusion)) = self.engines.last() else { return String::new() };
        let names: Vec<String> = self.classes.iter().map(|name| name.chars().take(NAME).collect()).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
        let mut text = format!("\n{engine}, {} part: rows are classes, columns what they were taken for\n", self.part);
        let line = |head: &str, cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.map(|cell| format!("{cell:>width$}")).collect();
            format!("{head:>width$}  {}\n", cells.join(" "))
        };
        text += &line("", &mut names.iter().cloned());
        for (name, row) in names.iter().zip(confusion) {
            text += &line(name, &mut row.iter().map(u64::to_string));
        }
        text
    }
}

/// Letters of the name of a class that a table has room for.
const NAME: usize = 12;
/// Classes whose table a terminal has room for.
const MOST_CLASSES: usize = 12;

fn as_map<T: Serialize, S: Serializer>(pairs: &[(&'static str, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// What a training gave, for programs.
pub fn document(outcome: &Outcome, project: &Project, samples: &Samples, numbers: Option<Vec<Number>>) -> Trained {
    let plan = samples.plan;
    let (trained, comparison) = (&outcome.last().trained, outcome.comparison.as_ref());
    let results = || outcome.results.iter();
    let has_curves = !outcome.last().curve.is_empty();
    let system = system(outcome, project, plan.schedule.epochs);
    let joules = joules(outcome, project);
    Trained {
        train: results().map(|result| (result.name, result.train)).collect(),
        test: results().map(|result| (result.name, result.test)).collect(),
        confusion: Confusions::of(outcome, samples),
        settings: plan,
        samples: trained.samples,
        mean_cycles_per_sample: trained.cycles.map(|cycles| cycles as f64 / trained.samples.max(1) as f64),
        cycles: trained.cycles,
        clock_mhz: project.board.clock_mhz,
        seconds: trained.cycles.map(|cycles| seconds(cycles, project)),
        joules,
        joules_per_sample: joules.map(|joules| joules / trained.samples.max(1) as f64),
        saturated: trained.saturated,
        compared_with: comparison.map(|c| c.with.clone()),
        words_compared: comparison.map(|c| c.words),
        words_differing: comparison.map(|c| c.differing),
        cycle_counts_differing: comparison.map(|c| c.cycle_counts_differing),
        system,
        distance_from_golden: outcome.distance,
        verdict: outcome.verdict.clone(),
        stalls: outcome.stalls.clone(),
        saturations: outcome.saturations.clone(),
        curves: results().filter(|_| has_curves).map(|result| (result.name, result.curve.clone())).collect(),
        numbers,
    }
}

/// The whole system, if the board is simulated.
fn system(outcome: &Outcome, project: &Project, epochs: usize) -> Option<System> {
    let (last, clock_hz) = (outcome.last(), (project.board.clock_mhz * 1e6).round() as u64);
    let comparison = outcome.comparison.clone().unwrap_or_default();
    Some(System::new(last.spent?, clock_hz, last.trained.samples, epochs, &comparison))
}

fn seconds(cycles: u64, project: &Project) -> f64 {
    cycles as f64 / (project.board.clock_mhz * 1e6)
}

/// Energy of all updates at the power of the board, if both are known.
pub(super) fn joules(outcome: &Outcome, project: &Project) -> Option<f64> {
    Some(seconds(outcome.last().trained.cycles?, project) * project.board.watts?)
}

/// What a training gave, for people.
pub fn table(outcome: &Outcome, project: &Project, samples: &Samples) -> String {
    let (results, comparison) = (&outcome.results, outcome.comparison.as_ref());
    let (score, _) = score(&results[0].train);
    let mut text = format!(
        "{} on {} training and {} test samples, {} epochs, batch {}\n\n",
        project.path.display(),
        samples.train.len(),
        samples.test.len(),
        samples.plan.schedule.epochs,
        samples.plan.schedule.batch
    );
    text.push_str(&format!(
        "{:8} {:>12} {:>12} {:>12} {:>12}\n",
        "",
        "train loss",
        "test loss",
        score_head("train", score),
        score_head("test", score)
    ));
    for result in results {
        let name = result.name;
        let test = result.test.as_ref();
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.5}"));
        let show = |metrics: Option<&Metrics>| metrics.map_or("-".to_owned(), |metrics| self::score(metrics).1);
        text.push_str(&format!(
            "{name:8} {:>12} {:>12} {:>12} {:>12}\n",
            number(Some(result.train.loss)),
            number(test.map(|test| test.loss)),
            show(Some(&result.train)),
            show(test)
        ));
    }
    text += &scores(outcome);
    if let Some(confusions) = Confusions::of(outcome, samples).filter(|found| found.classes.len() <= MOST_CLASSES) {
        text += &confusions.text();
    }
    let trained = &outcome.last().trained;
    if let Some(cycles) = trained.cycles {
        let clock = project.board.clock_mhz;
        text.push_str(&format!(
            "\n{cycles} cycles in all, {:.2} per sample on average, {} at {clock} MHz\n",
            cycles as f64 / trained.samples.max(1) as f64,
            time(seconds(cycles, project)),
        ));
        if let Some((joules, watts)) = joules(outcome, project).zip(project.board.watts) {
            let each = joules / trained.samples.max(1) as f64;
            text.push_str(&format!("{joules:.3e} J in all, {each:.3e} J per sample at {watts} W\n"));
        }
    }
    if let Some(comparison) = comparison {
        text.push_str(&format!(
            "{} words compared with {}, {} differ; {} cycle counts differ\n",
            comparison.words, comparison.with, comparison.differing, comparison.cycle_counts_differing
        ));
    }
    let system = system(outcome, project, samples.plan.schedule.epochs);
    text += &system.map_or_else(String::new, |system| system.text());
    text += &figures::saturations(&outcome.saturations);
    text + &outcome.verdict.as_ref().map_or_else(String::new, |verdict| format!("{verdict}\n"))
}

/// What else the lowest engine is judged by.
fn scores(outcome: &Outcome) -> String {
    let last = outcome.last();
    let (part, metrics) = last.test.as_ref().map_or(("train", &last.train), |test| ("test", test));
    let named = [("F1", metrics.f1), ("AUC", metrics.auc), ("mean absolute error", metrics.mae)];
    let shown: Vec<String> =
        named.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", charts::short(value?)))).collect();
    if shown.is_empty() { String::new() } else { format!("\n{}, {part} part: {}\n", last.name, shown.join(", ")) }
}

fn score_head(part: &str, score: &str) -> String {
    format!("{part} {score}")
}

/// What a score is called, and how it is written.
pub fn score(metrics: &Metrics) -> (&'static str, String) {
    match (metrics.accuracy, metrics.r2) {
        (Some(accuracy), _) => ("accuracy", format!("{:.2} %", 100.0 * accuracy)),
        (None, r2) => ("R2", r2.map_or("-".to_owned(), |r2| format!("{r2:.4}"))),
    }
}

/// A time with the unit that suits it.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} us", s * 1e6),
    }
}
