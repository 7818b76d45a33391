//! Syntax errors in words: what was found, what could have stood there, and which mistake it probably is.

use super::lexer::{Located, Token};
use crate::language::expected::Expected;
use crate::tensor::Function;
use arch::diagnostic::line_column;
use arch::{Code, Diagnostic, Span};
use chumsky::error::Rich;

/// An explained error.
pub(super) struct Mistake {
    pub(super) diagnostic: Diagnostic,
    /// Whether the tokens from the error on are probably an item of their own (a `;` is missing before).
    pub(super) resume: bool,
}

/// Explain an error at token `at` of `tokens`, which start at the item that has the error.
pub(super) fn explain(text: &str, tokens: &[Located], at: usize, error: &Rich<Token>) -> Mistake {
    let token = |index: Option<usize>| index.and_then(|index| tokens.get(index)).map(|&(token, _)| token);
    let place = |index: usize| tokens.get(index).map(|(_, place)| Span::new(place.start, place.end));
    let span = place(at).unwrap_or(Span::new(text.len(), text.len()));
    let previous = at.checked_sub(1);
    let found = token(Some(at));
    let expected = Expected::of(error, spelling);
    let mut diagnostic =
        Diagnostic::new(Code::Syntax, span, format!("{}, found {}", expected.words(), written(text, found, span)));
    let adjacent = previous.and_then(place).is_some_and(|before| before.end == span.start);
    let line = |offset: usize| line_column(text, offset).0;

    let before = previous.and_then(place);
    if let Some(before) = before.filter(|_| expected.has(";") && starts_item(found)) {
        let (end, here) = (line(before.end.saturating_sub(1)), line(span.start));
        if end != here || found.is_none() {
            diagnostic.message = format!("missing `;` after line {end}");
            diagnostic = diagnostic
                .with_label("a new statement starts here")
                .with_note(Span::new(before.end, before.end), "the `;` belongs here");
            if found.is_none() {
                diagnostic.label = Some("the file ends here".into());
            }
            return Mistake { diagnostic, resume: found.is_some() };
        }
    }

    let written = written(text, found, span);
    let around = Around { previous: token(previous), found, next: token(Some(at + 1)), adjacent, written: &written };
    let help = help(&around, &expected);
    if found.is_some() && text[span.start..].starts_with('$') {
        // A value of the preprocessor: what is wrong is its kind.
        diagnostic.code = Code::Type;
    }
    diagnostic.help = help;
    let label = if found.is_some() { "unexpected" } else { "the file ends here" };
    Mistake { diagnostic: diagnostic.with_label(label), resume: false }
}

/// The tokens around an error.
#[derive(Clone, Copy)]
struct Around<'a> {
    previous: Option<Token<'a>>,
    found: Option<Token<'a>>,
    next: Option<Token<'a>>,
    /// Nothing stands between the first two.
    adjacent: bool,
    /// The second one, for people.
    written: &'a str,
}

/// Whether a statement or declaration may begin like this, or the file end.
fn starts_item(found: Option<Token<'_>>) -> bool {
    found.is_none_or(|found| {
        matches!(
            found,
            Token::Name(_)
                | Token::Input
                | Token::Output
                | Token::Model
                | Token::Gradient
                | Token::Iterator
                | Token::Minimize
        )
    })
}

