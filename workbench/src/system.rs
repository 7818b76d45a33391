//! Figures of whole systems: trainings on simulated boards, with link and store, end to end.
//!
//! ```text
//! programs/system.toml ──▶ Case, Run ──▶ Training ──┬─▶ array, epoch by epoch ──▶ epochs until it is as good as golden ──┐
//!                                                   └─▶ board, link, store ─────▶ time of the whole system ──────────────┴─▶ Row
//! ```
//!
//! A board whose store holds the samples is simulated for all epochs, with all samples or with some, where the others take as long. Where every epoch
//! sends them, one and two epochs of a few samples are simulated, and the rest is as long as they say. A device with a processor has its samples in the memory of that; the stream into its shell and the grid's
//! own pace say how long a sample takes, and nothing is simulated.

mod bounds;
mod made_up;
mod shown;

pub use bounds::{expected, from_store, rows, store_needs};
use bounds::{rows_sent, stay, streamed};
pub use made_up::MadeUp;

use crate::Choices;
use crate::config::StoreOption;
use crate::design::Design;
use crate::engines::Rung;
use crate::failure::Failure;
use crate::library;
use crate::progress::Progress;
use crate::project::store::Store;
use crate::project::{Project, Request};
use crate::resources;
use crate::samples::{self, Choice, Samples};
use crate::sdram::{self, Place};
use crate::serial::AttachedBoard;
use crate::simulated::{Facts, SimulatedLine, Spent, System};
use crate::training::{Point, RunOptions, Training};
use arch::link::Size;
use arch::tools::Toolbox;
use arch::{Code, Diagnostic, Machine};
use compiler::language::Options;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::data::file::Reading;
use sim::train::engine::Comparison;
use sim::train::metrics::Metrics;
use sim::train::settings::Order;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The table of cases.
pub const TABLE: &str = "programs/system.toml";
/// Part of golden's accuracy at the end that counts as reached.
pub const NEARLY: f64 = 0.97;
/// Samples that are simulated at least where every epoch sends them: enough that what a start takes, and the weights on their way back, count little.
const SENT: usize = 128;

/// A training.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// The program, in `programs/`.
    pub program: String,
    /// Where its samples come from.
    pub data: Origin,
    /// Constants of the program.
    #[serde(default)]
    pub set: BTreeMap<String, f64>,
    /// On which boards.
    pub runs: Vec<Run>,
}

/// Where samples come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Origin {
    /// A file of the repository.
    File(String),
    /// They are made up.
    MadeUp(MadeUp),
}

/// A case on a board.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The configuration.
    pub board: String,
    /// Whether memories are fitted to the program.
    #[serde(default)]
    pub fitted: bool,
    /// Depth of the temporary scratchpads where it is not fitted.
    pub temporary_depth: Option<u32>,
    /// The clock that place and route reached, MHz.
    pub clock_mhz: Option<f64>,
    /// Samples per update.
    #[serde(default = "one")]
    pub batch: u32,
    /// Passes over the training part.
    #[serde(default = "twenty")]
    pub epochs: usize,
    /// Samples that are simulated from a store, if not all.
    pub samples: Option<NonZeroUsize>,
    /// What is aimed at.
    #[serde(default)]
    pub goal: Goal,
}

/// What is aimed at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Once the samples are on the board, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_per_second: Option<f64>,
    /// Of the whole training, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Goal {
    /// Whether it is reached; nothing where none is set.
    fn reached(&self, system: &System) -> Option<bool> {
        let fast = self.samples_per_second.map(|goal| system.samples_per_second >= goal);
        let short = self.seconds.map(|goal| system.seconds <= goal);
        [fast, short].into_iter().flatten().reduce(|a, b| a && b)
    }
}

fn one() -> u32 {
    1
}

fn twenty() -> usize {
    20
}

