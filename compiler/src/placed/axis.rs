//! Axes: where on the grid the values of an index go.
//!
//!     0..10 on 2 rows of 4 columns     row: row 0 has 0 2 4 6 8, row 1 has 1 3 5 7 9           column: column 0 has 0 4 8, column 1 has 1 5 9
//!                                      grid: row 0 has 0 1 2 3, row 1 has 4 5 6 7; then 8 9    tall: row 0 has 0 2 4 6, row 1 has 1 3 5 7

use arch::machine::Machine;

/// Where the values of one index go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Axis {
    /// Consecutive words of one PE.
    Local,
    /// Cyclic over the columns (PEs of a PU).
    Column,
    /// Cyclic over the rows (PUs).
    Row,
    /// Cyclic over all PEs, columns fastest.
    Grid,
    /// Cyclic over all PEs, rows fastest: what [`crate::jobs::reshard`] makes of rows.
    Tall,
}

impl Axis {
    /// The axes that are tried for every index.
    pub const ALL: [Axis; 4] = [Axis::Local, Axis::Column, Axis::Row, Axis::Grid];

    /// All axes.
    pub(crate) const EVERY: [Axis; 5] = [Axis::Local, Axis::Column, Axis::Row, Axis::Grid, Axis::Tall];

    /// Number of lanes of this axis.
    pub fn lanes(self, machine: &Machine) -> u32 {
        match self {
            Axis::Local => 1,
            Axis::Column => machine.pes_per_pu(),
            Axis::Row => machine.pus(),
            Axis::Grid | Axis::Tall => machine.pes(),
        }
    }

    /// Whether two different indices of one tensor or operation may lie on these axes.
    pub(crate) fn agrees_with(self, other: Axis) -> bool {
        matches!(
            (self, other),
            (Axis::Local, _) | (_, Axis::Local) | (Axis::Row, Axis::Column) | (Axis::Column, Axis::Row)
        )
    }
}

impl std::fmt::Display for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Axis::Local => "local",
            Axis::Column => "column",
            Axis::Row => "row",
            Axis::Grid => "grid",
            Axis::Tall => "tall",
        })
    }
}
