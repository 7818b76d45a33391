//! Each means makes some program faster, and no word depends on it.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use compiler::means::{Means, Without};
use compiler::tensor::Role;
use sim::array::Array;
use sim::benchmarks::{self, Prepared};
use sim::grid::Stalls;
use sim::ladder::{Climb, Values};
use sim::pace::cycles_per_step;

/// A function on 4 x 4 PEs with so many words of input per cycle, and values between -1 and 1.
fn function(text: &str, stream_words: u32) -> impl Fn(Without) -> Climb + '_ {
    move |without| {
        let options = language::Options::default();
        let (program, _) = language::parse(Language::TensorComprehensions, text, &options).unwrap();
        let inputs = program.tensors.iter().filter(|tensor| tensor.role == Role::Input);
        let value = |n: u32| f64::from((n * 7919 + 13) % 257) / 128.0 - 1.0;
        let values: Values = inputs
            .map(|tensor| (tensor.name.clone(), (0..tensor.shape.iter().product()).map(value).collect()))
            .collect();
        let results = program.tensors.iter().filter(|tensor| tensor.role == Role::Output);
        let names = results.map(|tensor| tensor.name.clone()).collect();
        let options = Options { keep: Keep::Prediction { names }, batch: Batch::SINGLE };
        let (pus, pes_per_pu, stream_words) = (Some(4), Some(4), Some(stream_words));
        let spec = MachineSpec { pus, pes_per_pu, stream_words, ..MachineSpec::default() };
        let steps = [values.clone(), values];
        Climb::new_without(&program, &options, &Values::new(), &steps, &spec, without).unwrap()
    }
}

/// Backpropagation through layers of so many units, on 4 x 8 PEs.
fn network([l1, l2, l3]: [u32; 3]) -> impl Fn(Without) -> Climb {
    let table = format!(
        "[[benchmark]]\nname = 'network'\nprogram = 'backpropagation.t'\nset = {{ l1 = {l1}, l2 = {l2}, l3 = {l3} }}\n\
         runs = [{{ pus = 4, pes_per_pu = 8 }}]\n"
    );
    let benchmark = benchmarks::read(&table).unwrap().remove(0);
    let text = include_str!("../../../programs/backpropagation.t");
    move |without| Prepared::new_without(&benchmark, &benchmark.runs[0], text, without).unwrap().climb
}

/// Cycles from step to step with and without a means; both with the right words, and near the same real numbers.
fn cycles(means: Means, climbed: impl Fn(Without) -> Climb) -> (f64, f64) {
    let one = |without: Without| {
        let climb = climbed(without);
        let words = climb.run(Array::new(&climb.image().machine), Stalls::none());
        let words = words.unwrap_or_else(|fall| panic!("{means}: {fall}")).words;
        assert!(words > 0, "{means}");
        let cycles = |grid: fn(&arch::Machine) -> Array| {
            cycles_per_step(climb.image(), || grid(&climb.image().machine)).unwrap()
        };
        // Who only counts cycles needs no words.
        assert_eq!(cycles(Array::new), cycles(Array::without_words), "{means}");
        (cycles(Array::without_words), climb.distance)
    };
    let ((with, near), (less, distance)) = (one(Without::NOTHING), one(Without::from_iter([means])));
    assert!((near - distance).abs() <= 1.0 / 16.0 + 1e-9, "{means}: {near} and {distance} last places from golden");
    (with, less)
}

#[test]
fn each_makes_a_program_faster() {
    for means in Means::all() {
        let (with, without) = match means {
            Means::Digits => cycles(
                means,
                function(
                    "def f(float(16,16) A, float(256) B) -> (C) { F(16*i+j) = A(i,j)  C(k) = F(k) * B(k) where k in 0:256 }",
                    16,
                ),
            ),
            Means::Quotients => cycles(
                means,
                function("def f(float(16,16) E, float(16) S) -> (P) { P(i,j) = E(i,j) / (S(i) * S(i) + 1.0) }", 16),
            ),
            Means::Windows => cycles(
                means,
                function("def f(float(18) X, float(3) H) -> (Y) { Y(n) +=! X(n+k) * H(k) where n in 0:16 }", 16),
            ),
            Means::Blocks => cycles(
                means,
                function("def f(float(79) X, float(16) H) -> (Y) { Y(n) +=! X(n+k) * H(k) where n in 0:64 }", 4),
            ),
            Means::Doubles => {
                cycles(means, function("def f(float(16,16) A) -> (C) { C(i,j) +=! A(i,k) * A(k,j) }", 16))
            }
            Means::Pieces => {
                cycles(means, function("def f(float(18,64) W, float(64) X) -> (Y) { Y(i) +=! W(i,l) * X(l) }", 16))
            }
            Means::Loading => {
                cycles(means, function("def f(float(16,16) A, float(16,16) B) -> (C) { C(i,j) = A(i,j) * B(i,j) }", 16))
            }
            Means::Order => cycles(means, network([16, 32, 4])),
            Means::Reshards => cycles(means, network([32, 64, 4])),
            Means::Padding => cycles(means, network([32, 65, 4])),
            Means::Columns => cycles(
                means,
                function(
                    "def f(float(32) X, float(16,32) V, float(32,16) W) -> (Y) { H(i) +=! V(i,j) * X(j)  Y(k) +=! W(k,i) * H(i) }",
                    16,
                ),
            ),
        };
        println!("{means}: {with} cycles, {without} without");
        assert!(with < without, "{means}: {with} cycles with it, {without} without");
    }
}
