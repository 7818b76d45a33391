//! Cost of the blocks of a grid on a family, before synthesis: the table `[estimate]` of a family.
//!
//! Look-up tables and flip-flops of each kind of block are linear in the bits of a word and of an accumulator, with coefficients
//! fitted on what yosys made of that block; memories follow from the shapes that the family has.

use arch::Machine;
use schemars::JsonSchema;
use serde::Deserialize;
use std::iter::Sum;
use std::ops::{Add, Mul};

/// `word * W + accumulator * A + fixed` cells; in files `[word, accumulator, fixed]`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(from = "(f64, f64, f64)")]
#[schemars(with = "(f64, f64, f64)")]
pub struct Linear {
    word: f64,
    accumulator: f64,
    fixed: f64,
}

impl From<(f64, f64, f64)> for Linear {
    fn from((word, accumulator, fixed): (f64, f64, f64)) -> Linear {
        Linear { word, accumulator, fixed }
    }
}

impl Linear {
    /// These coefficients.
    pub const fn new(word: f64, accumulator: f64, fixed: f64) -> Linear {
        Linear { word, accumulator, fixed }
    }

    /// For the widths of a machine.
    pub fn of(&self, machine: &Machine) -> f64 {
        let bits = |bits: u32| f64::from(bits);
        self.word * bits(machine.word()) + self.accumulator * bits(machine.accumulator()) + self.fixed
    }
}

/// Look-up tables and flip-flops of a block.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Look-up tables.
    pub lut: Linear,
    /// Flip-flops.
    pub ff: Linear,
}

/// A block with shifters.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shifted {
    /// With shifts that never change.
    pub constant: Block,
    /// With barrel shifters.
    pub barrel: Block,
}

/// What comparing adds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparing {
    /// To a PE.
    pub pe: Block,
    /// To a node of a tree.
    pub node: Block,
}

/// How a family holds words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memories {
    /// Widths and depths of a block memory.
    pub shapes: Vec<(u64, u64)>,
    /// Memories that are made of look-up tables, shallowest first: deepest of a kind, and what a group of its words takes: words,
    /// bits, tables.
    pub shallow: Vec<(u64, u64, u64, u64)>,
    /// Deeper memories with no more bits than this are made of tables, too.
    pub small: u64,
    /// Groups of tables that are taken in place of one block memory, at most; 0: any number.
    #[serde(default)]
    pub most_groups: u64,
}

/// What memories are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Block memories.
    pub blocks: u64,
    /// Look-up tables.
    pub tables: u64,
    /// Groups of tables that hold words, of which a device has fewer than its tables would be.
    pub groups: u64,
}

impl Held {
    /// In so many block memories.
    pub const fn blocks(blocks: u64) -> Held {
        Held { blocks, tables: 0, groups: 0 }
    }
}

impl Add for Held {
    type Output = Held;

    fn add(self, other: Held) -> Held {
        Held {
            blocks: self.blocks + other.blocks,
            tables: self.tables + other.tables,
            groups: self.groups + other.groups,
        }
    }
}

impl Sum for Held {
    fn sum<I: Iterator<Item = Held>>(all: I) -> Held {
        all.fold(Held::default(), Held::add)
    }
}

impl Mul<Held> for u64 {
    type Output = Held;

    fn mul(self, of: Held) -> Held {
        Held { blocks: self * of.blocks, tables: self * of.tables, groups: self * of.groups }
    }
}

impl Memories {
    /// What a memory of `depth` words is made of.
    pub fn of(&self, depth: u32, bits: u32) -> Held {
        let (depth, bits) = (u64::from(depth), u64::from(bits));
        if depth == 0 {
            return Held::default();
        }
        let shapes = self.shapes.iter().map(|&(wide, deep)| bits.div_ceil(wide) * depth.div_ceil(deep));
        let blocks = shapes.min().unwrap_or(0);
        let shallow = self.shallow.iter().find(|(deepest, ..)| depth <= *deepest || depth * bits <= self.small);
        let Some(&(_, words, group, tables)) = shallow else { return Held::blocks(blocks) };
        let (rows, columns) = (depth.div_ceil(words), bits.div_ceil(group));
        if self.most_groups > 0 && rows * columns > self.most_groups * blocks {
            return Held::blocks(blocks);
        }
        // More rows of groups than one need a multiplexer.
        let groups = rows * columns;
        Held { blocks: 0, tables: groups * tables + bits * (rows - 1), groups }
    }

    /// Bits that a word takes which has a write enable of its own beside others in one memory: where block memories have a ninth bit for eight, they are
    /// enabled by nines.
    pub fn enabled(&self, bits: u32) -> u32 {
        let by_nines = self.shapes.iter().any(|&(wide, _)| wide % 9 == 0);
        if by_nines { bits.next_multiple_of(9) } else { bits }
    }

    /// The same for a memory that is written in chunks of 32 bits, each of which is one of its own.
    pub fn chunked(&self, depth: u32, bits: u32) -> Held {
        (0..bits.div_ceil(32)).map(|chunk| self.of(depth, (bits - 32 * chunk).min(32))).sum()
    }
}

