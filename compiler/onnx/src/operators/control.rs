//! Bodies: branches that are chosen, and loops whose steps are counted when the file is read.

use super::independent;
use crate::build::{Refusal, Translated, Val, misfit, unsupported};
use crate::call::{Call, Slot};
use crate::expression::select;
use crate::graph::Lowering;
use crate::model::Graph;
use arch::Code;

/// Steps of a loop.
const STEPS: i64 = 10_000;

/// Translate an operator of this kind.
pub(crate) fn translate<'m>(l: &mut Lowering<'_, 'm>, c: &Call<'_, 'm>, depth: usize) -> Translated<Option<Vec<Slot>>> {
    match c.node.operator {
        "If" => branch(l, c, depth).map(Some),
        "Loop" => repeat(l, c, depth).map(Some),
        "Scan" => scan(l, c, depth).map(Some),
        "SequenceMap" => each(l, c, depth).map(Some),
        _ => Ok(None),
    }
}

fn body<'c, 'm>(c: &'c Call<'_, 'm>, name: &str) -> Translated<&'c Graph<'m>> {
    let found = c.attribute(name).and_then(|attribute| attribute.graph.as_deref());
    found.ok_or_else(|| Refusal::new(Code::Arity, format!("its {name} is missing")))
}

fn branch<'m>(l: &mut Lowering<'_, 'm>, c: &Call<'_, 'm>, depth: usize) -> Translated<Vec<Slot>> {
    let condition = c.input(0)?;
    let (yes, no) = (body(c, "then_branch")?, body(c, "else_branch")?);
    if let Some(known) = l.builder.known(condition) {
        let taken = if known.first().is_some_and(|&value| value != 0.0) { yes } else { no };
        return l.body(taken, &[], depth);
    }
    // Both are computed, and one is taken.
    let (yes, no) = (l.body(yes, &[], depth)?, l.body(no, &[], depth)?);
    let mut results = Vec::new();
    for pair in yes.into_iter().zip(no) {
        let (Slot::Tensor(yes), Slot::Tensor(no)) = pair else {
            return unsupported("its condition is computed, and it gives a sequence", "make the condition a constant");
        };
        if l.builder.shape(yes) != l.builder.shape(no) {
            return misfit("its condition is computed, and its branches give different shapes");
        }
        let shape: Vec<i64> = l.builder.shape(condition);
        let condition = if shape.is_empty() { condition } else { l.builder.reshape(condition, &[])? };
        let value =
            l.builder.zip(&[condition, yes, no], yes.kind, |x| select(x[0].clone(), x[1].clone(), x[2].clone()))?;
        results.push(Slot::Tensor(value));
    }
    Ok(results)
}

fn first_known(l: &Lowering<'_, '_>, slot: Option<&Slot>) -> Option<f64> {
    if let Some(Slot::Tensor(value)) = slot { l.builder.known(*value)?.first().copied() } else { None }
}

fn repeat<'m>(l: &mut Lowering<'_, 'm>, c: &Call<'_, 'm>, depth: usize) -> Translated<Vec<Slot>> {
    let inner = body(c, "body")?;
    let most = match c.optional(0)? {
        Some(count) => *l.static_ints(count, "number of steps")?.first().unwrap_or(&0),
        None => STEPS,
    };
    let go_on = |l: &Lowering<'_, '_>, slot: Option<&Slot>| match slot {
        None | Some(Slot::Nothing) => Ok(true),
        Some(_) => first_known(l, slot).map(|value| value != 0.0).ok_or_else(|| {
            Refusal::new(Code::Unsupported, "its condition is computed from values that are not known yet")
                .help("loops run as often as the model says when it is read; take the condition out")
        }),
    };
    let mut condition = c.operands.get(1).cloned().flatten();
    let mut carried: Vec<Slot> = c.operands.iter().skip(2).map(|slot| slot.clone().unwrap_or(Slot::Nothing)).collect();
    let count = carried.len();
    let scanned = inner.outputs.len().saturating_sub(1 + count);
    let mut lists: Vec<Vec<Val>> = vec![Vec::new(); scanned];
    if always_goes_on(inner) && go_on(l, condition.as_ref())? {
        l.bounded(inner, most.max(0) as u64)?;
    }
    let mut step = 0;
    while step < most && go_on(l, condition.as_ref())? {
        if step >= STEPS {
            return Err(Refusal::new(Code::Limit, format!("it takes more than {STEPS} steps")));
        }
        let number = l.builder.scalar(crate::elements::Kind::INT64, step as f64)?;
        let truth = match &condition {
            Some(slot) => slot.clone(),
            None => Slot::Tensor(l.builder.scalar(crate::elements::Kind::Bool, 1.0)?),
        };
        let inputs: Vec<Slot> = [Slot::Tensor(number), truth].into_iter().chain(carried.iter().cloned()).collect();
        let mut results = l.body(inner, &inputs, depth)?.into_iter();
        condition = results.next();
        carried = results.by_ref().take(count).collect();
        for (list, slot) in lists.iter_mut().zip(results) {
            let Slot::Tensor(value) = slot else { return misfit("its body gives a sequence for each step") };
            list.push(value);
        }
        step += 1;
    }
    for list in lists {
        carried.push(Slot::Tensor(l.stacked(&list, 0)?));
    }
    Ok(carried)
}

