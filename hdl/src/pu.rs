//! Processing unit: a row of PEs, their tree, their root, and the registers of everything that is broadcast.
//!
//!     beats ──▶ registers ──▶ control_pipeline ──▶ PE 0 .. PE C-1 ──▶ row tree ──┬──▶ to the global tree
//!                  │                               ▲                             ▼
//!                  └───────────────────────────────┴──── row bus ◀──────────── root unit
//!
//! The row's number is known outside only: masks arrive as one bit per PE, so all PUs are one module.

use crate::beats::{AluBeat, FunctionBeat, LoadBeat, MoveBeat, RootBeat, TableWrite, Widths};
use crate::pe::{BusWrite, ProcessingEngine, pe_width};
use crate::pipeline::ControlPipeline;
use crate::register::{Flag, Register, Stage};
use crate::root::RootUnit;
use crate::signal::{Number, Wide};
use crate::tree::RowTree;
use crate::wiring::{Wiring, comment, structural, wires};
use rust_hdl::prelude::*;

/// Which lane of the input stream a PE takes, and its register.
#[derive(LogicBlock)]
struct LaneSelect {
    clock: Signal<In, Clock>,
    scatter: Signal<In, Bit>,
    lane: Wide<In>,
    lane0: Wide<In>,
    word: Wide<Out>,
    held: Register,
}

impl LaneSelect {
    fn new(word: u32) -> Self {
        LaneSelect {
            clock: Signal::default(),
            scatter: Signal::default(),
            lane: Wide::new(word),
            lane0: Wide::new(word),
            word: Wide::new(word),
            held: Register::new(word),
        }
    }
}

impl Logic for LaneSelect {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("lane_select: the word of a transfer that a PE takes: its own lane, or lane 0.");
        clock!(self, clock, held);
        self.word.next = self.held.q.val();
        self.held.d.next = self.lane0.val();
        if self.scatter.val() {
            self.held.d.next = self.lane.val();
        }
    }
}

/// What the bus of a PU carries to its PEs: the row's result or the global one.
#[derive(LogicBlock)]
struct BusSelect {
    beat: MoveBeat<In>,
    mask: Wide<In>,
    row: Wide<In>,
    row_saturated: Signal<In, Bit>,
    global_word: Wide<In>,
    global_saturated: Signal<In, Bit>,
    bus: BusWrite<Out>,
    /// A saturated word is taken.
    saturated: Signal<Out, Bit>,
    word_saturated: Signal<Local, Bit>,
    nobody: Number,
}

impl BusSelect {
    fn new(widths: &Widths) -> Self {
        BusSelect {
            beat: MoveBeat::new(&|_| widths.temporary),
            mask: Wide::new(widths.columns),
            row: Wide::new(widths.word),
            row_saturated: Signal::default(),
            global_word: Wide::new(widths.word),
            global_saturated: Signal::default(),
            bus: BusWrite::new(&|name| pe_width(widths, name)),
            saturated: Signal::default(),
            word_saturated: Signal::default(),
            nobody: Number::new(0, widths.columns),
        }
    }
}

impl Logic for BusSelect {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("bus_select: the word on the bus of a PU: the result of its own root or of the global one.");
        self.bus.write_t0.next = self.beat.write_t0.val();
        self.bus.write_t1.next = self.beat.write_t1.val();
        self.bus.address.next = self.beat.destination.val();
        self.bus.word.next = self.row.val();
        self.word_saturated.next = self.row_saturated.val();
        if self.beat.global.val() {
            self.bus.word.next = self.global_word.val();
            self.word_saturated.next = self.global_saturated.val();
        }
        self.saturated.next = self.word_saturated.val()
            && (self.beat.write_t0.val() || self.beat.write_t1.val())
            && self.mask.val() != self.nobody.val();
    }
}

/// One bit for all PEs' saturation.
#[derive(LogicBlock)]
pub(crate) struct AnyOf {
    pub(crate) flags: Vec<Signal<In, Bit>>,
    pub(crate) any: Signal<Out, Bit>,
}

impl AnyOf {
    pub(crate) fn new(count: u32) -> Self {
        AnyOf { flags: (0..count).map(|_| Signal::default()).collect(), any: Signal::default() }
    }
}

impl Logic for AnyOf {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("any_of: whether one of its inputs is set.");
        self.any.next = false;
        for i in 0..self.flags.len() {
            if self.flags[i].val() {
                self.any.next = true;
            }
        }
    }
}

/// One processing unit.
#[derive(LogicBlock)]
pub(crate) struct ProcessingUnit {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) alu: AluBeat<In>,
    pub(crate) alu_mask: Wide<In>,
    pub(crate) moves: MoveBeat<In>,
    pub(crate) move_mask: Wide<In>,
    pub(crate) load: LoadBeat<In>,
    pub(crate) load_mask: Wide<In>,
    pub(crate) scatter: Signal<In, Bit>,
    /// Lane of each PE.
    pub(crate) lanes: Vec<Wide<In>>,
    pub(crate) lane0: Wide<In>,
    pub(crate) root: RootBeat<In>,
    /// One if there are function units.
    pub(crate) function: Vec<FunctionBeat<In>>,
    pub(crate) tables: Vec<TableWrite<In>>,
    pub(crate) global_word: Wide<In>,
    pub(crate) global_saturated: Signal<In, Bit>,
    pub(crate) tree: Wide<Out>,
    pub(crate) saturated: Signal<Out, Bit>,
    alu_now: Stage<AluBeat<In>, AluBeat<Out>>,
    alu_mask_now: Register,
    move_now: Stage<MoveBeat<In>, MoveBeat<Out>>,
    move_mask_now: Register,
    load_now: Stage<LoadBeat<In>, LoadBeat<Out>>,
    load_mask_now: Register,
    root_now: Stage<RootBeat<In>, RootBeat<Out>>,
    function_now: Vec<Stage<FunctionBeat<In>, FunctionBeat<Out>>>,
    pipeline: ControlPipeline,
    lane_selects: Vec<LaneSelect>,
    bus: BusSelect,
    pes: Vec<ProcessingEngine>,
    row_tree: RowTree,
    row_root: RootUnit,
    saturation: AnyOf,
    saturated_now: Flag,
    _wiring: Wiring,
}

