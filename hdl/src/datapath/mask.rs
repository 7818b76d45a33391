//! Masks: which PEs take part in a beat (docs/machine.md, section 2).
//!
//!     sequencer: levels ──▶ MaskUnit: effective bounds, picks
//!     grid:      ColumnHeads (once)  ──┐
//!                RowMask (per row)   ──┴──▶ one bit per PE ──▶ register of the PU
//!
//! Rows and columns are numbered out here, so that all PEs and all PUs are the same module.

use crate::beats::{LoopCounters, LoopEnds, MaskBeat, Widths};
use blocks::block;
use rust_hdl_core::prelude::*;

/// Whether the loop level named by microcode is at its first and at its last iteration; no level: both.
///
/// Whether the loop level that microcode names is at its first and last iteration; no level: always both.
#[block]
pub(crate) fn LevelBounds(widths: &Widths) {
    let bits = widths.alu.field("row_level").bits;
    let level: In<bits>;
    let loops: In<LoopEnds> = |name| widths.beat(name);
    let (first, last): Out;
    for N in LEVELS {
        let levelN: Const<bits> = N;
    }

    first = true;
    last = true;
    for N in LEVELS {
        if level == levelN {
            first = loops.firstN;
            last = loops.lastN;
        }
    }
}

/// Counter of the loop level named by microcode; no level: no pick.
#[block]
pub(crate) fn LevelPick(widths: &Widths) {
    let bits = widths.alu.field("row_level").bits;
    let level: In<bits>;
    let loops: In<LoopCounters> = |_| widths.place();
    let picked: Out;
    let counter: Out<{ widths.place() }>;
    for N in LEVELS {
        let levelN: Const<bits> = N;
    }
    let zero: Const<{ widths.place() }> = 0;

    picked = false;
    counter = zero;
    for N in LEVELS {
        if level == levelN {
            picked = true;
            counter = loops.counterN;
        }
    }
}

/// The bounds of a mask that hold in this beat; in flat mode the row's loop governs all four.
///
/// Bounds that hold in this beat: the instruction's in the first and last iteration of their loop, else the whole grid.
#[block]
fn Bounds(widths: &Widths) {
    let rows = widths.beat("row_low");
    let columns = widths.beat("column_low");
    let flat: In;
    let row_low: In<rows>;
    let column_low: In<columns>;
    let row_high: In<rows>;
    let column_high: In<columns>;
    let (row_first, row_last, column_first, column_last): In;
    let low_row: Out<rows>;
    let low_column: Out<columns>;
    let high_row: Out<rows>;
    let high_column: Out<columns>;
    let no_rows: Const<rows> = 0;
    let no_columns: Const<columns> = 0;
    let all_rows: Const<rows> = widths.rows;
    let all_columns: Const<columns> = widths.columns;

    low_row = no_rows;
    high_row = all_rows;
    if row_first {
        low_row = row_low;
    }
    if row_last {
        high_row = row_high;
    }
    low_column = no_columns;
    high_column = all_columns;
    if flat {
        high_column = no_columns;
        if row_first {
            low_column = column_low;
        }
        if row_last {
            high_column = column_high;
        }
    } else {
        if column_first {
            low_column = column_low;
        }
        if column_last {
            high_column = column_high;
        }
    }
}

