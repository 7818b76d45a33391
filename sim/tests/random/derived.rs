//! Derived gradients: equal to those that people wrote, to central differences, and as fast.

#![allow(clippy::print_stdout, reason = "what was measured is shown beside what is asserted")]

pub(crate) mod differences;

use crate::generator;
use crate::made_up;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::derived::Objective;
use compiler::derived::losses::Loss;
use compiler::derived::optimisers::Optimiser;
use compiler::derived::training::{Measure, Minimised, Training};
use compiler::language::{self, Language};
use compiler::rounding::Rounding;
use compiler::tensor::{Program, Role, TensorId};
use differences::Differences;
use generator::tape;
use sim::array::Array;
use sim::benchmarks::{self, Prepared};
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use std::path::Path;

/// A program of `programs/`, what its gradient statements start with, and what they minimise; the first of several is the fastest.
pub(crate) const WRITTEN: &[(&str, &[&str], &[&str])] = &[
    ("linear.t", &["gradient", "d =", "g["], &["minimize squared(h, y);"]),
    ("logistic.t", &["gradient", "d =", "g["], &["minimize logistic(h, y);"]),
    ("svm.t", &["gradient", "c =", "g["], &["minimize hinge(h, y);"]),
    ("svm_published.t", &["gradient", "g["], &["minimize (c > 1) * (1 - c);"]),
    ("softmax.t", &["gradient", "d[", "g["], &["minimize cross_entropy(p, y);"]),
    ("recommender.t", &["gradient", "d1[", "d2[", "g1[", "g2["], &[KNOWN_RATINGS, MASKED_RATINGS]),
    ("backpropagation.t", &["gradient", "d3[", "d2[", "g12[", "g23["], &["minimize one_hot(h, y);"]),
    ("backpropagation4.t", &["gradient", "d4[", "d3[", "d2[", "g12[", "g23[", "g34["], &["minimize one_hot(h, y);"]),
];

/// Squared errors of the ratings that exist.
const KNOWN_RATINGS: &str = "e1[i] = sum[l](w1[i][l] * x2[l]) - y1[i];
    e2[j] = sum[l](x1[l] * w2[j][l]) - y2[j];
    minimize 0.5 * sum[i](r1[i] * e1[i] * e1[i]) + 0.5 * sum[j](r2[j] * e2[j] * e2[j]);";
/// Squared errors of masked predictions: the same for masks of 0 and 1.
const MASKED_RATINGS: &str = "minimize squared(h1, y1) + squared(h2, y2);";

