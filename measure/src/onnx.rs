//! `onnx`: ONNX' own node cases, the cases that `PyTorch` made, and real models, on golden and on lower rungs: what passes, and why the rest does not.
//!
//! ```text
//! cargo measure onnx                  golden: writes compiler/onnx/tests/results.txt
//! cargo measure onnx array            on this rung those that pass on golden: writes compiler/onnx/tests/results_array.txt; a case that takes
//!                                               longer than SECONDS_EACH (60) of the clock is late
//! cargo measure onnx models [NAME..]  real models on golden, array and Verilog beside onnxruntime: writes docs/tables/models.txt
//! cargo measure onnx pipelines [NAME..]  pipelines of scikit-learn in 16 bits beside onnxruntime: writes docs/tables/pipelines.txt
//! cargo measure onnx export           the snippets of docs/models.md that export from scikit-learn, PyTorch and Keras, as they stand there
//! cargo measure onnx gradients        derived gradients of ONNX graphs beside those of onnx-ad: writes their table in docs/gradients.md
//! cargo measure onnx shapes [SECONDS [SEED]]  node cases with other shapes and settings (300 s, seed 1): each is taken or refused
//! cargo measure onnx sample           write the cases that CI runs, and examples/digits_mlp.onnx
//! ```
//!
//! Needs scripts/setup --onnx; `export` needs scripts/setup --export.

#![allow(clippy::print_stdout, reason = "says what runs")]

use crate::project::none;
use crate::{Outcome, Project};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use xshell::cmd;

const GROUP: Option<&str> = Some("onnx");
const KINDS: [&str; 3] = ["cases", "pytorch", "models"];

/// Arguments of a program of Python.
fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|&word| word.to_owned()).collect()
}

/// The part that the first argument names.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let work = project.shell.create_dir("target/onnx")?;
    let work = work.display().to_string();
    let (first, rest) = arguments.split_first().map_or(("", arguments), |(first, rest)| (first.as_str(), rest));
    let tool = || -> Result<String, Box<dyn Error>> { Ok(project.tool(true)?.display().to_string()) };
    match first {
        "models" => {
            let given = words(&[&tool()?, &format!("{work}/real"), "docs/tables/models.txt"]);
            project.python(GROUP, "onnx_models.py", &[&given, rest].concat())
        }
        "pipelines" => {
            let given = words(&[&tool()?, &format!("{work}/pipelines"), "docs/tables/pipelines.txt"]);
            project.python(GROUP, "onnx_pipelines.py", &[&given, rest].concat())
        }
        "export" => export(project, rest),
        "gradients" => project.python(GROUP, "onnx_gradients.py", &words(&[&tool()?, "docs/gradients.md"])),
        "shapes" => {
            let [seconds, seed] = [(0, "300"), (1, "1")].map(|(n, other)| rest.get(n).map_or(other, String::as_str));
            let given = [&tool()?, &format!("{work}/shapes"), seconds, seed];
            project.python(GROUP, "onnx_shapes.py", &words(&given))
        }
        "sample" => {
            project.python(GROUP, "onnx_cases.py", &words(&["sample", "compiler/onnx/tests/cases.bin"]))?;
            project.python(GROUP, "onnx_learned.py", &words(&["compiler/onnx/tests/learned.bin"]))?;
            project.python(GROUP, "onnx_cases.py", &words(&["example", "examples/digits_mlp.onnx"]))
        }
        _ => rungs(project, &work, arguments),
    }
}

/// Run the blocks behind `<!-- export -->` of docs/models.md, one after the other, in a folder of their own.
fn export(project: &Project, arguments: &[String]) -> Outcome {
    none(arguments)?;
    let shell = &project.shell;
    let (python, tool) = (project.group("export")?.join("bin/python3"), project.tool(true)?);
    let page = shell.read_file("docs/models.md")?;
    let folder = shell.current_dir().join("target/onnx/export");
    shell.remove_path(&folder)?;
    fs::create_dir_all(folder.join("bin"))?;
    symlink(tool, folder.join("bin/tabla-gen"))?;
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH")?);
    let _inside = shell.push_dir(&folder);
    let mut count = 0;
    for block in page.split("<!-- export -->\n```").skip(1) {
        let (kind, rest) = block.split_once('\n').ok_or("a block without an end")?;
        let (text, _) = rest.split_once("\n```").ok_or("a block without an end")?;
        println!("== {}", text.lines().next().unwrap_or_default());
        match kind {
            "python" => {
                count += 1;
                cmd!(shell, "{python} -c {text}").quiet().run()?;
            }
            "sh" => cmd!(shell, "bash -euo pipefail -c {text}").env("PATH", &path).quiet().run()?,
            other => return Err(format!("a block of {other}").into()),
        }
    }
    if count < 3 { Err("docs/models.md has fewer than three exports".into()) } else { Ok(()) }
}

