//! A folder of results that is swapped as a whole, with the hashes of its files in `SHA256SUMS`.
//!
//! ```text
//! out/ (old)              .tabla-gen-out-PID/ (new)
//!   a, b, SHA256SUMS        a', c', SHA256SUMS'  +  links to what others put into out/
//!     └───────── one rename exchanges both ─────────┘
//! ```
//!
//! A process that is killed leaves the old folder or the new one, and beside it what the next one removes. Where no exchange is
//! possible the files go to their places one by one, `SHA256SUMS` first away and last back, so that a mixture is told: in the working
//! folder and those above it, which others stand in; in folders with much that is not ours; on file systems without exchange.

use super::guard::Guard;
use super::{Files, LEFTOVERS, Leftover, TEMPORARY, folder_of};
use crate::failure::Failure;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// The hashes of a folder, as `sha256sum --check` reads them.
pub const SUMS: &str = "SHA256SUMS";

/// Most files of others that a folder may have and still be swapped.
const MOST_CARRIED: usize = 1000;

/// What becomes of files that an earlier run has written and this one does not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// They go: they are of another result.
    Removed,
    /// They stay: this run adds to them.
    Kept,
}

/// Looks at a folder before it takes its place.
type Check<'a> = &'a mut dyn FnMut(&Path) -> Result<(), Failure>;

impl Files {
    /// Write all into `folder`, in place of what an earlier run has written there; files of others stay.
    ///
    /// # Errors
    /// The guard refuses what is there; something cannot be written. Then nothing has changed, unless files go one by one.
    pub fn publish(&self, folder: &Path, earlier: Earlier, guard: &Guard) -> Result<(), Failure> {
        self.exchanged(folder, earlier, guard, None)
    }

