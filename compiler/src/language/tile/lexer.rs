//! Characters to logical lines of tokens.
//!
//! ```text
//! def f(I):              0  def f ( I ) :
//!   O[n] += I[m,         2  O [ n ] += I [ m , n ]      line ends inside brackets do not count
//!           n]
//! ```

use crate::language::preprocessor::{Expanded, Value, wrong_kind};
use arch::{Code, Diagnostic, Span};
use chumsky::prelude::*;

/// One token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    Integer(i64),
    Float(f64),
    Def,
    Return,
    Symbol(&'s str),
}

/// Tokens that stand at a place.
pub(super) type Located<'s> = (Token<'s>, SimpleSpan);

/// A logical line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line<'s> {
    /// Blanks before its first token.
    pub(super) indentation: &'s str,
    pub(super) tokens: Vec<Located<'s>>,
}

#[derive(Debug, Clone, Copy)]
enum Raw {
    Word,
    Number,
    Malformed,
    Symbol,
    Variable,
    Newline,
    Illegal,
}

/// Symbols, longest first.
const SYMBOLS: &[&str] = &[
    "//=", "**", "+=", "-=", "*=", "/=", "%=", "<<", ">>", ">=", "<=", "==", "!=", "//", "+", "-", "*", "/", "%", "<",
    ">", "=", "&", "|", "^", "~", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";",
];

/// Logical lines of a text, and what is not a token.
pub(super) fn lex<'s>(source: &'s Expanded) -> (Vec<Line<'s>>, Vec<Diagnostic>) {
    let text = source.text.as_ref();
    let raw = raw_tokens().parse(text).into_output().unwrap_or_default();
    let (mut lines, mut diagnostics): (Vec<Line>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    let (mut open, mut fresh) = (0usize, true);
    for (raw, place) in raw {
        let slice = &text[place.into_range()];
        let span = Span::new(place.start, place.end);
        let token = match raw {
            Raw::Newline => {
                // A definition cannot be inside brackets: there, one was not closed.
                let rest = text[place.end..].trim_start_matches(['\n', '\r']);
                fresh = fresh || open == 0 || rest.starts_with("def ");
                if fresh {
                    open = 0;
                }
                continue;
            }
            Raw::Word if slice == "def" => Token::Def,
            Raw::Word if slice == "return" => Token::Return,
            Raw::Word => Token::Name(slice),
            Raw::Symbol => {
                match slice {
                    "(" | "[" | "{" => open += 1,
                    ")" | "]" | "}" => open = open.saturating_sub(1),
                    _ => {}
                }
                Token::Symbol(slice)
            }
            Raw::Number => number(slice, span, &mut diagnostics),
            Raw::Variable => match source.value(place.start) {
                Some(Value::Integer(value)) => Token::Integer(*value),
                Some(Value::Float(value)) => Token::Float(*value),
                Some(value) => {
                    diagnostics.push(wrong_kind(value, span));
                    continue;
                }
                None => continue,
            },
            // The preprocessor has complained.
            Raw::Illegal if slice.contains('$') => continue,
            Raw::Malformed | Raw::Illegal => {
                diagnostics.push(Diagnostic::new(Code::Lex, span, no_token(raw, slice)).with_label("not a token"));
                continue;
            }
        };
        if std::mem::take(&mut fresh) || lines.is_empty() {
            let start = text[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
            let indentation = text[start..place.start].trim_start_matches('\u{feff}');
            lines.push(Line { indentation, tokens: Vec::new() });
        }
        if let Some(line) = lines.last_mut() {
            line.tokens.push((token, place));
        }
    }
    (lines, diagnostics)
}

fn no_token(raw: Raw, slice: &str) -> String {
    match slice.chars().count() {
        1 if slice.contains(char::is_control) => "a control character is not part of the language".to_string(),
        _ if matches!(raw, Raw::Malformed) => format!("`{slice}` is neither a number nor a name"),
        1 => format!("`{slice}` is not a character of the language"),
        count => format!("{count} characters that are not part of the language"),
    }
}

fn raw_tokens<'s>() -> impl Parser<'s, &'s str, Vec<(Raw, SimpleSpan)>, extra::Default> {
    let letter = any().filter(|c: &char| c.is_ascii_alphabetic() || *c == '_');
    let digit = any().filter(char::is_ascii_digit);
    let tail = any().filter(|c: &char| c.is_ascii_alphanumeric() || *c == '_').repeated();
    let digits = digit.repeated().at_least(1);
    let word = letter.ignore_then(tail).to(Raw::Word);
    let exponent = one_of("eE").ignore_then(one_of("+-").or_not()).ignore_then(digits);
    let whole = digits.ignore_then(just('.').ignore_then(digits.or_not()).or_not()).ignored();
    let fraction = just('.').ignore_then(digits).ignored();
    let rest = letter.ignore_then(tail).or_not();
    let number = choice((whole, fraction)).ignore_then(exponent.or_not()).ignore_then(rest).map(|rest| match rest {
        Some(()) => Raw::Malformed,
        None => Raw::Number,
    });
    let symbol = choice(SYMBOLS.iter().map(|symbol| just(*symbol)).collect::<Vec<_>>()).to(Raw::Symbol);
    let variable = just('$').ignore_then(any().filter(char::is_ascii_alphanumeric)).ignore_then(tail).to(Raw::Variable);
    let newline = just('\n').to(Raw::Newline);
    let illegal = any()
        .filter(|c: &char| {
            !(c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "_+-*/%<>=&|^~()[]{},:.;!#".contains(*c))
        })
        .repeated()
        .at_least(1)
        .to(Raw::Illegal);
    let space = any().filter(|c: &char| c.is_ascii_whitespace() && *c != '\n').ignored();
    let comment = just('#').ignore_then(none_of("\n").repeated()).ignored();
    let blank = choice((space, comment)).repeated();
    choice((newline, word, number, symbol, variable, illegal, just('!').to(Raw::Illegal)))
        .map_with(|raw, extra| (raw, extra.span()))
        .then_ignore(blank)
        .repeated()
        .collect()
        .delimited_by(just('\u{feff}').or_not().ignore_then(blank), end())
}

fn number<'s>(slice: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) -> Token<'s> {
    let real = slice.contains(['.', 'e', 'E']);
    let too_large = |diagnostics: &mut Vec<Diagnostic>| {
        diagnostics.push(Diagnostic::new(Code::Const, span, "this number is too large").with_label("out of range"));
        Token::Integer(1)
    };
    if real {
        match slice.parse::<f64>() {
            Ok(value) if value.is_finite() => Token::Float(value),
            _ => too_large(diagnostics),
        }
    } else {
        slice.parse().map_or_else(|_| too_large(diagnostics), Token::Integer)
    }
}
