//! A function in segments, as files: each image once, which segment runs which of them on what, and one driver for all.
//!
//! ```text
//! function/image_00/   microcode, listing, layout of an image         ┐
//! function/image_01/                                                  ├──▶ driver/NAME_predict.c
//! function/segments.json   images in their order, boxes of tensors    ┘
//! ```

use super::layout::{self, Layout, Tensor, Travels};
use super::sequence::{Place, Run, Sequence};
use super::{Built, CHECKED, add_image, check_cancelled, complete, program_driver, testbench};
use crate::config::{Microcode, value_span};
use crate::failure::Failure;
use crate::functions::segmented::{Segmented, SegmentedFunction};
use crate::images::design::quick_steps_of;
use crate::progress::Progress;
use crate::project::Project;
use crate::report::Report;
use crate::report::fates::Fates;
use crate::writing::{Files, pretty};
use arch::image::StreamTensor;
use arch::{Code, Diagnostic};
use compiler::fixed::segments::Segment;
use compiler::fixed::{Program, Role};
use compiler::search::Compiled;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// `function/segments.json`: what each segment runs, reads and writes, for people who write their own driver.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InSegments {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    /// What boxes mean, and what a driver does.
    how_to_read: &'static str,
    /// Records that a step computes.
    records_per_step: u32,
    /// Words of each step that the host keeps between segments.
    kept_words: u64,
    /// What the streams of all segments carry parts of.
    tensors: Vec<Whole>,
    /// One after the other.
    segments: Vec<Part>,
}

/// A tensor of the function.
#[derive(Debug, Serialize, JsonSchema)]
struct Whole {
    /// Its name.
    name: String,
    /// Who gives it, and who gets it.
    role: Travels,
    /// Extents in the program, outermost first.
    shape: Vec<u32>,
    /// Extents by which boxes count. Row by row the elements are the same.
    extents: Vec<u32>,
    /// Bits after the binary point.
    fraction_bits: i32,
    /// More bits after the binary point for each element, row by row, where columns of an input have their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more_fraction_bits: Vec<i32>,
    /// Where the host keeps its words for later segments, in words from the start of what it keeps of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_at: Option<u64>,
}

/// A segment.
#[derive(Debug, Serialize, JsonSchema)]
struct Part {
    /// Folder of its image, beside this file.
    image: String,
    /// The tensors of the image.
    tensors: Vec<Boxed>,
}

/// A tensor of an image as a box of one of the function.
#[derive(Debug, Serialize, JsonSchema)]
struct Boxed {
    /// Its name in the layout of the image.
    name: String,
    /// That of the function.
    of: String,
    /// The first index of each dimension.
    low: Vec<u32>,
    /// One past the last.
    high: Vec<u32>,
}

/// What [`InSegments::how_to_read`] says.
const HOW_TO_READ: &str = "Load the image of a segment (microcode.hex) unless it is loaded, and run it over all steps as its layout.json says, with the model and the \
                           constants. Its tensors are boxes of those here, from low to before high in each of the extents. Inputs that have a place \
                           (kept_at) come from earlier segments, word by word as they were sent.";

/// Everything for one board. Nothing is written.
///
/// # Errors
/// As [`Built::new`]; programs are part of the hardware.
pub(super) fn built(
    project: &Project,
    function: &SegmentedFunction,
    progress: &dyn Progress,
) -> Result<Built, Failure> {
    check_loadable(project)?;
    function.check_room(project)?;
    let segmented = &function.segmented;
    let Some((_, first)) = segmented.segments.first() else {
        return Err(Failure::Bug("a function without segments".to_owned()));
    };
    let images = segmented.segments.iter().map(|(_, compiled)| &compiled.image);
    let (steps, clipped) = function.words(quick_steps_of(images).min(CHECKED));
    function.compare(&steps)?;
    check_cancelled(progress)?;
    let report = Report::of_segments(project, function, &clipped)?;
    check_cancelled(progress)?;
    let mut files = Files::new();
    let [given, _]: [Vec<_>; 2] = [0, 1].map(|side| steps.iter().map(|step| step[side].clone()).collect());
    testbench::add_segment(&mut files, &project.core(), segmented, given)?;
    add(&mut files, project, function)?;
    complete(project, &first.image, report, files)
}

