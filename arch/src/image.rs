//! Contents of a grid's memories: programs, tables, entries, and how the host packs and unpacks the streams.

pub mod sums;

use crate::amounts::Amounts;
use crate::function::FunctionTable;
use crate::isa::{
    AluInstruction, Finish, Instruction, LEVELS, LoadInstruction, MoveInstruction, RootFunction, RootInstruction,
    ScalarInstruction, Start,
};
use crate::machine::Machine;
use crate::origin::Origin;
use crate::registers::{self, FEWEST_LOOPS, Region};
use crate::timing;
use std::ops::{Deref, DerefMut, Range};

/// An instruction, and what it is in the user's program.
///
/// The grid gets the instruction alone ([`Image::control_writes`]); the rest is for people: listings, waves, reports, proofs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotated<I> {
    /// The instruction.
    pub instruction: I,
    /// What it does, in the program's words.
    pub what: String,
    /// The places of the source that it computes, and the user's names for them.
    pub origin: Origin,
}

impl<I> Deref for Annotated<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.instruction
    }
}

impl<I> DerefMut for Annotated<I> {
    fn deref_mut(&mut self) -> &mut I {
        &mut self.instruction
    }
}

/// Everything that makes one grid run one program.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// The grid it was made for.
    pub machine: Machine,
    /// Program of the alu stream.
    pub alu: Vec<Annotated<AluInstruction>>,
    /// Program of the root stream.
    pub root: Vec<Annotated<RootInstruction>>,
    /// Program of the move stream.
    pub moves: Vec<Annotated<MoveInstruction>>,
    /// Program of the load stream.
    pub load: Vec<Annotated<LoadInstruction>>,
    /// Program of the scalar stream; empty on machines without a scalar unit.
    pub scalar: Vec<Annotated<ScalarInstruction>>,
    /// For each scalar instruction how many alu instructions come before it in the order of the program.
    pub follows: Vec<u32>,
    /// Function tables, one after the other.
    pub tables: Vec<FunctionTable>,
    /// Where the routines start.
    pub entries: Entries,
    /// Cycles of one step, from its start to the earliest start of the next.
    pub step_length: u32,
    /// Cycles of a step that is not the last tile of its batch: what only counts in the last one is left out at its end. At most
    /// [`Image::step_length`].
    pub tile_length: u32,
    /// How the host packs the model: one feed per load instruction of `entries.load_model`, in order.
    pub model_in: Vec<Feed>,
    /// Steps that make one batch: its tiles, which run one after the other. Only on machines with gradient pads it is more than 1.
    pub tiles: u32,
    /// How the host packs the input of one batch: tile by tile, one feed per load instruction of `entries.step_load`, in order.
    pub step_in: Vec<Feed>,
    /// What is sent for one batch: tile by tile, what each emission instruction of `entries.emit_step` sends, in order. A result
    /// that is not a tile's own is meant as it is after the last one.
    pub step_out: Vec<Feed>,
    /// What each emission instruction of `entries.emit_model` sends, in order.
    pub model_out: Vec<Feed>,
    /// The tensors the streams carry.
    pub tensors: Vec<StreamTensor>,
}

/// What an entry register holds, if the instructions of its stream begin at a number.
fn enabled(entry: Option<u32>, first: usize) -> u32 {
    entry.map_or(0, |number| registers::ENTRY_ENABLE | (number + first as u32))
}

/// The control writes that load instructions of a stream, from a number on.
///
/// # Panics
/// When an instruction does not fit its machine: the compiler has checked that.
fn program_writes<'a, I: Instruction + 'a>(
    machine: &Machine,
    region: Region,
    first: usize,
    instructions: impl IntoIterator<Item = &'a I>,
) -> Vec<(u32, u32)> {
    let mut writes = Vec::new();
    for (n, instruction) in (first..).zip(instructions) {
        let chunks =
            instruction.encode(machine).unwrap_or_else(|error| panic!("instruction {n} of {region:?}: {error}"));
        let base = region.instruction(n as u32);
        writes.extend(chunks.into_iter().enumerate().map(|(k, chunk)| (base + k as u32, chunk)));
    }
    writes
}

