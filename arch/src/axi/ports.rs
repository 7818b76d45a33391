//! Ports of the AXI shell, and the interfaces that they make. One list for the Verilog, Vivado's attributes and IP-XACT.
//!
//!     s_axi_aclk, s_axi_aresetn     clock and reset of all others
//!     s_axi_*                       AXI4-Lite: registers
//!     s_axis_*, m_axis_*            AXI4-Stream: input, output
//!     run_done                      interrupt

use super::{ADDRESS_BITS, Geometry};
use crate::machine::Machine;
use crate::rtl::{Direction, Port};

/// An interface of the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Clock of everything.
    Clock,
    /// Reset, active low.
    Reset,
    /// Registers, AXI4-Lite.
    Registers,
    /// Input stream.
    Input,
    /// Output stream.
    Output,
    /// Interrupt.
    Interrupt,
}

impl Interface {
    /// All of them, in the order of their ports.
    pub const ALL: [Interface; 6] = [
        Interface::Clock,
        Interface::Reset,
        Interface::Registers,
        Interface::Input,
        Interface::Output,
        Interface::Interrupt,
    ];

    /// Its name: that of its only port, or what the names of its ports begin with.
    pub fn name(self) -> &'static str {
        match self {
            Interface::Clock => "s_axi_aclk",
            Interface::Reset => "s_axi_aresetn",
            Interface::Registers => "s_axi",
            Interface::Input => "s_axis",
            Interface::Output => "m_axis",
            Interface::Interrupt => "run_done",
        }
    }

    /// Whether the shell begins transfers on it.
    pub fn is_master(self) -> bool {
        matches!(self, Interface::Output | Interface::Interrupt)
    }
}

/// A port of the shell and its role in an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxiPort {
    /// The port.
    pub port: Port,
    /// Where it belongs.
    pub interface: Interface,
    /// What definitions of the interface call it.
    pub role: String,
}

impl AxiPort {
    /// The range in its declaration; none for a single wire. The keep bits of a byte-wide stream are one wire, but a vector.
    pub fn range(&self) -> Option<(u32, u32)> {
        (self.port.width > 1 || self.role == "TKEEP").then_some((self.port.width - 1, 0))
    }
}

/// The ports of the shell around a grid, clock first.
pub fn ports(machine: &Machine) -> Vec<AxiPort> {
    use Direction::{Input, Output};
    let geometry = Geometry::of(machine);
    let mut ports = Vec::new();
    let mut add = |interface: Interface, role: &str, direction, width| {
        let alone = matches!(interface, Interface::Clock | Interface::Reset | Interface::Interrupt);
        let field = if alone { String::new() } else { format!("_{}", role.to_lowercase()) };
        let name = format!("{}{field}", interface.name());
        ports.push(AxiPort { port: Port { name, direction, width }, interface, role: role.to_owned() });
    };
    add(Interface::Clock, "CLK", Input, 1);
    add(Interface::Reset, "RST", Input, 1);
    for (role, direction, width) in [
        ("AWADDR", Input, ADDRESS_BITS),
        ("AWPROT", Input, 3),
        ("AWVALID", Input, 1),
        ("AWREADY", Output, 1),
        ("WDATA", Input, 32),
        ("WSTRB", Input, 4),
        ("WVALID", Input, 1),
        ("WREADY", Output, 1),
        ("BRESP", Output, 2),
        ("BVALID", Output, 1),
        ("BREADY", Input, 1),
        ("ARADDR", Input, ADDRESS_BITS),
        ("ARPROT", Input, 3),
        ("ARVALID", Input, 1),
        ("ARREADY", Output, 1),
        ("RDATA", Output, 32),
        ("RRESP", Output, 2),
        ("RVALID", Output, 1),
        ("RREADY", Input, 1),
    ] {
        add(Interface::Registers, role, direction, width);
    }
    for (interface, bits, forward, backward) in
        [(Interface::Input, geometry.bits(), Input, Output), (Interface::Output, geometry.output_bits(), Output, Input)]
    {
        add(interface, "TDATA", forward, bits);
        add(interface, "TKEEP", forward, bits / 8);
        add(interface, "TLAST", forward, 1);
        add(interface, "TVALID", forward, 1);
        add(interface, "TREADY", backward, 1);
    }
    add(Interface::Interrupt, "INTERRUPT", Output, 1);
    ports
}
