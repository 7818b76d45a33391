//! Numbers: what the hardware holds.
//!
//! A word is an `i32`. A sum is an integer of 64 or 128 bits, modulo a power of two that is at least that of the accumulator; its upper bits mean nothing.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::bulk::{self, Factors, Second};
use super::values::Values;
use arch::division::{divide, operands};
use arch::function::evaluate;
use arch::isa::{Combine, Finish, RootFunction, RootInstruction};
use arch::machine::Machine;
use arch::number::{NARROW, Rounder, round_half_even, saturate, wrap};
use std::marker::PhantomData;

/// An integer that holds an accumulator, modulo a power of two at least as large.
pub(super) trait Sum: Copy + Default + std::fmt::Debug + 'static {
    fn product(a: i64, b: i64) -> Self;
    fn shifted(word: i64, by: u32) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// The accumulator with these bits.
    fn wrapped(sum: i128) -> Self;
    fn exact(self, accumulator: u32) -> i128;
    /// Divided by `2^shift`, rounded and saturated to `word` bits; and whether it saturated.
    fn rounded(self, accumulator: u32, shift: u32, word: u32) -> (i64, bool);
    /// Whether it has 64 bits.
    const IS_NARROW: bool;
    /// The same sums, if each has 64 bits.
    fn narrow(sums: &[Self]) -> Option<&[i64]>;
}

fn rounded_wide(sum: i128, shift: u32, word: u32) -> (i64, bool) {
    saturate(round_half_even(sum, shift), word)
}

macro_rules! sum {
    ($type:ty, $narrow:expr, $rounded:expr) => {
        impl Sum for $type {
            #[inline(always)]
            fn product(a: i64, b: i64) -> $type {
                (a as $type).wrapping_mul(b as $type)
            }
            #[inline(always)]
            fn shifted(word: i64, by: u32) -> $type {
                (word as $type) << by
            }
            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: $type) -> $type {
                self.wrapping_sub(other)
            }
            fn wrapped(sum: i128) -> $type {
                sum as $type
            }
            fn exact(self, accumulator: u32) -> i128 {
                wrap(self as i128, accumulator)
            }
            fn rounded(self, accumulator: u32, shift: u32, word: u32) -> (i64, bool) {
                let rounded: fn($type, u32, u32, u32) -> (i64, bool) = $rounded;
                rounded(self, accumulator, shift, word)
            }
            const IS_NARROW: bool = size_of::<$type>() == size_of::<i64>();
            fn narrow(sums: &[$type]) -> Option<&[i64]> {
                let narrow: fn(&[$type]) -> Option<&[i64]> = $narrow;
                narrow(sums)
            }
        }
    };
}
sum!(i64, |sums| Some(sums), |sum, accumulator, shift, word| {
    if accumulator <= NARROW {
        let unused = 64 - accumulator;
        Rounder::new(shift).round_and_saturate((sum << unused) >> unused, word)
    } else {
        rounded_wide(wrap(sum.into(), accumulator), shift, word)
    }
});
sum!(i128, |_| None, |sum, accumulator, shift, word| rounded_wide(wrap(sum, accumulator), shift, word));

/// The widths of a grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers<A> {
    accumulator: u32,
    word: u32,
    /// Products of many beats and words of many lanes are made at once.
    bulk: bool,
    sums: PhantomData<A>,
}

impl<A> Numbers<A> {
    pub(super) fn new(machine: &Machine) -> Numbers<A> {
        Numbers { accumulator: machine.accumulator(), word: machine.word(), bulk: true, sums: PhantomData }
    }

    /// The same numbers, made one by one.
    pub(super) fn one_by_one(machine: &Machine) -> Numbers<A> {
        Numbers { bulk: false, ..Numbers::new(machine) }
    }
}

impl<A: Sum> Values for Numbers<A> {
    type Word = i32;
    type Sum = A;

    fn unwritten_words(&mut self, count: usize) -> Vec<i32> {
        vec![0; count]
    }

    fn unwritten_sums(&mut self, count: usize) -> Vec<A> {
        vec![A::default(); count]
    }

    fn constant(&mut self, word: i64) -> i32 {
        word as i32
    }

    fn received(&mut self, word: i64) -> i32 {
        word as i32
    }

    fn shown(&self, word: i32) -> i64 {
        word.into()
    }

    fn shown_sum(&self, sum: &A) -> i128 {
        sum.exact(self.accumulator)
    }

    fn given_sum(&mut self, sum: i128) -> A {
        A::wrapped(sum)
    }

    fn nothing(&mut self, combine: Combine) -> A {
        A::wrapped(combine.identity(self.accumulator))
    }

    fn start(&mut self, word: i32, align: u32) -> A {
        A::shifted(word.into(), align)
    }

    fn start_all(&mut self, sums: &mut [A], words: &[i32], align: u32) {
        if self.bulk {
            bulk::start(sums, words, align);
        } else {
            sums.iter_mut().zip(words).for_each(|(sum, &word)| *sum = self.start(word, align));
        }
    }

    fn add(&mut self, sum: &mut A, a: i32, b: i32) {
        *sum = sum.plus(A::product(a.into(), b.into()));
    }

