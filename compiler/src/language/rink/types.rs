//! Types: which shape every expression has. A program that passes is well-typed in the sense of the report.
//!
//! ```text
//! A : [3 4]   B : [4 2]        A # B           [3 4 4 2]      concatenated
//!                              (A # B) . [2 3]     [3 2]      equal extents, both gone
//!                              A ^ [1 2]           [4 3]      exchanged
//!                              A + A               [3 4]      equal; scalar * tensor and tensor / scalar, too
//! ```

use super::ast::{
    Declaration, Expression, Form, Name, Number, Operand, Operator, Program as Source, Shape, Statement, Tail,
};
use super::reports::Reports;
use crate::language::{Options, nearest};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

/// Dimensions that a value inside an expression may have, as a multiple of those of a tensor.
const INNER_RANK: usize = 4;

/// What is known of a program.
pub(super) struct Types<'s> {
    pub(super) variables: BTreeMap<&'s str, Variable>,
    /// The value of each statement, if it has a type.
    pub(super) values: Vec<Option<Typed<'s>>>,
    /// Whether some variable is marked as input or output: then the others start without a value.
    pub(super) qualified: bool,
}

/// A declared variable.
pub(super) struct Variable {
    pub(super) shape: Vec<u32>,
    pub(super) input: bool,
    pub(super) output: bool,
    /// The last statement so far that assigns it.
    pub(super) assigned: Option<Span>,
    pub(super) span: Span,
}

/// An expression with its types known.
pub(super) enum Typed<'s> {
    Variable(Name<'s>, Vec<u32>),
    Number(f64),
    /// Values on top of each other: the first dimension says which.
    Stack(Vec<Typed<'s>>, Vec<u32>),
    Contract {
        value: Box<Typed<'s>>,
        pair: (usize, usize),
        shape: Vec<u32>,
        span: Span,
    },
    /// Dimension `n` of the result is dimension `order[n]` of the value.
    Permute {
        value: Box<Typed<'s>>,
        order: Vec<usize>,
        shape: Vec<u32>,
    },
    /// The outer product of all parts.
    Outer {
        parts: Vec<Typed<'s>>,
        shape: Vec<u32>,
    },
    /// Element-wise operators that follow each other, from left to right.
    Chain {
        first: Box<Typed<'s>>,
        rest: Vec<(Operator, Typed<'s>)>,
        shape: Vec<u32>,
    },
}

impl Typed<'_> {
    pub(super) fn shape(&self) -> &[u32] {
        match self {
            Typed::Number(_) => &[],
            Typed::Variable(_, shape)
            | Typed::Stack(_, shape)
            | Typed::Contract { shape, .. }
            | Typed::Permute { shape, .. }
            | Typed::Outer { shape, .. }
            | Typed::Chain { shape, .. } => shape,
        }
    }
}

/// The index of the value from that of its permuted form.
pub(super) fn unpermuted<Index: Copy>(index: &[Index], order: &[usize]) -> Vec<Index> {
    let mut result = index.to_vec();
    for (at, &dimension) in index.iter().zip(order) {
        result[dimension] = *at;
    }
    result
}

/// Find the types of a program.
pub(super) fn check<'s>(source: &Source<'s>, options: &Options, reports: &mut Reports) -> Types<'s> {
    let qualified = source.declarations.iter().any(|declaration| declaration.input || declaration.output);
    let (variables, kinds) = (BTreeMap::new(), BTreeMap::new());
    let mut checker = Checker { source, options, reports, variables, kinds, qualified };
    for kind in &source.types {
        let extents = checker.extents(&kind.shape);
        if checker.kinds.insert(kind.name.text, extents).is_some() {
            let message = format!("the type `{}` is declared twice", kind.name.text);
            checker.reports.add(Diagnostic::new(Code::Redef, kind.name.span, message).with_label("second declaration"));
        }
    }
    for declaration in &source.declarations {
        checker.declare(declaration);
    }
    let values = source.statements.iter().map(|statement| checker.statement(statement)).collect();
    Types { variables: checker.variables, values, qualified }
}

