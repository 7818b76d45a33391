//! Bit-exact evaluator of fixed-point IR.
//!
//!     words of inputs ──▶ operation by operation, element by element ──▶ words of results, saturations counted
//!
//! It knows nothing of a grid: what it computes is what every grid has to compute. Memory starts at 0 and keeps its words from
//! step to step. Sums are exact modulo `2^accumulator`, in the narrowest lanes that hold them. `slow` is the same word by word, for comparison.

pub(crate) mod address;
pub mod divided;
mod finish;
mod run;
#[cfg(test)]
mod slow;

use crate::clipped::{Clipped, Count};
use arch::number::{quantise, to_f64, word_max, word_min};
use compiler::fixed::{Program, Role};
use compiler::tensor::TensorId;
use run::Compiled;

/// A fixed-point program and its memory.
#[derive(Debug, Clone)]
pub struct Fixed {
    program: Program,
    /// Words have at most 32 bits.
    memory: Vec<Vec<i32>>,
    operations: Vec<Compiled>,
    /// Steps that have been run and counted.
    steps: u64,
    counts: bool,
    /// What each tensor was given that did not fit.
    given: Vec<Count>,
    /// What each operation computed that did not fit.
    computed: Vec<Count>,
}

impl Fixed {
    /// A program with empty memory (parameters have their words).
    pub fn new(program: &Program) -> Fixed {
        let memory = program
            .tensors
            .iter()
            .map(|tensor| match &tensor.role {
                Role::Parameter(words) => words.iter().map(|&word| word as i32).collect(),
                _ => vec![0; tensor.shape.iter().map(|&n| n as usize).product()],
            })
            .collect();
        Fixed {
            program: program.clone(),
            memory,
            operations: program.operations.iter().map(|o| Compiled::new(program, o)).collect(),
            steps: 0,
            counts: true,
            given: vec![Count::default(); program.tensors.len()],
            computed: vec![Count::default(); program.operations.len()],
        }
    }

    /// The program that runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The tensor called `name`, in the program's tensor list.
    pub fn tensor(&self, name: &str) -> Option<TensorId> {
        self.program.tensors.iter().position(|t| t.name == name).map(TensorId)
    }

    /// Replace the words of a tensor, row-major.
    ///
    /// # Panics
    /// When the number of words is not the tensor's number of elements.
    pub fn set(&mut self, tensor: TensorId, words: &[i64]) {
        assert_eq!(words.len(), self.memory[tensor.0].len(), "words of {}", self.program.tensors[tensor.0].name);
        self.memory[tensor.0].iter_mut().zip(words).for_each(|(to, &word)| *to = word as i32);
    }

    /// Replace the elements of a tensor by the words nearest to `values`.
    ///
    /// # Panics
    /// When the number of values is not the tensor's number of elements.
    pub fn set_real(&mut self, tensor: TensorId, values: &[f64]) {
        let clipped = self.give(tensor, values);
        if self.counts {
            self.given[tensor.0].add(self.steps + 1, clipped);
        }
    }

    /// The same without a count of its own; how many words were clipped.
    fn give(&mut self, tensor: TensorId, values: &[f64]) -> u64 {
        let of = &self.program.tensors[tensor.0];
        let memory = &mut self.memory[tensor.0];
        assert_eq!(values.len(), memory.len(), "values of {}", self.program.tensors[tensor.0].name);
        let mut clipped = 0;
        for (element, (word, &value)) in memory.iter_mut().zip(values).enumerate() {
            let (nearest, saturated) = quantise(value, of.fraction_of(element), self.program.word);
            *word = nearest as i32;
            clipped += u64::from(saturated);
        }
        clipped
    }

    /// Run every operation once.
    pub fn step(&mut self) {
        self.steps += u64::from(self.counts);
        for (operation, count) in self.operations.iter().zip(&mut self.computed) {
            let clipped = operation.run(&self.program, &mut self.memory);
            if self.counts {
                count.add(self.steps, clipped);
            }
        }
    }

    /// The words of a tensor, row-major.
    pub fn words(&self, tensor: TensorId) -> Vec<i64> {
        self.memory[tensor.0].iter().map(|&word| i64::from(word)).collect()
    }

