//! Values of the host as JSON: one record (`{"NAME": number or list, ...}`), or a list of them.

pub mod calibration;
pub mod places;

use crate::failure::{Failure, Source};
use crate::reading;
use arch::{Code, Diagnostic};
use places::Place;
use serde_json::Value;
use sim::data::file::Limits;
use sim::data::{npy, npz};
use sim::eval::write_elements;
use std::path::Path;

/// Most names of a record. No program has so many inputs, and who looks for one of them looks at all.
const MOST_NAMES: usize = 4096;

/// Records in order; a record is whatever stands there, the program decides whether it will do.
#[derive(Debug, Clone)]
pub struct Records {
    /// At least one.
    records: Vec<Value>,
    /// The text, for messages.
    pub source: Source,
}

impl Default for Records {
    /// One record that names nothing.
    fn default() -> Records {
        let source = Source { name: "no inputs".to_owned(), text: String::new() };
        Records { records: vec![Value::Object(serde_json::Map::new())], source }
    }
}

impl Records {
    /// Those of a file: JSON, or an npz archive by its extension; of stdin where it is called `-`.
    ///
    /// # Errors
    /// It cannot be read, or holds no records.
    pub fn open(path: &Path) -> Result<Records, Failure> {
        let name = path.display().to_string();
        if path.extension().is_some_and(|extension| extension == "npz") {
            return Records::of_npz(&name, &reading::bytes(path, reading::DOCUMENT)?);
        }
        let text = reading::text_or_stdin(path, reading::DOCUMENT)?;
        Records::parse(Source { name, text })
    }

    /// From JSON text.
    ///
    /// # Errors
    /// It is not JSON, or is an empty list.
    pub fn parse(source: Source) -> Result<Records, Failure> {
        reading::check_values(&source.name, &source.text)?;
        let value = serde_json::from_str(&source.text).map_err(|error| {
            let message = format!("line {}, column {}: no JSON: {error}", error.line(), error.column());
            Failure::json(source.name.clone(), source.text.clone(), message, &error)
        })?;
        let records = match value {
            Value::Array(records) if records.is_empty() => return Err(wrong(&source, "the list of records is empty")),
            Value::Array(records) => records,
            record => vec![record],
        };
        Records::limited(records, source)
    }

    /// One record of the arrays of an npz archive.
    ///
    /// # Errors
    /// It is damaged.
    pub fn of_npz(name: &str, bytes: &[u8]) -> Result<Records, Failure> {
        let arrays = npz::read(bytes, Limits::default()).map_err(|wrong| Failure::data(name, vec![wrong]))?;
        let value = |array: &npy::Array| {
            let shape: Vec<u32> = array.shape.iter().map(|&extent| extent as u32).collect();
            // Sizes are integers without a point.
            if let ([], true, [value]) = (&shape[..], array.whole, &array.values[..]) {
                return Value::from(*value as i64);
            }
            let elements: Vec<Option<f64>> = array.values.iter().copied().map(Some).collect();
            write_elements(&elements, &shape)
        };
        let record = arrays.iter().map(|(name, array)| (name.clone(), value(array))).collect();
        let source = Source { name: name.to_owned(), text: String::new() };
        Records::limited(vec![Value::Object(record)], source)
    }

    fn limited(records: Vec<Value>, source: Source) -> Result<Records, Failure> {
        let names = records.iter().filter_map(Value::as_object).map(serde_json::Map::len).max().unwrap_or(0);
        if names > MOST_NAMES {
            let message = format!("a record has {names} names, the limit is {MOST_NAMES}");
            return Err(Failure::data(source.name, vec![Diagnostic::global(Code::Limit, message)]));
        }
        Ok(Records { records, source })
    }

    /// The first one: all have the same sizes.
    pub fn first(&self) -> &Value {
        &self.records[0]
    }

    /// All of them.
    pub fn all(&self) -> &[Value] {
        &self.records
    }

    /// Where the names of all records stand, in order; a name that comes twice in a record comes twice.
    pub fn places(&self) -> Vec<Place> {
        places::names(&self.source.text)
    }

    /// The only one.
    ///
    /// # Errors
    /// There are several.
    pub fn one(&self) -> Result<&Value, Failure> {
        match &self.records[..] {
            [record] => Ok(record),
            several => {
                let message = format!("an evaluation takes one record; this is a list of {}", several.len());
                Err(wrong(&self.source, &message))
            }
        }
    }
}

fn wrong(source: &Source, message: &str) -> Failure {
    Failure::about(source, vec![Diagnostic::global(Code::Data, message)])
}
