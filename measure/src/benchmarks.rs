//! `performance`, `kernels`, `networks`: tables of what `tabla-gen bench` measures.

use crate::project::none;
use crate::{Outcome, Project, tables};
use std::collections::BTreeSet;
use workbench::kernels::{self, OUTPUTS};
use xshell::cmd;

/// The published benchmarks; with `--speed` how fast compiler and simulators are (criterion; a quiet computer, ten minutes).
pub(crate) fn performance(project: &Project, arguments: &[String]) -> Outcome {
    if arguments == ["--speed"] {
        return Ok(cmd!(project.shell, "cargo bench -p sim --bench speed").quiet().run()?);
    }
    none(arguments)?;
    let measured = project.document(&project.tool(false)?, &["bench"])?;
    project.put("docs/tables/performance.txt", "bench", &tables::benchmarks(&measured)?)
}

/// Kernels that nobody tuned; with `--rtl` one of each kind on the Verilog, word for word.
pub(crate) fn kernels(project: &Project, arguments: &[String]) -> Outcome {
    let tool = project.tool(false)?;
    if arguments == ["--rtl"] {
        let mut kinds = BTreeSet::new();
        let all = kernels::read().map_err(|failure| failure.to_string())?;
        let names: Vec<String> = all.into_iter().filter(|k| kinds.insert(k.kind.clone())).map(|k| k.name).collect();
        let list = names.join(",");
        return Ok(cmd!(project.shell, "{tool} bench --kernels --rtl {list} {names...}").quiet().run()?);
    }
    none(arguments)?;
    let mut measured = Vec::new();
    for outputs in OUTPUTS {
        let (output, emit) = (outputs.output_words.to_string(), outputs.emit_words.to_string());
        let asked = ["bench", "--kernels", "--output-words", &output, "--emit-words", &emit];
        measured.push(project.document(&tool, &asked)?);
    }
    project.put("docs/tables/kernels.txt", "kernels", &tables::kernels(&measured)?)
}

/// Networks; with `--long` those that take minutes, too; with `--files` writes their ONNX files instead.
pub(crate) fn networks(project: &Project, arguments: &[String]) -> Outcome {
    if arguments == ["--files"] {
        return project.python(Some("onnx"), "networks.py", &[]);
    }
    let asked: &[&str] = if arguments == ["--long"] { &["--long"] } else { &[] };
    none(&arguments[asked.len()..])?;
    let measured =
        project.document(&project.tool(false)?, &[&["bench", "--networks", "--jobs", "1"], asked].concat())?;
    project.put("docs/tables/networks.txt", "networks", &tables::networks(&measured)?)
}
