//! Numbers in bulk: the products of many beats, and the words of many lanes, with the vector instructions of this processor.
//!
//! ```text
//!               lane 0  lane 1  lane 2 ..
//! beat 0        a * b   a * b   a * b          rows of the pads; from beat to beat they are `step` words apart
//! beat 1        a * b   a * b   a * b
//!               ▼ +     ▼ +     ▼ +
//! accumulators  sum     sum     sum            written once, in lanes that are taken
//! ```
//!
//! Sums wrap, so their order does not matter: the bits are those of [`Values::add`](super::values::Values::add) beat by beat.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::numbers::Sum;
use crate::lanes::in_vectors;
use arch::number::Rounder;

/// Rows of a pad, one for each beat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a, W> {
    /// All words of the pad.
    pub(crate) words: &'a [W],
    /// Place of the first lane in the first row.
    pub(crate) first: usize,
    /// Words from each row to the next.
    pub(crate) step: isize,
}

impl<W> Rows<'_, W> {
    /// So many words of a row.
    #[inline(always)]
    pub(super) fn from(&self, beat: usize, lanes: usize) -> &[W] {
        &self.words[self.first.wrapping_add_signed(self.step.wrapping_mul(beat as isize))..][..lanes]
    }

    /// The same from this row on.
    fn after(self, beat: usize) -> Self {
        Rows { first: self.first.wrapping_add_signed(self.step.wrapping_mul(beat as isize)), ..self }
    }

    /// Words of some lanes of a row.
    #[inline(always)]
    fn row<const N: usize>(&self, beat: usize, lane: usize) -> &[W; N] {
        let first = self.first.wrapping_add_signed(self.step.wrapping_mul(beat as isize)) + lane;
        self.words[first..].first_chunk().expect("rows lie in their pad")
    }
}

/// Second factors: rows, or the same word everywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Second<'a, W> {
    Rows(Rows<'a, W>),
    Word(W),
}

/// The factors of the products of some beats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factors<'a, W> {
    pub(crate) a: Rows<'a, W>,
    pub(crate) b: Second<'a, W>,
    pub(crate) beats: usize,
    /// Products are subtracted.
    pub(crate) subtract: bool,
}

impl<'a, W: Copy> Factors<'a, W> {
    /// Those of one beat.
    pub(super) fn one(&self, beat: usize) -> Factors<'a, W> {
        let b = match self.b {
            Second::Rows(rows) => Second::Rows(rows.after(beat)),
            Second::Word(word) => Second::Word(word),
        };
        Factors { a: self.a.after(beat), b, beats: 1, ..*self }
    }
}

/// Add all products to the sums of lanes that are taken.
pub(super) fn add_rows<A: Sum>(sums: &mut [A], taken: &[bool], factors: &Factors<'_, i32>) {
    in_vectors(
        #[inline(always)]
        || {
            let at = blocks::<A, 32>(sums, taken, 0, factors);
            let at = blocks::<A, 8>(sums, taken, at, factors);
            blocks::<A, 1>(sums, taken, at, factors);
        },
    );
}

/// The same in blocks of `N` lanes from a lane on; the first lane that does not fill one.
#[inline(always)]
fn blocks<A: Sum, const N: usize>(sums: &mut [A], taken: &[bool], from: usize, factors: &Factors<'_, i32>) -> usize {
    let (blocks, rest) = sums[from..].as_chunks_mut::<N>();
    let end = taken.len() - rest.len();
    for ((n, sums), taken) in blocks.iter_mut().enumerate().zip(taken[from..].as_chunks::<N>().0) {
        let totals: [A; N] = totals(from + n * N, factors);
        for ((sum, &taken), total) in sums.iter_mut().zip(taken).zip(totals) {
            let total = if taken { total } else { A::default() };
            *sum = if factors.subtract { sum.minus(total) } else { sum.plus(total) };
        }
    }
    end
}

/// The sums of all products of some lanes.
#[inline(always)]
fn totals<A: Sum, const N: usize>(lane: usize, factors: &Factors<'_, i32>) -> [A; N] {
    let mut totals = [A::default(); N];
    match factors.b {
        Second::Rows(b) => {
            for beat in 0..factors.beats {
                let words = factors.a.row::<N>(beat, lane).iter().zip(b.row::<N>(beat, lane));
                for (total, (&a, &b)) in totals.iter_mut().zip(words) {
                    *total = total.plus(A::product(a.into(), b.into()));
                }
            }
        }
        Second::Word(b) => {
            for beat in 0..factors.beats {
                for (total, &a) in totals.iter_mut().zip(factors.a.row::<N>(beat, lane)) {
                    *total = total.plus(A::product(a.into(), b.into()));
                }
            }
        }
    }
    totals
}

