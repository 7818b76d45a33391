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

/// The subtracter before the multiplier of a PE, and what selects its result.
const SQUARES: Block = Block { lut: Linear::new(4.0, 0.0, 0.0), ff: Linear::new(0.0, 0.0, 1.0) };

/// What selects the word of a PE where columns have buses, the register of a bus in each PU, and what joins the results of two rows.
const COLUMN_SELECT: Block = Block { lut: Linear::new(1.0, 0.0, 1.0), ff: Linear::new(0.0, 0.0, 0.0) };
const COLUMN_BUS: Block = Block { lut: Linear::new(0.0, 0.0, 0.0), ff: Linear::new(1.0, 0.0, 1.0) };
const COLUMN_JOIN: Block = Block { lut: Linear::new(1.0, 0.0, 1.0), ff: Linear::new(0.0, 0.0, 0.0) };

/// What a scalar unit has beside a PE and its program: stream, registers of its beats, gates.
const SCALAR: Block = Block { lut: Linear::new(1.0, 0.0, 630.0), ff: Linear::new(4.0, 0.0, 980.0) };

/// Chunks of 32 bits at the beginning of an instruction of the alu stream that hold delay, interval and counts.
const PACING_CHUNKS: u32 = (1 + DELAY_BITS + INTERVAL_BITS + 4 * COUNT_BITS).div_ceil(32);

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
        let early = if depth <= 64 { PACING_CHUNKS } else { 0 };
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
        + comparing
        + (rows + 1) as f64 * root
        + control.functions as f64 * cells(function)
        + rows as f64 * cells(&costs.pu)
        + cells(sequencer)
        + tiles;
    sum.round() as u64
}

