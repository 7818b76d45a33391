//! Masks: which PEs take part in a beat (docs/machine.md, section 2).
//!
//!     sequencer: levels ──▶ MaskUnit: effective bounds, picks
//!     grid:      ColumnHeads (once)  ──┐
//!                RowMask (per row)   ──┴──▶ one bit per PE ──▶ register of the PU
//!
//! Rows and columns are numbered out here, so that all PEs and all PUs are the same module.

use crate::beats::{LoopCounters, LoopEnds, MaskBeat, Widths};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, comment, structural, wires};
use rust_hdl::prelude::*;

/// Whether the loop level that microcode names is at its first and last iteration; no level: always both.
#[derive(LogicBlock)]
pub(crate) struct LevelBounds {
    pub(crate) level: Wide<In>,
    pub(crate) loops: LoopEnds<In>,
    pub(crate) first: Signal<Out, Bit>,
    pub(crate) last: Signal<Out, Bit>,
    level0: Number,
    level1: Number,
    level2: Number,
    level3: Number,
}

impl LevelBounds {
    pub(crate) fn new(widths: &Widths) -> Self {
        let bits = widths.alu.field("row_level").bits;
        LevelBounds {
            level: Wide::new(bits),
            loops: LoopEnds::new(&|name| widths.beat(name)),
            first: Signal::default(),
            last: Signal::default(),
            level0: Number::new(0, bits),
            level1: Number::new(1, bits),
            level2: Number::new(2, bits),
            level3: Number::new(3, bits),
        }
    }
}

impl Logic for LevelBounds {
    #[hdl_gen]
    fn update(&mut self) {
        comment!(
            "level_bounds: whether the loop level named by microcode is at its first and at its last iteration; no level: both."
        );
        self.first.next = true;
        self.last.next = true;
        if self.level.val() == self.level0.val() {
            self.first.next = self.loops.first0.val();
            self.last.next = self.loops.last0.val();
        }
        if self.level.val() == self.level1.val() {
            self.first.next = self.loops.first1.val();
            self.last.next = self.loops.last1.val();
        }
        if self.level.val() == self.level2.val() {
            self.first.next = self.loops.first2.val();
            self.last.next = self.loops.last2.val();
        }
        if self.level.val() == self.level3.val() {
            self.first.next = self.loops.first3.val();
            self.last.next = self.loops.last3.val();
        }
    }
}

/// Counter of the loop level that microcode names; no level: not picked.
#[derive(LogicBlock)]
pub(crate) struct LevelPick {
    pub(crate) level: Wide<In>,
    pub(crate) loops: LoopCounters<In>,
    pub(crate) picked: Signal<Out, Bit>,
    pub(crate) counter: Wide<Out>,
    level0: Number,
    level1: Number,
    level2: Number,
    level3: Number,
    zero: Number,
}

impl LevelPick {
    pub(crate) fn new(widths: &Widths) -> Self {
        let bits = widths.alu.field("row_level").bits;
        LevelPick {
            level: Wide::new(bits),
            loops: LoopCounters::new(&|_| widths.place()),
            picked: Signal::default(),
            counter: Wide::new(widths.place()),
            level0: Number::new(0, bits),
            level1: Number::new(1, bits),
            level2: Number::new(2, bits),
            level3: Number::new(3, bits),
            zero: Number::new(0, widths.place()),
        }
    }
}

impl Logic for LevelPick {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("level_pick: counter of the loop level named by microcode; no level: no pick.");
        self.picked.next = false;
        self.counter.next = self.zero.val();
        if self.level.val() == self.level0.val() {
            self.picked.next = true;
            self.counter.next = self.loops.counter0.val();
        }
        if self.level.val() == self.level1.val() {
            self.picked.next = true;
            self.counter.next = self.loops.counter1.val();
        }
        if self.level.val() == self.level2.val() {
            self.picked.next = true;
            self.counter.next = self.loops.counter2.val();
        }
        if self.level.val() == self.level3.val() {
            self.picked.next = true;
            self.counter.next = self.loops.counter3.val();
        }
    }
}

