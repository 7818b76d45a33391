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
use crate::tensor::{Affine, Element, IterId, Nest, Node, Program, Role, Start, Tensor, TensorId};
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
pub(super) const APART: i32 = 4;
/// Room that a column keeps: values beyond those seen are likelier in one column than in all.
pub(super) const ROOM: i32 = 1;
/// No column gets more bits than so many.
pub(super) const MOST: i32 = 40;
/// Elements that are looked at one by one.
const MOST_ELEMENTS: usize = 1 << 20;

/// A program with powers of two in its constants, and by name the tensors that hold their values times powers of two.
pub(super) type Powered = (Program, Ranges, BTreeMap<String, Columns>);

/// The program where inputs have columns; `None` where no input has any.
pub(super) fn scaled(program: &Program, ranges: &Ranges, given: impl Fn(&str) -> bool) -> Option<Powered> {
    let mut all = BTreeMap::new();
    let (mut program, mut ranges) = (program.clone(), ranges.clone());
    for (input, elements) in ranges.elements.clone() {
        let tensor = &program.tensors[input];
        if tensor.role != Role::Input || tensor.element != Element::Real || given(&tensor.name) {
            continue;
        }
        for dimension in (0..tensor.shape.len()).rev() {
            let Some(columns) = apart(&tensor.shape, &elements, dimension) else { continue };
            if let Some(with) = Scaling::of(&program, &ranges, TensorId(input), columns, &elements) {
                let with = with.finish();
                (program, ranges) = (with.0, with.1);
                merge(&mut all, with.2);
                break;
            }
        }
    }
    (!all.is_empty()).then_some((program, ranges, all))
}

/// The columns of a dimension, if they are far enough apart.
fn apart(shape: &[u32], elements: &[(f64, f64)], dimension: usize) -> Option<Columns> {
    if shape[dimension] < 2 || elements.len() > MOST_ELEMENTS {
        return None;
    }
    let sizes = fold_sizes(shape, dimension, elements.iter().map(size));
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    let less = |&size: &f64| if size > 0.0 { libm::floor(libm::log2(largest / size)) as i32 } else { 0 };
    let less: Vec<i32> = sizes.iter().map(less).collect();
    let most = less.iter().copied().max().unwrap_or(0);
    let more = less.iter().map(|less| (less - ROOM).clamp(0, MOST)).collect();
    (most >= APART).then_some(Columns { dimension, more })
}

/// Powers on powers. Of a computed tensor with powers along two dimensions they are not told: only its distance from golden asks for them.
pub(super) fn merge(all: &mut BTreeMap<String, Columns>, more: BTreeMap<String, Columns>) {
    for (name, columns) in more {
        match all.get_mut(&name) {
            Some(known) if known.dimension == columns.dimension => {
                known.more.iter_mut().zip(&columns.more).for_each(|(known, more)| *known += more);
            }
            Some(_) => drop(all.remove(&name)),
            None => drop(all.insert(name, columns)),
        }
    }
}

fn size(&(low, high): &(f64, f64)) -> f64 {
    low.abs().max(high.abs())
}

/// The largest size for each index of a dimension.
pub(super) fn fold_sizes(shape: &[u32], dimension: usize, sizes: impl Iterator<Item = f64>) -> Vec<f64> {
    let inner: usize = shape[dimension + 1..].iter().map(|&extent| extent as usize).product();
    let mut largest = vec![0.0f64; shape[dimension] as usize];
    let extent = largest.len();
    for (number, size) in sizes.enumerate() {
        let known = &mut largest[number / inner % extent];
        *known = known.max(size);
    }
    largest
}

/// A tensor that holds its values times powers of two, by an index.
#[derive(Debug, Clone)]
struct Scaled {
    columns: Columns,
    /// Smallest and largest value of each element, without the powers.
    values: Vec<(f64, f64)>,
}

/// A program on the way to its new constants.
pub(super) struct Scaling {
    program: Program,
    ranges: Ranges,
    scaled: BTreeMap<TensorId, Scaled>,
    /// Factors that took powers in, and the dimension of each that has them.
    takers: Vec<(TensorId, usize)>,
    /// Nests that write tensors with powers.
    carriers: Vec<usize>,
}

/// Powers of two along an iterator.
pub(super) type Powers = (IterId, Vec<i32>);

impl Scaling {
    /// The program where an input has columns; `None` where something does not take their powers in.
    fn of(
        program: &Program,
        ranges: &Ranges,
        input: TensorId,
        columns: Columns,
        elements: &[(f64, f64)],
    ) -> Option<Scaling> {
        let mut scaling = Scaling::new(program, ranges);
        scaling.scaled.insert(input, Scaled { columns, values: elements.to_vec() });
        scaling.go_on(0)?;
        Some(scaling)
    }