/// Refuse a program inside the hardware.
fn check_loadable(project: &Project) -> Result<(), Failure> {
    if project.config.build.microcode == Microcode::Ram {
        return Ok(());
    }
    let source = project.config_source.as_ref().map_or(&project.source, |(_, source)| source);
    let span = value_span(&source.text, &["build", "microcode"]).unwrap_or_default();
    let diagnostic = Diagnostic::new(Code::Config, span, "segments: each loads its own program");
    let help = "with `microcode = \"rom\"` the hardware has one program: leave `microcode` or `segments` out";
    Err(Failure::about(source, vec![diagnostic.with_help(help)]))
}

/// Images, plan and driver.
fn add(files: &mut Files, project: &Project, function: &SegmentedFunction) -> Result<(), Failure> {
    let segmented = &function.segmented;
    let (firsts, numbers) = segmented.images();
    let folder = |image: usize| format!("image_{image:02}");
    let images: Vec<&(Segment, Compiled)> = firsts.iter().map(|&first| &segmented.segments[first]).collect();
    let layouts: Vec<Layout> = images.iter().map(|(segment, compiled)| layout_of(segment, compiled)).collect();
    for (number, ((_, compiled), layout)) in images.iter().zip(&layouts).enumerate() {
        add_image(files, project, &format!("function/{}", folder(number)), compiled, &Fates::default(), layout);
    }
    let streamed = Streamed::new(function);
    let mut runs = Vec::new();
    for ((segment, compiled), &image) in segmented.segments.iter().zip(&numbers) {
        let place = |tensor| streamed.place(&segmented.whole, segment, tensor);
        let places: Option<Vec<Place>> = compiled.image.tensors.iter().map(place).collect();
        let places = places.ok_or_else(|| Failure::Bug("a box of a tensor has other dimensions".to_owned()))?;
        runs.push(Run { image, layout: &layouts[image], places });
    }
    let document = InSegments {
        schema_version: 1,
        how_to_read: HOW_TO_READ,
        records_per_step: segmented.per_step,
        kept_words: streamed.kept_words,
        tensors: streamed.tensors.iter().zip(&streamed.kept).map(|(tensor, kept)| whole(tensor, *kept)).collect(),
        segments: segmented
            .segments
            .iter()
            .zip(&runs)
            .map(|((segment, compiled), run)| Part {
                image: folder(run.image),
                tensors: boxes(&streamed, segment, compiled, run),
            })
            .collect(),
    };
    files.add("function/segments.json", pretty(&document));
    let images = images.iter().map(|(_, compiled)| &compiled.image).collect();
    let Streamed { tensors, kept, kept_words, .. } = &streamed;
    let sequence = Sequence { tensors, kept: kept.clone(), kept_words: *kept_words, images, runs };
    program_driver::add(files, &project.core(), "predict", &sequence);
    Ok(())
}

/// The layout of an image, whose tensors have the shapes of their boxes.
fn layout_of(segment: &Segment, compiled: &Compiled) -> Layout {
    let tensors = segment.program.tensors.iter();
    let shapes = tensors.map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect();
    Layout::new(&compiled.image, &segment.program, &shapes)
}

fn whole(tensor: &Tensor, kept_at: Option<u64>) -> Whole {
    Whole {
        name: tensor.name.clone(),
        role: tensor.role,
        shape: tensor.shape.clone(),
        extents: tensor.extents.clone(),
        fraction_bits: tensor.fraction_bits,
        more_fraction_bits: tensor.more_fraction_bits.clone(),
        kept_at,
    }
}

fn boxes(streamed: &Streamed, segment: &Segment, compiled: &Compiled, run: &Run<'_>) -> Vec<Boxed> {
    let own = compiled.image.tensors.iter().zip(&run.layout.tensors).zip(&run.places);
    let one = |((tensor, layout), place): ((&StreamTensor, &Tensor), &Place)| {
        let (_, region) = &segment.places[number_in(&segment.program, &tensor.name)];
        let (low, high) = (region.low.clone(), region.high.clone());
        Boxed { name: layout.name.clone(), of: streamed.tensors[place.tensor].name.clone(), low, high }
    };
    own.map(one).collect()
}

/// The number of a streamed tensor in its program.
fn number_in(program: &Program, name: &str) -> usize {
    let known = program.tensors.iter().position(|tensor| tensor.name == name);
    known.expect("an image calls its tensors as its segment does")
}

/// Tensors of the whole function that pass between host and grid.
struct Streamed {
    /// Where each is in the list, by its number in the program.
    numbers: BTreeMap<usize, usize>,
    /// The list.
    tensors: Vec<Tensor>,
    /// Where the host keeps their words.
    kept: Vec<Option<u64>>,
    /// Words of a step that it keeps.
    kept_words: u64,
}

