//! `explore`: the same training step on many machines: cycles, resources, and the Pareto front.

use crate::arguments::{Explore, Global};
use crate::jobs;
use crate::output::{self, Talk};
use crate::subject;
use arch::Machine;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use workbench::config::Microcode;
use workbench::design::{Design, prepare};
use workbench::documents::Document;
use workbench::resources::{self, Estimate};
use workbench::simulated::Bound;
use workbench::{Choices, Failure, system};

/// The same training step on many machines, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Machines {
    /// One entry per combination: those that the board holds, the fastest first; those that it does not hold; those that cannot run the program.
    machines: Vec<Point>,
}

/// One machine, as asked for and as measured.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
struct Point {
    /// Rows of the grid.
    pus: u32,
    /// Columns of the grid.
    pes_per_pu: u32,
    /// Words of input per cycle.
    stream_words: u32,
    /// Samples per update.
    batch: u32,
    /// Place among the machines that the board holds, the fastest first; equally fast ones by their look-up tables.
    rank: Option<usize>,
    /// Measured on the array.
    cycles_per_sample: Option<f64>,
    /// Of the whole board at its clock, once its samples are there: the grid's, or what the stream or the serial line brings.
    samples_per_second: Option<f64>,
    /// What keeps it from being faster: `link`, or what the bound of the grid is by, such as `multiply-adds`.
    limited_by: Option<&'static str>,
    /// Multipliers, estimated.
    dsp: Option<u64>,
    /// Block memories, estimated.
    bram: Option<u64>,
    /// Look-up tables, estimated.
    lut: Option<u64>,
    /// What the board has least left of; nothing where the board is not known.
    fullest: Option<Share>,
    /// Whether the board has what it takes; nothing where the board is not known.
    fits: Option<bool>,
    /// No other machine is as fast with as few look-up tables.
    best: bool,
    /// Why it cannot run the program.
    refused: Option<String>,
}

/// How much of something on a board is taken.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct Share {
    /// `DSP`, `BRAM` or `LUT`.
    resource: &'static str,
    /// Part of what the board has; above 1 it does not fit.
    share: f64,
}

/// Try every combination.
pub fn run(global: &Global, options: &Explore, talk: &Talk) -> Result<(), Failure> {
    subject::no_records(&options.target)?;
    let project = subject::project(global, options.target.program.as_deref(), &options.target.entry)?;
    let spec = &project.config.spec;
    let machine = &project.config.machine;
    let or = |asked: &[u32], own: u32| if asked.is_empty() { vec![own] } else { asked.to_vec() };
    let asked = options.target.plan.choices();
    let (_, plan) = project.plan(&asked)?;
    let mut points = Vec::new();
    for &pus in &or(&options.pus, machine.pus()) {
        for &pes_per_pu in &or(&options.pes_per_pu, machine.pes_per_pu()) {
            for &stream_words in &or(&options.stream_words, machine.stream_words()) {
                for &batch in &or(&options.batches, plan.schedule.batch as u32) {
                    points.push((pus, pes_per_pu, stream_words, batch));
                }
            }
        }
    }
    let silent = Talk::silent();
    // The golden training does not depend on the machine, only on the batch.
    let mut bases = BTreeMap::new();
    for &(_, _, _, batch) in &points {
        if let std::collections::btree_map::Entry::Vacant(e) = bases.entry(batch) {
            let asked = Choices { batch: Some(batch), ..asked };
            e.insert(prepare(&project, &subject::data(&options.target), &asked, talk)?);
        }
    }
    let measure = |number: usize| -> Result<Point, Failure> {
        let (pus, pes_per_pu, stream_words, batch) = points[number];
        let mut point = Point { pus, pes_per_pu, stream_words, batch, ..Point::default() };
        let mut project = project.clone();
        let (pus, pes_per_pu, stream_words) = (Some(pus), Some(pes_per_pu), Some(stream_words));
        project.config.spec = arch::machine::MachineSpec { pus, pes_per_pu, stream_words, ..spec.clone() };
        match Machine::try_from(project.config.spec.clone()) {
            Ok(machine) => project.config.machine = machine,
            Err(error) => {
                point.refused = Some(error.to_string());
                return Ok(point);
            }
        }
        let (training, ranges) = &bases[&batch];
        let design = match Design::of(&project, training, ranges, &silent) {
            Ok(design) => design,
            Err(Failure::DoesNotFit { diagnostics, .. }) => {
                point.refused = diagnostics.first().map(|diagnostic| diagnostic.message.clone());
                return Ok(point);
            }
            Err(failure) => return Err(failure),
        };
        let pace = design.pace()?;
        let board = &project.board;
        let family = board.facts().map(|facts| facts.device.family());
        let Estimate { dsp, bram, lut, .. } = match project.config.build.microcode {
            Microcode::Ram => resources::estimate(&design.images.machine, family),
            Microcode::Rom => {
                resources::estimate(&design.images.full.as_ref().unwrap_or(&design.images.predict).image, family)
            }
        };
        point.cycles_per_sample = Some(pace.cycles_per_sample);
        let (speed, bound_by) = system::expected(&project, &design)?;
        point.samples_per_second = Some(speed);
        point.limited_by = Some(if bound_by == Bound::Grid { pace.bounds.bound_by } else { bound_by.name() });
        (point.dsp, point.bram, point.lut) = (Some(dsp), Some(bram), Some(lut));
        point.fullest = board.facts().and_then(|facts| {
            let has = &facts.resources;
            let kinds = [("DSP", dsp, has.dsp), ("BRAM", bram, has.bram), ("LUT", lut, has.lut)];
            let shares =
                kinds.map(|(resource, taken, has)| Share { resource, share: taken as f64 / has.max(1) as f64 });
            shares.into_iter().max_by(|a, b| a.share.total_cmp(&b.share))
        });
        point.fits = point.fullest.map(|fullest| fullest.share <= 1.0);
        talk.detail(format!("{} of {} machines", number + 1, points.len()));
        Ok(point)
    };
    let found = jobs::each(points.len(), global.jobs, &measure).into_iter().collect::<Result<Vec<Point>, Failure>>()?;
    let found = ranked(found);
    output::either(global.format, || text(&found), || Document::new(Machines { machines: found.clone() }))
}

