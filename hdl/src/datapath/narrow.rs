//! From the sum of a PE to its word: shift, round to nearest with ties to even, saturate; or the sign alone.
//!
//!     sum (t+4) ──▶ CoarseShift (t+5) ──▶ FineShift (t+6) ──▶ RoundStage (t+7) ──▶ word       any amount
//!     sum (t+4) ──▶ ListedShift (t+5) ──▶ Clamp (t+6) ──────▶ Step (t+7) ───────▶ word       a few amounts

use crate::datapath::arithmetic::RoundStage;
use crate::datapath::listed::{Clamp, ListedShift, Step};
use crate::datapath::shift::{Shifter, code_bits};
use arch::amounts::Amounts;
use arch::device::Leaves;
use blocks::block;
use rust_hdl_core::prelude::*;

/// The word of a sum.
#[block(clock, wires)]
pub(crate) fn Narrow(width: u32, word: u32, amounts: Amounts, positive: u32, leaves: Leaves) {
    let rectifiers = positive.min(1) as usize;
    let (listed, barrel) = if amounts.listed().is_some() { (1, 0) } else { (0, 1) };
    let sum: In<width>;
    /// What [`crate::datapath::shift::AmountCode`] says, t+4 and t+5.
    let (code, code_later): In<{ code_bits(amounts) }>;
    /// The word is 1 if the sum is negative, else 0; t+5.
    let negative: In;
    /// As [`crate::datapath::arithmetic::Rectifier`] says; t+5. One on machines with rectifiers.
    let positive: [In<positive>; rectifiers];
    let word: Out<word, signed>;
    let saturated: Out;
    // One of each, or none.
    let shifter = [Shifter(clock, width, word, amounts); barrel];
    let negative_t6: [Delay<1, 1>; barrel];
    let positive_t6: [Delay<positive, 1>; barrel * rectifiers];
    let round = [RoundStage(clock, word, positive); barrel];
    let listed = [ListedShift(clock, width, word, word, amounts); listed];
    let clamp = [Clamp(clock, word, amounts, positive, leaves); listed];
    let step = [Step(clock, word); listed];

    if listed.is_empty() {
        shifter[0].value = sum;
        shifter[0].code = code;
        shifter[0].code_later = code_later;
        negative_t6[0] = negative;
        round[0].shifted = shifter[0].shifted;
        round[0].negative = negative_t6[0];
        for n in 0..positive.len() {
            positive_t6[n] = positive[n];
            round[0].positive[n] = positive_t6[n];
        }
        word = round[0].word;
        saturated = round[0].saturated;
    } else {
        listed[0].value = sum;
        listed[0].number = code;
        clamp[0].part = listed[0].part;
        clamp[0].number = code_later;
        clamp[0].negative = negative;
        for n in 0..positive.len() {
            clamp[0].positive[n] = positive[n];
        }
        step[0].clamped = clamp[0].clamped;
        word = step[0].word;
        saturated = step[0].saturated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::shift::AmountCode;
    use crate::rtl::signal::clocked;
    use arch::number::{round_half_even, saturate};

    /// Both ways, and lists of all lengths.
    #[test]
    fn shift_and_round_are_those_of_the_number_code() {
        let (width, word) = (16, 8);
        let all: &[u32] = &[0, 1, 2, 7, 8, 9, 15, 16, 40, 63];
        let some: [&[u32]; 7] = [&[0], &[7], &[40], &[0, 1], &[2, 8, 15], &[0, 7, 8, 16], &[1, 2, 7, 8, 9, 15, 16, 63]];
        let lists = some.into_iter().map(|list| (Amounts::of(list.iter().copied()).unwrap(), list));
        for (amounts, list) in lists.chain([(Amounts::ANY, all)]) {
            let mut block = Narrow::new(width, word, amounts, 0, Leaves::GENERIC);
            let mut code = AmountCode::new(amounts, arch::isa::SHIFT_BITS);
            block.connect_all();
            code.connect_all();
            for value in (-(1 << 15)..1 << 15).step_by(37).chain([-1, 0, 127, 128, 255, 256, 32767]) {
                for &shift in list {
                    code.amount.next = shift.into();
                    code.update_all();
                    code.update_all();
                    (block.sum.next, block.code.next) = (value, code.code.val());
                    clocked(&mut block, |b| &mut b.clock);
                    (block.sum.next, block.code.next, block.code_later.next) = (0, 0, code.code.val());
                    clocked(&mut block, |b| &mut b.clock);
                    clocked(&mut block, |b| &mut b.clock);
                    let expected = saturate(round_half_even(value, shift), word);
                    let found = (block.word.val() as i64, block.saturated.val());
                    assert_eq!(found, expected, "{value} >> {shift} of {amounts}");
                }
            }
        }
    }

    #[test]
    fn a_sign_is_one_or_nothing() {
        for amounts in [Amounts::ANY, Amounts::of([0, 3]).unwrap()] {
            let mut block = Narrow::new(16, 8, amounts, 0, Leaves::GENERIC);
            block.connect_all();
            for (value, word) in [(-(1 << 15), 1), (-1, 1), (0, 0), (300, 0)] {
                (block.sum.next, block.negative.next) = (value, true);
                for _ in 0..3 {
                    clocked(&mut block, |b| &mut b.clock);
                }
                assert_eq!((block.word.val(), block.saturated.val()), (word, false), "{value}");
            }
        }
    }
}
