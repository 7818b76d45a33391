//! Root unit: rounds the sum of a tree to a word, and optionally applies a function.
//!
//!     sum (t) ──▶ shift (t+1) ──▶ round (t+2) ──┬───────────────────────────▶ output register (t+3)
//!                                               └──▶ function unit (t+7) ──▶ output register (t+8)

use crate::arithmetic::{RoundStage, ShiftStage};
use crate::beats::{FunctionBeat, RootBeat, TableWrite, Widths};
use crate::function::FunctionUnit;
use crate::register::{Flag, FlagDelay, Register};
use crate::signal::{Number, Wide};
use crate::wiring::{Wiring, comment, structural, wires};
use rust_hdl::prelude::*;

/// Cycles from the rounded word to the function's.
const FUNCTION_CYCLES: u32 = 5;

/// Splits the beats: with a function or without.
#[derive(LogicBlock)]
struct RootSplit {
    valid: Signal<In, Bit>,
    used: Signal<In, Bit>,
    plain: Signal<Out, Bit>,
    with_function: Signal<Out, Bit>,
}

impl RootSplit {
    fn new() -> Self {
        RootSplit {
            valid: Signal::default(),
            used: Signal::default(),
            plain: Signal::default(),
            with_function: Signal::default(),
        }
    }
}

impl Logic for RootSplit {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("root_split: root beats with a function and without.");
        self.plain.next = self.valid.val() && !self.used.val();
        self.with_function.next = self.valid.val() && self.used.val();
    }
}

/// The output register, 0 when nothing arrives.
#[derive(LogicBlock)]
struct RootOutput {
    clock: Signal<In, Clock>,
    reset: Signal<In, Bit>,
    arrives: Signal<In, Bit>,
    word: Wide<In>,
    saturated: Signal<In, Bit>,
    result: Wide<Out>,
    result_saturated: Signal<Out, Bit>,
    held: Register,
    held_saturated: Flag,
    nothing: Number,
}

impl RootOutput {
    fn new(word: u32) -> Self {
        RootOutput {
            clock: Signal::default(),
            reset: Signal::default(),
            arrives: Signal::default(),
            word: Wide::new(word),
            saturated: Signal::default(),
            result: Wide::new(word),
            result_saturated: Signal::default(),
            held: Register::new(word),
            held_saturated: Flag::new(),
            nothing: Number::new(0, word),
        }
    }
}

impl Logic for RootOutput {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("root_output: output register of a root unit, 0 when nothing arrives.");
        clock!(self, clock, held, held_saturated);
        self.held_saturated.reset.next = self.reset.val();
        self.result.next = self.held.q.val();
        self.result_saturated.next = self.held_saturated.q.val();
        self.held.d.next = self.nothing.val();
        if self.arrives.val() {
            self.held.d.next = self.word.val();
        }
        self.held_saturated.d.next = self.arrives.val() && self.saturated.val();
    }
}

/// Chooses between the rounded word and the function's.
#[derive(LogicBlock)]
struct FunctionMerge {
    plain: Signal<In, Bit>,
    word: Wide<In>,
    word_saturated: Signal<In, Bit>,
    with_function: Signal<In, Bit>,
    value: Wide<In>,
    value_saturated: Signal<In, Bit>,
    special: Signal<In, Bit>,
    /// The word that went into the function was saturated.
    operand_saturated: Signal<In, Bit>,
    arrives: Signal<Out, Bit>,
    result: Wide<Out>,
    result_saturated: Signal<Out, Bit>,
    lowest: Number,
}

impl FunctionMerge {
    fn new(word: u32) -> Self {
        FunctionMerge {
            plain: Signal::default(),
            word: Wide::new(word),
            word_saturated: Signal::default(),
            with_function: Signal::default(),
            value: Wide::new(word),
            value_saturated: Signal::default(),
            special: Signal::default(),
            operand_saturated: Signal::default(),
            arrives: Signal::default(),
            result: Wide::new(word),
            result_saturated: Signal::default(),
            lowest: Number::new(1 << (word - 1), word),
        }
    }
}

impl Logic for FunctionMerge {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("function_merge: results with a function and without; never both in a cycle.");
        self.arrives.next = self.plain.val() || self.with_function.val();
        self.result.next = self.word.val();
        self.result_saturated.next = self.word_saturated.val();
        if self.with_function.val() {
            self.result.next = self.value.val();
            self.result_saturated.next =
                self.value_saturated.val() || self.special.val() || self.operand_saturated.val();
            if self.special.val() {
                self.result.next = self.lowest.val();
            }
        }
    }
}

/// The part of a root unit that exists only with function units.
#[derive(LogicBlock)]
pub(crate) struct FunctionPart {
    clock: Signal<In, Clock>,
    reset: Signal<In, Bit>,
    tables: TableWrite<In>,
    valid: Signal<In, Bit>,
    beat: FunctionBeat<In>,
    word: Wide<In>,
    word_saturated: Signal<In, Bit>,
    arrives: Signal<Out, Bit>,
    result: Wide<Out>,
    result_saturated: Signal<Out, Bit>,
    split: RootSplit,
    plain_t2: FlagDelay,
    function_t7: FlagDelay,
    operand_saturated_t7: FlagDelay,
    unit: FunctionUnit,
    merge: FunctionMerge,
    _wiring: Wiring,
}

