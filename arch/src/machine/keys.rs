//! The keys of the `[machine]` table, one row each: whoever adds a key adds a row.
//!
//! ```text
//! row ──▶ field of MachineSpec ──rule──▶ field of Machine, and its accessor
//!  └────▶ keys(): schema, configs/reference.toml, `--machine KEY=VALUE`
//! ```
//!
//! A row says what the key is, its name and type, and its [`Rule`]: range and default, which may depend on the rows above it.

use super::MachineError;
use super::rule::{Key, Rule, Setting};
use crate::amounts::Amounts;
use crate::isa::LEVELS;
use crate::number::default_accumulator;
use crate::registers::{FEWEST_LOOPS, MOST_INSTRUCTIONS};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Most rows of a grid.
pub const MOST_ROWS: u32 = 128;

/// Most columns of a grid.
const MOST_COLUMNS: u32 = 64;

/// Most PEs of a grid.
pub const MOST_PES: u32 = 4096;

/// Most words of a transfer.
const MOST_WORDS: u32 = 64;

/// A value of a key that leaves it to the program, as if it were not given.
pub const AUTO: &str = "auto";

/// The largest divisor of the number of PEs up to 16: a default that is always possible.
pub(super) fn default_stream(pes: u32) -> u32 {
    (1..=16.min(pes)).rev().find(|words| pes.is_multiple_of(*words)).unwrap_or(1)
}

/// Shift amounts as an example.
fn few(amounts: &[u32]) -> Amounts {
    Amounts::of(amounts.iter().copied()).unwrap_or(Amounts::NONE)
}

