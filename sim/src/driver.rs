//! The host's side of a grid: loads an image, starts runs, packs what goes in and unpacks what comes out.
//!
//!     image ──▶ control port: programs, tables, entries
//!     model, steps ──pack by Image::model_in, step_in──▶ beats ──▶ grid ──▶ words ──unpack by step_out, model_out──▶ tensors
//!
//! This is the driver of the accelerator. The simulators and a board differ only in the [`Grid`] behind it. [`played`] feeds a grid from
//! the sample store before it; [`shares`] gives it some tiles of a batch.

pub mod played;
pub mod shares;

use crate::grid::{Grid, Host, Stalls};
use arch::image::Feed;
use arch::registers;
use arch::{Image, Machine};

/// Words of one tensor each, in the order of [`Image::tensors`]; empty where a tensor is not meant, or holds zeros.
pub type Words = Vec<Vec<i64>>;

/// The words of a step: as they are, or made when they are sent.
#[derive(Clone, Copy)]
pub enum Given<'a> {
    /// All of them.
    Words(&'a Words),
    /// One element of a tensor at a time.
    Each(&'a dyn Fn(usize, usize) -> i64),
}

/// Zeros in every tensor of an image, for a run whose words nobody looks at.
pub fn zeros(image: &Image) -> Words {
    vec![Vec::new(); image.tensors.len()]
}

/// The grid did not do what docs/machine.md says: a bug of ours, with what was seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the grid is stuck: {0}")]
pub struct Stuck(pub String);

/// What a run does.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Load these weights first.
    pub load_model: Option<&'a Words>,
    /// Inputs of the steps, each a whole batch.
    pub steps: &'a [Words],
    /// Send the weights at the end.
    pub emit_model: bool,
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Per batch, what it emitted, by tensor.
    pub steps: Vec<Words>,
    /// The weights, if they were asked for, by tensor.
    pub model: Words,
    /// Every word in the order in which it came out.
    pub raw: Vec<i64>,
    /// Clock cycles from start to done.
    pub cycles: u64,
    /// Whether a value that was written had been clipped to the word.
    pub saturated: bool,
}

/// A grid and the image it runs.
pub struct Driver<G: Grid> {
    image: Image,
    streams: Host,
    grid: G,
    /// Another program is part of the grid.
    refused: Option<Stuck>,
    /// How the sums of a batch leave and come back, while batches are divided.
    way: Option<shares::Way>,
    /// What ends batches that are divided.
    conclusion: Option<shares::Conclusion>,
}

impl<G: Grid> Driver<G> {
    /// Load `image` into a grid that was made for its machine and is idle.
    ///
    /// # Panics
    /// When an instruction does not fit its machine: the compiler has checked that.
    pub fn new(mut grid: G, image: Image, stalls: Stalls) -> Driver<G> {
        grid.take_over();
        let refused = load_image(&mut grid, &image).err();
        Driver { image, streams: Host::new(stalls), grid, refused, way: None, conclusion: None }
    }

    /// The image that is loaded.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Load another image for the same machine.
    ///
    /// # Panics
    /// When it was made for another machine.
    pub fn load(&mut self, image: Image) {
        assert_eq!(image.machine, self.image.machine, "the image is for another machine");
        self.refused = load_image(&mut self.grid, &image).err();
        self.image = image;
        (self.way, self.conclusion) = (None, None);
    }

    /// Why the grid is dead, if it is.
    pub fn failure(&self) -> Option<String> {
        self.grid.failure()
    }

    /// Load the image again if somebody else used the grid. True if so: the weights in it are lost, too.
    pub fn take_over(&mut self) -> bool {
        let lost = self.grid.take_over();
        if lost {
            self.refused = load_image(&mut self.grid, &self.image).err();
            self.way = None;
            if let Some(conclusion) = &mut self.conclusion {
                conclusion.loaded = false;
            }
        }
        lost
    }

    /// Run.
    ///
    /// # Errors
    /// When the grid stops taking input, giving output or becoming done, or can only run another program.
    pub fn run(&mut self, run: Run<'_>) -> Result<Outcome, Stuck> {
        self.check()?;
        if !run.steps.is_empty() {
            self.close_way();
        }
        let (steps, emit_model) = (run.steps.len(), run.emit_model);
        let (expected, patience) = (self.expected(steps, emit_model), self.patience());
        let mut beats = Beats::new(&self.image, &run);
        let mut raw = Vec::new();
        let flags = if run.load_model.is_some() { registers::START_LOAD_MODEL } else { 0 };
        start(&mut self.grid, steps as u32 * self.image.tiles, flags, emit_model);
        exchange(&mut self.grid, &mut self.streams, &mut || beats.next(), expected, patience, &mut raw)?;
        self.conclude(steps, emit_model, raw)
    }

