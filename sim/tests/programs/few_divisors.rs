//! Many quotients by few divisors are products, and as near to the quotient as a divider is, but for a sixteenth of the last place.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::Kind;
use compiler::language::{self, Language};
use compiler::tensor::Iterator;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};

const TEXT: &str = "def f(float(16,8) E, float(16) S) -> (P) { P(i,j) = E(i,j) / S(i) }";

/// The program in words of this width, with divisors from `low` to `high`; all values are words with 7 bits less than the width behind the point.
fn climbed(word: u32, (low, high): (f64, f64)) -> Climb {
    let (program, _) = language::parse(Language::TensorComprehensions, TEXT, &language::Options::default()).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(word));
    let step = 2f64.powi(7 - word as i32);
    let mut between = |low: f64, high: f64| {
        let part = f64::from(random.next_u32()) / f64::from(u32::MAX);
        ((low + part * (high - low)) / step).round() * step
    };
    let steps: Vec<NamedValues> = (0..20)
        .map(|_| {
            let e = (0..128).map(|_| between(-1.0, 1.0)).collect();
            let s = (0..16).map(|_| between(low, high)).collect();
            NamedValues::from([("E".to_owned(), e), ("S".to_owned(), s)])
        })
        .collect();
    let options =
        Options { keep: Keep::Prediction { names: vec!["P".to_owned()], states: Vec::new() }, batch: Batch::SINGLE };
    let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(4), word: Some(word), ..MachineSpec::default() };
    let climb = Climb::new(&program, &options, &NamedValues::new(), &steps, &spec).unwrap();
    climb.run(Array::new(&climb.image().machine), Stalls::none()).unwrap();
    climb
}

fn quotients(climb: &Climb) -> u64 {
    let divides = climb.fixed.operations.iter().filter(|operation| matches!(operation.kind, Kind::Divide { .. }));
    divides.map(|operation| operation.iterators.iter().map(Iterator::extent).product::<u64>()).sum()
}

#[test]
fn products_are_as_near_as_quotients() {
    for word in [12, 16, 24] {
        for divisors in [(1.0, 2.0), (0.75, 3.9), (0.25, 7.5), (-7.5, -0.5)] {
            let climb = climbed(word, divisors);
            assert_eq!(quotients(&climb), 16, "{word} bits, {divisors:?}: one reciprocal each");
            assert!(climb.distance <= 9.0 / 16.0 + 1e-6, "{word} bits, {divisors:?}: {} last places", climb.distance);
        }
    }
}

#[test]
fn divisors_near_zero_are_divided_by() {
    // Some are 0 or have another sign; some are so small beside others that no reciprocal is near enough.
    for divisors in [(-1.0, 1.0), (0.0, 4.0), (0.02, 30.0)] {
        let climb = climbed(12, divisors);
        assert_eq!(quotients(&climb), 128, "{divisors:?}");
    }
}
