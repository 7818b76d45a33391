//! Copies of operands with a binary point of their own, where formats alone would lose bits.
//!
//! | change | where |
//! |---|---|
//! | a sum starts with a coarser copy, or with nothing | what it starts with has more bits than its products can have, or none beside them |
//! | a factor or divisor is a finer copy | a whole number or a comparison has no bits after its point, and what it meets has |
//! | a value is rounded down by its sign | no word holds the divisor 1 as finely as the dividend is |
//!
//! A finer copy is a product with one, so that what only copies a value never moves its point (law 11).

use crate::canonical::expr::{Expr, substitute};
use crate::canonical::primitive;
use crate::ranges::Ranges;
use crate::tensor::{
    Affine, Aggregate, Binary, Element, IterId, Iterator, Nest, Program, Role, Start, Tensor, TensorId,
};

/// What has been copied so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    /// Tensors from this number on are copies: they lose as many bits as they must.
    pub(super) from: usize,
    /// Finer copies, with the bits after their binary points.
    pub(super) fine: Vec<(TensorId, i32)>,
}

impl Copies {
    /// Nothing copied yet, of so many tensors.
    pub(super) fn from(from: usize) -> Copies {
        Copies { from, fine: Vec::new() }
    }

    /// The same of a program that has become larger.
    pub(super) fn but_from(&self, from: usize) -> Copies {
        Copies { from, ..self.clone() }
    }

    /// The binary point of a finer copy.
    pub(super) fn fraction(&self, tensor: TensorId) -> Option<i32> {
        self.fine.iter().find(|(fine, _)| *fine == tensor).map(|(_, fraction)| *fraction)
    }
}

/// What keeps a program from having formats that lose nothing, and is to be changed in the nest of this number.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// It starts with a coarser copy.
    Start(usize),
    /// It is a coarser copy that a sum starts with, of which no bit is left.
    Nothing(usize),
    /// It reads a copy of a tensor with so many bits after the binary point.
    Fine(usize, TensorId, i32),
    /// It rounds down by the sign of its operand, which lies between -1 and 1.
    Sign(usize),
}

/// The program with one change more.
pub(super) fn rewritten(
    program: &Program,
    ranges: &Ranges,
    copies: &Copies,
    change: &Change,
) -> (Program, Ranges, Copies) {
    let (mut program, mut ranges, mut copies) = (program.clone(), ranges.clone(), copies.clone());
    ranges.tensors.resize(program.tensors.len(), None);
    match *change {
        Change::Start(number) => copied_start(&mut program, &mut ranges, number),
        Change::Nothing(number) => start_with_nothing(&mut program, number),
        Change::Fine(number, tensor, fraction) => {
            copies.fine.push((finer_factor(&mut program, &mut ranges, number, tensor), fraction));
        }
        Change::Sign(number) => floor_by_sign(&mut program, &mut ranges, number),
    }
    (program, ranges, copies)
}

/// A temporary like another tensor, with a name made of its name.
fn temporary(
    program: &mut Program,
    ranges: &mut Ranges,
    like: TensorId,
    name: &str,
    range: Option<(f64, f64)>,
) -> TensorId {
    let original = &program.tensors[like.0];
    let mut name = format!("{}.{name}", original.name);
    while program.tensors.iter().any(|t| t.name == name) {
        name.push('+');
    }
    let copy = Tensor { name, role: Role::Temporary, element: Element::Real, ..original.clone() };
    program.tensors.push(copy);
    ranges.tensors.push(range);
    TensorId(program.tensors.len() - 1)
}

/// Let a sum start with a copy of what it starts with; the copy gets a binary point of its own.
///
///     u = a + a * w        =>        a.copy = a; u = a.copy + a * w
fn copied_start(program: &mut Program, ranges: &mut Ranges, number: usize) {
    let copy = TensorId(program.tensors.len());
    let (reader, copying, source) = primitive::with_copied_start(&program.nests[number], copy);
    program.nests[number] = reader;
    program.nests.insert(number, copying);
    let range = ranges.tensors[source.0];
    temporary(program, ranges, source, "copy", range);
}

/// The sum that starts with a copy.
pub(super) fn sum_from(program: &Program, copy: TensorId) -> Option<usize> {
    let starts = |nest: &Nest| matches!(nest.start, Start::Element { tensor, .. } if tensor == copy);
    program.nests.iter().position(starts)
}

/// Let the sum behind a copy start with nothing, and leave the copy out.
///
///     a.copy = a; u = a.copy + sum[k](w[k] * x[k])        =>        u = sum[k](w[k] * x[k])
fn start_with_nothing(program: &mut Program, number: usize) {
    let sum = sum_from(program, program.nests[number].out).expect("the copy of a start is changed so");
    program.nests[sum].start = Start::Identity;
    program.nests.remove(number);
}

