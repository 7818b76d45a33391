//! A function in segments, where its machine does not hold all of it: a model larger than the chip.
//!
//! ```text
//! records ──▶ sizes ──▶ program ──▶ golden ──▶ binary points ──▶ segments, an image each ──▶ one machine
//! ```
//!
//! The host runs one segment after the other, each over all records; between them it keeps the words that later ones read.

use super::{Read, Results, shapes, shapes_of_step};
use crate::checked::{Checked, checked, within_budget};
use crate::config::RecordsPerStep;
use crate::failure::Failure;
use crate::fit::fit_segments;
use crate::images::{line_of, refused, spec_of_function, too_large};
use crate::progress::Progress;
use crate::project::Project;
use crate::records::Records;
use crate::report::figures::figure;
use crate::serial::AttachedBoard;
use arch::image::Image;
use arch::{Code, Diagnostic, Machine};
use compiler::fixed::segments::{Segment, check};
use compiler::fixed::{Program, Role, Tensor, of_record, of_records, state_between_records};
use compiler::search::Compiled;
use compiler::tensor::TensorId;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use sim::array::Array;
use sim::clipped::Clipped;
use sim::distance::Accuracy;
use sim::driver::Stuck;
use sim::grid::{Grid, Stalls};
use sim::ladder::Upper;
use sim::pace::Pace;
use sim::prove::Verdict;
use sim::segments::{All, Cost, Ran, run};
use std::collections::BTreeMap;

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
    /// As the front end gives it, with its records.
    pub(crate) read: Read,
    /// On real numbers and in fixed point, record by record.
    pub(crate) upper: Upper,
    /// Its segments.
    pub segmented: Segmented,
}

/// What the records of a function gave on a board.
pub struct OnBoard {
    /// Results, record by record, by name.
    pub values: Vec<Map<String, Value>>,
    /// Cycles, with those in which the board waited for its line.
    pub cycles: u64,
    /// Words that were compared with fixed point, or the first that differs.
    pub words: Result<u64, String>,
    /// What was clipped.
    pub clipped: Vec<Clipped>,
}

/// What a step is given, and what fixed point leaves, of all tensors.
pub(crate) type Step = [All; 2];

