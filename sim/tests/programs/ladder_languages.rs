//! Every positive program of Tensor Comprehensions, Tile and the model language, down to `array` on two fixed machines.
//!
//! What the back end refuses stands with its reason in `ladder_languages/refused.txt`; the test compares that list with
//! what happens. `ACCEPT=1 cargo test -p sim --test programs ladder_languages::` accepts a new one.
//!
//! Values are compared twice: `array` with `fixed` word by word, and `fixed` with the expectation beside the program.

use crate::languages;
use crate::languages::{Outcome, cases, climb, climb_records, climb_text, extremes, machines};
use arch::machine::MachineSpec;
use compiler::fixed::{state_between_records, verify};
use compiler::image::text::Written;
use compiler::language::Language;
use compiler::placed::Axis;
use serde_json::json;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::Climb;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// First line of the list.
const HEAD: &str = "# Programs that end in E-BACKEND, and why.\n";

#[test]
fn programs_of_the_other_languages_climb_the_ladder() {
    let (mut refused, mut failures) = (HEAD.to_owned(), Vec::new());
    let (mut programs, mut reached) = (0, 0);
    for case in cases(&["tc", "tile", "rink"]) {
        programs += 1;
        let mut reasons = Vec::new();
        for spec in machines() {
            match climb(&case, &spec) {
                Outcome::Climbs(climb) => {
                    let written = Written(climb.image().clone());
                    if written.to_string().parse() != Ok(written) {
                        failures.push(format!(
                            "{} on {}: its image does not read back",
                            case.file,
                            climb.image().machine
                        ));
                    }
                    let grid = Array::new(&climb.image().machine);
                    if let Err(fall) = climb.run(grid, Stalls::none()) {
                        failures.push(format!("{} on {}: {fall}", case.file, climb.image().machine));
                    }
                    if let Err(why) = climb.prove() {
                        failures.push(format!("{} on {}: {why}", case.file, climb.image().machine));
                    }
                    failures.extend(
                        case.complaints(&climb)
                            .into_iter()
                            .map(|why| format!("{} on {}: {why}", case.file, climb.image().machine)),
                    );
                }
                Outcome::Refused(reason) => reasons.push(reason),
            }
        }
        reached += usize::from(reasons.is_empty());
        reasons.dedup();
        for reason in reasons {
            writeln!(refused, "{}: {reason}", case.file).unwrap();
        }
    }
    println!("{reached} of {programs} programs run");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/refused.txt");
    if std::env::var_os("ACCEPT").is_some() {
        std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
        std::fs::write(&golden, &refused).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).expect("the list of refusals is there");
    assert_eq!(refused, expected, "the list of refusals changed: look at it, then run with ACCEPT=1");
    assert!(reached * 100 >= programs * 80, "only {reached} of {programs} programs run");
}

/// Three records share a step, of seven in all; each has the words that it has alone.
#[test]
fn records_of_a_step_have_the_words_of_each_alone() {
    let spec = MachineSpec { data_depth: Some(1024), program_depth: Some(512), ..machines()[1].clone() };
    let (mut programs, mut failures) = (0, Vec::new());
    for case in cases(&["tc", "tile", "rink"]) {
        let Outcome::Climbs(alone) = climb_records(&case, &spec, 7) else { continue };
        if state_between_records(&alone.fixed).is_some() {
            continue;
        }
        let Ok(together) = alone.together(3, &spec) else { continue };
        verify(&together.step);
        programs += 1;
        let fell = |why: String| format!("{}: {why}", case.file);
        let run = |climb: &Climb| climb.run(Array::new(&climb.image().machine), Stalls::none());
        failures.extend(run(&together).err().map(|fall| fell(fall.to_string())));
        failures.extend(together.prove().err().map(fell));
    }
    println!("{programs} programs");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(programs > 100, "only {programs} programs have steps of three records");
}