pub(crate) fn written(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

/// The text without its gradients, with what they minimise, for each way to say that.
pub(crate) fn minimised(file: &str) -> Vec<String> {
    let (_, dropped, objectives) = WRITTEN.iter().find(|known| known.0 == file).expect("every program is listed");
    let kept = |line: &&str| !dropped.iter().any(|start| line.starts_with(start));
    let lines: Vec<&str> = written(file).lines().filter(kept).map(|line| line.to_owned().leak() as &str).collect();
    objectives.iter().map(|objective| format!("{}\n{objective}\n", lines.join("\n"))).collect()
}

fn parse(text: &str) -> Program {
    language::parse(Language::Tabla, text, &language::Options::default()).unwrap_or_else(|e| panic!("{e:?}\n{text}")).0
}

/// Values for weights, inputs and labels; masks are 0 or 1, and ratings 0 where the mask is.
pub(crate) fn values(program: &Program, samples: u32) -> (NamedValues, NamedValues) {
    let (model, mut steps) = made_up::values(program, samples, 1);
    let mut step = steps.remove(0);
    for (mask, rating) in [("r1", "y1"), ("r2", "y2")] {
        let Some(mask) = step.get_mut(mask) else { continue };
        *mask = mask.iter().map(|&value| f64::from(value > -0.25)).collect();
        let mask = mask.clone();
        step.get_mut(rating).unwrap().iter_mut().zip(mask).for_each(|(rating, mask)| *rating *= mask);
    }
    (model, step)
}

fn set(golden: &mut Golden, program: &Program, values: &NamedValues) {
    for (name, values) in values {
        golden.set(TensorId(program.tensors.iter().position(|t| t.name == *name).unwrap()), values);
    }
}

/// The gradient of each state, by the state's name.
fn gradients(program: &Program, (model, step): &(NamedValues, NamedValues)) -> Vec<(String, Vec<Option<f64>>)> {
    let mut golden = Golden::new(program);
    set(&mut golden, program, model);
    set(&mut golden, program, step);
    golden.step().unwrap();
    let mut found = Vec::new();
    for (id, tensor) in program.tensors.iter().enumerate() {
        if let Role::Gradient(state) = tensor.role {
            found.push((program.tensors[state.0].name.clone(), golden.value(TensorId(id)).collect()));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn derived_gradients_equal_the_written_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<_> = files.filter(|name| name.to_string_lossy().ends_with(".t")).collect();
    assert_eq!(files.len(), WRITTEN.len(), "a program is missing here");
    for (file, derived) in
        WRITTEN.iter().flat_map(|(file, ..)| minimised(file).into_iter().map(move |text| (file, text)))
    {
        let (by_hand, derived) = (parse(&written(file)), parse(&derived));
        let given = values(&by_hand, 1);
        let (expected, found) = (gradients(&by_hand, &given), gradients(&derived, &given));
        assert_eq!(expected.len(), found.len(), "{file}");
        let mut largest: f64 = 0.0;
        for ((name, expected), (same, found)) in expected.iter().zip(&found) {
            assert_eq!((name, expected.len()), (same, found.len()), "{file}");
            for (element, pair) in expected.iter().zip(found).enumerate() {
                match pair {
                    (Some(a), Some(b)) => {
                        assert!((a - b).abs() <= 1e-12, "{file}: {name}[{element}] is {b}, written: {a}\n{derived}");
                        largest = largest.max(a.abs());
                    }
                    // An element that has no gradient keeps its value, as one with the gradient 0 does.
                    pair => assert_eq!((pair.0.unwrap_or(0.0), pair.1.unwrap_or(0.0)), (0.0, 0.0), "{file}: {name}"),
                }
            }
        }
        assert!(largest > 0.01 || *file == "svm_published.t", "{file}: the gradient is {largest}");
    }
}

fn grid(pus: u32, pes_per_pu: u32) -> MachineSpec {
    MachineSpec { pus: Some(pus), pes_per_pu: Some(pes_per_pu), word: Some(16), ..MachineSpec::default() }
}

/// Golden ~ fixed = array, one sample at a time and in a batch; the array gives the words that the written program gives.
#[test]
fn derived_programs_climb_the_ladder() {
    for (file, ..) in WRITTEN {
        let programs = [parse(&written(file)), parse(&minimised(file)[0])];
        for size in [1, 4] {
            let batch = Batch { size, reduction: Reduction::Mean };
            let options = Options { keep: Keep::Training { predictions: vec![] }, batch };
            let (model, step) = values(&programs[0], size);
            let steps = vec![step; 2];
            let climbs = programs.each_ref().map(|program| {
                Climb::new(program, &options, &model, &steps, &grid(2, 4)).unwrap_or_else(|e| panic!("{file}: {e:?}"))
            });
            for climb in &climbs {
                climb.run(Array::new(&climb.image().machine), Stalls::none()).unwrap_or_else(|f| panic!("{file}: {f}"));
            }
            println!("{file}, batch {size}: {:.2} and {:.2} last places", climbs[0].distance, climbs[1].distance);
            assert!(climbs[1].distance <= climbs[0].distance.max(1.0) * 1.5, "{file}: far from golden");
        }
    }
}

/// Cycles of the derived step on 8 x 8 PEs, beside those of the written one.
#[test]
fn derived_steps_take_as_many_cycles() {
    let text = written("benchmarks.toml");
    let small = ["linear_55", "logistic_54", "svm_54", "reco_138_130_10", "backprop_61_128_4"];
    for benchmark in benchmarks::read(&text).unwrap().iter().filter(|b| small.contains(&b.name.as_str())) {
        let run = &benchmark.runs[0];
        let cycles = |text: &str| {
            let prepared = Prepared::new(benchmark, run, text).unwrap_or_else(|e| panic!("{}: {e:?}", benchmark.name));
            let machine = &prepared.climb.image().machine;
            prepared.cycles_per_sample(|| Array::new(machine)).unwrap()
        };
        let (by_hand, derived) = (cycles(&written(&benchmark.program)), cycles(&minimised(&benchmark.program)[0]));
        println!("{}: {by_hand} cycles by hand, {derived} derived", benchmark.name);
        assert!(derived <= 1.05 * by_hand, "{}: {derived} cycles instead of {by_hand}", benchmark.name);
    }
}

/// The shapes of inputs, the program, what is minimised and by which weights.
pub(crate) type Given = (&'static str, &'static [(&'static str, &'static [u32])], Measure, &'static [&'static str]);

fn scalar(name: &str) -> Measure {
    Measure::Scalar(name.to_owned())
}

/// Programs in Tensor Comprehensions whose adjoints need every kind of Nest.
pub(crate) fn functions() -> Vec<Given> {
    let network =
        "def net(float(C,H,W) X, float(M,C,KH,KW) K, float(M) B, float(N,M,LH,LW) L, float(O,N,PH,PW) D) -> (P) {
        V(m,h,w) +=! X(c,h+kh,w+kw) * K(m,c,kh,kw)
        R(m,h,w) = fmax(V(m,h,w) + B(m), 0.0)
        U(n,h,w) +=! R(m,h+kh,w+kw) * L(n,m,kh,kw)
        Q(n,ph,pw) max=! tanh(U(n,2*ph+i,2*pw+j)) where i in 0:2, j in 0:2, ph in 0:2, pw in 0:2
        Z(o) +=! Q(n,ph,pw) * D(o,n,ph,pw)
        Y max=! Z(o)
        E(o) = exp(Z(o) - Y)
        S +=! E(o)
        P(o) = E(o) / S
    }";
    let network_shapes: &[(&str, &[u32])] =
        &[("X", &[2, 8, 7]), ("K", &[3, 2, 3, 2]), ("B", &[3]), ("L", &[2, 3, 3, 2]), ("D", &[4, 2, 2, 2])];
    let strided = "def f(float(N) X, float(N) W, float(KN) K) -> (L) {
        A(i) = X(i) * W(i)
        V(h) +=! A(2*h + k) * K(k)
        T(h) = V(h) * V(h)
        L +=! sin(T(h))
    }";
    let pooled = "def f(float(N) X, float(N) W) -> (L) {
        A(i) = X(i) * W(i)
        V(h) max=! A(h + k) where k in 0:3
        L +=! V(h) * V(h)
    }";
    let looked_up = "def f(float(E,D) T, int32(B) I, float(D) W) -> (L) {
        O(b) +=! T(I(b), d) * W(d)
        L +=! O(b) * O(b)
    }";
    let products = "def f(float(N) W) -> (L) {
        P *=! W(i) + 1.5
        M max=! W(i) * W(j)
        Q min=! W(i) - 2.0 * W(j) where i in 0:3, j in 1:4
        L = P * M + Q
    }";
    let functions = "def f(float(N) W, float(N) V) -> (L) {
        A(i) = tanh(W(i)) + exp(W(i)) + sin(W(i)) * cos(W(i)) + tan(W(i)) + sinh(W(i)) * cosh(W(i)) + asinh(W(i))
        B(i) = asin(W(i)) + acos(W(i)) * 2.0 + atan(W(i)) + atanh(W(i)) + erf(W(i)) * 3.0 + erfc(W(i)) + fabs(W(i))
        C(i) = log(V(i)) + log2(V(i)) + log10(V(i)) + log1p(V(i)) + sqrt(V(i)) + rsqrt(V(i)) + cbrt(V(i)) + acosh(V(i) + 1.0)
        D(i) = exp2(W(i)) + exp10(W(i)) + expm1(W(i)) + pow(V(i), W(i)) + atan2(W(i), V(i)) + hypot(W(i), V(i))
        G(i) = fdim(V(i), W(i)) + copysign(V(i), W(i)) + fma(W(i), V(i), W(i)) + W(i) / V(i) + fmod(W(i), 0.7)
        H(i) = (W(i) < V(i) ? W(i) * W(i) : V(i)) + fmin(W(i), V(i)) + fmax(W(i), 0.25)
        L +=! A(i) + B(i) + C(i) + D(i) + G(i) * H(i)
    }";
    let lengths: &[(&str, &[u32])] = &[("W", &[5]), ("V", &[5])];
    vec![
        (network, network_shapes, Measure::Library(Loss::CrossEntropy), &["K", "B", "L", "D"]),
        (strided, &[("X", &[11]), ("W", &[11]), ("K", &[3])], scalar("L"), &["W", "K"]),
        (pooled, &[("X", &[8]), ("W", &[8])], scalar("L"), &["W"]),
        (looked_up, &[("T", &[4, 3]), ("I", &[5]), ("W", &[3])], scalar("L"), &["T", "W"]),
        (products, &[("W", &[4])], scalar("L"), &["W"]),
        (functions, lengths, scalar("L"), &["W", "V"]),
    ]
}

