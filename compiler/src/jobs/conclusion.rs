//! Conclusion: the end of a batch whose sums are all in the gradient pads. No sample is there any more.
//!
//! ```text
//! h[b] = sum[i](w[i] * x[b,i])       of the samples: left out
//! s[i] = sum[b](d[b] * x[b,i])       over all tiles      =>      s[i] = gradient[i], rounded and written as in the last tile
//! w[i] = w[i] - 0.3 * s[i]           in the last tile            as it is
//! ```
//!
//! A machine that has some tiles of a batch runs this alone when it has the totals of all machines.

use super::job::{Access, Counts, Datapath, Job, Sink, Source};
use super::{Program, StorageId};
use crate::fixed::Role;
use std::collections::BTreeSet;

/// The jobs that end a batch; `None` where they cannot do without samples.
pub(crate) fn conclusion(program: &Program) -> Option<Program> {
    program.tile?;
    let mut needed: BTreeSet<StorageId> = BTreeSet::new();
    let mut jobs = Vec::new();
    for job in program.jobs.iter().rev() {
        let job = match &job.counts {
            Counts::Last => job.clone(),
            Counts::Over(_) => of_totals(job)?,
            // What is the same for all samples, and needed at the end.
            Counts::Every if job.write().is_some_and(|write| needed.contains(&write.storage)) => job.clone(),
            Counts::Every => continue,
        };
        if job.on == Datapath::Scalar || job.copies.scalar {
            return None;
        }
        for access in job.reads() {
            match program.storages[access.storage.0].role {
                Role::Input => return None,
                Role::Temporary | Role::Output => needed.extend([access.storage]),
                Role::State | Role::Parameter(_) => {}
            }
        }
        jobs.push(job);
    }
    jobs.reverse();
    Some(Program { jobs, ..program.clone() })
}

/// A sum over tiles when all of it waits in the gradient pads: one beat for each result, which adds nothing.
fn of_totals(job: &Job) -> Option<Job> {
    let outer = job.loops.len() - job.reduce;
    let mut masks = vec![&job.lanes];
    if let Sink::Tree { lanes, walk, .. } = &job.sink {
        masks.push(lanes);
        if walk.is_some() {
            return None;
        }
    }
    // Who writes may follow from the last summed beat; quotients have their pace from all of them.
    if masks.iter().any(|lanes| (outer..job.loops.len()).any(|level| lanes.uses(level)))
        || job.combine.compares()
        || job.divides()
    {
        return None;
    }
    let shorter = |access: &Access| Access { strides: access.strides[..outer].to_vec(), ..access.clone() };
    let sink = match &job.sink {
        Sink::Pad(write) => Sink::Pad(shorter(write)),
        Sink::Tree { unit, shift, function, write, lanes, walk } => Sink::Tree {
            unit: *unit,
            shift: *shift,
            function: *function,
            write: shorter(write),
            lanes: lanes.clone(),
            walk: *walk,
        },
        Sink::Output => return None,
    };
    let counts = Counts::Over(shorter(job.parked()?));
    let (a, b, c, loops) = (None, Source::Word(0), None, job.loops[..outer].to_vec());
    let what = format!("{} total", job.what);
    let square = false;
    Some(Job { what, loops, reduce: 0, interval: 1, a, b, square, c, align: 0, sink, counts, ..job.clone() })
}
