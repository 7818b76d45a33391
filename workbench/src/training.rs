//! A training on an engine, with the golden model beside it; it can be interrupted and resumed.
//!
//! ```text
//! samples ──▶ golden ──▶ ranges ──▶ binary points ──▶ engine below ──▶ what was compared, clipped, reached
//! ```

pub mod checkpoint;
pub mod engines;
mod epochs;
pub mod model_file;
pub mod prediction;
pub mod ranks;
mod stalls;
pub mod widths;
pub mod written;

use crate::checkpoint::{Checkpoint, Reached};
use crate::engines::{NamedRanges, Programs, Rung};
use crate::failure::Failure;
use crate::model_file::{ModelFile, Words};
use crate::progress::{Listening, Progress};
use crate::project::Project;
use crate::samples::{self, Samples};
use crate::saturation::{self, Saturation};
use crate::serial::AttachedBoard;
use crate::simulated::Spent;
use compiler::fixed::{self, NumberReport};
use epochs::{merged, sum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sim::distance::{Accuracy, Distance, Trainings, Verdict, narrowest};
use sim::train::compared::Compare;
use sim::train::engine::{Comparison, NamedValues};
use sim::train::metrics::{Confusion, Metrics};
use sim::train::moves::{AllMoves, Stall};
use sim::train::ranks::Communicator;
use sim::train::rate::Shape;
use sim::train::{Schedule, Trained, initial_model};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// Everything that is known before a training: no machine decides it.
#[derive(Clone)]
pub struct Training {
    /// Program and config.
    pub project: Project,
    /// Program with data.
    pub samples: Samples,
    /// Epochs and batches.
    pub schedule: Schedule,
    /// Programs of a batch, of what is left over, of a prediction.
    pub programs: Programs,
    /// Weights before the first step.
    pub start: NamedValues,
    /// Constants that make the program what it is.
    set: BTreeMap<String, f64>,
}

/// Engine and options of a training run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// The lowest engine; the golden one always trains too.
    pub rung: Rung,
    /// Seed of random stalls.
    pub stalls: Option<u64>,
    /// When the RTL is compared with the array.
    pub compare: Compare,
    /// The board, if that is the engine.
    pub board: Option<&'a AttachedBoard>,
    /// One for each rank, if ranks are threads of this process.
    pub boards: &'a [AttachedBoard],
    /// Whether the weights of every epoch are judged.
    pub curves: bool,
    /// Whether the weights that are kept are judged by the engine's own predictions; otherwise by those of real numbers.
    pub own_predictions: bool,
    /// Epochs from one checkpoint to the next where a board plays them from its store.
    pub checkpoint_every: usize,
    /// The ranks that share the batches, of which this is one.
    pub ranks: Option<&'a Rc<dyn Communicator>>,
    /// Whether wider words are tried where these do not suffice.
    pub tries_wider: bool,
}

impl RunOptions<'_> {
    /// This engine, with default options.
    pub fn on(rung: Rung) -> Self {
        let (curves, own_predictions) = (false, true);
        RunOptions {
            rung,
            stalls: None,
            compare: Compare::default(),
            board: None,
            boards: &[],
            curves,
            own_predictions,
            checkpoint_every: 1,
            ranks: None,
            tries_wider: true,
        }
    }
}

/// Loss and score of the weights after an epoch, on all samples of each part. Predictions are on real numbers; those of the weights that are kept in
/// the end are the engine's own, so that point is what the results say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Most samples whose loss is shown while a training goes on.
const SHOWN: usize = 256;

/// Result of one engine.
pub struct EngineResult {
    /// Name of the engine.
    pub name: &'static str,
    /// Weights, cycles, samples.
    pub trained: Trained,
    /// On the training part, with the engine's own predictions.
    pub train: Metrics,
    /// On the test part.
    pub test: Option<Metrics>,
    /// Which classes it takes for which, of the test part, or of the training part where there is none.
    pub confusion: Option<Confusion>,
    /// The class that each row of that part is taken for.
    pub classes: Option<Vec<usize>>,
    /// How often weights changed in each epoch of this run.
    pub moves: Vec<(usize, AllMoves)>,
    /// Epoch by epoch, if that was asked for.
    pub curve: Vec<Point>,
    /// What the line to a simulated board had spent with the last weight.
    pub spent: Option<Spent>,
}

/// What a training gave.
pub struct Outcome {
    /// The golden model, then the engine below it, if there is one.
    pub results: Vec<EngineResult>,
    /// How far the weights are from golden's, below golden.
    pub distance: Option<Distance>,
    /// Whether the words suffice, below golden.
    pub verdict: Option<Verdict>,
    /// What was compared with the rungs above.
    pub comparison: Option<Comparison>,
    /// Updates that round to nothing.
    pub stalls: Vec<Stall>,
    /// What was clipped to the word.
    pub saturations: Vec<Saturation>,
    /// What inputs and weights the result is made for.
    pub valid: NamedRanges,
    /// Smallest and largest values of the golden run.
    pub ranges: NamedRanges,
    /// Bits after the binary point of the weights, if they are words.
    pub fractions: Option<BTreeMap<String, i32>>,
    /// How the binary points were found, below golden.
    pub numbers: Option<NumberReport>,
}

