//! `layout.json`: how tensors travel on the streams, for people who write their own driver.

use arch::Image;
use arch::image::sums::{self, Exchange};
use arch::image::{Feed, StreamTensor};
use arch::registers;
use compiler::fixed::{self, Program, Role};
use compiler::tensor::TensorId;
use schemars::JsonSchema;
use serde::Serialize;
use sim::train::words::written;
use std::collections::BTreeMap;

/// How tensors travel on the streams.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Layout {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    /// What beats, feeds and indices mean.
    how_to_read: &'static str,
    /// Bits of a word.
    word_bits: u32,
    /// Words of a beat on the way in.
    pub(super) stream_words: u32,
    /// Words of a beat on the way out.
    pub(super) output_words: u32,
    /// Cycles from the start of a step to the start of the next, if its input is there.
    step_length: u32,
    /// Steps of a batch.
    pub(super) tiles: u32,
    /// Where the routines begin.
    pub(super) entries: Entries,
    /// What the streams carry.
    pub(super) tensors: Vec<Tensor>,
    /// Beats that load the model.
    pub(super) model_in: Vec<Beats>,
    /// Beats of the input of a step.
    pub(super) step_in: Vec<Beats>,
    /// Beats of the output of a step.
    pub(super) step_out: Vec<Beats>,
    /// Beats of the model at the end.
    pub(super) model_out: Vec<Beats>,
    /// How the sums of a batch leave and come back; null where batches are not divided.
    sums: Option<Sums>,
}

/// How the sums of a batch leave and come back, so that several grids share it (docs/machine.md, sections 8 and 10). All writes are address and
/// data of the control port, in order, while the grid is idle. Sums leave PE by PE in each lane of the output, and come back group of lanes by
/// group of lanes, every sum with its parts, the low one first.
#[derive(Debug, Serialize, JsonSchema)]
struct Sums {
    /// Bits of a sum; they are added modulo two to this power.
    accumulator: u32,
    /// Words of the streams that one sum takes.
    parts: u32,
    /// Sums of each PE.
    words: u32,
    /// Writes that load the routines which let sums out and back, once.
    load: Vec<[u32; 2]>,
    /// Writes after which sums begin with nothing: for a grid that does not have the first tile.
    without_starts: Vec<[u32; 2]>,
    /// Writes after which sums begin as the program says.
    with_starts: Vec<[u32; 2]>,
    /// Writes before a run of some tiles, none of them the last: sums leave at its end, as the model would.
    leave: Vec<[u32; 2]>,
    /// Writes before a run of the last tile, which goes on with the batch: totals come before it, as the model would.
    come_back: Vec<[u32; 2]>,
    /// Writes before other runs.
    whole: Vec<[u32; 2]>,
}

impl Sums {
    fn of(image: &Image) -> Option<Sums> {
        let exchange = Exchange::of(image)?;
        let pairs = |writes: Vec<(u32, u32)>| writes.into_iter().map(|(address, data)| [address, data]).collect();
        let enabled = |entry: Option<u32>| entry.map_or(0, |number| registers::ENTRY_ENABLE | number);
        let (model_in, model_out) = (enabled(image.entries.load_model), enabled(image.entries.emit_model));
        let runs = |load, emit, tiles| {
            pairs(vec![
                (registers::ENTRY_LOAD_MODEL, load),
                (registers::ENTRY_EMIT_MODEL, emit),
                (registers::TILES, tiles),
            ])
        };
        Some(Sums {
            accumulator: image.machine.accumulator(),
            parts: image.machine.parts_of_sum(),
            words: exchange.sums() as u32 / image.machine.pes(),
            load: pairs(exchange.control_writes()),
            without_starts: pairs(sums::starts(image, false)),
            with_starts: pairs(sums::starts(image, true)),
            leave: runs(model_in, exchange.out_entry(), image.tiles),
            come_back: runs(exchange.back_entry(), model_out, 1),
            whole: runs(model_in, model_out, image.tiles),
        })
    }
}

