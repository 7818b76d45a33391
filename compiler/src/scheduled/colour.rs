//! Colour: every storage gets a pad.
//!
//!     a = b * c + d       b, c and d are read in one cycle: each from a pad of its own       b in model, c in t0, d in t1
//!
//! Inputs lie in `data`, weights and constants in `model` with what [waits](crate::jobs::strips) there, other temporaries
//! where their readers can have all operands in one cycle: different words that are read by one job must come from
//! different pads. Where no choice of pads does that, one operand is copied first.

use crate::fixed::Role;
use crate::jobs::job::{Access, Copies, Counts, Datapath, Job, Sink, Source};
use crate::jobs::{self, Storage, StorageId};
use arch::isa::Pad;
use std::collections::BTreeSet;

/// A program whose storages have pads, with the copies that became necessary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coloured {
    pub(crate) program: jobs::Program,
    /// One per storage.
    pub(crate) pads: Vec<Pad>,
}

/// Pads of what PEs compute, in the order in which they are tried.
fn computed() -> impl Iterator<Item = Pad> {
    Pad::TEMPORARY.iter().copied().chain([Pad::Model])
}

/// Pads that a storage may have: temporaries written from the bus, or by the scalar unit, cannot lie in the model pad.
fn choices(storage: &Storage, from_bus: bool) -> Vec<Pad> {
    match storage.role {
        Role::Input => vec![Pad::Data],
        Role::State | Role::Parameter(_) => vec![Pad::Model],
        Role::Temporary | Role::Output if from_bus => Pad::TEMPORARY.to_vec(),
        Role::Temporary | Role::Output => computed().collect(),
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

/// Copy one operand of a job into a new temporary, laid out in the order of the loops it depends on; nothing new where one of these copies is it.
fn copy_operand(operand: &Access, job: &mut Job, storages: &mut Vec<Storage>, known: &[&Job]) -> Option<Job> {
    let used: Vec<usize> = (0..job.loops.len()).filter(|&l| operand.strides[l] != 0).collect();
    let loops: Vec<u32> = used.iter().map(|&l| job.loops[l]).collect();
    let mut strides = vec![0; job.loops.len()];
    let mut step = 1;
    for &l in used.iter().rev() {
        strides[l] = step;
        step *= i64::from(job.loops[l]);
    }
    let pick = |all: &[i64]| used.iter().map(|&l| all[l]).collect::<Vec<i64>>();
    let from = Access { strides: pick(&operand.strides), ..operand.clone() };
    let copies = Copies { engines: job.on == Datapath::Engines, scalar: job.on == Datapath::Scalar };
    // What is needed in the last tile only is copied there only.
    let counts = if job.counts == Counts::Last { Counts::Last } else { Counts::Every };
    let is_same = |copy: &&&Job| {
        copy.a.as_ref() == Some(&from) && (copy.on, &copy.counts, &copy.loops) == (job.on, &counts, &loops)
    };
    let same = known.iter().find(is_same).and_then(|copy| Some(copy.write()?.storage));
    let storage = same.unwrap_or(StorageId(storages.len()));
    let replacement = Access { storage, offset: 0, strides: strides.clone() };
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
    if same.is_some() {
        return None;
    }
    let source = &storages[operand.storage.0];
    let name = format!("{}.copy{}", source.name, storage.0);
    storages.push(Storage::copy_of(source, name.clone(), loops.iter().product()));
    let to = Sink::Pad(Access { storage, offset: 0, strides: pick(&strides) });
    let what = format!("{name} copy");
    Some(Job { on: job.on, copies, counts, ..Job::copy(job.origin.clone(), what, loops, from, to) })
}

/// By storage whether a bus or the scalar unit writes it in PEs, and whether it lies in the pads of the scalar unit.
fn written_by(jobs: &[Job], storages: usize) -> (Vec<bool>, Vec<bool>) {
    let (mut from_bus, mut in_unit) = (vec![false; storages], vec![false; storages]);
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
    (from_bus, in_unit)
}

/// Choose a pad for every storage; insert copies where operands collide.
pub(crate) fn colour(program: &jobs::Program) -> Coloured {
    colour_with(program, &[])
}

/// The same where some temporaries lie in the model pad.
pub(crate) fn colour_with(program: &jobs::Program, in_model: &[StorageId]) -> Coloured {
    let (mut storages, jobs) = (program.storages.clone(), &program.jobs);
    let (mut from_bus, mut in_unit) = written_by(jobs, storages.len());
    let fixed = |storage: &Storage, bus: bool| match choices(storage, bus)[..] {
        [pad] => Some(pad),
        _ => None,
    };
    let mut pads: Vec<Option<Pad>> = storages.iter().zip(&from_bus).map(|(s, &bus)| fixed(s, bus)).collect();
    for storage in in_model {
        pads[storage.0] = Some(Pad::Model);
    }
    let written: BTreeSet<StorageId> = jobs.iter().filter_map(Job::write).map(|access| access.storage).collect();
    let mut queue: Vec<Job> = jobs.iter().rev().cloned().collect();
    let (mut jobs, mut copies): (Vec<Job>, Vec<Job>) = (Vec::new(), Vec::new());
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
                let mut free: Vec<Pad> = choices(&storages[storage], from_bus[storage]);
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
            // What nothing writes is the same in a copy that was made before.
            let known = |copy: &&Job| {
                let storage = copy.write().map_or(0, |access| access.storage.0);
                !written.contains(&access.storage) && pads[storage].is_some_and(|pad| !taken.contains(&pad))
            };
            let known: Vec<&Job> = copies.iter().filter(known).collect();
            let Some(copy) = copy_operand(&access, &mut job, &mut storages, &known) else {
                queue.push(job);
                continue;
            };
            let free = computed().find(|pad| !taken.contains(pad));
            pads.push(Some(free.expect("the other operands leave one of them")));
            from_bus.push(job.on == Datapath::Scalar);
            in_unit.push(job.on == Datapath::Scalar);
            queue.push(job);
            copies.push(copy.clone());
            queue.push(copy);
            continue;
        }
        jobs.push(job);
    }
    let pads = pads.into_iter().map(|pad| pad.unwrap_or(Pad::T0)).collect();
    Coloured { program: jobs::Program { storages, jobs, ..program.clone() }, pads }
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
