//! Additions to a build for systems with a processor beside the grid: the grid behind AXI, and its descriptions for other tools.
//!
//! | file | holds |
//! |---|---|
//! | `rtl/NAME_axi_*.v`, `rtl/NAME_axi.v` | the shell around the grid |
//! | `rtl/NAME_axi.f` | all of it, for simulation |
//! | `testbench/axi.v` | the first samples through the shell |
//! | `NAME_axi.core` | for `FuseSoC` |
//! | `component.xml` | for tools that read IP-XACT |
//! | `driver/NAME.h`, `driver/tabla.py` | registers for C; for Python, with the packing of streams and a driver for PYNQ |
//! | `driver/NAME_predict.c`, `driver/NAME_train.c` | a program on real numbers, in C ([`program_driver`](super::program_driver)) |
//! | `litex/NAME_litex.py`, `litex/NAME_litex.h`, `litex/NAME_litex.c` | the grid in a `LiteX` system, and runs of it from C |
//!
//! A grid with its program inside has no shell: drivers load programs.

use crate::Project;
use crate::build::LICENCE;
use crate::build::{fusesoc, testbench, verilog};
use crate::writing::Files;
use arch::Machine;
use arch::rtl::Rtl;
use fpga::{driver, ipxact, litex};
use hdl::shell;

/// Add them; `generic` is the grid before it is named, `grid` are its files. The files of the shell alone.
pub fn add(files: &mut Files, project: &Project, machine: &Machine, generic: &Rtl, grid: &[String]) -> Vec<String> {
    let core = &project.core();
    let top = &core.module(shell::AXI_TOP);
    let shell = verilog::add(files, &core.verilog(&shell::axi_shell(machine), &[&generic.verilog]));
    let sources = [grid, &shell].concat();
    verilog::add_list(files, top, &sources);
    testbench::add_axi(files, top);
    fusesoc::add_axi(files, project, top, &sources);
    let component = ipxact::Component {
        name: core.as_str(),
        vendor: fusesoc::VENDOR,
        library: fusesoc::LIBRARY,
        version: fusesoc::VERSION,
        top,
        sources: &sources,
        machine,
    };
    files.add(ipxact::COMPONENT, ipxact::component(&component, LICENCE));
    files.add(driver::header_name(core), driver::c_header(core, machine));
    files.add("driver/tabla.py", driver::python(core, machine));
    let [module, header, source] = litex::NAMES.map(|name| core.text(name));
    let [header_text, source_text] = litex::c_texts(core);
    files.add(module, litex::module(core, machine, top, &sources));
    files.add(header, header_text);
    files.add(source, source_text);
    shell
}