/// Bounds that hold in this beat: the instruction's in the first and last iteration of their loop, else the whole grid.
#[derive(LogicBlock)]
struct Bounds {
    flat: Signal<In, Bit>,
    row_low: Wide<In>,
    column_low: Wide<In>,
    row_high: Wide<In>,
    column_high: Wide<In>,
    row_first: Signal<In, Bit>,
    row_last: Signal<In, Bit>,
    column_first: Signal<In, Bit>,
    column_last: Signal<In, Bit>,
    low_row: Wide<Out>,
    low_column: Wide<Out>,
    high_row: Wide<Out>,
    high_column: Wide<Out>,
    no_rows: Number,
    no_columns: Number,
    all_rows: Number,
    all_columns: Number,
}

impl Bounds {
    fn new(widths: &Widths) -> Self {
        let rows = widths.beat("row_low");
        let columns = widths.beat("column_low");
        Bounds {
            flat: Signal::default(),
            row_low: Wide::new(rows),
            column_low: Wide::new(columns),
            row_high: Wide::new(rows),
            column_high: Wide::new(columns),
            row_first: Signal::default(),
            row_last: Signal::default(),
            column_first: Signal::default(),
            column_last: Signal::default(),
            low_row: Wide::new(rows),
            low_column: Wide::new(columns),
            high_row: Wide::new(rows),
            high_column: Wide::new(columns),
            no_rows: Number::new(0, rows),
            no_columns: Number::new(0, columns),
            all_rows: Number::new(widths.rows, rows),
            all_columns: Number::new(widths.columns, columns),
        }
    }
}

impl Logic for Bounds {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("bounds: the bounds of a mask that hold in this beat; in flat mode the row's loop governs all four.");
        self.low_row.next = self.no_rows.val();
        self.high_row.next = self.all_rows.val();
        if self.row_first.val() {
            self.low_row.next = self.row_low.val();
        }
        if self.row_last.val() {
            self.high_row.next = self.row_high.val();
        }
        self.low_column.next = self.no_columns.val();
        self.high_column.next = self.all_columns.val();
        if self.flat.val() {
            self.high_column.next = self.no_columns.val();
            if self.row_first.val() {
                self.low_column.next = self.column_low.val();
            }
            if self.row_last.val() {
                self.high_column.next = self.column_high.val();
            }
        } else {
            if self.column_first.val() {
                self.low_column.next = self.column_low.val();
            }
            if self.column_last.val() {
                self.high_column.next = self.column_high.val();
            }
        }
    }
}

/// From the mask fields of an instruction to the mask of a beat.
#[derive(LogicBlock)]
pub(crate) struct MaskUnit {
    pub(crate) ends: LoopEnds<In>,
    pub(crate) counters: LoopCounters<In>,
    pub(crate) flat: Signal<In, Bit>,
    pub(crate) row_low: Wide<In>,
    pub(crate) column_low: Wide<In>,
    pub(crate) row_high: Wide<In>,
    pub(crate) column_high: Wide<In>,
    pub(crate) row_level: Wide<In>,
    pub(crate) column_level: Wide<In>,
    pub(crate) pick_row: Wide<In>,
    pub(crate) pick_column: Wide<In>,
    pub(crate) beat: MaskBeat<Out>,
    row: LevelBounds,
    column: LevelBounds,
    row_pick: LevelPick,
    column_pick: LevelPick,
    bounds: Bounds,
    _wiring: Wiring,
}

