//! Processing engine.
//!
//!     t        t+1            t+2         t+3          t+4           t+5      t+6      t+7
//!          ┌─────────┐    ┌─────────┐  ┌──────────┐  ┌────────────┐  ┌─────────────────────────┐
//!     ───▶ │ 4 pads  │ ─▶ │ select  │─▶│ multiply │─▶│ accumulate │─▶│ narrow: shift and round │─▶ pads
//!          └─────────┘    └─────────┘  │ align    │  └────────────┘  └─────────────────────────┘
//!                                      └──────────┘         │
//!                                                           └──────▶ row tree
//!
//! A grid for batches in tiles has a fifth pad as wide as the accumulator ([`crate::datapath::tiles`]): sums go there at t+4 instead of to
//! a pad, and start from there at t+2.
//!
//! No instruction memory, no decoder, no number of its own: all PEs are one module. Control comes staged from the PU's
//! [`crate::control::pipeline`]; a field name ends with the cycle in which it is used.

use crate::beats::{PartBeat, Widths};
use crate::datapath::exchange::{JoinedParts, LeavingSum, SumPort};
use crate::datapath::memory::Scratchpad;
use crate::datapath::multiply_add::MultiplyAdd;
use crate::datapath::narrow::Narrow;
use crate::datapath::operands::{IMMEDIATE, OperandSelect};
use crate::datapath::shift::{Align, code_bits};
use crate::datapath::tiles::{ParkControl, StartSelect};
use crate::rtl::bundle::bundle;
use crate::rtl::register::Delay;
use crate::rtl::signal::Wide;
use crate::rtl::wiring::{Wiring, structural, wires};
use blocks::block;
use rust_hdl::prelude::*;

bundle! {
    /// Control of one beat, each part in the cycle in which a PE needs it.
    PeControl {
        bits: valid_t3, first_t3, negative_t5, write_model_t7, write_t0_t7, write_t1_t7;
        words: model_address, data_address, t0_address, t1_address, a_t1, b_t1, c_t1, immediate_b_t1, immediate_c_t1,
            combine_t3, align_t2, shift_t4, shift_t5;
    }
}

bundle! {
    /// What else a PE must know of a beat where accumulators compare: with what they begin.
    StartControl {
        bits: starts_t2;
        words: combine_t2;
    }
}

bundle! {
    /// What a PE makes of a sum; t+7.
    ResultWord {
        bits: saturated;
        words: word;
    }
}

bundle! {
    /// A bus write, but for its address.
    BusWrite {
        bits: write_t0, write_t1;
        words: word;
    }
}

bundle! {
    /// Write addresses of the pads, whoever writes: the same in all PEs of a PU.
    WriteAddresses {
        bits: ;
        words: model, data, t0, t1;
    }
}

bundle! {
    /// Read addresses of the pads: those of a beat at t, or at t-1 where pads have output registers.
    ReadAddresses {
        bits: ;
        words: model, data, t0, t1;
    }
}

bundle! {
    /// What a PE writes into pads that its row shares.
    PadWrites {
        bits: write_model, write_data, write_t0, write_t1;
        words: model, data, t0, t1;
    }
}

bundle! {
    /// Words of such pads.
    PadWords {
        bits: ;
        words: model, data, t0, t1;
    }
}

/// Widths of [`WriteAddresses`] and [`ReadAddresses`].
pub(crate) fn address_width(widths: &Widths, name: &str) -> u32 {
    match name {
        "model" => widths.model,
        "data" => widths.data,
        _ => widths.temporary,
    }
}

/// Widths of [`PeControl`] and [`BusWrite`].
pub(crate) fn pe_width(widths: &Widths, name: &str) -> u32 {
    match name {
        "word" => widths.word,
        "align_t2" => code_bits(widths.alignments),
        "shift_t4" | "shift_t5" => code_bits(widths.shifts),
        "a_t1" => widths.beat("a"),
        "b_t1" | "c_t1" => IMMEDIATE,
        _ => widths.beat(name.rsplit_once("_t").map_or(name, |(field, _)| field)),
    }
}

/// Write port of a pad, for results and for the bus or the loader; never both in a cycle.
///
/// Write port of a pad that two may write: the result of the alu, and the bus or the loader. Its address is decided for all PEs
/// of a PU at once.
#[block]
fn WritePort(word: u32) {
    let (alu_write, alu_admitted): In;
    let alu_word: In<word>;
    let (other_write, other_admitted): In;
    let other_word: In<word>;
    let write: Out;
    let word: Out<word>;

    write = (alu_write && alu_admitted) || (other_write && other_admitted);
    word = alu_word;
    if other_write {
        word = other_word;
    }
}

