//! Rows that are in memory, not in a file.

use super::{Samples, about_table, same_columns};
use crate::failure::Failure;
use crate::plan::Choices;
use crate::progress::Progress;
use crate::project::Project;
use arch::{Code, Diagnostic};
use sim::data::fields::{self, Encoding, Rows};
use sim::data::labels::Coding;
use sim::data::missing::Missing;
use sim::data::table::Table;
use sim::train::engine::{Signature, Step};
use sim::train::settings::Settings;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows in memory.
#[derive(Debug, Clone)]
pub struct Numbers<'a> {
    /// Their name, for people.
    pub name: String,
    /// Names of the features.
    pub columns: Vec<String>,
    /// Features, row by row; NaN is a missing one.
    pub features: Vec<Vec<f64>>,
    /// Targets, row by row.
    pub targets: Targets,
    /// Weights of the samples; empty if all are 1.
    pub weights: Vec<f64>,
    /// What missing features become, if no saved model says so.
    pub missing: Missing,
    /// Columns, scales and labels of a saved model; otherwise they are taken from the data.
    pub saved: Option<&'a Encoding>,
}

/// Targets in memory.
#[derive(Debug, Clone)]
pub enum Targets {
    /// Columns of cells, which mean what they mean in a file.
    Cells(Table),
    /// Numbers as the program takes them: the number of a class, if its labels have an element for each.
    Codes {
        /// Names of the columns.
        columns: Vec<String>,
        /// Row by row.
        rows: Vec<Vec<f64>>,
        /// Names of the classes, if the numbers are classes.
        classes: Vec<String>,
    },
}

impl Targets {
    /// Names of the columns, and how cells become numbers.
    fn columns(&self, settings: &Settings) -> (Vec<String>, Coding) {
        let (columns, classes) = match self {
            Targets::Cells(table) if settings.one_hot() => (table.columns.clone(), Coding::classes(table, 0)),
            Targets::Cells(table) => (table.columns.clone(), Coding::Number),
            Targets::Codes { columns, classes, .. } if classes.is_empty() => (columns.clone(), Coding::Number),
            Targets::Codes { columns, classes, .. } => (columns.clone(), Coding::Classes(classes.clone())),
        };
        let coding = match &settings.labels {
            Some(names) => Coding::Names(names.iter().map(|(name, &value)| (name.clone(), value)).collect()),
            None => classes,
        };
        (columns, coding)
    }

    /// As the program takes them.
    fn read(self, encoding: &Encoding, name: &str) -> Result<Vec<Vec<f64>>, Failure> {
        match self {
            Targets::Cells(table) => {
                let columns: Vec<usize> = (0..table.columns.len()).collect();
                encoding.coding.codes(&table, &columns).map_err(|wrong| about_table(Path::new(name), &table, wrong))
            }
            Targets::Codes { columns, rows, .. } => {
                let classes = encoding.one_hot.map(|_| encoding.classes() as f64);
                let is_code = |value: f64| classes.is_none_or(|count| value >= 0.0 && value < count);
                check_numbers(name, &columns, &rows, |value| value.is_finite() && is_code(value))?;
                Ok(rows)
            }
        }
    }
}

/// Refuse rows of another length than that of the names, and values that are not `right`.
fn check_numbers(
    name: &str,
    columns: &[String],
    rows: &[Vec<f64>],
    right: impl Fn(f64) -> bool,
) -> Result<(), Failure> {
    let wrong = |message: String| Failure::data(name, vec![Diagnostic::global(Code::Data, message)]);
    for (row, values) in (1..).zip(rows) {
        if values.len() != columns.len() {
            return Err(wrong(format!("row {row} has {} values, there are {} columns", values.len(), columns.len())));
        }
        if let Some(column) = values.iter().position(|&value| !right(value)) {
            let (value, column) = (values[column], &columns[column]);
            return Err(wrong(format!("row {row}, column `{column}`: {value} is not a value that it can have")));
        }
    }
    Ok(())
}

impl Samples {
    /// The samples of rows in memory.
    ///
    /// # Errors
    /// Whatever is wrong with data, settings or program.
    pub fn of_numbers(
        project: &Project,
        asked: &Choices,
        numbers: Numbers<'_>,
        progress: &dyn Progress,
    ) -> Result<Samples, Failure> {
        let (settings, plan) = project.plan(asked)?;
        let Numbers { name, columns, features, targets, weights, missing, saved } = numbers;
        let wrong = |message: String| Failure::data(&name, vec![Diagnostic::global(Code::Data, message)]);
        let (target_columns, coding) = targets.columns(&settings);
        let kinds = BTreeMap::new();
        let columns = fields::Columns { features: columns, kinds, targets: target_columns, coding };
        let mut encoding = Encoding::of(columns, &settings);
        if let Some(saved) = saved {
            same_columns(&encoding.features, &encoding.targets, saved)
                .map_err(|error| Failure::data(&name, vec![error]))?;
            encoding = saved.clone();
        }
        if !weights.is_empty() && encoding.sample_weight.is_none() {
            let message = "weights of samples are given, and the program takes none";
            let help = "name the scalar that takes them in the [train] table: sample_weight = \"s\"";
            return Err(Failure::data(&name, vec![Diagnostic::global(Code::Data, message).with_help(help)]));
        }
        let gaps = encoding.replacements.is_some() || saved.is_none() && missing != Missing::Refuse;
        check_features(&name, &encoding.features, &features, gaps)?;
        let mut samples = Samples::without_rows(project, (settings, plan), encoding, name.clone(), progress)?;
        samples.encoding.check(&samples.signature).map_err(|error| Failure::data(&name, vec![error]))?;
        let targets = targets.read(&samples.encoding, &name)?;
        let counts = [("targets", targets.len()), ("weights", weights.len())];
        if features.is_empty() {
            return Err(wrong("the data has no rows".to_owned()));
        }
        if let Some((what, count)) =
            counts.into_iter().find(|&(what, count)| count != features.len() && (what == "targets" || count > 0))
        {
            return Err(wrong(format!("{} rows of features, {count} of {what}", features.len())));
        }
        if let Some(weight) = weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
            return Err(wrong(format!("a sample has the weight {weight}")));
        }
        samples.take(Rows { features, targets, weights }, saved.is_none().then_some(missing), None);
        Ok(samples)
    }
}

