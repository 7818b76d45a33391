//! A rank of fixed-point words: any samples of a batch, none among them.

use super::{Divides, Shared, limbs, part};
use crate::clipped::Clipped;
use crate::fixed::divided::{Divided, Sums};
use crate::train::engine::{EngineError, NamedValues, Run, Signature, Step};
use crate::train::words::{bindings, load};
use compiler::placed::shares::Shares;
use compiler::tensor::TensorId;

/// A fixed-point program.
pub struct DividedWords {
    divided: Divided,
    accumulator: u32,
    batch: usize,
    fields: Vec<(TensorId, usize)>,
    weights: Vec<(String, TensorId)>,
    /// How many sums there are, and words of them.
    sums: usize,
}

impl DividedWords {
    /// A program whose inputs and weights are called as in the signature.
    pub fn new(shares: &Shares, signature: &Signature) -> DividedWords {
        let (fields, weights) = bindings(&shares.sample, signature);
        let (accumulator, batch) = (shares.sample.accumulator, shares.batch as usize);
        DividedWords { divided: Divided::new(shares), accumulator, batch, fields, weights, sums: 0 }
    }
}

impl Divides for DividedWords {
    fn load(&mut self, model: &NamedValues) {
        load(self.divided.fixed_mut(), &self.weights, model);
    }

    fn share(&mut self, batch: &Step, rank: usize, ranks: usize) -> Result<Shared, EngineError> {
        self.divided.begin();
        for sample in part(self.batch, rank, ranks) {
            let inputs = self.fields.iter().map(|&(id, field)| {
                let elements = batch[field].len() / self.batch;
                (id, &batch[field][sample * elements..][..elements])
            });
            self.divided.sample(inputs);
        }
        let Sums { sums, clipped } = self.divided.sums();
        let mut words = limbs::split(&sums, self.accumulator);
        self.sums = words.len();
        words.extend(clipped);
        Ok(Shared { words, cycles: None, saturated: false })
    }

    fn finish(&mut self, _: &Step, totals: &[u64], _: bool) -> Result<Run, EngineError> {
        let (sums, clipped) = totals.split_at(self.sums);
        self.divided.finish(&Sums { sums: limbs::join(sums, self.accumulator), clipped: clipped.to_vec() });
        let saturated = self.divided.fixed().computed().iter().any(|count| count.values > 0);
        Ok(Run { saturated, ..Run::default() })
    }

    fn model(&self) -> NamedValues {
        self.weights.iter().map(|(name, id)| (name.clone(), self.divided.fixed().values(*id))).collect()
    }

    fn clipped(&self) -> Vec<Clipped> {
        self.divided.fixed().clipped()
    }
}
