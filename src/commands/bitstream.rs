//! `bitstream`: everything `build` writes, and a bitstream for the board.
//!
//! | file in `fpga/` | holds |
//! |---|---|
//! | `bitstream.*` | what the programmer takes; only if the clock is met |
//! | `die.svg` | which part of the design lies where on the device |
//! | `summary.json` | clocks, cells, seed, sum of the bitstream, versions |
//! | `design.v`, `synthesis.ys`, `pins.*`, `Makefile` | what it was made of; `make` repeats it without this tool |

use crate::arguments::{Global, Target};
use crate::commands::build;
use crate::hardware::{Hardware, Synthesis};
use crate::output::{self, Talk};
use crate::subject;
use arch::tools::Toolbox;
use fpga::flow::{Bitstream, BitstreamSummary, DIE, SEEDS};
use fpga::vivado::{BITSTREAM, HANDOFF, VivadoError};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use workbench::build::Built;
use workbench::documents::Document;
use workbench::report::page::{charts, die};
use workbench::writing::folder::Earlier;
use workbench::writing::guard::Guard;
use workbench::writing::{self, Files};
use workbench::{Failure, Source};

/// Build, synthesise, place, route, pack.
pub fn run(global: &Global, target: &Target, talk: &Talk) -> Result<(), Failure> {
    let project = subject::target(global, target)?;
    let out = project.out_folder(global.out.as_deref());
    let mut hardware = Hardware::new(&project, &out, &global.guard)?;
    let built = build::everything(&project, target, talk)?;
    let guard = global.guard.reading(&project.files());
    check(&mut hardware, &built, &out, &guard)?;
    built.files.publish(&out, Earlier::Removed, &guard)?;
    let (text, made) = make(&hardware, &built, &out, global, talk)?;
    output::either(global.format, || text, || Document::new(made))
}

/// Refuse, before anything is written, a board without pins, and files in the way of the vendor's tool.
pub(super) fn check(hardware: &mut Hardware<'_>, built: &Built, out: &Path, guard: &Guard) -> Result<(), Failure> {
    hardware.needs = built.needs;
    if hardware.flow.is_none() {
        return guard.check_work(out, |name| [BITSTREAM, HANDOFF].contains(&name));
    }
    constraints(hardware, built).map(drop)
}

fn constraints(hardware: &Hardware<'_>, built: &Built) -> Result<Source, Failure> {
    let no_pins = || Failure::Usage(format!("{} has no pins: its file has no table [io]", hardware.facts.title));
    hardware.constraints(&built.machine)?.ok_or_else(no_pins)
}

/// The bitstream of what is built and published in `out`: a text, and a document.
pub(super) fn make(
    hardware: &Hardware<'_>,
    built: &Built,
    out: &Path,
    global: &Global,
    talk: &Talk,
) -> Result<(String, Made), Failure> {
    let Some(flow) = &hardware.flow else { return vivado(hardware, out, talk) };
    let constraints = constraints(hardware, built)?;
    let netlist = hardware.synthesise(built.design(), talk)?;
    let (text, synthesis) = hardware.synthesis_report(built.design(), &netlist);
    hardware.add_flow(&built.machine, SEEDS[0], &global.guard)?;
    let mut progress = |seed: u32, routed: Option<&fpga::flow::Routed>| match routed {
        None => talk.detail(format!("place and route with seed {seed}")),
        Some(routed) => {
            for clock in &routed.clocks {
                let (name, reached, wanted) = (&clock.name, clock.achieved_mhz, clock.constraint_mhz);
                talk.say(format!("seed {seed}: {name} {reached:.2} MHz of {wanted:.2} MHz"));
            }
        }
    };
    let placed = flow.run(&netlist, &constraints.text, SEEDS, &Toolbox::default(), &mut progress);
    let bitstream = placed.map_err(|error| hardware.place_failure(&error))?;
    let summary = summary(hardware, synthesis, &bitstream);
    let mut files = Files::new();
    let title = format!("{} on {}, seed {}", hardware.project.name(), hardware.facts.title, bitstream.seed);
    if let Some(die) = die::svg(&bitstream.die, &title) {
        files.add(DIE, charts::alone(&die));
    }
    files.add("summary.json", writing::pretty(&summary));
    files.add("Makefile", flow.makefile(bitstream.seed, &hardware.facts.programmer));
    files.publish(&hardware.folder, Earlier::Kept, &global.guard)?;
    let file = bitstream.file.display().to_string();
    let clock = bitstream.routed.critical().map_or(String::new(), |clock| {
        let (reached, wanted) = (clock.achieved_mhz, clock.constraint_mhz);
        format!("clock {reached:.2} MHz, {wanted:.2} MHz asked for, seed {}\n", bitstream.seed)
    });
    let text = format!("{text}{clock}{file}\nload it with: {} {file}\n", hardware.facts.programmer);
    Ok((text, Made { bitstream: file, summary: Some(summary) }))
}

/// The way of devices without an open flow: the vendor's tool runs the script that `build` has written.
fn vivado(hardware: &Hardware<'_>, out: &Path, talk: &Talk) -> Result<(String, Made), Failure> {
    talk.detail(format!("running vivado with the script in {}; this takes a while", out.display()));
    match fpga::vivado::run(&hardware.facts.part, out, &Toolbox::default()) {
        Ok(bitstream) => {
            let bitstream = bitstream.display().to_string();
            Ok((format!("{bitstream}\n"), Made { bitstream, summary: None }))
        }
        Err(error @ VivadoError::File { .. }) => Err(Failure::File(error.to_string())),
        Err(error) => Err(Failure::Tool(error.to_string())),
    }
}

/// `fpga/summary.json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    /// The board.
    board: String,
    /// The program.
    program: String,
    /// Clock of the grid.
    clock_mhz: f64,
    /// Cells.
    synthesis: Synthesis,
    #[serde(flatten)]
    bitstream: BitstreamSummary,
}

/// A bitstream was written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Made {
    /// The file.
    bitstream: String,
    /// What it was made of; nothing where the vendor's tool made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
}

fn summary(hardware: &Hardware<'_>, synthesis: Synthesis, bitstream: &Bitstream) -> Summary {
    Summary {
        schema_version: 1,
        board: hardware.project.board.name.clone(),
        program: hardware.project.name(),
        clock_mhz: hardware.project.board.clock_mhz,
        synthesis,
        bitstream: bitstream.summary(),
    }
}
