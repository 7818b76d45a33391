//! Schedule: the cycle of every instruction of the three static streams.
//!
//!     alu   ████ job 0 ████  ████ job 1 ████        job 1 starts as soon as each of its words is there in time,
//!     root              █ █ (tree latency later)     not when all of job 0 has landed
//!     move                 █ █ (root latency later)
//!
//! Jobs issue in order. A job starts in the first cycle in which every word it reads has been written by then, no write
//! port is used twice, and the root and move streams stay in order. Words are followed one by one: the work is
//! proportional to the cycles of a step, which is what the step takes in hardware anyway. Times are beat cycles relative
//! to the first possible beat of the step.

use super::allocate::Allocation;
use super::job::{Access, Job, Sink};
use crate::fixed::Role;
use arch::isa::Pad;
use arch::machine::Machine;
use arch::timing;
use std::collections::HashSet;

/// First and last cycle of something, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Window {
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
    /// First cycle in which another job may read all of the result.
    pub(super) readable: u64,
    /// Cycles the job waited, after the one before it.
    pub(super) waited: u64,
}

/// All slots, and the length of the step.
///
/// The next step may start while the last results of this one are still on their way: what it reads of them lands in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) slots: Vec<Slot>,
    pub(super) length: u64,
    /// First cycle in which everything can be read.
    pub(super) landed: u64,
}

/// Cycles from a job's alu beat to its result at the write port, and to the first beat that may read it.
fn latency(job: &Job, machine: &Machine) -> (u64, u64) {
    match &job.sink {
        Sink::Pad(_) => (timing::ALU_WRITE, timing::ALU_TO_ALU),
        Sink::Tree { unit, function, .. } => {
            let moved = timing::alu_to_root(machine, *unit) + timing::root_to_move(*unit, function.is_some());
            (moved, moved + timing::MOVE_TO_ALU)
        }
        Sink::Output => (0, 1),
    }
}

/// The windows of a job that starts in cycle 0.
fn shape(job: &Job, machine: &Machine) -> Slot {
    let interval = u64::from(job.interval);
    let last = (job.beats() - 1) * interval;
    let results = Window { first: (job.beats_per_result() - 1) * interval, last };
    let (_, readable) = latency(job, machine);
    let (root, moves) = match &job.sink {
        Sink::Pad(_) | Sink::Output => (None, None),
        Sink::Tree { unit, function, .. } => {
            let root = results.later(timing::alu_to_root(machine, *unit));
            (Some(root), Some(root.later(timing::root_to_move(*unit, function.is_some()))))
        }
    };
    Slot { alu: Window { first: 0, last }, root, moves, readable: last + readable, waited: 0 }
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

/// Call `visit` with the word of an access in every beat of the job, and with the beat's cycle relative to the job's start.
fn for_each_word(job: &Job, access: &Access, mut visit: impl FnMut(usize, u64)) {
    let mut counters = vec![0u32; job.loops.len()];
    let mut word = access.offset;
    let mut cycle = 0;
    loop {
        visit(word as usize, cycle);
        cycle += u64::from(job.interval);
        let mut level = counters.len();
        loop {
            if level == 0 {
                return;
            }
            level -= 1;
            counters[level] += 1;
            word += access.strides[level];
            if counters[level] < job.loops[level] {
                break;
            }
            word -= access.strides[level] * i64::from(counters[level]);
            counters[level] = 0;
        }
    }
}

/// What has been scheduled so far.
struct Board {
    /// Per storage and word: the first cycle in which it can be read.
    readable: Vec<Vec<u64>>,
    /// Per storage and word: the first cycle in which it is read.
    read: Vec<Vec<u64>>,
    /// Cycles in which the write port of a pad is taken.
    ports: HashSet<(Pad, u64)>,
    alu: u64,
    root: u64,
    moves: u64,
}

impl Board {
    /// The first cycle in which the job may start as far as data and streams are concerned.
    fn earliest(&self, job: &Job, shape: &Slot) -> u64 {
        let mut start = self.alu;
        // Reading waits for the value. Writing waits, too, so that writers of one word land in order.
        for access in job.reads().chain(job.write()) {
            let readable = &self.readable[access.storage.0];
            for_each_word(job, access, |word, cycle| start = start.max(readable[word].saturating_sub(cycle)));
        }
        if let (Some(root), Some(moves)) = (shape.root, shape.moves) {
            start = start.max(self.root.saturating_sub(root.first)).max(self.moves.saturating_sub(moves.first));
        }
        start
    }

    /// The first cycle in which the next step may start.
    fn next_start(&self, allocation: &Allocation, slots: &[Slot]) -> u64 {
        // A stream is idle two cycles after its last beat and needs one more to fetch its first instruction again.
        let streams = slots.iter().flat_map(|slot| [Some(slot.alu), slot.root, slot.moves]).flatten();
        let mut length = streams.map(|window| window.last + 3).max().unwrap_or(2);
        // What one step leaves for the next are the states; each word has to be there when it is first read.
        let states =
            allocation.storages.iter().zip(&self.readable).zip(&self.read).filter(|((s, _), _)| s.role == Role::State);
        for ((_, readable), read) in states {
            for (&readable, &read) in readable.iter().zip(read) {
                length = length.max(readable.saturating_sub(read));
            }
        }
        length
    }

    /// The cycles, relative to the job's start, in which its results are at the write port.
    fn write_cycles(job: &Job, machine: &Machine) -> impl std::iter::Iterator<Item = u64> + use<> {
        let per_result = job.beats_per_result();
        let (results, interval) = (job.beats() / per_result, u64::from(job.interval));
        let (written, _) = latency(job, machine);
        (1..=results).map(move |n| (n * per_result - 1) * interval + written)
    }
}

/// Give every job its cycles.
pub(super) fn schedule(allocation: &Allocation, machine: &Machine) -> Schedule {
    let mut slots: Vec<Slot> = Vec::new();
    let readable = allocation.storages.iter().map(|s| vec![0; s.words as usize]).collect();
    let read = allocation.storages.iter().map(|s| vec![u64::MAX; s.words as usize]).collect();
    let mut board = Board { readable, read, ports: HashSet::new(), alu: 0, root: 0, moves: 0 };
    for job in &allocation.jobs {
        let shape = shape(job, machine);
        let mut start = board.earliest(job, &shape);
        if let Some(write) = job.write() {
            let pad = allocation.homes[write.storage.0].pad;
            while Board::write_cycles(job, machine).any(|cycle| board.ports.contains(&(pad, start + cycle))) {
                start += 1;
            }
            board.ports.extend(Board::write_cycles(job, machine).map(|cycle| (pad, start + cycle)));
            let (_, latency) = latency(job, machine);
            let readable = &mut board.readable[write.storage.0];
            // The last beat that touches a word is the one that writes it.
            for_each_word(job, write, |word, cycle| readable[word] = readable[word].max(start + cycle + latency));
        }
        for access in job.reads() {
            let first = &mut board.read[access.storage.0];
            for_each_word(job, access, |word, cycle| first[word] = first[word].min(start + cycle));
        }
        let mut slot = shifted(shape, start);
        slot.waited = start - board.alu;
        board.alu = slot.alu.last + 1;
        if let (Some(root), Some(moves)) = (slot.root, slot.moves) {
            board.root = root.last + 1;
            board.moves = moves.last + 1;
        }
        slots.push(slot);
    }
    let length = board.next_start(allocation, &slots);
    let landed = slots.iter().map(|slot| slot.readable).max().unwrap_or(0);
    Schedule { slots, length, landed }
}