/// Round sums of at most [`NARROW`](arch::number::NARROW) bits, of which the upper `unused` mean nothing, to words of so many bits; whether one
/// of those that are taken is saturated.
pub(super) fn round(
    sums: &[i64],
    taken: &[bool],
    unused: u32,
    rounder: Rounder,
    word: u32,
    words: &mut Vec<i32>,
) -> bool {
    let first = words.len();
    words.resize(first + sums.len(), 0);
    let words = &mut words[first..];
    let mut lost = 0;
    in_vectors(
        #[inline(always)]
        || lost = rounded(sums, taken, (unused, rounder), limits(word), words),
    );
    lost != 0
}

/// The same; bits that are lost. Nothing that it reads can be what it writes, which only a function's arguments say.
#[inline(always)]
fn rounded(
    sums: &[i64],
    taken: &[bool],
    (unused, rounder): (u32, Rounder),
    (low, high): (i64, i64),
    words: &mut [i32],
) -> i64 {
    let mut lost = 0;
    for ((to, &sum), &taken) in words.iter_mut().zip(sums).zip(taken) {
        let rounded = rounder.round(sum << unused >> unused);
        // `clamp` would compare the bounds, too, in each lane.
        let clamped = rounded.max(low).min(high);
        *to = clamped as i32;
        lost |= (clamped ^ rounded) & -i64::from(taken);
    }
    lost
}

/// The words of sums of one product each, row after row, rounded as by [`round`]; whether one of a lane that is taken is saturated.
pub(super) fn update(
    (start, align): (Second<'_, i32>, u32),
    factors: &Factors<'_, i32>,
    taken: &[bool],
    (unused, rounder, word): (u32, Rounder, u32),
    words: &mut Vec<i32>,
) -> bool {
    let (lanes, first) = (taken.len(), words.len());
    words.resize(first + lanes * factors.beats, 0);
    let (rounding, limits) = ((unused, rounder), limits(word));
    let mut sums = vec![0; lanes];
    let mut lost = 0;
    in_vectors(
        #[inline(always)]
        || {
            for (beat, words) in words[first..].chunks_exact_mut(lanes).enumerate() {
                begin(&mut sums, start, align, beat);
                join(&mut sums, factors, beat);
                lost |= rounded(&sums, taken, rounding, limits, words);
            }
        },
    );
    lost != 0
}

/// Sums of a row begin.
#[inline(always)]
fn begin(sums: &mut [i64], start: Second<'_, i32>, align: u32, beat: usize) {
    match start {
        Second::Rows(rows) => shifted(sums, rows.from(beat, sums.len()), align),
        Second::Word(word) => sums.fill(i64::shifted(word.into(), align)),
    }
}

#[inline(always)]
fn shifted<A: Sum>(sums: &mut [A], words: &[i32], align: u32) {
    sums.iter_mut().zip(words).for_each(|(sum, &word)| *sum = A::shifted(word.into(), align));
}

/// The products of a row are joined to them.
#[inline(always)]
fn join(sums: &mut [i64], factors: &Factors<'_, i32>, beat: usize) {
    let sign = -i64::from(factors.subtract);
    let product = |a: i32, b: i32| (i64::product(a.into(), b.into()) ^ sign).minus(sign);
    let a = factors.a.from(beat, sums.len());
    match factors.b {
        Second::Rows(b) => {
            let rows = a.iter().zip(b.from(beat, sums.len()));
            sums.iter_mut().zip(rows).for_each(|(sum, (&a, &b))| *sum = sum.plus(product(a, b)));
        }
        Second::Word(b) => sums.iter_mut().zip(a).for_each(|(sum, &a)| *sum = sum.plus(product(a, b))),
    }
}

/// Smallest and largest word.
fn limits(word: u32) -> (i64, i64) {
    (-(1i64 << (word - 1)), (1i64 << (word - 1)) - 1)
}

/// Begin sums with words.
pub(super) fn start<A: Sum>(sums: &mut [A], words: &[i32], align: u32) {
    in_vectors(
        #[inline(always)]
        || shifted(sums, words, align),
    );
}
