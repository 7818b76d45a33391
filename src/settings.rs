//! The TOML beside a program: what training needs and the program does not say.

use crate::config::from_toml;
use crate::failure::{Failure, Source};
use crate::library;
use serde::Deserialize;
use sim::train::settings::Settings;
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
    let file: TrainFile = from_toml(&source.text).map_err(|error| Failure::about(&source, vec![error]))?;
    Ok((file.train, source))
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
    fn every_program_of_the_library_can_train() {
        for (path, _) in library::PROGRAMS
            .iter()
            .filter(|(path, _)| Path::new(path).extension().is_some_and(|extension| extension == "t"))
        {
            read(Path::new(path)).unwrap_or_else(|failure| panic!("{path}: {failure:?}"));
        }
    }
}
