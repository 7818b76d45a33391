//! Element-wise expressions: one Nest per line, broadcasting as index maps.
//!
//! ```text
//! D = A + B * C - A / 2      A: [2,3]  B: [3]  C: [2,1]
//!   =>  D[i][j] = A[i][j] + B[j] * C[i][0] - A[i][j] / 2
//! ```

use super::ast::{Expression, Form, Name, Operator};
use super::lower::Lowering;
use super::scope::Entry;
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Element, Function, IterId, Iterator, Nest, Node, NodeId, Start, TensorId, Unary,
};
use arch::{Code, Diagnostic, Span};

/// What a function is in tensor IR.
#[derive(Clone, Copy)]
pub(super) enum Known {
    Call(Function),
    Operator(Binary),
    Not,
    Select,
    /// The value itself.
    Ident,
}

/// Name, number of arguments, meaning of what is not in the table of functions.
const OTHERS: &[(&str, usize, Known)] = &[
    ("max", 2, Known::Operator(Binary::Max)),
    ("min", 2, Known::Operator(Binary::Min)),
    ("logical_and", 2, Known::Operator(Binary::And)),
    ("logical_or", 2, Known::Operator(Binary::Or)),
    ("logical_not", 1, Known::Not),
    ("select", 3, Known::Select),
    ("ident", 1, Known::Ident),
];

/// Forms whose arguments are more than values.
const FORMS: &[&str] = &["index", "cast", "reshape", "gather", "gather_nd", "scatter", "scatter_nd", "argsort"];

/// Of the original system, not of this one.
const UNSUPPORTED: &[&str] = &["prng", "layer", "trace", "shape"];

/// Number of arguments and meaning of a function.
fn known(name: &str) -> Option<(usize, Known)> {
    if let Some(function) = Function::ALL.iter().find(|function| function.in_tile().contains(&name)) {
        return Some((function.arity(), Known::Call(*function)));
    }
    OTHERS.iter().find(|entry| entry.0 == name).map(|&(_, arity, known)| (arity, known))
}

/// Whether the language has a function of this name.
pub(super) fn is_built_in(name: &str) -> bool {
    FORMS.contains(&name) || known(name).is_some()
}

fn names() -> impl std::iter::Iterator<Item = &'static str> {
    let others = OTHERS.iter().map(|entry| entry.0).chain(FORMS.iter().copied());
    others.chain(Function::ALL.iter().flat_map(|function| function.in_tile()).copied())
}

/// A value under construction: its node, and its shape.
pub(super) struct Value {
    pub(super) node: Draft,
    pub(super) shape: Vec<u32>,
}

impl Value {
    fn scalar(value: f64) -> Value {
        Value { node: Draft::Constant(value), shape: Vec::new() }
    }

    /// One operation on one value.
    pub(super) fn apply(operation: Operation, value: Value) -> Value {
        let shape = value.shape.clone();
        Value { node: Draft::Apply(operation, vec![value]), shape }
    }
}

/// Nodes before the shape of the whole line is known.
pub(super) enum Draft {
    Constant(f64),
    Read(TensorId),
    /// `index([...], axis)`
    Axis(usize),
    Apply(Operation, Vec<Value>),
    /// Operators of one level, each between two values.
    Chain(Vec<Operator>, Vec<Value>),
}

pub(super) enum Operation {
    Negate(usize),
    Cast(Element),
    Known(Known),
}

