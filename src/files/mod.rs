//! Files that `build` writes, one kind each.
//!
//! | module | writes |
//! |---|---|
//! | [`axi`] | the grid behind AXI, descriptions of it, drivers, `LiteX` |
//! | [`fusesoc`] | cores for `FuseSoC` |
//! | [`layout`] | `layout.json`: how tensors travel on the streams |
//! | [`listing`] | the microcode as text, by source line |
//! | [`testbench`] | testbenches of the first samples |
//! | [`verilog`] | modules and lists of files |
//! | [`zynq`] | Vivado's script |

pub mod axi;
pub mod fusesoc;
pub mod layout;
pub mod listing;
pub mod testbench;
pub mod verilog;
pub mod zynq;
