//! Reshard: results that lie elsewhere than where they are computed.
//!
//!     a[q] = sigmoid(sum[p](w[q][p] * x[p]))      q on the rows, p on the columns; a[q] over all PEs, rows fastest
//!
//!     row r:  q = r, r + R, r + 2R, ...    one after the other ─▶ row bus ─▶ column 0, 1, 2, ...     (to tall)
//!     and back: column after column        ─▶ row tree ─▶ row bus ─▶ all columns                      (to rows)
//!
//! The bus reaches every PE of a row, so a result can be put into any column at no cost. A wide layer computes its sums with its
//! inputs on the columns, and everything else about its units on all PEs.
//!
//!     a[q] = sum[p](w[q][p] * x[p])      q in the PE, p on the grid; a[q] on the columns
//!
//!     q = 0, 1, 2, ...     one after the other ─▶ trees ─▶ bus ─▶ column 0, 1, 2, ...     (spread over columns; or over rows, or all PEs)
//!
//! Sums that leave the trees one after the other would be the same in all PEs; each PE takes its part of them, and the next layer has
//! its inputs on the columns, the rows or all PEs. Functions of them, which leave their row in any case, go there likewise.
//!
//!     t.copy[i] = t[i]                 i on the rows; t.copy[i] in each PE ([`carries`](super::carries))
//!
//!     row 0: i = 0, R, 2R, ... row 1: i = 1, R + 1, ...     one after the other ─▶ trees ─▶ bus ─▶ all rows     (inside)
//!
//!     t.copy[k][j] = t[k][j]           k on the rows, j on the columns; k of t.copy on the columns, j in each PE ([`doubles`](super::doubles))
//!
//!     column 0: row n has k = n, R + n, ...     column after column ─▶ row trees ─▶ buses of the columns ─▶ all PEs of column n     (across)
//!
//! Where a grid has buses of the columns, results of the rows go to the columns, those of all rows at once. With more columns than rows they go to as
//! many columns as there are rows; with more rows than columns as many rows send as there are columns, and the others add nothing ([`Crossing`]).
//!
//!     t.copy[i] = t[i]                 i on the rows, t.copy[i] on the columns, without such buses
//!
//!     row 0 to column 0, row 1 to column 1, ...     one word after the other ─▶ global tree ─▶ bus ─▶ all PEs of the column     (lanes)
//!
//!     w.copy[k][j] = w[k][j]           k on the rows, j on the columns; of w.copy k on the columns, j on the rows, on grids with as many of both
//!
//!     PE (0, 0) to (0, 0), (0, 1) to (1, 0), ...    one word after the other ─▶ global tree ─▶ bus ─▶ one PE     (swap)

use super::axis::Axis;
use crate::fixed::{Finish, Kind, Operation, Program, Role};
use arch::machine::Machine;

/// How results of the rows reach the columns where these are not as many: one of them at a time, of the parts that the larger number has of the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crossing {
    /// Rows that send at once, and columns that take their words.
    pub(crate) buses: u32,
    /// Parts of the rows.
    pub(crate) of_rows: u32,
    /// Parts of the columns.
    pub(crate) of_columns: u32,
}

/// The crossing of a grid; `None`: it has as many rows as columns.
pub(crate) fn crossing(machine: &Machine) -> Option<Crossing> {
    let (rows, columns, buses) = (machine.pus(), machine.pes_per_pu(), machine.column_bus_count());
    (rows != columns).then_some(Crossing { buses, of_rows: rows / buses, of_columns: columns / buses })
}

/// Which way an index changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// From rows to all PEs, rows fastest.
    Tall,
    /// Back.
    Rows,
    /// From inside the PE, as a sum over others or a function, to lanes of this axis.
    Spread(Axis),
    /// From the rows or the columns into each PE, as copies of all words.
    Inside,
    /// From the rows to the columns, all rows at once.
    Across,
    /// From lanes to lanes of this axis, one word after the other over the bus that reaches all PEs.
    Lanes(Axis),
    /// From the rows to the columns, while this other iterator goes from the columns to the rows, likewise.
    Swap(usize),
}

impl Turn {
    /// Where the words of a copy go that leave one lane after the other, if they do.
    pub(crate) fn one_by_one(self) -> Option<Axis> {
        match self {
            Turn::Inside => Some(Axis::Local),
            Turn::Lanes(to) => Some(to),
            _ => None,
        }
    }
}

/// Jobs that a copy from lanes to lanes may be, one for each lane that sends and each that takes its words.
const MOST_LANES: u32 = 64;

