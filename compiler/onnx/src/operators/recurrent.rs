//! Recurrent layers, step by step: the number of steps is known when the file is read.

use super::elementwise::activation;
use crate::build::{Loops, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, fixed, it, num, select};
use crate::graph::Lowering;
use compiler::tensor::Aggregate;

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    match c.node.operator {
        "RNN" | "GRU" | "LSTM" => layer(l, c).map(Some),
        _ => Ok(None),
    }
}

/// One direction of a layer.
struct Direction<'c, 'm> {
    number: i64,
    hidden: i64,
    /// Name, alpha and beta of its activation functions.
    functions: Vec<(String, Option<f64>, Option<f64>)>,
    clip: Option<f64>,
    call: &'c Call<'c, 'm>,
}

fn layer(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let batch_first = c.int("layout", 0) != 0;
    let mut x = c.input(0)?;
    if batch_first {
        x = l.builder.transpose(x, &[1, 0, 2])?;
    }
    let recurrent = l.builder.shape(c.input(2)?);
    let [steps, batch, _] = l.builder.shape(x)[..] else { return misfit("its operand is not a list of sequences") };
    let [directions, _, hidden] = recurrent[..] else { return misfit("its weights do not have three dimensions") };
    check_shapes(l, c, x, (directions, hidden))?;
    let whole = |lengths: &[f64]| lengths.iter().all(|&length| length == steps as f64);
    let lengths = c.optional(4)?.filter(|&lengths| !l.builder.known(lengths).is_some_and(whole));
    let per: &[&str] = match c.node.operator {
        "RNN" => &["Tanh"],
        "GRU" => &["Sigmoid", "Tanh"],
        _ => &["Sigmoid", "Tanh", "Tanh"],
    };
    let texts = c
        .attribute("activations")
        .map(|a| a.texts.iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect::<Vec<_>>());
    let names =
        texts.unwrap_or_else(|| (0..directions).flat_map(|_| per.iter().map(|&name| name.to_owned())).collect());
    let (alphas, betas) =
        (c.floats("activation_alpha").unwrap_or_default(), c.floats("activation_beta").unwrap_or_default());
    let backwards = c.text("direction", "forward");
    let clip = c.attribute("clip").and_then(|a| a.float).map(f64::from);
    let (mut outputs, mut lasts, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..directions {
        let first = number as usize * per.len();
        let functions: Vec<_> = (first..first + per.len())
            .map(|n| (names.get(n).cloned().unwrap_or_default(), alphas.get(n).copied(), betas.get(n).copied()))
            .collect();
        if let Some((wrong, ..)) = functions.iter().find(|(name, a, b)| activation(name, num(0.0), *a, *b).is_none()) {
            return crate::build::unsupported(
                format!("the activation {wrong} is not supported"),
                "Sigmoid, Tanh, Relu and their like are",
            );
        }
        let direction = Direction { number, hidden, functions, clip, call: c };
        let reverse = backwards == "reverse" || number == 1;
        let (list, last, cell) = run(l, &direction, x, (steps, batch), (reverse, lengths))?;
        outputs.push(l.stacked(&list, 0)?);
        lasts.push(last);
        cells.push(cell);
    }
    // [steps, directions, batch, hidden]
    let mut y = l.stacked(&outputs, 1)?;
    let mut last = l.stacked(&lasts, 0)?;
    let mut results = Vec::new();
    if batch_first {
        y = l.builder.transpose(y, &[2, 0, 1, 3])?;
        last = l.builder.transpose(last, &[1, 0, 2])?;
    }
    results.extend([Slot::Tensor(y), Slot::Tensor(last)]);
    if c.node.operator == "LSTM" {
        let mut cell = l.stacked(&cells, 0)?;
        if batch_first {
            cell = l.builder.transpose(cell, &[1, 0, 2])?;
        }
        results.push(Slot::Tensor(cell));
    }
    Ok(results)
}

/// Every operand has the shape that sequences and states ask for.
fn check_shapes(l: &Lowering<'_, '_>, c: &Call<'_, '_>, x: Val, (directions, hidden): (i64, i64)) -> Translated<()> {
    let [_, batch, inputs] = l.builder.shape(x)[..] else { return misfit("its operand is not a list of sequences") };
    let gates = match c.node.operator {
        "RNN" => 1,
        "GRU" => 3,
        _ => 4,
    };
    let wanted_directions = if c.text("direction", "forward") == "bidirectional" { 2 } else { 1 };
    if directions != wanted_directions || hidden < 1 {
        return misfit(format!(
            "its weights are of {directions} directions and {hidden} units; {wanted_directions} directions are wanted"
        ));
    }
    let rows = gates * hidden;
    let state = if c.int("layout", 0) == 0 { [directions, batch, hidden] } else { [batch, directions, hidden] };
    let wanted: [(&str, &[i64]); 7] = [
        ("W", &[directions, rows, inputs]),
        ("R", &[directions, rows, hidden]),
        ("B", &[directions, 2 * rows]),
        ("sequence_lens", &[batch]),
        ("initial_h", &state),
        ("initial_c", &state),
        ("P", &[directions, 3 * hidden]),
    ];
    let operands = if c.node.operator == "LSTM" { 7 } else { 5 };
    for (number, (name, wanted)) in wanted.into_iter().enumerate().take(operands) {
        if let Some(value) = c.optional(number + 1)?
            && l.builder.shape(value) != wanted
        {
            return misfit(format!("{name} has the shape {:?}, not {wanted:?}", l.builder.shape(value)));
        }
    }
    Ok(())
}

/// Outputs of all steps in the order of time, the last state and the last cell.
fn run(
    l: &mut Lowering<'_, '_>,
    d: &Direction<'_, '_>,
    x: Val,
    (steps, batch): (i64, i64),
    (reverse, lengths): (bool, Option<Val>),
) -> Translated<(Vec<Val>, Val, Val)> {
    let c = d.call;
    let initial = |l: &mut Lowering<'_, '_>, operand: usize| -> Translated<Val> {
        match c.optional(operand)? {
            Some(value) if c.int("layout", 0) != 0 => l.without(value, 1, d.number),
            Some(value) => l.without(value, 0, d.number),
            None => l.builder.map(&[batch, d.hidden], x.kind, |_, _| num(0.0)),
        }
    };
    let mut state = initial(l, 5)?;
    let mut cell = if c.node.operator == "LSTM" { initial(l, 6)? } else { state };
    let mut list = vec![None; steps as usize];
    for n in 0..steps {
        let time = if reverse { steps - 1 - n } else { n };
        let input = l.without(x, 0, time)?;
        let (new_state, new_cell) = match c.node.operator {
            "RNN" => {
                let h = gate(l, d, input, state, 0, 0, None)?;
                (h, h)
            }
            "GRU" => {
                let h = gated(l, d, input, state)?;
                (h, h)
            }
            _ => long_short(l, d, input, state, cell)?,
        };
        let mut out = new_state;
        if let Some(lengths) = lengths {
            // Sequences that are over keep their state, and give 0.
            let live = l
                .builder
                .map(&[batch, 1], Kind::Bool, |_, at| Ex::Read(lengths.id, vec![at[0].clone()]).gt(time as f64))?;
            let mut keep = |new: Val, old: Val| {
                l.builder.zip(&[live, new, old], x.kind, |x| select(x[0].clone(), x[1].clone(), x[2].clone()))
            };
            let kept = keep(new_state, state)?;
            cell = keep(new_cell, cell)?;
            state = kept;
            out = l.builder.zip(&[live, new_state], x.kind, |x| select(x[0].clone(), x[1].clone(), num(0.0)))?;
        } else {
            (state, cell) = (new_state, new_cell);
        }
        list[time as usize] = Some(out);
    }
    Ok((list.into_iter().flatten().collect(), state, cell))
}

/// `x W^T + h R^T + Wb + Rb` of a gate, before its function; its bias of the recurrence alone is left out for `without`.
fn sum(l: &mut Lowering<'_, '_>, d: &Direction<'_, '_>, x: Option<Val>, h: Option<Val>, gate: i64) -> Translated<Val> {
    let (w, r, bias) = (d.call.input(1)?, d.call.input(2)?, d.call.optional(3)?);
    let (hidden, kind) = (d.hidden, w.kind);
    let row = fixed(gate * hidden).plus(1, &it(1));
    let mut product = |value: Val, weight: Val| -> Translated<Val> {
        let shape = l.builder.shape(value);
        let loops = Loops::over(&[shape[0], hidden], &[shape[1]], Aggregate::Add);
        let body =
            Ex::Read(value.id, vec![it(0), it(2)]) * Ex::Read(weight.id, vec![fixed(d.number), row.clone(), it(2)]);
        l.builder.nested(&[shape[0], hidden], kind, &loops, &body)
    };
    let mut parts = Vec::new();
    if let Some(x) = x {
        parts.push(product(x, w)?);
    }
    if let Some(h) = h {
        parts.push(product(h, r)?);
    }
    let gates = l.builder.shape(w)[1];
    let shape = l.builder.shape(parts[0]);
    l.builder.map(&shape, kind, |b, at| {
        let mut total = parts.iter().map(|&part| b.read(part, at)).reduce(|a, b| a + b).unwrap_or(num(0.0));
        if let Some(bias) = bias {
            let read =
                |offset: i64| Ex::Read(bias.id, vec![fixed(d.number), fixed(offset + gate * hidden).plus(1, &at[1])]);
            if x.is_some() {
                total = total + read(0);
            }
            if h.is_some() {
                total = total + read(gates);
            }
        }
        total
    })
}

fn clipped(d: &Direction<'_, '_>, x: Ex) -> Ex {
    match d.clip {
        Some(clip) => x.max(-clip).min(clip),
        None => x,
    }
}

fn function(d: &Direction<'_, '_>, number: usize, x: Ex) -> Ex {
    let (name, alpha, beta) = &d.functions[number];
    activation(name, clipped(d, x.clone()), *alpha, *beta).unwrap_or(x)
}

/// A gate: its sum, with a peephole into a cell, through a function.
fn gate(
    l: &mut Lowering<'_, '_>,
    d: &Direction<'_, '_>,
    x: Val,
    h: Val,
    gate: i64,
    number: usize,
    peephole: Option<(Val, i64)>,
) -> Translated<Val> {
    let total = sum(l, d, Some(x), Some(h), gate)?;
    let weights = if peephole.is_some() { d.call.optional(7)? } else { None };
    let shape = l.builder.shape(total);
    l.builder.map(&shape, total.kind, |b, at| {
        let mut value = b.read(total, at);
        if let (Some((cell, place)), Some(weights)) = (peephole, weights) {
            let weight = Ex::Read(weights.id, vec![fixed(d.number), fixed(place * d.hidden).plus(1, &at[1])]);
            value = value + weight * b.read(cell, at);
        }
        function(d, number, value)
    })
}

/// A step of a GRU: `z`, `r`, `h`.
fn gated(l: &mut Lowering<'_, '_>, d: &Direction<'_, '_>, x: Val, h: Val) -> Translated<Val> {
    let update = gate(l, d, x, h, 0, 0, None)?;
    let reset = gate(l, d, x, h, 1, 0, None)?;
    let new = if d.call.int("linear_before_reset", 0) != 0 {
        let (of_x, of_h) = (sum(l, d, Some(x), None, 2)?, sum(l, d, None, Some(h), 2)?);
        l.builder.zip(&[of_x, reset, of_h], x.kind, |x| function(d, 1, x[0].clone() + x[1].clone() * x[2].clone()))?
    } else {
        let kept = l.builder.zip(&[reset, h], x.kind, |x| x[0].clone() * x[1].clone())?;
        gate(l, d, x, kept, 2, 1, None)?
    };
    l.builder.zip(&[update, new, h], x.kind, |x| {
        let (update, new, h) = (x[0].clone(), x[1].clone(), x[2].clone());
        (num(1.0) - update.clone()) * new + update * h
    })
}

/// A step of an LSTM: gates `i`, `o`, `f`, `c`.
fn long_short(l: &mut Lowering<'_, '_>, d: &Direction<'_, '_>, x: Val, h: Val, cell: Val) -> Translated<(Val, Val)> {
    let input = gate(l, d, x, h, 0, 0, Some((cell, 0)))?;
    let forget = if d.call.int("input_forget", 0) != 0 {
        l.builder.apply(input, |x| num(1.0) - x)?
    } else {
        gate(l, d, x, h, 2, 0, Some((cell, 2)))?
    };
    let new = gate(l, d, x, h, 3, 1, None)?;
    let cell = l
        .builder
        .zip(&[forget, cell, input, new], x.kind, |x| x[0].clone() * x[1].clone() + x[2].clone() * x[3].clone())?;
    let output = gate(l, d, x, h, 1, 0, Some((cell, 1)))?;
    let state = l.builder.zip(&[output, cell], x.kind, |x| x[0].clone() * function_of(d, 2, x[1].clone()))?;
    Ok((state, cell))
}

fn function_of(d: &Direction<'_, '_>, number: usize, x: Ex) -> Ex {
    let (name, alpha, beta) = &d.functions[number];
    activation(name, x.clone(), *alpha, *beta).unwrap_or(x)
}
