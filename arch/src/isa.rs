//! Instructions and their bits.
//!
//! Four streams, and a fifth on machines with a scalar unit (docs/machine.md). An instruction is a plain struct; [`Layout`] says where each of its fields lies in the
//! microcode word of a given machine; `encode` and `decode` walk the same list of fields, and the RTL slices by it.
//!
//! Architecture invariant: `decode(encode(i)) = i` for every instruction that fits the machine.

mod fields;
mod text;
mod values;
mod walk;

pub use fields::{
    COUNT_BITS, DELAY_BITS, INTERVAL_BITS, LIMIT, POSITIVE, SHIFT_BITS, SQUARE_BIT, gradient_bits, pad_bits,
};
pub use values::Value;
pub use walk::{Field, Fits, Instruction, Layout};

use crate::division::Rounding;
use crate::machine::Machine;
use crate::number::{word_max, word_min, wrap};
use crate::timing::Unit;

/// Most loop levels of an instruction; the last one is innermost. A machine has the innermost [`Machine::loops`] of them.
pub const LEVELS: usize = 6;

/// Values for the innermost loops, and `outer` for those around them.
pub fn innermost<T: Copy, const N: usize>(outer: T, inner: [T; N]) -> [T; LEVELS] {
    std::array::from_fn(|level| if level < LEVELS - N { outer } else { inner[level + N - LEVELS] })
}

/// Value of a level field that means "always" (bounds) or "no pick" (picks).
pub const NO_LEVEL: u8 = LEVELS as u8;