impl Streamed {
    fn new(function: &SegmentedFunction) -> Streamed {
        let Segmented { whole, segments, .. } = &function.segmented;
        let (mut ids, mut lives): (BTreeSet<usize>, BTreeMap<usize, Life>) = (BTreeSet::new(), BTreeMap::new());
        for (number, (segment, compiled)) in segments.iter().enumerate() {
            for streamed in &compiled.image.tensors {
                let own = number_in(&segment.program, &streamed.name);
                let id = segment.places[own].0.0;
                ids.insert(id);
                let is_computed = matches!(whole.tensors[id].role, Role::Temporary | Role::Output);
                if is_computed {
                    let life = lives.entry(id).or_insert(Life { from: number, to: None });
                    // The last one that reads it.
                    life.to = Some(number).filter(|_| segment.program.tensors[own].role == Role::Input).or(life.to);
                }
            }
        }
        let streamed: Vec<StreamTensor> = ids.iter().map(|&id| stream_tensor(&whole.tensors[id])).collect();
        let elements = |id: usize| streamed[position(&ids, id)].elements() as u64;
        let wanted = lives.iter().filter_map(|(&id, life)| Some((id, life.from..=life.to?, elements(id)))).collect();
        let (at, kept_words) = allocate(wanted);
        Streamed {
            numbers: ids.iter().enumerate().map(|(n, &id)| (id, n)).collect(),
            tensors: layout::tensors(&streamed, whole, &function.shapes()),
            kept: ids.iter().map(|id| at.get(id).copied()).collect(),
            kept_words,
        }
    }

    /// Where a tensor of the image of a segment lies.
    fn place(&self, whole: &Program, segment: &Segment, streamed: &StreamTensor) -> Option<Place> {
        let (id, region) = &segment.places[number_in(&segment.program, &streamed.name)];
        Place::of_box(self.numbers[&id.0], region, &whole.tensors[id.0].shape, &streamed.shape)
    }
}

/// Segments between which the host keeps a tensor: from the first that sends it to the last that reads it, if any does.
struct Life {
    from: usize,
    to: Option<usize>,
}

fn position(ids: &BTreeSet<usize>, id: usize) -> usize {
    ids.range(..id).count()
}

fn stream_tensor(tensor: &compiler::fixed::Tensor) -> StreamTensor {
    let constant = match &tensor.role {
        Role::Parameter(words) => Some(words.to_vec()),
        _ => None,
    };
    StreamTensor { name: tensor.name.clone(), shape: tensor.shape.clone(), fraction: tensor.fraction, constant }
}

/// What is kept: number, first and last segment, words.
type Wanted = (usize, std::ops::RangeInclusive<usize>, u64);

/// Places for what is kept, by number, and how many words all of it takes: what no segment needs at the same time may lie at the same place. The largest
/// comes first, each as low as it can.
fn allocate(mut wanted: Vec<Wanted>) -> (BTreeMap<usize, u64>, u64) {
    wanted.sort_by_key(|(number, _, words)| (std::cmp::Reverse(*words), *number));
    let mut placed: Vec<(u64, Wanted)> = Vec::new();
    for (number, life, words) in wanted {
        let meets =
            |other: &std::ops::RangeInclusive<usize>| life.start() <= other.end() && other.start() <= life.end();
        let mut beside: Vec<(u64, u64)> = placed
            .iter()
            .filter(|(_, (_, other, _))| meets(other))
            .map(|(at, (.., words))| (*at, at + words))
            .collect();
        beside.sort_unstable();
        let at = beside.into_iter().fold(0, |at, (from, to)| if at + words <= from { at } else { at.max(to) });
        placed.push((at, (number, life, words)));
    }
    let all = placed.iter().map(|(at, (.., words))| at + words).max().unwrap_or(0);
    (placed.into_iter().map(|(at, (number, ..))| (number, at)).collect(), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 8 words live in all segments, 4 until the second and 4 from the third on share a place; 2 meet both of these.
    #[test]
    fn what_is_not_needed_at_once_shares_its_place() {
        let (at, words) = allocate(vec![(0, 0..=1, 4), (1, 2..=3, 4), (2, 1..=2, 2), (3, 0..=3, 8)]);
        assert_eq!((at, words), (BTreeMap::from([(0, 8), (1, 8), (2, 12), (3, 0)]), 14));
    }
}
