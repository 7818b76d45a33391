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
use crate::rtl::register::{Flag, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use arch::registers::{ADDRESS_BITS, ENTRY_STEP_SCALAR, Region};
use blocks::block;
use rust_hdl::prelude::*;

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

/// The scalar stream.
#[derive(LogicBlock)]
pub(crate) struct ScalarStream {
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
    pub(crate) beat: AluBeat<Out>,
    /// The result goes out.
    pub(crate) send: Signal<Out, Bit>,
    microcode: ProgramMemory<MovePacing<Out>, ScalarFields<Out>, TileFields<Out>>,
    work: Stage<ScalarFields<In>, ScalarFields<Out>>,
    ends: Stage<LoopEnds<In>, LoopEnds<Out>>,
    advance: Stage<Advance<In>, Advance<Out>>,
    bank_now: Flag,
    pacer: Pacer,
    loops: LoopNest,
    decode: AluDecode,
    data: AddressGenerator,
    data_bank: BankAddress,
    t0: AddressGenerator,
    t1: AddressGenerator,
    destination: AddressGenerator,
    never: Number,
    _wiring: Wiring,
}

impl ScalarStream {
    pub(crate) fn new(widths: &Widths) -> Self {
        let alone = widths.alone();
        let field = |name: &str| widths.scalar.field(name).bits;
        let beat = |name: &str| alone.beat(name);
        ScalarStream {
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
            beat: AluBeat::new(&beat),
            send: Signal::default(),
            microcode: ProgramMemory::new(
                "scalar",
                Region::Scalar,
                widths,
                &widths.scalar,
                [MovePacing::new(&field), MovePacing::new(&field)],
                ScalarFields::new(&field),
                None,
            ),
            work: Stage::new(ScalarFields::new(&field), ScalarFields::new(&field)),
            ends: Stage::new(LoopEnds::new(&beat), LoopEnds::new(&beat)),
            advance: Stage::new(Advance::new(&beat), Advance::new(&beat)),
            bank_now: Flag::new(),
            pacer: Pacer::new(widths),
            loops: LoopNest::new(widths),
            decode: AluDecode::new(widths),
            data: AddressGenerator::new(widths.data - 1),
            data_bank: BankAddress::new(widths.data),
            t0: AddressGenerator::new(widths.temporary),
            t1: AddressGenerator::new(widths.temporary),
            destination: AddressGenerator::new(alone.beat("destination")),
            never: Number::new(0, 1),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wire_program!(self, wiring);
        wire_pacer!(self, wiring);
        wire_loops!(self, wiring, pacer, without counters);
        wire_destination!(self, wiring);
        wires!(self, wiring;
            decode.loops = ends.q;
            decode.reduce = work.q.reduce;
            decode.write = work.q.write;
            loops.reset = stop;
            loops.step = pacer.issue;
            loops.fresh = pacer.fresh;
            pacer.hold = never;
            bank_now.clock = clock;
            bank_now.reset = reset;
            bank_now.d = bank;
        );
        wire_reads!(self, wiring);
        wires!(self, wiring;
            beat.tree = never;
            beat.model_address = never;
        );
        wire_operands!(self, wiring);
        wires!(self, wiring;
            beat.write_model = never;
            beat.write_t0 = decode.write_t0;
            beat.write_t1 = decode.write_t1;
            beat.destination = destination.address;
            send = work.q.send;
        );
    }
}
structural!(ScalarStream, "scalar_stream: microcode to beats of the scalar unit.");
