//! Programs.

use crate::built::{Built, Kept};
use crate::failures::{objects, raised};
use crate::training::Training;
use crate::values::Array;
use crate::{values, work};
use compiler::language::{Language, Options};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Map, Value};
use sim::data::file::Limits;
use sim::data::missing::Missing;
use sim::data::table::Table;
use sim::eval::with_shapes_of;
use sim::train::engine::NamedValues as Weights;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workbench::evaluation::Evaluation;
use workbench::functions::is_function;
use workbench::functions::segmented::SegmentedFunction;
use workbench::report::explanation::Explained;
use workbench::resident::FunctionOptions;
use workbench::samples::numbers::{Numbers, Targets};
use workbench::saturation::{self, Saturation, Unit};
use workbench::{
    Choices, Data, Design, Failure, ModelFile, Progress, Records, Request, RunOptions, Rung, Samples, Source, Subject,
    Texts, images,
};

/// A program with its settings and configuration.
#[pyclass(frozen, module = "tabla_gen._native")]
pub(crate) struct Project {
    pub(crate) inner: workbench::Project,
}

/// What a name means, or a message with those that there are.
pub(crate) fn named<T>(py: Python<'_>, what: &str, name: &str, known: &[(&str, T)]) -> PyResult<T>
where
    T: Copy,
{
    known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or_else(|| {
        let names = known.iter().map(|(name, _)| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        raised(py, &Failure::Usage(format!("{what} '{name}' is not known: it is one of {names}")))
    })
}

/// Engines by name; a board is none of them.
pub(crate) fn rung(py: Python<'_>, name: &str) -> PyResult<Rung> {
    let all: Vec<(&str, Rung)> = Rung::ENGINES.iter().map(|rung| (rung.as_str(), *rung)).collect();
    named(py, "the engine", name, &all)
}

/// How a program is read, and on what it runs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    language: Option<String>,
    config: Option<String>,
    config_text: Option<String>,
    machine: Vec<(String, String)>,
    set: Vec<(String, f64)>,
    function: Option<String>,
    resident: Option<Vec<String>>,
    state: Option<BTreeMap<String, String>>,
}

impl Reading {
    fn request(&self, py: Python<'_>, program: &str) -> PyResult<Request> {
        let languages: Vec<(&str, Language)> = Language::ALL.iter().map(|l| (l.extension(), *l)).collect();
        let language = self.language.as_deref().map(|name| named(py, "the language", name, &languages)).transpose()?;
        let set = self.set.clone();
        Ok(Request {
            config: self.config.as_ref().map(PathBuf::from),
            machine: self.machine.clone(),
            program: Some(PathBuf::from(program)),
            language,
            reading: Options { set, entry: self.function.clone(), ..Options::default() },
            function: FunctionOptions { resident: self.resident.clone(), state: self.state.clone() },
            ..Request::default()
        })
    }
}

/// How a training goes, and what a missing feature becomes, by name; what is not said is the program's or the configuration's.
fn asked(py: Python<'_>, said: &Bound<'_, PyDict>) -> PyResult<(Choices, Missing)> {
    let wrong = |why: String| raised(py, &Failure::Usage(why));
    let replacements: Vec<(&str, Missing)> = Missing::ALL.iter().map(|way| (way.as_str(), *way)).collect();
    let (mut choices, mut missing) = (Choices::default(), Missing::default());
    for (name, value) in said.iter().filter(|(_, value)| !value.is_none()) {
        let name = name.extract::<String>()?;
        let value = match (value.extract::<u64>(), value.extract::<f64>()) {
            (Ok(number), _) => Value::from(number),
            (_, Ok(number)) => Value::from(number),
            _ => Value::from(value.extract::<String>()?),
        };
        if name == "missing" {
            missing = named(py, "the replacement", value.as_str().unwrap_or_default(), &replacements)?;
            continue;
        }
        let table: Map<String, Value> = [(name.clone(), value)].into_iter().collect();
        let one = serde_json::from_value::<Choices>(table.into()).map_err(|why| wrong(format!("{name}: {why}")))?;
        choices = one.or(choices);
    }
    choices.impossible().map_or(Ok((choices, missing)), |(key, why)| Err(wrong(format!("{key}: {why}"))))
}

/// Rows of a training.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rows {
    columns: Vec<String>,
    features: Array,
    target_columns: Vec<String>,
    /// Cells as text, for programs whose settings say what they mean; otherwise numbers as the program takes them.
    cells: Option<Vec<Vec<String>>>,
    codes: Option<Array>,
    classes: Vec<String>,
    weights: Option<Array>,
}

