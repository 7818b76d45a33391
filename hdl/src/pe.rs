//! Processing engine.
//!
//!     t        t+1            t+2         t+3          t+4           t+5      t+6      t+7
//!          ┌─────────┐    ┌─────────┐  ┌──────────┐  ┌────────────┐  ┌────────┐ ┌──────┐ ┌───────┐
//!     ───▶ │ 4 pads  │ ─▶ │ select  │─▶│ multiply │─▶│ accumulate │─▶│ coarse │▶│ fine │▶│ round │─▶ pads
//!          └─────────┘    └─────────┘  │ align    │  └────────────┘  │ shift  │ └──────┘ └───────┘
//!                                      └──────────┘         │        └────────┘
//!                                                           └──────▶ row tree
//!
//! No instruction memory, no decoder, no number of its own: all PEs are one module. Control comes staged from the PU's
//! [`crate::pipeline`]; a field name ends with the cycle in which it is used.

use crate::arithmetic::{Accumulate, Align, CoarseShift, FINE_BITS, FineShift, Multiply, RoundStage};
use crate::beats::Widths;
use crate::bundle::bundle;
use crate::memory::Scratchpad;
use crate::register::Delay;
use crate::signal::Wide;
use crate::wiring::{Wiring, comment, structural, wires};
use arch::isa::Pad;
use rust_hdl::prelude::*;

bundle! {
    /// Control of one beat, each part in the cycle in which a PE needs it.
    PeControl {
        bits: pad_b_t1, pad_c_t1, valid_t3, first_t3, subtract_t3, negative_t6, write_model_t7, write_t0_t7, write_t1_t7;
        words: model_address, data_address, t0_address, t1_address, a_t1, b_t1, c_t1, immediate_b_t1, immediate_c_t1,
            align_t2, shift_t4, fine_t5, model_destination_t7, temporary_destination_t7;
    }
}

bundle! {
    /// A bus write.
    BusWrite {
        bits: write_t0, write_t1;
        words: address, word;
    }
}

/// Widths of [`PeControl`] and [`BusWrite`].
pub(crate) fn pe_width(widths: &Widths, name: &str) -> u32 {
    match name {
        "model_destination_t7" => widths.model,
        "temporary_destination_t7" | "address" => widths.temporary,
        "word" => widths.word,
        "fine_t5" => FINE_BITS,
        "a_t1" | "b_t1" | "c_t1" => PAD_BITS,
        _ => widths.beat(name.rsplit_once("_t").map_or(name, |(field, _)| field)),
    }
}

/// The operands of a beat: t+1 to t+2.
///
/// A PE outside the mask adds nothing to its sum: its `a` and `c` are zero, so its product and its start are. An operand that is
/// no pad is an immediate, and an immediate that is not used is zero, so that both can be joined.
#[derive(LogicBlock)]
struct OperandSelect {
    clock: Signal<In, Clock>,
    model: Wide<In>,
    data: Wide<In>,
    t0: Wide<In>,
    t1: Wide<In>,
    immediate_b: Wide<In>,
    immediate_c: Wide<In>,
    /// The mask admits this PE.
    admitted: Signal<In, Bit>,
    /// Numbers of pads.
    select_a: Wide<In>,
    select_b: Wide<In>,
    select_c: Wide<In>,
    pad_b: Signal<In, Bit>,
    pad_c: Signal<In, Bit>,
    a: Wide<Out>,
    b: Wide<Out>,
    c: Wide<Out>,
}

/// Code of an immediate operand; codes below it are pads, those above it nothing.
pub(crate) const IMMEDIATE: u32 = 4;
/// Bits of the number of a pad.
const PAD_BITS: u32 = IMMEDIATE.ilog2();

