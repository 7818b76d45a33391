//! From the parameters of a grid to its hardware. The only crate that names rust-hdl.
//!
//!     Machine ──▶ blocks ──▶ Verilog text + port table
//!
//! [`elaborate`] builds the grid that docs/machine.md defines. Every block is a rust-hdl block, so it also runs in
//! rust-hdl's own simulator; widths, depths and counts come from the machine at run time.
//!
//! | room | holds |
//! |---|---|
//! | `rtl` | our layer on rust-hdl: `signal` `bundle` `wiring` `register` `emit` `ports` `text` `fixed` |
//! | `beats` | what the rooms say to each other: the bundles of control, and their widths |
//! | `datapath` | what stands in every PE: `pe` `memory` `row_pads` `operands` `pair` `write_port` `multiply_add` `arithmetic` `multiplier` `shift` `listed` `narrow` `mask` `tiles` `exchange` |
//! | `control` | when what happens: `registers` `run` `halt` `sequencer` `microcode` `stream` `loops` `streams` `root_stream` `scalar_stream` `loader` `tile_steps` `pipeline` `write_address` `output` |
//! | `reduction` | what stands beside a row or the grid: `node` `tree` `adders` `root` `function` `divider` `scalar` |
//! | `pu` `grid` | a row of PEs, and all of it |
//! | `rules` | what blocks rely on, as assertions in their text |
//! | [`store`] | the sample store, which may stand before the grid; `sdram`: its rows in an SDRAM |
//! | [`shell`] | what stands around the grid on a board: `serial` `axi` `pll` |
//! | `model` | the grid in rust-hdl's simulator |
//!
//! A room uses those above it in this table, never one below. Blocks are written as functions (`blocks::block`); leaves that are text have their
//! model beside them.

#![allow(clippy::used_underscore_binding, reason = "rust-hdl takes fields with a leading underscore for plain data")]

/// The head line of a block, for `#[hdl_gen]`: `name: what it is`. Nothing in simulation.
macro_rules! comment {
    ($text:literal) => {};
}

mod beats;
mod control;
mod datapath;
mod grid;
mod model;
mod pu;
mod reduction;
mod rtl;
mod rules;
pub mod shell;
pub mod store;

pub use arch::device::Leaves;
pub use model::{Inputs, Model, Outputs};

use arch::rtl::{Direction, Port, Rtl};
use arch::{Image, Machine};
use rust_hdl_core::prelude::Block;

/// Name of the top module.
pub const TOP: &str = "tabla";

/// What hardware is made for.
#[derive(Debug, Clone, Copy)]
pub enum Design<'a> {
    /// All programs that fit a grid: they are loaded.
    Loadable(&'a Machine),
    /// One program, which is part of the hardware (docs/machine.md, section 7), and its source text, for the lines in comments; it may be
    /// empty.
    Fixed(&'a Image, &'a str),
}

impl<'a> Design<'a> {
    /// The grid.
    pub fn machine(self) -> &'a Machine {
        match self {
            Design::Loadable(machine) => machine,
            Design::Fixed(image, _) => &image.machine,
        }
    }
}

impl<'a> From<&'a Machine> for Design<'a> {
    fn from(machine: &'a Machine) -> Self {
        Design::Loadable(machine)
    }
}

impl<'a> From<&'a Image> for Design<'a> {
    fn from(image: &'a Image) -> Self {
        Design::Fixed(image, "")
    }
}

/// The hardware of a grid, in text for every tool.
pub fn elaborate<'a>(design: impl Into<Design<'a>>) -> Rtl {
    elaborate_with(design, Leaves::GENERIC)
}

/// The hardware of a grid for a device family.
pub fn elaborate_with<'a>(design: impl Into<Design<'a>>, leaves: Leaves) -> Rtl {
    let design = design.into();
    let machine = design.machine();
    let mut grid = grid::Grid::new(design, leaves);
    grid.connect_all();
    // What a fixed program never does is taken away in each copy of a block by itself.
    let shared = matches!(design, Design::Loadable(_));
    let verilog = format!(
        "{}{}\n{}",
        head(machine),
        rtl::emit::modules(&grid, shared, &|kind, text| rules::of(kind, text, machine)),
        top(machine)
    );
    Rtl { top: TOP.to_owned(), verilog, ports: ports(machine) }
}

/// What the trees of a grid are made of: blocks that add, and as wide as an accumulator each nodes and registers of other logic.
pub fn trees(machine: &Machine, leaves: Leaves) -> [u32; 3] {
    let (rows, lanes) = (machine.pus(), if machine.lane_for_each() { 1 } else { machine.lanes() });
    let (each, last) = if lanes > 1 { (rows / lanes, lanes) } else { (1, rows) };
    let of = |number: u32, terms: u32| {
        let block = reduction::adders::block(leaves, terms, machine.accumulator(), machine.extremes());
        let (blocks, held) = if block.is_some() { reduction::adders::count(terms) } else { (0, 0) };
        let nodes = if block.is_some() { 0 } else { terms - 1 };
        [blocks, nodes, nodes + held].map(|each| number * each)
    };
    let all = [of(rows, machine.pes_per_pu()), of(lanes, each), of(1, last)];
    [0, 1, 2].map(|kind| all.iter().map(|tree| tree[kind]).sum())
}

/// Verilator's configuration that waives what its `-Wall` says about generated text, each with its reason.
pub fn lint_waivers() -> &'static str {
    include_str!("../waivers.vlt")
}

fn ports(machine: &Machine) -> Vec<Port> {
    Rtl::grid_ports(machine.stream_words() * machine.word(), machine.output_words() * machine.word())
}

fn head(machine: &Machine) -> String {
    format!(
        "// Generated by tabla-gen for a grid of {machine} (accumulator {} bits, {} words per input beat).
// The authors of the generator claim no rights in generated text: use it as your own.
",
        machine.accumulator(),
        machine.stream_words()
    )
}

/// Ports as a module declares them.
fn declared(ports: &[Port]) -> String {
    rtl::ports::commented_ports(ports.iter().map(|port| {
        let direction = match port.direction {
            Direction::Input => "input ",
            Direction::Output => "output",
            Direction::Both => "inout ",
        };
        let range = if port.width == 1 { String::new() } else { format!("[{}:0] ", port.width - 1) };
        (format!("{direction} wire {range}{}", port.name), port.name.clone())
    }))
}

/// The top module: the grid with the words of a beat joined to one port.
fn top(machine: &Machine) -> String {
    let ports = ports(machine);
    let word = machine.word();
    let connected = ports.iter().flat_map(|port| match port.name.as_str() {
        "in_data" => {
            let lane = |l| format!("        .in_data_{l}(in_data[{} +: {word}])", l * word);
            (0..machine.stream_words()).map(lane).collect()
        }
        "out_data" if machine.output_words() > 1 => {
            let further = |l| format!("        .out_further_{}(out_data[{} +: {word}])", l - 1, l * word);
            let first = format!("        .out_data(out_data[0 +: {word}])");
            std::iter::once(first).chain((1..machine.output_words()).map(further)).collect()
        }
        name => vec![format!("        .{name}({name})")],
    });
    format!(
        "// The grid with its ports as docs/machine.md names them.\nmodule {TOP} (\n{});\n    grid grid (\n{}\n    );\nendmodule\n",
        declared(&ports),
        connected.collect::<Vec<_>>().join(",\n"),
    )
}
