//! The root stream: from microcode to beats of the roots. Its instructions have one loop and no addresses.

use crate::beats::{
    CHUNK_BITS, FunctionBeat, INSTRUCTION_CHUNK_BITS, LateField, RootBeat, RootFields, RootPacing, Widths,
};
use crate::control::loops::LoopLevel;
use crate::control::microcode::ProgramMemory;
use crate::control::stream::{Pacer, wire_pacer, wire_program};
use crate::rtl::register::{Flag, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, comment, structural, wires};
use arch::registers::Region;
use rust_hdl::prelude::*;

/// The one loop of a root instruction.
#[derive(LogicBlock)]
struct RootLoop {
    clock: Signal<In, Clock>,
    reset: Signal<In, Bit>,
    step: Signal<In, Bit>,
    /// Less one.
    count: Wide<In>,
    /// The instruction ahead becomes current.
    load: Signal<In, Bit>,
    /// Its count, less one.
    next_count: Wide<In>,
    wrap: Signal<Out, Bit>,
    /// After a beat, and after a load: the beat that comes then is the last one.
    wrap_stepped: Signal<Out, Bit>,
    wrap_loaded: Signal<Out, Bit>,
    level: LoopLevel,
}

impl RootLoop {
    fn new(bits: u32) -> Self {
        RootLoop {
            clock: Signal::default(),
            reset: Signal::default(),
            step: Signal::default(),
            count: Wide::new(bits),
            load: Signal::default(),
            next_count: Wide::new(bits),
            wrap: Signal::default(),
            wrap_stepped: Signal::default(),
            wrap_loaded: Signal::default(),
            level: LoopLevel::new(bits),
        }
    }
}

impl Logic for RootLoop {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("root_loop: the one loop of a root instruction.");
        clock!(self, clock, level);
        self.level.reset.next = self.reset.val();
        self.level.step.next = self.step.val();
        self.level.count.next = self.count.val();
        self.level.load.next = self.load.val();
        self.level.next_count.next = self.next_count.val();
        self.wrap.next = self.level.is_last.val();
        self.wrap_stepped.next = self.level.is_near.val() || self.level.is_single.val();
        self.wrap_loaded.next = self.level.next_is_single.val();
    }
}

/// Whom the beats of a root instruction are for.
#[derive(LogicBlock)]
struct RootDecode {
    issued: Signal<In, Bit>,
    is_global: Signal<In, Bit>,
    for_rows: Signal<Out, Bit>,
    for_global: Signal<Out, Bit>,
}

impl RootDecode {
    fn new() -> Self {
        RootDecode {
            issued: Signal::default(),
            is_global: Signal::default(),
            for_rows: Signal::default(),
            for_global: Signal::default(),
        }
    }
}

impl Logic for RootDecode {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("root_decode: whom the beats of a root instruction are for.");
        self.for_rows.next = self.issued.val() && !self.is_global.val();
        self.for_global.next = self.issued.val() && self.is_global.val();
    }
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
