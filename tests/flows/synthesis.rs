//! Generated memories and multipliers become the blocks of the device that they are meant for.

use arch::machine::{Machine, MachineSpec};
use arch::tools::Toolbox;
use fpga::family::Family;
use fpga::yosys::{Cells, Netlist, synthesise};

/// Two PEs of 16 bits; model and data pads of 1024 words (16 kbit), temporaries of 64 words.
fn grid(family: &str) -> Netlist {
    let family = Family::named(family).unwrap();
    let machine = Machine::try_from(MachineSpec {
        pus: Some(1),
        pes_per_pu: Some(2),
        word: Some(16),
        model_depth: Some(1024),
        data_depth: Some(512),
        temporary_depth: Some(64),
        ..MachineSpec::default()
    });
    let folder = tempfile::tempdir().unwrap();
    let rtl = hdl::elaborate_with(&machine.unwrap(), family.leaves());
    let netlist = synthesise(&rtl, family, folder.path(), &Toolbox::default());
    netlist.unwrap_or_else(|error| panic!("{error}"))
}

/// One multiplier per PE, and one in each of the two roots for the slopes of function tables. Model and data pad of a PE
/// are one block each; programs and tables come on top. Had one deep pad become registers, there would be 16384 of them. `adders` make the trees.
fn blocks_are_inferred(cells: Cells, adders: u64) {
    assert_eq!(cells.dsp, 2 + 2 + adders, "{cells:?}");
    assert!(cells.bram >= 2 * 2, "{cells:?}");
    assert!(cells.ff < 16_384, "{cells:?}");
}

#[test]
fn ecp5() {
    let netlist = grid("ecp5");
    blocks_are_inferred(netlist.cells, 0);
    // Temporaries: two pads of 64 words are 2 * 4 * 4 memories of 16 words of 4 bits in each PE.
    assert!(netlist.types["TRELLIS_DPR16X4"] >= 2 * 32, "{:?}", netlist.types);
}

#[test]
fn ultrascale_plus() {
    blocks_are_inferred(grid("xcup").cells, 1);
}
