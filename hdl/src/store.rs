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
use arch::store::{self, Mode, State};
use arch::{Machine, registers, timing};

/// Name of a grid with its store.
pub const STORED_TOP: &str = "stored_tabla";

const STORE_ROWS: &str = include_str!("store/store_rows.v");
const STORE_PLAYER: &str = include_str!("store/store_player.v");
const STORE_QUEUE: &str = include_str!("store/store_queue.v");
const SAMPLE_STORE: &str = include_str!("store/sample_store.v");
const STORE_BLOCKS: &str = include_str!("store/store_blocks.v");

/// A grid with a store of so many rows, with top module [`STORED_TOP`] and the ports of a grid.
pub fn stored<'a>(design: impl Into<Design<'a>>, rows: u32) -> Rtl {
    stored_with(design, rows, None, Leaves::GENERIC)
}

/// The same for a device family, with rows in block memory or in an SDRAM, whose pins are ports, too.
pub fn stored_with<'a>(design: impl Into<Design<'a>>, rows: u32, sdram: Option<&Sdram>, leaves: Leaves) -> Rtl {
    let design = design.into();
    let machine = design.machine();
    let grid = crate::elaborate_with(design, leaves);
    let modules = sdram.map_or_else(store_modules, |sdram| sdram_modules(machine, sdram));
    let verilog = [grid.verilog, modules, top(machine, rows, sdram)].join("\n");
    let more = sdram.map(Sdram::ports).unwrap_or_default();
    Rtl { top: STORED_TOP.to_owned(), verilog, ports: grid.ports.into_iter().chain(more).collect() }
}

/// The modules of a store in block memory.
pub fn store_modules() -> String {
    let store = sample_store("", STORE_BLOCKS);
    [STORE_ROWS, STORE_PLAYER, STORE_QUEUE, &store].join("\n")
}

/// The modules of a store in an SDRAM.
fn sdram_modules(machine: &Machine, sdram: &Sdram) -> String {
    let store = sample_store(&sdram.declared(), &sdram.memory());
    [STORE_PLAYER, STORE_QUEUE, &sdram.modules(machine), &store].join("\n")
}

/// The states of a memory that a text names, as constants.
fn states(text: &str) -> String {
    let used = State::ALL.into_iter().filter(|(_, name, _)| text.contains(name));
    let lines: Vec<String> =
        used.map(|(state, name, _)| format!("    localparam [1:0] {name} = 2'd{};\n", state as u32)).collect();
    lines.concat()
}

/// The module `sample_store` with these ports more, around this memory.
fn sample_store(ports: &str, memory: &str) -> String {
    let address = |name: &str, number: u32| format!("    localparam [19:0] {name} = 20'h{number:05x};\n");
    let mut constants = format!("    localparam [3:0] REGION = 4'd{};\n", store::REGION);
    constants += &address("CONTROL", registers::CONTROL);
    constants += &format!("    localparam ABORT_BIT = {};\n", registers::ABORT.ilog2());
    constants += &format!("    localparam READ_CYCLES = {};\n", timing::CONTROL_READ);
    for (mode, name, _) in Mode::ALL {
        constants += &format!("    localparam [1:0] {name} = 2'd{};\n", mode as u32);
    }
    // `ROWS` is what the module's parameter is called.
    for (number, name, ..) in store::REGISTERS.into_iter().filter(|&(number, ..)| number < store::PATTERN) {
        constants += &address(if number == store::ROWS { "SIZE" } else { name }, number);
    }
    constants += &states(memory);
    constants += "    localparam [ADDRESS:0] FULL_ROW = ROWS[ADDRESS:0];";
    let text = SAMPLE_STORE.replace("//PORTS\n", ports).replace("//MEMORY\n", memory);
    text.replace("//CONSTANTS", &constants)
}

/// Bits of a row's number.
fn address_bits(rows: u32) -> u32 {
    rows.next_power_of_two().ilog2().max(1)
}

fn top(machine: &Machine, rows: u32, sdram: Option<&Sdram>) -> String {
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
