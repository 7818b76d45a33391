//! `run`: train on a board through its serial port, with the array beside it; or run a function there on its records. The port `simulated` is
//! the Verilog of the board that `bitstream` would make, under Verilator.

use crate::arguments::{Entry, Format, Global, Ranks, Run};
use crate::commands::eval::{self, Elements};
use crate::commands::train;
use crate::interrupt;
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use crate::world;
use arch::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use sim::distance::{Distance, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workbench::config::Microcode;
use workbench::documents::Document;
use workbench::functions::is_function;
use workbench::functions::segmented::{OnBoard, SegmentedFunction};
use workbench::ranks::agree;
use workbench::report::figures;
use workbench::saturation::{self, Saturation, Unit};
use workbench::serial::{Address, AttachedBoard, BAUD, SIMULATED};
use workbench::simulated::{Facts, SimulatedLine};
use workbench::system;
use workbench::{Failure, Function, Project, Rung, documents};

/// What a function gave on a board.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FunctionRun {
    /// Records of the run.
    records: usize,
    /// Cycles of the run on the board, with those in which it waited for its line.
    cycles: u64,
    /// Words compared with fixed point.
    words_compared: u64,
    /// The first one that differs.
    first_difference: Option<String>,
    /// How far the results are from those of the golden model.
    distance_from_golden: Distance,
    /// Whether the words suffice.
    verdict: Verdict,
    /// Values that were clipped to the word.
    saturations: Vec<Saturation>,
    /// The results, record by record.
    #[schemars(with = "Vec<BTreeMap<String, Elements>>")]
    values: Vec<Map<String, Value>>,
}

/// Train or run, compare, print.
pub fn run(global: &Global, options: &Run, talk: &Talk) -> Result<(), Failure> {
    if options.train.engine != Rung::Array || options.train.stalls.is_some() {
        return Err(Failure::Usage("`run` uses the board: --engine and --stalls are for `train` and `sim`".to_owned()));
    }
    // What is wrong with the arguments is said before a port is opened; the config knows the rate of its board.
    let entry = Entry {
        function: options.function.clone(),
        stays: options.stays.clone(),
        shape: Vec::new(),
        limits: options.train.limits(),
    };
    let project = subject::project(global, options.train.program.as_deref(), &entry)?;
    let is_function = is_function(&project, options.train.data.is_some(), options.inputs.is_some())?;
    if is_function {
        let train = &options.train;
        subject::no_training(&train.plan, &train.file, &train.selection)?;
    } else {
        project.refuse_stays()?;
        options.train.data()?;
    }
    let baud = project.board.facts().and_then(|facts| facts.io.as_ref()).map(|io| io.baud);
    let baud = options.serial.baud.or(baud);
    if let Some(ranks) = options.train.ranks {
        if is_function {
            return Err(Failure::Usage("ranks share the batches of a training; a function has none".to_owned()));
        }
        return on_ranks(global, options, ranks, (project, baud), talk);
    }
    if options.serial.port == Path::new(SIMULATED) {
        if is_function {
            let says = "a board is simulated for trainings; `sim` runs functions on the Verilog of their grid";
            return Err(Failure::Usage(says.to_owned()));
        }
        let board = simulated(project, options, baud, 1, talk)?.remove(0);
        talk.say(format!("{}: a grid of {}", board.name(), board.machine()));
        return train::train_on(global, &options.train, &board, talk);
    }
    let board = open(options, options.serial.port.clone(), baud, talk)?;
    if !is_function {
        return train::train_on(global, &options.train, &board, talk);
    }
    // Ctrl-C while the board was waited for shows as a failure of the port.
    let interrupted = |failure| if interrupt::requested() { Failure::Interrupted } else { failure };
    function(global, options, project, &board, talk).map_err(interrupted)
}

/// The board behind a port.
fn open(options: &Run, port: PathBuf, baud: Option<u32>, talk: &Talk) -> Result<AttachedBoard, Failure> {
    let patience = Duration::from_secs_f64(options.serial.timeout);
    let address = Address { port, baud: baud.unwrap_or(BAUD), patience };
    interrupt::set_cooperative(true);
    let board = AttachedBoard::open(&address, interrupt::cancel());
    interrupt::set_cooperative(false);
    let board = board?;
    talk.say(format!("{}: a grid of {}", board.name(), board.machine()));
    if let Some(slow) = board.slow() {
        talk.say(format!("{}: {slow}", board.name()));
    }
    Ok(board)
}

/// A training whose ranks have a board each: of threads all of them, of processes the one with its number.
fn on_ranks(
    global: &Global,
    options: &Run,
    ranks: Ranks,
    (project, baud): (Project, Option<u32>),
    talk: &Talk,
) -> Result<(), Failure> {
    let list = options.serial.port.to_string_lossy().into_owned();
    let ports: Vec<&str> = list.split(',').collect();
    let enough = |ranks: usize| {
        let given = ports.len();
        let says = format!("{ranks} ranks need a port each, --port PORT,PORT,...; {given} given");
        if given == ranks { Ok(()) } else { Err(Failure::Usage(says)) }
    };
    match ranks {
        Ranks::Threads(count) => {
            enough(count)?;
            let boards = attach(project, options, &ports, (baud, count), talk)?;
            train::train_on_all(global, &options.train, &boards, talk)
        }
        Ranks::World => {
            let patience = Duration::from_secs_f64(options.train.rank_timeout);
            world::run(patience, talk, |all, talk| {
                let count = all.ranks();
                let own = enough(count)
                    .and_then(|()| attach(project, options, &ports[all.rank()..][..1], (baud, count), talk));
                train::train_in_world(global, &options.train, &agree(all.as_ref(), own)?[0], all, talk)
            })
        }
    }
}

