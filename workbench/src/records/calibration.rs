//! Records that binary points are chosen from: rows of a table, arrays, or JSON.
//!
//! | file | its records |
//! |---|---|
//! | JSON, or a JSON object on each line | the records |
//! | `.npz` with an array for each input | one record, or one for each row of the arrays |
//! | any table that `train` reads: CSV, LIBSVM, `.npy`, `.npz` of one array, Parquet | a row has the values of all inputs, in the order of the program; a last column more, or columns without a number, are left out |
//!
//! Where an input takes several rows at once, as an ONNX model with an open batch does, so many rows make a record; the last one is filled
//! up with its last row. Other widths than that of an input, or of a row of it, are refused.

use super::Records;
use crate::failure::{Failure, Source};
use crate::project::Project;
use crate::reading;
use crate::samples::{about_table, read_table};
use arch::{Code, Diagnostic};
use compiler::tensor::{Program, Role, Tensor};
use serde_json::Value;
use sim::data::file::Reading;
use sim::data::table::Table;
use sim::ladder::NamedValues;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fewer records say too little about the values that hardware will see.
pub const ENOUGH: usize = 32;

/// Where the records are.
#[derive(Debug, Clone)]
pub enum Origin {
    /// In a file.
    File(PathBuf),
    /// In memory.
    Table(Arc<Table>),
}

/// What binary points were chosen from.
#[derive(Debug, Clone, Default)]
pub struct Calibration {
    /// The records.
    pub records: Vec<NamedValues>,
    /// Rows in them.
    pub rows: usize,
    /// Rows that a record takes at once.
    pub at_once: usize,
    /// The rows as a table that makes the same records.
    pub csv: String,
}

/// An input that records give.
#[derive(Debug, Clone, Copy)]
struct Input<'a> {
    name: &'a str,
    elements: usize,
    /// Extent of its first dimension.
    rows: usize,
    /// Whether that is the only one.
    flat: bool,
}

impl<'a> Input<'a> {
    fn of(name: &'a str, shape: &[u32]) -> Input<'a> {
        let elements = shape.iter().map(|&extent| extent as usize).product();
        Input { name, elements, rows: shape.first().map_or(1, |&extent| extent as usize), flat: shape.len() < 2 }
    }

    /// How many rows of so many values make it: one, or as many as it has itself.
    fn takes(&self, values: usize) -> Option<usize> {
        [1, self.rows].into_iter().find(|rows| values > 0 && rows * values == self.elements)
    }
}

/// Read the records that `--calibrate` names; `None` without it.
///
/// # Errors
/// The file cannot be read, or its rows are not what the inputs of the program take.
pub fn read(project: &Project, program: &Program) -> Result<Option<Calibration>, Failure> {
    let inputs = inputs(program);
    let path = match &project.calibrate {
        None => return Ok(None),
        Some(Origin::File(path)) => path,
        Some(Origin::Table(table)) => {
            let path = Path::new("X");
            let rows = rows_of_table(path, table, None, &inputs)?;
            return records(&rows, &inputs).map(Some).map_err(|message| wrong(path, &message));
        }
    };
    let rows = match path.extension().and_then(|extension| extension.to_str()) {
        Some("json" | "jsonl" | "ndjson") => of_json(path, &inputs)?,
        Some("npz") => of_arrays(path, &inputs)?.map_or_else(|| of_table(path, &inputs), Ok)?,
        _ => of_table(path, &inputs)?,
    };
    records(&rows, &inputs).map(Some).map_err(|message| wrong(path, &message))
}

/// What records give.
fn inputs(program: &Program) -> Vec<Input<'_>> {
    let given = |tensor: &&Tensor| matches!(tensor.role, Role::Input | Role::Label | Role::InOut);
    program.tensors.iter().filter(given).map(|tensor| Input::of(&tensor.name, &tensor.shape)).collect()
}

/// The rows of a table, of these columns, for the inputs of a program.
pub(crate) struct Rows<'a> {
    inputs: Vec<Input<'a>>,
    rows: Vec<Row>,
}

