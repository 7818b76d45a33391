//! The arithmetic of accumulators and words, one pipeline register per leaf.
//!
//!     MultiplyAdd ──▶ Shifter ──▶ RoundStage, RootRound, or Clamp and Step ──▶ word          Multiply: elsewhere
//!
//! Leaves with their own text: rust-hdl's expressions know neither products of unequal widths nor run-time shifts.
//! `update` computes the same with the functions of [`arch::number`] where there is one.

use crate::datapath::multiplier;
use crate::rtl::bundle::bundle;
use arch::device::Leaves;
use arch::number::{saturate, word_max, word_min, wrap};
use blocks::block;
use rust_hdl_core::prelude::*;

/// Full product of a signed word and one that is never negative, two cycles later.
#[block(clock, leaf)]
pub(crate) fn Multiply(factor: u32, fraction: u32, leaves: Leaves) {
    let factor: In<factor, signed>;
    /// Never negative.
    let fraction: In<fraction>;
    let product: Out<{ factor + fraction + 1 }, signed>;
    let _leaves: Leaves = leaves;
    let _held: (i128, i128) = (0, 0);
}

impl crate::rtl::Leaf for Multiply {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (a, b) = self._held;
            self.product.next = a * b;
            self._held = (self.factor.val(), self.fraction.val());
        }
    }
    fn text(&self) -> String {
        let (factor, fraction, last) = (self.factor.width(), self.fraction.width(), self.product.width() - 1);
        if let Some(block) = multiplier::block(self._leaves, factor, fraction + 1) {
            let zeros = block.bits - fraction;
            let (a, b) = (multiplier::factor(block, "factor", factor), format!("{{{zeros}'d0, fraction}}"));
            let block = multiplier::text(block, last + 1, &a, &b, "1'b0");
            return format!(
                "// multiply: a full product, one DSP block.\n{block}assign product = block_product[{last}:0];"
            );
        }
        let b = "$signed({1'b0, b})";
        format!(
            "// multiply: a full product, one DSP block.
reg signed [{}:0] a;
reg [{}:0] b;
always @(posedge clock) begin
    a <= factor;
    b <= fraction;
end
always @(posedge clock) product <= a * {b};",
            factor - 1,
            fraction - 1
        )
    }
}

bundle! {
    /// `floor(value / 2^shift)` at one bit more than a word, and what rounding must know beside it: the first bit lost,
    /// whether a later one was set, whether `floor` would need more bits, and the sign of the value.
    Shifted {
        bits: half, sticky, over, sign;
        words: floor;
    }
}

/// The word of `width` bits nearest to a shifted value, and whether it saturated.
fn rounded(from: &Shifted<In>, width: u32) -> (i128, bool) {
    let floor = wrap(from.floor.val(), width + 1);
    let up = from.half.val() && (from.sticky.val() || floor & 1 == 1);
    if from.over.val() {
        (if from.sign.val() { word_min(width) } else { word_max(width) }, true)
    } else {
        let (word, saturated) = saturate(floor + i128::from(up), width);
        (word.into(), saturated)
    }
}

