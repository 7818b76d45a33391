//! Control port: the registers of [`arch::registers`], and the way into programs and tables.

use crate::beats::{CHUNK_BITS, ENTRY_CHUNK_BITS, INSTRUCTION_CHUNK_BITS, Widths};
use crate::rtl::emit::IN_PLACE;
use crate::rtl::fixed::Fixed;
use crate::rtl::signal::{GetBit, Wide};
use arch::Machine;
use arch::registers::{self, ADDRESS_BITS, REGION_INSTRUCTIONS, Region};
use arch::timing::CONTROL_READ;
use blocks::block;
use rust_hdl_core::prelude::*;
use std::collections::BTreeSet;

/// Takes an address apart: `{region, index, chunk}`.
#[block(leaf)]
pub(crate) fn AddressParts(widths: &Widths) {
    let address: In<ADDRESS_BITS>;
    let region: Out<REGION_BITS>;
    let instruction: Out<{ widths.index }>;
    let instruction_chunk: Out<INSTRUCTION_CHUNK_BITS>;
    let entry: Out<{ widths.table_index }>;
    let entry_chunk: Out<ENTRY_CHUNK_BITS>;
}

pub(crate) const REGION_BITS: u32 = 4;
const REGION_LSB: u32 = ADDRESS_BITS - REGION_BITS;

impl AddressParts {
    /// Whether programs go on in further regions.
    fn is_deep(&self) -> bool {
        self.instruction.width() > REGION_INSTRUCTIONS.ilog2()
    }

    /// Region and number in Verilog: the highest bit of an address is that of the instruction, where the others are a program's.
    fn numbers(&self) -> String {
        let bits = self.instruction.width();
        if !self.is_deep() {
            return format!(
                "assign region = address[{REGION_LSB} +: {REGION_BITS}];
assign instruction = address[{INSTRUCTION_CHUNK_BITS} +: {bits}];"
            );
        }
        let top = ADDRESS_BITS - 1;
        let is =
            |(region, _): (Region, _)| format!("address[{REGION_LSB} +: {}] == {}", REGION_BITS - 1, region as u32);
        let programs: Vec<String> = Region::ALL.into_iter().filter(|(region, _)| region.is_program()).map(is).collect();
        format!(
            "wire of_program = {};
assign region = {{address[{top}] & ~of_program, address[{REGION_LSB} +: {}]}};
assign instruction = {{address[{top}], address[{INSTRUCTION_CHUNK_BITS} +: {}]}};",
            programs.join(" || "),
            REGION_BITS - 1,
            bits - 1
        )
    }
}

impl crate::rtl::Leaf for AddressParts {
    fn model(&mut self) {
        let address = self.address.val();
        let program = Region::program_of(address as u32).filter(|_| self.is_deep());
        let number = address >> INSTRUCTION_CHUNK_BITS;
        self.region.next = program.map_or(address >> REGION_LSB, |(region, ..)| i128::from(region as u32));
        self.instruction.next = program.map_or(number, |(_, number, _)| i128::from(number));
        self.instruction_chunk.next = address;
        self.entry.next = address >> ENTRY_CHUNK_BITS;
        self.entry_chunk.next = address;
    }
    fn text(&self) -> String {
        format!(
            "// address_parts: region, number and chunk of an address of the control port.
{}
assign instruction_chunk = address[0 +: {INSTRUCTION_CHUNK_BITS}];
assign entry = address[{ENTRY_CHUNK_BITS} +: {}];
assign entry_chunk = address[0 +: {ENTRY_CHUNK_BITS}];",
            self.numbers(),
            self.entry.width(),
        )
    }
}

