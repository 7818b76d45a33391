//! Derivatives inside the body of a Nest: reverse mode over its nodes.
//!
//! ```text
//! n2 = w[i] * x[i]      n3 = sigmoid(n2)
//! adjoint of n3: g      of n2: g * (n3 * (1 - n3))      of w[i]: g * (n3 * (1 - n3)) * x[i]
//! ```
//!
//! The adjoint nodes are appended to the body, so that they share what the value has computed.

use super::builder::Builder;
use super::functions;
use crate::tensor::{Affine, Binary, Element, Node, NodeId, TensorId, Unary};

/// What has no derivative, in words.
pub(super) type Refused = String;

/// An element that the body reads, and the node that says how much the value changes with it.
pub(super) enum Leaf {
    /// At a known place.
    Read { tensor: TensorId, index: Vec<Affine>, adjoint: NodeId },
    /// At a computed place.
    Gather { tensor: TensorId, index: Vec<NodeId>, adjoint: NodeId },
}

/// Go backwards through the first `count` nodes of a body, of which those that vary are known.
pub(super) struct Backwards<'a> {
    pub(super) builder: &'a mut Builder,
    pub(super) varied: &'a [bool],
    /// A node that has the value of the last one, if it has been computed before.
    pub(super) known_value: Option<NodeId>,
    adjoints: Vec<Option<NodeId>>,
}

impl<'a> Backwards<'a> {
    pub(super) fn new(builder: &'a mut Builder, varied: &'a [bool], known_value: Option<NodeId>) -> Backwards<'a> {
        Backwards { builder, varied, known_value, adjoints: vec![None; varied.len()] }
    }

    /// The leaves that vary, given the adjoint of the last node; equal elements are one leaf.
    pub(super) fn run(mut self, seed: NodeId) -> Result<Vec<Leaf>, Refused> {
        let count = self.varied.len();
        self.adjoints[count - 1] = Some(seed);
        let mut leaves: Vec<Leaf> = Vec::new();
        for number in (0..count).rev().filter(|&number| self.varied[number]) {
            let Some(adjoint) = self.adjoints[number] else { continue };
            match self.builder.body.nodes[number].clone() {
                Node::Read { tensor, index } => self.leaf(&mut leaves, tensor, index, adjoint),
                Node::Gather { tensor, index } => leaves.push(Leaf::Gather { tensor, index, adjoint }),
                node => self.node(&node, NodeId(number), adjoint)?,
            }
        }
        leaves.reverse();
        Ok(leaves)
    }

    fn leaf(&mut self, leaves: &mut Vec<Leaf>, tensor: TensorId, index: Vec<Affine>, adjoint: NodeId) {
        for leaf in leaves.iter_mut() {
            if let Leaf::Read { tensor: known, index: same, adjoint: sum } = leaf
                && *known == tensor
                && *same == index
            {
                *sum = self.builder.add(*sum, adjoint);
                return;
            }
        }
        leaves.push(Leaf::Read { tensor, index, adjoint });
    }

    /// Add to the adjoint of a node.
    fn give(&mut self, node: NodeId, more: NodeId) {
        if self.varied[node.0] {
            let sum = match self.adjoints[node.0] {
                Some(before) => self.builder.add(before, more),
                None => more,
            };
            self.adjoints[node.0] = Some(sum);
        }
    }

    fn node(&mut self, node: &Node, number: NodeId, adjoint: NodeId) -> Result<(), Refused> {
        match *node {
            Node::Unary(Unary::Neg, a) => {
                let negative = self.builder.neg(adjoint);
                self.give(a, negative);
            }
            Node::Cast(Element::Real, a) => self.give(a, adjoint),
            Node::Cast(element, _) => return Err(format!("the conversion to {element} has no derivative")),
            Node::Binary(operation, a, b) => self.binary(operation, a, b, number, adjoint)?,
            Node::Select { condition, yes, no } => {
                let zero = self.builder.constant(0.0);
                let chosen = self.builder.select(condition, adjoint, zero);
                let other = self.builder.select(condition, zero, adjoint);
                self.give(yes, chosen);
                self.give(no, other);
            }
            Node::Call(function, ref arguments) => {
                let value = self.value(number);
                for (by, &argument) in arguments.iter().enumerate().filter(|(_, a)| self.varied[a.0]) {
                    let slope = functions::derivative(self.builder, function, arguments, value, by)
                        .ok_or_else(|| format!("`{function}` has no derivative"))?;
                    let more = self.builder.mul(adjoint, slope);
                    self.give(argument, more);
                }
            }
            Node::Constant(_)
            | Node::Iterator(_)
            | Node::Read { .. }
            | Node::Gather { .. }
            | Node::Unary(Unary::Not, _) => {}
        }
        Ok(())
    }

    /// The value of a node, from where it is cheapest.
    fn value(&self, number: NodeId) -> NodeId {
        self.known_value.filter(|_| number.0 + 1 == self.varied.len()).unwrap_or(number)
    }

    fn binary(
        &mut self,
        operation: Binary,
        a: NodeId,
        b: NodeId,
        number: NodeId,
        adjoint: NodeId,
    ) -> Result<(), Refused> {
        match operation {
            Binary::Add => {
                self.give(a, adjoint);
                self.give(b, adjoint);
            }
            Binary::Sub => {
                self.give(a, adjoint);
                let negative = self.builder.neg(adjoint);
                self.give(b, negative);
            }
            Binary::Mul => {
                let (left, right) = (self.builder.mul(adjoint, b), self.builder.mul(adjoint, a));
                self.give(a, left);
                self.give(b, right);
            }
            Binary::Div | Binary::DivControlled => {
                let part = self.builder.binary(operation, adjoint, b);
                self.give(a, part);
                if self.varied[b.0] {
                    let value = self.value(number);
                    let product = self.builder.mul(part, value);
                    let negative = self.builder.neg(product);
                    self.give(b, negative);
                }
            }
            Binary::Min | Binary::Max => self.extreme(operation, a, b, adjoint),
            Binary::RemFloor if !self.varied[b.0] => self.give(a, adjoint),
            Binary::RemFloor => {
                return Err("the remainder of a division by something that varies has no derivative".into());
            }
            Binary::DivFloor => return Err("a division that rounds down has no derivative".into()),
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne | Binary::And | Binary::Or => {}
        }
        Ok(())
    }

    /// Of two that vary the first wins a tie; beside one that does not, a tie is no change.
    fn extreme(&mut self, operation: Binary, a: NodeId, b: NodeId, adjoint: NodeId) {
        let (strict, loose) =
            if operation == Binary::Max { (Binary::Gt, Binary::Ge) } else { (Binary::Lt, Binary::Le) };
        let first = self.builder.binary(if self.varied[b.0] { loose } else { strict }, a, b);
        let second = self.builder.binary(strict, b, a);
        for (operand, wins) in [(a, first), (b, second)] {
            let part = self.builder.mul(wins, adjoint);
            self.give(operand, part);
        }
    }
}
