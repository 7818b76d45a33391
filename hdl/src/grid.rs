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
use crate::rtl::register::{Delay, Flag, Register, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use crate::{Design, Leaves};
use arch::number::ceil_log2;
use arch::registers::ADDRESS_BITS;
use blocks::block;
use rust_hdl::prelude::*;

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

#[derive(LogicBlock)]
pub(crate) struct Grid {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) control_write: Signal<In, Bit>,
    pub(crate) control_address: Wide<In>,
    pub(crate) control_data: Wide<In>,
    pub(crate) control_read: Wide<Out>,
    pub(crate) in_data: Vec<Wide<In>>,
    pub(crate) in_valid: Signal<In, Bit>,
    pub(crate) in_ready: Signal<Out, Bit>,
    pub(crate) out_data: Wide<Out>,
    /// Of the output lanes after the first.
    pub(crate) out_further: Vec<Wide<Out>>,
    pub(crate) out_valid: Signal<Out, Bit>,
    pub(crate) out_ready: Signal<In, Bit>,
    sequencer: Sequencer,
    /// The input, until its mask is known.
    lanes: Vec<Delay>,
    lane_selects: Vec<LaneSelect>,
    alu_columns: ColumnHeads,
    move_columns: ColumnHeads,
    load_columns: ColumnHeads,
    row_numbers: Vec<Number>,
    row_counters: Vec<Number>,
    alu_masks: Vec<RowMask>,
    move_masks: Vec<RowMask>,
    load_masks: Vec<RowMask>,
    group_masks: Vec<GroupMask>,
    alu_halfway: Stage<AluBeat<In>, AluBeat<Out>>,
    alu_mask_halfway: Vec<Register>,
    tiles_halfway: Vec<Stage<TileBeat<In>, TileBeat<Out>>>,
    leaves_halfway: Vec<Flag>,
    parts_halfway: Vec<Stage<PartBeat<In>, PartBeat<Out>>>,
    move_halfway: Stage<MoveBeat<In>, MoveBeat<Out>>,
    move_mask_halfway: Vec<Register>,
    load_halfway: Stage<LoadBeat<In>, LoadBeat<Out>>,
    load_mask_halfway: Vec<Register>,
    lanes_halfway: Vec<Register>,
    row_root_halfway: Stage<RootBeat<In>, RootBeat<Out>>,
    global_root_halfway: Stage<RootBeat<In>, RootBeat<Out>>,
    function_halfway: Vec<Stage<FunctionBeat<In>, FunctionBeat<Out>>>,
    tables_halfway: Vec<Stage<TableWrite<In>, TableWrite<Out>>>,
    scalar_halfway: Vec<Stage<AluBeat<In>, AluBeat<Out>>>,
    scalar_sends_halfway: Vec<Flag>,
    scalar_moves_halfway: Vec<Stage<ForScalar<In>, ForScalar<Out>>>,
    scalar_loads_halfway: Vec<Stage<ForScalar<In>, ForScalar<Out>>>,
    column_moves_halfway: Vec<Stage<ForColumns<In>, ForColumns<Out>>>,
    pus: Vec<ProcessingUnit>,
    /// What the rows of each output lane make together, where there are several lanes: the first levels of the global tree.
    lane_trees: Vec<AdderTree>,
    global_tree: AdderTree,
    global_now: Stage<RootBeat<In>, RootBeat<Out>>,
    function_now: Vec<Stage<FunctionBeat<In>, FunctionBeat<Out>>>,
    global_root: RootUnit,
    saturation: AnyOf,
    queue: Output,
    /// One if there is a scalar unit.
    scalar_units: Vec<ScalarUnit>,
    /// What comes to the global bus: from the root or from the scalar unit.
    scalar_joins: Vec<RootJoin>,
    _wiring: Wiring,
}

