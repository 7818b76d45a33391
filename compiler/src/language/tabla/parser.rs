//! Tokens to syntax tree.
//!
//! ```text
//! program    = { item ";" }
//! item       = ("model_input" | "model_output" | "model") variable {"," variable}
//!            | "gradient" variable "->" variable {"," variable "->" variable}
//!            | "iterator" NAME "[" bound ":" bound "]" {"," ...}
//!            | variable "=" expression
//!            | "minimize" expression                       (extended dialect)
//! variable   = NAME { "[" bound "]" }                      bound = NAME | INTEGER
//! expression = sum { ("<" | ">") sum }                     sum   = product { ("+" | "-") product }
//! product    = primary { "*" primary }
//! primary    = NUMBER | variable | "(" expression ")"
//!            | ("sum" | "pi" | "norm") "[" NAME "]" "(" expression ")" | function "(" expression ")"
//!            | LOSS "(" variable "," variable ")"          (in what is minimised)
//! ```
//!
//! No token but the last of an item is a `;`: so the tokens are cut there first, an error in one item never reaches the next, and parsing
//! is linear.

use super::ast::{Bound, Declared, Expression, Form, Item, Iterator, Name, Operator, Variable};
use super::lexer::{Located, Token};
use super::mistakes;
use crate::language::Limits;
use crate::language::nesting::{self, Bracket};
use arch::{Diagnostic, Span};
use chumsky::input::ValueInput;
use chumsky::prelude::*;

/// Items of a program and its syntax errors, at most `limits.errors`.
///
/// An item in which the lexer has dropped something (at the places `dropped`) is not complained about twice.
pub(super) fn parse<'s>(
    text: &'s str,
    tokens: &[Located<'s>],
    dropped: &[usize],
    limits: &Limits,
) -> (Vec<Item<'s>>, Vec<Diagnostic>) {
    let parser = item();
    let end = SimpleSpan::from(text.len()..text.len());
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    let mut start = 0;
    while start < tokens.len() && errors.len() < limits.errors {
        let length = tokens[start..].iter().position(|(token, _)| *token == Token::Symbol(';'));
        let stop = length.map_or(tokens.len(), |length| start + length + 1);
        let statement = &tokens[start..stop];
        if let Some(error) = too_deep(statement, limits) {
            errors.push(error);
            start = stop;
            continue;
        }
        let result = parser.parse(statement.map(end, |(token, place)| (token, place))).into_result();
        match result {
            Ok(item) => {
                items.push(item);
                start = stop;
            }
            Err(found) => {
                let place = found[0].span().start;
                let at = start + statement.iter().position(|(_, span)| span.start >= place).unwrap_or(statement.len());
                let mistake = mistakes::explain(text, &tokens[start..], at - start, &found[0]);
                let before = start.checked_sub(1).map_or(0, |previous| tokens[previous].1.end);
                let after = statement.last().map_or(text.len(), |(_, place)| place.end);
                if !dropped.iter().any(|&place| before <= place && place < after) {
                    errors.push(mistake.diagnostic);
                }
                start = if mistake.resume { at.max(start + 1) } else { stop };
            }
        }
    }
    (items, errors)
}

/// Refuse an item whose parentheses nest too deeply for the recursive parts of the tool.
fn too_deep(statement: &[Located], limits: &Limits) -> Option<Diagnostic> {
    let brackets = statement.iter().map(|&(token, place)| match token {
        Token::Symbol('(') => (Bracket::Opens, place),
        Token::Symbol(')') => (Bracket::Closes, place),
        _ => (Bracket::None, place),
    });
    nesting::too_deep(brackets, "parentheses", "assign inner parts to names of their own", limits)
}

fn span(place: SimpleSpan) -> Span {
    Span::new(place.start, place.end)
}

type Fault<'t, 's> = extra::Err<Rich<'t, Token<'s>>>;

fn symbol<'t, 's: 't, I>(character: char) -> impl Parser<'t, I, Token<'s>, Fault<'t, 's>> + Clone
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    just(Token::Symbol(character))
}

