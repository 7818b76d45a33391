//! The arithmetic of accumulators and words, one pipeline register per leaf.
//!
//!     a, b ──▶ Multiply ──┐
//!                         ├──▶ Accumulate ──▶ CoarseShift ──▶ FineShift ──▶ RoundStage ──▶ word
//!     c ─────▶ Align ─────┘                bits near a word    bits of it
//!
//! Leaves with their own text: rust-hdl's expressions know neither products of unequal widths nor run-time shifts.
//! `update` computes the same with the functions of [`arch::number`] where there is one.

use crate::bundle::bundle;
use crate::signal::Wide;
use arch::number::{saturate, word_max, word_min, wrap};
use rust_hdl::prelude::*;

/// Full product of two signed words.
#[derive(LogicBlock)]
pub(crate) struct Multiply {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) a: Wide<In>,
    pub(crate) b: Wide<In>,
    pub(crate) product: Wide<Out>,
}

impl Multiply {
    pub(crate) fn new(a: u32, b: u32) -> Self {
        Multiply { clock: Signal::default(), a: Wide::signed(a), b: Wide::signed(b), product: Wide::signed(a + b) }
    }

    /// The second factor is never negative.
    pub(crate) fn by_unsigned(a: u32, b: u32) -> Self {
        Multiply { b: Wide::new(b), product: Wide::signed(a + b + 1), ..Multiply::new(a, b) }
    }

    /// Whether it is.
    fn is_by_unsigned(&self) -> bool {
        self.product.width() > self.a.width() + self.b.width()
    }
}

impl Logic for Multiply {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.product.next = self.a.val() * self.b.val();
        }
    }
    fn connect(&mut self) {
        self.product.connect();
    }
    fn hdl(&self) -> Verilog {
        let b = if self.is_by_unsigned() { "$signed({1'b0, b})" } else { "b" };
        Verilog::Custom(format!(
            "// multiply: a full signed product, one DSP block.\nalways @(posedge clock) product <= a * {b};"
        ))
    }
}

/// `c << align` as an accumulator, wrapping.
#[derive(LogicBlock)]
pub(crate) struct Align {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) c: Wide<In>,
    pub(crate) places: Wide<In>,
    pub(crate) aligned: Wide<Out>,
}

impl Align {
    pub(crate) fn new(word: u32, align: u32, accumulator: u32) -> Self {
        let aligned = Wide::signed(accumulator);
        Align { clock: Signal::default(), c: Wide::signed(word), places: Wide::new(align), aligned }
    }
}

/// `name`, sign-extended from `from` to `to` bits.
fn extended(name: &str, from: u32, to: u32) -> String {
    if from == to { name.to_owned() } else { format!("{{{{{}{{{name}[{}]}}}}, {name}}}", to - from, from - 1) }
}

impl Logic for Align {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.aligned.next = wrap(self.c.val() << self.places.val(), self.aligned.width());
        }
    }
    fn connect(&mut self) {
        self.aligned.connect();
    }
    fn hdl(&self) -> Verilog {
        // Short shifts first: the word is still narrow when they are done.
        let (mut width, widest) = (self.c.width(), self.aligned.width());
        let mut text =
            "// align: operand c at accumulator width, shifted left; small steps first, while it is narrow.\n"
                .to_owned();
        let mut from = "c".to_owned();
        for stage in 0..self.places.width() {
            let step = 1 << stage;
            let next = (width + step).min(widest);
            let shifted = if step >= next {
                format!("{{{next}{{1'b0}}}}")
            } else {
                format!("{{{from}[{}:0], {{{step}{{1'b0}}}}}}", (next - step).min(width) - 1)
            };
            // Only the first stages have room for all bits of the word.
            assert!(step >= next || (next - step).min(width) + step == next, "a stage of the shifter has a gap");
            let kept = extended(&from, width, next);
            text += &format!("wire [{}:0] by{step} = places[{stage}] ? {shifted} : {kept};\n", next - 1);
            (from, width) = (format!("by{step}"), next);
        }
        text += &format!("always @(posedge clock) aligned <= {};", extended(&from, width, widest));
        Verilog::Custom(text)
    }
}

