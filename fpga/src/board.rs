//! Boards: facts as data, one TOML file in `fpga/boards/` each, with a constraint file beside it.
//!
//!     title, part, programmer    [device]    [clock]    [resources]    [io]    [sdram]    [power]
//!
//! A board with pins gets a top module `board_top` with exactly these ports, which the constraint file places:
//!
//! | port | direction | |
//! |---|---|---|
//! | `clock_pin` | in | oscillator of `clock.pin_mhz` |
//! | `button` | in | reset while it is at the level `io.button_pressed` |
//! | `uart_rx`, `uart_tx` | in, out | serial line at `io.baud` |
//! | `led` | out | `io.leds` bits |
//! | those of `io.held` | out | a level that never changes |
//!
//! With a sample store in its SDRAM it has these, too, placed by a file of their own (`n` counts from 0):
//!
//! | port | direction | |
//! |---|---|---|
//! | `sdram_clock`, `sdram_cke` | out | clock, and whether it counts |
//! | `sdram_cs_n`, `sdram_ras_n`, `sdram_cas_n`, `sdram_we_n` | out | commands |
//! | `sdram_ba[n]`, `sdram_a[n]` | out | bank, address |
//! | `sdram_dm[n]`, `sdram_dq[n]` | out, both | mask of bytes, words |
//!
//! The clock of the grid is written once: `clock.grid_mhz`, or what a configuration says instead. PLL, constraint and
//! divisor of the serial line follow from it.

use crate::family::Family;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A board as its file describes it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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
    /// The SDRAM beside the device, if it has one: single data rate.
    pub sdram: Option<Sdram>,
    /// By what its power is estimated, where that has been published.
    pub power: Option<Power>,
}

/// A device: its family decides which flow there is, and which other keys it has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Device {
    /// Name of its family, a folder of `fpga/families`.
    family: String,
    /// Rows of the multiplier sites (place and route's y); with the columns, grids get a floorplan.
    #[serde(default)]
    pub multiplier_rows: Vec<u32>,
    /// Columns of the first site (place and route's x) of each group, from left to right.
    #[serde(default)]
    pub multiplier_columns: Vec<u32>,
    /// What else the family's tools must know, such as size and package.
    #[serde(flatten)]
    words: BTreeMap<String, Word>,
}

/// A word, or a number that stands for one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Word {
    /// A word.
    Text(String),
    /// A number.
    Number(u32),
}

impl Device {
    /// A device of this family, with what its tools must know.
    pub fn new(family: Family, words: &[(&str, &str)]) -> Device {
        let words = words.iter().map(|(key, word)| ((*key).to_owned(), Word::Text((*word).to_owned())));
        Device {
            family: family.name.to_owned(),
            multiplier_rows: Vec::new(),
            multiplier_columns: Vec::new(),
            words: words.collect(),
        }
    }

    /// The family.
    ///
    /// # Panics
    /// There is none of this name: [`Board::check`] has not been asked.
    pub fn family(&self) -> Family {
        Family::named(&self.family).expect("the board has been checked")
    }

    /// What its tools must know, as words.
    pub fn words(&self) -> Vec<(&str, String)> {
        let text = |word: &Word| match word {
            Word::Text(text) => text.clone(),
            Word::Number(number) => number.to_string(),
        };
        self.words.iter().map(|(key, word)| (key.as_str(), text(word))).collect()
    }

    fn check(&self) -> Result<(), Mistake> {
        let Some(family) = Family::named(&self.family).map(Family::facts) else {
            let known: Vec<&str> = Family::all().iter().map(|facts| facts.name).collect();
            return Err((
                vec!["device", "family"],
                format!("unknown family `{}`; there are {}", self.family, known.join(", ")),
            ));
        };
        let words = self.words();
        if let Some((key, _)) = words.iter().find(|(key, _)| !family.device.contains_key(*key)) {
            return Err((vec!["device"], format!("a device of {} has no key `{key}`", family.title)));
        }
        for (key, choices) in &family.device {
            let path = vec!["device", key.as_str()];
            let Some((_, word)) = words.iter().find(|(known, _)| known == key) else {
                return Err((vec!["device"], format!("a device of {} needs the key `{key}`", family.title)));
            };
            plain(path.clone(), word, "-_./")?;
            if !choices.is_empty() && !choices.contains(word) {
                return Err((path, format!("unknown {key} `{word}`; {} has {}", family.title, choices.join(", "))));
            }
        }
        let sites = [("multiplier_rows", &self.multiplier_rows), ("multiplier_columns", &self.multiplier_columns)];
        for (key, numbers) in sites {
            if family.floorplan.is_none() && !numbers.is_empty() {
                return Err((vec!["device", key], format!("{} gets no floorplan", family.title)));
            }
            if !numbers.is_sorted_by(|a, b| a < b) {
                let message = "sites are numbered from left to right, or from the top down";
                return Err((vec!["device", key], message.to_owned()));
            }
        }
        Ok(())
    }
}

