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

use super::{Given, Read, results, zeros};
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
use compiler::derived::losses::Loss;
use compiler::derived::training::Measure;
use compiler::tensor::{Element, Program, Role, TensorId};
use schemars::JsonSchema;
use serde::Serialize;
use sim::array::Array;
use sim::data::file::Reading;
use sim::data::labels::Coding;
use sim::data::table::Table;
use sim::distance::{Accuracy, Verdict};
use sim::driver::Outcome;
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, Upper, Values};
use sim::train::metrics::{self, Classes, Confusion, Scale};
use sim::train::settings::Selection;
use std::path::Path;

/// How good predictions are.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// How often the class is the right one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Harmonic mean of precision and recall: of the second of two classes, of more classes the mean over them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// Area under the curve: of the second of two classes, of more classes the mean over them; missing where labels are all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// 1 - residual variance / variance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// Mean absolute error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mae: Option<f64>,
    /// How often rows of a class were taken for each class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
}

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

/// What rows should give, and how results are read.
struct Expected {
    coding: Coding,
    /// Row by row.
    targets: Vec<Vec<f64>>,
    kind: Kind,
}

/// What results are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A score for each class.
    Scores,
    /// The label itself.
    Labels,
    /// The chance of the second class.
    Chances,
    /// Numbers.
    Numbers,
}

impl Scored {
    /// Score the function of `project`.
    ///
    /// # Errors
    /// The table does not suit the program; what the rung cannot compute; rungs that should agree differ.
    pub fn new(project: &Project, rows: &Rows<'_>, rung: Rung, progress: &dyn Progress) -> Result<Scored, Failure> {
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
        let table = read_table(rows.path, &rows.reading)?;
        let about = |wrong| about_table(rows.path, &table, wrong);
        let targets = target_columns(&table, &rows.selection).map_err(|wrong| about(vec![wrong]))?;
        let features = feature_columns(&table, &rows.selection, &targets).map_err(|wrong| about(vec![wrong]))?;
        let records = calibration::of_columns(rows.path, &table, &program, Some(features))?;
        let given = Given { resident: zeros(&program, &[]), records: records.records };
        let read = Read { program, warnings, given, origin: rows.path.display().to_string() };
        let (name, id) = predicted(&read.program).map_err(|wrong| about(vec![wrong]))?;
        let width = |values: &[Vec<f64>]| -> Vec<Vec<f64>> {
            // A record has several rows, the last one perhaps rows that fill it up.
            let at_once = records.rows.div_ceil(values.len().max(1)).max(1);
            let at_once = if values.len() * at_once < records.rows { 1 } else { rows_of(&read.program, id, at_once) };
            let each = values.iter().flat_map(|all| all.chunks((all.len() / at_once).max(1)).map(<[f64]>::to_vec));
            each.take(records.rows).collect()
        };
        let golden = width(&on_golden(project, &read, id)?);
        let expected = Expected::new(project, &table, &targets, &golden, is_label(&read.program, id)).map_err(about)?;
        let of_golden = expected.score(&golden);
        let scored = |values: &[Vec<f64>], accuracy: Option<Accuracy>| Scored {
            engine: rung.as_str(),
            result: name.clone(),
            rows: records.rows,
            classes: expected.names(),
            score: expected.score(values),
            golden: of_golden.clone(),
            warnings: accuracy.iter().flat_map(Accuracy::warnings).collect(),
            verdict: accuracy.map(|accuracy| accuracy.verdict),
        };
        if rung == Rung::Golden {
            return Ok(scored(&golden, None));
        }
        let (upper, _) = read.upper(project, progress)?;
        let accuracy = upper.accuracy().map_err(|wrong| Failure::about(&project.source, vec![*wrong]))?;
        let values = below(project, upper, &read.given.records, &name, rung, progress)?;
        Ok(scored(&width(&values), Some(accuracy)))
    }
}

/// The target columns; the last one where none is named.
fn target_columns(table: &Table, selection: &Selection) -> Result<Vec<usize>, Diagnostic> {
    if selection.missing.is_some() || selection.categories.is_some() {
        let message =
            "`missing` and `categories` are for trainings: a model that was imported takes its columns as they are";
        return Err(Diagnostic::global(Code::Data, message));
    }
    match &selection.target {
        Some(columns) => columns.names().iter().map(|name| table.column(name)).collect(),
        None => Ok(vec![table.columns.len() - 1]),
    }
}

