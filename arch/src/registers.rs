//! The control port's map: one table for the RTL, the simulators, drivers and the manual.

use crate::amounts::Amounts;
use crate::machine::{Machine, MachineSpec};

/// Address bits of the control port.
pub const ADDRESS_BITS: u32 = 20;

/// Regions: address bits 19..16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// The registers below.
    Registers = 0,
    /// Program of the alu stream: instruction * 32 + chunk.
    Alu = 1,
    /// Program of the root stream.
    Root = 2,
    /// Program of the move stream.
    Move = 3,
    /// Program of the load stream.
    Load = 4,
    /// Function tables: entry * 4 + chunk.
    Tables = 5,
    /// Program of the scalar stream.
    Scalar = 6,
}

impl Region {
    /// All of them, with what they hold: the tables of docs/registers.md, and what a shell lets through.
    pub const ALL: [(Region, &'static str); 7] = [
        (Region::Registers, "registers"),
        (Region::Alu, "program of the alu stream"),
        (Region::Root, "program of the root stream"),
        (Region::Move, "program of the move stream"),
        (Region::Load, "program of the load stream"),
        (Region::Tables, "function tables"),
        (Region::Scalar, "program of the scalar stream, where there is a scalar unit"),
    ];

    /// First address of the region.
    pub fn base(self) -> u32 {
        (self as u32) << REGION_BITS
    }

    /// Whether it holds a program.
    pub fn is_program(self) -> bool {
        self.chunks() == INSTRUCTION_CHUNKS
    }

    /// Address of an instruction of the program in this region. [`REGION_INSTRUCTIONS`] of them fill it; the others lie [`UPPER`] regions
    /// further.
    pub fn instruction(self, number: u32) -> u32 {
        let (half, within) = (number / REGION_INSTRUCTIONS, number % REGION_INSTRUCTIONS);
        self.base() + ((half * UPPER) << REGION_BITS) + within * INSTRUCTION_CHUNKS
    }

    /// The program that an address belongs to, the number of its instruction there, and the chunk.
    pub fn program_of(address: u32) -> Option<(Region, u32, u32)> {
        let (number, low) = (address >> REGION_BITS, address % (1 << REGION_BITS));
        let region =
            Region::ALL.into_iter().map(|(region, _)| region).find(|region| *region as u32 == number % UPPER)?;
        let instruction = number / UPPER * REGION_INSTRUCTIONS + low / INSTRUCTION_CHUNKS;
        region.is_program().then_some((region, instruction, low % INSTRUCTION_CHUNKS))
    }

    /// Words reserved for each instruction or entry; a register is one word.
    pub fn chunks(self) -> u32 {
        match self {
            Region::Registers => 1,
            Region::Tables => ENTRY_CHUNKS,
            Region::Alu | Region::Root | Region::Move | Region::Load | Region::Scalar => INSTRUCTION_CHUNKS,
        }
    }
}

/// Address bits within a region.
pub const REGION_BITS: u32 = 16;
/// Instructions that a region holds.
pub const REGION_INSTRUCTIONS: u32 = (1 << REGION_BITS) / INSTRUCTION_CHUNKS;
/// From the region of a program to that of its further instructions.
pub const UPPER: u32 = 8;
/// Instructions of the longest program.
pub const MOST_INSTRUCTIONS: u32 = 2 * REGION_INSTRUCTIONS;
/// Chunks (32 bits) reserved per instruction.
pub const INSTRUCTION_CHUNKS: u32 = 32;
/// Chunks (32 bits) reserved per table entry.
pub const ENTRY_CHUNKS: u32 = 4;

/// Write: bit 0 start, bit 1 load the model first, bit 2 emit the model at the end, bit 3 abort, bit 4 go on with the batch.
/// Read: bit 0 busy, bit 1 done (until the next start), bit 2 saturated (until the next start).
pub const CONTROL: u32 = 0x00;
/// Steps of a run.
pub const STEPS: u32 = 0x01;
/// Cycles of the run, low 32 bits (read only).
pub const CYCLES_LOW: u32 = 0x02;
/// Cycles of the run, high 32 bits (read only).
pub const CYCLES_HIGH: u32 = 0x03;
/// Cycles of one step.
pub const STEP_LENGTH: u32 = 0x04;
/// Entry of the step in the alu program. All entries: bit 31 enable, bits 15..0 instruction number.
pub const ENTRY_STEP_ALU: u32 = 0x05;
/// Entry of the step in the root program.
pub const ENTRY_STEP_ROOT: u32 = 0x06;
/// Entry of the step in the move program.
pub const ENTRY_STEP_MOVE: u32 = 0x07;
/// Entry of one step's input in the load program.
pub const ENTRY_STEP_LOAD: u32 = 0x08;
/// Entry of the emission after each step in the alu program.
pub const ENTRY_EMIT_STEP: u32 = 0x09;
/// Entry of the emission of the model in the alu program.
pub const ENTRY_EMIT_MODEL: u32 = 0x0a;
/// Entry of the model's input in the load program.
pub const ENTRY_LOAD_MODEL: u32 = 0x0b;
/// Steps that make one batch; 0 counts as 1. Only on grids with gradient pads.
pub const TILES: u32 = 0x0c;
/// Entry of the step in the scalar program. Only on grids with a scalar unit.
pub const ENTRY_STEP_SCALAR: u32 = 0x0d;
/// What is left of a step, and [`crate::timing::TILE_END`] cycles, when a tile that is not the last one of its batch ends; 0: it does
/// not end before the others. Only on grids with gradient pads.
pub const TILE_END: u32 = 0x0e;
/// Read only: [`IDENTITY_VALUE`].
pub const IDENTITY: u32 = 0x10;
/// Read only: pus in bits 31..16, `pes_per_pu` in bits 15..0.
pub const GRID: u32 = 0x11;
/// Read only: word in bits 22..16, loops of an instruction less [`FEWEST_LOOPS`] in bits 9..8, accumulator in bits 7..0.
pub const WIDTHS: u32 = 0x12;
/// Lowest bit of [`WIDTHS`] that says how many loops an instruction has.
const LOOPS_LSB: u32 = 8;
/// Loops that an instruction has on every machine.
pub const FEWEST_LOOPS: u32 = 4;
/// Bit of [`WIDTHS`] that says whether pads have output registers.
pub const PAD_REGISTER_BIT: u32 = 31;
/// Bit of [`WIDTHS`] that says whether sums of a batch leave and come back.
pub const PARTIAL_SUMS_BIT: u32 = 30;
/// Bit of [`WIDTHS`] that says whether PEs square differences.
pub const SQUARES_BIT: u32 = 25;
/// Bit of [`WIDTHS`] that says whether negative results become 0.
pub const RECTIFIERS_BIT: u32 = 23;
/// Bit of [`WIDTHS`] that says whether positive results have limits.
pub const LIMITS_BIT: u32 = 10;
/// Bit of [`WIDTHS`] that says whether the results of rows go to columns.
pub const COLUMN_BUSES_BIT: u32 = 24;
/// Lowest bit of [`WIDTHS`] that says in how many transfers an emitting beat leaves at most: their log2, 4 bits.
pub const TRANSFERS_LSB: u32 = 26;

/// Read only: the depths: model in bits 7..0, data in 15..8, temporary in 23..16, program in 31..24. Of each, bits 4..0 are its log2, rounded down,
/// and bits 7..5 are the eighths of that power of two by which it is larger.
pub const DEPTHS: u32 = 0x13;
/// Lowest bit of the eighths of a depth in [`DEPTHS`].
const EIGHTHS_LSB: u32 = 5;
/// Read only: words of a beat in bits 7..0, log2 of the output FIFO in 15..8, log2 of the table entries in 23..16
/// (0 = none), bit 24: there are dividers, bit 25: accumulators and trees compare, bit 26: there is a scalar unit, log2 of the
/// gradient pads' depth in 31..27 (0 = none).
pub const STREAMS: u32 = 0x14;
/// Read only: bit n says whether PEs shift the start of a sum to the left by n places; low half, then high half.
pub const ALIGNMENTS: [u32; 2] = [0x16, 0x17];
/// Read only: bit n says whether PEs shift a sum to the right by n places; low half, then high half.
pub const SHIFTS: [u32; 2] = [0x18, 0x19];
/// Read only: bit n says whether roots shift a sum to the right by n places; low half, then high half.
pub const ROOT_SHIFTS: [u32; 2] = [0x1a, 0x1b];

/// Read only: which image is part of this grid ([`crate::Image::identity`]); 0: none, programs are loaded.
pub const IMAGE: u32 = 0x15;

/// Lowest bit of the gradient pads' depth in [`STREAMS`].
const GRADIENT_LSB: u32 = 27;

/// Value of [`IDENTITY`].
pub const IDENTITY_VALUE: u32 = 0x5441_0002;
/// Bit 0 of [`CONTROL`], written.
pub const START: u32 = 1;
/// Bit 1 of [`CONTROL`], written.
pub const START_LOAD_MODEL: u32 = 2;
/// Bit 2 of [`CONTROL`], written.
pub const START_EMIT_MODEL: u32 = 4;
/// Bit 3 of [`CONTROL`], written.
pub const ABORT: u32 = 8;
/// Bit 4 of [`CONTROL`], written: the first step is no first tile. Only on grids that hand out sums.
pub const START_GO_ON: u32 = 16;
/// Bit 0 of [`CONTROL`], read.
pub const BUSY: u32 = 1;
/// Bit 1 of [`CONTROL`], read.
pub const DONE: u32 = 2;
/// Bit 2 of [`CONTROL`], read.
pub const SATURATED: u32 = 4;
/// Enable bit of an entry register.
pub const ENTRY_ENABLE: u32 = 1 << 31;

/// Who may do what with a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write.
    ReadWrite,
    /// Read only.
    Read,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// Number in region 0.
    pub number: u32,
    /// Name in drivers and on pages.
    pub name: &'static str,
    /// Access.
    pub access: Access,
    /// What it holds.
    pub meaning: &'static str,
}