    fn new(program: &Program, ranges: &Ranges) -> Scaling {
        let (program, mut ranges) = (program.clone(), ranges.clone());
        ranges.tensors.resize(program.tensors.len(), None);
        Scaling { program, ranges, scaled: BTreeMap::new(), takers: Vec::new(), carriers: Vec::new() }
    }

    pub(super) fn finish(self) -> Powered {
        let Scaling { program, ranges, scaled, .. } = self;
        let scaled = scaled.into_iter().map(|(id, scaled)| (program.tensors[id.0].name.clone(), scaled.columns));
        let scaled = scaled.collect();
        (program, ranges, scaled)
    }

    /// Give and take the powers in all nests from this one on.
    fn go_on(&mut self, first: usize) -> Option<()> {
        for number in first..self.program.nests.len() {
            if reads(&self.program.nests[number]).iter().any(|tensor| self.scaled.contains_key(tensor)) {
                self.nest(number)?;
            }
        }
        // No other nest may write into a tensor with powers, unless zeros.
        let is_right = |(number, nest): (usize, &Nest)| {
            !self.scaled.contains_key(&nest.out) || self.carriers.contains(&number) || is_zero(nest)
        };
        self.program.nests.iter().enumerate().all(is_right).then_some(())
    }

    /// The program where the rows of the constant weights of a nest have powers, and so has all that it is made of.
    pub(super) fn of_channels(
        program: &Program,
        ranges: &Ranges,
        number: usize,
        weights: &Atom,
        powers: Powers,
    ) -> Option<Scaling> {
        let mut scaling = Scaling::new(program, ranges);
        let Atom::Read(tensor, index) = weights else { return None };
        let dimension = index.iter().position(|form| form.as_iterator() == Some(powers.0))?;
        let out = program.nests[number].out;
        // Pieces of a convolution have the same weights, which nothing else reads.
        for (piece, nest) in program.nests.iter().enumerate().filter(|(_, nest)| reads(nest).contains(tensor)) {
            let Some(Primitive::MultiplyAdd { start, product: Some((a, b)), square: false, .. }) = Primitive::of(nest)
            else {
                return None;
            };
            let is_weights = |atom: &Atom| matches!(atom, Atom::Read(read, _) if read == tensor);
            let Atom::Read(_, index) = [a, b].into_iter().find(is_weights)? else { return None };
            let powers = (index[dimension].as_iterator()?, powers.1.clone());
            if nest.out != out {
                return None;
            }
            if let Some(start) = start.filter(|start| !matches!(start, Atom::Constant(zero) if *zero == 0.0)) {
                scaling.scale(piece, &start, powers.clone())?;
            }
            scaling.carry((piece, nest), &powers, None)?;
        }
        scaling.multiply(*tensor, &Columns { dimension, more: powers.1 })?;
        scaling.go_on(number + 1)?;
        Some(scaling)
    }

    /// Multiply a constant by powers of two.
    fn multiply(&mut self, tensor: TensorId, columns: &Columns) -> Option<()> {
        let Tensor { role, shape, .. } = &mut self.program.tensors[tensor.0];
        let Role::Parameter(values) = role else { return None };
        let scaled = values.iter().enumerate();
        let scaled = scaled.map(|(element, &value)| libm::ldexp(value, columns.of_element(shape, element)));
        *role = Role::Parameter(scaled.collect());
        Some(())
    }

    /// Names of the tensors that hold other values than before.
    pub(super) fn changed<'a>(&'a self, before: &'a Program) -> impl Iterator<Item = &'a str> {
        let is_changed = |(id, tensor): &(usize, &Tensor)| {
            self.scaled.contains_key(&TensorId(*id)) || self.program.tensors[*id].role != tensor.role
        };
        before.tensors.iter().enumerate().filter(is_changed).map(|(_, tensor)| tensor.name.as_str())
    }

    /// The largest size of each channel in the constants that took its power in; `None` if nothing did.
    pub(super) fn taken_in(&self) -> Option<Vec<f64>> {
        let sizes = self.takers.iter().map(|&(tensor, dimension)| {
            let Tensor { role, shape, .. } = &self.program.tensors[tensor.0];
            let Role::Parameter(values) = role else { return None };
            Some(fold_sizes(shape, dimension, values.iter().map(|value| value.abs())))
        });
        let larger = |one: Vec<f64>, other: Vec<f64>| one.iter().zip(&other).map(|(a, b)| a.max(*b)).collect();
        sizes.collect::<Option<Vec<_>>>()?.into_iter().reduce(larger)
    }

