//! Reshard: one job for each round of a result over the columns of its rows ([`crate::placed::reshard`]).
//!
//!     AlongColumns { level: l }     loop l in 0..40, 16 columns     =>    l in 0..16;  l in 0..16, a word further;  l in 0..8, two further
//!     Inside { level: l, rows }     20 words on 8 rows              =>    words 0, 8, 16 of row 0;  1, 9, 17 of row 1;  ...;  7, 15 of row 7

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
        Walk::Inside { level, axis, stride, low, high } => {
            let (lanes, first) = (axis.lanes(machine), low / axis.lanes(machine));
            let of_lane = |lane: u32| {
                // The waves in which this lane has a word.
                let from = low.saturating_sub(lane).div_ceil(lanes);
                let count = high.saturating_sub(lane).div_ceil(lanes).checked_sub(from).filter(|&count| count > 0)?;
                let mut part = job.restrict(level, from - first, count, machine);
                part.lanes.bounds.push(Bound { axis, low: lane, high: lane + 1, level: None });
                let Sink::Tree { write, walk, .. } = &mut part.sink else { unreachable!("it is a tree job") };
                write.offset += stride * i64::from(from * lanes + lane);
                write.strides[level] = stride * i64::from(lanes);
                *walk = None;
                Some(part)
            };
            (0..lanes).filter_map(of_lane).collect()
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
