//! Keeps what was built: one file per entry, named by a hash of everything it was made from.
//!
//!     <hash>.so = contents, sha256 of the contents
//!
//! The trailing sum tells a whole file from a damaged one (neither linker nor loader look at it). Entries are published by
//! renaming, so no reader ever sees half a file; a lock per entry keeps two processes from building the same thing twice.
//! Any entry may be deleted at any time. Entries are loaded into the process, so the folder and its files must be this user's alone; links are
//! not followed. What processes that are gone have left is removed, and the entries that were used last are kept, up to [`MOST_BYTES`].

use super::VerilatorError;
use arch::private;
use arch::tools::{Toolbox, hex};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes of entries that are kept.
pub const MOST_BYTES: u64 = 4 << 30;

/// How the names of work folders begin; the number of their process follows.
const WORK: &str = "build-";

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
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in this folder, which is made if need be.
    ///
    /// # Errors
    /// It cannot be made, or others may write there.
    pub fn open(folder: PathBuf) -> Result<Cache, VerilatorError> {
        private::folder(&folder).map_err(failed("use", &folder))?;
        let cache = Cache { folder };
        cache.remove_interrupted();
        Ok(cache)
    }

    /// The cache of simulators in a folder of tools.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn of(toolbox: &Toolbox) -> Result<Cache, VerilatorError> {
        Cache::open(toolbox.cache().join("simulators"))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Number and bytes of its entries.
    pub fn size(&self) -> (usize, u64) {
        let entries = self.entries();
        (entries.len(), entries.iter().map(|entry| entry.bytes).sum())
    }

    /// Remove the entries that were used longest ago, until no more than so many bytes are left.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn prune(&self, most: u64) -> Result<(), VerilatorError> {
        let mut entries = self.entries();
        entries.sort_by_key(|entry| (entry.used, entry.path.clone()));
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if bytes <= most {
                break;
            }
            fs::remove_file(&entry.path).map_err(failed("remove", &entry.path))?;
            bytes -= entry.bytes;
        }
        Ok(())
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |found: fs::DirEntry| {
            let metadata = found.metadata().ok().filter(fs::Metadata::is_file)?;
            let (path, bytes) = (found.path(), metadata.len());
            let is_entry = path.extension().is_some_and(|extension| extension != "lock");
            is_entry.then_some(Entry { path, bytes, used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH) })
        };
        fs::read_dir(&self.folder).into_iter().flatten().flatten().filter_map(entry).collect()
    }

    /// Remove the work folders of processes that are gone.
    fn remove_interrupted(&self) {
        for found in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = found.file_name().to_string_lossy().into_owned();
            let process = name.strip_prefix(WORK).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
                // Another process may be faster.
                let _ = fs::remove_dir_all(found.path());
            }
        }
    }

    /// An empty folder on the same file system.
    pub(super) fn work_folder(&self) -> Result<tempfile::TempDir, VerilatorError> {
        let prefix = format!("{WORK}{}-", std::process::id());
        tempfile::Builder::new().prefix(&prefix).tempdir_in(&self.folder).map_err(failed("create", &self.folder))
    }

    /// The entry `name`, built by `build` (which returns the file it made) unless it is there and whole.
    pub(super) fn entry(
        &self,
        name: &str,
        build: impl FnOnce() -> Result<Built, VerilatorError>,
    ) -> Result<PathBuf, VerilatorError> {
        let path = self.folder.join(name);
        if is_whole(&path) {
            used(&path);
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
        // The newest entry stays, however large it is.
        self.prune(MOST_BYTES)?;
        fs::rename(&built.file, &path).map_err(failed("write", &path))?;
        Ok(path)
    }
}

/// A file of the cache.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
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
    fs::write(file, contents).map_err(failed("write", file))?;
    fs::set_permissions(file, Permissions::from_mode(0o600)).map_err(failed("write", file))
}

/// The time of an entry is that of its last use.
fn used(file: &Path) {
    // An entry of a folder that cannot be written is as good.
    let _ = File::open(file).and_then(|file| file.set_modified(SystemTime::now()));
}

fn is_whole(file: &Path) -> bool {
    private::is_file(file)
        && fs::read(file).is_ok_and(|contents| {
            contents.split_last_chunk::<32>().is_some_and(|(contents, sum)| Sha256::digest(contents).as_slice() == sum)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("simulators")).unwrap();
        (folder, cache)
    }

    fn built(cache: &Cache, content: &[u8]) -> Result<Built, VerilatorError> {
        let folder = cache.work_folder()?;
        let file = folder.path().join("made");
        fs::write(&file, content).unwrap();
        Ok(Built { file, _folder: folder })
    }

    #[test]
    fn what_is_damaged_or_not_ours_is_built_again() {
        let (folder, cache) = cache();
        let mut times = 0;
        let mut entry = || {
            cache.entry("a.so", || {
                times += 1;
                built(&cache, b"library")
            })
        };
        let path = entry().unwrap();
        assert_eq!(entry().unwrap(), path);
        fs::write(&path, b"other library, with no sum of its own").unwrap();
        entry().unwrap();
        // Others may write it: what it holds may be anything.
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        entry().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        entry().unwrap();
        assert!(!path.is_symlink());
        assert_eq!(times, 4);
    }

    #[test]
    fn a_folder_of_others_is_refused() {
        let (folder, cache) = cache();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(cache.folder(), &link).unwrap();
        assert!(Cache::open(link).unwrap_err().to_string().contains("a link is not followed"));
    }

    #[test]
    fn the_oldest_go_and_interrupted_builds_too() {
        let (_folder, cache) = cache();
        for (age, name) in ["c.so", "a.so", "b.o"].into_iter().enumerate() {
            let path = cache.entry(name, || built(&cache, &[0; 68])).unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(60 * age as u64);
            File::open(path).unwrap().set_modified(time).unwrap();
        }
        assert_eq!(cache.size(), (3, 300), "68 bytes and a sum of 32");
        cache.prune(200).unwrap();
        let mut names: Vec<_> =
            cache.entries().into_iter().map(|entry| entry.path.file_name().unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(names, ["a.so", "c.so"]);
        let (dead, alive) = (cache.folder().join(format!("{WORK}{}-x", u32::MAX)), cache.work_folder().unwrap());
        fs::create_dir(&dead).unwrap();
        Cache::open(cache.folder().to_owned()).unwrap();
        assert!(!dead.exists() && alive.path().exists());
    }
}
