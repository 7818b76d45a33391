//! Something that runs a training step on samples: the reals, fixed-point words, the array, the RTL.

pub use crate::NamedValues;

use crate::clipped::Clipped;
use crate::train::moves::AllMoves;
use arch::Diagnostic;
use arch::store::order::{Permutation, key_of_epoch};
use compiler::ranges::Ranges;
use compiler::tensor::{Element, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What one step is given: one list of elements per tensor of [`Signature::fields`], row-major; in a batch the
/// samples of a tensor follow each other.
pub type Step = Vec<Vec<f64>>;

/// What a training program takes and gives, as the data sees it: one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Inputs, then labels, in the order of their declarations.
    pub fields: Vec<Field>,
    /// How many of the fields are inputs.
    pub inputs: usize,
    /// Name and elements of the prediction.
    pub prediction: (String, usize),
    /// Names and elements of the weights.
    pub model: Vec<(String, usize)>,
    /// Names of the states among them that predictions carry from sample to sample.
    pub sequence: Vec<String>,
}

impl Signature {
    /// Steps as values by name.
    pub fn values(&self, steps: &[Step]) -> Vec<NamedValues> {
        let names = || self.fields.iter().map(|field| field.name.clone());
        steps.iter().map(|step| names().zip(step.iter().cloned()).collect()).collect()
    }
}

/// One tensor that is filled from the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name in the program.
    pub name: String,
    /// Extents of one sample.
    pub shape: Vec<u32>,
    /// Whether its elements are integers.
    pub integer: bool,
}

impl Field {
    /// The field of a tensor.
    pub fn of(tensor: &Tensor) -> Field {
        let integer = matches!(tensor.element, Element::Int { .. });
        Field { name: tensor.name.clone(), shape: tensor.shape.clone(), integer }
    }

    /// Number of elements of one sample.
    pub fn elements(&self) -> usize {
        self.shape.iter().map(|&n| n as usize).product()
    }
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// Prediction of each step, if the program emits one.
    pub predictions: Vec<Vec<f64>>,
    /// Clock cycles, where there is a clock.
    pub cycles: Option<u64>,
    /// Whether a value that was written had been clipped to the word.
    pub saturated: bool,
}

impl Run {
    /// What came after it.
    pub fn add(&mut self, next: Run) {
        self.predictions.extend(next.predictions);
        if let Some(cycles) = next.cycles {
            self.cycles = Some(self.cycles.unwrap_or(0) + cycles);
        }
        self.saturated |= next.saturated;
    }
}

/// Words compared with the rung above.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Name of the rung compared with.
    pub with: String,
    /// Words compared.
    pub words: u64,
    /// Words that differ.
    pub differing: u64,
    /// Runs whose cycle counts differ.
    pub cycle_counts_differing: u64,
    /// The first difference, in words for the user.
    pub first: Option<String>,
}

impl Comparison {
    /// Add what another engine of the same training compared.
    pub fn add(&mut self, other: &Comparison) {
        self.with.clone_from(&other.with);
        self.words += other.words;
        self.differing += other.differing;
        self.cycle_counts_differing += other.cycle_counts_differing;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// Compare the words of a tensor after a step.
    pub(super) fn words_of(&mut self, tensor: &str, step: u64, found: &[f64], expected: &[f64]) {
        self.words += expected.len() as u64;
        for element in 0..found.len().max(expected.len()) {
            let (found, expected) = (found.get(element), expected.get(element));
            if found == expected {
                continue;
            }
            self.differing += 1;
            let with = &self.with;
            self.first.get_or_insert_with(|| {
                let show = |value: Option<&f64>| value.map_or("nothing".to_owned(), f64::to_string);
                let (found, expected) = (show(found), show(expected));
                format!("`{tensor}` element {element} after step {step}: {found} instead of {expected} ({with})")
            });
        }
    }

    /// Whether everything was equal.
    pub fn agrees(&self) -> bool {
        self.differing == 0 && self.cycle_counts_differing == 0
    }
}

/// Epochs of the same steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epochs {
    /// How many.
    pub count: usize,
    /// The key of the first one's order, if each has one of its own ([`arch::store::order`]).
    pub key: Option<u32>,
    /// Whether the same steps come again, in these epochs or in later ones.
    pub again: bool,
}

impl Epochs {
    /// The steps of an epoch, the first of which is 0, in its order.
    pub fn steps<'a>(&self, epoch: usize, steps: &'a [Step]) -> Cow<'a, [Step]> {
        let Some(key) = self.key else { return Cow::Borrowed(steps) };
        let (count, key) = (steps.len() as u32, key_of_epoch(key, epoch as u32));
        Cow::Owned((0..count).map(|n| steps[Permutation::new(count, key).place(n) as usize].clone()).collect())
    }
}

