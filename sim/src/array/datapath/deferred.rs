//! Products that wait: beats of one sum whose operands follow each other are added at once.
//!
//! ```text
//! cycle   7  8  9 10 11 12 ..  20
//! beats   ×  ×  ×  ×  ×  ×     last ──▶ all products, then the sum is finished
//!                        ▲
//!                        a write to a row that a waiting beat has read: the products first, then the write
//! ```
//!
//! So every product is made of the words of its cycle.

use super::Lanes;
use crate::array::bulk::{Factors, Rows, Second};
use crate::array::stream::Beat;
use crate::array::values::Values;
use arch::isa::{AluInstruction, Combine, Factor, LEVELS, Mask, Pad};
use std::ops::Range;

/// Rows that beats read, one each.
#[derive(Debug, Clone, Copy)]
struct Reads {
    pad: Pad,
    first: usize,
    step: isize,
}

impl Reads {
    /// Whether a row is the one that follows so many rows.
    fn goes_on(&mut self, rows: usize, place: usize) -> bool {
        let distance = place as isize - self.first as isize;
        if rows == 1 {
            self.step = distance;
        }
        distance == self.step * rows as isize
    }

    /// Whether a row is the one that follows two or more.
    fn reaches(&self, rows: usize, place: usize) -> bool {
        rows > 1 && place as isize - self.first as isize == self.step * rows as isize
    }

    /// Whether some words of a pad can be among so many rows of some lanes.
    fn touches(&self, rows: usize, lanes: usize, pad: Pad, words: &Range<usize>) -> bool {
        let last = self.first.wrapping_add_signed(self.step * (rows as isize - 1));
        pad == self.pad && words.start < self.first.max(last) + lanes && self.first.min(last) < words.end
    }

    fn rows<'a, W>(&self, pads: &'a [Vec<W>; Pad::COUNT]) -> Rows<'a, W> {
        Rows { words: &pads[self.pad as usize], first: self.first, step: self.step }
    }
}

/// Beats whose products are not made yet.
#[derive(Debug)]
pub(super) struct Deferred<W> {
    /// The instruction.
    number: usize,
    a: Reads,
    /// Rows, or a word of the instruction.
    b: Result<Reads, W>,
    pub(super) beats: usize,
    subtract: bool,
}

impl<W> Deferred<W> {
    fn goes_on(&mut self, beat: &Beat<AluInstruction>, places: &[usize; Pad::COUNT]) -> bool {
        let beats = self.beats;
        let follows = |reads: &mut Reads| reads.goes_on(beats, places[reads.pad as usize]);
        self.number == beat.number && follows(&mut self.a) && self.b.as_mut().map_or(true, follows)
    }

    /// Whether a beat of this instruction is the one that follows two or more.
    pub(super) fn reaches(&self, number: usize, places: &[usize; Pad::COUNT]) -> bool {
        let reached = |reads: &Reads| reads.reaches(self.beats, places[reads.pad as usize]);
        self.number == number && reached(&self.a) && self.b.as_ref().map_or(true, reached)
    }

    fn touches(&self, lanes: usize, pad: Pad, words: &Range<usize>) -> bool {
        let touched = |reads: &Reads| reads.touches(self.beats, lanes, pad, words);
        touched(&self.a) || self.b.as_ref().is_ok_and(touched)
    }
}

/// All that decides which PEs a mask admits: the mask, whether its bounds hold, the place it picks.
type Admission = (Mask, [bool; 4], [Option<u32>; 2]);

/// PEs that the last beat of the alu stream admitted, whether these are all, and what decided it.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) lanes: Vec<bool>,
    pub(super) all: bool,
    pub(super) by: Option<Admission>,
}

impl<V: Values> Lanes<V> {
    /// Note which PEs take part in a beat of the alu stream. Products of others are made before.
    pub(super) fn admit(&mut self, mask: &Mask, counts: &[u32; LEVELS], counters: &[u32; LEVELS]) {
        let counter = |level: u8| counters.get(usize::from(level)).copied();
        let first = |level: u8| counter(level).is_none_or(|count| count == 0);
        let last = |level: u8| counter(level).is_none_or(|count| count + 1 == counts[usize::from(level)]);
        let bounds = [first(mask.row_level), last(mask.row_level), first(mask.column_level), last(mask.column_level)];
        let admission = (*mask, bounds, [counter(mask.pick_row), counter(mask.pick_column)]);
        if self.bulk && self.admitted.by == Some(admission) {
            return;
        }
        self.settle();
        let (pus, columns) = (self.machine.pus(), self.machine.pes_per_pu());
        mask.fill(pus, columns, counts, counters, &mut self.admitted.lanes);
        self.admitted.all = self.admitted.lanes.iter().all(|&admitted| admitted);
        self.admitted.by = Some(admission);
    }

    /// Whether the products of an instruction can wait.
    pub(super) fn defers(&self, alu: &AluInstruction) -> bool {
        self.bulk && self.seen.is_none() && !alu.square && !alu.combine.compares()
    }

    /// The products of a beat are made later; the mask of the beat is known.
    pub(super) fn defer(&mut self, beat: &Beat<AluInstruction>, places: &[usize; Pad::COUNT]) {
        if let Some(deferred) = &mut self.deferred
            && deferred.goes_on(beat, places)
        {
            deferred.beats += 1;
            return;
        }
        self.settle();
        let i = &beat.instruction;
        let reads = |pad: Pad| Reads { pad, first: places[pad as usize], step: 0 };
        let b = match i.b {
            Factor::Pad(pad) => Ok(reads(pad)),
            Factor::Immediate => Err(self.values.constant(i.immediate_b)),
        };
        let subtract = i.combine == Combine::Subtract;
        self.deferred = Some(Deferred { number: beat.number, a: reads(i.a), b, beats: 1, subtract });
    }

    /// Make the products that wait.
    pub(super) fn settle(&mut self) {
        let Some(Deferred { a, b, beats, subtract, .. }) = self.deferred.take() else { return };
        let Lanes { values, pads, accumulators, admitted, .. } = self;
        let b = b.map_or_else(Second::Word, |reads| Second::Rows(reads.rows(pads)));
        values.add_rows(accumulators, &admitted.lanes, &Factors { a: a.rows(pads), b, beats, subtract });
    }

    /// Some words of a pad are about to be written.
    pub(super) fn touch(&mut self, pad: Pad, words: &Range<usize>) {
        if self.deferred.as_ref().is_some_and(|deferred| deferred.touches(self.pes, pad, words)) {
            self.settle();
        }
    }

    /// Where pads are read ahead: beats that saw words which the last cycle has overwritten do not wait.
    pub(super) fn settle_fresh(&mut self) {
        let Some(deferred) = &self.deferred else { return };
        if self.fresh.iter().any(|&(pad, place, _)| deferred.touches(self.pes, pad, &(place..place + 1))) {
            self.settle();
        }
    }
}
