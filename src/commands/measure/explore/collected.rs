//! Results of a workflow's jobs, as one table.

use super::Machines;
use super::points::{self, Clock, Point, Share, ranked};
use super::sweep::{Planned, Sweep};
use crate::arguments::Global;
use crate::output::{self, Talk};
use serde::Deserialize;
use std::path::Path;
use workbench::documents::Document;
use workbench::writing::folder::Earlier;
use workbench::writing::{Files, pretty};
use workbench::{Failure, reading};

/// Make the table of the workflow in `folder`, and write it to its folder `report`.
///
/// # Errors
/// It is no workflow; a result is damaged; the report cannot be written.
pub(super) fn run(global: &Global, folder: &Path, talk: &Talk) -> Result<(), Failure> {
    let sweep = Sweep::read(folder)?;
    let points = sweep.points.iter().map(|planned| collected(folder, &sweep, planned));
    let points = ranked(points.collect::<Result<Vec<Point>, Failure>>()?);
    let open: usize = points.iter().map(|point| point.open).sum();
    let board =
        if sweep.synthesis { format!("{} at {} MHz", sweep.board, sweep.clock_mhz) } else { "no board".to_owned() };
    let to_come = if open > 0 { format!("; {open} results are to come") } else { String::new() };
    let seeds = match sweep.place_seeds.len() {
        0 => String::new(),
        seeds => format!("; {seeds} seeds of place and route"),
    };
    let about = format!("{board}; {} machines{seeds}{to_come}", points.len());
    let mut files = Files::new();
    files.add("table.csv", points::csv(&points));
    files.add("table.json", pretty(&Document::new(Machines { machines: points.clone() })));
    files.add("index.html", points::page(&format!("{}: a sweep", sweep.program), &about, &points)?);
    let report = folder.join("report");
    files.publish(&report, Earlier::Removed, &global.guard)?;
    talk.say(format!("wrote {}{to_come}", report.join("index.html").display()));
    output::either(global.format, || points::text(&points), || Document::new(Machines { machines: points.clone() }))
}

/// A result of a job, as far as the table needs it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Done {
    Measured { machines: Vec<Point> },
    Synthesised { synthesis: Synthesis },
    Placed { clocks: Vec<fpga::flow::Clock> },
    Refused { diagnostics: Vec<Problem> },
}

#[derive(Deserialize)]
struct Synthesis {
    cells: Vec<Cells>,
}

#[derive(Deserialize)]
struct Cells {
    name: String,
    used: u64,
    available: u64,
}

#[derive(Deserialize)]
struct Problem {
    message: String,
}

/// The result of a job; nothing where it is not there yet.
fn result(folder: &Path, planned: &Planned, job: &str) -> Result<Option<Done>, Failure> {
    let path = folder.join("results").join(&planned.name).join(format!("{job}.json"));
    if !path.exists() {
        return Ok(None);
    }
    let text = reading::text(&path, reading::DOCUMENT)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Failure::json(path.display().to_string(), text, format!("this is no result of a job: {error}"), &error)
    })
}

/// All that is known of a machine.
fn collected(folder: &Path, sweep: &Sweep, planned: &Planned) -> Result<Point, Failure> {
    let &Planned { pus, pes_per_pu, stream_words, batch, word, .. } = planned;
    let mut point =
        Point { pus, pes_per_pu, stream_words, batch, word, refused: planned.refused.clone(), ..Point::default() };
    if point.refused.is_some() {
        return Ok(point);
    }
    match result(folder, planned, "measure")? {
        Some(Done::Measured { machines }) => {
            let measured = machines.into_iter().next().unwrap_or_default();
            point = Point { rank: None, best: false, ..measured };
        }
        other => set_aside(&mut point, other),
    }
    if sweep.synthesis {
        match result(folder, planned, "synth")? {
            Some(Done::Synthesised { synthesis }) => add_netlist(&mut point, &synthesis),
            other => set_aside(&mut point, other),
        }
    }
    let (mut asked, mut reached, mut lost) = (sweep.clock_mhz, Vec::new(), 0);
    for seed in &sweep.place_seeds {
        match result(folder, planned, &format!("place-{seed}"))? {
            Some(Done::Placed { clocks }) => {
                let slack = |clock: &fpga::flow::Clock| clock.achieved_mhz / clock.constraint_mhz;
                let slowest = clocks.iter().min_by(|a, b| slack(a).total_cmp(&slack(b)));
                if let Some(clock) = slowest {
                    asked = clock.constraint_mhz;
                    reached.push(clock.achieved_mhz);
                }
            }
            // Some seeds without a place are luck, all of them are the machine.
            Some(Done::Refused { .. }) if lost + 1 < sweep.place_seeds.len() => lost += 1,
            other => set_aside(&mut point, other),
        }
    }
    if let Some(clock) = Clock::of(asked, reached, lost) {
        slow_down(&mut point, &clock);
        point.clock = Some(clock);
    }
    point.joules_per_sample = sweep.watts.zip(point.samples_per_second).map(|(watts, speed)| watts / speed);
    Ok(point)
}

/// A job that is not done, or has refused the machine.
fn set_aside(point: &mut Point, done: Option<Done>) {
    match done {
        Some(Done::Refused { diagnostics }) => {
            let reason = diagnostics.first().map_or("refused", |problem| &problem.message);
            point.refused.get_or_insert_with(|| reason.to_owned());
        }
        Some(_) => point.refused = Some("its result is that of another job".to_owned()),
        None => point.open += 1,
    }
}

/// What a netlist takes stands in the place of what was estimated.
fn add_netlist(point: &mut Point, synthesis: &Synthesis) {
    for Cells { name, used, .. } in &synthesis.cells {
        match name.as_str() {
            "DSP" => point.dsp = Some(*used),
            "BRAM" => point.bram = Some(*used),
            "LUT" => point.lut = Some(*used),
            _ => {}
        }
    }
    let kinds = synthesis.cells.iter().map(|cells| (cells.name.as_str(), cells.used, cells.available));
    point.fullest = Share::fullest(kinds);
    point.fits = point.fullest.as_ref().map(|fullest| fullest.share <= 1.0);
}

/// A board whose clock is missed runs at the median of what is reached; a serial line is as fast as before.
fn slow_down(point: &mut Point, clock: &Clock) {
    let Some((speed, cycles)) = point.samples_per_second.zip(point.cycles_per_sample) else { return };
    let slower = if point.limited_by.as_deref() == Some("link") {
        speed.min(clock.median_mhz * 1e6 / cycles)
    } else {
        speed * (clock.median_mhz / clock.asked_mhz).min(1.0)
    };
    point.samples_per_second = Some(slower);
}
