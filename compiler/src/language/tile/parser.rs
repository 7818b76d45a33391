//! Logical lines to syntax tree.
//!
//! ```text
//! function  = "def" NAME "(" [NAME {"," NAME}] ")" ":" indented statements
//! statement = "return" expressions | NAME "." NAME "(" arguments ")"
//!           | NAME "=" "Contraction" "(" ")" { "." NAME "(" arguments ")" }
//!           | NAME "[" index "]" OPERATOR expression | NAME {"," NAME} "=" expressions
//! ```
//!
//! A subset of Python. From loose to tight: one comparison, `|`, `^`, `&`, `<< >>`, `+ -`, `* / // %`, prefix `- ~`. Every logical line is parsed alone, so an error in one
//! never reaches the next.

use super::ast::{Expression, Form, Function, Name, Operator, Statement};
use super::built;
use super::lexer::{Line, Token};
use crate::language::Limits;
use crate::language::expected::Expected;
use crate::language::nesting::{self, Bracket};
use arch::{Code, Diagnostic, Span};
use chumsky::input::ValueInput;
use chumsky::prelude::*;

/// Functions of a file and its syntax errors. Places in `dropped` are where the lexer has complained already.
pub(super) fn parse<'s>(
    text: &'s str,
    lines: &[Line<'s>],
    dropped: &[usize],
    limits: &Limits,
) -> (Vec<Function<'s>>, Vec<Diagnostic>) {
    let (head, statement) = (head(), statement());
    let (mut functions, mut errors): (Vec<Function>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    let mut body: Option<&str> = None;
    let mut broken_head = false;
    for line in lines {
        if errors.len() >= limits.errors {
            break;
        }
        let (first, place) = line.tokens[0];
        let end = line.tokens.last().map_or(place.end, |(_, last)| last.end);
        let covered = dropped.iter().any(|&dropped| place.start <= dropped && dropped < end);
        let misplaced =
            |message: &str, label: &str| Diagnostic::new(Code::Syntax, span(place), message).with_label(label);
        let mut complain = |diagnostic: Diagnostic| {
            if !covered {
                errors.push(diagnostic);
            }
        };
        if let Some(error) = too_deep(line, limits) {
            complain(error);
            continue;
        }
        let end = SimpleSpan::from(end..end);
        let input = || line.tokens.as_slice().map(end, |(token, place)| (token, place));
        if line.indentation.is_empty() {
            body = None;
            match head.parse(input()).into_result() {
                Ok(function) => {
                    broken_head = false;
                    functions.push(function);
                }
                Err(found) => {
                    broken_head = first == Token::Def;
                    complain(unsupported(text, line).unwrap_or_else(|| explain(text, line, &found[0])));
                }
            }
            continue;
        }
        let Some(function) = functions.last_mut().filter(|_| !broken_head) else {
            if !broken_head {
                complain(misplaced("expected `def`", "outside of any function"));
            }
            continue;
        };
        if *body.get_or_insert(line.indentation) != line.indentation {
            complain(misplaced("this line is not indented like the others", "indentation"));
            continue;
        }
        match statement.parse(input()).into_result() {
            Ok(Statement::Built { target, links, span }) => match built::statements(target, links, span) {
                Ok(statements) => function.statements.extend(statements),
                Err(error) => complain(error),
            },
            Ok(statement) => function.statements.push(statement),
            Err(found) => complain(unsupported(text, line).unwrap_or_else(|| explain(text, line, &found[0]))),
        }
    }
    (functions, errors)
}

/// Python that is outside of the subset.
fn unsupported(text: &str, line: &Line) -> Option<Diagnostic> {
    let (Token::Name(word), place) = line.tokens[0] else { return None };
    let words = [
        "for", "if", "while", "import", "from", "class", "lambda", "with", "try", "assert", "pass", "elif", "else",
        "raise", "del",
    ];
    (words.contains(&word) && line.tokens.get(1).is_some_and(|(next, _)| *next != Token::Symbol("="))).then(|| {
        Diagnostic::new(
            Code::Unsupported,
            span(place),
            format!("`{}` is not part of the text form", &text[place.into_range()]),
        )
        .with_label("Python that is not supported")
        .with_help("write the statements out, or use a `$` variable for what changes")
    })
}

fn too_deep(line: &Line, limits: &Limits) -> Option<Diagnostic> {
    let brackets = line.tokens.iter().map(|&(token, place)| match token {
        Token::Symbol("(" | "[" | "{") => (Bracket::Opens, place),
        Token::Symbol(")" | "]" | "}") => (Bracket::Closes, place),
        _ => (Bracket::None, place),
    });
    nesting::too_deep(brackets, "brackets", "assign inner parts to names", limits)
}

fn explain(text: &str, line: &Line, error: &Rich<Token>) -> Diagnostic {
    let start = error.span().start;
    let at = line.tokens.partition_point(|(_, place)| place.start < start);
    let end = line.tokens.last().map_or(0, |(_, last)| last.end);
    let found = line.tokens.get(at);
    let place = found.map_or(Span::new(end, end), |(_, place)| span(*place));
    let expected = Expected::of(error, |token| match token {
        Token::Symbol(symbol) => (*symbol).to_string(),
        Token::Def => "`def`".into(),
        Token::Return => "`return`".into(),
        _ => "a name".into(),
    });
    let written = match found {
        None => "the end of the line".to_string(),
        Some(_) if place.end - place.start > 40 => "a long name".into(),
        Some(_) => format!("`{}`", &text[place.start..place.end]),
    };
    let variable = found.is_some() && text[place.start..].starts_with('$');
    let code = if variable { Code::Type } else { Code::Syntax };
    Diagnostic::new(code, place, format!("{}, found {written}", expected.words())).with_label("unexpected")
}

fn span(place: SimpleSpan) -> Span {
    Span::new(place.start, place.end)
}

type Fault<'t, 's> = extra::Err<Rich<'t, Token<'s>>>;

fn symbol<'t, 's: 't, I>(text: &'static str) -> impl Parser<'t, I, Token<'s>, Fault<'t, 's>> + Clone
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    just(Token::Symbol(text))
}

