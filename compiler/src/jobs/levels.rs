//! Levels: the loops of a job, cut, put into another order, and brought down to what an instruction has.
//!
//!     for i in 0..6 { for j in 0..4 { word 4 i + j } }      =>      for k in 0..24 { word k }           joined
//!     five loops, where instructions have four              =>      so many jobs with four              unrolled

use super::Program;
use super::job::{Job, Sink};
use super::lanes::Lanes;
use arch::machine::Machine;

/// The same program with no job that has more loops than an instruction.
///
/// # Errors
/// The job that sums over too many.
pub(crate) fn fit(program: &Program, machine: &Machine) -> Result<Program, Job> {
    let mut jobs = Vec::new();
    for job in &program.jobs {
        jobs.extend(job.clone().fit_levels(machine).ok_or_else(|| job.clone())?);
    }
    Ok(Program { jobs, ..program.clone() })
}

impl Job {
    /// Cycles of one iteration of the outermost loop, if the job can be cut there.
    pub(crate) fn outer_cycles(&self) -> Option<u64> {
        let count = *self.loops.first()?;
        (count > 1 && self.loops.len() > self.reduce && !self.picks(0))
            .then(|| self.beats() / u64::from(count) * u64::from(self.interval))
    }

    /// Cut into the first `count` iterations of the outermost loop and the others; `None` if nothing would be left of one.
    pub(crate) fn split(&self, count: u32, machine: &Machine) -> Option<(Job, Job)> {
        if self.outer_cycles().is_none() || count == 0 || count >= self.loops[0] {
            return None;
        }
        let rest = self.loops[0] - count;
        Some((self.restrict(0, 0, count, machine), self.restrict(0, count, rest, machine)))
    }

    /// The same for some iterations of one loop that no lane is picked by.
    pub(crate) fn restrict(&self, level: usize, from: u32, count: u32, machine: &Machine) -> Job {
        let mut job = self.clone();
        let last = from + count == self.loops[level];
        job.loops[level] = count;
        for access in job.accesses_mut() {
            access.offset += access.strides[level] * i64::from(from);
        }
        // The lower bound is that of the first iteration, the upper one that of the last.
        let restrict = |lanes: &mut Lanes| {
            for bound in lanes.bounds.iter_mut().filter(|b| b.level == Some(level)) {
                if from > 0 {
                    bound.low = 0;
                }
                if !last {
                    bound.high = bound.axis.lanes(machine);
                }
            }
        };
        restrict(&mut job.lanes);
        if let Sink::Tree { lanes, .. } = &mut job.sink {
            restrict(lanes);
        }
        job
    }

    /// Iterations `from`, `from + step`, ... of loop `level`, which no lane depends on.
    pub(crate) fn every(&self, level: usize, from: u32, count: u32, step: u32) -> Job {
        let mut job = self.clone();
        job.loops[level] = count;
        for access in job.accesses_mut() {
            access.offset += access.strides[level] * i64::from(from);
            access.strides[level] *= i64::from(step);
        }
        job
    }

    /// Loop `level`, which no lane depends on, as rounds of `inner` iterations: a loop over the rounds, and inside it one over those.
    ///
    /// # Panics
    /// If a round would not be full.
    pub(crate) fn in_rounds(&self, level: usize, inner: u32) -> Job {
        assert!(self.loops[level].is_multiple_of(inner) && !self.lanes_use(level), "full rounds, and lanes for all");
        let mut job = self.clone();
        job.loops[level] /= inner;
        job.loops.insert(level + 1, inner);
        for access in job.accesses_mut() {
            let stride = access.strides[level];
            access.strides[level] = stride * i64::from(inner);
            access.strides.insert(level + 1, stride);
        }
        job.renumber_lanes(|old| if old > level { old + 1 } else { old });
        if level >= self.loops.len() - self.reduce {
            job.reduce += 1;
        }
        job
    }

    /// Whether lanes of the job, or those that take its results, depend on a loop.
    pub(crate) fn lanes_use(&self, level: usize) -> bool {
        let sink = matches!(&self.sink, Sink::Tree { lanes, .. } if lanes.uses(level));
        sink || self.lanes.uses(level)
    }

