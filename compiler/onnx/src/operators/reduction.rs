//! Several elements become one: sums and extremes along axes, and where the extreme is.

use super::elementwise::logarithm;
use super::integers::quotient;
use super::layout::axes;
use super::norm::from_axis;
use crate::build::{Loops, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, fixed, it, num, select};
use crate::graph::Lowering;
use compiler::tensor::{Affine, Aggregate, Function};

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    let name = c.node.operator;
    match name {
        "ArgMax" | "ArgMin" => return one(extreme(l, c)?),
        "Hardmax" => return one(from_axis(l, c, hardmax)?),
        "CumSum" | "CumProd" => return one(running(l, c)?),
        _ => {}
    }
    if !name.starts_with("Reduce") {
        return Ok(None);
    }
    let x = c.input(0)?;
    let rank = l.builder.rank(x);
    let axes = axes(l, c, 1, rank)?.unwrap_or_default();
    if axes.is_empty() && c.int("noop_with_empty_axes", 0) != 0 {
        let value = l.builder.apply(x, |x| match name {
            "ReduceL1" | "ReduceL2" => call(Function::Abs, x),
            "ReduceLogSum" => call(Function::Log, x),
            "ReduceSumSquare" => x.squared(),
            _ => x,
        })?;
        return one(value);
    }
    let axes = if axes.is_empty() { (0..rank).collect() } else { axes };
    let keep = c.int("keepdims", 1) != 0;
    let value = reduce(l, x, &axes, name)?;
    let mut shape = l.builder.shape(x);
    if !keep {
        return one(value);
    }
    for &n in &axes {
        shape[n] = 1;
    }
    one(l.builder.reshape(value, &shape)?)
}

/// A reduction along axes, which are gone then.
fn reduce(l: &mut Lowering<'_, '_>, x: Val, axes: &[usize], name: &str) -> Translated<Val> {
    let count: i64 = axes.iter().map(|&n| l.builder.shape(x)[n]).product();
    let add = Aggregate::Add;
    Ok(match name {
        "ReduceSum" => l.along(x, axes, add, |x| x)?,
        "ReduceMean" => {
            let sum = l.along(x, axes, add, |x| x)?;
            let kind = x.kind;
            let mean =
                |x: Ex| if kind.is_int() { quotient(x, num(count as f64), kind) } else { x * (1.0 / count as f64) };
            l.builder.apply(sum, mean)?
        }
        // Of no elements the least or largest value that the type has.
        "ReduceMax" | "ReduceMin" if count == 0 && !matches!(x.kind, Kind::Real(_)) => {
            let (low, high) = x.kind.limits().unwrap_or((0.0, 1.0));
            l.along(x, axes, add, |_| num(0.0))
                .and_then(|none| l.builder.apply(none, |_| num(if name == "ReduceMax" { low } else { high })))?
        }
        "ReduceMax" => l.along(x, axes, Aggregate::Max, |x| x)?,
        "ReduceMin" => l.along(x, axes, Aggregate::Min, |x| x)?,
        "ReduceProd" => l.along(x, axes, Aggregate::Mul, |x| x)?,
        "ReduceL1" => l.along(x, axes, add, |x| call(Function::Abs, x))?,
        "ReduceSumSquare" => l.along(x, axes, add, Ex::squared)?,
        "ReduceL2" => {
            let sum = l.along(x, axes, add, Ex::squared)?;
            // Between two integers, so that the root of neither is cut off to another one in words.
            let middle = if x.kind.is_int() { 0.5 } else { 0.0 };
            l.builder.apply(sum, |x| call(Function::Sqrt, if middle > 0.0 { x + middle } else { x }))?
        }
        "ReduceLogSum" => {
            let sum = l.along(x, axes, add, |x| x)?;
            logarithm(l, sum)?
        }
        "ReduceLogSumExp" => {
            let (total, most) = l.exponentials(Val { kind: Kind::FLOAT, ..x }, axes)?;
            let total = logarithm(l, total)?;
            l.builder.zip(&[total, most], x.kind, |x| x[0].clone() + x[1].clone())?
        }
        _ => {
            return crate::build::unsupported(
                format!("the operator {name} is not supported"),
                "docs/models.md lists those that are",
            );
        }
    })
}

fn there_are(axes: &[usize], shape: &[i64]) -> Translated<()> {
    match axes.iter().find(|&&axis| axis >= shape.len()) {
        Some(axis) => misfit(format!("{shape:?} has no axis {axis}")),
        None => Ok(()),
    }
}

impl Lowering<'_, '_> {
    /// Values combined along axes, which are gone then.
    pub(crate) fn along(
        &mut self,
        x: Val,
        axes: &[usize],
        aggregate: Aggregate,
        body: impl FnOnce(Ex) -> Ex,
    ) -> Translated<Val> {
        let own = self.builder.shape(x);
        there_are(axes, &own)?;
        let kept: Vec<usize> = (0..own.len()).filter(|n| !axes.contains(n)).collect();
        let shape: Vec<i64> = kept.iter().map(|&n| own[n]).collect();
        let over: Vec<i64> = axes.iter().map(|&n| own[n]).collect();
        self.builder.reduce(&shape, &over, x.kind, aggregate, |_, at, inner| {
            let mut index = vec![Affine::default(); own.len()];
            kept.iter().zip(at).for_each(|(&n, at)| index[n] = at.clone());
            axes.iter().zip(inner).for_each(|(&n, at)| index[n] = at.clone());
            body(Ex::Read(x.id, index))
        })
    }

