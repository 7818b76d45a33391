//! Sums of a batch on their way out of the gradient pads and back (docs/machine.md, section 10). Only grids that hand out sums have these blocks.
//!
//!     gradient pad ──▶ leaving_sum ──▶ accumulator ──▶ trees ──▶ part_select ──▶ output
//!     input ──▶ lanes ──▶ joined_parts ──▶ sum_port ──▶ gradient pad

use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::comment;
use rust_hdl::prelude::*;

/// A sum that leaves does so in the PE that the mask admits; the trees add up what the others show, which is nothing.
#[derive(LogicBlock)]
pub(crate) struct LeavingSum {
    pub(crate) clock: Signal<In, Clock>,
    /// Of the beat, t+1.
    pub(crate) leaves: Signal<In, Bit>,
    pub(crate) admitted: Wide<In>,
    /// The word of the pad, t+2.
    pub(crate) parked: Wide<In>,
    pub(crate) shown: Wide<Out>,
    _hidden: bool,
}

impl LeavingSum {
    pub(crate) fn new(accumulator: u32) -> Self {
        LeavingSum {
            clock: Signal::default(),
            leaves: Signal::default(),
            admitted: Wide::new(1),
            parked: Wide::signed(accumulator),
            shown: Wide::signed(accumulator),
            _hidden: false,
        }
    }
}

impl Logic for LeavingSum {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self._hidden = self.leaves.val() && self.admitted.val() == 0;
        }
        self.shown.next = if self._hidden { 0 } else { self.parked.val() };
    }
    fn connect(&mut self) {
        self.shown.connect();
    }
    fn hdl(&self) -> Verilog {
        let bits = self.parked.width();
        Verilog::Custom(format!(
            "// leaving_sum: a sum leaves in the PE that the mask admits, the others show 0.
reg hidden;
always @(posedge clock) hidden <= leaves & ~admitted;
assign shown = hidden ? {bits}'d0 : parked;"
        ))
    }
}

/// The parts of a sum, of which the last one is just there.
#[derive(LogicBlock)]
pub(crate) struct JoinedParts {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) part: Signal<In, Bit>,
    pub(crate) word: Wide<In>,
    pub(crate) joined: Wide<Out>,
    _before: i128,
}

impl JoinedParts {
    pub(crate) fn new(word: u32, accumulator: u32) -> Self {
        JoinedParts {
            clock: Signal::default(),
            part: Signal::default(),
            word: Wide::new(word),
            joined: Wide::signed(accumulator),
            _before: 0,
        }
    }

    /// Bits of the parts before the last one.
    fn before(&self) -> u32 {
        (self.joined.width().div_ceil(self.word.width()) - 1) * self.word.width()
    }
}

impl Logic for JoinedParts {
    fn update(&mut self) {
        let (word, before) = (self.word.width(), self.before());
        if self.clock.pos_edge() && self.part.val() {
            self._before = (self.word.val() << before | self._before) >> word & ((1 << before) - 1);
        }
        self.joined.next = self.word.val() << before | self._before;
    }
    fn connect(&mut self) {
        self.joined.connect();
    }
    fn hdl(&self) -> Verilog {
        let (word, before, bits) = (self.word.width(), self.before(), self.joined.width());
        let shifted =
            if before > word { format!("{{word, earlier[{}:{word}]}}", before - 1) } else { "word".to_owned() };
        let unused = if before + word > bits {
            format!("\nwire unused_high = &{{1'b0, word[{}:{}]}};", word - 1, bits - before)
        } else {
            String::new()
        };
        Verilog::Custom(format!(
            "// joined_parts: the parts of a sum that comes back, the low ones first.
reg [{last}:0] earlier;
always @(posedge clock) if (part) earlier <= {shifted};
assign joined = {{word[{top}:0], earlier}};{unused}",
            last = before - 1,
            top = bits - before - 1,
        ))
    }
}

/// What is written into a gradient pad: a sum that is parked, or one that has come back.
#[derive(LogicBlock)]
pub(crate) struct SumPort {
    pub(crate) park: Signal<In, Bit>,
    pub(crate) park_address: Wide<In>,
    pub(crate) sum: Wide<In>,
    pub(crate) whole: Signal<In, Bit>,
    pub(crate) whole_address: Wide<In>,
    pub(crate) admitted: Signal<In, Bit>,
    pub(crate) joined: Wide<In>,
    pub(crate) write: Signal<Out, Bit>,
    pub(crate) address: Wide<Out>,
    pub(crate) data: Wide<Out>,
}

