//! Generated hardware under yosys, nextpnr and the provers. These tools use one core each, for long: as one program the tests
//! run beside each other.

mod bitstream;
mod estimates;
mod formal;
mod netlist;
mod netlist_grid;
mod synthesis;
#[path = "../tool/mod.rs"]
mod tool;
