//! `bench`: the published benchmarks on the array, a sample of them on the generated Verilog, beside their bounds and their peers.

use crate::arguments::{Bench, Global};
use crate::commands::measure::{kernels, networks, system};
use crate::output::{self, Talk};
use arch::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::Serialize;
use sim::array::Array;
use sim::benchmarks::{self, Benchmark, Peers, Prepared, Run};
use sim::pace::Pace;
use std::path::Path;
use workbench::documents::Document;
use workbench::library;
use workbench::report::figures;
use workbench::simulators::Simulator;
use workbench::{Failure, Source};

/// The table of benchmarks.
const TABLE: &str = "programs/benchmarks.toml";
/// Checked on the Verilog if the user names nothing: it has a function and both trees.
const SAMPLE: &str = "logistic_54";

/// The published benchmarks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Benchmarks {
    /// One entry per run.
    benchmarks: Vec<Row>,
}

/// One run of a benchmark.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Row {
    /// Its name in programs/benchmarks.toml.
    name: String,
    /// Samples per update.
    batch: u32,
    /// PEs of the grid.
    pes: u32,
    /// Rows of the grid.
    pus: u32,
    /// Columns of the grid.
    pes_per_pu: u32,
    /// Words of input per cycle.
    stream_words: u32,
    /// Measured, and what no grid of this size can beat; nothing where the machine cannot run it.
    #[serde(flatten)]
    pace: Option<Pace>,
    /// Part of the multiply-add slots that is used.
    utilisation: Option<f64>,
    /// Cycles per sample that are aimed at.
    target: Option<f64>,
    /// Whether they are reached.
    reached: Option<bool>,
    /// Instructions of all streams.
    instructions: Option<usize>,
    /// Words of the array that were compared with fixed point, all equal.
    words_compared: Option<u64>,
    /// Measured on the Verilog.
    rtl_cycles_per_sample: Option<f64>,
    /// Cycles per sample of others.
    peer_rtl: Option<u64>,
    /// Cycles per sample that the simulator of others says.
    peer_simulator: Option<u64>,
    /// Why there is no measurement.
    refused: Option<String>,
}

impl Row {
    fn cycles(&self) -> Option<f64> {
        self.pace.map(|pace| pace.cycles_per_sample)
    }

    fn bound(&self) -> Option<f64> {
        self.pace.map(|pace| pace.bounds.bound)
    }
}

/// Measure, check, print.
pub fn run(global: &Global, options: &Bench, talk: &Talk) -> Result<(), Failure> {
    if options.system {
        return system::run(global, options, talk);
    }
    if options.kernels {
        return kernels::run(global, options, talk);
    }
    if options.networks {
        return networks::run(global, options, talk);
    }
    let table = library::read(Path::new(TABLE))?;
    let all = benchmarks::read(&table.text).map_err(|error| Failure::about(&table, vec![error]))?;
    let known = |name: &String| all.iter().any(|benchmark| benchmark.name == *name);
    if let Some(unknown) = options.names.iter().chain(&options.rtl).find(|name| !known(name)) {
        let names = all.iter().map(|benchmark| benchmark.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("there is no benchmark `{unknown}`; there are {names}")));
    }
    let wanted = |benchmark: &&Benchmark| options.names.is_empty() || options.names.contains(&benchmark.name);
    let runs: Vec<(&Benchmark, &Run)> = all
        .iter()
        .filter(wanted)
        .flat_map(|benchmark| benchmark.runs.iter().map(move |run| (benchmark, run)))
        .filter(|(_, run)| options.batch.is_none_or(|batch| batch == run.batch))
        .collect();
    let sample = |benchmark: &Benchmark| match (options.no_rtl, options.rtl.as_slice()) {
        (true, _) => false,
        (false, []) => benchmark.name == SAMPLE,
        (false, names) => names.contains(&benchmark.name),
    };
    let measure = |number: usize| -> Result<Row, Failure> {
        let (benchmark, run) = runs[number];
        talk.detail(format!("{}, batch {}", benchmark.name, run.batch));
        measured(benchmark, run, talk, sample(benchmark))
    };
    let rows = crate::jobs::each(runs.len(), global.jobs, &measure);
    let rows = rows.into_iter().collect::<Result<Vec<Row>, Failure>>()?;
    let differs = rows.iter().find(|row| row.rtl_cycles_per_sample.is_some_and(|cycles| Some(cycles) != row.cycles()));
    let differs = differs.map(|row| {
        let cycles = |cycles: Option<f64>| cycles.map_or("none".to_owned(), |cycles| cycles.to_string());
        let (rtl, array) = (cycles(row.rtl_cycles_per_sample), cycles(row.cycles()));
        Failure::Mismatch(format!("{} takes {rtl} cycles per sample on rtl, {array} on array", row.name))
    });
    output::either(
        global.format,
        || text(&rows),
        || Document::new(Benchmarks { benchmarks: rows.clone() }).failed(differs.as_ref()),
    )?;
    differs.map_or(Ok(()), Err)
}

