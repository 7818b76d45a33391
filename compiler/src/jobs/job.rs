//! Jobs: what one vector instruction of the alu stream does, together with the root and move instructions that follow it.
//!
//!     ┌ loops ┐   a * b ─▶ + ─▶ accumulator ─▶ round ─▶ pad                        Sink::Pad
//!     └───────┘   start ─┘             └─▶ tree ─▶ root (round, table) ─▶ bus ─▶ pad   Sink::Tree
//!
//! Loops may be of any number here; [`Job::fit_levels`] brings them down to what an instruction has.

use super::reshard::Walk;
use crate::placed::place::Axis;
use arch::Span;
use arch::isa::{Combine, Finish, LEVELS, Mask, NO_LEVEL, RootFunction};
use arch::machine::Machine;
use arch::timing::Unit;

/// A tensor as it lies in the pads (an index into the list of storages).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StorageId(pub(crate) usize);

/// Word `offset + sum(stride * counter)` of a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) storage: StorageId,
    pub(crate) offset: i64,
    /// One stride per loop.
    pub(crate) strides: Vec<i64>,
}

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Word(i64),
    Access(Access),
}

impl Source {
    fn access(&self) -> Option<&Access> {
        match self {
            Source::Access(access) => Some(access),
            Source::Word(_) => None,
        }
    }
}

/// Lanes of one axis that take part: from `low` in the first iteration of a loop, below `high` in its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) axis: Axis,
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// `None`: always.
    pub(crate) level: Option<usize>,
}

/// Lanes that take part: rows, columns, PEs; each from a first one to before a last one.
pub(crate) type Extent = [(u32, u32); 3];

/// What computes, each with pads of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Datapath {
    /// The PEs, all by one instruction.
    Engines,
    /// The scalar unit beside the global root.
    Scalar,
}

impl Datapath {
    pub(crate) const ALL: [Datapath; 2] = [Datapath::Engines, Datapath::Scalar];
}

/// In whose pads the results of a job are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copies {
    pub(crate) engines: bool,
    pub(crate) scalar: bool,
}

impl Copies {
    /// In those of the PEs only.
    pub(crate) const ENGINES: Copies = Copies { engines: true, scalar: false };

    /// Whose pads these are.
    pub(crate) fn iter(self) -> impl std::iter::Iterator<Item = Datapath> {
        let has = move |at: &Datapath| match at {
            Datapath::Engines => self.engines,
            Datapath::Scalar => self.scalar,
        };
        Datapath::ALL.into_iter().filter(has)
    }
}

/// Which PEs take part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lanes {
    pub(crate) bounds: Vec<Bound>,
    /// Only the row with this loop's number.
    pub(crate) pick_row: Option<usize>,
    /// Only the column with this loop's number.
    pub(crate) pick_column: Option<usize>,
}

impl Lanes {
    /// The instruction's mask. The bounds lie on different axes: that is a law of placement.
    pub(crate) fn mask(&self, machine: &Machine) -> Mask {
        let mut mask = Mask::all(machine.pus(), machine.pes_per_pu());
        let level = |level: Option<usize>| level.map_or(NO_LEVEL, |l| l as u8);
        mask.pick_row = level(self.pick_row);
        mask.pick_column = level(self.pick_column);
        for bound in &self.bounds {
            match bound.axis {
                Axis::Local | Axis::Tall => {}
                Axis::Row => {
                    (mask.row_low, mask.row_high) = (bound.low, bound.high);
                    mask.row_level = level(bound.level);
                }
                Axis::Column => {
                    (mask.column_low, mask.column_high) = (bound.low, bound.high);
                    mask.column_level = level(bound.level);
                }
                Axis::Grid => {
                    let columns = machine.pes_per_pu();
                    mask.flat = true;
                    (mask.row_low, mask.column_low) = (bound.low / columns, bound.low % columns);
                    (mask.row_high, mask.column_high) = (bound.high / columns, bound.high % columns);
                    mask.row_level = level(bound.level);
                }
            }
        }
        mask
    }

    /// The rows, columns and PEs that can take part in a beat.
    fn extent(&self, beat: &[u32], loops: &[u32], machine: &Machine) -> Extent {
        let mut extent = [(0, machine.pus()), (0, machine.pes_per_pu()), (0, machine.pes())];
        for bound in &self.bounds {
            let low = bound.level.is_none_or(|l| beat[l] == 0);
            let low = if low { bound.low } else { 0 };
            let last = bound.level.is_none_or(|l| beat[l] + 1 == loops[l]);
            let high = if last { bound.high } else { bound.axis.lanes(machine) };
            match bound.axis {
                Axis::Local | Axis::Tall => {}
                Axis::Row => extent[0] = (low, high),
                Axis::Column => extent[1] = (low, high),
                Axis::Grid => extent[2] = (low, high),
            }
        }
        if let Some(level) = self.pick_row {
            extent[0] = (beat[level], beat[level] + 1);
        }
        if let Some(level) = self.pick_column {
            extent[1] = (beat[level], beat[level] + 1);
        }
        extent
    }

