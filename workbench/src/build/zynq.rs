//! What a build adds for Zynq, beside the grid behind AXI: Vivado's script.
//!
//! | file | holds |
//! |---|---|
//! | `rtl/device/*.v` | those modules of the grid that name cells of the device, for its tools |
//! | `vivado.tcl`, `tabla.xdc` | project, block design, bitstream; its constraints |

use crate::Project;
use crate::build::verilog;
use crate::writing::Files;
use arch::Machine;
use fpga::vivado;
use hdl::shell;

/// Add them, if the board is one of these; `generic` is the grid's text for every tool, `around` the files of the shell.
pub fn add(files: &mut Files, project: &Project, machine: &Machine, generic: &str, around: Vec<String>) {
    let Some(facts) = project.board.facts().filter(|facts| facts.device.family().processor) else { return };
    let grid = hdl::elaborate_with(machine, facts.device.family().leaves());
    let sources: Vec<String> = verilog::add_device(files, generic, &grid.verilog).into_iter().chain(around).collect();
    let script = vivado::Project {
        part: &facts.part,
        board: &format!("xilinx.com:{}", project.board.name),
        clock_mhz: project.board.clock_mhz,
        sources: &sources,
        top: shell::AXI_TOP,
    };
    files.add(vivado::SCRIPT, vivado::script(machine, &script));
    files.add(vivado::CONSTRAINTS, vivado::CONSTRAINTS_TEXT);
}
