//! The parameters of one grid, checked: a `Machine` cannot be impossible.

use crate::amounts::Amounts;
use crate::number::{ceil_log2, default_accumulator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters as a configuration file gives them; what is left out has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// Processing units (rows of the grid), 1..=64.
    pub pus: Option<u32>,
    /// Processing engines per PU (columns of the grid), 1..=64.
    pub pes_per_pu: Option<u32>,
    /// Word width in bits, 8..=32; default 16.
    pub word: Option<u32>,
    /// Accumulator width in bits; default 48 for words up to 16 bits, 80 above.
    pub accumulator: Option<u32>,
    /// Words per transfer of the input stream; must divide the number of PEs. Default: the largest divisor up to 16.
    pub stream_words: Option<u32>,
    /// Words of model scratchpad per PE; default 256.
    pub model_depth: Option<u32>,
    /// Words of data scratchpad per PE and bank (there are two banks); default 256.
    pub data_depth: Option<u32>,
    /// Words of each of the two temporary scratchpads per PE; default 64.
    pub temporary_depth: Option<u32>,
    /// Instructions per stream; default 64.
    pub program_depth: Option<u32>,
    /// Entries of the function tables (0 = no function units); default 1024.
    pub table_entries: Option<u32>,
    /// Words of the output FIFO; default 32.
    pub output_fifo: Option<u32>,
    /// Whether root units have dividers; default: if the program divides. They need function units beside them.
    pub divider: Option<bool>,
    /// Whether accumulators and trees compare as well as add; default: if the program has maxima or minima of several values.
    pub extremes: Option<bool>,
    /// Whether there is a scalar unit beside the global root, for values that are the same in all PEs; default: if the program's
    /// schedule gets shorter by it.
    pub scalar: Option<bool>,
    /// Words of the gradient scratchpad per PE, which are as wide as the accumulator; 0: none, a batch has to fit the data
    /// scratchpads as a whole. Default: as many as the program needs.
    pub gradient_depth: Option<u32>,
    /// By how many places a PE can shift the start of a sum to the left; default: any.
    pub alignments: Option<Amounts>,
    /// By how many places a PE can shift a sum to the right; default: any.
    pub shifts: Option<Amounts>,
    /// By how many places a root can shift a sum to the right; default: any.
    pub root_shifts: Option<Amounts>,
}

/// One grid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "MachineSpec", into = "MachineSpec")]
pub struct Machine {
    pus: u32,
    pes_per_pu: u32,
    word: u32,
    accumulator: u32,
    stream_words: u32,
    model_depth: u32,
    data_depth: u32,
    temporary_depth: u32,
    program_depth: u32,
    table_entries: u32,
    output_fifo: u32,
    divider: bool,
    extremes: bool,
    scalar: bool,
    gradient_depth: u32,
    alignments: Amounts,
    shifts: Amounts,
    root_shifts: Amounts,
}

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

/// Most rows of a grid, and most columns.
pub const MOST_LINES: u32 = 64;

fn within(key: &'static str, value: u32, low: u32, high: u32) -> Result<u32, MachineError> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(MachineError { key, value, reason: format!("must lie between {low} and {high}") })
    }
}

impl TryFrom<MachineSpec> for Machine {
    type Error = MachineError;

    fn try_from(spec: MachineSpec) -> Result<Machine, MachineError> {
        let pus = within("pus", spec.pus.unwrap_or(8), 1, MOST_LINES)?;
        let pes_per_pu = within("pes_per_pu", spec.pes_per_pu.unwrap_or(8), 1, MOST_LINES)?;
        let pes = pus * pes_per_pu;
        let word = within("word", spec.word.unwrap_or(16), 8, 32)?;
        let accumulator = spec.accumulator.unwrap_or(default_accumulator(word));
        let accumulator = within("accumulator", accumulator, 2 * word, 96)?;
        let default_stream = (1..=16.min(pes)).rev().find(|s| pes % s == 0).unwrap_or(1);
        let stream_words = within("stream_words", spec.stream_words.unwrap_or(default_stream), 1, 64)?;
        if !pes.is_multiple_of(stream_words) {
            let reason = format!("must divide the number of PEs, {pes}; {default_stream} would do");
            return Err(MachineError { key: "stream_words", value: stream_words, reason });
        }
        let depth = |key, value: Option<u32>, default: u32, low: u32, high: u32| {
            within(key, value.unwrap_or(default), low, high).map(u32::next_power_of_two)
        };
        let table_entries = match spec.table_entries {
            Some(0) => 0,
            entries => depth("table_entries", entries, 1024, 64, 1 << 14)?,
        };
        let divider = spec.divider.unwrap_or(false);
        if divider && table_entries == 0 {
            let reason =
                "must be at least 64 where there are dividers, which are part of the function units".to_owned();
            return Err(MachineError { key: "table_entries", value: 0, reason });
        }
        Ok(Machine {
            pus,
            pes_per_pu,
            word,
            accumulator,
            stream_words,
            model_depth: depth("model_depth", spec.model_depth, 256, 2, 1 << 16)?,
            data_depth: depth("data_depth", spec.data_depth, 256, 2, 1 << 15)?,
            temporary_depth: depth("temporary_depth", spec.temporary_depth, 64, 2, 1 << 16)?,
            program_depth: depth("program_depth", spec.program_depth, 64, 4, 2048)?,
            table_entries,
            output_fifo: depth("output_fifo", spec.output_fifo, 32, 4, 4096)?,
            divider,
            extremes: spec.extremes.unwrap_or(false),
            scalar: spec.scalar.unwrap_or(false),
            gradient_depth: match spec.gradient_depth {
                None | Some(0) => 0,
                words => depth("gradient_depth", words, 2, 2, 1 << 16)?,
            },
            alignments: spec.alignments.unwrap_or(Amounts::ANY),
            shifts: spec.shifts.unwrap_or(Amounts::ANY),
            root_shifts: spec.root_shifts.unwrap_or(Amounts::ANY),
        })
    }
}

