//! Masks before a softmax: what is far below all others need not be far below in words.
//!
//!     s = z + b; m = max(s); e = exp(s - m)          z in -5..5, b in -10000..0, m in -2..5
//!     =>  b.masked = max(b, -32); s = z + b.masked       s in -37..5: nine more bits after its binary point
//!
//! So is a constant that multiplies zeros and ones, as in `s = z - 10000*n`. What is added to a mask may be a product.
//!
//! What the maxima were seen to exceed by so much that the exponential of it is 0 in every word may as well be a little nearer. A mask that
//! reaches all elements of a row is no mask: its maximum is as low, and nothing is changed.

use crate::canonical::expr::{Expr, reads};
use crate::canonical::primitive::{Atom, Primitive};
use crate::ranges::Ranges;
use crate::tensor::{
    Affine, Aggregate, Element, Function, IterId, Iterator, Nest, Node, Program, Role, Start, Tensor, TensorId,
};
use arch::isa::Combine;
use std::sync::Arc;

/// What a bounded mask has behind its name.
pub(crate) const NEAR: &str = ".masked";

/// The program with bounded masks; `None` if there are none. `word` is the width of words.
pub(super) fn bounded(program: &Program, ranges: &Ranges, word: u32) -> Option<(Program, Ranges)> {
    let (mut result, mut of_it) = (program.clone(), ranges.clone());
    of_it.tensors.resize(program.tensors.len(), None);
    let mut found = false;
    for nest in &program.nests {
        if let Some(masked) = masked(program, ranges, nest, word) {
            masked.bound(&mut result, &mut of_it);
            found = true;
        }
    }
    found.then_some((result, of_it))
}

/// A mask, and what is added to it.
struct Masked {
    mask: Mask,
    /// The sum.
    sum: TensorId,
    /// The sum less its largest value; again, where the program counts from the largest value itself.
    exponents: Vec<TensorId>,
    /// No value of the mask need be less.
    least: f64,
    /// Ranges of the sum and of the exponent then.
    ranges: [(f64, f64); 2],
}

#[derive(Clone, Copy)]
enum Mask {
    Tensor(TensorId),
    /// A constant times a tensor of zeros and ones.
    Factor(f64),
}

/// The mask of the sum whose exponential a nest computes.
fn masked(program: &Program, ranges: &Ranges, nest: &Nest, word: u32) -> Option<Masked> {
    let range = |tensor: TensorId| ranges.tensors.get(tensor.0).copied().flatten();
    let only = |tensor: TensorId| {
        let mut writers = program.nests.iter().filter(|nest| nest.out == tensor);
        let named = program.names.iter().any(|(_, named)| *named == tensor);
        let kept = program.updates.iter().any(|update| update.state == tensor || update.next == tensor);
        writers.next().filter(|_| writers.next().is_none() && !named && !kept)
    };
    let Some(Primitive::Function(Function::Exp, Atom::Read(exponent, _))) = Primitive::of(nest) else { return None };
    let difference = one_by_one(only(exponent)?)?;
    let (Atom::Read(mut sum, _), Atom::Read(mut largest, _), Combine::Subtract) = difference else { return None };
    let is_largest = |largest: TensorId, sum: TensorId| {
        let mut writers = program.nests.iter().filter(|nest| nest.out == largest);
        let alone = writers.next().filter(|_| writers.next().is_none());
        matches!(alone.and_then(Primitive::of), Some(Primitive::MultiplyAdd {
            start: None, product: Some((Atom::Read(read, _), Atom::Constant(1.0))), combine: Combine::Maximum, square: false, scale: 0, ..
        }) if read == sum)
    };
    let readers = |tensor: TensorId| program.nests.iter().filter(|nest| reads(nest).contains(&tensor)).count();
    // Nobody else may see how low the sum is.
    if !is_largest(largest, sum) || readers(sum) != 2 || readers(exponent) != 1 {
        return None;
    }
    let mut exponents = vec![exponent];
    while let Some((Atom::Read(inner, _), Atom::Read(top, _), Combine::Subtract)) = one_by_one(only(sum)?) {
        if !is_largest(top, inner) || readers(inner) != 2 {
            return None;
        }
        exponents.push(sum);
        (sum, largest) = (inner, top);
    }
    let Parts { mask, of_mask, of_value } = Parts::of(program, only(sum)?, &range)?;
    let (of_largest, of_sum) = (range(largest)?, range(sum)?);
    // Below this an exponential is less than half of a last place.
    let nothing = f64::from(word + 1) * std::f64::consts::LN_2;
    let reach = libm::exp2(libm::ceil(libm::log2(of_value.1 - of_largest.0 + nothing)));
    let low = of_value.0 - reach;
    // Whole numbers that no word holds have no binary point that their bound could have, too.
    let has_words = of_mask.0 >= -libm::ldexp(1.0, word as i32 - 1) || !is_of_constants(program, mask);
    (has_words && of_mask.0 < -2.0 * reach && low > of_sum.0).then_some(Masked {
        mask,
        sum,
        exponents,
        least: -reach,
        ranges: [(low, of_sum.1), (low - of_largest.1, 0.0)],
    })
}