/// Read the table.
///
/// # Errors
/// It cannot be read, or is not what this module knows.
pub fn read() -> Result<Vec<Case>, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        case: Vec<Case>,
    }
    let source = library::read(Path::new(TABLE))?;
    let table = toml::from_str(&source.text).map(|table: Table| table.case);
    table.map_err(|error| Failure::about(&source, vec![Diagnostic::global(Code::Config, error.to_string())]))
}

/// How the figures of a row were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// All epochs on the Verilog of the board.
    Simulated,
    /// All or two epochs of some samples on it.
    Extrapolated,
    /// From the pace of the grid and the width of its stream.
    Computed,
}

/// What a sample costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Energy {
    /// Power while the grid trains, W.
    pub watts: f64,
    /// By the samples per second.
    pub joules_per_sample: f64,
    /// Whether it is `watts` of the configuration, which is the whole board; else it is an estimate of the device.
    pub measured: bool,
}

/// What a run gave.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The case.
    pub case: String,
    /// The configuration.
    pub board: String,
    /// Samples per update.
    pub batch: u32,
    /// Passes over the training part.
    pub epochs: usize,
    /// The grid.
    pub grid: String,
    /// Clock of the grid.
    pub clock_mhz: f64,
    /// Whether place and route reached that clock for this program.
    pub placed: bool,
    /// Rows of the sample store, each as wide as a beat.
    pub store_rows: u32,
    /// Whether they lie in the board's SDRAM.
    pub store_in_sdram: bool,
    /// The whole system; nothing where it does not fit.
    pub system: Option<System>,
    /// How it was found.
    pub way: Option<Way>,
    /// What a sample costs, where the power is known.
    pub energy: Option<Energy>,
    /// Epochs until the score on the test part is nearly that of the golden model at the end.
    pub epochs_to_target: Option<usize>,
    /// The same of the golden model itself.
    pub golden_epochs_to_target: Option<usize>,
    /// The time of these epochs, upload included.
    pub seconds_to_target: Option<f64>,
    /// What is aimed at.
    pub goal: Goal,
    /// Whether that is reached.
    pub reached: Option<bool>,
    /// Why there is no measurement.
    pub refused: Option<String>,
}

/// How many epochs a training takes until it is nearly as good as the golden model at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The golden model itself.
    pub golden: Option<usize>,
    /// The array, whose words are those of every board.
    pub array: Option<usize>,
}

/// The samples of a run and how they are trained on.
///
/// # Errors
/// Whatever is wrong with the case.
pub fn training(case: &Case, run: &Run, progress: &dyn Progress) -> Result<Training, Failure> {
    let set = case.set.iter().map(|(name, &value)| (name.clone(), value)).collect();
    let mut project = Project::open(&Request {
        config: Some(run.board.clone().into()),
        program: Some(Path::new("programs").join(&case.program)),
        reading: Options { set, ..Options::default() },
        ..Request::default()
    })?;
    if run.fitted {
        project.fit_memories();
    }
    project.config.spec.temporary_depth = run.temporary_depth.or(project.config.spec.temporary_depth);
    project.config.board.store = StoreOption::Auto;
    project.board.clock_mhz = run.clock_mhz.unwrap_or(project.board.clock_mhz);
    let name = format!("{}.csv", case.name);
    let choice = match &case.data {
        Origin::File(file) => Choice::of(Path::new(file), samples::read_table(Path::new(file), &Reading::default())?),
        Origin::MadeUp(made_up) => Choice::of_text(&name, &made_up.table())?,
    };
    let order = Some(Order::Store);
    let asked = Choices { batch: Some(run.batch), epochs: Some(run.epochs), order, ..Choices::default() };
    let samples = Samples::read(&project, &asked, choice, progress)?;
    Training::new(project, samples)
}

