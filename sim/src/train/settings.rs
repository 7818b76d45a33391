//! Training settings that a program leaves open: the `[train]` table of the TOML file next to it.
//!
//! | module | holds |
//! |---|---|
//! | [`flat`] | groups of keys that stand flat in a table |
//! | [`group`] | the groups of `[train]`: how a training goes, optimiser, clipping, schedule |

pub mod flat;
pub mod group;

use crate::train::rate::{Rate, Shape};
pub use compiler::canonical::Reduction;
use compiler::derived::losses::Loss as Library;
use compiler::derived::optimisers::{Clip, Method, Optimiser, is_added};
use compiler::derived::training::{Measure, Minimised, Training};
use compiler::rounding::{self, Rounding};
pub use group::{Choices, Selection};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `[train]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = group::describe_settings)]
pub struct Settings {
    /// The name in the program whose value is the prediction.
    #[schemars(example = &"h")]
    pub prediction: String,
    /// What is minimised, and how predictions are judged: a loss of the library, or a scalar of the program. Logits may stand for probabilities
    #[serde(with = "loss_name")]
    #[schemars(schema_with = "loss_schema", example = &"cross_entropy")]
    pub loss: Measure,
    /// The label tensor the prediction is compared with; default: the first label with its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"y")]
    pub label: Option<String>,
    /// The scalar of the program that takes the weight of a sample: what the column of that name holds, and 1 without such a column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"s")]
    pub sample_weight: Option<String>,
    /// Number of each label in the target column, as the program expects it; default: numbers; `logistic` and `hinge` need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = BTreeMap::from([("0", 0), ("1", 1)]))]
    pub labels: Option<BTreeMap<String, f64>>,
    /// Put a column of ones before the features.
    #[serde(default)]
    #[schemars(example = true)]
    pub bias: bool,
    /// `one_hot`, `cross_entropy`: the element of label and prediction that belongs to the first class; default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0)]
    pub first_class: Option<usize>,
    /// Scale the features to mean 0 and deviation 1, by the training part.
    #[serde(default = "yes")]
    #[schemars(example = true)]
    pub standardise: bool,
    /// Scale the target likewise (and its predictions back); default: for the loss `squared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = false)]
    pub standardise_target: Option<bool>,
    /// A list: tensors that are trained, in a program without gradients. Otherwise what all weights start from, also `{ uniform = 0.1 }`
    #[serde(default)]
    #[schemars(example = &"zeros")]
    pub weights: Weights,
    /// What weights start from, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = BTreeMap::from([("w", "zeros")]))]
    pub initial: BTreeMap<String, Initial>,
    /// Part of the training rows that only judges: after each epoch, and the weights that are best there are kept.
    #[serde(default)]
    #[schemars(example = 0.1)]
    pub validation: f64,
    /// Epochs without a better loss on the validation part after which the training ends; default: it does not end early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 5)]
    pub patience: Option<usize>,
    /// Learning rate: value of the program's constant `mu`; default: what the program says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.02)]
    pub mu: Option<f64>,
    /// This part of a weight is added to its gradient.
    #[serde(default)]
    #[schemars(example = 0.0)]
    pub weight_decay: f64,
    /// Epochs in which the rate rises to its full size.
    #[serde(default)]
    #[schemars(example = 0)]
    pub warm_up: usize,
    /// How a training goes.
    #[serde(skip)]
    pub choices: Choices,
    /// Which columns of a table are used.
    #[serde(skip)]
    pub selection: Selection,
    /// How gradients change weights.
    #[serde(skip)]
    pub optimiser: Method,
    /// Gradient clipping.
    #[serde(skip)]
    pub clip: Clip,
    /// Learning-rate schedule.
    #[serde(skip)]
    pub schedule: Shape,
    /// How updates are rounded to words.
    #[serde(skip)]
    pub rounding: Rounding,
    /// States that the program assigns itself and that predictions carry from row to row, too; needs `order = "rows"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["s"])]
    pub sequence: Vec<String>,
    /// Constants of the program that follow from the data: `features`, `inputs` (features and bias) or `classes`, optionally `+ N`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = BTreeMap::from([("m", "inputs")]))]
    pub sizes: BTreeMap<String, Size>,
}

