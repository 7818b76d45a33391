//! Function unit: table and linear interpolation (docs/machine.md, section 4).
//!
//!     sum's floor (t+2) ──▶ places (t+3) ──▶ segment, fraction (t+4) ──▶ table (t+5) ──▶ registers (t+6, t+7)
//!                               ──▶ delta * fraction (t+8) ──▶ value (t+9) ──▶ rounded y (t+10)
//!
//! The first of the two registers is there for block memories, whose words come late and are not near a multiplier.
//!
//! The word is shifted left, so that the segment's number ends above bit W and the fraction below it. A fraction that begins
//! at bit W-1, whatever its length, makes the value of the segment `base + (delta * fraction >> W)` quarters of a last place:
//! the same as the page's formula, with numerator and denominator multiplied by a power of two, and without a shifter.

mod value;

use crate::beats::{TableWrite, Widths};
use crate::datapath::arithmetic::{Multiply, RoundStage, Shifted};
use crate::datapath::memory::TableMemory;
use crate::rtl::bundle::bundle;
use crate::rtl::signal::fit;
use arch::number::ceil_log2;
use blocks::block;
use rust_hdl_core::prelude::*;
use value::{Raise, TableRound, TableValue};

/// Bits of the number of places by which a word is shifted.
const PLACES_BITS: u32 = 6;

/// Bits of the length of a table's domain, as a power of two; a shift by all ones leaves nothing.
const SPAN_BITS: u32 = PLACES_BITS + 1;

bundle! {
    /// No segment is right: a table by octaves and a word that is not positive. Which word it is instead, and whether
    /// that counts as saturated.
    Special {
        bits: lowest, zero, highest, saturated;
        words: ;
    }
}

/// By how many places a word would be shifted whose leading bit is its lowest, or any word where all segments are equally wide.
#[block(clock, leaf)]
fn TableStart(widths: &Widths) {
    /// 0: uniform.
    let segments: In<{ widths.beat("segments") }>;
    let table_log2: In<{ widths.beat("table_log2") }>;
    let segment_shift: In<{ widths.beat("segment_shift") }>;
    let furthest: Out<PLACES_BITS>;
    let octave: Out;
    /// Bits of a word, without its sign, that say in which segment of the same width it is, and where; all where widths differ.
    let span: Out<SPAN_BITS>;
    let _word: u32 = widths.word;
}

