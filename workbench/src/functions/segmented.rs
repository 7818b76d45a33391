//! A function in segments, where its machine does not hold all of it: a model larger than the chip.
//!
//! ```text
//! records ──▶ sizes ──▶ program ──▶ golden ──▶ binary points ──▶ segments, an image each ──▶ one machine
//! ```
//!
//! The host runs one segment after the other, each over all records; between them it keeps the words that later ones read.

use super::{Read, inference_options};
use crate::checked::{Checked, checked};
use crate::config::RecordsPerStep;
use crate::failure::Failure;
use crate::fit::fit_segments;
use crate::images::{line_of, refused};
use crate::progress::Progress;
use crate::project::Project;
use crate::records::Records;
use crate::report::figures::figure;
use arch::image::Image;
use arch::{Code, Diagnostic, Machine};
use compiler::fixed::segments::{Segment, check};
use compiler::fixed::{Program, of_records, state_between_records};
use compiler::search::Compiled;
use compiler::tensor;
use schemars::JsonSchema;
use serde::Serialize;
use sim::driver::Stuck;
use sim::grid::{Grid, Stalls};
use sim::segments::{All, Cost, Ran, run};

/// Records at which the share of loading is shown, beside one.
const MANY: u64 = 256;

/// A program in segments.
pub struct Segmented {
    /// What a step computes, of all its segments.
    pub whole: Program,
    /// Records of a step.
    pub per_step: u32,
    /// The machine of all segments.
    pub machine: Machine,
    /// One after the other.
    pub segments: Vec<(Segment, Compiled)>,
}

/// A function in segments, and where they come from.
pub struct SegmentedFunction {
    /// As the front end gives it.
    parsed: tensor::Program,
    /// In fixed point, of one record.
    record: Program,
    /// Its segments.
    pub segmented: Segmented,
}

impl SegmentedFunction {
    /// Everything from text and records to the images.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn new(
        project: &Project,
        records: Option<&Records>,
        progress: &dyn Progress,
    ) -> Result<SegmentedFunction, Failure> {
        let read = Read::new(project, records, progress)?;
        let record = read.upper(project, progress)?.fixed;
        let with = |per_step: u32| Segmented::with(project, &record, per_step);
        let segmented = match project.records_per_step() {
            RecordsPerStep::Count(records) => with(records),
            // One for each row, where so many fit.
            RecordsPerStep::Fastest(_) => with(project.config.machine.pus()).or_else(|_| with(1)),
        }?;
        Ok(SegmentedFunction { parsed: read.program, record, segmented })
    }

    /// How the way from the source down to the words of all segments was checked.
    ///
    /// # Errors
    /// A pass of the compiler has changed the meaning of the program.
    pub fn checked(&self) -> Result<Checked, Failure> {
        checked("function", &self.parsed, &inference_options(&self.parsed), &self.record)
    }

    /// What can be proven: each image with its fixed-point program, and a name that says which segments it is for.
    pub fn images(&self) -> Vec<(String, &Program, &Image)> {
        let mut images: Vec<(usize, usize, &Program, &Image)> = Vec::new();
        for (number, (segment, compiled)) in self.segmented.segments.iter().enumerate() {
            match images
                .iter_mut()
                .find(|(_, _, program, image)| **program == segment.program && **image == compiled.image)
            {
                Some((_, like, ..)) => *like += 1,
                None => images.push((number, 0, &segment.program, &compiled.image)),
            }
        }
        let name = |number: usize, like: usize| match like {
            0 => format!("segment {number}"),
            like => format!("segment {number} and {like} like it"),
        };
        images.into_iter().map(|(number, like, program, image)| (name(number, like), program, image)).collect()
    }
}

impl Segmented {
    /// The segments of a program of one record, where a step computes so many.
    ///
    /// # Errors
    /// An operation alone is too large for the machine, or cannot be done; records follow from one another.
    pub fn with(project: &Project, record: &Program, per_step: u32) -> Result<Segmented, Failure> {
        if let Some(state) = state_between_records(record) {
            let state = &record.tensors[state.0];
            let message = format!("segments: `{}` passes from record to record", state.name);
            let help = "a stream with a state runs as a whole; leave `segments` out";
            let diagnostic = Diagnostic::new(Code::Config, state.span, message).with_help(help);
            return Err(Failure::about(&project.source, vec![diagnostic]));
        }
        let whole = of_records(record, per_step);
        let found = fit_segments(&whole, &project.fit_request());
        let (machine, segments) = found.map_err(|refusal| refused(project, &whole, refusal))?;
        let parts: Vec<Segment> = segments.iter().map(|(segment, _)| segment.clone()).collect();
        check(&whole, &parts).map_err(Failure::Bug)?;
        Ok(Segmented { whole, per_step, machine, segments })
    }