/// The words that go from one lane to one lane lie so far apart.
pub(crate) fn period(from: Axis, to: Axis, machine: &Machine) -> u32 {
    let (senders, takers) = (from.lanes(machine), to.lanes(machine));
    (1..=takers).map(|rounds| rounds * senders).find(|words| words.is_multiple_of(takers)).unwrap_or(senders)
}

/// A dimension of an operation's result that does not lie where its iterator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reshard {
    pub(crate) dimension: usize,
    pub(crate) iterator: usize,
    pub(crate) turn: Turn,
    /// Another dimension, and its iterator, that goes across from the rows to the columns with what goes inside from the columns.
    across: Option<(usize, usize)>,
}

impl Reshard {
    /// The iterator that goes across.
    pub(crate) fn across(&self) -> Option<usize> {
        let own = (self.turn == Turn::Across).then_some(self.iterator);
        own.or(self.across.map(|(_, iterator)| iterator))
    }
}

/// No machine can do this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Impossible;

impl Reshard {
    /// What a result would have to do to lie on `out`, whether or not its operation lets it.
    fn required(
        operation: &Operation,
        axes: &[Axis],
        out: &[Axis],
        machine: &Machine,
    ) -> Result<Option<Reshard>, Impossible> {
        if let Some(swap) = Reshard::swap(operation, axes, out, machine) {
            return Ok(Some(swap));
        }
        let (mut found, mut across) = (None, None);
        for (dimension, (form, &to)) in operation.out_index.iter().zip(out).enumerate() {
            let Some(iterator) = form.as_iterator() else { continue };
            let iterator = iterator.0;
            let turn = match (axes[iterator], to) {
                (from, to) if from == to => continue,
                (Axis::Row, Axis::Column) if machine.column_buses() => {
                    if across.replace((dimension, iterator)).is_some() {
                        return Err(Impossible);
                    }
                    continue;
                }
                (Axis::Row, Axis::Tall) => Turn::Tall,
                (Axis::Tall, Axis::Row) => Turn::Rows,
                (Axis::Local, axis) => Turn::Spread(axis),
                (Axis::Row | Axis::Column, Axis::Local) => Turn::Inside,
                (from @ (Axis::Row | Axis::Column | Axis::Grid), to) if to != Axis::Tall => {
                    let jobs = i64::from(period(from, to, machine)).min(operation.iterators[iterator].high);
                    if jobs > i64::from(MOST_LANES) {
                        return Err(Impossible);
                    }
                    Turn::Lanes(to)
                }
                _ => return Err(Impossible),
            };
            if found.replace(Reshard { dimension, iterator, turn, across: None }).is_some() {
                return Err(Impossible);
            }
        }
        Ok(match (found, across) {
            (found, None) => found,
            (None, Some((dimension, iterator))) => {
                Some(Reshard { dimension, iterator, turn: Turn::Across, across: None })
            }
            (Some(reshard), Some(_)) if reshard.turn == Turn::Inside && axes[reshard.iterator] == Axis::Column => {
                Some(Reshard { across, ..reshard })
            }
            (Some(_), Some(_)) => return Err(Impossible),
        })
    }

    /// The reshard in which rows and columns change places and nothing else does. There are as many of both, and each word has lanes of its own.
    fn swap(operation: &Operation, axes: &[Axis], out: &[Axis], machine: &Machine) -> Option<Reshard> {
        let turns = || {
            let all = operation.out_index.iter().zip(out).enumerate();
            all.filter_map(|(dimension, (form, &to))| Some((dimension, form.as_iterator()?.0, to)))
                .filter(|&(_, iterator, to)| axes[iterator] != to)
        };
        let turning = |from, to| turns().find(|&(_, iterator, axis)| axes[iterator] == from && axis == to);
        let (dimension, iterator, _) = turning(Axis::Row, Axis::Column)?;
        let (_, back, _) = turning(Axis::Column, Axis::Row)?;
        let lanes = i64::from(machine.pus());
        let fills = |i: usize| {
            let range = &operation.iterators[i];
            range.low == 0 && (range.high <= lanes || range.high % lanes == 0)
        };
        let all = turns().count() == 2 && machine.pus() == machine.pes_per_pu() && fills(iterator) && fills(back);
        all.then_some(Reshard { dimension, iterator, turn: Turn::Swap(back), across: None })
    }