/// One run of a benchmark, measured and compared with fixed point.
///
/// # Errors
/// The program is wrong, a rung differs, a tool is missing.
pub fn measured(benchmark: &Benchmark, run: &Run, talk: &Talk, on_rtl: bool) -> Result<Row, Failure> {
    let Peers { rtl, simulator } = benchmark.peers;
    let mut row = Row {
        name: benchmark.name.clone(),
        batch: run.batch,
        pes: run.pus * run.pes_per_pu,
        pus: run.pus,
        pes_per_pu: run.pes_per_pu,
        stream_words: run.stream_words,
        pace: None,
        utilisation: None,
        target: run.cycles,
        reached: None,
        instructions: None,
        words_compared: None,
        rtl_cycles_per_sample: None,
        peer_rtl: rtl,
        peer_simulator: simulator,
        refused: None,
    };
    let source = library::read(&Path::new("programs").join(&benchmark.program))?;
    let prepared = match Prepared::new(benchmark, run, &source.text) {
        Ok(prepared) => prepared,
        Err(errors) => return refused(row, &source, errors),
    };
    let image = prepared.climb.image();
    let stuck = |what: String| Failure::Bug(format!("{}: {what}", benchmark.name));
    let array = || Array::new(&image.machine);
    let pace = prepared.pace().map_err(|error| stuck(error.to_string()))?;
    row.words_compared = Some(prepared.compare(array()).map_err(|fall| stuck(format!("{fall:?}")))?);
    if on_rtl {
        let rtl = Simulator::build(&image.machine, talk)?;
        let device = || rtl.device(&image.machine);
        row.rtl_cycles_per_sample = Some(prepared.cycles_per_sample(device).map_err(|error| stuck(error.to_string()))?);
        prepared.compare(device()).map_err(|fall| Failure::Mismatch(format!("{} on rtl: {fall:?}", benchmark.name)))?;
    }
    row.pace = Some(pace);
    row.utilisation = Some(pace.utilisation(&image.machine));
    row.target = run.limit(&pace.bounds);
    row.reached = Some(run.reached(pace.cycles_per_sample, &pace.bounds));
    row.instructions =
        Some(image.alu.len() + image.root.len() + image.moves.len() + image.load.len() + image.scalar.len());
    Ok(row)
}

/// A program that the machine cannot run is a row without a measurement; one that is wrong ends the table.
fn refused(row: Row, source: &Source, errors: Vec<Diagnostic>) -> Result<Row, Failure> {
    match errors.iter().find(|error| error.code == Code::Backend) {
        Some(error) => Ok(Row { refused: Some(error.message.clone()), ..row }),
        None => Err(Failure::about(source, errors)),
    }
}

fn cell(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), figures::figure)
}

fn whole(value: Option<u64>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

fn percent(part: Option<f64>) -> String {
    part.map_or("-".to_owned(), |part| format!("{:.1} %", 100.0 * part))
}

fn verdict(row: &Row) -> &'static str {
    match row.reached {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    }
}

fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:22} {:>5} {:>8} {:>5} {:>9} {:>9} {:>8} {:>9} {:>7} {:>9} {:>9} {:>10}\n",
        "", "batch", "grid", "words", "cycles", "rtl", "bound", "used", "target", "reached", "peer rtl", "peer sim"
    );
    for row in rows {
        text.push_str(&format!(
            "{:22} {:>5} {:>8} {:>5} {:>9} {:>9} {:>8} {:>9} {:>7} {:>9} {:>9} {:>10}\n",
            row.name,
            row.batch,
            format!("{}x{}", row.pus, row.pes_per_pu),
            row.stream_words,
            cell(row.cycles()),
            cell(row.rtl_cycles_per_sample),
            cell(row.bound()),
            percent(row.utilisation),
            cell(row.target),
            verdict(row),
            whole(row.peer_rtl),
            whole(row.peer_simulator),
        ));
        if let Some(reason) = &row.refused {
            text.push_str(&format!("    not run: {reason}\n"));
        }
    }
    text + "cycles per sample, from the start of one to the start of the next; `used` is the part of the multiply-add slots\n"
}
