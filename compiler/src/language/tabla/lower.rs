//! Resolved program to tensor IR.
//!
//! ```text
//! h = sum[i](w[i] * x[i]);      Nest sum.1[] += w[i] * x[i];  Nest h[] = sum.1[]
//! h = sigmoid(h);               Nest h.1[] = sigmoid(h[])                           complete: a new version
//! a[q] = ...; a[0] = 1;         Nest a[q] = ...;  Nest a[0] = 1                     in part: the same tensor, in this order
//! g -> w, mu = 1                Descent { w, g, 1 }
//! minimize squared(h, y);       Nest squared.1[] += ...; Nest minimize[] = squared.1[]; Objective { minimize, [w], 1 }
//! ```
//!
//! A statement that writes part of a tensor and reads other elements of it computes into `NAME.next.N` first, so that it sees only old values.

use super::ast::{Group as GroupKind, Operator};
use super::resolve::{Expression, Group, IteratorId, Kind, Minimize, Read, Resolved, Statement, Subscript, VariableId};
use crate::derived::Objective;
use crate::derived::losses::{self, Applied, Loss};
use crate::language::{Limits, Options};
use crate::tensor::coverage::{Coverage, Region};
use crate::tensor::region;
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Descent, Element, Function, IterId, Iterator, Nest, Node, NodeId, Program, Role,
    Start, Tensor, TensorId, Update,
};
use arch::{Code, Diagnostic, Span};

/// The program in tensor IR, and what it minimises; errors and warnings go to `diagnostics`.
pub(super) fn lower(
    resolved: &Resolved,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Program, Option<Objective>) {
    let mut lowering = Lowering {
        resolved,
        limits: &options.limits,
        gaussian: options.gaussian.unwrap_or((0.0, 1.0)),
        diagnostics,
        program: Program::default(),
        versions: Vec::new(),
        assigned: Vec::new(),
        losses: Vec::new(),
        temporaries: 0,
        elements: 0,
    };
    lowering.declared();
    for statement in &resolved.statements {
        lowering.statement(statement);
    }
    let objective = resolved.minimize.as_ref().map(|minimize| lowering.minimize(minimize));
    lowering.finish();
    if let Some(objective) = &objective {
        lowering.program.names.push(("minimize".to_owned(), objective.value));
    }
    (lowering.program, objective)
}

/// The tensors that a variable has been so far.
struct Versions {
    /// The tensor that a read refers to now.
    current: Option<TensorId>,
    coverage: Coverage,
    /// How many tensors have been made by assignment.
    made: usize,
    /// The tensor it was declared with: an input, label or model.
    declared: Option<TensorId>,
}

struct Lowering<'r, 'd> {
    resolved: &'r Resolved<'r>,
    limits: &'r Limits,
    /// Mean and deviation of `gaussian`.
    gaussian: (f64, f64),
    diagnostics: &'d mut Vec<Diagnostic>,
    program: Program,
    /// By variable.
    versions: Vec<Versions>,
    /// Variables in the order of their first assignment.
    assigned: Vec<VariableId>,
    losses: Vec<Applied>,
    temporaries: usize,
    elements: u64,
}

/// The Nest under construction: its iterators and body.
#[derive(Default)]
struct Frame {
    iterators: Vec<IteratorId>,
    body: Body,
}

impl Frame {
    fn affine(&self, subscript: Subscript) -> Affine {
        match subscript {
            Subscript::Constant(value) => Affine::constant(value),
            Subscript::Iterator(iterator) => Affine::iterator(self.position(iterator)),
        }
    }

    fn position(&self, iterator: IteratorId) -> IterId {
        let position = self.iterators.iter().position(|bound| *bound == iterator);
        IterId(position.expect("the resolver has checked that every iterator is bound"))
    }
}

impl Lowering<'_, '_> {
    /// One tensor for every input, label and model.
    fn declared(&mut self) {
        for variable in &self.resolved.variables {
            let role = match variable.kind {
                Kind::Input => Some(Role::Input),
                Kind::Label => Some(Role::Label),
                Kind::Model => Some(Role::State),
                Kind::Output | Kind::Gradient { .. } | Kind::Interim => None,
            };
            let (current, coverage) = match role {
                Some(role) => {
                    let tensor = self.tensor(variable.name.to_string(), variable.shape.clone(), role, variable.span);
                    (Some(tensor), Coverage::all(&variable.shape))
                }
                None => (None, Coverage::none(&variable.shape)),
            };
            self.versions.push(Versions { current, coverage, made: 0, declared: current });
        }
    }

