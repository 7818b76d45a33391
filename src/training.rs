//! A training on an engine, with the golden model beside it; it can be broken off and taken up again.
//!
//!     samples ──▶ golden ──▶ ranges ──▶ binary points ──▶ engine below ──▶ what was compared, clipped, reached

use crate::arguments::EngineName;
use crate::checkpoint::{Checkpoint, Progress};
use crate::engines::{self, NamedRanges, Programs};
use crate::failure::Failure;
use crate::images;
use crate::interrupt;
use crate::output::Talk;
use crate::project::Project;
use crate::samples::Samples;
use crate::serial::Board;
use compiler::fixed::NumberReport;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sim::train::engine::{Comparison, Engine, EngineError, Model, Step};
use sim::train::metrics::Metrics;
use sim::train::{Engines, Schedule, Trained, predict, resume};
use std::collections::BTreeMap;
use std::path::Path;

/// What is trained, on what.
pub struct Training<'a> {
    /// Program and config.
    pub project: &'a Project,
    /// Program with data.
    pub samples: &'a Samples,
    /// Epochs and batches.
    pub schedule: &'a Schedule,
    /// Programs of a batch, of what is left over, of a prediction.
    pub programs: &'a Programs,
    /// Weights before the first step.
    pub start: &'a Model,
    /// The lowest engine.
    pub engine: EngineName,
    /// Seed of random stalls.
    pub stalls: Option<u64>,
    /// The board, if that is the engine.
    pub board: Option<&'a Board>,
    /// Whether the weights of every epoch are judged.
    pub curves: bool,
    /// Where to keep what has been reached.
    pub checkpoint: Option<&'a Path>,
}

/// Loss and score of the weights after an epoch, on real numbers and on at most [`SHOWN`] samples of each part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Epochs done.
    pub epoch: usize,
    /// On the training part.
    pub train: Metrics,
    /// On the test part.
    #[serde(default)]
    pub test: Option<Metrics>,
}

/// Most samples of a part that are judged after each epoch.
pub const SHOWN: usize = 256;

/// What one engine achieved.
pub struct Achieved {
    /// Name of the engine.
    pub name: &'static str,
    /// Weights, cycles, samples.
    pub trained: Trained,
    /// On the training part, with the engine's own predictions.
    pub train: Metrics,
    /// On the test part.
    pub test: Option<Metrics>,
    /// Epoch by epoch, if that was asked for.
    pub curve: Vec<Point>,
}

/// What a training gave.
pub struct Outcome {
    /// The golden model, then the engine below it, if there is one.
    pub results: Vec<Achieved>,
    /// What was compared with the rungs above.
    pub comparison: Option<Comparison>,
    /// Clipped results by source line.
    pub saturations: BTreeMap<usize, u64>,
    /// Smallest and largest values of the golden run.
    pub ranges: NamedRanges,
    /// Bits after the binary point of the weights, if they are words.
    pub fractions: Option<BTreeMap<String, i32>>,
    /// How the binary points were found, below golden.
    pub numbers: Option<NumberReport>,
}

impl Outcome {
    /// The lowest engine.
    pub fn last(&self) -> &Achieved {
        &self.results[self.results.len() - 1]
    }
}

