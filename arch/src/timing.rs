//! Every latency of a grid, in cycles, as docs/machine.md defines them.
//!
//! All are relative to the cycle in which a beat reaches its unit, which is the same number of cycles
//! ([`DISTRIBUTION`]) after its issue for the static streams; so they hold between issue cycles, too.

use crate::isa::RootFunction;
use crate::machine::Machine;

/// Cycles from the sequencer's issue of a beat to the PEs, roots and bus writers.
pub const DISTRIBUTION: u64 = 4;

/// Cycles from an ALU beat to the cycle in which its result is at the write port.
pub const ALU_WRITE: u64 = 7;

/// By how many cycles pads are read before the cycle of their beat. One with an output register takes the address that is still on its way, so
/// that its word comes when others do; what is written can be read so much later.
pub fn read_ahead(machine: &Machine) -> u64 {
    machine.pad_register().into()
}

/// Cycles from an ALU beat to the first ALU beat that may read its result.
pub fn alu_to_alu(machine: &Machine) -> u64 {
    ALU_WRITE + 1 + read_ahead(machine)
}

/// Cycles from an ALU beat to its sum in the accumulator, which the row tree adds up.
pub const ALU_TREE: u64 = 4;

/// Cycles from an ALU beat to its read of the gradient pad: the word is needed where the sum starts.
pub const PARK_READ: u64 = 1;

/// Cycles from an ALU beat to its accumulator at the write port of the gradient pad.
pub const PARK_WRITE: u64 = ALU_TREE;

/// Cycles from an ALU beat to the first ALU beat that may resume the sum it parked.
pub fn park_to_park(machine: &Machine) -> u64 {
    PARK_WRITE - PARK_READ + 1 + read_ahead(machine)
}

/// Cycles from a scalar beat to the move beat that writes the result it sent: what was at the unit's write port is in the global bus
/// register.
pub const SCALAR_TO_MOVE: u64 = ALU_WRITE + 1;

/// Cycles from a move beat to the first ALU beat that may read what it wrote.
pub fn move_to_alu(machine: &Machine) -> u64 {
    1 + read_ahead(machine)
}

/// Cycles from a stream's last beat to the first one that may follow in the next step, and so from the cycle in which the timer shows
/// [`crate::registers::TILE_END`] to the end of a tile: the beat, one cycle of a stream that is idle, and one in which it has its first
/// instruction again.
pub const TILE_END: u64 = 3;

/// Cycles from the transfer of a beat of the input stream to the cycle in which it is at the pads' write ports.
pub const LOAD_WRITE: u64 = DISTRIBUTION;

/// Cycles from an address at the control port to its register at `control_read`: the address is held, one of each four registers is
/// taken, and then one of those. The value is that of the cycle after the address.
pub const CONTROL_READ: u64 = 3;

/// Which root unit a value goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// The root of each PU's row tree.
    Row,
    /// The root of the global tree.
    Global,
    /// The roots of the rows' trees, where their results go to the columns: row r and column c meet where both are the same modulo
    /// [`Machine::column_bus_count`].
    Across,
}

/// Cycles from an ALU beat to the root beat that consumes its sum.
pub fn alu_to_root(machine: &Machine, unit: Unit) -> u64 {
    let row = ALU_TREE + u64::from(machine.row_levels());
    match unit {
        Unit::Row | Unit::Across => row,
        Unit::Global => row + u64::from(machine.global_levels()),
    }
}

/// Cycles from a root beat to the move beat that writes its result.
pub fn root_to_move(unit: Unit, function: bool) -> u64 {
    let root = if function { 10 } else { 3 };
    match unit {
        Unit::Row => root,
        Unit::Global => root + 1,
        // Both have a register in each PU.
        Unit::Across => root_to_move(Unit::Global, function),
    }
}

/// Cycles from a root beat to the move beat that writes its result, whatever the root does with it.
pub fn root_result(machine: &Machine, unit: Unit, function: Option<&RootFunction>) -> u64 {
    match function {
        None => root_to_move(unit, false),
        Some(RootFunction::Table(_)) => root_to_move(unit, true),
        // Instead of shifting and rounding: take apart, sizes, 2W quotient bits, round.
        Some(RootFunction::Divide(_)) => root_to_move(unit, false) + 2 * u64::from(machine.word()) + 1,
    }
}

/// Fewest cycles from one root beat that divides to the next: one divider works on one quotient at a time.
pub fn division_interval(machine: &Machine) -> u64 {
    2 * u64::from(machine.word()) + 1
}

/// Cycles from an emitting ALU beat at the PEs to the push into the output FIFO.
pub fn alu_to_output(machine: &Machine) -> u64 {
    if machine.lane_for_each() { ALU_TREE } else { alu_to_root(machine, Unit::Row) + u64::from(machine.lane_levels()) }
}
