//! Steps: the schedule as people read it.

use super::Built;
use crate::jobs::job::{Datapath, Job, Sink};
use crate::scheduled::schedule::Schedule;
use crate::scheduled::timetable::{self, Cause};
use arch::machine::Machine;
use arch::timing::Unit;

/// One alu or scalar instruction of the step, as `explain` and the report show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub what: String,
    /// Source line, 0 = none.
    pub line: usize,
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

/// Why each job waits: the schedule, replayed.
fn causes(built: &Built, machine: &Machine) -> Vec<Option<Cause>> {
    let pads: Vec<_> = built.allocation.homes.iter().map(|home| home.pad).collect();
    let mut timetable = timetable::Timetable::new(machine, &built.storages, &pads);
    let jobs = built.schedule.jobs.iter().zip(&built.schedule.slots);
    jobs.map(|(job, slot)| {
        let words = timetable::Footprint::of(job, machine);
        let cause = timetable.cause(job, &words, slot.issue.first);
        timetable.place(job, &words, slot.issue.first);
        cause
    })
    .collect()
}

/// Where the results of a job go through, or are computed.
fn unit(job: &Job) -> &'static str {
    match &job.sink {
        Sink::Pad(_) if job.on == Datapath::Scalar => "scalar unit",
        Sink::Pad(_) => "PEs",
        Sink::Tree { unit: Unit::Row, .. } => "row roots",
        Sink::Tree { unit: Unit::Global, .. } => "global root",
        Sink::Output => "output",
    }
}

/// The instructions of a step, in the order in which they start.
pub(crate) fn steps(built: &Built, machine: &Machine, line_of: &dyn Fn(arch::Span) -> usize) -> Vec<Step> {
    let Schedule { jobs, slots, .. } = &built.schedule;
    let timed = jobs.iter().zip(slots).zip(causes(built, machine));
    let step = |((job, slot), cause): ((&Job, &timetable::Slot), Option<Cause>)| Step {
        cause,
        unit: unit(job),
        what: job.what.clone(),
        line: line_of(job.span),
        start: slot.issue.first,
        length: slot.issue.last - slot.issue.first + 1,
        waited: slot.waited,
        readable: slot.readable,
    };
    let mut steps: Vec<Step> = timed.map(step).collect();
    steps.sort_by_key(|step| step.start);
    steps
}
