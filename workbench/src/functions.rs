//! Functions as stream programs: one record in, one record out, no training.
//!
//! ```text
//! records ──▶ sizes ──▶ program ──▶ golden ──▶ binary points ──▶ image ──▶ array, rtl
//! ```
//!
//! A program that updates no weights is a function. Its records come from `--inputs`: an object, or a list of them.

use crate::failure::Failure;
use crate::images;
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::records::Records;
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::NumberReport;
use compiler::language::parse;
use compiler::tensor::{self, Program, TensorId};
use serde_json::Value;
use sim::distance::Accuracy;
use sim::driver::Outcome;
use sim::eval::{Elements, read_inputs, with_shapes_of};
use sim::grid::{Grid, Stalls};
use sim::ladder::{Climb, Upper, Values};

/// Made-up records, where the user gives none.
const MADE_UP: usize = 16;

/// A function and its way to hardware.
#[derive(Debug, Clone)]
pub struct Function {
    /// In fixed point, its image, the words of its records, and what has to come out.
    pub climb: Climb,
    /// How its binary points were found.
    pub numbers: NumberReport,
    /// How far fixed point is from golden, over its records.
    pub accuracy: Accuracy,
    /// Where the records come from, for people.
    pub origin: String,
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
    /// What the text says.
    pub(crate) program: Program,
    /// The records, or made-up ones.
    records: Vec<Vec<(TensorId, Elements)>>,
    /// Where they come from, for people.
    origin: String,
}

impl Read {
    /// Read the program and its records.
    ///
    /// # Errors
    /// Whatever is wrong with them.
    pub(crate) fn new(project: &Project, records: Option<&Records>, progress: &dyn Progress) -> Result<Read, Failure> {
        project.is_program()?;
        let none = Records::default();
        let given = records.unwrap_or(&none);
        let reading = with_shapes_of(given.first(), project.options(&[]));
        let (program, warnings) = parse(project.language, &project.source.text, &reading)
            .map_err(|diagnostics| Failure::about(&project.source, diagnostics))?;
        progress.warnings(&project.source, &warnings);
        images::check_fractions(project, &program)?;
        let (records, origin) = if records.is_some() {
            let read =
                |record: &Value| read_inputs(&program, record).map_err(|errors| Failure::about(&given.source, errors));
            (given.all().iter().map(read).collect::<Result<Vec<_>, _>>()?, given.source.name.clone())
        } else {
            progress.note(&Note::MadeUpRecords);
            ((1..=MADE_UP).map(|seed| made_up(&program, seed)).collect(), "made-up records".to_owned())
        };
        Ok(Read { program, records, origin })
    }

    /// What of the program is wanted.
    pub(crate) fn options(&self) -> Options {
        Options { keep: Keep::Prediction { names: results(&self.program) }, batch: Batch::SINGLE }
    }

    /// On real numbers and in fixed point, with its records.
    ///
    /// # Errors
    /// It cannot be done in fixed point, or has no value for a record.
    pub(crate) fn upper(&self, project: &Project, progress: &dyn Progress) -> Result<Upper, Failure> {
        let records: Vec<Values> = self.records.iter().map(|record| named(&self.program, record)).collect();
        let upper = Upper::new(&self.program, &self.options(), &records[0], &records, &project.numbers())
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
        let read = Read::new(project, records, progress)?;
        let upper = read.upper(project, progress)?;
        let compiled = images::of_function(project, &upper.fixed)?;
        let (numbers, accuracy) = (upper.numbers.clone(), upper.accuracy());
        Ok(Function { climb: Climb::of(upper, compiled), numbers, accuracy, origin: read.origin })
    }

    /// Run the first `count` records, over and over, on a grid.
    ///
    /// # Errors
    /// The grid is stuck.
    pub fn run<G: Grid>(&self, grid: G, count: usize, stalls: Stalls) -> Result<Outcome, Failure> {
        self.climb.stream(grid, count, stalls).map_err(|stuck| Failure::Bug(stuck.to_string()))
    }
}

/// The results of a function: what it declares as such, or everything that it computes.
fn results(program: &Program) -> Vec<String> {
    let role = |id: &TensorId| &program.tensors[id.0].role;
    let names = |wanted: &dyn Fn(&tensor::Role) -> bool| -> Vec<String> {
        program.names.iter().filter(|(_, id)| wanted(role(id))).map(|(name, _)| name.clone()).collect()
    };
    let declared = names(&|role| matches!(role, tensor::Role::Output | tensor::Role::InOut));
    let given = |role: &tensor::Role| matches!(role, tensor::Role::Input | tensor::Role::Label | tensor::Role::State);
    if declared.is_empty() { names(&|role| !given(role)) } else { declared }
}

/// Values of a record by name; what is undefined is 0.
fn named(program: &Program, record: &[(TensorId, Elements)]) -> Values {
    let values = |elements: &Elements| elements.iter().map(|element| element.unwrap_or(0.0)).collect();
    record.iter().map(|(id, elements)| (program.tensors[id.0].name.clone(), values(elements))).collect()
}

/// A record of numbers between -2 and 2 that are the same everywhere.
fn made_up(program: &Program, seed: usize) -> Vec<(TensorId, Elements)> {
    let host = |role: &tensor::Role| {
        matches!(role, tensor::Role::Input | tensor::Role::Label | tensor::Role::InOut | tensor::Role::State)
    };
    let tensors = program.tensors.iter().enumerate().filter(|(_, tensor)| host(&tensor.role));
    let elements = |id: usize, count: u32| -> Elements {
        let value = |k: u32| ((k as usize + 1) * 7919 + (id + 1) * 104_729 + seed * 1_299_709) % 257;
        (0..count).map(|k| Some(value(k) as f64 / 64.0 - 2.0)).collect()
    };
    tensors.map(|(id, tensor)| (TensorId(id), elements(id, tensor.shape.iter().product()))).collect()
}
