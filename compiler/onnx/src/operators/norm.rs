//! Normalisations: softmax and its logarithm, and those by mean and variance.

use crate::build::{Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::expression::{Ex, call, num};
use crate::graph::Lowering;
use compiler::tensor::{Affine, Aggregate, Function};

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "Softmax" | "LogSoftmax" => one(softmax(l, c)?),
        "BatchNormalization" => batch(l, c).map(Some),
        "InstanceNormalization" => {
            let (x, scale, bias) = (c.input(0)?, c.input(1)?, c.input(2)?);
            let axes: Vec<usize> = (2..l.builder.rank(x)).collect();
            let (value, ..) = l.normalised(x, &axes, c.float("epsilon", 1e-5))?;
            let (scale, bias) = (l.channels(scale, x)?, l.channels(bias, x)?);
            one(scaled(l, value, scale, Some(bias))?)
        }
        "GroupNormalization" => one(group(l, c)?),
        "LayerNormalization" => layer(l, c).map(Some),
        "RMSNormalization" | "SimplifiedLayerNormalization" => {
            let (x, scale) = (c.input(0)?, c.input(1)?);
            let from = c.axis("axis", -1, l.builder.rank(x))?;
            let axes: Vec<usize> = (from..l.builder.rank(x)).collect();
            let epsilon = c.float("epsilon", 1e-5);
            let squares = l.along_kept(x, &axes, Aggregate::Add, Ex::squared)?;
            let count: i64 = axes.iter().map(|&n| l.builder.shape(x)[n]).product();
            let rate = l.builder.apply(squares, |x| call(Function::Rsqrt, x * (1.0 / count as f64) + epsilon))?;
            let value = l.builder.zip(&[x, rate], x.kind, |x| x[0].clone() * x[1].clone())?;
            one(scaled(l, value, scale, None)?)
        }
        "MeanVarianceNormalization" => {
            let x = c.input(0)?;
            let given = c.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
            let rank = l.builder.rank(x);
            let axes = given.iter().map(|&a| crate::call::axis(a, rank)).collect::<Translated<Vec<_>>>()?;
            one(l.normalised(x, &axes, 1e-9)?.0)
        }
        "LpNormalization" => {
            let x = c.input(0)?;
            let axis = c.axis("axis", -1, l.builder.rank(x))?;
            let first = c.int("p", 2) == 1;
            let size =
                l.along_kept(x, &[axis], Aggregate::Add, |x| if first { call(Function::Abs, x) } else { x.squared() })?;
            let size = if first { size } else { l.builder.apply(size, |x| call(Function::Sqrt, x))? };
            one(l.builder.zip(&[x, size], x.kind, |x| {
                crate::expression::select(
                    x[1].clone().equals(0.0),
                    num(0.0),
                    x[0].clone() / (x[1].clone() + x[1].clone().equals(0.0)),
                )
            })?)
        }
        "LRN" => one(local(l, c)?),
        _ => Ok(None),
    }
}

fn softmax(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let logarithm = c.node.operator == "LogSoftmax";
    from_axis(l, c, |l, x, axis| l.softmax(x, axis, logarithm))
}

/// Work along an axis of the operand; before version 13 all dimensions from the axis on are one.
pub(super) fn from_axis<'a, 'b>(
    l: &mut Lowering<'a, 'b>,
    c: &Call<'_, '_>,
    work: impl FnOnce(&mut Lowering<'a, 'b>, Val, usize) -> Translated<Val>,
) -> Translated<Val> {
    let x = c.input(0)?;
    let own = l.builder.shape(x);
    if c.version >= 13 {
        let axis = c.axis("axis", -1, own.len())?;
        return work(l, x, axis);
    }
    let axis = c.axis("axis", 1, own.len())?;
    if own[axis + 1..].iter().all(|&extent| extent == 1) {
        return work(l, x, axis);
    }
    let flat = [own[..axis].iter().product(), own[axis..].iter().product()];
    let value = l.builder.reshape(x, &flat)?;
    let value = work(l, value, 1)?;
    l.builder.reshape(value, &own)
}

