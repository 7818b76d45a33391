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
use crate::datapath::operands::{NO_PAD, OperandSelect, SELECTION_BITS};
use crate::datapath::shift::{Align, code_bits};
use crate::datapath::tiles::{ParkControl, StartSelect};
use crate::datapath::write_port::WritePort;
use crate::rtl::bundle::bundle;
use blocks::block;
use rust_hdl_core::prelude::*;

blocks::unroll! {
bundle! {
    /// Control of one beat, each part in the cycle in which a PE needs it.
    PeControl {
        bits: valid_t3, first_t3, negative_t5, for PAD in RESULTS { write_PAD_t7, };
        words: for PAD in PADS { PAD_address, } a_t1, b_t1, c_t1, immediate_b_t1, immediate_c_t1,
            combine_t3, align_t2, shift_t4, shift_t5;
    }

    /// What else a PE must know of a beat where accumulators compare: with what they begin.
    StartControl {
        bits: starts_t2;
        words: combine_t2;
    }

    /// What a PE makes of a sum; t+7.
    ResultWord {
        bits: saturated;
        words: word;
    }

    /// A bus write, but for its address.
    BusWrite {
        bits: for PAD in TEMPORARIES { write_PAD, };
        words: word;
    }

    /// Write addresses of the pads, whoever writes: the same in all PEs of a PU.
    WriteAddresses {
        bits: ;
        words: for PAD in PADS { PAD, };
    }

    /// Read addresses of the pads: those of a beat at t, or at t-1 where pads have output registers.
    ReadAddresses {
        bits: ;
        words: for PAD in PADS { PAD, };
    }

    /// What a PE writes into pads that its row shares.
    PadWrites {
        bits: for PAD in PADS { write_PAD, };
        words: for PAD in PADS { PAD, };
    }

    /// Words of such pads.
    PadWords {
        bits: ;
        words: for PAD in PADS { PAD, };
    }
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
        "b_t1" | "c_t1" => SELECTION_BITS,
        _ => widths.beat(name.rsplit_once("_t").map_or(name, |(field, _)| field)),
    }
}

/// What the mask of a PE gates: data pad and saturation status.
#[block]
fn Gates() {
    let (load_write, load_admitted): In;
    let data_write: Out;
    let (saturated_t7, admitted_t7): In;
    for PAD in RESULTS {
        let write_PAD_t7: In;
    }
    let saturated: Out;

    data_write = load_write && load_admitted;
    saturated = saturated_t7 && admitted_t7 && (any!(PAD in RESULTS, write_PAD_t7));
}

