//! Allocate: every storage gets a pad and an address.
//!
//! Inputs lie in `data`, weights and constants in `model`, temporaries where their readers can have all operands in one
//! cycle: different words that are read by one job must come from different pads. Where no choice of pads does that, one
//! operand is copied first. Temporaries share words when they are not alive together. What the scalar unit has lies there at the same
//! place as in the PEs.

use super::timetable::Cycles;
use crate::fixed::Role;
use crate::jobs::job::{Access, Copies, Datapath, Job, Sink, Source, StorageId};
use crate::jobs::select::Storage;
use arch::isa::Pad;
use arch::machine::Machine;

/// Words needed, or there, per pad and PE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Words {
    /// Model pad.
    pub model: u32,
    /// Data pad, one bank.
    pub data: u32,
    /// The fuller of the two temporary pads.
    pub temporary: u32,
    /// Gradient pad.
    pub gradient: u32,
}

impl Words {
    /// Words that are missing where so many are available.
    pub(crate) fn beyond(self, available: Words) -> u64 {
        let over = |need: u32, have: u32| u64::from(need.saturating_sub(have));
        over(self.model, available.model)
            + over(self.data, available.data)
            + over(self.temporary, available.temporary)
            + over(self.gradient, available.gradient)
    }
}

/// Where a storage lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) pad: Pad,
    pub(crate) base: u32,
}

/// Storages with their pads, and the jobs with the copies that became necessary.
#[derive(Debug, Clone)]
pub(crate) struct Coloured {
    pub(crate) storages: Vec<Storage>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) pads: Vec<Pad>,
}

/// Where everything lies.
#[derive(Debug, Clone)]
pub(crate) struct Allocation {
    pub(crate) homes: Vec<Home>,
    pub(crate) words: Words,
}

/// The words a machine has.
pub(crate) fn available(machine: &Machine) -> Words {
    Words {
        model: machine.model_depth(),
        data: machine.data_depth(),
        temporary: machine.temporary_depth(),
        gradient: machine.gradient_depth(),
    }
}

/// Pads that a storage may have: temporaries written from the bus, or by the scalar unit, cannot lie in the model pad.
fn choices(storage: &Storage, from_bus: bool) -> &'static [Pad] {
    match storage.role {
        Role::Input => &[Pad::Data],
        Role::State | Role::Parameter(_) => &[Pad::Model],
        Role::Temporary | Role::Output if from_bus => &[Pad::T0, Pad::T1],
        Role::Temporary | Role::Output => &[Pad::T0, Pad::T1, Pad::Model],
    }
}

/// The different reads of a job.
fn distinct_reads(job: &Job) -> Vec<Access> {
    let mut reads: Vec<Access> = Vec::new();
    for access in job.reads() {
        if !reads.contains(access) {
            reads.push(access.clone());
        }
    }
    reads
}

/// Copy one operand of a job into a new temporary, laid out in the order of the loops it depends on.
fn copy_operand(operand: &Access, job: &mut Job, storages: &mut Vec<Storage>) -> Job {
    let source = storages[operand.storage.0].clone();
    let copy = StorageId(storages.len());
    let used: Vec<usize> = (0..job.loops.len()).filter(|&l| operand.strides[l] != 0).collect();
    let loops: Vec<u32> = used.iter().map(|&l| job.loops[l]).collect();
    let words: u32 = loops.iter().product();
    let mut strides = vec![0; job.loops.len()];
    let mut step = 1;
    for &l in used.iter().rev() {
        strides[l] = step;
        step *= i64::from(job.loops[l]);
    }
    let name = format!("{}.copy{}", source.name, copy.0);
    storages.push(Storage {
        name: name.clone(),
        shape: Vec::new(),
        axes: Vec::new(),
        strides: Vec::new(),
        words,
        role: Role::Temporary,
        fraction: source.fraction,
    });
    let pick = |all: &[i64]| used.iter().map(|&l| all[l]).collect::<Vec<i64>>();
    let from = Access { strides: pick(&operand.strides), ..operand.clone() };
    let to = Access { storage: copy, offset: 0, strides: pick(&strides) };
    let replacement = Access { storage: copy, offset: 0, strides };
    let replace = |access: &mut Access| {
        if access == operand {
            *access = replacement.clone();
        }
    };
    job.a.iter_mut().for_each(replace);
    if let Source::Access(access) = &mut job.b {
        replace(access);
    }
    if let Some(Source::Access(access)) = &mut job.c {
        replace(access);
    }
    let copies = Copies { engines: job.on == Datapath::Engines, scalar: job.on == Datapath::Scalar };
    Job { on: job.on, copies, ..Job::copy(job.span, format!("{name} copy"), loops, from, Sink::Pad(to)) }
}

