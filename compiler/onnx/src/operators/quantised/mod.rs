//! Quantised values: whole numbers that stand for `scale * (value - zero)`, computed exactly.

mod brevitas;
mod linear;
pub(super) mod tflite;

use crate::build::{Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{num, select};
use crate::graph::Lowering;
use compiler::tensor::Aggregate;

/// Translate an operator of this kind.
#[expect(clippy::too_many_lines, reason = "one arm per operator")]
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    let int32 = Kind::Int { bits: 32, signed: true };
    match c.node.operator {
        "QuantizeLinear" => {
            let (x, scale, zero) = (c.input(0)?, c.input(1)?, c.optional(2)?);
            let named = c.attribute("output_dtype").and_then(|a| a.integer).and_then(Kind::of_number);
            let kind = zero.map(|zero| zero.kind).or(named).unwrap_or(Kind::Int { bits: 8, signed: false });
            one(l.quantise(c, x, (scale, zero), kind)?)
        }
        "DequantizeLinear" => {
            let (x, scale, zero) = (c.input(0)?, c.input(1)?, c.optional(2)?);
            one(l.dequantise(c, x, (scale, zero))?)
        }
        "DynamicQuantizeLinear" => {
            let parts = dynamic(l, c, c.input(0)?)?;
            Ok(Some(parts.into_iter().map(Slot::Tensor).collect()))
        }
        "QLinearMatMul" => {
            let a = l.dequantise(c, c.input(0)?, (c.input(1)?, c.optional(2)?))?;
            let b = l.dequantise(c, c.input(3)?, (c.input(4)?, c.optional(5)?))?;
            let product = l.matmul(a, b)?;
            one(l.quantise(c, product, (c.input(6)?, c.optional(7)?), c.input(7)?.kind)?)
        }
        "QLinearConv" => {
            let x = l.dequantise(c, c.input(0)?, (c.input(1)?, c.optional(2)?))?;
            let (scale, zero) = (c.input(4)?, c.optional(5)?);
            let w = l.dequantise_along(c.input(3)?, (scale, zero), 0)?;
            let mut value = l.convolution(c, x, w)?;
            if let Some(bias) = c.optional(8)? {
                let factor = c.input(1)?;
                let bias = l
                    .builder
                    .zip(&[bias, scale, factor], Kind::FLOAT, |x| x[0].clone() * x[1].clone() * x[2].clone())?;
                value = l.with_bias(value, Some(bias))?;
            }
            one(l.quantise(c, value, (c.input(6)?, c.optional(7)?), c.input(7)?.kind)?)
        }
        "MatMulInteger" => {
            let a = less_zero(l, c.input(0)?, c.optional(2)?, true)?;
            let b = less_zero(l, c.input(1)?, c.optional(3)?, false)?;
            let value = l.matmul(a, b)?;
            one(Val { kind: int32, ..value })
        }
        "ConvInteger" => {
            let x = less_zero(l, c.input(0)?, c.optional(2)?, false)?;
            let w = match c.optional(3)? {
                Some(zero) if l.builder.rank(zero) == 1 => {
                    let ones: Vec<i64> =
                        std::iter::repeat_n(1, l.builder.rank(c.input(1)?).saturating_sub(1)).collect();
                    let shape = [l.builder.shape(zero), ones].concat();
                    let zero = l.builder.reshape(zero, &shape)?;
                    less_zero(l, c.input(1)?, Some(zero), false)?
                }
                zero => less_zero(l, c.input(1)?, zero, false)?,
            };
            let value = l.convolution(c, x, w)?;
            one(Val { kind: int32, ..value })
        }
        _ => match brevitas::translate(l, c)? {
            Some(value) => one(value),
            None => linear::translate(l, c).map(|found| found.map(|value| vec![Slot::Tensor(value)])),
        },
    }
}

/// A value less its zero point; of rows where there is one for each.
fn less_zero(l: &mut Lowering<'_, '_>, x: Val, zero: Option<Val>, rows: bool) -> Translated<Val> {
    let int32 = Kind::Int { bits: 32, signed: true };
    let Some(mut zero) = zero else { return Ok(Val { kind: int32, ..x }) };
    let shape = l.builder.shape(zero);
    if rows && shape.len() == 1 && shape[0] > 1 {
        zero = l.builder.reshape(zero, &[shape[0], 1])?;
    }
    l.builder.zip(&[x, zero], int32, |x| x[0].clone() - x[1].clone())
}