fn yes() -> bool {
    true
}

fn loss_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Library::ALL.iter().map(|loss| loss.name()).collect();
    json_schema!({ "anyOf": [{ "enum": names }, { "type": "string" }] })
}

impl Settings {
    /// A key that no training of this kind looks at, and why.
    pub fn without_effect(&self) -> Option<(&'static str, &'static str)> {
        let scalar = matches!(self.loss, Measure::Scalar(_));
        if self.first_class.is_some() && !self.one_hot() {
            Some(("first_class", "it is a setting of the losses `one_hot` and `cross_entropy`"))
        } else if self.patience.is_some() && self.validation == 0.0 {
            Some(("patience", "it counts epochs without a better loss on the validation part, and `validation` is 0"))
        } else if self.label.is_some() && scalar {
            Some(("label", "a loss that is a scalar of the program compares nothing with a label"))
        } else {
            None
        }
    }

    /// A value that no training can use, and why.
    pub fn impossible(&self) -> Option<(&'static str, &'static str)> {
        let codes: Vec<f64> = self.labels.iter().flat_map(|labels| labels.values().copied()).collect();
        let twice = |code: &f64| codes.iter().filter(|other| *other == code).count() > 1;
        if let Some(wrong) = self.choices.impossible() {
            Some(wrong)
        } else if !(0.0..1.0).contains(&self.validation) {
            Some(("validation", "the validation part is at least 0 and below 1"))
        } else if self.patience == Some(0) {
            Some(("patience", "a training ends after at least one epoch"))
        } else if self.mu.is_some_and(|mu| !mu.is_finite()) {
            Some(("mu", "the learning rate is a finite number"))
        } else if codes.iter().any(|code| !code.is_finite()) {
            Some(("labels", "the number of a class is finite"))
        } else if codes.iter().any(twice) {
            Some(("labels", "two classes have the same number"))
        } else if matches!(self.weights, Weights::Initial(initial) if !initial.is_possible()) {
            Some(("weights", "the bound of the initial weights is a finite number, at least 0"))
        } else if !self.initial.values().copied().all(Initial::is_possible) {
            Some(("initial", "the bound of the initial weights is a finite number, at least 0"))
        } else if !(self.weight_decay.is_finite() && self.weight_decay >= 0.0) {
            Some(("weight_decay", "weights decay by a finite number, at least 0"))
        } else {
            None
        }
    }

    /// What makes a training another one and is seen neither in its program nor in its data, its samples and its plan.
    pub fn identity(&self) -> Vec<(&'static str, String)> {
        vec![("patience", self.patience.map_or("none".to_owned(), |epochs| epochs.to_string()))]
    }

    /// Whether the target is scaled.
    pub fn scales_target(&self) -> bool {
        let distance = matches!(self.loss, Measure::Library(Library::Squared | Library::Absolute | Library::Huber));
        self.standardise_target.unwrap_or(distance && self.labels.is_none())
    }

    /// Whether a label has one element per class.
    pub fn one_hot(&self) -> bool {
        matches!(self.loss, Measure::Library(Library::OneHot | Library::CrossEntropy))
    }

    /// Whether gradients are derived of what is said here.
    pub fn derives(&self) -> bool {
        matches!(self.weights, Weights::Trained(_) | Weights::All(_))
    }

    /// What a tensor starts from.
    pub fn initial(&self, tensor: &str) -> Initial {
        let all = match self.weights {
            Weights::Initial(initial) => initial,
            Weights::Trained(_) | Weights::All(_) => Initial::default(),
        };
        if tensor == rounding::GENERATOR {
            Initial::Uniform(rounding::GENERATOR_BOUND)
        } else if is_added(tensor) {
            Initial::Zeros
        } else {
            self.initial.get(tensor).copied().unwrap_or(all)
        }
    }

    /// How the rate changes.
    pub fn rate(&self) -> Rate {
        let means = match self.optimiser {
            Method::Adam { momentum, decay, .. } => Some((momentum, decay)),
            _ => None,
        };
        Rate { shape: self.schedule, warm_up: self.warm_up, means }
    }

