//! Functions: what is known about each, and its table in hardware.
//!
//! The table of functions is `rows`: value, derivative, domain, hardware and spelling of each [`Function`]. `facts` answers questions
//! about a row, and [`formula`] reads the formulas in it. This file is the table in hardware: a function as segments with linear
//! interpolation.
//!
//!      word x ──▶ segment number ──▶ table {base, delta} ──▶ base + delta * fraction ──▶ round, saturate ──▶ word y
//!            └──▶ fraction inside the segment ───────────────────────────────┘
//!
//! Entries hold two guard bits: they count quarters of the output's last place. A table is *fitted*: [`FunctionTable::fit`] takes
//! the fewest segments with which no input is further than [`MAX_ERROR`] last places from the true value (at the quantised
//! input, saturated at the ends of the output format), or says that the pair of formats cannot be had.
//! How hardware uses the table is written in docs/machine.md, section 4; [`FunctionTable::evaluate`] is the same in Rust.

mod exponential;
mod facts;
pub mod formula;
mod page;
mod rows;
mod special;

pub use facts::{Domain, Hardware, Shape};
pub use formula::Formula;
pub use page::page;
pub use rows::Function;

use crate::isa::{Segments, TableUse};
use crate::number::{NARROW, Rounder, round_half_even, saturate, word_max, word_min};

/// Largest error of a fitted table, in units of the output's last place.
pub const MAX_ERROR: f64 = 2.0;

/// Guard bits of the entries below the output's last place.
const GUARD: u32 = 2;

/// One table: what is loaded, and how it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FunctionTable {
    /// The function.
    pub function: Function,
    /// Bits after the binary point of the input word.
    pub input_fraction: i32,
    /// Bits after the binary point of the output word.
    pub output_fraction: i32,
    /// Word width.
    pub word: u32,
    /// Fields of the root instruction (base = first entry in the grid's table memory).
    pub usage: TableUse,
    /// `(base, delta)` per entry, each W+2 bits signed, in quarters of the output's last place.
    pub entries: Vec<(i64, i64)>,
}

impl FunctionTable {
    /// The smallest table of at most `max_entries` entries whose error is at most [`MAX_ERROR`]; its base is 0.
    ///
    /// `None`: no table of that size does it.
    pub fn fit(
        function: Function,
        word: u32,
        input_fraction: i32,
        output_fraction: i32,
        max_entries: u32,
    ) -> Option<FunctionTable> {
        for log2 in 1..word - 1 {
            let table = FunctionTable::build(function, word, input_fraction, output_fraction, log2);
            if table.entries.len() > max_entries as usize {
                return None;
            }
            if table.is_accurate() {
                return Some(table);
            }
            if table.usage.segment_shift == 0 {
                return None;
            }
        }
        None
    }

    /// The smallest table of at most `max_entries` entries that is accurate for the words that are `seen`, or else the one that comes
    /// closest; and its largest error there, in last places of the output. Beyond these words it goes on as at their end.
    pub fn closest(
        function: Function,
        word: u32,
        (input_fraction, output_fraction): (i32, i32),
        seen: (i64, i64),
        max_entries: u32,
    ) -> (FunctionTable, f64) {
        let end = libm::ldexp((-seen.0).max(seen.1 + 1) as f64, -input_fraction);
        let mut best: Option<(FunctionTable, f64)> = None;
        for log2 in 1..word - 1 {
            let table = FunctionTable::build_until(function, word, (input_fraction, output_fraction), log2, end);
            if table.entries.len() > max_entries as usize && best.is_some() {
                break;
            }
            let (error, finest) = (table.error_within(seen), table.usage.segment_shift == 0);
            if best.as_ref().is_none_or(|(_, least)| error < *least) {
                best = Some((table, error));
            }
            if error <= MAX_ERROR || finest {
                break;
            }
        }
        best.expect("words have two bits")
    }

    /// The table with `2^log2` segments (uniform: in all; octave: per octave), as good as it gets.
    pub fn build(function: Function, word: u32, input_fraction: i32, output_fraction: i32, log2: u32) -> FunctionTable {
        FunctionTable::build_until(function, word, (input_fraction, output_fraction), log2, f64::INFINITY)
    }

