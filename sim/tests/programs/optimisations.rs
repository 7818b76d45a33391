//! Each optimisation makes some program faster, and no word depends on it.

mod scales;
mod squares;
mod starts;

use crate::made_up::values;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use compiler::optimisations::{Disabled, Optimisation};
use compiler::tensor::Role;
use sim::array::Array;
use sim::benchmarks::{self, Prepared};
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use sim::pace::cycles_per_step;

/// A function on 8 x 8 PEs with 16 words of input and 8 of output per cycle, and values between -1 and 1.
fn function(text: &str) -> impl Fn(Disabled) -> Climb + '_ {
    move |disabled| {
        let options = language::Options::default();
        let (program, _) = language::parse(Language::TensorComprehensions, text, &options).unwrap();
        let inputs = program.tensors.iter().filter(|tensor| tensor.role == Role::Input);
        let value = |n: u32| f64::from((n * 7919 + 13) % 257) / 128.0 - 1.0;
        let values: NamedValues = inputs
            .map(|tensor| (tensor.name.clone(), (0..tensor.shape.iter().product()).map(value).collect()))
            .collect();
        let results = program.tensors.iter().filter(|tensor| tensor.role == Role::Output);
        let names = results.map(|tensor| tensor.name.clone()).collect();
        let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
        let (lines, stream_words, output_words) = (Some(8), Some(16), Some(8));
        let spec = MachineSpec { pus: lines, pes_per_pu: lines, stream_words, output_words, ..MachineSpec::default() };
        Climb::new_without(&program, &options, &NamedValues::new(), &[values.clone(), values], &spec, disabled).unwrap()
    }
}

/// A training, sample by sample, on as many PEs.
fn training<'a>(text: &'a str, set: &str) -> impl Fn(Disabled) -> Climb + 'a {
    let table = format!(
        "[[benchmark]]\nname = 'training'\nprogram = 'program.t'\nset = {{ {set} }}\nruns = [{{ pus = 8, pes_per_pu = 8 }}]\n"
    );
    let benchmark = benchmarks::read(&table).unwrap().remove(0);
    move |disabled| Prepared::new_without(&benchmark, &benchmark.runs[0], text, disabled).unwrap().climb
}

fn grid(pus: u32, pes_per_pu: u32) -> MachineSpec {
    MachineSpec { pus: Some(pus), pes_per_pu: Some(pes_per_pu), ..MachineSpec::default() }
}

/// A training in batches of 32 samples.
fn batches<'a>(text: &'a str, set: &'a [(&'a str, f64)], spec: MachineSpec) -> impl Fn(Disabled) -> Climb + 'a {
    move |disabled| {
        let set = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let dialect = language::Options { set, ..language::Options::default() };
        let (program, _) = language::parse(Language::Tabla, text, &dialect).unwrap();
        let batch = Batch { size: 32, reduction: Reduction::Mean };
        let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
        let (model, steps) = values(&program, batch.size, 2);
        Climb::new_without(&program, &options, &model, &steps, &spec, disabled).unwrap()
    }
}

/// Cycles from step to step with and without an optimisation; both with the right words, and near the same real numbers.
fn cycles(optimisation: Optimisation, climbed: impl Fn(Disabled) -> Climb) -> (f64, f64) {
    let one = |disabled: Disabled| {
        let climb = climbed(disabled);
        let machine = &climb.image().machine;
        let words = climb.run(Array::new(machine), Stalls::none());
        let words = words.unwrap_or_else(|fall| panic!("{optimisation}: {fall}")).words;
        assert!(words > 0, "{optimisation}");
        let cycles = |grid: fn(&arch::Machine) -> Array| cycles_per_step(climb.image(), || grid(machine)).unwrap();
        // Who only counts cycles needs no words.
        assert_eq!(cycles(Array::new), cycles(Array::without_words), "{optimisation}");
        (cycles(Array::without_words), climb.distance)
    };
    let ((with, near), (less, distance)) = (one(Disabled::NOTHING), one(Disabled::from_iter([optimisation])));
    // A quotient by products may be rounded to the other side.
    assert!((near - distance).abs() <= 1.0, "{optimisation}: {near} and {distance} last places from golden");
    (with, less)
}

