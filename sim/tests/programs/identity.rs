//! Canonical passes are identities: every pass on every program, and the way from end to end.

use crate::numeric::cases_in;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::identity::{self, Effort};
use compiler::tensor::{Program, Role};

const EFFORT: Effort = Effort(20_000_000);

/// Evaluation; training, of single samples and of batches whose rate is no power of two.
fn uses(program: &Program) -> Vec<Options> {
    let single = |keep| Options { keep, batch: Batch::SINGLE };
    let mut uses = vec![single(Keep::AllNames)];
    if program.tensors.iter().any(|tensor| tensor.role == Role::State) {
        let training = || Keep::Training { predictions: Vec::new() };
        uses.push(single(training()));
        for (size, reduction) in [(3, Reduction::Mean), (3, Reduction::Sum)] {
            uses.push(Options { keep: training(), batch: Batch { size, reduction } });
        }
    }
    uses
}

/// A rate that is no power of two: where it goes is seen.
fn with_uneven_rate(program: &Program) -> Program {
    let mut program = program.clone();
    program.descents.iter_mut().for_each(|descent| descent.rate = 0.3);
    program
}

#[test]
fn every_pass_is_an_identity_on_every_program() {
    let (mut changed, mut broken) = (0, Vec::new());
    for case in ["tabla", "tc", "tile", "rink"].into_iter().flat_map(cases_in) {
        let program = with_uneven_rate(&case.program);
        for options in uses(&program) {
            match identity::check_each_pass(&program, &options, EFFORT) {
                Ok(passes) => changed += passes,
                Err(wrong) => broken.push(format!("{} {options:?}: {wrong}", case.file)),
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(changed > 1000, "{changed}");
}

#[test]
fn canonical_forms_are_the_same_function() {
    let mut broken = Vec::new();
    for case in ["tabla", "tc", "tile", "rink"].into_iter().flat_map(cases_in) {
        let program = with_uneven_rate(&case.program);
        for options in uses(&program) {
            match identity::check(&program, &options, EFFORT) {
                Ok(Some(chain)) if chain.field.log2_error < -40.0 => {}
                Ok(Some(chain)) => broken.push(format!("{}: {chain}", case.file)),
                Ok(None) => {}
                Err(wrong) => broken.push(format!("{} {options:?}: {wrong}", case.file)),
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