impl MaskUnit {
    pub(crate) fn new(widths: &Widths) -> Self {
        let field = |name: &str| Wide::new(widths.alu.field(name).bits);
        MaskUnit {
            ends: LoopEnds::new(&|name| widths.beat(name)),
            counters: LoopCounters::new(&|_| widths.place()),
            flat: Signal::default(),
            row_low: field("row_low"),
            column_low: field("column_low"),
            row_high: field("row_high"),
            column_high: field("column_high"),
            row_level: field("row_level"),
            column_level: field("column_level"),
            pick_row: field("pick_row"),
            pick_column: field("pick_column"),
            beat: MaskBeat::new(&|name| widths.beat(name)),
            row: LevelBounds::new(widths),
            column: LevelBounds::new(widths),
            row_pick: LevelPick::new(widths),
            column_pick: LevelPick::new(widths),
            bounds: Bounds::new(widths),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            row.loops = ends;
            row.level = row_level;
            column.loops = ends;
            column.level = column_level;
            row_pick.loops = counters;
            row_pick.level = pick_row;
            column_pick.loops = counters;
            column_pick.level = pick_column;
            bounds.flat = flat;
            bounds.row_low = row_low;
            bounds.column_low = column_low;
            bounds.row_high = row_high;
            bounds.column_high = column_high;
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
        );
    }
}
structural!(MaskUnit, "mask_unit: effective bounds and picks of a beat.");

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
#[derive(LogicBlock)]
pub(crate) struct ColumnHeads {
    pub(crate) low: Wide<In>,
    pub(crate) high: Wide<In>,
    pub(crate) pick: Signal<In, Bit>,
    pub(crate) picked: Wide<In>,
    /// Bit c: column c is not below the lower bound.
    pub(crate) above: Wide<Out>,
    /// Bit c: column c is below the upper bound.
    pub(crate) below: Wide<Out>,
    /// Bit c: column c is picked, or nothing is picked.
    pub(crate) chosen: Wide<Out>,
}

impl ColumnHeads {
    pub(crate) fn new(widths: &Widths) -> Self {
        ColumnHeads {
            low: Wide::new(widths.beat("column_low")),
            high: Wide::new(widths.beat("column_high")),
            pick: Signal::default(),
            picked: Wide::new(widths.place()),
            above: Wide::new(widths.columns),
            below: Wide::new(widths.columns),
            chosen: Wide::new(widths.columns),
        }
    }
}

/// The vector of `test(c)` for all columns.
fn vector(columns: u32, test: impl Fn(i128) -> bool) -> i128 {
    (0..i128::from(columns)).fold(0, |vector, c| vector | i128::from(test(c)) << c)
}

/// `{test of the last column, .., test of column 0}`.
fn vector_text(columns: u32, test: impl Fn(u32) -> String) -> String {
    format!("{{{}}}", (0..columns).rev().map(test).collect::<Vec<_>>().join(", "))
}

impl Logic for ColumnHeads {
    fn update(&mut self) {
        let columns = self.above.width();
        let (low, high, picked) = (self.low.val(), self.high.val(), self.picked.val());
        let pick = self.pick.val();
        self.above.next = vector(columns, |c| c >= low);
        self.below.next = vector(columns, |c| c < high);
        self.chosen.next = vector(columns, |c| !pick || c == picked);
    }
    fn connect(&mut self) {
        self.above.connect();
        self.below.connect();
        self.chosen.connect();
    }
    fn hdl(&self) -> Verilog {
        let (columns, bits, counter) = (self.above.width(), self.low.width(), self.picked.width());
        Verilog::Custom(format!(
            "// column_heads: compares every column with the bounds and the pick of a mask.
assign above = {};
assign below = {};
assign chosen = {};",
            vector_text(columns, |c| format!("{bits}'d{c} >= low")),
            vector_text(columns, |c| format!("{bits}'d{c} < high")),
            vector_text(columns, |c| format!("~pick | picked == {counter}'d{c}")),
        ))
    }
}

