//! The shell around a grid on a board: clock, reset, serial port, lights.
//!
//!     clock_pin ─▶ PLL ─▶ clock          uart_rx ─▶ uart_receiver ─┐                    ┌─ control port ─┐
//!     button ─▶ power_on ─▶ reset                                  ├─▶ host_link ◀─────▶├─ input stream  ├─ tabla (the grid)
//!     led ◀── session, active, failed    uart_tx ◀─ uart_transmitter                    └─ output stream ┘
//!
//! These are leaf blocks with their own text, in `shell/serial/*.v` and `shell/axi/*.v`; constants of the protocol come from [`arch::link`]. Their other
//! description is `sim::link::BoardModel`, which answers bytes with bytes; tests compare the two.

mod axi;
mod pll;

pub use axi::{AXI_TOP, axi, axi_modules, axi_shell};

use crate::datapath::multiplier;
use crate::store::{STORED_TOP, Sdram, Store};
use crate::{Design, Leaves, TOP};
use arch::device::Pll;
use arch::link::{self, Command, Item, Size, Status};
use arch::rtl::{Direction, Port, Rtl};
use arch::{Machine, registers};

/// Name of the top module of a board.
pub const BOARD_TOP: &str = "board_top";

const UART_RECEIVER: &str = include_str!("shell/serial/uart_receiver.v");
const UART_TRANSMITTER: &str = include_str!("shell/serial/uart_transmitter.v");
const LINK_BUFFER: &str = include_str!("shell/serial/link_buffer.v");
const LINK_INPUT: &str = include_str!("shell/serial/link_input.v");
const LINK_RECEIVER: &str = include_str!("shell/serial/link_receiver.v");
const LINK_TRANSMITTER: &str = include_str!("shell/serial/link_transmitter.v");
const HOST_LINK: &str = include_str!("shell/serial/host_link.v");

/// Facts of a board, from its board file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Board<'a> {
    /// What makes the clock; none: the grid runs at the clock of the pin.
    pub pll: Option<&'static Pll>,
    /// The clock at the pin.
    pub pin_hz: u64,
    /// The clock of the grid that is wanted.
    pub grid_hz: u64,
    /// Bits per second of the serial port.
    pub baud: u32,
    /// How much the host link keeps.
    pub link_size: Size,
    /// Number of lights.
    pub leds: u32,
    /// Whether a light is lit by a 1.
    pub lit_by_one: bool,
    /// Whether the button gives a 1 while it is pressed.
    pub pressed_is_one: bool,
    /// More outputs, and whether each holds a 1.
    pub held: &'a [(String, bool)],
    /// The sample store before the grid.
    pub store: Option<Store<'a>>,
}

/// Why a board has no top.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    /// No setting comes close.
    #[error("no PLL setting makes {} MHz of {} MHz; the nearest clock is {} MHz", mhz(*wanted_hz), mhz(*pin_hz), mhz(*nearest_hz))]
    Clock {
        /// At the pin.
        pin_hz: u64,
        /// Asked for.
        wanted_hz: u64,
        /// Possible.
        nearest_hz: u64,
    },
    /// The PLL does not take the pin's clock.
    #[error("the PLL takes no clock of {} MHz", mhz(*pin_hz))]
    NoClock {
        /// At the pin.
        pin_hz: u64,
    },
    /// The line carries one word after the other.
    #[error("a serial port takes one word of output at a time, not {words}")]
    OutputWords {
        /// Of a beat of the grid's output.
        words: u32,
    },
    /// No whole number of clock cycles is one bit.
    #[error("{} MHz make no serial port of {baud} bits per second; about {best} would do", mhz(*clock_hz))]
    Baud {
        /// The grid's clock.
        clock_hz: u64,
        /// Asked for.
        baud: u32,
        /// A rate that is possible.
        best: u64,
    },
}

/// What is at the end of a board's line.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    /// The two pins of a serial port.
    Serial,
    /// Whole bytes, as the host link takes and gives them.
    Bytes,
}

