//! Random programs climb the ladder; their results depend neither on the grid nor on what a host did before.
//!
//! `scripts/soak` runs the same trials for hours; what it finds lies in `random/found/` and is replayed here.

use crate::generator;
use arch::Diagnostic;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::image::text::Written;
use compiler::language::{self, Language};
use compiler::search::Compiled;
use generator::tape;
use generator::trial::{Hardware, Kind, Trial, Verdict, grid, hardware, hardware_for_tiles, keep, of_tape};
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::Climb;
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where programs are kept that fell.
fn found() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random/found")
}

/// Each stage of the compiler is the value that its text reads back to.
fn stages_read_back(compiled: &Compiled) {
    fn check<T: Display + FromStr<Err = Diagnostic> + PartialEq + Debug>(stage: &T) {
        let written = stage.to_string();
        let read: T = written.parse().unwrap_or_else(|error| panic!("{error:?}\n{written}"));
        assert!(read == *stage, "{written}\nreads as\n{read}");
    }
    let stages = &compiled.stages;
    check(&stages.placed);
    check(&stages.jobs);
    check(&stages.scheduled);
    check(&Written(compiled.image.clone()));
}

/// Climb with random programs of a seed; one that falls is made small and kept in `random/found/`. How many climbed.
fn climb(kind: Kind, seed: u64, count: u64, grids: &[MachineSpec]) -> usize {
    let mut climbed = 0;
    for number in 0..count {
        let tape = tape::random(seed, number, 20 + (number * 3 % 180) as usize);
        match of_tape(kind, &tape).run(grids, &[]) {
            Verdict::Climbed(_) => climbed += 1,
            Verdict::Refused(_) => {}
            Verdict::Fell(_) => {
                let name = format!("{kind:?}-{seed}-{number}").to_lowercase();
                panic!("{}", keep(kind, &tape, &found(), &name, |trial| trial.run(grids, &[])));
            }
        }
    }
    climbed
}

#[test]
fn random_programs_of_tensor_ir_climb_the_ladder() {
    let climbed = climb(Kind::Ir, 3, 30, &[grid(1, 2, 24), grid(2, 4, 16), grid(3, 5, 16)]);
    assert!(climbed >= 10, "{climbed} of 30");
}

#[test]
fn random_programs_climb_the_ladder() {
    let climbed = climb(Kind::Tabla, 4, 30, &[grid(1, 2, 24), grid(2, 4, 16), grid(3, 5, 16)]);
    assert!(climbed >= 15, "{climbed} of 30");
}

/// Batches that do not fit the data pads, with aborts and resets in the middle of one; all names are emitted, tile by tile.
#[test]
fn random_programs_climb_in_tiles() {
    let mut climbed = 0;
    for number in 0..20 {
        let tape = tape::random(7, number, 40 + (number * 7 % 140) as usize);
        for spec in [grid(1, 2, 24), grid(2, 4, 16), grid(3, 5, 16)] {
            match of_tape(Kind::Tabla, &tape).run_in_tiles(&spec, None) {
                Verdict::Climbed(climbs) => climbed += climbs,
                Verdict::Refused(_) => {}
                Verdict::Fell(_) => {
                    let name = format!("tiles-{number}");
                    panic!("{}", keep(Kind::Tabla, &tape, &found(), &name, |trial| trial.run_in_tiles(&spec, None)));
                }
            }
        }
    }
    println!("{climbed} climbs in tiles");
    assert!(climbed >= 20, "{climbed} climbs in tiles");
}

#[test]
fn words_do_not_depend_on_the_grid() {
    let grids = [grid(1, 1, 16), grid(1, 5, 16), grid(4, 1, 16), grid(4, 4, 16), grid(8, 8, 16)];
    let climbed = climb(Kind::Tabla, 5, 30, &grids);
    assert!(climbed >= 15, "{climbed} of 30");
}

/// Rows that send at once, all of them, half or a third of them: wherever results lie, the host gets them.
#[test]
fn words_do_not_depend_on_the_lanes_of_the_output() {
    let lanes = |spec: MachineSpec, words: u32| MachineSpec { output_words: Some(words), ..spec };
    let grids =
        [lanes(grid(8, 8, 16), 8), lanes(grid(4, 3, 16), 2), lanes(grid(6, 2, 24), 2), lanes(grid(4, 1, 16), 4)];
    for kind in [Kind::Tabla, Kind::Ir] {
        let climbed = climb(kind, 12, 20, &grids);
        assert!(climbed >= 7, "{climbed} of 20, {kind:?}");
    }
}

