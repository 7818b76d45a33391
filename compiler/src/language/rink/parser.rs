//! Tokens to syntax tree.
//!
//! ```text
//! program     = {declaration} {statement}
//! declaration = "var" {"input" | "output"} NAME ":" "[" {INTEGER} "]"
//! statement   = NAME "=" expression
//! expression  = operand {tail}                     operand = NAME | "(" expression ")"
//! tail        = ("+" | "-" | "*" | "/" | "#") operand | ("." | "^") "[" INTEGER INTEGER "]"
//! ```
//!
//! After an error the next try is at the next line that can start a declaration or statement.

use super::ast::{Declaration, Expression, Form, Name, Number, Operand, Operator, Program, Statement, Tail};
use super::lexer::{Located, Token};
use crate::language::Limits;
use crate::language::expected::Expected;
use crate::language::nesting::{self, Bracket};
use arch::{Code, Diagnostic, Span};
use chumsky::input::ValueInput;
use chumsky::prelude::*;

/// The program and its syntax errors. Places in `dropped` are where the lexer has complained already.
pub(super) fn parse<'s>(
    text: &'s str,
    tokens: &[Located<'s>],
    dropped: &[usize],
    limits: &Limits,
) -> (Program<'s>, Vec<Diagnostic>) {
    if let Some(error) = too_deep(tokens, limits) {
        return (Program::default(), vec![error]);
    }
    let parser = program();
    let end = SimpleSpan::from(text.len()..text.len());
    let (mut result, mut errors) = (Program::default(), Vec::new());
    let mut from = 0;
    while errors.len() < limits.errors {
        match parser.parse(tokens[from..].map(end, |(token, place)| (token, place))).into_result() {
            Ok(program) => {
                result = program;
                break;
            }
            Err(found) => {
                let place = found[0].span().start;
                let at = from + tokens[from..].partition_point(|(_, token)| token.start < place);
                let begin = tokens.get(from).map_or(0, |(_, token)| token.start);
                if !dropped.iter().any(|&dropped| begin <= dropped && dropped <= place) {
                    errors.push(explain(text, tokens, at, &found[0]));
                }
                let Some(next) = next_line(text, tokens, at) else { break };
                from = next;
            }
        }
    }
    (result, errors)
}

fn next_line(text: &str, tokens: &[Located], at: usize) -> Option<usize> {
    (at + 1..tokens.len()).find(|&n| {
        let starts_line = text[tokens[n - 1].1.end..tokens[n].1.start].contains('\n');
        starts_line && matches!(tokens[n].0, Token::Name(_) | Token::Var)
    })
}

fn too_deep(tokens: &[Located], limits: &Limits) -> Option<Diagnostic> {
    let brackets = tokens.iter().map(|&(token, place)| match token {
        Token::Symbol('(') => (Bracket::Opens, place),
        Token::Symbol(')') => (Bracket::Closes, place),
        _ => (Bracket::None, place),
    });
    nesting::too_deep(brackets, "parentheses", "assign inner parts to variables", limits)
}

fn explain(text: &str, tokens: &[Located], at: usize, error: &Rich<Token>) -> Diagnostic {
    let token = |index: Option<usize>| index.and_then(|index| tokens.get(index)).map(|&(token, _)| token);
    let place = tokens.get(at).map_or(Span::new(text.len(), text.len()), |(_, place)| span(*place));
    let expected = Expected::of(error, |token| match token {
        Token::Symbol(symbol) => symbol.to_string(),
        _ => "`var`".into(),
    });
    let found = token(Some(at));
    let written = match found {
        None => "the end of the file".into(),
        Some(_) if place.end - place.start > 40 => "a long name".into(),
        Some(_) => format!("`{}`", &text[place.start..place.end]),
    };
    let diagnostic = Diagnostic::new(Code::Syntax, place, format!("{}, found {written}", expected.words()))
        .with_label(if found.is_some() { "unexpected" } else { "the file ends here" });
    let help = match (token(at.checked_sub(1)), found) {
        (_, Some(Token::Symbol(';'))) => "there is no `;`: a statement ends where the next begins",
        (_, Some(Token::Symbol(','))) => "numbers are separated by white space: `[1 2]`",
        (_, Some(Token::Var)) => "all declarations come before all statements",
        (_, Some(Token::Symbol('-'))) if expected.has("an operand") => {
            "there is no unary minus: subtract from a variable that is 0"
        }
        (_, Some(Token::Integer(_))) if expected.has("an operand") => {
            "numbers cannot stand in expressions: use an input variable"
        }
        (_, Some(Token::Name(_))) if expected.has("]") => "an extent is an integer",
        (Some(Token::Integer(_)), Some(Token::Symbol(']'))) => "a pair has two numbers: `[1 2]`",
        _ => return diagnostic,
    };
    diagnostic.with_help(help)
}

