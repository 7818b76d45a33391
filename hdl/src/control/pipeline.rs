//! Delays the control of a beat once per PU, so that PEs hold only data.
//!
//!     beat (t) ──▶ addresses (t), selects (t+1), align (t+2), accumulate (t+3), shift (t+4, t+5), finish (t+5), write (t+7)

use crate::beats::{AluBeat, Widths};
use crate::datapath::operands::IMMEDIATE;
use crate::datapath::pe::{PeControl, ReadAddresses, StartControl, address_width, pe_width};
use crate::datapath::shift::{AmountCode, code_bits};
use crate::rtl::register::{Delay, FlagDelay};
use crate::rtl::signal::Wide;
use crate::rtl::wiring::{Wiring, structural, wires};
use blocks::block;
use rust_hdl::prelude::*;

/// Tree and pads take a result in the last beat of a sum only.
#[block]
fn Qualify() {
    let (valid, last, tree, write_model, write_t0, write_t1): In;
    let (give_tree, give_model, give_t0, give_t1): Out;

    give_tree = valid && last && tree;
    give_model = valid && last && write_model;
    give_t0 = valid && last && write_t0;
    give_t1 = valid && last && write_t1;
}

/// Which pads operands `b` and `c` are, one bit each, and the immediates, 0 where they are not used.
#[derive(LogicBlock)]
struct OperandDecode {
    clock: Signal<In, Clock>,
    b: Wide<In>,
    c: Wide<In>,
    immediate_b: Wide<In>,
    immediate_c: Wide<In>,
    pads_b: Wide<Out>,
    pads_c: Wide<Out>,
    held_b: Wide<Out>,
    held_c: Wide<Out>,
}

impl OperandDecode {
    fn new(widths: &Widths) -> Self {
        let word = widths.word;
        OperandDecode {
            clock: Signal::default(),
            b: Wide::new(widths.beat("b")),
            c: Wide::new(widths.beat("c")),
            immediate_b: Wide::new(word),
            immediate_c: Wide::new(word),
            pads_b: Wide::new(IMMEDIATE),
            pads_c: Wide::new(IMMEDIATE),
            held_b: Wide::new(word),
            held_c: Wide::new(word),
        }
    }
}

impl Logic for OperandDecode {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let immediate = i128::from(IMMEDIATE);
            let pads = |code: i128| if code < immediate { 1 << code } else { 0 };
            self.pads_b.next = pads(self.b.val());
            self.pads_c.next = pads(self.c.val());
            self.held_b.next = if self.b.val() < immediate { 0 } else { self.immediate_b.val() };
            self.held_c.next = if self.c.val() == immediate { self.immediate_c.val() } else { 0 };
        }
    }
    fn connect(&mut self) {
        self.pads_b.connect();
        self.pads_c.connect();
        self.held_b.connect();
        self.held_c.connect();
    }
    fn hdl(&self) -> Verilog {
        let (bits_b, bits_c, word) = (self.b.width(), self.c.width(), self.held_b.width());
        let pads = |operand: &str, bits: u32| {
            let each = (0..IMMEDIATE).rev().map(|pad| format!("{operand} == {bits}'d{pad}"));
            each.collect::<Vec<_>>().join(", ")
        };
        Verilog::Custom(format!(
            "// operand_decode: which pads operands are, one bit each; immediates that are not used are 0.
always @(posedge clock) begin
    pads_b <= {{{}}};
    pads_c <= {{{}}};
    held_b <= b < {bits_b}'d{IMMEDIATE} ? {word}'d0 : immediate_b;
    held_c <= c == {bits_c}'d{IMMEDIATE} ? immediate_c : {word}'d0;
end",
            pads("b", bits_b),
            pads("c", bits_c)
        ))
    }
}

/// Operand c is a pad or the immediate.
///
/// Whether an accumulator begins with anything; else it begins with what changes no result.
#[block]
fn StartDecode(widths: &Widths) {
    let bits = widths.beat("c");
    let c: In<bits>;
    let starts: Out;
    let immediate: Const<bits> = IMMEDIATE;

    starts = c <= immediate;
}

/// The addresses of the beat that is there: `reads` has those that count, which may be the next beat's.
#[derive(LogicBlock)]
struct AddressesOfBeat {
    model: Wide<In>,
    data: Wide<In>,
    t0: Wide<In>,
    t1: Wide<In>,
}

impl AddressesOfBeat {
    fn new(widths: &Widths) -> Self {
        let address = |name: &str| Wide::new(address_width(widths, name));
        AddressesOfBeat { model: address("model"), data: address("data"), t0: address("t0"), t1: address("t1") }
    }
}

