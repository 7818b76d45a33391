//! The root stream: from microcode to beats of the roots. Its instructions have one loop and no addresses.

use crate::beats::{
    CHUNK_BITS, FunctionBeat, INSTRUCTION_CHUNK_BITS, LateField, RootBeat, RootFields, RootPacing, Widths,
};
use crate::control::loops::LoopLevel;
use crate::control::microcode::ProgramMemory;
use crate::control::stream::{Pacer, wire_pacer, wire_program};
use arch::registers::Region;
use blocks::block;
use rust_hdl_core::prelude::*;

/// The one loop of a root instruction.
#[block(clock, reset)]
fn RootLoop(bits: u32) {
    let step: In;
    /// Less one.
    let count: In<bits>;
    /// The instruction ahead becomes current.
    let load: In;
    /// Its count, less one.
    let next_count: In<bits>;
    let wrap: Out;
    /// After a beat, and after a load: the beat that comes then is the last one.
    let (wrap_stepped, wrap_loaded): Out;
    let level = LoopLevel(clock, reset, bits);

    for NAME in [step, count, load, next_count] {
        level.NAME = NAME;
    }
    wrap = level.is_last;
    wrap_stepped = level.is_near || level.is_single;
    wrap_loaded = level.next_is_single;
}

/// Destination of a root instruction's beats.
#[block]
fn RootDecode() {
    let (issued, is_global): In;
    let (for_rows, for_global): Out;

    for_rows = issued && !is_global;
    for_global = issued && is_global;
}

/// Microcode to beats of the root units.
#[block(clock, reset, wires)]
pub(crate) fn RootStream(widths: &Widths) {
    let field = |name: &str| widths.root.field(name).bits;
    let program_write: In;
    let program_index: In<{ widths.index }>;
    let program_chunk: In<INSTRUCTION_CHUNK_BITS>;
    let program_data: In<CHUNK_BITS>;
    let (start, may_start): In;
    /// No beat after this cycle: a reset, or a tile ends.
    let stop: In;
    let entry: In<{ widths.index }>;
    /// For the roots of the rows.
    let row_beat: Out<RootBeat> = |name| widths.beat(name);
    /// For the global root.
    let global_beat: Out<RootBeat> = |name| widths.beat(name);
    let function_beat: Out<FunctionBeat> = |name| widths.beat(name);
    #[clocked]
    let microcode: ProgramMemory<RootPacing<Out>, RootFields<Out>, LateField<Out>> = ProgramMemory::new(
        "root",
        Region::Root,
        widths,
        &widths.root,
        [RootPacing::new(&field), RootPacing::new(&field)],
        RootFields::new(&field),
        None,
    );
    let work: Stage<RootFields> = field;
    let issued: Flag;
    let decode = RootDecode();
    let pacer = Pacer(clock, reset = stop, widths);
    let loops = RootLoop(clock, reset = stop, widths.root.field("count").bits);
    let never: Const<1> = 0;

    wire_program!();
    wire_pacer!();
    pacer.hold = never;
    loops.step = pacer.issue;
    loops.load = pacer.load;
    loops.count = microcode.pacing.count;
    loops.next_count = microcode.ahead.count;
    issued = pacer.issue;
    decode.issued = issued;
    decode.is_global = work.global;
    row_beat.valid = decode.for_rows;
    row_beat.shift = work.shift;
    global_beat.valid = decode.for_global;
    global_beat.shift = work.shift;
    function_beat.used = work.function;
    for NAME in names![divide segments table_base table_log2 segment_shift] {
        function_beat.NAME = work.NAME;
    }
}