impl Rows<'_> {
    /// Read them.
    ///
    /// # Errors
    /// They are not what the inputs take.
    pub(crate) fn new<'a>(
        path: &Path,
        table: &Table,
        program: &'a Program,
        columns: Vec<usize>,
    ) -> Result<Rows<'a>, Failure> {
        let inputs = inputs(program);
        let rows = rows_of_table(path, table, Some(columns), &inputs)?;
        Ok(Rows { inputs, rows })
    }

    /// Other values for those of an input, by its number.
    pub(crate) fn map(&mut self, input: usize, change: impl Fn(f64) -> f64) {
        for value in self.rows.iter_mut().filter_map(|row| row.get_mut(input)).flatten() {
            *value = change(*value);
        }
    }

    /// Some of them as records.
    ///
    /// # Errors
    /// They are not what the inputs take.
    pub(crate) fn records(&self, path: &Path, part: &[usize]) -> Result<Calibration, Failure> {
        let rows: Vec<Row> = part.iter().map(|&row| self.rows[row].clone()).collect();
        records(&rows, &self.inputs).map_err(|message| wrong(path, &message))
    }
}

/// Values of the inputs, in their order.
type Row = Vec<Vec<f64>>;

/// Rows become records.
fn records(rows: &[Row], inputs: &[Input<'_>]) -> Result<Calibration, String> {
    let Some(first) = rows.first() else { return Err("there are no records".to_owned()) };
    let mut at_once = None;
    for (input, values) in inputs.iter().zip(first) {
        let Input { name, elements, rows, .. } = input;
        let Some(several) = input.takes(values.len()) else {
            let or_row = if *rows > 1 { format!(", or {} of a row", elements / rows) } else { String::new() };
            return Err(format!("a record gives {} values to `{name}`, which takes {elements}{or_row}", values.len()));
        };
        if at_once.is_some_and(|known| known != several) {
            return Err(format!("`{name}` takes {several} records at once, and another input does not"));
        }
        at_once = Some(several);
    }
    let at_once = at_once.ok_or("the program has no inputs that records give")?;
    let record = |rows: &[Row]| -> NamedValues {
        let value = |(number, Input { name, .. }): (usize, &Input<'_>)| {
            let given = (0..at_once).map(|row| &rows[row.min(rows.len() - 1)][number]);
            ((*name).to_owned(), given.flatten().copied().collect())
        };
        inputs.iter().enumerate().map(value).collect()
    };
    let same = |row: &Row| row.iter().zip(first).all(|(row, first)| row.len() == first.len());
    if let Some(number) = rows.iter().position(|row| !same(row)) {
        return Err(format!("record {} has another size than the first one", number + 1));
    }
    Ok(Calibration {
        records: rows.chunks(at_once).map(record).collect(),
        rows: rows.len(),
        at_once,
        csv: csv(rows, inputs),
    })
}

/// Rows as a table: a column for each number of an input.
fn csv(rows: &[Row], inputs: &[Input<'_>]) -> String {
    let columns = |(input, values): (&Input<'_>, &Vec<f64>)| -> Vec<String> {
        match values.len() {
            1 => vec![input.name.to_owned()],
            count => (0..count).map(|k| format!("{}.{k}", input.name)).collect(),
        }
    };
    let quoted = |name: String| {
        if name.contains([',', '"', '\n']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
    };
    let head = inputs.iter().zip(&rows[0]).flat_map(columns).map(quoted).collect::<Vec<_>>().join(",");
    let line = |row: &Row| row.iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(",");
    rows.iter().map(line).fold(head, |text, line| text + "\n" + &line) + "\n"
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
        let value = |&Input { name, .. }: &Input<'_>| {
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

/// Arrays called as the inputs; nothing if there is one array, or one without numbers, which is a table.
fn of_arrays(path: &Path, inputs: &[Input<'_>]) -> Result<Option<Vec<Row>>, Failure> {
    let Ok(records) = Records::open(path) else { return Ok(None) };
    let Some(found) = records.first().as_object() else { return Ok(None) };
    let named =
        |names: &mut dyn Iterator<Item = &str>| names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if inputs.iter().any(|input| !found.contains_key(input.name)) {
        if found.len() == 1 {
            return Ok(None);
        }
        let (arrays, names) = (named(&mut found.keys().map(String::as_str)), named(&mut inputs.iter().map(|i| i.name)));
        return Err(wrong(path, &format!("its arrays are {arrays}, the inputs of the program {names}")));
    }
    let mut arrays = Vec::new();
    for input in inputs {
        let (array, mut values) = (&found[input.name], Vec::new());
        if !flatten(array, &mut values) {
            return Ok(None);
        }
        let rows = array.as_array().map_or(1, Vec::len).max(1);
        let one = if values.len() == input.elements { values.len() } else { values.len() / rows };
        arrays.push(values.chunks(one.max(1)).map(<[f64]>::to_vec).collect::<Vec<_>>());
    }
    let count = arrays.first().map_or(0, Vec::len);
    if let Some(other) = arrays.iter().position(|array| array.len() != count) {
        let (first, second, others) = (inputs[0].name, inputs[other].name, arrays[other].len());
        return Err(wrong(path, &format!("`{first}` has {count} records, `{second}` has {others}")));
    }
    Ok(Some((0..count).map(|row| arrays.iter().map(|array| array[row].clone()).collect()).collect()))
}

fn of_table(path: &Path, inputs: &[Input<'_>]) -> Result<Vec<Row>, Failure> {
    rows_of_table(path, &read_table(path, &Reading::default())?, None, inputs)
}

fn rows_of_table(
    path: &Path,
    table: &Table,
    chosen: Option<Vec<usize>>,
    inputs: &[Input<'_>],
) -> Result<Vec<Row>, Failure> {
    let numeric = |column: &usize| (0..table.rows.len()).any(|row| table.number(row, *column).is_ok());
    let by_name: Option<Vec<usize>> = inputs
        .iter()
        .map(|input| table.columns.iter().position(|column| column == input.name && input.takes(1).is_some()))
        .collect();
    let mut columns = chosen.unwrap_or_else(|| (0..table.columns.len()).filter(numeric).collect());
    let mut widths: Vec<usize> = inputs.iter().map(|input| input.elements).collect();
    if let Some(named) = by_name {
        columns = named;
        widths = vec![1; inputs.len()];
    } else if let [input] = inputs {
        // A row of an input that takes several, and perhaps a label behind it. An input of one dimension has no rows.
        let fits = |width: usize| input.takes(width).is_some() && (width == input.elements || !input.flat);
        if !fits(columns.len()) && fits(columns.len().saturating_sub(1)) {
            columns.pop();
        }
        if fits(columns.len()) {
            widths = vec![columns.len()];
        }
    } else if columns.len() == widths.iter().sum::<usize>() + 1 {
        columns.pop();
    }
    if columns.len() != widths.iter().sum::<usize>() {
        let wanted =
            inputs.iter().map(|input| format!("`{}`: {}", input.name, input.elements)).collect::<Vec<_>>().join(", ");
        return Err(wrong(path, &format!("a row has {} numbers, the inputs take {wanted}", columns.len())));
    }
    let rows = table.numbers(&columns).map_err(|diagnostics| about_table(path, table, diagnostics))?;
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
    let records = if few { format!("at least {ENOUGH} records") } else { "larger values among its records".to_owned() };
    let help = format!(
        "`--calibrate FILE` with {records}, as the hardware will see them; `headroom` in [numbers] leaves more room"
    );
    Some(Diagnostic::global(Code::WarnCalibration, message).with_help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_make_records_of_the_size_of_the_inputs() {
        let rows: Vec<Row> = (0..5).map(|row| vec![vec![f64::from(row), 0.5]]).collect();
        let found = records(&rows, &[Input::of("x", &[2, 2])]).unwrap();
        assert_eq!(found.rows, 5);
        let last = &found.records[2]["x"];
        assert_eq!((found.records.len(), last), (3, &vec![4.0, 0.5, 4.0, 0.5]));
        let refused = |shape: &[u32]| records(&rows, &[Input::of("x", shape)]).unwrap_err();
        assert!(refused(&[3]).contains("gives 2 values to `x`, which takes 3"));
        // Two of four columns are no row of an input that has one, nor of one with rows of other sizes.
        assert!(refused(&[1, 4]).contains("gives 2 values to `x`, which takes 4"));
        assert!(refused(&[4, 3]).contains("gives 2 values to `x`, which takes 12, or 3 of a row"));
        assert!(records(&[], &[Input::of("x", &[3])]).is_err());
    }

    #[test]
    fn few_records_are_told() {
        assert!(warning(32, None).is_none() && warning(32, Some(0)).is_none());
        assert!(warning(1, None).unwrap().message.ends_with("from 1 record"));
        let said = warning(40, Some(3)).unwrap().message;
        assert!(said.ends_with("from 40 records; 3 values of this run did not fit"), "{said}");
    }
}
