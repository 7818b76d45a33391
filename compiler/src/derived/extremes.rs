//! The position of an extreme: the first point that attains it, in the order of the iterators.
//!
//! ```text
//! M max= a[i] * x[i]     =>     M.values[i] = a[i] * x[i]                computed once: `stored`
//!                               M max= M.values[i]
//!
//!                               lost[i]  = M.values[i] < M               with the adjoint: 1 where the extreme is not attained,
//!                               place[i] = i + n * lost[i]               over i in 0..n
//!                               first min= place[i]
//!                               lost[i]  = first < place[i]              and 1 at all that attain it later
//! ```
//!
//! Nothing is computed twice and compared for equality: the extreme and the comparison read the same stored words, so that one point
//! attains the extreme after any rounding. Places stay below [`MOST_PLACES`], for words of 8 bits; where there are more points, they
//! are found digit by digit, the most significant first.

use super::activity::Activity;
use super::builder::Builder;
use super::gradients::new_tensor;
use super::sweep::{extents, from_first};
use crate::tensor::{
    Aggregate, Binary, Body, Element, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start, TensorId,
};

/// Places that are compared at once: the last one and as much again, for a point that has lost, fit in 8 bits.
const MOST_PLACES: u64 = 64;

/// The program in which extremes that vary with a weight are those of elements, which are stored.
pub(super) fn of_elements(program: &Program, activity: &Activity) -> Program {
    let mut result = Program { nests: Vec::new(), ..program.clone() };
    for nest in &program.nests {
        let chosen = matches!(nest.aggregate, Aggregate::Max | Aggregate::Min) && several(nest);
        if !chosen || !activity.active(nest.out) || !activity.nodes(&nest.body)[nest.body.root().0] {
            result.nests.push(nest.clone());
            continue;
        }
        if let [Node::Read { tensor, .. }] = nest.body.nodes.as_slice() {
            store(&mut result, *tensor);
            result.nests.push(nest.clone());
            continue;
        }
        let name = format!("{}.values", result.tensors[nest.out.0].name);
        let values = new_tensor(&mut result, &name, extents(&nest.iterators), nest.origin.span());
        store(&mut result, values);
        result.nests.push(at_each_point(nest, values, nest.body.clone()));
        let body = Body { nodes: vec![Node::Read { tensor: values, index: from_first(&nest.iterators) }] };
        result.nests.push(Nest { body, ..nest.clone() });
    }
    result
}

fn store(program: &mut Program, tensor: TensorId) {
    let role = &mut program.tensors[tensor.0].role;
    if *role == Role::Temporary {
        *role = Role::Stored;
    }
}

/// Whether a Nest combines more than one point.
fn several(nest: &Nest) -> bool {
    nest.iterators[nest.free..].iter().any(|iterator| iterator.extent() > 1)
}

/// 1 at every point of a Nest that is not the extreme, or not the first one; `None` if there is one point only.
///
/// Appends the Nests that compute it.
pub(super) fn losers(program: &mut Program, nest: &Nest) -> Option<TensorId> {
    if !several(nest) {
        return None;
    }
    let name = program.tensors[nest.out.0].name.clone();
    let (span, whole) = (nest.origin.span(), Element::Int { bits: 32, signed: true });
    let (all, free) = (from_first(&nest.iterators), from_first(&nest.iterators[..nest.free]));
    let new = |program: &mut Program, what: &str, iterators: &[Iterator], element: Element| {
        let tensor = new_tensor(program, &format!("{name}.{what}"), extents(iterators), span);
        program.tensors[tensor.0].element = element;
        tensor
    };
    let mut lost = new(program, "lost", &nest.iterators, Element::Bool);
    let mut b = Builder::new(nest.body.clone());
    let (value, extreme) = (nest.body.root(), b.read(nest.out, nest.out_index.clone()));
    beyond(&mut b, nest.aggregate, extreme, value);
    program.nests.push(at_each_point(nest, lost, b.body));
    for digit in digits(&nest.iterators, nest.free) {
        let place = new(program, "place", &nest.iterators, whole);
        let mut b = Builder::default();
        let before = b.read(lost, all.clone());
        let (own, count) = digit.value(&mut b, &nest.iterators);
        let later = b.scale(count as f64, before);
        b.add(own, later);
        program.nests.push(at_each_point(nest, place, b.body));

        let first = new(program, "first", &nest.iterators[..nest.free], whole);
        let body = Body { nodes: vec![Node::Read { tensor: place, index: all.clone() }] };
        let (aggregate, start) = (Aggregate::Min, Start::Identity);
        program.nests.push(Nest { out: first, out_index: free.clone(), aggregate, start, body, ..nest.clone() });

        lost = new(program, "lost", &nest.iterators, Element::Bool);
        let mut b = Builder::default();
        let (first, own) = (b.read(first, free.clone()), b.read(place, all.clone()));
        b.binary(Binary::Lt, first, own);
        program.nests.push(at_each_point(nest, lost, b.body));
    }
    Some(lost)
}

