//! The loop counters of a stream.
//!
//!     counts ──▶ LoopNest ──▶ ends, advance: which levels are at their ends, and which one goes on
//!                   └───────▶ counters ──▶ Places ──▶ rows, columns and groups that masks may pick
//!
//! Whether a beat is the last one of its instruction decides in the same cycle what is fetched next, so it is a register, and what it is
//! going to be is known for either case: after another beat, and after another instruction. Both are told by bits of the loops, no counter is
//! compared ([`LoopLevel`]).

use crate::beats::{Advance, LoopCounters, LoopEnds, Widths};
use crate::rtl::register::{Flag, Register};
use crate::rtl::signal::{Number, Wide, fit};
use crate::rtl::wiring::{Lines, comment};
use rust_hdl::prelude::*;

/// Whether `count` is two more than `number`, without the carries of an adder: the lowest bits are equal, and of the others `count + ~number` is
/// 0, so each bit of it is what would carry into it, which is the or of the two bits below.
#[derive(LogicBlock)]
struct IsAfterNext {
    number: Wide<In>,
    count: Wide<In>,
    follows: Signal<Out, Bit>,
}

impl IsAfterNext {
    fn new(bits: u32) -> Self {
        assert!(bits > 2, "a counter of {bits} bits");
        IsAfterNext { number: Wide::new(bits), count: Wide::new(bits), follows: Signal::default() }
    }
}