    fn tensor(&mut self, name: String, shape: Vec<u32>, role: Role, span: Span) -> TensorId {
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        let before = self.elements;
        self.elements = self.elements.saturating_add(elements);
        if elements > self.limits.elements || shape.len() > self.limits.rank {
            self.diagnostics.push(
                Diagnostic::new(Code::Limit, span, "this needs an intermediate tensor that is too large")
                    .with_label(format!("{elements} elements in {} dimensions", shape.len())),
            );
        } else if before <= self.limits.elements_in_all && self.elements > self.limits.elements_in_all {
            self.diagnostics.push(
                Diagnostic::new(Code::Limit, span, "the tensors of this program are too large together")
                    .with_label(format!("here they exceed {} elements", self.limits.elements_in_all)),
            );
        }
        self.program.tensors.push(Tensor { name, shape, role, element: Element::Real, span });
        TensorId(self.program.tensors.len() - 1)
    }

    fn region(&self, subscripts: &[Subscript]) -> Region {
        let ranges = subscripts.iter().map(|subscript| match *subscript {
            Subscript::Constant(value) => (value, value.saturating_add(1)),
            Subscript::Iterator(iterator) => {
                let range = &self.resolved.iterators[iterator.0];
                (range.low, range.high)
            }
        });
        let first = |subscript: &Subscript| match subscript {
            Subscript::Constant(_) => None,
            Subscript::Iterator(_) => subscripts.iter().position(|other| other == subscript),
        };
        let tied = subscripts.iter().enumerate().map(|(dimension, subscript)| first(subscript).unwrap_or(dimension));
        Region { ranges: ranges.collect(), tied: tied.collect() }
    }

    fn extent(&self, iterator: IteratorId) -> u32 {
        let range = &self.resolved.iterators[iterator.0];
        u32::try_from(i128::from(range.high) - i128::from(range.low)).unwrap_or(u32::MAX)
    }

    fn statement(&mut self, statement: &Statement) {
        let mut frame = Frame { iterators: statement.left.clone(), body: Body::default() };
        let root = self.expression(&statement.value, &mut frame);
        debug_assert_eq!(root, frame.body.root(), "the value is the last node");
        let out_index: Vec<Affine> = statement.subscripts.iter().map(|&subscript| frame.affine(subscript)).collect();
        let region = self.region(&statement.subscripts);
        self.warn_about_order(statement, &region);

        let variable = &self.resolved.variables[statement.target.0];
        let whole = region == Region::whole(&variable.shape);
        let versions = &self.versions[statement.target.0];
        let in_place = if whole || versions.made == 0 { None } else { versions.current };
        if let Some(tensor) = in_place {
            let reads_others = frame.body.nodes.iter().any(
                |node| matches!(node, Node::Read { tensor: read, index } if *read == tensor && *index != out_index),
            );
            if reads_others {
                self.write_later(statement, frame, tensor, out_index);
            } else {
                self.nest(frame, statement.left.len(), tensor, out_index, Aggregate::Assign, statement.span);
            }
        } else {
            let tensor = self.version(statement.target, whole, statement.span);
            self.nest(frame, statement.left.len(), tensor, out_index, Aggregate::Assign, statement.span);
        }
        self.versions[statement.target.0].coverage.add(&region);
    }

    /// A new tensor for a variable; a model's first one starts as a copy of the state if it is not written as a whole.
    fn version(&mut self, target: VariableId, whole: bool, span: Span) -> TensorId {
        let variable = &self.resolved.variables[target.0];
        let versions = &self.versions[target.0];
        let (made, old) = (versions.made, versions.current);
        let number = made + usize::from(variable.kind == Kind::Model);
        let name = if number == 0 { variable.name.to_string() } else { format!("{}.{number}", variable.name) };
        let tensor = self.tensor(name, variable.shape.clone(), Role::Temporary, span);
        if made == 0 {
            self.assigned.push(target);
        }
        if let (false, Some(old)) = (whole, old) {
            self.copy(old, tensor, span);
        } else {
            self.versions[target.0].coverage = Coverage::none(&variable.shape);
        }
        let versions = &mut self.versions[target.0];
        versions.current = Some(tensor);
        versions.made += 1;
        tensor
    }

