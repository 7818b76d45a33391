//! `report`: train, measure, look at two steps, and write it all as a page, as JSON and as text.

use crate::arguments::{Global, Train};
use crate::commands::train::{failure, prepared, trained};
use crate::output::folder::Earlier;
use crate::output::{self, Files, Talk};
use crate::page::Page;
use crate::page::timeline::{self, Timeline};
use crate::report::Report;
use crate::subject;
use std::path::Path;
use workbench::training::Outcome;
use workbench::{Design, Failure, How, Project, Training};

/// A training that was done and measured.
pub(super) struct Measured {
    training: Training,
    outcome: Outcome,
    design: Design,
    report: Report,
    timeline: Timeline,
}

impl Measured {
    /// Train, then measure.
    ///
    /// # Errors
    /// Whatever is wrong with program, data or machine.
    pub(super) fn new(project: Project, options: &Train, talk: &Talk) -> Result<Measured, Failure> {
        let training = prepared(project, options, talk)?;
        let how = How { stalls: options.stalls, curves: true, ..How::on(options.engine.into()) };
        let outcome = trained(&training, &how, options, talk)?;
        if let Some(failure) = failure(&outcome, options) {
            return Err(failure);
        }
        let design = training.design(&outcome.ranges, talk)?;
        let report = Report::of_training(&training.project, &design)?;
        let image = &design.images.full.as_ref().expect("a design can train").image;
        let timeline = timeline::watch(image, &training.project.source.text)?;
        Ok(Measured { training, outcome, design, report, timeline })
    }

    /// Everything on one page.
    pub(super) fn page(&self) -> Page<'_> {
        let Measured { training, outcome, design, report, timeline } = self;
        let command = std::env::args_os().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
        Page { project: &training.project, design, report, outcome, timeline, command }
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Write the report of a training.
pub fn run(global: &Global, options: &Train, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.program.as_deref(), &options.limits().into())?;
    let measured = Measured::new(project, options, talk)?;
    let page = measured.page();
    let folder = global.out.clone().unwrap_or_else(|| Path::new("out").join(page.project.name()));
    let mut files = Files::new();
    files.add("report.html", page.html()?);
    files.add("report.json", output::pretty(&page.document()));
    files.add("report.txt", page.text());
    files.publish(&folder, Earlier::Kept)?;
    talk.say(format!("wrote {}", folder.join("report.html").display()));
    output::either(global.format, || page.text(), || page.document())
}
