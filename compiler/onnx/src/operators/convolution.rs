//! Convolutions and their transposes.

use crate::build::{Loops, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::expression::{Ex, fixed, it, scaled};
use crate::graph::Lowering;
use compiler::tensor::{Affine, Aggregate, Guard};

/// Windows along the spatial dimensions.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// Extents of a window.
    pub(crate) kernel: Vec<i64>,
    /// Steps from window to window.
    pub(crate) strides: Vec<i64>,
    /// Steps inside of a window.
    pub(crate) dilations: Vec<i64>,
    /// Elements that are missing before the first one.
    pub(crate) before: Vec<i64>,
    /// How many windows there are.
    pub(crate) out: Vec<i64>,
}

/// Whether channels come behind the spatial dimensions, as in `TFLite` and `com.microsoft`.
pub(crate) fn channels_last(c: &Call<'_, '_>) -> bool {
    c.int("channels_last", 0) != 0
}

/// One item of each dimension, of which the channel is the second or, where it comes `last`, the last one.
pub(crate) fn with_channel<T>(first: T, channel: T, spatial: impl IntoIterator<Item = T>, last: bool) -> Vec<T> {
    let mut items: Vec<T> = std::iter::once(first).chain(spatial).collect();
    items.insert(if last { items.len() } else { 1 }, channel);
    items
}

/// The windows that the settings of a node mean; `extents` are the spatial ones of its operand.
pub(crate) fn windows(c: &Call<'_, '_>, extents: &[i64], kernel: Vec<i64>) -> Translated<Windows> {
    let rank = extents.len();
    let list = |name: &str| c.ints(name).filter(|list| !list.is_empty());
    let strides = list("strides").unwrap_or_else(|| vec![1; rank]);
    let dilations = list("dilations").unwrap_or_else(|| vec![1; rank]);
    let pads = list("pads").unwrap_or_else(|| vec![0; 2 * rank]);
    let wrong = |what: &str| misfit(format!("its {what} do not fit {rank} dimensions"));
    if kernel.len() != rank || kernel.iter().any(|&k| k < 1) {
        return wrong("kernel extents");
    }
    if strides.len() != rank
        || strides.iter().any(|&s| s < 1)
        || dilations.len() != rank
        || dilations.iter().any(|&d| d < 1)
    {
        return wrong("strides or dilations");
    }
    if pads.len() != 2 * rank {
        return wrong("pads");
    }
    let auto = c.text("auto_pad", "NOTSET");
    let ceil = c.int("ceil_mode", 0) != 0;
    let (mut before, mut out) = (Vec::new(), Vec::new());
    for n in 0..rank {
        let span = dilations[n].saturating_mul(kernel[n] - 1).saturating_add(1);
        let (stride, extent) = (strides[n], extents[n]);
        let (low, count) = match auto.as_str() {
            "SAME_UPPER" | "SAME_LOWER" => {
                let count = (extent + stride - 1) / stride;
                let total = ((count - 1) * stride + span - extent).max(0);
                (if auto == "SAME_UPPER" { total / 2 } else { total - total / 2 }, count)
            }
            "VALID" => (0, (extent - span).div_euclid(stride) + 1),
            _ => {
                let room = extent + pads[n] + pads[rank + n] - span;
                let mut count = if ceil { -(-room).div_euclid(stride) } else { room.div_euclid(stride) } + 1;
                if ceil && (count - 1) * stride >= extent + pads[n] {
                    count -= 1;
                }
                (pads[n], count)
            }
        };
        if count < 1 {
            return misfit(format!("a window of {span} does not fit into an extent of {extent}"));
        }
        before.push(low);
        out.push(count);
    }
    Ok(Windows { kernel, strides, dilations, before, out })
}

impl Windows {
    /// Where an element of a window is, by spatial dimension: `stride * window + dilation * element - before`.
    pub(crate) fn places(&self, windows: &[Affine], elements: &[Affine]) -> Vec<Affine> {
        let place =
            |n: usize| scaled(&windows[n], self.strides[n], -self.before[n]).plus(self.dilations[n], &elements[n]);
        (0..self.kernel.len()).map(place).collect()
    }