impl Rows {
    /// What samples are made of, with scales of their own.
    pub(crate) fn numbers(self, missing: Missing) -> Result<Numbers<'static>, Failure> {
        Ok(Numbers {
            name: "X".to_owned(),
            targets: self.targets()?,
            features: self.features.rows(),
            weights: self.weights.as_ref().map_or_else(Vec::new, |weights| weights.elements().to_vec()),
            columns: self.columns,
            missing,
            saved: None,
        })
    }

    fn targets(&self) -> Result<Targets, Failure> {
        let columns = self.target_columns.clone();
        match (&self.cells, &self.codes) {
            (Some(cells), _) => {
                Table::from_cells(columns, cells.iter().map(|row| row.iter().collect()).collect(), Limits::default())
                    .map(Targets::Cells)
                    .map_err(|wrong| Failure::data("targets", vec![wrong]))
            }
            (None, codes) => {
                // A program without labels has rows without targets.
                let none = || vec![Vec::new(); self.features.count()];
                let rows = codes.as_ref().map_or_else(none, Array::rows);
                Ok(Targets::Codes { columns, rows, classes: self.classes.clone() })
            }
        }
    }
}

/// What an evaluation gave: values by name, states after the step, distance from golden, warnings.
type Evaluated = (Py<PyDict>, Option<Py<PyDict>>, Option<(f64, f64)>, Vec<Py<PyAny>>);

