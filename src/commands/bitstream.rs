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
use crate::output::{self, Talk};
use crate::subject;
use workbench::Failure;
use workbench::build::hardware::Hardware;
use workbench::documents::Document;
use workbench::writing::folder::Earlier;

/// Build, synthesise, place, route, pack.
pub fn run(global: &Global, target: &Target, talk: &Talk) -> Result<(), Failure> {
    let project = subject::target(global, target)?;
    let out = project.out_folder(global.out.as_deref());
    let mut hardware = Hardware::new(&project, &out, &global.guard)?;
    let built = build::everything(&project, target, talk)?;
    let guard = global.guard.reading(&project.files());
    hardware.check(&built, &out, &guard)?;
    built.files.publish(&out, Earlier::Removed, &guard)?;
    let made = hardware.bitstream(&built, &out, &global.guard, talk)?;
    output::either(global.format, || made.text.clone(), || Document::new(&made))
}
