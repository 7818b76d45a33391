//! Labels in the target column, as the numbers the program expects.

use crate::data::row::Row;
use crate::data::table::Table;
use arch::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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

/// Most classes that are found in a column.
pub const MOST_CLASSES: usize = 50;

/// Labels that a message names.
const NAMED: usize = 5;

/// What a cell means as a class: cells with the same text are of the same class, and with the same number (`1` and `1.0`).
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class<'a> {
    Number(u64),
    Text(&'a str),
}

impl Class<'_> {
    pub(crate) fn of(cell: &str) -> Class<'_> {
        match cell.parse::<f64>() {
            // Zero is zero, whatever its sign is.
            Ok(value) if !value.is_nan() => Class::Number((value + 0.0).to_bits()),
            _ => Class::Text(cell),
        }
    }
}

impl Coding {
    /// The classes of a column: its distinct cells, numbers in numeric order before text in alphabetical order.
    pub fn classes(table: &Table, column: usize) -> Coding {
        let mut known = BTreeSet::new();
        let cells = table.rows.iter().map(|row| &row[column]);
        let mut names: Vec<String> = cells.filter(|cell| known.insert(Class::of(cell))).map(str::to_owned).collect();
        names.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => x.total_cmp(&y),
            (Ok(_), Err(_)) => std::cmp::Ordering::Less,
            (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        });
        Coding::Classes(names)
    }

    /// The same of a target column; many values or fractions are no classes.
    ///
    /// # Errors
    /// `E-DATA` with a way out.
    pub fn of_target(table: &Table, column: usize) -> Result<Coding, Diagnostic> {
        let coding = Coding::classes(table, column);
        let Coding::Classes(names) = &coding else { return Ok(coding) };
        let name = &table.columns[column];
        let is_fraction = |name: &&String| name.parse::<f64>().is_ok_and(|value| libm::trunc(value) != value);
        let what = if let Some(fraction) = names.iter().find(is_fraction) {
            format!("fractions, such as {fraction}")
        } else if names.len() > MOST_CLASSES {
            format!("{} different values, more than {MOST_CLASSES}", names.len())
        } else {
            return Ok(coding);
        };
        let help = "name the column of the classes with --target; a number is learned with the loss `squared`; `labels` in [train] lists more classes";
        Err(Diagnostic::global(Code::Data, format!("the target column `{name}` holds {what}: not classes"))
            .with_help(help))
    }

    /// The numbers of some columns, row by row.
    ///
    /// # Errors
    /// `E-DATA`: each cell that is not a number; or, once, the labels that the coding does not have, at the place of the first.
    pub fn codes(&self, table: &Table, columns: &[usize]) -> Result<Vec<Vec<f64>>, Vec<Diagnostic>> {
        if *self == Coding::Number {
            return table.numbers(columns);
        }
        let known = self.known();
        let code = |cell: &str| known.get(&Class::of(cell)).copied();
        let cells = (0..table.rows.len()).flat_map(|row| columns.iter().map(move |&column| (row, column)));
        let missing: Vec<_> = cells.filter(|&(row, column)| code(&table.rows[row][column]).is_none()).collect();
        if !missing.is_empty() {
            return Err(vec![self.unknown(table, &missing)]);
        }
        let row = |row: &Row| columns.iter().filter_map(|&column| code(&row[column])).collect();
        Ok(table.rows.iter().map(row).collect())
    }

    /// The numbers that labels stand for, the first of equal ones.
    fn known(&self) -> BTreeMap<Class<'_>, f64> {
        let mut known = BTreeMap::new();
        let mut add = |name, value| {
            known.entry(Class::of(name)).or_insert(value);
        };
        match self {
            Coding::Number => {}
            Coding::Names(names) => names.iter().for_each(|(name, value)| add(name, *value)),
            Coding::Classes(names) => names.iter().enumerate().for_each(|(n, name)| add(name, n as f64)),
        }
        known
    }

    /// What is wrong with cells whose labels the coding does not have, and what can be done about it.
    fn unknown(&self, table: &Table, cells: &[(usize, usize)]) -> Diagnostic {
        let mut labels: Vec<&str> = Vec::new();
        for &(row, column) in cells {
            let label = &table.rows[row][column];
            if !labels.contains(&label) && labels.len() <= NAMED {
                labels.push(label);
            }
        }
        let named = |labels: &[&str]| labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        let (row, column) = cells[0];
        let mut message = format!("the label `{}` is not in the coding", labels[0]);
        if cells.len() > 1 {
            let more = if labels.len() > NAMED { " and others" } else { "" };
            let these = named(&labels[..labels.len().min(NAMED)]);
            message += &format!("; {} cells hold labels that are not: {these}{more}", cells.len());
        }
        let help = match self {
            Coding::Classes(classes) => {
                let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
                format!(
                    "the classes of the model are {}: train anew with all classes, or leave these rows out",
                    named(&classes)
                )
            }
            Coding::Names(names) => {
                let known: Vec<String> = names.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                format!(
                    "`labels = {{ {} }}` in the [train] table lacks it: add it with the number it means, or leave these rows out",
                    known.join(", ")
                )
            }
            Coding::Number => String::new(),
        };
        let help = if table.unnamed {
            format!(
                "the file has no header, so its columns are c1 to c{}: name that of the labels with --target; or {help}",
                table.columns.len()
            )
        } else {
            help
        };
        table.wrong(row, column, message).with_help(help)
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
        assert_eq!(classes.codes(&table, &[0]), Ok([3.0, 1.0, 0.0, 1.0, 2.0].map(|code| vec![code]).to_vec()));
        let names = Coding::Names(vec![("9".into(), -1.0), ("10".into(), 1.0)]);
        let code = |cell| names.known().get(&Class::of(cell)).copied();
        assert_eq!((code("9.0"), code("b")), (Some(-1.0), None));
        // Zeros are one class; what is not a number is a text.
        let zeros = Table::from_csv(b"y\n-0\nnan\n0.0\nNaN\n").unwrap();
        assert_eq!(Coding::classes(&zeros, 0), Coding::Classes(["-0", "nan", "NaN"].map(str::to_owned).to_vec()));
        assert_eq!(names.name(0.2), Some("10"));
    }

    #[test]
    fn labels_that_are_missing_are_said_once() {
        let table = |rows: &str| Table::from_csv(format!("x,y\n{rows}").as_bytes()).unwrap();
        let names = Coding::Names(vec![("9".into(), -1.0), ("10".into(), 1.0)]);
        let said = |coding: &Coding, rows: &str| {
            let errors = coding.codes(&table(rows), &[1]).unwrap_err();
            let [error] = errors.as_slice() else { panic!("{errors:?}") };
            (error.message.clone(), error.help.clone().unwrap())
        };
        let (message, help) = said(&names, "0,9\n0,b\n");
        assert_eq!(message, "row 2 (line 3), column `y`: the label `b` is not in the coding");
        assert!(help.starts_with("`labels = { 9 = -1, 10 = 1 }` in the [train] table lacks it: add it"), "{help}");
        let (message, _) = said(&names, "0,9\n0,b\n0,a\n0,b\n0,b\n");
        let expected = "row 2 (line 3), column `y`: the label `b` is not in the coding; \
                        4 cells hold labels that are not: `b`, `a`";
        assert_eq!(message, expected);
        let many = (100..140).map(|label| format!("0,{label}\n")).collect::<Vec<_>>().concat();
        let (message, _) = said(&names, &many);
        assert!(message.ends_with("40 cells hold labels that are not: `100`, `101`, `102`, `103`, `104` and others"));
        let classes = Coding::classes(&table("0,a\n0,b\n"), 1);
        let (_, help) = said(&classes, "0,a\n0,c\n");
        assert_eq!(help, "the classes of the model are `a`, `b`: train anew with all classes, or leave these rows out");
        let unnamed = Table::from_csv(b"5,1\n3,2\n").unwrap();
        let help = names.codes(&unnamed, &[1]).unwrap_err().remove(0).help.unwrap();
        assert!(help.starts_with(
            "the file has no header, so its columns are c1 to c2: name that of the labels with --target; or `labels"
        ));
    }

    #[test]
    fn the_nearest_name_and_as_many_as_are_named() {
        let names = Coding::Names(vec![("9".into(), -1.0), ("10".into(), 1.0)]);
        assert_eq!([-0.8, -0.1, 0.1].map(|value| names.name(value)), [Some("9"), Some("9"), Some("10")]);
        let rows = (100..105).map(|label| format!("0,{label}\n")).collect::<Vec<_>>().concat();
        let table = Table::from_csv(format!("x,y\n{rows}").as_bytes()).unwrap();
        let errors = names.codes(&table, &[1]).unwrap_err();
        assert!(errors[0].message.ends_with("hold labels that are not: `100`, `101`, `102`, `103`, `104`"));
    }
}
