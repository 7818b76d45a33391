//! Additions to a build for Zynq, beside the grid behind AXI: Vivado's script.
//!
//! | file | holds |
//! |---|---|
//! | `rtl/device/*.v` | those modules of the grid that name cells of the device, for its tools |
//! | `vivado.tcl`, `tabla.xdc` | project, block design, bitstream; its constraints |

use crate::Project;
use crate::build::verilog;
use crate::resources;
use crate::writing::Files;
use arch::Machine;
use arch::rtl::Rtl;
use fpga::vivado;

/// Add them, if the board is one of these; `generic` is the grid for every tool, before it is named, `around` the files of the shell.
pub fn add(files: &mut Files, project: &Project, machine: &Machine, generic: &Rtl, around: Vec<String>) {
    let Some(facts) = project.board.facts().filter(|facts| facts.device.family().processor) else { return };
    let core = &project.core();
    let leaves = resources::leaves(machine, facts.device.family(), &facts.resources);
    let [generic, grid] = [generic, &hdl::elaborate_with(machine, leaves)].map(|rtl| rtl.named(core).verilog);
    let sources: Vec<String> = verilog::add_device(files, &generic, &grid).into_iter().chain(around).collect();
    let script = vivado::Project {
        part: &facts.part,
        board: &format!("xilinx.com:{}", project.board.name),
        clock_mhz: project.board.clock_mhz,
        sources: &sources,
        core,
    };
    files.add(vivado::SCRIPT, vivado::script(machine, &script));
    files.add(vivado::CONSTRAINTS, vivado::CONSTRAINTS_TEXT);
}