impl Training<'_> {
    /// Train; go on from `begun`, if it has begun.
    ///
    /// # Errors
    /// It diverges, does not fit, a tool is missing, the user breaks it off.
    pub fn run(&self, begun: Option<Checkpoint>, talk: &Talk) -> Result<Outcome, Failure> {
        let _cooperative = interrupt::Cooperative::begin();
        let mut kept = begun.unwrap_or_else(|| Checkpoint::new(self.identity()));
        let mut golden = engines::golden(self.programs, &self.samples.signature);
        let reals = self.achieve("golden", &mut golden, &mut kept, talk)?;
        engines::check_bounded(self.project, &reals.trained.model)?;
        let ranges = merged(&kept.golden.ranges, self.programs.ranges(&golden));
        let mut outcome = Outcome {
            results: vec![reals],
            comparison: None,
            saturations: BTreeMap::new(),
            ranges,
            fractions: None,
            numbers: None,
        };
        if self.engine != EngineName::Golden {
            let (project, programs, samples) = (self.project, self.programs, self.samples);
            let options = engines::Options { stalls: self.stalls, board: self.board };
            let (mut lower, lowered) =
                engines::lower(self.engine, project, programs, samples, &outcome.ranges, options, talk)?;
            let before = kept.lower.get_or_insert_with(Progress::default).clone();
            outcome.results.push(self.achieve(self.engine.as_str(), &mut lower, &mut kept, talk)?);
            outcome.fractions = Some(lowered.fractions());
            outcome.numbers = Some(lowered.numbers);
            outcome.comparison = sum(before.comparison.as_ref(), sim::train::comparison(&lower));
            outcome.saturations = self.clipped(&before.saturations, &lower);
        }
        Ok(outcome)
    }

    /// What makes it this training: a checkpoint of another one is refused.
    pub fn identity(&self) -> BTreeMap<String, String> {
        let short = |hash: Sha256| arch::tools::hex(&hash.finalize())[..16].to_owned();
        let text = |text: &str| short(Sha256::new_with_prefix(text));
        let Schedule { epochs, batch, reduction, shuffle, seed } = *self.schedule;
        let mut data = Sha256::new();
        for value in self.samples.train.iter().chain(&self.samples.test).flatten().flatten() {
            data.update(value.to_le_bytes());
        }
        let mut start = Sha256::new();
        for value in self.start.values().flatten() {
            start.update(value.to_le_bytes());
        }
        let config = &self.project.config;
        [
            ("tabla-gen", env!("CARGO_PKG_VERSION").to_owned()),
            ("program", text(&self.samples.program.to_string())),
            ("data", short(data)),
            ("initial weights", short(start)),
            ("engine", self.engine.as_str().to_owned()),
            ("machine", text(&format!("{:?} {:?}", config.spec, config.numbers))),
            ("epochs", epochs.to_string()),
            ("batch", batch.to_string()),
            ("reduction", format!("{reduction:?}").to_lowercase()),
            ("shuffle", shuffle.to_string()),
            ("seed", seed.to_string()),
            ("stalls", self.stalls.map_or("none".to_owned(), |seed| seed.to_string())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn clipped(&self, before: &BTreeMap<usize, u64>, engines: &Engines) -> BTreeMap<usize, u64> {
        let mut lines = images::by_line(self.project, &engines.full.saturations());
        for (line, count) in before {
            *lines.entry(*line).or_insert(0) += count;
        }
        lines
    }

    /// Train on one engine and judge the result.
    fn achieve(
        &self,
        name: &'static str,
        engines: &mut Engines,
        kept: &mut Checkpoint,
        talk: &Talk,
    ) -> Result<Achieved, Failure> {
        let (samples, schedule) = (self.samples, self.schedule);
        let bar = progress(name, schedule, talk);
        let golden = name == "golden";
        let before = if golden { kept.golden.clone() } else { kept.lower.clone().unwrap_or_default() };
        let start = if before.epochs == 0 {
            Trained { model: self.start.clone(), ..Trained::default() }
        } else {
            talk.detail(format!("{name}: {} epochs of {} are done", before.epochs, schedule.epochs));
            bar.inc(before.epochs as u64);
            before.trained.clone()
        };
        // Whatever trains, the loss that is shown and drawn comes from predictions on real numbers.
        let mut observer = self.programs.observer(&samples.signature);
        let part = |steps: &[Step]| -> Vec<Step> { steps[..steps.len().min(SHOWN)].to_vec() };
        let (shown, tested) = (part(&samples.train), part(&samples.test));
        let mut curve = before.curve.clone();
        let mut failed = None;
        let trained =
            resume(engines, &samples.train, schedule, before.epochs, start, &mut |epoch, trained, engines| {
                let said = talk.shows_progress() || talk.says_details();
                if said || self.curves {
                    let train = samples.judge(&predict(observer.as_mut(), &trained.model, &shown)?, &shown);
                    bar.set_message(format!("loss {:.5}", train.loss));
                    if !talk.shows_progress() {
                        talk.detail(format!(
                            "{name}: epoch {} of {}, loss {:.5}",
                            epoch + 1,
                            schedule.epochs,
                            train.loss
                        ));
                    }
                    if self.curves {
                        let test = predict(observer.as_mut(), &trained.model, &tested)?;
                        let test = (!tested.is_empty()).then(|| samples.judge(&test, &tested));
                        curve.push(Point { epoch: epoch + 1, train, test });
                    }
                }
                bar.inc(1);
                if let Some(path) = self.checkpoint {
                    let progress = Progress {
                        epochs: epoch + 1,
                        trained: trained.clone(),
                        ranges: if golden {
                            merged(&before.ranges, self.programs.ranges(engines))
                        } else {
                            NamedRanges::new()
                        },
                        comparison: sum(before.comparison.as_ref(), sim::train::comparison(engines)),
                        saturations: self.clipped(&before.saturations, engines),
                        curve: curve.clone(),
                    };
                    *(if golden { &mut kept.golden } else { kept.lower.get_or_insert_default() }) = progress;
                    if let Err(failure) = kept.save(path) {
                        failed = Some(failure);
                        return Err(EngineError::Interrupted);
                    }
                }
                if interrupt::requested() { Err(EngineError::Interrupted) } else { Ok(()) }
            });
        bar.finish_and_clear();
        if let Some(failure) = failed {
            return Err(failure);
        }
        let trained = trained.inspect_err(|error| {
            if let (EngineError::Interrupted, Some(path)) = (error, self.checkpoint) {
                talk.say(format!(
                    "the epochs that are done are kept: the same command with --resume {} goes on",
                    path.display()
                ));
            }
        })?;
        let mut judge = |steps: &[Step]| -> Result<Metrics, Failure> {
            let engine: &mut dyn Engine = engines.predict.as_mut();
            Ok(samples.judge(&predict(engine, &trained.model, steps)?, steps))
        };
        let train = judge(&samples.train)?;
        let test = if samples.test.is_empty() { None } else { Some(judge(&samples.test)?) };
        Ok(Achieved { name, trained, train, test, curve })
    }
}

fn progress(name: &'static str, schedule: &Schedule, talk: &Talk) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(schedule.epochs as u64), ProgressDrawTarget::stderr());
    if !talk.shows_progress() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{prefix:>8} {bar:32} epoch {pos}/{len}  {msg}  {eta}") {
        bar.set_style(style);
    }
    bar.set_prefix(name);
    bar
}

/// The values of both.
fn merged(before: &NamedRanges, now: NamedRanges) -> NamedRanges {
    let mut all = now;
    for (name, &(low, high)) in before {
        let range = all.entry(name.clone()).or_insert((low, high));
        *range = (range.0.min(low), range.1.max(high));
    }
    all
}

/// What was compared before and since.
fn sum(before: Option<&Comparison>, since: Option<Comparison>) -> Option<Comparison> {
    match (before, since) {
        (Some(before), Some(since)) => {
            let mut all = before.clone();
            all.add(&since);
            Some(all)
        }
        (before, since) => since.or_else(|| before.cloned()),
    }
}
