//! A nest, prepared for evaluation: flat code, and one linear form per access.

use super::value::{Arithmetic, Value};
use crate::tensor::{
    Affine, Aggregate, Binary, Element, Function, Guard, IterId, Nest, Node, Program, Role, Start, TensorId, Unary,
};

/// One nest.
pub(super) struct Plan {
    /// First value and number of values of each iterator.
    pub(super) iterators: Vec<(i64, i64)>,
    pub(super) free: usize,
    pub(super) guards: Vec<(Form, Condition)>,
    pub(super) out: usize,
    pub(super) place: Form,
    pub(super) aggregate: Aggregate,
    pub(super) start: Beginning,
    pub(super) code: Vec<Step>,
    /// Steps on constants only, whose result folding would round.
    pub(super) folds: Vec<bool>,
}

/// `offset + sum(factor * iterator)`
pub(super) struct Form {
    offset: i64,
    terms: Vec<(usize, i64)>,
}

impl Form {
    fn of(affine: &Affine) -> Form {
        Form { offset: affine.offset, terms: affine.terms.iter().map(|&(IterId(i), factor)| (i, factor)).collect() }
    }

    /// The row-major place of an element of a tensor of this shape.
    pub(super) fn of_element(shape: &[u32], index: &[Affine]) -> Form {
        let with_extent = |sum: Affine, (form, &extent): (&Affine, &u32)| form.plus(extent.into(), &sum);
        Form::of(&index.iter().zip(shape).fold(Affine::default(), with_extent))
    }

    fn place(program: &Program, tensor: TensorId, index: &[Affine]) -> Form {
        Form::of_element(&program.tensors[tensor.0].shape, index)
    }

    pub(super) fn at(&self, point: &[i64]) -> i64 {
        self.terms.iter().fold(self.offset, |sum, &(iterator, factor)| sum + factor * point[iterator])
    }
}

/// What a guard says of its form.
pub(super) enum Condition {
    /// `0 <= value < bound`
    Within(i64),
    Zero,
}

/// Where an accumulation starts.
pub(super) enum Beginning {
    /// With the first value.
    Nothing,
    Value(Value),
    Element(usize, Form),
}

/// One step of the code, by the steps that it takes its operands from.
pub(super) enum Step {
    Constant(Value),
    Iterator(usize),
    Read(usize, Form),
    /// Tensor, extents, and the steps of the index.
    Gather(usize, Vec<u32>, Vec<usize>),
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    DivideByConstant(Binary, usize, usize),
    Select(usize, usize, usize),
    Cast(Element, usize),
    Call(Function, Vec<usize>),
    ConstantPower(usize, usize),
}

/// Tensors whose elements are constants.
pub(super) fn constants(program: &Program) -> Vec<bool> {
    let mut constant: Vec<bool> =
        program.tensors.iter().map(|tensor| matches!(tensor.role, Role::Parameter(_))).collect();
    let mut computed = vec![None; program.tensors.len()];
    for nest in &program.nests {
        let started = match &nest.start {
            Start::Element { tensor, .. } => constant[tensor.0],
            Start::Identity | Start::Fill(_) => true,
        };
        let value = *constant_nodes(nest, &constant).last().unwrap_or(&true);
        let all = computed[nest.out.0].get_or_insert(true);
        *all &= started && value;
        constant[nest.out.0] = *all && program.tensors[nest.out.0].role.is_computed();
    }
    constant
}

fn constant_nodes(nest: &Nest, tensors: &[bool]) -> Vec<bool> {
    let mut constant: Vec<bool> = Vec::with_capacity(nest.body.nodes.len());
    for node in &nest.body.nodes {
        let own = match node {
            Node::Read { tensor, .. } | Node::Gather { tensor, .. } => tensors[tensor.0],
            _ => true,
        };
        constant.push(own && node.operands().iter().all(|operand| constant[operand.0]));
    }
    constant
}

