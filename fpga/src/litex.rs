//! `LiteX`: a Python module that puts the grid behind AXI into a system, and the C functions that run it there.
//!
//!     CPU ──AXI4-Lite──▶ tabla_axi (registers)
//!     memory ──DMA reader──▶ s_axis  tabla_axi  m_axis ──DMA writer──▶ memory
//!
//! The C header needs what `LiteX` generates for the system (`generated/csr.h`, `generated/mem.h`) and `driver/tabla.h`.

use arch::Machine;
use arch::axi::{ADDRESS_BITS, Geometry};
use arch::rtl::CoreName;
use std::fmt::Write;

/// Generic names of the Python module, the C header, and the source that joins it to the drivers of programs.
pub const NAMES: [&str; 3] = ["litex/tabla_litex.py", "litex/tabla_litex.h", "litex/tabla_litex.c"];

const TEMPLATE: &str = include_str!("litex/tabla_litex.py");
const HEADER: &str = include_str!("litex/tabla_litex.h");
const SOURCE: &str = include_str!("litex/tabla_litex.c");

/// The C header and the source: what they have to know of the grid is in the header of the driver.
pub fn c_texts(core: &CoreName) -> [String; 2] {
    [HEADER, SOURCE].map(|text| core.text(text))
}

/// The Python module; `sources` are relative to the output folder, children before parents.
pub fn module(core: &CoreName, machine: &Machine, top: &str, sources: &[String]) -> String {
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
    core.text(TEMPLATE).replace("# CONSTANTS\n", &constants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::machine::MachineSpec;

    /// A transfer of eight lanes of 16 bits, results one word at a time.
    #[test]
    fn the_module_knows_its_files_and_widths() {
        let spec = MachineSpec {
            pus: Some(2),
            pes_per_pu: Some(4),
            stream_words: Some(8),
            output_words: Some(1),
            word: Some(16),
            ..MachineSpec::default()
        };
        let text = module(
            &CoreName::near("net"),
            &Machine::try_from(spec).unwrap(),
            "tabla_axi",
            &["a.v".to_owned(), "rtl/b.v".to_owned()],
        );
        let expected = "TOP = \"tabla_axi\"\nSOURCES = [\n    \"a.v\",\n    \"rtl/b.v\",\n]\n\
                        ADDRESS_BITS = 23  # of the registers, bytes\nINPUT_BITS = 128  # of a transfer of the input\n\
                        OUTPUT_BITS = 16  # of a transfer of the output\n";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("# CONSTANTS") && text.contains("def add_net("));
    }
}
