//! The AXI shell: the map of its AXI4-Lite port, and the geometry of its streams. One table for hardware, drivers and docs/registers.md.
//!
//! The first registers are laid out as those of high-level synthesis tools, so that generic drivers start a run and wait for its
//! end. The whole control port stands behind them: the word at control address `a` is at byte [`WINDOW`]` + 4 * a`.

use crate::link::word_bytes;
use crate::machine::Machine;
use crate::registers::{self, Access};

/// Address bits of the AXI4-Lite port (bytes).
pub const ADDRESS_BITS: u32 = 23;
/// Byte address of the control port's word 0.
pub const WINDOW: u32 = 1 << 22;
/// Version of this map.
pub const VERSION: u32 = 1;
/// Most bits of one transfer of the input stream: the width of the memory port behind the DMA.
pub const MOST_TRANSFER_BITS: u32 = 128;

/// Bit 0 of `ctrl`: start a run.
pub const CTRL_START: u32 = 1;
/// Bit 1 of `ctrl`: a run has ended since this register was read last.
pub const CTRL_DONE: u32 = 2;
/// Bit 2 of `ctrl`: no run.
pub const CTRL_IDLE: u32 = 4;
/// Bit 3 of `ctrl`: as bit 1.
pub const CTRL_READY: u32 = 8;

/// What is behind an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// A register of the shell.
    Shell,
    /// A register of the grid's control port.
    Grid(u32),
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxiRegister {
    /// Byte offset.
    pub offset: u32,
    /// Name in drivers and on pages.
    pub name: &'static str,
    /// Access.
    pub access: Access,
    /// Where it is.
    pub behind: Behind,
    /// What it holds.
    pub meaning: &'static str,
}

const fn row(offset: u32, name: &'static str, access: Access, behind: Behind, meaning: &'static str) -> AxiRegister {
    AxiRegister { offset, name, access, behind, meaning }
}

/// Every register below [`WINDOW`].
pub const REGISTERS: [AxiRegister; 16] = {
    use Access::{Read, ReadWrite};
    use Behind::{Grid, Shell};
    [
        row(
            0x00,
            "ctrl",
            ReadWrite,
            Shell,
            "bit 0 start (write 1 while idle); bit 1 done, cleared by reading; bit 2 idle; bit 3 as bit 1",
        ),
        row(0x04, "gie", ReadWrite, Shell, "bit 0 lets the interrupt out"),
        row(0x08, "ier", ReadWrite, Shell, "bit 0 interrupt when a run is done, bit 1 the same"),
        row(0x0c, "isr", ReadWrite, Shell, "bits 0 and 1: a run is done; writing 1 clears"),
        row(0x10, "id", Read, Grid(registers::IDENTITY), "0x54410001"),
        row(0x14, "version", Read, Shell, "version of this map, 1"),
        row(0x18, "grid", Read, Grid(registers::GRID), "pus in bits 31..16, pes_per_pu in bits 15..0"),
        row(0x1c, "cycles", Read, Grid(registers::CYCLES_LOW), "cycles of the last run, low half"),
        row(0x20, "cycles_high", Read, Grid(registers::CYCLES_HIGH), "cycles of the last run, high half"),
        row(0x24, "steps", ReadWrite, Grid(registers::STEPS), "steps of a run"),
        row(0x28, "run_flags", ReadWrite, Shell, "bit 0 load the model first, bit 1 emit the model at the end"),
        row(
            0x2c,
            "status",
            Read,
            Shell,
            "bit 0 in the last run a value was clipped to the word; since the last read of this register: bit 1 an input transfer had unused bytes, bit 2 an input packet ended inside a beat",
        ),
        row(
            0x30,
            "output_words",
            ReadWrite,
            Shell,
            "words after which the output stream ends its packet (tlast); 0 = never",
        ),
        row(0x34, "widths", Read, Grid(registers::WIDTHS), "word in bits 31..16, accumulator in bits 15..0"),
        row(
            0x38,
            "depths",
            Read,
            Grid(registers::DEPTHS),
            "log2 of the depths: model, data, temporary, program, 8 bits each, model lowest",
        ),
        row(
            0x3c,
            "streams",
            Read,
            Grid(registers::STREAMS),
            "words of a beat, log2 of the output FIFO, log2 of the table entries (0 = none), 8 bits each, words lowest; bit 24: there are dividers, bit 25: accumulators and trees compare, bit 26: there is a scalar unit; bits 31..27: log2 of the gradient pads' depth (0 = none)",
        ),
    ]
};

/// How the words of a beat travel over an AXI4-Stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bits of one word on the stream: 8, 16 or 32; a narrower word is in its low bits.
    pub lane: u32,
    /// Words of one transfer, a power of two.
    pub words: u32,
    /// Transfers of one beat.
    pub transfers: u32,
}

