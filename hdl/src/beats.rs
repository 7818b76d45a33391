//! Contents of one beat of each stream, and the microcode fields it is made of.
//!
//!     program ──fields──▶ stream ──beat──▶ register of the sequencer ──▶ register of each PU ──▶ PEs, roots
//!
//! The `..Pacing` and `..Fields` bundles of a stream name together every field of its [`arch::isa::Layout`]; widths come from
//! there.

use crate::rtl::bundle::bundle;
use crate::rtl::fixed::Fixed;
use crate::{Design, Leaves};
use arch::amounts::Amounts;
use arch::isa::{
    AluInstruction, Field, Instruction, LEVELS, LIMIT, Layout, LoadInstruction, MoveInstruction, POSITIVE,
    RootInstruction, ScalarInstruction, gradient_bits,
};
use arch::number::ceil_log2;
use arch::registers::INSTRUCTION_CHUNKS;

blocks::unroll! {
bundle! {
    /// What decides when beats of the alu stream are issued.
    AluPacing {
        bits: end, emit;
        words: delay, interval, for N in LEVELS { countN, };
    }

    /// What its beats are made of.
    AluFields {
        bits: negative, tree, flat;
        words: reduce, combine,
            for PART in ADDRESS { model_PART, }
            for PART in ADDRESS { data_PART, }
            for PAD in TEMPORARIES { for PART in ADDRESS { PAD_PART, } }
            a, b, c, align, shift, immediate_b, immediate_c, write,
            for PART in ADDRESS { destination_PART, }
            row_low, column_low, row_high, column_high, row_level, column_level, pick_row, pick_column;
    }

    /// What they do in the tiles of a batch, on grids with gradient pads.
    TileFields {
        bits: late, park;
        words: for PART in ADDRESS { park_PART, };
    }

    /// What beats of the scalar stream are made of; they are issued as those of the move stream.
    ScalarFields {
        bits: negative, send;
        words: reduce, combine,
            for PART in ADDRESS { data_PART, }
            for PAD in TEMPORARIES { for PART in ADDRESS { PAD_PART, } }
            a, b, c, align, shift, immediate_b, immediate_c, write,
            for PART in ADDRESS { destination_PART, };
    }

    /// Whether the scalar unit takes a word, too: of moves and loads, on grids that have one.
    ForScalar {
        bits: scalar;
        words: ;
    }

    /// Whether the results of rows go to the columns: of moves, on grids whose columns have buses.
    ForColumns {
        bits: across;
        words: ;
    }

    /// What decides when beats of the root stream are issued.
    RootPacing {
        bits: end;
        words: delay, interval, count;
    }

    /// What its beats are made of.
    RootFields {
        bits: global, function, divide;
        words: shift, table_base, table_log2, segment_shift, segments;
    }

    /// What decides when beats of the move stream are issued.
    MovePacing {
        bits: end;
        words: delay, interval, for N in LEVELS { countN, };
    }

    /// What its beats are made of.
    MoveFields {
        bits: global, for PAD in FURTHER { PAD, } flat;
        words: for PART in ADDRESS { destination_PART, }
            row_low, column_low, row_high, column_high, row_level, column_level, pick_row, pick_column;
    }

    /// What they do in the tiles of a batch, on grids with gradient pads. No other stream has such fields.
    LateField {
        bits: late;
        words: ;
    }

    /// What decides how many beats of the load stream there are.
    LoadPacing {
        bits: end;
        words: for N in LEVELS { countN, };
    }

    /// What its beats are made of.
    LoadFields {
        bits: data, scatter, flat;
        words: for PART in ADDRESS { destination_PART, }
            pick_group,
            row_low, column_low, row_high, column_high, row_level, column_level, pick_row, pick_column;
    }

    /// Whether words are parts of sums: of loads, on grids that hand out sums.
    PartField {
        bits: gradient;
        words: ;
    }

    /// A part of a sum on its way into a gradient pad: it is one, it is the last one; where the sum goes.
    PartBeat {
        bits: part, whole;
        words: address;
    }

    /// Which loops are at their first and last iteration in this beat.
    LoopEnds {
        bits: for N in LEVELS { firstN, lastN, };
        words: ;
    }

    /// Loop counters of this beat.
    LoopCounters {
        bits: ;
        words: for N in LEVELS { counterN, };
    }

    /// What an address generator does in this cycle: a beat is issued, it is the first one, which level advances (none
    /// of these: the innermost).
    Advance {
        bits: step, fresh, for N in OUTER { levelN, };
        words: ;
    }

    /// Which tile of its batch a step is.
    TileFlags {
        bits: first, last;
        words: ;
    }

    /// Effective bounds and picks of a beat.
    MaskBeat {
        bits: flat, pick_row, pick_column;
        words: row_low, column_low, row_high, column_high, picked_row, picked_column;
    }

    /// One beat of the alu stream.
    AluBeat {
        bits: valid, first, last, negative, tree, for PAD in RESULTS { write_PAD, };
        words: for PAD in PADS { PAD_address, } a, b, c, combine, align, shift, immediate_b, immediate_c,
            destination;
    }

    /// What it has to do with the gradient pads: whether its sum starts where the tile before left it, whether the next tile goes on with it.
    TileBeat {
        bits: resume, keep;
        words: address;
    }

    /// One beat of the root stream, row or global.
    RootBeat {
        bits: valid;
        words: shift;
    }

    /// The function part of a root beat.
    FunctionBeat {
        bits: used, divide;
        words: table_base, table_log2, segment_shift, segments;
    }

    /// One beat of the move stream.
    MoveBeat {
        bits: for PAD in TEMPORARIES { write_PAD, } global;
        words: destination;
    }

    /// One beat of the load stream, without its words.
    LoadBeat {
        bits: write_model, write_data;
        words: model_address, data_address;
    }

    /// A write into the function tables.
    TableWrite {
        bits: write;
        words: index, chunk, data;
    }
}
}

