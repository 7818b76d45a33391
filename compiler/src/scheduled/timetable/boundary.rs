//! Boundary: where a tile ends that is not the last one of its batch.
//!
//! ```text
//! last tile     ████ samples ████ sums over the batch ████ update ██
//! other tiles   ████ samples ████ sums over the batch ███|              the next tile starts here
//! ```
//!
//! What counts in the last tile only need not be issued in others: their streams stop where nothing else is left. What of it was put into gaps
//! before that is issued and writes nothing.

use super::{Slot, Timetable, ports, write_cycles};
use crate::fixed::Role;
use crate::jobs::job::{Counts, Job};
use crate::scheduled::trace::{Pace, behind};
use arch::timing;

/// How far a timer counts before it can end a tile.
const SHORTEST: u64 = 8;

impl Timetable<'_> {
    /// The first cycle in which the step after a tile that is not the last one may start: at most the [length](Timetable::length) of a step.
    /// `jobs` are those that were placed, in their order.
    pub(crate) fn tile_length(&self, jobs: &[Job]) -> u64 {
        let whole = self.length();
        if jobs.iter().all(|job| job.counts == Counts::Every) || self.waits_for_late(jobs) {
            return whole;
        }
        let placed = || jobs.iter().zip(&self.slots);
        let issued = placed().filter(|(job, _)| job.counts != Counts::Last).map(|(_, slot)| slot.issue);
        let every = || placed().filter(|(job, _)| job.counts == Counts::Every).map(|(_, slot)| slot);
        let carried = every().flat_map(|slot| [slot.root, slot.moves]).flatten();
        let mut length =
            issued.chain(carried).map(|window| window.last + timing::TILE_END).max().unwrap_or(0).max(SHORTEST);
        // The next tile goes on with a sum when it is there.
        let [resumed, parked] = &self.parked;
        length = length.max(behind(parked, resumed).unwrap_or(0).max(0) as u64);
        while length < whole && !(self.ports_are_free(jobs, length) && self.roots_are_free(jobs, length)) {
            length += 1;
        }
        length.min(whole)
    }

    /// Whether something that counts in every tile reads what is there in the last one only.
    fn waits_for_late(&self, jobs: &[Job]) -> bool {
        let mut late = vec![false; self.storages.len()];
        for job in jobs.iter().filter(|job| job.counts != Counts::Every) {
            if let Some(write) = job.write() {
                let storage = write.storage.0;
                late[storage] = self.storages[storage].role != Role::State;
            }
        }
        let mut every = jobs.iter().filter(|job| job.counts == Counts::Every);
        every.any(|job| job.reads().any(|access| late[access.storage.0]))
    }

    /// Whether what a tile still writes when the next one has begun misses the results of that.
    fn ports_are_free(&self, jobs: &[Job], length: u64) -> bool {
        let mut late =
            jobs.iter().zip(&self.slots).filter(|(job, slot)| job.counts == Counts::Every && slot.readable > length);
        !late.any(|(job, slot)| {
            let Some(write) = job.write() else { return false };
            ports(job).any(|to| {
                let pace = write_cycles(job, to, self.machine).later(slot.issue.first).from(length);
                let port: &[Pace] = &self.ports[to as usize][self.pads[write.storage.0] as usize];
                pace.is_some_and(|pace| port.iter().any(|&next| pace.meets(next)))
            })
        })
    }

    /// Whether what roots still do for sums that nobody takes misses what the next tile gives them.
    fn roots_are_free(&self, jobs: &[Job], length: u64) -> bool {
        let first_result = self.slots.iter().filter_map(|slot| slot.moves).map(|moves| moves.first).min();
        let first_quotient = self.quotients.map(|quotients| quotients.first);
        let last_beat = |last: u64| last.min(length - timing::TILE_END);
        let mut begun = jobs.iter().zip(&self.slots).filter_map(|(job, slot)| {
            let Slot { root: Some(root), moves: Some(moves), .. } = *slot else { return None };
            (root.first + timing::TILE_END <= length).then_some((job, root, moves))
        });
        begun.all(|(job, root, moves)| {
            let arrives = last_beat(root.last) + (moves.first - root.first);
            let free = last_beat(root.last) + timing::division_interval(self.machine);
            first_result.is_none_or(|first| arrives < length + first)
                && (!job.divides() || first_quotient.is_none_or(|first| free <= length + first))
        })
    }
}