fn name<'t, 's: 't, I>() -> impl Parser<'t, I, Name<'s>, Fault<'t, 's>> + Clone
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    select! { Token::Name(text) = extra => Name { text, span: span(extra.span()) } }.labelled("a name")
}

fn head<'t, 's: 't, I>() -> impl Parser<'t, I, Function<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    let parameters = name().separated_by(symbol(",")).collect().delimited_by(symbol("("), symbol(")"));
    just(Token::Def).ignore_then(name()).then(parameters).then_ignore(symbol(":")).map(|(name, parameters)| Function {
        name,
        parameters,
        statements: Vec::new(),
    })
}

fn statement<'t, 's: 't, I>() -> impl Parser<'t, I, Statement<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    let expression = expression().boxed();
    let list = expression.clone().separated_by(symbol(",")).at_least(1).collect::<Vec<_>>();
    let tuple =
        list.clone().delimited_by(symbol("("), symbol(")")).then_ignore(symbol(";").or_not()).then_ignore(end());
    let give = just(Token::Return)
        .ignore_then(choice((tuple, list.clone())))
        .map_with(|values, extra| Statement::Return(values, span(extra.span())));
    let arguments = expression.clone().separated_by(symbol(",")).collect::<Vec<_>>();
    let method = name()
        .then_ignore(symbol("."))
        .then(name())
        .then(arguments.clone().delimited_by(symbol("("), symbol(")")))
        .map(|((object, method), arguments)| Statement::Method { object, method, arguments });
    let call = symbol(".").ignore_then(name()).then(arguments.clone().delimited_by(symbol("("), symbol(")")));
    let built = name()
        .then_ignore(symbol("="))
        .then_ignore(just(Token::Name("Contraction")).then(symbol("(")).then(symbol(")")))
        .then(call.repeated().at_least(1).collect::<Vec<_>>())
        .map_with(|(target, links), extra| Statement::Built { target, links, span: span(extra.span()) });
    let nothing = symbol("(").then(symbol(")")).to(Vec::new());
    let index = choice((nothing, arguments)).delimited_by(symbol("["), symbol("]"));
    let operator = select! {
        Token::Symbol(text @ ("=" | "+=" | "*=" | ">=" | "<=" | ">" | "<" | "-=" | "/=" | "//=" | "%=" | "==" | "!=")) => text,
    }
    .labelled("an aggregation such as `+=`");
    let contract =
        name().then(index).then(operator).then(expression).map_with(|(((target, index), operator), value), extra| {
            Statement::Contract { target, index, operator, value, span: span(extra.span()) }
        });
    let assign = name()
        .separated_by(symbol(","))
        .at_least(1)
        .collect()
        .then_ignore(symbol("="))
        .then(list)
        .map_with(|(targets, values), extra| Statement::Assign { targets, values, span: span(extra.span()) });
    choice((give, method, built, contract, assign)).then_ignore(symbol(";").or_not())
}

