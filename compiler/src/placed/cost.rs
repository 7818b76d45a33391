//! Cost model: cycles and words of a placement, before anything is scheduled.

use super::axis::Axis;
use super::legal::starts;
use super::reshard::{self, Reshard, Turn};
use crate::fixed::{Kind, Operation, Program, Role, Tensor};
use crate::optimisations::{Disabled, Optimisation};
use crate::tensor::Iterator;
use arch::machine::Machine;
use arch::timing::{self, Unit};

/// Values of an iterator that one lane of an axis has to go through.
pub(crate) fn local_count(iterator: &Iterator, axis: Axis, machine: &Machine) -> u64 {
    let lanes = i64::from(axis.lanes(machine));
    if iterator.high <= iterator.low {
        return 0;
    }
    ((iterator.high - 1).div_euclid(lanes) - iterator.low.div_euclid(lanes) + 1) as u64
}

/// Words one PE needs for a tensor.
pub(crate) fn local_words(shape: &[u32], axes: &[Axis], machine: &Machine) -> u64 {
    shape.iter().zip(axes).map(|(&extent, axis)| u64::from(extent.div_ceil(axis.lanes(machine)))).product()
}

/// The way a result takes out of the PEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// It stays in its PE.
    Inside,
    /// Through the trees; `by_column`: one column after the other.
    Tree { unit: Unit, by_column: bool },
}

/// The route of an operation's results, from the axes of its iterators.
pub(crate) fn route(operation: &Operation, axes: &[Axis], reshard: Option<Reshard>) -> Route {
    match reshard.map(|reshard| reshard.turn) {
        Some(turn @ (Turn::Tall | Turn::Rows)) => {
            return Route::Tree { unit: Unit::Row, by_column: turn == Turn::Rows };
        }
        // One after the other, over the bus that reaches all who need it.
        Some(Turn::Across) => return Route::Tree { unit: Unit::Across, by_column: false },
        Some(Turn::Lanes(_) | Turn::Swap(_)) => return Route::Tree { unit: Unit::Global, by_column: false },
        Some(Turn::Inside) => {
            let from = reshard.map(|reshard| axes[reshard.iterator]);
            let columns_free = axes.contains(&Axis::Column);
            return match from {
                Some(Axis::Row) => Route::Tree { unit: Unit::Global, by_column: columns_free },
                _ if reshard.is_some_and(|reshard| reshard.across().is_some()) => {
                    Route::Tree { unit: Unit::Across, by_column: false }
                }
                _ => Route::Tree { unit: Unit::Row, by_column: false },
            };
        }
        // The trees do the same sum, wherever its results go.
        Some(Turn::Spread(_)) | None => {}
    }
    let (free, reduction) = axes.split_at(operation.free);
    let columns_free = free.iter().any(|a| matches!(a, Axis::Column | Axis::Grid | Axis::Tall));
    if let Kind::Divide { .. } | Kind::Function { .. } = operation.kind {
        return Route::Tree { unit: Unit::Row, by_column: columns_free };
    }
    let has = |axis| reduction.contains(&axis);
    if has(Axis::Grid) || has(Axis::Tall) || has(Axis::Row) && has(Axis::Column) {
        Route::Tree { unit: Unit::Global, by_column: false }
    } else if has(Axis::Column) {
        Route::Tree { unit: Unit::Row, by_column: false }
    } else if has(Axis::Row) {
        Route::Tree { unit: Unit::Global, by_column: columns_free }
    } else {
        Route::Inside
    }
}

/// Whether the scalar unit has what an operation reads and writes: no weights.
pub(crate) fn can_be_scalar(program: &Program, operation: &Operation) -> bool {
    !program.touches_kept(operation) && matches!(operation.kind, Kind::MultiplyAdd { .. } | Kind::Product { .. })
}

/// What a part of a program costs, before anything is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    /// Cycles of its operations, one after the other.
    pub(crate) compute: u64,
    /// Transfers of its inputs.
    pub(crate) load: u64,
    /// Cycles of what the scalar unit can do beside that.
    pub(crate) scalar: u64,
    /// Beats of its results on their way out, where placements differ in them.
    pub(crate) emit: u64,
    /// Transfers of the output stream, likewise.
    pub(crate) leave: u64,
    /// Words in each PE.
    pub(crate) words: u64,
}

impl Cost {
    pub(crate) fn plus(self, other: Cost) -> Cost {
        Cost {
            compute: self.compute + other.compute,
            load: self.load + other.load,
            scalar: self.scalar + other.scalar,
            emit: self.emit + other.emit,
            leave: self.leave + other.leave,
            words: self.words + other.words,
        }
    }

    /// The longest of computing, with and without the scalar unit, and sending, of loading, and of the output stream.
    pub(crate) fn cycles(self) -> u64 {
        (self.compute.max(self.scalar) + self.emit).max(self.load).max(self.leave)
    }

