//! Programs as engines of the training loop, one rung of the ladder after the other.
//!
//! ```text
//! program ──▶ golden: weights, predictions
//!    └──canonicalise──▶ full batch, rest, prediction ──▶ on the same steps, real numbers, too ──▶ ranges
//!                                    │                                                              │
//!                                    └──────────── lower ◀──────────────────────────────────────────┘ ──▶ fixed ──compile──▶ array, rtl
//! ```

pub use sim::NamedRanges;

use crate::failure::Failure;
use crate::images::{self, Images, Lowered};
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::ranks;
use crate::samples::Samples;
use crate::serial::AttachedBoard;
use crate::simulators::Simulator;
use crate::supply::Epochs;
use arch::Image;
use arch::store::Pattern;
use compiler::canonical::{self, Batch, Keep};
use compiler::fixed;
use compiler::placed::shares::{self, Shares};
use compiler::ranges::Ranges;
use compiler::tensor::{self, Node, Program};
use sim::array::Array;
use sim::grid::{Grid, Stalls};
use sim::train::compared::{Compare, Compared};
use sim::train::device::Device;
use sim::train::engine::{Engine, NamedValues, Signature};
use sim::train::ranks::checked::Checked;
use sim::train::ranks::device::DividedDevice;
use sim::train::ranks::words::DividedWords;
use sim::train::ranks::{Communicator, Divides, Ranked};
use sim::train::reals::{Measured, Reals};
use sim::train::settings::{Order, Reduction};
use sim::train::words::{Words, prediction, written};
use sim::train::{Engines, Schedule};
use std::rc::Rc;

/// The programs of one training.
#[derive(Clone)]
pub struct Programs {
    /// As the front end gives it: what it means is its meaning.
    pub(super) source: Program,
    /// One update per full batch, in canonical form, as the others.
    pub full: Program,
    /// One update for what an epoch leaves over.
    pub rest: Option<Program>,
    /// The prediction for one sample.
    pub predict: Program,
    /// How many samples `full` takes.
    batch: usize,
    /// How many samples an epoch leaves over.
    left: usize,
    reduction: Reduction,
    /// Its epochs, unless its samples are made up.
    epochs: Option<Epochs>,
}

impl Programs {
    /// Make them.
    ///
    /// # Errors
    /// The program cannot be batched, or needs what canonical form does not have.
    pub fn new(project: &Project, samples: &Samples, schedule: &Schedule) -> Result<Programs, Failure> {
        let reduction = schedule.reduction;
        let training = |size: usize| canonicalise(project, &samples.program, &step_options(size, reduction));
        let left = schedule.left_over(samples.train.len());
        let rest = left > 0 && schedule.reduction == Reduction::Sum;
        let full = training(schedule.batch)?;
        if full.updates.is_empty() {
            return Err(no_update(project, &samples.program));
        }
        Ok(Programs {
            source: samples.program.clone(),
            full,
            rest: if rest { Some(training(left)?) } else { None },
            predict: prediction_program(project, &samples.program, &samples.signature)?,
            batch: schedule.batch,
            left,
            reduction,
            epochs: (!samples.are_made_up()).then(|| Epochs::new(samples.train.len(), schedule, rest)),
        })
    }

    /// Images of all of them, for so many `machines` that share the batches; where a batch does not fit, the message names one that does.
    ///
    /// # Errors
    /// As [`Images::compile`].
    pub fn images(
        &self,
        project: &Project,
        program: &Program,
        lowered: &Lowered,
        ranges: &NamedRanges,
        machines: Option<u32>,
    ) -> Result<Images, Failure> {
        Images::compile(project, lowered, machines, self.epochs).map_err(|failure| match failure {
            Failure::DoesNotFit { source, mut diagnostics } if self.batch > 1 => {
                let fits = |size: usize| {
                    canonicalise(project, program, &step_options(size, self.reduction))
                        .is_ok_and(|program| images::fits(project, &program, ranges))
                };
                let advice = match largest(self.batch, fits) {
                    0 => "; not even one sample at a time fits".to_owned(),
                    1 => "; one sample at a time (batch = 1) fits".to_owned(),
                    size => format!("; a batch of {size} fits"),
                };
                if let Some(help) = diagnostics.first_mut().and_then(|diagnostic| diagnostic.help.as_mut()) {
                    help.push_str(&advice);
                }
                Failure::DoesNotFit { source, diagnostics }
            }
            other => other,
        })
    }

