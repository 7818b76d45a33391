//! Reports side by side: what two or more runs cost, what they reached, and in which settings they differ.
//!
//! ```text
//!                                        out/before    out/after   change
//! cycles_per_sample                           30.00        24.00  -20.0 %
//! resources.LUT                               72018        70544   -2.0 %
//! training.test.array.accuracy               0.9825       0.9912   +0.9 %
//! ```
//!
//! A figure has the name that it has in `report.json`.

use super::figures::four_digits;
use crate::Failure;
use crate::reading;
use arch::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A report lies in a folder under this name.
pub const DOCUMENT: &str = "report.json";
/// Larger files are no reports: those of the largest shipped programs take 2 MB.
const MOST_BYTES: u64 = 64 << 20;

/// Where figures stand that can be compared; of a table, the key that names a row and that of its figure.
const FIGURES: [(&str, Option<(&str, &str)>); 11] = [
    ("/training/test", None),
    ("/training/train", None),
    ("/training/verdict", None),
    ("/training/samples", None),
    ("/training/cycles", None),
    ("/training/seconds", None),
    ("/training/joules", None),
    ("/verdict", None),
    ("/cycles", None),
    ("/memories", Some(("name", "used"))),
    ("/resources", Some(("name", "estimated"))),
];
/// Where settings stand: only those that differ are shown.
const SETTINGS: [&str; 7] = ["/program", "/machine", "/board", "/batch", "/settings", "/numbers", "/measured_on"];

/// Reports side by side.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// Their folders.
    pub runs: Vec<String>,
    /// Settings in which they differ.
    pub settings: Vec<Row>,
    /// Figures of any of them.
    pub figures: Vec<Row>,
}

/// One value of each run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Row {
    /// Its path in `report.json`, without the table's name.
    pub name: String,
    /// In the order of the runs; null where a run does not have it.
    pub values: Vec<Value>,
}

impl Comparison {
    /// Of the reports in these folders.
    ///
    /// # Errors
    /// E-FILE for a folder without a report; E-DATA for a file that is none.
    pub fn of(folders: &[PathBuf]) -> Result<Comparison, Failure> {
        let reports: Vec<Value> = folders.iter().map(|folder| report(folder)).collect::<Result<_, _>>()?;
        let figures = rows(&reports, &FIGURES, |row| row.values.iter().any(Value::is_number));
        let settings = rows(
            &reports,
            &SETTINGS.map(|place| (place, (place == "/numbers").then_some(("tensor", "fraction")))),
            |row| row.values.iter().any(|value| *value != row.values[0]),
        );
        Ok(Comparison { runs: folders.iter().map(|folder| folder.display().to_string()).collect(), settings, figures })
    }

    /// As a table for terminals; of two runs, with the change.
    pub fn text(&self) -> String {
        let cell = |value: &Value| match value {
            Value::Null => "-".to_owned(),
            Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), four_digits),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let rows: Vec<Vec<String>> = [("settings that differ", &self.settings), ("figures", &self.figures)]
            .into_iter()
            .filter(|(_, rows)| !rows.is_empty())
            .flat_map(|(title, rows)| {
                let heads = self.runs.iter().cloned().chain((self.runs.len() == 2).then(|| "change".to_owned()));
                let head = std::iter::once(title.to_owned()).chain(heads).collect();
                let body = rows.iter().map(|row| {
                    let cells = std::iter::once(row.name.clone()).chain(row.values.iter().map(cell));
                    cells.chain((self.runs.len() == 2).then(|| row.change())).collect()
                });
                std::iter::once(head).chain(body).collect::<Vec<Vec<String>>>()
            })
            .collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                0 => format!("{cell:width$}"),
                _ => format!("  {cell:>width$}"),
            });
            format!("{}\n", cells.collect::<String>().trim_end())
        };
        rows.iter().map(line).collect()
    }
}

impl Row {
    /// From the first run to the second, in per cent of the first.
    fn change(&self) -> String {
        let [before, after] = [0, 1].map(|run| self.values.get(run).and_then(Value::as_f64));
        match (before, after) {
            (Some(before), Some(after)) if before == after => "=".to_owned(),
            (Some(before), Some(after)) if before != 0.0 => {
                format!("{:+.1} %", 100.0 * (after - before) / before.abs())
            }
            _ => String::new(),
        }
    }
}

/// The report in a folder.
fn report(folder: &Path) -> Result<Value, Failure> {
    let path = folder.join(DOCUMENT);
    let text = reading::text(&path, MOST_BYTES)?;
    let name = || path.display().to_string();
    let parsed: Result<Value, _> = serde_json::from_str(&text);
    let value = parsed.map_err(|error| Failure::json(name(), text, "this is no report".to_owned(), &error))?;
    if !value["cycles"].is_object() {
        let diagnostic = Diagnostic::global(Code::Data, "this is no report: it has no `cycles`");
        return Err(Failure::data(name(), vec![diagnostic.with_help("`build` and `report` write `report.json`")]));
    }
    Ok(value)
}

/// The rows at some places, of those reports that have them.
fn rows(reports: &[Value], places: &[(&str, Option<(&str, &str)>)], kept: impl Fn(&Row) -> bool) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (run, report) in reports.iter().enumerate() {
        let mut put = |name: String, value: &Value| {
            let found = rows.iter_mut().position(|row| row.name == name);
            let at = found.unwrap_or_else(|| {
                rows.push(Row { name, values: vec![Value::Null; reports.len()] });
                rows.len() - 1
            });
            rows[at].values[run] = value.clone();
        };
        for &(place, table) in places {
            let Some(value) = report.pointer(place) else { continue };
            let name = place.trim_start_matches('/').replace('/', ".");
            match (value.as_array(), table) {
                (Some(items), Some((key, figure))) => items.iter().for_each(|item| {
                    let of = item[key].as_str().unwrap_or_default();
                    put(format!("{name}.{of}"), &item[figure]);
                }),
                _ => leaves(&name, value, &mut put),
            }
        }
    }
    rows.retain(kept);
    rows
}

/// Each scalar below a value, with its path.
fn leaves(name: &str, value: &Value, put: &mut impl FnMut(String, &Value)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| leaves(&format!("{name}.{key}"), inner, put)),
        Value::Array(_) => {}
        scalar => put(name.to_owned(), scalar),
    }
}
