//! Constraint files of boards: every port of the design has a place of its own, and lights and words as many as the board's file says.
//!
//! | extension | a place |
//! |---|---|
//! | `.lpf` | `LOCATE COMP "port" SITE "G2";` |
//! | `.cst` | `IO_LOC "port" 4;` |
//! | `.pcf` | `set_io port 35` |
//! | `.ccf` | `Net "port" Loc = "IO_SB_A8";` |
//!
//! Places of ports that the design has not are let be: files of vendors hold all pins of a board.

use crate::board::{Board, Io, Sdram};
use std::collections::BTreeMap;
use std::ops::Range;

/// A port, its pin, and the bytes of the text that say so.
struct Placed {
    port: String,
    pin: String,
    at: Range<usize>,
}

/// What is wrong with a constraint file, and where; nothing is at fault in the text if something lacks.
pub type Mistake = (Option<Range<usize>>, String);

impl Board {
    /// Check the constraint file of [`Io`].
    ///
    /// # Errors
    /// The first mistake.
    pub fn check_pins(&self, text: &str) -> Result<(), Mistake> {
        self.io.as_ref().map_or(Ok(()), |io| check(self, text, &io.port_names(), &[("led", io.leds, "[io] leds")]))
    }

    /// Check the constraint file of [`Sdram`].
    ///
    /// # Errors
    /// The first mistake.
    pub fn check_sdram_pins(&self, text: &str) -> Result<(), Mistake> {
        let Some(sdram) = &self.sdram else { return Ok(()) };
        let [masks, words] = sdram.widths();
        let counts = [("sdram_dm", masks, "[sdram] data_bits"), ("sdram_dq", words, "[sdram] data_bits")];
        check(self, text, &sdram.port_names(), &counts)
    }
}

fn bits(port: &str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |bit| format!("{port}[{bit}]"))
}

impl Io {
    fn port_names(&self) -> Vec<String> {
        let single = ["clock_pin", "button", "uart_rx", "uart_tx"].into_iter();
        single.chain(self.held.keys().map(String::as_str)).map(str::to_owned).chain(bits("led", self.leds)).collect()
    }
}

impl Sdram {
    /// Bits of the mask and of a word.
    fn widths(&self) -> [u32; 2] {
        [self.data_bits / 8, self.data_bits]
    }

    /// Numbers of banks and addresses follow from the part: place and route knows them.
    fn port_names(&self) -> Vec<String> {
        let single =
            ["clock", "cke", "cs_n", "ras_n", "cas_n", "we_n", "ba[0]", "a[0]"].map(|name| format!("sdram_{name}"));
        let [masks, words] = self.widths();
        single.into_iter().chain(bits("sdram_dm", masks)).chain(bits("sdram_dq", words)).collect()
    }
}

fn check(board: &Board, text: &str, wanted: &[String], counts: &[(&str, u32, &str)]) -> Result<(), Mistake> {
    let Some(flow) = &board.device.family().facts().flow else { return Ok(()) };
    let placed = places(text, flow.constraints.rsplit('.').next().unwrap_or_default());
    let mut pins: BTreeMap<&str, &str> = BTreeMap::new();
    for Placed { port, pin, at } in &placed {
        let bit =
            port.split_once('[').and_then(|(name, bit)| Some((name, bit.trim_end_matches(']').parse::<u32>().ok()?)));
        if let Some((name, bit)) = bit
            && let Some((_, count, key)) = counts.iter().find(|(known, ..)| *known == name)
            && bit >= *count
        {
            return Err((Some(at.clone()), format!("`{port}` has a place, but {key} says that there are {count}")));
        }
        if !wanted.contains(&whole(port)) {
            continue;
        }
        match pins.insert(pin, port) {
            Some(other) if other != port => {
                return Err((Some(at.clone()), format!("`{port}` and `{other}` have the same place, {pin}")));
            }
            _ => {}
        }
    }
    let has = |port: &String| placed.iter().any(|placed| whole(&placed.port) == *port);
    match wanted.iter().find(|port| !has(port)) {
        Some(port) => Err((None, format!("port `{port}` has no place"))),
        None => Ok(()),
    }
}

/// A port of one bit may be called without its number.
fn whole(port: &str) -> String {
    if port == "led" { "led[0]".to_owned() } else { port.to_owned() }
}

/// The places that a text of this format gives, in its order.
fn places(text: &str, format: &str) -> Vec<Placed> {
    let mut placed = Vec::new();
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default().split('#').next().unwrap_or_default();
        let mut start = from;
        for statement in code.split_inclusive(';') {
            let words: Vec<&str> = statement
                .split(|c: char| c.is_whitespace() || "\";=|".contains(c))
                .filter(|word| !word.is_empty())
                .collect();
            if let Some((port, pin)) = place(&words, format) {
                let begin = start + statement.len() - statement.trim_start().len();
                let at = begin..start + statement.trim_end().len();
                placed.push(Placed { port: port.to_owned(), pin: pin.to_owned(), at });
            }
            start += statement.len();
        }
        from += line.len();
    }
    placed
}

