//! Several elements become one, and functions of rows.

use super::Op;
use super::layout::{slice, transposed};
use crate::graph::{Graph, Translated, bounds, refuse};
use crate::write::Setting;

/// Reductions, with the operators of ONNX.
const REDUCTIONS: &[(&str, &str)] = &[
    ("MEAN", "ReduceMean"),
    ("REDUCE_ALL", "ReduceMin"),
    ("REDUCE_ANY", "ReduceMax"),
    ("REDUCE_MAX", "ReduceMax"),
    ("REDUCE_MIN", "ReduceMin"),
    ("REDUCE_PROD", "ReduceProd"),
    ("SUM", "ReduceSum"),
];

/// Translate an operator of this kind.
pub(super) fn translate(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    if let Some((_, operator)) = REDUCTIONS.iter().find(|(name, _)| *name == op.name) {
        reduced(g, op, operator)?;
        return Ok(true);
    }
    let last = ("axis", Setting::Int(-1));
    let value = match op.name {
        "SOFTMAX" => {
            let x = g.real(op.input(0)?)?;
            let x = g.times(&x, op.float(0)?);
            g.node("Softmax", &[&x], &[last])
        }
        "LOG_SOFTMAX" => {
            let x = g.real(op.input(0)?)?;
            g.node("LogSoftmax", &[&x], &[last])
        }
        "L2_NORMALIZATION" => {
            let x = g.real(op.input(0)?)?;
            g.node("LpNormalization", &[&x], &[last, ("p", Setting::Int(2))])
        }
        "LOCAL_RESPONSE_NORMALIZATION" => local(g, op)?,
        _ => return Ok(false),
    };
    let activation = if op.name == "L2_NORMALIZATION" { op.byte(0)? } else { 0 };
    g.set_real(op.output()?, &value, activation)?;
    Ok(true)
}

fn reduced(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, operator: &str) -> Translated<()> {
    let (x, out) = (op.input(0)?, op.output()?);
    let axes = g.known(op.input(1)?, "axes")?;
    let mut settings = vec![("keepdims", Setting::Int(i64::from(op.flag(0)?)))];
    if axes.is_empty() {
        let value = g.operand_like(x, out)?;
        g.set(out, value);
        return Ok(());
    }
    settings.push(("axes", Setting::Ints(axes)));
    match (g.scheme(x)?, g.scheme(out)?, operator) {
        (_, _, "ReduceMax" | "ReduceMin") => {
            let value = g.operand_like(x, out)?;
            let value = g.node(operator, &[&value], &settings);
            g.set(out, value);
        }
        // Linear: integers are added up, and scaled and rounded once.
        (Some(own), Some(wanted), "ReduceMean" | "ReduceSum") => {
            let value = g.value(x)?;
            let value = g.node(operator, &[&value], &settings);
            let value = g.requantised(&value, &[own.scale / wanted.scale], wanted, bounds(wanted, 0)?);
            g.set(out, value);
        }
        _ => {
            let value = g.real(x)?;
            let value = g.node(operator, &[&value], &settings);
            g.set_real(out, &value, 0)?;
        }
    }
    Ok(())
}

/// `x / (bias + alpha * sum of squares) ^ beta`, the sum from `radius` channels before up to the last one that is less than `radius` behind.
fn local(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<String> {
    let size = 2 * op.int(0, 0)?;
    if size < 2 {
        return refuse("its radius is less than 1", "`MUL` with a constant does the same");
    }
    let x = g.real(op.input(0)?)?;
    let x = transposed(g, &x, vec![0, 3, 1, 2]);
    // ONNX has the odd channel behind, and divides the sum by its size.
    let reverse = [(1, -1, i64::MIN, -1)];
    let x = slice(g, &x, &reverse);
    let settings = [
        ("alpha", Setting::Float(op.float(2)? * size as f64)),
        ("beta", Setting::Float(op.float(3)?)),
        ("bias", Setting::Float(op.float(1)?)),
        ("size", Setting::Int(size)),
    ];
    let value = g.node("LRN", &[&x], &settings);
    let value = slice(g, &value, &reverse);
    Ok(transposed(g, &value, vec![0, 2, 3, 1]))
}
