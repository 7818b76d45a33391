//! The TOML beside a program: what training needs and the program does not say.

use crate::config::{from_toml, value_span};
use crate::failure::{Failure, Source};
use crate::library;
use arch::{Code, Diagnostic};
use serde::Deserialize;
use sim::train::settings::{Loss, Settings};
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrainFile {
    train: Settings,
}

/// The `[train]` table of `program.toml` beside `program.t`, and its text.
///
/// # Errors
/// The file is missing or wrong.
pub fn read(program: &Path) -> Result<(Settings, Source), Failure> {
    let path = program.with_extension("toml");
    if !library::exists(&path) {
        let message = format!(
            "{} is missing: training needs a [train] table that names the prediction and the loss; see programs/logistic.toml",
            path.display()
        );
        return Err(Failure::File(message));
    }
    let source = library::read(&path)?;
    let settings = parse(&source.text).map_err(|error| Failure::about(&source, vec![error]))?;
    Ok((settings, source))
}

fn parse(text: &str) -> Result<Settings, Diagnostic> {
    let settings = from_toml::<TrainFile>(text)?.train;
    // These losses compare the prediction with the number of a class, so they must know the classes.
    let (name, labels) = match settings.loss {
        Loss::Logistic => ("logistic", "{ 0 = 0, 1 = 1 }"),
        Loss::Hinge => ("hinge", "{ 0 = -1, 1 = 1 }"),
        Loss::Squared | Loss::OneHot => return Ok(settings),
    };
    if settings.labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        return Ok(settings);
    }
    let span = value_span(text, &["train", "loss"]).unwrap_or_default();
    let message = format!("the loss `{name}` needs `labels`: what stands in the target column, and its number");
    Err(Diagnostic::new(Code::Config, span, message).with_help(format!("for example labels = {labels}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the manual parses and has every key.
    #[test]
    fn the_manual_explains_every_key() {
        let manual = include_str!("../docs/command-line.md");
        let example = manual.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        from_toml::<TrainFile>(example).unwrap();
        let table: toml::Table = example.parse().unwrap();
        let unknown = toml::from_str::<TrainFile>("[train]\nzz = 1").err().unwrap();
        for key in unknown.message().split('`').skip(3).step_by(2) {
            assert!(table["train"].get(key).is_some(), "docs/command-line.md lacks `{key}`");
        }
    }

    #[test]
    fn a_loss_of_classes_needs_labels() {
        let text = |rest: &str| format!("[train]\nprediction = \"h\"\n{rest}\n");
        let error = parse(&text("loss = \"hinge\"")).unwrap_err();
        assert_eq!(error.code, Code::Config);
        assert_eq!(arch::diagnostic::line_column(&text("loss = \"hinge\""), error.span.unwrap().start), (3, 8));
        assert_eq!(error.help.as_deref(), Some("for example labels = { 0 = -1, 1 = 1 }"));
        assert!(parse(&text("loss = \"logistic\"\nlabels = {}")).is_err());
        assert!(parse(&text("loss = \"logistic\"\nlabels = { a = 0, b = 1 }")).is_ok());
        assert!(parse(&text("loss = \"squared\"")).is_ok());
    }

    #[test]
    fn every_program_of_the_library_can_train() {
        for (path, _) in library::PROGRAMS
            .iter()
            .filter(|(path, _)| Path::new(path).extension().is_some_and(|extension| extension == "t"))
        {
            read(Path::new(path)).unwrap_or_else(|failure| panic!("{path}: {failure:?}"));
        }
    }
}