/// The port and the pin of one statement, if it places one.
fn place<'a>(words: &[&'a str], format: &str) -> Option<(&'a str, &'a str)> {
    let is = |n: usize, keyword: &str| words.get(n).is_some_and(|word| word.eq_ignore_ascii_case(keyword));
    let pair = |port: usize, pin: usize| Some((*words.get(port)?, *words.get(pin)?));
    match format {
        "lpf" if is(0, "LOCATE") && is(1, "COMP") && is(3, "SITE") => pair(2, 4),
        "cst" if is(0, "IO_LOC") => pair(1, 2),
        // Options stand before the two, and have at most a yes or no.
        "pcf" if is(0, "set_io") && words.len() >= 3 => pair(words.len() - 2, words.len() - 1),
        "ccf" if ["Net", "Pin_in", "Pin_out", "Pin_inout"].iter().any(|kind| is(0, kind)) && is(2, "Loc") => pair(1, 3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shipped board and its constraint files.
    fn shipped(name: &str) -> (Board, String, String) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("boards");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let board: Board = toml::from_str(&read(&format!("{name}.toml"))).unwrap();
        let pins = board.io.as_ref().map(|io| read(&io.constraints)).unwrap_or_default();
        let sdram = board.sdram.as_ref().map(|sdram| read(&sdram.constraints)).unwrap_or_default();
        (board, pins, sdram)
    }

    /// In each of the four formats: without a line, with a line more, with a pin twice.
    #[test]
    fn every_port_has_a_place_of_its_own() {
        for (name, light, light_more, button, pin) in [
            ("ulx3s-85f", "\"led[7]\" SITE", "\"led[8]\" SITE", "\"R1\"", "\"M1\""),
            ("tangnano9k", "IO_LOC \"led[5]\"", "IO_LOC \"led[6]\"", "\"button\" 4", "\"button\" 18"),
            ("icebreaker", "led[1]", "led[2]", "button 10", "button 6"),
            ("gatemate", "led[7]", "led[8]", "IO_EB_B0", "IO_NB_A2"),
        ] {
            let (board, pins, _) = shipped(name);
            assert_eq!(board.check_pins(&pins), Ok(()), "{name}");
            let said = |text: &str| board.check_pins(text).expect_err(name);
            for port in ["clock_pin", "uart_rx", "uart_tx", "button"] {
                let (span, message) = said(&pins.replace(port, "other"));
                assert!(span.is_none() && message == format!("port `{port}` has no place"), "{name}: {message}");
                let commented = pins.replace(&format!("set_io {port}"), &format!("# set_io {port}"));
                assert!(commented == pins || board.check_pins(&commented).is_err(), "{name}");
            }
            assert!(pins.contains(light) && pins.contains(button), "{name}");
            let more = pins.replace(light, light_more);
            let (span, message) = said(&more);
            assert!(message.contains("leds") && more[span.clone().unwrap()].contains(light_more), "{name}: {message}");
            assert!(!more[span.unwrap()].contains('\n'), "{name}");
            let (_, message) = said(&pins.replace(button, pin));
            assert!(message.contains("the same place") && message.contains("uart_rx"), "{name}: {message}");
            let mut fewer = board.clone();
            fewer.io.as_mut().unwrap().leds -= 1;
            assert!(fewer.check_pins(&pins).is_err(), "{name}: a light too many");
        }
    }

    #[test]
    fn words_of_an_sdram_have_pins() {
        for name in ["ulx3s-85f", "ulx3s-25f", "tangnano20k"] {
            let (board, pins, sdram) = shipped(name);
            assert_eq!((board.check_pins(&pins), board.check_sdram_pins(&sdram)), (Ok(()), Ok(())), "{name}");
            for port in ["sdram_clock", "sdram_we_n", "sdram_ba[0]", "sdram_dm[1]", "sdram_dq[15]"] {
                let (_, message) = board.check_sdram_pins(&sdram.replace(port, "other")).expect_err(port);
                assert_eq!(message, format!("port `{port}` has no place"), "{name}");
            }
            let mut narrow = board.clone();
            narrow.sdram.as_mut().unwrap().data_bits = 8;
            assert!(narrow.check_sdram_pins(&sdram).is_err());
        }
    }

    /// Without this level the ESP32 of the board may start it anew.
    #[test]
    fn the_ulx3s_holds_its_wifi_still() {
        for name in ["ulx3s-85f", "ulx3s-25f"] {
            let (board, pins, _) = shipped(name);
            assert_eq!(board.io.as_ref().unwrap().held.get("wifi_gpio0"), Some(&1), "{name}");
            let (_, message) = board.check_pins(&pins.replace("wifi_gpio0", "wifi_gpio")).unwrap_err();
            assert_eq!(message, "port `wifi_gpio0` has no place");
        }
    }
}
