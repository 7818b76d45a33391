//! Powers of two between a sum and a function: the program with the factor in the sum means what is written.

use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::language::{self, Language};
use serde_json::json;
use sim::eval::evaluate;
use sim::plain::Plain;

const TEXT: &str = "def f(float(3,4) X, float(2,4) C) -> (P, Q) {
  D(i,j) +=! (X(i,k) - C(j,k)) * (X(i,k) - C(j,k))
  P(i,j) = exp(-0.0625 * D(i,j))
  S(i,j) +=! X(i,k) * C(j,k)
  Q(i,j) = tanh(0.25 * S(i,j))
}";

/// The formulas, element by element.
#[test]
fn functions_have_the_same_values() {
    let x: Vec<Vec<f64>> =
        (0..3).map(|i| (0..4).map(|k| f64::from((4 * i + k) * 7 % 17 - 8) / 8.0).collect()).collect();
    let c: Vec<Vec<f64>> =
        (0..2).map(|j| (0..4).map(|k| f64::from((4 * j + k) * 5 % 17 - 8) / 8.0).collect()).collect();
    let (program, _) = language::parse(Language::TensorComprehensions, TEXT, &language::Options::default()).unwrap();
    let names = vec!["P".to_owned(), "Q".to_owned()];
    let keep = Keep::Prediction { names, states: Vec::new() };
    let scaled = canonicalise(&program, &Options { keep, batch: Batch::SINGLE }).unwrap();
    let nests: Vec<&str> = scaled.nests.iter().map(|nest| scaled.tensors[nest.out.0].name.as_str()).collect();
    // A difference, two sums and two functions: no product with a factor.
    assert_eq!(nests.len(), 5, "{scaled}");
    let found = evaluate(&scaled, &json!({ "X": x, "C": c }), &mut Plain::new(&scaled)).unwrap();
    for (i, x) in x.iter().enumerate() {
        for (j, c) in c.iter().enumerate() {
            let distance: f64 = x.iter().zip(c).map(|(x, c)| (x - c) * (x - c)).sum();
            let product: f64 = x.iter().zip(c).map(|(x, c)| x * c).sum();
            for (name, value) in [("P", (-distance / 16.0).exp()), ("Q", (product / 4.0).tanh())] {
                let element = found["values"][name][i][j].as_f64().expect("a number");
                assert!((element - value).abs() < 1e-12, "{name}[{i}][{j}] is {element}, not {value}: {nests:?}");
            }
        }
    }
}