#[pymethods]
impl Project {
    /// A program in a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: &str, reading: Reading) -> PyResult<Project> {
        let mut request = reading.request(py, path)?;
        let text = reading.config_text;
        let inner = work::run(py, None, move |_| match text {
            None => workbench::Project::open(&request),
            Some(config) => {
                request.config = None;
                workbench::Project::open_with(&request, &config)
            }
        })?;
        Ok(Project { inner })
    }

    /// A program in memory.
    #[staticmethod]
    #[pyo3(signature = (name, text, settings, reading))]
    fn of_texts(
        py: Python<'_>,
        name: &str,
        text: String,
        settings: Option<String>,
        reading: Reading,
    ) -> PyResult<Project> {
        let request = reading.request(py, name)?;
        let config = reading.config_text;
        let inner = work::run(py, None, move |_| {
            let texts = Texts { program: &text, settings: settings.as_deref(), config: config.as_deref() };
            workbench::Project::of_texts(&request, &texts)
        })?;
        Ok(Project { inner })
    }

    /// An ONNX or `TFLite` model in memory.
    #[staticmethod]
    #[pyo3(signature = (name, model, settings, reading))]
    fn of_model(
        py: Python<'_>,
        name: &str,
        model: Vec<u8>,
        settings: Option<String>,
        reading: Reading,
    ) -> PyResult<Project> {
        let request = reading.request(py, name)?;
        let config = reading.config_text;
        let inner = work::run(py, None, move |_| {
            let texts = Texts { program: "", settings: settings.as_deref(), config: config.as_deref() };
            workbench::Project::of_model(&request, &texts, model)
        })?;
        Ok(Project { inner })
    }

    /// The same on another machine: of what is said about reading, the configuration and the keys of the machine count.
    fn on(&self, py: Python<'_>, reading: Reading) -> PyResult<Project> {
        let project = self.inner.clone();
        let Reading { config, config_text, machine, .. } = reading;
        let config = config.map(PathBuf::from);
        let inner = work::run(py, None, move |_| project.on(config.as_deref(), config_text.as_deref(), &machine))?;
        Ok(Project { inner })
    }

    /// The same with other `[train]` and `[function]` tables.
    fn with_settings(&self, text: &str) -> Project {
        Project { inner: self.inner.clone().with_settings(text) }
    }

    /// The text of the program; of a model that was imported, its graph.
    #[getter]
    fn source(&self) -> &str {
        &self.inner.source.text
    }

    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.inner.name()
    }

    /// Its language.
    #[getter]
    fn language(&self) -> &'static str {
        self.inner.language.name()
    }

    /// The file of a model that was imported.
    #[getter]
    fn imported<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.inner.imported().map(|imported| PyBytes::new(py, imported.bytes()))
    }

    /// Whether targets are cells of text to the program: names of labels, or classes.
    fn has_labels(&self, py: Python<'_>) -> PyResult<bool> {
        let settings = self.inner.settings().map_err(|failure| raised(py, &failure))?;
        Ok(settings.labels.is_some() || settings.one_hot())
    }

    /// How many numbers of targets a sample has.
    fn label_elements(&self, py: Python<'_>) -> PyResult<usize> {
        let project = self.inner.clone();
        work::run(py, None, move |_| {
            let (program, _) = project.parse_quietly(&[])?;
            Ok(workbench::samples::label_elements(&program, &project.settings()?))
        })
    }

    /// Warnings; what is wrong is raised. Arrays say which sizes inputs have.
    fn check(&self, py: Python<'_>, inputs: &Bound<'_, PyDict>) -> PyResult<Vec<Py<PyAny>>> {
        let (project, record) = (self.inner.clone(), values::record(inputs)?);
        let warnings = work::run(py, None, move |_| {
            let reading = with_shapes_of(&record, project.options(&[]));
            let (program, warnings) = project.read(&reading, Some(&record))?;
            project.check_settings()?;
            project.with_stays(program)?;
            Ok(warnings)
        })?;
        objects(py, &self.inner.source, &warnings)
    }

    /// Evaluate once.
    fn evaluate(&self, py: Python<'_>, inputs: &Bound<'_, PyDict>, engine: &str) -> PyResult<Evaluated> {
        let (project, record, rung) = (self.inner.clone(), values::record(inputs)?, rung(py, engine)?);
        let (evaluation, warnings) = work::run(py, None, move |progress| {
            let reading = with_shapes_of(&record, project.options(&[]));
            let (program, mut warnings) = project.read(&reading, Some(&record))?;
            let program = project.with_stays(program)?;
            images::check_fractions(&project, &program)?;
            let evaluation = Evaluation::new(&project, &program, &record, rung, progress)?;
            if let Some(mismatch) = evaluation.mismatch {
                return Err(Failure::Mismatch(mismatch));
            }
            warnings.extend(evaluation.warnings.iter().cloned());
            warnings.extend(saturation::warnings(&evaluation.clipped, Unit::Record));
            Ok((evaluation, warnings))
        })?;
        let arrays = |part: &Value| -> PyResult<Py<PyDict>> {
            let arrays = PyDict::new(py);
            for (name, value) in part.as_object().into_iter().flatten() {
                arrays.set_item(name, values::to_array(py, value))?;
            }
            Ok(arrays.unbind())
        };
        let next = evaluation.values.get("next").map(&arrays).transpose()?;
        let distance = evaluation.distance.map(|distance| (distance.absolute, distance.relative));
        Ok((arrays(&evaluation.values["values"])?, next, distance, objects(py, &self.inner.source, &warnings)?))
    }

    /// Everything for a board, not written yet: of a training with the data in a file, of a function with records (in a file, or as JSON). The
    /// configuration's data or made-up values where nothing is given.
    #[pyo3(signature = (data, records, given))]
    fn build(
        &self,
        py: Python<'_>,
        data: Option<PathBuf>,
        records: Option<PathBuf>,
        given: Option<Vec<Bound<'_, PyDict>>>,
    ) -> PyResult<Built> {
        let project = self.inner.clone();
        let given =
            given.map(|given| given.iter().map(values::record).collect::<PyResult<Vec<Value>>>()).transpose()?;
        let inner = work::run(py, None, move |progress| {
            let records = match (values_for(&project, data, records.as_deref(), given)?, project.in_segments()) {
                (ValuesFor::Function(records), true) => records,
                (values, false) => {
                    let subject = subject(&project, values, progress)?;
                    let built = workbench::build::Built::new(&project, &subject, progress)?;
                    return Ok((built, Kept::of(subject)));
                }
                (ValuesFor::Training(_), true) => return Err(SegmentedFunction::refused()),
            };
            let function = SegmentedFunction::new(&project, records.as_ref(), progress)?;
            Ok((workbench::build::Built::of_segments(&project, &function, progress)?, Kept::Segments))
        })?;
        Ok(Built::new(&self.inner, inner.0, inner.1))
    }

    /// How fast a function is, where everything lies and what runs when, as JSON; `inputs` are a record, or none for one that is made up.
    fn explain(&self, py: Python<'_>, inputs: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        let project = self.inner.clone();
        let record = inputs.map(values::record).transpose()?;
        work::run(py, None, move |progress| {
            let subject = Subject::function(&project, record.map(in_memory).transpose()?.as_ref(), progress)?;
            explained(&project, &subject)
        })
    }

    /// Everything for a board, of a model whose training is not at hand: its rows once more, and the ranges that it was saved with.
    fn rebuild(
        &self,
        py: Python<'_>,
        rows: Rows,
        asked: &Bound<'_, PyDict>,
        model: &crate::model::Model,
        on: Option<&Project>,
    ) -> PyResult<Built> {
        let (choices, missing) = self::asked(py, asked)?;
        let given = rows.numbers(missing).map_err(|failure| raised(py, &failure))?;
        let (project, file) = (self.inner.clone(), model.file().clone());
        let board = on.unwrap_or(self).inner.clone();
        let made_for = board.clone();
        let inner = work::run(py, None, move |progress| {
            let numbers = Numbers { saved: Some(&file.encoding), ..given };
            let samples = Samples::of_numbers(&project, &choices, numbers, progress)?;
            let training = workbench::Training::new(project, samples)?;
            let design = Design::of(&board, &training, &file.ranges, progress)?;
            let subject = Subject::Training(Box::new(design));
            let built = workbench::build::Built::new(&board, &subject, progress)?;
            Ok((built, Kept::of(subject)))
        })?;
        Ok(Built::new(&made_for, inner.0, inner.1))
    }

    /// Train. `before` has columns, scales and labels of an earlier training, and its weights unless others are given.
    #[pyo3(signature = (rows, asked, engine, before, start, curves, callback))]
    #[allow(clippy::too_many_arguments, reason = "names of one call in Python")]
    fn train(
        &self,
        py: Python<'_>,
        rows: Rows,
        asked: &Bound<'_, PyDict>,
        engine: &str,
        before: Option<&crate::model::Model>,
        start: Option<Weights>,
        curves: bool,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<Training> {
        let ((choices, missing), rung) = (self::asked(py, asked)?, rung(py, engine)?);
        let given = rows.numbers(missing).map_err(|failure| raised(py, &failure))?;
        let project = self.inner.clone();
        let before: Option<ModelFile> = before.map(|model| model.file().clone());
        let (training, outcome) = work::run(py, callback.as_ref(), move |progress| {
            let numbers = Numbers { saved: before.as_ref().map(|file| &file.encoding), ..given };
            let samples = Samples::of_numbers(&project, &choices, numbers, progress)?;
            let mut training = workbench::Training::new(project, samples)?;
            if let Some(left) = training.samples.left_over(&training.schedule) {
                progress.note(&left);
            }
            if let Some(file) = &before {
                training.start_with(file.model.clone())?;
            }
            if let Some(start) = start {
                training.start_with(start)?;
            }
            let outcome = training.run(&RunOptions { curves, ..RunOptions::on(rung) }, None, progress)?;
            if let Some(comparison) = outcome.comparison.as_ref().filter(|comparison| !comparison.agrees()) {
                let (name, first) = (outcome.last().name, comparison.first.as_deref().unwrap_or(""));
                return Err(Failure::Mismatch(format!("{name} differs from the engine above it: {first}")));
            }
            Ok((training, outcome))
        })?;
        Ok(Training::new(training, outcome))
    }
}

