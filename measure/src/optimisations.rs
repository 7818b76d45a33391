//! `optimisations`: each of [`compiler::optimisations`] disabled in turn, and what every kernel takes without it. Every word is compared with fixed
//! point.
//!
//! ```text
//! cargo run --release -p measure -- optimisations             all, into docs/speed.md; five minutes
//! cargo run --release -p measure -- optimisations doubles     only these: cycles of each kernel with all of them, and without
//! ```

use crate::{Outcome, Project};
use compiler::optimisations::Optimisation;
use std::collections::BTreeMap;
use std::error::Error;
use workbench::kernels::{self, OUTPUTS};
use workbench::report::figures::figure;

/// Kernels of a row: those that lose most come first.
const SHOWN: usize = 3;

/// Cycles by kernel, without one of them.
fn cycles(disabled: Option<Optimisation>) -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    for kernel in kernels::read().map_err(|failure| failure.to_string())? {
        let row = kernels::measure(&kernel, OUTPUTS[1], disabled.into_iter().collect(), false, &());
        found.insert(kernel.name, row.map_err(|failure| failure.to_string())?.cycles_per_sample);
    }
    Ok(found)
}

/// Measure, and write the table.
#[allow(clippy::print_stdout, reason = "rows appear as they are measured")]
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let wanted: Vec<Optimisation> = match arguments {
        [] => Optimisation::all().collect(),
        names => names.iter().map(|name| name.parse()).collect::<Result<_, String>>()?,
    };
    let now = cycles(None)?;
    let mut table =
        "| optimisation | what it does | kernels that it serves most, and their cycles without it |\n|---|---|---|\n"
            .to_owned();
    for optimisation in wanted {
        let without = cycles(Some(optimisation))?;
        let mut changed: Vec<(&str, f64, f64)> =
            now.iter().map(|(name, &with)| (name.as_str(), with, without[name])).filter(|row| row.1 != row.2).collect();
        changed.sort_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
        let cells: Vec<String> = changed
            .iter()
            .take(SHOWN)
            .map(|(name, with, without)| format!("{name} {} ({})", figure(*with), figure(*without)))
            .collect();
        let cells = if cells.is_empty() { "none of these".to_owned() } else { cells.join(", ") };
        let row = format!("| *{optimisation}* | {} | {cells} |\n", optimisation.does());
        print!("{row}");
        table += &row;
    }
    if arguments.is_empty() { project.put("docs/speed.md", "optimisations", &table) } else { Ok(()) }
}
