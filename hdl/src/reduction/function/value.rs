//! From the entry of a segment to the value of a function.
//!
//!     base ──────────────▶ Raise (t+8) ──┐
//!     delta * fraction (t+8) ────────────┴──▶ TableValue (t+9) ──▶ TableRound (t+10)

use super::Special;
use crate::rtl::bundle::bundle;
use crate::rtl::signal::{Wide, fit};
use arch::number::{saturate, word_max, word_min, wrap};
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
#[derive(LogicBlock)]
pub(super) struct TableValue {
    pub(super) clock: Signal<In, Clock>,
    pub(super) product: Wide<In>,
    pub(super) base: Wide<In>,
    /// One last place more.
    pub(super) raised: Wide<In>,
    pub(super) value: Value<Out>,
}

impl TableValue {
    pub(super) fn new(word: u32) -> Self {
        TableValue {
            clock: Signal::default(),
            product: Wide::signed(2 * word + 3),
            base: Wide::signed(word + 2),
            raised: Wide::signed(word + 3),
            value: Value::new(&|_| value_width(word)),
        }
    }
}

impl Logic for TableValue {
    fn update(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let word = self.base.width() - 2;
        let slope = self.product.val() >> word;
        self.value.exact.next = self.base.val() + slope;
        self.value.higher.next = self.raised.val() + slope;
        self.value.sticky.next = fit(self.product.val(), word, false) != 0;
    }
    fn connect(&mut self) {
        self.value.connect();
    }
    fn hdl(&self) -> Verilog {
        let word = self.base.width() - 2;
        Verilog::Custom(format!(
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
        ))
    }
}

/// A value of quarters, rounded and saturated; 0 when nothing arrives.
#[derive(LogicBlock)]
pub(super) struct TableRound {
    pub(super) clock: Signal<In, Clock>,
    pub(super) value: Value<In>,
    pub(super) arrives: Signal<In, Bit>,
    pub(super) special: Special<In>,
    /// The word that went into the function was saturated.
    pub(super) operand_saturated: Signal<In, Bit>,
    pub(super) result: Wide<Out>,
    pub(super) result_saturated: Signal<Out, Bit>,
}

impl TableRound {
    pub(super) fn new(word: u32) -> Self {
        TableRound {
            clock: Signal::default(),
            value: Value::new(&|_| value_width(word)),
            arrives: Signal::default(),
            special: Special::new(&|_| 1),
            operand_saturated: Signal::default(),
            result: Wide::signed(word),
            result_saturated: Signal::default(),
        }
    }
}

impl Logic for TableRound {
    fn update(&mut self) {
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
    fn connect(&mut self) {
        self.result.connect();
        self.result_saturated.connect();
    }
    fn hdl(&self) -> Verilog {
        let word = self.result.width();
        Verilog::Custom(format!(
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
        ))
    }
}

/// `base + 4`: one last place more.
#[derive(LogicBlock)]
pub(super) struct Raise {
    pub(super) clock: Signal<In, Clock>,
    pub(super) base: Wide<In>,
    pub(super) raised: Wide<Out>,
}

impl Raise {
    pub(super) fn new(word: u32) -> Self {
        Raise { clock: Signal::default(), base: Wide::signed(word + 2), raised: Wide::signed(word + 3) }
    }
}

impl Logic for Raise {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.raised.next = wrap(self.base.val(), self.base.width()) + 4;
        }
    }
    fn connect(&mut self) {
        self.raised.connect();
    }
    fn hdl(&self) -> Verilog {
        let width = self.base.width();
        Verilog::Custom(format!(
            "// raise: the base of a segment, one last place higher.
always @(posedge clock) raised <= {{base[{}], base}} + {}'d4;",
            width - 1,
            width + 1
        ))
    }
}