impl Image {
    /// Every control write that loads it, in order.
    ///
    /// # Panics
    /// When an instruction does not fit its machine: the compiler has checked that.
    pub fn control_writes(&self) -> Vec<(u32, u32)> {
        let machine = &self.machine;
        let mut writes = self.programs_from([0; 5]);
        let width = machine.word() + 2;
        let low = |value: i64| (value as u128) & ((1u128 << width) - 1);
        for table in &self.tables {
            for (n, &(base, delta)) in table.entries.iter().enumerate() {
                let bits = low(base) | low(delta) << width;
                let address = Region::Tables.base() + (table.usage.base + n as u32) * registers::ENTRY_CHUNKS;
                writes.extend((0..(2 * width).div_ceil(32)).map(|k| (address + k, (bits >> (32 * k)) as u32)));
            }
        }
        let entries = &self.entries;
        writes.extend(self.step_writes());
        writes.push((registers::ENTRY_EMIT_MODEL, enabled(entries.emit_model, 0)));
        writes.push((registers::ENTRY_LOAD_MODEL, enabled(entries.load_model, 0)));
        if machine.gradient_depth() > 0 {
            writes.push((registers::TILES, self.tiles));
        }
        writes
    }

    /// The control writes after which runs do its steps.
    pub fn step_writes(&self) -> Vec<(u32, u32)> {
        self.step_from([0; 5])
    }

    /// The control writes that load its programs behind those of another image, and behind what lets sums out and back ([`sums`]); and those
    /// after which runs do its steps then.
    ///
    /// # Panics
    /// As [`Image::control_writes`].
    pub fn behind(&self, other: &Image) -> [Vec<(u32, u32)>; 2] {
        let [out, back] = sums::instructions(&self.machine).map(|count| count as usize);
        let first =
            [other.alu.len() + out, other.root.len(), other.moves.len(), other.load.len() + back, other.scalar.len()];
        [self.programs_from(first), self.step_from(first)]
    }

    /// The control writes that load its programs, the first instruction of alu, root, move, load and scalar stream under these numbers.
    fn programs_from(&self, [alu, root, moves, load, scalar]: [usize; 5]) -> Vec<(u32, u32)> {
        fn program<I: Instruction>(
            machine: &Machine,
            region: Region,
            first: usize,
            instructions: &[Annotated<I>],
        ) -> Vec<(u32, u32)> {
            program_writes(machine, region, first, instructions.iter().map(|at| &at.instruction))
        }
        let machine = &self.machine;
        let mut writes = program(machine, Region::Alu, alu, &self.alu);
        writes.extend(program(machine, Region::Root, root, &self.root));
        writes.extend(program(machine, Region::Move, moves, &self.moves));
        writes.extend(program(machine, Region::Load, load, &self.load));
        writes.extend(program(machine, Region::Scalar, scalar, &self.scalar));
        writes
    }

    /// The control writes after which runs do its steps, if its streams begin with these instructions.
    fn step_from(&self, [alu, root, moves, load, scalar]: [usize; 5]) -> Vec<(u32, u32)> {
        let entries = &self.entries;
        let mut writes = vec![
            (registers::ENTRY_STEP_ALU, enabled(entries.step_alu, alu)),
            (registers::ENTRY_STEP_ROOT, enabled(entries.step_root, root)),
            (registers::ENTRY_STEP_MOVE, enabled(entries.step_move, moves)),
            (registers::ENTRY_STEP_LOAD, enabled(entries.step_load, load)),
            (registers::ENTRY_EMIT_STEP, enabled(entries.emit_step, alu)),
        ];
        if self.machine.scalar() {
            writes.push((registers::ENTRY_STEP_SCALAR, enabled(entries.step_scalar, scalar)));
        }
        if self.machine.gradient_depth() > 0 {
            writes.push((registers::TILE_END, self.tile_end()));
        }
        writes.push((registers::STEP_LENGTH, self.step_length));
        writes
    }