impl From<Machine> for MachineSpec {
    fn from(machine: Machine) -> MachineSpec {
        MachineSpec {
            pus: Some(machine.pus),
            pes_per_pu: Some(machine.pes_per_pu),
            word: Some(machine.word),
            accumulator: Some(machine.accumulator),
            stream_words: Some(machine.stream_words),
            model_depth: Some(machine.model_depth),
            data_depth: Some(machine.data_depth),
            temporary_depth: Some(machine.temporary_depth),
            program_depth: Some(machine.program_depth),
            table_entries: Some(machine.table_entries),
            output_fifo: Some(machine.output_fifo),
            divider: Some(machine.divider),
            extremes: Some(machine.extremes),
            scalar: Some(machine.scalar),
            gradient_depth: Some(machine.gradient_depth),
            alignments: (machine.alignments != Amounts::ANY).then_some(machine.alignments),
            shifts: (machine.shifts != Amounts::ANY).then_some(machine.shifts),
            root_shifts: (machine.root_shifts != Amounts::ANY).then_some(machine.root_shifts),
        }
    }
}

impl Machine {
    /// A grid of `pus` x `pes_per_pu` PEs with words of `word` bits and defaults for the rest.
    pub fn grid(pus: u32, pes_per_pu: u32, word: u32) -> Result<Machine, MachineError> {
        let spec =
            MachineSpec { pus: Some(pus), pes_per_pu: Some(pes_per_pu), word: Some(word), ..MachineSpec::default() };
        Machine::try_from(spec)
    }

    /// Rows of the grid.
    pub fn pus(&self) -> u32 {
        self.pus
    }

    /// Columns of the grid.
    pub fn pes_per_pu(&self) -> u32 {
        self.pes_per_pu
    }

    /// All PEs of the grid.
    pub fn pes(&self) -> u32 {
        self.pus * self.pes_per_pu
    }

    /// Word width in bits.
    pub fn word(&self) -> u32 {
        self.word
    }

    /// Accumulator width in bits.
    pub fn accumulator(&self) -> u32 {
        self.accumulator
    }

    /// Words per transfer of the input stream.
    pub fn stream_words(&self) -> u32 {
        self.stream_words
    }

    /// Words of model scratchpad per PE, a power of two.
    pub fn model_depth(&self) -> u32 {
        self.model_depth
    }

    /// Words of data scratchpad per PE and bank, a power of two.
    pub fn data_depth(&self) -> u32 {
        self.data_depth
    }

    /// Words of each temporary scratchpad per PE, a power of two.
    pub fn temporary_depth(&self) -> u32 {
        self.temporary_depth
    }

    /// Instructions per stream, a power of two.
    pub fn program_depth(&self) -> u32 {
        self.program_depth
    }

    /// Entries of the function tables, a power of two, or 0 for a grid without function units.
    pub fn table_entries(&self) -> u32 {
        self.table_entries
    }

    /// Words of the output FIFO, a power of two.
    pub fn output_fifo(&self) -> u32 {
        self.output_fifo
    }

    /// Whether every root unit has a divider.
    pub fn divider(&self) -> bool {
        self.divider
    }

    /// Whether accumulators and trees take the largest or smallest as well as the sum.
    pub fn extremes(&self) -> bool {
        self.extremes
    }

    /// Whether there is a scalar unit beside the global root.
    pub fn scalar(&self) -> bool {
        self.scalar
    }

    /// Words of the gradient scratchpad per PE, a power of two, or 0 for a grid that cannot cut batches into tiles.
    pub fn gradient_depth(&self) -> u32 {
        self.gradient_depth
    }

    /// By how many places a PE can shift the start of a sum to the left.
    pub fn alignments(&self) -> Amounts {
        self.alignments
    }

    /// By how many places a PE can shift a sum to the right.
    pub fn shifts(&self) -> Amounts {
        self.shifts
    }

    /// By how many places a root can shift a sum to the right.
    pub fn root_shifts(&self) -> Amounts {
        self.root_shifts
    }

    /// Levels of a row tree: `ceil(log2(pes_per_pu))`, at least 1.
    pub fn row_levels(&self) -> u32 {
        ceil_log2(u64::from(self.pes_per_pu)).max(1)
    }

    /// Levels of the global tree: `ceil(log2(pus))`.
    pub fn global_levels(&self) -> u32 {
        ceil_log2(u64::from(self.pus))
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} PEs, {} bit", self.pus, self.pes_per_pu, self.word)
    }
}
