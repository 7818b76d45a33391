//! Functions as stream programs: one record in, one record out, no training.
//!
//! ```text
//! records ──▶ sizes ──▶ program ──▶ golden ──▶ binary points ──▶ image ──▶ array, rtl
//!
//! [{"x": [1, 2], "W": [[3, 4]]},      the first record gives what is resident, for all of them
//!  {"x": [5, 6]}]                     later ones give the rest
//! ```
//!
//! A program that updates no weights is a function. Its records come from `--inputs`: an object, or a list of them.

pub mod deploy;
mod expected;
pub(crate) mod rows;
pub mod score;
pub mod segmented;

use crate::config::RecordsPerStep;
use crate::failure::Failure;
use crate::images::{self, too_large};
use crate::imported::Imported;
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::records::Records;
use crate::records::calibration::{self, Calibration};
use crate::samples;
use crate::serial::AttachedBoard;
use arch::number::to_f64;
use arch::{Code, Diagnostic, Machine};
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::{self, NumberReport};
use compiler::search::Compiled;
use compiler::tensor::{Program, Role, TensorId};
use serde_json::{Map, Value};
use sim::clipped::Clipped;
use sim::distance::Accuracy;
use sim::driver::{Outcome, Words};
use sim::eval::{Elements, read_more_inputs, with_shapes_of, write_elements};
use sim::grid::{Grid, Stalls};
use sim::ladder::{Climb, NamedValues, Upper};
use sim::pace::Pace;
use sim::train::words::written;
use std::collections::BTreeMap;
use std::iter;

/// Made-up records, where the user gives none.
const MADE_UP: u64 = 16;

/// Points of all loops that made-up records go over at most, if there is more than one.
const MADE_UP_WORK: u64 = 1 << 24;

/// A function and its way to hardware.
#[derive(Debug, Clone)]
pub struct Function {
    /// In fixed point, its image, the words of its records, and what has to come out.
    pub climb: Climb,
    /// How its binary points were found.
    pub numbers: NumberReport,
    /// How far fixed point is from golden, over its records.
    pub accuracy: Accuracy,
    /// W-CALIBRATION: few records decided its binary points.
    pub calibration: Option<Diagnostic>,
    /// Whether these were others than its records.
    pub calibrated: bool,
    /// Where the records come from, for people.
    pub origin: String,
    /// Whether they are made up.
    pub made_up: bool,
    /// What the text says, before the first pass.
    pub parsed: Program,
    /// What the front end warned of.
    pub warnings: Vec<Diagnostic>,
    /// Records that its binary points were chosen from.
    decided: Vec<NamedValues>,
}

/// Whether a program is to be treated as a function: it has nothing to train. A gradient program can be one if records are given,
/// and no data.
///
/// # Errors
/// The program is wrong in a way that sizes do not change.
pub fn is_function(project: &Project, has_data: bool, has_records: bool) -> Result<bool, Failure> {
    if !project.trains()? {
        return Ok(true);
    }
    if has_data || !has_records {
        return Ok(false);
    }
    let (program, _) = project.parse_quietly(&[])?;
    Ok(program.descents.is_empty() && program.updates.is_empty())
}

/// A function with the sizes of its records, before the first pass.
pub(crate) struct Read {
    /// What the text says; what is resident is a state.
    pub(crate) program: Program,
    /// What the front end warned of.
    pub(crate) warnings: Vec<Diagnostic>,
    /// What is resident, and the records without it, from the user or made up.
    given: Given,
    /// Where they come from, for people.
    pub(crate) origin: String,
    /// Whether they are made up.
    pub(crate) is_made_up: bool,
    /// Records that binary points are chosen from, if these are others.
    calibration: Option<Calibration>,
}

