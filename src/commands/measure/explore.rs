//! `explore`: the same training step on many machines: cycles, resources, and the Pareto front.

use crate::arguments::{Explore, Global};
use crate::documents::Document;
use crate::jobs;
use crate::output::{self, Talk};
use crate::subject;
use arch::Machine;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use workbench::config::Microcode;
use workbench::design::{Design, prepare};
use workbench::resources::{self, Estimate};
use workbench::{Choices, Failure};

/// The same training step on many machines.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Machines {
    /// One entry per combination.
    machines: Vec<Point>,
}

/// One machine, as asked for and as measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Point {
    /// Rows of the grid.
    pus: u32,
    /// Columns of the grid.
    pes_per_pu: u32,
    /// Words of input per cycle.
    stream_words: u32,
    /// Samples per update.
    batch: u32,
    /// Measured on the array.
    cycles_per_sample: Option<f64>,
    /// At the clock of the board.
    samples_per_second: Option<f64>,
    /// Multipliers, estimated.
    dsp: Option<u64>,
    /// Block memories, estimated.
    bram: Option<u64>,
    /// Look-up tables, estimated.
    lut: Option<u64>,
    /// Whether the board has what it takes; nothing where the board is not known.
    fits: Option<bool>,
    /// No other machine needs as few cycles with as few look-up tables.
    best: bool,
    /// Why it cannot run the program.
    refused: Option<String>,
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
        let mut point = Point {
            pus,
            pes_per_pu,
            stream_words,
            batch,
            cycles_per_sample: None,
            samples_per_second: None,
            dsp: None,
            bram: None,
            lut: None,
            fits: None,
            best: false,
            refused: None,
        };
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
        let cycles = design.pace()?.cycles_per_sample;
        let board = &project.board;
        let family = board.facts().map(|facts| facts.device.family());
        let Estimate { dsp, bram, lut, .. } = match project.config.build.microcode {
            Microcode::Ram => resources::estimate(&design.images.machine, family),
            Microcode::Rom => {
                resources::estimate(&design.images.full.as_ref().unwrap_or(&design.images.predict).image, family)
            }
        };
        point.cycles_per_sample = Some(cycles);
        point.samples_per_second = Some(board.clock_mhz * 1e6 / cycles);
        (point.dsp, point.bram, point.lut) = (Some(dsp), Some(bram), Some(lut));
        point.fits = board.facts().map(|facts| {
            let has = &facts.resources;
            dsp <= has.dsp && bram <= has.bram && lut <= has.lut
        });
        talk.detail(format!("{} of {} machines", number + 1, points.len()));
        Ok(point)
    };
    let found = jobs::each(points.len(), global.jobs, &measure).into_iter().collect::<Result<Vec<Point>, Failure>>()?;
    let found = judged(found);
    output::either(global.format, || text(&found), || Document::new(Machines { machines: found.clone() }))
}

/// Mark the machines on the Pareto front.
fn judged(mut points: Vec<Point>) -> Vec<Point> {
    let costs: Vec<Option<(f64, u64)>> = points.iter().map(|p| p.cycles_per_sample.zip(p.lut)).collect();
    for (point, cost) in points.iter_mut().zip(&costs) {
        let Some((cycles, lut)) = *cost else { continue };
        let beats = |&(c, l): &(f64, u64)| c <= cycles && l <= lut && (c < cycles || l < lut);
        point.best = point.fits != Some(false) && !costs.iter().flatten().any(beats);
    }
    points
}

fn text(points: &[Point]) -> String {
    let mut text = format!(
        "{:>9} {:>6} {:>6} {:>18} {:>16} {:>6} {:>6} {:>8}\n",
        "grid", "words", "batch", "cycles per sample", "samples per s", "DSP", "BRAM", "LUT"
    );
    for point in points {
        let grid = format!("{} x {}", point.pus, point.pes_per_pu);
        let whole = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let cycles = point.cycles_per_sample.map_or("-".to_owned(), |cycles| format!("{cycles:.2}"));
        let speed = point.samples_per_second.map_or("-".to_owned(), |speed| format!("{speed:.0}"));
        let remark = match (&point.refused, point.fits) {
            (Some(reason), _) => format!("  {reason}"),
            (None, Some(false)) => "  too large for the board".to_owned(),
            (None, _) => if point.best { "  best" } else { "" }.to_owned(),
        };
        text.push_str(&format!(
            "{grid:>9} {:>6} {:>6} {cycles:>18} {speed:>16} {:>6} {:>6} {:>8}{remark}\n",
            point.stream_words,
            point.batch,
            whole(point.dsp),
            whole(point.bram),
            whole(point.lut)
        ));
    }
    text + "best: no other machine needs as few cycles with as few look-up tables; resources are estimates\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beaten_is_not_best() {
        let point = |cycles: Option<f64>, lut: u64, fits: Option<bool>| Point {
            pus: 1,
            pes_per_pu: 1,
            stream_words: 1,
            batch: 1,
            cycles_per_sample: cycles,
            samples_per_second: None,
            dsp: None,
            bram: None,
            lut: Some(lut),
            fits,
            best: false,
            refused: None,
        };
        let points = vec![
            point(Some(10.0), 100, None),
            point(Some(20.0), 50, Some(true)),
            point(Some(20.0), 100, None),
            point(Some(5.0), 900, Some(false)),
            point(None, 1, None),
        ];
        let best: Vec<bool> = judged(points).iter().map(|point| point.best).collect();
        assert_eq!(best, [true, true, false, false, false]);
    }
}
