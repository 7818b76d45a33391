//! The statically timed streams with a loop nest, alu and move: from microcode to beats. `root_stream` is the third.
//!
//! Each is a program, a pacer, a loop nest and what its instructions need beside these. A beat is issued in the first cycle
//! and made in the second: addresses and masks stand behind a register, which fields, loop ends and counters pass together.
//! The sequencer registers all outputs again.

use crate::beats::{
    Advance, AluBeat, AluFields, AluPacing, CHUNK_BITS, ForColumns, ForScalar, INSTRUCTION_CHUNK_BITS, LateField,
    LoopCounters, LoopEnds, MaskBeat, MoveBeat, MoveFields, MovePacing, TileBeat, TileFields, TileFlags, Widths,
};
use crate::control::loops::{LoopNest, Places};
use crate::control::microcode::ProgramMemory;
use crate::control::stream::{
    AddressGenerator, BankAddress, Pacer, wire_destination, wire_loops, wire_operands, wire_pacer, wire_program,
    wire_reads,
};
use crate::control::tile_steps::{LateGate, TileGate};
use crate::datapath::exchange::SumGate;
use crate::datapath::mask::{MaskUnit, wire_mask};
use arch::isa::Pad;
use arch::registers::Region;
use blocks::block;
use rust_hdl_core::prelude::*;

/// First and last beat of a sum, the pad that is written.
#[block]
pub(crate) fn AluDecode(widths: &Widths) {
    let (reduce, write) = (widths.beat("reduce"), widths.beat("write"));
    let loops: In<LoopEnds> = |name| widths.beat(name);
    let reduce: In<reduce>;
    let write: In<write>;
    let (first, last): Out;
    for PAD in RESULTS {
        let write_PAD: Out;
    }
    for N in LEVELS {
        /// Loops inside this one are in their first and last iterations.
        let (firstN, lastN): Local;
    }
    let (levels1, levels2, levels3, levels4, levels5, levels6): Const<reduce> = (1, 2, 3, 4, 5, 6);
    for PAD in RESULTS {
        let PAD: Const<write> =
            Pad::ALL.into_iter().find(|pad| Pad::NAMES[*pad as usize] == stringify!(PAD)).map_or(0, |pad| pad as u32);
    }

    first5 = true;
    last5 = true;
    for (N, INSIDE) in names![4 5 3 4 2 3 1 2 0 1] {
        firstN = firstINSIDE && loops.firstINSIDE;
        lastN = lastINSIDE && loops.lastINSIDE;
    }
    first = true;
    last = true;
    for (COUNT, N) in names![1 4 2 3 3 2 4 1 5 0] {
        if reduce >= levelsCOUNT {
            first = firstN;
            last = lastN;
        }
    }
    if reduce >= levels6 {
        first = first0 && loops.first0;
        last = last0 && loops.last0;
    }
    for PAD in RESULTS {
        write_PAD = write == PAD;
    }
}

/// A beat that emits waits for output space.
#[block]
fn Emission() {
    let emit: In;
    /// The output FIFO has space.
    let credit: In;
    let issue: In;
    let (hold, emitted): Out;

    hold = emit && !credit;
    emitted = emit && issue;
}