    /// The same for arguments between `-end` and `end`, where segments are uniform.
    fn build_until(
        function: Function,
        word: u32,
        (input_fraction, output_fraction): (i32, i32),
        log2: u32,
        end: f64,
    ) -> FunctionTable {
        let unit = libm::ldexp(1.0, -output_fraction);
        let limit = word_max(word) as f64 * unit;
        let mut entries = Vec::new();
        let usage = if let Some(below) = function.below() {
            let segment_shift = word - 2 - log2;
            for lead in 0..word - 1 {
                // A word with this leading bit has `lead` bits below it; segments narrower than one word hold one value each.
                let scale = libm::ldexp(1.0, lead as i32 - input_fraction);
                for k in 0..1u32 << log2 {
                    let from = 1.0 + libm::ldexp(f64::from(k), -(log2 as i32));
                    let to = 1.0 + libm::ldexp(f64::from(k) + 1.0, -(log2 as i32));
                    entries.push(segment(function, from * scale, to * scale, lead > log2, output_fraction, word));
                }
            }
            TableUse { base: 0, log2, segment_shift, segments: Segments::Octave(below) }
        } else {
            let end = function.domain_end(unit / 8.0, limit.max(unit)).min(end);
            let half = (0..word - 1).find(|&bits| libm::ldexp(1.0, bits as i32 - input_fraction) >= end);
            let half = half.unwrap_or(word - 1).max(log2.saturating_sub(1));
            let segment_shift = half + 1 - log2;
            let width = libm::ldexp(1.0, segment_shift as i32 - input_fraction);
            let first = -(1i64 << (log2 - 1));
            for q in 0..1i64 << log2 {
                let from = (first + q) as f64 * width;
                entries.push(segment(function, from, from + width, segment_shift > 0, output_fraction, word));
            }
            TableUse { base: 0, log2, segment_shift, segments: Segments::Uniform }
        };
        FunctionTable { function, input_fraction, output_fraction, word, usage, entries }
    }

    /// The result for a word, and whether it saturated.
    pub fn evaluate(&self, x: i64) -> (i64, bool) {
        evaluate(&self.usage, self.word, x, |entry| self.entries[entry])
    }

    /// Distance of `evaluate(x)` from the true value (saturated to the output format), in last places of the output.
    pub fn error_at(&self, x: i64) -> f64 {
        let (y, _) = self.evaluate(x);
        let value = self.function.at(libm::ldexp(x as f64, -self.input_fraction));
        let exact = libm::ldexp(value, self.output_fraction);
        let exact = exact.clamp(word_min(self.word) as f64, word_max(self.word) as f64);
        (y as f64 - exact).abs()
    }

    /// Whether [`FunctionTable::error`] is at most [`MAX_ERROR`]; stops at the first word that is not.
    fn is_accurate(&self) -> bool {
        if self.word > 16 {
            return self.error() <= MAX_ERROR;
        }
        let low = if self.function.below().is_some() { 1 } else { word_min(self.word) as i64 };
        (low..=word_max(self.word) as i64).all(|x| self.error_at(x) <= MAX_ERROR)
    }

    /// Largest [`FunctionTable::error_at`]: over every word up to 16 bits, above over the ends and quarters of all segments
    /// and the ends of the format.
    pub fn error(&self) -> f64 {
        self.error_within((word_min(self.word) as i64, word_max(self.word) as i64))
    }

    /// The same for words between these.
    pub fn error_within(&self, (low, high): (i64, i64)) -> f64 {
        let low = if self.function.below().is_some() { low.max(1) } else { low };
        let high = high.max(low);
        if self.word <= 16 {
            return (low..=high).map(|x| self.error_at(x)).fold(0.0, f64::max);
        }
        let TableUse { log2, segment_shift, segments, .. } = self.usage;
        let mut worst = self.error_at(low).max(self.error_at(high));
        let mut visit = |from: i64, width: i64| {
            for k in 0..=16 {
                let x = from + (width * k / 16).min(width - 1);
                worst = worst.max(self.error_at(x.clamp(low, high)));
            }
        };
        if segments == Segments::Uniform {
            for q in -(1i64 << (log2 - 1))..1i64 << (log2 - 1) {
                visit(q << segment_shift, 1 << segment_shift);
            }
        } else {
            for lead in 0..self.word - 1 {
                let width = (1i64 << lead) >> log2;
                for k in 0..1i64 << log2 {
                    visit((1i64 << lead) + ((k << lead) >> log2), width.max(1));
                }
            }
        }
        worst
    }
}

/// `(base, delta)` of the segment `from..to`: the chord, moved by half of its error in the middle.
fn segment(function: Function, from: f64, to: f64, curved: bool, output_fraction: i32, word: u32) -> (i64, i64) {
    let quarter = |value: f64| libm::ldexp(value, output_fraction + GUARD as i32);
    let bound = libm::ldexp(1.0, (word + GUARD) as i32 - 1);
    let clamp = |value: f64| value.clamp(-bound, bound - 1.0);
    // The end may lie outside the format: the sum saturates.
    let far = |value: f64| value.clamp(-2.0 * bound, 2.0 * bound);
    let (a, b) = (clamp(quarter(function.at(from))), far(quarter(function.at(to))));
    let middle = far(quarter(function.at(f64::midpoint(from, to))));
    let bend = if curved { (middle - f64::midpoint(a, b)) / 2.0 } else { 0.0 };
    let base = libm::rint(clamp(a + bend));
    (base as i64, clamp(libm::rint(b + bend - base)) as i64)
}

