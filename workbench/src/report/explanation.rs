//! Explanation of an image: its speed, the place of everything, the schedule.

use super::Number;
use super::fates::Fates;
use super::figures;
use super::layers::{self, Layer};
use super::page::timeline::{self, Timeline};
use crate::build::listing;
use crate::documents::{self, Document};
use crate::failure::Failure;
use crate::functions::segmented;
use crate::plan::Plan;
use crate::project::Project;
use crate::subject::Subject;
use compiler::placed::Axis;
use compiler::search::{Alternative, Compiled, Step};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use sim::pace::Pace;
use std::collections::BTreeMap;

/// What there is to say about an image.
pub struct Explained<'a> {
    project: &'a Project,
    compiled: &'a Compiled,
    source: &'a str,
    pace: Pace,
    /// Two steps, cycle by cycle.
    pub timeline: Timeline,
    fates: Fates,
    /// The statements, one by one.
    pub layers: Vec<Layer>,
    settings: Option<Plan>,
}

impl<'a> Explained<'a> {
    /// Measure.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn new(project: &'a Project, subject: &'a Subject) -> Result<Explained<'a>, Failure> {
        let (compiled, _, program) = subject.parts();
        let settings = match subject {
            Subject::Training(design) => Some(design.samples.plan),
            Subject::Function(_) => None,
        };
        let source = project.source.text.as_str();
        let fates = match subject {
            Subject::Function(function) => Fates::of_function(project, function),
            Subject::Training(design) => Fates::of_training(project, &design.samples, program),
        };
        let timeline = timeline::watch(&compiled.image, program, source)?;
        let layers = layers::layers(program, compiled, source);
        Ok(Explained { project, compiled, source, pace: subject.pace()?, timeline, fates, layers, settings })
    }

    /// How fast it is, where everything lies, what runs when, and the microcode.
    pub fn text(&self) -> String {
        let Explained { compiled, source, pace, timeline, fates, .. } = self;
        let (listing, microcode) =
            (listing::explain(compiled, source, fates), listing::microcode(&compiled.image, source));
        let layers = layers::text(&self.layers);
        format!("{}{layers}\n{listing}\n{}\n{microcode}", figures::pace(pace), timeline.text())
    }

    /// The same without the microcode, for programs.
    pub fn document(&self) -> Document<Explanation> {
        let explanation = Explanation { schedule: Some(schedule(self)), ..Explanation::default() };
        Document::with(explanation, documents::messages(&self.project.source, &layers::warnings(&self.layers)))
    }
}

impl Explanation {
    /// How the binary points were found, and nothing else.
    pub fn of_numbers(numbers: Vec<Number>) -> Explanation {
        Explanation { numbers: Some(numbers), ..Explanation::default() }
    }

    /// The segments of a function, and nothing else.
    pub fn of_segments(plan: segmented::Plan) -> Explanation {
        Explanation { segments: Some(plan), ..Explanation::default() }
    }
}

/// Where and when everything is done, or with --explain-numbers how the binary points were found.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Explanation {
    #[serde(flatten)]
    schedule: Option<Schedule>,
    /// Binary points; nothing else then.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<Vec<Number>>,
    /// The segments of a function that its machine does not hold as a whole; nothing else then.
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<segmented::Plan>,
}

/// Pace, placement and schedule of a step.
#[derive(Debug, Serialize, JsonSchema)]
struct Schedule {
    /// Measured, and what no grid of this size can beat.
    #[serde(flatten)]
    pace: Pace,
    /// The grid, for people.
    machine: String,
    /// The axis of each dimension, by tensor.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    placement: Axes,
    /// What else was scheduled, best first; the one that was chosen is the first.
    alternatives: Vec<Other>,
    /// Schedule of one step: computing alone, as if all input were there and nothing had to leave.
    step_length: u32,
    /// The same for a tile that is not the last one of its batch.
    tile_length: u32,
    /// Steps of a batch.
    tiles: u32,
    /// Statements of the program that have instructions, in the order of its text.
    layers: Vec<Layer>,
    /// In the order in which they start.
    instructions: Vec<Instruction>,
    /// Two steps, cycle by cycle.
    timeline: Timeline,
    /// What became of the lines of the program that have no instructions of their own.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, String>")]
    lines: Vec<(String, String)>,
    /// What became of each name of the program.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, String>")]
    names: Vec<(String, String)>,
    /// How the training goes; a function has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Plan>,
}

/// A placement that was scheduled.
#[derive(Debug, Serialize, JsonSchema)]
struct Other {
    /// Cycles of a step.
    step: u64,
    /// Transfers of one step's input.
    load: u64,
    /// The axis of each dimension, by tensor.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    placement: Axes,
}

/// The axis of each dimension, by tensor, in the order of the program.
type Axes = Vec<(String, Vec<String>)>;

fn as_map<T: Serialize, S: Serializer>(pairs: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// One vector instruction.
#[derive(Debug, Serialize, JsonSchema)]
struct Instruction {
    /// What is done.
    what: String,
    /// Source line; 0 where there is none.
    line: usize,
    /// Lines of what was fused into it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fused: Vec<usize>,
    /// Cycle of its first beat.
    start: u64,
    /// How many beats it has.
    beats: u64,
    /// Cycles by which it starts later than it could be issued.
    waited: u64,
    /// What it waited for.
    cause: Option<String>,
    /// Cycle in which its last result can be read.
    readable: u64,
    /// The unit that runs it.
    unit: &'static str,
}

fn axes(placement: &[(String, Vec<Axis>)]) -> Axes {
    let names = |axes: &[Axis]| axes.iter().map(|axis| format!("{axis:?}").to_lowercase()).collect();
    placement.iter().map(|(name, axes)| (name.clone(), names(axes))).collect()
}

fn schedule(explained: &Explained) -> Schedule {
    let Explained { compiled, source, pace, timeline, fates, layers, settings, project: _ } = explained;
    let instruction = |step: &Step| {
        let lines = step.origin.lines(source);
        Instruction {
            what: step.what.clone(),
            line: lines.own(),
            fused: lines.fused().to_vec(),
            start: step.start,
            beats: step.length,
            waited: step.waited,
            cause: step.cause.as_ref().map(ToString::to_string),
            readable: step.readable,
            unit: step.unit,
        }
    };
    let other = |other: &Alternative| Other { step: other.step, load: other.load, placement: axes(&other.placement) };
    Schedule {
        pace: *pace,
        machine: compiled.image.machine.to_string(),
        placement: axes(&compiled.placement),
        alternatives: compiled.alternatives.iter().map(other).collect(),
        step_length: compiled.image.step_length,
        tile_length: compiled.image.tile_length,
        tiles: compiled.image.tiles,
        layers: layers.clone(),
        instructions: compiled.steps.iter().map(instruction).collect(),
        timeline: timeline.clone(),
        lines: fates.lines.iter().filter_map(|(line, fate)| Some((line.to_string(), fate.clone()?))).collect(),
        names: fates.names.clone(),
        settings: *settings,
    }
}
