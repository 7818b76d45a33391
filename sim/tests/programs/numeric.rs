//! From real numbers to words: canonical programs mean what their source means, fixed-point programs stay close to them.

use crate::cases;
use arch::{Code, Diagnostic};
use compiler::canonical::{Batch, Keep, Options as CanonicalOptions, Reduction, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::language::{Language, Options, parse};
use compiler::tensor::{Program, Role, TensorId};
use serde_json::Value;
use sim::eval::{Engine, read_inputs, results, with_shapes_of};
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::train::engine::EngineError;
use sim::train::ranks::Communicator;
use sim::train::ranks::threads::{Thread, threads};
use std::cell::Cell;
use std::time::Duration;

/// Languages that are read.
const READ: &[&str] = &["tabla", "tc", "rink"];

pub(crate) struct Case {
    pub(crate) file: String,
    pub(crate) program: Program,
    inputs: Value,
    expect: Value,
    exact: bool,
}

/// The programs of a language that are accepted.
pub(crate) fn cases_in(language: &str) -> Vec<Case> {
    let all = cases::of(language);
    let wanted = all.iter().filter(|case| case["kind"] == "positive");
    wanted
        .map(|case| {
            let file = case["file"].as_str().expect("a file name").to_string();
            let text = std::fs::read_to_string(cases::folder().join(&file)).expect("the program is there");
            let extension = file.rsplit('.').next().expect("an extension");
            let language = Language::of_extension(extension).expect("a known extension");
            let given = ["inputs", "init"].iter().filter_map(|part| case.get(*part)?.as_object());
            let inputs: serde_json::Map<_, _> =
                given.flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
            let inputs = Value::Object(inputs);
            let entry = case["entry"].as_str().map(str::to_owned);
            let options = with_shapes_of(&inputs, Options { entry, ..Options::default() });
            let (program, _) = parse(language, &text, &options).expect("an accepted program");
            let exact = case["tags"].as_array().is_some_and(|tags| tags.contains(&Value::from("exact")));
            Case { file, program, inputs, expect: case["expect"].clone(), exact }
        })
        .collect()
}

/// The TABLA programs that are accepted.
fn cases() -> Vec<Case> {
    cases_in("tabla")
}

fn options(keep: Keep, size: u32, reduction: Reduction) -> CanonicalOptions {
    CanonicalOptions { keep, batch: Batch { size, reduction } }
}

fn everything() -> CanonicalOptions {
    options(Keep::AllNames, 1, Reduction::Mean)
}

fn training() -> CanonicalOptions {
    options(Keep::Training { predictions: Vec::new() }, 1, Reduction::Mean)
}

fn set_all(program: &Program, inputs: &Value, engine: &mut impl Engine) {
    for (tensor, elements) in read_inputs(program, inputs).expect("good inputs") {
        engine.set(tensor, &elements);
    }
}

/// The same for a canonical program, whose tensors may have other numbers and dimensions.
fn set_canonical(program: &Program, canonical: &Program, inputs: &Value, engine: &mut impl Engine) {
    for (tensor, elements) in read_inputs(program, inputs).expect("good inputs") {
        let name = &program.tensors[tensor.0].name;
        let own = canonical.tensors.iter().position(|of| of.name == *name).expect("inputs keep their names");
        engine.set(TensorId(own), &elements);
    }
}

/// Elements row by row; `None` is undefined.
fn flat(value: &Value) -> Vec<Option<f64>> {
    match value {
        Value::Array(list) => list.iter().flat_map(flat).collect(),
        _ => vec![value.as_f64()],
    }
}

/// Largest distance of two JSON values that should be equal; `None` = different sizes. Undefined elements equal anything:
/// hardware has none. Dimensions may be others: canonical programs split some.
fn distance(found: &Value, expected: &Value) -> Option<f64> {
    let (found, expected) = (flat(found), flat(expected));
    let apart = |(found, expected): (&Option<f64>, &Option<f64>)| match (found, expected) {
        (_, None) => Some(0.0),
        (found, Some(expected)) => Some((found.as_ref()? - expected).abs()),
    };
    let mut far = found.iter().zip(&expected).map(apart);
    let worst = far.try_fold(0.0, |worst, distance| Some(f64::max(worst, distance?)));
    worst.filter(|_| found.len() == expected.len())
}

/// Distance of everything that is expected.
fn worst(found: &Value, expect: &Value, file: &str) -> f64 {
    let mut worst = 0.0f64;
    for part in ["values", "next"] {
        for (name, expected) in expect[part].as_object().into_iter().flatten() {
            let Some(distance) = distance(&found[part][name], expected) else {
                panic!("{file}: {part} of {name} are {}, not {expected}", found[part][name]);
            };
            worst = worst.max(distance);
        }
    }
    worst
}

#[test]
fn canonical_programs_mean_the_same() {
    for case in READ.iter().flat_map(|language| cases_in(language)) {
        let canonical = canonicalise(&case.program, &everything()).expect("one sample is no problem");
        compiler::tensor::verify(&canonical);
        let mut golden = Golden::new(&canonical);
        set_canonical(&case.program, &canonical, &case.inputs, &mut golden);
        Golden::step(&mut golden).expect("no value errors");
        let distance = worst(&results(&canonical, &golden), &case.expect, &case.file);
        assert!(distance <= 1e-9, "{}: {distance}", case.file);
    }
}

/// A rank that counts what it has shared.
struct Counting {
    own: Thread,
    added: Cell<usize>,
}

impl Communicator for Counting {
    fn rank(&self) -> usize {
        self.own.rank()
    }

    fn ranks(&self) -> usize {
        self.own.ranks()
    }

    fn add(&self, words: &mut [u64]) -> Result<(), EngineError> {
        self.added.set(self.added.get() + 1);
        self.own.add(words)
    }
}

/// The same on each of some ranks.
fn on_ranks<T: Send>(ranks: usize, one: impl Fn(&Counting) -> T + Sync) -> Vec<T> {
    let one = |own| one(&Counting { own, added: Cell::new(0) });
    std::thread::scope(|scope| {
        let one = &one;
        let all = threads(ranks, Duration::from_mins(1)).into_iter();
        let all: Vec<_> = all.map(|rank| scope.spawn(move || one(rank))).collect();
        all.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    })
}

/// Every rank has the bits and the ranges of one that evaluates all elements.
#[test]
fn ranks_share_the_elements_of_the_golden_model() {
    let mut added = 0;
    for case in READ.iter().flat_map(|language| cases_in(language)) {
        let canonical = canonicalise(&case.program, &everything()).expect("one sample is no problem");
        let begun = || {
            let mut golden = Golden::new(&canonical);
            set_canonical(&case.program, &canonical, &case.inputs, &mut golden);
            golden
        };
        let bits = |golden: &Golden| -> Vec<Vec<Option<u64>>> {
            let all = (0..canonical.tensors.len()).map(|id| golden.value(TensorId(id)));
            all.map(|values| values.map(|value| value.map(f64::to_bits)).collect()).collect()
        };
        let mut alone = begun();
        (0..2).for_each(|_| Golden::step(&mut alone).expect("no value errors"));
        for ranks in [2, 3] {
            let trained = |all: &Counting| {
                let mut golden = begun();
                (0..2).for_each(|_| golden.step_on(all, 0).expect("no value errors"));
                (golden, all.added.get())
            };
            for (golden, times) in on_ranks(ranks, trained) {
                assert_eq!(bits(&golden), bits(&alone), "{} on {ranks} ranks", case.file);
                assert_eq!(golden.ranges(), alone.ranges(), "{} on {ranks} ranks", case.file);
                added += times;
            }
        }
    }
    assert!(added > 500, "only {added} Nests were shared");
}

/// Of two faults, in elements of different ranks, all ranks tell the one that comes first.
#[test]
fn ranks_tell_the_first_fault() {
    let text = "def picked(float(N, K) x, int32(M) i) -> (o) { o(m) +=! x(i(m), k) }";
    let inputs = serde_json::json!({ "x": [[1.0, 2.0], [3.0, 4.0]], "i": [0, 1, 0, 9, 7, 1] });
    let options = with_shapes_of(&inputs, Options::default());
    let (program, _) = parse(Language::TensorComprehensions, text, &options).expect("a good program");
    let said = on_ranks(3, |all| {
        let mut golden = Golden::new(&program);
        for (tensor, elements) in read_inputs(&program, &inputs).expect("good inputs") {
            golden.set_partly(tensor, &elements);
        }
        (golden.step_on(all, 0).expect_err("an index is out of bounds").to_string(), all.added.get())
    });
    assert_eq!(said, vec![("a computed index is 9, the extent is 2".to_owned(), 1); 3]);
}

/// States of a program, by name.
fn states(program: &Program, engine: &impl Engine) -> Vec<(String, Vec<Option<f64>>)> {
    let all = program.tensors.iter().enumerate().filter(|(_, t)| t.role == Role::State);
    all.map(|(id, t)| (t.name.clone(), engine.value(TensorId(id)))).collect()
}

#[test]
fn training_leaves_out_what_it_does_not_need_and_nothing_else() {
    for case in cases() {
        let canonical = canonicalise(&case.program, &training()).expect("one sample is no problem");
        compiler::tensor::verify(&canonical);
        let (mut source, mut trained) = (Golden::new(&case.program), Golden::new(&canonical));
        set_all(&case.program, &case.inputs, &mut source);
        set_canonical(&case.program, &canonical, &case.inputs, &mut trained);
        for _ in 0..3 {
            source.step().expect("no value errors");
            trained.step().expect("no value errors");
        }
        for ((name, a), (_, b)) in states(&case.program, &source).iter().zip(&states(&canonical, &trained)) {
            for (a, b) in a.iter().zip(b) {
                let (a, b) = (a.expect("a weight"), b.expect("a weight"));
                assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{}: {name} {a} {b}", case.file);
            }
        }
    }
}

/// A fixed-point program after one step on the inputs of a case, as results of an evaluation.
fn fixed_results(case: &Case, word: u32) -> Result<(Value, f64), Vec<Diagnostic>> {
    let canonical = canonicalise(&case.program, &everything()).expect("one sample is no problem");
    let mut golden = Golden::new(&canonical);
    set_canonical(&case.program, &canonical, &case.inputs, &mut golden);
    Golden::step(&mut golden).expect("no value errors");
    let numbers = Numbers::of_width(word);
    let (lowered, _) = fixed::lower(&canonical, golden.ranges(), &numbers)?;
    let mut engine = Fixed::new(&lowered);
    for (tensor, elements) in read_inputs(&case.program, &case.inputs).expect("good inputs") {
        let name = &case.program.tensors[tensor.0].name;
        let values: Vec<f64> = elements.iter().map(|e| e.unwrap_or(0.0)).collect();
        engine.set_real(engine.tensor(name).expect("inputs keep their names"), &values);
    }
    engine.step();
    // The coarsest last place of everything that is looked at.
    let coarsest = lowered.tensors.iter().map(|t| libm::ldexp(1.0, -t.fraction)).fold(0.0, f64::max);
    let json = |id: TensorId| {
        let elements: Vec<Option<f64>> = engine.values(id).into_iter().map(Some).collect();
        sim::eval::write_elements(&elements, &lowered.tensors[id.0].shape)
    };
    let mut values = serde_json::Map::new();
    for (name, id) in &lowered.names {
        values.insert(name.clone(), json(*id));
    }
    let mut next = serde_json::Map::new();
    for (id, tensor) in lowered.tensors.iter().enumerate() {
        if tensor.role == fixed::Role::State {
            next.insert(tensor.name.clone(), json(TensorId(id)));
        }
    }
    let mut found = serde_json::Map::new();
    found.insert("values".into(), values.into());
    found.insert("next".into(), next.into());
    Ok((found.into(), coarsest))
}

/// Programs in other languages are close, too; what is refused (`ladder_languages` lists it) has a reason and a way out.
#[test]
fn other_languages_are_close() {
    let mut close = 0;
    for case in READ.iter().skip(1).flat_map(|language| cases_in(language)) {
        match fixed_results(&case, 24) {
            Ok((found, coarsest)) => {
                let distance = worst(&found, &case.expect, &case.file);
                assert!(distance <= 2.0 * coarsest, "{}: {distance} at {coarsest}", case.file);
                close += 1;
            }
            Err(errors) => {
                assert!(errors.iter().all(|e| e.code == Code::Backend && e.help.is_some()), "{errors:?}");
            }
        }
    }
    assert!(close >= 50, "{close} programs were compared");
}

#[test]
fn fixed_point_is_close() {
    for word in [16, 24] {
        for case in cases() {
            let (found, coarsest) = fixed_results(&case, word).expect("a program for hardware");
            let distance = worst(&found, &case.expect, &case.file);
            if case.exact {
                assert!(distance <= 0.0, "{}: {distance}", case.file);
            } else {
                assert!(distance <= 2.0 * coarsest, "{}: {distance} at {coarsest}", case.file);
            }
        }
    }
}

/// Values that differ from sample to sample but not from run to run.
struct Sequence(u64);

impl Sequence {
    /// Between -1 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / f64::from(1u32 << 23) - 1.0
    }
}

