//! The parameters of one grid, checked: a `Machine` cannot be impossible.
//!
//! | module | holds |
//! |---|---|
//! | `keys` | the keys of the `[machine]` table, one row each, and what follows from them |
//! | `rule` | what a key may be, and how that is told |

mod keys;
mod rule;

pub use keys::{AUTO, MOST_LINES, Machine, MachineSpec, SetError, keys};
pub use rule::Key;

use crate::number::ceil_log2;

/// Why a set of parameters is not a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {reason}")]
pub struct MachineError {
    /// The key in the `[machine]` table.
    pub key: &'static str,
    /// Its value.
    pub value: u32,
    /// What is wrong with it.
    pub reason: String,
}

impl Machine {
    /// A grid of `pus` x `pes_per_pu` PEs with words of `word` bits and defaults for the rest.
    pub fn grid(pus: u32, pes_per_pu: u32, word: u32) -> Result<Machine, MachineError> {
        let spec =
            MachineSpec { pus: Some(pus), pes_per_pu: Some(pes_per_pu), word: Some(word), ..MachineSpec::default() };
        Machine::try_from(spec)
    }

    /// Bits of what a PE multiplies: words, or also their differences.
    pub fn factor_bits(&self) -> u32 {
        self.word + u32::from(self.squares)
    }

    /// All PEs of the grid.
    pub fn pes(&self) -> u32 {
        self.pus * self.pes_per_pu
    }

    /// What the keys have to do with each other.
    fn check_together(&self) -> Result<(), MachineError> {
        let pes = self.pes();
        if !pes.is_multiple_of(self.stream_words) {
            let reason = format!("must divide the number of PEs, {pes}; {} would do", keys::default_stream(pes));
            return Err(MachineError { key: "stream_words", value: self.stream_words, reason });
        }
        if !self.output_words.is_power_of_two() || !self.pus.is_multiple_of(self.output_words) {
            let (pus, most) = (self.pus, 1 << self.pus.trailing_zeros());
            let reason = format!("must be a power of two that divides the number of PUs, {pus}; at most {most}");
            return Err(MachineError { key: "output_words", value: self.output_words, reason });
        }
        if self.divider && self.table_entries == 0 {
            let reason =
                "must be at least 64 where there are dividers, which are part of the function units".to_owned();
            return Err(MachineError { key: "table_entries", value: 0, reason });
        }
        Ok(())
    }

    /// Whether sums of a batch leave the grid unrounded, and come back (docs/machine.md, section 10).
    pub fn hands_out_sums(&self) -> bool {
        self.partial_sums && self.gradient_depth > 0
    }

    /// Words of the streams that one accumulator takes.
    pub fn parts_of_sum(&self) -> u32 {
        self.accumulator.div_ceil(self.word)
    }

    /// Levels of a row tree: `ceil(log2(pes_per_pu))`, at least 1.
    pub fn row_levels(&self) -> u32 {
        ceil_log2(u64::from(self.pes_per_pu)).max(1)
    }

    /// Levels of the trees between the rows and the lanes of the output stream: `ceil(log2(pus / output_words))`.
    pub fn lane_levels(&self) -> u32 {
        ceil_log2(u64::from(self.pus / self.output_words))
    }

    /// Levels of the global tree: `ceil(log2(pus))`; the first ones are those of the output lanes.
    pub fn global_levels(&self) -> u32 {
        ceil_log2(u64::from(self.pus))
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} PEs, {} bit", self.pus, self.pes_per_pu, self.word)
    }
}
