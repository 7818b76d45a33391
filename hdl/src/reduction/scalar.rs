//! The scalar unit: one more processing engine beside the global root (docs/machine.md, section 9). Only grids that have it have
//! these blocks.
//!
//!     scalar_stream ──beat──▶ control_pipeline ──▶ PE ──t+7──▶ global bus register
//!                              global bus, lane 0 ──▶ its pads
//!
//! It is the same PE with the same control as in a PU, but for the pads that it does not have; only what stands around it is its own.

use crate::beats::{AluBeat, Widths};
use crate::control::pipeline::{ControlPipeline, wire_read_addresses};
use crate::control::write_address::WriteAddress;
use crate::datapath::pe::ProcessingEngine;
use crate::rtl::register::{Flag, FlagDelay, Register, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use blocks::block;
use rust_hdl::prelude::*;

/// Which bus writes and transfers the scalar unit takes, and which results go out.
#[block]
fn UnitGates() {
    let (move_t0, move_t1, move_here, load_data, load_here, valid, last, send): In;
    let (take_t0, take_t1, take_data, goes_out): Out;

    take_t0 = move_t0 && move_here;
    take_t1 = move_t1 && move_here;
    take_data = load_data && load_here;
    goes_out = valid && last && send;
}

/// What the scalar unit gives to the global bus, 0 where it gives nothing, and its saturation.
///
/// What the scalar unit gives to the global bus register, and its part of the status.
#[block]
fn UnitResult(word: u32) {
    let out_t7: In;
    let word_t7: In<word>;
    let saturated_t7: In;
    /// The PE writes a saturated result.
    let written: In;
    /// The bus is taken.
    let take_t0: In;
    let (take_t1, bus_saturated): In;
    let sent: Out<word>;
    let (sent_saturated, saturated): Out;
    let nothing: Const<word> = 0;

    sent = nothing;
    if out_t7 {
        sent = word_t7;
    }
    sent_saturated = out_t7 && saturated_t7;
    saturated = written || (bus_saturated && (take_t0 || take_t1));
}

/// The scalar unit.
#[derive(LogicBlock)]
pub(crate) struct ScalarUnit {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) beat: AluBeat<In>,
    pub(crate) send: Signal<In, Bit>,
    pub(crate) move_t0: Signal<In, Bit>,
    pub(crate) move_t1: Signal<In, Bit>,
    pub(crate) move_destination: Wide<In>,
    /// The move beat is for the unit, too.
    pub(crate) move_here: Signal<In, Bit>,
    pub(crate) load_data: Signal<In, Bit>,
    pub(crate) load_address: Wide<In>,
    pub(crate) load_here: Signal<In, Bit>,
    /// Lane 0 of the transfer.
    pub(crate) lane: Wide<In>,
    /// What the global bus register is going to hold, and whether it saturated.
    pub(crate) global_result: Wide<In>,
    pub(crate) global_saturates: Signal<In, Bit>,
    /// For the global bus register; 0 when nothing is sent.
    pub(crate) sent: Wide<Out>,
    pub(crate) sent_saturated: Signal<Out, Bit>,
    pub(crate) saturated: Signal<Out, Bit>,
    beat_now: Stage<AluBeat<In>, AluBeat<Out>>,
    send_now: Flag,
    gates: UnitGates,
    out: FlagDelay,
    take_t0: Flag,
    take_t1: Flag,
    take_data: Flag,
    lane_now: Register,
    /// This unit's copy of the global bus register.
    global_bus: Register,
    global_saturated: Flag,
    write_address: WriteAddress,
    pipeline: ControlPipeline,
    pe: ProcessingEngine,
    result: UnitResult,
    saturated_now: Flag,
    never: Number,
    one: Number,
    _pad_register: bool,
    _wiring: Wiring,
}

