//! Weights on disk: JSON with the format's version, the hash of the program, and everything needed to predict.

use crate::engines::NamedRanges;
use crate::failure::Failure;
use crate::reading;
use crate::recipe::Recipe;
use crate::samples::Samples;
use crate::sealed;
use arch::{Code, Diagnostic};
use compiler::derived::losses::Loss;
use compiler::derived::training::Measure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sim::data::fields::Encoding;
use sim::data::standardise::Standardiser;
use sim::data::weights::Weights;
use sim::train::engine::NamedValues;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Version of the format that this tool reads and writes.
pub const VERSION: u32 = 1;

/// A trained model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Version of this format.
    pub format_version: u32,
    /// Name of the program, for people.
    pub program: String,
    /// Hash of the program's text and constants.
    pub program_hash: String,
    /// What trained it.
    pub engine: String,
    /// The program's constants that were set.
    pub set: BTreeMap<String, f64>,
    /// How predictions are read.
    #[serde(with = "sim::train::settings::loss_name")]
    #[schemars(with = "String")]
    pub loss: Measure,
    /// How rows become numbers.
    pub encoding: Encoding,
    /// Smallest and largest value of each tensor in the golden run, by name.
    pub ranges: BTreeMap<String, (f64, f64)>,
    /// The weights.
    pub model: NamedValues,
    /// Extents of the weights; models of older versions of this tool have none.
    #[serde(default)]
    pub shapes: BTreeMap<String, Vec<u32>>,
    /// Bits of a word, and bits after the binary point of each tensor, if the weights are words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Words>,
    /// What the training took from other files than the program; models of older versions of this tool have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
    /// Smallest and largest value of each input and weight that the model is made for; models of older versions of this tool have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub valid: NamedRanges,
    /// Hash of everything else; models of older versions of this tool have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How weights are words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// Bits of a word.
    pub bits: u32,
    /// Bits after the binary point, by tensor.
    pub fractions: BTreeMap<String, i32>,
}

/// Hash of a program: its text and the constants that were set.
pub fn program_hash(text: &str, set: &BTreeMap<String, f64>) -> String {
    let mut hash = Sha256::new();
    hash.update(text.replace("\r\n", "\n"));
    for (name, value) in set {
        // The learning rate shapes the training, not the meaning of the weights.
        if name != "mu" {
            hash.update(format!("\0{name}={value:?}"));
        }
    }
    arch::tools::hex(&hash.finalize())
}

/// What every version of the format has.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

impl ModelFile {
    /// As the text of a file.
    ///
    /// # Errors
    /// The weights are not finite; `name` is what the message calls the file.
    pub fn to_text(&self, name: &str) -> Result<String, Failure> {
        if let Some(what) = self.inconsistency() {
            let diagnostic = Diagnostic::global(Code::Data, format!("the model is not worth keeping: {what}"))
                .with_help("the training diverged; a smaller learning rate may help: --set mu=0.01");
            return Err(Failure::data(name, vec![diagnostic]));
        }
        let bare = ModelFile { sha256: None, ..self.clone() };
        let sealed = ModelFile { sha256: Some(sealed::seal(&bare)), ..bare };
        let text = serde_json::to_string_pretty(&sealed).map_err(|error| Failure::File(error.to_string()))?;
        Ok(text + "\n")
    }

    /// How many rows have another class than on golden; nothing where predictions are no classes.
    pub fn flips(&self, golden: &[Vec<f64>], found: &[Vec<f64>]) -> Option<u64> {
        let class = |row: &Vec<f64>| Samples::read_prediction(&self.encoding, &self.loss, row);
        let is_class =
            self.encoding.one_hot.is_some() || matches!(self.loss, Measure::Library(Loss::Logistic | Loss::Hinge));
        let flips = || golden.iter().zip(found).filter(|(golden, found)| class(golden) != class(found)).count();
        is_class.then(|| flips() as u64)
    }