/// Bits of one write into programs and tables.
pub(crate) const CHUNK_BITS: u32 = 32;
/// Bits that number the chunks of a table entry.
pub(crate) const ENTRY_CHUNK_BITS: u32 = arch::registers::ENTRY_CHUNKS.ilog2();
/// Bits that number the chunks of an instruction.
pub(crate) const INSTRUCTION_CHUNK_BITS: u32 = arch::registers::INSTRUCTION_CHUNKS.ilog2();

/// Layouts and widths of one grid, and its contents if it has some.
pub(crate) struct Widths {
    pub(crate) word: u32,
    pub(crate) accumulator: u32,
    /// Shift amounts of PEs and roots.
    pub(crate) alignments: Amounts,
    pub(crate) shifts: Amounts,
    pub(crate) root_shifts: Amounts,
    /// Cells that blocks may name.
    pub(crate) leaves: Leaves,
    /// Dividers in each root unit: 0 or 1.
    pub(crate) dividers: usize,
    /// Whether accumulators and trees compare as well as add.
    pub(crate) extremes: bool,
    /// Whether PEs and roots make negative results 0, 0 or 1: the bit above the amount of a shift says so.
    pub(crate) rectifiers: usize,
    /// That bit, and those of the limit above it; or none.
    pub(crate) positive: u32,
    /// Bits of what a PE multiplies: those of a word, or of the difference of two.
    pub(crate) factor: u32,
    /// Gradient pads in each PE, and everything that belongs to them: 0 or 1.
    pub(crate) gradients: usize,
    /// Their address bits.
    pub(crate) gradient: u32,
    /// Paths of sums out of the gradient pads and back: 0 or 1.
    pub(crate) exchanges: usize,
    /// Words that one sum takes on this way.
    pub(crate) parts: u32,
    /// Output lanes that bypass the tree of a PU: one for each PE that has its own lane.
    pub(crate) bypass_lanes: u32,
    /// Scalar units, and everything that belongs to them: 0 or 1.
    pub(crate) scalars: usize,
    /// Column buses, and everything that belongs to them: 0 or 1.
    pub(crate) column_buses: usize,
    /// Buses of the columns, if they have any.
    pub(crate) column_bus_count: u32,
    /// Words from which a pad is asked to be of block memories; 0: nothing is asked.
    pub(crate) block_depth: u32,
    /// The words of a row's pads lie side by side in one memory each.
    pub(crate) in_rows: bool,
    /// Pads have an output register, and take their addresses a cycle before the beat.
    pub(crate) pad_register: bool,
    /// Address bits of the model pad.
    pub(crate) model: u32,
    /// Its words.
    pub(crate) model_words: u32,
    /// Address bits of the data pad, with the bank bit.
    pub(crate) data: u32,
    /// Address bits of the temporaries.
    pub(crate) temporary: u32,
    /// Their words.
    pub(crate) temporary_words: u32,
    /// Columns, which is also the width of a mask.
    pub(crate) columns: u32,
    pub(crate) rows: u32,
    /// Groups of PEs that take a beat of the input stream together.
    pub(crate) groups: u32,
    /// Bits of an instruction number.
    pub(crate) index: u32,
    /// Bits of the number of a table entry.
    pub(crate) table_index: u32,
    pub(crate) alu: Layout,
    pub(crate) root: Layout,
    pub(crate) moves: Layout,
    pub(crate) load: Layout,
    pub(crate) scalar: Layout,
    /// The program, if it is part of the hardware.
    pub(crate) fixed: Option<Fixed>,
}

/// The layout with the bit that makes negative results 0, and the limit of others, as the highest bits of the shift amount before them.
fn shifts_joined(layout: Layout) -> Layout {
    let mut fields: Vec<Field> = Vec::new();
    for field in layout.fields {
        match fields.last_mut() {
            Some(shift) if [POSITIVE, LIMIT].contains(&field.name.as_str()) => shift.bits += field.bits,
            _ => fields.push(field),
        }
    }
    Layout { fields, ..layout }
}

