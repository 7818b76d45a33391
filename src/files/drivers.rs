//! What a build adds for a device with a processor beside the grid: the AXI shell, Vivado's script, drivers.
//!
//! | file | holds |
//! |---|---|
//! | `rtl/device/*.v` | those modules of the grid that name cells of the device, for its tools |
//! | `rtl/axi_*.v`, `rtl/tabla_axi.v` | the shell around it |
//! | `rtl/tabla_axi.f` | all of it, for simulation |
//! | `vivado.tcl`, `tabla.xdc` | project, block design, bitstream; its constraints |
//! | `driver/tabla.py` | driver for PYNQ |
//! | `driver/tabla.h` | registers for C |

use crate::files::verilog;
use crate::output::Files;
use arch::Machine;
use fpga::{driver, vivado};
use hdl::shell;
use workbench::Project;

/// Add them, if the board is one of these.
pub fn add(files: &mut Files, project: &Project, machine: &Machine) {
    let Some(facts) = project.board.facts().filter(|facts| facts.device.family().processor) else { return };
    let grid = hdl::elaborate_with(machine, facts.device.family().leaves());
    let generic = hdl::elaborate(machine).verilog;
    let around = verilog::add(files, &shell::axi_shell(machine));
    let simulated: Vec<String> = verilog::add(files, &generic).into_iter().chain(around.clone()).collect();
    verilog::add_list(files, shell::AXI_TOP, &simulated);
    let sources: Vec<String> = verilog::add_device(files, &generic, &grid.verilog).into_iter().chain(around).collect();
    let script = vivado::Project {
        part: &facts.part,
        board: &format!("xilinx.com:{}", project.board.name),
        clock_mhz: project.board.clock_mhz,
        sources: &sources,
        top: shell::AXI_TOP,
    };
    files.add(vivado::SCRIPT, vivado::script(machine, &script));
    files.add(vivado::CONSTRAINTS, vivado::CONSTRAINTS_TEXT);
    files.add("driver/tabla.py", driver::python(machine));
    files.add("driver/tabla.h", driver::c_header(machine));
}