/// `acc = (first ? start : acc) ± product`, modulo the accumulator's width; only in valid beats.
#[derive(LogicBlock)]
pub(crate) struct Accumulate {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) valid: Signal<In, Bit>,
    pub(crate) first: Signal<In, Bit>,
    pub(crate) subtract: Signal<In, Bit>,
    pub(crate) start: Wide<In>,
    pub(crate) product: Wide<In>,
    pub(crate) sum: Wide<Out>,
}

impl Accumulate {
    pub(crate) fn new(product: u32, accumulator: u32) -> Self {
        Accumulate {
            clock: Signal::default(),
            valid: Signal::default(),
            first: Signal::default(),
            subtract: Signal::default(),
            start: Wide::signed(accumulator),
            product: Wide::signed(product),
            sum: Wide::signed(accumulator),
        }
    }
}

impl Logic for Accumulate {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.valid.val() {
            let from = if self.first.val() { self.start.val() } else { self.sum.val() };
            let product = self.product.val();
            self.sum.next = wrap(if self.subtract.val() { from - product } else { from + product }, self.sum.width());
        }
    }
    fn connect(&mut self) {
        self.sum.connect();
    }
    fn hdl(&self) -> Verilog {
        let width = self.sum.width();
        let last = width - 1;
        let extended = extended("product", self.product.width(), width);
        Verilog::Custom(format!(
            "// accumulate: adds or subtracts a product; -p is ~p + 1, and the 1 comes in below, so that one carry chain does both.
wire [{last}:0] wide = {extended};
wire [{last}:0] from = first ? start : sum;
wire [{last}:0] addend = wide ^ {{{width}{{subtract}}}};
wire [{width}:0] total = {{from, 1'b1}} + {{addend, subtract}};
always @(posedge clock) if (valid) sum <= total[{width}:1];"
        ))
    }
}

/// Bits of a shift amount that the second stage of a shifter does.
pub(crate) const FINE_BITS: u32 = 3;

bundle! {
    /// A value between the stages of a shifter: the bits that the word can still come from, with one below for rounding;
    /// whether a bit was lost below, whether one above differs from the sign, and the sign.
    PartlyShifted {
        bits: lost, over, sign;
        words: window;
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

/// Bits between the stages, for a value of `width` bits and a word.
fn window_bits(width: u32, word: u32) -> u32 {
    (word + 1 + (1 << FINE_BITS)).min(width + 1)
}

/// Some stages of a right shifter as text. Every stage halves the places the word can still come from: what falls out
/// below only counts for rounding, what falls out above only for saturation.
struct ShifterText {
    /// The declarations.
    text: String,
    /// Name and bits of what is left.
    from: String,
    bits: u32,
    /// Terms of what was lost below and of what differs above.
    lost: Vec<String>,
    over: Vec<String>,
}

impl ShifterText {
    /// `stages` of a shift of the value `from`, of `bits` bits, towards a floor of `floor` bits; `sign` and `shift` are in scope.
    fn new(from: &str, bits: u32, floor: u32, stages: std::ops::Range<u32>) -> ShifterText {
        let (mut from, mut bits, mut text) = (from.to_owned(), bits, String::new());
        let (mut lost, mut over) = (Vec::new(), Vec::new());
        for stage in stages.rev() {
            let step = 1 << stage;
            // Floor and half, wherever the smaller shifts will find them.
            let kept = (floor + step).min(bits);
            let top = (step + kept).min(bits);
            let fill = step + kept - top;
            let shifted = match (fill.min(kept), top > step) {
                (0, _) => format!("{from}[{}:{step}]", top - 1),
                (fill, true) => format!("{{{{{fill}{{sign}}}}, {from}[{}:{step}]}}", top - 1),
                (fill, false) => format!("{{{fill}{{sign}}}}"),
            };
            text += &format!("wire [{}:0] by{step} = shift[{stage}] ? {shifted} : {from}[{}:0];\n", kept - 1, kept - 1);
            lost.push(format!("(shift[{stage}] & |{from}[{}:0])", step.min(bits) - 1));
            let differs = |low: u32| format!("{from}[{}:{low}] != {{{}{{sign}}}}", bits - 1, bits - low);
            if bits > kept {
                over.push(format!("(~shift[{stage}] & ({}))", differs(kept)));
            }
            if bits > top {
                over.push(format!("(shift[{stage}] & ({}))", differs(top)));
            }
            (from, bits) = (format!("by{step}"), kept);
        }
        ShifterText { text, from, bits, lost, over }
    }
}

/// First stage of a right shift that keeps what rounding to a word needs, and no more: the large steps.
#[derive(LogicBlock)]
pub(crate) struct CoarseShift {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) value: Wide<In>,
    /// The whole amount.
    pub(crate) shift: Wide<In>,
    pub(crate) part: PartlyShifted<Out>,
    _floor: u32,
}

impl CoarseShift {
    pub(crate) fn new(width: u32, shift: u32, word: u32) -> Self {
        assert!(shift > FINE_BITS, "a shift amount of {shift} bits");
        CoarseShift {
            clock: Signal::default(),
            value: Wide::signed(width),
            shift: Wide::new(shift),
            part: PartlyShifted::new(&|_| window_bits(width, word)),
            _floor: word + 1,
        }
    }
}

impl Logic for CoarseShift {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let (value, by) = (self.value.val() << 1, self.shift.val() >> FINE_BITS << FINE_BITS);
            let shifted = value >> by;
            let part = &mut self.part;
            part.window.next = shifted;
            part.lost.next = value & ((1 << by) - 1) != 0;
            part.over.next = shifted >> part.window.width() != i128::from(value < 0).wrapping_neg();
            part.sign.next = value < 0;
        }
    }
    fn connect(&mut self) {
        self.part.connect();
    }
    fn hdl(&self) -> Verilog {
        let (width, window) = (self.value.width(), self.part.window.width());
        let shifter = ShifterText::new("by_all", width + 1, self._floor, FINE_BITS..self.shift.width());
        assert_eq!(shifter.bits, window, "the first stage ends with the window");
        let over = if shifter.over.is_empty() { "1'b0".to_owned() } else { shifter.over.join(" | ") };
        Verilog::Custom(format!(
            "// coarse_shift: right shift by multiples of 8; keeps the bits a word can come from, and what rounding and saturation need.
wire sign = value[{}];
wire [{width}:0] by_all = {{value, 1'b0}};
{}always @(posedge clock) begin
    part$window <= {};
    part$lost <= {};
    part$over <= {over};
    part$sign <= sign;
end",
            width - 1,
            shifter.text,
            shifter.from,
            shifter.lost.join(" | "),
        ))
    }
}

/// Second stage: the small steps.
#[derive(LogicBlock)]
pub(crate) struct FineShift {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) part: PartlyShifted<In>,
    /// The low bits of the amount.
    pub(crate) shift: Wide<In>,
    pub(crate) shifted: Shifted<Out>,
}

impl FineShift {
    pub(crate) fn new(width: u32, word: u32) -> Self {
        FineShift {
            clock: Signal::default(),
            part: PartlyShifted::new(&|_| window_bits(width, word)),
            shift: Wide::new(FINE_BITS),
            shifted: Shifted::new(&|_| word + 1),
        }
    }
}

impl Logic for FineShift {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let (part, by) = (&self.part, self.shift.val());
            let above = if part.sign.val() { -1 << part.window.width() } else { 0 };
            let value = part.window.val() | above;
            let floor = value >> by >> 1;
            let out = &mut self.shifted;
            out.floor.next = floor;
            out.half.next = value >> by & 1 == 1;
            out.sticky.next = part.lost.val() || value & ((1 << by) - 1) != 0;
            out.over.next = part.over.val() || wrap(floor, out.floor.width()) != floor;
            out.sign.next = part.sign.val();
        }
    }
    fn connect(&mut self) {
        self.shifted.connect();
    }
    fn hdl(&self) -> Verilog {
        let floor = self.shifted.floor.width();
        let shifter = ShifterText::new("part$window", self.part.window.width(), floor, 0..FINE_BITS);
        assert_eq!(shifter.bits, floor + 1, "the shifter ends with floor and half");
        let from = shifter.from;
        let over: String = shifter.over.iter().flat_map(|term| [" | ", term]).collect();
        Verilog::Custom(format!(
            "// fine_shift: the last steps of a right shift, down to the bits of a word and the first one lost.
wire sign = part$sign;
{}always @(posedge clock) begin
    shifted$floor <= {from}[{floor}:1];
    shifted$half <= {from}[0];
    shifted$sticky <= part$lost | {};
    shifted$over <= part$over{over} | ({from}[{floor}] != sign);
    shifted$sign <= sign;
end",
            shifter.text,
            shifter.lost.join(" | "),
        ))
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

/// Round to nearest, ties to even, and saturate to a word; or the sign alone.
#[derive(LogicBlock)]
pub(crate) struct RoundStage {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) shifted: Shifted<In>,
    /// The word is 1 if the value is negative, else 0.
    pub(crate) negative: Signal<In, Bit>,
    pub(crate) word: Wide<Out>,
    pub(crate) saturated: Signal<Out, Bit>,
}

