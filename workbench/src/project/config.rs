//! The TOML that describes a machine, its board and its numbers.
//!
//! ```text
//! program = "..."    [machine]    [board]    [numbers]    [build]    [function]
//! ```
//!
//! `configs/reference.toml` explains every key. What is wrong is said with line and column, and an unknown key with the
//! nearest known one.

use crate::failure::{Failure, Source};
use crate::resident::FunctionOptions;
use arch::machine::{AUTO, MOST_ROWS, MachineSpec, SetError};
use arch::rtl::CoreName;
use arch::{Code, Diagnostic, Machine, Span};
use compiler::fixed::Numbers;
use compiler::language::nearest;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use sim::train::settings::Choices;
use sim::train::settings::flat::Beside;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// No board here takes as much.
const MOST_WATTS: f64 = 1000.0;
/// Boards that share a batch, at most: as many as `--ranks=N` takes.
const MOST_RANKS: u32 = 256;
/// Records per step, at most: a few for each PE of the largest grid.
const MOST_RECORDS: u32 = 16384;
const WRONG_RECORDS: &str = "records per step: a number between 1 and 16384, or `auto`";
/// Clocks beyond that are typing errors.
const FASTEST_MHZ: f64 = 10_000.0;

/// A configuration file as it is written.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// The program, relative to the file.
    program: Option<PathBuf>,
    /// The grid; what is left out is fitted to the program.
    #[serde(default)]
    #[schemars(schema_with = "machine")]
    machine: MachineSpec,
    /// Its board.
    #[serde(default)]
    board: BoardOptions,
    /// Choice of binary points.
    #[serde(default)]
    numbers: NumberOptions,
    /// What `build` does, and settings that neither the command line nor a `[train]` table gives.
    #[serde(default)]
    build: BuildOptions,
    /// What functions leave open, if the table beside the program does not say it.
    #[serde(default)]
    function: FunctionOptions,
}

/// A machine whose number of PUs the board may decide.
fn machine(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = MachineSpec::json_schema(generator);
    if let Some(pus) = schema.pointer_mut("/properties/pus").and_then(Value::as_object_mut) {
        pus.insert("type".to_owned(), json!(["integer", "string", "null"]));
    }
    schema
}

/// A configuration, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The program, relative to the file.
    pub program: Option<PathBuf>,
    /// The grid as the file gives it; what is left out follows from the program.
    pub spec: MachineSpec,
    /// `pus = "auto"`: as many as the board holds. Until the board is known, as few as make a machine.
    pub pus_by_board: bool,
    /// The grid with the defaults of what is left out.
    pub machine: Machine,
    /// The board that is asked for.
    pub board: BoardOptions,
    /// Choice of binary points.
    pub numbers: NumberOptions,
    /// What `build` does.
    pub build: BuildOptions,
    /// What functions leave open.
    pub function: FunctionOptions,
}

impl Default for Config {
    /// 8 x 8 PEs of 16 bits, no board.
    fn default() -> Config {
        Config {
            program: None,
            spec: MachineSpec::default(),
            pus_by_board: false,
            machine: Machine::try_from(MachineSpec::default()).expect("the default grid is possible"),
            board: BoardOptions::default(),
            numbers: NumberOptions::default(),
            build: BuildOptions::default(),
            function: FunctionOptions::default(),
        }
    }
}

/// The `[board]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardOptions {
    /// Name of a built-in board or of one in `boards/`, or path of a board's file, relative to the configuration.
    pub name: Option<String>,
    /// Clock of the grid, if not the board's own.
    pub clock_mhz: Option<f64>,
    /// What the whole board takes while it trains, W, as somebody has measured it: no model here knows.
    pub watts: Option<f64>,
    /// Where samples are kept between epochs.
    #[serde(default)]
    pub store: StoreOption,
}

/// Where a board keeps samples between epochs (docs/store.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoreOption {
    /// Nowhere: every epoch sends them.
    None,
    /// In the block memories that the grid leaves over, if there are any; where the board has an SDRAM and the samples of this training are known
    /// not to fit them, there.
    #[default]
    Auto,
    /// In the block memories that the grid leaves over; there have to be some.
    Bram,
    /// In the board's SDRAM.
    Sdram,
}