/// Told how many epochs are done, while they are; whether to go on with the next one.
pub type GoesOn<'a> = dyn FnMut(usize) -> bool + 'a;

/// Why an engine stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The program has no value for the given ones.
    #[error("{}", .0.message)]
    Values(Box<Diagnostic>),
    /// The grid does not answer: a bug of ours.
    #[error("{0}")]
    Stuck(String),
    /// An external tool is missing or failed.
    #[error("{0}")]
    Tool(String),
    /// A board failed.
    #[error("{0}")]
    Device(String),
}

/// Run epochs, each with a start of its own.
pub(super) fn one_by_one(
    epochs: Epochs,
    goes_on: &mut GoesOn<'_>,
    mut run: impl FnMut(usize) -> Result<Run, EngineError>,
) -> Result<(Run, usize), EngineError> {
    let mut all = Run::default();
    let mut done = 0;
    while done < epochs.count && (done == 0 || goes_on(done)) {
        all.add(run(done)?);
        done += 1;
    }
    Ok((all, done))
}

/// One program on one engine.
pub trait Engine {
    /// Give it these weights.
    fn load(&mut self, model: &NamedValues);

    /// Run one step after the other, starting from the weights it has.
    ///
    /// # Errors
    /// When it cannot go on.
    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError>;

    /// Run these steps, one epoch after the other, until `goes_on` ends it; how many epochs that was. An engine with a sample store is
    /// sent them once.
    ///
    /// # Errors
    /// When it cannot go on.
    fn run_epochs(
        &mut self,
        steps: &[Step],
        epochs: Epochs,
        goes_on: &mut GoesOn<'_>,
    ) -> Result<(Run, usize), EngineError> {
        one_by_one(epochs, goes_on, |epoch| self.run(&epochs.steps(epoch, steps)))
    }

    /// The weights it has now.
    fn model(&self) -> NamedValues;

    /// The values that the tensors of its program took, if it knows.
    fn ranges(&self) -> Option<&Ranges> {
        None
    }

    /// What was clipped to the word so far, if it knows.
    fn clipped(&self) -> Vec<Clipped> {
        Vec::new()
    }

    /// How often its weights changed so far, if it knows.
    fn moves(&self) -> AllMoves {
        AllMoves::new()
    }

    /// Whether steps and what they clip are counted from now on: not where steps are run a second time.
    fn count(&mut self, _counts: bool) {}

    /// What it compared so far, if it compares.
    fn comparison(&self) -> Option<Comparison> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does nothing, in one cycle.
    struct Nothing;

    impl Engine for Nothing {
        fn load(&mut self, _: &NamedValues) {}
        fn run(&mut self, _: &[Step]) -> Result<Run, EngineError> {
            Ok(Run { cycles: Some(1), ..Run::default() })
        }
        fn model(&self) -> NamedValues {
            NamedValues::new()
        }
    }

    #[test]
    fn an_engine_that_does_not_know_says_nothing() {
        assert!(Nothing.ranges().is_none() && Nothing.clipped().is_empty() && Nothing.comparison().is_none());
    }

    /// Before each epoch but the first somebody says whether there is one.
    #[test]
    fn epochs_go_on_until_somebody_says_no() {
        for (most, asked, done) in [(usize::MAX, vec![1, 2, 3], 4), (2, vec![1, 2], 2), (0, vec![1], 1)] {
            let mut heard = Vec::new();
            let mut goes_on = |done| {
                heard.push(done);
                done < most
            };
            let epochs = Epochs { count: 4, key: None, again: false };
            let (run, count) = Nothing.run_epochs(&[vec![]], epochs, &mut goes_on).unwrap();
            assert_eq!((heard, count, run.cycles), (asked, done, Some(done as u64)));
        }
        let none = Epochs { count: 0, key: None, again: false };
        assert_eq!(Nothing.run_epochs(&[vec![]], none, &mut |_| true), Ok((Run::default(), 0)));
    }

    #[test]
    fn steps_have_the_names_of_their_fields() {
        let field = |name: &str| Field { name: name.to_owned(), shape: vec![2], integer: false };
        let fields = vec![field("x"), field("y")];
        let (prediction, model, sequence) = (("h".to_owned(), 1), Vec::new(), Vec::new());
        let signature = Signature { fields, inputs: 1, prediction, model, sequence };
        let step = |x: f64| vec![vec![x, 2.0], vec![3.0]];
        let named = |x: f64| NamedValues::from([("x".to_owned(), vec![x, 2.0]), ("y".to_owned(), vec![3.0])]);
        assert_eq!(signature.values(&[step(1.0), step(7.0)]), [named(1.0), named(7.0)]);
    }
}
