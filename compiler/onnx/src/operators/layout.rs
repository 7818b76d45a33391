//! The same elements in other places: shapes, orders, parts, repetitions.

use crate::build::{Loops, Refusal, Translated, Val, misfit, unsupported};
use crate::call::{Call, Slot, axis};
use crate::elements::{Kind, count};
use crate::expression::{Ex, call as call_function, fixed, it, num};
use crate::graph::Lowering;
use arch::Code;
use compiler::tensor::{Affine, Function};

/// Copies that the elements of a dimension may take.
const RUNS: usize = 64;

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "Reshape" => one(reshape(l, c)?),
        "Flatten" => {
            let x = c.input(0)?;
            let shape = l.builder.shape(x);
            let at = c.int("axis", 1);
            let at = if at == shape.len() as i64 { shape.len() } else { axis(at, shape.len().max(1))? };
            one(l.builder.reshape(x, &[shape[..at].iter().product(), shape[at..].iter().product()])?)
        }
        "Squeeze" => one(squeeze(l, c)?),
        "Unsqueeze" => one(unsqueeze(l, c)?),
        "Transpose" => one(transpose(l, c)?),
        "Concat" => one(concat(l, c)?),
        "Split" => split(l, c).map(Some),
        "Slice" => one(slice(l, c)?),
        "Pad" => one(pad(l, c)?),
        "CenterCropPad" => one(center(l, c)?),
        "Expand" => {
            let x = c.input(0)?;
            let wanted = l.static_ints(c.input(1)?, "shape")?;
            let shape = crate::build::broadcast_shapes(&[l.builder.shape(x), wanted.clone()])?;
            one(l.builder.expand(x, &shape)?)
        }
        "Tile" => one(tile(l, c)?),
        "Shape" => one(shape(l, c)?),
        "Size" => {
            let count: i64 = l.builder.shape(c.input(0)?).iter().product();
            one(l.builder.scalar(Kind::INT64, count as f64)?)
        }
        "Constant" => one(constant(l, c)?),
        "ConstantOfShape" => one(filled(l, c)?),
        "Range" => one(range(l, c)?),
        "HannWindow" => one(window(l, c, [0.5, 0.5, 0.0])?),
        "HammingWindow" => one(window(l, c, [25.0 / 46.0, 21.0 / 46.0, 0.0])?),
        "BlackmanWindow" => one(window(l, c, [0.42, 0.5, 0.08])?),
        "EyeLike" => one(eye(l, c)?),
        "Trilu" => one(triangle(l, c)?),
        "DepthToSpace" | "SpaceToDepth" => one(blocks(l, c)?),
        _ => Ok(None),
    }
}

fn unsqueeze(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let own = l.builder.shape(x);
    let given = match c.ints("axes") {
        Some(axes) => axes,
        None => l.static_ints(c.input(1)?, "axes")?,
    };
    let rank = own.len() + given.len();
    let axes: Vec<usize> = given.iter().map(|&a| axis(a, rank)).collect::<Translated<_>>()?;
    let mut rest = own.into_iter();
    let shape: Vec<i64> = (0..rank).map(|n| if axes.contains(&n) { 1 } else { rest.next().unwrap_or(1) }).collect();
    l.builder.reshape(x, &shape)
}