/// The key that is wrong, and why.
pub type Mistake = (Vec<&'static str>, String);

impl Board {
    /// What the types cannot say. Words that become arguments of tools and lines of a Makefile are plain.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self) -> Result<(), Mistake> {
        self.device.check()?;
        plain(vec!["part"], &self.part, "-_./")?;
        plain(vec!["programmer"], &self.programmer, "-_./ ,:=+")?;
        for (key, clock) in [("pin_mhz", self.clock.pin_mhz), ("grid_mhz", self.clock.grid_mhz)] {
            if !(clock.is_finite() && clock > 0.0) {
                return Err((vec!["clock", key], "a clock is above 0 MHz".to_owned()));
            }
        }
        self.io.as_ref().map_or(Ok(()), |io| io.check(self.clock.grid_mhz))?;
        self.sdram.as_ref().map_or(Ok(()), |sdram| sdram.check(self.io.is_some()))?;
        self.power.as_ref().map_or(Ok(()), Power::check)
    }
}

/// Names are not empty, and made of letters, digits and a few signs.
fn plain(key: Vec<&'static str>, text: &str, signs: &str) -> Result<(), Mistake> {
    let good = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    if text.is_empty() || text.starts_with('-') || !text.chars().all(good) {
        return Err((key, format!("letters, digits and `{signs}` only")));
    }
    Ok(())
}

impl Io {
    fn check(&self, grid_mhz: f64) -> Result<(), Mistake> {
        plain(vec!["io", "constraints"], &self.constraints, "-_.").map_err(|(key, _)| {
            (key, "the constraint file lies beside the board's file, and its name is a plain one".to_owned())
        })?;
        if self.baud == 0 || f64::from(self.baud) > grid_mhz * 1e6 / 4.0 {
            return Err((
                vec!["io", "baud"],
                "a bit of the serial line takes at least four cycles of the grid".to_owned(),
            ));
        }
        if !(1..=64).contains(&self.leds) {
            return Err((vec!["io", "leds"], "a board has 1 to 64 LEDs".to_owned()));
        }
        let levels = [("leds_lit", self.leds_lit), ("button_pressed", self.button_pressed)];
        let held = self.held.values().map(|&level| ("held", level));
        if let Some(name) = self.held.keys().find(|name| !is_port(name)) {
            return Err((vec!["io", "held"], format!("`{name}` is not the name of another port")));
        }
        match levels.into_iter().chain(held).find(|&(_, level)| level > 1) {
            Some((key, _)) => Err((vec!["io", key], "a level is 0 or 1".to_owned())),
            None => Ok(()),
        }
    }
}

/// Whether a port of the user's may be called so: a name of Verilog that the design has not.
fn is_port(name: &str) -> bool {
    let own = ["clock_pin", "button", "uart_rx", "uart_tx", "led"];
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let taken = own.contains(&name) || ["sdram_", "pll"].iter().any(|start| name.starts_with(start));
    letters && name.contains('_') && name.starts_with(|c: char| c.is_ascii_lowercase()) && !taken
}

impl Sdram {
    /// Bits of the address of a word.
    pub fn address_bits(&self) -> u32 {
        20 + self.mbytes.ilog2() - (self.data_bits / 8).ilog2()
    }

    fn check(&self, has_pins: bool) -> Result<(), Mistake> {
        plain(vec!["sdram", "module"], &self.module, "_")?;
        plain(vec!["sdram", "constraints"], &self.constraints, "-_.").map_err(|(key, _)| {
            (key, "the constraint file lies beside the board's file, and its name is a plain one".to_owned())
        })?;
        if !has_pins {
            return Err((vec!["sdram"], "an SDRAM has pins: the board needs an [io] table".to_owned()));
        }
        if ![8, 16, 32].contains(&self.data_bits) {
            return Err((vec!["sdram", "data_bits"], "an SDRAM has words of 8, 16 or 32 bits".to_owned()));
        }
        if !self.mbytes.is_power_of_two() || self.mbytes > 512 {
            return Err((vec!["sdram", "mbytes"], "an SDRAM holds a power of two, up to 512 MB".to_owned()));
        }
        if self.read_delay > 3 {
            return Err((vec!["sdram", "read_delay"], "words come at most three cycles later".to_owned()));
        }
        let [least, most] = self.clock_mhz;
        if !(least.is_finite() && most.is_finite() && 0.0 < least && least <= most) {
            return Err((vec!["sdram", "clock_mhz"], "the least and the largest clock, above 0 MHz".to_owned()));
        }
        Ok(())
    }
}

