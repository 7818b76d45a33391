//! Errors of this crate: one type for every entry point.
//!
//! The caller decides how a failure is shown: the command line gives each kind an exit code, Python an exception.

pub mod drawing;

use arch::diagnostic::line_column;
use arch::{Code, Diagnostic, Span};
use sim::distance::Verdict;
use sim::train::engine::EngineError;
use sim::verilator::VerilatorError;
use std::fmt;
use std::path::Path;

/// A text the user wrote, for showing where it is wrong.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name under which the user knows it.
    pub name: String,
    /// The text; empty for texts too long to show.
    pub text: String,
}

/// Why the work stops.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Messages about a text of the user's.
    Diagnostics {
        /// The text.
        source: Source,
        /// What is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
    /// The program is right, the machine too small.
    DoesNotFit {
        /// The program, or the configuration of the machine.
        source: Source,
        /// What does not fit, with what would.
        diagnostics: Vec<Diagnostic>,
    },
    /// What is asked for makes no sense for this program.
    Usage(String),
    /// Two rungs of the ladder disagree; a JSON result says it in its own `diagnostics`.
    Mismatch(String),
    /// Values were clipped to their words, and that is not wanted; a JSON result says it in its own `diagnostics`.
    Saturated(String),
    /// The words do not suffice, and that is not wanted; a JSON result says it in its own `diagnostics`.
    Inaccurate(String),
    /// An external tool is missing or failed.
    Tool(String),
    /// A file cannot be read or written.
    File(String),
    /// The user pressed Ctrl-C.
    Interrupted,
    /// A simulator did what it must not do.
    Bug(String),
}

impl Failure {
    /// Its code; of diagnostics that of the first one.
    pub fn code(&self) -> Code {
        match self {
            Failure::Diagnostics { diagnostics, .. } => diagnostics.first().map_or(Code::Data, |first| first.code),
            Failure::DoesNotFit { diagnostics, .. } => diagnostics.first().map_or(Code::Backend, |first| first.code),
            Failure::Usage(_) => Code::Usage,
            Failure::Mismatch(_) => Code::Mismatch,
            Failure::Saturated(_) => Code::Saturated,
            Failure::Inaccurate(_) => Code::Inaccurate,
            Failure::Tool(_) => Code::Tool,
            Failure::File(_) => Code::File,
            Failure::Bug(_) => Code::Internal,
            Failure::Interrupted => Code::Interrupted,
        }
    }

    /// Diagnostics about `source`.
    pub fn about(source: &Source, diagnostics: Vec<Diagnostic>) -> Failure {
        Failure::Diagnostics { source: source.clone(), diagnostics }
    }

    /// What `--deny-inaccuracy` makes of words that do not suffice.
    pub fn of_verdict(verdict: &Verdict) -> Option<Failure> {
        (!verdict.suffices).then(|| Failure::Inaccurate(verdict.to_string()))
    }

    /// Why an engine stopped that runs a program of `source`.
    pub fn of_engine(source: &Source, error: EngineError) -> Failure {
        match error {
            EngineError::Values(diagnostic) => Failure::about(source, vec![*diagnostic]),
            other => other.into(),
        }
    }

    /// One diagnostic about a file whose text is not shown.
    pub fn data(name: impl Into<String>, diagnostics: Vec<Diagnostic>) -> Failure {
        Failure::Diagnostics { source: Source { name: name.into(), text: String::new() }, diagnostics }
    }

    /// A file that is not JSON, or not the JSON it should be, with the place that serde names.
    pub fn json(name: String, text: String, message: String, error: &serde_json::Error) -> Failure {
        let start = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let place = (start + error.column().saturating_sub(1)).min(text.len());
        let diagnostic = Diagnostic::new(Code::Data, Span::new(place, place), message);
        Failure::Diagnostics { source: Source { name, text }, diagnostics: vec![diagnostic] }
    }

    /// A file that cannot be read or written.
    pub fn file(doing: &str, path: &Path, error: &std::io::Error) -> Failure {
        Failure::File(format!("cannot {doing} {}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Diagnostics { source, diagnostics } | Failure::DoesNotFit { source, diagnostics } => {
                for (n, diagnostic) in diagnostics.iter().enumerate() {
                    let line_end = if n == 0 { "" } else { "\n" };
                    let place = diagnostic.span.filter(|_| !source.text.is_empty()).map_or_else(String::new, |span| {
                        let (line, column) = line_column(&source.text, span.start);
                        format!(":{line}:{column}")
                    });
                    write!(f, "{line_end}{}{place}: {}: {}", source.name, diagnostic.code, diagnostic.message)?;
                }
                Ok(())
            }
            Failure::Usage(message)
            | Failure::Mismatch(message)
            | Failure::Saturated(message)
            | Failure::Inaccurate(message)
            | Failure::Tool(message)
            | Failure::File(message)
            | Failure::Bug(message) => write!(f, "{message}"),
            Failure::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Interrupted => Failure::Interrupted,
            EngineError::Values(diagnostic) => Failure::data("the program's values", vec![*diagnostic]),
            EngineError::Stuck(message) => Failure::Bug(message),
            EngineError::Tool(message) => Failure::Tool(message),
            EngineError::Device(message) => Failure::File(message),
        }
    }
}

impl From<VerilatorError> for Failure {
    fn from(error: VerilatorError) -> Failure {
        match error {
            VerilatorError::File { .. } => Failure::File(error.to_string()),
            _ => Failure::Tool(format!("{error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_where() {
        let source = Source { name: "a.t".to_owned(), text: "a = 1;\nb = c;\n".to_owned() };
        let diagnostic = Diagnostic::new(Code::Undef, Span::new(11, 12), "`c` has no value");
        let failure = Failure::about(&source, vec![diagnostic, Diagnostic::global(Code::Data, "no rows")]);
        assert_eq!(failure.to_string(), "a.t:2:5: E-UNDEF: `c` has no value\na.t: E-DATA: no rows");
    }
}
