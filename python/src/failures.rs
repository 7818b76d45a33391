//! Failures as exceptions, diagnostics as objects: the classes are Python's, in `tabla_gen.errors`.

use arch::Diagnostic;
use arch::diagnostic::line_column;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use workbench::{Failure, Source, drawing};

/// The class that stands for a failure.
fn class_of(failure: &Failure) -> &'static str {
    match failure {
        Failure::Diagnostics { .. } => "ProgramError",
        Failure::DoesNotFit { .. } => "DoesNotFitError",
        Failure::Usage(_) => "UsageError",
        Failure::Mismatch(_) => "MismatchError",
        Failure::Saturated(_) => "SaturatedError",
        Failure::Inaccurate(_) => "InaccurateError",
        Failure::Tool(_) => "ToolError",
        Failure::File(_) => "FileError",
        Failure::Bug(_) | Failure::Interrupted => "InternalError",
    }
}

/// The exception of a failure.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    if matches!(failure, Failure::Interrupted) {
        return PyKeyboardInterrupt::new_err(());
    }
    instance(py, failure).unwrap_or_else(|error| error)
}

fn instance(py: Python<'_>, failure: &Failure) -> PyResult<PyErr> {
    let diagnostics = match failure {
        Failure::Diagnostics { source, diagnostics } | Failure::DoesNotFit { source, diagnostics } => {
            objects(py, source, diagnostics)?
        }
        _ => Vec::new(),
    };
    let class = py.import("tabla_gen.errors")?.getattr(class_of(failure))?;
    let exception = class.call1((failure.to_string(), failure.code().as_str(), diagnostics, failure.drawn(false)))?;
    Ok(PyErr::from_value(exception))
}

/// Diagnostics as objects of Python.
pub(crate) fn objects(py: Python<'_>, source: &Source, diagnostics: &[Diagnostic]) -> PyResult<Vec<Py<PyAny>>> {
    let class = py.import("tabla_gen.errors")?.getattr("Diagnostic")?;
    let object = |diagnostic: &Diagnostic| -> PyResult<Py<PyAny>> {
        let place = |byte: usize| line_column(&source.text, byte);
        // A text that is not shown has no places.
        let span = diagnostic.span.filter(|_| !source.text.is_empty());
        let (start, end) = (span.map(|span| place(span.start)), span.map(|span| place(span.end)));
        let severity = if diagnostic.code.is_warning() { "warning" } else { "error" };
        let fields: Bound<'_, PyDict> = [
            ("code", diagnostic.code.as_str()),
            ("severity", severity),
            ("message", diagnostic.message.as_str()),
            ("file", source.name.as_str()),
        ]
        .into_py_dict(py)?;
        fields.set_item("line", start.map(|(line, _)| line))?;
        fields.set_item("column", start.map(|(_, column)| column))?;
        fields.set_item("end_line", end.map(|(line, _)| line))?;
        fields.set_item("end_column", end.map(|(_, column)| column))?;
        fields.set_item("label", diagnostic.label.as_deref())?;
        fields.set_item("help", diagnostic.help.as_deref())?;
        fields.set_item("rendered", drawing::text(source, diagnostic, false))?;
        Ok(class.call((), Some(&fields))?.unbind())
    };
    diagnostics.iter().map(object).collect()
}
