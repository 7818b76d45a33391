//! Scalar: what is the same in all PEs runs on the unit beside the global root.
//!
//!     h[b] ─▶ all PEs           d[b] = h[b] - y[b], in every PE        w[i] -= d[b] * x[b,i]
//!     h[b] ─▶ scalar unit       d[b] = h[b] - y[b], there ─▶ all PEs   w[i] -= d[b] * x[b,i]      =>   no beat of the PEs for d
//!
//! A job may go there when it reads and writes the same words in all PEs and its operands can be there: inputs are loaded to both, results
//! of the global root and of other such jobs are written there. It takes a cycle longer until the PEs have the result; whether it is
//! worth it is for the schedule to say.

use super::job::{Access, Copies, Counts, Datapath, Job, Sink};
use super::lanes::Lanes;
use super::{Program, Storage};
use crate::fixed::Role;
use crate::placed::Axis;
use arch::machine::Machine;
use arch::timing::Unit;

/// Temporaries that a job of the unit can read at once: it has no pad but two to write to.
const MOST_TEMPORARIES: usize = 2;

/// Whether a job does the same in all PEs, with words that could lie beside the global root.
fn is_alike(job: &Job, storages: &[Storage]) -> bool {
    let Sink::Pad(write) = &job.sink else { return false };
    let alike = |storage: usize| storages[storage].axes.iter().all(|axis| *axis == Axis::Local);
    let kept = |storage: usize| matches!(storages[storage].role, Role::State | Role::Parameter(_));
    let mut touched = job.reads().map(|access| access.storage.0).chain([write.storage.0]);
    let mut temporaries: Vec<&Access> = Vec::new();
    for access in job.reads().filter(|access| storages[access.storage.0].role != Role::Input) {
        if !temporaries.contains(&access) {
            temporaries.push(access);
        }
    }
    job.lanes == Lanes::default()
        && job.counts == Counts::Every
        && temporaries.len() <= MOST_TEMPORARIES
        && touched.all(|storage| alike(storage) && !kept(storage))
}

/// Whether the scalar unit can take what a job writes from the global bus.
fn is_heard(job: &Job) -> bool {
    let all = |lanes: &Lanes| *lanes == Lanes::default();
    let global = matches!(&job.sink, Sink::Tree { unit: Unit::Global, lanes, .. } if all(lanes));
    global && job.counts == Counts::Every
}

/// The same program with every job on the scalar unit that can go there; `None` if there is none.
pub(crate) fn assign(program: &Program) -> Option<Program> {
    let Program { storages, jobs, .. } = program;
    let mut there: Vec<bool> = jobs.iter().map(|job| is_alike(job, storages)).collect();
    if !there.contains(&true) {
        return None;
    }
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); storages.len()];
    for (number, job) in jobs.iter().enumerate() {
        job.write().into_iter().for_each(|write| writers[write.storage.0].push(number));
    }
    loop {
        let comes = |number: usize| {
            jobs[number].reads().map(|access| access.storage.0).all(|storage| {
                let mut writers = writers[storage].iter();
                storages[storage].role == Role::Input || writers.all(|&job| there[job] || is_heard(&jobs[job]))
            })
        };
        let gone: Vec<usize> = (0..jobs.len()).filter(|&number| there[number] && !comes(number)).collect();
        if gone.is_empty() {
            break;
        }
        for number in gone {
            there[number] = false;
        }
    }
    let mut jobs = jobs.clone();
    for (job, _) in jobs.iter_mut().zip(&there).filter(|(_, there)| **there) {
        job.on = Datapath::Scalar;
    }
    // Who reads what is written.
    let mut read = vec![Copies { engines: false, scalar: false }; storages.len()];
    for job in &jobs {
        for access in job.reads() {
            let read = &mut read[access.storage.0];
            read.engines |= job.on == Datapath::Engines;
            read.scalar |= job.on == Datapath::Scalar;
        }
    }
    for job in &mut jobs {
        let Some(storage) = job.write().map(|write| write.storage.0) else { continue };
        let Copies { engines, scalar } = read[storage];
        job.copies = Copies { engines: engines || storages[storage].role != Role::Temporary || !scalar, scalar };
    }
    there.contains(&true).then(|| Program { jobs, ..program.clone() })
}

/// Cut the jobs of the unit, and the sums that it waits for, into so many parts: what it sends can then go between the sums.
pub(crate) fn in_parts(program: &Program, parts: u32, machine: &Machine) -> Program {
    let cut = |job: Job| -> Vec<Job> {
        if !job.copies.scalar && job.on == Datapath::Engines {
            return vec![job];
        }
        let (mut done, mut rest) = (Vec::new(), job);
        let all = rest.loops.first().copied().unwrap_or(1);
        for part in 1..parts {
            let end = all * part / parts;
            let count = end - (all - rest.loops.first().copied().unwrap_or(1));
            if let Some((head, tail)) = rest.split(count, machine) {
                done.push(head);
                rest = tail;
            }
        }
        done.push(rest);
        done
    };
    let jobs = program.jobs.iter().cloned().flat_map(cut).map(Job::without_single_runs).collect();
    Program { jobs, ..program.clone() }
}