/// A value times a scale, plus a bias.
fn scaled(l: &mut Lowering<'_, '_>, x: Val, scale: Val, bias: Option<Val>) -> Translated<Val> {
    let values: Vec<Val> = [x, scale].into_iter().chain(bias).collect();
    l.builder.zip(&values, x.kind, |x| {
        let product = x[0].clone() * x[1].clone();
        match x.get(2) {
            Some(bias) => product + bias.clone(),
            None => product,
        }
    })
}

impl Lowering<'_, '_> {
    /// Exponentials along an axis, less the largest exponent, over their sum; or the logarithm of that.
    pub(crate) fn softmax(&mut self, x: Val, axis: usize, logarithm: bool) -> Translated<Val> {
        let most = self.along_kept(x, &[axis], Aggregate::Max, |x| x)?;
        let power = |x: Vec<Ex>| call(Function::Exp, x[0].clone() - x[1].clone());
        let powers = self.builder.zip(&[x, most], x.kind, power)?;
        let total = self.along_kept(powers, &[axis], Aggregate::Add, |x| x)?;
        if logarithm {
            let less = self.builder.zip(&[x, most], x.kind, |x| x[0].clone() - x[1].clone())?;
            return self.builder.zip(&[less, total], x.kind, |x| x[0].clone() - call(Function::Log, x[1].clone()));
        }
        self.builder.zip(&[powers, total], x.kind, |x| x[0].clone() / x[1].clone())
    }

    /// One number per channel, as a value that repeats along the other dimensions of `like`.
    pub(crate) fn channels(&mut self, value: Val, like: Val) -> Translated<Val> {
        let (rank, shape) = (self.builder.rank(like), self.builder.shape(value));
        if shape.len() != 1 || rank < 2 {
            return misfit(format!("{shape:?} is not one number for each channel"));
        }
        let shape: Vec<i64> = shape.into_iter().chain(std::iter::repeat_n(1, rank - 2)).collect();
        self.builder.reshape(value, &shape)
    }

    /// A value less its mean along axes, over its deviation; the mean and the reciprocal of the deviation.
    fn normalised(&mut self, x: Val, axes: &[usize], epsilon: f64) -> Translated<(Val, Val, Val)> {
        let count: i64 = axes.iter().map(|&n| self.builder.shape(x)[n]).product();
        let part = 1.0 / count as f64;
        let sum = self.along_kept(x, axes, Aggregate::Add, |x| x)?;
        let mean = self.builder.apply(sum, |x| x * part)?;
        let less = self.builder.zip(&[x, mean], x.kind, |x| x[0].clone() - x[1].clone())?;
        let squares = self.along_kept(less, axes, Aggregate::Add, Ex::squared)?;
        let rate = self.builder.apply(squares, |x| call(Function::Rsqrt, x * part + epsilon))?;
        let value = self.builder.zip(&[less, rate], x.kind, |x| x[0].clone() * x[1].clone())?;
        Ok((value, mean, rate))
    }
}

