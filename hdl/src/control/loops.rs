//! The loop counters of a stream.
//!
//!     counts ──▶ LoopNest ──▶ ends, advance: which levels are at their ends, and which one goes on
//!                   └───────▶ counters ──▶ Places ──▶ rows, columns and groups that masks may pick
//!
//! Whether a beat is the last one of its instruction decides in the same cycle what is fetched next, so it is a register, and what it is
//! going to be is known for either case: after another beat, and after another instruction. Nothing there waits for a carry ([`IsNext`]).

use crate::beats::{Advance, LoopCounters, LoopEnds, Widths};
use crate::rtl::register::{Flag, Register};
use crate::rtl::signal::{Number, Wide, fit};
use crate::rtl::wiring::{Lines, comment};
use rust_hdl::prelude::*;

/// Whether `count` is one more than `number`, without the carries of an adder: `count + ~number` is 0 then, and a sum is 0 if each of its bits
/// is what would carry into it, which is the or of the two bits below.
#[derive(LogicBlock)]
pub(crate) struct IsNext {
    pub(crate) number: Wide<In>,
    pub(crate) count: Wide<In>,
    pub(crate) follows: Signal<Out, Bit>,
}

impl IsNext {
    pub(crate) fn new(bits: u32) -> Self {
        IsNext { number: Wide::new(bits), count: Wide::new(bits), follows: Signal::default() }
    }
}