/// Microcode to beats of the PEs.
#[block(clock, reset, wires, long = "wires only: the stream with the most fields")]
pub(crate) fn AluStream(widths: &Widths) {
    let field = |name: &str| widths.alu.field(name).bits;
    let beat = |name: &str| widths.beat(name);
    let place = |_: &str| widths.place();
    let (tiles, exchanges) = (widths.gradients, widths.exchanges);
    let program_write: In;
    let program_index: In<{ widths.index }>;
    let program_chunk: In<INSTRUCTION_CHUNK_BITS>;
    let program_data: In<CHUNK_BITS>;
    let (start, may_start): In;
    /// No beat after this cycle: a reset, or a tile ends.
    let stop: In;
    let entry: In<{ widths.index }>;
    let bank: In;
    /// One if there are gradient pads.
    let tile: [In<TileFlags>; tiles] = beat;
    let credit: In;
    let (busy, emitted): Out;
    let beat: Out<AluBeat> = |name| widths.beat(name);
    let mask_beat: Out<MaskBeat> = |name| widths.beat(name);
    let tile_beat: [Out<TileBeat>; tiles] = |_| widths.gradient;
    /// The beat sends a sum. Present if the grid exports partial sums.
    let leaves: [Out; exchanges];
    #[clocked]
    let microcode: ProgramMemory<AluPacing<Out>, AluFields<Out>, TileFields<Out>> = ProgramMemory::new(
        "alu",
        Region::Alu,
        widths,
        &widths.alu,
        [AluPacing::new(&field), AluPacing::new(&field)],
        AluFields::new(&field),
        (widths.gradients > 0).then(|| TileFields::new(&field)),
    );
    let work: Stage<AluFields> = field;
    let tile_work: [Stage<TileFields>; tiles] = field;
    let tile_now: [Stage<TileFlags>; tiles] = beat;
    let tile_gates = [TileGate(); tiles];
    let emitted_now: [Flag; exchanges];
    let sum_gates = [SumGate(); exchanges];
    let parks = [AddressGenerator(clock, widths.gradient); tiles];
    let ends: Stage<LoopEnds> = beat;
    let places = Places(widths);
    let counters: Stage<LoopCounters> = place;
    let advance: Stage<Advance> = beat;
    let emission = Emission();
    let bank_now: Flag;
    let pacer = Pacer(clock, reset = stop, widths);
    let loops = LoopNest(clock, reset = stop, widths);
    let decode = AluDecode(widths);
    let model = AddressGenerator(clock, widths.model);
    let data = AddressGenerator(clock, widths.data - 1);
    let data_bank = BankAddress(widths.data);
    for PAD in TEMPORARIES {
        let PAD = AddressGenerator(clock, widths.temporary);
    }
    let destination = AddressGenerator(clock, widths.beat("destination"));
    let mask_unit = MaskUnit(widths);

    wire_program!();
    wire_pacer!();
    wire_loops!(pacer);
    wire_mask!();
    decode.loops = ends;
    decode.reduce = work.reduce;
    decode.write = work.write;
    loops.step = pacer.issue;
    loops.fresh = pacer.fresh;
    emission.emit = microcode.pacing.emit;
    emission.credit = credit;
    emission.issue = pacer.issue;
    pacer.hold = emission.hold;
    emitted = emission.emitted;
    bank_now = bank;
    busy = pacer.busy;

    model.advance = advance;
    for NAME in ADDRESS {
        model.NAME = work.model_NAME;
    }
    wire_reads!();
    beat.tree = work.tree;
    beat.model_address = model.address;
    wire_operands!();
    beat.destination = destination.address;
    wire_destination!();
    if tile_gates.is_empty() {
        for PAD in RESULTS {
            beat.write_PAD = decode.write_PAD;
        }
    }
    for t in 0..tile_gates.len() {
        tile_work[t] = microcode.tiles[t];
        tile_now[t] = tile[t];
        tile_gates[t].flags = tile_now[t];
        tile_gates[t].late = tile_work[t].late;
        tile_gates[t].park = tile_work[t].park;
        for PAD in RESULTS {
            tile_gates[t].write_PAD = decode.write_PAD;
        }
        for PAD in RESULTS {
            beat.write_PAD = tile_gates[t].give_PAD;
        }
        parks[t].advance = advance;
        for NAME in ADDRESS {
            parks[t].NAME = tile_work[t].park_NAME;
        }
        if sum_gates.is_empty() {
            tile_beat[t].resume = tile_gates[t].resume;
            tile_beat[t].keep = tile_gates[t].keep;
        } else {
            emitted_now[t] = emission.emitted;
            sum_gates[t].emits = emitted_now[t];
            sum_gates[t].park = tile_work[t].park;
            sum_gates[t].resume = tile_gates[t].resume;
            sum_gates[t].keep = tile_gates[t].keep;
            leaves[t] = sum_gates[t].leaves;
            tile_beat[t].resume = sum_gates[t].give_resume;
            tile_beat[t].keep = sum_gates[t].give_keep;
        }
        tile_beat[t].address = parks[t].address;
    }
}

