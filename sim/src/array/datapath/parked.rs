//! Gradient pads: sums that wait for the next tile (docs/machine.md, section 8).

use super::{Lanes, at};
use crate::array::values::Values;
use arch::isa::{LEVELS, Tiles, gradient_bits};

impl<V: Values> Lanes<V> {
    /// First PE's place of a word of the gradient pads; `None` where there are none.
    pub(super) fn parked_at(&self, tiles: &Tiles, counters: &[u32; LEVELS]) -> Option<usize> {
        let Tiles::Park(address) = tiles else { return None };
        Some(at(address, counters, 1 << gradient_bits(&self.machine)) * self.pes)
    }

    /// Sums that reach the pads before this cycle.
    pub(super) fn park_until(&mut self, cycle: u64) {
        while self.parking.front().is_some_and(|parking| parking.0 < cycle) {
            let (_, from, sums) = self.parking.pop_front().expect("just checked");
            self.gradients[from..from + sums.len()].clone_from_slice(&sums);
        }
    }

    /// All words, address by address.
    pub(super) fn parked_up_to(&mut self, addresses: u32) -> Vec<i128> {
        self.park_until(u64::MAX);
        let words = (addresses * self.machine.pes()) as usize;
        self.gradients[..words].iter().map(|sum| self.values.shown_sum(sum)).collect()
    }

    /// Other words in their place.
    pub(super) fn put_all(&mut self, sums: &[i128]) {
        self.park_until(u64::MAX);
        assert!(sums.len() <= self.gradients.len(), "words of the gradient pads");
        for (word, &sum) in self.gradients.iter_mut().zip(sums) {
            *word = self.values.given_sum(sum);
        }
    }
}