    pub(crate) fn picks(&self, level: usize) -> bool {
        let picked = |lanes: &Lanes| lanes.pick_row == Some(level) || lanes.pick_column == Some(level);
        picked(&self.lanes) || matches!(&self.sink, Sink::Tree { lanes, .. } if picked(lanes))
    }

    /// Bring the loops into another order; `order[new] = old`. No loop may be summed over.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        assert_eq!(self.reduce, 0, "only free loops can change places");
        self.loops = order.iter().map(|&old| self.loops[old]).collect();
        for access in self.accesses_mut() {
            access.strides = order.iter().map(|&old| access.strides[old]).collect();
        }
        let new_of = |old: usize| order.iter().position(|&o| o == old).expect("a permutation");
        self.renumber_lanes(new_of);
    }

    /// Give the loops that lanes depend on their new numbers.
    fn renumber_lanes(&mut self, new_of: impl Fn(usize) -> usize) {
        let renumber = |lanes: &mut Lanes| {
            lanes.pick_row = lanes.pick_row.map(&new_of);
            lanes.pick_column = lanes.pick_column.map(&new_of);
            lanes.bounds.iter_mut().for_each(|bound| bound.level = bound.level.map(&new_of));
        };
        renumber(&mut self.lanes);
        if let Sink::Tree { lanes, .. } = &mut self.sink {
            renumber(lanes);
        }
    }

    /// Take loop `level` away, with its counter fixed.
    fn fix_loop(&self, level: usize, counter: u32) -> Job {
        let mut job = self.clone();
        let count = job.loops.remove(level);
        if level >= self.loops.len() - self.reduce {
            job.reduce -= 1;
        }
        for access in job.accesses_mut() {
            access.offset += access.strides.remove(level) * i64::from(counter);
        }
        job.lanes = self.lanes.without(level, counter, count);
        if let Sink::Tree { lanes, .. } = &mut job.sink {
            *lanes = lanes.without(level, counter, count);
        }
        job
    }

    /// Join loop `level` with the one inside it, where all accesses allow it.
    fn join(&mut self, level: usize) -> bool {
        let inner = level + 1;
        let boundary = self.loops.len() - self.reduce;
        if inner >= self.loops.len() || inner == boundary || self.lanes_use(level) || self.lanes_use(inner) {
            return false;
        }
        let count = self.loops[inner];
        let joined = u64::from(count) * u64::from(self.loops[level]);
        let straight = self.accesses_mut().iter().all(|a| a.strides[level] == a.strides[inner] * i64::from(count));
        if !straight || joined > 1 << arch::isa::COUNT_BITS {
            return false;
        }
        for access in self.accesses_mut() {
            access.strides.remove(level);
        }
        self.loops[inner] = joined as u32;
        self.loops.remove(level);
        if level >= boundary {
            self.reduce -= 1;
        }
        self.lanes = self.lanes.without(level, 0, 1);
        if let Sink::Tree { lanes, .. } = &mut self.sink {
            *lanes = lanes.without(level, 0, 1);
        }
        true
    }

    /// The same work as jobs with at most as many loops as an instruction has: loops that run once vanish, loops that walk straight on are
    /// joined, and what is still too deep is unrolled from the outside. `None`: too many summed loops.
    fn fit_levels(self, machine: &Machine) -> Option<Vec<Job>> {
        self.without_single_runs().fit_joined(machine)
    }

    /// The same without loops that run once.
    pub(crate) fn without_single_runs(mut self) -> Job {
        for level in (0..self.loops.len()).rev().filter(|&level| self.loops[level] == 1).collect::<Vec<usize>>() {
            self = self.fix_loop(level, 0);
        }
        self
    }

    fn fit_joined(mut self, machine: &Machine) -> Option<Vec<Job>> {
        for level in (0..self.loops.len()).rev() {
            self.join(level);
        }
        self.lanes.clamp(machine);
        if let Sink::Tree { lanes, .. } = &mut self.sink {
            lanes.clamp(machine);
        }
        if self.loops.len() <= machine.loops() as usize {
            return Some(vec![self]);
        }
        let unrolled = (0..self.loops.len() - self.reduce).find(|&level| !self.picks(level))?;
        let mut jobs = Vec::new();
        for counter in 0..self.loops[unrolled] {
            jobs.extend(self.fix_loop(unrolled, counter).fit_levels(machine)?);
        }
        Some(jobs)
    }
}
