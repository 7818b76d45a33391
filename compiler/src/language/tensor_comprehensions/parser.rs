//! Tokens to syntax tree.
//!
//! ```text
//! function  = "def" NAME "(" [parameter {"," parameter}] ")" "->" "(" [result {"," result}] ")" "{" {statement} "}"
//! parameter = TYPE ["(" extent {"," extent} ")"] NAME                    result = NAME | parameter
//! statement = NAME ["(" names ")"] operator expression ["where" clause {"," clause}]
//!           | NAME {"," NAME} "=" NAME "(" names ")"                     a call with several results
//! clause    = NAME "in" expression ":" expression | NAME "=" expression | "exists" expression
//! ```
//!
//! From loose to tight: `?:`, `||`, `&&`, comparisons, `+ -`, `* / %`, prefix `- !`. After an error the next try is at
//! the next line that can start a statement, or at the next `def`.

use super::ast::{
    Assign, Binary, Clause, Declaration, Expression, Extent, Form, Function, Name, Operator, Outcome, Prefix, Scatter,
    Statement,
};
use super::lexer::{Located, Token};
use super::mistakes;
use crate::language::Limits;
use arch::{Code, Diagnostic, Span};
use chumsky::input::ValueInput;
use chumsky::prelude::*;

/// Functions of a file and its syntax errors. Places in `dropped` are where the lexer has complained already.
pub(super) fn parse<'s>(
    text: &'s str,
    tokens: &[Located<'s>],
    dropped: &[usize],
    limits: &Limits,
) -> (Vec<Function<'s>>, Vec<Diagnostic>) {
    if let Some(error) = too_deep(tokens, limits) {
        return (Vec::new(), vec![error]);
    }
    let (function, rest) = (function(), body());
    let (mut functions, mut errors) = (Vec::new(), Vec::new());
    let end = SimpleSpan::from(text.len()..text.len());
    let mut start = 0;
    while start < tokens.len() && errors.len() < limits.errors {
        let next = tokens[start + 1..].iter().position(|(token, _)| *token == Token::Def);
        let stop = next.map_or(tokens.len(), |next| start + 1 + next);
        let end = tokens.get(stop).map_or(end, |(_, place)| SimpleSpan::from(place.start..place.start));
        let slice = |from: usize| tokens[from..stop].map(end, |(token, place)| (token, place));
        let mut outcome = function.parse(slice(start)).into_result().map(|function| functions.push(function));
        let mut from = start;
        while let Err(found) = outcome {
            let place = found[0].span().start;
            let at = from + tokens[from..stop].partition_point(|(_, token)| token.start < place);
            let begin = tokens[from].1.start;
            if !dropped.iter().any(|&dropped| begin <= dropped && dropped <= place) {
                errors.push(mistakes::explain(text, tokens, at, &found[0]));
            }
            let Some(resume) = next_line(text, &tokens[..stop], at) else { break };
            if errors.len() >= limits.errors {
                break;
            }
            from = resume;
            outcome = rest.parse(slice(from)).into_result().map(|_| ());
        }
        start = stop;
    }
    (functions, errors)
}

/// The next token after `at` that starts a line and may start a statement.
fn next_line(text: &str, tokens: &[Located], at: usize) -> Option<usize> {
    (at + 1..tokens.len()).find(|&n| {
        let starts_line = text[tokens[n - 1].1.end..tokens[n].1.start].contains('\n');
        starts_line && matches!(tokens[n].0, Token::Name(_))
    })
}