macro_rules! pads {
    ($($(#[$what:meta])* $pad:ident $name:literal,)*) => {
        /// A scratchpad of the PE.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Pad {
            $($(#[$what])* $pad,)*
        }

        impl Pad {
            /// All pads, in the order of their read ports.
            pub const ALL: [Pad; Pad::COUNT] = [$(Pad::$pad),*];
            /// How many there are.
            pub const COUNT: usize = Pad::NAMES.len();
            /// As they are written, in microcode and in Verilog.
            pub const NAMES: [&str; [$($name),*].len()] = [$($name),*];
            /// As they are written where the difference to operand `b` is squared.
            const LESS_B: [&str; Pad::COUNT] = [$(concat!($name, "_less_b")),*];
        }
    };
}

pads! {
    /// Weights and constants.
    Model "model",
    /// Input data, two banks.
    Data "data",
    /// Temporaries, as all that follow.
    T0 "t0",
    /// Temporaries.
    T1 "t1",
}

impl Pad {
    /// Those that buses write.
    pub const TEMPORARY: &[Pad] = Pad::ALL.split_at(Pad::T0 as usize).1;

    /// Words for the pads, and from the number `at` on `more`.
    const fn words_and<const N: usize>(at: usize, more: &[&'static str]) -> [&'static str; N] {
        let (mut all, mut n) = (["none"; N], 0);
        while n < Pad::COUNT {
            all[n] = Pad::NAMES[n];
            n += 1;
        }
        n = 0;
        while n < more.len() {
            all[at + n] = more[n];
            n += 1;
        }
        all
    }

    /// Words per PE; of the data pad those of a bank.
    #[inline]
    pub fn depth(self, machine: &Machine) -> u32 {
        match self {
            Pad::Model => machine.model_depth(),
            Pad::Data => machine.data_depth(),
            _ => machine.temporary_depth(),
        }
    }

    /// Words per PE in all banks.
    pub fn words(self, machine: &Machine) -> u32 {
        self.depth(machine) * if self == Pad::Data { 2 } else { 1 }
    }
}

/// `base + sum(stride[l] * counter[l])`, modulo the depth of the pad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Address {
    /// Address at the first beat.
    pub base: u32,
    /// Words per step of each loop level; 0 for levels that run once.
    pub strides: [i32; LEVELS],
}

/// Which PEs take part in a beat; see docs/machine.md section 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mask {
    /// Bounds are lexicographic over (row, column) instead of a box.
    pub flat: bool,
    /// First row.
    pub row_low: u32,
    /// First column.
    pub column_low: u32,
    /// One past the last row.
    pub row_high: u32,
    /// One past the last column.
    pub column_high: u32,
    /// The loop whose first and last iteration the row bounds (flat: all bounds) apply to, or [`NO_LEVEL`]: always.
    pub row_level: u8,
    /// The loop whose first and last iteration the column bounds apply to, or [`NO_LEVEL`]: always.
    pub column_level: u8,
    /// Only the row whose number is this loop's counter, or [`NO_LEVEL`].
    pub pick_row: u8,
    /// Only the column whose number is this loop's counter, or [`NO_LEVEL`].
    pub pick_column: u8,
}

impl Mask {
    /// All PEs of a grid.
    pub fn all(pus: u32, pes_per_pu: u32) -> Mask {
        Mask {
            flat: false,
            row_low: 0,
            column_low: 0,
            row_high: pus,
            column_high: pes_per_pu,
            row_level: NO_LEVEL,
            column_level: NO_LEVEL,
            pick_row: NO_LEVEL,
            pick_column: NO_LEVEL,
        }
    }

    /// [`Mask::admits`] for every PE, row by row.
    pub fn fill(
        &self,
        pus: u32,
        pes_per_pu: u32,
        counts: &[u32; LEVELS],
        counters: &[u32; LEVELS],
        taken: &mut [bool],
    ) {
        // The field has room for levels beyond the last; they mean what `NO_LEVEL` means, as in the hardware.
        let none = |level: u8| level >= NO_LEVEL;
        let first = |level: u8| none(level) || counters[level as usize] == 0;
        let last = |level: u8| none(level) || counters[level as usize] + 1 == counts[level as usize];
        let columns = pes_per_pu as usize;
        let end = taken.len();
        let mut rows = 0..pus as usize;
        let mut box_columns = 0..columns;
        let mut all = 0..end;
        if self.flat {
            let place = |row: u32, column: u32| (row as usize * columns + (column as usize).min(columns)).min(end);
            all.start = if first(self.row_level) { place(self.row_low, self.column_low) } else { 0 };
            all.end = if last(self.row_level) { place(self.row_high, self.column_high) } else { end };
        } else {
            rows.start = if first(self.row_level) { self.row_low as usize } else { 0 };
            rows.end = if last(self.row_level) { rows.end.min(self.row_high as usize) } else { rows.end };
            box_columns.start = if first(self.column_level) { self.column_low as usize } else { 0 };
            box_columns.end = if last(self.column_level) { columns.min(self.column_high as usize) } else { columns };
        }
        for (range, level) in [(&mut rows, self.pick_row), (&mut box_columns, self.pick_column)] {
            if !none(level) {
                let picked = counters[level as usize] as usize;
                *range = range.start.max(picked)..range.end.min(picked + 1);
            }
        }
        taken.fill(false);
        if box_columns == (0..columns) {
            (rows, box_columns) = (0..1, rows.start * columns..rows.end * columns);
        }
        for row in rows {
            let (start, end) = (row * columns + box_columns.start, row * columns + box_columns.end);
            let (start, end) = (start.max(all.start), end.min(all.end));
            if start < end {
                taken[start..end].fill(true);
            }
        }
    }

    /// Whether PE (`row`, `column`) of a `pus` x `pes_per_pu` grid takes part in the beat with these loop counters.
    pub fn admits(
        &self,
        pus: u32,
        pes_per_pu: u32,
        counts: &[u32; LEVELS],
        counters: &[u32; LEVELS],
        row: u32,
        column: u32,
    ) -> bool {
        let none = |level: u8| level >= NO_LEVEL;
        let first = |level: u8| none(level) || counters[level as usize] == 0;
        let last = |level: u8| none(level) || counters[level as usize] + 1 == counts[level as usize];
        let picked = |level: u8, lane: u32| none(level) || counters[level as usize] == lane;
        let inside = if self.flat {
            let low = if first(self.row_level) { (self.row_low, self.column_low) } else { (0, 0) };
            let high = if last(self.row_level) { (self.row_high, self.column_high) } else { (pus, 0) };
            low <= (row, column) && (row, column) < high
        } else {
            let row_low = if first(self.row_level) { self.row_low } else { 0 };
            let row_high = if last(self.row_level) { self.row_high } else { pus };
            let column_low = if first(self.column_level) { self.column_low } else { 0 };
            let column_high = if last(self.column_level) { self.column_high } else { pes_per_pu };
            (row_low..row_high).contains(&row) && (column_low..column_high).contains(&column)
        };
        inside && picked(self.pick_row, row) && picked(self.pick_column, column)
    }
}

/// Operand `a` or `b` of an ALU instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Factor {
    /// Read port of a pad.
    Pad(Pad),
    /// The instruction's `immediate_b` (operand `b` only).
    Immediate,
}

/// Operand `c` of an ALU instruction: where accumulation starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// Zero.
    Zero,
    /// Read port of a pad.
    Pad(Pad),
    /// The instruction's `immediate_c`.
    Immediate,
}

