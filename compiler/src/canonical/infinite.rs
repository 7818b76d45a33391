//! Infinities, which words do not have.

use crate::ranges::INSTEAD_OF_INFINITY;
use crate::tensor::{Binary, Body, Nest, Node, NodeId, Program, Role, TensorId};
use arch::{Code, Diagnostic};
use std::borrow::Cow;
use std::sync::Arc;

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
        if let Role::Parameter(values) = &mut tensor.role
            && values.iter().any(|value| value.is_infinite())
        {
            Arc::make_mut(values).iter_mut().for_each(finite);
        }
    }
    for node in result.nests.iter_mut().flat_map(|nest| &mut nest.body.nodes) {
        if let Node::Constant(value) = node {
            finite(value);
        }
    }
    result
}

/// Let a program ask of its inputs whether they are infinite, where some of them are: what takes the place of an infinity is a number beyond
/// all others.
///
///     m != -inf      =>      m > -2^100
///
/// Other questions of that kind words cannot answer, nor whether a value is a number where some are none.
///
/// # Errors
/// E-BACKEND: a comparison of something computed with an infinity, of a value with itself.
pub fn check_given(program: &Program, given: impl Iterator<Item = f64>) -> Result<Cow<'_, Program>, Vec<Diagnostic>> {
    let (mut infinite, mut no_number) = (false, false);
    for value in given {
        infinite |= value.is_infinite();
        no_number |= value.is_nan();
    }
    let program = if infinite { Cow::Owned(with_numbers_beyond(program)) } else { Cow::Borrowed(program) };
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
    if refused.is_empty() { Ok(program) } else { Err(refused) }
}

/// Comparisons of inputs with an infinity become comparisons with what takes its place. Where formats are known both are moved to where words
/// hold them, and an input that is infinite comes out beyond the constant: so equality is no question any more.
fn with_numbers_beyond(program: &Program) -> Program {
    let is_given = |tensor: TensorId| matches!(program.tensors[tensor.0].role, Role::Input | Role::Label);
    let mut result = program.clone();
    for body in result.nests.iter_mut().map(|nest| &mut nest.body) {
        let old = std::mem::take(&mut body.nodes);
        let mut moved: Vec<NodeId> = Vec::with_capacity(old.len());
        for node in &old {
            let asked = infinity_asked(&old, node).filter(|asked| is_given(asked.tensor));
            let node = match asked {
                Some(Asked { whether: Whether::Always(answer), .. }) => Node::Constant(answer),
                Some(Asked { whether: Whether::Compare(operation), read, infinity, .. }) => {
                    let end = body.push(Node::Constant(INSTEAD_OF_INFINITY.copysign(infinity)));
                    Node::Binary(operation, moved[read.0], end)
                }
                None => node.with_operands(|operand| moved[operand.0]),
            };
            moved.push(body.push(node));
        }
    }
    result
}

/// A comparison of an element with an infinity.
struct Asked {
    tensor: TensorId,
    read: NodeId,
    infinity: f64,
    whether: Whether,
}

/// What a comparison with an infinity is for a number beyond all others in its place.
enum Whether {
    Compare(Binary),
    /// What it is for every value.
    Always(f64),
}

fn infinity_asked(nodes: &[Node], node: &Node) -> Option<Asked> {
    use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
    let &Node::Binary(operation, a, b) = node else { return None };
    // The element on the left.
    let (operation, read, end) = match (operation, &nodes[a.0]) {
        (Lt, Node::Constant(_)) => (Gt, b, a),
        (Le, Node::Constant(_)) => (Ge, b, a),
        (Gt, Node::Constant(_)) => (Lt, b, a),
        (Ge, Node::Constant(_)) => (Le, b, a),
        (Eq | Ne, Node::Constant(_)) => (operation, b, a),
        _ => (operation, a, b),
    };
    let (&Node::Read { tensor, .. }, &Node::Constant(infinity)) = (&nodes[read.0], &nodes[end.0]) else { return None };
    if !infinity.is_infinite() {
        return None;
    }
    let whether = match (operation, infinity > 0.0) {
        (Eq | Ge, true) => Whether::Compare(Ge),
        (Ne | Lt, true) => Whether::Compare(Lt),
        (Eq | Le, false) => Whether::Compare(Le),
        (Ne | Gt, false) => Whether::Compare(Gt),
        (Le, true) | (Ge, false) => Whether::Always(1.0),
        (Gt, true) | (Lt, false) => Whether::Always(0.0),
        _ => return None,
    };
    Some(Asked { tensor, read, infinity, whether })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::within_words;
    use crate::tensor::Binary::{Eq, Ge, Gt, Le, Lt, Ne};

    /// What a comparison of `x` is, the input being on the left or on the right.
    fn answer(program: &Program, x: f64) -> f64 {
        let mut values: Vec<f64> = Vec::new();
        for node in &program.nests[0].body.nodes {
            let value = match *node {
                Node::Constant(value) => value,
                Node::Binary(operation, a, b) => {
                    let (a, b) = (values[a.0], values[b.0]);
                    let holds = match operation {
                        Lt => a < b,
                        Le => a <= b,
                        Gt => a > b,
                        Ge => a >= b,
                        Eq => (a - b).abs() == 0.0 || a.is_infinite() && a.total_cmp(&b).is_eq(),
                        Ne => (a - b).abs() > 0.0,
                        _ => panic!("a comparison"),
                    };
                    f64::from(u8::from(holds))
                }
                _ => x,
            };
            values.push(value);
        }
        values[values.len() - 1]
    }

    /// Every comparison of an input with an infinity says of the number in its place what it says of the infinity, and is no equality.
    #[test]
    fn numbers_beyond_are_told_apart_as_infinities_are() {
        for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
            for operation in [Lt, Le, Gt, Ge, Eq, Ne] {
                for swapped in [false, true] {
                    let mut program: Program = "input s\ntemporary c\n\nc = s < 1\nname c = c\n".parse().unwrap();
                    let body = &mut program.nests[0].body;
                    let read = body.nodes.iter().find(|node| matches!(node, Node::Read { .. })).unwrap().clone();
                    let (left, right) = if swapped { (1, 0) } else { (0, 1) };
                    body.nodes =
                        vec![read, Node::Constant(infinity), Node::Binary(operation, NodeId(left), NodeId(right))];
                    let told = check_given(&program, [infinity].into_iter()).expect("an answer");
                    for x in [-3.0, 0.0, 5.0, f64::INFINITY, f64::NEG_INFINITY] {
                        let what = format!("{x} {operation:?} {infinity}, swapped: {swapped}");
                        assert_eq!(answer(&told, within_words(x)), answer(&program, x), "{what}");
                    }
                    let equality = |node: &Node| matches!(node, Node::Binary(Eq | Ne, ..));
                    assert!(!told.nests[0].body.nodes.iter().any(equality));
                }
            }
        }
    }
}
