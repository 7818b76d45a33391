//! Trainings whose batches lie in a sample store (docs/store.md): sent once, played epoch after epoch.
//!
//!     batches ──pack──▶ rows ──FILL──▶ store ──PLAY──▶ grid
//!                       once                 every epoch

use super::{Beats, Driver, Outcome, Run, Stuck, Words, exchange, start};
use crate::grid::Grid;
use arch::Image;
use arch::store::{self, COUNT_BITS, Mode, Pattern};

/// The batches of an epoch as a store holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleSet {
    pattern: Pattern,
    rows: Vec<Vec<i64>>,
    records: u32,
    /// Tells sets apart; never 0.
    tag: u32,
}

impl SampleSet {
    /// Pack what one epoch of `image` sends. `None`: there is nothing to send, or more than a store counts.
    pub fn new(image: &Image, batches: &[Words]) -> Option<SampleSet> {
        let pattern = Pattern::of(image)?;
        let records = u32::try_from(batches.len()).ok().filter(|&records| records > 0 && records < 1 << COUNT_BITS)?;
        let pack = |batch: &Words| {
            let run = Run { load_model: None, steps: std::slice::from_ref(batch), emit_model: false };
            let mut beats = Beats::new(image, &run);
            pattern.pack(std::iter::from_fn(|| beats.next()))
        };
        let rows: Vec<Vec<i64>> = batches.iter().flat_map(pack).collect();
        let words = rows.iter().flatten().map(|&word| word as u32);
        let tag = fnv(pattern.words().into_iter().chain([records]).chain(words)).max(1);
        Some(SampleSet { pattern, rows, records, tag })
    }

    /// Rows it takes.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
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

    /// Train on `set` for so many epochs with one start; the store has room for it. It is sent if the store holds something else.
    /// The steps of the outcome are those of all epochs.
    ///
    /// # Errors
    /// As [`Driver::run`].
    pub fn play(
        &mut self,
        set: &SampleSet,
        epochs: u32,
        load_model: Option<&Words>,
        emit_model: bool,
    ) -> Result<Outcome, Stuck> {
        self.check()?;
        if self.grid.control_read(store::TAG) != set.tag {
            self.fill(set)?;
        }
        if load_model.is_some() {
            self.run(Run { load_model, steps: &[], emit_model: false })?;
        }
        for (register, value) in
            [(store::RECORDS, set.records), (store::EPOCHS, epochs), (store::MODE, Mode::Play as u32)]
        {
            self.grid.control_write(register, value);
        }
        let steps = set.records * epochs;
        start(&mut self.grid, steps * self.image.tiles, 0, emit_model);
        let mut raw = Vec::new();
        self.watch(&mut raw)?;
        let (expected, patience) = (self.expected(steps as usize, emit_model), self.patience());
        exchange(&mut self.grid, &mut self.streams, &mut || None, expected, patience, &mut raw)?;
        self.conclude(steps as usize, emit_model, raw)
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
        for (n, word) in (0..).zip(set.pattern.words()) {
            self.grid.control_write(store::PATTERN + n, word);
        }
        self.grid.control_write(store::TAG, set.tag);
        Ok(())
    }

    /// Wait until the store has played all beats.
    fn watch(&mut self, raw: &mut Vec<i64>) -> Result<(), Stuck> {
        let (mut idle, mut seen) = (0, None);
        while self.grid.control_read(store::MODE) != Mode::Pass as u32 {
            let now = [store::EPOCHS_LEFT, store::RECORDS_LEFT].map(|register| self.grid.control_read(register));
            let words = self.streams.cycle(&mut self.grid).output;
            idle = if !words.is_empty() || seen != Some(now) { 0 } else { idle + 1 };
            seen = Some(now);
            raw.extend(words);
            if idle > self.patience() {
                return Err(Stuck(format!(
                    "the store plays nothing; {} epochs and {} batches are left",
                    now[0], now[1]
                )));
            }
        }
        Ok(())
    }
}