impl Line {
    /// The ports, as they are declared, and what leads from them to the host link.
    fn text(self, baud: u32, divisor: u32) -> (String, String) {
        match self {
            Line::Serial => (
                format!(
                    "    input  wire uart_rx,               // {baud} bits per second, {divisor} clock cycles each
    output wire uart_tx,
"
                ),
                format!(
                    "    wire [7:0] received, transmit;
    wire received_valid, received_error, transmit_valid, transmit_ready;
    uart_receiver #(.DIVISOR({divisor})) receiver (
        .clock(clock), .reset(reset), .line(uart_rx), .data(received), .valid(received_valid), .error(received_error)
    );
    uart_transmitter #(.DIVISOR({divisor})) transmitter (
        .clock(clock), .reset(reset), .data(transmit), .valid(transmit_valid), .ready(transmit_ready), .line(uart_tx)
    );
"
                ),
            ),
            Line::Bytes => (
                "    input  wire [7:0] received,
    input  wire received_valid,
    output wire [7:0] transmit,
    output wire transmit_valid,
    input  wire transmit_ready,
"
                .to_owned(),
                "    wire received_error = 1'b0;\n".to_owned(),
            ),
        }
    }

    fn ports(self) -> Vec<Port> {
        let port = |name: &str, direction, width| Port { name: name.to_owned(), direction, width };
        match self {
            Line::Serial => vec![port("uart_rx", Direction::Input, 1), port("uart_tx", Direction::Output, 1)],
            Line::Bytes => vec![
                port("received", Direction::Input, 8),
                port("received_valid", Direction::Input, 1),
                port("transmit", Direction::Output, 8),
                port("transmit_valid", Direction::Output, 1),
                port("transmit_ready", Direction::Input, 1),
            ],
        }
    }
}

fn mhz(hz: u64) -> f64 {
    hz as f64 / 1e6
}

impl Board<'_> {
    /// The grid's clock that the PLL really makes, in Hz.
    ///
    /// # Errors
    /// There is none near `grid_hz`.
    pub fn clock_hz(&self) -> Result<u64, ShellError> {
        Ok(pll::setting(self.pll, self.pin_hz, self.grid_hz)?.hz)
    }

    /// The SDRAM that its store is in.
    fn sdram(&self) -> Option<&Sdram> {
        self.store.as_ref().and_then(|store| store.sdram)
    }

    /// Pins of an SDRAM that is outside.
    fn sdram_pins(&self) -> Vec<Port> {
        self.sdram().filter(|sdram| sdram.model.is_none()).map(Sdram::pins).unwrap_or_default()
    }

    /// Clock cycles of one bit on the serial line.
    ///
    /// # Errors
    /// No whole number comes close.
    pub fn divisor(&self) -> Result<u32, ShellError> {
        let clock_hz = self.clock_hz()?;
        let nearest = (clock_hz / u64::from(self.baud.max(1))).clamp(link::LEAST_DIVISOR.into(), 0xffff);
        let wrong = ShellError::Baud { clock_hz, baud: self.baud, best: clock_hz / nearest };
        link::divisor(clock_hz, self.baud).ok_or(wrong)
    }
}

/// Grid and shell: the whole design of a board, with top module [`BOARD_TOP`], in text for every tool.
///
/// # Errors
/// The board's clocks are impossible.
pub fn board<'a>(design: impl Into<Design<'a>>, board: &Board<'_>) -> Result<Rtl, ShellError> {
    board_with(design, board, Leaves::GENERIC)
}

/// The whole design of a board for the device family that is on it.
///
/// # Errors
/// The board's clocks are impossible.
pub fn board_with<'a>(design: impl Into<Design<'a>>, board: &Board<'_>, leaves: Leaves) -> Result<Rtl, ShellError> {
    board_at(Line::Serial, design.into(), board, leaves)
}

/// A board for simulation without a serial port: the bytes of the host link are ports, so that a simulated line is as fast as it likes.
///
/// # Errors
/// The board's clocks are impossible.
pub fn board_of_bytes<'a>(design: impl Into<Design<'a>>, board: &Board<'_>) -> Result<Rtl, ShellError> {
    board_at(Line::Bytes, design.into(), board, Leaves::GENERIC)
}

fn board_at(line: Line, design: Design<'_>, board: &Board<'_>, leaves: Leaves) -> Result<Rtl, ShellError> {
    let top = board_text(line, design.machine(), board)?;
    let port = |name: &str, direction, width| Port { name: name.to_owned(), direction, width };
    let mut ports = vec![port("clock_pin", Direction::Input, 1), port("button", Direction::Input, 1)];
    ports.extend(line.ports());
    ports.extend(board.held.iter().map(|(name, _)| port(name, Direction::Output, 1)));
    ports.push(port("led", Direction::Output, board.leds.max(1)));
    let grid = match &board.store {
        None => crate::elaborate_with(design, leaves),
        Some(store) => crate::store::stored_with(design, store, leaves),
    };
    let model = board.sdram().and_then(Sdram::simulation).map(|(module, _)| module + "\n").unwrap_or_default();
    ports.extend(board.sdram_pins());
    Ok(Rtl { top: BOARD_TOP.to_owned(), verilog: [grid.verilog, link_modules(), model + &top].join("\n"), ports })
}

