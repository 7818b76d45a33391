//! The controller of a board's SDRAM: `LiteDRAM`'s generator is asked for it when hardware is made (docs/store.md).
//!
//! ```text
//! [sdram] of a board, clock ──core.py in the folder of scripts/setup --sdram──▶ sdram_core.v, sdram_core.json ──▶ hdl::store::Sdram
//! ```
//!
//! The text is `LiteDRAM`'s; it becomes part of what is built, and of nothing that we keep.

use crate::failure::Failure;
use arch::children;
use arch::tools::Toolbox;
use fpga::board::Board as Facts;
use hdl::store::{Model, Sdram, Timing};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const CORE: &str = include_str!("sdram/core.py");
/// Name of the set of packages.
const SET: &str = "sdram";
/// Words that a simulated board tests at its start, as a logarithm: all of them would take minutes.
const SIMULATED_TEST: u32 = 12;

/// Where the memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the board: cells of its family at the pins, and every word is tested.
    Board,
    /// In a simulation: a model, with a word in which a bit is stuck if one is named, and a short test.
    Simulated {
        /// That word.
        stuck: Option<u32>,
    },
}

/// What the generator says of what it made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    writes: Vec<(u32, u32, u32)>,
    bank_bits: u32,
    row_bits: u32,
    column_bits: u32,
    #[serde(rename = "latency")]
    _latency: u32,
    timing: BTreeMap<String, u32>,
}

/// The SDRAM of a board behind `LiteDRAM`'s controller for this clock.
///
/// # Errors
/// The board has none, or none for this clock; `LiteDRAM` is missing or refuses.
pub fn controller(facts: &Facts, clock_hz: u64, place: Place, toolbox: &Toolbox) -> Result<Sdram, Failure> {
    let Some(sdram) = &facts.sdram else {
        return Err(Failure::Usage(format!("{} has no SDRAM", facts.title)));
    };
    let python = toolbox.group(SET).join("bin/python3");
    if !python.is_file() {
        let message = "missing: LiteDRAM, for a sample store in an SDRAM; run scripts/setup --sdram";
        return Err(Failure::Tool(message.to_owned()));
    }
    let folder = tempfile::tempdir().map_err(|error| Failure::File(format!("cannot make a work folder: {error}")))?;
    let family = facts.device.family();
    let wanted = json!({
        "module": sdram.module,
        "data_bits": sdram.data_bits,
        "read_delay": sdram.read_delay,
        "clock_hz": clock_hz,
        "family": if place == Place::Board { family.name } else { "" },
        "part": facts.part,
    });
    let script = folder.path().join("core.py");
    fs::write(&script, CORE).map_err(|error| Failure::File(format!("{}: {error}", script.display())))?;
    let mut command = Command::new(&python);
    command.arg(&script).arg(wanted.to_string()).arg(folder.path()).current_dir(folder.path());
    // Names in its text follow from the order of sets.
    command.env("PYTHONHASHSEED", "0").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = children::start(&mut command).and_then(children::Running::output);
    let output = output.map_err(|error| Failure::Tool(format!("{}: {error}", python.display())))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing is said").to_owned();
        return Err(Failure::Tool(format!("LiteDRAM's generator failed ({}): {reason}", output.status)));
    }
    let read = |name: &str| read(&folder.path().join(name));
    let known: Known = serde_json::from_str(&read("sdram_core.json")?)
        .map_err(|error| Failure::Tool(format!("LiteDRAM's generator says something else than expected: {error}")))?;
    let model = match place {
        Place::Board => None,
        Place::Simulated { stuck } => Some(Model { delay: sdram.read_delay, stuck, timing: timing(&known.timing) }),
    };
    let address_bits = known.bank_bits + known.row_bits + known.column_bits;
    if address_bits != sdram.address_bits() {
        let mbytes = (u64::from(sdram.data_bits / 8) << address_bits) >> 20;
        let (title, module) = (&facts.title, &sdram.module);
        return Err(Failure::Usage(format!(
            "{title}: [sdram] says {} MB, {module} of LiteDRAM has {mbytes}",
            sdram.mbytes
        )));
    }
    let cell = family.sdram_clock.clone().filter(|_| model.is_none());
    Ok(Sdram {
        core: read("sdram_core.v")?,
        writes: known.writes,
        bank_bits: known.bank_bits,
        row_bits: known.row_bits,
        column_bits: known.column_bits,
        data_bits: sdram.data_bits,
        tested: if model.is_some() { SIMULATED_TEST.min(address_bits) } else { address_bits },
        clock: cell.unwrap_or_else(|| "    assign sdram_clock = !clock;\n".to_owned()),
        model,
    })
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::File(format!("{}: {error}", path.display())))
}

/// Times that the part does not name are those that follow from others, or none.
fn timing(known: &BTreeMap<String, u32>) -> Timing {
    let of = |name: &str| known.get(name).copied();
    let (rp, rcd) = (of("tRP").unwrap_or(0), of("tRCD").unwrap_or(0));
    let ras = of("tRAS").unwrap_or(rcd);
    Timing {
        rcd,
        rp,
        ras,
        rc: of("tRC").unwrap_or(ras + rp),
        rrd: of("tRRD").unwrap_or(1),
        rfc: of("tRFC").unwrap_or(0),
        wr: of("tWR").unwrap_or(0),
        refi: of("tREFI").unwrap_or(u32::MAX / 16),
    }
}
