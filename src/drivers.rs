//! What a build adds for a device with a processor beside the grid: the AXI shell, Vivado's script, drivers.
//!
//! | file | holds |
//! |---|---|
//! | `rtl/tabla_device.v` | the grid of `rtl/tabla.v` with cells of the device, for its tools |
//! | `rtl/tabla_axi.v` | the shell around it |
//! | `vivado.tcl` | project, block design, bitstream |
//! | `driver/tabla.py` | driver for PYNQ |
//! | `driver/tabla.h` | registers for C |

use crate::hardware::leaves;
use crate::output::Files;
use arch::Machine;
use fpga::board::Device;
use fpga::{driver, vivado};
use hdl::shell;
use workbench::Project;

/// Add them, if the board is one of these.
pub fn add(files: &mut Files, project: &Project, machine: &Machine) {
    let Some(facts) = project.board.facts().filter(|facts| matches!(facts.device, Device::Xcup {})) else { return };
    let grid = hdl::elaborate_with(machine, leaves(facts.device.family()));
    let device = format!("rtl/{}_device.v", grid.top);
    files.add(device.clone(), grid.verilog);
    files.add(format!("rtl/{}.v", shell::AXI_TOP), shell::axi_shell(machine));
    let script = vivado::Project {
        part: &facts.part,
        board: &format!("xilinx.com:{}", project.board.name),
        clock_mhz: project.board.clock_mhz,
        sources: &[device, format!("rtl/{}.v", shell::AXI_TOP)],
        top: shell::AXI_TOP,
    };
    files.add(vivado::SCRIPT, vivado::script(machine, &script));
    files.add("driver/tabla.py", driver::python(machine));
    files.add("driver/tabla.h", driver::c_header(machine));
}
