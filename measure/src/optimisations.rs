//! `optimisations`: each of [`compiler::optimisations`] disabled in turn, and what every kernel, published benchmark and network takes without it.
//! Every word of kernels is compared with fixed point.
//!
//! ```text
//! cargo run --release -p measure -- optimisations             all, into docs/speed.md; ten minutes
//! cargo run --release -p measure -- optimisations doubles     only these
//! ```

use crate::{Outcome, Project};
use compiler::optimisations::{Disabled, Optimisation};
use sim::benchmarks::{self, Prepared};
use std::collections::BTreeMap;
use std::error::Error;
use workbench::kernels::{self, OUTPUTS};
use workbench::networks;
use workbench::report::figures::figure;

/// Programs of a row: those that lose most come first.
const SHOWN: usize = 3;

/// Cycles by program and grid, without one of them; none where the machine cannot run it.
type Cycles = BTreeMap<String, Option<f64>>;

fn cycles(project: &Project, disabled: Option<Optimisation>) -> Result<Cycles, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    let disabled: Disabled = disabled.into_iter().collect();
    for kernel in kernels::read().map_err(|failure| failure.to_string())? {
        let row = kernels::measure(&kernel, OUTPUTS[1], disabled, false, &());
        found.insert(kernel.name, Some(row.map_err(|failure| failure.to_string())?.cycles_per_sample));
    }
    for benchmark in
        benchmarks::read(&project.shell.read_file("programs/benchmarks.toml")?).map_err(|wrong| wrong.message)?
    {
        let text = project.shell.read_file(format!("programs/{}", benchmark.program))?;
        for run in &benchmark.runs {
            let prepared = Prepared::new_without(&benchmark, run, &text, disabled).ok();
            let pace = prepared.map(|prepared| prepared.pace()).transpose().map_err(|stuck| stuck.to_string())?;
            let name = format!("{}, batch {}, {} x {}", benchmark.name, run.batch, run.pus, run.pes_per_pu);
            found.insert(name, pace.map(|pace| pace.cycles_per_sample));
        }
    }
    for network in networks::read().map_err(|failure| failure.to_string())?.iter().filter(|network| !network.long) {
        let row = networks::measure(network, disabled, &()).map_err(|failure| failure.to_string())?;
        let [rows, columns] = network.grid;
        let name = format!("{}, {} records, {rows} x {columns}", network.name, network.records);
        found.insert(name, row.measured.map(|measured| measured.cycles));
    }
    Ok(found)
}

/// Of the cycles without an optimisation those that remain with it.
fn part((_, with, without): &(&str, f64, Option<f64>)) -> f64 {
    without.map_or(0.0, |without| with / without)
}

/// Measure, and write the table.
#[allow(clippy::print_stdout, reason = "rows appear as they are measured")]
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let wanted: Vec<Optimisation> = match arguments {
        [] => Optimisation::all().collect(),
        names => names.iter().map(|name| name.parse()).collect::<Result<_, String>>()?,
    };
    let now = cycles(project, None)?;
    let mut table =
        "| optimisation | what it does | programs that it serves most, and their cycles without it |\n|---|---|---|\n"
            .to_owned();
    for optimisation in wanted {
        let without = cycles(project, Some(optimisation))?;
        let mut slower: Vec<(&str, f64, Option<f64>)> = now
            .iter()
            .filter_map(|(name, &with)| Some((name.as_str(), with?, without[name])))
            .filter(|row| row.2.is_none_or(|less| row.1 < less))
            .collect();
        slower.sort_by(|a, b| part(a).total_cmp(&part(b)));
        let shown = if arguments.is_empty() { SHOWN } else { slower.len() };
        let cells: Vec<String> = slower
            .iter()
            .take(shown)
            .map(|(name, with, without)| {
                format!("{name} {} ({})", figure(*with), without.map_or("refused".to_owned(), figure))
            })
            .collect();
        let cells = if cells.is_empty() { "none of these".to_owned() } else { cells.join(", ") };
        let row = format!("| *{optimisation}* | {} | {cells} |\n", optimisation.does());
        print!("{row}");
        table += &row;
    }
    if arguments.is_empty() { project.put("docs/speed.md", "optimisations", &table) } else { Ok(()) }
}