/// Whether a body leaves the condition as it was: then the number of steps is known before the first one.
fn always_goes_on(inner: &Graph<'_>) -> bool {
    let (Some(given), Some(result)) = (inner.inputs.get(1), inner.outputs.first()) else { return false };
    let mut name = result.name;
    // A chain of copies, from its end.
    for node in inner.nodes.iter().rev().filter(|node| matches!(node.operator, "Identity" | "Cast")) {
        if let ([input], [output]) = (&node.inputs[..], &node.outputs[..])
            && *output == name
        {
            name = input;
        }
    }
    name == given.name
}

impl Lowering<'_, '_> {
    /// Values as the parts of a new dimension.
    pub(crate) fn stacked(&mut self, values: &[Val], axis: usize) -> Translated<Val> {
        if values.is_empty() {
            return unsupported("it gives a list of no values", "give it at least one step");
        }
        let mut parts = Vec::new();
        for &value in values {
            let mut shape = self.builder.shape(value);
            if axis > shape.len() {
                return misfit(format!("there is no axis {axis}"));
            }
            shape.insert(axis, 1);
            parts.push(self.builder.reshape(value, &shape)?);
        }
        self.builder.concat(&parts, axis)
    }

    /// One part of a dimension, without it.
    pub(crate) fn without(&mut self, value: Val, axis: usize, at: i64) -> Translated<Val> {
        let part = self.builder.part(value, axis, at, 1, 1)?;
        let mut shape = self.builder.shape(part);
        shape.remove(axis);
        self.builder.reshape(part, &shape)
    }
}

/// A list of steps, backwards or not, that run along another axis than the first.
fn turned(l: &mut Lowering<'_, '_>, list: Val, backwards: bool, axis: i64) -> Translated<Val> {
    let steps = l.builder.shape(list)[0];
    let list = if backwards { l.builder.part(list, 0, steps - 1, steps, -1)? } else { list };
    let rank = l.builder.rank(list);
    let axis = crate::call::axis(axis, rank)?;
    let order: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..rank).collect();
    if axis == 0 { Ok(list) } else { l.builder.transpose(list, &order) }
}

/// The axis of each input that is scanned, and the elements that all have along it.
fn scanned_axes(l: &Lowering<'_, '_>, inputs: &[Val], axes: &[i64]) -> Translated<(Vec<usize>, i64)> {
    let (mut places, mut lengths) = (Vec::new(), Vec::new());
    for (&input, &axis) in inputs.iter().zip(axes) {
        let shape = l.builder.shape(input);
        let axis = crate::call::axis(axis, shape.len())?;
        lengths.push(shape[axis]);
        places.push(axis);
    }
    let steps = lengths.first().copied().unwrap_or(0);
    match lengths.iter().find(|&&length| length != steps) {
        Some(other) => misfit(format!("it scans inputs of {steps} and of {other} elements at the same time")),
        None => Ok((places, steps)),
    }
}

