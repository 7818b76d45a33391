//! ONNX files to tensor IR: the sixth front end.
//!
//! ```text
//! bytes ──Model::decode──▶ Model ──lower──▶ tensor::Program
//!                            └──listing──▶ text, which diagnostics point to
//! ```
//!
//! Shapes are fixed when a file is read; what depends on constants only is computed then. Initialisers become parameters, which stay in
//! the grid, or weights that are trained.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | the encoding of protocol buffers |
//! | [`model`] | the messages of a file |
//! | [`elements`] | element types and constants |
//! | [`listing`](mod@listing) | a graph as text |
//! | `graph` | a graph, node by node, into a program |
//! | [`trained`] | a file with other values of its weights |
//! | `statics` | what has to be known before shapes are |
//! | `call` | a node's operands and settings |
//! | `build` | tensors and Nests |
//! | `expression` | values at a point of a Nest |
//! | `extents` | extents that two shapes have in common |
//! | `fold` | Nests of constants, computed |
//! | `functions` | operators that a file defines, and their sizes |
//! | `names` | names that are given twice |
//! | `digest` | the digest of a file of constants |
//! | `integers` | results of integer types |
//! | `operators` | one file for each kind of operator |

mod build;
mod call;
mod digest;
pub mod elements;
mod expression;
mod extents;
mod fold;
mod functions;
mod graph;
mod integers;
pub mod listing;
pub mod model;
mod names;
mod operators;
mod statics;
pub mod trained;
pub mod wire;

pub use graph::{Reading, Weights};

use arch::{Code, Diagnostic};
use compiler::language::Parsed;
use listing::{Lines, listing};
use model::Model;

/// A file, decoded, with its listing.
pub struct File<'a> {
    /// What it holds.
    pub model: Model<'a>,
    /// Its graph as text.
    pub text: String,
    lines: Lines,
}

impl<'a> File<'a> {
    /// Decode a file.
    ///
    /// # Errors
    /// It is not an ONNX file, or has no graph.
    pub fn decode(bytes: &'a [u8]) -> Result<File<'a>, Diagnostic> {
        let wrong = |message: String| {
            Diagnostic::global(Code::Data, message)
                .with_help("export the model again; `onnx.checker` says more about a file")
        };
        let model = Model::decode(bytes).map_err(|damage| wrong(format!("not an ONNX file: {damage}")))?;
        if model.graph.nodes.is_empty() && model.graph.outputs.is_empty() {
            return Err(wrong("not an ONNX file: it has no graph".into()));
        }
        let (text, lines) = listing(&model);
        Ok(File { model, text, lines })
    }

    /// Names of inputs whose values decide shapes or the course of the graph.
    pub fn deciding(&self) -> Vec<&'a str> {
        let needed = statics::needed_statically(&self.model.graph);
        let inputs = self.model.graph.inputs.iter().map(|info| info.name);
        inputs.filter(|name| needed.contains(name)).collect()
    }

    /// Names of the classes that its last classifier gives, in the order of their scores; none where it names none.
    pub fn classes(&self) -> Vec<String> {
        const NAMES: [&str; 3] = ["classlabels_ints", "classlabels_int64s", "classlabels_strings"];
        let attributes = self.model.graph.nodes.iter().rev().flat_map(|node| &node.attributes);
        let named = attributes.filter(|attribute| NAMES.contains(&attribute.name));
        let names = |attribute: &model::Attribute<'_>| -> Vec<String> {
            let numbers = attribute.integers.iter().map(ToString::to_string);
            let texts = attribute.texts.iter().map(|text| String::from_utf8_lossy(text).into_owned());
            numbers.chain(texts).collect()
        };
        named.map(names).find(|names| !names.is_empty()).unwrap_or_default()
    }

    /// The initialisers that a result depends on and that could be trained: real numbers with at least one dimension.
    pub fn weights(&self, result: &str) -> Vec<&'a str> {
        let needed = statics::needed_for(&self.model.graph, result);
        let real = |data: &&model::TensorData<'a>| {
            matches!(elements::Kind::of_number(data.data_type), Some(elements::Kind::Real(_)))
                && !data.dimensions.is_empty()
        };
        let names = self.model.graph.initialisers.iter().filter(real).map(|data| data.name);
        names.filter(|name| needed.contains(name)).collect()
    }

    /// The program that the graph computes, and warnings.
    ///
    /// # Errors
    /// What cannot be translated, with its line in the listing.
    pub fn program(&self, reading: &Reading<'_>) -> Parsed {
        graph::lower(&self.model, &self.lines, reading)
    }
}
