//! Operators that move elements and compute none: integers stay what they are where the result has the same scale.

use super::{Op, axis};
use crate::graph::{Graph, Translated, refuse};
use crate::write::Setting;

/// Translate an operator of this kind.
pub(super) fn translate(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    match op.name {
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" => {
            let out = op.output()?;
            let value = g.operand_like(op.input(0)?, out)?;
            let value = reshaped(g, &value, g.shape(out));
            g.set(out, value);
        }
        "TRANSPOSE" => {
            let order = g.known(op.input(1)?, "order")?;
            moved(g, op, |g, x| Ok(transposed(g, x, order)))?;
        }
        "CONCATENATION" => concatenated(g, op)?,
        "PACK" => packed(g, op)?,
        "UNPACK" => unpacked(g, op)?,
        "SPLIT" => {
            let at = axis(first(&g.known(op.input(0)?, "axis")?), g.shape(op.input(1)?).len())?;
            split(g, op, op.input(1)?, at, None)?;
        }
        "SPLIT_V" => {
            let at = axis(first(&g.known(op.input(2)?, "axis")?), g.shape(op.input(0)?).len())?;
            split_by_sizes(g, op, at)?;
        }
        "PAD" | "PADV2" => padded(g, op)?,
        "MIRROR_PAD" => mirrored(g, op)?,
        "TILE" => {
            let times = g.known(op.input(1)?, "multiples")?;
            moved(g, op, |g, x| {
                let times = g.indices(&[times.len() as i64], &times);
                Ok(g.node("Tile", &[x, &times], &[]))
            })?;
        }
        "BROADCAST_TO" => {
            let shape = g.known(op.input(1)?, "shape")?;
            moved(g, op, |g, x| {
                let shape = g.indices(&[shape.len() as i64], &shape);
                Ok(g.node("Expand", &[x, &shape], &[]))
            })?;
        }
        "FILL" => {
            let out = op.output()?;
            let value = g.operand_like(op.input(1)?, out)?;
            let shape = g.indices(&[g.shape(out).len() as i64], g.shape(out));
            let value = g.node("Expand", &[&value, &shape], &[]);
            g.set(out, value);
        }
        "SPACE_TO_DEPTH" => blocks(g, op, "SpaceToDepth")?,
        "DEPTH_TO_SPACE" => blocks(g, op, "DepthToSpace")?,
        "SPACE_TO_BATCH_ND" => to_batch(g, op)?,
        "BATCH_TO_SPACE_ND" => from_batch(g, op)?,
        "SHAPE" | "RANK" => {
            let shape = g.shape(op.input(0)?).to_vec();
            let value = match op.name {
                "SHAPE" => g.indices(&[shape.len() as i64], &shape),
                _ => g.indices(&[], &[shape.len() as i64]),
            };
            g.set(op.output()?, value);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn first(values: &[i64]) -> i64 {
    values.first().copied().unwrap_or(0)
}

/// Set the result to what is made of the first operand.
pub(super) fn moved(
    g: &mut Graph<'_, '_, '_>,
    op: &Op<'_, '_, '_>,
    make: impl FnOnce(&mut Graph<'_, '_, '_>, &str) -> Translated<String>,
) -> Translated<()> {
    let out = op.output()?;
    let value = g.operand_like(op.input(0)?, out)?;
    let value = make(g, &value)?;
    g.set(out, value);
    Ok(())
}

pub(super) fn reshaped(g: &mut Graph<'_, '_, '_>, value: &str, shape: &[i64]) -> String {
    let shape = g.indices(&[shape.len() as i64], shape);
    g.node("Reshape", &[value, &shape], &[("allowzero", Setting::Int(1))])
}

pub(super) fn transposed(g: &mut Graph<'_, '_, '_>, value: &str, order: Vec<i64>) -> String {
    g.node("Transpose", &[value], &[("perm", Setting::Ints(order))])
}

/// Operands `inputs` as the first result.
fn parts(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<Vec<String>> {
    let out = op.output()?;
    op.inputs.iter().flatten().map(|&t| g.operand_like(t, out)).collect()
}

fn joined(g: &mut Graph<'_, '_, '_>, parts: &[String], axis: usize) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    g.node("Concat", &parts, &[("axis", Setting::Int(axis as i64))])
}

fn concatenated(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let out = op.output()?;
    let at = axis(op.int(0, 0)?, g.shape(out).len())?;
    let parts = parts(g, op)?;
    let value = joined(g, &parts, at);
    super::window::clamped(g, out, value, op.byte(1)?)
}

fn packed(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let out = op.output()?;
    let shape = g.shape(out);
    let at = axis(op.int(1, 0)?, shape.len())?;
    let mut single = shape.to_vec();
    single[at] = 1;
    let mut parts = parts(g, op)?;
    for part in &mut parts {
        *part = reshaped(g, part, &single);
    }
    let value = joined(g, &parts, at);
    g.set(out, value);
    Ok(())
}

fn unpacked(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let x = op.input(0)?;
    let at = axis(op.int(1, 0)?, g.shape(x).len())?;
    split(g, op, x, at, Some(vec![1; op.outputs.len()]))?;
    for &t in op.outputs {
        let value = g.value(t)?;
        let value = reshaped(g, &value, g.shape(t));
        g.set(t, value);
    }
    Ok(())
}

/// One dimension in parts, equally long ones if no sizes are given.
fn split(
    g: &mut Graph<'_, '_, '_>,
    op: &Op<'_, '_, '_>,
    x: usize,
    at: usize,
    sizes: Option<Vec<i64>>,
) -> Translated<()> {
    let extent = g.shape(x)[at];
    let count = op.outputs.len() as i64;
    if count == 0 || (sizes.is_none() && extent % count != 0) {
        return refuse(format!("{extent} elements are not {count} equal parts"), "`SPLIT_V` takes their sizes");
    }
    let sizes = sizes.unwrap_or_else(|| vec![extent / count; op.outputs.len()]);
    if sizes.len() != op.outputs.len() || sizes.iter().sum::<i64>() != extent {
        return refuse(format!("parts of {sizes:?} for {extent} elements"), "export the model again");
    }
    // Results may have scales of their own.
    let mut start = 0;
    for (&out, size) in op.outputs.iter().zip(sizes) {
        let value = g.operand_like(x, out)?;
        let value = slice(g, &value, &[(at, start, start + size, 1)]);
        g.set(out, value);
        start += size;
    }
    Ok(())
}

fn split_by_sizes(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, at: usize) -> Translated<()> {
    let mut sizes = g.known(op.input(1)?, "sizes")?;
    let x = op.input(0)?;
    let rest = g.shape(x)[at] - sizes.iter().filter(|&&size| size >= 0).sum::<i64>();
    sizes.iter_mut().filter(|size| **size < 0).for_each(|size| *size = rest);
    split(g, op, x, at, Some(sizes))
}

/// Parts of axes: axis, start, end, step; a start or end before the first element is the smallest integer.
pub(super) fn slice(g: &mut Graph<'_, '_, '_>, value: &str, parts: &[(usize, i64, i64, i64)]) -> String {
    let mut list = |of: fn(&(usize, i64, i64, i64)) -> i64| {
        let values: Vec<i64> = parts.iter().map(of).collect();
        g.indices(&[parts.len() as i64], &values)
    };
    let (starts, ends) = (list(|part| part.1), list(|part| part.2));
    let (axes, steps) = (list(|part| part.0 as i64), list(|part| part.3));
    g.node("Slice", &[value, &starts, &ends, &axes, &steps], &[])
}

/// Elements before and after each dimension.
fn margins(g: &Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<Vec<(i64, i64)>> {
    let list = g.known(op.input(1)?, "paddings")?;
    let rank = g.shape(op.input(0)?).len();
    if list.len() != 2 * rank || list.iter().any(|&count| count < 0) {
        return refuse(format!("{list:?} are not paddings of {rank} dimensions"), "export the model again");
    }
    Ok(list.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

fn padded(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let margins = margins(g, op)?;
    let out = op.output()?;
    let filling = match op.optional(2) {
        Some(t) => Some(g.operand_like(t, out)?),
        None => None,
    };
    moved(g, op, |g, x| {
        let pads: Vec<i64> = margins.iter().map(|pair| pair.0).chain(margins.iter().map(|pair| pair.1)).collect();
        let pads = g.indices(&[pads.len() as i64], &pads);
        let operands: Vec<&str> = [x, &pads].into_iter().chain(filling.as_deref()).collect();
        Ok(g.node("Pad", &operands, &[]))
    })
}

/// Elements of a dimension in a mirror.
const MOST: i64 = 1 << 20;

/// The places of a dimension that stand in front of it and behind it, seen in a mirror.
fn mirrored(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let margins = margins(g, op)?;
    let symmetric = i64::from(op.byte(0)? != 0);
    let shape = g.shape(op.input(0)?);
    let most = |extent: i64| (extent - 1 + symmetric).min(MOST);
    let too_large =
        |(pair, &extent): (&(i64, i64), &i64)| pair.0.max(pair.1) > most(extent) || *pair != (0, 0) && extent > MOST;
    if margins.iter().zip(shape).any(too_large) {
        return refuse(format!("paddings {margins:?} are larger than the mirror image of {shape:?}"), "pad by less");
    }
    moved(g, op, |g, x| {
        let mut value = x.to_owned();
        for (n, &(before, after)) in margins.iter().enumerate().filter(|(_, pair)| **pair != (0, 0)) {
            let extent = shape[n];
            let place = |at: i64| match at {
                at if at < 0 => -at - symmetric,
                at if at >= extent => 2 * extent - at - 2 + symmetric,
                at => at,
            };
            let places: Vec<i64> = (-before..extent + after).map(place).collect();
            let places = g.indices(&[places.len() as i64], &places);
            value = g.node("Gather", &[&value, &places], &[("axis", Setting::Int(n as i64))]);
        }
        Ok(value)
    })
}

/// Blocks of pixels as channels, or the reverse.
fn blocks(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, operator: &str) -> Translated<()> {
    let size = op.int(0, 0)?;
    moved(g, op, |g, x| {
        let x = transposed(g, x, vec![0, 3, 1, 2]);
        let value = g.node(operator, &[&x], &[("blocksize", Setting::Int(size))]);
        Ok(transposed(g, &value, vec![0, 2, 3, 1]))
    })
}

/// Extents of blocks, and what is padded or cut off around them.
type Blocks = (Vec<i64>, Vec<(i64, i64)>);

fn batch_blocks(g: &Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<Blocks> {
    let sizes = g.known(op.input(1)?, "block shape")?;
    let margins = g.known(op.input(2)?, "margins")?;
    let rank = g.shape(op.input(0)?).len();
    let fits = margins.len() == 2 * sizes.len() && sizes.len() < rank;
    if !fits || sizes.iter().any(|&size| size < 1) || margins.iter().any(|&count| count < 0) {
        return refuse(format!("blocks of {sizes:?} with margins {margins:?}"), "export the model again");
    }
    Ok((sizes, margins.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()))
}

/// `[n, h, w, c]` to `[bh * bw * n, h / bh, w / bw, c]`
fn to_batch(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (sizes, margins) = batch_blocks(g, op)?;
    let own = g.shape(op.input(0)?);
    let count = sizes.len();
    let mut padded = own.to_vec();
    (0..count).for_each(|n| padded[1 + n] += margins[n].0 + margins[n].1);
    if (0..count).any(|n| padded[1 + n] % sizes[n] != 0) {
        return refuse(format!("{padded:?} is not made of blocks of {sizes:?}"), "pad to a multiple of the block");
    }
    let mut pads = vec![0; 2 * own.len()];
    (0..count).for_each(|n| (pads[1 + n], pads[own.len() + 1 + n]) = margins[n]);
    let inner = (0..count).flat_map(|n| [padded[1 + n] / sizes[n], sizes[n]]);
    let split: Vec<i64> = [own[0]].into_iter().chain(inner).chain(padded[1 + count..].iter().copied()).collect();
    let places = |from: i64| (0..count as i64).map(move |n| from + 2 * n);
    let rest = 2 * count as i64 + 1..split.len() as i64;
    let order: Vec<i64> = places(2).chain([0]).chain(places(1)).chain(rest).collect();
    moved(g, op, |g, x| {
        let pads = g.indices(&[pads.len() as i64], &pads);
        let value = g.node("Pad", &[x, &pads], &[]);
        let value = reshaped(g, &value, &split);
        let value = transposed(g, &value, order);
        let shape = g.shape(op.output()?);
        Ok(reshaped(g, &value, shape))
    })
}

/// The reverse, with a margin cut off.
fn from_batch(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (sizes, margins) = batch_blocks(g, op)?;
    let own = g.shape(op.input(0)?);
    let (count, all) = (sizes.len(), sizes.iter().fold(1i64, |all, &size| all.saturating_mul(size)));
    if own[0] % all != 0 {
        return refuse(format!("a batch of {} is not made of blocks of {sizes:?}", own[0]), "export the model again");
    }
    let split: Vec<i64> = sizes.iter().copied().chain([own[0] / all]).chain(own[1..].iter().copied()).collect();
    let pairs = (0..count).flat_map(|n| [count + 1 + n, n]);
    let order: Vec<usize> = [count].into_iter().chain(pairs).chain(2 * count + 1..split.len()).collect();
    let mut whole = own.to_vec();
    whole[0] /= all;
    (0..count).for_each(|n| whole[1 + n] *= sizes[n]);
    let cut: Vec<_> = (0..count).map(|n| (1 + n, margins[n].0, whole[1 + n] - margins[n].1, 1)).collect();
    moved(g, op, |g, x| {
        let value = reshaped(g, x, &split);
        let value = transposed(g, &value, order.iter().map(|&n| n as i64).collect());
        let value = reshaped(g, &value, &whole);
        Ok(slice(g, &value, &cut))
    })
}