impl Logic for IsNext {
    fn update(&mut self) {
        let bits = self.count.width();
        self.follows.next = fit(self.number.val() + 1, bits, false) == self.count.val();
    }
    fn connect(&mut self) {
        self.follows.connect();
    }
    fn hdl(&self) -> Verilog {
        let bits = self.count.width();
        Verilog::Custom(format!(
            "// is_next: whether a count is one more than a number, without carries.
assign follows = (count ^ ~number) == {{count[{last}:0] | ~number[{last}:0], 1'b0}};",
            last = bits - 2
        ))
    }
}

/// Counters as numbers of rows, columns or groups of PEs: what is more than any of those becomes the largest number, which none of them has.
#[derive(LogicBlock)]
pub(crate) struct Places {
    pub(crate) loops: LoopCounters<In>,
    pub(crate) counters: LoopCounters<Out>,
    _counter: u32,
    _place: u32,
}

impl Places {
    pub(crate) fn new(widths: &Widths) -> Self {
        let (counter, place) = (widths.counter(), widths.place());
        Places {
            loops: LoopCounters::new(&|_| counter),
            counters: LoopCounters::new(&|_| place),
            _counter: counter,
            _place: place,
        }
    }
}

impl Logic for Places {
    fn update(&mut self) {
        let mut values = Vec::new();
        self.loops.sample(&mut values);
        let most = (1 << self._place) - 1;
        self.counters.drive(&mut values.into_iter().map(|value| value.min(most)));
    }
    fn connect(&mut self) {
        Lines::claim(&mut self.counters);
    }
    fn hdl(&self) -> Verilog {
        let (counter, place) = (self._counter, self._place);
        let mut text = "// places: counters as numbers of rows, columns or groups; what is more than all of them is the largest number."
            .to_owned();
        for level in 0..4 {
            let name = format!("counter{level}");
            text += &if place == counter {
                format!("\nassign counters${name} = loops${name};")
            } else {
                let (high, low) = (counter - 1, place - 1);
                format!(
                    "\nassign counters${name} = loops${name}[{low}:0] | {{{place}{{|loops${name}[{high}:{place}]}}}};"
                )
            };
        }
        Verilog::Custom(text)
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
    /// This beat is the last one of its instruction.
    pub(crate) wrap: Signal<Out, Bit>,
    /// After a beat, and after a load: the beat that comes then is the last one.
    pub(crate) wrap_stepped: Signal<Out, Bit>,
    pub(crate) wrap_loaded: Signal<Out, Bit>,
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
    /// One more is the count.
    nears0: IsNext,
    nears1: IsNext,
    nears2: IsNext,
    nears3: IsNext,
    /// The counter is at its count.
    last0: Flag,
    last1: Flag,
    last2: Flag,
    last3: Flag,
    /// All of them.
    last: Flag,
    /// After a beat, if it is one: the counter is at its count.
    stepped0: Signal<Local, Bit>,
    stepped1: Signal<Local, Bit>,
    stepped2: Signal<Local, Bit>,
    stepped3: Signal<Local, Bit>,
    /// The loops from 0 to 1, and to 2, are in their last iterations; those from 1, and from 2, to 3 have one.
    last01: Signal<Local, Bit>,
    last02: Signal<Local, Bit>,
    once13: Signal<Local, Bit>,
    once23: Signal<Local, Bit>,
    /// This instruction has one iteration of the loop; so does the one ahead.
    once0: Flag,
    once1: Flag,
    once2: Flag,
    once3: Flag,
    next_once0: Signal<Local, Bit>,
    next_once1: Signal<Local, Bit>,
    next_once2: Signal<Local, Bit>,
    next_once3: Signal<Local, Bit>,
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
            wrap_stepped: Signal::default(),
            wrap_loaded: Signal::default(),
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
            nears0: IsNext::new(bits),
            nears1: IsNext::new(bits),
            nears2: IsNext::new(bits),
            nears3: IsNext::new(bits),
            last0: Flag::new(),
            last1: Flag::new(),
            last2: Flag::new(),
            last3: Flag::new(),
            last: Flag::new(),
            stepped0: Signal::default(),
            stepped1: Signal::default(),
            stepped2: Signal::default(),
            stepped3: Signal::default(),
            last01: Signal::default(),
            last02: Signal::default(),
            once13: Signal::default(),
            once23: Signal::default(),
            once0: Flag::new(),
            once1: Flag::new(),
            once2: Flag::new(),
            once3: Flag::new(),
            next_once0: Signal::default(),
            next_once1: Signal::default(),
            next_once2: Signal::default(),
            next_once3: Signal::default(),
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
        clock!(self, clock, last0, last1, last2, last3, last);
        clock!(self, clock, once0, once1, once2, once3);
        self.last0.reset.next = self.reset.val();
        self.last1.reset.next = self.reset.val();
        self.last2.reset.next = self.reset.val();
        self.last3.reset.next = self.reset.val();
        self.last.reset.next = self.reset.val();
        self.once0.reset.next = self.reset.val();
        self.once1.reset.next = self.reset.val();
        self.once2.reset.next = self.reset.val();
        self.once3.reset.next = self.reset.val();
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
        self.wrap.next = self.last.q.val();
        self.advance.step.next = self.step.val();
        self.advance.fresh.next = self.fresh.val();
        self.advance.level2.next = self.last3.q.val();
        self.advance.level1.next = self.inner2.val();
        self.advance.level0.next = self.inner1.val();

        self.more0.next = self.loop0.q.val() + self.one.val();
        self.more1.next = self.loop1.q.val() + self.one.val();
        self.more2.next = self.loop2.q.val() + self.one.val();
        self.more3.next = self.loop3.q.val() + self.one.val();
        self.nears0.number.next = self.loop0.q.val();
        self.nears0.count.next = self.count0.val();
        self.nears1.number.next = self.loop1.q.val();
        self.nears1.count.next = self.count1.val();
        self.nears2.number.next = self.loop2.q.val();
        self.nears2.count.next = self.count2.val();
        self.nears3.number.next = self.loop3.q.val();
        self.nears3.count.next = self.count3.val();
        self.loop0.d.next = self.loop0.q.val();
        self.loop1.d.next = self.loop1.q.val();
        self.loop2.d.next = self.loop2.q.val();
        self.loop3.d.next = self.loop3.q.val();
        // A counter that goes on is at its count if it was one before it, or if there is nothing to count.
        self.stepped3.next = self.nears3.follows.val() || self.once3.q.val();
        self.stepped2.next = self.last2.q.val();
        self.stepped1.next = self.last1.q.val();
        self.stepped0.next = self.last0.q.val();
        if self.last3.q.val() {
            self.stepped2.next = self.nears2.follows.val() || self.once2.q.val();
        }
        if self.inner2.val() {
            self.stepped1.next = self.nears1.follows.val() || self.once1.q.val();
        }
        if self.inner1.val() {
            self.stepped0.next = self.nears0.follows.val() || self.once0.q.val();
        }
        // All of them are, if one is that counts and those inside it do not count, while those outside it are there already.
        self.once23.next = self.once3.q.val() && self.once2.q.val();
        self.once13.next = self.once23.val() && self.once1.q.val();
        self.last01.next = self.last0.q.val() && self.last1.q.val();
        self.last02.next = self.last01.val() && self.last2.q.val();
        self.wrap_stepped.next = (self.nears3.follows.val() && self.last02.val())
            || (self.nears2.follows.val() && self.once3.q.val() && self.last01.val())
            || (self.nears1.follows.val() && self.once23.val() && self.last0.q.val())
            || ((self.nears0.follows.val() || self.once0.q.val()) && self.once13.val());
        self.next_once0.next = self.next_count0.val() == self.zero.val();
        self.next_once1.next = self.next_count1.val() == self.zero.val();
        self.next_once2.next = self.next_count2.val() == self.zero.val();
        self.next_once3.next = self.next_count3.val() == self.zero.val();
        self.wrap_loaded.next =
            self.next_once0.val() && self.next_once1.val() && self.next_once2.val() && self.next_once3.val();
        self.once0.d.next = self.once0.q.val();
        self.once1.d.next = self.once1.q.val();
        self.once2.d.next = self.once2.q.val();
        self.once3.d.next = self.once3.q.val();
        self.last0.d.next = self.last0.q.val();
        self.last1.d.next = self.last1.q.val();
        self.last2.d.next = self.last2.q.val();
        self.last3.d.next = self.last3.q.val();
        self.last.d.next = self.last.q.val();
        if self.step.val() {
            self.last0.d.next = self.stepped0.val();
            self.last1.d.next = self.stepped1.val();
            self.last2.d.next = self.stepped2.val();
            self.last3.d.next = self.stepped3.val();
            self.last.d.next = self.wrap_stepped.val();
            self.loop3.d.next = self.more3.val();
            if self.last3.q.val() {
                self.loop3.d.next = self.zero.val();
                self.loop2.d.next = self.more2.val();
            }
            if self.inner2.val() {
                self.loop2.d.next = self.zero.val();
                self.loop1.d.next = self.more1.val();
            }
            if self.inner1.val() {
                self.loop1.d.next = self.zero.val();
                self.loop0.d.next = self.more0.val();
            }
            if self.last.q.val() {
                self.loop0.d.next = self.zero.val();
            }
        }
        if self.load.val() {
            self.once0.d.next = self.next_once0.val();
            self.once1.d.next = self.next_once1.val();
            self.once2.d.next = self.next_once2.val();
            self.once3.d.next = self.next_once3.val();
            self.last0.d.next = self.next_once0.val();
            self.last1.d.next = self.next_once1.val();
            self.last2.d.next = self.next_once2.val();
            self.last3.d.next = self.next_once3.val();
            self.last.d.next = self.wrap_loaded.val();
        }
        if self.reset.val() {
            self.loop0.d.next = self.zero.val();
            self.loop1.d.next = self.zero.val();
            self.loop2.d.next = self.zero.val();
            self.loop3.d.next = self.zero.val();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::{clocked, settled};

    #[test]
    fn the_next_number_is_told_by_all_bits() {
        let mut block = IsNext::new(4);
        block.connect_all();
        for (number, count) in (0..16).flat_map(|number| (0..16).map(move |count| (number, count))) {
            (block.number.next, block.count.next) = (number, count);
            settled(&mut block);
            assert_eq!(block.follows.val(), (number + 1) % 16 == count, "{number} {count}");
            // What the text says, bit by bit.
            let below = (count | !number) << 1 & 15;
            assert_eq!((count ^ !number) & 15 == below, (number + 1) % 16 == count, "{number} {count}");
        }
    }

    #[test]
    fn loops_count_inwards_first() {
        let mut block = LoopNest::new(&Widths::of_grid(1, 1));
        block.connect_all();
        block.reset.next = true;
        clocked(&mut block, |b| &mut b.clock);
        block.reset.next = false;
        // Two times three beats; counts are less one.
        (block.next_count2.next, block.next_count3.next, block.load.next) = (1, 2, true);
        settled(&mut block);
        assert!(!block.wrap_loaded.val());
        clocked(&mut block, |b| &mut b.clock);
        (block.count2.next, block.count3.next, block.load.next, block.step.next) = (1, 2, false, true);
        let mut shown = Vec::new();
        for beat in 0..6 {
            settled(&mut block);
            assert_eq!(block.wrap_stepped.val(), beat == 4, "before beat {}", beat + 1);
            shown.push((block.counters.counter2.val(), block.counters.counter3.val(), block.wrap.val()));
            clocked(&mut block, |b| &mut b.clock);
        }
        let expected = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];
        assert_eq!(shown, expected.map(|(outer, inner)| (outer, inner, (outer, inner) == (1, 2))));
    }

    #[test]
    fn an_instruction_of_one_beat_wraps_at_once() {
        let mut block = LoopNest::new(&Widths::of_grid(1, 1));
        block.connect_all();
        block.load.next = true;
        clocked(&mut block, |b| &mut b.clock);
        (block.load.next, block.step.next) = (false, true);
        settled(&mut block);
        assert!(block.wrap.val() && block.wrap_stepped.val() && block.wrap_loaded.val());
        // The next one has two beats in any of its loops.
        for level in 0..4 {
            let mut counts = [0; 4];
            counts[level] = 1;
            [block.next_count0.next, block.next_count1.next, block.next_count2.next, block.next_count3.next] = counts;
            block.load.next = true;
            settled(&mut block);
            assert!(!block.wrap_loaded.val(), "level {level}");
            clocked(&mut block, |b| &mut b.clock);
            settled(&mut block);
            assert!(!block.wrap.val(), "level {level}");
        }
    }
}