    /// What the compiler does with the program.
    pub fn training(&self) -> Training {
        let rate_is_input = !self.rate().is_constant();
        let weights = match &self.weights {
            Weights::Initial(_) => None,
            Weights::Trained(weights) => Some(weights.clone()),
            Weights::All(_) => Some(vec![All::NAME.to_owned()]),
        };
        let objective = weights.map(|weights| Minimised {
            loss: self.loss.clone(),
            prediction: self.prediction.clone(),
            label: self.label.clone(),
            weights,
            rate: self.mu,
        });
        let Settings { optimiser: method, clip, weight_decay, rounding, .. } = *self;
        Training { objective, optimiser: Optimiser { method, weight_decay, clip, rate_is_input }, rounding }
    }
}

/// The order of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As in the file: its first rows train, its last ones test. What is sequential stays so.
    Rows,
    /// Rows that train are drawn, and have another order in every epoch.
    Shuffled,
    /// Rows that train are drawn once, and have the same order in every epoch, as in a store that is read again and again.
    #[default]
    Store,
    /// Rows that train are drawn once, and their batches have another order in every epoch, which a store computes by itself.
    Permuted,
}

/// A loss as it is written: its name in the library, or the name of a scalar.
pub mod loss_name {
    use super::{Library, Measure};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Write it.
    ///
    /// # Errors
    /// What the format reports.
    pub fn serialize<S: Serializer>(loss: &Measure, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(loss.name())
    }

    /// Read it.
    ///
    /// # Errors
    /// It is not text.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Measure, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Library::of_name(&name).map_or(Measure::Scalar(name), Measure::Library))
    }
}

/// One column or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Which weights, or what they start from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected names of tensors that are trained, `[\"w\"]` or `\"all\"`, or what weights start from, `{ uniform = 0.1 }`"
)]
pub enum Weights {
    /// The tensors that are trained; their gradients are derived.
    Trained(Vec<String>),
    /// All weights of an ONNX model, from the values in its file.
    All(All),
    /// What all weights start from.
    Initial(Initial),
}

/// All weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum All {
    /// All of them.
    All,
}

impl All {
    /// In a list of names.
    pub const NAME: &str = "all";
}

impl Default for Weights {
    fn default() -> Weights {
        Weights::Initial(Initial::Zeros)
    }
}

/// A weight before the first step, drawn with the seed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Initial {
    /// All 0.
    #[default]
    Zeros,
    /// Evenly distributed in `-bound..bound`.
    Uniform(f64),
    /// Evenly distributed, with the variance `2 / (inputs + outputs)` (Glorot).
    Xavier,
    /// Evenly distributed, with the variance `2 / inputs`.
    He,
}

impl Initial {
    fn is_possible(self) -> bool {
        !matches!(self, Initial::Uniform(bound) if !(bound.is_finite() && bound >= 0.0))
    }

    /// The bound of the distribution for a tensor of this shape, whose first dimension is its outputs.
    pub fn bound(self, shape: &[u32]) -> f64 {
        let elements = |shape: &[u32]| shape.iter().map(|&n| f64::from(n)).product::<f64>();
        let (outputs, inputs) = match shape {
            [] | [_] => (1.0, elements(shape)),
            [first, rest @ ..] => (f64::from(*first), elements(rest)),
        };
        match self {
            Initial::Zeros => 0.0,
            Initial::Uniform(bound) => bound,
            Initial::Xavier => libm::sqrt(6.0 / (inputs + outputs)),
            Initial::He => libm::sqrt(6.0 / inputs),
        }
    }
}

