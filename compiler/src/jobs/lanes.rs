//! Lanes: which PEs take part in a job.
//!
//!     i in 2..11, on 4 columns, k the loop of i's words     =>     columns 2..3 at k: from column 2 in the first beat, below 3 in the last
//!
//!     beat 0    · · 2 3
//!     beat 1    4 5 6 7
//!     beat 2    8 9 10 ·

use crate::placed::Axis;
use arch::isa::{Mask, NO_LEVEL};
use arch::machine::Machine;

/// Lanes of one axis that take part: from `low` in the first iteration of a loop, below `high` in its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) axis: Axis,
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// `None`: always.
    pub(crate) level: Option<usize>,
}

/// Lanes that take part: rows, columns, PEs; each from a first one to before a last one.
pub(crate) type Extent = [(u32, u32); 3];

/// Which PEs take part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lanes {
    pub(crate) bounds: Vec<Bound>,
    /// Only the row with this loop's number.
    pub(crate) pick_row: Option<usize>,
    /// Only the column with this loop's number.
    pub(crate) pick_column: Option<usize>,
}

impl Lanes {
    /// The instruction's mask. The bounds lie on different axes: that is a law of placement.
    pub(crate) fn mask(&self, machine: &Machine) -> Mask {
        let mut mask = Mask::all(machine.pus(), machine.pes_per_pu());
        let level = |level: Option<usize>| level.map_or(NO_LEVEL, |l| l as u8);
        mask.pick_row = level(self.pick_row);
        mask.pick_column = level(self.pick_column);
        for bound in &self.bounds {
            match bound.axis {
                Axis::Local | Axis::Tall => {}
                Axis::Row => {
                    (mask.row_low, mask.row_high) = (bound.low, bound.high);
                    mask.row_level = level(bound.level);
                }
                Axis::Column => {
                    (mask.column_low, mask.column_high) = (bound.low, bound.high);
                    mask.column_level = level(bound.level);
                }
                Axis::Grid => {
                    let columns = machine.pes_per_pu();
                    mask.flat = true;
                    (mask.row_low, mask.column_low) = (bound.low / columns, bound.low % columns);
                    (mask.row_high, mask.column_high) = (bound.high / columns, bound.high % columns);
                    mask.row_level = level(bound.level);
                }
            }
        }
        mask
    }

    /// The rows, columns and PEs that can take part in a beat.
    pub(crate) fn extent(&self, beat: &[u32], loops: &[u32], machine: &Machine) -> Extent {
        let mut extent = [(0, machine.pus()), (0, machine.pes_per_pu()), (0, machine.pes())];
        for bound in &self.bounds {
            let low = bound.level.is_none_or(|l| beat[l] == 0);
            let low = if low { bound.low } else { 0 };
            let last = bound.level.is_none_or(|l| beat[l] + 1 == loops[l]);
            let high = if last { bound.high } else { bound.axis.lanes(machine) };
            match bound.axis {
                Axis::Local | Axis::Tall => {}
                Axis::Row => extent[0] = (low, high),
                Axis::Column => extent[1] = (low, high),
                Axis::Grid => extent[2] = (low, high),
            }
        }
        if let Some(level) = self.pick_row {
            extent[0] = (beat[level], beat[level] + 1);
        }
        if let Some(level) = self.pick_column {
            extent[1] = (beat[level], beat[level] + 1);
        }
        extent
    }

    pub(crate) fn uses(&self, level: usize) -> bool {
        self.pick_row == Some(level)
            || self.pick_column == Some(level)
            || self.bounds.iter().any(|b| b.level == Some(level))
    }

    /// The same lanes when loop `level` is taken away: its counter is `counter` of `count`, the loops inside move up.
    pub(crate) fn without(&self, level: usize, counter: u32, count: u32) -> Lanes {
        let mut lanes = Lanes::default();
        for bound in &self.bounds {
            let mut bound = *bound;
            match bound.level {
                Some(l) if l == level => {
                    bound.level = None;
                    if counter != 0 {
                        bound.low = 0;
                    }
                    if counter + 1 != count {
                        bound.high = u32::MAX;
                    }
                }
                Some(l) if l > level => bound.level = Some(l - 1),
                _ => {}
            }
            lanes.bounds.push(bound);
        }
        let pick = |pick: Option<usize>| match pick {
            Some(l) if l == level => {
                assert_eq!(count, 1, "a pick over several lanes keeps its loop");
                None
            }
            Some(l) if l > level => Some(l - 1),
            other => other,
        };
        Lanes { pick_row: pick(self.pick_row), pick_column: pick(self.pick_column), ..lanes }
    }

    pub(crate) fn clamp(&mut self, machine: &Machine) {
        for bound in &mut self.bounds {
            bound.high = bound.high.min(bound.axis.lanes(machine));
        }
    }
}