    /// What [`registers::TILE_END`] holds.
    fn tile_end(&self) -> u32 {
        let rest = self.step_length - self.tile_length.min(self.step_length);
        if self.tiles > 1 && rest > 0 { rest + timing::TILE_END as u32 } else { 0 }
    }

    /// A number that tells images apart (FNV-1a over [`Image::control_writes`]): what a grid with a fixed program shows in
    /// [`registers::IMAGE`]. Never 0.
    ///
    /// # Panics
    /// As [`Image::control_writes`].
    pub fn identity(&self) -> u32 {
        let writes = self.control_writes().into_iter();
        let bytes = writes.flat_map(|(address, data)| [address.to_le_bytes(), data.to_le_bytes()].concat());
        bytes.fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)).max(1)
    }
}

impl AluInstruction {
    /// By how many places the start of its sums is shifted, if there is one.
    pub fn needed_alignment(&self) -> Option<u32> {
        let starts = !matches!((self.c, self.immediate_c), (Start::Zero, _) | (Start::Immediate, 0));
        starts.then_some(self.align)
    }

    /// By how many places its sums are shifted, if a PE makes words of them.
    pub fn needed_shift(&self) -> Option<u32> {
        (self.write.is_some() && self.finish != Finish::Negative).then_some(self.shift)
    }
}

impl ScalarInstruction {
    /// By how many places its sums are shifted, if the unit makes words of them.
    pub fn needed_shift(&self) -> Option<u32> {
        let used = self.send || self.alu.write.is_some();
        (used && self.alu.finish != Finish::Negative).then_some(self.alu.shift)
    }
}

impl RootInstruction {
    /// By how many places the sums of a tree are shifted, if the root makes words of them.
    pub fn needed_shift(&self) -> Option<u32> {
        (!matches!(self.function, Some(RootFunction::Divide(_)))).then_some(self.shift)
    }
}

impl Image {
    /// What PEs and the scalar unit compute.
    fn sums(&self) -> impl Iterator<Item = &AluInstruction> {
        let of_pes = self.alu.iter().map(|alu| &alu.instruction);
        of_pes.chain(self.scalar.iter().map(|scalar| &scalar.alu))
    }

    /// Loops that instructions use, and at least those of every machine.
    pub fn loops(&self) -> u32 {
        let counts = self.sums().map(|sum| &sum.counts);
        let moves = self.moves.iter().map(|moves| &moves.instruction.counts);
        let all = counts.chain(moves).chain(self.load.iter().map(|load| &load.counts));
        let used = all.filter_map(|counts| counts.iter().position(|&count| count > 1)).min();
        used.map_or(FEWEST_LOOPS, |outermost| FEWEST_LOOPS.max((LEVELS - outermost) as u32))
    }

    /// By how many places PEs must be able to shift starts. `None`: nothing depends on it.
    pub fn alignments(&self) -> Option<Amounts> {
        Amounts::of(self.sums().filter_map(AluInstruction::needed_alignment))
    }

    /// By how many places PEs must be able to shift sums.
    pub fn shifts(&self) -> Option<Amounts> {
        let of_pes = self.alu.iter().filter_map(|alu| alu.needed_shift());
        Amounts::of(of_pes.chain(self.scalar.iter().filter_map(|scalar| scalar.needed_shift())))
    }

    /// By how many places roots must be able to shift sums.
    pub fn root_shifts(&self) -> Option<Amounts> {
        Amounts::of(self.root.iter().filter_map(|root| root.needed_shift()))
    }
}

