//! Training steps of a batch: the plain evaluator, golden, and golden in canonical form agree.
//!
//!     tensor::Program, B samples ──▶ plain  =  golden
//!            └─canonicalise for B──▶ golden  ≈

use crate::generator;
use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
use compiler::derived::optimisers::{Clip, Method, Optimiser, optimise};
use compiler::language::{self, Language};
use compiler::tensor::{Program, Role, TensorId};
use generator::tape;
use sim::eval::{Elements, Engine};
use sim::golden::Golden;
use sim::ladder::NamedValues;
use sim::plain::Plain;
use std::path::Path;

/// Steps of each comparison: the second one starts from weights that have moved.
const STEPS: usize = 2;

/// Weights after each step.
type Weights = Vec<Vec<Elements>>;

fn states(program: &Program) -> Vec<TensorId> {
    let tensors = program.tensors.iter().enumerate();
    tensors.filter(|(_, tensor)| tensor.role == Role::State).map(|(id, _)| TensorId(id)).collect()
}

/// Set what is called so.
fn set(program: &Program, values: &NamedValues, engine: &mut impl Engine) {
    for (name, values) in values {
        if let Some(id) = program.tensors.iter().position(|tensor| tensor.name == *name) {
            let values: Elements = values.iter().copied().map(Some).collect();
            engine.set(TensorId(id), &values);
        }
    }
}

/// The weights after each step, as the first sample has them; `None` where the values have no meaning.
fn trained(program: &Program, model: &NamedValues, steps: &[NamedValues], engine: &mut impl Engine) -> Option<Weights> {
    set(program, model, engine);
    let mut after = Vec::new();
    for step in steps {
        set(program, step, engine);
        engine.step().ok()?;
        let of_state = |id: TensorId| -> Elements {
            let elements = program.tensors[id.0].shape.iter().product::<u32>() as usize;
            engine.value(id).into_iter().take(elements).collect()
        };
        after.push(states(program).into_iter().map(of_state).collect());
    }
    Some(after)
}

/// Whether all weights are the same but for rounding; where `known`, only those that the expected ones know.
fn compare(found: &Weights, expected: &Weights, tolerance: f64, known: bool) -> Result<(), String> {
    for (step, (found, expected)) in found.iter().zip(expected).enumerate() {
        let largest = expected.iter().flatten().flatten().filter(|value| value.is_finite());
        let largest = largest.fold(1.0, |largest: f64, value| largest.max(value.abs()));
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            let close = match (found, expected) {
                (Some(found), Some(expected)) if expected.is_finite() => {
                    (found - expected).abs() <= tolerance * largest
                }
                (Some(found), Some(expected)) => {
                    known || found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
                }
                (found, expected) => found.is_some() == expected.is_some() || known,
            };
            if !close {
                return Err(format!("step {step}: {found:?}, not {expected:?}"));
            }
        }
    }
    Ok(())
}

/// Compare a program in all ways for a batch; whether it has a canonical form for one.
fn agree(program: &Program, batch: Batch, model: &NamedValues, steps: &[NamedValues]) -> Result<bool, String> {
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
    let Ok(canonical) = canonicalise(program, &options) else { return Ok(false) };
    let Some(plain) = trained(program, model, steps, &mut Plain::with(program, &options)) else { return Ok(false) };
    let about = |what: &str, why: String| format!("{batch:?}, {what}, {why}\n{program}");
    let golden = trained(program, model, steps, &mut Golden::with(program, &options));
    let golden = golden.ok_or_else(|| about("golden", "it refuses the values".to_owned()))?;
    compare(&golden, &plain, 1e-12, false).map_err(|why| about("golden", why))?;
    let there = trained(&canonical, model, steps, &mut Golden::new(&canonical));
    let there = there.ok_or_else(|| about("canonical", "it refuses the values".to_owned()))?;
    let same = states(program)
        .iter()
        .zip(states(&canonical))
        .all(|(a, b)| program.tensors[a.0].name == canonical.tensors[b.0].name);
    if same && states(program).len() == states(&canonical).len() {
        compare(&there, &plain, 1e-9, true).map_err(|why| about("canonical", format!("{why}\n{canonical}")))?;
    }
    Ok(true)
}

