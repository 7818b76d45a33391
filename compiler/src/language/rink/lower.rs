//! Checks types and composes index maps: an expression becomes one Nest, and one more for each sum inside an element-wise operation.
//!
//! ```text
//! var A:[3 4] var B:[4 2] var C:[3 2] var D:[3 2]
//! C = (A # B) . [2 3]           Nest C[a][b] += A[a][k] * B[k][b]         the outer product never exists
//! D = C ^ [1 2]                 exchanged dimensions are exchanged indices
//! C = (A # B) . [2 3] + C       Nest sum.1[a][b] += ...;  Nest C.1[a][b] = sum.1[a][b] + C[a][b]
//! ```
//!
//! A store makes a new tensor, so a statement sees old values only. What is read before it is assigned comes from the host; without
//! qualifiers the host may also give what is assigned first: nothing reads that.

use super::analysis;
use super::ast::{Operator, Program as Source, Statement};
use super::elements;
use super::reports::Reports;
use super::types::{self, Typed, Types, unpermuted};
use crate::language::Options;
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Element, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start, Tensor,
    TensorId,
};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

/// The program in tensor IR.
pub(super) fn lower(source: &Source, options: &Options, reports: &mut Reports) -> Program {
    let types = types::check(source, options, reports);
    if reports.any_error() {
        return Program::default();
    }
    let alive = analysis::analyse(source, &types, reports);
    let (program, versions) = (Program::default(), BTreeMap::new());
    let mut lowering = Lowering { options, reports, program, types: &types, versions, sums: 0, elements: 0 };
    for ((statement, value), alive) in source.statements.iter().zip(&types.values).zip(alive) {
        if let (Some(value), true) = (value, alive) {
            lowering.store(statement, value);
        }
    }
    lowering.finish(source);
    let finals = lowering.versions.iter().map(|(&name, &(tensor, _))| (name, tensor)).collect();
    let mut program = lowering.program;
    if let Some(elements) = &source.elements {
        elements::spread(&mut program, elements, &types, &finals, &options.limits, reports);
    }
    program
}

struct Lowering<'s, 'a> {
    options: &'a Options,
    reports: &'a mut Reports,
    program: Program,
    types: &'a Types<'s>,
    /// The tensor that a read of a variable refers to now, and how many there have been.
    versions: BTreeMap<&'s str, (TensorId, usize)>,
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
            self.reports.add(Diagnostic::new(Code::Limit, span, message).with_label(label));
        }
        self.program.tensors.push(Tensor { name, shape, role, element: Element::Real, span });
        TensorId(self.program.tensors.len() - 1)
    }

    /// The tensor of a variable now; one that has none comes from the host.
    fn current(&mut self, name: &'s str) -> TensorId {
        if let Some(&(tensor, _)) = self.versions.get(name) {
            return tensor;
        }
        let variable = &self.types.variables[name];
        let tensor = self.tensor(name.to_string(), variable.shape.clone(), Role::Input, variable.span);
        self.versions.insert(name, (tensor, 1));
        tensor
    }

    fn store(&mut self, statement: &Statement<'s>, value: &Typed<'s>) {
        let name = statement.target.text;
        let (frame, free, aggregate) = self.loops(value);
        let shape = value.shape().to_vec();
        if self.is_given(name) {
            self.current(name);
        }
        let version = self.versions.get(name).map_or(0, |&(_, count)| count);
        let label = if version == 0 { name.to_string() } else { format!("{name}.{version}") };
        let out = self.tensor(label, shape, Role::Temporary, statement.target.span);
        self.nest(frame, free, aggregate, out, statement.span);
        self.versions.insert(name, (out, version + 1));
    }

    /// Whether the host gives a variable a value, as it may without qualifiers.
    fn is_given(&self, name: &str) -> bool {
        !self.types.qualified && self.options.shapes.iter().any(|(given, _)| given == name)
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
            self.reports.add(Diagnostic::new(Code::Limit, span, message).with_label("too much work"));
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
            origin: span.into(),
        });
    }

    /// The node of a value at an index.
    fn value(&mut self, value: &Typed<'s>, index: &[IterId], frame: &mut Frame) -> NodeId {
        match value {
            Typed::Variable(name, _) => {
                let tensor = self.current(name.text);
                frame.body.push(Node::Read { tensor, index: index.iter().map(|&at| Affine::iterator(at)).collect() })
            }
            Typed::Number(value) => frame.body.push(Node::Constant(*value)),
            Typed::Stack(parts, _) => {
                let (last, others) = parts.split_last().expect("a stack has a part");
                let values: Vec<NodeId> = others.iter().map(|part| self.value(part, &index[1..], frame)).collect();
                let mut node = self.value(last, &index[1..], frame);
                for (number, yes) in values.into_iter().enumerate().rev() {
                    let at = frame.body.push(Node::Iterator(index[0]));
                    let number = frame.body.push(Node::Constant(number as f64));
                    let condition = frame.body.push(Node::Binary(Binary::Eq, at, number));
                    node = frame.body.push(Node::Select { condition, yes, no: node });
                }
                node
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
            let variable = &self.types.variables[name];
            // Without qualifiers the result is the whole store; a variable that nothing mentions keeps what the host gave.
            if !self.versions.contains_key(name) && (self.types.qualified && !declaration.input) {
                continue;
            }
            let (output, assigned) = (variable.output || !self.types.qualified, variable.assigned.is_some());
            let tensor = self.current(name);
            if assigned && output && self.program.tensors[tensor.0].role == Role::Temporary {
                self.program.tensors[tensor.0].role = Role::Output;
            }
            if assigned || output {
                self.program.names.push((name.to_string(), tensor));
            }
        }
    }
}
