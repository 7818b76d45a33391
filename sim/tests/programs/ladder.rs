//! Every positive TABLA program climbs the ladder on three fixed machines.

use crate::cases;
use crate::made_up;
use arch::Image;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::derived::optimisers::{Method, Optimiser};
use compiler::derived::training::Training;
use compiler::image::text::Written;
use compiler::language::{self, Language};
use compiler::rounding::Rounding;
use compiler::tensor::Role;
use serde_json::Value;
use sim::array::Array;
use sim::eval::read_inputs;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use std::path::Path;

/// The machines: one row of 24 bit, a small grid, the grid of the published figures.
fn machines() -> Vec<MachineSpec> {
    let grid = |pus, pes_per_pu, word| MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        ..MachineSpec::default()
    };
    // The largest one sends four rows at a time.
    vec![grid(1, 2, 24), grid(2, 4, 16), MachineSpec { output_words: Some(4), ..grid(8, 8, 16) }]
}

/// Programs, by file name, that the back end refuses, and why.
const REFUSED: &[(&str, &str)] = &[];

fn split(program: &compiler::tensor::Program, inputs: &Value) -> (NamedValues, NamedValues) {
    let (mut model, mut step) = (NamedValues::new(), NamedValues::new());
    for (tensor, elements) in read_inputs(program, inputs).expect("inputs of the case fit") {
        let tensor = &program.tensors[tensor.0];
        let state = matches!(tensor.role, Role::State);
        let values = elements.into_iter().map(|e| e.unwrap_or(0.0)).collect();
        if state { &mut model } else { &mut step }.insert(tensor.name.clone(), values);
    }
    (model, step)
}

/// Whether the text of an image is read as the same image.
fn reads_back(image: &Image) -> bool {
    let written = Written(image.clone());
    written.to_string().parse() == Ok(written)
}

#[test]
fn tabla_programs_climb_the_ladder() {
    let mut failures = Vec::new();
    let mut climbed = 0;
    for case in cases::of("tabla").iter().filter(|case| case["kind"] == "positive") {
        let file = case["file"].as_str().unwrap();
        let text = std::fs::read_to_string(cases::folder().join(file)).unwrap();
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
            if !reads_back(climb.image()) {
                failures.push(format!("{file} on {}: its image does not read back", climb.image().machine));
            }
            let grid = Array::new(&climb.image().machine);
            match climb.run(grid, Stalls::none()) {
                Ok(_) => climbed += 1,
                Err(fall) => failures.push(format!("{file} on {}: {fall}", climb.image().machine)),
            }
            if let Err(why) = climb.prove() {
                failures.push(format!("{file} on {}: {why}", climb.image().machine));
            }
        }
    }
    println!("{climbed} climbs");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The published algorithms, strictly and in batches of both kinds.
#[test]
fn published_programs_climb_the_ladder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "t"));
    files.sort();
    assert!(files.len() >= 7, "{files:?}");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (program, _) = language::parse(Language::Tabla, &text, &language::Options::default()).unwrap();
        for (size, reduction) in [(1, Reduction::Mean), (4, Reduction::Mean), (3, Reduction::Sum)] {
            let (model, steps) = made_up::values(&program, size, 2);
            let options = Options { keep: Keep::Training { predictions: vec![] }, batch: Batch { size, reduction } };
            for spec in machines() {
                let climb = Climb::new(&program, &options, &model, &steps, &spec)
                    .unwrap_or_else(|errors| panic!("{path:?}, batch {size}: {errors:?}"));
                assert!(reads_back(climb.image()), "{path:?}, batch {size}: its image does not read back");
                let grid = Array::new(&climb.image().machine);
                climb.run(grid, Stalls::none()).unwrap_or_else(|fall| panic!("{path:?}, batch {size}: {fall}"));
                climb.prove().unwrap_or_else(|why| panic!("{path:?}, batch {size}: {why}"));
            }
        }
    }
}