    /// Less is better; words only decide between placements of the same speed.
    pub(crate) fn key(self) -> (u64, u64, u64) {
        (self.cycles(), self.words, self.compute + self.scalar + self.emit + self.load)
    }

    /// The cost of an operation whose iterators lie on `axes` and whose result lies on `out`; `None` if that cannot be. With a `unit`,
    /// what is the same in all PEs costs none of them a beat.
    pub(crate) fn of_operation(
        program: &Program,
        operation: &Operation,
        axes: &[Axis],
        out: &[Axis],
        machine: &Machine,
        unit: bool,
    ) -> Option<Cost> {
        let reshard = Reshard::of(operation, axes, out, machine).ok()?;
        if !reshard::masks_exist(program, operation, axes, reshard).is_met(operation, machine) {
            return None;
        }
        let counts = operation.iterators.iter().zip(axes);
        let mut beats: u64 = counts.map(|(iterator, &axis)| local_count(iterator, axis, machine)).product();
        let mut route = route(operation, axes, reshard);
        if let (Some(Reshard { iterator, turn: Turn::Rows, .. }), Route::Tree { by_column, .. }) = (reshard, &mut route)
        {
            // Only the columns that hold something.
            let range = &operation.iterators[iterator];
            beats = beats / local_count(range, Axis::Tall, machine) * local_count(range, Axis::Row, machine);
            *by_column = false;
        }
        if let Some(Reshard { iterator, turn: Turn::Inside | Turn::Lanes(_), .. }) = reshard {
            let range = &operation.iterators[iterator];
            beats = beats / local_count(range, axes[iterator], machine).max(1) * range.extent();
        }
        if let Some(Reshard { iterator, turn: Turn::Swap(back), .. }) = reshard {
            let lanes = |i: usize| operation.iterators[i].extent().min(u64::from(machine.pus()));
            beats *= lanes(iterator) * lanes(back);
        }
        if let (Some(crossing), Some(_)) = (reshard::crossing(machine), reshard.and_then(|reshard| reshard.across())) {
            beats *= u64::from(crossing.of_rows);
        }
        let compute = starts::copied(program, operation, axes, machine)
            + match route {
                Route::Inside => match &operation.kind {
                    Kind::Product { .. } => beats * timing::alu_to_alu(machine),
                    _ => beats + timing::alu_to_alu(machine),
                },
                Route::Tree { unit, by_column } => {
                    let function = matches!(operation.kind, Kind::Function { .. });
                    let passes = if by_column { u64::from(machine.pes_per_pu()) } else { 1 };
                    let interval = match operation.kind {
                        Kind::Divide { .. } => timing::division_interval(machine),
                        _ => 1,
                    };
                    beats * passes * interval
                        + timing::alu_to_root(machine, unit)
                        + timing::root_to_move(unit, function)
                        + timing::move_to_alu(machine)
                }
            };
        let local = axes.iter().chain(out).all(|axis| *axis == Axis::Local);
        Some(if unit && local && route == Route::Inside && can_be_scalar(program, operation) {
            Cost { scalar: compute, ..Cost::default() }
        } else {
            Cost { compute, ..Cost::default() }
        })
    }

    /// The cost of a tensor whose dimensions lie on `axes`.
    pub(crate) fn of_tensor(tensor: &Tensor, axes: &[Axis], machine: &Machine, disabled: Disabled) -> Cost {
        let load = if tensor.role == Role::Input { load_beats(&tensor.shape, axes, machine, disabled) } else { 0 };
        let sent = tensor.role == Role::Output;
        let (emit, leave) = if sent { leaving(&tensor.shape, axes, machine) } else { (0, 0) };
        Cost { load, emit, leave, words: local_words(&tensor.shape, axes, machine), ..Cost::default() }
    }
}

/// Rows of the grid that a transfer reaches with words of their own, where the lanes of the stream fill whole rows: then a tensor on rows and
/// columns, or on one of them, comes in with several words per transfer.
pub(crate) fn rows_per_transfer(axes: &[Axis], machine: &Machine, disabled: Disabled) -> Option<u32> {
    let (words, columns) = (machine.stream_words(), machine.pes_per_pu());
    let rows = words / columns;
    let spread = |axis| axes.contains(&axis);
    let fills = disabled.uses(Optimisation::Loading)
        && rows > 0
        && words.is_multiple_of(columns)
        && !spread(Axis::Grid)
        && !spread(Axis::Tall);
    (fills && (spread(Axis::Column) && columns > 1 || spread(Axis::Row) && rows > 1)).then_some(rows)
}

