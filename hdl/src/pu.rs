//! Processing unit: a row of PEs, their tree, their root, and the registers of everything that is broadcast.
//!
//!     beats ──▶ registers ──▶ control_pipeline ──▶ PE 0 .. PE C-1 ──▶ row tree ──┬──▶ to the global tree
//!                  │                               ▲                             ▼
//!                  └───────────────────────────────┴──── row bus ◀──────────── root unit
//!
//! The row's number is known outside only: masks arrive as one bit per PE, so all PUs are one module.

use crate::beats::{
    AluBeat, ForColumns, FunctionBeat, LoadBeat, MoveBeat, PartBeat, RootBeat, TableWrite, TileBeat, Widths,
};
use crate::control::pipeline::{ControlPipeline, wire_read_addresses};
use crate::control::write_address::WriteAddress;
use crate::datapath::pe::{BusWrite, ProcessingEngine, pe_width};
use crate::datapath::row_pads::RowPads;
use crate::datapath::tiles::{ParkPipeline, ResumedStart};
use crate::reduction::root::RootUnit;
use crate::reduction::tree::RowTree;
use crate::rtl::register::{Flag, Register, Stage};
use crate::rtl::signal::Wide;
use crate::rtl::wiring::{Wiring, structural, wires};
use blocks::block;
use rust_hdl::prelude::*;

/// The word on the bus of a PU: the result of its own root or of the global one.
///
/// What the bus of a PU carries to its PEs: the row's result or the global one.
#[block]
fn BusSelect(widths: &Widths) {
    let (write_t0, write_t1, from_global): In;
    let mask: In<{ widths.columns }>;
    let row: In<{ widths.word }>;
    let row_saturated: In;
    let global_word: In<{ widths.word }>;
    let global_saturated: In;
    let bus: Out<BusWrite> = |name| pe_width(widths, name);
    /// A saturated word is taken.
    let saturated: Out;
    let word_saturated: Local;
    let nobody: Const<{ widths.columns }> = 0;

    bus.write_t0 = write_t0;
    bus.write_t1 = write_t1;
    bus.word = row;
    word_saturated = row_saturated;
    if from_global {
        bus.word = global_word;
        word_saturated = global_saturated;
    }
    saturated = word_saturated && (write_t0 || write_t1) && mask != nobody;
}

/// Whether the row's own result is on its bus, and saturated.
///
/// What of the saturation of a row's own result counts: nothing where the PEs take those of other rows.
#[block]
fn OwnResult() {
    let (across, row_saturated): In;
    let own_saturated: Out;

    own_saturated = row_saturated && !across;
}

/// The word that a PE takes: of the bus of its PU, or of its column.
///
/// What a PE takes where columns have buses: what the bus of its PU carries, or the result of the row that belongs to its column.
#[block]
fn ColumnSelect(widths: &Widths) {
    let of_bus: In<BusWrite> = |name| pe_width(widths, name);
    let (across, admitted): In;
    let column_word: In<{ widths.word }>;
    let column_saturated: In;
    let bus: Out<BusWrite> = |name| pe_width(widths, name);
    /// A saturated word of the column is taken.
    let saturated: Out;

    bus.write_t0 = of_bus.write_t0;
    bus.write_t1 = of_bus.write_t1;
    bus.word = of_bus.word;
    if across {
        bus.word = column_word;
    }
    saturated = column_saturated && across && admitted && (of_bus.write_t0 || of_bus.write_t1);
}

