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
use arch::Machine;
use arch::registers::{ADDRESS_BITS, TILE_END, TILES};
use blocks::block;
use rust_hdl_core::prelude::*;

/// Bit of an entry register that enables it.
const ENABLE: usize = arch::registers::ENTRY_ENABLE.trailing_zeros() as usize;

/// Bit of a start that goes on with a batch.
const GO_ON: usize = arch::registers::START_GO_ON.trailing_zeros() as usize;

/// Control port, run, and the four instruction streams.
#[block(clock, reset, wires, reset_by = halting.halt, long = "wires only, of five streams and the registers behind them")]
pub(crate) fn Sequencer(machine: &Machine, widths: &Widths, functions: usize) {
    let beat = |name: &str| widths.beat(name);
    let moves = |_: &str| widths.temporary;
    let parked = |_: &str| widths.gradient;
    let (tiles, exchanges) = (widths.gradients, widths.exchanges);
    let (scalars, alone) = (widths.scalars, widths.alone());
    let of_unit = |name: &str| alone.beat(name);
    let column_buses = widths.column_buses;
    let control_write: In;
    let control_address: In<ADDRESS_BITS>;
    let control_data: In<CHUNK_BITS>;
    let control_read: Out<CHUNK_BITS>;
    let in_valid: In;
    let in_ready: Out;
    let (credit, all_credits, saturation): In;
    /// An emitting beat is issued (not registered).
    let emitted: Out;
    /// Resets everything but registers, programs and tables.
    let halt: Out;
    let alu: Out<AluBeat> = beat;
    let alu_mask: Out<MaskBeat> = beat;
    /// One if there are gradient pads.
    let tiles: [Out<TileBeat>; tiles] = parked;
    /// Whether the alu beat sends a sum, and a part of one that comes back. Present if the grid exports partial sums.
    let leaves: [Out; exchanges];
    let sum_parts: [Out<PartBeat>; exchanges] = parked;
    let moves: Out<MoveBeat> = moves;
    let move_mask: Out<MaskBeat> = beat;
    let load: Out<LoadBeat> = beat;
    let load_mask: Out<MaskBeat> = beat;
    let (scatter, pick_group): Out;
    let picked_group: Out<{ widths.place() }>;
    let (row_root, global_root): Out<RootBeat> = beat;
    /// One if there are function units.
    let function: [Out<FunctionBeat>; functions] = beat;
    let tables: [Out<TableWrite>; functions] = beat;
    /// One each if there is a scalar unit.
    let scalar: [Out<AluBeat>; scalars] = of_unit;
    let scalar_sends: [Out; scalars];
    let (scalar_moves, scalar_loads): [Out<ForScalar>; scalars] = beat;
    /// One if the columns have buses.
    let column_moves: [Out<ForColumns>; column_buses] = beat;
    let parts = AddressParts(widths);
    let registers = ControlRegisters(clock, reset = reset, machine, widths);
    let halting = HaltControl(clock, reset = reset);
    let run = RunControl(clock, reset, widths);
    let tile_registers = [TileRegister(clock, reset = reset, TILES, widths); tiles];
    /// What is read of that register where there is none.
    let no_tiles: [Const<CHUNK_BITS>; widths.gradients == 0] = 0;
    let tile_counters = [TileCounter(clock, reset); tiles];
    /// When tiles end that are not the last ones, and what says it.
    let tile_end_registers = [TileRegister(clock, reset = reset, TILE_END, widths); tiles];
    let tile_ends = [EarlyEnd(clock, reset); tiles];
    let never: [Const<1>; widths.gradients == 0] = 0;
    let goes_on = [BatchGoesOn(clock, reset); exchanges];
    let leaves_next: [Flag; exchanges];
    let parts_next: [Stage<PartBeat>; exchanges] = parked;
    /// What is written into programs, a cycle later: decoding an address and reaching a memory are a cycle each.
    let program_index: Register<{ widths.index }>;
    let program_chunk: Register<INSTRUCTION_CHUNK_BITS>;
    let program_data: Register<CHUNK_BITS>;
    #[reset(reset)]
    let (program_alu, program_root, program_move, program_load): Flag;
    #[reset(reset)]
    let program_scalar: [Flag; scalars];
    let alu_stream = AluStream(clock, reset, widths);
    let root_stream = RootStream(clock, reset, widths);
    let move_stream = MoveStream(clock, reset, widths);
    let loader = Loader(clock, reset, widths);
    let alu_next: Stage<AluBeat> = beat;
    let alu_mask_next: Stage<MaskBeat> = beat;
    let tiles_next: [Stage<TileBeat>; tiles] = parked;
    let move_next: Stage<MoveBeat> = moves;
    let move_mask_next: Stage<MaskBeat> = beat;
    let load_next: Stage<LoadBeat> = beat;
    let load_mask_next: Stage<MaskBeat> = beat;
    let (scatter_next, pick_group_next): Flag;
    let picked_group_next: Register<{ widths.place() }>;
    let (row_root_next, global_root_next): Stage<RootBeat> = beat;
    let function_next: [Stage<FunctionBeat>; functions] = beat;
    #[reset(reset)]
    let tables_next: [Stage<TableWrite>; functions] = beat;
    let scalar_registers = [ScalarRegister(clock, reset = reset, widths); scalars];
    let scalar_streams = [ScalarStream(clock, reset, widths); scalars];
    let scalar_next: [Stage<AluBeat>; scalars] = of_unit;
    let scalar_sends_next: [Flag; scalars];
    let (scalar_moves_next, scalar_loads_next): [Stage<ForScalar>; scalars] = beat;
    let column_moves_next: [Stage<ForColumns>; column_buses] = beat;

    // Control port, registers and run.
    parts.address = control_address;
    registers.write = control_write;
    registers.address = control_address;
    registers.data = control_data;
    registers.region = parts.region;
    for NAME in names![busy done saturated cycles_low cycles_high] {
        registers.NAME = run.NAME;
    }
    control_read = registers.read;
    halting.abort = registers.abort;
    halt = halting.halt;
    run.start = registers.start;
    run.start_load_model = program_data.bit(1);
    run.start_emit_model = program_data.bit(2);
    run.steps = registers.steps;
    run.step_length = registers.step_length;
    for NAME in [step_alu, step_root, step_move, emit_step, emit_model] {
        run.NAME_enabled = registers.NAME.bit(ENABLE);
    }
    run.step_alu_entry = registers.step_alu;
    run.emit_step_entry = registers.emit_step;
    run.emit_model_entry = registers.emit_model;
    run.model_done = loader.model_done;
    run.full0 = loader.full0;
    run.full1 = loader.full1;
    run.alu_busy = alu_stream.busy;
    run.all_credits = all_credits;
    run.saturation = saturation;

    // Programs, starts and entries of the streams.
    program_index = parts.instruction;
    program_chunk = parts.instruction_chunk;
    program_data = control_data;
    for STREAM in names![alu root move load] {
        program_STREAM = registers.write_STREAM;
    }
    alu_stream.program_write = program_alu;
    alu_stream.program_index = program_index;
    alu_stream.program_chunk = program_chunk;
    alu_stream.program_data = program_data;
    alu_stream.start = run.start_alu;
    alu_stream.may_start = run.may_start;
    alu_stream.entry = run.alu_entry;
    alu_stream.bank = run.bank;
    alu_stream.credit = credit;
    emitted = alu_stream.emitted;
    for STREAM in names![root move] {
        STREAM_stream.program_write = program_STREAM;
        STREAM_stream.program_index = program_index;
        STREAM_stream.program_chunk = program_chunk;
        STREAM_stream.program_data = program_data;
        STREAM_stream.start = run.start_STREAM;
        STREAM_stream.may_start = run.may_start;
        STREAM_stream.entry = registers.step_STREAM;
    }
    loader.program_write = program_load;
    loader.program_index = program_index;
    loader.program_chunk = program_chunk;
    loader.program_data = program_data;
    loader.started = run.started;
    loader.start_load_model = program_data.bit(1);
    loader.steps = registers.steps;
    loader.model_enabled = registers.load_model.bit(ENABLE);
    loader.step_enabled = registers.step_load.bit(ENABLE);
    loader.model_entry = registers.load_model;
    loader.step_entry = registers.step_load;
    loader.bank_free = run.bank_free;
    loader.freed = run.bank;
    loader.in_valid = in_valid;
    in_ready = loader.in_ready;

    // The register behind the streams.
    alu_next = alu_stream.beat;
    alu = alu_next;
    alu_mask_next = alu_stream.mask_beat;
    alu_mask = alu_mask_next;
    move_next = move_stream.beat;
    moves = move_next;
    move_mask_next = move_stream.mask_beat;
    move_mask = move_mask_next;
    load_next = loader.beat;
    load = load_next;
    load_mask_next = loader.mask_beat;
    load_mask = load_mask_next;
    for NAME in names![scatter pick_group picked_group] {
        NAME_next = loader.NAME;
        NAME = NAME_next;
    }
    row_root_next = root_stream.row_beat;
    row_root = row_root_next;
    global_root_next = root_stream.global_beat;
    global_root = global_root_next;
    for t in 0..no_tiles.len() {
        registers.tiles = no_tiles[t];
        registers.tile_end = no_tiles[t];
        run.tile_ends_next = never[t];
        run.tile_ends = never[t];
        alu_stream.stop = halting.halt;
        root_stream.stop = halting.halt;
        move_stream.stop = halting.halt;
    }
    for t in 0..tile_counters.len() {
        tile_counters[t].started = run.started;
        tile_counters[t].stepped = run.bank_free;
        tile_counters[t].tiles = tile_registers[t].value;
        tile_registers[t].write = control_write;
        tile_registers[t].address = control_address;
        tile_registers[t].data = control_data;
        registers.tiles = tile_registers[t].value;
        tile_end_registers[t].write = control_write;
        tile_end_registers[t].address = control_address;
        tile_end_registers[t].data = control_data;
        registers.tile_end = tile_end_registers[t].value;
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
        if goes_on.is_empty() {
            alu_stream.tile[t] = tile_counters[t].flags;
        } else {
            alu_stream.tile[t] = goes_on[t].given;
        }
        move_stream.last_tile[t] = tile_counters[t].flags.last;
        tiles_next[t] = alu_stream.tile_beat[t];
        tiles[t] = tiles_next[t];
    }
    for x in 0..goes_on.len() {
        goes_on[x].started = run.started;
        goes_on[x].asked = program_data.bit(GO_ON);
        goes_on[x].stepped = run.bank_free;
        goes_on[x].flags = tile_counters[x].flags;
        leaves_next[x] = alu_stream.leaves[x];
        leaves[x] = leaves_next[x];
        parts_next[x] = loader.parts[x];
        sum_parts[x] = parts_next[x];
    }
    function_next = root_stream.function_beat;
    function = function_next;
    tables_next.write = registers.write_tables;
    tables_next.index = parts.entry;
    tables_next.chunk = parts.entry_chunk;
    tables_next.data = control_data;
    tables = tables_next;

    for s in 0..scalar.len() {
        // Register and stream of the scalar unit, and the register behind them.
        if tile_ends.is_empty() {
            scalar_streams[s].stop = halting.halt;
        } else {
            scalar_streams[s].stop = tile_ends[0].stop;
        }
        scalar_registers[s].write = control_write;
        scalar_registers[s].address = control_address;
        scalar_registers[s].region = parts.region;
        scalar_registers[s].data = control_data;
        registers.step_scalar[s] = scalar_registers[s].entry;
        run.step_scalar_enabled[s] = scalar_registers[s].entry.bit(ENABLE);
        program_scalar[s] = scalar_registers[s].write_program;
        scalar_streams[s].program_write = program_scalar[s];
        scalar_streams[s].program_index = program_index;
        scalar_streams[s].program_chunk = program_chunk;
        scalar_streams[s].program_data = program_data;
        scalar_streams[s].start = run.start_scalar[s];
        scalar_streams[s].may_start = run.may_start;
        scalar_streams[s].entry = scalar_registers[s].entry;
        scalar_streams[s].bank = run.bank;
        scalar_next[s] = scalar_streams[s].beat;
        scalar[s] = scalar_next[s];
        scalar_sends_next[s] = scalar_streams[s].send;
        scalar_sends[s] = scalar_sends_next[s];
        scalar_moves_next[s] = move_stream.for_scalar[s];
        scalar_moves[s] = scalar_moves_next[s];
        scalar_loads_next[s] = loader.for_scalar[s];
        scalar_loads[s] = scalar_loads_next[s];
    }
    for n in 0..column_moves.len() {
        column_moves_next[n] = move_stream.for_columns[n];
        column_moves[n] = column_moves_next[n];
    }
}