/// Read a copy of a tensor where a nest multiplies with it or divides by it; the copy gets more bits after its binary point.
///
///     u = x - 2 * (x * c)      =>      c.fine = 1 * c; u = x - 2 * (x * c.fine)
fn finer_factor(program: &mut Program, ranges: &mut Ranges, number: usize, tensor: TensorId) -> TensorId {
    let range = ranges.tensors[tensor.0];
    let copy = temporary(program, ranges, tensor, "fine", range);
    let nest = program.nests[number].clone();
    let mut body = Expr::from_body(&nest.body);
    let read = first_read(factors(&mut body, nest.aggregate), tensor).expect("a factor is read");
    let Expr::Read(_, index) = std::mem::replace(read, Expr::Constant(0.0)) else { unreachable!("a read") };
    *read = Expr::Read(copy, index.clone());
    let (iterators, index) = over(program, &nest, tensor, &index);
    let copying = Nest {
        free: iterators.len(),
        iterators,
        guards: Vec::new(),
        out: copy,
        out_index: index.clone(),
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body: Expr::mul(Expr::Read(tensor, index), Expr::Constant(1.0)).to_body(),
        origin: nest.origin.clone(),
    };
    program.nests[number] = Nest { body: body.to_body(), ..nest };
    program.nests.insert(number, copying);
    copy
}

/// The part of a primitive body that is multiplied or divided by.
fn factors(body: &mut Expr, aggregate: Aggregate) -> &mut Expr {
    let part = match body {
        // A sum that is rounded to whole numbers.
        Expr::Call(_, arguments) => return factors(&mut arguments[0], aggregate),
        Expr::Binary(Binary::Lt, ..) => 0,
        Expr::Binary(Binary::Div | Binary::DivControlled | Binary::DivFloor, ..) => 1,
        // The product stands on either side of what is added to it.
        Expr::Binary(Binary::Add | Binary::Sub, first, second) if aggregate == Aggregate::Assign => {
            usize::from(!is_product(first) || is_product(second))
        }
        _ => return body,
    };
    let Expr::Binary(_, first, second) = body else { unreachable!("it has two operands") };
    if part == 0 { factors(first, aggregate) } else { second }
}

fn is_product(e: &Expr) -> bool {
    matches!(e, Expr::Binary(Binary::Mul, ..))
}

fn first_read(e: &mut Expr, tensor: TensorId) -> Option<&mut Expr> {
    match e {
        Expr::Read(read, _) if *read == tensor => Some(e),
        Expr::Binary(_, a, b) => first_read(a, tensor).or_else(|| first_read(b, tensor)),
        Expr::Unary(_, a) => first_read(a, tensor),
        _ => None,
    }
}

/// The elements that a nest reads by an index: iterators, and the index in these; all elements where some would be met more than once.
fn over(program: &Program, nest: &Nest, tensor: TensorId, index: &[Affine]) -> (Vec<Iterator>, Vec<Affine>) {
    let mut used: Vec<IterId> = Vec::new();
    let once = index.iter().all(|form| match form.terms.as_slice() {
        [] => true,
        [(iterator, _)] if !used.contains(iterator) => {
            used.push(*iterator);
            true
        }
        _ => false,
    });
    if !once {
        let all = |(dimension, &extent): (usize, &u32)| Iterator {
            name: format!("i{dimension}"),
            low: 0,
            high: i64::from(extent),
        };
        let iterators: Vec<Iterator> = program.tensors[tensor.0].shape.iter().enumerate().map(all).collect();
        let index = (0..iterators.len()).map(|i| Affine::iterator(IterId(i))).collect();
        return (iterators, index);
    }
    let place =
        |i: usize| used.iter().position(|u| u.0 == i).map_or(Affine::default(), |p| Affine::iterator(IterId(p)));
    let with: Vec<Affine> = (0..nest.iterators.len()).map(place).collect();
    let iterators = used.iter().map(|i| nest.iterators[i.0].clone()).collect();
    (iterators, index.iter().map(|form| substitute(form, &with)).collect())
}

/// Round down what lies between -1 and 1.
///
///     f[i] = floor(x[i])      =>      f.below[i] = x[i] < 0; f[i] = -f.below[i]
fn floor_by_sign(program: &mut Program, ranges: &mut Ranges, number: usize) {
    let nest = program.nests[number].clone();
    let value = match Expr::from_body(&nest.body) {
        Expr::Call(_, mut arguments) => arguments.remove(0),
        Expr::Binary(_, a, _) => *a,
        other => other,
    };
    let below = temporary(program, ranges, nest.out, "below", Some((0.0, 1.0)));
    let sign = Expr::Binary(Binary::Lt, Box::new(value), Box::new(Expr::Constant(0.0)));
    let minus = Expr::neg(Expr::Read(below, nest.out_index.clone()));
    program.nests[number] = Nest { body: minus.to_body(), ..nest.clone() };
    program.nests.insert(number, Nest { out: below, body: sign.to_body(), ..nest });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Function;

    /// Of whole numbers in their own scale, such as those of integer models: the sum is rounded, and its start stands on either side.
    #[test]
    fn factors_are_found_wherever_the_sum_stands() {
        let read = |id| Expr::Read(TensorId(id), Vec::new());
        let add = |a, b| Expr::Binary(Binary::Add, Box::new(a), Box::new(b));
        let (ahead, behind) = (add(read(0), Expr::mul(read(1), read(2))), add(Expr::mul(read(1), read(2)), read(0)));
        for sum in [ahead, behind] {
            for mut body in [sum.clone(), Expr::Call(Function::Rint, vec![sum])] {
                let factors = factors(&mut body, Aggregate::Assign);
                assert!(first_read(factors, TensorId(1)).is_some() && first_read(factors, TensorId(2)).is_some());
                assert!(first_read(factors, TensorId(0)).is_none());
            }
        }
    }
}
