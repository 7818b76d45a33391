//! ONNX and `TFLite` models as programs: the file beside the text that stands for it. `TFLite` models become ONNX models first.
//!
//! ```text
//! model.tflite ──▶ bytes of an ONNX model
//! model.onnx ──▶ its graph as text (`Project::source`), to which messages and listings point
//!           └──▶ Imported::parse, with sizes and values of the host ──▶ tensor::Program
//! ```

use crate::failure::{Failure, Source};
use crate::reading;
use compiler::derived::training::with_training;
use compiler::language::{Language, Options, Parsed};
use onnx::elements::{Constants, Kind};
use onnx::{File, Reading, Weights};
use serde_json::Value;
use sim::train::settings::All;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A model that was imported.
#[derive(Debug, Clone)]
pub struct Imported {
    bytes: Arc<Vec<u8>>,
    /// It as an ONNX file.
    model: Arc<Vec<u8>>,
    /// Where files beside it are looked for.
    folder: PathBuf,
}

impl Imported {
    /// Read a model, and its graph as text.
    ///
    /// # Errors
    /// The file cannot be read, or is neither an ONNX nor a `TFLite` file.
    pub fn read(path: &Path) -> Result<(Imported, Source), Failure> {
        let bytes = reading::bytes(path, reading::DOCUMENT)?;
        Imported::of_bytes(path, bytes)
    }

    /// A model in memory, as if it were at `path`.
    ///
    /// # Errors
    /// It is neither an ONNX nor a `TFLite` file.
    pub fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<(Imported, Source), Failure> {
        let name = path.display().to_string();
        let wrong = |wrong| Failure::data(name.clone(), vec![wrong]);
        let says = path.extension().is_some_and(|extension| extension == Language::Tflite.extension());
        let bytes = Arc::new(bytes);
        let model = if says || tflite::is_tflite(&bytes) {
            Arc::new(tflite::to_onnx(&bytes).map_err(wrong)?)
        } else {
            Arc::clone(&bytes)
        };
        let text = File::decode(&model).map_err(wrong)?.text;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok((Imported { bytes, model, folder }, Source { name, text }))
    }

    /// The file as it is.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The program, with its gradients; `record` has the host's values, which decide sizes.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(&self, options: &Options, record: Option<&Value>) -> Parsed {
        let file = File::decode(&self.model).map_err(|wrong| vec![wrong])?;
        let given: Vec<(String, Constants)> = record.and_then(Value::as_object).map_or_else(Vec::new, |record| {
            record.iter().filter_map(|(name, value)| Some((name.clone(), constants(value)?))).collect()
        });
        let mut training = options.training.clone();
        if let Some(objective) = training.as_mut().and_then(|training| training.objective.as_mut())
            && objective.weights == [All::NAME]
        {
            let all = file.weights(&objective.prediction);
            objective.weights = all.into_iter().map(str::to_owned).collect();
        }
        let objective = training.as_ref().and_then(|training| training.objective.as_ref());
        let weights = objective.map_or(Weights::None, |objective| Weights::Named(&objective.weights));
        let beside = |name: &str| self.beside(name);
        let (program, warnings) = file.program(&Reading { options, given: &given, beside: &beside, weights })?;
        match &training {
            Some(training) => Ok((with_training(&program, training)?, warnings)),
            None => Ok((program, warnings)),
        }
    }

    /// The values of an initialiser, as they are in the file.
    pub fn values(&self, name: &str) -> Option<Vec<f64>> {
        let file = File::decode(&self.model).ok()?;
        let data = file.model.graph.initialisers.iter().find(|data| data.name == name)?;
        onnx::elements::constants(data, reading::TABLE, &|name| self.beside(name))
            .ok()
            .map(|constants| constants.values)
    }

    /// The file, as ONNX, with other values of some initialisers.
    ///
    /// # Errors
    /// It has no such initialiser, or not as many values.
    pub fn with_values(&self, values: &BTreeMap<String, Vec<f64>>) -> Result<Vec<u8>, String> {
        onnx::trained::with_values(&self.model, values)
    }

    /// Names of its classes, in the order of their scores; none where it names none.
    pub fn classes(&self) -> Vec<String> {
        File::decode(&self.model).map_or_else(|_| Vec::new(), |file| file.classes())
    }

    /// How integers of inputs and of outputs stand for real numbers: of a `TFLite` file, in its order.
    pub fn schemes(&self) -> [Vec<Option<tflite::Scheme>>; 2] {
        if tflite::is_tflite(&self.bytes) { tflite::schemes(&self.bytes) } else { Default::default() }
    }

    /// Names of inputs whose values decide the program: all records have to give the same ones.
    pub fn deciding(&self) -> Vec<String> {
        let file = File::decode(&self.model);
        file.map_or_else(|_| Vec::new(), |file| file.deciding().into_iter().map(str::to_owned).collect())
    }

    /// Files beside the model that hold its elements.
    pub(crate) fn others(&self) -> Vec<PathBuf> {
        let Ok(file) = File::decode(&self.bytes) else { return Vec::new() };
        let external = file.model.graph.initialisers.iter().flat_map(|data| &data.external);
        external.filter(|(key, _)| *key == "location").map(|(_, name)| self.folder.join(name)).collect()
    }

    /// A file beside the model, below its folder.
    fn beside(&self, name: &str) -> Result<Vec<u8>, String> {
        let cannot = |why: std::io::Error| format!("its elements are in `{name}`, which cannot be read: {why}");
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let folder = folder.canonicalize().map_err(cannot)?;
        // A link may lead out of the folder.
        let path = folder.join(name).canonicalize().map_err(cannot)?;
        if !path.starts_with(&folder) || !path.is_file() {
            return Err(format!("its elements are in `{name}`, which is not a file below the folder of the model"));
        }
        reading::bytes(&path, reading::TABLE).map_err(|failure| failure.to_string())
    }
}

/// A JSON value as a tensor; nothing if it is not one of numbers.
fn constants(value: &Value) -> Option<Constants> {
    let (mut shape, mut values, mut inner) = (Vec::new(), Vec::new(), value);
    while let Value::Array(list) = inner {
        shape.push(list.len() as i64);
        let Some(first) = list.first() else { break };
        inner = first;
    }
    flatten(value, &mut values)?;
    (onnx::elements::count(&shape, u64::MAX)? == values.len()).then_some(Constants { shape, kind: Kind::INT64, values })
}

fn flatten(value: &Value, values: &mut Vec<f64>) -> Option<()> {
    match value {
        Value::Array(list) => list.iter().try_for_each(|value| flatten(value, values)),
        Value::Number(number) => {
            values.push(number.as_f64()?);
            Some(())
        }
        Value::Bool(truth) => {
            values.push(f64::from(u8::from(*truth)));
            Some(())
        }
        _ => None,
    }
}