    /// Only its own program runs on a grid that has one.
    fn check(&self) -> Result<(), Stuck> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Longer than any wait inside a run: a step, and stalls.
    fn patience(&self) -> u64 {
        4 * u64::from(self.image.step_length) + 10_000
    }

    /// The end of a run of so many batches that has given all its words.
    fn conclude(&mut self, steps: usize, emit_model: bool, raw: Vec<i64>) -> Result<Outcome, Stuck> {
        let patience = self.patience();
        self.streams.take_words();
        self.streams.finish(&mut self.grid, patience).map_err(|stuck| Stuck(stuck.to_string()))?;
        let more = self.streams.take_words();
        if !more.is_empty() {
            let expected = raw.len();
            return Err(Stuck(format!("{} words came out after all {expected} expected words", more.len())));
        }
        Ok(self.result(steps, emit_model, raw))
    }

    /// What a run of so many batches gave, by its words and the registers of the grid.
    fn result(&mut self, steps: usize, emit_model: bool, raw: Vec<i64>) -> Outcome {
        let mut outcome = Outcome { raw, ..Outcome::default() };
        outcome.saturated = self.grid.control_read(registers::CONTROL) & registers::SATURATED != 0;
        outcome.cycles = u64::from(self.grid.control_read(registers::CYCLES_LOW))
            | u64::from(self.grid.control_read(registers::CYCLES_HIGH)) << 32;
        let mut words = outcome.raw.chunks(self.image.machine.output_words() as usize);
        for _ in 0..steps {
            let step = if self.image.entries.emit_step.is_some() { self.image.step_out.as_slice() } else { &[] };
            outcome.steps.push(unpack(&self.image, step, &mut words));
        }
        if emit_model {
            outcome.model = unpack(&self.image, &self.image.model_out, &mut words);
        }
        outcome
    }

    /// Begin a run and go away in the middle of it, after so many cycles.
    pub fn abandon(mut self, run: Run<'_>, cycles: u64) {
        let mut beats = Beats::new(&self.image, &run);
        let flags = if run.load_model.is_some() { registers::START_LOAD_MODEL } else { 0 };
        start(&mut self.grid, run.steps.len() as u32 * self.image.tiles, flags, run.emit_model);
        let mut beat = beats.next();
        for cycle in 0..cycles {
            if self.grid.cycle(beat.as_deref(), cycle % 2 == 0).input_taken {
                beat = beats.next();
            }
        }
    }

    /// Words that come out of a run of so many batches, those of lanes that carry nothing included.
    fn expected(&self, steps: usize, emit_model: bool) -> usize {
        let lanes = self.image.machine.output_words() as usize;
        let words = |feeds: &[Feed]| feeds.iter().map(Feed::beats).sum::<u64>() as usize * lanes;
        let step = if self.image.entries.emit_step.is_some() { words(&self.image.step_out) } else { 0 };
        let model = if emit_model { words(&self.image.model_out) } else { 0 };
        step * steps + model
    }
}

/// Start a run of so many steps.
fn start<G: Grid>(grid: &mut G, steps: u32, flags: u32, emit_model: bool) {
    grid.control_write(registers::STEPS, steps);
    let emit = if emit_model { registers::START_EMIT_MODEL } else { 0 };
    grid.control_write(registers::CONTROL, registers::START | flags | emit);
}

/// Feed all `beats`, and take words until there are `expected` of them.
fn exchange<G: Grid>(
    grid: &mut G,
    streams: &mut Host,
    beats: &mut dyn FnMut() -> Option<Vec<i64>>,
    expected: usize,
    patience: u64,
    raw: &mut Vec<i64>,
) -> Result<(), Stuck> {
    let mut idle = 0u64;
    loop {
        raw.extend_from_slice(streams.repeat(grid, beats));
        while streams.beats_left() < 2 {
            let Some(beat) = beats() else { break };
            streams.send(beat);
        }
        if streams.beats_left() == 0 && raw.len() >= expected {
            return Ok(());
        }
        let result = streams.cycle(grid);
        idle = if result.input_taken || !result.output.is_empty() { 0 } else { idle + 1 };
        raw.extend(result.output);
        if idle > patience {
            let (left, words) = (streams.beats_left(), raw.len());
            let beats = if left > 0 { "a beat of input waits" } else { "all input is taken" };
            return Err(Stuck(format!(
                "no transfer in {patience} cycles; {beats}, {words} of {expected} words came out"
            )));
        }
    }
}

