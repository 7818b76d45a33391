//! Beats of one loop that are carried out together: nothing that they read changes meanwhile, nothing leaves.
//!
//! | beats | what is left for each |
//! |---|---|
//! | in the midst of a sum | to be counted: its products [wait](super::deferred) |
//! | that are sums by themselves, such as those of an update | the sum; its word lands in its own cycle |

use super::Lanes;
use super::deferred::Deferred;
use super::leaving::Landing;
use crate::array::bulk::{Factors, Rows, Second};
use crate::array::sequencer::Beats;
use crate::array::stream::Beat;
use crate::array::values::Values;
use arch::isa::{Address, AluInstruction, Combine, Factor, LEVELS, Mask, Pad, Start, Tiles};
use arch::timing;

const INNERMOST: usize = LEVELS - 1;

/// Rows of a pad that beats of a loop read or write one after the other.
#[derive(Debug, Clone, Copy)]
struct Line {
    pad: Pad,
    first: usize,
    step: isize,
    /// Beats until it leaves its pad.
    fits: u64,
}

impl Line {
    fn row(&self, beat: u64) -> usize {
        self.first.wrapping_add_signed(self.step * beat as isize)
    }

    /// Whether one of the rows of so many beats is this one, at most.
    fn passes(&self, pad: Pad, beats: u64, row: usize) -> bool {
        let last = self.row(beats - 1);
        pad == self.pad && (self.first.min(last)..=self.first.max(last)).contains(&row)
    }

    /// Whether no beat reads what an earlier one of them has written.
    fn is_apart(&self, written: &Line, beats: u64) -> bool {
        let same = (self.first, self.step) == (written.first, written.step) && self.step != 0;
        let within = |row: usize| self.passes(written.pad, beats, row);
        let (first, last) = (written.row(0), written.row(beats - 1));
        let around = self.first >= first.min(last) && self.first <= first.max(last);
        self.pad != written.pad || same || !within(first) && !within(last) && !around
    }
}

/// Whether the same PEs take part in all beats of the innermost loop.
fn is_steady(mask: &Mask) -> bool {
    ![mask.row_level, mask.column_level, mask.pick_row, mask.pick_column].contains(&(INNERMOST as u8))
}

impl<V: Values> Lanes<V> {
    /// Carry out beats of a run, from this one on and at most so many, without the cycles between them; how many. None where each has to be done by
    /// itself.
    pub(super) fn carry_out_alike(&mut self, beat: &Beat<AluInstruction>, beats: &Beats, most: u64) -> u64 {
        let i = &beat.instruction;
        if !self.bulk || self.seen.is_some() || i.tree && i.reduce == 0 || !is_steady(&i.mask) {
            return 0;
        }
        let most = if i.reduce == 0 { self.updates(beat, beats, most) } else { self.midst(beat, beats, most) };
        if most > 1 { most } else { 0 }
    }

    /// Of so many beats, those before anything changes what they read in these lines, or comes to the output.
    fn undisturbed(&self, lines: &[Line], most: u64) -> u64 {
        let touched = |pad: Pad, row: usize| lines.iter().any(|line| line.passes(pad, most, row));
        if self.fresh.iter().any(|&(pad, place, _)| touched(pad, place / self.pes)) {
            return 0;
        }
        let emissions = self.trees.iter().filter_map(|sums| sums.emit.as_ref()).map(|emission| emission.cycle);
        let landings = self
            .landings
            .iter()
            .filter_map(|landing| landing.rest().find(|&(_, row)| touched(landing.pad, row)).map(|(cycle, _)| cycle));
        let ends = emissions.filter(|&cycle| cycle >= self.now).chain(landings);
        ends.map(|cycle| cycle + 1 - self.now).fold(most, u64::min)
    }

    /// Rows from this beat on; none where addresses wrap.
    fn line(&self, pad: Pad, address: &Address, beat: &Beat<AluInstruction>, bank: usize) -> Option<Line> {
        let (depth, step) = (self.depth(pad) as i64, i64::from(address.strides[INNERMOST]));
        let offset: i64 = address.strides.iter().zip(&beat.counters).map(|(&s, &k)| i64::from(s) * i64::from(k)).sum();
        let place = i64::from(address.base) + offset;
        if !(0..depth).contains(&place) {
            return None;
        }
        let left = if step < 0 { place } else { depth - 1 - place };
        let fits = left.checked_div(step.abs()).map_or(u64::MAX, |more| more as u64 + 1);
        Some(Line { pad, first: bank + place as usize, step: step as isize, fits })
    }