/// Weights that round in their own way: every optimiser, a rate that decays weights, batches; bit for bit, and proved.
#[test]
fn roundings_climb_the_ladder() {
    let roundings = [Rounding::Nearest { master: 20 }, Rounding::Stochastic];
    let of = |method, weight_decay| Optimiser { method, weight_decay, ..Optimiser::PLAIN };
    let optimisers = [
        of(Method::Sgd, 0.0),
        of(Method::Sgd, 0.01),
        of(Method::Nesterov { momentum: 0.9 }, 0.0),
        of(Method::Lion { momentum: 0.9, decay: 0.99 }, 0.01),
        of(Method::Adam { momentum: 0.9, decay: 0.999, epsilon: 1e-4 }, 0.0),
    ];
    let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(4), word: Some(12), ..MachineSpec::default() };
    for name in ["logistic", "softmax", "backpropagation"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs").join(name).with_extension("t");
        let text = std::fs::read_to_string(path).unwrap();
        for rounding in roundings {
            for (number, optimiser) in optimisers.into_iter().enumerate() {
                let training = Some(Training { objective: None, optimiser, rounding });
                let small = [("l1", 9.0), ("l2", 7.0), ("l3", 3.0)].map(|(size, value)| (size.to_owned(), value));
                let set = if name == "backpropagation" { small.to_vec() } else { Vec::new() };
                let dialect = language::Options { training, set, ..language::Options::default() };
                let (program, _) = language::parse(Language::Tabla, &text, &dialect).unwrap();
                let (size, reduction) = [(1, Reduction::Mean), (4, Reduction::Mean), (3, Reduction::Sum)][number % 3];
                let (model, steps) = made_up::values(&program, size, 3);
                let options =
                    Options { keep: Keep::Training { predictions: vec![] }, batch: Batch { size, reduction } };
                let what = format!("{name}, {rounding:?}, {optimiser:?}, batch {size}");
                let climb = Climb::new_rounded(&program, &options, &model, &steps, &spec, rounding)
                    .unwrap_or_else(|errors| panic!("{what}: {errors:?}"));
                let carries = climb
                    .fixed
                    .tensors
                    .iter()
                    .filter(|tensor| tensor.name.rsplit_once('.').is_some_and(|(_, part)| part == "carry"))
                    .count();
                assert!(carries > 0, "{what}: nothing rounds in its own way\n{}", climb.fixed);
                assert!(reads_back(climb.image()), "{what}: its image does not read back");
                let grid = Array::new(&climb.image().machine);
                climb.run(grid, Stalls::none()).unwrap_or_else(|fall| panic!("{what}: {fall}"));
                climb.prove().unwrap_or_else(|why| panic!("{what}: {why}"));
            }
        }
    }
}

/// Sizes at which an index lies on the rows in one operation and on all PEs in the next.
#[test]
fn wide_layers_climb_the_ladder() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs/backpropagation.t");
    let text = std::fs::read_to_string(path).unwrap();
    let (mut tall, mut elsewhere) = (0, 0);
    for (pus, pes_per_pu, inputs, hidden, batch) in [
        (4, 8, 24, 40, 1),
        (4, 8, 24, 40, 3),
        (2, 6, 18, 30, 1),
        (3, 4, 16, 27, 1),
        (4, 4, 9, 52, 2),
        (4, 8, 24, 37, 1),
    ] {
        let set = [("l1", inputs), ("l2", hidden), ("l3", 4)].map(|(name, value)| (name.to_owned(), f64::from(value)));
        let dialect = language::Options { set: set.to_vec(), ..language::Options::default() };
        let (program, _) = language::parse(Language::Tabla, &text, &dialect).unwrap();
        let (model, steps) = made_up::values(&program, batch, 3);
        let batch = Batch { size: batch, reduction: Reduction::Mean };
        let options = Options { keep: Keep::Training { predictions: vec![] }, batch };
        let depth = Some(1 << 12);
        let spec = MachineSpec {
            pus: Some(pus),
            pes_per_pu: Some(pes_per_pu),
            model_depth: depth,
            data_depth: depth,
            temporary_depth: depth,
            ..MachineSpec::default()
        };
        let climb = Climb::new(&program, &options, &model, &steps, &spec).unwrap_or_else(|errors| panic!("{errors:?}"));
        let changes = climb.compiled.placement.iter().any(|(_, axes)| axes.contains(&compiler::placed::Axis::Tall));
        println!("{pus} x {pes_per_pu}, {inputs}-{hidden}, batch {}: {changes}", batch.size);
        tall += usize::from(changes);
        for stalls in [Stalls::none(), Stalls::seeded(3, 20, 20)] {
            let grid = Array::new(&climb.image().machine);
            climb.run(grid, stalls).unwrap_or_else(|fall| panic!("{pus} x {pes_per_pu}, {inputs}-{hidden}: {fall}"));
        }
        for other in (1..40).step_by(5).filter_map(|number| climb.elsewhere(number)) {
            let grid = Array::new(&other.image().machine);
            let fall = |fall| panic!("{pus} x {pes_per_pu}, {inputs}-{hidden}, elsewhere: {fall}");
            other.run(grid, Stalls::none()).unwrap_or_else(fall);
            elsewhere += 1;
        }
    }
    assert!(tall >= 3, "{tall} of 6 placements change over");
    assert!(elsewhere >= 24, "{elsewhere} climbs with other placements");
}
