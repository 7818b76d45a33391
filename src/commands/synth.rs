//! `synth`: what the hardware takes of its device, by yosys.

use crate::arguments::{Global, Target};
use crate::commands::build;
use crate::hardware::Hardware;
use crate::output::{self, Talk};
use crate::subject;
use serde_json::json;
use workbench::Failure;

/// Synthesise and compare with the part.
pub fn run(global: &Global, target: &Target, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, target.program.as_deref(), &target.entry)?;
    let hardware = Hardware::new(&project, &project.out_folder(global.out.as_deref()))?;
    let built = build::everything(&project, target, talk)?;
    let netlist = hardware.synthesise(built.design(), talk)?;
    let (text, document) = hardware.synthesis_report(built.design(), &netlist);
    output::either(
        global.format,
        || text,
        || json!({ "schema_version": 1, "folder": hardware.folder.display().to_string(), "synthesis": document }),
    )
}