fn transpose(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let rank = l.builder.rank(x);
    let order = match c.ints("perm") {
        Some(order) => order.iter().map(|&n| axis(n, rank)).collect::<Translated<_>>()?,
        None => (0..rank).rev().collect::<Vec<usize>>(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return misfit(format!("perm is {order:?}, which does not name each of {rank} dimensions once"));
    }
    l.builder.transpose(x, &order)
}

/// Every repetition has loops of its own.
fn tile(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let repeats = l.static_ints(c.input(1)?, "repeats")?;
    let own = l.builder.shape(x);
    if repeats.len() != own.len() || repeats.iter().any(|&n| n < 0) {
        return misfit(format!("{} repeats for {} dimensions", repeats.len(), own.len()));
    }
    let shape: Vec<i64> = own.iter().zip(&repeats).map(|(extent, n)| extent * n).collect();
    let loops: Vec<i64> = repeats.iter().chain(&own).copied().collect();
    let rank = own.len();
    let begun = l.builder.begin(&shape, x.kind)?;
    let out = (0..rank).map(|n| Affine::default().plus(own[n], &it(n)).plus(1, &it(rank + n))).collect();
    l.builder.nest(begun.0, out, &Loops::each(&loops), &Ex::Read(x.id, (rank..2 * rank).map(it).collect()))?;
    Ok(l.builder.finish(begun))
}

fn shape(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let rank = shape.len() as i64;
    let clamp = |n: i64| (if n < 0 { n + rank } else { n }).clamp(0, rank) as usize;
    let (start, end) = (clamp(c.int("start", 0)), clamp(c.int("end", rank)));
    let part: Vec<f64> = shape[start.min(end)..end].iter().map(|&extent| extent as f64).collect();
    l.builder.constants(&[part.len() as i64], Kind::INT64, part)
}

fn filled(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let shape = l.static_ints(c.input(0)?, "shape")?;
    let value = match c.attribute("value") {
        Some(attribute) => Some(l.attribute_constants(attribute)?),
        None => None,
    };
    let kind = value.map_or(Kind::FLOAT, |value| value.kind);
    let number = value.and_then(|value| l.builder.known(value)?.first().copied()).unwrap_or(0.0);
    l.builder.map(&shape, kind, |_, _| num(number))
}

fn range(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let first = c.input(0)?;
    let number = |n: usize, what: &str| l.static_number(c.input(n)?, what);
    let (start, limit, step) = (number(0, "start")?, number(1, "limit")?, number(2, "delta")?);
    let count = ((limit - start) / step).ceil().max(0.0);
    if !count.is_finite() {
        return misfit(format!("a range from {start} to {limit} by {step} has no end"));
    }
    l.builder.map(&[count as i64], first.kind, |_, at| Ex::At(at[0].clone()) * step + start)
}

fn eye(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let kind = c.attribute("dtype").and_then(|a| a.integer).map_or(Some(x.kind), Kind::of_number);
    let Some(kind) = kind else { return c.refuse("dtype") };
    let k = c.int("k", 0);
    if shape.len() != 2 {
        return misfit(format!("{shape:?} is not a matrix"));
    }
    l.builder.map(&shape, kind, |_, at| Ex::At(at[1].plus(-1, &at[0]).plus(1, &fixed(-k))).equals(0.0))
}

fn triangle(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let k = match c.optional(1)? {
        Some(k) => l.static_number(k, "k")? as i64,
        None => 0,
    };
    let upper = c.int("upper", 1) != 0;
    let (shape, rank) = (l.builder.shape(x), l.builder.rank(x));
    if rank < 2 {
        return misfit("it works on matrices");
    }
    l.builder.map(&shape, x.kind, |b, at| {
        let beyond = Ex::At(at[rank - 1].plus(-1, &at[rank - 2]).plus(1, &fixed(-k)));
        let kept = if upper { beyond.ge(0.0) } else { beyond.le(0.0) };
        crate::expression::select(kept, b.read(x, at), num(0.0))
    })
}

fn squeeze(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let axes = axes(l, c, 1, shape.len())?;
    let all = axes.is_none();
    let axes = axes.unwrap_or_default();
    let kept = |n: usize, extent: i64| if all { extent != 1 } else { !axes.contains(&n) };
    let shape: Vec<i64> = shape.iter().enumerate().filter(|&(n, &e)| kept(n, e)).map(|(_, &e)| e).collect();
    l.builder.reshape(x, &shape)
}

fn concat(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let values = c.inputs()?;
    if values.is_empty() {
        return misfit("it has no operands");
    }
    let at = c.axis("axis", 1, l.builder.rank(values[0]))?;
    l.builder.concat(&values, at)
}

fn reshape(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let target = match c.ints("shape") {
        Some(shape) => shape,
        None => l.static_ints(c.input(1)?, "shape")?,
    };
    let shape = resolve(&l.builder.shape(x), &target, c.int("allowzero", 0) != 0)?;
    l.builder.reshape(x, &shape)
}

/// `a - b * cos(t) + c * cos(2 * t)`, where `t` goes around once: up to the last element, or to the one behind it if the window is periodic.
fn window(l: &mut Lowering<'_, '_>, call: &Call<'_, '_>, [a, b, c]: [f64; 3]) -> Translated<Val> {
    let size = l.static_number(call.input(0)?, "size")?;
    let kind = Kind::of_number(call.int("output_datatype", 1)).filter(|kind| matches!(kind, Kind::Real(_)));
    let Some(kind) = kind else { return call.refuse("output_datatype") };
    if size < 0.0 {
        return misfit(format!("a window has no {size} elements"));
    }
    let steps = if call.int("periodic", 1) != 0 { size } else { size - 1.0 };
    l.builder.map(&[size as i64], kind, |_, at| {
        if steps < 1.0 {
            return num(1.0);
        }
        let cosine =
            |turns: f64| call_function(Function::Cos, Ex::At(at[0].clone()) * (turns * std::f64::consts::TAU / steps));
        cosine(1.0) * -b + cosine(2.0) * c + a
    })
}

/// A shape with -1 for what is left over, and 0 for what stays.
fn resolve(own: &[i64], target: &[i64], zero_is_zero: bool) -> Translated<Vec<i64>> {
    let mut shape = Vec::new();
    for (n, &extent) in target.iter().enumerate() {
        shape.push(match extent {
            0 if !zero_is_zero => *own.get(n).ok_or_else(|| {
                Refusal::new(Code::Shape, format!("the shape {target:?} keeps dimension {n}, which is not there"))
            })?,
            extent => extent,
        });
    }
    if let Some(open) = shape.iter().position(|&extent| extent == -1) {
        let total: i64 = own.iter().product();
        let others: i64 = shape
            .iter()
            .enumerate()
            .filter(|(n, _)| *n != open)
            .map(|(_, &extent)| extent)
            .try_fold(1i64, i64::checked_mul)
            .unwrap_or(0);
        if others <= 0 || total % others != 0 {
            return misfit(format!("{own:?} cannot become {target:?}"));
        }
        shape[open] = total / others;
    }
    Ok(shape)
}

/// Axes of a setting or of a constant operand.
pub(crate) fn axes(
    l: &Lowering<'_, '_>,
    c: &Call<'_, '_>,
    operand: usize,
    rank: usize,
) -> Translated<Option<Vec<usize>>> {
    let given = match (c.ints("axes"), c.optional(operand)?) {
        (Some(axes), _) => axes,
        (None, Some(value)) => l.static_ints(value, "axes")?,
        (None, None) => return Ok(None),
    };
    given.iter().map(|&given| axis(given, rank)).collect::<Translated<_>>().map(Some)
}

fn split(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let at = c.axis("axis", 0, shape.len())?;
    let given = match (c.ints("split"), c.optional(1)?) {
        (Some(sizes), _) => Some(sizes),
        (None, Some(sizes)) => Some(l.static_ints(sizes, "split")?),
        (None, None) => None,
    };
    let outputs = c.node.outputs.len() as i64;
    if given.is_none() && c.int("num_outputs", outputs) != outputs {
        return misfit(format!("it has {outputs} outputs, num_outputs asks for another number"));
    }
    let sizes = given.unwrap_or_else(|| {
        let parts = outputs.max(1);
        let each = (shape[at] + parts - 1) / parts;
        (0..parts).map(|n| (shape[at] - n * each).clamp(0, each)).collect()
    });
    if sizes.iter().any(|&size| size < 0) || sizes.iter().sum::<i64>() != shape[at] {
        return misfit(format!("the parts {sizes:?} do not make {}", shape[at]));
    }
    let mut start = 0;
    let mut parts = Vec::new();
    for size in sizes {
        parts.push(Slot::Tensor(l.builder.part(x, at, start, size, 1)?));
        start += size;
    }
    Ok(parts)
}

fn slice(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let list = |operand: usize, name: &str| -> Translated<Option<Vec<i64>>> {
        match (c.ints(name), c.optional(operand)?) {
            (Some(values), _) => Ok(Some(values)),
            (None, Some(value)) => l.static_ints(value, name).map(Some),
            (None, None) => Ok(None),
        }
    };
    let missing = || Refusal::new(Code::Arity, "its starts or ends are missing");
    let (starts, ends) = (list(1, "starts")?.ok_or_else(missing)?, list(2, "ends")?.ok_or_else(missing)?);
    let axes = list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return misfit("its starts, ends, axes and steps are not equally many");
    }
    let mut offsets = vec![(0, 1); shape.len()];
    let mut counts = shape.clone();
    for n in 0..starts.len() {
        let at = axis(axes[n], shape.len())?;
        let (extent, step) = (shape[at], steps[n]);
        let counted = |value: i64| if value < 0 { value.saturating_add(extent) } else { value };
        let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
        let start = counted(starts[n]).clamp(if step > 0 { 0 } else { -1 }, high.max(low));
        let end = if step < 0 && ends[n] < -extent { -1 } else { counted(ends[n]).clamp(low, extent) };
        if step == 0 {
            return misfit("a step is 0");
        }
        let count = if step > 0 {
            (end - start + step - 1).div_euclid(step)
        } else {
            (start - end - step - 1).div_euclid(-step)
        };
        counts[at] = count.max(0);
        offsets[at] = (start, step);
    }
    l.builder.map(&counts, x.kind, |_, at| {
        let index = at.iter().zip(&offsets).map(|(at, &(start, step))| fixed(start).plus(step, at));
        Ex::Read(x.id, index.collect())
    })
}