impl SumPort {
    pub(crate) fn new(address: u32, accumulator: u32) -> Self {
        SumPort {
            park: Signal::default(),
            park_address: Wide::new(address),
            sum: Wide::signed(accumulator),
            whole: Signal::default(),
            whole_address: Wide::new(address),
            admitted: Signal::default(),
            joined: Wide::signed(accumulator),
            write: Signal::default(),
            address: Wide::new(address),
            data: Wide::signed(accumulator),
        }
    }
}

impl Logic for SumPort {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("sum_port: what is written into a gradient pad: a parked sum, or one that has come back.");
        self.write.next = self.park.val() || (self.whole.val() && self.admitted.val());
        self.address.next = self.park_address.val();
        self.data.next = self.sum.val();
        if self.whole.val() {
            self.address.next = self.whole_address.val();
            self.data.next = self.joined.val();
        }
    }
}

/// Which beat of the alu stream sends a sum: one that parks and emits. It leaves the pad as it is.
#[derive(LogicBlock)]
pub(crate) struct SumGate {
    pub(crate) emits: Signal<In, Bit>,
    pub(crate) park: Signal<In, Bit>,
    pub(crate) resume: Signal<In, Bit>,
    pub(crate) keep: Signal<In, Bit>,
    pub(crate) leaves: Signal<Out, Bit>,
    pub(crate) give_resume: Signal<Out, Bit>,
    pub(crate) give_keep: Signal<Out, Bit>,
}

impl SumGate {
    pub(crate) fn new() -> Self {
        SumGate {
            emits: Signal::default(),
            park: Signal::default(),
            resume: Signal::default(),
            keep: Signal::default(),
            leaves: Signal::default(),
            give_resume: Signal::default(),
            give_keep: Signal::default(),
        }
    }
}

impl Logic for SumGate {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("sum_gate: a beat that parks and emits sends the sum of its pad, which stays there.");
        self.leaves.next = self.emits.val() && self.park.val();
        self.give_resume.next = self.resume.val() || (self.emits.val() && self.park.val());
        self.give_keep.next = self.keep.val() && !self.emits.val();
    }
}

/// What a transfer is: words of a pad, or parts of sums.
#[derive(LogicBlock)]
pub(crate) struct PartDecode {
    pub(crate) transfer: Signal<In, Bit>,
    pub(crate) gradient: Signal<In, Bit>,
    /// The innermost loop is at its last iteration.
    pub(crate) last: Signal<In, Bit>,
    pub(crate) write_model: Signal<In, Bit>,
    pub(crate) write_data: Signal<In, Bit>,
    pub(crate) give_model: Signal<Out, Bit>,
    pub(crate) give_data: Signal<Out, Bit>,
    pub(crate) part: Signal<Out, Bit>,
    pub(crate) whole: Signal<Out, Bit>,
}

impl PartDecode {
    pub(crate) fn new() -> Self {
        PartDecode {
            transfer: Signal::default(),
            gradient: Signal::default(),
            last: Signal::default(),
            write_model: Signal::default(),
            write_data: Signal::default(),
            give_model: Signal::default(),
            give_data: Signal::default(),
            part: Signal::default(),
            whole: Signal::default(),
        }
    }
}

impl Logic for PartDecode {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("part_decode: whether a transfer brings words of a pad or parts of sums.");
        self.give_model.next = self.write_model.val() && !self.gradient.val();
        self.give_data.next = self.write_data.val() && !self.gradient.val();
        self.part.next = self.transfer.val() && self.gradient.val();
        self.whole.next = self.transfer.val() && self.gradient.val() && self.last.val();
    }
}

/// Which part of a sum the output takes: of the words of sums one after the other, of all others the low one.
#[derive(LogicBlock)]
pub(crate) struct PartCounter {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// A word of a sum is there.
    pub(crate) shown: Signal<In, Bit>,
    pub(crate) part: Wide<Out>,
    count: crate::rtl::register::Register,
    zero: Number,
    one: Number,
    last: Number,
}

