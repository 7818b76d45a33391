//! Board: what has been scheduled so far, cycle by cycle and word by word.
//!
//! Times are beat cycles relative to the first possible beat of the step.

use super::job::{Access, Job, Sink};
use super::select::Storage;
use super::trace::{Pace, Touch, Trace, behind};
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

/// The cycles, relative to the job's start, in which its results are at the write port.
fn write_cycles(job: &Job, machine: &Machine) -> Pace {
    let (per_result, interval) = (job.beats_per_result(), u64::from(job.interval));
    let (written, _) = latency(job, machine);
    Pace { first: (per_result - 1) * interval + written, step: per_result * interval, count: job.beats() / per_result }
}

/// The words of a job that starts in cycle 0.
#[derive(Debug, Clone)]
pub(super) struct Words {
    /// For each storage that is read, when each word is needed first.
    pub(super) read: Vec<(usize, Vec<Trace>)>,
    /// The storage that is written.
    pub(super) written: Option<Written>,
    /// Words of the gradient pad: when each is read, and when it can be read again.
    parked: [Vec<Trace>; 2],
}

/// When the words of a storage are written.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) storage: usize,
    /// When each word can be read for good.
    pub(super) readable: Vec<Trace>,
    /// When each word may be there already.
    first: Vec<Trace>,
}

impl Words {
    pub(super) fn of(job: &Job, machine: &Machine) -> Words {
        let read = job.reads().map(|access| (access.storage.0, Trace::of(job, access, Touch::First))).collect();
        let (_, latency) = latency(job, machine);
        let times = |access: &Access, touch| -> Vec<Trace> {
            Trace::of(job, access, touch).into_iter().map(|trace| trace.later(latency)).collect()
        };
        let written = job.write().map(|access| Written {
            storage: access.storage.0,
            readable: times(access, Touch::Last),
            first: times(access, Touch::First),
        });
        let parked = |touch, later| -> Vec<Trace> {
            let traces = job.parked().map(|access| Trace::of(job, access, touch));
            traces.into_iter().flatten().map(|trace| trace.later(later)).collect()
        };
        let parked = [parked(Touch::First, 0), parked(Touch::Last, timing::PARK_TO_PARK)];
        Words { read, written, parked }
    }
}

/// Add boxes, `start` cycles later, to a list in which one time of each word counts.
fn add(known: &mut Vec<Trace>, more: &[Trace], start: u64, touch: Touch) {
    for trace in more {
        let trace = trace.clone().later(start);
        match known.iter_mut().find(|other| other.is_shifted(&trace)) {
            Some(same) => same.keep(&trace, touch),
            None => known.push(trace),
        }
    }
}

/// What has been scheduled so far.
#[derive(Debug, Clone)]
pub(super) struct Board<'a> {
    machine: &'a Machine,
    storages: &'a [Storage],
    pads: &'a [Pad],
    /// Per storage: when its words can be read. Of several times the latest counts.
    readable: Vec<Vec<Trace>>,
    /// Per storage: when its words are read. Of several times the first counts.
    read: Vec<Vec<Trace>>,
    /// Words of the gradient pad: when each is read, and when the next tile may read it. No two jobs share one.
    parked: [Vec<Trace>; 2],
    /// Per pad: when its write port is taken.
    ports: [Vec<Pace>; 4],
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
        Board {
            machine,
            storages,
            pads,
            readable: vec![Vec::new(); storages.len()],
            read: vec![Vec::new(); storages.len()],
            parked: Default::default(),
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
    pub(super) fn words_ready(&self, words: &Words) -> u64 {
        let reads = words.read.iter().filter_map(|(storage, read)| behind(&self.readable[*storage], read));
        let write = words.written.as_ref();
        let lands = write.and_then(|write| behind(&self.readable[write.storage], &write.first));
        reads.chain(lands.map(|cycles| cycles + 1)).max().unwrap_or(0).max(0) as u64
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
            let cycles = write_cycles(job, self.machine);
            while let Some(taken) = port.iter().find(|taken| taken.meets(cycles.later(start))) {
                start += cycles.later(start).until_behind(*taken);
            }
        }
        start
    }

    /// What keeps a job from starting before cycle `start`; nothing if it follows the one before it at once.
    pub(super) fn cause(&self, job: &Job, words: &Words, start: u64) -> Option<Cause> {
        if start <= self.alu {
            return None;
        }
        let name = |access: &Access| self.storages[access.storage.0].name.clone();
        let shape = shape(job, self.machine);
        let streams = shape.root.map_or(0, |root| self.root.saturating_sub(root.first));
        let streams = streams.max(shape.moves.map_or(0, |moves| self.moves.saturating_sub(moves.first)));
        let ready = self.words_ready(words);
        if start > ready.max(streams) {
            // Also where a longer job was put into a gap: then nothing but the order holds it back.
            return Some(job.write().map_or(Cause::Order, |write| Cause::Port(self.pads[write.storage.0])));
        }
        if ready < start {
            return Some(Cause::Order);
        }
        let late = |(storage, read): &(usize, Vec<Trace>)| {
            behind(&self.readable[*storage], read).is_some_and(|cycles| cycles >= start as i64)
        };
        let operand = words.read.iter().position(late).and_then(|at| job.reads().nth(at));
        let operand = operand.map(|access| Cause::Operand(name(access)));
        Some(operand.unwrap_or_else(|| job.write().map_or(Cause::Order, |write| Cause::Overwritten(name(write)))))
    }

    /// Let a job start in a cycle that [`Board::start`] gave.
    pub(super) fn place(&mut self, job: &Job, words: &Words, start: u64) {
        let shape = shape(job, self.machine);
        if let Some(write) = &words.written {
            self.ports[self.pads[write.storage] as usize].push(write_cycles(job, self.machine).later(start));
            add(&mut self.readable[write.storage], &write.readable, start, Touch::Last);
        }
        for (storage, read) in &words.read {
            add(&mut self.read[*storage], read, start, Touch::First);
        }
        for (known, more) in self.parked.iter_mut().zip(&words.parked) {
            known.extend(more.iter().map(|trace| trace.clone().later(start)));
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
            length = length.max(behind(readable, read).unwrap_or(0).max(0) as u64);
        }
        // The next tile goes on with a sum when it is there.
        let [resumed, parked] = &self.parked;
        length = length.max(behind(parked, resumed).unwrap_or(0).max(0) as u64);
        // The first quotient of a step waits for the last one of the step before.
        if let Some(Window { first, last }) = self.quotients {
            length = length.max(last + timing::division_interval(self.machine) - first);
        }
        // What this step still writes when the next one has begun must not meet the next one's results.
        let meets = |length: u64| {
            let meets = |port: &Vec<Pace>| {
                let mut late = port.iter().filter_map(|pace| pace.from(length));
                late.any(|this| port.iter().any(|&next| this.meets(next)))
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
