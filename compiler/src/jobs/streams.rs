//! Streams: how tensors enter and leave the grid, instruction by instruction.
//!
//!     on the grid axis      S words per beat, PE p hears lane p mod S; groups of S PEs without an element are left out
//!     on rows or columns    where S lanes fill whole rows, S words per beat to these rows, each column of them its own; on rows or columns
//!                           alone copies beside each other. Where a row is several times as wide as S, S words per beat to S columns, instruction
//!                           by instruction. Else one word per beat to one row or column, all copies at once
//!     local                 one word per beat to every PE
//!
//! Leaving, it is one word per beat through the trees, from one PE of those that hold copies. Where a beat has several lanes, as many rows
//! send at once, each a word of its own, or copies of one; and where it has more lanes than the grid has rows, several columns of them. If a beat
//! has more lanes than a transfer has words, it leaves in several transfers: no more than those whose lanes carry something.
//!
//! Of a dimension that is [turned](crate::placed::firsts) the last element has an instruction of its own.

use super::job::{Access, Job, Sink};
use super::lanes::{Bound, Lanes};
use super::{Storage, StorageId};
use crate::optimisations::Disabled;
use crate::placed::{Axis, cost};
use arch::Origin;
use arch::image::{Feed, FeedDimension};
use arch::isa::LEVELS;
use arch::machine::Machine;
use std::ops::Range;

/// What a loop of a stream instruction walks over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// Local steps of a dimension.
    Digit(usize),
    /// Rows of the grid, for a dimension on them.
    Row(usize),
    /// Columns of the grid.
    Column(usize),
    /// As many rows of the grid as a transfer of the output has words.
    Transfer(usize),
    /// As many rows, of a dimension that is the same in all of them.
    Copies(usize),
    /// Groups of `stream_words` PEs or columns; of rows, for a dimension on them.
    Group(usize),
}

/// One loop: what, and how often.
type Loop = (Walk, u32);

/// The loops of one or more instructions over a part of a tensor.
#[derive(Debug, Clone)]
struct Part {
    /// Counters that are the same in all its beats.
    fixed: Vec<Loop>,
    /// Loops, outermost first.
    loops: Vec<Loop>,
    /// Spread dimensions of which only some lanes are meant.
    tails: Vec<Tail>,
    /// Turned dimensions of which only the last element is meant.
    turned: Vec<usize>,
}

/// Lanes of a spread dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tail {
    dimension: usize,
    lanes: Range<u32>,
}

impl Part {
    /// The lanes of a dimension of which only some are meant.
    fn tail(&self, dimension: usize) -> Option<&Range<u32>> {
        self.tails.iter().find(|tail| tail.dimension == dimension).map(|tail| &tail.lanes)
    }
}

/// How the lanes of an axis are walked: the loops for the first `lanes` of them.
type LaneLoops<'a> = &'a dyn Fn(usize, Axis, u32) -> Vec<Loop>;

/// The row and the column of a lane of an axis.
fn place(axis: Axis, lane: u32, machine: &Machine) -> (u32, u32) {
    let (rows, columns) = (machine.pus(), machine.pes_per_pu());
    match axis {
        Axis::Local => (0, 0),
        Axis::Row => (lane, 0),
        Axis::Column => (0, lane),
        Axis::Grid => (lane / columns, lane % columns),
        Axis::Tall => (lane % rows, lane / rows),
    }
}

