//! The parts every stream is made of.
//!
//!     program ──▶ instruction register ──▶ Pacer (when), LoopNest (which beat) ──▶ register ──▶ AddressGenerator (where)
//!        ▲                                   │ read, read_index
//!        └───────────────────────────────────┘
//!
//! The program memory is always one instruction ahead: while an instruction is current, it shows the one that comes
//! after it, which after the last one, and while the stream is idle, is the next entry.
//!
//! Whether a beat is the last one of its instruction decides what is fetched next, in the same cycle; so does a start. So that
//! these ways are short, nothing on them is compared or combined: that a beat is due which ends its instruction, and that another one follows,
//! is one bit, found out in the cycle before, and the number of the instruction to be fetched does not depend on it, only whether it is fetched.
//! Where there may be a start, the instruction after the entry is chosen in advance, and fetched if it happens.

use crate::beats::{Advance, Widths};
use crate::rtl::register::{Flag, Register};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::comment;
use rust_hdl::prelude::*;

/// A number at more bits.
#[derive(LogicBlock)]
pub(crate) struct Widen {
    pub(crate) narrow: Wide<In>,
    pub(crate) wide: Wide<Out>,
}

impl Widen {
    pub(crate) fn new(from: u32, to: u32) -> Self {
        assert!(from < to, "{from} bits are not fewer than {to}");
        Widen { narrow: Wide::new(from), wide: Wide::new(to) }
    }
}

impl Logic for Widen {
    fn update(&mut self) {
        self.wide.next = self.narrow.val();
    }
    fn connect(&mut self) {
        self.wide.connect();
    }
    fn hdl(&self) -> Verilog {
        let missing = self.wide.width() - self.narrow.width();
        Verilog::Custom(format!("// widen: the same number at more bits.\nassign wide = {{{missing}'d0, narrow}};"))
    }
}

/// Start, delay, interval, instruction counter.
#[derive(LogicBlock)]
pub(crate) struct Pacer {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// Start at `entry`, which was read in an earlier cycle.
    pub(crate) start: Signal<In, Bit>,
    /// There may be a start in this cycle: known early, unlike `start`.
    pub(crate) may_start: Signal<In, Bit>,
    pub(crate) entry: Wide<In>,
    pub(crate) is_end: Signal<In, Bit>,
    /// The instruction ahead is the last one.
    pub(crate) next_is_end: Signal<In, Bit>,
    /// Of the instruction ahead.
    pub(crate) next_delay: Wide<In>,
    /// Less one.
    pub(crate) interval: Wide<In>,
    /// This beat would be the last one of its instruction; so would the one after a beat, and the one after a load.
    pub(crate) wrap: Signal<In, Bit>,
    pub(crate) wrap_stepped: Signal<In, Bit>,
    pub(crate) wrap_loaded: Signal<In, Bit>,
    /// No beat now.
    pub(crate) hold: Signal<In, Bit>,
    /// The instruction `read_index` is fetched; it is ahead from the next cycle on.
    pub(crate) read: Signal<Out, Bit>,
    pub(crate) read_index: Wide<Out>,
    /// The instruction ahead becomes current.
    pub(crate) load: Signal<Out, Bit>,
    pub(crate) issue: Signal<Out, Bit>,
    /// The next beat is the first one of its instruction.
    pub(crate) fresh: Signal<Out, Bit>,
    pub(crate) busy: Signal<Out, Bit>,
    running: Flag,
    first_beat: Flag,
    /// Number of the instruction after the one ahead.
    after: Register,
    countdown: Register,
    /// The countdown is 0.
    due: Flag,
    /// The stream is running, and its countdown is 0.
    going: Flag,
    /// The same, with the last beat of an instruction that is not the last one.
    passes: Flag,
    /// The stream is running, and its instruction is not the last one.
    goes_on: Flag,
    /// The interval at the width of a delay.
    pause: Widen,
    /// What `running` and `due` are going to be.
    runs_on: Signal<Local, Bit>,
    comes_due: Signal<Local, Bit>,
    /// What `wrap` and `is_end` are going to be.
    will_wrap: Signal<Local, Bit>,
    will_end: Signal<Local, Bit>,
    /// What `goes_on` is going to be.
    follows: Signal<Local, Bit>,
    /// What comes next is the entry.
    at_end: Signal<Local, Bit>,
    zero: Number,
    one: Number,
    next_one: Number,
}