impl Logic for AddressesOfBeat {
    fn update(&mut self) {}
    fn hdl(&self) -> Verilog {
        let text = "// addresses_of_beat: `reads` says what pads are read for.\nwire unused = &{1'b0, model, data, t0, t1, 1'b0};";
        Verilog::Custom(text.to_owned())
    }
}

/// From a beat to the staged control of PEs.
#[derive(LogicBlock)]
pub(crate) struct ControlPipeline {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) beat: AluBeat<In>,
    /// What pads are read for: this beat, or the next one.
    pub(crate) reads: ReadAddresses<In>,
    pub(crate) control: PeControl<Out>,
    /// One on machines with extremes.
    pub(crate) starts: Vec<StartControl<Out>>,
    /// How the trees combine what the accumulators hold; t+4. One on machines with extremes.
    pub(crate) combine_t4: Vec<Wide<Out>>,
    /// The accumulators hold sums for the tree; t+4.
    pub(crate) tree_t4: Signal<Out, Bit>,
    /// Where the result is going to be written; t+6.
    pub(crate) destination_t6: Wide<Out>,
    qualify: Qualify,
    addresses: AddressesOfBeat,
    a: Delay,
    operands: OperandDecode,
    align_code: AmountCode,
    shift_code: AmountCode,
    align: Delay,
    valid: FlagDelay,
    first: FlagDelay,
    combine: Delay,
    combine_later: Delay,
    tree_combine: Vec<Delay>,
    start_decode: Vec<StartDecode>,
    started: Vec<FlagDelay>,
    shift: Delay,
    shift_later: Delay,
    tree: FlagDelay,
    negative: FlagDelay,
    write_model: FlagDelay,
    write_t0: FlagDelay,
    write_t1: FlagDelay,
    destination: Delay,
    _wiring: Wiring,
}

impl ControlPipeline {
    pub(crate) fn new(widths: &Widths) -> Self {
        let write = arch::timing::ALU_WRITE as u32;
        let combine = widths.beat("combine");
        let extremes = 0..u32::from(widths.extremes);
        ControlPipeline {
            clock: Signal::default(),
            reset: Signal::default(),
            beat: AluBeat::new(&|name| widths.beat(name)),
            reads: ReadAddresses::new(&|name| address_width(widths, name)),
            control: PeControl::new(&|name| pe_width(widths, name)),
            starts: extremes.clone().map(|_| StartControl::new(&|name| pe_width(widths, name))).collect(),
            combine_t4: extremes.clone().map(|_| Wide::new(combine)).collect(),
            tree_t4: Signal::default(),
            destination_t6: Wide::new(widths.beat("destination")),
            qualify: Qualify::new(),
            addresses: AddressesOfBeat::new(widths),
            a: Delay::new(pe_width(widths, "a_t1"), 1),
            operands: OperandDecode::new(widths),
            align_code: AmountCode::new(widths.alignments),
            shift_code: AmountCode::new(widths.shifts),
            align: Delay::new(code_bits(widths.alignments), 2),
            valid: FlagDelay::new(3),
            first: FlagDelay::new(3),
            combine: Delay::new(combine, 2),
            combine_later: Delay::new(combine, 1),
            tree_combine: extremes.clone().map(|_| Delay::new(combine, 1)).collect(),
            start_decode: extremes.clone().map(|_| StartDecode::new(widths)).collect(),
            started: extremes.map(|_| FlagDelay::new(2)).collect(),
            shift: Delay::new(code_bits(widths.shifts), 4),
            shift_later: Delay::new(code_bits(widths.shifts), 1),
            tree: FlagDelay::new(4),
            negative: FlagDelay::new(5),
            write_model: FlagDelay::new(write),
            write_t0: FlagDelay::new(write),
            write_t1: FlagDelay::new(write),
            destination: Delay::new(widths.beat("destination"), write - 1),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            qualify.valid = beat.valid;
            qualify.last = beat.last;
            qualify.tree = beat.tree;
            qualify.write_model = beat.write_model;
            qualify.write_t0 = beat.write_t0;
            qualify.write_t1 = beat.write_t1;
            addresses.model = beat.model_address;
            addresses.data = beat.data_address;
            addresses.t0 = beat.t0_address;
            addresses.t1 = beat.t1_address;
            control.model_address = reads.model;
            control.data_address = reads.data;
            control.t0_address = reads.t0;
            control.t1_address = reads.t1;
            a.clock = clock;
            a.d = beat.a;
            control.a_t1 = a.q;
            operands.clock = clock;
            operands.b = beat.b;
            operands.c = beat.c;
            operands.immediate_b = beat.immediate_b;
            operands.immediate_c = beat.immediate_c;
            control.b_t1 = operands.pads_b;
            control.c_t1 = operands.pads_c;
            control.immediate_b_t1 = operands.held_b;
            control.immediate_c_t1 = operands.held_c;
            align.clock = clock;
            align_code.amount = beat.align;
            align.d = align_code.code;
            control.align_t2 = align.q;
            valid.clock = clock;
            valid.reset = reset;
            valid.d = beat.valid;
            control.valid_t3 = valid.q;
            first.clock = clock;
            first.reset = reset;
            first.d = beat.first;
            control.first_t3 = first.q;
            combine.clock = clock;
            combine.d = beat.combine;
            combine_later.clock = clock;
            combine_later.d = combine.q;
            control.combine_t3 = combine_later.q;
            shift.clock = clock;
            shift_code.amount = beat.shift;
            shift.d = shift_code.code;
            control.shift_t4 = shift.q;
            shift_later.clock = clock;
            shift_later.d = shift.q;
            control.shift_t5 = shift_later.q;
            tree.clock = clock;
            tree.reset = reset;
            tree.d = qualify.give_tree;
            tree_t4 = tree.q;
            negative.clock = clock;
            negative.reset = reset;
            negative.d = beat.negative;
            control.negative_t5 = negative.q;
            write_model.clock = clock;
            write_model.reset = reset;
            write_model.d = qualify.give_model;
            control.write_model_t7 = write_model.q;
            write_t0.clock = clock;
            write_t0.reset = reset;
            write_t0.d = qualify.give_t0;
            control.write_t0_t7 = write_t0.q;
            write_t1.clock = clock;
            write_t1.reset = reset;
            write_t1.d = qualify.give_t1;
            control.write_t1_t7 = write_t1.q;
            destination.clock = clock;
            destination.d = beat.destination;
            destination_t6 = destination.q;
        );
        for n in 0..self.starts.len() {
            wires!(self, wiring;
                start_decode[n].c = beat.c;
                started[n].clock = clock;
                started[n].reset = reset;
                started[n].d = start_decode[n].starts;
                starts[n].starts_t2 = started[n].q;
                starts[n].combine_t2 = combine.q;
                tree_combine[n].clock = clock;
                tree_combine[n].d = combine_later.q;
                combine_t4[n] = tree_combine[n].q;
            );
        }
    }
}

