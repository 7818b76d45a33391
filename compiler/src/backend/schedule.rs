//! Schedule: the cycle of every instruction of the three static streams.
//!
//!     alu   ████ job 0 ████          ████ job 1 ████
//!     root              █ █ (tree latency later)
//!     move                 █ █ (root latency later)
//!
//! Jobs issue in order. A job starts in the first cycle in which everything it reads has been written, no write port,
//! root or bus is used twice, and the root and move streams stay in order. Times are beat cycles relative to the first
//! possible beat of the step.

use super::allocate::Allocation;
use super::job::{Job, Sink};
use arch::isa::Pad;
use arch::machine::Machine;
use arch::timing;

/// First and last cycle of something, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Window {
    fn meets(self, other: Window) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    fn later(self, by: u64) -> Window {
        Window { first: self.first + by, last: self.last + by }
    }
}

/// The cycles of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Alu beats.
    pub(super) alu: Window,
    /// Root beats, if the result goes through a tree.
    pub(super) root: Option<Window>,
    /// Move beats, if the result goes through a tree.
    pub(super) moves: Option<Window>,
    /// First cycle in which another job may read the result.
    pub(super) readable: u64,
    /// Cycles the job waited, after the one before it.
    pub(super) waited: u64,
}

/// All slots, and the length of the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) slots: Vec<Slot>,
    pub(super) length: u64,
}

/// The windows of a job that starts in cycle 0.
fn shape(job: &Job, machine: &Machine) -> Slot {
    let interval = u64::from(job.interval);
    let first_result = (job.beats_per_result() - 1) * interval;
    let last = (job.beats() - 1) * interval;
    let results = Window { first: first_result, last };
    let (root, moves, readable) = match &job.sink {
        Sink::Pad(_) => (None, None, last + timing::ALU_TO_ALU),
        Sink::Tree { unit, function, .. } => {
            let root = results.later(timing::alu_to_root(machine, *unit));
            let moves = root.later(timing::root_to_move(*unit, function.is_some()));
            (Some(root), Some(moves), moves.last + timing::MOVE_TO_ALU)
        }
        Sink::Output => (None, None, last + 1),
    };
    Slot { alu: Window { first: 0, last }, root, moves, readable, waited: 0 }
}

fn shifted(slot: Slot, by: u64) -> Slot {
    Slot {
        alu: slot.alu.later(by),
        root: slot.root.map(|w| w.later(by)),
        moves: slot.moves.map(|w| w.later(by)),
        readable: slot.readable + by,
        waited: slot.waited,
    }
}

/// The cycles in which a job's result is at the write port of its pad.
fn write_window(job: &Job, slot: &Slot) -> Option<Window> {
    match &job.sink {
        Sink::Pad(_) => {
            let first = slot.alu.first + (job.beats_per_result() - 1) * u64::from(job.interval);
            Some(Window { first: first + timing::ALU_WRITE, last: slot.alu.last + timing::ALU_WRITE })
        }
        Sink::Tree { .. } => slot.moves,
        Sink::Output => None,
    }
}

/// Give every job its cycles.
pub(super) fn schedule(allocation: &Allocation, machine: &Machine) -> Schedule {
    let mut slots: Vec<Slot> = Vec::new();
    let mut readable = vec![0u64; allocation.storages.len()];
    let mut writes: Vec<(Pad, Window)> = Vec::new();
    let mut next_alu = 0;
    let mut next_root = 0;
    let mut next_move = 0;
    for job in &allocation.jobs {
        let shape = shape(job, machine);
        let mut start = next_alu;
        for access in job.reads().chain(job.write()) {
            // Reading waits for the value; writing waits too, so that writers of one storage land in order.
            start = start.max(readable[access.storage.0]);
        }
        if let Some(root) = shape.root {
            start = start.max(next_root.max(root.first) - root.first);
        }
        if let Some(moves) = shape.moves {
            start = start.max(next_move.max(moves.first) - moves.first);
        }
        let pad = job.write().map(|access| allocation.homes[access.storage.0].pad);
        let mut slot = shifted(shape, start);
        if let Some(pad) = pad {
            while let Some(window) = write_window(job, &slot) {
                let busy = writes.iter().find(|(other, taken)| *other == pad && taken.meets(window));
                let Some(&(_, taken)) = busy else { break };
                slot = shifted(slot, taken.last + 1 - window.first);
            }
            let window = write_window(job, &slot).expect("a job that writes has a window");
            writes.push((pad, window));
            // Later jobs start, and so write, later: windows that end before are of no further interest.
            writes.retain(|(_, taken)| taken.last >= slot.alu.first);
            let written = job.write().expect("it has a pad").storage.0;
            readable[written] = readable[written].max(slot.readable);
        }
        slot.waited = slot.alu.first - next_alu;
        next_alu = slot.alu.last + 1;
        if let (Some(root), Some(moves)) = (slot.root, slot.moves) {
            next_root = root.last + 1;
            next_move = moves.last + 1;
        }
        slots.push(slot);
    }
    // A stream is idle two cycles after its last beat and needs one more to fetch its first instruction again.
    let ends = |slot: &Slot| {
        let streams = [Some(slot.alu), slot.root, slot.moves];
        let last = streams.into_iter().flatten().map(|w| w.last + 3).max().unwrap_or(0);
        last.max(slot.readable)
    };
    let length = slots.iter().map(ends).max().unwrap_or(0).max(2);
    Schedule { slots, length }
}
