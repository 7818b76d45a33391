//! Resources of a grid on a device: an estimate before synthesis.
//!
//! Multipliers and block memories follow from the structure of the machine (docs/machine.md). Look-up tables and flip-flops of
//! each kind of block are linear in the bits of a word and of an accumulator, with coefficients fitted per family on what yosys
//! made of that block. The tests hold what yosys made of whole grids, which the estimate must meet; `tests/flows/estimates.rs` asks it again.

use crate::config::Microcode;
use crate::project::store::Store;
use arch::amounts::Amounts;
use arch::device::{Leaves, MultiplyAdd};
use arch::image::Image;
use arch::isa::{
    AluInstruction, COUNT_BITS, DELAY_BITS, INTERVAL_BITS, Instruction, LoadInstruction, MoveInstruction, Pad,
    RootInstruction, ScalarInstruction,
};
use arch::machine::Machine;
use arch::registers::FEWEST_LOOPS;
use fpga::board::Resources;
use fpga::costs::{Block, Comparing, Costs, Held, Linear, Memories, Shifted};
use fpga::family::Family;
use hdl::Design;
use serde::Serialize;
use std::ops::Add;

/// Cells of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Multipliers.
    pub dsp: u64,
    /// Block memories.
    pub bram: u64,
    /// Look-up tables.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Groups of look-up tables that hold words; they are among the look-up tables.
    #[serde(skip)]
    pub lutram: u64,
    /// Multipliers among those above that only add up trees, and what tables and flip-flops there would be in their place.
    #[serde(skip)]
    trees: [u64; 3],
}

impl Estimate {
    /// Name, cells and those of a device, of each kind that it counts.
    pub fn kinds(&self, has: &Resources) -> impl Iterator<Item = (&'static str, u64, u64)> + use<> {
        let Estimate { dsp, bram, lut, ff, lutram, .. } = self.within(has);
        let kinds = [
            ("LUT", lut, has.lut),
            ("FF", ff, has.ff),
            ("DSP", dsp, has.dsp),
            ("BRAM", bram, has.bram),
            ("LUTRAM", lutram, has.lutram),
        ];
        let counted = has.lutram > 0;
        kinds.into_iter().filter(move |&(name, ..)| counted || name != "LUTRAM")
    }

    /// The same on a device: trees are made of look-up tables where it has too few multipliers for them.
    #[must_use]
    pub fn within(self, has: &Resources) -> Estimate {
        if self.dsp <= has.dsp {
            return self;
        }
        let [dsp, lut, ff] = self.trees;
        Estimate { dsp: self.dsp - dsp, lut: self.lut + lut, ff: self.ff + ff, trees: [0; 3], ..self }
    }
}

/// Cells that a grid on a device names: those of its family, but trees that add only where there are multipliers for them.
pub fn leaves(machine: &Machine, family: Family, has: &Resources) -> Leaves {
    let fits = estimate(machine, Some(family)).dsp <= has.dsp;
    Leaves { adder: family.leaves().adder.filter(|_| fits), ..family.leaves() }
}

/// Amounts and bits of a shifter.
type Shifter = (Amounts, u32);

/// Look-up tables of a block with shifters.
fn shifted_lut(block: &Shifted, machine: &Machine, choices: [f64; 3], shifters: &[Shifter]) -> f64 {
    let (constant, barrel) = (block.constant.lut.of(machine), block.barrel.lut.of(machine));
    let more = shifters.iter().map(|&(amounts, bits)| match amounts.listed().map(|list| list.len()) {
        None => (barrel - constant) / shifters.len() as f64,
        Some(1) => 0.0,
        Some(2) => choices[0] * f64::from(bits),
        Some(3..=4) => choices[1] * f64::from(bits),
        Some(_) => choices[2] * f64::from(bits),
    });
    constant + more.sum::<f64>()
}