struct Checker<'s, 'a> {
    source: &'a Source<'s>,
    options: &'a Options,
    reports: &'a mut Reports,
    variables: BTreeMap<&'s str, Variable>,
    /// Extents of types.
    kinds: BTreeMap<&'s str, Vec<Number>>,
    qualified: bool,
}

impl<'s> Checker<'s, '_> {
    /// The extents that a shape stands for.
    fn extents(&mut self, shape: &Shape<'s>) -> Vec<Number> {
        match shape {
            Shape::Extents(extents) => extents.clone(),
            Shape::Named(name) => self.kinds.get(name.text).cloned().unwrap_or_else(|| {
                let message = format!("there is no type `{}`", name.text);
                let diagnostic = Diagnostic::new(Code::Undef, name.span, message).with_label("not declared above");
                self.reports
                    .add(diagnostic.with_help("an extent is an integer: `[2 3]`; `type T : [2 3]` names a shape"));
                Vec::new()
            }),
        }
    }

    fn declare(&mut self, declaration: &Declaration<'s>) {
        let name = declaration.name;
        if let Some(first) = self.variables.get(name.text) {
            let note = first.span;
            self.reports.add(
                Diagnostic::new(Code::Redef, name.span, format!("`{}` is declared twice", name.text))
                    .with_label("second declaration")
                    .with_note(note, "first declaration"),
            );
            return;
        }
        let mut shape = Vec::new();
        for (extent, span) in self.extents(&declaration.shape) {
            if extent < 1 {
                let message = format!("an extent is at least 1, not {extent}");
                self.reports.add(Diagnostic::new(Code::Range, span, message).with_label("no elements"));
            }
            shape.push(u32::try_from(extent.max(1)).unwrap_or(u32::MAX));
        }
        let limits = self.options.limits;
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        if shape.len() > limits.rank || elements > limits.elements {
            let message = format!("`{}` is too large", name.text);
            let label = format!("at most {} elements in {} dimensions", limits.elements, limits.rank);
            self.reports.add(Diagnostic::new(Code::Limit, name.span, message).with_label(label));
        }
        let variable =
            Variable { shape, input: declaration.input, output: declaration.output, assigned: None, span: name.span };
        self.variables.insert(name.text, variable);
    }

    /// Types of a statement.
    fn statement(&mut self, statement: &Statement<'s>) -> Option<Typed<'s>> {
        let target = statement.target;
        let value = self.expression(&statement.value);
        let Some(variable) = self.variables.get_mut(target.text) else {
            self.undeclared(target);
            return None;
        };
        variable.assigned = Some(target.span);
        let (declared, span) = (variable.shape.clone(), variable.span);
        let value = value?;
        if value.shape() != declared {
            let message = format!("`{}` has shape {declared:?}, the value {:?}", target.text, value.shape());
            self.reports.add(
                Diagnostic::new(Code::Shape, target.span, message)
                    .with_label("shapes differ")
                    .with_note(span, "declared here"),
            );
            return None;
        }
        Some(value)
    }

    fn undeclared(&mut self, name: Name<'s>) {
        if self.reports.is_full() {
            return;
        }
        let diagnostic = Diagnostic::new(Code::Undef, name.span, format!("`{}` is not declared", name.text))
            .with_label("unknown name");
        let near = nearest(name.text, self.variables.keys().copied());
        self.reports.add(match near {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic.with_help(format!("declare it: `var {} : [...]`", name.text)),
        });
    }

    /// The first statement that assigns a variable.
    fn first_assignment(&self, name: &str) -> Option<Span> {
        self.source
            .statements
            .iter()
            .find(|statement| statement.target.text == name)
            .map(|statement| statement.target.span)
    }

    fn operand(&mut self, operand: &Operand<'s>) -> Option<Typed<'s>> {
        match operand {
            Operand::Group(inner) => self.expression(inner),
            Operand::Integer(value) => Some(Typed::Number(*value as f64)),
            Operand::Stack(parts, place) => self.stack(parts, *place),
            Operand::Name(name) => {
                let Some(variable) = self.variables.get(name.text) else {
                    self.undeclared(*name);
                    return None;
                };
                let shape = variable.shape.clone();
                if self.qualified && !variable.input && variable.assigned.is_none() && !self.reports.is_full() {
                    let message = format!("`{}` is read before it is assigned", name.text);
                    let diagnostic = Diagnostic::new(Code::UndefVal, name.span, message)
                        .with_label("no value yet")
                        .with_note(variable.span, "not declared as input");
                    let later = self.first_assignment(name.text);
                    self.reports.add(match later {
                        Some(span) => diagnostic.with_note(span, "assigned only here"),
                        None => diagnostic,
                    });
                }
                Some(Typed::Variable(*name, shape))
            }
        }
    }

    fn expression(&mut self, expression: &Expression<'s>) -> Option<Typed<'s>> {
        if !self.options.rink_left && self.options.cfdlang.is_none() {
            self.unambiguous(expression)?;
        }
        let mut value = self.operand(&expression.first);
        let mut turns = 0;
        for pair in expression.tails.windows(2) {
            // Read from left to right, a sum of a product of a sum ... is as deep as it is long.
            turns += usize::from(
                matches!(pair[0].form, Form::Binary(..)) && pair[0].form.strength() != pair[1].form.strength(),
            );
            if turns > self.options.limits.depth {
                let message = format!("more than {} operators inside each other", self.options.limits.depth);
                let diagnostic = Diagnostic::new(Code::Limit, pair[1].span, message).with_label("too deep");
                self.reports.add(diagnostic.with_help("assign inner parts to variables"));
                return None;
            }
        }
        for tail in &expression.tails {
            value = match &tail.form {
                Form::Binary(operator, operand) => {
                    let right = self.operand(operand);
                    match (value, right) {
                        (Some(left), Some(right)) => self.binary(*operator, left, right, tail.span),
                        _ => None,
                    }
                }
                Form::Contract(m, n) => value.and_then(|value| self.contract(value, *m, *n, tail)),
                Form::Exchange(m, n) => value.and_then(|value| self.exchange(value, *m, *n)),
            };
        }
        value
    }

    fn stack(&mut self, parts: &[Expression<'s>], place: Span) -> Option<Typed<'s>> {
        let parts: Vec<Option<Typed<'s>>> = parts.iter().map(|part| self.expression(part)).collect();
        let parts: Vec<Typed<'s>> = parts.into_iter().collect::<Option<_>>()?;
        let inner = parts[0].shape().to_vec();
        if let Some(other) = parts.iter().find(|part| part.shape() != inner) {
            let message = format!("a stack of shapes {inner:?} and {:?}", other.shape());
            self.reports.add(Diagnostic::new(Code::Shape, place, message).with_label("shapes differ"));
            return None;
        }
        let shape = [&[parts.len() as u32], &inner[..]].concat();
        Some(Typed::Stack(parts, shape))
    }

    /// An operator that binds tighter than one to its left would mean different things in different conventions.
    fn unambiguous(&mut self, expression: &Expression<'s>) -> Option<()> {
        let mut weakest: Option<(u8, Span)> = None;
        for tail in &expression.tails {
            let outer = Form::Binary(Operator::Outer, Operand::Integer(0)).strength();
            let strength = if tail.listed { outer } else { tail.form.strength() };
            if let Some((left, span)) = weakest
                && strength > left
            {
                self.reports.add(
                    Diagnostic::new(Code::Ambig, tail.span, "this could apply to the last operand or to all before it")
                        .with_label("binds tighter than the operator before")
                        .with_note(span, "the operator before")
                        .with_help("add parentheses"),
                );
                return None;
            }
            if matches!(tail.form, Form::Binary(..)) {
                weakest = Some(weakest.map_or((strength, tail.span), |(left, span)| {
                    if strength < left { (strength, tail.span) } else { (left, span) }
                }));
            }
        }
        Some(())
    }

    fn binary(&mut self, operator: Operator, left: Typed<'s>, right: Typed<'s>, span: Span) -> Option<Typed<'s>> {
        let (a, b) = (left.shape(), right.shape());
        let shape = match operator {
            Operator::Outer => [a, b].concat(),
            _ if a == b => a.to_vec(),
            Operator::Mul if a.is_empty() => b.to_vec(),
            Operator::Div if b.is_empty() => a.to_vec(),
            _ => {
                let message = format!("`{}` of shapes {a:?} and {b:?}", operator.sign());
                let diagnostic = Diagnostic::new(Code::Shape, span, message).with_label("shapes differ");
                let diagnostic = match operator {
                    Operator::Mul if b.is_empty() => {
                        diagnostic.with_help("the scalar stands on the left: `scalar * tensor`")
                    }
                    _ => diagnostic.with_help("there is no broadcasting; only `scalar * tensor` and `tensor / scalar`"),
                };
                self.reports.add(diagnostic);
                return None;
            }
        };
        if shape.len() > INNER_RANK * self.options.limits.rank {
            let message = format!("an intermediate value has {} dimensions", shape.len());
            self.reports.add(Diagnostic::new(Code::Limit, span, message).with_label("too many"));
            return None;
        }
        // Long chains are lists, not deep trees.
        Some(match (operator, left) {
            (Operator::Outer, Typed::Outer { mut parts, .. }) => {
                parts.push(right);
                Typed::Outer { parts, shape }
            }
            (Operator::Outer, left) => Typed::Outer { parts: vec![left, right], shape },
            (_, Typed::Chain { first, mut rest, shape: before }) if before == shape => {
                rest.push((operator, right));
                Typed::Chain { first, rest, shape }
            }
            (_, left) => Typed::Chain { first: Box::new(left), rest: vec![(operator, right)], shape },
        })
    }

    /// A pair of different dimensions of a value, counted from 0.
    fn pair(&mut self, rank: usize, m: Number, n: Number) -> Option<(usize, usize)> {
        for (number, span) in [m, n] {
            if number < 1 || number > rank as i64 {
                let message = format!("there is no dimension {number}");
                let label =
                    if rank == 0 { "the value is a scalar".into() } else { format!("dimensions are 1 to {rank}") };
                self.reports.add(Diagnostic::new(Code::Rank, span, message).with_label(label));
                return None;
            }
        }
        if m.0 == n.0 {
            self.reports.add(
                Diagnostic::new(Code::Rank, n.1, "a pair has two different dimensions").with_label("the same again"),
            );
            return None;
        }
        let (m, n) = ((m.0 - 1) as usize, (n.0 - 1) as usize);
        Some((m.min(n), m.max(n)))
    }

    fn contract(&mut self, value: Typed<'s>, m: Number, n: Number, tail: &Tail) -> Option<Typed<'s>> {
        let (first, second) = self.pair(value.shape().len(), m, n)?;
        let mut shape = value.shape().to_vec();
        if shape[first] != shape[second] {
            let message = format!(
                "dimensions {} and {} have extents {} and {}",
                first + 1,
                second + 1,
                shape[first],
                shape[second]
            );
            self.reports
                .add(Diagnostic::new(Code::Shape, tail.span, message).with_label("a sum runs over equal extents"));
            return None;
        }
        shape.remove(second);
        shape.remove(first);
        Some(Typed::Contract { value: Box::new(value), pair: (first, second), shape, span: tail.span })
    }

    fn exchange(&mut self, value: Typed<'s>, m: Number, n: Number) -> Option<Typed<'s>> {
        let pair = self.pair(value.shape().len(), m, n)?;
        let mut shape = value.shape().to_vec();
        shape.swap(pair.0, pair.1);
        Some(match value {
            Typed::Permute { value, mut order, .. } => {
                order.swap(pair.0, pair.1);
                Typed::Permute { value, order, shape }
            }
            value => {
                let mut order: Vec<usize> = (0..shape.len()).collect();
                order.swap(pair.0, pair.1);
                Typed::Permute { value: Box::new(value), order, shape }
            }
        })
    }
}
