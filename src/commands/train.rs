//! `train`: stream a data set through an engine, with the golden model beside it.

use crate::arguments::{EngineName, Format, Global, Train};
use crate::checkpoint::Checkpoint;
use crate::commands::weights;
use crate::design::Basis;
use crate::engines::Programs;
use crate::failure::Failure;
use crate::model_file::{self, ModelFile, Words};
use crate::output::{self, Talk};
use crate::project::Project;
use crate::render;
use crate::report::{self, numbers_text};
use crate::samples::{self, Choice, Samples};
use crate::serial::Board;
use crate::training::{Achieved, Outcome, Training};
use serde_json::{Value, json};
use sim::train::engine::{Comparison, Model};
use sim::train::initial_model;
use sim::train::metrics::Metrics;
use sim::train::settings::Settings;
use std::collections::BTreeMap;

/// Train, compare, print.
pub fn run(global: &Global, options: &Train, talk: &Talk) -> Result<(), Failure> {
    if options.stalls.is_some() && !matches!(options.engine, EngineName::Array | EngineName::Rtl) {
        return Err(Failure::Usage("--stalls needs an engine with streams: array or rtl".to_owned()));
    }
    train_on(global, options, None, talk)
}

/// The same, on a board if there is one.
pub fn train_on(global: &Global, options: &Train, board: Option<&Board>, talk: &Talk) -> Result<(), Failure> {
    // What cannot be written is said before the work, not after it.
    for path in [&options.save, &options.checkpoint, &options.resume].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let mut project = Project::open(global, options.program.as_deref())?;
    if let Some(board) = board {
        board.adopt(&mut project.config, project.config_source.as_ref())?;
    }
    let prepared = Prepared::new(&project, options, talk)?;
    let mut training = prepared.training(&project, options, false);
    if board.is_some() {
        (training.engine, training.board) = (EngineName::Board, board);
    }
    let begun = options.resume.as_deref().map(|path| Checkpoint::load(path, &training.identity())).transpose()?;
    let outcome = training.run(begun, talk)?;
    if let Some(path) = &options.save {
        prepared.model_file(&project, &outcome).save(path)?;
        talk.say(format!("wrote {}", path.display()));
    }
    let differs = outcome.comparison.as_ref().filter(|comparison| !comparison.agrees());
    let differs = differs.map(|comparison| Failure::Mismatch(mismatch(outcome.last().name, comparison)));
    match global.format {
        Format::Json => {
            let mut document = document(&outcome, &project);
            if let Some(numbers) = numbers(&outcome, options) {
                document["numbers"] = json!(numbers);
            }
            if let Some(failure) = &differs {
                render::add_mismatch(&mut document, failure);
            }
            output::json(&document)?;
        }
        Format::Text => {
            let numbers = numbers(&outcome, options).map_or_else(String::new, |n| "\n".to_owned() + &numbers_text(&n));
            output::result(&(table(&outcome, &project, &prepared.samples) + &numbers))?;
        }
    }
    differs.map_or(Ok(()), Err)
}

/// Everything that is known before a training.
pub struct Prepared {
    /// Program and data.
    pub samples: Samples,
    /// Epochs and batches.
    pub schedule: sim::train::Schedule,
    /// Programs of a batch, of what is left over, of a prediction.
    pub programs: Programs,
    /// Weights before the first step.
    start: Model,
    /// Constants of the program.
    set: BTreeMap<String, f64>,
    /// Hash of the program and its constants.
    hash: String,
}

impl Prepared {
    /// Read data, model and weights.
    ///
    /// # Errors
    /// Whatever is wrong with them.
    pub fn new(project: &Project, options: &Train, talk: &Talk) -> Result<Prepared, Failure> {
        let settings = project.settings()?;
        let settings = with_options(settings, options);
        let loaded = options.load.as_deref().map(|path| ModelFile::load(path).map(|file| (path, file))).transpose()?;
        let choice = Choice {
            data: &options.data,
            reading: &options.file.reading(),
            missing: options.missing.into(),
            target: options.target.as_deref(),
            split: options.split,
            seed: options.seed,
            limit: options.limit,
            saved: loaded.as_ref().map(|(_, file)| &file.encoding),
        };
        let samples = Samples::read(project, settings, &choice, talk)?;
        let schedule = samples.schedule(options.seed)?;
        if let Some(left) = samples.left_over(&schedule) {
            talk.say(left);
        }
        let set = constants(project, &samples);
        let hash = model_file::program_hash(&project.source.text, &set);
        let mut start = initial_model(&samples.signature, samples.settings.weights, options.seed);
        if let Some((path, file)) = loaded {
            file.check(path, &hash, &samples.signature.model)?;
            start = file.model;
        }
        if let Some(path) = &options.weights {
            let tensors: Vec<_> = samples.shapes_of_weights().into_iter().collect();
            start = weights::read(path, &tensors)?.into_iter().map(|tensor| (tensor.name, tensor.values)).collect();
        }
        let programs = Programs::new(project, &samples, &schedule)?;
        Ok(Prepared { samples, schedule, programs, start, set, hash })
    }

