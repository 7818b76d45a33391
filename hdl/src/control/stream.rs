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
use blocks::block;
use rust_hdl_core::prelude::*;

/// A number at more bits.
#[block(leaf)]
pub(crate) fn Widen(from: u32, to: u32) {
    assert!(from < to, "{from} bits are not fewer than {to}");
    let narrow: In<from>;
    let wide: Out<to>;
}

impl crate::rtl::Leaf for Widen {
    fn model(&mut self) {
        self.wide.next = self.narrow.val();
    }
    fn text(&self) -> String {
        let missing = self.wide.width() - self.narrow.width();
        format!("// widen: the same number at more bits.\nassign wide = {{{missing}'d0, narrow}};")
    }
}

/// When the beats of a stream are issued, and which instruction is current.
#[block(clock, reset, long = "one decision, made a cycle ahead: parts of it would be its slowest way")]
pub(crate) fn Pacer(widths: &Widths) {
    let (time, interval) = (widths.alu.field("delay").bits, widths.alu.field("interval").bits);
    /// Start at `entry`, which was read in an earlier cycle.
    let start: In;
    /// There may be a start in this cycle: known early, unlike `start`.
    let may_start: In;
    let entry: In<{ widths.index }>;
    let is_end: In;
    /// The instruction ahead is the last one.
    let next_is_end: In;
    /// Of the instruction ahead.
    let next_delay: In<time>;
    /// Less one.
    let interval: In<interval>;
    /// This beat would be the last one of its instruction; so would the one after a beat, and the one after a load.
    let wrap: In;
    let (wrap_stepped, wrap_loaded): In;
    /// No beat now.
    let hold: In;
    /// The instruction `read_index` is fetched; it is ahead from the next cycle on.
    let read: Out;
    let read_index: Out<{ widths.index }>;
    /// The instruction ahead becomes current.
    let load: Out;
    let issue: Out;
    /// The next beat is the first one of its instruction.
    let fresh: Out;
    let busy: Out;
    let (running, first_beat): Flag;
    /// Number of the instruction after the one ahead.
    let after: Register<{ widths.index }>;
    let countdown: Register<time>;
    /// The countdown is 0.
    let due: Flag;
    /// The stream is running, and its countdown is 0.
    let going: Flag;
    /// The same, with the last beat of an instruction that is not the last one.
    let passes: Flag;
    /// The stream is running, and its instruction is not the last one.
    let goes_on: Flag;
    /// The interval at the width of a delay.
    let pause = Widen(interval, time);
    /// What `running` and `due` are going to be.
    let (runs_on, comes_due): Local;
    /// What `wrap` and `is_end` are going to be.
    let (will_wrap, will_end): Local;
    /// What `goes_on` is going to be.
    let follows: Local;
    /// What comes next is the entry.
    let at_end: Local;
    let (zero, one): Const<time> = (0, 1);
    let next_one: Const<{ widths.index }> = 1;

    pause.narrow = interval;
    busy = running;
    fresh = first_beat;

    issue = going && !hold;
    load = start || (passes && !hold);

    keep!(countdown);
    comes_due = countdown >> 1 == zero;
    will_wrap = wrap;
    will_end = is_end;
    if issue {
        will_wrap = wrap_stepped;
        countdown = pause.wide;
        comes_due = pause.wide == zero;
    } else if !due {
        countdown = countdown - one;
    }
    if load {
        will_wrap = wrap_loaded;
        will_end = next_is_end;
        countdown = next_delay;
        comes_due = next_delay == zero;
    }
    if issue {
        first_beat = wrap;
    }
    runs_on = running && !(issue && wrap && is_end);
    if start {
        first_beat = true;
        runs_on = true;
    }
    running = runs_on;
    due = comes_due;
    going = runs_on && comes_due;
    follows = runs_on && !will_end;
    goes_on = follows;
    passes = follows && comes_due && will_wrap;

    at_end = !goes_on && !may_start;
    read = load || at_end;
    read_index = after;
    if next_is_end || at_end {
        read_index = entry;
    }
    if read {
        after = read_index + next_one;
    }
}

