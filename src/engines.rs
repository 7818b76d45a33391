//! Programs as engines of the training loop, one rung of the ladder after the other.
//!
//!     program ──canonicalise──▶ full batch, rest, prediction ──▶ golden ──▶ ranges
//!                                        │                                    │
//!                                        └──────────── lower ◀────────────────┘ ──▶ fixed ──compile──▶ array, rtl

use crate::failure::Failure;
use crate::project::Project;
use crate::samples::Samples;
use canonical::{Batch, Keep, Options};
use compiler::ranges::Ranges;
use compiler::tensor::Program;
use sim::train::engine::{Engine, Signature};
use sim::train::reals::Reals;
use sim::train::settings::Reduction;
use sim::train::{Engines, Schedule};
use std::collections::BTreeMap;

/// The programs of one training.
pub struct Programs {
    /// One update per full batch.
    pub full: Program,
    /// One update for what an epoch leaves over.
    pub rest: Option<Program>,
    /// The prediction for one sample.
    pub predict: Program,
}

/// Smallest and largest value by tensor name.
pub type NamedRanges = BTreeMap<String, (f64, f64)>;

impl Programs {
    /// Make them.
    ///
    /// # Errors
    /// The program cannot be batched, or needs what canonical form does not have.
    pub fn new(project: &Project, samples: &Samples, schedule: &Schedule) -> Result<Programs, Failure> {
        let training = |size: usize| {
            let reduction = match schedule.reduction {
                Reduction::Mean => canonical::Reduction::Mean,
                Reduction::Sum => canonical::Reduction::Sum,
            };
            let batch = Batch { size: size as u32, reduction };
            canonicalise(
                project,
                &samples.program,
                &Options { keep: Keep::Training { predictions: Vec::new() }, batch },
            )
        };
        let left = schedule.left_over(samples.train.len());
        let rest = left > 0 && schedule.reduction == Reduction::Sum;
        let full = training(schedule.batch)?;
        if full.updates.is_empty() && full.descents.is_empty() {
            return Err(no_update(project, &samples.program));
        }
        Ok(Programs {
            full,
            rest: if rest { Some(training(left)?) } else { None },
            predict: prediction_program(project, &samples.program, &samples.signature)?,
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
        reals(&self.predict, signature)
    }
}

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
    Ranges { tensors: program.tensors.iter().map(|tensor| named.get(&tensor.name).copied()).collect() }
}

/// The prediction alone, without an update.
///
/// # Errors
/// It needs what canonical form does not have.
pub fn prediction_program(project: &Project, program: &Program, signature: &Signature) -> Result<Program, Failure> {
    let keep = Keep::Prediction { names: vec![signature.prediction.0.clone()] };
    canonicalise(project, program, &Options { keep, batch: Batch::SINGLE })
}

fn canonicalise(project: &Project, program: &Program, options: &Options) -> Result<Program, Failure> {
    canonical::canonicalise(program, options).map_err(|diagnostics| Failure::about(&project.source, diagnostics))
}

/// A program on real numbers.
pub fn reals(program: &Program, signature: &Signature) -> Box<dyn Engine> {
    Box::new(Reals::new(program, signature))
}

/// The golden rung.
pub fn golden(programs: &Programs, signature: &Signature) -> Engines {
    Engines {
        full: reals(&programs.full, signature),
        rest: programs.rest.as_ref().map(|program| reals(program, signature)),
        predict: reals(&programs.predict, signature),
    }
}

// Until the canonical passes are here: batches of one, as the front end made the program.
mod canonical {
    use compiler::tensor::Program;
    pub struct Options {
        pub keep: Keep,
        pub batch: Batch,
    }
    pub enum Keep {
        Training { predictions: Vec<String> },
        Prediction { names: Vec<String> },
    }
    pub struct Batch {
        pub size: u32,
        pub reduction: Reduction,
    }
    impl Batch {
        pub const SINGLE: Batch = Batch { size: 1, reduction: Reduction::Mean };
    }
    pub enum Reduction {
        Mean,
        Sum,
    }
    pub fn canonicalise(program: &Program, options: &Options) -> Result<Program, Vec<arch::Diagnostic>> {
        let mut program = program.clone();
        assert!(options.batch.size == 1 && !matches!(options.batch.reduction, Reduction::Sum));
        match &options.keep {
            Keep::Training { predictions } => program.names.retain(|(name, _)| predictions.contains(name)),
            Keep::Prediction { names } => {
                program.names.retain(|(name, _)| names.contains(name));
                program.descents.clear();
                program.updates.clear();
            }
        }
        Ok(program)
    }
}

/// Engines of a rung below golden.
pub fn lower(
    _: crate::arguments::EngineName,
    _: &Project,
    _: &Programs,
    _: &Samples,
    _: &NamedRanges,
    _: Option<u64>,
    _: &crate::output::Talk,
) -> Result<Engines, Failure> {
    Err(Failure::Bug("not here yet".to_owned()))
}

/// An engine that predicts.
pub fn predictor(
    _: crate::arguments::EngineName,
    _: &Project,
    _: &Program,
    _: &Signature,
    _: &NamedRanges,
    _: &crate::output::Talk,
) -> Result<Box<dyn Engine>, Failure> {
    Err(Failure::Bug("not here yet".to_owned()))
}