    fn copy(&mut self, from: TensorId, to: TensorId, span: Span) {
        let shape = self.program.tensors[from.0].shape.clone();
        let iterators: Vec<Iterator> = shape
            .iter()
            .enumerate()
            .map(|(dimension, &extent)| Iterator { name: format!("d{dimension}"), low: 0, high: i64::from(extent) })
            .collect();
        let index: Vec<Affine> = (0..shape.len()).map(|dimension| Affine::iterator(IterId(dimension))).collect();
        let body = Body { nodes: vec![Node::Read { tensor: from, index: index.clone() }] };
        self.program.nests.push(Nest {
            free: iterators.len(),
            iterators,
            guards: Vec::new(),
            out: to,
            out_index: index,
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body,
            origin: span.into(),
        });
    }

    /// Compute all values first, then write them.
    fn write_later(&mut self, statement: &Statement, frame: Frame, tensor: TensorId, out_index: Vec<Affine>) {
        let name = self.resolved.variables[statement.target.0].name;
        let next = self.temporary(&format!("{name}.next"), &statement.left, statement.span);
        let index = self.dense_index(&frame, &statement.left);
        let mut write = Frame { iterators: statement.left.clone(), body: Body::default() };
        write.body.push(Node::Read { tensor: next, index: index.clone() });
        self.nest(frame, statement.left.len(), next, index, Aggregate::Assign, statement.span);
        self.nest(write, statement.left.len(), tensor, out_index, Aggregate::Assign, statement.span);
    }

    /// A tensor with one element per value of `iterators`.
    fn temporary(&mut self, stem: &str, iterators: &[IteratorId], span: Span) -> TensorId {
        self.temporaries += 1;
        let shape = iterators.iter().map(|&iterator| self.extent(iterator)).collect();
        self.tensor(format!("{stem}.{}", self.temporaries), shape, Role::Temporary, span)
    }

    /// Subscripts of such a tensor: each iterator counted from its first value.
    fn dense_index(&self, frame: &Frame, iterators: &[IteratorId]) -> Vec<Affine> {
        let offset = |iterator: IteratorId| -self.resolved.iterators[iterator.0].low;
        let affine =
            |iterator: IteratorId| Affine { offset: offset(iterator), terms: vec![(frame.position(iterator), 1)] };
        iterators.iter().map(|&iterator| affine(iterator)).collect()
    }

    fn nest(
        &mut self,
        frame: Frame,
        free: usize,
        out: TensorId,
        out_index: Vec<Affine>,
        aggregate: Aggregate,
        span: Span,
    ) {
        let iterators: Vec<Iterator> = frame
            .iterators
            .iter()
            .map(|iterator| {
                let range = &self.resolved.iterators[iterator.0];
                Iterator { name: range.name.to_string(), low: range.low, high: range.high }
            })
            .collect();
        let points = frame.iterators.iter().fold(1u64, |product, &iterator| {
            let range = &self.resolved.iterators[iterator.0];
            product.saturating_mul((i128::from(range.high) - i128::from(range.low)) as u64)
        });
        if points > self.limits.points {
            self.diagnostics.push(
                Diagnostic::new(Code::Limit, span, format!("this loops over more than {} points", self.limits.points))
                    .with_label("too much work"),
            );
        }
        let (guards, start) = (Vec::new(), Start::Identity);
        self.program.nests.push(Nest {
            iterators,
            free,
            guards,
            out,
            out_index,
            aggregate,
            start,
            body: frame.body,
            origin: span.into(),
        });
    }

    fn expression(&mut self, expression: &Expression, frame: &mut Frame) -> NodeId {
        match expression {
            Expression::Number(value) => frame.body.push(Node::Constant(*value)),
            Expression::Read(read) => self.read(read, frame),
            Expression::Chain { first, rest } => {
                let mut value = self.expression(first, frame);
                for (operator, operand) in rest {
                    let operand = self.expression(operand, frame);
                    let operator = match operator {
                        Operator::Add => Binary::Add,
                        Operator::Sub => Binary::Sub,
                        Operator::Mul => Binary::Mul,
                        Operator::Less => Binary::Lt,
                        Operator::Greater => Binary::Gt,
                    };
                    value = frame.body.push(Node::Binary(operator, value, operand));
                }
                value
            }
            Expression::Square(body) => {
                let value = self.expression(body, frame);
                frame.body.push(Node::Binary(Binary::Mul, value, value))
            }
            Expression::Call(function, body) => {
                let value = self.expression(body, frame);
                if *function == Function::Gaussian {
                    return self.gaussian(value, frame);
                }
                frame.body.push(Node::Call(*function, vec![value]))
            }
            Expression::Loss { loss, prediction, label, span } => {
                let value = self.loss(*loss, *prediction, *label, *span);
                match value {
                    Some(tensor) => frame.body.push(Node::Read { tensor, index: Vec::new() }),
                    None => frame.body.push(Node::Constant(0.0)),
                }
            }
            Expression::Group(group) => {
                let (tensor, iterators) = (self.group(group), &group.free);
                let index = self.dense_index(frame, iterators);
                frame.body.push(Node::Read { tensor, index })
            }
        }
    }

