//! The grid: sequencer, masks, PUs, global tree and root, queue.
//!
//!     in ──▶ lanes ──▶ halfway ──▶ PU 0 .. PU R-1 ──▶ global tree ──▶ output queue ──▶ out
//!                        ▲            ▲                    └──▶ global root ──▶ PUs
//!     control ──▶ sequencer ──▶ masks per row
//!
//! `halfway` are registers between sequencer and PUs: on a large part the way from one end to the other takes longer than a cycle.
//!
//! rust-hdl signals hold at most 127 bits, so the words of the input beat are single ports here; `tabla`, a module of
//! plain text, joins them to the port `in_data` of [`arch::rtl::Rtl::grid_ports`], and those of the output beat to `out_data`.

use crate::beats::{
    AluBeat, CHUNK_BITS, ForColumns, ForScalar, FunctionBeat, LoadBeat, MoveBeat, PartBeat, RootBeat, TableWrite,
    TileBeat, Widths,
};
use crate::control::output::Output;
use crate::control::sequencer::Sequencer;
use crate::datapath::mask::{ColumnHeads, GroupMask, RowMask};
use crate::pu::{AnyOf, ProcessingUnit};
use crate::reduction::root::{RootJoin, RootUnit};
use crate::reduction::scalar::ScalarUnit;
use crate::reduction::tree::AdderTree;
use crate::{Design, Leaves};
use arch::number::ceil_log2;
use arch::registers::ADDRESS_BITS;
use blocks::block;
use rust_hdl_core::prelude::*;

/// The word of a transfer that PEs take: their own lane, or lane 0.
#[block]
fn LaneSelect(word: u32) {
    let scatter: In;
    let (lane, lane0): In<word>;
    let word: Out<word>;

    word = lane0;
    if scatter {
        word = lane;
    }
}

