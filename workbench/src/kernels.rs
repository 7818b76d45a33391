//! Kernels that nobody tuned: how far each is from what no grid of this size can beat.
//!
//! ```text
//! programs/kernels.toml ──▶ Kernel ──▶ Function, on made-up records ──┬─▶ array, beside fixed point ──▶ Row
//!                                 └──▶ training step of a batch ──────┘         └─▶ the generated Verilog
//! ```

pub mod networks;

use crate::failure::Failure;
use crate::functions::Function;
use crate::library;
use crate::progress::Progress;
use crate::project::{Project, Request};
use crate::simulators::Simulator;
use arch::{Code, Diagnostic};
use compiler::optimisations::Disabled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::array::Array;
use sim::benchmarks::{Benchmark, Peers, Prepared, Run};
use sim::grid::Stalls;
use sim::ladder::Climb;
use sim::pace::{Pace, PerResource, cycles_per_step};
use std::collections::BTreeMap;
use std::path::Path;

/// How results leave the grid that kernels are measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// Words per transfer.
    pub output_words: u32,
    /// Words of an emitting beat, if they are more: then the output FIFO holds [`QUEUE`] of these beats.
    pub emit_words: u32,
}

/// The grids that docs/kernels.md compares.
pub const OUTPUTS: [Outputs; 3] = [
    Outputs { output_words: 1, emit_words: 0 },
    Outputs { output_words: 8, emit_words: 0 },
    Outputs { output_words: 8, emit_words: 64 },
];
/// Beats that the output FIFO holds where they are wider than transfers: all results of a step, at 64 words a beat.
const QUEUE: u32 = 128;
/// The table of kernels.
pub const TABLE: &str = "programs/kernels.toml";
/// Rows and columns of the grid, words of input per cycle, bits of a word.
const MACHINE: [(&str, u32); 4] = [("pus", 8), ("pes_per_pu", 8), ("stream_words", 16), ("word", 16)];

/// A kernel.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// What it is called.
    pub name: String,
    /// The program, in `programs/`.
    pub program: String,
    /// What it is an example of.
    pub kind: String,
    /// Constants of a program that trains.
    #[serde(default)]
    pub set: BTreeMap<String, f64>,
    /// Samples per update of a program that trains; nothing: it is a function.
    pub batch: Option<u32>,
}

/// The resource that bounds a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// Words that come in.
    Input,
    /// Words that go out.
    Output,
    /// Products of two words, and terms of sums.
    MultiplyAdds,
    /// Quotients.
    Division,
    /// Values of function tables.
    Function,
    /// Values that are compared.
    Comparison,
}

impl BoundBy {
    /// The one that takes most cycles, the first of several.
    pub(crate) fn of(cycles: &PerResource) -> BoundBy {
        let PerResource { input_words, output_words, multiply_adds, divisions, functions, comparisons } = *cycles;
        let all = [
            (input_words, BoundBy::Input),
            (output_words, BoundBy::Output),
            (multiply_adds, BoundBy::MultiplyAdds),
            (divisions, BoundBy::Division),
            (functions, BoundBy::Function),
            (comparisons, BoundBy::Comparison),
        ];
        let largest = |best: (f64, BoundBy), next: (f64, BoundBy)| if next.0 > best.0 { next } else { best };
        all.into_iter().reduce(largest).map_or(BoundBy::Input, |largest| largest.1)
    }
}

impl std::fmt::Display for BoundBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BoundBy::Input => "input",
            BoundBy::Output => "output",
            BoundBy::MultiplyAdds => "multiply-adds",
            BoundBy::Division => "division",
            BoundBy::Function => "function",
            BoundBy::Comparison => "comparison",
        })
    }
}

/// A kernel that was measured.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Its name in programs/kernels.toml.
    pub name: String,
    /// What it is an example of.
    pub kind: String,
    /// Samples per update of a training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Words of output per cycle.
    pub output_words: u32,
    /// Words that leave the grid in one beat, and wait for their cycle; 0: no more than these.
    pub emit_words: u32,
    /// Cycles from the start of a sample, or record, to the start of the next, measured on the array.
    pub cycles_per_sample: f64,
    /// What no grid of this size can beat.
    pub bound: f64,
    /// The resource whose bound that is.
    pub bound_by: BoundBy,
    /// `cycles_per_sample` over `bound`.
    pub distance: f64,
    /// Cycles that a sample takes at least, by resource.
    pub bounds: PerResource,
    /// Words of the array that were compared with fixed point, all equal.
    pub words_compared: u64,
    /// Measured on the Verilog, where every word was compared, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtl_cycles_per_sample: Option<f64>,
}

/// Read the table.
///
/// # Errors
/// It cannot be read, or is not what this module knows.
pub fn read() -> Result<Vec<Kernel>, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        kernel: Vec<Kernel>,
    }
    let source = library::read(Path::new(TABLE))?;
    let table = toml::from_str(&source.text).map(|table: Table| table.kernel);
    table.map_err(|error| Failure::about(&source, vec![Diagnostic::global(Code::Config, error.to_string())]))
}