impl Pacer {
    pub(crate) fn new(widths: &Widths) -> Self {
        let (time, interval) = (widths.alu.field("delay").bits, widths.alu.field("interval").bits);
        Pacer {
            clock: Signal::default(),
            reset: Signal::default(),
            start: Signal::default(),
            may_start: Signal::default(),
            entry: Wide::new(widths.index),
            is_end: Signal::default(),
            next_is_end: Signal::default(),
            next_delay: Wide::new(time),
            interval: Wide::new(interval),
            wrap: Signal::default(),
            wrap_stepped: Signal::default(),
            wrap_loaded: Signal::default(),
            hold: Signal::default(),
            read: Signal::default(),
            read_index: Wide::new(widths.index),
            load: Signal::default(),
            issue: Signal::default(),
            fresh: Signal::default(),
            busy: Signal::default(),
            running: Flag::new(),
            first_beat: Flag::new(),
            after: Register::new(widths.index),
            countdown: Register::new(time),
            due: Flag::new(),
            going: Flag::new(),
            passes: Flag::new(),
            goes_on: Flag::new(),
            pause: Widen::new(interval, time),
            runs_on: Signal::default(),
            comes_due: Signal::default(),
            will_wrap: Signal::default(),
            will_end: Signal::default(),
            follows: Signal::default(),
            at_end: Signal::default(),
            zero: Number::new(0, time),
            one: Number::new(1, time),
            next_one: Number::new(1, widths.index),
        }
    }
}

impl Logic for Pacer {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("pacer: when the beats of a stream are issued, and which instruction is current.");
        clock!(self, clock, running, first_beat, after, countdown, due, going, passes, goes_on);
        self.running.reset.next = self.reset.val();
        self.first_beat.reset.next = self.reset.val();
        self.due.reset.next = self.reset.val();
        self.going.reset.next = self.reset.val();
        self.passes.reset.next = self.reset.val();
        self.goes_on.reset.next = self.reset.val();
        self.pause.narrow.next = self.interval.val();
        self.busy.next = self.running.q.val();
        self.fresh.next = self.first_beat.q.val();

        self.issue.next = self.going.q.val() && !self.hold.val();
        self.load.next = self.start.val() || (self.passes.q.val() && !self.hold.val());

        self.countdown.d.next = self.countdown.q.val();
        self.comes_due.next = self.countdown.q.val() >> 1 == self.zero.val();
        self.will_wrap.next = self.wrap.val();
        self.will_end.next = self.is_end.val();
        if self.issue.val() {
            self.will_wrap.next = self.wrap_stepped.val();
            self.countdown.d.next = self.pause.wide.val();
            self.comes_due.next = self.pause.wide.val() == self.zero.val();
        } else if !self.due.q.val() {
            self.countdown.d.next = self.countdown.q.val() - self.one.val();
        }
        if self.load.val() {
            self.will_wrap.next = self.wrap_loaded.val();
            self.will_end.next = self.next_is_end.val();
            self.countdown.d.next = self.next_delay.val();
            self.comes_due.next = self.next_delay.val() == self.zero.val();
        }
        self.first_beat.d.next = self.first_beat.q.val();
        if self.issue.val() {
            self.first_beat.d.next = self.wrap.val();
        }
        self.runs_on.next = self.running.q.val() && !(self.issue.val() && self.wrap.val() && self.is_end.val());
        if self.start.val() {
            self.first_beat.d.next = true;
            self.runs_on.next = true;
        }
        self.running.d.next = self.runs_on.val();
        self.due.d.next = self.comes_due.val();
        self.going.d.next = self.runs_on.val() && self.comes_due.val();
        self.follows.next = self.runs_on.val() && !self.will_end.val();
        self.goes_on.d.next = self.follows.val();
        self.passes.d.next = self.follows.val() && self.comes_due.val() && self.will_wrap.val();

