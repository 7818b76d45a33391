//! Infinities come to where words can hold them.
//!
//!     values between -3 and 5, and one that stands for -infinity      =>      it becomes -64
//!
//! What stands for an infinity ([`crate::ranges::is_beyond`]) is large beside every other value, and no more is asked of it: it loses against
//! them, and what is computed of it is 0 (an exponential) or as large again. So a power of two does that is twice as large as what was seen,
//! and what follows from it, clipped to the next one.

use crate::ranges::{Ranges, is_beyond};
use crate::tensor::Binary::{Eq, Ge, Gt, Le, Lt, Ne};
use crate::tensor::{Body, Nest, Node, Program, Role, Start, TensorId};
use arch::{Code, Diagnostic};
use std::sync::Arc;

/// An exponential of less is 0 in every word: `exp(-64)` is less than 2^-92.
const LEAST: f64 = 64.0;

/// The program and its ranges without what stands for infinities; `None` if there is nothing of that kind.
pub(super) fn within_reach(program: &Program, ranges: &Ranges) -> Option<(Program, Ranges)> {
    let ends = || ranges.tensors.iter().flatten().flat_map(|&(low, high)| [low, high]);
    let constants = || program.tensors.iter().flat_map(parameter).copied();
    if !ends().chain(constants()).chain(fixed_values(program)).any(is_beyond) {
        return None;
    }
    let seen =
        ends().chain(constants()).filter(|&value| !is_beyond(value)).fold(0f64, |most, value| most.max(value.abs()));
    let end = libm::exp2(libm::ceil(libm::log2((2.0 * seen).max(LEAST))));
    let moved = |value: &mut f64, end: f64| {
        if is_beyond(*value) {
            *value = end.copysign(*value);
        }
    };
    let (mut program, mut ranges) = (program.clone(), ranges.clone());
    for tensor in &mut program.tensors {
        if let Role::Parameter(values) = &mut tensor.role {
            for value in Arc::make_mut(values) {
                moved(value, end);
            }
        }
    }
    for nest in &mut program.nests {
        if let Start::Fill(value) = &mut nest.start {
            moved(value, end);
        }
        for node in &mut nest.body.nodes {
            if let Node::Constant(value) = node {
                moved(value, end);
            }
        }
    }
    for (low, high) in ranges.tensors.iter_mut().flatten() {
        // As much again: a sum of it and of other values.
        moved(low, 2.0 * end);
        moved(high, 2.0 * end);
    }
    Some((program, ranges))
}

/// What stands for an infinity is not one: added to another value it is another number, and no longer equal to the first. Inputs are as they
/// were given: an infinite one comes out beyond the constant, so that it is known which of them are, but not by equality.
pub(super) fn check_comparisons(program: &Program, ranges: &Ranges) -> Result<(), Vec<Diagnostic>> {
    let is_given = |tensor: &TensorId| matches!(program.tensors[tensor.0].role, Role::Input | Role::Label);
    let is_finite = |node: &Node| match node {
        Node::Constant(_) | Node::Iterator(_) => true,
        Node::Read { tensor, .. } if is_given(tensor) => true,
        Node::Read { tensor, .. } | Node::Gather { tensor, .. } => {
            ranges.tensors[tensor.0].is_some_and(|(low, high)| !is_beyond(low) && !is_beyond(high))
        }
        _ => false,
    };
    let is_infinite = |node: &Node| matches!(node, Node::Constant(value) if is_beyond(*value));
    let compares = |body: &Body| {
        body.nodes.iter().any(|node| {
            let Node::Binary(Lt | Le | Gt | Ge | Eq | Ne, a, b) = node else { return false };
            let (a, b) = (&body.nodes[a.0], &body.nodes[b.0]);
            is_infinite(a) && !is_finite(b) || is_infinite(b) && !is_finite(a)
        })
    };
    let refused = |nest: &Nest| {
        Diagnostic::new(
            Code::Backend,
            nest.origin.span(),
            "this compares with an infinity what may be one, and words have none",
        )
        .with_help("compare with a finite number, or compare before infinities are added")
    };
    let refused: Vec<Diagnostic> = program.nests.iter().filter(|nest| compares(&nest.body)).map(refused).collect();
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

fn parameter(tensor: &crate::tensor::Tensor) -> &[f64] {
    match &tensor.role {
        Role::Parameter(values) => values,
        _ => &[],
    }
}

/// Constants of the nests.
fn fixed_values(program: &Program) -> impl Iterator<Item = f64> {
    program.nests.iter().flat_map(|nest| {
        let filled = if let Start::Fill(value) = nest.start { Some(value) } else { None };
        let constant = |node: &Node| if let Node::Constant(value) = node { Some(*value) } else { None };
        nest.body.nodes.iter().filter_map(constant).chain(filled)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::INSTEAD_OF_INFINITY;

    fn program(text: &str) -> Program {
        text.parse().expect("text of tensor IR")
    }

    /// A mask of what stands for minus infinity, added to scores between -3 and 40: 2 * 40 is less than 128.
    #[test]
    fn what_stands_for_an_infinity_is_larger_than_what_was_seen() {
        let program = program(&format!("input s\ntemporary a\n\na = s + -{INSTEAD_OF_INFINITY}\nname a = a\n"));
        let ranges = Ranges::of_tensors(vec![Some((-3.0, 40.0)), Some((-INSTEAD_OF_INFINITY, 40.0))]);
        let (program, ranges) = within_reach(&program, &ranges).expect("there is an infinity");
        assert_eq!(ranges.tensors, [Some((-3.0, 40.0)), Some((-256.0, 40.0))]);
        assert!(program.to_string().contains("128"), "{program}");
    }

    /// `s - inf == -inf` is true for every `s`, `s - 128 == -128` only for 0.
    #[test]
    fn an_infinity_is_not_compared_with_what_may_be_one() {
        let text = |compared: &str| {
            format!(
                "input s\ntemporary a\ntemporary c\n\na = s + -{INSTEAD_OF_INFINITY}\nc = {compared} <= -{INSTEAD_OF_INFINITY}\nname c = c\n"
            )
        };
        let ranges = Ranges::of_tensors(vec![Some((-3.0, 40.0)), Some((-INSTEAD_OF_INFINITY, 40.0)), Some((0.0, 1.0))]);
        let refused = check_comparisons(&program(&text("a")), &ranges).expect_err("a may be infinite");
        assert_eq!(refused[0].code, Code::Backend);
        check_comparisons(&program(&text("s")), &ranges).expect("s is finite");
    }

    #[test]
    fn large_values_stay() {
        let program = program("input s\ntemporary a\n\na = s + 1e20\nname a = a\n");
        let ranges = Ranges::of_tensors(vec![Some((-1e22, 1e22)), Some((-1e22, 1e22))]);
        assert!(within_reach(&program, &ranges).is_none());
    }
}
