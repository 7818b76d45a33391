//! What a gradient program does not say: the `[train]` table of the TOML beside it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `[train]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The name in the program whose value is the prediction.
    pub prediction: String,
    /// What is minimised, and how predictions are judged.
    pub loss: Loss,
    /// The label tensor the prediction is compared with; default: the first label with its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The target columns; default: as many last columns as the labels need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Columns>,
    /// What stands in the target column, and the number it means to the program; default: numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, f64>>,
    /// Put a column of ones before the features.
    #[serde(default)]
    pub bias: bool,
    /// `one_hot`: the element of label and prediction that belongs to the first class.
    #[serde(default)]
    pub first_class: usize,
    /// Scale the features to mean 0 and deviation 1.
    #[serde(default = "yes")]
    pub standardise: bool,
    /// Scale the target likewise (and its predictions back); default: for the loss `squared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standardise_target: Option<bool>,
    /// Weights before the first step.
    #[serde(default)]
    pub weights: Weights,
    /// Passes over the training part.
    #[serde(default = "ten")]
    pub epochs: usize,
    /// Samples per update.
    #[serde(default = "one")]
    pub batch: u32,
    /// What a batch does with the gradients of its samples.
    #[serde(default)]
    pub reduction: Reduction,
    /// Another order of the samples in every epoch.
    #[serde(default)]
    pub shuffle: bool,
    /// Learning rate: value of the program's constant `mu`; default: what the program says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mu: Option<f64>,
    /// Constants of the program that follow from the data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, Size>,
}

fn yes() -> bool {
    true
}

fn ten() -> usize {
    10
}

fn one() -> u32 {
    1
}

impl Settings {
    /// Whether the target is scaled.
    pub fn scales_target(&self) -> bool {
        self.standardise_target.unwrap_or(self.loss == Loss::Squared && self.labels.is_none())
    }
}

/// What is minimised. The program computes the gradient; this is how the result is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// `(h - y)^2`; judged by R².
    Squared,
    /// `-y log h - (1 - y) log(1 - h)`; judged by accuracy, the nearest label.
    Logistic,
    /// `max(0, 1 - y h)`; judged by accuracy, the nearest label.
    Hinge,
    /// Sum of `(h - y)^2` over one element per class; judged by accuracy, the largest element.
    OneHot,
}

/// One column or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Columns {
    /// One name.
    One(String),
    /// Several names, in the order in which they fill the labels.
    Several(Vec<String>),
}

impl Columns {
    /// The names.
    pub fn names(&self) -> &[String] {
        match self {
            Columns::One(name) => std::slice::from_ref(name),
            Columns::Several(names) => names,
        }
    }
}

/// Weights before the first step.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// All 0.
    #[default]
    Zeros,
    /// Evenly distributed in `-bound..bound`, drawn with the seed.
    Uniform(f64),
}

/// What a batch does with the gradients of its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Their mean; an incomplete last batch is left out.
    #[default]
    Mean,
    /// Their sum; an incomplete last batch makes a smaller update.
    Sum,
}

/// A size that follows from the data: `features`, `inputs` (features and bias) or `classes`, plus a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size {
    /// What is counted.
    pub of: Counted,
    /// What is added.
    pub plus: u32,
}

/// What the data can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Feature columns.
    Features,
    /// Feature columns, and the bias if there is one.
    Inputs,
    /// Distinct labels.
    Classes,
}

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Size, String> {
        let wrong = || format!("`{text}` is not a size; write `features`, `inputs` or `classes`, optionally `+ N`");
        let (of, plus) = match text.split_once('+') {
            Some((of, plus)) => (of, plus.trim().parse().map_err(|_| wrong())?),
            None => (text.as_str(), 0),
        };
        let of = match of.trim() {
            "features" => Counted::Features,
            "inputs" => Counted::Inputs,
            "classes" => Counted::Classes,
            _ => return Err(wrong()),
        };
        Ok(Size { of, plus })
    }
}

impl From<Size> for String {
    fn from(size: Size) -> String {
        let of = match size.of {
            Counted::Features => "features",
            Counted::Inputs => "inputs",
            Counted::Classes => "classes",
        };
        if size.plus == 0 { of.to_owned() } else { format!("{of} + {}", size.plus) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_they_are_written() {
        for text in ["features", "inputs", "classes + 1"] {
            assert_eq!(String::from(Size::try_from(text.to_owned()).unwrap()), text);
        }
        assert!(Size::try_from("rows".to_owned()).is_err());
    }
}