/// How an accumulator becomes a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// Divide by `2^shift`, round to nearest (ties to even), saturate.
    Round,
    /// 1 if negative, else 0.
    Negative,
    /// Rounded likewise, and 0 if negative; needs a machine with `rectifiers`. At most this word, which [`UNLIMITED`] never is less than; another
    /// one needs a machine with `limits`.
    Positive(i32),
}

/// The limit of positive words that is none.
pub const UNLIMITED: i32 = i32::MAX;

/// What an accumulator does with a product, and a node of a tree with its two inputs.
///
/// Bit 0 of the field is also the sign of a product that is added; bit 1, comparing, is part of machines with extremes only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Sum of the products.
    Add = 0,
    /// Less the products; trees add.
    Subtract = 1,
    /// The largest of start and products.
    Maximum = 2,
    /// The smallest of start and products.
    Minimum = 3,
}

impl Combine {
    /// All of them, in the order of their numbers.
    pub const ALL: [Combine; 4] = [Combine::Add, Combine::Subtract, Combine::Maximum, Combine::Minimum];

    /// Whether values are compared instead of added.
    #[inline]
    pub fn compares(self) -> bool {
        matches!(self, Combine::Maximum | Combine::Minimum)
    }

    /// What changes no result: where nothing is, this is, in accumulators of so many bits.
    pub fn identity(self, accumulator: u32) -> i128 {
        match self {
            Combine::Add | Combine::Subtract => 0,
            Combine::Maximum => word_min(accumulator),
            Combine::Minimum => word_max(accumulator),
        }
    }

    /// Two partial results as one, as a node of a tree does it.
    pub fn join(self, one: i128, other: i128) -> i128 {
        match self {
            Combine::Add | Combine::Subtract => one.wrapping_add(other),
            Combine::Maximum => one.max(other),
            Combine::Minimum => one.min(other),
        }
    }
}

/// In which tiles of a batch the result of an instruction counts (docs/machine.md section 8). Anything but `Every` needs a
/// machine with gradient pads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tiles {
    /// In every tile.
    Every,
    /// In the last tile of a batch: nothing is written in the others.
    Last,
    /// In the last tile, and it is a sum over all of them: between tiles it waits at full width in the gradient pad, at this
    /// address. Strides of levels that are summed over are 0.
    Park(Address),
}

/// One vector instruction of the alu stream: `result = finish((start << align) ± sum(a * b))`, or the largest or smallest of
/// these instead of the sum; `(a - b) * (a - b)` in place of `a * b` if it squares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "they are bits of the instruction")]
pub struct AluInstruction {
    /// Cycles to wait before the first beat.
    pub delay: u32,
    /// Cycles from beat to beat, at least 1.
    pub interval: u32,
    /// Loop counts, outermost first, at least 1.
    pub counts: [u32; LEVELS],
    /// How many innermost levels are combined to one result.
    pub reduce: u8,
    /// Read address of each pad.
    pub reads: [Address; Pad::COUNT],
    /// First factor; never `Immediate`.
    pub a: Pad,
    /// Second factor.
    pub b: Factor,
    /// The difference `a - b` is both factors; needs a machine with squares.
    pub square: bool,
    /// Start of the accumulation.
    pub c: Start,
    /// How products are combined, in the PE and in the trees.
    pub combine: Combine,
    /// Left shift of `c`.
    pub align: u32,
    /// Right shift of the accumulator.
    pub shift: u32,
    /// How the accumulator becomes a word.
    pub finish: Finish,
    /// Constant for `b`.
    pub immediate_b: i64,
    /// Constant for `c`.
    pub immediate_c: i64,
    /// Pad that takes the result (never `Data`).
    pub write: Option<Pad>,
    /// Where in that pad.
    pub destination: Address,
    /// Give the accumulator to the row tree.
    pub tree: bool,
    /// Send what the trees make of all PEs to the output FIFO; beats wait for space.
    pub emit: bool,
    /// Which PEs write and feed the tree.
    pub mask: Mask,
    /// In which tiles of a batch the result counts.
    pub tiles: Tiles,
    /// Last instruction of its routine.
    pub end: bool,
}

impl AluInstruction {
    /// The transfers of the output stream in which each of its beats leaves, if it emits: on machines with more lanes than a transfer has
    /// words, where it needs no constant for `c`, the low bits of that say so, less one.
    pub fn transfers(&self, machine: &Machine) -> u32 {
        1 + (self.immediate_c as u32 & (machine.most_transfers() - 1))
    }

    /// The same instruction with so many.
    #[must_use]
    pub fn with_transfers(self, transfers: u32, machine: &Machine) -> AluInstruction {
        AluInstruction { immediate_c: wrap(i128::from(transfers - 1), machine.word()) as i64, ..self }
    }
}

