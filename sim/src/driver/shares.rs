//! Some tiles of a batch: a grid's share, and the last tile, which ends the batch with the sums of all grids.
//!
//!     grid 0    tiles 0, 1, 2 ──▶ sums ─┐                      ┌─▶ totals ──▶ tile 6 ──▶ weights
//!     grid 1    tiles 3, 4, 5 ──▶ sums ─┴─▶ added modulo 2^A ──┴─▶ totals ──▶ tile 6 ──▶ the same weights
//!
//! Every grid does the last tile itself: what follows from the sums is computed in a step that also takes samples (docs/machine.md, section 8).
//! The grid that has tile 0 begins the batch, with the starts of its sums; the others go on with sums of 0.

use super::{Beats, Driver, Outcome, Run, Stuck, Words, exchange, start};
use crate::array::Array;
use crate::grid::Grid;
use arch::registers;
use std::ops::Range;

/// Which tiles of a batch run, and what goes in before and out behind them.
#[derive(Debug, Clone)]
pub struct Share<'a> {
    /// Load these weights first.
    pub load_model: Option<&'a Words>,
    /// Inputs of the whole batch.
    pub batch: &'a Words,
    /// The tiles.
    pub tiles: Range<u32>,
    /// Send the weights at the end.
    pub emit_model: bool,
}

impl Driver<Array> {
    /// The tiles of a batch before its last one, and what they sum up to.
    ///
    /// # Errors
    /// As [`Driver::run`].
    pub fn share(&mut self, share: &Share<'_>) -> Result<(Vec<i128>, Outcome), Stuck> {
        let zeros = vec![0; self.grid.sums().len()];
        if share.tiles.is_empty() {
            // Weights are loaded all the same, so that the last tile takes equally long in all grids.
            let run = Run { load_model: share.load_model, steps: &[], emit_model: false };
            let outcome = if share.load_model.is_some() { self.run(run)? } else { Outcome::default() };
            return Ok((zeros, outcome));
        }
        if share.tiles.start > 0 {
            self.grid.go_on_with(&zeros);
        }
        // As many tiles as there are never end before the last one.
        let outcome = self.run_tiles(share, self.image.tiles)?;
        Ok((self.grid.sums(), outcome))
    }

    /// The last tile of a batch, which has these sums without it.
    ///
    /// # Errors
    /// As [`Driver::run`].
    pub fn conclude_with(&mut self, totals: &[i128], share: &Share<'_>) -> Result<Outcome, Stuck> {
        self.grid.go_on_with(totals);
        self.run_tiles(share, 1)
    }

    /// Run tiles of a batch that has so many from the first of them on.
    fn run_tiles(&mut self, share: &Share<'_>, left: u32) -> Result<Outcome, Stuck> {
        self.check()?;
        let (image, patience) = (&self.image, self.patience());
        let mut beats = Beats::new(image, &Run { load_model: share.load_model, steps: &[], emit_model: false });
        if image.entries.step_load.is_some() {
            let of_tile = image.step_in.len() / image.tiles as usize;
            let tiles = share.tiles.start as usize * of_tile..share.tiles.end as usize * of_tile;
            beats.phases.push((&image.step_in[tiles], share.batch));
        }
        let expected = self.expected(0, share.emit_model);
        let mut raw = Vec::new();
        let flags = if share.load_model.is_some() { registers::START_LOAD_MODEL } else { 0 };
        self.grid.control_write(registers::TILES, left);
        start(&mut self.grid, share.tiles.len() as u32, flags, share.emit_model);
        exchange(&mut self.grid, &mut self.streams, &mut || beats.next(), expected, patience, &mut raw)?;
        let outcome = self.conclude(0, share.emit_model, raw);
        self.grid.control_write(registers::TILES, self.image.tiles);
        outcome
    }
}
