//! Optimisers: against their formulas in plain Rust, one sample at a time and in batches, down to the array.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
use compiler::choice::Choice;
use compiler::derived::optimisers::{Clip, Method, Optimiser, RATE};
use compiler::derived::training::Training;
use compiler::language::{self, Language};
use compiler::rounding::Rounding;
use compiler::tensor::{Program, Role, TensorId};
use sim::array::Array;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};

const TEXT: &str = "mu = 0.125; model_input x[3]; model_output y; model w[3]; iterator i[0:3]; \
                    h = sum[i](w[i] * x[i]); minimize squared(h, y);";
const MU: f64 = 0.125;
const EPSILON: f64 = 0.01;

fn optimisers() -> Vec<Optimiser> {
    let methods = [
        Method::Sgd,
        Method::Momentum { momentum: 0.75 },
        Method::Nesterov { momentum: 0.75 },
        Method::Adagrad { epsilon: EPSILON },
        Method::Rmsprop { decay: 0.875, epsilon: EPSILON },
        Method::Adam { momentum: 0.75, decay: 0.875, epsilon: EPSILON },
        Method::Lion { momentum: 0.75, decay: 0.875 },
    ];
    for known in Method::CASES {
        let tested = methods.iter().any(|method| method.written().0 == known.name);
        assert!(
            tested,
            "write `{}` into the list of methods of this test, and its formula into `expected`",
            known.name
        );
    }
    let with = |method, weight_decay, clip, rate_is_input| Optimiser { method, weight_decay, clip, rate_is_input };
    let mut all: Vec<Optimiser> = methods.map(|method| with(method, 0.0, Clip::Nothing, false)).to_vec();
    all.push(with(Method::Sgd, 0.25, Clip::Value { limit: 0.5 }, true));
    all.push(with(methods[1], 0.0, Clip::Norm { limit: 0.25 }, false));
    all.push(with(methods[5], 0.25, Clip::Norm { limit: 0.25 }, true));
    all
}

fn program(optimiser: Optimiser) -> Program {
    let training = Some(Training { objective: None, optimiser, rounding: Rounding::default() });
    let options = language::Options { training, ..language::Options::default() };
    language::parse(Language::Tabla, TEXT, &options).unwrap().0
}

/// Inputs, label and rate of sample `n`.
fn sample(n: usize) -> ([f64; 3], f64, f64) {
    let value = |k: usize| (((n * 5 + k) * 37 % 32) as f64 - 16.0) / 16.0;
    ([value(0), value(1), value(2)], value(3), 1.0 - n as f64 / 16.0)
}

/// The weights after some steps of `batch` samples, by the formulas.
fn expected(optimiser: &Optimiser, steps: usize, batch: usize) -> [f64; 3] {
    let (mut w, mut v, mut s) = ([0.5, -0.25, 0.125], [0.0; 3], [0.0; 3]);
    for step in 0..steps {
        let samples: Vec<_> = (step * batch..(step + 1) * batch).map(sample).collect();
        let mut g = [0.0; 3];
        for (x, y, _) in &samples {
            let error = w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() - y;
            g.iter_mut().zip(x).for_each(|(g, x)| *g += error * x / batch as f64);
        }
        match optimiser.clip {
            Clip::Nothing => {}
            Clip::Value { limit: most } => g = g.map(|g| g.clamp(-most, most)),
            Clip::Norm { limit: most } => {
                let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
                let factor = if norm > most { most / norm } else { 1.0 };
                g = g.map(|g| g * factor);
            }
        }
        let part = samples.iter().map(|sample| sample.2).sum::<f64>() / batch as f64;
        let rate = MU * if optimiser.rate_is_input { part } else { 1.0 };
        for i in 0..3 {
            let d = g[i] + optimiser.weight_decay * w[i];
            w[i] -= rate
                * match optimiser.method {
                    Method::Sgd => d,
                    Method::Momentum { momentum } => {
                        v[i] = momentum * v[i] + d;
                        v[i]
                    }
                    Method::Nesterov { momentum } => {
                        v[i] = momentum * v[i] + d;
                        d + momentum * v[i]
                    }
                    Method::Adagrad { epsilon } => {
                        s[i] += d * d;
                        d / (s[i].sqrt() + epsilon)
                    }
                    Method::Rmsprop { decay, epsilon } => {
                        s[i] = decay * s[i] + (1.0 - decay) * d * d;
                        d / (s[i].sqrt() + epsilon)
                    }
                    Method::Adam { momentum: beta1, decay: beta2, epsilon } => {
                        v[i] = beta1 * v[i] + (1.0 - beta1) * d;
                        s[i] = beta2 * s[i] + (1.0 - beta2) * d * d;
                        v[i] / (s[i].sqrt() + epsilon)
                    }
                    // Chen et al., "Symbolic discovery of optimization algorithms", 2023, algorithm 2.
                    Method::Lion { momentum: beta1, decay: beta2 } => {
                        let c = beta1 * v[i] + (1.0 - beta1) * d;
                        v[i] = beta2 * v[i] + (1.0 - beta2) * d;
                        if c == 0.0 { 0.0 } else { c.signum() }
                    }
                };
        }
    }
    w
}

