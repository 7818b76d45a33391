//! Delays the control of a beat once per PU, so that PEs hold only data.
//!
//!     beat (t) ──▶ addresses (t), selects (t+1), align (t+2), accumulate (t+3), shift (t+4), finish (t+5), write (t+6)

use crate::beats::{AluBeat, Widths};
use crate::pe::{PeControl, pe_width};
use crate::register::{Delay, FlagDelay};
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

/// From a beat to the staged control of PEs.
#[derive(LogicBlock)]
pub(crate) struct ControlPipeline {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) beat: AluBeat<In>,
    pub(crate) control: PeControl<Out>,
    qualify: Qualify,
    a: Delay,
    b: Delay,
    c: Delay,
    immediate_b: Delay,
    immediate_c: Delay,
    align: Delay,
    valid: FlagDelay,
    first: FlagDelay,
    subtract: FlagDelay,
    shift: Delay,
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
            qualify: Qualify::new(),
            a: delay("a", 1),
            b: delay("b", 1),
            c: delay("c", 1),
            immediate_b: delay("immediate_b", 1),
            immediate_c: delay("immediate_c", 1),
            align: delay("align", 2),
            valid: FlagDelay::new(3),
            first: FlagDelay::new(3),
            subtract: FlagDelay::new(3),
            shift: delay("shift", 4),
            tree: FlagDelay::new(4),
            negative: FlagDelay::new(5),
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
            immediate_b.clock = clock;
            immediate_b.d = beat.immediate_b;
            control.immediate_b_t1 = immediate_b.q;
            immediate_c.clock = clock;
            immediate_c.d = beat.immediate_c;
            control.immediate_c_t1 = immediate_c.q;
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
            tree.clock = clock;
            tree.reset = reset;
            tree.d = qualify.give_tree;
            control.tree_t4 = tree.q;
            negative.clock = clock;
            negative.reset = reset;
            negative.d = beat.negative;
            control.negative_t5 = negative.q;
            write_model.clock = clock;
            write_model.reset = reset;
            write_model.d = qualify.give_model;
            control.write_model_t6 = write_model.q;
            write_t0.clock = clock;
            write_t0.reset = reset;
            write_t0.d = qualify.give_t0;
            control.write_t0_t6 = write_t0.q;
            write_t1.clock = clock;
            write_t1.reset = reset;
            write_t1.d = qualify.give_t1;
            control.write_t1_t6 = write_t1.q;
            destination.clock = clock;
            destination.d = beat.destination;
            control.model_destination_t6 = destination.q;
            control.temporary_destination_t6 = destination.q;
        );
    }
}
structural!(ControlPipeline, "control_pipeline: control of a beat, delayed once for all PEs of a PU.");
