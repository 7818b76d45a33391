//! The three statically timed streams: from microcode to beats.
//!
//! Each is a program, a pacer, a loop nest and what its instructions need beside these. All outputs belong to the cycle of
//! issue; the sequencer registers them.

use crate::beats::{
    AluBeat, AluFields, FunctionBeat, LoopEnds, MaskBeat, MoveBeat, MoveFields, RootBeat, RootFields, Widths,
};
use crate::mask::{MaskUnit, wire_mask};
use crate::memory::{CHUNK_BITS, INSTRUCTION_CHUNK_BITS, ProgramMemory};
use crate::register::Register;
use crate::signal::{Number, Wide};
use crate::stream::{
    AddressGenerator, BankAddress, LoopNest, Pacer, wire_destination, wire_loops, wire_pacer, wire_program,
};
use crate::wiring::{Wiring, comment, structural, wires};
use rust_hdl::prelude::*;

/// What an instruction of the alu stream says in few bits, one line each.
#[derive(LogicBlock)]
struct AluDecode {
    loops: LoopEnds<In>,
    reduce: Wide<In>,
    write: Wide<In>,
    emit: Signal<In, Bit>,
    /// The output FIFO has space.
    credit: Signal<In, Bit>,
    issue: Signal<In, Bit>,
    first: Signal<Out, Bit>,
    last: Signal<Out, Bit>,
    write_model: Signal<Out, Bit>,
    write_t0: Signal<Out, Bit>,
    write_t1: Signal<Out, Bit>,
    hold: Signal<Out, Bit>,
    emitted: Signal<Out, Bit>,
    one_level: Number,
    two_levels: Number,
    three_levels: Number,
    four_levels: Number,
    model: Number,
    t0: Number,
    t1: Number,
}

impl AluDecode {
    fn new(widths: &Widths) -> Self {
        let (reduce, write) = (widths.beat("reduce"), widths.beat("write"));
        AluDecode {
            loops: LoopEnds::new(&|name| widths.beat(name)),
            reduce: Wide::new(reduce),
            write: Wide::new(write),
            emit: Signal::default(),
            credit: Signal::default(),
            issue: Signal::default(),
            first: Signal::default(),
            last: Signal::default(),
            write_model: Signal::default(),
            write_t0: Signal::default(),
            write_t1: Signal::default(),
            hold: Signal::default(),
            emitted: Signal::default(),
            one_level: Number::new(1, reduce),
            two_levels: Number::new(2, reduce),
            three_levels: Number::new(3, reduce),
            four_levels: Number::new(4, reduce),
            model: Number::new(arch::isa::Pad::Model as u32, write),
            t0: Number::new(arch::isa::Pad::T0 as u32, write),
            t1: Number::new(arch::isa::Pad::T1 as u32, write),
        }
    }
}

impl Logic for AluDecode {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("alu_decode: first and last beat of a sum, the pad that is written, waiting for output space.");
        self.first.next = true;
        self.last.next = true;
        if self.reduce.val() >= self.one_level.val() {
            self.first.next = self.loops.first3.val();
            self.last.next = self.loops.last3.val();
        }
        if self.reduce.val() >= self.two_levels.val() {
            self.first.next = self.loops.first3.val() && self.loops.first2.val();
            self.last.next = self.loops.last3.val() && self.loops.last2.val();
        }
        if self.reduce.val() >= self.three_levels.val() {
            self.first.next = self.loops.first3.val() && self.loops.first2.val() && self.loops.first1.val();
            self.last.next = self.loops.last3.val() && self.loops.last2.val() && self.loops.last1.val();
        }
        if self.reduce.val() >= self.four_levels.val() {
            self.first.next = self.loops.first3.val()
                && self.loops.first2.val()
                && self.loops.first1.val()
                && self.loops.first0.val();
            self.last.next =
                self.loops.last3.val() && self.loops.last2.val() && self.loops.last1.val() && self.loops.last0.val();
        }
        self.write_model.next = self.write.val() == self.model.val();
        self.write_t0.next = self.write.val() == self.t0.val();
        self.write_t1.next = self.write.val() == self.t1.val();
        self.hold.next = self.emit.val() && !self.credit.val();
        self.emitted.next = self.emit.val() && self.issue.val();
    }
}

