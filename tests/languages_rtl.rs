//! The last rung for Tensor Comprehensions, Tile and the model language: generated Verilog, run by Verilator in lockstep with
//! the array, on two fixed machines, one library each.
//!
//! Which programs the back end refuses is the business of `sim/tests/ladder_languages.rs`.

#[path = "../sim/tests/languages/mod.rs"]
mod languages;

use arch::Machine;
use compiler::language::Language;
use languages::{Outcome, cases, climb, climb_text, extremes, machines};
use sim::array::Array;
use sim::grid::{Lockstep, Stalls};
use sim::verilator::{GridDevice, Library};

#[test]
fn programs_of_the_other_languages_run_on_the_rtl() {
    let (mut failures, mut words) = (Vec::new(), 0);
    let cases = cases(&["tc", "tile", "rink"]);
    for spec in machines() {
        let machine = Machine::try_from(spec.clone()).unwrap();
        let library = Library::build(&hdl::elaborate(&machine), &sim::verilator::Options::default()).unwrap();
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