/// Beats of which one leaves in several transfers, of rows and of all PEs, through a queue that holds few of them: the host gets the same words.
#[test]
fn words_do_not_depend_on_the_width_of_a_beat() {
    let wide = |spec: MachineSpec, words: u32, emit: u32, fifo: u32| MachineSpec {
        output_words: Some(words),
        emit_words: Some(emit),
        output_fifo: Some(fifo),
        ..spec
    };
    let grids = [
        wide(grid(8, 8, 16), 8, 64, 64),
        wide(grid(8, 8, 16), 1, 64, 4),
        wide(grid(4, 3, 16), 1, 4, 8),
        wide(grid(4, 2, 24), 2, 8, 4),
        wide(grid(1, 4, 16), 1, 4, 4),
    ];
    for kind in [Kind::Tabla, Kind::Ir] {
        let climbed = climb(kind, 14, 20, &grids);
        assert!(climbed >= 7, "{climbed} of 20, {kind:?}");
    }
}

/// The first rung. A comparison may go the other way for two values that are close, and a chain of products multiplies errors, so a single
/// program proves little; of many, most are near, and a rounding that is wrong by one place moves them all. About one
/// in ten has such a comparison.
#[test]
fn most_words_are_near_the_real_numbers() {
    for kind in [Kind::Tabla, Kind::Ir] {
        let distance = |number| of_tape(kind, &tape::random(6, number, 100)).distance(&grid(2, 4, 16));
        let mut distances: Vec<f64> = (0..100).filter_map(distance).collect();
        distances.sort_by(f64::total_cmp);
        let at = |percent: usize| distances[distances.len() * percent / 100];
        println!("{kind:?}; {} programs, last places: {:?}", distances.len(), [25, 50, 75, 85].map(at));
        assert!(at(50) <= 1.0 && at(75) <= 2.0 && at(85) <= 8.0, "{:?}", [25, 50, 75, 85].map(at));
    }
}

/// Rows, columns, all PEs, cut or not: wherever a program is computed, its words are the same.
#[test]
fn words_do_not_depend_on_the_placement() {
    let mut climbed = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..20u16 {
        let tape: Vec<u16> =
            (0..120u32).map(|k| (k.wrapping_mul(40503) ^ u32::from(seed).wrapping_mul(2_654_435_761)) as u16).collect();
        let program = generator::program(&tape);
        let Ok((parsed, _)) = language::parse(Language::Tabla, &program.text, &language::Options::default()) else {
            continue;
        };
        // Every third program on a grid whose rows send two by two.
        let lanes = if seed.is_multiple_of(3) { 2 } else { 1 };
        let roomy = MachineSpec {
            model_depth: Some(1 << 12),
            data_depth: Some(1 << 12),
            temporary_depth: Some(1 << 12),
            program_depth: Some(2048),
            output_words: Some(lanes),
            ..grid(2 * lanes, 3, 16)
        };
        let options = Options { keep: Keep::AllNames, batch: Batch { size: 1, reduction: Reduction::Mean } };
        let Ok(best) = Climb::new(&parsed, &options, &program.model, &generator::steps(&program.samples, 1), &roomy)
        else {
            continue;
        };
        for number in [1, 4, 9, 22, 57, 131] {
            let Some(climb) = best.elsewhere(number) else { continue };
            let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none());
            assert!(agreement.is_ok(), "seed {seed}, placement {number}: {}\n{}", agreement.unwrap_err(), program.text);
            stages_read_back(&climb.compiled);
            kinds.extend(climb.compiled.placement.iter().flat_map(|(_, axes)| axes.clone()));
            climbed += 1;
        }
    }
    println!("{climbed} climbs on {kinds:?}");
    assert!(climbed >= 50, "{climbed} climbs");
    assert!(kinds.len() >= 4, "{kinds:?}");
}

/// Batches on grids with a scalar unit, which does all it can, in one part or several: words are the same.
#[test]
fn words_do_not_depend_on_the_scalar_unit() {
    let (mut climbed, mut used, mut sent) = (0, 0, 0);
    for number in 0..20 {
        let program = generator::program(&tape::random(11, number, 60 + (number * 7 % 120) as usize));
        let Ok((parsed, _)) = language::parse(Language::Tabla, &program.text, &language::Options::default()) else {
            continue;
        };
        let roomy = MachineSpec {
            model_depth: Some(1 << 12),
            data_depth: Some(1 << 12),
            temporary_depth: Some(1 << 12),
            program_depth: Some(2048),
            scalar: Some(true),
            ..grid(2, 3, 16)
        };
        for (size, keep) in [(1, Keep::AllNames), (3, Keep::Training { predictions: Vec::new() })] {
            let options = Options { keep, batch: Batch { size, reduction: Reduction::Mean } };
            let steps = generator::steps(&program.samples, size);
            let Ok(best) = Climb::new(&parsed, &options, &program.model, &steps, &roomy) else { continue };
            for placement in [0, 1, 2, 3, 7, 26, 53] {
                let Some(climb) = best.elsewhere(placement) else { continue };
                let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none());
                let text = &program.text;
                assert!(agreement.is_ok(), "{number}, placement {placement}: {}\n{text}", agreement.unwrap_err());
                stages_read_back(&climb.compiled);
                climbed += 1;
                used += usize::from(!climb.image().scalar.is_empty());
                sent += usize::from(climb.image().scalar.iter().any(|instruction| instruction.send));
            }
        }
    }
    println!("{climbed} climbs, {used} with the scalar unit, which sends in {sent}");
    assert!(used >= 30 && sent >= 15, "{climbed} climbs, {used} with the scalar unit, which sends in {sent}");
}

