//! Characters to tokens.
//!
//! ```text
//! h = sum[i](x[i]);  // total      =>      h  =  sum  [  i  ]  (  x  [  i  ]  )  ;
//! ```
//!
//! No text fails to lex: what is not a token becomes a diagnostic, and the parser goes on with the rest.

use super::ast::Group;
use crate::language::preprocessor::{Expanded, Value, wrong_kind};
use crate::tensor::Function;
use arch::{Code, Diagnostic, Span};
use chumsky::prelude::*;
use std::collections::BTreeMap;

/// One token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    Integer(i64),
    Decimal(f64),
    Input,
    Output,
    Model,
    Gradient,
    Iterator,
    Minimize,
    Group(Group),
    Function(Function),
    Arrow,
    /// A character that stands for itself: those of the grammar, and `/` and `!`, which no rule uses but which deserve a good message.
    Symbol(char),
}

/// Tokens that stand at a place.
pub(super) type Located<'s> = (Token<'s>, SimpleSpan);

/// What the characters are, before numbers and keywords are understood.
#[derive(Debug, Clone, Copy)]
enum Raw {
    Word,
    Number,
    Arrow,
    Symbol(char),
    /// `$name`
    Variable,
    Illegal,
}

/// Tokens of a text, and what is not a token.
pub(super) fn lex<'s>(source: &'s Expanded, seed_dialect: bool) -> (Vec<Located<'s>>, Vec<Diagnostic>) {
    let text = source.text.as_ref();
    let raw = raw_tokens(seed_dialect).parse(text).into_output().unwrap_or_default();
    let mut diagnostics = Vec::new();
    let tokens = raw
        .into_iter()
        .filter_map(|(raw, place)| {
            let slice = &text[place.into_range()];
            let span = Span::new(place.start, place.end);
            let token = match raw {
                Raw::Word => word(slice, seed_dialect),
                Raw::Arrow => Token::Arrow,
                Raw::Symbol(symbol) => Token::Symbol(symbol),
                Raw::Number => number(slice, span, &mut diagnostics),
                Raw::Variable => match source.value(place.start) {
                    Some(Value::Integer(value)) => Token::Integer(*value),
                    Some(Value::Float(value)) => Token::Decimal(*value),
                    Some(value) => {
                        diagnostics.push(wrong_kind(value, span));
                        return None;
                    }
                    None => return None,
                },
                // The preprocessor has complained.
                Raw::Illegal if slice.contains('$') => return None,
                Raw::Illegal => {
                    diagnostics.push(illegal(slice, span, seed_dialect));
                    return None;
                }
            };
            Some((token, place))
        })
        .collect();
    (tokens, diagnostics)
}

/// Functions that the original language has: keywords.
const ORIGINAL: &[&str] = &["sigmoid", "sigmoid_symmetric", "sig_sym", "gaussian", "log"];

/// Names of later functions that the program defines are names in all of it. The places where it does, once for each name.
///
/// ```text
/// model_input gelu;  y = gelu * x;     =>     gelu is an input, and no function
/// ```
pub(super) fn free_defined_names<'s>(text: &'s str, tokens: &mut [Located<'s>]) -> Vec<Diagnostic> {
    let mut defined: BTreeMap<&'s str, SimpleSpan> = BTreeMap::new();
    for item in tokens.split(|(token, _)| *token == Token::Symbol(';')) {
        let mut depth = 0i32;
        // An item begins with the name it assigns, or with a kind of declaration and names after commas.
        let assigns = item.get(1).is_some_and(|(next, _)| matches!(next, Token::Symbol('=' | '[')));
        let (mut defines, mut declares) = (assigns, false);
        for (number, &(token, place)) in item.iter().enumerate() {
            let name = &text[place.into_range()];
            if defines && matches!(token, Token::Function(_)) && !ORIGINAL.contains(&name) {
                defined.entry(name).or_insert(place);
            }
            match token {
                Token::Input | Token::Output | Token::Model | Token::Gradient | Token::Iterator => {
                    declares |= number == 0;
                }
                Token::Symbol('[') => depth += 1,
                Token::Symbol(']') => depth -= 1,
                _ => {}
            }
            defines = declares && depth == 0 && (number == 0 || token == Token::Symbol(','));
        }
    }
    for (token, place) in tokens {
        let name = &text[place.into_range()];
        if matches!(token, Token::Function(_)) && defined.contains_key(name) {
            *token = Token::Name(name);
        }
    }
    let warning = |(name, place): (&str, SimpleSpan)| {
        let message = format!("`{name}` takes the place of the built-in function");
        Diagnostic::new(Code::WarnShadow, Span::new(place.start, place.end), message)
            .with_label("defined here")
            .with_help("in the whole program the name means this definition")
    };
    defined.into_iter().map(warning).collect()
}

