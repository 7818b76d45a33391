//! Facts of a device family that the hardware needs: cells that it names, and the PLL of a board.
//!
//!     fpga/families/ecp5/family.toml, multiplier.v, pll.v ──▶ Leaves, Pll ──▶ hdl
//!
//! Everything else about a family is the business of the tools: `fpga::family` reads the files. A text with `@name@` in it is a
//! template ([`filled`]); all other characters stand for themselves.

use schemars::JsonSchema;
use serde::Deserialize;

/// Cells of a family that leaf blocks name, where generic text maps badly. They compute the same in the same cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leaves {
    /// A multiplier with its own registers.
    pub multiplier: Option<&'static Multiplier>,
    /// A block that multiplies, adds and accumulates.
    pub multiply_add: Option<&'static MultiplyAdd>,
    /// A block that adds, of which trees are made.
    pub adder: Option<&'static Adder>,
    /// A table with two outputs.
    pub pair: Option<&'static Pair>,
    /// A small memory beside larger ones.
    pub narrow_memory: Option<&'static NarrowMemory>,
}

impl Leaves {
    /// None: text for every tool, and for simulation.
    pub const GENERIC: Leaves =
        Leaves { multiplier: None, multiply_add: None, adder: None, pair: None, narrow_memory: None };
}

/// A multiplier block with registers for both factors and the product.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multiplier {
    /// Bits of a factor, signed.
    pub bits: u32,
    /// Declares `block_product`, two cycles after the expressions `@a@` and `@b@`, which `@clear@` makes zero, in an instance
    /// called `block`. `@unused@` declares what nobody reads.
    pub text: String,
}

/// A block that multiplies, adds or subtracts, and accumulates.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiplyAdd {
    /// Bits of a factor, signed.
    pub factor: u32,
    /// Bits of the sum.
    pub sum: u32,
    /// Bits of its first port for a factor, which may be wider.
    pub port: u32,
    /// Bits of the port for what is added to `@b@`.
    pub added: u32,
    /// The body of the leaf: `sum[@last@:0]` from `@a@`, `@b@`, `@c@` and the control signals of the leaf; `@added@` is added to `@b@`, which
    /// `@without_b@` makes zero.
    pub text: String,
}

/// A block that adds two numbers, and the sum of another such block.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adder {
    /// Bits of a sum.
    pub sum: u32,
    /// An instance called `@name@` that makes `@sum@` of `@a@` and `@b@`, a cycle later or, where `@held@` is 1, two cycles; `@up@` is the same sum
    /// for a neighbour. Where `@z@` is 1 it also adds `@below@`, the sum of its neighbour a cycle before. `@clear@` makes what it takes zero.
    pub text: String,
}

/// A table with two outputs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Instances that make `@name@` of `@one@` or `@zero@`, as `@select@` says, in bits `0` to `@last@` and `@half@` to `@top@`.
    pub text: String,
}

/// A memory of tables for the bits of a word that are left over from whole groups.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NarrowMemory {
    /// Words.
    pub words: u32,
    /// Bits of a whole group.
    pub group: u32,
    /// Bits of this memory.
    pub bits: u32,
    /// Declares `rest`, the bits at address `@read@`; writes `@data@` at `@write@` when `write` is set.
    pub text: String,
}

/// What a PLL can do, and its instance.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pll {
    /// Largest divider of the pin's clock.
    pub reference: u64,
    /// Largest divider of the loop.
    pub feedback: u64,
    /// Dividers of the output.
    pub outputs: Dividers,
    /// Least and largest frequency of the phase detector, MHz.
    pub detector_mhz: (u64, u64),
    /// Least and largest frequency of the oscillator, MHz.
    pub oscillator_mhz: (u64, u64),
    /// Whether the loop divides the oscillator, and the clock is that of the oscillator divided by the output's divider; else the loop
    /// divides the clock, and the oscillator is faster by that divider.
    pub feedback_of_oscillator: bool,
    /// Frequencies of the detector from which the loop filter takes its next setting, MHz; the first setting is 1.
    #[serde(default)]
    pub filter_mhz: Vec<u64>,
    /// The instance from `clock_pin` to `clock`, with `locked`: `@reference@`, `@feedback@` and `@output@` are the dividers,
    /// `@reference_less_one@` and so on one less, `@output_log2@` the output's as a power of two, `@filter@` the loop filter's setting,
    /// `@pin_mhz@` and `@clock_mhz@` the frequencies.
    pub instance: String,
}

/// Dividers that there are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Dividers {
    /// These.
    List(Vec<u64>),
    /// Every `step` from `first` to `last`.
    Range {
        /// The smallest.
        first: u64,
        /// The largest.
        last: u64,
        /// Their distance.
        step: usize,
    },
}

impl Dividers {
    /// All of them, smallest first.
    pub fn all(&self) -> Vec<u64> {
        match self {
            Dividers::List(list) => list.clone(),
            Dividers::Range { first, last, step } => (*first..=*last).step_by(*step).collect(),
        }
    }
}

/// A template with its places filled.
///
/// # Panics
/// A place has a name that is not given: templates are ours.
pub fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split('@');
    let mut text = parts.next().unwrap_or_default().to_owned();
    while let (Some(name), Some(rest)) = (parts.next(), parts.next()) {
        let value = values.iter().find(|(known, _)| *known == name);
        text += value.unwrap_or_else(|| panic!("the template asks for `{name}`")).1;
        text += rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled() {
        let values = [("a", "{2{x}}"), ("last", "7")];
        assert_eq!(filled("wire [@last@:0] y = @a@;", &values), "wire [7:0] y = {2{x}};");
        assert_eq!(filled("nothing", &values), "nothing");
    }

    #[test]
    fn dividers_are_lists_and_ranges() {
        assert_eq!(Dividers::Range { first: 4, last: 12, step: 4 }.all(), [4, 8, 12]);
        assert_eq!(Dividers::List(vec![2, 3]).all(), [2, 3]);
    }
}
