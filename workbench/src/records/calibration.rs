//! Records that binary points are chosen from: rows of a table, arrays, or JSON.
//!
//! | file | its records |
//! |---|---|
//! | JSON, or a JSON object on each line | the records |
//! | `.npz` with an array for each input | one record, or as many as an array is longer than its input |
//! | any table that `train` reads: CSV, LIBSVM, `.npy`, `.npz`, Parquet | a row has the values of all inputs, in the order of the program; a last column more, or columns of text, are left out |
//!
//! Where an input takes several rows at once, as an ONNX model with an open batch does, so many rows make a record; the last one is filled
//! up with its last row.

use super::Records;
use crate::failure::{Failure, Source};
use crate::project::Project;
use crate::reading;
use crate::samples::{about_table, read_table};
use arch::{Code, Diagnostic};
use compiler::tensor::{Program, Role};
use serde_json::Value;
use sim::data::file::Reading;
use sim::ladder::Values;
use std::path::Path;

/// Fewer records say too little about the values that hardware will see.
pub const ENOUGH: usize = 32;

/// What binary points were chosen from.
#[derive(Debug, Clone, Default)]
pub struct Calibration {
    /// The records.
    pub records: Vec<Values>,
    /// Rows in them.
    pub rows: usize,
}

/// An input that records give: its name and how many elements it has.
type Input<'a> = (&'a str, usize);

/// Read the records that `--calibrate` names; `None` without it.
///
/// # Errors
/// The file cannot be read, or its rows are not what the inputs of the program take.
pub fn read(project: &Project, program: &Program) -> Result<Option<Calibration>, Failure> {
    let Some(path) = &project.calibrate else { return Ok(None) };
    let inputs: Vec<Input<'_>> = program
        .tensors
        .iter()
        .filter(|tensor| matches!(tensor.role, Role::Input | Role::Label | Role::InOut))
        .map(|tensor| (tensor.name.as_str(), tensor.shape.iter().map(|&extent| extent as usize).product()))
        .collect();
    let rows = match path.extension().and_then(|extension| extension.to_str()) {
        Some("json" | "jsonl" | "ndjson") => of_json(path, &inputs)?,
        Some("npz") => of_arrays(path, &inputs).map_or_else(|| of_table(path, &inputs), Ok)?,
        _ => of_table(path, &inputs)?,
    };
    records(&rows, &inputs).map(Some).map_err(|message| wrong(path, &message))
}

/// Values of the inputs, in their order.
type Row = Vec<Vec<f64>>;

/// Rows become records.
fn records(rows: &[Row], inputs: &[Input<'_>]) -> Result<Calibration, String> {
    let Some(first) = rows.first() else { return Err("there are no records".to_owned()) };
    let mut at_once = None;
    for ((name, elements), values) in inputs.iter().zip(first) {
        let several = elements.checked_div(values.len()).filter(|&rows| rows > 0 && rows * values.len() == *elements);
        let Some(several) = several else {
            return Err(format!("a record gives {} values to `{name}`, which takes {elements}", values.len()));
        };
        if at_once.is_some_and(|known| known != several) {
            return Err(format!("`{name}` takes {several} records at once, and another input does not"));
        }
        at_once = Some(several);
    }
    let at_once = at_once.ok_or("the program has no inputs that records give")?;
    let record = |rows: &[Row]| -> Values {
        let value = |(number, &(name, _)): (usize, &Input<'_>)| {
            let given = (0..at_once).map(|row| &rows[row.min(rows.len() - 1)][number]);
            (name.to_owned(), given.flatten().copied().collect())
        };
        inputs.iter().enumerate().map(value).collect()
    };
    let same = |row: &Row| row.iter().zip(first).all(|(row, first)| row.len() == first.len());
    if let Some(number) = rows.iter().position(|row| !same(row)) {
        return Err(format!("record {} has another size than the first one", number + 1));
    }
    Ok(Calibration { records: rows.chunks(at_once).map(record).collect(), rows: rows.len() })
}

fn of_json(path: &Path, inputs: &[Input<'_>]) -> Result<Vec<Row>, Failure> {
    let name = path.display().to_string();
    let text = reading::text(path, reading::DOCUMENT)?;
    let whole = serde_json::from_str::<Value>(&text).is_ok();
    let parse = |text: &str| Records::parse(Source { name: name.clone(), text: text.to_owned() });
    let mut all: Vec<Value> = Vec::new();
    if whole {
        all.extend(parse(&text)?.all().iter().cloned());
    } else {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            all.extend(parse(line)?.all().iter().cloned());
        }
    }
    let row = |(number, record): (usize, &Value)| -> Result<Row, Failure> {
        let value = |&(name, _): &Input<'_>| {
            let mut values = Vec::new();
            let is_numbers = record.get(name).is_some_and(|value| flatten(value, &mut values));
            let message = || format!("record {} has no numbers for `{name}`", number + 1);
            if is_numbers { Ok(values) } else { Err(wrong(path, &message())) }
        };
        inputs.iter().map(value).collect()
    };
    all.iter().enumerate().map(row).collect()
}

