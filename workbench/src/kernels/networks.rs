//! Networks as others publish them: how long a record takes, beside what no grid of this size can beat.
//!
//! ```text
//! programs/networks.toml ──▶ Network ──▶ Function, on made-up weights and records ──▶ array ──▶ Row
//! ```

use super::BoundBy;
use crate::config::RecordsPerStep;
use crate::failure::Failure;
use crate::functions::Function;
use crate::library;
use crate::progress::Progress;
use crate::project::{Project, Request};
use arch::{Code, Diagnostic};
use compiler::optimisations::Disabled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::array::Array;
use sim::grid::Stalls;
use std::path::Path;
use std::time::Instant;

/// The table of networks.
pub const TABLE: &str = "programs/networks.toml";
/// Words of input per cycle, bits of a word, beats of output that wait.
const MACHINE: [(&str, u32); 3] = [("stream_words", 16), ("word", 16), ("output_fifo", 64)];

/// A network on a grid.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What it is called.
    pub name: String,
    /// The program, in `programs/`.
    pub program: String,
    /// Rows and columns of PEs.
    pub grid: [u32; 2],
    /// Records of a step.
    #[serde(default = "one")]
    pub records: u32,
    /// Words of output per cycle.
    #[serde(default = "one")]
    pub output_words: u32,
    /// The clock of a board with such a grid.
    pub megahertz: u32,
    /// A test holds it, and its words are compared with fixed point.
    #[serde(default)]
    pub small: bool,
    /// It takes minutes: measured only on request.
    #[serde(default)]
    pub long: bool,
}

/// A network that was measured, or why it was not.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Its name in programs/networks.toml.
    pub name: String,
    /// Rows and columns of PEs.
    pub grid: [u32; 2],
    /// Records of a step.
    pub records: u32,
    /// Words of output per cycle.
    pub output_words: u32,
    /// What was measured; nothing where the machine cannot run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// Seconds from the file to the image, on this computer.
    pub compile_seconds: f64,
    /// Why there is no measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Cycles and words.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Cycles from the start of a record to the start of the next, measured on the array.
    pub cycles: f64,
    /// What no grid of this size can beat.
    pub bound: f64,
    /// The resource whose bound that is.
    pub bound_by: BoundBy,
    /// `cycles` over `bound`.
    pub distance: f64,
    /// Cycles of a step alone, from its first word of input to its last word of output.
    pub latency_cycles: u64,
    /// Records per second at the clock of a board with such a grid.
    pub per_second: f64,
    /// Words of all pads of a PE, both banks of those for data.
    pub words_per_pe: u32,
    /// Words of the array that were compared with fixed point, all equal; only of small networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words_compared: Option<u64>,
}

fn one() -> u32 {
    1
}

/// Read the table.
///
/// # Errors
/// It cannot be read, or is not what this module knows.
pub fn read() -> Result<Vec<Network>, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        network: Vec<Network>,
    }
    let source = library::read(Path::new(TABLE))?;
    let table = toml::from_str(&source.text).map(|table: Table| table.network);
    table.map_err(|error| Failure::about(&source, vec![Diagnostic::global(Code::Config, error.to_string())]))
}

/// Compile a network, with fewer optimisations if that is asked for, and measure it.
///
/// # Errors
/// Its file is not there, or is wrong; words differ.
pub fn measure(network: &Network, disabled: Disabled, progress: &dyn Progress) -> Result<Row, Failure> {
    let [pus, pes_per_pu] = network.grid;
    let own = [("pus", pus), ("pes_per_pu", pes_per_pu), ("output_words", network.output_words)];
    // A word of each row leaves the grid at once, and waits for its turn in the output stream.
    let emit = (network.output_words < pus).then_some(("emit_words", pus));
    let keys = own.into_iter().chain(emit).chain(MACHINE);
    let machine = keys.map(|(key, value)| (key.to_owned(), value.to_string())).collect();
    let path = Path::new("programs").join(&network.program);
    let records = Some(RecordsPerStep::Count(network.records));
    let project = Project::open(&Request { program: Some(path), machine, records, ..Request::default() })?;
    let begun = Instant::now();
    let function = Function::new(&project.disabled(disabled), None, progress);
    let row = Row {
        name: network.name.clone(),
        grid: network.grid,
        records: network.records,
        output_words: network.output_words,
        measured: None,
        compile_seconds: begun.elapsed().as_secs_f64(),
        refused: None,
    };
    match function {
        Ok(function) => Ok(Row { measured: Some(measured(network, &function)?), ..row }),
        Err(failure) => match refusal(&failure) {
            Some(why) => Ok(Row { refused: Some(why), ..row }),
            None => Err(failure),
        },
    }
}

/// What the machine cannot do is a row; what is wrong with a file ends the table.
fn refusal(failure: &Failure) -> Option<String> {
    let Failure::Diagnostics { diagnostics, .. } = failure else { return None };
    diagnostics.iter().find(|error| error.code == Code::Backend).map(|error| error.message.clone())
}

fn measured(network: &Network, function: &Function) -> Result<Measured, Failure> {
    let pace = function.pace()?;
    let climb = &function.climb;
    let compared = || {
        let compared = climb.run(Array::new(&climb.image().machine), Stalls::none());
        compared.map_err(|fall| Failure::Bug(format!("{}: {fall}", network.name)))
    };
    let used = climb.compiled.used;
    Ok(Measured {
        cycles: pace.cycles_per_sample,
        bound: pace.bounds.bound,
        bound_by: BoundBy::of(&pace.bounds.by_resource),
        distance: pace.cycles_per_sample / pace.bounds.bound,
        latency_cycles: pace.latency_cycles,
        per_second: 1e6 * f64::from(network.megahertz) / pace.cycles_per_sample,
        words_per_pe: used.model + 2 * used.data + 2 * used.temporary,
        words_compared: if network.small { Some(compared()?.words) } else { None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_its_rows_are_different() {
        let networks = read().unwrap();
        assert!(networks.iter().filter(|network| network.small).count() >= 3);
        for (number, network) in networks.iter().enumerate() {
            assert!(!network.small || !network.long, "{}", network.name);
            let same = |other: &Network| {
                other.name == network.name && (other.grid, other.records) == (network.grid, network.records)
            };
            assert!(!networks[..number].iter().any(same), "{} twice", network.name);
        }
    }
}
