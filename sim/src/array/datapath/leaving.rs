//! Results that leave the PEs with the last beat of a sum: words on their way into a pad, partial results on their way through the trees.

use super::deferred::Admitted;
use super::{Lanes, TreeSums, at, joined};
use crate::array::stream::Beat;
use crate::array::values::Values;
use arch::isa::{AluInstruction, Combine, Factor, Pad, Start, Tiles};
use arch::machine::Machine;
use arch::timing::{self, Unit};
use std::collections::VecDeque;

/// Rows of words on their way into a pad, one in each cycle.
#[derive(Debug)]
pub(super) struct Landing<W> {
    /// When the next row lands, and where.
    pub(super) cycle: u64,
    pub(super) pad: Pad,
    pub(super) address: usize,
    /// From each row to the next.
    pub(super) step: isize,
    /// Rows that have landed, of so many.
    pub(super) landed: usize,
    pub(super) rows: usize,
    pub(super) words: Vec<W>,
    /// Lanes that are written; none are listed where all are.
    pub(super) taken: Vec<bool>,
}

impl<W> Landing<W> {
    /// The next row.
    pub(super) fn row(&self) -> &[W] {
        let lanes = self.words.len() / self.rows;
        &self.words[self.landed * lanes..][..lanes]
    }

    /// It has landed.
    fn advance(&mut self) {
        self.cycle += 1;
        self.address = self.address.wrapping_add_signed(self.step);
        self.landed += 1;
    }

    /// When and where each of the others lands.
    pub(super) fn rest(&self) -> impl Iterator<Item = (u64, usize)> {
        let row = |n: usize| (self.cycle + n as u64, self.address.wrapping_add_signed(self.step * n as isize));
        (0..self.rows - self.landed).map(row)
    }
}

/// What an emitting beat gives to the output FIFO.
#[derive(Debug)]
pub(super) struct Emission<S> {
    /// The cycle in which it comes there.
    pub(super) cycle: u64,
    /// One sum per lane, where each PE has one; else the lanes are made of the rows.
    pub(super) lanes: Vec<S>,
    pub(super) transfers: u32,
}

/// The output FIFO.
#[derive(Debug)]
pub(super) struct Queue<W> {
    /// All words of a beat that leave, one beat after the other.
    words: VecDeque<W>,
    /// Transfers of each beat that are left.
    transfers: VecDeque<u32>,
    words_of_transfer: usize,
}

impl<W> Queue<W> {
    pub(super) fn of(machine: &Machine) -> Queue<W> {
        let words_of_transfer = machine.output_words() as usize;
        Queue { words: VecDeque::new(), transfers: VecDeque::new(), words_of_transfer }
    }

    /// The words at the output; none if there is no beat.
    pub(super) fn transfer(&self) -> impl Iterator<Item = &W> {
        self.words.iter().take(self.words_of_transfer)
    }

    /// Transfers that are left of each beat.
    pub(super) fn transfers(&self) -> impl Iterator<Item = u32> {
        self.transfers.iter().copied()
    }

    /// Whether there is no word.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether they are the last ones of their beat.
    pub(super) fn ends_beat(&self) -> bool {
        self.transfers.front() == Some(&1)
    }

    /// They leave.
    pub(super) fn pop(&mut self) {
        self.words.drain(..self.words_of_transfer);
        match self.transfers.front_mut() {
            Some(left) if *left > 1 => *left -= 1,
            _ => drop(self.transfers.pop_front()),
        }
    }

    /// A beat of so many transfers comes; its words follow.
    pub(super) fn begin(&mut self, transfers: u32) {
        self.transfers.push_back(transfers);
    }

    /// The next word of that beat.
    pub(super) fn push(&mut self, word: W) {
        self.words.push_back(word);
    }

    /// Beats that are there, also in part.
    pub(super) fn beats(&self) -> usize {
        self.transfers.len()
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.transfers.clear();
    }
}

impl<V: Values> Lanes<V> {
    /// Results that are at the write ports in this cycle, the last one that has passed, and those of earlier ones that nobody has missed.
    pub(super) fn land(&mut self, last: u64) {
        while let Some(mut landing) = self.landings.pop_front_if(|landing| landing.cycle <= last) {
            while landing.landed < landing.rows && landing.cycle <= last {
                self.land_row(&landing, last);
                landing.advance();
            }
            if landing.landed < landing.rows {
                return self.landings.push_front(landing);
            }
            self.spare.push((landing.words, landing.taken));
        }
    }

    fn land_row(&mut self, landing: &Landing<V::Word>, last: u64) {
        let from = landing.address * self.pes;
        self.touch(landing.pad, &(from..from + self.pes));
        let words = &mut self.pads[landing.pad as usize][from..from + self.pes];
        if self.ahead && landing.cycle == last {
            let before = words.iter().enumerate().filter(|(pe, _)| landing.taken.get(*pe).is_none_or(|&taken| taken));
            self.fresh.extend(before.map(|(pe, &word)| (landing.pad, from + pe, word)));
        }
        if landing.taken.is_empty() {
            words.copy_from_slice(landing.row());
        }
        for ((word, &new), &taken) in words.iter_mut().zip(landing.row()).zip(&landing.taken) {
            *word = if taken { new } else { *word };
        }
    }

