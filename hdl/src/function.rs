//! Function unit: table and linear interpolation (docs/machine.md, section 4).
//!
//!     word (t+2) ──▶ index, fraction (t+3) ──▶ table (t+4) ──▶ delta * fraction, base << s (t+5) ──▶ sum, shift (t+6)
//!                                                                                  ──▶ round (t+7) ──▶ y

use crate::arithmetic::{Align, Multiply, RoundStage, ShiftStage};
use crate::beats::{TableWrite, Widths};
use crate::memory::TableMemory;
use crate::register::{Delay, FlagDelay};
use crate::signal::{Number, Wide, fit};
use crate::wiring::{Wiring, structural, wires};
use rust_hdl::prelude::*;

/// Where in a table a word lies, and how far into its segment.
#[derive(LogicBlock)]
struct TableIndex {
    clock: Signal<In, Clock>,
    word: Wide<In>,
    octave: Signal<In, Bit>,
    table_base: Wide<In>,
    table_log2: Wide<In>,
    segment_shift: Wide<In>,
    index: Wide<Out>,
    /// W+1 bits, never negative.
    fraction: Wide<Out>,
    /// No segment is right: octave table and a word that is not positive.
    special: Signal<Out, Bit>,
}

impl TableIndex {
    fn new(widths: &Widths) -> Self {
        TableIndex {
            clock: Signal::default(),
            word: Wide::signed(widths.word),
            octave: Signal::default(),
            table_base: Wide::new(widths.table_index),
            table_log2: Wide::new(widths.beat("table_log2")),
            segment_shift: Wide::new(widths.beat("segment_shift")),
            index: Wide::new(widths.table_index),
            fraction: Wide::signed(widths.word + 1),
            special: Signal::default(),
        }
    }
}

