//! Steps that repeat earlier ones.
//!
//! ```text
//! a step begins ──▶ as an earlier one did? ──no──▶ sequencer, cycle by cycle ──▶ beats ──▶ datapath
//!                              │                                                  └──▶ written down
//!                              └──yes─▶ the beats of that one ──────────────────────────▶ datapath
//! ```
//!
//! Which beats are issued when does not depend on a word (docs/machine.md, section 1), only on the registers of the sequencer, on the host, and on
//! what is on its way out. So a step that begins as an earlier one did goes on as that one did, where the host has every beat of input in time and
//! takes every word at once. Its beats still compute with the words of this step.

use super::datapath::Datapath;
use super::sequencer::{Beats, Moment, Sequencer};
use arch::isa::LEVELS;
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps that a run has left when its first one is written down: of fewer, too few repeat it.
const FEWEST_LEFT: u32 = 6;
/// Steps that are known at most.
const MOST_STEPS: usize = 256;
/// Cycles of all known steps in which something happens, at most.
const MOST_EVENTS: usize = 1 << 17;

/// What happens in a cycle.
#[derive(Debug)]
pub(super) struct Event {
    /// Cycles since the step began.
    pub(super) cycle: u64,
    pub(super) beats: Arc<Beats>,
    /// Cycles from this one on in which the alu stream issues, and nothing else happens; its innermost counter counts them.
    pub(super) run: u32,
    /// A beat of input is taken.
    pub(super) takes: bool,
    /// A transfer leaves.
    pub(super) pops: bool,
}

/// Beats and words on their way out, which decide when transfers leave: cycles from now on of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaving {
    pub(super) waiting: Vec<(u64, usize, [u32; LEVELS])>,
    pub(super) trees: Vec<(u64, u32)>,
    pub(super) fifo: Vec<u32>,
}

/// A step that has passed.
#[derive(Debug)]
struct Step {
    begins: (Moment, Leaving),
    ends: Moment,
    events: Vec<Event>,
    cycles: u64,
    /// Beats of input.
    takes: usize,
    /// How many fewer steps are left to compute, and to load.
    done: [u32; 2],
}

/// A step that is being written down.
#[derive(Debug)]
struct Recording {
    begins: (Moment, Leaving),
    left: [u32; 2],
    events: Vec<Event>,
    cycles: u64,
}

/// The steps that are known.
#[derive(Debug, Default)]
pub(super) struct Steps {
    known: Vec<Step>,
    events: usize,
    recording: Option<Recording>,
}

/// Whether both are the only beats of their cycles, of one instruction, one after the other in its innermost loop.
fn follows(before: &Event, beats: &Beats) -> bool {
    let only =
        |beats: &Beats| beats.root.is_none() && beats.moves.is_none() && beats.load.is_none() && beats.scalar.is_none();
    let (Some(one), Some(other)) = (&before.beats.alu, &beats.alu) else { return false };
    let mut counters = one.counters;
    counters[LEVELS - 1] += before.run;
    !before.takes
        && !before.pops
        && only(&before.beats)
        && only(beats)
        && Arc::ptr_eq(&one.instruction, &other.instruction)
        && counters == other.counters
}

impl Steps {
    /// How the step that begins in this cycle begins, if one does; the one that is being written down ends with it.
    fn begins(&mut self, sequencer: &Sequencer, datapath: &dyn Datapath) -> Option<(Moment, Leaving)> {
        let leaving = if sequencer.step_begins() { datapath.leaving()? } else { return None };
        let begins = (sequencer.moment(), leaving);
        if let Some(Recording { begins: of, left, events, cycles }) = self.recording.take_if(|step| step.cycles > 0) {
            let [steps, loaded] = sequencer.left();
            let takes = events.iter().filter(|event| event.takes).count();
            self.events += events.len();
            let done = [left[0] - steps, left[1] - loaded];
            self.known.push(Step { begins: of, ends: begins.0.clone(), events, cycles, takes, done });
        }
        Some(begins)
    }

    /// Before a cycle that the sequencer is to count: a step that begins with it is written down.
    pub(super) fn before(&mut self, sequencer: &Sequencer, datapath: &dyn Datapath) {
        let Some(begins) = self.begins(sequencer, datapath) else { return };
        let room = self.known.len() < MOST_STEPS && self.events < MOST_EVENTS;
        let pays = !self.known.is_empty() || sequencer.left()[0] >= FEWEST_LEFT;
        if room && pays && self.known.iter().all(|step| step.begins != begins) {
            self.recording = Some(Recording { begins, left: sequencer.left(), events: Vec::new(), cycles: 0 });
        }
    }

    /// A cycle that the sequencer has counted; the host was `ready` for whatever it could take or send.
    pub(super) fn note(&mut self, beats: &Arc<Beats>, [takes, pops, ready]: [bool; 3]) {
        let Some(recording) = &mut self.recording else { return };
        if !ready || self.events + recording.events.len() > MOST_EVENTS {
            self.recording = None;
            return;
        }
        let cycle = recording.cycles;
        recording.cycles += 1;
        let empty = !takes && !pops && beats.is_empty();
        match recording.events.last_mut() {
            _ if empty => {}
            Some(last) if !takes && !pops && last.cycle + u64::from(last.run) == cycle && follows(last, beats) => {
                last.run += 1;
            }
            _ => recording.events.push(Event { cycle, beats: Arc::new(Beats::clone(beats)), run: 1, takes, pops }),
        }
    }

    /// The sequencer is changed from outside.
    pub(super) fn stop(&mut self) {
        self.recording = None;
    }

    /// Programs or registers change.
    pub(super) fn forget(&mut self) {
        *self = Steps::default();
    }

    /// A step that is known and begins now, if the host has all of its beats; the sequencer is at its end then.
    pub(super) fn step(
        &mut self,
        sequencer: &mut Sequencer,
        datapath: &mut dyn Datapath,
        offered: &mut VecDeque<Vec<i64>>,
        more: &mut dyn FnMut() -> Option<Vec<i64>>,
        words: &mut Vec<i64>,
    ) -> bool {
        let Some(begins) = self.begins(sequencer, datapath) else { return false };
        let Some(step) = self.known.iter().find(|step| step.begins == begins) else { return false };
        while offered.len() < step.takes {
            let Some(beat) = more() else { return false };
            offered.push_back(beat);
        }
        datapath.replay(&step.events, step.cycles, offered, words);
        sequencer.go_to(&step.ends, step.cycles, step.done);
        true
    }
}
