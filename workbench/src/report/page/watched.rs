//! An array that remembers what it did in each cycle.

use arch::timing;
use sim::array::Array;
use sim::array::watch::Observation;
use sim::grid::{CycleResult, Grid};

/// One cycle: inside, and the beat that was offered.
pub(super) struct Seen {
    /// Registers, streams, the PU that is watched.
    pub inside: Observation,
    /// The beat at the input.
    pub input: Option<Vec<i64>>,
}

/// The array, and everything since its first step began; loading millions of weights is as long as it is dull.
pub(super) struct Watched {
    array: Array,
    /// Every cycle since then.
    pub seen: Vec<Seen>,
}

impl Watched {
    /// A grid whose PU 0 is watched.
    pub(super) fn new(array: Array) -> Watched {
        Watched { array, seen: Vec::new() }
    }

    fn remember(&mut self, input: Option<&[i64]>) {
        let inside = self.array.observation().cloned();
        self.seen.extend(inside.map(|inside| Seen { inside, input: input.map(<[i64]>::to_vec) }));
        if self.seen.is_empty() && self.array.steps() {
            self.array.watch(0);
        }
    }
}

impl Grid for Watched {
    fn control_write(&mut self, address: u32, data: u32) {
        self.array.control_write(address, data);
        self.remember(None);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        let mut value = 0;
        for cycle in 0..timing::CONTROL_READ {
            if cycle == 1 {
                value = self.array.register(address);
            }
            self.array.cycle(None, false);
            self.remember(None);
        }
        value
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let result = self.array.cycle(input, output_ready);
        self.remember(input);
        result
    }
}