fn item<'t, 's: 't, I>() -> impl Parser<'t, I, Item<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    let name = select! { Token::Name(text) = extra => Name { text, span: span(extra.span()) } }.labelled("a name");
    let integer =
        select! { Token::Integer(value) = extra => Bound::Integer(value, span(extra.span())) }.labelled("an integer");
    let bound = choice((name.map(Bound::Name), integer));
    let subscript = bound.delimited_by(symbol('['), symbol(']'));
    let variable = name.then(subscript.repeated().collect::<Vec<_>>()).map_with(|(name, subscripts), extra| Variable {
        name,
        subscripts,
        span: span(extra.span()),
    });

    let role =
        select! { Token::Input => Declared::Input, Token::Output => Declared::Output, Token::Model => Declared::Model }
            .labelled("a declaration");
    let declare = role
        .then(variable.clone().separated_by(symbol(',')).at_least(1).collect())
        .map(|(role, variables)| Item::Declare { role, variables });
    let link = just(Token::Gradient)
        .labelled("a declaration")
        .ignore_then(
            variable
                .clone()
                .then_ignore(just(Token::Arrow))
                .then(variable.clone())
                .separated_by(symbol(','))
                .at_least(1)
                .collect(),
        )
        .map(Item::Link);
    let range = name
        .then_ignore(symbol('['))
        .then(bound)
        .then_ignore(symbol(':'))
        .then(bound)
        .then_ignore(symbol(']'))
        .map_with(|((name, low), high), extra| Iterator { name, low, high, span: span(extra.span()) });
    let iterate = just(Token::Iterator)
        .labelled("a declaration")
        .ignore_then(range.separated_by(symbol(',')).at_least(1).collect())
        .map(Item::Iterate);
    let assign = variable
        .clone()
        .then_ignore(symbol('='))
        .then(expression(name, variable.clone(), false))
        .map_with(|(target, value), extra| Item::Assign { target, value, span: span(extra.span()) });
    let minimize = just(Token::Minimize)
        .labelled("a declaration")
        .ignore_then(expression(name, variable, true))
        .map_with(|value, extra| Item::Minimize { value, span: span(extra.span()) });
    choice((declare, link, iterate, assign, minimize)).then_ignore(symbol(';'))
}

/// An expression; with `losses`, one that may name losses of the library.
fn expression<'t, 's: 't, I>(
    name: impl Parser<'t, I, Name<'s>, Fault<'t, 's>> + Clone + 't,
    variable: impl Parser<'t, I, Variable<'s>, Fault<'t, 's>> + Clone + 't,
    losses: bool,
) -> impl Parser<'t, I, Expression<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    recursive(move |expression| {
        let parenthesised = expression.delimited_by(symbol('('), symbol(')')).boxed();
        let number = select! {
            Token::Integer(value) => Form::Number { value: value as f64, integer: true },
            Token::Decimal(value) => Form::Number { value, integer: false },
        };
        let iterator = name.clone().delimited_by(symbol('['), symbol(']')).or_not();
        let open = any().map_with(|_, extra| span(extra.span())).rewind();
        let group = select! { Token::Group(kind) => kind }
            .then(iterator.clone())
            .then(open)
            .then(parenthesised.clone())
            .map(|(((kind, iterator), open), body)| Form::Group { kind, iterator, open, body: Box::new(body) });
        let call = select! { Token::Function(function) => function }
            .then(iterator)
            .then(parenthesised.clone())
            .map(|((function, iterator), body)| Form::Call { function, iterator, body: Box::new(body) });
        let loss = name
            .then_ignore(symbol('('))
            .then(variable.clone())
            .then_ignore(symbol(','))
            .then(variable.clone())
            .then_ignore(symbol(')'))
            .map(|((loss, prediction), label)| Form::Loss { loss, prediction, label });
        let atom = choice((number, variable.clone().map(Form::Variable), group, call)).boxed();
        let atom = if losses { loss.or(atom).boxed() } else { atom };
        let primary =
            choice((atom.map_with(|form, extra| Expression { form, span: span(extra.span()) }), parenthesised))
                .labelled("an expression");
        let product = chain(primary, select! { Token::Symbol('*') => Operator::Mul }).boxed();
        let sum = chain(product, select! { Token::Symbol('+') => Operator::Add, Token::Symbol('-') => Operator::Sub });
        chain(sum.boxed(), select! { Token::Symbol('<') => Operator::Less, Token::Symbol('>') => Operator::Greater })
            .boxed()
    })
}

/// `operand { operator operand }`
fn chain<'t, 's: 't, I>(
    operand: impl Parser<'t, I, Expression<'s>, Fault<'t, 's>> + Clone,
    operator: impl Parser<'t, I, Operator, Fault<'t, 's>> + Clone,
) -> impl Parser<'t, I, Expression<'s>, Fault<'t, 's>> + Clone
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    operand.clone().then(operator.labelled("an operator").then(operand).repeated().collect::<Vec<_>>()).map_with(
        |(first, rest), extra| {
            if rest.is_empty() {
                first
            } else {
                Expression { form: Form::Chain { first: Box::new(first), rest }, span: span(extra.span()) }
            }
        },
    )
}
