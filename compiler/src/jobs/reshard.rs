//! Reshard: one job for each round of a result over the columns of its rows ([`crate::placed::reshard`]).
//!
//!     AlongColumns { level: l }     loop l in 0..40, 16 columns     =>    l in 0..16;  l in 0..16, a word further;  l in 0..8, two further

use super::Program;
use super::job::{Job, Sink, Walk};
use super::lanes::Bound;
use crate::placed::Axis;
use arch::machine::Machine;

/// The same program with one job for each round over the columns.
pub(crate) fn expand(program: &Program, machine: &Machine) -> Program {
    let jobs = program.jobs.iter().flat_map(|job| rounds(job.clone(), machine)).collect();
    Program { jobs, ..program.clone() }
}

/// One job for each round over the columns.
fn rounds(job: Job, machine: &Machine) -> Vec<Job> {
    let Sink::Tree { walk: Some(walk), .. } = job.sink else { return vec![job] };
    let columns = machine.pes_per_pu();
    let one = Bound { axis: Axis::Column, low: 0, high: 1, level: None };
    match walk {
        Walk::AlongColumns { level, stride } => {
            let count = job.loops[level];
            let all = (0..count.div_ceil(columns)).map(|round| {
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
            all.collect()
        }
        Walk::ToRows { waves, columns: level, words, low, high } => {
            let all = (0..job.loops[waves]).map(|round| {
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
            all.collect()
        }
    }
}
