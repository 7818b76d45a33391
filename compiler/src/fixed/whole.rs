//! Whole numbers: values that are integers whatever is read.
//!
//!     f = floor(x); c = (x < 0); g = f + 2 * c      =>      f, c and g are whole, and have no bits after their binary points
//!
//! A tensor of an integer type is, and one that is made of whole numbers by sums, products, extremes and copies alone. What only rounds or
//! saturates would leave another whole number then, never a fraction or a neighbour.

use crate::canonical::primitive::{Atom, Primitive};
use crate::tensor::{Element, Nest, Program, Role, TensorId};

/// Which tensors hold whole numbers only; `same_as` says which have one binary point together, and all of them have to.
pub(super) fn whole(program: &Program, nests: &[(Nest, Primitive)], same_as: &[TensorId]) -> Vec<bool> {
    let count = program.tensors.len();
    let declared = |tensor: usize| program.tensors[tensor].element != Element::Real;
    let mut whole: Vec<bool> = (0..count)
        .map(|id| match &program.tensors[id].role {
            Role::Parameter(values) => values.iter().all(|value| libm::trunc(*value) == *value),
            role => declared(id) || role.is_computed(),
        })
        .collect();
    // A tensor that is not whole makes every tensor computed from it not whole.
    loop {
        let mut changed = false;
        for (nest, primitive) in nests.iter().filter(|(nest, _)| !declared(nest.out.0)) {
            let of = |atom: &Atom| match atom {
                Atom::Read(tensor, _) => whole[tensor.0],
                Atom::Constant(value) => libm::trunc(*value) == *value,
            };
            if whole[nest.out.0] && !makes_whole(primitive, of) {
                whole[nest.out.0] = false;
                changed = true;
            }
        }
        for (id, same) in same_as.iter().enumerate() {
            if whole[id] != whole[same.0] {
                (whole[id], whole[same.0]) = (false, false);
                changed = true;
            }
        }
        if !changed {
            return whole;
        }
    }
}

/// Whether the result is a whole number if these operands are.
fn makes_whole(primitive: &Primitive, whole: impl Fn(&Atom) -> bool) -> bool {
    match primitive {
        Primitive::MultiplyAdd { negative: true, .. }
        | Primitive::MultiplyAdd { whole: true, .. }
        | Primitive::Divide { down: true, .. } => true,
        Primitive::MultiplyAdd { start, product, scale, .. } => {
            start.iter().all(&whole) && product.iter().all(|(a, b)| *scale >= 0 && whole(a) && whole(b))
        }
        Primitive::Positive(value, limit) => whole(value) && (limit.is_infinite() || libm::trunc(*limit) == *limit),
        Primitive::Product(factor) => whole(factor),
        Primitive::Divide { .. } | Primitive::Function(..) => false,
    }
}