fn pad(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let rank = shape.len();
    let pads = match c.ints("pads").or_else(|| c.ints("paddings")) {
        Some(pads) => pads,
        None => l.static_ints(c.input(1)?, "pads")?,
    };
    let axes = match c.optional(3)? {
        Some(axes) => l.static_ints(axes, "axes")?.iter().map(|&a| axis(a, rank)).collect::<Translated<Vec<_>>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return misfit(format!("{} pads for {} axes", pads.len(), axes.len()));
    }
    let (mut before, mut after) = (vec![0; rank], vec![0; rank]);
    for (n, &at) in axes.iter().enumerate() {
        before[at] = pads[n];
        after[at] = pads[axes.len() + n];
    }
    let mode = c.text("mode", "constant");
    let value = c.optional(2)?;
    let number = c.float("value", 0.0);
    l.pad(x, &before, &after, &mode, value.map_or(Filling::Number(number), Filling::Value))
}

/// What stands around a value.
#[derive(Clone, Copy)]
pub(crate) enum Filling {
    /// A number.
    Number(f64),
    /// A tensor of one element.
    Value(Val),
}

impl Lowering<'_, '_> {
    /// A value with elements added before and after each dimension, or taken away.
    pub(crate) fn pad(
        &mut self,
        x: Val,
        before: &[i64],
        after: &[i64],
        mode: &str,
        filling: Filling,
    ) -> Translated<Val> {
        let b = &mut self.builder;
        let own = b.shape(x);
        let rank = own.len();
        let shape: Vec<i64> = (0..rank).map(|n| own[n].saturating_add(before[n]).saturating_add(after[n])).collect();
        if shape.iter().any(|&extent| extent < 0) {
            return misfit("more is taken away than there is");
        }
        // Places are listed one by one below.
        if count(&shape, b.most()).is_none() {
            return Err(Refusal::new(Code::Limit, format!("a result of the shape {shape:?} is too large")));
        }
        if mode == "constant" {
            let begun = b.begin(&shape, x.kind)?;
            let at: Vec<Affine> = (0..rank).map(it).collect();
            if shape != own || before.iter().any(|&n| n != 0) {
                let fill = match filling {
                    Filling::Number(number) => num(number),
                    Filling::Value(value) => Ex::Read(value.id, vec![fixed(0); b.rank(value)]),
                };
                b.nest(begun.0, at.clone(), &Loops::each(&shape), &fill)?;
            }
            // Only what is inside of both.
            let first: Vec<i64> = before.iter().map(|&n| (-n).max(0)).collect();
            let counts: Vec<i64> = (0..rank).map(|n| own[n] - first[n] - (-after[n]).max(0)).collect();
            if counts.iter().all(|&count| count > 0) {
                let index = (0..rank).map(|n| fixed(before[n].max(0)).plus(1, &at[n])).collect();
                let read = (0..rank).map(|n| fixed(first[n]).plus(1, &at[n])).collect();
                b.nest(begun.0, index, &Loops::each(&counts), &Ex::Read(x.id, read))?;
            }
            return Ok(b.finish(begun));
        }
        let source = |n: usize, at: i64| -> i64 {
            let (extent, place) = (own[n], at - before[n]);
            match mode {
                "edge" => place.clamp(0, extent - 1),
                "wrap" => place.rem_euclid(extent),
                _ if extent == 1 => 0,
                _ => {
                    let period = 2 * (extent - 1);
                    let place = place.rem_euclid(period);
                    if place < extent { place } else { period - place }
                }
            }
        };
        if !matches!(mode, "edge" | "wrap" | "reflect") {
            return unsupported(
                format!("padding with mode {mode} is not supported"),
                "constant, edge, reflect and wrap are",
            );
        }
        // One dimension after the other, in runs of neighbours.
        let mut value = x;
        for n in 0..rank {
            if before[n] == 0 && after[n] == 0 {
                continue;
            }
            let places: Vec<i64> = (0..shape[n]).map(|at| source(n, at)).collect();
            value = self.pick(value, n, &places)?;
        }
        Ok(value)
    }

