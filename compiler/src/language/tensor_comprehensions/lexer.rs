//! Characters to tokens.
//!
//! ```text
//! O(i) +=! A(i, A.1 - 1)   # last      =>      O  (  i  )  +=!  A  (  i  ,  A.1  -  1  )
//! ```
//!
//! White space separates tokens and has no other meaning; statements have no terminator. `min=` is one token. The name of a function may
//! begin with digits (`def 1LUT`); `2n` in an expression is a forgotten operator.

use super::ast::{Operator, Reduction};
use super::types::Type;
use crate::language::preprocessor::{Expanded, Value, wrong_kind};
use arch::{Code, Diagnostic, Span};
use chumsky::prelude::*;

/// One token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    /// `A.1`
    Extent(&'s str, usize),
    Integer(i64),
    Float(f64),
    Type(Type),
    Def,
    Where,
    In,
    Exists,
    Min,
    Max,
    /// `+=` and the like, not `=`.
    Reduce(Operator),
    /// Everything else, as it is written.
    Symbol(&'s str),
}

/// Tokens that stand at a place.
pub(super) type Located<'s> = (Token<'s>, SimpleSpan);

#[derive(Debug, Clone, Copy)]
enum Raw {
    Word,
    Extent,
    Number,
    /// A number that goes on with letters.
    Malformed,
    Symbol,
    /// `$name`
    Variable,
    Illegal,
}

/// Symbols, longest first.
const SYMBOLS: &[&str] = &[
    "<=>", "+=!", "*=!", "+=", "*=", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "..", "+", "-", "*", "/",
    "%", "&", "|", "^", "~", "<", ">", "=", "!", "?", ":", ",", "(", ")", "{", "}", ".", ";", "[", "]",
];

