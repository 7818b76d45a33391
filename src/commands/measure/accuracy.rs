//! `accuracy`: one training in words of several widths, beside the same training on real numbers, as a table.

use crate::arguments::{Accuracy, Global};
use crate::commands::train;
use crate::jobs;
use crate::output::{self, Talk};
use crate::subject;
use crate::training_talk::TrainingTalk;
use schemars::JsonSchema;
use serde::Serialize;
use workbench::documents::Document;
use workbench::report::trained;
use workbench::widths::{self, InWords, Parts};
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
    for ([name, a, b, c, d], remark) in widths::lines(golden, rows) {
        text.push_str(format!("{name:18} {a:>12} {b:>12} {c:>14} {d:>14}   {remark}").trim_end());
        text.push('\n');
    }
    text
}
