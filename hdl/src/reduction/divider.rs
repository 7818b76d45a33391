//! Divider: one quotient at a time, a bit per cycle (docs/machine.md, section 4; [`arch::division`] computes the same).
//!
//!     sum (t) ──▶ operands (t+1) ──▶ sizes, dividend << places (t+2) ──▶ 2W steps (t+2+2W) ──▶ round (t+3+2W)
//!                                                                            ──▶ sign, saturate (t+4+2W) ──▶ y
//!
//! A step shifts the next bit of the dividend into the rest, subtracts the divisor where that goes, and shifts the bit of the
//! quotient into the place that the dividend leaves.

use arch::division::{Rounding, divide, operands};
use arch::isa::SHIFT_BITS;
use arch::number::ceil_log2;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Cycles from the sum to the quotient, of which `2W` are bits.
const AROUND: u32 = 4;

/// Quotient of the two words of a sum.
///
/// The field of the places may say more above them.
#[block(clock, reset, leaf)]
pub(crate) fn Divider(word: u32, places: u32, down: u32) {
    /// At t: the sum carries a dividend and a divisor.
    let start: In;
    /// `dividend * 2^W + divisor`, modulo `2^2W`.
    let sum: In<{ 2 * word }>;
    let places: In<places>;
    /// Not 0: round towards minus infinity.
    let down: In<down>;
    /// At t + 2W + 4; 0 when no quotient arrives.
    let word: Out<word, signed>;
    let saturated: Out;
    /// Quotients on their way: cycles left, word, whether it saturated.
    let _waiting: Vec<(u32, i64, bool)> = Vec::new();
}

impl crate::rtl::Leaf for Divider {
    fn model(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let word = self.word.width();
        if self.reset.val() {
            self._waiting.clear();
        } else if self.start.val() {
            let (dividend, divisor) = operands(self.sum.val(), word);
            let rounding = if self.down.val() == 0 { Rounding::Nearest } else { Rounding::Down };
            let places = (self.places.val() & ((1 << SHIFT_BITS) - 1)) as u32;
            let (quotient, saturated) = divide(dividend, divisor, places, rounding, word);
            self._waiting.push((2 * word + AROUND, quotient, saturated));
        }
        self.word.next = 0;
        self.saturated.next = false;
        for (left, quotient, saturated) in &mut self._waiting {
            *left -= 1;
            if *left == 0 {
                self.word.next = (*quotient).into();
                self.saturated.next = *saturated;
            }
        }
        self._waiting.retain(|waiting| waiting.0 > 0);
    }
    #[expect(clippy::too_many_lines, reason = "one module of Verilog, as it is read")]
    fn text(&self) -> String {
        let word = self.word.width();
        let (top, both, count) = (word - 1, 2 * word, ceil_log2(u64::from(2 * word) + 1));
        let by = self.places.width().min(SHIFT_BITS);
        let (unused, range) = if self.places.width() > by {
            (format!("wire unused_above = &places[{}:{by}];\n", self.places.width() - 1), format!("[{}:0]", by - 1))
        } else {
            (String::new(), String::new())
        };
        format!(
            "// divider: quotient of the two words of a sum, one bit per cycle.
reg [{top}:0] dividend, divisor;
{unused}reg [{by_last}:0] by;
reg taken, towards;
always @(posedge clock) begin
    taken <= start & ~reset;
    // A negative divisor has borrowed from the dividend.
    dividend <= sum[{both_last}:{word}] + {{{{{top}{{1'b0}}}}, sum[{top}]}};
    divisor <= sum[{top}:0];
    by <= places{range};
    towards <= |down;
end

reg [{both_last}:0] quotient;
reg [{top}:0] size, rest;
reg [{count_last}:0] count;
reg negative, lower, endless, nothing, ended;
wire [{top}:0] dividend_size = dividend[{top}] ? -dividend : dividend;
wire [{word}:0] trial = {{rest, quotient[{both_last}]}};
wire [{word}:0] less = trial - {{1'b0, size}};
always @(posedge clock) begin
    ended <= (count == {count}'d1) & ~reset;
    if (count != {count}'d0) begin
        rest <= less[{word}] ? trial[{top}:0] : less[{top}:0];
        quotient <= {{quotient[{both_last2}:0], ~less[{word}]}};
        count <= count - {count}'d1;
    end
    if (taken) begin
        rest <= {word}'d0;
        quotient <= {{{word}'d0, dividend_size}} << by;
        size <= divisor[{top}] ? -divisor : divisor;
        count <= {count}'d{both};
        negative <= dividend[{top}] ^ divisor[{top}];
        lower <= towards;
        endless <= divisor == {word}'d0;
        nothing <= dividend == {word}'d0;
    end
    if (reset) count <= {count}'d0;
end

reg [{both}:0] whole;
reg sign, limited, zero, rounded;
wire [{word}:0] twice = {{rest, 1'b0}};
wire tie = twice == {{1'b0, size}};
wire nearest = twice > {{1'b0, size}} | (tie & quotient[0]);
wire up = lower ? negative & (rest != {word}'d0) : nearest;
always @(posedge clock) begin
    rounded <= ended & ~reset;
    whole <= {{1'b0, quotient}} + {{{both}'d0, up}};
    sign <= negative;
    limited <= endless;
    zero <= nothing;
end

// The most negative word has no positive partner.
wire lowest = sign & (whole == {{{both_less}'d1, {top}'d0}});
wire fits = ~limited & ((whole[{both}:{top}] == {upper}'d0) | lowest);
wire [{top}:0] limit = {{sign, {{{top}{{~sign}}}}}};
always @(posedge clock) begin
    word <= ~rounded | zero ? {word}'d0 : fits ? (sign ? -whole[{top}:0] : whole[{top}:0]) : limit;
    saturated <= rounded & ~zero & ~fits;
end",
            by_last = by - 1,
            both_last = both - 1,
            both_last2 = both - 2,
            count_last = count - 1,
            both_less = both + 1 - top,
            upper = both + 1 - top,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    /// Quotient and the cycles that it takes, at 8 bits.
    fn quotient(dividend: i128, divisor: i128, places: i128, down: bool) -> (i128, bool, u32) {
        let mut block = Divider::new(8, 4, 2);
        block.connect_all();
        block.sum.next = (dividend << 8) + divisor;
        (block.places.next, block.down.next) = (places, down.into());
        for t in 1..40 {
            block.start.next = t == 1;
            clocked(&mut block, |b| &mut b.clock);
            if block.word.val() != 0 || block.saturated.val() {
                return (block.word.val(), block.saturated.val(), t);
            }
        }
        (0, false, 0)
    }

    #[test]
    fn quotients_are_rounded_and_come_when_they_are_due() {
        assert_eq!(quotient(7, 2, 0, false), (4, false, 20));
        assert_eq!(quotient(5, 2, 0, false), (2, false, 20));
        assert_eq!(quotient(-7, 2, 0, true), (-4, false, 20));
        assert_eq!(quotient(1, 3, 4, false), (5, false, 20));
        assert_eq!(quotient(-1, 0, 0, false), (-128, true, 20));
    }
}