    /// Elements of a dimension at known places, copied in runs; many short runs are one statement with a table of places.
    pub(crate) fn pick(&mut self, x: Val, at: usize, places: &[i64]) -> Translated<Val> {
        let b = &mut self.builder;
        let mut shape = b.shape(x);
        if let Some(&wrong) = places.iter().find(|&&place| !(0..shape[at]).contains(&place)) {
            return Err(Refusal::new(
                Code::Bounds,
                format!("the index {wrong} is outside of an extent of {}", shape[at]),
            ));
        }
        shape[at] = places.len() as i64;
        let mut runs = Vec::new();
        let mut start = 0;
        while start < places.len() {
            let step = places.get(start + 1).map_or(1, |next| next - places[start]);
            let mut end = start + 1;
            while end < places.len() && places[end] - places[end - 1] == step {
                end += 1;
            }
            runs.push((start, end - start, step));
            start = end;
        }
        if runs.len() > RUNS {
            let table = b.constants(&[places.len() as i64], Kind::INT64, places.iter().map(|&n| n as f64).collect())?;
            return b.map(&shape, x.kind, |b, index| {
                let own = |n: usize| if n == at { b.read(table, &index[at..=at]) } else { Ex::At(index[n].clone()) };
                Ex::Gather(x.id, (0..index.len()).map(own).collect())
            });
        }
        let begun = b.begin(&shape, x.kind)?;
        for (start, count, step) in runs {
            let mut loops = shape.clone();
            loops[at] = count as i64;
            let (mut out, mut index): (Vec<Affine>, Vec<Affine>) =
                ((0..shape.len()).map(it).collect(), (0..shape.len()).map(it).collect());
            out[at] = fixed(start as i64).plus(1, &it(at));
            index[at] = fixed(places[start]).plus(step, &it(at));
            b.nest(begun.0, out, &Loops::each(&loops), &Ex::Read(x.id, index))?;
        }
        Ok(b.finish(begun))
    }
}