    /// The same with the axes kept as extents of 1.
    pub(crate) fn along_kept(
        &mut self,
        x: Val,
        axes: &[usize],
        aggregate: Aggregate,
        body: impl FnOnce(Ex) -> Ex,
    ) -> Translated<Val> {
        let own = self.builder.shape(x);
        there_are(axes, &own)?;
        let kept: Vec<usize> = (0..own.len()).filter(|n| !axes.contains(n)).collect();
        let extents = |list: &[usize]| -> Vec<i64> { list.iter().map(|&n| own[n]).collect() };
        let (mut shape, mut out, mut index) = (own.clone(), vec![fixed(0); own.len()], vec![fixed(0); own.len()]);
        for (place, &n) in kept.iter().enumerate() {
            (out[n], index[n]) = (it(place), it(place));
        }
        for (place, &n) in axes.iter().enumerate() {
            index[n] = it(kept.len() + place);
            shape[n] = 1;
        }
        let loops = match axes {
            [] => Loops::each(&own),
            axes => Loops::over(&extents(&kept), &extents(axes), aggregate),
        };
        let begun = self.builder.begin(&shape, x.kind)?;
        self.builder.nest(begun.0, out, &loops, &body(Ex::Read(x.id, index)))?;
        Ok(self.builder.finish(begun))
    }

    /// Sums of exponentials along axes, less the largest exponent, and that.
    fn exponentials(&mut self, x: Val, axes: &[usize]) -> Translated<(Val, Val)> {
        let most = self.along_kept(x, axes, Aggregate::Max, |x| x)?;
        let most =
            self.builder.apply(most, |x| select(call(Function::Abs, x.clone()).equals(f64::INFINITY), num(0.0), x))?;
        let powers = self.builder.zip(&[x, most], x.kind, |x| call(Function::Exp, x[0].clone() - x[1].clone()))?;
        let total = self.along(powers, axes, Aggregate::Add, |x| x)?;
        let shape = self.builder.shape(total);
        let most = self.builder.reshape(most, &shape)?;
        Ok((total, most))
    }

    /// The first (or last) index along an axis at which a value equals an extreme.
    fn place(&mut self, x: Val, most: Val, axis: usize, last: bool) -> Translated<Val> {
        self.builder.store(x);
        let own = self.builder.shape(x);
        let mut shape = own.clone();
        let extent = shape.remove(axis);
        let (aggregate, none) = if last { (Aggregate::Max, -1.0) } else { (Aggregate::Min, extent as f64) };
        self.builder.reduce(&shape, &[extent], Kind::INT64, aggregate, |b, at, inner| {
            let mut index = at.to_vec();
            index.insert(axis, inner[0].clone());
            select(b.read(x, &index).equals(b.read(most, at)), Ex::At(inner[0].clone()), num(none))
        })
    }
}

fn extreme(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let axis = c.axis("axis", 0, l.builder.rank(x))?;
    let aggregate = if c.node.operator == "ArgMax" { Aggregate::Max } else { Aggregate::Min };
    let most = l.along(x, &[axis], aggregate, |x| x)?;
    let place = l.place(x, most, axis, c.int("select_last_index", 0) != 0)?;
    let mut shape = l.builder.shape(x);
    shape[axis] = 1;
    if c.int("keepdims", 1) != 0 { l.builder.reshape(place, &shape) } else { Ok(place) }
}

fn hardmax(l: &mut Lowering<'_, '_>, x: Val, axis: usize) -> Translated<Val> {
    let most = l.along(x, &[axis], Aggregate::Max, |x| x)?;
    let place = l.place(x, most, axis, false)?;
    let shape = l.builder.shape(x);
    l.builder.map(&shape, x.kind, |b, at| {
        let mut outer = at.to_vec();
        let own = outer.remove(axis);
        b.read(place, &outer).equals(Ex::At(own))
    })
}

/// Sums or products of all elements up to one.
fn running(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let axis = crate::call::axis(l.static_number(c.input(1)?, "axis")? as i64, shape.len())?;
    let aggregate = if c.node.operator == "CumSum" { Aggregate::Add } else { Aggregate::Mul };
    let none = if aggregate == Aggregate::Add { 0.0 } else { 1.0 };
    let (exclusive, reverse) = (c.int("exclusive", 0) != 0, c.int("reverse", 0) != 0);
    l.builder.reduce(&shape, &[shape[axis]], x.kind, aggregate, |b, at, inner| {
        let mut index = at.to_vec();
        index[axis] = inner[0].clone();
        let ahead = at[axis].plus(-1, &inner[0]);
        let ahead = Ex::At(if reverse { Affine::default().plus(-1, &ahead) } else { ahead });
        let taken = if exclusive { ahead.gt(0.0) } else { ahead.ge(0.0) };
        select(taken, b.read(x, &index), num(none))
    })
}
