//! Control port: the registers of [`arch::registers`], and the way into programs and tables.

use crate::beats::{CHUNK_BITS, ENTRY_CHUNK_BITS, INSTRUCTION_CHUNK_BITS, Widths};
use crate::rtl::emit::IN_PLACE;
use crate::rtl::fixed::Fixed;
use crate::rtl::register::Register;
use crate::rtl::signal::{GetBit, Number, Wide};
use crate::rtl::wiring::comment;
use arch::Machine;
use arch::registers::{self, ADDRESS_BITS, Region};
use arch::timing::CONTROL_READ;
use rust_hdl::prelude::*;
use std::collections::BTreeSet;

/// Takes an address apart: `{region, index, chunk}`.
#[derive(LogicBlock)]
pub(crate) struct AddressParts {
    pub(crate) address: Wide<In>,
    pub(crate) region: Wide<Out>,
    pub(crate) instruction: Wide<Out>,
    pub(crate) instruction_chunk: Wide<Out>,
    pub(crate) entry: Wide<Out>,
    pub(crate) entry_chunk: Wide<Out>,
}

pub(crate) const REGION_BITS: u32 = 4;
const REGION_LSB: u32 = ADDRESS_BITS - REGION_BITS;

impl AddressParts {
    pub(crate) fn new(widths: &Widths) -> Self {
        AddressParts {
            address: Wide::new(ADDRESS_BITS),
            region: Wide::new(REGION_BITS),
            instruction: Wide::new(widths.index),
            instruction_chunk: Wide::new(INSTRUCTION_CHUNK_BITS),
            entry: Wide::new(widths.table_index),
            entry_chunk: Wide::new(ENTRY_CHUNK_BITS),
        }
    }
}

impl Logic for AddressParts {
    fn update(&mut self) {
        let address = self.address.val();
        self.region.next = address >> REGION_LSB;
        self.instruction.next = address >> INSTRUCTION_CHUNK_BITS;
        self.instruction_chunk.next = address;
        self.entry.next = address >> ENTRY_CHUNK_BITS;
        self.entry_chunk.next = address;
    }
    fn connect(&mut self) {
        self.region.connect();
        self.instruction.connect();
        self.instruction_chunk.connect();
        self.entry.connect();
        self.entry_chunk.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// address_parts: region, number and chunk of an address of the control port.
assign region = address[{REGION_LSB} +: {REGION_BITS}];
assign instruction = address[{INSTRUCTION_CHUNK_BITS} +: {}];
assign instruction_chunk = address[0 +: {INSTRUCTION_CHUNK_BITS}];
assign entry = address[{ENTRY_CHUNK_BITS} +: {}];
assign entry_chunk = address[0 +: {ENTRY_CHUNK_BITS}];",
            self.instruction.width(),
            self.entry.width(),
        ))
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
#[derive(LogicBlock)]
struct ReadSelect {
    clock: Signal<In, Clock>,
    address: Wide<In>,
    values: Vec<Wide<In>>,
    more: Vec<Wide<In>>,
    value: Wide<Out>,
    held: Wide<Local>,
    /// Whether the address is one of a group.
    at: Vec<Signal<Local, Bit>>,
    group: Vec<Wide<Local>>,
    _addresses: Vec<u32>,
    /// The upper bits of the addresses of each group.
    _groups: Vec<u32>,
}

impl ReadSelect {
    fn new(addresses: &[u32], more: &[u32]) -> Self {
        let all = [addresses, more].concat();
        let groups: Vec<u32> = all.iter().map(|at| at >> GROUP_BITS).collect::<BTreeSet<_>>().into_iter().collect();
        ReadSelect {
            clock: Signal::default(),
            address: Wide::new(ADDRESS_BITS),
            values: addresses.iter().map(|_| Wide::new(CHUNK_BITS)).collect(),
            more: more.iter().map(|_| Wide::new(CHUNK_BITS)).collect(),
            value: Wide::new(CHUNK_BITS),
            held: Wide::new(GROUP_BITS),
            at: groups.iter().map(|_| Signal::default()).collect(),
            group: groups.iter().map(|_| Wide::new(CHUNK_BITS)).collect(),
            _addresses: all,
            _groups: groups,
        }
    }

    /// Number among `values` and `more`, and low bits of the address, of the registers of a group.
    fn registers(&self, group: u32) -> impl Iterator<Item = (usize, u32)> {
        let numbered = self._addresses.iter().copied().enumerate();
        numbered.filter(move |(_, at)| at >> GROUP_BITS == group).map(|(n, at)| (n, at % (1 << GROUP_BITS)))
    }
}