/// Four pads and c + a*b; row and column are decided outside.
#[block(clock, wires, long = "wires only, in the order of the cycles of a beat")]
pub(crate) fn ProcessingEngine(widths: &Widths) {
    let (word, accumulator) = (widths.word, widths.accumulator);
    let own = |words: u32, word: u32| {
        Scratchpad::new(words, word)
            .in_blocks_from(widths.block_depth)
            .with_register(widths.pad_register)
            .named(widths.leaves)
    };
    let pad = |words: u32| if widths.in_rows { Scratchpad::none(words, word) } else { own(words, word) };
    let (gradients, exchanges) = (widths.gradients, widths.exchanges);
    let (shared, shared_sums) = (widths.in_rows, widths.gradients_in_rows());
    let parks = |words: u32| {
        if shared_sums == 0 { own(words, accumulator) } else { Scratchpad::none(words, accumulator) }
    };
    let control: In<PeControl> = |name| pe_width(widths, name);
    /// One on machines with extremes.
    let starts: [In<StartControl>; widths.extremes] = |name| pe_width(widths, name);
    /// A negative result becomes 0; t+5. One on machines with rectifiers.
    let positive: [In<{ widths.positive }>; widths.rectifiers];
    /// Mask of the alu beat, at t.
    let admitted: In<1>;
    let bus: In<BusWrite> = |name| pe_width(widths, name);
    let (bus_admitted, load_write_model, load_write_data): In;
    let addresses: In<WriteAddresses> = |name| address_width(widths, name);
    let load_admitted: In;
    let load_word: In<word>;
    /// One if there is a gradient pad.
    let park: [In<ParkControl>; gradients] = |_| widths.gradient;
    /// To the row tree; t+4.
    let tree: Out<accumulator>;
    /// A saturated result is written; t+7.
    let saturated: Out;
    /// Results, whoever takes them. One if the PE is the scalar unit's.
    let results: [Out<ResultWord>; false] = |_| word;
    /// To and from pads that its row shares. One each if it does; then the PE has none of its own.
    let writes: [Out<PadWrites>; shared] = |_| word;
    let words: [In<PadWords>; shared] = |_| word;
    /// The sum that is parked, at t+2. One if the row shares its gradient pads.
    let parked: [In<accumulator, signed>; shared_sums];
    #[clocked]
    let (model, data): Scratchpad = (pad(widths.model_words), pad(1 << widths.data));
    for PAD in TEMPORARIES {
        #[clocked]
        let PAD: Scratchpad = pad(widths.temporary_words);
    }
    #[clocked]
    let gradient: [Scratchpad; gradients] = parks(1 << widths.gradient);
    let start_select = [StartSelect(accumulator); gradients];
    /// Parts of a sum that comes back, and the last beat of one that leaves. One each if sums do.
    let parts: [In<PartBeat>; exchanges] = |_| widths.gradient;
    let leaves: [In; exchanges];
    let leaving = [LeavingSum(clock, accumulator); exchanges];
    let joining = [JoinedParts(clock, word, accumulator); exchanges];
    let gradient_port = [SumPort(widths.gradient, accumulator); exchanges];
    let select = OperandSelect(clock, widths);
    let aligner = Align(word, accumulator, widths.alignments);
    let multiply_add = MultiplyAdd(clock, widths);
    let narrow = Narrow(clock, accumulator, word, widths.shifts, widths.positive, widths.leaves);
    let admitted_t1: Delay<1, 1>;
    let admitted_t7: Delay<1, 6>;
    let gates = Gates();
    for PAD in RESULTS {
        let PAD_port = WritePort(word, widths.leaves);
    }

    model.read_address = control.model_address;
    model.write = model_port.write;
    model.write_address = addresses.model;
    model.write_data = model_port.word;
    data.read_address = control.data_address;
    data.write = gates.data_write;
    data.write_address = addresses.data;
    data.write_data = load_word;
    for PAD in TEMPORARIES {
        PAD.read_address = control.PAD_address;
        PAD.write = PAD_port.write;
        PAD.write_address = addresses.PAD;
        PAD.write_data = PAD_port.word;
    }

    select.immediate_b = control.immediate_b_t1;
    select.immediate_c = control.immediate_c_t1;
    select.admitted = admitted_t1;
    select.select_a = control.a_t1;
    select.select_b = control.b_t1;
    select.select_c = control.c_t1;
    aligner.c = select.c;
    aligner.places = control.align_t2;
    multiply_add.a = select.a;
    multiply_add.b = select.b;
    multiply_add.admitted = admitted_t1;
    for n in 0..multiply_add.immediate.len() {
        multiply_add.immediate[n] = control.immediate_b_t1;
        multiply_add.without_b[n] = control.b_t1.bit(NO_PAD);
    }
    multiply_add.valid = control.valid_t3;
    multiply_add.first = control.first_t3;
    multiply_add.combine = control.combine_t3;
    narrow.sum = multiply_add.sum;
    narrow.code = control.shift_t4;
    narrow.code_later = control.shift_t5;
    narrow.negative = control.negative_t5;
    for n in 0..positive.len() {
        narrow.positive[n] = positive[n];
    }

    admitted_t1 = admitted;
    admitted_t7 = admitted_t1;
    gates.load_write = load_write_data;
    gates.load_admitted = load_admitted;
    gates.saturated_t7 = narrow.saturated;
    gates.admitted_t7 = admitted_t7;
    for PAD in RESULTS {
        gates.write_PAD_t7 = control.write_PAD_t7;
    }
    tree = multiply_add.sum;
    saturated = gates.saturated;

    model_port.alu_write = control.write_model_t7;
    model_port.alu_admitted = admitted_t7;
    model_port.alu_word = narrow.word;
    model_port.other_write = load_write_model;
    model_port.other_admitted = load_admitted;
    model_port.other_word = load_word;
    for PAD in TEMPORARIES {
        PAD_port.alu_write = control.write_PAD_t7;
        PAD_port.alu_admitted = admitted_t7;
        PAD_port.alu_word = narrow.word;
        PAD_port.other_write = bus.write_PAD;
        PAD_port.other_admitted = bus_admitted;
        PAD_port.other_word = bus.word;
    }
    if words.is_empty() {
        for PAD in PADS {
            select.PAD = PAD.read_data;
        }
    }
    writes.write_model = model_port.write;
    writes.model = model_port.word;
    writes.write_data = gates.data_write;
    writes.data = load_word;
    for PAD in TEMPORARIES {
        writes.write_PAD = PAD_port.write;
        writes.PAD = PAD_port.word;
    }
    for PAD in PADS {
        select.PAD = words.PAD;
    }
    results.word = narrow.word;
    results.saturated = narrow.saturated;
    for n in 0..starts.len() {
        multiply_add.starts[n] = starts[n];
    }
    if gradient.is_empty() {
        multiply_add.start = aligner.aligned;
    }
    for g in 0..gradient.len() {
        gradient[g].read_address = park[g].read_address_t1;
        if leaving.is_empty() {
            gradient[g].write = park[g].write_t4;
            gradient[g].write_address = park[g].write_address_t4;
            gradient[g].write_data = multiply_add.sum;
            start_select[g].resume = park[g].resume_t2;
            if parked.is_empty() {
                start_select[g].parked = gradient[g].read_data;
            } else {
                start_select[g].parked = parked[g];
            }
        } else {
            // The way of sums out of the gradient pad and back.
            leaving[g].leaves = leaves[g];
            leaving[g].admitted = admitted_t1;
            leaving[g].parked = gradient[g].read_data;
            start_select[g].resume = park[g].resume_t2;
            start_select[g].parked = leaving[g].shown;
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
        }
        start_select[g].aligned = aligner.aligned;
        multiply_add.start = start_select[g].start;
    }
}

impl ProcessingEngine {
    /// The one of the scalar unit: it has no model pad, and gives its results away.
    pub(crate) fn without_model(widths: &Widths) -> Self {
        ProcessingEngine {
            model: Scratchpad::none(1 << widths.model, widths.word),
            results: vec![ResultWord::new(&|_| widths.word)],
            ..ProcessingEngine::new(widths)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    /// What blocks go through with `for PAD in PADS` are the pads of the instruction set.
    #[test]
    fn lists_of_pads_are_those_of_the_instruction_set() {
        let [mut pads, mut temporaries] = [Vec::new(), Vec::new()];
        blocks::unroll! {
            for PAD in PADS { pads.push(stringify!(PAD)); }
            for PAD in TEMPORARIES { temporaries.push(stringify!(PAD)); }
        }
        assert_eq!(pads, arch::isa::Pad::NAMES);
        assert_eq!(temporaries, arch::isa::Pad::TEMPORARY.iter().map(ToString::to_string).collect::<Vec<_>>());
    }

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