impl Read {
    /// Read the program and its records.
    ///
    /// # Errors
    /// Whatever is wrong with them.
    pub(crate) fn new(project: &Project, records: Option<&Records>, progress: &dyn Progress) -> Result<Read, Failure> {
        project.is_program()?;
        let none = Records::default();
        let reading = with_shapes_of(records.unwrap_or(&none).first(), project.options(&[]));
        let (program, warnings) = project.read(&reading, records.map(Records::first))?;
        progress.warnings(&project.source, &warnings);
        let program = project.with_stays(program)?;
        images::check_fractions(project, &program)?;
        let calibration = calibration::read(project, &program)?;
        let is_made_up = records.is_none() && calibration.is_none();
        let (given, origin) = if let Some(records) = records {
            check_deciding(project, records)?;
            (Given::read(project, &program, records)?, records.source.name.clone())
        } else {
            let Given { resident, records } = Given::made_up(&program);
            if is_made_up || !resident.is_empty() {
                progress.note(&Note::MadeUpRecords);
            }
            let known = calibration.as_ref().map(|known| (known.records.clone(), "the calibration".to_owned()));
            let (records, origin) = known.unwrap_or_else(|| (records, "made-up records".to_owned()));
            (Given { resident, records }, origin)
        };
        Ok(Read { program, warnings, given, origin, is_made_up, calibration })
    }

    /// Which results are wanted.
    pub(crate) fn options(&self) -> Options {
        inference_options(&self.program)
    }

    /// W-CALIBRATION, if few records decided its binary points, or what was clipped shows that others should have.
    pub(crate) fn doubt(&self, clipped: &[Clipped]) -> Option<Diagnostic> {
        let outside = clipped.iter().filter(|clipped| clipped.computed.is_none());
        let outside: u64 = outside.map(|clipped| clipped.count.values).sum();
        match &self.calibration {
            Some(calibration) => calibration::warning(calibration.rows, Some(outside)),
            None if self.is_made_up => None,
            None => calibration::warning(rows(&self.program, self.given.records.len()), None),
        }
    }

    /// On real numbers and in fixed point, with its records.
    ///
    /// # Errors
    /// It cannot be done in fixed point, or has no value for a record.
    pub(crate) fn upper(&self, project: &Project, progress: &dyn Progress) -> Result<Upper, Failure> {
        images::check_elements(project, &self.program)?;
        project.check_size(&self.program)?;
        let Given { resident, records } = &self.given;
        let steps = (records.as_slice(), self.calibration.as_ref().map(|calibration| calibration.records.as_slice()));
        let upper = Upper::calibrated(&self.program, &self.options(), resident, steps, &project.numbers())
            .map_err(|diagnostics| Failure::about(&project.source, diagnostics))?;
        progress.warnings(&project.source, &upper.numbers.notes);
        Ok(upper)
    }
}

impl Function {
    /// Everything from text and records to the image.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn new(project: &Project, records: Option<&Records>, progress: &dyn Progress) -> Result<Function, Failure> {
        Function::of(project, &Read::new(project, records, progress)?, progress)
    }

    /// The same of a function with the sizes of its records.
    ///
    /// # Errors
    /// It cannot be done in fixed point or on the machine.
    fn of(project: &Project, read: &Read, progress: &dyn Progress) -> Result<Function, Failure> {
        let upper = read.upper(project, progress)?;
        let (step, compiled) = step(project, &upper.fixed)?;
        let about = |wrong: Box<Diagnostic>| Failure::about(&project.source, vec![*wrong]);
        let (numbers, accuracy) = (upper.numbers.clone(), upper.accuracy().map_err(about)?);
        let Read { program: parsed, warnings, given, origin, is_made_up, calibration: _ } = read;
        let climb = Climb::of_records(upper, step, compiled);
        let calibration = read.doubt(&climb.clipped);
        Ok(Function {
            climb,
            numbers,
            accuracy,
            calibration,
            calibrated: read.calibration.is_some(),
            origin: origin.clone(),
            made_up: *is_made_up,
            parsed: parsed.clone(),
            warnings: warnings.clone(),
            decided: read.calibration.as_ref().map_or(&given.records, |calibration| &calibration.records).clone(),
        })
    }

    /// Cycles per record, and what cannot be beaten.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn pace(&self) -> Result<Pace, Failure> {
        let Climb { step, per_step, .. } = &self.climb;
        Pace::of(step, self.climb.image(), *per_step as u32).map_err(|stuck| Failure::Bug(stuck.to_string()))
    }

    /// Run the first `count` records, over and over, on a grid.
    ///
    /// # Errors
    /// The grid is stuck.
    pub fn run<G: Grid>(&self, grid: G, count: usize, stalls: Stalls) -> Result<Outcome, Failure> {
        self.climb.stream(grid, count, stalls).map_err(|stuck| Failure::Bug(stuck.to_string()))
    }
}

impl Function {
    /// Which results are wanted.
    pub(crate) fn options(&self) -> Options {
        inference_options(&self.parsed)
    }