impl Logic for ReadSelect {
    fn update(&mut self) {
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
    fn connect(&mut self) {
        self.value.connect();
        self.held.connect();
        self.at.iter_mut().for_each(Logic::connect);
        self.group.iter_mut().for_each(Logic::connect);
    }
    fn hdl(&self) -> Verilog {
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
        Verilog::Custom(text + &format!("    value <= {};\nend", all.join(" | ")))
    }
}

/// A register that the program decides; a constant where the program is part of the hardware.
#[derive(LogicBlock)]
pub(crate) struct Setting {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) d: Wide<In>,
    pub(crate) q: Wide<Out>,
    _fixed: Option<u32>,
}

impl Setting {
    pub(crate) fn new(fixed: Option<u32>) -> Self {
        Setting { clock: Signal::default(), d: Wide::new(CHUNK_BITS), q: Wide::new(CHUNK_BITS), _fixed: fixed }
    }
}

impl Logic for Setting {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self._fixed.map_or(self.d.val(), i128::from);
        }
    }
    fn connect(&mut self) {
        self.q.connect();
    }
    fn hdl(&self) -> Verilog {
        let source = self._fixed.map_or("d".to_owned(), |value| format!("{CHUNK_BITS}'h{value:x}"));
        Verilog::Custom(format!("{IN_PLACE}\nalways @(posedge clock) q <= {source};"))
    }
}

/// The registers.
#[derive(LogicBlock)]
pub(crate) struct ControlRegisters {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) write: Signal<In, Bit>,
    pub(crate) address: Wide<In>,
    pub(crate) data: Wide<In>,
    pub(crate) region: Wide<In>,
    pub(crate) busy: Signal<In, Bit>,
    pub(crate) done: Signal<In, Bit>,
    pub(crate) saturated: Signal<In, Bit>,
    pub(crate) cycles_low: Wide<In>,
    pub(crate) cycles_high: Wide<In>,
    /// The registers of [`crate::control::tile_steps`]; 0 where there are none.
    pub(crate) tiles: Wide<In>,
    pub(crate) tile_end: Wide<In>,
    /// The register of [`crate::control::scalar_stream`], where there is one.
    pub(crate) step_scalar: Vec<Wide<In>>,
    pub(crate) read: Wide<Out>,
    pub(crate) start: Signal<Out, Bit>,
    pub(crate) abort: Signal<Out, Bit>,
    pub(crate) steps: Wide<Out>,
    pub(crate) step_length: Wide<Out>,
    pub(crate) step_alu: Wide<Out>,
    pub(crate) step_root: Wide<Out>,
    pub(crate) step_move: Wide<Out>,
    pub(crate) step_load: Wide<Out>,
    pub(crate) emit_step: Wide<Out>,
    pub(crate) emit_model: Wide<Out>,
    pub(crate) load_model: Wide<Out>,
    pub(crate) write_alu: Signal<Out, Bit>,
    pub(crate) write_root: Signal<Out, Bit>,
    pub(crate) write_move: Signal<Out, Bit>,
    pub(crate) write_load: Signal<Out, Bit>,
    pub(crate) write_tables: Signal<Out, Bit>,
    held_steps: Register,
    held_step_length: Setting,
    held_step_alu: Setting,
    held_step_root: Setting,
    held_step_move: Setting,
    held_step_load: Setting,
    held_emit_step: Setting,
    held_emit_model: Setting,
    held_load_model: Setting,
    select: ReadSelect,
    status: Wide<Local>,
    at_control: Number,
    at_steps: Number,
    at_step_length: Number,
    at_step_alu: Number,
    at_step_root: Number,
    at_step_move: Number,
    at_step_load: Number,
    at_emit_step: Number,
    at_emit_model: Number,
    at_load_model: Number,
    identity: Number,
    grid: Number,
    number_widths: Number,
    depths: Number,
    streams: Number,
    image: Number,
    /// Alignments, shifts, shifts of roots: low half, high half.
    amounts: Vec<Number>,
    busy_bit: Number,
    done_bit: Number,
    saturated_bit: Number,
    zero: Number,
    alu_region: Number,
    root_region: Number,
    move_region: Number,
    load_region: Number,
    table_region: Number,
}

