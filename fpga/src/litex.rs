//! `LiteX`: a Python module that puts the grid behind AXI into a system, and the C functions that run it there.
//!
//!     CPU ──AXI4-Lite──▶ tabla_axi (registers)
//!     memory ──DMA reader──▶ s_axis  tabla_axi  m_axis ──DMA writer──▶ memory
//!
//! The C header needs what `LiteX` generates for the system (`generated/csr.h`, `generated/mem.h`) and `driver/tabla.h`.

use arch::Machine;
use arch::axi::{ADDRESS_BITS, Geometry};
use std::fmt::Write;

/// Name of the Python module.
pub const MODULE: &str = "litex/tabla_litex.py";
/// Name of the C header.
pub const HEADER: &str = "litex/tabla_litex.h";
/// The C header: what it has to know of the grid is in `driver/tabla.h`.
pub const HEADER_TEXT: &str = include_str!("litex/tabla_litex.h");

const TEMPLATE: &str = include_str!("litex/tabla_litex.py");

/// The Python module; `sources` are relative to the output folder, children before parents.
pub fn module(machine: &Machine, top: &str, sources: &[String]) -> String {
    let geometry = Geometry::of(machine);
    let mut constants = format!("TOP = \"{top}\"\nSOURCES = [\n");
    for source in sources {
        let _ = writeln!(constants, "    \"{source}\",");
    }
    constants += "]\n";
    for (name, value, what) in [
        ("ADDRESS_BITS", ADDRESS_BITS, "of the registers, bytes"),
        ("INPUT_BITS", geometry.bits(), "of a transfer of the input"),
        ("OUTPUT_BITS", geometry.output_bits(), "of a transfer of the output"),
    ] {
        let _ = writeln!(constants, "{name} = {value}  # {what}");
    }
    TEMPLATE.replace("# CONSTANTS\n", &constants)
}
