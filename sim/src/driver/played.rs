//! Trainings whose batches lie in a sample store (docs/store.md): sent once, played epoch after epoch.
//!
//!     batches ──pack──▶ rows ──FILL──▶ store ──PLAY──▶ grid
//!                       once                 every epoch
//!                       rows ──STREAM─▶ store ────────▶ grid      sent in every epoch, and played meanwhile

use super::{Beats, Driver, Outcome, Run, Stuck, Words, exchange, start};
use crate::grid::Grid;
use arch::store::{self, COUNT_BITS, Mode, Pattern};
use arch::{Image, registers};

/// The batches of an epoch as a store holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleSet {
    pattern: Pattern,
    rows: Vec<Vec<i64>>,
    batches: u32,
    /// Tells sets apart; never 0.
    tag: u32,
}

impl SampleSet {
    /// Pack what one epoch of `image` sends, whose batches are `permuted` or not. `None`: there is nothing to send, or more than a store counts.
    pub fn new(image: &Image, batches: &[Words], permuted: bool) -> Option<SampleSet> {
        let pattern = Pattern::of(image, permuted)?;
        let counts = |count: &u32| *count > 0 && u64::from(*count) * u64::from(pattern.records()) < 1 << COUNT_BITS;
        let count = u32::try_from(batches.len()).ok().filter(counts)?;
        let batch = |batch| Run { load_model: None, steps: std::slice::from_ref(batch), emit_model: false };
        let rows = batches.iter().flat_map(|words| packed(image, &pattern, &batch(words))).collect();
        Some(SampleSet::of_rows(pattern, rows, count))
    }

    /// The weights, as one batch. `None`: they take no less of the line than as beats.
    fn model(image: &Image, model: &Words) -> Option<SampleSet> {
        let pattern = Pattern::of_model(image)?;
        let rows = packed(image, &pattern, &Run { load_model: Some(model), steps: &[], emit_model: false });
        Some(SampleSet::of_rows(pattern, rows, 1)).filter(SampleSet::is_packed)
    }

    fn of_rows(pattern: Pattern, rows: Vec<Vec<i64>>, batches: u32) -> SampleSet {
        let words = rows.iter().flatten().map(|&word| word as u32);
        let tag = fnv(pattern.words().into_iter().chain([batches]).chain(words)).max(1);
        SampleSet { pattern, rows, batches, tag }
    }

    /// Records of an epoch.
    fn records(&self) -> u32 {
        self.batches * self.pattern.records()
    }

    /// Whether it is shorter than the beats that it becomes: what is sent through the store takes less of the line.
    pub fn is_packed(&self) -> bool {
        self.pattern.rows() < self.pattern.beats()
    }

    /// Rows it takes.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

/// How a set is played.
pub struct Play<'a> {
    /// Epochs, at least one.
    pub epochs: u32,
    /// The key of the first epoch's order, if each has one of its own.
    pub key: Option<u32>,
    /// Load these weights first.
    pub load_model: Option<&'a Words>,
    /// Send the weights at the end.
    pub emit_model: bool,
    /// Told again and again how many epochs are done; the present one is the last one when this says so.
    pub goes_on: &'a mut dyn FnMut(u32) -> bool,
}

/// The beats of a run as rows.
fn packed(image: &Image, pattern: &Pattern, run: &Run<'_>) -> Vec<Vec<i64>> {
    let mut beats = Beats::new(image, run);
    pattern.pack(std::iter::from_fn(|| beats.next()))
}