/// What the blocks of a family take.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Operand bits of a multiplier; 0: there are none, look-up tables multiply.
    pub multiplier: u64,
    /// Memories.
    pub memories: Memories,
    /// Whether the widest program lies in block memories unless it is very shallow, because synthesis is told so.
    pub program_in_block_memory: bool,
    /// Whether a block memory shows its words so late that a register behind it raises the clock.
    #[serde(default)]
    pub late_block_memory: bool,
    /// Part of the flip-flops that take a logic cell of their own, since it has no other input for them than its table; 0 where it has one.
    #[serde(default)]
    pub lone_flip_flops: f64,
    /// Bytes of a payload of the host link of its boards, a power of two from 256 to 4096; 0: they have none. One block memory keeps two
    /// payloads, and another one as many words.
    pub host_link: u32,
    /// Tables of an accumulator, unless a block of the device multiplies and accumulates words of this width.
    pub accumulator: Linear,
    /// A PE.
    pub pe: Shifted,
    /// A root unit without a function.
    pub root: Shifted,
    /// Tables per bit of a shifter that chooses between 2, up to 4, up to 8 amounts.
    pub choices: [f64; 3],
    /// What a function unit adds to a root unit.
    pub function: Block,
    /// What comparing adds.
    pub comparing: Comparing,
    /// What a PU has beside PEs and root, its tree apart: registers of what is broadcast.
    pub pu: Block,
    /// The same, per PE.
    pub pu_per_pe: Block,
    /// Sequencer, masks, queue.
    pub sequencer: Block,
    /// The same and the programs, where these are part of the hardware.
    pub fixed_sequencer: Block,
    /// A function unit that knows its shifts.
    pub fixed_function: Block,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables hold 16 words of 4 bits in 6 of them, up to 64 words, and memories of up to 300 bits.
    fn memories() -> Memories {
        Memories {
            shapes: vec![(36, 512), (18, 1024), (1, 16_384)],
            shallow: vec![(64, 16, 4, 6)],
            small: 300,
            most_groups: 0,
        }
    }

    /// Block memories and tables.
    fn pair(held: Held) -> (u64, u64) {
        (held.blocks, held.tables)
    }

    #[test]
    fn shallow_and_small_memories_are_tables() {
        let of = |depth, bits| pair(memories().of(depth, bits));
        assert_eq!(of(0, 8), (0, 0));
        // One group of one table kind; two; four groups of four, and three steps of a multiplexer of 16 bits.
        assert_eq!((of(16, 4), of(16, 5), of(64, 16)), ((0, 6), (0, 12), (0, 96 + 48)));
        // 300 bits in 7 groups, and one bit more than that.
        assert_eq!((of(100, 3), of(301, 1)), ((0, 42 + 18), (1, 0)));
        // 400 bits are too many, though 100 and 4 are not.
        assert_eq!(of(100, 4), (1, 0));
    }

    /// As yosys does on an ECP5: 48 words of 28 bits are 21 groups, or one block memory; 64 of 24 bits 24 groups. 128 bits of 32 words are 64 groups, or
    /// four block memories, and of 64 words twice as many groups.
    #[test]
    fn many_groups_are_a_block() {
        let memories = Memories { most_groups: 21, ..memories() };
        let of = |depth, bits| pair(memories.of(depth, bits));
        assert_eq!((of(48, 28), of(64, 24)), ((0, 21 * 6 + 56), (1, 0)));
        assert_eq!((of(32, 128), of(64, 128)), ((0, 64 * 6 + 128), (4, 0)));
        assert_eq!([48, 64].map(|depth| memories.of(depth, 28).groups), [21, 0]);
    }

    /// Words of 16 bits fill two bytes of nine each; where block memories are 20 or 40 wide every bit has an enable.
    #[test]
    fn words_with_enables_fill_bytes() {
        let wide = Memories { shapes: vec![(40, 512), (20, 1024), (10, 2048)], ..memories() };
        assert_eq!([8, 9, 16, 24].map(|bits| memories().enabled(bits)), [9, 9, 18, 27]);
        assert_eq!(wide.enabled(16), 16);
    }

    /// 40 bits of 1024 words: 2 x 2 of 36 x 512, 3 of 18 x 1024, or 40 of 1 x 16384.
    #[test]
    fn the_best_shape_counts() {
        assert_eq!((pair(memories().of(1024, 40)), pair(memories().of(1025, 1))), ((3, 0), (1, 0)));
    }

    /// 70 bits are 32, 32 and 6: two blocks, two, and one. 40 bits of 16 words are 8 and 2 groups of tables.
    #[test]
    fn chunks_are_memories_of_their_own() {
        let chunked = |depth, bits| pair(memories().chunked(depth, bits));
        assert_eq!((chunked(1024, 70), chunked(16, 40)), ((5, 0), (0, 60)));
        assert_eq!((chunked(1024, 32), chunked(1024, 0)), ((2, 0), (0, 0)));
        assert_eq!(memories().chunked(16, 40).groups, 10);
    }

    /// By hand: words of 16 bits, and the accumulator of this grid.
    #[test]
    fn a_block_is_linear_in_both_widths() {
        let machine = Machine::grid(2, 4, 16).unwrap();
        let accumulator = f64::from(machine.accumulator());
        assert!(accumulator > 16.0);
        assert_eq!(Linear::new(3.0, 0.0, 0.0).of(&machine), 48.0);
        assert_eq!(Linear::new(0.0, 2.0, 0.0).of(&machine), accumulator + accumulator);
        assert_eq!(Linear::new(3.0, 2.0, 5.0).of(&machine), 53.0 + accumulator + accumulator);
    }
}