        self.at_end.next = !self.goes_on.q.val() && !self.may_start.val();
        self.read.next = self.load.val() || self.at_end.val();
        self.read_index.next = self.after.q.val();
        if self.next_is_end.val() || self.at_end.val() {
            self.read_index.next = self.entry.val();
        }
        self.after.d.next = self.after.q.val();
        if self.read.val() {
            self.after.d.next = self.read_index.val() + self.next_one.val();
        }
    }
}

/// `base + sum(stride * counter)` with one adder: the microcode holds what each level's advance adds.
#[derive(LogicBlock)]
pub(crate) struct AddressGenerator {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) advance: Advance<In>,
    pub(crate) base: Wide<In>,
    pub(crate) delta0: Wide<In>,
    pub(crate) delta1: Wide<In>,
    pub(crate) delta2: Wide<In>,
    pub(crate) delta3: Wide<In>,
    pub(crate) address: Wide<Out>,
    delta: Wide<Local>,
    held: Register,
}

impl AddressGenerator {
    pub(crate) fn new(bits: u32) -> Self {
        AddressGenerator {
            clock: Signal::default(),
            advance: Advance::new(&|_| 1),
            base: Wide::new(bits),
            delta0: Wide::new(bits),
            delta1: Wide::new(bits),
            delta2: Wide::new(bits),
            delta3: Wide::new(bits),
            address: Wide::new(bits),
            delta: Wide::new(bits),
            held: Register::new(bits),
        }
    }
}

impl Logic for AddressGenerator {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("address_generator: address of each beat, by adding the delta of the loop level that advances.");
        clock!(self, clock, held);
        self.address.next = self.held.q.val();
        if self.advance.fresh.val() {
            self.address.next = self.base.val();
        }
        self.delta.next = self.delta3.val();
        if self.advance.level2.val() {
            self.delta.next = self.delta2.val();
        }
        if self.advance.level1.val() {
            self.delta.next = self.delta1.val();
        }
        if self.advance.level0.val() {
            self.delta.next = self.delta0.val();
        }
        self.held.d.next = self.held.q.val();
        if self.advance.step.val() {
            self.held.d.next = self.address.val() + self.delta.val();
        }
    }
}

/// An address of the data pad: the bank on top.
#[derive(LogicBlock)]
pub(crate) struct BankAddress {
    pub(crate) bank: Signal<In, Bit>,
    pub(crate) offset: Wide<In>,
    pub(crate) address: Wide<Out>,
}

impl BankAddress {
    pub(crate) fn new(bits: u32) -> Self {
        BankAddress { bank: Signal::default(), offset: Wide::new(bits - 1), address: Wide::new(bits) }
    }
}

impl Logic for BankAddress {
    fn update(&mut self) {
        self.address.next = self.offset.val() | i128::from(self.bank.val()) << self.offset.width();
    }
    fn connect(&mut self) {
        self.address.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(
            "// bank_address: address in the data pad, the bank on top.\nassign address = {bank, offset};".into(),
        )
    }
}

/// The control port's writes to the program, and the register behind the current instruction: what beats are made of is
/// needed a cycle later, beside the registered loops.
macro_rules! wire_program {
    ($self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            microcode.clock = clock;
            microcode.write = program_write;
            microcode.write_index = program_index;
            microcode.write_chunk = program_chunk;
            microcode.write_data = program_data;
            work.clock = clock;
            work.reset = reset;
            work.d = microcode.fields;
        );
    };
}

/// Program and pacer of a statically timed stream.
macro_rules! wire_pacer {
    ($self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            microcode.read = pacer.read;
            microcode.read_index = pacer.read_index;
            microcode.load = pacer.load;
            pacer.clock = clock;
            pacer.reset = stop;
            pacer.start = start;
            pacer.may_start = may_start;
            pacer.entry = entry;
            pacer.is_end = microcode.pacing.end;
            pacer.next_is_end = microcode.ahead.end;
            pacer.next_delay = microcode.ahead.delay;
            pacer.interval = microcode.pacing.interval;
            pacer.wrap = loops.wrap;
            pacer.wrap_stepped = loops.wrap_stepped;
            pacer.wrap_loaded = loops.wrap_loaded;
        );
    };
}