impl ControlRegisters {
    pub(crate) fn new(machine: &Machine, widths: &Widths) -> Self {
        let held = || Register::new(CHUNK_BITS);
        let fixed = widths.fixed.as_ref();
        let setting = |number| Setting::new(fixed.and_then(|fixed| fixed.register(number)));
        let at = |number| Number::new(number, ADDRESS_BITS);
        let value = |value| Number::new(value, CHUNK_BITS);
        let description = registers::description(machine);
        let described = |number| value(description.iter().find(|(at, _)| *at == number).map_or(0, |(_, value)| *value));
        let region = |region: Region| Number::new(region.base() >> REGION_LSB, REGION_BITS);
        ControlRegisters {
            clock: Signal::default(),
            reset: Signal::default(),
            write: Signal::default(),
            address: Wide::new(ADDRESS_BITS),
            data: Wide::new(CHUNK_BITS),
            region: Wide::new(REGION_BITS),
            busy: Signal::default(),
            done: Signal::default(),
            saturated: Signal::default(),
            cycles_low: Wide::new(CHUNK_BITS),
            cycles_high: Wide::new(CHUNK_BITS),
            tiles: Wide::new(CHUNK_BITS),
            tile_end: Wide::new(CHUNK_BITS),
            step_scalar: (0..widths.scalars).map(|_| Wide::new(CHUNK_BITS)).collect(),
            read: Wide::new(CHUNK_BITS),
            start: Signal::default(),
            abort: Signal::default(),
            steps: Wide::new(CHUNK_BITS),
            step_length: Wide::new(CHUNK_BITS),
            step_alu: Wide::new(CHUNK_BITS),
            step_root: Wide::new(CHUNK_BITS),
            step_move: Wide::new(CHUNK_BITS),
            step_load: Wide::new(CHUNK_BITS),
            emit_step: Wide::new(CHUNK_BITS),
            emit_model: Wide::new(CHUNK_BITS),
            load_model: Wide::new(CHUNK_BITS),
            write_alu: Signal::default(),
            write_root: Signal::default(),
            write_move: Signal::default(),
            write_load: Signal::default(),
            write_tables: Signal::default(),
            held_steps: held(),
            held_step_length: setting(registers::STEP_LENGTH),
            held_step_alu: setting(registers::ENTRY_STEP_ALU),
            held_step_root: setting(registers::ENTRY_STEP_ROOT),
            held_step_move: setting(registers::ENTRY_STEP_MOVE),
            held_step_load: setting(registers::ENTRY_STEP_LOAD),
            held_emit_step: setting(registers::ENTRY_EMIT_STEP),
            held_emit_model: setting(registers::ENTRY_EMIT_MODEL),
            held_load_model: setting(registers::ENTRY_LOAD_MODEL),
            select: ReadSelect::new(&READABLE, &READABLE_SCALAR[..widths.scalars]),
            status: Wide::new(CHUNK_BITS),
            at_control: at(registers::CONTROL),
            at_steps: at(registers::STEPS),
            at_step_length: at(registers::STEP_LENGTH),
            at_step_alu: at(registers::ENTRY_STEP_ALU),
            at_step_root: at(registers::ENTRY_STEP_ROOT),
            at_step_move: at(registers::ENTRY_STEP_MOVE),
            at_step_load: at(registers::ENTRY_STEP_LOAD),
            at_emit_step: at(registers::ENTRY_EMIT_STEP),
            at_emit_model: at(registers::ENTRY_EMIT_MODEL),
            at_load_model: at(registers::ENTRY_LOAD_MODEL),
            identity: value(registers::IDENTITY_VALUE),
            grid: described(registers::GRID),
            number_widths: described(registers::WIDTHS),
            depths: described(registers::DEPTHS),
            streams: described(registers::STREAMS),
            image: value(fixed.map_or(0, Fixed::identity)),
            amounts: [registers::ALIGNMENTS, registers::SHIFTS, registers::ROOT_SHIFTS]
                .into_iter()
                .flatten()
                .map(described)
                .collect(),
            busy_bit: value(registers::BUSY),
            done_bit: value(registers::DONE),
            saturated_bit: value(registers::SATURATED),
            zero: value(0),
            alu_region: region(Region::Alu),
            root_region: region(Region::Root),
            move_region: region(Region::Move),
            load_region: region(Region::Load),
            table_region: region(Region::Tables),
        }
    }
}

impl Logic for ControlRegisters {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("control_registers: registers of the control port, and decoding of its regions.");
        clock!(
            self,
            clock,
            held_steps,
            held_step_length,
            held_step_alu,
            held_step_root,
            held_step_move,
            held_step_load
        );
        clock!(self, clock, held_emit_step, held_emit_model, held_load_model, select);
        self.steps.next = self.held_steps.q.val();
        self.step_length.next = self.held_step_length.q.val();
        self.step_alu.next = self.held_step_alu.q.val();
        self.step_root.next = self.held_step_root.q.val();
        self.step_move.next = self.held_step_move.q.val();
        self.step_load.next = self.held_step_load.q.val();
        self.emit_step.next = self.held_emit_step.q.val();
        self.emit_model.next = self.held_emit_model.q.val();
        self.load_model.next = self.held_load_model.q.val();
        self.read.next = self.select.value.val();

