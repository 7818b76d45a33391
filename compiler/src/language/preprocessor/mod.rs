//! The `$` preprocessor, a layer under every language and a language of its own (`.pp`).
//!
//! ```text
//! $feat = 4                            erased, offsets stay            m = $feat;         a use is one token of the host, at its own place:
//! $half = !calc($feat 2 /)             ───────────────────▶            iterator i[0:$half];   errors point to what the user wrote
//! ```
//!
//! A value is never read together with its neighbours: `$a$b` are two operands, a negative number acts as if in parentheses.

mod calculator;
mod scan;
mod value;

use super::{Options, in_source_order, unknown_settings};
use arch::{Code, Diagnostic, Span};
use scan::{Scan, Use};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub use value::Value;

/// The language around the definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    Tabla,
    TensorComprehensions,
    Rink,
    Tile,
    /// A pure file.
    None,
}

impl Host {
    fn comment(self) -> &'static str {
        match self {
            Host::Tabla | Host::Rink => "//",
            Host::TensorComprehensions | Host::Tile => "#",
            Host::None => ";",
        }
    }

    /// Whether braces make scopes.
    fn has_regions(self) -> bool {
        matches!(self, Host::TensorComprehensions | Host::None)
    }
}

/// A host's text without definitions, and what its variables stand for.
pub(super) struct Expanded<'t> {
    /// The text, every definition replaced by as many blanks.
    pub(super) text: Cow<'t, str>,
    uses: BTreeMap<usize, Use>,
    pub(super) errors: Vec<Diagnostic>,
    /// Names of the global definitions.
    pub(super) defined: Vec<String>,
    /// The options without what `--set` has given to `$` variables.
    pub(super) options: Cow<'t, Options>,
}

impl Expanded<'_> {
    /// Complaints about what `--set` gives to names that are neither defined here nor `known` to the host.
    pub(super) fn unknown_settings<'n>(&'n self, known: impl Iterator<Item = &'n str>) -> Vec<Diagnostic> {
        let defined: Vec<&str> = self.defined.iter().map(String::as_str).chain(known).collect();
        unknown_settings(&self.options, &defined)
    }

    /// What the variable at a place stands for; `None` if it is undefined (and reported).
    pub(super) fn value(&self, place: usize) -> Option<&Value> {
        self.uses.get(&place).map(|found| &found.value)
    }

    /// Errors at the use of a variable, with a note at its definition.
    pub(super) fn explained(&self, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let explain = |diagnostic: Diagnostic| match diagnostic.span.and_then(|span| self.uses.get(&span.start)) {
            Some(found) => diagnostic.with_note(found.definition, format!("it stands for {}", found.value)),
            None => diagnostic,
        };
        errors.into_iter().map(explain).collect()
    }
}

/// Evaluate the definitions in a host's text.
pub(super) fn expand<'t>(text: &'t str, host: Host, options: &'t Options) -> Expanded<'t> {
    if !text.contains('$') && !text.contains("!calc") {
        let (uses, errors, defined) = (BTreeMap::new(), Vec::new(), Vec::new());
        return Expanded { text: Cow::Borrowed(text), uses, errors, defined, options: Cow::Borrowed(options) };
    }
    let scan = Scan::run(text, host, options);
    let mut bytes = text.as_bytes().to_vec();
    for span in &scan.erased {
        for byte in &mut bytes[span.start..span.end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    let mut options = options.clone();
    options.set.retain(|(name, _)| !scan.set.contains(name));
    Expanded {
        text: Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        uses: scan.uses,
        errors: scan.errors,
        defined: scan.globals.into_iter().map(|(name, _)| name).collect(),
        options: Cow::Owned(options),
    }
}

/// A complaint about a value that cannot stand where it is used.
pub(super) fn wrong_kind(value: &Value, span: Span) -> Diagnostic {
    Diagnostic::new(Code::Type, span, format!("{} cannot stand here", value.kind())).with_label(format!("is {value}"))
}

/// A pure file, evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Preprocessed {
    /// Definitions of the global scope, in order.
    pub definitions: Vec<(String, Value)>,
    /// The text without definitions and comments, every variable replaced.
    pub text: String,
}

/// Evaluate a pure file.
///
/// # Errors
/// Everything that is wrong with it, in source order.
pub fn preprocess(text: &str, options: &Options) -> Result<Preprocessed, Vec<Diagnostic>> {
    let scan = Scan::run(text, Host::None, options);
    let mut errors = scan.errors;
    let globals = scan.globals.iter().map(|(name, _)| name.as_str());
    let defined: Vec<&str> = globals.chain(scan.set.iter().map(String::as_str)).collect();
    errors.extend(unknown_settings(options, &defined));
    if !errors.is_empty() {
        return Err(in_source_order(errors, options));
    }
    // Pieces to leave out or to replace, in order.
    let erased = scan.erased.iter().map(|span| (span.start, (span.end, String::new())));
    let uses = scan.uses.iter().map(|(&start, found)| (start, (found.end, found.value.to_string())));
    let pieces: BTreeMap<usize, (usize, String)> = erased.chain(uses).collect();
    let (mut result, mut at) = (String::new(), 0);
    for (start, (end, replacement)) in pieces {
        if start >= at {
            result += &text[at..start];
            result += &replacement;
            at = end;
        }
    }
    result += &text[at..];
    Ok(Preprocessed { definitions: scan.globals, text: result })
}
