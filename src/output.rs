//! Results on stdout, talk on stderr, files whole or not at all.

use crate::arguments::{Format, Global};
use crate::failure::Failure;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
pub fn json(value: &serde_json::Value) -> Result<(), Failure> {
    result(&format!("{value}\n"))
}

/// Text or JSON, as asked.
pub fn either(
    format: Format,
    text: impl FnOnce() -> String,
    document: impl FnOnce() -> serde_json::Value,
) -> Result<(), Failure> {
    match format {
        Format::Text => result(&text()),
        Format::Json => json(&document()),
    }
}

/// Files of a folder that appear together: all are written beside their places first, then renamed.
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

    /// Write all into `folder`, which is made if it does not exist.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let cannot = |path: &Path, error: &std::io::Error| Failure::file("write", path, error);
        std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
        let beside = tempfile::Builder::new().prefix(".tabla-gen-").tempdir_in(folder);
        let beside = beside.map_err(|error| cannot(folder, &error))?;
        for (number, (path, content)) in self.files.iter().enumerate() {
            let temporary = beside.path().join(number.to_string());
            std::fs::write(&temporary, content).map_err(|error| cannot(&folder.join(path), &error))?;
        }
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
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match std::fs::metadata(&target) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(Failure::File(format!("cannot write {}: it exists and is no file", path.display())));
        }
        _ => {}
    }
    let cannot = |error: std::io::Error| Failure::file("write", path, &error);
    let folder = folder_of(&target);
    std::fs::create_dir_all(folder).map_err(cannot)?;
    tempfile::Builder::new().prefix(".tabla-gen-").tempfile_in(folder).map_err(cannot)?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Write one file whole. A link is followed; what is no file (a device, a folder) is refused, it would be replaced.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::file("write", path, &error);
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if std::fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Failure::File(format!("cannot write {}: it exists and is no file", path.display())));
    }
    let path = target.as_path();
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(cannot)?;
    // As any new file: what the user's mask leaves of reading and writing for all.
    let permissions = std::fs::Permissions::from_mode(0o666);
    let mut temporary = tempfile::Builder::new();
    let temporary = temporary.prefix(".tabla-gen-").permissions(permissions);
    let mut temporary = temporary.tempfile_in(folder).map_err(cannot)?;
    temporary.write_all(content).map_err(cannot)?;
    temporary.persist(path).map_err(|error| cannot(error.error))?;
    Ok(())
}