    /// The reshard of an operation whose iterators lie on `axes` and whose result lies on `out`.
    pub(crate) fn of(
        operation: &Operation,
        axes: &[Axis],
        out: &[Axis],
        machine: &Machine,
    ) -> Result<Option<Reshard>, Impossible> {
        let Some(reshard) = Reshard::required(operation, axes, out, machine)? else { return Ok(None) };
        let others = (0..operation.iterators.len()).filter(|&i| i != reshard.iterator);
        let summed = |i: usize| {
            i >= operation.free
                && match reshard.turn {
                    Turn::Tall | Turn::Across => axes[i] == Axis::Column,
                    Turn::Rows | Turn::Inside | Turn::Lanes(_) | Turn::Swap(_) => false,
                    Turn::Spread(_) => true,
                }
        };
        let inside = reshard.turn == Turn::Inside;
        // Sums over the columns alone leave the trees of all rows at once, and each row puts its own into the columns.
        let over_columns = axes[operation.free..].iter().all(|axis| matches!(axis, Axis::Local | Axis::Column));
        let to_columns = reshard.turn == Turn::Spread(Axis::Column);
        let by_row = |i: usize| to_columns && over_columns && i < operation.free && axes[i] == Axis::Row;
        // What lies on rows and columns goes over one bus column by column, or over that of each row.
        let free = |i: usize| inside && i < operation.free || by_row(i) || reshard.turn == Turn::Swap(i);
        let plain = others.into_iter().all(|i| axes[i] == Axis::Local || summed(i) || free(i));
        let sum = match &operation.kind {
            Kind::MultiplyAdd { finish, .. } => *finish != Finish::Negative,
            Kind::Function { .. } => true,
            Kind::Product { .. } | Kind::Divide { .. } => false,
        };
        let low = operation.iterators[reshard.iterator].low;
        let function = matches!(operation.kind, Kind::Function { .. });
        let starts = function || matches!(operation.kind, Kind::MultiplyAdd { start: Some(_), .. });
        // The sums of rows that do not send are 0, and an extreme of nothing is not.
        let compares = matches!(&operation.kind, Kind::MultiplyAdd { combine, .. } if combine.compares());
        if reshard.across().is_some() && compares && machine.pus() > machine.pes_per_pu() {
            return Err(Impossible);
        }
        let first = match reshard.turn {
            Turn::Tall | Turn::Rows => low < i64::from(machine.pus()),
            // It has to leave the PE.
            Turn::Spread(_) => low == 0 && (function || axes[operation.free..].iter().any(|axis| *axis != Axis::Local)),
            Turn::Swap(_) if compares => false,
            Turn::Inside | Turn::Lanes(_) | Turn::Swap(_) => !starts && operation.free == operation.iterators.len(),
            Turn::Across => !starts || !function && operation.free < operation.iterators.len(),
        };
        if plain && sum && first { Ok(Some(reshard)) } else { Err(Impossible) }
    }
}

/// Whether the masks of an operation can hold its tall iterators to their elements, or need not.
pub(crate) fn masks_exist(
    program: &Program,
    operation: &Operation,
    axes: &[Axis],
    reshard: Option<Reshard>,
) -> MaskNeed {
    let writers = || program.operations.iter().filter(|other| other.out == operation.out).count();
    let scratch = || program.tensors[operation.out.0].role == Role::Temporary && writers() == 1;
    let tall = |i: &usize| axes[*i] == Axis::Tall && reshard.is_none_or(|reshard| reshard.iterator != *i);
    let summed = (operation.free..axes.len()).any(|i| tall(&i));
    match (0..axes.len()).find(tall) {
        None => MaskNeed::None,
        Some(iterator) if !summed && scratch() => MaskNeed::Rough(iterator),
        Some(iterator) => MaskNeed::Exact(iterator),
    }
}

/// What the mask of a tall iterator has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MaskNeed {
    /// There is no tall iterator.
    None,
    /// Elements before those that are meant may be written: nobody reads them.
    Rough(usize),
    /// Only the elements that are meant may take part.
    Exact(usize),
}

impl MaskNeed {
    /// Whether whole columns are mask enough, apart from the [padding](super::padding) in the last one.
    pub(crate) fn is_met(self, operation: &Operation, machine: &Machine) -> bool {
        let pes = i64::from(machine.pes());
        match self {
            MaskNeed::None | MaskNeed::Rough(_) => true,
            MaskNeed::Exact(iterator) => operation.iterators[iterator].low % pes == 0,
        }
    }
}

/// Columns that a tall iterator reaches in its last wave.
pub(crate) fn last_columns(high: i64, machine: &Machine) -> u32 {
    let rest = (high - 1).rem_euclid(i64::from(machine.pes())) + 1;
    (rest as u32).div_ceil(machine.pus())
}
