//! Syntax errors in words.

use super::lexer::{Located, Token};
use crate::language::expected::Expected;
use arch::{Code, Diagnostic, Span};
use chumsky::error::Rich;

/// Explain an error at token `at`.
pub(super) fn explain(text: &str, tokens: &[Located], at: usize, error: &Rich<Token>) -> Diagnostic {
    let token = |index: Option<usize>| index.and_then(|index| tokens.get(index)).map(|&(token, _)| token);
    let span = tokens.get(at).map_or(Span::new(text.len(), text.len()), |(_, place)| Span::new(place.start, place.end));
    let (previous, found, next) = (token(at.checked_sub(1)), token(Some(at)), token(Some(at + 1)));
    let expected = Expected::of(error, spelling);
    let written = match found {
        None => "the end of the file".into(),
        Some(_) if span.end - span.start > 40 => "a long name".into(),
        Some(_) => format!("`{}`", &text[span.start..span.end]),
    };
    // A value of the preprocessor: what is wrong is its kind.
    let variable = found.is_some() && text[span.start..].starts_with('$');
    let code = if variable { Code::Type } else { Code::Syntax };
    let diagnostic = Diagnostic::new(code, span, format!("{}, found {written}", expected.words()))
        .with_label(if found.is_some() { "unexpected" } else { "the file ends here" });
    let operator = expected.has("`=` or a reduction such as `+=!`");
    let help = match (previous, found, next) {
        (_, Some(Token::Symbol("..")), _) => "a range is written `0:2`, the second bound exclusive",
        (_, Some(Token::Symbol(";")), _) => "statements need no `;`",
        (_, Some(Token::Symbol("[" | "]")), _) => "subscripts stand in parentheses: `A(i, j)`",
        (_, Some(Token::Symbol("-" | "/" | "%")), Some(Token::Symbol("="))) if operator => {
            "the reductions are `+=`, `*=`, `min=` and `max=`, with `!` to start from nothing"
        }
        (_, Some(Token::Symbol("(")), _) if expected.has("->") => {
            "the results stand after `->`: `def f(float(N) A) -> (O)`"
        }
        (Some(Token::Symbol(")")), Some(Token::Symbol("=")), _) => {
            "perhaps an expression of the line before runs on into this one: put it in parentheses"
        }
        (
            _,
            Some(Token::Min | Token::Max | Token::In | Token::Where | Token::Exists | Token::Def | Token::Type(_)),
            _,
        ) if expected.has("a name") => "this is a word of the language and cannot be a name",
        _ => return diagnostic,
    };
    diagnostic.with_help(help)
}

fn spelling(token: &Token) -> String {
    match token {
        Token::Symbol(symbol) => (*symbol).to_string(),
        _ => "a name".into(),
    }
}
