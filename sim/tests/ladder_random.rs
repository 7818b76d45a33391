//! Random programs climb the ladder, and their results do not depend on the grid.

mod random;

use arch::Code;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use proptest::prelude::*;
use random::RandomProgram;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::Climb;

fn grid(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        table_entries: Some(1 << 12),
        ..MachineSpec::default()
    }
}

/// Climb on several grids; the words must agree. `Ok(false)`: the program is not for this machine.
fn climb(program: &RandomProgram, batch: u32, grids: &[MachineSpec]) -> Result<bool, TestCaseError> {
    let Ok((parsed, _)) = language::parse(Language::Tabla, &program.text, &language::Options::default()) else {
        // The generator knows nothing of elements without a value.
        return Ok(false);
    };
    let options = Options { keep: Keep::AllNames, batch: Batch { size: batch, reduction: Reduction::Mean } };
    for spec in grids {
        let climb = match Climb::new(&parsed, &options, &program.model, &program.steps(batch), spec) {
            Ok(climb) => climb,
            Err(errors) => {
                let refused = errors.iter().all(|e| e.code == Code::Backend);
                prop_assert!(refused, "{:?}\n{}", errors, program.text);
                return Ok(false);
            }
        };
        let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none());
        prop_assert!(agreement.is_ok(), "{}: {}\n{}", climb.image().machine, agreement.unwrap_err(), program.text);
        let stalled = climb.run(Array::new(&climb.image().machine), Stalls::seeded(7, 30, 30));
        prop_assert!(stalled.is_ok(), "stalled: {}\n{}", stalled.unwrap_err(), program.text);
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn random_programs_climb_the_ladder(tape in proptest::collection::vec(any::<u16>(), 20..200)) {
        let program = random::program(&tape);
        let grids = [grid(1, 2, 24), grid(2, 4, 16), grid(3, 5, 16)];
        climb(&program, 1, &grids)?;
        if program.trains {
            climb(&program, 3, &grids)?;
        }
    }

    #[test]
    fn words_do_not_depend_on_the_grid(tape in proptest::collection::vec(any::<u16>(), 20..120)) {
        let program = random::program(&tape);
        climb(&program, 1, &[grid(1, 1, 16), grid(1, 5, 16), grid(4, 1, 16), grid(4, 4, 16), grid(8, 8, 16)])?;
    }
}

/// Rows, columns, all PEs, cut or not: wherever a program is computed, its words are the same.
#[test]
fn words_do_not_depend_on_the_placement() {
    let mut climbed = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..40u16 {
        let tape: Vec<u16> =
            (0..120u32).map(|k| (k.wrapping_mul(40503) ^ u32::from(seed).wrapping_mul(2_654_435_761)) as u16).collect();
        let program = random::program(&tape);
        let Ok((parsed, _)) = language::parse(Language::Tabla, &program.text, &language::Options::default()) else {
            continue;
        };
        let roomy = MachineSpec {
            model_depth: Some(1 << 12),
            data_depth: Some(1 << 12),
            temporary_depth: Some(1 << 12),
            program_depth: Some(2048),
            ..grid(2, 3, 16)
        };
        let options = Options { keep: Keep::AllNames, batch: Batch { size: 1, reduction: Reduction::Mean } };
        let Ok(best) = Climb::new(&parsed, &options, &program.model, &program.steps(1), &roomy) else { continue };
        for number in [1, 4, 9, 22, 57, 131] {
            let Some(climb) = best.elsewhere(number) else { continue };
            let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none());
            assert!(agreement.is_ok(), "seed {seed}, placement {number}: {}\n{}", agreement.unwrap_err(), program.text);
            kinds.extend(climb.compiled.placement.iter().flat_map(|(_, axes)| axes.clone()));
            climbed += 1;
        }
    }
    println!("{climbed} climbs on {kinds:?}");
    assert!(climbed >= 100, "{climbed} climbs");
    assert!(kinds.len() >= 4, "{kinds:?}");
}

/// A test that refuses everything proves nothing.
#[test]
fn most_random_programs_are_accepted() {
    let mut accepted = 0;
    for seed in 0..100u16 {
        let tape: Vec<u16> =
            (0..120u32).map(|k| (k.wrapping_mul(40503) ^ u32::from(seed).wrapping_mul(2_654_435_761)) as u16).collect();
        accepted += usize::from(climb(&random::program(&tape), 1, &[grid(2, 4, 16)]).unwrap());
    }
    println!("{accepted} of 100 accepted");
    assert!(accepted >= 50, "{accepted} of 100");
}
