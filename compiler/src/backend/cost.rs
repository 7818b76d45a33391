//! Cost model: cycles and words of a placement, before anything is scheduled.

use super::place::{Axis, Placement};
use crate::fixed::{Kind, Program, Role};
use crate::tensor::Iterator;
use arch::machine::Machine;
use arch::timing::{self, Unit};

/// Values of an iterator that one lane of an axis has to go through.
pub(super) fn local_count(iterator: &Iterator, axis: Axis, machine: &Machine) -> u64 {
    let lanes = i64::from(axis.lanes(machine));
    if iterator.high <= iterator.low {
        return 0;
    }
    ((iterator.high - 1).div_euclid(lanes) - iterator.low.div_euclid(lanes) + 1) as u64
}

/// Words one PE needs for a tensor.
pub(super) fn local_words(shape: &[u32], axes: &[Axis], machine: &Machine) -> u64 {
    shape.iter().zip(axes).map(|(&extent, axis)| u64::from(extent.div_ceil(axis.lanes(machine)))).product()
}

/// The way a result takes out of the PEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// It stays in its PE.
    Inside,
    /// Through the trees; `by_column`: one column after the other.
    Tree { unit: Unit, by_column: bool },
}

/// The route of an operation's results, from the axes of its free and reduction iterators.
pub(super) fn route(kind: &Kind, free: &[Axis], reduction: &[Axis]) -> Route {
    let columns_free = free.iter().any(|a| matches!(a, Axis::Column | Axis::Grid));
    if let Kind::Function { .. } = kind {
        return Route::Tree { unit: Unit::Row, by_column: columns_free };
    }
    let has = |axis| reduction.contains(&axis);
    if has(Axis::Grid) || has(Axis::Row) && has(Axis::Column) {
        Route::Tree { unit: Unit::Global, by_column: false }
    } else if has(Axis::Column) {
        Route::Tree { unit: Unit::Row, by_column: false }
    } else if has(Axis::Row) {
        Route::Tree { unit: Unit::Global, by_column: columns_free }
    } else {
        Route::Inside
    }
}

/// Estimated cycles of one step: the longer of computing and loading, with memory as the tie-breaker.
pub(super) fn step(program: &Program, machine: &Machine, placement: &Placement) -> u64 {
    let mut compute = 0;
    for (operation, axes) in program.operations.iter().zip(&placement.iterators) {
        let beats: u64 = operation
            .iterators
            .iter()
            .zip(axes)
            .map(|(iterator, &axis)| local_count(iterator, axis, machine))
            .product();
        let (free, reduction) = axes.split_at(operation.free);
        compute += match route(&operation.kind, free, reduction) {
            Route::Inside => match &operation.kind {
                Kind::Product { .. } => beats * timing::ALU_TO_ALU,
                _ => beats + timing::ALU_TO_ALU,
            },
            Route::Tree { unit, by_column } => {
                let function = matches!(operation.kind, Kind::Function { .. });
                let passes = if by_column { u64::from(machine.pes_per_pu()) } else { 1 };
                beats * passes
                    + timing::alu_to_root(machine, unit)
                    + timing::root_to_move(unit, function)
                    + timing::MOVE_TO_ALU
            }
        };
    }
    let mut load = 0;
    let mut words = 0;
    for (tensor, axes) in program.tensors.iter().zip(&placement.tensors) {
        words += local_words(&tensor.shape, axes, machine);
        if tensor.role == Role::Input {
            load += load_beats(&tensor.shape, axes, machine);
        }
    }
    // Words only decide between placements of the same speed.
    (compute.max(load) << 24) + words.min((1 << 24) - 1)
}

/// Transfers that load a tensor.
pub(super) fn load_beats(shape: &[u32], axes: &[Axis], machine: &Machine) -> u64 {
    let per_lane = |(&extent, axis): (&u32, &Axis)| match axis {
        Axis::Local | Axis::Row | Axis::Column => u64::from(extent),
        Axis::Grid => {
            let (whole, rest) = (extent / machine.pes(), extent % machine.pes());
            let words = machine.stream_words();
            u64::from(whole * (machine.pes() / words) + rest.div_ceil(words))
        }
    };
    shape.iter().zip(axes).map(per_lane).product()
}