/// 1 where `a` is more extreme than `b`: larger for a maximum, smaller for a minimum.
pub(super) fn beyond(b: &mut Builder, aggregate: Aggregate, one: NodeId, other: NodeId) -> NodeId {
    match aggregate {
        Aggregate::Max => b.binary(Binary::Lt, other, one),
        _ => b.binary(Binary::Lt, one, other),
    }
}

/// 1 where an extreme is not what it started from, which comes first; `None` if it started from nothing.
pub(super) fn beyond_start(b: &mut Builder, nest: &Nest) -> Option<NodeId> {
    let start = match &nest.start {
        Start::Identity => return None,
        Start::Fill(value) if value.is_infinite() => return None,
        Start::Fill(value) => b.constant(*value),
        Start::Element { tensor, index } => b.read(*tensor, index.clone()),
    };
    let extreme = b.read(nest.out, nest.out_index.clone());
    Some(beyond(b, nest.aggregate, extreme, start))
}

/// `out = body` at every point that a Nest combines.
fn at_each_point(nest: &Nest, out: TensorId, body: Body) -> Nest {
    Nest {
        free: nest.iterators.len(),
        out,
        out_index: from_first(&nest.iterators),
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body,
        ..nest.clone()
    }
}

/// `(iterator - low) div divisor mod count`
struct Part {
    iterator: usize,
    divisor: u64,
    count: u64,
}

/// A number below [`MOST_PLACES`] that tells points apart, with those of the digits before it.
struct Digit(Vec<Part>);

impl Digit {
    fn count(&self) -> u64 {
        self.0.iter().map(|part| part.count).product()
    }

    /// The digit at a point, and how many values it has.
    fn value(&self, b: &mut Builder, iterators: &[Iterator]) -> (NodeId, u64) {
        let mut sum = b.constant(0.0);
        for part in &self.0 {
            let iterator = &iterators[part.iterator];
            let (mut own, low) = (b.body.push(Node::Iterator(IterId(part.iterator))), b.constant(iterator.low as f64));
            own = b.sub(own, low);
            if part.divisor > 1 {
                let divisor = b.constant(part.divisor as f64);
                own = b.binary(Binary::DivFloor, own, divisor);
            }
            if part.divisor * part.count < iterator.extent() {
                let count = b.constant(part.count as f64);
                own = b.binary(Binary::RemFloor, own, count);
            }
            let before = b.scale(part.count as f64, sum);
            sum = b.add(before, own);
        }
        (sum, self.count())
    }
}

/// The place of a point among those that are combined, most significant digit first.
fn digits(iterators: &[Iterator], free: usize) -> Vec<Digit> {
    let mut digits: Vec<Digit> = Vec::new();
    for (iterator, extent) in iterators.iter().map(Iterator::extent).enumerate().skip(free) {
        let mut divisor = 1;
        while divisor * MOST_PLACES < extent {
            divisor *= MOST_PLACES;
        }
        let mut count = extent.div_ceil(divisor);
        loop {
            let part = Part { iterator, divisor, count };
            match digits.last_mut().filter(|digit| digit.count() * count <= MOST_PLACES) {
                Some(digit) => digit.0.push(part),
                None => digits.push(Digit(vec![part])),
            }
            if divisor == 1 {
                break;
            }
            (divisor, count) = (divisor / MOST_PLACES, MOST_PLACES);
        }
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits count points in the order of the iterators, each below the limit.
    #[test]
    fn digits_order_points() {
        for extents in [vec![4], vec![2, 3], vec![100], vec![9, 9], vec![5, 5000], vec![1, 64, 2]] {
            let iterators: Vec<Iterator> =
                extents.iter().map(|&high| Iterator { name: "i".into(), low: 0, high }).collect();
            let digits = digits(&iterators, 0);
            let mut before = None;
            for number in 0..extents.iter().product::<i64>() {
                let mut rest = number;
                let mut point: Vec<i64> = extents
                    .iter()
                    .rev()
                    .map(|e| {
                        let i = rest % e;
                        rest /= e;
                        i
                    })
                    .collect();
                point.reverse();
                let own: Vec<u64> = digits
                    .iter()
                    .map(|digit| {
                        digit.0.iter().fold(0, |sum, part| {
                            sum * part.count + point[part.iterator] as u64 / part.divisor % part.count
                        })
                    })
                    .collect();
                assert!(own.iter().zip(&digits).all(|(&d, digit)| d < digit.count() && digit.count() <= MOST_PLACES));
                assert!(before.is_none_or(|before| before < own), "{extents:?}");
                before = Some(own);
            }
        }
    }
}