/// Address of each beat, by adding the delta of the loop level that advances.
///
/// `base + sum(stride * counter)` with one adder: the microcode holds what each level's advance adds.
#[block(clock)]
pub(crate) fn AddressGenerator(bits: u32) {
    let advance: In<Advance> = |_| 1;
    for PART in ADDRESS {
        let PART: In<bits>;
    }
    let address: Out<bits>;
    let delta: Local<bits>;
    let held: Register<bits>;

    address = held;
    if advance.fresh {
        address = base;
    }
    delta = delta5;
    for N in [4, 3, 2, 1, 0] {
        if advance.levelN {
            delta = deltaN;
        }
    }
    if advance.step {
        held = address + delta;
    }
}

/// An address of the data pad: the bank on top.
#[block(leaf)]
pub(crate) fn BankAddress(bits: u32) {
    let bank: In;
    let offset: In<{ bits - 1 }>;
    let address: Out<bits>;
}

impl crate::rtl::Leaf for BankAddress {
    fn model(&mut self) {
        self.address.next = self.offset.val() | i128::from(self.bank.val()) << self.offset.width();
    }
    fn text(&self) -> String {
        "// bank_address: address in the data pad, the bank on top.\nassign address = {bank, offset};".into()
    }
}

/// The control port's writes to the program, and the register behind the current instruction: what beats are made of is
/// needed a cycle later, beside the registered loops.
macro_rules! wire_program {
    ($self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            microcode.write = program_write;
            microcode.write_index = program_index;
            microcode.write_chunk = program_chunk;
            microcode.write_data = program_data;
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
        blocks::unroll! { crate::rtl::wiring::wires!($self, $wiring;
            loops.load = $loading.load;
            for N in LEVELS {
                loops.countN = microcode.pacing.countN;
                loops.next_countN = microcode.ahead.countN;
            }
            ends.d = loops.ends;
        ); }
    };
    (advance $self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            advance.d = loops.advance;
        );
    };
}

/// Destination address of an instruction.
macro_rules! wire_destination {
    ($self:ident, $wiring:ident) => {
        blocks::unroll! { crate::rtl::wiring::wires!($self, $wiring;
            destination.advance = advance.q;
            for PART in ADDRESS { destination.PART = work.q.destination_PART; }
        ); }
    };
}

/// Read addresses of the input data and the temporaries, and what kind of beat it is, for streams of sums.
macro_rules! wire_reads {
    ($self:ident, $wiring:ident) => {
        blocks::unroll! { crate::rtl::wiring::wires!($self, $wiring;
            data.advance = advance.q;
            for PART in ADDRESS { data.PART = work.q.data_PART; }
            data_bank.bank = bank_now.q;
            data_bank.offset = data.address;
            for PAD in TEMPORARIES {
                PAD.advance = advance.q;
                for PART in ADDRESS { PAD.PART = work.q.PAD_PART; }
            }
            beat.valid = advance.q.step;
            for PART in [first, last] { beat.PART = decode.PART; }
            for PART in [combine, negative] { beat.PART = work.q.PART; }
        ); }
    };
}

/// What a beat of a stream of sums is made of.
macro_rules! wire_operands {
    ($self:ident, $wiring:ident) => {
        blocks::unroll! { crate::rtl::wiring::wires!($self, $wiring;
            beat.data_address = data_bank.address;
            for PAD in TEMPORARIES { beat.PAD_address = PAD.address; }
            for PART in [a, b, c, align, shift, immediate_b, immediate_c] { beat.PART = work.q.PART; }
        ); }
    };
}

pub(crate) use {wire_destination, wire_loops, wire_operands, wire_pacer, wire_program, wire_reads};

#[cfg(test)]
mod tests;
