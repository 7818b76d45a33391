//! Cost of an image: cycles by source line, distance to the bounds, memories, resources.
//!
//! Text and JSON are two views of one [`Report`].
//!
//! | module | holds |
//! |---|---|
//! | [`fates`] | what became of the lines and names of the source |
//! | [`explanation`] | where and when everything is done |
//! | [`trained`] | what a training gave |
//! | [`page`] | all of it on one page, from what is [`measured`] |
//! | [`figures`] | figures as lines of a text |
//! | [`comparison`] | reports side by side |

pub mod comparison;
pub mod explanation;
pub mod fates;
pub mod figures;
pub mod layers;
pub mod measured;
pub mod page;
pub mod profile;
pub mod trained;

use crate::board::ChosenBoard;
use crate::checked::Checked;
use crate::config::Microcode;
use crate::documents::Document;
use crate::functions::segmented::{Plan, SegmentedFunction};
use crate::report::fates::Fates;
use crate::report::page::names::Names;
use crate::report::page::placement_map::Map;
use crate::report::page::timeline::Timeline;
use crate::report::page::waveform::Waveform;
use crate::report::trained::Trained;
use crate::resources::{self, Estimate};
use crate::saturation::{Saturation, Unit};
use crate::widths::InWords;
use crate::{Design, Failure, Function, Plan as Settings, Project};
use arch::Diagnostic;
use compiler::fixed::{NumberReport, Program};
use compiler::search::Compiled;
use schemars::JsonSchema;
use serde::Serialize;
use sim::clipped::Clipped;
use sim::distance::{Accuracy, Verdict};
use sim::ladder::Climb;
use sim::pace::{Pace, multiply_adds};
use std::collections::BTreeMap;

pub use measured::Measured;

/// What an image costs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    /// The program.
    program: String,
    /// The grid.
    machine: Grid,
    /// Its board.
    board: BoardPart,
    /// Samples per update.
    batch: u32,
    /// How the training goes; a function has none.
    settings: Option<Settings>,
    /// Cycles of a sample, and what no grid of this size can beat.
    cycles: Cycles,
    /// What the segments of a function take, if it runs in some.
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<Plan>,
    /// Cycles and multiply-adds by source line.
    lines: Vec<Line>,
    /// Words and instructions in use.
    memories: Vec<Memory>,
    /// Cells of the device.
    resources: Vec<Resource>,
    /// Binary points.
    numbers: Vec<Number>,
    /// Results that were clipped to the word, by source line.
    saturations: Vec<Saturation>,
    /// Whether the words suffice: of a function for its records, of a training over its first steps.
    /// Nothing where values are made up.
    verdict: Option<Verdict>,
    /// What the verdict warns of.
    #[serde(skip)]
    warnings: Vec<Diagnostic>,
    /// What the measurements ran on.
    measured_on: String,
    /// Each image, from the source down to its words.
    checked: Vec<Checked>,
}

/// `report.json`: what `build` and `report` write; what is not of the image is from `report`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportDocument<'a> {
    /// What the image costs.
    #[serde(flatten)]
    pub report: &'a Report,
    /// The training that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training: Option<Document<Trained>>,
    /// Two steps, cycle by cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<&'a Timeline>,
    /// Where the elements of each tensor lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Vec<Map>>,
    /// The same training in words of other widths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<&'a [InWords]>,
    /// Some signals over some cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waveform: Option<&'a Waveform>,
}

/// The grid.
#[derive(Debug, Serialize, JsonSchema)]
struct Grid {
    /// Rows.
    pus: u32,
    /// Columns.
    pes_per_pu: u32,
    /// All PEs.
    pes: u32,
    /// Bits of a word.
    word: u32,
    /// Bits of an accumulator.
    accumulator: u32,
    /// Words of input per cycle.
    stream_words: u32,
}

/// The board.
#[derive(Debug, Serialize, JsonSchema)]
struct BoardPart {
    /// Its name; `none` without one.
    name: String,
    /// Ordering code of the device.
    part: Option<String>,
    /// The device family that resources are estimated for; without a board one is assumed.
    family: String,
    /// Clock of the grid.
    clock_mhz: f64,
}