fn unpack(image: &Image, feeds: &[Feed], beats: &mut std::slice::Chunks<'_, i64>) -> Words {
    let mut tensors = vec![Vec::new(); image.tensors.len()];
    for feed in feeds {
        let tensor = &image.tensors[feed.tensor];
        let elements = &mut tensors[feed.tensor];
        elements.resize(tensor.elements(), 0);
        feed.for_each_beat(|counters| {
            let carried = feed.beat(&tensor.shape, counters);
            for (lane, &word) in (0..).zip(beats.next().unwrap_or_default()) {
                if let Some(element) = carried.element(lane) {
                    elements[element] = word;
                }
            }
        });
    }
    tensors
}

/// The beats of a run, made one at a time: first the model, then step by step.
struct Beats<'a> {
    machine: &'a Machine,
    image: &'a Image,
    phases: Vec<(&'a [Feed], Given<'a>)>,
    phase: usize,
    feed: usize,
    counters: [u32; arch::isa::LEVELS],
}

impl<'a> Beats<'a> {
    fn new(image: &'a Image, run: &Run<'a>) -> Beats<'a> {
        let mut phases: Vec<(&[Feed], Given<'_>)> = Vec::new();
        if let (Some(model), Some(_)) = (run.load_model, image.entries.load_model) {
            phases.push((&image.model_in, Given::Words(model)));
        }
        if image.entries.step_load.is_some() {
            phases.extend(run.steps.iter().map(|step| (image.step_in.as_slice(), Given::Words(step))));
        }
        Beats { machine: &image.machine, image, phases, phase: 0, feed: 0, counters: [0; arch::isa::LEVELS] }
    }

    fn next(&mut self) -> Option<Vec<i64>> {
        loop {
            let &(feeds, given) = self.phases.get(self.phase)?;
            let Some(feed) = feeds.get(self.feed) else {
                (self.phase, self.feed) = (self.phase + 1, 0);
                continue;
            };
            let tensor = &self.image.tensors[feed.tensor];
            let lanes = self.machine.stream_words();
            let carried = || feed.beat(&tensor.shape, &self.counters);
            let beat = match given {
                Given::Words(words) if words[feed.tensor].is_empty() => vec![0; lanes as usize],
                Given::Words(words) => {
                    let (values, carried) = (&words[feed.tensor], carried());
                    debug_assert_eq!(values.len(), tensor.elements(), "words of `{}`", tensor.name);
                    (0..lanes).map(|lane| carried.element(lane).map_or(0, |element| values[element])).collect()
                }
                Given::Each(word) => {
                    let carried = carried();
                    (0..lanes).map(|lane| carried.element(lane).map_or(0, |at| word(feed.tensor, at))).collect()
                }
            };
            self.advance(feed);
            return Some(beat);
        }
    }

    fn advance(&mut self, feed: &Feed) {
        for level in (0..self.counters.len()).rev() {
            self.counters[level] += 1;
            if self.counters[level] < feed.counts[level] {
                return;
            }
            self.counters[level] = 0;
        }
        self.feed += 1;
    }
}

fn load_image<G: Grid>(grid: &mut G, image: &Image) -> Result<(), Stuck> {
    let fixed = grid.control_read(registers::IMAGE);
    if fixed != 0 && grid.failure().is_none() {
        let (wanted, says) = (image.identity(), "another program is part of it");
        return if fixed == wanted { Ok(()) } else { Err(Stuck(format!("{says}: {fixed:#x}, not {wanted:#x}"))) };
    }
    let identity = grid.control_read(registers::IDENTITY);
    debug_assert!(identity == registers::IDENTITY_VALUE || grid.failure().is_some(), "not a grid of ours");
    for (address, data) in image.control_writes() {
        grid.control_write(address, data);
    }
    Ok(())
}
