//! Link functions: the sigmoid, softmax or exponential that made a prediction, and the logit that went into it.
//!
//! ```text
//! h = sigmoid(z)                                    logit z
//! h = 1 / (1 + exp(-z))                             logit z
//! h[i] = e[i] / s,  s += e[i],  e[i] = exp(z[i])    logit z
//!                               e[i] = exp(z[i] - m)    logit z: a softmax does not change when all logits move together
//! h[i] = exp(z[i] - log(s))                         logit z
//! ```
//!
//! The derivative of a cross entropy by the logit is the difference of prediction and label, without a quotient that overflows.

use super::builder::{Builder, mentions, substitute};
use super::versions::iterators;
use crate::canonical::fresh_name;
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Element, Function, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start,
    Tensor, TensorId, Unary,
};

/// The function that makes a prediction of a logit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Sigmoid,
    Softmax,
    Exponential,
}

impl Link {
    /// Whether it makes something of a tensor of this shape: a softmax needs classes.
    pub(super) fn takes(self, shape: &[u32]) -> bool {
        self != Link::Softmax || !shape.is_empty()
    }

    /// For messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Link::Sigmoid => "sigmoid",
            Link::Softmax => "softmax",
            Link::Exponential => "exponential",
        }
    }
}

/// The tensor that `tensor` is a copy of, if it is nothing else.
pub(super) fn original(program: &Program, mut tensor: TensorId) -> TensorId {
    while let Some(nest) = only_writer(program, tensor) {
        match (nest.aggregate, nest.body.nodes.as_slice()) {
            (Aggregate::Assign, [Node::Read { tensor: source, index }])
                if nest.guards.is_empty()
                    && *index == nest.out_index
                    && program.tensors[source.0].shape == program.tensors[tensor.0].shape =>
            {
                tensor = *source;
            }
            _ => break,
        }
    }
    tensor
}

/// A new tensor with the logits of a prediction, if that is what the link makes; its Nests stand behind those of the prediction.
pub(super) fn logit(program: &mut Program, prediction: TensorId, link: Link) -> Option<TensorId> {
    let writers: Vec<usize> = (0..program.nests.len()).filter(|&n| program.nests[n].out == prediction).collect();
    let bodies: Vec<Body> =
        writers.iter().map(|&n| logit_of(program, &program.nests[n], link)).collect::<Option<_>>()?;
    if bodies.is_empty() {
        return None;
    }
    let made = &program.tensors[prediction.0];
    let name = fresh_name(program, &format!("{}.logit", made.name));
    let tensor = Tensor { name, role: Role::Temporary, ..made.clone() };
    program.tensors.push(tensor);
    let logit = TensorId(program.tensors.len() - 1);
    for (writer, body) in writers.into_iter().zip(bodies).rev() {
        let nest = Nest { out: logit, body, ..program.nests[writer].clone() };
        program.nests.insert(writer + 1, nest);
    }
    Some(logit)
}

/// A new tensor with what the link makes of `logits`, a softmax along the last dimension; its Nests come last.
///
/// ```text
/// m = max z[i];   e[i] = exp(z[i] - m);   s += e[i];   h[i] = e[i] / s
/// ```
pub(super) fn append(program: &mut Program, logits: TensorId, link: Link) -> TensorId {
    let Tensor { name, shape, span, .. } = program.tensors[logits.0].clone();
    let tensor = |program: &mut Program, part: &str, shape: &[u32]| {
        let name = fresh_name(program, &format!("{name}.{part}"));
        let tensor = Tensor { name, shape: shape.to_vec(), role: Role::Temporary, element: Element::Real, span };
        program.tensors.push(tensor);
        TensorId(program.tensors.len() - 1)
    };
    let all: Vec<Iterator> = iterators(&shape.iter().map(|&extent| (0, i64::from(extent))).collect::<Vec<_>>());
    let index: Vec<Affine> = (0..shape.len()).map(|d| Affine::iterator(IterId(d))).collect();
    let outer = shape.len().saturating_sub(1);
    let nest = |out: TensorId, free: usize, aggregate: Aggregate, body: Body| Nest {
        iterators: all.clone(),
        free,
        guards: Vec::new(),
        out,
        out_index: index[..free].to_vec(),
        aggregate,
        start: Start::Identity,
        body,
        origin: span.into(),
    };
    let mut b = Builder::default();
    let z = b.read(logits, index.clone());
    if let Link::Sigmoid | Link::Exponential = link {
        let function = if link == Link::Sigmoid { Function::Sigmoid } else { Function::Exp };
        let made = b.call(function, vec![z]);
        let out = tensor(program, link.name(), &shape);
        program.nests.push(nest(out, shape.len(), Aggregate::Assign, b.rooted(made)));
        return out;
    }
    let [largest, sum] = ["largest", "sum"].map(|part| tensor(program, part, &shape[..outer]));
    let [grown, out] = ["grown", link.name()].map(|part| tensor(program, part, &shape));
    let (m, s, e) =
        (b.read(largest, index[..outer].to_vec()), b.read(sum, index[..outer].to_vec()), b.read(grown, index.clone()));
    let shifted = b.sub(z, m);
    let (exponential, quotient) = (b.call(Function::Exp, vec![shifted]), b.div(e, s));
    program.nests.extend([
        nest(largest, outer, Aggregate::Max, b.rooted(z)),
        nest(grown, shape.len(), Aggregate::Assign, b.rooted(exponential)),
        nest(sum, outer, Aggregate::Add, b.rooted(e)),
        nest(out, shape.len(), Aggregate::Assign, b.rooted(quotient)),
    ]);
    out
}

