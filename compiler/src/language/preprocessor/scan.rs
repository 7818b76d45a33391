//! One pass over a text: definitions are evaluated and erased, uses are looked up where they stand.

use super::Host;
use super::value::{Literal, Value, is_type, literal};
use crate::language::{Options, nearest};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

mod calculation;

/// Values nest no deeper, whether in one definition or through variables.
const DEPTH: usize = 64;
/// Numbers and characters that all uses of variables may stand for together: a list of lists of lists grows quickly.
const COPIED: usize = 1 << 22;

/// What a pass finds.
pub(super) struct Scan<'t> {
    text: &'t str,
    host: Host,
    options: &'t Options,
    at: usize,
    /// Definitions, the global scope first.
    scopes: Vec<BTreeMap<String, Definition>>,
    /// Numbers and characters that uses stand for so far.
    copied: usize,
    /// Opening braces.
    regions: Vec<usize>,
    in_function: bool,
    /// Global definitions in order.
    pub(super) globals: Vec<(String, Value)>,
    /// Where variables are used, up to where, and what they stand for.
    pub(super) uses: BTreeMap<usize, Use>,
    /// Definitions and, in pure files, comments.
    pub(super) erased: Vec<Span>,
    /// Names that `--set` has given.
    pub(super) set: Vec<String>,
    pub(super) errors: Vec<Diagnostic>,
}

/// A variable where it is defined.
struct Definition {
    value: Value,
    place: Span,
    /// Numbers and characters in it.
    size: usize,
    /// Lists inside each other.
    depth: usize,
}

/// A variable where it is used.
#[derive(Debug, Clone)]
pub(super) struct Use {
    /// Where it ends.
    pub(super) end: usize,
    /// What it stands for.
    pub(super) value: Value,
    /// Where it is defined.
    pub(super) definition: Span,
}