impl PartCounter {
    pub(crate) fn new(parts: u32) -> Self {
        let bits = part_bits(parts);
        PartCounter {
            clock: Signal::default(),
            reset: Signal::default(),
            shown: Signal::default(),
            part: Wide::new(bits),
            count: crate::rtl::register::Register::new(bits),
            zero: Number::new(0, bits),
            one: Number::new(1, bits),
            last: Number::new(parts - 1, bits),
        }
    }
}

/// Bits of the number of a part.
fn part_bits(parts: u32) -> u32 {
    arch::number::ceil_log2(u64::from(parts)).max(1)
}

impl Logic for PartCounter {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("part_counter: which part of a sum leaves next.");
        clock!(self, clock, count);
        self.part.next = self.zero.val();
        self.count.d.next = self.count.q.val();
        if self.shown.val() {
            self.part.next = self.count.q.val();
            self.count.d.next = self.count.q.val() + self.one.val();
            if self.count.q.val() == self.last.val() {
                self.count.d.next = self.zero.val();
            }
        }
        if self.reset.val() {
            self.count.d.next = self.zero.val();
        }
    }
}

/// The part of a sum with this number.
#[derive(LogicBlock)]
pub(crate) struct PartSelect {
    pub(crate) part: Wide<In>,
    pub(crate) sum: Wide<In>,
    pub(crate) word: Wide<Out>,
}

impl PartSelect {
    pub(crate) fn new(parts: u32, word: u32, accumulator: u32) -> Self {
        PartSelect { part: Wide::new(part_bits(parts)), sum: Wide::signed(accumulator), word: Wide::new(word) }
    }
}

impl Logic for PartSelect {
    fn update(&mut self) {
        self.word.next = self.sum.val() >> (self.part.val() as u32 * self.word.width());
    }
    fn connect(&mut self) {
        self.word.connect();
    }
    fn hdl(&self) -> Verilog {
        let (word, bits, number) = (self.word.width(), self.sum.width(), self.part.width());
        let parts = bits.div_ceil(word);
        let spare = parts * word - bits;
        let wide = if spare > 0 { format!("{{{{{spare}{{sum[{}]}}}}, sum}}", bits - 1) } else { "sum".to_owned() };
        let of = |k: u32| format!("wide[{}:{}]", (k + 1) * word - 1, k * word);
        let further: Vec<String> = (1..parts).map(|k| format!("part == {number}'d{k} ? {} : ", of(k))).collect();
        Verilog::Custom(format!(
            "// part_select: the part of a sum that leaves.
wire [{}:0] wide = {wide};
assign word = {}{};",
            parts * word - 1,
            further.concat(),
            of(0)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::{clocked, settled};

    /// By hand, of sums of 20 bits in words of 8: 0x9abcd is 0xcd, 0xab, 0x9.
    #[test]
    fn parts_leave_and_come_back() {
        let mut select = PartSelect::new(3, 8, 20);
        select.connect_all();
        let mut join = JoinedParts::new(8, 20);
        join.connect_all();
        select.sum.next = 0x9_abcd - (1 << 20);
        let mut seen = Vec::new();
        for k in 0..3 {
            select.part.next = k;
            settled(&mut select);
            seen.push(select.word.val());
            (join.word.next, join.part.next) = (select.word.val(), true);
            settled(&mut join);
            if k == 2 {
                assert_eq!(join.joined.val(), 0x9_abcd - (1 << 20));
            }
            clocked(&mut join, |b| &mut b.clock);
        }
        assert_eq!(seen, [0xcd, 0xab, 0xf9]);
    }

    #[test]
    fn parts_of_sums_are_counted_and_other_words_are_not() {
        let mut block = PartCounter::new(3);
        block.connect_all();
        block.reset.next = true;
        clocked(&mut block, |b| &mut b.clock);
        block.reset.next = false;
        let mut seen = Vec::new();
        for shown in [true, false, true, true, true] {
            block.shown.next = shown;
            settled(&mut block);
            seen.push(block.part.val());
            clocked(&mut block, |b| &mut b.clock);
        }
        assert_eq!(seen, [0, 0, 1, 2, 0]);
    }
}
