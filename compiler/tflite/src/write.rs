//! Writes a graph of ONNX, message by message.

use onnx::wire::{put_bytes, put_integer, put_varint};

/// The version of ONNX's own operators.
const OPSET: u64 = 20;
/// The domain of operators that ONNX does not have.
pub(crate) const DOMAIN: &str = "tflite";

/// A setting of a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Setting {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
}

/// A message.
fn message(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    fill(&mut bytes);
    bytes
}

fn attribute(name: &str, setting: &Setting) -> Vec<u8> {
    message(|b| {
        put_bytes(b, 1, name.as_bytes());
        match setting {
            Setting::Int(value) => put_integer(b, 3, *value as u64),
            Setting::Float(value) => {
                put_varint(b, 2 << 3 | 5);
                b.extend_from_slice(&(*value as f32).to_le_bytes());
            }
            Setting::Ints(values) => values.iter().for_each(|&value| put_integer(b, 8, value as u64)),
            Setting::Text(text) => put_bytes(b, 4, text.as_bytes()),
            Setting::Texts(texts) => texts.iter().for_each(|text| put_bytes(b, 9, text.as_bytes())),
        }
    })
}

/// A node.
pub(crate) struct Node<'n> {
    /// Its name.
    pub(crate) name: &'n str,
    /// The operator.
    pub(crate) operator: &'n str,
    /// Whether it is one of [`DOMAIN`].
    pub(crate) is_own: bool,
    /// Names of operands; empty: left out.
    pub(crate) inputs: &'n [&'n str],
    /// Names of results.
    pub(crate) outputs: &'n [&'n str],
    /// Settings.
    pub(crate) settings: &'n [(&'n str, Setting)],
}

/// A graph so far.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    graph: Vec<u8>,
}

impl Writer {
    /// Append a node.
    pub(crate) fn node(&mut self, node: &Node<'_>) {
        let node = message(|b| {
            node.inputs.iter().for_each(|name| put_bytes(b, 1, name.as_bytes()));
            node.outputs.iter().for_each(|name| put_bytes(b, 2, name.as_bytes()));
            put_bytes(b, 3, node.name.as_bytes());
            put_bytes(b, 4, node.operator.as_bytes());
            node.settings.iter().for_each(|(name, setting)| put_bytes(b, 5, &attribute(name, setting)));
            if node.is_own {
                put_bytes(b, 7, DOMAIN.as_bytes());
            }
        });
        put_bytes(&mut self.graph, 1, &node);
    }

    /// Append a constant: elements of a type of ONNX, little-endian.
    pub(crate) fn constant(&mut self, name: &str, shape: &[i64], data_type: i64, raw: &[u8]) {
        let tensor = message(|b| {
            for &extent in shape {
                put_integer(b, 1, extent as u64);
            }
            put_integer(b, 2, data_type as u64);
            put_bytes(b, 8, name.as_bytes());
            put_bytes(b, 9, raw);
        });
        put_bytes(&mut self.graph, 5, &tensor);
    }

    /// Append an input.
    pub(crate) fn input(&mut self, name: &str, data_type: i64, shape: &[i64]) {
        put_bytes(&mut self.graph, 11, &info(name, data_type, shape));
    }

    /// Append an output.
    pub(crate) fn output(&mut self, name: &str, data_type: i64, shape: &[i64]) {
        put_bytes(&mut self.graph, 12, &info(name, data_type, shape));
    }

    /// The file.
    pub(crate) fn finish(self) -> Vec<u8> {
        let opset = |domain: &str, version: u64| {
            message(|b| {
                put_bytes(b, 1, domain.as_bytes());
                put_integer(b, 2, version);
            })
        };
        message(|b| {
            put_integer(b, 1, 9);
            put_bytes(b, 7, &self.graph);
            put_bytes(b, 8, &opset("", OPSET));
            put_bytes(b, 8, &opset(DOMAIN, 3));
        })
    }
}

fn info(name: &str, data_type: i64, shape: &[i64]) -> Vec<u8> {
    let dimension = |&extent: &i64| message(|b| put_integer(b, 1, extent as u64));
    let shape = message(|b| shape.iter().for_each(|extent| put_bytes(b, 1, &dimension(extent))));
    let tensor = message(|b| {
        put_integer(b, 1, data_type as u64);
        put_bytes(b, 2, &shape);
    });
    message(|b| {
        put_bytes(b, 1, name.as_bytes());
        put_bytes(b, 2, &message(|b| put_bytes(b, 1, &tensor)));
    })
}
