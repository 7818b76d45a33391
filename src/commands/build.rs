//! `build`: everything for one board, into one folder; [`workbench::build`] lists the files.

use crate::arguments::{Format, Global, Target};
use crate::output::{self, Talk};
use crate::subject;
use schemars::JsonSchema;
use serde::Serialize;
use workbench::build::Built;
use workbench::documents::Document;
use workbench::report::ReportDocument;
use workbench::writing::folder::Earlier;
use workbench::{Failure, Progress, Project};

/// Generate and write.
pub fn run(global: &Global, target: &Target, talk: &Talk) -> Result<(), Failure> {
    let project = subject::target(global, target)?;
    let Built { files, report, .. } = everything(&project, target, talk)?;
    if let Some(failure) = report.verdict().filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict) {
        return Err(failure);
    }
    let folder = project.out_folder(global.out.as_deref());
    files.publish(&folder, Earlier::Removed, &global.guard.reading(&project.files()))?;
    talk.say(format!("wrote {} files to {}", files.names().count(), folder.display()));
    match global.format {
        Format::Text => output::result(&report.text()),
        Format::Json => output::json(&Document::new(Written {
            out: folder.display().to_string(),
            files: files.names().map(|path| path.display().to_string()).collect(),
            report: report.document(),
        })),
    }
}

/// What a build has written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Written<'a> {
    /// The folder.
    out: String,
    /// Files in it.
    files: Vec<String>,
    /// What it costs.
    report: ReportDocument<'a>,
}

/// Everything for one board.
///
/// # Errors
/// Whatever is wrong with program, data or machine.
pub fn everything(project: &Project, target: &Target, talk: &Talk) -> Result<Built, Failure> {
    let built = if project.in_segments() {
        Built::of_segments(project, &subject::segmented(project, target, talk)?, talk)?
    } else {
        Built::new(project, &subject::subject(project, target, talk)?, talk)?
    };
    talk.warnings(&project.source, built.report.warnings());
    Ok(built)
}