        self.start.next = self.write.val() && self.address.val() == self.at_control.val() && self.data.val().get_bit(0);
        self.abort.next = self.write.val() && self.address.val() == self.at_control.val() && self.data.val().get_bit(3);
        self.write_alu.next = self.write.val() && self.region.val() == self.alu_region.val();
        self.write_root.next = self.write.val() && self.region.val() == self.root_region.val();
        self.write_move.next = self.write.val() && self.region.val() == self.move_region.val();
        self.write_load.next = self.write.val() && self.region.val() == self.load_region.val();
        self.write_tables.next = self.write.val() && self.region.val() == self.table_region.val();

        self.held_steps.d.next = self.held_steps.q.val();
        self.held_step_length.d.next = self.held_step_length.q.val();
        self.held_step_alu.d.next = self.held_step_alu.q.val();
        self.held_step_root.d.next = self.held_step_root.q.val();
        self.held_step_move.d.next = self.held_step_move.q.val();
        self.held_step_load.d.next = self.held_step_load.q.val();
        self.held_emit_step.d.next = self.held_emit_step.q.val();
        self.held_emit_model.d.next = self.held_emit_model.q.val();
        self.held_load_model.d.next = self.held_load_model.q.val();
        if self.write.val() {
            if self.address.val() == self.at_steps.val() {
                self.held_steps.d.next = self.data.val();
            }
            if self.address.val() == self.at_step_length.val() {
                self.held_step_length.d.next = self.data.val();
            }
            if self.address.val() == self.at_step_alu.val() {
                self.held_step_alu.d.next = self.data.val();
            }
            if self.address.val() == self.at_step_root.val() {
                self.held_step_root.d.next = self.data.val();
            }
            if self.address.val() == self.at_step_move.val() {
                self.held_step_move.d.next = self.data.val();
            }
            if self.address.val() == self.at_step_load.val() {
                self.held_step_load.d.next = self.data.val();
            }
            if self.address.val() == self.at_emit_step.val() {
                self.held_emit_step.d.next = self.data.val();
            }
            if self.address.val() == self.at_emit_model.val() {
                self.held_emit_model.d.next = self.data.val();
            }
            if self.address.val() == self.at_load_model.val() {
                self.held_load_model.d.next = self.data.val();
            }
        }
        if self.reset.val() {
            self.held_steps.d.next = self.zero.val();
            self.held_step_length.d.next = self.zero.val();
            self.held_step_alu.d.next = self.zero.val();
            self.held_step_root.d.next = self.zero.val();
            self.held_step_move.d.next = self.zero.val();
            self.held_step_load.d.next = self.zero.val();
            self.held_emit_step.d.next = self.zero.val();
            self.held_emit_model.d.next = self.zero.val();
            self.held_load_model.d.next = self.zero.val();
        }

        self.status.next = self.zero.val();
        if self.busy.val() {
            self.status.next = self.status.val() | self.busy_bit.val();
        }
        if self.done.val() {
            self.status.next = self.status.val() | self.done_bit.val();
        }
        if self.saturated.val() {
            self.status.next = self.status.val() | self.saturated_bit.val();
        }
        self.select.address.next = self.address.val();
        self.select.values[0].next = self.status.val();
        self.select.values[1].next = self.held_steps.q.val();
        self.select.values[2].next = self.cycles_low.val();
        self.select.values[3].next = self.cycles_high.val();
        self.select.values[4].next = self.held_step_length.q.val();
        self.select.values[5].next = self.held_step_alu.q.val();
        self.select.values[6].next = self.held_step_root.q.val();
        self.select.values[7].next = self.held_step_move.q.val();
        self.select.values[8].next = self.held_step_load.q.val();
        self.select.values[9].next = self.held_emit_step.q.val();
        self.select.values[10].next = self.held_emit_model.q.val();
        self.select.values[11].next = self.held_load_model.q.val();
        self.select.values[12].next = self.identity.val();
        self.select.values[13].next = self.grid.val();
        self.select.values[14].next = self.number_widths.val();
        self.select.values[15].next = self.depths.val();
        self.select.values[16].next = self.streams.val();
        self.select.values[17].next = self.image.val();
        self.select.values[18].next = self.amounts[0].val();
        self.select.values[19].next = self.amounts[1].val();
        self.select.values[20].next = self.amounts[2].val();
        self.select.values[21].next = self.amounts[3].val();
        self.select.values[22].next = self.amounts[4].val();
        self.select.values[23].next = self.amounts[5].val();
        self.select.values[24].next = self.tiles.val();
        self.select.values[25].next = self.tile_end.val();
        for i in 0..self.step_scalar.len() {
            self.select.more[i].next = self.step_scalar[i].val();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::settled;

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
}