/// Choose a pad for every storage; insert copies where operands collide.
pub(crate) fn colour(storages: &[Storage], jobs: &[Job]) -> Coloured {
    let mut storages = storages.to_vec();
    let mut from_bus = vec![false; storages.len()];
    let mut in_unit = from_bus.clone();
    for job in jobs {
        if let (true, Some(write)) = (job.copies.scalar || job.on == Datapath::Scalar, job.write()) {
            in_unit[write.storage.0] = true;
        }
        match &job.sink {
            Sink::Pad(_) if job.on == Datapath::Engines => {}
            Sink::Pad(write) | Sink::Tree { write, .. } => from_bus[write.storage.0] = true,
            Sink::Output => {}
        }
    }
    let fixed = |storage: &Storage, bus: bool| match choices(storage, bus) {
        &[pad] => Some(pad),
        _ => None,
    };
    let mut pads: Vec<Option<Pad>> = storages.iter().zip(&from_bus).map(|(s, &bus)| fixed(s, bus)).collect();
    let mut queue: Vec<Job> = jobs.iter().rev().cloned().collect();
    let mut jobs = Vec::new();
    while let Some(mut job) = queue.pop() {
        let mut taken: Vec<Pad> = Vec::new();
        let mut collision = None;
        let mut reads = distinct_reads(&job);
        // What has a pad already goes first, then what has the fewest choices.
        reads.sort_by_key(|a| match pads[a.storage.0] {
            Some(_) => 0,
            None => choices(&storages[a.storage.0], from_bus[a.storage.0]).len(),
        });
        for access in reads {
            let storage = access.storage.0;
            let pad = pads[storage].or_else(|| {
                let mut free: Vec<Pad> = choices(&storages[storage], from_bus[storage]).to_vec();
                free.retain(|pad| !taken.contains(pad));
                best(&free, storage, &jobs, &queue, &pads, &in_unit)
            });
            match pad {
                Some(pad) if !taken.contains(&pad) => {
                    pads[storage] = Some(pad);
                    taken.push(pad);
                }
                _ => collision = Some(access),
            }
        }
        if let Some(access) = collision {
            let copy = copy_operand(&access, &mut job, &mut storages);
            let free = [Pad::T0, Pad::T1, Pad::Model].into_iter().find(|pad| !taken.contains(pad));
            pads.push(Some(free.expect("three operands use at most three of four pads")));
            from_bus.push(job.on == Datapath::Scalar);
            in_unit.push(job.on == Datapath::Scalar);
            queue.push(job);
            queue.push(copy);
            continue;
        }
        jobs.push(job);
    }
    let pads = pads.into_iter().map(|pad| pad.unwrap_or(Pad::T0)).collect();
    Coloured { storages, jobs, pads }
}

/// The pad, of those that are free, that collides least with the other operands of later readers.
///
/// Write ports are busy where the scalar unit works: sums come in at their own pace while it computes and sends.
fn best(
    free: &[Pad],
    storage: usize,
    done: &[Job],
    queue: &[Job],
    pads: &[Option<Pad>],
    in_unit: &[bool],
) -> Option<Pad> {
    let collisions = |pad: Pad| {
        let beside = done.iter().chain(queue).filter(|job| job.reads().any(|a| a.storage.0 == storage));
        beside.flat_map(distinct_reads).filter(|a| a.storage.0 != storage && pads[a.storage.0] == Some(pad)).count()
    };
    let written = |pad: Pad| pads.iter().zip(in_unit).filter(|&(&other, &unit)| unit && other == Some(pad)).count();
    if in_unit[storage] {
        // What PEs compute goes to the first pad, other things being equal.
        return free.iter().copied().rev().min_by_key(|&pad| (collisions(pad), written(pad)));
    }
    free.iter().copied().min_by_key(|&pad| collisions(pad))
}

/// The windows of jobs that follow each other: their places in the order.
pub(crate) fn one_by_one(jobs: &[Job]) -> Vec<Cycles> {
    (0..jobs.len() as u64).map(|place| Cycles { first: place, last: place }).collect()
}