fn raw_tokens<'s>(seed_dialect: bool) -> impl Parser<'s, &'s str, Vec<(Raw, SimpleSpan)>, extra::Default> {
    let letter = any().filter(char::is_ascii_alphabetic);
    let digit = any().filter(char::is_ascii_digit);
    let tail = any().filter(|c: &char| c.is_ascii_alphanumeric() || *c == '_').repeated();
    let word = letter.ignore_then(tail).ignore_then(just('\'').or_not()).to(Raw::Word).labelled("name");
    let fraction = just('.').ignore_then(digit.repeated().at_least(1));
    let exponent = one_of("eE").ignore_then(one_of("+-").or_not()).ignore_then(digit.repeated().at_least(1));
    let decimals = fraction.or_not().ignore_then(exponent.or_not()).filter(move |_| !seed_dialect);
    let number = digit.repeated().at_least(1).ignore_then(decimals.or_not()).to(Raw::Number).labelled("number");
    let arrow = just("->").to(Raw::Arrow);
    let symbol = one_of("+-*<>=;:,[]()/!").map(Raw::Symbol).labelled("symbol");
    let variable = just('$').ignore_then(any().filter(char::is_ascii_alphanumeric)).ignore_then(tail).to(Raw::Variable);
    let misnamed = just('_').ignore_then(tail).to(Raw::Illegal);
    let illegal = any()
        .filter(|c: &char| !(c.is_ascii_alphanumeric() || is_space(*c) || "+-*<>=;:,[]()/!_".contains(*c)))
        .repeated()
        .at_least(1)
        .to(Raw::Illegal)
        .labelled("illegal characters");
    let space = any().filter(|c: &char| is_space(*c)).ignored();
    let comment = just("//").ignore_then(none_of("\n").repeated()).ignored();
    let blank = choice((space, comment)).repeated();
    choice((word, number, arrow, symbol, variable, misnamed, illegal))
        .map_with(|raw, extra| (raw, extra.span()))
        .then_ignore(blank)
        .repeated()
        .collect()
        .delimited_by(just('\u{feff}').or_not().ignore_then(blank), end())
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}')
}

fn word(slice: &str, seed_dialect: bool) -> Token<'_> {
    match slice {
        "model_input" => Token::Input,
        "model_output" => Token::Output,
        "model" => Token::Model,
        "gradient" => Token::Gradient,
        "iterator" => Token::Iterator,
        "minimize" if !seed_dialect => Token::Minimize,
        "sum" => Token::Group(Group::Sum),
        "pi" => Token::Group(Group::Product),
        "norm" => Token::Group(Group::Norm),
        name => match Function::ALL.iter().find(|function| function.in_tabla().contains(&name)) {
            Some(function) => Token::Function(*function),
            None => Token::Name(name),
        },
    }
}

/// The number a literal stands for; a malformed one is reported and counts as 0 or 1.
fn number<'s>(slice: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) -> Token<'s> {
    let digits = slice.find(|c: char| !c.is_ascii_digit()).unwrap_or(slice.len());
    if digits > 1 && slice.starts_with('0') {
        let trimmed = slice.trim_start_matches('0');
        let proposal =
            if trimmed.starts_with(|c: char| c.is_ascii_digit()) { trimmed.into() } else { format!("0{trimmed}") };
        diagnostics.push(
            Diagnostic::new(Code::Lex, span, "a number does not start with `0`")
                .with_label("leading zero")
                .with_help(format!("write `{proposal}`")),
        );
        return Token::Integer(1);
    }
    if digits == slice.len() {
        return Token::Integer(slice.parse().unwrap_or_else(|_| {
            diagnostics.push(
                Diagnostic::new(Code::Const, span, "this integer does not fit into 64 bits")
                    .with_label(format!("larger than {}", i64::MAX)),
            );
            1
        }));
    }
    let value = slice.parse().unwrap_or(f64::INFINITY);
    if value == f64::INFINITY {
        diagnostics
            .push(Diagnostic::new(Code::Const, span, "this number is too large").with_label("larger than 1.8e308"));
        return Token::Decimal(1.0);
    }
    Token::Decimal(value)
}

fn illegal(slice: &str, span: Span, seed_dialect: bool) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        Code::Lex,
        span,
        match slice.chars().count() {
            1 if slice.contains(char::is_control) => "a control character is not part of the language".into(),
            1 => format!("`{slice}` is not a character of the language"),
            count => format!("{count} characters that are not part of the language"),
        },
    );
    match slice.chars().next() {
        Some('\'') => diagnostic.with_label("at most one `'`, at the end of a name"),
        Some('_') => Diagnostic::new(Code::Lex, span, format!("the name `{slice}` starts with an underscore"))
            .with_label("a name starts with a letter"),
        Some('.') if seed_dialect => {
            diagnostic.with_help("the seed dialect has no decimal numbers; leave out --std=seed")
        }
        Some('.') => diagnostic.with_help("a decimal number has digits on both sides of the point: `0.5`, `1.0`"),
        Some('#') => diagnostic.with_help("a comment starts with `//`"),
        Some('{' | '}') => diagnostic.with_help("subscripts stand in `[` `]`, arguments in `(` `)`"),
        _ if slice.is_ascii() => diagnostic,
        _ => diagnostic.with_help("other letters than those of ASCII may stand in comments only"),
    }
}