/// Records that a step of a function computes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RecordsPerStep {
    /// So many.
    Count(u32),
    /// As many as make a record fastest.
    Fastest(Auto),
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// The compiler decides.
    Auto,
}

impl FromStr for RecordsPerStep {
    type Err = String;

    fn from_str(text: &str) -> Result<RecordsPerStep, String> {
        match text {
            AUTO => Ok(RecordsPerStep::Fastest(Auto::Auto)),
            _ => text.parse().map_err(|_| WRONG_RECORDS.to_owned()).and_then(|n| RecordsPerStep::Count(n).checked()),
        }
    }
}

impl RecordsPerStep {
    /// The same, if it is a possible number.
    fn checked(self) -> Result<RecordsPerStep, String> {
        match self {
            RecordsPerStep::Count(n) if !(1..=MOST_RECORDS).contains(&n) => Err(WRONG_RECORDS.to_owned()),
            possible => Ok(possible),
        }
    }
}

/// The `[numbers]` table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberOptions {
    /// Bits kept free above the largest value of the golden run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<u32>,
    /// Bits after the binary point, by name in the program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fractions: BTreeMap<String, i32>,
}

/// The `[build]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = Choices::describe)]
pub struct BuildOptions {
    /// Output folder, relative to the file.
    pub out: Option<PathBuf>,
    /// How a training goes, if neither the command line nor the `[train]` table says so.
    #[serde(skip)]
    pub choices: Choices,
    /// Data that decides sizes and binary points, relative to the file.
    pub data: Option<PathBuf>,
    /// Whether the program is loaded into the hardware or part of it.
    #[serde(default)]
    pub microcode: Microcode,
    /// Name of the generated module, and prefix of all others; default: the program's name.
    pub module: Option<CoreName>,
    /// Boards that will share every batch, if their grid hands out its sums (docs/ranks.md): tiles are as large as is best for so many.
    pub ranks: Option<u32>,
    /// Records that a step of a function computes at once: a number, or `"auto"` for as many as make a record fastest; default: 1.
    pub records: Option<RecordsPerStep>,
    /// `"auto"`: a function that its machine does not hold as a whole runs in as few segments as fit, one after the other; default: it is refused.
    pub segments: Option<Auto>,
    /// Values of the program's constants.
    #[serde(default)]
    pub set: BTreeMap<String, f64>,
}

impl<'de> Deserialize<'de> for BuildOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BuildOptions, D::Error> {
        let mut choices = Choices::default();
        let plain = BuildOptions::deserialize(Beside { table: deserializer, group: &mut choices })?;
        Ok(BuildOptions { choices, ..plain })
    }
}

/// Where programs and function tables are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Microcode {
    /// In memories that the host writes: the hardware runs every program that fits.
    #[default]
    Ram,
    /// As constants: the hardware runs this program, and is smaller.
    Rom,
}

impl Config {
    /// Of a machine and the choice of binary points alone: no program, no board.
    ///
    /// # Errors
    /// The machine is impossible, or has no such numbers, in words.
    pub fn of(spec: MachineSpec, numbers: NumberOptions) -> Result<Config, String> {
        let machine = Machine::try_from(spec.clone()).map_err(|error| error.to_string())?;
        check_numbers(&numbers, &machine, "").map_err(|wrong| wrong[0].message.clone())?;
        Ok(Config { spec, machine, numbers, ..Config::default() })
    }

    /// The same with some keys of the machine as they are given here, as text.
    ///
    /// # Errors
    /// There is no such key, it has no such value, the machine is impossible.
    pub fn with_machine(mut self, keys: &[(String, String)], source: Option<&Source>) -> Result<Config, Failure> {
        if keys.is_empty() {
            return Ok(self);
        }
        let wrong = |message: String| Failure::Usage(format!("--machine {message}"));
        for (key, value) in keys {
            if key == "pus" && value == AUTO {
                return Err(wrong(format!("pus={AUTO}: the configuration may say so, whose board decides")));
            }
            self.spec.set(key, value).map_err(|error| {
                let known = arch::machine::keys();
                let hint = match error {
                    SetError::Key => {
                        nearest(key, known.iter().map(|key| key.name)).map(|near| format!("did you mean `{near}`?"))
                    }
                    SetError::Value => known.into_iter().find(|known| known.name == key).map(|key| key.text),
                };
                wrong(format!(
                    "{key}={value}: {error}; {}",
                    hint.unwrap_or_else(|| "configs/reference.toml has all keys".to_owned())
                ))
            })?;
            self.pus_by_board = self.pus_by_board && key != "pus";
        }
        self.machine = Machine::try_from(self.spec.clone()).map_err(|error| wrong(error.to_string()))?;
        if let Some(source) = source {
            check_numbers(&self.numbers, &self.machine, &source.text).map_err(|wrong| Failure::about(source, wrong))?;
        }
        Ok(self)
    }

