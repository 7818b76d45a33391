//! Vivado: a script that makes a project, a block design and a bitstream of the AXI shell.
//!
//!     PS ──HPM0──▶ SmartConnect ─┬─▶ tabla_axi (registers)          pl_clk0, reset ─▶ all
//!                                └─▶ AXI DMA (registers)
//!     PS ◀──HP0─── SmartConnect ◀── AXI DMA 0 ──┬─▶ s_axis  tabla_axi  m_axis ──▶ AXI DMA 0
//!     PS ◀──HP1─── SmartConnect ◀── AXI DMA 1 ──┘   as many ports as fill a transfer in a cycle: one to four
//!
//! We have no Vivado. The script is generated for version 2022.1 and later, checked by a Tcl interpreter with stand-ins for the
//! commands of Vivado, and gets the RTL rather than a netlist of yosys, which leaves the registers of DSP48E2 unused.

use arch::Machine;
use arch::axi::{ADDRESS_BITS, Geometry, PORT_BITS};
use arch::rtl::CoreName;
use arch::tools::Toolbox;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Name of the script.
pub const SCRIPT: &str = "vivado.tcl";
/// Name of its constraints.
pub const CONSTRAINTS: &str = "tabla.xdc";
/// Name of the bitstream it makes.
pub const BITSTREAM: &str = "tabla.bit";
/// Name of what goes with it: the addresses, for PYNQ.
pub const HANDOFF: &str = "tabla.hwh";

/// What the script is to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Project<'a> {
    /// Device, such as `xczu9eg-ffvb1156-2-e`.
    pub part: &'a str,
    /// Board, for its preset, if Vivado knows it: the beginning of a `board_part`, such as `xilinx.com:zcu102`.
    pub board: &'a str,
    /// Clock of the accelerator.
    pub clock_mhz: f64,
    /// Verilog files, relative to the script.
    pub sources: &'a [String],
    /// The core, after which the block design and the accelerator in it are called.
    pub core: &'a CoreName,
}

/// The constraints, each with its reason.
pub const CONSTRAINTS_TEXT: &str = include_str!("vivado/tabla.xdc");

const TEMPLATE: &str = include_str!("vivado/vivado.tcl");

/// The script.
pub fn script(machine: &Machine, project: &Project<'_>) -> String {
    let geometry = Geometry::of(machine);
    let mut settings = String::new();
    let mut set = |name: &str, value: String| {
        let _ = writeln!(settings, "set {name} {value}");
    };
    set("part", word(project.part));
    set("board", word(project.board));
    set("clock_mhz", format!("{:.6}", project.clock_mhz));
    set("sources", format!("[list {}]", project.sources.iter().map(|name| word(name)).collect::<Vec<_>>().join(" ")));
    set("constraints", word(CONSTRAINTS));
    set("core", word(project.core.as_str()));
    set("top", word(&project.core.text("tabla_axi")));
    set("ports", geometry.ports().to_string());
    set("port_bits", (geometry.bits() / geometry.ports()).to_string());
    set("output_bits", geometry.output_bits().to_string());
    set("memory_bits", PORT_BITS.to_string());
    set("register_range", format!("{}M", (1u32 << ADDRESS_BITS) >> 20));
    TEMPLATE.replace("# SETTINGS\n", &settings)
}

/// A word of Tcl that means exactly this text: everything that could mean something is written as its code.
pub fn word(text: &str) -> String {
    let mut word = "\"".to_owned();
    let mut units = [0; 2];
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "_-./:".contains(c) {
            word.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(word, "\\u{unit:04x}");
            }
        }
    }
    word + "\""
}

/// What to tell the user who asks for a bitstream where there is no Vivado.
pub fn missing(part: &str, folder: &str) -> String {
    format!(
        "vivado is not on PATH, and no open tool places and routes {part}: the RTL, {SCRIPT} and the drivers are in {folder}; \
         where Vivado is installed, with a licence for the part, `vivado -mode batch -source {SCRIPT}` there makes tabla.bit and tabla.hwh"
    )
}

/// Why Vivado made no bitstream.
#[derive(Debug, thiserror::Error)]
pub enum VivadoError {
    /// It is not installed; what to do.
    #[error("{0}")]
    Missing(String),
    /// It refused the design, or missed the clock.
    #[error("vivado failed ({status}):\n{reason}\nall of it is in {}", log.display())]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What it said last of errors.
        reason: String,
        /// The log.
        log: PathBuf,
    },
    /// A file could not be written, or the program not run.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// Run the script that lies in `folder`; the bitstream. What an earlier run left is removed first.
