//! Pooling: the largest, mean or norm of windows, or of whole channels.

use super::convolution::{channels_last, windows, with_channel};
use crate::build::{Loops, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, call2, fixed, it, num, select};
use crate::graph::Lowering;
use compiler::tensor::{Affine, Aggregate, Function, IterId};

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "MaxPool" => largest(l, c).map(Some),
        "AveragePool" => one(mean(l, c)?),
        "LpPool" => one(norm(l, c)?),
        "GlobalMaxPool" | "GlobalAveragePool" | "GlobalLpPool" => {
            let x = c.input(0)?;
            let (rank, last) = (l.builder.rank(x), usize::from(channels_last(c)));
            let axes: Vec<usize> = (2 - last..rank.saturating_sub(last)).collect();
            let count: i64 = axes.iter().map(|&n| l.builder.shape(x)[n]).product();
            let power = c.int("p", 2) as f64;
            one(match c.node.operator {
                "GlobalMaxPool" => l.along_kept(x, &axes, Aggregate::Max, |x| x)?,
                "GlobalAveragePool" => {
                    let sum = l.along_kept(x, &axes, Aggregate::Add, |x| x)?;
                    l.builder.apply(sum, |x| x * (1.0 / count as f64))?
                }
                _ => {
                    let sum = l.along_kept(x, &axes, Aggregate::Add, |x| raised(x, power))?;
                    l.builder.apply(sum, |x| root(x, power))?
                }
            })
        }
        _ => Ok(None),
    }
}

fn raised(x: Ex, power: f64) -> Ex {
    match power {
        1.0 => call(Function::Abs, x),
        2.0 => x.squared(),
        power => call2(Function::Pow, call(Function::Abs, x), num(power)),
    }
}

fn root(x: Ex, power: f64) -> Ex {
    match power {
        1.0 => x,
        2.0 => call(Function::Sqrt, x),
        power => call2(Function::Pow, x, num(1.0 / power)),
    }
}

/// A value of each window.
struct Pooling {
    loops: Loops,
    /// Of an element of a window.
    index: Vec<Affine>,
    shape: Vec<i64>,
    /// The first spatial dimension.
    spatial: usize,
}

fn pooling(l: &Lowering<'_, '_>, c: &Call<'_, '_>, x: Val, aggregate: Aggregate) -> Translated<Pooling> {
    let own = l.builder.shape(x);
    let rank = own.len();
    if rank < 3 {
        return misfit(format!("{own:?} has no spatial dimensions"));
    }
    let kernel = c.ints("kernel_shape").unwrap_or_default();
    let last = channels_last(c);
    let (channel, spatial) = if last { (rank - 1, 1) } else { (1, 2) };
    let extents = &own[spatial..spatial + rank - 2];
    let windows = windows(c, extents, kernel)?;
    let shape = with_channel(own[0], own[channel], windows.out.iter().copied(), last);
    let of_windows: Vec<Affine> = (spatial..spatial + rank - 2).map(it).collect();
    let of_kernel: Vec<Affine> = (rank..2 * rank - 2).map(it).collect();
    let places = windows.places(&of_windows, &of_kernel);
    let loops = windows.inside(Loops::over(&shape, &windows.kernel, aggregate), &places, extents);
    let index = with_channel(it(0), it(channel), places, last);
    Ok(Pooling { loops, index, shape, spatial })
}

fn largest(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let x = c.input(0)?;
    let Pooling { loops, index, shape, .. } = pooling(l, c, x, Aggregate::Max)?;
    let value = l.builder.nested(&shape, x.kind, &loops, &Ex::Read(x.id, index.clone()))?;
    if !c.wants(1) {
        return Ok(vec![Slot::Tensor(value)]);
    }
    if channels_last(c) {
        return c.refuse("channels_last");
    }
    // The place of the first element that is the largest one.
    l.builder.store(x);
    let own = l.builder.shape(x);
    let columns = c.int("storage_order", 0) != 0;
    let order: Vec<usize> =
        if columns { [0, 1].into_iter().chain((2..own.len()).rev()).collect() } else { (0..own.len()).collect() };
    let flat =
        order.iter().fold(Affine::default(), |flat, &n| Affine::default().plus(own[n], &flat).plus(1, &index[n]));
    let at: Vec<Affine> = (0..shape.len()).map(it).collect();
    let count: i64 = own.iter().product();
    let found = select(Ex::Read(x.id, index).equals(Ex::Read(value.id, at)), Ex::At(flat), num(count as f64));
    let loops = Loops { aggregate: Aggregate::Min, ..loops };
    let place = l.builder.nested(&shape, Kind::INT64, &loops, &found)?;
    Ok(vec![Slot::Tensor(value), Slot::Tensor(place)])
}

fn mean(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let Pooling { loops, index, shape, spatial: first } = pooling(l, c, x, Aggregate::Add)?;
    let sum = l.builder.nested(&shape, x.kind, &loops, &Ex::Read(x.id, index.clone()))?;
    let size: i64 = loops.over.iter().product();
    if loops.guards.is_empty() {
        return l.builder.apply(sum, |x| x * (1.0 / size as f64));
    }
    // How many elements each window has; a constant. Padding that is asked for may count, padding by rounding up never does.
    let padded = c.int("count_include_pad", 0) != 0;
    let own = l.builder.shape(x);
    let spatial = own.len() - 2;
    let asked = c.text("auto_pad", "NOTSET") == "NOTSET";
    let pads = asked.then(|| c.ints("pads").filter(|pads| !pads.is_empty()).unwrap_or_else(|| vec![0; 2 * spatial]));
    let (free, over) = (shape[first..first + spatial].to_vec(), loops.over.clone());
    let mut count = Loops::over(&free, &over, Aggregate::Add);
    for n in 0..spatial {
        // The same place, with the iterators of these loops.
        let moved = |IterId(id)| IterId(if id < own.len() { id - first } else { id - own.len() + spatial });
        let terms = index[first + n].terms.iter().map(|&(id, factor)| (moved(id), factor)).collect();
        let place = Affine { offset: index[first + n].offset, terms };
        let (low, high) = match (&pads, padded) {
            (Some(pads), true) => (pads[n], pads[spatial + n]),
            _ => (0, 0),
        };
        let (value, bound) = if padded && pads.is_none() {
            (fixed(0), 1)
        } else {
            (fixed(low).plus(1, &place), own[first + n] + low + high)
        };
        count = count.within(value, bound);
    }
    let part = l.builder.nested(&free, x.kind, &count, &num(1.0))?;
    let part = l.builder.apply(part, |x| num(1.0) / x)?;
    // Every channel has the same ones.
    let part = if channels_last(c) { l.builder.reshape(part, &[&free[..], &[1]].concat())? } else { part };
    l.builder.zip(&[sum, part], x.kind, |x| x[0].clone() * x[1].clone())
}

fn norm(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let power = c.int("p", 2) as f64;
    let Pooling { loops, index, shape, .. } = pooling(l, c, x, Aggregate::Add)?;
    let sum = l.builder.nested(&shape, x.kind, &loops, &raised(Ex::Read(x.id, index), power))?;
    l.builder.apply(sum, |x| root(x, power))
}