fn find(program: &Program, name: &str) -> Option<TensorId> {
    program.tensors.iter().position(|tensor| tensor.name == name).map(TensorId)
}

/// Weights as given, what optimisers remember as 0.
fn model(program: &Program) -> NamedValues {
    let states = program.tensors.iter().filter(|tensor| tensor.role == Role::State);
    let start = |name: &str| if name == "w" { vec![0.5, -0.25, 0.125] } else { vec![0.0; 3] };
    states.map(|tensor| (tensor.name.clone(), start(&tensor.name))).collect()
}

fn steps(program: &Program, count: usize, batch: usize) -> Vec<NamedValues> {
    let step = |number: usize| {
        let samples: Vec<_> = (number * batch..(number + 1) * batch).map(sample).collect();
        let mut step = NamedValues::from([
            ("x".to_owned(), samples.iter().flat_map(|sample| sample.0).collect()),
            ("y".to_owned(), samples.iter().map(|sample| sample.1).collect()),
        ]);
        if find(program, RATE).is_some() {
            step.insert(RATE.to_owned(), samples.iter().map(|sample| sample.2).collect());
        }
        step
    };
    (0..count).map(step).collect()
}

fn weights(program: &Program, model: &NamedValues, steps: &[NamedValues]) -> Vec<f64> {
    let mut golden = Golden::new(program);
    for step in std::iter::once(model).chain(steps) {
        for (name, values) in step {
            golden.set(find(program, name).unwrap(), values);
        }
        if !std::ptr::eq(step, model) {
            golden.step().unwrap();
        }
    }
    golden.values(find(program, "w").unwrap()).unwrap().to_vec()
}

fn assert_near(found: &[f64], expected: &[f64], what: &Optimiser) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(near, "{found:?}, not {expected:?}: {what:?}");
}

#[test]
fn steps_follow_the_formulas() {
    for optimiser in optimisers() {
        let program = program(optimiser);
        let found = weights(&program, &model(&program), &steps(&program, 4, 1));
        assert_near(&found, &expected(&optimiser, 4, 1), &optimiser);
    }
}

fn options(size: u32) -> Options {
    let batch = Batch { size, reduction: Reduction::Mean };
    Options { keep: Keep::Training { predictions: Vec::new() }, batch }
}

#[test]
fn batches_have_the_mean_gradient() {
    for optimiser in optimisers() {
        for size in [1, 4] {
            let program = canonicalise(&program(optimiser), &options(size)).unwrap();
            compiler::tensor::verify(&program);
            let found = weights(&program, &model(&program), &steps(&program, 3, size as usize));
            assert_near(&found, &expected(&optimiser, 3, size as usize), &optimiser);
        }
    }
}

/// Golden ~ fixed = array, on two grids and in other placements; in tiles, where the data pads hold a part of the batch only.
#[test]
fn optimisers_climb_the_ladder() {
    let mut elsewhere = 0;
    for optimiser in optimisers() {
        let program = program(optimiser);
        let (model, steps) = (model(&program), steps(&program, 3, 64));
        let mut words = Vec::new();
        for (pus, pes_per_pu, data_depth) in [(1, 2, None), (2, 4, None), (2, 4, Some(16))] {
            let spec = MachineSpec {
                pus: Some(pus),
                pes_per_pu: Some(pes_per_pu),
                word: Some(16),
                data_depth,
                ..MachineSpec::default()
            };
            let climb = Climb::new(&program, &options(64), &model, &steps, &spec)
                .unwrap_or_else(|errors| panic!("{optimiser:?}: {errors:?}"));
            assert_eq!(climb.image().tiles > 1, data_depth.is_some(), "{optimiser:?}: {} tiles", climb.image().tiles);
            for climb in [3, 17].into_iter().filter_map(|number| climb.elsewhere(number)).chain([climb.clone()]) {
                climb
                    .run(Array::new(&climb.image().machine), Stalls::none())
                    .unwrap_or_else(|fall| panic!("{optimiser:?}: {fall}"));
                elsewhere += 1;
            }
            assert!(climb.distance < 40.0, "{optimiser:?}: {} last places from golden", climb.distance);
            words.push(climb.fixed.to_string());
        }
        assert!(words.iter().all(|other| *other == words[0]), "{optimiser:?}");
    }
    assert!(elsewhere > 40, "{elsewhere} images");
}
