//! Sequencer: control port, run, the four streams, and the one register behind them.
//!
//!     control port ──▶ registers ──▶ run ──starts──▶ streams ──▶ register ──▶ PUs, heads, global root

use crate::beats::{
    AluBeat, CHUNK_BITS, ForColumns, ForScalar, FunctionBeat, INSTRUCTION_CHUNK_BITS, LoadBeat, MaskBeat, MoveBeat,
    PartBeat, RootBeat, TableWrite, TileBeat, Widths,
};
use crate::control::halt::HaltControl;
use crate::control::loader::Loader;
use crate::control::registers::{AddressParts, ControlRegisters};
use crate::control::root_stream::RootStream;
use crate::control::run::RunControl;
use crate::control::scalar_stream::{ScalarRegister, ScalarStream};
use crate::control::streams::{AluStream, MoveStream};
use crate::control::tile_steps::{BatchGoesOn, EarlyEnd, TileCounter, TileRegister};
use crate::rtl::register::{Flag, Register, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use arch::Machine;
use arch::registers::{ADDRESS_BITS, TILE_END, TILES};
use rust_hdl::prelude::*;

/// Bit of an entry register that enables it.
const ENABLE: usize = arch::registers::ENTRY_ENABLE.trailing_zeros() as usize;

/// Bit of a start that goes on with a batch.
const GO_ON: usize = arch::registers::START_GO_ON.trailing_zeros() as usize;

#[derive(LogicBlock)]
pub(crate) struct Sequencer {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) control_write: Signal<In, Bit>,
    pub(crate) control_address: Wide<In>,
    pub(crate) control_data: Wide<In>,
    pub(crate) control_read: Wide<Out>,
    pub(crate) in_valid: Signal<In, Bit>,
    pub(crate) in_ready: Signal<Out, Bit>,
    pub(crate) credit: Signal<In, Bit>,
    pub(crate) all_credits: Signal<In, Bit>,
    pub(crate) saturation: Signal<In, Bit>,
    /// An emitting beat is issued (not registered).
    pub(crate) emitted: Signal<Out, Bit>,
    /// Resets everything but registers, programs and tables.
    pub(crate) halt: Signal<Out, Bit>,
    pub(crate) alu: AluBeat<Out>,
    pub(crate) alu_mask: MaskBeat<Out>,
    /// One if there are gradient pads.
    pub(crate) tiles: Vec<TileBeat<Out>>,
    /// Whether the alu beat sends a sum, and a part of one that comes back. One each if there is a way for sums.
    pub(crate) leaves: Vec<Signal<Out, Bit>>,
    pub(crate) sum_parts: Vec<PartBeat<Out>>,
    pub(crate) moves: MoveBeat<Out>,
    pub(crate) move_mask: MaskBeat<Out>,
    pub(crate) load: LoadBeat<Out>,
    pub(crate) load_mask: MaskBeat<Out>,
    pub(crate) scatter: Signal<Out, Bit>,
    pub(crate) pick_group: Signal<Out, Bit>,
    pub(crate) picked_group: Wide<Out>,
    pub(crate) row_root: RootBeat<Out>,
    pub(crate) global_root: RootBeat<Out>,
    /// One if there are function units.
    pub(crate) function: Vec<FunctionBeat<Out>>,
    pub(crate) tables: Vec<TableWrite<Out>>,
    /// One each if there is a scalar unit.
    pub(crate) scalar: Vec<AluBeat<Out>>,
    pub(crate) scalar_sends: Vec<Signal<Out, Bit>>,
    pub(crate) scalar_moves: Vec<ForScalar<Out>>,
    pub(crate) scalar_loads: Vec<ForScalar<Out>>,
    /// One if the columns have buses.
    pub(crate) column_moves: Vec<ForColumns<Out>>,
    parts: AddressParts,
    registers: ControlRegisters,
    halting: HaltControl,
    run: RunControl,
    tile_registers: Vec<TileRegister>,
    /// What is read of that register where there is none.
    no_tiles: Vec<Number>,
    tile_counters: Vec<TileCounter>,
    /// When tiles end that are not the last ones, and what says it.
    tile_end_registers: Vec<TileRegister>,
    tile_ends: Vec<EarlyEnd>,
    never: Vec<Number>,
    goes_on: Vec<BatchGoesOn>,
    leaves_next: Vec<Flag>,
    parts_next: Vec<Stage<PartBeat<In>, PartBeat<Out>>>,
    /// What is written into programs, a cycle later: decoding an address and reaching a memory are a cycle each.
    program_index: Register,
    program_chunk: Register,
    program_data: Register,
    program_alu: Flag,
    program_root: Flag,
    program_move: Flag,
    program_load: Flag,
    program_scalar: Vec<Flag>,
    alu_stream: AluStream,
    root_stream: RootStream,
    move_stream: MoveStream,
    loader: Loader,
    alu_next: Stage<AluBeat<In>, AluBeat<Out>>,
    alu_mask_next: Stage<MaskBeat<In>, MaskBeat<Out>>,
    tiles_next: Vec<Stage<TileBeat<In>, TileBeat<Out>>>,
    move_next: Stage<MoveBeat<In>, MoveBeat<Out>>,
    move_mask_next: Stage<MaskBeat<In>, MaskBeat<Out>>,
    load_next: Stage<LoadBeat<In>, LoadBeat<Out>>,
    load_mask_next: Stage<MaskBeat<In>, MaskBeat<Out>>,
    scatter_next: Flag,
    pick_group_next: Flag,
    picked_group_next: Register,
    row_root_next: Stage<RootBeat<In>, RootBeat<Out>>,
    global_root_next: Stage<RootBeat<In>, RootBeat<Out>>,
    function_next: Vec<Stage<FunctionBeat<In>, FunctionBeat<Out>>>,
    tables_next: Vec<Stage<TableWrite<In>, TableWrite<Out>>>,
    scalar_registers: Vec<ScalarRegister>,
    scalar_streams: Vec<ScalarStream>,
    scalar_next: Vec<Stage<AluBeat<In>, AluBeat<Out>>>,
    scalar_sends_next: Vec<Flag>,
    scalar_moves_next: Vec<Stage<ForScalar<In>, ForScalar<Out>>>,
    scalar_loads_next: Vec<Stage<ForScalar<In>, ForScalar<Out>>>,
    column_moves_next: Vec<Stage<ForColumns<In>, ForColumns<Out>>>,
    _wiring: Wiring,
}

