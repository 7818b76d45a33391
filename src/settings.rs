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
