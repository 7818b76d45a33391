//! Progress of a training for a person: a bar per engine, or lines; and where its checkpoint is kept.

use crate::output::Talk;
use arch::Diagnostic;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use workbench::checkpoint::Checkpoint;
use workbench::{Failure, Note, Progress, Source, writing};

/// A training that is watched.
pub struct TrainingTalk<'a> {
    talk: &'a Talk,
    checkpoint: Option<&'a Path>,
    bar: Mutex<Option<ProgressBar>>,
}

impl<'a> TrainingTalk<'a> {
    /// With a file for its checkpoint, if it is to be kept.
    pub fn new(talk: &'a Talk, checkpoint: Option<&'a Path>) -> TrainingTalk<'a> {
        TrainingTalk { talk, checkpoint, bar: Mutex::new(None) }
    }

    fn with_bar(&self, what: impl FnOnce(&ProgressBar)) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            what(bar);
        }
    }
}

impl Progress for TrainingTalk<'_> {
    fn note(&self, note: &Note) {
        self.talk.note(note);
    }

    fn warnings(&self, source: &Source, warnings: &[Diagnostic]) {
        Progress::warnings(self.talk, source, warnings);
    }

    fn begins(&self, engine: &str, epochs: usize, done: usize) {
        if done > 0 {
            self.talk.detail(format!("{engine}: {done} epochs of {epochs} are done"));
        }
        let bar = bar(engine, epochs, self.talk);
        bar.inc(done as u64);
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar);
    }

    fn wants_loss(&self) -> bool {
        self.talk.shows_progress() || self.talk.says_details()
    }

    fn epoch(&self, engine: &str, epoch: usize, loss: Option<f64>) {
        self.with_bar(|bar| {
            if let Some(loss) = loss {
                bar.set_message(format!("loss {loss:.5}"));
                if !self.talk.shows_progress() {
                    let epochs = bar.length().unwrap_or(0);
                    self.talk.detail(format!("{engine}: epoch {epoch} of {epochs}, loss {loss:.5}"));
                }
            }
            bar.set_position(epoch as u64);
        });
    }

    fn played(&self, _: &str, epochs: usize) {
        self.with_bar(|bar| bar.set_position(epochs as u64));
    }

    fn ends(&self, _: &str) {
        self.with_bar(ProgressBar::finish_and_clear);
    }

    fn wants_checkpoints(&self) -> bool {
        self.checkpoint.is_some()
    }

    fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        self.checkpoint.map_or(Ok(()), |path| writing::write_file(path, checkpoint.to_text().as_bytes()))
    }

    fn cancelled(&self) -> bool {
        self.talk.cancelled()
    }

    fn listens(&self, listens: bool) {
        self.talk.listens(listens);
    }
}

fn bar(engine: &str, epochs: usize, talk: &Talk) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(epochs as u64), ProgressDrawTarget::stderr());
    if !talk.shows_progress() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{prefix:>8} {bar:32} epoch {pos}/{len}  {msg}  {eta}") {
        bar.set_style(style);
    }
    bar.set_prefix(engine.to_owned());
    bar
}
