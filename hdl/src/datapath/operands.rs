//! Operand selection of a PE: the factors, and the addend.

use crate::beats::Widths;
use crate::datapath::multiply_add::{extended, takes_immediate};
use crate::datapath::pair;
use crate::datapath::pe::pe_width;
use crate::rtl::signal::GetBit;
use arch::device::Leaves;
use arch::isa::{Pad, SQUARE_BIT};
use blocks::block;
use rust_hdl_core::prelude::*;

/// The operands of a beat, at t+1; `c` is registered here, `a` and `b` where they are multiplied.
///
/// A PE outside the mask adds nothing to its sum: its operands are zero, `c` here, `a` and `b` where they are multiplied. Pads that are not
/// chosen and an immediate that is not used are zero, so that all can be joined.
///
/// On machines with squares `a` and `b` are a bit wider than words, and both are the difference of the two where that is to be squared.
#[block(clock, leaf)]
pub(crate) fn OperandSelect(widths: &Widths) {
    for PAD in PADS {
        let PAD: In<{ widths.word }, signed>;
    }
    let (immediate_b, immediate_c): In<{ widths.word }, signed>;
    /// The mask admits this PE.
    let admitted: In;
    /// Number of a pad, and above it, on machines with squares, whether the difference to `b` is squared.
    let select_a: In<{ pe_width(widths, "a_t1") }>;
    /// [`selection`] of a code.
    let (select_b, select_c): In<SELECTION_BITS>;
    let (a, b): Out<{ widths.factor }, signed>;
    let c: Out<{ widths.word }, signed>;
    let _leaves: Leaves = widths.leaves;
    /// The immediate of operand `b` goes past this block.
    let _past: bool = takes_immediate(widths);
}

/// Code of an immediate operand; codes below it are pads, those above it nothing.
pub(crate) const IMMEDIATE: u32 = Pad::COUNT as u32;

/// Pads are chosen in pairs.
pub(crate) const PAIRS: usize = Pad::COUNT.div_ceil(2);

/// Bits that select operand `b` or `c`: the second one of a pair of pads, each pair, an immediate or nothing. Tables of four inputs choose in each pair
/// and join what they have; tables of six choose among all pads.
pub(crate) const SELECTION_BITS: u32 = PAIRS as u32 + 2;

/// The bit of these that says that no pad is an operand.
pub(crate) const NO_PAD: usize = PAIRS + 1;

/// These bits of a code.
pub(crate) fn selection(code: i128) -> i128 {
    let pair = if code < i128::from(IMMEDIATE) { code / 2 } else { PAIRS as i128 };
    2 << pair | code & 1
}

/// The same in Verilog.
pub(crate) fn selection_text(operand: &str, bits: u32) -> String {
    let is = |codes: &[usize]| {
        let each = |code| format!("{operand} == {bits}'d{code}");
        codes.iter().map(each).collect::<Vec<_>>().join(" || ")
    };
    let codes: Vec<usize> = (0..Pad::COUNT).collect();
    let pairs: String = codes.chunks(2).skip(1).rev().map(|codes| is(codes) + ", ").collect();
    format!("{operand} >= {bits}'d{IMMEDIATE}, {pairs}{operand} < {bits}'d2, {operand}[0]")
}

/// The number of the pad, from these bits, in Verilog.
pub(crate) fn number_text(select: &str) -> String {
    let set = |bit: u32| {
        let pairs = (0..PAIRS).filter(|pair| pair >> bit & 1 == 1).map(|pair| format!("{select}[{}]", pair + 1));
        pairs.collect::<Vec<_>>().join(" || ")
    };
    let bits: String = (0..SQUARE_BIT - 1).rev().map(|bit| set(bit) + ", ").collect();
    format!("{{{bits}{select}[0]}}")
}

/// What chooses in each pair.
fn chosen(second: &str) -> Vec<String> {
    let choice = |pair: &[&str]| match pair {
        [low, high] => format!("{second} ? {high} : {low}"),
        other => other.concat(),
    };
    Pad::NAMES.chunks(2).map(choice).collect()
}

