//! A function, such as an imported model, scored on the rows of a table, on any rung.
//!
//! ```text
//! table ──▶ records (a batch each) ──▶ golden, fixed, array or rtl ──▶ a result per row ──┐
//!      └──▶ targets, by the names of the model's classes ─────────────────────────────────┴─▶ accuracy, confusion, or R²
//! ```
//!
//! | result | target | score |
//! |---|---|---|
//! | several numbers per row | one column | classes: the largest one is the class |
//! | an integer per row | one column | classes: the integer is the label |
//! | one number per row, all between 0 and 1 on golden | two values, 0 and 1 or texts | classes: the chance of the second |
//! | any other | as many columns as numbers | numbers |

pub use super::expected::Score;
use super::expected::{Expected, feature_columns, target_columns};
use super::{Given, Read, results, step, zeros};
use crate::engines::Rung;
use crate::failure::Failure;
use crate::images;
use crate::imported::Imported;
use crate::progress::Progress;
use crate::project::Project;
use crate::records::calibration;
use crate::samples::{about_table, read_table};
use crate::simulators::Simulator;
use arch::number::to_f64;
use arch::{Code, Diagnostic};
use compiler::fixed;
use compiler::tensor::{Element, Program, Role, TensorId};
use schemars::JsonSchema;
use serde::Serialize;
use sim::array::Array;
use sim::data::file::Reading;
use sim::data::table::Table;
use sim::distance::{Accuracy, Verdict};
use sim::driver::Outcome;
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, Upper, Values};
use sim::train::settings::Selection;
use std::path::Path;

/// What a table says about a function.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Scored {
    /// The engine.
    pub engine: &'static str,
    /// The result that is scored.
    pub result: String,
    /// Rows.
    pub rows: usize,
    /// Names of the classes, in the order of their scores; empty where results are numbers.
    pub classes: Vec<String>,
    /// The score.
    pub score: Score,
    /// That of the golden model.
    pub golden: Score,
    /// Whether the words suffice; of a rung below golden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What is told of the words.
    #[serde(skip)]
    pub warnings: Vec<Diagnostic>,
}

/// A table, and what of it is used.
pub struct Rows<'a> {
    /// The file.
    pub path: &'a Path,
    /// How it is read.
    pub reading: Reading,
    /// Its columns.
    pub selection: Selection,
}

impl Scored {
    /// Score the function of `project`.
    ///
    /// # Errors
    /// The table does not suit the program; what the rung cannot compute; rungs that should agree differ.
    pub fn new(project: &Project, rows: &Rows<'_>, rung: Rung, progress: &dyn Progress) -> Result<Scored, Failure> {
        let tabled = Tabled::new(project, rows, &everything, progress)?;
        let of_golden = tabled.score(&tabled.golden);
        let scored = |score: Score, accuracy: Option<Accuracy>| Scored {
            engine: rung.as_str(),
            result: tabled.name.clone(),
            rows: tabled.rows,
            classes: tabled.expected.names(),
            score,
            golden: of_golden.clone(),
            warnings: accuracy.iter().flat_map(Accuracy::warnings).collect(),
            verdict: accuracy.map(|accuracy| accuracy.verdict),
        };
        if rung == Rung::Golden {
            return Ok(scored(of_golden.clone(), None));
        }
        let (upper, _) = tabled.read.upper(project, progress)?;
        let accuracy = upper.accuracy().map_err(|wrong| Failure::about(&project.source, vec![*wrong]))?;
        let values = if rung == Rung::Fixed {
            tabled.on_fixed(&upper.fixed)?
        } else {
            below(project, upper, &tabled, rung, progress)?
        };
        Ok(scored(tabled.score(&values), Some(accuracy)))
    }
}

/// Rows of the calibration, if that is one of them, and rows that are scored.
pub(super) type Parts = (Option<Vec<usize>>, Vec<usize>);

/// All rows are scored.
fn everything(table: &Table, _: &[usize]) -> Parts {
    (None, (0..table.rows.len()).collect())
}

