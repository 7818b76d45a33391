//! `train`: stream a data set through an engine, with the golden model beside it.

use crate::arguments::{Format, Global, Ranks, Train};
use crate::commands::weights;
use crate::output::{self, Talk};
use crate::subject;
use crate::training_talk::TrainingTalk;
use crate::world;
use sim::train::engine::Comparison;
use sim::train::ranks::Communicator;
use std::rc::Rc;
use std::time::Duration;
use workbench::checkpoint::Checkpoint;
use workbench::documents::Document;
use workbench::ranks::{agree, on_threads};
use workbench::report::trained::{document, table};
use workbench::report::{self, Number, numbers_text};
use workbench::samples::{Choice, Samples, read_table};
use workbench::saturation::Saturation;
use workbench::serial::AttachedBoard;
use workbench::training::Outcome;
use workbench::{Failure, ModelFile, Progress, Project, RunOptions, Rung, Training, writing};

/// Train, compare, print.
pub fn run(global: &Global, options: &Train, talk: &Talk) -> Result<(), Failure> {
    if options.stalls.is_some() && !matches!(options.engine, Rung::Array | Rung::Rtl) {
        return Err(Failure::Usage("--stalls needs an engine with streams: array or rtl".to_owned()));
    }
    if options.ranks == Some(Ranks::World) {
        let patience = Duration::from_secs_f64(options.rank_timeout);
        return world::run(patience, talk, |all, talk| {
            train_with(global, options, With { world: Some(all), ..With::default() }, talk)
        });
    }
    train_with(global, options, With::default(), talk)
}

/// The same, on a board.
pub fn train_on(global: &Global, options: &Train, board: &AttachedBoard, talk: &Talk) -> Result<(), Failure> {
    train_with(global, options, With { board: Some(board), ..With::default() }, talk)
}

/// The same, on a board for each rank, all threads of this process.
pub fn train_on_all(global: &Global, options: &Train, boards: &[AttachedBoard], talk: &Talk) -> Result<(), Failure> {
    train_with(global, options, With { boards, ..With::default() }, talk)
}

/// The same, on the board of this rank of several processes.
pub fn train_in_world(
    global: &Global,
    options: &Train,
    board: &AttachedBoard,
    world: &Rc<dyn Communicator>,
    talk: &Talk,
) -> Result<(), Failure> {
    train_with(global, options, With { board: Some(board), world: Some(world), ..With::default() }, talk)
}

/// What takes part in a training beside this process.
#[derive(Clone, Copy, Default)]
struct With<'a> {
    board: Option<&'a AttachedBoard>,
    /// One for each thread.
    boards: &'a [AttachedBoard],
    /// Other processes; the first of them speaks and writes.
    world: Option<&'a Rc<dyn Communicator>>,
}

impl With<'_> {
    fn is_first(&self) -> bool {
        self.world.is_none_or(|all| all.rank() == 0)
    }

    /// Go on only if all processes do.
    fn agree<T>(&self, own: Result<T, Failure>) -> Result<T, Failure> {
        match self.world {
            Some(all) => agree(all.as_ref(), own),
            None => own,
        }
    }
}

fn train_with(global: &Global, options: &Train, with: With<'_>, talk: &Talk) -> Result<(), Failure> {
    let training = with.agree(begun(global, options, with, talk))?;
    let on_boards = with.board.is_some() || !with.boards.is_empty();
    let rung = if on_boards { Rung::Board } else { options.engine };
    let how = RunOptions {
        stalls: options.stalls,
        compare: options.compare.into(),
        board: with.board,
        boards: with.boards,
        ranks: with.world,
        checkpoint_every: options.checkpoint_every,
        ..RunOptions::on(rung)
    };
    let outcome = trained(&training, &how, options, talk)?;
    // A rank whose engine differs from the others is no rank whose weights are kept.
    let failed = with.agree(failure(global, &outcome, options).map_or(Ok(()), Err)).err();
    let told =
        if with.is_first() { tell(global, options, &training, (&outcome, failed.as_ref()), talk) } else { Ok(()) };
    match failed {
        Some(failed) => told.and(Err(failed)),
        None => with.agree(told),
    }
}

fn begun(global: &Global, options: &Train, with: With<'_>, talk: &Talk) -> Result<Training, Failure> {
    // What cannot be written is said before the work, not after it.
    for path in [&options.save, &options.checkpoint, &options.resume].into_iter().flatten().filter(|_| with.is_first())
    {
        writing::check_writable(path)?;
    }
    let mut project = subject::project(global, options.program.as_deref(), &options.limits().into())?;
    for board in with.board.into_iter().chain(with.boards) {
        project.adopt(board)?;
    }
    if let Some(other) = with.boards.iter().find(|board| board.machine() != with.boards[0].machine()) {
        let (port, first) = (other.name(), with.boards[0].name());
        return Err(Failure::File(format!("{port}: the board has another grid than that of rank 0 ({first})")));
    }
    prepared(project, options, talk)
}