    /// For each channel the powers of two up to the largest one, in all tensors that have them.
    pub(super) fn room(&self) -> Vec<i32> {
        let of = |(tensor, Scaled { columns, values }): (&TensorId, &Scaled)| {
            let shape = &self.program.tensors[tensor.0].shape;
            let sizes = fold_sizes(shape, columns.dimension, values.iter().map(size));
            let largest = sizes.iter().copied().fold(0.0, f64::max);
            let room = |&size: &f64| if size > 0.0 { libm::floor(libm::log2(largest / size)) as i32 } else { MOST };
            sizes.iter().map(room).collect::<Vec<i32>>()
        };
        let less = |one: Vec<i32>, other: Vec<i32>| one.iter().zip(&other).map(|(a, b)| *a.min(b)).collect();
        self.scaled.iter().map(of).reduce(less).unwrap_or_default()
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
            // The larger of two is that of their multiples, too.
            Primitive::Positive(value, f64::INFINITY)
            | Primitive::MultiplyAdd {
                start: None,
                product: Some((value, Atom::Constant(1.0))),
                square: false,
                negative: false,
                whole: false,
                ..
            } => {
                let powers = self.powers(&value).ok()??;
                self.carry((number, &nest), &powers, None)
            }
            Primitive::Divide { dividend, divisor, down: false } => {
                let ((iterator, more), None) = (self.powers(&dividend).ok()??, self.powers(&divisor).ok()?) else {
                    return None;
                };
                self.scale(number, &divisor, (iterator, more)).map(|taker| self.takers.push(taker))
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
                    (Some(powers), None) => drop(self.scale(number, b, powers.clone())?),
                    (None, Some(powers)) => drop(self.scale(number, a, powers.clone())?),
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
                && let Some(taker) = self.scale(number, factor, minus(powers))
            {
                self.takers.push(taker);
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
        if negative { Some(()) } else { self.carry((number, nest), &powers, values) }
    }

    /// Let a result hold its values times powers of two: those that were seen, or that follow from what it is made of.
    fn carry(
        &mut self,
        (number, nest): (usize, &Nest),
        (iterator, more): &Powers,
        values: Option<Vec<(f64, f64)>>,
    ) -> Option<()> {
        let out = nest.out;
        if iterator.0 >= nest.free {
            return None;
        }
        let is_asked = self.program.names.iter().any(|(_, named)| *named == out)
            || self.program.updates.iter().any(|update| update.state == out || update.next == out);
        if is_asked || !self.program.tensors[out.0].role.is_computed() {
            return None;
        }
        self.carriers.push(number);
        let dimension = nest.out_index.iter().position(|form| form.as_iterator() == Some(*iterator))?;
        let columns = Columns { dimension, more: more.clone() };
        if let Some(known) = self.scaled.get(&out) {
            return (known.columns == columns).then_some(());
        }
        let written = self.program.nests.iter().filter(|nest| nest.out == out).count();
        let values = self.ranges.elements.get(&out.0).cloned().or(values.filter(|_| written == 1))?;
        let shape = self.program.tensors[out.0].shape.clone();
        let mut range: Option<(f64, f64)> = None;
        for (element, &(low, high)) in values.iter().enumerate() {
            let power = |value: f64| libm::ldexp(value, columns.of_element(&shape, element));
            let (low, high) = (power(low), power(high));
            range = Some(range.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
            if let Some(seen) = self.ranges.elements.get_mut(&out.0) {
                seen[element] = (low, high);
            }
        }
        self.ranges.tensors[out.0] = range;
        self.scaled.insert(out, Scaled { columns, values });
        Some(())
    }

    /// Multiply the values of an operand by powers of two along an iterator: a constant, or a product of constants.
    fn scale(&mut self, number: usize, atom: &Atom, powers: Powers) -> Option<(TensorId, usize)> {
        let Atom::Read(tensor, index) = atom else { return None };
        let (tensor, (iterator, more)) = (*tensor, powers);
        let dimension = index.iter().position(|form| form.as_iterator() == Some(iterator))?;
        let readers: Vec<usize> =
            (0..self.program.nests.len()).filter(|&n| reads(&self.program.nests[n]).contains(&tensor)).collect();
        let writers: Vec<usize> =
            (0..self.program.nests.len()).filter(|&n| self.program.nests[n].out == tensor).collect();
        match (&self.program.tensors[tensor.0].role, writers.as_slice()) {
            (Role::Parameter(_), []) => {
                let own = if readers.len() == 1 { tensor } else { self.copy(number, tensor) };
                self.multiply(own, &Columns { dimension, more })?;
                Some((own, dimension))
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
                Some((tensor, dimension))
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

/// Whether a nest writes zeros.
fn is_zero(nest: &Nest) -> bool {
    let Some(Primitive::MultiplyAdd { start: Some(Atom::Constant(start)), product: None, negative: false, .. }) =
        Primitive::of(nest)
    else {
        return false;
    };
    start == 0.0
}

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
