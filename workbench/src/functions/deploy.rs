//! A function whose written Verilog is scored beside golden before anyone gets it.
//!
//! ```text
//!          ┌─ calibration ─▶ binary points ─▶ image ─▶ files ──written──▶ a folder beside its place
//! table ───┤                                                                  │ rtl/*.v, read again, under Verilator
//!          └─ the rest ──▶ golden ──▶ score ◀── within? ── score ◀── words ◀──┘
//! ```
//!
//! [`Files::publish_checked`](crate::writing::Files::publish_checked) moves the folder to its place if [`Judge::judge`] has nothing against it.

use super::Function;
use super::expected::Score;
use super::rows::{Parts, Rows};
use super::score::Tabled;
use crate::build::{Built, written};
use crate::failure::Failure;
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::records::calibration::Calibration;
use arch::rtl::CoreName;
use arch::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::Serialize;
use sim::data::labels::Coding;
use sim::data::split::split;
use sim::data::table::Table;
use sim::distance::{Verdict, WIDEST};
use sim::driver::Outcome;
use sim::grid::Stalls;
use sim::verilator::{GridDevice, Library, Options};
use std::collections::BTreeMap;
use std::path::Path;

/// Narrowest word that is tried.
const NARROWEST: u32 = 8;

/// The rows that binary points were chosen from, in the folder.
pub const CALIBRATION: &str = "calibration.csv";

/// How a deployment is judged.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// How far the score of the hardware may be from golden's, in hundredths of accuracy or of R2.
    pub within: f64,
    /// Which share of the rows is the calibration.
    pub share: f64,
    /// Which rows these are.
    pub seed: u64,
}

/// A function, its files, and the rows that judge them.
pub struct Deployment {
    /// With the grid and the clock that are built ([`Deployment::new`]).
    pub project: Project,
    /// The rows.
    pub judge: Judge,
    /// Everything that is to be written.
    pub built: Built,
}

/// Rows that judge the written Verilog of a function.
pub struct Judge {
    tabled: Tabled,
    function: Function,
    terms: Terms,
    calibrated: usize,
}

/// What the written Verilog has shown.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Deployed {
    /// The result that is scored.
    pub result: String,
    /// Rows that binary points were chosen from.
    pub calibrated: usize,
    /// Other rows, which are scored.
    pub rows: usize,
    /// Names of the classes, in the order of their scores; empty where results are numbers.
    pub classes: Vec<String>,
    /// Score of the golden model.
    pub golden: Score,
    /// Score of the written Verilog; missing where it is stuck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Score>,
    /// How far the two are apart, in hundredths of accuracy or of R2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<f64>,
    /// How far they may be.
    pub within: f64,
    /// Words that the Verilog has sent, all compared with fixed point.
    pub words_compared: u64,
    /// The first of them that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<String>,
    /// Bits of a word.
    pub word: u32,
    /// The grid, in words.
    pub grid: String,
    /// Its clock, MHz.
    pub clock_mhz: f64,
    /// If the score is too far away: the narrowest word, of 8 to 32 bits, with which it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_needed: Option<u32>,
    /// Whether the words suffice.
    pub verdict: Verdict,
    /// Why it must not be used.
    #[serde(skip)]
    pub refusal: Option<Failure>,
}

