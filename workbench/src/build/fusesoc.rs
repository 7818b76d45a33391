//! Cores for `FuseSoC` (CAPI2): the grid, and the grid behind AXI, each with its simulation, lint and synthesis.
//!
//! ```text
//! NAME.core        sim (Verilator), lint, synth     top module NAME
//! NAME_axi.core    sim (Icarus), lint, synth        top module NAME_axi
//! ```
//!
//! `fusesoc --cores-root . run --target=sim tabla-gen:generated:NAME`

use crate::Project;
use crate::build::LICENCE;
use crate::build::verilog;
use crate::writing::Files;
use fpga::family::Family;
use std::fmt::Write;

/// Vendor and library of everything that is generated, for tools that want such names.
pub const VENDOR: &str = "tabla-gen";
/// See [`VENDOR`].
pub const LIBRARY: &str = "generated";
/// Version of what is generated.
pub const VERSION: &str = "1.0.0";

/// Synthesis for a project without a board: any family will do.
const SYNTHESIS: &str = "synth_ecp5";

/// A core.
struct Core<'a> {
    name: String,
    description: &'a str,
    top: &'a str,
    sources: &'a [String],
    simulation: Simulation,
}

/// How it is simulated.
#[derive(Clone, Copy)]
enum Simulation {
    /// The grid: `main.cpp` and Verilator.
    Grid,
    /// Behind AXI: `axi.v` and Icarus Verilog.
    Axi,
}

/// Add the core of the grid.
pub fn add_grid(files: &mut Files, project: &Project, top: &str, sources: &[String]) {
    let description = "Generated accelerator and its self-checking simulation";
    add(files, project, &Core { name: top.to_owned(), description, top, sources, simulation: Simulation::Grid });
}

/// Add the core of the grid behind AXI.
pub fn add_axi(files: &mut Files, project: &Project, top: &str, sources: &[String]) {
    let description = "Generated accelerator behind AXI and its self-checking simulation";
    add(files, project, &Core { name: top.to_owned(), description, top, sources, simulation: Simulation::Axi });
}

fn add(files: &mut Files, project: &Project, core: &Core<'_>) {
    let family = project.board.facts().map(|facts| facts.device.family());
    files.add(format!("{}.core", core.name), text(core, family));
}

fn text(core: &Core<'_>, family: Option<Family>) -> String {
    let Core { name, description, top, sources, .. } = core;
    let mut text = format!(
        "CAPI=2:\n# {LICENCE}\nname: \"{VENDOR}:{LIBRARY}:{name}:{VERSION}\"\ndescription: {description}\n\nfilesets:\n"
    );
    let list = |files: &[String]| files.iter().fold(String::new(), |list, path| list + "      - " + path + "\n");
    let _ = write!(text, "  rtl:\n    files:\n{}    file_type: verilogSource\n", list(sources));
    let _ = write!(text, "  waivers:\n    files: [{}]\n    file_type: vlt\n", verilog::WAIVERS);
    let _ = write!(text, "  testbench:\n    files:\n{}", list(&testbench(core.simulation)));
    let _ = write!(
        text,
        "\ntargets:
  default: &default
    filesets: [rtl]
    toplevel: {top}
  sim:
    <<: *default
    filesets: [rtl, testbench]
{}  lint:
    <<: *default
    filesets: [rtl, waivers]
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
  synth:
    <<: *default
    flow: generic
    flow_options:
      tool: yosys
      output_format: json
{}",
        simulation(core.simulation),
        synthesis(family.as_ref().map_or(SYNTHESIS, |family| family.synthesis.command.as_str())),
    );
    text
}

/// Files of the testbench, with their types.
fn testbench(simulation: Simulation) -> Vec<String> {
    // Programs find what they read in the folder where they run.
    let (sources, folder) = match simulation {
        Simulation::Grid => {
            let main = "testbench/main.cpp: {file_type: cppSource}".to_owned();
            (vec![main, "testbench/grid.h: {file_type: cppSource, is_include_file: true}".to_owned()], "")
        }
        Simulation::Axi => {
            let bench = "testbench/axi.v: {file_type: verilogSource}".to_owned();
            (
                vec![bench, "testbench/grid.vh: {file_type: verilogSource, is_include_file: true}".to_owned()],
                "testbench/",
            )
        }
    };
    let data = ["control", "input", "expected"]
        .map(|name| format!("testbench/{name}.hex: {{file_type: user, copyto: {folder}{name}.hex}}"));
    sources.into_iter().chain(data).collect()
}

fn simulation(simulation: Simulation) -> &'static str {
    match simulation {
        Simulation::Grid => {
            "    flow: sim
    flow_options:
      tool: verilator
      mode: cc
      verilator_options: [-Wno-fatal, -Wno-lint, -Wno-style, --x-assign, fast, --x-initial, fast, -CFLAGS, -std=gnu++17]
"
        }
        Simulation::Axi => {
            "    toplevel: axi_testbench
    flow: sim
    flow_options:
      tool: icarus
      iverilog_options: [-g2005]
"
        }
    }
}

/// `synth_ecp5 -nowidelut` as the tool wants it.
fn synthesis(command: &str) -> String {
    let mut words = command.split_whitespace();
    let family = words.next().and_then(|word| word.strip_prefix("synth_")).unwrap_or_default();
    let options = words.collect::<Vec<_>>().join(", ");
    format!("      arch: {family}\n      yosys_synth_options: [{options}]\n")
}

#[cfg(test)]
mod tests {
    use super::synthesis;

    #[test]
    fn a_family_is_synthesised_as_it_says() {
        assert_eq!(
            synthesis("synth_xilinx -abc9 -family xcup"),
            "      arch: xilinx\n      yosys_synth_options: [-abc9, -family, xcup]\n"
        );
    }
}
