//! Everything that `build`, `explain` and `sim` look at: program, data, binary points, images.

use crate::engines::{EngineMaker, NamedRanges, Rung, Which};
use crate::failure::Failure;
use crate::images::{Images, Lowered};
use crate::progress::Progress;
use crate::project::Project;
use crate::samples::{self, Data, Samples};
use crate::training::Training;
use arch::{Code, Span};
use sim::train::engine::{Model, Step};
use sim::train::{Schedule, gather};

/// A program on its way to hardware.
pub struct Design {
    /// Program and data.
    pub samples: Samples,
    /// Epochs and batches.
    pub schedule: Schedule,
    /// Fixed-point programs.
    pub lowered: Lowered,
    /// Images.
    pub images: Images,
    /// Weights before the first step.
    pub start: Model,
}

/// Read a project's data, or make samples up, and train on real numbers to see what values there are.
///
/// # Errors
/// Whatever is wrong with data or program.
pub fn prepare(
    project: &Project,
    data: &Data,
    batch: Option<u32>,
    progress: &dyn Progress,
) -> Result<(Training, NamedRanges), Failure> {
    let mut size = samples::LARGEST_MADE_UP;
    loop {
        let mut samples = samples::for_image(project, data, size, progress)?;
        let made_up = samples.are_made_up();
        if let Some(batch) = batch.or(project.config.build.batch) {
            samples.settings.batch = batch;
        }
        let training = Training::new(project.clone(), samples, SEED)?;
        match training.ranges(progress) {
            // What is made up is no reason to refuse a program: smaller numbers do not diverge.
            Err(Failure::Diagnostics { diagnostics, .. })
                if made_up && size > 1e-3 && diagnostics.iter().all(|d| d.code == Code::Backend) =>
            {
                size /= 4.0;
            }
            ranges => return Ok((training, ranges?)),
        }
    }
}

/// Seed of order and initial weights.
pub(crate) const SEED: u64 = 1;

impl Design {
    /// From text and data to images.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn new(project: &Project, data: &Data, batch: Option<u32>, progress: &dyn Progress) -> Result<Design, Failure> {
        let (training, ranges) = prepare(project, data, batch, progress)?;
        Design::of(project, &training, &ranges, progress)
    }

    /// From what a training has found out about the values to images for the machine of `project`.
    ///
    /// # Errors
    /// No binary points or no image exist.
    pub fn of(
        project: &Project,
        training: &Training,
        ranges: &NamedRanges,
        progress: &dyn Progress,
    ) -> Result<Design, Failure> {
        let Training { samples, schedule, programs, start, .. } = training;
        let lowered = Lowered::new(project, programs, ranges, progress)?;
        let images = programs.images(project, &samples.program, &lowered, ranges)?;
        Ok(Design { samples: samples.clone(), schedule: *schedule, lowered, images, start: start.clone() })
    }

    /// The first steps of the training, batched.
    pub fn steps(&self, count: usize) -> Vec<Step> {
        let samples: Vec<usize> = (0..self.samples.train.len()).collect();
        samples
            .chunks_exact(self.schedule.batch)
            .cycle()
            .take(count)
            .map(|batch| gather(&self.samples.train, batch))
            .collect()
    }

    /// Cycles per sample in the steady state, measured on the array.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn cycles_per_sample(&self) -> Result<f64, Failure> {
        let maker = EngineMaker::new(Rung::Array, &self.lowered, Some(&self.images), &())?;
        let mut engine = maker.engine(Which::Full, &self.samples.signature);
        let mut cycles = |steps: usize| -> Result<u64, Failure> {
            engine.load(&self.start);
            Ok(engine.run(&self.steps(steps))?.cycles.unwrap_or(0))
        };
        let (few, many) = (4, 20);
        let (short, long) = (cycles(few)?, cycles(many)?);
        Ok((long - short) as f64 / ((many - few) * self.schedule.batch) as f64)
    }

    /// Clipped results of one epoch in words, by place.
    ///
    /// # Errors
    /// None in practice: words do not get stuck.
    pub fn saturations(&self) -> Result<Vec<(Span, u64)>, Failure> {
        let maker = EngineMaker::new(Rung::Fixed, &self.lowered, None, &())?;
        let mut engine = maker.engine(Which::Full, &self.samples.signature);
        engine.load(&self.start);
        engine.run(&self.steps(self.samples.train.len() / self.schedule.batch))?;
        Ok(engine.saturations())
    }
}
