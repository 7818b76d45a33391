//! Function tables against f64: every word of 16 bits, random words of up to 24 bits, where the construction only looks at some.
//!
//! The error is counted in last places of the output; a fitted table promises two ([`arch::function::MAX_ERROR`]).

use arch::function::{Function, FunctionTable, MAX_ERROR};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Functions, and for each the bits before the binary point of input and output (sign included) as trainings ask for them.
const CASES: [(Function, i32, i32); 6] = [
    (Function::Sigmoid, 5, 2),
    (Function::SigmoidSymmetric, 5, 2),
    (Function::Tanh, 4, 2),
    (Function::Gaussian, 4, 1),
    (Function::Log, 8, 5),
    (Function::Exp, 3, 6),
];

/// Entries of the largest table memory.
const ENTRIES: u32 = 4096;

/// The finest table that exists for words of this width, as the choice of binary points finds it: bits of the result are given up
/// until one fits.
fn finest(function: Function, word: u32, input: i32, output: i32) -> FunctionTable {
    let input_fraction = word as i32 - input;
    let tables = (0..word as i32).map(|given_up| word as i32 - output - given_up);
    let mut tables =
        tables.filter_map(|fraction| FunctionTable::fit(function, word, input_fraction, fraction, ENTRIES));
    tables.next().unwrap_or_else(|| panic!("no table for {function} of {word} bits"))
}

/// The value a table should give, without the code under test: f64 at the quantised input, saturated at the ends of the output.
fn distance(table: &FunctionTable, x: i64) -> f64 {
    let value = |x: f64| match table.function {
        Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Function::SigmoidSymmetric => 2.0 / (1.0 + (-x).exp()) - 1.0,
        Function::Tanh => x.tanh(),
        Function::Gaussian => (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt(),
        Function::Log => x.ln(),
        Function::Exp => x.exp(),
        other => unreachable!("{other} is not among the cases"),
    };
    let half = 2f64.powi(table.word as i32 - 1);
    let exact = value(x as f64 * 2f64.powi(-table.input_fraction)) * 2f64.powi(table.output_fraction);
    (table.evaluate(x).0 as f64 - exact.clamp(-half, half - 1.0)).abs()
}

fn worst(table: &FunctionTable, words: impl Iterator<Item = i64>) -> (f64, i64) {
    words.map(|x| (distance(table, x), x)).fold((0.0, 0), |worst, found| if found.0 > worst.0 { found } else { worst })
}

#[test]
fn every_word_of_8_and_16_bits() {
    for word in [8u32, 16] {
        for (function, input, output) in CASES {
            let table = finest(function, word, input, output);
            let low = if function == Function::Log { 1 } else { -(1i64 << (word - 1)) };
            let (error, x) = worst(&table, low..1i64 << (word - 1));
            assert!(error <= MAX_ERROR, "{function}, {word} bits: {error} last places at {x}");
        }
    }
}

#[test]
fn random_words_of_up_to_24_bits() {
    let mut random = ChaCha8Rng::seed_from_u64(24);
    for word in [18u32, 20, 24] {
        for (function, input, output) in CASES {
            let table = finest(function, word, input, output);
            // Half of them evenly, half of them with every magnitude.
            let mut draw = |n: u32| {
                let bits = (random.next_u64() >> 1) as i64 & ((1 << (word - 1)) - 1);
                let x = if n.is_multiple_of(2) { bits } else { bits >> (random.next_u32() % (word - 1)) };
                if function == Function::Log {
                    x.max(1)
                } else if random.next_u32() % 2 == 0 {
                    x
                } else {
                    -1 - x
                }
            };
            let words: Vec<i64> = (0..60_000).map(&mut draw).collect();
            let (error, x) = worst(&table, words.into_iter());
            assert!(error <= MAX_ERROR, "{function}, {word} bits: {error} last places at {x}");
        }
    }
}