/// The alu stream.
#[derive(LogicBlock)]
pub(crate) struct AluStream {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) program_write: Signal<In, Bit>,
    pub(crate) program_index: Wide<In>,
    pub(crate) program_chunk: Wide<In>,
    pub(crate) program_data: Wide<In>,
    pub(crate) start: Signal<In, Bit>,
    pub(crate) entry: Wide<In>,
    pub(crate) bank: Signal<In, Bit>,
    pub(crate) credit: Signal<In, Bit>,
    pub(crate) busy: Signal<Out, Bit>,
    pub(crate) emitted: Signal<Out, Bit>,
    pub(crate) beat: AluBeat<Out>,
    pub(crate) mask_beat: MaskBeat<Out>,
    microcode: ProgramMemory<AluFields<Out>>,
    pacer: Pacer,
    loops: LoopNest,
    decode: AluDecode,
    model: AddressGenerator,
    data: AddressGenerator,
    data_bank: BankAddress,
    t0: AddressGenerator,
    t1: AddressGenerator,
    destination: AddressGenerator,
    mask_unit: MaskUnit,
    _wiring: Wiring,
}

impl AluStream {
    pub(crate) fn new(widths: &Widths) -> Self {
        let fields = AluFields::new(&|name| widths.alu.field(name).bits);
        AluStream {
            clock: Signal::default(),
            reset: Signal::default(),
            program_write: Signal::default(),
            program_index: Wide::new(widths.index),
            program_chunk: Wide::new(INSTRUCTION_CHUNK_BITS),
            program_data: Wide::new(CHUNK_BITS),
            start: Signal::default(),
            entry: Wide::new(widths.index),
            bank: Signal::default(),
            credit: Signal::default(),
            busy: Signal::default(),
            emitted: Signal::default(),
            beat: AluBeat::new(&|name| widths.beat(name)),
            mask_beat: MaskBeat::new(&|name| widths.beat(name)),
            microcode: ProgramMemory::new("alu", widths.index, widths.alu.clone(), fields),
            pacer: Pacer::new(widths),
            loops: LoopNest::new(widths),
            decode: AluDecode::new(widths),
            model: AddressGenerator::new(widths.model),
            data: AddressGenerator::new(widths.data - 1),
            data_bank: BankAddress::new(widths.data),
            t0: AddressGenerator::new(widths.temporary),
            t1: AddressGenerator::new(widths.temporary),
            destination: AddressGenerator::new(widths.beat("destination")),
            mask_unit: MaskUnit::new(widths),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wire_program!(self, wiring);
        wire_pacer!(self, wiring);
        wire_loops!(self, wiring);
        wire_mask!(self, wiring);
        wires!(self, wiring;
            decode.loops = loops.ends;
            decode.reduce = microcode.fields.reduce;
            decode.write = microcode.fields.write;
            decode.emit = microcode.fields.emit;
            decode.credit = credit;
            decode.issue = pacer.issue;
            pacer.hold = decode.hold;
            emitted = decode.emitted;
            busy = pacer.busy;

            model.clock = clock;
            model.advance = loops.advance;
            model.base = microcode.fields.model_base;
            model.delta0 = microcode.fields.model_delta0;
            model.delta1 = microcode.fields.model_delta1;
            model.delta2 = microcode.fields.model_delta2;
            model.delta3 = microcode.fields.model_delta3;
            data.clock = clock;
            data.advance = loops.advance;
            data.base = microcode.fields.data_base;
            data.delta0 = microcode.fields.data_delta0;
            data.delta1 = microcode.fields.data_delta1;
            data.delta2 = microcode.fields.data_delta2;
            data.delta3 = microcode.fields.data_delta3;
            data_bank.bank = bank;
            data_bank.offset = data.address;
            t0.clock = clock;
            t0.advance = loops.advance;
            t0.base = microcode.fields.t0_base;
            t0.delta0 = microcode.fields.t0_delta0;
            t0.delta1 = microcode.fields.t0_delta1;
            t0.delta2 = microcode.fields.t0_delta2;
            t0.delta3 = microcode.fields.t0_delta3;
            t1.clock = clock;
            t1.advance = loops.advance;
            t1.base = microcode.fields.t1_base;
            t1.delta0 = microcode.fields.t1_delta0;
            t1.delta1 = microcode.fields.t1_delta1;
            t1.delta2 = microcode.fields.t1_delta2;
            t1.delta3 = microcode.fields.t1_delta3;

            beat.valid = pacer.issue;
            beat.first = decode.first;
            beat.last = decode.last;
            beat.subtract = microcode.fields.subtract;
            beat.negative = microcode.fields.negative;
            beat.tree = microcode.fields.tree;
            beat.write_model = decode.write_model;
            beat.write_t0 = decode.write_t0;
            beat.write_t1 = decode.write_t1;
            beat.model_address = model.address;
            beat.data_address = data_bank.address;
            beat.t0_address = t0.address;
            beat.t1_address = t1.address;
            beat.a = microcode.fields.a;
            beat.b = microcode.fields.b;
            beat.c = microcode.fields.c;
            beat.align = microcode.fields.align;
            beat.shift = microcode.fields.shift;
            beat.immediate_b = microcode.fields.immediate_b;
            beat.immediate_c = microcode.fields.immediate_c;
            beat.destination = destination.address;
        );
        wire_destination!(self, wiring);
    }
}
structural!(AluStream, "alu_stream: microcode to beats of the PEs.");

/// What an instruction of the move stream says in few bits.
#[derive(LogicBlock)]
struct MoveDecode {
    issue: Signal<In, Bit>,
    t1: Signal<In, Bit>,
    write_t0: Signal<Out, Bit>,
    write_t1: Signal<Out, Bit>,
}

impl MoveDecode {
    fn new() -> Self {
        MoveDecode {
            issue: Signal::default(),
            t1: Signal::default(),
            write_t0: Signal::default(),
            write_t1: Signal::default(),
        }
    }
}

impl Logic for MoveDecode {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("move_decode: which temporary a bus write goes to.");
        self.write_t0.next = self.issue.val() && !self.t1.val();
        self.write_t1.next = self.issue.val() && self.t1.val();
    }
}

