//! Reshard: the rounds of a result over the columns of its rows ([`crate::placed::reshard`]).
//!
//!     Along { level: l, columns }   loop l in 0..40, 16 columns     =>    l in 0..16 inside a round in 0..2, each a word further;  l in 0..8, two further
//!     Along { level: l, all PEs }   loop l in 0..40, 4 rows of 8    =>    l in 0..8 of row in 0..4;  l in 0..8 of row 0, a word further
//!     Inside { level: l, rows }     20 words on 8 rows              =>    words 0, 8, 16 of row 0;  1, 9, 17 of row 1;  ...;  7, 15 of row 7
//!     Inside { rows, to columns }   20 words, 4 rows of 8           =>    words 0, 8, 16 of row 0 to column 0;  ...;  4, 12 of row 0 to column 4;  ...

use super::Program;
use super::job::{Job, Sink, Walk};
use super::lanes::Bound;
use crate::placed::Axis;
use crate::placed::reshard::period;
use arch::machine::Machine;

/// Rounds that are jobs of their own: between them others can begin. More would only make the program longer.
const MOST_ROUNDS: u32 = 8;

/// The same program with jobs that go over the columns in rounds.
pub(crate) fn expand(program: &Program, machine: &Machine) -> Program {
    let jobs = program.jobs.iter().flat_map(|job| rounds(job.clone(), machine)).collect();
    Program { jobs, ..program.clone() }
}

/// The jobs in which results go to the lanes of an axis, one lane after the other: full rounds, the full lines of the last one, and the rest
/// of a line. A line is a row of the grid, or a column of it where rows count fastest.
fn along(job: &Job, level: usize, axis: Axis, stride: i64, machine: &Machine) -> Vec<Job> {
    let (count, lanes) = (job.loops[level], axis.lanes(machine));
    let (fast, slow) = match axis {
        Axis::Row => (Axis::Row, None),
        Axis::Tall => (Axis::Row, Some(Axis::Column)),
        Axis::Grid => (Axis::Column, Some(Axis::Row)),
        Axis::Column | Axis::Local => (Axis::Column, None),
    };
    let line = fast.lanes(machine);
    let whole = count - count % lanes;
    // Full rounds are one loop where they are many, unless the first or the last has lanes of its own.
    let many = whole / lanes > MOST_ROUNDS && !job.lanes_use(level);
    let step = if many { whole } else { lanes };
    let lines = count % lanes / line * line;
    let mut parts: Vec<(u32, u32)> = (0..whole).step_by(step as usize).map(|from| (from, step)).collect();
    parts.extend([(whole, lines), (whole + lines, count - whole - lines)].into_iter().filter(|part| part.1 > 0));
    let part = |(from, count): (u32, u32)| {
        let mut part = job.restrict(level, from, count, machine);
        let mut picked = level;
        let several = count > lanes;
        if several {
            part = part.in_rounds(picked, lanes);
            picked += 1;
        }
        let many_lines = part.loops[picked] > line;
        if many_lines {
            part = part.in_rounds(picked, line);
            picked += 1;
        }
        let single = part.loops[picked] == 1;
        let Sink::Tree { write, lanes: taken, walk, .. } = &mut part.sink else { unreachable!("it is a tree job") };
        write.offset += stride * i64::from(from / lanes);
        if several {
            write.strides[level] = stride;
        }
        *walk = None;
        let mut take = |axis: Axis, loop_of_lanes: Option<usize>, first: u32| match (axis, loop_of_lanes) {
            (Axis::Row, Some(_)) => taken.pick_row = loop_of_lanes,
            (_, Some(_)) => taken.pick_column = loop_of_lanes,
            (_, None) => taken.bounds.push(Bound { axis, low: first, high: first + 1, level: None }),
        };
        take(fast, (!single).then_some(picked), 0);
        if let Some(slow) = slow {
            take(slow, many_lines.then(|| picked - 1), from % lanes / line);
        }
        part
    };
    parts.into_iter().map(part).collect()
}

/// The jobs in which the results of one change over.
fn rounds(job: Job, machine: &Machine) -> Vec<Job> {
    let Sink::Tree { walk: Some(walk), .. } = job.sink else { return vec![job] };
    let columns = machine.pes_per_pu();
    let one = Bound { axis: Axis::Column, low: 0, high: 1, level: None };
    match walk {
        Walk::Along { level, axis, stride } => along(&job, level, axis, stride, machine),
        Walk::Inside { level, axis, to, stride, low, high } => {
            let (lanes, takers, period) = (axis.lanes(machine), to.lanes(machine), period(axis, to, machine));
            let of_first = |first: u32| {
                // Words `first`, `first + period`, ... go from one lane to one lane.
                let from = low.saturating_sub(first).div_ceil(period);
                let count = high.saturating_sub(first).div_ceil(period).checked_sub(from).filter(|&count| count > 0)?;
                let word = from * period + first;
                let mut part = job.every(level, word / lanes - low / lanes, count, period / lanes);
                let lane = |axis: Axis, lane: u32| Bound { axis, low: lane, high: lane + 1, level: None };
                part.lanes.bounds.push(lane(axis, word % lanes));
                let Sink::Tree { write, lanes: taken, walk, .. } = &mut part.sink else {
                    unreachable!("it is a tree job")
                };
                write.offset += stride * i64::from(word / takers);
                write.strides[level] = stride * i64::from(period / takers);
                taken.bounds.extend((to != Axis::Local).then(|| lane(to, word % takers)));
                *walk = None;
                Some(part)
            };
            (0..period).filter_map(of_first).collect()
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