    /// All of them.
    fn all(&self) -> impl Iterator<Item = &Program> {
        [Some(&self.full), self.rest.as_ref(), Some(&self.predict)].into_iter().flatten()
    }

    /// What values the tensors took on golden engines, over all programs.
    pub fn ranges(&self, golden: &Engines) -> NamedRanges {
        let engines = [Some(&golden.full), golden.rest.as_ref(), Some(&golden.predict)];
        let mut named = NamedRanges::new();
        for (program, engine) in self.all().zip(engines.into_iter().flatten()) {
            let Some(ranges) = engine.ranges() else { continue };
            for (tensor, range) in program.tensors.iter().zip(&ranges.tensors) {
                if let Some((low, high)) = *range {
                    let known = named.entry(tensor.name.clone()).or_insert((low, high));
                    *known = (known.0.min(low), known.1.max(high));
                }
            }
        }
        named
    }

    /// An engine that watches the training of another one: predictions on real numbers.
    pub fn observer(&self, signature: &Signature) -> Box<dyn Engine> {
        Box::new(predictions(&self.source, signature))
    }

    /// The golden rung, whose updates `ranks` share.
    pub fn golden(&self, signature: &Signature, ranks: Option<&Rc<dyn Communicator>>) -> Engines {
        let measured = |source: Reals, canonical: &Program| -> Box<dyn Engine> {
            Box::new(Measured::new(source, Reals::new(canonical, signature).on(ranks)))
        };
        let updates = |canonical: &Program, size: usize| {
            let source = Reals::with(&self.source, &step_options(size, self.reduction), signature);
            measured(source.on(ranks), canonical)
        };
        let predict = Measured::new(predictions(&self.source, signature), Reals::new(&self.predict, signature));
        Engines {
            full: updates(&self.full, self.batch),
            rest: self.rest.as_ref().map(|rest| updates(rest, self.left)),
            predict: Box::new(predict),
        }
    }
}

/// What of a program a training step of so many samples needs.
pub(crate) fn step_options(size: usize, reduction: Reduction) -> canonical::Options {
    let batch = Batch { size: size as u32, reduction };
    canonical::Options { keep: Keep::Training { predictions: Vec::new() }, batch }
}

/// What of a program a prediction for one sample needs: states of a sequence go on.
pub(crate) fn prediction_options(signature: &Signature) -> canonical::Options {
    let keep = Keep::Prediction { names: vec![signature.prediction.0.clone()], states: signature.sequence.clone() };
    canonical::Options { keep, batch: Batch::SINGLE }
}

/// Predictions of a program as the front end gives it, on real numbers.
pub fn predictions(program: &Program, signature: &Signature) -> Reals {
    Reals::with(program, &prediction_options(signature), signature)
}

/// The largest number below `limit` that fits, where smaller ones fit better; 0 if none does.
fn largest(limit: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, limit);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// Weights that grow without bound have no binary point.
///
/// # Errors
/// The largest weight is not a number, or far from the data's scale.
pub fn check_bounded(project: &Project, model: &NamedValues) -> Result<(), Failure> {
    for (name, values) in model {
        let size = |value: &f64| if value.is_nan() { f64::INFINITY } else { value.abs() };
        let largest = values.iter().map(size).fold(0.0, f64::max);
        if largest > LARGEST_WEIGHT {
            let size = if largest.is_finite() { format!("{largest:.1e}") } else { "infinity".to_owned() };
            let message = format!("the training diverges: in real numbers `{name}` reaches {size}");
            let help = "a smaller learning rate helps: --set mu=0.001, or `mu` in the [train] table";
            let diagnostic = arch::Diagnostic::global(arch::Code::Backend, message).with_help(help);
            return Err(Failure::about(&project.source, vec![diagnostic]));
        }
    }
    Ok(())
}