    /// Write it whole.
    ///
    /// # Errors
    /// The file cannot be written, or the weights are not finite.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        let text = self.to_text(&path.display().to_string())?;
        let failed = |error: &std::io::Error| Failure::file("write", path, error);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Beside its place first, so that it is there whole or not at all.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
        file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
        file.persist(path).map_err(|error| failed(&error.error)).map(drop)
    }

    /// Read one.
    ///
    /// # Errors
    /// The file cannot be read, is not a model, or has another version.
    pub fn load(path: &Path) -> Result<ModelFile, Failure> {
        let text = reading::text(path, reading::DOCUMENT)?;
        ModelFile::from_text(&path.display().to_string(), &text)
    }

    /// Read one from the text of the file `name`.
    ///
    /// # Errors
    /// It is not a model, or has another version.
    pub fn from_text(name: &str, text: &str) -> Result<ModelFile, Failure> {
        let wrong = |message: String| Failure::data(name, vec![Diagnostic::global(Code::Data, message)]);
        let broken = |what: &str, error: &serde_json::Error| {
            Failure::json(name.to_owned(), text.to_owned(), format!("{what}: {error}"), error)
        };
        reading::check_document(name, text)?;
        let version: Version =
            serde_json::from_str(text).map_err(|error| broken("this is not a model file", &error))?;
        if version.format_version != VERSION {
            let found = version.format_version;
            return Err(wrong(format!("the model file has format version {found}, this tool reads version {VERSION}")));
        }
        let mut file: ModelFile =
            serde_json::from_str(text).map_err(|error| broken("the model file is damaged", &error))?;
        let seal = file.sha256.take();
        let impossible = file.recipe.as_ref().and_then(Recipe::impossible);
        let unsealed = || seal.filter(|seal| *seal != sealed::seal(&file)).map(|_| sealed::BROKEN.to_owned());
        match file.inconsistency().map(str::to_owned).or(impossible).or_else(unsealed) {
            Some(what) => Err(wrong(format!("the model file is damaged: {what}"))),
            None => Ok(file),
        }
    }

    /// What no training can have written.
    fn inconsistency(&self) -> Option<&'static str> {
        let Encoding { features, targets, standardise, standardise_targets, .. } = &self.encoding;
        let scales = [(features, standardise), (targets, standardise_targets)];
        let elements = |name: &String, shape: &Vec<u32>| {
            let elements = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent as usize));
            self.model.get(name).is_some_and(|values| Some(values.len()) == elements)
        };
        let fits = |(names, scale): &(&Vec<String>, &Standardiser)| {
            scale.mean.len() == names.len() && scale.deviation.len() == names.len()
        };
        let sound = |(_, scale): &(&Vec<String>, &Standardiser)| {
            scale.mean.iter().all(|m| m.is_finite()) && scale.deviation.iter().all(|d| d.is_finite() && *d >= 0.0)
        };
        if !self.shapes.iter().all(|(name, shape)| elements(name, shape)) {
            Some("a shape does not belong to its weights")
        } else if self
            .encoding
            .replacements
            .as_ref()
            .is_some_and(|values| values.len() != features.len() || values.iter().any(|value| !value.is_finite()))
        {
            Some("what stands for missing values does not belong to its columns")
        } else if !scales.iter().all(fits) {
            Some("its columns and their scales differ in number")
        } else if !scales.iter().all(sound) {
            Some("a scale is not a number that a column can have")
        } else if self
            .ranges
            .values()
            .chain(self.valid.values())
            .any(|(low, high)| low.is_nan() || high.is_nan() || low > high)
        {
            Some("a range is empty")
        } else if self.model.values().flatten().any(|weight| !weight.is_finite()) {
            Some("a weight is not finite")
        } else {
            None
        }
    }

    /// The weights with their shapes and binary points.
    pub fn weights(&self) -> Vec<Weights> {
        let tensor = |(name, values): (&String, &Vec<f64>)| Weights {
            name: name.clone(),
            shape: self.shapes.get(name).cloned().unwrap_or_else(|| vec![values.len() as u32]),
            values: values.clone(),
            fraction: self.words.as_ref().and_then(|words| words.fractions.get(name).copied()),
        };
        self.model.iter().map(tensor).collect()
    }

    /// Refuse a model of another program.
    ///
    /// # Errors
    /// `E-DATA` with both hashes, or with the tensor whose size differs.
    pub fn check(&self, path: &Path, hash: &str, weights: &[(String, usize)]) -> Result<(), Failure> {
        let wrong = |message: String, help: &str| {
            let diagnostic = Diagnostic::global(Code::Data, message).with_help(help);
            Err(Failure::data(path.display().to_string(), vec![diagnostic]))
        };
        if self.program_hash != hash {
            let short = |hash: &str| hash.chars().take(12).collect::<String>();
            let (saved, now) = (short(&self.program_hash), short(hash));
            let message = format!("the model was trained with another program or other sizes: hash {saved}, now {now}");
            return wrong(message, "use the program the model was trained with, or train again");
        }
        for (name, elements) in weights {
            match self.model.get(name) {
                None => return wrong(format!("the model has no weights `{name}`"), "train again"),
                Some(values) if values.len() != *elements => {
                    let message =
                        format!("`{name}` has {} weights in the model, {elements} in the program", values.len());
                    return wrong(message, "train again");
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
