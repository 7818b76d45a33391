//! Elements by their place: slices, and places that are values.

use super::layout::{moved, reshaped, slice};
use super::{Op, axis};
use crate::graph::{Graph, Translated, refuse};
use crate::write::Setting;

/// Translate an operator of this kind.
#[expect(clippy::too_many_lines, reason = "one arm per operator")]
pub(super) fn translate(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    match op.name {
        "SLICE" => sliced(g, op)?,
        "STRIDED_SLICE" => strided(g, op)?,
        "REVERSE_V2" => {
            let shape = g.shape(op.input(0)?);
            let axes = g.known(op.input(1)?, "axes")?;
            let axes = axes.into_iter().map(|at| axis(at, shape.len())).collect::<Translated<Vec<_>>>()?;
            let parts: Vec<_> = axes.into_iter().map(|at| (at, -1, i64::MIN, -1)).collect();
            moved(g, op, |g, x| Ok(slice(g, x, &parts)))?;
        }
        "GATHER" => {
            let at = axis(op.int(0, 0)?, g.shape(op.input(0)?).len())?;
            if op.int(1, 0)? != 0 {
                return refuse("its setting batch_dims is not 0", "`GATHER_ND` takes places of several dimensions");
            }
            let places = g.value(op.input(1)?)?;
            moved(g, op, |g, x| Ok(g.node("Gather", &[x, &places], &[("axis", Setting::Int(at as i64))])))?;
        }
        "EMBEDDING_LOOKUP" => {
            let (places, out) = (g.value(op.input(0)?)?, op.output()?);
            let table = g.operand_like(op.input(1)?, out)?;
            let value = g.node("Gather", &[&table, &places], &[("axis", Setting::Int(0))]);
            g.set(out, value);
        }
        "GATHER_ND" => {
            let places = g.value(op.input(1)?)?;
            moved(g, op, |g, x| Ok(g.node("GatherND", &[x, &places], &[])))?;
        }
        "ARG_MAX" | "ARG_MIN" => {
            let x = op.input(0)?;
            let at = g.known(op.input(1)?, "axis")?.first().copied().unwrap_or(0);
            let at = axis(at, g.shape(x).len())?;
            let operator = if op.name == "ARG_MAX" { "ArgMax" } else { "ArgMin" };
            let value = g.value(x)?;
            let settings = [("axis", Setting::Int(at as i64)), ("keepdims", Setting::Int(0))];
            let value = g.node(operator, &[&value], &settings);
            g.set(op.output()?, value);
        }
        "TOPK_V2" => {
            let (x, count) = (op.input(0)?, g.known(op.input(1)?, "count")?);
            let &[values, places] = op.outputs else { return refuse("it has two results", "export the model again") };
            let (value, count) = (g.operand_like(x, values)?, g.indices(&[count.len().max(1) as i64], &count));
            let names = [g.fresh(g.tensor(values).name), g.fresh(g.tensor(places).name)];
            g.append("TopK", &[&value, &count], &[&names[0], &names[1]], &[]);
            let [first, second] = names;
            g.set(values, first);
            g.set(places, second);
        }
        "ONE_HOT" => {
            let (places, depth) = (g.value(op.input(0)?)?, g.known(op.input(1)?, "depth")?);
            let (on, off) = (g.value(op.input(2)?)?, g.value(op.input(3)?)?);
            let depth = g.indices(&[1], &depth);
            let [on, off] = [on, off].map(|value| reshaped(g, &value, &[1]));
            let values = g.node("Concat", &[&off, &on], &[("axis", Setting::Int(0))]);
            let value = g.node("OneHot", &[&places, &depth, &values], &[("axis", Setting::Int(op.int(0, 0)?))]);
            g.set(op.output()?, value);
        }
        "CUMSUM" => {
            let at = g.known(op.input(1)?, "axis")?;
            let flags = [("exclusive", op.flag(0)?), ("reverse", op.flag(1)?)];
            let x = g.real(op.input(0)?)?;
            let at = g.indices(&[1], &at);
            let settings = flags.map(|(name, flag)| (name, Setting::Int(i64::from(flag))));
            let value = g.node("CumSum", &[&x, &at], &settings);
            g.set_real(op.output()?, &value, 0)?;
        }
        "RANGE" => {
            let list = [op.input(0)?, op.input(1)?, op.input(2)?].map(|t| g.value(t));
            let [start, end, step] = list;
            let value = g.node("Range", &[&start?, &end?, &step?], &[]);
            g.set(op.output()?, value);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn sliced(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (starts, sizes) = (g.known(op.input(1)?, "begin")?, g.known(op.input(2)?, "size")?);
    let shape = g.shape(op.input(0)?);
    if starts.len() != shape.len() || sizes.len() != shape.len() {
        return refuse(format!("a part from {starts:?} of {sizes:?} of {shape:?}"), "export the model again");
    }
    let end = |n: usize| if sizes[n] < 0 { shape[n] } else { starts[n].saturating_add(sizes[n]) };
    let parts: Vec<_> = (0..shape.len()).map(|n| (n, starts[n], end(n), 1)).collect();
    moved(g, op, |g, x| Ok(slice(g, x, &parts)))
}

/// Masks say which starts and ends count, and which dimensions are new or go.
fn strided(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let list = |n: usize, what: &str| g.known(op.input(n)?, what);
    let (starts, ends, steps) = (list(1, "begin")?, list(2, "end")?, list(3, "strides")?);
    let masks = [op.int(0, 0)?, op.int(1, 0)?, op.int(4, 0)?];
    let (ellipsis, new_axis, offset) = (op.int(2, 0)?, op.int(3, 0)?, op.flag(5)?);
    let shape = g.shape(op.input(0)?);
    if starts.len() != ends.len() || starts.len() != steps.len() || steps.contains(&0) {
        return refuse(format!("a part from {starts:?} to {ends:?} in steps of {steps:?}"), "export the model again");
    }
    let has = |mask: i64, n: usize| n < 32 && mask >> n & 1 == 1;
    // Dimensions that an ellipsis stands for.
    let named = (0..starts.len()).filter(|&n| !has(ellipsis, n) && !has(new_axis, n)).count();
    let Some(hidden) = shape.len().checked_sub(named) else {
        return refuse(format!("{named} parts for {} dimensions", shape.len()), "export the model again");
    };
    let (mut parts, mut at) = (Vec::new(), 0);
    for n in 0..starts.len() {
        if has(ellipsis, n) {
            at += hidden;
        } else if !has(new_axis, n) {
            let step = steps[n];
            let end = if offset { starts[n].saturating_add(ends[n]) } else { ends[n] };
            let start = match step > 0 {
                _ if !has(masks[0], n) => starts[n],
                true => 0,
                false => i64::MAX,
            };
            let end = match step > 0 {
                _ if has(masks[2], n) && start == -1 => i64::MAX,
                _ if has(masks[2], n) => start.saturating_add(1),
                _ if !has(masks[1], n) => end,
                true => i64::MAX,
                false => i64::MIN,
            };
            parts.push((at, start, end, if has(masks[2], n) { 1 } else { step }));
            at += 1;
        }
    }
    let wanted = g.shape(op.output()?);
    moved(g, op, |g, x| {
        let value = slice(g, x, &parts);
        Ok(reshaped(g, &value, wanted))
    })
}
