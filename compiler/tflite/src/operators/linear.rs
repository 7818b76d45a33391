//! Products with weights: fully connected layers, convolutions, and products of matrices.
//!
//! ```text
//! integers:     sum[k](x[k] * w[k, c]) + bias[c]     times sx * sw[c] / sy, rounded once, clamped as the activation says
//! real numbers, or weights of integers alone:        the same of the real numbers
//! ```

use super::Op;
use crate::graph::{Graph, Translated, bounds, refuse};
use crate::write::Setting;

/// Translate an operator of this kind.
pub(super) fn translate(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    match op.name {
        "FULLY_CONNECTED" => connected(g, op)?,
        "CONV_2D" => convolution(g, op, 2)?,
        "CONV_3D" => convolution(g, op, 3)?,
        "DEPTHWISE_CONV_2D" => depthwise(g, op)?,
        "TRANSPOSE_CONV" => transposed(g, op)?,
        "BATCH_MATMUL" => matrices(g, op)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Operands of a product.
struct Product {
    x: usize,
    weights: usize,
    bias: Option<usize>,
    out: usize,
    activation: i64,
}

impl Product {
    fn of(op: &Op<'_, '_, '_>, activation: i64) -> Translated<Product> {
        Ok(Product { x: op.input(0)?, weights: op.input(1)?, bias: op.optional(2), out: op.output()?, activation })
    }
}

/// Powers of two by which the channels of integer weights are divided, so that the largest factors behind them are alike: channels without much
/// in them have biases as large as integers are, which are small in the steps of the result.
fn shifts(factors: &[f64]) -> Vec<f64> {
    let most = factors.iter().fold(0.0, |most: f64, &factor| most.max(factor));
    factors.iter().map(|factor| (most / factor).log2().floor().exp2()).collect()
}

/// Weights with their dimensions in another order, as integers, divided along their channels, or as real numbers.
fn ordered(
    g: &mut Graph<'_, '_, '_>,
    t: usize,
    order: &[usize],
    (whole, shifts): (bool, &[f64]),
) -> Translated<String> {
    let shape = g.shape(t);
    let plain = order.iter().enumerate().all(|(n, &of)| n == of);
    if shape.len() != order.len() {
        return refuse(
            format!("its weights have the shape {shape:?}"),
            format!("{} dimensions are wanted", order.len()),
        );
    }
    let Some(mut values) = g.constant_values(t, whole)? else {
        let value = if whole { g.value(t)? } else { g.real(t)? };
        let order = order.iter().map(|&n| n as i64).collect();
        return Ok(if plain { value } else { g.node("Transpose", &[&value], &[("perm", Setting::Ints(order))]) });
    };
    let (name, quantisation) = (g.tensor(t).name, g.scales(t)?);
    if let (Some(q), [_, _, ..]) = (quantisation, shifts) {
        let inner = shape[q.axis + 1..].iter().product::<i64>().max(1) as usize;
        values.iter_mut().enumerate().for_each(|(n, value)| *value /= shifts[n / inner % shifts.len()]);
    }
    if plain {
        return Ok(g.numbers(name, shape, &values));
    }
    let to: Vec<i64> = order.iter().map(|&n| shape[n]).collect();
    let stride = |n: usize| shape[n + 1..].iter().product::<i64>();
    let strides: Vec<i64> = order.iter().map(|&n| stride(n)).collect();
    let moved: Vec<f64> = (0..values.len() as i64)
        .map(|place| {
            let (mut rest, mut from) = (place, 0);
            for (extent, stride) in to.iter().zip(&strides).rev() {
                from += rest % extent * stride;
                rest /= extent;
            }
            values[from as usize]
        })
        .collect();
    Ok(g.numbers(name, &to, &moved))
}

/// A product of `x` and weights in `order`, with what follows it.
fn product(
    g: &mut Graph<'_, '_, '_>,
    p: &Product,
    order: &[usize],
    multiply: impl FnOnce(&mut Graph<'_, '_, '_>, &str, &str) -> Translated<String>,
) -> Translated<()> {
    let (own, scales, wanted) = (g.scheme(p.x)?, g.scales(p.weights)?, g.scheme(p.out)?);
    let whole = own.is_some() && scales.is_some() && wanted.is_some();
    let mut factors = match (own, scales, wanted) {
        (Some(own), Some(q), Some(wanted)) => {
            q.scales.iter().map(|&scale| own.scale * f64::from(scale) / wanted.scale).collect()
        }
        _ => Vec::new(),
    };
    let bias = match p.bias {
        Some(bias) if whole => g.elements(bias)?,
        _ => None,
    };
    let constant = g.tensor(p.weights).data.is_some() && (bias.is_some() || p.bias.is_none());
    let shifts = if whole && constant { shifts(&factors) } else { Vec::new() };
    factors.iter_mut().zip(&shifts).for_each(|(factor, shift)| *factor *= shift);
    let x = if whole { g.value(p.x)? } else { g.real(p.x)? };
    let weights = ordered(g, p.weights, order, (whole, &shifts))?;
    let mut value = multiply(g, &x, &weights)?;
    if let Some(t) = p.bias {
        let bias = match bias {
            // Its own scale is that of the products.
            Some(mut values) => {
                let of = |n: usize| shifts.get(n % shifts.len().max(1)).copied().unwrap_or(1.0);
                values.iter_mut().enumerate().for_each(|(n, value)| *value /= of(n));
                g.numbers(g.tensor(t).name, g.shape(t), &values)
            }
            None if whole => g.value(t)?,
            None => g.real(t)?,
        };
        value = g.node("Add", &[&value, &bias], &[]);
    }
    let Some(wanted) = wanted.filter(|_| whole) else { return g.set_real(p.out, &value, p.activation) };
    let result = g.requantised(&value, &factors, wanted, bounds(wanted, p.activation)?);
    g.set(p.out, result);
    Ok(())
}

fn reshaped(g: &mut Graph<'_, '_, '_>, value: &str, shape: &[i64]) -> String {
    let shape = g.indices(&[shape.len() as i64], shape);
    g.node("Reshape", &[value, &shape], &[])
}

fn connected(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    if op.byte(1)? != 0 {
        return refuse("its weights are shuffled", "convert the model without `SHUFFLED4x16INT8` weights");
    }
    let p = Product::of(op, op.byte(0)?)?;
    let (shape, weights, out) = (g.shape(p.x).to_vec(), g.shape(p.weights), g.shape(p.out).to_vec());
    let &[_, inner] = weights else {
        return refuse(format!("its weights have the shape {weights:?}"), "two dimensions are wanted");
    };
    product(g, &p, &[0, 1], |g, x, w| {
        let flat = shape.len() == 2 && shape[1] == inner;
        let x = if flat { x.to_owned() } else { reshaped(g, x, &[-1, inner]) };
        let value = g.node("Gemm", &[&x, w], &[("transB", Setting::Int(1))]);
        Ok(if out.len() == 2 { value } else { reshaped(g, &value, &out) })
    })
}

/// Settings of windows: strides, dilations and padding, which is `SAME` or `VALID`.
fn windows(same: bool, strides: Vec<i64>, dilations: Vec<i64>) -> Vec<(&'static str, Setting)> {
    let auto = if same { "SAME_UPPER" } else { "VALID" };
    vec![
        ("auto_pad", Setting::Text(auto.into())),
        ("channels_last", Setting::Int(1)),
        ("dilations", Setting::Ints(dilations)),
        ("strides", Setting::Ints(strides)),
    ]
}

/// Weights `[out, height, width, in]`, or `[depth, height, width, in, out]`.
fn convolution(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, spatial: usize) -> Translated<()> {
    let same = op.byte(0)? == 0;
    let one = |field| op.int(field, 1);
    let (activation, strides, dilations, order): (_, _, _, &[usize]) = if spatial == 2 {
        (op.byte(3)?, vec![op.int(2, 0)?, op.int(1, 0)?], vec![one(5)?, one(4)?], &[0, 3, 1, 2])
    } else {
        let strides = vec![op.int(1, 0)?, op.int(3, 0)?, op.int(2, 0)?];
        (op.byte(4)?, strides, vec![one(5)?, one(7)?, one(6)?], &[4, 3, 0, 1, 2])
    };
    let p = Product::of(op, activation)?;
    let (shape, weights) = (g.shape(p.x), g.shape(p.weights));
    let (Some(&channels), Some(&depth)) = (shape.last(), weights.get(3)) else {
        return refuse(format!("{shape:?} and {weights:?} are not values and weights"), "export the model again");
    };
    let groups = if depth > 0 { channels / depth } else { 1 };
    let mut settings = windows(same, strides, dilations);
    settings.push(("group", Setting::Int(groups)));
    product(g, &p, order, |g, x, w| Ok(g.node("Conv", &[x, w], &settings)))
}

/// Weights `[1, height, width, in * multiplier]`.
fn depthwise(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let same = op.byte(0)? == 0;
    let mut settings = windows(same, vec![op.int(2, 0)?, op.int(1, 0)?], vec![op.int(6, 1)?, op.int(5, 1)?]);
    let p = Product::of(op, op.byte(4)?)?;
    settings.push(("group", Setting::Int(g.shape(p.x).last().copied().unwrap_or(0))));
    product(g, &p, &[3, 0, 1, 2], |g, x, w| Ok(g.node("Conv", &[x, w], &settings)))
}

/// Operands: shape of the result, weights `[out, height, width, in]`, value, bias.
fn transposed(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let shape = g.known(op.input(0)?, "shape")?;
    let p = Product {
        x: op.input(2)?,
        weights: op.input(1)?,
        bias: op.optional(3),
        out: op.output()?,
        activation: op.byte(3)?,
    };
    let &[_, height, width, _] = &shape[..] else {
        return refuse(format!("its result has the shape {shape:?}"), "four dimensions are wanted");
    };
    let strides = vec![op.int(2, 0)?, op.int(1, 0)?];
    product(g, &p, &[3, 0, 1, 2], |g, x, w| {
        let x = g.node("Transpose", &[x], &[("perm", Setting::Ints(vec![0, 3, 1, 2]))]);
        // Padding is before half of what is more than the shape, for `VALID`, too, where nothing is more.
        let settings = [
            ("auto_pad", Setting::Text("SAME_UPPER".into())),
            ("output_shape", Setting::Ints(vec![height, width])),
            ("strides", Setting::Ints(strides)),
        ];
        let value = g.node("ConvTranspose", &[&x, w], &settings);
        Ok(g.node("Transpose", &[&value], &[("perm", Setting::Ints(vec![0, 2, 3, 1]))]))
    })
}

fn matrices(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let p = Product { bias: None, ..Product::of(op, 0)? };
    let turned = |g: &mut Graph<'_, '_, '_>, value: &str, rank: usize, turn: bool| {
        if !turn || rank < 2 {
            return value.to_owned();
        }
        let mut order: Vec<i64> = (0..rank as i64).collect();
        order.swap(rank - 1, rank - 2);
        g.node("Transpose", &[value], &[("perm", Setting::Ints(order))])
    };
    let (turn_x, turn_y) = (op.flag(0)?, op.flag(1)?);
    let ranks = [g.shape(p.x).len(), g.shape(p.weights).len()];
    let order: Vec<usize> = (0..ranks[1]).collect();
    product(g, &p, &order, |g, x, w| {
        let (x, w) = (turned(g, x, ranks[0], turn_x), turned(g, w, ranks[1], turn_y));
        Ok(g.node("MatMul", &[&x, &w], &[]))
    })
}
