//! `report`: train, measure, look at two steps, and write it all as a page, as JSON and as text.

use crate::arguments::{Entry, Format, Global, Train};
use crate::commands::train::{prepared, trained};
use crate::output::{self, Files, Talk};
use crate::page::Page;
use crate::page::timeline;
use crate::report::{Report, Sources};
use crate::subject;
use std::path::Path;
use workbench::{Failure, How};

/// Write the report of a training.
pub fn run(global: &Global, options: &Train, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.program.as_deref(), &Entry::default())?;
    let training = prepared(project, options, talk)?;
    let how = How { stalls: options.stalls, curves: true, ..How::on(options.engine.into()) };
    let outcome = trained(&training, &how, options, talk)?;
    let project = &training.project;
    let design = training.design(&outcome.ranges, talk)?;
    let program = design.lowered.full.as_ref().expect("a design can train");
    let report = Report::new(&Sources {
        project,
        program,
        compiled: design.images.full.as_ref().expect("a design can train"),
        numbers: &design.lowered.numbers,
        batch: design.schedule.batch as u32,
        settings: Some(design.samples.plan),
        cycles_per_sample: design.cycles_per_sample()?,
        saturations: &design.saturations()?,
        measured_on: design.samples.origin.clone(),
    });
    let timeline = {
        let image = &design.images.full.as_ref().expect("a design can train").image;
        timeline::watch(image, &project.source.text)?
    };
    let page = Page { project, design: &design, report: &report, outcome: &outcome, timeline: &timeline };
    let folder = global.out.clone().unwrap_or_else(|| Path::new("out").join(project.name()));
    let mut files = Files::new();
    files.add("report.html", page.html()?);
    files.add("report.json", output::pretty(&page.document()));
    files.add("report.txt", page.text());
    files.write(&folder)?;
    talk.say(format!("wrote {}", folder.join("report.html").display()));
    match global.format {
        Format::Text => output::result(&page.text()),
        Format::Json => output::json(&page.document()),
    }
}