/// The columns that are not targets, as far as they are used.
fn feature_columns(table: &Table, selection: &Selection, targets: &[usize]) -> Result<Vec<usize>, Diagnostic> {
    let named = |columns: &sim::train::settings::Columns| -> Result<Vec<usize>, Diagnostic> {
        columns.names().iter().map(|name| table.column(name)).collect()
    };
    let dropped = selection.drop.as_ref().map(named).transpose()?.unwrap_or_default();
    let chosen = selection.features.as_ref().map(named).transpose()?;
    let all = chosen.unwrap_or_else(|| (0..table.columns.len()).collect());
    Ok(all.into_iter().filter(|column| !targets.contains(column) && !dropped.contains(column)).collect())
}

/// The result that is scored: scores of classes before labels, in the order of the program.
fn predicted(program: &Program) -> Result<(String, TensorId), Diagnostic> {
    let found = |name: &String| program.names.iter().rev().find(|(known, _)| known == name).map(|(_, id)| *id);
    let all: Vec<(String, TensorId)> =
        results(program).into_iter().filter_map(|name| found(&name).map(|id| (name, id))).collect();
    let scores = all.iter().find(|(_, id)| !is_label(program, *id));
    let none = || Diagnostic::global(Code::Data, "the program has no result that a table could be compared with");
    scores.or(all.first()).cloned().ok_or_else(none)
}

/// Whether a result is a whole number for each row.
fn is_label(program: &Program, id: TensorId) -> bool {
    let tensor = &program.tensors[id.0];
    matches!(tensor.element, Element::Int { .. }) && tensor.shape.iter().skip(1).all(|&extent| extent == 1)
}

