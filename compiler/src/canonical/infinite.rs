//! Infinities, which words do not have.

use crate::ranges::INSTEAD_OF_INFINITY;
use crate::tensor::{Binary, Body, Nest, Node, NodeId, Program, Role};
use arch::{Code, Diagnostic};

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

/// Refuse what asks of given values whether they are infinite, or numbers, where some of them are not: words cannot tell.
///
/// # Errors
/// E-BACKEND: a comparison with an infinity, of a value with itself.
pub fn check_given(program: &Program, given: impl Iterator<Item = f64>) -> Result<(), Vec<Diagnostic>> {
    let (mut infinite, mut no_number) = (false, false);
    for value in given {
        infinite |= value.is_infinite();
        no_number |= value.is_nan();
    }
    let refused = |nest: &Nest| {
        let asked = |node: &Node| asks(&nest.body, node);
        let question = nest.body.nodes.iter().filter_map(asked).find(|question| match question {
            Question::Infinite => infinite,
            Question::Number => no_number,
        })?;
        let message = match question {
            Question::Infinite => "this compares with an infinity, one is among the given values, and words have none",
            Question::Number => {
                "this compares a value with itself, a NaN is among the given values, and words have none"
            }
        };
        let help = "compare with a finite number, or leave such values out";
        Some(Diagnostic::new(Code::Backend, nest.origin.span(), message).with_help(help))
    };
    let refused: Vec<Diagnostic> = program.nests.iter().filter_map(refused).collect();
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

/// What a comparison asks of a value.
enum Question {
    /// Whether it is infinite.
    Infinite,
    /// Whether it is a number.
    Number,
}

fn asks(body: &Body, node: &Node) -> Option<Question> {
    use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
    let Node::Binary(Lt | Le | Gt | Ge | Eq | Ne, a, b) = node else { return None };
    let (a, b) = (&body.nodes[a.0], &body.nodes[b.0]);
    let infinite = |node: &Node| matches!(node, Node::Constant(value) if value.is_infinite());
    if infinite(a) || infinite(b) {
        Some(Question::Infinite)
    } else {
        (a == b && !matches!(a, Node::Constant(_) | Node::Iterator(_))).then_some(Question::Number)
    }
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