impl Deployment {
    /// Divide the table, choose binary points, compile, and generate all files. Where the configuration belongs to another program, the clock is
    /// slower than its, depths follow from the program, and the grid is one that leaves place and route room.
    ///
    /// # Errors
    /// The table does not suit the program; whatever a build refuses.
    pub fn new(
        project: &Project,
        rows: &Rows<'_>,
        terms: Terms,
        progress: &dyn Progress,
    ) -> Result<Deployment, Failure> {
        let parts = |table: &Table, targets: &[usize]| divided(table, targets, terms);
        let tabled = Tabled::new(project, rows, &parts, progress)?;
        let compiled = |project: &Project| Function::of(project, &tabled.computed.read, progress);
        let adapted = project.adapted(|project| Ok::<_, Failure>(compiled(project)?.routable(project)))?;
        let is_adapted = adapted.is_some();
        let project = adapted.unwrap_or_else(|| project.clone());
        let function = compiled(&project)?;
        if is_adapted {
            let (machine, clock_mhz) = (function.climb.image().machine.clone(), project.board.clock_mhz);
            progress.note(&Note::Adapted { machine, clock_mhz });
        }
        let mut built = Built::of_function(&project, &function, progress)?;
        let calibration = tabled.computed.read.calibration.as_ref();
        built.files.add(CALIBRATION, calibration.map_or_else(String::new, |calibration| calibration.csv.clone()));
        let calibrated = calibration.map_or(0, |calibration| calibration.rows);
        Ok(Deployment { project, judge: Judge { tabled, function, terms, calibrated }, built })
    }

    /// The function that was deployed.
    pub fn function(&self) -> &Function {
        &self.judge.function
    }
}

impl Judge {
    /// All rows of a table, for a function that was built.
    ///
    /// # Errors
    /// The table does not suit the program.
    pub fn of_built(
        project: &Project,
        built: &Function,
        rows: &Rows<'_>,
        within: f64,
        progress: &dyn Progress,
    ) -> Result<Judge, Failure> {
        let all = |table: &Table, _: &[usize]| Ok((None, (0..table.rows.len()).collect()));
        let mut tabled = Tabled::new(project, rows, &all, progress)?;
        let decided = Calibration { records: built.decided.clone(), ..Calibration::default() };
        tabled.computed.read.calibration = Some(decided);
        let function = Function::of(project, &tabled.computed.read, progress)?;
        let terms = Terms { within, share: 0.0, seed: 0 };
        Ok(Judge { tabled, function, terms, calibrated: built.decided.len() })
    }

    /// Run the Verilog that is written in `folder`, and say how good it is.
    ///
    /// # Errors
    /// A file cannot be read, the files are those of another program, Verilator fails; a score that the targets do not define.
    pub fn judge(&self, project: &Project, folder: &Path, progress: &dyn Progress) -> Result<Deployed, Failure> {
        let Judge { tabled: Tabled { computed, expected }, function, terms, .. } = self;
        let golden = expected.score(&computed.golden());
        if figure(&golden).is_none() || expected.are_alike() {
            let message = "the targets of the rows that are scored are all alike: they tell no score";
            return Err(Failure::data(computed.read.origin.clone(), vec![Diagnostic::global(Code::Data, message)]));
        }
        let (outcome, mut first_difference) = match self.run(&project.core(), folder, progress)? {
            Ok(outcome) => (Some(outcome), None),
            Err(stuck) => (None, Some(stuck)),
        };
        let mut words_compared = 0;
        match outcome.as_ref().map(|outcome| function.climb.compare_stream(outcome)) {
            Some(Ok(words)) => words_compared = words,
            Some(Err(difference)) => first_difference = Some(difference.to_string()),
            None => {}
        }
        let values = outcome.as_ref().map(|outcome| computed.received(&function.climb, outcome)).transpose()?;
        let hardware = values.map(|values| expected.score(&values));
        let points = hardware.as_ref().and_then(|hardware| points(&golden, hardware));
        let mut deployed = Deployed {
            result: computed.name.clone(),
            calibrated: self.calibrated,
            rows: computed.rows,
            classes: expected.names(),
            golden,
            hardware,
            points,
            within: terms.within,
            words_compared,
            first_difference,
            word: function.climb.fixed.word,
            grid: function.climb.image().machine.to_string(),
            clock_mhz: project.board.clock_mhz,
            bits_needed: None,
            verdict: function.accuracy.verdict.clone(),
            refusal: None,
        };
        if let Some(difference) = &deployed.first_difference {
            let message = format!("the written Verilog differs from fixed: {difference}; {}", deployed.apart());
            deployed.refusal = Some(Failure::Mismatch(message));
        } else if !self.suffices(points) {
            deployed.bits_needed = self.bits_needed(project, &deployed.golden, progress)?;
            let bits = deployed.bits_needed.map_or_else(
                || format!("no word of {NARROWEST} to {WIDEST} bits would do"),
                |bits| format!("{bits} bits would do (`word = {bits}` in the `[machine]` table)"),
            );
            let message = format!("{}, more than the {} of --within; {bits}", deployed.apart(), terms.within);
            deployed.refusal = Some(Failure::Inaccurate(message));
        }
        Ok(deployed)
    }

