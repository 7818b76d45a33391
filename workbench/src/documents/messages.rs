//! Diagnostics as programs read them.

use super::{Place, Problem, ProblemNote};
use crate::drawing::shortened;
use crate::failure::Source;
use arch::Diagnostic;
use arch::diagnostic::line_column;

/// Diagnostics about a text, in its order.
pub fn messages(source: &Source, diagnostics: &[Diagnostic]) -> Vec<Problem> {
    let lines = Lines::new(&source.text);
    diagnostics.iter().map(|diagnostic| message_in(&lines, source, diagnostic)).collect()
}

/// Where the lines of a text begin, so that many places are found without reading it for each.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    /// Line and column, both from 1.
    fn place(&self, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= byte).max(1);
        let start = self.starts[line - 1];
        let (_, column) = line_column(&self.text[start..], byte.saturating_sub(start));
        (line, column)
    }
}

fn message_in(lines: &Lines<'_>, source: &Source, diagnostic: &Diagnostic) -> Problem {
    let place = |span: arch::Span| {
        let ((line, col), (end_line, end_col)) = (lines.place(span.start), lines.place(span.end));
        Place { line, col, end_line, end_col }
    };
    let short = |text: &String| shortened(text).into_owned();
    let note = |(span, note): &(arch::Span, String)| ProblemNote { message: short(note), place: place(*span) };
    Problem {
        code: diagnostic.code.as_str().to_owned(),
        severity: if diagnostic.code.is_warning() { "warning" } else { "error" }.to_owned(),
        message: short(&diagnostic.message),
        file: Some(source.name.clone()),
        place: diagnostic.span.map(place),
        label: diagnostic.label.as_ref().map(short),
        help: diagnostic.help.as_ref().map(short),
        notes: diagnostic.notes.iter().map(note).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_whole_text() {
        let text = "a\n\u{e4}b\r\n\nc";
        for byte in 0..=text.len() + 2 {
            assert_eq!(Lines::new(text).place(byte), line_column(text, byte), "byte {byte}");
        }
    }
}