#[expect(clippy::too_many_lines, reason = "a grammar: one production below the other, each made of those above")]
fn expression<'t, 's: 't, I>() -> impl Parser<'t, I, Expression<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    recursive(|expression| {
        let list = expression.clone().separated_by(symbol(",")).collect::<Vec<_>>().boxed();
        let parenthesised = expression.delimited_by(symbol("("), symbol(")"));
        let literal =
            select! { Token::Integer(value) => Form::Integer(value), Token::Float(value) => Form::Float(value) };
        let nothing = symbol("(").then(symbol(")")).to(Vec::new());
        let call = list.clone().delimited_by(symbol("("), symbol(")")).map(After::Call);
        let access = choice((nothing, list.clone())).delimited_by(symbol("["), symbol("]")).map(After::Access);
        let named = name().then(choice((call, access)).or_not()).map(|(name, after)| match after {
            None => Form::Name(name),
            Some(After::Call(arguments)) => Form::Call { function: name, arguments },
            Some(After::Access(index)) => Form::Access { tensor: name, index },
        });
        let brackets = list.delimited_by(symbol("["), symbol("]")).map(Form::List);
        let primary = choice((
            choice((literal, named, brackets)).map_with(|form, extra| Expression { form, span: span(extra.span()) }),
            parenthesised,
        ))
        .boxed();
        let inverted = symbol("~").repeated().foldr_with(primary, |_, value, extra| {
            let form = Form::Invert(Box::new(value));
            Expression { form, span: span(extra.span()) }
        });
        let prefixed = symbol("-")
            .repeated()
            .count()
            .then(inverted)
            .map_with(|(count, value), extra| match count {
                0 => value,
                count => Expression { form: Form::Negate(count, Box::new(value)), span: span(extra.span()) },
            })
            .labelled("an expression")
            .boxed();
        let product = chain(
            prefixed,
            select! {
                Token::Symbol("*") => Operator::Mul, Token::Symbol("/") => Operator::Div,
                Token::Symbol("//") => Operator::FloorDiv, Token::Symbol("%") => Operator::Rem,
            },
        );
        let sum = chain(
            product.boxed(),
            select! { Token::Symbol("+") => Operator::Add, Token::Symbol("-") => Operator::Sub },
        )
        .boxed();
        let shift = select! { Token::Symbol("<<") => Operator::ShiftLeft, Token::Symbol(">>") => Operator::ShiftRight };
        let shift = chain(sum, shift).boxed();
        let and = chain(shift, select! { Token::Symbol("&") => Operator::BitAnd }).boxed();
        let xor = chain(and, select! { Token::Symbol("^") => Operator::BitXor }).boxed();
        let bits = chain(xor, select! { Token::Symbol("|") => Operator::BitOr }).boxed();
        let comparison = select! {
            Token::Symbol("<") => Operator::Lt, Token::Symbol("<=") => Operator::Le, Token::Symbol(">") => Operator::Gt,
            Token::Symbol(">=") => Operator::Ge, Token::Symbol("==") => Operator::Eq, Token::Symbol("!=") => Operator::Ne,
        }
        .labelled("an operator");
        bits.clone().then(comparison.then(bits).or_not()).map_with(|(first, rest), extra| match rest {
            None => first,
            Some(rest) => {
                Expression { form: Form::Chain { first: Box::new(first), rest: vec![rest] }, span: span(extra.span()) }
            }
        })
    })
}

/// What follows a name.
enum After<'s> {
    Call(Vec<Expression<'s>>),
    Access(Vec<Expression<'s>>),
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
