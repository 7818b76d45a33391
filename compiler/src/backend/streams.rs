//! Streams: how tensors enter and leave the grid, instruction by instruction.
//!
//!     on the grid axis      S words per beat, PE p hears lane p mod S
//!     on rows or columns    one word per beat to one row or column, all copies at once
//!     local                 one word per beat to every PE
//!
//! Leaving, it is one word per beat through the trees, from one PE of those that hold copies.

use super::allocate::Home;
use super::job::{Access, Bound, Job, Lanes, Sink, StorageId};
use super::place::Axis;
use super::select::Storage;
use arch::image::{Feed, FeedDimension};
use arch::isa::{Address, LEVELS, LoadInstruction, NO_LEVEL};
use arch::machine::Machine;

/// What a loop of a stream instruction walks over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// Local steps of a dimension.
    Digit(usize),
    /// Rows of the grid, for a dimension on them.
    Row(usize),
    /// Columns of the grid.
    Column(usize),
    /// Groups of `stream_words` PEs.
    Group(usize),
}

/// One loop: what, and how often.
type Loop = (Walk, u32);

fn digits(storage: &Storage, machine: &Machine) -> Vec<Loop> {
    let count = |d: usize| storage.shape[d].div_ceil(storage.axes[d].lanes(machine));
    (0..storage.shape.len()).map(|d| (Walk::Digit(d), count(d))).collect()
}

/// Split loops into those of each instruction (at most [`LEVELS`] that run more than once) and, per instruction, the
/// fixed counters of the loops outside.
fn split(loops: Vec<Loop>) -> (Vec<Vec<(Walk, u32)>>, Vec<Loop>) {
    let mut loops: Vec<Loop> = loops.into_iter().filter(|l| l.1 > 1).collect();
    let mut outer = Vec::new();
    while loops.len() > LEVELS {
        let digit =
            loops.iter().position(|l| matches!(l.0, Walk::Digit(_))).expect("lanes alone are at most two loops");
        outer.push(loops.remove(digit));
    }
    let mut fixed: Vec<Vec<(Walk, u32)>> = vec![Vec::new()];
    for (walk, count) in outer {
        let mut longer = Vec::new();
        for prefix in &fixed {
            for counter in 0..count {
                let mut prefix = prefix.clone();
                prefix.push((walk, counter));
                longer.push(prefix);
            }
        }
        fixed = longer;
    }
    (fixed, loops)
}

/// The index maps of a feed.
fn dimensions(
    storage: &Storage,
    machine: &Machine,
    fixed: &[Loop],
    loops: &[Loop],
    scatter: bool,
) -> Vec<FeedDimension> {
    let mut dimensions = vec![FeedDimension::default(); storage.shape.len()];
    let step = |walk: Walk| -> (usize, i64) {
        match walk {
            Walk::Digit(d) => (d, i64::from(storage.axes[d].lanes(machine))),
            Walk::Row(d) if storage.axes[d] == Axis::Grid => (d, i64::from(machine.pes_per_pu())),
            Walk::Row(d) | Walk::Column(d) => (d, 1),
            Walk::Group(d) => (d, i64::from(machine.stream_words())),
        }
    };
    for &(walk, counter) in fixed {
        let (d, stride) = step(walk);
        dimensions[d].offset += stride * i64::from(counter);
    }
    let base = LEVELS - loops.len();
    for (level, &(walk, _)) in loops.iter().enumerate() {
        let (d, stride) = step(walk);
        dimensions[d].levels[base + level] = stride;
    }
    if scatter {
        for (dimension, axis) in dimensions.iter_mut().zip(&storage.axes) {
            dimension.lane = i64::from(*axis == Axis::Grid);
        }
    }
    dimensions
}

/// Loop counts of an instruction, innermost level last.
fn counts(loops: &[Loop]) -> [u32; LEVELS] {
    let mut counts = [1; LEVELS];
    for (level, &(_, count)) in loops.iter().enumerate() {
        counts[LEVELS - loops.len() + level] = count;
    }
    counts
}

fn level_of(loops: &[Loop], wanted: impl Fn(Walk) -> bool) -> Option<usize> {
    loops.iter().position(|l| wanted(l.0))
}