/// Instruction numbers at which routines start; null where there is no such routine.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entries {
    /// Step, alu stream.
    step_alu: Option<u32>,
    /// Step, root stream.
    step_root: Option<u32>,
    /// Step, move stream.
    step_move: Option<u32>,
    /// Step, scalar stream.
    step_scalar: Option<u32>,
    /// Input of one step, load stream.
    pub(super) step_load: Option<u32>,
    /// Emission after each step, alu stream.
    pub(super) emit_step: Option<u32>,
    /// Emission of the model, alu stream.
    pub(super) emit_model: Option<u32>,
    /// Input of the model, load stream.
    pub(super) load_model: Option<u32>,
}

/// A tensor on the streams.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Tensor {
    /// Its name.
    pub(super) name: String,
    /// When it travels.
    pub(super) role: Travels,
    /// Extents in the program, outermost first.
    pub(super) shape: Vec<u32>,
    /// Extents of the dimensions that beats count, outermost first: some dimensions of the program are counted in two digits. Row by
    /// row the elements are the same.
    pub(super) extents: Vec<u32>,
    /// Bits after the binary point.
    pub(super) fraction_bits: i32,
    /// More bits after the binary point for each element, row by row, where columns of an input have their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) more_fraction_bits: Vec<i32>,
    /// Elements that the program never computes.
    never_computed: Vec<usize>,
    /// Its words, if they are constants.
    pub(super) constant: Option<Vec<i64>>,
}

impl Tensor {
    /// How many elements it has.
    pub(super) fn elements(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(extent)).product()
    }
}

/// More bits of each element of a tensor that has columns.
fn more_bits(tensor: &fixed::Tensor) -> Vec<i32> {
    let elements: u32 = tensor.shape.iter().product();
    let of = |columns: &fixed::Columns| (0..elements as usize).map(|n| columns.of_element(&tensor.shape, n)).collect();
    tensor.columns.as_ref().map_or_else(Vec::new, of)
}

/// When a tensor travels.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Travels {
    /// To the grid, with each step.
    Input,
    /// From the grid, after each step.
    Output,
    /// To the grid once, and from it at the end: the weights of a training, the resident inputs of a function.
    Model,
    /// To the grid once, with the model.
    Constant,
    /// From the grid, and to it again with later segments.
    Kept,
}

/// Beats that carry a tensor.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Beats {
    /// The tensor.
    pub(super) tensor: String,
    /// Counts of the loops, innermost last.
    pub(super) counts: Vec<u32>,
    /// Lanes of a row of lanes.
    pub(super) row_lanes: u32,
    /// One entry for each of the tensor's `extents`.
    pub(super) index: Vec<Index>,
}

/// The index in one dimension.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Index {
    /// Of the first lane of the first beat.
    pub(super) offset: i64,
    /// What each loop adds.
    pub(super) per_loop: Vec<i64>,
    /// What each lane of a row adds.
    pub(super) per_lane: i64,
    /// What each row of lanes adds.
    pub(super) per_row: i64,
}

fn travels(program: &Program, id: Option<usize>) -> Travels {
    match id.map(|id| &program.tensors[id].role) {
        Some(Role::Output) => Travels::Output,
        Some(Role::Temporary) => Travels::Kept,
        Some(Role::State) => Travels::Model,
        Some(Role::Parameter(_)) => Travels::Constant,
        _ => Travels::Input,
    }
}

/// Names of streamed tensors as the user knows them: the last name in the source that means a tensor, if it means no other one here.
fn names(streamed: &[StreamTensor], program: &Program) -> Vec<String> {
    let own = |name: &str| streamed.iter().any(|tensor| tensor.name == name);
    let named = |tensor: &StreamTensor| {
        let id = program.tensors.iter().position(|t| t.name == tensor.name)?;
        let means = |name: &&(String, TensorId)| name.1.0 == id;
        let mut known = program.names.iter().filter(means).map(|(name, _)| name);
        if known.clone().any(|name| *name == tensor.name) {
            return None;
        }
        let name = known.next_back()?;
        let last = program.names.iter().rev().find(|(other, _)| other == name);
        last.filter(|(_, last)| last.0 == id && !own(name)).map(|(name, _)| name.clone())
    };
    streamed.iter().map(|tensor| named(tensor).unwrap_or_else(|| tensor.name.clone())).collect()
}

