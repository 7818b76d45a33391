//! `weights`: the weights of a saved model for other programs, and back.

use crate::arguments::{Format, Global, Weights as Options};
use crate::output::{self, Talk};
use crate::render;
use arch::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::Serialize;
use sim::data::weights::{self, Format as WeightFormat, Weights};
use std::collections::BTreeMap;
use std::path::Path;
use workbench::documents::Document;
use workbench::imported::Imported;
use workbench::saturation;
use workbench::{Failure, ModelFile, Source, documents, reading, writing};

/// Weights of a model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Bits of a word, if the weights are words.
    word: Option<u32>,
    /// One entry per tensor.
    weights: Vec<Tensor>,
}

/// Weights of one tensor.
#[derive(Debug, Serialize, JsonSchema)]
struct Tensor {
    /// Its name.
    name: String,
    /// Extents, outermost first.
    shape: Vec<u32>,
    /// Bits after the binary point, if the weights are words.
    fraction: Option<i32>,
    /// Row-major.
    values: Vec<f64>,
}

/// Formats by their extensions, for people.
const FORMATS: &str =
    "weights are written and read as .npz, .npy, .csv or .h, and of an ONNX model with `--onnx` as .onnx";

/// The format of a file.
///
/// # Errors
/// Its extension is none of ours.
pub fn format_of(path: &Path) -> Result<WeightFormat, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    WeightFormat::of_extension(extension)
        .ok_or_else(|| Failure::Usage(format!("`{}` has no known extension: {FORMATS}", path.display())))
}

/// Weights of known tensors from a file.
///
/// # Errors
/// It cannot be read, or holds something else.
pub fn read(path: &Path, tensors: &[(String, Vec<u32>)]) -> Result<Vec<Weights>, Failure> {
    let format = format_of(path)?;
    let bytes = reading::bytes(path, reading::TABLE)?;
    weights::read(&bytes, format, tensors).map_err(|error| {
        let text = error.span.map_or_else(String::new, |_| String::from_utf8_lossy(&bytes).into_owned());
        Failure::Diagnostics { source: Source { name: path.display().to_string(), text }, diagnostics: vec![error] }
    })
}

/// List, write, or take from a file.
pub fn run(global: &Global, options: &Options, talk: &Talk) -> Result<(), Failure> {
    let mut file = ModelFile::load(&options.model)?;
    let known = file.weights();
    let mut warnings: Vec<Diagnostic> = Vec::new();
    if let (Some(from), Some(save)) = (&options.from, &options.save) {
        let tensors: Vec<_> = known.iter().map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect();
        for tensor in read(from, &tensors)? {
            file.model.insert(tensor.name, tensor.values);
        }
        warnings =
            saturation::weights_outside(&file.valid, &file.model).into_iter().map(|(_, warning)| warning).collect();
        // Other weights need not be words.
        file.words = None;
        file.save(save)?;
        talk.say(format!("wrote {}", save.display()));
    }
    if let Some(to) = &options.to {
        let bytes = if let Some(onnx) = &options.onnx {
            if to.extension().is_none_or(|extension| extension != "onnx") {
                return Err(Failure::Usage(format!("--onnx {}: `--to` has to end in .onnx", onnx.display())));
            }
            let (imported, _) = Imported::read(onnx)?;
            let weights: BTreeMap<String, Vec<f64>> =
                known.iter().map(|tensor| (tensor.name.clone(), tensor.values.clone())).collect();
            let wrong =
                |why: String| Failure::data(onnx.display().to_string(), vec![Diagnostic::global(Code::Data, why)]);
            imported.with_values(&weights).map_err(wrong)?
        } else {
            let bits = file.words.as_ref().map_or(64, |words| words.bits);
            weights::write(&known, format_of(to)?, bits, &file.valid)
                .map_err(|error| Failure::data(to.display().to_string(), vec![error]))?
        };
        writing::write_file(to, &bytes)?;
        talk.say(format!("wrote {}", to.display()));
    }
    let listed = file.weights();
    let source = Source { name: options.model.display().to_string(), text: String::new() };
    match global.format {
        Format::Json => {
            let tensor = |Weights { name, shape, values, fraction }: Weights| Tensor { name, shape, fraction, values };
            let word = file.words.as_ref().map(|words| words.bits);
            let listed = Listed { word, weights: listed.into_iter().map(tensor).collect() };
            output::json(&Document::with(listed, documents::messages(&source, &warnings)))
        }
        Format::Text => {
            render::warnings(&source, &warnings, talk);
            output::result(&listed.iter().map(line).collect::<String>())
        }
    }
}

fn line(tensor: &Weights) -> String {
    let extents = tensor.shape.iter().fold(String::new(), |text, extent| text + &format!("[{extent}]"));
    let words = tensor.fraction.map_or("real numbers".to_owned(), |bits| format!("words, {bits} bits after the point"));
    let (low, high) = tensor
        .values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
    format!(
        "{:16} {:6} weights from {low:.5} to {high:.5}  ({words})\n",
        format!("{}{extents}", tensor.name),
        tensor.values.len()
    )
}