/// Instruction numbers at which routines start; `None` = the routine does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entries {
    /// Step, alu stream.
    pub step_alu: Option<u32>,
    /// Step, root stream.
    pub step_root: Option<u32>,
    /// Step, move stream.
    pub step_move: Option<u32>,
    /// Step, scalar stream.
    pub step_scalar: Option<u32>,
    /// Input of one step, load stream.
    pub step_load: Option<u32>,
    /// Emission after each step, alu stream.
    pub emit_step: Option<u32>,
    /// Emission of the model, alu stream.
    pub emit_model: Option<u32>,
    /// Input of the model, load stream.
    pub load_model: Option<u32>,
}

/// A tensor that enters or leaves through a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamTensor {
    /// Name in the program.
    pub name: String,
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<u32>,
    /// Bits after the binary point of its words.
    pub fraction: i32,
    /// The words of a constant tensor, row-major; they are sent with the model.
    pub constant: Option<Vec<i64>>,
}

impl StreamTensor {
    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().map(|&n| n as usize).product()
    }
}

/// Which element of which tensor each word of an instruction's beats is.
///
/// Lane `l` stands in row `l / width` and column `l % width` of the lanes; with a width of 0, all of them stand in one row. In the beat with
/// loop counters `k` it carries element `index[d] = offset[d] + sum(levels[d][m]*k[m]) + lane[d]*column + row[d]*row` of the tensor; where an index lies outside its extent the word is padding (0 on the way in, dropped on the way out).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Index into [`Image::tensors`].
    pub tensor: usize,
    /// Loop counts of the instruction; if its beats leave in several transfers, with loops over these inside the others.
    pub counts: [u32; LEVELS],
    /// Lanes that stand beside each other; 0: all.
    pub width: u32,
    /// One map per dimension of the tensor.
    pub dimensions: Vec<FeedDimension>,
}

/// What the lanes of one beat carry: lane `l` in `lanes` has element `first + step * l`, the others are padding. Lanes in several rows are
/// looked up index by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedBeat {
    lanes: Range<i64>,
    first: i64,
    step: i64,
    rows: Option<RowsOfLanes>,
}

/// Lanes in several rows: how many stand beside each other, and for each index its extent, its first value, what each column and each row
/// adds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RowsOfLanes {
    width: i64,
    indices: Vec<[i64; 4]>,
}

impl RowsOfLanes {
    fn element(&self, lane: i64) -> Option<usize> {
        let (row, column) = (lane / self.width, lane % self.width);
        self.indices.iter().try_fold(0, |element, [extent, first, of_column, of_row]| {
            let index = first + of_column * column + of_row * row;
            (0..*extent).contains(&index).then(|| element * *extent as usize + index as usize)
        })
    }
}

impl FeedBeat {
    /// Row-major element number of the word in `lane`; `None` = padding.
    pub fn element(&self, lane: u32) -> Option<usize> {
        let lane = i64::from(lane);
        if let Some(rows) = &self.rows {
            return rows.element(lane);
        }
        self.lanes.contains(&lane).then(|| (self.first + self.step * lane) as usize)
    }
}

/// Index of one dimension as a function of loop counters and lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedDimension {
    /// Constant part.
    pub offset: i64,
    /// Per loop level.
    pub levels: [i64; LEVELS],
    /// Per lane, or per column of the lanes.
    pub lane: i64,
    /// Per row of the lanes.
    pub row: i64,
}

