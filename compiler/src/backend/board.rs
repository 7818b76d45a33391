//! Board: what has been scheduled so far, cycle by cycle and word by word.
//!
//! Times are beat cycles relative to the first possible beat of the step.

use super::job::{Access, Job, Sink};
use super::select::Storage;
use crate::fixed::Role;
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
    fn later(self, by: u64) -> Window {
        Window { first: self.first + by, last: self.last + by }
    }
}

/// Why an instruction waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A word of this tensor is not there yet.
    Operand(String),
    /// What was written to this tensor before has to land first.
    Overwritten(String),
    /// Roots and buses take results in the order of the instructions.
    Order,
    /// The write port of this pad is taken.
    Port(Pad),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Operand(tensor) => write!(f, "for {tensor}"),
            Cause::Overwritten(tensor) => write!(f, "for earlier words of {tensor}"),
            Cause::Order => f.write_str("for roots and buses"),
            Cause::Port(pad) => write!(f, "for the write port of {pad:?}"),
        }
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

/// Cycles from a job's alu beat to its result at the write port, and to the first beat that may read it.
pub(super) fn latency(job: &Job, machine: &Machine) -> (u64, u64) {
    match &job.sink {
        Sink::Pad(_) => (timing::ALU_WRITE, timing::ALU_TO_ALU),
        Sink::Tree { unit, function, .. } => {
            let moved = timing::alu_to_root(machine, *unit) + timing::root_result(machine, *unit, function.as_ref());
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
            (Some(root), Some(root.later(timing::root_result(machine, *unit, function.as_ref()))))
        }
    };
    Slot { alu: Window { first: 0, last }, root, moves, readable: last + readable, waited: 0 }
}

/// Call `visit` with the word of an access in every beat of the job, and with the beat's cycle relative to the job's start.
pub(super) fn for_each_word(job: &Job, access: &Access, mut visit: impl FnMut(usize, u64)) {
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

/// The cycles, relative to the job's start, in which its results are at the write port.
fn write_cycles(job: &Job, machine: &Machine) -> impl Iterator<Item = u64> + use<> {
    let per_result = job.beats_per_result();
    let (results, interval) = (job.beats() / per_result, u64::from(job.interval));
    let (written, _) = latency(job, machine);
    (1..=results).map(move |n| (n * per_result - 1) * interval + written)
}

/// What has been scheduled so far.
#[derive(Debug, Clone)]
pub(super) struct Board<'a> {
    machine: &'a Machine,
    storages: &'a [Storage],
    pads: &'a [Pad],
    /// Per storage and word: the first cycle in which it can be read.
    readable: Vec<Vec<u64>>,
    /// Per storage and word: the first cycle in which it is read.
    read: Vec<Vec<u64>>,
    /// Per pad and cycle: whether the write port is taken.
    ports: [Vec<bool>; 4],
    /// First cycle in which the alu stream is free.
    pub(super) alu: u64,
    root: u64,
    moves: u64,
    /// Root beats that divide, from the first to the last.
    quotients: Option<Window>,
    slots: Vec<Slot>,
}