/// Cycles of a sample.
#[derive(Debug, Serialize, JsonSchema)]
struct Cycles {
    /// Measured, and what no grid of this size can beat.
    #[serde(flatten)]
    pace: Pace,
    /// Part of the multiply-add slots that is used.
    mac_utilisation: f64,
    /// Schedule of one step: computing alone, as if all input were there and nothing had to leave.
    step_length: u32,
    /// Steps of a batch.
    tiles: u32,
    /// At the clock of the board.
    samples_per_second: f64,
}

/// One source line.
#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    /// Its number; 0 for what the tool adds.
    #[serde(rename = "line")]
    number: usize,
    /// Cycles by which this line moves the end of the step.
    cycles: u64,
    /// Products of two words, and terms of sums.
    multiply_adds: u64,
    /// Its text.
    text: String,
    /// Where its work is done, if it has no operations of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One memory of a PE.
#[derive(Debug, Serialize, JsonSchema)]
struct Memory {
    /// Which.
    name: &'static str,
    /// Words or instructions in use.
    used: u64,
    /// Words or instructions that it has.
    available: u64,
}

/// One kind of cell.
#[derive(Debug, Serialize, JsonSchema)]
struct Resource {
    /// LUT, FF, DSP or BRAM.
    name: &'static str,
    /// What the grid takes, estimated.
    estimated: u64,
    /// What the device has, if it is known.
    available: Option<u64>,
}

/// The binary point of a tensor.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Number {
    /// The tensor.
    tensor: String,
    /// What people read.
    #[serde(skip)]
    shown: String,
    /// Its smallest value in the golden run.
    low: Option<f64>,
    /// Its largest value.
    high: Option<f64>,
    /// Bits after the binary point.
    fraction: i32,
    /// What decided it.
    decided: String,
}

/// Steps of a training that are compared with golden.
const FIRST_STEPS: usize = 16;

/// What a report is made of.
struct Sources<'a> {
    /// The project.
    project: &'a Project,
    /// The training program, or a function.
    program: &'a Program,
    /// Its image, or those of its segments.
    compiled: Vec<&'a Compiled>,
    /// How its binary points were found.
    numbers: &'a NumberReport,
    /// Samples per update.
    batch: u32,
    /// How the training goes; a function has none.
    settings: Option<Settings>,
    /// What its segments take.
    segments: Option<Plan>,
    /// Cycles per sample, and what cannot be beaten.
    pace: Pace,
    /// What is clipped.
    saturations: Vec<Saturation>,
    /// How far they are from golden's; nothing where values are made up.
    accuracy: Option<Accuracy>,
    /// W-CALIBRATION, if there is reason for it.
    calibration: Option<Diagnostic>,
    /// What became of the lines of the program.
    fates: Fates,
    /// What the measurements ran on, for people.
    measured_on: String,
    /// The images, from the source down.
    checked: Vec<Checked>,
}

impl Report {
    /// Of a training, measured.
    ///
    /// # Errors
    /// The array is stuck; a pass of the compiler has changed the meaning of the program.
    pub fn of_training(project: &Project, design: &Design) -> Result<Report, Failure> {
        let full = design.lowered.full.as_ref().zip(design.images.full.as_ref());
        let (program, compiled) = full.ok_or_else(|| Failure::Bug("a design without a training program".to_owned()))?;
        Ok(Report::new(&Sources {
            project,
            program,
            compiled: vec![compiled],
            numbers: &design.lowered.numbers,
            batch: design.schedule.batch as u32,
            settings: Some(design.samples.plan),
            segments: None,
            pace: design.pace()?,
            saturations: Saturation::all(project, &design.clipped()?, Unit::Update),
            accuracy: (!design.samples.are_made_up()).then(|| design.accuracy(project, FIRST_STEPS)).transpose()?,
            calibration: None,
            fates: Fates::of_training(project, &design.samples, program),
            measured_on: design.samples.origin.clone(),
            checked: design.proven(&project.source.text)?,
        }))
    }