/// Which temporary a bus write goes to.
#[block]
fn MoveDecode() {
    let issue: In;
    for PAD in FURTHER {
        let PAD: In;
    }
    for PAD in TEMPORARIES {
        let write_PAD: Out;
    }

    write_t0 = issue && all!(PAD in FURTHER, !PAD);
    for PAD in FURTHER {
        write_PAD = issue && PAD;
    }
}

/// Microcode to bus writes of the PEs.
#[block(clock, reset, wires, long = "wires only, of one stream")]
pub(crate) fn MoveStream(widths: &Widths) {
    let field = |name: &str| widths.moves.field(name).bits;
    let beat = |name: &str| widths.beat(name);
    let place = |_: &str| widths.place();
    let bits = widths.moves.field("destination_base").bits;
    let tiles = widths.gradients;
    let (scalars, column_buses) = (widths.scalars, widths.column_buses);
    let program_write: In;
    let program_index: In<{ widths.index }>;
    let program_chunk: In<INSTRUCTION_CHUNK_BITS>;
    let program_data: In<CHUNK_BITS>;
    let (start, may_start): In;
    /// No beat after this cycle: a reset, or a tile ends.
    let stop: In;
    let entry: In<{ widths.index }>;
    /// One if there are gradient pads.
    let last_tile: [In; tiles];
    let beat: Out<MoveBeat> = |_| bits;
    let mask_beat: Out<MaskBeat> = |name| widths.beat(name);
    /// One if there is a scalar unit.
    let for_scalar: [Out<ForScalar>; scalars] = beat;
    /// One if the columns have buses.
    let for_columns: [Out<ForColumns>; column_buses] = beat;
    #[clocked]
    let microcode: ProgramMemory<MovePacing<Out>, MoveFields<Out>, LateField<Out>> = ProgramMemory::new(
        "move",
        Region::Move,
        widths,
        &widths.moves,
        [MovePacing::new(&field), MovePacing::new(&field)],
        MoveFields::new(&field),
        (widths.gradients > 0).then(|| LateField::new(&field)),
    );
    let work: Stage<MoveFields> = field;
    let scalar_work: [Stage<ForScalar>; scalars] = beat;
    let column_work: [Stage<ForColumns>; column_buses] = beat;
    let tile_work: [Stage<LateField>; tiles] = field;
    let last_tile_now: [Flag; tiles];
    let late_gates = [LateGate(); tiles];
    let ends: Stage<LoopEnds> = beat;
    let places = Places(widths);
    let counters: Stage<LoopCounters> = place;
    let advance: Stage<Advance> = beat;
    let pacer = Pacer(clock, reset = stop, widths);
    let loops = LoopNest(clock, reset = stop, widths);
    let decode = MoveDecode();
    let destination = AddressGenerator(clock, bits);
    let mask_unit = MaskUnit(widths);
    let never: Const<1> = 0;

    wire_program!();
    wire_pacer!();
    wire_loops!(pacer);
    wire_mask!();
    wire_destination!();
    loops.step = pacer.issue;
    loops.fresh = pacer.fresh;
    decode.issue = advance.step;
    for PAD in FURTHER {
        decode.PAD = work.PAD;
    }
    pacer.hold = never;
    beat.global = work.global;
    beat.destination = destination.address;
    if late_gates.is_empty() {
        for PAD in TEMPORARIES {
            beat.write_PAD = decode.write_PAD;
        }
    }
    for n in 0..for_scalar.len() {
        scalar_work[n] = microcode.for_scalar[n];
        for_scalar[n] = scalar_work[n];
    }
    for n in 0..for_columns.len() {
        column_work[n] = microcode.for_columns[n];
        for_columns[n] = column_work[n];
    }
    for t in 0..late_gates.len() {
        tile_work[t] = microcode.tiles[t];
        last_tile_now[t] = last_tile[t];
        late_gates[t].last = last_tile_now[t];
        late_gates[t].late = tile_work[t].late;
        for PAD in TEMPORARIES {
            late_gates[t].write_PAD = decode.write_PAD;
        }
        for PAD in TEMPORARIES {
            beat.write_PAD = late_gates[t].give_PAD;
        }
    }
}