/// Weights, and inputs of so many samples per step: numbers between -1 and 1, none like another.
fn values(program: &Program, size: u32) -> (NamedValues, Vec<NamedValues>) {
    let mut state = 1u64;
    let mut draw = |count: usize| -> Vec<f64> {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1u32 << 23) - 1.0
        };
        (0..count).map(|_| next()).collect()
    };
    let mut of_role = |wanted: &dyn Fn(&Role) -> bool, size: u32| -> NamedValues {
        let tensors = program.tensors.iter().filter(|tensor| wanted(&tensor.role));
        tensors.map(|t| (t.name.clone(), draw((t.shape.iter().product::<u32>() * size) as usize))).collect()
    };
    let model = of_role(&|role| *role == Role::State, 1);
    let given = |role: &Role| matches!(role, Role::Input | Role::Label | Role::InOut);
    (model, (0..STEPS).map(|_| of_role(&given, size)).collect())
}

const BATCHES: [Batch; 5] = [
    Batch::SINGLE,
    Batch { size: 2, reduction: Reduction::Mean },
    Batch { size: 5, reduction: Reduction::Mean },
    Batch { size: 3, reduction: Reduction::Sum },
    Batch { size: 1, reduction: Reduction::Sum },
];

/// All batches of a program; how many were compared.
fn in_batches(program: &Program) -> u32 {
    let one = |batch: &Batch| {
        let (model, steps) = values(program, batch.size);
        u32::from(agree(program, *batch, &model, &steps).unwrap_or_else(|why| panic!("{why}")))
    };
    BATCHES.iter().map(one).sum()
}

fn parse(text: &str) -> Program {
    language::parse(Language::Tabla, text, &language::Options::default()).unwrap_or_else(|e| panic!("{e:?}\n{text}")).0
}

fn optimisers() -> Vec<Optimiser> {
    let with = |method, weight_decay, clip| Optimiser { method, weight_decay, clip, rate_is_input: false };
    vec![
        Optimiser::PLAIN,
        with(Method::Nesterov { momentum: 0.9 }, 0.01, Clip::Nothing),
        with(Method::Adagrad { epsilon: 0.1 }, 0.0, Clip::Value { limit: 0.5 }),
        Optimiser {
            rate_is_input: true,
            ..with(Method::Adam { momentum: 0.9, decay: 0.99, epsilon: 0.1 }, 0.0, Clip::Nothing)
        },
        with(Method::Rmsprop { decay: 0.9, epsilon: 0.1 }, 0.0, Clip::Norm { limit: 0.7 }),
    ]
}

/// Programs of the repository, with every optimiser.
#[test]
fn programs_of_the_repository_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let mut compared = 0;
    for file in ["linear.t", "logistic.t", "softmax.t", "recommender.t", "backpropagation.t"] {
        let program = parse(&std::fs::read_to_string(folder.join(file)).expect("the program is there"));
        compared += optimisers().iter().map(|optimiser| in_batches(&optimise(&program, optimiser))).sum::<u32>();
    }
    assert_eq!(compared, 5 * 5 * 5);
}

/// Random programs that train, with one optimiser or the other.
#[test]
fn random_trainings_agree() {
    let (optimisers, mut compared) = (optimisers(), 0);
    for number in 0..120 {
        let tape = tape::random(7, number, 30 + (number * 7 % 170) as usize);
        let random = generator::program(&tape);
        if random.trains {
            let program = parse(&random.text);
            compared += in_batches(&optimise(&program, &optimisers[number as usize % optimisers.len()]));
        }
    }
    println!("{compared} trainings were compared");
    assert!(compared >= 200, "only {compared} trainings were compared");
}

/// By hand: the samples 1 and 3 of `w * x - y`, from `w = 2`. Gradients `(w x - y) x` are `(2 - 1) 1 = 1` and `(6 - 5) 3 = 3`; `w` moves by
/// `0.5` of their mean 2 or of their sum 4.
#[test]
fn two_samples_by_hand() {
    let program = parse("mu = 0.5; model_input x; model_output y; model w; gradient g -> w; d = w * x - y; g = d * x;");
    let model = NamedValues::from([("w".to_owned(), vec![2.0])]);
    let steps = [NamedValues::from([("x".to_owned(), vec![1.0, 3.0]), ("y".to_owned(), vec![1.0, 5.0])])];
    for (reduction, expected) in [(Reduction::Mean, 1.0), (Reduction::Sum, 0.0)] {
        let options = Options { keep: Keep::AllNames, batch: Batch { size: 2, reduction } };
        for weights in [
            trained(&program, &model, &steps, &mut Golden::with(&program, &options)),
            trained(&program, &model, &steps, &mut Plain::with(&program, &options)),
        ] {
            assert_eq!(weights, Some(vec![vec![vec![Some(expected)]]]), "{reduction:?}");
        }
    }
}