/// Refuse parentheses and choices that nest too deeply for the recursive parts of the tool.
fn too_deep(tokens: &[Located], limits: &Limits) -> Option<Diagnostic> {
    let (mut depth, mut choices) = (0usize, 0usize);
    for (token, place) in tokens {
        match token {
            Token::Symbol("(") => depth += 1,
            Token::Symbol(")") => depth = depth.saturating_sub(1),
            Token::Symbol("?") => choices += 1,
            Token::Symbol(":") => choices = choices.saturating_sub(1),
            Token::Def => (depth, choices) = (0, 0),
            _ => {}
        }
        if depth + choices > limits.depth {
            let span = Span::new(place.start, place.end);
            return Some(
                Diagnostic::new(Code::Limit, span, format!("more than {} nested parentheses", limits.depth))
                    .with_help("assign inner parts to temporaries"),
            );
        }
    }
    None
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

fn function<'t, 's: 't, I>() -> impl Parser<'t, I, Function<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    let kind = select! { Token::Type(kind) => kind }.labelled("a type");
    let integer =
        select! { Token::Integer(value) = extra => Extent::Integer(value, span(extra.span())) }.labelled("an integer");
    let extents = choice((name().map(Extent::Name), integer))
        .separated_by(symbol(","))
        .collect::<Vec<_>>()
        .delimited_by(symbol("("), symbol(")"))
        .or_not()
        .map(Option::unwrap_or_default);
    let declaration =
        kind.then(extents).then(name()).map(|((kind, extents), name)| Declaration { kind, extents, name });
    let outcome = choice((name().map(Outcome::Inferred), declaration.clone().map(Outcome::Annotated)));
    let parameters = declaration.separated_by(symbol(",")).collect::<Vec<_>>().delimited_by(symbol("("), symbol(")"));
    let results = outcome.separated_by(symbol(",")).collect::<Vec<_>>().delimited_by(symbol("("), symbol(")"));
    just(Token::Def)
        .labelled("`def`")
        .ignore_then(name())
        .then(parameters)
        .then_ignore(symbol("->"))
        .then(results)
        .then_ignore(symbol("{"))
        .then(body())
        .map(|(((name, parameters), results), statements)| Function { name, parameters, results, statements })
}

/// Statements up to the end of a function.
fn body<'t, 's: 't, I>() -> impl Parser<'t, I, Vec<Statement<'s>>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    let expression = expression().boxed();
    let names = name().separated_by(symbol(",")).collect::<Vec<_>>().delimited_by(symbol("("), symbol(")"));
    let operator = select! { Token::Symbol("=") => Operator::Assign, Token::Reduce(operator) => operator }
        .labelled("`=` or a reduction such as `+=!`");
    let range = name()
        .then_ignore(just(Token::In).labelled("`in`"))
        .then(expression.clone())
        .then_ignore(symbol(":"))
        .then(expression.clone())
        .map(|((name, low), high)| Clause::Range { name, low, high });
    let binding =
        name().then_ignore(symbol("=")).then(expression.clone()).map(|(name, value)| Clause::Let { name, value });
    let exists = just(Token::Exists).labelled("`exists`").ignore_then(expression.clone()).map(Clause::Exists);
    let clauses = just(Token::Where)
        .labelled("`where`")
        .ignore_then(choice((exists, range, binding)).separated_by(symbol(",")).at_least(1).collect::<Vec<_>>())
        .or_not()
        .map(Option::unwrap_or_default);
    // A library's function that does the same: nothing to compute.
    let same = symbol("<=>")
        .then(name().separated_by(symbol(".")).at_least(1))
        .then(expression.clone().separated_by(symbol(",")).delimited_by(symbol("("), symbol(")")))
        .or_not();
    let places =
        expression.clone().separated_by(symbol(",")).collect::<Vec<_>>().delimited_by(symbol("("), symbol(")"));
    let assign = name().then(places.or_not()).then(operator).then(expression).then(clauses).then_ignore(same).map_with(
        |((((target, places), operator), value), clauses), extra| {
            let span = span(extra.span());
            let name = |place: &Expression<'s>| if let Form::Name(name) = place.form { Some(name) } else { None };
            let Some(places) = places else {
                return Statement::Assign(Assign { target, index: None, operator, value, clauses, span });
            };
            match places.iter().map(name).collect() {
                Some(index) => Statement::Assign(Assign { target, index: Some(index), operator, value, clauses, span }),
                None => Statement::Scatter(Scatter { target, places, operator, value, clauses, span }),
            }
        },
    );
    let call = name()
        .separated_by(symbol(","))
        .at_least(2)
        .collect::<Vec<_>>()
        .then_ignore(symbol("="))
        .then(name())
        .then(names)
        .map(|((targets, function), arguments)| Statement::Call { targets, function, arguments });
    choice((call, assign)).labelled("a statement").repeated().collect().then_ignore(symbol("}"))
}

