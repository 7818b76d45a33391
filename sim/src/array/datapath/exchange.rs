//! Sums of a batch that leave, and come back in parts (docs/machine.md, section 10).

use super::{Lanes, TreeSums, at, joined};
use crate::array::stream::Beat;
use crate::array::values::Values;
use arch::isa::{AluInstruction, Combine, LoadInstruction, Tiles, gradient_bits};
use arch::number::wrap;
use std::ops::Range;

/// What PEs show that a mask does not admit while sums leave.
pub(super) fn hide<V: Values>(values: &mut V, sums: &mut [V::Sum], taken: &[bool]) {
    let nothing = values.nothing(Combine::Add);
    for (sum, _) in sums.iter_mut().zip(taken).filter(|&(_, &taken)| !taken) {
        sum.clone_from(&nothing);
    }
}

impl<V: Values> Lanes<V> {
    /// The beat of the output that comes out of the trees in this cycle, if one does.
    pub(super) fn send_beat(&mut self) {
        let comes = |sums: &&TreeSums<V::Sum>| sums.emit.as_ref().is_some_and(|emission| emission.cycle == self.now);
        if let Some((sums, emission)) = self.trees.iter().find(comes).and_then(|sums| Some((sums, sums.emit.as_ref()?)))
        {
            let lanes = self.machine.lane_rows() as usize;
            let sent = emission.transfers * self.machine.output_words();
            self.fifo.begin(emission.transfers);
            for lane in 0..sent as usize {
                let sum = emission.lanes.get(lane).cloned().unwrap_or_else(|| {
                    let rows: Vec<V::Sum> = sums.rows.iter().skip(lane).step_by(lanes).cloned().collect();
                    joined(&mut self.values, sums.combine, &rows)
                });
                let lsb = self.part * self.machine.word();
                let word = if sums.leaves { self.values.part(&sum, lsb) } else { self.values.low(&sum) };
                self.fifo.push(word);
            }
            if sums.leaves {
                self.part = (self.part + 1) % self.machine.parts_of_sum();
            }
        }
    }

    /// Whether a beat sends a sum as it is.
    pub(super) fn leaves(&self, alu: &AluInstruction) -> bool {
        self.machine.hands_out_sums() && alu.emit && matches!(alu.tiles, Tiles::Park(_))
    }

    /// A part of a sum for each of these PEs, as far as the mask of the beat takes them; with the last one the sum is whole.
    pub(super) fn join_parts(&mut self, beat: &Beat<LoadInstruction>, input: &[V::Word], some: Range<usize>) {
        let parts = self.machine.parts_of_sum() as usize;
        self.parts.push_back(input.to_vec());
        if self.parts.len() > parts {
            self.parts.pop_front();
        }
        let i = &beat.instruction;
        if beat.counters[3] + 1 != i.counts[3] || self.parts.len() < parts {
            return;
        }
        let (word, accumulator) = (self.machine.word(), self.machine.accumulator());
        let lanes = self.machine.stream_words() as usize;
        let from = at(&i.destination, &beat.counters, 1 << gradient_bits(&self.machine)) * self.pes;
        for pe in some.filter(|&pe| self.taken[pe]) {
            let lane = if i.scatter { pe % lanes } else { 0 };
            let bits = |part: &Vec<V::Word>| self.values.shown(part[lane]) as u128 & ((1 << word) - 1);
            let sum = self.parts.iter().rev().fold(0, |sum, part| sum << word | bits(part));
            self.gradients[from + pe] = self.values.given_sum(wrap(sum as i128, accumulator));
        }
    }
}
