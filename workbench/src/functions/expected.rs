//! Expected results for the rows of a table, and the quality of results beside them.

use crate::imported::Imported;
use crate::project::Project;
use arch::{Code, Diagnostic};
use compiler::derived::losses::Loss;
use compiler::derived::training::Measure;
use schemars::JsonSchema;
use serde::Serialize;
use sim::data::labels::Coding;
use sim::data::table::Table;
use sim::train::metrics::{self, Classes, Confusion, Scale};
use sim::train::settings::Selection;

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

/// What rows should give, and how results are read.
pub(super) struct Expected {
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

/// The target columns; the last one where none is named.
pub(super) fn target_columns(table: &Table, selection: &Selection) -> Result<Vec<usize>, Diagnostic> {
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
pub(super) fn feature_columns(
    table: &Table,
    selection: &Selection,
    targets: &[usize],
) -> Result<Vec<usize>, Diagnostic> {
    let named = |columns: &sim::train::settings::Columns| -> Result<Vec<usize>, Diagnostic> {
        columns.names().iter().map(|name| table.column(name)).collect()
    };
    let dropped = selection.drop.as_ref().map(named).transpose()?.unwrap_or_default();
    let chosen = selection.features.as_ref().map(named).transpose()?;
    let all = chosen.unwrap_or_else(|| (0..table.columns.len()).collect());
    Ok(all.into_iter().filter(|column| !targets.contains(column) && !dropped.contains(column)).collect())
}

impl Expected {
    /// Targets of all rows of a table; `golden` has results of some of them.
    ///
    /// # Errors
    /// The targets are not what the results could be.
    pub(super) fn new(
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
                let names = match kind {
                    _ if !named.is_empty() && fits(&named) => named,
                    Kind::Labels => with_labels(found(), golden),
                    _ => numbered(found(), count),
                };
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

    /// The same of some rows.
    #[must_use]
    pub(super) fn of_rows(&self, rows: &[usize]) -> Expected {
        let targets = rows.iter().map(|&row| self.targets[row].clone()).collect();
        Expected { coding: self.coding.clone(), targets, kind: self.kind }
    }

    /// Names of the classes, in the order of their scores; none where results are numbers.
    pub(super) fn names(&self) -> Vec<String> {
        match &self.coding {
            Coding::Classes(names) => names.clone(),
            _ => Vec::new(),
        }
    }

    /// Whether targets that are numbers are the same in all rows, so that R2 says nothing.
    pub(super) fn are_alike(&self) -> bool {
        self.kind == Kind::Numbers && self.targets.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// How good results of all rows are.
    pub(super) fn score(&self, values: &[Vec<f64>]) -> Score {
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
                // Texts are numbered in their order.
                let numbers: Option<Vec<f64>> = self.names().iter().map(|name| name.parse().ok()).collect();
                let numbers = numbers.unwrap_or_else(|| (0..count).map(|n| n as f64).collect());
                // A label that is none of the classes is wrong, whatever is right.
                let class = |value: f64, right: usize| {
                    numbers.iter().position(|&number| number == value).unwrap_or((right + 1) % count)
                };
                let rows = values.iter().zip(&self.targets);
                (
                    self.targets.iter().map(|row| one_hot(row[0] as usize)).collect(),
                    rows.map(|(row, target)| one_hot(class(row[0], target[0] as usize))).collect(),
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
fn numbered(found: Vec<String>, count: usize) -> Vec<String> {
    let all: Option<Vec<f64>> = found.iter().map(|name| name.parse().ok()).collect();
    let is_number = |&value: &f64| value >= 0.0 && value < count as f64 && value.fract() == 0.0;
    match all {
        Some(all) if all.iter().all(is_number) => (0..count).map(|n| n.to_string()).collect(),
        _ => found,
    }
}

/// The labels of a column, and those that golden gives beside them, if they are numbers.
fn with_labels(mut found: Vec<String>, golden: &[Vec<f64>]) -> Vec<String> {
    let numbers: Option<Vec<f64>> = found.iter().map(|name| name.parse().ok()).collect();
    let Some(mut known) = numbers else { return found };
    for row in golden {
        if !known.contains(&row[0]) {
            known.push(row[0]);
            found.push(row[0].to_string());
        }
    }
    found
}
