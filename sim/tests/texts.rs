//! Every program, of the conformance suite and random, prints as a text that reads back to the same value: as a language makes it, after
//! each pass, and in fixed point.

use compiler::canonical::{Batch, Keep, Options, canonicalise_watched};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::tensor::Program;
use sim::eval::with_shapes_of;
use std::fmt::{Debug, Display};
use std::path::Path;
use std::str::FromStr;

mod cases;
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
    let fixed = (0..100).filter(|&number| {
        let tape = tape::random(14, number, 120);
        reads_back_at_every_stage(&ir::program(&tape).0, &format!("seed 14, program {number}"))
    });
    assert!(fixed.count() >= 60);
}

#[test]
fn programs_of_the_conformance_suite_read_back() {
    let (mut read, mut fixed) = (0, 0);
    for case in cases::all().iter().filter(|case| case["kind"] == "positive") {
        let file = case["file"].as_str().expect("a file name");
        let extension = Path::new(file).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let language = Language::of_extension(extension).expect("a known extension");
        let text = std::fs::read_to_string(cases::folder().join(file)).expect("the program is there");
        let entry = case["entry"].as_str().map(str::to_owned);
        let options = language::Options { entry, ..language::Options::default() };
        let options = with_shapes_of(&case["inputs"], options);
        let Ok((program, _)) = language::parse(language, &text, &options) else { continue };
        read += 1;
        fixed += usize::from(reads_back_at_every_stage(&program, file));
    }
    assert!(read >= 120 && fixed >= 100, "{read} programs, {fixed} in fixed point");
}
