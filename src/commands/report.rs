//! `report`: train, measure, look at two steps, and write it all as a page, as JSON and as text.

use crate::arguments::{Global, Report};
use crate::commands::train::{failure, prepared, trained};
use crate::output::{self, Talk};
use crate::subject;
use crate::training_talk::TrainingTalk;
use fpga::flow::DIE;
use std::fs;
use std::path::{Path, PathBuf};
use workbench::documents::Document;
use workbench::report::Measured;
use workbench::report::comparison::{Comparison, DOCUMENT};
use workbench::writing::folder::Earlier;
use workbench::writing::{Files, pretty};
use workbench::{Failure, Project, RunOptions};

/// Train, then measure.
///
/// # Errors
/// Whatever is wrong with program, data or machine.
pub(super) fn measured(global: &Global, project: Project, report: &Report, talk: &Talk) -> Result<Measured, Failure> {
    let options = &report.train;
    let training = prepared(project, options, talk)?;
    let how = RunOptions { stalls: options.stalls, curves: true, ..RunOptions::on(options.engine) };
    let outcome = trained(&training, &how, options, talk)?;
    if let Some(failure) = failure(global, &outcome, options) {
        return Err(failure);
    }
    let command = std::env::args_os().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    Measured::new(training, outcome, command, &report.words, &TrainingTalk::new(talk, None))
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

/// The forms of a report, and its timeline for Perfetto.
const PAGES: [&str; 4] = ["report.html", DOCUMENT, "report.txt", "timeline.json"];

/// Write the report of a training.
pub fn run(global: &Global, options: &Report, talk: &Talk) -> Result<(), Failure> {
    let train = &options.train;
    if let (Some(first), [_, ..]) = (&train.program, options.others.as_slice()) {
        let folders: Vec<PathBuf> = std::iter::once(first).chain(&options.others).cloned().collect();
        let comparison = Comparison::of(&folders)?;
        return output::either(global.format, || comparison.text(), || Document::new(&comparison));
    }
    if train.ranks.is_some() {
        let says = "a report is about one machine, whose weights are those of any number of ranks: leave --ranks out";
        return Err(Failure::Usage(says.to_owned()));
    }
    let project = subject::project(global, train.program.as_deref(), &train.limits().into())?;
    let folder = global.out.clone().unwrap_or_else(|| Path::new("out").join(project.name()));
    let guard = global.guard.reading(&project.files());
    guard.check_folder(&folder, PAGES.map(|name| (Path::new(name), None)), [])?;
    // What `bitstream` has left there.
    let die = fs::read_to_string(folder.join("fpga").join(DIE)).ok();
    let measured = measured(global, project, options, talk)?.with_die(die);
    let page = measured.page();
    let mut files = Files::new();
    for (name, content) in
        PAGES.into_iter().zip([page.html()?, pretty(&page.document()), page.text(), pretty(&page.timeline.trace())])
    {
        files.add(name, content);
    }
    files.publish(&folder, Earlier::Kept, &guard)?;
    talk.say(format!("wrote {}", folder.join("report.html").display()));
    output::either(global.format, || page.text(), || page.document())
}