/// Which mistake it probably is, and the way out.
fn help(at: &Around<'_>, expected: &Expected) -> Option<String> {
    let could_end = expected.has(";");
    let Around { previous, found, next, adjacent, written } = *at;
    match (previous, found) {
        (_, Some(Token::Symbol('-'))) if expected.has("an expression") => {
            Some("there is no unary minus: write `0 - x`".to_string())
        }
        (Some(Token::Symbol(first @ ('<' | '>'))), Some(Token::Symbol('='))) if adjacent => {
            let strict = if first == '<' { '>' } else { '<' };
            Some(format!("the comparisons are `<` and `>`; `a {first}= b` is `1 - (a {strict} b)`"))
        }
        (_, Some(Token::Symbol('='))) if could_end => {
            Some("the comparisons are `<` and `>`; `a == b` is `1 - (a < b) - (a > b)`".to_string())
        }
        (_, Some(Token::Symbol('!'))) => {
            Some("the comparisons are `<` and `>`; `a != b` is `(a < b) + (a > b)`".to_string())
        }
        (_, Some(Token::Symbol('/'))) if matches!(next, Some(Token::Symbol('*'))) => {
            Some("a comment starts with `//` and ends with the line".to_string())
        }
        (_, Some(Token::Symbol('/'))) => {
            Some("there is no division: multiply by a constant such as `0.25`".to_string())
        }
        (Some(Token::Name(name)), Some(Token::Symbol('('))) => {
            let mut names = vec!["sum", "pi", "norm"];
            names.extend(Function::ALL.iter().filter_map(|function| function.in_tabla().first()));
            let last = names.pop().unwrap_or_default();
            Some(format!("unknown function `{name}`; the functions are {} and {last}", names.join(", ")))
        }
        (Some(Token::Symbol('=')), Some(Token::Symbol('>'))) if adjacent => None,
        (_, Some(Token::Symbol('='))) if matches!(next, Some(Token::Symbol('>'))) => {
            Some("a gradient is linked to its model by `->`".to_string())
        }
        (_, Some(_)) if expected.has("a name") && is_keyword(found) => {
            Some(format!("{written} is a word of the language and cannot be a name"))
        }
        (Some(Token::Arrow), _) => Some("after `->` stands the model that the gradient belongs to".to_string()),
        (Some(Token::Name(_)), Some(Token::Symbol(';' | ',')))
            if expected.has("[") && !could_end && !expected.has("=") =>
        {
            Some("an iterator has a range: `iterator i[0:10];`".to_string())
        }
        (Some(Token::Name(_) | Token::Integer(_)), Some(Token::Symbol('+' | '-' | '*'))) if expected.has("]") => Some(
            "a subscript is an iterator, a constant or an integer; an iterator with another range can do the shift"
                .to_string(),
        ),
        (Some(Token::Name(name)), Some(Token::Symbol('-'))) if adjacent => {
            Some(format!("a name has letters, digits and `_`: perhaps `{name}_...`"))
        }
        (Some(Token::Integer(_)), Some(Token::Name(_))) if adjacent => Some("a name starts with a letter".to_string()),
        (Some(Token::Symbol(']')), Some(Token::Symbol('['))) if expected.has("(") => {
            Some("an operator has one iterator; nest them: `sum[i](sum[j](...))`".to_string())
        }
        (_, Some(Token::Symbol(')'))) if could_end => Some("this `)` has no `(`".to_string()),
        (_, Some(Token::Symbol(';'))) if expected.has(")") => Some("a `(` is not closed".to_string()),
        (_, Some(Token::Name(_))) if expected.has(",") => {
            Some("names in a declaration are separated by `,`".to_string())
        }
        _ => None,
    }
}

/// How an expected token is named; tokens with a label of their own do not get here.
fn spelling(token: &Token) -> String {
    match token {
        Token::Symbol(symbol) => symbol.to_string(),
        Token::Arrow => "->".into(),
        _ => "a name".into(),
    }
}

fn is_keyword(token: Option<Token>) -> bool {
    !matches!(
        token,
        None | Some(Token::Name(_) | Token::Integer(_) | Token::Decimal(_) | Token::Symbol(_) | Token::Arrow)
    )
}

/// The token as it stands in the text.
fn written(text: &str, token: Option<Token>, span: Span) -> String {
    if token.is_none() {
        return "the end of the file".into();
    }
    let slice = &text[span.start..span.end];
    if slice.len() > 40 { "a long name".into() } else { format!("`{slice}`") }
}
