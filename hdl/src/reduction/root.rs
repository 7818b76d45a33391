//! Root unit: rounds the sum of a tree to a word, and optionally applies a function.
//!
//!     sum (t) ──▶ shifter (t+1, t+2) ───────────────────────┬──▶ round (t+3) ──────┬──▶ result
//!                                                           ├──▶ function (t+10) ──┤
//!         └──▶ divider (t+2W+4) ──────────────────────────────────────────────────┘
//!
//! All give 0 when nothing arrives, so that the result is any of them.

use crate::beats::{FunctionBeat, RootBeat, TableWrite, Widths};
use crate::datapath::arithmetic::RootRound;
use crate::datapath::shift::{AboveAmount, AmountCode, Shifter, code_bits};
use crate::reduction::divider::Divider;
use crate::reduction::function::FunctionUnit;
use blocks::block;
use rust_hdl_core::prelude::*;

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

/// Rounds the sum of a tree to a word and applies a function where asked.
#[block(clock, reset, wires, long = "wires only, in the order of the cycles of a sum")]
pub(crate) fn RootUnit(widths: &Widths, functions: usize) {
    let (word, accumulator) = (widths.word, widths.accumulator);
    let sum: In<accumulator>;
    let beat: In<RootBeat> = |name| widths.beat(name);
    /// One if there are function units.
    let function_beat: [In<FunctionBeat>; functions] = |name| widths.beat(name);
    let tables: [In<TableWrite>; functions] = |name| widths.beat(name);
    let result: Out<word>;
    let saturated: Out;
    let shift_code = AmountCode(widths.root_shifts, widths.beat("shift"));
    let code_t1: Delay<{ code_bits(widths.root_shifts) }, 1>;
    let shifter = Shifter(clock, accumulator, word, widths.root_shifts);
    let plain_t2: FlagDelay<2>;
    let above_shift = [AboveAmount(widths.beat("shift")); widths.rectifiers];
    let positive_t2: [Delay<{ widths.positive }, 2>; widths.rectifiers];
    let round = RootRound(clock, word, widths.positive);
    let splits = [RootSplit(); functions];
    let units = [FunctionUnit(clock, reset, widths); functions];
    let joins = [RootJoin(word); functions];
    /// One if there are dividers.
    let division_splits = [DivisionSplit(); widths.dividers];
    let dividers = [Divider(clock, reset, word, widths.beat("shift"), widths.beat("segments")); widths.dividers];
    let division_joins = [RootJoin(word); widths.dividers];

    shift_code.amount = beat.shift;
    code_t1 = shift_code.code;
    shifter.value = sum;
    shifter.code = shift_code.code;
    shifter.code_later = code_t1;
    round.shifted = shifter.shifted;
    round.arrives = plain_t2;
    for n in 0..positive_t2.len() {
        above_shift[n].amount = beat.shift;
        positive_t2[n] = above_shift[n].positive;
        round.positive[n] = positive_t2[n];
    }
    if units.is_empty() {
        plain_t2 = beat.valid;
        result = round.word;
        saturated = round.saturated;
    } else {
        splits[0].valid = beat.valid;
        splits[0].used = function_beat[0].used;
        splits[0].divide = function_beat[0].divide;
        plain_t2 = splits[0].plain;
        units[0].tables = tables[0];
        units[0].used = splits[0].with_function;
        for NAME in names![segments table_base table_log2 segment_shift] {
            units[0].NAME = function_beat[0].NAME;
        }
        units[0].shifted = shifter.shifted;
        joins[0].word = round.word;
        joins[0].word_saturated = round.saturated;
        joins[0].value = units[0].result;
        joins[0].value_saturated = units[0].result_saturated;
        if dividers.is_empty() {
            result = joins[0].result;
            saturated = joins[0].result_saturated;
        } else {
            division_splits[0].valid = beat.valid;
            division_splits[0].used = function_beat[0].used;
            division_splits[0].divide = function_beat[0].divide;
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
        }
    }
}

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
