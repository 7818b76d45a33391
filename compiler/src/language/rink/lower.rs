//! Checks types and composes index maps: an expression becomes one Nest, and one more for each sum inside an element-wise operation.
//!
//! ```text
//! var A:[3 4] var B:[4 2] var C:[3 2] var D:[3 2]
//! C = (A # B) . [2 3]           Nest C[a][b] += A[a][k] * B[k][b]         the outer product never exists
//! D = C ^ [1 2]                 exchanged dimensions are exchanged indices
//! C = (A # B) . [2 3] + C       Nest sum.1[a][b] += ...;  Nest C.1[a][b] = sum.1[a][b] + C[a][b]
//! ```
//!
//! A store makes a new tensor, so a statement sees old values only. What is read before it is assigned comes from the host.

use super::ast::{Declaration, Expression, Form, Name, Number, Operand, Operator, Program as Source, Statement, Tail};
use crate::language::{Options, nearest};
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Element, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start, Tensor,
    TensorId,
};
use arch::{Code, Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Dimensions that a value inside an expression may have, as a multiple of those of a tensor.
const INNER_RANK: usize = 4;

/// The program in tensor IR; errors and warnings go to `diagnostics`.
pub(super) fn lower(source: &Source, options: &Options, diagnostics: &mut Vec<Diagnostic>) -> Program {
    let mut lowering = Lowering {
        options,
        diagnostics,
        program: Program {
            tensors: Vec::new(),
            nests: Vec::new(),
            descents: Vec::new(),
            updates: Vec::new(),
            names: Vec::new(),
        },
        variables: BTreeMap::new(),
        qualified: source.declarations.iter().any(|declaration| declaration.input || declaration.output),
        sums: 0,
        elements: 0,
    };
    for declaration in &source.declarations {
        lowering.declare(declaration);
    }
    let typed: Vec<_> = source.statements.iter().map(|statement| lowering.check(statement)).collect();
    let alive = lowering.alive(source);
    if lowering.any_error() {
        return lowering.program;
    }
    for ((statement, value), alive) in source.statements.iter().zip(&typed).zip(alive) {
        match value {
            Some(value) if alive => lowering.store(statement, value),
            _ => lowering.diagnostics.push(
                Diagnostic::new(
                    Code::WarnDead,
                    statement.span,
                    format!("`{}` reaches no output", statement.target.text),
                )
                .with_label("not computed"),
            ),
        }
    }
    lowering.finish(source);
    lowering.program
}

/// A declared variable.
struct Variable {
    shape: Vec<u32>,
    input: bool,
    output: bool,
    /// Whether a statement so far assigns it (for the checks).
    assigned: bool,
    /// The tensor that a read refers to now.
    current: Option<TensorId>,
    versions: usize,
    span: Span,
}

/// An expression with its types known.
enum Typed<'s> {
    Variable(&'s str, Vec<u32>),
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
    fn shape(&self) -> &[u32] {
        match self {
            Typed::Variable(_, shape)
            | Typed::Contract { shape, .. }
            | Typed::Permute { shape, .. }
            | Typed::Outer { shape, .. }
            | Typed::Chain { shape, .. } => shape,
        }
    }
}

struct Lowering<'s, 'a> {
    options: &'a Options,
    diagnostics: &'a mut Vec<Diagnostic>,
    program: Program,
    variables: BTreeMap<&'s str, Variable>,
    /// Whether some variable is marked as input or output: then the others start without a value.
    qualified: bool,
    sums: usize,
    elements: u64,
}

/// The Nest under construction.
#[derive(Default)]
struct Frame {
    iterators: Vec<Iterator>,
    body: Body,
}

impl Frame {
    fn iterator(&mut self, extent: u32) -> IterId {
        let number = self.iterators.len();
        let letters = "abcdefghijklmnopqrstuvwxyz";
        let name = letters.get(number..=number).map_or_else(|| format!("i{number}"), str::to_owned);
        self.iterators.push(Iterator { name, low: 0, high: i64::from(extent) });
        IterId(number)
    }
}

impl<'s> Lowering<'s, '_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < 4 * self.options.limits.errors {
            self.diagnostics.push(diagnostic);
        }
    }

    fn any_error(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| !diagnostic.code.is_warning())
    }

    fn declare(&mut self, declaration: &Declaration<'s>) {
        let name = declaration.name;
        if let Some(first) = self.variables.get(name.text) {
            let note = first.span;
            self.report(
                Diagnostic::new(Code::Redef, name.span, format!("`{}` is declared twice", name.text))
                    .with_label("second declaration")
                    .with_note(note, "first declaration"),
            );
            return;
        }
        let mut shape = Vec::new();
        for &(extent, span) in &declaration.extents {
            if extent < 1 {
                let message = format!("an extent is at least 1, not {extent}");
                self.report(Diagnostic::new(Code::Range, span, message).with_label("no elements"));
            }
            shape.push(u32::try_from(extent.max(1)).unwrap_or(u32::MAX));
        }
        let limits = self.options.limits;
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        if shape.len() > limits.rank || elements > limits.elements {
            let message = format!("`{}` is too large", name.text);
            let label = format!("at most {} elements in {} dimensions", limits.elements, limits.rank);
            self.report(Diagnostic::new(Code::Limit, name.span, message).with_label(label));
        }
        let variable = Variable {
            shape,
            input: declaration.input,
            output: declaration.output,
            assigned: false,
            current: None,
            versions: 0,
            span: name.span,
        };
        self.variables.insert(name.text, variable);
    }

    /// Types of a statement.
    fn check(&mut self, statement: &Statement<'s>) -> Option<Typed<'s>> {
        let target = statement.target;
        let value = self.expression(&statement.value);
        let Some(variable) = self.variables.get_mut(target.text) else {
            self.undeclared(target);
            return None;
        };
        variable.assigned = true;
        let (declared, span) = (variable.shape.clone(), variable.span);
        let value = value?;
        if value.shape() != declared {
            let message = format!("`{}` has shape {declared:?}, the value {:?}", target.text, value.shape());
            self.report(
                Diagnostic::new(Code::Shape, target.span, message)
                    .with_label("shapes differ")
                    .with_note(span, "declared here"),
            );
            return None;
        }
        Some(value)
    }

    fn undeclared(&mut self, name: Name<'s>) {
        let diagnostic = Diagnostic::new(Code::Undef, name.span, format!("`{}` is not declared", name.text))
            .with_label("unknown name");
        let near = nearest(name.text, self.variables.keys().copied());
        self.report(match near {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic.with_help(format!("declare it: `var {} : [...]`", name.text)),
        });
    }

    fn operand(&mut self, operand: &Operand<'s>) -> Option<Typed<'s>> {
        match operand {
            Operand::Group(inner) => self.expression(inner),
            Operand::Name(name) => {
                let Some(variable) = self.variables.get(name.text) else {
                    self.undeclared(*name);
                    return None;
                };
                let shape = variable.shape.clone();
                if self.qualified && !variable.input && !variable.assigned {
                    let note = variable.span;
                    self.report(
                        Diagnostic::new(
                            Code::UndefVal,
                            name.span,
                            format!("`{}` is read before it is assigned", name.text),
                        )
                        .with_label("no value yet")
                        .with_note(note, "not declared as input"),
                    );
                }
                Some(Typed::Variable(name.text, shape))
            }
        }
    }

    fn expression(&mut self, expression: &Expression<'s>) -> Option<Typed<'s>> {
        if !self.options.rink_left {
            self.unambiguous(expression)?;
        }
        let mut value = self.operand(&expression.first);
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

    /// An operator that binds tighter than one to its left would mean different things in different conventions.
    fn unambiguous(&mut self, expression: &Expression<'s>) -> Option<()> {
        let mut weakest: Option<(u8, Span)> = None;
        for tail in &expression.tails {
            let strength = tail.form.strength();
            if let Some((left, span)) = weakest
                && strength > left
            {
                self.report(
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
                self.report(diagnostic);
                return None;
            }
        };
        if shape.len() > INNER_RANK * self.options.limits.rank {
            let message = format!("an intermediate value has {} dimensions", shape.len());
            self.report(Diagnostic::new(Code::Limit, span, message).with_label("too many"));
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
                self.report(Diagnostic::new(Code::Rank, span, message).with_label(label));
                return None;
            }
        }
        if m.0 == n.0 {
            self.report(
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
            self.report(Diagnostic::new(Code::Shape, tail.span, message).with_label("a sum runs over equal extents"));
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

    /// Which statements reach an output; all, if no variable is qualified.
    fn alive(&mut self, source: &Source<'s>) -> Vec<bool> {
        if !self.qualified {
            return vec![true; source.statements.len()];
        }
        if !self.any_error() {
            for declaration in source.declarations.iter().filter(|declaration| declaration.output) {
                let name = declaration.name;
                if self.variables.get(name.text).is_some_and(|variable| !variable.assigned) {
                    self.report(
                        Diagnostic::new(
                            Code::Output,
                            name.span,
                            format!("the output `{}` is never assigned", name.text),
                        )
                        .with_label("declared here"),
                    );
                }
            }
        }
        let outputs = source.declarations.iter().filter(|declaration| declaration.output);
        let mut live: BTreeSet<&str> = outputs.map(|declaration| declaration.name.text).collect();
        let mut alive: Vec<bool> = Vec::new();
        for statement in source.statements.iter().rev() {
            let needed = live.remove(statement.target.text);
            alive.push(needed);
            if needed {
                read_names(&statement.value, &mut live);
            }
        }
        alive.reverse();
        alive
    }

    fn tensor(&mut self, name: String, shape: Vec<u32>, role: Role, span: Span) -> TensorId {
        let limits = self.options.limits;
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        let before = self.elements;
        self.elements = self.elements.saturating_add(elements);
        let all = before <= limits.elements_in_all && self.elements > limits.elements_in_all;
        if all || elements > limits.elements || shape.len() > limits.rank {
            let message = if all {
                "the tensors of this program are too large together"
            } else {
                "this needs a tensor that is too large"
            };
            let label = format!("{elements} elements in {} dimensions", shape.len());
            self.report(Diagnostic::new(Code::Limit, span, message).with_label(label));
        }
        self.program.tensors.push(Tensor { name, shape, role, element: Element::Real, span });
        TensorId(self.program.tensors.len() - 1)
    }

    /// The tensor of a variable now; one that has none comes from the host.
    fn current(&mut self, name: &'s str) -> TensorId {
        let variable = &self.variables[name];
        if let Some(tensor) = variable.current {
            return tensor;
        }
        let (shape, span) = (variable.shape.clone(), variable.span);
        let tensor = self.tensor(name.to_string(), shape, Role::Input, span);
        if let Some(variable) = self.variables.get_mut(name) {
            (variable.current, variable.versions) = (Some(tensor), 1);
        }
        tensor
    }

    fn store(&mut self, statement: &Statement<'s>, value: &Typed<'s>) {
        let name = statement.target.text;
        let (frame, free, aggregate) = self.loops(value);
        let variable = &self.variables[name];
        let shape = variable.shape.clone();
        let version = variable.versions;
        let label = if version == 0 { name.to_string() } else { format!("{name}.{version}") };
        let out = self.tensor(label, shape, Role::Temporary, statement.target.span);
        self.nest(frame, free, aggregate, out, statement.span);
        if let Some(variable) = self.variables.get_mut(name) {
            variable.current = Some(out);
            variable.versions += 1;
        }
    }

    /// The loops and the body of a value: sums at its outside become reduction iterators.
    fn loops(&mut self, value: &Typed<'s>) -> (Frame, usize, Aggregate) {
        let mut frame = Frame::default();
        let mut index: Vec<IterId> = value.shape().iter().map(|&extent| frame.iterator(extent)).collect();
        let free = index.len();
        let mut inner = value;
        loop {
            match inner {
                Typed::Contract { value, pair, .. } => {
                    let sum = frame.iterator(value.shape()[pair.0]);
                    index.insert(pair.0, sum);
                    index.insert(pair.1, sum);
                    inner = value;
                }
                Typed::Permute { value, order, .. } => {
                    index = unpermuted(&index, order);
                    inner = value;
                }
                _ => break,
            }
        }
        let root = self.value(inner, &index, &mut frame);
        debug_assert_eq!(root, frame.body.root(), "the value is the last node");
        let aggregate = if frame.iterators.len() > free { Aggregate::Add } else { Aggregate::Assign };
        (frame, free, aggregate)
    }

    fn nest(&mut self, frame: Frame, free: usize, aggregate: Aggregate, out: TensorId, span: Span) {
        let points = frame.iterators.iter().fold(1u64, |product, iterator| product.saturating_mul(iterator.extent()));
        if points > self.options.limits.points {
            let message = format!("this loops over more than {} points", self.options.limits.points);
            self.report(Diagnostic::new(Code::Limit, span, message).with_label("too much work"));
        }
        let out_index = (0..free).map(|n| Affine::iterator(IterId(n))).collect();
        let (guards, start) = (Vec::new(), Start::Identity);
        self.program.nests.push(Nest {
            iterators: frame.iterators,
            free,
            guards,
            out,
            out_index,
            aggregate,
            start,
            body: frame.body,
            span,
        });
    }

    /// The node of a value at an index.
    fn value(&mut self, value: &Typed<'s>, index: &[IterId], frame: &mut Frame) -> NodeId {
        match value {
            Typed::Variable(name, _) => {
                let tensor = self.current(name);
                frame.body.push(Node::Read { tensor, index: index.iter().map(|&at| Affine::iterator(at)).collect() })
            }
            Typed::Permute { value, order, .. } => self.value(value, &unpermuted(index, order), frame),
            Typed::Contract { shape, span, .. } => {
                self.sums += 1;
                let name = format!("sum.{}", self.sums);
                let (inner, free, aggregate) = self.loops(value);
                let tensor = self.tensor(name, shape.clone(), Role::Temporary, *span);
                self.nest(inner, free, aggregate, tensor, *span);
                frame.body.push(Node::Read { tensor, index: index.iter().map(|&at| Affine::iterator(at)).collect() })
            }
            Typed::Outer { parts, .. } => {
                let (mut rest, mut product) = (index, None);
                for part in parts {
                    let (own, others) = rest.split_at(part.shape().len());
                    rest = others;
                    let node = self.value(part, own, frame);
                    product = Some(match product {
                        None => node,
                        Some(product) => frame.body.push(Node::Binary(Binary::Mul, product, node)),
                    });
                }
                product.expect("an outer product has two parts or more")
            }
            Typed::Chain { first, rest, .. } => {
                // All share the index, but for a scalar, which has none.
                let part = |value: &Typed| if value.shape().is_empty() { &[] } else { index };
                let mut node = self.value(first, part(first), frame);
                for (operator, operand) in rest {
                    let operand = self.value(operand, part(operand), frame);
                    let operator = match operator {
                        Operator::Add => Binary::Add,
                        Operator::Sub => Binary::Sub,
                        Operator::Mul | Operator::Outer => Binary::Mul,
                        Operator::Div => Binary::DivControlled,
                    };
                    node = frame.body.push(Node::Binary(operator, node, operand));
                }
                node
            }
        }
    }

    fn finish(&mut self, source: &Source<'s>) {
        for declaration in &source.declarations {
            let name = declaration.name.text;
            let variable = &self.variables[name];
            // Without qualifiers the result is the whole store; a variable that nothing mentions keeps what the host gave.
            if variable.current.is_none() && (self.qualified && !declaration.input) {
                continue;
            }
            let (output, assigned) = (variable.output || !self.qualified, variable.assigned);
            let tensor = self.current(name);
            if assigned && output && self.program.tensors[tensor.0].role == Role::Temporary {
                self.program.tensors[tensor.0].role = Role::Output;
            }
            if assigned || !self.qualified {
                self.program.names.push((name.to_string(), tensor));
            }
        }
    }
}

fn read_names<'s>(expression: &Expression<'s>, names: &mut BTreeSet<&'s str>) {
    let mut operand = |operand: &Operand<'s>| match operand {
        Operand::Name(name) => {
            names.insert(name.text);
        }
        Operand::Group(inner) => read_names(inner, names),
    };
    operand(&expression.first);
    for tail in &expression.tails {
        if let Form::Binary(_, right) = &tail.form {
            operand(right);
        }
    }
}

/// The index of the value from that of its permuted form.
fn unpermuted(index: &[IterId], order: &[usize]) -> Vec<IterId> {
    let mut result = index.to_vec();
    for (at, &dimension) in index.iter().zip(order) {
        result[dimension] = *at;
    }
    result
}
