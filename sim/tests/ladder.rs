//! Every positive TABLA program climbs the ladder on three fixed machines.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use serde_json::Value;
use sim::array::Array;
use sim::eval::read_inputs;
use sim::grid::Stalls;
use sim::ladder::{Climb, Values};
use std::path::Path;

/// The machines: one row of 24 bit, a small grid, the grid of the published figures.
fn machines() -> Vec<MachineSpec> {
    let grid = |pus, pes_per_pu, word| MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        ..MachineSpec::default()
    };
    vec![grid(1, 2, 24), grid(2, 4, 16), grid(8, 8, 16)]
}

/// Programs, by file name, that the back end refuses, and why.
const REFUSED: &[(&str, &str)] = &[];

fn split(program: &compiler::tensor::Program, inputs: &Value) -> (Values, Values) {
    let (mut model, mut step) = (Values::new(), Values::new());
    for (tensor, elements) in read_inputs(program, inputs).expect("inputs of the manifest fit") {
        let tensor = &program.tensors[tensor.0];
        let state = matches!(tensor.role, compiler::tensor::Role::State);
        let values = elements.into_iter().map(|e| e.unwrap_or(0.0)).collect();
        if state { &mut model } else { &mut step }.insert(tensor.name.clone(), values);
    }
    (model, step)
}

#[test]
fn tabla_programs_climb_the_ladder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance");
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
    let cases = manifest["cases"].as_array().unwrap();
    let mut failures = Vec::new();
    let mut climbed = 0;
    for case in cases.iter().filter(|c| c["lang"] == "tabla" && c["kind"] == "positive") {
        let file = case["file"].as_str().unwrap();
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let (program, _) = language::parse(Language::Tabla, &text, &language::Options::default()).unwrap();
        let none = Value::Object(serde_json::Map::new());
        let (model, step) = split(&program, case.get("inputs").unwrap_or(&none));
        for spec in machines() {
            let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
            let steps = vec![step.clone(); 3];
            let climb = match Climb::new(&program, &options, &model, &steps, &spec) {
                Ok(climb) => climb,
                Err(errors) => {
                    let expected =
                        REFUSED.iter().any(|(name, why)| file.ends_with(name) && errors[0].message.contains(why));
                    if !expected {
                        failures.push(format!("{file}: {}", errors[0].message));
                    }
                    continue;
                }
            };
            let grid = Array::new(&climb.image().machine);
            match climb.run(grid, Stalls::none()) {
                Ok(_) => climbed += 1,
                Err(fall) => failures.push(format!("{file} on {}: {fall}", climb.image().machine)),
            }
        }
    }
    println!("{climbed} climbs");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