fn cells(machine: &Machine, family: Option<Family>, control: Control) -> Estimate {
    let family = usual(family);
    let costs = &family.facts().estimate;
    let pes = u64::from(machine.pes());
    let (word, accumulator) = (machine.word(), u64::from(machine.accumulator()));
    let pads = pads(machine, costs);
    let table = if control.fixed {
        costs.memories.of(machine.table_entries(), control.entry)
    } else {
        costs.memories.chunked(machine.table_entries(), control.entry)
    };
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
        ff: ff + registers * accumulator + (pes + units) * behind_pads(machine),
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
mod tests {
    use super::*;
    use arch::machine::MachineSpec;

    fn machine(parameters: [u32; 10]) -> Machine {
        let [pus, pes_per_pu, word, accumulator, model, data, temporary, program, tables, fifo] = parameters.map(Some);
        let spec = MachineSpec {
            pus,
            pes_per_pu,
            word,
            accumulator,
            model_depth: model,
            data_depth: data,
            temporary_depth: temporary,
            program_depth: program,
            table_entries: tables,
            output_fifo: fifo,
            ..MachineSpec::default()
        };
        Machine::try_from(spec).unwrap()
    }

    /// What yosys 0.70 made of whole grids: rows, columns, word, accumulator, depths of model, data, temporaries, programs,
    /// tables and FIFO; alignments, shifts, shifts of roots; scalar units; then LUT, FF, DSP and block memories.
    type Measured = (&'static str, [u32; 10], [&'static [u32]; 3], u32, [u64; 4]);
    const MEASURED: &[Measured] = &[
        ("ecp5", [1, 16, 16, 40, 256, 256, 16, 32, 512, 16], [&[16], &[0, 15, 16], &[16]], 0, [15_651, 8_638, 18, 46]),
        ("ecp5", [1, 4, 16, 36, 16, 16, 16, 16, 512, 32], [&[16], &[0, 15, 16], &[16]], 1, [9_780, 6_753, 7, 7]),
        (
            "xcup",
            [16, 32, 16, 48, 1024, 512, 32, 16, 512, 32],
            [&[0, 14, 15, 16], &[0, 12, 15, 16], &[0, 16]],
            0,
            [118_426, 83_291, 878, 1_041],
        ),
        (
            "xcup",
            [16, 32, 16, 36, 1024, 512, 16, 16, 512, 32],
            [&[16], &[0, 15, 16], &[16]],
            0,
            [97_950, 81_969, 878, 1_041],
        ),
        ("xcup", [4, 8, 16, 36, 1024, 512, 16, 16, 512, 32], [&[16], &[0, 15, 16], &[16]], 0, [11_069, 11_106, 59, 69]),
        ("xcup", [4, 8, 8, 20, 1024, 512, 16, 16, 512, 32], [&[8], &[0, 7, 8], &[8]], 0, [7_664, 7_893, 59, 64]),
        ("xc7", [4, 8, 16, 36, 1024, 512, 16, 16, 512, 32], [&[16], &[0, 15, 16], &[16]], 0, [17_058, 15_262, 37, 69]),
        ("xc7", [4, 8, 8, 20, 1024, 512, 16, 16, 512, 32], [&[8], &[0, 7, 8], &[8]], 0, [11_165, 10_769, 37, 64]),
    ];

    #[test]
    fn estimates_are_near_what_yosys_makes() {
        let near = |estimate: u64, measured: u64, percent: u64| estimate.abs_diff(measured) * 100 <= percent * measured;
        for &(family, parameters, amounts, scalars, [lut, ff, dsp, bram]) in MEASURED {
            let [alignments, shifts, root_shifts] = amounts.map(|list| Amounts::of(list.iter().copied()));
            let scalar = Some(scalars > 0);
            let spec =
                MachineSpec { alignments, shifts, root_shifts, scalar, ..MachineSpec::from(machine(parameters)) };
            let machine = Machine::try_from(spec).unwrap();
            let found = estimate(&machine, Family::named(family));
            let percent = if family == "ecp5" { 20 } else { 5 };
            assert!(near(found.lut, lut, percent) && near(found.ff, ff, percent), "{family} {machine}: {found:?}, {lut} {ff}");
            assert!(
                near(found.dsp, dsp, 10) && near(found.bram, bram, 10),
                "{family} {machine}: {found:?}, {dsp} {bram}"
            );
        }
    }

    /// By hand: of a tree of 8 terms two groups of four are two blocks each and their pair is one, of 4 terms there are two. In look-up tables they are
    /// 31 nodes of 36 bits.
    #[test]
    fn trees_of_blocks_give_way_where_multipliers_are_few() {
        let xcup = Family::named("xcup").unwrap();
        let machine = machine([4, 8, 16, 36, 64, 64, 16, 16, 512, 32]);
        let found = estimate(&machine, Some(xcup));
        let has = |dsp| Resources { lut: 99_999, ff: 99_999, dsp, bram: 999, lutram: 0, spram: 0 };
        let [enough, few] = [found.dsp, found.dsp - 1].map(has);
        let (kept, without) = (found.within(&enough), found.within(&few));
        assert_eq!(kept, found);
        assert_eq!((found.dsp - without.dsp, without.lut - found.lut), (4 * 5 + 2, 31 * 36));
        let named = |has| leaves(&machine, xcup, has).adder.is_some();
        assert_eq!((named(&enough), named(&few)), (true, false));
        assert!(lacks(&machine, xcup, &few, Microcode::Ram).is_empty());
    }

    /// What yosys 0.70 made of whole grids: `RAM16SDP4` and `TRELLIS_DPR16X4`, which nextpnr refuses where a device has fewer.
    #[test]
    fn groups_of_tables_are_near_what_yosys_makes() {
        let cases = [
            ("gw2a", [1, 8, 16, 39, 2048, 128, 64, 32, 512, 16], Microcode::Ram, 660),
            ("gw2a", [1, 8, 16, 36, 64, 64, 16, 16, 512, 16], Microcode::Ram, 368),
            ("gw1n", [1, 4, 16, 36, 64, 64, 16, 32, 512, 16], Microcode::Rom, 100),
            ("ecp5", [8, 8, 16, 36, 16, 16, 16, 16, 512, 32], Microcode::Ram, 1455),
            ("ecp5", [2, 8, 16, 36, 16, 16, 16, 16, 512, 32], Microcode::Ram, 492),
        ];
        for (family, parameters, microcode, groups) in cases {
            let found = estimate_of(&machine(parameters), Family::named(family).unwrap(), microcode).lutram;
            assert!(found.abs_diff(groups) * 100 <= 5 * groups, "{family} {parameters:?}: {found}, {groups}");
        }
    }

    /// By hand, on 2 rows of 8 PEs: 16 bits of 512 words and 39 of 256 are one and two block memories for each PE, or four and nine for a row of 128
    /// and 312 bits. Temporaries of 64 words are tables, which they stay where that is asked for: 16 groups of six, and three multiplexers of 16.
    #[test]
    fn pads_in_rows_fill_block_memories() {
        let costs = &Family::named("ecp5").unwrap().facts().estimate;
        let pads = |pads_in_rows, block_depth, partial_sums| {
            let spec = MachineSpec {
                pus: Some(2),
                accumulator: Some(39),
                model_depth: Some(512),
                data_depth: Some(256),
                temporary_depth: Some(64),
                gradient_depth: Some(256),
                block_depth: Some(block_depth),
                pads_in_rows: Some(pads_in_rows),
                partial_sums: Some(partial_sums),
                ..MachineSpec::default()
            };
            let held = pads(&Machine::try_from(spec).unwrap(), costs);
            (held.blocks, held.tables)
        };
        let temporaries = 2 * 16 * (96 + 48);
        assert_eq!(pads(false, 0, false), (16 * (1 + 1 + 2), temporaries));
        assert_eq!(pads(true, 65, false), (2 * (4 + 4 + 9), temporaries));
        assert_eq!(pads(true, 0, false), (2 * (4 + 4 + 4 + 4 + 9), 0));
        // Sums that come back to single PEs have pads of their own.
        assert_eq!(pads(true, 65, true).0, 2 * (4 + 4 + 8 * 2));
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let ecp5 = Family::named("ecp5").unwrap();
        let has = Resources { lut: 24_288, ff: 24_288, dsp: 28, bram: 56, lutram: 0, spram: 0 };
        let sixteen = machine([1, 16, 16, 40, 256, 256, 16, 32, 512, 16]);
        assert!(lacks(&sixteen, ecp5, &has, Microcode::Ram).is_empty());
        let sixty_four = machine([8, 8, 16, 40, 256, 256, 16, 32, 512, 16]);
        let lacks = lacks(&sixty_four, ecp5, &has, Microcode::Ram);
        assert!(lacks.len() >= 3 && lacks[0].contains("LUT of 24288"), "{lacks:?}");
    }

    /// By hand: of 16 words of 16 bits, 8,192 rows take 128 block memories of 2 bits each, and 1,024 rows 16 of 16 bits. One in 16 of all stays free.
    #[test]
    fn a_store_takes_what_is_left_over() {
        let ecp5 = Family::named("ecp5").unwrap();
        let grid = machine([8, 8, 16, 36, 16, 16, 16, 16, 512, 32]);
        let rows = |bram: u64| {
            let taken = estimate(&grid, Some(ecp5)).bram;
            let has = Resources { lut: 83_640, ff: 83_640, dsp: 156, bram: taken + bram, lutram: 0, spram: 0 };
            store_rows(&grid, ecp5, &has, Microcode::Ram)
        };
        assert_eq!((rows(0), rows(160)), (0, 8192 + 1024));
    }

    /// By hand, of memories of 16 bits: rows of one word take one for each 16,384, rows of three words three.
    #[test]
    fn large_memories_hold_a_store() {
        let rows = |lanes: u32, spram: u64| {
            let lanes = Some(lanes);
            let (pus, word) = (Some(1), Some(16));
            let spec = MachineSpec { pus, pes_per_pu: lanes, word, stream_words: lanes, ..MachineSpec::default() };
            let has = Resources { lut: 5280, ff: 5280, dsp: 8, bram: 30, lutram: 0, spram };
            large_store_rows(&Machine::try_from(spec).unwrap(), &has)
        };
        assert_eq!([rows(1, 0), rows(1, 1), rows(1, 3), rows(1, 4)], [0, 16_384, 49_152, 65_536]);
        assert_eq!([rows(3, 2), rows(3, 4), rows(2, 4)], [0, 16_384, 32_768]);
    }

    /// docs/store.md: beside two PEs of an iCEBreaker a store does not fit, beside one it does.
    #[test]
    fn a_store_takes_logic() {
        let ice40 = Family::named("ice40").unwrap();
        let has = Resources { lut: 5280, ff: 5280, dsp: 8, bram: 30, lutram: 0, spram: 4 };
        let fits = |pes: u32, temporary: u32, program: u32, permutes: bool| {
            let stream_words = Some(1);
            let grid = machine([1, pes, 16, 32, 64, 64, temporary, program, 256, 16]);
            let amounts = Amounts::of([0, 14, 15, 16]);
            let shifts = MachineSpec { alignments: amounts, shifts: amounts, root_shifts: amounts, ..grid.into() };
            let grid = Machine::try_from(MachineSpec { stream_words, ..shifts }).unwrap();
            has_logic_for_store(&grid, ice40, &has, Microcode::Rom, permutes)
        };
        assert_eq!([fits(2, 16, 32, false), fits(2, 16, 32, true)], [false, false]);
        assert!(fits(1, 32, 64, false));
    }

    /// Grids in `configs/` fit their boards, by estimate.
    #[test]
    fn board_configs_fit_their_boards() {
        for name in ["ulx3s", "ulx3s-25f", "icebreaker", "tangnano9k", "tangnano20k", "zcu102"] {
            let path = crate::library::find_config(std::path::Path::new(name)).unwrap();
            let source = crate::library::read(&path).unwrap();
            let config = crate::config::Config::parse(&source).unwrap();
            let board = crate::board::ChosenBoard::find(&config.board, &path, &source).unwrap();
            let facts = board.facts().unwrap();
            // Depths and shifters that follow from the program are small.
            let spec = MachineSpec {
                temporary_depth: config.spec.temporary_depth.or(Some(16)),
                program_depth: config.spec.program_depth.or(Some(32)),
                alignments: config.spec.alignments.or(Amounts::of([0, 14, 15, 16])),
                shifts: config.spec.shifts.or(Amounts::of([0, 14, 15, 16])),
                ..config.spec
            };
            let machine = Machine::try_from(spec).unwrap();
            let lacks = lacks(&machine, facts.device.family(), &facts.resources, config.build.microcode);
            assert!(lacks.is_empty(), "{name}: {lacks:?}");
            // With as many PUs as fit there are no fewer.
            let rows = format!("pus = {}\n", machine.pus());
            assert!(source.text.contains(&rows), "{name}");
            let source = crate::failure::Source { text: source.text.replace(&rows, "pus = \"auto\"\n"), ..source };
            let config = crate::config::Config::parse(&source).unwrap();
            let filled = board.fill(&config.spec, config.build.microcode, &source).unwrap();
            assert!(filled.pus() >= machine.pus(), "{name}: {filled}");
        }
    }
}
