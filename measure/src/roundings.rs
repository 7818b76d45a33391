//! `roundings`: trainings in words whose updates are rounded to nearest, by chance, and with a master, beside golden, for docs/tables/roundings.txt.
//!
//! ```text
//! cargo measure roundings              some minutes
//! cargo measure roundings digits       data sets whose names have this in them, on the screen only
//! ```

use crate::{Outcome, Project};
use std::error::Error;
use std::fs;
use workbench::samples::Choice;
use workbench::{Choices, Failure, RunOptions, Rung, Samples, Training};

const PAGE: &str = "docs/tables/roundings.txt";
/// Behind it the page is written anew.
const MARK: &str = "<!-- tables -->\n";
/// Program and data of each case.
const CASES: [(&str, &str); 5] = [
    ("logistic", "breast_cancer"),
    ("softmax", "wine"),
    ("softmax", "iris"),
    ("softmax", "digits"),
    ("linear", "diabetes"),
];
const RATES: [&str; 4] = ["1e-1", "1e-2", "1e-3", "1e-4"];
/// Bits of words, and of their master.
const WIDTHS: [(u32, u32); 3] = [(8, 14), (12, 20), (16, 24)];
const EPOCHS: usize = 10;

/// Measure, and write the page.
#[allow(clippy::print_stdout, reason = "says what was measured")]
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let root = project.shell.current_dir();
    let mut rows = Vec::new();
    for (program, data) in CASES.into_iter().filter(|(_, data)| arguments.iter().all(|part| data.contains(part))) {
        let read = |path: String| fs::read_to_string(root.join(path));
        let text = read(format!("programs/{program}.t"))?;
        let table = read(format!("programs/{program}.toml"))?;
        let rows_of_data = read(format!("examples/{data}.csv"))?;
        for rate in RATES {
            let case = Case { program, text: &text, table: &table, data: &rows_of_data, rate };
            let row = case.row()?;
            println!("{data} {rate} {}", row.join(" "));
            rows.push(format!("| {data} | {rate} | {} |\n", row.join(" | ")));
        }
    }
    if !arguments.is_empty() {
        return Ok(());
    }
    let widths = ["8", "12", "16"].map(|bits| format!("{bits} bits"));
    let roundings = ["nearest", "stochastic", "master"];
    let columns = roundings.iter().flat_map(|rounding| widths.iter().map(move |width| format!("{width}, {rounding}")));
    let columns: Vec<String> = ["data", "rate", "golden"].map(str::to_owned).into_iter().chain(columns).collect();
    let head = format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    let page = project.shell.read_file(PAGE)?;
    let (before, _) = page.split_once(MARK).ok_or("docs/tables/roundings.txt lacks its mark")?;
    project.shell.write_file(PAGE, format!("{before}{MARK}\n{head}{}", rows.concat()))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// A training at a rate.
struct Case<'a> {
    program: &'a str,
    text: &'a str,
    table: &'a str,
    data: &'a str,
    rate: &'a str,
}

impl Case<'_> {
    /// The figures of golden and of each column.
    fn row(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let mut row = vec![self.figure(Rung::Golden, 16, "")?];
        for rounding in ["", "rounding = 'stochastic'", "master"] {
            for (word, master) in WIDTHS {
                let line = if rounding == "master" { format!("master = {master}") } else { rounding.to_owned() };
                row.push(self.figure(Rung::Fixed, word, &line)?);
            }
        }
        Ok(row)
    }

    /// Loss or R2 on the training part.
    fn figure(&self, rung: Rung, word: u32, line: &str) -> Result<String, Box<dyn Error>> {
        let own = |line: &&str| !line.starts_with("mu =") && !line.starts_with("epochs =");
        let table: Vec<&str> = self.table.lines().filter(own).collect();
        let added = format!("[train]\nmu = {}\nepochs = {EPOCHS}\n{line}", self.rate);
        let table = table.join("\n").replacen("[train]", &added, 1);
        let config = format!("[machine]\npus = 2\npes_per_pu = 4\nword = {word}\n");
        let name = format!("{}.t", self.program);
        let project = workbench::Project::in_memory(&name, self.text, Some(&table), Some(&config))?;
        let samples = Samples::read(&project, &Choices::default(), Choice::of_text("rows.csv", self.data)?, &())?;
        let training = Training::new(project, samples)?;
        let outcome = training.run(&RunOptions { tries_wider: false, ..RunOptions::on(rung) }, None, &());
        match outcome {
            Ok(outcome) => {
                let found = outcome.last().train;
                Ok(format!("{:.4}", found.r2.unwrap_or(found.loss)))
            }
            // At this rate it diverges.
            Err(Failure::Diagnostics { .. } | Failure::Usage(_)) => Ok("-".to_owned()),
            Err(other) => Err(other.into()),
        }
    }
}
