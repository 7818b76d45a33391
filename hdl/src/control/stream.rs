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
//! these ways are short, nothing on them is compared: that a loop is in its last iteration and that a delay is over are bits, found
//! out in the cycle before, and the number of the instruction to be fetched does not depend on them, only whether it is fetched.
//! Where there may be a start, the instruction after the entry is chosen in advance, and fetched if it happens.

use crate::beats::{Advance, LoopCounters, LoopEnds, Widths};
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
    /// This beat would be the last one of its instruction.
    pub(crate) wrap: Signal<In, Bit>,
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
    /// The interval at the width of a delay.
    pause: Widen,
    finishes: Signal<Local, Bit>,
    /// What comes next is the entry.
    at_end: Signal<Local, Bit>,
    zero: Number,
    one: Number,
    two: Number,
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
            pause: Widen::new(interval, time),
            finishes: Signal::default(),
            at_end: Signal::default(),
            zero: Number::new(0, time),
            one: Number::new(1, time),
            two: Number::new(2, time),
            next_one: Number::new(1, widths.index),
        }
    }
}

impl Logic for Pacer {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("pacer: when the beats of a stream are issued, and which instruction is current.");
        clock!(self, clock, running, first_beat, after, countdown, due);
        self.running.reset.next = self.reset.val();
        self.first_beat.reset.next = self.reset.val();
        self.due.reset.next = self.reset.val();
        self.pause.narrow.next = self.interval.val();
        self.busy.next = self.running.q.val();
        self.fresh.next = self.first_beat.q.val();

        self.issue.next = self.running.q.val() && self.due.q.val() && !self.hold.val();
        self.finishes.next = self.issue.val() && self.wrap.val();
        self.load.next = self.start.val() || (self.finishes.val() && !self.is_end.val());

        self.countdown.d.next = self.countdown.q.val();
        self.due.d.next = self.countdown.q.val() < self.two.val();
        if self.issue.val() {
            self.countdown.d.next = self.pause.wide.val();
            self.due.d.next = self.pause.wide.val() == self.zero.val();
        } else if !self.due.q.val() {
            self.countdown.d.next = self.countdown.q.val() - self.one.val();
        }
        if self.load.val() {
            self.countdown.d.next = self.next_delay.val();
            self.due.d.next = self.next_delay.val() == self.zero.val();
        }
        self.first_beat.d.next = self.first_beat.q.val();
        if self.issue.val() {
            self.first_beat.d.next = self.wrap.val();
        }
        self.running.d.next = self.running.q.val() && !(self.finishes.val() && self.is_end.val());
        if self.start.val() {
            self.first_beat.d.next = true;
            self.running.d.next = true;
        }

        self.at_end.next = (self.is_end.val() || !self.running.q.val()) && !self.may_start.val();
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

/// Four nested counters, level 3 innermost.
#[derive(LogicBlock)]
pub(crate) struct LoopNest {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// A beat is issued.
    pub(crate) step: Signal<In, Bit>,
    /// It is the first one of its instruction.
    pub(crate) fresh: Signal<In, Bit>,
    /// Counts, less one.
    pub(crate) count0: Wide<In>,
    pub(crate) count1: Wide<In>,
    pub(crate) count2: Wide<In>,
    pub(crate) count3: Wide<In>,
    /// The instruction ahead becomes current.
    pub(crate) load: Signal<In, Bit>,
    /// Its counts, less one.
    pub(crate) next_count0: Wide<In>,
    pub(crate) next_count1: Wide<In>,
    pub(crate) next_count2: Wide<In>,
    pub(crate) next_count3: Wide<In>,
    pub(crate) ends: LoopEnds<Out>,
    pub(crate) counters: LoopCounters<Out>,
    pub(crate) advance: Advance<Out>,
    pub(crate) wrap: Signal<Out, Bit>,
    inner2: Signal<Local, Bit>,
    inner1: Signal<Local, Bit>,
    loop0: Register,
    loop1: Register,
    loop2: Register,
    loop3: Register,
    /// One more.
    more0: Wide<Local>,
    more1: Wide<Local>,
    more2: Wide<Local>,
    more3: Wide<Local>,
    /// The counter is at its count.
    last0: Flag,
    last1: Flag,
    last2: Flag,
    last3: Flag,
    zero: Number,
    one: Number,
}

impl LoopNest {
    pub(crate) fn new(widths: &Widths) -> Self {
        let bits = widths.counter();
        LoopNest {
            clock: Signal::default(),
            reset: Signal::default(),
            step: Signal::default(),
            fresh: Signal::default(),
            count0: Wide::new(bits),
            count1: Wide::new(bits),
            count2: Wide::new(bits),
            count3: Wide::new(bits),
            load: Signal::default(),
            next_count0: Wide::new(bits),
            next_count1: Wide::new(bits),
            next_count2: Wide::new(bits),
            next_count3: Wide::new(bits),
            ends: LoopEnds::new(&|name| widths.beat(name)),
            counters: LoopCounters::new(&|name| widths.beat(name)),
            advance: Advance::new(&|name| widths.beat(name)),
            wrap: Signal::default(),
            inner2: Signal::default(),
            inner1: Signal::default(),
            loop0: Register::new(bits),
            loop1: Register::new(bits),
            loop2: Register::new(bits),
            loop3: Register::new(bits),
            more0: Wide::new(bits),
            more1: Wide::new(bits),
            more2: Wide::new(bits),
            more3: Wide::new(bits),
            last0: Flag::new(),
            last1: Flag::new(),
            last2: Flag::new(),
            last3: Flag::new(),
            zero: Number::new(0, bits),
            one: Number::new(1, bits),
        }
    }
}

impl Logic for LoopNest {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("loop_nest: the counters of the four loop levels of an instruction.");
        clock!(self, clock, loop0, loop1, loop2, loop3);
        clock!(self, clock, last0, last1, last2, last3);
        self.last0.reset.next = self.reset.val();
        self.last1.reset.next = self.reset.val();
        self.last2.reset.next = self.reset.val();
        self.last3.reset.next = self.reset.val();
        self.counters.counter0.next = self.loop0.q.val();
        self.counters.counter1.next = self.loop1.q.val();
        self.counters.counter2.next = self.loop2.q.val();
        self.counters.counter3.next = self.loop3.q.val();
        self.ends.first0.next = self.loop0.q.val() == self.zero.val();
        self.ends.first1.next = self.loop1.q.val() == self.zero.val();
        self.ends.first2.next = self.loop2.q.val() == self.zero.val();
        self.ends.first3.next = self.loop3.q.val() == self.zero.val();
        self.ends.last0.next = self.last0.q.val();
        self.ends.last1.next = self.last1.q.val();
        self.ends.last2.next = self.last2.q.val();
        self.ends.last3.next = self.last3.q.val();
        self.inner2.next = self.last3.q.val() && self.last2.q.val();
        self.inner1.next = self.inner2.val() && self.last1.q.val();
        self.wrap.next = self.inner1.val() && self.last0.q.val();
        self.advance.step.next = self.step.val();
        self.advance.fresh.next = self.fresh.val();
        self.advance.level2.next = self.last3.q.val();
        self.advance.level1.next = self.inner2.val();
        self.advance.level0.next = self.inner1.val();