/// No trained weight of standardised data comes near this.
const LARGEST_WEIGHT: f64 = 1e9;

fn no_update(project: &Project, program: &Program) -> Failure {
    let message = "the program updates no weights, so it cannot be trained";
    let help = if program.tensors.iter().any(|t| matches!(t.role, compiler::tensor::Role::Gradient(_))) {
        "give it a learning rate: a constant `mu`, or --set mu=0.01"
    } else {
        "declare a gradient and link it to the model: gradient g[m] -> w;"
    };
    Failure::about(&project.source, vec![arch::Diagnostic::global(arch::Code::Undef, message).with_help(help)])
}

/// The ranges of a program's tensors, from those of their names.
pub fn ranges_of(program: &Program, named: &NamedRanges) -> Ranges {
    Ranges::of_tensors(program.tensors.iter().map(|tensor| named.get(&tensor.name).copied()).collect())
}

/// The prediction alone, without an update of weights; states of a sequence go on.
///
/// # Errors
/// It needs what canonical form does not have, or a state of a sequence depends on the label.
pub fn prediction_program(project: &Project, program: &Program, signature: &Signature) -> Result<Program, Failure> {
    let made = canonicalise(project, program, &prediction_options(signature))?;
    let labels = made.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == tensor::Role::Label);
    let is_read = |id: usize| {
        let mut nodes = made.nests.iter().flat_map(|nest| &nest.body.nodes);
        nodes.any(|node| matches!(node, Node::Read { tensor, .. } | Node::Gather { tensor, .. } if tensor.0 == id))
    };
    let label = labels.filter(|&(id, _)| is_read(id)).map(|(_, tensor)| tensor).next();
    match label.filter(|_| !signature.sequence.is_empty()) {
        None => Ok(made),
        Some(label) => {
            let message =
                format!("a sequence of [train] goes on by the label `{}`, which predictions do not have", label.name);
            let help = "what the label changes is a weight; a sequence follows from inputs alone";
            let diagnostic = arch::Diagnostic::new(arch::Code::Config, label.span, message).with_help(help);
            Err(Failure::about(&project.source, vec![diagnostic]))
        }
    }
}

fn canonicalise(project: &Project, program: &Program, options: &canonical::Options) -> Result<Program, Failure> {
    project.check_size(program)?;
    let program = canonical::canonicalise(program, options).map_err(|wrong| Failure::about(&project.source, wrong))?;
    tensor::verify(&program);
    Ok(program)
}

/// What runs a program, from the reals down to a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// Real numbers (f64).
    Golden,
    /// Fixed-point words, bit by bit as the hardware computes.
    Fixed,
    /// The array, cycle by cycle, in Rust.
    Array,
    /// The generated Verilog, through Verilator, compared with the array.
    Rtl,
    /// A board behind a serial port, compared with the array.
    Board,
}

impl Rung {
    /// Those that need no board.
    pub const ENGINES: &[Rung] = &[Rung::Golden, Rung::Fixed, Rung::Array, Rung::Rtl];

    /// What it is, for help texts.
    pub fn text(self) -> &'static str {
        match self {
            Rung::Golden => "Real numbers (f64)",
            Rung::Fixed => "Fixed-point words, bit by bit as the hardware computes",
            Rung::Array => "The array, cycle by cycle, in Rust",
            Rung::Rtl => "The generated Verilog, through Verilator, compared with the array",
            Rung::Board => "A board behind a serial port, compared with the array",
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Rung::Golden => "golden",
            Rung::Fixed => "fixed",
            Rung::Array => "array",
            Rung::Rtl => "rtl",
            Rung::Board => "board",
        }
    }
}

/// How the engines of a rung are made.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Seed of random stalls on both streams.
    pub stalls: Option<u64>,
    /// The board to run on.
    pub board: Option<&'a AttachedBoard>,
    /// The ranks that share the batches, of which this is one.
    pub ranks: Option<&'a Rc<dyn Communicator>>,
    /// When the RTL is compared with the array.
    pub compare: Compare,
}

