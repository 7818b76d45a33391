//! `explain`: placement and schedule, by source line; or what a diagnostic code means.

use crate::arguments::{Explain, Format, Global};
use crate::charts;
use crate::commands::code;
use crate::fates;
use crate::listing;
use crate::output::{self, Talk};
use crate::report;
use crate::subject::{self, Subject};
use crate::timeline;
use compiler::placed::Axis;
use compiler::search::{Alternative, Compiled, Step};
use serde_json::{Value, json};
use workbench::Failure;

/// Print the listing of the training image, or of a function's.
pub fn run(global: &Global, options: &Explain, talk: &Talk) -> Result<(), Failure> {
    let target = &options.target;
    if let Some(code) = code::named(target.program.as_deref())? {
        return code::run(global, code);
    }
    let project = subject::project(global, target.program.as_deref(), &target.entry)?;
    let subject = Subject::new(&project, target, talk)?;
    let (compiled, numbers, program) = match &subject {
        Subject::Function(function) => (&function.compiled, &function.numbers, &function.program),
        Subject::Training(design) => {
            let full = (design.images.full.as_ref(), design.lowered.full.as_ref());
            let (Some(compiled), Some(program)) = full else { unreachable!("a design can train") };
            (compiled, &design.lowered.numbers, program)
        }
    };
    if options.numbers {
        let numbers = report::numbers(numbers);
        return output::either(
            global.format,
            || report::numbers_text(&numbers),
            || json!({ "schema_version": 1, "numbers": numbers }),
        );
    }
    let timeline = timeline::watch(&compiled.image)?;
    if let Some(path) = &options.svg {
        output::write_file(path, charts::alone(&timeline.svg()).as_bytes())?;
        talk.say(format!("wrote {}", path.display()));
    }
    let names = fates::names(&project, program);
    match global.format {
        Format::Text => {
            let listing = listing::explain(compiled, &names);
            output::result(&format!("{listing}\n{}\n{}", timeline.text(), listing::microcode(&compiled.image)))
        }
        Format::Json => {
            let mut document = document(compiled);
            document["timeline"] = json!(timeline);
            document["names"] = names.into_iter().map(|(name, fate)| (name, Value::from(fate))).collect();
            output::json(&document)
        }
    }
}

/// The axis of each dimension, by tensor.
fn axes(placement: &[(String, Vec<Axis>)]) -> Value {
    let placement = placement.iter().map(|(name, axes)| {
        let axes: Vec<String> = axes.iter().map(|axis| format!("{axis:?}").to_lowercase()).collect();
        (name.clone(), json!(axes))
    });
    Value::Object(placement.collect())
}

fn document(compiled: &Compiled) -> Value {
    let step = |step: &Step| {
        json!({
            "what": step.what, "line": step.line, "start": step.start, "beats": step.length,
            "waited": step.waited, "cause": step.cause.as_ref().map(ToString::to_string), "readable": step.readable,
            "unit": step.unit,
        })
    };
    let alternative = |alternative: &Alternative| json!({ "step": alternative.step, "load": alternative.load, "placement": axes(&alternative.placement) });
    json!({
        "schema_version": 1,
        "placement": axes(&compiled.placement),
        "alternatives": compiled.alternatives.iter().map(alternative).collect::<Vec<_>>(),
        "step_length": compiled.image.step_length,
        "tiles": compiled.image.tiles,
        "instructions": compiled.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
