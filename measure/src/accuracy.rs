//! `accuracy`: published algorithms in words of 8, 12, 16 and 24 bits on the data sets of examples/, for docs/tables/accuracy.txt. Each table is a job of a
//! Snakemake workflow, which goes on after an interruption where it was.
//!
//! ```text
//! cargo measure accuracy             on all cores of this computer
//! cargo measure accuracy -c1         arguments are Snakemake's: one core; or an executor, for a cluster
//! KEEP=yes cargo measure accuracy    go on with what a run that was broken off has left
//! ```

use crate::{Outcome, Project, tables};
use std::fs;
use xshell::cmd;

/// Tables in the order of the page; of the convolutional network twenty epochs in each width.
const TABLES: [(&str, &str); 6] = [
    ("logistic.t", "breast_cancer"),
    ("svm.t", "breast_cancer"),
    ("linear.t", "diabetes"),
    ("backpropagation.t", "digits"),
    ("backpropagation4.t", "digits"),
    ("lenet.tc", "digits"),
];

const PAGE: &str = "docs/tables/accuracy.txt";
/// Behind it the page is written anew.
const MARK: &str = "<!-- tables -->\n";

/// The workflow that writes the document of each table.
fn workflow() -> String {
    let files: Vec<String> = TABLES.iter().map(|(program, data)| format!("\"{program}-{data}.json\"")).collect();
    format!(
        r#"wildcard_constraints:
    data="[a-z_]+",
localrules: all

rule all:
    input: {}

rule table:
    output: "{{program}}-{{data}}.json"
    params: tool=config["tabla_gen"], root=config["root"]
    threads: 1
    shell:
        "cd {{params.root:q}} && {{params.tool:q}} accuracy programs/{{wildcards.program}} --data examples/{{wildcards.data}}.csv --format json --quiet"
        " >$OLDPWD/{{output}}.part && mv $OLDPWD/{{output}}.part $OLDPWD/{{output}}"
"#,
        files.join(", ")
    )
}

/// Measure, and write the page.
#[allow(clippy::print_stdout, reason = "says what was written")]
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let shell = &project.shell;
    let tool = project.tool(false)?;
    let snakemake = project.group("sweep")?.join("bin/snakemake");
    let root = shell.current_dir();
    let out = root.join("out/accuracy");
    if std::env::var_os("KEEP").is_none() && out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let file = out.join("Snakefile");
    shell.write_file(&file, workflow())?;
    let all = ["--cores".to_owned(), "all".to_owned()];
    let arguments = if arguments.is_empty() { &all[..] } else { arguments };
    cmd!(
        shell,
        "{snakemake} --quiet all {arguments...} --directory {out} -s {file} --config tabla_gen={tool} root={root}"
    )
    .quiet()
    .run()?;
    let page = shell.read_file(PAGE)?;
    let (before, _) = page.split_once(MARK).ok_or("docs/tables/accuracy.txt lacks its mark")?;
    let mut sections = Vec::new();
    for (program, data) in TABLES {
        let document = shell.read_file(out.join(format!("{program}-{data}.json")))?;
        sections.push(tables::accuracy(&serde_json::from_str(&document)?)?.trim_end().to_owned() + "\n");
    }
    shell.write_file(PAGE, format!("{before}{MARK}\n{}", sections.join("\n")))?;
    println!("wrote {PAGE}");
    Ok(())
}