fn batch(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let x = c.input(0)?;
    let epsilon = c.float("epsilon", 1e-5);
    if c.int("training_mode", 0) != 0 {
        let axes: Vec<usize> = (0..l.builder.rank(x)).filter(|&n| n != 1).collect();
        let (value, mean, rate) = l.normalised(x, &axes, epsilon)?;
        let (scale, bias) = (l.channels(c.input(1)?, x)?, l.channels(c.input(2)?, x)?);
        let y = scaled(l, value, scale, Some(bias))?;
        let momentum = c.float("momentum", 0.9);
        let mut results = vec![Slot::Tensor(y)];
        let variance = l.builder.apply(rate, |x| num(1.0) / x.squared() - epsilon)?;
        for (n, now) in [(3, mean), (4, variance)] {
            let before = c.input(n)?;
            let shape = l.builder.shape(before);
            let now = l.builder.reshape(now, &shape)?;
            let mixed = l
                .builder
                .zip(&[before, now], before.kind, |x| x[0].clone() * momentum + x[1].clone() * (1.0 - momentum))?;
            results.push(Slot::Tensor(mixed));
        }
        return Ok(results);
    }
    // Constants are folded to one factor and one summand per channel.
    let (scale, bias, mean, variance) = (c.input(1)?, c.input(2)?, c.input(3)?, c.input(4)?);
    let factor =
        l.builder.zip(&[scale, variance], x.kind, |x| x[0].clone() * call(Function::Rsqrt, x[1].clone() + epsilon))?;
    let summand = l.builder.zip(&[bias, mean, factor], x.kind, |x| x[0].clone() - x[1].clone() * x[2].clone())?;
    let (factor, summand) = (l.channels(factor, x)?, l.channels(summand, x)?);
    Ok(vec![Slot::Tensor(scaled(l, x, factor, Some(summand))?)])
}

fn group(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, scale, bias) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let own = l.builder.shape(x);
    let groups = c.int("num_groups", 1);
    if own.len() < 2 || groups < 1 || own[1] % groups != 0 {
        return misfit(format!("{own:?} does not have {groups} groups of channels"));
    }
    let split: Vec<i64> = [own[0], groups, own[1] / groups].into_iter().chain(own[2..].iter().copied()).collect();
    let axes: Vec<usize> = (2..split.len()).collect();
    let value = l.builder.reshape(x, &split)?;
    let (value, ..) = l.normalised(value, &axes, c.float("epsilon", 1e-5))?;
    let mut per_channel = |value: Val| -> Translated<Val> {
        let [count] = l.builder.shape(value)[..] else { return misfit("its scale and bias are not lists of numbers") };
        if count == own[1] {
            return l.channels(value, x);
        }
        // Before version 21 there is one number per group.
        let column = l.builder.reshape(value, &[count, 1])?;
        let all = l.builder.expand(column, &[count, own[1] / count.max(1)])?;
        let all = l.builder.reshape(all, &[own[1]])?;
        l.channels(all, x)
    };
    let (scale, bias) = (per_channel(scale)?, per_channel(bias)?);
    let value = l.builder.reshape(value, &own)?;
    scaled(l, value, scale, Some(bias))
}

fn layer(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let (x, scale) = (c.input(0)?, c.input(1)?);
    let from = c.axis("axis", -1, l.builder.rank(x))?;
    let axes: Vec<usize> = (from..l.builder.rank(x)).collect();
    let (value, mean, rate) = l.normalised(x, &axes, c.float("epsilon", 1e-5))?;
    let y = scaled(l, value, scale, c.optional(2)?)?;
    Ok(vec![Slot::Tensor(y), Slot::Tensor(mean), Slot::Tensor(rate)])
}

/// Each element over a power of the squares of its neighbours along the channels.
fn local(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let (size, alpha, beta, bias) =
        (c.int("size", 1), c.float("alpha", 1e-4), c.float("beta", 0.75), c.float("bias", 1.0));
    let shape = l.builder.shape(x);
    if shape.len() < 2 || size < 1 {
        return misfit(format!("{size} neighbours along the channels of {shape:?}"));
    }
    let before = (size - 1) / 2;
    let at: Vec<Affine> = (0..shape.len()).map(crate::expression::it).collect();
    let place = crate::expression::scaled(&at[1], 1, -before).plus(1, &crate::expression::it(shape.len()));
    let mut index = at.clone();
    index[1] = place.clone();
    let loops = crate::build::Loops::over(&shape, &[size], Aggregate::Add).within(place, shape[1]);
    let squares = l.builder.nested(&shape, x.kind, &loops, &Ex::Read(x.id, index).squared())?;
    l.builder.zip(&[x, squares], x.kind, |x| {
        x[0].clone() / crate::expression::call2(Function::Pow, x[1].clone() * (alpha / size as f64) + bias, num(beta))
    })
}
