//! The last rung for Tensor Comprehensions, Tile and the model language: generated Verilog, run by Verilator in lockstep with
//! the array, on two fixed machines, one library each.
//!
//! Which programs the back end refuses is the business of `sim/tests/programs/ladder_languages.rs`.

#[path = "../sim/tests/programs/languages.rs"]
mod languages;

use arch::Machine;
use compiler::language::Language;
use languages::{Outcome, calls, cases, climb, climb_text, extremes, machines};
use sim::array::Array;
use sim::grid::{Lockstep, Stalls};
use sim::verilator::{GridDevice, Library};

#[test]
fn programs_of_the_other_languages_run_on_the_rtl() {
    let (mut failures, mut words) = (Vec::new(), 0);
    let cases = cases(&["tc", "tile", "rink"]);
    for spec in machines() {
        let machine = Machine::try_from(spec.clone()).unwrap();
        let library = Library::build(&hdl::elaborate(&machine), &sim::verilator::Options::brief()).unwrap();
        let mut programs = 0;
        for case in &cases {
            let Outcome::Climbs(climb) = climb(case, &spec) else { continue };
            programs += 1;
            for stalls in [Stalls::none(), Stalls::seeded(3, 40, 40)] {
                let mut pair = Lockstep::new(Array::new(&machine), GridDevice::new(&library, &machine));
                let agreement = climb.run(&mut pair, stalls);
                if let Some(mismatch) = pair.mismatch() {
                    failures.push(format!("{} on {machine}: array against rtl: {mismatch}", case.file));
                    continue;
                }
                match agreement {
                    Ok(agreement) => words += agreement.words,
                    Err(fall) => failures.push(format!("{} on {machine}: {fall}", case.file)),
                }
            }
        }
        // Maxima and minima inside PEs, over rows, columns and all PEs.
        for (text, inputs) in extremes() {
            let Outcome::Climbs(best) = climb_text(Language::TensorComprehensions, text, &inputs, None, &spec) else {
                panic!("refused: {text}")
            };
            for climb in (0..12).filter_map(|number| best.elsewhere(number)) {
                let mut pair = Lockstep::new(Array::new(&machine), GridDevice::new(&library, &machine));
                let agreement = climb.run(&mut pair, Stalls::none());
                assert!(pair.mismatch().is_none(), "{text} on {machine}: {}", pair.mismatch().expect("just seen"));
                words += agreement.unwrap_or_else(|fall| panic!("{text} on {machine}: {fall}")).words;
            }
        }
        println!("{programs} of {} programs on {machine}", cases.len());
        assert!(programs * 100 >= cases.len() * 80, "only {programs} of {} programs on {machine}", cases.len());
    }
    println!("{words} words compared");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The whole table of functions: what has hardware runs, in every language that spells it; what has none is refused by its name.
#[test]
fn every_function_runs_on_the_rtl() {
    for spec in machines() {
        let machine = Machine::try_from(spec.clone()).unwrap();
        let library = Library::build(&hdl::elaborate(&machine), &sim::verilator::Options::brief()).unwrap();
        for call in calls() {
            let about = format!("{} in {}, {machine}", call.name, call.language.extension());
            let climb = match climb_text(call.language, &call.text, &call.inputs, None, &spec) {
                Outcome::Climbs(climb) => climb,
                Outcome::Refused(reason) => {
                    let named = reason.contains(&format!("`{}`", call.function));
                    assert!(named && !call.is_for_the_grid(), "{about}: {reason}");
                    continue;
                }
            };
            assert!(call.is_for_the_grid(), "{about}: the table says that the grid does not compute it");
            // The narrow words hold four or five bits after the point of what is squared and multiplied on the way.
            let distance = call.distance(&climb);
            assert!(distance < 1.0 / 64.0, "{about}: off by {distance}");
            let mut pair = Lockstep::new(Array::new(&machine), GridDevice::new(&library, &machine));
            let agreement = climb.run(&mut pair, Stalls::none());
            assert!(pair.mismatch().is_none(), "{about}: array against rtl: {}", pair.mismatch().expect("just seen"));
            assert!(agreement.unwrap_or_else(|fall| panic!("{about}: {fall}")).words > 0, "{about}");
        }
    }
}
