//! Values of windows: pools, and images of another size.

use super::Op;
use crate::graph::{Graph, Translated, bounds};
use crate::write::Setting;

/// Translate an operator of this kind.
pub(super) fn translate(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    match op.name {
        "AVERAGE_POOL_2D" => mean(g, op)?,
        "MAX_POOL_2D" => largest(g, op)?,
        "L2_POOL_2D" => {
            let (settings, activation) = windows(op)?;
            let x = g.real(op.input(0)?)?;
            let squares = g.node("Mul", &[&x, &x], &[]);
            let mean = g.node("AveragePool", &[&squares], &settings);
            let root = g.node("Sqrt", &[&mean], &[]);
            g.set_real(op.output()?, &root, activation)?;
        }
        "RESIZE_BILINEAR" => resized(g, op, "linear", (2, 3))?,
        "RESIZE_NEAREST_NEIGHBOR" => resized(g, op, "nearest", (0, 1))?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Settings of a pool, and its activation.
fn windows(op: &Op<'_, '_, '_>) -> Translated<(Vec<(&'static str, Setting)>, i64)> {
    let auto = if op.byte(0)? == 0 { "SAME_UPPER" } else { "VALID" };
    let settings = vec![
        ("auto_pad", Setting::Text(auto.into())),
        ("channels_last", Setting::Int(1)),
        ("kernel_shape", Setting::Ints(vec![op.int(4, 0)?, op.int(3, 0)?])),
        ("strides", Setting::Ints(vec![op.int(2, 0)?, op.int(1, 0)?])),
    ];
    Ok((settings, op.byte(5)?))
}

/// The mean of the elements that are there; of integers it is rounded as it is, and not its distance from the zero point.
fn mean(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (settings, activation) = windows(op)?;
    let (x, out) = (op.input(0)?, op.output()?);
    let Some(scheme) = g.scheme(out)?.filter(|_| matches!(g.scheme(x), Ok(Some(_)))) else {
        let value = g.real(x)?;
        let value = g.node("AveragePool", &[&value], &settings);
        return g.set_real(out, &value, activation);
    };
    let value = g.operand_like(x, out)?;
    let value = g.node("AveragePool", &[&value], &settings);
    let (low, high) = bounds(scheme, activation)?;
    let value = g.rounded(&value, &[1.0], (low - scheme.zero, high - scheme.zero), scheme.zero);
    g.set(out, value);
    Ok(())
}

fn largest(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (settings, activation) = windows(op)?;
    let (x, out) = (op.input(0)?, op.output()?);
    let value = g.operand_like(x, out)?;
    let value = g.node("MaxPool", &[&value], &settings);
    clamped(g, out, value, activation)
}

/// A result in its own form, behind its activation.
pub(super) fn clamped(g: &mut Graph<'_, '_, '_>, out: usize, value: String, activation: i64) -> Translated<()> {
    let value = match g.scheme(out)? {
        Some(scheme) if activation != 0 => g.requantised(&value, &[1.0], scheme, bounds(scheme, activation)?),
        Some(_) => value,
        None => g.activated(&value, activation)?,
    };
    g.set(out, value);
    Ok(())
}

/// `(align_corners, half_pixel_centers)` are settings of these numbers.
fn resized(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, mode: &str, flags: (usize, usize)) -> Translated<()> {
    let (x, out) = (op.input(0)?, op.output()?);
    let size = g.known(op.input(1)?, "size")?;
    let (align, half) = (op.flag(flags.0)?, op.flag(flags.1)?);
    let coordinates = match (align, half) {
        (true, _) => "align_corners",
        (_, true) => "half_pixel",
        _ => "asymmetric",
    };
    // With centres at halves TFLite takes the element that a centre falls into.
    let nearest = if align || half { "round_prefer_ceil" } else { "floor" };
    let settings = [
        ("axes", Setting::Ints(vec![1, 2])),
        ("coordinate_transformation_mode", Setting::Text(coordinates.into())),
        ("mode", Setting::Text(mode.into())),
        ("nearest_mode", Setting::Text(nearest.into())),
    ];
    let size = g.indices(&[size.len() as i64], &size);
    if mode == "nearest" {
        let value = g.operand_like(x, out)?;
        let value = g.node("Resize", &[&value, "", "", &size], &settings);
        g.set(out, value);
        return Ok(());
    }
    // Means of integers are rounded where they are computed.
    let value = g.real(x)?;
    let value = g.node("Resize", &[&value, "", "", &size], &settings);
    g.set_real(out, &value, 0)
}
