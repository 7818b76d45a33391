//! The parts every stream is made of.
//!
//!     program ──▶ Pacer (when) ──▶ LoopNest (which beat) ──▶ AddressGenerator (where)
//!        ▲          │ read_index
//!        └──────────┘
//!
//! A stream that is idle reads its next entry, so that the first instruction is there in the cycle after its start.

use crate::beats::{Advance, LoopCounters, LoopEnds, Widths};
use crate::register::{Flag, Register};
use crate::signal::{Number, Wide};
use crate::wiring::comment;
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
    /// Start at `entry`, which is being read.
    pub(crate) start: Signal<In, Bit>,
    pub(crate) entry: Wide<In>,
    pub(crate) is_end: Signal<In, Bit>,
    pub(crate) delay: Wide<In>,
    /// Less one.
    pub(crate) interval: Wide<In>,
    /// This beat would be the last one of its instruction.
    pub(crate) wrap: Signal<In, Bit>,
    /// No beat now.
    pub(crate) hold: Signal<In, Bit>,
    pub(crate) read_index: Wide<Out>,
    pub(crate) issue: Signal<Out, Bit>,
    /// The next beat is the first one of its instruction.
    pub(crate) fresh: Signal<Out, Bit>,
    pub(crate) busy: Signal<Out, Bit>,
    running: Flag,
    opening: Flag,
    first_beat: Flag,
    index: Register,
    countdown: Register,
    /// The interval at the width of a delay.
    pause: Widen,
    wait_now: Wide<Local>,
    finishes: Signal<Local, Bit>,
    stops: Signal<Local, Bit>,
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
            entry: Wide::new(widths.index),
            is_end: Signal::default(),
            delay: Wide::new(time),
            interval: Wide::new(interval),
            wrap: Signal::default(),
            hold: Signal::default(),
            read_index: Wide::new(widths.index),
            issue: Signal::default(),
            fresh: Signal::default(),
            busy: Signal::default(),
            running: Flag::new(),
            opening: Flag::new(),
            first_beat: Flag::new(),
            index: Register::new(widths.index),
            countdown: Register::new(time),
            pause: Widen::new(interval, time),
            wait_now: Wide::new(time),
            finishes: Signal::default(),
            stops: Signal::default(),
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
        clock!(self, clock, running, opening, first_beat, index, countdown);
        self.running.reset.next = self.reset.val();
        self.opening.reset.next = self.reset.val();
        self.first_beat.reset.next = self.reset.val();
        self.pause.narrow.next = self.interval.val();
        self.busy.next = self.running.q.val();
        self.fresh.next = self.first_beat.q.val();

        self.wait_now.next = self.countdown.q.val();
        if self.opening.q.val() {
            self.wait_now.next = self.delay.val();
        }
        self.issue.next = self.running.q.val() && self.wait_now.val() == self.zero.val() && !self.hold.val();
        self.finishes.next = self.issue.val() && self.wrap.val();
        self.stops.next = self.finishes.val() && self.is_end.val();

        self.countdown.d.next = self.wait_now.val();
        if self.issue.val() {
            self.countdown.d.next = self.pause.wide.val();
        } else if self.wait_now.val() != self.zero.val() {
            self.countdown.d.next = self.wait_now.val() - self.one.val();
        }
        self.opening.d.next = self.start.val() || self.finishes.val();
        self.first_beat.d.next = self.first_beat.q.val();
        if self.issue.val() {
            self.first_beat.d.next = self.wrap.val();
        }
        self.running.d.next = self.running.q.val() && !self.stops.val();
        if self.start.val() {
            self.first_beat.d.next = true;
            self.running.d.next = true;
        }

        self.read_index.next = self.index.q.val();
        if self.finishes.val() {
            self.read_index.next = self.index.q.val() + self.next_one.val();
        }
        if self.stops.val() || !self.running.q.val() {
            self.read_index.next = self.entry.val();
        }
        self.index.d.next = self.read_index.val();
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
        self.counters.counter0.next = self.loop0.q.val();
        self.counters.counter1.next = self.loop1.q.val();
        self.counters.counter2.next = self.loop2.q.val();
        self.counters.counter3.next = self.loop3.q.val();
        self.ends.first0.next = self.loop0.q.val() == self.zero.val();
        self.ends.first1.next = self.loop1.q.val() == self.zero.val();
        self.ends.first2.next = self.loop2.q.val() == self.zero.val();
        self.ends.first3.next = self.loop3.q.val() == self.zero.val();
        self.ends.last0.next = self.loop0.q.val() == self.count0.val();
        self.ends.last1.next = self.loop1.q.val() == self.count1.val();
        self.ends.last2.next = self.loop2.q.val() == self.count2.val();
        self.ends.last3.next = self.loop3.q.val() == self.count3.val();
        self.inner2.next = self.ends.last3.val() && self.ends.last2.val();
        self.inner1.next = self.inner2.val() && self.ends.last1.val();
        self.wrap.next = self.inner1.val() && self.ends.last0.val();
        self.advance.step.next = self.step.val();
        self.advance.fresh.next = self.fresh.val();
        self.advance.level2.next = self.ends.last3.val();
        self.advance.level1.next = self.inner2.val();
        self.advance.level0.next = self.inner1.val();

        self.loop0.d.next = self.loop0.q.val();
        self.loop1.d.next = self.loop1.q.val();
        self.loop2.d.next = self.loop2.q.val();
        self.loop3.d.next = self.loop3.q.val();
        if self.step.val() {
            self.loop3.d.next = self.loop3.q.val() + self.one.val();
            if self.ends.last3.val() {
                self.loop3.d.next = self.zero.val();
                self.loop2.d.next = self.loop2.q.val() + self.one.val();
            }
            if self.inner2.val() {
                self.loop2.d.next = self.zero.val();
                self.loop1.d.next = self.loop1.q.val() + self.one.val();
            }
            if self.inner1.val() {
                self.loop1.d.next = self.zero.val();
                self.loop0.d.next = self.loop0.q.val() + self.one.val();
            }
            if self.wrap.val() {
                self.loop0.d.next = self.zero.val();
            }
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

/// The control port's writes to the program.
macro_rules! wire_program {
    ($self:ident, $wiring:ident) => {
        crate::wiring::wires!($self, $wiring;
            microcode.clock = clock;
            microcode.write = program_write;
            microcode.write_index = program_index;
            microcode.write_chunk = program_chunk;
            microcode.write_data = program_data;
        );
    };
}

/// Program and pacer of a statically timed stream.
macro_rules! wire_pacer {
    ($self:ident, $wiring:ident) => {
        crate::wiring::wires!($self, $wiring;
            microcode.read_index = pacer.read_index;
            pacer.clock = clock;
            pacer.reset = reset;
            pacer.start = start;
            pacer.entry = entry;
            pacer.is_end = microcode.fields.end;
            pacer.delay = microcode.fields.delay;
            pacer.interval = microcode.fields.interval;
            pacer.wrap = loops.wrap;
            loops.step = pacer.issue;
            loops.fresh = pacer.fresh;
        );
    };
}

/// Loop counts of an instruction.
macro_rules! wire_loops {
    ($self:ident, $wiring:ident) => {
        crate::wiring::wires!($self, $wiring;
            loops.clock = clock;
            loops.reset = reset;
            loops.count0 = microcode.fields.count0;
            loops.count1 = microcode.fields.count1;
            loops.count2 = microcode.fields.count2;
            loops.count3 = microcode.fields.count3;
        );
    };
}

/// Destination address of an instruction.
macro_rules! wire_destination {
    ($self:ident, $wiring:ident) => {
        crate::wiring::wires!($self, $wiring;
            destination.clock = clock;
            destination.advance = loops.advance;
            destination.base = microcode.fields.destination_base;
            destination.delta0 = microcode.fields.destination_delta0;
            destination.delta1 = microcode.fields.destination_delta1;
            destination.delta2 = microcode.fields.destination_delta2;
            destination.delta3 = microcode.fields.destination_delta3;
        );
    };
}

pub(crate) use {wire_destination, wire_loops, wire_pacer, wire_program};