impl Logic for TableIndex {
    fn update(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let (x, width) = (self.word.val(), self.word.width());
        let (base, log2, shift) = (self.table_base.val(), self.table_log2.val(), self.segment_shift.val());
        self.special.next = self.octave.val() && x <= 0;
        if self.octave.val() {
            let lead = i128::from(127 - x.max(1).leading_zeros());
            let spread = fit(x << (i128::from(width) - 2 - lead).max(0), width - 2, false);
            let below = (i128::from(width) - 2 - log2).max(0);
            self.index.next = base + (lead << log2) + (spread >> below);
            self.fraction.next = spread & ((1 << below) - 1);
        } else {
            let half = (1 << log2) >> 1;
            let ones = fit((1 << shift) - 1, width, false);
            let q = x >> shift;
            self.index.next = base + q.min(half - 1).max(-half) + half;
            self.fraction.next = if q >= half {
                ones
            } else if q < -half {
                0
            } else {
                x & ones
            };
        }
    }
    fn connect(&mut self) {
        self.index.connect();
        self.fraction.connect();
        self.special.connect();
    }
    fn hdl(&self) -> Verilog {
        let (word, index) = (self.word.width(), self.index.width());
        // q and half need 16 bits where a word is narrower.
        let wide = word.max(16) + 1;
        let lead = arch::number::ceil_log2(u64::from(word)).max(self.segment_shift.width());
        let log2 = self.table_log2.width();
        Verilog::Custom(format!(
            "// table_index: segment of a word in a function table, and how far into it the word lies.
wire signed [{q_last}:0] x = {{{{{spare}{{word[{top}]}}}}, word}};
wire signed [{q_last}:0] half = $signed({{{{{q_last}{{1'b0}}}}, 1'b1}} << table_log2) >>> 1;
wire signed [{q_last}:0] q = x >>> segment_shift;
wire above = q >= half;
wire below = q < -half;
wire [{q_last}:0] segment = above ? half - {wide}'sd1 : below ? -half : q;
wire [{q_last}:0] uniform_entry = segment + half;
wire [{top}:0] ones = ~({{{word}{{1'b1}}}} << segment_shift);
wire [{top}:0] uniform_fraction = above ? ones : below ? {{{word}{{1'b0}}}} : word & ones;

reg [{lead_last}:0] lead;
integer i;
always @(*) begin
    lead = {lead}'d0;
    for (i = 0; i < {word}; i = i + 1) if (word[i]) lead = i[{lead_last}:0];
end
wire [{lead_last}:0] places = {lead}'d{norm} - lead;
wire [{norm_last}:0] spread = word[{norm_last}:0] << places;
wire [{lead_last}:0] below_index = {lead}'d{norm} - {{{{{log_spare}{{1'b0}}}}, table_log2}};
wire [{norm_last}:0] octave_fraction = spread & ~({{{norm}{{1'b1}}}} << below_index);
wire [{e_last}:0] lead_part = {{{{{lead_spare}{{1'b0}}}}, lead}} << table_log2;
wire [{e_last}:0] spread_part = {{{{{spread_spare}{{1'b0}}}}, spread >> below_index}};
wire [{e_last}:0] octave_entry = lead_part + spread_part;
always @(posedge clock) begin
    index <= table_base + (octave ? octave_entry[{index_last}:0] : uniform_entry[{index_last}:0]);
    fraction <= {{1'b0, octave ? {{2'b00, octave_fraction}} : uniform_fraction}};
    special <= octave & (word[{top}] | ~|word);
end",
            q_last = wide - 1,
            spare = wide - word,
            top = word - 1,
            lead_last = lead - 1,
            norm = word - 2,
            norm_last = word - 3,
            log_spare = lead - log2,
            e_last = word.max(index).max(lead + 1) - 1,
            lead_spare = word.max(index).max(lead + 1) - lead,
            spread_spare = word.max(index).max(lead + 1) - (word - 2),
            index_last = index - 1,
        ))
    }
}

/// `base << s` plus `delta * fraction`, and by how much to shift that.
#[derive(LogicBlock)]
struct Interpolate {
    base: Wide<In>,
    slope: Wide<In>,
    segment_shift: Wide<In>,
    sum: Wide<Out>,
    shift: Wide<Out>,
}

impl Interpolate {
    fn new(width: u32, shift: u32) -> Self {
        Interpolate {
            base: Wide::signed(width),
            slope: Wide::signed(width),
            segment_shift: Wide::new(shift),
            sum: Wide::signed(width),
            shift: Wide::new(shift + 1),
        }
    }
}

impl Logic for Interpolate {
    fn update(&mut self) {
        self.sum.next = self.base.val() + self.slope.val();
        self.shift.next = self.segment_shift.val() + 2;
    }
    fn connect(&mut self) {
        self.sum.connect();
        self.shift.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// interpolate: value of a segment in quarters of the last place, times 2^segment_shift.
assign sum = base + slope;
assign shift = {{1'b0, segment_shift}} + {}'d2;",
            self.shift.width()
        ))
    }
}

/// One function unit.
#[derive(LogicBlock)]
pub(crate) struct FunctionUnit {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) tables: TableWrite<In>,
    /// With the root beat, at t.
    pub(crate) octave: Signal<In, Bit>,
    pub(crate) table_base: Wide<In>,
    pub(crate) table_log2: Wide<In>,
    pub(crate) segment_shift: Wide<In>,
    /// At t+2.
    pub(crate) word: Wide<In>,
    /// At t+7.
    pub(crate) result: Wide<Out>,
    pub(crate) result_saturated: Signal<Out, Bit>,
    /// The result is the most negative word and counts as saturated.
    pub(crate) special: Signal<Out, Bit>,
    octave_t2: FlagDelay,
    base_t2: Delay,
    log2_t2: Delay,
    segment_t2: Delay,
    segment_t4: Delay,
    segment_t5: Delay,
    fraction_t4: Delay,
    special_t7: FlagDelay,
    locate: TableIndex,
    entries: TableMemory,
    slope: Multiply,
    offset: Align,
    interpolate: Interpolate,
    shifter: ShiftStage,
    round: RoundStage,
    never: Number,
    _wiring: Wiring,
}

impl FunctionUnit {
    pub(crate) fn new(widths: &Widths) -> Self {
        let (word, segment) = (widths.word, widths.beat("segment_shift"));
        // (W+2) x (W+1) bits.
        let product = 2 * word + 3;
        FunctionUnit {
            clock: Signal::default(),
            reset: Signal::default(),
            tables: TableWrite::new(&|name| widths.beat(name)),
            octave: Signal::default(),
            table_base: Wide::new(widths.table_index),
            table_log2: Wide::new(widths.beat("table_log2")),
            segment_shift: Wide::new(segment),
            word: Wide::signed(word),
            result: Wide::signed(word),
            result_saturated: Signal::default(),
            special: Signal::default(),
            octave_t2: FlagDelay::new(2),
            base_t2: Delay::new(widths.table_index, 2),
            log2_t2: Delay::new(widths.beat("table_log2"), 2),
            segment_t2: Delay::new(segment, 2),
            segment_t4: Delay::new(segment, 2),
            segment_t5: Delay::new(segment, 1),
            fraction_t4: Delay::new(word + 1, 1),
            special_t7: FlagDelay::new(4),
            locate: TableIndex::new(widths),
            entries: TableMemory::new(widths.table_index, word),
            slope: Multiply::new(word + 2, word + 1),
            offset: Align::new(word + 2, segment, product),
            interpolate: Interpolate::new(product, segment),
            shifter: ShiftStage::new(product, segment + 1, word),
            round: RoundStage::new(word),
            never: Number::new(0, 1),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            octave_t2.clock = clock;
            octave_t2.reset = reset;
            octave_t2.d = octave;
            base_t2.clock = clock;
            base_t2.d = table_base;
            log2_t2.clock = clock;
            log2_t2.d = table_log2;
            segment_t2.clock = clock;
            segment_t2.d = segment_shift;
            segment_t4.clock = clock;
            segment_t4.d = segment_t2.q;
            segment_t5.clock = clock;
            segment_t5.d = segment_t4.q;
            locate.clock = clock;
            locate.word = word;
            locate.octave = octave_t2.q;
            locate.table_base = base_t2.q;
            locate.table_log2 = log2_t2.q;
            locate.segment_shift = segment_t2.q;
            entries.clock = clock;
            entries.write = tables.write;
            entries.write_index = tables.index;
            entries.write_chunk = tables.chunk;
            entries.write_data = tables.data;
            entries.read_index = locate.index;
            fraction_t4.clock = clock;
            fraction_t4.d = locate.fraction;
            slope.clock = clock;
            slope.a = entries.delta;
            slope.b = fraction_t4.q;
            offset.clock = clock;
            offset.c = entries.base;
            offset.places = segment_t4.q;
            interpolate.base = offset.aligned;
            interpolate.slope = slope.product;
            interpolate.segment_shift = segment_t5.q;
            shifter.clock = clock;
            shifter.value = interpolate.sum;
            shifter.shift = interpolate.shift;
            round.clock = clock;
            round.shifted = shifter.shifted;
            round.negative = never;
            special_t7.clock = clock;
            special_t7.reset = reset;
            special_t7.d = locate.special;
            result = round.word;
            result_saturated = round.saturated;
            special = special_t7.q;
        );
    }
}
structural!(FunctionUnit, "function_unit: a nonlinear function by table and linear interpolation.");