/// Train on the array, epoch by epoch.
///
/// # Errors
/// As [`Training::run`].
pub fn target(training: &Training, progress: &dyn Progress) -> Result<Target, Failure> {
    let how = RunOptions { curves: true, ..RunOptions::on(Rung::Array) };
    let outcome = training.run(&how, None, progress)?;
    let (golden, array) = (&outcome.results[0].curve, &outcome.last().curve);
    let last = golden.last().and_then(|point| point.test);
    let first = |curve: &[Point]| {
        let good = |point: &&Point| last.zip(point.test).is_some_and(|(last, test)| is_near(&test, &last));
        curve.iter().find(good).map(|point| point.epoch)
    };
    Ok(Target { golden: first(golden), array: first(array) })
}

/// Nearly as accurate; without an accuracy, nearly as small a loss.
fn is_near(test: &Metrics, last: &Metrics) -> bool {
    match (test.accuracy, last.accuracy) {
        (Some(test), Some(last)) => test >= NEARLY * last,
        _ => test.loss <= (2.0 - NEARLY) * last.loss,
    }
}

/// Measure a run; `target` is asked for where it fits.
///
/// # Errors
/// Whatever is wrong with the case; a tool is missing; the board differs from the array.
pub fn measure(
    case: &Case,
    run: &Run,
    target: &mut dyn FnMut(&Training) -> Result<Target, Failure>,
    progress: &dyn Progress,
) -> Result<Row, Failure> {
    let training = training(case, run, progress)?;
    let mut row = Row {
        case: case.name.clone(),
        board: run.board.clone(),
        batch: run.batch,
        epochs: run.epochs,
        grid: grid(&training.project.config.machine),
        clock_mhz: training.project.board.clock_mhz,
        placed: run.clock_mhz.is_some(),
        store_rows: 0,
        store_in_sdram: false,
        system: None,
        way: None,
        energy: None,
        epochs_to_target: None,
        golden_epochs_to_target: None,
        seconds_to_target: None,
        goal: run.goal,
        reached: None,
        refused: None,
    };
    let design = match training.design(&training.ranges(&())?, &()) {
        Ok(design) => design,
        Err(Failure::DoesNotFit { diagnostics, .. }) => {
            row.refused = diagnostics.first().map(|diagnostic| diagnostic.message.clone());
            return Ok(row);
        }
        Err(failure) => return Err(failure),
    };
    let machine = &design.images.machine;
    row.refused = lacks(&training.project, machine);
    if row.refused.is_some() {
        return Ok(row);
    }
    let store = training.project.store(machine, store_needs(&design))?;
    (row.store_rows, row.store_in_sdram) = (store.rows, store.in_sdram);
    let (system, way) = whole(&training, &design, store, run.samples, progress)?;
    row.energy = energy(&training.project, machine, store, system.samples_per_second);
    let target = target(&training)?;
    (row.epochs_to_target, row.golden_epochs_to_target) = (target.array, target.golden);
    row.seconds_to_target = target.array.map(|epochs| system.seconds_until(epochs));
    row.reached = run.goal.reached(&system);
    (row.system, row.way) = (Some(system), Some(way));
    Ok(row)
}

fn grid(machine: &Machine) -> String {
    format!("{} x {}", machine.pus(), machine.pes_per_pu())
}

/// What a sample costs: by what the configuration says of the board, or by what has been published of the device.
fn energy(project: &Project, machine: &Machine, store: Store, samples_per_second: f64) -> Option<Energy> {
    let of = |watts: f64, measured| Energy { watts, joules_per_sample: watts / samples_per_second, measured };
    let estimate = || {
        let facts = project.board.facts()?;
        let used = resources::with_store(machine, facts.device.family(), project.config.build.microcode, store);
        Some(of(facts.power?.watts([used.lut, used.dsp, used.bram], project.board.clock_mhz), false))
    };
    project.board.watts.map(|watts| of(watts, true)).or_else(estimate)
}

/// What the device has too little of.
fn lacks(project: &Project, machine: &Machine) -> Option<String> {
    let facts = project.board.facts()?;
    let lacks = resources::lacks(machine, facts.device.family(), &facts.resources, project.config.build.microcode);
    (!lacks.is_empty()).then(|| lacks.join(", "))
}

