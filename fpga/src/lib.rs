//! From generated Verilog to a device: drivers of the external tools.
//!
//! | module | drives |
//! |---|---|
//! | [`yosys`] | synthesis |

pub mod yosys;
