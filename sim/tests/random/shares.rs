//! Batches divided over several machines: random programs, random splits, empty shares and uneven ones among them. The whole batch is the judge: it runs
//! as one step of [`Fixed`], which knows nothing of shares.

use crate::generator::{self, tape, trial::grid};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::fixed::{Program, Role};
use compiler::language::{self, Language};
use compiler::placed::shares::{Shares, shares};
use compiler::search::compile_divided;
use compiler::tensor::TensorId;
use proptest::prelude::*;
use sim::array::Array;
use sim::fixed::Fixed;
use sim::fixed::divided::{Divided, Sums};
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use sim::train::device::Device;
use sim::train::engine::{Engine, Field, Signature, Step};
use sim::train::ranks::Ranked;
use sim::train::ranks::checked::Checked;
use sim::train::ranks::device::DividedDevice;
use sim::train::ranks::threads::threads;
use sim::train::ranks::words::DividedWords;
use sim::train::words::Words;
use std::rc::Rc;
use std::time::Duration;

/// A program that trains, in fixed-point form for a batch, with weights and samples.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) fixed: Program,
    shares: Shares,
    pub(crate) model: NamedValues,
    pub(crate) samples: Vec<NamedValues>,
}

/// The program of a tape, if its batch can be divided.
pub(crate) fn case(tape: &[u16], samples: usize, reduction: Reduction) -> Option<Case> {
    let program = generator::program(tape);
    let (parsed, _) = language::parse(Language::Tabla, &program.text, &language::Options::default()).ok()?;
    let known = program.samples.len();
    // As many as are wanted, each other than those before.
    let sample = |n: usize| -> NamedValues {
        let turned =
            |values: &Vec<f64>| values.iter().map(|value| if n < known { *value } else { 0.75 - value }).collect();
        program.samples[n % known].iter().map(|(name, values)| (name.clone(), turned(values))).collect()
    };
    let samples: Vec<NamedValues> = (0..samples).map(sample).collect();
    let options = Options {
        keep: Keep::Training { predictions: Vec::new() },
        batch: Batch { size: samples.len() as u32, reduction },
    };
    let steps = generator::steps(&samples, samples.len() as u32);
    let climb = Climb::new(&parsed, &options, &program.model, &steps, &grid(2, 3, 16)).ok()?;
    let shares = shares(&climb.fixed).ok()?;
    Some(Case { text: program.text, fixed: climb.fixed, shares, model: program.model, samples })
}

/// Inputs, or weights, of a program.
fn tensors(program: &Program, role: &Role) -> Vec<(TensorId, String)> {
    let all = program.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == *role);
    all.map(|(n, tensor)| (TensorId(n), tensor.name.clone())).collect()
}

fn load(fixed: &mut Fixed, case: &Case) {
    for (id, name) in tensors(&case.fixed, &Role::State) {
        fixed.set_real(id, &case.model[&name]);
    }
}

/// The weights after two batches of all samples, and what was clipped.
fn whole(case: &Case) -> Fixed {
    let mut fixed = Fixed::new(&case.fixed);
    load(&mut fixed, case);
    for _ in 0..2 {
        for (id, name) in tensors(&case.fixed, &Role::Input) {
            let values: Vec<f64> = case.samples.iter().flat_map(|sample| sample[&name].clone()).collect();
            fixed.set_real(id, &values);
        }
        fixed.step();
    }
    fixed
}

