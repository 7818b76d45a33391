//! From generated Verilog to a device: drivers of the external tools.
//!
//! | module | drives |
//! |---|---|
//! | [`yosys`] | synthesis |
//! | [`flow`] | place and route, packers |
//!
//! [`board`] is what they have to know about a board.

pub mod board;
pub mod flow;
pub mod yosys;
