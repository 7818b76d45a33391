//! Fields as people write them: each by its name, numbers as words where they have some, addresses as sums of loop counters.
//!
//! ```text
//! AluInstruction ──walk──▶ delay 8, counts 1 1 1 4, data 3 + k3, write t0, ... ──walk──▶ AluInstruction
//! ```
//!
//! The walk over the fields is their only list, so a field that is added there is written and read here, too. How the values are
//! spelled is up to the text form (`compiler::image::text`).

use super::walk::{Fits, Walk};
use super::{Address, LEVELS};
use crate::machine::Machine;

/// A field, as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A bit.
    Flag(bool),
    /// A number.
    Number(i64),
    /// A number that has words, each the word of its place in the list.
    Choice(&'static [&'static str], u32),
    /// Counts of the loops, outermost first.
    Counts([u32; LEVELS]),
    /// An address.
    Address(Address),
}

/// Writes all fields down.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) values: Vec<(String, Value)>,
}

impl Writer {
    fn push(&mut self, name: &str, value: Value) {
        self.values.push((name.to_owned(), value));
    }
}

impl Walk for Writer {
    fn unsigned(&mut self, name: &str, _: u32, value: &mut u32) {
        self.push(name, Value::Number(i64::from(*value)));
    }

    fn signed(&mut self, name: &str, _: u32, value: &mut i64) {
        self.push(name, Value::Number(*value));
    }

    fn modular(&mut self, name: &str, bits: u32, value: &mut i64) {
        self.signed(name, bits, value);
    }

    fn absent(&mut self, _: &str, _: u32) {}

    fn flag(&mut self, name: &str, value: &mut bool) {
        self.push(name, Value::Flag(*value));
    }

    fn choice(&mut self, name: &str, _: u32, words: &'static [&'static str], value: &mut u32) {
        self.push(name, Value::Choice(words, *value));
    }

    fn positive(&mut self, name: &str, bits: u32, value: &mut u32) {
        self.unsigned(name, bits, value);
    }

    fn counts(&mut self, _: u32, _: &Machine, counts: &mut [u32; LEVELS]) {
        self.push("counts", Value::Counts(*counts));
    }

    fn address(&mut self, name: &str, _: u32, _: &Machine, _: &[u32; LEVELS], address: &mut Address) {
        self.push(name, Value::Address(*address));
    }
}

/// Sets all fields to what is written.
pub(super) struct Reader<'a> {
    values: std::slice::Iter<'a, (String, Value)>,
    error: Option<Fits>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(values: &'a [(String, Value)]) -> Self {
        Reader { values: values.iter(), error: None }
    }

    /// Whether everything fits.
    pub(super) fn done(self) -> Result<(), Fits> {
        self.error.map_or(Ok(()), Err)
    }

    fn next(&mut self, name: &str) -> &'a Value {
        let (known, value) = self.values.next().expect("every field has a value");
        assert_eq!(known, name, "the values are those of other fields");
        value
    }

    fn number(&mut self, name: &str, bits: u32, low: i64, high: i64) -> i64 {
        match *self.next(name) {
            Value::Number(value) => self.within(name, bits, value, low, high),
            ref other => panic!("{name} is a number, not {other:?}"),
        }
    }

    /// The value, or the lowest one that is possible.
    fn within(&mut self, name: &str, bits: u32, value: i64, low: i64, high: i64) -> i64 {
        if (low..=high).contains(&value) {
            return value;
        }
        self.error.get_or_insert(Fits { field: name.to_owned(), bits, value });
        low
    }
}

impl Walk for Reader<'_> {
    fn unsigned(&mut self, name: &str, bits: u32, value: &mut u32) {
        *value = self.number(name, bits, 0, (1 << bits) - 1) as u32;
    }

    fn signed(&mut self, name: &str, bits: u32, value: &mut i64) {
        *value = self.number(name, bits, -(1 << (bits - 1)), (1 << (bits - 1)) - 1);
    }

    fn modular(&mut self, name: &str, bits: u32, value: &mut i64) {
        self.signed(name, bits, value);
    }

    fn absent(&mut self, _: &str, _: u32) {}

    fn flag(&mut self, name: &str, value: &mut bool) {
        match self.next(name) {
            Value::Flag(bit) => *value = *bit,
            other => panic!("{name} is a bit, not {other:?}"),
        }
    }

    fn choice(&mut self, name: &str, bits: u32, _: &'static [&'static str], value: &mut u32) {
        match *self.next(name) {
            Value::Choice(_, number) => *value = self.within(name, bits, i64::from(number), 0, (1 << bits) - 1) as u32,
            ref other => panic!("{name} has words, not {other:?}"),
        }
    }

    fn positive(&mut self, name: &str, bits: u32, value: &mut u32) {
        *value = self.number(name, bits, 1, 1 << bits) as u32;
    }

    fn counts(&mut self, bits: u32, machine: &Machine, counts: &mut [u32; LEVELS]) {
        match *self.next("counts") {
            Value::Counts(values) => {
                *counts = std::array::from_fn(|level| {
                    let most = if level < LEVELS - machine.loops() as usize { 1 } else { 1 << bits };
                    self.within("counts", bits, i64::from(values[level]), 1, most) as u32
                });
            }
            ref other => panic!("loops have counts, not {other:?}"),
        }
    }

    fn address(&mut self, name: &str, bits: u32, _: &Machine, _: &[u32; LEVELS], address: &mut Address) {
        match *self.next(name) {
            Value::Address(value) => {
                self.within(name, bits, i64::from(value.base), 0, (1 << bits) - 1);
                *address = value;
            }
            ref other => panic!("{name} is an address, not {other:?}"),
        }
    }
}