/// The kernel on both upper rungs and as an image, and how fast that is.
fn prepare(
    kernel: &Kernel,
    Outputs { output_words, emit_words }: Outputs,
    disabled: Disabled,
    progress: &dyn Progress,
) -> Result<(Climb, Pace), Failure> {
    let path = Path::new("programs").join(&kernel.program);
    let Some(batch) = kernel.batch else {
        let queue = (emit_words > 0).then_some(("output_fifo", QUEUE));
        let keys = [("output_words", output_words), ("emit_words", emit_words)].into_iter().chain(queue);
        let keys = MACHINE.into_iter().chain(keys);
        let machine = keys.map(|(key, value)| (key.to_owned(), value.to_string())).collect();
        let project = Project::open(&Request { program: Some(path), machine, ..Request::default() })?;
        let function = Function::new(&project.disabled(disabled), None, progress)?;
        let pace = function.pace()?;
        return Ok((function.climb, pace));
    };
    let source = library::read(&path)?;
    let [pus, pes_per_pu, stream_words, _] = MACHINE.map(|(_, value)| value);
    let run = Run {
        batch,
        pus,
        pes_per_pu,
        stream_words,
        output_words,
        data_depth: None,
        cycles: None,
        bandwidth: None,
        utilisation: None,
    };
    let Kernel { name, program, set, .. } = kernel.clone();
    let benchmark = Benchmark { name, program, set, peers: Peers::default(), runs: Vec::new() };
    let prepared = Prepared::new_without(&benchmark, &run, &source.text, disabled);
    let prepared = prepared.map_err(|errors| Failure::about(&source, errors))?;
    let pace = prepared.pace().map_err(|stuck| Failure::Bug(stuck.to_string()))?;
    Ok((prepared.climb, pace))
}

/// Measure a kernel on a grid whose results leave like this, with fewer means if that is asked for, and compare its words with fixed point, on the array and, if that is
/// asked for, on the generated Verilog.
///
/// # Errors
/// The program is wrong or the machine cannot run it, a rung differs, a tool is missing.
pub fn measure(
    kernel: &Kernel,
    outputs: Outputs,
    disabled: Disabled,
    on_rtl: bool,
    progress: &dyn Progress,
) -> Result<Row, Failure> {
    let (climb, pace) = prepare(kernel, outputs, disabled, progress)?;
    let image = climb.image();
    let stuck = |what: String| Failure::Bug(format!("{}: {what}", kernel.name));
    let compared = climb.run(Array::new(&image.machine), Stalls::none()).map_err(|fall| stuck(fall.to_string()))?;
    let mut row = Row {
        name: kernel.name.clone(),
        kind: kernel.kind.clone(),
        batch: kernel.batch,
        output_words: outputs.output_words,
        emit_words: outputs.emit_words,
        cycles_per_sample: pace.cycles_per_sample,
        bound: pace.bounds.bound,
        bound_by: BoundBy::of(&pace.bounds.by_resource),
        distance: pace.cycles_per_sample / pace.bounds.bound,
        bounds: pace.bounds.by_resource,
        words_compared: compared.words,
        rtl_cycles_per_sample: None,
    };
    if on_rtl {
        let rtl = Simulator::build(&image.machine, progress)?;
        let cycles = cycles_per_step(image, || rtl.device(&image.machine)).map_err(|why| stuck(why.to_string()))?;
        row.rtl_cycles_per_sample = Some(cycles / f64::from(kernel.batch.unwrap_or(1)));
        let compared = climb.run(rtl.device(&image.machine), Stalls::none());
        compared.map_err(|fall| Failure::Mismatch(format!("{} on rtl: {fall}", kernel.name)))?;
    }
    Ok(row)
}

/// The middle one of some distances; the mean of two in the middle.
pub fn median(rows: &[Row]) -> Option<f64> {
    let mut distances: Vec<f64> = rows.iter().map(|row| row.distance).collect();
    distances.sort_by(f64::total_cmp);
    let middle = distances.len() / 2;
    match distances.len() % 2 {
        _ if distances.is_empty() => None,
        0 => Some(f64::midpoint(distances[middle - 1], distances[middle])),
        _ => Some(distances[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_its_programs_exist() {
        let kernels = read().unwrap();
        assert!(kernels.len() >= 20);
        for kernel in &kernels {
            assert!(library::exists(&Path::new("programs").join(&kernel.program)), "{}", kernel.program);
            assert!(
                kernel.batch.is_some() || kernel.set.is_empty(),
                "{}: sizes of functions are their own",
                kernel.name
            );
            assert_eq!(kernels.iter().filter(|other| other.name == kernel.name).count(), 1, "{}", kernel.name);
        }
    }

    #[test]
    fn the_bound_is_that_of_the_largest() {
        let none = PerResource::default();
        assert_eq!(BoundBy::of(&PerResource { divisions: 3.0, output_words: 2.0, ..none }), BoundBy::Division);
        assert_eq!(BoundBy::of(&PerResource { output_words: 3.0, functions: 3.0, ..none }), BoundBy::Output);
        assert_eq!(serde_json::to_value(BoundBy::MultiplyAdds).unwrap(), "multiply-adds");
        assert_eq!(BoundBy::MultiplyAdds.to_string(), "multiply-adds");
    }
}
