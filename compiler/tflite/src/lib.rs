//! `TFLite` files: the graph of ONNX that computes the same.
//!
//! ```text
//! bytes ──Model::decode──▶ Model ──operators──▶ Graph ──▶ bytes of an ONNX file
//! ```
//!
//! Every operator becomes operators of ONNX, so that shapes, constants and loop nests have one home, the crate `onnx`. Values keep the layout of the
//! file: channels come last, in windows, too (`channels_last`). Operators that are not supported stay in the graph by their name, and are
//! refused with their place where a result needs them.
//!
//! | module | holds |
//! |---|---|
//! | `flat` | `FlatBuffers`, checked |
//! | `model` | the messages of a file |
//! | `names` | names of operators |
//! | `graph` | tensors as values of ONNX: real numbers, and integers with their scales |
//! | `write` | a graph of ONNX as bytes |
//! | `operators` | one file for each kind of operator |

mod flat;
mod graph;
mod model;
mod names;
mod operators;
mod write;

use arch::{Code, Diagnostic};
use flat::Bytes;
use graph::Graph;
pub use graph::Scheme;
use model::Model;

/// Whether bytes say that they are a `TFLite` file, by its identifier.
pub fn is_tflite(bytes: &[u8]) -> bool {
    model::is_named(bytes)
}

/// The file as a file of ONNX.
///
/// # Errors
/// It is not a `TFLite` file, or an input or output is not made of numbers.
pub fn to_onnx(bytes: &[u8]) -> Result<Vec<u8>, Diagnostic> {
    let wrong = |message: String, help: &str| Diagnostic::global(Code::Data, message).with_help(help);
    if !is_tflite(bytes) {
        let message = "not a TFLite file: it does not have the identifier TFL3";
        return Err(wrong(message.into(), "convert the model again"));
    }
    let file = Bytes::new(bytes);
    let model = Model::decode(&file).map_err(|why| wrong(why, "convert the model again"))?;
    if model.operators.is_empty() && model.outputs.is_empty() {
        return Err(wrong("not a TFLite file: its graph is empty".into(), "convert the model again"));
    }
    let mut graph = Graph::new(&model);
    operators::translate(&mut graph).map_err(|refusal| wrong(refusal.message, &refusal.help))?;
    Ok(graph.finish())
}

/// How integers of inputs and of outputs stand for real numbers, in the order of the file; nothing for those that are real numbers, or have
/// no single scale.
pub fn schemes(bytes: &[u8]) -> [Vec<Option<Scheme>>; 2] {
    let file = Bytes::new(bytes);
    let Ok(model) = Model::decode(&file) else { return Default::default() };
    let graph = Graph::new(&model);
    let scheme = |&t: &usize| graph.scheme(t).ok().flatten();
    [&model.inputs, &model.outputs].map(|tensors| tensors.iter().map(scheme).collect())
}
