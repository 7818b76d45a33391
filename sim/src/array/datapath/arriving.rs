//! Words that come to the pads over the buses and from the input stream.

use super::{Lanes, Rooted, at};
use crate::array::sequencer::Beats;
use crate::array::stream::Beat;
use crate::array::values::{Maker, Values};
use arch::isa::{MoveInstruction, Pad};
use arch::timing::Unit;

/// What each bus of the columns carries: the results of the rows that share it, of which all but one are 0 where a program computes something.
fn crossed<V: Values>(values: &mut V, rows: &[Rooted<V::Word>], buses: usize) -> Vec<Rooted<V::Word>> {
    let (first, further) = rows.split_at(buses.min(rows.len()));
    let mut all = first.to_vec();
    for (n, row) in further.iter().enumerate() {
        let bus = &mut all[n % buses];
        *bus = (values.either(bus.0, row.0), bus.1 || row.1);
    }
    all
}

impl<V: Values> Lanes<V> {
    pub(super) fn moves(&mut self, beat: &Beat<MoveInstruction>, last_tile: bool) {
        let maker = Maker::Move(beat.number);
        let i = &beat.instruction;
        if i.late && !last_tile {
            return;
        }
        self.mask(&i.mask, &i.counts, &beat.counters);
        let columns = self.machine.pes_per_pu() as usize;
        let from = at(&i.destination, &beat.counters, self.depth(i.pad)) * self.pes;
        let global = self.global_word();
        if let (Some(unit), true) = (&mut self.unit, i.scalar) {
            unit.put(i.pad, from / self.pes, global.0);
            unit.saturated |= global.1;
            self.values.wrote(global.0, maker);
        }
        self.touch(i.pad, &(from..from + self.pes));
        let words = &mut self.pads[i.pad as usize][from..from + self.pes];
        let nothing = (V::Word::default(), false);
        let in_cycle = |cycle: u64| self.row_bus.iter().find(|b| b.0 == cycle).map(|b| &b.1);
        // Across they pass one more register.
        let (rows, across) = (in_cycle(self.now), self.now.checked_sub(1).and_then(in_cycle));
        let across = match i.source {
            Unit::Across => {
                across.map(|rows| crossed(&mut self.values, rows, self.machine.column_bus_count() as usize))
            }
            Unit::Row | Unit::Global => None,
        };
        if self.ahead {
            let before = words.iter().zip(&self.taken).enumerate().filter(|(_, (_, taken))| **taken);
            self.fresh.extend(before.map(|(pe, (&word, _))| (i.pad, from + pe, word)));
        }
        let lanes = words.chunks_mut(columns).zip(self.taken.chunks(columns)).enumerate();
        for (row, (words, taken)) in lanes {
            let of_row = rows.map_or(nothing, |rows| rows[row]);
            let mut write = |word: &mut V::Word, (new, saturated): Rooted<V::Word>| {
                *word = new;
                self.values.wrote(new, maker);
                self.saturated |= saturated;
            };
            let admitted = words.iter_mut().zip(taken).enumerate().filter(|(_, (_, taken))| **taken);
            match (i.source, &across) {
                (Unit::Across, Some(buses)) => {
                    admitted.for_each(|(column, (word, _))| write(word, buses[column % buses.len()]));
                }
                (Unit::Across, None) => admitted.for_each(|(_, (word, _))| write(word, nothing)),
                (Unit::Global, _) => admitted.for_each(|(_, (word, _))| write(word, global)),
                (Unit::Row, _) => admitted.for_each(|(_, (word, _))| write(word, of_row)),
            }
        }
    }

    pub(super) fn load(&mut self, beats: &Beats, input: &[V::Word]) {
        let Some(beat) = beats.load.as_ref().filter(|_| V::EXIST) else { return };
        for &word in input {
            self.values.wrote(word, Maker::Load(beat.number));
        }
        let i = &beat.instruction;
        let lanes = self.machine.stream_words() as usize;
        let group = match beat.counters.get(usize::from(i.pick_group)) {
            Some(&group) => group as usize * lanes..(group as usize + 1) * lanes,
            None => 0..self.pes,
        };
        let some = self.picked(&i.mask, &beat.counters);
        let start = some.start.max(group.start).min(self.pes);
        let some = start..some.end.min(group.end).max(start);
        self.mask_some(&i.mask, &i.counts, &beat.counters, some.clone());
        if i.gradient {
            return self.join_parts(beat, input, some);
        }
        let bank = if i.pad == Pad::Data { (beats.load_bank * self.machine.data_depth()) as usize } else { 0 };
        let from = (bank + at(&i.destination, &beat.counters, self.depth(i.pad))) * self.pes;
        if let (Some(unit), true, Pad::Data) = (&mut self.unit, i.scalar, i.pad) {
            unit.put(i.pad, from / self.pes, input[0]);
        }
        self.touch(i.pad, &(from + some.start..from + some.end));
        let words = &mut self.pads[i.pad as usize][from + some.start..from + some.end];
        let taken = &self.taken[some.clone()];
        if self.ahead {
            let before = words.iter().zip(taken).enumerate().filter(|(_, (_, taken))| **taken);
            self.fresh.extend(before.map(|(n, (&word, _))| (i.pad, from + some.start + n, word)));
        }
        // Whole groups of lanes, or one word for all.
        let scatters = i.scatter && lanes > 1;
        let (sent, group) = if scatters { (input, lanes) } else { (&input[..1], usize::MAX) };
        let mut first = if scatters { some.start % lanes } else { 0 };
        let (mut words, mut taken) = (words, taken);
        while !words.is_empty() {
            let (here, more) = words.split_at_mut((group - first).min(words.len()));
            let (admitted, others) = taken.split_at(here.len());
            if sent.len() == 1 {
                here.iter_mut().zip(admitted).for_each(|(word, &taken)| *word = if taken { sent[0] } else { *word });
            } else {
                let lanes = here.iter_mut().zip(admitted).zip(&sent[first..]);
                lanes.for_each(|((word, &taken), &new)| *word = if taken { new } else { *word });
            }
            (words, taken, first) = (more, others, 0);
        }
    }
}
