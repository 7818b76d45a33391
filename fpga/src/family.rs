//! Device families: facts as data, one folder in `fpga/families/` each.
//!
//!     families/ecp5/  family.toml     what tools must know: cells, costs, synthesis, place and route, packer, PLL
//!                     pll.v ...       texts that the hardware takes over, and models of cells
//!
//! A string in `family.toml` that is the name of a file beside it stands for that file's text; `like = "ecp5"` in `[estimate]` takes
//! over what another family says there. A family with an open flow needs no Rust.

use crate::costs::Costs;
use crate::yosys::Cells;
use arch::device::{Adder, Leaves, Multiplier, MultiplyAdd, NarrowMemory, Pair, Pll};
use arch::link::Size;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// A family of `fpga/families/`.
#[derive(Clone, Copy)]
pub struct Family(&'static Facts);

/// What is known about a family: its `family.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Name of its folder.
    #[serde(skip)]
    pub name: &'static str,
    /// For people.
    pub title: String,
    /// Keys of a board's `[device]` beside `family`, and what they may be; an empty list: any plain word.
    #[serde(default)]
    pub device: BTreeMap<String, Vec<String>>,
    /// Whether its devices have a processor beside the grid: they get an AXI shell, drivers, and a script for the vendor's tool.
    #[serde(default)]
    pub processor: bool,
    /// Synthesis by yosys.
    pub synthesis: Synthesis,
    /// What the simulation of a netlist needs; none: its multipliers or memories have no models.
    pub simulation: Option<Models>,
    /// What a cell takes of the device. Types that are not listed lie beside the tables: constants, pads, multiplexers, carry chains.
    /// `*` stands for any ending.
    pub cells: BTreeMap<String, Cells>,
    /// The way to a bitstream by open tools, if there is one.
    pub flow: Option<Flow>,
    /// The PLL of its boards; none: the grid runs at the clock of the pin.
    pub pll: Option<Pll>,
    /// The cell that gives a clock to a pin: `sdram_clock`, which rises when `clock` falls. None: plain text does.
    pub sdram_clock: Option<String>,
    /// Cells that the hardware names.
    #[serde(default)]
    leaves: NamedCells,
    /// Where multipliers go on large devices.
    pub floorplan: Option<Floorplan>,
    /// What the blocks of a grid take.
    #[schemars(schema_with = "estimates")]
    pub estimate: Costs,
}

/// How yosys synthesises.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Synthesis {
    /// The command, without the top module.
    pub command: String,
    /// Files of yosys with cells that a design may name, such as PLLs: a board's top does.
    pub cells: Vec<String>,
    /// Commands before the design is mapped.
    #[serde(default)]
    pub hints: Vec<String>,
    /// Whether the design is mapped as one module, not each shared module once.
    #[serde(default)]
    pub flat: bool,
}

/// Verilog of a family's cells.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Models {
    /// A file of yosys.
    pub yosys: String,
    /// What comes in front of it.
    pub ours: String,
}

/// Place and route, and the packer. Commands run in the output folder; `@key@` is a key of the board's `[device]`, `@part@` the
/// board's part, `@clock_mhz@` the grid's clock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name of the constraint file.
    pub constraints: String,
    /// What place and route writes.
    pub routed: String,
    /// What the packer writes.
    pub bitstream: String,
    /// Place and route; the seed comes behind `--seed`.
    pub place: Command,
    /// The packer.
    pub pack: Command,
}

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program as the pinned packages call it.
    pub program: String,
    /// Folder of the Python package that brings it.
    pub package: String,
    /// Its arguments, separated by blanks.
    pub arguments: String,
}

/// Sites of multipliers, in groups.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Floorplan {
    /// Of a group: the number in the name, and the columns from the group's first site, from left to right.
    pub sites: Vec<(u32, u32)>,
    /// How place and route names one: `@x@`, `@y@`, `@number@`.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NamedCells {
    /// A multiplier with registers.
    multiplier: Option<Multiplier>,
    /// A block that multiplies and accumulates.
    multiply_add: Option<MultiplyAdd>,
    /// A block that adds.
    adder: Option<Adder>,
    /// A table with two outputs.
    pair: Option<Pair>,
    /// A small memory of tables.
    narrow_memory: Option<NarrowMemory>,
}

