//! Configs, boards and programs that are built in, so that the installed tool works in an empty folder.
//!
//! A path is looked up on disk first, then here; here it is relative to the root of the repository.

use crate::failure::{Failure, Source};
use crate::reading;
use std::path::{Component, Path, PathBuf};

// BOARDS, CONFIGS, PROGRAMS, KERNELS.
include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// `a/../b` to `b`, without asking the disk.
fn normalise(path: &Path) -> PathBuf {
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
    [BOARDS, CONFIGS, PROGRAMS, KERNELS]
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
        Ok(bytes) => Ok(Source { name, text: String::from_utf8_lossy(&bytes).into_owned() }),
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
    let known: Vec<&str> =
        CONFIGS.iter().filter_map(|(path, _)| path.strip_prefix("configs/")?.strip_suffix(".toml")).collect();
    Err(Failure::File(format!(
        "cannot read {}: no such file, nor one in configs/; built in are {}",
        name.display(),
        known.join(", ")
    )))
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
}
