//! `boards`: place and route of all boards, for docs/tables/boards.txt: logistic regression as configs/ has it, and the digits network beside it.
//!
//! ```text
//! cargo measure boards                    all boards; hours
//! cargo measure boards ulx3s-25f ...      only these; the other rows of the page stay as they are
//! cargo measure boards icebreaker/digits  only this program of a board
//! cargo measure boards --page             nothing is made, the page is written of what is there
//! SEEDS=1,2 ...                          more seeds than the first
//! KEEP=yes ...                            go on with what a run that was broken off has left
//! ```

use crate::{Outcome, Project};
use std::error::Error;
use std::fs;
use std::path::Path;
use xshell::cmd;

const BOARDS: [&str; 7] = ["ulx3s", "ulx3s-25f", "icebreaker", "tangnano9k", "tangnano20k", "gatemate", "zcu102"];

/// A board's configuration with the digits network: memories follow from the program.
fn digits(config: &str) -> String {
    let fitted = |line: &&str| {
        !["program = ", "data = ", "table_entries = "].iter().any(|key| line.starts_with(key))
            && !line.contains("_depth = ")
    };
    let lines: Vec<&str> = config.lines().filter(fitted).collect();
    let text = lines.join("\n").replace("[build]", "[build]\ndata = \"../../../examples/digits.csv\"");
    format!("program = \"../../../programs/backpropagation.t\"\n{text}\n\n[build.set]\nl2 = 129\n")
}

/// Place and route one program of a board.
fn place(project: &Project, tool: &Path, board: &str, program: &str) -> Outcome {
    let shell = &project.shell;
    let out = shell.current_dir().join("out/boards").join(board).join(program);
    if std::env::var_os("KEEP").is_none() && out.exists() {
        fs::remove_dir_all(&out)?;
    }
    shell.create_dir(&out)?;
    let mut config = shell.current_dir().join(format!("configs/{board}.toml"));
    if program == "digits" {
        let text = digits(&shell.read_file(&config)?);
        config = out.with_file_name("digits.toml");
        shell.write_file(&config, text)?;
    }
    eprintln!("== {board}, {program}");
    let seeds = std::env::var("SEEDS").unwrap_or_else(|_| "1".to_owned());
    // A workflow of one machine (docs/sweeps.md).
    cmd!(shell, "{tool} explore --config {config} --place-seeds {seeds} --workflow {out} --quiet")
        .quiet()
        .ignore_stdout()
        .run()?;
    let (snakemake, file) = (project.group("sweep")?.join("bin/snakemake"), out.join("Snakefile"));
    cmd!(shell, "{snakemake} --quiet all --cores all --directory {out} -s {file} --config tabla_gen={tool}")
        .quiet()
        .run()
        .map_err(|_| "not all of it could be made".into())
}

/// Place and route what is asked for, and write the page.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let all = || BOARDS.map(str::to_owned).to_vec();
    let wanted = match arguments {
        [page] if page == "--page" => Vec::new(),
        [] => all(),
        names => names.to_vec(),
    };
    for name in &wanted {
        let (board, only) = name.split_once('/').map_or((name.as_str(), None), |(board, only)| (board, Some(only)));
        known(board, only)?;
        let tool = project.tool(true)?;
        for program in ["logistic", "digits"] {
            if only.is_none_or(|only| only == program) {
                // What fails has a row that says so.
                if let Err(error) = place(project, &tool, board, program) {
                    eprintln!("== {board}, {program}: {error}");
                }
            }
        }
    }
    project.python(None, "boards.py", &[])
}

fn known(board: &str, program: Option<&str>) -> Result<(), Box<dyn Error>> {
    if BOARDS.contains(&board) && program.is_none_or(|program| ["logistic", "digits"].contains(&program)) {
        return Ok(());
    }
    Err(format!("there is no board `{board}` with such a program; there are {}", BOARDS.join(", ")).into())
}
