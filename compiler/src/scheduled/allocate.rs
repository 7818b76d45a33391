//! Allocate: every storage gets an address in its pad.
//!
//!     job 0 writes t, job 1 reads t ; job 2 writes u, job 3 reads u      =>      t and u share their words
//!
//! Inputs, weights and constants stay for good and lie at the bottom of their pads. Temporaries share words when they are not alive
//! together. What the scalar unit has lies there at the same place as in the PEs.

use super::Home;
use super::colour::Coloured;
use super::timetable::Cycles;
use crate::fixed::Role;
use crate::jobs::Storage;
use crate::jobs::job::Job;
use arch::isa::Pad;
use arch::machine::Machine;

/// Words needed, or there, per pad and PE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Words {
    /// Model pad.
    pub model: u32,
    /// Data pad, one bank.
    pub data: u32,
    /// The fullest temporary pad.
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

/// Where everything lies.
#[derive(Debug, Clone)]
pub(crate) struct Allocation {
    /// One per storage.
    pub(crate) homes: Vec<Home>,
    /// How much of the pads is in use.
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
pub(crate) fn allocate(coloured: &Coloured, jobs: &[Job], windows: &[Cycles]) -> Allocation {
    let (storages, pads) = (&coloured.program.storages, &coloured.pads);
    let lives = lifetimes(storages, jobs, windows);
    let mut homes: Vec<Home> = pads.iter().map(|&pad| Home { pad, base: 0 }).collect();
    let mut tops = [0u32; Pad::COUNT];
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
        temporary: Pad::TEMPORARY.iter().map(|&pad| tops[pad as usize]).max().unwrap_or(0),
        gradient: jobs.iter().filter_map(parked_end).max().unwrap_or(0),
    };
    Allocation { homes, words }
}