/// Joins the comparisons of one row with those of the columns.
#[derive(LogicBlock)]
pub(crate) struct RowMask {
    /// Number of the row.
    pub(crate) row: Wide<In>,
    /// The same at the width of a place.
    pub(crate) row_counter: Wide<In>,
    pub(crate) flat: Signal<In, Bit>,
    pub(crate) low: Wide<In>,
    pub(crate) high: Wide<In>,
    pub(crate) pick: Signal<In, Bit>,
    pub(crate) picked: Wide<In>,
    pub(crate) above: Wide<In>,
    pub(crate) below: Wide<In>,
    pub(crate) chosen: Wide<In>,
    /// Bit c: PE c of this row takes part.
    pub(crate) mask: Wide<Out>,
    above_here: Wide<Local>,
    below_here: Wide<Local>,
    chosen_here: Wide<Local>,
    nothing: Number,
    everything: Number,
}

impl RowMask {
    pub(crate) fn new(widths: &Widths) -> Self {
        let (columns, rows) = (widths.columns, widths.beat("row_low"));
        RowMask {
            row: Wide::new(rows),
            row_counter: Wide::new(widths.place()),
            flat: Signal::default(),
            low: Wide::new(rows),
            high: Wide::new(rows),
            pick: Signal::default(),
            picked: Wide::new(widths.place()),
            above: Wide::new(columns),
            below: Wide::new(columns),
            chosen: Wide::new(columns),
            mask: Wide::new(columns),
            above_here: Wide::new(columns),
            below_here: Wide::new(columns),
            chosen_here: Wide::new(columns),
            nothing: Number::new(0, columns),
            everything: Number::ones(columns),
        }
    }
}

impl Logic for RowMask {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("row_mask: which PEs of one row take part in a beat.");
        self.above_here.next = self.nothing.val();
        if self.flat.val() {
            if self.row.val() > self.low.val() {
                self.above_here.next = self.everything.val();
            }
            if self.row.val() == self.low.val() {
                self.above_here.next = self.above.val();
            }
        } else if self.row.val() >= self.low.val() {
            self.above_here.next = self.above.val();
        }
        self.below_here.next = self.nothing.val();
        if self.row.val() < self.high.val() {
            self.below_here.next = self.below.val();
            if self.flat.val() {
                self.below_here.next = self.everything.val();
            }
        } else if self.flat.val() && self.row.val() == self.high.val() {
            self.below_here.next = self.below.val();
        }
        self.chosen_here.next = self.chosen.val();
        if self.pick.val() && self.picked.val() != self.row_counter.val() {
            self.chosen_here.next = self.nothing.val();
        }
        self.mask.next = self.above_here.val() & self.below_here.val() & self.chosen_here.val();
    }
}

/// Which PEs of one row belong to the picked group of the input stream; the groups are constants of the row.
#[derive(LogicBlock)]
pub(crate) struct GroupMask {
    pub(crate) mask: Wide<In>,
    pub(crate) pick: Signal<In, Bit>,
    pub(crate) picked: Wide<In>,
    pub(crate) taken: Wide<Out>,
    _first: u32,
    _stream_words: u32,
}

impl GroupMask {
    /// `first`: flat number of the row's first PE.
    pub(crate) fn new(widths: &Widths, first: u32, stream_words: u32) -> Self {
        GroupMask {
            mask: Wide::new(widths.columns),
            pick: Signal::default(),
            picked: Wide::new(widths.place()),
            taken: Wide::new(widths.columns),
            _first: first,
            _stream_words: stream_words,
        }
    }
}

impl Logic for GroupMask {
    fn update(&mut self) {
        let (first, words) = (i128::from(self._first), i128::from(self._stream_words));
        let (pick, picked) = (self.pick.val(), self.picked.val());
        let group = vector(self.mask.width(), |c| !pick || (first + c) / words == picked);
        self.taken.next = self.mask.val() & group;
    }
    fn connect(&mut self) {
        self.taken.connect();
    }
    fn hdl(&self) -> Verilog {
        let counter = self.picked.width();
        let group = |c| (self._first + c) / self._stream_words;
        let tests = vector_text(self.mask.width(), |c| format!("~pick | picked == {counter}'d{}", group(c)));
        Verilog::Custom(format!(
            "// group_mask: narrows the mask of a row to the PEs that the picked transfer is for.
assign taken = mask & {tests};"
        ))
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