/// The time of the whole training.
fn whole(
    training: &Training,
    design: &Design,
    store: Store,
    some: Option<NonZeroUsize>,
    progress: &dyn Progress,
) -> Result<(System, Way), Failure> {
    let (project, schedule) = (&training.project, training.schedule);
    let clock_hz = (project.board.clock_mhz * 1e6).round() as u64;
    let batches = training.samples.train.len() / schedule.batch;
    let samples = (batches * schedule.batch * schedule.epochs) as u64;
    let serial = project.board.facts().and_then(|facts| facts.io.as_ref());
    let Some(serial) = serial else {
        let (cycles, bound_by) = streamed(project, design)?;
        return Ok((System::streamed(cycles, bound_by, clock_hz, samples, schedule.epochs), Way::Computed));
    };
    let (_, playing) = from_store(project, design, store)?;
    let facts = Facts { clock_hz, baud: serial.baud, link_size: link_size(project), store, playing };
    let machine = &design.images.machine;
    if stay(design, store) {
        let few = some.map_or(batches, |some| some.get().div_ceil(schedule.batch).min(batches));
        let mut part = training.clone();
        part.samples.train.truncate(few * schedule.batch);
        // Fewer samples may have other binary points.
        let fewer = if few < batches { Some(part.design(&part.ranges(&())?, &())?) } else { None };
        let machine = fewer.as_ref().map_or(machine, |fewer| &fewer.images.machine);
        let (spent, comparison) = simulate(&part, machine, facts, false, progress)?;
        let played = batches as f64 / few.max(1) as f64;
        let [all, sent] = [batches, few].map(|batches| rows_sent(design, batches) as f64);
        let all = spent.last().copied().unwrap_or_default().stretched(all / sent, played);
        let way = if few < batches { Way::Extrapolated } else { Way::Simulated };
        return Ok((System::new(all, clock_hz, samples, schedule.epochs, &comparison), way));
    }
    let mut part = training.clone();
    let sent = SENT.div_ceil(schedule.batch).clamp(2, batches.max(2));
    part.samples.train.truncate(sent * schedule.batch);
    part.schedule.epochs = 2;
    let less = part.design(&part.ranges(&())?, &())?;
    // The part does not stay either: its last batch has no room.
    let most = rows(&less).map_or(0, |rows| rows - rows / sent as u64);
    let store = Store { rows: store.rows.min(most as u32), ..store };
    let (spent, comparison) = simulate(&part, &less.images.machine, Facts { store, ..facts }, true, progress)?;
    let share = batches as f64 / (part.samples.train.len() / schedule.batch) as f64;
    let all = Spent::extrapolated(spent[0], spent[1], share, schedule.epochs);
    Ok((System::new(all, clock_hz, samples, schedule.epochs, &comparison), Way::Extrapolated))
}

/// How much the host link of a project's board keeps.
pub fn link_size(project: &Project) -> Size {
    project.board.facts().map_or(Size::USUAL, |facts| facts.device.family().link_size())
}

/// The SDRAM of a simulated board, if its store is there.
///
/// # Errors
/// `LiteDRAM` is missing or refuses.
pub fn simulated_sdram(project: &Project, in_sdram: bool) -> Result<Option<hdl::store::Sdram>, Failure> {
    let Some(facts) = project.board.facts().filter(|_| in_sdram) else { return Ok(None) };
    let clock_hz = (project.board.clock_mhz * 1e6).round() as u64;
    sdram::controller(facts, clock_hz, Place::Simulated { stuck: None }, &Toolbox::default()).map(Some)
}

