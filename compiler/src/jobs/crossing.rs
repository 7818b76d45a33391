//! Crossing: results of the rows on the buses of the columns, where a grid has not as many rows as columns.
//!
//! ```text
//! 40 words, 4 rows of 8     words 0..4, 8..12, ... of the rows to columns 0..4;  words 4..8, 12..16, ... to columns 4..8
//! 40 words, 8 rows of 4     words 0..4, 8..12, ... of rows 0..4 to the columns;  words 4..8, 12..16, ... of rows 4..8
//! ```

use super::job::{Job, Sink};
use super::lanes::Bound;
use crate::placed::Axis;
use crate::placed::reshard::Crossing;

/// The jobs of a job whose loop `level` counts words `low..high` of the rows, one word of each at a time: words that lie beside each other on the
/// columns are `stride` apart in a PE. The access to them does not count that loop yet.
pub(super) fn parts(job: &Job, level: usize, (low, high): (u32, u32), stride: i64, crossing: Crossing) -> Vec<Job> {
    let Crossing { buses, of_rows, of_columns } = crossing;
    let first = low / (buses * of_rows);
    let mut jobs = Vec::new();
    // Words of one part in one iteration go over all buses: a wave.
    for part in 0..of_rows * of_columns {
        let mut runs: Vec<(u32, u32, [u32; 2])> = Vec::new();
        for iteration in first..first + job.loops[level] {
            let wave = iteration * of_rows + part % of_rows;
            let taken = [low, high].map(|end| end.saturating_sub(wave * buses).min(buses));
            if wave % of_columns != part / of_rows || taken[0] >= taken[1] {
                continue;
            }
            match runs.last_mut() {
                Some((_, count, before)) if *before == taken => *count += 1,
                _ => runs.push((iteration, 1, taken)),
            }
        }
        let one = |(iteration, count, [from, to]): (u32, u32, [u32; 2])| {
            let mut own = job.every(level, iteration - first, count, of_columns);
            let (wave, column) = (iteration * of_rows + part % of_rows, part / of_rows * buses);
            if of_rows > 1 {
                let row = part % of_rows * buses;
                own.lanes.bounds.push(Bound { axis: Axis::Row, low: row, high: row + buses, level: None });
            }
            let Sink::Tree { write, lanes, .. } = &mut own.sink else { unreachable!("it goes over a bus") };
            write.offset += stride * i64::from(wave / of_columns);
            write.strides[level] += stride * i64::from(of_rows);
            if of_columns > 1 || to - from < buses {
                lanes.bounds.push(Bound { axis: Axis::Column, low: column + from, high: column + to, level: None });
            }
            own
        };
        jobs.extend(runs.into_iter().map(one));
    }
    jobs
}
