//! Files of results: whole or not at all.
//!
//! | what | appears |
//! |---|---|
//! | [`Files::publish`] | a folder of results, swapped as a whole, with the hashes of its files |
//! | [`Files::write`] | files in a folder that others write to, too |
//! | [`write_file`], [`Pending`] | one file |
//!
//! [`guard`] says which of them may be written.

pub mod folder;
pub mod guard;

use crate::failure::Failure;
use guard::Guard;
use serde::Serialize;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A JSON document as the text of a file.
///
/// # Panics
/// Never: documents are names, numbers and lists of them.
pub fn pretty(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("documents are names, numbers and lists of them") + "\n"
}

/// Files of a folder that appear together.
#[derive(Debug, Default)]
pub struct Files {
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Files {
    /// Nothing to write yet.
    pub fn new() -> Files {
        Files::default()
    }

    /// Add a file; `path` is relative to the folder.
    pub fn add(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        self.files.push((path.into(), content.into()));
    }

    /// Names of the files, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(path, _)| path.as_path())
    }

    /// The text of a file, if there is one with this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        let (_, content) = self.files.iter().find(|(path, _)| path == Path::new(name))?;
        std::str::from_utf8(content).ok()
    }

    /// Write all into `folder`, which is made if it does not exist: beside their places first, then renamed.
    ///
    /// # Errors
    /// The guard refuses a file that is there; something cannot be written.
    pub fn write(&self, folder: &Path, guard: &Guard) -> Result<(), Failure> {
        guard.check_folder(folder, self.contents(), [])?;
        self.put(folder)
    }

    fn contents(&self) -> impl Iterator<Item = (&Path, Option<&[u8]>)> {
        self.files.iter().map(|(path, content)| (path.as_path(), Some(content.as_slice())))
    }

    fn put(&self, folder: &Path) -> Result<(), Failure> {
        let cannot = |path: &Path, error: &std::io::Error| Failure::file("write", path, error);
        std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
        let beside = tempfile::Builder::new().prefix(TEMPORARY).tempdir_in(folder);
        let beside = beside.map_err(|error| cannot(folder, &error))?;
        let _leftover = Leftover::new(beside.path());
        for (number, (path, content)) in self.files.iter().enumerate() {
            let temporary = beside.path().join(number.to_string());
            std::fs::write(&temporary, content).map_err(|error| cannot(&folder.join(path), &error))?;
        }
        // Whoever is interrupted from here on leaves no hashes.
        let _ = std::fs::remove_file(folder.join(folder::SUMS));
        for (number, (path, _)) in self.files.iter().enumerate() {
            let place = folder.join(path);
            let parent = place.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent).map_err(|error| cannot(parent, &error))?;
            std::fs::rename(beside.path().join(number.to_string()), &place).map_err(|error| cannot(&place, &error))?;
        }
        Ok(())
    }
}

/// Refuse a place where [`write_file`] would fail, before the work that is to be written there.
///
/// # Errors
/// Nothing can be written there.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    Pending::new(path).map(drop)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Write one file whole. A link is followed; what is not a file (a device, a folder) is refused, it would be replaced.
///
/// # Errors
/// It cannot be written.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut pending = Pending::new(path)?;
    pending.file().write_all(content).map_err(|error| Failure::file("write", path, &error))?;
    pending.publish()
}

/// A file that is being written; it appears in its place when it is [published](Pending::publish), whole, or never.
pub struct Pending {
    temporary: tempfile::NamedTempFile,
    /// The place as the user calls it.
    named: PathBuf,
    place: PathBuf,
    _leftover: Leftover,
}

impl Pending {
    /// Begin a file beside its place.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn new(path: &Path) -> Result<Pending, Failure> {
        let cannot = |error: std::io::Error| Failure::file("write", path, &error);
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if std::fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Failure::File(format!("cannot write {}: it exists and is not a file", path.display())));
        }
        let folder = folder_of(&place);
        std::fs::create_dir_all(folder).map_err(cannot)?;
        // As any new file: what the user's mask leaves of reading and writing for all.
        let permissions = std::fs::Permissions::from_mode(0o666);
        let mut temporary = tempfile::Builder::new();
        let temporary = temporary.prefix(TEMPORARY).permissions(permissions).tempfile_in(folder).map_err(cannot)?;
        let leftover = Leftover::new(temporary.path());
        Ok(Pending { temporary, named: path.to_owned(), place, _leftover: leftover })
    }

    /// What to write to.
    pub fn file(&mut self) -> &mut std::fs::File {
        self.temporary.as_file_mut()
    }

    /// Put it in its place.
    ///
    /// # Errors
    /// The place cannot be written.
    pub fn publish(self) -> Result<(), Failure> {
        let named = self.named;
        self.temporary.persist(self.place).map_err(|error| Failure::file("write", &named, &error.error))?;
        Ok(())
    }
}

/// How the names of unfinished files and folders begin.
const TEMPORARY: &str = ".tabla-gen-";

/// Unfinished files and folders of this process.
static LEFTOVERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// While this lives, an end of the process by Ctrl-C removes the file or folder.
struct Leftover(PathBuf);

impl Leftover {
    fn new(path: &Path) -> Leftover {
        LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        Leftover(path.to_owned())
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Remove what this process has begun to write. The lock is kept: nothing new is begun after this.
pub fn remove_leftovers() {
    let leftovers = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
    for path in leftovers.iter() {
        // What is gone already is no matter.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    std::mem::forget(leftovers);
}
