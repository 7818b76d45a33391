//! Everything that `build`, `explain` and `sim` look at: program, data, binary points, images.

use crate::arguments::{EngineName, Target};
use crate::engines::{self, NamedRanges, Programs};
use crate::failure::Failure;
use crate::images::{Images, Lowered};
use crate::interrupt;
use crate::output::Talk;
use crate::project::Project;
use crate::samples::{self, Samples};
use arch::{Code, Span};
use sim::train::engine::{EngineError, Model, Step};
use sim::train::{Schedule, gather, initial_model, train};

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

/// What is known before binary points are chosen; no machine decides it.
#[derive(Clone)]
pub struct Basis {
    /// Program and data.
    pub samples: Samples,
    /// Epochs and batches.
    pub schedule: Schedule,
    /// Programs of a batch, of what is left over, of a prediction.
    pub programs: Programs,
    /// Weights before the first step.
    pub start: Model,
}

impl Basis {
    /// Read program and data, and train on real numbers to see what values there are.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn new(project: &Project, target: &Target, talk: &Talk) -> Result<(Basis, NamedRanges), Failure> {
        if target.inputs.is_some() {
            let message = "--inputs gives the records of a function; this program trains on --data";
            return Err(Failure::Usage(message.to_owned()));
        }
        let mut size = samples::LARGEST_MADE_UP;
        loop {
            let samples = samples::for_image(project, target, size, talk)?;
            let made_up = samples.are_made_up();
            match Basis::of(project, target, samples) {
                // What is made up is no reason to refuse a program: smaller numbers do not diverge.
                Err(Failure::Diagnostics { diagnostics, .. })
                    if made_up && size > 1e-3 && diagnostics.iter().all(|d| d.code == Code::Backend) =>
                {
                    size /= 4.0;
                }
                done => return done,
            }
        }
    }

    fn of(project: &Project, target: &Target, mut samples: Samples) -> Result<(Basis, NamedRanges), Failure> {
        if let Some(batch) = target.batch.or(project.config.build.batch) {
            samples.settings.batch = batch;
        }
        let seed = 1;
        let schedule = samples.schedule(seed)?;
        let programs = Programs::new(project, &samples, &schedule)?;
        let start = initial_model(&samples.signature, samples.settings.weights, seed);
        let _cooperative = interrupt::Cooperative::begin();
        let mut golden = engines::golden(&programs, &samples.signature);
        let trained = train(&mut golden, &samples.train, &schedule, &start, &mut |_, _, _| {
            if interrupt::requested() { Err(EngineError::Interrupted) } else { Ok(()) }
        })?;
        engines::check_bounded(project, &trained.model)?;
        for steps in [&samples.train, &samples.test] {
            sim::train::predict(golden.predict.as_mut(), &trained.model, steps)?;
        }
        let ranges = programs.ranges(&golden);
        Ok((Basis { samples, schedule, programs, start }, ranges))
    }
}

impl Design {
    /// From text and data to images.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn new(project: &Project, target: &Target, talk: &Talk) -> Result<Design, Failure> {
        let (basis, ranges) = Basis::new(project, target, talk)?;
        Design::of(project, basis, &ranges, talk)
    }

    /// From what a training has found out about the values to images.
    ///
    /// # Errors
    /// No binary points or no image exist.
    pub fn of(project: &Project, basis: Basis, ranges: &NamedRanges, talk: &Talk) -> Result<Design, Failure> {
        let Basis { samples, schedule, programs, start } = basis;
        let lowered = Lowered::new(project, &programs, ranges, talk)?;
        let images = programs.images(project, &samples.program, &lowered, ranges)?;
        Ok(Design { samples, schedule, lowered, images, start })
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
        let rung = engines::Rung::new(EngineName::Array, &self.lowered, Some(&self.images), None)?;
        let mut engine = rung.engine(engines::Which::Full, &self.samples.signature);
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
        let rung = engines::Rung::new(EngineName::Fixed, &self.lowered, None, None)?;
        let mut engine = rung.engine(engines::Which::Full, &self.samples.signature);
        engine.load(&self.start);
        engine.run(&self.steps(self.samples.train.len() / self.schedule.batch))?;
        Ok(engine.saturations())
    }
}
