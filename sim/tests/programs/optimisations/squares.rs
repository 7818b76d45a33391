//! Differences that are only squared are no words of their own: exact, one beat each, and never less accurate than before.

use arch::machine::MachineSpec;
use arch::number::{round_half_even, saturate};
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::Kind;
use compiler::language::{self, Language};
use compiler::optimisations::{Disabled, Optimisation};
use compiler::tensor::{Role, TensorId};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::fixed::Fixed;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};

/// Distances of 7 points to each of 9, of 6 coordinates.
const DISTANCES: &str = "def f(float(7,6) X, float(9,6) C) -> (S) { S(i,j) +=! (X(i,k) - C(j,k)) * (X(i,k) - C(j,k)) }";

fn grid(word: u32) -> MachineSpec {
    MachineSpec { pus: Some(2), pes_per_pu: Some(4), word: Some(word), ..MachineSpec::default() }
}

fn climb_without(text: &str, steps: &[NamedValues], spec: &MachineSpec, disabled: Disabled) -> Climb {
    let (program, _) = language::parse(Language::TensorComprehensions, text, &language::Options::default()).unwrap();
    let results = program.tensors.iter().filter(|tensor| tensor.role == Role::Output);
    let names = results.map(|tensor| tensor.name.clone()).collect();
    let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    Climb::new_without(&program, &options, &NamedValues::new(), steps, spec, disabled).unwrap()
}

fn climb(text: &str, steps: &[NamedValues], spec: &MachineSpec) -> Climb {
    climb_without(text, steps, spec, Disabled::NOTHING)
}

/// Operations that square a difference.
fn squares(climb: &Climb) -> usize {
    let square = |kind: &Kind| matches!(kind, Kind::MultiplyAdd { square: true, .. });
    climb.fixed.operations.iter().filter(|operation| square(&operation.kind)).count()
}

/// Values of `(name, count, low, high)` for so many steps.
fn values(seed: u64, steps: usize, tensors: &[(&str, usize, f64, f64)]) -> Vec<NamedValues> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut between = |low: f64, high: f64| low + f64::from(random.next_u32()) / f64::from(u32::MAX) * (high - low);
    let mut step = || {
        let of = |&(name, count, low, high): &(&str, usize, f64, f64)| {
            (name.to_owned(), (0..count).map(|_| between(low, high)).collect())
        };
        tensors.iter().map(of).collect()
    };
    (0..steps).map(|_| step()).collect()
}

/// Words up to both ends of their range: a difference of them has a bit more than a word.
#[test]
fn differences_are_exact() {
    for word in [8, 16, 24, 32] {
        let steps = values(u64::from(word), 1, &[("X", 42, -0.999, 0.999), ("C", 54, -0.999, 0.999)]);
        let climb = climb(DISTANCES, &steps, &grid(word));
        assert_eq!((squares(&climb), climb.fixed.operations.len()), (1, 1), "{}", climb.fixed);
        assert!(climb.image().machine.squares());
        climb.run(Array::new(&climb.image().machine), Stalls::none()).unwrap();
        climb.prove().unwrap_or_else(|why| panic!("{word} bits: {why}"));

        let Kind::MultiplyAdd { shift, .. } = climb.fixed.operations[0].kind else { unreachable!("it squares") };
        let mut fixed = Fixed::new(&climb.fixed);
        let id = |name: &str| TensorId(climb.fixed.tensors.iter().position(|tensor| tensor.name == name).unwrap());
        let (least, most) = (-(1i64 << (word - 1)), (1i64 << (word - 1)) - 1);
        let ends = [least, most, 0, least + 1, -1, 1, most - 1];
        let x: Vec<i64> = (0..42).map(|n| ends[n % 7]).collect();
        let c: Vec<i64> = (0..54).map(|n| ends[(n / 6 + n) % 7]).collect();
        fixed.set(id("X"), &x);
        fixed.set(id("C"), &c);
        fixed.step();
        for (n, found) in fixed.words(id("S")).iter().enumerate() {
            let (i, j) = (n / 9, n % 9);
            let square = |k: usize| (i128::from(x[i * 6 + k]) - i128::from(c[j * 6 + k])).pow(2);
            let sum: i128 = (0..6).map(square).sum();
            assert_eq!(*found, saturate(round_half_even(sum, shift), word).0, "{word} bits, {i} and {j}");
        }
    }
}