/// What is to be known of streamed tensors of `program`, whose text gives its tensors these `shapes`.
pub(super) fn tensors(
    streamed: &[StreamTensor],
    program: &Program,
    shapes: &BTreeMap<String, Vec<u32>>,
) -> Vec<Tensor> {
    let tensor = |(tensor, name): (&StreamTensor, String)| {
        let id = program.tensors.iter().position(|t| t.name == tensor.name);
        let never = id.filter(|&id| program.tensors[id].role == Role::Output).map(|id| {
            let written = written(program, TensorId(id));
            (0..written.len()).filter(|&n| !written[n]).collect::<Vec<_>>()
        });
        // A batch has its samples in front.
        let elements = |shape: &[u32]| shape.iter().map(|&extent| u64::from(extent)).product::<u64>();
        let shape = shapes.get(&tensor.name).filter(|shape| elements(shape) == elements(&tensor.shape));
        Tensor {
            name,
            role: travels(program, id),
            shape: shape.unwrap_or(&tensor.shape).clone(),
            extents: tensor.shape.clone(),
            fraction_bits: tensor.fraction,
            more_fraction_bits: id.map_or_else(Vec::new, |id| more_bits(&program.tensors[id])),
            never_computed: never.unwrap_or_default(),
            constant: tensor.constant.clone(),
        }
    };
    streamed.iter().zip(names(streamed, program)).map(tensor).collect()
}

impl Layout {
    /// The layout of an image of `program`, whose text gives its tensors these `shapes`.
    pub fn new(image: &Image, program: &Program, shapes: &BTreeMap<String, Vec<u32>>) -> Layout {
        let tensors = tensors(&image.tensors, program, shapes);
        let beats = |feed: &Feed, lanes: u32| Beats {
            tensor: tensors[feed.tensor].name.clone(),
            counts: feed.counts.to_vec(),
            row_lanes: if feed.width == 0 { lanes } else { feed.width },
            index: feed
                .dimensions
                .iter()
                .map(|d| Index { offset: d.offset, per_loop: d.levels.to_vec(), per_lane: d.lane, per_row: d.row })
                .collect(),
        };
        let feeds = |feeds: &[Feed], lanes: u32| feeds.iter().map(|feed| beats(feed, lanes)).collect::<Vec<_>>();
        let (lanes_in, lanes_out) = (image.machine.stream_words(), image.machine.output_words());
        let entries = &image.entries;
        Layout {
            schema_version: 1,
            how_to_read: "Beat k of a feed (loop counters k, innermost last) carries in lane l, which stands at l % row_lanes in row l / row_lanes \
                          of the lanes, the element whose index in each dimension is offset + sum(per_loop * k) + per_lane * (l % row_lanes) + per_row * (l / row_lanes), counted by the tensor's extents; outside of them: 0 on the way in, dropped on the way out. Lanes that carry the same element carry the same word.",
            word_bits: image.machine.word(),
            stream_words: image.machine.stream_words(),
            output_words: image.machine.output_words(),
            step_length: image.step_length,
            tiles: image.tiles,
            entries: Entries {
                step_alu: entries.step_alu,
                step_root: entries.step_root,
                step_move: entries.step_move,
                step_scalar: entries.step_scalar,
                step_load: entries.step_load,
                emit_step: entries.emit_step,
                emit_model: entries.emit_model,
                load_model: entries.load_model,
            },
            model_in: feeds(&image.model_in, lanes_in),
            step_in: feeds(&image.step_in, lanes_in),
            step_out: feeds(&image.step_out, lanes_out),
            model_out: feeds(&image.model_out, lanes_out),
            tensors,
            sums: Sums::of(image),
        }
    }
}
