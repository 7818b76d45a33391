//! `explore`: the same training step on many machines: cycles, resources, and the Pareto front.
//!
//! | module | holds |
//! |---|---|
//! | `points` | what is known of a machine, and the table of all |
//! | `sweep` | the same as a workflow of jobs, with synthesis, place and route |
//! | `collected` | what the jobs have left, as one table |

mod collected;
pub mod points;
pub mod sweep;

use crate::arguments::{Explore, Global};
use crate::jobs;
use crate::output::{self, Talk};
use crate::subject;
use arch::Machine;
use arch::machine::MachineSpec;
use points::{Point, Share, ranked, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use workbench::config::Microcode;
use workbench::design::{Design, prepare};
use workbench::documents::Document;
use workbench::engines::NamedRanges;
use workbench::resources::{self, Estimate};
use workbench::simulated::Bound;
use workbench::{Choices, Failure, Project, Training, system};

/// The same training step on many machines, best first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Machines {
    /// One entry per combination: those that the board holds, the fastest first; those that it does not hold; those that cannot run the program.
    machines: Vec<Point>,
}

/// Try every combination, here or in a workflow; or look at what a workflow has done.
pub fn run(global: &Global, options: &Explore, talk: &Talk) -> Result<(), Failure> {
    if let Some(folder) = &options.collect {
        return collected::run(global, folder, talk);
    }
    subject::no_records(&options.target)?;
    let project = subject::project(global, options.target.program.as_deref(), &options.target.entry)?;
    let asked = options.target.plan.choices;
    let combinations = combinations(&project, options, &asked)?;
    if let Some(folder) = &options.workflow {
        return sweep::write(global, options, &project, &combinations, folder, talk);
    }
    // The golden training does not depend on the machine, only on the batch.
    let mut bases = BTreeMap::new();
    for Combination { point, .. } in &combinations {
        if let std::collections::btree_map::Entry::Vacant(e) = bases.entry(point.batch) {
            let asked = Choices { batch: Some(point.batch), ..asked };
            e.insert(prepare(&project, &subject::data(&options.target), &asked, talk)?);
        }
    }
    let measure = |number: usize| -> Result<Point, Failure> {
        let combination = &combinations[number];
        let measured = measured(&project, combination, &bases[&combination.point.batch])?;
        talk.detail(format!("{} of {} machines", number + 1, combinations.len()));
        Ok(measured)
    };
    let found = jobs::each(combinations.len(), global.jobs, &measure);
    let found = ranked(found.into_iter().collect::<Result<Vec<Point>, Failure>>()?);
    output::either(global.format, || text(&found), || Document::new(Machines { machines: found.clone() }))
}

/// A machine and a batch to try.
struct Combination {
    /// What is asked for; why it is impossible, if it is.
    point: Point,
    /// The machine.
    spec: MachineSpec,
    /// The same with the defaults of what is left out.
    machine: Option<Machine>,
}

/// Every combination that is asked for.
fn combinations(project: &Project, options: &Explore, asked: &Choices) -> Result<Vec<Combination>, Failure> {
    let (machine, spec) = (&project.config.machine, &project.config.spec);
    let or = |asked: &[u32], own: u32| if asked.is_empty() { vec![own] } else { asked.to_vec() };
    let (_, plan) = project.plan(asked)?;
    let mut found = Vec::new();
    for &pus in &or(&options.pus, machine.pus()) {
        for &pes_per_pu in &or(&options.pes_per_pu, machine.pes_per_pu()) {
            for &stream_words in &or(&options.stream_words, machine.stream_words()) {
                for &batch in &or(&options.batches, plan.schedule.batch as u32) {
                    for &word in &or(&options.words, machine.word()) {
                        let spec = MachineSpec {
                            pus: Some(pus),
                            pes_per_pu: Some(pes_per_pu),
                            stream_words: Some(stream_words),
                            word: if options.words.is_empty() { spec.word } else { Some(word) },
                            // Accumulators follow from the width of a word.
                            accumulator: spec.accumulator.filter(|_| options.words.is_empty()),
                            ..spec.clone()
                        };
                        let machine = Machine::try_from(spec.clone());
                        let refused = machine.as_ref().err().map(ToString::to_string);
                        let point = Point { pus, pes_per_pu, stream_words, batch, word, refused, ..Point::default() };
                        found.push(Combination { point, spec, machine: machine.ok() });
                    }
                }
            }
        }
    }
    Ok(found)
}

/// What a machine needs for the step, measured on the array.
fn measured(
    project: &Project,
    combination: &Combination,
    (training, ranges): &(Training, NamedRanges),
) -> Result<Point, Failure> {
    let Combination { point, spec, machine } = combination;
    let mut point = point.clone();
    let Some(machine) = machine else { return Ok(point) };
    let mut project = project.clone();
    let same_words = machine.word() == project.config.machine.word();
    (project.config.spec, project.config.machine) = (spec.clone(), machine.clone());
    let design = match Design::of(&project, training, ranges, &Talk::silent()) {
        Ok(design) => design,
        Err(Failure::DoesNotFit { diagnostics, .. }) => {
            point.refused = diagnostics.first().map(|diagnostic| diagnostic.message.clone());
            return Ok(point);
        }
        // Numbers that words of another width cannot hold.
        Err(Failure::Diagnostics { diagnostics, .. }) if !same_words => {
            point.refused = diagnostics.first().map(|diagnostic| diagnostic.message.clone());
            return Ok(point);
        }
        Err(failure) => return Err(failure),
    };
    let pace = design.pace()?;
    let board = &project.board;
    let family = board.facts().map(|facts| facts.device.family());
    let estimate = match project.config.build.microcode {
        Microcode::Ram => resources::estimate(&design.images.machine, family),
        Microcode::Rom => {
            resources::estimate(&design.images.full.as_ref().unwrap_or(&design.images.predict).image, family)
        }
    };
    let Estimate { dsp, bram, lut, .. } = board.facts().map_or(estimate, |facts| estimate.within(&facts.resources));
    point.cycles_per_sample = Some(pace.cycles_per_sample);
    let (speed, bound_by) = system::expected(&project, &design)?;
    point.samples_per_second = Some(speed);
    point.joules_per_sample = board.watts.map(|watts| watts / speed);
    point.limited_by = Some(if bound_by == Bound::Grid { pace.bounds.bound_by } else { bound_by.name() }.to_owned());
    (point.dsp, point.bram, point.lut) = (Some(dsp), Some(bram), Some(lut));
    point.fullest = board.facts().and_then(|facts| {
        let has = &facts.resources;
        Share::fullest([("DSP", dsp, has.dsp), ("BRAM", bram, has.bram), ("LUT", lut, has.lut)])
    });
    point.fits = point.fullest.as_ref().map(|fullest| fullest.share <= 1.0);
    Ok(point)
}