/// The mask in a sum, the lower of its two parts, with the ranges of both.
struct Parts {
    mask: Mask,
    of_mask: (f64, f64),
    of_value: (f64, f64),
}

impl Parts {
    fn of(program: &Program, sum: &Nest, range: &impl Fn(TensorId) -> Option<(f64, f64)>) -> Option<Parts> {
        let Some(Primitive::MultiplyAdd {
            start: Some(start),
            product: Some((a, b)),
            square: false,
            scale: 0,
            combine: combine @ (Combine::Add | Combine::Subtract),
            negative: false,
            whole: false,
        }) = Primitive::of(sum)
        else {
            return None;
        };
        if sum.aggregate != Aggregate::Assign {
            return None;
        }
        let of = |atom: &Atom| match atom {
            Atom::Read(tensor, _) => range(*tensor),
            Atom::Constant(value) => Some((*value, *value)),
        };
        let sign = if combine == Combine::Add { 1.0 } else { -1.0 };
        let (of_a, of_b) = (of(&a)?, of(&b)?);
        let ends = [of_a.0 * of_b.0, of_a.0 * of_b.1, of_a.1 * of_b.0, of_a.1 * of_b.1].map(|end| sign * end);
        let of_product =
            (ends.into_iter().fold(f64::INFINITY, f64::min), ends.into_iter().fold(f64::NEG_INFINITY, f64::max));
        let of_start = of(&start)?;
        let mask =
            |tensor: TensorId| (program.tensors[tensor.0].element == Element::Real).then_some(Mask::Tensor(tensor));
        if of_start.0 < of_product.0 {
            let Atom::Read(tensor, _) = start else { return None };
            return Some(Parts { mask: mask(tensor)?, of_mask: of_start, of_value: of_product });
        }
        let mask = match (&a, &b) {
            (Atom::Read(tensor, _), Atom::Constant(1.0)) if sign > 0.0 => mask(*tensor)?,
            (Atom::Read(tensor, _), Atom::Constant(factor)) | (Atom::Constant(factor), Atom::Read(tensor, _))
                if sign * factor < 0.0 && matches!(start, Atom::Read(..)) && is_choice(program, *tensor) =>
            {
                Mask::Factor(*factor)
            }
            _ => return None,
        };
        Some(Parts { mask, of_mask: of_product, of_value: of_start })
    }
}

/// Whether a mask is computed of constants alone.
fn is_of_constants(program: &Program, mask: Mask) -> bool {
    let Mask::Tensor(mask) = mask else { return false };
    let is_constant = |tensor: &TensorId| matches!(program.tensors[tensor.0].role, Role::Parameter(_));
    let mut writers = program.nests.iter().filter(|nest| nest.out == mask);
    program.tensors[mask.0].role.is_computed() && writers.all(|nest| reads(nest).iter().all(is_constant))
}

