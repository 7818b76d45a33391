//! The parameters of one grid, checked: a `Machine` cannot be impossible.
//!
//! | module | holds |
//! |---|---|
//! | `keys` | the keys of the `[machine]` table, one row each, and what follows from them |
//! | `rule` | what a key may be, and how that is told |

mod keys;
mod rule;

pub use keys::{AUTO, MOST_PES, MOST_ROWS, Machine, MachineSpec, SetError, keys};
pub use rule::{Key, words_of_pad};

use crate::number::ceil_log2;

/// Bits that an emitting instruction has for the number of its transfers, at most: those of the narrowest word.
const MOST_TRANSFER_BITS: u32 = 8;

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

    /// Whether the number of rows divides that of columns, or the other way round, so that columns can have buses.
    pub fn lines_divide(&self) -> bool {
        self.pus.is_multiple_of(self.pes_per_pu) || self.pes_per_pu.is_multiple_of(self.pus)
    }

    /// Buses of the columns, if there are any: the results of rows with the same number modulo this share one.
    pub fn column_bus_count(&self) -> u32 {
        self.pus.min(self.pes_per_pu)
    }

    /// What the keys have to do with each other.
    fn check_together(&self) -> Result<(), MachineError> {
        let pes = self.pes();
        if pes > MOST_PES {
            let columns = self.pes_per_pu;
            let reason = format!("must be at most {} beside {columns} columns, for {MOST_PES} PEs", MOST_PES / columns);
            return Err(MachineError { key: "pus", value: self.pus, reason });
        }
        if !pes.is_multiple_of(self.stream_words) {
            let reason = format!("must divide the number of PEs, {pes}; {} would do", keys::default_stream(pes));
            return Err(MachineError { key: "stream_words", value: self.stream_words, reason });
        }
        if !self.output_words.is_power_of_two() || !self.pus.is_multiple_of(self.output_words) {
            let (pus, most) = (self.pus, 1 << self.pus.trailing_zeros());
            let reason = format!("must be a power of two that divides the number of PUs, {pus}; at most {most}");
            return Err(MachineError { key: "output_words", value: self.output_words, reason });
        }
        self.check_emission()?;
        if self.column_buses && !self.lines_divide() {
            let (rows, columns) = (self.pus, self.pes_per_pu);
            let reason = format!("must be false where neither of {rows} rows and {columns} columns divides the other");
            return Err(MachineError { key: "column_buses", value: 1, reason });
        }
        if self.limits && !self.rectifiers {
            let reason = "must be true where results have limits".to_owned();
            return Err(MachineError { key: "rectifiers", value: 0, reason });
        }
        if self.divider && self.table_entries == 0 {
            let reason =
                "must be at least 64 where there are dividers, which are part of the function units".to_owned();
            return Err(MachineError { key: "table_entries", value: 0, reason });
        }
        Ok(())
    }

    /// What words of one emitting beat have to do with those of a transfer, and with the grid.
    fn check_emission(&self) -> Result<(), MachineError> {
        let error = |reason: String| Err(MachineError { key: "emit_words", value: self.emit_words, reason });
        let (words, pus, outputs) = (self.emit_words, self.pus, self.output_words);
        if words == 0 {
            return Ok(());
        }
        if !words.is_power_of_two() || words <= outputs {
            return error(format!("must be a power of two above `output_words`, {outputs}"));
        }
        if !pus.is_multiple_of(words) && words != self.pes() {
            return error(format!("must divide the number of PUs, {pus}, or be that of PEs, {}", self.pes()));
        }
        if words / outputs > 1 << MOST_TRANSFER_BITS {
            return error(format!("must be at most {} times `output_words`", 1 << MOST_TRANSFER_BITS));
        }
        if self.partial_sums {
            return error("must be 0 where sums leave and come back: `partial_sums`".to_owned());
        }
        Ok(())
    }

    /// Words that an emitting beat takes from the grid at once, one in each lane.
    pub fn lanes(&self) -> u32 {
        if self.emit_words == 0 { self.output_words } else { self.emit_words }
    }

    /// Whether each PE has a lane of its own; else rows have.
    pub fn lane_for_each(&self) -> bool {
        self.lanes() > self.pus
    }

    /// Rows that have lanes of their own; the others share them.
    pub fn lane_rows(&self) -> u32 {
        self.lanes().min(self.pus)
    }

    /// Transfers of the output stream in which an emitting beat leaves, at most.
    pub fn most_transfers(&self) -> u32 {
        self.lanes() / self.output_words
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

    /// Levels of the trees between the rows and their lanes: `ceil(log2(pus / lane_rows))`.
    pub fn lane_levels(&self) -> u32 {
        ceil_log2(u64::from(self.pus / self.lane_rows()))
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
