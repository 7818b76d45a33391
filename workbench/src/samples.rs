//! The data of a project, as the steps of its program.
//!
//! ```text
//! file ──▶ columns, coding ──▶ sizes ──▶ program ──▶ signature ──▶ steps
//! ```
//!
//! Sizes of the program follow from the data, so the data comes first.

pub mod numbers;
mod signature;

pub use signature::{label_elements, signature};

use crate::failure::{Failure, Source};
use crate::images;
use crate::plan::{Choices, Plan};
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::project::library;
use arch::store::order::INDEX_BITS;
use arch::{Code, Diagnostic};
use compiler::derived::losses::Loss;
use compiler::derived::optimisers::RATE;
use compiler::derived::training::Measure;
use compiler::tensor::{Iterator as Loop, Program, Role};
use sim::data::fields::{Encoding, Rows};
use sim::data::file::{self, Reading};
use sim::data::labels::Coding;
use sim::data::missing::Missing;
use sim::data::split;
use sim::data::table::Table;
use sim::train::Schedule;
use sim::train::engine::{Field, Signature, Step};
use sim::train::metrics::{self, Classes, Confusion, Metrics, Scale};
use sim::train::settings::{Order, Selection, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A program with the samples it trains on.
#[derive(Clone)]
pub struct Samples {
    /// The program, with sizes from the data.
    pub program: Program,
    /// What it takes and gives, sample by sample.
    pub signature: Signature,
    /// How rows become numbers.
    pub encoding: Encoding,
    /// The `[train]` table.
    pub settings: Settings,
    /// How they are trained on.
    pub plan: Plan,
    /// Steps of the training part.
    pub train: Vec<Step>,
    /// Steps of the validation part, which choose among the weights of all epochs; often none.
    pub validation: Vec<Step>,
    /// Steps of the test part.
    pub test: Vec<Step>,
    /// Where they come from, for people.
    pub origin: String,
    /// Which field the prediction is compared with, if it is.
    label: Option<usize>,
}

/// A file of rows, and where its columns go.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// The file; default: the configuration's, or made-up samples.
    pub path: Option<PathBuf>,
    /// How it is read.
    pub reading: Reading,
    /// Which of its columns are used, as far as the user says.
    pub selection: Selection,
}

/// Which rows of a table train.
#[derive(Debug, Clone)]
pub struct Choice<'a> {
    /// The table.
    pub table: Table,
    /// Its name, for people.
    pub name: &'a Path,
    /// Which of its columns are used, as far as the user says.
    pub selection: Selection,
    /// At most so many rows per part.
    pub limit: Option<usize>,
    /// Columns, scales and labels of a saved model; otherwise they are taken from the data.
    pub saved: Option<&'a Encoding>,
}

