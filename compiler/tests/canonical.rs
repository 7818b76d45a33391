//! Canonical programs and their fixed-point form, as text: a program and, beside it, what it becomes.
//!
//! The first line of a program says what is wanted of it: `// all names`, `// train`, `// train keep NAME, batch N`,
//! or `// predict NAME`. The expectation holds the canonical program, and the fixed-point program for values between -1 and 1 (weights,
//! inputs) in 16-bit words. `ACCEPT=1 cargo test -p compiler --test canonical` writes new expectations; look at the difference.

use arch::{Origin, Span};
use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use std::fmt::Write;
use std::path::Path;

/// What the first line asks for.
fn options(text: &str) -> Options {
    let line = text.lines().next().unwrap_or_default().trim_start_matches("//").trim();
    let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let after = |key: &str| words.iter().position(|word| *word == key).and_then(|at| words.get(at + 1)).copied();
    let size = after("batch").map_or(1, |size| size.parse().expect("a batch size"));
    let keep = match words.first() {
        Some(&"all") => Keep::AllNames,
        Some(&"train") => Keep::Training { predictions: after("keep").map(str::to_string).into_iter().collect() },
        Some(&"predict") => {
            Keep::Prediction { names: after("predict").map(str::to_string).into_iter().collect(), states: Vec::new() }
        }
        other => panic!("the first line says {other:?}"),
    };
    Options { keep, batch: Batch { size, reduction: Reduction::Mean } }
}

fn outcome(text: &str) -> String {
    let (program, _) = language::parse(Language::Tabla, text, &language::Options::default()).expect("a good program");
    let mut canonical = match canonicalise(&program, &options(text)) {
        Ok(canonical) => canonical,
        Err(errors) => {
            return errors.iter().fold(String::new(), |text, e| text + &format!("{} {}\n", e.code, e.message));
        }
    };
    // Places in the source would make every line long and every edit a new expectation.
    canonical.tensors.iter_mut().for_each(|tensor| tensor.span = Span::default());
    canonical.nests.iter_mut().for_each(|nest| nest.origin = Origin::default());
    let mut written = canonical.to_string();
    let ranges = Ranges::of_tensors(vec![Some((-1.0, 1.0)); canonical.tensors.len()]);
    match fixed::lower(&canonical, &ranges, &Numbers::of_width(16)) {
        Ok((lowered, _)) => write!(written, "\n{lowered}").expect("text grows"),
        Err(errors) => {
            for error in errors {
                writeln!(written, "\n{} {}", error.code, error.message).expect("text grows");
            }
        }
    }
    written
}

#[test]
fn programs_become_what_is_written_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/canonical");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder").map(|e| e.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "t"));
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for file in files {
        let found = outcome(&std::fs::read_to_string(&file).expect("a program"));
        let beside = file.with_extension("expect");
        if std::env::var_os("ACCEPT").is_some() {
            std::fs::write(&beside, &found).expect("an expectation is written");
        }
        if std::fs::read_to_string(&beside).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", file.file_name().expect("a name").display()));
        }
    }
    assert!(wrong.is_empty(), "not as expected:\n{}", wrong.join("\n"));
}
