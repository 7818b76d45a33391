//! From generated Verilog to a device: drivers of the external tools.
//!
//! | module | drives |
//! |---|---|
//! | [`yosys`] | synthesis |
//! | [`floorplan`] | nothing: says where multipliers go |
//! | [`flow`] | place and route, packers |
//! | [`vivado`] | nothing: writes its script |
//! | [`driver`] | nothing: writes drivers in C and Python |
//! | [`ipxact`] | nothing: writes the description of the grid behind AXI |
//! | [`litex`] | nothing: writes what puts it into a system |
//!
//! [`board`] is what they have to know about a board, [`family`] what about its device; [`costs`] is what a family says about the size of a
//! grid.

pub mod board;
pub mod costs;
pub mod driver;
pub mod family;
pub mod floorplan;
pub mod flow;
pub mod ipxact;
pub mod litex;
pub mod pins;
pub mod vivado;
pub mod yosys;