/// Flip-flops of a block with shifters.
fn shifted_ff(block: &Shifted, machine: &Machine, shifters: &[Shifter]) -> f64 {
    let barrel = shifters.iter().any(|(amounts, _)| amounts.listed().is_none());
    if barrel { block.barrel.ff.of(machine) } else { block.constant.ff.of(machine) }
}

/// Where a sum starts, in a PE with a gradient pad; and the tile counter with what the streams have for it.
const RESUME: Block = Block { lut: Linear::new(0.0, 1.0, 0.0), ff: Linear::new(0.0, 0.0, 0.0) };
const TILES: Block = Block { lut: Linear::new(0.0, 0.0, 200.0), ff: Linear::new(0.0, 0.0, 150.0) };

/// The way of sums out of a gradient pad and back, in a PE; and what sequencer and output have for it.
const EXCHANGE: Block = Block { lut: Linear::new(0.0, 1.0, 6.0), ff: Linear::new(-1.0, 1.0, 2.0) };
const EXCHANGES: Block = Block { lut: Linear::new(0.0, 0.0, 110.0), ff: Linear::new(0.0, 0.0, 70.0) };

/// What makes the negative results of a PE 0.
const RECTIFIER: Block = Block { lut: Linear::new(0.0, 0.0, 2.0), ff: Linear::new(0.0, 0.0, 0.0) };

/// What compares the result of a PE with a limit, and the registers of a limit on its way to a row.
const LIMIT: Block = Block { lut: Linear::new(2.0, 0.0, 0.0), ff: Linear::new(0.0, 0.0, 0.0) };
const LIMIT_OF_ROW: Block = Block { lut: Linear::new(0.0, 0.0, 0.0), ff: Linear::new(4.0, 0.0, 0.0) };

/// The subtracter before the multiplier of a PE, and what selects its result.
const SQUARES: Block = Block { lut: Linear::new(4.0, 0.0, 0.0), ff: Linear::new(0.0, 0.0, 1.0) };

/// What selects the word of a PE where columns have buses, the register of a bus in each PU, and what joins the results of two rows.
const COLUMN_SELECT: Block = Block { lut: Linear::new(1.0, 0.0, 1.0), ff: Linear::new(0.0, 0.0, 0.0) };
const COLUMN_BUS: Block = Block { lut: Linear::new(0.0, 0.0, 0.0), ff: Linear::new(1.0, 0.0, 1.0) };
const COLUMN_JOIN: Block = Block { lut: Linear::new(1.0, 0.0, 1.0), ff: Linear::new(0.0, 0.0, 0.0) };

/// What a scalar unit has beside a PE and its program: stream, registers of its beats, gates.
const SCALAR: Block = Block { lut: Linear::new(1.0, 0.0, 630.0), ff: Linear::new(4.0, 0.0, 980.0) };

/// What the streams have for a loop more: counters, and what addresses move by.
const LOOP: Block = Block { lut: Linear::new(0.0, 0.0, 125.0), ff: Linear::new(0.0, 0.0, 150.0) };

/// Chunks of 32 bits at the beginning of an instruction of the alu stream that hold delay, interval and counts.
fn pacing_chunks(machine: &Machine) -> u32 {
    (1 + DELAY_BITS + INTERVAL_BITS + machine.loops() * COUNT_BITS).div_ceil(32)
}

/// The family that counts where none is named.
pub(crate) fn usual(family: Option<Family>) -> Family {
    family.or_else(|| Family::named("ecp5")).expect("ECP5 is a family")
}

/// What an accumulator takes outside the block that multiplies, unless that block holds it.
fn accumulate(machine: &Machine, family: Family) -> f64 {
    let holds = |block: &MultiplyAdd| machine.factor_bits() <= block.factor && machine.accumulator() <= block.sum;
    if family.leaves().multiply_add.is_some_and(holds) { 0.0 } else { family.estimate.accumulator.of(machine) }
}