/// Effective bounds and picks of a beat.
#[block(wires)]
pub(crate) fn MaskUnit(widths: &Widths) {
    let field = |name: &str| widths.alu.field(name).bits;
    let ends: In<LoopEnds> = |name| widths.beat(name);
    let counters: In<LoopCounters> = |_| widths.place();
    let flat: In;
    let row_low: In<{ field("row_low") }>;
    let column_low: In<{ field("column_low") }>;
    let row_high: In<{ field("row_high") }>;
    let column_high: In<{ field("column_high") }>;
    let row_level: In<{ field("row_level") }>;
    let column_level: In<{ field("column_level") }>;
    let pick_row: In<{ field("pick_row") }>;
    let pick_column: In<{ field("pick_column") }>;
    let beat: Out<MaskBeat> = |name| widths.beat(name);
    let (row, column) = LevelBounds(widths);
    let (row_pick, column_pick) = LevelPick(widths);
    let bounds = Bounds(widths);

    row.loops = ends;
    row.level = row_level;
    column.loops = ends;
    column.level = column_level;
    row_pick.loops = counters;
    row_pick.level = pick_row;
    column_pick.loops = counters;
    column_pick.level = pick_column;
    for NAME in names![flat row_low column_low row_high column_high] {
        bounds.NAME = NAME;
    }
    bounds.row_first = row.first;
    bounds.row_last = row.last;
    bounds.column_first = column.first;
    bounds.column_last = column.last;
    beat.flat = flat;
    beat.row_low = bounds.low_row;
    beat.column_low = bounds.low_column;
    beat.row_high = bounds.high_row;
    beat.column_high = bounds.high_column;
    beat.pick_row = row_pick.picked;
    beat.picked_row = row_pick.counter;
    beat.pick_column = column_pick.picked;
    beat.picked_column = column_pick.counter;
}

/// The mask fields of a stream's program to its mask unit.
macro_rules! wire_mask {
    ($self:ident, $wiring:ident) => {
        crate::rtl::wiring::wires!($self, $wiring;
            mask_unit.ends = ends.q;
            mask_unit.counters = counters.q;
            mask_unit.flat = work.q.flat;
            mask_unit.row_low = work.q.row_low;
            mask_unit.column_low = work.q.column_low;
            mask_unit.row_high = work.q.row_high;
            mask_unit.column_high = work.q.column_high;
            mask_unit.row_level = work.q.row_level;
            mask_unit.column_level = work.q.column_level;
            mask_unit.pick_row = work.q.pick_row;
            mask_unit.pick_column = work.q.pick_column;
            mask_beat = mask_unit.beat;
        );
    };
}
pub(crate) use wire_mask;

/// Compares every column with the bounds, once for all rows.
#[block(leaf)]
pub(crate) fn ColumnHeads(widths: &Widths) {
    let low: In<{ widths.beat("column_low") }>;
    let high: In<{ widths.beat("column_high") }>;
    let pick: In;
    let picked: In<{ widths.place() }>;
    /// Bit c: column c is not below the lower bound.
    let above: Out<{ widths.columns }>;
    /// Bit c: column c is below the upper bound.
    let below: Out<{ widths.columns }>;
    /// Bit c: column c is picked, or nothing is picked.
    let chosen: Out<{ widths.columns }>;
}

/// The vector of `test(c)` for all columns.
fn vector(columns: u32, test: impl Fn(i128) -> bool) -> i128 {
    (0..i128::from(columns)).fold(0, |vector, c| vector | i128::from(test(c)) << c)
}

/// `{test of the last column, .., test of column 0}`.
fn vector_text(columns: u32, test: impl Fn(u32) -> String) -> String {
    format!("{{{}}}", (0..columns).rev().map(test).collect::<Vec<_>>().join(", "))
}

impl crate::rtl::Leaf for ColumnHeads {
    fn model(&mut self) {
        let columns = self.above.width();
        let (low, high, picked) = (self.low.val(), self.high.val(), self.picked.val());
        let pick = self.pick.val();
        self.above.next = vector(columns, |c| c >= low);
        self.below.next = vector(columns, |c| c < high);
        self.chosen.next = vector(columns, |c| !pick || c == picked);
    }
    fn text(&self) -> String {
        let (columns, bits, counter) = (self.above.width(), self.low.width(), self.picked.width());
        format!(
            "// column_heads: compares every column with the bounds and the pick of a mask.
assign above = {};
assign below = {};
assign chosen = {};",
            vector_text(columns, |c| format!("{bits}'d{c} >= low")),
            vector_text(columns, |c| format!("{bits}'d{c} < high")),
            vector_text(columns, |c| format!("~pick | picked == {counter}'d{c}")),
        )
    }
}

