//! Registers. The emitter writes these leaves in place, as one `always` line of the block that holds them.
//!
//! | block | `q` is | reset |
//! |---|---|---|
//! | [`Register`] | a word | none |
//! | [`Flag`] | a bit | to 0 |
//! | [`Delay`] | a word some cycles ago | none |
//! | [`FlagDelay`] | a bit some cycles ago | to 0 |
//! | [`Stage`] | a bundle | bits to 0, words none |
//!
//! Words are not reset: whether a word means something is always said by a bit beside it. State that must start at a
//! value (counters, state machines) gets it from the logic before `d`.

use crate::rtl::bundle::Bundle;
use crate::rtl::emit::IN_PLACE;
use crate::rtl::wiring::Lines;
use blocks::block;
use rust_hdl_core::prelude::*;

/// A word.
#[block(clock, leaf)]
pub(crate) fn Register(width: u32) {
    let d: In<width>;
    let q: Out<width>;
}

impl crate::rtl::Leaf for Register {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self.d.val();
        }
    }
    fn text(&self) -> String {
        format!("{IN_PLACE}\nalways @(posedge clock) q <= d;")
    }
}

/// A bit, reset to 0.
#[block(clock, reset, leaf)]
pub(crate) fn Flag() {
    let d: In;
    let q: Out;
}

impl crate::rtl::Leaf for Flag {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self.d.val() && !self.reset.val();
        }
    }
    fn text(&self) -> String {
        format!("{IN_PLACE}\nalways @(posedge clock) q <= d & ~reset;")
    }
}

/// `q` is `d` of `cycles` (at least 1) ago.
#[block(clock, leaf)]
pub(crate) fn Delay(width: u32, cycles: u32) {
    let d: In<width>;
    let q: Out<width>;
    let after: [Local<width>; cycles - 1];
}

/// `always` block of a shift register.
fn shift_register(stages: usize, source: &str) -> String {
    if stages == 0 {
        return format!("{IN_PLACE}\nalways @(posedge clock) q <= {source};");
    }
    let gate = source.strip_prefix('d').unwrap_or_default();
    let mut lines = vec![format!("    after$0 <= {source};")];
    lines.extend((1..stages).map(|n| format!("    after${n} <= after${}{gate};", n - 1)));
    lines.push(format!("    q <= after${}{gate};", stages - 1));
    format!("{IN_PLACE}\nalways @(posedge clock) begin\n{}\nend", lines.join("\n"))
}

impl crate::rtl::Leaf for Delay {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let mut value = self.d.val();
            for stage in &mut self.after {
                let held = stage.val();
                stage.next = value;
                value = held;
            }
            self.q.next = value;
        }
    }
    fn text(&self) -> String {
        shift_register(self.after.len(), "d")
    }
}

/// `q` is `d` of `cycles` (at least 1) ago, reset to 0.
#[block(clock, reset, leaf)]
pub(crate) fn FlagDelay(cycles: u32) {
    let d: In;
    let q: Out;
    let after: [Local; cycles - 1];
}

impl crate::rtl::Leaf for FlagDelay {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let run = !self.reset.val();
            let mut value = self.d.val() && run;
            for stage in &mut self.after {
                let held = stage.val() && run;
                stage.next = value;
                value = held;
            }
            self.q.next = value;
        }
    }
    fn text(&self) -> String {
        shift_register(self.after.len(), "d & ~reset")
    }
}

/// One register for all fields of a bundle.
#[derive(LogicBlock)]
pub(crate) struct Stage<I: Bundle, O: Bundle> {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) d: I,
    pub(crate) q: O,
}

impl<I: Bundle, O: Bundle> Stage<I, O> {
    pub(crate) fn new(d: I, q: O) -> Self {
        Stage { clock: Signal::default(), reset: Signal::default(), d, q }
    }
}

impl<I: Bundle, O: Bundle> Logic for Stage<I, O> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let mut values = Vec::new();
            self.d.sample(&mut values);
            if self.reset.val() {
                values[..I::BITS.len()].fill(0);
            }
            self.q.drive(&mut values.into_iter());
        }
    }
    fn connect(&mut self) {
        Lines::claim(&mut self.q);
    }
    fn hdl(&self) -> Verilog {
        let bits = I::BITS.iter().map(|bit| format!("    q${bit} <= d${bit} & ~reset;"));
        let words = I::WORDS.iter().map(|word| format!("    q${word} <= d${word};"));
        let lines: Vec<String> = bits.chain(words).collect();
        Verilog::Custom(format!("{IN_PLACE}\nalways @(posedge clock) begin\n{}\nend", lines.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn a_delay_is_as_long_as_it_says() {
        let mut block = Delay::new(8, 3);
        block.connect_all();
        let mut shown = Vec::new();
        for word in [5, 6, 7, 0, 0, 0] {
            block.d.next = word;
            clocked(&mut block, |b| &mut b.clock);
            shown.push(block.q.val());
        }
        assert_eq!(shown, [0, 0, 5, 6, 7, 0]);
    }

    #[test]
    fn a_reset_empties_a_delay_of_flags() {
        let mut block = FlagDelay::new(2);
        block.connect_all();
        for (d, reset, q) in [(true, false, false), (true, false, true), (true, true, false), (false, false, false)] {
            (block.d.next, block.reset.next) = (d, reset);
            clocked(&mut block, |b| &mut b.clock);
            assert_eq!(block.q.val(), q, "{d} {reset}");
        }
    }
}