/// Multipliers for a product of two words of these widths.
fn multipliers(costs: &Costs, a: u32, b: u32) -> u64 {
    match costs.multiplier {
        0 => 0,
        bits => u64::from(a).div_ceil(bits) * u64::from(b).div_ceil(bits),
    }
}

/// Block memories of the host link, where the board has one: two payloads of requests, and a buffer in either direction.
fn link(machine: &Machine, costs: &Costs) -> u64 {
    match costs.host_link {
        0 => 0,
        payload => costs.memories.of(2 * payload, 8).blocks + 2 * costs.memories.of(payload, machine.word()).blocks,
    }
}

/// What a scratchpad is made of.
fn pad(machine: &Machine, costs: &Costs, depth: u32, bits: u32) -> Held {
    let memories = costs.memories.clone();
    let asked = match machine.block_depth() {
        0 => memories,
        least if depth >= least => Memories { shallow: Vec::new(), ..memories },
        _ => Memories { small: u64::MAX, most_groups: 0, ..memories },
    };
    asked.of(depth, bits)
}

/// What the memories of all PEs are made of.
pub(super) fn pads(machine: &Machine, costs: &Costs) -> Held {
    let pads = Pad::ALL.map(|pad| pad.words(machine));
    let (word, columns) = (machine.word(), machine.pes_per_pu());
    let own = pad(machine, costs, machine.gradient_depth(), machine.accumulator());
    let (count, pads, gradient) = if machine.pads_in_rows() {
        let each = u64::from(columns);
        // Tables have an enable for each group of their bits.
        let in_row = |depth: u32| match pad(machine, costs, depth, columns * costs.memories.enabled(word)) {
            Held { blocks: 0, .. } => pad(machine, costs, depth, columns * word),
            blocks => blocks,
        };
        let shared = pad(machine, costs, machine.gradient_depth(), columns * machine.accumulator());
        let gradient = if machine.hands_out_sums() { each * own } else { shared };
        (machine.pus(), pads.map(in_row), gradient)
    } else {
        (machine.pes(), pads.map(|depth| pad(machine, costs, depth, word)), own)
    };
    u64::from(count) * pads.into_iter().fold(gradient, Held::add)
}

/// The same of the scalar unit, which has no model pad.
fn unit_pads(machine: &Machine, costs: &Costs) -> Held {
    if !machine.scalar() {
        return Held::default();
    }
    let own = Pad::ALL.into_iter().filter(|own| *own != Pad::Model);
    own.map(|own| pad(machine, costs, own.words(machine), machine.word())).sum()
}

/// Flip-flops of the registers behind the pads of a PE.
fn behind_pads(machine: &Machine) -> u64 {
    let sums = if machine.gradient_depth() > 0 { machine.accumulator() } else { 0 };
    if machine.pad_register() { u64::from(Pad::COUNT as u32 * machine.word() + sums) } else { 0 }
}

/// What is known of a grid's programs.
#[derive(Debug, Clone, Copy)]
struct Control {
    /// They are part of the hardware.
    fixed: bool,
    /// Root units that have a function unit.
    functions: u64,
    /// Bits of an entry of the function tables.
    entry: u32,
}

impl Control {
    fn of(machine: &Machine, microcode: Microcode) -> Control {
        let roots = u64::from(machine.pus()) + 1;
        Control {
            fixed: microcode == Microcode::Rom,
            functions: if machine.table_entries() > 0 { roots } else { 0 },
            entry: 2 * (machine.word() + 2),
        }
    }

    /// Synthesis takes away what the program never uses.
    fn fixed(image: &Image) -> Control {
        let bits = |value: i64| 65 - value.abs_diff(-i64::from(value < 0)).leading_zeros();
        let entries = image.tables.iter().flat_map(|table| &table.entries);
        let widest = entries.fold((0, 0), |(base, delta), entry| (bits(entry.0).max(base), bits(entry.1).max(delta)));
        let control = Control::of(&image.machine, Microcode::Rom);
        let functions = if image.tables.is_empty() { 0 } else { control.functions };
        Control { functions, entry: widest.0 + widest.1, ..control }
    }
}

