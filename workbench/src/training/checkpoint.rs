//! A training that can go on later: what has been reached on each engine, and what makes it the same training.
//!
//! ```text
//! golden: epochs, weights, ranges ──▶ lower engine: epochs, weights, cycles, what was compared
//! ```
//!
//! The golden training comes first, because it decides the binary points; with more epochs than before they may be others, and the lower
//! engine begins anew. Weights are written so that they are read as the same
//! numbers; a training that goes on gives the same words as one without a break.

use crate::engines::NamedRanges;
use crate::failure::Failure;
use crate::reading;
use crate::saturation::Saturation;
use crate::sealed;
use crate::training::Point;
use arch::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::train::Trained;
use sim::train::engine::{Comparison, NamedValues};
use std::collections::BTreeMap;
use std::path::Path;

/// Version of the format that this tool reads and writes.
const VERSION: u32 = 2;

/// The key of [`Checkpoint::training`] that may grow.
pub const EPOCHS: &str = "epochs";

/// What one engine has reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reached {
    /// Epochs that are done.
    pub epochs: usize,
    /// Weights, cycles, samples.
    pub trained: Trained,
    /// Smallest and largest values so far, by name; of the golden engine.
    #[serde(default)]
    pub ranges: NamedRanges,
    /// What was compared with the rung above.
    #[serde(default)]
    pub comparison: Option<Comparison>,
    /// What was clipped to the word.
    #[serde(default)]
    pub saturations: Vec<Saturation>,
    /// Loss and score after each epoch.
    #[serde(default)]
    pub curve: Vec<Point>,
    /// The weights that are best on the validation part, if there is one.
    #[serde(default)]
    pub best: Option<Best>,
}

/// The weights after one of the epochs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Best {
    /// Epochs done.
    pub epoch: usize,
    /// Loss on the validation part.
    pub loss: f64,
    /// The weights.
    pub model: NamedValues,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Version of this format.
    pub format_version: u32,
    /// What makes it the same training: names for people, and values or their hashes.
    pub training: BTreeMap<String, String>,
    /// The golden engine.
    pub golden: Reached,
    /// The engine below it, if it has begun.
    pub lower: Option<Reached>,
    /// Hash of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// What every version of the format has.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

impl Checkpoint {
    /// Nothing is done yet.
    pub fn new(training: BTreeMap<String, String>) -> Checkpoint {
        Checkpoint { format_version: VERSION, training, golden: Reached::default(), lower: None, sha256: None }
    }

    /// As the text of a file.
    ///
    /// # Panics
    /// When a number cannot be written, which all can.
    pub fn to_text(&self) -> String {
        let bare = Checkpoint { sha256: None, ..self.clone() };
        let sealed = Checkpoint { sha256: Some(sealed::seal(&bare)), ..bare };
        serde_json::to_string(&sealed).expect("a checkpoint is names and numbers") + "\n"
    }

    /// Read one for a training that is described by `training`, which may have more epochs than the one that was kept, of weights with these
    /// names and so many elements.
    ///
    /// # Errors
    /// The file cannot be read, is not a checkpoint, or belongs to another training.
    pub fn load(
        path: &Path,
        training: &BTreeMap<String, String>,
        weights: &[(String, usize)],
    ) -> Result<Checkpoint, Failure> {
        let text = reading::text(path, reading::DOCUMENT)?;
        Checkpoint::from_text(&path.display().to_string(), &text, training, weights)
    }

    /// Read one from the text of the file `name`.
    ///
    /// # Errors
    /// It is not a checkpoint, or belongs to another training.
    pub fn from_text(
        name: &str,
        text: &str,
        training: &BTreeMap<String, String>,
        weights: &[(String, usize)],
    ) -> Result<Checkpoint, Failure> {
        let broken = |error: serde_json::Error| {
            let message = format!("line {}: no checkpoint of this version of tabla-gen: {error}", error.line());
            Failure::json(name.to_owned(), text.to_owned(), message, &error)
        };
        reading::check_document(name, text)?;
        let Version { format_version } = serde_json::from_str(text).map_err(broken)?;
        let wrong = |message: String, help: &str| {
            Err(Failure::data(name, vec![Diagnostic::global(Code::Data, message).with_help(help)]))
        };
        if format_version != VERSION {
            let message = format!("the checkpoint has format version {format_version}, this tool reads {VERSION}");
            return wrong(message, "train again");
        }
        let mut checkpoint: Checkpoint = serde_json::from_str(text).map_err(broken)?;
        let seal = checkpoint.sha256.take();
        if seal.is_none_or(|seal| seal != sealed::seal(&checkpoint)) {
            return wrong(format!("the checkpoint is damaged: {}", sealed::BROKEN), "train again");
        }
        let epochs = |of: &BTreeMap<String, String>| of.get(EPOCHS).and_then(|text| text.parse::<usize>().ok());
        if epochs(&checkpoint.training) < epochs(training) {
            checkpoint.training.insert(EPOCHS.to_owned(), training[EPOCHS].clone());
            checkpoint.lower = None;
        }
        let keys = checkpoint.training.keys().chain(training.keys());
        let was = |of: &BTreeMap<String, String>, key: &String| of.get(key).map_or("none", String::as_str).to_owned();
        if let Some(key) = keys.into_iter().find(|key| checkpoint.training.get(*key) != training.get(*key)) {
            let message = format!(
                "the checkpoint is of another training: {key} was {}, is {}",
                was(&checkpoint.training, key),
                was(training, key)
            );
            return wrong(message, "a training goes on with the same program, data and settings; otherwise train anew");
        }
        let numbers = |reached: &Reached| {
            reached.trained.model.values().flatten().all(|weight| weight.is_finite())
                && reached.ranges.values().all(|(low, high)| low <= high)
        };
        if !numbers(&checkpoint.golden) || !checkpoint.lower.iter().all(numbers) {
            return wrong("the checkpoint is damaged: a weight or a range is not a number".to_owned(), "train again");
        }
        let reached = [Some(&checkpoint.golden), checkpoint.lower.as_ref()];
        if let Some(what) = reached.into_iter().flatten().find_map(|reached| reached.misfit(weights)) {
            return wrong(format!("the checkpoint is damaged: {what}"), "train again");
        }
        Ok(checkpoint)
    }
}

