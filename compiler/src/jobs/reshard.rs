//! Reshard: the rounds of a result over the columns of its rows ([`crate::placed::reshard`]).
//!
//!     AlongColumns { level: l }     loop l in 0..40, 16 columns     =>    l in 0..16 inside a round in 0..2, each a word further;  l in 0..8, two further
//!     Inside { level: l, rows }     20 words on 8 rows              =>    words 0, 8, 16 of row 0;  1, 9, 17 of row 1;  ...;  7, 15 of row 7

use super::Program;
use super::job::{Job, Sink, Walk};
use super::lanes::Bound;
use crate::placed::Axis;
use arch::machine::Machine;

/// Rounds that are jobs of their own: between them others can begin. More would only make the program longer.
const MOST_ROUNDS: u32 = 8;

/// The same program with jobs that go over the columns in rounds.
pub(crate) fn expand(program: &Program, machine: &Machine) -> Program {
    let jobs = program.jobs.iter().flat_map(|job| rounds(job.clone(), machine)).collect();
    Program { jobs, ..program.clone() }
}

/// The jobs in which the results of one change over.
fn rounds(job: Job, machine: &Machine) -> Vec<Job> {
    let Sink::Tree { walk: Some(walk), .. } = job.sink else { return vec![job] };
    let columns = machine.pes_per_pu();
    let one = Bound { axis: Axis::Column, low: 0, high: 1, level: None };
    match walk {
        Walk::AlongColumns { level, stride } => {
            let count = job.loops[level];
            let whole = count - count % columns;
            // Full rounds are one loop where they are many, unless the first or the last has lanes of its own; what is left of a round comes last.
            let many = whole / columns > MOST_ROUNDS && !job.lanes_use(level);
            let step = if many { whole } else { columns };
            let part = |from: u32| {
                let mut part = job.restrict(level, from, step.min(count - from), machine);
                let several = part.loops[level] > columns;
                let picked = if several {
                    part = part.in_rounds(level, columns);
                    level + 1
                } else {
                    level
                };
                let single = part.loops[picked] == 1;
                let Sink::Tree { write, lanes, walk, .. } = &mut part.sink else { unreachable!("it is a tree job") };
                write.offset += stride * i64::from(from / columns);
                if several {
                    write.strides[level] = stride;
                }
                *walk = None;
                if single {
                    lanes.bounds.push(one);
                } else {
                    lanes.pick_column = Some(picked);
                }
                part
            };
            (0..count).step_by(step as usize).map(part).collect()
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