/// Features in memory, as steps without targets.
///
/// # Errors
/// They are not those of the model, or not numbers.
pub fn unlabelled_numbers(
    name: &str,
    encoding: &Encoding,
    features: Vec<Vec<f64>>,
    signature: &Signature,
) -> Result<Vec<Step>, Failure> {
    check_features(name, &encoding.features, &features, encoding.replacements.is_some())?;
    let mut rows = Rows { features, ..Rows::default() };
    encoding.fill(&mut rows);
    Ok((0..rows.features.len()).map(|row| encoding.step(&rows, row, signature)).collect())
}

/// Features are finite; missing ones are NaN, if there may be some.
fn check_features(name: &str, columns: &[String], features: &[Vec<f64>], gaps: bool) -> Result<(), Failure> {
    check_numbers(name, columns, features, |value| value.is_finite() || gaps && value.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Choice;

    const LINE: &str = "mu = 0.1; m = 2; model_input x[m]; model_output y, s; model w[m]; iterator i[0:m];
        h = sum[i](w[i] * x[i]); minimize s * squared(h, y);";
    const TRAIN: &str =
        "[train]\nprediction = 'h'\nloss = 'squared'\nlabel = 'y'\nsample_weight = 's'\n[train.sizes]\nm = 'features'";

    fn numbers(weights: Vec<f64>) -> Numbers<'static> {
        let row = |n: u32| vec![f64::from(n % 5), f64::from(n % 7) / 8.0];
        Numbers {
            name: "X".to_owned(),
            columns: vec!["a".to_owned(), "b".to_owned()],
            features: (0..20).map(row).collect(),
            targets: Targets::Codes {
                columns: vec!["y".to_owned()],
                rows: (0..20).map(|n| vec![f64::from(n % 3) / 4.0]).collect(),
                classes: Vec::new(),
            },
            weights,
            missing: Missing::Refuse,
            saved: None,
        }
    }

    fn project() -> Project {
        Project::in_memory("line.t", LINE, Some(TRAIN), None).unwrap()
    }

    fn message(numbers: Numbers<'_>) -> String {
        Samples::of_numbers(&project(), &Choices::default(), numbers, &()).err().unwrap().to_string()
    }

    #[test]
    fn rows_in_memory_are_those_of_the_file() {
        let project = project();
        for weighted in [true, false] {
            let weight = |n: u32| f64::from(n % 4) / 2.0;
            let weights = if weighted { (0..20).map(weight).collect() } else { Vec::new() };
            let given = numbers(weights);
            let Targets::Codes { rows, .. } = &given.targets else { unreachable!() };
            let line = |n: usize| {
                let weight = if weighted { format!("{},", weight(n as u32)) } else { String::new() };
                format!("{},{weight}{},{}\n", given.features[n][0], given.features[n][1], rows[n][0])
            };
            let head = if weighted { "a,s,b,y\n" } else { "a,b,y\n" };
            let text = head.to_owned() + &(0..20).map(line).collect::<String>();
            let choice = Choice::of_text("rows.csv", &text).unwrap();
            let read = Samples::read(&project, &Choices::default(), choice, &()).unwrap();
            let here = Samples::of_numbers(&project, &Choices::default(), given, &()).unwrap();
            assert_eq!((&here.train, &here.test), (&read.train, &read.test));
            assert_eq!(here.encoding, read.encoding);
            // Fields are x, y, s.
            let of_samples = here.train.iter().chain(&here.test).map(|step| step[2][0]);
            assert_eq!(of_samples.sum::<f64>(), if weighted { 15.0 } else { 20.0 });
        }
    }

    #[test]
    fn what_is_wrong_with_rows_is_said() {
        let uneven = Numbers { weights: vec![1.0], ..numbers(Vec::new()) };
        assert_eq!(message(uneven), "X: E-DATA: 20 rows of features, 1 of weights");
        let mut gap = numbers(Vec::new());
        gap.features[3][1] = f64::NAN;
        assert_eq!(message(gap), "X: E-DATA: row 4, column `b`: NaN is not a value that it can have");
        let mut short = numbers(Vec::new());
        short.features[0].pop();
        assert_eq!(message(short), "X: E-DATA: row 1 has 1 values, there are 2 columns");
        let negative = numbers(vec![-1.0; 20]);
        assert_eq!(message(negative), "X: E-DATA: a sample has the weight -1");
    }
}
