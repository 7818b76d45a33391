//! Ranks that are processes: what all of them do around the work (docs/ranks.md). What connects them is MPI's, in builds with the feature `mpi`.
//!
//!     rank 0    begins ──▶ same version? ──▶ work ──▶ all done? ──▶ ends          speaks and writes
//!     rank n    begins ──▶ same version? ──▶ work ──▶ all done? ──▶ ends          is silent, unless rank 0 is lost
//!
//! A process that fails does not take part in MPI's own end, which would wait for everybody: it exits, and `mpirun` ends the others.

#[cfg(feature = "mpi")]
mod mpi;

use crate::bug;
use crate::output::{self, Talk};
use sim::train::ranks::Communicator;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use workbench::Failure;
use workbench::ranks::{agree, compare};

/// Ranks that are processes.
trait World: Communicator {
    /// Let the others know why this rank ends, if they can be reached.
    fn tell(&self, why: &str);

    /// Whether this is the first of the ranks that are not lost.
    fn is_first_left(&self) -> bool;

    /// End in peace, together with all others.
    fn end(&self) -> Result<(), Failure>;
}

/// The world of this process, whose ranks wait so long for each other.
#[cfg(feature = "mpi")]
fn begin(patience: Duration) -> Result<Rc<dyn World>, Failure> {
    Ok(Rc::new(mpi::Process::begin(patience)?))
}

#[cfg(not(feature = "mpi"))]
fn begin(_: Duration) -> Result<Rc<dyn World>, Failure> {
    let says = "`--ranks` without a number is for all processes that mpirun has started, and this build is without MPI: \
                scripts/setup --mpi installs it, `cargo build --features mpi` builds with it; --ranks=N are threads";
    Err(Failure::Usage(says.to_owned()))
}

/// How long a rank that has failed leaves it to the first one to say so, and to end all.
const LEAVES: Duration = Duration::from_secs(2);

/// Do `work` on every rank, with somebody to talk to on the first one only.
///
/// # Errors
/// What this rank has to say: the others never come back from here when one has failed, unless the first one does not speak.
pub fn run(
    patience: Duration,
    talk: &Talk,
    work: impl FnOnce(&Rc<dyn Communicator>, &Talk) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let world = begin(patience)?;
    let all: Rc<dyn Communicator> = Rc::clone(&world) as _;
    let silent = Talk::silent();
    let talk = if world.rank() == 0 { talk } else { &silent };
    let version = BTreeMap::from([("tabla-gen".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]);
    let done = bug::caught(|| {
        compare(all.as_ref(), &version)?;
        work(&all, talk)?;
        // Whoever comes here has no more to do, and who does not has told.
        agree(all.as_ref(), Ok(()))
    });
    match done {
        Ok(()) => world.end(),
        Err(failure) => {
            if world.rank() > 0 {
                world.tell(&failure.to_string());
                if !world.is_first_left() {
                    std::thread::sleep(LEAVES);
                }
                output::error_line(&format!("rank {} of {}:", world.rank(), world.ranks()));
            }
            Err(failure)
        }
    }
}