/// Whether one of its inputs is set.
#[block]
pub(crate) fn AnyOf(count: u32) {
    let flags: [In; count];
    let any: Out;

    any = false;
    for i in 0..flags.len() {
        if flags[i] {
            any = true;
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
    /// One if there are gradient pads.
    pub(crate) tiles: Vec<TileBeat<In>>,
    /// Whether the beat sends a sum, and a part of one that comes back. One each if there is a way for sums.
    pub(crate) leaves: Vec<Signal<In, Bit>>,
    pub(crate) parts: Vec<PartBeat<In>>,
    pub(crate) moves: MoveBeat<In>,
    pub(crate) move_mask: Wide<In>,
    pub(crate) load: LoadBeat<In>,
    pub(crate) load_mask: Wide<In>,
    /// What the loader would write into each PE.
    pub(crate) lanes: Vec<Wide<In>>,
    pub(crate) root: RootBeat<In>,
    /// One if there are function units.
    pub(crate) function: Vec<FunctionBeat<In>>,
    pub(crate) tables: Vec<TableWrite<In>>,
    /// What the global bus register is going to hold, and whether it saturated.
    pub(crate) global_result: Wide<In>,
    pub(crate) global_saturates: Signal<In, Bit>,
    /// Whether the move beat takes results of rows to the columns, those results, one for each column, and whether they saturated. None where
    /// columns have no buses.
    pub(crate) for_columns: Vec<ForColumns<In>>,
    pub(crate) of_rows: Vec<Wide<In>>,
    pub(crate) of_rows_saturated: Vec<Signal<In, Bit>>,
    /// What this row gives to its column, likewise.
    pub(crate) row_result: Vec<Wide<Out>>,
    pub(crate) row_saturates: Vec<Signal<Out, Bit>>,
    pub(crate) tree: Wide<Out>,
    /// What each PE gives to its lane of the output. None where rows have lanes.
    pub(crate) own_words: Vec<Wide<Out>>,
    /// How the row's results are to be combined. One on machines with extremes.
    pub(crate) tree_combine: Vec<Wide<Out>>,
    pub(crate) saturated: Signal<Out, Bit>,
    /// Reset, a cycle later: all PUs are too far for one register.
    reset_now: Register,
    alu_now: Stage<AluBeat<In>, AluBeat<Out>>,
    alu_mask_now: Register,
    tiles_now: Vec<Stage<TileBeat<In>, TileBeat<Out>>>,
    parking: Vec<ParkPipeline>,
    leaves_now: Vec<Flag>,
    leaves_t1: Vec<Flag>,
    parts_now: Vec<Stage<PartBeat<In>, PartBeat<Out>>>,
    /// One on machines with extremes.
    resumed: Vec<ResumedStart>,
    move_t0_now: Flag,
    move_t1_now: Flag,
    move_global_now: Flag,
    move_mask_now: Register,
    load_model_now: Flag,
    load_data_now: Flag,
    load_mask_now: Register,
    write_address: WriteAddress,
    root_now: Stage<RootBeat<In>, RootBeat<Out>>,
    function_now: Vec<Stage<FunctionBeat<In>, FunctionBeat<Out>>>,
    pipeline: ControlPipeline,
    lanes_now: Vec<Register>,
    /// This PU's copy of the global bus register.
    global_bus: Register,
    global_saturated: Flag,
    move_across_now: Vec<Flag>,
    /// This PU's copies of the registers of the columns' buses.
    column_buses: Vec<Register>,
    columns_saturated: Vec<Flag>,
    own_results: Vec<OwnResult>,
    column_selects: Vec<ColumnSelect>,
    bus: BusSelect,
    pes: Vec<ProcessingEngine>,
    /// Their pads, where these lie side by side.
    row_pads: Vec<RowPads>,
    row_tree: RowTree,
    row_root: RootUnit,
    saturation: AnyOf,
    saturated_now: Flag,
    _pad_register: bool,
    _wiring: Wiring,
}

impl ProcessingUnit {
    pub(crate) fn new(widths: &Widths, functions: usize) -> Self {
        let beat = |name: &str| widths.beat(name);
        let load = |name: &str| widths.beat(name);
        let moves = |_: &str| widths.temporary;
        let columns = widths.columns;
        let function_stage = || Stage::new(FunctionBeat::new(&beat), FunctionBeat::new(&beat));
        let parked = |_: &str| widths.gradient;
        let (tiles, exchanges) = (0..widths.gradients, 0..widths.exchanges);
        let (crossings, crossed) = (0..widths.crossings, 0..columns * widths.crossings as u32);
        ProcessingUnit {
            clock: Signal::default(),
            reset: Signal::default(),
            alu: AluBeat::new(&beat),
            alu_mask: Wide::new(columns),
            tiles: tiles.clone().map(|_| TileBeat::new(&parked)).collect(),
            leaves: exchanges.clone().map(|_| Signal::default()).collect(),
            parts: exchanges.clone().map(|_| PartBeat::new(&parked)).collect(),
            moves: MoveBeat::new(&moves),
            move_mask: Wide::new(columns),
            load: LoadBeat::new(&load),
            load_mask: Wide::new(columns),
            lanes: (0..columns).map(|_| Wide::new(widths.word)).collect(),
            root: RootBeat::new(&beat),
            function: (0..functions).map(|_| FunctionBeat::new(&beat)).collect(),
            tables: (0..functions).map(|_| TableWrite::new(&beat)).collect(),
            global_result: Wide::new(widths.word),
            global_saturates: Signal::default(),
            for_columns: crossings.clone().map(|_| ForColumns::new(&beat)).collect(),
            of_rows: crossed.clone().map(|_| Wide::new(widths.word)).collect(),
            of_rows_saturated: crossed.clone().map(|_| Signal::default()).collect(),
            row_result: crossings.clone().map(|_| Wide::new(widths.word)).collect(),
            row_saturates: crossings.clone().map(|_| Signal::default()).collect(),
            tree: Wide::new(widths.accumulator),
            own_words: (0..widths.ways_out).map(|_| Wide::new(widths.word)).collect(),
            tree_combine: (0..u32::from(widths.extremes)).map(|_| Wide::new(beat("combine"))).collect(),
            saturated: Signal::default(),
            reset_now: Register::new(1),
            alu_now: Stage::new(AluBeat::new(&beat), AluBeat::new(&beat)),
            alu_mask_now: Register::new(columns),
            tiles_now: tiles.clone().map(|_| Stage::new(TileBeat::new(&parked), TileBeat::new(&parked))).collect(),
            parking: tiles.clone().map(|_| ParkPipeline::new(widths)).collect(),
            leaves_now: exchanges.clone().map(|_| Flag::new()).collect(),
            leaves_t1: exchanges.clone().map(|_| Flag::new()).collect(),
            parts_now: exchanges.map(|_| Stage::new(PartBeat::new(&parked), PartBeat::new(&parked))).collect(),
            resumed: tiles.filter(|_| widths.extremes).map(|_| ResumedStart::new()).collect(),
            move_t0_now: Flag::new(),
            move_t1_now: Flag::new(),
            move_global_now: Flag::new(),
            move_mask_now: Register::new(columns),
            load_model_now: Flag::new(),
            load_data_now: Flag::new(),
            load_mask_now: Register::new(columns),
            write_address: WriteAddress::new(widths),
            root_now: Stage::new(RootBeat::new(&beat), RootBeat::new(&beat)),
            function_now: (0..functions).map(|_| function_stage()).collect(),
            pipeline: ControlPipeline::new(widths),
            lanes_now: (0..columns).map(|_| Register::new(widths.word)).collect(),
            global_bus: Register::new(widths.word),
            global_saturated: Flag::new(),
            move_across_now: crossings.clone().map(|_| Flag::new()).collect(),
            column_buses: crossed.clone().map(|_| Register::new(widths.word)).collect(),
            columns_saturated: crossed.clone().map(|_| Flag::new()).collect(),
            own_results: crossings.map(|_| OwnResult::new()).collect(),
            column_selects: crossed.clone().map(|_| ColumnSelect::new(widths)).collect(),
            bus: BusSelect::new(widths),
            pes: (0..columns).map(|_| ProcessingEngine::new(widths)).collect(),
            row_pads: (0..u32::from(widths.in_rows)).map(|_| RowPads::new(widths)).collect(),
            row_tree: RowTree::new(columns, widths.accumulator, widths.extremes),
            row_root: RootUnit::new(widths, functions),
            // One more than PEs: the bus. Buses of columns are as many more.
            saturation: AnyOf::new(columns + 1 + crossed.end),
            saturated_now: Flag::new(),
            _pad_register: widths.pad_register,
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            reset_now.clock = clock;
            reset_now.d = reset;
            alu_now.clock = clock;
            alu_now.reset = reset_now.q bit 0;
            alu_now.d = alu;
            alu_mask_now.clock = clock;
            alu_mask_now.d = alu_mask;
            move_t0_now.clock = clock;
            move_t0_now.reset = reset_now.q bit 0;
            move_t0_now.d = moves.write_t0;
            move_t1_now.clock = clock;
            move_t1_now.reset = reset_now.q bit 0;
            move_t1_now.d = moves.write_t1;
            move_global_now.clock = clock;
            move_global_now.reset = reset_now.q bit 0;
            move_global_now.d = moves.global;
            move_mask_now.clock = clock;
            move_mask_now.d = move_mask;
            load_model_now.clock = clock;
            load_model_now.reset = reset_now.q bit 0;
            load_model_now.d = load.write_model;
            load_data_now.clock = clock;
            load_data_now.reset = reset_now.q bit 0;
            load_data_now.d = load.write_data;
            load_mask_now.clock = clock;
            load_mask_now.d = load_mask;
            root_now.clock = clock;
            root_now.reset = reset_now.q bit 0;
            root_now.d = root;

            pipeline.clock = clock;
            pipeline.reset = reset_now.q bit 0;
            pipeline.beat = alu_now.q;
            write_address.clock = clock;
            write_address.load_model = load.write_model;
            write_address.bus_t0 = moves.write_t0;
            write_address.bus_t1 = moves.write_t1;
            write_address.loaded = load.model_address;
            write_address.loaded_data = load.data_address;
            write_address.moved = moves.destination;
            write_address.result = pipeline.destination_t6;
            row_tree.clock = clock;
            row_tree.give = pipeline.tree_t4;
            row_root.clock = clock;
            row_root.reset = reset_now.q bit 0;
            row_root.sum = row_tree.sum;
            row_root.beat = root_now.q;
            bus.write_t0 = move_t0_now.q;
            bus.write_t1 = move_t1_now.q;
            bus.from_global = move_global_now.q;
            bus.mask = move_mask_now.q;
            bus.row = row_root.result;
        );
        if self.for_columns.is_empty() {
            wires!(self, wiring; bus.row_saturated = row_root.saturated;);
        }
        wires!(self, wiring;
            global_bus.clock = clock;
            global_bus.d = global_result;
            global_saturated.clock = clock;
            global_saturated.reset = reset_now.q bit 0;
            global_saturated.d = global_saturates;
            bus.global_word = global_bus.q;
            bus.global_saturated = global_saturated.q;
            tree = row_tree.sum;
        );
        for c in 0..self.own_words.len() {
            wires!(self, wiring; own_words[c] = pes[c].tree;);
        }
        for n in 0..self.tree_combine.len() {
            wires!(self, wiring;
                row_tree.combine[n] = pipeline.combine_t4[n];
                tree_combine[n] = row_tree.combined[n];
            );
        }
        for f in 0..self.function.len() {
            wires!(self, wiring;
                function_now[f].clock = clock;
                function_now[f].reset = reset_now.q bit 0;
                function_now[f].d = function[f];
                row_root.function_beat[f] = function_now[f].q;
                row_root.tables[f] = tables[f];
            );
        }
        wire_read_addresses!(self, wiring, self._pad_register, alu, alu_now);
        let columns = self.pes.len();
        for n in 0..self.for_columns.len() {
            self.wire_columns(wiring, n);
        }
        self.wire_row_pads(wiring);
        for t in 0..self.tiles.len() {
            wires!(self, wiring;
                tiles_now[t].clock = clock;
                tiles_now[t].reset = reset_now.q bit 0;
                tiles_now[t].d = tiles[t];
                parking[t].clock = clock;
                parking[t].reset = reset_now.q bit 0;
                parking[t].valid = alu_now.q.valid;
                parking[t].last = alu_now.q.last;
                parking[t].beat = tiles_now[t].q;
            );
            for n in 0..self.resumed.len() {
                wires!(self, wiring;
                    resumed[n].resume = parking[t].control.resume_t2;
                    resumed[n].combine = pipeline.starts[n].combine_t2;
                );
            }
            for c in 0..columns {
                wires!(self, wiring; pes[c].park[t] = parking[t].control;);
            }
        }
        for x in 0..self.leaves.len() {
            wires!(self, wiring;
                leaves_now[x].clock = clock;
                leaves_now[x].reset = reset_now.q bit 0;
                leaves_now[x].d = leaves[x];
                leaves_t1[x].clock = clock;
                leaves_t1[x].reset = reset_now.q bit 0;
                leaves_t1[x].d = leaves_now[x].q;
                parts_now[x].clock = clock;
                parts_now[x].reset = reset_now.q bit 0;
                parts_now[x].d = parts[x];
            );
            for c in 0..columns {
                wires!(self, wiring;
                    pes[c].leaves[x] = leaves_t1[x].q;
                    pes[c].parts[x] = parts_now[x].q;
                );
            }
        }
        for c in 0..columns {
            wires!(self, wiring;
                lanes_now[c].clock = clock;
                lanes_now[c].d = lanes[c];
                pes[c].clock = clock;
                pes[c].control = pipeline.control;
                pes[c].admitted = alu_mask_now.q bit c;
            );
            if self.for_columns.is_empty() {
                wires!(self, wiring; pes[c].bus = bus.bus;);
            } else {
                wires!(self, wiring; pes[c].bus = column_selects[c].bus;);
            }
            wires!(self, wiring;
                pes[c].bus_admitted = move_mask_now.q bit c;
                pes[c].load_write_model = load_model_now.q;
                pes[c].load_write_data = load_data_now.q;
                pes[c].addresses = write_address.addresses;
                pes[c].load_admitted = load_mask_now.q bit c;
                pes[c].load_word = lanes_now[c].q;
                row_tree.terms[c] = pes[c].tree;
                saturation.flags[c] = pes[c].saturated;
            );
            for n in 0..self.tree_combine.len() {
                wires!(self, wiring; pes[c].starts[n].starts_t2 = pipeline.starts[n].starts_t2;);
                if self.resumed.is_empty() {
                    wires!(self, wiring; pes[c].starts[n].combine_t2 = pipeline.starts[n].combine_t2;);
                } else {
                    wires!(self, wiring; pes[c].starts[n].combine_t2 = resumed[n].given;);
                }
            }
        }
        wires!(self, wiring;
            saturation.flags[columns] = bus.saturated;
            saturated_now.clock = clock;
            saturated_now.reset = reset_now.q bit 0;
            saturated_now.d = saturation.any;
            saturated = saturated_now.q;
        );
    }

    /// Pads that lie side by side.
    fn wire_row_pads(&mut self, wiring: &mut Wiring) {
        for n in 0..self.row_pads.len() {
            wires!(self, wiring;
                row_pads[n].clock = clock;
                row_pads[n].reads.model = pipeline.control.model_address;
                row_pads[n].reads.data = pipeline.control.data_address;
                row_pads[n].reads.t0 = pipeline.control.t0_address;
                row_pads[n].reads.t1 = pipeline.control.t1_address;
                row_pads[n].addresses = write_address.addresses;
            );
            for t in 0..self.row_pads[n].sums_write.len() {
                wires!(self, wiring;
                    row_pads[n].sums_write[t] = parking[t].control.write_t4;
                    row_pads[n].sums_write_address[t] = parking[t].control.write_address_t4;
                    row_pads[n].sums_read_address[t] = parking[t].control.read_address_t1;
                );
                for c in 0..self.pes.len() {
                    wires!(self, wiring;
                        row_pads[n].sums[c] = pes[c].tree;
                        pes[c].parked[t] = row_pads[n].parked[c];
                    );
                }
            }
            for c in 0..self.pes.len() {
                wires!(self, wiring;
                    row_pads[n].writes[c] = pes[c].writes[n];
                    pes[c].words[n] = row_pads[n].words[c];
                );
            }
        }
    }

    /// The buses of the columns.
    fn wire_columns(&mut self, wiring: &mut Wiring, n: usize) {
        wires!(self, wiring;
            row_result[n] = row_root.result;
            row_saturates[n] = row_root.saturated;
            move_across_now[n].clock = clock;
            move_across_now[n].reset = reset_now.q bit 0;
            move_across_now[n].d = for_columns[n].across;
            own_results[n].across = move_across_now[n].q;
            own_results[n].row_saturated = row_root.saturated;
            bus.row_saturated = own_results[n].own_saturated;
        );
        let columns = self.pes.len();
        for c in 0..columns {
            wires!(self, wiring;
                column_buses[c].clock = clock;
                column_buses[c].d = of_rows[c];
                columns_saturated[c].clock = clock;
                columns_saturated[c].reset = reset_now.q bit 0;
                columns_saturated[c].d = of_rows_saturated[c];
                column_selects[c].of_bus = bus.bus;
                column_selects[c].across = move_across_now[n].q;
                column_selects[c].admitted = move_mask_now.q bit c;
                column_selects[c].column_word = column_buses[c].q;
                column_selects[c].column_saturated = columns_saturated[c].q;
                saturation.flags[columns + 1 + c] = column_selects[c].saturated;
            );
        }
    }
}
structural!(ProcessingUnit, "processing_unit: a row of PEs with its tree, its root and its bus.");
