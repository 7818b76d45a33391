//! Some tiles of a batch: a grid's share, and what ends the batch with the sums of all grids.
//!
//!     grid 0    tiles 0, 1, 2 ──▶ sums ─┐                      ┌─▶ totals ──▶ conclusion ──▶ weights
//!     grid 1    tiles 3, 4, 5 ──▶ sums ─┴─▶ added modulo 2^A ──┴─▶ totals ──▶ conclusion ──▶ the same weights
//!
//! The conclusion is a step without samples, which every grid does (docs/machine.md, section 8). Where a program has none, the last tile takes its
//! place, which is in no share then.
//! The grid that has tile 0 begins the batch, with the starts of its sums; in the others nothing may start.
//!
//! Sums take the streams of a grid that hands them out (section 10). Of a simulated array without that way they are taken as they are.

use super::{Beats, Driver, Given, Outcome, Run, Stuck, Words, exchange, start};
use crate::grid::Grid;
use arch::Image;
use arch::image::sums::{self, Exchange};
use arch::registers::{self, ENTRY_EMIT_MODEL, ENTRY_ENABLE, ENTRY_LOAD_MODEL, TILES};
use std::ops::Range;

/// Which tiles of a batch run, and what goes in before and out behind them.
#[derive(Clone)]
pub struct Share<'a> {
    /// Load these weights first.
    pub load_model: Option<&'a Words>,
    /// Inputs of the batch, of which those of the tiles are asked for.
    pub batch: Given<'a>,
    /// The tiles.
    pub tiles: Range<u32>,
    /// Send the weights at the end.
    pub emit_model: bool,
}

/// The way of sums that is loaded.
pub(super) struct Way {
    exchange: Exchange,
    /// Sums begin with their starts, as in the image.
    starts: bool,
}

/// A step that ends batches.
pub(super) struct Conclusion {
    image: Image,
    /// It is behind the program in the grid.
    pub(super) loaded: bool,
}

impl<G: Grid> Driver<G> {
    /// What ends the batches that are divided, from now on; `None`: the last tile.
    ///
    /// # Panics
    /// When it was made for another machine.
    pub fn conclude_by(&mut self, conclusion: Option<Image>) {
        assert!(
            conclusion.iter().all(|image| image.machine == self.image.machine),
            "the conclusion is for another machine"
        );
        self.conclusion = conclusion.map(|image| Conclusion { image, loaded: false });
    }

    /// Tiles of a batch that are divided.
    pub fn divided_tiles(&self) -> u32 {
        self.image.tiles - u32::from(self.conclusion.is_none())
    }

    /// Some of the tiles of a batch that are divided, and what they sum up to.
    ///
    /// # Errors
    /// As [`Driver::run`].
    ///
    /// # Panics
    /// The grid neither hands out sums nor is an array.
    pub fn share(&mut self, share: &Share<'_>) -> Result<(Vec<i128>, Outcome), Stuck> {
        self.open_way()?;
        if share.tiles.is_empty() {
            // Weights are loaded all the same, so that the last tile takes equally long in all grids.
            let run = Run { load_model: share.load_model, steps: &[], emit_model: false };
            let outcome = if share.load_model.is_some() { self.run(run)? } else { Outcome::default() };
            return Ok((vec![0; self.sums()], outcome));
        }
        // None of them ends the batch.
        let left = self.image.tiles + 1;
        let Some(way) = &mut self.way else {
            if share.tiles.start > 0 {
                let zeros = vec![0; self.sums()];
                self.array().go_on_with(&zeros);
            }
            let outcome = self.run_tiles(share, left, None)?;
            let addresses = sums::words_in_use(&self.image);
            return Ok((self.array().sums(addresses), outcome));
        };
        let starts = share.tiles.start == 0;
        if way.starts != starts {
            way.starts = starts;
            self.write(sums::starts(&self.image, starts));
        }
        let outcome = self.run_tiles(share, left, None)?;
        let sums = self.way.as_ref().expect("it is open").exchange.read(&outcome.raw);
        Ok((sums, outcome))
    }