impl<'a> Choice<'a> {
    /// All rows of a table, with its targets where the `[train]` table says, or in its last columns.
    pub fn of(name: &'a Path, table: Table) -> Choice<'a> {
        Choice { table, name, selection: Selection::default(), limit: None, saved: None }
    }

    /// The same of a text.
    ///
    /// # Errors
    /// It is not a table.
    pub fn of_text(name: &'a str, text: &str) -> Result<Choice<'a>, Failure> {
        Ok(Choice::of(Path::new(name), table_of(name, text.as_bytes(), &Reading::default())?))
    }
}

fn table_of(name: &str, bytes: &[u8], reading: &Reading) -> Result<Table, Failure> {
    file::read(bytes, reading).map_err(|(error, text)| Failure::Diagnostics {
        source: Source { name: name.to_owned(), text },
        diagnostics: vec![error],
    })
}

/// Read a data file.
///
/// # Errors
/// It cannot be read, or is not a table.
pub fn read_table(path: &Path, reading: &Reading) -> Result<Table, Failure> {
    let bytes = library::table(path, reading.limits)?;
    table_of(&path.display().to_string(), &bytes, reading)
}

/// Something is wrong with a table.
pub fn about_table(path: &Path, table: &Table, diagnostics: Vec<Diagnostic>) -> Failure {
    let source = Source { name: path.display().to_string(), text: table.text.clone() };
    Failure::Diagnostics { source, diagnostics }
}

/// What is said of a table whose columns have no names.
fn about_columns(table: &Table) -> Option<Diagnostic> {
    let count = table.columns.len();
    let message = format!("the first line is a sample, so the columns are called c1 to c{count}");
    let help = "--header yes says that the first line names the columns";
    table.unnamed.then(|| Diagnostic::global(Code::WarnData, message).with_help(help))
}

/// Refuse data whose columns are not those of a saved model; their order is the model's.
fn same_columns(features: &[String], targets: &[String], saved: &Encoding) -> Result<(), Diagnostic> {
    let columns: BTreeSet<&str> = features.iter().map(String::as_str).collect();
    let known: BTreeSet<&str> = saved.columns().into_iter().collect();
    let message = if targets != saved.targets {
        let list = |names: &[String]| names.join(", ");
        format!("the target is {}, that of the saved model {}", list(targets), list(&saved.targets))
    } else if let Some(new) = columns.difference(&known).next() {
        format!("the saved model has no feature column `{new}`")
    } else if let Some(missing) = known.difference(&columns).next() {
        format!("the data has no column `{missing}`, which the saved model was trained with")
    } else {
        return Ok(());
    };
    Err(Diagnostic::global(Code::Data, message)
        .with_help("use data with the same columns, or train anew without --load"))
}

/// The constants that settings and data give to a program.
pub fn defaults(settings: &Settings, encoding: &Encoding) -> Vec<(String, f64)> {
    let sizes = settings.sizes.iter().map(|(name, &size)| (name.clone(), f64::from(encoding.size(size))));
    sizes.chain(rate(settings)).collect()
}

/// The rate as a constant of the program; derived gradients have it without one.
fn rate(settings: &Settings) -> Option<(String, f64)> {
    settings.mu.filter(|_| !settings.derives()).map(|mu| ("mu".to_owned(), mu))
}

impl Samples {
    /// Read the data and the program.
    ///
    /// # Errors
    /// Whatever is wrong with data, settings or program.
    pub fn read(
        project: &Project,
        asked: &Choices,
        mut choice: Choice<'_>,
        progress: &dyn Progress,
    ) -> Result<Samples, Failure> {
        let (settings, plan) = project.plan(asked)?;
        if let Some(saved) = choice.saved {
            choice.table.complete(&saved.features);
        }
        let choice = choice;
        let table = &choice.table;
        let about = |diagnostics| about_table(choice.name, table, diagnostics);
        // How many label values a sample has is known from the program as it stands; sizes do not change it in most.
        let (sketch, _) = project.parse_quietly(&[])?;
        let labels = label_elements(&sketch, &settings);
        let selection = choice.selection.clone().or(settings.selection.clone());
        let encoding = match choice.saved {
            None => Encoding::choose(table, &settings, &selection, labels).map_err(about)?,
            Some(saved) => {
                let (features, targets) =
                    Encoding::sources(table, &settings, &selection, labels).map_err(|error| about(vec![error]))?;
                same_columns(&features, &targets, saved).map_err(|error| about(vec![error]))?;
                saved.clone()
            }
        };
        let missing = selection.missing.unwrap_or_default();
        let gaps = encoding.replacements.is_some() || choice.saved.is_none() && missing != Missing::Refuse;
        let origin = choice.name.file_name().map_or("data".to_owned(), |name| name.to_string_lossy().into_owned());
        let mut samples = Samples::without_rows(project, (settings, plan), encoding, origin, progress)?;
        samples.encoding.check(&samples.signature).map_err(|error| about(vec![error]))?;
        let rows = samples.encoding.read(table, true, gaps).map_err(about)?;
        samples.encoding.check_integers(table, &rows, &samples.signature).map_err(about)?;
        let warnings =
            about_columns(table).into_iter().chain(samples.encoding.strange(table, &rows)).collect::<Vec<_>>();
        if !warnings.is_empty() {
            progress.warnings(&Source { name: choice.name.display().to_string(), text: table.text.clone() }, &warnings);
        }
        samples.take(rows, choice.saved.is_none().then_some(missing), choice.limit);
        Ok(samples)
    }

    /// Everything but the rows.
    fn without_rows(
        project: &Project,
        (settings, plan): (Settings, Plan),
        encoding: Encoding,
        origin: String,
        progress: &dyn Progress,
    ) -> Result<Samples, Failure> {
        let program = project.parse(&defaults(&settings, &encoding), progress)?;
        images::check_fractions(project, &program)?;
        let (signature, label) = signature(project, &program, &settings)?;
        let (train, validation, test) = Default::default();
        Ok(Samples { program, signature, encoding, settings, plan, train, validation, test, origin, label })
    }

    /// Rows in their parts, at most `limit` in each; scales are measured if it is said what missing features become.
    fn take(&mut self, mut rows: Rows, measured: Option<Missing>, limit: Option<usize>) {
        let Plan { split: part, schedule: Schedule { order, seed, .. } } = self.plan;
        let mut parts = match order {
            Order::Rows => split::split_in_order(rows.features.len(), part),
            Order::Shuffled | Order::Store | Order::Permuted => split::split(rows.features.len(), part, seed),
        };
        let count = parts.train.len();
        let held = ((count as f64 * self.settings.validation) as usize).min(count.saturating_sub(1));
        let validation = parts.train.split_off(count - held);
        match measured {
            Some(missing) => {
                self.encoding.measure(&mut rows, &parts.train, (&self.settings, &self.signature), missing);
            }
            None => self.encoding.fill(&mut rows),
        }
        let (encoding, signature) = (&self.encoding, &self.signature);
        let steps = |part: &[usize]| -> Vec<Step> {
            let part = part.iter().take(limit.unwrap_or(usize::MAX));
            part.map(|&row| encoding.step(&rows, row, signature)).collect()
        };
        (self.train, self.validation, self.test) = (steps(&parts.train), steps(&validation), steps(&parts.test));
    }

    /// Made-up samples for a program whose data nobody has named: features from `-size` to `size`, labels from the coding.
    ///
    /// # Errors
    /// Whatever is wrong with settings or program.
    pub fn random(project: &Project, asked: &Choices, size: f64, progress: &dyn Progress) -> Result<Samples, Failure> {
        let (settings, plan) = project.plan(asked)?;
        let program = project.parse(&rate(&settings).into_iter().collect::<Vec<_>>(), progress)?;
        images::check_fractions(project, &program)?;
        let (signature, label) = signature(project, &program, &settings)?;
        let mut noise = Noise(1);
        let coding = match &settings.labels {
            Some(names) => Coding::Names(names.iter().map(|(name, &value)| (name.clone(), value)).collect()),
            None => Coding::Number,
        };
        let inputs: usize = signature.fields[..signature.inputs].iter().map(Field::elements).sum();
        let labels = label_elements(&program, &settings);
        let count = made_up(inputs, work(&program), plan.schedule.batch, &project.source)?;
        let first = settings.first_class.unwrap_or(0);
        let classes = labels.saturating_sub(first).max(1);
        let mut sample = || -> Step {
            let mut values: Vec<f64> = (0..inputs).map(|_| size * (2.0 * noise.next() - 1.0)).collect();
            if settings.bias {
                values[0] = 1.0;
            }
            let mut targets = vec![0.0; labels];
            match (&coding, settings.one_hot()) {
                (Coding::Names(names), _) => {
                    targets.fill_with(|| names[(noise.next() * names.len() as f64) as usize % names.len()].1);
                }
                (_, true) => {
                    targets[first + (noise.next() * classes as f64) as usize % classes] = 1.0;
                }
                (_, false) => targets.fill_with(|| size * (2.0 * noise.next() - 1.0)),
            }
            let mut values = values.into_iter().chain(targets).chain(std::iter::repeat(1.0));
            signature.fields.iter().map(|field| values.by_ref().take(field.elements()).collect()).collect()
        };
        let origin = "made-up samples".to_owned();
        let train: Vec<Step> = (0..count).map(|_| sample()).collect();
        let encoding = Encoding {
            features: Vec::new(),
            kinds: BTreeMap::new(),
            targets: Vec::new(),
            replacements: None,
            standardise: sim::data::standardise::Standardiser::identity(0),
            standardise_targets: sim::data::standardise::Standardiser::identity(0),
            bias: settings.bias,
            one_hot: settings.one_hot().then_some(first),
            sample_weight: settings.sample_weight.clone(),
            coding,
        };
        let (validation, test) = (Vec::new(), Vec::new());
        Ok(Samples { program, signature, encoding, settings, plan, train, validation, test, origin, label })
    }

    /// Whether nobody has named data.
    pub fn are_made_up(&self) -> bool {
        self.encoding.features.is_empty()
    }

    /// Extents of everything that the program names.
    pub fn shapes(&self) -> BTreeMap<String, Vec<u32>> {
        self.program.tensors.iter().map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect()
    }

    /// Extents of the weights.
    pub fn shapes_of_weights(&self) -> BTreeMap<String, Vec<u32>> {
        let state = self.program.tensors.iter().filter(|tensor| tensor.role == Role::State);
        state.map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect()
    }

    /// The schedule of a training.
    ///
    /// # Errors
    /// No full batch exists.
    pub fn schedule(&self) -> Result<Schedule, Failure> {
        let schedule = self.plan.schedule;
        let (batch, count) = (schedule.batch, self.train.len());
        if batch > count {
            return Err(Failure::Usage(format!(
                "a batch of {batch} is more than the {count} samples of the training part"
            )));
        }
        if schedule.order == Order::Permuted && count / batch > 1 << INDEX_BITS {
            let message =
                format!("order = \"permuted\" has at most {} batches, here are {}", 1 << INDEX_BITS, count / batch);
            return Err(Failure::Usage(message));
        }
        if !self.signature.sequence.is_empty() && schedule.order != Order::Rows {
            let message = "`sequence` in [train] carries states from row to row, so the rows stay in their order: order = \"rows\"";
            return Err(Failure::Usage(message.to_owned()));
        }
        let derived = self.signature.fields.iter().any(|field| field.name == RATE);
        Ok(Schedule { rate: derived.then(|| self.settings.rate()), ..schedule })
    }

    /// What happens to an incomplete last batch.
    pub fn left_over(&self, schedule: &Schedule) -> Option<Note> {
        let count = self.train.len();
        let left = schedule.left_over(count);
        let Schedule { batch, reduction, .. } = *schedule;
        (left > 0).then_some(Note::LeftOver { left, count, batch, reduction })
    }

    /// Judge the predictions for some steps.
    pub fn judge(&self, predictions: &[Vec<f64>], steps: &[Step]) -> Metrics {
        self.judged(steps, |labels, scale| metrics::judge(&self.settings.loss, predictions, labels, scale))
    }

    /// Which classes the predictions for some steps confuse; nothing where they are no classes. [`Samples::class_names`] names them.
    pub fn confusion(&self, predictions: &[Vec<f64>], steps: &[Step]) -> Option<Confusion> {
        self.judged(steps, |labels, scale| metrics::confusion(&self.settings.loss, predictions, labels, scale))
    }

    /// The class that each prediction says; nothing where they are no classes.
    pub fn classes(&self, predictions: &[Vec<f64>], steps: &[Step]) -> Option<Vec<usize>> {
        self.judged(steps, |labels, scale| metrics::taken(&self.settings.loss, predictions, labels, scale))
    }

    fn judged<T>(&self, steps: &[Step], judge: impl FnOnce(&[&[f64]], Scale) -> T) -> T {
        let labels: Vec<&[f64]> =
            self.label.map_or_else(Vec::new, |label| steps.iter().map(|step| step[label].as_slice()).collect());
        let codes: Vec<f64> = match &self.encoding.coding {
            Coding::Names(names) => names.iter().map(|&(_, value)| value).collect(),
            _ => Vec::new(),
        };
        let first = self.encoding.one_hot.unwrap_or(0);
        let classes = Classes { first, count: self.encoding.classes() };
        let units = &self.encoding.standardise_targets.deviation;
        judge(&labels, Scale { classes, codes: &codes, units })
    }

    /// Names of the classes, as the data has them.
    pub fn class_names(&self) -> Vec<String> {
        match &self.encoding.coding {
            Coding::Number => Vec::new(),
            Coding::Names(names) => names.iter().map(|(name, _)| name.clone()).collect(),
            Coding::Classes(names) => names.clone(),
        }
    }

    /// The prediction of one sample, as people read it: a class, or a number in the units of the data.
    pub fn read_prediction(encoding: &Encoding, loss: &Measure, prediction: &[f64]) -> serde_json::Value {
        if let Some(first) = encoding.one_hot {
            let classes = &prediction[first.min(prediction.len())..];
            return encoding.coding.name(metrics::largest(classes) as f64).unwrap_or("").into();
        }
        let restore = |(column, &value): (usize, &f64)| {
            if column < encoding.standardise_targets.mean.len() {
                encoding.standardise_targets.restore(column, value)
            } else {
                value
            }
        };
        let of_class = matches!(loss, Measure::Library(Loss::Logistic | Loss::Hinge));
        if !of_class {
            let values: Vec<f64> = prediction.iter().enumerate().map(restore).collect();
            return if let [value] = values.as_slice() { (*value).into() } else { values.into() };
        }
        match encoding.coding.name(prediction[0]) {
            Some(name) => name.into(),
            None => prediction[0].into(),
        }
    }
}

/// Size of the features and numbers that are made up first; smaller ones where a training with these diverges.
pub const LARGEST_MADE_UP: f64 = 2.0;

/// Most values of one sample that is made up.
const MOST_MADE_UP_VALUES: usize = 1 << 18;

/// Points of all loops over which made-up samples go at most, if there are more than a few of them.
const MOST_MADE_UP_WORK: u64 = 1 << 25;

/// Points of all loops of a program, for one sample.
pub(crate) fn work(program: &Program) -> u64 {
    let points = program.nests.iter().map(|nest| nest.iterators.iter().map(Loop::extent).product::<u64>());
    points.sum()
}

/// How many samples are made up, for so many values of a sample and so much work on it: fewer of large ones, but more than a batch.
fn made_up(values: usize, work: u64, batch: usize, source: &Source) -> Result<usize, Failure> {
    if values > MOST_MADE_UP_VALUES {
        let message = format!("a sample has {values} values, samples are made up of at most {MOST_MADE_UP_VALUES}");
        let diagnostic = Diagnostic::global(Code::Limit, message).with_help("give samples: --data FILE");
        return Err(Failure::about(source, vec![diagnostic]));
    }
    let by_work = (MOST_MADE_UP_WORK / work.max(1)) as usize;
    Ok(((1 << 22) / values.max(1)).min(by_work).max(2 * batch).clamp(8, 256))
}

/// Where a project's samples come from: the data the user names, the config's, or made-up ones.
///
/// # Errors
/// Whatever is wrong with data, settings or program.
pub fn for_image(
    project: &Project,
    data: &Data,
    asked: &Choices,
    size: f64,
    progress: &dyn Progress,
) -> Result<Samples, Failure> {
    let configured = project.beside_config(project.config.build.data.as_ref()).filter(|_| project.configured);
    let built_in = project.config_source.as_ref().is_some_and(|(path, _)| !path.is_file());
    match data.path.clone().or(configured) {
        // A built-in config names data of the repository, which need not be here.
        Some(path) if !built_in || path.is_file() => {
            let table = read_table(&path, &data.reading)?;
            let choice = Choice { selection: data.selection.clone(), ..Choice::of(&path, table) };
            Samples::read(project, asked, choice, progress)
        }
        _ => {
            if size == LARGEST_MADE_UP {
                progress.note(&Note::MadeUpSamples);
            }
            Samples::random(project, asked, size, progress)
        }
    }
}

/// Numbers that look random and are the same everywhere.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 31)
    }
}

/// Rows of a data file without targets, as steps.
///
/// # Errors
/// Columns are missing or hold no numbers.
pub fn unlabelled(
    encoding: &Encoding,
    table: &Table,
    signature: &Signature,
) -> Result<Vec<Step>, Vec<arch::Diagnostic>> {
    let mut rows = encoding.read(table, false, encoding.replacements.is_some())?;
    encoding.check_integers(table, &rows, signature)?;
    encoding.fill(&mut rows);
    Ok((0..rows.features.len()).map(|row| encoding.step(&rows, row, signature)).collect())
}
