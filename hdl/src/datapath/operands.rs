//! Operand selection of a PE: the factors, and the addend.

use crate::beats::Widths;
use crate::datapath::multiply_add::extended;
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
    let (model, data, t0, t1, immediate_b, immediate_c): In<{ widths.word }, signed>;
    /// The mask admits this PE.
    let admitted: In;
    /// Number of a pad, and above it, on machines with squares, whether the difference to `b` is squared.
    let select_a: In<{ pe_width(widths, "a_t1") }>;
    /// [`selection`] of a code.
    let (select_b, select_c): In<SELECTION_BITS>;
    let (a, b): Out<{ widths.factor }, signed>;
    let c: Out<{ widths.word }, signed>;
    let _leaves: Leaves = widths.leaves;
}

/// Code of an immediate operand; codes below it are pads, those above it nothing.
pub(crate) const IMMEDIATE: u32 = Pad::COUNT as u32;

/// Bits that select operand `b` or `c`: the second one of a half of the pads, the first half, the second half, an immediate or nothing. Tables of four
/// inputs choose in each half and join what they have; tables of six choose among all pads.
pub(crate) const SELECTION_BITS: u32 = 4;

/// These bits of a code.
pub(crate) fn selection(code: i128) -> i128 {
    let half = match code {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    };
    half << 1 | code & 1
}

/// The same in Verilog.
pub(crate) fn selection_text(operand: &str, bits: u32) -> String {
    format!(
        "{operand} >= {bits}'d{IMMEDIATE}, {operand} == {bits}'d2 || {operand} == {bits}'d3, {operand} < {bits}'d2, {operand}[0]"
    )
}

impl crate::rtl::Leaf for OperandSelect {
    fn model(&mut self) {
        let pads = [self.model.val(), self.data.val(), self.t0.val(), self.t1.val()];
        let joined = |select: i128, immediate: i128| {
            let among =
                |half: usize| if select.get_bit(1 + half) { pads[2 * half + select.get_bit(0) as usize] } else { 0 };
            among(0) | among(1) | immediate
        };
        let a = pads[self.select_a.val() as usize % pads.len()];
        let b = joined(self.select_b.val(), self.immediate_b.val());
        let square = self.select_a.val().get_bit(SQUARE_BIT as usize);
        (self.a.next, self.b.next) = if square { (a - b, a - b) } else { (a, b) };
        if self.clock.pos_edge() {
            let c = joined(self.select_c.val(), self.immediate_c.val());
            self.c.next = if self.admitted.val() { c } else { 0 };
        }
    }
    fn text(&self) -> String {
        let (word, factor) = (self.c.width(), self.a.width());
        let [first, second, third, fourth] = Pad::NAMES;
        let among = |select: &str| format!("{select} ? {second} : {first}");
        let above = |select: &str| format!("{select} ? {fourth} : {third}");
        // In tables of four inputs, or of six.
        let joined = |operand: &str| {
            let (select, immediate) = (format!("select_{operand}"), format!("immediate_{operand}"));
            let (low, high) = (among(&format!("{select}[0]")), above(&format!("{select}[0]")));
            let declared = format!("wire [{}:0] pad_{operand} =", word - 1);
            let chosen = format!("chosen_{operand}");
            if self._leaves.pair.is_some() {
                let (by, pad) = (format!("{select}[3]"), format!("pad_{operand}"));
                let text = pair::text(self._leaves, &chosen, word, [&by, &immediate, &pad]);
                format!("wire unused_{operand} = {select}[1];\n{declared} {select}[2] ? ({high}) : ({low});\n{text}")
            } else {
                let gated = |bit: u32, pads: &str| format!("({{{word}{{{select}[{bit}]}}}} & ({pads}))");
                format!(
                    "wire unused_{operand} = {select}[3];\n{declared} {} | {};\nwire [{}:0] {chosen} = pad_{operand} | {immediate};\n",
                    gated(1, &low),
                    gated(2, &high),
                    word - 1
                )
            }
        };
        let a = format!("select_a[1] ? ({}) : ({})", above("select_a[0]"), among("select_a[0]"));
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
