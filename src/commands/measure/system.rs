//! `bench --system`: trainings on simulated boards, with link and store, end to end; and the samples, for programs on other computers.

use crate::arguments::{Bench, Global};
use crate::output::{self, Talk};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use workbench::documents::Document;
use workbench::report::trained::time;
use workbench::simulated::System;
use workbench::system::{self, Case, Energy, Row, Run, Target, Way};
use workbench::writing::{self, Files};
use workbench::{Failure, Training, samples};

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
    if let Some(folder) = &options.samples {
        let mut files = Files::new();
        for case in cases.iter().filter(|case| case.runs.iter().any(|run| is_wanted(case, run))) {
            add_samples(case, &mut files, talk)?;
        }
        files.add("rows.json", writing::pretty(&Document::new(Systems { systems: rows.clone() })));
        files.write(folder)?;
    }
    if options.page {
        return output::result(&page(&rows));
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

/// What a program elsewhere needs for the same training.
#[derive(Serialize)]
struct Task<'a> {
    name: &'a str,
    program: &'a str,
    /// The step size.
    mu: f64,
    /// Names and elements of a sample's tensors.
    fields: Vec<(&'a str, usize)>,
    /// Names and extents of the weights.
    weights: Vec<(&'a str, &'a [u32])>,
    samples: usize,
}

/// `NAME.json`, and `NAME.f32`: weights before the first step, then sample after sample, 32 bits each, lowest byte first.
fn add_samples(case: &Case, files: &mut Files, talk: &Talk) -> Result<(), Failure> {
    let training = system::training(case, &case.runs[0], talk)?;
    let Training { samples, start, project, .. } = &training;
    let constants = project.constants(&samples::defaults(&samples.settings, &samples.encoding));
    let shapes = samples.shapes_of_weights();
    let task = Task {
        name: &case.name,
        program: &case.program,
        mu: constants.iter().find(|(name, _)| name == "mu").map_or(0.0, |&(_, mu)| mu),
        fields: samples.signature.fields.iter().map(|field| (field.name.as_str(), field.elements())).collect(),
        weights: shapes.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect(),
        samples: samples.train.len(),
    };
    let values = start.values().chain(samples.train.iter().flatten()).flatten();
    let bytes: Vec<u8> = values.flat_map(|&value| (value as f32).to_le_bytes()).collect();
    files.add(format!("{}.json", case.name), writing::pretty(&task));
    files.add(format!("{}.f32", case.name), bytes);
    Ok(())
}

/// A count with its thousands.
fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

fn clock(row: &Row) -> String {
    format!("{} MHz{}", row.clock_mhz, if row.placed { "" } else { ", not placed" })
}

fn bound(system: &System, way: Option<Way>) -> String {
    let how = match way {
        Some(Way::Extrapolated) => " (extrapolated)",
        Some(Way::Computed) => " (computed)",
        _ => "",
    };
    format!("{}{how}", system.bound_by.name())
}

/// What is aimed at, and whether it is reached.
fn goal(row: &Row) -> String {
    let fast = row.goal.samples_per_second.map(|goal| format!("{} per second", count(goal)));
    let short = row.goal.seconds.map(time);
    let goals: Vec<String> = [fast, short].into_iter().flatten().collect();
    let missed = if row.reached == Some(true) || goals.is_empty() { "" } else { ", MISSED" };
    goals.join(", ") + missed
}

/// Of a sample.
fn energy(row: &Row) -> String {
    let Some(Energy { joules_per_sample, measured, .. }) = row.energy else { return "-".to_owned() };
    let (scale, unit) = match joules_per_sample {
        many if many >= 1e-3 => (1e3, "mJ"),
        some if some >= 1e-6 => (1e6, "uJ"),
        _ => (1e9, "nJ"),
    };
    format!("{:.1} {unit}, {}", scale * joules_per_sample, if measured { "measured" } else { "estimate" })
}

/// The cells of a row: samples per second, bound, upload, all, time to the target, energy.
fn cells(row: &Row) -> Option<[String; 6]> {
    let system = row.system.as_ref()?;
    let target = row.epochs_to_target.zip(row.seconds_to_target);
    Some([
        count(system.samples_per_second),
        bound(system, row.way),
        time(system.upload_seconds),
        time(system.seconds),
        target.map_or("not reached".to_owned(), |(epochs, seconds)| format!("{} (epoch {epochs})", time(seconds))),
        energy(row),
    ])
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
            clock(row),
            row.store_rows
        ));
        let found = match (cells(row), &row.refused) {
            (Some([rate, bound, upload, all, target, energy]), _) => {
                format!(
                    "{rate} samples per second, bound by the {bound}; upload {upload}, all {all}, target {target}; energy per sample {energy}"
                )
            }
            (None, reason) => format!("does not fit: {}", reason.as_deref().unwrap_or_default()),
        };
        let goal =
            Some(goal(row)).filter(|goal| !goal.is_empty()).map_or(String::new(), |goal| format!("; goal {goal}"));
        text.push_str(&format!("    {found}{goal}\n"));
    }
    text
}

/// The table of docs/system.md.
fn page(rows: &[Row]) -> String {
    let mut text = "| case | batch | epochs | board | grid | clock | samples per second | bound by | upload | all | to the target | energy per sample | goal |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        let refused = || format!("does not fit: {} | | | | |", row.refused.as_deref().unwrap_or_default());
        let found = cells(row).map_or_else(refused, |cells| cells.join(" | "));
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {found} | {} |\n",
            row.case,
            row.batch,
            row.epochs,
            row.board,
            row.grid,
            clock(row),
            goal(row)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([7.0, 999.6, 1000.0, 1_234_567.0].map(count), ["7", "1,000", "1,000", "1,234,567"]);
    }
}
