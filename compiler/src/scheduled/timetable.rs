//! Timetable: what has been scheduled so far, cycle by cycle and word by word.
//!
//! Times are beat cycles relative to the first possible beat of the step.

mod boundary;

use super::trace::{Pace, Touch, Trace, behind, behind_or};
use crate::fixed::Role;
use crate::jobs::job::{Access, Copies, Datapath, Job, Sink};
use crate::jobs::{Storage, StorageId};
use arch::isa::Pad;
use arch::machine::Machine;
use arch::timing::{self, Unit};

/// First and last cycle of something, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cycles {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Cycles {
    fn later(self, by: u64) -> Cycles {
        Cycles { first: self.first + by, last: self.last + by }
    }

    fn meets(self, other: Cycles) -> bool {
        self.first <= other.last && other.first <= self.last
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
pub(crate) struct Slot {
    /// Beats of the alu stream, or of the scalar unit's.
    pub(crate) issue: Cycles,
    /// Root beats, if the result goes through a tree.
    pub(crate) root: Option<Cycles>,
    /// Move beats, if the result goes over a bus.
    pub(crate) moves: Option<Cycles>,
    /// Cycles of the bus of a row, if the result goes over that; across it is taken a cycle later.
    bus: Option<Cycles>,
    /// First cycle in which another job may read all of the result.
    pub(crate) readable: u64,
}

impl Slot {
    /// The cycles of a job that starts in cycle `start`.
    pub(crate) fn of(job: &Job, start: u64, machine: &Machine) -> Slot {
        let shape = shape(job, machine);
        Slot {
            issue: shape.issue.later(start),
            root: shape.root.map(|cycles| cycles.later(start)),
            moves: shape.moves.map(|cycles| cycles.later(start)),
            bus: shape.bus.map(|cycles| cycles.later(start)),
            readable: shape.readable + start,
        }
    }
}

/// The words of a storage in the pads of one datapath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) storage: usize,
    pub(crate) at: Datapath,
}

impl Site {
    fn of(access: &Access, at: Datapath) -> Site {
        let StorageId(storage) = access.storage;
        Site { storage, at }
    }

    fn number(self) -> usize {
        self.storage * Datapath::ALL.len() + self.at as usize
    }
}

/// Cycles from a job's beat to its result at the write port of some pads, and to the first beat there that may read it.
fn latency(job: &Job, to: Datapath, machine: &Machine) -> (u64, u64) {
    let over_bus = |moved: u64| (moved, moved + timing::move_to_alu(machine));
    match &job.sink {
        Sink::Pad(_) if job.on == to => (timing::ALU_WRITE, timing::alu_to_alu(machine)),
        Sink::Pad(_) => over_bus(timing::SCALAR_TO_MOVE),
        Sink::Tree { unit, function, .. } => {
            over_bus(timing::alu_to_root(machine, *unit) + timing::root_result(machine, *unit, function.as_ref()))
        }
        Sink::Output => (0, 1),
    }
}

/// Whose write ports a job takes: of the pads that it writes, and of the PEs' if a bus carries its results, whoever takes them: the
/// address of a bus write stands at all PEs before their masks are known.
fn ports(job: &Job) -> impl Iterator<Item = Datapath> {
    let carried = matches!(job.sink, Sink::Tree { .. });
    Copies { engines: job.copies.engines || carried, ..job.copies }.iter()
}

/// The cycles of a job that starts in cycle 0.
fn shape(job: &Job, machine: &Machine) -> Slot {
    let interval = u64::from(job.interval);
    let last = (job.beats() - 1) * interval;
    let results = Cycles { first: (job.beats_per_result() - 1) * interval, last };
    let readable = job.copies.iter().map(|to| latency(job, to, machine).1).max().unwrap_or(1);
    let (root, moves) = match &job.sink {
        Sink::Pad(_) if job.sends() => (None, Some(results.later(timing::SCALAR_TO_MOVE))),
        Sink::Pad(_) | Sink::Output => (None, None),
        Sink::Tree { unit, function, .. } => {
            let root = results.later(timing::alu_to_root(machine, *unit));
            (Some(root), Some(root.later(timing::root_result(machine, *unit, function.as_ref()))))
        }
    };
    let bus = match &job.sink {
        Sink::Tree { unit: Unit::Row, .. } => moves,
        Sink::Tree { unit: Unit::Across, .. } => {
            moves.map(|moves| Cycles { first: moves.first - 1, last: moves.last - 1 })
        }
        _ => None,
    };
    Slot { issue: Cycles { first: 0, last }, root, moves, bus, readable: last + readable }
}