fn center(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let own = l.builder.shape(x);
    let wanted = l.static_ints(c.input(1)?, "shape")?;
    let axes = match c.ints("axes") {
        Some(axes) => axes.iter().map(|&a| axis(a, own.len())).collect::<Translated<Vec<_>>>()?,
        None => (0..own.len()).collect(),
    };
    let (mut before, mut after) = (vec![0; own.len()], vec![0; own.len()]);
    for (&at, &extent) in axes.iter().zip(&wanted) {
        let more = extent - own[at];
        before[at] = if more >= 0 { more / 2 } else { -(-more / 2) };
        after[at] = more - before[at];
    }
    l.pad(x, &before, &after, "constant", Filling::Number(0.0))
}

fn constant(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let b = &mut l.builder;
    let Some(attribute) = c.node.attributes.first() else {
        return Err(Refusal::new(Code::Arity, "it has no value"));
    };
    match attribute.name {
        "value" | "sparse_value" => l.attribute_constants(attribute),
        "value_float" => b.scalar(Kind::FLOAT, c.float("value_float", 0.0)),
        "value_int" => b.scalar(Kind::INT64, c.int("value_int", 0) as f64),
        "value_floats" => {
            let values = c.floats("value_floats").unwrap_or_default();
            b.constants(&[values.len() as i64], Kind::FLOAT, values)
        }
        "value_ints" => {
            let values: Vec<f64> = attribute.integers.iter().map(|&value| value as f64).collect();
            b.constants(&[values.len() as i64], Kind::INT64, values)
        }
        _ => c.refuse(attribute.name),
    }
}

fn blocks(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let size = c.int("blocksize", 1);
    let [n, channels, h, w] = l.builder.shape(x)[..] else { return misfit("it works on four dimensions") };
    if !(1..1 << 15).contains(&size) {
        return misfit(format!("the block size is {size}"));
    }
    if c.node.operator == "SpaceToDepth" {
        if h % size != 0 || w % size != 0 {
            return misfit(format!("{h} x {w} does not consist of blocks of {size}"));
        }
        let split = l.builder.reshape(x, &[n, channels, h / size, size, w / size, size])?;
        let order = if c.text("mode", "DCR") == "DCR" { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
        let turned = l.builder.transpose(split, &order)?;
        return l.builder.reshape(turned, &[n, channels * size * size, h / size, w / size]);
    }
    if channels % (size * size) != 0 {
        return misfit(format!("{channels} channels do not make blocks of {size} x {size}"));
    }
    let depth = channels / (size * size);
    let (shape, order) = if c.text("mode", "DCR") == "DCR" {
        ([n, size, size, depth, h, w], [0, 3, 4, 1, 5, 2])
    } else {
        ([n, depth, size, size, h, w], [0, 1, 4, 2, 5, 3])
    };
    let split = l.builder.reshape(x, &shape)?;
    let turned = l.builder.transpose(split, &order)?;
    l.builder.reshape(turned, &[n, depth, h * size, w * size])
}
