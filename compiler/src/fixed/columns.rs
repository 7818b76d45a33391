//! Columns of an input, each with its own binary point.
//!
//!     x[i][j]: |x[i][0]| <= 4000, |x[i][1]| <= 0.3            words with one binary point have 3 bits after it: nothing is left of x[i][1]
//!     y[k] = sum[j](w[k][j] * x[i][j])                        w constant
//!     =>  the host makes words of x[i][j] * 2^e[j], e = 0, 12;  w[k][j] becomes w[k][j] * 2^-e[j]
//!
//! The powers go through sums with constants, differences and their squares, until products or quotients with constants take them in. Each
//! of those constants is multiplied by a power of two, so on real numbers nothing changes and no operation is added. An input of
//! which something else is read keeps one binary point.

use crate::canonical::expr::reads;
use crate::canonical::primitive::{Atom, Primitive};
use crate::ranges::Ranges;
use crate::tensor::{Affine, Element, IterId, Nest, Node, Program, Role, Start, TensorId};
use arch::isa::Combine;
use std::collections::BTreeMap;

/// More bits after the binary point for each index of a dimension of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The dimension.
    pub dimension: usize,
    /// For each of its indices the bits beside the tensor's own.
    pub more: Vec<i32>,
}

impl Columns {
    /// More bits of an element, counted row by row in a tensor of this shape.
    pub fn of_element(&self, shape: &[u32], element: usize) -> i32 {
        let inner: usize = shape[self.dimension + 1..].iter().map(|&extent| extent as usize).product();
        self.more[element / inner % self.more.len()]
    }
}

/// Columns differ so much that an input gets several binary points: powers of two between the largest and the smallest.
const APART: i32 = 4;
/// Room that a column keeps: values beyond those seen are likelier in one column than in all.
const ROOM: i32 = 1;
/// No column gets more bits than so many.
const MOST: i32 = 40;
/// Elements that are looked at one by one.
const MOST_ELEMENTS: usize = 1 << 20;

/// The program with powers of two in its constants, and the columns of its inputs; `None` where no input has any.
pub(super) fn scaled(
    program: &Program,
    ranges: &Ranges,
    given: impl Fn(&str) -> bool,
) -> Option<(Program, Ranges, BTreeMap<String, Columns>)> {
    let mut all = BTreeMap::new();
    let (mut program, mut ranges) = (program.clone(), ranges.clone());
    for (input, elements) in ranges.elements.clone() {
        let tensor = &program.tensors[input];
        if tensor.role != Role::Input || tensor.element != Element::Real || given(&tensor.name) {
            continue;
        }
        for dimension in (0..tensor.shape.len()).rev() {
            let Some(columns) = apart(&tensor.shape, &elements, dimension) else { continue };
            let name = tensor.name.clone();
            if let Some((with, of_it)) = Scaling::of(&program, &ranges, TensorId(input), columns.clone(), &elements) {
                (program, ranges) = (with, of_it);
                all.insert(name, columns);
                break;
            }
        }
    }
    (!all.is_empty()).then_some((program, ranges, all))
}

/// The columns of a dimension, if they are far enough apart.
fn apart(shape: &[u32], elements: &[(f64, f64)], dimension: usize) -> Option<Columns> {
    let inner: usize = shape[dimension + 1..].iter().map(|&extent| extent as usize).product();
    let extent = shape[dimension] as usize;
    if extent < 2 || elements.len() > MOST_ELEMENTS {
        return None;
    }
    let mut sizes = vec![0.0f64; extent];
    for (number, (low, high)) in elements.iter().enumerate() {
        let size = &mut sizes[number / inner % extent];
        *size = size.max(low.abs()).max(high.abs());
    }
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    let less = |&size: &f64| if size > 0.0 { libm::floor(libm::log2(largest / size)) as i32 } else { 0 };
    let less: Vec<i32> = sizes.iter().map(less).collect();
    let most = less.iter().copied().max().unwrap_or(0);
    let more = less.iter().map(|less| (less - ROOM).clamp(0, MOST)).collect();
    (most >= APART).then_some(Columns { dimension, more })
}

/// A tensor that holds its values times powers of two, by an index.
#[derive(Debug, Clone)]
struct Scaled {
    columns: Columns,
    /// Smallest and largest value of each element, without the powers.
    values: Vec<(f64, f64)>,
}

