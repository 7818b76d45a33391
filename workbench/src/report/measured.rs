//! A training that was done and measured: what the report page is made of.

use super::Report;
use super::page::Page;
use super::page::timeline::{self, Timeline};
use super::page::waveform::{self, Waveform};
use crate::design::Design;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::training::{Outcome, Training};
use crate::widths::InWords;
use std::sync::Arc;

/// A training that was done and measured.
pub struct Measured {
    training: Arc<Training>,
    outcome: Arc<Outcome>,
    design: Design,
    report: Report,
    timeline: Timeline,
    waveform: Waveform,
    words: Vec<InWords>,
    command: String,
    die: Option<String>,
}

impl Measured {
    /// Measure what was trained, and train in words of these widths, too; `command` repeats the run.
    ///
    /// # Errors
    /// No image exists, the array is stuck, it is cancelled.
    pub fn new(
        training: impl Into<Arc<Training>>,
        outcome: impl Into<Arc<Outcome>>,
        command: String,
        widths: &[u32],
        progress: &dyn Progress,
    ) -> Result<Measured, Failure> {
        let (training, outcome) = (training.into(), outcome.into());
        let design = training.design(&outcome.ranges, progress)?;
        let report = Report::of_training(&training.project, &design)?;
        let Some(compiled) = &design.images.full else {
            return Err(Failure::Bug("a training without updates".to_owned()));
        };
        let source = &training.project.source.text;
        let timeline = timeline::watch(&compiled.image, source)?;
        let waveform = waveform::watch(&design, &outcome.last().trained.model, source)?;
        let in_words = |&word: &u32| InWords::of(word, &training, &outcome, &Quiet(progress));
        let words = widths.iter().map(in_words).collect::<Result<Vec<InWords>, Failure>>()?;
        Ok(Measured { training, outcome, design, report, timeline, waveform, words, command, die: None })
    }

    /// The picture of the routed design, an SVG.
    #[must_use]
    pub fn with_die(self, die: Option<String>) -> Measured {
        Measured { die, ..self }
    }

    /// Everything on one page.
    pub fn page(&self) -> Page<'_> {
        let Measured { training, outcome, design, report, timeline, waveform, words, command, die } = self;
        let die = die.as_deref();
        Page { project: &training.project, design, report, outcome, timeline, waveform, words, command, die }
    }
}

/// Hears of nothing but that it is to stop: the trainings of other widths are no business of who asked for this one.
struct Quiet<'a>(&'a dyn Progress);

impl Progress for Quiet<'_> {
    fn begins(&self, engine: &str, epochs: usize, done: usize) {
        self.0.begins(engine, epochs, done);
    }

    fn epoch(&self, engine: &str, epoch: usize, _: Option<f64>) {
        self.0.epoch(engine, epoch, None);
    }

    fn ends(&self, engine: &str) {
        self.0.ends(engine);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }

    fn listens(&self, listens: bool) {
        self.0.listens(listens);
    }
}
