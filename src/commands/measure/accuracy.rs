//! `accuracy`: one training in words of several widths, beside the same training on real numbers, as a table.

use crate::arguments::{Accuracy, Global};
use crate::commands::train;
use crate::jobs;
use crate::output::{self, Talk};
use crate::subject;
use crate::training_talk::TrainingTalk;
use schemars::JsonSchema;
use serde::Serialize;
use sim::train::metrics::Metrics;
use workbench::documents::Document;
use workbench::report::trained;
use workbench::widths::{InWords, Parts};
use workbench::{Failure, RunOptions, Rung};

/// Training in words of several widths, beside real numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Widths {
    /// The program.
    program: String,
    /// Where the data are from.
    data: String,
    /// On real numbers.
    golden: Parts,
    /// One entry per width.
    words: Vec<InWords>,
}

/// Train in every width and compare.
pub fn run(global: &Global, options: &Accuracy, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.train.program.as_deref(), &options.train.limits().into())?;
    let training = train::prepared(project, &options.train, talk)?;
    let project = &training.project;
    let golden = training.run(&RunOptions::on(Rung::Golden), None, &TrainingTalk::new(talk, None))?;
    let reals = &golden.results[0];
    let silent = Talk::silent();
    let width = |number: usize| InWords::of(options.words[number], &training, &golden, &silent);
    // An engine is not made for several threads; the widths run one after the other unless asked otherwise.
    let rows = jobs::each(options.words.len(), global.jobs.or(Some(1)), &width);
    let rows = rows.into_iter().collect::<Result<Vec<InWords>, Failure>>()?;
    let golden = Parts { train: reals.train, test: reals.test };
    if options.page {
        return output::result(&page(&project.name(), &training.samples.origin, golden, &rows));
    }
    let text = text(golden, &rows);
    output::either(
        global.format,
        || text,
        || {
            let (program, data) = (project.name(), training.samples.origin.clone());
            Document::new(Widths { program, data, golden, words: rows })
        },
    )
}

fn loss(metrics: Option<Metrics>) -> String {
    metrics.map_or("-".to_owned(), |metrics| format!("{:.5}", metrics.loss))
}

fn score(metrics: Option<Metrics>) -> String {
    metrics.map_or("-".to_owned(), |metrics| trained::score(&metrics).1)
}

/// Cells of one line: what, train loss, test loss, train score, test score.
fn cells(name: &str, parts: Option<Parts>) -> [String; 5] {
    let (train, test) = (parts.map(|parts| parts.train), parts.and_then(|parts| parts.test));
    [name.to_owned(), loss(train), loss(test), score(train), score(test)]
}

/// Lines of a table: golden, then per width rounded and fixed.
fn table(golden: Parts, rows: &[InWords]) -> Vec<([String; 5], String)> {
    let mut lines = vec![(cells("golden", Some(golden)), String::new())];
    for row in rows {
        if let Some(reason) = &row.refused {
            lines.push((cells(&format!("{} bits", row.word), None), reason.clone()));
            continue;
        }
        let points = row.fractions.iter().map(|(name, fraction)| format!("{name} {fraction}")).collect::<Vec<_>>();
        let clipped = if row.clipped > 0 { format!("; {} results clipped", row.clipped) } else { String::new() };
        lines.push((cells(&format!("{} bits, rounded", row.word), row.rounded), String::new()));
        let remark = format!("bits after the point: {}{clipped}", points.join(", "));
        lines.push((cells(&format!("{} bits, fixed", row.word), row.fixed), remark));
    }
    lines
}

fn text(golden: Parts, rows: &[InWords]) -> String {
    let (name, _) = trained::score(&golden.train);
    let mut text = format!(
        "{:18} {:>12} {:>12} {:>14} {:>14}\n",
        "",
        "train loss",
        "test loss",
        format!("train {name}"),
        format!("test {name}")
    );
    for ([name, a, b, c, d], remark) in table(golden, rows) {
        text.push_str(format!("{name:18} {a:>12} {b:>12} {c:>14} {d:>14}   {remark}").trim_end());
        text.push('\n');
    }
    text
}

/// One section of docs/accuracy.md.
fn page(program: &str, data: &str, golden: Parts, rows: &[InWords]) -> String {
    let (name, _) = trained::score(&golden.train);
    let mut text = format!(
        "## {program} on {data}\n\n| | train loss | test loss | train {name} | test {name} | |\n|---|---|---|---|---|---|\n"
    );
    for (cells, remark) in table(golden, rows) {
        text.push_str(&format!("| {} | {remark} |\n", cells.join(" | ")));
    }
    text + "\n"
}
