//! Several ranks train one model (docs/ranks.md): what they agree on before they begin.
//!
//! ```text
//! every rank: data, settings ──▶ the same training? ──▶ the same words and images? ──▶ epochs
//! ```

use crate::checkpoint::Checkpoint;
use crate::config::Microcode;
use crate::engines::Rung;
use crate::failure::Failure;
use crate::images::{Images, Lowered};
use crate::progress::Progress;
use crate::training::{Outcome, RunOptions, Training};
use arch::{Code, Diagnostic};
use sha2::{Digest, Sha256};
use sim::train::ranks::Communicator;
use sim::train::ranks::threads::{LOST, Thread, threads};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Let every rank know whether all of them have come so far.
///
/// # Errors
/// The failure of this rank; or that another one has failed, with what it says.
pub fn agree<T>(all: &dyn Communicator, own: Result<T, Failure>) -> Result<T, Failure> {
    let said = own.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let said = match all.gather(said.as_bytes()) {
        Ok(said) => said,
        // What is wrong here matters more than that the others do not answer.
        Err(lost) => return Err(own.err().unwrap_or_else(|| lost.into())),
    };
    let own = own?;
    match said.iter().position(|said| !said.is_empty()) {
        Some(rank) => {
            let said = String::from_utf8_lossy(&said[rank]);
            Err(Failure::File(format!("rank {rank} has failed: {said}")))
        }
        None => Ok(own),
    }
}

/// Refuse what ranks cannot do, and ranks of different trainings, or that would go on from different places.
pub(crate) fn check(
    training: &Training,
    how: &RunOptions<'_>,
    begun: Option<&Checkpoint>,
    all: &dyn Communicator,
) -> Result<(), Failure> {
    agree(all, possible(training, how))?;
    let mut identity = training.identity(how);
    let place =
        begun.map_or("none".to_owned(), |begun| arch::tools::hex(&Sha256::digest(begun.to_text()))[..16].to_owned());
    identity.insert("checkpoint".to_owned(), place);
    compare(all, &identity)
}

/// Refuse ranks for which something is another value than on rank 0.
///
/// # Errors
/// The first name whose values differ, with the rank; a rank has ended, or does not answer.
pub fn compare(all: &dyn Communicator, identity: &BTreeMap<String, String>) -> Result<(), Failure> {
    let own = serde_json::to_vec(identity).expect("names and values are text");
    let said: Vec<BTreeMap<String, String>> =
        all.gather(&own)?.iter().map(|said| serde_json::from_slice(said).unwrap_or_default()).collect();
    let first = &said[0];
    let was = |of: &BTreeMap<String, String>, key: &str| of.get(key).map_or("none", String::as_str).to_owned();
    for (rank, other) in said.iter().enumerate() {
        if let Some(key) = first.keys().chain(other.keys()).find(|key| first.get(*key) != other.get(*key)) {
            let (one, two) = (was(first, key), was(other, key));
            return Err(different(format!("rank {rank} is about another training: {key} is {two}, {one} on rank 0")));
        }
    }
    Ok(())
}

fn different(message: String) -> Failure {
    let help = "start all ranks with the same program, data, settings and version of tabla-gen";
    Failure::data("ranks", vec![Diagnostic::global(Code::Data, message).with_help(help)])
}

/// Whether the batches of this training can be divided on this engine.
fn possible(training: &Training, how: &RunOptions<'_>) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::Usage(format!("ranks do not run on {}: {why}", how.rung.as_str())));
    match how.rung {
        Rung::Golden => return refused("sums of real numbers depend on their order; use --engine fixed or array"),
        Rung::Rtl | Rung::Board if training.project.spec().partial_sums != Some(true) => {
            let says = "its grid does not hand out the sums of a batch; `partial_sums = true` in the [machine] table makes one that does";
            return refused(says);
        }
        Rung::Board if training.project.config.build.microcode == Microcode::Rom => {
            return refused("what lets sums out is loaded beside the program; `microcode = \"ram\"` in [build]");
        }
        Rung::Fixed | Rung::Array | Rung::Rtl | Rung::Board => {}
    }
    if training.schedule.batch < 2 {
        return Err(Failure::Usage(
            "ranks share the samples of a batch, so it needs two or more: --batch N".to_owned(),
        ));
    }
    Ok(())
}

/// Ranks whose words or images differ would add what does not belong together.
pub(crate) fn check_same_programs(
    all: &dyn Communicator,
    lowered: &Lowered,
    images: Option<&Images>,
) -> Result<(), Failure> {
    let mut hash = Sha256::new();
    for program in lowered.full.iter().chain(&lowered.rest).chain([&lowered.predict]) {
        hash.update(program.to_string());
    }
    if let Some(compiled) = images.and_then(|images| images.full.as_ref()) {
        hash.update(compiled.image.identity().to_le_bytes());
    }
    let said = all.gather(&hash.finalize())?;
    match said.iter().position(|other| *other != said[0]) {
        Some(rank) => Err(different(format!("rank {rank} has made other words or another image than rank 0"))),
        None => Ok(()),
    }
}

/// Train with so many ranks, threads of this process that wait so long for each other; answers as the first of them does.
///
/// # Errors
/// As [`Training::run`].
pub fn on_threads(
    training: &Training,
    how: &RunOptions<'_>,
    (ranks, patience): (usize, Duration),
    begun: Option<&Checkpoint>,
    progress: &dyn Progress,
) -> Result<Outcome, Failure> {
    let (rung, stalls, curves, boards) = (how.rung, how.stalls, how.curves, how.boards);
    let one = |rank: Thread, progress: &dyn Progress| {
        let board = boards.get(rank.rank());
        let all: Rc<dyn Communicator> = Rc::new(rank);
        let how = RunOptions { stalls, curves, board, ranks: Some(&all), ..RunOptions::on(rung) };
        training.run(&how, begun.cloned(), progress)
    };
    let (first, others) = std::thread::scope(|scope| {
        let one = &one;
        let mut all = threads(ranks, patience).into_iter();
        let first = all.next().expect("there is one rank at least");
        let others: Vec<_> = all.map(|rank| scope.spawn(move || one(rank, &Silent(progress)).map(drop))).collect();
        let first = one(first, progress);
        let join = |other: ScopedJoinHandle<'_, Result<(), Failure>>| match other.join() {
            Ok(other) => other,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (first, others.into_iter().map(join).collect::<Vec<_>>())
    });
    // That another rank was lost says less than why it was.
    let is_lost = |why: &Failure| matches!(why, Failure::File(said) if said.ends_with(LOST));
    let named = |(number, why): (usize, Failure)| match why {
        Failure::File(said) => Failure::File(format!("rank {number}: {said}")),
        why => why,
    };
    let others = (1..).zip(others).filter_map(|(number, other)| Some((number, other.err()?)));
    let own = others.filter(|(_, why)| !is_lost(why)).map(named).next();
    match (first, own) {
        (Err(first), Some(why)) if is_lost(&first) => Err(why),
        (Err(first), _) if !is_lost(&first) => Err(named((0, first))),
        (first, _) => first,
    }
}

/// What the ranks behind the first one say: nothing.
struct Silent<'a>(&'a dyn Progress);

impl Progress for Silent<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