/// The best first, with their ranks, and those on the Pareto front marked.
fn ranked(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| {
        let class = |point: &Point| (point.refused.is_some(), point.fits == Some(false));
        let speed = |point: &Point| point.samples_per_second.unwrap_or(0.0);
        class(a).cmp(&class(b)).then(speed(b).total_cmp(&speed(a))).then(a.lut.cmp(&b.lut))
    });
    let runs = |point: &Point| point.refused.is_none() && point.fits != Some(false);
    let costs: Vec<Option<(f64, u64)>> =
        points.iter().map(|p| p.samples_per_second.zip(p.lut).filter(|_| runs(p))).collect();
    for (number, (point, cost)) in points.iter_mut().zip(&costs).enumerate() {
        let Some((speed, lut)) = *cost else { continue };
        let beats = |&(s, l): &(f64, u64)| s >= speed && l <= lut && (s > speed || l < lut);
        point.best = !costs.iter().flatten().any(beats);
        point.rank = Some(number + 1);
    }
    points
}

fn text(points: &[Point]) -> String {
    let mut text = format!(
        "{:>4} {:>9} {:>6} {:>6} {:>18} {:>16}  {:14} {:>6} {:>6} {:>8}  {}\n",
        "",
        "grid",
        "words",
        "batch",
        "cycles per sample",
        "samples per s",
        "limited by",
        "DSP",
        "BRAM",
        "LUT",
        "fullest"
    );
    for point in points {
        let grid = format!("{} x {}", point.pus, point.pes_per_pu);
        let whole = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let cycles = point.cycles_per_sample.map_or("-".to_owned(), |cycles| format!("{cycles:.2}"));
        let speed = point.samples_per_second.map_or("-".to_owned(), |speed| format!("{speed:.0}"));
        let fullest = point
            .fullest
            .map_or(String::new(), |Share { resource, share }| format!("{resource} {:.0} %", 100.0 * share));
        let remark = match (&point.refused, point.fits) {
            (Some(reason), _) => reason.as_str(),
            (None, Some(false)) => "  too large for the board",
            (None, _) if point.best => "  best",
            (None, _) => "",
        };
        let line = format!(
            "{:>4} {grid:>9} {:>6} {:>6} {cycles:>18} {speed:>16}  {:14} {:>6} {:>6} {:>8}  {fullest}{remark}",
            point.rank.map_or(String::new(), |rank| rank.to_string()),
            point.stream_words,
            point.batch,
            point.limited_by.unwrap_or("-"),
            whole(point.dsp),
            whole(point.bram),
            whole(point.lut)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("best: no other machine is as fast with as few look-up tables; resources are estimates, speeds those of the whole board\n");
    text + &picture(points)
}

/// Lines and columns of the picture.
const LINES: usize = 12;
const COLUMNS: usize = 60;

/// Speed over look-up tables, both on logarithmic axes: ranks of the machines of the Pareto front, dots for the others that run.
fn picture(points: &[Point]) -> String {
    let placed: Vec<(&Point, f64, f64)> = points
        .iter()
        .filter(|point| point.rank.is_some())
        .filter_map(|point| Some((point, (point.lut? as f64).max(1.0).ln(), point.samples_per_second?.ln())))
        .collect();
    let ends = |value: fn(&(&Point, f64, f64)) -> f64| {
        let (low, high) = placed.iter().map(value).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        (low, high.max(low + 1e-9))
    };
    // One point, or several at one place, is no picture.
    if placed.len() < 2 {
        return String::new();
    }
    let ((left, right), (bottom, top)) = (ends(|p| p.1), ends(|p| p.2));
    let mut cells = vec![vec![' '; COLUMNS + 4]; LINES];
    // The first of a place stays.
    for (point, lut, speed) in placed.iter().rev() {
        let column = ((lut - left) / (right - left) * (COLUMNS - 1) as f64).round() as usize;
        let line = ((top - speed) / (top - bottom) * (LINES - 1) as f64).round() as usize;
        let mark = if point.best { point.rank.unwrap_or(0).to_string() } else { ".".to_owned() };
        for (cell, letter) in cells[line][column..].iter_mut().zip(mark.chars()) {
            *cell = letter;
        }
    }
    let mut text =
        "\nsamples per second over look-up tables, logarithmic; numbers are ranks of the best, dots the others\n"
            .to_owned();
    for (number, line) in cells.iter().enumerate() {
        let label = match number {
            0 => format!("{:.0}", top.exp()),
            n if n + 1 == LINES => format!("{:.0}", bottom.exp()),
            _ => String::new(),
        };
        text.push_str(format!("{label:>12} |{}", line.iter().collect::<String>()).trim_end());
        text.push('\n');
    }
    let (from, to) = (format!("{:.0}", left.exp()), format!("{:.0} LUT", right.exp()));
    text.push_str(&format!("{:>12} +{}\n", "", "-".repeat(COLUMNS)));
    text.push_str(&format!("{:>12}  {from}{to:>width$}\n", "", width = COLUMNS - from.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(speed: Option<f64>, lut: u64, fits: Option<bool>) -> Point {
        let refused = speed.is_none().then(|| "it has no multiplier".to_owned());
        Point { samples_per_second: speed, lut: Some(lut), fits, refused, ..Point::default() }
    }

    #[test]
    fn the_fastest_that_fits_comes_first() {
        let points = vec![
            point(Some(10.0), 100, Some(true)),
            point(None, 1, None),
            point(Some(50.0), 900, Some(false)),
            point(Some(20.0), 100, Some(true)),
            point(Some(20.0), 150, Some(true)),
            point(Some(5.0), 50, Some(true)),
        ];
        let found: Vec<_> = ranked(points).iter().map(|p| (p.rank, p.samples_per_second, p.lut, p.best)).collect();
        assert_eq!(
            found,
            [
                (Some(1), Some(20.0), Some(100), true),
                (Some(2), Some(20.0), Some(150), false),
                (Some(3), Some(10.0), Some(100), false),
                (Some(4), Some(5.0), Some(50), true),
                (None, Some(50.0), Some(900), false),
                (None, None, Some(1), false),
            ]
        );
    }

    #[test]
    fn ranks_stand_where_their_figures_are() {
        let points = vec![
            point(Some(1000.0), 1000, Some(true)),
            point(Some(10.0), 10, Some(true)),
            point(Some(100.0), 1000, Some(true)),
            point(Some(1e6), 9000, Some(false)),
        ];
        let text = picture(&ranked(points));
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines[0], format!("        1000 |{:>COLUMNS$}", "1"));
        assert!(lines[5].ends_with('.') || lines[6].ends_with('.'), "half way in logarithms: {text}");
        assert_eq!(lines[LINES - 1], "          10 |3");
        assert!(lines[LINES + 1].ends_with("1000 LUT"), "{text}");
        assert_eq!(picture(&ranked(vec![point(Some(1.0), 1, None)])), "");
    }
}