    /// What beats read: the first factor, the second one, the start.
    fn lines(&self, beat: &Beat<AluInstruction>, beats: &Beats) -> Option<[Option<Line>; 3]> {
        let i = &beat.instruction;
        let read = |pad: Pad| {
            let bank = if pad == Pad::Data { (beats.compute_bank * self.machine.data_depth()) as usize } else { 0 };
            self.line(pad, &i.reads[pad as usize], beat, bank)
        };
        let second = match i.b {
            Factor::Pad(pad) => Some(read(pad)?),
            Factor::Immediate => None,
        };
        let start = match i.c {
            Start::Pad(pad) if i.reduce == 0 => Some(read(pad)?),
            _ => None,
        };
        Some([Some(read(i.a)?), second, start])
    }

    /// Beats in the midst of a sum whose products wait; two say how far rows are apart, and for whom they count.
    fn midst(&mut self, beat: &Beat<AluInstruction>, beats: &Beats, most: u64) -> u64 {
        let (counter, count) = (beat.counters[INNERMOST], beat.instruction.counts[INNERMOST]);
        let most = most.min(u64::from(count.saturating_sub(counter + 1)));
        if counter < 2 || most < 2 || self.deferred.is_none() {
            return 0;
        }
        let Some(lines) = self.lines(beat, beats) else { return 0 };
        let lines: Vec<Line> = lines.into_iter().flatten().collect();
        let most = lines.iter().fold(most, |most, line| most.min(line.fits));
        let most = self.undisturbed(&lines, most);
        let places = self.places(beat, beats.compute_bank);
        let goes_on = |deferred: &&mut Deferred<V::Word>| deferred.reaches(beat.number, &places);
        let Some(deferred) = self.deferred.as_mut().filter(goes_on).filter(|_| most > 1) else { return 0 };
        deferred.beats += most as usize;
        most
    }

    /// Beats that are sums of one product each, which are written.
    fn updates(&mut self, beat: &Beat<AluInstruction>, beats: &Beats, most: u64) -> u64 {
        let i = &beat.instruction;
        let plain = !i.square && !i.combine.compares() && !i.emit && !matches!(i.tiles, Tiles::Park(_));
        let Some(pad) = i.write.filter(|_| plain && (beats.last_tile || i.tiles == Tiles::Every)) else { return 0 };
        let Some(lines) = self.lines(beat, beats) else { return 0 };
        let Some(to) = self.line(pad, &i.destination, beat, 0) else { return 0 };
        let read: Vec<Line> = lines.into_iter().flatten().collect();
        let most = read.iter().fold(most.min(to.fits), |most, line| most.min(line.fits));
        // The first word is there for a beat so much later.
        let soon = if read.iter().all(|line| line.is_apart(&to, most)) { most } else { timing::ALU_WRITE + 1 };
        let most = self.undisturbed(&read, most.min(soon));
        if most < 2 {
            return 0;
        }
        self.deferred = None;
        self.admit(&i.mask, &i.counts, &beat.counters);
        let (mut words, taken) = self.room();
        self.update(i, &lines, most, &mut words);
        let (cycle, address, rows) = (self.now + timing::ALU_WRITE, to.first, most as usize);
        self.landings.push_back(Landing { cycle, pad, address, step: to.step, landed: 0, rows, words, taken });
        most
    }

    /// The words of so many of these beats.
    fn update(&mut self, i: &AluInstruction, [a, b, c]: &[Option<Line>; 3], beats: u64, words: &mut Vec<V::Word>) {
        let Lanes { values, pads, admitted, pes, .. } = self;
        let rows = |line: &Line| {
            let (first, step) = (line.first * *pes, line.step * *pes as isize);
            Rows { words: &pads[line.pad as usize], first, step }
        };
        let mut other = |line: &Option<Line>, immediate: i64| {
            line.as_ref().map_or_else(|| Second::Word(values.constant(immediate)), |line| Second::Rows(rows(line)))
        };
        let start = other(c, if i.c == Start::Immediate { i.immediate_c } else { 0 });
        let b = other(b, i.immediate_b);
        let (a, subtract) = (rows(a.as_ref().expect("the first factor is read")), i.combine == Combine::Subtract);
        let factors = Factors { a, b, beats: beats as usize, subtract };
        self.saturated |= values.update_rows((start, i.align), &factors, &admitted.lanes, i.finish, i.shift, words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_apart_from_what_earlier_ones_write() {
        let line = |pad, first, step| Line { pad, first, step, fits: 100 };
        let written = line(Pad::T0, 10, 2);
        let apart = |pad, first, step| line(pad, first, step).is_apart(&written, 10);
        // Row 10, 12, .. 28 are written: in place, elsewhere, before, behind.
        assert!(apart(Pad::T0, 10, 2) && apart(Pad::T1, 10, 1) && apart(Pad::T0, 9, -1) && apart(Pad::T0, 29, 3));
        // A step behind, the other way round, across, from within.
        assert!(!apart(Pad::T0, 8, 2) && !apart(Pad::T0, 28, -2) && !apart(Pad::T0, 0, 4) && !apart(Pad::T0, 20, 0));
        // One row that every beat reads and writes.
        assert!(!line(Pad::T0, 5, 0).is_apart(&line(Pad::T0, 5, 0), 10));
    }
}
