//! Classes among the results of a program, and how many rows get another one in words.
//!
//! | result, not read by other statements | its classes |
//! |---|---|
//! | integers, one for each row (an arg max) | the integers |
//! | rows that are shares of 1 on golden (a softmax) | the largest one of each row |
//! | the values of a sigmoid, one for each row | whether they are above one half |
//!
//! Where golden's two largest shares are equal, either is right.

use compiler::canonical::primitive::Primitive;
use compiler::tensor::{Element, Function, Nest, Node, Program, Role, Start, TensorId};

/// What a result says about the class of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Classes {
    /// It is no class.
    None,
    /// Each element is one.
    Labels,
    /// Rows of so many elements may be shares of 1.
    Shares(usize),
    /// Each element is the probability of the second of two.
    Chances,
}

/// Rows that were compared, and those whose class is another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flips {
    pub(super) rows: u64,
    pub(super) flips: u64,
}

impl Flips {
    fn row(&mut self, flips: bool) {
        self.rows += 1;
        self.flips += u64::from(flips);
    }
}

impl Classes {
    /// Those of a result: of the program as it is written, and in canonical form.
    pub(super) fn of(source: &Program, here: TensorId, program: &Program) -> Classes {
        let tensor = &source.tensors[here.0];
        let declared = matches!(tensor.role, Role::Output | Role::InOut);
        if !tensor.role.is_computed() || (!declared && is_read(source, here)) {
            return Classes::None;
        }
        let one_each = tensor.shape.iter().skip(1).all(|&extent| extent == 1);
        if matches!(tensor.element, Element::Int { .. }) {
            return if one_each { Classes::Labels } else { Classes::None };
        }
        let sigmoid = |nest| matches!(Primitive::of(nest), Some(Primitive::Function(Function::Sigmoid, _)));
        let same = |id: TensorId| program.tensors[id.0].name == tensor.name;
        match tensor.shape.last() {
            _ if one_each && program.nests.iter().any(|nest| same(nest.out) && sigmoid(nest)) => Classes::Chances,
            Some(&width) if width > 1 => Classes::Shares(width as usize),
            _ => Classes::None,
        }
    }

    /// Compare the rows of a step.
    pub(super) fn compare(self, found: &[Option<f64>], golden: &[Option<f64>], flips: &mut Flips) {
        let one_each = || found.iter().zip(golden).filter_map(|(found, golden)| found.zip(*golden));
        match self {
            Classes::None => {}
            Classes::Labels => one_each().for_each(|(found, golden)| flips.row(found.total_cmp(&golden).is_ne())),
            Classes::Chances => one_each().for_each(|(found, golden)| {
                let side = |chance: f64| chance > 0.5;
                flips.row((golden - 0.5).abs() > EQUAL && side(found) != side(golden));
            }),
            Classes::Shares(width) => {
                for (found, golden) in found.chunks_exact(width).zip(golden.chunks_exact(width)) {
                    let known = |row: &[Option<f64>]| row.iter().copied().collect::<Option<Vec<f64>>>();
                    if let Some((found, golden)) = known(found).zip(known(golden))
                        && is_shares(&golden)
                    {
                        let largest = golden.iter().copied().fold(0.0, f64::max);
                        flips.row(largest - golden[first_largest(&found)] > EQUAL);
                    }
                }
            }
        }
    }
}

/// Differences that double precision makes on its own.
const EQUAL: f64 = 1e-9;

fn is_shares(row: &[f64]) -> bool {
    row.iter().all(|&share| share >= -EQUAL) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-6
}

fn first_largest(row: &[f64]) -> usize {
    (1..row.len()).fold(0, |best, next| if row[next] > row[best] { next } else { best })
}

/// Whether another statement reads a tensor.
fn is_read(program: &Program, tensor: TensorId) -> bool {
    let starts = |nest: &Nest| matches!(&nest.start, Start::Element { tensor: read, .. } if *read == tensor);
    let reads = |nest: &Nest| {
        nest.body.nodes.iter().any(|node| matches!(node, Node::Read { tensor: read, .. } if *read == tensor))
    };
    program.nests.iter().any(|nest| nest.out != tensor && (starts(nest) || reads(nest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flips(classes: Classes, found: &[f64], golden: &[f64]) -> (u64, u64) {
        let known = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        let mut flips = Flips::default();
        classes.compare(&known(found), &known(golden), &mut flips);
        (flips.flips, flips.rows)
    }

    #[test]
    fn rows_that_change_their_class_are_counted() {
        assert_eq!(flips(Classes::Labels, &[0.0, 2.0, 1.0], &[0.0, 1.0, 1.0]), (1, 3));
        assert_eq!(flips(Classes::Chances, &[0.4, 0.6, 0.5], &[0.6, 0.7, 0.5]), (1, 3));
        let golden = [0.2, 0.8, 0.5, 0.5, 0.6, 0.4];
        assert_eq!(flips(Classes::Shares(2), &[0.3, 0.7, 0.4, 0.6, 0.45, 0.55], &golden), (1, 3));
        // Golden's rows are no shares.
        assert_eq!(flips(Classes::Shares(2), &[1.0, 2.0], &[2.0, 1.0]), (0, 0));
    }
}
