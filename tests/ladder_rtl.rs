//! The last rung: generated Verilog, run by Verilator in lockstep with the array, on the three fixed machines.

#[path = "../sim/tests/cases/mod.rs"]
mod cases;
#[allow(dead_code, reason = "shared with the tests of the array, which need all of it")]
#[path = "../sim/tests/generator/mod.rs"]
mod random;

use arch::Machine;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use random::tape;
use random::trial::{Hardware, Kind, Verdict, hardware, hardware_for_tiles, keep, of_tape};
use serde_json::Value;
use sim::array::Array;
use sim::eval::read_inputs;
use sim::grid::{Lockstep, Stalls};
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{GridDevice, Library};
use std::path::Path;

fn machine(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        model_depth: Some(256),
        data_depth: Some(256),
        temporary_depth: Some(128),
        program_depth: Some(64),
        table_entries: Some(2048),
        scalar: Some(true),
        squares: Some(true),
        rectifiers: Some(pes_per_pu.is_multiple_of(2)),
        limits: Some(pes_per_pu.is_multiple_of(4)),
        loops: Some(6),
        column_buses: Some(pus.is_multiple_of(pes_per_pu) || pes_per_pu.is_multiple_of(pus)),
        ..MachineSpec::default()
    }
}

fn library(spec: &MachineSpec) -> (Machine, Library) {
    let machine = Machine::try_from(spec.clone()).unwrap();
    let library = Library::build(&hdl::elaborate(&machine), &sim::verilator::Options::brief()).unwrap();
    (machine, library)
}

/// Run a climb on array and RTL side by side, without and with stalls.
fn climb_rtl(climb: &Climb, machine: &Machine, library: &Library) -> Result<u64, String> {
    let mut words = 0;
    for stalls in [Stalls::none(), Stalls::seeded(3, 40, 40)] {
        let mut pair = Lockstep::new(Array::new(machine), GridDevice::new(library, machine));
        let agreement = climb.run(&mut pair, stalls);
        if let Some(mismatch) = pair.mismatch() {
            return Err(format!("array against rtl: {mismatch}"));
        }
        words += agreement.map_err(|fall| fall.to_string())?.words;
    }
    Ok(words)
}

fn split(program: &compiler::tensor::Program, inputs: &Value) -> (NamedValues, NamedValues) {
    let (mut model, mut step) = (NamedValues::new(), NamedValues::new());
    for (tensor, elements) in read_inputs(program, inputs).unwrap() {
        let tensor = &program.tensors[tensor.0];
        let state = matches!(tensor.role, compiler::tensor::Role::State);
        let values = elements.into_iter().map(|e| e.unwrap_or(0.0)).collect();
        if state { &mut model } else { &mut step }.insert(tensor.name.clone(), values);
    }
    (model, step)
}

#[test]
fn tabla_programs_run_on_the_rtl() {
    let cases = cases::of("tabla");
    let mut failures = Vec::new();
    let mut words = 0;
    // The largest one sends four rows at a time.
    let four = MachineSpec { output_words: Some(4), ..machine(8, 8, 16) };
    for spec in [machine(1, 2, 24), machine(2, 4, 16), four] {
        let (machine, library) = library(&spec);
        for case in cases.iter().filter(|case| case["kind"] == "positive") {
            let file = case["file"].as_str().unwrap();
            let text = std::fs::read_to_string(cases::folder().join(file)).unwrap();
            let (program, _) = language::parse(Language::Tabla, &text, &language::Options::default()).unwrap();
            let none = Value::Object(serde_json::Map::new());
            let (model, step) = split(&program, case.get("inputs").unwrap_or(&none));
            let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
            let climb = Climb::new(&program, &options, &model, &vec![step; 2], &spec).unwrap();
            match climb_rtl(&climb, &machine, &library) {
                Ok(compared) => words += compared,
                Err(why) => failures.push(format!("{file} on {machine}: {why}")),
            }
        }
    }
    println!("{words} words compared");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The same on hardware with gradient pads, whose data pads are too small for a batch.
#[test]
fn random_programs_run_in_tiles_on_the_rtl() {
    let hardware = Hardware::build(hardware_for_tiles(2, 4, 16));
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("sim/tests/random/found");
    let mut climbed = 0;
    for number in 0..40 {
        let tape = tape::random(8, number, 120);
        match of_tape(Kind::Tabla, &tape).run_in_tiles(&hardware.spec, Some(&hardware)) {
            Verdict::Climbed(climbs) => climbed += climbs,
            Verdict::Refused(_) => {}
            Verdict::Fell(_) => {
                let name = format!("rtl-tiles-{number}");
                let again = |trial: &random::trial::Trial| trial.run_in_tiles(&hardware.spec, Some(&hardware));
                panic!("{}", keep(Kind::Tabla, &tape, &found, &name, again));
            }
        }
    }
    println!("{climbed} climbs in tiles");
    assert!(climbed >= 10, "{climbed} climbs in tiles");
}

/// Random programs on hardware, with stalls, aborts and resets; one that falls is made small and kept where the tests replay it.
#[test]
fn random_programs_run_on_the_rtl() {
    let hardware = [Hardware::build(hardware(2, 4, 16))];
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("sim/tests/random/found");
    for (kind, count, least) in [(Kind::Tabla, 60, 30), (Kind::Ir, 30, 10)] {
        let mut climbed = 0;
        for number in 0..count {
            let tape = tape::random(2, number, 150);
            match of_tape(kind, &tape).run(&[], &hardware) {
                Verdict::Climbed(climbs) => climbed += climbs,
                // What a machine of this size refuses has tests of its own.
                Verdict::Refused(_) => {}
                Verdict::Fell(_) => {
                    let name = format!("rtl-{kind:?}-{number}").to_lowercase();
                    panic!("{}", keep(kind, &tape, &found, &name, |trial| trial.run(&[], &hardware)));
                }
            }
        }
        println!("{climbed} climbs, {kind:?}");
        assert!(climbed >= least, "only {climbed} climbs, {kind:?}");
    }
}
