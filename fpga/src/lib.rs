//! From generated Verilog to a device: drivers of the external tools.
//!
//! | module | drives |
//! |---|---|
//! | [`yosys`] | synthesis |
//!
//! [`board`] is what they have to know about a board.

pub mod board;
pub mod yosys;
