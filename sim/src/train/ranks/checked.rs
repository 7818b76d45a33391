//! A rank whose engine is checked against the one above: both do its part of every batch, and have the same weights after each run.

use super::{Divides, Shared};
use crate::clipped::Clipped;
use crate::train::engine::{Comparison, EngineError, NamedValues, Run, Step};

/// Two engines side by side; answers as the lower one does.
pub struct Checked {
    lower: Box<dyn Divides>,
    reference: Box<dyn Divides>,
    batches: u64,
    /// Words of the lower one, in front of those of the reference.
    words: usize,
    comparison: Comparison,
}

impl Checked {
    /// Check `lower` against `reference`, which is called `name`.
    pub fn new(lower: Box<dyn Divides>, reference: Box<dyn Divides>, name: &str) -> Checked {
        let comparison = Comparison { with: name.to_owned(), ..Comparison::default() };
        Checked { lower, reference, batches: 0, words: 0, comparison }
    }
}

impl Divides for Checked {
    fn load(&mut self, model: &NamedValues) {
        self.lower.load(model);
        self.reference.load(model);
    }

    fn share(&mut self, batch: &Step, rank: usize, ranks: usize) -> Result<Shared, EngineError> {
        let reference = self.reference.share(batch, rank, ranks)?;
        let mut lower = self.lower.share(batch, rank, ranks)?;
        self.words = lower.words.len();
        lower.words.extend(reference.words);
        Ok(lower)
    }

    fn finish(&mut self, batch: &Step, totals: &[u64], last: bool) -> Result<Run, EngineError> {
        let (lower, reference) = totals.split_at(self.words);
        self.reference.finish(batch, reference, last)?;
        let run = self.lower.finish(batch, lower, last)?;
        if last {
            let found = self.lower.model();
            for (name, expected) in self.reference.model() {
                let found = found.get(&name).map_or(&[][..], Vec::as_slice);
                self.comparison.words_of(&name, self.batches, found, &expected);
            }
        }
        self.batches += 1;
        Ok(run)
    }

    fn model(&self) -> NamedValues {
        self.lower.model()
    }

    fn clipped(&self) -> Vec<Clipped> {
        self.reference.clipped()
    }

    fn comparison(&self) -> Option<Comparison> {
        let mut all = self.reference.comparison().unwrap_or_default();
        all.add(&self.comparison);
        Some(all)
    }
}
