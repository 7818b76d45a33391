//! A job: what one vector instruction of the alu stream does, together with the root and move instructions that follow it.
//!
//!     ┌ loops ┐   a * b ─▶ + ─▶ accumulator ─▶ round ─▶ pad                        Sink::Pad
//!     └───────┘   start ─┘             └─▶ tree ─▶ root (round, table) ─▶ bus ─▶ pad   Sink::Tree
//!
//! Loops may be of any number here; [`super::levels`] brings them down to what an instruction has.

use super::StorageId;
use super::lanes::{Extent, Lanes};
use crate::placed::Axis;
use arch::Origin;
use arch::isa::{Combine, Finish, RootFunction};
use arch::machine::Machine;
use arch::timing::Unit;

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
    /// Of the instruction.
    Word(i64),
    /// Of a pad.
    Access(Access),
}

impl Source {
    pub(crate) fn access(&self) -> Option<&Access> {
        match self {
            Source::Access(access) => Some(access),
            Source::Word(_) => None,
        }
    }
}

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

/// How the results of a job change over to another axis, until [`super::reshard`] makes jobs of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// Loop `level` walks along the lanes of `axis`; `stride` words further after each round.
    Along { level: usize, axis: Axis, stride: i64 },
    /// Loop `waves` and, inside, loop `columns`: `words` results per row; `low` is the first row of the first, `high` ends the last.
    ToRows { waves: usize, columns: usize, words: u32, low: u32, high: u32 },
    /// Loop `level` goes over the words of one lane of `axis` after the other, those of `low..high`, which lie `stride` words apart in the lanes of
    /// another axis, or in all PEs.
    Inside { level: usize, axis: Axis, to: Axis, stride: i64, low: u32, high: u32 },
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
    /// What of the source it computes.
    pub(crate) origin: Origin,
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
    /// First factor; `None`: there is no product.
    pub(crate) a: Option<Access>,
    /// Second factor.
    pub(crate) b: Source,
    /// The difference `a - b` is both factors.
    pub(crate) square: bool,
    /// Start of the sum; `None`: nothing.
    pub(crate) c: Option<Source>,
    /// How start and products are combined.
    pub(crate) combine: Combine,
    /// Left shift of the start.
    pub(crate) align: u32,
    /// Right shift of the sum, where a PE rounds it.
    pub(crate) shift: u32,
    /// How the sum becomes a word.
    pub(crate) finish: Finish,
    /// PEs that write or feed the tree.
    pub(crate) lanes: Lanes,
    /// In which tiles of a batch it counts.
    pub(crate) counts: Counts,
    /// Where the result goes.
    pub(crate) sink: Sink,
}

impl Job {
    /// A job that copies `source`, for people named `what`: start from this and change fields.
    pub(crate) fn copy(origin: Origin, what: String, loops: Vec<u32>, source: Access, sink: Sink) -> Job {
        Job {
            origin,
            what,
            on: Datapath::Engines,
            copies: Copies::ENGINES,
            loops,
            reduce: 0,
            interval: 1,
            a: Some(source),
            b: Source::Word(1),
            square: false,
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

    pub(crate) fn accesses_mut(&mut self) -> Vec<&mut Access> {
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
}
