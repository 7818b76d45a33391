//! Running the tool in a test, and what it left behind.

#![allow(dead_code, reason = "each test uses some of it")]

pub(crate) mod schema;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run of the tool left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Standard output as one document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }
}

/// The tool with arguments, in the root of the project.
pub(crate) fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

/// Run, whatever comes of it.
pub(crate) fn run(arguments: &[&str]) -> Ran {
    finish(tool(arguments))
}

/// Wait for what a command says.
pub(crate) fn finish(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Run, and expect success.
pub(crate) fn done(arguments: &[&str]) -> Ran {
    let ran = run(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
    ran
}

/// Run, and expect this exit code and these words on stderr.
pub(crate) fn fails(arguments: &[&str], code: i32, words: &[&str]) {
    let ran = run(arguments);
    assert_eq!(ran.code, code, "{arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "no {word:?} in\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\u{1b}'), "colours although stderr is not a terminal");
}

/// A file in a folder; its path.
pub(crate) fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}