    /// Extents of what the program names, as its text has them; row by row the elements are those of the words.
    pub fn shapes(&self) -> BTreeMap<String, Vec<u32>> {
        shapes(&self.parsed)
    }

    /// The same of the image, which has the records of a step in front.
    pub(crate) fn shapes_of_step(&self) -> BTreeMap<String, Vec<u32>> {
        shapes_of_step(&self.parsed, &self.climb.fixed, self.climb.per_step as u32)
    }

    /// Run each record once on a board, whose machine the image was made for.
    ///
    /// # Errors
    /// Another program is part of the board, its line fails, the grid is stuck.
    pub fn run_on(&self, board: &AttachedBoard) -> Result<Outcome, Failure> {
        board.check_program(self.climb.image())?;
        let outcome = self.climb.stream(board.grid(), self.climb.records(), Stalls::none());
        outcome.map_err(|stuck| board.failure().map_or_else(|| Failure::Bug(stuck.to_string()), Failure::File))
    }

    /// Results of a run as JSON, record by record, by name; what the program never computes is undefined.
    pub fn values(&self, outcome: &Outcome) -> Vec<Map<String, Value>> {
        let (program, image) = (&self.climb.fixed, self.climb.image());
        let results = Results::of(program, self.shapes());
        let streamed = |id: TensorId| image.tensors.iter().position(|sent| sent.name == program.tensors[id.0].name);
        outcome.steps.iter().map(|step: &Words| results.values(&|id| Some(step[streamed(id)?].as_slice()))).collect()
    }
}

impl Function {
    /// Refuse what the board of the project does not hold, with a grid that it does.
    ///
    /// # Errors
    /// It does not fit.
    pub fn check_room(&self, project: &Project) -> Result<(), Failure> {
        let (hardware, program) = (too_large::hardware(project, self.climb.image()), &self.climb.step);
        too_large::check(project, hardware, (&[program], &images::spec_of_function(project, program)), |_| None)
    }

    /// A smaller grid, if that of the project leaves place and route no room on its board.
    pub fn routable(&self, project: &Project) -> Option<Machine> {
        let (hardware, program) = (too_large::hardware(project, self.climb.image()), &self.climb.step);
        too_large::routable(project, hardware, (&[program], &images::spec_of_function(project, program)))
    }
}

/// The program of a step, how many records it computes, and its image.
///
/// # Errors
/// The machine cannot do it; records follow from one another, and more than one are asked for.
fn step(project: &Project, record: &fixed::Program) -> Result<((fixed::Program, usize), Compiled), Failure> {
    let of = |records: u32| {
        let step = fixed::of_records(record, records);
        let compiled = images::of_function(project, &step)?;
        Ok(((step, records as usize), compiled))
    };
    let state = fixed::state_between_records(record);
    match (project.records_per_step(), state) {
        (RecordsPerStep::Count(1), _) | (RecordsPerStep::Fastest(_), Some(_)) => of(1),
        (RecordsPerStep::Count(records), None) => of(records),
        (RecordsPerStep::Count(records), Some(state)) => {
            let state = &record.tensors[state.0];
            let message = format!("{records} records per step: `{}` passes from record to record", state.name);
            let diagnostic = Diagnostic::new(Code::Config, state.span, message);
            let help = "a stream with a state has one record per step; leave `records` out";
            Err(Failure::about(&project.source, vec![diagnostic.with_help(help)]))
        }
        (RecordsPerStep::Fastest(_), None) => {
            let alone = of(1)?;
            let cycles = |((step, records), compiled): &((fixed::Program, usize), Compiled)| -> Result<f64, Failure> {
                let pace = Pace::of(step, &compiled.image, *records as u32);
                pace.map(|pace| pace.cycles_per_sample).map_err(|stuck| Failure::Bug(stuck.to_string()))
            };
            // One for each row, or for as many as fit.
            let rows = alone.1.image.machine.pus();
            let sizes = iter::successors(Some(rows), |rows| Some(rows / 2)).take_while(|&rows| rows > 1);
            let Some(together) = sizes.map(of).find_map(Result::ok) else { return Ok(alone) };
            Ok(if cycles(&together)? < cycles(&alone)? { together } else { alone })
        }
    }
}

/// The results of a record in fixed point.
struct Results<'a> {
    program: &'a fixed::Program,
    /// Extents of names, as the text has them.
    shapes: BTreeMap<String, Vec<u32>>,
    /// Names, tensors, and which elements are ever computed.
    all: Vec<(&'a String, TensorId, Vec<bool>)>,
}

