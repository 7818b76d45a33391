//! `report`: train, measure, look at two steps, and write it all as a page, as JSON and as text.

use crate::arguments::{Format, Global, Train};
use crate::checkpoint::Checkpoint;
use crate::commands::train::Prepared;
use crate::design::Design;
use crate::failure::Failure;
use crate::output::{self, Files, Talk};
use crate::page::Page;
use crate::project::Project;
use crate::report::{Report, Sources};
use crate::timeline;
use std::path::Path;

/// Write the report of a training.
pub fn run(global: &Global, options: &Train, talk: &Talk) -> Result<(), Failure> {
    let project = Project::open(global, options.program.as_deref())?;
    let prepared = Prepared::new(&project, options, talk)?;
    let training = prepared.training(&project, options, true);
    let begun = options.resume.as_deref().map(|path| Checkpoint::load(path, &training.identity())).transpose()?;
    let outcome = training.run(begun, talk)?;
    let design = Design::of(&project, prepared.into_basis(), &outcome.ranges, talk)?;
    let program = design.lowered.full.as_ref().expect("a design can train");
    let report = Report::new(&Sources {
        project: &project,
        program,
        compiled: design.images.full.as_ref().expect("a design can train"),
        numbers: &design.lowered.numbers,
        batch: design.samples.settings.batch,
        cycles_per_sample: design.cycles_per_sample()?,
        saturations: &design.saturations()?,
        measured_on: design.samples.origin.clone(),
    });
    let timeline = timeline::watch(&design.images.full.as_ref().expect("a design can train").image)?;
    let page = Page { project: &project, design: &design, report: &report, outcome: &outcome, timeline: &timeline };
    let folder = global.out.clone().unwrap_or_else(|| Path::new("out").join(project.name()));
    let mut files = Files::new();
    files.add("report.html", page.html()?);
    files.add("report.json", format!("{:#}\n", page.json()));
    files.add("report.txt", page.text());
    files.write(&folder)?;
    talk.say(format!("wrote {}", folder.join("report.html").display()));
    match global.format {
        Format::Text => output::result(&page.text()),
        Format::Json => output::json(&page.json()),
    }
}
