//! Simulators, from the reals down to the wires; each rung of the ladder is checked against the one above.
//!
//! | module | runs |
//! |---|---|
//! | [`grid`] | nothing: the interface of a grid under a clock |

pub mod grid;
