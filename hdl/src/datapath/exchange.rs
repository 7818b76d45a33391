//! Sums of a batch on their way out of the gradient pads and back (docs/machine.md, section 10). Only grids that hand out sums have these blocks.
//!
//!     gradient pad ──▶ leaving_sum ──▶ accumulator ──▶ trees ──▶ part_select ──▶ output
//!     input ──▶ lanes ──▶ joined_parts ──▶ sum_port ──▶ gradient pad

use blocks::block;
use rust_hdl_core::prelude::*;

/// A sum that leaves does so in the PE that the mask admits; the trees add up what the others show, which is nothing.
#[block(clock, leaf)]
pub(crate) fn LeavingSum(accumulator: u32) {
    /// Of the beat, t+1.
    let leaves: In;
    let admitted: In<1>;
    /// The word of the pad, t+2.
    let parked: In<accumulator, signed>;
    let shown: Out<accumulator, signed>;
    let _hidden: bool = false;
}

impl crate::rtl::Leaf for LeavingSum {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            self._hidden = self.leaves.val() && self.admitted.val() == 0;
        }
        self.shown.next = if self._hidden { 0 } else { self.parked.val() };
    }
    fn text(&self) -> String {
        let bits = self.parked.width();
        format!(
            "// leaving_sum: a sum leaves in the PE that the mask admits, the others show 0.
reg hidden;
always @(posedge clock) hidden <= leaves & ~admitted;
assign shown = hidden ? {bits}'d0 : parked;"
        )
    }
}

/// The parts of a sum, of which the last one is just there.
#[block(clock, leaf)]
pub(crate) fn JoinedParts(word: u32, accumulator: u32) {
    let part: In;
    let word: In<word>;
    let joined: Out<accumulator, signed>;
    let _before: i128 = 0;
}

impl JoinedParts {
    /// Bits of the parts before the last one.
    fn before(&self) -> u32 {
        (self.joined.width().div_ceil(self.word.width()) - 1) * self.word.width()
    }
}

impl crate::rtl::Leaf for JoinedParts {
    fn model(&mut self) {
        let (word, before) = (self.word.width(), self.before());
        if self.clock.pos_edge() && self.part.val() {
            self._before = (self.word.val() << before | self._before) >> word & ((1 << before) - 1);
        }
        self.joined.next = self.word.val() << before | self._before;
    }
    fn text(&self) -> String {
        let (word, before, bits) = (self.word.width(), self.before(), self.joined.width());
        let shifted =
            if before > word { format!("{{word, earlier[{}:{word}]}}", before - 1) } else { "word".to_owned() };
        let unused = if before + word > bits {
            format!("\nwire unused_high = &{{1'b0, word[{}:{}]}};", word - 1, bits - before)
        } else {
            String::new()
        };
        format!(
            "// joined_parts: the parts of a sum that comes back, the low ones first.
reg [{last}:0] earlier;
always @(posedge clock) if (part) earlier <= {shifted};
assign joined = {{word[{top}:0], earlier}};{unused}",
            last = before - 1,
            top = bits - before - 1,
        )
    }
}

/// What is written into a gradient pad: a parked sum, or one that has come back.
///
/// What is written into a gradient pad: a sum that is parked, or one that has come back.
#[block]
pub(crate) fn SumPort(address: u32, accumulator: u32) {
    let park: In;
    let park_address: In<address>;
    let sum: In<accumulator, signed>;
    let whole: In;
    let whole_address: In<address>;
    let admitted: In;
    let joined: In<accumulator, signed>;
    let write: Out;
    let address: Out<address>;
    let data: Out<accumulator, signed>;

    write = park || (whole && admitted);
    address = park_address;
    data = sum;
    if whole {
        address = whole_address;
        data = joined;
    }
}

/// A beat that parks and emits sends the sum of its pad, which stays there.
///
/// Which beat of the alu stream sends a sum: one that parks and emits. It leaves the pad as it is.
#[block]
pub(crate) fn SumGate() {
    let (emits, park, resume, keep): In;
    let (leaves, give_resume, give_keep): Out;

    leaves = emits && park;
    give_resume = resume || (emits && park);
    give_keep = keep && !emits;
}

/// Whether a transfer brings words of a pad or parts of sums.
#[block]
pub(crate) fn PartDecode() {
    let (transfer, gradient): In;
    /// The innermost loop is at its last iteration.
    let last: In;
    let (write_model, write_data): In;
    let (give_model, give_data, part, whole): Out;

    give_model = write_model && !gradient;
    give_data = write_data && !gradient;
    part = transfer && gradient;
    whole = transfer && gradient && last;
}

/// Which part of a sum leaves next.
///
/// Which part of a sum the output takes: of the words of sums one after the other, of all others the low one.
#[block(clock, reset)]
pub(crate) fn PartCounter(parts: u32) {
    let bits = part_bits(parts);
    /// A word of a sum is there.
    let shown: In;
    let part: Out<bits>;
    let count: Register<bits>;
    let (zero, one, last): Const<bits> = (0, 1, parts - 1);

    part = zero;
    if shown {
        part = count;
        count = count + one;
        if count == last {
            count = zero;
        }
    }
    if reset {
        count = zero;
    }
}

/// Bits of the number of a part.
fn part_bits(parts: u32) -> u32 {
    arch::number::ceil_log2(u64::from(parts)).max(1)
}

/// The part of a sum with this number.
#[block(leaf)]
pub(crate) fn PartSelect(parts: u32, word: u32, accumulator: u32) {
    let part: In<{ part_bits(parts) }>;
    let sum: In<accumulator, signed>;
    let word: Out<word>;
}

impl crate::rtl::Leaf for PartSelect {
    fn model(&mut self) {
        self.word.next = self.sum.val() >> (self.part.val() as u32 * self.word.width());
    }
    fn text(&self) -> String {
        let (word, bits, number) = (self.word.width(), self.sum.width(), self.part.width());
        let parts = bits.div_ceil(word);
        let spare = parts * word - bits;
        let wide = if spare > 0 { format!("{{{{{spare}{{sum[{}]}}}}, sum}}", bits - 1) } else { "sum".to_owned() };
        let of = |k: u32| format!("wide[{}:{}]", (k + 1) * word - 1, k * word);
        let further: Vec<String> = (1..parts).map(|k| format!("part == {number}'d{k} ? {} : ", of(k))).collect();
        format!(
            "// part_select: the part of a sum that leaves.
wire [{}:0] wide = {wide};
assign word = {}{};",
            parts * word - 1,
            further.concat(),
            of(0)
        )
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
