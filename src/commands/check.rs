//! `check`: what is wrong with config, program and `[train]` table.

use crate::arguments::{Format, Global, ProgramOption};
use crate::failure::Failure;
use crate::output::{self, Talk};
use crate::project::Project;
use crate::render;
use crate::{library, settings};

/// Read config and program, and say what is wrong with them.
pub fn run(global: &Global, options: &ProgramOption, talk: &Talk) -> Result<(), Failure> {
    let project = Project::open(global, options.program.as_deref())?;
    let (_, warnings) = project.parse_quietly(&[])?;
    if library::exists(&project.path.with_extension("toml")) {
        settings::read(&project.path)?;
    }
    if global.format == Format::Json {
        return output::json(&render::document(&project.source, &warnings));
    }
    render::warnings(&project.source, &warnings, talk);
    talk.say(format!("{}: no errors", project.source.name));
    Ok(())
}