impl<'s> Lowering<'s, '_> {
    /// The tensor of an element-wise expression.
    pub(super) fn elementwise(&mut self, expression: &Expression<'s>, name: &str, span: Span) -> Option<TensorId> {
        if let Form::Name(known) = &expression.form
            && let Some(tensor) = self.entry(known.text).and_then(Entry::tensor)
        {
            return Some(tensor);
        }
        let value = self.draft(expression)?;
        if let (Form::Call { .. }, Draft::Read(tensor)) = (&expression.form, &value.node) {
            return Some(*tensor);
        }
        let out = self.tensor(name, value.shape.clone(), span)?;
        let iterators: Vec<Iterator> = value
            .shape
            .iter()
            .enumerate()
            .map(|(n, &extent)| Iterator { name: format!("d{n}"), low: 0, high: i64::from(extent) })
            .collect();
        let mut body = Body::default();
        emit(&value, value.shape.len(), &mut body);
        let out_index = (0..iterators.len()).map(|n| Affine::iterator(IterId(n))).collect();
        let (guards, aggregate, start) = (Vec::new(), Aggregate::Assign, Start::Identity);
        self.push(Nest {
            free: iterators.len(),
            iterators,
            guards,
            out,
            out_index,
            aggregate,
            start,
            body,
            origin: span.into(),
        });
        Some(out)
    }

    pub(super) fn draft(&mut self, expression: &Expression<'s>) -> Option<Value> {
        let scalar = |value: f64| Some(Value::scalar(value));
        if let Some(call) = self.called(expression) {
            let result = self.call(&call, 1)?.pop()?;
            return match result {
                Entry::Integer(value) => scalar(value as f64),
                result => result.tensor().map(|tensor| Value { node: Draft::Read(tensor), shape: self.shape(tensor) }),
            };
        }
        match &expression.form {
            Form::Integer(value) => scalar(*value as f64),
            Form::Float(value) => scalar(*value),
            Form::Name(name) => match self.lookup(*name)? {
                Entry::Integer(value) => scalar(value as f64),
                Entry::Unbound => self.size(expression).and(None),
                Entry::Index => {
                    self.report(
                        Diagnostic::new(
                            Code::Kind,
                            name.span,
                            format!("the index variable `{}` is not a value", name.text),
                        )
                        .with_label("outside of a contraction")
                        .with_help("`index([sizes], axis)` is a tensor of indices"),
                    );
                    None
                }
                _ => {
                    let tensor = self.read(*name)?;
                    Some(Value { node: Draft::Read(tensor), shape: self.shape(tensor) })
                }
            },
            Form::Access { tensor, .. } => {
                self.report(
                    Diagnostic::new(
                        Code::Contract,
                        expression.span,
                        "an access with indices stands in a contraction only",
                    )
                    .with_label("in element-wise work")
                    .with_help(format!(
                        "write `{}` for the whole tensor, or `O[...] += {}[...]`",
                        tensor.text, tensor.text
                    )),
                );
                None
            }
            Form::List(_) => {
                self.report(Diagnostic::new(Code::Syntax, expression.span, "a list is not a value").with_label("here"));
                None
            }
            Form::Negate(count, value) => Some(Value::apply(Operation::Negate(*count), self.draft(value)?)),
            Form::Invert(value) => {
                Some(Value::apply(Operation::Known(Known::Call(Function::BitNot)), self.draft(value)?))
            }
            Form::Chain { first, rest } => self.chain(first, rest, expression.span),
            Form::Call { function, arguments } if FORMS.contains(&function.text) => self.form(*function, arguments),
            Form::Call { function, arguments } => self.apply(*function, arguments, expression.span),
        }
    }

    /// `first operator operand operator operand ...`
    fn chain(&mut self, first: &Expression<'s>, rest: &[(Operator, Expression<'s>)], span: Span) -> Option<Value> {
        let whole = |(operator, _): &(Operator, Expression)| *operator == Operator::FloorDiv;
        // `//` belongs to the sizes that the line begins with: `N // 2 * A`.
        let leading = &rest[..self.leading_size(first, rest).unwrap_or(0)];
        let sizes = leading.iter().rposition(whole).map_or(0, |last| last + 1);
        let first = match sizes {
            0 => self.draft(first),
            _ => Some(Value::scalar(self.size_chain(first, &rest[..sizes], span)? as f64)),
        };
        let (mut values, mut operators) = (vec![first], Vec::new());
        for (operator, operand) in &rest[sizes..] {
            operators.push(*operator);
            values.push(self.draft(operand));
        }
        let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
        let shape = self.broadcast(&values, span)?;
        Some(Value { node: Draft::Chain(operators, values), shape })
    }

    /// A call of an element-wise function.
    fn apply(&mut self, function: Name<'s>, arguments: &[Expression<'s>], span: Span) -> Option<Value> {
        let Some((arity, known)) = known(function.text) else {
            let unsupported = UNSUPPORTED.contains(&function.text);
            let code = if unsupported { Code::Unsupported } else { Code::Undef };
            let name = function.text;
            let message =
                if unsupported { format!("`{name}` is not supported") } else { format!("unknown function `{name}`") };
            let diagnostic = Diagnostic::new(code, function.span, message).with_label("here");
            self.report(match crate::language::nearest(name, names()) {
                Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                None => diagnostic,
            });
            return None;
        };
        if arguments.len() != arity {
            let plural = if arity == 1 { "" } else { "s" };
            self.report(
                Diagnostic::new(
                    Code::Arity,
                    function.span,
                    format!("`{}` has {arity} argument{plural}", function.text),
                )
                .with_label(format!("{} given", arguments.len())),
            );
            return None;
        }
        let values: Vec<_> = arguments.iter().map(|argument| self.draft(argument)).collect();
        let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
        let shape = self.broadcast(&values, span)?;
        Some(Value { node: Draft::Apply(Operation::Known(known), values), shape })
    }

    /// The common shape: extents are equal or 1, counted from the last dimension.
    fn broadcast(&mut self, values: &[Value], span: Span) -> Option<Vec<u32>> {
        let rank = values.iter().map(|value| value.shape.len()).max().unwrap_or(0);
        let mut shape = vec![1; rank];
        for value in values {
            for (extent, &own) in shape.iter_mut().rev().zip(value.shape.iter().rev()) {
                if own == 1 || own == *extent {
                    continue;
                }
                if *extent != 1 {
                    let shapes: Vec<String> = values.iter().map(|value| format!("{:?}", value.shape)).collect();
                    self.report(
                        Diagnostic::new(
                            Code::Shape,
                            span,
                            format!("shapes {} do not fit together", shapes.join(" and ")),
                        )
                        .with_label(format!("extents {extent} and {own}"))
                        .with_help("extents are equal or 1, counted from the last dimension"),
                    );
                    return None;
                }
                *extent = own;
            }
        }
        Some(shape)
    }
}