/// Clocks of a board.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Oscillator, MHz.
    pub pin_mhz: f64,
    /// Clock of the grid, MHz.
    pub grid_mhz: f64,
}

/// What a device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// Groups of look-up tables that hold words, 16 words of 4 bits on `ECP5` and Gowin; 0: as many as there are tables for, or the family has none.
    #[serde(default)]
    pub lutram: u64,
    /// Large memories beside them, which only a sample store is put into: 256 kbit each, 16,384 words of 16 bits.
    #[serde(default)]
    pub spram: u64,
}

/// What is at the pins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// More output ports, and the level that each holds.
    #[serde(default)]
    pub held: BTreeMap<String, u8>,
}

/// An SDRAM of single data rate, which works on the falling edge of the grid's clock.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sdram {
    /// For people.
    pub title: String,
    /// Its geometry and times: the name of a class in `litedram.modules`.
    pub module: String,
    /// What it holds, in units of 2^20 bytes: a power of two.
    pub mbytes: u32,
    /// Bits of a word: 8, 16 or 32.
    pub data_bits: u32,
    /// Least and largest clock at which words come at the expected edge, MHz.
    pub clock_mhz: [f64; 2],
    /// Cycles by which words come later than they would without ways to and from the pins.
    pub read_delay: u32,
    /// File with the places of its ports, beside the board file; it is added to that of [`Io`].
    pub constraints: String,
}

/// What a device takes, as far as it has been published: an estimate (docs/system.md).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// While nothing changes, W.
    pub static_watts: f64,
    /// A look-up table with its flip-flop and its wires, for each change of its output, pJ.
    pub lut_pj: f64,
    /// A multiplier, in each cycle, pJ.
    pub multiplier_pj: f64,
    /// A block memory, in each cycle, pJ.
    pub block_pj: f64,
}

/// Changes of an output per cycle: what the calculators of vendors assume where nothing is known.
const CHANGES: f64 = 0.125;

impl Power {
    /// Of so many look-up tables, multipliers and block memories at a clock, W.
    pub fn watts(&self, [luts, multipliers, blocks]: [u64; 3], clock_mhz: f64) -> f64 {
        let picojoules = CHANGES * self.lut_pj * luts as f64
            + self.multiplier_pj * multipliers as f64
            + self.block_pj * blocks as f64;
        self.static_watts + 1e-6 * clock_mhz * picojoules
    }

    fn check(&self) -> Result<(), Mistake> {
        let Power { static_watts, lut_pj, multiplier_pj, block_pj } = *self;
        let all = [
            ("static_watts", static_watts),
            ("lut_pj", lut_pj),
            ("multiplier_pj", multiplier_pj),
            ("block_pj", block_pj),
        ];
        match all.into_iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            Some((key, _)) => Err((vec!["power", key], "what a device takes is above 0".to_owned())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1,000 tables change 125 times a cycle, 20 pJ; with 10 multipliers and 5 blocks 230 pJ, 100 million times a second.
    #[test]
    fn power_is_what_rests_and_what_changes() {
        let power = Power { static_watts: 0.3, lut_pj: 0.16, multiplier_pj: 12.0, block_pj: 18.0 };
        assert!((power.watts([1000, 10, 5], 100.0) - 0.323).abs() < 1e-12);
        let with = |change: fn(&mut Power)| wrong(|board| change(board.power.as_mut().unwrap()));
        assert_eq!(with(|power| power.static_watts = 0.0), Some(vec!["power", "static_watts"]));
        assert_eq!(with(|power| power.block_pj = f64::NAN), Some(vec!["power", "block_pj"]));
    }

    /// A board that is right, but for what `change` does to it: the key that is wrong.
    fn wrong(change: impl Fn(&mut Board)) -> Option<Vec<&'static str>> {
        let mut board: Board = toml::from_str(include_str!("../boards/ulx3s-85f.toml")).unwrap();
        change(&mut board);
        board.check().err().map(|(key, _)| key)
    }

    fn wrong_io(change: impl Fn(&mut Io)) -> Option<Vec<&'static str>> {
        wrong(|board| change(board.io.as_mut().unwrap()))
    }

    #[test]
    fn levels_and_leds_have_bounds() {
        assert_eq!(wrong(|_| {}), None);
        for (level, expected) in [(0, false), (1, false), (2, true)] {
            assert_eq!(wrong_io(|io| io.leds_lit = level), expected.then(|| vec!["io", "leds_lit"]));
            assert_eq!(wrong_io(|io| io.button_pressed = level), expected.then(|| vec!["io", "button_pressed"]));
        }
        for (leds, expected) in [(0, true), (1, false), (64, false), (65, true)] {
            assert_eq!(wrong_io(|io| io.leds = leds), expected.then(|| vec!["io", "leds"]));
        }
    }

