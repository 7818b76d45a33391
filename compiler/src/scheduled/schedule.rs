//! Schedule: the order of the jobs, and the cycle of every instruction of the three static streams.
//!
//!     alu   ████ job 0 ████  ████ job 1 ████        job 1 starts as soon as each of its words is there in time,
//!     root              █ █ (tree latency later)     not when all of job 0 has landed
//!     move                 █ █ (root latency later)
//!
//! Jobs issue one after the other, each in the first cycle in which every word it reads has been written by then, no write
//! port is used twice, and the root and move streams stay in order ([`super::timetable`]). Jobs of the scalar unit have a stream of their own. The order is a list schedule: the job
//! with the longest way to the end of the step goes first; while it waits, others fill the gap, cut at an outer loop if they are
//! too long for it. How much such a filler may delay the urgent job is tried out, and the shortest step is taken; of a batch in tiles the shortest
//! batch, also with the update behind all that every tile needs ([`super::timetable`] knows where other tiles end).

use super::colour::Coloured;
use super::timetable::{Cycles, Footprint, Site, Slot, Timetable};
use super::trace::{Touch, Trace, behind};
use crate::jobs::StorageId;
use crate::jobs::job::{Access, Counts, Datapath, Job};
use crate::jobs::lanes::Extent;
use arch::machine::Machine;
use std::collections::BTreeSet;

/// Jobs in the order of issue, their slots, and the length of the step.
///
/// The next step may start while the last results of this one are still on their way: what it reads of them lands in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) jobs: Vec<Job>,
    /// One per job.
    pub(crate) slots: Vec<Slot>,
    /// Cycles from the start of a step to the earliest start of the next.
    pub(crate) length: u64,
    /// The same for a tile that is not the last one of its batch.
    pub(crate) tile_length: u64,
    /// First cycle in which everything can be read.
    pub(crate) landed: u64,
}

impl Schedule {
    fn of(timetable: &Timetable<'_>, jobs: Vec<Job>) -> Schedule {
        let (length, tile_length, landed) = (timetable.length(), timetable.tile_length(&jobs), timetable.landed());
        Schedule { jobs, slots: timetable.slots().to_vec(), length, tile_length, landed }
    }

    /// When the beats of each job are issued.
    pub(crate) fn windows(&self) -> Vec<Cycles> {
        self.slots.iter().map(|slot| slot.issue).collect()
    }

    /// Less is better: cycles of a batch of so many tiles first.
    fn merit(&self, tiles: u64) -> (u64, u64, usize) {
        ((tiles - 1) * self.tile_length + self.length, self.landed, self.jobs.len())
    }
}

/// Jobs in the order in which they were written.
pub(crate) fn in_order(coloured: &Coloured, machine: &Machine) -> Schedule {
    one_by_one(coloured, coloured.program.jobs.clone(), machine)
}

fn one_by_one(coloured: &Coloured, jobs: Vec<Job>, machine: &Machine) -> Schedule {
    let mut timetable = Timetable::new(machine, &coloured.program.storages, &coloured.pads);
    for job in &jobs {
        let words = Footprint::of(job, machine);
        timetable.place(job, &words, timetable.start(job, timetable.words_ready(&words)));
    }
    Schedule::of(&timetable, jobs)
}

/// Jobs with those behind the others that count in the last tile of a batch only; `None` where that is no other order, or might be another
/// program.
fn update_last(jobs: &[Job]) -> Option<Vec<Job>> {
    let of = |accesses: Vec<&Access>| accesses.into_iter().map(|access| access.storage).collect::<Vec<StorageId>>();
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    let mut moves = false;
    for job in jobs {
        let (reads, writes) = (of(job.reads().collect()), of(job.write().into_iter().collect()));
        if job.counts == Counts::Last {
            read.extend(reads);
            written.extend(writes);
            continue;
        }
        let waits = reads.iter().chain(&writes).any(|storage| written.contains(storage));
        if waits || writes.iter().any(|storage| read.contains(storage)) {
            return None;
        }
        moves |= !written.is_empty();
    }
    let (late, early): (Vec<Job>, Vec<Job>) = jobs.iter().cloned().partition(|job| job.counts == Counts::Last);
    moves.then(|| [early, late].concat())
}