/// Cut a tensor into parts: along each spread dimension the steps in which all lanes hold elements, and the last one in
/// which only some do; then the last element of what is turned.
fn parts(storage: &Storage, machine: &Machine, levels: usize, lane_loops: LaneLoops<'_>) -> Vec<Part> {
    let mut parts = vec![Part { fixed: Vec::new(), loops: Vec::new(), tails: Vec::new(), turned: Vec::new() }];
    for (d, (&extent, &axis)) in storage.shape.iter().zip(&storage.axes).enumerate() {
        let lanes = axis.lanes(machine);
        let turned = storage.is_turned(d);
        // What is behind the end of a tall index is padding, which is filled with zeros.
        let in_turn = extent - u32::from(turned && axis != Axis::Tall);
        let (whole, rest) = (in_turn / lanes, in_turn % lanes);
        let mut longer = Vec::new();
        for part in parts {
            if whole > 0 {
                let mut part = part.clone();
                part.loops.push((Walk::Digit(d), whole));
                longer.push(part);
            }
            if rest > 0 {
                let mut part = part.clone();
                part.fixed.push((Walk::Digit(d), whole));
                part.tails.push(Tail { dimension: d, lanes: 0..rest });
                longer.push(part);
            }
            if turned {
                let mut part = part;
                let (digit, lane) = ((extent - 1) / lanes, (extent - 1) % lanes);
                part.fixed.push((Walk::Digit(d), digit));
                part.tails.push(Tail { dimension: d, lanes: lane..lane + 1 });
                part.turned.push(d);
                longer.push(part);
            }
        }
        parts = longer;
    }
    // Lanes innermost, so that consecutive beats go to different PEs of one word.
    for part in &mut parts {
        for (d, &axis) in storage.axes.iter().enumerate().filter(|(d, _)| !part.turned.contains(d)) {
            let tail = part.tail(d).map_or(axis.lanes(machine), |lanes| lanes.end);
            part.loops.extend(lane_loops(d, axis, tail));
        }
        part.loops.retain(|l| l.1 > 1);
    }
    parts.into_iter().flat_map(|part| unroll(part, levels)).collect()
}

/// Bring a part down to so many loops by fixing outer ones.
fn unroll(part: Part, levels: usize) -> Vec<Part> {
    if part.loops.len() <= levels {
        return vec![part];
    }
    let digit =
        part.loops.iter().position(|l| matches!(l.0, Walk::Digit(_))).expect("lanes alone are at most two loops");
    let mut inner = part;
    let (walk, count) = inner.loops.remove(digit);
    let fix = |counter| {
        let mut part = inner.clone();
        part.fixed.push((walk, counter));
        part
    };
    (0..count).flat_map(|counter| unroll(fix(counter), levels)).collect()
}

/// What the lanes of a beat carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// The first one a word for all.
    First,
    /// One word for each PE of a group.
    Along,
    /// One word for each column of a group.
    InColumns,
    /// Rows of words, for the rows of a group.
    InRows,
    /// One word for each row, or from it.
    ByRows,
}