/// A function beside a table.
pub(super) struct Tabled {
    /// The function, with the rows that are scored as its records.
    pub(super) read: Read,
    /// The result that is scored.
    pub(super) name: String,
    /// Rows that are scored.
    pub(super) rows: usize,
    at_once: usize,
    /// What they should give.
    pub(super) expected: Expected,
    /// What they give on golden, record by record.
    pub(super) golden: Vec<Vec<f64>>,
    /// How its integers stand for numbers, of a `TFLite` model.
    scheme: Option<tflite::Scheme>,
}

impl Tabled {
    /// Read both; `parts` divides the rows, whose targets are in some columns.
    ///
    /// # Errors
    /// The table does not suit the program; golden has no value for a record.
    pub(super) fn new(
        project: &Project,
        rows: &Rows<'_>,
        parts: &dyn Fn(&Table, &[usize]) -> Parts,
        progress: &dyn Progress,
    ) -> Result<Tabled, Failure> {
        let (program, warnings) = stateless(project, progress)?;
        let table = read_table(rows.path, &rows.reading)?;
        let about = |wrong| about_table(rows.path, &table, wrong);
        let targets = target_columns(&table, &rows.selection).map_err(|wrong| about(vec![wrong]))?;
        let features = feature_columns(&table, &rows.selection, &targets).map_err(|wrong| about(vec![wrong]))?;
        let (first, scored) = parts(&table, &targets);
        let [given, schemes] = project.imported().map(Imported::schemes).unwrap_or_default();
        let mut values = calibration::Rows::new(rows.path, &table, &program, features)?;
        for (number, scheme) in given.iter().enumerate() {
            if let Some(scheme) = scheme {
                values.map(number, |value| scheme.integer(value));
            }
        }
        let calibration = first.map(|first| values.records(rows.path, &first)).transpose()?;
        let records = values.records(rows.path, &scored)?;
        let (number, name, id) = predicted(&program).map_err(|wrong| about(vec![wrong]))?;
        let at_once = records.at_once;
        if at_once > 1 && program.tensors[id.0].shape.first() != Some(&(at_once as u32)) {
            let message = format!("a record takes {at_once} rows, and `{name}` has no row for each of them");
            return Err(about(vec![Diagnostic::global(Code::Data, message)]));
        }
        let given = Given { resident: zeros(&program, &[]), records: records.records };
        let origin = rows.path.display().to_string();
        let read = Read { program, warnings, given, origin, is_made_up: false, calibration };
        let golden = on_golden(project, &read, id)?;
        let scheme = schemes.get(number).copied().flatten();
        let is_label = scheme.is_none() && is_label(&read.program, id);
        let results = by_row(&golden, at_once, records.rows, scheme);
        let expected = Expected::new(project, &table, &targets, &results, is_label).map_err(about)?.of_rows(&scored);
        Ok(Tabled { read, name, rows: records.rows, at_once, expected, golden, scheme })
    }

    /// How good the values of the result are, which are given record by record.
    pub(super) fn score(&self, values: &[Vec<f64>]) -> Score {
        self.expected.score(&by_row(values, self.at_once, self.rows, self.scheme))
    }

    /// The values of the result in fixed point.
    ///
    /// # Errors
    /// It is lost there.
    pub(super) fn on_fixed(&self, words: &fixed::Program) -> Result<Vec<Vec<f64>>, Failure> {
        let id = self.in_words(words)?;
        let mut fixed = Fixed::new(words);
        let each = |record: &Values| {
            for (name, given) in record {
                if let Some(tensor) = fixed.tensor(name) {
                    fixed.set_real(tensor, given);
                }
            }
            fixed.step();
            fixed.values(id)
        };
        Ok(self.read.given.records.iter().map(each).collect())
    }

    /// The values of the result in what a grid has sent.
    ///
    /// # Errors
    /// It is lost there.
    pub(super) fn received(&self, climb: &Climb, outcome: &Outcome) -> Result<Vec<Vec<f64>>, Failure> {
        let tensor = &climb.fixed.tensors[self.in_words(&climb.fixed)?.0];
        let streamed = climb.image().tensors.iter().position(|streamed| streamed.name == tensor.name);
        // A result that is constant is not sent.
        let Some(streamed) = streamed else { return self.on_fixed(&climb.fixed) };
        let values = |step: &Vec<Vec<i64>>| {
            step[streamed].iter().enumerate().map(|(n, &word)| to_f64(word, tensor.fraction_of(n))).collect()
        };
        Ok(outcome.steps.iter().map(values).collect())
    }