    /// The training that the options ask for.
    pub fn training<'a>(&'a self, project: &'a Project, options: &'a Train, curves: bool) -> Training<'a> {
        let Prepared { samples, schedule, programs, start, .. } = self;
        let (engine, stalls) = (options.engine, options.stalls);
        let checkpoint = options.checkpoint.as_deref().or(options.resume.as_deref());
        Training { project, samples, schedule, programs, start, engine, stalls, board: None, curves, checkpoint }
    }

    /// For the design that the training is about.
    pub fn into_basis(self) -> Basis {
        let Prepared { samples, schedule, programs, start, .. } = self;
        Basis { samples, schedule, programs, start }
    }

    fn model_file(&self, project: &Project, outcome: &Outcome) -> ModelFile {
        let last = outcome.last();
        let bits = project.config.machine.word();
        ModelFile {
            format_version: model_file::VERSION,
            program: project.name(),
            program_hash: self.hash.clone(),
            engine: last.name.to_owned(),
            set: self.set.clone(),
            loss: self.samples.settings.loss,
            encoding: self.samples.encoding.clone(),
            ranges: outcome.ranges.clone(),
            model: last.trained.model.clone(),
            shapes: self.samples.shapes_of_weights(),
            words: outcome.fractions.clone().map(|fractions| Words { bits, fractions }),
        }
    }
}

/// The numbers, if they are asked for; on real numbers there are none.
fn numbers(outcome: &Outcome, options: &Train) -> Option<Vec<report::Number>> {
    outcome.numbers.as_ref().filter(|_| options.explain_numbers).map(report::numbers)
}

fn mismatch(engine: &str, comparison: &Comparison) -> String {
    let first = comparison.first.as_deref().unwrap_or("");
    let Comparison { words, differing, cycle_counts_differing, .. } = comparison;
    format!(
        "{engine} differs from what stands above it in the ladder: {differing} of {words} words, {cycle_counts_differing} cycle counts; first: {first}"
    )
}

fn with_options(mut settings: Settings, options: &Train) -> Settings {
    settings.epochs = options.epochs.unwrap_or(settings.epochs);
    settings.batch = options.batch.unwrap_or(settings.batch);
    settings.shuffle |= options.shuffle;
    settings
}

/// The constants that make the program what it is: from the data, then from the user.
fn constants(project: &Project, samples: &Samples) -> BTreeMap<String, f64> {
    let mut set: BTreeMap<String, f64> = samples::defaults(&samples.settings, &samples.encoding).into_iter().collect();
    set.extend(project.settings_of_the_user());
    set
}

/// What a training gave, for programs.
pub fn document(outcome: &Outcome, project: &Project) -> Value {
    let part = |metrics: &dyn Fn(&Achieved) -> Option<Metrics>| {
        let each = outcome.results.iter().map(|result| (result.name.to_owned(), json!(metrics(result))));
        Value::Object(each.collect())
    };
    let (trained, comparison) = (&outcome.last().trained, outcome.comparison.as_ref());
    let line = |(line, results): (&usize, &u64)| json!({ "line": line, "results": results });
    let per_sample = trained.cycles.map(|cycles| cycles as f64 / trained.samples.max(1) as f64);
    let seconds = trained.cycles.map(|cycles| seconds(cycles, project));
    let curve = |result: &Achieved| (result.name.to_owned(), json!(result.curve));
    let mut document = json!({
        "schema_version": 1,
        "train": part(&|result| Some(result.train)),
        "test": part(&|result| result.test),
        "samples": trained.samples,
        "cycles_per_sample": per_sample,
        "cycles": trained.cycles,
        "clock_mhz": project.board.clock_mhz,
        "seconds": seconds,
        "saturated": trained.saturated,
        "compared_with": comparison.map(|c| c.with.as_str()),
        "words_compared": comparison.map(|c| c.words),
        "words_differing": comparison.map(|c| c.differing),
        "cycle_counts_differing": comparison.map(|c| c.cycle_counts_differing),
        "saturations": outcome.saturations.iter().map(line).collect::<Vec<_>>(),
    });
    if !outcome.last().curve.is_empty() {
        document["curves"] = Value::Object(outcome.results.iter().map(curve).collect());
    }
    document
}

fn seconds(cycles: u64, project: &Project) -> f64 {
    cycles as f64 / (project.board.clock_mhz * 1e6)
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
        samples.settings.epochs,
        samples.settings.batch
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
    let trained = &outcome.last().trained;
    if let Some(cycles) = trained.cycles {
        let clock = project.board.clock_mhz;
        text.push_str(&format!(
            "\n{:.2} cycles per sample, {cycles} cycles in all, {} at {clock} MHz\n",
            cycles as f64 / trained.samples.max(1) as f64,
            time(seconds(cycles, project)),
        ));
    }
    if let Some(comparison) = comparison {
        text.push_str(&format!(
            "{} words compared with {}, {} differ; {} cycle counts differ\n",
            comparison.words, comparison.with, comparison.differing, comparison.cycle_counts_differing
        ));
    }
    for (line, results) in &outcome.saturations {
        text.push_str(&format!("line {line}: {results} results were clipped to the word\n"));
    }
    text
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
