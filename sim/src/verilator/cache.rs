//! Keeps what was built: one file per entry, named by a hash of everything it was made from.
//!
//!     <hash>.so = contents, sha256 of the contents
//!
//! The trailing sum tells a whole file from a damaged one (neither linker nor loader look at it). Entries are published by
//! renaming, so no reader ever sees half a file; a lock per entry keeps two processes from building the same thing twice.
//! Any entry may be deleted at any time.

use super::VerilatorError;
use arch::tools::hex;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A hash over parts; where one part ends and the next begins matters.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    hex(&sha.finalize())
}

/// The folder of finished simulators.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in this folder, which is made if need be.
    pub(super) fn open(folder: PathBuf) -> Result<Cache, VerilatorError> {
        fs::create_dir_all(&folder).map_err(failed("create", &folder))?;
        Ok(Cache { folder })
    }

    /// An empty folder on the same file system.
    pub(super) fn work_folder(&self) -> Result<tempfile::TempDir, VerilatorError> {
        tempfile::Builder::new().prefix("build-").tempdir_in(&self.folder).map_err(failed("create", &self.folder))
    }

    /// The entry `name`, built by `build` (which returns the file it made) unless it is there and whole.
    pub(super) fn entry(
        &self,
        name: &str,
        build: impl FnOnce() -> Result<Built, VerilatorError>,
    ) -> Result<PathBuf, VerilatorError> {
        let path = self.folder.join(name);
        if is_whole(&path) {
            return Ok(path);
        }
        let lock_path = self.folder.join(format!("{name}.lock"));
        let lock = File::create(&lock_path).map_err(failed("create", &lock_path))?;
        lock.lock().map_err(failed("lock", &lock_path))?;
        // Somebody else may have built it while we waited.
        if is_whole(&path) {
            return Ok(path);
        }
        let built = build()?;
        seal(&built.file)?;
        fs::rename(&built.file, &path).map_err(failed("write", &path))?;
        Ok(path)
    }
}

/// A file that a build made, in a work folder that lives until the file is published.
#[derive(Debug)]
pub(super) struct Built {
    /// The file.
    pub(super) file: PathBuf,
    /// Where it was made.
    pub(super) _folder: tempfile::TempDir,
}

/// An error of a file operation.
pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> VerilatorError {
    let path = path.to_owned();
    move |source| VerilatorError::File { action, path, source }
}

fn seal(file: &Path) -> Result<(), VerilatorError> {
    let mut contents = fs::read(file).map_err(failed("read", file))?;
    let sum = Sha256::digest(&contents);
    contents.extend_from_slice(&sum);
    fs::write(file, contents).map_err(failed("write", file))
}

fn is_whole(file: &Path) -> bool {
    fs::read(file).is_ok_and(|contents| {
        contents.split_last_chunk::<32>().is_some_and(|(contents, sum)| Sha256::digest(contents).as_slice() == sum)
    })
}