impl Grid {
    pub(crate) fn new(design: Design<'_>, leaves: Leaves) -> Self {
        let (machine, widths) = (design.machine(), &Widths::new(design, leaves));
        let functions = usize::from(machine.table_entries() > 0);
        let beat = |name: &str| widths.beat(name);
        let (rows, lanes) = (machine.pus(), machine.stream_words());
        // Where each PE has a lane of its own, trees make none.
        let outputs = if machine.lane_for_each() { 1 } else { machine.lanes() };
        let lane_tree = |_| AdderTree::new(rows / outputs, widths.accumulator, widths.extremes);
        let row_masks = || (0..rows).map(|_| RowMask::new(widths)).collect();
        let group_mask = |row| GroupMask::new(widths, row * machine.pes_per_pu(), lanes);
        let emission = (arch::timing::DISTRIBUTION + arch::timing::alu_to_output(machine)) as u32;
        let function_stage = || Stage::new(FunctionBeat::new(&beat), FunctionBeat::new(&beat));
        let table_stage = || Stage::new(TableWrite::new(&beat), TableWrite::new(&beat));
        let root_stage = || Stage::new(RootBeat::new(&beat), RootBeat::new(&beat));
        let for_columns_stage = |_| Stage::new(ForColumns::new(&beat), ForColumns::new(&beat));
        let for_scalar_stage = |_| Stage::new(ForScalar::new(&beat), ForScalar::new(&beat));
        let row_registers = || (0..rows).map(|_| Register::new(widths.columns)).collect();
        let (moves, parked) = (|_: &str| widths.temporary, |_: &str| widths.gradient);
        let (scalars, alone, exchanges) = (0..widths.scalars, widths.alone(), 0..widths.exchanges);
        let of_unit = |name: &str| alone.beat(name);
        Grid {
            clock: Signal::default(),
            reset: Signal::default(),
            control_write: Signal::default(),
            control_address: Wide::new(ADDRESS_BITS),
            control_data: Wide::new(CHUNK_BITS),
            control_read: Wide::new(CHUNK_BITS),
            in_data: (0..lanes).map(|_| Wide::new(widths.word)).collect(),
            in_valid: Signal::default(),
            in_ready: Signal::default(),
            out_data: Wide::new(widths.word),
            out_further: (1..machine.output_words()).map(|_| Wide::new(widths.word)).collect(),
            out_valid: Signal::default(),
            out_ready: Signal::default(),
            sequencer: Sequencer::new(machine, widths, functions),
            lanes: (0..lanes).map(|_| Delay::new(widths.word, arch::timing::LOAD_WRITE as u32 - 2)).collect(),
            lane_selects: (0..lanes).map(|_| LaneSelect::new(widths.word)).collect(),
            alu_columns: ColumnHeads::new(widths),
            move_columns: ColumnHeads::new(widths),
            load_columns: ColumnHeads::new(widths),
            row_numbers: (0..rows).map(|r| Number::new(r, widths.beat("row_low"))).collect(),
            row_counters: (0..rows).map(|r| Number::new(r, widths.place())).collect(),
            alu_masks: row_masks(),
            move_masks: row_masks(),
            load_masks: row_masks(),
            group_masks: (0..rows).map(group_mask).collect(),
            alu_halfway: Stage::new(AluBeat::new(&beat), AluBeat::new(&beat)),
            alu_mask_halfway: row_registers(),
            tiles_halfway: (0..widths.gradients)
                .map(|_| Stage::new(TileBeat::new(&parked), TileBeat::new(&parked)))
                .collect(),
            leaves_halfway: exchanges.clone().map(|_| Flag::new()).collect(),
            parts_halfway: exchanges.map(|_| Stage::new(PartBeat::new(&parked), PartBeat::new(&parked))).collect(),
            move_halfway: Stage::new(MoveBeat::new(&moves), MoveBeat::new(&moves)),
            move_mask_halfway: row_registers(),
            load_halfway: Stage::new(LoadBeat::new(&beat), LoadBeat::new(&beat)),
            load_mask_halfway: row_registers(),
            lanes_halfway: (0..lanes).map(|_| Register::new(widths.word)).collect(),
            row_root_halfway: root_stage(),
            global_root_halfway: root_stage(),
            function_halfway: (0..functions).map(|_| function_stage()).collect(),
            tables_halfway: (0..functions).map(|_| table_stage()).collect(),
            scalar_halfway: scalars
                .clone()
                .map(|_| Stage::new(AluBeat::new(&of_unit), AluBeat::new(&of_unit)))
                .collect(),
            scalar_sends_halfway: scalars.clone().map(|_| Flag::new()).collect(),
            scalar_moves_halfway: scalars.clone().map(for_scalar_stage).collect(),
            scalar_loads_halfway: scalars.map(for_scalar_stage).collect(),
            column_moves_halfway: (0..widths.crossings).map(for_columns_stage).collect(),
            pus: (0..rows).map(|_| ProcessingUnit::new(widths, functions)).collect(),
            lane_trees: (0..if outputs > 1 { outputs } else { 0 }).map(lane_tree).collect(),
            global_tree: AdderTree::new(if outputs > 1 { outputs } else { rows }, widths.accumulator, widths.extremes),
            global_now: root_stage(),
            function_now: (0..functions).map(|_| function_stage()).collect(),
            global_root: RootUnit::new(widths, functions),
            saturation: AnyOf::new(rows + widths.scalars as u32),
            queue: Output::new(
                ceil_log2(machine.output_fifo().into()),
                widths,
                [machine.lanes(), machine.output_words()],
                emission,
            ),
            scalar_units: (0..widths.scalars).map(|_| ScalarUnit::new(widths)).collect(),
            scalar_joins: (0..widths.scalars).map(|_| RootJoin::new(widths.word)).collect(),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        self.wire_ports(wiring);
        self.wire_columns(wiring);
        self.wire_halfway(wiring);
        for r in 0..self.pus.len() {
            self.wire_masks(wiring, r);
            self.wire_pu(wiring, r);
        }
        self.wire_global(wiring);
        for s in 0..self.scalar_units.len() {
            self.wire_scalar(wiring, s);
        }
    }

    fn wire_ports(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            sequencer.clock = clock;
            sequencer.reset = reset;
            sequencer.control_write = control_write;
            sequencer.control_address = control_address;
            sequencer.control_data = control_data;
            control_read = sequencer.control_read;
            sequencer.in_valid = in_valid;
            in_ready = sequencer.in_ready;
            sequencer.credit = queue.credit;
            sequencer.all_credits = queue.all_credits;
            sequencer.saturation = saturation.any;
            queue.clock = clock;
            queue.reset = sequencer.halt;
            queue.emitted = sequencer.emitted;
            queue.out_ready = out_ready;
            out_data = queue.out_data;
            out_valid = queue.out_valid;
        );
        let rows = self.pus.len();
        if !self.pus[0].own_words.is_empty() {
            wires!(self, wiring; queue.word = pus[0].own_words[0];);
        } else if self.lane_trees.is_empty() {
            wires!(self, wiring; queue.word = global_tree.sum;);
        } else {
            wires!(self, wiring; queue.word = lane_trees[0].sum;);
        }
        for l in 0..self.queue.further.len() {
            let (row, column) = ((l + 1) % rows, (l + 1) / rows);
            if self.pus[0].own_words.is_empty() {
                wires!(self, wiring; queue.further[l] = lane_trees[l + 1].sum;);
            } else {
                wires!(self, wiring; queue.further[l] = pus[row].own_words[column];);
            }
        }
        for l in 0..self.out_further.len() {
            wires!(self, wiring; out_further[l] = queue.out_further[l];);
        }
        for t in 0..self.queue.transfers.len() {
            wires!(self, wiring; queue.transfers[t] = sequencer.alu.immediate_c;);
        }
        for l in 0..self.lanes.len() {
            wires!(self, wiring;
                lanes[l].clock = clock;
                lanes[l].d = in_data[l];
                lane_selects[l].scatter = sequencer.scatter;
                lane_selects[l].lane = lanes[l].q;
                lane_selects[l].lane0 = lanes[0].q;
            );
        }
    }