/// Programs with more jobs keep the order in which they are written: the search grows with the square of their number.
const MOST_JOBS: usize = 128;

/// Cycles by which a filler may delay a more urgent job, and whether fillers are cut.
const POLICIES: &[(u64, bool)] =
    &[(0, false), (0, true), (2, true), (8, false), (8, true), (32, false), (u64::MAX, false)];

/// The best order found. Not longer than the order in which the jobs are written.
pub(crate) fn schedule(coloured: &Coloured, machine: &Machine) -> Schedule {
    let mut best = in_order(coloured, machine);
    let jobs = &coloured.program.jobs;
    let tiles = coloured.program.tile.map_or(1, |tile| u64::from(tile.count));
    if let Some(others) = update_last(jobs).filter(|_| tiles > 1) {
        let found = one_by_one(coloured, others, machine);
        if found.merit(tiles) < best.merit(tiles) {
            best = found;
        }
    }
    if jobs.len() > MOST_JOBS {
        return best;
    }
    let graph = Graph::of(jobs, machine);
    for update_last in [false, true].into_iter().take(if tiles > 1 { 2 } else { 1 }) {
        for &(delay, cut) in POLICIES {
            let found = list(&graph, coloured, machine, &Policy { delay, cut, update_last });
            if found.merit(tiles) < best.merit(tiles) {
                best = found;
            }
        }
    }
    best
}

/// Which jobs have to come before which, and how far it is from each to the end of the step.
struct Graph {
    words: Vec<Footprint>,
    before: Vec<Vec<usize>>,
    way: Vec<u64>,
}

/// The words of a job, and which lanes of them it writes.
pub(super) struct Touched {
    pub(super) words: Footprint,
    /// Boxes of words that the same lanes write.
    lanes: Vec<(Vec<Trace>, Extent)>,
}

impl Touched {
    pub(super) fn of(job: &Job, machine: &Machine) -> Touched {
        let write = job.write();
        let lanes = job.written_parts(machine).into_iter().filter_map(|(part, extent)| {
            write.map(|access| (Trace::of_part(job, access, Touch::First, &part), extent))
        });
        Touched { words: Footprint::of(job, machine), lanes: lanes.collect() }
    }

    /// Whether both write the same word of some PE.
    fn writes_with(&self, later: &Touched) -> bool {
        let overlap =
            |own: &Extent, other: &Extent| own.iter().zip(other).all(|(own, other)| own.0 < other.1 && other.0 < own.1);
        self.lanes.iter().any(|(own, lanes)| {
            later.lanes.iter().any(|(other, others)| overlap(lanes, others) && behind(own, other).is_some())
        })
    }

    /// Cycles from the start of `self` to the earliest start of `later`, if `later` has to wait for it.
    pub(super) fn lag(&self, later: &Touched) -> Option<u64> {
        let mut lag = None;
        let mut at_least = |cycles: i64| lag = Some(lag.unwrap_or(0).max(cycles.max(0) as u64));
        let reads = |touched: &Touched, site: Site| {
            let read = touched.words.read.iter().filter(|(read, _)| *read == site);
            read.flat_map(|(_, boxes)| boxes.clone()).collect::<Vec<Trace>>()
        };
        for written in &self.words.written {
            if let Some(cycles) = behind(&written.readable, &reads(later, written.site)) {
                at_least(cycles);
            }
            let both = later.words.written.iter().any(|other| other.site == written.site);
            if both && self.writes_with(later) {
                at_least(0);
            }
        }
        for written in &later.words.written {
            if behind(&written.readable, &reads(self, written.site)).is_some() {
                at_least(0);
            }
        }
        lag
    }
}