    /// The same if `check` has nothing against a folder with these files, which then moves to its place.
    ///
    /// # Errors
    /// As [`Files::publish`], and what `check` says; then nothing has changed.
    pub fn publish_checked(
        &self,
        folder: &Path,
        earlier: Earlier,
        guard: &Guard,
        mut check: impl FnMut(&Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let was_there = folder.exists();
        let published = self.exchanged(folder, earlier, guard, Some(&mut check));
        if published.is_err() && !was_there {
            // An empty folder tells nothing; one with files of others stays.
            let _ = fs::remove_dir(folder);
        }
        published
    }

    fn exchanged(
        &self,
        folder: &Path,
        earlier: Earlier,
        guard: &Guard,
        mut check: Option<Check<'_>>,
    ) -> Result<(), Failure> {
        let cannot = |error: io::Error| Failure::file("write", folder, &error);
        fs::create_dir_all(folder).map_err(cannot)?;
        let place = fs::canonicalize(folder).map_err(cannot)?;
        let there = There::look(&place, self, earlier).map_err(cannot)?;
        guard.check_folder(folder, self.contents(), there.removed.iter().map(PathBuf::as_path))?;
        let sums = self.sums(&there);
        let beside = there.carried.as_ref().filter(|_| !is_stood_in(&place));
        let Some((carried, beside)) = beside.and_then(|carried| Some((carried, Beside::new(&place).ok()?))) else {
            if let Some(check) = &mut check {
                let elsewhere = tempfile::tempdir().map_err(cannot)?;
                self.write_with(elsewhere.path(), sums.clone())?;
                check(elsewhere.path())?;
            }
            return self.write_with(folder, sums);
        };
        let all = self.files.iter().map(|(path, content)| (path.as_path(), content.as_slice()));
        for (path, content) in all.chain([(Path::new(SUMS), sums.as_bytes())]) {
            write(&beside.path.join(path), content)
                .map_err(|error| Failure::file("write", &folder.join(path), &error))?;
        }
        if let Some(check) = &mut check {
            check(&beside.path)?;
        }
        for path in carried {
            carry(&place.join(path), &beside.path.join(path)).map_err(cannot)?;
        }
        if beside.exchange(&place).is_err() {
            return self.write_with(folder, sums);
        }
        Ok(())
    }

    /// File by file, where no exchange is possible.
    fn write_with(&self, folder: &Path, sums: String) -> Result<(), Failure> {
        let mut files = Files { files: self.files.clone() };
        files.add(SUMS, sums);
        files.put(folder)
    }

    /// The hashes of what is written and of what an earlier run has written and stays.
    fn sums(&self, there: &There) -> String {
        let own = self.files.iter().map(|(path, content)| (path.clone(), arch::tools::hex(&Sha256::digest(content))));
        let all: BTreeMap<PathBuf, String> = there.kept.clone().into_iter().chain(own).collect();
        all.iter().fold(String::new(), |text, (path, sum)| text + &format!("{sum}  {}\n", path.display()))
    }
}

/// What a folder holds before it is written.
struct There {
    /// Hashes of files of an earlier run that stay.
    kept: BTreeMap<PathBuf, String>,
    /// Files of an earlier run that go.
    removed: Vec<PathBuf>,
    /// All files that stay; none if there are too many.
    carried: Option<Vec<PathBuf>>,
}

impl There {
    fn look(place: &Path, files: &Files, earlier: Earlier) -> io::Result<There> {
        let listed = read_sums(&fs::read_to_string(place.join(SUMS)).unwrap_or_default());
        let written: BTreeSet<&Path> = files.names().chain([Path::new(SUMS)]).collect();
        let stays = |path: &Path| !written.contains(path) && (earlier == Earlier::Kept || !listed.contains_key(path));
        let mut found = Vec::new();
        let all = list(place, Path::new(""), &mut found)?;
        found.retain(|path| stays(path));
        let removed = listed.keys().filter(|path| !stays(path) && !written.contains(path.as_path())).cloned().collect();
        let kept = listed.iter().filter(|(path, _)| stays(path) && place.join(path).is_file());
        let kept = kept.map(|(path, sum)| (path.clone(), sum.clone())).collect();
        Ok(There { kept, removed, carried: (all && found.len() <= MOST_CARRIED).then_some(found) })
    }
}

/// The lines `HASH  PATH` of a file of hashes.
pub(super) fn read_sums(text: &str) -> BTreeMap<PathBuf, String> {
    let line = |line: &str| line.split_once("  ").map(|(sum, path)| (PathBuf::from(path), sum.to_owned()));
    text.lines().filter_map(line).collect()
}

/// The files below a folder, relative to `place`; false if there are far too many.
fn list(place: &Path, inside: &Path, found: &mut Vec<PathBuf>) -> io::Result<bool> {
    for entry in fs::read_dir(place.join(inside))? {
        let entry = entry?;
        let path = inside.join(entry.file_name());
        if found.len() > 4 * MOST_CARRIED {
            return Ok(false);
        }
        if !entry.file_type()?.is_dir() {
            found.push(path);
        } else if !list(place, &path, found)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the working folder is this one or below it.
fn is_stood_in(place: &Path) -> bool {
    std::env::current_dir().and_then(fs::canonicalize).is_ok_and(|working| working.starts_with(place))
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder_of(path))?;
    fs::write(path, content)
}

/// Have a file in another folder, too.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(folder_of(to))?;
    if fs::symlink_metadata(from)?.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
}

/// The folder that is being made, beside its place.
struct Beside {
    path: PathBuf,
    _leftover: Leftover,
}

impl Beside {
    /// An empty folder; what processes have left that are gone is removed.
    fn new(place: &Path) -> io::Result<Beside> {
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let prefix = format!("{TEMPORARY}{name}-");
        for entry in fs::read_dir(folder_of(place))?.flatten() {
            let owner = entry.file_name().to_str().and_then(|name| name.strip_prefix(&prefix)?.parse::<u32>().ok());
            if owner.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
                // Another process may be faster.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let path = folder_of(place).join(format!("{prefix}{}", std::process::id()));
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir(&path)?;
        let leftover = Leftover::new(&path);
        fs::set_permissions(&path, fs::metadata(place)?.permissions())?;
        Ok(Beside { path, _leftover: leftover })
    }

    /// Put it in its place, and what was there here.
    fn exchange(&self, place: &Path) -> io::Result<()> {
        // While this is held, nobody removes what is unfinished.
        let _held = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(renameat_with(CWD, &self.path, CWD, place, RenameFlags::EXCHANGE)?)
    }
}

/// What is here is removed: after an exchange the old folder, otherwise one that is unfinished.
impl Drop for Beside {
    fn drop(&mut self) {
        // The next run removes what is left.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[(&str, &str)]) -> Files {
        let mut files = Files::new();
        for (name, content) in names {
            files.add(*name, *content);
        }
        files
    }