    fn subtract(&mut self, sum: &mut A, a: i32, b: i32) {
        *sum = sum.minus(A::product(a.into(), b.into()));
    }

    fn compare(&mut self, combine: Combine, sum: &mut A, a: i32, b: i32) {
        self.join(combine, sum, &A::product(a.into(), b.into()));
    }

    fn square(&mut self, combine: Combine, sum: &mut A, a: i32, b: i32) {
        let difference = i64::from(a) - i64::from(b);
        let square = A::product(difference, difference);
        match combine {
            Combine::Add => *sum = sum.plus(square),
            Combine::Subtract => *sum = sum.minus(square),
            extreme => self.join(extreme, sum, &square),
        }
    }

    fn join(&mut self, combine: Combine, sum: &mut A, other: &A) {
        *sum = if combine.compares() {
            A::wrapped(combine.join(sum.exact(self.accumulator), other.exact(self.accumulator)))
        } else {
            sum.plus(*other)
        };
    }

    fn finish(&mut self, sums: &[A], taken: &[bool], finish: Finish, shift: u32, words: &mut Vec<i32>) -> bool {
        let bulk = self.bulk && self.accumulator <= NARROW && finish != Finish::Negative;
        if let Some(narrow) = A::narrow(sums).filter(|_| bulk) {
            let first = words.len();
            let lost = bulk::round(narrow, taken, 64 - self.accumulator, Rounder::new(shift), self.word, words);
            if let Finish::Positive(limit) = finish {
                words[first..].iter_mut().for_each(|word| *word = (*word).clamp(0, limit));
            }
            return lost;
        }
        let mut any = false;
        for (sum, &taken) in sums.iter().zip(taken) {
            let (word, saturated) = match finish {
                Finish::Negative => (i64::from(sum.exact(self.accumulator) < 0), false),
                Finish::Round => sum.rounded(self.accumulator, shift, self.word),
                Finish::Positive(limit) => {
                    let (word, saturated) = sum.rounded(self.accumulator, shift, self.word);
                    (word.clamp(0, i64::from(limit)), saturated)
                }
            };
            words.push(word as i32);
            any |= saturated && taken;
        }
        any
    }

    fn in_bulk(&self) -> bool {
        self.bulk
    }

    fn add_rows(&mut self, sums: &mut [A], taken: &[bool], factors: &Factors<'_, i32>) {
        bulk::add_rows(sums, taken, factors);
    }

    fn update_rows(
        &mut self,
        (start, align): (Second<'_, i32>, u32),
        factors: &Factors<'_, i32>,
        taken: &[bool],
        finish: Finish,
        shift: u32,
        words: &mut Vec<i32>,
    ) -> bool {
        if A::IS_NARROW && self.accumulator <= NARROW && finish != Finish::Negative {
            let first = words.len();
            let rounding = (64 - self.accumulator, Rounder::new(shift), self.word);
            let lost = bulk::update((start, align), factors, taken, rounding, words);
            if let Finish::Positive(limit) = finish {
                words[first..].iter_mut().for_each(|word| *word = (*word).clamp(0, limit));
            }
            return lost;
        }
        let (mut sums, mut lost) = (vec![A::default(); taken.len()], false);
        for beat in 0..factors.beats {
            match start {
                Second::Rows(rows) => self.start_all(&mut sums, rows.from(beat, taken.len()), align),
                Second::Word(word) => sums.fill(self.start(word, align)),
            }
            self.add_rows(&mut sums, taken, &factors.one(beat));
            lost |= self.finish(&sums, taken, finish, shift, words);
        }
        lost
    }

    fn root(&mut self, sum: &A, root: &RootInstruction, tables: &[(i64, i64)]) -> (i32, bool) {
        let (word, saturated) = self.root_word(sum, root, tables);
        (word as i32, saturated)
    }

    fn low(&mut self, sum: &A) -> i32 {
        wrap(sum.exact(self.accumulator), self.word) as i32
    }

    fn part(&mut self, sum: &A, lsb: u32) -> i32 {
        wrap(sum.exact(self.accumulator) >> lsb, self.word) as i32
    }

    fn either(&mut self, one: i32, other: i32) -> i32 {
        one | other
    }
}

impl<A: Sum> Numbers<A> {
    fn root_word(self, sum: &A, root: &RootInstruction, tables: &[(i64, i64)]) -> (i64, bool) {
        let (sum, word) = (sum.exact(self.accumulator), self.word);
        if let Some(RootFunction::Divide(rounding)) = root.function {
            let (dividend, divisor) = operands(sum, word);
            return divide(dividend, divisor, root.shift, rounding, word);
        }
        let (h, saturated) = rounded_wide(sum, root.shift, word);
        let limit = root.positive.filter(|_| root.function.is_none());
        let h = limit.map_or(h, |limit| h.clamp(0, i64::from(limit)));
        let Some(RootFunction::Table(usage)) = root.function else { return (h, saturated) };
        if tables.is_empty() {
            return (0, saturated);
        }
        let base = usage.base as usize;
        let (y, also) = evaluate(&usage, word, h, |entry| tables[base.wrapping_add(entry) % tables.len()]);
        (y, saturated || also)
    }
}
