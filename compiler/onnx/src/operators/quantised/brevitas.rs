//! QONNX, as Brevitas writes it: quantisers whose scale, zero point and width are operands.

use crate::build::{Translated, Val};
use crate::call::Call;
use crate::expression::{Ex, call, num, select};
use crate::graph::Lowering;
use compiler::tensor::Function;

/// Translate an operator of this kind.
pub(super) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Val>> {
    Ok(Some(match c.node.operator {
        "Quant" | "IntQuant" => quantised(l, c)?,
        "Trunc" if c.operands.len() > 5 => truncated_to_scale(l, c)?,
        "Trunc" => truncated(l, c)?,
        "BipolarQuant" => {
            let (x, scale) = (c.input(0)?, c.input(1)?);
            l.builder.zip(&[x, scale], x.kind, |x| bipolar(x[0].clone()) * x[1].clone())?
        }
        _ => return Ok(None),
    }))
}

fn bipolar(x: Ex) -> Ex {
    select(x.ge(0.0), num(1.0), num(-1.0))
}

/// How a node rounds.
fn rounding(c: &Call<'_, '_>, default: &str) -> Translated<fn(Ex) -> Ex> {
    // Away from zero, or towards it, whatever the sign is.
    fn on_size(x: Ex, round: fn(Ex) -> Ex) -> Ex {
        let size = round(call(Function::Abs, x.clone()));
        select(x.lt(0.0), -size.clone(), size)
    }
    Ok(match c.text("rounding_mode", default).to_uppercase().as_str() {
        "ROUND" | "HALF_EVEN" => Ex::round_even,
        "CEIL" => |x| call(Function::Ceil, x),
        "FLOOR" => Ex::floor,
        "ROUND_TO_ZERO" | "DOWN" => |x| call(Function::Trunc, x),
        "UP" => |x| on_size(x, |size| call(Function::Ceil, size)),
        "HALF_UP" => |x| call(Function::Round, x),
        "HALF_DOWN" => |x| on_size(x, |size| call(Function::Ceil, size - 0.5)),
        _ => return c.refuse("rounding_mode"),
    })
}

/// Smallest and largest integer of a width.
fn limits(c: &Call<'_, '_>, width: Ex) -> (Ex, Ex) {
    let narrow = f64::from(u8::from(c.int("narrow", 0) != 0));
    if c.int("signed", 1) != 0 {
        let half = call(Function::Exp2, width - 1.0);
        (-half.clone() + narrow, half - 1.0)
    } else {
        (num(0.0), call(Function::Exp2, width) - 1.0 - narrow)
    }
}

fn quantised(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, scale, zero, width) = (c.input(0)?, c.input(1)?, c.input(2)?, c.input(3)?);
    let rounded = rounding(c, "ROUND")?;
    // One bit with a sign is -1 or 1.
    let one_bit = c.int("signed", 1) != 0 && l.builder.known(width).is_some_and(|width| width == [1.0]);
    l.builder.zip(&[x, scale, zero, width], x.kind, |x| {
        let (scale, zero) = (x[1].clone(), x[2].clone());
        let moved = x[0].clone() / scale.clone() + zero.clone();
        let whole = if one_bit {
            bipolar(moved)
        } else {
            let (low, high) = limits(c, x[3].clone());
            rounded(moved.max(low).min(high))
        };
        (whole - zero) * scale
    })
}

/// The upper bits of an integer, which keep its scale.
fn truncated(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, scale, zero, from, to) = (c.input(0)?, c.input(1)?, c.input(2)?, c.input(3)?, c.input(4)?);
    let rounded = rounding(c, "FLOOR")?;
    let parts = l.builder.zip(&[from, to], x.kind, |x| call(Function::Exp2, x[1].clone() - x[0].clone()))?;
    l.builder.zip(&[x, scale, zero, parts], x.kind, |x| {
        let whole = (x[0].clone() / x[1].clone() + x[2].clone()).round_even();
        (rounded(whole * x[3].clone()) - x[2].clone()) * x[1].clone()
    })
}

/// The same of version 2: a scale and a width of the result.
fn truncated_to_scale(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, scale, zero) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let (wanted, width) = (c.input(4)?, c.input(5)?);
    let rounded = rounding(c, "FLOOR")?;
    let parts = l.builder.zip(&[scale, wanted], x.kind, |x| {
        let bits = call(Function::Log2, x[0].clone() / x[1].clone());
        call(Function::Exp2, bits.round_even())
    })?;
    l.builder.zip(&[x, scale, zero, parts, wanted, width], x.kind, |x| {
        let (low, high) = limits(c, x[5].clone());
        let whole = (x[0].clone() / x[1].clone() + x[2].clone()).round_even();
        let inside = (whole * x[3].clone()).max(low).min(high);
        (rounded(inside) - x[2].clone() * x[3].clone()) * x[4].clone()
    })
}