const fn register(number: u32, name: &'static str, access: Access, meaning: &'static str) -> Register {
    Register { number, name, access, meaning }
}

/// Every register, in the order of their numbers.
pub const REGISTERS: &[Register] = {
    use Access::{Read, ReadWrite};
    &[
        register(
            CONTROL,
            "control",
            ReadWrite,
            "write: bit 0 start, bit 1 load the model first, bit 2 emit the model at the end, bit 3 abort, bit 4 go on with the batch; read: bit 0 busy, bit 1 done, bit 2 saturated",
        ),
        register(STEPS, "steps", ReadWrite, "steps of a run"),
        register(CYCLES_LOW, "cycles_low", Read, "cycles of the run, low half"),
        register(CYCLES_HIGH, "cycles_high", Read, "cycles of the run, high half"),
        register(STEP_LENGTH, "step_length", ReadWrite, "cycles of one step"),
        register(ENTRY_STEP_ALU, "entry_step_alu", ReadWrite, "where the step starts in the alu program"),
        register(ENTRY_STEP_ROOT, "entry_step_root", ReadWrite, "where the step starts in the root program"),
        register(ENTRY_STEP_MOVE, "entry_step_move", ReadWrite, "where the step starts in the move program"),
        register(ENTRY_STEP_LOAD, "entry_step_load", ReadWrite, "input of one step, in the load program"),
        register(ENTRY_EMIT_STEP, "entry_emit_step", ReadWrite, "emission after each step, in the alu program"),
        register(ENTRY_EMIT_MODEL, "entry_emit_model", ReadWrite, "emission of the model, in the alu program"),
        register(ENTRY_LOAD_MODEL, "entry_load_model", ReadWrite, "input of the model, in the load program"),
        register(TILES, "tiles", ReadWrite, "steps that make one batch, 0 counts as 1; only with gradient pads"),
        register(
            ENTRY_STEP_SCALAR,
            "entry_step_scalar",
            ReadWrite,
            "where the step starts in the scalar program; only with a scalar unit",
        ),
        register(
            TILE_END,
            "tile_end",
            ReadWrite,
            "cycles of a step that only the last tile of a batch has, and 3; 0: all tiles are equally long; only with gradient pads",
        ),
        register(IDENTITY, "identity", Read, "0x54410002"),
        register(GRID, "grid", Read, "pus in bits 31..16, pes_per_pu in bits 15..0"),
        register(
            WIDTHS,
            "widths",
            Read,
            "1 if pads have output registers (31), 1 if sums of a batch leave and come back (30), log2 of the most transfers in which an emitting beat leaves in bits 29..26, 1 if PEs square differences (25), 1 if rows have buses to the columns (24), 1 if negative results become 0 (23), word in bits 22..16, 1 if limits (10), loops of an instruction less 4 in bits 9..8, accumulator in bits 7..0",
        ),
        register(
            DEPTHS,
            "depths",
            Read,
            "depths: model in bits 7..0, data in 15..8, temporary in 23..16, program in 31..24; of each log2 in bits 4..0, eighths more in 7..5",
        ),
        register(
            STREAMS,
            "streams",
            Read,
            "words of an input beat in bits 7..0, log2 of the beats of the output FIFO in 11..8, log2 of the words of an output beat in 15..12, log2 of the table entries in 23..16 (0 = no tables), bit 24: there are dividers, bit 25: accumulators and trees compare, bit 26: there is a scalar unit, log2 of the gradient pads' depth in 31..27 (0 = none)",
        ),
        register(
            IMAGE,
            "image",
            Read,
            "the program that is part of this grid, where programs, tables, entries and step_length cannot be written; 0: none, they can",
        ),
        register(ALIGNMENTS[0], "alignments_low", Read, "bit n: PEs shift the start of a sum to the left by n places"),
        register(ALIGNMENTS[1], "alignments_high", Read, "the same for 32 + n places"),
        register(SHIFTS[0], "shifts_low", Read, "bit n: PEs shift a sum to the right by n places"),
        register(SHIFTS[1], "shifts_high", Read, "the same for 32 + n places"),
        register(ROOT_SHIFTS[0], "root_shifts_low", Read, "bit n: roots shift a sum to the right by n places"),
        register(ROOT_SHIFTS[1], "root_shifts_high", Read, "the same for 32 + n places"),
    ]
};

