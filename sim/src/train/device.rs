//! A clocked grid as an engine: words in, words out, cycles counted.

use crate::driver::played::{Play, SampleSet};
use crate::driver::shares::Share;
use crate::driver::{Driver, Given, Outcome, Run as DriverRun, Stuck, Words};
use crate::grid::{Grid, Stalls};
use crate::train::engine::{Engine, EngineError, Epochs, GoesOn, NamedValues, Run, Signature, Step, one_by_one};
use arch::Image;
use arch::number::{quantise, to_f64};
use arch::store::COUNT_BITS;
use std::ops::Range;

/// A grid that runs one image.
pub struct Device<G: Grid> {
    driver: Driver<G>,
    prediction: Option<usize>,
    /// Which elements of the prediction have a value; the others count as 0.
    written: Vec<bool>,
    /// For each tensor of the image: which field of a step fills it.
    fields: Vec<Option<usize>>,
    /// For each tensor of the image: the name of the weights it holds, if it does.
    weights: Vec<Option<String>>,
    /// The weights as words, and constants of the program, which are sent with them.
    model: Words,
    /// Whether the grid's own copy is older than `model`.
    stale: bool,
}

impl<G: Grid> Device<G> {
    /// Load `image` into an idle grid. The image calls its tensors as the program does; `written` says which elements of the
    /// prediction the program computes.
    pub fn new(grid: G, image: Image, signature: &Signature, written: Vec<bool>, stalls: Stalls) -> Device<G> {
        let position = |name: &str| signature.fields.iter().position(|field| field.name == name);
        let is_model = |name: &str| signature.model.iter().any(|(weights, _)| weights == name);
        let tensors = &image.tensors;
        let prediction =
            tensors.iter().position(|t| t.name == signature.prediction.0).filter(|_| image.entries.emit_step.is_some());
        let fields = tensors.iter().map(|tensor| position(&tensor.name)).collect();
        let weights = tensors.iter().map(|tensor| is_model(&tensor.name).then(|| tensor.name.clone())).collect();
        let model = tensors.iter().map(|tensor| tensor.constant.clone().unwrap_or_default()).collect();
        Device { prediction, written, fields, weights, model, stale: true, driver: Driver::new(grid, image, stalls) }
    }

    fn words(&self, tensor: usize, values: &[f64]) -> Vec<i64> {
        let image = self.driver.image();
        let (fraction, word) = (image.tensors[tensor].fraction, image.machine.word());
        values.iter().map(|&value| quantise(value, fraction, word).0).collect()
    }

    fn values(&self, tensor: usize, words: &[i64]) -> Vec<f64> {
        let fraction = self.driver.image().tensors[tensor].fraction;
        words.iter().map(|&word| to_f64(word, fraction)).collect()
    }

    /// Any element of any tensor that a field of this step fills, as a word; others are 0.
    fn word_of<'a>(&self, step: &'a Step) -> impl Fn(usize, usize) -> i64 + use<'a, G> {
        let image = self.driver.image();
        let fields = self.fields.iter().zip(&image.tensors).map(|(field, tensor)| Some((field.as_ref()?, tensor)));
        let fields: Vec<Option<(&[f64], i32)>> =
            fields.map(|field| field.map(|(&field, tensor)| (step[field].as_slice(), tensor.fraction))).collect();
        let word = image.machine.word();
        move |tensor, element| {
            fields[tensor].map_or(0, |(values, fraction)| quantise(values[element], fraction, word).0)
        }
    }

    fn pack(&self, step: &Step) -> Words {
        let pack =
            |(tensor, field): (usize, &Option<usize>)| field.map_or_else(Vec::new, |n| self.words(tensor, &step[n]));
        self.fields.iter().enumerate().map(pack).collect()
    }
}

impl<G: Grid> Engine for Device<G> {
    fn load(&mut self, model: &NamedValues) {
        for tensor in 0..self.weights.len() {
            if let Some(name) = &self.weights[tensor] {
                self.model[tensor] = self.words(tensor, &model[name]);
            }
        }
        self.stale = true;
    }

    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        let steps: Vec<Words> = steps.iter().map(|step| self.pack(step)).collect();
        let emit_model = self.emits_model();
        self.stale |= self.driver.take_over();
        let run = DriverRun { load_model: self.stale.then_some(&self.model), steps: &steps, emit_model };
        let outcome = self.driver.run(run);
        self.finished(outcome)
    }

    fn run_epochs(
        &mut self,
        steps: &[Step],
        epochs: Epochs,
        goes_on: &mut GoesOn<'_>,
    ) -> Result<(Run, usize), EngineError> {
        let rows = self.driver.store_rows();
        let permuted = epochs.key.is_some() && self.driver.store_permutes();
        let pack = |steps: &[Step]| steps.iter().map(|step| self.pack(step)).collect::<Vec<Words>>();
        let set = if rows > 0 { SampleSet::new(self.driver.image(), &pack(steps), permuted) } else { None };
        let Some(set) = set else {
            return one_by_one(epochs, goes_on, |epoch| self.run(&epochs.steps(epoch, steps)));
        };
        let counts = steps.len() as u64 * epochs.count as u64 * u64::from(self.driver.image().tiles) <= u32::MAX.into()
            && epochs.count < 1 << COUNT_BITS;
        let stays = epochs.again && (epochs.key.is_none() || permuted);
        if stays && counts && set.rows() <= rows {
            return self.play(&set, epochs, goes_on);
        }
        // What does not stay is sent in every epoch, through the store if it is shorter there.
        let streams = set.is_packed() && self.driver.store_streams();
        one_by_one(epochs, goes_on, |epoch| {
            let steps = epochs.steps(epoch, steps);
            if streams { self.stream(&steps) } else { self.run(&steps) }
        })
    }

    fn model(&self) -> NamedValues {
        let named = self.weights.iter().enumerate().filter_map(|(tensor, name)| Some((tensor, name.clone()?)));
        named.map(|(tensor, name)| (name, self.values(tensor, &self.model[tensor]))).collect()
    }
}