impl<'t> Scan<'t> {
    pub(super) fn run(text: &'t str, host: Host, options: &'t Options) -> Scan<'t> {
        let mut scan = Scan {
            text,
            host,
            options,
            at: 0,
            scopes: vec![BTreeMap::new()],
            copied: 0,
            regions: Vec::new(),
            in_function: false,
            globals: Vec::new(),
            uses: BTreeMap::new(),
            erased: Vec::new(),
            set: Vec::new(),
            errors: Vec::new(),
        };
        scan.text();
        scan
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        if self.errors.len() < self.options.limits.errors {
            self.errors.push(diagnostic);
        }
    }

    fn text(&mut self) {
        let mut line_start = true;
        let mut column_zero = true;
        while let Some(c) = self.next() {
            if column_zero && self.host == Host::Tile {
                self.function_scope();
            }
            column_zero = c == '\n';
            match c {
                '\n' => line_start = true,
                ' ' | '\t' | '\r' | '\u{c}' | '\u{feff}' => {}
                '$' => {
                    // Another definition may follow on the line.
                    line_start = self.variable(line_start);
                    continue;
                }
                _ if self.rest().starts_with(self.host.comment()) => {
                    self.comment();
                    continue;
                }
                '{' if self.host.has_regions() && self.regions.len() == self.options.limits.depth => {
                    let span = Span::new(self.at, self.at + 1);
                    let message = format!("more than {} nested regions", self.options.limits.depth);
                    self.error(Diagnostic::new(Code::Limit, span, message).with_label("one more"));
                    return;
                }
                '{' if self.host.has_regions() => {
                    self.regions.push(self.at);
                    self.scopes.push(BTreeMap::new());
                    line_start = true;
                }
                '}' if self.host.has_regions() => {
                    if self.regions.pop().is_some() {
                        self.scopes.pop();
                    } else if self.host == Host::None {
                        let span = Span::new(self.at, self.at + 1);
                        self.error(Diagnostic::new(Code::Syntax, span, "this `}` has no `{`").with_label("unexpected"));
                    }
                    line_start = true;
                }
                '!' if self.rest().starts_with("!calc") => {
                    let span = Span::new(self.at, self.at + 5);
                    self.error(
                        Diagnostic::new(Code::Syntax, span, "a calculation stands in a definition only")
                            .with_label("unexpected")
                            .with_help("write `$name = !calc(...)` on a line of its own, and `$name` here"),
                    );
                    line_start = false;
                }
                _ => line_start = false,
            }
            self.at += c.len_utf8();
        }
        if let (Some(&open), Host::None) = (self.regions.last(), self.host) {
            let end = Span::new(self.text.len(), self.text.len());
            self.error(
                Diagnostic::new(Code::Syntax, end, "a region is not closed")
                    .with_label("the file ends here")
                    .with_note(Span::new(open, open + 1), "opened here"),
            );
        }
    }

    /// In Tile, a function's body is a scope: it ends with the first line that is not indented.
    fn function_scope(&mut self) {
        let rest = self.rest();
        if rest.starts_with(|c: char| c.is_whitespace() || c == '#') {
            return;
        }
        if std::mem::take(&mut self.in_function) {
            self.scopes.pop();
        }
        if rest.starts_with("def ") {
            self.in_function = true;
            self.scopes.push(BTreeMap::new());
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        if self.host == Host::None {
            self.erased.push(self.span_from(start));
        }
    }

    /// Skip blanks; line ends and comments, too, inside brackets.
    fn blank(&mut self, lines: bool) {
        while let Some(c) = self.next() {
            if lines && self.rest().starts_with(self.host.comment()) {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if matches!(c, ' ' | '\t' | '\r' | '\u{c}') || (lines && c == '\n') {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// `$name`, the name without its sign; `None` if it is malformed (and reported).
    fn name(&mut self) -> Option<&'t str> {
        let start = self.at;
        self.at += 1;
        let body = &self.text[self.at..];
        let length = body.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(body.len());
        let name = &body[..length];
        let digits = name.len() - name.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        self.at += length;
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) || (digits > 0 && digits == length) {
            return Some(name);
        }
        let diagnostic = if digits > 0 {
            let span = Span::new(start + 1 + digits, self.at);
            Diagnostic::new(Code::Lex, span, format!("`${name}` is not a variable"))
                .with_label("only digits may follow a digit")
        } else {
            let diagnostic = Diagnostic::new(Code::Lex, self.span_from(start), "`$` without a name");
            diagnostic.with_label("a letter or digits follow")
        };
        self.error(diagnostic);
        None
    }

    /// A definition or a use; whether it was a definition.
    fn variable(&mut self, line_start: bool) -> bool {
        let start = self.at;
        let Some(name) = self.name() else { return false };
        let after = self.at;
        self.blank(false);
        let defines = line_start && self.rest().starts_with('=') && !self.rest().starts_with("==");
        if defines {
            self.at += 1;
            self.define(name, Span::new(start, after));
            self.erased.push(self.span_from(start));
            return true;
        }
        let found = self.rest().chars().next();
        let next = self.at;
        self.at = after;
        if line_start && self.lookup(name).is_none() && self.host == Host::None && found.is_some_and(|c| c != '\n') {
            let span = Span::new(next, next + found.map_or(0, char::len_utf8));
            self.error(
                Diagnostic::new(Code::Syntax, span, format!("expected `=` after `${name}`")).with_label("unexpected"),
            );
            return false;
        }
        let definition = self.lookup(name).map(|definition| definition.place);
        if let (Some(value), Some(definition)) = (self.value_of(name, Span::new(start, after), 0), definition) {
            if self.host != Host::None && matches!(value, Value::Float(value) if !value.is_finite()) {
                let message = format!("`${name}` is {value}, which is no number of a program");
                self.error(Diagnostic::new(Code::Const, Span::new(start, after), message).with_label("not finite"));
            }
            self.uses.insert(start, Use { end: after, value, definition });
        }
        false
    }

    fn lookup(&self, name: &str) -> Option<&Definition> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// What a variable stands for, inside so many lists.
    fn value_of(&mut self, name: &str, span: Span, around: usize) -> Option<Value> {
        if let Some(Definition { value, size, depth, .. }) = self.lookup(name) {
            let (copied, nested) = (self.copied.saturating_add(*size), around + depth);
            if copied <= COPIED && nested <= DEPTH {
                let value = value.clone();
                self.copied = copied;
                return Some(value);
            }
            let diagnostic = if nested > DEPTH {
                Diagnostic::new(Code::Limit, span, format!("values nest deeper than {DEPTH}"))
            } else {
                let message = format!("variables stand for more than {COPIED} numbers and characters");
                Diagnostic::new(Code::Limit, span, message)
            };
            self.error(diagnostic.with_label("here"));
            return None;
        }
        let diagnostic = Diagnostic::new(Code::Undef, span, format!("`${name}` is not defined here"))
            .with_label("no definition above");
        if self.errors.len() >= self.options.limits.errors {
            return None;
        }
        let near = nearest(name, self.scopes.iter().flat_map(|scope| scope.keys().map(String::as_str)));
        let diagnostic = match near {
            Some(near) => diagnostic.with_help(format!("did you mean `${near}`?")),
            None => diagnostic,
        };
        self.error(diagnostic);
        None
    }

    /// What follows `$name =`.
    fn define(&mut self, name: &'t str, place: Span) {
        self.blank(false);
        let errors = self.errors.len();
        let value = self.value(0);
        if value.is_none() {
            if self.errors.len() == errors {
                let span = Span::new(self.at, self.at + self.next().map_or(0, char::len_utf8));
                self.error(Diagnostic::new(Code::Syntax, span, "expected a value").with_label("in a definition"));
            }
            // The rest of the line belongs to the definition that went wrong.
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        } else {
            self.blank(false);
            if self.host == Host::Tabla && self.next() == Some(';') {
                self.at += 1;
                self.blank(false);
            }
            let ends = self.rest().is_empty()
                || matches!(self.next(), Some('\n' | '$'))
                || (self.host.has_regions() && matches!(self.next(), Some('{' | '}')))
                || self.rest().starts_with(self.host.comment());
            if !ends {
                let span = Span::new(self.at, self.at + self.next().map_or(0, char::len_utf8));
                self.error(
                    Diagnostic::new(Code::Syntax, span, "only definitions follow a definition on its line")
                        .with_label("unexpected"),
                );
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            }
        }
        if let Some(&Definition { place: first, .. }) = self.lookup(name) {
            self.error(
                Diagnostic::new(Code::Redef, place, format!("`${name}` is defined twice"))
                    .with_label("second definition")
                    .with_note(first, "first definition"),
            );
            return;
        }
        let global = self.scopes.len() == 1;
        let set = self.options.set.iter().find(|(set, _)| global && set == name).map(|&(_, value)| value);
        let value = match set {
            Some(value) => {
                self.set.push(name.to_string());
                let integer = value.fract() == 0.0 && value.abs() < 9.0e15;
                Some(if integer { Value::Integer(value as i64) } else { Value::Float(value) })
            }
            None => value,
        };
        // A wrong definition still defines its name, so that its uses are not reported, too.
        let value = value.unwrap_or(Value::Integer(1));
        if global {
            self.globals.push((name.to_string(), value.clone()));
        }
        if let Some(scope) = self.scopes.last_mut() {
            let (size, depth) = (value.size(), value.depth());
            scope.insert(name.to_string(), Definition { value, place, size, depth });
        }
    }

    /// A value; `None` if there is none or it is wrong.
    fn value(&mut self, depth: usize) -> Option<Value> {
        let start = self.at;
        if depth > DEPTH {
            let span = Span::new(start, start);
            self.error(Diagnostic::new(Code::Limit, span, format!("values nest deeper than {DEPTH}")));
            return None;
        }
        match self.next()? {
            '$' => {
                let name = self.name()?;
                self.value_of(name, self.span_from(start), depth)
            }
            '"' => {
                let body = &self.rest()[1..];
                let line = &body[..body.find('\n').unwrap_or(body.len())];
                let Some(length) = line.find('"') else {
                    let span = Span::new(start, start + 1 + line.len());
                    self.error(
                        Diagnostic::new(Code::Lex, span, "a string has no end")
                            .with_label("`\"` is missing on this line"),
                    );
                    return None;
                };
                self.at += length + 2;
                Some(Value::Text(line[..length].to_string()))
            }
            '[' => self.sequence(']', depth, Self::value).map(Value::List),
            '{' => self.sequence('}', depth, Self::entry).map(Value::Dictionary),
            '!' => self.calculation(),
            c if c.is_ascii_alphabetic() => self.word(),
            c if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.number(),
            _ => None,
        }
    }

    fn sequence<T>(
        &mut self,
        close: char,
        depth: usize,
        item: impl Fn(&mut Self, usize) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blank(true);
            if items.is_empty() && self.next() == Some(close) {
                self.at += 1;
                return Some(items);
            }
            items.push(item(self, depth + 1)?);
            self.blank(true);
            match self.next() {
                Some(',') => self.at += 1,
                Some(c) if c == close => {
                    self.at += 1;
                    return Some(items);
                }
                found => {
                    let span = Span::new(self.at, self.at + found.map_or(0, char::len_utf8));
                    self.error(
                        Diagnostic::new(Code::Syntax, span, format!("expected `,` or `{close}`"))
                            .with_label("unexpected"),
                    );
                    return None;
                }
            }
        }
    }

    fn entry(&mut self, depth: usize) -> Option<(String, Value)> {
        let name = if self.next() == Some('"') {
            let Some(Value::Text(name)) = self.value(depth) else { return None };
            name
        } else {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            let length = self.rest().find(end).unwrap_or(self.rest().len());
            self.at += length;
            self.text[self.at - length..self.at].to_string()
        };
        self.blank(true);
        if name.is_empty() || self.next() != Some('=') {
            let span = Span::new(self.at, self.at);
            self.error(Diagnostic::new(Code::Syntax, span, "an entry is `name = value`").with_label("here"));
            return None;
        }
        self.at += 1;
        self.blank(true);
        Some((name, self.value(depth)?))
    }

    fn word(&mut self) -> Option<Value> {
        let start = self.at;
        let length = self.rest().find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        self.at += length;
        match word {
            "true" | "false" => Some(Value::Bool(word == "true")),
            "inf" => Some(Value::Float(f64::INFINITY)),
            "nan" => Some(Value::Float(f64::NAN)),
            "memref" if self.next() == Some('<') => self.memref(),
            _ if is_type(word) => Some(Value::Type(word.to_string())),
            _ => {
                let diagnostic = Diagnostic::new(Code::Lex, self.span_from(start), format!("`{word}` is not a value"));
                let known = self.lookup(word).is_some();
                let help = if known {
                    format!("did you mean `${word}`?")
                } else {
                    "a value is a number, string, list, dictionary or type".into()
                };
                self.error(diagnostic.with_label("in a definition").with_help(help));
                None
            }
        }
    }

    /// `memref<...>`, kept as text with its variables replaced.
    fn memref(&mut self) -> Option<Value> {
        let mut text = String::from("memref");
        let mut open = 0;
        while let Some(c) = self.next() {
            let start = self.at;
            match c {
                '\n' => break,
                '$' => {
                    let name = self.name()?;
                    text += &self.value_of(name, self.span_from(start), 0)?.to_string();
                    continue;
                }
                '<' => open += 1,
                '>' => open -= 1,
                _ => {}
            }
            text.push(c);
            self.at += c.len_utf8();
            if open == 0 {
                return Some(Value::Type(text));
            }
        }
        let span = Span::new(self.at, self.at);
        self.error(Diagnostic::new(Code::Syntax, span, "expected `>`").with_label("the type does not end"));
        None
    }

    /// The characters of a literal: `-0x1.8p-3`, `1e+9`.
    fn literal_text(&mut self) -> (&'t str, Span) {
        let (start, text) = (self.at, self.rest());
        let bytes = text.as_bytes();
        let mut length = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
        let hexadecimal = text[length..].starts_with("0x") || text[length..].starts_with("0X");
        while let Some(&byte) = bytes.get(length) {
            let exponent = if hexadecimal { matches!(byte, b'p' | b'P') } else { matches!(byte, b'e' | b'E') };
            length += 1;
            if exponent && matches!(bytes.get(length), Some(b'-' | b'+')) {
                length += 1;
            } else if !(byte.is_ascii_alphanumeric() || byte == b'.') {
                length -= 1;
                break;
            }
        }
        self.at += length;
        (&text[..length], self.span_from(start))
    }

    fn number(&mut self) -> Option<Value> {
        let (text, span) = self.literal_text();
        match literal(text) {
            Literal::Integer(value) => Some(Value::Integer(value)),
            Literal::Float(value) => Some(Value::Float(value)),
            Literal::TooLarge => {
                self.error(Diagnostic::new(Code::Const, span, "this number is too large").with_label("out of range"));
                None
            }
            Literal::Malformed => {
                self.error(
                    Diagnostic::new(Code::Lex, span, format!("`{text}` is not a number")).with_label("malformed"),
                );
                None
            }
        }
    }
}