/// Tokens of a text, and what is not a token.
pub(super) fn lex<'s>(source: &'s Expanded) -> (Vec<Located<'s>>, Vec<Diagnostic>) {
    let text = source.text.as_ref();
    let raw = raw_tokens().parse(text).into_output().unwrap_or_default();
    let mut diagnostics = Vec::new();
    // Names of functions so far.
    let mut functions: Vec<&str> = Vec::new();
    let mut defines = false;
    let token = |(raw, place): (Raw, SimpleSpan)| {
        let slice = &text[place.into_range()];
        let span = Span::new(place.start, place.end);
        let is_name = !slice.contains('.') && (defines || functions.contains(&slice));
        if defines {
            functions.push(slice);
        }
        defines = matches!(raw, Raw::Word) && slice == "def";
        let token = match raw {
            Raw::Word => word(slice),
            Raw::Malformed if is_name => Token::Name(slice),
            Raw::Symbol => symbol(slice),
            Raw::Extent => {
                let (name, dimension) = slice.split_once('.').unwrap_or((slice, "0"));
                Token::Extent(name, dimension.parse().unwrap_or(usize::MAX))
            }
            Raw::Number => number(slice, span, &mut diagnostics),
            Raw::Malformed => {
                diagnostics.push(
                    Diagnostic::new(Code::Lex, span, format!("`{slice}` is neither a number nor a name"))
                        .with_label("a name starts with a letter or `_`"),
                );
                return None;
            }
            Raw::Variable => match source.value(place.start) {
                Some(Value::Integer(value)) => Token::Integer(*value),
                Some(Value::Float(value)) => Token::Float(*value),
                Some(Value::Type(name)) if Type::of_alias(name).is_some() => Token::Type(Type::of_alias(name)?),
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
    let tokens = raw.into_iter().filter_map(token).collect();
    (tokens, diagnostics)
}

fn raw_tokens<'s>() -> impl Parser<'s, &'s str, Vec<(Raw, SimpleSpan)>, extra::Default> {
    let letter = any().filter(|c: &char| c.is_ascii_alphabetic() || *c == '_');
    let digit = any().filter(char::is_ascii_digit);
    let tail = any().filter(|c: &char| c.is_ascii_alphanumeric() || *c == '_').repeated();
    let digits = digit.repeated().at_least(1);
    let symbol = choice(SYMBOLS.iter().map(|symbol| just(*symbol)).collect::<Vec<_>>()).to(Raw::Symbol);
    // `min=` is an operator, `min==` is not.
    let reduction =
        just("min=").or(just("max=")).ignore_then(just('!').or_not()).then_ignore(just('=').not()).to(Raw::Symbol);
    let selector = just('.').ignore_then(digits);
    let word = letter.ignore_then(tail).ignore_then(selector.or_not()).map(|selector| match selector {
        Some(()) => Raw::Extent,
        None => Raw::Word,
    });
    let exponent = one_of("eE").ignore_then(one_of("+-").or_not()).ignore_then(digits);
    let point = just('.').then_ignore(just('.').not());
    let whole = digits.ignore_then(point.ignore_then(digits.or_not()).or_not()).ignored();
    let fraction = just('.').ignore_then(digits).ignored();
    let rest = letter.ignore_then(tail).or_not();
    let number = choice((whole, fraction)).ignore_then(exponent.or_not()).ignore_then(rest).map(|rest| match rest {
        Some(()) => Raw::Malformed,
        None => Raw::Number,
    });
    let variable = just('$').ignore_then(any().filter(char::is_ascii_alphanumeric)).ignore_then(tail).to(Raw::Variable);
    let illegal = any()
        .filter(|c: &char| {
            !(c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "_+-*/%<>=!?:,(){}.;[]&|^~#".contains(*c))
        })
        .repeated()
        .at_least(1)
        .to(Raw::Illegal);
    let lonely = one_of("&|").to(Raw::Illegal);
    let space = any().filter(char::is_ascii_whitespace).ignored();
    let comment = just('#').ignore_then(none_of("\n").repeated()).ignored();
    let blank = choice((space, comment)).repeated();
    choice((reduction, word, number, symbol, variable, illegal, lonely))
        .map_with(|raw, extra| (raw, extra.span()))
        .then_ignore(blank)
        .repeated()
        .collect()
        .delimited_by(just('\u{feff}').or_not().ignore_then(blank), end())
}

fn word(slice: &str) -> Token<'_> {
    match slice {
        "def" => Token::Def,
        "where" => Token::Where,
        "in" => Token::In,
        "exists" => Token::Exists,
        "min" => Token::Min,
        "max" => Token::Max,
        name => Type::of_keyword(name).map_or(Token::Name(name), Token::Type),
    }
}

fn symbol(slice: &str) -> Token<'_> {
    let reduction = match slice.trim_end_matches('!') {
        "+=" => Reduction::Add,
        "*=" => Reduction::Mul,
        "min=" => Reduction::Min,
        "max=" => Reduction::Max,
        _ => return Token::Symbol(slice),
    };
    Token::Reduce(Operator::Reduce { reduction, initialise: slice.ends_with('!') })
}

fn number<'s>(slice: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) -> Token<'s> {
    if slice.contains(['.', 'e', 'E']) {
        let value: f64 = slice.parse().unwrap_or(f64::INFINITY);
        if value.is_finite() {
            return Token::Float(value);
        }
        diagnostics
            .push(Diagnostic::new(Code::Const, span, "this number is too large").with_label("larger than 1.8e308"));
        return Token::Float(1.0);
    }
    if let Ok(value) = slice.parse::<i32>() {
        return Token::Integer(i64::from(value));
    }
    diagnostics.push(
        Diagnostic::new(Code::Const, span, "this integer does not fit into int32")
            .with_label(format!("larger than {}", i32::MAX)),
    );
    Token::Integer(1)
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
        Some('&') => diagnostic.with_help("the logical operator is `&&`"),
        Some('|') => diagnostic.with_help("the logical operator is `||`"),
        _ => diagnostic,
    }
}