/// Records that Python has made.
fn in_memory(records: Value) -> Result<Records, Failure> {
    Records::parse(Source { name: "inputs".to_owned(), text: records.to_string() })
}

/// What a board is built for: records of a function, if there are any, or the file of a training's data.
enum ValuesFor {
    Function(Option<Records>),
    Training(Option<PathBuf>),
}

/// Which of them are meant.
fn values_for(
    project: &workbench::Project,
    data: Option<PathBuf>,
    records: Option<&Path>,
    given: Option<Vec<Value>>,
) -> Result<ValuesFor, Failure> {
    let has_records = records.is_some() || given.is_some();
    if is_function(project, data.is_some(), has_records)? {
        if let Some(data) = data {
            return Err(Failure::Usage(format!("data {}: a function has records, given by inputs", data.display())));
        }
        let read = records.map(Records::open).or(given.map(|given| in_memory(Value::Array(given)))).transpose()?;
        return Ok(ValuesFor::Function(read));
    }
    if has_records {
        return Err(Failure::Usage("inputs are the records of a function; this program trains on data".to_owned()));
    }
    Ok(ValuesFor::Training(data))
}

fn subject(project: &workbench::Project, values: ValuesFor, progress: &dyn Progress) -> Result<Subject, Failure> {
    match values {
        ValuesFor::Function(records) => Subject::function(project, records.as_ref(), progress),
        ValuesFor::Training(path) => {
            Subject::training(project, &Data { path, ..Data::default() }, &Choices::default(), progress)
        }
    }
}

/// How fast an image is, where everything lies and what runs when, as JSON.
pub(crate) fn explained(project: &workbench::Project, subject: &Subject) -> Result<String, Failure> {
    let explained = Explained::new(project, subject)?;
    Ok(serde_json::to_string(&explained.document()).expect("documents are names, numbers and lists of them"))
}

/// What was clipped, as text.
pub(crate) fn clipped(all: &[Saturation]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}
