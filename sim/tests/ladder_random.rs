//! Random programs climb the ladder; their results depend neither on the grid nor on what a host did before.
//!
//! `scripts/soak` runs the same trials for hours; what it finds lies in `random/found/` and is replayed here.

mod random;

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use proptest::prelude::*;
use random::tape;
use random::trial::{Hardware, Trial, Verdict, grid, hardware, of_tape};
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::Climb;
use std::path::Path;

/// Fails with the program if it fell; whether it climbed.
fn judge(trial: &Trial, verdict: Verdict) -> Result<bool, TestCaseError> {
    match verdict {
        Verdict::Climbed(_) => Ok(true),
        Verdict::Refused(_) => Ok(false),
        Verdict::Fell(why) => Err(TestCaseError::fail(format!("{why}\n{:#}", trial.to_json(&why)))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn random_programs_of_tensor_ir_climb_the_ladder(tape in proptest::collection::vec(any::<u16>(), 20..160)) {
        let trial = of_tape(true, &tape);
        judge(&trial, trial.run(&[grid(1, 2, 24), grid(2, 4, 16), grid(3, 5, 16)], &[]))?;
    }

    #[test]
    fn random_programs_climb_the_ladder(tape in proptest::collection::vec(any::<u16>(), 20..200)) {
        let trial = of_tape(false, &tape);
        judge(&trial, trial.run(&[grid(1, 2, 24), grid(2, 4, 16), grid(3, 5, 16)], &[]))?;
    }

    #[test]
    fn words_do_not_depend_on_the_grid(tape in proptest::collection::vec(any::<u16>(), 20..120)) {
        let trial = of_tape(false, &tape);
        judge(&trial, trial.run(&[grid(1, 1, 16), grid(1, 5, 16), grid(4, 1, 16), grid(4, 4, 16), grid(8, 8, 16)], &[]))?;
    }
}

/// Rows, columns, all PEs, cut or not: wherever a program is computed, its words are the same.
#[test]
fn words_do_not_depend_on_the_placement() {
    let mut climbed = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..40u16 {
        let tape: Vec<u16> =
            (0..120u32).map(|k| (k.wrapping_mul(40503) ^ u32::from(seed).wrapping_mul(2_654_435_761)) as u16).collect();
        let program = random::program(&tape);
        let Ok((parsed, _)) = language::parse(Language::Tabla, &program.text, &language::Options::default()) else {
            continue;
        };
        let roomy = MachineSpec {
            model_depth: Some(1 << 12),
            data_depth: Some(1 << 12),
            temporary_depth: Some(1 << 12),
            program_depth: Some(2048),
            ..grid(2, 3, 16)
        };
        let options = Options { keep: Keep::AllNames, batch: Batch { size: 1, reduction: Reduction::Mean } };
        let Ok(best) = Climb::new(&parsed, &options, &program.model, &random::steps(&program.samples, 1), &roomy)
        else {
            continue;
        };
        for number in [1, 4, 9, 22, 57, 131] {
            let Some(climb) = best.elsewhere(number) else { continue };
            let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none());
            assert!(agreement.is_ok(), "seed {seed}, placement {number}: {}\n{}", agreement.unwrap_err(), program.text);
            kinds.extend(climb.compiled.placement.iter().flat_map(|(_, axes)| axes.clone()));
            climbed += 1;
        }
    }
    println!("{climbed} climbs on {kinds:?}");
    assert!(climbed >= 100, "{climbed} climbs");
    assert!(kinds.len() >= 4, "{kinds:?}");
}

/// A test that refuses everything proves nothing.
#[test]
fn most_random_programs_are_accepted() {
    {
        let (is_ir, least) = (false, 50);
        let climbs = |number| {
            let trial = of_tape(is_ir, &tape::random(1, number, 120));
            judge(&trial, trial.run(&[grid(2, 4, 16)], &[])).unwrap()
        };
        let accepted = (0..100).filter(|&number| climbs(number)).count();
        println!("{accepted} of 100 accepted");
        assert!(accepted >= least, "{accepted} of 100, tensor IR: {is_ir}");
    }
}

/// Everything that ever fell, on arrays and on hardware.
#[test]
fn what_was_found_stays_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random/found");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(!files.is_empty(), "{} has nothing to replay", folder.display());
    let hardware = [Hardware::build(hardware(2, 4, 16))];
    for file in files {
        let value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let trial = Trial::from_json(&value);
        if let Verdict::Fell(why) = trial.run(&[grid(1, 2, 24), grid(3, 5, 16), grid(8, 8, 16)], &hardware) {
            panic!("{}: {why}", file.display());
        }
    }
}

/// A fault has to be seen, made small and kept: here a program falls because of what it says.
#[test]
fn a_failure_becomes_a_small_program() {
    let fall = |trial: &Trial| match trial {
        Trial::Tabla(program) if program.text.contains("gaussian(") => Verdict::Fell("a function".to_owned()),
        _ => Verdict::Climbed(1),
    };
    let tape = (0..).map(|number| tape::random(1, number, 200));
    let tape = tape.into_iter().find(|tape| matches!(fall(&of_tape(false, tape)), Verdict::Fell(_))).unwrap();
    let (trial, why) = random::trial::simplest(false, &tape, fall);
    let Trial::Tabla(program) = &trial else { unreachable!("a tape of TABLA makes TABLA") };
    assert_eq!(why, "a function");
    assert_eq!(program.text.matches("gaussian(").count(), 1, "{}", program.text);
    assert_eq!(program.text.matches(" = ").count(), 5, "{}", program.text);
    assert_eq!(Trial::from_json(&trial.to_json(&why)), trial);
}
