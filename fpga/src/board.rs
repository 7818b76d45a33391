//! Boards: facts as data, one TOML file in `fpga/boards/` each, with a constraint file beside it.
//!
//!     title, part, programmer    [device]    [clock]    [resources]    [io]
//!
//! A board with pins gets a top module `board_top` with exactly these ports, which the constraint file places:
//!
//! | port | direction | |
//! |---|---|---|
//! | `clock_pin` | in | oscillator of `clock.pin_mhz` |
//! | `button` | in | reset while it is at the level `io.button_pressed` |
//! | `uart_rx`, `uart_tx` | in, out | serial line at `io.baud` |
//! | `led` | out | `io.leds` bits |
//!
//! The clock of the grid is written once: `clock.grid_mhz`, or what a configuration says instead. PLL, constraint and
//! divisor of the serial line follow from it.

use crate::yosys::Family;
use serde::Deserialize;

/// A board as its file describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// For people.
    pub title: String,
    /// Ordering code of the device, as its vendor's tools want it.
    pub part: String,
    /// Command that loads a bitstream, without the file.
    pub programmer: String,
    /// What the tools must know of the device.
    pub device: Device,
    /// Clocks.
    pub clock: Clock,
    /// What the device has.
    pub resources: Resources,
    /// Pins; not for devices whose pins are the vendor tool's business.
    pub io: Option<Io>,
}

/// A device: its family decides which flow there is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "family", rename_all = "lowercase", deny_unknown_fields)]
pub enum Device {
    /// Lattice ECP5.
    Ecp5 {
        /// `12k`, `25k`, `45k` or `85k`.
        size: String,
        /// As nextpnr names it, e.g. `CABGA381`.
        package: String,
        /// Speed grade, 6 to 8.
        speed: u8,
        /// Rows of the multiplier sites (nextpnr's Y); with the columns, grids get a floorplan.
        #[serde(default)]
        multiplier_rows: Vec<u32>,
        /// Columns of the first site (nextpnr's X) of each group of four, from left to right.
        #[serde(default)]
        multiplier_columns: Vec<u32>,
    },
    /// Lattice `iCE40` `UltraPlus`.
    Ice40 {
        /// `up5k` or `up3k`.
        size: String,
        /// As nextpnr names it, e.g. `sg48`.
        package: String,
    },
    /// Gowin GW1N.
    Gw1n {
        /// The die as the packer names it, e.g. `GW1N-9C`.
        size: String,
    },
    /// Gowin GW2A.
    Gw2a {
        /// The die as the packer names it, e.g. `GW2A-18C`.
        size: String,
    },
    /// AMD `UltraScale+`.
    Xcup {},
    /// AMD 7 series.
    Xc7 {},
}

impl Device {
    /// The family as yosys sees it.
    pub fn family(&self) -> Family {
        match self {
            Device::Ecp5 { .. } => Family::Ecp5,
            Device::Ice40 { .. } => Family::Ice40UltraPlus,
            Device::Gw1n { .. } => Family::Gw1n,
            Device::Gw2a { .. } => Family::Gw2a,
            Device::Xcup {} => Family::UltraScalePlus,
            Device::Xc7 {} => Family::Series7,
        }
    }
}

/// The key that is wrong, and why.
pub type Mistake = (&'static [&'static str], String);