/// Which PEs of one row take part in a beat.
#[block]
pub(crate) fn RowMask(widths: &Widths) {
    let (columns, rows) = (widths.columns, widths.beat("row_low"));
    /// Number of the row.
    let row: In<rows>;
    /// The same at the width of a place.
    let row_counter: In<{ widths.place() }>;
    let flat: In;
    let (low, high): In<rows>;
    let pick: In;
    let picked: In<{ widths.place() }>;
    let (above, below, chosen): In<columns>;
    /// Bit c: PE c of this row takes part.
    let mask: Out<columns>;
    /// The bounds of columns as they hold in this row.
    let (above_here, below_here): Local<columns>;
    /// The row has PEs that take part, if their columns do. Three bits decide for every column.
    let (taken, open_above, open_below): Local;
    let nothing: Const<columns> = 0;
    let everything: Ones<columns>;

    taken = row >= low && (row < high || (flat && row == high)) && (!pick || picked == row_counter);
    open_above = flat && row != low;
    open_below = flat && row != high;
    above_here = above;
    if open_above {
        above_here = everything;
    }
    below_here = below;
    if open_below {
        below_here = everything;
    }
    mask = above_here & below_here & chosen;
    if !taken {
        mask = nothing;
    }
}

/// Which PEs of one row belong to the picked group of the input stream; the groups are constants of the row.
///
/// `first`: flat number of the row's first PE.
#[block(leaf)]
pub(crate) fn GroupMask(widths: &Widths, first: u32, stream_words: u32) {
    let mask: In<{ widths.columns }>;
    let pick: In;
    let picked: In<{ widths.place() }>;
    let taken: Out<{ widths.columns }>;
    let _first: u32 = first;
    let _stream_words: u32 = stream_words;
}

impl crate::rtl::Leaf for GroupMask {
    fn model(&mut self) {
        let (first, words) = (i128::from(self._first), i128::from(self._stream_words));
        let (pick, picked) = (self.pick.val(), self.picked.val());
        let group = vector(self.mask.width(), |c| !pick || (first + c) / words == picked);
        self.taken.next = self.mask.val() & group;
    }
    fn text(&self) -> String {
        let counter = self.picked.width();
        let group = |c| (self._first + c) / self._stream_words;
        let tests = vector_text(self.mask.width(), |c| format!("~pick | picked == {counter}'d{}", group(c)));
        format!(
            "// group_mask: narrows the mask of a row to the PEs that the picked transfer is for.
assign taken = mask & {tests};"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::settled;

    /// The masks of two rows of four columns, from bounds `[row low, column low, row high, column high]`.
    fn masks(flat: bool, bounds: [i128; 4], pick: Option<i128>) -> [i128; 2] {
        let widths = Widths::of_grid(2, 4);
        let mut heads = ColumnHeads::new(&widths);
        heads.connect_all();
        (heads.low.next, heads.high.next) = (bounds[1], bounds[3]);
        (heads.pick.next, heads.picked.next) = (pick.is_some(), pick.unwrap_or(0));
        settled(&mut heads);
        [0, 1].map(|row| {
            let mut block = RowMask::new(&widths);
            block.connect_all();
            (block.row.next, block.row_counter.next, block.flat.next) = (row, row, flat);
            (block.low.next, block.high.next) = (bounds[0], bounds[2]);
            block.above.next = heads.above.val();
            block.below.next = heads.below.val();
            block.chosen.next = heads.chosen.val();
            settled(&mut block);
            block.mask.val()
        })
    }

    #[test]
    fn bounds_cut_a_rectangle_or_a_range() {
        assert_eq!(masks(false, [0, 1, 2, 3], None), [0b0110, 0b0110]);
        assert_eq!(masks(false, [1, 0, 2, 4], None), [0b0000, 0b1111]);
        // From PE 2 of row 0 up to PE 1 of row 1, exclusive.
        assert_eq!(masks(true, [0, 2, 1, 1], None), [0b1100, 0b0001]);
        assert_eq!(masks(false, [0, 0, 2, 4], Some(3)), [0b1000, 0b1000]);
    }
}
