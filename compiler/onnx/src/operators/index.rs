//! Elements at indices that are values: gathering, choosing, sorting.

use crate::build::{Refusal, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, num, select};
use crate::graph::Lowering;
use arch::Code;
use compiler::tensor::{Affine, Aggregate};
use std::collections::BTreeMap;

/// Elements that are sorted when a file is read.
const SORTED: usize = 1 << 19;

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "Gather" => {
            let (x, index) = (c.input(0)?, c.input(1)?);
            let axis = c.axis("axis", 0, l.builder.rank(x))?;
            one(l.gather(x, index, axis)?)
        }
        "ArrayFeatureExtractor" => {
            let (x, index) = (c.input(0)?, c.input(1)?);
            let axis = l.builder.rank(x).saturating_sub(1);
            let count: i64 = l.builder.shape(index).iter().product();
            let index = l.builder.reshape(index, &[count])?;
            let value = l.gather(x, index, axis)?;
            let shape = l.builder.shape(value);
            one(if shape.len() == 1 { l.builder.reshape(value, &[1, count])? } else { value })
        }
        "GatherElements" => {
            let (x, index) = (c.input(0)?, c.input(1)?);
            let axis = c.axis("axis", 0, l.builder.rank(x))?;
            let (shape, extent) = (l.builder.shape(index), l.builder.shape(x)[axis]);
            one(l.builder.map(&shape, x.kind, |b, at| {
                let place = from_front(b.read(index, at), extent);
                let own = |(n, at): (usize, &Affine)| if n == axis { place.clone() } else { Ex::At(at.clone()) };
                Ex::Gather(x.id, at.iter().enumerate().map(own).collect())
            })?)
        }
        "GatherND" => one(gather_nd(l, c)?),
        "OneHot" => one(one_hot(l, c)?),
        "TopK" => largest(l, c).map(Some),
        "ReverseSequence" => one(reversed(l, c)?),
        "Compress" => one(compressed(l, c)?),
        "NonZero" => one(nonzero(l, c)?),
        "Unique" => unique(l, c).map(Some),
        _ => Ok(None),
    }
}

/// An index that may count from the end.
pub(crate) fn from_front(index: Ex, extent: i64) -> Ex {
    select(index.clone().lt(0.0), index.clone() + extent as f64, index)
}

impl Lowering<'_, '_> {
    /// Elements of an axis at indices, which take its place.
    pub(crate) fn gather(&mut self, x: Val, index: Val, axis: usize) -> Translated<Val> {
        let (own, indices) = (self.builder.shape(x), self.builder.shape(index));
        if axis >= own.len() {
            return misfit(format!("{own:?} has no axis {axis}"));
        }
        let shape: Vec<i64> = own[..axis].iter().chain(&indices).chain(&own[axis + 1..]).copied().collect();
        let extent = own[axis];
        if let Some(known) = self.builder.known(index) {
            let places: Vec<i64> =
                known.iter().map(|&place| place as i64).map(|p| if p < 0 { p + extent } else { p }).collect();
            let value = self.pick(x, axis, &places)?;
            return self.builder.reshape(value, &shape);
        }
        let count = indices.len();
        self.builder.map(&shape, x.kind, |b, at| {
            let place = from_front(b.read(index, &at[axis..axis + count]), extent);
            let outer = at[..axis].iter().map(|at| Ex::At(at.clone()));
            let inner = at[axis + count..].iter().map(|at| Ex::At(at.clone()));
            Ex::Gather(x.id, outer.chain([place]).chain(inner).collect())
        })
    }
}

fn gather_nd(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, index) = (c.input(0)?, c.input(1)?);
    let (own, indices) = (l.builder.shape(x), l.builder.shape(index));
    let batch = usize::try_from(c.int("batch_dims", 0)).unwrap_or(0);
    let Some((&depth, outer)) = indices.split_last() else { return misfit("its indices are a number") };
    let depth = usize::try_from(depth).unwrap_or(0);
    if batch + depth > own.len() || batch > outer.len() {
        return misfit(format!("indices of {depth} into {own:?}"));
    }
    let shape: Vec<i64> = outer.iter().chain(&own[batch + depth..]).copied().collect();
    l.builder.map(&shape, x.kind, |b, at| {
        let (places, inner) = at.split_at(outer.len());
        let index_at = |n: usize| {
            let at: Vec<Affine> = places.iter().cloned().chain([Affine::constant(n as i64)]).collect();
            from_front(b.read(index, &at), own[batch + n])
        };
        let first = places[..batch].iter().map(|at| Ex::At(at.clone()));
        let last = inner.iter().map(|at| Ex::At(at.clone()));
        Ex::Gather(x.id, first.chain((0..depth).map(index_at)).chain(last).collect())
    })
}

fn one_hot(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (index, values) = (c.input(0)?, c.input(2)?);
    let depth = *l.static_ints(c.input(1)?, "depth")?.first().unwrap_or(&0);
    let mut shape = l.builder.shape(index);
    let axis = c.axis("axis", -1, shape.len() + 1)?;
    shape.insert(axis, depth);
    l.builder.map(&shape, values.kind, |b, at| {
        let mut outer = at.to_vec();
        let own = outer.remove(axis);
        let value = |n: i64| Ex::Read(values.id, vec![Affine::constant(n)]);
        let place = from_front(b.read(index, &outer), depth);
        select(place.equals(Ex::At(own)), value(1), value(0))
    })
}