/// A beat for each square, where there were more.
#[test]
fn a_difference_takes_no_beat() {
    let steps = values(1, 2, &[("X", 42, -1.0, 1.0), ("C", 54, -1.0, 1.0)]);
    let beats = |climb: &Climb| -> u64 {
        let of = |counts: &[u32]| counts.iter().map(|&n| u64::from(n)).product::<u64>();
        climb.image().alu.iter().filter(|at| !at.instruction.emit).map(|at| of(&at.instruction.counts)).sum()
    };
    let with = climb(DISTANCES, &steps, &grid(16));
    let disabled = climb_without(DISTANCES, &steps, &grid(16), Disabled::from_iter([Optimisation::Squares]));
    let none = climb(DISTANCES, &steps, &MachineSpec { squares: Some(false), ..grid(16) });
    assert_eq!((squares(&disabled), squares(&none)), (0, 0));
    assert_eq!(none.fixed, disabled.fixed);
    assert!(!none.image().machine.squares());
    // Seven points times nine times six coordinates on eight PEs, and a copy.
    assert!(beats(&disabled) >= beats(&with) + 42, "{} and {} beats", beats(&with), beats(&disabled));
    assert!(with.distance <= disabled.distance, "{} and {} last places", with.distance, disabled.distance);
    none.run(Array::new(&none.image().machine), Stalls::none()).unwrap();
}

/// What is squared in one beat, and what is not: expectations from the law of docs/numbers.md.
#[test]
fn no_result_gets_worse() {
    let x = |low: f64, high: f64| ("X", 6, low, high);
    let c = |low: f64, high: f64| ("C", 6, low, high);
    let sum = "def f(float(6) X, float(6) C) -> (s) { s +=! (X(k) - C(k)) * (X(k) - C(k)) }";
    let named = "def f(float(6) X, float(6) C) -> (s) { D(k) = X(k) - C(k)  s +=! D(k) * D(k) }";
    let half = "def f(float(6) X, float(6) C) -> (s) { D(k) = X(k) - C(k)  s +=! 0.5 * (D(k) * D(k)) }";
    let shown = "def f(float(6) X, float(6) C) -> (s, D) { D(k) = X(k) - C(k)  s +=! D(k) * D(k) }";
    let used = "def f(float(6) X, float(6) C) -> (s, E) { D(k) = X(k) - C(k)  s +=! D(k) * D(k)  E(k) = D(k) * X(k) }";
    let also = "def f(float(6) X, float(6) C) -> (s, E) { s +=! (X(k) - C(k)) * (X(k) - C(k))  E(k) = X(k) * X(k) }";
    let constant = "def f(float(6) X) -> (s) { s +=! (X(k) - 0.5) * (X(k) - 0.5) }";
    let third = "def f(float(6) X) -> (s) { s +=! (0.3333 - X(k)) * (0.3333 - X(k)) }";
    let largest = "def f(float(6) X, float(6) C) -> (m) { m max=! (X(k) - C(k)) * (X(k) - C(k)) }";
    let each = "def f(float(6) X, float(6) C) -> (E) { E(k) = 1.0 - (X(k) - C(k)) * (X(k) - C(k)) }";
    let twice = "def f(float(6) X, float(6) C) -> (s, E) { D(k) = X(k) - C(k)  s +=! D(k) * D(k)  E(k) = D(k) * D(k) }";
    let (wide, narrow) = ([x(-0.9, 0.9), c(-0.9, 0.9)], [x(0.5, 0.9), c(0.5, 0.9)]);
    let (apart, near) = ([x(-3.9, 3.9), c(-0.2, 0.2)], [x(7.3, 7.4), c(7.3, 7.4)]);
    for (text, ranges, squared) in [
        (sum, &wide[..], 1),
        (named, &wide, 1),
        (half, &wide, 1),
        // A name is computed, rounded and kept as written, and so is what somebody else reads.
        (shown, &wide, 0),
        (used, &wide, 0),
        (twice, &wide, 2),
        (largest, &wide, 1),
        (each, &wide, 1),
        (sum, &narrow, 1),
        (sum, &near, 1),
        // C loses its last places, as the difference did; but not where somebody else needs them.
        (sum, &apart, 1),
        (also, &apart, 1),
        (also, &[x(-0.2, 0.2), c(-3.9, 3.9)], 0),
        // A difference that is finer than the coarser operand.
        (sum, &[x(2.01, 2.02), c(1.98, 1.99)], 0),
        (constant, &[x(-0.9, 0.9)], 1),
        (third, &[x(-0.9, 0.9)], 1),
        (third, &[x(-0.2, 0.2)], 1),
        (third, &[x(0.32, 0.34)], 0),
    ] {
        for word in [12, 16, 24] {
            let steps = values(7, 20, ranges);
            let with = climb(text, &steps, &grid(word));
            let disabled = climb_without(text, &steps, &grid(word), Disabled::from_iter([Optimisation::Squares]));
            assert_eq!(squares(&with), squared, "{word} bits, {ranges:?}: {text}\n{}\n{}", with.fixed, disabled.fixed);
            assert!(with.distance <= disabled.distance.max(1.0) + 1e-9, "{} and {}", with.distance, disabled.distance);
            with.run(Array::new(&with.image().machine), Stalls::none()).unwrap();
        }
    }
}