#[expect(clippy::too_many_lines, reason = "a grammar: one production below the other, each made of those above")]
fn expression<'t, 's: 't, I>() -> impl Parser<'t, I, Expression<'s>, Fault<'t, 's>>
where
    I: ValueInput<'t, Token = Token<'s>, Span = SimpleSpan>,
{
    recursive(|expression| {
        let parenthesised = expression.clone().delimited_by(symbol("("), symbol(")"));
        let list =
            expression.clone().separated_by(symbol(",")).collect::<Vec<_>>().delimited_by(symbol("("), symbol(")"));
        let literal = select! {
            Token::Integer(value) => Form::Integer(value),
            Token::Float(value) => Form::Float(value),
            Token::Extent(text, dimension) = extra => {
                let place = span(extra.span());
                Form::Extent { tensor: Name { text, span: Span::new(place.start, place.start + text.len()) }, dimension }
            },
        };
        let cast = select! { Token::Type(kind) => kind }
            .then(parenthesised.clone())
            .map(|(kind, value)| Form::Cast { kind, value: Box::new(value) });
        let extreme =
            select! { Token::Min = extra => ("min", extra.span()), Token::Max = extra => ("max", extra.span()) }
                .then(list.clone())
                .map(|((text, place), arguments)| Form::Apply { name: Name { text, span: span(place) }, arguments });
        let applied = name().then(list.or_not()).map(|(name, arguments)| match arguments {
            Some(arguments) => Form::Apply { name, arguments },
            None => Form::Name(name),
        });
        let primary = choice((
            choice((literal, cast, extreme, applied))
                .map_with(|form, extra| Expression { form, span: span(extra.span()) }),
            parenthesised,
        ))
        .boxed();
        let operator = select! { Token::Symbol("-") => Prefix::Neg, Token::Symbol("!") => Prefix::Not,
        Token::Symbol("~") => Prefix::Invert };
        let prefixed = operator
            .repeated()
            .collect::<Vec<_>>()
            .then(primary)
            .map_with(|(operators, value), extra| {
                if operators.is_empty() {
                    value
                } else {
                    Expression { form: Form::Prefix { operators, value: Box::new(value) }, span: span(extra.span()) }
                }
            })
            .labelled("an expression")
            .boxed();
        let product = chain(
            prefixed,
            select! { Token::Symbol("*") => Binary::Mul, Token::Symbol("/") => Binary::Div, Token::Symbol("%") => Binary::Rem },
        );
        let sum =
            chain(product.boxed(), select! { Token::Symbol("+") => Binary::Add, Token::Symbol("-") => Binary::Sub });
        let shift = chain(
            sum.boxed(),
            select! { Token::Symbol("<<") => Binary::ShiftLeft, Token::Symbol(">>") => Binary::ShiftRight },
        );
        let both_bits = chain(shift.boxed(), select! { Token::Symbol("&") => Binary::BitAnd });
        let other_bits = chain(both_bits.boxed(), select! { Token::Symbol("^") => Binary::BitXor });
        let any_bits = chain(other_bits.boxed(), select! { Token::Symbol("|") => Binary::BitOr });
        let comparison = chain(
            any_bits.boxed(),
            select! {
                Token::Symbol("<") => Binary::Lt, Token::Symbol("<=") => Binary::Le, Token::Symbol(">") => Binary::Gt,
                Token::Symbol(">=") => Binary::Ge, Token::Symbol("==") => Binary::Eq, Token::Symbol("!=") => Binary::Ne,
            },
        );
        let both = chain(comparison.boxed(), select! { Token::Symbol("&&") => Binary::And });
        let either = chain(both.boxed(), select! { Token::Symbol("||") => Binary::Or }).boxed();
        let choices = symbol("?")
            .ignore_then(expression)
            .then_ignore(symbol(":"))
            .then(either.clone())
            .repeated()
            .collect::<Vec<_>>();
        either.then(choices).map_with(|(first, rest), extra| {
            // a ? b : c ? d : e  is  [(a, b), (c, d)] and e.
            let (mut cases, mut condition) = (Vec::new(), first);
            for (yes, next) in rest {
                cases.push((condition, yes));
                condition = next;
            }
            if cases.is_empty() {
                condition
            } else {
                Expression { form: Form::Choice { cases, otherwise: Box::new(condition) }, span: span(extra.span()) }
            }
        })
    })
}

/// `operand { operator operand }`
fn chain<'t, 's: 't, I>(
    operand: impl Parser<'t, I, Expression<'s>, Fault<'t, 's>> + Clone,
    operator: impl Parser<'t, I, Binary, Fault<'t, 's>> + Clone,
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