/// Boards of ranks, of which there are so many.
fn attach(
    mut project: Project,
    options: &Run,
    ports: &[&str],
    (baud, ranks): (Option<u32>, usize),
    talk: &Talk,
) -> Result<Vec<AttachedBoard>, Failure> {
    project.divided = Some(ranks as u32);
    let count = ports.iter().filter(|&&port| port == SIMULATED).count();
    let simulated = if count > 0 { simulated(project, options, baud, count, talk)? } else { Vec::new() };
    let mut simulated = simulated.into_iter();
    let board = |&port: &&str| match port {
        SIMULATED => Ok(simulated.next().expect("one for each such port")),
        _ => open(options, PathBuf::from(port), baud, talk),
    };
    ports.iter().map(board).collect()
}

/// A function on all of its records, once.
fn function(
    global: &Global,
    options: &Run,
    mut project: Project,
    board: &AttachedBoard,
    talk: &Talk,
) -> Result<(), Failure> {
    project.is_program()?;
    project.adopt(board)?;
    let records = subject::records(options.inputs.as_deref())?;
    let (OnBoard { values, cycles, words, clipped }, accuracy) = if project.in_segments() {
        let function = SegmentedFunction::new(&project, records.as_ref(), talk)?;
        (function.run_on(board)?, function.accuracy(&project)?)
    } else {
        let function = Function::new(&project, records.as_ref(), talk)?;
        let outcome = function.run_on(board)?;
        let words = function.climb.compare_stream(&outcome).map_err(|difference| difference.to_string());
        let (values, clipped) = (function.values(&outcome), function.climb.clipped);
        (OnBoard { values, cycles: outcome.cycles, words, clipped }, function.accuracy)
    };
    let (words, difference) = match words {
        Ok(words) => (words, None),
        Err(difference) => (0, Some(format!("board differs from fixed: {difference}"))),
    };
    let differs = difference.clone().map(Failure::Mismatch);
    let saturations = Saturation::all(&project, &clipped, Unit::Record);
    let denied = Some(&saturations).filter(|_| options.train.deny_saturation);
    let verdict = &accuracy.verdict;
    let inaccurate = Some(verdict).filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict);
    let failed = differs.or_else(|| Saturation::denied(denied?)).or(inaccurate);
    let distance = &accuracy.distance;
    let warnings: Vec<Diagnostic> = accuracy.warnings().chain(saturation::warnings(&clipped, Unit::Record)).collect();
    if global.format == Format::Text {
        render::warnings(&project.source, &warnings, talk);
    }
    output::either(
        global.format,
        || {
            let shown =
                values.iter().enumerate().map(|(n, values)| format!("record {}\n{}", n + 1, eval::lines(values)));
            let (records, distance) = (values.len(), figures::distance(*distance));
            let summary = format!(
                "{records} records, {cycles} cycles; {words} words compared with fixed\n{distance}\n{verdict}\n"
            );
            shown.collect::<String>() + &summary
        },
        || {
            let ran = FunctionRun {
                records: values.len(),
                cycles,
                words_compared: words,
                first_difference: difference,
                distance_from_golden: *distance,
                verdict: verdict.clone(),
                saturations: saturations.clone(),
                values: values.clone(),
            };
            Document::with(ran, documents::messages(&project.source, &warnings)).failed(failed.as_ref())
        },
    )?;
    failed.map_or(Ok(()), Err)
}

/// So many of the board that a bitstream of this project would make of its device.
fn simulated(
    project: Project,
    options: &Run,
    baud: Option<u32>,
    count: usize,
    talk: &Talk,
) -> Result<Vec<AttachedBoard>, Failure> {
    let clock_hz = (project.board.clock_mhz * 1e6).round() as u64;
    let microcode = project.config.build.microcode;
    let training = train::prepared(project, &options.train, talk)?;
    let design = training.design(&training.ranges(&())?, &())?;
    design.check_room(&training.project)?;
    let machine = &design.images.machine;
    let store = training.project.store(machine, system::store_needs(&design))?;
    let (_, playing) = system::from_store(&training.project, &design, store)?;
    let link_size = system::link_size(&training.project);
    let facts = Facts { clock_hz, baud: baud.unwrap_or(BAUD), link_size, store, playing };
    let sdram = system::simulated_sdram(&training.project, store.in_sdram)?;
    let (mhz, baud) = (training.project.board.clock_mhz, facts.baud);
    talk.say(format!("simulates {machine} at {mhz} MHz behind {baud} bits per second, with {}", store.text()));
    let fixed = design.images.full.as_ref().filter(|_| microcode == Microcode::Rom);
    let board = |_| {
        let line = match fixed {
            Some(compiled) => SimulatedLine::build(&compiled.image, facts, sdram.as_ref()),
            None => SimulatedLine::build(machine, facts, sdram.as_ref()),
        };
        AttachedBoard::simulated(line?)
    };
    (0..count).map(board).collect()
}