/// The same as text: `fits ? rounded : limit`.
fn rounding_text(word: u32) -> String {
    format!(
        "wire up = shifted$half & (shifted$sticky | shifted$floor[0]);
wire [{last}:0] rounded = {{shifted$floor[{word}], shifted$floor}} + {{{{{last}{{1'b0}}}}, up}};
wire fits = ~shifted$over & (rounded[{last}:{top}] == {{3{{rounded[{last}]}}}});
wire [{top}:0] limit = {{shifted$sign, {{{top}{{~shifted$sign}}}}}};
",
        last = word + 1,
        top = word - 1,
    )
}

/// Whether a value of this sign becomes 0.
pub(crate) fn is_rectified(positive: &[Signal<In, Bit>], negative: bool) -> bool {
    negative && positive.first().is_some_and(Signal::<In, Bit>::val)
}

/// The same as text: the begin of a choice; nothing on machines without rectifiers.
pub(crate) fn rectified_text(positive: &[Signal<In, Bit>], sign: &str, word: u32) -> String {
    if positive.is_empty() { String::new() } else { format!("positive$0 & {sign} ? {word}'d0 : ") }
}

/// Round to nearest, ties to even, and saturate to a word; or the sign alone.
#[block(clock, leaf)]
pub(crate) fn RoundStage(word: u32, rectifiers: usize) {
    let shifted: In<Shifted> = |_| word + 1;
    /// The word is 1 if the value is negative, else 0.
    let negative: In;
    /// The word is 0 if the value is negative. One on machines with rectifiers.
    let positive: [In; rectifiers];
    let word: Out<word, signed>;
    let saturated: Out;
}

impl crate::rtl::Leaf for RoundStage {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (word, saturated) = rounded(&self.shifted, self.word.width());
            let (negative, sign) = (self.negative.val(), self.shifted.sign.val());
            let word = if is_rectified(&self.positive, sign) { 0 } else { word };
            self.word.next = if negative { sign.into() } else { word };
            self.saturated.next = saturated && !negative;
        }
    }
    fn text(&self) -> String {
        let word = self.word.width();
        format!(
            "// round_stage: nearest, ties to even, saturated to a word; or 1 if negative, else 0.
{}always @(posedge clock) begin
    word <= negative ? {{{{{top}{{1'b0}}}}, shifted$sign}} : {}fits ? rounded[{top}:0] : limit;
    saturated <= ~negative & ~fits;
end",
            rounding_text(word),
            rectified_text(&self.positive, "shifted$sign", word),
            top = word - 1,
        )
    }
}

/// As [`RoundStage`] without its sign, for roots: 0 when nothing arrives.
#[block(clock, leaf)]
pub(crate) fn RootRound(word: u32, rectifiers: usize) {
    let shifted: In<Shifted> = |_| word + 1;
    let arrives: In;
    /// The word is 0 if the value is negative. One on machines with rectifiers.
    let positive: [In; rectifiers];
    let word: Out<word>;
    let saturated: Out;
}

impl crate::rtl::Leaf for RootRound {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (word, saturated) = rounded(&self.shifted, self.word.width());
            let arrives = self.arrives.val();
            let word = if is_rectified(&self.positive, self.shifted.sign.val()) { 0 } else { word };
            self.word.next = if arrives { word } else { 0 };
            self.saturated.next = saturated && arrives;
        }
    }
    fn text(&self) -> String {
        let word = self.word.width();
        format!(
            "// root_round: nearest, ties to even, saturated to a word; 0 when nothing arrives.
{}always @(posedge clock) begin
    word <= ~arrives ? {word}'d0 : {}fits ? rounded[{}:0] : limit;
    saturated <= arrives & ~fits;
end",
            rounding_text(word),
            rectified_text(&self.positive, "shifted$sign", word),
            word - 1,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    /// Word and saturation of `floor` and a half, at 8 bits.
    fn rounded(floor: i128, half: bool, sticky: bool, over: bool) -> (i128, bool) {
        let mut block = RoundStage::new(8, 0);
        block.connect_all();
        block.shifted.floor.next = floor;
        (block.shifted.half.next, block.shifted.sticky.next) = (half, sticky);
        (block.shifted.over.next, block.shifted.sign.next) = (over, floor < 0);
        clocked(&mut block, |b| &mut b.clock);
        (wrap(block.word.val(), 8), block.saturated.val())
    }

    #[test]
    fn halves_go_to_even_words() {
        assert_eq!(rounded(2, true, false, false), (2, false));
        assert_eq!(rounded(3, true, false, false), (4, false));
        assert_eq!(rounded(2, true, true, false), (3, false));
        assert_eq!(rounded(-3, true, false, false), (-2, false));
    }

    #[test]
    fn what_does_not_fit_is_the_nearest_word() {
        assert_eq!(rounded(127, true, false, false), (127, true));
        assert_eq!(rounded(-129, true, false, false), (-128, false));
        assert_eq!(rounded(5, false, false, true), (127, true));
        assert_eq!(rounded(-5, false, false, true), (-128, true));
    }

    #[test]
    fn a_product_takes_two_cycles() {
        let mut block = Multiply::new(10, 9, Leaves::GENERIC);
        block.connect_all();
        let mut shown = Vec::new();
        for (factor, fraction) in [(-512, 511), (3, 4), (0, 0)] {
            (block.factor.next, block.fraction.next) = (factor, fraction);
            clocked(&mut block, |b| &mut b.clock);
            shown.push(block.product.val());
        }
        assert_eq!(shown, [0, -512 * 511, 12]);
    }
}