impl Geometry {
    /// Of a grid's input: as wide as divides a beat and fits the memory port.
    pub fn of(machine: &Machine) -> Geometry {
        let lane = 8 * word_bytes(machine.word()) as u32;
        let beat = machine.stream_words();
        let divisor = 1 << beat.trailing_zeros();
        let words = u32::min(divisor, MOST_TRANSFER_BITS / lane);
        Geometry { lane, words, transfers: beat / words }
    }

    /// Bits of one transfer.
    pub fn bits(&self) -> u32 {
        self.lane * self.words
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::ReadWrite => "read, write",
    }
}

/// The reference page, docs/registers.md.
pub fn page() -> String {
    let mut page = format!(
        "# Registers

Generated from `arch::registers` and `arch::axi`; a test compares. docs/machine.md section 7 says what the control port does with them.

## AXI4-Lite

The shell for Zynq (`tabla_axi`). Offsets are bytes; an access is 32 bits. The control port's word `a` is at byte {WINDOW:#x} + 4 * a.
Writes with all byte strobes are carried out, writes with none change nothing. Other writes, writes to what can only be read, and all
accesses to places that are not listed are answered with SLVERR and change nothing; such reads give 0. Programs and tables cannot be read.

| offset | name | access | |
|---|---|---|---|
"
    );
    for register in REGISTERS {
        page += &format!(
            "| {:#04x} | {} | {} | {} |\n",
            register.offset,
            register.name,
            access(register.access),
            register.meaning
        );
    }
    page += "
## Control port, region 0

| number | AXI offset | name | access | |
|---|---|---|---|---|
";
    for register in registers::REGISTERS {
        page += &format!(
            "| {:#04x} | {:#x} | {} | {} | {} |\n",
            register.number,
            WINDOW + 4 * register.number,
            register.name,
            access(register.access),
            register.meaning
        );
    }
    page += "
## Control port, programs and tables

| region | AXI offset | holds | word |
|---|---|---|---|
";
    for (region, name, index) in [
        (registers::Region::Alu, "program of the alu stream", registers::INSTRUCTION_CHUNKS),
        (registers::Region::Root, "program of the root stream", registers::INSTRUCTION_CHUNKS),
        (registers::Region::Move, "program of the move stream", registers::INSTRUCTION_CHUNKS),
        (registers::Region::Load, "program of the load stream", registers::INSTRUCTION_CHUNKS),
        (registers::Region::Tables, "function tables", registers::ENTRY_CHUNKS),
        (
            registers::Region::Scalar,
            "program of the scalar stream, where there is a scalar unit",
            registers::INSTRUCTION_CHUNKS,
        ),
    ] {
        page +=
            &format!("| {} | {:#x} | {name} | number * {index} + chunk |\n", region as u32, WINDOW + 4 * region.base());
    }
    page + "
## Streams

`s_axis` carries the input: each word in 8, 16 or 32 bits, as few as hold it; a transfer has as many words as are a power of two, divide a
beat and take at most 128 bits; lane 0 comes first, lowest. Packets (`tlast`) end with beats; what is missing of a beat, and unused bytes (`tkeep`), count as 0 and are
told in `status`. `m_axis` carries one word per transfer,
sign-extended; `output_words` says where its packets end.
"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineSpec;

    #[test]
    fn the_page_is_fresh() {
        let expected = page();
        let found = include_str!("../../docs/registers.md");
        for (line, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "docs/registers.md:{}", line + 1);
        }
        assert_eq!(found.len(), expected.len(), "docs/registers.md has all lines");
    }

    #[test]
    fn offsets_are_words_in_order() {
        assert!(REGISTERS.iter().enumerate().all(|(n, register)| register.offset == 4 * n as u32));
    }

    #[test]
    fn transfers_divide_beats() {
        let geometry = |pes, word, stream_words| {
            let spec = MachineSpec {
                pus: Some(1),
                pes_per_pu: Some(pes),
                word: Some(word),
                stream_words: Some(stream_words),
                ..MachineSpec::default()
            };
            let geometry = Geometry::of(&Machine::try_from(spec).unwrap());
            (geometry.lane, geometry.words, geometry.transfers)
        };
        assert_eq!(geometry(16, 16, 16), (16, 8, 2));
        assert_eq!(geometry(16, 24, 16), (32, 4, 4));
        assert_eq!(geometry(5, 8, 5), (8, 1, 5));
        assert_eq!(geometry(12, 9, 12), (16, 4, 3));
        assert_eq!(geometry(2, 32, 1), (32, 1, 1));
    }
}
