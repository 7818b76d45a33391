//! Segments on one grid: each loads its programs and weights, runs all records, and leaves to the host what later ones read.
//!
//! ```text
//! segment 0   programs, weights ──▶ records 0, 1, 2 ..  ──▶ kept words
//! segment 1   programs, weights ──▶ records 0, 1, 2 ..  ──▶ results
//! ```
//!
//! The more records run at once, the less loading weighs: [`Cost`] has both.

use crate::array::Array;
use crate::driver::{self, Driver, Run, Stuck, Words};
use crate::grid::{Grid, Stalls};
use crate::pace::Pace;
use crate::train::words::written;
use arch::image::{Feed, Image};
use compiler::fixed::segments::Segment;
use compiler::fixed::{Program, Role};
use schemars::JsonSchema;
use serde::Serialize;

/// The words of all tensors of a program, by number; those that nobody has computed are 0.
pub type All = Vec<Vec<i64>>;

/// What a segment takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// Cycles to load its programs and tables, one for each word of 32 bits that the host writes.
    pub program_cycles: u64,
    /// Cycles to load its weights and constants.
    pub weight_cycles: u64,
    /// Its weights and constants, as they lie in the streams.
    pub weight_words: u64,
    /// Words that come in with each step.
    pub input_words: u64,
    /// Words that go out with each step.
    pub output_words: u64,
    /// Its steps.
    #[serde(flatten)]
    pub pace: Pace,
}

impl Cost {
    /// What a segment takes on a machine, by the array; a step has so many records.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn of(segment: &Segment, image: &Image, per_step: u32) -> Result<Cost, Stuck> {
        let words = |feeds: &[Feed], lanes: u32| feeds.iter().map(Feed::beats).sum::<u64>() * u64::from(lanes);
        let machine = &image.machine;
        let zeros = driver::zeros(image);
        let mut grid = Driver::new(Array::without_words(machine), image.clone(), Stalls::none());
        let load = Run { load_model: Some(&zeros), steps: &[], emit_model: false };
        let weight_cycles = if image.entries.load_model.is_some() { grid.run(load)?.cycles } else { 0 };
        Ok(Cost {
            program_cycles: image.control_writes().len() as u64,
            weight_cycles,
            weight_words: words(&image.model_in, machine.stream_words()),
            input_words: words(&image.step_in, machine.stream_words()),
            output_words: words(&image.step_out, machine.output_words()),
            pace: Pace::of(&segment.program, image, per_step)?,
        })
    }

    /// Cycles of so many records, loading included.
    pub fn cycles(&self, records: u64) -> f64 {
        (self.program_cycles + self.weight_cycles) as f64 + self.pace.cycles_per_sample * records as f64
    }
}

/// What a run of segments gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// Step by step.
    pub steps: Vec<All>,
    /// Cycles of each segment, from the first word of its programs to its last result.
    pub cycles: Vec<u64>,
    /// Whether a value that was written had been clipped to the word.
    pub saturated: bool,
}

/// Run all steps on a grid, segment by segment; a step comes with the words of the inputs, weights and constants of the `whole` program.
///
/// # Errors
/// The grid is stuck.
///
/// # Panics
/// When a segment and its image do not belong together.
pub fn run<G: Grid>(
    grid: G,
    whole: &Program,
    segments: &[(&Segment, &Image)],
    steps: Vec<All>,
    stalls: Stalls,
) -> Result<Ran, Stuck> {
    let mut ran = Ran { steps, ..Ran::default() };
    let Some((_, first)) = segments.first() else { return Ok(ran) };
    let mut driver = Driver::new(grid, (*first).clone(), stalls);
    for (number, (segment, image)) in segments.iter().enumerate() {
        // What is loaded stays.
        let loads = number == 0 || driver.image() != *image;
        if loads && number > 0 {
            driver.load((*image).clone());
        }
        let tensor = |name: &str| {
            let known = segment.program.tensors.iter().position(|tensor| tensor.name == name);
            known.expect("an image calls its tensors as its segment does")
        };
        let ids: Vec<usize> = image.tensors.iter().map(|streamed| tensor(&streamed.name)).collect();
        let given = |all: &All, is_meant: &dyn Fn(&Role) -> bool| -> Words {
            let words = |&id: &usize| {
                let meant = is_meant(&segment.program.tensors[id].role);
                if meant { segment.words_of(whole, id, &all[segment.places[id].0.0]) } else { Vec::new() }
            };
            ids.iter().map(words).collect()
        };
        let stays = |role: &Role| matches!(role, Role::State | Role::Parameter(_));
        let model = ran.steps.first().map(|all| given(all, &stays)).unwrap_or_default();
        let inputs: Vec<Words> = ran.steps.iter().map(|all| given(all, &|role| *role == Role::Input)).collect();
        let outcome = driver.run(Run { load_model: Some(&model), steps: &inputs, emit_model: false })?;
        let writes = if loads { image.control_writes().len() as u64 } else { 0 };
        ran.cycles.push(writes + outcome.cycles);
        ran.saturated |= outcome.saturated;
        for (all, sent) in ran.steps.iter_mut().zip(outcome.steps) {
            for (&id, words) in ids.iter().zip(sent).filter(|(_, words)| !words.is_empty()) {
                // What the program never computes is whatever was in the memory.
                let computed = written(&segment.program, compiler::tensor::TensorId(id));
                let words: Vec<i64> =
                    words.into_iter().zip(computed).map(|(word, is)| if is { word } else { 0 }).collect();
                segment.put(whole, id, &words, &mut all[segment.places[id].0.0]);
            }
        }
    }
    Ok(ran)
}