/// A program on the way to its new constants.
struct Scaling {
    program: Program,
    ranges: Ranges,
    scaled: BTreeMap<TensorId, Scaled>,
}

/// Powers of two along an iterator.
type Powers = (IterId, Vec<i32>);

impl Scaling {
    /// The program where an input has columns; `None` where something does not take their powers in.
    fn of(
        program: &Program,
        ranges: &Ranges,
        input: TensorId,
        columns: Columns,
        elements: &[(f64, f64)],
    ) -> Option<(Program, Ranges)> {
        let scaled = Scaled { columns, values: elements.to_vec() };
        let mut scaling =
            Scaling { program: program.clone(), ranges: ranges.clone(), scaled: BTreeMap::from([(input, scaled)]) };
        scaling.ranges.tensors.resize(program.tensors.len(), None);
        for number in 0..program.nests.len() {
            let nest = &scaling.program.nests[number];
            if reads(nest).iter().any(|tensor| scaling.scaled.contains_key(tensor)) {
                scaling.nest(number)?;
            }
        }
        Some((scaling.program, scaling.ranges))
    }

    /// The powers that an operand has; `Err` where they are not along an iterator.
    fn powers(&self, atom: &Atom) -> Result<Option<Powers>, ()> {
        let Atom::Read(tensor, index) = atom else { return Ok(None) };
        let Some(scaled) = self.scaled.get(tensor) else { return Ok(None) };
        let iterator = index[scaled.columns.dimension].as_iterator().ok_or(())?;
        Ok(Some((iterator, scaled.columns.more.clone())))
    }

    fn nest(&mut self, number: usize) -> Option<()> {
        let nest = self.program.nests[number].clone();
        match Primitive::of(&nest)? {
            Primitive::MultiplyAdd { start, product, square, combine, negative, whole: false, .. }
                if !combine.compares() =>
            {
                self.multiply_add((number, &nest), start.as_ref(), product.as_ref(), square, negative)
            }
            Primitive::Divide { dividend, divisor, down: false } => {
                let ((iterator, more), None) = (self.powers(&dividend).ok()??, self.powers(&divisor).ok()?) else {
                    return None;
                };
                self.scale(number, &divisor, (iterator, more))
            }
            _ => None,
        }
    }

    fn multiply_add(
        &mut self,
        (number, nest): (usize, &Nest),
        start: Option<&Atom>,
        product: Option<&(Atom, Atom)>,
        square: bool,
        negative: bool,
    ) -> Option<()> {
        let values = self.values(nest);
        let of_start = start.map_or(Ok(None), |start| self.powers(start)).ok()?;
        let [mut of_a, mut of_b] = [None, None];
        if let Some((a, b)) = product {
            (of_a, of_b) = (self.powers(a).ok()?, self.powers(b).ok()?);
            if square {
                match (&of_a, &of_b) {
                    (Some(powers), None) => self.scale(number, b, powers.clone())?,
                    (None, Some(powers)) => self.scale(number, a, powers.clone())?,
                    _ if of_a != of_b => return None,
                    _ => {}
                }
                of_a = of_a.or(of_b.clone());
                of_b.clone_from(&of_a);
            }
        }
        let of_product = match (of_a, of_b) {
            (Some((a, more)), Some((b, others))) if a == b => {
                Some((a, more.iter().zip(&others).map(|(a, b)| a + b).collect::<Vec<i32>>()))
            }
            (Some(_), Some(_)) => return None,
            (one, other) => one.or(other),
        };
        let minus = |(iterator, more): &Powers| (*iterator, more.iter().map(|bits| -bits).collect());
        // A factor that is constant takes the powers in.
        if let (Some(powers), None, Some((a, b)), false) = (&of_product, &of_start, product, square) {
            let is_scaled = |atom: &Atom| self.powers(atom).is_ok_and(|powers| powers.is_some());
            let factor = [a, b].into_iter().find(|atom| !is_scaled(atom));
            if let Some(factor) = factor
                && self.scale(number, factor, minus(powers)).is_some()
            {
                return Some(());
            }
        }
        // Otherwise the result has them, and so has all that it is made of.
        let powers = of_product.clone().or(of_start.clone())?;
        if powers.0.0 >= nest.free || (of_start.is_some() && of_product.is_some() && of_start != of_product) {
            return None;
        }
        if of_start.is_none()
            && let Some(start) = start.filter(|start| !matches!(start, Atom::Constant(zero) if *zero == 0.0))
        {
            self.scale(number, start, powers.clone())?;
        }
        if of_product.is_none()
            && let Some((a, b)) = product
        {
            let one = self.scale(number, a, powers.clone());
            one.or_else(|| self.scale(number, b, powers.clone()))?;
        }
        // A sign is that of the value.
        if negative { Some(()) } else { self.carry(nest, &powers, values?) }
    }