/// The multiplier blocks of a board's grid that have names, as paths in the flat netlist: those of each PU, and those beside the PUs.
/// A grid with a store is one level further down.
pub fn multipliers(machine: &Machine, leaves: Leaves, stored: bool) -> (Vec<Vec<String>>, Vec<String>) {
    let word = machine.word();
    let factor = machine.factor_bits();
    let is_block = multiplier::block(leaves, factor, factor).is_some();
    // The slope of a function: the difference of an entry, and the fraction with a sign.
    let has_slope = machine.table_entries() > 0 && multiplier::block(leaves, word + 2, word + 1).is_some();
    // `grid` of the board's top is the module `tabla`, whose only part is the grid, or has it beside the store.
    let grid = if stored { "grid.grid.grid" } else { "grid.grid" };
    let path = |block: &str| format!("{grid}.{block}.{}", multiplier::NAME);
    let slope = |root: &str| has_slope.then(|| path(&format!("{root}.units_0.slope")));
    let pu = |r: u32| {
        let columns = if is_block { machine.pes_per_pu() } else { 0 };
        let mut cells: Vec<String> = (0..columns).map(|c| path(&format!("pus_{r}.pes_{c}.multiply_add"))).collect();
        // The root stands behind the tree, in the middle of its row.
        cells.splice(cells.len() / 2..cells.len() / 2, slope(&format!("pus_{r}.row_root")));
        cells
    };
    let unit = (machine.scalar() && is_block).then(|| path("scalar_units_0.pe.multiply_add"));
    ((0..machine.pus()).map(pu).collect(), slope("global_root").into_iter().chain(unit).collect())
}

/// The modules of the host link.
pub fn link_modules() -> String {
    [UART_RECEIVER, UART_TRANSMITTER, LINK_BUFFER, LINK_INPUT, LINK_RECEIVER, LINK_TRANSMITTER, HOST_LINK]
        .map(with_constants)
        .join("\n")
}

