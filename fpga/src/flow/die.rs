//! Placement of a design's cells by nextpnr: which part of it each tile of the device belongs to.
//!
//!     placed.json ──each cell: its name, its place──▶ tile ──most cells──▶ part
//!
//! The part is in the name of a cell, which says through which modules of the design it is reached.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// A part of the design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A processing engine, by PU and column.
    Engine {
        /// Its PU.
        pu: u32,
        /// Its column.
        column: u32,
    },
    /// What a PU has beside its engines: tree, root, bus.
    Row,
    /// The global tree, root and bus.
    Global,
    /// The sequencer and its programs.
    Sequencer,
    /// The sample store.
    Store,
    /// The link, its line and clocks.
    Link,
}

impl Part {
    /// Of a cell by its name; `None`: it says nothing.
    fn of(cell: &str) -> Option<Part> {
        let has = |names: &[&str]| names.iter().any(|name| cell.contains(name));
        let number = |name: &str| {
            let behind = &cell[cell.find(name)? + name.len()..];
            let end = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
            behind[..end].parse().ok()
        };
        if has(&["host_link", "uart", "pll", "transmitter", "receiver"]) {
            Some(Part::Link)
        } else if has(&["store", "player", "sdram"]) {
            Some(Part::Store)
        } else if has(&["sequencer"]) {
            Some(Part::Sequencer)
        } else if has(&["global"]) {
            Some(Part::Global)
        } else {
            let pu = number("pus_")?;
            Some(number("pes_").map_or(Part::Row, |column| Part::Engine { pu, column }))
        }
    }
}

/// The tiles of a device that are in use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Die {
    /// By row and column of the device: the part that has most cells there.
    pub tiles: BTreeMap<(u32, u32), Part>,
}

#[derive(Deserialize)]
struct Design {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    cells: BTreeMap<String, Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(default)]
    attributes: Attributes,
}

#[derive(Deserialize, Default)]
struct Attributes {
    #[serde(rename = "NEXTPNR_BEL")]
    place: Option<String>,
}

/// Column and row in a place's name, as in `X12/Y7/SLICE3` or `X12Y7/LUT0`.
fn place(name: &str) -> Option<(u32, u32)> {
    let (column, rest) = name.strip_prefix('X')?.split_once('Y')?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    Some((column.trim_end_matches('/').parse().ok()?, rest[..end].parse().ok()?))
}

impl Die {
    /// What nextpnr wrote with `--write`.
    ///
    /// # Errors
    /// The file cannot be read, or is something else.
    pub fn read(path: &Path) -> io::Result<Die> {
        let design: Design = serde_json::from_reader(BufReader::new(File::open(path)?))?;
        let mut counts: BTreeMap<(u32, u32), BTreeMap<Part, u32>> = BTreeMap::new();
        for (name, cell) in design.modules.values().flat_map(|module| &module.cells) {
            let placed = cell.attributes.place.as_deref().and_then(place);
            if let Some(((column, row), part)) = placed.zip(Part::of(name)) {
                *counts.entry((row, column)).or_default().entry(part).or_default() += 1;
            }
        }
        let most = |(at, parts): ((u32, u32), BTreeMap<Part, u32>)| {
            let (part, _) = parts.into_iter().max_by_key(|&(part, count)| (count, std::cmp::Reverse(part)))?;
            Some((at, part))
        };
        Ok(Die { tiles: counts.into_iter().filter_map(most).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places as four families write them; a tile belongs to whoever has most cells in it.
    #[test]
    fn tiles_belong_to_parts() {
        let cells = [
            ("board.grid.pus_2.pes_1.multiplier", "X4/Y9/SLICE0"),
            ("board.grid.pus_2.pes_1.adder", "X4/Y9/SLICE1"),
            ("board.grid.sequencer.timer", "X4/Y9/SLICE2"),
            ("board.grid.pus_0.tree", "X5Y9/LUT0"),
            ("board.host_link.receiver.pus_0", "X0/Y11/lc3"),
            ("board.store.queue", "X1Y0/RAM"),
            ("board.grid.global_root", "X2Y0/CPE"),
            ("$PACKER_VCC", "X7Y7/LUT0"),
            ("board.grid.pus_1.unplaced", ""),
        ];
        let cell = |(name, place): (&str, &str)| format!(r#""{name}": {{"attributes": {{"NEXTPNR_BEL": "{place}"}}}}"#);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("placed.json");
        let text = format!(r#"{{"modules": {{"top": {{"cells": {{{}}}}}}}}}"#, cells.map(cell).join(","));
        std::fs::write(&file, text).unwrap();
        let expected = [
            ((0, 1), Part::Store),
            ((0, 2), Part::Global),
            ((9, 4), Part::Engine { pu: 2, column: 1 }),
            ((9, 5), Part::Row),
            ((11, 0), Part::Link),
        ];
        assert_eq!(Die::read(&file).unwrap().tiles, BTreeMap::from(expected));
        for damaged in ["", "[1]", "{\"modules\": 3}"] {
            std::fs::write(&file, damaged).unwrap();
            assert!(Die::read(&file).is_err(), "{damaged}");
        }
    }
}
