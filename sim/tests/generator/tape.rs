//! Decisions of a generator, one number each.
//!
//! A shorter tape with smaller numbers makes a simpler program: that is how failures shrink.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A tape that is being read.
#[derive(Debug, Clone)]
pub(crate) struct Tape<'a> {
    rest: std::slice::Iter<'a, u16>,
    /// Values taken behind the end.
    beyond: u64,
}

impl<'a> Tape<'a> {
    /// From its beginning.
    pub(crate) fn new(numbers: &'a [u16]) -> Tape<'a> {
        Tape { rest: numbers.iter(), beyond: 0 }
    }

    /// A number below `n`; 0 when the tape has ended.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.rest.next().copied().unwrap_or(0)) % n.max(1)
    }

    /// A value of an element, between -2 and 2. Behind the end of the tape they go on being different from each other, unlike decisions:
    /// a tensor of equal elements would look right wherever its elements were.
    pub(crate) fn value(&mut self) -> f64 {
        let number = self.rest.next().map_or_else(
            || {
                self.beyond += 1;
                self.beyond.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
            },
            |&number| u64::from(number),
        );
        ((number % 65) as f64 - 32.0) / 16.0
    }
}

/// Tape number `number` of a seed.
pub(crate) fn random(seed: u64, number: u64, length: usize) -> Vec<u16> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    (0..length).map(|_| random.next_u32() as u16).collect()
}

/// The simplest tape found that still fails: pieces left out, numbers made smaller, as long as something gets simpler.
pub(crate) fn shrink(tape: &[u16], mut fails: impl FnMut(&[u16]) -> bool) -> Vec<u16> {
    let mut best = tape.to_vec();
    let mut attempts = 0;
    loop {
        let mut simpler = None;
        let mut candidates = Vec::new();
        let mut piece = best.len();
        while piece > 0 {
            candidates.extend((0..best.len()).step_by(piece).map(|from| (from, piece, None)));
            piece /= 2;
        }
        candidates.extend((0..best.len()).filter(|&n| best[n] > 0).map(|n| (n, 1, Some(0))));
        candidates.extend((0..best.len()).filter(|&n| best[n] > 1).map(|n| (n, 1, Some(best[n] / 2))));
        for (from, length, number) in candidates {
            attempts += 1;
            if attempts > 2000 {
                return best;
            }
            let mut candidate = best.clone();
            match number {
                Some(number) => candidate[from] = number,
                None => {
                    candidate.drain(from..(from + length).min(best.len()));
                }
            }
            if fails(&candidate) {
                simpler = Some(candidate);
                break;
            }
        }
        match simpler {
            Some(tape) => best = tape,
            None => return best,
        }
    }
}