/// A module's text with the constants of the protocol that it uses.
fn with_constants(text: &str) -> String {
    let uses = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
            !text[..at].ends_with(inside) && !text[at + name.len()..].starts_with(inside)
        })
    };
    let byte = |name: &str, value: u8| (name.to_owned(), format!("[7:0] {name} = 8'h{value:02x}"));
    let number = |name: &str, range: &str, value: String| (name.to_owned(), format!("{range}{name} = {value}"));
    let mut constants = vec![
        byte("FLAG", link::FLAG),
        byte("ESCAPE", link::ESCAPE),
        byte("ESCAPE_FLIP", link::ESCAPE_FLIP),
        byte("VERSION", link::VERSION),
        number("CRC_START", "[15:0] ", format!("16'h{:04x}", link::CRC_START)),
        number("REQUEST_FRAME", "", link::REQUEST_FRAME.to_string()),
        number("CONTROL", "[19:0] ", format!("20'd{}", registers::CONTROL)),
        number("ABORT_BIT", "", registers::ABORT.ilog2().to_string()),
        number("READ_CYCLES", "[3:0] ", format!("4'd{}", arch::timing::CONTROL_READ)),
    ];
    constants.extend(Command::ALL.map(|(command, name, ..)| byte(name, command as u8)));
    constants.extend(Status::ALL.map(|(status, name, _)| byte(name, status as u8)));
    let item =
        |(item, name, _): (Item, &str, _)| number(&format!("ITEM_{name}"), "[1:0] ", format!("2'd{}", item as u8));
    constants.extend(Item::ALL.map(item));
    let lines = constants.iter().filter(|(name, _)| uses(name));
    let lines: Vec<String> = lines.map(|(_, text)| format!("    localparam {text};")).collect();
    let checksum = format!(
        "    function [15:0] checksum(input [15:0] old_crc, input [7:0] added);
        integer bit_number;
        begin
            checksum = old_crc ^ {{added, 8'd0}};
            for (bit_number = 0; bit_number < 8; bit_number = bit_number + 1)
                checksum = {{checksum[14:0], 1'b0}} ^ (checksum[15] ? 16'h{:04x} : 16'd0);
        end
    endfunction",
        link::CRC_POLYNOMIAL
    );
    text.replace("//CONSTANTS", &lines.join("\n")).replace("//CHECKSUM", &checksum)
}

#[expect(clippy::too_many_lines, reason = "one module of Verilog, as it is read")]
fn board_text(line: Line, machine: &Machine, board: &Board<'_>) -> Result<String, ShellError> {
    if machine.output_words() > 1 {
        return Err(ShellError::OutputWords { words: machine.output_words() });
    }
    let setting = pll::setting(board.pll, board.pin_hz, board.grid_hz)?;
    let (line_ports, line) = line.text(board.baud, board.divisor()?);
    let pll = pll::instance(board.pll, board.pin_hz, setting);
    let (word, lanes, size) = (machine.word(), machine.stream_words(), board.link_size.log2());
    let leds = board.leds.max(1);
    // With fewer lights they share; lights beyond the three that mean something stay dark.
    let lights = match leds {
        1 => "{session && !active && !failed}".to_owned(),
        2 => "{active || failed, session}".to_owned(),
        3 => "{failed, active, session}".to_owned(),
        _ => format!("{{{}'d0, failed, active, session}}", leds - 3),
    };
    let lit = if board.lit_by_one { "" } else { "~" };
    let pressed = if board.pressed_is_one { "button" } else { "!button" };
    let all = |line: &dyn Fn(&(String, bool)) -> String| board.held.iter().map(line).collect::<Vec<_>>().concat();
    let held_ports = all(&|(name, _)| format!("    output wire {name},\n"));
    let held = all(&|(name, level)| format!("    assign {name} = 1'b{};\n", u8::from(*level)));
    let (last, address) = (word - 1, registers::ADDRESS_BITS - 1);
    let grid = if board.store.is_some() { STORED_TOP } else { TOP };
    let pins = crate::store::declarations(&board.sdram_pins());
    let model = board.sdram().and_then(Sdram::simulation).map(|(_, instance)| instance).unwrap_or_default();
    let connected = board
        .sdram()
        .map(|sdram| format!("        .power_on(reset),\n{},\n", crate::store::connected(sdram.pins())))
        .unwrap_or_default();
    Ok(format!(
        "// {BOARD_TOP}: the grid behind the serial port of a board.
module {BOARD_TOP} (
{pins}    input  wire clock_pin,             // {} MHz
    input  wire button,                // resets grid and link
{line_ports}{held_ports}    output wire [{}:0] led             // session, active, last request failed
);
    wire clock, locked;                // {} MHz
{pll}
    // Reset until the clock has been good, and the button not pressed, for a while.
    reg [1:0] steady;
    reg [7:0] waited;
    reg reset;
    initial begin
        steady = 2'b00;
        waited = 8'd0;
        reset = 1'b1;
    end
    always @(posedge clock) begin
        steady <= {{steady[0], locked && !({pressed})}};
        waited <= !steady[1] ? 8'd0 : &waited ? waited : waited + 8'd1;
        reset <= !(&waited);
    end

{line}
    wire grid_reset, control_write, in_valid, in_ready, out_valid, out_ready, session, active, failed;
    wire [{address}:0] control_address;
    wire [31:0] control_data, control_read;
    wire [{}:0] in_data;
    wire [{last}:0] out_data;
    host_link #(.WORD({word}), .LANES({lanes}), .SIZE({size})) host_link (
        .clock(clock), .reset(reset),
        .received(received), .received_valid(received_valid), .received_error(received_error),
        .transmit(transmit), .transmit_valid(transmit_valid), .transmit_ready(transmit_ready),
        .grid_reset(grid_reset), .control_write(control_write), .control_address(control_address),
        .control_data(control_data), .control_read(control_read),
        .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready),
        .out_data(out_data), .out_valid(out_valid), .out_ready(out_ready),
        .session(session), .active(active), .failed(failed)
    );
{model}    {grid} grid (
{connected}        .clock(clock), .reset(grid_reset), .control_write(control_write), .control_address(control_address),
        .control_data(control_data), .control_read(control_read),
        .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready),
        .out_data(out_data), .out_valid(out_valid), .out_ready(out_ready)
    );
{held}    assign led = {lit}{lights};
endmodule
",
        mhz(board.pin_hz),
        leds - 1,
        mhz(setting.hz),
        lanes * word - 1,
    ))
}
