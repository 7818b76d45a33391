//! Diagnostics as people read them: the line that is meant, marks below it, a way out.

use crate::failure::{Failure, Source};
use arch::diagnostic::line_column;
use arch::{Code, Diagnostic};
use ariadne::{Config, IndexType, Label, Report, ReportKind};
use std::borrow::Cow;

impl Failure {
    /// All there is to say about it, each diagnostic with its drawing.
    pub fn drawn(&self, colour: bool) -> String {
        match self {
            Failure::Diagnostics { source, diagnostics } | Failure::DoesNotFit { source, diagnostics } => {
                diagnostics.iter().map(|diagnostic| text(source, diagnostic, colour)).collect::<Vec<_>>().join("\n")
            }
            other => visible(&other.to_string()).into_owned(),
        }
    }
}

/// A diagnostic as people read it.
pub fn text(source: &Source, diagnostic: &Diagnostic, colour: bool) -> String {
    let severity = if diagnostic.code.is_warning() { "warning" } else { "error" };
    // Data files have long lines; their messages name row and column.
    let shown = diagnostic.code != Code::Data && (!source.text.is_empty() || source.name.is_empty());
    let Some(span) = diagnostic.span.filter(|_| shown) else { return unmarked(source, diagnostic, severity, "") };
    let places = std::iter::once(span).chain(diagnostic.notes.iter().map(|(place, _)| *place));
    if places.into_iter().any(|place| line_around(&source.text, place).1.len() > LONGEST_LINE) {
        let (line, column) = line_column(&source.text, span.start);
        return unmarked(source, diagnostic, severity, &format!(":{line}:{column}"));
    }
    let name = visible(&source.name);
    let excerpt = Excerpt::new(&source.text);
    let range = |span: arch::Span| (name.as_ref(), excerpt.place(span.start)..excerpt.place(span.end.max(span.start)));
    let message = printable(&diagnostic.message);
    let kind = if diagnostic.code.is_warning() { ReportKind::Warning } else { ReportKind::Error };
    let mut report = Report::build(kind, range(span))
        .with_config(Config::default().with_color(colour).with_index_type(IndexType::Byte))
        .with_code(diagnostic.code)
        .with_message(&message)
        .with_label(Label::new(range(span)).with_message(printable(diagnostic.label.as_deref().unwrap_or("here"))));
    for (place, note) in &diagnostic.notes {
        report = report.with_label(Label::new(range(*place)).with_message(printable(note)));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(printable(help));
    }
    let mut bytes = Vec::new();
    let cache = (name.as_ref(), ariadne::Source::from(excerpt.text.as_str()));
    match report.finish().write(cache, &mut bytes) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => format!("{severity}[{}]: {message}", diagnostic.code),
    }
}

/// Longer lines are not drawn with marks below them.
const LONGEST_LINE: usize = 400;

/// A diagnostic without the drawing; `place` follows the name of the file. Of a long line it shows what is around the place.
fn unmarked(source: &Source, diagnostic: &Diagnostic, severity: &str, place: &str) -> String {
    let (message, name) = (printable(&diagnostic.message), visible(&source.name));
    let mut lines = format!("{severity}[{}]: {message}\n  in {name}{place}\n", diagnostic.code);
    if let Some(span) = diagnostic.span.filter(|_| !place.is_empty()) {
        let (from, line) = line_around(&source.text, span);
        let middle = line.char_indices().take_while(|(at, _)| from + at < span.start).count();
        let shown: String = line.chars().skip(middle.saturating_sub(40)).take(80).collect();
        let before = if middle > 40 { "..." } else { "" };
        lines.push_str(&format!("  near `{before}{}...`\n", visible(&shown)));
    }
    if let Some(help) = &diagnostic.help {
        lines.push_str(&format!("  help: {}\n", printable(help)));
    }
    lines
}

/// The line in which a span begins, and where it starts.
fn line_around(text: &str, span: arch::Span) -> (usize, &str) {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[start..].find('\n').map_or(text.len(), |at| start + at);
    (from, &text[from..to])
}

/// What would move the cursor, change colours or turn the direction of writing, and is not a line end or tab.
fn is_hidden(c: char) -> bool {
    let formats = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() && c != '\n' && c != '\t' || formats
}