impl RoundStage {
    pub(crate) fn new(word: u32) -> Self {
        RoundStage {
            clock: Signal::default(),
            shifted: Shifted::new(&|_| word + 1),
            negative: Signal::default(),
            word: Wide::signed(word),
            saturated: Signal::default(),
        }
    }
}

impl Logic for RoundStage {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let (word, saturated) = rounded(&self.shifted, self.word.width());
            let negative = self.negative.val();
            self.word.next = if negative { self.shifted.sign.val().into() } else { word };
            self.saturated.next = saturated && !negative;
        }
    }
    fn connect(&mut self) {
        self.word.connect();
        self.saturated.connect();
    }
    fn hdl(&self) -> Verilog {
        let word = self.word.width();
        Verilog::Custom(format!(
            "// round_stage: nearest, ties to even, saturated to a word; or 1 if negative, else 0.
{}always @(posedge clock) begin
    word <= negative ? {{{{{top}{{1'b0}}}}, shifted$sign}} : fits ? rounded[{top}:0] : limit;
    saturated <= ~negative & ~fits;
end",
            rounding_text(word),
            top = word - 1,
        ))
    }
}

/// As [`RoundStage`] without its sign, for roots: 0 when nothing arrives.
#[derive(LogicBlock)]
pub(crate) struct RootRound {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) shifted: Shifted<In>,
    pub(crate) arrives: Signal<In, Bit>,
    pub(crate) word: Wide<Out>,
    pub(crate) saturated: Signal<Out, Bit>,
}

impl RootRound {
    pub(crate) fn new(word: u32) -> Self {
        RootRound {
            clock: Signal::default(),
            shifted: Shifted::new(&|_| word + 1),
            arrives: Signal::default(),
            word: Wide::new(word),
            saturated: Signal::default(),
        }
    }
}

impl Logic for RootRound {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let (word, saturated) = rounded(&self.shifted, self.word.width());
            let arrives = self.arrives.val();
            self.word.next = if arrives { word } else { 0 };
            self.saturated.next = saturated && arrives;
        }
    }
    fn connect(&mut self) {
        self.word.connect();
        self.saturated.connect();
    }
    fn hdl(&self) -> Verilog {
        let word = self.word.width();
        Verilog::Custom(format!(
            "// root_round: nearest, ties to even, saturated to a word; 0 when nothing arrives.
{}always @(posedge clock) begin
    word <= ~arrives ? {word}'d0 : fits ? rounded[{}:0] : limit;
    saturated <= arrives & ~fits;
end",
            rounding_text(word),
            word - 1,
        ))
    }
}

/// A node of an adder tree.
#[derive(LogicBlock)]
pub(crate) struct Add {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) a: Wide<In>,
    pub(crate) b: Wide<In>,
    pub(crate) sum: Wide<Out>,
}

impl Add {
    pub(crate) fn new(width: u32) -> Self {
        Add { clock: Signal::default(), a: Wide::new(width), b: Wide::new(width), sum: Wide::new(width) }
    }
}

impl Logic for Add {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.sum.next = self.a.val() + self.b.val();
        }
    }
    fn connect(&mut self) {
        self.sum.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!("{}\nalways @(posedge clock) sum <= a + b;", crate::emit::IN_PLACE))
    }
}