/// Costs, each of which may be that of another family instead.
fn estimates(_: &mut SchemaGenerator) -> Schema {
    let inline = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = inline.for_deserialize().into_generator().into_root_schema_for::<Costs>();
    schema.remove("$schema");
    let mut schema = schema.to_value();
    none_required(&mut schema);
    schema["properties"]["like"] =
        serde_json::json!({ "description": "The family that is taken over where nothing is said.", "type": "string" });
    Schema::try_from(schema).expect("an object is a schema")
}

/// The same, nothing of which has to be there.
fn none_required(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(map) => {
            map.remove("required");
            map.values_mut().for_each(none_required);
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(none_required),
        _ => {}
    }
}

impl Family {
    /// All families, by name.
    pub fn all() -> &'static [Facts] {
        static FAMILIES: OnceLock<Vec<Facts>> = OnceLock::new();
        FAMILIES.get_or_init(|| {
            let mut names: Vec<&'static str> = FILES.iter().map(|(family, ..)| *family).collect();
            names.dedup();
            names.into_iter().map(Facts::read).collect()
        })
    }

    /// The family in this folder.
    pub fn named(name: &str) -> Option<Family> {
        Family::all().iter().find(|facts| facts.name == name).map(Family)
    }

    /// What is known about it, for as long as the program runs.
    pub fn facts(self) -> &'static Facts {
        self.0
    }

    /// Cells that a grid names.
    pub fn leaves(self) -> Leaves {
        let NamedCells { multiplier, multiply_add, adder, pair, narrow_memory } = &self.0.leaves;
        Leaves {
            multiplier: multiplier.as_ref(),
            multiply_add: multiply_add.as_ref(),
            adder: adder.as_ref(),
            pair: pair.as_ref(),
            narrow_memory: narrow_memory.as_ref(),
        }
    }

    /// How much the host link of its boards keeps.
    pub fn link_size(self) -> Size {
        let log2 = self.estimate.host_link.checked_ilog2().unwrap_or_default();
        Size::of(log2 as u8).unwrap_or(Size::USUAL)
    }

    /// Its PLL.
    pub fn pll(self) -> Option<&'static Pll> {
        self.0.pll.as_ref()
    }

    /// What one cell of a type takes.
    pub fn cost(self, cell: &str) -> Cells {
        let beginning =
            |(pattern, _): &(&String, &Cells)| pattern.strip_suffix('*').is_some_and(|p| cell.starts_with(p));
        let listed = self.cells.get(cell).or_else(|| self.0.cells.iter().find(beginning).map(|(_, cells)| cells));
        listed.copied().unwrap_or_default()
    }
}

impl std::ops::Deref for Family {
    type Target = Facts;
    fn deref(&self) -> &Facts {
        self.0
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Family) -> bool {
        self.name == other.name
    }
}

impl Eq for Family {}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The text of a file of a family.
fn file(family: &str, name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, file, _)| *known == family && *file == name).map(|(.., text)| *text)
}

/// A family's `family.toml`, as it stands there.
fn table(family: &str) -> toml::Table {
    let text = file(family, "family.toml").unwrap_or_else(|| panic!("fpga/families/{family} has a family.toml"));
    text.parse().unwrap_or_else(|error| panic!("fpga/families/{family}/family.toml: {error}"))
}

/// The table `[estimate]` of a family with what it takes over.
fn estimate(family: &str, mut table: toml::Table) -> toml::Table {
    let Some(toml::Value::Table(mut own)) = table.remove("estimate") else {
        panic!("fpga/families/{family}/family.toml has a table [estimate]")
    };
    match own.remove("like") {
        Some(toml::Value::String(other)) => over(estimate(&other, self::table(&other)), own),
        _ => own,
    }
}

/// `above` over `below`, key by key.
fn over(mut below: toml::Table, above: toml::Table) -> toml::Table {
    for (key, value) in above {
        let value = match (below.remove(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => toml::Value::Table(over(below, above)),
            (_, value) => value,
        };
        below.insert(key, value);
    }
    below
}

/// Files in the place of their names.
fn with_texts(value: &mut toml::Value, family: &str) {
    match value {
        toml::Value::String(name) => {
            if let Some(text) = file(family, name) {
                text.clone_into(name);
            }
        }
        toml::Value::Array(list) => list.iter_mut().for_each(|value| with_texts(value, family)),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, value)| with_texts(value, family)),
        _ => {}
    }
}