fn options((_, shapes, loss, weights): &Given) -> language::Options {
    let objective = Minimised {
        loss: loss.clone(),
        prediction: "P".to_owned(),
        label: None,
        weights: weights.iter().map(|&name| name.to_owned()).collect(),
        rate: Some(0.1),
    };
    language::Options {
        shapes: shapes.iter().map(|&(name, shape)| (name.to_owned(), shape.to_vec())).collect(),
        training: Some(Training {
            objective: Some(objective),
            optimiser: Optimiser::PLAIN,
            rounding: Rounding::default(),
        }),
        ..language::Options::default()
    }
}

fn trained(given: &Given) -> Result<Program, Vec<arch::Diagnostic>> {
    language::parse(Language::TensorComprehensions, given.0, &options(given)).map(|(program, _)| program)
}

/// Without its gradients, and what is minimised.
pub(crate) fn source(given: &Given) -> Result<(Program, Objective), Vec<arch::Diagnostic>> {
    let (program, objective) = language::source(Language::TensorComprehensions, given.0, &options(given))?;
    Ok((program, objective.expect("training minimises")))
}

#[test]
fn functions_are_derived() {
    for given in &functions() {
        let program = trained(given).unwrap_or_else(|errors| panic!("{errors:?}\n{}", given.0));
        let (mut model, mut sample) = values(&program, 1);
        for value in model.values_mut().chain(sample.values_mut()).flatten() {
            *value = 1.7 * *value + 0.0123 * libm::sin(57.0 * *value);
        }
        model.entry("V".to_owned()).and_modify(|values| values.iter_mut().for_each(|v| *v = 1.2 + v.abs()));
        sample.entry("I".to_owned()).and_modify(|values| values.clone_from(&vec![3.0, 0.0, 1.0, 3.0, 2.0]));
        if let Some(label) = sample.get_mut("label") {
            label.iter_mut().enumerate().for_each(|(n, value)| *value = f64::from(n == 2));
        }
        let value = match &given.2 {
            Measure::Scalar(name) => program.names.iter().find(|(known, _)| known == name).unwrap().1,
            Measure::Library(loss) => {
                let made = format!("{}.1", loss.name());
                TensorId(program.tensors.iter().position(|tensor| tensor.name == made).unwrap())
            }
        };
        let mut compared = Differences::default();
        compared.compare(&program, value, &model, &sample);
        println!("{compared:?}");
        assert!(compared.elements >= 4 && compared.kinks <= 1, "{compared:?}\n{program}");
    }
}

