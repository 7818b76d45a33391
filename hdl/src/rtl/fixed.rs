//! A program that is part of the hardware: what the control port would have written, as constants.

use arch::Image;
use arch::registers::Region;
use std::collections::BTreeMap;

/// Contents of programs, tables and registers.
pub(crate) struct Fixed {
    writes: BTreeMap<u32, u32>,
    identity: u32,
}

impl Fixed {
    pub(crate) fn new(image: &Image) -> Self {
        Fixed { writes: image.control_writes().into_iter().collect(), identity: image.identity() }
    }

    /// The words of a region, `chunks` of 32 bits each, at addresses that are `reserved` apart.
    pub(crate) fn words(&self, region: Region, reserved: usize, chunks: usize) -> Vec<Vec<u32>> {
        let base = region.base();
        let inside = self.writes.range(base..base + (1 << 16));
        let number = inside.last().map_or(0, |(&last, _)| (last - base) as usize / reserved + 1);
        let chunk = |at: usize| self.writes.get(&(base + at as u32)).copied().unwrap_or(0);
        (0..number).map(|n| (0..chunks).map(|k| chunk(n * reserved + k)).collect()).collect()
    }

    /// The value of a register that the program decides.
    pub(crate) fn register(&self, number: u32) -> Option<u32> {
        self.writes.get(&number).copied()
    }

    /// Which image it is.
    pub(crate) fn identity(&self) -> u32 {
        self.identity
    }
}
