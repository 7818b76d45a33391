//! Reshard: one job for each round of a result over the columns of its rows ([`crate::placed::reshard`]).
//!
//!     ToTall { level: l }     loop l in 0..40, 16 columns     =>    l in 0..16;  l in 0..16, a word further;  l in 0..8, two further

use super::job::{Bound, Job, Sink};
use crate::placed::Axis;
use arch::machine::Machine;

/// How the results of a job change over to another axis, until [`expand`] makes jobs of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// Loop `level` walks along the columns; `stride` words further after each round.
    ToTall { level: usize, stride: i64 },
    /// Loop `waves` and, inside, loop `columns`: `words` results per row; `low` is the first row of the first, `high` ends the last.
    ToRows { waves: usize, columns: usize, words: u32, low: u32, high: u32 },
}

/// One job for each round over the columns.
pub(crate) fn expand(job: Job, machine: &Machine) -> Vec<Job> {
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