/// Convolution, rectifier, pool, twice, dense, softmax: the derived step is exact on the array.
#[test]
fn a_convolutional_network_climbs_the_ladder() {
    let text: &'static str = written("lenet.tc").leak();
    let weights = &["K1", "B1", "K2", "B2", "D", "B3"];
    let program = trained(&(text, &[], Measure::Library(Loss::CrossEntropy), weights)).unwrap();
    for size in [1, 4] {
        let (model, step) = values(&program, size);
        let batch = Batch { size, reduction: Reduction::Mean };
        let options = Options { keep: Keep::Training { predictions: vec![] }, batch };
        let depth = Some(1 << 12);
        let spec = MachineSpec {
            model_depth: depth,
            data_depth: depth,
            temporary_depth: depth,
            program_depth: Some(1 << 11),
            ..grid(8, 8)
        };
        let climb = Climb::new(&program, &options, &model, &[step.clone(), step], &spec)
            .unwrap_or_else(|errors| panic!("batch {size}: {errors:?}"));
        let agreement = climb
            .run(Array::new(&climb.image().machine), Stalls::none())
            .unwrap_or_else(|fall| panic!("batch {size}: {fall}"));
        println!("batch {size}: {agreement:?}, {:.2} last places from golden", climb.distance);
        assert!(climb.distance < 2.0, "batch {size}: {} last places", climb.distance);
    }
}

