//! A training that was done and measured: what the report page is made of.

use super::Report;
use super::page::Page;
use super::page::timeline::{self, Timeline};
use crate::design::Design;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::training::{Outcome, Training};
use std::sync::Arc;

/// A training that was done and measured.
pub struct Measured {
    training: Arc<Training>,
    outcome: Arc<Outcome>,
    design: Design,
    report: Report,
    timeline: Timeline,
    command: String,
}

impl Measured {
    /// Measure what was trained; `command` repeats the run.
    ///
    /// # Errors
    /// No image exists, or the array is stuck.
    pub fn new(
        training: impl Into<Arc<Training>>,
        outcome: impl Into<Arc<Outcome>>,
        command: String,
        progress: &dyn Progress,
    ) -> Result<Measured, Failure> {
        let (training, outcome) = (training.into(), outcome.into());
        let design = training.design(&outcome.ranges, progress)?;
        let report = Report::of_training(&training.project, &design)?;
        let Some(compiled) = &design.images.full else {
            return Err(Failure::Bug("a training without updates".to_owned()));
        };
        let timeline = timeline::watch(&compiled.image, &training.project.source.text)?;
        Ok(Measured { training, outcome, design, report, timeline, command })
    }

    /// Everything on one page.
    pub fn page(&self) -> Page<'_> {
        let Measured { training, outcome, design, report, timeline, command } = self;
        Page { project: &training.project, design, report, outcome, timeline, command }
    }
}
