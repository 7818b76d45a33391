//! Files that `build` writes, one kind each.
//!
//! | module | writes |
//! |---|---|
//! | [`drivers`] | what a host needs: drivers in Python and C |
//! | [`layout`] | `layout.json`: how tensors travel on the streams |
//! | [`listing`] | the microcode as text, by source line |
//! | [`testbench`] | a testbench of the first samples |
//! | [`verilog`] | modules and lists of files |

pub mod drivers;
pub mod layout;
pub mod listing;
pub mod testbench;
pub mod verilog;