/// Each element's place in the order is the number of those that come before it.
fn largest(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let x = c.input(0)?;
    let own = l.builder.shape(x);
    let axis = c.axis("axis", -1, own.len())?;
    let count = match c.attribute("k").and_then(|a| a.integer) {
        Some(k) => k,
        None => *l.static_ints(c.input(1)?, "k")?.first().unwrap_or(&0),
    };
    if count < 0 || count > own[axis] {
        return misfit(format!("{count} of {} elements", own[axis]));
    }
    let up = c.int("largest", 1) == 0;
    l.builder.store(x);
    let place = l.builder.reduce(&own, &[own[axis]], Kind::INT64, Aggregate::Add, |b, at, other| {
        let mut index = at.to_vec();
        index[axis] = other[0].clone();
        let (own, other_value) = (b.read(x, at), b.read(x, &index));
        let ahead = if up { other_value.clone().lt(own.clone()) } else { other_value.clone().gt(own.clone()) };
        let earlier = Ex::At(other[0].plus(-1, &at[axis])).lt(0.0);
        ahead.or(other_value.equals(own).and(earlier))
    })?;
    let mut shape = own.clone();
    shape[axis] = count;
    let mut results = Vec::new();
    for values in [true, false] {
        let kind = if values { x.kind } else { Kind::INT64 };
        let result = l.builder.reduce(&shape, &[own[axis]], kind, Aggregate::Add, |b, at, other| {
            let mut index = at.to_vec();
            index[axis] = other[0].clone();
            let value = if values { b.read(x, &index) } else { Ex::At(other[0].clone()) };
            select(b.read(place, &index).equals(Ex::At(at[axis].clone())), value, num(0.0))
        })?;
        results.push(Slot::Tensor(result));
    }
    Ok(results)
}

fn reversed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, lengths) = (c.input(0)?, c.input(1)?);
    let shape = l.builder.shape(x);
    let (time, batch) = (c.axis("time_axis", 0, shape.len())?, c.axis("batch_axis", 1, shape.len())?);
    l.builder.map(&shape, x.kind, |b, at| {
        let length = b.read(lengths, &at[batch..=batch]);
        let own = Ex::At(at[time].clone());
        let place = select(own.clone().lt(length.clone()), length - own.clone() - 1.0, own);
        let index = |(n, at): (usize, &Affine)| if n == time { place.clone() } else { Ex::At(at.clone()) };
        Ex::Gather(x.id, at.iter().enumerate().map(index).collect())
    })
}

fn compressed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let mut x = c.input(0)?;
    let kept = l.static_numbers(c.input(1)?, "condition")?;
    let own = l.builder.shape(x);
    let axis = if c.attribute("axis").is_some() {
        c.axis("axis", 0, own.len())?
    } else {
        x = l.builder.reshape(x, &[own.iter().product()])?;
        0
    };
    let places: Vec<i64> = (0..).zip(&kept).filter(|&(_, &kept)| kept != 0.0).map(|(place, _)| place).collect();
    l.pick(x, axis, &places)
}

fn nonzero(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let values = l.static_numbers(x, "operand")?;
    let places: Vec<usize> =
        values.iter().enumerate().filter(|&(_, &value)| value != 0.0).map(|(place, _)| place).collect();
    let mut rows = Vec::new();
    for n in 0..shape.len() {
        let inner: i64 = shape[n + 1..].iter().product();
        rows.extend(places.iter().map(|&place| (place as i64 / inner % shape[n]) as f64));
    }
    l.builder.constants(&[shape.len() as i64, places.len() as i64], Kind::INT64, rows)
}

fn unique(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let x = c.input(0)?;
    if c.attribute("axis").is_some() {
        return c.refuse("axis");
    }
    let values = l.static_numbers(x, "operand")?;
    if values.len() > SORTED {
        return Err(Refusal::new(Code::Limit, format!("its operand has more than {SORTED} elements")));
    }
    if values.iter().any(|value| value.is_nan()) {
        return Err(Refusal::new(Code::Unsupported, "an element is not a number"));
    }
    // Both zeros are one value.
    let key = |value: f64| (value + 0.0).to_bits();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mut found: Vec<(f64, usize, usize)> = Vec::new();
    for (place, &value) in values.iter().enumerate() {
        let known = *places.entry(key(value)).or_insert(found.len());
        match found.get_mut(known) {
            Some(known) => known.2 += 1,
            None => found.push((value, place, 1)),
        }
    }
    if c.int("sorted", 1) != 0 {
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        places = found.iter().enumerate().map(|(n, known)| (key(known.0), n)).collect();
    }
    let inverse: Vec<f64> = values.iter().map(|&value| places[&key(value)] as f64).collect();
    let lists = [
        (x.kind, found.iter().map(|known| known.0).collect::<Vec<f64>>()),
        (Kind::INT64, found.iter().map(|known| known.1 as f64).collect()),
        (Kind::INT64, inverse),
        (Kind::INT64, found.iter().map(|known| known.2 as f64).collect()),
    ];
    lists
        .into_iter()
        .map(|(kind, list)| Ok(Slot::Tensor(l.builder.constants(&[list.len() as i64], kind, list)?)))
        .collect()
}