impl Outcome {
    /// The lowest engine.
    pub fn last(&self) -> &EngineResult {
        &self.results[self.results.len() - 1]
    }
}

impl Training {
    /// Prepare the training of samples.
    ///
    /// # Errors
    /// No full batch exists; the program cannot be batched, or needs what canonical form does not have.
    pub fn new(project: Project, samples: Samples) -> Result<Training, Failure> {
        let schedule = samples.schedule()?;
        let programs = Programs::new(&project, &samples, &schedule)?;
        let shapes = samples.shapes_of_weights();
        let bound = |name: &str| samples.settings.initial(name).bound(&shapes[name]);
        let mut start = initial_model(&samples.signature, bound, schedule.seed);
        // Weights of a model that was imported go on from what they are.
        for (name, values) in &mut start {
            if let Some(own) = project.imported().and_then(|imported| imported.values(name))
                && own.len() == values.len()
                && !samples.settings.initial.contains_key(name)
            {
                *values = own;
            }
        }
        let set = project.constants(&samples::defaults(&samples.settings, &samples.encoding)).into_iter().collect();
        Ok(Training { project, samples, schedule, programs, start, set })
    }

    /// Begin with the weights of a saved model.
    ///
    /// # Errors
    /// It is of another program.
    pub fn start_from(&mut self, path: &Path, file: &ModelFile) -> Result<(), Failure> {
        file.check(path, &self.program_hash(), &self.samples.signature.model)?;
        self.start.clone_from(&file.model);
        Ok(())
    }

    /// Begin with these weights; those that are not given stay.
    ///
    /// # Errors
    /// The program has no such weights, or not as many.
    pub fn start_with(&mut self, weights: NamedValues) -> Result<(), Failure> {
        for (name, values) in weights {
            match self.start.get_mut(&name) {
                Some(start) if start.len() == values.len() => *start = values,
                Some(start) => {
                    let message = format!("`{name}` has {} weights, {} are given", start.len(), values.len());
                    return Err(Failure::Usage(message));
                }
                None => return Err(Failure::Usage(format!("the program has no weights `{name}`"))),
            }
        }
        Ok(())
    }

    fn program_hash(&self) -> String {
        model_file::program_hash(&self.project.source.text, &self.set)
    }

    /// Train on real numbers, to see what values there are.
    ///
    /// # Errors
    /// It diverges, or is cancelled.
    pub fn ranges(&self, progress: &dyn Progress) -> Result<NamedRanges, Failure> {
        Ok(self.run(&RunOptions::on(Rung::Golden), None, progress)?.ranges)
    }

    /// Train; go on from `begun`, if it has begun.
    ///
    /// # Errors
    /// It diverges, does not fit, a tool is missing, it is cancelled.
    pub fn run(
        &self,
        how: &RunOptions<'_>,
        begun: Option<Checkpoint>,
        progress: &dyn Progress,
    ) -> Result<Outcome, Failure> {
        let _listening = Listening::begin(progress);
        if let Some(all) = how.ranks {
            ranks::check(self, how, begun.as_ref(), all.as_ref())?;
        }
        let mut kept = begun.unwrap_or_else(|| Checkpoint::new(self.identity(how)));
        let mut golden = self.programs.golden(&self.samples.signature, how.ranks);
        let reals = self.achieve(Rung::Golden, how, &mut golden, &mut kept, progress)?;
        engines::check_bounded(&self.project, &reals.trained.model)?;
        let ranges = merged(&kept.golden.ranges, self.programs.ranges(&golden));
        let mut outcome = Outcome {
            results: vec![reals],
            distance: None,
            verdict: None,
            comparison: None,
            stalls: Vec::new(),
            saturations: Vec::new(),
            valid: saturation::valid_for_reals(&self.samples.signature, &ranges),
            ranges,
            fractions: None,
            numbers: None,
        };
        if how.rung != Rung::Golden {
            let (project, programs, samples) = (&self.project, &self.programs, &self.samples);
            let options =
                engines::Options { stalls: how.stalls, board: how.board, ranks: how.ranks, compare: how.compare };
            let (mut lower, lowered) =
                engines::lower(how.rung, project, programs, samples, &outcome.ranges, options, progress)?;
            let before = kept.lower.get_or_insert_with(Reached::default).clone();
            outcome.results.push(self.achieve(how.rung, how, &mut lower, &mut kept, progress)?);
            let updates = lowered.full.as_ref().unwrap_or(&lowered.predict);
            let mut accuracy = self.accuracy(&outcome, updates)?;
            if how.tries_wider && how.ranks.is_none() && !accuracy.verdict.suffices && self.is_short(updates) {
                accuracy.need(narrowest(updates.word, |word| self.suffices_in(word, &outcome)));
            }
            // Nobody watches the weights of ranks.
            if how.ranks.is_none() {
                outcome.stalls = self.stalls(&outcome, updates);
            }
            progress.warnings(&project.source, accuracy.lost_bits.as_slice());
            progress.warnings(
                &project.source,
                &stalls::stalled(&outcome.stalls, updates, accuracy.verdict.suffices, self.rounds_to_nearest()),
            );
            outcome.distance = Some(accuracy.distance);
            outcome.verdict = Some(accuracy.verdict);
            outcome.fractions = Some(lowered.fractions());
            outcome.valid = saturation::valid_for_words(&lowered.predict);
            outcome.numbers = Some(lowered.numbers);
            outcome.comparison = sum(before.comparison.as_ref(), sim::train::comparison(&lower));
            outcome.saturations = self.clipped(&before, &lower);
        }
        Ok(outcome)
    }

