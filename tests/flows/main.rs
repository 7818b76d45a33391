//! What yosys, nextpnr and the provers make of generated hardware. These tools use one core each, for long: as one program the tests
//! run beside each other.

mod bitstream;
mod estimates;
mod formal;
mod netlist;
mod netlist_grid;
mod synthesis;
#[path = "../tool/mod.rs"]
mod tool;
