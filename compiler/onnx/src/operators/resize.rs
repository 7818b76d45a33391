//! Resizing as products with constant matrices, one dimension after the other.
//!
//!     o[i] = sum[k](m[i, k] * x[k])        m: how much of each element is in each element of the result

use crate::build::{Translated, Val, misfit};
use crate::call::{Call, Slot, axis};
use crate::elements::Kind;
use crate::expression::Ex;
use crate::graph::Lowering;
use compiler::tensor::Aggregate;

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    match c.node.operator {
        "Resize" | "Upsample" => resize(l, c).map(|value| Some(vec![Slot::Tensor(value)])),
        _ => Ok(None),
    }
}

/// How a dimension is resized.
struct Along {
    from: i64,
    to: i64,
    scale: f64,
    /// First and last part of the operand, for cropping.
    part: (f64, f64),
}

fn resize(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let own = l.builder.shape(x);
    let upsample = c.node.operator == "Upsample";
    let old = upsample || c.version < 11;
    let list = |operand: usize, what: &str| -> Translated<Option<Vec<f64>>> {
        let Some(value) = c.optional(operand)? else { return Ok(None) };
        Ok(Some(l.static_numbers(value, what)?).filter(|values| !values.is_empty()))
    };
    let scales = if old { list(1, "scales")?.or(c.floats("scales")) } else { list(2, "scales")? };
    let (roi, sizes) = if old { (None, None) } else { (list(1, "roi")?, list(3, "sizes")?) };
    let axes = match c.ints("axes") {
        Some(axes) => axes.iter().map(|&a| axis(a, own.len())).collect::<Translated<Vec<_>>>()?,
        None => (0..own.len()).collect(),
    };
    let mut dims: Vec<Along> = own.iter().map(|&from| Along { from, to: from, scale: 1.0, part: (0.0, 1.0) }).collect();
    let given = sizes.as_ref().or(scales.as_ref()).map_or(0, Vec::len);
    if given != axes.len() {
        return misfit(format!("{given} sizes for {} dimensions", axes.len()));
    }
    if let Some(sizes) = &sizes {
        set_sizes(&mut dims, &axes, sizes, &c.text("keep_aspect_ratio_policy", "stretch"));
    } else if let Some(scales) = &scales {
        for (k, &n) in axes.iter().enumerate() {
            dims[n].scale = scales[k];
        }
    }
    let mode = c.text("coordinate_transformation_mode", if old { "asymmetric" } else { "half_pixel" });
    if let (Some(roi), "tf_crop_and_resize") = (&roi, mode.as_str()) {
        for (k, &n) in axes.iter().enumerate() {
            dims[n].part = (roi[k], roi[axes.len() + k]);
        }
    }
    for dim in &mut dims {
        if sizes.is_none() {
            dim.to = (dim.from as f64 * (dim.part.1 - dim.part.0) * dim.scale + 1e-9).floor() as i64;
        }
        if dim.to < 1 || dim.scale.is_nan() || dim.scale <= 0.0 {
            return misfit("nothing is left of a dimension");
        }
    }
    let extrapolation = c.float("extrapolation_value", 0.0);
    let mut value = x;
    let mut outside: Vec<(usize, Vec<bool>)> = Vec::new();
    for (n, dim) in dims.iter().enumerate() {
        if dim.to == dim.from && dim.scale == 1.0 && mode != "tf_crop_and_resize" {
            continue;
        }
        let (matrix, beyond) = matrix(c, dim, &mode, old)?;
        if mode == "tf_crop_and_resize" && beyond.contains(&true) {
            outside.push((n, beyond));
        }
        value = product(l, value, n, dim, &matrix)?;
    }
    for (n, beyond) in outside {
        value = extrapolated(l, value, n, &beyond, extrapolation)?;
    }
    Ok(value)
}

/// Sizes that are asked for; as near to them as one scale for all comes, if the policy is to keep proportions.
fn set_sizes(dims: &mut [Along], axes: &[usize], sizes: &[f64], policy: &str) {
    let ratios: Vec<f64> = axes.iter().zip(sizes).map(|(&n, &size)| size / dims[n].from as f64).collect();
    let common = match policy {
        "not_larger" => Some(ratios.iter().copied().fold(f64::INFINITY, f64::min)),
        "not_smaller" => Some(ratios.iter().copied().fold(0.0, f64::max)),
        _ => None,
    };
    for (k, &n) in axes.iter().enumerate() {
        let scale = common.unwrap_or(ratios[k]);
        let to = if common.is_some() { (scale * dims[n].from as f64 + 0.5).floor() as i64 } else { sizes[k] as i64 };
        (dims[n].scale, dims[n].to) = (scale, to);
    }
}

/// A number where the element of a dimension lies outside.
fn extrapolated(l: &mut Lowering<'_, '_>, value: Val, n: usize, beyond: &[bool], number: f64) -> Translated<Val> {
    let mut shape = vec![1; l.builder.rank(value)];
    shape[n] = beyond.len() as i64;
    let flags = beyond.iter().map(|&beyond| f64::from(u8::from(beyond))).collect();
    let flags = l.builder.constants(&shape, Kind::Bool, flags)?;
    l.builder
        .zip(&[flags, value], value.kind, |x| crate::expression::select(x[0].clone(), Ex::Number(number), x[1].clone()))
}