/// Write the model, print what has come out.
fn tell(
    global: &Global,
    options: &Train,
    training: &Training,
    (outcome, failed): (&Outcome, Option<&Failure>),
    talk: &Talk,
) -> Result<(), Failure> {
    let project = &training.project;
    if let Some(path) = &options.save {
        let name = path.display().to_string();
        if failed.is_none() {
            writing::write_file(path, training.model_file(outcome).to_text(&name)?.as_bytes())?;
            talk.say(format!("wrote {name}"));
        } else {
            talk.say(format!("{name} is not written"));
        }
    }
    match global.format {
        Format::Json => {
            let document = document(outcome, project, &training.samples, numbers(outcome, options));
            output::json(&Document::new(document).failed(failed))
        }
        Format::Text => {
            let numbers = numbers(outcome, options).map_or_else(String::new, |n| "\n".to_owned() + &numbers_text(&n));
            output::result(&(table(outcome, project, &training.samples) + &numbers))
        }
    }
}

/// Why the result must not be used: rungs of the ladder differ, values were clipped that must not be, or the words do not suffice and have to.
pub fn failure(global: &Global, outcome: &Outcome, options: &Train) -> Option<Failure> {
    let differs = outcome.comparison.as_ref().filter(|comparison| !comparison.agrees());
    let differs = differs.map(|comparison| Failure::Mismatch(mismatch(outcome.last().name, comparison)));
    let denied = Some(&outcome.saturations).filter(|_| options.deny_saturation);
    let inaccurate = outcome.verdict.as_ref().filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict);
    differs.or_else(|| Saturation::denied(denied?)).or(inaccurate)
}

/// Read data, model and weights.
///
/// # Errors
/// Whatever is wrong with them.
pub fn prepared(project: Project, options: &Train, talk: &Talk) -> Result<Training, Failure> {
    let loaded = options.load.as_deref().map(|path| ModelFile::load(path).map(|file| (path, file))).transpose()?;
    let choice = Choice {
        table: read_table(options.data()?, &options.file.reading(&options.limits()))?,
        name: options.data()?,
        selection: options.selection.choices.clone(),
        limit: options.rows()?,
        saved: loaded.as_ref().map(|(_, file)| &file.encoding),
    };
    let samples = Samples::read(&project, &options.plan.choices, choice, talk)?;
    let mut training = Training::new(project, samples)?;
    if let Some(left) = training.samples.left_over(&training.schedule) {
        talk.note(&left);
    }
    if let Some((path, file)) = loaded {
        training.start_from(path, &file)?;
    }
    if let Some(path) = &options.weights {
        let tensors: Vec<_> = training.samples.shapes_of_weights().into_iter().collect();
        let weights = weights::read(path, &tensors)?;
        training.start = weights.into_iter().map(|tensor| (tensor.name, tensor.values)).collect();
    }
    Ok(training)
}

/// Train, from a checkpoint if there is one, with a checkpoint if that is asked for.
///
/// # Errors
/// As [`Training::run`]; the checkpoint is of another training.
pub fn trained(training: &Training, how: &RunOptions<'_>, options: &Train, talk: &Talk) -> Result<Outcome, Failure> {
    let weights = &training.samples.signature.model;
    let with = With { board: how.board, boards: how.boards, world: how.ranks };
    let begun = options.resume.as_deref();
    let begun = begun.map(|path| Checkpoint::load(path, &training.identity(how), weights)).transpose();
    let begun = with.agree(begun)?;
    let kept = options.checkpoint.as_deref().or(options.resume.as_deref());
    let progress = TrainingTalk::new(talk, kept);
    let outcome = match options.ranks {
        Some(Ranks::Threads(count)) => {
            let patience = Duration::from_secs_f64(options.rank_timeout);
            on_threads(training, how, (count, patience), begun.as_ref(), &progress)
        }
        _ if with.is_first() => training.run(how, begun, &progress),
        _ => training.run(how, begun, &()),
    };
    if let (Err(Failure::Interrupted), Some(path)) = (&outcome, kept) {
        let path = path.display();
        talk.say(format!("the epochs that are done are kept: the same command with --resume {path} goes on"));
    }
    outcome
}

/// The numbers, if they are asked for; on real numbers there are none.
fn numbers(outcome: &Outcome, options: &Train) -> Option<Vec<Number>> {
    outcome.numbers.as_ref().filter(|_| options.explain_numbers).map(report::numbers)
}

fn mismatch(engine: &str, comparison: &Comparison) -> String {
    let first = comparison.first.as_deref().unwrap_or("");
    let Comparison { words, differing, cycle_counts_differing, .. } = comparison;
    format!(
        "{engine} differs from the engine above it: {differing} of {words} words, {cycle_counts_differing} cycle counts; first: {first}"
    )
}
