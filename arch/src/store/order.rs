//! The order in which a store plays the batches of an epoch: a permutation that board and host compute without a table.
//!
//!     index ──▶ 6 rounds of a Feistel network over its bits ──▶ place, if it is below the count
//!                  ▲ bits of the key          └──── otherwise once more ◀────┘ (cycle walking)
//!
//! The network works on as many bits as the last index has: its halves are the even and the odd bits, so that any number of bits has two. A round
//! changes one half by a function of the other one, so it can be undone; so can all of them, whatever the function is, and walking on until a place lies
//! below the count keeps what can be undone.

/// Rounds of the network.
pub const ROUNDS: u32 = 6;
/// Bits of the largest index; even.
pub const INDEX_BITS: u32 = super::COUNT_BITS;
/// By how much the key grows from one epoch to the next, modulo 2^32: 2^32 over the golden ratio, which is odd, so that no two of 2^32 epochs share one.
pub const KEY_STEP: u32 = 0x9e37_79b9;
/// Bits by which the key is rotated to the right after each round.
pub const KEY_ROTATION: u32 = 5;

/// Bits of a half.
const HALF: u32 = INDEX_BITS / 2;

/// What a round changes in a place. Even rounds change even bits by odd ones, odd rounds the other way round.
pub fn change(place: u32, round: u32, key: u32) -> u32 {
    let changed = round & 1;
    let half: u32 = (0..HALF).map(|n| (place >> (2 * n + 1 - changed) & 1) << n).sum();
    let sum = (17 * half).wrapping_add(key) & ((1 << HALF) - 1);
    let mixed = sum ^ sum >> 3 ^ sum >> 6;
    (0..HALF).map(|n| (mixed >> n & 1) << (2 * n + changed)).sum()
}

/// The key of an epoch of a training that began with this key.
pub fn key_of_epoch(key: u32, epoch: u32) -> u32 {
    key.wrapping_add(KEY_STEP.wrapping_mul(epoch))
}

/// The order of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permutation {
    last: u32,
    key: u32,
}

impl Permutation {
    /// Of so many batches.
    ///
    /// # Panics
    /// There are none, or more than an index has bits for.
    pub fn new(count: u32, key: u32) -> Permutation {
        assert!((1..=1 << INDEX_BITS).contains(&count), "{count} batches");
        Permutation { last: count - 1, key }
    }

    /// Which batch is played as number `index`.
    ///
    /// # Panics
    /// There are not so many.
    pub fn place(self, index: u32) -> u32 {
        assert!(index <= self.last, "{index} of {}", self.last);
        let mask = mask(self.last);
        let mut place = index;
        loop {
            for round in 0..ROUNDS {
                place ^= change(place, round, self.key.rotate_right(KEY_ROTATION * round)) & mask;
            }
            if place <= self.last {
                return place;
            }
        }
    }
}

/// All bits that a number up to `last` may have.
fn mask(last: u32) -> u32 {
    (1 << (u32::BITS - last.leading_zeros())) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(count: u32, key: u32) -> Vec<u32> {
        (0..count).map(|index| Permutation::new(count, key).place(index)).collect()
    }

    /// All counts up to 600, and some around powers of two: each batch is played once.
    #[test]
    fn every_batch_has_its_turn() {
        let large = [1023, 1024, 1025, 4095, 4096, 4097, 65_535, 65_537];
        for count in (1..=600).chain(large) {
            for key in [0, 1, 0xffff_ffff, 0x1234_5678] {
                let mut played = order(count, key);
                played.sort_unstable();
                assert!(played.into_iter().eq(0..count), "{count} batches, key {key:#x}");
            }
        }
    }

    /// By another construction, a program that keeps the halves as lists of bits.
    #[test]
    fn orders_stay_the_same_for_ever() {
        assert_eq!(order(10, 1), [9, 8, 2, 3, 4, 5, 6, 7, 1, 0]);
        assert_eq!(order(5, 0xdead_beef), [1, 0, 2, 3, 4]);
        assert_eq!(
            [0, 1, 54_321, 99_999].map(|n| Permutation::new(100_000, 7).place(n)),
            [58_130, 94_557, 17_458, 66_445]
        );
        let largest = Permutation::new(1 << INDEX_BITS, 0x8000_0001);
        assert_eq!([0, 1, 0xff_ffff].map(|n| largest.place(n)), [2_011_868, 13_209_098, 12_805_148]);
    }

    /// A batch is as often in one place as in any other, and as often behind one batch as behind any other. Of 4,096 epochs 256 are expected
    /// for each of 16 places, and 16 * 15 pairs that follow each other have 4,096 * 15 / 240 = 256 each. The sum of (found - 256)^2 / 256 has the mean 225
    /// and the deviation 21 for 15 x 15 degrees of freedom.
    #[test]
    fn no_place_is_preferred() {
        let (count, epochs) = (16, 4096);
        let (mut places, mut pairs) = (vec![0u32; 256], vec![0u32; 256]);
        for epoch in 0..epochs {
            let played = order(count, key_of_epoch(12_345, epoch));
            for (at, &batch) in (0..).zip(&played) {
                places[(16 * at + batch) as usize] += 1;
            }
            for pair in played.windows(2) {
                pairs[(16 * pair[0] + pair[1]) as usize] += 1;
            }
        }
        // No batch follows itself.
        let pairs: Vec<u32> = (0..).zip(pairs).filter(|(n, _)| n % 17 != 0).map(|(_, found)| found).collect();
        let distance =
            |found: &[u32]| -> f64 { found.iter().map(|&found| (f64::from(found) - 256.0).powi(2) / 256.0).sum() };
        for (what, found) in [("places", &places), ("pairs", &pairs)] {
            assert!(distance(found) < 225.0 + 5.0 * 21.0, "{what}: {}", distance(found));
        }
    }
}