impl Feed {
    /// Number of beats.
    pub fn beats(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).product()
    }

    /// Row-major element number of the word in `lane` of the beat with these counters; `None` = padding.
    pub fn element(&self, shape: &[u32], counters: &[u32; LEVELS], lane: u32) -> Option<usize> {
        self.beat(shape, counters).element(lane)
    }

    /// What the lanes of the beat with these counters carry.
    pub fn beat(&self, shape: &[u32], counters: &[u32; LEVELS]) -> FeedBeat {
        let first = |dimension: &FeedDimension| {
            let steps: i64 = dimension.levels.iter().zip(counters).map(|(&stride, &k)| stride * i64::from(k)).sum();
            dimension.offset + steps
        };
        if self.width > 0 {
            let dimensions = self.dimensions.iter().zip(shape);
            let indices = dimensions.map(|(own, &extent)| [i64::from(extent), first(own), own.lane, own.row]).collect();
            let rows = Some(RowsOfLanes { width: i64::from(self.width), indices });
            return FeedBeat { lanes: 0..0, first: 0, step: 0, rows };
        }
        let mut beat = FeedBeat { lanes: 0..i64::MAX, first: 0, step: 0, rows: None };
        for (dimension, &extent) in self.dimensions.iter().zip(shape) {
            let extent = i64::from(extent);
            let first = first(dimension);
            beat.first = beat.first * extent + first;
            beat.step = beat.step * extent + dimension.lane;
            // The lanes in which this index is in 0..extent.
            let (low, high) = match dimension.lane {
                0 if (0..extent).contains(&first) => continue,
                0 => (0, 0),
                up @ 1.. => (-first.div_euclid(up), -(first - extent).div_euclid(up)),
                down => ((first - extent).div_euclid(-down) + 1, first.div_euclid(-down) + 1),
            };
            beat.lanes = beat.lanes.start.max(low)..beat.lanes.end.min(high);
        }
        beat
    }

    /// Call `visit` with the loop counters of every beat, in order.
    pub fn for_each_beat(&self, mut visit: impl FnMut(&[u32; LEVELS])) {
        let mut k = [0u32; LEVELS];
        loop {
            visit(&k);
            let mut level = LEVELS;
            loop {
                if level == 0 {
                    return;
                }
                level -= 1;
                k[level] += 1;
                if k[level] < self.counts[level] {
                    break;
                }
                k[level] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::innermost;

    /// The element of a lane, index by index, or none if one of them is outside.
    fn by_index(feed: &Feed, shape: &[u32], counters: &[u32; LEVELS], lane: u32) -> Option<usize> {
        feed.dimensions.iter().zip(shape).try_fold(0, |element, (dimension, &extent)| {
            let steps: i64 = dimension.levels.iter().zip(counters).map(|(&stride, &k)| stride * i64::from(k)).sum();
            let (row, column) = match feed.width {
                0 => (0, lane),
                width => (lane / width, lane % width),
            };
            let index = dimension.offset + steps + dimension.lane * i64::from(column) + dimension.row * i64::from(row);
            (0..i64::from(extent)).contains(&index).then(|| element * extent as usize + index as usize)
        })
    }

    #[test]
    fn lanes_of_a_beat_carry_what_their_indices_say() {
        let dimension = |lane, offset, stride| FeedDimension {
            lane,
            row: 5 - lane,
            offset,
            levels: innermost(0, [stride, 0, 0, 1]),
        };
        let lanes = [-3, -2, -1, 0, 1, 2, 3];
        let mut words = 0;
        for (outer, inner) in lanes.into_iter().flat_map(|outer| lanes.map(|inner| (outer, inner))) {
            for offset in -4..=7 {
                let dimensions = vec![dimension(outer, 2, -1), dimension(inner, offset, 5)];
                let width = if offset % 2 == 0 { 3 } else { 0 };
                let feed = Feed { tensor: 0, counts: [3; LEVELS], width, dimensions };
                for counters in [[0, 0, 0, 0], [1, 0, 0, 2], [2, 1, 1, 1]].map(|inner| innermost(0, inner)) {
                    let beat = feed.beat(&[4, 7], &counters);
                    for lane in 0..9 {
                        let expected = by_index(&feed, &[4, 7], &counters, lane);
                        assert_eq!(beat.element(lane), expected, "{feed:?} {counters:?} lane {lane}");
                        words += usize::from(expected.is_some());
                    }
                }
            }
        }
        assert!(words > 1000, "{words} words only");
    }
}