/// How long a storage is alive.
#[derive(Debug, Clone, Copy)]
struct Life {
    /// From the first beat of the first job to the last beat of the last.
    beats: (u64, u64),
    /// First and last job, in the order of the program. Jobs of the scalar unit may be issued in another one.
    jobs: (u64, u64),
}

impl Life {
    /// Whether it is over, in time and in the program, before another one begins.
    fn ends_before(self, other: Life) -> bool {
        self.beats.1 < other.beats.0 && self.jobs.1 < other.jobs.0
    }

    fn never_ends(&mut self) {
        (self.beats.1, self.jobs.1) = (u64::MAX, u64::MAX);
    }
}

/// From when to when each storage is alive, if the beats of each job are issued in a window.
///
/// Words land after the last beat of whoever read what was there before, so windows of beats are enough. What is written and never read
/// keeps its words: nothing waits for such a write, so nothing may reuse its place.
fn lifetimes(storages: &[Storage], jobs: &[Job], windows: &[Cycles]) -> Vec<Option<Life>> {
    let mut lives: Vec<Option<Life>> = vec![None; storages.len()];
    let mut read = vec![false; storages.len()];
    for (place, (job, window)) in (0..).zip(jobs.iter().zip(windows)) {
        let own = Life { beats: (window.first, window.last), jobs: (place, place) };
        job.reads().for_each(|access| read[access.storage.0] = true);
        for access in job.reads().chain(job.write()) {
            let life = lives[access.storage.0].get_or_insert(own);
            life.beats = (life.beats.0.min(window.first), life.beats.1.max(window.last));
            life.jobs.1 = place;
        }
    }
    for ((storage, life), read) in storages.iter().zip(&mut lives).zip(read) {
        match storage.role {
            Role::Temporary if read => {}
            Role::Temporary | Role::Output => {
                if let Some(life) = life {
                    life.never_ends();
                }
            }
            Role::Input | Role::State | Role::Parameter(_) => {
                *life = Some(Life { beats: (0, u64::MAX), jobs: (0, u64::MAX) });
            }
        }
    }
    lives
}

/// One past the last word of the gradient pad in which sums of a job wait.
fn parked_end(job: &Job) -> Option<u32> {
    let parked = job.parked()?;
    let steps = job.loops.iter().zip(&parked.strides).map(|(&count, stride)| i64::from(count - 1) * stride);
    Some((parked.offset + steps.sum::<i64>()) as u32 + 1)
}

/// Give every storage an address in its pad, for jobs whose beats are issued in these windows.
pub(crate) fn allocate(storages: &[Storage], pads: &[Pad], jobs: &[Job], windows: &[Cycles]) -> Allocation {
    let lives = lifetimes(storages, jobs, windows);
    let mut homes: Vec<Home> = pads.iter().map(|&pad| Home { pad, base: 0 }).collect();
    let mut tops = [0u32; 4];
    // Long lives first, so that what stays forever lies at the bottom of its pad.
    let mut order: Vec<usize> = (0..storages.len()).filter(|&s| lives[s].is_some()).collect();
    order.sort_by_key(|&s| {
        let (first, last) = lives[s].expect("filtered").beats;
        (last != u64::MAX, first, s)
    });
    let mut placed: Vec<usize> = Vec::new();
    for storage in order {
        let life = lives[storage].expect("filtered");
        let mut neighbours: Vec<(u32, u32)> = Vec::new();
        for &other in &placed {
            let known = lives[other].expect("placed");
            let apart = known.ends_before(life) || life.ends_before(known);
            if pads[other] == pads[storage] && !apart {
                neighbours.push((homes[other].base, homes[other].base + storages[other].words));
            }
        }
        neighbours.sort_unstable();
        let mut base = 0;
        for (from, to) in neighbours {
            if base + storages[storage].words <= from {
                break;
            }
            base = base.max(to);
        }
        homes[storage].base = base;
        let top = &mut tops[pads[storage] as usize];
        *top = (*top).max(base + storages[storage].words);
        placed.push(storage);
    }
    let words = Words {
        model: tops[Pad::Model as usize],
        data: tops[Pad::Data as usize],
        temporary: tops[Pad::T0 as usize].max(tops[Pad::T1 as usize]),
        gradient: jobs.iter().filter_map(parked_end).max().unwrap_or(0),
    };
    Allocation { homes, words }
}