/// All cases on golden, then on the rungs that are asked for those that pass.
fn rungs(project: &Project, work: &str, rungs: &[String]) -> Outcome {
    if let Some(unknown) = rungs.iter().find(|rung| !["fixed", "array", "rtl"].contains(&rung.as_str())) {
        return Err(format!("unknown argument `{unknown}`").into());
    }
    let shell = &project.shell;
    for kind in KINDS {
        let file = format!("{work}/{kind}");
        if fs::metadata(shell.current_dir().join(&file)).map_or(0, |found| found.len()) == 0 {
            project.python(GROUP, "onnx_cases.py", &words(&[kind, &file]))?;
        }
    }
    cmd!(shell, "cargo build --quiet --locked --release -p onnx --example node_cases").quiet().run()?;
    let lock = shell.read_file("scripts/tools.lock")?;
    let version = lock.lines().find_map(|line| line.strip_prefix("onnx==")?.split(' ').next()).unwrap_or_default();
    let seconds = std::env::var("SECONDS_EACH").unwrap_or_else(|_| "60".to_owned());
    let mut good: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for engine in std::iter::once("golden").chain(rungs.iter().map(String::as_str)) {
        let golden = engine == "golden";
        let only = if golden { "" } else { ", of those that pass on golden" };
        let mut report = format!("# Written by `measure onnx`: cases of onnx=={version} on the rung {engine}{only}.\n");
        for kind in KINDS {
            let run =
                cmd!(shell, "target/release/examples/node_cases {engine} {work}/{kind} {seconds}").quiet().read()?;
            let lines: Vec<&str> = match good.get(kind) {
                _ if golden => run.lines().collect(),
                Some(good) => run.lines().filter(|line| good.contains(name(line))).collect(),
                None => Vec::new(),
            };
            if golden {
                let passed = lines.iter().filter(|line| line.starts_with("pass "));
                good.insert(kind, passed.map(|line| name(line).to_owned()).collect());
            }
            report += &summary(&format!("{kind} on {engine}"), &lines);
        }
        let suffix = if golden { String::new() } else { format!("_{engine}") };
        shell.write_file(Path::new(&format!("compiler/onnx/tests/results{suffix}.txt")), report)?;
    }
    Ok(())
}

/// The case of a line, `VERDICT NAME` or `VERDICT NAME: REASON`.
fn name(line: &str) -> &str {
    line.split(' ').nth(1).unwrap_or_default().trim_end_matches(':')
}

/// Counts, then everything that does not pass, by reason, and what passes with elements that are not compared.
fn summary(title: &str, lines: &[&str]) -> String {
    let mut text = format!("## {title}\n\n");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines {
        *counts.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(verdict, count)| (std::cmp::Reverse(count), std::cmp::Reverse(verdict)));
    for (verdict, count) in counts {
        text += &format!("{count:7} {verdict}\n");
    }
    text.push('\n');
    let remarked = lines.iter().filter(|line| line.starts_with("pass ") && line.contains(": ")).count();
    if remarked > 0 {
        text +=
            &format!("{remarked} of those that pass have elements that are no numbers, which are not compared.\n\n");
    }
    let mut rest: Vec<String> = lines
        .iter()
        .filter(|line| !line.starts_with("pass ") || line.contains(": "))
        .map(|line| reason(line))
        .collect();
    rest.sort();
    for line in rest {
        text += &format!("{line}\n");
    }
    text + "\n"
}

/// Verdict, reason without the node's name, and case, with tabs between.
fn reason(line: &str) -> String {
    let verdict = line.split(' ').next().unwrap_or_default();
    let reason = line.split_once(": ").map_or("", |(_, reason)| reason);
    // `E-CODE the node of `NAME`, REASON` says the same of every node.
    let cut = reason.strip_prefix("E-").and_then(|rest| {
        let (_, rest) = rest.split_once(' ')?;
        let rest = rest.strip_prefix("the node of `").or_else(|| rest.strip_prefix("node `"))?;
        Some(rest.split_once("`, ")?.1)
    });
    format!("{verdict}\t{}\t{}", cut.unwrap_or(reason), name(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_and_sorts_by_reason() {
        let lines =
            ["pass a", "pass b: 3 elements", "refused c: E-BACKEND the node of `n`, no loops", "refused d: bad"];
        let expected = "## t\n\n      2 refused\n      2 pass\n\n1 of those that pass have elements that are no numbers, which are not compared.\n\n\
                        pass\t3 elements\tb\nrefused\tbad\td\nrefused\tno loops\tc\n\n";
        assert_eq!(summary("t", &lines), expected);
    }
}