/// A batch changes the weights by the mean (or the sum) of what its samples would change them by.
#[test]
#[expect(clippy::too_many_lines, reason = "one batch beside its samples, from the values to the weights")]
fn a_batch_is_the_mean_of_its_samples() {
    const SIZE: usize = 4;
    for case in cases().iter().filter(|case| !case.program.descents.is_empty()) {
        let mut source = case.program.clone();
        source.descents.iter_mut().for_each(|descent| descent.rate = 0.3);
        for (reduction, share) in [(Reduction::Mean, 1.0 / SIZE as f64), (Reduction::Sum, 1.0)] {
            let keep = Keep::Training { predictions: Vec::new() };
            let batched = canonicalise(&source, &options(keep, SIZE as u32, reduction)).expect("a batch is no problem");
            compiler::tensor::verify(&batched);
            let mut sequence = Sequence(1);
            let mut golden = Golden::new(&batched);
            set_all(&source, &case.inputs, &mut Golden::new(&source));
            let mut sum: Vec<Vec<f64>> = Vec::new();
            let mut samples: Vec<Vec<Vec<f64>>> = Vec::new();
            for _ in 0..SIZE {
                let mut single = Golden::new(&source);
                set_all(&source, &case.inputs, &mut single);
                let mut sample = Vec::new();
                for (id, tensor) in source.tensors.iter().enumerate() {
                    if matches!(tensor.role, Role::Input | Role::Label) {
                        let count = tensor.shape.iter().map(|&n| n as usize).product();
                        let values: Vec<f64> = (0..count).map(|_| sequence.next()).collect();
                        Golden::set(&mut single, TensorId(id), &values);
                        sample.push(values);
                    }
                }
                samples.push(sample);
                single.step().expect("no value errors");
                for (k, (_, weights)) in states(&source, &single).into_iter().enumerate() {
                    let weights: Vec<f64> = weights.into_iter().map(|w| w.expect("a weight")).collect();
                    match sum.get_mut(k) {
                        Some(sum) => sum.iter_mut().zip(weights).for_each(|(s, w)| *s += w),
                        None => sum.push(weights),
                    }
                }
            }
            let mut number = 0;
            for (id, tensor) in batched.tensors.iter().enumerate() {
                if matches!(tensor.role, Role::Input | Role::Label) {
                    let values: Vec<f64> = samples.iter().flat_map(|sample| sample[number].clone()).collect();
                    Golden::set(&mut golden, TensorId(id), &values);
                    number += 1;
                }
            }
            let mut start = Golden::new(&source);
            set_all(&source, &case.inputs, &mut start);
            let old = states(&source, &start);
            for (id, tensor) in batched.tensors.iter().enumerate().filter(|(_, t)| t.role == Role::State) {
                let (_, values) = old.iter().find(|(name, _)| *name == tensor.name).expect("the same states");
                let values: Vec<f64> = values.iter().map(|v| v.expect("a weight")).collect();
                Golden::set(&mut golden, TensorId(id), &values);
            }
            golden.step().expect("no value errors");
            for (k, (name, new)) in states(&batched, &golden).iter().enumerate() {
                for (e, new) in new.iter().enumerate() {
                    let old = old[k].1[e].expect("a weight");
                    let expected = old + (sum[k][e] - SIZE as f64 * old) * share;
                    let new = new.expect("a weight");
                    assert!((new - expected).abs() < 1e-9, "{} {name}[{e}]: {new}, not {expected}", case.file);
                }
            }
        }
    }
}
