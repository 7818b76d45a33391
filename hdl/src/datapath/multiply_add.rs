//! Multiply and add: the sum of a PE, or the largest or smallest of its products.
//!
//!     a, b (t+1) ──▶ registers (t+2) ──▶ product (t+3) ──▶ sum (t+4)
//!                     start (t+2) ──▶ register (t+3) ──────┘
//!
//! All its registers are those of a multiplier block, which is why operands come unregistered. Where synthesisers do not find
//! that out by themselves, the block is named: [`Leaves`] says for which family.

use crate::beats::Widths;
use crate::datapath::multiplier;
use crate::datapath::pe::StartControl;
use arch::device::{self, Leaves, filled};
use arch::isa::Combine;
use arch::number::wrap;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Bits of [`Combine`] on machines with extremes.
pub(crate) const COMBINE_BITS: u32 = 2;

/// `sum = (first ? start : sum) ± a * b`, modulo the sum's width; only in valid beats. Outside the mask `a` and `b` are 0: what a PE reads there
/// may be a word that nobody has written, and in a simulator 0 times such a word is unknown.
///
/// On machines with extremes also the larger or the smaller of `first ? start : sum` and `a * b`, where `start` is the least or the
/// greatest number there is if there is none, or outside the mask, where `a * b` does not count.
///
/// A block of the device that adds before it multiplies joins `b` and the immediate itself.
#[block(clock, leaf)]
pub(crate) fn MultiplyAdd(widths: &Widths) {
    let (word, accumulator, extremes, leaves) = (widths.factor, widths.accumulator, widths.extremes, widths.leaves);
    let joins = takes_immediate(widths);
    /// Factors, t+1.
    let (a, b): In<word, signed>;
    /// The immediate in place of `b`, or 0, and whether `b` is no operand; t+1.
    let immediate: [In<word, signed>; joins];
    let without_b: [In; joins];
    /// The mask admits this PE, t+1.
    let admitted: In;
    /// Where the sum starts, t+2.
    let start: In<accumulator, signed>;
    /// The rest: t+3.
    let (valid, first): In;
    /// [`Combine`]; its high bit on machines with extremes only.
    let combine: In<{ if extremes { COMBINE_BITS } else { 1 } }>;
    /// One on machines with extremes.
    let starts: [In<StartControl>; extremes] = |_| COMBINE_BITS;
    let sum: Out<accumulator, signed>;
    let _leaves: Leaves = leaves;
    let _held: Held = Held::default();
}

/// The block of the device that does all of it.
fn block(leaves: Leaves, word: u32, accumulator: u32, extremes: bool) -> Option<&'static device::MultiplyAdd> {
    leaves.multiply_add.filter(|block| word <= block.factor && accumulator <= block.sum && !extremes)
}

/// Whether that block takes the immediate of operand `b`: not where `b` is also subtracted from `a`.
pub(crate) fn takes_immediate(widths: &Widths) -> bool {
    let found = block(widths.leaves, widths.factor, widths.accumulator, widths.extremes);
    found.is_some() && widths.factor == widths.word
}

/// The registers before the sum.
#[derive(Default)]
struct Held {
    a: i128,
    b: i128,
    product: i128,
    start: i128,
    /// Where values are compared: the mask admitted the PE, for `a`; for `product`.
    admitted: bool,
    counts: bool,
}

/// `name`, sign-extended from `from` to `to` bits.
pub(crate) fn extended(name: &str, from: u32, to: u32) -> String {
    if from == to { name.to_owned() } else { format!("{{{{{}{{{name}[{}]}}}}, {name}}}", to - from, from - 1) }
}

/// Text that declares `wide`, the product as a sum has it: modulo its width, where the square of a difference is wider.
fn wide(word: u32, width: u32) -> String {
    let (last, top) = (width - 1, 2 * word - 1);
    if 2 * word > width {
        format!("wire unused_top = &product[{top}:{width}];\nwire [{last}:0] wide = product[{last}:0];")
    } else {
        format!("wire [{last}:0] wide = {};", extended("product", 2 * word, width))
    }
}