    fn uses(&self, level: usize) -> bool {
        self.pick_row == Some(level)
            || self.pick_column == Some(level)
            || self.bounds.iter().any(|b| b.level == Some(level))
    }

    /// The same lanes when loop `level` is taken away: its counter is `counter` of `count`, the loops inside move up.
    fn without(&self, level: usize, counter: u32, count: u32) -> Lanes {
        let mut lanes = Lanes::default();
        for bound in &self.bounds {
            let mut bound = *bound;
            match bound.level {
                Some(l) if l == level => {
                    bound.level = None;
                    if counter != 0 {
                        bound.low = 0;
                    }
                    if counter + 1 != count {
                        bound.high = u32::MAX;
                    }
                }
                Some(l) if l > level => bound.level = Some(l - 1),
                _ => {}
            }
            lanes.bounds.push(bound);
        }
        let pick = |pick: Option<usize>| match pick {
            Some(l) if l == level => {
                assert_eq!(count, 1, "a pick over several lanes keeps its loop");
                None
            }
            Some(l) if l > level => Some(l - 1),
            other => other,
        };
        Lanes { pick_row: pick(self.pick_row), pick_column: pick(self.pick_column), ..lanes }
    }

    fn clamp(&mut self, machine: &Machine) {
        for bound in &mut self.bounds {
            bound.high = bound.high.min(bound.axis.lanes(machine));
        }
    }
}

/// Where the result goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Rounded in the PE, written there.
    Pad(Access),
    /// Through a tree and its root, written from the bus.
    Tree { unit: Unit, shift: u32, function: Option<RootFunction>, write: Access, lanes: Lanes, walk: Option<Walk> },
    /// Through the trees to the output stream.
    Output,
}

/// In which tiles of a batch the result of a job counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counts {
    /// In all.
    Every,
    /// In the last one.
    Last,
    /// In the last one, as a sum over all of them, which waits in the gradient pad: the offset is the address there, the storage
    /// whatever is written.
    Over(Access),
}

/// One vector instruction and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// The statement it comes from.
    pub(crate) span: Span,
    /// What it does, for people.
    pub(crate) what: String,
    /// What computes it: the scalar unit only results that stay in a pad ([`Sink::Pad`]).
    pub(crate) on: Datapath,
    /// Where its results are written.
    pub(crate) copies: Copies,
    /// Loop counts, outermost first.
    pub(crate) loops: Vec<u32>,
    /// Innermost loops that are summed over.
    pub(crate) reduce: usize,
    /// Cycles from beat to beat.
    pub(crate) interval: u32,
    pub(crate) a: Option<Access>,
    pub(crate) b: Source,
    pub(crate) c: Option<Source>,
    pub(crate) combine: Combine,
    pub(crate) align: u32,
    pub(crate) shift: u32,
    pub(crate) finish: Finish,
    /// PEs that write or feed the tree.
    pub(crate) lanes: Lanes,
    /// In which tiles of a batch it counts.
    pub(crate) counts: Counts,
    pub(crate) sink: Sink,
}

impl Job {
    /// A job that copies `source`, for people named `what`: start from this and change fields.
    pub(crate) fn copy(span: Span, what: String, loops: Vec<u32>, source: Access, sink: Sink) -> Job {
        Job {
            span,
            what,
            on: Datapath::Engines,
            copies: Copies::ENGINES,
            loops,
            reduce: 0,
            interval: 1,
            a: Some(source),
            b: Source::Word(1),
            c: None,
            combine: Combine::Add,
            align: 0,
            shift: 0,
            finish: Finish::Round,
            lanes: Lanes::default(),
            counts: Counts::Every,
            sink,
        }
    }

    /// Whether its results are quotients, for which each root has one divider.
    pub(crate) fn divides(&self) -> bool {
        matches!(self.sink, Sink::Tree { function: Some(RootFunction::Divide(_)), .. })
    }

    /// Whether the scalar unit gives its results to the global bus.
    pub(crate) fn sends(&self) -> bool {
        self.on == Datapath::Scalar && self.copies.engines
    }

