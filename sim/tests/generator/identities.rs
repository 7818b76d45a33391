//! Canonical passes as polynomial identities, in all the ways in which a program is compiled.

use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::identity::{Broken, Effort, check_each_pass};
use compiler::tensor::{Program, Role};

/// Operations on values in one comparison.
pub(crate) const EFFORT: Effort = Effort(2_000_000);

/// The same in long runs: a tenth of the draws, and ten times as many rewrites.
#[allow(dead_code, reason = "of scripts/soak")]
pub(crate) const PASSING_EFFORT: Effort = Effort(200_000);

/// Evaluation; training, of single samples and of batches.
pub(crate) fn uses(program: &Program) -> Vec<Options> {
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

/// The program with rates that are no powers of two: where they go is seen.
pub(crate) fn with_uneven_rates(program: &Program) -> Program {
    let mut program = program.clone();
    program.descents.iter_mut().for_each(|descent| descent.rate = 0.3);
    program
}

/// Check every pass in every use: how many changed the program.
pub(crate) fn rewrites(program: &Program, effort: Effort) -> Result<usize, Broken> {
    let program = with_uneven_rates(program);
    uses(&program).iter().map(|options| check_each_pass(&program, options, effort)).sum()
}
