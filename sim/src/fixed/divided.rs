//! One machine's part of a batch whose samples are divided over several ([`compiler::placed::shares`]).
//!
//!     begin ──▶ sample, sample, .. ──▶ sums ──▶ added over all machines modulo 2^A ──▶ finish
//!
//! What is clipped is counted for the whole batch: counts of samples are handed out and added as the sums are, so every machine has those of one
//! that had all samples.

use super::Fixed;
use arch::number::wrap;
use compiler::fixed::Program;
use compiler::placed::shares::{Part, Shares};
use compiler::tensor::TensorId;

/// A machine that has some samples of each batch.
#[derive(Debug, Clone)]
pub struct Divided {
    fixed: Fixed,
    parts: Vec<Part>,
    /// For each operation that sums over the batch, its sums, row-major over its free iterators.
    sums: Vec<Vec<i128>>,
    /// Values of each tensor, and of each operation, that were clipped in the samples of this batch.
    given: Vec<u64>,
    computed: Vec<u64>,
}

/// What a machine has after its samples.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    /// Without start, unrounded, modulo `2^accumulator`.
    pub sums: Vec<i128>,
    /// Clipped values.
    pub clipped: Vec<u64>,
}

impl Divided {
    /// A program with empty memory (parameters have their words).
    pub fn new(shares: &Shares) -> Divided {
        let fixed = Fixed::new(&shares.sample);
        let sums = |(operation, part): (&super::Compiled, &Part)| match part {
            Part::Sum => vec![0; operation.points()],
            Part::Before | Part::Sample | Part::After => Vec::new(),
        };
        Divided {
            sums: fixed.operations.iter().zip(&shares.parts).map(sums).collect(),
            given: vec![0; fixed.given.len()],
            computed: vec![0; fixed.computed.len()],
            parts: shares.parts.clone(),
            fixed,
        }
    }

    /// The memory, the program, and what was clipped so far.
    pub fn fixed(&self) -> &Fixed {
        &self.fixed
    }

    /// The same, to set weights.
    pub fn fixed_mut(&mut self) -> &mut Fixed {
        &mut self.fixed
    }

    fn program(&self) -> &Program {
        self.fixed.program()
    }

    /// A batch begins.
    pub fn begin(&mut self) {
        self.fixed.steps += u64::from(self.fixed.counts);
        self.sums.iter_mut().for_each(|sums| sums.fill(0));
        self.given.fill(0);
        self.computed.fill(0);
        self.run(Part::Before);
    }

    /// The next sample: the words nearest to these values, by input.
    ///
    /// # Panics
    /// When the number of values is not the tensor's number of elements.
    pub fn sample<'a>(&mut self, inputs: impl Iterator<Item = (TensorId, &'a [f64])>) {
        for (tensor, values) in inputs {
            self.given[tensor.0] += self.fixed.give(tensor, values);
        }
        let Fixed { program, memory, operations, .. } = &mut self.fixed;
        let parts = self.parts.iter().zip(&mut self.sums).zip(&mut self.computed);
        for (operation, ((part, sums), clipped)) in operations.iter().zip(parts) {
            match part {
                Part::Sample => *clipped += operation.run(program, memory),
                Part::Sum => operation.add_to(memory, sums),
                Part::Before | Part::After => {}
            }
        }
    }

    /// What the samples since the beginning of the batch have given.
    pub fn sums(&self) -> Sums {
        let accumulator = self.program().accumulator;
        Sums {
            sums: self.sums.iter().flatten().map(|&sum| wrap(sum, accumulator)).collect(),
            clipped: self.given.iter().chain(&self.computed).copied().collect(),
        }
    }

    /// The end of a batch, of whose samples all machines together have these sums.
    ///
    /// # Panics
    /// When they are not as many as [`Divided::sums`] gives.
    pub fn finish(&mut self, totals: &Sums) {
        let given = self.given.len();
        assert_eq!(totals.clipped.len(), given + self.computed.len(), "counts of another program");
        if self.fixed.counts {
            let step = self.fixed.steps;
            let counts = self.fixed.given.iter_mut().chain(&mut self.fixed.computed);
            counts.zip(&totals.clipped).for_each(|(count, &values)| count.add(step, values));
        }
        let mut rest = totals.sums.as_slice();
        let Fixed { program, memory, operations, computed, steps, counts, .. } = &mut self.fixed;
        for (((operation, part), own), count) in operations.iter().zip(&self.parts).zip(&self.sums).zip(computed) {
            let clipped = match part {
                Part::Sum => {
                    let (sums, behind) = rest.split_at(own.len());
                    rest = behind;
                    operation.conclude(memory, sums)
                }
                Part::After => operation.run(program, memory),
                Part::Before | Part::Sample => continue,
            };
            if *counts {
                count.add(*steps, clipped);
            }
        }
        assert!(rest.is_empty(), "sums of another program");
    }

    /// Do every operation of this part.
    fn run(&mut self, wanted: Part) {
        let Fixed { program, memory, operations, computed, steps, counts, .. } = &mut self.fixed;
        for ((operation, part), count) in operations.iter().zip(&self.parts).zip(computed) {
            if *part == wanted {
                let clipped = operation.run(program, memory);
                if *counts {
                    count.add(*steps, clipped);
                }
            }
        }
    }
}
