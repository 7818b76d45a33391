//! The board of a project: found by name, read, checked.
//!
//! ```text
//! [board] name = "ulx3s-85f" ──▶ fpga/boards/ulx3s-85f.toml + its constraint file ──▶ ChosenBoard
//! ```
//!
//! A name is looked up in a folder `boards` beside the configuration's folder, then in one of the working directory, then
//! among the built-in ones, which are those of `fpga/boards`; a name that ends in `.toml` is a path, relative to the configuration.

use crate::config::{BoardOptions, Microcode, from_toml, value_span};
use crate::failure::{Failure, Source};
use crate::library::{self, BOARDS};
use crate::room::{Room, USUAL_SHIFTS};
use arch::amounts::Amounts;
use arch::axi::{Geometry, PORT_BITS};
use arch::machine::{MOST_ROWS, MachineSpec};
use arch::{Code, Diagnostic, Machine, Span};
use compiler::language::nearest;
use fpga::board::Board as Facts;
use fpga::pins;
use std::path::{Path, PathBuf};

/// Clock of a grid without a board, MHz.
const CLOCK_MHZ: f64 = 100.0;

/// What a project knows of its board.
#[derive(Debug, Clone)]
pub struct ChosenBoard {
    /// Its name; `none` where there is none.
    pub name: String,
    /// Clock of the grid, MHz.
    pub clock_mhz: f64,
    /// What the whole board takes, W, where somebody has measured it.
    pub watts: Option<f64>,
    /// The facts and the constraints, if a board is named.
    pub known: Option<Known>,
}

/// A board that was found.
#[derive(Debug, Clone)]
pub struct Known {
    /// Where it was read.
    pub path: PathBuf,
    /// Its file.
    pub facts: Facts,
    /// Name and text of its constraint file, if it has pins.
    pub constraints: Option<Source>,
    /// The same of its SDRAM.
    pub sdram_constraints: Option<Source>,
}

impl Default for ChosenBoard {
    fn default() -> ChosenBoard {
        ChosenBoard { name: "none".to_owned(), clock_mhz: CLOCK_MHZ, watts: None, known: None }
    }
}

impl ChosenBoard {
    /// The facts, if a board is named.
    pub fn facts(&self) -> Option<&Facts> {
        self.known.as_ref().map(|known| &known.facts)
    }

    /// The board that a configuration asks for.
    ///
    /// # Errors
    /// No board has this name (`E-CONFIG` at the name); its file or its constraints cannot be read or are wrong.
    pub fn find(options: &BoardOptions, config: &Path, source: &Source) -> Result<ChosenBoard, Failure> {
        let Some(name) = &options.name else {
            let default = ChosenBoard::default();
            let (clock_mhz, watts) = (options.clock_mhz.unwrap_or(default.clock_mhz), options.watts);
            return Ok(ChosenBoard { clock_mhz, watts, ..default });
        };
        let path = locate(name, config).ok_or_else(|| unknown(name, source))?;
        let text = library::read(&path)?;
        let facts: Facts = from_toml(&text.text).map_err(|diagnostic| Failure::about(&text, vec![diagnostic]))?;
        facts.check().map_err(|(key, message)| {
            let span = value_span(&text.text, &key).unwrap_or_default();
            Failure::about(&text, vec![Diagnostic::new(Code::Config, span, message)])
        })?;
        let beside = |name: &String| library::read(&path.with_file_name(name));
        let constraints = facts.io.as_ref().map(|io| beside(&io.constraints)).transpose()?;
        let sdram_constraints = facts.sdram.as_ref().map(|sdram| beside(&sdram.constraints)).transpose()?;
        let check = |constraints: &Option<Source>, check: &dyn Fn(&str) -> Result<(), pins::Mistake>| {
            let Some(source) = constraints else { return Ok(()) };
            check(&source.text).map_err(|(at, message)| {
                let span = at.map_or_else(Span::default, |at| Span::new(at.start, at.end));
                Failure::about(source, vec![Diagnostic::new(Code::Config, span, message)])
            })
        };
        check(&constraints, &|text| facts.check_pins(text))?;
        check(&sdram_constraints, &|text| facts.check_sdram_pins(text))?;
        let stem = path.file_stem().map_or_else(|| name.clone(), |stem| stem.to_string_lossy().into_owned());
        Ok(ChosenBoard {
            name: stem,
            clock_mhz: options.clock_mhz.unwrap_or(facts.clock.grid_mhz),
            watts: options.watts,
            known: Some(Known { path, facts, constraints, sdram_constraints }),
        })
    }
}

