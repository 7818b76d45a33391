//! Cycles that pass: what is due in each of them, and those in which nothing is.

use super::Lanes;
use crate::array::replay::{Event, Leaving};
use crate::array::sequencer::Beats;
use crate::array::stream::Beat;
use crate::array::values::Values;
use arch::isa::{AluInstruction, LEVELS};
use arch::timing;
use std::collections::VecDeque;
use std::sync::Arc;

/// Beats on their way from the sequencer, and the input taken with them.
#[derive(Debug)]
pub(super) struct Waiting<W> {
    /// The cycle in which they reach the rows.
    due: u64,
    beats: Arc<Beats>,
    /// Cycles of a run ([`Event`]), and how many of them have passed.
    run: u32,
    passed: u32,
    input: Option<Vec<W>>,
}

impl<W> Waiting<W> {
    /// The next beat of the alu stream.
    fn beat(&self) -> Option<Beat<AluInstruction>> {
        let mut beat = self.beats.alu.clone()?;
        beat.counters[LEVELS - 1] += self.passed;
        Some(beat)
    }
}

impl<V: Values> Lanes<V> {
    /// The sequencer issues beats.
    pub(super) fn issue(&mut self, beats: Arc<Beats>, run: u32, input: Option<&[i64]>) {
        let received = |input: &[i64]| input.iter().map(|&word| self.values.received(word)).collect();
        let input = input.map(received);
        self.waiting.push_back(Waiting { due: self.now + timing::DISTRIBUTION, beats, run, passed: 0, input });
    }

    /// What reaches the rows in this cycle, if anything does. Of a run, as many beats as do the same, before the cycle `until`: the last of these
    /// cycles is the current one then. Beats that have been carried out.
    pub(super) fn carry_out_due(&mut self, until: u64) -> Option<Arc<Beats>> {
        let Some(mut waiting) = self.waiting.pop_front_if(|waiting| waiting.due == self.now) else {
            self.forget_fresh();
            return None;
        };
        if waiting.run == 1 {
            self.carry_out(&waiting.beats, waiting.beats.alu.as_ref(), waiting.input.as_deref());
            return Some(waiting.beats);
        }
        let beat = waiting.beat().expect("a run is one of the alu stream");
        let most = u64::from(waiting.run - waiting.passed).min(until - self.now);
        let passed = if most > 1 { self.carry_out_alike(&beat, &waiting.beats, most) } else { 0 };
        if passed > 0 {
            self.forget_fresh();
            self.jump(self.now + passed - 1);
        } else {
            self.carry_out(&waiting.beats, Some(&beat), None);
        }
        waiting.passed += passed.max(1) as u32;
        if waiting.passed == waiting.run {
            return Some(waiting.beats);
        }
        waiting.due = self.now + 1;
        self.waiting.push_front(waiting);
        None
    }

    /// What has come where it goes in this cycle; the next one begins.
    pub(super) fn end_cycle(&mut self) {
        if let Some(unit) = &mut self.unit {
            unit.see_results();
            unit.land(self.now);
        }
        self.see_results();
        self.land(self.now);
        let levels = u64::from(self.machine.global_levels());
        self.send_beat();
        while self.trees.front().is_some_and(|s| s.row_cycle + levels <= self.now) {
            self.trees.pop_front();
        }
        while self.row_bus.front().is_some_and(|b| b.0 < self.now) {
            self.row_bus.pop_front();
        }
        while self.global_bus.front().is_some_and(|b| b.0 <= self.now) {
            self.global_bus.pop_front();
        }
        self.jump(self.now + 1);
    }

    fn jump(&mut self, to: u64) {
        self.now = to;
        if let Some(unit) = &mut self.unit {
            unit.now = to;
        }
    }

    /// What the last cycle has overwritten is of no interest any more.
    fn forget_fresh(&mut self) {
        self.fresh.clear();
        if let Some(unit) = &mut self.unit {
            unit.fresh.clear();
        }
    }

    /// The next cycle in which a result comes to the output, or one of the scalar unit lands.
    fn next_result(&self) -> u64 {
        let of_unit = self.unit.as_ref().and_then(|unit| unit.landings.front()).map(|landing| landing.cycle);
        let emission = self.trees.iter().filter_map(|sums| sums.emit.as_ref()).map(|emission| emission.cycle);
        let emission = emission.filter(|&cycle| cycle >= self.now).min();
        [of_unit, emission].into_iter().flatten().min().unwrap_or(u64::MAX - 1)
    }

    /// Let cycles pass, up to this one.
    fn pass(&mut self, to: u64) {
        while self.now < to {
            let due = self.waiting.front().map_or(u64::MAX, |waiting| waiting.due).min(self.next_result());
            if due > self.now {
                let next = due.min(to);
                self.forget_fresh();
                self.land(next - 1);
                self.jump(next);
                continue;
            }
            self.carry_out_due(to);
            self.end_cycle();
        }
    }

    pub(super) fn repeat(
        &mut self,
        events: &[Event],
        cycles: u64,
        inputs: &mut VecDeque<Vec<i64>>,
        words: &mut Vec<i64>,
    ) {
        let begin = self.now;
        for event in events {
            self.pass(begin + event.cycle);
            if event.pops {
                words.extend(self.fifo.transfer().map(|&word| self.values.shown(word)));
                self.fifo.pop();
            }
            let input = if event.takes { inputs.pop_front() } else { None };
            if event.takes || !event.beats.is_empty() {
                self.issue(event.beats.clone(), event.run, input.as_deref());
            }
        }
        self.pass(begin + cycles);
    }

    pub(super) fn on_its_way(&self) -> Leaving {
        let mut waiting = Vec::new();
        for beats in &self.waiting {
            let Some(beat) = beats.beat().filter(|beat| beat.instruction.emit) else { continue };
            for n in 0..beats.run - beats.passed {
                let mut counters = beat.counters;
                counters[LEVELS - 1] += n;
                waiting.push((beats.due - self.now + u64::from(n), beat.number, counters));
            }
        }
        let emissions = self.trees.iter().filter_map(|sums| sums.emit.as_ref());
        let coming = emissions.filter(|emission| emission.cycle >= self.now);
        let trees = coming.map(|emission| (emission.cycle - self.now, emission.transfers)).collect();
        Leaving { waiting, trees, fifo: self.fifo.transfers().collect() }
    }
}