impl Lowering<'_, '_> {
    /// A scale or zero point as it repeats along a value: one number, one per element of an axis, or one per block of it.
    fn spread(&mut self, c: &Call<'_, '_>, value: Val, like: Val) -> Translated<Val> {
        let (own, shape) = (self.builder.shape(value), self.builder.shape(like));
        if own.iter().product::<i64>() == 1 {
            return self.builder.reshape(value, &[]);
        }
        let block = c.int("block_size", 0);
        if own.len() == 1 && block == 0 {
            let axis = c.axis("axis", 1, shape.len())?;
            return self.spread_along(value, like, axis);
        }
        if own.len() != shape.len() {
            return misfit(format!("a scale of {own:?} for a value of {shape:?}"));
        }
        let axis = c.axis("axis", 1, shape.len())?;
        let block = if block > 0 { block } else { (shape[axis] + own[axis] - 1) / own[axis].max(1) };
        let places: Vec<i64> = (0..shape[axis]).map(|at| (at / block).min(own[axis] - 1)).collect();
        self.pick(value, axis, &places)
    }

    fn spread_along(&mut self, value: Val, like: Val, axis: usize) -> Translated<Val> {
        let own = self.builder.shape(value);
        if own.iter().product::<i64>() == 1 {
            return self.builder.reshape(value, &[]);
        }
        let mut shape = vec![1; self.builder.rank(like)];
        let Some(place) = shape.get_mut(axis) else {
            return misfit(format!("a scale of {own:?} for a value of {:?}", self.builder.shape(like)));
        };
        *place = own.iter().product();
        self.builder.reshape(value, &shape)
    }

    fn quantise(&mut self, c: &Call<'_, '_>, x: Val, (scale, zero): (Val, Option<Val>), kind: Kind) -> Translated<Val> {
        let scale = self.spread(c, scale, x)?;
        let zero = zero.map(|zero| self.spread(c, zero, x)).transpose()?;
        let values: Vec<Val> = [x, scale].into_iter().chain(zero).collect();
        let Some((low, high)) = kind.limits() else {
            let value = self.builder.zip(&values, Kind::FLOAT, |x| x[0].clone() / x[1].clone())?;
            return self.cast(value, kind, c.int("saturate", 1) != 0);
        };
        self.builder.zip(&values, kind, |x| {
            let rounded = (x[0].clone() / x[1].clone()).round_even();
            // The zero point comes last, so that a dequantiser takes it away again.
            match x.get(2).cloned() {
                Some(zero) => rounded.max(num(low) - zero.clone()).min(num(high) - zero.clone()) + zero,
                None => rounded.max(low).min(high),
            }
        })
    }

    fn dequantise(&mut self, c: &Call<'_, '_>, x: Val, (scale, zero): (Val, Option<Val>)) -> Translated<Val> {
        let scale = self.spread(c, scale, x)?;
        let zero = zero.map(|zero| self.spread(c, zero, x)).transpose()?;
        self.scaled(x, scale, zero)
    }

    fn dequantise_along(&mut self, x: Val, (scale, zero): (Val, Option<Val>), axis: usize) -> Translated<Val> {
        let scale = self.spread_along(scale, x, axis)?;
        let zero = zero.map(|zero| self.spread_along(zero, x, axis)).transpose()?;
        self.scaled(x, scale, zero)
    }

    fn scaled(&mut self, x: Val, scale: Val, zero: Option<Val>) -> Translated<Val> {
        let values: Vec<Val> = [x, scale].into_iter().chain(zero).collect();
        self.builder.zip(&values, Kind::FLOAT, |x| {
            let moved = match x.get(2) {
                Some(zero) => x[0].clone() - zero.clone(),
                None => x[0].clone(),
            };
            moved * x[1].clone()
        })
    }
}

/// A value in 8 bits without sign, with the scale and the zero point that its own extremes give.
fn dynamic(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, x: Val) -> Translated<[Val; 3]> {
    let kind = Kind::Int { bits: 8, signed: false };
    let all: Vec<usize> = (0..l.builder.rank(x)).collect();
    let most = l.along(x, &all, Aggregate::Max, |x| x)?;
    let least = l.along(x, &all, Aggregate::Min, |x| x)?;
    let scale = l.builder.zip(&[most, least], x.kind, |x| {
        let range = x[0].clone().max(0.0) - x[1].clone().min(0.0);
        // Of zeros only the scale may be anything.
        select(range.clone().equals(0.0), num(1.0), range / 255.0)
    })?;
    let zero = l.builder.zip(&[least, scale], kind, |x| {
        (num(0.0) - x[0].clone().min(0.0) / x[1].clone()).round_even().max(0.0).min(255.0)
    })?;
    Ok([l.quantise(c, x, (scale, Some(zero)), kind)?, scale, zero])
}