impl ScalarUnit {
    pub(crate) fn new(widths: &Widths) -> Self {
        let alone = &widths.alone();
        let beat = |name: &str| alone.beat(name);
        ScalarUnit {
            clock: Signal::default(),
            reset: Signal::default(),
            beat: AluBeat::new(&beat),
            send: Signal::default(),
            move_t0: Signal::default(),
            move_t1: Signal::default(),
            move_destination: Wide::new(alone.temporary),
            move_here: Signal::default(),
            load_data: Signal::default(),
            load_address: Wide::new(alone.data),
            load_here: Signal::default(),
            lane: Wide::new(alone.word),
            global_result: Wide::new(alone.word),
            global_saturates: Signal::default(),
            sent: Wide::new(alone.word),
            sent_saturated: Signal::default(),
            saturated: Signal::default(),
            beat_now: Stage::new(AluBeat::new(&beat), AluBeat::new(&beat)),
            send_now: Flag::new(),
            gates: UnitGates::new(),
            out: FlagDelay::new(arch::timing::ALU_WRITE as u32),
            take_t0: Flag::new(),
            take_t1: Flag::new(),
            take_data: Flag::new(),
            lane_now: Register::new(alone.word),
            global_bus: Register::new(alone.word),
            global_saturated: Flag::new(),
            write_address: WriteAddress::new(alone),
            pipeline: ControlPipeline::new(alone),
            pe: ProcessingEngine::without_model(alone),
            result: UnitResult::new(alone.word),
            saturated_now: Flag::new(),
            never: Number::new(0, 1),
            one: Number::new(1, 1),
            _pad_register: alone.pad_register,
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            beat_now.clock = clock;
            beat_now.reset = reset;
            beat_now.d = beat;
            send_now.clock = clock;
            send_now.reset = reset;
            send_now.d = send;
            gates.move_t0 = move_t0;
            gates.move_t1 = move_t1;
            gates.move_here = move_here;
            gates.load_data = load_data;
            gates.load_here = load_here;
            gates.valid = beat_now.q.valid;
            gates.last = beat_now.q.last;
            gates.send = send_now.q;
            out.clock = clock;
            out.reset = reset;
            out.d = gates.goes_out;
            take_t0.clock = clock;
            take_t0.reset = reset;
            take_t0.d = gates.take_t0;
            take_t1.clock = clock;
            take_t1.reset = reset;
            take_t1.d = gates.take_t1;
            take_data.clock = clock;
            take_data.reset = reset;
            take_data.d = gates.take_data;
            lane_now.clock = clock;
            lane_now.d = lane;
            global_bus.clock = clock;
            global_bus.d = global_result;
            global_saturated.clock = clock;
            global_saturated.reset = reset;
            global_saturated.d = global_saturates;

            pipeline.clock = clock;
            pipeline.reset = reset;
            pipeline.beat = beat_now.q;
            write_address.clock = clock;
            write_address.load_model = never;
            write_address.bus_t0 = gates.take_t0;
            write_address.bus_t1 = gates.take_t1;
            write_address.loaded = never;
            write_address.loaded_data = load_address;
            write_address.moved = move_destination;
            write_address.result = pipeline.destination_t6;

            pe.clock = clock;
            pe.control = pipeline.control;
            pe.admitted = one;
            pe.bus.write_t0 = take_t0.q;
            pe.bus.write_t1 = take_t1.q;
            pe.bus.word = global_bus.q;
            pe.bus_admitted = one;
            pe.load_write_model = never;
            pe.load_write_data = take_data.q;
            pe.addresses = write_address.addresses;
            pe.load_admitted = one;
            pe.load_word = lane_now.q;

            result.out_t7 = out.q;
            result.word_t7 = pe.results[0].word;
            result.saturated_t7 = pe.results[0].saturated;
            result.written = pe.saturated;
            result.take_t0 = take_t0.q;
            result.take_t1 = take_t1.q;
            result.bus_saturated = global_saturated.q;
            sent = result.sent;
            sent_saturated = result.sent_saturated;
            saturated_now.clock = clock;
            saturated_now.reset = reset;
            saturated_now.d = result.saturated;
            saturated = saturated_now.q;
        );
        wire_read_addresses!(self, wiring, self._pad_register, beat, beat_now);
        for n in 0..self.pe.starts.len() {
            wires!(self, wiring; pe.starts[n] = pipeline.starts[n];);
        }
    }
}
structural!(ScalarUnit, "scalar_unit: a PE beside the global root, for values that are the same in all PEs.");