impl Sequencer {
    pub(crate) fn new(machine: &Machine, widths: &Widths, functions: usize) -> Self {
        let beat = |name: &str| widths.beat(name);
        let moves = |_: &str| widths.temporary;
        let mask_stage = || Stage::new(MaskBeat::new(&beat), MaskBeat::new(&beat));
        let root_stage = || Stage::new(RootBeat::new(&beat), RootBeat::new(&beat));
        let function_stage = || Stage::new(FunctionBeat::new(&beat), FunctionBeat::new(&beat));
        let table_stage = || Stage::new(TableWrite::new(&beat), TableWrite::new(&beat));
        let parked = |_: &str| widths.gradient;
        let (tiles, exchanges) = (0..widths.gradients, 0..widths.exchanges);
        let (scalars, alone) = (0..widths.scalars, widths.alone());
        let of_unit = |name: &str| alone.beat(name);
        let crossings = 0..widths.crossings;
        let for_columns_stage = |_| Stage::new(ForColumns::new(&beat), ForColumns::new(&beat));
        let for_scalar_stage = |_| Stage::new(ForScalar::new(&beat), ForScalar::new(&beat));
        Sequencer {
            clock: Signal::default(),
            reset: Signal::default(),
            control_write: Signal::default(),
            control_address: Wide::new(ADDRESS_BITS),
            control_data: Wide::new(CHUNK_BITS),
            control_read: Wide::new(CHUNK_BITS),
            in_valid: Signal::default(),
            in_ready: Signal::default(),
            credit: Signal::default(),
            all_credits: Signal::default(),
            saturation: Signal::default(),
            emitted: Signal::default(),
            halt: Signal::default(),
            alu: AluBeat::new(&beat),
            alu_mask: MaskBeat::new(&beat),
            tiles: tiles.clone().map(|_| TileBeat::new(&parked)).collect(),
            leaves: exchanges.clone().map(|_| Signal::default()).collect(),
            sum_parts: exchanges.clone().map(|_| PartBeat::new(&parked)).collect(),
            moves: MoveBeat::new(&moves),
            move_mask: MaskBeat::new(&beat),
            load: LoadBeat::new(&beat),
            load_mask: MaskBeat::new(&beat),
            scatter: Signal::default(),
            pick_group: Signal::default(),
            picked_group: Wide::new(widths.place()),
            row_root: RootBeat::new(&beat),
            global_root: RootBeat::new(&beat),
            function: (0..functions).map(|_| FunctionBeat::new(&beat)).collect(),
            tables: (0..functions).map(|_| TableWrite::new(&beat)).collect(),
            scalar: scalars.clone().map(|_| AluBeat::new(&of_unit)).collect(),
            scalar_sends: scalars.clone().map(|_| Signal::default()).collect(),
            scalar_moves: scalars.clone().map(|_| ForScalar::new(&beat)).collect(),
            scalar_loads: scalars.clone().map(|_| ForScalar::new(&beat)).collect(),
            column_moves: crossings.clone().map(|_| ForColumns::new(&beat)).collect(),
            parts: AddressParts::new(widths),
            registers: ControlRegisters::new(machine, widths),
            halting: HaltControl::new(),
            run: RunControl::new(widths),
            tile_registers: tiles.clone().map(|_| TileRegister::new(TILES, widths)).collect(),
            no_tiles: (widths.gradients..1).map(|_| Number::new(0, CHUNK_BITS)).collect(),
            tile_counters: tiles.clone().map(|_| TileCounter::new()).collect(),
            tile_end_registers: tiles.clone().map(|_| TileRegister::new(TILE_END, widths)).collect(),
            tile_ends: tiles.clone().map(|_| EarlyEnd::new()).collect(),
            never: (widths.gradients..1).map(|_| Number::new(0, 1)).collect(),
            goes_on: exchanges.clone().map(|_| BatchGoesOn::new()).collect(),
            leaves_next: exchanges.clone().map(|_| Flag::new()).collect(),
            parts_next: exchanges.map(|_| Stage::new(PartBeat::new(&parked), PartBeat::new(&parked))).collect(),
            program_index: Register::new(widths.index),
            program_chunk: Register::new(INSTRUCTION_CHUNK_BITS),
            program_data: Register::new(CHUNK_BITS),
            program_alu: Flag::new(),
            program_root: Flag::new(),
            program_move: Flag::new(),
            program_load: Flag::new(),
            program_scalar: scalars.clone().map(|_| Flag::new()).collect(),
            alu_stream: AluStream::new(widths),
            root_stream: RootStream::new(widths),
            move_stream: MoveStream::new(widths),
            loader: Loader::new(widths),
            alu_next: Stage::new(AluBeat::new(&beat), AluBeat::new(&beat)),
            alu_mask_next: mask_stage(),
            tiles_next: tiles.map(|_| Stage::new(TileBeat::new(&parked), TileBeat::new(&parked))).collect(),
            move_next: Stage::new(MoveBeat::new(&moves), MoveBeat::new(&moves)),
            move_mask_next: mask_stage(),
            load_next: Stage::new(LoadBeat::new(&beat), LoadBeat::new(&beat)),
            load_mask_next: mask_stage(),
            scatter_next: Flag::new(),
            pick_group_next: Flag::new(),
            picked_group_next: Register::new(widths.place()),
            row_root_next: root_stage(),
            global_root_next: root_stage(),
            function_next: (0..functions).map(|_| function_stage()).collect(),
            tables_next: (0..functions).map(|_| table_stage()).collect(),
            scalar_registers: scalars.clone().map(|_| ScalarRegister::new(widths)).collect(),
            scalar_streams: scalars.clone().map(|_| ScalarStream::new(widths)).collect(),
            scalar_next: scalars.clone().map(|_| Stage::new(AluBeat::new(&of_unit), AluBeat::new(&of_unit))).collect(),
            scalar_sends_next: scalars.clone().map(|_| Flag::new()).collect(),
            scalar_moves_next: scalars.clone().map(for_scalar_stage).collect(),
            scalar_loads_next: scalars.map(for_scalar_stage).collect(),
            column_moves_next: crossings.map(for_columns_stage).collect(),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        self.wire_control(wiring);
        self.wire_streams(wiring);
        self.wire_beats(wiring);
        for s in 0..self.scalar.len() {
            self.wire_scalar(wiring, s);
        }
        for n in 0..self.column_moves.len() {
            wires!(self, wiring;
                column_moves_next[n].clock = clock;
                column_moves_next[n].reset = halting.halt;
                column_moves_next[n].d = move_stream.for_columns[n];
                column_moves[n] = column_moves_next[n].q;
            );
        }
    }

    /// Register and stream of the scalar unit, and the register behind them.
    fn wire_scalar(&mut self, wiring: &mut Wiring, s: usize) {
        if self.tile_ends.is_empty() {
            wires!(self, wiring; scalar_streams[s].stop = halting.halt;);
        } else {
            wires!(self, wiring; scalar_streams[s].stop = tile_ends[0].stop;);
        }
        wires!(self, wiring;
            scalar_registers[s].clock = clock;
            scalar_registers[s].reset = reset;
            scalar_registers[s].write = control_write;
            scalar_registers[s].address = control_address;
            scalar_registers[s].region = parts.region;
            scalar_registers[s].data = control_data;
            registers.step_scalar[s] = scalar_registers[s].entry;
            run.step_scalar_enabled[s] = scalar_registers[s].entry bit ENABLE;
            scalar_streams[s].clock = clock;
            scalar_streams[s].reset = halting.halt;
            program_scalar[s].clock = clock;
            program_scalar[s].reset = reset;
            program_scalar[s].d = scalar_registers[s].write_program;
            scalar_streams[s].program_write = program_scalar[s].q;
            scalar_streams[s].program_index = program_index.q;
            scalar_streams[s].program_chunk = program_chunk.q;
            scalar_streams[s].program_data = program_data.q;
            scalar_streams[s].start = run.start_scalar[s];
            scalar_streams[s].may_start = run.may_start;
            scalar_streams[s].entry = scalar_registers[s].entry;
            scalar_streams[s].bank = run.bank;
            scalar_next[s].clock = clock;
            scalar_next[s].reset = halting.halt;
            scalar_next[s].d = scalar_streams[s].beat;
            scalar[s] = scalar_next[s].q;
            scalar_sends_next[s].clock = clock;
            scalar_sends_next[s].reset = halting.halt;
            scalar_sends_next[s].d = scalar_streams[s].send;
            scalar_sends[s] = scalar_sends_next[s].q;
            scalar_moves_next[s].clock = clock;
            scalar_moves_next[s].reset = halting.halt;
            scalar_moves_next[s].d = move_stream.for_scalar[s];
            scalar_moves[s] = scalar_moves_next[s].q;
            scalar_loads_next[s].clock = clock;
            scalar_loads_next[s].reset = halting.halt;
            scalar_loads_next[s].d = loader.for_scalar[s];
            scalar_loads[s] = scalar_loads_next[s].q;
        );
    }

    /// Control port, registers and run.
    fn wire_control(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            parts.address = control_address;
            registers.clock = clock;
            registers.reset = reset;
            registers.write = control_write;
            registers.address = control_address;
            registers.data = control_data;
            registers.region = parts.region;
            registers.busy = run.busy;
            registers.done = run.done;
            registers.saturated = run.saturated;
            registers.cycles_low = run.cycles_low;
            registers.cycles_high = run.cycles_high;
            control_read = registers.read;
            halting.clock = clock;
            halting.reset = reset;
            halting.abort = registers.abort;
            halt = halting.halt;
            run.clock = clock;
            run.reset = halting.halt;
            run.start = registers.start;
            run.start_load_model = program_data.q bit 1;
            run.start_emit_model = program_data.q bit 2;
            run.steps = registers.steps;
            run.step_length = registers.step_length;
            run.step_alu_enabled = registers.step_alu bit ENABLE;
            run.step_root_enabled = registers.step_root bit ENABLE;
            run.step_move_enabled = registers.step_move bit ENABLE;
            run.emit_step_enabled = registers.emit_step bit ENABLE;
            run.emit_model_enabled = registers.emit_model bit ENABLE;
            run.step_alu_entry = registers.step_alu;
            run.emit_step_entry = registers.emit_step;
            run.emit_model_entry = registers.emit_model;
            run.model_done = loader.model_done;
            run.full0 = loader.full0;
            run.full1 = loader.full1;
            run.alu_busy = alu_stream.busy;
            run.all_credits = all_credits;
            run.saturation = saturation;
        );
    }