fn span(place: SimpleSpan) -> Span {
    Span::new(place.start, place.end)
}

type Fault<'t, 's> = extra::Err<Rich<'t, Token<'s>>>;

fn program<'t, 's: 't, I>() -> impl Parser<'t, I, Program<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    let symbol = |character: char| just(Token::Symbol(character));
    let name = select! { Token::Name(text) = extra => Name { text, span: span(extra.span()) } }.labelled("a name");
    let number =
        select! { Token::Integer(value) = extra => (value, span(extra.span())) as Number }.labelled("an integer");
    let words = name.repeated().at_least(1).collect::<Vec<_>>();
    let declaration = just(Token::Var)
        .ignore_then(words)
        .then_ignore(symbol(':'))
        .then(number.repeated().collect::<Vec<_>>().delimited_by(symbol('['), symbol(']')))
        .try_map(|(mut words, extents): (Vec<Name>, _), place| {
            // `input` and `output` are qualifiers where another name follows, and names otherwise.
            let name = words.pop().unwrap_or(Name { text: "", span: span(place) });
            if let Some(other) = words.iter().find(|word| !matches!(word.text, "input" | "output")) {
                let message = format!("`{}` is not a qualifier", other.text);
                return Err(Rich::custom(SimpleSpan::from(other.span.start..other.span.end), message));
            }
            let has = |text: &str| words.iter().any(|word| word.text == text);
            Ok(Declaration { input: has("input"), output: has("output"), name, extents })
        });
    let expression = recursive(|expression| {
        let group = expression.delimited_by(symbol('('), symbol(')')).map(|inner| Operand::Group(Box::new(inner)));
        let operand = choice((name.map(Operand::Name), group)).labelled("an operand").boxed();
        let operator = select! {
            Token::Symbol('+') => Operator::Add, Token::Symbol('-') => Operator::Sub, Token::Symbol('*') => Operator::Mul,
            Token::Symbol('/') => Operator::Div, Token::Symbol('#') => Operator::Outer,
        };
        let pair = number.then(number).delimited_by(symbol('['), symbol(']'));
        let binary = operator
            .map_with(|operator, extra| (operator, extra.span()))
            .then(operand.clone())
            .map(|((operator, place), operand)| (Form::Binary(operator, operand), place));
        let sign = |character: char| symbol(character).map_with(|_, extra| extra.span());
        let contract = sign('.').then(pair).map(|(place, (m, n))| (Form::Contract(m, n), place));
        let exchange = sign('^').then(pair).map(|(place, (m, n))| (Form::Exchange(m, n), place));
        let tail = choice((binary, contract, exchange))
            .map_with(|(form, place), extra| (form, place, extra.span()))
            .map(|(form, place, all): (_, _, SimpleSpan)| Tail { form, span: span(place), end: all.end })
            .labelled("an operator");
        let whole = operand.then(tail.repeated().collect());
        whole.map_with(|(first, tails), extra| Expression { first, tails, span: span(extra.span()) }).boxed()
    });
    let statement = name.then_ignore(symbol('=')).then(expression).map_with(|(target, value), extra| Statement {
        target,
        value,
        span: span(extra.span()),
    });
    declaration
        .repeated()
        .collect()
        .then(statement.repeated().collect())
        .map(|(declarations, statements)| Program { declarations, statements })
}
