//! A function on rows of a table, on any rung: a result for each row.
//!
//! ```text
//! table ──▶ records (a batch each) ──▶ golden, fixed, array or rtl ──▶ a result per row
//! ```

use super::expected::{feature_columns, target_columns};
use super::{Given, Read, is_function, results, step, zeros};
use crate::engines::Rung;
use crate::failure::Failure;
use crate::images;
use crate::imported::Imported;
use crate::progress::Progress;
use crate::project::Project;
use crate::records::calibration::{self, Calibration};
use crate::samples::{about_table, read_table};
use crate::simulators::Simulator;
use arch::number::to_f64;
use arch::{Code, Diagnostic};
use compiler::fixed;
use compiler::tensor::{Element, Program, Role, TensorId};
use sim::array::Array;
use sim::data::file::Reading;
use sim::data::table::Table;
use sim::distance::Accuracy;
use sim::driver::Outcome;
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues, Upper};
use sim::train::settings::Selection;
use std::path::Path;

/// A table, and what of it is used.
pub struct Rows<'a> {
    /// Its name, for people.
    pub name: &'a Path,
    /// The table.
    pub table: Table,
    /// Its columns.
    pub selection: Selection,
}

impl<'a> Rows<'a> {
    /// Those of a file.
    ///
    /// # Errors
    /// It cannot be read, or is not a table.
    pub fn read(path: &'a Path, reading: &Reading, selection: Selection) -> Result<Rows<'a>, Failure> {
        Ok(Rows { name: path, table: read_table(path, reading)?, selection })
    }

    /// Something is wrong with them.
    pub(super) fn about(&self, diagnostics: Vec<Diagnostic>) -> Failure {
        about_table(self.name, &self.table, diagnostics)
    }

    /// Columns of features and of targets; the last one is the target where none is named.
    pub(super) fn columns(&self) -> Result<[Vec<usize>; 2], Failure> {
        let targets = target_columns(&self.table, &self.selection).map_err(|wrong| self.about(vec![wrong]))?;
        let features =
            feature_columns(&self.table, &self.selection, &targets).map_err(|wrong| self.about(vec![wrong]))?;
        Ok([features, targets])
    }

    /// Features as the inputs of a program take them, and how integers of its results stand for numbers, of a `TFLite` model.
    fn given<'p>(
        &self,
        project: &Project,
        program: &'p Program,
        features: Vec<usize>,
    ) -> Result<(calibration::Rows<'p>, Vec<Option<tflite::Scheme>>), Failure> {
        let [given, results] = project.imported().map(Imported::schemes).unwrap_or_default();
        let mut values = calibration::Rows::new(self.name, &self.table, program, features)?;
        for (number, scheme) in given.iter().enumerate() {
            if let Some(scheme) = scheme {
                values.map(number, |value| scheme.integer(value));
            }
        }
        Ok((values, results))
    }
}

/// Rows that binary points are chosen from, if these are part of a table, and rows that are computed.
pub(super) type Parts = (Option<Vec<usize>>, Vec<usize>);

/// A function with rows of a table as its records.
pub(super) struct Computed {
    /// The function.
    pub(super) read: Read,
    /// The result.
    pub(super) name: String,
    /// Rows that are computed.
    pub(super) rows: usize,
    /// Rows of a record.
    at_once: usize,
    /// What they give on golden, record by record.
    golden: Vec<Vec<f64>>,
    /// How its integers stand for numbers, of a `TFLite` model.
    scheme: Option<tflite::Scheme>,
    /// Whether it is a label for each row.
    pub(super) is_label: bool,
}

impl Computed {
    /// Compute `result`, or the one that is compared with targets, of some rows of a table on golden.
    ///
    /// # Errors
    /// The table does not suit the program; golden has no value for a record.
    pub(super) fn new(
        project: &Project,
        rows: &Rows<'_>,
        features: Vec<usize>,
        (first, computed): &Parts,
        result: Option<&str>,
        progress: &dyn Progress,
    ) -> Result<Computed, Failure> {
        let (program, warnings) = stateless(project, progress)?;
        let (values, schemes) = rows.given(project, &program, features)?;
        let calibration = match first {
            Some(first) => Some(values.records(rows.name, first)?),
            None => calibration::read(project, &program)?,
        };
        let Calibration { records, rows: count, at_once, .. } = values.records(rows.name, computed)?;
        let (number, name, id) = predicted(&program, result).map_err(|wrong| rows.about(vec![wrong]))?;
        if at_once > 1 && program.tensors[id.0].shape.first() != Some(&(at_once as u32)) {
            let message = format!("a record takes {at_once} rows, and `{name}` has no row for each of them");
            return Err(rows.about(vec![Diagnostic::global(Code::Data, message)]));
        }
        let given = Given { resident: zeros(&program, &[]), records };
        let origin = rows.name.display().to_string();
        let read = Read { program, warnings, given, origin, is_made_up: false, calibration };
        let golden = on_golden(project, &read, id)?;
        let scheme = schemes.get(number).copied().flatten();
        let is_label = scheme.is_none() && is_label(&read.program, id);
        Ok(Computed { read, name, rows: count, at_once, golden, scheme, is_label })
    }