/// A dimension times a matrix; one of a single 1 in each row is a choice.
fn product(l: &mut Lowering<'_, '_>, x: Val, n: usize, dim: &Along, matrix: &[Vec<f64>]) -> Translated<Val> {
    let single: Option<Vec<i64>> = matrix
        .iter()
        .map(|row| {
            let place = row.iter().position(|&part| part == 1.0)?;
            row.iter().enumerate().all(|(k, &part)| k == place || part == 0.0).then_some(place as i64)
        })
        .collect();
    let mut shape = l.builder.shape(x);
    shape[n] = dim.to;
    if let Some(places) = single {
        // Each element several times over is a matter of layout.
        let times = dim.to / dim.from.max(1);
        if dim.to == times * dim.from && places.iter().enumerate().all(|(k, &place)| place == k as i64 / times) {
            return repeat(l, x, n, times);
        }
        return l.pick(x, n, &places);
    }
    let weights = l.builder.constants(&[dim.to, dim.from], Kind::FLOAT, matrix.concat())?;
    l.builder.reduce(&shape, &[dim.from], x.kind, Aggregate::Add, |_, at, k| {
        let mut index = at.to_vec();
        index[n] = k[0].clone();
        Ex::Read(weights.id, vec![at[n].clone(), k[0].clone()]) * Ex::Read(x.id, index)
    })
}

fn repeat(l: &mut Lowering<'_, '_>, x: Val, n: usize, times: i64) -> Translated<Val> {
    let own = l.builder.shape(x);
    let mut wide = own.clone();
    wide.insert(n + 1, times);
    let value = l.builder.map(&wide, x.kind, |_, at| {
        let mut index = at.to_vec();
        index.remove(n + 1);
        Ex::Read(x.id, index)
    })?;
    let mut shape = own;
    shape[n] *= times;
    l.builder.reshape(value, &shape)
}

/// The place in the operand of an element of the result; `None` for a mode that is not known.
fn coordinate(mode: &str, dim: &Along, at: f64) -> Option<f64> {
    let (from, to) = (dim.from as f64, dim.to as f64);
    Some(match mode {
        "half_pixel" => (at + 0.5) / dim.scale - 0.5,
        "half_pixel_symmetric" => {
            let adjustment = to / (dim.scale * from);
            let centre = from / 2.0;
            centre * (1.0 - adjustment) + (at + 0.5) / dim.scale - 0.5
        }
        "pytorch_half_pixel" => {
            if to > 1.0 {
                (at + 0.5) / dim.scale - 0.5
            } else {
                -0.5
            }
        }
        "align_corners" => {
            let wide = dim.scale * from;
            if wide > 1.0 { at * (from - 1.0) / (wide - 1.0) } else { 0.0 }
        }
        "asymmetric" => at / dim.scale,
        "tf_half_pixel_for_nn" => (at + 0.5) / dim.scale,
        "tf_crop_and_resize" => {
            let (start, end) = dim.part;
            if to > 1.0 {
                start * (from - 1.0) + at * (end - start) * (from - 1.0) / (to - 1.0)
            } else {
                0.5 * (start + end) * (from - 1.0)
            }
        }
        _ => return None,
    })
}

/// For each element of the result, how much of each element of the operand is in it; and whether it lies outside.
fn matrix(c: &Call<'_, '_>, dim: &Along, mode: &str, old: bool) -> Translated<(Vec<Vec<f64>>, Vec<bool>)> {
    let from = dim.from as f64;
    let kind = c.text("mode", "nearest");
    let nearest = c.text("nearest_mode", if old { "floor" } else { "round_prefer_floor" });
    let a = c.float("cubic_coeff_a", -0.75);
    let exclude = c.int("exclude_outside", 0) != 0;
    let stretch = if c.int("antialias", 0) != 0 { (1.0 / dim.scale).max(1.0) } else { 1.0 };
    let (mut rows, mut beyond) = (Vec::new(), Vec::new());
    for place in 0..dim.to {
        let Some(x) = coordinate(mode, dim, place as f64) else { return c.refuse("coordinate_transformation_mode") };
        beyond.push(x < 0.0 || x > from - 1.0);
        let mut row = vec![0.0; dim.from as usize];
        let mut add = |k: f64, weight: f64| {
            let inside = (0.0..from).contains(&k);
            if inside || !exclude {
                row[k.clamp(0.0, from - 1.0) as usize] += weight;
            }
        };
        match kind.as_str() {
            "nearest" => {
                let k = match nearest.as_str() {
                    "round_prefer_floor" => (x - 0.5).ceil(),
                    "round_prefer_ceil" => (x + 0.5).floor(),
                    "floor" => x.floor(),
                    "ceil" => x.ceil(),
                    _ => return c.refuse("nearest_mode"),
                };
                row[k.clamp(0.0, from - 1.0) as usize] = 1.0;
            }
            "linear" | "bilinear" | "cubic" => {
                let reach = if kind == "cubic" { 2.0 } else { 1.0 } * stretch;
                let weight = |distance: f64| {
                    let d = distance.abs() / stretch;
                    if kind != "cubic" {
                        return (1.0 - d).max(0.0);
                    }
                    match d {
                        d if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
                        d if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
                        _ => 0.0,
                    }
                };
                let (mut k, last) = ((x - reach).floor(), (x + reach).ceil());
                while k <= last {
                    add(k, weight(x - k));
                    k += 1.0;
                }
                let total: f64 = row.iter().sum();
                if (exclude || stretch > 1.0) && total != 0.0 {
                    for part in &mut row {
                        *part /= total;
                    }
                }
            }
            _ => return c.refuse("mode"),
        }
        rows.push(row);
    }
    Ok((rows, beyond))
}
