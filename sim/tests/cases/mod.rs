//! The conformance programs. Each program is a file in `tests/conformance/<language>/`, with its expectation beside it:
//!
//!     tabla/log_function.t      the program
//!     tabla/log_function.json   { "inputs": .., "expect": .. }, or { "error": { "class": "E-..", "line": 3 } }
//!
//! A pair of files that is dropped there is a test. tests/conformance/README.md explains the keys.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folders, one per language, and how many programs each has at least.
pub const FOLDERS: [(&str, usize); 5] = [("tabla", 71), ("tc", 62), ("tile", 52), ("rink", 50), ("preproc", 47)];

/// Where the programs are; the tests of two packages use this module.
pub fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = package.join("tests/conformance");
    if own.is_dir() { own } else { package.join("../tests/conformance") }
}

/// Every case, ordered by file: its expectation, with `file`, `lang` (the folder) and `kind` (positive or negative).
pub fn all() -> Vec<Value> {
    FOLDERS.iter().flat_map(|(language, _)| of(language)).collect()
}

/// The cases of one language.
pub fn of(language: &str) -> Vec<Value> {
    let (_, least) = FOLDERS.iter().find(|(name, _)| *name == language).expect("a folder of conformance programs");
    let folder = folder().join(language);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let (expectations, programs): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|path| path.extension().is_some_and(|extension| extension == "json"));
    for expectation in &expectations {
        let there = programs.iter().any(|program| program.with_extension("json") == *expectation);
        assert!(there, "{} has no program", expectation.display());
    }
    assert!(programs.len() >= *least, "{} has {} programs, not {least}", folder.display(), programs.len());
    programs.iter().map(|program| case(language, program)).collect()
}

fn case(language: &str, program: &Path) -> Value {
    let expectation = program.with_extension("json");
    let text =
        std::fs::read_to_string(&expectation).unwrap_or_else(|error| panic!("{}: {error}", expectation.display()));
    let mut case: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", expectation.display()));
    let positive = case["expect"].is_object();
    let one = positive != case["error"].is_object();
    assert!(one, "{} has either `expect` or `error`", expectation.display());
    let name = program.file_name().and_then(|name| name.to_str()).expect("a file name");
    case["file"] = format!("{language}/{name}").into();
    case["lang"] = language.into();
    case["kind"] = if positive { "positive" } else { "negative" }.into();
    case
}