/// A message with what it quotes cut to a length that people read.
fn printable(message: &str) -> String {
    visible(&shortened(message)).into_owned()
}

/// A text in which quotations and words are not longer than [`LONGEST_QUOTE`]: what stands in a file of the user's may be.
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_QUOTE {
        return Cow::Borrowed(text);
    }
    let cut = |part: &str| match part.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}...", &part[..end]),
        None => part.to_owned(),
    };
    let parts = text.split('`').enumerate().map(|(number, part)| match number % 2 {
        0 => part.split(' ').map(cut).collect::<Vec<_>>().join(" "),
        _ => cut(part),
    });
    Cow::Owned(parts.collect::<Vec<_>>().join("`"))
}

/// Characters of a quotation or a word in a message.
const LONGEST_QUOTE: usize = 120;

/// Text that a terminal shows as it is: hidden characters as their numbers.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let show = |c: char| if is_hidden(c) { c.escape_unicode().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(show).collect())
}

/// The user's text with a mark for each hidden character, so that lines and columns stay.
struct Excerpt {
    text: String,
    /// Byte of each mark in the user's text, and how many bytes the text is longer behind it.
    moved: Vec<(usize, isize)>,
}

impl Excerpt {
    fn new(original: &str) -> Excerpt {
        const MARK: char = '\u{fffd}';
        let (mut text, mut moved) = (String::with_capacity(original.len()), Vec::new());
        for (at, c) in original.char_indices() {
            // A return before a line end is part of it.
            let ends_line = c == '\r' && original[at..].starts_with("\r\n");
            if is_hidden(c) && !ends_line {
                text.push(MARK);
                let longer = text.len() as isize - (at + c.len_utf8()) as isize;
                moved.push((at, longer));
            } else {
                text.push(c);
            }
        }
        Excerpt { text, moved }
    }

    /// Where a byte of the user's text is here.
    fn place(&self, byte: usize) -> usize {
        let before = self.moved.partition_point(|&(at, _)| at < byte);
        let longer = if before == 0 { 0 } else { self.moved[before - 1].1 };
        byte.saturating_add_signed(longer).min(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::Span;

    fn shown(text: &str, span: Span) -> String {
        let source = Source { name: "a\u{1b}[2J.t".to_owned(), text: text.to_owned() };
        let diagnostic = Diagnostic::new(Code::Syntax, span, "unexpected `\u{7}`").with_label("\u{202e}here");
        super::text(&source, &diagnostic, false)
    }

    #[test]
    fn hidden_characters_are_shown_and_not_sent() {
        let text = "a = 1;\r\nb\u{1b}[31m \u{202e}= 2;\u{7f}\n";
        let at = text.find("= 2").unwrap();
        let shown = shown(text, Span::new(at, at + 1));
        assert!(shown.chars().all(|c| c == '\n' || !is_hidden(c)), "{shown:?}");
        assert!(shown.contains("\\u{7}") && shown.contains("a\\u{1b}[2J.t:2:9"), "{shown}");
        assert!(shown.contains("b\u{fffd}[31m \u{fffd}= 2;\u{fffd}"), "{shown}");
        // Return and line end count as one place here, and lines stay lines.
        assert_eq!(Excerpt::new(text).place(at), Excerpt::new(text).text.find("= 2").unwrap());
    }

    #[test]
    fn quotations_are_cut() {
        let long = "x".repeat(5000);
        for message in [format!("unknown name `{long}`, `w`"), format!("expected a number, found \"{long}\" in `w`")] {
            let short = shortened(&message);
            assert!(short.len() < 200 && short.contains("...") && short.ends_with("`w`"), "{short}");
        }
        assert_eq!(shortened("unknown name `h`"), "unknown name `h`");
    }

    #[test]
    fn long_lines_are_cut() {
        let text = format!("x;\n{}?{};\n", "a+".repeat(50_000), "b+".repeat(50_000));
        let at = text.find('?').unwrap();
        let shown = shown(&text, Span::new(at, at + 1));
        assert!(shown.len() < 400, "{} bytes", shown.len());
        assert!(shown.contains(":2:100001\n") && shown.contains("a+?b+") && shown.contains("near `..."), "{shown}");
    }
}
