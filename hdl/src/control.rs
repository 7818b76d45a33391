//! Control port: the registers of [`arch::registers`], and the way into programs and tables.

use crate::beats::Widths;
use crate::memory::{CHUNK_BITS, ENTRY_CHUNK_BITS, INSTRUCTION_CHUNK_BITS};
use crate::register::Register;
use crate::signal::{GetBit, Number, Wide};
use crate::wiring::comment;
use arch::Machine;
use arch::registers::{self, ADDRESS_BITS, Region};
use rust_hdl::prelude::*;

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

const REGION_BITS: u32 = 4;
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
    pub(crate) read: Wide<Out>,
    pub(crate) start: Signal<Out, Bit>,
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
    held_step_length: Register,
    held_step_alu: Register,
    held_step_root: Register,
    held_step_move: Register,
    held_step_load: Register,
    held_emit_step: Register,
    held_emit_model: Register,
    held_load_model: Register,
    answer: Register,
    at_control: Number,
    at_steps: Number,
    at_cycles_low: Number,
    at_cycles_high: Number,
    at_step_length: Number,
    at_step_alu: Number,
    at_step_root: Number,
    at_step_move: Number,
    at_step_load: Number,
    at_emit_step: Number,
    at_emit_model: Number,
    at_load_model: Number,
    at_identity: Number,
    at_grid: Number,
    at_widths: Number,
    identity: Number,
    grid: Number,
    number_widths: Number,
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
    pub(crate) fn new(machine: &Machine) -> Self {
        let word = || Wide::new(CHUNK_BITS);
        let held = || Register::new(CHUNK_BITS);
        let at = |number| Number::new(number, ADDRESS_BITS);
        let value = |value| Number::new(value, CHUNK_BITS);
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
            read: word(),
            start: Signal::default(),
            steps: word(),
            step_length: word(),
            step_alu: word(),
            step_root: word(),
            step_move: word(),
            step_load: word(),
            emit_step: word(),
            emit_model: word(),
            load_model: word(),
            write_alu: Signal::default(),
            write_root: Signal::default(),
            write_move: Signal::default(),
            write_load: Signal::default(),
            write_tables: Signal::default(),
            held_steps: held(),
            held_step_length: held(),
            held_step_alu: held(),
            held_step_root: held(),
            held_step_move: held(),
            held_step_load: held(),
            held_emit_step: held(),
            held_emit_model: held(),
            held_load_model: held(),
            answer: held(),
            at_control: at(registers::CONTROL),
            at_steps: at(registers::STEPS),
            at_cycles_low: at(registers::CYCLES_LOW),
            at_cycles_high: at(registers::CYCLES_HIGH),
            at_step_length: at(registers::STEP_LENGTH),
            at_step_alu: at(registers::ENTRY_STEP_ALU),
            at_step_root: at(registers::ENTRY_STEP_ROOT),
            at_step_move: at(registers::ENTRY_STEP_MOVE),
            at_step_load: at(registers::ENTRY_STEP_LOAD),
            at_emit_step: at(registers::ENTRY_EMIT_STEP),
            at_emit_model: at(registers::ENTRY_EMIT_MODEL),
            at_load_model: at(registers::ENTRY_LOAD_MODEL),
            at_identity: at(registers::IDENTITY),
            at_grid: at(registers::GRID),
            at_widths: at(registers::WIDTHS),
            identity: value(registers::IDENTITY_VALUE),
            grid: value(machine.pus() << 16 | machine.pes_per_pu()),
            number_widths: value(machine.word() << 16 | machine.accumulator()),
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
        clock!(self, clock, held_emit_step, held_emit_model, held_load_model, answer);
        self.steps.next = self.held_steps.q.val();
        self.step_length.next = self.held_step_length.q.val();
        self.step_alu.next = self.held_step_alu.q.val();
        self.step_root.next = self.held_step_root.q.val();
        self.step_move.next = self.held_step_move.q.val();
        self.step_load.next = self.held_step_load.q.val();
        self.emit_step.next = self.held_emit_step.q.val();
        self.emit_model.next = self.held_emit_model.q.val();
        self.load_model.next = self.held_load_model.q.val();
        self.read.next = self.answer.q.val();

        self.start.next = self.write.val() && self.address.val() == self.at_control.val() && self.data.val().get_bit(0);
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

        self.answer.d.next = self.zero.val();
        if self.address.val() == self.at_control.val() {
            if self.busy.val() {
                self.answer.d.next = self.busy_bit.val();
            }
            if self.done.val() {
                self.answer.d.next = self.done_bit.val();
            }
            if self.saturated.val() {
                self.answer.d.next = self.saturated_bit.val();
                if self.busy.val() {
                    self.answer.d.next = self.saturated_bit.val() | self.busy_bit.val();
                }
                if self.done.val() {
                    self.answer.d.next = self.saturated_bit.val() | self.done_bit.val();
                }
            }
        }
        if self.address.val() == self.at_steps.val() {
            self.answer.d.next = self.held_steps.q.val();
        }
        if self.address.val() == self.at_cycles_low.val() {
            self.answer.d.next = self.cycles_low.val();
        }
        if self.address.val() == self.at_cycles_high.val() {
            self.answer.d.next = self.cycles_high.val();
        }
        if self.address.val() == self.at_step_length.val() {
            self.answer.d.next = self.held_step_length.q.val();
        }
        if self.address.val() == self.at_step_alu.val() {
            self.answer.d.next = self.held_step_alu.q.val();
        }
        if self.address.val() == self.at_step_root.val() {
            self.answer.d.next = self.held_step_root.q.val();
        }
        if self.address.val() == self.at_step_move.val() {
            self.answer.d.next = self.held_step_move.q.val();
        }
        if self.address.val() == self.at_step_load.val() {
            self.answer.d.next = self.held_step_load.q.val();
        }
        if self.address.val() == self.at_emit_step.val() {
            self.answer.d.next = self.held_emit_step.q.val();
        }
        if self.address.val() == self.at_emit_model.val() {
            self.answer.d.next = self.held_emit_model.q.val();
        }
        if self.address.val() == self.at_load_model.val() {
            self.answer.d.next = self.held_load_model.q.val();
        }
        if self.address.val() == self.at_identity.val() {
            self.answer.d.next = self.identity.val();
        }
        if self.address.val() == self.at_grid.val() {
            self.answer.d.next = self.grid.val();
        }
        if self.address.val() == self.at_widths.val() {
            self.answer.d.next = self.number_widths.val();
        }
    }
}
