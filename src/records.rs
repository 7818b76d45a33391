//! Values of the host as JSON: one record (`{"NAME": number or list, ...}`), or a list of them.

use crate::failure::{Failure, Source};
use arch::{Code, Diagnostic};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// What `--inputs` names, in order; a record is whatever stands there, the program decides whether it will do.
pub struct Records {
    /// At least one.
    records: Vec<Value>,
    /// The text, for messages.
    pub source: Source,
}

impl Records {
    /// From a file, or from stdin where it is called `-`; without a path one record that names nothing.
    ///
    /// # Errors
    /// It cannot be read, is not JSON, or is an empty list.
    pub fn read(path: Option<&Path>) -> Result<Records, Failure> {
        let Some(path) = path else {
            let source = Source { name: "no inputs".to_owned(), text: String::new() };
            return Ok(Records { records: vec![Value::Object(serde_json::Map::new())], source });
        };
        let text = if path.as_os_str() == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        } else {
            std::fs::read_to_string(path)
        };
        let text = text.map_err(|error| Failure::file("read", path, &error))?;
        let name = path.display().to_string();
        let value = serde_json::from_str(&text).map_err(|error| {
            let message = format!("line {}, column {}: no JSON: {error}", error.line(), error.column());
            Failure::json(name.clone(), text.clone(), message, &error)
        })?;
        let source = Source { name, text };
        let records = match value {
            Value::Array(records) if records.is_empty() => return Err(wrong(&source, "the list of records is empty")),
            Value::Array(records) => records,
            record => vec![record],
        };
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
