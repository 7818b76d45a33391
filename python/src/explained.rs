//! How fast an image is, where everything lies, and what runs when.

use compiler::placed::Axis;
use compiler::search::{Compiled, Step};
use serde_json::{Map, Value, json};
use sim::pace::Pace;
use workbench::{Failure, Function, Outcome, Progress, Project, Records, Training};

/// The update of a training.
///
/// # Errors
/// No binary points or no image exist.
pub(crate) fn of_training(training: &Training, outcome: &Outcome, progress: &dyn Progress) -> Result<Value, Failure> {
    let design = training.design(&outcome.ranges, progress)?;
    let Some(compiled) = &design.images.full else {
        return Err(Failure::Bug("a training without updates".to_owned()));
    };
    Ok(said(&training.project, compiled, &design.pace()?))
}

/// A function, with the sizes of its records.
///
/// # Errors
/// Whatever is wrong with program or records.
pub(crate) fn of_function(
    project: &Project,
    records: Option<&Records>,
    progress: &dyn Progress,
) -> Result<Value, Failure> {
    let function = Function::new(project, records, progress)?;
    Ok(said(project, &function.climb.compiled, &function.pace()?))
}

fn said(project: &Project, compiled: &Compiled, pace: &Pace) -> Value {
    let source = project.source.text.as_str();
    let instruction = |step: &Step| {
        let lines = step.origin.lines(source);
        json!({
            "what": step.what,
            "line": lines.own(),
            "fused": lines.fused(),
            "start": step.start,
            "beats": step.length,
            "waited": step.waited,
            "cause": step.cause.as_ref().map(ToString::to_string),
            "readable": step.readable,
            "unit": step.unit,
        })
    };
    let alternatives = compiled.alternatives.iter();
    let alternatives = alternatives
        .map(|other| json!({ "step": other.step, "load": other.load, "placement": axes(&other.placement) }));
    json!({
        "pace": pace,
        "machine": compiled.image.machine.to_string(),
        "placement": axes(&compiled.placement),
        "alternatives": alternatives.collect::<Vec<_>>(),
        "step_length": compiled.image.step_length,
        "tiles": compiled.image.tiles,
        "instructions": compiled.steps.iter().map(instruction).collect::<Vec<_>>(),
    })
}

fn axes(placement: &[(String, Vec<Axis>)]) -> Value {
    let names = |axes: &[Axis]| axes.iter().map(|axis| format!("{axis:?}").to_lowercase()).collect::<Vec<_>>();
    Value::Object(placement.iter().map(|(name, axes)| (name.clone(), json!(names(axes)))).collect::<Map<_, _>>())
}
