//! The AXI shell under Icarus Verilog, with cocotb and the bus masters of cocotbext-axi as client: `axi_client/shell.py`. It knows
//! docs/registers.md only, so it shares nothing with the bus model of `axi.rs`.
//!
//!     program ──▶ image, input, words as `fixed` has them ──▶ case.json ─┐
//!     machine ──▶ Verilog with its shell ──────────────────▶ design.v ──┴─▶ axi_client/run.py

use crate::logistic::{ALL, climb};
use arch::axi::Geometry;
use arch::machine::MachineSpec;
use arch::registers;
use arch::tools::Toolbox;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use hdl::shell;
use serde_json::json;
use sim::array::Array;
use sim::grid::{Recorded, Stalls};
use sim::ladder::Climb;
use std::fs;
use std::path::Path;
use std::process::Command;

/// As configs/zcu102.toml, with fewer PEs.
fn spec() -> MachineSpec {
    MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(4),
        word: Some(16),
        stream_words: Some(8),
        model_depth: Some(64),
        data_depth: Some(64),
        temporary_depth: Some(64),
        program_depth: Some(64),
        table_entries: Some(64),
        ..MachineSpec::default()
    }
}

/// Training that tells its predictions.
fn training(batch: Batch) -> Options {
    Options { keep: Keep::Training { predictions: vec!["h".to_owned()] }, batch }
}

/// A program that uses the scalar unit.
fn scalar_climb(steps: usize) -> Climb {
    let spec = MachineSpec { scalar: Some(true), ..spec() };
    let best = climb(&spec, steps, &training(ALL.batch));
    let mut others = (0..40).filter_map(|number| best.elsewhere(number));
    let found = others.find(|climb| !climb.image().scalar.is_empty()).expect("in some placement the scalar unit works");
    found.prove().unwrap_or_else(|why| panic!("{why}"));
    found
}

/// Design and case in a folder.
fn write_case(folder: &Path, climb: &Climb) {
    let machine = &climb.image().machine;
    fs::write(folder.join("design.v"), shell::axi(machine).verilog).unwrap();
    let mut recorded = Recorded::new(Array::new(machine));
    climb.run(&mut recorded, Stalls::none()).unwrap_or_else(|fall| panic!("{fall}"));
    let session = recorded.into_session();
    let (writes, runs) = session.writes.split_at(session.writes.iter().position(|w| w.0 == registers::STEPS).unwrap());
    let written = |number: u32| runs.iter().find(|write| write.0 == number).unwrap().1;
    let expected: Vec<i64> = session.results.iter().flat_map(|(beat, _)| beat.clone()).collect();
    let Geometry { lane, outputs, .. } = Geometry::of(machine);
    let case = json!({
        "lane": lane,
        "outputs": outputs,
        "writes": writes,
        "steps": written(registers::STEPS),
        "flags": written(registers::CONTROL),
        "beats": session.beats,
        "expected": expected,
    });
    fs::write(folder.join("case.json"), case.to_string()).unwrap();
}

/// Run tests of `axi_client/shell.py`, all if none is named; what was said, and whether they passed.
fn client(climb: &Climb, tests: &[&str], change: impl Fn(String) -> String) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    write_case(folder.path(), climb);
    let design = folder.path().join("design.v");
    fs::write(&design, change(fs::read_to_string(&design).unwrap())).unwrap();
    let python = Toolbox::default().folder().join("bin/python3");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hardware/axi_client/run.py");
    let mut command = Command::new(python);
    command.arg(script).arg(folder.path()).args(tests);
    let output = command.output().unwrap_or_else(|error| panic!("{error}; run scripts/setup"));
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_scalar_program() {
    let (passed, said) = client(&scalar_climb(3), &[], |design| design);
    assert!(passed, "{said}");
}

/// Two words of output per transfer.
#[test]
fn a_wide_output() {
    let climb = climb(&MachineSpec { output_words: Some(2), ..spec() }, 4, &training(ALL.batch));
    let tests = ["all_words_are_right", "half_an_input_then_abort", "output_that_is_not_taken_then_abort"];
    let (passed, said) = client(&climb, &tests, |design| design);
    assert!(passed, "{said}");
    // A packet that is half as long as it should be.
    let (right, wrong) = (".words(output_words >> 1)", ".words(output_words >> 2)");
    let change = |design: String| {
        assert_eq!(design.matches(right).count(), 1, "the text has changed");
        design.replace(right, wrong)
    };
    assert!(!client(&climb, &tests[..1], change).0, "nobody noticed {wrong}");
}

#[test]
fn a_tiled_program() {
    let batch = Batch { size: 24, reduction: Reduction::Mean };
    let climb = climb(&MachineSpec { data_depth: Some(16), ..spec() }, 2, &training(batch));
    assert!(climb.image().tiles > 1, "the batch comes in tiles");
    let tests = ["all_words_are_right", "half_an_input_then_abort"];
    let (passed, said) = client(&climb, &tests, |design| design);
    assert!(passed, "{said}");
}

/// Faults, each of which a test notices.
#[test]
fn what_is_broken_is_found() {
    let climb = scalar_climb(2);
    for (test, right, wrong) in [
        ("illegal_accesses", "4'd6: is_memory = 1'b1;", "4'd6: is_memory = 1'b0;"),
        ("input_without_a_run_is_thrown_away", ".clear(!active)", ".clear(reset)"),
        ("a_run_is_not_disturbed", "closing || next == length", "closing || next == words"),
        ("output_that_is_not_taken_then_abort", ".clear(reset)", ".clear(reset || stopping)"),
    ] {
        let change = |design: String| {
            assert_eq!(design.matches(right).count(), 1, "`{right}` stands once in the design");
            design.replace(right, wrong)
        };
        let (passed, said) = client(&climb, &[test], change);
        assert!(!passed && said.contains(test), "{test} did not notice {wrong}:\n{said}");
    }
}