impl Logic for IsAfterNext {
    fn update(&mut self) {
        self.follows.next = fit(self.number.val() + 2, self.count.width(), false) == self.count.val();
    }
    fn connect(&mut self) {
        self.follows.connect();
    }
    fn hdl(&self) -> Verilog {
        let last = self.count.width() - 1;
        Verilog::Custom(format!(
            "// is_after_next: whether a count is two more than a number, without carries.
assign follows = count[0] == number[0]
    && (count[{last}:1] ^ ~number[{last}:1]) == {{count[{below}:1] | ~number[{below}:1], 1'b0}};",
            below = last - 1
        ))
    }
}

/// The counter of a loop. What a stream decides by is a register: whether the loop is in its last iteration, and in the one before it.
#[derive(LogicBlock)]
pub(crate) struct LoopLevel {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// The next iteration; after the last one the first one.
    pub(crate) step: Signal<In, Bit>,
    /// Less one.
    pub(crate) count: Wide<In>,
    /// The instruction ahead becomes current.
    pub(crate) load: Signal<In, Bit>,
    /// Its count, less one.
    pub(crate) next_count: Wide<In>,
    pub(crate) counter: Wide<Out>,
    pub(crate) is_last: Signal<Out, Bit>,
    /// The next iteration is the last one.
    pub(crate) is_near: Signal<Out, Bit>,
    /// There is one iteration; so there is in the instruction ahead.
    pub(crate) is_single: Signal<Out, Bit>,
    pub(crate) next_is_single: Signal<Out, Bit>,
    held: Register,
    more: Wide<Local>,
    last: Flag,
    near: Flag,
    /// The counter is going to be one before its count.
    nears: IsAfterNext,
    /// There is one iteration, and there are two.
    single: Flag,
    double: Flag,
    next_is_double: Signal<Local, Bit>,
    zero: Number,
    one: Number,
}

impl LoopLevel {
    pub(crate) fn new(bits: u32) -> Self {
        LoopLevel {
            clock: Signal::default(),
            reset: Signal::default(),
            step: Signal::default(),
            count: Wide::new(bits),
            load: Signal::default(),
            next_count: Wide::new(bits),
            counter: Wide::new(bits),
            is_last: Signal::default(),
            is_near: Signal::default(),
            is_single: Signal::default(),
            next_is_single: Signal::default(),
            held: Register::new(bits),
            more: Wide::new(bits),
            last: Flag::new(),
            near: Flag::new(),
            nears: IsAfterNext::new(bits),
            single: Flag::new(),
            double: Flag::new(),
            next_is_double: Signal::default(),
            zero: Number::new(0, bits),
            one: Number::new(1, bits),
        }
    }
}

impl Logic for LoopLevel {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("loop_level: the counter of a loop.");
        clock!(self, clock, held, last, near, single, double);
        self.last.reset.next = self.reset.val();
        self.near.reset.next = self.reset.val();
        self.single.reset.next = self.reset.val();
        self.double.reset.next = self.reset.val();
        self.counter.next = self.held.q.val();
        self.is_last.next = self.last.q.val();
        self.is_near.next = self.near.q.val();
        self.is_single.next = self.single.q.val();
        self.next_is_single.next = self.next_count.val() == self.zero.val();
        self.next_is_double.next = self.next_count.val() == self.one.val();

        self.more.next = self.held.q.val() + self.one.val();
        self.nears.number.next = self.held.q.val();
        self.nears.count.next = self.count.val();
        self.held.d.next = self.held.q.val();
        self.last.d.next = self.last.q.val();
        self.near.d.next = self.near.q.val();
        self.single.d.next = self.single.q.val();
        self.double.d.next = self.double.q.val();
        if self.step.val() {
            self.held.d.next = self.more.val();
            self.last.d.next = self.near.q.val() || self.single.q.val();
            self.near.d.next = self.nears.follows.val() || (self.last.q.val() && self.double.q.val());
            if self.last.q.val() {
                self.held.d.next = self.zero.val();
            }
        }
        if self.load.val() {
            self.last.d.next = self.next_is_single.val();
            self.near.d.next = self.next_is_double.val();
            self.single.d.next = self.next_is_single.val();
            self.double.d.next = self.next_is_double.val();
        }
        if self.reset.val() {
            self.held.d.next = self.zero.val();
        }
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
    level0: LoopLevel,
    level1: LoopLevel,
    level2: LoopLevel,
    level3: LoopLevel,
    /// All loops are in their last iterations.
    last: Flag,
    /// Those inside a loop are.
    inner2: Signal<Local, Bit>,
    inner1: Signal<Local, Bit>,
    inner0: Signal<Local, Bit>,
    /// Those inside a loop have one.
    inner_single1: Signal<Local, Bit>,
    inner_single0: Signal<Local, Bit>,
    /// Those outside a loop are in their last iterations.
    outer2: Signal<Local, Bit>,
    outer3: Signal<Local, Bit>,
    zero: Number,
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
            level0: LoopLevel::new(bits),
            level1: LoopLevel::new(bits),
            level2: LoopLevel::new(bits),
            level3: LoopLevel::new(bits),
            last: Flag::new(),
            inner2: Signal::default(),
            inner1: Signal::default(),
            inner0: Signal::default(),
            inner_single1: Signal::default(),
            inner_single0: Signal::default(),
            outer2: Signal::default(),
            outer3: Signal::default(),
            zero: Number::new(0, bits),
        }
    }
}