/// Whether a machine has this register and keeps what is written to it.
pub fn is_held(machine: &Machine, number: u32) -> bool {
    let exists = match number {
        CONTROL => false,
        TILES | TILE_END => machine.gradient_depth() > 0,
        ENTRY_STEP_SCALAR => machine.scalar(),
        _ => true,
    };
    exists && REGISTERS.iter().any(|register| register.number == number && register.access == Access::ReadWrite)
}

/// Numbers of the registers that say what grid this is.
pub const DESCRIPTION: [u32; 11] = [
    IDENTITY,
    GRID,
    WIDTHS,
    DEPTHS,
    STREAMS,
    ALIGNMENTS[0],
    ALIGNMENTS[1],
    SHIFTS[0],
    SHIFTS[1],
    ROOT_SHIFTS[0],
    ROOT_SHIFTS[1],
];

/// The registers that say what grid this is: numbers and values.
pub fn description(machine: &Machine) -> [(u32, u32); DESCRIPTION.len()] {
    let log2 = |depth: u32| depth.checked_ilog2().unwrap_or(0);
    let depths = [machine.model_depth(), machine.data_depth(), machine.temporary_depth(), machine.program_depth()];
    let eighths = |depth: u32| depth.checked_ilog2().map_or(0, |log2| ((8 * u64::from(depth)) >> log2) as u32 - 8);
    let low = |amounts: Amounts| amounts.bits() as u32;
    let high = |amounts: Amounts| (amounts.bits() >> 32) as u32;
    let value = |number: u32| match number {
        IDENTITY => IDENTITY_VALUE,
        GRID => machine.pus() << 16 | machine.pes_per_pu(),
        WIDTHS => {
            u32::from(machine.pad_register()) << PAD_REGISTER_BIT
                | u32::from(machine.partial_sums()) << PARTIAL_SUMS_BIT
                | u32::from(machine.squares()) << SQUARES_BIT
                | u32::from(machine.column_buses()) << COLUMN_BUSES_BIT
                | u32::from(machine.rectifiers()) << RECTIFIERS_BIT
                | machine.most_transfers().ilog2() << TRANSFERS_LSB
                | machine.word() << 16
                | u32::from(machine.limits()) << LIMITS_BIT
                | (machine.loops() - FEWEST_LOOPS) << LOOPS_LSB
                | machine.accumulator()
        }
        DEPTHS => depths.iter().rev().fold(0, |value, &depth| value << 8 | log2(depth) | eighths(depth) << EIGHTHS_LSB),
        STREAMS => {
            machine.stream_words()
                | log2(machine.output_fifo()) << 8
                | log2(machine.output_words()) << 12
                | log2(machine.table_entries()) << 16
                | u32::from(machine.divider()) << 24
                | u32::from(machine.extremes()) << 25
                | u32::from(machine.scalar()) << 26
                | log2(machine.gradient_depth()) << GRADIENT_LSB
        }
        _ if number == ALIGNMENTS[0] => low(machine.alignments()),
        _ if number == ALIGNMENTS[1] => high(machine.alignments()),
        _ if number == SHIFTS[0] => low(machine.shifts()),
        _ if number == SHIFTS[1] => high(machine.shifts()),
        _ if number == ROOT_SHIFTS[0] => low(machine.root_shifts()),
        _ => high(machine.root_shifts()),
    };
    DESCRIPTION.map(|number| (number, value(number)))
}