/// The layout as the streams see it: loops that a machine does not have run once, and move no address. Their fields lie beyond the end of the
/// word, where everything is 0.
fn all_levels(layout: Layout) -> Layout {
    let beyond = INSTRUCTION_CHUNKS * CHUNK_BITS;
    let Layout { mut fields, bits } = layout;
    for field in fields.clone() {
        let Some(kind) = field.name.strip_suffix(&format!("{}", LEVELS - 1)) else { continue };
        for name in (0..LEVELS).map(|level| format!("{kind}{level}")) {
            if fields.iter().all(|field| field.name != name) {
                fields.push(Field { name, lsb: beyond, bits: field.bits });
            }
        }
    }
    Layout { fields, bits }
}

impl Widths {
    pub(crate) fn new(design: Design<'_>, leaves: Leaves) -> Self {
        let machine = design.machine();
        let alu = all_levels(shifts_joined(AluInstruction::layout(machine)));
        let root = shifts_joined(RootInstruction::layout(machine));
        Widths {
            word: machine.word(),
            accumulator: machine.accumulator(),
            alignments: machine.alignments(),
            shifts: machine.shifts(),
            root_shifts: machine.root_shifts(),
            leaves,
            dividers: machine.divider().into(),
            extremes: machine.extremes(),
            rectifiers: machine.rectifiers().into(),
            positive: if machine.limits() { machine.word() } else { machine.rectifiers().into() },
            factor: machine.factor_bits(),
            gradients: (machine.gradient_depth() > 0).into(),
            gradient: gradient_bits(machine),
            exchanges: machine.hands_out_sums().into(),
            parts: machine.parts_of_sum(),
            bypass_lanes: if machine.lane_for_each() { machine.pes_per_pu() } else { 0 },
            scalars: machine.scalar().into(),
            column_buses: machine.column_buses().into(),
            column_bus_count: machine.column_bus_count(),
            model: alu.field("model_base").bits,
            model_words: machine.model_depth(),
            data: alu.field("data_base").bits + 1,
            temporary: alu.field("t0_base").bits,
            temporary_words: machine.temporary_depth(),
            block_depth: machine.block_depth(),
            in_rows: machine.pads_in_rows(),
            pad_register: machine.pad_register(),
            columns: machine.pes_per_pu(),
            rows: machine.pus(),
            groups: (machine.pus() * machine.pes_per_pu()).div_ceil(machine.stream_words()),
            index: ceil_log2(u64::from(machine.program_depth())),
            table_index: root.field("table_base").bits,
            moves: all_levels(MoveInstruction::layout(machine)),
            load: all_levels(LoadInstruction::layout(machine)),
            scalar: all_levels(shifts_joined(ScalarInstruction::layout(machine))),
            alu,
            root,
            fixed: match design {
                Design::Loadable(_) => None,
                Design::Fixed(image, source) => Some(Fixed::new(image, source)),
            },
        }
    }

    /// Those of a small grid, for test benches.
    #[cfg(test)]
    pub(crate) fn of_grid(pus: u32, pes_per_pu: u32) -> Widths {
        let machine = arch::Machine::grid(pus, pes_per_pu, 16).expect("a valid grid");
        Widths::new(Design::Loadable(&machine), Leaves::GENERIC)
    }

    /// Gradient pads that a row shares, 0 or 1: sums that come back to single PEs need pads of their own.
    pub(crate) fn gradients_in_rows(&self) -> u32 {
        u32::from(self.in_rows && self.exchanges == 0) * self.gradients as u32
    }

    /// Those of the scalar unit: one PE without a model pad, whose instructions are those of the scalar stream.
    pub(crate) fn alone(&self) -> Widths {
        Widths {
            dividers: 0,
            gradients: 0,
            gradient: 0,
            exchanges: 0,
            bypass_lanes: 0,
            scalars: 0,
            column_buses: 0,
            model: 1,
            in_rows: false,
            columns: 1,
            rows: 1,
            alu: self.scalar.clone(),
            root: self.root.clone(),
            moves: self.moves.clone(),
            load: self.load.clone(),
            scalar: self.scalar.clone(),
            fixed: None,
            ..*self
        }
    }

    /// Bits of a word of the alu, root and move beats, of their parts, and of the load beat.
    pub(crate) fn beat(&self, name: &str) -> u32 {
        match name {
            "model_address" => self.model,
            "data_address" => self.data,
            pad if pad.ends_with("_address") => self.temporary,
            "destination" => self.alu.field("destination_base").bits,
            "table_base" | "table_log2" | "segment_shift" | "segments" => self.root.field(name).bits,
            counter if counter.starts_with("counter") => self.counter(),
            "picked_row" | "picked_column" => self.place(),
            "index" => self.table_index,
            "chunk" => ENTRY_CHUNK_BITS,
            "data" => CHUNK_BITS,
            _ => self.alu.field(name).bits,
        }
    }

    /// Bits of a loop counter.
    pub(crate) fn counter(&self) -> u32 {
        self.alu.field("count5").bits
    }

    /// Of the number of a row, a column or a group of PEs that a beat of the input stream goes to, with one number more, which is none.
    pub(crate) fn place(&self) -> u32 {
        let most = self.rows.max(self.columns).max(self.groups);
        (u32::BITS - most.leading_zeros()).min(self.counter())
    }
}
