//! The tokens expected at a syntax error, in words.

use chumsky::error::{Rich, RichPattern};

/// The alternatives, sorted and without repetition.
pub(super) struct Expected(Vec<String>);

impl Expected {
    /// The alternatives of a parser's error; `spelling` writes a token that has no label.
    pub(super) fn of<T>(error: &Rich<T>, spelling: impl Fn(&T) -> String) -> Expected {
        let mut words: Vec<String> = error
            .expected()
            .filter_map(|pattern| match pattern {
                RichPattern::Token(token) => Some(spelling(token)),
                RichPattern::Label(label) => Some(label.to_string()),
                _ => None,
            })
            .collect();
        words.sort();
        words.dedup();
        Expected(words)
    }

    /// Whether something is one of them.
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|known| known == word)
    }

    /// ``expected `;` or an operator``
    pub(super) fn words(&self) -> String {
        let quoted: Vec<String> = self
            .0
            .iter()
            .map(|word| {
                if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '`') {
                    word.clone()
                } else {
                    format!("`{word}`")
                }
            })
            .collect();
        match quoted.as_slice() {
            [] => "unexpected token".into(),
            [one] => format!("expected {one}"),
            [most @ .., last] => format!("expected {} or {last}", most.join(", ")),
        }
    }
}