    /// How far the lowest engine is from golden after the training.
    fn accuracy(&self, outcome: &Outcome, lowered: &fixed::Program) -> Result<Accuracy, Failure> {
        let samples = &self.samples;
        let mut observer = self.programs.observer(&samples.signature);
        let first = &samples.train[..samples.train.len().min(SHOWN)];
        let started = self.judge(observer.as_mut(), self.start.clone(), first, &[]);
        let started = started.map_err(|error| Failure::of_engine(&self.project.source, error))?;
        let (golden, last) = (&outcome.results[0], outcome.last());
        let trainings = Trainings {
            golden: &golden.trained.model,
            words: &last.trained.model,
            losses: (golden.train.loss, last.train.loss),
            first_loss: started.train.loss,
            scores: golden.train.accuracy.zip(last.train.accuracy),
            rows: if samples.test.is_empty() { &samples.train } else { &samples.test }.len() as u64,
            flips: golden.classes.as_ref().zip(last.classes.as_ref()).map(|(golden, words)| {
                golden.iter().zip(words).filter(|(golden, words)| golden != words).count() as u64
            }),
        };
        Ok(trainings.accuracy(lowered))
    }

    /// What makes it this training: a checkpoint of another one is refused.
    pub fn identity(&self, how: &RunOptions<'_>) -> BTreeMap<String, String> {
        let short = |hash: Sha256| arch::tools::hex(&hash.finalize())[..16].to_owned();
        let text = |text: &str| short(Sha256::new_with_prefix(text));
        let Schedule { epochs, batch, reduction, order, seed, rate } = self.schedule;
        let mut data = Sha256::new();
        let Samples { train, validation, test, .. } = &self.samples;
        for value in train.iter().chain(validation).chain(test).flatten().flatten() {
            data.update(value.to_le_bytes());
        }
        let mut start = Sha256::new();
        for value in self.start.values().flatten() {
            start.update(value.to_le_bytes());
        }
        let (spec, numbers) = (self.project.spec(), &self.project.config.numbers);
        // A cosine is stretched over all epochs, so with more of them the first ones are others.
        let rate = rate.map_or("constant".to_owned(), |rate| match rate.shape {
            Shape::Cosine => format!("{rate:?} over {epochs} epochs"),
            _ => format!("{rate:?}"),
        });
        let shown = [
            ("tabla-gen", env!("CARGO_PKG_VERSION").to_owned()),
            ("program", text(&self.samples.program.to_string())),
            ("data", short(data)),
            ("initial weights", short(start)),
            ("engine", how.rung.as_str().to_owned()),
            ("machine", text(&format!("{:?} {numbers:?}", spec.given()))),
            (checkpoint::EPOCHS, epochs.to_string()),
            ("batch", batch.to_string()),
            ("reduction", format!("{reduction:?}").to_lowercase()),
            ("order", format!("{order:?}").to_lowercase()),
            ("rate", rate),
            ("validation", validation.len().to_string()),
            ("seed", seed.to_string()),
            ("stalls", how.stalls.map_or("none".to_owned(), |seed| seed.to_string())),
        ];
        let all = shown.into_iter().chain(self.samples.settings.identity());
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The weights of a training, to be kept.
    pub fn model_file(&self, outcome: &Outcome) -> ModelFile {
        let last = outcome.last();
        let bits = self.project.numbers().word;
        ModelFile {
            format_version: model_file::VERSION,
            program: self.project.name(),
            program_hash: self.program_hash(),
            engine: last.name.to_owned(),
            set: self.set.clone(),
            loss: self.samples.settings.loss.clone(),
            encoding: self.samples.encoding.clone(),
            ranges: outcome.ranges.clone(),
            model: last.trained.model.clone(),
            shapes: self.samples.shapes_of_weights(),
            words: outcome.fractions.clone().map(|fractions| Words { bits, fractions }),
            recipe: Some(self.project.recipe(&self.samples.settings)),
            valid: outcome.valid.clone(),
            sha256: None,
        }
    }
}