impl FunctionPart {
    fn new(widths: &Widths) -> Self {
        FunctionPart {
            clock: Signal::default(),
            reset: Signal::default(),
            tables: TableWrite::new(&|name| widths.beat(name)),
            valid: Signal::default(),
            beat: FunctionBeat::new(&|name| widths.beat(name)),
            word: Wide::signed(widths.word),
            word_saturated: Signal::default(),
            arrives: Signal::default(),
            result: Wide::new(widths.word),
            result_saturated: Signal::default(),
            split: RootSplit::new(),
            plain_t2: FlagDelay::new(2),
            function_t7: FlagDelay::new(2 + FUNCTION_CYCLES),
            operand_saturated_t7: FlagDelay::new(FUNCTION_CYCLES),
            unit: FunctionUnit::new(widths),
            merge: FunctionMerge::new(widths.word),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            split.valid = valid;
            split.used = beat.used;
            plain_t2.clock = clock;
            plain_t2.reset = reset;
            plain_t2.d = split.plain;
            function_t7.clock = clock;
            function_t7.reset = reset;
            function_t7.d = split.with_function;
            operand_saturated_t7.clock = clock;
            operand_saturated_t7.reset = reset;
            operand_saturated_t7.d = word_saturated;
            unit.clock = clock;
            unit.reset = reset;
            unit.tables = tables;
            unit.octave = beat.octave;
            unit.table_base = beat.table_base;
            unit.table_log2 = beat.table_log2;
            unit.segment_shift = beat.segment_shift;
            unit.word = word;
            merge.plain = plain_t2.q;
            merge.word = word;
            merge.word_saturated = word_saturated;
            merge.with_function = function_t7.q;
            merge.value = unit.result;
            merge.value_saturated = unit.result_saturated;
            merge.special = unit.special;
            merge.operand_saturated = operand_saturated_t7.q;
            arrives = merge.arrives;
            result = merge.result;
            result_saturated = merge.result_saturated;
        );
    }
}
structural!(FunctionPart, "function_part: sends rounded words through the function unit where the beat asks for it.");

/// One root unit.
#[derive(LogicBlock)]
pub(crate) struct RootUnit {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) sum: Wide<In>,
    pub(crate) beat: RootBeat<In>,
    /// One if there are function units.
    pub(crate) function_beat: Vec<FunctionBeat<In>>,
    pub(crate) tables: Vec<TableWrite<In>>,
    pub(crate) result: Wide<Out>,
    pub(crate) saturated: Signal<Out, Bit>,
    never: Number,
    shifter: ShiftStage,
    round: RoundStage,
    valid_t2: Vec<FlagDelay>,
    function: Vec<FunctionPart>,
    holder: RootOutput,
    _wiring: Wiring,
}

impl RootUnit {
    pub(crate) fn new(widths: &Widths, functions: usize) -> Self {
        RootUnit {
            clock: Signal::default(),
            reset: Signal::default(),
            sum: Wide::new(widths.accumulator),
            beat: RootBeat::new(&|name| widths.beat(name)),
            function_beat: (0..functions).map(|_| FunctionBeat::new(&|name| widths.beat(name))).collect(),
            tables: (0..functions).map(|_| TableWrite::new(&|name| widths.beat(name))).collect(),
            result: Wide::new(widths.word),
            saturated: Signal::default(),
            never: Number::new(0, 1),
            shifter: ShiftStage::new(widths.accumulator, widths.beat("shift"), widths.word),
            round: RoundStage::new(widths.word),
            valid_t2: (functions..1).map(|_| FlagDelay::new(2)).collect(),
            function: (0..functions).map(|_| FunctionPart::new(widths)).collect(),
            holder: RootOutput::new(widths.word),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            shifter.clock = clock;
            shifter.value = sum;
            shifter.shift = beat.shift;
            round.clock = clock;
            round.shifted = shifter.shifted;
            round.negative = never;
            holder.clock = clock;
            holder.reset = reset;
            result = holder.result;
            saturated = holder.result_saturated;
        );
        if self.function.is_empty() {
            wires!(self, wiring;
                valid_t2[0].clock = clock;
                valid_t2[0].reset = reset;
                valid_t2[0].d = beat.valid;
                holder.arrives = valid_t2[0].q;
                holder.word = round.word;
                holder.saturated = round.saturated;
            );
        } else {
            wires!(self, wiring;
                function[0].clock = clock;
                function[0].reset = reset;
                function[0].tables = tables[0];
                function[0].valid = beat.valid;
                function[0].beat = function_beat[0];
                function[0].word = round.word;
                function[0].word_saturated = round.saturated;
                holder.arrives = function[0].arrives;
                holder.word = function[0].result;
                holder.saturated = function[0].result_saturated;
            );
        }
    }
}
structural!(RootUnit, "root_unit: rounds the sum of a tree to a word and applies a function where asked.");
