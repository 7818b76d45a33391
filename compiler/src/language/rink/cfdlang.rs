//! The two readings of cfdlang, in which operators mean one thing without parentheses (`--cfdlang`).
//!
//! ```text
//! version 1   a * b . [[1 2]]              (a # b) . [[1 2]]             `*` is the outer product; from left to right
//! version 2   a - s # t . [[1 2]] * c      a - (((s # t) . [[1 2]]) * c)   `+ -` < `* / .` < `# ^`, each from the right
//! ```

use super::ast::{Expression, Form, Operand, Operator, Program, Tail};
use super::lexer::{Located, Token};
use crate::language::Limits;
use arch::{Code, Diagnostic, Span};

/// Read `*` as the outer product.
pub(super) fn first(tokens: &mut [Located]) {
    for (token, _) in tokens.iter_mut().filter(|(token, _)| *token == Token::Symbol('*')) {
        *token = Token::Symbol('#');
    }
}

/// Put the parentheses of the second version into all statements.
pub(super) fn second(program: &mut Program, limits: &Limits) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for statement in &mut program.statements {
        regroup(&mut statement.value, limits, &mut errors);
    }
    errors
}

/// How deep the expression is then; one that would be too deep stays as it is.
fn regroup(expression: &mut Expression, limits: &Limits, errors: &mut Vec<Diagnostic>) -> usize {
    let mut deepest = inner(&mut expression.first, limits, errors);
    for tail in &mut expression.tails {
        if let Form::Binary(_, operand) = &mut tail.form {
            deepest = deepest.max(inner(operand, limits, errors));
        }
    }
    // Each operator may put all that follows into parentheses.
    let depth = deepest + expression.tails.len();
    if depth > limits.depth {
        let message = format!("more than {} operators inside each other", limits.depth);
        let diagnostic = Diagnostic::new(Code::Limit, expression.span, message).with_label("too deep");
        errors.push(diagnostic.with_help("assign inner parts to variables"));
        return 0;
    }
    let sums = |operator: Operator| matches!(operator, Operator::Add | Operator::Sub);
    let products = |operator: Operator| matches!(operator, Operator::Mul | Operator::Div);
    let outer = |operator: Operator| operator == Operator::Outer;
    let tails = std::mem::take(&mut expression.tails);
    let first = std::mem::replace(&mut expression.first, Operand::Integer(0));
    *expression = level(first, tails, &[&sums, &products, &outer], expression.span);
    depth
}

fn inner(operand: &mut Operand, limits: &Limits, errors: &mut Vec<Diagnostic>) -> usize {
    match operand {
        Operand::Group(group) => 1 + regroup(group, limits, errors),
        Operand::Stack(parts, _) => {
            1 + parts.iter_mut().map(|part| regroup(part, limits, errors)).max().unwrap_or_default()
        }
        Operand::Name(_) | Operand::Integer(_) => 0,
    }
}

/// `left operator right` at the first operator of the weakest level that there is.
fn level<'s>(
    first: Operand<'s>,
    mut tails: Vec<Tail<'s>>,
    levels: &[&dyn Fn(Operator) -> bool],
    span: Span,
) -> Expression<'s> {
    let Some((own, tighter)) = levels.split_first() else { return Expression { first, tails, span } };
    let here = |tail: &Tail| matches!(tail.form, Form::Binary(operator, _) if own(operator));
    // Sums of pairs are as weak as products: what stands before them belongs together.
    let Some(place) = tails.iter().position(here) else {
        let sum = tails.iter().position(|tail| matches!(tail.form, Form::Contract(..)));
        return match sum {
            Some(start) if tighter.len() == 1 => {
                let rest = tails.split_off(start);
                let product = level(first, tails, tighter, span);
                Expression { first: grouped(product), tails: rest, span }
            }
            _ => level(first, tails, tighter, span),
        };
    };
    let mut rest = tails.split_off(place);
    let after = rest.split_off(1);
    let left = level(first, tails, levels, span);
    let mut tail = rest.remove(0);
    if let Form::Binary(operator, operand) = tail.form {
        let right = level(operand, after, levels, span);
        tail.form = Form::Binary(operator, grouped(right));
    }
    Expression { first: grouped(left), tails: vec![tail], span }
}

fn grouped(expression: Expression) -> Operand {
    if expression.tails.is_empty() { expression.first } else { Operand::Group(Box::new(expression)) }
}
