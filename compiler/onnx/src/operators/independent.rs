//! Scans whose steps do not depend on each other, as distances between all rows of two tables: all steps at once, along a new first dimension.

use crate::build::{Translated, Val};
use crate::call::{Call, Slot};
use crate::graph::Lowering;
use crate::model::{Attribute, Graph, Node};
use std::collections::BTreeMap;

/// Operators of single elements.
const ELEMENTS: [&str; 12] = ["Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sqrt", "Exp", "Pow", "Max", "Min", "Identity"];

/// A value in a body, and whether it has a dimension of all steps before its own.
#[derive(Clone, Copy)]
struct Stepped(Val, bool);

/// The lists that a scan gives, each with the steps as its first dimension; nothing if a step needs the one before, or does something else
/// than single elements and reductions. The states are those of the beginning then.
pub(super) fn all_steps<'m>(
    l: &mut Lowering<'_, 'm>,
    inner: &Graph<'m>,
    states: &[Slot],
    scanned: &[Val],
) -> Translated<Option<Vec<Val>>> {
    let count = states.len();
    if !inner.initialisers.is_empty() || inner.inputs.len() != count + scanned.len() || inner.outputs.len() < count {
        return Ok(None);
    }
    let allowed = |node: &Node<'m>| {
        let reduces = node.operator.starts_with("Reduce") && node.inputs.len() == 1;
        node.domain.is_empty() && node.outputs.len() == 1 && (ELEMENTS.contains(&node.operator) || reduces)
    };
    if !inner.nodes.iter().all(allowed) {
        return Ok(None);
    }
    let mut values: BTreeMap<&str, Stepped> = BTreeMap::new();
    for (info, state) in inner.inputs.iter().zip(states) {
        let Slot::Tensor(value) = state else { return Ok(None) };
        values.insert(info.name, Stepped(*value, false));
    }
    for (info, &value) in inner.inputs[count..].iter().zip(scanned) {
        values.insert(info.name, Stepped(value, true));
    }
    // States have to stay what they are: copies of themselves.
    let mut same: BTreeMap<&str, &str> = inner.inputs.iter().map(|info| (info.name, info.name)).collect();
    for node in inner.nodes.iter().filter(|node| node.operator == "Identity") {
        if let Some(&first) = node.inputs.first().and_then(|name| same.get(name)) {
            same.insert(node.outputs[0], first);
        }
    }
    let kept = inner.inputs.iter().zip(&inner.outputs).take(count);
    if kept.clone().count() < count || !kept.clone().all(|(input, output)| same.get(output.name) == Some(&input.name)) {
        return Ok(None);
    }
    for node in &inner.nodes {
        let operands = node.inputs.iter().map(|name| match (values.get(name), l.find(name)) {
            (Some(&known), _) => Some(known),
            (None, Some(Slot::Tensor(value))) => Some(Stepped(value, false)),
            _ => None,
        });
        let Some(operands) = operands.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let Some(result) = step(l, node, &operands)? else { return Ok(None) };
        values.insert(node.outputs[0], result);
    }
    let steps = scanned.first().map_or(0, |&value| l.builder.shape(value)[0]);
    let mut lists = Vec::new();
    for info in &inner.outputs[count..] {
        let Some(&Stepped(value, stepped)) = values.get(info.name) else { return Ok(None) };
        let shape = l.builder.shape(value);
        lists.push(if stepped { value } else { l.builder.expand(value, &[vec![steps], shape].concat())? });
    }
    Ok(Some(lists))
}

/// A node of the body, for all steps.
fn step<'m>(l: &mut Lowering<'_, 'm>, node: &Node<'m>, operands: &[Stepped]) -> Translated<Option<Stepped>> {
    let stepped = operands.iter().any(|operand| operand.1);
    let own = |l: &Lowering<'_, '_>, &Stepped(value, stepped): &Stepped| l.builder.rank(value) - usize::from(stepped);
    let rank = operands.iter().map(|operand| own(l, operand)).max().unwrap_or(0);
    let mut node = node.clone();
    if node.operator.starts_with("Reduce") && stepped {
        let given = node.attribute("axes").map(|attribute| attribute.integers.clone()).unwrap_or_default();
        if given.is_empty() && node.attribute("noop_with_empty_axes").is_some() {
            return Ok(None);
        }
        let given = if given.is_empty() { (0..rank as i64).collect() } else { given };
        // Counted from the end they stay; from the front, there is one dimension more.
        let axes = given.into_iter().map(|axis| if axis < 0 { axis } else { axis + 1 }).collect();
        node.attributes.retain(|attribute| attribute.name != "axes");
        node.attributes.push(Attribute { name: "axes", integers: axes, ..Attribute::default() });
    }
    let mut values = Vec::new();
    for operand in operands {
        let mut shape = l.builder.shape(operand.0);
        if operand.1 {
            shape.splice(1..1, std::iter::repeat_n(1, rank - own(l, operand)));
        }
        let value = l.builder.reshape(operand.0, &shape)?;
        values.push(Some(Slot::Tensor(value)));
    }
    let call = Call { node: &node, version: l.version(""), operands: values };
    match super::simple(l, &call)?.first() {
        Some(Slot::Tensor(value)) => Ok(Some(Stepped(*value, stepped))),
        _ => Ok(None),
    }
}
