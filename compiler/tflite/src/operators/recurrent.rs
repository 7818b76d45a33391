//! Recurrent layers. Their states are 0 before each record; integers are dequantised first, and the result is rounded once.

use super::Op;
use super::layout::{reshaped, slice, transposed};
use crate::graph::{Graph, Translated, refuse};
use crate::write::Setting;

/// Translate an operator of this kind.
pub(super) fn translate(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    match op.name {
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => {
            let steps_first = op.flag(3)?;
            long(g, op, steps_first)?;
        }
        "LSTM" => step_of_long(g, op)?,
        "UNIDIRECTIONAL_SEQUENCE_RNN" | "RNN" => simple(g, op)?,
        "SVDF" => filtered(g, op)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Places of the operands of an LSTM: of the gates input, output, forget and cell, which is ONNX's order.
const WEIGHTS: [usize; 4] = [1, 4, 2, 3];
const RECURRENT: [usize; 4] = [5, 8, 6, 7];
const BIASES: [usize; 4] = [12, 15, 13, 14];
/// Of input, output and forget.
const PEEPHOLES: [usize; 3] = [9, 11, 10];

/// Weights of one gate.
const MOST: u64 = 1 << 22;

fn activation(number: i64) -> Translated<&'static str> {
    Ok(match number {
        0 => "Affine",
        1 => "Relu",
        4 => "Tanh",
        _ => {
            return refuse(
                format!("its activation {number} is not supported"),
                "NONE, RELU and TANH are supported in recurrent layers",
            );
        }
    })
}

/// A constant of zeros.
fn zeros(g: &mut Graph<'_, '_, '_>, shape: &[i64]) -> Translated<String> {
    match onnx::elements::count(shape, MOST) {
        Some(count) => Ok(g.numbers("zeros", shape, &vec![0.0; count])),
        None => refuse(format!("{shape:?} are more than {MOST} weights"), "export the model again"),
    }
}

/// One value of all gates, `[1, rows...]`; gates that are left out are 0.
fn gates(
    g: &mut Graph<'_, '_, '_>,
    op: &Op<'_, '_, '_>,
    places: &[usize],
    shape: &[i64],
) -> Translated<Option<String>> {
    if places.iter().all(|&place| op.optional(place).is_none()) {
        return Ok(None);
    }
    // Input and forget gate are coupled where the input gate is left out: i = 1 - f is the gate of the negated sum.
    let coupled = op.optional(WEIGHTS[0]).is_none();
    let mut parts = Vec::new();
    for (n, &place) in places.iter().enumerate() {
        let forget = places[2];
        parts.push(match op.optional(place) {
            Some(t) => g.real(t)?,
            None if n == 0 && coupled && op.optional(forget).is_some() => {
                let value = g.real(op.input(forget)?)?;
                g.node("Neg", &[&value], &[])
            }
            None => zeros(g, shape)?,
        });
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let joined = g.node("Concat", &parts, &[("axis", Setting::Int(0))]);
    let mut all = vec![1, shape[0] * places.len() as i64];
    all.extend(&shape[1..]);
    Ok(Some(reshaped(g, &joined, &all)))
}

/// The state that a layer begins with, if it is not 0.
fn state(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, place: usize) -> Translated<Option<String>> {
    match op.optional(place) {
        Some(t) if !g.tensor(t).is_variable => g.real(t).map(Some),
        _ => Ok(None),
    }
}

fn long(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, steps_first: bool) -> Translated<()> {
    let x = g.real(op.input(0)?)?;
    let value = long_of(g, op, &x, g.shape(op.input(0)?), steps_first)?;
    g.set_real(op.output()?, &value, 0)
}

/// One step, on a matrix.
fn step_of_long(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    if op.byte(3)? != 0 || op.inputs.len() < 20 {
        return refuse("it is of the kernel BASIC", "`UNIDIRECTIONAL_SEQUENCE_LSTM` does the same");
    }
    let shape = g.shape(op.input(0)?);
    let &[batch, inputs] = shape else {
        return refuse(format!("its operand has the shape {shape:?}"), "a matrix is wanted");
    };
    let x = g.real(op.input(0)?)?;
    let x = reshaped(g, &x, &[1, batch, inputs]);
    let value = long_of(g, op, &x, &[1, batch, inputs], true)?;
    let &[.., out] = op.outputs else { return refuse("it has no result", "export the model again") };
    let value = reshaped(g, &value, g.shape(out));
    g.set_real(out, &value, 0)
}

/// The outputs of all steps, in the layout of the operand.
fn long_of(
    g: &mut Graph<'_, '_, '_>,
    op: &Op<'_, '_, '_>,
    x: &str,
    shape: &[i64],
    steps_first: bool,
) -> Translated<String> {
    let none = "there is no equivalent here: train the model without it, or compute this layer on the host";
    if op.optional(16).is_some() {
        return refuse("its state is projected", none);
    }
    if (20..24).any(|place| op.optional(place).is_some()) {
        return refuse("its gates are normalised", none);
    }
    if op.float(1)? != 0.0 || op.float(2)? != 0.0 {
        return refuse("its cells are clipped", none);
    }
    let recurrent = g.shape(op.input(RECURRENT[3])?);
    let (&[hidden, _], &[.., inputs]) = (recurrent, shape) else {
        return refuse(format!("{shape:?} and {recurrent:?} are not sequences and weights"), "export the model again");
    };
    if shape.len() != 3 {
        return refuse(format!("its operand has the shape {shape:?}"), "three dimensions are wanted");
    }
    let w = gates(g, op, &WEIGHTS, &[hidden, inputs])?.unwrap_or_default();
    let r = gates(g, op, &RECURRENT, &[hidden, hidden])?.unwrap_or_default();
    let peepholes = gates(g, op, &PEEPHOLES, &[hidden])?.unwrap_or_default();
    let biases = match gates(g, op, &BIASES, &[hidden])? {
        // ONNX has a second list of them.
        Some(biases) => {
            let zeros = zeros(g, &[1, 4 * hidden])?;
            g.node("Concat", &[&biases, &zeros], &[("axis", Setting::Int(1))])
        }
        None => String::new(),
    };
    let mut states = Vec::new();
    for place in [18, 19] {
        let value = state(g, op, place)?;
        states.push(match value {
            Some(value) => reshaped(g, &value, &[1, shape[usize::from(steps_first)], hidden]),
            None => String::new(),
        });
    }
    let name = activation(op.byte(0)?)?.to_owned();
    let settings = [
        ("activations", Setting::Texts(vec!["Sigmoid".into(), name.clone(), name])),
        ("hidden_size", Setting::Int(hidden)),
    ];
    Ok(sequence(
        g,
        x,
        steps_first,
        |g, x| g.node("LSTM", &[x, &w, &r, &biases, "", &states[0], &states[1], &peepholes], &settings),
        (shape, hidden),
    ))
}

/// A layer of ONNX, which takes `[steps, batch, inputs]` and gives `[steps, 1, batch, hidden]`.
fn sequence(
    g: &mut Graph<'_, '_, '_>,
    x: &str,
    steps_first: bool,
    layer: impl FnOnce(&mut Graph<'_, '_, '_>, &str) -> String,
    (shape, hidden): (&[i64], i64),
) -> String {
    let turn = vec![1, 0, 2];
    let x = if steps_first { x.to_owned() } else { transposed(g, x, turn.clone()) };
    let y = layer(g, &x);
    let (steps, batch) = if steps_first { (shape[0], shape[1]) } else { (shape[1], shape[0]) };
    let y = reshaped(g, &y, &[steps, batch, hidden]);
    if steps_first { y } else { transposed(g, &y, turn) }
}

/// Operands: sequence or one step, weights, recurrent weights, biases, state.
fn simple(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let is_sequence = op.name != "RNN";
    let steps_first = is_sequence && op.flag(0)?;
    let name = activation(op.byte(usize::from(is_sequence))?)?;
    let (own, weights) = (g.shape(op.input(0)?).to_vec(), g.shape(op.input(1)?));
    let shape = if is_sequence { own } else { [vec![1], own].concat() };
    let (&[units, inputs], 3) = (weights, shape.len()) else {
        return refuse(format!("{shape:?} and {weights:?} are not sequences and weights"), "export the model again");
    };
    let x = g.real(op.input(0)?)?;
    let x = if is_sequence { x } else { reshaped(g, &x, &shape) };
    let (w, r, b) = (g.real(op.input(1)?)?, g.real(op.input(2)?)?, g.real(op.input(3)?)?);
    let (w, r) = (reshaped(g, &w, &[1, units, inputs]), reshaped(g, &r, &[1, units, units]));
    let (b, zeros) = (reshaped(g, &b, &[1, units]), zeros(g, &[1, units])?);
    let b = g.node("Concat", &[&b, &zeros], &[("axis", Setting::Int(1))]);
    let batch = shape[usize::from(steps_first || !is_sequence)];
    let begin = match state(g, op, 4)? {
        Some(value) => reshaped(g, &value, &[1, batch, units]),
        None => String::new(),
    };
    let settings = [("activations", Setting::Texts(vec![name.into()])), ("hidden_size", Setting::Int(units))];
    let layer = |g: &mut Graph<'_, '_, '_>, x: &str| g.node("RNN", &[x, &w, &r, &b, "", &begin], &settings);
    let value = sequence(g, &x, steps_first || !is_sequence, layer, (&shape, units));
    let out = op.output()?;
    let value = reshaped(g, &value, g.shape(out));
    g.set_real(out, &value, 0)
}

/// Added up along the last of three dimensions.
fn summed(g: &mut Graph<'_, '_, '_>, value: &str) -> String {
    g.node("ReduceSum", &[value], &[("axes", Setting::Ints(vec![2])), ("keepdims", Setting::Int(0))])
}

/// `y[u] = bias[u] + sum[r, m](state[u, r, m] * time[u, r, m])`, where the newest column of the state is `x . feature[u, r]`.
fn filtered(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (rank, activation, out) = (op.int(0, 0)?, op.byte(1)?, op.output()?);
    let (x, feature, time) = (op.input(0)?, op.input(1)?, op.input(2)?);
    let (&[batch, _], &[filters, memory]) = (g.shape(x), g.shape(time)) else {
        return refuse("its operand and weights are not matrices", "export the model again");
    };
    if rank < 1 || filters % rank != 0 || memory < 1 {
        return refuse(format!("{filters} filters of rank {rank}"), "export the model again");
    }
    let (x, feature, time) = (g.real(x)?, g.real(feature)?, g.real(time)?);
    let newest = g.node("Gemm", &[&x, &feature], &[("transB", Setting::Int(1))]);
    let mut value = if let Some(value) = state(g, op, 4)? {
        let value = reshaped(g, &value, &[batch, filters, memory]);
        let older = slice(g, &value, &[(2, 1, memory, 1)]);
        let newest = reshaped(g, &newest, &[batch, filters, 1]);
        let all = g.node("Concat", &[&older, &newest], &[("axis", Setting::Int(2))]);
        let products = g.node("Mul", &[&all, &time], &[]);
        summed(g, &products)
    } else {
        // All older columns are 0.
        let last = slice(g, &time, &[(1, memory - 1, memory, 1)]);
        let last = reshaped(g, &last, &[filters]);
        g.node("Mul", &[&newest, &last], &[])
    };
    if rank > 1 {
        value = reshaped(g, &value, &[batch, filters / rank, rank]);
        value = summed(g, &value);
    }
    if let Some(bias) = op.optional(3) {
        let bias = g.real(bias)?;
        value = g.node("Add", &[&value, &bias], &[]);
    }
    g.set_real(out, &value, activation)
}
