//! Configs, boards, programs and tables that are built in, so that the installed tool works in an empty folder.
//!
//! A path is looked up on disk first, then here; here it is relative to the root of the repository. A name without folder and extension
//! (`logistic`, `breast_cancer`) is that of what is shipped.

use crate::failure::{Failure, Source};
use crate::reading;
use compiler::language::{Language, nearest};
use sim::data::file::Limits;
use std::path::{Component, Path, PathBuf};

// BOARDS, CONFIGS, PROGRAMS, KERNELS, TABLES.
include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// `a/../b` to `b`, without asking the disk.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.iter().collect()
}

/// Whether two paths name the same file.
pub fn same(a: &Path, b: &Path) -> bool {
    normalise(a) == normalise(b)
}

fn built_in(path: &Path) -> Option<&'static str> {
    let path = normalise(path);
    [BOARDS, CONFIGS, PROGRAMS, KERNELS, TABLES]
        .into_iter()
        .flatten()
        .find(|(name, _)| Path::new(name) == path)
        .map(|(_, text)| *text)
}

/// Read a text, from disk or built in.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> Result<Source, Failure> {
    let name = path.display().to_string();
    match reading::bytes(path, reading::TEXT) {
        // Bytes that are not UTF-8 become a character that no language accepts outside comments.
        Ok(bytes) => Ok(Source { name, text: reading::with_line_ends(String::from_utf8_lossy(&bytes).into_owned()) }),
        Err(failure @ Failure::File(_)) => match built_in(path) {
            Some(text) => Ok(Source { name, text: text.to_owned() }),
            None => Err(failure),
        },
        Err(failure) => Err(failure),
    }
}

/// Whether [`read`] would find something.
pub fn exists(path: &Path) -> bool {
    path.is_file() || built_in(path).is_some()
}

/// Where the config called `name` is: there, in `configs/`, or built in; with or without `.toml`.
///
/// # Errors
/// None of these exists.
pub fn find_config(name: &Path) -> Result<PathBuf, Failure> {
    let folder = Path::new("configs");
    let with_extension = name.with_extension("toml");
    let candidates = [name.to_owned(), folder.join(name), with_extension.clone(), folder.join(with_extension)];
    if let Some(found) =
        candidates.iter().find(|path| path.is_file()).or_else(|| candidates.iter().find(|path| exists(path)))
    {
        return Ok(found.clone());
    }
    let known = configs();
    Err(Failure::File(format!(
        "cannot read {}: no such file, nor one in configs/; built in are {}",
        name.display(),
        known.join(", ")
    )))
}

/// Whether this may be the name of something that is shipped: it has no folder and no extension.
fn is_bare(name: &Path) -> bool {
    name.extension().is_none() && name.components().count() == 1
}

/// Names of what is shipped in `folder` with one of these extensions.
fn shipped(list: &'static [(&str, &str)], folder: &str, extensions: &[&str]) -> Vec<&'static str> {
    let name = |path: &'static str| path.strip_prefix(folder)?.strip_prefix('/')?.rsplit_once('.');
    list.iter()
        .filter_map(|(path, _)| name(path))
        .filter(|(_, extension)| extensions.contains(extension))
        .map(|(name, _)| name)
        .collect()
}

/// Names of the configurations that are built in.
pub fn configs() -> Vec<&'static str> {
    shipped(CONFIGS, "configs", &["toml"])
}

/// Where the program called `name` is: there, or among the shipped ones (`logistic`).
///
/// # Errors
/// It looks like the name of a shipped program, and is none.
pub fn find_program(name: &Path) -> Result<PathBuf, Failure> {
    let languages: Vec<&str> = Language::ALL.iter().map(|language| language.extension()).collect();
    if !is_bare(name) || name.is_file() {
        return Ok(name.to_owned());
    }
    let candidates = || languages.iter().map(|extension| Path::new("programs").join(name).with_extension(extension));
    candidates().find(|path| path.is_file()).or_else(|| candidates().find(|path| exists(path))).ok_or_else(|| {
        let known = shipped(PROGRAMS, "programs", &languages);
        let near = nearest(&name.to_string_lossy(), known.iter().copied());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let known = known.join(", ");
        Failure::File(format!("cannot read {}: no such file; shipped programs are {known}{near}", name.display()))
    })
}

/// The text of a shipped file.
///
/// # Panics
/// There is none of this name.
pub fn shipped_text(path: &str) -> &'static str {
    built_in(Path::new(path)).expect("a file of the repository that is built in")
}

/// The bytes of a table: of a file, or of a shipped one (`breast_cancer`).
///
/// # Errors
/// It cannot be read.
pub fn table(path: &Path, limits: Limits) -> Result<Vec<u8>, Failure> {
    let failure = match reading::data(path, limits) {
        Err(failure @ Failure::File(_)) => failure,
        other => return other,
    };
    if path.exists() {
        return Err(failure);
    }
    let shown = Path::new("examples").join(path).with_extension("csv");
    if let Some(text) = built_in(path).or_else(|| is_bare(path).then(|| built_in(&shown)).flatten()) {
        return Ok(text.as_bytes().to_owned());
    }
    match (failure, is_bare(path)) {
        (Failure::File(message), true) => {
            let known = shipped(TABLES, "examples", &["csv"]).join(", ");
            Err(Failure::File(format!("{message}; shipped tables are {known}")))
        }
        (failure, _) => Err(failure),
    }
}

/// The language of a program: the one that is asked for, or that of its extension.
pub(crate) fn language_of(path: &Path, given: Option<Language>) -> Result<Language, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    given.or_else(|| Language::of_extension(extension)).ok_or_else(|| {
        let known: Vec<String> = Language::ALL.iter().map(|l| format!(".{} ({})", l.extension(), l.name())).collect();
        let what = path.display();
        Failure::Usage(format!("`{what}` is not a program: its name must end in {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised() {
        assert_eq!(normalise(Path::new("configs/../programs/./svm.t")), Path::new("programs/svm.t"));
        assert_eq!(normalise(Path::new("../a")), Path::new("../a"));
    }

    #[test]
    fn the_library_is_found() {
        assert_eq!(find_config(Path::new("zcu102")).unwrap(), Path::new("configs/zcu102.toml"));
        assert!(read(Path::new("configs/../programs/svm.t")).unwrap().text.contains("model w"));
        assert!(find_config(Path::new("nowhere.toml")).is_err());
    }

    #[test]
    fn what_is_shipped_has_a_name() {
        assert_eq!(find_program(Path::new("logistic")).unwrap(), Path::new("programs/logistic.t"));
        assert_eq!(find_program(Path::new("autoencoder")).unwrap(), Path::new("programs/autoencoder.tc"));
        assert_eq!(find_program(Path::new("mine/logistic")).unwrap(), Path::new("mine/logistic"));
        assert!(table(Path::new("iris"), Limits::default()).unwrap().starts_with(b"sepal"));
        let said = |failure: Failure| matches!(failure, Failure::File(message) if message.contains("shipped"));
        assert!(said(find_program(Path::new("logistics")).unwrap_err()));
        assert!(said(table(Path::new("irises"), Limits::default()).unwrap_err()));
        assert!(!said(table(Path::new("irises.csv"), Limits::default()).unwrap_err()));
    }
}
