//! Tokens to syntax tree.
//!
//! ```text
//! program     = {declaration} [elements] {statement}
//! declaration = "var" {"input" | "output"} NAME ":" shape | "type" NAME ":" shape     shape = "[" {INTEGER [","]} "]" | NAME
//! elements    = "elem" "[" {NAME} "]" INTEGER ("first" | "last")
//! statement   = NAME "=" expression
//! expression  = operand {tail}                     operand = NAME | INTEGER | "(" expression ")" | "[" {expression} "]"
//! tail        = ("+" | "-" | "*" | "/" | "#") operand | ("." | "^") (pair | "[" {pair} "]")    pair = "[" INTEGER INTEGER "]"
//! ```
//!
//! After an error the next try is at the next line that can start a declaration or statement.

use super::ast::{
    Declaration, Elements, Expression, Form, Name, Number, Operand, Operator, Program, Shape, Statement, Tail, Type,
};
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
        starts_line && matches!(tokens[n].0, Token::Name(_) | Token::Var | Token::Type)
    })
}

fn too_deep(tokens: &[Located], limits: &Limits) -> Option<Diagnostic> {
    let brackets = tokens.iter().map(|&(token, place)| match token {
        Token::Symbol('(' | '[') => (Bracket::Opens, place),
        Token::Symbol(')' | ']') => (Bracket::Closes, place),
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
        (_, Some(Token::Var | Token::Type)) => "all declarations come before all statements",
        (_, Some(Token::Symbol('-'))) if expected.has("an operand") => {
            "there is no unary minus: subtract from a variable that is 0"
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

#[expect(clippy::too_many_lines, reason = "a grammar: one production below the other, each made of those above")]
fn program<'t, 's: 't, I>() -> impl Parser<'t, I, Program<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    let symbol = |character: char| just(Token::Symbol(character));
    let name = select! { Token::Name(text) = extra => Name { text, span: span(extra.span()) } }.labelled("a name");
    let number =
        select! { Token::Integer(value) = extra => (value, span(extra.span())) as Number }.labelled("an integer");
    let extents = number.separated_by(symbol(',').or_not()).collect::<Vec<_>>().delimited_by(symbol('['), symbol(']'));
    let shape = choice((extents.map(Shape::Extents), name.map(Shape::Named)));
    let words = name.repeated().at_least(1).collect::<Vec<_>>();
    let declaration = just(Token::Var).ignore_then(words).then_ignore(symbol(':')).then(shape).try_map(
        |(mut words, shape): (Vec<Name>, _), place| {
            // `input` and `output` are qualifiers where another name follows, and names otherwise.
            let name = words.pop().unwrap_or(Name { text: "", span: span(place) });
            if let Some(other) = words.iter().find(|word| !matches!(word.text, "input" | "output")) {
                let message = format!("`{}` is not a qualifier", other.text);
                return Err(Rich::custom(SimpleSpan::from(other.span.start..other.span.end), message));
            }
            let has = |text: &str| words.iter().any(|word| word.text == text);
            Ok(Item::Variable(Declaration { input: has("input"), output: has("output"), name, shape }))
        },
    );
    let kind = just(Token::Type)
        .ignore_then(name)
        .then_ignore(symbol(':'))
        .then(shape)
        .map(|(name, shape)| Item::Type(Type { name, shape }));
    let expression = recursive(|expression| {
        let stack = expression
            .clone()
            .repeated()
            .at_least(1)
            .collect()
            .delimited_by(symbol('['), symbol(']'))
            .map_with(|parts, extra| Operand::Stack(parts, span(extra.span())));
        let group = expression.delimited_by(symbol('('), symbol(')')).map(|inner| Operand::Group(Box::new(inner)));
        let operand = choice((name.map(Operand::Name), number.map(|(value, _)| Operand::Integer(value)), stack, group))
            .labelled("an operand")
            .boxed();
        let operator = select! {
            Token::Symbol('+') => Operator::Add, Token::Symbol('-') => Operator::Sub, Token::Symbol('*') => Operator::Mul,
            Token::Symbol('/') => Operator::Div, Token::Symbol('#') => Operator::Outer,
        };
        let pair = number.then(number).delimited_by(symbol('['), symbol(']'));
        let pairs = pair.repeated().at_least(1).collect::<Vec<_>>().delimited_by(symbol('['), symbol(']'));
        let pairs = choice((pair.map(|pair| (vec![pair], false)), pairs.map(|pairs| (pairs, true))));
        let binary = operator
            .map_with(|operator, extra| (operator, extra.span()))
            .then(operand.clone())
            .map(|((operator, place), operand)| (vec![Form::Binary(operator, operand)], place, false));
        let sign = |character: char| symbol(character).map_with(|_, extra| extra.span());
        let contract = sign('.').then(pairs).try_map(|(place, (pairs, nested)), all| {
            let pairs = if nested { one_by_one(&pairs, all)? } else { pairs };
            Ok((pairs.into_iter().map(|(m, n)| Form::Contract(m, n)).collect(), place, nested))
        });
        let exchange = sign('^').then(pairs).map(|(place, (pairs, nested))| {
            let from_one = |(number, span): Number| (number + i64::from(nested), span);
            (pairs.into_iter().map(|(m, n)| Form::Exchange(from_one(m), from_one(n))).collect(), place, false)
        });
        let tail = choice((binary, contract, exchange))
            .map_with(|(forms, place, listed), extra| (forms, place, listed, extra.span()))
            .map(|(forms, place, listed, all): (Vec<Form>, SimpleSpan, bool, SimpleSpan)| {
                let tail = |form| Tail { form, span: span(place), end: all.end, listed };
                forms.into_iter().map(tail).collect::<Vec<_>>()
            })
            .labelled("an operator");
        let whole = operand.then(tail.repeated().collect::<Vec<_>>());
        whole
            .map_with(|(first, tails), extra| (first, tails.concat(), extra.span()))
            .map(|(first, tails, all): (_, _, SimpleSpan)| Expression { first, tails, span: span(all) })
            .boxed()
    });
    let statement = name.then_ignore(symbol('=')).then(expression).map_with(|(target, value), extra| Statement {
        target,
        value,
        span: span(extra.span()),
    });
    let word = |text: &'static str| name.filter(move |name: &Name| name.text == text);
    let end = choice((word("first").to(true), word("last").to(false)));
    let elements = word("elem")
        .ignore_then(name.repeated().collect().delimited_by(symbol('['), symbol(']')))
        .then(number)
        .then(end)
        .map_with(|((names, count), first), extra| Elements { names, count, first, span: span(extra.span()) });
    let declarations = choice((declaration, kind)).repeated().collect::<Vec<_>>();
    declarations.then(elements.or_not()).then(statement.repeated().collect()).map(|((items, elements), statements)| {
        let mut program = Program { elements, statements, ..Program::default() };
        for item in items {
            match item {
                Item::Variable(declaration) => program.declarations.push(declaration),
                Item::Type(kind) => program.types.push(kind),
            }
        }
        program
    })
}

/// What may be declared.
enum Item<'s> {
    Variable(Declaration<'s>),
    Type(Type<'s>),
}

/// The pairs of a list, which counts all dimensions from 0, as pairs that follow each other and count those that are left from 1.
fn one_by_one<'s>(pairs: &[(Number, Number)], all: SimpleSpan) -> Result<Vec<(Number, Number)>, Rich<'s, Token<'s>>> {
    let mut gone: Vec<i64> = Vec::new();
    let mut result = Vec::new();
    for &((m, at_m), (n, at_n)) in pairs {
        if gone.contains(&m) || gone.contains(&n) {
            return Err(Rich::custom(all, "a dimension stands in two pairs"));
        }
        let left = |number: i64| number + 1 - gone.iter().filter(|&&other| other < number).count() as i64;
        result.push(((left(m), at_m), (left(n), at_n)));
        gone.extend([m, n]);
    }
    Ok(result)
}
