//! Bit-exact evaluator of fixed-point IR.
//!
//!     words of inputs ──▶ operation by operation, element by element ──▶ words of results, saturations counted
//!
//! It knows nothing of a grid: what it computes is what every grid has to compute. Memory starts at 0 and keeps its words from
//! step to step. Sums are exact modulo `2^accumulator`; accumulators up to 64 bits are computed in machine words.

pub(crate) mod address;
mod run;

use arch::number::{quantise, to_f64};
use compiler::fixed::{Program, Role};
use compiler::tensor::TensorId;
use run::Compiled;

/// A fixed-point program and its memory.
#[derive(Debug, Clone)]
pub struct Fixed {
    program: Program,
    memory: Vec<Vec<i64>>,
    operations: Vec<Compiled>,
    saturations: Vec<u64>,
    input_saturations: u64,
}

impl Fixed {
    /// A program with empty memory (parameters have their words).
    pub fn new(program: &Program) -> Fixed {
        let memory = program
            .tensors
            .iter()
            .map(|tensor| match &tensor.role {
                Role::Parameter(words) => words.clone(),
                _ => vec![0; tensor.shape.iter().map(|&n| n as usize).product()],
            })
            .collect();
        Fixed {
            program: program.clone(),
            memory,
            operations: program.operations.iter().map(|o| Compiled::new(program, o)).collect(),
            saturations: vec![0; program.operations.len()],
            input_saturations: 0,
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
        self.memory[tensor.0].copy_from_slice(words);
    }

    /// Replace the elements of a tensor by the words nearest to `values`.
    ///
    /// # Panics
    /// When the number of values is not the tensor's number of elements.
    pub fn set_real(&mut self, tensor: TensorId, values: &[f64]) {
        let fraction = self.program.tensors[tensor.0].fraction;
        let memory = &mut self.memory[tensor.0];
        assert_eq!(values.len(), memory.len(), "values of {}", self.program.tensors[tensor.0].name);
        for (word, &value) in memory.iter_mut().zip(values) {
            let (nearest, saturated) = quantise(value, fraction, self.program.word);
            *word = nearest;
            self.input_saturations += u64::from(saturated);
        }
    }

    /// Run every operation once.
    pub fn step(&mut self) {
        for (operation, saturations) in self.operations.iter().zip(&mut self.saturations) {
            *saturations += operation.run(&self.program, &mut self.memory);
        }
    }

    /// The words of a tensor, row-major.
    pub fn words(&self, tensor: TensorId) -> &[i64] {
        &self.memory[tensor.0]
    }

    /// The values of a tensor's words, row-major.
    pub fn values(&self, tensor: TensorId) -> Vec<f64> {
        let fraction = self.program.tensors[tensor.0].fraction;
        self.memory[tensor.0].iter().map(|&word| to_f64(word, fraction)).collect()
    }

    /// How many results of each operation have saturated so far.
    pub fn saturations(&self) -> &[u64] {
        &self.saturations
    }

    /// How many values given to [`Fixed::set_real`] have saturated so far.
    pub fn input_saturations(&self) -> u64 {
        self.input_saturations
    }
}