impl Graph {
    fn of(jobs: &[Job], machine: &Machine) -> Graph {
        let touched: Vec<Touched> = jobs.iter().map(|job| Touched::of(job, machine)).collect();
        let words = touched.iter().map(|touched| touched.words.clone()).collect();
        let mut graph = Graph { words, before: vec![Vec::new(); jobs.len()], way: vec![0; jobs.len()] };
        for later in (0..jobs.len()).rev() {
            graph.way[later] += jobs[later].cycles();
        }
        for earlier in (0..jobs.len()).rev() {
            for later in earlier + 1..jobs.len() {
                if let Some(lag) = touched[earlier].lag(&touched[later]) {
                    graph.before[later].push(earlier);
                    graph.way[earlier] = graph.way[earlier].max(lag + graph.way[later]);
                }
            }
        }
        graph
    }
}

/// A job that has not been issued yet.
struct Open {
    job: Job,
    /// Its number in the graph.
    number: usize,
    words: Footprint,
    /// The cycle in which its words are ready, once all jobs before it have been placed.
    ready: Option<u64>,
}

/// How a list schedule decides.
struct Policy {
    /// Cycles by which a filler may delay a more urgent job.
    delay: u64,
    /// Whether fillers are cut.
    cut: bool,
    /// Whether what counts in the last tile only is less urgent than all else.
    update_last: bool,
}

fn list(graph: &Graph, coloured: &Coloured, machine: &Machine, policy: &Policy) -> Schedule {
    let Coloured { program, pads } = coloured;
    let Policy { delay, cut, update_last } = *policy;
    let mut timetable = Timetable::new(machine, &program.storages, pads);
    let mut waiting: Vec<usize> = graph.before.iter().map(Vec::len).collect();
    let open = |(number, job): (usize, &Job)| {
        let words = graph.words[number].clone();
        Open { job: job.clone(), number, words, ready: None }
    };
    let mut opened: Vec<Open> = program.jobs.iter().enumerate().map(open).collect();
    let mut placed = Vec::new();
    while !opened.is_empty() {
        let mut ready: Vec<(usize, u64)> = Vec::new();
        for (at, open) in opened.iter_mut().enumerate() {
            if waiting[open.number] == 0 {
                let words = *open.ready.get_or_insert_with(|| timetable.words_ready(&open.words));
                ready.push((at, timetable.start(&open.job, words)));
            }
        }
        ready.sort_by_key(|&(at, _)| {
            let late = update_last && opened[at].job.counts == Counts::Last;
            (late, std::cmp::Reverse(graph.way[opened[at].number]), at)
        });
        let (urgent, wanted) = ready[0];
        let fits = |&&(at, start): &&(usize, u64)| {
            let urgent = &opened[urgent].job;
            urgent.on == Datapath::Engines
                && start < wanted
                && start + opened[at].job.cycles() <= wanted.saturating_add(delay)
        };
        let (at, start) = ready[1..].iter().find(fits).copied().unwrap_or((urgent, wanted));
        if at == urgent && cut && opened[urgent].job.on == Datapath::Engines {
            let room = |&(at, start): &(usize, u64)| {
                let job = &opened[at].job;
                let part = job.outer_cycles().filter(|_| job.on == Datapath::Engines)?;
                let count = wanted.saturating_sub(start) / part;
                (count > 0)
                    .then(|| opened[at].job.split(count as u32, machine))?
                    .map(|(head, tail)| (at, start, head, tail))
            };
            if let Some((at, start, head, tail)) = ready[1..].iter().find_map(room) {
                timetable.place(&head, &Footprint::of(&head, machine), start);
                placed.push(head);
                let open = &mut opened[at];
                (open.words, open.job, open.ready) = (Footprint::of(&tail, machine), tail, None);
                continue;
            }
        }
        let done = opened.remove(at);
        timetable.place(&done.job, &done.words, start);
        placed.push(done.job);
        for (later, before) in graph.before.iter().enumerate() {
            if before.contains(&done.number) {
                waiting[later] -= 1;
            }
        }
    }
    Schedule::of(&timetable, placed)
}