///
/// # Errors
/// There is no Vivado, or it fails.
pub fn run(part: &str, folder: &Path, toolbox: &Toolbox) -> Result<PathBuf, VivadoError> {
    let failed = |action, path: PathBuf| move |source| VivadoError::File { action, path, source };
    for name in [BITSTREAM, HANDOFF] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("remove", folder.join(name))(error));
            }
            _ => {}
        }
    }
    let vivado = toolbox.program("vivado");
    let vivado = vivado.map_err(|_| VivadoError::Missing(missing(part, &folder.display().to_string())))?;
    let log = folder.join("vivado.log");
    let mut command = Command::new(&vivado);
    command.current_dir(folder).args(["-mode", "batch", "-nojournal", "-log", "vivado.log", "-source", SCRIPT]);
    let output = arch::children::output(&mut command).map_err(failed("run", vivado))?;
    let bitstream = folder.join(BITSTREAM);
    if output.status.success() && bitstream.is_file() {
        return Ok(bitstream);
    }
    let said = fs::read_to_string(&log).unwrap_or_else(|_| String::from_utf8_lossy(&output.stdout).into_owned());
    let errors: Vec<&str> = said.lines().filter(|line| line.contains("ERROR") || line.contains("missed")).collect();
    let reason = if errors.is_empty() { "it said nothing of an error".to_owned() } else { errors.join("\n") };
    Err(VivadoError::Failed { status: output.status, reason, log })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_gets_out_of_its_word() {
        assert_eq!(word("xczu9eg-ffvb1156-2-e"), "\"xczu9eg-ffvb1156-2-e\"");
        assert_eq!(word("a b"), "\"a\\u0020b\"");
        assert_eq!(word("\"[exec rm]$x\\\n;"), "\"\\u0022\\u005bexec\\u0020rm\\u005d\\u0024x\\u005c\\u000a\\u003b\"");
        assert_eq!(word("\u{1f600}"), "\"\\ud83d\\ude00\"");
    }

    /// A stand-in for Vivado, as a shell script.
    fn run_with(script: &str) -> Result<PathBuf, VivadoError> {
        let folder = tempfile::tempdir().unwrap();
        let toolbox = Toolbox::only(folder.path());
        let programs = toolbox.folder().join("bin");
        fs::create_dir_all(&programs).unwrap();
        fs::write(folder.path().join(BITSTREAM), "stale").unwrap();
        if !script.is_empty() {
            let program = programs.join("vivado");
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let result = run("xczu9eg", folder.path(), &toolbox);
        assert_eq!(folder.path().join(BITSTREAM).exists(), result.is_ok(), "nothing stale is left");
        result
    }

    #[test]
    fn vivado_is_run_where_it_is() {
        assert!(run_with("echo \"$@\" | grep -q 'batch.*-source vivado.tcl' && echo new > tabla.bit").is_ok());
        let error = run_with("echo 'ERROR: no licence' > vivado.log; exit 1").unwrap_err().to_string();
        assert!(error.contains("ERROR: no licence") && error.contains("vivado.log"), "{error}");
        assert!(matches!(run_with("exit 0"), Err(VivadoError::Failed { .. })));
        assert!(matches!(run_with(""), Err(VivadoError::Missing(_))));
    }

    #[test]
    fn who_has_no_vivado_is_told_what_to_do() {
        let text = missing("xczu9eg", "out/zcu102");
        for part in ["not on PATH", "licence", "out/zcu102", "vivado -mode batch -source vivado.tcl"] {
            assert!(text.contains(part), "{text}");
        }
    }

    /// 32 lanes of 16 bits are 512, which four ports of 128 bits fill; 8 MB of registers.
    #[test]
    fn a_script_knows_its_widths_and_its_files() {
        let spec = arch::machine::MachineSpec {
            pus: Some(4),
            pes_per_pu: Some(8),
            stream_words: Some(32),
            output_words: Some(1),
            word: Some(16),
            ..arch::machine::MachineSpec::default()
        };
        let machine = Machine::try_from(spec).unwrap();
        let sources = ["rtl/a.v", "rtl/b c.v"].map(str::to_owned);
        let core = &CoreName::near("net");
        let project = Project { part: "xczu9eg", board: "", clock_mhz: 187.5, sources: &sources, core };
        let text = script(&machine, &project);
        for setting in [
            "part \"xczu9eg\"",
            "board \"\"",
            "clock_mhz 187.500000",
            "sources [list \"rtl/a.v\" \"rtl/b\\u0020c.v\"]",
            "constraints \"tabla.xdc\"",
            "core \"net\"",
            "top \"net_axi\"",
            "ports 4",
            "port_bits 128",
            "output_bits 16",
            "memory_bits 128",
            "register_range 8M",
        ] {
            assert!(text.contains(&format!("\nset {setting}\n")), "{setting}\n{text}");
        }
        assert!(!text.contains("# SETTINGS"));
    }
}
