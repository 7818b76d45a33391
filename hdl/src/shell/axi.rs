//! The AXI shell for Zynq: the grid with an AXI4-Lite port, two AXI4-Streams and an interrupt.
//!
//!     s_axi  ─▶ axi_control ─▶ control port ──────────────┐
//!     s_axis ─▶ axi_slice ─▶ axi_input ──▶ input stream ──┼─ tabla (the grid) ─▶ output stream ─▶ axi_output ─▶ axi_slice ─▶ m_axis
//!                    └─▶ run_done (interrupt)
//!
//! Plain Verilog with the names and attributes from which Vivado infers the interfaces, so that the module can be dropped into a block
//! design.

use crate::TOP;
use arch::Machine;
use arch::axi::{self, AxiPort, Behind, Cause, Geometry, Interface};
use arch::registers::{self, Access, REGION_INSTRUCTIONS, Region, UPPER};
use arch::rtl::{Direction, Rtl};
use arch::timing;
use std::fmt::Write;

/// Name of the top module.
pub const AXI_TOP: &str = "tabla_axi";

const AXI_SLICE: &str = include_str!("axi/axi_slice.v");
const AXI_CONTROL: &str = include_str!("axi/axi_control.v");
const AXI_INPUT: &str = include_str!("axi/axi_input.v");
const AXI_OUTPUT: &str = include_str!("axi/axi_output.v");

/// Grid and AXI shell, with top module [`AXI_TOP`].
pub fn axi(machine: &Machine) -> Rtl {
    let verilog = [crate::elaborate(machine).verilog, axi_shell(machine)].join("\n");
    Rtl { top: AXI_TOP.to_owned(), verilog, ports: axi::ports(machine).into_iter().map(|port| port.port).collect() }
}

/// The shell alone, for a file beside the grid's.
pub fn axi_shell(machine: &Machine) -> String {
    [axi_modules(machine), top(machine)].join("\n")
}

/// The modules around the grid.
pub fn axi_modules(machine: &Machine) -> String {
    [AXI_SLICE, &AXI_CONTROL.replace("//AXI", &map(machine)), AXI_INPUT, AXI_OUTPUT].join("\n")
}

/// Constants and functions of the register map.
fn map(machine: &Machine) -> String {
    let mut text = String::new();
    for register in axi::REGISTERS.iter().filter(|register| register.behind == Behind::Shell) {
        let (name, number) = (register.name.to_uppercase(), register.offset / 4);
        let _ = writeln!(text, "    localparam [4:0] {name} = 5'd{number};");
    }
    for (cause, name, ..) in Cause::ALL {
        let _ = writeln!(text, "    localparam [3:0] CAUSE_{} = 4'd{};", name.to_uppercase(), cause as u32);
    }
    let _ = writeln!(text, "    localparam [31:0] AXI_VERSION = 32'd{};", axi::VERSION);
    let _ = writeln!(
        text,
        "    localparam [19:0] CONTROL = 20'd{}, STEP_LENGTH = 20'd{}, REGISTER_COUNT = 20'd{};",
        registers::CONTROL,
        registers::STEP_LENGTH,
        axi::REGISTERS.len()
    );
    let _ = writeln!(text, "    localparam [31:0] ABORT = 32'd{};", registers::ABORT);
    let _ = writeln!(text, "    localparam READ_CYCLES = {};", timing::CONTROL_READ);
    // {is a register of the grid, its number}
    let grid = axi::REGISTERS.iter().filter_map(|register| match register.behind {
        Behind::Grid(number) => Some((register.offset / 4, format!("6'd{}", 32 + number))),
        Behind::Shell => None,
    });
    text += &function("[5:0]", "alias_of", "[4:0]", 5, grid, "6'd0");
    let yes = |register: u32| (register, "1'b1".to_owned());
    let memories = Region::ALL.into_iter().filter(|(region, _)| *region != Region::Registers);
    let deep = machine.program_depth() > REGION_INSTRUCTIONS;
    let memories = memories.flat_map(|(region, _)| {
        let upper = (deep && region.is_program()).then_some(region as u32 + UPPER);
        [Some(region as u32), upper].into_iter().flatten()
    });
    text += &function("", "is_memory", "[3:0]", 4, memories.map(yes), "1'b0");
    let writable = axi::REGISTERS.iter().filter(|register| register.access == Access::ReadWrite);
    text += &function("", "shell_writable", "[4:0]", 5, writable.map(|register| yes(register.offset / 4)), "1'b0");
    text +=
        &function("", "known", "[15:0]", 16, registers::REGISTERS.iter().map(|register| yes(register.number)), "1'b0");
    let writable = registers::REGISTERS.iter().filter(|register| register.access == Access::ReadWrite);
    text += &function("", "control_writable", "[15:0]", 16, writable.map(|register| yes(register.number)), "1'b0");
    text
}

fn function(
    range: &str,
    name: &str,
    argument: &str,
    bits: u32,
    values: impl Iterator<Item = (u32, String)>,
    default: &str,
) -> String {
    let cases = values.map(|(at, value)| format!("            {bits}'d{at}: {name} = {value};\n"));
    format!(
        "    function {range} {name}(input {argument} at);
        case (at)
{}            default: {name} = {default};
        endcase
    endfunction\n",
        cases.collect::<String>()
    )
}