impl Results<'_> {
    fn of(program: &fixed::Program, shapes: BTreeMap<String, Vec<u32>>) -> Results<'_> {
        let results = program.names.iter().filter(|(_, id)| program.tensors[id.0].role == fixed::Role::Output);
        Results { program, shapes, all: results.map(|(name, id)| (name, *id, written(program, *id))).collect() }
    }

    /// As JSON, by name, of the words of each tensor that is sent; what is never computed is undefined.
    fn values<'w>(&self, words: &dyn Fn(TensorId) -> Option<&'w [i64]>) -> Map<String, Value> {
        let value = |(name, id, written): &(&String, TensorId, Vec<bool>)| {
            let tensor = &self.program.tensors[id.0];
            let words = words(*id)?.iter().zip(written);
            let elements: Elements =
                words.map(|(&word, written)| written.then(|| to_f64(word, tensor.fraction))).collect();
            let shape = self.shapes.get(*name).unwrap_or(&tensor.shape);
            Some(((*name).clone(), write_elements(&elements, shape)))
        };
        self.all.iter().filter_map(value).collect()
    }
}

/// Extents of what a program names.
fn shapes(parsed: &Program) -> BTreeMap<String, Vec<u32>> {
    let tensors = &parsed.tensors;
    let of_tensors = tensors.iter().map(|tensor| (tensor.name.clone(), tensor.shape.clone()));
    let of_names = parsed.names.iter().map(|(name, id)| (name.clone(), tensors[id.0].shape.clone()));
    of_tensors.chain(of_names).collect()
}

/// The same of a step of some records, which are in front; `record` is one in fixed point.
fn shapes_of_step(parsed: &Program, record: &fixed::Program, per_step: u32) -> BTreeMap<String, Vec<u32>> {
    let mut shapes = shapes(parsed);
    let own = record.tensors.iter().zip(fixed::of_record(record)).filter(|(_, own)| *own && per_step > 1);
    for (tensor, _) in own {
        if let Some(shape) = shapes.get_mut(&tensor.name) {
            shape.insert(0, per_step);
        }
    }
    shapes
}

fn inference_options(program: &Program) -> Options {
    let states = program.updates.iter().map(|update| program.tensors[update.state.0].name.clone()).collect();
    Options { keep: Keep::Prediction { names: results(program), states }, batch: Batch::SINGLE }
}

/// The results of a function: what it declares as such, or everything that it computes.
fn results(program: &Program) -> Vec<String> {
    let role = |id: &TensorId| &program.tensors[id.0].role;
    let names = |wanted: &dyn Fn(&Role) -> bool| -> Vec<String> {
        program.names.iter().filter(|(_, id)| wanted(role(id))).map(|(name, _)| name.clone()).collect()
    };
    let declared = names(&|role| matches!(role, Role::Output | Role::InOut));
    let given = |role: &Role| matches!(role, Role::Input | Role::Label | Role::State);
    if declared.is_empty() { names(&|role| !given(role)) } else { declared }
}

/// Values that a function is given.
struct Given {
    /// What stays.
    resident: NamedValues,
    /// What changes, record by record.
    records: Vec<NamedValues>,
}

impl Given {
    /// Those of the user: the first record gives what is resident.
    ///
    /// # Errors
    /// A record does not suit the program, or gives something that is resident another value than the first one.
    fn read(project: &Project, program: &Program, records: &Records) -> Result<Given, Failure> {
        let about = |diagnostics| Failure::about(&project.source, diagnostics);
        let (resident, states) = (resident(program), states(program));
        let mut first: Vec<(TensorId, Elements)> = Vec::new();
        let mut given = Given { resident: NamedValues::new(), records: Vec::new() };
        for (number, record) in records.all().iter().enumerate() {
            let known = if number == 0 { &states } else { &resident };
            let read = read_more_inputs(program, record, known);
            let (stays, changes): (Vec<_>, Vec<_>) =
                read.map_err(about)?.into_iter().partition(|(id, _)| resident.contains(id));
            if number == 0 {
                given.resident = zeros(program, &states);
                given.resident.extend(named(program, &stays));
                first = stays;
            } else if let Some((id, _)) = stays.iter().find(|other| !first.contains(other)) {
                return Err(changed(records, number, &program.tensors[id.0].name));
            }
            given.records.push(named(program, &changes));
        }
        Ok(given)
    }

