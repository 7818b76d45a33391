//! What stands in the target column, as the numbers the program expects.

use crate::data::table::Table;
use arch::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a target cell becomes a number. Saved with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Coding {
    /// The number itself.
    Number,
    /// A name stands for a number: `[("0", -1), ("1", 1)]`.
    Names(Vec<(String, f64)>),
    /// The position of the name in this list.
    Classes(Vec<String>),
}

/// Whether two cells mean the same class: the same text, or the same number (`1` and `1.0`).
fn same(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(x), Ok(y)) if x == y)
}

impl Coding {
    /// The classes of a column: its distinct cells, numbers in numeric order before text in alphabetical order.
    pub fn classes(table: &Table, column: usize) -> Coding {
        let mut names: Vec<String> = Vec::new();
        for row in &table.rows {
            if !names.iter().any(|name| same(name, &row[column])) {
                names.push(row[column].clone());
            }
        }
        names.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => x.total_cmp(&y),
            (Ok(_), Err(_)) => std::cmp::Ordering::Less,
            (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        });
        Coding::Classes(names)
    }

    /// The number of a cell.
    ///
    /// # Errors
    /// `E-DATA` with row and column: no number, or a name the coding does not have.
    pub fn code(&self, table: &Table, row: usize, column: usize) -> Result<f64, Diagnostic> {
        let cell = &table.rows[row][column];
        let found = match self {
            Coding::Number => return table.number(row, column),
            Coding::Names(names) => names.iter().find(|(name, _)| same(name, cell)).map(|&(_, value)| value),
            Coding::Classes(names) => names.iter().position(|name| same(name, cell)).map(|n| n as f64),
        };
        found.ok_or_else(|| {
            let known = match self {
                Coding::Names(names) => names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
                Coding::Classes(names) => names.iter().map(String::as_str).collect(),
                Coding::Number => Vec::new(),
            };
            table
                .wrong(row, column, format!("the label `{cell}` is not in the coding"))
                .with_help(format!("the labels are {}; see `labels` in the [train] table", known.join(", ")))
        })
    }

    /// The name whose number is nearest to `value`: how a prediction is read.
    pub fn name(&self, value: f64) -> Option<&str> {
        match self {
            Coding::Number => None,
            Coding::Names(names) => names
                .iter()
                .min_by(|a, b| libm::fabs(a.1 - value).total_cmp(&libm::fabs(b.1 - value)))
                .map(|(name, _)| name.as_str()),
            Coding::Classes(names) => names.get(libm::rint(value).max(0.0) as usize).map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_classes() {
        let table = Table::from_csv(b"y\nb\n10\n9\n10.0\na\n").unwrap();
        let classes = Coding::classes(&table, 0);
        assert_eq!(classes, Coding::Classes(["9", "10", "a", "b"].map(str::to_owned).to_vec()));
        assert_eq!(classes.code(&table, 3, 0), Ok(1.0));
        let names = Coding::Names(vec![("9".into(), -1.0), ("10".into(), 1.0)]);
        assert_eq!(names.code(&table, 2, 0), Ok(-1.0));
        assert_eq!(names.name(0.2), Some("10"));
        assert_eq!(
            names.code(&table, 0, 0).unwrap_err().message,
            "row 1 (line 2), column `y`: the label `b` is not in the coding"
        );
    }
}