/// Rows of a result, of a record of so many rows.
fn rows_of(program: &Program, id: TensorId, at_once: usize) -> usize {
    let first = program.tensors[id.0].shape.first().map_or(1, |&extent| extent as usize);
    if first == at_once { at_once } else { 1 }
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

/// The same below golden: all records in one run of the grid, whose words are compared with those of fixed point.
fn below(
    project: &Project,
    upper: Upper,
    records: &[Values],
    name: &str,
    rung: Rung,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f64>>, Failure> {
    let words = upper.fixed.clone();
    let Some((_, id)) = words.names.iter().rev().find(|(known, _)| known == name) else {
        return Err(Failure::Bug(format!("`{name}` is lost in fixed point")));
    };
    let tensor = &words.tensors[id.0];
    if rung == Rung::Fixed {
        let mut fixed = Fixed::new(&words);
        let mut each = |record: &Values| {
            for (name, given) in record {
                if let Some(tensor) = fixed.tensor(name) {
                    fixed.set_real(tensor, given);
                }
            }
            fixed.step();
            fixed.values(*id)
        };
        return Ok(records.iter().map(&mut each).collect());
    }
    let climb = Climb::of(upper, images::of_function(project, &words)?);
    let machine = climb.image().machine.clone();
    let run =
        |outcome: Result<Outcome, _>| outcome.map_err(|stuck: sim::driver::Stuck| Failure::Bug(stuck.to_string()));
    let outcome = match rung {
        Rung::Rtl => {
            let simulator = Simulator::build(&machine, progress)?;
            run(climb.stream(simulator.device(&machine), records.len(), Stalls::none()))?
        }
        _ => run(climb.stream(Array::new(&machine), records.len(), Stalls::none()))?,
    };
    climb
        .compare_stream(&outcome)
        .map_err(|difference| Failure::Mismatch(format!("{} differs from fixed: {difference}", rung.as_str())))?;
    let streamed = climb.image().tensors.iter().position(|streamed| streamed.name == tensor.name);
    // A result that is constant is not sent.
    let Some(streamed) = streamed else { return Ok(vec![Fixed::new(&words).values(*id); records.len()]) };
    let values = |step: &Vec<Vec<i64>>| {
        step[streamed].iter().enumerate().map(|(n, &word)| to_f64(word, tensor.fraction_of(n))).collect()
    };
    Ok(outcome.steps.iter().map(values).collect())
}

impl Expected {
    fn new(
        project: &Project,
        table: &Table,
        columns: &[usize],
        golden: &[Vec<f64>],
        is_label: bool,
    ) -> Result<Expected, Vec<Diagnostic>> {
        let width = golden.first().map_or(1, Vec::len);
        let named = project.imported().map_or_else(Vec::new, Imported::classes);
        if let [column] = columns {
            let chance = || golden.iter().all(|row| (0.0..=1.0).contains(&row[0]));
            let found = || match Coding::classes(table, *column) {
                Coding::Classes(names) => names,
                _ => Vec::new(),
            };
            let two = |names: &[String]| {
                let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
                names.len() == 2 && numbers.is_none_or(|numbers| numbers == [0.0, 1.0])
            };
            let kind = match width {
                1 if is_label => Kind::Labels,
                1 if chance() && (named.len() == 2 || two(&found())) => Kind::Chances,
                1 => Kind::Numbers,
                _ => Kind::Scores,
            };
            if kind != Kind::Numbers {
                let count = if kind == Kind::Chances { 2 } else { width };
                let fits = |names: &[String]| kind == Kind::Labels || names.len() == count;
                let names = if !named.is_empty() && fits(&named) { named } else { numbered(found(), count, kind) };
                if !fits(&names) {
                    let (column, have) = (&table.columns[*column], names.len());
                    let message = format!("the model has {count} classes, the target column `{column}` {have}");
                    let help = "name the column of the classes with --target";
                    return Err(vec![Diagnostic::global(Code::Data, message).with_help(help)]);
                }
                let coding = Coding::Classes(names);
                let targets = coding.codes(table, columns)?;
                return Ok(Expected { coding, targets, kind });
            }
        }
        if columns.len() != width {
            let message =
                format!("the result has {width} numbers for each row, the targets are {} columns", columns.len());
            return Err(vec![Diagnostic::global(Code::Data, message).with_help("name the targets with --target")]);
        }
        Ok(Expected { coding: Coding::Number, targets: table.numbers(columns)?, kind: Kind::Numbers })
    }

    fn names(&self) -> Vec<String> {
        match &self.coding {
            Coding::Classes(names) => names.clone(),
            _ => Vec::new(),
        }
    }

    fn score(&self, values: &[Vec<f64>]) -> Score {
        let count = self.names().len();
        let one_hot = |class: usize| (0..count).map(|n| f64::from(u8::from(n == class))).collect::<Vec<f64>>();
        let (labels, predictions): (Vec<Vec<f64>>, Vec<Vec<f64>>) = match self.kind {
            Kind::Numbers => (self.targets.clone(), values.to_vec()),
            Kind::Chances => (
                self.targets.iter().map(|row| one_hot(row[0] as usize)).collect(),
                values.iter().map(|row| vec![1.0 - row[0], row[0]]).collect(),
            ),
            Kind::Scores => (self.targets.iter().map(|row| one_hot(row[0] as usize)).collect(), values.to_vec()),
            Kind::Labels => {
                let known: Vec<Option<f64>> = self.names().iter().map(|name| name.parse().ok()).collect();
                let class = |value: f64| known.iter().position(|known| *known == Some(value)).unwrap_or(count);
                (
                    self.targets.iter().map(|row| one_hot(row[0] as usize)).collect(),
                    values.iter().map(|row| one_hot(class(row[0]))).collect(),
                )
            }
        };
        let labels: Vec<&[f64]> = labels.iter().map(Vec::as_slice).collect();
        let loss = if self.kind == Kind::Numbers { Loss::Squared } else { Loss::CrossEntropy };
        let (measure, scale) =
            (Measure::Library(loss), Scale { classes: Classes { first: 0, count }, ..Scale::default() });
        let found = metrics::judge(&measure, &predictions, &labels, scale);
        Score {
            accuracy: found.accuracy,
            f1: found.f1,
            auc: found.auc.filter(|_| self.kind != Kind::Labels),
            r2: found.r2,
            mae: found.mae,
            confusion: metrics::confusion(&measure, &predictions, &labels, scale),
        }
    }
}

/// Names of so many classes that no model names: the numbers of the classes where the cells are such, otherwise the cells.
fn numbered(found: Vec<String>, count: usize, kind: Kind) -> Vec<String> {
    let number = |name: &String| name.parse::<f64>().ok();
    let all: Option<Vec<f64>> = found.iter().map(number).collect();
    let is_number = |&value: &f64| value >= 0.0 && value < count as f64 && value.fract() == 0.0;
    match all {
        Some(all) if kind != Kind::Labels && all.iter().all(is_number) => (0..count).map(|n| n.to_string()).collect(),
        _ => found,
    }
}
