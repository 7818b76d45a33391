//! From the entry of a segment to the value of a function.
//!
//!     base ──────────────▶ Raise (t+8) ──┐
//!     delta * fraction (t+8) ────────────┴──▶ TableValue (t+9) ──▶ TableRound (t+10)

use super::Special;
use crate::rtl::bundle::bundle;
use crate::rtl::signal::fit;
use arch::number::{saturate, word_max, word_min, wrap};
use blocks::block;
use rust_hdl_core::prelude::*;

bundle! {
    /// The value of a segment in quarters of a last place, as a word and one last place higher, and whether anything is lost below.
    Value {
        bits: sticky;
        words: exact, higher;
    }
}

/// Bits of [`Value`]: quarters of a word, and one bit more than a sum of two such numbers.
fn value_width(word: u32) -> u32 {
    word + 4
}

/// `base + (product >> W)` in quarters; both candidates for the rounded value are added at once.
#[block(clock, leaf)]
pub(super) fn TableValue(word: u32) {
    let product: In<{ 2 * word + 3 }, signed>;
    let base: In<{ word + 2 }, signed>;
    /// One last place more.
    let raised: In<{ word + 3 }, signed>;
    let value: Out<Value> = |_| value_width(word);
}

impl crate::rtl::Leaf for TableValue {
    fn model(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let word = self.base.width() - 2;
        let slope = self.product.val() >> word;
        self.value.exact.next = self.base.val() + slope;
        self.value.higher.next = self.raised.val() + slope;
        self.value.sticky.next = fit(self.product.val(), word, false) != 0;
    }
    fn text(&self) -> String {
        let word = self.base.width() - 2;
        format!(
            "// table_value: value of a segment in quarters of a last place, and the same one last place higher.
wire [{last}:0] slope = {{product[{high}], product[{high}:{word}]}};
always @(posedge clock) begin
    value$exact <= {{{{2{{base[{base_top}]}}}}, base}} + slope;
    value$higher <= {{raised[{raised_top}], raised}} + slope;
    value$sticky <= |product[{top}:0];
end",
            last = value_width(word) - 1,
            high = 2 * word + 2,
            base_top = word + 1,
            raised_top = word + 2,
            top = word - 1,
        )
    }
}

/// A value of quarters, rounded and saturated; 0 when nothing arrives.
#[block(clock, leaf)]
pub(super) fn TableRound(word: u32) {
    let value: In<Value> = |_| value_width(word);
    let arrives: In;
    let special: In<Special> = |_| 1;
    /// The word that went into the function was saturated.
    let operand_saturated: In;
    let result: Out<word, signed>;
    let result_saturated: Out;
}

impl crate::rtl::Leaf for TableRound {
    fn model(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let word = self.result.width();
        let exact = wrap(self.value.exact.val(), value_width(word));
        let higher = wrap(self.value.higher.val(), value_width(word));
        let (half, below) = (exact >> 1 & 1 == 1, exact & 1 == 1 || self.value.sticky.val());
        let up = half && (below || exact >> 2 & 1 == 1);
        let (y, clipped) = saturate(if up { higher } else { exact } >> 2, word);
        let special = &self.special;
        let (y, also) = if special.lowest.val() {
            (word_min(word) as i64, special.saturated.val())
        } else if special.highest.val() {
            (word_max(word) as i64, special.saturated.val())
        } else if special.zero.val() {
            (0, special.saturated.val())
        } else {
            (y, clipped)
        };
        let arrives = self.arrives.val();
        self.result.next = if arrives { y.into() } else { 0 };
        self.result_saturated.next = arrives && (also || self.operand_saturated.val());
    }
    fn text(&self) -> String {
        let word = self.result.width();
        format!(
            "// table_round: value of a segment, rounded to nearest, ties to even, and saturated.
wire up = value$exact[1] & (value$exact[0] | value$exact[2] | value$sticky);
wire [{y_last}:0] y = up ? value$higher[{last}:2] : value$exact[{last}:2];
wire unused_low = &value$higher[1:0];
wire fits = y[{y_last}:{top}] == {{3{{y[{y_last}]}}}};
wire [{top}:0] limit = {{y[{y_last}], {{{top}{{~y[{y_last}]}}}}}};
wire other = special$lowest | special$zero | special$highest;
wire [{top}:0] instead = {{special$lowest, {{{top}{{special$highest}}}}}};
always @(posedge clock) begin
    result <= ~arrives ? {word}'d0 : other ? instead : fits ? y[{top}:0] : limit;
    result_saturated <= arrives & (operand_saturated | (other ? special$saturated : ~fits));
end",
            last = value_width(word) - 1,
            y_last = word + 1,
            top = word - 1,
        )
    }
}

/// `base + 4`: one last place more.
#[block(clock, leaf)]
pub(super) fn Raise(word: u32) {
    let base: In<{ word + 2 }, signed>;
    let raised: Out<{ word + 3 }, signed>;
}

impl crate::rtl::Leaf for Raise {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            self.raised.next = wrap(self.base.val(), self.base.width()) + 4;
        }
    }
    fn text(&self) -> String {
        let width = self.base.width();
        format!(
            "// raise: the base of a segment, one last place higher.
always @(posedge clock) raised <= {{base[{}], base}} + {}'d4;",
            width - 1,
            width + 1
        )
    }
}
