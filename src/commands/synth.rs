//! `synth`: what the hardware takes of its device, by yosys; with a Makefile that places and routes the netlist with any seed.

use crate::arguments::{Global, Target};
use crate::commands::build;
use crate::output::{self, Talk};
use crate::subject;
use schemars::JsonSchema;
use serde::Serialize;
use workbench::Failure;
use workbench::build::hardware::{Hardware, Synthesis};
use workbench::documents::Document;

/// What the hardware takes of its device.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Synthesised {
    /// Folder in which it was made.
    folder: String,
    /// Cells.
    synthesis: Synthesis,
}

/// Synthesise and compare with the part.
pub fn run(global: &Global, target: &Target, talk: &Talk) -> Result<(), Failure> {
    let project = subject::target(global, target)?;
    let mut hardware = Hardware::new(&project, &project.out_folder(global.out.as_deref()), &global.guard)?;
    let built = build::everything(&project, target, talk)?;
    hardware.needs = built.needs;
    let (_, text, document) = hardware.synthesised(&built, &global.guard, talk)?;
    output::either(
        global.format,
        || text,
        || {
            let folder = hardware.folder.display().to_string();
            Document::new(Synthesised { folder, synthesis: document })
        },
    )
}