    /// What each segment takes.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn costs(&self) -> Result<Vec<Cost>, Failure> {
        let mut loaded: Option<&Image> = None;
        let cost = |(segment, compiled): &'_ (Segment, Compiled)| {
            let cost = Cost::of(segment, &compiled.image, self.per_step);
            cost.map_err(|stuck| Failure::Bug(stuck.to_string()))
        };
        let mut costs: Vec<Cost> = self.segments.iter().map(cost).collect::<Result<_, _>>()?;
        for (cost, (_, compiled)) in costs.iter_mut().zip(&self.segments) {
            // What is loaded stays.
            if loaded.replace(&compiled.image) == Some(&compiled.image) {
                cost.program_cycles = 0;
            }
        }
        Ok(costs)
    }

    /// Run steps, which come with the words of all inputs, weights and constants, on a grid.
    ///
    /// # Errors
    /// The grid is stuck.
    pub fn run<G: Grid>(&self, grid: G, steps: Vec<All>) -> Result<Ran, Stuck> {
        let segments: Vec<(&Segment, &Image)> =
            self.segments.iter().map(|(segment, compiled)| (segment, &compiled.image)).collect();
        run(grid, &self.whole, &segments, steps, Stalls::none())
    }

    /// The plan: what each segment computes and takes.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn plan(&self, project: &Project) -> Result<Plan, Failure> {
        let costs = self.costs()?;
        let bytes = u64::from(self.machine.word().div_ceil(8));
        let planned = self.segments.iter().zip(&costs).map(|((segment, _), cost)| {
            let lines = segment.program.operations.iter().map(|operation| line_of(project, operation.origin.span()));
            let lines: Vec<usize> = lines.filter(|&line| line > 0).collect();
            let (first, last) = (lines.iter().min().copied(), lines.iter().max().copied());
            let operations = segment.parts.iter().map(|part| part.operation);
            let operations = [operations.clone().min().unwrap_or(0), operations.max().unwrap_or(0)];
            Planned { operations, lines: first.zip(last).map(|(first, last)| [first, last]), cost: *cost }
        });
        let (segments, sum) = (planned.collect(), |records: u64| -> f64 {
            costs.iter().map(|cost| cost.cycles(records)).sum::<f64>() / records as f64
        });
        Ok(Plan {
            machine: self.machine.to_string(),
            records_per_step: self.per_step,
            segments,
            bound: costs.iter().map(|cost| cost.pace.bounds.bound).sum(),
            cycles_of_a_record: costs.iter().map(|cost| cost.pace.cycles_per_sample).sum(),
            cycles_of_a_record_with_loading: [u64::from(self.per_step), MANY]
                .map(|records| (records, sum(records)))
                .to_vec(),
            weight_bytes: costs.iter().map(|cost| cost.weight_words * bytes).sum(),
            bytes_of_a_record: costs.iter().map(|cost| cost.input_words + cost.output_words).sum::<u64>() as f64
                * bytes as f64
                / f64::from(self.per_step),
        })
    }
}

/// What the segments of a function compute and take.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Plan {
    /// The grid, for people.
    machine: String,
    /// Records that a step computes at once.
    records_per_step: u32,
    /// One after the other.
    segments: Vec<Planned>,
    /// Cycles of a record that no grid of this size can beat, segment by segment.
    bound: f64,
    /// Cycles of a record where so many run that loading does not count.
    cycles_of_a_record: f64,
    /// How many records run at once, and cycles of each, loading included.
    cycles_of_a_record_with_loading: Vec<(u64, f64)>,
    /// Bytes of weights and constants that all segments load, once for all records.
    weight_bytes: u64,
    /// Bytes that pass between host and grid for each record.
    bytes_of_a_record: f64,
}

/// One segment.
#[derive(Debug, Serialize, JsonSchema)]
struct Planned {
    /// First and last operation of the fixed-point program.
    operations: [usize; 2],
    /// First and last line of the program's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<[usize; 2]>,
    /// What it takes.
    #[serde(flatten)]
    cost: Cost,
}

impl Plan {
    /// As a table.
    pub fn text(&self) -> String {
        let head = "segment      lines  programs  weights   words    in   out  cycles of a record      bound  by";
        let mut text = format!(
            "{} segments on {}, {} records per step\n\n{head}\n",
            self.segments.len(),
            self.machine,
            self.records_per_step
        );
        for (number, Planned { lines, cost, .. }) in self.segments.iter().enumerate() {
            let lines = lines.map_or_else(String::new, |[first, last]| format!("{first}-{last}"));
            let Cost { program_cycles, weight_cycles, weight_words, input_words, output_words, pace } = cost;
            let (cycles, bound, by) = (figure(pace.cycles_per_sample), figure(pace.bounds.bound), pace.bounds.bound_by);
            text += &format!(
                "{number:7} {lines:>10} {program_cycles:9} {weight_cycles:8} {weight_words:7} {input_words:5} {output_words:5} {cycles:>19} {bound:>10}  {by}\n"
            );
        }
        text += &format!(
            "\ncycles of a record  {:>12}   (bound {})\n",
            figure(self.cycles_of_a_record),
            figure(self.bound)
        );
        for (records, cycles) in &self.cycles_of_a_record_with_loading {
            text += &format!("  {records:5} at once     {:>12}   (loading included)\n", figure(*cycles));
        }
        let moved = self.bytes_of_a_record / self.cycles_of_a_record.max(1.0);
        text += &format!("bytes of a record   {:>12}   ({moved:.1} per cycle)\n", figure(self.bytes_of_a_record));
        text += &format!("bytes of weights    {:>12}   (once for all records)\n", self.weight_bytes);
        text
    }
}