impl Board {
    /// What the types cannot say. Words that become arguments of tools and lines of a Makefile are plain.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self) -> Result<(), Mistake> {
        let (mut names, sizes): (Vec<(&'static [&'static str], &str)>, &[&str]) = match &self.device {
            Device::Ecp5 { size, package, .. } => {
                (vec![(&["device", "size"], size), (&["device", "package"], package)], &["12k", "25k", "45k", "85k"])
            }
            Device::Ice40 { size, package } => {
                (vec![(&["device", "size"], size), (&["device", "package"], package)], &["up3k", "up5k"])
            }
            Device::Gw1n { size } | Device::Gw2a { size } => (vec![(&["device", "size"], size)], &[]),
            Device::Xcup {} | Device::Xc7 {} => (Vec::new(), &[]),
        };
        names.push((&["part"], &self.part));
        for &(key, name) in &names {
            plain(key, name, "-_./")?;
        }
        plain(&["programmer"], &self.programmer, "-_./ ,")?;
        if let Some((key, size)) = names.first().filter(|(_, size)| !sizes.is_empty() && !sizes.contains(size)) {
            return Err((key, format!("`{size}` is not a size of this family; there are {}", sizes.join(", "))));
        }
        if let Device::Ecp5 { speed, multiplier_rows, multiplier_columns, .. } = &self.device {
            if !(6..=8).contains(speed) {
                return Err((&["device", "speed"], "speed grades are 6, 7 and 8".to_owned()));
            }
            let sites: [(&'static [&'static str], &[u32]); 2] = [
                (&["device", "multiplier_rows"], multiplier_rows),
                (&["device", "multiplier_columns"], multiplier_columns),
            ];
            if let Some((key, _)) = sites.iter().find(|(_, numbers)| !numbers.is_sorted_by(|a, b| a < b)) {
                return Err((key, "sites are numbered from left to right, or from the top down".to_owned()));
            }
        }
        let clocks: [(&'static [&'static str], f64); 2] =
            [(&["clock", "pin_mhz"], self.clock.pin_mhz), (&["clock", "grid_mhz"], self.clock.grid_mhz)];
        for (key, clock) in clocks {
            if !(clock.is_finite() && clock > 0.0) {
                return Err((key, "a clock is above 0 MHz".to_owned()));
            }
        }
        self.io.as_ref().map_or(Ok(()), |io| io.check(self.clock.grid_mhz))
    }
}

/// Names are not empty, and made of letters, digits and a few signs.
fn plain(key: &'static [&'static str], text: &str, signs: &str) -> Result<(), Mistake> {
    let good = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    if text.is_empty() || text.starts_with('-') || !text.chars().all(good) {
        return Err((key, format!("letters, digits and `{signs}` only")));
    }
    Ok(())
}

impl Io {
    fn check(&self, grid_mhz: f64) -> Result<(), Mistake> {
        plain(&["io", "constraints"], &self.constraints, "-_.").map_err(|(key, _)| {
            (key, "the constraint file lies beside the board's file, and its name is a plain one".to_owned())
        })?;
        if self.baud == 0 || f64::from(self.baud) > grid_mhz * 1e6 / 4.0 {
            return Err((
                &["io", "baud"],
                "a bit of the serial line takes at least four cycles of the grid".to_owned(),
            ));
        }
        if !(1..=64).contains(&self.leds) {
            return Err((&["io", "leds"], "a board has 1 to 64 LEDs".to_owned()));
        }
        let levels: [(&'static [&'static str], u8); 2] =
            [(&["io", "leds_lit"], self.leds_lit), (&["io", "button_pressed"], self.button_pressed)];
        match levels.into_iter().find(|&(_, level)| level > 1) {
            Some((key, _)) => Err((key, "a level is 0 or 1".to_owned())),
            None => Ok(()),
        }
    }
}

/// Clocks of a board.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Oscillator, MHz.
    pub pin_mhz: f64,
    /// Clock of the grid, MHz.
    pub grid_mhz: f64,
}

/// What a device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Look-up tables.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Multipliers.
    pub dsp: u64,
    /// Block memories: 18 kbit each, 4 kbit on `iCE40`.
    pub bram: u64,
}

/// What is at the pins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// File with the place of every port, beside the board file, in the format of the family's place and route.
    pub constraints: String,
    /// Bits per second of the serial line.
    pub baud: u32,
    /// Bits of the port `led`.
    pub leds: u32,
    /// Level that lights an LED, 0 or 1.
    pub leds_lit: u8,
    /// Level of the port `button` while it is pressed, 0 or 1.
    pub button_pressed: u8,
}
