//! Generated hardware: Verilog text and the ports of its top module.

/// Direction of a port, seen from the design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Driven from outside.
    Input,
    /// Driven by the design.
    Output,
}

/// One port of the top module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Port {
    /// Name in the Verilog text.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Width in bits, at least 1.
    pub width: u32,
}

/// One generated design.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rtl {
    /// Name of the top module.
    pub top: String,
    /// Verilog-2001 text of all modules.
    pub verilog: String,
    /// Ports of the top module, `clock` first.
    pub ports: Vec<Port>,
}

impl Rtl {
    /// The ports of every grid's top module (docs/machine.md sections 5 to 7), for an input beat of `stream_bits` and words of `word` bits.
    pub fn grid_ports(stream_bits: u32, word: u32) -> Vec<Port> {
        use Direction::{Input, Output};
        let port = |name: &str, direction, width| Port { name: name.to_owned(), direction, width };
        vec![
            port("clock", Input, 1),
            port("reset", Input, 1),
            port("control_write", Input, 1),
            port("control_address", Input, crate::registers::ADDRESS_BITS),
            port("control_data", Input, 32),
            port("control_read", Output, 32),
            port("in_data", Input, stream_bits),
            port("in_valid", Input, 1),
            port("in_ready", Output, 1),
            port("out_data", Output, word),
            port("out_valid", Output, 1),
            port("out_ready", Input, 1),
        ]
    }
}