impl Reached {
    /// What no training of these weights can have reached. Before the first epoch there are none.
    fn misfit(&self, weights: &[(String, usize)]) -> Option<String> {
        let none = self.epochs == 0 && self.trained.model.is_empty();
        let model = (!none).then_some(&self.trained.model);
        model.into_iter().chain(self.best.as_ref().map(|best| &best.model)).find_map(|model| misfit(model, weights))
    }
}

/// How a model differs from weights with these names and so many elements.
fn misfit(model: &NamedValues, weights: &[(String, usize)]) -> Option<String> {
    let elements = |name: &str| weights.iter().find(|(known, _)| known == name).map(|(_, elements)| *elements);
    let size = |(name, elements): &(String, usize)| match model.get(name) {
        None => Some(format!("it has no weights `{name}`")),
        Some(values) if values.len() != *elements => {
            Some(format!("`{name}` has {} weights in it, {elements} in the program", values.len()))
        }
        Some(_) => None,
    };
    let unknown = || model.keys().find(|name| elements(name).is_none());
    weights.iter().find_map(size).or_else(|| unknown().map(|name| format!("the program has no weights `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let training = BTreeMap::from([("batch".to_owned(), "1".to_owned())]);
        let mut checkpoint = Checkpoint::new(training.clone());
        let weights: Vec<f64> = (1..2000).map(|n| 1.0 / f64::from(n) + 1e-17 * f64::from(n)).collect();
        checkpoint.golden.trained.model.insert("w".to_owned(), weights);
        let of = [("w".to_owned(), 1999)];
        std::fs::write(&path, checkpoint.to_text()).unwrap();
        assert_eq!(Checkpoint::load(&path, &training, &of).unwrap(), checkpoint);
        let text = checkpoint.to_text();
        std::fs::write(&path, text.replacen("0.5,", "0.25,", 1)).unwrap();
        let damaged = Checkpoint::load(&path, &training, &of).unwrap_err().to_string();
        assert!(damaged.contains("do not match its hash"), "{damaged}");
        std::fs::write(&path, text).unwrap();
        let other = BTreeMap::from([("batch".to_owned(), "4".to_owned())]);
        let Err(Failure::Diagnostics { diagnostics, .. }) = Checkpoint::load(&path, &other, &of) else {
            panic!("is refused")
        };
        assert_eq!(diagnostics[0].message, "the checkpoint is of another training: batch was 1, is 4");
    }

    /// A hash that is right says nothing of the sizes: those of the program decide.
    #[test]
    fn weights_of_another_size_are_refused() {
        let weights = [("b".to_owned(), 1), ("w".to_owned(), 3)];
        let said = |golden: &Reached, lower: Option<Reached>| {
            let kept = Checkpoint { golden: golden.clone(), lower, ..Checkpoint::new(BTreeMap::new()) };
            let read = Checkpoint::from_text("c.json", &kept.to_text(), &BTreeMap::new(), &weights);
            read.map(drop).map_err(|failure| failure.to_string())
        };
        let reached = |epochs: usize, sizes: &[(&str, usize)]| {
            let model = sizes.iter().map(|(name, size)| ((*name).to_owned(), vec![0.5; *size])).collect();
            Reached { epochs, trained: Trained { model, ..Trained::default() }, ..Reached::default() }
        };
        let (none, right) = (Reached::default(), reached(2, &[("b", 1), ("w", 3)]));
        assert_eq!(said(&none, None), Ok(()));
        assert_eq!(said(&right, Some(none)), Ok(()));
        let wrong = [
            (&[("b", 1), ("w", 2)][..], "`w` has 2 weights in it, 3 in the program"),
            (&[("w", 3)], "it has no weights `b`"),
            (&[("b", 1), ("v", 1), ("w", 3)], "the program has no weights `v`"),
            (&[], "it has no weights `b`"),
        ];
        for (sizes, expected) in wrong {
            let wrong = reached(1, sizes);
            let best = Some(Best { epoch: 1, loss: 0.5, model: wrong.trained.model.clone() });
            for said in [said(&wrong, None), said(&right, Some(wrong)), said(&Reached { best, ..right.clone() }, None)]
            {
                assert!(said.as_ref().is_err_and(|said| said.contains(expected)), "{said:?}: {expected}");
            }
        }
    }

    #[test]
    fn epochs_may_become_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let of = |epochs: &str| BTreeMap::from([(EPOCHS.to_owned(), epochs.to_owned())]);
        let kept = Checkpoint { lower: Some(Reached::default()), ..Checkpoint::new(of("9")) };
        std::fs::write(&path, kept.to_text()).unwrap();
        assert_eq!(Checkpoint::load(&path, &of("9"), &[]).unwrap(), kept);
        assert_eq!(Checkpoint::load(&path, &of("10"), &[]).unwrap(), Checkpoint::new(of("10")));
        assert!(Checkpoint::load(&path, &of("8"), &[]).unwrap_err().to_string().contains("epochs was 9, is 8"));
    }
}