    /// Numbers between -2 and 2 that are the same everywhere.
    fn made_up(program: &Program) -> Given {
        let values = |seed: usize, wanted: &dyn Fn(&Role) -> bool| -> NamedValues {
            let tensors = program.tensors.iter().enumerate().filter(|(_, tensor)| wanted(&tensor.role));
            let value = |id: usize, k: usize| ((k + 1) * 7919 + (id + 1) * 104_729 + seed * 1_299_709) % 257;
            let elements =
                |id: usize, count: u32| (0..count as usize).map(|k| value(id, k) as f64 / 64.0 - 2.0).collect();
            tensors.map(|(id, tensor)| (tensor.name.clone(), elements(id, tensor.shape.iter().product()))).collect()
        };
        let changes = |role: &Role| matches!(role, Role::Input | Role::Label | Role::InOut);
        Given {
            resident: values(1, &|role| *role == Role::State),
            records: (1..=made_up(samples::work(program))).map(|seed| values(seed, &changes)).collect(),
        }
    }
}

/// How many records are made up for so many points of all loops: fewer where each takes long.
fn made_up(work: u64) -> usize {
    (MADE_UP_WORK / work.max(1)).clamp(1, MADE_UP) as usize
}

/// Rows of so many records: those of a record are counted by the first dimension of what it gives.
fn rows(program: &Program, records: usize) -> usize {
    let given = program.tensors.iter().filter(|tensor| matches!(tensor.role, Role::Input | Role::InOut));
    let rows = given.filter(|tensor| tensor.shape.len() > 1).map(|tensor| tensor.shape[0] as usize);
    records * rows.max().unwrap_or(1)
}

/// What stays in the grid.
fn resident(program: &Program) -> Vec<TensorId> {
    let tensors = program.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == Role::State);
    tensors.map(|(id, _)| TensorId(id)).collect()
}

/// The state of a stream: it has a value before the first record in any case.
fn states(program: &Program) -> Vec<TensorId> {
    program.updates.iter().map(|update| update.state).collect()
}

/// The first values of a state that no record gives.
fn zeros(program: &Program, states: &[TensorId]) -> NamedValues {
    let tensors = states.iter().map(|id| &program.tensors[id.0]);
    tensors.map(|tensor| (tensor.name.clone(), vec![0.0; tensor.shape.iter().product::<u32>() as usize])).collect()
}

/// Refuse records with other values than the first one's where these decide sizes.
fn check_deciding(project: &Project, records: &Records) -> Result<(), Failure> {
    let names = project.imported().map_or_else(Vec::new, Imported::deciding);
    for (number, record) in records.all().iter().enumerate().skip(1) {
        let other = |name: &&String| record.get(name.as_str()) != records.first().get(name.as_str());
        if let Some(name) = names.iter().find(other) {
            let message = format!("record {} gives `{name}` another value, which decides sizes", number + 1);
            let help = "the program is read with the values of the first record; give the others to a run of their own";
            return Err(Failure::about(&records.source, vec![Diagnostic::global(Code::Data, message).with_help(help)]));
        }
    }
    Ok(())
}

/// A record that gives something resident a new value, at its place.
fn changed(records: &Records, record: usize, name: &str) -> Failure {
    let places = records.places();
    let place = |record: usize| places.iter().find(|place| place.record == record && place.name == name);
    let message = format!("record {} gives `{name}` another value, which is resident: it is loaded once", record + 1);
    let span = place(record).map(|place| place.span).unwrap_or_default();
    let diagnostic = Diagnostic::new(Code::Data, span, message).with_label("another value than in the first record");
    let diagnostic = match place(0) {
        Some(first) => diagnostic.with_note(first.span, "loaded with this value"),
        None => diagnostic,
    };
    let help = format!("leave it out after the first record, or `{name}` out of what is resident");
    Failure::about(&records.source, vec![diagnostic.with_help(help)])
}

/// Values of a record by name; what is undefined is 0.
fn named(program: &Program, record: &[(TensorId, Elements)]) -> NamedValues {
    let values = |elements: &Elements| elements.iter().map(|element| element.unwrap_or(0.0)).collect();
    record.iter().map(|(id, elements)| (program.tensors[id.0].name.clone(), values(elements))).collect()
}