fn scan<'m>(l: &mut Lowering<'_, 'm>, c: &Call<'_, 'm>, depth: usize) -> Translated<Vec<Slot>> {
    if c.version < 9 {
        return unsupported("this form of Scan is of version 8", "export with opset 9 or later");
    }
    let inner = body(c, "body")?;
    let scanned = usize::try_from(c.int("num_scan_inputs", 1)).unwrap_or(1);
    let Some(states) = c.operands.len().checked_sub(scanned) else {
        return misfit("it has fewer operands than it scans");
    };
    let inputs: Vec<Val> = (states..c.operands.len()).map(|n| c.input(n)).collect::<Translated<_>>()?;
    let outputs = inner.outputs.len().saturating_sub(states);
    let list =
        |name: &str, count: usize| c.ints(name).filter(|list| list.len() == count).unwrap_or_else(|| vec![0; count]);
    let (axes, backwards) = (list("scan_input_axes", scanned), list("scan_input_directions", scanned));
    let (out_axes, out_backwards) = (list("scan_output_axes", outputs), list("scan_output_directions", outputs));
    let mut carried: Vec<Slot> =
        c.operands[..states].iter().map(|slot| slot.clone().unwrap_or(Slot::Nothing)).collect();
    let mut lists: Vec<Vec<Val>> = vec![Vec::new(); outputs];
    let (places, steps) = scanned_axes(l, &inputs, &axes)?;
    let mut in_order = Vec::new();
    for (n, &input) in inputs.iter().enumerate().filter(|_| steps > 0) {
        let rest = (0..l.builder.rank(input)).filter(|&axis| axis != places[n]);
        let order: Vec<usize> = std::iter::once(places[n]).chain(rest).collect();
        let first = if places[n] == 0 { input } else { l.builder.transpose(input, &order)? };
        in_order.push(if backwards[n] == 0 { first } else { l.builder.part(first, 0, steps - 1, steps, -1)? });
    }
    if steps > 0
        && let Some(all) = independent::all_steps(l, inner, &carried, &in_order)?
    {
        for (n, list) in all.into_iter().enumerate() {
            carried.push(Slot::Tensor(turned(l, list, out_backwards[n] != 0, out_axes[n])?));
        }
        return Ok(carried);
    }
    if steps > STEPS {
        return Err(Refusal::new(Code::Limit, format!("it takes more than {STEPS} steps")));
    }
    l.bounded(inner, steps.max(0) as u64)?;
    for step in 0..steps {
        let mut operands = carried.clone();
        for (n, &input) in inputs.iter().enumerate() {
            let at = if backwards[n] != 0 { steps - 1 - step } else { step };
            operands.push(Slot::Tensor(l.without(input, places[n], at)?));
        }
        let mut results = l.body(inner, &operands, depth)?.into_iter();
        carried = results.by_ref().take(states).collect();
        for (list, slot) in lists.iter_mut().zip(results) {
            let Slot::Tensor(value) = slot else { return misfit("its body gives a sequence for each step") };
            list.push(value);
        }
    }
    for (n, mut list) in lists.into_iter().enumerate() {
        if out_backwards[n] != 0 {
            list.reverse();
        }
        let rank = list.first().map_or(0, |&value| l.builder.rank(value)) + 1;
        let axis = crate::call::axis(out_axes[n], rank)?;
        carried.push(Slot::Tensor(l.stacked(&list, axis)?));
    }
    Ok(carried)
}

fn each<'m>(l: &mut Lowering<'_, 'm>, c: &Call<'_, 'm>, depth: usize) -> Translated<Vec<Slot>> {
    let inner = body(c, "body")?;
    let first = c.sequence(0)?;
    let mut lists: Vec<Vec<Val>> = vec![Vec::new(); inner.outputs.len()];
    l.bounded(inner, first.len() as u64)?;
    for step in 0..first.len() {
        let mut operands = Vec::new();
        for (n, operand) in c.operands.iter().enumerate() {
            operands.push(match operand {
                Some(Slot::Sequence(values)) => {
                    let value = values.get(step).copied();
                    Slot::Tensor(value.ok_or_else(|| Refusal::new(Code::Shape, format!("sequence {n} is too short")))?)
                }
                Some(slot) => slot.clone(),
                None => Slot::Nothing,
            });
        }
        for (list, slot) in lists.iter_mut().zip(l.body(inner, &operands, depth)?) {
            let Slot::Tensor(value) = slot else { return misfit("its body gives a sequence") };
            list.push(value);
        }
    }
    Ok(lists.into_iter().map(Slot::Sequence).collect())
}
