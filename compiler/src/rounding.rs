//! How the updates of weights are rounded to words.
//!
//! ```text
//! [train] master = 20                 state w.low[31]        what the words of `w` leave of 20 bits
//! [train] rounding = "stochastic"     state w.dither         what is added before the rounding of the next step
//!                                     state rounding.state[6] a generator, drawn with the seed
//! ```
//!
//! On real numbers nothing is rounded, so no statement reads or writes these states: they stay what they were. `fixed` adds the operations
//! ([`crate::fixed`]); there they are states like others, saved, resumed and kept in the grid.

use crate::choice;
use crate::tensor::{Element, Program, Role, Tensor, TensorId};

choice! {
    /// How the updates of weights are rounded to words.
    Rounding by Some("rounding");
    /// To the nearest word, of two the even one.
    Nearest "nearest" {
        /// Bits of the weights that updates add to; words multiply with their upper ones. 0: those of a word.
        master: usize as "master", Whole, Some(0.0);
    };
    /// Up or down by chance, so that the mean of many is exact.
    Stochastic "stochastic";
}

impl Rounding {
    /// The key of `[train]` that made it, unless it is the default.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Rounding::Nearest { master: 0 } => None,
            Rounding::Nearest { .. } => Some("master"),
            Rounding::Stochastic => Some("rounding"),
        }
    }
}

/// The most bits of a master: its lower part, in whose last places a rest is one last place of the word, has to fit a word.
pub fn most_bits(word: u32) -> u32 {
    2 * word - 2
}

/// Bits of the narrowest words with the whole numbers of the generator.
pub const LEAST_WORD: u32 = 4;
/// The state of the generator.
pub const GENERATOR: &str = "rounding.state";
/// They start between minus this and this: a word below a half.
pub const GENERATOR_BOUND: f64 = 0.49;
/// Its elements.
pub const GENERATOR_WORDS: u32 = 6;

/// The state with the lower part of a weight.
pub fn low(weight: &str) -> String {
    format!("{weight}.low")
}

/// The state with what is added to a weight's next update before it is rounded.
pub fn dither(weight: &str) -> String {
    format!("{weight}.dither")
}

/// Whether a state belongs to the rounding: on real numbers it means nothing.
pub fn is_of_words(name: &str) -> bool {
    let part = name.rsplit_once('.').map(|(_, part)| part);
    name == GENERATOR || matches!(part, Some("low" | "dither"))
}

/// The program with the states that the rounding of these weights needs.
pub(crate) fn with_states(program: &Program, weights: &[TensorId], rounding: Rounding) -> Program {
    let mut result = program.clone();
    let mut state = |name: String, shape: Vec<u32>, span| {
        result.tensors.push(Tensor { name, shape, role: Role::State, element: Element::Real, span });
    };
    for &weight in weights {
        let Tensor { name, shape, span, .. } = &program.tensors[weight.0];
        match rounding {
            Rounding::Nearest { master: 0 } => {}
            Rounding::Nearest { .. } => state(low(name), shape.clone(), *span),
            Rounding::Stochastic => state(dither(name), Vec::new(), *span),
        }
    }
    if let (Rounding::Stochastic, Some(first)) = (rounding, weights.first()) {
        state(GENERATOR.to_owned(), vec![GENERATOR_WORDS], program.tensors[first.0].span);
    }
    result
}
