//! Writes the body of a Nest, node by node, and leaves out what does nothing.
//!
//! ```text
//! mul(n3, 1)   =>   n3            neg(neg(n3))   =>   n3            add(n3, 0)   =>   n3
//! ```

use crate::tensor::{Affine, Binary, Body, Function, IterId, Node, NodeId, TensorId, Unary};
use std::collections::BTreeSet;

/// A body that grows.
#[derive(Debug, Clone, Default)]
pub(super) struct Builder {
    pub(super) body: Body,
}

impl Builder {
    pub(super) fn new(body: Body) -> Builder {
        Builder { body }
    }

    fn constant_of(&self, node: NodeId) -> Option<f64> {
        match self.body.nodes[node.0] {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn is(&self, node: NodeId, value: f64) -> bool {
        self.constant_of(node).is_some_and(|constant| constant.to_bits() == value.to_bits())
    }

    pub(super) fn constant(&mut self, value: f64) -> NodeId {
        self.body.push(Node::Constant(value))
    }

    pub(super) fn read(&mut self, tensor: TensorId, index: Vec<Affine>) -> NodeId {
        self.body.push(Node::Read { tensor, index })
    }

    pub(super) fn neg(&mut self, a: NodeId) -> NodeId {
        match self.body.nodes[a.0] {
            Node::Constant(value) => self.constant(-value),
            Node::Unary(Unary::Neg, inner) => inner,
            _ => self.body.push(Node::Unary(Unary::Neg, a)),
        }
    }

    pub(super) fn add(&mut self, a: NodeId, b: NodeId) -> NodeId {
        match (self.is(a, 0.0), self.is(b, 0.0)) {
            (true, _) => b,
            (_, true) => a,
            _ => self.body.push(Node::Binary(Binary::Add, a, b)),
        }
    }

    pub(super) fn sub(&mut self, a: NodeId, b: NodeId) -> NodeId {
        match (self.is(a, 0.0), self.is(b, 0.0)) {
            (true, _) => self.neg(b),
            (_, true) => a,
            _ => self.body.push(Node::Binary(Binary::Sub, a, b)),
        }
    }

    pub(super) fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        match (self.is(a, 1.0), self.is(b, 1.0), self.constant_of(a), self.constant_of(b)) {
            (true, ..) => b,
            (_, true, ..) => a,
            (.., Some(a), Some(b)) => self.constant(a * b),
            _ => self.body.push(Node::Binary(Binary::Mul, a, b)),
        }
    }

    /// `factor * a`
    pub(super) fn scale(&mut self, factor: f64, a: NodeId) -> NodeId {
        let factor = self.constant(factor);
        self.mul(factor, a)
    }

    pub(super) fn square(&mut self, a: NodeId) -> NodeId {
        self.mul(a, a)
    }

    pub(super) fn binary(&mut self, operation: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.body.push(Node::Binary(operation, a, b))
    }

    pub(super) fn div(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Div, a, b)
    }

    pub(super) fn call(&mut self, function: Function, arguments: Vec<NodeId>) -> NodeId {
        self.body.push(Node::Call(function, arguments))
    }

    pub(super) fn select(&mut self, condition: NodeId, yes: NodeId, no: NodeId) -> NodeId {
        self.body.push(Node::Select { condition, yes, no })
    }

    /// 1, 0 or -1: the sign of `a - b`.
    pub(super) fn sign(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let above = self.binary(Binary::Gt, a, b);
        let below = self.binary(Binary::Lt, a, b);
        self.sub(above, below)
    }

    /// The body whose value is `root`.
    pub(super) fn rooted(&self, root: NodeId) -> Body {
        self.body.rooted(root)
    }
}

/// The iterators that the value of a node depends on.
pub(super) fn mentions(body: &Body, root: NodeId) -> BTreeSet<IterId> {
    let mut found = BTreeSet::new();
    for node in &body.rooted(root).nodes {
        match node {
            Node::Iterator(iterator) => {
                found.insert(*iterator);
            }
            Node::Read { index, .. } => found.extend(index.iter().flat_map(|form| form.terms.iter().map(|t| t.0))),
            _ => {}
        }
    }
    found
}

/// The body with an affine form in the place of each iterator.
pub(super) fn substitute(body: &Body, with: &[Affine]) -> Body {
    let mut result = Builder::default();
    let mut moved: Vec<NodeId> = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        let new = match node {
            Node::Iterator(iterator) => affine_value(&mut result, &with[iterator.0]),
            Node::Read { tensor, index } => result.read(*tensor, substitute_index(index, with)),
            other => result.body.push(other.with_operands(|operand| moved[operand.0])),
        };
        moved.push(new);
    }
    let root = moved[body.root().0];
    result.rooted(root)
}

/// An index with an affine form in the place of each iterator.
pub(super) fn substitute_index(index: &[Affine], with: &[Affine]) -> Vec<Affine> {
    index.iter().map(|form| substitute_form(form, with)).collect()
}

/// A form with another form in the place of each iterator.
pub(super) fn substitute_form(form: &Affine, with: &[Affine]) -> Affine {
    let constant = Affine::constant(form.offset);
    form.terms.iter().fold(constant, |sum, &(iterator, coefficient)| sum.plus(coefficient, &with[iterator.0]))
}

/// The value of an affine form as nodes.
fn affine_value(builder: &mut Builder, form: &Affine) -> NodeId {
    let mut sum = builder.constant(form.offset as f64);
    for &(iterator, coefficient) in &form.terms {
        let value = builder.body.push(Node::Iterator(iterator));
        let term = builder.scale(coefficient as f64, value);
        sum = builder.add(sum, term);
    }
    sum
}