    /// What words look like on a machine, and what the user decided about them.
    pub fn numbers(&self, machine: &Machine) -> Numbers {
        let of_machine = Numbers::of_machine(machine);
        Numbers {
            fractions: self.numbers.fractions.clone(),
            headroom: self.numbers.headroom.unwrap_or(of_machine.headroom),
            ..of_machine
        }
    }

    /// Read a configuration.
    ///
    /// # Errors
    /// `E-CONFIG` with its place: broken TOML, an unknown key (with the nearest known one), a value of the wrong kind, an
    /// impossible machine.
    pub fn parse(source: &Source) -> Result<Config, Vec<Diagnostic>> {
        let (text, pus_by_board) = without_auto(&source.text);
        let mut file: ConfigFile = from_toml(&text).map_err(|error| vec![error])?;
        if pus_by_board {
            // Words of a transfer need not fit one PU.
            let with = |pus: u32| MachineSpec { pus: Some(pus), ..file.machine.clone() };
            let possible = (1..=MOST_ROWS).map(with).find(|spec| Machine::try_from(spec.clone()).is_ok());
            file.machine = possible.unwrap_or(file.machine);
        }
        let machine = Machine::try_from(file.machine.clone()).map_err(|error| {
            let message = format!("the machine is impossible: {error}");
            let span = value_span(&source.text, &["machine", error.key]);
            vec![match span {
                Some(span) => Diagnostic::new(Code::Config, span, message).with_label(error.reason.clone()),
                None => Diagnostic::global(Code::Config, message),
            }]
        })?;
        check_numbers(&file.numbers, &machine, &source.text)?;
        if file.board.clock_mhz.is_some_and(|clock| !(clock > 0.0 && clock <= FASTEST_MHZ)) {
            let span = value_span(&source.text, &["board", "clock_mhz"]).unwrap_or_default();
            return Err(vec![Diagnostic::new(
                Code::Config,
                span,
                format!("the clock must be above 0 and at most {FASTEST_MHZ} MHz"),
            )]);
        }
        let wrong = |path: &[&str], message: String| {
            let span = value_span(&source.text, path).unwrap_or_default();
            vec![Diagnostic::new(Code::Config, span, message)]
        };
        if file.board.watts.is_some_and(|watts| !(watts > 0.0 && watts <= MOST_WATTS)) {
            return Err(wrong(&["board", "watts"], format!("the power must be above 0 and at most {MOST_WATTS} W")));
        }
        if let Some((key, message)) = file.build.choices.impossible() {
            return Err(wrong(&["build", key], message.to_owned()));
        }
        if file.build.ranks.is_some_and(|ranks| !(1..=MOST_RANKS).contains(&ranks)) {
            return Err(wrong(&["build", "ranks"], format!("the number of ranks must lie between 1 and {MOST_RANKS}")));
        }
        if let Some(Err(message)) = file.build.records.map(RecordsPerStep::checked) {
            return Err(wrong(&["build", "records"], message));
        }
        if let Some((name, value)) = file.build.set.iter().find(|(_, value)| !value.is_finite()) {
            return Err(wrong(&["build", "set", name], format!("`{name}` is {value}, a constant is a finite number")));
        }
        Ok(Config {
            program: file.program,
            spec: file.machine,
            pus_by_board,
            machine,
            board: file.board,
            numbers: file.numbers,
            build: file.build,
            function: file.function,
        })
    }
}

/// The text with a number of the same length in place of `pus = "auto"`, so that all places stay; and whether it was there.
fn without_auto(text: &str) -> (String, bool) {
    let auto = format!("\"{AUTO}\"");
    match value_span(text, &["machine", "pus"]).map(|span| span.start..span.end) {
        Some(range) if text[range.clone()] == auto => {
            let mut text = text.to_owned();
            text.replace_range(range, &format!("{:1$}", 1, auto.len()));
            (text, true)
        }
        _ => (text.to_owned(), false),
    }
}

