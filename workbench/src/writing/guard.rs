//! Nothing is lost: an output replaces neither an input nor another output, and in a folder only files that this tool wrote.
//!
//! | output | is refused if |
//! |---|---|
//! | a file | the command reads it, or writes it under two names |
//! | a file in a folder | the command reads it, or it is there and differs from its line in `SHA256SUMS` |
//! | a folder for tools | it holds something, and no `SHA256SUMS` |

use super::folder::{SUMS, read_sums};
use crate::failure::Failure;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Most files that a message names.
const NAMED: usize = 3;

/// A path and the option that gave it.
#[derive(Debug, Clone)]
struct Place {
    said: String,
    path: PathBuf,
}

/// What a command reads and writes.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    reads: Vec<Place>,
    writes: Vec<Place>,
    force: bool,
}

impl Guard {
    /// Nothing read or written yet; with `force` only two outputs of one name are refused.
    pub fn new(force: bool) -> Guard {
        Guard { force, ..Guard::default() }
    }

    /// A file that is read; `said` is how the user calls it.
    pub fn reads(&mut self, said: impl Into<String>, path: &Path) {
        self.reads.push(Place { said: said.into(), path: resolved(path) });
    }

    /// A file that is written.
    pub fn writes(&mut self, said: impl Into<String>, path: &Path) {
        self.writes.push(Place { said: said.into(), path: resolved(path) });
    }

    /// The same with more files that are read.
    #[must_use]
    pub fn reading(&self, files: &[PathBuf]) -> Guard {
        let mut guard = self.clone();
        for path in files {
            guard.reads(path.display().to_string(), path);
        }
        guard
    }

    /// Compare all outputs with all inputs and with each other.
    ///
    /// # Errors
    /// Two outputs are one file; an output is an input, without force.
    pub fn check(&self) -> Result<(), Failure> {
        for (number, Place { said, path }) in self.writes.iter().enumerate() {
            if let Some(other) = self.writes[..number].iter().find(|other| other.path == *path) {
                return Err(Failure::Usage(format!("{} and {said} are the same file: name two", other.said)));
            }
            self.spares_input(said, path)?;
        }
        Ok(())
    }

    fn spares_input(&self, said: &str, path: &Path) -> Result<(), Failure> {
        match self.reads.iter().find(|read| read.path == *path) {
            Some(read) if !self.force => {
                let read = &read.said;
                Err(Failure::Usage(format!("{said} would replace an input, {read}: name another file, or add --force")))
            }
            _ => Ok(()),
        }
    }

    /// Check a folder before files are written there: `written` with their contents where these are known, `removed` those that go.
    ///
    /// # Errors
    /// One of them is an input, or is not as this tool wrote it, without force.
    pub fn check_folder<'a>(
        &self,
        folder: &Path,
        written: impl IntoIterator<Item = (&'a Path, Option<&'a [u8]>)>,
        removed: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Failure> {
        if self.force {
            return Ok(());
        }
        let listed = listed(folder);
        let gone = removed.into_iter().map(|path| (path, None));
        let mut others = Vec::new();
        for (path, content) in written.into_iter().chain(gone) {
            let place = folder.join(path);
            let Ok(there) = fs::read(&place) else { continue };
            self.spares_input(&format!("{} in the output folder", path.display()), &resolved(&place))?;
            let ours = listed.get(path).is_some_and(|sum| *sum == arch::tools::hex(&Sha256::digest(&there)));
            if !ours && content != Some(&there[..]) {
                others.push(path.display().to_string());
            }
        }
        if others.is_empty() { Ok(()) } else { Err(refused(folder, &others)) }
    }

    /// Check a folder that tools are going to fill: nobody else has put a file there for which `taken` holds.
    ///
    /// # Errors
    /// Somebody has, without force.
    pub fn check_work(&self, folder: &Path, taken: impl Fn(&str) -> bool) -> Result<(), Failure> {
        if self.force || folder.join(SUMS).is_file() {
            return Ok(());
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut others: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        others.retain(|name| taken(name));
        others.sort();
        if others.is_empty() { Ok(()) } else { Err(refused(folder, &others)) }
    }
}

fn refused(folder: &Path, others: &[String]) -> Failure {
    let more = others.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = others[..others.len().min(NAMED)].join(", ");
    Failure::File(format!(
        "{}: not written by tabla-gen, or changed since: {named}{more}; nothing was written: name another folder, or add --force",
        folder.display()
    ))
}

/// The hashes that an earlier run has left in a folder.
fn listed(folder: &Path) -> BTreeMap<PathBuf, String> {
    read_sums(&fs::read_to_string(folder.join(SUMS)).unwrap_or_default())
}

/// A path without links; of a file that is not there, its folder without links.
fn resolved(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = fs::canonicalize(super::folder_of(path)).ok()?;
        Some(folder.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| crate::library::normalise(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_under_two_names_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("d.csv"), "a").unwrap();
        fs::create_dir(at("sub")).unwrap();
        std::os::unix::fs::symlink("d.csv", at("link")).unwrap();
        std::os::unix::fs::symlink("later.json", at("dangling")).unwrap();
        let refused = |read: &str, written: &[&str], force: bool| {
            let mut guard = Guard::new(force);
            guard.reads("--data", &at(read));
            for path in written {
                guard.writes(format!("--to {path}"), &at(path));
            }
            guard.check().is_err()
        };
        for same in ["d.csv", "./d.csv", "sub/../d.csv", "link"] {
            assert!(refused("d.csv", &[same], false) && refused(same, &["d.csv"], false), "{same}");
            assert!(!refused("d.csv", &[same], true), "{same}");
        }
        assert!(!refused("d.csv", &["sub/d.csv", "new"], false));
        // What is not there yet has one name, too, and force does not help.
        assert!(refused("d.csv", &["new", "sub/../new"], true));
        assert!(refused("d.csv", &["none/new", "none/../none/new"], true));
    }
}