    /// Let a result hold its values times powers of two.
    fn carry(&mut self, nest: &Nest, (iterator, more): &Powers, values: Vec<(f64, f64)>) -> Option<()> {
        let out = nest.out;
        let is_asked = self.program.names.iter().any(|(_, named)| *named == out)
            || self.program.updates.iter().any(|update| update.state == out || update.next == out);
        let written = self.program.nests.iter().filter(|nest| nest.out == out).count();
        if is_asked || written != 1 || !self.program.tensors[out.0].role.is_computed() {
            return None;
        }
        let dimension = nest.out_index.iter().position(|form| form.as_iterator() == Some(*iterator))?;
        let columns = Columns { dimension, more: more.clone() };
        let shape = self.program.tensors[out.0].shape.clone();
        let mut range: Option<(f64, f64)> = None;
        for (element, &(low, high)) in values.iter().enumerate() {
            let power = |value: f64| libm::ldexp(value, columns.of_element(&shape, element));
            let (low, high) = (power(low), power(high));
            range = Some(range.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
        }
        self.ranges.tensors[out.0] = range;
        self.scaled.insert(out, Scaled { columns, values });
        Some(())
    }

    /// Multiply the values of an operand by powers of two along an iterator: a constant, or a product of constants.
    fn scale(&mut self, number: usize, atom: &Atom, powers: Powers) -> Option<()> {
        let Atom::Read(tensor, index) = atom else { return None };
        let (tensor, (iterator, more)) = (*tensor, powers);
        let dimension = index.iter().position(|form| form.as_iterator() == Some(iterator))?;
        let readers: Vec<usize> =
            (0..self.program.nests.len()).filter(|&n| reads(&self.program.nests[n]).contains(&tensor)).collect();
        let writers: Vec<usize> =
            (0..self.program.nests.len()).filter(|&n| self.program.nests[n].out == tensor).collect();
        match (&self.program.tensors[tensor.0].role, writers.as_slice()) {
            (Role::Parameter(values), []) => {
                let columns = Columns { dimension, more };
                let shape = &self.program.tensors[tensor.0].shape;
                let scaled = values.iter().enumerate();
                let scaled: Vec<f64> =
                    scaled.map(|(element, &value)| libm::ldexp(value, columns.of_element(shape, element))).collect();
                let own = if readers.len() == 1 { tensor } else { self.copy(number, tensor) };
                self.program.tensors[own.0].role = Role::Parameter(scaled.into());
                Some(())
            }
            (role, &[writer]) if role.is_computed() && readers.len() == 1 => {
                let nest = self.program.nests[writer].clone();
                let is_asked = self.program.names.iter().any(|(_, named)| *named == tensor);
                let Some(Primitive::MultiplyAdd {
                    start: None,
                    product: Some((a, b)),
                    square: false,
                    negative: false,
                    whole: false,
                    ..
                }) = Primitive::of(&nest).filter(|_| !is_asked && nest.free == nest.iterators.len())
                else {
                    return None;
                };
                let inner = nest.out_index[dimension].as_iterator()?;
                let is_constant = |atom: &Atom| match atom {
                    Atom::Read(tensor, _) => matches!(self.program.tensors[tensor.0].role, Role::Parameter(_)),
                    Atom::Constant(_) => true,
                };
                if !is_constant(&a) || !is_constant(&b) {
                    return None;
                }
                let one = self.scale(writer, &a, (inner, more.clone()));
                one.or_else(|| self.scale(writer, &b, (inner, more)))?;
                let values = self.values(&self.program.nests[writer])?;
                self.ranges.tensors[tensor.0] = values.into_iter().reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
                Some(())
            }
            _ => None,
        }
    }

    /// A constant of its own for one nest. The name says whose copy it is.
    fn copy(&mut self, number: usize, tensor: TensorId) -> TensorId {
        let mut copy = self.program.tensors[tensor.0].clone();
        copy.name += COPY;
        while self.program.tensors.iter().any(|known| known.name == copy.name) {
            copy.name += COPY;
        }
        let own = TensorId(self.program.tensors.len());
        self.program.tensors.push(copy);
        self.ranges.tensors.push(self.ranges.tensors[tensor.0]);
        let nest = &mut self.program.nests[number];
        for node in &mut nest.body.nodes {
            if let Node::Read { tensor: read, .. } = node
                && *read == tensor
            {
                *read = own;
            }
        }
        if let Start::Element { tensor: read, .. } = &mut nest.start
            && *read == tensor
        {
            *read = own;
        }
        own
    }

    /// The values of a result that is no sum over an index, from those of its operands, without powers of two.
    fn values(&self, nest: &Nest) -> Option<Vec<(f64, f64)>> {
        let Primitive::MultiplyAdd { start, product, square, scale, combine, .. } = Primitive::of(nest)? else {
            return None;
        };
        let tensor = &self.program.tensors[nest.out.0];
        let count: usize = tensor.shape.iter().map(|&extent| extent as usize).product();
        if nest.free != nest.iterators.len() || count > MOST_ELEMENTS {
            return None;
        }
        let sign = if combine == Combine::Subtract { -1.0 } else { 1.0 };
        let mut values = vec![(0.0, 0.0); count];
        let mut point: Vec<i64> = nest.iterators.iter().map(|iterator| iterator.low).collect();
        loop {
            let mut total = start.as_ref().map_or(Some((0.0, 0.0)), |atom| self.value(atom, &point))?;
            if let Some((a, b)) = &product {
                let same = a == b;
                let (a, b) = (self.value(a, &point)?, self.value(b, &point)?);
                let product = match (square, same) {
                    (true, _) => squared((a.0 - b.1, a.1 - b.0)),
                    (false, true) => squared(a),
                    (false, false) => times(a, b),
                };
                let (low, high) = (sign * libm::ldexp(product.0, scale), sign * libm::ldexp(product.1, scale));
                total = (total.0 + low.min(high), total.1 + low.max(high));
            }
            values[place(&tensor.shape, &nest.out_index, &point)] = total;
            if !advance(&mut point, nest) {
                return Some(values);
            }
        }
    }

    fn value(&self, atom: &Atom, point: &[i64]) -> Option<(f64, f64)> {
        let (tensor, index) = match atom {
            Atom::Constant(value) => return Some((*value, *value)),
            Atom::Read(tensor, index) => (tensor, index),
        };
        let shape = &self.program.tensors[tensor.0].shape;
        let element = place(shape, index, point);
        match (&self.program.tensors[tensor.0].role, self.scaled.get(tensor)) {
            (_, Some(scaled)) => scaled.values.get(element).copied(),
            (Role::Parameter(values), _) => values.get(element).map(|&value| (value, value)),
            _ => None,
        }
    }
}

/// What copies of constants have behind their names.
pub(crate) const COPY: &str = ".columns";

fn squared((low, high): (f64, f64)) -> (f64, f64) {
    let most = f64::max(low * low, high * high);
    (if low <= 0.0 && high >= 0.0 { 0.0 } else { f64::min(low * low, high * high) }, most)
}

fn times(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let ends = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    (ends.into_iter().fold(f64::INFINITY, f64::min), ends.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

fn place(shape: &[u32], index: &[Affine], point: &[i64]) -> usize {
    let at = |form: &Affine| form.offset + form.terms.iter().map(|&(i, c)| c * point[i.0]).sum::<i64>();
    shape.iter().zip(index).fold(0, |place, (&extent, form)| place * extent as usize + at(form).max(0) as usize)
}

fn advance(point: &mut [i64], nest: &Nest) -> bool {
    for (place, iterator) in point.iter_mut().zip(&nest.iterators).rev() {
        *place += 1;
        if *place < iterator.high {
            return true;
        }
        *place = iterator.low;
    }
    false
}
