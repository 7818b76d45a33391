//! `!calc(...)` in a definition: its numbers, variables and operators, up to the closing parenthesis.

use super::Scan;
use crate::language::preprocessor::calculator;
use crate::language::preprocessor::value::Value;
use arch::{Code, Diagnostic, Span};

impl Scan<'_> {
    /// `!calc( ... )`
    pub(super) fn calculation(&mut self) -> Option<Value> {
        let start = self.at;
        if !self.rest().starts_with("!calc") {
            return None;
        }
        self.at += 5;
        self.blank(true);
        if self.next() != Some('(') {
            let span = self.span_from(start);
            self.error(Diagnostic::new(Code::Syntax, span, "expected `(` after `!calc`").with_label("here"));
            return None;
        }
        self.at += 1;
        let mut stack = Vec::new();
        loop {
            self.blank(true);
            let start = self.at;
            let Some(c) = self.next() else {
                let span = Span::new(self.at, self.at);
                self.error(Diagnostic::new(Code::Syntax, span, "expected `)`").with_label("the file ends here"));
                return None;
            };
            let signed = matches!(c, '-' | '+') && self.rest()[1..].starts_with(|c: char| c.is_ascii_digit());
            if c == ')' {
                self.at += 1;
                let span = self.span_from(start);
                return match stack.as_slice() {
                    &[value] => Some(Value::Integer(value)),
                    values => {
                        let message = format!("a calculation gives one value, this one gives {}", values.len());
                        self.error(Diagnostic::new(Code::Syntax, span, message).with_label("at the end"));
                        None
                    }
                };
            } else if c == '$' {
                let name = self.name()?;
                let span = self.span_from(start);
                match self.value_of(name, span, 0)? {
                    Value::Integer(value) => stack.push(value),
                    other => {
                        let message = format!("a calculation is made of integers, `${name}` is {}", other.kind());
                        self.error(Diagnostic::new(Code::Type, span, message).with_label("no integer"));
                        return None;
                    }
                }
            } else if c.is_ascii_digit() || signed {
                let number = self.number()?;
                let Value::Integer(value) = number else {
                    let span = self.span_from(start);
                    self.error(
                        Diagnostic::new(Code::Type, span, "a calculation is made of integers").with_label("no integer"),
                    );
                    return None;
                };
                stack.push(value);
            } else {
                self.operator(start, c, &mut stack)?;
            }
        }
    }

    fn operator(&mut self, start: usize, c: char, stack: &mut Vec<i64>) -> Option<()> {
        let letters = self.rest().find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest().len());
        self.at += if letters > 0 { letters } else { c.len_utf8() };
        let word = &self.text[start..self.at];
        let span = self.span_from(start);
        match calculator::apply(word, stack, span) {
            Ok(()) => Some(()),
            Err(diagnostic) => {
                self.error(diagnostic);
                None
            }
        }
    }
}