/// Train on the Verilog of the board with this grid: what had been spent after each start, and what was compared. Each epoch is a start
/// of its own if that is asked for.
fn simulate(
    training: &Training,
    machine: &Machine,
    facts: Facts,
    by_epoch: bool,
    progress: &dyn Progress,
) -> Result<(Vec<Spent>, Comparison), Failure> {
    let sdram = simulated_sdram(&training.project, facts.store.in_sdram)?;
    let board = AttachedBoard::simulated(SimulatedLine::build(machine, facts, sdram.as_ref())?)?;
    let mut project = training.project.clone();
    // Whatever its memories are, this board was made for the training.
    project.fit_memories();
    project.adopt(&board)?;
    let mut there = Training::new(project, training.samples.clone())?;
    there.schedule = training.schedule;
    let watch = Stopwatch { board: &board, spent: Mutex::default(), progress };
    // Nobody waits for the board's predictions.
    let how =
        RunOptions { board: Some(&board), curves: by_epoch, own_predictions: false, ..RunOptions::on(Rung::Board) };
    let outcome = there.run(&how, None, &watch)?;
    let comparison = outcome.comparison.unwrap_or_default();
    if !comparison.agrees() {
        let first = comparison.first.unwrap_or_default();
        return Err(Failure::Mismatch(format!("the simulated board differs from the array: {first}")));
    }
    Ok((watch.spent.into_inner().unwrap_or_else(PoisonError::into_inner), comparison))
}

/// Notes what the line has spent whenever epochs are done.
struct Stopwatch<'a> {
    board: &'a AttachedBoard,
    spent: Mutex<Vec<Spent>>,
    progress: &'a dyn Progress,
}

impl Progress for Stopwatch<'_> {
    fn epoch(&self, engine: &str, _: usize, _: Option<f64>) {
        if engine == Rung::Board.as_str() {
            self.spent.lock().unwrap_or_else(PoisonError::into_inner).extend(self.board.spent());
        }
    }

    fn cancelled(&self) -> bool {
        self.progress.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Bound;

    #[test]
    fn the_table_is_read_and_its_names_exist() {
        for case in read().unwrap() {
            assert!(library::exists(&Path::new("programs").join(&case.program)), "{}", case.program);
            for run in case.runs {
                assert!(library::find_config(Path::new(&run.board)).is_ok(), "{}", run.board);
            }
        }
    }

    #[test]
    fn a_goal_is_reached_in_all_its_parts() {
        let system = System::streamed(100.0, Bound::Grid, 1_000_000, 50_000, 5);
        assert_eq!((system.samples_per_second, system.seconds), (10_000.0, 5.0));
        let goal = |samples_per_second, seconds| Goal { samples_per_second, seconds }.reached(&system);
        assert_eq!(goal(None, None), None);
        assert_eq!((goal(Some(9_000.0), None), goal(Some(9_000.0), Some(4.0))), (Some(true), Some(false)));
    }

    /// What somebody has measured goes before an estimate, which is of devices of which something has been published.
    #[test]
    fn a_measured_power_goes_before_an_estimate() {
        let energy = |config: &str, watts| {
            let mut project = Project::open(&Request { config: Some(config.into()), ..Request::default() }).unwrap();
            project.board.watts = watts;
            let store = Store { rows: 256, ..Store::default() };
            super::energy(&project, &project.config.machine, store, 1e6)
        };
        let measured = Energy { watts: 2.5, joules_per_sample: 2.5e-6, measured: true };
        assert_eq!(energy("ulx3s", Some(2.5)), Some(measured));
        assert_eq!(energy("zcu102", None), None);
        // More than at rest, and less than a board without a fan bears.
        let estimate = energy("ulx3s", None).unwrap();
        assert!(!estimate.measured && 0.311 < estimate.watts && estimate.watts < 2.5, "{estimate:?}");
        assert_eq!(estimate.joules_per_sample, estimate.watts / 1e6);
    }

    #[test]
    fn nearly_as_good_is_97_percent() {
        let of = |loss, accuracy| Metrics { loss, accuracy, ..Metrics::default() };
        assert!(
            is_near(&of(9.0, Some(0.97)), &of(0.0, Some(1.0))) && !is_near(&of(0.0, Some(0.96)), &of(0.0, Some(1.0)))
        );
        assert!(is_near(&of(1.03, None), &of(1.0, None)) && !is_near(&of(1.04, None), &of(1.0, None)));
    }
}
