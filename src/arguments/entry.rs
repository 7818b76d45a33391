//! How a program is read: which function of it, what stays in the grid, and how large it may be.

use super::Train;
use super::values::{DATA, limits, parse_limit, parse_setting};
use clap::Args;
use sim::data::file;
use std::str::FromStr;
use workbench::Failure;
use workbench::config::RecordsPerStep;
use workbench::resident::FunctionOptions;

/// Function of a program, its inputs that stay in the grid, and limits of size.
#[derive(Debug, Clone, Args, Default)]
pub struct Entry {
    /// Function of the program; default: the last one
    #[arg(long = "entry", value_name = "NAME")]
    pub function: Option<String>,
    #[command(flatten)]
    pub stays: Stays,
    /// Size of an open dimension of an ONNX model, such as N=1; may be repeated
    #[arg(long, value_name = "NAME=N", value_parser = parse_setting)]
    pub shape: Vec<(String, f64)>,
    #[command(flatten)]
    pub limits: Limits,
}

/// Inputs of a function that stay in the grid, and records per step.
#[derive(Debug, Clone, Args, Default)]
pub struct Stays {
    /// Resident inputs of a function, loaded once, separated by commas; records carry the others
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub resident: Option<Vec<String>>,
    /// State of a stream: an input that takes a result's value after each record, such as `h=h_next`; separated by commas; its first value is that of the first record, or 0
    #[arg(long, value_name = "INPUT=RESULT", value_delimiter = ',', value_parser = parse_state)]
    pub state: Option<Vec<(String, String)>>,
    /// Records of a function that a step computes at once: a number, or `auto` for as many as make a record fastest; default: 1
    #[arg(long, value_name = "N|auto", value_parser = RecordsPerStep::from_str)]
    pub records: Option<RecordsPerStep>,
    /// Run a function that its machine does not hold as a whole in segments, one after the other (`build`, `eval`, `explain`, `prove`, `run`)
    #[arg(long)]
    pub segments: bool,
}

impl From<&Stays> for FunctionOptions {
    fn from(stays: &Stays) -> FunctionOptions {
        let state = stays.state.as_ref().map(|pairs| pairs.iter().cloned().collect());
        FunctionOptions { resident: stays.resident.clone(), state }
    }
}

fn parse_state(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(input, result)| (input.trim().to_owned(), result.trim().to_owned()));
    let pair = pair.filter(|(input, result)| !input.is_empty() && !result.is_empty());
    pair.ok_or_else(|| "write INPUT=RESULT".to_owned())
}

/// Limits that can be raised.
#[derive(Debug, Clone, Args, Default)]
pub struct Limits {
    /// Limits of the tool by name.
    #[arg(long, value_name = "NAME=N", value_parser = parse_limit)]
    #[arg(help = format!("Limit of the tool: {} (memory for a data file); may be repeated", limits()))]
    pub limit: Vec<(String, u64)>,
}

impl Limits {
    /// How large a data file may be.
    pub fn data(&self) -> file::Limits {
        let said = self.limit.iter().rev().find(|(name, _)| name == DATA);
        said.map_or_else(file::Limits::default, |(_, mib)| file::Limits::of_memory(*mib))
    }
}

impl From<Limits> for Entry {
    fn from(limits: Limits) -> Entry {
        Entry { limits, ..Entry::default() }
    }
}

/// What `--limit` is to a training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsOrLimit {
    /// Rows of each part.
    Rows(usize),
    /// A limit of the tool.
    Limit(String, u64),
}

impl RowsOrLimit {
    pub(super) fn parse(text: &str) -> Result<RowsOrLimit, String> {
        if text.contains('=') {
            return parse_limit(text).map(|(name, value)| RowsOrLimit::Limit(name, value));
        }
        text.trim().parse().map(RowsOrLimit::Rows).map_err(|_| "write a number of rows, or NAME=N".to_owned())
    }
}

impl Train {
    /// How many rows of each part are used, if that is limited.
    ///
    /// # Errors
    /// The limit is given twice.
    pub fn rows(&self) -> Result<Option<usize>, Failure> {
        let mut rows = self.limit.iter().filter_map(|limit| match limit {
            RowsOrLimit::Rows(rows) => Some(*rows),
            RowsOrLimit::Limit(..) => None,
        });
        match (rows.next(), rows.next()) {
            (first, None) => Ok(first),
            (_, Some(_)) => Err(Failure::Usage("--limit gives a number of rows more than once".to_owned())),
        }
    }

    /// The limits that are raised or lowered.
    pub fn limits(&self) -> Limits {
        let limit = self.limit.iter().filter_map(|limit| match limit {
            RowsOrLimit::Rows(_) => None,
            RowsOrLimit::Limit(name, value) => Some((name.clone(), *value)),
        });
        Limits { limit: limit.collect() }
    }
}
