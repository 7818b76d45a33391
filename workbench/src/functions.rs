//! Functions as stream programs: one record in, one record out, no training.
//!
//!     records ──▶ sizes ──▶ program ──▶ golden ──▶ binary points ──▶ image ──▶ array, rtl
//!
//! A program that updates no weights is a function. Its records come from `--inputs`: an object, or a list of them.

use crate::failure::Failure;
use crate::images;
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::records::Records;
use arch::Span;
use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::fixed::{self, NumberReport};
use compiler::language::parse;
use compiler::search::Compiled;
use compiler::tensor::{self, Program, TensorId};
use serde_json::Value;
use sim::driver::{Driver, Outcome, Run, Words};
use sim::eval::{Elements, read_inputs, with_shapes_of};
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::{Grid, Stalls};

/// Made-up records, where the user gives none.
const MADE_UP: usize = 16;

/// A function and its way to hardware.
pub struct Function {
    /// In fixed point.
    pub program: fixed::Program,
    /// How its binary points were found.
    pub numbers: NumberReport,
    /// The image.
    pub compiled: Compiled,
    /// The words that go in, record by record.
    pub records: Vec<Words>,
    /// The words that have to come out, record by record.
    pub expected: Vec<Words>,
    /// Clipped results by place.
    pub saturations: Vec<(Span, u64)>,
    /// Where the records come from, for people.
    pub origin: String,
}

/// Whether a program is to be treated as a function: it has nothing to train. A gradient program can be one if records are given,
/// and no data.
///
/// # Errors
/// The program is wrong in a way that sizes do not change.
pub fn is_function(project: &Project, has_data: bool, has_records: bool) -> Result<bool, Failure> {
    if !project.trains() {
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

    /// In fixed point, and how its binary points were found: by what the records make of it on real numbers.
    ///
    /// # Errors
    /// It cannot be done in fixed point, or has no value for a record.
    pub(crate) fn lower(
        &self,
        project: &Project,
        progress: &dyn Progress,
    ) -> Result<(fixed::Program, NumberReport), Failure> {
        let about = |diagnostics| Failure::about(&project.source, diagnostics);
        let canonical = canonicalise(&self.program, &self.options()).map_err(about)?;
        let mut golden = Golden::new(&canonical);
        for record in &self.records {
            for (name, values) in named(&self.program, record) {
                if let Some(id) = canonical.tensors.iter().position(|tensor| tensor.name == name) {
                    golden.set(TensorId(id), &values);
                }
            }
            golden.step().map_err(|diagnostic| about(vec![*diagnostic]))?;
        }
        let numbers = images::numbers(&project.config);
        let (words, report) = fixed::lower(&canonical, golden.ranges(), &numbers).map_err(about)?;
        progress.warnings(&project.source, &report.notes);
        Ok((words, report))
    }
}

impl Function {
    /// Everything from text and records to the image.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn new(project: &Project, records: Option<&Records>, progress: &dyn Progress) -> Result<Function, Failure> {
        let read = Read::new(project, records, progress)?;
        let (words, report) = read.lower(project, progress)?;
        let Read { program, records, origin } = read;
        let compiled = images::fitted(project, &words)?;
        let mut fixed = Fixed::new(&words);
        let (mut packed, mut expected) = (Vec::new(), Vec::new());
        let streamed = |fixed: &Fixed| -> Words {
            let words = |name: &str| fixed.tensor(name).map(|tensor| fixed.words(tensor).to_vec()).unwrap_or_default();
            compiled.image.tensors.iter().map(|tensor| words(&tensor.name)).collect()
        };
        for record in &records {
            for (name, values) in named(&program, record) {
                if let Some(tensor) = fixed.tensor(&name) {
                    fixed.set_real(tensor, &values);
                }
            }
            packed.push(streamed(&fixed));
            fixed.step();
            expected.push(streamed(&fixed));
        }
        let saturations = words.operations.iter().zip(fixed.saturations());
        let saturations = saturations.map(|(operation, &count)| (operation.origin.span(), count)).collect();
        Ok(Function { program: words, numbers: report, compiled, records: packed, expected, saturations, origin })
    }

    /// Run the first `count` records, over and over, on a grid.
    ///
    /// # Errors
    /// The grid is stuck.
    pub fn run<G: Grid>(&self, grid: G, count: usize, stalls: Stalls) -> Result<Outcome, Failure> {
        let records: Vec<Words> = self.records.iter().cycle().take(count).cloned().collect();
        let mut driver = Driver::new(grid, self.compiled.image.clone(), stalls);
        // Constants are loaded with the model.
        let model = self.compiled.image.entries.load_model.is_some().then_some(&self.records[0]);
        let run = Run { load_model: model, steps: &records, emit_model: false };
        driver.run(run).map_err(|stuck| Failure::Bug(stuck.to_string()))
    }

    /// Words compared, and the first one that is not as `fixed` says.
    pub fn compare(&self, outcome: &Outcome) -> (u64, Option<String>) {
        let mut compared = 0;
        for (number, (found, expected)) in outcome.steps.iter().zip(self.expected.iter().cycle()).enumerate() {
            let tensors = self.compiled.image.tensors.iter().zip(found).zip(expected);
            for ((tensor, found), expected) in tensors.filter(|((_, found), _)| !found.is_empty()) {
                let id = self.program.tensors.iter().position(|t| t.name == tensor.name).map(TensorId);
                let computed = id.map(|id| sim::train::words::written(&self.program, id)).unwrap_or_default();
                for (element, (found, expected)) in found.iter().zip(expected).enumerate() {
                    if !computed.get(element).copied().unwrap_or(true) {
                        continue;
                    }
                    compared += 1;
                    if found != expected {
                        let name = &tensor.name;
                        return (
                            compared,
                            Some(format!("record {number}: {name}[{element}] is {found}, not {expected}")),
                        );
                    }
                }
            }
        }
        (compared, None)
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
fn named(program: &Program, record: &[(TensorId, Elements)]) -> Vec<(String, Vec<f64>)> {
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
