//! `com.microsoft`, as onnxruntime's quantiser writes it: operators between a scale and a zero point of each operand and those of the result.
//!
//! Operands become real numbers, which is exact, the operator is that of the real numbers, and its result is rounded once.

use super::dynamic;
use crate::build::{Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::select;
use crate::graph::Lowering;
use crate::model::Node;

/// The version whose operators the real numbers take.
const VERSION: i64 = 17;

/// Translate an operator of this kind.
pub(super) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Val>> {
    Ok(Some(match c.node.operator {
        "QLinearAdd" => of_two(l, c, "Add")?,
        "QLinearMul" => of_two(l, c, "Mul")?,
        "QLinearSigmoid" => of_one(l, c, "Sigmoid")?,
        "QLinearLeakyRelu" => of_one(l, c, "LeakyRelu")?,
        "QLinearSoftmax" => of_one(l, c, "Softmax")?,
        "QLinearReduceMean" => of_one(l, c, "ReduceMean")?,
        "QLinearAveragePool" => pooled(l, c, "AveragePool")?,
        "QLinearGlobalAveragePool" => pooled(l, c, "GlobalAveragePool")?,
        "QLinearConcat" => concatenated(l, c)?,
        "QLinearWhere" => {
            let (yes, no) = (real(l, c, 1)?, real(l, c, 4)?);
            let value = l
                .builder
                .zip(&[c.input(0)?, yes, no], Kind::FLOAT, |x| select(x[0].clone(), x[1].clone(), x[2].clone()))?;
            whole(l, c, value, 7)?
        }
        "QGemm" => {
            let (a, b) = (real(l, c, 0)?, real(l, c, 3)?);
            let scales = [c.input(1)?, c.input(4)?];
            let bias = match c.optional(6)? {
                Some(bias) => Some(l.builder.zip(&[bias, scales[0], scales[1]], Kind::FLOAT, |x| {
                    x[0].clone() * x[1].clone() * x[2].clone() * c.float("alpha", 1.0)
                })?),
                None => None,
            };
            let value = l.plain(c, "Gemm", &[Some(a), Some(b), bias])?;
            if c.optional(7)?.is_some() { whole(l, c, value, 7)? } else { value }
        }
        "MatMulIntegerToFloat" => {
            let a = l.dequantise(c, c.input(0)?, (c.input(2)?, c.optional(4)?))?;
            let b = l.dequantise(c, c.input(1)?, (c.input(3)?, c.optional(5)?))?;
            product(l, a, b, c.optional(6)?)?
        }
        "DynamicQuantizeMatMul" => {
            let [value, scale, zero] = dynamic(l, c, c.input(0)?)?;
            let a = l.dequantise(c, value, (scale, Some(zero)))?;
            let b = l.dequantise(c, c.input(1)?, (c.input(2)?, c.optional(3)?))?;
            product(l, a, b, c.optional(4)?)?
        }
        _ => return Ok(None),
    }))
}

impl Lowering<'_, '_> {
    /// The first result of an operator of ONNX with the settings of this node.
    fn plain(&mut self, c: &Call<'_, '_>, operator: &'static str, operands: &[Option<Val>]) -> Translated<Val> {
        let node = Node { operator, domain: "", ..c.node.clone() };
        let operands = operands.iter().map(|value| value.map(Slot::Tensor)).collect();
        let inner = Call { node: &node, version: VERSION, operands };
        match super::super::simple(self, &inner)?.first() {
            Some(Slot::Tensor(value)) => Ok(*value),
            _ => misfit("it has no result"),
        }
    }
}

/// Operand `n`, whose scale and zero point follow it, as real numbers.
fn real(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, n: usize) -> Translated<Val> {
    l.dequantise(c, c.input(n)?, (c.input(n + 1)?, c.optional(n + 2)?))
}

/// A result in the scale and zero point that are operands from `n` on.
fn whole(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, value: Val, n: usize) -> Translated<Val> {
    let zero = c.optional(n + 1)?;
    let kind = zero.map_or(Kind::Int { bits: 8, signed: false }, |zero| zero.kind);
    l.quantise(c, value, (c.input(n)?, zero), kind)
}

fn of_one(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, operator: &'static str) -> Translated<Val> {
    let x = real(l, c, 0)?;
    let value = l.plain(c, operator, &[Some(x)])?;
    whole(l, c, value, 3)
}

fn of_two(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, operator: &'static str) -> Translated<Val> {
    let (a, b) = (real(l, c, 0)?, real(l, c, 3)?);
    let value = l.plain(c, operator, &[Some(a), Some(b)])?;
    whole(l, c, value, 6)
}

/// Pools, whose channels may come last.
fn pooled(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, operator: &'static str) -> Translated<Val> {
    let x = real(l, c, 0)?;
    let value = l.plain(c, operator, &[Some(x)])?;
    whole(l, c, value, 3)
}

fn concatenated(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let count = c.operands.len().saturating_sub(2) / 3;
    let parts = (0..count).map(|n| real(l, c, 2 + 3 * n)).collect::<Translated<Vec<_>>>()?;
    let parts: Vec<_> = parts.into_iter().map(Some).collect();
    let value = l.plain(c, "Concat", &parts)?;
    whole(l, c, value, 0)
}

fn product(l: &mut Lowering<'_, '_>, a: Val, b: Val, bias: Option<Val>) -> Translated<Val> {
    let value = l.matmul(a, b)?;
    match bias {
        Some(bias) => l.builder.zip(&[value, bias], Kind::FLOAT, |x| x[0].clone() + x[1].clone()),
        None => Ok(value),
    }
}
