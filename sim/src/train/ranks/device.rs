//! A rank with an array: some tiles of each batch, and its last one, which ends it.

use super::{Divides, Shared, limbs, part};
use crate::array::Array;
use crate::driver::{Outcome, Stuck};
use crate::train::device::Device;
use crate::train::engine::{EngineError, Model, Run, Step};

/// An array that runs one image in two tiles or more.
pub struct DividedDevice(Device<Array>);

impl DividedDevice {
    /// A device without predictions.
    pub fn new(device: Device<Array>) -> DividedDevice {
        assert!(device.image().tiles > 1, "a batch in one tile cannot be divided");
        DividedDevice(device)
    }
}

fn stuck(stuck: &Stuck) -> EngineError {
    EngineError::Stuck(stuck.to_string())
}

impl Divides for DividedDevice {
    fn load(&mut self, model: &Model) {
        crate::train::engine::Engine::load(&mut self.0, model);
    }

    fn share(&mut self, batch: &Step, rank: usize, ranks: usize) -> Result<Shared, EngineError> {
        let image = self.0.image();
        let (tiles, accumulator) = (image.tiles as usize - 1, image.machine.accumulator());
        let own = part(tiles, rank, ranks);
        let (sums, Outcome { cycles, saturated, .. }) =
            self.0.share(batch, own.start as u32..own.end as u32).map_err(|why| stuck(&why))?;
        Ok(Shared { words: limbs::split(&sums, accumulator), cycles: Some(cycles), saturated })
    }

    fn finish(&mut self, batch: &Step, totals: &[u64], last: bool) -> Result<Run, EngineError> {
        let totals = limbs::join(totals, self.0.image().machine.accumulator());
        let Outcome { cycles, saturated, .. } = self.0.conclude(batch, &totals, last).map_err(|why| stuck(&why))?;
        Ok(Run { predictions: Vec::new(), cycles: Some(cycles), saturated })
    }

    fn model(&self) -> Model {
        crate::train::engine::Engine::model(&self.0)
    }
}