    /// Of a function, measured.
    ///
    /// # Errors
    /// The array is stuck; a pass of the compiler has changed the meaning of the program.
    pub fn of_function(project: &Project, function: &Function) -> Result<Report, Failure> {
        let Climb { compiled, step, per_step, clipped, .. } = &function.climb;
        Ok(Report::new(&Sources {
            project,
            program: step,
            compiled: vec![compiled],
            numbers: &function.numbers,
            batch: *per_step as u32,
            settings: None,
            segments: None,
            pace: function.pace()?,
            saturations: Saturation::all(project, clipped, Unit::Record),
            accuracy: (!function.made_up).then(|| function.accuracy.clone()),
            calibration: function.calibration.clone(),
            fates: Fates::of_function(project, function),
            measured_on: function.origin.clone(),
            checked: function.proven(&project.source.text)?,
        }))
    }

    /// Of a function in segments, whose values were clipped like this.
    ///
    /// # Errors
    /// As [`Report::of_function`].
    pub fn of_segments(
        project: &Project,
        function: &SegmentedFunction,
        clipped: &[Clipped],
    ) -> Result<Report, Failure> {
        let (segmented, plan) = (&function.segmented, function.segmented.plan(project)?);
        let pace = plan.pace().ok_or_else(|| Failure::Bug("a function without segments".to_owned()))?;
        Ok(Report::new(&Sources {
            project,
            program: &segmented.whole,
            compiled: segmented.segments.iter().map(|(_, compiled)| compiled).collect(),
            numbers: &function.upper.numbers,
            batch: segmented.per_step,
            settings: None,
            segments: Some(plan),
            pace,
            saturations: Saturation::all(project, clipped, Unit::Record),
            accuracy: (!function.read.is_made_up).then(|| function.accuracy(project)).transpose()?,
            calibration: function.read.doubt(clipped),
            fates: Fates::of_segments(project, function),
            measured_on: function.read.origin.clone(),
            checked: vec![function.proven(&project.source.text)?],
        }))
    }

    fn new(sources: &Sources<'_>) -> Report {
        let Sources { project, pace, .. } = *sources;
        // All images are for one machine.
        let image = &sources.compiled[0].image;
        let machine = &image.machine;
        let board = &project.board;
        let names = Names::new(sources.program, &project.source.text);
        let named = |number: Number| Number { shown: names.value(&number.tensor), ..number };
        let cycles = Cycles {
            pace,
            mac_utilisation: pace.utilisation(machine),
            step_length: sources.compiled.iter().map(|compiled| compiled.image.step_length).sum(),
            // Segments have tiles of their own.
            tiles: if sources.segments.is_some() { 1 } else { image.tiles },
            samples_per_second: board.clock_mhz * 1e6 / pace.cycles_per_sample,
        };
        Report {
            schema_version: 1,
            program: project.name(),
            machine: Grid {
                pus: machine.pus(),
                pes_per_pu: machine.pes_per_pu(),
                pes: machine.pes(),
                word: machine.word(),
                accumulator: machine.accumulator(),
                stream_words: machine.stream_words(),
            },
            board: BoardPart {
                name: board.name.clone(),
                part: board.facts().map(|facts| facts.part.clone()),
                family: resources::usual(board.facts().map(|facts| facts.device.family())).facts().title.clone(),
                clock_mhz: board.clock_mhz,
            },
            batch: sources.batch,
            settings: sources.settings,
            cycles,
            lines: lines(sources),
            memories: memories(&sources.compiled),
            segments: sources.segments.clone(),
            resources: match sources.project.config.build.microcode {
                Microcode::Ram => resources(machine.into(), board),
                Microcode::Rom => resources(image.into(), board),
            },
            numbers: numbers(sources.numbers).into_iter().map(named).collect(),
            saturations: sources.saturations.clone(),
            verdict: sources.accuracy.as_ref().map(|accuracy| accuracy.verdict.clone()),
            warnings: sources.accuracy.iter().flat_map(Accuracy::warnings).chain(sources.calibration.clone()).collect(),
            measured_on: sources.measured_on.clone(),
            checked: sources.checked.clone(),
        }
    }