impl Logic for LoopNest {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("loop_nest: the counters of the four loop levels of an instruction.");
        clock!(self, clock, level0, level1, level2, level3, last);
        self.last.reset.next = self.reset.val();
        self.level0.reset.next = self.reset.val();
        self.level0.load.next = self.load.val();
        self.level0.count.next = self.count0.val();
        self.level0.next_count.next = self.next_count0.val();
        self.counters.counter0.next = self.level0.counter.val();
        self.ends.first0.next = self.level0.counter.val() == self.zero.val();
        self.ends.last0.next = self.level0.is_last.val();
        self.level1.reset.next = self.reset.val();
        self.level1.load.next = self.load.val();
        self.level1.count.next = self.count1.val();
        self.level1.next_count.next = self.next_count1.val();
        self.counters.counter1.next = self.level1.counter.val();
        self.ends.first1.next = self.level1.counter.val() == self.zero.val();
        self.ends.last1.next = self.level1.is_last.val();
        self.level2.reset.next = self.reset.val();
        self.level2.load.next = self.load.val();
        self.level2.count.next = self.count2.val();
        self.level2.next_count.next = self.next_count2.val();
        self.counters.counter2.next = self.level2.counter.val();
        self.ends.first2.next = self.level2.counter.val() == self.zero.val();
        self.ends.last2.next = self.level2.is_last.val();
        self.level3.reset.next = self.reset.val();
        self.level3.load.next = self.load.val();
        self.level3.count.next = self.count3.val();
        self.level3.next_count.next = self.next_count3.val();
        self.counters.counter3.next = self.level3.counter.val();
        self.ends.first3.next = self.level3.counter.val() == self.zero.val();
        self.ends.last3.next = self.level3.is_last.val();
        self.inner2.next = self.level3.is_last.val();
        self.inner1.next = self.inner2.val() && self.level2.is_last.val();
        self.inner0.next = self.inner1.val() && self.level1.is_last.val();
        self.level3.step.next = self.step.val();
        self.level2.step.next = self.step.val() && self.inner2.val();
        self.level1.step.next = self.step.val() && self.inner1.val();
        self.level0.step.next = self.step.val() && self.inner0.val();
        self.advance.step.next = self.step.val();
        self.advance.fresh.next = self.fresh.val();
        self.advance.level2.next = self.inner2.val();
        self.advance.level1.next = self.inner1.val();
        self.advance.level0.next = self.inner0.val();

        // The next beat is the last one if a loop comes to its last iteration, those inside it have only one, and those outside it are there.
        self.inner_single1.next = self.level3.is_single.val() && self.level2.is_single.val();
        self.inner_single0.next = self.inner_single1.val() && self.level1.is_single.val();
        self.outer2.next = self.level0.is_last.val() && self.level1.is_last.val();
        self.outer3.next = self.outer2.val() && self.level2.is_last.val();
        self.wrap_stepped.next = (self.level3.is_near.val() && self.outer3.val())
            || (self.level2.is_near.val() && self.level3.is_single.val() && self.outer2.val())
            || (self.level1.is_near.val() && self.inner_single1.val() && self.level0.is_last.val())
            || ((self.level0.is_near.val() || self.level0.is_single.val()) && self.inner_single0.val());
        self.wrap_loaded.next = self.level0.next_is_single.val()
            && self.level1.next_is_single.val()
            && self.level2.next_is_single.val()
            && self.level3.next_is_single.val();
        self.wrap.next = self.last.q.val();
        self.last.d.next = self.last.q.val();
        if self.step.val() {
            self.last.d.next = self.wrap_stepped.val();
        }
        if self.load.val() {
            self.last.d.next = self.wrap_loaded.val();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::{clocked, settled};

    #[test]
    fn the_number_after_the_next_is_told_by_all_bits() {
        let mut block = IsAfterNext::new(4);
        block.connect_all();
        for (number, count) in (0..16).flat_map(|number| (0..16).map(move |count| (number, count))) {
            (block.number.next, block.count.next) = (number, count);
            settled(&mut block);
            assert_eq!(block.follows.val(), (number + 2) % 16 == count, "{number} {count}");
            // What the text says, bit by bit.
            let (upper, lower) = (count >> 1, !(number >> 1) & 7);
            let says = (count ^ number) & 1 == 0 && (upper ^ lower) & 7 == (upper | lower) << 1 & 7;
            assert_eq!(says, (number + 2) % 16 == count, "{number} {count}");
        }
    }

    #[test]
    fn a_loop_knows_its_last_iterations() {
        for count in 0..5 {
            let mut block = LoopLevel::new(3);
            block.connect_all();
            (block.next_count.next, block.load.next) = (count, true);
            clocked(&mut block, |b| &mut b.clock);
            (block.count.next, block.load.next, block.step.next) = (count, false, true);
            // Twice through.
            for n in (0..=count).chain(0..=count) {
                settled(&mut block);
                let shown = (block.counter.val(), block.is_last.val(), block.is_near.val(), block.is_single.val());
                assert_eq!(shown, (n, n == count, n + 1 == count, count == 0), "{n} of {count}");
                clocked(&mut block, |b| &mut b.clock);
            }
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