/// Read TOML text into a type; the error knows its place and suggests the nearest known key.
///
/// # Errors
/// One `E-CONFIG`.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, Diagnostic> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let span = error.span().map_or(Span::default(), |range| Span::new(range.start, range.end));
        let message = error.message().lines().next().unwrap_or("not TOML").to_owned();
        let Some((unknown, known)) = unknown_field(&message) else {
            return Diagnostic::new(Code::Config, span, message);
        };
        let lower = unknown.to_lowercase();
        let nearest = known
            .iter()
            .map(|key| (strsim::damerau_levenshtein(&lower, key), key))
            .min_by_key(|&(distance, _)| distance)
            .filter(|&(distance, key)| distance <= 1 + key.len() / 3);
        let diagnostic = Diagnostic::new(Code::Config, span, format!("unknown key `{unknown}`"));
        match nearest {
            Some((_, key)) => diagnostic.with_help(format!("did you mean `{key}`?")),
            None if known.is_empty() => diagnostic,
            None => diagnostic.with_help(format!("the keys here are {}", known.join(", "))),
        }
    })
}

/// The parts of serde's "unknown field `a`, expected one of `b`, `c`".
fn unknown_field(message: &str) -> Option<(String, Vec<String>)> {
    let rest = message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("unknown variant `"))?;
    let (unknown, rest) = rest.split_once('`')?;
    let known = rest.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((unknown.to_owned(), known))
}

