//! How large the polynomials of a program are: what the probability of an error depends on.
//!
//! Values are quotients of polynomials in the unknowns and in symbols of functions, which count as unknowns. Two different quotients
//! `a/b` and `c/d` agree at a random point only where `a*d - b*c` is 0: with a probability of at most its degree over the prime.

use crate::tensor::{Aggregate, Binary, Nest, Node, Program, Start};

/// The largest exponent that is multiplied out, and more than any formula of the table of functions has.
const LARGEST_POWER: f64 = 8.0;

/// Bounds of the degrees of numerator and denominator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Degree {
    top: f64,
    bottom: f64,
}

impl Degree {
    const CONSTANT: Degree = Degree { top: 0.0, bottom: 0.0 };
    const UNKNOWN: Degree = Degree { top: 1.0, bottom: 0.0 };

    fn plus(self, other: Degree) -> Degree {
        let top = (self.top + other.bottom).max(other.top + self.bottom);
        Degree { top, bottom: self.bottom + other.bottom }
    }

    fn times(self, other: Degree) -> Degree {
        Degree { top: self.top + other.top, bottom: self.bottom + other.bottom }
    }

    fn over(self, other: Degree) -> Degree {
        Degree { top: self.top + other.bottom, bottom: self.bottom + other.top }
    }

    fn or(self, other: Degree) -> Degree {
        Degree { top: self.top.max(other.top), bottom: self.bottom.max(other.bottom) }
    }

    /// The degree of a difference with a value of the same kind.
    fn of_difference(self, other: Degree) -> f64 {
        self.top.max(other.top) + self.bottom.max(other.bottom)
    }
}

/// The degree of the difference of any value of one program and a value of another.
pub(super) fn of_difference(before: &Program, after: &Program) -> f64 {
    largest(before).of_difference(largest(after))
}

fn largest(program: &Program) -> Degree {
    let given = |computed| if computed { Degree::CONSTANT } else { Degree::UNKNOWN };
    let mut tensors: Vec<Degree> = program.tensors.iter().map(|tensor| given(tensor.role.is_computed())).collect();
    for nest in &program.nests {
        let degree = of_nest(nest, &tensors);
        tensors[nest.out.0] = tensors[nest.out.0].or(degree);
    }
    tensors.into_iter().fold(Degree::UNKNOWN, Degree::or)
}

fn of_nest(nest: &Nest, tensors: &[Degree]) -> Degree {
    let mut nodes: Vec<Degree> = Vec::with_capacity(nest.body.nodes.len());
    for node in &nest.body.nodes {
        let of = |node: crate::tensor::NodeId| nodes[node.0];
        nodes.push(match node {
            // An integer that a conversion gives is decided by the real number.
            Node::Constant(_) | Node::Iterator(_) | Node::Cast(..) => Degree::CONSTANT,
            Node::Read { tensor, .. } | Node::Gather { tensor, .. } => tensors[tensor.0],
            Node::Unary(_, a) => of(*a),
            Node::Binary(operation, a, b) => match operation {
                Binary::Add | Binary::Sub => of(*a).plus(of(*b)),
                Binary::Mul => of(*a).times(of(*b)),
                Binary::Div | Binary::DivControlled | Binary::RemFloor => of(*a).over(of(*b)),
                Binary::Min | Binary::Max => of(*a).or(of(*b)),
                _ => Degree::CONSTANT,
            },
            Node::Select { yes, no, .. } => of(*yes).or(of(*no)),
            // A power, or a formula of the table with its arguments and symbols.
            Node::Call(_, arguments) => arguments.iter().fold(Degree::UNKNOWN, |all, &argument| {
                let Degree { top, bottom } = of(argument);
                all.plus(Degree { top: LARGEST_POWER * top, bottom: LARGEST_POWER * bottom })
            }),
        });
    }
    let value = nodes.last().copied().unwrap_or(Degree::CONSTANT);
    let start = match &nest.start {
        Start::Element { tensor, .. } => tensors[tensor.0],
        Start::Identity | Start::Fill(_) => Degree::CONSTANT,
    };
    let points: u64 = nest.iterators[nest.free..].iter().map(crate::tensor::Iterator::extent).product();
    let times = |by: f64| Degree { top: value.top * by, bottom: value.bottom * by };
    match nest.aggregate {
        Aggregate::Assign => value,
        Aggregate::Min | Aggregate::Max => value.or(start),
        Aggregate::Mul => start.times(times(points as f64)),
        // Quotients with different denominators multiply them.
        Aggregate::Add => {
            let bottom = value.bottom * points as f64;
            start.plus(Degree { top: value.top + bottom, bottom })
        }
    }
}