impl ProcessingUnit {
    pub(crate) fn new(widths: &Widths, functions: usize) -> Self {
        let beat = |name: &str| widths.beat(name);
        let load = |name: &str| widths.beat(name);
        let moves = |_: &str| widths.temporary;
        let columns = widths.columns;
        let function_stage = || Stage::new(FunctionBeat::new(&beat), FunctionBeat::new(&beat));
        ProcessingUnit {
            clock: Signal::default(),
            reset: Signal::default(),
            alu: AluBeat::new(&beat),
            alu_mask: Wide::new(columns),
            moves: MoveBeat::new(&moves),
            move_mask: Wide::new(columns),
            load: LoadBeat::new(&load),
            load_mask: Wide::new(columns),
            scatter: Signal::default(),
            lanes: (0..columns).map(|_| Wide::new(widths.word)).collect(),
            lane0: Wide::new(widths.word),
            root: RootBeat::new(&beat),
            function: (0..functions).map(|_| FunctionBeat::new(&beat)).collect(),
            tables: (0..functions).map(|_| TableWrite::new(&beat)).collect(),
            global_word: Wide::new(widths.word),
            global_saturated: Signal::default(),
            tree: Wide::new(widths.accumulator),
            saturated: Signal::default(),
            alu_now: Stage::new(AluBeat::new(&beat), AluBeat::new(&beat)),
            alu_mask_now: Register::new(columns),
            move_now: Stage::new(MoveBeat::new(&moves), MoveBeat::new(&moves)),
            move_mask_now: Register::new(columns),
            load_now: Stage::new(LoadBeat::new(&load), LoadBeat::new(&load)),
            load_mask_now: Register::new(columns),
            root_now: Stage::new(RootBeat::new(&beat), RootBeat::new(&beat)),
            function_now: (0..functions).map(|_| function_stage()).collect(),
            pipeline: ControlPipeline::new(widths),
            lane_selects: (0..columns).map(|_| LaneSelect::new(widths.word)).collect(),
            bus: BusSelect::new(widths),
            pes: (0..columns).map(|_| ProcessingEngine::new(widths)).collect(),
            row_tree: RowTree::new(columns, widths.accumulator),
            row_root: RootUnit::new(widths, functions),
            // One more than PEs: the bus.
            saturation: AnyOf::new(columns + 1),
            saturated_now: Flag::new(),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            alu_now.clock = clock;
            alu_now.reset = reset;
            alu_now.d = alu;
            alu_mask_now.clock = clock;
            alu_mask_now.d = alu_mask;
            move_now.clock = clock;
            move_now.reset = reset;
            move_now.d = moves;
            move_mask_now.clock = clock;
            move_mask_now.d = move_mask;
            load_now.clock = clock;
            load_now.reset = reset;
            load_now.d = load;
            load_mask_now.clock = clock;
            load_mask_now.d = load_mask;
            root_now.clock = clock;
            root_now.reset = reset;
            root_now.d = root;

            pipeline.clock = clock;
            pipeline.reset = reset;
            pipeline.beat = alu_now.q;
            row_tree.clock = clock;
            row_tree.give = pipeline.tree_t4;
            row_root.clock = clock;
            row_root.reset = reset;
            row_root.sum = row_tree.sum;
            row_root.beat = root_now.q;
            bus.beat = move_now.q;
            bus.mask = move_mask_now.q;
            bus.row = row_root.result;
            bus.row_saturated = row_root.saturated;
            bus.global_word = global_word;
            bus.global_saturated = global_saturated;
            tree = row_tree.sum;
        );
        for f in 0..self.function.len() {
            wires!(self, wiring;
                function_now[f].clock = clock;
                function_now[f].reset = reset;
                function_now[f].d = function[f];
                row_root.function_beat[f] = function_now[f].q;
                row_root.tables[f] = tables[f];
            );
        }
        let columns = self.pes.len();
        for c in 0..columns {
            wires!(self, wiring;
                lane_selects[c].clock = clock;
                lane_selects[c].scatter = scatter;
                lane_selects[c].lane = lanes[c];
                lane_selects[c].lane0 = lane0;
                pes[c].clock = clock;
                pes[c].control = pipeline.control;
                pes[c].admitted = alu_mask_now.q bit c;
                pes[c].bus = bus.bus;
                pes[c].bus_admitted = move_mask_now.q bit c;
                pes[c].load_write_model = load_now.q.write_model;
                pes[c].load_write_data = load_now.q.write_data;
                pes[c].load_model_address = load_now.q.model_address;
                pes[c].load_data_address = load_now.q.data_address;
                pes[c].load_admitted = load_mask_now.q bit c;
                pes[c].load_word = lane_selects[c].word;
                row_tree.terms[c] = pes[c].tree;
                saturation.flags[c] = pes[c].saturated;
            );
        }
        wires!(self, wiring;
            saturation.flags[columns] = bus.saturated;
            saturated_now.clock = clock;
            saturated_now.reset = reset;
            saturated_now.d = saturation.any;
            saturated = saturated_now.q;
        );
    }
}
structural!(ProcessingUnit, "processing_unit: a row of PEs with its tree, its root and its bus.");