/// Estimate a grid on a family; without one it counts as ECP5.
pub fn estimate<'a>(design: impl Into<Design<'a>>, family: Option<Family>) -> Estimate {
    match design.into() {
        Design::Loadable(machine) => cells(machine, family, Control::of(machine, Microcode::Ram)),
        Design::Fixed(image, _) => cells(&image.machine, family, Control::fixed(image)),
    }
}

/// Memories of the programs.
fn programs(machine: &Machine, costs: &Costs) -> Held {
    let depth = machine.program_depth();
    let program = |bits: u32| costs.memories.chunked(depth, bits);
    let alu = AluInstruction::layout(machine).bits;
    // Where synthesis is told to put the widest program into block memories, it is there unless it is very shallow.
    // The chunks that pace lie in tables while they are shallow.
    let alu = if costs.program_in_block_memory && depth > 16 {
        let early = if depth <= 64 { pacing_chunks(machine) } else { 0 };
        let early_chunks = costs.memories.chunked(depth, 32 * early);
        Held { blocks: u64::from(alu.div_ceil(32) - early), ..early_chunks }
    } else {
        program(alu)
    };
    let others = [
        RootInstruction::layout(machine).bits,
        MoveInstruction::layout(machine).bits,
        LoadInstruction::layout(machine).bits,
    ];
    let in_unit = if machine.scalar() { program(ScalarInstruction::layout(machine).bits) } else { Held::default() };
    others.into_iter().map(program).fold(alu + in_unit, Held::add)
}

/// Cells of one kind in all of a grid, of which each PE and each root has so many by its shifters and sums.
fn logic(machine: &Machine, costs: &Costs, control: &Control, own: (f64, f64), part: fn(&Block) -> &Linear) -> u64 {
    let ((pe, root), pes, rows) = (own, u64::from(machine.pes()), u64::from(machine.pus()));
    let sequencer = if control.fixed { &costs.fixed_sequencer } else { &costs.sequencer };
    let function = if control.fixed { &costs.fixed_function } else { &costs.function };
    let tiles = {
        let cells = pes as f64 * part(&RESUME).of(machine) + part(&TILES).of(machine);
        let exchange = pes as f64 * part(&EXCHANGE).of(machine) + part(&EXCHANGES).of(machine);
        let cells = if machine.hands_out_sums() { cells + exchange } else { cells };
        if machine.gradient_depth() > 0 { cells } else { 0.0 }
    };
    let cells = |block: &Block| part(block).of(machine);
    let comparing = if machine.extremes() {
        let Comparing { pe: in_pe, node: in_node } = &costs.comparing;
        pes as f64 * cells(in_pe) + (pes - 1) as f64 * cells(in_node)
    } else {
        0.0
    };
    let pe = if machine.squares() { pe + cells(&SQUARES) } else { pe };
    let pe = if machine.rectifiers() { pe + cells(&RECTIFIER) } else { pe };
    let pe = if machine.limits() { pe + cells(&LIMIT) } else { pe };
    let limits = if machine.limits() { rows as f64 * cells(&LIMIT_OF_ROW) } else { 0.0 };
    let buses = if machine.column_buses() { f64::from(machine.column_bus_count()) } else { 0.0 };
    let crossing = if buses > 0.0 {
        let joins = rows as f64 - buses;
        pes as f64 * cells(&COLUMN_SELECT) + rows as f64 * buses * cells(&COLUMN_BUS) + joins * cells(&COLUMN_JOIN)
    } else {
        0.0
    };
    let unit = if machine.scalar() { pe + cells(&SCALAR) } else { 0.0 };
    let sum = pes as f64 * (pe + cells(&costs.pu_per_pe))
        + unit
        + crossing
        + limits
        + comparing
        + (rows + 1) as f64 * root
        + control.functions as f64 * cells(function)
        + rows as f64 * cells(&costs.pu)
        + cells(sequencer)
        + f64::from(machine.loops() - FEWEST_LOOPS) * cells(&LOOP)
        + tiles;
    sum.round() as u64
}