/// Whether a tensor is of zeros and ones: constants, or comparisons.
fn is_choice(program: &Program, tensor: TensorId) -> bool {
    let compares = |nest: &Nest| matches!(Primitive::of(nest), Some(Primitive::MultiplyAdd { negative: true, .. }));
    match &program.tensors[tensor.0].role {
        Role::Parameter(values) => values.iter().all(|&value| value == 0.0 || value == 1.0),
        role => role.is_computed() && program.nests.iter().filter(|nest| nest.out == tensor).all(compares),
    }
}

/// Another size for the constant that multiplies a choice, which is alone in its sum.
fn replace(sum: &mut Nest, factor: f64, size: f64) {
    for node in &mut sum.body.nodes {
        if let Node::Constant(value) = node
            && value.abs() == factor.abs()
        {
            *value = size.copysign(*value);
        }
    }
}

/// Sum or difference of two operands.
fn one_by_one(nest: &Nest) -> Option<(Atom, Atom, Combine)> {
    match Primitive::of(nest)? {
        Primitive::MultiplyAdd {
            start: Some(start),
            product: Some((a, Atom::Constant(1.0))),
            square: false,
            scale: 0,
            combine,
            negative: false,
            whole: false,
        } if nest.aggregate == Aggregate::Assign => Some((start, a, combine)),
        _ => None,
    }
}

impl Masked {
    fn bound(&self, program: &mut Program, ranges: &mut Ranges) {
        let Masked { mask, sum, ref exponents, least, ranges: [of_sum, of_exponent] } = *self;
        ranges.tensors[sum.0] = Some(of_sum);
        for exponent in exponents {
            ranges.tensors[exponent.0] = Some(of_exponent);
        }
        let Some(at) = program.nests.iter().position(|nest| nest.out == sum) else { return };
        let mask = match mask {
            Mask::Tensor(mask) => mask,
            Mask::Factor(factor) => return replace(&mut program.nests[at], factor, least),
        };
        let original = program.tensors[mask.0].clone();
        let high = ranges.tensors[mask.0].map_or(0.0, |(_, high)| high.max(least));
        let mut name = original.name.clone() + NEAR;
        while program.tensors.iter().any(|tensor| tensor.name == name) {
            name += NEAR;
        }
        let near = TensorId(program.tensors.len());
        let constants = match &original.role {
            Role::Parameter(values) => Some(values.iter().map(|value| value.max(least)).collect::<Arc<[f64]>>()),
            _ => None,
        };
        let role = constants.clone().map_or(Role::Temporary, Role::Parameter);
        program.tensors.push(Tensor { name, role, ..original.clone() });
        ranges.tensors.push(Some((least, high)));
        let adds = &mut program.nests[at];
        for node in &mut adds.body.nodes {
            if let Node::Read { tensor, .. } = node
                && *tensor == mask
            {
                *tensor = near;
            }
        }
        if constants.is_some() {
            return;
        }
        let origin = adds.origin.clone();
        let all = |(dimension, &extent): (usize, &u32)| Iterator {
            name: format!("i{dimension}"),
            low: 0,
            high: i64::from(extent),
        };
        let iterators: Vec<Iterator> = original.shape.iter().enumerate().map(all).collect();
        let index: Vec<Affine> = (0..iterators.len()).map(|i| Affine::iterator(IterId(i))).collect();
        let bounding = Nest {
            free: iterators.len(),
            iterators,
            guards: Vec::new(),
            out: near,
            out_index: index.clone(),
            aggregate: Aggregate::Max,
            start: Start::Fill(least),
            body: Expr::Read(mask, index).to_body(),
            origin,
        };
        program.nests.insert(at, bounding);
    }
}
