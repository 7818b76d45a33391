//! The walk over the fields of an instruction that lists, encodes and decodes them, writes them for people and reads that back.
//!
//!     struct ──visit──▶ (name, bits, value) ... ──pack──▶ 32-bit chunks      and back
//!                              └────────────────────────▶ values with names  and back ([`super::values`])

use super::values::{Reader, Value, Writer};
use super::{Address, LEVELS};
use crate::machine::Machine;

/// One field of a microcode word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name, as in the RTL.
    pub name: String,
    /// Lowest bit.
    pub lsb: u32,
    /// Number of bits, at least 1.
    pub bits: u32,
}

/// The fields of one instruction kind on one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Fields from bit 0 up, without gaps.
    pub fields: Vec<Field>,
    /// Sum of the fields' bits.
    pub bits: u32,
}

impl Layout {
    /// The field of that name.
    pub fn field(&self, name: &str) -> &Field {
        self.fields.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no field {name}"))
    }

    /// Number of 32-bit chunks of an instruction.
    pub fn chunks(&self) -> u32 {
        self.bits.div_ceil(32)
    }
}

/// Whether every value fits its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field {field} has {bits} bits and cannot hold {value}")]
pub struct Fits {
    /// The field.
    pub field: String,
    /// Its width.
    pub bits: u32,
    /// The value that does not fit.
    pub value: i64,
}

/// A walk over the fields of an instruction: writes them when encoding, reads them when decoding.
///
/// The first four methods are fields of a microcode word. The others are what people write otherwise than it lies in the word; a walk
/// that does not say what they are gets the fields.
pub(super) trait Walk {
    fn unsigned(&mut self, name: &str, bits: u32, value: &mut u32);
    fn signed(&mut self, name: &str, bits: u32, value: &mut i64);
    /// A value that is only known modulo `2^bits`.
    fn modular(&mut self, name: &str, bits: u32, value: &mut i64);
    /// A field that this machine does not have: its value can only be 0.
    fn absent(&mut self, name: &str, value: u32);

    /// A bit.
    fn flag(&mut self, name: &str, value: &mut bool) {
        let mut bit = u32::from(*value);
        self.unsigned(name, 1, &mut bit);
        *value = bit == 1;
    }

    /// An enumerated field.
    fn choice(&mut self, name: &str, bits: u32, words: &'static [&'static str], value: &mut u32) {
        let _ = words;
        self.unsigned(name, bits, value);
    }

    /// A number that is at least 1, stored less one.
    fn positive(&mut self, name: &str, bits: u32, value: &mut u32) {
        let mut less_one = value.wrapping_sub(1);
        self.unsigned(name, bits, &mut less_one);
        *value = less_one.wrapping_add(1);
    }

    /// Loop counts, as many as the machine has.
    fn counts(&mut self, bits: u32, machine: &Machine, counts: &mut [u32; LEVELS]) {
        let outermost = LEVELS - machine.loops() as usize;
        let (without, with) = counts.split_at_mut(outermost);
        for (l, count) in without.iter().enumerate() {
            self.absent(&format!("count{l}"), count.wrapping_sub(1));
        }
        for (l, count) in with.iter_mut().enumerate() {
            self.positive(&format!("count{}", outermost + l), bits, count);
        }
    }

    /// `base` and, per level, what the address advances by when that level advances.
    fn address(&mut self, name: &str, bits: u32, machine: &Machine, counts: &[u32; LEVELS], address: &mut Address) {
        self.unsigned(&format!("{name}_base"), bits, &mut address.base);
        let mut inner = 0i64;
        let mut deltas = [0i64; LEVELS];
        for l in (0..LEVELS).rev() {
            deltas[l] = i64::from(address.strides[l]) - inner;
            inner += i64::from(counts[l] - 1) * i64::from(address.strides[l]);
        }
        for (l, delta) in deltas.iter_mut().enumerate().skip(LEVELS - machine.loops() as usize) {
            self.modular(&format!("{name}_delta{l}"), bits, delta);
        }
        let mut inner = 0i64;
        for l in (0..LEVELS).rev() {
            let stride = crate::number::wrap(i128::from(deltas[l] + inner), bits) as i64;
            inner += i64::from(counts[l] - 1) * stride;
            address.strides[l] = if counts[l] == 1 { 0 } else { stride as i32 };
        }
    }
}

/// An instruction kind.
pub trait Instruction: Copy + PartialEq {
    /// What a text leaves out: an instruction of one beat that does nothing, on all PEs.
    fn plain(machine: &Machine) -> Self;
    #[doc(hidden)]
    fn walk(&mut self, machine: &Machine, walk: &mut dyn WalkFields);

    /// The microcode layout on a machine.
    fn layout(machine: &Machine) -> Layout {
        let mut lister = Lister { fields: Vec::new(), bits: 0 };
        Self::plain(machine).walk(machine, &mut lister);
        Layout { fields: lister.fields, bits: lister.bits }
    }

