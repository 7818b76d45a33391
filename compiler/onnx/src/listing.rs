//! A graph as text: what messages, listings and reports point to.
//!
//! ```text
//! input x: float[N, 784]
//! constant W: float[784, 10]
//! logits = MatMul(x, W)                            # /fc/MatMul
//! y = Softmax(logits, axis = 1)
//! output y
//! ```

use crate::elements::type_name;
use crate::model::{Attribute, Dimension, Model, Node, ValueInfo};
use arch::Span;
use std::fmt::Write;

/// Elements of a list that are shown.
const SHOWN: usize = 16;

/// Where everything stands.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// By input.
    pub inputs: Vec<Span>,
    /// By initialiser.
    pub initialisers: Vec<Span>,
    /// By node.
    pub nodes: Vec<Span>,
    /// By output.
    pub outputs: Vec<Span>,
}

/// The text, and where its lines are.
pub fn listing(model: &Model<'_>) -> (String, Lines) {
    let (mut text, mut lines) = (String::new(), Lines::default());
    let opsets: Vec<String> = model
        .opsets
        .iter()
        .map(|&(domain, version)| match domain {
            "" => format!("ai.onnx {version}"),
            domain => format!("{} {version}", plain(domain)),
        })
        .collect();
    let _ = writeln!(text, "# ONNX, operators of {}", opsets.join(", "));
    let mut line = |line: String| {
        let start = text.len();
        text += &line;
        text.push('\n');
        Span::new(start, start + line.len())
    };
    let graph = &model.graph;
    let constant = |name: &str| graph.initialisers.iter().any(|data| data.name == name);
    for info in &graph.inputs {
        let span = if constant(info.name) {
            Span::default()
        } else {
            line(format!("input {}{}", plain(info.name), of_type(info)))
        };
        lines.inputs.push(span);
    }
    for data in &graph.initialisers {
        let kind = type_name(data.data_type);
        lines.initialisers.push(line(format!("constant {}: {kind}{:?}", plain(data.name), data.dimensions)));
    }
    lines.nodes.extend(graph.nodes.iter().map(|node| line(of_node(node))));
    lines
        .outputs
        .extend(graph.outputs.iter().map(|info| line(format!("output {}{}", plain(info.name), of_type(info)))));
    (text, lines)
}

/// A name on one line.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn of_type(info: &ValueInfo<'_>) -> String {
    if info.data_type == 0 {
        return String::new();
    }
    let dimension = |dimension: &Dimension<'_>| match dimension {
        Dimension::Known(extent) => extent.to_string(),
        Dimension::Named("") => "?".to_owned(),
        Dimension::Named(name) => plain(name),
    };
    let shape =
        info.shape.iter().map(|shape| format!("[{}]", shape.iter().map(dimension).collect::<Vec<_>>().join(", ")));
    format!(": {}{}", type_name(info.data_type), shape.collect::<String>())
}

fn of_node(node: &Node<'_>) -> String {
    let names = |names: &[&str]| {
        names.iter().map(|&name| if name.is_empty() { "_".to_owned() } else { plain(name) }).collect::<Vec<_>>()
    };
    let mut operands = names(&node.inputs);
    operands.extend(node.attributes.iter().map(of_attribute));
    let domain = if node.domain.is_empty() { String::new() } else { format!("{}.", plain(node.domain)) };
    let name = if node.name.is_empty() { String::new() } else { format!("  # {}", plain(node.name)) };
    format!("{} = {domain}{}({}){name}", names(&node.outputs).join(", "), plain(node.operator), operands.join(", "))
}

fn of_attribute(attribute: &Attribute<'_>) -> String {
    fn list<T: std::fmt::Debug>(values: &[T]) -> String {
        if values.len() > SHOWN {
            format!("{:?} and {} more", &values[..SHOWN], values.len() - SHOWN)
        } else {
            format!("{values:?}")
        }
    }
    let value = match attribute {
        Attribute { integer: Some(value), .. } => value.to_string(),
        Attribute { float: Some(value), .. } => value.to_string(),
        Attribute { text: Some(text), .. } => format!("\"{}\"", plain(&String::from_utf8_lossy(text))),
        Attribute { graph: Some(graph), .. } => format!("{{{} nodes}}", graph.nodes.len()),
        Attribute { tensor: Some(data), .. } => format!("{}{:?}", type_name(data.data_type), data.dimensions),
        Attribute { floats, .. } if !floats.is_empty() => list(floats),
        Attribute { texts, .. } if !texts.is_empty() => format!("{} texts", texts.len()),
        Attribute { integers, .. } => list(integers),
    };
    format!("{} = {value}", plain(attribute.name))
}
