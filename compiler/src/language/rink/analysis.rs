//! Static analyses of a program. There is no control flow, so each analysis is one walk over the statements.
//!
//! | analysis | how | says |
//! |---|---|---|
//! | reaching definitions | the last assignment above a use | E-UNDEFVAL where there is none ([`super::types`]), and where a dead value is lost |
//! | dead code | backwards from the outputs | W-DEAD: overwritten, or not read; E-OUTPUT: an output without assignment |
//! | unused variables | names that no statement mentions | W-UNUSED |
//! | common subexpressions | value numbers: the same operator on the same values | W-REPEATED |
//! | aliasing | index maps of the reads of a statement's own target | W-SELFREF: it cannot be computed in place |
//!
//! ```text
//! p = (A # B) . [2 3] + C        number 5 = 0 # 1, number 6 = 5 . [2 3], ...
//! A = A ^ [1 2]                  A[i][j] is written, A[j][i] is read: W-SELFREF; number 7 = 0 ^ [1 2] is what A is now
//! q = (A # B) . [2 3]            7 # 1: another A, nothing is repeated
//! ```

use super::ast::{Expression, Form, Operand, Operator, Program as Source, Statement};
use super::reports::Reports;
use super::types::{Typed, Types, unpermuted};
use arch::{Code, Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Look at a well-typed program. Returns which statements reach an output.
pub(super) fn analyse(source: &Source, types: &Types, reports: &mut Reports) -> Vec<bool> {
    let alive = dead_code(source, types, reports);
    unused(source, types, reports);
    let mut values = Values::default();
    let statements = source.statements.iter().zip(&types.values).zip(&alive);
    for ((statement, value), &alive) in statements {
        if let (Some(value), true) = (value, alive) {
            values.assign(statement, reports);
            in_place(statement, value, reports);
        } else {
            values.forget(statement);
        }
    }
    alive
}

/// Which statements reach an output. Without qualifiers every variable is one.
fn dead_code(source: &Source, types: &Types, reports: &mut Reports) -> Vec<bool> {
    let outputs = || source.declarations.iter().filter(|declaration| declaration.output || !types.qualified);
    // What is input as well has a value.
    for declaration in outputs().filter(|declaration| declaration.output && !declaration.input) {
        let name = declaration.name;
        if types.variables.get(name.text).is_some_and(|variable| variable.assigned.is_none()) {
            let message = format!("the output `{}` is never assigned", name.text);
            reports.add(Diagnostic::new(Code::Output, name.span, message).with_label("declared here"));
        }
    }
    let mut live: BTreeSet<&str> = outputs().map(|declaration| declaration.name.text).collect();
    // Later assignments, as the walk goes up.
    let mut later: BTreeMap<&str, Span> = BTreeMap::new();
    let mut alive = Vec::new();
    for statement in source.statements.iter().rev() {
        let target = statement.target;
        let needed = live.remove(target.text);
        alive.push(needed);
        if needed {
            names(&statement.value, &mut live);
        } else {
            let message = format!("`{}` reaches no output", target.text);
            let diagnostic = Diagnostic::new(Code::WarnDead, statement.span, message).with_label("not computed");
            reports.add(match later.get(target.text) {
                Some(&span) => diagnostic.with_note(span, "assigned again here, before anything reads it"),
                None => diagnostic,
            });
        }
        later.insert(target.text, target.span);
    }
    alive.reverse();
    alive
}

/// Declared names that no statement mentions.
fn unused(source: &Source, types: &Types, reports: &mut Reports) {
    let mut mentioned = BTreeSet::new();
    for statement in &source.statements {
        mentioned.insert(statement.target.text);
        names(&statement.value, &mut mentioned);
    }
    for (name, variable) in types.variables.iter().filter(|(name, _)| !mentioned.contains(*name)) {
        let diagnostic = Diagnostic::new(Code::WarnUnused, variable.span, format!("`{name}` is never used"));
        reports.add(diagnostic.with_label("declared here"));
    }
}

/// The variables that an expression reads.
fn names<'s>(expression: &Expression<'s>, found: &mut BTreeSet<&'s str>) {
    for operand in operands(expression) {
        match operand {
            Operand::Name(name) => {
                found.insert(name.text);
            }
            Operand::Integer(_) => {}
            Operand::Stack(parts, _) => parts.iter().for_each(|part| names(part, found)),
            Operand::Group(inner) => names(inner, found),
        }
    }
}

fn operands<'e, 's>(expression: &'e Expression<'s>) -> impl Iterator<Item = &'e Operand<'s>> {
    let right = expression.tails.iter().filter_map(|tail| match &tail.form {
        Form::Binary(_, operand) => Some(operand),
        Form::Contract(..) | Form::Exchange(..) => None,
    });
    std::iter::once(&expression.first).chain(right)
}

/// How a value is made of others. What commutes has the smaller number first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    Binary(char, usize, usize),
    Contract(usize, i64, i64),
    Exchange(usize, i64, i64),
    Number(i64),
    Stack(Vec<usize>),
}

/// Value numbers: equal ones are equal values.
#[derive(Default)]
struct Values<'s> {
    /// What a variable holds now.
    variables: BTreeMap<&'s str, usize>,
    made: BTreeMap<Made, (usize, Span)>,
    count: usize,
}

/// A subexpression whose value was there before: where it stands, and where it was computed first.
type Repeated = (Span, Span);

