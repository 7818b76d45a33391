//! Losses of another making: gradients of the golden engine beside those of JAX, from a file that `measure losses` writes.

use crate::duals::Compared;
use compiler::derived::training::{Measure, Minimised, Training};
use compiler::derived::{Objective, derive, optimisers::Optimiser};
use compiler::language::{self, Language, Options};
use compiler::rounding::Rounding;
use compiler::tensor::{Program, TensorId};
use serde_json::Value;
use sim::eval::{Engine, read_inputs, with_shapes_of};
use sim::golden::Golden;
use sim::ladder::NamedValues;

/// Part of the largest element of a gradient, or of 1, that it may be off by.
const MOST: f64 = 1e-9;

/// One loss: the program without its gradients, what it minimises, values for all that it reads, and what JAX says.
pub(crate) struct Loss {
    pub(crate) name: String,
    pub(crate) source: Program,
    pub(crate) objective: Objective,
    pub(crate) values: NamedValues,
    expected: Value,
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

/// All losses of the file.
pub(crate) fn all() -> Vec<Loss> {
    let file: Value = serde_json::from_str(include_str!("losses.json")).expect("JSON");
    file["losses"].as_array().expect("losses").iter().map(read).collect()
}

fn read(entry: &Value) -> Loss {
    let text = |key: &str| entry[key].as_str().expect("a text").to_owned();
    let name = text("name");
    let language = Language::of_extension(&text("language")).expect("a known extension");
    let weights = entry["gradients"].as_object().expect("gradients").keys().cloned().collect();
    let (loss, prediction) = (Measure::Scalar(text("loss")), String::new());
    let minimised = Minimised { loss, prediction, label: None, weights, rate: Some(0.07) };
    let training = Training { objective: Some(minimised), optimiser: Optimiser::PLAIN, rounding: Rounding::default() };
    let training = (language != Language::Tabla).then_some(training);
    let options = with_shapes_of(&entry["inputs"], Options { training, ..Options::default() });
    let (source, objective) =
        language::source(language, &text("text"), &options).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let values = read_inputs(&source, &entry["inputs"]).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let values = values.into_iter().map(|(id, elements)| {
        (source.tensors[id.0].name.clone(), elements.into_iter().map(|element| element.expect("a value")).collect())
    });
    let values = values.collect();
    Loss { name, objective: objective.expect("it is minimised"), values, expected: entry.clone(), source }
}

/// Golden after one step of a program.
pub(crate) fn golden(program: &Program, values: &NamedValues) -> Golden {
    let mut golden = Golden::new(program);
    for (name, values) in values {
        golden.set(TensorId(program.tensors.iter().position(|t| t.name == *name).expect("it is there")), values);
    }
    golden.step().expect("values with a result");
    golden
}

#[test]
fn gradients_equal_those_of_jax() {
    let losses = all();
    assert!(losses.len() >= 30, "{} losses", losses.len());
    let (mut largest, mut count, mut wrong) = (0.0f64, 0, Vec::new());
    for loss in &losses {
        let derived =
            derive(&loss.source, &loss.objective).unwrap_or_else(|errors| panic!("{}: {errors:?}", loss.name));
        let golden = golden(&derived, &loss.values);
        let value = |name: &str| {
            let id = derived.names.iter().rev().find(|(known, _)| known == name).expect("a name").1;
            Engine::value(&golden, id).into_iter().map(|value| value.unwrap_or(0.0)).collect::<Vec<f64>>()
        };
        let mut pairs =
            vec![(value(loss.expected["loss"].as_str().expect("a name")), numbers(&loss.expected["value"]))];
        for (weight, gradient) in loss.expected["gradients"].as_object().expect("gradients") {
            pairs.push((value(&format!("{weight}.gradient")), numbers(gradient)));
        }
        for (found, expected) in pairs {
            assert_eq!(found.len(), expected.len(), "{}", loss.name);
            let scale = expected.iter().fold(1.0f64, |most, value| most.max(value.abs()));
            for (found, expected) in found.iter().zip(&expected) {
                let error = (found - expected).abs() / scale;
                if error.is_nan() || error > MOST {
                    wrong.push(format!("{}: {found}, not {expected}", loss.name));
                }
                largest = largest.max(error);
                count += 1;
            }
        }
    }
    println!("{} losses, {count} numbers, largest error {largest:.1e}", losses.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn gradients_equal_slopes_of_dual_numbers() {
    let mut compared = Compared::default();
    for loss in &all() {
        compared.check(&loss.name, &loss.source, &loss.objective, &loss.values);
    }
    println!("{compared:?}");
    assert!(compared.programs >= 30 && compared.undefined == 0, "{compared:?}");
}
