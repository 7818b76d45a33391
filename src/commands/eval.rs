//! `eval`: one evaluation, JSON in, JSON out.

use crate::arguments::{EngineName, Eval, Format, Global};
use crate::failure::Failure;
use crate::output::{self, Talk};
use crate::project::Project;
use crate::render;
use serde_json::Value;
use sim::golden::Golden;
use std::io::Read;

/// Evaluate.
pub fn run(global: &Global, options: &Eval, talk: &Talk) -> Result<(), Failure> {
    let project = Project::open(global, Some(&options.program))?;
    let (program, warnings) = project.parse_quietly(&[])?;
    if let Some(entry) = &options.entry {
        return Err(Failure::Usage(format!("--entry {entry}: programs of this language have no functions")));
    }
    let inputs = read_inputs(options)?;
    let about = |diagnostics| Failure::about(&project.source, diagnostics);
    let mut result = match options.engine {
        EngineName::Golden => sim::eval::evaluate(&program, &inputs, &mut Golden::new(&program)).map_err(about)?,
        engine => return Err(Failure::Usage(format!("{} is not here yet", engine.as_str()))),
    };
    match global.format {
        Format::Json => {
            if !warnings.is_empty() {
                let warnings = warnings.iter().map(|warning| render::object(&project.source, warning));
                result["diagnostics"] = warnings.collect();
            }
            output::json(&result)
        }
        Format::Text => {
            render::warnings(&project.source, &warnings, talk);
            output::result(&text(&result))
        }
    }
}

fn text(result: &Value) -> String {
    let mut text = String::new();
    for (part, prefix) in [("values", ""), ("next", "next ")] {
        for (name, value) in result[part].as_object().into_iter().flatten() {
            text.push_str(&format!("{prefix}{name} = {value}\n"));
        }
    }
    text
}

fn read_inputs(options: &Eval) -> Result<Value, Failure> {
    let Some(path) = &options.inputs else { return Ok(Value::Object(serde_json::Map::new())) };
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|error| Failure::file("read", path, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("line {}, column {}: no JSON: {error}", error.line(), error.column());
        let diagnostic = arch::Diagnostic::global(arch::Code::Data, message);
        Failure::data(path.display().to_string(), vec![diagnostic])
    })
}
