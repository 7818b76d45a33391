//! `score`: a function, such as an imported model, on the rows of a table.

pub mod deploy;

use crate::arguments::{Format, Global, Score, ScoredRows};
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use workbench::documents::Document;
use workbench::functions::score::{self, Rows, Scored};
use workbench::records::calibration::Origin;
use workbench::{Failure, Project, documents};

impl ScoredRows {
    fn project(&self, global: &Global) -> Result<Project, Failure> {
        subject::project(global, Some(&self.program), &self.entry)
    }

    fn rows(&self) -> Result<Rows<'_>, Failure> {
        let reading = self.file.reading(&self.entry.limits);
        Rows::read(&self.data, &reading, self.selection.choices.clone())
    }
}

/// Score, print.
pub fn run(global: &Global, options: &Score, talk: &Talk) -> Result<(), Failure> {
    let mut project = options.scored.project(global)?;
    project.calibrate = options.calibrate.clone().map(Origin::File);
    let rows = options.scored.rows()?;
    let scored = Scored::new(&project, &rows, options.engine, talk)?;
    let denied = scored.verdict.as_ref().filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict);
    match global.format {
        Format::Json => {
            let warnings = documents::messages(&project.source, &scored.warnings);
            output::json(&Document::with(scored, warnings).failed(denied.as_ref()))?;
        }
        Format::Text => {
            render::warnings(&project.source, &scored.warnings, talk);
            output::result(&text(&scored))?;
        }
    }
    denied.map_or(Ok(()), Err)
}

fn text(scored: &Scored) -> String {
    let Scored { engine, result, rows, classes, score, golden, verdict, .. } = scored;
    let mut text = format!("`{result}` of {rows} rows\n") + &figures(engine, score, golden);
    for (class, row) in classes.iter().zip(score.confusion.iter().flatten()) {
        text += &format!("{class}: taken for {row:?}\n");
    }
    verdict.as_ref().map_or(text.clone(), |verdict| format!("{text}{verdict}\n"))
}

/// The figures of an engine beside those of golden.
fn figures(engine: &str, score: &score::Score, golden: &score::Score) -> String {
    let figures = [
        ("accuracy", score.accuracy, golden.accuracy),
        ("F1", score.f1, golden.f1),
        ("AUC", score.auc, golden.auc),
        ("R2", score.r2, golden.r2),
        ("mean absolute error", score.mae, golden.mae),
    ];
    let mut text = String::new();
    for (name, own, golden) in figures {
        if let (Some(own), Some(golden)) = (own, golden) {
            text += &format!("{name}: {engine} {own:.4}, golden {golden:.4}\n");
        }
    }
    text
}
