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
use blocks::block;
use rust_hdl_core::prelude::*;

/// Which bus writes and transfers the scalar unit takes, and which results go out.
#[block]
fn UnitGates() {
    for PAD in TEMPORARIES {
        let move_PAD: In;
    }
    let (move_here, load_data, load_here, valid, last, send): In;
    for PAD in TEMPORARIES {
        let take_PAD: Out;
    }
    let (take_data, goes_out): Out;

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
    for PAD in TEMPORARIES {
        let take_PAD: In;
    }
    let bus_saturated: In;
    let sent: Out<word>;
    let (sent_saturated, saturated): Out;
    let nothing: Const<word> = 0;

    sent = nothing;
    if out_t7 {
        sent = word_t7;
    }
    sent_saturated = out_t7 && saturated_t7;
    saturated = written || (bus_saturated && (any!(PAD in TEMPORARIES, take_PAD)));
}

/// A PE beside the global root, for values that are the same in all PEs.
#[block(clock, reset, wires, long = "wires only: a processing unit with one PE")]
pub(crate) fn ScalarUnit(widths: &Widths) {
    let alone = &widths.alone();
    let beat = |name: &str| alone.beat(name);
    let beat: In<AluBeat> = beat;
    let send: In;
    for PAD in TEMPORARIES {
        let move_PAD: In;
    }
    let move_destination: In<{ alone.temporary }>;
    /// The move beat is for the unit, too.
    let move_here: In;
    let load_data: In;
    let load_address: In<{ alone.data }>;
    let load_here: In;
    /// Lane 0 of the transfer.
    let lane: In<{ alone.word }>;
    /// What the global bus register is going to hold, and whether it saturated.
    let global_result: In<{ alone.word }>;
    let global_saturates: In;
    /// For the global bus register; 0 when nothing is sent.
    let sent: Out<{ alone.word }>;
    let (sent_saturated, saturated): Out;
    let beat_now: Stage<AluBeat> = beat;
    let send_now: Flag;
    let gates = UnitGates();
    let out: FlagDelay<{ arch::timing::ALU_WRITE as u32 }>;
    for PAD in TEMPORARIES {
        let take_PAD: Flag;
    }
    let take_data: Flag;
    let lane_now: Register<{ alone.word }>;
    /// This unit's copy of the global bus register.
    let global_bus: Register<{ alone.word }>;
    let global_saturated: Flag;
    let write_address = WriteAddress(clock, alone);
    let pipeline = ControlPipeline(clock, reset, alone);
    #[clocked]
    let pe: ProcessingEngine = ProcessingEngine::without_model(alone);
    let result = UnitResult(alone.word);
    let saturated_now: Flag;
    let (never, one): Const<1> = (0, 1);
    let _pad_register: bool = alone.pad_register;

    beat_now = beat;
    send_now = send;
    for PAD in TEMPORARIES {
        gates.move_PAD = move_PAD;
    }
    for NAME in [move_here, load_data, load_here] {
        gates.NAME = NAME;
    }
    gates.valid = beat_now.valid;
    gates.last = beat_now.last;
    gates.send = send_now;
    out = gates.goes_out;
    for PAD in TEMPORARIES {
        take_PAD = gates.take_PAD;
    }
    take_data = gates.take_data;
    lane_now = lane;
    global_bus = global_result;
    global_saturated = global_saturates;

    pipeline.beat = beat_now;
    write_address.load_model = never;
    for PAD in TEMPORARIES {
        write_address.bus_PAD = gates.take_PAD;
    }
    write_address.loaded = never;
    write_address.loaded_data = load_address;
    write_address.moved = move_destination;
    write_address.result = pipeline.destination_t6;

    pe.control = pipeline.control;
    pe.admitted = one;
    for PAD in TEMPORARIES {
        pe.bus.write_PAD = take_PAD;
    }
    pe.bus.word = global_bus;
    pe.bus_admitted = one;
    pe.load_write_model = never;
    pe.load_write_data = take_data;
    pe.addresses = write_address.addresses;
    pe.load_admitted = one;
    pe.load_word = lane_now;

    result.out_t7 = out;
    result.word_t7 = pe.results[0].word;
    result.saturated_t7 = pe.results[0].saturated;
    result.written = pe.saturated;
    for PAD in TEMPORARIES {
        result.take_PAD = take_PAD;
    }
    result.bus_saturated = global_saturated;
    sent = result.sent;
    sent_saturated = result.sent_saturated;
    saturated_now = result.saturated;
    saturated = saturated_now;
    wire_read_addresses!(beat, beat_now);
    for n in 0..pe.positive.len() {
        pe.positive[n] = pipeline.positive_t5[n];
    }
    for n in 0..pe.starts.len() {
        pe.starts[n] = pipeline.starts[n];
    }
}