    /// Whether the words suffice; nothing where values are made up.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// What the verdict warns of.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The report as a document, without a training.
    pub fn document(&self) -> ReportDocument<'_> {
        ReportDocument { report: self, training: None, timeline: None, placement: None, words: None, waveform: None }
    }

    /// What is assumed of the device where no board says it.
    fn assumed(&self) -> Option<String> {
        self.board.part.is_none().then(|| format!("no board: cells of {}", self.board.family))
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let Report { machine, board, cycles, .. } = self;
        let mut text = format!(
            "{} on {} x {} PEs of {} bits, batch {}\nboard {}, {} MHz; measured on {}\n\n",
            self.program,
            machine.pus,
            machine.pes_per_pu,
            machine.word,
            self.batch,
            board.name,
            board.clock_mhz,
            self.measured_on
        );
        text.push_str(&figures::pace(&cycles.pace));
        text.push_str(&format!("samples per second  {:>10}\n", figures::four_digits(cycles.samples_per_second)));
        if cycles.tiles > 1 {
            text.push_str(&format!("tiles of a batch    {:10}\n", cycles.tiles));
        }
        text.push_str(&format!("MAC utilisation     {:10.1} %\n", 100.0 * cycles.mac_utilisation));
        if let Some(segments) = &self.segments {
            text += &format!("\n{}", segments.text());
        }
        text.push_str("\ncycles by source line\n  cycles  multiply-adds   line\n");
        for line in &self.lines {
            let note = line.note.as_ref().map_or(String::new(), |note| format!("  ({note})"));
            text.push_str(&format!(
                "{:8} {:14}   {:>4}  {}{note}\n",
                line.cycles, line.multiply_adds, line.number, line.text
            ));
        }
        text.push_str("\nmemories                 used  available\n");
        for memory in &self.memories {
            text.push_str(&format!("{:20} {:8} {:10}\n", memory.name, memory.used, memory.available));
        }
        text.push_str(&format!(
            "\nresources           estimated  {}\n",
            self.assumed().unwrap_or("available".to_owned())
        ));
        for resource in &self.resources {
            let available = resource.available.map_or(String::from("-"), |available| {
                format!("{available} ({:.1} %)", 100.0 * resource.estimated as f64 / available.max(1) as f64)
            });
            text.push_str(&format!("{:20} {:8}  {available}\n", resource.name, resource.estimated));
        }
        text.push('\n');
        text.push_str(&numbers_text(&self.numbers));
        if self.saturations.is_empty() {
            text.push_str("\nno result saturated\n");
        } else {
            text += &format!("\nsaturated results\n{}", figures::saturations(&self.saturations));
        }
        text.push_str("\nchecked\n");
        for checked in &self.checked {
            text += &format!("{}: {checked}\n", checked.image);
        }
        text + &self.verdict.as_ref().map_or_else(String::new, |verdict| format!("\n{verdict}\n"))
    }
}

/// The step's instructions in time; each line gets the cycles by which it moves the latest result on.
fn lines(sources: &Sources<'_>) -> Vec<Line> {
    let source = &sources.project.source.text;
    let mut by_line: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for operation in &sources.program.operations {
        by_line.entry(operation.origin.line(source)).or_default().1 += multiply_adds(operation);
    }
    for compiled in &sources.compiled {
        let mut steps: Vec<_> = compiled.steps.iter().collect();
        steps.sort_by_key(|step| (step.start, step.readable));
        let (mut reached, length) = (0, u64::from(compiled.image.step_length));
        for step in &steps {
            // The last results may land while the next step has begun.
            let readable = step.readable.min(length);
            by_line.entry(step.origin.line(source)).or_default().0 += readable.saturating_sub(reached);
            reached = reached.max(readable);
        }
        // What is left is the way from the last beat to the start of the next step.
        if let Some(last) = steps.last() {
            by_line.entry(last.origin.line(source)).or_default().0 += length.saturating_sub(reached);
        }
    }
    let text = |line: usize| {
        let text = line.checked_sub(1).and_then(|n| source.lines().nth(n));
        text.unwrap_or("(the tool)").trim().to_owned()
    };
    let mut notes = sources.fates.lines.clone();
    for &number in notes.keys() {
        by_line.entry(number).or_default();
    }
    let line = |(number, (cycles, multiply_adds))| {
        let note = notes.remove(&number).flatten();
        Line { number, cycles, multiply_adds, text: text(number), note }
    };
    by_line.into_iter().map(line).collect()
}

