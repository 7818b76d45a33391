//! The PEs that take part in a beat (docs/machine.md, section 2).

use super::Lanes;
use crate::array::values::Values;
use arch::isa::{LEVELS, Mask};
use std::ops::Range;

impl<V: Values> Lanes<V> {
    /// Note which PEs take part in a beat.
    pub(super) fn mask(&mut self, mask: &Mask, counts: &[u32; LEVELS], counters: &[u32; LEVELS]) {
        let (pus, columns) = (self.machine.pus(), self.machine.pes_per_pu());
        if *mask == Mask::all(pus, columns) {
            self.taken.fill(true);
            return;
        }
        mask.fill(pus, columns, counts, counters, &mut self.taken);
    }

    /// PEs that a mask can admit in a beat, one behind the other: the one, or the row, that it picks.
    pub(super) fn picked(&self, mask: &Mask, counters: &[u32; LEVELS]) -> Range<usize> {
        let columns = self.machine.pes_per_pu() as usize;
        let place = |level: u8| counters.get(usize::from(level)).map(|&place| place as usize);
        let (start, count) = match (place(mask.pick_row), place(mask.pick_column)) {
            (Some(row), Some(column)) => (row * columns + column, 1),
            (Some(row), None) => (row * columns, columns),
            (None, _) => (0, self.pes),
        };
        start.min(self.pes)..(start + count).min(self.pes)
    }

    /// The same as [`Lanes::mask`] for these PEs alone; of few, each is asked, and what is known of the others is left.
    pub(super) fn mask_some(
        &mut self,
        mask: &Mask,
        counts: &[u32; LEVELS],
        counters: &[u32; LEVELS],
        some: Range<usize>,
    ) {
        if some.len() > self.pes / 8 {
            return self.mask(mask, counts, counters);
        }
        let (pus, columns) = (self.machine.pus(), self.machine.pes_per_pu());
        for pe in some {
            let place = pe as u32;
            self.taken[pe] = mask.admits(pus, columns, counts, counters, place / columns, place % columns);
        }
    }
}