    /// Values of golden, row by row.
    pub(super) fn golden(&self) -> Vec<Vec<f64>> {
        self.by_row(&self.golden)
    }

    /// Values of a rung, row by row, and below golden how far they are from it.
    ///
    /// # Errors
    /// What the rung cannot compute; rungs that should agree differ.
    pub(super) fn on(
        &self,
        project: &Project,
        rung: Rung,
        progress: &dyn Progress,
    ) -> Result<(Vec<Vec<f64>>, Option<Accuracy>), Failure> {
        if rung == Rung::Golden {
            return Ok((self.golden(), None));
        }
        let upper = self.read.upper(project, progress)?;
        let accuracy = upper.accuracy().map_err(|wrong| Failure::about(&project.source, vec![*wrong]))?;
        let values = if rung == Rung::Fixed {
            self.on_fixed(&upper.fixed)?
        } else {
            self.below(project, upper, rung, progress)?
        };
        Ok((values, Some(accuracy)))
    }

    /// The values of the result in fixed point, row by row.
    ///
    /// # Errors
    /// It is lost there.
    pub(super) fn on_fixed(&self, words: &fixed::Program) -> Result<Vec<Vec<f64>>, Failure> {
        let id = self.in_words(words)?;
        let mut fixed = Fixed::new(words);
        let each = |record: &NamedValues| {
            for (name, given) in record {
                if let Some(tensor) = fixed.tensor(name) {
                    fixed.set_real(tensor, given);
                }
            }
            fixed.step();
            fixed.values(id)
        };
        let values: Vec<Vec<f64>> = self.read.given.records.iter().map(each).collect();
        Ok(self.by_row(&values))
    }

    /// The values of the result in what a grid has sent, row by row.
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
        let values: Vec<Vec<f64>> = outcome.steps.iter().map(values).collect();
        Ok(self.by_row(&values))
    }

    /// The same on a grid: all records in one run, whose words are compared with those of fixed point.
    fn below(
        &self,
        project: &Project,
        upper: Upper,
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
        self.received(&climb, &outcome)
    }

    fn in_words(&self, words: &fixed::Program) -> Result<TensorId, Failure> {
        let found = words.names.iter().rev().find(|(known, _)| *known == self.name);
        found.map(|(_, id)| *id).ok_or_else(|| Failure::Bug(format!("`{}` is lost in fixed point", self.name)))
    }

    /// Values row by row of those of records, the last of which has perhaps rows that fill it up.
    fn by_row(&self, values: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let real = |&value: &f64| self.scheme.map_or(value, |scheme| scheme.real(value));
        let each = values.iter().flat_map(|all| all.chunks((all.len() / self.at_once).max(1)));
        each.map(|row| row.iter().map(real).collect()).take(self.rows).collect()
    }
}

/// A function and records of a table.
pub(crate) struct Recorded {
    /// What its text says.
    pub(crate) program: Program,
    /// The records.
    pub(crate) records: Vec<NamedValues>,
    /// Those that its binary points are chosen from, if these are others.
    pub(crate) calibration: Option<Vec<NamedValues>>,
}

/// A function and at most so many records of a table without targets.
///
/// # Errors
/// The table does not suit the program.
pub(crate) fn records(
    project: &Project,
    rows: &Rows<'_>,
    most: usize,
    progress: &dyn Progress,
) -> Result<Recorded, Failure> {
    let (program, _) = stateless(project, progress)?;
    let (values, _) = rows.given(project, &program, (0..rows.table.columns.len()).collect())?;
    let all: Vec<usize> = (0..rows.table.rows.len()).collect();
    let mut records = values.records(rows.name, &all)?.records;
    records.truncate(most);
    let calibration = calibration::read(project, &program)?.map(|calibration| calibration.records);
    Ok(Recorded { program, records, calibration })
}

/// The program, which keeps nothing from record to record, and what the front end warned of.
fn stateless(project: &Project, progress: &dyn Progress) -> Result<(Program, Vec<Diagnostic>), Failure> {
    project.is_program()?;
    if !is_function(project, false, true)? {
        let message = "this program trains: `train --save` makes a model of it, which `predict` scores and `build` makes hardware for; \
                       Model.deploy of the Python package scores the Verilog of a trained model";
        return Err(Failure::Usage(message.to_owned()));
    }
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

/// A result, its number among the results and its name: the wanted one, otherwise scores of classes before labels, in the order of the program.
fn predicted(program: &Program, wanted: Option<&str>) -> Result<(usize, String, TensorId), Diagnostic> {
    let found = |name: &String| program.names.iter().rev().find(|(known, _)| known == name).map(|(_, id)| *id);
    let named = results(program).into_iter().enumerate();
    let mut all: Vec<(usize, String, TensorId)> =
        named.filter_map(|(number, name)| found(&name).map(|id| (number, name, id))).collect();
    if let Some(wanted) = wanted {
        let names = all.iter().map(|(_, name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let none = || Diagnostic::global(Code::Undef, format!("no result is called `{wanted}`; there are {names}"));
        return all.iter().position(|(_, name, _)| name == wanted).map(|place| all.swap_remove(place)).ok_or_else(none);
    }
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