    /// The microcode of this instruction, in 32-bit chunks, lowest first.
    ///
    /// # Errors
    /// When a value does not fit its field.
    fn encode(mut self, machine: &Machine) -> Result<Vec<u32>, Fits> {
        let mut packer = Packer { bits: Vec::new(), error: None };
        self.walk(machine, &mut packer);
        match packer.error {
            Some(error) => Err(error),
            None => Ok(packer.chunks()),
        }
    }

    /// The instruction with this microcode.
    fn decode(machine: &Machine, chunks: &[u32]) -> Self {
        let mut instruction = Self::plain(machine);
        instruction.walk(machine, &mut Unpacker { chunks, at: 0 });
        instruction
    }

    /// Its fields on a machine by name, as people write them.
    fn values(mut self, machine: &Machine) -> Vec<(String, Value)> {
        let mut writer = Writer::default();
        self.walk(machine, &mut writer);
        writer.values
    }

    /// The instruction with these values, which have the names and kinds of [`Instruction::values`].
    ///
    /// # Errors
    /// When a value does not fit its field.
    ///
    /// # Panics
    /// When names or kinds are others.
    fn from_values(machine: &Machine, values: &[(String, Value)]) -> Result<Self, Fits> {
        let mut reader = Reader::new(values);
        let mut instruction = Self::plain(machine);
        instruction.walk(machine, &mut reader);
        reader.done().map(|()| instruction)
    }
}

/// The public face of the walk (its methods are private to this module).
#[doc(hidden)]
#[allow(private_bounds, reason = "instructions outside this module are not meant to exist")]
pub trait WalkFields: Walk {}
impl<T: Walk> WalkFields for T {}

struct Lister {
    fields: Vec<Field>,
    bits: u32,
}

impl Lister {
    fn add(&mut self, name: &str, bits: u32) {
        self.fields.push(Field { name: name.to_owned(), lsb: self.bits, bits });
        self.bits += bits;
    }
}

impl Walk for Lister {
    fn unsigned(&mut self, name: &str, bits: u32, _: &mut u32) {
        self.add(name, bits);
    }
    fn signed(&mut self, name: &str, bits: u32, _: &mut i64) {
        self.add(name, bits);
    }
    fn modular(&mut self, name: &str, bits: u32, _: &mut i64) {
        self.add(name, bits);
    }
    fn absent(&mut self, _: &str, _: u32) {}
}

struct Packer {
    bits: Vec<bool>,
    error: Option<Fits>,
}

impl Packer {
    fn push(&mut self, bits: u32, value: i64) {
        self.bits.extend((0..bits).map(|b| (value >> b.min(63)) & 1 == 1));
    }

    fn check(&mut self, name: &str, bits: u32, value: i64, low: i64, high: i64) {
        if !(low..=high).contains(&value) && self.error.is_none() {
            self.error = Some(Fits { field: name.to_owned(), bits, value });
        }
        self.push(bits, value);
    }

    fn chunks(&self) -> Vec<u32> {
        self.bits
            .chunks(32)
            .map(|c| c.iter().enumerate().fold(0, |word, (n, &bit)| word | (u32::from(bit) << n)))
            .collect()
    }
}

impl Walk for Packer {
    fn unsigned(&mut self, name: &str, bits: u32, value: &mut u32) {
        self.check(name, bits, i64::from(*value), 0, (1i64 << bits) - 1);
    }
    fn signed(&mut self, name: &str, bits: u32, value: &mut i64) {
        self.check(name, bits, *value, -(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1);
    }
    fn modular(&mut self, _: &str, bits: u32, value: &mut i64) {
        self.push(bits, *value);
    }
    fn absent(&mut self, name: &str, value: u32) {
        self.check(name, 0, i64::from(value), 0, 0);
    }
}

struct Unpacker<'a> {
    chunks: &'a [u32],
    at: u32,
}

impl Unpacker<'_> {
    fn take(&mut self, bits: u32) -> i64 {
        let bit = |n: u32| i64::from((self.chunks.get((n / 32) as usize).copied().unwrap_or(0) >> (n % 32)) & 1);
        let value = (0..bits).fold(0, |value, b| value | (bit(self.at + b) << b));
        self.at += bits;
        value
    }

    fn take_signed(&mut self, bits: u32) -> i64 {
        let value = self.take(bits);
        if value >> (bits - 1) & 1 == 1 { value - (1i64 << bits) } else { value }
    }
}

impl Walk for Unpacker<'_> {
    fn unsigned(&mut self, _: &str, bits: u32, value: &mut u32) {
        *value = self.take(bits) as u32;
    }
    fn signed(&mut self, _: &str, bits: u32, value: &mut i64) {
        *value = self.take_signed(bits);
    }
    fn modular(&mut self, _: &str, bits: u32, value: &mut i64) {
        *value = self.take_signed(bits);
    }
    fn absent(&mut self, _: &str, _: u32) {}
}