/// From which Vivado infers the interfaces.
fn attributes(port: &AxiPort) -> String {
    let bus = match port.interface {
        Interface::Clock => "signal:clock",
        Interface::Reset => "signal:reset",
        Interface::Registers => "interface:aximm",
        Interface::Input | Interface::Output => "interface:axis",
        Interface::Interrupt => "signal:interrupt",
    };
    let parameter = match port.interface {
        Interface::Clock => "ASSOCIATED_BUSIF s_axi:s_axis:m_axis, ASSOCIATED_RESET s_axi_aresetn",
        Interface::Reset => "POLARITY ACTIVE_LOW",
        Interface::Interrupt => "SENSITIVITY LEVEL_HIGH",
        Interface::Registers | Interface::Input | Interface::Output => "",
    };
    let info = format!("(* X_INTERFACE_INFO = \"xilinx.com:{bus}:1.0 {} {}\" *)", port.interface.name(), port.role);
    if parameter.is_empty() { info } else { info + &format!(" (* X_INTERFACE_PARAMETER = \"{parameter}\" *)") }
}

fn top(machine: &Machine) -> String {
    let geometry @ Geometry { lane, words, transfers, outputs } = Geometry::of(machine);
    let declared: Vec<String> = axi::ports(machine)
        .iter()
        .map(|declared| {
            let direction = if declared.port.direction == Direction::Input { "input " } else { "output" };
            let range = declared.range().map_or(String::new(), |(left, right)| format!("[{left}:{right}] "));
            format!("    {}\n    {direction} wire {range}{}", attributes(declared), declared.port.name)
        })
        .collect();
    let (word, beat) = (machine.word(), machine.word() * machine.stream_words());
    // A beat of several words is one wide word, whose parts have their signs already.
    let (output_lane, output_word, packet) = match outputs {
        1 => (lane, word, "output_words".to_owned()),
        _ => (geometry.output_bits(), geometry.output_bits(), format!("output_words >> {}", outputs.ilog2())),
    };
    let (extended, out_beat) = match (outputs, lane - word) {
        (1, _) | (_, 0) => (String::new(), "out_data"),
        (_, missing) => {
            let signed = |l: u32| {
                let (first, last) = (l * word, (l + 1) * word - 1);
                format!("{{{missing}{{out_data[{last}]}}}}, out_data[{last}:{first}]")
            };
            let words: Vec<String> = (0..outputs).rev().map(signed).collect();
            let last = output_lane - 1;
            (format!("    wire [{last}:0] out_beat = {{{}}};\n", words.join(", ")), "out_beat")
        }
    };
    format!(
        "// The grid behind AXI4-Lite and AXI4-Stream.
module {AXI_TOP} (
{}
);
    wire reset = !s_axi_aresetn;
    wire grid_reset, control_write, in_valid, in_ready, out_valid, out_ready;
    wire narrow, ragged, stray, output_waits, started, active, stopping;
    wire [19:0] control_address;
    wire [31:0] control_data, control_read, output_words;
    wire [{}:0] in_data;
    wire [{}:0] out_data;
{extended}    wire unused_protection = &{{1'b0, s_axi_awprot, s_axi_arprot}};

    axi_control control (
        .clock(s_axi_aclk), .reset(reset),
        .awaddr(s_axi_awaddr), .awvalid(s_axi_awvalid), .awready(s_axi_awready),
        .wdata(s_axi_wdata), .wstrb(s_axi_wstrb), .wvalid(s_axi_wvalid), .wready(s_axi_wready),
        .bresp(s_axi_bresp), .bvalid(s_axi_bvalid), .bready(s_axi_bready),
        .araddr(s_axi_araddr), .arvalid(s_axi_arvalid), .arready(s_axi_arready),
        .rdata(s_axi_rdata), .rresp(s_axi_rresp), .rvalid(s_axi_rvalid), .rready(s_axi_rready),
        .control_write(control_write), .control_address(control_address), .control_data(control_data), .control_read(control_read),
        .grid_reset(grid_reset), .narrow(narrow), .ragged(ragged), .stray(stray),
        .starves(in_ready && !in_valid), .blocked(out_valid && !out_ready), .moved(in_valid && in_ready || out_valid && out_ready),
        .output_waits(output_waits), .output_words(output_words), .started(started), .active(active), .stopping(stopping),
        .run_done(run_done)
    );
    axi_input #(.LANE({lane}), .WORD({word}), .WORDS({words}), .TRANSFERS({transfers})) to_grid (
        .clock(s_axi_aclk), .reset(reset), .active(active), .tdata(s_axis_tdata), .tkeep(s_axis_tkeep), .tlast(s_axis_tlast),
        .tvalid(s_axis_tvalid), .tready(s_axis_tready), .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready),
        .narrow(narrow), .ragged(ragged), .stray(stray)
    );
    axi_output #(.LANE({output_lane}), .WORD({output_word})) from_grid (
        .clock(s_axi_aclk), .reset(reset), .started(started), .active(active), .stopping(stopping), .words({packet}),
        .out_data({out_beat}), .out_valid(out_valid), .out_ready(out_ready),
        .tdata(m_axis_tdata), .tkeep(m_axis_tkeep), .tlast(m_axis_tlast), .tvalid(m_axis_tvalid), .tready(m_axis_tready),
        .waits(output_waits)
    );
    {TOP} grid (
        .clock(s_axi_aclk), .reset(grid_reset), .control_write(control_write), .control_address(control_address),
        .control_data(control_data), .control_read(control_read),
        .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready),
        .out_data(out_data), .out_valid(out_valid), .out_ready(out_ready)
    );
endmodule
",
        declared.join(",\n"),
        beat - 1,
        outputs * word - 1,
    )
}