/// What needs no rounding has none, in TABLA as in the others.
#[test]
fn exact_programs_are_exact() {
    let mut failures = Vec::new();
    let mut programs = 0;
    for case in cases(&["tabla"]).into_iter().filter(languages::Case::is_exact) {
        programs += 1;
        for spec in machines() {
            match climb(&case, &spec) {
                Outcome::Climbs(climb) => failures.extend(
                    case.complaints(&climb)
                        .into_iter()
                        .map(|why| format!("{} of {} bits: {why}", case.file, climb.fixed.word)),
                ),
                Outcome::Refused(reason) => failures.push(format!("{}: {reason}", case.file)),
            }
        }
    }
    assert!(programs >= 4, "only {programs} programs");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What cannot run says which part of the program it is, and never gives a wrong answer.
#[test]
fn what_cannot_run_is_refused_by_name() {
    let small = &machines()[1];
    for (text, inputs, why) in [
        (
            "def f(int32(N) A) -> (O) { O(i) = A(i) + 1 }",
            json!({ "A": [1, 100_000] }),
            "line 1: E-BACKEND the integers of `A` do not fit words of 16 bits",
        ),
        (
            "def f(int32(N) A) -> (O) {\n  B(i) = 300 * A(i)\n  O(i) = B(i) * B(i)\n}",
            json!({ "A": [1, 2] }),
            "line 3: E-BACKEND the integers of `O` do not fit words of 16 bits",
        ),
    ] {
        match climb_text(Language::TensorComprehensions, text, &inputs, None, small) {
            Outcome::Refused(reason) => assert!(reason.starts_with(why), "{reason}"),
            Outcome::Climbs(_) => panic!("accepted: {text}"),
        }
    }
}

/// What is read at sums of indices lies inside the PEs or, as windows, anywhere.
#[test]
fn windows_change_no_word() {
    let spec = MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(4),
        model_depth: Some(1024),
        data_depth: Some(1024),
        temporary_depth: Some(1024),
        program_depth: Some(1024),
        divider: Some(true),
        extremes: Some(true),
        squares: Some(true),
        ..MachineSpec::default()
    };
    let (mut climbs, mut axes, mut programs) = (0, BTreeSet::new(), BTreeSet::new());
    for case in cases(&["tc", "tile"]) {
        let Outcome::Climbs(best) = climb(&case, &spec) else { continue };
        for number in 0..48 {
            let Some(climb) = best.elsewhere(number) else { continue };
            let windows = climb.compiled.placement.iter().filter(|(name, _)| name.contains(".at"));
            let windows: Vec<Axis> = windows.flat_map(|(_, axes)| axes.clone()).collect();
            if windows.is_empty() {
                continue;
            }
            axes.extend(windows);
            programs.insert(case.file.clone());
            climbs += 1;
            let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none());
            assert!(agreement.is_ok(), "{}, placement {number}: {}", case.file, agreement.unwrap_err());
        }
    }
    println!("{climbs} climbs of {} programs, on {axes:?}", programs.len());
    assert!(programs.len() >= 8 && climbs >= 100 && axes.len() >= 4, "{climbs} {programs:?} {axes:?}");
}

/// Maxima and minima lie where sums do: inside a PE, over rows, columns, all PEs, with and without a start, of words and of products.
#[test]
fn extremes_do_not_depend_on_the_placement() {
    let mut axes = BTreeSet::new();
    let mut climbs = 0;
    for spec in [&machines()[1], &MachineSpec { pus: Some(3), pes_per_pu: Some(5), ..machines()[1].clone() }] {
        for (text, inputs) in &extremes() {
            let best = match climb_text(Language::TensorComprehensions, text, inputs, None, spec) {
                Outcome::Climbs(best) => best,
                Outcome::Refused(why) => panic!("{why}: {text}"),
            };
            // Nothing is rounded: all values are multiples of 1/32.
            assert!(best.distance.abs() < 1e-9, "{} last places: {text}", best.distance);
            let compares = |image: &arch::Image| image.alu.iter().filter(|i| i.combine.compares()).count();
            assert!(compares(best.image()) > 0, "{text}");
            for number in 0..40 {
                let Some(climb) = best.elsewhere(number) else { continue };
                let comparing = climb.image().alu.iter().filter(|i| i.combine.compares());
                axes.extend(comparing.map(|i| (i.tree, i.mask.flat)));
                climbs += 1;
                let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none());
                assert!(agreement.is_ok(), "{text}, placement {number}: {}", agreement.unwrap_err());
            }
        }
    }
    println!("{climbs} climbs, {axes:?}");
    // Inside the PEs, through trees from rows or columns, from all PEs.
    assert!(climbs >= 200 && [(false, false), (true, false), (true, true)].iter().all(|kind| axes.contains(kind)));
}