fn cells(machine: &Machine, family: Option<Family>, control: Control) -> Estimate {
    let family = usual(family);
    let costs = &family.facts().estimate;
    let pes = u64::from(machine.pes());
    let (word, accumulator) = (machine.word(), u64::from(machine.accumulator()));
    let pads = pads(machine, costs);
    let table = costs.memories.of(machine.table_entries(), control.entry);
    // Chunks of an entry wait for its last one.
    let held_chunks = if control.fixed { 0 } else { control.functions * u64::from((control.entry - 1) / 32) };
    let programs = if control.fixed { Held::default() } else { programs(machine, costs) };
    let queue =
        u64::from(machine.lanes()) * costs.memories.of(machine.output_fifo(), word).blocks + link(machine, costs);

    let in_pe = [(machine.alignments(), machine.accumulator()), (machine.shifts(), word + 1)];
    let in_root = [(machine.root_shifts(), word + 2)];
    let of = |pe: f64, root: f64, part: fn(&Block) -> &Linear| logic(machine, costs, &control, (pe, root), part);
    let lut = of(
        shifted_lut(&costs.pe, machine, costs.choices, &in_pe) + accumulate(machine, family),
        shifted_lut(&costs.root, machine, costs.choices, &in_root),
        |block| &block.lut,
    );
    let ff = of(shifted_ff(&costs.pe, machine, &in_pe), shifted_ff(&costs.root, machine, &in_root), |block| &block.ff);
    let units = u64::from(machine.scalar());
    let memories = pads + unit_pads(machine, costs) + control.functions * table + programs;
    let [adders, nodes, registers] = hdl::trees(machine, family.leaves()).map(u64::from);
    let [_, most, held] = hdl::trees(machine, Leaves::GENERIC).map(u64::from);
    Estimate {
        dsp: (pes + units) * multipliers(costs, machine.factor_bits(), machine.factor_bits())
            + control.functions * multipliers(costs, word + 2, word)
            + adders,
        bram: memories.blocks + queue,
        lut: lut + nodes * accumulator + memories.tables,
        ff: ff + registers * accumulator + (pes + units) * behind_pads(machine) + 32 * held_chunks,
        lutram: memories.groups,
        trees: [adders, (most - nodes) * accumulator, (held - registers) * accumulator],
    }
}

/// Estimate a grid whose programs are held like this.
pub(crate) fn estimate_of(machine: &Machine, family: Family, microcode: Microcode) -> Estimate {
    cells(machine, Some(family), Control::of(machine, microcode))
}

/// What a device has too little of, as `needed NAME of available`.
pub fn lacks(machine: &Machine, family: Family, has: &Resources, microcode: Microcode) -> Vec<String> {
    let estimate = cells(machine, Some(family), Control::of(machine, microcode));
    let short = estimate.kinds(has).filter(|&(_, needed, available)| needed > available);
    short.map(|(name, needed, available)| format!("about {needed} {name} of {available}")).collect()
}

/// Rows of the sample store that the block memories left over by a grid hold, each as wide as a beat (docs/store.md).
pub fn store_rows(machine: &Machine, family: Family, has: &Resources, microcode: Microcode) -> u32 {
    let taken = cells(machine, Some(family), Control::of(machine, microcode)).bram;
    let spare = has.bram.saturating_sub(taken + has.bram / KEPT_FREE);
    let (memories, bits) = (&family.facts().estimate.memories, machine.word() * machine.stream_words());
    let fits = |rows: &u32| store_blocks(memories, *rows, bits) <= spare;
    let rows = (1..=MOST_STORE_ROWS / STORE_STEP).map(|steps| steps * STORE_STEP);
    rows.filter(|rows| rows.count_ones() <= MOST_BANKS).take_while(fits).last().unwrap_or(0)
}