impl crate::rtl::Leaf for MultiplyAdd {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let Held { a, b, product, start, admitted, counts } = self._held;
            let width = self.sum.width();
            let code = |code: i128| Combine::ALL[code as usize];
            if self.valid.val() {
                let from = if self.first.val() { start } else { self.sum.val() };
                let total = match code(self.combine.val()) {
                    Combine::Add => from + product,
                    Combine::Subtract => from - product,
                    _ if !counts => from,
                    compares => compares.join(from, product),
                };
                self.sum.next = wrap(total, width);
            }
            let starts = |control: &StartControl<In>| {
                let (combine, starts) = (code(control.combine_t2.val()), control.starts_t2.val());
                if starts && admitted || !combine.compares() { self.start.val() } else { combine.identity(width) }
            };
            let pad = if self.without_b.iter().any(Signal::<In, Bit>::val) { 0 } else { self.b.val() };
            let joined = self.immediate.iter().fold(pad, |b, immediate| b + immediate.val());
            self._held = Held {
                a: if self.admitted.val() { self.a.val() } else { 0 },
                b: if self.admitted.val() { joined } else { 0 },
                product: a * b,
                start: self.starts.first().map_or(self.start.val(), starts),
                admitted: self.admitted.val(),
                counts: admitted,
            };
        }
    }
    fn text(&self) -> String {
        let (word, width) = (self.a.width(), self.sum.width());
        let extremes = !self.starts.is_empty();
        match block(self._leaves, word, width, extremes) {
            Some(block) => one_block(block, word, width, !self.immediate.is_empty()),
            None if extremes => comparing(word, width, self._leaves),
            None => adding(word, width, self._leaves),
        }
    }
}

/// `product` of the factors, two cycles later.
fn product(word: u32, leaves: Leaves) -> String {
    let (word_last, last) = (word - 1, 2 * word - 1);
    if let Some(block) = multiplier::block(leaves, word, word) {
        let factor = |name| multiplier::factor(block, name, word);
        let block = multiplier::text(block, 2 * word, &factor("a"), &factor("b"), "~admitted");
        return format!("{block}wire [{last}:0] product = block_product[{last}:0];");
    }
    format!(
        "reg signed [{word_last}:0] held_a;
reg signed [{word_last}:0] held_b;
reg signed [{last}:0] product;
always @(posedge clock) begin
    held_a <= a;
    if (!admitted) held_a <= {word}'d0;
    held_b <= b;
    if (!admitted) held_b <= {word}'d0;
    product <= held_a * held_b;
end"
    )
}