/// One vector instruction of the scalar stream (docs/machine.md section 9): an alu instruction of a grid with one PE, whose result
/// may also go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScalarInstruction {
    /// What is computed. The scalar unit has no model pad (operands there are 0), no tree and no mask: these fields are as
    /// [`ScalarInstruction::of`] makes them, and others are refused when it is encoded.
    pub alu: AluInstruction,
    /// Give the result to the global bus register.
    pub send: bool,
}

impl ScalarInstruction {
    /// This instruction as one of the scalar unit: by its one PE, in every tile.
    pub fn of(alu: AluInstruction, send: bool) -> ScalarInstruction {
        ScalarInstruction {
            alu: AluInstruction { mask: Mask::all(1, 1), tree: false, emit: false, tiles: Tiles::Every, ..alu },
            send,
        }
    }
}

/// What a root unit does with the sum beside rounding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RootFunction {
    /// A function of the rounded word.
    Table(TableUse),
    /// The quotient of the two words that the sum carries ([`crate::division`]); `shift` is the places of the dividend.
    Divide(Rounding),
}

/// The segments of a function table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Segments {
    /// Of equal width over all words.
    Uniform,
    /// The same number in each octave of a positive word; for other words the function has this value.
    Octave(Below),
}

/// The value of a function by octaves for words that are not positive. All but `Zero` at 0 count as saturated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Below {
    /// The most negative word.
    Lowest,
    /// Zero.
    Zero,
    /// The most positive word.
    Highest,
}

impl Below {
    /// The word, and whether it counts as saturated, for a word `x` that is not positive.
    pub fn value(self, x: i64, word: u32) -> (i64, bool) {
        match self {
            Below::Lowest => (word_min(word) as i64, true),
            Below::Zero => (0, x < 0),
            Below::Highest => (word_max(word) as i64, true),
        }
    }
}

/// Use of a function table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableUse {
    /// First entry of the table.
    pub base: u32,
    /// Uniform: log2 of the number of segments. Octave: log2 of the segments per octave.
    pub log2: u32,
    /// Bits of the fraction inside a segment.
    pub segment_shift: u32,
    /// How the words are divided into segments.
    pub segments: Segments,
}

/// One vector instruction of the root stream: round the sum of a tree, optionally apply a function, or divide its two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RootInstruction {
    /// Cycles to wait before the first beat.
    pub delay: u32,
    /// Cycles from beat to beat.
    pub interval: u32,
    /// Number of beats.
    pub count: u32,
    /// Row roots or the global root.
    pub unit: Unit,
    /// Right shift of the sum.
    pub shift: u32,
    /// A negative word becomes 0, and one above this limit the limit, unless there is a function: as [`Finish::Positive`] says.
    pub positive: Option<i32>,
    /// What else is done with it.
    pub function: Option<RootFunction>,
    /// Last instruction of its routine.
    pub end: bool,
}

/// One vector instruction of the move stream: write bus values into temporaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MoveInstruction {
    /// Cycles to wait before the first beat.
    pub delay: u32,
    /// Cycles from beat to beat.
    pub interval: u32,
    /// Loop counts, outermost first.
    pub counts: [u32; LEVELS],
    /// Whose result is taken.
    pub source: Unit,
    /// `T0` or `T1`.
    pub pad: Pad,
    /// Where in that pad.
    pub destination: Address,
    /// Which PEs take it.
    pub mask: Mask,
    /// Only the last tile of a batch writes.
    pub late: bool,
    /// The scalar unit takes the word of the global bus, too, to the same pad and address.
    pub scalar: bool,
    /// Last instruction of its routine.
    pub end: bool,
}

/// One vector instruction of the load stream: write transfers of the input stream into pads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "they are bits of the microcode word")]
pub struct LoadInstruction {
    /// Loop counts, outermost first.
    pub counts: [u32; LEVELS],
    /// `Model` or `Data`.
    pub pad: Pad,
    /// Parts of sums instead, one with each iteration of the innermost loop: `destination` is in the gradient pad.
    pub gradient: bool,
    /// Where in that pad.
    pub destination: Address,
    /// PE p takes lane `p mod S` instead of lane 0.
    pub scatter: bool,
    /// Only PEs whose `flat / S` is this loop's counter, or [`NO_LEVEL`].
    pub pick_group: u8,
    /// Which PEs take it.
    pub mask: Mask,
    /// The scalar unit takes lane 0, too, to the same address of its data pad; nothing if `pad` is the model pad.
    pub scalar: bool,
    /// Last instruction of its routine.
    pub end: bool,
}
