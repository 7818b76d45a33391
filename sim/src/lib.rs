//! Simulators, from the reals down to the wires; each rung of the ladder is checked against the one above.
//!
//! | module | runs |
//! |---|---|
//! | [`golden`] | tensor IR on real numbers |
//! | [`fixed`] | fixed-point IR, bit by bit, without any notion of a grid |
//! | [`array`](mod@array) | an image, cycle by cycle, in Rust |
//! | [`eval`] | nothing: values between JSON and an engine |
//! | [`grid`] | nothing: the interface of a grid under a clock, and what drives it |
//! | [`verilator`] | the generated Verilog |

pub mod array;
pub mod eval;
pub mod fixed;
pub mod golden;
pub mod grid;
pub mod verilator;
