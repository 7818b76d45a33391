//! The arithmetic of accumulators and words, one pipeline register per leaf.
//!
//!     a, b ──▶ Multiply ──┐
//!                         ├──▶ Accumulate ──▶ ShiftStage ──▶ RoundStage ──▶ word
//!     c ─────▶ Align ─────┘                 floor, half, sticky
//!
//! Leaves with their own text: rust-hdl's expressions know neither products of unequal widths nor run-time shifts.
//! `update` computes the same with the functions of [`arch::number`] where there is one.

use crate::signal::Wide;
use arch::number::{saturate, wrap};
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
        Verilog::Custom(
            "// multiply: a full signed product, one DSP block.\nalways @(posedge clock) product <= a * b;".into(),
        )
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
        let (width, extended) = (self.aligned.width(), extended("c", self.c.width(), self.aligned.width()));
        Verilog::Custom(format!(
            "// align: operand c at accumulator width, shifted left.
wire signed [{0}:0] wide = {extended};
always @(posedge clock) aligned <= wide <<< places;",
            width - 1
        ))
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
        let (last, rest) = (width - 1, width - 1);
        let extended = extended("product", self.product.width(), width);
        Verilog::Custom(format!(
            "// accumulate: adds or subtracts a product; -p is ~p + 1, so that one carry chain does both.
wire [{last}:0] wide = {extended};
wire [{last}:0] from = first ? start : sum;
wire [{last}:0] addend = wide ^ {{{width}{{subtract}}}};
wire [{last}:0] carry = {{{{{rest}{{1'b0}}}}, subtract}};
always @(posedge clock) if (valid) sum <= from + addend + carry;"
        ))
    }
}

/// Right shift that keeps what rounding needs: the first bit lost, and whether any later one was set.
#[derive(LogicBlock)]
pub(crate) struct ShiftStage {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) value: Wide<In>,
    pub(crate) shift: Wide<In>,
    pub(crate) floor: Wide<Out>,
    pub(crate) half: Signal<Out, Bit>,
    pub(crate) sticky: Signal<Out, Bit>,
}

impl ShiftStage {
    pub(crate) fn new(width: u32, shift: u32) -> Self {
        ShiftStage {
            clock: Signal::default(),
            value: Wide::signed(width),
            shift: Wide::new(shift),
            floor: Wide::signed(width),
            half: Signal::default(),
            sticky: Signal::default(),
        }
    }
}

impl Logic for ShiftStage {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let (value, shift) = (self.value.val(), self.shift.val());
            self.floor.next = value >> shift;
            self.half.next = shift > 0 && value >> (shift - 1) & 1 == 1;
            self.sticky.next = shift > 1 && value & ((1 << (shift - 1)) - 1) != 0;
        }
    }
    fn connect(&mut self) {
        self.floor.connect();
        self.half.connect();
        self.sticky.connect();
    }
    fn hdl(&self) -> Verilog {
        let width = self.value.width();
        Verilog::Custom(format!(
            "// shift_stage: floor(value / 2^shift), the first bit lost (half) and whether a later one was set (sticky).
wire signed [{width}:0] shifted = $signed({{value, 1'b0}}) >>> shift;
wire [{last}:0] kept = {{{width}{{1'b1}}}} << shift;
wire [{last}:0] lost = value & ~{{1'b1, kept[{last}:1]}};
always @(posedge clock) begin
    floor <= shifted[{width}:1];
    half <= shifted[0];
    sticky <= |lost;
end",
            last = width - 1
        ))
    }
}

/// Round to nearest, ties to even, and saturate to a word; or the sign alone.
#[derive(LogicBlock)]
pub(crate) struct RoundStage {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) floor: Wide<In>,
    pub(crate) half: Signal<In, Bit>,
    pub(crate) sticky: Signal<In, Bit>,
    /// The word is 1 if the value is negative, else 0.
    pub(crate) negative: Signal<In, Bit>,
    pub(crate) word: Wide<Out>,
    pub(crate) saturated: Signal<Out, Bit>,
}

impl RoundStage {
    pub(crate) fn new(from: u32, word: u32) -> Self {
        RoundStage {
            clock: Signal::default(),
            floor: Wide::signed(from),
            half: Signal::default(),
            sticky: Signal::default(),
            negative: Signal::default(),
            word: Wide::signed(word),
            saturated: Signal::default(),
        }
    }
}

impl Logic for RoundStage {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let floor = self.floor.val();
            let up = self.half.val() && (self.sticky.val() || floor & 1 == 1);
            let (word, saturated) = saturate(floor + i128::from(up), self.word.width());
            let negative = self.negative.val();
            self.word.next = if negative { (floor < 0).into() } else { word.into() };
            self.saturated.next = saturated && !negative;
        }
    }
    fn connect(&mut self) {
        self.word.connect();
        self.saturated.connect();
    }
    fn hdl(&self) -> Verilog {
        let (from, word) = (self.floor.width(), self.word.width());
        Verilog::Custom(format!(
            "// round_stage: nearest, ties to even, saturated to a word; or 1 if negative, else 0.
wire up = half & (sticky | floor[0]);
wire [{last}:0] rounded = floor + {{{{{last}{{1'b0}}}}, up}};
wire sign = rounded[{last}];
wire fits = rounded[{last}:{top}] == {{{spare}{{sign}}}};
wire [{top}:0] limit = {{sign, {{{top}{{~sign}}}}}};
always @(posedge clock) begin
    word <= negative ? {{{{{top}{{1'b0}}}}, floor[{last}]}} : fits ? rounded[{top}:0] : limit;
    saturated <= ~negative & ~fits;
end",
            last = from - 1,
            top = word - 1,
            spare = from - word + 1,
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