    /// End a batch that has these sums, which is not about the tiles of `share`.
    ///
    /// # Errors
    /// As [`Driver::run`].
    ///
    /// # Panics
    /// As [`Driver::share`].
    pub fn conclude_with(&mut self, totals: &[i128], share: &Share<'_>) -> Result<Outcome, Stuck> {
        self.open_way()?;
        let mut share = Share { tiles: self.image.tiles - 1..self.image.tiles, ..share.clone() };
        // Totals come where weights would.
        if self.way.is_some() && share.load_model.is_some() {
            self.run(Run { load_model: share.load_model.take(), steps: &[], emit_model: false })?;
        }
        if self.way.is_none() {
            self.array().go_on_with(totals);
        }
        let step = self.conclusion.as_ref().map(|conclusion| conclusion.image.behind(&self.image));
        let Some([programs, step]) = step else { return self.run_tiles(&share, 1, Some(totals)) };
        if !std::mem::replace(&mut self.conclusion.as_mut().expect("there is one").loaded, true) {
            self.write(programs);
        }
        self.write(step);
        let outcome = self.run_tiles(&share, 1, Some(totals));
        self.write(self.image.step_writes());
        outcome
    }

    /// How many sums leave.
    fn sums(&self) -> usize {
        match &self.way {
            Some(way) => way.exchange.sums(),
            None => (sums::words_in_use(&self.image) * self.image.machine.pes()) as usize,
        }
    }

    fn array(&mut self) -> &mut crate::array::Array {
        self.grid.array().expect("a grid that keeps its sums to itself is an array")
    }

    fn write(&mut self, writes: Vec<(u32, u32)>) {
        for (address, data) in writes {
            self.grid.control_write(address, data);
        }
    }

    /// Load the instructions that let sums out and back, once.
    fn open_way(&mut self) -> Result<(), Stuck> {
        self.check()?;
        if self.way.is_none()
            && let Some(exchange) = Exchange::of(&self.image)
        {
            self.write(exchange.control_writes());
            self.way = Some(Way { exchange, starts: true });
        }
        Ok(())
    }

    /// An image whose sums begin as it says, for a run that is not divided.
    pub(super) fn close_way(&mut self) {
        if self.way.take().is_some_and(|way| !way.starts) {
            self.write(sums::starts(&self.image, true));
        }
    }

    /// Run tiles of a batch that has so many from the first of them on; with `totals`, the tiles that end it.
    fn run_tiles(&mut self, share: &Share<'_>, left: u32, totals: Option<&[i128]>) -> Result<Outcome, Stuck> {
        self.check()?;
        let (image, patience) = (&self.image, self.patience());
        let mut beats = Beats::new(image, &Run { load_model: share.load_model, steps: &[], emit_model: false });
        // A conclusion takes no samples.
        let takes = totals.is_none() || self.conclusion.is_none();
        if image.entries.step_load.is_some() && takes {
            let of_tile = image.step_in.len() / image.tiles as usize;
            let tiles = share.tiles.start as usize * of_tile..share.tiles.end as usize * of_tile;
            beats.phases.push((&image.step_in[tiles], share.batch));
        }
        let (mut before, mut expected) = (Vec::new(), self.expected(0, share.emit_model));
        let mut flags = if share.load_model.is_some() { registers::START_LOAD_MODEL } else { 0 };
        let leave = self.way.as_ref().filter(|_| totals.is_none());
        if let (Some(way), Some(totals)) = (&self.way, totals) {
            before = (0..way.exchange.beats_back()).map(|number| way.exchange.beat(totals, number)).collect();
            flags |= registers::START_LOAD_MODEL | registers::START_GO_ON;
            self.grid.control_write(ENTRY_LOAD_MODEL, way.exchange.back_entry());
        }
        if let Some(way) = leave {
            expected = way.exchange.words_out();
            self.grid.control_write(ENTRY_EMIT_MODEL, way.exchange.out_entry());
        }
        let emits = share.emit_model || leave.is_some();
        self.grid.control_write(TILES, left);
        start(&mut self.grid, share.tiles.len() as u32, flags, emits);
        let mut before = before.into_iter();
        let mut raw = Vec::new();
        let mut next = || before.next().or_else(|| beats.next());
        exchange(&mut self.grid, &mut self.streams, &mut next, expected, patience, &mut raw)?;
        let outcome = self.conclude(0, share.emit_model, raw);
        self.grid.control_write(TILES, self.image.tiles);
        if self.way.is_some() {
            let entries = &self.image.entries;
            for (register, entry) in [(ENTRY_LOAD_MODEL, entries.load_model), (ENTRY_EMIT_MODEL, entries.emit_model)] {
                self.grid.control_write(register, entry.map_or(0, |number| ENTRY_ENABLE | number));
            }
        }
        outcome
    }
}
