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
use blocks::block;
use rust_hdl_core::prelude::*;

/// The word on the bus of a PU: the result of its own root or of the global one.
///
/// What the bus of a PU carries to its PEs: the row's result or the global one.
#[block]
fn BusSelect(widths: &Widths) {
    for PAD in TEMPORARIES {
        let write_PAD: In;
    }
    let from_global: In;
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

    for PAD in TEMPORARIES {
        bus.write_PAD = write_PAD;
    }
    bus.word = row;
    word_saturated = row_saturated;
    if from_global {
        bus.word = global_word;
        word_saturated = global_saturated;
    }
    saturated = word_saturated && (any!(PAD in TEMPORARIES, write_PAD)) && mask != nobody;
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

    for PAD in TEMPORARIES {
        bus.write_PAD = of_bus.write_PAD;
    }
    bus.word = of_bus.word;
    if across {
        bus.word = column_word;
    }
    saturated = column_saturated && across && admitted && (any!(PAD in TEMPORARIES, of_bus.write_PAD));
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

/// A row of PEs with its tree, its root and its bus.
#[block(clock, reset, wires, reset_by = reset_now.bit(0), long = "wires only, of the registers of everything that is broadcast")]
pub(crate) fn ProcessingUnit(widths: &Widths, functions: usize) {
    let beat = |name: &str| widths.beat(name);
    let columns = widths.columns;
    let parked = |_: &str| widths.gradient;
    let (tiles, exchanges) = (widths.gradients, widths.exchanges);
    let (column_buses, crossed) = (widths.column_buses, widths.column_bus_count * widths.column_buses as u32);
    let alu: In<AluBeat> = beat;
    let alu_mask: In<columns>;
    /// One if there are gradient pads.
    let tiles: [In<TileBeat>; tiles] = parked;
    /// Whether the beat sends a sum, and a part of one that comes back. Present if the grid exports partial sums.
    let leaves: [In; exchanges];
    let parts: [In<PartBeat>; exchanges] = parked;
    let moves: In<MoveBeat> = |_| widths.temporary;
    let move_mask: In<columns>;
    let load: In<LoadBeat> = beat;
    let load_mask: In<columns>;
    /// What the loader would write into each PE.
    let lanes: [In<{ widths.word }>; columns];
    let root: In<RootBeat> = beat;
    /// One if there are function units.
    let function: [In<FunctionBeat>; functions] = beat;
    let tables: [In<TableWrite>; functions] = beat;
    /// What the global bus register is going to hold, and whether it saturated.
    let global_result: In<{ widths.word }>;
    let global_saturates: In;
    /// Whether the move beat takes results of rows to the columns, those results, one for each bus, and whether they saturated. None where
    /// columns have no buses.
    let for_columns: [In<ForColumns>; column_buses] = beat;
    let of_rows: [In<{ widths.word }>; crossed];
    let of_rows_saturated: [In; crossed];
    /// What this row gives to its column, likewise.
    let row_result: [Out<{ widths.word }>; column_buses];
    let row_saturates: [Out; column_buses];
    let tree: Out<{ widths.accumulator }>;
    /// What each PE gives to its lane of the output. None where rows have lanes.
    let own_words: [Out<{ widths.word }>; widths.bypass_lanes];
    /// How the row's results are to be combined. One on machines with extremes.
    let tree_combine: [Out<{ beat("combine") }>; widths.extremes];
    let saturated: Out;
    /// Reset, a cycle later: all PUs are too far for one register.
    let reset_now: Register<1>;
    let alu_now: Stage<AluBeat> = beat;
    let alu_mask_now: Register<columns>;
    let tiles_now: [Stage<TileBeat>; tiles] = parked;
    let parking = [ParkPipeline(clock, reset, widths); tiles];
    let (leaves_now, leaves_t1): [Flag; exchanges];
    let parts_now: [Stage<PartBeat>; exchanges] = parked;
    /// One on machines with extremes.
    let resumed = [ResumedStart(); tiles > 0 && widths.extremes];
    for PAD in TEMPORARIES {
        let move_PAD_now: Flag;
    }
    let move_global_now: Flag;
    let move_mask_now: Register<columns>;
    let (load_model_now, load_data_now): Flag;
    let load_mask_now: Register<columns>;
    let write_address = WriteAddress(clock, widths);
    let root_now: Stage<RootBeat> = beat;
    let function_now: [Stage<FunctionBeat>; functions] = beat;
    let pipeline = ControlPipeline(clock, reset, widths);
    let lanes_now: [Register<{ widths.word }>; columns];
    /// This PU's copy of the global bus register.
    let global_bus: Register<{ widths.word }>;
    let global_saturated: Flag;
    let move_across_now: [Flag; column_buses];
    /// This PU's copies of the registers of the columns' buses.
    let column_buses: [Register<{ widths.word }>; crossed];
    let columns_saturated: [Flag; crossed];
    let own_results = [OwnResult(); column_buses];
    let column_selects = [ColumnSelect(widths); columns * column_buses as u32];
    let bus = BusSelect(widths);
    let pes = [ProcessingEngine(clock, widths); columns];
    /// Their pads, where these lie side by side.
    let row_pads = [RowPads(clock, widths); widths.in_rows];
    let row_tree = RowTree(clock, columns, widths.accumulator, widths.extremes, widths.leaves);
    let row_root = RootUnit(clock, reset, widths, functions);
    let saturation = AnyOf(columns + 1 + columns * column_buses as u32);
    let saturated_now: Flag;
    let _pad_register: bool = widths.pad_register;

    reset_now = reset;
    alu_now = alu;
    alu_mask_now = alu_mask;
    for PAD in TEMPORARIES {
        move_PAD_now = moves.write_PAD;
    }
    move_global_now = moves.global;
    move_mask_now = move_mask;
    load_model_now = load.write_model;
    load_data_now = load.write_data;
    load_mask_now = load_mask;
    root_now = root;

    pipeline.beat = alu_now;
    write_address.load_model = load.write_model;
    for PAD in TEMPORARIES {
        write_address.bus_PAD = moves.write_PAD;
    }
    write_address.loaded = load.model_address;
    write_address.loaded_data = load.data_address;
    write_address.moved = moves.destination;
    write_address.result = pipeline.destination_t6;
    row_tree.give = pipeline.tree_t4;
    row_root.sum = row_tree.sum;
    row_root.beat = root_now;
    for PAD in TEMPORARIES {
        bus.write_PAD = move_PAD_now;
    }
    bus.from_global = move_global_now;
    bus.mask = move_mask_now;
    bus.row = row_root.result;
    if for_columns.is_empty() {
        bus.row_saturated = row_root.saturated;
    }
    global_bus = global_result;
    global_saturated = global_saturates;
    bus.global_word = global_bus;
    bus.global_saturated = global_saturated;
    tree = row_tree.sum;
    for c in 0..own_words.len() {
        own_words[c] = pes[c].tree;
    }
    for n in 0..tree_combine.len() {
        row_tree.combine[n] = pipeline.combine_t4[n];
        tree_combine[n] = row_tree.combined[n];
    }
    for f in 0..function.len() {
        function_now[f] = function[f];
        row_root.function_beat[f] = function_now[f];
        row_root.tables[f] = tables[f];
    }
    wire_read_addresses!(alu, alu_now);
    let columns = pes.len();
    for n in 0..for_columns.len() {
        // The buses of the columns.
        row_result[n] = row_root.result;
        row_saturates[n] = row_root.saturated;
        move_across_now[n] = for_columns[n].across;
        own_results[n].across = move_across_now[n];
        own_results[n].row_saturated = row_root.saturated;
        bus.row_saturated = own_results[n].own_saturated;
        let buses = of_rows.len();
        for b in 0..buses {
            column_buses[b] = of_rows[b];
            columns_saturated[b] = of_rows_saturated[b];
        }
        for c in 0..columns {
            column_selects[c].of_bus = bus.bus;
            column_selects[c].across = move_across_now[n];
            column_selects[c].admitted = move_mask_now.bit(c);
            column_selects[c].column_word = column_buses[c % buses];
            column_selects[c].column_saturated = columns_saturated[c % buses];
            saturation.flags[columns + 1 + c] = column_selects[c].saturated;
        }
    }
    // Pads that lie side by side.
    for n in 0..row_pads.len() {
        for PAD in PADS {
            row_pads[n].reads.PAD = pipeline.control.PAD_address;
        }
        row_pads[n].addresses = write_address.addresses;
        for t in 0..row_pads[n].sums_write.len() {
            row_pads[n].sums_write[t] = parking[t].control.write_t4;
            row_pads[n].sums_write_address[t] = parking[t].control.write_address_t4;
            row_pads[n].sums_read_address[t] = parking[t].control.read_address_t1;
            for c in 0..pes.len() {
                row_pads[n].sums[c] = pes[c].tree;
                pes[c].parked[t] = row_pads[n].parked[c];
            }
        }
        for c in 0..pes.len() {
            row_pads[n].writes[c] = pes[c].writes[n];
            pes[c].words[n] = row_pads[n].words[c];
        }
    }

    for t in 0..tiles.len() {
        tiles_now[t] = tiles[t];
        parking[t].valid = alu_now.valid;
        parking[t].last = alu_now.last;
        parking[t].beat = tiles_now[t];
        for n in 0..resumed.len() {
            resumed[n].resume = parking[t].control.resume_t2;
            resumed[n].combine = pipeline.starts[n].combine_t2;
        }
        pes.park[t] = parking[t].control;
    }
    for x in 0..leaves.len() {
        leaves_now[x] = leaves[x];
        leaves_t1[x] = leaves_now[x];
        parts_now[x] = parts[x];
        pes.leaves[x] = leaves_t1[x];
        pes.parts[x] = parts_now[x];
    }
    for c in 0..columns {
        lanes_now[c] = lanes[c];
        pes[c].control = pipeline.control;
        for n in 0..pipeline.positive_t5.len() {
            pes[c].positive[n] = pipeline.positive_t5[n];
        }
        pes[c].admitted = alu_mask_now.bit(c);
        if for_columns.is_empty() {
            pes[c].bus = bus.bus;
        } else {
            pes[c].bus = column_selects[c].bus;
        }
        pes[c].bus_admitted = move_mask_now.bit(c);
        pes[c].load_write_model = load_model_now;
        pes[c].load_write_data = load_data_now;
        pes[c].addresses = write_address.addresses;
        pes[c].load_admitted = load_mask_now.bit(c);
        pes[c].load_word = lanes_now[c];
        row_tree.terms[c] = pes[c].tree;
        saturation.flags[c] = pes[c].saturated;
        for n in 0..tree_combine.len() {
            pes[c].starts[n].starts_t2 = pipeline.starts[n].starts_t2;
            if resumed.is_empty() {
                pes[c].starts[n].combine_t2 = pipeline.starts[n].combine_t2;
            } else {
                pes[c].starts[n].combine_t2 = resumed[n].given;
            }
        }
    }
    saturation.flags[columns] = bus.saturated;
    saturated_now = saturation.any;
    saturated = saturated_now;
}