    /// Programs, starts and entries of the streams.
    fn wire_streams(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            program_index.clock = clock;
            program_index.d = parts.instruction;
            program_chunk.clock = clock;
            program_chunk.d = parts.instruction_chunk;
            program_data.clock = clock;
            program_data.d = control_data;
            program_alu.clock = clock;
            program_alu.reset = reset;
            program_alu.d = registers.write_alu;
            program_root.clock = clock;
            program_root.reset = reset;
            program_root.d = registers.write_root;
            program_move.clock = clock;
            program_move.reset = reset;
            program_move.d = registers.write_move;
            program_load.clock = clock;
            program_load.reset = reset;
            program_load.d = registers.write_load;
            alu_stream.clock = clock;
            alu_stream.reset = halting.halt;
            alu_stream.program_write = program_alu.q;
            alu_stream.program_index = program_index.q;
            alu_stream.program_chunk = program_chunk.q;
            alu_stream.program_data = program_data.q;
            alu_stream.start = run.start_alu;
            alu_stream.may_start = run.may_start;
            alu_stream.entry = run.alu_entry;
            alu_stream.bank = run.bank;
            alu_stream.credit = credit;
            emitted = alu_stream.emitted;
            root_stream.clock = clock;
            root_stream.reset = halting.halt;
            root_stream.program_write = program_root.q;
            root_stream.program_index = program_index.q;
            root_stream.program_chunk = program_chunk.q;
            root_stream.program_data = program_data.q;
            root_stream.start = run.start_root;
            root_stream.may_start = run.may_start;
            root_stream.entry = registers.step_root;
            move_stream.clock = clock;
            move_stream.reset = halting.halt;
            move_stream.program_write = program_move.q;
            move_stream.program_index = program_index.q;
            move_stream.program_chunk = program_chunk.q;
            move_stream.program_data = program_data.q;
            move_stream.start = run.start_move;
            move_stream.may_start = run.may_start;
            move_stream.entry = registers.step_move;
            loader.clock = clock;
            loader.reset = halting.halt;
            loader.program_write = program_load.q;
            loader.program_index = program_index.q;
            loader.program_chunk = program_chunk.q;
            loader.program_data = program_data.q;
            loader.started = run.started;
            loader.start_load_model = program_data.q bit 1;
            loader.steps = registers.steps;
            loader.model_enabled = registers.load_model bit ENABLE;
            loader.step_enabled = registers.step_load bit ENABLE;
            loader.model_entry = registers.load_model;
            loader.step_entry = registers.step_load;
            loader.bank_free = run.bank_free;
            loader.freed = run.bank;
            loader.in_valid = in_valid;
            in_ready = loader.in_ready;
        );
    }

    /// The register behind the streams.
    fn wire_beats(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            alu_next.clock = clock;
            alu_next.reset = halting.halt;
            alu_next.d = alu_stream.beat;
            alu = alu_next.q;
            alu_mask_next.clock = clock;
            alu_mask_next.reset = halting.halt;
            alu_mask_next.d = alu_stream.mask_beat;
            alu_mask = alu_mask_next.q;
            move_next.clock = clock;
            move_next.reset = halting.halt;
            move_next.d = move_stream.beat;
            moves = move_next.q;
            move_mask_next.clock = clock;
            move_mask_next.reset = halting.halt;
            move_mask_next.d = move_stream.mask_beat;
            move_mask = move_mask_next.q;
            load_next.clock = clock;
            load_next.reset = halting.halt;
            load_next.d = loader.beat;
            load = load_next.q;
            load_mask_next.clock = clock;
            load_mask_next.reset = halting.halt;
            load_mask_next.d = loader.mask_beat;
            load_mask = load_mask_next.q;
            scatter_next.clock = clock;
            scatter_next.reset = halting.halt;
            scatter_next.d = loader.scatter;
            scatter = scatter_next.q;
            pick_group_next.clock = clock;
            pick_group_next.reset = halting.halt;
            pick_group_next.d = loader.pick_group;
            pick_group = pick_group_next.q;
            picked_group_next.clock = clock;
            picked_group_next.d = loader.picked_group;
            picked_group = picked_group_next.q;
            row_root_next.clock = clock;
            row_root_next.reset = halting.halt;
            row_root_next.d = root_stream.row_beat;
            row_root = row_root_next.q;
            global_root_next.clock = clock;
            global_root_next.reset = halting.halt;
            global_root_next.d = root_stream.global_beat;
            global_root = global_root_next.q;
        );
        for t in 0..self.no_tiles.len() {
            wires!(self, wiring;
                registers.tiles = no_tiles[t];
                registers.tile_end = no_tiles[t];
                run.tile_ends_next = never[t];
                run.tile_ends = never[t];
                alu_stream.stop = halting.halt;
                root_stream.stop = halting.halt;
                move_stream.stop = halting.halt;
            );
        }
        for t in 0..self.tile_counters.len() {
            wires!(self, wiring;
                tile_counters[t].clock = clock;
                tile_counters[t].reset = halting.halt;
                tile_counters[t].started = run.started;
                tile_counters[t].stepped = run.bank_free;
                tile_counters[t].tiles = tile_registers[t].value;
                tile_registers[t].clock = clock;
                tile_registers[t].reset = reset;
                tile_registers[t].write = control_write;
                tile_registers[t].address = control_address;
                tile_registers[t].data = control_data;
                registers.tiles = tile_registers[t].value;
                tile_end_registers[t].clock = clock;
                tile_end_registers[t].reset = reset;
                tile_end_registers[t].write = control_write;
                tile_end_registers[t].address = control_address;
                tile_end_registers[t].data = control_data;
                registers.tile_end = tile_end_registers[t].value;
                tile_ends[t].clock = clock;
                tile_ends[t].reset = halting.halt;
                tile_ends[t].stepping = run.stepping;
                tile_ends[t].time_left = run.time_left;
                tile_ends[t].no_time_left = run.no_time_left;
                tile_ends[t].last = tile_counters[t].flags.last;
                tile_ends[t].tile_end = tile_end_registers[t].value;
                run.tile_ends_next = tile_ends[t].tile_ends_next;
                run.tile_ends = tile_ends[t].tile_ends;
                alu_stream.stop = tile_ends[t].stop;
                root_stream.stop = tile_ends[t].stop;
                move_stream.stop = tile_ends[t].stop;
            );
            if self.goes_on.is_empty() {
                wires!(self, wiring; alu_stream.tile[t] = tile_counters[t].flags;);
            } else {
                wires!(self, wiring; alu_stream.tile[t] = goes_on[t].given;);
            }
            wires!(self, wiring;
                move_stream.last_tile[t] = tile_counters[t].flags.last;
                tiles_next[t].clock = clock;
                tiles_next[t].reset = halting.halt;
                tiles_next[t].d = alu_stream.tile_beat[t];
                tiles[t] = tiles_next[t].q;
            );
        }
        for x in 0..self.goes_on.len() {
            wires!(self, wiring;
                goes_on[x].clock = clock;
                goes_on[x].reset = halting.halt;
                goes_on[x].started = run.started;
                goes_on[x].asked = program_data.q bit GO_ON;
                goes_on[x].stepped = run.bank_free;
                goes_on[x].flags = tile_counters[x].flags;
                leaves_next[x].clock = clock;
                leaves_next[x].reset = halting.halt;
                leaves_next[x].d = alu_stream.leaves[x];
                leaves[x] = leaves_next[x].q;
                parts_next[x].clock = clock;
                parts_next[x].reset = halting.halt;
                parts_next[x].d = loader.parts[x];
                sum_parts[x] = parts_next[x].q;
            );
        }
        for f in 0..self.function.len() {
            wires!(self, wiring;
                function_next[f].clock = clock;
                function_next[f].reset = halting.halt;
                function_next[f].d = root_stream.function_beat;
                function[f] = function_next[f].q;
                tables_next[f].clock = clock;
                tables_next[f].reset = reset;
                tables_next[f].d.write = registers.write_tables;
                tables_next[f].d.index = parts.entry;
                tables_next[f].d.chunk = parts.entry_chunk;
                tables_next[f].d.data = control_data;
                tables[f] = tables_next[f].q;
            );
        }
    }
}
structural!(Sequencer, "sequencer: control port, run, and the four instruction streams.");
