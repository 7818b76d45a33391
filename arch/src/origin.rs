//! Origins: where in the user's program a computation comes from, through all stages.
//!
//!     3 | g[i]  = d * x[i];                 w.1[i] = w[i] - 0.05 * (d * x[i])   @ 40..52, 20..36 as g
//!     4 | w[i]  = w[i] - mu * g[i];         own place first, then what was fused into it; the name whose values it holds no more
//!
//! A pass that makes one computation of several joins their origins ([`Origin::join`]); a pass that makes several of one gives each the
//! origin of the whole. So every statement of the source that is computed at all is found in the origin of some operation,
//! job and instruction.

use crate::diagnostic::{Span, line_column};
use std::fmt::{Display, Formatter, Result};

/// The places and names of the source that a computation stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Origin {
    /// Its own place first, then those of what was fused into it; each once.
    spans: Vec<Span>,
    /// Names that the user gave to the values computed here, its own first; each once.
    names: Vec<String>,
}

impl Origin {
    /// One place, without a name. The empty span at 0 stands for no place.
    pub fn of(span: Span) -> Origin {
        Origin::new([span], [])
    }

    /// Places and names, the own ones first; what comes twice is dropped.
    pub fn new(spans: impl IntoIterator<Item = Span>, names: impl IntoIterator<Item = String>) -> Origin {
        let mut origin = Origin::default();
        spans.into_iter().for_each(|span| origin.add_span(span));
        names.into_iter().for_each(|name| origin.add_name(name));
        origin
    }

    fn add_span(&mut self, span: Span) {
        if span != Span::default() && !self.spans.contains(&span) {
            self.spans.push(span);
        }
    }

    /// The user's name for the values computed here.
    pub fn add_name(&mut self, name: String) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Take in the origin of what is now computed here, too.
    pub fn join(&mut self, fused: &Origin) {
        fused.spans.iter().for_each(|&span| self.add_span(span));
        fused.names.iter().for_each(|name| self.add_name(name.clone()));
    }

    /// This origin joined with another.
    #[must_use]
    pub fn with(&self, fused: &Origin) -> Origin {
        let mut origin = self.clone();
        origin.join(fused);
        origin
    }

    /// Its own place, for messages; the empty span at 0 if there is none.
    pub fn span(&self) -> Span {
        self.spans.first().copied().unwrap_or_default()
    }

    /// All places, its own first.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The user's names for the values computed here, its own first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Line of its own place in the source, from 1; 0 if there is none.
    pub fn line(&self, source: &str) -> usize {
        self.spans.first().map_or(0, |span| line_column(source, span.start).0)
    }

    /// Lines of all places in the source, its own first, each once. Without a source (an empty one) there are none.
    pub fn lines(&self, source: &str) -> Lines {
        let mut lines = Vec::new();
        for span in self.spans.iter().filter(|_| !source.is_empty()) {
            let line = line_column(source, span.start).0;
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        Lines(lines)
    }
}

/// Lines of the source, from 1: the own one first, then those of what was fused into it. They print as `line 3`, `lines 3, 4`, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// The own line; 0 if there is none.
    pub fn own(&self) -> usize {
        self.0.first().copied().unwrap_or(0)
    }

    /// Lines of what was fused into it.
    pub fn fused(&self) -> &[usize] {
        self.0.get(1..).unwrap_or_default()
    }

    /// All of them, the own one first.
    pub fn all(&self) -> &[usize] {
        &self.0
    }

    /// Their numbers alone: `3, 4`.
    pub fn numbers(&self) -> String {
        self.0.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
    }

    /// What is said of these lines, with them in front: `lines 3, 4: w multiply-add`.
    pub fn before(&self, what: &str) -> String {
        if self.0.is_empty() { what.to_owned() } else { format!("{self}: {what}") }
    }
}

impl Display for Lines {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0.len() {
            0 => Ok(()),
            1 => write!(f, "line {}", self.numbers()),
            _ => write!(f, "lines {}", self.numbers()),
        }
    }
}

impl From<Span> for Origin {
    fn from(span: Span) -> Origin {
        Origin::of(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_place_and_name_come_first_and_nothing_twice() {
        let (first, second) = (Span::new(10, 12), Span::new(2, 5));
        let fused = Origin::new([second, first, second], ["g".to_owned()]);
        let mut origin = Origin::new([first], ["w".to_owned()]);
        origin.join(&fused);
        assert_eq!(origin.spans(), [first, second]);
        assert_eq!(origin.names(), ["w", "g"]);
        assert_eq!(origin.span(), first);
        assert_eq!(origin, origin.with(&fused));
    }

    #[test]
    fn what_has_no_place_is_on_no_line() {
        let none = Origin::of(Span::default());
        assert_eq!(none, Origin::default());
        assert_eq!((none.span(), none.line("a\nb"), none.lines("a\nb")), (Span::default(), 0, Lines::default()));
        let somewhere = Origin::of(Span::new(2, 3));
        assert_eq!((somewhere.lines("a\nb").own(), somewhere.lines("").own()), (2, 0));
    }

    #[test]
    fn lines_are_counted_from_one_and_named_once() {
        let source = "a = 1;\nb = 2; c = 3;\nd = 4;";
        let origin = Origin::new([Span::new(21, 26), Span::new(7, 12), Span::new(14, 19)], []);
        let lines = origin.lines(source);
        assert_eq!((lines.own(), lines.fused(), lines.all()), (3, &[2][..], &[3, 2][..]));
        assert_eq!((lines.to_string(), lines.before("g")), ("lines 3, 2".to_owned(), "lines 3, 2: g".to_owned()));
        let one = Origin::of(Span::new(7, 12)).lines(source);
        assert_eq!((one.to_string(), Lines::default().before("g")), ("line 2".to_owned(), "g".to_owned()));
    }
}
