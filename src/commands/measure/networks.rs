//! `bench --networks`: networks as others publish them, beside what no grid of this size can beat.

use crate::arguments::{Bench, Global};
use crate::output::{self, Talk};
use compiler::optimisations::Disabled;
use schemars::JsonSchema;
use serde::Serialize;
use workbench::Failure;
use workbench::documents::Document;
use workbench::networks::{self, Network, Row};
use workbench::report::figures::figure;

/// Networks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Networks {
    /// One entry per network and grid.
    networks: Vec<Row>,
}

/// Measure, check, print.
pub fn run(global: &Global, options: &Bench, talk: &Talk) -> Result<(), Failure> {
    let all = networks::read()?;
    if let Some(unknown) = options.names.iter().find(|name| !all.iter().any(|network| network.name == **name)) {
        let mut names: Vec<&str> = all.iter().map(|network| network.name.as_str()).collect();
        names.dedup();
        return Err(Failure::Usage(format!("there is no network `{unknown}`; there are {}", names.join(", "))));
    }
    let named = |network: &Network| match options.names.as_slice() {
        [] => options.long || !network.long,
        names => names.contains(&network.name),
    };
    let wanted: Vec<&Network> = all.iter().filter(|network| named(network)).collect();
    let measure = |number: usize| -> Result<Row, Failure> {
        let network = wanted[number];
        let [rows, columns] = network.grid;
        talk.detail(format!("{}, {rows} x {columns}, {} records per step", network.name, network.records));
        networks::measure(network, Disabled::NOTHING, &())
    };
    let rows: Result<Vec<Row>, Failure> = crate::jobs::each(wanted.len(), global.jobs, &measure).into_iter().collect();
    let rows = rows?;
    output::either(global.format, || text(&rows), || Document::new(Networks { networks: rows.clone() }))
}

fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:20} {:>8} {:>7} {:>10} {:>10}  {:14} {:>8} {:>9} {:>12} {:>9} {:>8}\n",
        "", "grid", "records", "cycles", "bound", "by", "distance", "latency", "per second", "words/PE", "seconds"
    );
    for row in rows {
        let grid = format!("{} x {}", row.grid[0], row.grid[1]);
        let measured = match &row.measured {
            Some(measured) => format!(
                "{:>10} {:>10}  {:14} {:>8.2} {:>9} {:>12} {:>9}",
                figure(measured.cycles),
                figure(measured.bound),
                measured.bound_by.to_string(),
                measured.distance,
                measured.latency_cycles,
                figure(measured.per_second),
                measured.words_per_pe
            ),
            None => format!("refused: {}", row.refused.as_deref().unwrap_or_default()),
        };
        text.push_str(&format!(
            "{:20} {grid:>8} {:>7} {measured} {:>8.1}\n",
            row.name, row.records, row.compile_seconds
        ));
    }
    text + "cycles from the start of a record to the start of the next; seconds from the file to the image\n"
}
