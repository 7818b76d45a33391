//! Inputs and outputs of a project's program, and those that `[train]` names.

use crate::failure::Failure;
use crate::project::Project;
use compiler::derived::losses::Loss;
use compiler::derived::optimisers::{RATE, is_added};
use compiler::derived::training::Measure;
use compiler::tensor::{Program, Role, Tensor, Update};
use sim::train::engine::{Field, Signature};
use sim::train::settings::Settings;

fn elements(shape: &[u32]) -> usize {
    shape.iter().map(|&n| n as usize).product()
}

/// How many numbers the labels of a sample have.
pub fn label_elements(program: &Program, settings: &Settings) -> usize {
    let is_label =
        |tensor: &&Tensor| tensor.role == Role::Label && settings.sample_weight.as_ref() != Some(&tensor.name);
    program.tensors.iter().filter(is_label).map(|tensor| elements(&tensor.shape)).sum()
}

fn wrong(project: &Project, message: String, help: String) -> Failure {
    let diagnostic = arch::Diagnostic::global(arch::Code::Config, message).with_help(help);
    Failure::data(project.path.with_extension("toml").display().to_string(), vec![diagnostic])
}

fn names(program: &Program) -> String {
    program.names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The field that the prediction is compared with: of `inputs` inputs and of labels.
fn compared(
    project: &Project,
    settings: &Settings,
    (fields, inputs): (&[Field], usize),
    shape: &[u32],
) -> Result<Option<usize>, Failure> {
    let label = match &settings.label {
        Some(name) => fields.iter().position(|field| field.name == *name),
        None => fields[inputs..].iter().position(|field| field.shape == *shape).map(|n| n + inputs),
    };
    let scalar = matches!(settings.loss, Measure::Scalar(_));
    let mut compared = None;
    if let (Some(label), false) = (label, scalar) {
        if elements(&fields[label].shape) != elements(shape) {
            let message =
                format!("prediction `{}` and label `{}` differ in shape", settings.prediction, fields[label].name);
            return Err(wrong(project, message, "see `prediction` and `label` in the [train] table".to_owned()));
        }
        compared = Some(label);
    } else if !scalar {
        let message = match &settings.label {
            Some(name) => format!("the program has no input or label `{name}`, which [train] names as the label"),
            None => format!("no label of the program has the shape of the prediction `{}`", settings.prediction),
        };
        return Err(wrong(project, message, "a label is a `model_output` that the program never assigns".to_owned()));
    }
    Ok(compared)
}

/// The states that `[train]` names are there.
fn check_states(project: &Project, program: &Program, settings: &Settings) -> Result<(), Failure> {
    let is_state = |name: &str| program.tensors.iter().any(|tensor| tensor.role == Role::State && tensor.name == name);
    if let Some(name) = settings.initial.keys().find(|name| is_added(name) || !is_state(name)) {
        let message = format!("the program has no weights `{name}`, which `initial` of [train] names");
        return Err(wrong(project, message, format!("its names are {}", names(program))));
    }
    let is_assigned = |name: &str| {
        let assigned = |update: &Update| program.tensors[update.state.0].name == name;
        !is_added(name) && program.updates.iter().any(assigned)
    };
    if let Some(name) = settings.sequence.iter().find(|name| !is_assigned(name)) {
        let message = format!("the program assigns no state `{name}`, which [train] names as part of a sequence");
        let help = "a sequence is a `model` to which the program gives its next value itself".to_owned();
        return Err(wrong(project, message, help));
    }
    Ok(())
}

/// What a program takes and gives, and the number of the field that the prediction is compared with.
pub fn signature(
    project: &Project,
    program: &Program,
    settings: &Settings,
) -> Result<(Signature, Option<usize>), Failure> {
    let is_weight = |tensor: &Tensor| settings.sample_weight.as_ref() == Some(&tensor.name);
    let fields_with = |role: &Role| {
        let named = move |tensor: &&Tensor| tensor.role == *role && tensor.name != RATE && !is_weight(tensor);
        let tensors = program.tensors.iter().filter(named);
        tensors.map(Field::of).collect::<Vec<_>>()
    };
    let wrong = |message: String, help: String| wrong(project, message, help);
    let names = || names(program);
    // A scalar that is minimised is what is judged.
    let (wanted, what) = match &settings.loss {
        Measure::Scalar(name) => (name, "loss"),
        Measure::Library(_) => (&settings.prediction, "prediction"),
    };
    let Some((_, id)) = program.names.iter().rev().find(|(name, _)| name == wanted) else {
        let message = format!("the program has no `{wanted}`, which [train] names as the {what}");
        let losses = Loss::ALL.iter().map(|loss| loss.name()).collect::<Vec<_>>().join(", ");
        let help = match settings.loss {
            Measure::Scalar(_) => format!("the losses are {losses}, and the names of scalars: {}", names()),
            Measure::Library(_) => format!("its names are {}", names()),
        };
        return Err(wrong(message, help));
    };
    let shape = &program.tensors[id.0].shape;
    let mut fields = fields_with(&Role::Input);
    let inputs = fields.len();
    fields.extend(fields_with(&Role::Label));
    let compared = compared(project, settings, (&fields, inputs), shape)?;
    if let Some(name) = &settings.sample_weight {
        let given = |tensor: &&Tensor| is_weight(tensor) && matches!(tensor.role, Role::Input | Role::Label);
        let Some(weight) = program.tensors.iter().find(given).filter(|tensor| tensor.shape.is_empty()) else {
            let message =
                format!("the program has no scalar input `{name}`, which [train] names as the weight of a sample");
            return Err(wrong(message, format!("its names are {}", names())));
        };
        fields.push(Field::of(weight));
    }
    let rate = program.tensors.iter().filter(|tensor| tensor.name == RATE);
    fields.extend(rate.map(|tensor| Field { shape: Vec::new(), ..Field::of(tensor) }));
    let state = program.tensors.iter().filter(|tensor| tensor.role == Role::State);
    let model = state.map(|tensor| (tensor.name.clone(), elements(&tensor.shape))).collect();
    let prediction = (wanted.clone(), elements(shape));
    check_states(project, program, settings)?;
    let sequence = settings.sequence.clone();
    Ok((Signature { fields, inputs, prediction, model, sequence }, compared))
}
