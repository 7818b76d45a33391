//! The sample store: memory between the host and a grid, and what plays it (docs/store.md).
//!
//!     control port ──▶ ┌──────────────┐ ──▶ ┌───────┐
//!     input stream ──▶ │ sample_store │ ──▶ │ tabla │ ──▶ output stream
//!                      └──────────────┘     └───────┘
//!
//! [`STORED_TOP`] is both, with the ports of a grid: what drives a grid drives it, too. The blocks are leaves with their own text, in
//! `store/*.v`; their constants come from [`arch::store`]. Their other description is `sim::store::Stored`, which does the same
//! in each cycle; tests compare the two. Rows lie in block memory, or in an SDRAM ([`Sdram`]), which has pins and a reset of its own.

mod sdram;

pub use sdram::{Model, SIMULATED_TOP, Sdram, Timing, simulated};
pub(crate) use sdram::{connected, declarations};

use crate::{Design, Leaves, TOP};
use arch::rtl::Rtl;
use arch::store::order::{KEY_ROTATION, KEY_STEP, ROUNDS};
use arch::store::{self, Mode, State};
use arch::{Machine, registers, timing};

/// Name of a grid with its store.
pub const STORED_TOP: &str = "stored_tabla";

const STORE_ROWS: &str = include_str!("store/store_rows.v");
const STORE_PLAYER: &str = include_str!("store/store_player.v");
const STORE_QUEUE: &str = include_str!("store/store_queue.v");
const SAMPLE_STORE: &str = include_str!("store/sample_store.v");
const STORE_BLOCKS: &str = include_str!("store/store_blocks.v");
const STORE_ORDER: &str = include_str!("store/store_order.v");
const STORE_PERMUTED: &str = include_str!("store/store_permuted.v");
const STORE_SEQUENTIAL: &str = include_str!("store/store_sequential.v");

/// A sample store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Store<'a> {
    /// Rows, each as wide as a beat.
    pub rows: u32,
    /// Whether it can play the batches of an epoch in another order than they lie in. What does that is not there otherwise.
    pub permutes: bool,
    /// Where its rows are, if not in block memory.
    pub sdram: Option<&'a Sdram>,
    /// Whether its block memories are those of 256 kbit that some devices have.
    pub large: bool,
}

impl Store<'_> {
    /// In block memory, and with all that a store can do.
    pub fn of_rows(rows: u32) -> Store<'static> {
        Store { rows, permutes: true, sdram: None, large: false }
    }
}

/// A grid with a store, with top module [`STORED_TOP`] and the ports of a grid.
pub fn stored<'a>(design: impl Into<Design<'a>>, store: &Store<'_>) -> Rtl {
    stored_with(design, store, Leaves::GENERIC)
}

/// The same for a device family. The pins of an SDRAM are ports, too.
pub fn stored_with<'a>(design: impl Into<Design<'a>>, store: &Store<'_>, leaves: Leaves) -> Rtl {
    let design = design.into();
    let machine = design.machine();
    let grid = crate::elaborate_with(design, leaves);
    let verilog = [grid.verilog, modules(machine, store), top(machine, store)].join("\n");
    let more = store.sdram.map(Sdram::ports).unwrap_or_default();
    Rtl { top: STORED_TOP.to_owned(), verilog, ports: grid.ports.into_iter().chain(more).collect() }
}

/// The modules of a store.
fn modules(machine: &Machine, store: &Store<'_>) -> String {
    let order = if store.permutes { order() } else { String::new() };
    let (memory, ports, inside) = match store.sdram {
        Some(sdram) => (sdram.modules(machine), sdram.declared(), sdram.memory()),
        None => (rows(store.large), String::new(), STORE_BLOCKS.to_owned()),
    };
    [STORE_PLAYER, STORE_QUEUE, &order, &memory, &sample_store(&ports, &inside, store.permutes)].join("\n")
}

/// The module `store_rows`, in block memories of 16 kbit (four of 4 kbit give the same shapes), or in those of 256 kbit, which have one shape.
fn rows(large: bool) -> String {
    let (bits, deepest, least) = if large { (18, 14, 16) } else { (14, 14, 1) };
    let constants = [("LOG2_BLOCK", bits), ("LOG2_DEEPEST", deepest), ("LEAST", least)];
    let constants = constants.map(|(name, value)| format!("    localparam {name} = {value};"));
    let text = STORE_ROWS.replace("//CONSTANTS", &constants.join("\n"));
    if large { text.replace("ram_style = \"block\"", "ram_style = \"huge\"") } else { text }
}

/// The module `store_order`.
fn order() -> String {
    let constants = format!(
        "    localparam [2:0] ROUNDS = 3'd{ROUNDS};\n    localparam [31:0] KEY_STEP = 32'h{KEY_STEP:08x};\n    localparam KEY_ROTATION = {KEY_ROTATION};"
    );
    STORE_ORDER.replace("//CONSTANTS", &constants)
}

