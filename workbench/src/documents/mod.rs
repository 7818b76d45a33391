//! JSON documents: what all of them have. Each command has a type for the rest, from which its schema is derived.

mod messages;

use crate::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

pub use messages::messages;

/// A document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<T> {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    #[serde(flatten)]
    content: T,
    /// What deserves attention: warnings, and what is wrong with the result itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Problem>,
}

impl<T> Document<T> {
    /// With nothing to add.
    pub fn new(content: T) -> Document<T> {
        Document { schema_version: 1, content, diagnostics: Vec::new() }
    }

    /// With warnings.
    pub fn with(content: T, diagnostics: Vec<Problem>) -> Document<T> {
        Document { diagnostics, ..Document::new(content) }
    }

    /// Say what is wrong with the result itself: two rungs of the ladder disagree, values were clipped, or the words do not suffice.
    #[must_use]
    pub fn failed(mut self, failure: Option<&Failure>) -> Document<T> {
        if let Some(
            failure @ (Failure::Mismatch(message) | Failure::Saturated(message) | Failure::Inaccurate(message)),
        ) = failure
        {
            self.diagnostics.push(Problem::error(failure.code().as_str(), message));
        }
        self
    }
}

/// What is wrong: of `check`, and of every command that fails.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problems {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    /// Messages in the order of the text; none if nothing is wrong.
    diagnostics: Vec<Problem>,
    /// How the range of each index was inferred, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Vec<Range>>,
}

impl Problems {
    /// The messages.
    pub fn new(diagnostics: Vec<Problem>) -> Problems {
        Problems { schema_version: 1, diagnostics, ranges: None }
    }

    /// The messages, and how ranges were inferred.
    pub fn with_ranges(diagnostics: Vec<Problem>, ranges: Option<Vec<Range>>) -> Problems {
        Problems { ranges, ..Problems::new(diagnostics) }
    }
}

/// The range of an index.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Range {
    /// Line of the statement.
    pub line: usize,
    /// Tensor that the statement defines.
    pub target: String,
    /// The index.
    pub variable: String,
    /// First value.
    pub low: i64,
    /// Value after the last one.
    pub high: i64,
    /// Round of the inference; 0 where the program states it.
    pub round: usize,
    /// Accesses that leave this range.
    pub because: Vec<Because>,
}

/// An access that leaves a range.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Because {
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// Its text.
    pub access: String,
    /// First value that it allows.
    pub low: i64,
    /// Value after the last one.
    pub high: i64,
}

/// One message.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Problem {
    /// Stable code, such as `E-SHAPE`.
    pub code: String,
    /// `error` or `warning`.
    #[schemars(extend("enum" = ["error", "warning"]))]
    pub severity: String,
    /// What is wrong.
    pub message: String,
    /// The file it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where it is wrong.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// What stands at the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Other places that have to do with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ProblemNote>,
}

impl Problem {
    /// An error that is about no text.
    pub fn error(code: &str, message: &str) -> Problem {
        let (code, severity, message) = (code.to_owned(), "error".to_owned(), message.to_owned());
        Problem { code, severity, message, ..Problem::default() }
    }
}

/// Another place that has to do with a message.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProblemNote {
    /// What is there.
    pub message: String,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
}

/// A place in a text, lines and columns from 1.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Place {
    /// First line.
    pub line: usize,
    /// First column.
    pub col: usize,
    /// Last line.
    pub end_line: usize,
    /// Column after the last one.
    pub end_col: usize,
}