/// What the mask of a PE gates: data pad and saturation status.
#[block]
fn Gates() {
    let (load_write, load_admitted): In;
    let data_write: Out;
    let (saturated_t7, admitted_t7, write_model_t7, write_t0_t7, write_t1_t7): In;
    let saturated: Out;

    data_write = load_write && load_admitted;
    saturated = saturated_t7 && admitted_t7 && (write_model_t7 || write_t0_t7 || write_t1_t7);
}

/// One processing engine.
#[derive(LogicBlock)]
pub(crate) struct ProcessingEngine {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) control: PeControl<In>,
    /// One on machines with extremes.
    pub(crate) starts: Vec<StartControl<In>>,
    /// Mask of the alu beat, at t.
    pub(crate) admitted: Wide<In>,
    pub(crate) bus: BusWrite<In>,
    pub(crate) bus_admitted: Signal<In, Bit>,
    pub(crate) load_write_model: Signal<In, Bit>,
    pub(crate) load_write_data: Signal<In, Bit>,
    pub(crate) addresses: WriteAddresses<In>,
    pub(crate) load_admitted: Signal<In, Bit>,
    pub(crate) load_word: Wide<In>,
    /// One if there is a gradient pad.
    pub(crate) park: Vec<ParkControl<In>>,
    /// To the row tree; t+4.
    pub(crate) tree: Wide<Out>,
    /// A saturated result is written; t+7.
    pub(crate) saturated: Signal<Out, Bit>,
    /// Results, whoever takes them. One if the PE is the scalar unit's.
    pub(crate) results: Vec<ResultWord<Out>>,
    /// To and from pads that its row shares. One each if it does; then the PE has none of its own.
    pub(crate) writes: Vec<PadWrites<Out>>,
    pub(crate) words: Vec<PadWords<In>>,
    /// The sum that is parked, at t+2. One if the row shares its gradient pads.
    pub(crate) parked: Vec<Wide<In>>,
    model: Scratchpad,
    data: Scratchpad,
    t0: Scratchpad,
    t1: Scratchpad,
    gradient: Vec<Scratchpad>,
    start_select: Vec<StartSelect>,
    /// Parts of a sum that comes back, and the last beat of one that leaves. One each if sums do.
    pub(crate) parts: Vec<PartBeat<In>>,
    pub(crate) leaves: Vec<Signal<In, Bit>>,
    leaving: Vec<LeavingSum>,
    joining: Vec<JoinedParts>,
    gradient_port: Vec<SumPort>,
    select: OperandSelect,
    aligner: Align,
    multiply_add: MultiplyAdd,
    narrow: Narrow,
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
        let own = |bits: u32, word: u32| {
            Scratchpad::new(bits, word).in_blocks_from(widths.block_depth).with_register(widths.pad_register)
        };
        let pad = |bits: u32| if widths.in_rows { Scratchpad::none(bits, word) } else { own(bits, word) };
        let (gradients, exchanges) = (0..widths.gradients, 0..widths.exchanges);
        let (shared, shared_sums) = (0..u32::from(widths.in_rows), 0..widths.gradients_in_rows());
        let parks = |bits: u32| {
            if shared_sums.is_empty() { own(bits, accumulator) } else { Scratchpad::none(bits, accumulator) }
        };
        ProcessingEngine {
            clock: Signal::default(),
            control: PeControl::new(&|name| pe_width(widths, name)),
            starts: (0..u32::from(widths.extremes))
                .map(|_| StartControl::new(&|name| pe_width(widths, name)))
                .collect(),
            admitted: Wide::new(1),
            bus: BusWrite::new(&|name| pe_width(widths, name)),
            bus_admitted: Signal::default(),
            load_write_model: Signal::default(),
            load_write_data: Signal::default(),
            addresses: WriteAddresses::new(&|name| address_width(widths, name)),
            load_admitted: Signal::default(),
            load_word: Wide::new(word),
            park: gradients.clone().map(|_| ParkControl::new(&|_| widths.gradient)).collect(),
            tree: Wide::new(accumulator),
            saturated: Signal::default(),
            results: Vec::new(),
            writes: shared.clone().map(|_| PadWrites::new(&|_| word)).collect(),
            words: shared.map(|_| PadWords::new(&|_| word)).collect(),
            parked: shared_sums.clone().map(|_| Wide::signed(accumulator)).collect(),
            model: pad(widths.model),
            data: pad(widths.data),
            t0: pad(widths.temporary),
            t1: pad(widths.temporary),
            gradient: gradients.clone().map(|_| parks(widths.gradient)).collect(),
            start_select: gradients.map(|_| StartSelect::new(accumulator)).collect(),
            parts: exchanges.clone().map(|_| PartBeat::new(&|_| widths.gradient)).collect(),
            leaves: exchanges.clone().map(|_| Signal::default()).collect(),
            leaving: exchanges.clone().map(|_| LeavingSum::new(accumulator)).collect(),
            joining: exchanges.clone().map(|_| JoinedParts::new(word, accumulator)).collect(),
            gradient_port: exchanges.map(|_| SumPort::new(widths.gradient, accumulator)).collect(),
            select: OperandSelect::new(widths),
            aligner: Align::new(word, accumulator, widths.alignments),
            multiply_add: MultiplyAdd::new(widths.factor, accumulator, widths.extremes, widths.leaves),
            narrow: Narrow::new(accumulator, word, widths.shifts),
            admitted_t1: Delay::new(1, 1),
            admitted_t7: Delay::new(1, 6),
            gates: Gates::new(),
            model_port: WritePort::new(word),
            t0_port: WritePort::new(word),
            t1_port: WritePort::new(word),
            _wiring: Wiring::default(),
        }
    }

    /// The one of the scalar unit: it has no model pad, and gives its results away.
    pub(crate) fn without_model(widths: &Widths) -> Self {
        ProcessingEngine {
            model: Scratchpad::none(widths.model, widths.word),
            results: vec![ResultWord::new(&|_| widths.word)],
            ..ProcessingEngine::new(widths)
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            model.clock = clock;
            model.read_address = control.model_address;
            model.write = model_port.write;
            model.write_address = addresses.model;
            model.write_data = model_port.word;
            data.clock = clock;
            data.read_address = control.data_address;
            data.write = gates.data_write;
            data.write_address = addresses.data;
            data.write_data = load_word;
            t0.clock = clock;
            t0.read_address = control.t0_address;
            t0.write = t0_port.write;
            t0.write_address = addresses.t0;
            t0.write_data = t0_port.word;
            t1.clock = clock;
            t1.read_address = control.t1_address;
            t1.write = t1_port.write;
            t1.write_address = addresses.t1;
            t1.write_data = t1_port.word;

            select.clock = clock;
            select.immediate_b = control.immediate_b_t1;
            select.immediate_c = control.immediate_c_t1;
            select.admitted = admitted_t1.q;
            select.select_a = control.a_t1;
            select.select_b = control.b_t1;
            select.select_c = control.c_t1;
            aligner.c = select.c;
            aligner.places = control.align_t2;
            multiply_add.clock = clock;
            multiply_add.a = select.a;
            multiply_add.b = select.b;
            multiply_add.admitted = admitted_t1.q;
            multiply_add.valid = control.valid_t3;
            multiply_add.first = control.first_t3;
            multiply_add.combine = control.combine_t3;
            narrow.clock = clock;
            narrow.sum = multiply_add.sum;
            narrow.code = control.shift_t4;
            narrow.code_later = control.shift_t5;
            narrow.negative = control.negative_t5;

            admitted_t1.clock = clock;
            admitted_t1.d = admitted;
            admitted_t7.clock = clock;
            admitted_t7.d = admitted_t1.q;
            gates.load_write = load_write_data;
            gates.load_admitted = load_admitted;
            gates.saturated_t7 = narrow.saturated;
            gates.admitted_t7 = admitted_t7.q;
            gates.write_model_t7 = control.write_model_t7;
            gates.write_t0_t7 = control.write_t0_t7;
            gates.write_t1_t7 = control.write_t1_t7;
            tree = multiply_add.sum;
            saturated = gates.saturated;

            model_port.alu_write = control.write_model_t7;
            model_port.alu_admitted = admitted_t7.q;
            model_port.alu_word = narrow.word;
            model_port.other_write = load_write_model;
            model_port.other_admitted = load_admitted;
            model_port.other_word = load_word;
            t0_port.alu_write = control.write_t0_t7;
            t0_port.alu_admitted = admitted_t7.q;
            t0_port.alu_word = narrow.word;
            t0_port.other_write = bus.write_t0;
            t0_port.other_admitted = bus_admitted;
            t0_port.other_word = bus.word;
            t1_port.alu_write = control.write_t1_t7;
            t1_port.alu_admitted = admitted_t7.q;
            t1_port.alu_word = narrow.word;
            t1_port.other_write = bus.write_t1;
            t1_port.other_admitted = bus_admitted;
            t1_port.other_word = bus.word;
        );
        if self.words.is_empty() {
            wires!(self, wiring;
                select.model = model.read_data;
                select.data = data.read_data;
                select.t0 = t0.read_data;
                select.t1 = t1.read_data;
            );
        }
        for n in 0..self.words.len() {
            wires!(self, wiring;
                writes[n].write_model = model_port.write;
                writes[n].model = model_port.word;
                writes[n].write_data = gates.data_write;
                writes[n].data = load_word;
                writes[n].write_t0 = t0_port.write;
                writes[n].t0 = t0_port.word;
                writes[n].write_t1 = t1_port.write;
                writes[n].t1 = t1_port.word;
                select.model = words[n].model;
                select.data = words[n].data;
                select.t0 = words[n].t0;
                select.t1 = words[n].t1;
            );
        }
        for n in 0..self.results.len() {
            wires!(self, wiring;
                results[n].word = narrow.word;
                results[n].saturated = narrow.saturated;
            );
        }
        for n in 0..self.starts.len() {
            wires!(self, wiring; multiply_add.starts[n] = starts[n];);
        }
        if self.gradient.is_empty() {
            wires!(self, wiring; multiply_add.start = aligner.aligned;);
        }
        for g in 0..self.gradient.len() {
            wires!(self, wiring;
                gradient[g].clock = clock;
                gradient[g].read_address = park[g].read_address_t1;
            );
            if self.leaving.is_empty() {
                wires!(self, wiring;
                    gradient[g].write = park[g].write_t4;
                    gradient[g].write_address = park[g].write_address_t4;
                    gradient[g].write_data = multiply_add.sum;
                    start_select[g].resume = park[g].resume_t2;
                );
                if self.parked.is_empty() {
                    wires!(self, wiring; start_select[g].parked = gradient[g].read_data;);
                } else {
                    wires!(self, wiring; start_select[g].parked = parked[g];);
                }
            } else {
                self.wire_exchange(wiring, g);
            }
            wires!(self, wiring;
                start_select[g].aligned = aligner.aligned;
                multiply_add.start = start_select[g].start;
            );
        }
    }
}
impl ProcessingEngine {
    /// The way of sums out of the gradient pad and back.
    fn wire_exchange(&mut self, wiring: &mut Wiring, g: usize) {
        wires!(self, wiring;
            leaving[g].clock = clock;
            leaving[g].leaves = leaves[g];
            leaving[g].admitted = admitted_t1.q;
            leaving[g].parked = gradient[g].read_data;
            start_select[g].resume = park[g].resume_t2;
            start_select[g].parked = leaving[g].shown;
            joining[g].clock = clock;
            joining[g].part = parts[g].part;
            joining[g].word = load_word;
            gradient_port[g].park = park[g].write_t4;
            gradient_port[g].park_address = park[g].write_address_t4;
            gradient_port[g].sum = multiply_add.sum;
            gradient_port[g].whole = parts[g].whole;
            gradient_port[g].whole_address = parts[g].address;
            gradient_port[g].admitted = load_admitted;
            gradient_port[g].joined = joining[g].joined;
            gradient[g].write = gradient_port[g].write;
            gradient[g].write_address = gradient_port[g].address;
            gradient[g].write_data = gradient_port[g].data;
        );
    }
}
structural!(ProcessingEngine, "processing_engine: four pads and c + a*b; row and column are decided outside.");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    /// A word from the loader times 3, written to t0: 2 * 3 + 0 after seven cycles, and nothing where the mask says no.
    #[test]
    fn a_beat_multiplies_adds_rounds_and_writes() {
        for admitted in [true, false] {
            let mut block = ProcessingEngine::new(&Widths::of_grid(1, 1));
            block.connect_all();
            (block.load_write_model.next, block.load_admitted.next, block.load_word.next) = (true, true, 2);
            clocked(&mut block, |b| &mut b.clock);
            block.load_write_model.next = false;
            for t in 0..8 {
                let control = &mut block.control;
                block.admitted.next = (t == 0 && admitted).into();
                control.a_t1.next = 0;
                control.immediate_b_t1.next = if t == 1 { 3 } else { 0 };
                (control.valid_t3.next, control.first_t3.next) = (t == 3, t == 3);
                control.write_t0_t7.next = t == 7;
                clocked(&mut block, |b| &mut b.clock);
            }
            block.control.write_t0_t7.next = false;
            clocked(&mut block, |b| &mut b.clock);
            assert_eq!(block.t0.read_data.val(), if admitted { 6 } else { 0 });
        }
    }
}
