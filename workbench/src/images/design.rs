//! Everything that `build`, `explain` and `sim` look at: program, data, binary points, images.

use super::room::Room;
use super::too_large;
use crate::config::Microcode;
use crate::engines::{EngineMaker, NamedRanges, Rung, Which, ranges_of, step_options};
use crate::failure::{Failure, Source};
use crate::images::{Images, Lowered};
use crate::plan::Choices;
use crate::progress::Progress;
use crate::project::Project;
use crate::samples::{self, Data, Samples};
use crate::training::Training;
use arch::{Code, Image};
use compiler::canonical;
use compiler::fixed;
use compiler::ranges::Ranges;
use compiler::tensor::Program;
use sim::clipped::Clipped;
use sim::distance::{Accuracy, Pair};
use sim::pace::Pace;
use sim::train::engine::{NamedValues, Step};
use sim::train::{Schedule, gather};

/// A program on its way to hardware.
pub struct Design {
    /// Text of the program.
    source: Source,
    /// Program and data.
    pub samples: Samples,
    /// Epochs and batches.
    pub schedule: Schedule,
    /// Fixed-point programs.
    pub lowered: Lowered,
    /// One update per full batch, on real numbers, and what values its tensors take.
    reals: (Program, Ranges),
    /// Images.
    pub images: Images,
    /// Weights before the first step.
    pub start: NamedValues,
}

/// Read a project's data, or make samples up, and train on real numbers to see what values there are.
///
/// # Errors
/// Whatever is wrong with data or program.
pub fn prepare(
    project: &Project,
    data: &Data,
    asked: &Choices,
    progress: &dyn Progress,
) -> Result<(Training, NamedRanges), Failure> {
    let mut size = samples::LARGEST_MADE_UP;
    loop {
        let samples = samples::for_image(project, data, asked, size, progress)?;
        let made_up = samples.are_made_up();
        let training = Training::new(project.clone(), samples)?;
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

impl Training {
    /// The hardware of a training whose values are known.
    ///
    /// # Errors
    /// No binary points or no image exist.
    pub fn design(&self, ranges: &NamedRanges, progress: &dyn Progress) -> Result<Design, Failure> {
        Design::of(&self.project, self, ranges, progress)
    }
}

/// Beats of single PEs that nobody notices waiting for.
const QUICK: u64 = 1 << 23;

/// Steps of a program that take no more than that, two in any case.
pub fn quick_steps(image: &Image) -> usize {
    quick_steps_of([image])
}

/// The same of programs that run one after the other.
pub(crate) fn quick_steps_of<'a>(images: impl IntoIterator<Item = &'a Image>) -> usize {
    let step = |image: &Image| u64::from(image.step_length) * u64::from(image.machine.pes());
    let step: u64 = images.into_iter().map(step).sum();
    (QUICK / step.max(1)).max(2) as usize
}

impl Design {
    /// From text and data to images.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn new(project: &Project, data: &Data, asked: &Choices, progress: &dyn Progress) -> Result<Design, Failure> {
        let (training, ranges) = prepare(project, data, asked, progress)?;
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
        let images = programs.images(project, &samples.program, &lowered, ranges, None)?;
        let reals = (programs.full.clone(), ranges_of(&programs.full, ranges));
        let (source, samples, schedule) = (project.source.clone(), samples.clone(), *schedule);
        Ok(Design { source, samples, schedule, lowered, reals, images, start: start.clone() })
    }

    /// Refuse what the board of the project does not hold, with a grid or a batch that it does.
    ///
    /// # Errors
    /// It does not fit.
    ///
    /// # Panics
    /// Never: a training has updates.
    pub fn check_room(&self, project: &Project) -> Result<(), Failure> {
        let image = &self.images.full.as_ref().expect("a training has updates").image;
        let hardware = match project.config.build.microcode {
            Microcode::Ram => hdl::Design::Loadable(&self.images.machine),
            Microcode::Rom => hdl::Design::Fixed(image, ""),
        };
        let Lowered { full, rest, predict, .. } = &self.lowered;
        let programs: Vec<&fixed::Program> = full.iter().chain(rest).chain([predict]).collect();
        too_large::check(project, hardware, (&programs, &project.spec()), |room| self.smaller_batch(project, room))
    }

    /// The largest part of the batch with which the board holds the grid.
    fn smaller_batch(&self, project: &Project, room: &Room) -> Option<u32> {
        let (program, ranges) = &self.reals;
        let named = program.tensors.iter().zip(&ranges.tensors);
        let named: NamedRanges = named.filter_map(|(tensor, range)| Some((tensor.name.clone(), (*range)?))).collect();
        let holds = |size: &u32| {
            let options = step_options(*size as usize, self.schedule.reduction);
            let program = canonical::canonicalise(&self.samples.program, &options).ok()?;
            let lowered = super::lower(project, &program, &named, &self.lowered.fractions()).ok()?.0;
            Some(too_large::holds(room, &[&lowered, &self.lowered.predict], &project.spec()))
        };
        let batch = self.schedule.batch as u32;
        (1..batch).rev().filter(|&size| batch.is_multiple_of(size)).find(|size| holds(size) == Some(true))
    }

    /// The grid, which loads any program that fits.
    pub fn verilog(&self) -> String {
        hdl::elaborate(&self.images.machine).verilog
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

    /// How far fixed point is from golden over the first steps of the training.
    ///
    /// # Errors
    /// What only the values show.
    ///
    /// # Panics
    /// Never: a training has updates.
    pub fn accuracy(&self, project: &Project, count: usize) -> Result<Accuracy, Failure> {
        let (source, options) = (&self.samples.program, &step_options(self.schedule.batch, self.schedule.reduction));
        let lowered = self.lowered.full.as_ref().expect("a training has updates");
        let pair = Pair { source, options, program: &self.reals.0, lowered, numbers: &self.lowered.numbers };
        let steps = self.samples.signature.values(&self.steps(count));
        let numbers = project.numbers();
        let (program, ranges) = &self.reals;
        let wider = |word: u32| fixed::lower(program, ranges, &numbers.of_word(word)).ok();
        pair.accuracy(&self.start, &steps, &wider).map_err(|error| Failure::about(&self.source, vec![*error]))
    }

    /// Cycles per sample of the training program, and what cannot be beaten.
    ///
    /// # Errors
    /// The array is stuck.
    ///
    /// # Panics
    /// Never: a training has updates.
    pub fn pace(&self) -> Result<Pace, Failure> {
        let (full, image) = (self.lowered.full.as_ref(), self.images.full.as_ref());
        let (program, compiled) = full.zip(image).expect("a training has updates");
        let pace = Pace::of(program, &compiled.image, self.schedule.batch as u32);
        pace.map_err(|stuck| Failure::Bug(stuck.to_string()))
    }

    /// What one epoch in words clips; of samples that are made up, so many steps as take little time.
    ///
    /// # Errors
    /// None in practice: words do not get stuck.
    pub fn clipped(&self) -> Result<Vec<Clipped>, Failure> {
        let maker = EngineMaker::new(Rung::Fixed, &self.lowered, None, &())?;
        let mut engine = maker.engine(Which::Full, &self.samples.signature);
        engine.load(&self.start);
        let epoch = self.samples.train.len() / self.schedule.batch;
        let image = self.images.full.as_ref().filter(|_| self.samples.are_made_up());
        engine.run(&self.steps(image.map_or(epoch, |full| epoch.min(quick_steps(&full.image)))))?;
        Ok(engine.clipped())
    }
}
