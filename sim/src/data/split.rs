//! Training and test rows, and the order of the samples in an epoch. The same seed gives the same rows, everywhere.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Row numbers of the two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to train on.
    pub train: Vec<usize>,
    /// Rows to test on.
    pub test: Vec<usize>,
}

/// A stream of random numbers that belongs to one use of the seed.
pub(crate) fn generator(seed: u64, purpose: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(purpose);
    generator
}

/// Uses of the seed; each has a stream of its own, so that one option does not change what another draws.
pub(crate) mod purpose {
    pub(crate) const SPLIT: u64 = 0;
    pub(crate) const WEIGHTS: u64 = 1;
    pub(crate) const ORDER: u64 = 2;
    pub(crate) const EPOCH: u64 = 1 << 32;
}

/// A number in `0..bound`, without bias that matters (`bound` is far below 2^64).
fn below(generator: &mut ChaCha8Rng, bound: usize) -> usize {
    ((u128::from(generator.next_u64()) * bound as u128) >> 64) as usize
}

/// A number in `0..1` with 53 random bits.
pub(crate) fn unit(generator: &mut ChaCha8Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 * libm::ldexp(1.0, -53)
}

/// Fisher and Yates.
fn shuffle(generator: &mut ChaCha8Rng, items: &mut [usize]) {
    for n in (1..items.len()).rev() {
        items.swap(n, below(generator, n + 1));
    }
}

/// Put a random `fraction` of the rows into the training part; at least one row trains.
pub fn split(rows: usize, fraction: f64, seed: u64) -> Split {
    let mut order: Vec<usize> = (0..rows).collect();
    shuffle(&mut generator(seed, purpose::SPLIT), &mut order);
    cut(order, fraction)
}

/// Put the first `fraction` of the rows into the training part, in their order; at least one row trains.
pub fn split_in_order(rows: usize, fraction: f64) -> Split {
    cut((0..rows).collect(), fraction)
}

fn cut(mut order: Vec<usize>, fraction: f64) -> Split {
    let rows = order.len();
    let count = (libm::rint(rows as f64 * fraction.clamp(0.0, 1.0)) as usize).clamp(rows.min(1), rows);
    let test = order.split_off(count);
    Split { train: order, test }
}

/// The key of the orders of batches that a store plays ([`arch::store::order`]).
pub fn order_key(seed: u64) -> u32 {
    (generator(seed, purpose::ORDER).next_u64() >> 32) as u32
}

/// The order of the samples in one epoch: as they are, or shuffled anew in each epoch.
pub fn epoch_order(samples: usize, reshuffle: bool, seed: u64, epoch: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..samples).collect();
    if reshuffle {
        shuffle(&mut generator(seed, purpose::EPOCH + epoch as u64), &mut order);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_order_stay_in_order() {
        let parts = split_in_order(5, 0.6);
        assert_eq!((parts.train, parts.test), (vec![0, 1, 2], vec![3, 4]));
    }

    #[test]
    fn every_row_is_in_one_part() {
        let parts = split(101, 0.8, 7);
        assert_eq!((parts.train.len(), parts.test.len()), (81, 20));
        let mut all = [parts.train.clone(), parts.test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..101).collect::<Vec<_>>());
        assert_eq!(parts, split(101, 0.8, 7));
        assert_ne!(parts, split(101, 0.8, 8));
    }

    /// Written down so that a new version of the generator cannot silently change everybody's split.
    #[test]
    fn the_seed_means_the_same_for_ever() {
        assert_eq!(split(10, 0.8, 1).train, [2, 7, 8, 5, 3, 6, 1, 9]);
        assert_eq!(epoch_order(6, true, 1, 0), [1, 4, 5, 2, 3, 0]);
        assert_eq!(epoch_order(3, false, 1, 5), [0, 1, 2]);
    }

    /// Of 20 orders of 30 samples no two are the same, and each has every sample once.
    #[test]
    fn every_epoch_has_an_order_of_its_own() {
        let mut orders: Vec<Vec<usize>> = (0..20).map(|epoch| epoch_order(30, true, 1, epoch)).collect();
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 20);
        for order in &mut orders {
            order.sort_unstable();
            assert_eq!(*order, (0..30).collect::<Vec<_>>());
        }
    }

    /// Each purpose, and each epoch, draws from a generator of its own.
    #[test]
    fn keys_and_orders_come_from_their_own_generators() {
        let key = |seed| generator(seed, purpose::ORDER).next_u64();
        assert_eq!([1, 2].map(|seed| u64::from(order_key(seed))), [1, 2].map(|seed| key(seed) / (1 << 32)));
        for epoch in [1, 7] {
            let mut order: Vec<usize> = (0..9).collect();
            shuffle(&mut generator(3, purpose::EPOCH + epoch), &mut order);
            assert_eq!(epoch_order(9, true, 3, epoch as usize), order);
        }
    }
}