/// The result of a function unit for a word, and whether it saturated: exactly docs/machine.md, section 4.
/// `entry` gives the table's entries, counted from its base.
pub fn evaluate(usage: &TableUse, word: u32, x: i64, entry: impl Fn(usize) -> (i64, i64)) -> (i64, bool) {
    let &TableUse { log2, segment_shift, segments, .. } = usage;
    let (number, fraction) = if let Segments::Octave(below) = segments {
        if x <= 0 {
            return below.value(x, word);
        }
        let lead = x.ilog2();
        let normal = x << (word - 2 - lead);
        let segment = (normal >> segment_shift) & ((1 << log2) - 1);
        ((i64::from(lead) << log2) + segment, normal & ((1 << segment_shift) - 1))
    } else {
        let (q, fraction, half) = (x >> segment_shift, x & ((1 << segment_shift) - 1), (1i64 << log2) >> 1);
        let (q, fraction) = if q >= half {
            (half - 1, (1 << segment_shift) - 1)
        } else if q < -half {
            (-half, 0)
        } else {
            (q, fraction)
        };
        (q + half, fraction)
    };
    let (base, delta) = entry(number as usize);
    // Words have at most 32 bits, bases and slopes two more: such sums are narrow, but for the longest segments of the widest words.
    if word + 4 + segment_shift <= NARROW {
        let sum = (base << segment_shift) + delta * fraction;
        return Rounder::new(segment_shift + GUARD).round_and_saturate(sum, word);
    }
    let sum = (i128::from(base) << segment_shift) + i128::from(delta) * i128::from(fraction);
    saturate(round_half_even(sum, segment_shift + GUARD), word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word of the format: at most two last places, over pairs of formats as the number chooser picks them.
    #[test]
    fn fitted_tables_are_accurate_for_every_word() {
        for (function, inputs, outputs) in [
            (Function::Sigmoid, 8..=14, 12..=15),
            (Function::SigmoidSymmetric, 8..=14, 12..=15),
            (Function::Tanh, 8..=14, 12..=15),
            (Function::Gaussian, 8..=14, 12..=16),
            (Function::Log, 0..=15, 10..=11),
            (Function::Exp, 12..=14, 4..=10),
            (Function::Sqrt, 4..=12, 9..=12),
            (Function::Rsqrt, 6..=8, 9..=10),
            (Function::Sin, 11..=12, 12..=13),
            (Function::Cos, 11..=12, 12..=13),
            (Function::Atan, 11..=13, 12..=13),
            (Function::Erf, 11..=13, 12..=14),
        ] {
            for input in inputs {
                for output in outputs.clone() {
                    let entries = if function == Function::Exp { 4096 } else { 1024 };
                    let Some(table) = FunctionTable::fit(function, 16, input, output, entries) else {
                        panic!("no table for {function} {input} {output}");
                    };
                    let worst = (word_min(16)..=word_max(16))
                        .filter(|&x| function.below().is_none() || x > 0)
                        .map(|x| table.error_at(x as i64))
                        .fold(0.0, f64::max);
                    assert!(worst <= MAX_ERROR, "{function} {input} {output}: {worst}");
                }
            }
        }
    }

    fn functions_with_a_table() -> impl Iterator<Item = Function> {
        Function::ALL.iter().copied().filter(|function| function.has_table())
    }

    /// The finest table of each for arguments below 8: all words, and 0 where the function keeps it, which padding relies on.
    #[test]
    fn every_function_with_a_table_has_one_that_is_accurate() {
        for function in functions_with_a_table() {
            let finest = (4..=15).rev().find_map(|output| FunctionTable::fit(function, 16, 12, output, 4096));
            let table = finest.unwrap_or_else(|| panic!("no table for {function}"));
            assert!(table.error() <= MAX_ERROR, "{function}: {}", table.error());
            assert!(!function.keeps_zero() || table.evaluate(0).0 == 0, "{function} of 0 is {}", table.evaluate(0).0);
        }
    }

    #[test]
    fn entries_fit_their_memory() {
        for function in functions_with_a_table() {
            for word in [8, 16, 24, 32] {
                let table = FunctionTable::build(function, word, word as i32 - 5, word as i32 - 3, 5);
                let bound = 1i64 << (word + 1);
                for &(base, delta) in &table.entries {
                    assert!((-bound..bound).contains(&base) && (-bound..bound).contains(&delta));
                }
            }
        }
    }

    #[test]
    fn logarithm_of_nothing_is_the_most_negative_word() {
        let table = FunctionTable::fit(Function::Log, 16, 8, 11, 1024).expect("log has a table");
        assert_eq!(table.evaluate(0), (-32768, true));
        assert_eq!(table.evaluate(-5), (-32768, true));
        assert_eq!(table.evaluate(256), (0, false));
    }

    #[test]
    fn the_root_of_nothing_is_nothing() {
        let table = FunctionTable::fit(Function::Sqrt, 16, 8, 11, 1024).expect("sqrt has a table");
        assert_eq!((table.evaluate(0), table.evaluate(-5)), ((0, false), (0, true)));
        let table = FunctionTable::fit(Function::Rsqrt, 16, 8, 9, 1024).expect("rsqrt has a table");
        assert_eq!(table.evaluate(0), (32_767, true));
    }

    #[test]
    fn wide_words_have_tables_too() {
        for word in [18, 20, 24] {
            let fraction = word as i32 - 5;
            let table = FunctionTable::fit(Function::Sigmoid, word, fraction, 17, 1024);
            assert!(table.is_some(), "{word}");
        }
    }
}