/// The engines of a rung below golden, for a whole training, and what they run.
///
/// # Errors
/// No binary points or no image exist; a tool is missing.
pub fn lower(
    name: Rung,
    project: &Project,
    programs: &Programs,
    samples: &Samples,
    ranges: &NamedRanges,
    options: Options<'_>,
    progress: &dyn Progress,
) -> Result<(Engines, Lowered), Failure> {
    let lowered = Lowered::new(project, programs, ranges, progress)?;
    let shares = match options.ranks {
        None => None,
        Some(_) => Some(divided(project, lowered.full.as_ref().expect("a training has updates"))?),
    };
    let images = match name {
        Rung::Golden | Rung::Fixed => None,
        Rung::Array | Rung::Rtl | Rung::Board => {
            let machines = options.ranks.map(|all| all.ranks() as u32);
            Some(programs.images(project, &samples.program, &lowered, ranges, machines)?)
        }
    };
    if let Some(all) = options.ranks {
        ranks::check_same_programs(all.as_ref(), &lowered, images.as_ref())?;
    }
    let mut maker = EngineMaker::new(name, &lowered, images.as_ref(), progress)?;
    (maker.stalls, maker.board, maker.compare) = (options.stalls, options.board, options.compare);
    if let (Some(board), Some(image)) = (maker.board, maker.image(Which::Full)) {
        board.check_program(image)?;
        if let Some(note) = unkept(board, image, samples, programs.batch) {
            progress.note(&note);
        }
    }
    let full: Box<dyn Engine> = match (options.ranks, &shares) {
        (Some(all), Some(shares)) => Box::new(Ranked::new(maker.divided(shares, &samples.signature), Rc::clone(all))),
        _ => maker.engine(Which::Full, &samples.signature),
    };
    let engines = Engines {
        full,
        rest: lowered.rest.as_ref().map(|_| maker.engine(Which::Rest, &samples.signature)),
        predict: maker.engine(Which::Predict, &samples.signature),
    };
    Ok((engines, lowered))
}

/// What each rank does of a batch.
fn divided(project: &Project, program: &fixed::Program) -> Result<Shares, Failure> {
    shares::shares(program).map_err(|refusal| Failure::about(&project.source, vec![refusal]))
}

/// What keeps a board from keeping the samples.
fn unkept(board: &AttachedBoard, image: &Image, samples: &Samples, batch: usize) -> Option<Note> {
    let has = board.store_rows();
    if has == 0 {
        return Some(Note::NoStore);
    }
    if samples.plan.schedule.order == Order::Shuffled {
        return Some(Note::StoreIdle);
    }
    let permuted = samples.plan.schedule.order == Order::Permuted;
    if permuted && !board.permutes() {
        return Some(Note::StoreInOrder);
    }
    let (pattern, batches) = (Pattern::of(image, permuted)?, (samples.train.len() / batch) as u64);
    let needed = pattern.rows() * batches;
    let streams = || pattern.rows() < pattern.beats() && board.streams();
    (needed > u64::from(has)).then(|| Note::StoreTooSmall { needed, has, streams: streams() })
}

/// Which program of a training.
#[derive(Clone, Copy)]
pub enum Which {
    /// One update per full batch.
    Full,
    /// One update for what an epoch leaves over.
    Rest,
    /// The prediction for one sample.
    Predict,
}

/// What makes engines of one kind.
pub struct EngineMaker<'a> {
    lowered: &'a Lowered,
    images: Option<&'a Images>,
    simulator: Option<Simulator>,
    /// Seed of random stalls on both streams.
    pub stalls: Option<u64>,
    /// The board to run on.
    pub board: Option<&'a AttachedBoard>,
    /// When the RTL is compared with the array.
    pub compare: Compare,
}