/// What pads are read for: the beat that is there, or where they have output registers the one that comes.
macro_rules! wire_read_addresses {
    ($self:ident, $wiring:ident, $registered:expr, $coming:ident, $now:ident) => {
        if $registered {
            crate::rtl::wiring::wires!($self, $wiring;
                pipeline.reads.model = $coming.model_address;
                pipeline.reads.data = $coming.data_address;
                pipeline.reads.t0 = $coming.t0_address;
                pipeline.reads.t1 = $coming.t1_address;
            );
        } else {
            crate::rtl::wiring::wires!($self, $wiring;
                pipeline.reads.model = $now.q.model_address;
                pipeline.reads.data = $now.q.data_address;
                pipeline.reads.t0 = $now.q.t0_address;
                pipeline.reads.t1 = $now.q.t1_address;
            );
        }
    };
}
pub(crate) use wire_read_addresses;

structural!(ControlPipeline, "control_pipeline: control of a beat, delayed once for all PEs of a PU.");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn control_comes_when_a_pe_needs_it() {
        let mut block = ControlPipeline::new(&Widths::of_grid(1, 1));
        block.connect_all();
        let mut seen = Vec::new();
        for t in 0..9 {
            let beat = &mut block.beat;
            (beat.valid.next, beat.first.next, beat.last.next, beat.write_t0.next) = (t == 0, t == 0, t == 0, t == 0);
            (beat.align.next, beat.shift.next) = if t == 0 { (7, 9) } else { (0, 0) };
            clocked(&mut block, |b| &mut b.clock);
            let control = &block.control;
            seen.push([
                control.align_t2.val(),
                control.valid_t3.val().into(),
                control.shift_t4.val(),
                control.shift_t5.val(),
                control.write_t0_t7.val().into(),
            ]);
        }
        // After the first edge it is t+1.
        let at = |t: usize| seen[t - 1];
        assert_eq!(at(1), [0; 5]);
        assert_eq!(at(2), [7, 0, 0, 0, 0]);
        assert_eq!(at(3), [0, 1, 0, 0, 0]);
        assert_eq!(at(4), [0, 0, 9, 0, 0]);
        assert_eq!(at(5), [0, 0, 0, 9, 0]);
        assert_eq!(at(6), [0; 5]);
        assert_eq!(at(7), [0, 0, 0, 0, 1]);
    }
}