impl<'s> Values<'s> {
    fn fresh(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Compute what a statement assigns.
    fn assign(&mut self, statement: &Statement<'s>, reports: &mut Reports) {
        let mut repeated = Vec::new();
        let value = self.expression(&statement.value, &mut repeated);
        self.variables.insert(statement.target.text, value);
        for (place, first) in repeated {
            reports.add(
                Diagnostic::new(Code::WarnRepeated, place, "this value is computed twice")
                    .with_label("again")
                    .with_note(first, "first here, of the same values")
                    .with_help("assign it to a variable, and use that in both places"),
            );
        }
    }

    /// A statement that is not computed leaves nothing that a living one reads.
    fn forget(&mut self, statement: &Statement<'s>) {
        let value = self.fresh();
        self.variables.insert(statement.target.text, value);
    }

    fn operand(&mut self, operand: &Operand<'s>, repeated: &mut Vec<Repeated>) -> usize {
        match operand {
            Operand::Group(inner) => self.expression(inner, repeated),
            Operand::Integer(value) => self.number_of(Made::Number(*value)),
            Operand::Stack(parts, _) => {
                let parts = parts.iter().map(|part| self.expression(part, repeated)).collect();
                self.number_of(Made::Stack(parts))
            }
            Operand::Name(name) => {
                if let Some(&value) = self.variables.get(name.text) {
                    value
                } else {
                    let value = self.fresh();
                    self.variables.insert(name.text, value);
                    value
                }
            }
        }
    }

    /// The number of what costs nothing: its repetition is not reported.
    fn number_of(&mut self, made: Made) -> usize {
        let fresh = self.fresh();
        self.made.entry(made).or_insert((fresh, Span::default())).0
    }

    /// The number of an expression. Of what is repeated inside it, only the largest parts are listed.
    fn expression(&mut self, expression: &Expression<'s>, repeated: &mut Vec<Repeated>) -> usize {
        let before = repeated.len();
        let mut value = self.operand(&expression.first, repeated);
        for tail in &expression.tails {
            let ordered = |m: i64, n: i64| (m.min(n), m.max(n));
            let made = match &tail.form {
                Form::Binary(operator, operand) => {
                    let right = self.operand(operand, repeated);
                    let commutes = matches!(operator, Operator::Add | Operator::Mul);
                    let (a, b) = if commutes { (value.min(right), value.max(right)) } else { (value, right) };
                    Made::Binary(operator.sign(), a, b)
                }
                Form::Contract((m, _), (n, _)) => {
                    let (m, n) = ordered(*m, *n);
                    Made::Contract(value, m, n)
                }
                Form::Exchange((m, _), (n, _)) => {
                    let (m, n) = ordered(*m, *n);
                    Made::Exchange(value, m, n)
                }
            };
            let place = Span::new(expression.span.start, tail.end);
            value = if let Some(&(number, first)) = self.made.get(&made) {
                // An exchange only renames indices.
                if !matches!(made, Made::Exchange(..)) {
                    repeated.truncate(before);
                    repeated.push((place, first));
                }
                number
            } else {
                let number = self.fresh();
                self.made.insert(made, (number, place));
                number
            };
        }
        value
    }
}

/// Warn where the elements of a statement cannot be stored as they are computed.
fn in_place(statement: &Statement, value: &Typed, reports: &mut Reports) {
    let index: Vec<usize> = (0..value.shape().len()).collect();
    let mut count = index.len();
    if let Some(place) = other_element(value, &index, statement.target.text, &mut count) {
        let name = statement.target.text;
        let message = format!("the statement reads elements of `{name}` that it also writes");
        reports.add(
            Diagnostic::new(Code::WarnSelfRef, place, message)
                .with_label("old values are used everywhere: they stay until all new ones are computed")
                .with_note(statement.span, "the statement"),
        );
    }
}

/// Where a value reads an element of `target` other than the one at the index of the result, dimension by dimension `0, 1, ...`.
fn other_element(value: &Typed, index: &[usize], target: &str, count: &mut usize) -> Option<Span> {
    match value {
        Typed::Variable(name, shape) => {
            let mut dimensions = shape.iter().zip(index).enumerate();
            let elsewhere = dimensions.any(|(dimension, (&extent, &at))| extent > 1 && at != dimension);
            (name.text == target && elsewhere).then_some(name.span)
        }
        Typed::Number(_) => None,
        // The part has the other dimensions of the result, or none of them.
        Typed::Stack(parts, _) => parts.iter().find_map(|part| other_element(part, &index[1..], target, count)),
        Typed::Permute { value, order, .. } => other_element(value, &unpermuted(index, order), target, count),
        Typed::Contract { value, pair, .. } => {
            let mut inner = index.to_vec();
            inner.insert(pair.0, *count);
            inner.insert(pair.1, *count);
            *count += 1;
            other_element(value, &inner, target, count)
        }
        Typed::Outer { parts, .. } => {
            let mut rest = index;
            parts.iter().find_map(|part| {
                let (own, others) = rest.split_at(part.shape().len());
                rest = others;
                other_element(part, own, target, count)
            })
        }
        Typed::Chain { first, rest, .. } => {
            let all = std::iter::once(&**first).chain(rest.iter().map(|(_, operand)| operand));
            // All share the index, but for a scalar, which has none.
            let found = all.map(|part| (part, if part.shape().is_empty() { &[] } else { index }));
            found.into_iter().find_map(|(part, index)| other_element(part, index, target, count))
        }
    }
}
