//! Function tables: a nonlinear function as segments with linear interpolation.
//!
//! (Filled in with the numeric work: `FunctionTable::build`, `evaluate`.)

use crate::isa::TableUse;

/// The functions a table can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Function {
    /// `1 / (1 + exp(-x))`
    Sigmoid,
    /// `2 * sigmoid(x) - 1 = tanh(x / 2)`
    SigmoidSymmetric,
    /// Normal density with mean 0 and deviation 1.
    Gaussian,
    /// Natural logarithm.
    Log,
}

/// One table: what is loaded, and how it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FunctionTable {
    /// The function.
    pub function: Function,
    /// Bits after the binary point of the input word.
    pub input_fraction: i32,
    /// Bits after the binary point of the output word.
    pub output_fraction: i32,
    /// Word width.
    pub word: u32,
    /// Fields of the root instruction (base = first entry in the grid's table memory).
    pub usage: TableUse,
    /// `(base, delta)` per entry, each W+2 bits signed, in quarters of the output's last place.
    pub entries: Vec<(i64, i64)>,
}