/// A node of the first level of a row's tree.
#[derive(LogicBlock)]
pub(crate) struct GatedAdd {
    pub(crate) clock: Signal<In, Clock>,
    /// Else the sum is 0.
    pub(crate) give: Signal<In, Bit>,
    pub(crate) a: Wide<In>,
    pub(crate) b: Wide<In>,
    pub(crate) sum: Wide<Out>,
}

impl GatedAdd {
    pub(crate) fn new(width: u32) -> Self {
        let (clock, give) = (Signal::default(), Signal::default());
        GatedAdd { clock, give, a: Wide::new(width), b: Wide::new(width), sum: Wide::new(width) }
    }
}

impl Logic for GatedAdd {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.sum.next = if self.give.val() { self.a.val() + self.b.val() } else { 0 };
        }
    }
    fn connect(&mut self) {
        self.sum.connect();
    }
    fn hdl(&self) -> Verilog {
        let width = self.sum.width();
        let head = crate::emit::IN_PLACE;
        Verilog::Custom(format!("{head}\nalways @(posedge clock) sum <= give ? a + b : {width}'d0;"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::number::round_half_even;

    /// One clock edge after the inputs have settled.
    fn clocked<B: Block>(block: &mut B, clock: impl Fn(&mut B) -> &mut Signal<In, Clock>) {
        for level in [false, true] {
            clock(block).next.clk = level;
            loop {
                block.update_all();
                if !block.has_changed() {
                    break;
                }
            }
        }
    }

    #[test]
    fn shift_and_round_are_those_of_the_number_code() {
        let (width, word) = (16, 8);
        let (mut coarse, mut fine, mut round) =
            (CoarseShift::new(width, 6, word), FineShift::new(width, word), RoundStage::new(word));
        coarse.connect_all();
        fine.connect_all();
        round.connect_all();
        for value in (-(1 << 15)..1 << 15).step_by(37) {
            for shift in [0, 1, 2, 7, 8, 15, 16, 40] {
                (coarse.value.next, coarse.shift.next) = (value, shift.into());
                clocked(&mut coarse, |b| &mut b.clock);
                fine.part.window.next = coarse.part.window.val();
                fine.part.lost.next = coarse.part.lost.val();
                fine.part.over.next = coarse.part.over.val();
                fine.part.sign.next = coarse.part.sign.val();
                fine.shift.next = i128::from(shift & 7);
                clocked(&mut fine, |b| &mut b.clock);
                let shifter = &fine;
                round.shifted.floor.next = shifter.shifted.floor.val();
                round.shifted.half.next = shifter.shifted.half.val();
                round.shifted.sticky.next = shifter.shifted.sticky.val();
                round.shifted.over.next = shifter.shifted.over.val();
                round.shifted.sign.next = shifter.shifted.sign.val();
                clocked(&mut round, |b| &mut b.clock);
                let expected = saturate(round_half_even(value, shift), word);
                assert_eq!((round.word.val() as i64, round.saturated.val()), expected, "{value} >> {shift}");
            }
        }
    }

    #[test]
    fn sums_wrap() {
        let mut accumulate = Accumulate::new(16, 20);
        accumulate.connect_all();
        (accumulate.valid.next, accumulate.first.next, accumulate.subtract.next) = (true, true, true);
        (accumulate.start.next, accumulate.product.next) = (-(1 << 19), 1);
        clocked(&mut accumulate, |b| &mut b.clock);
        assert_eq!(accumulate.sum.val(), (1 << 19) - 1);
        (accumulate.first.next, accumulate.subtract.next) = (false, false);
        clocked(&mut accumulate, |b| &mut b.clock);
        assert_eq!(accumulate.sum.val(), -(1 << 19));
        accumulate.valid.next = false;
        clocked(&mut accumulate, |b| &mut b.clock);
        assert_eq!(accumulate.sum.val(), -(1 << 19), "only valid beats count");
    }
}