impl crate::rtl::Leaf for TableStart {
    fn model(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let octave = self.segments.val() != 0;
        let (log2, shift) = (self.table_log2.val(), self.segment_shift.val());
        self.furthest.next = i128::from(self._word) + if octave { log2 } else { -shift };
        self.octave.next = octave;
        self.span.next = if octave { -1 } else { log2 + shift - 1 };
    }
    fn text(&self) -> String {
        format!(
            "// table_start: by how many places a word of which nothing is known yet is shifted at most.
always @(posedge clock) begin
    octave <= |segments;
    furthest <= |segments ? {places}'d{word} + {{{{{log_spare}{{1'b0}}}}, table_log2}}
                      : {places}'d{word} - {{{{{segment_spare}{{1'b0}}}}, segment_shift}};
    span <= |segments ? {{{bits}{{1'b1}}}}
                      : {{{{{log_spare}{{1'b0}}}}, 1'b0, table_log2}} + {{{{{segment_spare}{{1'b0}}}}, 1'b0, segment_shift}} - {bits}'d1;
end",
            places = PLACES_BITS,
            bits = SPAN_BITS,
            word = self._word,
            log_spare = PLACES_BITS - self.table_log2.width(),
            segment_spare = PLACES_BITS - self.segment_shift.width(),
        )
    }
}

/// By how many places the word is shifted, and where its table begins.
///
/// A word's leading bit is sought in the floor of its sum, while that is being rounded. Rounding up to a power of two
/// leaves it one place too low; then the segment's number is right all the same, for it is counted from the leading bit.
#[block(clock, leaf)]
fn TablePlaces(widths: &Widths) {
    /// Without its sign.
    let floor: In<{ widths.word }>;
    let over: In;
    let furthest: In<PLACES_BITS>;
    let octave: In;
    let span: In<SPAN_BITS>;
    let table_base: In<{ widths.table_index }>;
    let table_log2: In<{ widths.beat("table_log2") }>;
    let amount: Out<PLACES_BITS>;
    /// Number of the octave; 0 where all segments are equally wide.
    let lead: Out<{ ceil_log2(u64::from(widths.word)) }>;
    /// What is added to a segment's number, but for the octaves before it.
    let origin: Out<{ widths.table_index }>;
    /// The bits of a word that are all like its sign where its segment is in the table.
    let extension: Out<{ widths.word - 1 }>;
}

impl crate::rtl::Leaf for TablePlaces {
    fn model(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let (bits, octave) = (self.floor.width(), self.octave.val());
        let (log2, base) = (self.table_log2.val(), self.table_base.val());
        let floor = self.floor.val();
        let positive = fit(floor, bits - 1, false);
        let large = self.over.val() || floor != positive;
        let lead = match (octave, large) {
            (false, _) => 0,
            (true, true) => i128::from(bits) - 2,
            (true, false) => i128::from(127 - positive.max(1).leading_zeros()),
        };
        self.lead.next = lead;
        self.amount.next = self.furthest.val() - lead;
        self.origin.next = if octave { base - (1 << log2) } else { base + ((1 << log2) >> 1) };
        self.extension.next = -1 << self.span.val();
    }
    fn text(&self) -> String {
        let (word, lead, index) = (self.floor.width(), self.lead.width(), self.origin.width());
        format!(
            "// table_places: by how many places a word is shifted to find its segment; the leading bit is that of the floor.
wire too_large = over | floor[{top}];
reg [{lead_last}:0] found;
integer i;
always @(*) begin
    found = {lead}'d0;
    for (i = 0; i < {top}; i = i + 1) if (octave & floor[i]) found = i[{lead_last}:0];
    if (octave & too_large) found = {lead}'d{most};
end
wire [{index}:0] count = {{{{{index}{{1'b0}}}}, 1'b1}} << table_log2;
always @(posedge clock) begin
    lead <= found;
    amount <= furthest - {{{{{lead_spare}{{1'b0}}}}, found}};
    origin <= octave ? table_base - count[{index_last}:0] : table_base + count[{index}:1];
    extension <= {{{top}{{1'b1}}}} << span;
end",
            top = word - 1,
            most = word - 2,
            lead_last = lead - 1,
            index_last = index - 1,
            lead_spare = PLACES_BITS - lead,
        )
    }
}

/// Shifts the word: the number of its segment above bit W, the fraction below. Beside it, whether the table has such a segment: the way to the
/// table's memory is long, and begins in the next cycle.
#[block(clock, leaf)]
fn TableShift(widths: &Widths) {
    let (word, index) = (widths.word, widths.table_index);
    let word: In<word, signed>;
    let segments: In<{ widths.beat("segments") }>;
    let table_base: In<index>;
    let table_log2: In<{ widths.beat("table_log2") }>;
    let amount: In<PLACES_BITS>;
    let lead: In<{ ceil_log2(u64::from(word)) }>;
    let origin: In<index>;
    let extension: In<{ word - 1 }>;
    let segment: Out<{ segment_bits(widths) }, signed>;
    let fraction: Out<word>;
    /// What is added to the segment's number.
    let addend: Out<index>;
    /// The word is outside the table; then this is the entry and the fraction.
    let outside: Out;
    let border: Out<index>;
    let border_fraction: Out<word>;
    let special: Out<Special> = |_| 1;
}

/// Bits of a segment's number: of those that a word can have, those that a table has.
fn segment_bits(widths: &Widths) -> u32 {
    widths.word.min(widths.table_index)
}

impl crate::rtl::Leaf for TableShift {
    fn model(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let (x, width, segments) = (self.word.val(), self.word.width(), self.segments.val());
        let octave = segments != 0;
        let (base, log2) = (self.table_base.val(), self.table_log2.val());
        let spread = x << self.amount.val();
        self.segment.next = spread >> width;
        self.fraction.next = spread;
        self.addend.next = self.origin.val() + (self.lead.val() << log2);
        self.outside.next = (x ^ if x < 0 { -1 } else { 0 }) & self.extension.val() != 0;
        (self.border.next, self.border_fraction.next) =
            if x < 0 { (base, 0) } else { (base + (1 << log2) - 1, fit(-1, width, false) << self.amount.val()) };
        self.special.lowest.next = segments == 1 && x <= 0;
        self.special.zero.next = segments == 2 && x <= 0;
        self.special.highest.next = segments == 3 && x <= 0;
        self.special.saturated.next = octave && (x < 0 || x == 0 && segments != 2);
    }
    fn text(&self) -> String {
        let (word, segment, index, lead) =
            (self.word.width(), self.segment.width(), self.addend.width(), self.lead.width());
        format!(
            "// table_shift: shifts a word so that the number of its segment in a function table lies above bit W, the fraction below.
wire octave = |segments;
wire not_positive = word[{top}] | ~|word;
wire [{spread}:0] spread = {{{{{segment}{{word[{top}]}}}}, word}} << amount;
wire [{index_last}:0] octaves = {{{{{lead_spare}{{1'b0}}}}, lead}} << table_log2;
wire [{index_last}:0] count = {{{{{index_last}{{1'b0}}}}, 1'b1}} << table_log2;
always @(posedge clock) begin
    segment <= spread[{spread}:{word}];
    fraction <= spread[{top}:0];
    addend <= origin + octaves;
    outside <= |(({{{magnitude}{{word[{top}]}}}} ^ word[{top_but_one}:0]) & extension);
    border <= word[{top}] ? table_base : table_base + count - {index}'d1;
    border_fraction <= word[{top}] ? {word}'d0 : {{{word}{{1'b1}}}} << amount;
    special$lowest <= (segments == 2'd1) & not_positive;
    special$zero <= (segments == 2'd2) & not_positive;
    special$highest <= (segments == 2'd3) & not_positive;
    special$saturated <= octave & (word[{top}] | (~|word & (segments != 2'd2)));
end",
            spread = word + segment - 1,
            top = word - 1,
            lead_spare = index - lead,
            index_last = index - 1,
            magnitude = word - 1,
            top_but_one = word - 2,
        )
    }
}

/// The entry of a segment, or that at the border of the table.
#[block(clock, leaf)]
fn TableIndex(widths: &Widths) {
    let (word, index) = (widths.word, widths.table_index);
    let segment: In<{ segment_bits(widths) }, signed>;
    let fraction: In<word>;
    let addend: In<index>;
    let outside: In;
    let border: In<index>;
    let border_fraction: In<word>;
    /// Before the clock edge: the memory registers it.
    let index: Out<index>;
    let held_fraction: Out<word>;
}

impl crate::rtl::Leaf for TableIndex {
    fn model(&mut self) {
        let outside = self.outside.val();
        self.index.next = if outside { self.border.val() } else { self.segment.val() + self.addend.val() };
        if self.clock.pos_edge() {
            self.held_fraction.next = if outside { self.border_fraction.val() } else { self.fraction.val() };
        }
    }
    fn text(&self) -> String {
        let (segment, index) = (self.segment.width(), self.index.width());
        let number = if segment == index {
            "segment".to_owned()
        } else {
            format!("{{{{{}{{segment[{}]}}}}, segment}}", index - segment, segment - 1)
        };
        format!(
            "// table_index: the entry of a segment in a function table, or that at the border of the table.
assign index = outside ? border : {number} + addend;
always @(posedge clock) held_fraction <= outside ? border_fraction : fraction;"
        )
    }
}

/// A nonlinear function by table and linear interpolation.
#[block(clock, reset, wires, long = "wires only, in the order of the cycles of a value")]
pub(crate) fn FunctionUnit(widths: &Widths) {
    let (word, segment, index) = (widths.word, widths.beat("segment_shift"), widths.table_index);
    let log2 = widths.beat("table_log2");
    let tables: In<TableWrite> = |name| widths.beat(name);
    /// With the root beat, at t: the beat uses a function.
    let used: In;
    let segments: In<{ widths.beat("segments") }>;
    let table_base: In<index>;
    let table_log2: In<log2>;
    let segment_shift: In<segment>;
    /// The sum before rounding, at t+2.
    let shifted: In<Shifted> = |_| word + 1;
    /// At t+10; 0 when no function was used.
    let result: Out<word, signed>;
    let result_saturated: Out;
    let never: Const<1> = 0;
    let used_t9: FlagDelay<9>;
    let segments_t1: Delay<{ widths.beat("segments") }, 1>;
    let segments_t3: Delay<{ widths.beat("segments") }, 2>;
    let base_t2: Delay<index, 2>;
    let base_t3: Delay<index, 1>;
    let (log2_t1, log2_t2, log2_t3): Delay<log2, 1>;
    let segment_t1: Delay<segment, 1>;
    let start = TableStart(clock, widths);
    let operand = RoundStage(clock, word, 0);
    let operand_saturated_t9: FlagDelay<6>;
    let places = TablePlaces(clock, widths);
    let shift = TableShift(clock, widths);
    /// From t+5 to t+9.
    let specials: [Stage<Special>; 5] = |_| 1;
    let locate = TableIndex(clock, widths);
    let entries = TableMemory(clock, widths);
    let delta_t6: Delay<{ word + 2 }, 1>;
    let fraction_t6: Delay<word, 1>;
    let base_t7: Delay<{ word + 2 }, 2>;
    let base_t8: Delay<{ word + 2 }, 1>;
    let slope = Multiply(clock, word + 2, word, widths.leaves);
    let raise = Raise(clock, word);
    let value = TableValue(clock, word);
    let round = TableRound(clock, word);

    specials[0] = shift.special;
    for n in 1..specials.len() {
        specials[n] = specials[n - 1];
    }
    used_t9 = used;
    segments_t1 = segments;
    segments_t3 = segments_t1;
    base_t2 = table_base;
    base_t3 = base_t2;
    log2_t1 = table_log2;
    log2_t2 = log2_t1;
    log2_t3 = log2_t2;
    segment_t1 = segment_shift;
    start.segments = segments_t1;
    start.table_log2 = log2_t1;
    start.segment_shift = segment_t1;

    operand.shifted = shifted;
    operand.negative = never;
    operand_saturated_t9 = operand.saturated;
    places.floor = shifted.floor;
    places.over = shifted.over;
    places.furthest = start.furthest;
    places.octave = start.octave;
    places.span = start.span;
    places.table_base = base_t2;
    places.table_log2 = log2_t2;

    shift.word = operand.word;
    shift.segments = segments_t3;
    shift.table_base = base_t3;
    shift.table_log2 = log2_t3;
    for NAME in [amount, lead, origin, extension] {
        shift.NAME = places.NAME;
    }

    for NAME in names![segment fraction addend outside border border_fraction] {
        locate.NAME = shift.NAME;
    }
    entries.write = tables.write;
    entries.write_index = tables.index;
    entries.write_chunk = tables.chunk;
    entries.write_data = tables.data;
    entries.read_index = locate.index;

    delta_t6 = entries.delta;
    fraction_t6 = locate.held_fraction;
    slope.factor = delta_t6;
    slope.fraction = fraction_t6;
    base_t7 = entries.base;
    base_t8 = base_t7;
    raise.base = base_t7;
    value.product = slope.product;
    value.base = base_t8;
    value.raised = raise.raised;

    round.value = value.value;
    round.arrives = used_t9;
    round.special = specials[specials.len() - 1];
    round.operand_saturated = operand_saturated_t9;
    result = round.result;
    result_saturated = round.result_saturated;
}