/// The states of a memory that a text names, as constants.
fn states(text: &str) -> String {
    let used = State::ALL.into_iter().filter(|(_, name, _)| text.contains(name));
    let lines: Vec<String> =
        used.map(|(state, name, _)| format!("    localparam [1:0] {name} = 2'd{};\n", state as u32)).collect();
    lines.concat()
}

/// What plays batches in another order, or not: declarations, connections of the player, registers.
fn ordered(permutes: bool) -> [(&'static str, &'static str); 3] {
    let none = ".permute(1'b0), .place({(ADDRESS + 1){1'b0}}), .place_there(1'b0), .place_taken(),";
    let some = ".permute(permutes), .place({1'b0, place}), .place_there(place_there), .place_taken(place_taken),";
    let registers = "            KEY: value = key;\n            BATCH_ROWS: value = {{(32 - ADDRESS){1'b0}}, batch_rows};\n            PERMUTES: value = 32'd1;\n";
    if permutes {
        [("//ORDER\n", STORE_PERMUTED), ("//PLACES", some), ("//ANSWERS\n", registers)]
    } else {
        [("//ORDER\n", STORE_SEQUENTIAL), ("//PLACES", none), ("//ANSWERS\n", "")]
    }
}

/// The module `sample_store` with these ports more, around this memory.
fn sample_store(ports: &str, memory: &str, permutes: bool) -> String {
    let text = SAMPLE_STORE.replace("//PORTS\n", ports).replace("//MEMORY\n", memory);
    let text = ordered(permutes).into_iter().fold(text, |text, (mark, with)| text.replace(mark, with));
    let address = |name: &str, number: u32| format!("    localparam [19:0] {name} = 20'h{number:05x};\n");
    let mut constants = format!("    localparam [3:0] REGION = 4'd{};\n", store::REGION);
    constants += &address("CONTROL", registers::CONTROL);
    constants += &format!("    localparam ABORT_BIT = {};\n", registers::ABORT.ilog2());
    constants += &format!("    localparam READ_CYCLES = {};\n", timing::CONTROL_READ);
    let has = |name: &str| permutes || !ONLY_PERMUTED.contains(&name);
    for (mode, name, _) in Mode::ALL.into_iter().filter(|&(_, name, _)| has(name)) {
        // A STREAM is a PLAY of which more is known.
        let bits = if mode == Mode::Stream { 3 } else { 2 };
        constants += &format!("    localparam [{}:0] {name} = {bits}'d{};\n", bits - 1, mode as u32);
    }
    // `ROWS` is what the module's parameter is called.
    let registers = store::REGISTERS.into_iter().filter(|&(number, name, ..)| number < store::PATTERN && has(name));
    for (number, name, ..) in registers {
        constants += &address(if number == store::ROWS { "SIZE" } else { name }, number);
    }
    constants += &states(memory);
    constants += "    localparam [ADDRESS:0] FULL_ROW = ROWS[ADDRESS:0];";
    text.replace("//CONSTANTS", &constants)
}

/// Modes and registers of a store that permutes.
const ONLY_PERMUTED: [&str; 4] = ["PERMUTED", "KEY", "BATCH_ROWS", "PERMUTES"];

/// Bits of a row's number.
fn address_bits(rows: u32) -> u32 {
    rows.next_power_of_two().ilog2().max(1)
}

fn top(machine: &Machine, store: &Store<'_>) -> String {
    let Store { rows, sdram, .. } = *store;
    let (word, lanes, address) = (machine.word(), machine.stream_words(), registers::ADDRESS_BITS - 1);
    let mut ports = Rtl::grid_ports(lanes * word, machine.output_words() * word);
    ports.extend(sdram.map(Sdram::ports).unwrap_or_default());
    let pins = sdram.map(|sdram| format!("{},\n", connected(sdram.ports()))).unwrap_or_default();
    let declared = crate::declared(&ports);
    format!(
        "// The grid with a sample store of {rows} rows before it.
module {STORED_TOP} (
{declared});
    wire [31:0] grid_read;
    wire [{}:0] grid_data;
    wire grid_valid, grid_ready;
    sample_store #(.WORD({word}), .LANES({lanes}), .ROWS({rows}), .ADDRESS({})) store (
{pins}        .clock(clock), .reset(reset), .control_write(control_write), .control_address(control_address[{address}:0]),
        .control_data(control_data), .control_read(control_read),
        .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready),
        .grid_read(grid_read), .grid_data(grid_data), .grid_valid(grid_valid), .grid_ready(grid_ready)
    );
    {TOP} grid (
        .clock(clock), .reset(reset), .control_write(control_write), .control_address(control_address),
        .control_data(control_data), .control_read(grid_read),
        .in_data(grid_data), .in_valid(grid_valid), .in_ready(grid_ready),
        .out_data(out_data), .out_valid(out_valid), .out_ready(out_ready)
    );
endmodule
",
        lanes * word - 1,
        address_bits(rows),
    )
}
