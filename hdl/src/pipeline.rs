//! Delays the control of a beat once per PU, so that PEs hold only data.
//!
//!     beat (t) ──▶ addresses (t), selects (t+1), align (t+2), accumulate (t+3), shift (t+4, t+5), finish (t+6), write (t+7)

use crate::arithmetic::FINE_BITS;
use crate::beats::{AluBeat, Widths};
use crate::pe::{IMMEDIATE, PeControl, pe_width};
use crate::register::{Delay, FlagDelay};
use crate::signal::Wide;
use crate::wiring::{Wiring, comment, structural, wires};
use rust_hdl::prelude::*;

/// Which of a beat's actions happen at all.
#[derive(LogicBlock)]
struct Qualify {
    valid: Signal<In, Bit>,
    last: Signal<In, Bit>,
    tree: Signal<In, Bit>,
    write_model: Signal<In, Bit>,
    write_t0: Signal<In, Bit>,
    write_t1: Signal<In, Bit>,
    give_tree: Signal<Out, Bit>,
    give_model: Signal<Out, Bit>,
    give_t0: Signal<Out, Bit>,
    give_t1: Signal<Out, Bit>,
}

impl Qualify {
    fn new() -> Self {
        Qualify {
            valid: Signal::default(),
            last: Signal::default(),
            tree: Signal::default(),
            write_model: Signal::default(),
            write_t0: Signal::default(),
            write_t1: Signal::default(),
            give_tree: Signal::default(),
            give_model: Signal::default(),
            give_t0: Signal::default(),
            give_t1: Signal::default(),
        }
    }
}

impl Logic for Qualify {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("qualify: tree and pads take a result in the last beat of a sum only.");
        self.give_tree.next = self.valid.val() && self.last.val() && self.tree.val();
        self.give_model.next = self.valid.val() && self.last.val() && self.write_model.val();
        self.give_t0.next = self.valid.val() && self.last.val() && self.write_t0.val();
        self.give_t1.next = self.valid.val() && self.last.val() && self.write_t1.val();
    }
}

/// Which operands are pads, and the immediates, 0 where they are not used.
#[derive(LogicBlock)]
struct OperandDecode {
    clock: Signal<In, Clock>,
    b: Wide<In>,
    c: Wide<In>,
    immediate_b: Wide<In>,
    immediate_c: Wide<In>,
    pad_b: Signal<Out, Bit>,
    pad_c: Signal<Out, Bit>,
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
            pad_b: Signal::default(),
            pad_c: Signal::default(),
            held_b: Wide::new(word),
            held_c: Wide::new(word),
        }
    }
}

impl Logic for OperandDecode {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let immediate = i128::from(IMMEDIATE);
            self.pad_b.next = self.b.val() < immediate;
            self.pad_c.next = self.c.val() < immediate;
            self.held_b.next = if self.b.val() < immediate { 0 } else { self.immediate_b.val() };
            self.held_c.next = if self.c.val() == immediate { self.immediate_c.val() } else { 0 };
        }
    }
    fn connect(&mut self) {
        self.pad_b.connect();
        self.pad_c.connect();
        self.held_b.connect();
        self.held_c.connect();
    }
    fn hdl(&self) -> Verilog {
        let (bits_b, bits_c, word) = (self.b.width(), self.c.width(), self.held_b.width());
        Verilog::Custom(format!(
            "// operand_decode: which operands of a beat are pads; immediates that are not used are 0.
always @(posedge clock) begin
    pad_b <= b < {bits_b}'d{IMMEDIATE};
    pad_c <= c < {bits_c}'d{IMMEDIATE};
    held_b <= b < {bits_b}'d{IMMEDIATE} ? {word}'d0 : immediate_b;
    held_c <= c == {bits_c}'d{IMMEDIATE} ? immediate_c : {word}'d0;
end"
        ))
    }
}

/// From a beat to the staged control of PEs.
#[derive(LogicBlock)]
pub(crate) struct ControlPipeline {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) beat: AluBeat<In>,
    pub(crate) control: PeControl<Out>,
    /// The accumulators hold sums for the tree; t+4.
    pub(crate) tree_t4: Signal<Out, Bit>,
    qualify: Qualify,
    a: Delay,
    b: Delay,
    c: Delay,
    operands: OperandDecode,
    align: Delay,
    valid: FlagDelay,
    first: FlagDelay,
    subtract: FlagDelay,
    shift: Delay,
    fine: Delay,
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
        let delay = |name: &str, cycles| Delay::new(widths.beat(name), cycles);
        let write = arch::timing::ALU_WRITE as u32;
        ControlPipeline {
            clock: Signal::default(),
            reset: Signal::default(),
            beat: AluBeat::new(&|name| widths.beat(name)),
            control: PeControl::new(&|name| pe_width(widths, name)),
            tree_t4: Signal::default(),
            qualify: Qualify::new(),
            a: Delay::new(pe_width(widths, "a_t1"), 1),
            b: Delay::new(pe_width(widths, "b_t1"), 1),
            c: Delay::new(pe_width(widths, "c_t1"), 1),
            operands: OperandDecode::new(widths),
            align: delay("align", 2),
            valid: FlagDelay::new(3),
            first: FlagDelay::new(3),
            subtract: FlagDelay::new(3),
            shift: delay("shift", 4),
            fine: Delay::new(FINE_BITS, 1),
            tree: FlagDelay::new(4),
            negative: FlagDelay::new(6),
            write_model: FlagDelay::new(write),
            write_t0: FlagDelay::new(write),
            write_t1: FlagDelay::new(write),
            destination: delay("destination", write),
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
            control.model_address = beat.model_address;
            control.data_address = beat.data_address;
            control.t0_address = beat.t0_address;
            control.t1_address = beat.t1_address;
            a.clock = clock;
            a.d = beat.a;
            control.a_t1 = a.q;
            b.clock = clock;
            b.d = beat.b;
            control.b_t1 = b.q;
            c.clock = clock;
            c.d = beat.c;
            control.c_t1 = c.q;
            operands.clock = clock;
            operands.b = beat.b;
            operands.c = beat.c;
            operands.immediate_b = beat.immediate_b;
            operands.immediate_c = beat.immediate_c;
            control.pad_b_t1 = operands.pad_b;
            control.pad_c_t1 = operands.pad_c;
            control.immediate_b_t1 = operands.held_b;
            control.immediate_c_t1 = operands.held_c;
            align.clock = clock;
            align.d = beat.align;
            control.align_t2 = align.q;
            valid.clock = clock;
            valid.reset = reset;
            valid.d = beat.valid;
            control.valid_t3 = valid.q;
            first.clock = clock;
            first.reset = reset;
            first.d = beat.first;
            control.first_t3 = first.q;
            subtract.clock = clock;
            subtract.reset = reset;
            subtract.d = beat.subtract;
            control.subtract_t3 = subtract.q;
            shift.clock = clock;
            shift.d = beat.shift;
            control.shift_t4 = shift.q;
            fine.clock = clock;
            fine.d = shift.q;
            control.fine_t5 = fine.q;
            tree.clock = clock;
            tree.reset = reset;
            tree.d = qualify.give_tree;
            tree_t4 = tree.q;
            negative.clock = clock;
            negative.reset = reset;
            negative.d = beat.negative;
            control.negative_t6 = negative.q;
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
            control.model_destination_t7 = destination.q;
            control.temporary_destination_t7 = destination.q;
        );
    }
}
structural!(ControlPipeline, "control_pipeline: control of a beat, delayed once for all PEs of a PU.");
