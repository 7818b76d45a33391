//! Training as the `[train]` table declares it, for programs that do not declare it themselves.
//!
//! ```text
//! def net(float(N) X, float(M,N) W) -> (Y) { ... }      X: input, W: state, label: label, Y: prediction
//!     + loss = "squared", weights = ["W"]          =>   minimise squared(Y, label) by W
//! ```
//!
//! Languages of functions have inputs only: those that are named as weights become state, and a label is added if the function has none.

use super::losses::{self, Loss};
use super::optimisers::{Optimiser, optimise};
use super::{Objective, derive};
use crate::rounding::{self, Rounding};
use crate::tensor::{Element, Program, Role, Tensor, TensorId};
use crate::text::nearest::nearest;
use arch::{Code, Diagnostic, Span};

/// What training says.
#[derive(Debug, Clone, PartialEq)]
pub struct Training {
    /// What is minimised, if the program does not have its gradients.
    pub objective: Option<Minimised>,
    /// What happens with the gradients.
    pub optimiser: Optimiser,
    /// How updates are rounded.
    pub rounding: Rounding,
}

/// What is minimised, by which weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimised {
    /// The loss.
    pub loss: Measure,
    /// Name of the prediction.
    pub prediction: String,
    /// Name of the label; default: the first label with the prediction's shape, or a new one called `label`.
    pub label: Option<String>,
    /// Names of the tensors that are trained.
    pub weights: Vec<String>,
    /// The learning rate.
    pub rate: Option<f64>,
}

/// What is made smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measure {
    /// A loss of the library, of prediction and label.
    Library(Loss),
    /// A scalar of the program.
    Scalar(String),
}

impl Measure {
    /// As it is written.
    pub fn name(&self) -> &str {
        match self {
            Measure::Library(loss) => loss.name(),
            Measure::Scalar(name) => name,
        }
    }
}

/// The program that is trained.
///
/// # Errors
/// A name that the program does not have, a loss that does not fit, something without a derivative, a setting without effect.
pub fn with_training(program: &Program, training: &Training) -> Result<Program, Vec<Diagnostic>> {
    let program = match &training.objective {
        Some(minimised) => {
            let (program, objective) = minimised.of(program)?;
            derive(&program, &objective)?
        }
        None => program.clone(),
    };
    if program.descents.is_empty() {
        let keys = training.optimiser.keys().into_iter().chain(training.rounding.key());
        let idle = keys.map(without_gradients).collect::<Vec<_>>();
        return if idle.is_empty() { Ok(program) } else { Err(idle) };
    }
    let weights: Vec<TensorId> = program.descents.iter().map(|descent| descent.state).collect();
    Ok(rounding::with_states(&optimise(&program, &training.optimiser), &weights, training.rounding))
}

/// A key of `[train]` that changes gradients, for a program that has none.
fn without_gradients(key: &str) -> Diagnostic {
    let message = format!("`{key}` has no effect: the program has no gradients, it assigns its states itself");
    Diagnostic::global(Code::Config, message).with_setting(key)
}

impl Minimised {
    /// The program with its weights as states and the value of its loss, and what is minimised.
    ///
    /// # Errors
    /// A name that the program does not have, a loss that does not fit.
    pub fn of(&self, program: &Program) -> Result<(Program, Objective), Vec<Diagnostic>> {
        let mut program = program.clone();
        let found: Vec<_> = self.weights.iter().map(|name| weight(&mut program, name)).collect();
        let (weights, wrong): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
        if !wrong.is_empty() {
            return Err(wrong.into_iter().filter_map(Result::err).collect());
        }
        let weights = weights.into_iter().filter_map(Result::ok).collect();
        let (value, losses) = objective(&mut program, self).map_err(|wrong| vec![wrong])?;
        let span = program.tensors[value.0].span;
        Ok((program, Objective { value, losses, weights, rate: self.rate, span }))
    }
}

/// The scalar that is minimised.
fn objective(program: &mut Program, minimised: &Minimised) -> Result<(TensorId, Vec<losses::Applied>), Diagnostic> {
    match &minimised.loss {
        Measure::Scalar(name) => {
            let value = result(program, name, "the loss")?;
            let shape = &program.tensors[value.0].shape;
            if !shape.is_empty() {
                let message = format!("`{name}` has the shape {shape:?}; what is minimised is one number");
                return Err(Diagnostic::new(Code::Rank, program.tensors[value.0].span, message));
            }
            Ok((value, Vec::new()))
        }
        Measure::Library(loss) => {
            let prediction = result(program, &minimised.prediction, "the prediction")?;
            let label = label(program, prediction, minimised.label.as_deref())?;
            let span = program.tensors[prediction.0].span;
            let applied = losses::apply(program, *loss, prediction, label, (losses::Unlinked::Appended, span))?;
            Ok((applied.value, vec![applied]))
        }
    }
}

/// A tensor that is trained: a state, or an input that becomes one.
fn weight(program: &mut Program, name: &str) -> Result<TensorId, Diagnostic> {
    let trained = |tensor: &Tensor| matches!(tensor.role, Role::Input | Role::State);
    let Some(id) = program.tensors.iter().position(|tensor| tensor.name == name && trained(tensor)) else {
        let names = program.tensors.iter().filter(|tensor| trained(tensor)).map(|tensor| tensor.name.as_str());
        return Err(unknown(name, "a weight", "input or state", names));
    };
    program.tensors[id].role = Role::State;
    Ok(TensorId(id))
}

/// The last value of a name.
fn result(program: &Program, name: &str, what: &str) -> Result<TensorId, Diagnostic> {
    let found = program.names.iter().rev().find(|(known, _)| known == name);
    let names = || program.names.iter().map(|(known, _)| known.as_str());
    found.map(|&(_, id)| id).ok_or_else(|| unknown(name, what, "result", names()))
}

fn unknown<'a>(name: &str, what: &str, kind: &str, names: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    let message = format!("the program has no {kind} `{name}`, which [train] names as {what}");
    let help = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
    };
    Diagnostic::global(Code::Undef, message).with_help(help)
}

/// What the prediction is compared with.
fn label(program: &mut Program, prediction: TensorId, name: Option<&str>) -> Result<TensorId, Diagnostic> {
    let shape = program.tensors[prediction.0].shape.clone();
    let given = |tensor: &Tensor| match name {
        Some(name) => tensor.name == name,
        None => tensor.role == Role::Label && tensor.shape == shape,
    };
    if let Some(id) = program.tensors.iter().position(given) {
        let tensor = &mut program.tensors[id];
        if !matches!(tensor.role, Role::Input | Role::Label) {
            let message = format!("`{}` is computed, so it cannot be the label", tensor.name);
            return Err(Diagnostic::new(Code::Kind, tensor.span, message));
        }
        // An autoencoder compares with what it reads: that stays an input.
        return Ok(TensorId(id));
    }
    let mut name = name.unwrap_or("label").to_owned();
    if program.tensors.iter().any(|tensor| tensor.name == name) {
        name = crate::canonical::fresh_name(program, &name);
    }
    let span = Span::default();
    program.tensors.push(Tensor { name, shape, role: Role::Label, element: Element::Real, span });
    Ok(TensorId(program.tensors.len() - 1))
}