const RECOMMENDER: &str = include_str!("../../../programs/recommender.t");
const LAYERS: &str = include_str!("../../../programs/backpropagation.t");
const BIAS: &str = "mu = 0.01; model_input x[64]; model_output y[32]; model w[32][64], b[32]; gradient g[32][64] -> w, e[32] -> b;
    iterator i[0:64]; iterator j[0:32]; h[j] = sigmoid(sum[i](w[j][i] * x[i]) + b[j]); e[j] = h[j] - y[j]; g[j][i] = e[j] * x[i];";
const NETWORK: &str = include_str!("../../../programs/backpropagation4.t");

#[test]
fn each_makes_a_program_faster() {
    let of = |text: &str, optimisation: Optimisation| cycles(optimisation, function(text));
    let digits = "def f(float(64,64) A, float(4096) B) -> (C) { F(k) = A(k / 64, k % 64) where k in 0:4096  \
                  C(k) = F(k) * B(k) where k in 0:4096 }";
    let quotients = "def f(float(16,32) E, float(16,32) S) -> (P) { T(i) +=! S(i,j) * S(i,j)  P(i,j) = E(i,j) / T(i) }";
    let layers = "def f(float(20,20) X, float(8,5,5) U, float(8,8,3,3) V) -> (Y) {
        T(c,y,x) +=! X(y+i,x+j) * U(c,i,j) where y in 0:16, x in 0:16
        Y(o,y,x) +=! T(c,y+i,x+j) * V(o,c,i,j) where y in 0:14, x in 0:14 }";
    for optimisation in Optimisation::all() {
        let (with, without) = match optimisation {
            Optimisation::Digits => of(digits, optimisation),
            Optimisation::Quotients => of(quotients, optimisation),
            Optimisation::Squares => of(
                "def f(float(64,16) X, float(16,16) C) -> (S) { S(i,j) +=! (X(i,k) - C(j,k)) * (X(i,k) - C(j,k)) }",
                optimisation,
            ),
            Optimisation::Carries => of(layers, optimisation),
            Optimisation::Windows => {
                of("def f(float(66) X, float(3) H) -> (Y) { Y(n) +=! X(n+k) * H(k) where n in 0:64 }", optimisation)
            }
            Optimisation::Blocks => {
                of("def f(float(527) X, float(16) H) -> (Y) { Y(n) +=! X(n+k) * H(k) where n in 0:512 }", optimisation)
            }
            Optimisation::Scales => of(
                "def f(float(16,8) X, float(16,8) C) -> (P) {
                 D(i,j) +=! (X(i,k) - C(j,k)) * (X(i,k) - C(j,k))  P(i,j) = exp(-0.0625 * D(i,j)) }",
                optimisation,
            ),
            Optimisation::Starts => cycles(optimisation, training(BIAS, "")),
            Optimisation::Copies => of(
                "def f(float(16,16) A) -> (D) { B(i,j) +=! A(i,k) * A(k,j)  D(i,j) +=! B(i,k) * B(k,j) }",
                optimisation,
            ),
            Optimisation::Doubles => of("def f(float(16,16) A) -> (C) { C(i,j) +=! A(i,k) * A(k,j) }", optimisation),
            Optimisation::Loading => {
                of("def f(float(16,16) X, float(16,16) A) -> (C) { C(i,j) +=! X(i,k) * A(k,j) }", optimisation)
            }
            Optimisation::Pieces | Optimisation::Order => {
                cycles(optimisation, training(RECOMMENDER, "m = 138, n = 130, k = 10"))
            }
            Optimisation::Strips => {
                // Pads hold four samples, and sums of some.
                let (data_depth, temporary_depth) = (Some(256), Some(128));
                let small = MachineSpec { data_depth, temporary_depth, ..grid(2, 4) };
                cycles(optimisation, batches(LAYERS, &[("l1", 33.0), ("l2", 25.0), ("l3", 4.0)], small))
            }
            Optimisation::Firsts => cycles(optimisation, training(NETWORK, "l1 = 65, l2 = 129, l3 = 65, l4 = 11")),
            Optimisation::Padding => cycles(optimisation, training(NETWORK, "l1 = 65, l2 = 140, l3 = 140, l4 = 40")),
        };
        assert!(with < without, "{optimisation}: {with} cycles with it, {without} without");
    }
}
