//! Drivers of the AXI shell, generated from the register table: a C header and a Python module for PYNQ.
//!
//! Neither contains a name of the user's program: those stand in `layout.json`, which the Python module reads as data.

use arch::Machine;
use arch::axi::{self, Cause, Geometry};
use arch::registers::{self, Region};
use arch::rtl::CoreName;
use std::fmt::Write;

const HEADER: &str = include_str!("driver/tabla.h");
const MODULE: &str = include_str!("driver/tabla.py");

/// Where the C header of a core is.
pub fn header_name(core: &CoreName) -> String {
    core.text("driver/tabla.h")
}

/// The C header.
pub fn c_header(core: &CoreName, machine: &Machine) -> String {
    let mut defines = String::new();
    let mut define = |name: &str, value: u32, what: &str| {
        let _ = writeln!(defines, "#define TABLA_{name} {value:#x}u{}", comment(what));
    };
    for register in axi::REGISTERS {
        define(&register.name.to_uppercase(), register.offset, register.meaning);
    }
    define("WINDOW", axi::WINDOW, "the control port: its word a is at TABLA_WINDOW + 4 * a");
    for register in registers::REGISTERS {
        define(&format!("CONTROL_{}", register.name.to_uppercase()), register.number, register.meaning);
    }
    for (name, value, what) in facts(machine) {
        define(name, value, what);
    }
    for (cause, name, meaning, _) in Cause::ALL {
        define(&format!("CAUSE_{}", name.to_uppercase()), cause as u32, meaning);
    }
    core.text(&HEADER.replace("/*DEFINES*/\n", &defines))
}

fn comment(what: &str) -> String {
    if what.is_empty() { String::new() } else { format!(" /* {what} */") }
}

/// Numbers of this grid and of the map that drivers use.
fn facts(machine: &Machine) -> [(&'static str, u32, &'static str); 23] {
    let geometry = Geometry::of(machine);
    let described = registers::description(machine);
    let described = |register| described.iter().find(|(number, _)| *number == register).map_or(0, |(_, value)| *value);
    [
        ("IDENTITY_VALUE", registers::IDENTITY_VALUE, ""),
        ("MAP_VERSION", axi::VERSION, ""),
        ("ADDRESS_SPACE", 1 << axi::ADDRESS_BITS, "bytes"),
        ("CTRL_START", axi::CTRL_START, ""),
        ("CTRL_DONE", axi::CTRL_DONE, ""),
        ("CTRL_IDLE", axi::CTRL_IDLE, ""),
        ("STOP_ABORT", axi::STOP_ABORT, ""),
        ("STOP_RESET", axi::STOP_RESET, ""),
        ("RUN_LOAD_MODEL", axi::RUN_LOAD_MODEL, "of `run_flags`"),
        ("RUN_EMIT_MODEL", axi::RUN_EMIT_MODEL, "of `run_flags`"),
        ("RUN_GO_ON", axi::RUN_GO_ON, "of `run_flags`: with the batch whose sums were put back"),
        ("STATUS_SATURATED", axi::STATUS_SATURATED, "of `status`: the last run clipped a result to its word"),
        ("STATUS_INPUT", axi::STATUS_INPUT, "of `status`: something is wrong with the input"),
        ("STATUS_OUTPUT_WAITS", axi::STATUS_OUTPUT_WAITS, "of `status`"),
        ("TABLES", Region::Tables.base(), "control address of the function tables"),
        ("GRID_VALUE", described(registers::GRID), "of the grid this was generated for"),
        ("WIDTHS_VALUE", described(registers::WIDTHS), ""),
        ("STREAM_WORDS", machine.stream_words(), "words of a beat of input"),
        ("BEAT_WORDS", machine.output_words(), "words of a beat of output"),
        ("WORD_BITS", machine.word(), ""),
        ("LANE_BITS", geometry.lane, "bits of a word on the streams"),
        ("TRANSFER_WORDS", geometry.words, "words of one transfer of the input"),
        ("PORTS", geometry.ports(), "memory ports that feed the input, each an equal part of every transfer"),
    ]
}

/// The Python module.
pub fn python(core: &CoreName, machine: &Machine) -> String {
    let mut constants = format!("CORE = \"{}\"\n", core.as_str());
    for register in axi::REGISTERS {
        let _ =
            writeln!(constants, "{} = {:#04x}  # {}", register.name.to_uppercase(), register.offset, register.meaning);
    }
    let _ = writeln!(constants, "WINDOW = {:#x}  # the control port: its word a is at WINDOW + 4 * a", axi::WINDOW);
    for (name, value, what) in facts(machine) {
        let comment = if what.is_empty() { String::new() } else { format!("  # {what}") };
        let _ = writeln!(constants, "{name} = {value:#x}{comment}");
    }
    constants += "CAUSES = {\n";
    for (cause, _, meaning, _) in Cause::ALL {
        let _ = writeln!(constants, "    {}: \"{meaning}\",", cause as u32);
    }
    constants += "}\n";
    MODULE.replace("# CONSTANTS\n", &constants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::machine::MachineSpec;

    /// Numbers of the register map and of this grid, in both drivers.
    #[test]
    fn drivers_know_the_grid_and_the_map() {
        let machine = Machine::grid(2, 4, 16).unwrap();
        let (header, module) = (c_header(&CoreName::near("net"), &machine), python(&CoreName::near("net"), &machine));
        for (name, value) in [
            ("WINDOW", "0x400000"),
            ("ADDRESS_SPACE", "0x800000"),
            ("GRID_VALUE", "0x20004"),
            ("WORD_BITS", "0x10"),
            ("CTRL_START", "0x1"),
            ("CTRL_DONE", "0x2"),
        ] {
            assert!(header.contains(&format!("#define NET_{name} {value}u")), "{name}\n{header}");
            assert!(module.contains(&format!("{name} = {value}")), "{name}\n{module}");
        }
        let widths = 16 * 0x10000 + machine.accumulator();
        assert!(header.contains(&format!("#define NET_WIDTHS_VALUE {widths:#x}u")), "{header}");
        // Bits 31, 30 and 25: docs/registers.md.
        let spec = MachineSpec {
            pad_register: Some(true),
            partial_sums: Some(true),
            squares: Some(true),
            ..MachineSpec::default()
        };
        let other = Machine::try_from(spec).unwrap();
        let widths = 0xc200_0000 | other.word() << 16 | other.accumulator();
        assert!(
            python(&CoreName::near("net"), &other).contains(&format!("WIDTHS_VALUE = {widths:#x}\n")),
            "{widths:#x}"
        );
        // Every cause has its number and its meaning; nothing of the templates is left open.
        for (cause, name, meaning, _) in Cause::ALL {
            assert!(header.contains(&format!("NET_CAUSE_{} {:#x}u", name.to_uppercase(), cause as u32)), "{header}");
            assert!(module.contains(&format!("    {}: \"{meaning}\",", cause as u32)), "{module}");
        }
        assert!(!header.contains("DEFINES") && !module.contains("# CONSTANTS"));
        assert_eq!((comment(""), comment("bytes")), (String::new(), " /* bytes */".to_owned()));
    }
}
