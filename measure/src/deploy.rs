//! `deploy`: models on their tables, deployed on a grid without a board and on a small one, for docs/tables/deploy.txt.
//!
//! ```text
//! table ──deploy──▶ folder: score of its Verilog, calibration.csv ──▶ score --engine array of all other rows ──▶ the same?
//! ```

use crate::Outcome;
use crate::project::{Project, none};
use serde_json::Value;
use std::error::Error;
use std::fs;
use std::path::Path;
use xshell::cmd;

const PAGE: &str = "docs/tables/deploy.txt";
const MARK: &str = "deploy";
const CONFIGS: [&str; 2] = ["tiny", "ulx3s-25f"];
/// What the rows are called, a model, and its table.
const CASES: [(&str, &str, &str); 6] = [
    ("breast cancer, logistic pipeline", "tests/score/cancer.onnx", "breast_cancer"),
    ("wine, logistic pipeline", "tests/score/wine.onnx", "wine"),
    ("wine, boosted trees", "tests/score/trees.onnx", "wine"),
    ("digits, network", "examples/digits_mlp.onnx", "digits"),
    ("digits, network, int8 TFLite", "tests/score/digits_int8.tflite", "digits"),
    ("diabetes, ridge pipeline", "tests/score/diabetes.onnx", "diabetes"),
];

/// Measure, and write the page.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    none(arguments)?;
    let tool = project.tool(false)?;
    let out = project.shell.current_dir().join("out/deploy");
    let mut table =
        "| model | configuration | grid | rows | golden | Verilog | array | words compared | with words of 8 bits |\n|"
            .to_owned();
    table += &"---|".repeat(9);
    for (name, model, data) in CASES {
        for config in CONFIGS {
            let data = format!("examples/{data}.csv");
            let case = Case { project, tool: &tool, model, data: &data, config };
            table += &format!("\n| {name} | {config} | {} |", case.row(&out)?);
        }
    }
    project.put(PAGE, MARK, &(table + "\n"))
}

/// A model on a configuration.
struct Case<'a> {
    project: &'a Project,
    tool: &'a Path,
    model: &'a str,
    data: &'a str,
    config: &'a str,
}

impl Case<'_> {
    /// The document of `deploy`, whatever its exit code is.
    fn deployed(&self, out: &Path, more: &[&str]) -> Result<Value, Box<dyn Error>> {
        let Case { tool, model, data, config, .. } = self;
        let deploy = cmd!(
            self.project.shell,
            "{tool} deploy {model} --data {data} --config {config} --out {out} {more...} --force --format json --quiet"
        );
        Ok(serde_json::from_str(&deploy.quiet().ignore_status().ignore_stderr().read()?)?)
    }

    /// The cells of the table behind the configuration.
    fn row(&self, out: &Path) -> Result<String, Box<dyn Error>> {
        let narrow = self.deployed(out, &["--machine", "word=8"])?;
        let narrow = match (&narrow["bits_needed"], narrow["out"].is_string()) {
            (bits, _) if bits.is_u64() => format!("refused: {bits} bits would do"),
            (_, true) => figure(&narrow["hardware"])?,
            // Whole numbers that have no room.
            _ => {
                let said = narrow["diagnostics"].as_array().and_then(|said| said.last()?["message"].as_str());
                let bits = said.and_then(|said| said.split_once("it takes words of ")).ok_or("no reason")?.1;
                format!("refused: {bits} would do")
            }
        };
        let found = self.deployed(out, &[])?;
        if !found["out"].is_string() {
            return Err(format!("{} on {}: {found}", self.model, self.config).into());
        }
        let (golden, hardware) = (figure(&found["golden"])?, figure(&found["hardware"])?);
        let array = figure(&self.on_array(out)?)?;
        if array != hardware {
            return Err(
                format!("{} on {}: {hardware} in Verilog, {array} on the array", self.model, self.config).into()
            );
        }
        let [grid, rows, words] = [&found["grid"], &found["rows"], &found["words_compared"]]
            .map(|cell| cell.as_str().map_or(cell.to_string(), str::to_owned));
        Ok(format!("{grid} | {rows} | {golden} | {hardware} | {array} | {words} | {narrow}"))
    }

    /// The score of the rows that are not in the calibration, by the array. Its words do not depend on the grid.
    fn on_array(&self, out: &Path) -> Result<Value, Box<dyn Error>> {
        let calibration = out.join("calibration.csv");
        let mut calibrated: Vec<Vec<f64>> = numbers(&fs::read_to_string(&calibration)?);
        let text = fs::read_to_string(self.project.shell.current_dir().join(self.data))?;
        let mut rest: Vec<&str> = text.lines().take(1).collect();
        for (line, row) in text.lines().skip(1).zip(numbers(&text)) {
            let features = &row[..row.len() - 1];
            match calibrated.iter().position(|calibrated| calibrated == features) {
                Some(at) => drop(calibrated.swap_remove(at)),
                None => rest.push(line),
            }
        }
        let rows = out.join("rows.csv");
        fs::write(&rows, rest.join("\n"))?;
        let (calibration, rows) = (calibration.display().to_string(), rows.display().to_string());
        let line = [
            "score",
            self.model,
            "--data",
            &rows,
            "--config",
            "tiny",
            "--calibrate",
            &calibration,
            "--engine",
            "array",
        ];
        Ok(self.project.document(self.tool, &line)?["score"].take())
    }
}

/// Rows of numbers below the head of a table.
fn numbers(text: &str) -> Vec<Vec<f64>> {
    text.lines().skip(1).map(|line| line.split(',').filter_map(|cell| cell.parse().ok()).collect()).collect()
}

/// Accuracy or R2.
fn figure(score: &Value) -> Result<String, Box<dyn Error>> {
    let percent = score["accuracy"].as_f64().map(|accuracy| format!("{:.2} %", 100.0 * accuracy));
    percent
        .or_else(|| Some(format!("R2 {:.4}", score["r2"].as_f64()?)))
        .ok_or_else(|| format!("no score: {score}").into())
}
