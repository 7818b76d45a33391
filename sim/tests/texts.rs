//! Every program, of the conformance suite and random, prints as a text that reads back to the same value: as a language makes it, after
//! each pass, and in fixed point.

use compiler::canonical::{Batch, Keep, Options, canonicalise_watched};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::tensor::Program;
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[path = "random/ir.rs"]
mod ir;
#[path = "random/tape.rs"]
#[allow(dead_code, reason = "nothing is shrunk here")]
mod tape;

/// Print and read back.
#[track_caller]
fn reads_back<T: Display + Debug + PartialEq + FromStr<Err = arch::Diagnostic>>(value: &T, what: &str) {
    let text = value.to_string();
    match text.parse::<T>() {
        Ok(back) => assert!(back == *value, "{what}: read back as\n{back}\n{back:#?}\nnot\n{text}\n{value:#?}"),
        Err(error) => panic!("{what}: {error:?}\n{text}"),
    }
}

/// At every stage; whether there is a fixed-point program.
fn reads_back_at_every_stage(program: &Program, what: &str) -> bool {
    reads_back(program, what);
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let canonical = canonicalise_watched(program, &options, &mut |pass, program| {
        reads_back(program, &format!("{what} after {}", pass.name));
    });
    let Ok(canonical) = canonical else { return false };
    let ranges = Ranges { tensors: vec![Some((-2.0, 2.0)); canonical.tensors.len()] };
    let Ok((lowered, _)) = fixed::lower(&canonical, &ranges, &Numbers::of_width(16)) else { return false };
    reads_back(&lowered, &format!("{what} in fixed point"));
    true
}

#[test]
fn random_programs_read_back() {
    let fixed = (0..150).filter(|&number| {
        let tape = tape::random(14, number, 120);
        reads_back_at_every_stage(&ir::program(&tape).0, &format!("seed 14, program {number}"))
    });
    assert!(fixed.count() >= 100);
}

/// The files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn programs_of_the_conformance_suite_read_back() {
    let (mut read, mut fixed) = (0, 0);
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance")) {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let Some(language) = Language::of_extension(extension) else { continue };
        let text = std::fs::read_to_string(&path).expect("a program");
        // What is wrong on purpose, or gets its sizes from values, has no program here.
        let Ok((program, _)) = language::parse(language, &text, &language::Options::default()) else { continue };
        read += 1;
        fixed += usize::from(reads_back_at_every_stage(&program, &path.display().to_string()));
    }
    assert!(read >= 80 && fixed >= 60, "{read} programs, {fixed} in fixed point");
}