impl<G: Grid> Device<G> {
    /// The image that it runs.
    pub(super) fn image(&self) -> &Image {
        self.driver.image()
    }

    /// What ends batches that are divided; `None`: their last tile.
    pub(super) fn conclude_by(&mut self, conclusion: Option<Image>) {
        self.driver.conclude_by(conclusion);
    }

    /// Tiles of a batch that are divided.
    pub(super) fn divided_tiles(&self) -> u32 {
        self.driver.divided_tiles()
    }

    /// Some of the tiles of a batch that are divided, and their sums.
    pub(super) fn share(&mut self, batch: &Step, tiles: Range<u32>) -> Result<(Vec<i128>, Outcome), Stuck> {
        let word = self.word_of(batch);
        self.stale |= self.driver.take_over();
        let load_model = self.stale.then_some(&self.model);
        let shared = self.driver.share(&Share { load_model, batch: Given::Each(&word), tiles, emit_model: false })?;
        self.stale = false;
        Ok(shared)
    }

    /// The end of a batch that has these sums; the weights are taken from the grid if they are `wanted`.
    pub(super) fn conclude(&mut self, batch: &Step, totals: &[i128], wanted: bool) -> Result<Outcome, Stuck> {
        let word = self.word_of(batch);
        let emit_model = wanted && self.emits_model();
        let load_model = self.stale.then_some(&self.model);
        let share = Share { load_model, batch: Given::Each(&word), tiles: 0..0, emit_model };
        let outcome = self.driver.conclude_with(totals, &share)?;
        self.stale = false;
        if emit_model {
            self.keep(&outcome.model);
        }
        Ok(outcome)
    }
}

impl<G: Grid> Device<G> {
    /// Why the grid is dead, if it is.
    pub(super) fn failure(&self) -> Option<String> {
        self.driver.failure()
    }

    /// Play a set from the store, and take the weights.
    fn play(&mut self, set: &SampleSet, epochs: Epochs, goes_on: &mut GoesOn<'_>) -> Result<(Run, usize), EngineError> {
        self.stale |= self.driver.take_over();
        let emit_model = self.emits_model();
        let load_model = self.stale.then_some(&self.model);
        let goes_on = &mut |done: u32| goes_on(done as usize);
        let Epochs { count, key, .. } = epochs;
        let play = Play { epochs: count as u32, key, load_model, emit_model, goes_on };
        let (outcome, done) = self.driver.play(set, play).map_or_else(|stuck| (Err(stuck), 0), |(o, n)| (Ok(o), n));
        Ok((self.finished(outcome)?, done as usize))
    }

    /// Send an epoch through the store, which plays meanwhile what it has.
    fn stream(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        let words: Vec<Words> = steps.iter().map(|step| self.pack(step)).collect();
        let set = SampleSet::new(self.driver.image(), &words, false).expect("in another order it is a set, too");
        self.stale |= self.driver.take_over();
        let emit_model = self.emits_model();
        let outcome = self.driver.stream(&set, self.stale.then_some(&self.model), emit_model);
        self.finished(outcome)
    }

    /// The weights are these.
    fn keep(&mut self, model: &Words) {
        for (tensor, words) in model.iter().enumerate() {
            if self.weights[tensor].is_some() && !words.is_empty() {
                self.model[tensor].clone_from(words);
            }
        }
    }

    fn emits_model(&self) -> bool {
        self.driver.image().entries.emit_model.is_some()
    }

    /// Keep the weights of a run, and say what it gave.
    fn finished(&mut self, outcome: Result<Outcome, Stuck>) -> Result<Run, EngineError> {
        if let Some(failure) = self.driver.failure() {
            return Err(EngineError::Device(failure));
        }
        let outcome = outcome.map_err(|stuck| EngineError::Stuck(stuck.to_string()))?;
        self.stale = false;
        if self.emits_model() {
            self.keep(&outcome.model);
        }
        let predictions = match self.prediction {
            Some(tensor) => {
                let mask = |(value, &written)| if written { value } else { 0.0 };
                let values = |step: &Words| {
                    self.values(tensor, &step[tensor]).into_iter().zip(&self.written).map(mask).collect()
                };
                outcome.steps.iter().map(values).collect()
            }
            None => Vec::new(),
        };
        Ok(Run { predictions, cycles: Some(outcome.cycles), saturated: outcome.saturated })
    }
}