impl OperandSelect {
    fn new(widths: &Widths) -> Self {
        let word = || Wide::signed(widths.word);
        let select = || Wide::new(PAD_BITS);
        OperandSelect {
            clock: Signal::default(),
            model: word(),
            data: word(),
            t0: word(),
            t1: word(),
            immediate_b: word(),
            immediate_c: word(),
            admitted: Signal::default(),
            select_a: select(),
            select_b: select(),
            select_c: select(),
            pad_b: Signal::default(),
            pad_c: Signal::default(),
            a: Wide::signed(widths.word),
            b: Wide::signed(widths.word),
            c: Wide::signed(widths.word),
        }
    }
}

impl Logic for OperandSelect {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let pads = [self.model.val(), self.data.val(), self.t0.val(), self.t1.val()];
            let pad = |number: i128, used: bool| if used { pads[number as usize] } else { 0 };
            let admitted = self.admitted.val();
            self.a.next = pad(self.select_a.val(), admitted);
            self.b.next = pad(self.select_b.val(), self.pad_b.val()) | self.immediate_b.val();
            let c = pad(self.select_c.val(), self.pad_c.val()) | self.immediate_c.val();
            self.c.next = if admitted { c } else { 0 };
        }
    }
    fn connect(&mut self) {
        self.a.connect();
        self.b.connect();
        self.c.connect();
    }
    fn hdl(&self) -> Verilog {
        let word = self.a.width();
        let name = |pad: Pad| ["model", "data", "t0", "t1"][pad as usize];
        let [first, second, third, fourth] = Pad::ALL.map(name);
        let pads = |operand: &str| {
            let select = format!("select_{operand}");
            format!(
                "wire [{}:0] pads_{operand} = {select}[1] ? ({select}[0] ? {fourth} : {third}) : ({select}[0] ? {second} : {first});\n",
                word - 1
            )
        };
        let joined = |operand: &str| format!("({{{word}{{pad_{operand}}}}} & pads_{operand}) | immediate_{operand}");
        Verilog::Custom(format!(
            "// operand_select: operands a, b, c from pads and immediates; outside the mask a and c are 0, which adds nothing.
{}{}{}always @(posedge clock) begin
    a <= pads_a;
    b <= {};
    c <= {};
    if (!admitted) begin
        a <= {word}'d0;
        c <= {word}'d0;
    end
end",
            pads("a"),
            pads("b"),
            pads("c"),
            joined("b"),
            joined("c"),
        ))
    }
}

/// Write port of a pad that two may write: the result of the alu, and the bus or the loader.
#[derive(LogicBlock)]
struct WritePort {
    alu_write: Signal<In, Bit>,
    alu_admitted: Signal<In, Bit>,
    alu_address: Wide<In>,
    alu_word: Wide<In>,
    other_write: Signal<In, Bit>,
    other_admitted: Signal<In, Bit>,
    other_address: Wide<In>,
    other_word: Wide<In>,
    write: Signal<Out, Bit>,
    address: Wide<Out>,
    word: Wide<Out>,
}

impl WritePort {
    fn new(address: u32, word: u32) -> Self {
        WritePort {
            alu_write: Signal::default(),
            alu_admitted: Signal::default(),
            alu_address: Wide::new(address),
            alu_word: Wide::new(word),
            other_write: Signal::default(),
            other_admitted: Signal::default(),
            other_address: Wide::new(address),
            other_word: Wide::new(word),
            write: Signal::default(),
            address: Wide::new(address),
            word: Wide::new(word),
        }
    }
}

impl Logic for WritePort {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("write_port: write port of a pad, for results and for the bus or the loader; never both in a cycle.");
        self.write.next =
            (self.alu_write.val() && self.alu_admitted.val()) || (self.other_write.val() && self.other_admitted.val());
        self.address.next = self.alu_address.val();
        self.word.next = self.alu_word.val();
        if self.other_write.val() {
            self.address.next = self.other_address.val();
            self.word.next = self.other_word.val();
        }
    }
}

