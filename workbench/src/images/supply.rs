//! Supply: how the samples of a training come to a grid on a board.
//!
//! ```text
//! epochs, image ──▶ rows ──▶ stay in the store beside the machine? ──▶ cycles of a batch: from block memories, the SDRAM, the link
//! ```

use crate::project::Project;
use crate::project::store::{Store, StoreNeeds};
use crate::simulated::Bound;
use arch::image::{Feed, Image};
use arch::link;
use arch::machine::Machine;
use arch::store::{Pattern, row_in_words};
use sim::train::Schedule;
use sim::train::settings::Order;

/// Part of the cycles in which an SDRAM gives a word of rows that are read in their order; the others are refresh, and rows of its own that are
/// opened. Measured in co-simulation at 100 MHz.
const SDRAM_SHARE: f64 = 0.96;

/// Bits of a byte on a serial line.
pub(crate) const BITS_OF_A_BYTE: f64 = 10.0;

/// The epochs of a training.
#[derive(Debug, Clone, Copy)]
pub struct Epochs {
    batches: u64,
    /// Whether all have the same batches.
    again: bool,
    /// In an order of their own each.
    permuted: bool,
}

impl Epochs {
    /// Those of so many samples; something else may be done with the `rest` that no full batch takes.
    pub fn new(samples: usize, schedule: &Schedule, has_rest: bool) -> Epochs {
        let Schedule { order, rate, batch, .. } = *schedule;
        let again = order != Order::Shuffled && rate.is_none() && !has_rest;
        Epochs { batches: (samples / batch) as u64, again, permuted: order == Order::Permuted }
    }

    /// How the batches of an image lie in rows of a store.
    pub(crate) fn pattern(&self, image: &Image) -> Option<Pattern> {
        Pattern::of(image, self.permuted)
    }

    /// What is asked of a store.
    pub(crate) fn needs(&self, image: &Image) -> StoreNeeds {
        let rows = self.pattern(image).map(|pattern| pattern.rows() * self.batches);
        StoreNeeds { rows, permutes: self.permuted }
    }

    /// Whether the samples stay in a store: they fit, and every epoch has the same.
    pub(crate) fn stay(&self, image: &Image, store: Store) -> bool {
        self.again && self.needs(image).rows.is_some_and(|rows| rows <= u64::from(store.rows))
    }

    /// Cycles in which a batch comes to the grid, and where from. Block memory gives a beat in every cycle.
    pub(crate) fn coming(&self, project: &Project, image: &Image, store: Store) -> (f64, Bound) {
        let (machine, pattern, facts) = (&image.machine, self.pattern(image), project.board.facts());
        if self.stay(image, store) {
            let sdram = facts.and_then(|facts| facts.sdram.as_ref()).filter(|_| store.in_sdram);
            return sdram.zip(pattern).map_or((0.0, Bound::Grid), |(sdram, pattern)| {
                let words = pattern.rows() * u64::from(row_in_words(machine, sdram.data_bits).0);
                (words as f64 / SDRAM_SHARE, Bound::Store)
            });
        }
        let Some(serial) = facts.and_then(|facts| facts.io.as_ref()) else { return (0.0, Bound::Grid) };
        let beats: u64 = image.step_in.iter().map(Feed::beats).sum();
        // Rows are packed: through a store they are sent instead, where that is shorter.
        let packed = pattern.map(|pattern| pattern.rows()).filter(|_| store.rows > 0);
        let beats = packed.map_or(beats, |rows| rows.min(beats));
        let bytes = beats * u64::from(machine.stream_words()) * link::word_bytes(machine.word()) as u64;
        let clock_hz = project.board.clock_mhz * 1e6;
        (clock_hz / f64::from(serial.baud) * BITS_OF_A_BYTE * bytes as f64, Bound::Link)
    }

    /// The same over the link, if the samples do not stay in the store that the configuration asks for beside a machine; otherwise 0. From a store they
    /// come about as fast in tiles of any size.
    pub(crate) fn input(&self, project: &Project, image: &Image, machine: &Machine) -> u64 {
        let store = project.store(machine, self.needs(image)).ok().filter(|store| !self.stay(image, *store));
        store.map_or(0, |store| self.coming(project, image, store).0.ceil() as u64)
    }
}