/// Instructions that load a tensor, and what they carry.
pub(super) fn load(storage: &Storage, home: Home, tensor: usize, machine: &Machine) -> Vec<(LoadInstruction, Feed)> {
    let mut loops = digits(storage, machine);
    let scatter = storage.axes.contains(&Axis::Grid);
    for (d, axis) in storage.axes.iter().enumerate() {
        match axis {
            Axis::Local => {}
            Axis::Row => loops.push((Walk::Row(d), machine.pus())),
            Axis::Column => loops.push((Walk::Column(d), machine.pes_per_pu())),
            Axis::Grid => loops.push((Walk::Group(d), machine.pes() / machine.stream_words())),
        }
    }
    let (fixed, loops) = split(loops);
    let base = LEVELS - loops.len();
    let isa_level = |level: Option<usize>| level.map_or(NO_LEVEL, |l| (base + l) as u8);
    let mut result = Vec::new();
    for fixed in &fixed {
        let mut address = Address { base: home.base, strides: [0; LEVELS] };
        for &(walk, counter) in fixed {
            if let Walk::Digit(d) = walk {
                address.base += storage.strides[d] as u32 * counter;
            }
        }
        for (level, &(walk, _)) in loops.iter().enumerate() {
            if let Walk::Digit(d) = walk {
                address.strides[base + level] = storage.strides[d] as i32;
            }
        }
        let mask = arch::isa::Mask {
            pick_row: isa_level(level_of(&loops, |w| matches!(w, Walk::Row(_)))),
            pick_column: isa_level(level_of(&loops, |w| matches!(w, Walk::Column(_)))),
            ..arch::isa::Mask::all(machine.pus(), machine.pes_per_pu())
        };
        let instruction = LoadInstruction {
            counts: counts(&loops),
            pad: home.pad,
            destination: address,
            scatter,
            pick_group: isa_level(level_of(&loops, |w| matches!(w, Walk::Group(_)))),
            mask,
            end: false,
        };
        let dimensions = dimensions(storage, machine, fixed, &loops, scatter);
        result.push((instruction, Feed { tensor, counts: counts(&loops), dimensions }));
    }
    result
}

/// Jobs that send a tensor to the output stream, and what they carry.
pub(super) fn emit(storage: &Storage, id: StorageId, tensor: usize, machine: &Machine) -> Vec<(Job, Feed)> {
    let mut loops = digits(storage, machine);
    for (d, axis) in storage.axes.iter().enumerate() {
        if matches!(axis, Axis::Row | Axis::Grid) {
            loops.push((Walk::Row(d), machine.pus()));
        }
        if matches!(axis, Axis::Column | Axis::Grid) {
            loops.push((Walk::Column(d), machine.pes_per_pu()));
        }
    }
    let (fixed, loops) = split(loops);
    let row_held = storage.axes.iter().any(|a| matches!(a, Axis::Row | Axis::Grid));
    let column_held = storage.axes.iter().any(|a| matches!(a, Axis::Column | Axis::Grid));
    let mut result = Vec::new();
    for fixed in &fixed {
        let mut access = Access { storage: id, offset: 0, strides: vec![0; loops.len()] };
        for &(walk, counter) in fixed {
            if let Walk::Digit(d) = walk {
                access.offset += storage.strides[d] * i64::from(counter);
            }
        }
        for (level, &(walk, _)) in loops.iter().enumerate() {
            if let Walk::Digit(d) = walk {
                access.strides[level] = storage.strides[d];
            }
        }
        let mut lanes = Lanes {
            bounds: Vec::new(),
            pick_row: level_of(&loops, |w| matches!(w, Walk::Row(_))),
            pick_column: level_of(&loops, |w| matches!(w, Walk::Column(_))),
        };
        for (held, axis) in [(row_held, Axis::Row), (column_held, Axis::Column)] {
            // One of the PEs that hold the same word.
            if !held {
                lanes.bounds.push(Bound { axis, low: 0, high: 1, level: None });
            }
        }
        for (d, &axis) in storage.axes.iter().enumerate() {
            // Beyond the end of the tensor zeros leave, whatever the pads hold there.
            let n = axis.lanes(machine);
            let (last_digit, high) = ((storage.shape[d] - 1) / n, (storage.shape[d] - 1) % n + 1);
            let outer = fixed.iter().find(|f| f.0 == Walk::Digit(d));
            if axis != Axis::Local && high != n && outer.is_none_or(|&(_, counter)| counter == last_digit) {
                let level = level_of(&loops, |w| w == Walk::Digit(d));
                lanes.bounds.push(Bound { axis, low: 0, high, level });
            }
        }
        let job = Job {
            lanes,
            ..Job::copy(
                arch::Span::default(),
                format!("{} emit", storage.name),
                loops.iter().map(|l| l.1).collect(),
                access,
                Sink::Output,
            )
        };
        let dimensions = dimensions(storage, machine, fixed, &loops, false);
        result.push((job, Feed { tensor, counts: counts(&loops), dimensions }));
    }
    result
}