    /// Loops whose places are inside; a dimension whose windows are all inside needs no condition.
    pub(crate) fn inside(&self, mut loops: Loops, places: &[Affine], extents: &[i64]) -> Loops {
        for (n, place) in places.iter().enumerate() {
            let last = self.strides[n] * (self.out[n] - 1) + self.dilations[n] * (self.kernel[n] - 1) - self.before[n];
            if self.before[n] > 0 || last >= extents[n] {
                loops.guards.push(Guard::Within { value: place.clone(), bound: extents[n] });
            }
        }
        loops
    }
}

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "Conv" => {
            let value = l.convolution(c, c.input(0)?, c.input(1)?)?;
            match c.optional(2)? {
                Some(_) if channels_last(c) => c.refuse("channels_last"),
                bias => one(l.with_bias(value, bias)?),
            }
        }
        "ConvTranspose" => {
            let value = transposed(l, c)?;
            one(l.with_bias(value, c.optional(2)?)?)
        }
        "Col2Im" => one(image(l, c)?),
        _ => Ok(None),
    }
}

impl Lowering<'_, '_> {
    /// One number per channel added.
    pub(crate) fn with_bias(&mut self, value: Val, bias: Option<Val>) -> Translated<Val> {
        let Some(bias) = bias else { return Ok(value) };
        let bias = self.channels(bias, value)?;
        self.builder.zip(&[value, bias], value.kind, |x| x[0].clone() + x[1].clone())
    }

    /// `o[n, g*M + m, p..] += x[n, g*C + c, s*p + d*k - b..] * w[g*M + m, c, k..]`
    pub(crate) fn convolution(&mut self, c: &Call<'_, '_>, x: Val, w: Val) -> Translated<Val> {
        let (own, weight) = (self.builder.shape(x), self.builder.shape(w));
        let groups = c.int("group", 1);
        if own.len() < 3 || weight.len() != own.len() {
            return misfit(format!("{own:?} and {weight:?} are not values and weights of a convolution"));
        }
        let last = channels_last(c);
        let rank = own.len();
        let (inputs, extents) = if last { (own[rank - 1], &own[1..rank - 1]) } else { (own[1], &own[2..]) };
        if groups < 1 || weight[0] % groups != 0 || inputs != weight[1] * groups {
            return misfit(format!("{inputs} channels do not fit weights of {weight:?} in {groups} groups"));
        }
        if let Some(kernel) = c.ints("kernel_shape")
            && kernel != weight[2..]
        {
            return misfit(format!("its kernel_shape is {kernel:?}, the weights have {:?}", &weight[2..]));
        }
        let windows = windows(c, extents, weight[2..].to_vec())?;
        let (channels, depth) = (weight[0] / groups, weight[1]);
        let spatial = windows.out.len();
        // Free: n, g, m, p...; summed: c, k...
        let free: Vec<i64> = [own[0], groups, channels].into_iter().chain(windows.out.iter().copied()).collect();
        let over: Vec<i64> = [depth].into_iter().chain(windows.kernel.iter().copied()).collect();
        let first = free.len();
        let of_windows: Vec<Affine> = (3..3 + spatial).map(it).collect();
        let of_kernel: Vec<Affine> = (first + 1..first + 1 + spatial).map(it).collect();
        let places = windows.places(&of_windows, &of_kernel);
        let group = |count: i64, inner: usize| {
            if groups == 1 { it(inner) } else { scaled(&it(1), count, 0).plus(1, &it(inner)) }
        };
        let read = Ex::Read(x.id, with_channel(it(0), group(depth, first), places.iter().cloned(), last));
        let factor = Ex::Read(w.id, [group(channels, 2), it(first)].into_iter().chain(of_kernel).collect());
        let out = with_channel(it(0), group(channels, 2), of_windows, last);
        let shape = with_channel(own[0], weight[0], windows.out.iter().copied(), last);
        let loops = windows.inside(Loops::over(&free, &over, Aggregate::Add), &places, extents);
        let begun = self.builder.begin(&shape, x.kind)?;
        self.builder.nest(begun.0, out, &loops, &(read * factor))?;
        Ok(self.builder.finish(begun))
    }
}

