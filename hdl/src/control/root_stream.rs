//! The root stream: from microcode to beats of the roots. Its instructions have one loop and no addresses.

use crate::beats::{
    CHUNK_BITS, FunctionBeat, INSTRUCTION_CHUNK_BITS, LateField, RootBeat, RootFields, RootPacing, Widths,
};
use crate::control::loops::LoopLevel;
use crate::control::microcode::ProgramMemory;
use crate::control::stream::{Pacer, wire_pacer, wire_program};
use crate::rtl::register::{Flag, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use arch::registers::Region;
use blocks::block;
use rust_hdl::prelude::*;

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
    let wrap_stepped: Out;
    let wrap_loaded: Out;
    let level = LoopLevel(clock, reset, bits);

    level.step = step;
    level.count = count;
    level.load = load;
    level.next_count = next_count;
    wrap = level.is_last;
    wrap_stepped = level.is_near || level.is_single;
    wrap_loaded = level.next_is_single;
}

/// Whom the beats of a root instruction are for.
#[block]
fn RootDecode() {
    let (issued, is_global): In;
    let (for_rows, for_global): Out;

    for_rows = issued && !is_global;
    for_global = issued && is_global;
}

/// The root stream.
#[derive(LogicBlock)]
pub(crate) struct RootStream {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) program_write: Signal<In, Bit>,
    pub(crate) program_index: Wide<In>,
    pub(crate) program_chunk: Wide<In>,
    pub(crate) program_data: Wide<In>,
    pub(crate) start: Signal<In, Bit>,
    pub(crate) may_start: Signal<In, Bit>,
    /// No beat after this cycle: a reset, or a tile ends.
    pub(crate) stop: Signal<In, Bit>,
    pub(crate) entry: Wide<In>,
    /// For the roots of the rows.
    pub(crate) row_beat: RootBeat<Out>,
    /// For the global root.
    pub(crate) global_beat: RootBeat<Out>,
    pub(crate) function_beat: FunctionBeat<Out>,
    microcode: ProgramMemory<RootPacing<Out>, RootFields<Out>, LateField<Out>>,
    work: Stage<RootFields<In>, RootFields<Out>>,
    issued: Flag,
    decode: RootDecode,
    pacer: Pacer,
    loops: RootLoop,
    never: Number,
    _wiring: Wiring,
}

impl RootStream {
    pub(crate) fn new(widths: &Widths) -> Self {
        let field = |name: &str| widths.root.field(name).bits;
        RootStream {
            clock: Signal::default(),
            reset: Signal::default(),
            program_write: Signal::default(),
            program_index: Wide::new(widths.index),
            program_chunk: Wide::new(INSTRUCTION_CHUNK_BITS),
            program_data: Wide::new(CHUNK_BITS),
            start: Signal::default(),
            may_start: Signal::default(),
            stop: Signal::default(),
            entry: Wide::new(widths.index),
            row_beat: RootBeat::new(&|name| widths.beat(name)),
            global_beat: RootBeat::new(&|name| widths.beat(name)),
            function_beat: FunctionBeat::new(&|name| widths.beat(name)),
            microcode: ProgramMemory::new(
                "root",
                Region::Root,
                widths,
                &widths.root,
                [RootPacing::new(&field), RootPacing::new(&field)],
                RootFields::new(&field),
                None,
            ),
            work: Stage::new(RootFields::new(&field), RootFields::new(&field)),
            issued: Flag::new(),
            decode: RootDecode::new(),
            pacer: Pacer::new(widths),
            loops: RootLoop::new(widths.root.field("count").bits),
            never: Number::new(0, 1),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wire_program!(self, wiring);
        wire_pacer!(self, wiring);
        wires!(self, wiring;
            pacer.hold = never;
            loops.clock = clock;
            loops.reset = stop;
            loops.step = pacer.issue;
            loops.load = pacer.load;
            loops.count = microcode.pacing.count;
            loops.next_count = microcode.ahead.count;
            issued.clock = clock;
            issued.reset = reset;
            issued.d = pacer.issue;
            decode.issued = issued.q;
            decode.is_global = work.q.global;
            row_beat.valid = decode.for_rows;
            row_beat.shift = work.q.shift;
            global_beat.valid = decode.for_global;
            global_beat.shift = work.q.shift;
            function_beat.used = work.q.function;
            function_beat.divide = work.q.divide;
            function_beat.segments = work.q.segments;
            function_beat.table_base = work.q.table_base;
            function_beat.table_log2 = work.q.table_log2;
            function_beat.segment_shift = work.q.segment_shift;
        );
    }
}
structural!(RootStream, "root_stream: microcode to beats of the root units.");