/// Addresses of what can be read, in the order of [`ReadSelect`]'s values.
const READABLE: [u32; 26] = [
    registers::CONTROL,
    registers::STEPS,
    registers::CYCLES_LOW,
    registers::CYCLES_HIGH,
    registers::STEP_LENGTH,
    registers::ENTRY_STEP_ALU,
    registers::ENTRY_STEP_ROOT,
    registers::ENTRY_STEP_MOVE,
    registers::ENTRY_STEP_LOAD,
    registers::ENTRY_EMIT_STEP,
    registers::ENTRY_EMIT_MODEL,
    registers::ENTRY_LOAD_MODEL,
    registers::IDENTITY,
    registers::GRID,
    registers::WIDTHS,
    registers::DEPTHS,
    registers::STREAMS,
    registers::IMAGE,
    registers::ALIGNMENTS[0],
    registers::ALIGNMENTS[1],
    registers::SHIFTS[0],
    registers::SHIFTS[1],
    registers::ROOT_SHIFTS[0],
    registers::ROOT_SHIFTS[1],
    registers::TILES,
    registers::TILE_END,
];

/// The same of a grid with a scalar unit.
const READABLE_SCALAR: [u32; 1] = [registers::ENTRY_STEP_SCALAR];

/// Low bits of an address, which choose in a group of registers.
const GROUP_BITS: u32 = 2;

/// The register at an address, [`CONTROL_READ`] cycles later; 0 where there is none.
///
///     address ──▶ held, at ──▶ one of each four registers, 0 if it is none of them ──▶ or ──▶ value
///
/// Registers lie where they are used, all over the sequencer: the way from there to one place has a cycle of its own.
#[block(clock, leaf)]
fn ReadSelect(addresses: &[u32], more: &[u32]) {
    let all = [addresses, more].concat();
    let groups = all.iter().map(|at| at >> GROUP_BITS).collect::<BTreeSet<_>>();
    let address: In<ADDRESS_BITS>;
    let values: [In<CHUNK_BITS>; addresses.len()];
    let more: [In<CHUNK_BITS>; more.len()];
    let value: Out<CHUNK_BITS>;
    let held: Local<GROUP_BITS>;
    /// Whether the address is one of a group.
    let at: [Local; groups.len()];
    let group: [Local<CHUNK_BITS>; groups.len()];
    let _addresses: Vec<u32> = all;
    /// The upper bits of the addresses of each group.
    let _groups: Vec<u32> = groups.into_iter().collect();
}

impl ReadSelect {
    /// Number among `values` and `more`, and low bits of the address, of the registers of a group.
    fn registers(&self, group: u32) -> impl Iterator<Item = (usize, u32)> {
        let numbered = self._addresses.iter().copied().enumerate();
        numbered.filter(move |(_, at)| at >> GROUP_BITS == group).map(|(n, at)| (n, at % (1 << GROUP_BITS)))
    }
}

impl crate::rtl::Leaf for ReadSelect {
    fn model(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let values: Vec<i128> = self.values.iter().chain(&self.more).map(Wide::val).collect();
        let address = self.address.val();
        self.value.next = self.group.iter().fold(0, |value, group| value | group.val());
        for (g, &group) in self._groups.iter().enumerate() {
            let chosen = |&(_, low): &(usize, u32)| self.at[g].val() && i128::from(low) == self.held.val();
            let next = self.registers(group).find(chosen).map_or(0, |(n, _)| values[n]);
            self.group[g].next = next;
            self.at[g].next = address >> GROUP_BITS == i128::from(group);
        }
        self.held.next = address % (1 << GROUP_BITS);
    }
    fn text(&self) -> String {
        let mut text = format!(
            "// read_select: the register at an address of the control port, {CONTROL_READ} cycles later.\nreg [{}:0] held;\n",
            GROUP_BITS - 1
        );
        for g in 0..self._groups.len() {
            text += &format!("reg at${g};\nreg [{}:0] group${g};\n", CHUNK_BITS - 1);
        }
        text += &format!("always @(posedge clock) begin\n    held <= address[{}:0];\n", GROUP_BITS - 1);
        for (g, &group) in self._groups.iter().enumerate() {
            let (top, bits) = (ADDRESS_BITS - 1, ADDRESS_BITS - GROUP_BITS);
            text += &format!("    at${g} <= address[{top}:{GROUP_BITS}] == {bits}'d{group};\n    case (held)\n");
            let mut left = 1 << GROUP_BITS;
            for (n, low) in self.registers(group) {
                let more = n.checked_sub(self.values.len());
                let name = more.map_or(format!("values${n}"), |n| format!("more${n}"));
                text += &format!("        {GROUP_BITS}'d{low}: group${g} <= {name};\n");
                left -= 1;
            }
            if left > 0 {
                text += &format!("        default: group${g} <= {CHUNK_BITS}'d0;\n");
            }
            text += &format!("    endcase\n    if (!at${g}) group${g} <= {CHUNK_BITS}'d0;\n");
        }
        let all: Vec<String> = (0..self._groups.len()).map(|g| format!("group${g}")).collect();
        text + &format!("    value <= {};\nend", all.join(" | "))
    }
}