/// The index maps of a feed.
fn dimensions(storage: &Storage, machine: &Machine, part: &Part, lanes: Sent) -> Vec<FeedDimension> {
    let Part { fixed, loops, .. } = part;
    let mut dimensions = vec![FeedDimension::default(); storage.shape.len()];
    let step = |walk: Walk| -> (usize, i64) {
        match walk {
            Walk::Digit(d) => (d, i64::from(storage.axes[d].lanes(machine))),
            Walk::Row(d) if storage.axes[d] == Axis::Grid => (d, i64::from(machine.pes_per_pu())),
            Walk::Column(d) if storage.axes[d] == Axis::Tall => (d, i64::from(machine.pus())),
            Walk::Row(d) | Walk::Column(d) => (d, 1),
            Walk::Transfer(d) if storage.axes[d] == Axis::Grid => {
                (d, i64::from(machine.output_words() * machine.pes_per_pu()))
            }
            Walk::Transfer(d) => (d, i64::from(machine.output_words())),
            Walk::Copies(d) => (d, 0),
            Walk::Group(d) if storage.axes[d] == Axis::Row => {
                (d, i64::from(machine.stream_words() / machine.pes_per_pu()))
            }
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
    for (dimension, &axis) in dimensions.iter_mut().zip(&storage.axes) {
        match lanes {
            Sent::First => {}
            Sent::Along => dimension.lane = i64::from(axis == Axis::Grid),
            Sent::InColumns => dimension.lane = i64::from(axis == Axis::Column),
            Sent::InRows => {
                dimension.lane = i64::from(axis == Axis::Column);
                dimension.row = i64::from(axis == Axis::Row);
            }
            Sent::ByRows => {
                dimension.lane = match axis {
                    Axis::Local | Axis::Column => 0,
                    Axis::Row | Axis::Tall => 1,
                    Axis::Grid => i64::from(machine.pes_per_pu()),
                }
            }
        }
    }
    for &d in &part.turned {
        let own = last(storage.axes[d], part.tail(d).map_or(0, |lanes| lanes.start), machine, lanes, storage.shape[d]);
        dimensions[d] = match lanes {
            Sent::ByRows => last_sent(own, d, storage, machine, loops),
            _ => own,
        };
    }
    dimensions
}

/// The index map of the last element of a turned dimension, before the first: it is in one lane, and what other lanes carry lies outside.
fn last(axis: Axis, lane: u32, machine: &Machine, sent: Sent, extent: u32) -> FeedDimension {
    let ((row, column), far) = (place(axis, lane, machine), i64::from(extent));
    let words = machine.stream_words();
    let (of_lane, of_row) = match (sent, axis) {
        (Sent::Along, Axis::Grid) => (Some(lane % words), None),
        (Sent::InColumns, Axis::Column) => (Some(column % words), None),
        (Sent::InRows, Axis::Column) => (Some(column), None),
        (Sent::InRows, Axis::Row) => (None, Some(row % (words / machine.pes_per_pu()))),
        (Sent::ByRows, Axis::Row | Axis::Grid | Axis::Tall) => (Some(row % machine.lane_rows()), None),
        _ => (None, None),
    };
    let before = |own: Option<u32>| far * i64::from(own.unwrap_or(0));
    let step = |own: Option<u32>| if own.is_some() { far } else { 0 };
    let offset = -1 - before(of_lane) - before(of_row);
    FeedDimension { offset, lane: step(of_lane), row: step(of_row), ..FeedDimension::default() }
}

/// The same where it leaves in one of several transfers: what others carry lies outside, too.
fn last_sent(lane: FeedDimension, d: usize, storage: &Storage, machine: &Machine, loops: &[Loop]) -> FeedDimension {
    let mut own = lane;
    let far = i64::from(storage.shape[d]);
    let base = LEVELS - loops.len();
    for (level, &(walk, count)) in loops.iter().enumerate() {
        let step = match walk {
            Walk::Transfer(of) if of == d => far * i64::from(machine.output_words()),
            // The last of these columns has it.
            Walk::Column(of) if of == d => {
                let step = far * i64::from(machine.lane_rows());
                own.offset -= step * i64::from(count - 1);
                step
            }
            _ => continue,
        };
        own.levels[base + level] = step;
    }
    own
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

/// The bounds that hold a part to the lanes it means; what is beyond the end in the last column of a tall one is padding.
fn bounds(part: &Part, storage: &Storage, machine: &Machine) -> Vec<Bound> {
    let rows = machine.pus();
    let bounds = |Tail { dimension, lanes: Range { start, end } }: &Tail| match storage.axes[*dimension] {
        Axis::Local => vec![],
        Axis::Tall => {
            let (lines, columns) = if part.turned.contains(dimension) {
                let (row, column) = place(Axis::Tall, *start, machine);
                (row..row + 1, column..column + 1)
            } else {
                (0..rows.min(*end), 0..end.div_ceil(rows))
            };
            let bound = |axis, lanes: Range<u32>| Bound { axis, low: lanes.start, high: lanes.end, level: None };
            vec![bound(Axis::Column, columns), bound(Axis::Row, lines)]
        }
        axis => vec![Bound { axis, low: *start, high: *end, level: None }],
    };
    part.tails.iter().flat_map(bounds).collect()
}

/// Word of the storage at which a part starts.
fn offset(part: &Part, storage: &Storage) -> i64 {
    let digit = |&(walk, counter): &Loop| match walk {
        Walk::Digit(d) => storage.strides[d] * i64::from(counter),
        _ => 0,
    };
    part.fixed.iter().map(digit).sum()
}

/// Words per step of each loop of a part.
fn strides(part: &Part, storage: &Storage) -> Vec<i64> {
    let stride = |&(walk, _): &Loop| match walk {
        Walk::Digit(d) => storage.strides[d],
        _ => 0,
    };
    part.loops.iter().map(stride).collect()
}

/// What one load instruction does: words of the input stream to the pads of the PEs that need them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Load {
    /// Loop counts, outermost first.
    pub(crate) loops: Vec<u32>,
    pub(crate) write: Access,
    /// Each PE takes its own lane; else all take the first.
    pub(crate) scatter: bool,
    /// The loop that picks a group of PEs, as many as a transfer has words.
    pub(crate) group: Option<usize>,
    pub(crate) lanes: Lanes,
}

/// The loads of a tensor, and what each carries.
pub(crate) fn load(
    storage: &Storage,
    id: StorageId,
    tensor: usize,
    machine: &Machine,
    disabled: Disabled,
) -> Vec<(Load, Feed)> {
    let in_rows = cost::rows_per_transfer(&storage.axes, machine, disabled);
    let in_columns = cost::columns_per_transfer(&storage.axes, machine, disabled);
    let sent = match in_rows {
        Some(_) => Sent::InRows,
        None if storage.axes.contains(&Axis::Grid) => Sent::Along,
        None if in_columns.is_some() => Sent::InColumns,
        None => Sent::First,
    };
    let (words, rows) = (machine.stream_words(), machine.pus());
    let lane_loops = |d: usize, axis: Axis, lanes: u32| match (axis, in_rows) {
        (Axis::Local, _) | (Axis::Column, Some(_)) => vec![],
        (Axis::Row, Some(rows)) => vec![(Walk::Group(d), lanes.div_ceil(rows))],
        (Axis::Row, None) => vec![(Walk::Row(d), lanes)],
        (Axis::Column, None) if in_columns.is_some() => vec![],
        (Axis::Column, None) => vec![(Walk::Column(d), lanes)],
        (Axis::Grid, _) => vec![(Walk::Group(d), lanes.div_ceil(words))],
        (Axis::Tall, _) => vec![(Walk::Column(d), lanes.div_ceil(rows)), (Walk::Row(d), rows)],
    };
    let mut result = Vec::new();
    let parts = parts(storage, machine, machine.loops() as usize, &lane_loops).into_iter();
    for part in parts.flat_map(|part| column_groups(part, storage, in_columns, machine)) {
        let mut lanes = Lanes {
            bounds: bounds(&part, storage, machine),
            pick_row: level_of(&part.loops, |w| matches!(w, Walk::Row(_))),
            pick_column: level_of(&part.loops, |w| matches!(w, Walk::Column(_))),
        };
        let ends_tall = part
            .tails
            .iter()
            .any(|tail| storage.axes[tail.dimension] == Axis::Tall && !part.turned.contains(&tail.dimension));
        for bound in &mut lanes.bounds {
            // Whole groups, and whole columns: what is beyond the tensor's end is filled with zeros.
            if bound.axis == Axis::Grid && bound.low == 0 {
                bound.high = bound.high.next_multiple_of(words);
            }
            if bound.axis == Axis::Row && ends_tall {
                bound.high = rows;
            }
        }
        let load = Load {
            loops: part.loops.iter().map(|l| l.1).collect(),
            write: Access { storage: id, offset: offset(&part, storage), strides: strides(&part, storage) },
            scatter: sent != Sent::First,
            group: level_of(&part.loops, |w| matches!(w, Walk::Group(_))),
            lanes,
        };
        let dimensions = dimensions(storage, machine, &part, sent);
        let width = if sent == Sent::InRows { machine.pes_per_pu() } else { 0 };
        result.push((load, Feed { tensor, counts: counts(&part.loops), width, dimensions }));
    }
    result
}

/// Where a row is wider than the stream, the columns that one instruction loads: as many as a transfer has words.
fn column_groups(part: Part, storage: &Storage, words: Option<u32>, machine: &Machine) -> Vec<Part> {
    let spread = storage.axes.iter().position(|axis| *axis == Axis::Column);
    let Some((words, d)) = words.zip(spread) else { return vec![part] };
    let lanes = part.tail(d).cloned().unwrap_or(0..machine.pes_per_pu());
    let group = |number: u32| {
        let mut part = part.clone();
        part.fixed.push((Walk::Group(d), number));
        part.tails.retain(|tail| tail.dimension != d);
        let own = lanes.start.max(number * words)..lanes.end.min((number + 1) * words);
        part.tails.push(Tail { dimension: d, lanes: own });
        part
    };
    (lanes.start / words..lanes.end.div_ceil(words)).map(group).collect()
}

/// What the beats of an instruction that sends have in their lanes.
struct Sending {
    part: Part,
    /// Rows that send at once, each in its lane.
    rows: Range<u32>,
    /// The dimension on columns that send at once, too, each in lanes of its own, and how many of them.
    columns: Option<(usize, u32)>,
}

impl Sending {
    /// What the output stream carries: the loops of the instruction, and inside those over the transfers of a beat, up to the last that has something.
    fn carried(&self, storage: &Storage, machine: &Machine) -> Part {
        let (words, lane_rows) = (machine.output_words(), machine.lane_rows());
        let mut part = self.part.clone();
        let columns = self.columns.map_or(1, |(_, columns)| columns);
        part.loops.extend(self.columns.map(|(d, columns)| (Walk::Column(d), columns)).filter(|_| columns > 1));
        let rows = if columns > 1 { lane_rows } else { (self.rows.end - 1) % lane_rows + 1 };
        let by_rows = |axis: &Axis| matches!(axis, Axis::Row | Axis::Grid | Axis::Tall);
        let walk = match (storage.axes.iter().position(by_rows), self.columns) {
            (Some(d), _) => Walk::Transfer(d),
            (None, Some((d, _))) if columns > 1 => Walk::Copies(d),
            (None, _) => return part,
        };
        part.loops.extend(Some((walk, rows.div_ceil(words))).filter(|transfers| transfers.1 > 1));
        part
    }
}

/// The lanes in which parts are sent: as many rows as have lanes, each gives the word of its lane, and so does each PE that has one.
fn sendings(part: Part, storage: &Storage, machine: &Machine) -> Vec<Sending> {
    let (lanes, rows) = (machine.lane_rows(), machine.pus());
    let place_of = |d: usize, tail: &Range<u32>| place(storage.axes[d], tail.start, machine);
    let at_once = |part: &Part| {
        let d = storage.axes.iter().position(|axis| matches!(axis, Axis::Column | Axis::Grid | Axis::Tall));
        let d = d.filter(|_| machine.lane_for_each())?;
        let columns = match (part.tail(d), storage.axes[d]) {
            (Some(tail), _) if part.turned.contains(&d) => place_of(d, tail).1 + 1,
            (Some(tail), Axis::Tall) => tail.end.div_ceil(rows),
            (Some(tail), _) => tail.end.min(machine.pes_per_pu()),
            (None, _) => machine.pes_per_pu(),
        };
        Some((d, columns))
    };
    let columns = at_once(&part);
    let held = storage.axes.iter().position(|axis| matches!(axis, Axis::Row | Axis::Grid | Axis::Tall));
    // All rows hold the same words, or the loops pick one after the other.
    let Some(d) = held.filter(|_| machine.lanes() > 1) else {
        let copies = if columns.is_some() { lanes } else { machine.output_words() };
        return vec![Sending { part, rows: 0..if held.is_some() { rows } else { copies }, columns }];
    };
    if let (true, Some(tail)) = (part.turned.contains(&d), part.tail(d)) {
        let row = place_of(d, tail).0;
        return vec![Sending { part, rows: row..row + 1, columns }];
    }
    let elements = part.tail(d).map_or(storage.axes[d].lanes(machine), |lanes| lanes.end);
    let used = if storage.axes[d] == Axis::Grid { elements.div_ceil(machine.pes_per_pu()) } else { elements.min(rows) };
    let group = |number: u32| {
        let mut part = part.clone();
        part.fixed.push((Walk::Row(d), number * lanes));
        Sending { part, rows: number * lanes..used.min((number + 1) * lanes), columns }
    };
    (0..used.div_ceil(lanes)).map(group).collect()
}

/// Jobs that send a tensor to the output stream, and what they carry.
pub(crate) fn emit(storage: &Storage, id: StorageId, tensor: usize, machine: &Machine) -> Vec<(Job, Feed)> {
    let (columns, rows) = (machine.pes_per_pu(), machine.pus());
    let (one_by_one, for_each) = (machine.lanes() == 1, machine.lane_for_each());
    let lane_loops = |d: usize, axis: Axis, lanes: u32| {
        let (of_rows, of_columns) = match axis {
            Axis::Local => (1, 1),
            Axis::Row => (lanes, 1),
            Axis::Column => (1, lanes),
            Axis::Grid => (lanes.div_ceil(columns), columns.min(lanes)),
            Axis::Tall => (rows.min(lanes), lanes.div_ceil(rows)),
        };
        let picks_rows = one_by_one && matches!(axis, Axis::Row | Axis::Grid | Axis::Tall);
        let picks_columns = !for_each && matches!(axis, Axis::Column | Axis::Grid | Axis::Tall);
        let row = picks_rows.then_some((Walk::Row(d), of_rows));
        let column = picks_columns.then_some((Walk::Column(d), of_columns));
        let loops = if axis == Axis::Tall { [column, row] } else { [row, column] };
        loops.into_iter().flatten().collect()
    };
    let column_held = storage.axes.iter().any(|a| matches!(a, Axis::Column | Axis::Grid | Axis::Tall));
    // Loops over the transfers of a beat: over columns, and over their rows.
    let transfers = usize::from(for_each) + usize::from(machine.lane_rows() > machine.output_words());
    let mut result = Vec::new();
    let parts = parts(storage, machine, machine.loops() as usize - transfers, &lane_loops).into_iter();
    for sending in parts.flat_map(|part| sendings(part, storage, machine)) {
        let Sending { part, rows: group, .. } = &sending;
        let access = Access { storage: id, offset: offset(part, storage), strides: strides(part, storage) };
        // Beyond the end of the tensor zeros leave, whatever the pads hold there.
        let mut lanes = Lanes {
            bounds: bounds(part, storage, machine),
            pick_row: level_of(&part.loops, |w| matches!(w, Walk::Row(_))),
            pick_column: level_of(&part.loops, |w| matches!(w, Walk::Column(_))),
        };
        if !column_held {
            // One of the PEs of a row that hold the same word.
            lanes.bounds.push(Bound { axis: Axis::Column, low: 0, high: 1, level: None });
        }
        if *group != (0..rows) {
            narrow(&mut lanes, group, storage, machine);
        }
        let loops = part.loops.iter().map(|l| l.1).collect();
        let what = format!("{} emit", storage.name);
        let job = Job { lanes, ..Job::copy(Origin::default(), what, loops, access, Sink::Output) };
        let sent = if one_by_one { Sent::First } else { Sent::ByRows };
        let carried = sending.carried(storage, machine);
        let dimensions = dimensions(storage, machine, &carried, sent);
        result.push((job, Feed { tensor, counts: counts(&carried.loops), width: 0, dimensions }));
    }
    result
}

/// Only these rows, of those that take part.
fn narrow(lanes: &mut Lanes, rows: &Range<u32>, storage: &Storage, machine: &Machine) {
    // Bounds of rows cut a rectangle, those of the grid a range: never both.
    let (axis, each) =
        if storage.axes.contains(&Axis::Grid) { (Axis::Grid, machine.pes_per_pu()) } else { (Axis::Row, 1) };
    let (low, high) = (rows.start * each, rows.end * each);
    match lanes.bounds.iter_mut().find(|bound| bound.axis == axis) {
        Some(bound) => (bound.low, bound.high) = (bound.low.max(low), bound.high.min(high)),
        None => lanes.bounds.push(Bound { axis, low, high, level: None }),
    }
}