/// A size that follows from the data: `features`, `inputs` (features and bias) or `classes`, plus a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
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

    /// By hand: ten outputs of 6 x 3 x 3 inputs; a vector has one output.
    #[test]
    fn bounds_follow_the_shape() {
        let near = |initial: Initial, shape: &[u32], square: f64| {
            let bound = initial.bound(shape);
            assert!((bound * bound - square).abs() < 1e-15, "{initial:?} of {shape:?}: {bound}");
        };
        near(Initial::Zeros, &[10, 6, 3, 3], 0.0);
        near(Initial::Uniform(0.5), &[10, 6, 3, 3], 0.25);
        near(Initial::Xavier, &[10, 6, 3, 3], 6.0 / 64.0);
        near(Initial::He, &[10, 6, 3, 3], 6.0 / 54.0);
        near(Initial::Xavier, &[5], 1.0);
        near(Initial::He, &[3], 2.0);
    }

    #[test]
    fn sizes_read_as_they_are_written() {
        for text in ["features", "inputs", "classes + 1"] {
            assert_eq!(String::from(Size::try_from(text.to_owned()).unwrap()), text);
        }
        assert!(Size::try_from("rows".to_owned()).is_err());
    }

    fn settings(loss: &str, more: &str) -> Settings {
        toml::from_str(&format!("prediction = 'h'\nloss = '{loss}'\n{more}")).unwrap()
    }

    #[test]
    fn targets_are_scaled_where_distances_count() {
        for (loss, more, scales) in [
            ("squared", "", true),
            ("huber", "", true),
            ("logistic", "", false),
            ("e", "", false),
            ("squared", "labels = { no = 0.0, yes = 1.0 }", false),
            ("squared", "standardise_target = false", false),
            ("logistic", "standardise_target = true", true),
        ] {
            assert_eq!(settings(loss, more).scales_target(), scales, "{loss} {more}");
        }
    }

    #[test]
    fn weights_are_named_or_start_from_something() {
        for (weights, derives, own, other) in [
            ("", false, Initial::Zeros, Initial::Zeros),
            ("weights = { uniform = 0.5 }", false, Initial::Uniform(0.5), Initial::Uniform(0.5)),
            ("weights = { uniform = 0.5 }\ninitial = { w = 'he' }", false, Initial::He, Initial::Uniform(0.5)),
            ("weights = ['w']\ninitial = { w = 'xavier' }", true, Initial::Xavier, Initial::Zeros),
            ("weights = 'all'", true, Initial::Zeros, Initial::Zeros),
        ] {
            let settings = settings("squared", weights);
            let found = (settings.derives(), settings.initial("w"), settings.initial("v"));
            assert_eq!(found, (derives, own, other), "{weights}");
            assert_eq!(settings.training().objective.is_some(), derives, "{weights}");
            // What an optimiser adds begins with nothing.
            assert_eq!(settings.initial("w.mean"), Initial::Zeros);
        }
    }

    /// The defaults of the table.
    #[test]
    fn rates_and_optimisers_have_their_defaults() {
        let rate = |more: &str| settings("squared", more).rate();
        assert!(rate("").is_constant());
        let step = Shape::Step { factor: 0.1, epochs: 1 };
        assert_eq!(rate("schedule = 'step'"), Rate { shape: step, warm_up: 0, means: None });
        let slow = Shape::Step { factor: 0.5, epochs: 3 };
        assert_eq!(rate("schedule_epochs = 3\nschedule = 'step'\nschedule_factor = 0.5").shape, slow);
        let inverse = rate("schedule = 'inverse'\nwarm_up = 2\noptimiser = 'adam'");
        assert_eq!(inverse, Rate { shape: Shape::Inverse { factor: 1.0 }, warm_up: 2, means: Some((0.9, 0.999)) });
        assert_eq!(rate("optimiser = 'adam'\nmomentum = 0.5\ndecay = 0.75").means, Some((0.5, 0.75)));
        for (name, method) in [
            ("sgd", Method::Sgd),
            ("momentum", Method::Momentum { momentum: 0.9 }),
            ("nesterov", Method::Nesterov { momentum: 0.9 }),
            ("adagrad", Method::Adagrad { epsilon: 1e-4 }),
            ("rmsprop", Method::Rmsprop { decay: 0.99, epsilon: 1e-4 }),
            ("adam", Method::Adam { momentum: 0.9, decay: 0.999, epsilon: 1e-4 }),
            ("lion", Method::Lion { momentum: 0.9, decay: 0.99 }),
        ] {
            let optimiser = settings("squared", &format!("optimiser = '{name}'")).training().optimiser;
            assert_eq!(optimiser, Optimiser { method, rate_is_input: name == "adam", ..Optimiser::PLAIN }, "{name}");
        }
        let clip = |more: &str| settings("squared", more).training().optimiser.clip;
        assert_eq!(clip("clip = 2"), Clip::Value { limit: 2.0 });
        assert_eq!(clip("clip_norm = 0.5"), Clip::Norm { limit: 0.5 });
    }
}
