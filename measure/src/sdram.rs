//! `sdram`: trainings from a sample store in an SDRAM on simulated boards of several shapes, each word against the array, and what synthesis makes of
//! one. Needs scripts/setup --sdram; takes a quarter of an hour. One small grid is a test of CI (tests/sdram.rs).

#![allow(clippy::print_stdout, reason = "what was measured is what it is run for")]

use crate::project::none;
use crate::{Outcome, Project};
use std::path::Path;
use xshell::cmd;

/// What a row shows; PUs, PEs of each, bits of a word, words of a beat; MHz; further arguments.
type Shape = (&'static str, [u32; 4], u32, &'static [&'static str]);

const SHAPES: [Shape; 7] = [
    ("2 x 4 PEs, rows of 8 words", [2, 4, 16, 8], 100, &[]),
    ("2 x 4 PEs, batch of 4", [2, 4, 16, 8], 100, &["--batch", "4"]),
    ("2 x 3 PEs, rows of 6 words, 2 to spare", [2, 3, 16, 6], 100, &[]),
    ("1 x 2 PEs, rows of 24 bits in two words", [1, 2, 24, 1], 100, &[]),
    ("1 x 4 PEs, rows of 8 bits, half a word", [1, 4, 8, 1], 100, &[]),
    ("110 MHz, a cycle more to the first word", [2, 4, 16, 8], 110, &[]),
    ("75 MHz", [2, 4, 16, 8], 75, &[]),
];

const TRAINING: [&str; 3] = ["programs/logistic.t", "--data", "examples/breast_cancer.csv"];

fn config([pus, columns, word, lanes]: [u32; 4], megahertz: u32) -> String {
    format!(
        "[machine]\npus = {pus}\npes_per_pu = {columns}\nword = {word}\nstream_words = {lanes}\n\n\
         [board]\nname = \"ulx3s-85f\"\nstore = \"sdram\"\nclock_mhz = {megahertz}\n"
    )
}

/// A row of the table; no word may differ.
fn train(project: &Project, tool: &Path, file: &Path, (name, _, _, more): Shape) -> Outcome {
    let file = file.display().to_string();
    let run = ["--config", &file, "run"];
    let settings = ["--limit", "100", "--epochs", "5", "--order", "store", "--port", "simulated"];
    let system = project.document(tool, &[&run[..], &TRAINING, &settings, more].concat())?["system"].take();
    let figure = |key: &str| system[key].as_f64().ok_or_else(|| format!("{name}: no {key}"));
    let compared = figure("words_compared")?;
    if figure("words_differing")? != 0.0 || compared == 0.0 || figure("upload_seconds")? == 0.0 {
        return Err(format!("{name}: {system}").into());
    }
    let (rate, bound) = (figure("samples_per_second")?, system["bound_by"].as_str().unwrap_or("-"));
    println!("{name:44} {compared:5} words alike; {rate:9.0} samples/s, bound by the {bound}");
    Ok(())
}

/// All shapes, then a synthesis.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let first = arguments == ["--first"];
    none(&arguments[usize::from(first)..])?;
    project.group("sdram")?;
    let (shell, tool) = (&project.shell, project.tool(false)?);
    let work = shell.create_temp_dir()?;
    let file = work.path().join("config.toml");
    for shape in SHAPES.into_iter().take(if first { 1 } else { SHAPES.len() }) {
        shell.write_file(&file, config(shape.1, shape.2))?;
        train(project, &tool, &file, shape)?;
    }
    if first {
        return Ok(());
    }
    shell.write_file(&file, config(SHAPES[0].1, SHAPES[0].2))?;
    let out = work.path().join("out");
    let said = cmd!(shell, "{tool} --config {file} synth {TRAINING...} --out {out}").quiet().read()?;
    for line in said.lines().filter(|line| ["LUT", "FF", "DSP", "BRAM"].iter().any(|cell| line.starts_with(cell))) {
        println!("{line}");
    }
    Ok(())
}