macro_rules! machine_keys {
    ($($(#[doc = $doc:literal])+ $key:ident: $type:ty = $rule:expr;)+) => {
        /// Parameters as a configuration file gives them; what is left out has a default.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct MachineSpec {
            $($(#[doc = $doc])+ pub $key: Option<$type>,)+
        }

        /// One grid.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "MachineSpec", into = "MachineSpec")]
        pub struct Machine {
            $(pub(super) $key: $type,)+
        }

        impl TryFrom<MachineSpec> for Machine {
            type Error = MachineError;

            fn try_from(spec: MachineSpec) -> Result<Machine, MachineError> {
                $(let $key = $rule.check(stringify!($key), spec.$key)?;)+
                let machine = Machine { $($key),+ };
                machine.check_together()?;
                Ok(machine)
            }
        }

        impl From<Machine> for MachineSpec {
            fn from(machine: Machine) -> MachineSpec {
                MachineSpec { $($key: machine.$key.given()),+ }
            }
        }

        impl Machine {
            $($(#[doc = $doc])+ pub fn $key(&self) -> $type {
                self.$key
            })+
        }

        impl MachineSpec {
            /// Set a key to a value as the command line gives it; lists without brackets. `auto` leaves it out.
            ///
            /// # Errors
            /// There is no such key, or it has no such value.
            pub fn set(&mut self, key: &str, value: &str) -> Result<(), SetError> {
                match key {
                    $(stringify!($key) if value == AUTO => self.$key = None,)+
                    $(stringify!($key) => self.$key = Some(Setting::read(value).ok_or(SetError::Value)?),)+
                    _ => return Err(SetError::Key),
                }
                Ok(())
            }

            /// The keys that are given, and their values as TOML.
            pub fn given(&self) -> Vec<(&'static str, String)> {
                let all = [$((stringify!($key), self.$key.map(Setting::toml))),+];
                all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
            }

            /// The same without what programs do not see.
            #[must_use]
            pub fn of_programs(&self) -> MachineSpec {
                let hidden: Vec<&str> = keys().iter().filter(|key| !key.affects_programs).map(|key| key.name).collect();
                MachineSpec { $($key: self.$key.filter(|_| !hidden.contains(&stringify!($key))),)+ }
            }

            /// The same, and what it leaves open as large as the largest of `machines` has it.
            #[must_use]
            pub fn covering(&self, machines: &[Machine]) -> MachineSpec {
                MachineSpec {
                    $($key: self.$key.or_else(|| machines.iter().map(|machine| machine.$key).reduce(Setting::with)),)+
                }
            }
        }

        /// All keys, in the order of the table.
        pub fn keys() -> Vec<Key> {
            let mut keys = Vec::new();
            $(
                let rule = $rule;
                keys.push(rule.key(stringify!($key), concat!($($doc),+)));
                let $key = rule.default;
                let _ = $key;
            )+
            keys
        }
    };
}

machine_keys! {
    /// Processing units (rows of the grid).
    pus: u32 = Rule::number(8, 1..=MOST_ROWS).range_doc("1..=128, or \"auto\": as many as the board holds");
    /// Processing engines per PU (columns of the grid).
    pes_per_pu: u32 = Rule::number(8, 1..=MOST_COLUMNS);
    /// Bits of a word.
    word: u32 = Rule::number(16, 8..=32);
    /// Bits of an accumulator.
    accumulator: u32 = Rule::number(default_accumulator(word), 2 * word..=96).range_doc("2 * word..=96")
        .default_doc("as the program needs on a grid for a board, but at most, and else, 48 for words up to 16 bits, 80 above");
    /// Words per transfer of the input stream; a divisor of the number of PEs.
    stream_words: u32 = Rule::number(default_stream(pus * pes_per_pu), 1..=MOST_WORDS).default_doc("the largest divisor up to 16");
    /// Words per transfer of the output stream; a power of two that divides `pus`.
    output_words: u32 = Rule::number(1, 1..=MOST_WORDS).default_doc("as many as the board takes, 1 without a board");
    /// Words that leave the grid in one beat and wait in the output FIFO, from which they go while the next step computes; a power of two that divides `pus`, or the number of PEs.
    emit_words: u32 = Rule::number(0, 2..=MOST_PES).zero_means("as many as `output_words`");
    /// Words of model scratchpad (weights) per PE.
    model_depth: u32 = Rule::words(256, 2..=1 << 16).default_doc("as needed");
    /// Words of data scratchpad per PE and bank; there are two banks.
    data_depth: u32 = Rule::depth(256, 2..=1 << 15).default_doc("as needed");
    /// Words of each of the two temporary scratchpads per PE.
    temporary_depth: u32 = Rule::words(64, 2..=1 << 16).default_doc("as needed");
    /// Words, as wide as the accumulator, of the gradient scratchpad per PE, in which sums over a batch wait between its tiles.
    gradient_depth: u32 = Rule::depth(0, 2..=1 << 16).zero_means("batches are not cut").default_doc("as needed");
    /// A way out of the gradient scratchpads and back, for boards that share every batch.
    partial_sums: bool = Rule::any(false);
    /// Words of a scratchpad from which synthesis is told to make it of block memories, and below which of look-up tables.
    block_depth: u32 = Rule::number(0, 1..=1 << 17).zero_means("synthesis decides").of_hardware_only()
        .default_doc("0; where pads lie in rows, what keeps shallow ones in look-up tables; on a board with too few of these, what leaves them to shallow ones");
    /// Scratchpads of all PEs of a row, whose addresses are the same, lie side by side in one memory.
    pads_in_rows: bool = Rule::any(false).of_hardware_only()
        .default_doc("if scratchpads of block memories would decide a board's clock, or steps get shorter by it");
    /// An output register behind each scratchpad, so that block memories do not decide the clock: what is written can be read a cycle later.
    pad_register: bool = Rule::any(false).default_doc("if scratchpads of block memories would decide a board's clock");
    /// Instructions per stream.
    program_depth: u32 = Rule::depth(64, 4..=MOST_INSTRUCTIONS).default_doc("as needed");
    /// Loops of an instruction; of programs with more of them parts are spelled out.
    loops: u32 = Rule::number(FEWEST_LOOPS, FEWEST_LOOPS..=LEVELS as u32).default_doc("as many as the program has, and at least 4");
    /// Entries of the function tables.
    table_entries: u32 = Rule::depth(1024, 64..=1 << 14).zero_means("no function units")
        .default_doc("1024, 2048 for a program whose functions would lose accuracy otherwise or, without a board, take steps to be accurate, 0 for one without functions");
    /// Beats that the output FIFO holds.
    output_fifo: u32 = Rule::depth(32, 4..=4096);
    /// A divider in each root unit, beside its function unit.
    divider: bool = Rule::any(false).default_doc("if the program divides");
    /// Accumulators and trees take the largest or smallest as well as the sum.
    extremes: bool = Rule::any(false).default_doc("if the program has maxima or minima of several values");
    /// Processing engines square the difference of two words in one beat.
    squares: bool = Rule::any(false).default_doc("if the program sums squared differences");
    /// Processing engines and roots make a negative result 0 in the beat that rounds it.
    rectifiers: bool = Rule::any(false).default_doc("if the program has rectifiers");
    /// Rectifiers make a result that is larger than a limit of the instruction that limit.
    limits: bool = Rule::any(false).default_doc("if the program has rectifiers with limits");
    /// Buses that bring results of rows to columns with the same number, modulo the fewer of both; on grids where one number divides the other.
    column_buses: bool = Rule::any(false).default_doc("if the steps get shorter by it, and false on a board");
    /// A scalar unit beside the global root, for values that are the same in all PEs.
    scalar: bool = Rule::any(false).default_doc("if the steps get shorter by it, and false on a board");
    /// Places by which a PE can shift the start of a sum to the left; short lists make small PEs (up to 8 amounts: no barrel).
    alignments: Amounts = Rule::any(Amounts::ANY).range_doc("0..=63").example(few(&[0, 14, 15, 16]))
        .default_doc("as the program needs on a grid for a board, else any");
    /// Places by which a PE can shift a sum to the right.
    shifts: Amounts = Rule::any(Amounts::ANY).range_doc("0..=63").example(few(&[0, 14, 15, 16])).default_doc("likewise");
    /// Places by which a root can shift a sum to the right.
    root_shifts: Amounts = Rule::any(Amounts::ANY).range_doc("0..=63").example(few(&[0, 16])).default_doc("likewise");
}

/// Why a key cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// There is none of this name.
    #[error("there is no such key")]
    Key,
    /// The text is not a value of its kind.
    #[error("the key has no such value")]
    Value,
}

impl JsonSchema for MachineSpec {
    fn schema_name() -> Cow<'static, str> {
        "MachineSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties: serde_json::Map<String, serde_json::Value> =
            keys().into_iter().map(|key| (key.name.to_owned(), key.schema.into())).collect();
        json_schema!({
            "description": "Parameters as a configuration file gives them; what is left out has a default.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false
        })
    }
}
