//! Simulators, from the reals down to the wires; each rung of the ladder is checked against the one above.
//!
//! | module | runs |
//! |---|---|
//! | [`fixed`] | fixed-point IR, bit by bit, without any notion of a grid |
//! | [`grid`] | nothing: the interface of a grid under a clock, and what drives it |
//! | [`verilator`] | the generated Verilog |

pub mod fixed;
pub mod grid;
pub mod verilator;