/// Loop counts of an instruction, and the register behind the loops. Counters go on to masks only.
macro_rules! wire_loops {
    ($self:ident, $wiring:ident, $loading:ident) => {
        crate::control::stream::wire_loops!(of $self, $wiring, $loading);
        crate::rtl::wiring::wires!($self, $wiring;
            counters.clock = clock;
            counters.reset = reset;
            places.loops = loops.counters;
            counters.d = places.counters;
        );
        crate::control::stream::wire_loops!(advance $self, $wiring);
    };
    ($self:ident, $wiring:ident, $loading:ident, without counters) => {
        crate::control::stream::wire_loops!(of $self, $wiring, $loading);
        crate::control::stream::wire_loops!(advance $self, $wiring);
    };
    (of $self:ident, $wiring:ident, $loading:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            loops.clock = clock;
            loops.load = $loading.load;
            loops.count0 = microcode.pacing.count0;
            loops.next_count0 = microcode.ahead.count0;
            loops.count1 = microcode.pacing.count1;
            loops.next_count1 = microcode.ahead.count1;
            loops.count2 = microcode.pacing.count2;
            loops.next_count2 = microcode.ahead.count2;
            loops.count3 = microcode.pacing.count3;
            loops.next_count3 = microcode.ahead.count3;
            ends.clock = clock;
            ends.reset = reset;
            ends.d = loops.ends;
        );
    };
    (advance $self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            advance.clock = clock;
            advance.reset = reset;
            advance.d = loops.advance;
        );
    };
}

/// Destination address of an instruction.
macro_rules! wire_destination {
    ($self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            destination.clock = clock;
            destination.advance = advance.q;
            destination.base = work.q.destination_base;
            destination.delta0 = work.q.destination_delta0;
            destination.delta1 = work.q.destination_delta1;
            destination.delta2 = work.q.destination_delta2;
            destination.delta3 = work.q.destination_delta3;
        );
    };
}

/// Read addresses of the input data and the temporaries, and what kind of beat it is, for streams of sums.
macro_rules! wire_reads {
    ($self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            data.clock = clock;
            data.advance = advance.q;
            data.base = work.q.data_base;
            data.delta0 = work.q.data_delta0;
            data.delta1 = work.q.data_delta1;
            data.delta2 = work.q.data_delta2;
            data.delta3 = work.q.data_delta3;
            data_bank.bank = bank_now.q;
            data_bank.offset = data.address;
            t0.clock = clock;
            t0.advance = advance.q;
            t0.base = work.q.t0_base;
            t0.delta0 = work.q.t0_delta0;
            t0.delta1 = work.q.t0_delta1;
            t0.delta2 = work.q.t0_delta2;
            t0.delta3 = work.q.t0_delta3;
            t1.clock = clock;
            t1.advance = advance.q;
            t1.base = work.q.t1_base;
            t1.delta0 = work.q.t1_delta0;
            t1.delta1 = work.q.t1_delta1;
            t1.delta2 = work.q.t1_delta2;
            t1.delta3 = work.q.t1_delta3;
            beat.valid = advance.q.step;
            beat.first = decode.first;
            beat.last = decode.last;
            beat.combine = work.q.combine;
            beat.negative = work.q.negative;
        );
    };
}

/// What a beat of a stream of sums is made of.
macro_rules! wire_operands {
    ($self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            beat.data_address = data_bank.address;
            beat.t0_address = t0.address;
            beat.t1_address = t1.address;
            beat.a = work.q.a;
            beat.b = work.q.b;
            beat.c = work.q.c;
            beat.align = work.q.align;
            beat.shift = work.q.shift;
            beat.immediate_b = work.q.immediate_b;
            beat.immediate_c = work.q.immediate_c;
        );
    };
}

pub(crate) use {wire_destination, wire_loops, wire_operands, wire_pacer, wire_program, wire_reads};

#[cfg(test)]
mod tests;
