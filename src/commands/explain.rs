//! `explain`: placement and schedule, by source line.

use crate::arguments::{Explain, Format, Global};
use crate::design::Design;
use crate::failure::Failure;
use crate::listing;
use crate::output::{self, Talk};
use crate::project::Project;
use crate::report;
use compiler::backend::{Compiled, Step};
use serde_json::{Value, json};

/// Print the listing of the training image.
pub fn run(global: &Global, options: &Explain, talk: &Talk) -> Result<(), Failure> {
    let project = Project::open(global, options.target.program.as_deref())?;
    let design = Design::new(&project, &options.target, talk)?;
    if options.explain_numbers {
        let numbers = report::numbers(&design.lowered.numbers);
        return output::either(
            global.format,
            || report::numbers_text(&numbers),
            || json!({ "schema_version": 1, "numbers": numbers }),
        );
    }
    let compiled = design.images.full.as_ref().expect("a design can train");
    match global.format {
        Format::Text => {
            let listing = listing::explain(compiled);
            output::result(&format!("{listing}\n{}", listing::microcode(&compiled.image)))
        }
        Format::Json => output::json(&document(compiled)),
    }
}

fn document(compiled: &Compiled) -> Value {
    let step = |step: &Step| {
        json!({
            "what": step.what, "line": step.line, "start": step.start, "beats": step.length,
            "waited": step.waited, "readable": step.readable,
        })
    };
    let placement = compiled.placement.iter().map(|(name, axes)| {
        let axes: Vec<String> = axes.iter().map(|axis| format!("{axis:?}").to_lowercase()).collect();
        (name.clone(), json!(axes))
    });
    json!({
        "schema_version": 1,
        "placement": Value::Object(placement.collect()),
        "step_length": compiled.image.step_length,
        "instructions": compiled.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
