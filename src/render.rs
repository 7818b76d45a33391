//! Diagnostics for people (ariadne, on stderr) and for programs (JSON, on stdout).

use crate::arguments::{Format, Global};
use crate::documents::{Place, Problem, ProblemNote, Problems};
use crate::output::{self, Talk};
use arch::Diagnostic;
use arch::diagnostic::line_column;
use sim::distance::Distance;
use sim::pace::Pace;
use workbench::drawing::{shortened, text, visible};
use workbench::saturation::Saturation;
use workbench::{Failure, Source};

/// Tell the user why the tool stops.
pub fn failure(failure: &Failure, global: &Global, talk: &Talk) {
    let (source, diagnostics) = match failure {
        Failure::Diagnostics { source, diagnostics } | Failure::DoesNotFit { source, diagnostics } => {
            (source, diagnostics.as_slice())
        }
        Failure::Usage(message)
        | Failure::Mismatch(message)
        | Failure::Saturated(message)
        | Failure::Tool(message)
        | Failure::File(message)
        | Failure::Bug(message) => {
            let internal = match failure {
                Failure::Bug(_) => {
                    " (a bug of tabla-gen: please report it with the command, the config and the program)"
                }
                _ => "",
            };
            let message = format!("{message}{internal}");
            output::error_line(&format!("error: {}", visible(&message)));
            // What is wrong with a result stands in it, and stdout holds one document only.
            let is_told = matches!(failure, Failure::Usage(_) | Failure::Mismatch(_) | Failure::Saturated(_));
            if global.format == Format::Json && !is_told {
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
        let _ = output::json(&Problems::new(messages(source, diagnostics)));
    } else {
        for diagnostic in diagnostics {
            output::error_line(text(source, diagnostic, talk.colour).trim_end());
        }
    }
}

/// One error that is about no text, as a document.
fn plain(code: &str, message: &str) -> Problems {
    Problems::new(vec![Problem::error(code, message)])
}

/// Show warnings on stderr, and of very many the first ones.
pub fn warnings(source: &Source, warnings: &[Diagnostic], talk: &Talk) {
    for warning in &warnings[..warnings.len().min(MOST_WARNINGS)] {
        talk.say(text(source, warning, talk.colour).trim_end());
    }
    if let Some(more @ 1..) = warnings.len().checked_sub(MOST_WARNINGS) {
        talk.say(format!("and {more} more warnings; --format json has all of them"));
    }
}

/// A number with two digits after the point, if it has any there.
pub fn figure(value: f64) -> String {
    let text = format!("{value:.2}");
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

/// Cycles of a sample, and what cannot be beaten, with the resources of which anything is used.
pub fn pace(pace: &Pace) -> String {
    let Pace { cycles_per_sample, bounds, distance } = pace;
    let mut text = format!("cycles per sample   {cycles_per_sample:10.2}\n");
    text += &format!("bound               {:10.2}   (by {})\n", bounds.bound, bounds.bound_by);
    let amounts = bounds.by_resource.named().into_iter().zip(bounds.work.named());
    for ((resource, cycles), (_, amount)) in amounts.filter(|(_, (_, amount))| *amount > 0.0) {
        text += &format!("  {resource:18}{cycles:10.2}   ({} of a sample)\n", figure(amount));
    }
    text + &distance.map_or_else(String::new, |distance| format!("distance to bound   {distance:10.2}\n"))
}

/// What was clipped, a line each.
pub fn saturations(all: &[Saturation]) -> String {
    let place = |line: Option<usize>| match line {
        None => "given".to_owned(),
        Some(0) => "of the tool".to_owned(),
        Some(line) => format!("line {line}"),
    };
    all.iter().fold(String::new(), |text, saturation| text + &format!("{}, {saturation}\n", place(saturation.line)))
}

/// How far results are from golden's, in one line.
pub fn distance(Distance { absolute, relative }: Distance) -> String {
    format!("distance from golden: {absolute:.3e}, {:.3} % of the largest value", 100.0 * relative)
}

/// Nobody reads more, and each drawing looks at the whole text.
const MOST_WARNINGS: usize = 20;

/// Diagnostics as programs read them.
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