fn flatten(value: &Value, into: &mut Vec<f64>) -> bool {
    match value {
        Value::Array(list) => list.iter().all(|value| flatten(value, into)),
        Value::Bool(truth) => {
            into.push(f64::from(u8::from(*truth)));
            true
        }
        other => other.as_f64().map(|number| into.push(number)).is_some(),
    }
}

/// Arrays called as the inputs; nothing if there are others.
fn of_arrays(path: &Path, inputs: &[Input<'_>]) -> Option<Vec<Row>> {
    let records = Records::open(path).ok()?;
    let arrays = inputs.iter().map(|&(name, elements)| {
        let mut values = Vec::new();
        let array = records.first().get(name)?;
        let rows = array.as_array().map_or(1, Vec::len).max(1);
        flatten(array, &mut values).then_some(())?;
        let one = if values.len() % elements.max(1) == 0 { elements } else { values.len() / rows };
        (one > 0 && values.len() % one == 0).then(|| values.chunks(one).map(<[f64]>::to_vec).collect::<Vec<_>>())
    });
    let arrays: Vec<Vec<Vec<f64>>> = arrays.collect::<Option<_>>()?;
    let count = arrays.iter().map(Vec::len).max()?;
    if arrays.iter().any(|array| array.len() != count) {
        return None;
    }
    Some((0..count).map(|row| arrays.iter().map(|array| array[row].clone()).collect()).collect())
}

fn of_table(path: &Path, inputs: &[Input<'_>]) -> Result<Vec<Row>, Failure> {
    let table = read_table(path, &Reading::default())?;
    let numeric = |column: &usize| table.number(0, *column).is_ok();
    let by_name: Option<Vec<usize>> =
        inputs.iter().map(|(name, _)| table.columns.iter().position(|column| column == name)).collect();
    let mut columns: Vec<usize> = (0..table.columns.len()).filter(numeric).collect();
    let mut widths: Vec<usize> = inputs.iter().map(|&(_, elements)| elements).collect();
    if let Some(named) = by_name {
        columns = named;
        widths = vec![1; inputs.len()];
    } else if let [elements] = widths[..] {
        // A row of an input that takes several, and perhaps a label behind it.
        let divides = |width: usize| width > 0 && elements % width == 0;
        if !divides(columns.len()) && divides(columns.len().saturating_sub(1)) {
            columns.pop();
        }
        widths = vec![columns.len()];
    } else if columns.len() == widths.iter().sum::<usize>() + 1 {
        columns.pop();
    }
    if columns.len() != widths.iter().sum::<usize>() {
        let wanted =
            inputs.iter().map(|(name, elements)| format!("`{name}`: {elements}")).collect::<Vec<_>>().join(", ");
        return Err(wrong(path, &format!("a row has {} numbers, the inputs take {wanted}", columns.len())));
    }
    let rows = table.numbers(&columns).map_err(|diagnostics| about_table(path, &table, diagnostics))?;
    let parts = |row: &Vec<f64>| {
        let mut rest = row.as_slice();
        let mut part = |&width: &usize| {
            let (part, behind) = rest.split_at(width);
            rest = behind;
            part.to_vec()
        };
        widths.iter().map(&mut part).collect()
    };
    Ok(rows.iter().map(parts).collect())
}

fn wrong(path: &Path, message: &str) -> Failure {
    Failure::data(path.display().to_string(), vec![Diagnostic::global(Code::Data, message.to_owned())])
}

/// W-CALIBRATION where there are few records; `outside` is how many values of other records their formats do not hold.
pub fn warning(rows: usize, outside: Option<u64>) -> Option<Diagnostic> {
    let few = rows < ENOUGH;
    let outside = outside.filter(|&outside| outside > 0);
    if !few && outside.is_none() {
        return None;
    }
    let records = if rows == 1 { "1 record".to_owned() } else { format!("{rows} records") };
    let mut message = format!("binary points are chosen from {records}");
    if let Some(outside) = outside {
        let values = if outside == 1 { "value".to_owned() } else { "values".to_owned() };
        message += &format!("; {outside} {values} of this run did not fit");
    }
    let help = format!(
        "`--calibrate FILE` with at least {ENOUGH} records of what the hardware will see; `headroom` in [numbers] leaves more room"
    );
    Some(Diagnostic::global(Code::WarnCalibration, message).with_help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_make_records_of_the_size_of_the_inputs() {
        let rows: Vec<Row> = (0..5).map(|row| vec![vec![f64::from(row), 0.5]]).collect();
        let found = records(&rows, &[("x", 4)]).unwrap();
        assert_eq!(found.rows, 5);
        let last = &found.records[2]["x"];
        assert_eq!((found.records.len(), last), (3, &vec![4.0, 0.5, 4.0, 0.5]));
        assert!(records(&rows, &[("x", 3)]).unwrap_err().contains("gives 2 values to `x`, which takes 3"));
        assert!(records(&[], &[("x", 3)]).is_err());
    }

    #[test]
    fn few_records_are_told() {
        assert!(warning(32, None).is_none() && warning(32, Some(0)).is_none());
        assert!(warning(1, None).unwrap().message.ends_with("from 1 record"));
        let said = warning(40, Some(3)).unwrap().message;
        assert!(said.ends_with("from 40 records; 3 values of this run did not fit"), "{said}");
    }
}