impl Plan {
    pub(super) fn of(program: &Program, nest: &Nest, constant: &[bool], arithmetic: &Arithmetic) -> Plan {
        let known = constant_nodes(nest, constant);
        let steps = nest.body.nodes.iter().enumerate();
        let code = steps.map(|(number, node)| Step::of(program, nest, node, &known, number, arithmetic)).collect();
        let folds = nest.body.nodes.iter().zip(&known).map(|(node, &known)| known && !node.operands().is_empty());
        Plan {
            iterators: nest.iterators.iter().map(|i| (i.low, (i.high - i.low).max(0))).collect(),
            free: nest.free,
            guards: nest.guards.iter().map(condition).collect(),
            out: nest.out.0,
            place: Form::place(program, nest.out, &nest.out_index),
            aggregate: nest.aggregate,
            start: match &nest.start {
                Start::Identity => match nest.aggregate {
                    Aggregate::Add => Beginning::Value(Value::ZERO),
                    Aggregate::Mul => Beginning::Value(Value::ONE),
                    Aggregate::Assign | Aggregate::Min | Aggregate::Max => Beginning::Nothing,
                },
                Start::Fill(value) => Beginning::Value(arithmetic.constant(*value)),
                Start::Element { tensor, index } => Beginning::Element(tensor.0, Form::place(program, *tensor, index)),
            },
            folds: folds.collect(),
            code,
        }
    }

    /// Tensors and places that are read, but for computed ones.
    pub(super) fn reads(&self) -> impl Iterator<Item = (usize, &Form)> {
        let start = match &self.start {
            Beginning::Element(tensor, form) => Some((*tensor, form)),
            Beginning::Nothing | Beginning::Value(_) => None,
        };
        let steps = self.code.iter().filter_map(|step| match step {
            Step::Read(tensor, form) => Some((*tensor, form)),
            _ => None,
        });
        start.into_iter().chain(steps)
    }

    /// Tensors that are read at computed places.
    pub(super) fn gathers(&self) -> impl Iterator<Item = usize> {
        self.code.iter().filter_map(|step| match step {
            Step::Gather(tensor, ..) => Some(*tensor),
            _ => None,
        })
    }

    /// Whether the point exists.
    pub(super) fn exists(&self, point: &[i64]) -> bool {
        self.guards.iter().all(|(form, condition)| match condition {
            Condition::Within(bound) => (0..*bound).contains(&form.at(point)),
            Condition::Zero => form.at(point) == 0,
        })
    }
}

fn condition(guard: &Guard) -> (Form, Condition) {
    match guard {
        Guard::Within { value, bound } => (Form::of(value), Condition::Within(*bound)),
        Guard::Zero { value } => (Form::of(value), Condition::Zero),
    }
}

impl Step {
    fn of(program: &Program, nest: &Nest, node: &Node, known: &[bool], number: usize, arithmetic: &Arithmetic) -> Step {
        match node {
            Node::Constant(value) => Step::Constant(arithmetic.constant(*value)),
            Node::Iterator(IterId(iterator)) => Step::Iterator(*iterator),
            Node::Read { tensor, index } => Step::Read(tensor.0, Form::place(program, *tensor, index)),
            Node::Gather { tensor, index } => {
                let shape = program.tensors[tensor.0].shape.clone();
                Step::Gather(tensor.0, shape, index.iter().map(|node| node.0).collect())
            }
            Node::Unary(operation, a) => Step::Unary(*operation, a.0),
            Node::Binary(operation @ (Binary::Div | Binary::DivControlled), a, b) if known[b.0] && !known[number] => {
                Step::DivideByConstant(*operation, a.0, b.0)
            }
            Node::Binary(operation, a, b) => Step::Binary(*operation, a.0, b.0),
            Node::Select { condition, yes, no } => Step::Select(condition.0, yes.0, no.0),
            Node::Cast(element, a) => Step::Cast(*element, a.0),
            Node::Call(Function::Pow, arguments) if is_literal(nest, arguments[1].0) => {
                Step::ConstantPower(arguments[0].0, arguments[1].0)
            }
            Node::Call(function, arguments) => Step::Call(*function, arguments.iter().map(|node| node.0).collect()),
        }
    }
}

fn is_literal(nest: &Nest, node: usize) -> bool {
    matches!(nest.body.nodes[node], Node::Constant(_))
}