/// Elements of a tensor differ, also where the tape has ended, and so do samples.
#[test]
fn values_tell_elements_apart() {
    let program = generator::program(&tape::random(1, 5, 100));
    let largest = program.samples.iter().flat_map(|sample| sample.values()).max_by_key(|values| values.len()).unwrap();
    let different: std::collections::BTreeSet<i64> = largest.iter().map(|value| (value * 16.0) as i64).collect();
    assert!(largest.len() > 20 && different.len() * 4 > largest.len().min(64), "{largest:?}");
    assert_ne!(program.samples[0], program.samples[1]);
}

/// The generator says what the language has; each of these in more than a few of the programs that climb.
#[test]
fn the_generator_uses_the_language() {
    let texts: Vec<String> = (0..200).map(|number| generator::program(&tape::random(1, number, 150)).text).collect();
    for word in [
        "sum[",
        "norm[",
        "pi[",
        "sigmoid(",
        "gaussian(",
        " < ",
        " > ",
        "gradient gw",
        "gradient gv",
        "model v",
        "t0[p",
        "0.3",
    ] {
        let count = texts.iter().filter(|text| text.contains(word)).count();
        assert!(count >= 10, "only {count} of 200 programs have {word}");
    }
    let again = |text: &String| {
        let targets =
            text.lines().filter_map(|line| line.split(['[', ' ']).next()).filter(|name| name.starts_with('t'));
        let targets: Vec<&str> = targets.collect();
        targets.len() > targets.iter().collect::<std::collections::BTreeSet<_>>().len()
    };
    assert!(texts.iter().filter(|text| again(text)).count() >= 20, "re-assignment");
    let rank = |rank: usize| {
        move |text: &&String| {
            text.lines().any(|line| line.starts_with("model_input") && line.matches('[').count() == rank)
        }
    };
    for wanted in 0..=3 {
        assert!(texts.iter().filter(rank(wanted)).count() >= 20, "rank {wanted}");
    }
}

/// A test that refuses everything proves nothing.
#[test]
fn most_random_programs_are_accepted() {
    for (kind, least) in [(Kind::Tabla, 35), (Kind::Ir, 35)] {
        let climbs = |number: &u64| {
            let verdict = of_tape(kind, &tape::random(1, *number, 120)).run(&[grid(2, 4, 16)], &[]);
            matches!(verdict, Verdict::Climbed(_))
        };
        let accepted = (0..50).filter(climbs).count();
        println!("{accepted} of 50 accepted");
        assert!(accepted >= least, "{accepted} of 50, {kind:?}");
    }
}

/// Everything that ever fell, on arrays and on hardware.
#[test]
fn what_was_found_stays_mended() {
    let folder = found();
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(!files.is_empty(), "{} has nothing to replay", folder.display());
    let hardware = [Hardware::build(hardware(2, 4, 16))];
    let tiled = Hardware::build(MachineSpec { pads_in_rows: Some(true), ..hardware_for_tiles(2, 4, 16) });
    let grids = [grid(1, 2, 24), grid(3, 5, 16), grid(8, 8, 16)];
    for file in files {
        let value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let trial = Trial::from_json(&value);
        if let Verdict::Fell(why) = trial.run_whole_and_in_tiles(&grids, &hardware, Some(&tiled)) {
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
    let tape = tape.into_iter().find(|tape| matches!(fall(&of_tape(Kind::Tabla, tape)), Verdict::Fell(_))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let told = keep(Kind::Tabla, &tape, folder.path(), "small", fall);
    let file = folder.path().join("small.json");
    assert_eq!(told, format!("a function; wrote {}", file.display()));
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let trial = Trial::from_json(&kept);
    let Trial::Tabla(program) = &trial else { unreachable!("a tape of TABLA makes TABLA") };
    assert_eq!(program.text.matches("gaussian(").count(), 1, "{}", program.text);
    assert_eq!(program.text.matches(" = ").count(), 5, "{}", program.text);
    assert_eq!(trial.to_json("a function"), kept);
}

/// A panic of the compiler is a fall like any other.
#[test]
fn a_panic_is_a_fall() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let verdict = of_tape(Kind::Tabla, &tape::random(1, 0, 50)).caught(|_| panic!("{} rows", 65));
    std::panic::set_hook(hook);
    assert_eq!(verdict, Verdict::Fell("panic: 65 rows".to_owned()));
}
