//! Scheduled: the cycle of every beat, and the pad and address of every word.
//!
//!     jobs::Program ─▶ colour (pads) ─▶ schedule (order, cycles) ─▶ allocate (addresses) ─▶ image
//!
//! | file | decides |
//! |---|---|
//! | [`mod@colour`] | the pad of each storage |
//! | [`mod@schedule`] | the order of the jobs |
//! | [`timetable`] | the first cycle in which a job may start |
//! | [`trace`] | which words an access touches, and when |
//! | [`mod@allocate`] | the address of each storage |
//!
//! The laws, checked by [`verify()`] (beside those of [`crate::jobs`]):
//!
//! 1. Jobs have at most as many loops as an instruction, and none is still to be [resharded](crate::jobs::reshard).
//! 2. Inputs lie in `data`, weights and constants in `model`, what a bus or the scalar unit writes in `t0` or `t1`.
//! 3. Different words that a job reads in one beat come from different pads.
//! 4. Every storage lies inside its pad. Two that share words are temporaries, and the last beat of one is before the first of the
//!    other, in time and in the order of the program.
//! 5. Each job starts when its stream is free, its operands have been written, and write port, root and bus are ([`timetable`]).
//! 6. The next step starts when all streams are idle and what it reads of this one will have landed in time; after a tile that is not the
//!    last one, when they are but for what counts in the last one only.
//!
//! The verifier of the image replays the same without boxes, word by word.

pub(crate) mod allocate;
pub(crate) mod colour;
pub(crate) mod schedule;
pub(crate) mod text;
pub(crate) mod timetable;
pub(crate) mod trace;
mod verify;

pub use allocate::Words;
pub use timetable::Cause;
pub use verify::{laws, verify};

use crate::jobs::job::{Counts, Datapath, Job};
use crate::jobs::{self, Storage};
use allocate::Allocation;
use arch::isa::Pad;
use arch::machine::Machine;
use colour::Coloured;
use schedule::Schedule;
use timetable::Slot;

/// Where a storage lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) pad: Pad,
    pub(crate) base: u32,
}

/// The jobs of one step with their cycles and addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Storages, and jobs in the order of issue.
    pub(crate) step: jobs::Program,
    /// One per storage.
    pub(crate) homes: Vec<Home>,
    /// The cycle of the first beat of each job, relative to the first possible one.
    pub(crate) starts: Vec<u64>,
    /// Cycles from the start of a step to the earliest start of the next.
    pub(crate) length: u64,
    /// The same for a tile that is not the last one of its batch: what counts in the last one only is left out at its end.
    pub(crate) tile_length: u64,
}

impl Program {
    /// A coloured program in the order and with the addresses that were found.
    pub(crate) fn new(coloured: &Coloured, schedule: &Schedule, allocation: &Allocation) -> Program {
        Program {
            step: jobs::Program { jobs: schedule.jobs.clone(), ..coloured.program.clone() },
            homes: allocation.homes.clone(),
            starts: schedule.slots.iter().map(|slot| slot.issue.first).collect(),
            length: schedule.length,
            tile_length: schedule.tile_length,
        }
    }

    pub(crate) fn storages(&self) -> &[Storage] {
        &self.step.storages
    }

    pub(crate) fn jobs(&self) -> &[Job] {
        &self.step.jobs
    }

    pub(crate) fn pads(&self) -> Vec<Pad> {
        self.homes.iter().map(|home| home.pad).collect()
    }

    /// The cycles of each job.
    pub(crate) fn slots(&self, machine: &Machine) -> Vec<Slot> {
        self.jobs().iter().zip(&self.starts).map(|(job, &start)| Slot::of(job, start, machine)).collect()
    }

    /// For each job of the scalar unit how many of the PEs' come before it.
    pub(crate) fn follows(&self) -> Vec<u32> {
        let mut before = 0;
        let mut count = |job: &Job| {
            before += u32::from(job.on == Datapath::Engines);
            (job.on == Datapath::Scalar).then_some(before)
        };
        self.jobs().iter().filter_map(&mut count).collect()
    }

    /// Cycles in which results still land when the step, or a tile that ends before it, is over.
    pub(crate) fn lands_late(&self, machine: &Machine) -> u64 {
        let slots = self.slots(machine);
        let every = self.jobs().iter().zip(&slots).filter(|(job, _)| job.counts == Counts::Every);
        let of_tile = every.map(|(_, slot)| slot.readable.saturating_sub(self.tile_length)).max();
        self.landed(machine).saturating_sub(self.length).max(of_tile.unwrap_or(0))
    }

    /// First cycle in which everything can be read.
    pub(crate) fn landed(&self, machine: &Machine) -> u64 {
        self.slots(machine).iter().map(|slot| slot.readable).max().unwrap_or(0)
    }
}
