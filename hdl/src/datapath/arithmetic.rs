//! The arithmetic of accumulators and words, one pipeline register per leaf.
//!
//!     MultiplyAdd ──▶ Shifter ──▶ RoundStage, RootRound, or Clamp and Step ──▶ word          Multiply: elsewhere
//!
//! Leaves with their own text: rust-hdl's expressions know neither products of unequal widths nor run-time shifts.
//! `update` computes the same with the functions of [`arch::number`] where there is one.

use crate::datapath::multiplier;
use crate::rtl::bundle::bundle;
use crate::rtl::signal::Wide;
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

/// What a [`Rectifier`] makes of a shifted value.
fn instead(from: &Shifted<In>, positive: &[Wide<In>], width: u32) -> Option<i128> {
    let floor = wrap(from.floor.val(), width + 1);
    Rectifier(positive).instead(from.sign.val(), floor, from.over.val())
}

/// Names for the same as text: the floor without its sign, and whether it is too large for a word.
fn rectified_names(word: u32) -> [String; 2] {
    [format!("shifted$floor[{}:0]", word - 2), format!("(shifted$over | shifted$floor[{}])", word - 1)]
}

/// What becomes of results where a field says so: bit 0, that negative ones become 0; above it, on machines with limits, what others are at most.
pub(crate) struct Rectifier<'a>(pub(crate) &'a [Wide<In>]);

impl Rectifier<'_> {
    /// What a value becomes instead of the word it is rounded to, by its sign, its floor and whether that is too large for a word. A floor below
    /// the limit is rounded up to the limit at most.
    pub(crate) fn instead(&self, negative: bool, floor: i128, over: bool) -> Option<i128> {
        let field = self.0.first()?;
        let limit = (field.width() > 1).then(|| field.val() >> 1);
        match field.val() & 1 == 1 {
            true if negative => Some(0),
            true => limit.filter(|&limit| over || floor >= limit),
            false => None,
        }
    }

    /// The same as text: the wires `rectified` and `beyond`, of a floor without its sign.
    pub(crate) fn wires(&self, sign: &str, floor: &str, over: &str) -> String {
        let Some(field) = self.0.first() else { return String::new() };
        let (bit, top) = if field.width() > 1 { ("positive$0[0]", field.width() - 1) } else { ("positive$0", 0) };
        let limits = format!("wire beyond = {bit} & ~{sign} & ({over} | {floor} >= positive$0[{top}:1]);\n");
        format!("wire rectified = {bit} & {sign};\n{}", if top > 0 { &limits } else { "" })
    }

    /// The begin of the choice of a word; nothing on machines without rectifiers.
    pub(crate) fn choice(&self, word: u32) -> String {
        let Some(field) = self.0.first() else { return String::new() };
        let beyond = format!("beyond ? {{1'b0, positive$0[{}:1]}} : ", field.width() - 1);
        format!("rectified ? {word}'d0 : {}", if field.width() > 1 { &beyond } else { "" })
    }

    /// What must hold beside others where the word is what it is rounded to.
    pub(crate) fn otherwise(&self) -> &'static str {
        match self.0.first() {
            None => "",
            Some(field) if field.width() > 1 => "~rectified & ~beyond & ",
            Some(_) => "~rectified & ",
        }
    }
}

/// Round to nearest, ties to even, and saturate to a word; or the sign alone.
#[block(clock, leaf)]
pub(crate) fn RoundStage(word: u32, positive: u32) {
    let rectifiers = positive.min(1) as usize;
    let shifted: In<Shifted> = |_| word + 1;
    /// The word is 1 if the value is negative, else 0.
    let negative: In;
    /// As [`Rectifier`] says. One on machines with rectifiers.
    let positive: [In<positive>; rectifiers];
    let word: Out<word, signed>;
    let saturated: Out;
}

impl crate::rtl::Leaf for RoundStage {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (word, saturated) = rounded(&self.shifted, self.word.width());
            let (negative, sign) = (self.negative.val(), self.shifted.sign.val());
            let word = instead(&self.shifted, &self.positive, self.word.width()).unwrap_or(word);
            self.word.next = if negative { sign.into() } else { word };
            self.saturated.next = saturated && !negative;
        }
    }
    fn text(&self) -> String {
        let word = self.word.width();
        let (rectifier, [floor, over]) = (Rectifier(&self.positive), rectified_names(word));
        format!(
            "// round_stage: nearest, ties to even, saturated to a word; or 1 if negative, else 0.
{}always @(posedge clock) begin
    word <= negative ? {{{{{top}{{1'b0}}}}, shifted$sign}} : {}fits ? rounded[{top}:0] : limit;
    saturated <= ~negative & ~fits;
end",
            rounding_text(word) + &rectifier.wires("shifted$sign", &floor, &over),
            rectifier.choice(word),
            top = word - 1,
        )
    }
}

/// As [`RoundStage`] without its sign, for roots: 0 when nothing arrives.
#[block(clock, leaf)]
pub(crate) fn RootRound(word: u32, positive: u32) {
    let rectifiers = positive.min(1) as usize;
    let shifted: In<Shifted> = |_| word + 1;
    let arrives: In;
    /// As [`Rectifier`] says. One on machines with rectifiers.
    let positive: [In<positive>; rectifiers];
    let word: Out<word>;
    let saturated: Out;
}

impl crate::rtl::Leaf for RootRound {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (word, saturated) = rounded(&self.shifted, self.word.width());
            let arrives = self.arrives.val();
            let word = instead(&self.shifted, &self.positive, self.word.width()).unwrap_or(word);
            self.word.next = if arrives { word } else { 0 };
            self.saturated.next = saturated && arrives;
        }
    }
    fn text(&self) -> String {
        let word = self.word.width();
        let (rectifier, [floor, over]) = (Rectifier(&self.positive), rectified_names(word));
        format!(
            "// root_round: nearest, ties to even, saturated to a word; 0 when nothing arrives.
{}always @(posedge clock) begin
    word <= ~arrives ? {word}'d0 : {}fits ? rounded[{}:0] : limit;
    saturated <= arrives & ~fits;
end",
            rounding_text(word) + &rectifier.wires("shifted$sign", &floor, &over),
            rectifier.choice(word),
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
