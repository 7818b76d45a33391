//! The control port's map: one table for the RTL, the simulators, drivers and the manual.

/// Address bits of the control port.
pub const ADDRESS_BITS: u32 = 20;

/// Regions: address bits 19..16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// The registers below.
    Registers = 0,
    /// Program of the alu stream: instruction * 32 + chunk.
    Alu = 1,
    /// Program of the root stream.
    Root = 2,
    /// Program of the move stream.
    Move = 3,
    /// Program of the load stream.
    Load = 4,
    /// Function tables: entry * 4 + chunk.
    Tables = 5,
}

impl Region {
    /// First address of the region.
    pub fn base(self) -> u32 {
        (self as u32) << 16
    }
}

/// Chunks (32 bits) reserved per instruction.
pub const INSTRUCTION_CHUNKS: u32 = 32;
/// Chunks (32 bits) reserved per table entry.
pub const ENTRY_CHUNKS: u32 = 4;

/// Write: bit 0 start, bit 1 load the model first, bit 2 emit the model at the end.
/// Read: bit 0 busy, bit 1 done (until the next start), bit 2 saturated (until the next start).
pub const CONTROL: u32 = 0x00;
/// Steps of a run.
pub const STEPS: u32 = 0x01;
/// Cycles of the run, low 32 bits (read only).
pub const CYCLES_LOW: u32 = 0x02;
/// Cycles of the run, high 32 bits (read only).
pub const CYCLES_HIGH: u32 = 0x03;
/// Cycles of one step.
pub const STEP_LENGTH: u32 = 0x04;
/// Entry of the step in the alu program. All entries: bit 31 enable, bits 15..0 instruction number.
pub const ENTRY_STEP_ALU: u32 = 0x05;
/// Entry of the step in the root program.
pub const ENTRY_STEP_ROOT: u32 = 0x06;
/// Entry of the step in the move program.
pub const ENTRY_STEP_MOVE: u32 = 0x07;
/// Entry of one step's input in the load program.
pub const ENTRY_STEP_LOAD: u32 = 0x08;
/// Entry of the emission after each step in the alu program.
pub const ENTRY_EMIT_STEP: u32 = 0x09;
/// Entry of the emission of the model in the alu program.
pub const ENTRY_EMIT_MODEL: u32 = 0x0a;
/// Entry of the model's input in the load program.
pub const ENTRY_LOAD_MODEL: u32 = 0x0b;
/// Read only: [`IDENTITY_VALUE`].
pub const IDENTITY: u32 = 0x10;
/// Read only: pus in bits 31..16, `pes_per_pu` in bits 15..0.
pub const GRID: u32 = 0x11;
/// Read only: word in bits 31..16, accumulator in bits 15..0.
pub const WIDTHS: u32 = 0x12;

/// Value of [`IDENTITY`].
pub const IDENTITY_VALUE: u32 = 0x5441_0001;
/// Bit 0 of [`CONTROL`], written.
pub const START: u32 = 1;
/// Bit 1 of [`CONTROL`], written.
pub const START_LOAD_MODEL: u32 = 2;
/// Bit 2 of [`CONTROL`], written.
pub const START_EMIT_MODEL: u32 = 4;
/// Bit 0 of [`CONTROL`], read.
pub const BUSY: u32 = 1;
/// Bit 1 of [`CONTROL`], read.
pub const DONE: u32 = 2;
/// Bit 2 of [`CONTROL`], read.
pub const SATURATED: u32 = 4;
/// Enable bit of an entry register.
pub const ENTRY_ENABLE: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    /// The page that users of the Verilog read has the same numbers.
    #[test]
    fn the_manual_has_these_numbers() {
        let page = include_str!("../../docs/machine.md");
        for (number, name) in [
            (CONTROL, "control"),
            (STEPS, "steps"),
            (STEP_LENGTH, "step_length"),
            (ENTRY_STEP_LOAD, "entry_step_load"),
            (ENTRY_LOAD_MODEL, "entry_load_model"),
            (IDENTITY, "identity"),
            (GRID, "grid"),
            (WIDTHS, "widths"),
        ] {
            assert!(page.contains(&format!("| {number:#04x} | {name} |")), "{number:#04x} {name}");
        }
        let entries =
            format!("| {ENTRY_STEP_ALU:#04x}, {ENTRY_STEP_ROOT:#04x}, {ENTRY_STEP_MOVE:#04x} | entry_step_alu,");
        assert!(page.contains(&entries));
        assert!(page.contains(&format!("| {ENTRY_EMIT_STEP:#04x}, {ENTRY_EMIT_MODEL:#04x} | entry_emit_step,")));
        assert!(page.contains(&format!("{IDENTITY_VALUE:#x}")));
    }
}
