//! Steps: the schedule as people read it.

use crate::jobs::job::{Datapath, Job, Sink};
use crate::scheduled::timetable::{Footprint, Slot, Timetable};
use crate::scheduled::{Cause, Program};
use arch::Origin;
use arch::machine::Machine;
use arch::timing::Unit;

/// One alu or scalar instruction of the step, as `explain` and the report show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub what: String,
    /// What of the source it computes.
    pub origin: Origin,
    /// First beat, relative to the first possible one.
    pub start: u64,
    /// Cycles from its first beat to its last, inclusive.
    pub length: u64,
    /// Cycles it waited for operands or ports.
    pub waited: u64,
    /// What for.
    pub cause: Option<Cause>,
    /// Where its results go through, or are computed.
    pub unit: &'static str,
    /// Cycle in which its result can be read.
    pub readable: u64,
}

/// How long each job waits, and why: the schedule, replayed.
fn waits(program: &Program, machine: &Machine) -> Vec<(u64, Option<Cause>)> {
    let pads = program.pads();
    let mut timetable = Timetable::new(machine, program.storages(), &pads);
    let jobs = program.jobs().iter().zip(&program.starts);
    jobs.map(|(job, &start)| {
        let words = Footprint::of(job, machine);
        let wait = (start - timetable.free(job.on), timetable.cause(job, &words, start));
        timetable.place(job, &words, start);
        wait
    })
    .collect()
}

/// Where the results of a job go through, or are computed.
fn unit(job: &Job) -> &'static str {
    match &job.sink {
        Sink::Pad(_) if job.on == Datapath::Scalar => "scalar unit",
        Sink::Pad(_) => "PEs",
        Sink::Tree { unit: Unit::Row | Unit::Across, .. } => "row roots",
        Sink::Tree { unit: Unit::Global, .. } => "global root",
        Sink::Output => "output",
    }
}

/// The instructions of a step, in the order in which they start.
pub(crate) fn steps(program: &Program, machine: &Machine) -> Vec<Step> {
    let timed = program.jobs().iter().zip(program.slots(machine)).zip(waits(program, machine));
    let step = |((job, slot), (waited, cause)): ((&Job, Slot), (u64, Option<Cause>))| Step {
        cause,
        unit: unit(job),
        what: job.what.clone(),
        origin: job.origin.clone(),
        start: slot.issue.first,
        length: slot.issue.last - slot.issue.first + 1,
        waited,
        readable: slot.readable,
    };
    let mut steps: Vec<Step> = timed.map(step).collect();
    steps.sort_by_key(|step| step.start);
    steps
}
