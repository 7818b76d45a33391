//! `check`: diagnostics only.

use crate::arguments::{Format, Global, ProgramOption};
use crate::failure::Failure;
use crate::output::{self, Talk};
use crate::project::Project;
use crate::render;

/// Read config and program, and say what is wrong with them.
pub fn run(global: &Global, options: &ProgramOption, talk: &Talk) -> Result<(), Failure> {
    let project = Project::open(global, options.program.as_deref())?;
    let (_, warnings) = project.parse_quietly(&[])?;
    if global.format == Format::Json {
        return output::json(&render::document(&project.source, &warnings));
    }
    render::warnings(&project.source, &warnings, talk);
    talk.say(format!("{}: no errors", project.source.name));
    Ok(())
}
