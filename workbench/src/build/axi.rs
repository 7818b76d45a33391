//! What a build adds for systems with a processor beside the grid: the grid behind AXI, and what describes it to others.
//!
//! | file | holds |
//! |---|---|
//! | `rtl/axi_*.v`, `rtl/tabla_axi.v` | the shell around the grid |
//! | `rtl/tabla_axi.f` | all of it, for simulation |
//! | `testbench/axi.v` | the first samples through the shell |
//! | `NAME_axi.core` | for `FuseSoC` |
//! | `component.xml` | for tools that read IP-XACT |
//! | `driver/tabla.h`, `driver/tabla.py` | registers for C; for Python, with the packing of streams and a driver for PYNQ |
//! | `litex/tabla_litex.py`, `litex/tabla_litex.h` | the grid in a `LiteX` system, and runs of it from C |
//!
//! A grid with its program inside has no shell: drivers load programs.

use crate::Project;
use crate::build::LICENCE;
use crate::build::{fusesoc, testbench, verilog};
use crate::writing::Files;
use arch::Machine;
use fpga::{driver, ipxact, litex};
use hdl::shell;

/// Add them; `grid` are the files of the grid. The files of the shell alone.
pub fn add(files: &mut Files, project: &Project, machine: &Machine, grid: &[String]) -> Vec<String> {
    let shell = verilog::add(files, &shell::axi_shell(machine));
    let sources = [grid, &shell].concat();
    verilog::add_list(files, shell::AXI_TOP, &sources);
    testbench::add_axi(files);
    fusesoc::add_axi(files, project, shell::AXI_TOP, &sources);
    let component = ipxact::Component {
        name: &fusesoc::name(project),
        vendor: fusesoc::VENDOR,
        library: fusesoc::LIBRARY,
        version: fusesoc::VERSION,
        top: shell::AXI_TOP,
        sources: &sources,
        machine,
    };
    files.add(ipxact::COMPONENT, ipxact::component(&component, LICENCE));
    files.add("driver/tabla.h", driver::c_header(machine));
    files.add("driver/tabla.py", driver::python(machine));
    files.add(litex::MODULE, litex::module(machine, shell::AXI_TOP, &sources));
    files.add(litex::HEADER, litex::HEADER_TEXT);
    shell
}