    /// What is minimised, as a scalar with that name.
    fn minimize(&mut self, minimize: &Minimize) -> Objective {
        let mut frame = Frame::default();
        self.expression(&minimize.value, &mut frame);
        let value = self.tensor("minimize".to_owned(), Vec::new(), Role::Temporary, minimize.span);
        self.nest(frame, 0, value, Vec::new(), Aggregate::Assign, minimize.span);
        let weights = minimize.models.iter().filter_map(|model| self.versions[model.0].declared).collect();
        let losses = std::mem::take(&mut self.losses);
        Objective { value, losses, weights, rate: self.resolved.rate, span: minimize.span }
    }

    /// The value of a loss of the library.
    fn loss(&mut self, loss: Loss, prediction: VariableId, label: VariableId, span: Span) -> Option<TensorId> {
        let current = |variable: VariableId| self.versions[variable.0].current;
        let (Some(h), Some(y)) = (current(prediction), current(label)) else {
            self.diagnostics.push(
                Diagnostic::new(Code::UndefVal, span, "this is compared before it has a value")
                    .with_label("nothing is assigned so far"),
            );
            return None;
        };
        match losses::apply(&mut self.program, loss, h, y, (losses::Unlinked::Refused, span)) {
            Ok(applied) => {
                let value = applied.value;
                self.losses.push(applied);
                Some(value)
            }
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                None
            }
        }
    }

    /// `gaussian((x - mean) / deviation) / deviation`, of mean 0 and deviation 1.
    fn gaussian(&mut self, mut value: NodeId, frame: &mut Frame) -> NodeId {
        let (mean, deviation) = self.gaussian;
        let body = &mut frame.body;
        if mean != 0.0 {
            let mean = body.push(Node::Constant(mean));
            value = body.push(Node::Binary(Binary::Sub, value, mean));
        }
        if deviation == 1.0 {
            return body.push(Node::Call(Function::Gaussian, vec![value]));
        }
        let scale = body.push(Node::Constant(1.0 / deviation));
        let scaled = body.push(Node::Binary(Binary::Mul, scale, value));
        let density = body.push(Node::Call(Function::Gaussian, vec![scaled]));
        body.push(Node::Binary(Binary::Mul, scale, density))
    }

    /// A Nest of its own for a sum, product or norm.
    fn group(&mut self, group: &Group) -> TensorId {
        let mut iterators = group.free.clone();
        iterators.push(group.iterator);
        let mut frame = Frame { iterators, body: Body::default() };
        let value = self.expression(&group.body, &mut frame);
        if group.kind == GroupKind::Norm {
            frame.body.push(Node::Binary(Binary::Mul, value, value));
        }
        let tensor = self.temporary(group.kind.keyword(), &group.free, group.span);
        let index = self.dense_index(&frame, &group.free);
        let aggregate = if group.kind == GroupKind::Product { Aggregate::Mul } else { Aggregate::Add };
        self.nest(frame, group.free.len(), tensor, index, aggregate, group.span);
        tensor
    }

    fn read(&mut self, read: &Read, frame: &mut Frame) -> NodeId {
        let versions = &self.versions[read.variable.0];
        let region = self.region(&read.subscripts);
        if let Some(missing) = self.outside(read, &region).or_else(|| versions.coverage.missing(&region)) {
            let name = self.resolved.variables[read.variable.0].name;
            let element = written(&missing);
            let mut diagnostic =
                Diagnostic::new(Code::UndefVal, read.span, format!("`{name}{element}` is read before it has a value"));
            diagnostic = match versions.current {
                Some(tensor) => diagnostic
                    .with_label("not assigned so far")
                    .with_note(self.program.tensors[tensor.0].span, "only other elements are assigned"),
                None => diagnostic.with_label("nothing is assigned so far"),
            };
            self.diagnostics.push(diagnostic);
            return frame.body.push(Node::Constant(0.0));
        }
        let Some(tensor) = versions.current else { return frame.body.push(Node::Constant(0.0)) };
        let index = read.subscripts.iter().map(|&subscript| frame.affine(subscript)).collect();
        frame.body.push(Node::Read { tensor, index })
    }

    /// An element beyond everything that is ever assigned to an interim.
    fn outside(&self, read: &Read, region: &Region) -> Option<Vec<i64>> {
        let shape = &self.resolved.variables[read.variable.0].shape;
        let leaves = |(&(low, high), &extent): (&(i64, i64), &u32)| low < 0 || high > i64::from(extent);
        let outside = region.ranges.iter().zip(shape).any(leaves);
        let first = |(&(low, high), &extent): (&(i64, i64), &u32)| {
            if low < 0 || high <= i64::from(extent) { low } else { low.max(i64::from(extent)) }
        };
        outside.then(|| region.ranges.iter().zip(shape).map(first).collect())
    }

    /// Warn when elements that a statement writes are read by it elsewhere: other tools update one element after the other.
    fn warn_about_order(&mut self, statement: &Statement, written: &Region) {
        let mut pending = vec![&statement.value];
        while let Some(expression) = pending.pop() {
            match expression {
                Expression::Number(_) | Expression::Loss { .. } => {}
                Expression::Chain { first, rest } => {
                    pending.extend(rest.iter().rev().map(|(_, operand)| operand));
                    pending.push(first);
                }
                Expression::Square(body) | Expression::Call(_, body) => pending.push(body),
                Expression::Group(group) => pending.push(&group.body),
                Expression::Read(read) => {
                    let other = read.variable == statement.target && read.subscripts != statement.subscripts;
                    if other && self.region(&read.subscripts).touches(written) {
                        let name = self.resolved.variables[read.variable.0].name;
                        self.diagnostics.push(
                            Diagnostic::new(
                                Code::WarnSelfRef,
                                read.span,
                                format!("the statement reads elements of `{name}` that it also writes"),
                            )
                            .with_label("old values are used everywhere")
                            .with_note(statement.span, "the statement"),
                        );
                        return;
                    }
                }
            }
        }
    }

    /// The elements of a tensor that statements read.
    fn regions_read(&self, wanted: TensorId) -> Vec<Region> {
        let mut regions = Vec::new();
        for nest in &self.program.nests {
            for node in &nest.body.nodes {
                match node {
                    Node::Read { tensor, index } if *tensor == wanted => regions.push(region(nest, index)),
                    _ => {}
                }
            }
        }
        regions
    }

    /// Names, roles of the last versions, updates and descents.
    fn finish(&mut self) {
        for &variable in &self.assigned {
            if let Some(last) = self.versions[variable.0].current {
                self.program.names.push((self.resolved.variables[variable.0].name.to_string(), last));
            }
        }
        for (variable, versions) in self.resolved.variables.iter().zip(&self.versions) {
            let (Some(last), true) = (versions.current, versions.made > 0) else { continue };
            match variable.kind {
                Kind::Output => self.program.tensors[last.0].role = Role::Output,
                Kind::Gradient { model, link } => {
                    let Some(state) = self.versions[model.0].declared else { continue };
                    self.program.tensors[last.0].role = Role::Gradient(state);
                    let assigned = self.versions[model.0].made > 0;
                    if let (Some(rate), false) = (self.resolved.rate, assigned) {
                        self.program.descents.push(Descent { state, gradient: last, rate, span: link });
                    }
                }
                Kind::Model => {
                    let Some(state) = versions.declared else { continue };
                    self.program.updates.push(Update { state, next: last });
                }
                Kind::Input | Kind::Label | Kind::Interim => {}
            }
            let missing = match variable.kind {
                // Weights that nothing reads need no gradient.
                Kind::Gradient { model, .. } => {
                    let state = self.versions[model.0].declared;
                    let mut used = state.into_iter().flat_map(|state| self.regions_read(state));
                    used.find_map(|region| versions.coverage.missing(&region))
                }
                _ => versions.coverage.missing(&Region::whole(&variable.shape)),
            };
            if let (Kind::Output | Kind::Gradient { .. }, Some(missing)) = (variable.kind, missing) {
                let element = written(&missing);
                let help = match variable.kind {
                    Kind::Output => "elements without a value are undefined",
                    _ => "weights without a gradient keep their value",
                };
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::WarnPartial,
                        variable.span,
                        format!("`{}` is assigned in part", variable.name),
                    )
                    .with_label(format!("`{}{element}` never gets a value", variable.name))
                    .with_help(help),
                );
            }
        }
    }
}

/// Subscripts as they are written: `[1][0]`.
fn written(index: &[i64]) -> String {
    index.iter().fold(String::new(), |text, index| text + &format!("[{index}]"))
}