/// The cycles, relative to the job's start, in which its results are at the write port of some pads.
fn write_cycles(job: &Job, to: Datapath, machine: &Machine) -> Pace {
    let (per_result, interval) = (job.beats_per_result(), u64::from(job.interval));
    let (written, _) = latency(job, to, machine);
    Pace { first: (per_result - 1) * interval + written, step: per_result * interval, count: job.beats() / per_result }
}

/// The words of a job that starts in cycle 0.
#[derive(Debug, Clone)]
pub(crate) struct Footprint {
    /// For each storage that is read, when each word is needed first.
    pub(crate) read: Vec<(Site, Vec<Trace>)>,
    /// When each of them has been read for good; only where the machine has two datapaths.
    done: Vec<(Site, Vec<Trace>)>,
    /// What is written, in each copy.
    pub(crate) written: Vec<Written>,
    /// Footprint of the gradient pad: when each is read, and when it can be read again.
    parked: [Vec<Trace>; 2],
}

/// When the words of a storage are written.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) site: Site,
    /// Whether by the datapath whose pads these are: then its stream alone keeps reads before writes.
    own: bool,
    /// When each word can be read for good.
    pub(crate) readable: Vec<Trace>,
    /// When each word may be there already.
    first: Vec<Trace>,
}

impl Footprint {
    pub(crate) fn of(job: &Job, machine: &Machine) -> Footprint {
        let reads = |touch| -> Vec<(Site, Vec<Trace>)> {
            job.reads().map(|access| (Site::of(access, job.on), Trace::of(job, access, touch))).collect()
        };
        let done = if machine.scalar() { reads(Touch::Last) } else { Vec::new() };
        let written = |(to, access): (Datapath, &Access)| {
            let (_, latency) = latency(job, to, machine);
            let times = |touch| -> Vec<Trace> {
                Trace::of(job, access, touch).into_iter().map(|trace| trace.later(latency)).collect()
            };
            let (readable, first) = (times(Touch::Last), times(Touch::First));
            Written { site: Site::of(access, to), own: to == job.on, readable, first }
        };
        let copies = job.copies.iter().filter_map(|to| Some((to, job.write()?)));
        let parked = |touch, later| -> Vec<Trace> {
            let traces = job.parked().map(|access| Trace::of(job, access, touch));
            traces.into_iter().flatten().map(|trace| trace.later(later)).collect()
        };
        let parked = [parked(Touch::First, 0), parked(Touch::Last, timing::park_to_park(machine))];
        Footprint { read: reads(Touch::First), done, written: copies.map(written).collect(), parked }
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
pub(crate) struct Timetable<'a> {
    machine: &'a Machine,
    storages: &'a [Storage],
    pads: &'a [Pad],
    /// Per site: when its words can be read. Of several times the latest counts.
    readable: Vec<Vec<Trace>>,
    /// Per site: when its words are read. Of several times the first counts.
    read: Vec<Vec<Trace>>,
    /// Per site: when its words are read. Of several times the last counts.
    done: Vec<Vec<Trace>>,
    /// Footprint of the gradient pad: when each is read, and when the next tile may read it. No two jobs share one.
    parked: [Vec<Trace>; 2],
    /// Per datapath and pad: when its write port is taken.
    ports: [[Vec<Pace>; Pad::COUNT]; Datapath::ALL.len()],
    /// First cycle in which each datapath's stream is free.
    free: [u64; Datapath::ALL.len()],
    root: u64,
    moves: u64,
    /// First cycle in which the bus of a row is free: a quotient comes later than what its root does after it.
    bus: u64,
    /// When the move stream takes results of roots, and of the scalar unit; only where there is one.
    from_roots: Vec<Cycles>,
    sent: Vec<Cycles>,
    /// Root beats that divide, from the first to the last.
    quotients: Option<Cycles>,
    slots: Vec<Slot>,
}

impl<'a> Timetable<'a> {
    pub(crate) fn new(machine: &'a Machine, storages: &'a [Storage], pads: &'a [Pad]) -> Timetable<'a> {
        let sites = storages.len() * Datapath::ALL.len();
        Timetable {
            machine,
            storages,
            pads,
            readable: vec![Vec::new(); sites],
            read: vec![Vec::new(); sites],
            done: vec![Vec::new(); sites],
            parked: Default::default(),
            ports: Default::default(),
            free: Default::default(),
            root: 0,
            moves: 0,
            bus: 0,
            from_roots: Vec::new(),
            sent: Vec::new(),
            quotients: None,
            slots: Vec::new(),
        }
    }

    /// The first cycle in which a job may start as far as its words are concerned: each has been written when it is read, and
    /// lands after what was written there before, and after the reads of that.
    pub(crate) fn words_ready(&self, words: &Footprint) -> u64 {
        let mut ready = 0;
        for (site, read) in &words.read {
            ready = behind_or(&self.readable[site.number()], read, ready);
        }
        for Written { site, own, first, .. } in &words.written {
            // A word lands the cycle before it can be read, and not in the cycle of a read.
            ready = behind_or(&self.readable[site.number()], first, ready - 1) + 1;
            if !own {
                ready = behind_or(&self.done[site.number()], first, ready - 2) + 2;
            }
        }
        ready as u64
    }

    /// The first cycle, from this one on, in which the root and move streams can take the results of a job.
    fn streams_ready(&self, shape: &Slot, mut start: u64) -> u64 {
        let Some(moves) = shape.moves else { return start };
        if let Some(root) = shape.root {
            start = start.max(self.root.saturating_sub(root.first)).max(self.moves.saturating_sub(moves.first));
        }
        if let Some(bus) = shape.bus {
            start = start.max(self.bus.saturating_sub(bus.first));
        }
        // What the scalar unit sends goes between results of roots, where there is room for all of it.
        let roots: &[Cycles] = if shape.root.is_some() { &[] } else { &self.from_roots };
        while let Some(taken) = self.sent.iter().chain(roots).find(|taken| taken.meets(moves.later(start))) {
            start = taken.last + 1 - moves.first;
        }
        start
    }

    /// The first cycle in which a job may start whose words are ready in cycle `words`.
    pub(crate) fn start(&self, job: &Job, words: u64) -> u64 {
        let shape = shape(job, self.machine);
        let mut start = self.free[job.on as usize].max(words);
        loop {
            let from = start;
            start = self.streams_ready(&shape, start);
            for to in ports(job) {
                let Some(write) = job.write() else { continue };
                let port = &self.ports[to as usize][self.pads[write.storage.0] as usize];
                let cycles = write_cycles(job, to, self.machine);
                while let Some(taken) = port.iter().find(|taken| taken.meets(cycles.later(start))) {
                    start += cycles.later(start).until_behind(*taken);
                }
            }
            if start == from {
                return start;
            }
        }
    }

    /// What keeps a job from starting before cycle `start`; nothing if it follows the one before it at once.
    pub(crate) fn cause(&self, job: &Job, words: &Footprint, start: u64) -> Option<Cause> {
        let free = self.free[job.on as usize];
        if start <= free {
            return None;
        }
        let name = |access: &Access| self.storages[access.storage.0].name.clone();
        let ready = self.words_ready(words);
        let streams = self.streams_ready(&shape(job, self.machine), free.max(ready));
        if start > ready.max(streams) {
            // Also where a longer job was put into a gap: then nothing but the order holds it back.
            return Some(job.write().map_or(Cause::Order, |write| Cause::Port(self.pads[write.storage.0])));
        }
        if ready < start {
            return Some(Cause::Order);
        }
        let late = |(site, read): &(Site, Vec<Trace>)| {
            behind(&self.readable[site.number()], read).is_some_and(|cycles| cycles >= start as i64)
        };
        let operand = words.read.iter().position(late).and_then(|at| job.reads().nth(at));
        let operand = operand.map(|access| Cause::Operand(name(access)));
        Some(operand.unwrap_or_else(|| job.write().map_or(Cause::Order, |write| Cause::Overwritten(name(write)))))
    }

    /// The first cycle in which the stream of a datapath is free.
    pub(crate) fn free(&self, on: Datapath) -> u64 {
        self.free[on as usize]
    }

    /// Let a job start in a cycle that [`Timetable::start`] gave.
    pub(crate) fn place(&mut self, job: &Job, words: &Footprint, start: u64) {
        for (to, write) in ports(job).filter_map(|to| Some((to, job.write()?))) {
            let cycles = write_cycles(job, to, self.machine).later(start);
            self.ports[to as usize][self.pads[write.storage.0] as usize].push(cycles);
        }
        for Written { site, readable, .. } in &words.written {
            add(&mut self.readable[site.number()], readable, start, Touch::Last);
        }
        for (site, read) in &words.read {
            add(&mut self.read[site.number()], read, start, Touch::First);
        }
        for (site, done) in &words.done {
            add(&mut self.done[site.number()], done, start, Touch::Last);
        }
        for (known, more) in self.parked.iter_mut().zip(&words.parked) {
            known.extend(more.iter().map(|trace| trace.clone().later(start)));
        }
        let slot = Slot::of(job, start, self.machine);
        self.free[job.on as usize] = slot.issue.last + 1;
        if let (true, Some(moves)) = (self.machine.scalar(), slot.moves) {
            if job.sends() { &mut self.sent } else { &mut self.from_roots }.push(moves);
        }
        if let (Some(root), Some(moves)) = (slot.root, slot.moves) {
            self.root = root.last + 1;
            if job.divides() {
                // A divider is busy with its last quotient for as long as with the others.
                self.root = root.last + timing::division_interval(self.machine);
                let first = self.quotients.map_or(root.first, |quotients| quotients.first);
                self.quotients = Some(Cycles { first, last: root.last });
            }
            self.moves = moves.last + 1;
            self.bus = slot.bus.map_or(self.bus, |bus| bus.last + 1);
        }
        self.slots.push(slot);
    }

    /// The cycles of the jobs, in the order in which they were placed.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The first cycle in which the next step may start.
    pub(crate) fn length(&self) -> u64 {
        // A stream is idle two cycles after its last beat and needs one more to fetch its first instruction again.
        let streams = self.slots.iter().flat_map(|slot| [Some(slot.issue), slot.root, slot.moves]).flatten();
        let mut length = streams.map(|window| window.last + timing::TILE_END).max().unwrap_or(2);
        // What one step leaves for the next are the states; each word has to be there when it is first read.
        for (storage, _) in self.storages.iter().enumerate().filter(|(_, storage)| storage.role == Role::State) {
            let site = Site { storage, at: Datapath::Engines }.number();
            length = length.max(behind(&self.readable[site], &self.read[site]).unwrap_or(0).max(0) as u64);
        }
        // The next tile goes on with a sum when it is there.
        let [resumed, parked] = &self.parked;
        length = length.max(behind(parked, resumed).unwrap_or(0).max(0) as u64);
        // The first quotient of a step waits for the last one of the step before.
        if let Some(Cycles { first, last }) = self.quotients {
            length = length.max(last + timing::division_interval(self.machine) - first);
        }
        // What this step still writes when the next one has begun must not meet the next one's results.
        let meets = |length: u64| {
            let meets = |port: &Vec<Pace>| {
                let mut late = port.iter().filter_map(|pace| pace.from(length));
                late.any(|this| port.iter().any(|&next| this.meets(next)))
            };
            self.ports.iter().flatten().any(meets)
        };
        while meets(length) {
            length += 1;
        }
        length
    }

    /// First cycle in which everything can be read.
    pub(crate) fn landed(&self) -> u64 {
        self.slots.iter().map(|slot| slot.readable).max().unwrap_or(0)
    }
}