/// The value of the logit at the points of a Nest that writes the prediction.
fn logit_of(program: &Program, nest: &Nest, link: Link) -> Option<Body> {
    if nest.aggregate != Aggregate::Assign {
        return None;
    }
    let body = &nest.body;
    match link {
        Link::Sigmoid => Some(body.rooted(sigmoid_of(body)?)),
        Link::Exponential => Some(body.rooted(exp_of(body, body.root())?)),
        Link::Softmax => softmax_of(program, nest),
    }
}

fn exp_of(body: &Body, node: NodeId) -> Option<NodeId> {
    argument_of(body, node, Function::Exp)
}

fn argument_of(body: &Body, node: NodeId, function: Function) -> Option<NodeId> {
    match &body.nodes[node.0] {
        Node::Call(called, arguments) if *called == function => Some(arguments[0]),
        _ => None,
    }
}

/// The argument of `sigmoid(z)` or `1 / (1 + exp(-z))`.
fn sigmoid_of(body: &Body) -> Option<NodeId> {
    let one = |node: NodeId| matches!(body.nodes[node.0], Node::Constant(value) if value.to_bits() == 1f64.to_bits());
    match &body.nodes[body.root().0] {
        Node::Call(Function::Sigmoid, arguments) => Some(arguments[0]),
        Node::Binary(Binary::Div, top, bottom) if one(*top) => match body.nodes[bottom.0] {
            Node::Binary(Binary::Add, a, b) if one(a) || one(b) => {
                match body.nodes[exp_of(body, if one(a) { b } else { a })?.0] {
                    Node::Unary(Unary::Neg, z) => Some(z),
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// The logit of `exp(z) / sum(exp(z))` or `exp(z - log(sum(exp(z))))`, however much of it has a name.
fn softmax_of(program: &Program, nest: &Nest) -> Option<Body> {
    let body = &nest.body;
    let (inner, divisor) = match body.nodes[body.root().0] {
        Node::Binary(Binary::Div, top, bottom) => {
            (argument(program, &body.rooted(top), Function::Exp)?, body.rooted(bottom))
        }
        _ => match body.nodes[exp_of(body, body.root())?.0] {
            Node::Binary(Binary::Sub, z, logarithm) => {
                (body.rooted(z), argument(program, &body.rooted(logarithm), Function::Log)?)
            }
            _ => return None,
        },
    };
    let Node::Read { tensor, index } = &divisor.nodes[divisor.root().0] else { return None };
    let sum = only_writer(program, original(program, *tensor))?;
    let plain = sum.aggregate == Aggregate::Add && sum.guards.is_empty() && sum.start == Start::Identity;
    let summed = argument(program, &sum.body, Function::Exp)?;
    // The sum's iterators as the prediction sees them: free ones by the index it is read at, the others by position.
    let class = class_iterators(nest, index);
    if !plain || class.len() != sum.iterators.len() - sum.free {
        return None;
    }
    let free: Vec<Affine> = (0..sum.free)
        .map(|n| {
            let dimension = sum.out_index.iter().position(|form| form.as_iterator() == Some(IterId(n)))?;
            Some(index[dimension].clone())
        })
        .collect::<Option<_>>()?;
    let with: Vec<Affine> = free.into_iter().chain(class.iter().map(|&i| Affine::iterator(i))).collect();
    if substitute(&summed, &with) != inner {
        return None;
    }
    Some(without_shift(&inner, &class))
}

/// The iterators of a Nest that do not occur in an index.
fn class_iterators(nest: &Nest, index: &[Affine]) -> Vec<IterId> {
    let used = |i: usize| index.iter().any(|form| form.terms.iter().any(|t| t.0.0 == i));
    (0..nest.free).filter(|&i| !used(i)).map(IterId).collect()
}

/// `z` of a value that is `f(z)`, or an element of a tensor that is.
fn argument(program: &Program, value: &Body, function: Function) -> Option<Body> {
    if let Some(z) = argument_of(value, value.root(), function) {
        return Some(value.rooted(z));
    }
    let Node::Read { tensor, index } = &value.nodes[value.root().0] else { return None };
    let writer = only_writer(program, original(program, *tensor))?;
    let z = argument_of(&writer.body, writer.body.root(), function)?;
    let with: Vec<Affine> = (0..writer.iterators.len())
        .map(|n| {
            let dimension = writer.out_index.iter().position(|form| form.as_iterator() == Some(IterId(n)))?;
            Some(index[dimension].clone())
        })
        .collect::<Option<_>>()?;
    (writer.aggregate == Aggregate::Assign).then(|| substitute(&writer.body.rooted(z), &with))
}

/// `u` of `u - m`, where `m` is the same for all classes.
fn without_shift(exponent: &Body, class: &[IterId]) -> Body {
    match exponent.nodes[exponent.root().0] {
        Node::Binary(Binary::Sub, u, m) if !mentions(exponent, m).iter().any(|i| class.contains(i)) => {
            exponent.rooted(u)
        }
        _ => exponent.clone(),
    }
}

/// The Nest that writes a tensor, if it is one.
fn only_writer(program: &Program, tensor: TensorId) -> Option<&Nest> {
    let mut writers = program.nests.iter().filter(|nest| nest.out == tensor);
    let first = writers.next()?;
    writers.next().is_none().then_some(first)
}