impl ChosenBoard {
    /// The machine with as many PUs as the board holds, by estimate. Depths and shifters that the program is going to decide count as small.
    ///
    /// # Errors
    /// No board is named, or not even one PU fits.
    pub fn fill(&self, spec: &MachineSpec, microcode: Microcode, source: &Source) -> Result<Machine, Failure> {
        let span = value_span(&source.text, &["machine", "pus"]).unwrap_or_default();
        let Some(facts) = self.facts() else {
            let diagnostic = Diagnostic::new(Code::Config, span, "`auto` needs a board");
            return Err(Failure::about(source, vec![diagnostic.with_help("name one: [board] name = \"ulx3s-85f\"")]));
        };
        let small = |depth: Option<u32>| depth.or(Some(SMALL_DEPTH));
        let with = |pus: u32| MachineSpec {
            pus: Some(pus),
            model_depth: small(spec.model_depth),
            data_depth: small(spec.data_depth),
            temporary_depth: small(spec.temporary_depth),
            program_depth: spec.program_depth.or(Some(FEW_INSTRUCTIONS)),
            alignments: spec.alignments.or(Amounts::of(USUAL_SHIFTS)),
            shifts: spec.shifts.or(Amounts::of(USUAL_SHIFTS)),
            root_shifts: spec.root_shifts.or(Amounts::of(USUAL_SHIFTS)),
            ..spec.clone()
        };
        let room = Room::new(facts, microcode);
        let fits = |machine: &Machine| room.beyond(&room.suited(machine, spec)) == 0;
        let machines = (1..=MOST_ROWS).rev().filter_map(|pus| Machine::try_from(with(pus)).ok());
        let Some(found) = machines.into_iter().find(fits) else {
            let message = format!("not even one PU fits {}", facts.title);
            return Err(Failure::DoesNotFit {
                source: source.clone(),
                diagnostics: vec![Diagnostic::new(Code::Backend, span, message)],
            });
        };
        let spec = MachineSpec { pus: Some(found.pus()), ..spec.clone() };
        Machine::try_from(spec)
            .map_err(|error| Failure::about(source, vec![Diagnostic::new(Code::Config, span, error.to_string())]))
    }
}

impl ChosenBoard {
    /// The most words of output that what stands around the grid takes at a time, and why; nothing without a board.
    fn most_output(&self, machine: &Machine) -> Option<(u32, String)> {
        let facts = self.facts()?;
        if facts.io.is_some() {
            return Some((1, "its serial line takes one word after the other".to_owned()));
        }
        let lane = Geometry::of(machine).lane;
        let words = PORT_BITS / lane;
        Some((words, format!("its memory port takes {PORT_BITS} bits at a time, {words} words of {lane}")))
    }

    /// `output_words` of a specification that leaves it open: as many as the board takes, from as many rows, and no more than leave at once.
    pub fn output_words(&self, spec: &MachineSpec, machine: &Machine) -> Option<u32> {
        if spec.output_words.is_some() {
            return spec.output_words;
        }
        let (most, _) = self.most_output(machine)?;
        let rows = 1 << machine.pus().trailing_zeros();
        let beat = spec.emit_words.filter(|&words| words > 0).unwrap_or(u32::MAX);
        Some(rows.min(1 << most.ilog2()).min(beat))
    }

    /// Whether what stands around the grid on this board takes the beats of its output.
    ///
    /// # Errors
    /// It takes fewer words at a time.
    pub fn takes_output(&self, machine: &Machine, source: &Source) -> Result<(), Failure> {
        let Some((most, why)) = self.most_output(machine) else { return Ok(()) };
        let asked = machine.output_words();
        if asked <= most {
            return Ok(());
        }
        let title = self.facts().map_or("the board", |facts| &facts.title);
        let span = value_span(&source.text, &["machine", "output_words"]).unwrap_or_default();
        let message = format!("{title} takes no {asked} words of output at a time: {why}");
        let diagnostic = Diagnostic::new(Code::Config, span, message);
        Err(Failure::about(source, vec![diagnostic.with_help(format!("`output_words = {most}` is the most here"))]))
    }
}

/// Words of a memory whose depth is not known yet.
const SMALL_DEPTH: u32 = 64;

/// Instructions of a program that is not known yet.
const FEW_INSTRUCTIONS: u32 = 32;

fn locate(name: &str, config: &Path) -> Option<PathBuf> {
    let folder = config.parent().unwrap_or(Path::new(""));
    let candidates = if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        vec![folder.join(name)]
    } else {
        let file = format!("{name}.toml");
        // A name is not a path: what it could reach stays inside the folders of boards.
        if name.contains(['/', '\\']) {
            return None;
        }
        vec![folder.join("../boards").join(&file), folder.join("boards").join(&file), Path::new("boards").join(&file)]
    };
    candidates
        .iter()
        .find(|path| path.is_file())
        .or_else(|| candidates.iter().find(|path| library::exists(path)))
        .cloned()
}

/// Names of the built-in boards.
pub fn names() -> impl Iterator<Item = &'static str> {
    BOARDS.iter().filter_map(|(path, _)| path.strip_prefix("boards/")?.strip_suffix(".toml"))
}

