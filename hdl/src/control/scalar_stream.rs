//! The stream of the scalar unit (docs/machine.md, section 9). Only grids with that unit have these blocks.
//!
//!     scalar_register, run ──entry, start──▶ scalar_stream ──beat──▶ the scalar unit (`reduction::scalar`)

use crate::beats::{
    Advance, AluBeat, CHUNK_BITS, INSTRUCTION_CHUNK_BITS, LoopEnds, MovePacing, ScalarFields, TileFields, Widths,
};
use crate::control::loops::LoopNest;
use crate::control::microcode::ProgramMemory;
use crate::control::registers::{REGION_BITS, Setting};
use crate::control::stream::{
    AddressGenerator, BankAddress, Pacer, wire_destination, wire_loops, wire_operands, wire_pacer, wire_program,
    wire_reads,
};
use crate::control::streams::AluDecode;
use arch::registers::{ADDRESS_BITS, ENTRY_STEP_SCALAR, Region};
use blocks::block;
use rust_hdl_core::prelude::*;

/// Where a step starts in the scalar program, and the way into that program.
///
/// The register that says where a step starts in the scalar program, and the way into that program.
#[block(clock, reset)]
pub(crate) fn ScalarRegister(widths: &Widths) {
    let fixed = widths.fixed.as_ref().and_then(|fixed| fixed.register(ENTRY_STEP_SCALAR));
    let write: In;
    let address: In<ADDRESS_BITS>;
    let region: In<REGION_BITS>;
    let data: In<CHUNK_BITS>;
    let entry: Out<CHUNK_BITS>;
    let write_program: Out;
    let held: State<Setting> = Setting::new(fixed);
    let at: Const<ADDRESS_BITS> = ENTRY_STEP_SCALAR;
    let scalar_region: Const<REGION_BITS> = Region::Scalar as u32;
    let zero: Const<CHUNK_BITS> = 0;

    entry = held;
    write_program = write && region == scalar_region;
    if write && address == at {
        held = data;
    }
    if reset {
        held = zero;
    }
}

/// Microcode to beats of the scalar unit.
#[block(clock, reset, wires)]
pub(crate) fn ScalarStream(widths: &Widths) {
    let alone = widths.alone();
    let field = |name: &str| widths.scalar.field(name).bits;
    let beat = |name: &str| alone.beat(name);
    let program_write: In;
    let program_index: In<{ widths.index }>;
    let program_chunk: In<INSTRUCTION_CHUNK_BITS>;
    let program_data: In<CHUNK_BITS>;
    let (start, may_start): In;
    /// No beat after this cycle: a reset, or a tile ends.
    let stop: In;
    let entry: In<{ widths.index }>;
    let bank: In;
    let beat: Out<AluBeat> = beat;
    /// The result goes out.
    let send: Out;
    #[clocked]
    let microcode: ProgramMemory<MovePacing<Out>, ScalarFields<Out>, TileFields<Out>> = ProgramMemory::new(
        "scalar",
        Region::Scalar,
        widths,
        &widths.scalar,
        [MovePacing::new(&field), MovePacing::new(&field)],
        ScalarFields::new(&field),
        None,
    );
    let work: Stage<ScalarFields> = field;
    let ends: Stage<LoopEnds> = beat;
    let advance: Stage<Advance> = beat;
    let bank_now: Flag;
    let pacer = Pacer(clock, reset = stop, widths);
    let loops = LoopNest(clock, reset = stop, widths);
    let decode = AluDecode(widths);
    let data = AddressGenerator(clock, widths.data - 1);
    let data_bank = BankAddress(widths.data);
    for PAD in TEMPORARIES {
        let PAD = AddressGenerator(clock, widths.temporary);
    }
    let destination = AddressGenerator(clock, alone.beat("destination"));
    let never: Const<1> = 0;

    wire_program!();
    wire_pacer!();
    wire_loops!(pacer, without counters);
    wire_destination!();
    decode.loops = ends;
    decode.reduce = work.reduce;
    decode.write = work.write;
    loops.step = pacer.issue;
    loops.fresh = pacer.fresh;
    pacer.hold = never;
    bank_now = bank;
    wire_reads!();
    beat.tree = never;
    beat.model_address = never;
    wire_operands!();
    beat.write_model = never;
    for PAD in TEMPORARIES {
        beat.write_PAD = decode.write_PAD;
    }
    beat.destination = destination.address;
    send = work.send;
}