    /// A beat whose sums begin and end with it and only leave. One PE of a row sends: no other makes a sum, since nobody would see it.
    pub(super) fn emit(&mut self, beat: &Beat<AluInstruction>, places: &[usize; Pad::COUNT]) {
        let i = &beat.instruction;
        let (pus, pes_per_pu) = (self.machine.pus(), self.machine.pes_per_pu());
        let columns = pes_per_pu as usize;
        // Most words that leave are those of one PE, or of a column: of millions of weights, a grid of thousands of PEs is not asked each time.
        let picked = |level: u8, all: u32| match beat.counters.get(usize::from(level)) {
            Some(&place) => place.min(all)..(place + 1).min(all),
            None => 0..all,
        };
        let (some_rows, some_columns) = (picked(i.mask.pick_row, pus), picked(i.mask.pick_column, pes_per_pu));
        let few = some_rows.len() * some_columns.len() <= pus.max(pes_per_pu) as usize;
        if !few {
            self.admit(&i.mask, &i.counts, &beat.counters);
        }
        let Lanes { values, pads, admitted: Admitted { lanes: taken, .. }, .. } = self;
        let admits = |row: u32, column: u32| {
            if few {
                i.mask.admits(pus, pes_per_pu, &i.counts, &beat.counters, row, column)
            } else {
                taken[row as usize * columns + column as usize]
            }
        };
        let nothing = values.nothing(i.combine);
        let mut rows = vec![nothing.clone(); pus as usize];
        let mut lanes = if self.machine.lane_for_each() { vec![nothing.clone(); self.pes] } else { Vec::new() };
        for number in some_rows {
            let row = &mut rows[number as usize];
            for column in some_columns.clone().filter(|&column| admits(number, column)) {
                let (number, column) = (number as usize, column as usize);
                let word = |pad: Pad| pads[pad as usize][places[pad as usize] + number * columns + column];
                let mut sum = match i.c {
                    Start::Zero => nothing.clone(),
                    Start::Immediate => {
                        let start = values.constant(i.immediate_c);
                        values.start(start, i.align)
                    }
                    Start::Pad(pad) => values.start(word(pad), i.align),
                };
                let b = match i.b {
                    Factor::Immediate => values.constant(i.immediate_b),
                    Factor::Pad(pad) => word(pad),
                };
                match i.combine {
                    combine if i.square => values.square(combine, &mut sum, word(i.a), b),
                    Combine::Add => values.add(&mut sum, word(i.a), b),
                    Combine::Subtract => values.subtract(&mut sum, word(i.a), b),
                    extreme => values.compare(extreme, &mut sum, word(i.a), b),
                }
                values.join(i.combine, row, &sum);
                if let Some(lane) = lanes.get_mut(column * pus as usize + number) {
                    *lane = sum;
                }
            }
        }
        self.send(beat, rows, lanes);
    }

    /// Into the trees.
    fn send(&mut self, beat: &Beat<AluInstruction>, rows: Vec<V::Sum>, lanes: Vec<V::Sum>) {
        let row_cycle = self.now + timing::alu_to_root(&self.machine, Unit::Row);
        let AluInstruction { combine, emit, .. } = *beat.instruction;
        let cycle = self.now + timing::alu_to_output(&self.machine);
        let emit = emit.then(|| Emission { cycle, lanes, transfers: beat.instruction.transfers(&self.machine) });
        let leaves = self.leaves(&beat.instruction);
        self.trees.push_back(TreeSums { row_cycle, rows, combine, emit, leaves, of: beat.number });
    }

    /// Room for words, and the lanes that are written; none are listed where all are.
    pub(super) fn room(&mut self) -> (Vec<V::Word>, Vec<bool>) {
        let (mut words, mut taken) = self.spare.pop().unwrap_or_default();
        words.clear();
        taken.clear();
        if !self.admitted.all {
            taken.extend_from_slice(&self.admitted.lanes);
        }
        (words, taken)
    }

    /// The sums of a beat, when it was their last: into a pad, into the trees.
    pub(super) fn finish(&mut self, beat: &Beat<AluInstruction>, last_tile: bool) {
        let i = &beat.instruction;
        if i.tree {
            let (values, columns) = (&mut self.values, self.machine.pes_per_pu() as usize);
            let rows: Vec<V::Sum> =
                self.accumulators.chunks(columns).map(|sums| joined(values, i.combine, sums)).collect();
            // Column by column: what lies on rows alone takes the first lanes.
            let by_column = (0..columns).flat_map(|column| self.accumulators.iter().skip(column).step_by(columns));
            let lanes = if i.emit && self.machine.lane_for_each() { by_column.cloned().collect() } else { Vec::new() };
            self.send(beat, rows, lanes);
        }
        let Some(pad) = i.write.filter(|_| last_tile || i.tiles == Tiles::Every) else { return };
        let (mut words, taken) = self.room();
        self.saturated |= self.values.finish(&self.accumulators, &self.admitted.lanes, i.finish, i.shift, &mut words);
        let (address, cycle) = (at(&i.destination, &beat.counters, self.depth(pad)), self.now + timing::ALU_WRITE);
        self.landings.push_back(Landing { cycle, pad, address, step: 0, landed: 0, rows: 1, words, taken });
    }
}
