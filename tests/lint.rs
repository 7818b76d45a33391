//! Generated Verilog is clean under all of Verilator's warnings, but for those that are waived with a reason.

use arch::Machine;
use arch::tools::Toolbox;
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