/// The move stream.
#[derive(LogicBlock)]
pub(crate) struct MoveStream {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) program_write: Signal<In, Bit>,
    pub(crate) program_index: Wide<In>,
    pub(crate) program_chunk: Wide<In>,
    pub(crate) program_data: Wide<In>,
    pub(crate) start: Signal<In, Bit>,
    pub(crate) entry: Wide<In>,
    pub(crate) beat: MoveBeat<Out>,
    pub(crate) mask_beat: MaskBeat<Out>,
    microcode: ProgramMemory<MoveFields<Out>>,
    pacer: Pacer,
    loops: LoopNest,
    decode: MoveDecode,
    destination: AddressGenerator,
    mask_unit: MaskUnit,
    never: Number,
    _wiring: Wiring,
}

impl MoveStream {
    pub(crate) fn new(widths: &Widths) -> Self {
        let fields = MoveFields::new(&|name| widths.moves.field(name).bits);
        let bits = widths.moves.field("destination_base").bits;
        MoveStream {
            clock: Signal::default(),
            reset: Signal::default(),
            program_write: Signal::default(),
            program_index: Wide::new(widths.index),
            program_chunk: Wide::new(INSTRUCTION_CHUNK_BITS),
            program_data: Wide::new(CHUNK_BITS),
            start: Signal::default(),
            entry: Wide::new(widths.index),
            beat: MoveBeat::new(&|_| bits),
            mask_beat: MaskBeat::new(&|name| widths.beat(name)),
            microcode: ProgramMemory::new("move", widths.index, widths.moves.clone(), fields),
            pacer: Pacer::new(widths),
            loops: LoopNest::new(widths),
            decode: MoveDecode::new(),
            destination: AddressGenerator::new(bits),
            mask_unit: MaskUnit::new(widths),
            never: Number::new(0, 1),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wire_program!(self, wiring);
        wire_pacer!(self, wiring);
        wire_loops!(self, wiring);
        wire_mask!(self, wiring);
        wire_destination!(self, wiring);
        wires!(self, wiring;
            decode.issue = pacer.issue;
            decode.t1 = microcode.fields.t1;
            pacer.hold = never;
            beat.write_t0 = decode.write_t0;
            beat.write_t1 = decode.write_t1;
            beat.global = microcode.fields.global;
            beat.destination = destination.address;
        );
    }
}
structural!(MoveStream, "move_stream: microcode to bus writes of the PEs.");

/// The one loop of a root instruction, and whom its beats are for.
#[derive(LogicBlock)]
struct RootLoop {
    clock: Signal<In, Clock>,
    reset: Signal<In, Bit>,
    step: Signal<In, Bit>,
    /// Less one.
    count: Wide<In>,
    is_global: Signal<In, Bit>,
    wrap: Signal<Out, Bit>,
    for_rows: Signal<Out, Bit>,
    for_global: Signal<Out, Bit>,
    counter: Register,
    zero: Number,
    one: Number,
}

impl RootLoop {
    fn new(bits: u32) -> Self {
        RootLoop {
            clock: Signal::default(),
            reset: Signal::default(),
            step: Signal::default(),
            count: Wide::new(bits),
            is_global: Signal::default(),
            wrap: Signal::default(),
            for_rows: Signal::default(),
            for_global: Signal::default(),
            counter: Register::new(bits),
            zero: Number::new(0, bits),
            one: Number::new(1, bits),
        }
    }
}

impl Logic for RootLoop {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("root_loop: the one loop of a root instruction, and whom its beats are for.");
        clock!(self, clock, counter);
        self.for_rows.next = self.step.val() && !self.is_global.val();
        self.for_global.next = self.step.val() && self.is_global.val();
        self.wrap.next = self.counter.q.val() == self.count.val();
        self.counter.d.next = self.counter.q.val();
        if self.step.val() {
            self.counter.d.next = self.counter.q.val() + self.one.val();
        }
        if self.reset.val() || (self.step.val() && self.wrap.val()) {
            self.counter.d.next = self.zero.val();
        }
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
    pub(crate) entry: Wide<In>,
    /// For the roots of the rows.
    pub(crate) row_beat: RootBeat<Out>,
    /// For the global root.
    pub(crate) global_beat: RootBeat<Out>,
    pub(crate) function_beat: FunctionBeat<Out>,
    microcode: ProgramMemory<RootFields<Out>>,
    pacer: Pacer,
    loops: RootLoop,
    never: Number,
    _wiring: Wiring,
}

impl RootStream {
    pub(crate) fn new(widths: &Widths) -> Self {
        let fields = RootFields::new(&|name| widths.root.field(name).bits);
        RootStream {
            clock: Signal::default(),
            reset: Signal::default(),
            program_write: Signal::default(),
            program_index: Wide::new(widths.index),
            program_chunk: Wide::new(INSTRUCTION_CHUNK_BITS),
            program_data: Wide::new(CHUNK_BITS),
            start: Signal::default(),
            entry: Wide::new(widths.index),
            row_beat: RootBeat::new(&|name| widths.beat(name)),
            global_beat: RootBeat::new(&|name| widths.beat(name)),
            function_beat: FunctionBeat::new(&|name| widths.beat(name)),
            microcode: ProgramMemory::new("root", widths.index, widths.root.clone(), fields),
            pacer: Pacer::new(widths),
            loops: RootLoop::new(widths.root.field("count").bits),
            never: Number::new(0, 1),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wire_program!(self, wiring);
        wires!(self, wiring;
            microcode.read_index = pacer.read_index;
            pacer.clock = clock;
            pacer.reset = reset;
            pacer.start = start;
            pacer.entry = entry;
            pacer.is_end = microcode.fields.end;
            pacer.delay = microcode.fields.delay;
            pacer.interval = microcode.fields.interval;
            pacer.wrap = loops.wrap;
            pacer.hold = never;
            loops.clock = clock;
            loops.reset = reset;
            loops.step = pacer.issue;
            loops.count = microcode.fields.count;
            loops.is_global = microcode.fields.global;
            row_beat.valid = loops.for_rows;
            row_beat.shift = microcode.fields.shift;
            global_beat.valid = loops.for_global;
            global_beat.shift = microcode.fields.shift;
            function_beat.used = microcode.fields.function;
            function_beat.octave = microcode.fields.octave;
            function_beat.table_base = microcode.fields.table_base;
            function_beat.table_log2 = microcode.fields.table_log2;
            function_beat.segment_shift = microcode.fields.segment_shift;
        );
    }
}
structural!(RootStream, "root_stream: microcode to beats of the root units.");