    fn in_words(&self, words: &fixed::Program) -> Result<TensorId, Failure> {
        let found = words.names.iter().rev().find(|(known, _)| *known == self.name);
        found.map(|(_, id)| *id).ok_or_else(|| Failure::Bug(format!("`{}` is lost in fixed point", self.name)))
    }
}

/// The program, which keeps nothing from record to record, and what the front end warned of.
fn stateless(project: &Project, progress: &dyn Progress) -> Result<(Program, Vec<Diagnostic>), Failure> {
    project.is_program()?;
    let (program, warnings) = project.read(&project.options(&[]), None)?;
    progress.warnings(&project.source, &warnings);
    let program = project.with_stays(program)?;
    images::check_fractions(project, &program)?;
    if program.tensors.iter().any(|tensor| tensor.role == Role::State) {
        let message =
            "a table has no values for what stays in the grid: score a function without resident inputs and states";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok((program, warnings))
}

/// Values row by row of those of records, which take so many rows at once, the last one perhaps rows that fill it up.
fn by_row(values: &[Vec<f64>], at_once: usize, rows: usize, scheme: Option<tflite::Scheme>) -> Vec<Vec<f64>> {
    let real = |&value: &f64| scheme.map_or(value, |scheme| scheme.real(value));
    let each = values.iter().flat_map(|all| all.chunks((all.len() / at_once).max(1)));
    each.map(|row| row.iter().map(real).collect()).take(rows).collect()
}

/// The result that is scored, its number among the results and its name: scores of classes before labels, in the order of the program.
fn predicted(program: &Program) -> Result<(usize, String, TensorId), Diagnostic> {
    let found = |name: &String| program.names.iter().rev().find(|(known, _)| known == name).map(|(_, id)| *id);
    let named = results(program).into_iter().enumerate();
    let all: Vec<(usize, String, TensorId)> =
        named.filter_map(|(number, name)| found(&name).map(|id| (number, name, id))).collect();
    let scores = all.iter().find(|(_, _, id)| !is_label(program, *id));
    let none = || Diagnostic::global(Code::Data, "the program has no result that a table could be compared with");
    scores.or(all.first()).cloned().ok_or_else(none)
}

/// Whether a result is a whole number for each row.
fn is_label(program: &Program, id: TensorId) -> bool {
    let tensor = &program.tensors[id.0];
    matches!(tensor.element, Element::Int { .. }) && tensor.shape.iter().skip(1).all(|&extent| extent == 1)
}

/// The values of a result, record by record.
fn on_golden(project: &Project, read: &Read, id: TensorId) -> Result<Vec<Vec<f64>>, Failure> {
    let mut golden = Golden::new(&read.program);
    let mut values = Vec::new();
    for record in &read.given.records {
        for (name, given) in record {
            if let Some(tensor) = read.program.tensors.iter().position(|tensor| tensor.name == *name) {
                golden.set(TensorId(tensor), given);
            }
        }
        golden.step().map_err(|wrong| Failure::about(&project.source, vec![*wrong]))?;
        values.push(golden.value(id).map(|value| value.unwrap_or(f64::NAN)).collect());
    }
    Ok(values)
}

/// The same on a grid: all records in one run, whose words are compared with those of fixed point.
fn below(
    project: &Project,
    upper: Upper,
    tabled: &Tabled,
    rung: Rung,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f64>>, Failure> {
    let (step, compiled) = step(project, &upper.fixed)?;
    let climb = Climb::of_records(upper, step, compiled);
    let machine = &climb.image().machine;
    let outcome = match rung {
        Rung::Rtl => {
            let simulator = Simulator::build(machine, progress)?;
            climb.stream(simulator.device(machine), climb.records(), Stalls::none())
        }
        _ => climb.stream(Array::new(machine), climb.records(), Stalls::none()),
    };
    let outcome = outcome.map_err(|stuck| Failure::Bug(stuck.to_string()))?;
    climb
        .compare_stream(&outcome)
        .map_err(|difference| Failure::Mismatch(format!("{} differs from fixed: {difference}", rung.as_str())))?;
    tabled.received(&climb, &outcome)
}