/// What the image that needs most has of each memory.
fn memories(compiled: &[&Compiled]) -> Vec<Memory> {
    let machine = &compiled[0].image.machine;
    let memory = |name, used: &dyn Fn(&Compiled) -> usize, available: u32| {
        let used = compiled.iter().map(|compiled| used(compiled)).max().unwrap_or(0);
        Memory { name, used: used as u64, available: u64::from(available) }
    };
    let entries = |compiled: &Compiled| compiled.image.tables.iter().map(|table| table.entries.len()).sum();
    let mut memories = vec![
        memory("model pad", &|compiled| compiled.used.model as usize, machine.model_depth()),
        memory("data pad (per bank)", &|compiled| compiled.used.data as usize, machine.data_depth()),
        memory("temporary pads", &|compiled| compiled.used.temporary as usize, machine.temporary_depth()),
        memory("alu program", &|compiled| compiled.image.alu.len(), machine.program_depth()),
        memory("root program", &|compiled| compiled.image.root.len(), machine.program_depth()),
        memory("move program", &|compiled| compiled.image.moves.len(), machine.program_depth()),
        memory("load program", &|compiled| compiled.image.load.len(), machine.program_depth()),
        memory("function tables", &entries, machine.table_entries()),
    ];
    if machine.gradient_depth() > 0 {
        memories.push(memory("gradient pad", &|compiled| compiled.used.gradient as usize, machine.gradient_depth()));
    }
    if machine.scalar() {
        memories.push(memory("scalar program", &|compiled| compiled.image.scalar.len(), machine.program_depth()));
    }
    memories
}

fn resources(design: hdl::Design<'_>, board: &ChosenBoard) -> Vec<Resource> {
    let facts = board.facts();
    let estimate = resources::estimate(design, facts.map(|facts| facts.device.family()));
    let Estimate { dsp, bram, lut, ff, .. } = facts.map_or(estimate, |facts| estimate.within(&facts.resources));
    let has = |part: fn(&fpga::board::Resources) -> u64| board.facts().map(|facts| part(&facts.resources));
    vec![
        Resource { name: "DSP", estimated: dsp, available: has(|r| r.dsp) },
        Resource { name: "BRAM", estimated: bram, available: has(|r| r.bram) },
        Resource { name: "LUT", estimated: lut, available: has(|r| r.lut) },
        Resource { name: "FF", estimated: ff, available: has(|r| r.ff) },
    ]
}

/// How the binary points were found, tensor by tensor.
pub fn numbers(report: &NumberReport) -> Vec<Number> {
    let number = |tensor: &compiler::fixed::TensorNumbers| Number {
        tensor: tensor.name.clone(),
        shown: tensor.name.clone(),
        low: tensor.range.map(|range| range.0),
        high: tensor.range.map(|range| range.1),
        fraction: tensor.fraction,
        decided: tensor.decided.clone(),
    };
    report.tensors.iter().map(number).collect()
}

/// Each tensor's range, its binary point and what decided it.
pub fn numbers_text(numbers: &[Number]) -> String {
    let mut text = "numbers             fraction bits   range\n".to_owned();
    for number in numbers {
        let range = match (number.low, number.high) {
            (Some(low), Some(high)) => format!("{low:.5} .. {high:.5}"),
            _ => "unknown".to_owned(),
        };
        text.push_str(&format!("{:20} {:8}        {range}  ({})\n", number.shown, number.fraction, number.decided));
    }
    text
}

#[cfg(test)]
mod tests;