/// `o[n, g*M + m, p..] += x[n, g*C + c, i..] * w[g*C + c, m, k..]` where `p = s*i + d*k - b`
fn transposed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, w) = (c.input(0)?, c.input(1)?);
    let (own, weight) = (l.builder.shape(x), l.builder.shape(w));
    let groups = c.int("group", 1);
    if own.len() < 3 || weight.len() != own.len() || groups < 1 || own[1] % groups != 0 || weight[0] != own[1] {
        return misfit(format!("{own:?} and {weight:?} are not values and weights of a transposed convolution"));
    }
    let rank = own.len() - 2;
    let list = |name: &str, default: i64, count: usize| {
        let list = c.ints(name).filter(|list| !list.is_empty()).unwrap_or_else(|| vec![default; count]);
        if list.len() == count { Ok(list) } else { misfit(format!("its {name} do not fit {rank} dimensions")) }
    };
    let (strides, dilations) = (list("strides", 1, rank)?, list("dilations", 1, rank)?);
    let (pads, extra) = (list("pads", 0, 2 * rank)?, list("output_padding", 0, rank)?);
    let asked = c.ints("output_shape").filter(|shape| !shape.is_empty());
    let auto = c.text("auto_pad", "NOTSET");
    let kernel = weight[2..].to_vec();
    let (mut before, mut out) = (pads[..rank].to_vec(), Vec::new());
    for n in 0..rank {
        let whole = strides[n] * (own[2 + n] - 1) + extra[n] + dilations[n] * (kernel[n] - 1) + 1;
        let wanted = match &asked {
            Some(shape) => shape.get(shape.len() - rank + n).copied(),
            None => auto.starts_with("SAME").then(|| own[2 + n] * strides[n]),
        };
        match wanted {
            Some(wanted) => {
                let total = (whole - wanted).max(0);
                before[n] = if auto == "SAME_UPPER" { total / 2 } else { total - total / 2 };
                out.push(wanted);
            }
            None => out.push(whole - pads[n] - pads[rank + n]),
        }
    }
    let (channels, depth) = (weight[1], own[1] / groups);
    let shape: Vec<i64> = [own[0], channels * groups].into_iter().chain(out.iter().copied()).collect();
    // The loops run over the result; a condition says which element of the operand meets it.
    let free: Vec<i64> = [own[0], groups, channels].into_iter().chain(out.iter().copied()).collect();
    let over: Vec<i64> = [depth].into_iter().chain(kernel.iter().copied()).chain(own[2..].iter().copied()).collect();
    let first = free.len();
    let group = |count: i64, inner: usize| scaled(&it(1), count, 0).plus(1, &it(inner));
    let mut loops = Loops::over(&free, &over, Aggregate::Add);
    let phases = strides.iter().all(|&stride| stride == 1);
    if phases {
        loops.over.truncate(1 + rank);
    }
    let mut index = vec![it(0), group(depth, first)];
    for n in 0..rank {
        let place = fixed(before[n]).plus(1, &it(3 + n)).plus(-dilations[n], &it(first + 1 + n));
        let meets = it(first + 1 + rank + n);
        loops.guards.push(if phases {
            Guard::Within { value: place.clone(), bound: own[2 + n] }
        } else {
            Guard::Zero { value: place.plus(-strides[n], &meets) }
        });
        index.push(if phases { place } else { meets });
    }
    let kernel_index = (0..rank).map(|n| it(first + 1 + n));
    let factor = Ex::Read(w.id, [group(depth, first), it(2)].into_iter().chain(kernel_index).collect());
    let out_index = [it(0), group(channels, 2)].into_iter().chain((0..rank).map(|n| it(3 + n))).collect();
    let begun = l.builder.begin(&shape, x.kind)?;
    l.builder.nest(begun.0, out_index, &loops, &(Ex::Read(x.id, index) * factor))?;
    Ok(l.builder.finish(begun))
}

/// Columns of windows added up to an image.
fn image(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let extents = l.static_ints(c.input(1)?, "image_shape")?;
    let kernel = l.static_ints(c.input(2)?, "block_shape")?;
    let windows = windows(c, &extents, kernel.clone())?;
    let own = l.builder.shape(x);
    let size: i64 = kernel.iter().product();
    if own.len() != 3 || size < 1 || own[1] % size != 0 || own[2] != windows.out.iter().product::<i64>() {
        return misfit(format!("{own:?} is not columns of windows of {kernel:?} on {extents:?}"));
    }
    let split: Vec<i64> =
        [own[0], own[1] / size].into_iter().chain(kernel.iter().copied()).chain(windows.out.iter().copied()).collect();
    let value = l.builder.reshape(x, &split)?;
    let rank = extents.len();
    let free: Vec<i64> = [own[0], own[1] / size].into_iter().chain(extents.iter().copied()).collect();
    let over: Vec<i64> = kernel.iter().chain(&windows.out).copied().collect();
    let mut loops = Loops::over(&free, &over, Aggregate::Add);
    let first = free.len();
    let of_windows: Vec<Affine> = (first + rank..first + 2 * rank).map(it).collect();
    let of_kernel: Vec<Affine> = (first..first + rank).map(it).collect();
    for (n, place) in windows.places(&of_windows, &of_kernel).into_iter().enumerate() {
        loops.guards.push(Guard::Zero { value: place.plus(-1, &it(2 + n)) });
    }
    let index = [it(0), it(1)].into_iter().chain(of_kernel).chain(of_windows).collect();
    l.builder.nested(&free, x.kind, &loops, &Ex::Read(value.id, index))
}
