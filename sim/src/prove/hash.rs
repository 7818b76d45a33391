//! Maps and sets with a fast hash. Nothing is ever read from them in the order in which they lie, so outputs do not depend on it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map from terms or sums to their numbers.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// A set of the same.
pub(super) type Set<K> = HashSet<K, BuildHasherDefault<Mixer>>;

/// Multiplies and rotates, number by number.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        // The map takes the upper bits for one thing and the lower ones for another.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(padded));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    fn write_u128(&mut self, value: u128) {
        self.mix(value as u64);
        self.mix((value >> 64) as u64);
    }
}