impl SegmentedFunction {
    /// What is said of a program that trains.
    pub fn refused() -> Failure {
        Failure::Usage("segments: only functions run in segments, and this program trains".to_owned())
    }

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
        let upper = read.upper(project, progress)?;
        let with = |per_step: u32| Segmented::with(project, &upper.fixed, per_step);
        let segmented = match project.records_per_step() {
            RecordsPerStep::Count(records) => with(records),
            // One for each row, where so many fit.
            RecordsPerStep::Fastest(_) => with(project.config.machine.pus()).or_else(|_| with(1)),
        }?;
        Ok(SegmentedFunction { read, upper, segmented })
    }

    /// How the way from the source down to the words of all segments was checked.
    ///
    /// # Errors
    /// A pass of the compiler has changed the meaning of the program.
    pub fn checked(&self) -> Result<Checked, Failure> {
        checked("function", &self.read.program, &self.read.options(), &self.upper.fixed)
    }

    /// The same down to the words, as far as budgets go.
    ///
    /// # Errors
    /// As [`SegmentedFunction::checked`]; an image is refuted.
    pub(crate) fn proven(&self, source: &str) -> Result<Checked, Failure> {
        let (mut all, mut proven) = (0, 0);
        for (name, program, image) in self.images() {
            let verdict = within_budget(&name, (program, image), source)?;
            (all, proven) = (all + 1, proven + usize::from(matches!(verdict, Verdict::Proven(_))));
        }
        let words = format!("{proven} of {all} images of segments proven, the others in a sample");
        Ok(Checked { words: Some(words), ..self.checked()? })
    }

    /// Words of so many steps, which take the records over and over; and what was clipped of the records.
    pub(crate) fn words(&self, steps: usize) -> (Vec<Step>, Vec<Clipped>) {
        let (records, clipped) = self.upper.words();
        let (own, per_step) = (of_record(&self.upper.fixed), self.segmented.per_step as usize);
        let records: Vec<&Step> = records.iter().cycle().take(steps * per_step).collect();
        let tensor = |records: &[&Step], side: usize, tensor: usize| -> Vec<i64> {
            let records = if own[tensor] { records } else { &records[..1] };
            records.iter().flat_map(|record| &record[side][tensor]).copied().collect()
        };
        let step = |records: &[&Step]| {
            [0, 1].map(|side| (0..own.len()).map(|number| tensor(records, side, number)).collect::<All>())
        };
        (records.chunks(per_step).map(step).collect(), clipped)
    }

    /// Compare the array with fixed point, in every word of the results of these steps.
    ///
    /// # Errors
    /// The first word that differs; the array is stuck.
    pub(crate) fn compare(&self, steps: &[Step]) -> Result<(), Failure> {
        let given = steps.iter().map(|[given, _]| given.clone()).collect();
        let array = Array::new(&self.segmented.machine);
        let ran = self.segmented.run(array, given).map_err(|stuck| Failure::Bug(stuck.to_string()))?;
        let compared = self.compared(&ran, steps);
        compared.map(drop).map_err(|place| Failure::Mismatch(format!("array differs from fixed: {place}")))
    }

    /// How many words of the results of some steps were compared with fixed point, all equal.
    ///
    /// # Errors
    /// The first that differs, in words.
    fn compared(&self, ran: &Ran, steps: &[Step]) -> Result<u64, String> {
        let (mut words, tensors) = (0, &self.segmented.whole.tensors);
        let results = tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == Role::Output);
        for (id, Tensor { name, .. }) in results {
            for (number, (found, [_, expected])) in ran.steps.iter().zip(steps).enumerate() {
                let mut pairs = found[id].iter().zip(&expected[id]).enumerate();
                if let Some((element, (found, fixed))) = pairs.find(|(_, (found, fixed))| found != fixed) {
                    return Err(format!("step {number}: {name}[{element}] is {found}, fixed says {fixed}"));
                }
                words += found[id].len() as u64;
            }
        }
        Ok(words)
    }

    /// Run each record once on a board, whose machine the images were made for.
    ///
    /// # Errors
    /// Another program is part of the board, its line fails, the grid is stuck.
    pub fn run_on(&self, board: &AttachedBoard) -> Result<OnBoard, Failure> {
        for (_, compiled) in &self.segmented.segments {
            board.check_program(&compiled.image)?;
        }
        let (per_step, records) = (self.segmented.per_step as usize, self.read.given.records.len());
        let (steps, clipped) = self.words(records.div_ceil(per_step));
        let given = steps.iter().map(|[given, _]| given.clone()).collect();
        let ran = self.segmented.run(board.grid(), given);
        let ran =
            ran.map_err(|stuck| board.failure().map_or_else(|| Failure::Bug(stuck.to_string()), Failure::File))?;
        let results = Results::of(&self.upper.fixed, shapes(&self.read.program));
        let words = |record: usize, id: TensorId| -> Option<&[i64]> {
            let words = &ran.steps[record / per_step][id.0];
            let each = self.upper.fixed.tensors[id.0].shape.iter().map(|&extent| extent as usize).product::<usize>();
            // What does not belong to a record is there once.
            words.get(if words.len() == each {
                0..each
            } else {
                record % per_step * each..(record % per_step + 1) * each
            })
        };
        let values = (0..records).map(|record| results.values(&|id| words(record, id))).collect();
        Ok(OnBoard { values, cycles: ran.cycles.iter().sum(), words: self.compared(&ran, &steps), clipped })
    }

    /// Extents of what the program names, with the records of a step in front; row by row the elements are those of the words.
    pub(crate) fn shapes(&self) -> BTreeMap<String, Vec<u32>> {
        shapes_of_step(&self.read.program, &self.upper.fixed, self.segmented.per_step)
    }

    /// How far its results are from golden's.
    ///
    /// # Errors
    /// What only the values show.
    pub fn accuracy(&self, project: &Project) -> Result<Accuracy, Failure> {
        self.upper.accuracy().map_err(|wrong| Failure::about(&project.source, vec![*wrong]))
    }

    /// Refuse what the board of the project does not hold, with a grid that it does.
    ///
    /// # Errors
    /// It does not fit.
    pub(crate) fn check_room(&self, project: &Project) -> Result<(), Failure> {
        let Segmented { whole, segments, .. } = &self.segmented;
        let Some((_, first)) = segments.first() else { return Ok(()) };
        let programs: Vec<&Program> = self.images().into_iter().map(|(_, program, _)| program).collect();
        let hardware = too_large::hardware(project, &first.image);
        too_large::check(project, hardware, (&programs, &spec_of_function(project, whole)), |_| None)
    }

    /// What can be proven: each image with its fixed-point program, and a name that says which segments it is for.
    pub fn images(&self) -> Vec<(String, &Program, &Image)> {
        let (firsts, of_segments) = self.segmented.images();
        let name = |image: usize| match of_segments.iter().filter(|&&of| of == image).count() {
            1 => format!("segment {}", firsts[image]),
            all => format!("segment {} and {} like it", firsts[image], all - 1),
        };
        let image = |(number, &first): (usize, &usize)| {
            let (segment, compiled) = &self.segmented.segments[first];
            (name(number), &segment.program, &compiled.image)
        };
        firsts.iter().enumerate().map(image).collect()
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

    /// The first segment of each image, and the number of the image of each segment.
    pub(crate) fn images(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut firsts, mut numbers): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (number, (segment, compiled)) in self.segments.iter().enumerate() {
            let is_same = |&first: &usize| {
                let (other, known) = &self.segments[first];
                other.program == segment.program && known.image == compiled.image
            };
            let image = firsts.iter().position(is_same).unwrap_or(firsts.len());
            if image == firsts.len() {
                firsts.push(number);
            }
            numbers.push(image);
        }
        (firsts, numbers)
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
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
    /// Cycles of a record, and what cannot be beaten: of all segments, where so many records run that loading does not count.
    pub(crate) fn pace(&self) -> Option<Pace> {
        Pace::in_sequence(&self.segments.iter().map(|planned| planned.cost.pace).collect::<Vec<_>>())
    }

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
