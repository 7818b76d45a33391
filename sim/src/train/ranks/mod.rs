//! Training on several ranks: each has some samples of every batch, all have the same weights.
//!
//!     rank 0    its samples ──▶ sums ─┐                               ┌─▶ totals ──▶ update ──▶ weights
//!     rank 1    its samples ──▶ sums ─┴─▶ Communicator::add, 2^A ─────┴─▶ totals ──▶ update ──▶ the same weights
//!
//! Sums are integers modulo a power of two, and no addition of them rounds, so the weights are the same bits for every number of ranks. What is
//! counted (clipped values, cycles) is that of the whole batch, on every rank. Ranks are threads of one process ([`threads`]);
//! what connects others is a [`Communicator`], too.
//!
//! | module | holds |
//! |---|---|
//! | [`words`] | a rank of fixed-point words |
//! | [`device`] | a rank with an array |
//! | [`checked`] | a rank that is checked against the rung above |
//! | [`threads`] | ranks of one process |
//! | [`limbs`] | sums as words of 64 bits that can be added |

pub mod checked;
pub mod device;
pub mod limbs;
pub mod threads;
pub mod words;

use crate::clipped::Clipped;
use crate::train::engine::{Comparison, Engine, EngineError, NamedValues, Run, Step};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// What connects the ranks. All of them do the same calls in the same order; a call returns when every rank has made it.
pub trait Communicator {
    /// Number of this rank, from 0 on.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// Add the words of all ranks, place by place, modulo 2^64. All have as many.
    ///
    /// # Errors
    /// A rank has ended, or does not answer.
    fn add(&self, words: &mut [u64]) -> Result<(), EngineError>;

    /// The words of every rank, in their order; all know how many each has.
    ///
    /// # Errors
    /// A rank has ended, or does not answer.
    fn exchange(&self, own: Vec<u64>, counts: &[usize]) -> Result<Vec<Arc<[u64]>>, EngineError> {
        let before = counts[..self.rank()].iter().sum();
        // Each has words of its own, to which the others add 0.
        let mut all = vec![0; counts.iter().sum()];
        all[before..before + own.len()].copy_from_slice(&own);
        self.add(&mut all)?;
        let mut rest = all.as_slice();
        let own = counts.iter().map(|&count| {
            let (own, behind) = rest.split_at(count);
            rest = behind;
            own.into()
        });
        Ok(own.collect())
    }

    /// What every rank has to say, in their order.
    ///
    /// # Errors
    /// A rank has ended, or does not answer.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, EngineError> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let mut lengths = vec![0; ranks];
        lengths[rank] = own.len() as u64;
        self.add(&mut lengths)?;
        let counts: Vec<usize> = lengths.iter().map(|&bytes| bytes.div_ceil(8) as usize).collect();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let all = self.exchange(own.chunks(8).map(word).collect(), &counts)?;
        let said = all.iter().zip(lengths);
        Ok(said
            .map(|(words, bytes)| words.iter().flat_map(|word| word.to_le_bytes()).take(bytes as usize).collect())
            .collect())
    }

    /// What rank 0 has to say.
    ///
    /// # Errors
    /// A rank has ended, or does not answer.
    fn of_first(&self, own: &[u8]) -> Result<Vec<u8>, EngineError> {
        let own = if self.rank() == 0 { own } else { &[] };
        Ok(self.gather(own)?.swap_remove(0))
    }
}

/// The part of `count` things that a rank has: each as many as others, or one more.
pub fn part(count: usize, rank: usize, ranks: usize) -> Range<usize> {
    rank * count / ranks..(rank + 1) * count / ranks
}

/// What a rank has after its samples of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shared {
    /// What is added to that of the other ranks, modulo 2^64.
    pub words: Vec<u64>,
    /// Clock cycles, where there is a clock.
    pub cycles: Option<u64>,
    /// Whether a value was clipped to the word.
    pub saturated: bool,
}

/// One program on one engine, a rank's part of each batch at a time.
pub trait Divides {
    /// Give it these weights.
    fn load(&mut self, model: &NamedValues);

    /// Run this rank's part of a batch.
    ///
    /// # Errors
    /// When it cannot go on.
    fn share(&mut self, batch: &Step, rank: usize, ranks: usize) -> Result<Shared, EngineError>;

    /// End the batch with the words of all ranks; the weights are looked at if it is the `last` one. Its run has no predictions.
    ///
    /// # Errors
    /// When it cannot go on.
    fn finish(&mut self, batch: &Step, totals: &[u64], last: bool) -> Result<Run, EngineError>;

    /// The weights after the last batch.
    fn model(&self) -> NamedValues;

    /// What was clipped to the word so far, if it knows.
    fn clipped(&self) -> Vec<Clipped> {
        Vec::new()
    }

    /// What it compared so far, if it compares.
    fn comparison(&self) -> Option<Comparison> {
        None
    }
}

/// A rank of several, as an engine.
pub struct Ranked {
    own: Box<dyn Divides>,
    all: Rc<dyn Communicator>,
}

impl Ranked {
    /// This rank.
    pub fn new(own: Box<dyn Divides>, all: Rc<dyn Communicator>) -> Ranked {
        Ranked { own, all }
    }

    fn batch(&mut self, batch: &Step, last: bool) -> Result<Run, EngineError> {
        let (rank, ranks) = (self.all.rank(), self.all.ranks());
        let Shared { mut words, cycles, saturated } = self.own.share(batch, rank, ranks)?;
        // Behind the sums a place for the cycles of each rank, and the number of those that have clipped something.
        let sums = words.len();
        words.resize(sums + ranks + 1, 0);
        words[sums + rank] = cycles.unwrap_or(0);
        words[sums + ranks] = u64::from(saturated);
        self.all.add(&mut words)?;
        let mut run = self.own.finish(batch, &words[..sums], last)?;
        // The update waits for the slowest rank.
        let slowest = words[sums..sums + ranks].iter().max().copied().unwrap_or(0);
        run.cycles = run.cycles.map(|cycles| cycles + slowest);
        run.saturated |= words[sums + ranks] > 0;
        Ok(run)
    }
}

impl Engine for Ranked {
    fn load(&mut self, model: &NamedValues) {
        self.own.load(model);
    }

    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        let mut all = Run::default();
        for (number, batch) in steps.iter().enumerate() {
            all.add(self.batch(batch, number + 1 == steps.len())?);
        }
        Ok(all)
    }

    fn model(&self) -> NamedValues {
        self.own.model()
    }

    fn clipped(&self) -> Vec<Clipped> {
        self.own.clipped()
    }

    fn comparison(&self) -> Option<Comparison> {
        self.own.comparison()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_even_and_complete() {
        for (count, ranks) in [(0, 3), (1, 4), (7, 3), (256, 3), (5, 8)] {
            let parts: Vec<Range<usize>> = (0..ranks).map(|rank| part(count, rank, ranks)).collect();
            assert!(parts.iter().flat_map(Clone::clone).eq(0..count), "{parts:?}");
            let sizes = || parts.iter().map(ExactSizeIterator::len);
            assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1, "{parts:?}");
        }
    }
}
