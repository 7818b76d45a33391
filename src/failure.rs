//! What can go wrong, and its exit code.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | something in the user's program, config or data is wrong |
//! | 2 | the arguments are wrong |
//! | 3 | two rungs of the ladder disagree |
//! | 4 | the program does not fit the machine, or the machine the board |
//! | 5 | an external tool is missing or failed |
//! | 6 | a file or device cannot be read or written |
//! | 101 | a bug of ours |
//! | 130 | interrupted |

use arch::{Code, Diagnostic, Span};
use std::path::Path;

/// A text the user wrote, for showing where it is wrong.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name under which the user knows it.
    pub name: String,
    /// The text; empty for texts too long to show.
    pub text: String,
}

/// Why the tool stops.
#[derive(Debug)]
pub enum Failure {
    /// Messages about a text of the user's.
    Diagnostics { source: Source, diagnostics: Vec<Diagnostic> },
    /// The program is right, the machine too small.
    DoesNotFit { source: Source, diagnostics: Vec<Diagnostic> },
    /// Arguments that clap cannot judge.
    Usage(String),
    /// Two rungs of the ladder disagree; a JSON result says it in its own `diagnostics`.
    Mismatch(String),
    /// An external tool is missing or failed.
    Tool(String),
    /// A file cannot be read or written.
    File(String),
    /// The user pressed Ctrl-C.
    Interrupted,
    /// A simulator did what it must not do.
    Bug(String),
}

/// Whether a diagnostic is about a name in the arguments, which the program does not define.
fn is_setting(diagnostic: &Diagnostic) -> bool {
    diagnostic.code == Code::Undef && diagnostic.span.is_none() && diagnostic.message.starts_with("--set ")
}

impl Failure {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Diagnostics { diagnostics, .. }
                if !diagnostics.is_empty() && diagnostics.iter().all(is_setting) =>
            {
                2
            }
            Failure::Diagnostics { .. } => 1,
            Failure::Usage(_) => 2,
            Failure::Mismatch(_) => 3,
            Failure::DoesNotFit { .. } => 4,
            Failure::Tool(_) => 5,
            Failure::File(_) => 6,
            Failure::Bug(_) => 101,
            Failure::Interrupted => 130,
        }
    }

    /// The code of a failure that is no diagnostic of a text.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::Diagnostics { .. } => "E-DATA",
            Failure::DoesNotFit { .. } => "E-BACKEND",
            Failure::Usage(_) => "E-USAGE",
            Failure::Mismatch(_) => "E-MISMATCH",
            Failure::Tool(_) => "E-TOOL",
            Failure::File(_) => "E-FILE",
            Failure::Bug(_) => "E-INTERNAL",
            Failure::Interrupted => "E-INTERRUPTED",
        }
    }

    /// Diagnostics about `source`.
    pub fn about(source: &Source, diagnostics: Vec<Diagnostic>) -> Failure {
        Failure::Diagnostics { source: source.clone(), diagnostics }
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

impl From<sim::train::engine::EngineError> for Failure {
    fn from(error: sim::train::engine::EngineError) -> Failure {
        use sim::train::engine::EngineError;
        match error {
            EngineError::Interrupted => Failure::Interrupted,
            EngineError::Stuck(message) => Failure::Bug(message),
            EngineError::Tool(message) => Failure::Tool(message),
            EngineError::Device(message) => Failure::File(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    /// The codes of a table `| code | meaning |`.
    fn table(text: &str) -> BTreeSet<u8> {
        text.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok()).collect()
    }

    /// One failure of each kind, what the manual, the help and this file say: the same codes.
    #[test]
    fn exit_codes_are_documented() {
        let source = Source { name: String::new(), text: String::new() };
        let failures = [
            Failure::data("x", Vec::new()),
            Failure::DoesNotFit { source, diagnostics: Vec::new() },
            Failure::Usage(String::new()),
            Failure::Mismatch(String::new()),
            Failure::Tool(String::new()),
            Failure::File(String::new()),
            Failure::Interrupted,
            Failure::Bug(String::new()),
        ];
        let codes: BTreeSet<u8> = failures.iter().map(Failure::exit_code).chain([0]).collect();
        assert_eq!(codes.len(), failures.len() + 1, "each kind has its own");
        assert_eq!(table(include_str!("../docs/command-line.md")), codes, "docs/command-line.md");
        let head: String = include_str!("failure.rs")
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .collect::<Vec<_>>()
            .join("\n");
        assert_eq!(table(&head), codes, "the head of this file");
        let help = crate::arguments::Arguments::command().get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = help.split("Exit codes:").nth(1).expect("the help lists them").to_owned();
        let said: BTreeSet<u8> = help.split([' ', '\n', ',']).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(said, codes, "--help");
    }
}
