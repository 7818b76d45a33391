//! Characters to tokens.
//!
//! ```text
//! var A : [3 4]   // comment      =>      var  A  :  [  3  4  ]
//! ```

use crate::language::preprocessor::{Expanded, Value, wrong_kind};
use arch::{Code, Diagnostic, Span};
use chumsky::prelude::*;

/// One token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    Integer(i64),
    Var,
    Type,
    /// A character that stands for itself; `,` and `;` are in no rule but get a better message than other characters.
    Symbol(char),
}

/// Tokens that stand at a place.
pub(super) type Located<'s> = (Token<'s>, SimpleSpan);

#[derive(Debug, Clone, Copy)]
enum Raw {
    Word,
    Number,
    Symbol(char),
    /// `$name`
    Variable,
    Illegal,
}

/// Tokens of a text, and what is not a token.
pub(super) fn lex<'s>(source: &'s Expanded) -> (Vec<Located<'s>>, Vec<Diagnostic>) {
    let text = source.text.as_ref();
    let raw = raw_tokens().parse(text).into_output().unwrap_or_default();
    let mut diagnostics = Vec::new();
    let token = |(raw, place): (Raw, SimpleSpan)| {
        let slice = &text[place.into_range()];
        let span = Span::new(place.start, place.end);
        let token = match raw {
            Raw::Word if slice == "var" => Token::Var,
            Raw::Word => Token::Name(slice),
            Raw::Symbol(symbol) => Token::Symbol(symbol),
            Raw::Number => Token::Integer(slice.parse().unwrap_or_else(|_| {
                diagnostics.push(
                    Diagnostic::new(Code::Const, span, "this integer does not fit into 64 bits")
                        .with_label(format!("larger than {}", i64::MAX)),
                );
                1
            })),
            Raw::Variable => match source.value(place.start) {
                Some(Value::Integer(value)) => Token::Integer(*value),
                Some(value) => {
                    diagnostics.push(wrong_kind(value, span));
                    return None;
                }
                None => return None,
            },
            // The preprocessor has complained.
            Raw::Illegal if slice.contains('$') => return None,
            Raw::Illegal => {
                diagnostics.push(illegal(slice, span));
                return None;
            }
        };
        Some((token, place))
    };
    let mut tokens: Vec<Located> = raw.into_iter().filter_map(token).collect();
    // `type T :` declares a type where it stands; elsewhere `type` is a name.
    for n in 0..tokens.len().saturating_sub(2) {
        let declares = matches!(
            (tokens[n].0, tokens[n + 1].0, tokens[n + 2].0),
            (Token::Name("type"), Token::Name(_), Token::Symbol(':'))
        );
        let qualified = n > 0 && matches!(tokens[n - 1].0, Token::Var | Token::Name("input" | "output"));
        if declares && !qualified {
            tokens[n].0 = Token::Type;
        }
    }
    (tokens, diagnostics)
}

fn raw_tokens<'s>() -> impl Parser<'s, &'s str, Vec<(Raw, SimpleSpan)>, extra::Default> {
    const SYMBOLS: &str = "+-*/#.^=:[](),;";
    let letter = any().filter(char::is_ascii_alphabetic);
    let word = letter.ignore_then(any().filter(char::is_ascii_alphanumeric).repeated()).to(Raw::Word);
    let number = any().filter(char::is_ascii_digit).repeated().at_least(1).to(Raw::Number);
    let name_character = any().filter(|c: &char| c.is_ascii_alphanumeric() || *c == '_');
    let variable = just('$').ignore_then(name_character.repeated().at_least(1)).to(Raw::Variable);
    let symbol = one_of(SYMBOLS).map(Raw::Symbol);
    let illegal = any()
        .filter(|c: &char| !(c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || SYMBOLS.contains(*c)))
        .repeated()
        .at_least(1)
        .to(Raw::Illegal);
    let space = any().filter(char::is_ascii_whitespace).ignored();
    let comment = just("//").ignore_then(none_of("\n").repeated()).ignored();
    let blank = choice((comment, space)).repeated();
    choice((word, number, symbol, variable, illegal))
        .map_with(|raw, extra| (raw, extra.span()))
        .then_ignore(blank)
        .repeated()
        .collect()
        .delimited_by(just('\u{feff}').or_not().ignore_then(blank), end())
}

fn illegal(slice: &str, span: Span) -> Diagnostic {
    let diagnostic = match slice.chars().count() {
        1 if slice.contains(char::is_control) => {
            Diagnostic::new(Code::Lex, span, "a control character is not part of the language")
        }
        1 => Diagnostic::new(Code::Lex, span, format!("`{slice}` is not a character of the language")),
        count => Diagnostic::new(Code::Lex, span, format!("{count} characters that are not part of the language")),
    };
    match slice.chars().next() {
        Some('_') => diagnostic.with_help("a name has letters and digits only"),
        _ => diagnostic,
    }
}
