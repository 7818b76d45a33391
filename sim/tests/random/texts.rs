//! Every program, of the conformance suite and random, prints as a text that reads back to the same value: as a language makes it, after
//! each pass, and in fixed point. The stages behind that are held to it where programs are compiled: `ladder.rs`, `ladder_languages.rs`,
//! `ladder_random.rs`.

use crate::cases;
use crate::generator::{ir, tape};
use arch::Image;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, canonicalise, canonicalise_watched};
use compiler::fixed::{self, Numbers};
use compiler::image::laws;
use compiler::image::text::Written;
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::search::compile_fitted;
use compiler::tensor::Program;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::driver::{Driver, Run};
use sim::eval::with_shapes_of;
use sim::grid::Stalls;
use std::fmt::{Debug, Display};
use std::path::Path;
use std::str::FromStr;

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
    let ranges = Ranges::of_tensors(vec![Some((-2.0, 2.0)); canonical.tensors.len()]);
    let Ok((lowered, _)) = fixed::lower(&canonical, &ranges, &Numbers::of_width(16)) else { return false };
    reads_back(&lowered, &format!("{what} in fixed point"));
    true
}

/// The microcode of docs/stages.md keeps the laws, and does what the page says.
#[test]
fn microcode_by_hand_runs() {
    let page = include_str!("../../../docs/stages.md");
    let text = page.split("```image\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an image");
    let written: Written = text.parse().expect("it reads");
    reads_back(&written, "the image of docs/stages.md");
    let Written(image) = written;
    assert_eq!(laws(&image), Ok(()));
    let mut driver = Driver::new(Array::new(&image.machine), image.clone(), Stalls::none());
    let steps = [[1, 2, 3, -4], [100, 0, -7, 5]].map(|x| vec![x.to_vec(), vec![0; 4]]);
    let outcome = driver.run(Run { load_model: None, steps: &steps, emit_model: false }).expect("it runs");
    assert_eq!(outcome.raw, [2, 4, 6, -8, 200, 0, -14, 10]);
    let short = Image { step_length: 3, ..image };
    let broken = laws(&short).expect_err("its streams are busy");
    assert!(page.contains(&broken[0].to_string()), "{}", broken[0]);
}

/// The image of a program, as text.
fn image_of(file: &str, spec: &MachineSpec) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs").join(file);
    let text = std::fs::read_to_string(path).expect("the program is there");
    let (program, _) = language::parse(Language::Tabla, &text, &language::Options::default()).expect("it parses");
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch: Batch::SINGLE };
    let canonical = canonicalise(&program, &options).expect("it is a program");
    let ranges = Ranges::of_tensors(vec![Some((-2.0, 2.0)); canonical.tensors.len()]);
    let (lowered, _) = fixed::lower(&canonical, &ranges, &Numbers::of_width(16)).expect("it has binary points");
    Written(compile_fitted(&lowered, spec).expect("it fits").image).to_string()
}

/// What takes the place of a word.
const PIECES: [&str; 12] = ["", "0", "7", "4096", "70000", "-1", "k9", "[k3]", "end,", "\"", "é", ":"];

/// A text with one thing changed.
fn damaged(text: &str, random: &mut ChaCha8Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut below = |limit: usize| random.next_u32() as usize % limit;
    let at = below(lines.len());
    match below(4) {
        0 => drop(lines.remove(at)),
        1 => {
            let again = lines[below(lines.len())].clone();
            lines.insert(at, again);
        }
        _ => {
            let words: Vec<&str> = lines[at].split(' ').collect();
            let gone = below(words.len());
            let damaged = [&words[..gone], &[PIECES[below(PIECES.len())]], &words[gone + 1..]].concat().join(" ");
            lines[at] = damaged;
        }
    }
    lines.join("\n") + "\n"
}

/// A damaged image is refused with a place, breaks a law, or is another image: nothing panics.
#[test]
fn damaged_images_are_refused() {
    let grid = MachineSpec { pus: Some(2), pes_per_pu: Some(4), ..MachineSpec::default() };
    let mut random = ChaCha8Rng::seed_from_u64(15);
    let (mut unread, mut unlawful) = (0, 0);
    for file in ["logistic.t", "svm.t"] {
        let text = image_of(file, &grid);
        for _ in 0..400 {
            let damaged = damaged(&text, &mut random);
            match damaged.parse::<Written>() {
                Err(error) => {
                    assert!(error.span.is_some(), "{error:?}\n{damaged}");
                    unread += 1;
                }
                Ok(Written(image)) => unlawful += usize::from(laws(&image).is_err()),
            }
        }
    }
    assert!(unread >= 300 && unlawful >= 60, "{unread} are not read, {unlawful} break a law");
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