/// The same with machines that have the samples that `owner` says.
fn divided(case: &Case, machines: usize, owner: &dyn Fn(usize) -> usize) -> Vec<Divided> {
    let mut all: Vec<Divided> = (0..machines).map(|_| Divided::new(&case.shares)).collect();
    let inputs = tensors(&case.fixed, &Role::Input);
    for machine in &mut all {
        load(machine.fixed_mut(), case);
    }
    for _ in 0..2 {
        let mut total = Sums::default();
        for (number, machine) in all.iter_mut().enumerate() {
            machine.begin();
            for (_, sample) in case.samples.iter().enumerate().filter(|(n, _)| owner(*n) == number) {
                machine.sample(inputs.iter().map(|(id, name)| (*id, sample[name].as_slice())));
            }
            let Sums { sums, clipped } = machine.sums();
            total.sums.resize(sums.len(), 0);
            total.clipped.resize(clipped.len(), 0);
            total.sums.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            total.clipped.iter_mut().zip(clipped).for_each(|(total, count)| *total += count);
        }
        for machine in &mut all {
            machine.finish(&total);
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Whoever has which sample: weights and counts are those of the whole batch, on every machine.
    #[test]
    fn words_do_not_depend_on_who_has_a_sample(
        number in 0..400u64, count in 2..7usize, machines in 1..5usize, owners in proptest::collection::vec(0..5usize, 7), sum: bool,
    ) {
        let reduction = if sum { Reduction::Sum } else { Reduction::Mean };
        let Some(case) = case(&tape::random(21, number, 20 + (number * 3 % 160) as usize), count, reduction) else {
            return Ok(());
        };
        let expected = whole(&case);
        for machine in divided(&case, machines, &|sample| owners[sample] % machines) {
            for (id, name) in tensors(&case.fixed, &Role::State) {
                prop_assert_eq!(machine.fixed().words(id), expected.words(id), "{} of\n{}", name, &case.text);
            }
            prop_assert_eq!(machine.fixed().clipped(), expected.clipped(), "{}", &case.text);
        }
    }
}

pub(crate) fn signature(case: &Case) -> Signature {
    let shape =
        |name: &str| case.fixed.tensors.iter().find(|tensor| tensor.name == name).expect("it exists").shape.clone();
    let field = |(_, name): (TensorId, String)| Field { shape: shape(&name)[1..].to_vec(), name, integer: false };
    let fields: Vec<Field> = tensors(&case.fixed, &Role::Input).into_iter().map(field).collect();
    let weights = tensors(&case.fixed, &Role::State).into_iter();
    let model = weights.map(|(_, name)| (name.clone(), case.model[&name].len())).collect();
    Signature { inputs: fields.len(), fields, prediction: (String::new(), 0), model, sequence: Vec::new() }
}

/// Arrays that share the tiles of a batch, more of them than there are tiles among them: the weights of fixed point, on every rank.
#[test]
fn arrays_share_batches() {
    let (mut trained, mut through_trees, mut idle, mut concluded) = (0, 0, 0, 0);
    for number in 0..16 {
        let count = [2, 24, 6, 5][number as usize % 4];
        let Some(case) = case(&tape::random(22, number, 40 + (number * 7 % 140) as usize), count, Reduction::Mean)
        else {
            continue;
        };
        let signature = signature(&case);
        let batch = generator::steps(&case.samples, count as u32).remove(0);
        let step: Step = signature.fields.iter().map(|field| batch[&field.name].clone()).collect();
        let steps = [step.clone(), step];
        let mut expected = Words::new(&case.fixed, &signature);
        let start: NamedValues =
            signature.model.iter().map(|(name, _)| (name.clone(), case.model[name].clone())).collect();
        expected.load(&start);
        expected.run(&steps).expect("words do not fail");
        for ranks in [1, 3, 8] {
            let Ok(compiled) = compile_divided(&case.fixed, &grid(2, 3, 16), ranks) else {
                continue;
            };
            let (image, conclusion) = (compiled.image, compiled.conclusion);
            concluded += usize::from(conclusion.is_some());
            assert!(image.tiles > 1);
            let parks = |tiles: &arch::isa::Tiles| matches!(tiles, arch::isa::Tiles::Park(_));
            through_trees += usize::from(image.alu.iter().any(|i| i.tree && parks(&i.tiles)));
            idle += usize::from(image.tiles - u32::from(conclusion.is_none()) < ranks);
            let one = |rank| {
                let device =
                    Device::new(Array::new(&image.machine), image.clone(), &signature, Vec::new(), Stalls::none());
                let words = Box::new(DividedWords::new(&case.shares, &signature));
                let checked = Checked::new(Box::new(DividedDevice::new(device, conclusion.clone())), words, "fixed");
                let mut engine = Ranked::new(Box::new(checked), Rc::new(rank));
                engine.load(&start);
                let run = engine.run(&steps).unwrap();
                (engine.model(), engine.clipped(), engine.comparison().unwrap(), run.cycles)
            };
            let results: Vec<_> = std::thread::scope(|scope| {
                let one = &one;
                let all = threads(ranks as usize, Duration::from_mins(1)).into_iter();
                let all: Vec<_> = all.map(|rank| scope.spawn(move || one(rank))).collect();
                all.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for (model, clipped, comparison, cycles) in &results {
                assert_eq!(*model, expected.model(), "program {number} on {ranks} ranks:\n{}", case.text);
                assert_eq!(*clipped, expected.clipped(), "program {number} on {ranks} ranks:\n{}", case.text);
                assert!(comparison.agrees() && comparison.words > 0, "{comparison:?}");
                assert_eq!(*cycles, results[0].3, "all say the same of the slowest");
            }
            trained += 1;
        }
    }
    println!(
        "{trained} trainings, {through_trees} with sums through trees, {idle} with ranks that have no tile, {concluded} end without samples"
    );
    assert!(trained >= 20 && idle >= 4 && concluded >= 10, "{trained}, {through_trees}, {idle}, {concluded}");
}