/// Sequencer, masks, processing units, global tree and root, queue.
#[block(clock, reset, wires, reset_by = sequencer.halt, long = "wires only: each part of the grid is named once for each of its ports")]
pub(crate) fn Grid(design: Design<'_>, leaves: Leaves) {
    let (machine, widths) = (design.machine(), &Widths::new(design, leaves));
    let functions = usize::from(machine.table_entries() > 0);
    let beat = |name: &str| widths.beat(name);
    let (rows, lanes) = (machine.pus(), machine.stream_words());
    // Where each PE has a lane of its own, trees make none.
    let outputs = if machine.lane_for_each() { 1 } else { machine.lanes() };
    let emission = (arch::timing::DISTRIBUTION + arch::timing::alu_to_output(machine)) as u32;
    let (moves, parked) = (|_: &str| widths.temporary, |_: &str| widths.gradient);
    let (scalars, alone, exchanges) = (widths.scalars, widths.alone(), widths.exchanges);
    let of_unit = |name: &str| alone.beat(name);
    let control_write: In;
    let control_address: In<ADDRESS_BITS>;
    let control_data: In<CHUNK_BITS>;
    let control_read: Out<CHUNK_BITS>;
    let in_data: [In<{ widths.word }>; lanes];
    let in_valid: In;
    let in_ready: Out;
    let out_data: Out<{ widths.word }>;
    /// Of the output lanes after the first.
    let out_further: [Out<{ widths.word }>; machine.output_words() - 1];
    let out_valid: Out;
    let out_ready: In;
    let sequencer = Sequencer(clock, reset = reset, machine, widths, functions);
    /// The input, until its mask is known.
    let lanes: [Delay<{ widths.word }, { arch::timing::LOAD_WRITE as u32 - 2 }>; lanes];
    let lane_selects = [LaneSelect(widths.word); lanes];
    let (alu_columns, move_columns, load_columns) = ColumnHeads(widths);
    let row_numbers: [Const<{ widths.beat("row_low") }>; rows] = n;
    let row_counters: [Const<{ widths.place() }>; rows] = n;
    let (alu_masks, move_masks, load_masks) = [RowMask(widths); rows];
    let group_masks = [GroupMask(widths, n * machine.pes_per_pu(), lanes); rows];
    let alu_halfway: Stage<AluBeat> = beat;
    let alu_mask_halfway: [Register<{ widths.columns }>; rows];
    let tiles_halfway: [Stage<TileBeat>; widths.gradients] = parked;
    let leaves_halfway: [Flag; exchanges];
    let parts_halfway: [Stage<PartBeat>; exchanges] = parked;
    let move_halfway: Stage<MoveBeat> = moves;
    let move_mask_halfway: [Register<{ widths.columns }>; rows];
    let load_halfway: Stage<LoadBeat> = beat;
    let load_mask_halfway: [Register<{ widths.columns }>; rows];
    let lanes_halfway: [Register<{ widths.word }>; lanes];
    let (row_root_halfway, global_root_halfway): Stage<RootBeat> = beat;
    let function_halfway: [Stage<FunctionBeat>; functions] = beat;
    let tables_halfway: [Stage<TableWrite>; functions] = beat;
    let scalar_halfway: [Stage<AluBeat>; scalars] = of_unit;
    let scalar_sends_halfway: [Flag; scalars];
    let (scalar_moves_halfway, scalar_loads_halfway): [Stage<ForScalar>; scalars] = beat;
    let column_moves_halfway: [Stage<ForColumns>; widths.column_buses] = beat;
    /// Results of rows that share the bus of a column.
    let bus_joins = [RootJoin(widths.word); widths.column_buses as u32 * (rows - widths.column_bus_count)];
    let pus = [ProcessingUnit(clock, reset, widths, functions); rows];
    /// What the rows of each output lane make together, where there are several lanes: the first levels of the global tree.
    let lane_trees = [AdderTree(clock, rows / outputs, widths.accumulator, widths.extremes, widths.leaves);
        if outputs > 1 { outputs } else { 0 }];
    let global_tree =
        AdderTree(clock, if outputs > 1 { outputs } else { rows }, widths.accumulator, widths.extremes, widths.leaves);
    let global_now: Stage<RootBeat> = beat;
    let function_now: [Stage<FunctionBeat>; functions] = beat;
    let global_root = RootUnit(clock, reset, widths, functions);
    let saturation = AnyOf(rows + widths.scalars as u32);
    let queue = Output(
        clock,
        reset,
        ceil_log2(machine.output_fifo().into()),
        widths,
        [machine.lanes(), machine.output_words()],
        emission,
    );
    /// One if there is a scalar unit.
    let scalar_units = [ScalarUnit(clock, reset, widths); widths.scalars];
    /// What comes to the global bus: from the root or from the scalar unit.
    let scalar_joins = [RootJoin(widths.word); widths.scalars];

    sequencer.control_write = control_write;
    sequencer.control_address = control_address;
    sequencer.control_data = control_data;
    control_read = sequencer.control_read;
    sequencer.in_valid = in_valid;
    in_ready = sequencer.in_ready;
    sequencer.credit = queue.credit;
    sequencer.all_credits = queue.all_credits;
    sequencer.saturation = saturation.any;
    queue.emitted = sequencer.emitted;
    queue.out_ready = out_ready;
    out_data = queue.out_data;
    out_valid = queue.out_valid;
    let rows = pus.len();
    if !pus[0].own_words.is_empty() {
        queue.word = pus[0].own_words[0];
    } else if lane_trees.is_empty() {
        queue.word = global_tree.sum;
    } else {
        queue.word = lane_trees[0].sum;
    }
    for l in 0..queue.further.len() {
        let (row, column) = ((l + 1) % rows, (l + 1) / rows);
        if pus[0].own_words.is_empty() {
            queue.further[l] = lane_trees[l + 1].sum;
        } else {
            queue.further[l] = pus[row].own_words[column];
        }
    }
    for l in 0..out_further.len() {
        out_further[l] = queue.out_further[l];
    }
    for t in 0..queue.transfers.len() {
        queue.transfers[t] = sequencer.alu.immediate_c;
    }
    lanes = in_data;
    lane_selects.scatter = sequencer.scatter;
    lane_selects.lane = lanes;
    lane_selects.lane0 = lanes[0];

    for STREAM in names![alu move load] {
        STREAM_columns.low = sequencer.STREAM_mask.column_low;
        STREAM_columns.high = sequencer.STREAM_mask.column_high;
        STREAM_columns.pick = sequencer.STREAM_mask.pick_column;
        STREAM_columns.picked = sequencer.STREAM_mask.picked_column;
    }

    // Registers of what goes to all PUs.
    alu_halfway = sequencer.alu;
    move_halfway = sequencer.moves;
    load_halfway = sequencer.load;
    row_root_halfway = sequencer.row_root;
    global_root_halfway = sequencer.global_root;
    lanes_halfway = lane_selects.word;
    for t in 0..tiles_halfway.len() {
        tiles_halfway[t] = sequencer.tiles[t];
    }
    for x in 0..leaves_halfway.len() {
        queue.leaves[x] = sequencer.leaves[x];
        leaves_halfway[x] = sequencer.leaves[x];
        parts_halfway[x] = sequencer.sum_parts[x];
    }
    for f in 0..function_halfway.len() {
        function_halfway[f] = sequencer.function[f];
        tables_halfway[f] = sequencer.tables[f];
    }
    for n in 0..column_moves_halfway.len() {
        column_moves_halfway[n] = sequencer.column_moves[n];
    }
    for s in 0..scalar_units.len() {
        for NAME in names![scalar scalar_sends scalar_moves scalar_loads] {
            NAME_halfway[s] = sequencer.NAME[s];
        }
    }

    for r in 0..pus.len() {
        for STREAM in names![alu move load] {
            STREAM_masks[r].row = row_numbers[r];
            STREAM_masks[r].row_counter = row_counters[r];
            STREAM_masks[r].flat = sequencer.STREAM_mask.flat;
            STREAM_masks[r].low = sequencer.STREAM_mask.row_low;
            STREAM_masks[r].high = sequencer.STREAM_mask.row_high;
            STREAM_masks[r].pick = sequencer.STREAM_mask.pick_row;
            STREAM_masks[r].picked = sequencer.STREAM_mask.picked_row;
            STREAM_masks[r].above = STREAM_columns.above;
            STREAM_masks[r].below = STREAM_columns.below;
            STREAM_masks[r].chosen = STREAM_columns.chosen;
        }
        group_masks[r].mask = load_masks[r].mask;
        group_masks[r].pick = sequencer.pick_group;
        group_masks[r].picked = sequencer.picked_group;
        alu_mask_halfway[r] = alu_masks[r].mask;
        move_mask_halfway[r] = move_masks[r].mask;
        load_mask_halfway[r] = group_masks[r].taken;

        pus[r].alu = alu_halfway;
        pus[r].alu_mask = alu_mask_halfway[r];
        pus[r].moves = move_halfway;
        pus[r].move_mask = move_mask_halfway[r];
        pus[r].load = load_halfway;
        pus[r].load_mask = load_mask_halfway[r];
        pus[r].root = row_root_halfway;
        saturation.flags[r] = pus[r].saturated;
        if lane_trees.is_empty() {
            global_tree.terms[r] = pus[r].tree;
        } else {
            let trees = lane_trees.len();
            lane_trees[r % trees].terms[r / trees] = pus[r].tree;
        }
        let columns = pus[r].lanes.len();
        for c in 0..columns {
            let lane = (r * columns + c) % lanes.len();
            pus[r].lanes[c] = lanes_halfway[lane];
        }
        for t in 0..tiles_halfway.len() {
            pus[r].tiles[t] = tiles_halfway[t];
        }
        for n in 0..column_moves_halfway.len() {
            pus[r].for_columns[n] = column_moves_halfway[n];
            let buses = pus[r].of_rows.len();
            for b in 0..buses {
                if bus_joins.is_empty() {
                    pus[r].of_rows[b] = pus[b].row_result[n];
                    pus[r].of_rows_saturated[b] = pus[b].row_saturates[n];
                } else {
                    let all = bus_joins.len() - buses + b;
                    pus[r].of_rows[b] = bus_joins[all].result;
                    pus[r].of_rows_saturated[b] = bus_joins[all].result_saturated;
                }
            }
            if r >= buses {
                // With the rows before it that share its bus.
                let own = r - buses;
                bus_joins[own].word = pus[r].row_result[n];
                bus_joins[own].word_saturated = pus[r].row_saturates[n];
                if own < buses {
                    bus_joins[own].value = pus[own].row_result[n];
                    bus_joins[own].value_saturated = pus[own].row_saturates[n];
                } else {
                    bus_joins[own].value = bus_joins[own - buses].result;
                    bus_joins[own].value_saturated = bus_joins[own - buses].result_saturated;
                }
            }
        }
        for x in 0..leaves_halfway.len() {
            pus[r].leaves[x] = leaves_halfway[x];
            pus[r].parts[x] = parts_halfway[x];
        }
        for f in 0..function_now.len() {
            pus[r].function[f] = function_halfway[f];
            pus[r].tables[f] = tables_halfway[f];
        }
    }
    global_now = global_root_halfway;
    global_root.sum = global_tree.sum;
    global_root.beat = global_now;
    if scalar_units.is_empty() {
        pus.global_result = global_root.result;
        pus.global_saturates = global_root.saturated;
    }
    for l in 0..lane_trees.len() {
        global_tree.terms[l] = lane_trees[l].sum;
        for n in 0..lane_trees[l].combine.len() {
            lane_trees[l].combine[n] = pus[0].tree_combine[n];
        }
    }
    for n in 0..global_tree.combine.len() {
        if lane_trees.is_empty() {
            global_tree.combine[n] = pus[0].tree_combine[n];
        } else {
            global_tree.combine[n] = lane_trees[0].combined[n];
        }
    }
    for f in 0..function_now.len() {
        function_now[f] = function_halfway[f];
        global_root.function_beat[f] = function_now[f];
        global_root.tables[f] = tables_halfway[f];
    }

    for s in 0..scalar_units.len() {
        let rows = pus.len();
        scalar_units[s].beat = scalar_halfway[s];
        scalar_units[s].send = scalar_sends_halfway[s];
        for PAD in TEMPORARIES {
            scalar_units[s].move_PAD = move_halfway.write_PAD;
        }
        scalar_units[s].move_destination = move_halfway.destination;
        scalar_units[s].move_here = scalar_moves_halfway[s].scalar;
        scalar_units[s].load_data = load_halfway.write_data;
        scalar_units[s].load_address = load_halfway.data_address;
        scalar_units[s].load_here = scalar_loads_halfway[s].scalar;
        scalar_units[s].lane = lanes_halfway[0];
        scalar_units[s].global_result = scalar_joins[s].result;
        scalar_units[s].global_saturates = scalar_joins[s].result_saturated;
        scalar_joins[s].word = global_root.result;
        scalar_joins[s].word_saturated = global_root.saturated;
        scalar_joins[s].value = scalar_units[s].sent;
        scalar_joins[s].value_saturated = scalar_units[s].sent_saturated;
        saturation.flags[rows + s] = scalar_units[s].saturated;
        pus.global_result = scalar_joins[s].result;
        pus.global_saturates = scalar_joins[s].result_saturated;
    }
}