/// Two outputs, of a prediction made as the loss wants it, and labels that it takes.
#[test]
fn every_loss_of_the_library_has_its_derivative() {
    let mut compared = Differences::default();
    for &loss in Loss::ALL {
        let prediction = match loss {
            Loss::Squared | Loss::Absolute | Loss::Huber | Loss::Hinge => "h[k] = z[k];",
            Loss::Logistic | Loss::OneHot => "h[k] = sigmoid(z[k]);",
            Loss::CrossEntropy => "e[k] = exp(z[k]); l = log(sum[k](e[k])); h[k] = exp(z[k] - l);",
            Loss::Poisson => "h[k] = exp(z[k]);",
        };
        let labels: [f64; 2] = match loss {
            Loss::Squared | Loss::Absolute | Loss::Huber => [0.3, 4.0],
            Loss::Hinge => [-1.0, 1.0],
            Loss::Logistic => [0.25, 1.0],
            Loss::CrossEntropy | Loss::OneHot => [0.0, 1.0],
            Loss::Poisson => [3.0, 0.0],
        };
        let program = parse(&format!(
            "mu = 0.1; model_input x[3]; model_output y[2]; model w[2][3]; iterator i[0:3]; iterator k[0:2];
             z[k] = sum[i](w[k][i] * x[i]); {prediction} minimize {}(h, y);",
            loss.name()
        ));
        let value = program.names.iter().find(|(name, _)| name == "minimize").expect("what is minimised").1;
        let model = NamedValues::from([("w".to_owned(), vec![0.4, -0.3, 0.7, -0.2, 0.6, 0.1])]);
        let sample = NamedValues::from([("x".to_owned(), vec![0.9, -0.5, 0.6]), ("y".to_owned(), labels.to_vec())]);
        compared.compare(&program, value, &model, &sample);
    }
    assert_eq!((compared.programs, compared.elements, compared.kinks), (8, 24, 0), "{compared:?}");
}

/// E-GRADIENT: what has no derivative is refused where it stands.
#[test]
fn what_has_no_derivative_is_refused() {
    for (line, reason) in [("floor(W(i))", "`floor`"), ("int32(3.0 * W(i))", "int32"), ("fmod(2.0, W(i))", "`fmod`")] {
        let text: &'static str =
            format!("def f(float(N) W) -> (L) {{\n  A(i) = 2.0 * W(i)\n  B(i) = {line}\n  L +=! A(i) * B(i)\n}}")
                .leak();
        let errors = trained(&(text, &[("W", &[3])], scalar("L"), &["W"])).expect_err(line);
        assert_eq!(errors[0].code, arch::Code::Gradient, "{errors:?}");
        let place = arch::diagnostic::line_column(text, errors[0].span.unwrap().start);
        assert!(errors[0].message.contains(reason) && place.0 == 3, "{errors:?}");
    }
    let aside = "def f(float(N) W, float(N) V) -> (L) { L +=! W(i) * floor(V(i)) }";
    let shapes: &[(&str, &[u32])] = &[("W", &[3]), ("V", &[3])];
    assert!(trained(&(aside, shapes, scalar("L"), &["W"])).is_ok(), "V is not trained");
    let errors = trained(&(aside, shapes, scalar("M"), &["W"])).expect_err("there is no M");
    assert_eq!(errors[0].code, arch::Code::Undef);
}

/// Random programs of TABLA and of tensor IR: the sum of what they compute, against central differences.
#[test]
fn derived_gradients_equal_central_differences() {
    let mut compared = Differences::default();
    for number in 0..120 {
        let (program, model, samples) = generator::ir::program(&tape::random(21, number, 120));
        compared.check(&program, &model, &samples[0]);
        let text = generator::program(&tape::random(22, number, 150));
        let Ok((program, _)) = language::parse(Language::Tabla, &text.text, &language::Options::default()) else {
            continue;
        };
        compared.check(&program, &text.model, &text.samples[0]);
    }
    println!("{compared:?}");
    assert!(compared.programs >= 100 && compared.elements >= 400, "{compared:?}");
}
