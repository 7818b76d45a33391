//! Generated Verilog is clean under all of Verilator's warnings, but for those that are waived with a reason.

use arch::Machine;
use arch::machine::MachineSpec;
use arch::tools::Toolbox;
use fpga::family::Family;
use hdl::Leaves;
use sim::verilator::lint;

fn is_clean(pus: u32, pes_per_pu: u32, word: u32) {
    let machine = Machine::grid(pus, pes_per_pu, word).unwrap();
    if let Err(error) = lint(&hdl::elaborate(&machine), hdl::lint_waivers(), &Toolbox::default()) {
        panic!("{error}");
    }
}

#[test]
fn one_pu_of_two_pes() {
    is_clean(1, 2, 24);
}

#[test]
fn two_pus_of_four_pes() {
    is_clean(2, 4, 16);
}

#[test]
fn eight_pus_of_eight_pes() {
    is_clean(8, 8, 16);
}

#[test]
fn pads_in_rows() {
    let rows =
        MachineSpec { pads_in_rows: Some(true), gradient_depth: Some(16), ..Machine::grid(2, 3, 16).unwrap().into() };
    let machine = Machine::try_from(rows).unwrap();
    lint(&hdl::elaborate(&machine), hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{error}"));
}

/// Text that names blocks of a device, with models of these blocks, which are judged by nobody: they are the device's.
fn is_clean_with(leaves: Leaves, models: &str, waivers: &str) -> Result<(), String> {
    let mut rtl = hdl::elaborate_with(&Machine::grid(2, 2, 16).unwrap(), leaves);
    let first = rtl.verilog.lines().count() + 1;
    rtl.verilog += models;
    let last = rtl.verilog.lines().count();
    let waivers = format!("{}lint_off -file \"design.v\" -lines {first}-{last}\n{waivers}", hdl::lint_waivers());
    lint(&rtl, &waivers, &Toolbox::default()).map_err(|error| error.to_string())
}

#[test]
fn text_for_devices() {
    // A block has more pins than anybody needs.
    let open = "lint_off -rule PINMISSING -file \"*\" -match \"*\"\n";
    let ecp5 = include_str!("../fpga/families/ecp5/cells.v");
    let ultrascale = include_str!("../sim/tests/hardware/lockstep/ultrascale.v");
    let leaves = |family: &str| Family::named(family).unwrap().leaves();
    for (leaves, models) in [(leaves("ecp5"), ecp5), (leaves("xcup"), ultrascale)] {
        is_clean_with(leaves, models, open).unwrap_or_else(|error| panic!("{leaves:?}: {error}"));
    }
    // The waiver is for what is there.
    let said = is_clean_with(leaves("ecp5"), ecp5, "").unwrap_err();
    assert!(said.contains("PINMISSING") && !said.contains("UNUSED"), "{said}");
}

/// The files that `build` writes, with the waivers beside them, as `FuseSoC` gives them to Verilator: memories of programs inside are never written.
#[test]
fn programs_inside_are_clean() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let root = Toolbox::default().package("verilator").unwrap_or_else(|missing| panic!("{missing}; run scripts/setup"));
    let config = out.join("rom.toml");
    let keys = "[machine]\npus = 2\npes_per_pu = 2\nscalar = true\n[build]\nmicrocode = \"rom\"\n";
    std::fs::write(&config, keys).unwrap();
    for (program, core) in
        [("programs/softmax.t", "softmax"), ("programs/svm.t", "svm"), ("tests/score/trees.onnx", "trees")]
    {
        let mut build = std::process::Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
        build.args(["build", program, "--config"]).arg(&config).arg("--out").arg(out.join(core));
        let built = build.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let lint = |waivers: &str| {
            let mut verilator = std::process::Command::new(root.join("bin/verilator_bin"));
            verilator.env("VERILATOR_ROOT", &root).current_dir(out.join(core)).args(["--lint-only", "-Wall"]);
            let list = format!("rtl/{core}.f");
            let said = verilator.args(["--top-module", core, waivers, "-f", &list]).output().unwrap();
            String::from_utf8_lossy(&said.stderr).into_owned()
        };
        assert_eq!(lint("rtl/waivers.vlt"), "");
        // The waivers of grids that load programs do not do for these.
        std::fs::write(out.join(core).join("other.vlt"), hdl::lint_waivers()).unwrap();
        assert!(lint("other.vlt").contains("'write_data'"));
    }
}