fn adding(word: u32, width: u32, leaves: Leaves) -> String {
    format!(
        "// multiply_add: adds or subtracts a product; -p is ~p + 1, and the 1 comes in below, so that one carry chain does both.
{product}
reg signed [{last}:0] held_start;
wire subtract = combine[0];
{wide}
wire [{last}:0] from = first ? held_start : sum;
wire [{last}:0] addend = wide ^ {{{width}{{subtract}}}};
wire [{width}:0] total = {{addend, subtract}} + {{from, 1'b1}};
always @(posedge clock) begin
    held_start <= start;
    if (valid) sum <= total[{width}:1];
end",
        product = product(word, leaves),
        last = width - 1,
        wide = wide(word, width),
    )
}

/// The same, and what a product is compared with takes the carry chain, too: where the difference is negative the product is the larger one.
fn comparing(word: u32, width: u32, leaves: Leaves) -> String {
    format!(
        "// multiply_add: adds or subtracts a product, or takes the larger or smaller of sum and product; one carry chain does all.
{product}
reg signed [{last}:0] held_start;
reg held_admitted;
reg counts;
reg least;
reg greatest;
wire subtract = combine[0];
wire compare = combine[1];
// Nothing to begin with, at t+2: the start is 0 then.
wire vacant = starts$0$combine_t2[1] & ~(held_admitted & starts$0$starts_t2);
wire [{last}:0] start_or_end = held_start | {{least, {{{last}{{greatest}}}}}};
{wide}
wire [{last}:0] from = first ? start_or_end : sum;
wire negated = subtract | compare;
wire [{width}:0] addend = {{wide[{last}], wide}} ^ {{{bits}{{negated}}}};
wire [{bits}:0] total = {{addend, negated}} + {{from[{last}], from, 1'b1}};
wire take = counts & (total[{bits}] ^ subtract);
always @(posedge clock) begin
    held_admitted <= admitted;
    held_start <= start;
    counts <= held_admitted;
    least <= vacant & ~starts$0$combine_t2[0];
    greatest <= vacant & starts$0$combine_t2[0];
    if (valid) sum <= !compare ? total[{width}:1] : take ? wide : from;
end",
        product = product(word, leaves),
        last = width - 1,
        bits = width + 1,
        wide = wide(word, width),
    )
}

/// One block of the device: its registers are those of the page.
fn one_block(block: &device::MultiplyAdd, word: u32, width: u32, joins: bool) -> String {
    let (last, top) = (width - 1, block.sum - 1);
    let unused =
        if width < block.sum { format!("wire unused_total = &total[{top}:{width}];\n") } else { String::new() };
    let (added, without_b) = if joins {
        (extended("immediate$0", word, block.added), "~admitted | without_b$0")
    } else {
        (format!("{}'d0", block.added), "~admitted")
    };
    let text = filled(
        &block.text,
        &[
            ("unused", &unused),
            ("last", &last.to_string()),
            ("a", &extended("a", word, block.port)),
            ("b", &extended("b", word, block.factor)),
            ("c", &extended("start", width, block.sum)),
            ("added", &added),
            ("without_b", without_b),
        ],
    );
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    /// Factors of 8 bits and sums of 20.
    fn of_bytes(extremes: bool) -> MultiplyAdd {
        MultiplyAdd::new(&Widths { factor: 8, accumulator: 20, extremes, ..Widths::of_grid(1, 1) })
    }

    /// What a beat does: start, a (b is 1), and three conditions.
    struct Beat {
        start: Option<i128>,
        a: i128,
        admitted: bool,
        first: bool,
        combine: Combine,
        valid: bool,
    }

    fn beat(block: &mut MultiplyAdd, beat: &Beat) -> i128 {
        let &Beat { start, a, admitted, first, combine, valid } = beat;
        (block.a.next, block.b.next, block.admitted.next) = (a, 1, admitted);
        // What the operands' registers do with the start.
        block.start.next = if admitted { start.unwrap_or(0) } else { 0 };
        for control in &mut block.starts {
            (control.starts_t2.next, control.combine_t2.next) = (start.is_some(), combine as i128);
        }
        (block.valid.next, block.first.next, block.combine.next) = (false, false, 0);
        clocked(block, |b| &mut b.clock);
        clocked(block, |b| &mut b.clock);
        (block.valid.next, block.first.next, block.combine.next) = (valid, first, combine as i128);
        clocked(block, |b| &mut b.clock);
        block.sum.val()
    }

    const SUM: Beat = Beat { start: None, a: 1, admitted: true, first: false, combine: Combine::Add, valid: true };

    #[test]
    fn sums_wrap() {
        for extremes in [false, true] {
            let mut block = of_bytes(extremes);
            block.connect_all();
            let mut next = |new: Beat| beat(&mut block, &new);
            let first = Beat { start: Some(-(1 << 19)), first: true, combine: Combine::Subtract, ..SUM };
            assert_eq!(next(first), (1 << 19) - 1);
            assert_eq!(next(SUM), -(1 << 19));
            assert_eq!(next(Beat { valid: false, ..SUM }), -(1 << 19), "only valid beats count");
            assert_eq!(next(Beat { admitted: false, ..SUM }), -(1 << 19), "outside the mask nothing is added");
            assert_eq!(next(Beat { first: true, a: -3, ..SUM }), -3, "a sum without a start begins with 0");
        }
    }

    #[test]
    fn extremes_begin_with_the_start_or_with_nothing() {
        let mut block = of_bytes(true);
        block.connect_all();
        let mut next = |new: Beat| beat(&mut block, &new);
        let (largest, smallest) =
            (Beat { combine: Combine::Maximum, ..SUM }, Beat { combine: Combine::Minimum, ..SUM });
        assert_eq!(next(Beat { first: true, a: -100, ..largest }), -100);
        assert_eq!(next(Beat { a: -101, ..largest }), -100);
        assert_eq!(next(Beat { a: 7, admitted: false, ..largest }), -100, "outside the mask nothing counts");
        assert_eq!(next(Beat { a: -1, ..largest }), -1);
        assert_eq!(next(Beat { first: true, start: Some(9), a: 5, ..largest }), 9);
        assert_eq!(next(Beat { first: true, start: Some(9), a: 12, ..largest }), 12);
        assert_eq!(next(Beat { first: true, start: Some(9), admitted: false, ..largest }), -(1 << 19));
        assert_eq!(next(Beat { first: true, admitted: false, ..smallest }), (1 << 19) - 1);
        assert_eq!(next(Beat { a: 100, ..smallest }), 100);
        assert_eq!(next(Beat { a: -128, ..smallest }), -128);
        assert_eq!(next(Beat { a: 127, ..smallest }), -128);
        assert_eq!(next(Beat { first: true, start: Some(-9), a: 5, ..smallest }), -9);
    }
}