/// A grid with its sample store.
pub fn with_store(machine: &Machine, family: Family, of: Microcode, store: Store) -> Estimate {
    beside_store(estimate_of(machine, family, of), machine, family, store)
}

/// What a grid takes, and its sample store.
pub fn beside_store(grid: Estimate, machine: &Machine, family: Family, store: Store) -> Estimate {
    if store.rows == 0 {
        return grid;
    }
    let bits = machine.word() * machine.stream_words();
    let [lut, ff] = logic_with_store(machine, grid, store.permutes);
    let blocks = store_blocks(&family.facts().estimate.memories, store.rows, bits);
    let bram = grid.bram + if store.in_sdram || store.large { 0 } else { blocks };
    Estimate { lut: lut.round() as u64, ff: ff.round() as u64, bram, ..grid }
}

/// Look-up tables and flip-flops of a grid with a sample store.
fn logic_with_store(machine: &Machine, grid: Estimate, permutes: bool) -> [f64; 2] {
    let row = f64::from(machine.word() * machine.stream_words());
    [(STORE.0, grid.lut), (STORE.1, grid.ff)]
        .map(|([each, fixed, order], grid)| grid as f64 + each * row + fixed + if permutes { order } else { 0.0 })
}

/// Whether a device has logic for a sample store beside a grid.
pub fn has_logic_for_store(machine: &Machine, family: Family, has: &Resources, of: Microcode, permutes: bool) -> bool {
    let grid = estimate_of(machine, family, of).within(has);
    let [lut, ff] = logic_with_store(machine, grid, permutes);
    let lone = family.facts().estimate.lone_flip_flops;
    lut + lone * ff <= has.lut as f64 && ff <= has.ff as f64
}

/// Look-up tables and flip-flops of a store for each bit of a row, and beside those; and of what permutes. On an ECP5 yosys makes of rows of 16, 32,
/// 128, 256 and 512 bits 863, 864, 1,440, 2,337 and 3,329 tables, 426, 504, 894, 1,409 and 2,435 flip-flops; on an iCE40 fewer tables.
const STORE: ([f64; 3], [f64; 3]) = ([5.3, 780.0, 500.0], [4.0, 380.0, 290.0]);

/// Rows of the sample store that the large memories of a device hold.
pub fn large_store_rows(machine: &Machine, has: &Resources) -> u32 {
    let slices = (machine.word() * machine.stream_words()).div_ceil(LARGE.0);
    let banks = (0..=has.spram as u32 / slices).rev().find(|banks| banks.count_ones() <= MOST_BANKS);
    banks.unwrap_or(0) * LARGE.1
}

/// Bits of a word of a large memory, and words.
const LARGE: (u32, u32) = (16, 1 << 14);

/// Block memories of a store, cut as in `store_rows.v`: a bank for each bit of the number of rows, in slices of 16 kbit.
fn store_blocks(memories: &Memories, rows: u32, bits: u32) -> u64 {
    let bank = |log2: u32| {
        let slice = (SLICE_BITS >> log2).clamp(1, bits);
        u64::from(bits.div_ceil(slice)) * memories.of(1 << log2, slice).blocks.max(1)
    };
    (0..u32::BITS).filter(|log2| rows >> log2 & 1 == 1).map(bank).sum()
}

/// One in so many block memories is left to what an estimate misses.
const KEPT_FREE: u64 = 16;
/// Rows by which a store grows: the depth of the widest shape of a block memory on the smallest family.
const STORE_STEP: u32 = 256;
/// More rows than any device holds.
const MOST_STORE_ROWS: u32 = 1 << 20;
/// What stands behind the banks of a store grows with their number.
const MOST_BANKS: u32 = 2;
/// Bits of a slice of a bank.
const SLICE_BITS: u32 = 1 << 14;

#[cfg(test)]
mod tests;