/// A register that the program decides; a constant where the program is part of the hardware.
#[block(clock, leaf)]
pub(crate) fn Setting(fixed: Option<u32>) {
    let d: In<CHUNK_BITS>;
    let q: Out<CHUNK_BITS>;
    let _fixed: Option<u32> = fixed;
}

impl crate::rtl::Leaf for Setting {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self._fixed.map_or(self.d.val(), i128::from);
        }
    }
    fn text(&self) -> String {
        let source = self._fixed.map_or("d".to_owned(), |value| format!("{CHUNK_BITS}'h{value:x}"));
        format!("{IN_PLACE}\nalways @(posedge clock) q <= {source};")
    }
}

/// Registers of the control port, and decoding of its regions.
#[block(clock, reset, long = "a table of registers: each is declared, written, reset and read")]
pub(crate) fn ControlRegisters(machine: &Machine, widths: &Widths) {
    let fixed = widths.fixed.as_ref();
    let setting = |number| Setting::new(fixed.and_then(|fixed| fixed.register(number)));
    let description = registers::description(machine);
    let described = |number| description.iter().find(|(at, _)| *at == number).map_or(0, |(_, value)| *value);
    let halves = [registers::ALIGNMENTS, registers::SHIFTS, registers::ROOT_SHIFTS].concat();
    let region = |region: Region| region.base() >> REGION_LSB;
    let write: In;
    let address: In<ADDRESS_BITS>;
    let data: In<CHUNK_BITS>;
    let region: In<REGION_BITS>;
    let (busy, done, saturated): In;
    let (cycles_low, cycles_high): In<CHUNK_BITS>;
    /// The registers of [`crate::control::tile_steps`]; 0 where there are none.
    let (tiles, tile_end): In<CHUNK_BITS>;
    /// The register of [`crate::control::scalar_stream`], where there is one.
    let step_scalar: [In<CHUNK_BITS>; widths.scalars];
    let read: Out<CHUNK_BITS>;
    let (start, abort): Out;
    let (steps, step_length, step_alu, step_root, step_move, step_load, emit_step): Out<CHUNK_BITS>;
    let (emit_model, load_model): Out<CHUNK_BITS>;
    let (write_alu, write_root, write_move, write_load, write_tables): Out;
    let held_steps: Register<CHUNK_BITS>;
    for (NAME, AT) in names![
        step_length STEP_LENGTH, step_alu ENTRY_STEP_ALU, step_root ENTRY_STEP_ROOT, step_move ENTRY_STEP_MOVE,
        step_load ENTRY_STEP_LOAD, emit_step ENTRY_EMIT_STEP, emit_model ENTRY_EMIT_MODEL, load_model ENTRY_LOAD_MODEL,
    ] {
        let held_NAME: State<Setting> = setting(registers::AT);
    }
    let select = ReadSelect(clock, &READABLE, &READABLE_SCALAR[..widths.scalars]);
    let status: Local<CHUNK_BITS>;
    for (NAME, AT) in names![
        control CONTROL, steps STEPS, step_length STEP_LENGTH, step_alu ENTRY_STEP_ALU, step_root ENTRY_STEP_ROOT,
        step_move ENTRY_STEP_MOVE, step_load ENTRY_STEP_LOAD, emit_step ENTRY_EMIT_STEP, emit_model ENTRY_EMIT_MODEL,
        load_model ENTRY_LOAD_MODEL,
    ] {
        let at_NAME: Const<ADDRESS_BITS> = registers::AT;
    }
    let identity: Const<CHUNK_BITS> = registers::IDENTITY_VALUE;
    let (grid, number_widths): Const<CHUNK_BITS> = (described(registers::GRID), described(registers::WIDTHS));
    let (depths, streams): Const<CHUNK_BITS> = (described(registers::DEPTHS), described(registers::STREAMS));
    let image: Const<CHUNK_BITS> = fixed.map_or(0, Fixed::identity);
    /// Alignments, shifts, shifts of roots: low half, high half.
    let amounts: [Const<CHUNK_BITS>; halves.len()] = described(halves[n as usize]);
    let (busy_bit, done_bit): Const<CHUNK_BITS> = (registers::BUSY, registers::DONE);
    let (saturated_bit, zero): Const<CHUNK_BITS> = (registers::SATURATED, 0);
    let (alu_region, root_region): Const<REGION_BITS> = (region(Region::Alu), region(Region::Root));
    let (move_region, load_region): Const<REGION_BITS> = (region(Region::Move), region(Region::Load));
    let table_region: Const<REGION_BITS> = region(Region::Tables);

    for NAME in names![steps step_length step_alu step_root step_move step_load emit_step emit_model load_model] {
        NAME = held_NAME;
    }
    read = select.value;

    start = write && address == at_control && data.get_bit(0);
    abort = write && address == at_control && data.get_bit(3);
    for STREAM in names![alu root move load] {
        write_STREAM = write && region == STREAM_region;
    }
    write_tables = write && region == table_region;

    if write {
        for NAME in names![steps step_length step_alu step_root step_move step_load emit_step emit_model load_model] {
            if address == at_NAME {
                held_NAME = data;
            }
        }
    }
    if reset {
        for NAME in names![steps step_length step_alu step_root step_move step_load emit_step emit_model load_model] {
            held_NAME = zero;
        }
    }

    status = zero;
    for FLAG in [busy, done, saturated] {
        if FLAG {
            status = status | FLAG_bit;
        }
    }
    select.address = address;
    for (N, VALUE) in names![
        0 status, 1 held_steps, 2 cycles_low, 3 cycles_high, 4 held_step_length, 5 held_step_alu, 6 held_step_root,
        7 held_step_move, 8 held_step_load, 9 held_emit_step, 10 held_emit_model, 11 held_load_model, 12 identity,
        13 grid, 14 number_widths, 15 depths, 16 streams, 17 image, 24 tiles, 25 tile_end,
    ] {
        select.values[N] = VALUE;
    }
    for (N, HALF) in names![18 0, 19 1, 20 2, 21 3, 22 4, 23 5] {
        select.values[N] = amounts[HALF];
    }
    for i in 0..step_scalar.len() {
        select.more[i] = step_scalar[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::settled;
    use arch::device::Leaves;
    use arch::machine::MachineSpec;

    #[test]
    fn an_address_is_region_number_and_chunk() {
        let mut block = AddressParts::new(&Widths::of_grid(1, 1));
        block.connect_all();
        block.address.next = 0x2_0000 + 5 * 32 + 3;
        settled(&mut block);
        assert_eq!((block.region.val(), block.instruction.val(), block.instruction_chunk.val()), (2, 5, 3));
        block.address.next = 0x5_0000 + 9 * 4 + 2;
        settled(&mut block);
        assert_eq!((block.region.val(), block.entry.val(), block.entry_chunk.val()), (5, 9, 2));
    }

    #[test]
    fn long_programs_go_on_in_further_regions() {
        let deep = MachineSpec { program_depth: Some(4096), ..MachineSpec::default() };
        let machine = Machine::try_from(deep).unwrap();
        let mut block = AddressParts::new(&Widths::new(crate::Design::Loadable(&machine), Leaves::GENERIC));
        block.connect_all();
        for (address, region, number) in
            [(Region::Root.instruction(2053), 2, 2053), (Region::Root.instruction(7), 2, 7)]
        {
            block.address.next = i128::from(address) + 3;
            settled(&mut block);
            let found = (block.region.val(), block.instruction.val(), block.instruction_chunk.val());
            assert_eq!(found, (region, number, 3));
        }
        // No second set of registers, tables or rows of a store.
        for region in [0, 5, 7] {
            block.address.next = (region + 8) << REGION_LSB;
            settled(&mut block);
            assert_eq!(block.region.val(), region + 8);
        }
    }
}