/// What no word of the machine can do is refused: more headroom than bits, a binary point more than a word away from the word.
fn check_numbers(numbers: &NumberOptions, machine: &Machine, text: &str) -> Result<(), Vec<Diagnostic>> {
    let word = machine.word();
    let mut wrong = Vec::new();
    let mut refuse = |key: &[&str], message: String, help: String| {
        let path: Vec<&str> = ["numbers"].into_iter().chain(key.iter().copied()).collect();
        let diagnostic = Diagnostic::new(Code::Config, value_span(text, &path).unwrap_or_default(), message);
        wrong.push(diagnostic.with_help(help));
    };
    if let Some(headroom) = numbers.headroom.filter(|&headroom| headroom + 2 > word) {
        let message = format!("headroom = {headroom}: a word of {word} bits has no bit left for values");
        refuse(&["headroom"], message, format!("at most {} are possible", word.saturating_sub(2)));
    }
    for (name, &fraction) in &numbers.fractions {
        let bits = word as i32;
        if !(-bits..=2 * bits).contains(&fraction) {
            let message = format!("{name} = {fraction}: impossible for a word of {word} bits");
            refuse(&["fractions", name], message, format!("{} to {} are possible", -bits, 2 * bits));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Where the value of a key stands.
pub fn value_span(text: &str, path: &[&str]) -> Option<Span> {
    let root = DeTable::parse(text).ok()?;
    value(root.get_ref(), path).map(span_of)
}

/// Where a key itself stands.
pub fn key_span(text: &str, path: &[&str]) -> Option<Span> {
    let (last, tables) = path.split_last()?;
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    for key in tables {
        let DeValue::Table(inner) = table.get(*key)?.get_ref() else { return None };
        table = inner;
    }
    table.get_key_value(*last).map(|(key, _)| Span::new(key.span().start, key.span().end))
}

/// Where one element of a list stands.
pub fn element_span(text: &str, path: &[&str], element: usize) -> Option<Span> {
    let root = DeTable::parse(text).ok()?;
    let DeValue::Array(list) = value(root.get_ref(), path)?.get_ref() else { return None };
    list.get(element).map(span_of)
}

fn value<'r, 't>(root: &'r DeTable<'t>, path: &[&str]) -> Option<&'r Spanned<DeValue<'t>>> {
    let (last, tables) = path.split_last()?;
    let mut table = root;
    for key in tables {
        let DeValue::Table(inner) = table.get(*key)?.get_ref() else { return None };
        table = inner;
    }
    table.get(*last)
}

fn span_of(value: &Spanned<DeValue<'_>>) -> Span {
    Span::new(value.span().start, value.span().end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    fn source(text: &str) -> Source {
        Source { name: "test.toml".to_owned(), text: text.to_owned() }
    }

    fn error(text: &str) -> (String, Option<String>, (usize, usize)) {
        let source = source(text);
        let error = Config::parse(&source).unwrap_err().remove(0);
        assert_eq!(error.code, Code::Config);
        let place = arch::diagnostic::line_column(text, error.span.unwrap().start);
        (error.message, error.help, place)
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest() {
        let (message, help, place) = error("[machine]\npus = 4\npes_per_pe = 4\n");
        assert_eq!(message, "unknown key `pes_per_pe`");
        assert_eq!(help.as_deref(), Some("did you mean `pes_per_pu`?"));
        assert_eq!(place, (3, 1));
        let (message, help, _) = error("[machin]\npus = 4\n");
        assert_eq!((message.as_str(), help.as_deref()), ("unknown key `machin`", Some("did you mean `machine`?")));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert_eq!(error("[machine\npus = 4\n").2.0, 1);
        let (message, _, place) = error("[machine]\npus = \"four\"\n");
        assert!(message.contains("invalid type"), "{message}");
        assert_eq!(place, (2, 7));
        let (message, _, place) = error("[machine]\nword = 16\npus = 400\n");
        assert_eq!(message, "the machine is impossible: pus = 400: must lie between 1 and 128");
        assert_eq!(place, (3, 7));
        let (message, _, _) = error("[machine]\npus = 2\npes_per_pu = 3\nstream_words = 4\n");
        assert!(message.contains("must divide the number of PEs, 6"), "{message}");
        let (message, _, place) = error("[machine]\npes_per_pu = 64\npus = 100\n");
        assert!(message.contains("pus = 100: must be at most 64 beside 64 columns, for 4096 PEs"), "{message}");
        assert_eq!(place, (3, 7));
    }

    #[test]
    fn the_board_may_decide_the_number_of_pus() {
        let config = Config::parse(&source("[machine]\npus = \"auto\"\npes_per_pu = 4\n")).unwrap();
        assert!(config.pus_by_board && config.machine.pes() == 4);
        let wide = Config::parse(&source("[machine]\npus = \"auto\"\npes_per_pu = 8\nstream_words = 16\n")).unwrap();
        assert_eq!(wide.machine.pes(), 16);
        assert!(!Config::parse(&source("[machine]\npus = 2\n")).unwrap().pus_by_board);
        let (_, _, place) = error("[machine]\npus = \"auto\"\nword = 99\n");
        assert_eq!(place, (3, 8));
    }

    #[test]
    fn numbers_that_no_word_has_are_refused() {
        let (message, help, place) = error("[machine]\nword = 16\n[numbers.fractions]\nw = 99\n");
        assert_eq!(message, "w = 99: impossible for a word of 16 bits");
        assert_eq!(help.as_deref(), Some("-16 to 32 are possible"));
        assert_eq!(place, (4, 5));
        let (message, _, place) = error("[numbers]\nheadroom = 15\n");
        assert_eq!(message, "headroom = 15: a word of 16 bits has no bit left for values");
        assert_eq!(place, (2, 12));
        assert!(Config::parse(&source("[numbers]\nheadroom = 14\nfractions = { w = -3, v = 20 }\n")).is_ok());
    }

    #[test]
    fn every_config_of_the_library_parses() {
        for (name, text) in library::CONFIGS {
            let config = Config::parse(&source(text)).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(config.program.is_some(), "{name} names no program");
        }
    }

    /// The keys a table accepts, as its type reports them.
    fn keys_of(table: &str) -> Vec<String> {
        let text = if table.is_empty() { "zz = 1\n".to_owned() } else { format!("[{table}]\nzz = 1\n") };
        let error = toml::from_str::<ConfigFile>(&text).unwrap_err();
        unknown_field(error.message()).unwrap().1
    }

    #[test]
    fn the_reference_explains_every_key() {
        let reference = library::CONFIGS.iter().find(|(name, _)| *name == "configs/reference.toml").unwrap().1;
        for table in ["", "machine", "board", "numbers", "build", "function"] {
            for key in keys_of(table) {
                let path: Vec<&str> = table.split('.').filter(|part| !part.is_empty()).chain([key.as_str()]).collect();
                assert!(value_span(reference, &path).is_some(), "configs/reference.toml lacks {path:?}");
            }
        }
    }
}
