//! `place`: place and route a netlist that `synth` has left, with one seed. A clock that is missed is a result here.

use crate::arguments::{Global, Place};
use crate::output::{self, Talk};
use crate::subject;
use arch::tools::Toolbox;
use fpga::flow::{Clock, Use};
use schemars::JsonSchema;
use serde::Serialize;
use workbench::Failure;
use workbench::build::hardware::Hardware;
use workbench::documents::Document;

/// What place and route makes of a netlist.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Placed {
    /// Its seed.
    seed: u32,
    /// Whether all clocks are met.
    in_time: bool,
    /// Clocks of the design.
    clocks: Vec<Clock>,
    /// Cells of the device, as place and route counts them.
    utilisation: Vec<Use>,
}

/// Place and route, and say what clocks are reached.
pub fn run(global: &Global, options: &Place, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.target.program.as_deref(), &options.target.entry)?;
    let hardware = Hardware::existing(&project, &project.out_folder(global.out.as_deref()))?;
    let Some(flow) = &hardware.flow else {
        return Err(Failure::Usage(format!("no open place and route exists for {}", hardware.facts.title)));
    };
    let netlist = hardware.folder.join("netlist.json");
    if !netlist.is_file() {
        let message = format!("cannot read {}: `tabla-gen synth` with the same arguments writes it", netlist.display());
        return Err(Failure::File(message));
    }
    global.guard.check_work(&hardware.folder, |_| true)?;
    let seed = options.place_seed;
    talk.detail(format!("place and route of {} with seed {seed}", netlist.display()));
    let placed = flow.place(&hardware.folder, seed, &Toolbox::default());
    let routed = placed.map_err(|error| hardware.place_failure(&error))?;
    let text = || {
        let clock = |clock: &Clock| {
            let Clock { name, achieved_mhz, constraint_mhz } = clock;
            format!("seed {seed}: {name} {achieved_mhz:.2} MHz of {constraint_mhz:.2} MHz\n")
        };
        routed.clocks.iter().map(clock).collect()
    };
    let document = || {
        let (clocks, utilisation) = (routed.clocks.clone(), routed.used.clone());
        Document::new(Placed { seed, in_time: routed.is_in_time(), clocks, utilisation })
    };
    output::either(global.format, text, document)
}
