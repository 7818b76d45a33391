//! What became of the lines and names of the source: computed on their own, fused into others, or left out.
//!
//!     12 | g[i] = d * x[i];        fused into line 5: its product is part of the update `w`
//!     13 | loss = d * d;           not computed: nothing asks for it

use compiler::fixed::{Operation, Program};
use std::collections::{BTreeMap, BTreeSet};
use workbench::Project;

/// What is said of what no result, and no update, depends on.
const LEFT_OUT: &str = "not computed: nothing asks for it";

/// Every line on which the source computes something. What is said of a line: nothing if it has operations of its own.
pub fn lines(project: &Project, program: &Program) -> BTreeMap<usize, Option<String>> {
    let source = &project.source.text;
    let mut lines: BTreeMap<usize, Option<String>> =
        program.operations.iter().map(|operation| (operation.origin.line(source), None)).collect();
    for operation in &program.operations {
        let own = operation.origin.line(source);
        for line in operation.origin.lines(source) {
            lines.entry(line).or_insert_with(|| Some(format!("fused into line {own}")));
        }
    }
    if let Ok((parsed, _)) = project.parse_quietly(&[]) {
        for nest in &parsed.nests {
            lines.entry(nest.origin.line(source)).or_insert_with(|| Some(LEFT_OUT.to_owned()));
        }
    }
    lines
}

/// The names of the source that no tensor of the program has, in source order, with what became of each.
pub fn names(project: &Project, program: &Program) -> Vec<(String, String)> {
    let Ok((parsed, _)) = project.parse_quietly(&[]) else { return Vec::new() };
    let tensors: BTreeSet<&str> = program.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    let fate = |name: &String| {
        let holds = |operation: &&Operation| operation.origin.names().contains(name);
        // What is computed in parts is whole in the last of them.
        let Some(operation) = program.operations.iter().rev().find(holds) else { return LEFT_OUT.to_owned() };
        let tensor = &program.tensors[operation.out.0].name;
        let own = operation.origin.names().first() == Some(name);
        format!("{} {tensor}", if own { "computed as" } else { "fused into" })
    };
    let lost = parsed.names.iter().map(|(name, _)| name).filter(|name| !tensors.contains(name.as_str()));
    lost.map(|name| (name.clone(), fate(name))).collect()
}