fn unknown(name: &str, source: &Source) -> Failure {
    let span = value_span(&source.text, &["board", "name"]).unwrap_or_default();
    let known: Vec<&str> = names().collect();
    let diagnostic = Diagnostic::new(Code::Config, span, format!("there is no board `{name}`"));
    let diagnostic = match nearest(name, known.iter().copied()) {
        Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
        None => diagnostic.with_help(format!("built in are {}; others are files boards/NAME.toml", known.join(", "))),
    };
    Failure::about(source, vec![diagnostic])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Result<ChosenBoard, Failure> {
        let source = Source { name: "test.toml".to_owned(), text: text.to_owned() };
        let config = crate::config::Config::parse(&source).unwrap();
        ChosenBoard::find(&config.board, Path::new("configs/test.toml"), &source)
    }

    #[test]
    fn boards_of_the_library() {
        for name in names() {
            let board = find(&format!("[board]\nname = \"{name}\"\n")).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            let known = board.known.unwrap();
            assert_eq!(board.clock_mhz, known.facts.clock.grid_mhz);
            // Boards with pins place every port of the top module.
            let Some(constraints) = known.constraints else { continue };
            let leds = (0..known.facts.io.unwrap().leds).map(|n| format!("led[{n}]"));
            for port in ["clock_pin", "button", "uart_rx", "uart_tx"].map(str::to_owned).into_iter().chain(leds) {
                assert!(constraints.text.contains(&port), "{name}: {port} has no place");
            }
        }
        let board = find("[board]\nname = \"ulx3s-25f\"\nclock_mhz = 50.0\n").unwrap();
        assert_eq!((board.clock_mhz, board.facts().unwrap().device.family().name), (50.0, "ecp5"));
        assert_eq!(find("").unwrap().name, "none");
    }

    #[test]
    fn unknown_boards_are_refused_with_the_nearest() {
        let error = |name: &str| match find(&format!("[board]\nname = \"{name}\"\n")).unwrap_err() {
            Failure::Diagnostics { diagnostics, .. } => diagnostics[0].clone(),
            other => panic!("{other:?}"),
        };
        let diagnostic = error("ulx3s-85");
        assert_eq!(diagnostic.message, "there is no board `ulx3s-85`");
        assert_eq!(diagnostic.help.as_deref(), Some("did you mean `ulx3s-85f`?"));
        assert_eq!(diagnostic.span.map(|span| span.start), Some(15));
        assert!(error("../boards/icebreaker").message.starts_with("there is no board"));
    }

    #[test]
    fn a_board_is_filled() {
        let source = Source { name: "test.toml".to_owned(), text: "[machine]\npus = \"auto\"\n".to_owned() };
        let spec = MachineSpec { pes_per_pu: Some(8), table_entries: Some(0), ..MachineSpec::default() };
        let pus = |name: &str| {
            find(&format!("[board]\nname = \"{name}\"\n"))
                .unwrap()
                .fill(&spec, Microcode::Ram, &source)
                .map(|machine| machine.pus())
        };
        let (small, large) = (pus("ulx3s-25f").unwrap(), pus("ulx3s-85f").unwrap());
        assert!((1..=3).contains(&small) && (6..=13).contains(&large), "{small} {large}");
        assert!(matches!(pus("icebreaker"), Err(Failure::DoesNotFit { .. })));
        let none = ChosenBoard::default().fill(&spec, Microcode::Ram, &source);
        assert!(matches!(none, Err(Failure::Diagnostics { .. })));
    }

    #[test]
    fn files_of_boards_are_checked() {
        let good = BOARDS.iter().find(|(path, _)| *path == "boards/icebreaker.toml").unwrap().1;
        for (right, wrong, says) in [
            ("pin_mhz = 12.0", "pin_mhz = 0.0", "above 0 MHz"),
            ("baud = 3000000", "baud = 9000000", "four cycles"),
            ("leds_lit = 0", "leds_lit = 2", "0 or 1"),
            ("\"sg48\"", "\"sg48 $(shell id)\"", "letters, digits"),
            ("ice40_generic\"", "ice40_generic; reboot\"", "letters, digits"),
            ("\"ice40\"", "\"ice41\"", "unknown family `ice41`"),
            ("package =", "speed = 6\npackage =", "has no key `speed`"),
            ("\"up5k\"", "\"pre-pack\"", "unknown size `pre-pack`"),
            ("\"icebreaker.pcf\"", "\"../icebreaker.pcf\"", "lies beside"),
        ] {
            assert!(good.contains(right), "{right}");
            let facts: Facts = from_toml(&good.replace(right, wrong)).unwrap();
            let (_, message) = facts.check().unwrap_err();
            assert!(message.contains(says), "{message}");
        }
    }
}
