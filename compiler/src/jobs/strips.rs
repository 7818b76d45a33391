//! Strips: what an update reads waits in the model pad, and comes into a temporary pad strip by strip.
//!
//! ```text
//! s[i] = sum[b](d[b] * x[b,i])      i in 0..40        =>      s[i] = sum[b](d[b] * x[b,i])              s in the model pad
//! w[i] = w[i] - s[i] * 0.3                                     s.0[k] = s[k];      s.1[k] = s[16 + k]
//!                                                             w[k] = w[k] - s.0[k] * 0.3;    s.0[k] = s[32 + k];    w[16 + k] = ..
//! ```
//!
//! A gradient has as many words as its weights. In a temporary pad it would be the largest of all by far; the model pad is deep anyway, but holds
//! the weight, too, and a beat reads one word of a pad. Two strips of the gradient suffice beside it: one is filled while the
//! other is used. Each word is copied once, in the last tile of a batch only where the update counts there.

use super::job::{Access, Copies, Counts, Datapath, Job, Sink, Source};
use super::{Program, Storage, StorageId};
use crate::fixed::Role;
use arch::machine::Machine;

/// A program of which some temporaries lie in the model pad.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stripped {
    /// With what brings them, strip by strip, to whoever reads them.
    pub(crate) program: Program,
    /// These temporaries.
    pub(crate) kept: Vec<StorageId>,
}

/// The program with all temporaries of more than two strips of `most` words in the model pad that can be there; `None` if there is none.
pub(crate) fn strips(program: &Program, most: u32, machine: &Machine) -> Option<Stripped> {
    let kept: Vec<StorageId> =
        (0..program.storages.len()).map(StorageId).filter(|&storage| may_wait(program, storage, most)).collect();
    if kept.is_empty() {
        return None;
    }
    let mut result = Program { jobs: Vec::new(), ..program.clone() };
    for job in &program.jobs {
        match job.reads().find(|access| kept.contains(&access.storage)).cloned() {
            Some(access) => in_strips(&mut result, job, &access, most, machine),
            None => result.jobs.push(job.clone()),
        }
    }
    Some(Stripped { program: result, kept })
}

/// Whether a temporary is large, written inside the PEs, and read by updates only, each of which reads each word once.
fn may_wait(program: &Program, storage: StorageId, most: u32) -> bool {
    let own = &program.storages[storage.0];
    let mut writers = program.jobs.iter().filter(|job| job.write().is_some_and(|access| access.storage == storage));
    let inside = writers.all(|job| matches!(job.sink, Sink::Pad(_)) && in_engines(job));
    let mut readers = program.jobs.iter().filter(|job| job.reads().any(|access| access.storage == storage)).peekable();
    let read = readers.peek().is_some();
    own.role == Role::Temporary && own.words > 2 * most && inside && read && {
        readers.all(|job| {
            let mut accesses: Vec<&Access> = Vec::new();
            for access in job.reads().filter(|access| access.storage == storage) {
                if !accesses.contains(&access) {
                    accesses.push(access);
                }
            }
            let once = accesses.len() == 1 && accesses[0].strides.iter().all(|&stride| stride != 0);
            once && updates(program, job) && cuts(job, most).is_some()
        })
    }
}

fn in_engines(job: &Job) -> bool {
    job.on == Datapath::Engines && job.copies == Copies::ENGINES
}

/// Whether a job changes a weight element by element, in the last tile where there are tiles.
fn updates(program: &Program, job: &Job) -> bool {
    let state = |access: &Access| program.storages[access.storage.0].role == Role::State;
    let last = program.tile.is_none() || job.counts == Counts::Last;
    let mut temporaries = job.reads().filter(|access| program.storages[access.storage.0].role == Role::Temporary);
    let first = temporaries.next();
    // Another temporary that waits would need strips of its own.
    let alone = temporaries.all(|other| Some(other) == first);
    last && alone && in_engines(job) && job.reduce == 0 && matches!(&job.sink, Sink::Pad(write) if state(write))
}

/// Parts of the loops of a job, from which counter on and how many, with at most so many beats each; `None` where masks forbid it.
fn cuts(job: &Job, most: u32) -> Option<Vec<Vec<(u32, u32)>>> {
    let mut parts: Vec<Vec<(u32, u32)>> = vec![job.loops.iter().map(|&count| (0, count)).collect()];
    for level in 0..job.loops.len() {
        let inner: u32 = job.loops[level + 1..].iter().product();
        let count = job.loops[level];
        if u64::from(count) * u64::from(inner) <= u64::from(most) {
            break;
        }
        if job.picks(level) {
            return None;
        }
        let step = (most / inner).max(1);
        let cut = |part: Vec<(u32, u32)>| {
            (0..count).step_by(step as usize).map(move |from| {
                let mut part = part.clone();
                part[level] = (from, step.min(count - from));
                part
            })
        };
        parts = parts.into_iter().flat_map(cut).collect();
    }
    Some(parts)
}

/// Append a job in strips, each behind what brings its words; the next ones come in front of it.
fn in_strips(result: &mut Program, job: &Job, access: &Access, most: u32, machine: &Machine) {
    let parts = cuts(job, most).expect("what masks forbid does not wait");
    let source = result.storages[access.storage.0].clone();
    let words = parts.iter().map(|part| part.iter().map(|&(_, count)| count).product::<u32>()).max().unwrap_or(0);
    let first = result.storages.len();
    for number in first..first + 2 {
        result.storages.push(Storage::copy_of(&source, format!("{}.strip{number}", source.name), words));
    }
    let mut waiting: Option<Job> = None;
    for (number, part) in parts.iter().enumerate() {
        let storage = StorageId(first + number % 2);
        let mut strip = job.clone();
        for (level, &(from, count)) in part.iter().enumerate() {
            if (from, count) != (0, job.loops[level]) {
                strip = strip.restrict(level, from, count, machine);
            }
        }
        let mut strides = vec![0; strip.loops.len()];
        let mut step = 1;
        for (stride, &count) in strides.iter_mut().zip(&strip.loops).rev() {
            *stride = step;
            step *= i64::from(count);
        }
        let here = Access { storage, offset: 0, strides };
        let mut from = access.clone();
        let replace = |own: &mut Access| {
            if own.storage == access.storage {
                from = std::mem::replace(own, here.clone());
            }
        };
        sources(&mut strip).into_iter().for_each(replace);
        let name = &result.storages[storage.0].name;
        let copy = Job::copy(job.origin.clone(), format!("{name} copy"), strip.loops.clone(), from, Sink::Pad(here));
        result.jobs.push(Job { counts: job.counts.clone(), ..copy });
        result.jobs.extend(waiting.replace(strip));
    }
    result.jobs.extend(waiting);
}

/// What a job reads.
fn sources(job: &mut Job) -> Vec<&mut Access> {
    let mut all: Vec<&mut Access> = job.a.iter_mut().collect();
    if let Source::Access(access) = &mut job.b {
        all.push(access);
    }
    if let Some(Source::Access(access)) = &mut job.c {
        all.push(access);
    }
    all
}