    fn suffices(&self, points: Option<f64>) -> bool {
        points.is_some_and(|points| points <= self.terms.within)
    }

    /// All records through the written Verilog; what it says where it is stuck.
    fn run(&self, core: &CoreName, folder: &Path, progress: &dyn Progress) -> Result<Result<Outcome, String>, Failure> {
        let image = self.function.climb.image();
        written::check_microcode(folder, "function", image)?;
        let machine = &image.machine;
        progress.note(&Note::Simulates(machine.clone()));
        let library = Library::build(&written::rtl(core, folder, image)?, &Options::default())?;
        let climb = &self.function.climb;
        let outcome = climb.stream(GridDevice::new(&library, machine), climb.records(), Stalls::none());
        Ok(outcome.map_err(|stuck| stuck.to_string()))
    }

    /// The narrowest word in which fixed point, which the hardware equals, is close enough.
    fn bits_needed(&self, project: &Project, golden: &Score, progress: &dyn Progress) -> Result<Option<u32>, Failure> {
        let Tabled { computed, expected } = &self.tabled;
        let upper = computed.read.upper(project, progress)?;
        for word in NARROWEST..=WIDEST {
            if progress.cancelled() {
                return Err(Failure::Interrupted);
            }
            let Some(words) = upper.in_words(word) else { continue };
            let score = expected.score(&computed.on_fixed(&words)?);
            if self.suffices(points(golden, &score)) {
                return Ok(Some(word));
            }
        }
        Ok(None)
    }
}

impl Deployed {
    /// Both scores and their distance, in words.
    pub fn apart(&self) -> String {
        let (Some(hardware), Some(points)) = (&self.hardware, self.points) else {
            return "the hardware has no score".to_owned();
        };
        let name = if self.golden.accuracy.is_some() { "accuracy" } else { "R2" };
        let [own, golden] = [hardware, &self.golden].map(|score| figure(score).unwrap_or(f64::NAN));
        format!("{name} of the hardware is {own:.4}, of golden {golden:.4}: {points:.2} points apart")
    }
}

/// The one figure that two scores are compared by.
fn figure(score: &Score) -> Option<f64> {
    score.accuracy.or(score.r2)
}

/// How far two scores are apart.
fn points(golden: &Score, found: &Score) -> Option<f64> {
    Some((figure(golden)? - figure(found)?).abs() * 100.0).filter(|points| points.is_finite())
}

/// Calibration and the rest, each with its share of every class.
fn divided(table: &Table, targets: &[usize], terms: Terms) -> Result<Parts, Diagnostic> {
    let classes = match targets {
        [target] => Coding::of_target(table, *target).ok(),
        _ => None,
    };
    let codes = classes.and_then(|classes| classes.codes(table, targets).ok());
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let class = codes.as_ref().map_or(0, |codes| codes[row][0] as usize);
        groups.entry(class).or_default().push(row);
    }
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for rows in groups.values() {
        let parts = split(rows.len(), terms.share, terms.seed);
        first.extend(parts.train.iter().map(|&row| rows[row]));
        rest.extend(parts.test.iter().map(|&row| rows[row]));
    }
    if rest.is_empty() {
        let message = format!("{} rows are too few for a calibration and a score", table.rows.len());
        let help = "give more rows, or a smaller --split";
        return Err(Diagnostic::global(Code::Data, message).with_help(help));
    }
    first.sort_unstable();
    rest.sort_unstable();
    Ok((Some(first), rest))
}
