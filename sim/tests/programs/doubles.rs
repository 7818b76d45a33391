//! Duplicated placements are proven to be the same, and faster than words that stay in their PE.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use compiler::tensor::Role;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};

/// A program on 4 x 4 PEs, with values between -1 and 1.
fn climbed(text: &str) -> Climb {
    let (program, _) = language::parse(Language::TensorComprehensions, text, &language::Options::default()).unwrap();
    let inputs = program.tensors.iter().filter(|tensor| tensor.role == Role::Input);
    let value = |n: u32| f64::from((n * 7919 + 13) % 257) / 128.0 - 1.0;
    let values: NamedValues =
        inputs.map(|tensor| (tensor.name.clone(), (0..tensor.shape.iter().product()).map(value).collect())).collect();
    let results = program.tensors.iter().filter(|tensor| tensor.role == Role::Output);
    let names = results.map(|tensor| tensor.name.clone()).collect();
    let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    let spec = MachineSpec { pus: Some(4), pes_per_pu: Some(4), ..MachineSpec::default() };
    Climb::new(&program, &options, &NamedValues::new(), &[values.clone(), values], &spec).unwrap()
}

/// Programs with the beats of their products on one PE, of which 16 PEs need less than a quarter.
#[test]
fn one_tensor_for_each_way_to_read_it() {
    for (text, one_pe) in [
        ("def f(float(16,16) A) -> (C) { C(i,j) +=! A(i,k) * A(k,j) }", 16 * 16 * 16),
        ("def f(float(16) X) -> (R) { R(i) +=! X(j) < X(i) ? 1.0 : 0.0 }", 2 * 16 * 16),
        (
            "def f(float(12,8) X) -> (C) { M(j) +=! X(n,j) / 12.0  D(n,j) = X(n,j) - M(j)  C(i,j) +=! D(n,i) * D(n,j) }",
            8 * 8 * 12,
        ),
        ("def f(float(16,4) X) -> (S) { S(i,j) +=! (X(i,k) - X(j,k)) * (X(i,k) - X(j,k)) }", 2 * 16 * 16 * 4),
    ] {
        let climb = climbed(text);
        let cycles = climb.compiled.alternatives[0].cycles();
        assert!(4 * cycles < one_pe, "{text}: {cycles} cycles");
        let words = climb
            .run(Array::new(&climb.image().machine), Stalls::none())
            .unwrap_or_else(|fall| panic!("{text}: {fall}"));
        assert!(words.words > 0);
        climb.prove().unwrap_or_else(|why| panic!("{text}: {why}"));
    }
}
