//! The loop counters of a stream.
//!
//!     counts ──▶ LoopNest ──▶ ends, advance: which levels are at their ends, and which one goes on
//!                   └───────▶ counters ──▶ Places ──▶ rows, columns and groups that masks may pick
//!
//! Whether a beat is the last one of its instruction decides in the same cycle what is fetched next, so it is a register, and what it is
//! going to be is known for either case: after another beat, and after another instruction. Both are told by bits of the loops, no counter is
//! compared ([`LoopLevel`]).

use crate::beats::{Advance, LoopCounters, LoopEnds, Widths};
use crate::rtl::signal::fit;
use crate::rtl::wiring::Lines;
use arch::isa::LEVELS;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Whether `count` is two more than `number`, without the carries of an adder: the lowest bits are equal, and of the others `count + ~number` is
/// 0, so each bit of it is what would carry into it, which is the or of the two bits below.
#[block(leaf)]
fn IsAfterNext(bits: u32) {
    assert!(bits > 2, "a counter of {bits} bits");
    let (number, count): In<bits>;
    let follows: Out;
}

impl crate::rtl::Leaf for IsAfterNext {
    fn model(&mut self) {
        self.follows.next = fit(self.number.val() + 2, self.count.width(), false) == self.count.val();
    }
    fn text(&self) -> String {
        let last = self.count.width() - 1;
        format!(
            "// is_after_next: whether a count is two more than a number, without carries.
assign follows = count[0] == number[0]
    && (count[{last}:1] ^ ~number[{last}:1]) == {{count[{below}:1] | ~number[{below}:1], 1'b0}};",
            below = last - 1
        )
    }
}

/// The counter of a loop.
///
/// The counter of a loop. What a stream decides by is a register: whether the loop is in its last iteration, and in the one before it.
#[block(clock, reset)]
pub(crate) fn LoopLevel(bits: u32) {
    /// The next iteration; after the last one the first one.
    let step: In;
    /// Less one.
    let count: In<bits>;
    /// The instruction ahead becomes current.
    let load: In;
    /// Its count, less one.
    let next_count: In<bits>;
    let counter: Out<bits>;
    let is_last: Out;
    /// The next iteration is the last one.
    let is_near: Out;
    /// There is one iteration; so there is in the instruction ahead.
    let (is_single, next_is_single): Out;
    let held: Register<bits>;
    let more: Local<bits>;
    let (last, near): Flag;
    /// The counter is going to be one before its count.
    let nears = IsAfterNext(bits);
    /// There is one iteration, and there are two.
    let (single, double): Flag;
    let next_is_double: Local;
    let (zero, one): Const<bits> = (0, 1);

    counter = held;
    is_last = last;
    is_near = near;
    is_single = single;
    next_is_single = next_count == zero;
    next_is_double = next_count == one;

    more = held + one;
    nears.number = held;
    nears.count = count;
    keep!(held, last, near, single, double);
    if step {
        held = more;
        last = near || single;
        near = nears.follows || (last && double);
        if last {
            held = zero;
        }
    }
    if load {
        last = next_is_single;
        near = next_is_double;
        single = next_is_single;
        double = next_is_double;
    }
    if reset {
        held = zero;
    }
}

/// Counters as numbers of rows, columns or groups of PEs: what is more than any of those becomes the largest number, which none of them has.
#[block(leaf)]
pub(crate) fn Places(widths: &Widths) {
    let (counter, place) = (widths.counter(), widths.place());
    let loops: In<LoopCounters> = |_| counter;
    let counters: Out<LoopCounters> = |_| place;
    let _counter: u32 = counter;
    let _place: u32 = place;
}

impl crate::rtl::Leaf for Places {
    fn model(&mut self) {
        let mut values = Vec::new();
        self.loops.sample(&mut values);
        let most = (1 << self._place) - 1;
        self.counters.drive(&mut values.into_iter().map(|value| value.min(most)));
    }
    fn text(&self) -> String {
        let (counter, place) = (self._counter, self._place);
        let mut text = "// places: counters as numbers of rows, columns or groups; what is more than all of them is the largest number."
            .to_owned();
        for level in 0..LEVELS {
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
        text
    }
}

/// The counters of the loops of an instruction. Those that a machine does not have run once.
#[block(clock, reset)]
pub(crate) fn LoopNest(widths: &Widths) {
    let bits = widths.counter();
    /// A beat is issued.
    let step: In;
    /// It is the first one of its instruction.
    let fresh: In;
    for N in LEVELS {
        /// Counts, less one: of the instruction, and of the one ahead.
        let (countN, next_countN): In<bits>;
    }
    /// The instruction ahead becomes current.
    let load: In;
    let ends: Out<LoopEnds> = |name| widths.beat(name);
    let counters: Out<LoopCounters> = |name| widths.beat(name);
    let advance: Out<Advance> = |name| widths.beat(name);
    /// This beat is the last one of its instruction.
    let wrap: Out;
    /// After a beat, and after a load: the beat that comes then is the last one.
    let (wrap_stepped, wrap_loaded): Out;
    for N in LEVELS {
        let levelN = LoopLevel(clock, reset, bits);
        /// Loops inside this one are in their last iterations, have one, and those outside it are in their last ones.
        let (innerN, inner_singleN, outerN): Local;
    }
    /// All loops are in their last iterations.
    let last: Flag;
    let zero: Const<bits> = 0;

    inner5 = true;
    inner_single5 = true;
    for (N, INSIDE) in names![4 5 3 4 2 3 1 2 0 1] {
        innerN = innerINSIDE && levelINSIDE.is_last;
        inner_singleN = inner_singleINSIDE && levelINSIDE.is_single;
        advance.levelN = innerN;
    }
    outer0 = true;
    for (N, OUTSIDE) in names![1 0 2 1 3 2 4 3 5 4] {
        outerN = outerOUTSIDE && levelOUTSIDE.is_last;
    }
    for N in LEVELS {
        levelN.load = load;
        levelN.count = countN;
        levelN.next_count = next_countN;
        counters.counterN = levelN.counter;
        ends.firstN = levelN.counter == zero;
        ends.lastN = levelN.is_last;
        levelN.step = step && innerN;
    }
    advance.step = step;
    advance.fresh = fresh;

    // The next beat is the last one if a loop comes to its last iteration, those inside it have only one, and those outside it are there.
    wrap_stepped = ((level0.is_near || level0.is_single) && inner_single0)
        || any!(N in [1, 2, 3, 4, 5], (levelN.is_near && inner_singleN && outerN));
    wrap_loaded = all!(N in LEVELS, levelN.next_is_single);
    wrap = last;
    if step {
        last = wrap_stepped;
    }
    if load {
        last = wrap_loaded;
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
        (block.next_count4.next, block.next_count5.next, block.load.next) = (1, 2, true);
        settled(&mut block);
        assert!(!block.wrap_loaded.val());
        clocked(&mut block, |b| &mut b.clock);
        (block.count4.next, block.count5.next, block.load.next, block.step.next) = (1, 2, false, true);
        let mut shown = Vec::new();
        for beat in 0..6 {
            settled(&mut block);
            assert_eq!(block.wrap_stepped.val(), beat == 4, "before beat {}", beat + 1);
            shown.push((block.counters.counter4.val(), block.counters.counter5.val(), block.wrap.val()));
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
        for level in 0..LEVELS {
            let mut counts = [0; LEVELS];
            counts[level] = 1;
            blocks::unroll! { for N in LEVELS { block.next_countN.next = counts[N]; } }
            block.load.next = true;
            settled(&mut block);
            assert!(!block.wrap_loaded.val(), "level {level}");
            clocked(&mut block, |b| &mut b.clock);
            settled(&mut block);
            assert!(!block.wrap.val(), "level {level}");
        }
    }
}
