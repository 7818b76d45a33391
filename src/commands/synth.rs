//! `synth`: what the hardware takes of its device, by yosys.

use crate::arguments::{Global, Target};
use crate::commands::build;
use crate::failure::Failure;
use crate::hardware::Hardware;
use crate::output::{self, Talk};
use crate::project::Project;
use serde_json::json;

/// Synthesise and compare with the part.
pub fn run(global: &Global, target: &Target, talk: &Talk) -> Result<(), Failure> {
    let mut project = Project::open(global, target.program.as_deref())?;
    project.enter(&target.entry)?;
    let hardware = Hardware::new(&project, &project.out_folder(global))?;
    let built = build::everything(&project, target, talk)?;
    let netlist = hardware.synthesise(built.design(), talk)?;
    let (text, document) = hardware.synthesis_report(built.design(), &netlist);
    output::either(
        global.format,
        || text,
        || json!({ "schema_version": 1, "folder": hardware.folder.display().to_string(), "synthesis": document }),
    )
}
