//! Simulators, from the reals down to the wires; each rung of the ladder is checked against the one above.
//!
//! | module | runs |
//! |---|---|
//! | [`array`](mod@array) | an image, cycle by cycle, in Rust |
//! | [`grid`] | nothing: the interface of a grid under a clock, and what drives it |
//! | [`verilator`] | the generated Verilog |

pub mod array;
pub mod grid;
pub mod verilator;
