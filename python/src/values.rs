//! Arrays of Python as values of a program, and back.
//!
//! Values of a program are JSON: nested lists, `null` for what is undefined, text for numbers that JSON does not have.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use serde_json::{Map, Value};
use sim::eval::write_elements;

/// An array of float64 that Python has made, row by row.
pub(crate) struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl<'py> FromPyObject<'_, 'py> for Array {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Array> {
        let buffer = PyBuffer::<f64>::get(&object)?;
        Ok(Array { shape: buffer.shape().to_vec(), values: buffer.to_vec(object.py())? })
    }
}

impl Array {
    /// The elements.
    pub(crate) fn elements(&self) -> &[f64] {
        &self.values
    }

    /// The rows of a matrix.
    pub(crate) fn rows(&self) -> Vec<Vec<f64>> {
        match self.shape[..] {
            [count, 0] => vec![Vec::new(); count],
            [_, width] => self.values.chunks_exact(width).map(<[f64]>::to_vec).collect(),
            _ => Vec::new(),
        }
    }

    /// How many rows it has.
    pub(crate) fn count(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }
}

/// Elements of float64 and the shape that they have, of which Python makes an array without copying them.
pub(crate) type Shaped<'py> = (Bound<'py, PyByteArray>, Vec<usize>);

/// Elements row by row as an array.
pub(crate) fn shaped<'py>(py: Python<'py>, values: &[f64], shape: Vec<usize>) -> Shaped<'py> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    (PyByteArray::new(py, &bytes), shape)
}

/// Rows as a matrix; all have the same length.
pub(crate) fn matrix<'py>(py: Python<'py>, rows: &[Vec<f64>], width: usize) -> Shaped<'py> {
    shaped(py, &rows.concat(), vec![rows.len(), width])
}

/// Inputs by name: arrays of float64 or int64, or numbers, which Python has made of whatever was given.
///
/// # Errors
/// A value is no such array.
pub(crate) fn record(inputs: &Bound<'_, PyDict>) -> PyResult<Value> {
    let mut record = Map::new();
    for (name, value) in inputs {
        record.insert(name.extract()?, of_array(&value)?);
    }
    Ok(Value::Object(record))
}

fn of_array(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(array) = value.extract::<Array>() {
        let shape: Vec<u32> = array.shape.iter().map(|&extent| extent as u32).collect();
        let elements: Vec<Option<f64>> = array.values.into_iter().map(Some).collect();
        return Ok(write_elements(&elements, &shape));
    }
    if let Ok(buffer) = PyBuffer::<i64>::get(value) {
        let mut elements = buffer.to_vec(value.py())?.into_iter().map(Value::from);
        return Ok(nested(&mut elements, buffer.shape()));
    }
    // A scalar has no shape.
    if let Ok(integer) = value.extract::<i64>() {
        return Ok(Value::from(integer));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(write_elements(&[Some(number)], &[]));
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("an input is an array of float64 or int64, not {kind}")))
}

/// Elements row by row as nested lists. Without an extent of 0, all of them are taken.
fn nested(elements: &mut impl Iterator<Item = Value>, shape: &[usize]) -> Value {
    match shape {
        [] => elements.next().unwrap_or(Value::Null),
        [extent, inner @ ..] => Value::Array((0..*extent).map(|_| nested(elements, inner)).collect()),
    }
}

/// A value of a program as `(values, undefined, truth)`: all elements, the flat numbers of those that have no value, and whether all are
/// truth values.
pub(crate) fn to_array<'py>(py: Python<'py>, value: &Value) -> (Shaped<'py>, Vec<usize>, bool) {
    let mut shape = Vec::new();
    let mut inner = value;
    while let Value::Array(list) = inner {
        shape.push(list.len());
        let Some(first) = list.first() else { break };
        inner = first;
    }
    let mut flat = Flat::default();
    flat.take(value);
    let truth = flat.truths > 0 && flat.truths + flat.undefined.len() == flat.values.len();
    (shaped(py, &flat.values, shape), flat.undefined, truth)
}

/// Elements in order.
#[derive(Default)]
struct Flat {
    values: Vec<f64>,
    undefined: Vec<usize>,
    truths: usize,
}

impl Flat {
    fn take(&mut self, value: &Value) {
        let element = match value {
            Value::Array(list) => {
                for element in list {
                    self.take(element);
                }
                return;
            }
            Value::Bool(truth) => {
                self.truths += 1;
                Some(f64::from(u8::from(*truth)))
            }
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            Value::Null | Value::Object(_) => None,
        };
        if element.is_none() {
            self.undefined.push(self.values.len());
        }
        self.values.push(element.unwrap_or(f64::NAN));
    }
}