    #[test]
    fn an_sdram_has_pins_and_plain_facts() {
        let with = |change: fn(&mut Sdram)| wrong(|board| change(board.sdram.as_mut().unwrap()));
        assert_eq!(with(|_| {}), None);
        assert_eq!(with(|sdram| sdram.module = "a b".to_owned()), Some(vec!["sdram", "module"]));
        assert_eq!(with(|sdram| sdram.constraints = "../x".to_owned()), Some(vec!["sdram", "constraints"]));
        assert_eq!(with(|sdram| sdram.data_bits = 12), Some(vec!["sdram", "data_bits"]));
        assert_eq!(with(|sdram| sdram.mbytes = 48), Some(vec!["sdram", "mbytes"]));
        assert_eq!(with(|sdram| sdram.read_delay = 4), Some(vec!["sdram", "read_delay"]));
        assert_eq!(with(|sdram| sdram.clock_mhz = [100.0, 50.0]), Some(vec!["sdram", "clock_mhz"]));
        assert_eq!(wrong(|board| board.io = None), Some(vec!["sdram"]));
        // 16 M words of 16 bits.
        let board: Board = toml::from_str(include_str!("../boards/ulx3s-85f.toml")).unwrap();
        assert_eq!(board.sdram.unwrap().address_bits(), 24);
    }

    /// 40 MHz are four cycles per bit at 10 Mbit/s.
    #[test]
    fn a_bit_takes_four_cycles() {
        for (baud, expected) in [(0, true), (1, false), (10_000_000, false), (10_000_001, true)] {
            let found = wrong(|board| {
                board.clock.grid_mhz = 40.0;
                board.io.as_mut().unwrap().baud = baud;
            });
            assert_eq!(found, expected.then(|| vec!["io", "baud"]), "{baud}");
        }
    }

    #[test]
    fn clocks_run_and_words_are_plain() {
        for clock in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(wrong(|board| board.clock.pin_mhz = clock), Some(vec!["clock", "pin_mhz"]));
            assert_eq!(wrong(|board| board.clock.grid_mhz = clock), Some(vec!["clock", "grid_mhz"]));
        }
        for (part, expected) in
            [("a-1_./B", false), ("", true), ("-a", true), ("a b", true), ("a;b", true), ("\u{e4}", true)]
        {
            assert_eq!(wrong(|board| part.clone_into(&mut board.part)), expected.then(|| vec!["part"]), "{part}");
        }
        for load in ["load -v, now", "dfu-util --device 1209:5af0 --alt=0 -D", "openFPGALoader --freq 1e+6"] {
            assert_eq!(wrong(|board| load.clone_into(&mut board.programmer)), None, "{load}");
        }
        assert_eq!(wrong(|board| "load; now".clone_into(&mut board.programmer)), Some(vec!["programmer"]));
        assert_eq!(wrong_io(|io| "../a".clone_into(&mut io.constraints)), Some(vec!["io", "constraints"]));
    }

    #[test]
    fn sites_are_in_order() {
        for (sites, expected) in [(vec![], false), (vec![3, 5], false), (vec![5, 3], true), (vec![3, 3], true)] {
            let rows = wrong(|board| board.device.multiplier_rows.clone_from(&sites));
            assert_eq!(rows, expected.then(|| vec!["device", "multiplier_rows"]));
            let columns = wrong(|board| board.device.multiplier_columns.clone_from(&sites));
            assert_eq!(columns, expected.then(|| vec!["device", "multiplier_columns"]));
        }
    }

    #[test]
    fn an_sdram_may_be_as_large_and_as_slow_as_is_said() {
        let is_right = |change: fn(&mut Sdram)| wrong(|board| change(board.sdram.as_mut().unwrap())).is_none();
        assert!(is_right(|sdram| sdram.mbytes = 512) && !is_right(|sdram| sdram.mbytes = 1024));
        assert!(is_right(|sdram| sdram.mbytes = 1) && !is_right(|sdram| sdram.mbytes = 0));
        assert!(is_right(|sdram| sdram.read_delay = 3) && is_right(|sdram| sdram.read_delay = 0));
        assert!(is_right(|sdram| sdram.clock_mhz = [50.0, 50.0]));
        for clocks in [[0.0, 50.0], [-1.0, 50.0], [f64::NAN, 50.0], [50.0, f64::NAN], [50.0, f64::INFINITY]] {
            let found = wrong(|board| board.sdram.as_mut().unwrap().clock_mhz = clocks);
            assert_eq!(found, Some(vec!["sdram", "clock_mhz"]), "{clocks:?}");
        }
    }
}
