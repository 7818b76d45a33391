//! The needed part of a graph, and the values in it that must be known before shapes are.

use crate::model::{Graph, Node};
use std::collections::BTreeSet;

/// Operands that decide shapes or the course of a graph, by operator.
fn static_operands(operator: &str) -> &'static [usize] {
    const FIRST: &[usize] = &[0];
    const SECOND: &[usize] = &[1];
    match operator {
        "ConstantOfShape" | "NonZero" | "Unique" | "If" | "HannWindow" | "HammingWindow" | "BlackmanWindow" => FIRST,
        "Reshape" | "Expand" | "Tile" | "TopK" | "Unsqueeze" | "Squeeze" | "OneHot" | "Split" | "CumSum"
        | "CumProd" | "Trilu" | "SplitToSequence" | "SequenceAt" | "CenterCropPad" | "AffineGrid" | "Compress"
        | "Upsample" | "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1"
        | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => SECOND,
        "Loop" => &[0, 1],
        "Range" | "MelWeightMatrix" => &[0, 1, 2, 3, 4],
        "Slice" => &[1, 2, 3, 4],
        "Pad" | "STFT" => &[1, 3],
        "Resize" => &[1, 2, 3],
        "Col2Im" | "DFT" | "Dropout" => &[1, 2],
        "SequenceInsert" | "MaxUnpool" => &[2],
        _ => &[],
    }
}

/// Every node of a graph and of its bodies.
fn all<'g, 'm>(graph: &'g Graph<'m>, nodes: &mut Vec<&'g Node<'m>>) {
    for node in &graph.nodes {
        nodes.push(node);
        node.attributes.iter().filter_map(|attribute| attribute.graph.as_deref()).for_each(|body| all(body, nodes));
    }
}

/// Names whose values have to be known when the graph is read.
pub(crate) fn needed_statically<'m>(graph: &Graph<'m>) -> BTreeSet<&'m str> {
    let mut nodes = Vec::new();
    all(graph, &mut nodes);
    let mut needed = BTreeSet::new();
    for node in nodes.iter().rev() {
        if node.outputs.iter().any(|name| needed.contains(name)) && !matches!(node.operator, "Shape" | "Size") {
            needed.extend(node.inputs.iter().copied());
        }
        needed.extend(static_operands(node.operator).iter().filter_map(|&n| node.inputs.get(n).copied()));
    }
    needed
}

/// By node of a graph, whether a result needs it.
pub(crate) fn live(graph: &Graph<'_>) -> Vec<bool> {
    reached(graph, graph.outputs.iter().map(|info| info.name).collect()).0
}

/// Every name that a result is computed from.
pub(crate) fn needed_for<'m>(graph: &Graph<'m>, result: &str) -> BTreeSet<&'m str> {
    let names = graph.outputs.iter().map(|info| info.name);
    reached(graph, names.filter(|name| *name == result).collect()).1
}

fn reached<'m>(graph: &Graph<'m>, mut needed: BTreeSet<&'m str>) -> (Vec<bool>, BTreeSet<&'m str>) {
    let mut live = vec![false; graph.nodes.len()];
    for (n, node) in graph.nodes.iter().enumerate().rev() {
        live[n] = node.outputs.iter().any(|name| needed.contains(name));
        if live[n] {
            needed.extend(node.inputs.iter().copied());
            for body in node.attributes.iter().filter_map(|attribute| attribute.graph.as_deref()) {
                let mut inner = Vec::new();
                all(body, &mut inner);
                for node in inner {
                    needed.extend(node.inputs.iter().copied());
                }
                needed.extend(body.outputs.iter().map(|info| info.name));
            }
        }
    }
    (live, needed)
}
