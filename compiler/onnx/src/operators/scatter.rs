//! Values put where indices say: every element of the result asks which of them it gets.
//!
//!     o[p] = d[p] + sum[q](u[q] * (i[q] == p))

use super::index::from_front;
use crate::build::{Loops, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::expression::{Ex, it, num, select};
use crate::graph::Lowering;
use compiler::tensor::{Affine, Aggregate};

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "ScatterElements" | "Scatter" => one(elements(l, c)?),
        "ScatterND" => one(slices(l, c)?),
        "MaxUnpool" => one(unpool(l, c)?),
        _ => Ok(None),
    }
}

/// What comes to an element, and whether anything does, as a value of data and update.
fn combined(l: &mut Lowering<'_, '_>, kind: &str, parts: Parts) -> Translated<Val> {
    let Parts { data, shape, over, hit, update, start } = parts;
    let at: Vec<Affine> = (0..shape.len()).map(it).collect();
    let old = Ex::Read(data.id, start.unwrap_or_else(|| at.clone()));
    // What is not hit changes nothing.
    let (aggregate, none) = match kind {
        "mul" => (Aggregate::Mul, num(1.0)),
        "max" => (Aggregate::Max, old.clone()),
        "min" => (Aggregate::Min, old.clone()),
        _ => (Aggregate::Add, num(0.0)),
    };
    let loops = Loops::over(&shape, &over, aggregate);
    let total = l.builder.nested(&shape, data.kind, &loops, &select(hit.clone(), update, none))?;
    if kind == "none" {
        let any = l.builder.nested(&shape, data.kind, &Loops::over(&shape, &over, Aggregate::Max), &hit)?;
        return l.builder.map(&shape, data.kind, |b, at| select(b.read(any, at), b.read(total, at), old));
    }
    l.builder.map(&shape, data.kind, |b, at| {
        let new = b.read(total, at);
        match kind {
            "mul" => old * new,
            "max" => old.max(new),
            "min" => old.min(new),
            _ => old + new,
        }
    })
}

/// The loops of a scatter.
struct Parts {
    data: Val,
    /// Free extents.
    shape: Vec<i64>,
    /// Extents of the updates.
    over: Vec<i64>,
    /// Whether an update is for an element.
    hit: Ex,
    /// The update.
    update: Ex,
    /// Element of the data, if not the same as that of the result.
    start: Option<Vec<Affine>>,
}

fn elements(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (data, index, update) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let (own, indices) = (l.builder.shape(data), l.builder.shape(index));
    let axis = c.axis("axis", 0, own.len())?;
    if indices.len() != own.len() {
        return misfit(format!("indices of {indices:?} for {own:?}"));
    }
    // Elements beside the updates stay.
    let mut shape = indices.clone();
    shape[axis] = own[axis];
    let mut place: Vec<Affine> = (0..own.len()).map(it).collect();
    place[axis] = it(own.len());
    let found = from_front(Ex::Read(index.id, place.clone()), own[axis]);
    let parts = Parts {
        data,
        hit: found.equals(Ex::At(it(axis))),
        update: Ex::Read(update.id, place),
        over: vec![indices[axis]],
        start: None,
        shape: shape.clone(),
    };
    let inner = combined(l, &c.text("reduction", "none"), parts)?;
    if shape == own {
        return Ok(inner);
    }
    let begun = l.builder.begin(&own, data.kind)?;
    let at: Vec<Affine> = (0..own.len()).map(it).collect();
    l.builder.nest(begun.0, at.clone(), &Loops::each(&own), &Ex::Read(data.id, at.clone()))?;
    l.builder.nest(begun.0, at.clone(), &Loops::each(&shape), &Ex::Read(inner.id, at))?;
    Ok(l.builder.finish(begun))
}

fn slices(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (data, index, update) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let (own, indices) = (l.builder.shape(data), l.builder.shape(index));
    let Some((&depth, outer)) = indices.split_last() else { return misfit("its indices are a number") };
    let depth = usize::try_from(depth).unwrap_or(0);
    if depth > own.len() {
        return misfit(format!("indices of {depth} into {own:?}"));
    }
    let first = own.len();
    let places: Vec<Affine> = (first..first + outer.len()).map(it).collect();
    let equal = (0..depth).map(|n| {
        let at: Vec<Affine> = places.iter().cloned().chain([Affine::constant(n as i64)]).collect();
        from_front(Ex::Read(index.id, at), own[n]).equals(Ex::At(it(n)))
    });
    let hit = equal.reduce(Ex::and).unwrap_or(num(1.0));
    let read = places.iter().cloned().chain((depth..own.len()).map(it)).collect();
    let over = if outer.is_empty() { vec![1] } else { outer.to_vec() };
    let parts = Parts { data, shape: own, over, hit, update: Ex::Read(update.id, read), start: None };
    combined(l, &c.text("reduction", "none"), parts)
}

fn unpool(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, index) = (c.input(0)?, c.input(1)?);
    let own = l.builder.shape(x);
    let spatial = own.len().saturating_sub(2);
    let kernel = c.ints("kernel_shape").unwrap_or_else(|| vec![1; spatial]);
    let strides = c.ints("strides").unwrap_or_else(|| vec![1; spatial]);
    let pads = c.ints("pads").unwrap_or_else(|| vec![0; 2 * spatial]);
    if kernel.len() != spatial || strides.len() != spatial || pads.len() != 2 * spatial {
        return misfit("its settings do not fit its operand");
    }
    let extent = |n: usize| (own[2 + n] - 1) * strides[n] - pads[n] - pads[spatial + n] + kernel[n];
    let natural: Vec<i64> = own[..2].iter().copied().chain((0..spatial).map(extent)).collect();
    let shape = match c.optional(2)? {
        Some(shape) => l.static_ints(shape, "output_shape")?,
        None => natural.clone(),
    };
    // Indices count in the natural shape.
    let flat =
        (0..natural.len()).fold(Affine::default(), |flat, n| Affine::default().plus(natural[n], &flat).plus(1, &it(n)));
    let first = shape.len();
    let place: Vec<Affine> = (0..2).map(it).chain((first..first + spatial).map(it)).collect();
    let hit = Ex::Read(index.id, place.clone()).equals(Ex::At(flat));
    let over = own[2..].to_vec();
    let inner = Loops::over(&natural, &over, Aggregate::Add);
    let value = l.builder.nested(&natural, x.kind, &inner, &select(hit, Ex::Read(x.id, place), num(0.0)))?;
    if shape == natural {
        return Ok(value);
    }
    let (before, after): (Vec<i64>, Vec<i64>) = natural.iter().zip(&shape).map(|(from, to)| (0, to - from)).unzip();
    l.pad(value, &before, &after, "constant", super::layout::Filling::Number(0.0))
}