impl<'a> Board<'a> {
    pub(super) fn new(machine: &'a Machine, storages: &'a [Storage], pads: &'a [Pad]) -> Board<'a> {
        let words = |value: u64| storages.iter().map(|s| vec![value; s.words as usize]).collect();
        Board {
            machine,
            storages,
            pads,
            readable: words(0),
            read: words(u64::MAX),
            ports: Default::default(),
            alu: 0,
            root: 0,
            moves: 0,
            quotients: None,
            slots: Vec::new(),
        }
    }

    /// The first cycle in which a job may start as far as its words are concerned: each has been written when it is read, and
    /// lands after what was written there before.
    pub(super) fn words_ready(&self, job: &Job) -> u64 {
        let mut start = 0;
        for access in job.reads() {
            let readable = &self.readable[access.storage.0];
            for_each_word(job, access, |word, cycle| start = start.max(readable[word].saturating_sub(cycle)));
        }
        if let Some(write) = job.write() {
            let (_, own) = latency(job, self.machine);
            let readable = &self.readable[write.storage.0];
            let landed = |word: usize| if readable[word] == 0 { 0 } else { readable[word] + 1 };
            for_each_word(job, write, |word, cycle| start = start.max(landed(word).saturating_sub(cycle + own)));
        }
        start
    }

    /// The first cycle in which a job may start whose words are ready in cycle `words`.
    pub(super) fn start(&self, job: &Job, words: u64) -> u64 {
        let shape = shape(job, self.machine);
        let mut start = self.alu.max(words);
        if let (Some(root), Some(moves)) = (shape.root, shape.moves) {
            start = start.max(self.root.saturating_sub(root.first)).max(self.moves.saturating_sub(moves.first));
        }
        if let Some(write) = job.write() {
            let port = &self.ports[self.pads[write.storage.0] as usize];
            let taken = |cycle: u64| port.get(cycle as usize).copied().unwrap_or(false);
            while write_cycles(job, self.machine).any(|cycle| taken(start + cycle)) {
                start += 1;
            }
        }
        start
    }

    /// What keeps a job from starting before cycle `start`; nothing if it follows the one before it at once.
    pub(super) fn cause(&self, job: &Job, start: u64) -> Option<Cause> {
        if start <= self.alu {
            return None;
        }
        let name = |access: &Access| self.storages[access.storage.0].name.clone();
        let shape = shape(job, self.machine);
        let streams = shape.root.map_or(0, |root| self.root.saturating_sub(root.first));
        let streams = streams.max(shape.moves.map_or(0, |moves| self.moves.saturating_sub(moves.first)));
        let words = self.words_ready(job);
        if start > words.max(streams) {
            // Also where a longer job was put into a gap: then nothing but the order holds it back.
            return Some(job.write().map_or(Cause::Order, |write| Cause::Port(self.pads[write.storage.0])));
        }
        if words < start {
            return Some(Cause::Order);
        }
        let late = |access: &&Access| {
            let (readable, mut latest) = (&self.readable[access.storage.0], 0);
            for_each_word(job, access, |word, cycle| latest = latest.max(readable[word].saturating_sub(cycle)));
            latest >= start
        };
        let operand = job.reads().find(late).map(|access| Cause::Operand(name(access)));
        Some(operand.unwrap_or_else(|| job.write().map_or(Cause::Order, |write| Cause::Overwritten(name(write)))))
    }

    /// Let a job start in a cycle that [`Board::start`] gave.
    pub(super) fn place(&mut self, job: &Job, start: u64) {
        let shape = shape(job, self.machine);
        if let Some(write) = job.write() {
            let port = &mut self.ports[self.pads[write.storage.0] as usize];
            for cycle in write_cycles(job, self.machine) {
                let cycle = (start + cycle) as usize;
                if port.len() <= cycle {
                    port.resize(cycle + 1, false);
                }
                port[cycle] = true;
            }
            let (_, latency) = latency(job, self.machine);
            let readable = &mut self.readable[write.storage.0];
            // The last beat that touches a word is the one that writes it.
            for_each_word(job, write, |word, cycle| readable[word] = readable[word].max(start + cycle + latency));
        }
        for access in job.reads() {
            let first = &mut self.read[access.storage.0];
            for_each_word(job, access, |word, cycle| first[word] = first[word].min(start + cycle));
        }
        let slot = Slot {
            alu: shape.alu.later(start),
            root: shape.root.map(|w| w.later(start)),
            moves: shape.moves.map(|w| w.later(start)),
            readable: shape.readable + start,
            waited: start - self.alu,
        };
        self.alu = slot.alu.last + 1;
        if let (Some(root), Some(moves)) = (slot.root, slot.moves) {
            self.root = root.last + 1;
            if job.divides() {
                // A divider is busy with its last quotient for as long as with the others.
                self.root = root.last + timing::division_interval(self.machine);
                let first = self.quotients.map_or(root.first, |quotients| quotients.first);
                self.quotients = Some(Window { first, last: root.last });
            }
            self.moves = moves.last + 1;
        }
        self.slots.push(slot);
    }

    /// The cycles of the jobs, in the order in which they were placed.
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The first cycle in which the next step may start.
    pub(super) fn length(&self) -> u64 {
        // A stream is idle two cycles after its last beat and needs one more to fetch its first instruction again.
        let streams = self.slots.iter().flat_map(|slot| [Some(slot.alu), slot.root, slot.moves]).flatten();
        let mut length = streams.map(|window| window.last + 3).max().unwrap_or(2);
        // What one step leaves for the next are the states; each word has to be there when it is first read.
        let words = self.storages.iter().zip(&self.readable).zip(&self.read);
        for ((_, readable), read) in words.filter(|((storage, _), _)| storage.role == Role::State) {
            for (&readable, &read) in readable.iter().zip(read) {
                length = length.max(readable.saturating_sub(read));
            }
        }
        // The first quotient of a step waits for the last one of the step before.
        if let Some(Window { first, last }) = self.quotients {
            length = length.max(last + timing::division_interval(self.machine) - first);
        }
        // What this step still writes when the next one has begun must not meet the next one's results.
        let meets = |length: u64| {
            let meets = |port: &Vec<bool>| {
                let late = port.iter().skip(length as usize).zip(port);
                late.into_iter().any(|(&this, &next)| this && next)
            };
            self.ports.iter().any(meets)
        };
        while meets(length) {
            length += 1;
        }
        length
    }

    /// First cycle in which everything can be read.
    pub(super) fn landed(&self) -> u64 {
        self.slots.iter().map(|slot| slot.readable).max().unwrap_or(0)
    }
}
