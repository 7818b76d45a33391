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
use crate::rtl::register::{Flag, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use arch::registers::Region;
use blocks::block;
use rust_hdl::prelude::*;

/// First and last beat of a sum, the pad that is written.
#[block]
pub(crate) fn AluDecode(widths: &Widths) {
    let (reduce, write) = (widths.beat("reduce"), widths.beat("write"));
    let loops: In<LoopEnds> = |name| widths.beat(name);
    let reduce: In<reduce>;
    let write: In<write>;
    let (first, last, write_model, write_t0, write_t1): Out;
    let (one_level, two_levels, three_levels, four_levels): Const<reduce> = (1, 2, 3, 4);
    let (model, t0): Const<write> = (arch::isa::Pad::Model as u32, arch::isa::Pad::T0 as u32);
    let t1: Const<write> = arch::isa::Pad::T1 as u32;

    first = true;
    last = true;
    if reduce >= one_level {
        first = loops.first3;
        last = loops.last3;
    }
    if reduce >= two_levels {
        first = loops.first3 && loops.first2;
        last = loops.last3 && loops.last2;
    }
    if reduce >= three_levels {
        first = loops.first3 && loops.first2 && loops.first1;
        last = loops.last3 && loops.last2 && loops.last1;
    }
    if reduce >= four_levels {
        first = loops.first3 && loops.first2 && loops.first1 && loops.first0;
        last = loops.last3 && loops.last2 && loops.last1 && loops.last0;
    }
    write_model = write == model;
    write_t0 = write == t0;
    write_t1 = write == t1;
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
    pub(crate) may_start: Signal<In, Bit>,
    /// No beat after this cycle: a reset, or a tile ends.
    pub(crate) stop: Signal<In, Bit>,
    pub(crate) entry: Wide<In>,
    pub(crate) bank: Signal<In, Bit>,
    /// One if there are gradient pads.
    pub(crate) tile: Vec<TileFlags<In>>,
    pub(crate) credit: Signal<In, Bit>,
    pub(crate) busy: Signal<Out, Bit>,
    pub(crate) emitted: Signal<Out, Bit>,
    pub(crate) beat: AluBeat<Out>,
    pub(crate) mask_beat: MaskBeat<Out>,
    pub(crate) tile_beat: Vec<TileBeat<Out>>,
    /// The beat sends a sum. One if there is a way for sums.
    pub(crate) leaves: Vec<Signal<Out, Bit>>,
    microcode: ProgramMemory<AluPacing<Out>, AluFields<Out>, TileFields<Out>>,
    work: Stage<AluFields<In>, AluFields<Out>>,
    tile_work: Vec<Stage<TileFields<In>, TileFields<Out>>>,
    tile_now: Vec<Stage<TileFlags<In>, TileFlags<Out>>>,
    tile_gates: Vec<TileGate>,
    emitted_now: Vec<Flag>,
    sum_gates: Vec<SumGate>,
    parks: Vec<AddressGenerator>,
    ends: Stage<LoopEnds<In>, LoopEnds<Out>>,
    places: Places,
    counters: Stage<LoopCounters<In>, LoopCounters<Out>>,
    advance: Stage<Advance<In>, Advance<Out>>,
    emission: Emission,
    bank_now: Flag,
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
        let field = |name: &str| widths.alu.field(name).bits;
        let beat = |name: &str| widths.beat(name);
        let place = |_: &str| widths.place();
        let (tiles, exchanges) = (0..widths.gradients, 0..widths.exchanges);
        let tile_work = |_| Stage::new(TileFields::new(&field), TileFields::new(&field));
        AluStream {
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
            bank: Signal::default(),
            tile: tiles.clone().map(|_| TileFlags::new(&beat)).collect(),
            credit: Signal::default(),
            busy: Signal::default(),
            emitted: Signal::default(),
            beat: AluBeat::new(&|name| widths.beat(name)),
            mask_beat: MaskBeat::new(&|name| widths.beat(name)),
            tile_beat: tiles.clone().map(|_| TileBeat::new(&|_| widths.gradient)).collect(),
            leaves: exchanges.clone().map(|_| Signal::default()).collect(),
            microcode: ProgramMemory::new(
                "alu",
                Region::Alu,
                widths,
                &widths.alu,
                [AluPacing::new(&field), AluPacing::new(&field)],
                AluFields::new(&field),
                (widths.gradients > 0).then(|| TileFields::new(&field)),
            ),
            work: Stage::new(AluFields::new(&field), AluFields::new(&field)),
            tile_work: tiles.clone().map(tile_work).collect(),
            tile_now: tiles.clone().map(|_| Stage::new(TileFlags::new(&beat), TileFlags::new(&beat))).collect(),
            tile_gates: tiles.clone().map(|_| TileGate::new()).collect(),
            emitted_now: exchanges.clone().map(|_| Flag::new()).collect(),
            sum_gates: exchanges.map(|_| SumGate::new()).collect(),
            parks: tiles.map(|_| AddressGenerator::new(widths.gradient)).collect(),
            ends: Stage::new(LoopEnds::new(&beat), LoopEnds::new(&beat)),
            places: Places::new(widths),
            counters: Stage::new(LoopCounters::new(&place), LoopCounters::new(&place)),
            advance: Stage::new(Advance::new(&beat), Advance::new(&beat)),
            emission: Emission::new(),
            bank_now: Flag::new(),
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
        wire_loops!(self, wiring, pacer);
        wire_mask!(self, wiring);
        wires!(self, wiring;
            decode.loops = ends.q;
            decode.reduce = work.q.reduce;
            decode.write = work.q.write;
            loops.reset = stop;
            loops.step = pacer.issue;
            loops.fresh = pacer.fresh;
            emission.emit = microcode.pacing.emit;
            emission.credit = credit;
            emission.issue = pacer.issue;
            pacer.hold = emission.hold;
            emitted = emission.emitted;
            bank_now.clock = clock;
            bank_now.reset = reset;
            bank_now.d = bank;
            busy = pacer.busy;

            model.clock = clock;
            model.advance = advance.q;
            model.base = work.q.model_base;
            model.delta0 = work.q.model_delta0;
            model.delta1 = work.q.model_delta1;
            model.delta2 = work.q.model_delta2;
            model.delta3 = work.q.model_delta3;
        );
        wire_reads!(self, wiring);
        wires!(self, wiring;
            beat.tree = work.q.tree;
            beat.model_address = model.address;
        );
        wire_operands!(self, wiring);
        wires!(self, wiring;
            beat.destination = destination.address;
        );
        wire_destination!(self, wiring);
        if self.tile_gates.is_empty() {
            wires!(self, wiring;
                beat.write_model = decode.write_model;
                beat.write_t0 = decode.write_t0;
                beat.write_t1 = decode.write_t1;
            );
        }
        for t in 0..self.tile_gates.len() {
            self.wire_tiles(wiring, t);
        }
    }

    fn wire_tiles(&mut self, wiring: &mut Wiring, t: usize) {
        wires!(self, wiring;
            tile_work[t].clock = clock;
            tile_work[t].reset = reset;
            tile_work[t].d = microcode.tiles[t];
            tile_now[t].clock = clock;
            tile_now[t].reset = reset;
            tile_now[t].d = tile[t];
            tile_gates[t].flags = tile_now[t].q;
            tile_gates[t].late = tile_work[t].q.late;
            tile_gates[t].park = tile_work[t].q.park;
            tile_gates[t].write_model = decode.write_model;
            tile_gates[t].write_t0 = decode.write_t0;
            tile_gates[t].write_t1 = decode.write_t1;
            beat.write_model = tile_gates[t].give_model;
            beat.write_t0 = tile_gates[t].give_t0;
            beat.write_t1 = tile_gates[t].give_t1;
            parks[t].clock = clock;
            parks[t].advance = advance.q;
            parks[t].base = tile_work[t].q.park_base;
            parks[t].delta0 = tile_work[t].q.park_delta0;
            parks[t].delta1 = tile_work[t].q.park_delta1;
            parks[t].delta2 = tile_work[t].q.park_delta2;
            parks[t].delta3 = tile_work[t].q.park_delta3;
        );
        if self.sum_gates.is_empty() {
            wires!(self, wiring;
                tile_beat[t].resume = tile_gates[t].resume;
                tile_beat[t].keep = tile_gates[t].keep;
            );
        } else {
            wires!(self, wiring;
                emitted_now[t].clock = clock;
                emitted_now[t].reset = reset;
                emitted_now[t].d = emission.emitted;
                sum_gates[t].emits = emitted_now[t].q;
                sum_gates[t].park = tile_work[t].q.park;
                sum_gates[t].resume = tile_gates[t].resume;
                sum_gates[t].keep = tile_gates[t].keep;
                leaves[t] = sum_gates[t].leaves;
                tile_beat[t].resume = sum_gates[t].give_resume;
                tile_beat[t].keep = sum_gates[t].give_keep;
            );
        }
        wires!(self, wiring; tile_beat[t].address = parks[t].address;);
    }
}
structural!(AluStream, "alu_stream: microcode to beats of the PEs.");

/// Which temporary a bus write goes to.
#[block]
fn MoveDecode() {
    let (issue, t1): In;
    let (write_t0, write_t1): Out;

    write_t0 = issue && !t1;
    write_t1 = issue && t1;
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
    pub(crate) may_start: Signal<In, Bit>,
    /// No beat after this cycle: a reset, or a tile ends.
    pub(crate) stop: Signal<In, Bit>,
    pub(crate) entry: Wide<In>,
    /// One if there are gradient pads.
    pub(crate) last_tile: Vec<Signal<In, Bit>>,
    pub(crate) beat: MoveBeat<Out>,
    pub(crate) mask_beat: MaskBeat<Out>,
    /// One if there is a scalar unit.
    pub(crate) for_scalar: Vec<ForScalar<Out>>,
    /// One if the columns have buses.
    pub(crate) for_columns: Vec<ForColumns<Out>>,
    microcode: ProgramMemory<MovePacing<Out>, MoveFields<Out>, LateField<Out>>,
    work: Stage<MoveFields<In>, MoveFields<Out>>,
    scalar_work: Vec<Stage<ForScalar<In>, ForScalar<Out>>>,
    column_work: Vec<Stage<ForColumns<In>, ForColumns<Out>>>,
    tile_work: Vec<Stage<LateField<In>, LateField<Out>>>,
    last_tile_now: Vec<Flag>,
    late_gates: Vec<LateGate>,
    ends: Stage<LoopEnds<In>, LoopEnds<Out>>,
    places: Places,
    counters: Stage<LoopCounters<In>, LoopCounters<Out>>,
    advance: Stage<Advance<In>, Advance<Out>>,
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
        let field = |name: &str| widths.moves.field(name).bits;
        let beat = |name: &str| widths.beat(name);
        let place = |_: &str| widths.place();
        let bits = widths.moves.field("destination_base").bits;
        let tiles = 0..widths.gradients;
        let tile_work = |_| Stage::new(LateField::new(&field), LateField::new(&field));
        let (scalars, crossings) = (0..widths.scalars, 0..widths.crossings);
        MoveStream {
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
            last_tile: tiles.clone().map(|_| Signal::default()).collect(),
            beat: MoveBeat::new(&|_| bits),
            mask_beat: MaskBeat::new(&|name| widths.beat(name)),
            for_scalar: scalars.clone().map(|_| ForScalar::new(&beat)).collect(),
            for_columns: crossings.clone().map(|_| ForColumns::new(&beat)).collect(),
            microcode: ProgramMemory::new(
                "move",
                Region::Move,
                widths,
                &widths.moves,
                [MovePacing::new(&field), MovePacing::new(&field)],
                MoveFields::new(&field),
                (widths.gradients > 0).then(|| LateField::new(&field)),
            ),
            work: Stage::new(MoveFields::new(&field), MoveFields::new(&field)),
            scalar_work: scalars.map(|_| Stage::new(ForScalar::new(&beat), ForScalar::new(&beat))).collect(),
            column_work: crossings.map(|_| Stage::new(ForColumns::new(&beat), ForColumns::new(&beat))).collect(),
            tile_work: tiles.clone().map(tile_work).collect(),
            last_tile_now: tiles.clone().map(|_| Flag::new()).collect(),
            late_gates: tiles.map(|_| LateGate::new()).collect(),
            ends: Stage::new(LoopEnds::new(&beat), LoopEnds::new(&beat)),
            places: Places::new(widths),
            counters: Stage::new(LoopCounters::new(&place), LoopCounters::new(&place)),
            advance: Stage::new(Advance::new(&beat), Advance::new(&beat)),
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
        wire_loops!(self, wiring, pacer);
        wire_mask!(self, wiring);
        wire_destination!(self, wiring);
        wires!(self, wiring;
            loops.reset = stop;
            loops.step = pacer.issue;
            loops.fresh = pacer.fresh;
            decode.issue = advance.q.step;
            decode.t1 = work.q.t1;
            pacer.hold = never;
            beat.global = work.q.global;
            beat.destination = destination.address;
        );
        if self.late_gates.is_empty() {
            wires!(self, wiring;
                beat.write_t0 = decode.write_t0;
                beat.write_t1 = decode.write_t1;
            );
        }
        for n in 0..self.for_scalar.len() {
            wires!(self, wiring;
                scalar_work[n].clock = clock;
                scalar_work[n].reset = reset;
                scalar_work[n].d = microcode.for_scalar[n];
                for_scalar[n] = scalar_work[n].q;
            );
        }
        for n in 0..self.for_columns.len() {
            wires!(self, wiring;
                column_work[n].clock = clock;
                column_work[n].reset = reset;
                column_work[n].d = microcode.for_columns[n];
                for_columns[n] = column_work[n].q;
            );
        }
        for t in 0..self.late_gates.len() {
            wires!(self, wiring;
                tile_work[t].clock = clock;
                tile_work[t].reset = reset;
                tile_work[t].d = microcode.tiles[t];
                last_tile_now[t].clock = clock;
                last_tile_now[t].reset = reset;
                last_tile_now[t].d = last_tile[t];
                late_gates[t].last = last_tile_now[t].q;
                late_gates[t].late = tile_work[t].q.late;
                late_gates[t].write_t0 = decode.write_t0;
                late_gates[t].write_t1 = decode.write_t1;
                beat.write_t0 = late_gates[t].give_t0;
                beat.write_t1 = late_gates[t].give_t1;
            );
        }
    }
}
structural!(MoveStream, "move_stream: microcode to bus writes of the PEs.");
