//! A rank with a grid: some tiles of each batch, and what ends it.

use super::{Divides, Shared, limbs, part};
use crate::driver::{Outcome, Stuck};
use crate::grid::Grid;
use crate::train::device::Device;
use crate::train::engine::{EngineError, NamedValues, Run, Step};
use arch::Image;
use std::ops::Range;

/// A grid that runs one image in two tiles or more.
pub struct DividedDevice<G: Grid>(Device<G>);

impl<G: Grid> DividedDevice<G> {
    /// A device without predictions, and what ends its batches instead of their last tiles.
    pub fn new(mut device: Device<G>, conclusion: Option<Image>) -> DividedDevice<G> {
        assert!(device.image().tiles > 1, "a batch in one tile cannot be divided");
        device.conclude_by(conclusion);
        DividedDevice(device)
    }

    /// Tiles of a batch that are divided.
    pub fn divided_tiles(&self) -> u32 {
        self.0.divided_tiles()
    }

    /// Some of the tiles of a batch that are divided: their sums, and what the run gave.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn tiles(&mut self, batch: &Step, tiles: Range<u32>) -> Result<(Vec<i128>, Outcome), EngineError> {
        let shared = self.0.share(batch, tiles);
        self.ended(shared)
    }

    /// What a run gave, or why it did not end.
    fn ended<T>(&self, run: Result<T, Stuck>) -> Result<T, EngineError> {
        match self.0.failure() {
            Some(failure) => Err(EngineError::Device(failure)),
            None => run.map_err(|stuck| EngineError::Stuck(stuck.to_string())),
        }
    }
}

impl<G: Grid> Divides for DividedDevice<G> {
    fn load(&mut self, model: &NamedValues) {
        crate::train::engine::Engine::load(&mut self.0, model);
    }

    fn share(&mut self, batch: &Step, rank: usize, ranks: usize) -> Result<Shared, EngineError> {
        let image = self.0.image();
        let (tiles, accumulator) = (self.divided_tiles() as usize, image.machine.accumulator());
        let own = part(tiles, rank, ranks);
        let (sums, Outcome { cycles, saturated, .. }) = self.tiles(batch, own.start as u32..own.end as u32)?;
        Ok(Shared { words: limbs::split(&sums, accumulator), cycles: Some(cycles), saturated })
    }

    fn finish(&mut self, batch: &Step, totals: &[u64], last: bool) -> Result<Run, EngineError> {
        let totals = limbs::join(totals, self.0.image().machine.accumulator());
        let concluded = self.0.conclude(batch, &totals, last);
        let Outcome { cycles, saturated, .. } = self.ended(concluded)?;
        Ok(Run { predictions: Vec::new(), cycles: Some(cycles), saturated })
    }

    fn model(&self) -> NamedValues {
        crate::train::engine::Engine::model(&self.0)
    }
}