/// FNV-1a over words, lowest byte first.
fn fnv(words: impl Iterator<Item = u32>) -> u32 {
    let bytes = words.flat_map(u32::to_le_bytes);
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl<G: Grid> Driver<G> {
    /// Rows of the store before the grid; 0 where there is none.
    pub fn store_rows(&mut self) -> usize {
        self.grid.control_read(store::ROWS) as usize
    }

    /// Whether the store can play the batches of each epoch in an order of its own.
    pub fn store_permutes(&mut self) -> bool {
        self.grid.control_read(store::PERMUTES) == 1
    }

    /// Train on `set` with one start; the store has room for it. It is sent if the store holds something else. The steps of the outcome are those
    /// of all epochs that were played, whose number is the second value.
    ///
    /// # Errors
    /// As [`Driver::run`].
    pub fn play(&mut self, set: &SampleSet, play: Play<'_>) -> Result<(Outcome, u32), Stuck> {
        let Play { epochs, key, load_model, emit_model, goes_on } = play;
        self.check()?;
        let sends = self.grid.control_read(store::TAG) != set.tag;
        if let Some(model) = load_model {
            self.bring(model, sends)?;
        }
        if sends {
            self.fill(set)?;
        }
        let order = key.map(|key| [(store::KEY, key), (store::BATCH_ROWS, set.rows.len() as u32 / set.records())]);
        let mode = if order.is_some() { Mode::Permuted } else { Mode::Play };
        let more = [(store::RECORDS, set.records()), (store::EPOCHS, epochs), (store::MODE, mode as u32)];
        for (register, value) in order.into_iter().flatten().chain(more) {
            self.grid.control_write(register, value);
        }
        start(&mut self.grid, set.batches * epochs * self.image.tiles, 0, emit_model);
        let mut raw = Vec::new();
        let played = self.watch(epochs, goes_on, &mut raw)?;
        let (stopped, steps) = (played < epochs, (set.batches * played) as usize);
        let (expected, patience) = (self.expected(steps, emit_model && !stopped), self.patience());
        exchange(&mut self.grid, &mut self.streams, &mut || None, expected, patience, &mut raw)?;
        let outcome =
            if stopped { self.leave(steps, emit_model, raw)? } else { self.conclude(steps, emit_model, raw)? };
        Ok((outcome, played))
    }

    /// Whether rows can be filled while others are played.
    pub fn store_streams(&mut self) -> bool {
        self.grid.control_read(store::STREAMS) == 1
    }

    /// Train on `set` once, with one start: its rows are sent while those before them are played, so the store may be smaller than they are.
    ///
    /// # Errors
    /// As [`Driver::run`].
    pub fn stream(&mut self, set: &SampleSet, load_model: Option<&Words>, emit_model: bool) -> Result<Outcome, Stuck> {
        self.check()?;
        if let Some(model) = load_model {
            self.bring(model, true)?;
        }
        self.write_pattern(set);
        for (register, value) in
            [(store::RECORDS, set.records()), (store::EPOCHS, 1), (store::MODE, Mode::Stream as u32)]
        {
            self.grid.control_write(register, value);
        }
        start(&mut self.grid, set.batches * self.image.tiles, 0, emit_model);
        let steps = set.batches as usize;
        let (expected, patience) = (self.expected(steps, emit_model), self.patience());
        let (mut rows, mut raw) = (set.rows.iter().cloned(), Vec::new());
        exchange(&mut self.grid, &mut self.streams, &mut || rows.next(), expected, patience, &mut raw)?;
        self.conclude(steps, emit_model, raw)
    }

    /// Bring the weights to the grid: packed, through the store, where nothing that is needed lies there and they fit.
    fn bring(&mut self, model: &Words, through_store: bool) -> Result<(), Stuck> {
        let packed = if through_store { SampleSet::model(&self.image, model) } else { None };
        let Some(set) = packed.filter(|set| set.rows() <= self.store_rows()) else {
            self.run(Run { load_model: Some(model), steps: &[], emit_model: false })?;
            return Ok(());
        };
        self.fill(&set)?;
        for (register, value) in [(store::RECORDS, 1), (store::EPOCHS, 1), (store::MODE, Mode::Play as u32)] {
            self.grid.control_write(register, value);
        }
        start(&mut self.grid, 0, registers::START_LOAD_MODEL, false);
        let mut raw = Vec::new();
        self.watch(1, &mut |_| true, &mut raw)?;
        self.conclude(0, false, raw)?;
        Ok(())
    }

    /// The end of a run that waits for more steps than the store has played: it is aborted when its last step is over, and the weights are taken from
    /// the pads (docs/machine.md, section 6).
    fn leave(&mut self, steps: usize, emit_model: bool, raw: Vec<i64>) -> Result<Outcome, Stuck> {
        let begun = self.grid.control_read(registers::CYCLES_LOW);
        let over = self.patience() as u32;
        let (mut idle, mut last) = (0, begun);
        while last.wrapping_sub(begun) < over && self.grid.failure().is_none() {
            let now = self.grid.control_read(registers::CYCLES_LOW);
            idle = if now == last { idle + 1 } else { 0 };
            if idle > self.patience() {
                return Err(Stuck("the cycles of a run that waits for a step are not counted".to_owned()));
            }
            last = now;
        }
        let stopped = self.result(steps, false, raw);
        self.grid.control_write(registers::CONTROL, registers::ABORT);
        // It is at rest when that has been read.
        self.grid.control_read(registers::CONTROL);
        let weights = Run { load_model: None, steps: &[], emit_model };
        let model = if emit_model { self.run(weights)? } else { Outcome::default() };
        Ok(Outcome { raw: [stopped.raw, model.raw].concat(), model: model.model, ..stopped })
    }

    /// Send a set.
    fn fill(&mut self, set: &SampleSet) -> Result<(), Stuck> {
        self.grid.control_write(store::MODE, Mode::Fill as u32);
        let patience = self.patience();
        let mut rows = set.rows.iter().cloned();
        exchange(&mut self.grid, &mut self.streams, &mut || rows.next(), 0, patience, &mut Vec::new())?;
        let filled = self.grid.control_read(store::ROW);
        if filled as usize != set.rows.len() && self.grid.failure().is_none() {
            return Err(Stuck(format!("the store took {filled} of {} rows", set.rows.len())));
        }
        self.grid.control_write(store::MODE, Mode::Pass as u32);
        self.write_pattern(set);
        self.grid.control_write(store::TAG, set.tag);
        Ok(())
    }

    fn write_pattern(&mut self, set: &SampleSet) {
        for (n, word) in (0..).zip(set.pattern.words()) {
            self.grid.control_write(store::PATTERN + n, word);
        }
    }

    /// Wait until the store has played all beats; of how many epochs.
    fn watch(&mut self, epochs: u32, goes_on: &mut dyn FnMut(u32) -> bool, raw: &mut Vec<i64>) -> Result<u32, Stuck> {
        let (mut idle, mut seen, mut stops) = (0, None, false);
        while self.grid.control_read(store::MODE) != Mode::Pass as u32 {
            let now = [store::EPOCHS_LEFT, store::RECORDS_LEFT].map(|register| self.grid.control_read(register));
            let words = self.streams.cycle(&mut self.grid).output;
            idle = if !words.is_empty() || seen != Some(now) { 0 } else { idle + 1 };
            seen = Some(now);
            if !goes_on(epochs.saturating_sub(now[0])) && !stops {
                self.grid.control_write(store::EPOCHS_LEFT, 0);
                stops = true;
            }
            raw.extend(words);
            if idle > self.patience() {
                return Err(Stuck(format!(
                    "the store plays nothing; {} epochs and {} records are left",
                    now[0], now[1]
                )));
            }
        }
        Ok(if stops { epochs.saturating_sub(self.grid.control_read(store::EPOCHS_LEFT)) } else { epochs })
    }
}
