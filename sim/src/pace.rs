//! Pace: how fast a grid goes through a stream of steps, beside what no grid of its size can beat.
//!
//!     fixed program ──count──▶ work ──per cycle of the machine──▶ a bound for each resource, the largest is the bound ──┐
//!     image ──run on the array, in the middle of a stream──────▶ cycles from step to step ───────────────────────────┴─▶ Pace
//!
//! Every command takes its figures from here, so that none contradicts another.

mod bounds;
mod reads;

pub use bounds::{Bounds, PerResource, bound_of, multiply_adds};

use crate::array::Array;
use crate::driver::{self, Driver, Run, Stuck};
use crate::grid::{Grid, Stalls};
use arch::{Image, Machine};
use compiler::fixed::Program;
use schemars::JsonSchema;
use serde::Serialize;

/// Steps before those that are measured: by then both banks have been filled, and the first one emptied.
const FIRST: usize = 3;
/// Steps that are measured, one in each bank.
const MEASURED: usize = 2;

/// How fast a grid takes samples, or the records of a function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Pace {
    /// Cycles from the start of a sample to the start of the next, in the middle of a stream of steps that are loaded and emitted
    /// without stalls; measured on the array.
    pub cycles_per_sample: f64,
    /// Samples, or records of a function, of one step.
    pub samples_per_step: u32,
    /// Cycles of a step alone on an idle grid, from its first word of input to its last word of output.
    pub latency_cycles: u64,
    /// What no grid of this size can beat.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// `cycles_per_sample` over `bound`; nothing where there is no bound.
    pub distance: Option<f64>,
}

impl Pace {
    /// Measure the image of a program, whose steps are batches of so many samples.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn of(program: &Program, image: &Image, batch: u32) -> Result<Pace, Stuck> {
        let array = || Array::without_words(&image.machine);
        let cycles = cycles_per_step(image, array)? / f64::from(batch);
        let step = Run { load_model: None, steps: &[driver::zeros(image)], emit_model: false };
        let latency_cycles = Driver::new(array(), image.clone(), Stalls::none()).run(step)?.cycles;
        let bounds = Bounds::of(program, &image.machine, batch);
        let distance = (bounds.bound > 0.0).then(|| cycles / bounds.bound);
        Ok(Pace { cycles_per_sample: cycles, samples_per_step: batch, latency_cycles, bounds, distance })
    }

    /// Programs one after the other, each over all samples; nothing where there is none.
    pub fn in_sequence(paces: &[Pace]) -> Option<Pace> {
        let all = paces.iter().copied().reduce(|a, b| Pace {
            cycles_per_sample: a.cycles_per_sample + b.cycles_per_sample,
            latency_cycles: a.latency_cycles + b.latency_cycles,
            bounds: a.bounds.and(&b.bounds),
            ..a
        })?;
        let distance = (all.bounds.bound > 0.0).then(|| all.cycles_per_sample / all.bounds.bound);
        Some(Pace { distance, ..all })
    }

    /// The part of the multiply-add slots of all PEs that is used.
    pub fn utilisation(&self, machine: &Machine) -> f64 {
        self.bounds.work.multiply_adds / (f64::from(machine.pes()) * self.cycles_per_sample)
    }
}

/// Cycles from step to step in the middle of a stream, on a grid; `grid` makes one of the image's machine. Words do not matter: control
/// does not look at them.
///
/// # Errors
/// The grid is stuck.
pub fn cycles_per_step<G: Grid>(image: &Image, mut grid: impl FnMut() -> G) -> Result<f64, Stuck> {
    let words = driver::zeros(image);
    let steps = vec![words.clone(); FIRST + MEASURED];
    let mut cycles = |count: usize| {
        let run = Run { load_model: Some(&words), steps: &steps[..count], emit_model: false };
        Driver::new(grid(), image.clone(), Stalls::none()).run(run).map(|outcome| outcome.cycles)
    };
    Ok((cycles(FIRST + MEASURED)? - cycles(FIRST)?) as f64 / MEASURED as f64)
}
