//! Results on stdout, talk on stderr, files whole or not at all.

pub mod folder;

use crate::arguments::{Format, Global};
use crate::{interrupt, render};
use arch::Diagnostic;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use workbench::{Failure, Note, Progress, Source};

/// How much is said on stderr, and how.
#[derive(Debug)]
pub struct Talk {
    /// Whether stderr may be coloured.
    pub colour: bool,
    /// Whether stderr is a terminal that can show progress.
    pub terminal: bool,
    volume: Volume,
}

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Volume {
    Quiet,
    Normal,
    Verbose,
}

impl Talk {
    /// As the arguments and the environment ask.
    pub fn new(global: &Global) -> Talk {
        let volume = match (global.quiet, global.verbose) {
            (true, _) => Volume::Quiet,
            (false, true) => Volume::Verbose,
            (false, false) => Volume::Normal,
        };
        let terminal = std::io::stderr().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Talk { colour: terminal && !no_colour, terminal, volume }
    }

    /// Say nothing: for work whose results are judged by somebody else.
    pub fn silent() -> Talk {
        Talk { colour: false, terminal: false, volume: Volume::Quiet }
    }

    /// What is going on.
    pub fn say(&self, message: impl std::fmt::Display) {
        if self.volume >= Volume::Normal {
            error_line(&message.to_string());
        }
    }

    /// What is going on, for those who want to know more.
    pub fn detail(&self, message: impl std::fmt::Display) {
        if self.says_details() {
            error_line(&message.to_string());
        }
    }

    /// Whether [`Talk::detail`] says anything.
    pub fn says_details(&self) -> bool {
        self.volume == Volume::Verbose
    }

    /// Whether progress is shown.
    pub fn shows_progress(&self) -> bool {
        self.terminal && self.volume >= Volume::Normal
    }
}

impl Progress for Talk {
    fn note(&self, note: &Note) {
        match note {
            Note::MadeUpSamples => self.say(format!("{note} (use --data)")),
            Note::MadeUpRecords => self.say(format!("{note} (use --inputs)")),
            Note::LeftOver { .. } | Note::StoreIdle | Note::StoreTooSmall { .. } => self.say(note),
            Note::Simulates(_) => self.detail(note),
        }
    }

    fn warnings(&self, source: &Source, warnings: &[Diagnostic]) {
        render::warnings(source, warnings, self);
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }

    fn listens(&self, listens: bool) {
        interrupt::set_cooperative(listens);
    }
}

/// A line on stderr; a closed stderr is nobody's problem.
pub fn error_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Text on stdout. A reader that has gone away (`| head`) ends the process quietly.
pub fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(Failure::File(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// A JSON document on stdout, on one line.
pub fn json(document: &impl Serialize) -> Result<(), Failure> {
    result(&(text_of(document, serde_json::to_string) + "\n"))
}

/// A JSON document as the text of a file.
pub fn pretty(document: &impl Serialize) -> String {
    text_of(document, serde_json::to_string_pretty) + "\n"
}

fn text_of<T: Serialize>(document: &T, write: impl Fn(&T) -> serde_json::Result<String>) -> String {
    write(document).expect("documents are names, numbers and lists of them")
}

/// Text or JSON, as asked.
pub fn either<D: Serialize>(
    format: Format,
    text: impl FnOnce() -> String,
    document: impl FnOnce() -> D,
) -> Result<(), Failure> {
    match format {
        Format::Text => result(&text()),
        Format::Json => json(&document()),
    }
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

    /// Write all into `folder`, which is made if it does not exist: beside their places first, then renamed.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
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
