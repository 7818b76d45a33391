//! Small models, written field by field.

use onnx::wire::{put_bytes, put_integer};

/// A message, field by field.
pub(crate) fn message(build: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    build(&mut bytes);
    bytes
}

/// A dimension of a number, or of a name.
fn dimension(extent: Result<u64, &str>) -> Vec<u8> {
    message(|b| match extent {
        Ok(extent) => put_integer(b, 1, extent),
        Err(name) => put_bytes(b, 2, name.as_bytes()),
    })
}

/// An input or output of single-precision numbers.
pub(crate) fn info(name: &str, shape: &[Result<u64, &str>]) -> Vec<u8> {
    info_of(name, 1, shape)
}

/// An input or output of elements of this type.
pub(crate) fn info_of(name: &str, element: u64, shape: &[Result<u64, &str>]) -> Vec<u8> {
    let shape = message(|b| {
        for &extent in shape {
            put_bytes(b, 1, &dimension(extent));
        }
    });
    let tensor = message(|b| {
        put_integer(b, 1, element);
        put_bytes(b, 2, &shape);
    });
    message(|b| {
        put_bytes(b, 1, name.as_bytes());
        put_bytes(b, 2, &message(|b| put_bytes(b, 1, &tensor)));
    })
}

/// A node.
pub(crate) fn node(name: &str, operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    message(|b| {
        for input in inputs {
            put_bytes(b, 1, input.as_bytes());
        }
        put_bytes(b, 2, output.as_bytes());
        put_bytes(b, 3, name.as_bytes());
        put_bytes(b, 4, operator.as_bytes());
    })
}

/// A tensor of single-precision numbers, whose elements are `data` (a field of it).
pub(crate) fn tensor(name: &str, shape: &[u64], data: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    tensor_of(name, 1, shape, data)
}

/// The same of elements of this type.
pub(crate) fn tensor_of(name: &str, element: u64, shape: &[u64], data: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    message(|b| {
        for &extent in shape {
            put_integer(b, 1, extent);
        }
        put_integer(b, 2, element);
        put_bytes(b, 8, name.as_bytes());
        data(b);
    })
}

/// A model of opset 17 with these fields of a graph.
pub(crate) fn model(parts: &[(u64, Vec<u8>)]) -> Vec<u8> {
    model_of(17, parts)
}

/// A model of an opset with these fields of a graph.
#[allow(dead_code, reason = "most tests need no older one")]
pub(crate) fn model_of(opset: u64, parts: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let graph = message(|b| {
        for (number, part) in parts {
            put_bytes(b, *number, part);
        }
    });
    let opset = message(|b| put_integer(b, 2, opset));
    message(|b| {
        put_bytes(b, 7, &graph);
        put_bytes(b, 8, &opset);
    })
}
