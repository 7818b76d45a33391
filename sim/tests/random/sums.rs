//! Sums that leave a grid through its streams and come back: random programs, random splits of the tiles, some of them empty. The judge is fixed point
//! with the whole batch, which knows neither tiles nor shares; of the Verilog also the array, sum by sum and cycle by cycle.

use crate::generator::{
    self, tape,
    trial::{Hardware, grid, hardware_for_tiles},
};
use crate::shares::{Case, case, signature};
use arch::Image;
use arch::machine::MachineSpec;
use arch::number::wrap;
use compiler::canonical::Reduction;
use compiler::search::{Compiled, compile_divided};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::grid::{Grid, Stalls};
use sim::train::device::Device;
use sim::train::engine::{Engine, NamedValues, Step};
use sim::train::ranks::Divides;
use sim::train::ranks::device::DividedDevice;
use sim::train::ranks::limbs;
use sim::train::words::Words;
use sim::verilator::GridDevice;

/// A training of two batches: its image, start and steps, and the weights that it ends with.
struct Trial {
    case: Case,
    image: Image,
    conclusion: Option<Image>,
    start: NamedValues,
    steps: Vec<Step>,
    expected: NamedValues,
}

fn trial(number: u64, spec: &MachineSpec, machines: u32) -> Option<Trial> {
    let count = [4, 24, 6, 5][number as usize % 4];
    let case = case(&tape::random(31, number, 40 + (number * 7 % 140) as usize), count, Reduction::Mean)?;
    let Compiled { image, conclusion, .. } = compile_divided(&case.fixed, spec, machines).ok()?;
    let signature = signature(&case);
    let batches = generator::steps(&case.samples, count as u32);
    let step: Step = signature.fields.iter().map(|field| batches[0][&field.name].clone()).collect();
    let half: Step = step.iter().map(|values| values.iter().map(|value| value / 2.0).collect()).collect();
    let steps = vec![step, half];
    let start: NamedValues = signature.model.iter().map(|(name, _)| (name.clone(), case.model[name].clone())).collect();
    let mut words = Words::new(&case.fixed, &signature);
    words.load(&start);
    words.run(&steps).expect("words do not fail");
    Some(Trial { image, conclusion, start, steps, expected: words.model(), case })
}

/// Where shares of the tiles before the last one end, one list for each batch.
fn splits(trial: &Trial, random: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
    let tiles = trial.image.tiles - u32::from(trial.conclusion.is_none());
    let grids = 1 + random.next_u32() as usize % 4;
    let mut split = || {
        let mut ends: Vec<u32> = (1..grids).map(|_| random.next_u32() % (tiles + 1)).collect();
        ends.push(tiles);
        ends.sort_unstable();
        ends
    };
    vec![split(), split()]
}

/// What grids with these shares make: all sums that left, the cycles of all runs, and the weights of each.
#[derive(Debug, PartialEq)]
struct Made {
    sums: Vec<Vec<i128>>,
    cycles: Vec<u64>,
    models: Vec<NamedValues>,
}

fn train<G: Grid>(trial: &Trial, splits: &[Vec<u32>], mut new: impl FnMut() -> G, stalls: Option<u64>) -> Made {
    let accumulator = trial.image.machine.accumulator();
    let signature = signature(&trial.case);
    let mut grids: Vec<_> = (0..splits[0].len() as u64)
        .map(|number| {
            let stalls = stalls.map_or_else(Stalls::none, |seed| Stalls::seeded(seed + number, 25, 25));
            let device = Device::new(new(), trial.image.clone(), &signature, Vec::new(), stalls);
            DividedDevice::new(device, trial.conclusion.clone())
        })
        .collect();
    let mut made = Made { sums: Vec::new(), cycles: Vec::new(), models: Vec::new() };
    for grid in &mut grids {
        grid.load(&trial.start);
    }
    for (number, (batch, ends)) in trial.steps.iter().zip(splits).enumerate() {
        let mut totals: Vec<i128> = Vec::new();
        let mut from = 0;
        for (grid, &end) in grids.iter_mut().zip(ends) {
            let (sums, outcome) = grid.tiles(batch, from..end).unwrap();
            totals.resize(sums.len(), 0);
            totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total = wrap(*total + sum, accumulator));
            made.sums.push(sums);
            made.cycles.push(outcome.cycles);
            from = end;
        }
        let totals = limbs::split(&totals, accumulator);
        for grid in &mut grids {
            let run = grid.finish(batch, &totals, number == 1).unwrap();
            made.cycles.extend(run.cycles);
        }
    }
    made.models = grids.iter().map(DividedDevice::model).collect();
    made
}

/// Accumulators of 40 to 96 bits, one and more lanes of the output, both kinds of pads.
#[test]
fn arrays_exchange_sums_through_their_streams() {
    let mut random = ChaCha8Rng::seed_from_u64(22);
    let (mut trained, mut empty) = (0, 0);
    for number in 0..24 {
        let spec = MachineSpec {
            accumulator: Some([40, 48, 64, 65, 80, 96][number as usize % 6]),
            output_words: Some([1, 2, 4][number as usize % 3]),
            stream_words: Some([4, 12, 3][number as usize / 2 % 3]),
            pad_register: Some(number % 5 == 0),
            partial_sums: Some(true),
            ..grid(4, 3, 16)
        };
        let Some(trial) = trial(number, &spec, 1 + number as u32 % 3) else { continue };
        let splits = splits(&trial, &mut random);
        let made = train(&trial, &splits, || Array::new(&trial.image.machine), (number % 2 == 0).then_some(number));
        for model in &made.models {
            assert_eq!(*model, trial.expected, "program {number}, {splits:?}:\n{}", trial.case.text);
        }
        trained += 1;
        empty +=
            splits.iter().flatten().zip(splits.iter().flatten().skip(1)).filter(|(one, other)| one == other).count();
    }
    println!("{trained} trainings, {empty} empty shares");
    assert!(trained >= 8 && empty >= 4, "{trained}, {empty}");
}

/// One grid of Verilog and several programs; sums, cycles and weights are those of the array.
#[test]
fn the_hardware_exchanges_sums_as_the_array_does() {
    let spec = MachineSpec {
        output_words: Some(2),
        accumulator: Some(50),
        pads_in_rows: Some(true),
        data_depth: Some(256),
        program_depth: Some(128),
        partial_sums: Some(true),
        ..hardware_for_tiles(2, 3, 16)
    };
    let hardware = Hardware::build(spec.clone());
    let mut random = ChaCha8Rng::seed_from_u64(23);
    let mut trained = 0;
    for number in 0..40 {
        let Some(trial) = trial(number, &spec, 2) else { continue };
        let splits = splits(&trial, &mut random);
        for stalls in [None, Some(number)] {
            let made = train(&trial, &splits, || GridDevice::new(&hardware.library, &hardware.machine), stalls);
            let expected = train(&trial, &splits, || Array::new(&hardware.machine), stalls);
            assert_eq!(made, expected, "program {number}, {splits:?}:\n{}", trial.case.text);
            assert!(made.models.iter().all(|model| *model == trial.expected), "program {number}");
        }
        trained += 1;
        if trained == 6 {
            break;
        }
    }
    assert_eq!(trained, 6, "trainings");
}
