//! The eyes of somebody who watches one PU; without one these functions do nothing.

use super::{Lanes, at, joined};
use crate::array::stream::Beat;
use crate::array::values::Values;
use crate::array::watch::{PeView, PuView};
use arch::isa::{AluInstruction, Factor, LEVELS, Pad, Start};

impl<V: Values> Lanes<V> {
    /// A new cycle begins.
    pub(super) fn see_nothing(&mut self) {
        let columns = self.machine.pes_per_pu() as usize;
        if let Some(seen) = &mut self.seen {
            let mut pes = std::mem::take(&mut seen.1.pes);
            pes.resize(columns, PeView::default());
            for pe in &mut pes {
                // The accumulator is a register, everything else is a wire.
                *pe = PeView { sum: pe.sum, ..PeView::default() };
            }
            seen.1 = PuView { pes, ..PuView::default() };
        }
    }

    /// What the PEs read; the mask of the beat is known.
    pub(super) fn see_operands(&mut self, beat: &Beat<AluInstruction>, bank: u32) {
        let Some(mut seen) = self.seen.take() else { return };
        let i = &beat.instruction;
        let first = beat.counters[LEVELS.saturating_sub(usize::from(i.reduce))..].iter().all(|&k| k == 0);
        let word = |pad: Pad, pe: usize| {
            let bank = if pad == Pad::Data { bank as usize * self.machine.data_depth() as usize } else { 0 };
            let from = bank + at(&i.reads[pad as usize], &beat.counters, self.depth(pad));
            self.values.shown(self.pads[pad as usize][from * self.pes + pe])
        };
        let from = seen.0 * self.machine.pes_per_pu() as usize;
        seen.1.beat = true;
        for (column, view) in seen.1.pes.iter_mut().enumerate() {
            let pe = from + column;
            view.taken = self.admitted.lanes[pe];
            view.a = word(i.a, pe);
            view.b = match i.b {
                Factor::Pad(pad) => word(pad, pe),
                Factor::Immediate => i.immediate_b,
            };
            view.c = match i.c {
                _ if !first => 0,
                Start::Zero => 0,
                Start::Pad(pad) => word(pad, pe),
                Start::Immediate => i.immediate_c,
            };
        }
        self.seen = Some(seen);
    }

    /// What the accumulators hold after a beat.
    pub(super) fn see_sums(&mut self) {
        let from = self.machine.pes_per_pu() as usize;
        if let Some(seen) = &mut self.seen {
            let sums = &self.accumulators[seen.0 * from..];
            for (view, sum) in seen.1.pes.iter_mut().zip(sums) {
                view.sum = self.values.shown_sum(sum);
            }
        }
    }

    /// What lands in this cycle: results at the pads, sums at the ends of the trees, words on the buses.
    pub(super) fn see_results(&mut self) {
        let Some(mut seen) = self.seen.take() else { return };
        let (pu, view) = &mut *seen;
        let from = *pu * self.machine.pes_per_pu() as usize;
        let levels = u64::from(self.machine.global_levels());
        let Lanes { values, landings, trees, row_bus, global_bus, fifo, now, .. } = self;
        if let Some(landing) = landings.iter().find(|landing| landing.cycle == *now) {
            view.write = Some((landing.pad, landing.address));
            for (column, pe) in view.pes.iter_mut().enumerate() {
                let taken = landing.taken.get(from + column).is_none_or(|&taken| taken);
                pe.result = taken.then_some(values.shown(landing.row()[from + column]));
            }
        }
        let row = trees.iter().find(|sums| sums.row_cycle == *now);
        view.row_tree = row.map_or(0, |sums| values.shown_sum(&sums.rows[*pu]));
        let global = trees.iter().find(|sums| sums.row_cycle + levels == *now);
        view.global_tree = global.map_or(0, |sums| {
            let sum = joined(values, sums.combine, &sums.rows);
            values.shown_sum(&sum)
        });
        view.row_bus = row_bus.iter().find(|bus| bus.0 == *now).map_or(0, |bus| values.shown(bus.1[*pu].0));
        view.global_bus = global_bus.iter().find(|bus| bus.0 == *now).map_or(0, |bus| values.shown(bus.1.0));
        view.fifo = fifo.beats();
        if let Some((_, unit)) = self.unit.as_deref().and_then(|unit| unit.seen.as_deref()) {
            view.scalar = unit.pes[0];
        }
        self.seen = Some(seen);
    }
}