    fn wire_columns(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            alu_columns.low = sequencer.alu_mask.column_low;
            alu_columns.high = sequencer.alu_mask.column_high;
            alu_columns.pick = sequencer.alu_mask.pick_column;
            alu_columns.picked = sequencer.alu_mask.picked_column;
            move_columns.low = sequencer.move_mask.column_low;
            move_columns.high = sequencer.move_mask.column_high;
            move_columns.pick = sequencer.move_mask.pick_column;
            move_columns.picked = sequencer.move_mask.picked_column;
            load_columns.low = sequencer.load_mask.column_low;
            load_columns.high = sequencer.load_mask.column_high;
            load_columns.pick = sequencer.load_mask.pick_column;
            load_columns.picked = sequencer.load_mask.picked_column;
        );
    }

    /// Registers of what goes to all PUs.
    fn wire_halfway(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            alu_halfway.clock = clock;
            alu_halfway.reset = sequencer.halt;
            alu_halfway.d = sequencer.alu;
            move_halfway.clock = clock;
            move_halfway.reset = sequencer.halt;
            move_halfway.d = sequencer.moves;
            load_halfway.clock = clock;
            load_halfway.reset = sequencer.halt;
            load_halfway.d = sequencer.load;
            row_root_halfway.clock = clock;
            row_root_halfway.reset = sequencer.halt;
            row_root_halfway.d = sequencer.row_root;
            global_root_halfway.clock = clock;
            global_root_halfway.reset = sequencer.halt;
            global_root_halfway.d = sequencer.global_root;
        );
        for l in 0..self.lanes.len() {
            wires!(self, wiring;
                lanes_halfway[l].clock = clock;
                lanes_halfway[l].d = lane_selects[l].word;
            );
        }
        for t in 0..self.tiles_halfway.len() {
            wires!(self, wiring;
                tiles_halfway[t].clock = clock;
                tiles_halfway[t].reset = sequencer.halt;
                tiles_halfway[t].d = sequencer.tiles[t];
            );
        }
        for x in 0..self.leaves_halfway.len() {
            wires!(self, wiring;
                queue.leaves[x] = sequencer.leaves[x];
                leaves_halfway[x].clock = clock;
                leaves_halfway[x].reset = sequencer.halt;
                leaves_halfway[x].d = sequencer.leaves[x];
                parts_halfway[x].clock = clock;
                parts_halfway[x].reset = sequencer.halt;
                parts_halfway[x].d = sequencer.sum_parts[x];
            );
        }
        for f in 0..self.function_halfway.len() {
            wires!(self, wiring;
                function_halfway[f].clock = clock;
                function_halfway[f].reset = sequencer.halt;
                function_halfway[f].d = sequencer.function[f];
                tables_halfway[f].clock = clock;
                tables_halfway[f].reset = sequencer.halt;
                tables_halfway[f].d = sequencer.tables[f];
            );
        }
        for n in 0..self.column_moves_halfway.len() {
            wires!(self, wiring;
                column_moves_halfway[n].clock = clock;
                column_moves_halfway[n].reset = sequencer.halt;
                column_moves_halfway[n].d = sequencer.column_moves[n];
            );
        }
        for s in 0..self.scalar_units.len() {
            wires!(self, wiring;
                scalar_halfway[s].clock = clock;
                scalar_halfway[s].reset = sequencer.halt;
                scalar_halfway[s].d = sequencer.scalar[s];
                scalar_sends_halfway[s].clock = clock;
                scalar_sends_halfway[s].reset = sequencer.halt;
                scalar_sends_halfway[s].d = sequencer.scalar_sends[s];
                scalar_moves_halfway[s].clock = clock;
                scalar_moves_halfway[s].reset = sequencer.halt;
                scalar_moves_halfway[s].d = sequencer.scalar_moves[s];
                scalar_loads_halfway[s].clock = clock;
                scalar_loads_halfway[s].reset = sequencer.halt;
                scalar_loads_halfway[s].d = sequencer.scalar_loads[s];
            );
        }
    }

    fn wire_masks(&mut self, wiring: &mut Wiring, r: usize) {
        wires!(self, wiring;
            alu_masks[r].row = row_numbers[r];
            alu_masks[r].row_counter = row_counters[r];
            alu_masks[r].flat = sequencer.alu_mask.flat;
            alu_masks[r].low = sequencer.alu_mask.row_low;
            alu_masks[r].high = sequencer.alu_mask.row_high;
            alu_masks[r].pick = sequencer.alu_mask.pick_row;
            alu_masks[r].picked = sequencer.alu_mask.picked_row;
            alu_masks[r].above = alu_columns.above;
            alu_masks[r].below = alu_columns.below;
            alu_masks[r].chosen = alu_columns.chosen;
            move_masks[r].row = row_numbers[r];
            move_masks[r].row_counter = row_counters[r];
            move_masks[r].flat = sequencer.move_mask.flat;
            move_masks[r].low = sequencer.move_mask.row_low;
            move_masks[r].high = sequencer.move_mask.row_high;
            move_masks[r].pick = sequencer.move_mask.pick_row;
            move_masks[r].picked = sequencer.move_mask.picked_row;
            move_masks[r].above = move_columns.above;
            move_masks[r].below = move_columns.below;
            move_masks[r].chosen = move_columns.chosen;
            load_masks[r].row = row_numbers[r];
            load_masks[r].row_counter = row_counters[r];
            load_masks[r].flat = sequencer.load_mask.flat;
            load_masks[r].low = sequencer.load_mask.row_low;
            load_masks[r].high = sequencer.load_mask.row_high;
            load_masks[r].pick = sequencer.load_mask.pick_row;
            load_masks[r].picked = sequencer.load_mask.picked_row;
            load_masks[r].above = load_columns.above;
            load_masks[r].below = load_columns.below;
            load_masks[r].chosen = load_columns.chosen;
            group_masks[r].mask = load_masks[r].mask;
            group_masks[r].pick = sequencer.pick_group;
            group_masks[r].picked = sequencer.picked_group;
            alu_mask_halfway[r].clock = clock;
            alu_mask_halfway[r].d = alu_masks[r].mask;
            move_mask_halfway[r].clock = clock;
            move_mask_halfway[r].d = move_masks[r].mask;
            load_mask_halfway[r].clock = clock;
            load_mask_halfway[r].d = group_masks[r].taken;
        );
    }

    fn wire_pu(&mut self, wiring: &mut Wiring, r: usize) {
        wires!(self, wiring;
            pus[r].clock = clock;
            pus[r].reset = sequencer.halt;
            pus[r].alu = alu_halfway.q;
            pus[r].alu_mask = alu_mask_halfway[r].q;
            pus[r].moves = move_halfway.q;
            pus[r].move_mask = move_mask_halfway[r].q;
            pus[r].load = load_halfway.q;
            pus[r].load_mask = load_mask_halfway[r].q;
            pus[r].root = row_root_halfway.q;
            saturation.flags[r] = pus[r].saturated;
        );
        if self.lane_trees.is_empty() {
            wires!(self, wiring; global_tree.terms[r] = pus[r].tree;);
        } else {
            let lanes = self.lane_trees.len();
            wires!(self, wiring; lane_trees[r % lanes].terms[r / lanes] = pus[r].tree;);
        }
        let columns = self.pus[r].lanes.len();
        for c in 0..columns {
            let lane = (r * columns + c) % self.lanes.len();
            wires!(self, wiring; pus[r].lanes[c] = lanes_halfway[lane].q;);
        }
        for t in 0..self.tiles_halfway.len() {
            wires!(self, wiring; pus[r].tiles[t] = tiles_halfway[t].q;);
        }
        for n in 0..self.column_moves_halfway.len() {
            wires!(self, wiring; pus[r].for_columns[n] = column_moves_halfway[n].q;);
            // There are as many rows as columns.
            for c in 0..columns {
                wires!(self, wiring;
                    pus[r].of_rows[c] = pus[c].row_result[n];
                    pus[r].of_rows_saturated[c] = pus[c].row_saturates[n];
                );
            }
        }
        for x in 0..self.leaves_halfway.len() {
            wires!(self, wiring;
                pus[r].leaves[x] = leaves_halfway[x].q;
                pus[r].parts[x] = parts_halfway[x].q;
            );
        }
        for f in 0..self.function_now.len() {
            wires!(self, wiring;
                pus[r].function[f] = function_halfway[f].q;
                pus[r].tables[f] = tables_halfway[f].q;
            );
        }
    }

    fn wire_global(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            global_tree.clock = clock;
            global_now.clock = clock;
            global_now.reset = sequencer.halt;
            global_now.d = global_root_halfway.q;
            global_root.clock = clock;
            global_root.reset = sequencer.halt;
            global_root.sum = global_tree.sum;
            global_root.beat = global_now.q;
        );
        if self.scalar_units.is_empty() {
            for r in 0..self.pus.len() {
                wires!(self, wiring;
                    pus[r].global_result = global_root.result;
                    pus[r].global_saturates = global_root.saturated;
                );
            }
        }
        for l in 0..self.lane_trees.len() {
            wires!(self, wiring;
                lane_trees[l].clock = clock;
                global_tree.terms[l] = lane_trees[l].sum;
            );
            for n in 0..self.lane_trees[l].combine.len() {
                wires!(self, wiring; lane_trees[l].combine[n] = pus[0].tree_combine[n];);
            }
        }
        for n in 0..self.global_tree.combine.len() {
            if self.lane_trees.is_empty() {
                wires!(self, wiring; global_tree.combine[n] = pus[0].tree_combine[n];);
            } else {
                wires!(self, wiring; global_tree.combine[n] = lane_trees[0].combined[n];);
            }
        }
        for f in 0..self.function_now.len() {
            wires!(self, wiring;
                function_now[f].clock = clock;
                function_now[f].reset = sequencer.halt;
                function_now[f].d = function_halfway[f].q;
                global_root.function_beat[f] = function_now[f].q;
                global_root.tables[f] = tables_halfway[f].q;
            );
        }
    }

    fn wire_scalar(&mut self, wiring: &mut Wiring, s: usize) {
        let rows = self.pus.len();
        wires!(self, wiring;
            scalar_units[s].clock = clock;
            scalar_units[s].reset = sequencer.halt;
            scalar_units[s].beat = scalar_halfway[s].q;
            scalar_units[s].send = scalar_sends_halfway[s].q;
            scalar_units[s].move_t0 = move_halfway.q.write_t0;
            scalar_units[s].move_t1 = move_halfway.q.write_t1;
            scalar_units[s].move_destination = move_halfway.q.destination;
            scalar_units[s].move_here = scalar_moves_halfway[s].q.scalar;
            scalar_units[s].load_data = load_halfway.q.write_data;
            scalar_units[s].load_address = load_halfway.q.data_address;
            scalar_units[s].load_here = scalar_loads_halfway[s].q.scalar;
            scalar_units[s].lane = lanes_halfway[0].q;
            scalar_units[s].global_result = scalar_joins[s].result;
            scalar_units[s].global_saturates = scalar_joins[s].result_saturated;
            scalar_joins[s].word = global_root.result;
            scalar_joins[s].word_saturated = global_root.saturated;
            scalar_joins[s].value = scalar_units[s].sent;
            scalar_joins[s].value_saturated = scalar_units[s].sent_saturated;
            saturation.flags[rows + s] = scalar_units[s].saturated;
        );
        for r in 0..rows {
            wires!(self, wiring;
                pus[r].global_result = scalar_joins[s].result;
                pus[r].global_saturates = scalar_joins[s].result_saturated;
            );
        }
    }
}
structural!(Grid, "grid: sequencer, masks, processing units, global tree and root, queue.");