impl<'a> EngineMaker<'a> {
    /// Without images: words. With images: the array, or the RTL if that is asked for.
    ///
    /// # Errors
    /// A tool is missing.
    pub fn new(
        name: Rung,
        lowered: &'a Lowered,
        images: Option<&'a Images>,
        progress: &dyn Progress,
    ) -> Result<EngineMaker<'a>, Failure> {
        let simulator = match (images, name) {
            (Some(images), Rung::Rtl) => Some(Simulator::build(&images.machine, progress)?),
            _ => None,
        };
        Ok(EngineMaker { lowered, images, simulator, stalls: None, board: None, compare: Compare::default() })
    }

    fn stalls(&self) -> Stalls {
        self.stalls.map_or_else(Stalls::none, |seed| Stalls::seeded(seed, 25, 25))
    }

    /// The image of a program, if there are images.
    pub fn image(&self, which: Which) -> Option<&'a Image> {
        let images = self.images?;
        let image = match which {
            Which::Full => images.full.as_ref(),
            Which::Rest => images.rest.as_ref(),
            Which::Predict => Some(&images.predict),
        };
        Some(&image.expect("each program has its image").image)
    }

    fn program(&self, which: Which) -> &'a fixed::Program {
        let program = match which {
            Which::Full => self.lowered.full.as_ref(),
            Which::Rest => self.lowered.rest.as_ref(),
            Which::Predict => Some(&self.lowered.predict),
        };
        program.expect("a training has the program that is asked for")
    }

    fn device_with<G: Grid>(&self, grid: G, which: Which, signature: &Signature, stalls: Stalls) -> Device<G> {
        let (program, image) = (self.program(which), self.image(which).expect("a grid needs images"));
        // The image calls its tensors as the program does, where a name that is assigned again has several.
        let mut signature = signature.clone();
        let mut defined = Vec::new();
        if let Some(id) = prediction(program, &signature) {
            defined = written(program, id);
            signature.prediction.0.clone_from(&program.tensors[id.0].name);
        }
        Device::new(grid, image.clone(), &signature, defined, stalls)
    }

    /// A program on a grid of the user's machine, with the stalls that were asked for.
    ///
    /// # Panics
    /// Without images.
    pub fn device<G: Grid>(&self, grid: G, which: Which, signature: &Signature) -> Device<G> {
        self.device_with(grid, which, signature, self.stalls())
    }

    /// An engine of this kind for a rank's part of each batch.
    pub fn divided(&self, shares: &Shares, signature: &Signature) -> Box<dyn Divides> {
        let words = Box::new(DividedWords::new(shares, signature));
        let Some(images) = self.images else { return words };
        let conclusion = || images.full.as_ref().and_then(|compiled| compiled.conclusion.clone());
        let array = self.device(Array::new(&images.machine), Which::Full, signature);
        let array = DividedDevice::new(array, conclusion());
        let array = Box::new(Checked::new(Box::new(array), words, "fixed"));
        let lower: Box<dyn Divides> = if let Some(board) = self.board {
            let device = self.device_with(board.grid(), Which::Full, signature, Stalls::none());
            Box::new(DividedDevice::new(device, conclusion()))
        } else if let Some(simulator) = &self.simulator {
            let device = self.device(simulator.device(&images.machine), Which::Full, signature);
            Box::new(DividedDevice::new(device, conclusion()))
        } else {
            return array;
        };
        Box::new(Checked::new(lower, array, "array"))
    }

    /// An engine of this kind.
    pub fn engine(&self, which: Which, signature: &Signature) -> Box<dyn Engine> {
        let words = Words::new(self.program(which), signature);
        let Some(images) = self.images else { return Box::new(words) };
        let name = &signature.prediction.0;
        let array = self.device(Array::new(&images.machine), which, signature);
        let array = Compared::side_by_side(Box::new(array), Box::new(words), "fixed", name, Compare::Trace);
        // A board whose program is part of it leaves the others to the array.
        let runs = |board: &&AttachedBoard| self.image(which).is_some_and(|image| board.runs(image));
        if let Some(board) = self.board.filter(runs) {
            let device = self.device_with(board.grid(), which, signature, Stalls::none());
            // A board waits for its line, so its cycles are its own.
            let compared = Compared::new(Box::new(device), Box::new(array), "array", name, Compare::End);
            return Box::new(compared.without_cycles());
        }
        match &self.simulator {
            None => Box::new(array),
            Some(simulator) => {
                let rtl = self.device(simulator.device(&images.machine), which, signature);
                Box::new(Compared::new(Box::new(rtl), Box::new(array), "array", name, self.compare))
            }
        }
    }
}