/// What the mask of a PE gates: data pad, status.
#[derive(LogicBlock)]
struct Gates {
    load_write: Signal<In, Bit>,
    load_admitted: Signal<In, Bit>,
    data_write: Signal<Out, Bit>,
    saturated_t7: Signal<In, Bit>,
    admitted_t7: Signal<In, Bit>,
    write_model_t7: Signal<In, Bit>,
    write_t0_t7: Signal<In, Bit>,
    write_t1_t7: Signal<In, Bit>,
    saturated: Signal<Out, Bit>,
}

impl Gates {
    fn new() -> Self {
        Gates {
            load_write: Signal::default(),
            load_admitted: Signal::default(),
            data_write: Signal::default(),
            saturated_t7: Signal::default(),
            admitted_t7: Signal::default(),
            write_model_t7: Signal::default(),
            write_t0_t7: Signal::default(),
            write_t1_t7: Signal::default(),
            saturated: Signal::default(),
        }
    }
}

impl Logic for Gates {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("gates: what the mask of a PE gates: data pad and saturation status.");
        self.data_write.next = self.load_write.val() && self.load_admitted.val();
        self.saturated.next = self.saturated_t7.val()
            && self.admitted_t7.val()
            && (self.write_model_t7.val() || self.write_t0_t7.val() || self.write_t1_t7.val());
    }
}

/// One processing engine.
#[derive(LogicBlock)]
pub(crate) struct ProcessingEngine {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) control: PeControl<In>,
    /// Mask of the alu beat, at t.
    pub(crate) admitted: Wide<In>,
    pub(crate) bus: BusWrite<In>,
    pub(crate) bus_admitted: Signal<In, Bit>,
    pub(crate) load_write_model: Signal<In, Bit>,
    pub(crate) load_write_data: Signal<In, Bit>,
    pub(crate) load_model_address: Wide<In>,
    pub(crate) load_data_address: Wide<In>,
    pub(crate) load_admitted: Signal<In, Bit>,
    pub(crate) load_word: Wide<In>,
    /// To the row tree; t+4.
    pub(crate) tree: Wide<Out>,
    /// A saturated result is written; t+7.
    pub(crate) saturated: Signal<Out, Bit>,
    model: Scratchpad,
    data: Scratchpad,
    t0: Scratchpad,
    t1: Scratchpad,
    select: OperandSelect,
    multiply: Multiply,
    aligner: Align,
    accumulate: Accumulate,
    coarse: CoarseShift,
    fine: FineShift,
    round: RoundStage,
    admitted_t1: Delay,
    admitted_t7: Delay,
    gates: Gates,
    model_port: WritePort,
    t0_port: WritePort,
    t1_port: WritePort,
    _wiring: Wiring,
}