    /// The values of a tensor's words, row-major.
    pub fn values(&self, tensor: TensorId) -> Vec<f64> {
        let of = &self.program.tensors[tensor.0];
        let words = self.memory[tensor.0].iter();
        if of.columns.is_some() {
            return words.enumerate().map(|(n, &word)| to_f64(word.into(), of.fraction_of(n))).collect();
        }
        let last_place = to_f64(1, of.fraction);
        words.map(|&word| f64::from(word) * last_place).collect()
    }

    /// How often each operation has computed what did not fit.
    pub fn computed(&self) -> &[Count] {
        &self.computed
    }

    /// Everything that was clipped so far: what was given, then what was computed, in the order of the program.
    pub fn clipped(&self) -> Vec<Clipped> {
        let found = |tensor: TensorId, computed, count: &Count| {
            let fraction = self.program.tensors[tensor.0].fraction;
            let end = |word: i128| to_f64(word as i64, fraction);
            let range = (end(word_min(self.program.word)), end(word_max(self.program.word)));
            Clipped { tensor: self.name_of(tensor), computed, range, count: count.clone() }
        };
        let given = self.given.iter().enumerate().map(|(id, count)| found(TensorId(id), None, count));
        let operations = self.program.operations.iter().zip(&self.computed);
        let computed = operations.map(|(operation, count)| found(operation.out, Some(operation.origin.span()), count));
        given.chain(computed).filter(|clipped| clipped.count.values > 0).collect()
    }

    /// As the program calls a tensor; of several names for the same one, the last.
    fn name_of(&self, tensor: TensorId) -> String {
        let named = self.program.names.iter().rev().find(|(_, id)| *id == tensor);
        named.map_or_else(|| self.program.tensors[tensor.0].name.clone(), |(name, _)| name.clone())
    }

    /// Count nothing of what this tensor was given so far: it is given anew.
    pub fn forget_given(&mut self, tensor: TensorId) {
        self.given[tensor.0] = Count::default();
    }

    /// Whether steps and what they clip are counted from now on: not where steps are run a second time.
    pub fn count(&mut self, counts: bool) {
        self.counts = counts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of three products of 8-bit words: the accumulator of 16 bits does not hold all of them, and what it loses is counted.
    #[test]
    fn sums_that_wrap_count_as_clipped() {
        let text = "word 8\naccumulator 16\ninput x[3]: q0\ninput y[3]: q0\ninput z: q0\noutput s: q-8\n\n\
                    s = round(z << 2 SIGN x[i] * y[i]) >> 8 within ranges  over i in 0..3\nname s = s\n";
        for (sign, factor) in [("+", 1), ("-", -1)] {
            let program: Program = text.replace("SIGN", sign).parse().expect("a good text");
            let (mut fixed, mut state, mut wrapped) = (Fixed::new(&program), 1u64, 0);
            let [x, y, z, s] = ["x", "y", "z", "s"].map(|name| fixed.tensor(name).expect("a tensor"));
            for step in 0..2000 {
                let mut word = || {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as i64 - 128
                };
                // Every second one of large words.
                let mut words = |count: usize| -> Vec<i64> {
                    (0..count)
                        .map(|_| if step % 2 == 0 { word() } else { word().signum() * 127 - i64::from(word() < 0) })
                        .collect()
                };
                let (a, b, c) = (words(3), words(3), words(1));
                for (tensor, words) in [(x, &a), (y, &b), (z, &c)] {
                    fixed.set(tensor, words);
                }
                fixed.step();
                let sum = 4 * c[0] + factor * a.iter().zip(&b).map(|(a, b)| a * b).sum::<i64>();
                let held = (sum + (1 << 15)).rem_euclid(1 << 16) - (1 << 15);
                let nearest = (held as f64 / 256.0).round_ties_even() as i64;
                wrapped += u64::from(held != sum || nearest == 128);
                assert_eq!(fixed.words(s), [nearest.min(127)], "{a:?} {b:?} {c:?}");
                assert_eq!(fixed.computed()[0].values, wrapped, "{a:?} {b:?} {c:?}");
            }
            assert!(wrapped > 100, "{wrapped} of 2000");
        }
    }
}