        self.more0.next = self.loop0.q.val() + self.one.val();
        self.more1.next = self.loop1.q.val() + self.one.val();
        self.more2.next = self.loop2.q.val() + self.one.val();
        self.more3.next = self.loop3.q.val() + self.one.val();
        self.loop0.d.next = self.loop0.q.val();
        self.loop1.d.next = self.loop1.q.val();
        self.loop2.d.next = self.loop2.q.val();
        self.loop3.d.next = self.loop3.q.val();
        self.last0.d.next = self.last0.q.val();
        self.last1.d.next = self.last1.q.val();
        self.last2.d.next = self.last2.q.val();
        self.last3.d.next = self.last3.q.val();
        if self.step.val() {
            self.loop3.d.next = self.more3.val();
            self.last3.d.next = self.more3.val() == self.count3.val();
            if self.last3.q.val() {
                self.loop3.d.next = self.zero.val();
                self.last3.d.next = self.count3.val() == self.zero.val();
                self.loop2.d.next = self.more2.val();
                self.last2.d.next = self.more2.val() == self.count2.val();
            }
            if self.inner2.val() {
                self.loop2.d.next = self.zero.val();
                self.last2.d.next = self.count2.val() == self.zero.val();
                self.loop1.d.next = self.more1.val();
                self.last1.d.next = self.more1.val() == self.count1.val();
            }
            if self.inner1.val() {
                self.loop1.d.next = self.zero.val();
                self.last1.d.next = self.count1.val() == self.zero.val();
                self.loop0.d.next = self.more0.val();
                self.last0.d.next = self.more0.val() == self.count0.val();
            }
            if self.wrap.val() {
                self.loop0.d.next = self.zero.val();
                self.last0.d.next = self.count0.val() == self.zero.val();
            }
        }
        if self.load.val() {
            self.last0.d.next = self.next_count0.val() == self.zero.val();
            self.last1.d.next = self.next_count1.val() == self.zero.val();
            self.last2.d.next = self.next_count2.val() == self.zero.val();
            self.last3.d.next = self.next_count3.val() == self.zero.val();
        }
        if self.reset.val() {
            self.loop0.d.next = self.zero.val();
            self.loop1.d.next = self.zero.val();
            self.loop2.d.next = self.zero.val();
            self.loop3.d.next = self.zero.val();
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
            pacer.reset = reset;
            pacer.start = start;
            pacer.may_start = may_start;
            pacer.entry = entry;
            pacer.is_end = microcode.pacing.end;
            pacer.next_is_end = microcode.ahead.end;
            pacer.next_delay = microcode.ahead.delay;
            pacer.interval = microcode.pacing.interval;
            pacer.wrap = loops.wrap;
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
            counters.d = loops.counters;
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
            loops.reset = reset;
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