/// Columns that a transfer reaches with words of their own, where a row has more of them than the stream has lanes; all rows take the same.
pub(crate) fn columns_per_transfer(axes: &[Axis], machine: &Machine, disabled: Disabled) -> Option<u32> {
    let (words, columns) = (machine.stream_words(), machine.pes_per_pu());
    let wide = words > 1 && columns > words && columns.is_multiple_of(words);
    (disabled.uses(Optimisation::Loading) && wide && axes.contains(&Axis::Column)).then_some(words)
}

/// Beats in which a tensor leaves, as many rows or PEs at a time as a beat has lanes, and transfers of the output stream. With one lane every
/// placement sends the same words, and only beats that send none count: those of the PEs behind the last element, in its row or column.
pub(crate) fn leaving(shape: &[u32], axes: &[Axis], machine: &Machine) -> (u64, u64) {
    let (lanes, rows, columns) = (machine.lane_rows(), machine.pus(), machine.pes_per_pu());
    let words = machine.output_words();
    if machine.lanes() == 1 {
        let sent = |extent: u32, axis: Axis| {
            let line = match axis {
                Axis::Local | Axis::Row | Axis::Column => 1,
                Axis::Grid => columns,
                Axis::Tall => rows,
            };
            u64::from(extent.next_multiple_of(line))
        };
        let beats: u64 = shape.iter().zip(axes).map(|(&extent, &axis)| sent(extent, axis)).product();
        return (beats - shape.iter().map(|&extent| u64::from(extent)).product::<u64>(), 0);
    }
    let on = |spread: &[Axis]| axes.iter().any(|axis| spread.contains(axis));
    // Columns that send at once, each in a transfer for every so many rows, all or none.
    let at_once = machine.lane_for_each() && on(&[Axis::Column, Axis::Grid, Axis::Tall]);
    let of_column = u64::from(if at_once { rows / words } else { 1 });
    let of_rows = |used: u32| u64::from(if at_once { rows } else { used }.div_ceil(words));
    let of_columns = |used: u32| u64::from(if at_once { 1 } else { used });
    let per_dimension = |(&extent, &axis): (&u32, &Axis)| {
        let all = axis.lanes(machine);
        let (whole, rest) = (extent / all, extent % all);
        let both = |elements: u32| -> (u64, u64) {
            let of_all = u64::from(elements);
            let (used_rows, used_columns) = match axis {
                Axis::Local => return (of_all, of_all),
                Axis::Column => return (of_columns(elements).min(of_all), of_all),
                Axis::Row => (elements, 1),
                Axis::Grid => (elements.div_ceil(columns), elements.min(columns)),
                Axis::Tall => (elements.min(rows), elements.div_ceil(rows)),
            };
            let beats = u64::from(used_rows.div_ceil(lanes)) * of_columns(used_columns);
            (beats, if elements == 0 { 0 } else { of_rows(used_rows) * u64::from(used_columns) })
        };
        let ([of_all, of_rest], whole) = ([all, rest].map(both), u64::from(whole));
        (whole * of_all.0 + of_rest.0, whole * of_all.1 + of_rest.1)
    };
    let each = shape.iter().zip(axes).map(per_dimension);
    let (beats, transfers) = each.fold((1, 1), |all, own| (all.0 * own.0, all.1 * own.1));
    let copies = if on(&[Axis::Row, Axis::Grid, Axis::Tall]) { 1 } else { of_column };
    (beats, transfers * copies)
}

/// Transfers that load a tensor.
pub(crate) fn load_beats(shape: &[u32], axes: &[Axis], machine: &Machine, disabled: Disabled) -> u64 {
    let (rows, columns) = (rows_per_transfer(axes, machine, disabled), columns_per_transfer(axes, machine, disabled));
    let per_lane = |(&extent, axis): (&u32, &Axis)| match (axis, rows) {
        (Axis::Row, Some(rows)) => {
            let (whole, rest) = (extent / machine.pus(), extent % machine.pus());
            u64::from(whole * machine.pus().div_ceil(rows) + rest.div_ceil(rows))
        }
        (Axis::Column, Some(_)) => u64::from(extent.div_ceil(machine.pes_per_pu())),
        (Axis::Column, None) if columns.is_some() => {
            let (whole, rest) = (extent / machine.pes_per_pu(), extent % machine.pes_per_pu());
            let words = machine.stream_words();
            u64::from(whole * (machine.pes_per_pu() / words) + rest.div_ceil(words))
        }
        (Axis::Local | Axis::Row | Axis::Column | Axis::Tall, _) => u64::from(extent),
        (Axis::Grid, _) => {
            let (whole, rest) = (extent / machine.pes(), extent % machine.pes());
            let words = machine.stream_words();
            u64::from(whole * (machine.pes() / words) + rest.div_ceil(words))
        }
    };
    shape.iter().zip(axes).map(per_lane).product()
}
