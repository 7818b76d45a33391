//! `derive`: the program with the gradients of what it minimises, as text of tensor IR.

use crate::arguments::{Derive, Format, Global};
use crate::output::{self, Talk};
use crate::subject;
use compiler::tensor::Role;
use schemars::JsonSchema;
use serde::Serialize;
use workbench::Failure;
use workbench::documents::Document;

/// A program with the gradients of what it minimises.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Derived {
    /// Text of tensor IR.
    program: String,
}

/// Print the program.
pub fn run(global: &Global, options: &Derive, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.program.as_deref(), &options.entry)?;
    project.refuse_stays()?;
    let program = project.parse(&[], talk)?;
    if !program.tensors.iter().any(|tensor| matches!(tensor.role, Role::Gradient(_))) {
        let file = &project.source.name;
        let help =
            "`minimize e;` in TABLA, or `weights` and `loss` in a [train] table beside it, say what is minimised";
        return Err(Failure::Usage(format!("{file} has no gradients: {help}")));
    }
    match global.format {
        Format::Json => output::json(&Document::new(Derived { program: program.to_string() })),
        Format::Text => output::result(&program.to_string()),
    }
}
