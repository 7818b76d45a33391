//! Seams: results that lie elsewhere than where they are computed.
//!
//!     a[q] = sigmoid(sum[p](w[q][p] * x[p]))      q on the rows, p on the columns; a[q] over all PEs, rows fastest
//!
//!     row r:  q = r, r + R, r + 2R, ...    one after the other ─▶ row bus ─▶ column 0, 1, 2, ...     (to tall)
//!     and back: column after column        ─▶ row tree ─▶ row bus ─▶ all columns                      (to rows)
//!
//! The bus reaches every PE of a row, so a result can be put into any column at no cost. A wide layer computes its sums with its
//! inputs on the columns, and everything else about its units on all PEs.

use super::job::{Bound, Job, Sink};
use super::place::Axis;
use crate::fixed::{Kind, Operation, Program, Role};
use arch::isa::Finish;
use arch::machine::Machine;

/// Which way an index changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// From rows to all PEs, rows fastest.
    ToTall,
    /// Back.
    ToRows,
}

/// A dimension of an operation's result that does not lie where its iterator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seam {
    pub(super) dimension: usize,
    pub(super) iterator: usize,
    pub(super) turn: Turn,
}

/// No machine can do this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Impossible;

impl Seam {
    /// The seam of an operation whose iterators lie on `axes` and whose result lies on `out`.
    pub(super) fn of(
        operation: &Operation,
        axes: &[Axis],
        out: &[Axis],
        machine: &Machine,
    ) -> Result<Option<Seam>, Impossible> {
        let mut found = None;
        for (dimension, (form, &to)) in operation.out_index.iter().zip(out).enumerate() {
            let Some(iterator) = form.as_iterator() else { continue };
            let iterator = iterator.0;
            let turn = match (axes[iterator], to) {
                (from, to) if from == to => continue,
                (Axis::Row, Axis::Tall) => Turn::ToTall,
                (Axis::Tall, Axis::Row) => Turn::ToRows,
                _ => return Err(Impossible),
            };
            if found.replace(Seam { dimension, iterator, turn }).is_some() {
                return Err(Impossible);
            }
        }
        let Some(seam) = found else { return Ok(None) };
        let others = (0..operation.iterators.len()).filter(|&i| i != seam.iterator);
        let plain = others.into_iter().all(|i| {
            let summed = i >= operation.free && seam.turn == Turn::ToTall && axes[i] == Axis::Column;
            axes[i] == Axis::Local || summed
        });
        let sum = match &operation.kind {
            Kind::MultiplyAdd { finish, .. } => *finish == Finish::Round,
            Kind::Function { .. } => true,
            Kind::Product { .. } | Kind::Divide { .. } => false,
        };
        let first = operation.iterators[seam.iterator].low < i64::from(machine.pus());
        if plain && sum && first { Ok(Some(seam)) } else { Err(Impossible) }
    }
}

/// Whether the masks of an operation can hold its tall iterators to their elements, or need not.
pub(super) fn masks_exist(program: &Program, operation: &Operation, axes: &[Axis], seam: Option<Seam>) -> MaskNeed {
    let writers = program.operations.iter().filter(|other| other.out == operation.out).count();
    let scratch = program.tensors[operation.out.0].role == Role::Temporary && writers == 1;
    let tall = |i: &usize| axes[*i] == Axis::Tall && seam.is_none_or(|seam| seam.iterator != *i);
    let summed = (operation.free..axes.len()).any(|i| tall(&i));
    match (0..axes.len()).find(tall) {
        None => MaskNeed::None,
        Some(iterator) if scratch && !summed => MaskNeed::Rough(iterator),
        Some(iterator) => MaskNeed::Exact(iterator),
    }
}

/// What the mask of a tall iterator has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaskNeed {
    /// There is no tall iterator.
    None,
    /// Elements before those that are meant may be written: nobody reads them.
    Rough(usize),
    /// Only the elements that are meant may take part.
    Exact(usize),
}

impl MaskNeed {
    /// Whether whole columns are mask enough.
    pub(super) fn is_met(self, operation: &Operation, machine: &Machine) -> bool {
        let (pes, pus) = (i64::from(machine.pes()), i64::from(machine.pus()));
        let whole_columns = |iterator: usize| operation.iterators[iterator].high % pes % pus == 0;
        match self {
            MaskNeed::None => true,
            MaskNeed::Rough(iterator) => whole_columns(iterator),
            MaskNeed::Exact(iterator) => whole_columns(iterator) && operation.iterators[iterator].low % pes == 0,
        }
    }
}

/// Columns that a tall iterator reaches in its last wave.
pub(super) fn last_columns(high: i64, machine: &Machine) -> u32 {
    let rest = (high - 1).rem_euclid(i64::from(machine.pes())) + 1;
    (rest as u32).div_ceil(machine.pus())
}

/// How the results of a job change over to another axis, until [`expand`] makes jobs of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// Loop `level` walks along the columns; `stride` words further after each round.
    ToTall { level: usize, stride: i64 },
    /// Loop `waves` and, inside, loop `columns`: `words` results per row; `low` is the first row of the first, `high` ends the last.
    ToRows { waves: usize, columns: usize, words: u32, low: u32, high: u32 },
}

/// One job for each round over the columns.
pub(super) fn expand(job: Job, machine: &Machine) -> Vec<Job> {
    let Sink::Tree { walk: Some(walk), .. } = job.sink else { return vec![job] };
    let columns = machine.pes_per_pu();
    let one = Bound { axis: Axis::Column, low: 0, high: 1, level: None };
    match walk {
        Walk::ToTall { level, stride } => {
            let count = job.loops[level];
            let rounds = (0..count.div_ceil(columns)).map(|round| {
                let from = round * columns;
                let mut part = job.restrict(level, from, columns.min(count - from), machine);
                let single = part.loops[level] == 1;
                let Sink::Tree { write, lanes, walk, .. } = &mut part.sink else { unreachable!("it is a tree job") };
                write.offset += stride * i64::from(round);
                *walk = None;
                if single {
                    lanes.bounds.push(one);
                } else {
                    lanes.pick_column = Some(level);
                }
                part
            });
            rounds.collect()
        }
        Walk::ToRows { waves, columns: level, words, low, high } => {
            let rounds = (0..job.loops[waves]).map(|round| {
                let mut part = job.restrict(waves, round, 1, machine);
                let count = columns.min(words - round * columns);
                part.loops[level] = count;
                if count == 1 {
                    part.lanes.pick_column = None;
                    part.lanes.bounds.push(one);
                }
                let (first, last) = (round == 0, round + 1 == job.loops[waves]);
                let Sink::Tree { lanes, walk, .. } = &mut part.sink else { unreachable!("it is a tree job") };
                *walk = None;
                let rows = Bound {
                    axis: Axis::Row,
                    low: if first { low } else { 0 },
                    high: if last { high } else { machine.pus() },
                    level: Some(level),
                };
                if rows.low != 0 || rows.high != machine.pus() {
                    lanes.bounds.push(rows);
                }
                part
            });
            rounds.collect()
        }
    }
}