/// Nodes of a value in a line of `rank` dimensions.
fn emit(value: &Value, rank: usize, body: &mut Body) -> NodeId {
    let aligned = rank - value.shape.len();
    match &value.node {
        Draft::Constant(value) => body.push(Node::Constant(*value)),
        Draft::Read(tensor) => {
            let index = value.shape.iter().enumerate().map(|(n, &extent)| match extent {
                1 => Affine::constant(0),
                _ => Affine::iterator(IterId(aligned + n)),
            });
            body.push(Node::Read { tensor: *tensor, index: index.collect() })
        }
        Draft::Axis(axis) if value.shape[*axis] == 1 => body.push(Node::Constant(0.0)),
        Draft::Axis(axis) => body.push(Node::Iterator(IterId(aligned + axis))),
        // In the order of evaluation, so that parentheses around a beginning change nothing.
        Draft::Chain(operators, values) => {
            let first = emit(&values[0], rank, body);
            operators.iter().zip(&values[1..]).fold(first, |left, (operator, value)| {
                let right = emit(value, rank, body);
                applied(*operator, left, right, body)
            })
        }
        Draft::Apply(operation, values) => {
            let nodes: Vec<NodeId> = values.iter().map(|value| emit(value, rank, body)).collect();
            match operation {
                Operation::Negate(count) if count % 2 == 1 => body.push(Node::Unary(Unary::Neg, nodes[0])),
                // Twice, so that the value is the last node.
                Operation::Negate(_) => {
                    let negated = body.push(Node::Unary(Unary::Neg, nodes[0]));
                    body.push(Node::Unary(Unary::Neg, negated))
                }
                Operation::Cast(element) => body.push(Node::Cast(*element, nodes[0])),
                Operation::Known(Known::Not) => body.push(Node::Unary(Unary::Not, nodes[0])),
                Operation::Known(Known::Ident) => nodes[0],
                Operation::Known(Known::Call(function)) => body.push(Node::Call(*function, nodes)),
                Operation::Known(Known::Operator(operator)) => body.push(Node::Binary(*operator, nodes[0], nodes[1])),
                Operation::Known(Known::Select) => {
                    body.push(Node::Select { condition: nodes[0], yes: nodes[1], no: nodes[2] })
                }
            }
        }
    }
}

/// `a operator b`. Bits of a mask of ones, and shifts by a number, are remainders, products and quotients, which the grid has.
fn applied(operator: Operator, a: NodeId, b: NodeId, body: &mut Body) -> NodeId {
    let number = match body.nodes[b.0] {
        Node::Constant(number) if (0.0..=52.0).contains(&number) && number.fract() == 0.0 => Some(number),
        _ => None,
    };
    let mask = match body.nodes[b.0] {
        Node::Constant(mask) if mask >= 1.0 && mask < 2.0_f64.powi(52) && (mask as u64 + 1).is_power_of_two() => {
            (mask.fract() == 0.0).then_some(mask + 1.0)
        }
        _ => None,
    };
    let (operator, by) = match (operator, number, mask) {
        (Operator::ShiftLeft, Some(number), _) => (Binary::Mul, number.exp2()),
        (Operator::ShiftRight, Some(number), _) => (Binary::DivFloor, number.exp2()),
        (Operator::BitAnd, _, Some(end)) => (Binary::RemFloor, end),
        _ => return body.push(of_operator(operator, a, b)),
    };
    let by = body.push(Node::Constant(by));
    body.push(Node::Binary(operator, a, by))
}

fn of_operator(operator: Operator, a: NodeId, b: NodeId) -> Node {
    let binary = match operator {
        Operator::Add => Binary::Add,
        Operator::Sub => Binary::Sub,
        Operator::Mul => Binary::Mul,
        Operator::Div => Binary::Div,
        Operator::FloorDiv => Binary::DivFloor,
        Operator::Rem => Binary::RemFloor,
        Operator::ShiftLeft => return Node::Call(Function::ShiftLeft, vec![a, b]),
        Operator::ShiftRight => return Node::Call(Function::ShiftRight, vec![a, b]),
        Operator::BitAnd => return Node::Call(Function::BitAnd, vec![a, b]),
        Operator::BitXor => return Node::Call(Function::BitXor, vec![a, b]),
        Operator::BitOr => return Node::Call(Function::BitOr, vec![a, b]),
        Operator::Lt => Binary::Lt,
        Operator::Le => Binary::Le,
        Operator::Gt => Binary::Gt,
        Operator::Ge => Binary::Ge,
        Operator::Eq => Binary::Eq,
        Operator::Ne => Binary::Ne,
    };
    Node::Binary(binary, a, b)
}