    /// Names and contents, with `SHA256SUMS` last.
    fn contents(folder: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        assert!(list(folder, Path::new(""), &mut found).unwrap());
        found.sort();
        found
            .into_iter()
            .map(|path| (path.display().to_string(), fs::read_to_string(folder.join(path)).unwrap()))
            .collect()
    }

    fn names(folder: &Path) -> Vec<String> {
        contents(folder).into_iter().map(|(name, _)| name).filter(|name| name != SUMS).collect()
    }

    #[test]
    fn what_an_earlier_run_wrote_goes_and_what_others_wrote_stays() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("a/out");
        files(&[("rtl/a.v", "a"), ("report.txt", "1")]).publish(&folder, Earlier::Removed, &Guard::default()).unwrap();
        // sha256sum of "1" and "a", by coreutils.
        let expected = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b  report.txt\n\
                        ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  rtl/a.v\n";
        assert_eq!(fs::read_to_string(folder.join(SUMS)).unwrap(), expected);
        write(&folder.join("fpga/mine.bin"), b"mine").unwrap();
        std::os::unix::fs::symlink("fpga", folder.join("link")).unwrap();
        files(&[("rtl/b.v", "b")]).publish(&folder, Earlier::Removed, &Guard::default()).unwrap();
        assert!(folder.join("link").is_symlink());
        fs::remove_file(folder.join("link")).unwrap();
        assert_eq!(names(&folder), ["fpga/mine.bin", "rtl/b.v"]);
        files(&[("report.txt", "2")]).publish(&folder, Earlier::Kept, &Guard::default()).unwrap();
        assert_eq!(names(&folder), ["fpga/mine.bin", "report.txt", "rtl/b.v"]);
        assert_eq!(fs::read_to_string(folder.join(SUMS)).unwrap().lines().count(), 2);
        assert_eq!(fs::read_dir(outside.path().join("a")).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_others_wrote_or_changed_is_not_replaced() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("out");
        write(&folder.join("rtl/a.v"), b"mine").unwrap();
        let (old, new) = (files(&[("rtl/a.v", "a"), ("b", "1")]), files(&[("b", "2")]));
        let publish = |files: &Files, force: bool| files.publish(&folder, Earlier::Removed, &Guard::new(force));
        let before = contents(&folder);
        let refused = publish(&old, false).unwrap_err().to_string();
        assert!(refused.contains("rtl/a.v") && refused.contains("--force") && contents(&folder) == before, "{refused}");
        publish(&old, true).unwrap();
        publish(&old, false).unwrap();
        // Changed by hand: neither removed nor replaced; the same content is no loss.
        fs::write(folder.join("rtl/a.v"), "edited").unwrap();
        assert!(publish(&new, false).unwrap_err().to_string().contains("rtl/a.v"));
        fs::write(folder.join("rtl/a.v"), "a").unwrap();
        fs::write(folder.join("b"), "2").unwrap();
        publish(&new, false).unwrap();
        assert_eq!(names(&folder), ["b"]);
        let mut guard = Guard::default();
        guard.reads("--inputs", &folder.join("b"));
        let input = files(&[("b", "3")]).publish(&folder, Earlier::Removed, &guard).unwrap_err();
        assert!(matches!(input, Failure::Usage(ref said) if said.contains("--inputs")), "{input}");
    }

    #[test]
    fn what_a_dead_process_left_is_removed() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("out");
        // No process has this number: the kernel's largest is 2^22.
        let dead = outside.path().join(format!("{TEMPORARY}out-{}", u32::MAX));
        write(&dead.join("x"), b"x").unwrap();
        let other = outside.path().join(format!("{TEMPORARY}other-{}", u32::MAX));
        fs::create_dir(&other).unwrap();
        files(&[("a", "a")]).publish(&folder, Earlier::Removed, &Guard::default()).unwrap();
        assert!(!dead.exists() && other.exists());
    }

    #[test]
    fn a_folder_of_others_is_not_swapped() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("out");
        for number in 0..=MOST_CARRIED {
            write(&folder.join(number.to_string()), b"").unwrap();
        }
        let before = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&folder).unwrap());
        files(&[("a", "a")]).publish(&folder, Earlier::Removed, &Guard::default()).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::ino(&fs::metadata(&folder).unwrap()), before);
        assert_eq!(fs::read_to_string(folder.join(SUMS)).unwrap().lines().count(), 1);
    }
}
