//! Root unit: rounds the sum of a tree to a word, and optionally applies a function.
//!
//!     sum (t) ──▶ shifter (t+1, t+2) ───────────────────────┬──▶ round (t+3) ──────┬──▶ result
//!                                                           ├──▶ function (t+10) ──┤
//!         └──▶ divider (t+2W+4) ──────────────────────────────────────────────────┘
//!
//! All give 0 when nothing arrives, so that the result is any of them.

use crate::beats::{FunctionBeat, RootBeat, TableWrite, Widths};
use crate::datapath::arithmetic::RootRound;
use crate::datapath::shift::{AmountCode, Shifter, code_bits};
use crate::reduction::divider::Divider;
use crate::reduction::function::FunctionUnit;
use crate::rtl::register::{Delay, FlagDelay};
use crate::rtl::signal::Wide;
use crate::rtl::wiring::{Wiring, structural, wires};
use blocks::block;
use rust_hdl::prelude::*;

/// Root beats with a function and without.
#[block]
fn RootSplit() {
    let (valid, used, divide): In;
    let (plain, with_function): Out;

    plain = valid && !used;
    with_function = valid && used && !divide;
}

/// Root beats that divide.
#[block]
fn DivisionSplit() {
    let (valid, used, divide): In;
    let start: Out;

    start = valid && used && divide;
}

/// Results of two kinds of root beats; never both in a cycle.
#[block]
pub(crate) fn RootJoin(word: u32) {
    let word: In<word>;
    let word_saturated: In;
    let value: In<word>;
    let value_saturated: In;
    let result: Out<word>;
    let result_saturated: Out;

    result = word | value;
    result_saturated = word_saturated || value_saturated;
}

/// One root unit.
#[derive(LogicBlock)]
pub(crate) struct RootUnit {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) sum: Wide<In>,
    pub(crate) beat: RootBeat<In>,
    /// One if there are function units.
    pub(crate) function_beat: Vec<FunctionBeat<In>>,
    pub(crate) tables: Vec<TableWrite<In>>,
    pub(crate) result: Wide<Out>,
    pub(crate) saturated: Signal<Out, Bit>,
    shift_code: AmountCode,
    code_t1: Delay,
    shifter: Shifter,
    plain_t2: FlagDelay,
    round: RootRound,
    splits: Vec<RootSplit>,
    units: Vec<FunctionUnit>,
    joins: Vec<RootJoin>,
    /// One if there are dividers.
    division_splits: Vec<DivisionSplit>,
    dividers: Vec<Divider>,
    division_joins: Vec<RootJoin>,
    _wiring: Wiring,
}

impl RootUnit {
    pub(crate) fn new(widths: &Widths, functions: usize) -> Self {
        let (word, accumulator) = (widths.word, widths.accumulator);
        RootUnit {
            clock: Signal::default(),
            reset: Signal::default(),
            sum: Wide::new(accumulator),
            beat: RootBeat::new(&|name| widths.beat(name)),
            function_beat: (0..functions).map(|_| FunctionBeat::new(&|name| widths.beat(name))).collect(),
            tables: (0..functions).map(|_| TableWrite::new(&|name| widths.beat(name))).collect(),
            result: Wide::new(word),
            saturated: Signal::default(),
            shift_code: AmountCode::new(widths.root_shifts),
            code_t1: Delay::new(code_bits(widths.root_shifts), 1),
            shifter: Shifter::new(accumulator, word, widths.root_shifts),
            plain_t2: FlagDelay::new(2),
            round: RootRound::new(word),
            splits: (0..functions).map(|_| RootSplit::new()).collect(),
            units: (0..functions).map(|_| FunctionUnit::new(widths)).collect(),
            joins: (0..functions).map(|_| RootJoin::new(word)).collect(),
            division_splits: (0..widths.dividers).map(|_| DivisionSplit::new()).collect(),
            dividers: (0..widths.dividers)
                .map(|_| Divider::new(word, widths.beat("shift"), widths.beat("segments")))
                .collect(),
            division_joins: (0..widths.dividers).map(|_| RootJoin::new(word)).collect(),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            shift_code.amount = beat.shift;
            code_t1.clock = clock;
            code_t1.d = shift_code.code;
            shifter.clock = clock;
            shifter.value = sum;
            shifter.code = shift_code.code;
            shifter.code_later = code_t1.q;
            plain_t2.clock = clock;
            plain_t2.reset = reset;
            round.clock = clock;
            round.shifted = shifter.shifted;
            round.arrives = plain_t2.q;
        );
        if self.units.is_empty() {
            wires!(self, wiring;
                plain_t2.d = beat.valid;
                result = round.word;
                saturated = round.saturated;
            );
        } else {
            wires!(self, wiring;
                splits[0].valid = beat.valid;
                splits[0].used = function_beat[0].used;
                splits[0].divide = function_beat[0].divide;
                plain_t2.d = splits[0].plain;
                units[0].clock = clock;
                units[0].reset = reset;
                units[0].tables = tables[0];
                units[0].used = splits[0].with_function;
                units[0].segments = function_beat[0].segments;
                units[0].table_base = function_beat[0].table_base;
                units[0].table_log2 = function_beat[0].table_log2;
                units[0].segment_shift = function_beat[0].segment_shift;
                units[0].shifted = shifter.shifted;
                joins[0].word = round.word;
                joins[0].word_saturated = round.saturated;
                joins[0].value = units[0].result;
                joins[0].value_saturated = units[0].result_saturated;
            );
            if self.dividers.is_empty() {
                wires!(self, wiring;
                    result = joins[0].result;
                    saturated = joins[0].result_saturated;
                );
            } else {
                self.wire_divider(wiring);
            }
        }
    }

    fn wire_divider(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            division_splits[0].valid = beat.valid;
            division_splits[0].used = function_beat[0].used;
            division_splits[0].divide = function_beat[0].divide;
            dividers[0].clock = clock;
            dividers[0].reset = reset;
            dividers[0].start = division_splits[0].start;
            dividers[0].sum = sum;
            dividers[0].places = beat.shift;
            dividers[0].down = function_beat[0].segments;
            division_joins[0].word = joins[0].result;
            division_joins[0].word_saturated = joins[0].result_saturated;
            division_joins[0].value = dividers[0].word;
            division_joins[0].value_saturated = dividers[0].saturated;
            result = division_joins[0].result;
            saturated = division_joins[0].result_saturated;
        );
    }
}
structural!(RootUnit, "root_unit: rounds the sum of a tree to a word and applies a function where asked.");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn a_sum_is_a_word_three_cycles_later() {
        let mut block = RootUnit::new(&Widths::of_grid(1, 1), 0);
        block.connect_all();
        let mut shown = Vec::new();
        for t in 0..5 {
            block.beat.valid.next = t == 0;
            (block.sum.next, block.beat.shift.next) = if t == 0 { (-44, 3) } else { (0, 0) };
            clocked(&mut block, |b| &mut b.clock);
            shown.push(block.result.val());
        }
        // -44 / 8 = -5.5, and the even neighbour is -6; two's complement at 16 bits.
        assert_eq!(shown, [0, 0, 0xfffa, 0, 0]);
    }
}