/// The pair whose condition holds, or the first one; later pairs come before earlier ones.
fn among(pairs: &[String], condition: impl Fn(usize) -> String) -> String {
    let above = |rest: String, (pair, text): (usize, &String)| format!("{} ? ({text}) : ({rest})", condition(pair));
    pairs.iter().enumerate().skip(1).fold(pairs[0].clone(), above)
}

impl crate::rtl::Leaf for OperandSelect {
    fn model(&mut self) {
        blocks::unroll! {
            let pads = [for PAD in PADS { self.PAD.val(), }];
        }
        let joined = |select: i128, immediate: i128| {
            let second = select.get_bit(0) as usize;
            let chosen =
                |(pair, pads): (usize, &[i128])| if select.get_bit(1 + pair) { pads[second % pads.len()] } else { 0 };
            pads.chunks(2).enumerate().map(chosen).fold(immediate, |joined, pad| joined | pad)
        };
        let a = pads[self.select_a.val() as usize % pads.len()];
        let b = joined(self.select_b.val(), if self._past { 0 } else { self.immediate_b.val() });
        let square = self.select_a.val().get_bit(SQUARE_BIT as usize);
        (self.a.next, self.b.next) = if square { (a - b, a - b) } else { (a, b) };
        if self.clock.pos_edge() {
            let c = joined(self.select_c.val(), self.immediate_c.val());
            self.c.next = if self.admitted.val() { c } else { 0 };
        }
    }
    fn text(&self) -> String {
        let (word, factor) = (self.c.width(), self.a.width());
        // In tables of four inputs, or of six.
        let joined = |operand: &str| {
            let (select, immediate) = (format!("select_{operand}"), format!("immediate_{operand}"));
            let pairs = chosen(&format!("{select}[0]"));
            let declared = format!("wire [{}:0] pad_{operand} =", word - 1);
            let name = format!("chosen_{operand}");
            if self._leaves.pair.is_some() {
                let (by, pad) = (format!("{select}[{NO_PAD}]"), format!("pad_{operand}"));
                let text = if self._past && operand == "b" {
                    format!("wire unused_past = &{{{by}, {immediate}}};\nwire [{}:0] {name} = {pad};\n", word - 1)
                } else {
                    pair::text(self._leaves, &name, word, [&by, &immediate, &pad])
                };
                let pad = among(&pairs, |pair| format!("{select}[{}]", pair + 1));
                format!("wire unused_{operand} = {select}[1];\n{declared} {pad};\n{text}")
            } else {
                let gated = |(pair, pads)| format!("({{{word}{{{select}[{}]}}}} & ({pads}))", pair + 1);
                let pads = pairs.iter().enumerate().map(gated).collect::<Vec<_>>().join(" | ");
                format!(
                    "wire unused_{operand} = {select}[{NO_PAD}];\n{declared} {pads};\nwire [{}:0] {name} = pad_{operand} | {immediate};\n",
                    word - 1
                )
            }
        };
        // The bits of a pair's number, behind the one that says which of the two.
        let bits = |pair: usize| (0..SQUARE_BIT - 1).filter(move |bit| pair >> bit & 1 == 1);
        let is = |pair| bits(pair).map(|bit| format!("select_a[{}]", bit + 1)).collect::<Vec<_>>().join(" && ");
        let a = among(&chosen("select_a[0]"), is);
        let choices = joined("b") + &joined("c");
        let (what, factors) = if factor == word {
            ("", format!("assign a = {a};\nassign b = chosen_b;"))
        } else {
            let wide = |name| extended(name, word, factor);
            let (last, wide_a, wide_b) = (word - 1, wide("word_a"), wide("chosen_b"));
            let factors = format!(
                "wire square = select_a[{SQUARE_BIT}];
wire [{last}:0] word_a = {a};
wire [{word}:0] wide_b = {wide_b};
assign a = {wide_a} - (square ? wide_b : {factor}'d0);
assign b = square ? a : wide_b;"
            );
            (" both factors may be the difference of a and b;", factors)
        };
        format!(
            "// operand_select: operands a, b, c from pads and immediates;{what} outside the mask c is 0.
{choices}{factors}
always @(posedge clock) begin
    c <= chosen_c;
    if (!admitted) c <= {word}'d0;
end"
        )
    }
}
