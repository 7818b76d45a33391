//! An array that shows what it does in each cycle.

use arch::timing;
use sim::array::Array;
use sim::array::watch::Observation;
use sim::grid::{CycleResult, Grid};

/// The array, and who looks at everything since its first step began: inside, and the beat that is offered; loading millions of weights is
/// as long as it is dull. Nothing is kept here, since steps may have millions of cycles.
pub(super) struct Watched<See> {
    array: Array,
    /// Whether one looks into PU 0, too, and not only into the sequencer.
    inside: bool,
    see: See,
}

impl<See: FnMut(&Observation, Option<&[i64]>)> Watched<See> {
    /// A grid whose PU 0 is watched.
    pub(super) fn new(array: Array, see: See) -> Watched<See> {
        Watched { array, inside: true, see }
    }

    /// A grid whose streams are watched.
    pub(super) fn streams(array: Array, see: See) -> Watched<See> {
        Watched { array, inside: false, see }
    }

    fn show(&mut self, input: Option<&[i64]>) {
        if let Some(inside) = self.array.observation() {
            (self.see)(inside, input);
        } else if self.array.steps() && self.inside {
            self.array.watch(0);
        } else if self.array.steps() {
            self.array.watch_streams();
        }
    }
}

impl<See: FnMut(&Observation, Option<&[i64]>)> Grid for Watched<See> {
    fn control_write(&mut self, address: u32, data: u32) {
        self.array.control_write(address, data);
        self.show(None);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        let mut value = 0;
        for cycle in 0..timing::CONTROL_READ {
            if cycle == 1 {
                value = self.array.register(address);
            }
            self.array.cycle(None, false);
            self.show(None);
        }
        value
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let result = self.array.cycle(input, output_ready);
        self.show(input);
        result
    }
}
