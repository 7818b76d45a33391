//! Diagnostics for people (ariadne, on stderr) and for programs (JSON, on stdout).

use crate::arguments::{Format, Global};
use crate::failure::{Failure, Source};
use crate::output::{self, Talk};
use arch::diagnostic::line_column;
use arch::{Code, Diagnostic};
use ariadne::{Config, IndexType, Label, Report, ReportKind};
use serde_json::{Value, json};

/// Tell the user why the tool stops.
pub fn failure(failure: &Failure, global: &Global, talk: &Talk) {
    let (source, diagnostics) = match failure {
        Failure::Diagnostics { source, diagnostics } | Failure::DoesNotFit { source, diagnostics } => {
            (source, diagnostics.as_slice())
        }
        Failure::Usage(message)
        | Failure::Mismatch(message)
        | Failure::Tool(message)
        | Failure::File(message)
        | Failure::Bug(message) => {
            let internal =
                if matches!(failure, Failure::Bug(_)) { " (a bug of tabla-gen; please report it)" } else { "" };
            let message = format!("{message}{internal}");
            output::error_line(&format!("error: {message}"));
            // A mismatch stands in the result, and stdout holds one document only.
            if global.format == Format::Json && !matches!(failure, Failure::Usage(_) | Failure::Mismatch(_)) {
                let _ = output::json(&plain(failure.code(), &message));
            }
            return;
        }
        Failure::Interrupted => {
            output::error_line("interrupted");
            if global.format == Format::Json {
                let _ = output::json(&plain(failure.code(), "interrupted"));
            }
            return;
        }
    };
    if global.format == Format::Json {
        // Nobody is left to tell if stdout cannot be written.
        let _ = output::json(&document(source, diagnostics));
    } else {
        for diagnostic in diagnostics {
            output::error_line(text(source, diagnostic, talk.colour).trim_end());
        }
    }
}

/// One error that is about no text, as a document.
fn plain(code: &str, message: &str) -> Value {
    json!({ "schema_version": 1, "diagnostics": [error(code, message)] })
}

/// One error that is about no text, as a JSON object.
fn error(code: &str, message: &str) -> Value {
    json!({ "code": code, "severity": "error", "message": message })
}

/// Say in a result that two rungs of the ladder disagree.
pub fn add_mismatch(result: &mut Value, mismatch: &Failure) {
    let Failure::Mismatch(message) = mismatch else { return };
    let error = error(mismatch.code(), message);
    match result["diagnostics"].as_array_mut() {
        Some(diagnostics) => diagnostics.push(error),
        None => result["diagnostics"] = json!([error]),
    }
}

/// Show warnings on stderr.
pub fn warnings(source: &Source, warnings: &[Diagnostic], talk: &Talk) {
    for warning in warnings {
        talk.say(text(source, warning, talk.colour).trim_end());
    }
}

/// A diagnostic as people read it.
pub fn text(source: &Source, diagnostic: &Diagnostic, colour: bool) -> String {
    let severity = if diagnostic.code.is_warning() { "warning" } else { "error" };
    // Data files have long lines; their messages name row and column.
    let shown = diagnostic.code != Code::Data && (!source.text.is_empty() || source.name.is_empty());
    let Some(span) = diagnostic.span.filter(|_| shown) else {
        let mut lines = format!("{severity}[{}]: {}\n  in {}\n", diagnostic.code, diagnostic.message, source.name);
        if let Some(help) = &diagnostic.help {
            lines.push_str(&format!("  help: {help}\n"));
        }
        return lines;
    };
    let length = source.text.len();
    let range = |span: arch::Span| {
        let start = span.start.min(length);
        (source.name.as_str(), start..span.end.clamp(start, length))
    };
    let kind = if diagnostic.code.is_warning() { ReportKind::Warning } else { ReportKind::Error };
    let mut report = Report::build(kind, range(span))
        .with_config(Config::default().with_color(colour).with_index_type(IndexType::Byte))
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message)
        .with_label(Label::new(range(span)).with_message(diagnostic.label.as_deref().unwrap_or("here")));
    for (place, note) in &diagnostic.notes {
        report = report.with_label(Label::new(range(*place)).with_message(note));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(help);
    }
    let mut bytes = Vec::new();
    let cache = (source.name.as_str(), ariadne::Source::from(source.text.as_str()));
    match report.finish().write(cache, &mut bytes) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => format!("{severity}[{}]: {}", diagnostic.code, diagnostic.message),
    }
}

/// Diagnostics as programs read them.
pub fn document(source: &Source, diagnostics: &[Diagnostic]) -> Value {
    let all: Vec<Value> = diagnostics.iter().map(|diagnostic| object(source, diagnostic)).collect();
    json!({ "schema_version": 1, "diagnostics": all })
}

/// One diagnostic as a JSON object.
pub fn object(source: &Source, diagnostic: &Diagnostic) -> Value {
    let severity = if diagnostic.code.is_warning() { "warning" } else { "error" };
    let mut object = json!({
        "code": diagnostic.code.as_str(),
        "severity": severity,
        "message": diagnostic.message,
        "file": source.name,
    });
    let place = |span: arch::Span| {
        let (line, column) = line_column(&source.text, span.start);
        let (end_line, end_column) = line_column(&source.text, span.end);
        [("line", line), ("col", column), ("end_line", end_line), ("end_col", end_column)]
    };
    if let Some(span) = diagnostic.span {
        for (key, value) in place(span) {
            object[key] = value.into();
        }
    }
    if let Some(label) = &diagnostic.label {
        object["label"] = label.as_str().into();
    }
    if let Some(help) = &diagnostic.help {
        object["help"] = help.as_str().into();
    }
    if !diagnostic.notes.is_empty() {
        let notes = diagnostic.notes.iter().map(|(span, note)| {
            let mut object = json!({ "message": note });
            for (key, value) in place(*span) {
                object[key] = value.into();
            }
            object
        });
        object["notes"] = notes.collect();
    }
    object
}
