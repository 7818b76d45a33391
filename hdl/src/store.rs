//! The sample store: block memory between the host and a grid, and what plays it (docs/store.md).
//!
//!     control port ──▶ ┌──────────────┐ ──▶ ┌───────┐
//!     input stream ──▶ │ sample_store │ ──▶ │ tabla │ ──▶ output stream
//!                      └──────────────┘     └───────┘
//!
//! [`STORED_TOP`] is both, with the ports of a grid: what drives a grid drives it, too. The blocks are leaves with their own text, in
//! `store/*.v`; their constants come from [`arch::store`]. Their other description is `sim::store::Stored`, which does the same
//! in each cycle; tests compare the two.

use crate::{Design, Leaves, TOP};
use arch::rtl::Rtl;
use arch::store::{self, Mode};
use arch::{Machine, registers, timing};

/// Name of a grid with its store.
pub const STORED_TOP: &str = "stored_tabla";

const STORE_ROWS: &str = include_str!("store/store_rows.v");
const STORE_PLAYER: &str = include_str!("store/store_player.v");
const STORE_QUEUE: &str = include_str!("store/store_queue.v");
const SAMPLE_STORE: &str = include_str!("store/sample_store.v");

/// A grid with a store of so many rows, with top module [`STORED_TOP`] and the ports of a grid.
pub fn stored<'a>(design: impl Into<Design<'a>>, rows: u32) -> Rtl {
    stored_with(design, rows, Leaves::GENERIC)
}

/// The same for a device family.
pub fn stored_with<'a>(design: impl Into<Design<'a>>, rows: u32, leaves: Leaves) -> Rtl {
    let design = design.into();
    let machine = design.machine();
    let grid = crate::elaborate_with(design, leaves);
    let verilog = [grid.verilog, store_modules(), top(machine, rows)].join("\n");
    Rtl { top: STORED_TOP.to_owned(), verilog, ports: grid.ports }
}

/// The modules of the store.
pub fn store_modules() -> String {
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
    constants += "    localparam [ADDRESS:0] FULL_ROW = ROWS[ADDRESS:0];";
    [STORE_ROWS, STORE_PLAYER, STORE_QUEUE, &SAMPLE_STORE.replace("//CONSTANTS", &constants)].join("\n")
}

/// Bits of a row's number.
fn address_bits(rows: u32) -> u32 {
    rows.next_power_of_two().ilog2().max(1)
}

fn top(machine: &Machine, rows: u32) -> String {
    let (word, lanes, address) = (machine.word(), machine.stream_words(), registers::ADDRESS_BITS - 1);
    let ports = Rtl::grid_ports(lanes * word, word);
    let declared = crate::declared(&ports);
    format!(
        "// The grid with a sample store of {rows} rows before it.
module {STORED_TOP} (
{declared});
    wire [31:0] grid_read;
    wire [{}:0] grid_data;
    wire grid_valid, grid_ready;
    sample_store #(.WORD({word}), .LANES({lanes}), .ROWS({rows}), .ADDRESS({})) store (
        .clock(clock), .reset(reset), .control_write(control_write), .control_address(control_address[{address}:0]),
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
