//! Vivado: a script that makes a project, a block design and a bitstream of the AXI shell.
//!
//!     PS ──HPM0──▶ SmartConnect ─┬─▶ tabla_axi (registers)          pl_clk0, reset ─▶ all
//!                                └─▶ AXI DMA (registers)
//!     PS ◀──HP0─── SmartConnect ◀── AXI DMA ──▶ s_axis  tabla_axi  m_axis ──▶ AXI DMA
//!
//! We have no Vivado. The script is generated for version 2022.1 and later, checked by a Tcl interpreter with stand-ins for the
//! commands of Vivado, and gets the RTL rather than a netlist of yosys, which leaves the registers of DSP48E2 unused.

use arch::Machine;
use arch::axi::{ADDRESS_BITS, Geometry, MOST_TRANSFER_BITS};
use std::fmt::Write;

/// Name of the script.
pub const SCRIPT: &str = "vivado.tcl";

/// What the script is to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Project<'a> {
    /// Device, such as `xczu9eg-ffvb1156-2-e`.
    pub part: &'a str,
    /// Board, for its preset, if Vivado knows it: the beginning of a `board_part`, such as `xilinx.com:zcu102`.
    pub board: &'a str,
    /// Clock of the accelerator.
    pub clock_mhz: f64,
    /// Verilog files, relative to the script.
    pub sources: &'a [String],
    /// Name of the top module of the shell.
    pub top: &'a str,
}

const TEMPLATE: &str = include_str!("vivado/vivado.tcl");

/// The script.
pub fn script(machine: &Machine, project: &Project<'_>) -> String {
    let geometry = Geometry::of(machine);
    let mut settings = String::new();
    let mut set = |name: &str, value: String| {
        let _ = writeln!(settings, "set {name} {value}");
    };
    set("part", word(project.part));
    set("board", word(project.board));
    set("clock_mhz", format!("{:.6}", project.clock_mhz));
    set("sources", format!("[list {}]", project.sources.iter().map(|name| word(name)).collect::<Vec<_>>().join(" ")));
    set("top", word(project.top));
    set("input_bits", geometry.bits().to_string());
    set("output_bits", geometry.lane.to_string());
    set("memory_bits", MOST_TRANSFER_BITS.to_string());
    set("register_range", format!("{}M", (1u32 << ADDRESS_BITS) >> 20));
    TEMPLATE.replace("# SETTINGS\n", &settings)
}

/// A word of Tcl that means exactly this text: everything that could mean something is written as its code.
pub fn word(text: &str) -> String {
    let mut word = "\"".to_owned();
    let mut units = [0; 2];
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "_-./:".contains(c) {
            word.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(word, "\\u{unit:04x}");
            }
        }
    }
    word + "\""
}

/// What to tell the user who asks for a bitstream where there is no Vivado.
pub fn missing(part: &str, folder: &str) -> String {
    format!(
        "vivado is not on PATH, and no open tool places and routes {part}: the RTL, {SCRIPT} and the drivers are in {folder}; \
         where Vivado is installed, with a licence for the part, `vivado -mode batch -source {SCRIPT}` there makes tabla.bit and tabla.hwh"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_gets_out_of_its_word() {
        assert_eq!(word("xczu9eg-ffvb1156-2-e"), "\"xczu9eg-ffvb1156-2-e\"");
        assert_eq!(word("a b"), "\"a\\u0020b\"");
        assert_eq!(word("\"[exec rm]$x\\\n;"), "\"\\u0022\\u005bexec\\u0020rm\\u005d\\u0024x\\u005c\\u000a\\u003b\"");
        assert_eq!(word("\u{1f600}"), "\"\\ud83d\\ude00\"");
    }

    #[test]
    fn who_has_no_vivado_is_told_what_to_do() {
        let text = missing("xczu9eg", "out/zcu102");
        for part in ["not on PATH", "licence", "out/zcu102", "vivado -mode batch -source vivado.tcl"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
