//! Infinities, which words do not have.

use crate::ranges::INSTEAD_OF_INFINITY;
use crate::tensor::{Binary, Body, Node, NodeId, Program, Role};

/// Compute with a number beyond all others where a program computes with an infinity.
///
///     a = s + select(m, 0, -inf)      =>      a = s + select(m, 0, -2^100)
///
/// [`crate::fixed::lower`], which knows what values there are, brings it to where it is larger than all of them. A program that only
/// compares with infinities is left alone: words are finite, so that such a comparison is known.
pub fn replace_infinities(program: &Program) -> Program {
    if !has_infinities(program) {
        return program.clone();
    }
    let finite = |value: &mut f64| {
        if value.is_infinite() {
            *value = INSTEAD_OF_INFINITY.copysign(*value);
        }
    };
    let mut result = program.clone();
    for tensor in &mut result.tensors {
        if let Role::Parameter(values) = &mut tensor.role {
            values.iter_mut().for_each(finite);
        }
    }
    for node in result.nests.iter_mut().flat_map(|nest| &mut nest.body.nodes) {
        if let Node::Constant(value) = node {
            finite(value);
        }
    }
    result
}

/// Whether anything can be infinite.
fn has_infinities(program: &Program) -> bool {
    let given = |role: &Role| matches!(role, Role::Parameter(values) if values.iter().any(|value| value.is_infinite()));
    let computed = |body: &Body| (0..body.nodes.len()).any(|number| is_value(body, NodeId(number)));
    program.tensors.iter().any(|tensor| given(&tensor.role)) || program.nests.iter().any(|nest| computed(&nest.body))
}

/// Whether a node is an infinity that more is done with than a comparison.
fn is_value(body: &Body, node: NodeId) -> bool {
    use Binary::{Eq, Ge, Gt, Le, Lt, Max, Min, Ne};
    let Node::Constant(value) = body.nodes[node.0] else { return false };
    let compared = |user: &Node| match user {
        Node::Binary(Lt | Le | Gt | Ge | Eq | Ne, ..) => true,
        // What is never the smaller one, or never the larger one.
        Node::Binary(Max, ..) => value < 0.0,
        Node::Binary(Min, ..) => value > 0.0,
        _ => false,
    };
    let mut users = body.nodes.iter().filter(|user| user.operands().contains(&node));
    value.is_infinite() && (node == body.root() || users.any(|user| !compared(user)))
}