impl Facts {
    /// The family in a folder.
    ///
    /// # Panics
    /// A file is wrong: families are part of the project, and a test reads them all.
    fn read(name: &'static str) -> Facts {
        let mut table = table(name);
        let estimate = estimate(name, table.clone());
        table.insert("estimate".to_owned(), estimate.into());
        let mut value = toml::Value::Table(table);
        with_texts(&mut value, name);
        let facts: Facts = value.try_into().unwrap_or_else(|error| panic!("fpga/families/{name}/family.toml: {error}"));
        Facts { name, ..facts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_read() {
        let names: Vec<&str> = Family::all().iter().map(|facts| facts.name).collect();
        for name in ["ecp5", "gw1n", "gw2a", "ice40", "xc7", "xcup"] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(Family::named("ice41").is_none());
    }

    #[test]
    fn cells_are_counted_by_name_and_by_beginning() {
        let ice40 = Family::named("ice40").unwrap();
        assert_eq!(ice40.cost("SB_DFFESR"), Cells { ff: 1, ..Cells::default() });
        assert_eq!(ice40.cost("SB_CARRY"), Cells::default());
        let xcup = Family::named("xcup").unwrap();
        assert_eq!(xcup.cost("RAM32M16").lut, 8);
    }

    /// What it takes over, but for what it says itself.
    #[test]
    fn estimates_are_like_those_of_another_family() {
        let estimate = |name: &str| Family::named(name).unwrap().estimate.clone();
        let (ecp5, gowin) = (estimate("ecp5"), estimate("gw1n"));
        assert_eq!(gowin.pe, ecp5.pe);
        assert_eq!(gowin.memories.shapes, ecp5.memories.shapes);
        assert_ne!(gowin.memories.shallow, ecp5.memories.shallow);
        assert_eq!(estimate("xc7").memories, estimate("xcup").memories);
    }

    #[test]
    fn texts_stand_in_the_place_of_their_names() {
        assert!(Family::named("ecp5").unwrap().pll().unwrap().instance.contains("EHXPLLL"));
        assert!(Family::named("xcup").unwrap().leaves().multiply_add.unwrap().text.contains("DSP48E2"));
        assert_eq!(Family::named("gw1n").unwrap().leaves(), Leaves::GENERIC);
    }

    /// Wherever a name of a file stands; other texts stay.
    #[test]
    fn lists_and_tables_have_texts_too() {
        let mut value: toml::Value =
            toml::from_str("list = ['pll.v', 'no file']\ntable = { a = 'pll.v', b = 1 }").unwrap();
        with_texts(&mut value, "ecp5");
        for place in [&value["list"][0], &value["table"]["a"]] {
            assert!(place.as_str().unwrap().contains("EHXPLLL"), "{place}");
        }
        assert_eq!((value["list"][1].as_str(), value["table"]["b"].as_integer()), (Some("no file"), Some(1)));
    }

    #[test]
    fn families_are_equal_that_have_one_name() {
        let named = |name| Family::named(name).unwrap();
        assert_eq!(named("ice40"), named("ice40"));
        assert_ne!(named("ice40"), named("ecp5"));
        assert!(format!("{:?}", named("ice40")).contains("ice40"));
    }

    /// An estimate may say what differs from another family, and nothing else.
    #[test]
    fn nothing_of_an_estimate_is_required_by_its_schema() {
        let schema = estimates(&mut SchemaGenerator::default()).to_value();
        let text = schema.to_string();
        assert!(!text.contains("\"required\""), "{text}");
        assert_eq!(schema["properties"]["like"]["type"], "string");
        assert_eq!(schema["properties"]["multiplier"]["type"], "integer");
        let mut nested = serde_json::json!([{ "required": 1, "a": [{ "required": 2, "b": 3 }] }]);
        none_required(&mut nested);
        assert_eq!(nested, serde_json::json!([{ "a": [{ "b": 3 }] }]));
    }
}
