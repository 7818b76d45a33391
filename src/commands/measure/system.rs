//! `bench --system`: trainings on simulated boards, with link and store, end to end.

use crate::arguments::{Bench, Global};
use crate::output::{self, Talk};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use workbench::documents::Document;
use workbench::system::{self, Case, Row, Run, Target};
use workbench::{Failure, Training};

/// Whole systems.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Systems {
    /// One entry per run.
    systems: Vec<Row>,
}

/// Measure and print.
pub fn run(global: &Global, options: &Bench, talk: &Talk) -> Result<(), Failure> {
    let cases = system::read()?;
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    known("case", &options.names, &names)?;
    let boards: Vec<&str> = cases.iter().flat_map(|case| &case.runs).map(|run| run.board.as_str()).collect();
    known("board", &options.board, &boards)?;
    let is_wanted = |case: &Case, run: &Run| {
        (options.names.is_empty() || options.names.contains(&case.name))
            && (options.board.is_empty() || options.board.contains(&run.board))
            && options.batch.is_none_or(|batch| batch == run.batch)
    };
    let mut targets = BTreeMap::new();
    let mut rows = Vec::new();
    for case in &cases {
        for run in case.runs.iter().filter(|run| is_wanted(case, run)) {
            talk.detail(format!("{} on {}, batch {}", case.name, run.board, run.batch));
            // The words are the same on every board.
            let mut target = |training: &Training| -> Result<Target, Failure> {
                let key = (&case.name, run.batch, run.epochs);
                if let Some(&known) = targets.get(&key) {
                    return Ok(known);
                }
                let found = system::target(training, talk)?;
                targets.insert(key, found);
                Ok(found)
            };
            rows.push(system::measure(case, run, &mut target, talk)?);
        }
    }
    output::either(global.format, || text(&rows), || Document::new(Systems { systems: rows.clone() }))
}

/// Refuse a name that is not one of `all`.
fn known(what: &str, asked: &[String], all: &[&str]) -> Result<(), Failure> {
    let Some(unknown) = asked.iter().find(|name| !all.contains(&name.as_str())) else { return Ok(()) };
    let mut names = all.to_vec();
    names.sort_unstable();
    names.dedup();
    Err(Failure::Usage(format!("there is no {what} `{unknown}`; there are {}", names.join(", "))))
}

fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!(
            "{}, batch {}, {} epochs on {}: {} PEs at {}, {} rows of store\n",
            row.case,
            row.batch,
            row.epochs,
            row.board,
            row.grid,
            row.clock(),
            row.store_rows
        ));
        let found = match (row.cells(), &row.refused) {
            (Some([rate, bound, upload, all, target, energy]), _) => {
                format!(
                    "{rate} samples per second, bound by the {bound}; upload {upload}, all {all}, target {target}; energy per sample {energy}"
                )
            }
            (None, reason) => format!("does not fit: {}", reason.as_deref().unwrap_or_default()),
        };
        let goal =
            Some(row.goals()).filter(|goal| !goal.is_empty()).map_or(String::new(), |goal| format!("; goal {goal}"));
        text.push_str(&format!("    {found}{goal}\n"));
    }
    text
}
