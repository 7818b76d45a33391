//! Our layer on rust-hdl: what blocks are made of, and how they become text.
//!
//! | module | holds |
//! |---|---|
//! | `signal` | signals and constants whose width is known when the generator runs |
//! | `bundle` | signals that travel together |
//! | `wiring` | who drives whom, written once |
//! | `register` | registers and delays |
//! | `emit` | blocks to Verilog: equal blocks become one module |
//! | `ports` | what ports carry, for the comments beside them |
//! | `text` | text that Verilog-2005 and SystemVerilog-2017 read alike |
//! | `fixed` | a program that is part of the hardware, as constants |
//!
//! The only room that knows rust-hdl's inner ways; the others only derive its traits.

pub(crate) mod bundle;
pub(crate) mod emit;
pub(crate) mod fixed;
pub(crate) mod ports;
pub(crate) mod register;
pub(crate) mod signal;
pub(crate) mod text;
pub(crate) mod wiring;

/// A block under `#[block(leaf)]`, described twice: rust-hdl cannot express it.
pub(crate) trait Leaf {
    /// What its outputs are; nothing if it has none.
    fn model(&mut self) {}
    /// Its module in Verilog.
    fn text(&self) -> String;
}