    /// Everything that is read.
    pub(crate) fn reads(&self) -> impl std::iter::Iterator<Item = &Access> {
        self.a.iter().chain(self.b.access()).chain(self.c.as_ref().and_then(Source::access))
    }

    fn accesses_mut(&mut self) -> Vec<&mut Access> {
        let mut all: Vec<&mut Access> = self.a.iter_mut().collect();
        if let Source::Access(access) = &mut self.b {
            all.push(access);
        }
        if let Some(Source::Access(access)) = &mut self.c {
            all.push(access);
        }
        if let Counts::Over(access) = &mut self.counts {
            all.push(access);
        }
        match &mut self.sink {
            Sink::Pad(access) | Sink::Tree { write: access, .. } => all.push(access),
            Sink::Output => {}
        }
        all
    }

    /// The words of the gradient pad in which its sums wait for the next tile.
    pub(crate) fn parked(&self) -> Option<&Access> {
        if let Counts::Over(access) = &self.counts { Some(access) } else { None }
    }

    /// What is written, if it stays in the grid.
    pub(crate) fn write(&self) -> Option<&Access> {
        match &self.sink {
            Sink::Pad(access) | Sink::Tree { write: access, .. } => Some(access),
            Sink::Output => None,
        }
    }

    /// Beats, one per point of the loops.
    pub(crate) fn beats(&self) -> u64 {
        self.loops.iter().map(|&n| u64::from(n)).product()
    }

    /// Beats that are summed into one result.
    pub(crate) fn beats_per_result(&self) -> u64 {
        self.loops[self.loops.len() - self.reduce..].iter().map(|&n| u64::from(n)).product()
    }

    /// Parts of the loops (from which counter on, and how many) in which the same lanes may write, and these lanes.
    pub(crate) fn written_parts(&self, machine: &Machine) -> Vec<(Vec<(u32, u32)>, Extent)> {
        let lanes = match &self.sink {
            Sink::Tree { lanes, .. } => lanes,
            Sink::Pad(_) | Sink::Output => &self.lanes,
        };
        let mut parts: Vec<Vec<(u32, u32)>> = vec![Vec::new()];
        for (level, &count) in self.loops.iter().enumerate() {
            let own: Vec<(u32, u32)> = if lanes.pick_row == Some(level) || lanes.pick_column == Some(level) {
                (0..count).map(|counter| (counter, 1)).collect()
            } else if lanes.uses(level) && count > 1 {
                // The first, those between, the last.
                let all = [(0, 1), (1, count - 2), (count - 1, 1)];
                all.into_iter().filter(|part| part.1 > 0).collect()
            } else {
                vec![(0, count)]
            };
            let longer = |part: Vec<(u32, u32)>| own.iter().map(move |&more| [part.as_slice(), &[more]].concat());
            parts = parts.into_iter().flat_map(longer).collect();
        }
        let extent = |part: Vec<(u32, u32)>| {
            let beat: Vec<u32> = part.iter().map(|&(from, _)| from).collect();
            let extent = lanes.extent(&beat, &self.loops, machine);
            (part, extent)
        };
        parts.into_iter().map(extent).collect()
    }

    /// Cycles from its first beat to the cycle after its last.
    pub(crate) fn cycles(&self) -> u64 {
        (self.beats() - 1) * u64::from(self.interval) + 1
    }

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

    fn lanes_use(&self, level: usize) -> bool {
        let sink = matches!(&self.sink, Sink::Tree { lanes, .. } if lanes.uses(level));
        sink || self.lanes.uses(level)
    }

    fn picks(&self, level: usize) -> bool {
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
        let renumber = |lanes: &mut Lanes| {
            lanes.pick_row = lanes.pick_row.map(new_of);
            lanes.pick_column = lanes.pick_column.map(new_of);
            lanes.bounds.iter_mut().for_each(|b| b.level = b.level.map(new_of));
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

    /// The same work as jobs with at most [`LEVELS`] loops: loops that run once vanish, loops that walk straight on are
    /// joined, and what is still too deep is unrolled from the outside. `None`: too many summed loops.
    pub(crate) fn fit_levels(mut self, machine: &Machine) -> Option<Vec<Job>> {
        for level in (0..self.loops.len()).rev() {
            if self.loops[level] == 1 {
                self = self.fix_loop(level, 0);
            }
        }
        for level in (0..self.loops.len()).rev() {
            self.join(level);
        }
        self.lanes.clamp(machine);
        if let Sink::Tree { lanes, .. } = &mut self.sink {
            lanes.clamp(machine);
        }
        if self.loops.len() <= LEVELS {
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