impl ProcessingEngine {
    pub(crate) fn new(widths: &Widths) -> Self {
        let (word, accumulator) = (widths.word, widths.accumulator);
        ProcessingEngine {
            clock: Signal::default(),
            control: PeControl::new(&|name| pe_width(widths, name)),
            admitted: Wide::new(1),
            bus: BusWrite::new(&|name| pe_width(widths, name)),
            bus_admitted: Signal::default(),
            load_write_model: Signal::default(),
            load_write_data: Signal::default(),
            load_model_address: Wide::new(widths.model),
            load_data_address: Wide::new(widths.data),
            load_admitted: Signal::default(),
            load_word: Wide::new(word),
            tree: Wide::new(accumulator),
            saturated: Signal::default(),
            model: Scratchpad::new(widths.model, word),
            data: Scratchpad::new(widths.data, word),
            t0: Scratchpad::new(widths.temporary, word),
            t1: Scratchpad::new(widths.temporary, word),
            select: OperandSelect::new(widths),
            multiply: Multiply::new(word, word),
            aligner: Align::new(word, widths.beat("align"), accumulator),
            accumulate: Accumulate::new(2 * word, accumulator),
            coarse: CoarseShift::new(accumulator, widths.beat("shift"), word),
            fine: FineShift::new(accumulator, word),
            round: RoundStage::new(word),
            admitted_t1: Delay::new(1, 1),
            admitted_t7: Delay::new(1, 6),
            gates: Gates::new(),
            model_port: WritePort::new(widths.model, word),
            t0_port: WritePort::new(widths.temporary, word),
            t1_port: WritePort::new(widths.temporary, word),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            model.clock = clock;
            model.read_address = control.model_address;
            model.write = model_port.write;
            model.write_address = model_port.address;
            model.write_data = model_port.word;
            data.clock = clock;
            data.read_address = control.data_address;
            data.write = gates.data_write;
            data.write_address = load_data_address;
            data.write_data = load_word;
            t0.clock = clock;
            t0.read_address = control.t0_address;
            t0.write = t0_port.write;
            t0.write_address = t0_port.address;
            t0.write_data = t0_port.word;
            t1.clock = clock;
            t1.read_address = control.t1_address;
            t1.write = t1_port.write;
            t1.write_address = t1_port.address;
            t1.write_data = t1_port.word;

            select.clock = clock;
            select.model = model.read_data;
            select.data = data.read_data;
            select.t0 = t0.read_data;
            select.t1 = t1.read_data;
            select.immediate_b = control.immediate_b_t1;
            select.immediate_c = control.immediate_c_t1;
            select.admitted = admitted_t1.q;
            select.select_a = control.a_t1;
            select.select_b = control.b_t1;
            select.select_c = control.c_t1;
            select.pad_b = control.pad_b_t1;
            select.pad_c = control.pad_c_t1;
            multiply.clock = clock;
            multiply.a = select.a;
            multiply.b = select.b;
            aligner.clock = clock;
            aligner.c = select.c;
            aligner.places = control.align_t2;
            accumulate.clock = clock;
            accumulate.valid = control.valid_t3;
            accumulate.first = control.first_t3;
            accumulate.subtract = control.subtract_t3;
            accumulate.start = aligner.aligned;
            accumulate.product = multiply.product;
            coarse.clock = clock;
            coarse.value = accumulate.sum;
            coarse.shift = control.shift_t4;
            fine.clock = clock;
            fine.part = coarse.part;
            fine.shift = control.fine_t5;
            round.clock = clock;
            round.shifted = fine.shifted;
            round.negative = control.negative_t6;

            admitted_t1.clock = clock;
            admitted_t1.d = admitted;
            admitted_t7.clock = clock;
            admitted_t7.d = admitted_t1.q;
            gates.load_write = load_write_data;
            gates.load_admitted = load_admitted;
            gates.saturated_t7 = round.saturated;
            gates.admitted_t7 = admitted_t7.q;
            gates.write_model_t7 = control.write_model_t7;
            gates.write_t0_t7 = control.write_t0_t7;
            gates.write_t1_t7 = control.write_t1_t7;
            tree = accumulate.sum;
            saturated = gates.saturated;

            model_port.alu_write = control.write_model_t7;
            model_port.alu_admitted = admitted_t7.q;
            model_port.alu_address = control.model_destination_t7;
            model_port.alu_word = round.word;
            model_port.other_write = load_write_model;
            model_port.other_admitted = load_admitted;
            model_port.other_address = load_model_address;
            model_port.other_word = load_word;
            t0_port.alu_write = control.write_t0_t7;
            t0_port.alu_admitted = admitted_t7.q;
            t0_port.alu_address = control.temporary_destination_t7;
            t0_port.alu_word = round.word;
            t0_port.other_write = bus.write_t0;
            t0_port.other_admitted = bus_admitted;
            t0_port.other_address = bus.address;
            t0_port.other_word = bus.word;
            t1_port.alu_write = control.write_t1_t7;
            t1_port.alu_admitted = admitted_t7.q;
            t1_port.alu_address = control.temporary_destination_t7;
            t1_port.alu_word = round.word;
            t1_port.other_write = bus.write_t1;
            t1_port.other_admitted = bus_admitted;
            t1_port.other_address = bus.address;
            t1_port.other_word = bus.word;
        );
    }
}
structural!(ProcessingEngine, "processing_engine: four pads and c + a*b; row and column are decided outside.");
