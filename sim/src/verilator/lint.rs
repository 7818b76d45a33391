//! Verilator's lint of a design.

use super::VerilatorError;
use super::cache::{Cache, failed};
use super::installation::Installation;
use super::process::{finish, start};
use arch::rtl::Rtl;
use arch::tools::Toolbox;
use std::fs;
use std::process::Command;

/// Check a design with all warnings on; a warning that `waivers` (a Verilator configuration file) does not name is an error.
/// The design is called `design.v` there.
pub fn lint(rtl: &Rtl, waivers: &str, toolbox: &Toolbox) -> Result<(), VerilatorError> {
    let installation = Installation::find(toolbox)?;
    let folder = Cache::of(toolbox)?.work_folder()?;
    for (name, text) in [("waivers.vlt", waivers), ("design.v", &rtl.verilog)] {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(failed("write", &path))?;
    }
    let mut verilator = Command::new(&installation.verilator);
    verilator
        .env("VERILATOR_ROOT", &installation.root)
        .current_dir(folder.path())
        .args(["--lint-only", "-Wall"])
        // All modules are in one file, so its name is not theirs.
        .arg("-Wno-DECLFILENAME")
        .args(["--top-module", &rtl.top, "waivers.vlt", "design.v"]);
    finish(start(&mut verilator)?)
}
