//! How sums become words, in lanes of every width.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use crate::lanes::{Sum, put_row};
use arch::isa;
use arch::number::{Rounder, round_half_even, saturate, wrap};

/// A sum of words.
pub(super) trait WordSum: Sum<Word = i32> {
    /// A start.
    fn start(word: i32, align: u32) -> Self;
    fn whole(self) -> i128;
    /// Put the words that some sums become where they belong; how many are clipped.
    fn finish(sums: &[Self], finish: &Finish, to: Destination<'_>) -> u64;
}

/// Words of a tensor: all of them, the place of the first result, and how far it is from each to the next.
pub(super) type Destination<'a> = (&'a mut [i32], i64, i64);

impl WordSum for i64 {
    #[inline(always)]
    fn start(word: i32, align: u32) -> i64 {
        i64::from(word) << align
    }

    #[inline(always)]
    fn whole(self) -> i128 {
        self.into()
    }

    #[inline(always)]
    fn finish(sums: &[i64], finish: &Finish, to: Destination<'_>) -> u64 {
        finish.narrow(sums, to)
    }
}

impl WordSum for i128 {
    fn start(word: i32, align: u32) -> i128 {
        i128::from(word) << align
    }

    fn whole(self) -> i128 {
        self
    }

    fn finish(sums: &[i128], finish: &Finish, (to, first, stride): Destination<'_>) -> u64 {
        let mut clipped = 0;
        let words = sums.iter().map(|&sum| {
            let (word, saturated) = finish.whole(sum);
            clipped += u64::from(saturated);
            word
        });
        put_row(to, first, stride, words);
        clipped
    }
}

/// How a sum becomes a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finish {
    word: u32,
    accumulator: u32,
    shift: u32,
    kind: isa::Finish,
    /// Bits of a 64-bit sum that the accumulator does not have, if a sum may need them.
    unused: Option<u32>,
    /// What wraps is not the sum: it counts as clipped, whatever is left of it.
    counts_wrapped: bool,
    rounder: Rounder,
}

impl Finish {
    /// Of sums that have at most `bits` bits.
    pub(super) fn new(
        (word, accumulator): (u32, u32),
        bits: u32,
        shift: u32,
        kind: isa::Finish,
        counts_wrapped: bool,
    ) -> Finish {
        let unused = (accumulator < bits).then(|| 64u32.saturating_sub(accumulator));
        Finish { word, accumulator, shift, kind, unused, counts_wrapped, rounder: Rounder::new(shift) }
    }

    /// Of a sum of any size.
    pub(super) fn whole(&self, sum: i128) -> (i32, bool) {
        let held = wrap(sum, self.accumulator);
        let (word, saturated) = match self.kind {
            isa::Finish::Round => saturate(round_half_even(held, self.shift), self.word),
            isa::Finish::Negative => (i64::from(held < 0), false),
            isa::Finish::Positive(limit) => {
                let (word, saturated) = saturate(round_half_even(held, self.shift), self.word);
                (word.clamp(0, i64::from(limit)), saturated)
            }
        };
        (word as i32, saturated || self.counts_wrapped && held != sum)
    }

    /// Of sums of at most [`NARROW`](arch::number::NARROW) bits, without a branch that depends on them.
    #[inline(always)]
    fn narrow(&self, sums: &[i64], to: Destination<'_>) -> u64 {
        let (low, high) = (-(1i64 << (self.word - 1)), (1i64 << (self.word - 1)) - 1);
        let rounder = self.rounder;
        let (least, most) = if let isa::Finish::Positive(limit) = self.kind { (0, limit.into()) } else { (low, high) };
        let round = move |sum: i64| {
            let rounded = rounder.round(sum);
            // `clamp` would compare the bounds, too, in each lane.
            let clamped = rounded.max(low).min(high);
            (clamped.max(least).min(most) as i32, clamped ^ rounded)
        };
        let counts = self.counts_wrapped;
        match (self.kind, self.unused) {
            (isa::Finish::Round | isa::Finish::Positive(_), None) => all(sums, to, round),
            (isa::Finish::Round | isa::Finish::Positive(_), Some(unused)) => all(sums, to, move |sum| {
                let held = sum << unused >> unused;
                let (word, lost) = round(held);
                (word, if counts { lost | held ^ sum } else { lost })
            }),
            (isa::Finish::Negative, unused) => all(sums, to, move |sum| {
                let held = unused.map_or(sum, |unused| sum << unused >> unused);
                (i32::from(held < 0), if counts { held ^ sum } else { 0 })
            }),
        }
    }
}

/// Put a word for each sum, and count those that have lost bits.
#[inline(always)]
fn all(sums: &[i64], (to, first, stride): Destination<'_>, word: impl Fn(i64) -> (i32, i64)) -> u64 {
    let mut lost = 0;
    let words = sums.iter().map(|&sum| {
        let (word, bits) = word(sum);
        lost |= bits;
        word
    });
    put_row(to, first, stride, words);
    // Hardly ever any has.
    if lost == 0 { 0 } else { sums.iter().filter(|&&sum| word(sum).1 != 0).count() as u64 }
}