/// The grid that these registers describe. `None` when it is not a grid of ours.
pub fn described(read: impl Fn(u32) -> u32) -> Option<Machine> {
    if read(IDENTITY) != IDENTITY_VALUE {
        return None;
    }
    let halves = |value: u32| (Some(value >> 16), Some(value & 0xffff));
    let log2 = |register: u32, byte: u32| Some(1u32.checked_shl(register >> (8 * byte) & 0xff).unwrap_or(0));
    let has = |bit: u32| Some(read(WIDTHS) >> bit & 1 == 1);
    let (pus, pes_per_pu) = halves(read(GRID));
    let (accumulator, more_loops) = (read(WIDTHS) & 0xff, read(WIDTHS) >> LOOPS_LSB & 3);
    let word = Some(read(WIDTHS) >> 16 & ((1 << (RECTIFIERS_BIT - 16)) - 1));
    let (depths, streams) = (read(DEPTHS), read(STREAMS));
    let depth = |byte: u32| {
        let field = depths >> (8 * byte) & 0xff;
        let (log2, eighths) = (field & ((1 << EIGHTHS_LSB) - 1), field >> EIGHTHS_LSB);
        Some((u64::from(8 + eighths) << log2 >> 3) as u32)
    };
    let output_words = 1 << (streams >> 12 & 0xf);
    let transfers_log2 = read(WIDTHS) >> TRANSFERS_LSB & 0xf;
    let amounts = |[low, high]: [u32; 2]| Amounts::from_bits(u64::from(read(low)) | u64::from(read(high)) << 32);
    let spec = MachineSpec {
        pus,
        pes_per_pu,
        word,
        accumulator: Some(accumulator),
        loops: Some(FEWEST_LOOPS + more_loops),
        stream_words: Some(streams & 0xff),
        model_depth: depth(0),
        data_depth: depth(1),
        temporary_depth: depth(2),
        program_depth: depth(3),
        table_entries: if streams.to_le_bytes()[2] == 0 { Some(0) } else { log2(streams, 2) },
        output_words: Some(output_words),
        emit_words: Some(if transfers_log2 == 0 { 0 } else { output_words << transfers_log2 }),
        output_fifo: Some(1 << (streams >> 8 & 0xf)),
        divider: Some(streams >> 24 & 1 == 1),
        extremes: Some(streams >> 25 & 1 == 1),
        scalar: Some(streams >> 26 & 1 == 1),
        pad_register: has(PAD_REGISTER_BIT),
        partial_sums: has(PARTIAL_SUMS_BIT),
        squares: has(SQUARES_BIT),
        column_buses: has(COLUMN_BUSES_BIT),
        rectifiers: has(RECTIFIERS_BIT),
        limits: has(LIMITS_BIT),
        gradient_depth: Some(1u32 << (streams >> GRADIENT_LSB)).filter(|&depth| depth > 1).or(Some(0)),
        alignments: Some(amounts(ALIGNMENTS)?),
        shifts: Some(amounts(SHIFTS)?),
        root_shifts: Some(amounts(ROOT_SHIFTS)?),
        // What no program sees has no register.
        ..MachineSpec::default()
    };
    Machine::try_from(spec).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_complete() {
        assert!(REGISTERS.windows(2).all(|pair| pair[0].number < pair[1].number));
        assert!(
            REGISTERS.iter().find(|r| r.number == IDENTITY).unwrap().meaning.contains(&format!("{IDENTITY_VALUE:#x}"))
        );
    }

    #[test]
    fn instructions_have_addresses_of_their_own() {
        let programs = Region::ALL.into_iter().map(|(region, _)| region).filter(|region| region.is_program());
        let mut seen = std::collections::BTreeSet::new();
        for region in programs {
            for number in [0, 1, 2047, 2048, 2049, MOST_INSTRUCTIONS - 1] {
                let address = region.instruction(number) + 3;
                assert!(address < 1 << ADDRESS_BITS && seen.insert(address), "{region:?} {number}");
                assert_eq!(Region::program_of(address), Some((region, number, 3)));
            }
        }
        assert_eq!(Region::Alu.instruction(2048), 0x9_0000);
        for address in [0, CONTROL, Region::Tables.base(), 0x7_0000, 0x8_0000, 0xd_0000, 0xf_ffff] {
            assert_eq!(Region::program_of(address), None, "{address:#x}");
        }
    }

    /// A match without a default: a new region does not compile before it has its row.
    #[test]
    fn every_region_has_a_row() {
        let row = |region: Region| match region {
            Region::Registers => 0,
            Region::Alu => 1,
            Region::Root => 2,
            Region::Move => 3,
            Region::Load => 4,
            Region::Tables => 5,
            Region::Scalar => 6,
        };
        assert!(Region::ALL.iter().enumerate().all(|(n, (region, _))| row(*region) == n && *region as usize == n));
    }

    #[test]
    fn a_square_grid_describes_its_buses() {
        let spec = MachineSpec { pus: Some(8), pes_per_pu: Some(8), word: Some(32), ..MachineSpec::default() };
        for column_buses in [false, true] {
            let machine = Machine::try_from(MachineSpec { column_buses: Some(column_buses), ..spec.clone() }).unwrap();
            let values = description(&machine);
            let read = |number| values.iter().find(|(at, _)| *at == number).map_or(0, |(_, value)| *value);
            assert_eq!(described(read), Some(machine));
        }
    }

    #[test]
    fn a_grid_describes_itself() {
        for table_entries in [0, 64, 1024] {
            let spec = MachineSpec {
                pus: Some(12),
                pes_per_pu: Some(5),
                word: Some(24),
                stream_words: Some(5),
                output_words: Some(if table_entries == 64 { 4 } else { 1 }),
                emit_words: Some(if table_entries == 0 { 4 } else { 0 }),
                model_depth: Some(1 << 16),
                table_entries: Some(table_entries),
                divider: Some(table_entries > 64),
                extremes: Some(table_entries == 64),
                scalar: Some(table_entries == 0),
                squares: Some(table_entries == 64),
                gradient_depth: Some(table_entries << 6),
                partial_sums: Some(table_entries == 1024),
                shifts: Amounts::of([0, 31, 32, 63]),
                root_shifts: Amounts::of([table_entries >> 5]),
                ..MachineSpec::default()
            };
            let machine = Machine::try_from(spec).unwrap();
            let values = description(&machine);
            let read = |number| values.iter().find(|(at, _)| *at == number).map_or(0, |(_, value)| *value);
            assert_eq!(described(read), Some(machine));
            assert_eq!(described(|number| if number == IDENTITY { 0 } else { read(number) }), None);
            assert_eq!(described(|number| if number == GRID { 0 } else { read(number) }), None);
            assert_eq!(described(|number| if number == IDENTITY { IDENTITY_VALUE } else { u32::MAX }), None);
        }
    }
}
