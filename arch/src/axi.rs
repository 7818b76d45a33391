//! The AXI shell: the map of its AXI4-Lite port, and the geometry of its streams. One table for hardware, drivers and docs/registers.md.
//!
//! The first registers are laid out as those of high-level synthesis tools, so that generic drivers start a run and wait for its
//! end. The whole control port stands behind them: the word at control address `a` is at byte [`WINDOW`]` + 4 * a`.

mod ports;

pub use ports::{AxiPort, Interface, ports};

use crate::link::word_bytes;
use crate::machine::Machine;
use crate::registers::{self, Access, REGION_INSTRUCTIONS, Region, UPPER};

/// Address bits of the AXI4-Lite port (bytes).
pub const ADDRESS_BITS: u32 = 23;
/// Byte address of the control port's word 0.
pub const WINDOW: u32 = 1 << 22;
/// Version of this map.
pub const VERSION: u32 = 2;
/// Bits of a memory port, and of the DMA behind it.
pub const PORT_BITS: u32 = 128;
/// Most memory ports that feed the input: those of a ZCU102 for high performance.
pub const MOST_PORTS: u32 = 4;

/// Bit 0 of `ctrl`: start a run.
pub const CTRL_START: u32 = 1;
/// Bit 1 of `ctrl`: a run has ended since this register was read last.
pub const CTRL_DONE: u32 = 2;
/// Bit 2 of `ctrl`: no run.
pub const CTRL_IDLE: u32 = 4;

/// Bit 0 of `run_flags`: load the model first. The bits are those of a start behind its lowest one.
pub const RUN_LOAD_MODEL: u32 = registers::START_LOAD_MODEL >> 1;
/// Bit 1 of `run_flags`: emit the model at the end.
pub const RUN_EMIT_MODEL: u32 = registers::START_EMIT_MODEL >> 1;
/// Bit 3 of `run_flags`: go on with the batch.
pub const RUN_GO_ON: u32 = registers::START_GO_ON >> 1;

/// Bit 0 of `stop`: end the run.
pub const STOP_ABORT: u32 = 1;
/// Bit 1 of `stop`: reset the grid and the registers of the shell.
pub const STOP_RESET: u32 = 2;
/// Of `status`: the last run clipped a result to its word.
pub const STATUS_SATURATED: u32 = 1;
/// Bits 1 to 3 of `status`: something is wrong with the input stream.
pub const STATUS_INPUT: u32 = 0b1110;
/// Bit 4 of `status`: words wait at the output stream.
pub const STATUS_OUTPUT_WAITS: u32 = 16;

/// Why something did not happen, or ended: values of `cause`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A start without a program.
    NotLoaded = 1,
    /// A start during a run.
    Busy = 2,
    /// A start while words of an aborted run wait at the output stream.
    OutputWaits = 3,
    /// A write into the grid during a run.
    WriteWhileBusy = 4,
    /// An access that the map does not have.
    NoAccess = 5,
    /// The run was aborted.
    Aborted = 6,
    /// The run was aborted by the watchdog.
    Watchdog = 7,
}

impl Cause {
    /// All of them, with name, meaning, and what `cause_place` then holds.
    pub const ALL: [(Cause, &'static str, &'static str, &'static str); 7] = {
        const ADDRESS: &str = "the address of the write";
        const WAITS: &str = "bit 0: it waited for input, bit 1: for its output to be taken";
        [
            (Cause::NotLoaded, "not_loaded", "a start was refused: no program is loaded", ADDRESS),
            (Cause::Busy, "busy", "a start was refused: a run goes on", ADDRESS),
            (
                Cause::OutputWaits,
                "output_waits",
                "a start was refused: words of an aborted run wait at the output stream",
                ADDRESS,
            ),
            (Cause::WriteWhileBusy, "write_while_busy", "a write through the control port came during a run", ADDRESS),
            (
                Cause::NoAccess,
                "no_access",
                "there is no such register, or not for writing, or not for a part of a word",
                "the address; bit 31: of a read",
            ),
            (Cause::Aborted, "aborted", "the run was aborted", WAITS),
            (Cause::Watchdog, "watchdog", "the run was aborted by the watchdog", WAITS),
        ]
    };
}

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
pub const REGISTERS: [AxiRegister; 20] = {
    use Access::{Read, ReadWrite};
    use Behind::{Grid, Shell};
    [
        row(
            0x00,
            "ctrl",
            ReadWrite,
            Shell,
            "bit 0 start, refused where it cannot work; bit 1 done, cleared by reading and by a start; bit 2 idle; bit 3 as bit 1",
        ),
        row(0x04, "gie", ReadWrite, Shell, "bit 0 lets the interrupt out"),
        row(
            0x08,
            "ier",
            ReadWrite,
            Shell,
            "bit 0 interrupt when a run is done, bit 1 the same, bit 2 when there is a cause",
        ),
        row(0x0c, "isr", ReadWrite, Shell, "bits 0 and 1: a run is done, bit 2: there is a cause; writing 1 clears"),
        row(0x10, "id", Read, Grid(registers::IDENTITY), "0x54410002"),
        row(0x14, "version", Read, Shell, "version of this map, 2"),
        row(0x18, "grid", Read, Grid(registers::GRID), "pus in bits 31..16, pes_per_pu in bits 15..0"),
        row(0x1c, "cycles", Read, Grid(registers::CYCLES_LOW), "cycles of the last run, low half"),
        row(0x20, "cycles_high", Read, Grid(registers::CYCLES_HIGH), "cycles of the last run, high half"),
        row(0x24, "steps", ReadWrite, Grid(registers::STEPS), "steps of a run"),
        row(
            0x28,
            "run_flags",
            ReadWrite,
            Shell,
            "bit 0 load the model first, bit 1 emit the model at the end, bit 3 go on with the batch",
        ),
        row(
            0x2c,
            "status",
            Read,
            Shell,
            "bit 0 in the last run a value was clipped to the word; since the last read of this register: bit 1 an input transfer had unused bytes, bit 2 an input packet ended inside a beat, bit 3 input was thrown away; bit 4 words wait at the output stream",
        ),
        row(
            0x30,
            "output_words",
            ReadWrite,
            Shell,
            "words after which the output stream of the next run ends its packet (tlast), a multiple of those of a beat; 0 = never",
        ),
        row(
            0x34,
            "widths",
            Read,
            Grid(registers::WIDTHS),
            "1 if pads have output registers (31), 1 if sums of a batch leave and come back (30), log2 of the most transfers in which an emitting beat leaves in bits 29..26, 1 if PEs square differences (25), 1 if rows have buses to the columns (24), 1 if negative results become 0 (23), word in bits 22..16, 1 if limits (10), loops of an instruction less 4 in bits 9..8, accumulator in bits 7..0",
        ),
        row(
            0x38,
            "depths",
            Read,
            Grid(registers::DEPTHS),
            "depths, 8 bits each, model lowest, data, temporary, program: log2 in bits 4..0, eighths more in 7..5",
        ),
        row(
            0x3c,
            "streams",
            Read,
            Grid(registers::STREAMS),
            "words of an input beat in bits 7..0, log2 of the beats of the output FIFO in 11..8, log2 of the words of an output beat in 15..12, log2 of the table entries (0 = none) in 23..16; bit 24: there are dividers, bit 25: accumulators and trees compare, bit 26: there is a scalar unit; bits 31..27: log2 of the gradient pads' depth (0 = none)",
        ),
        row(
            0x40,
            "stop",
            ReadWrite,
            Shell,
            "write: bit 0 abort the run, bit 1 reset grid and registers; the next access is answered when that is over",
        ),
        row(
            0x44,
            "watchdog",
            ReadWrite,
            Shell,
            "cycles without a transfer on either stream after which a run is aborted; 0 = never",
        ),
        row(0x48, "cause", ReadWrite, Shell, "first cause since this register was written, see below; 0 = none"),
        row(0x4c, "cause_place", Read, Shell, "where that was"),
    ]
};

/// How the words of a beat travel over an AXI4-Stream. Parts of a transfer of the input may come from several memory ports, lane 0 from the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bits of one word on the stream: 8, 16 or 32; a narrower word is in its low bits.
    pub lane: u32,
    /// Words of one transfer of the input, a power of two.
    pub words: u32,
    /// Transfers of one beat of the input.
    pub transfers: u32,
    /// Words of one transfer of the output, which is a beat.
    pub outputs: u32,
}

impl Geometry {
    /// Of a grid: a transfer of the input is as wide as divides a beat and as memory ports can fill.
    pub fn of(machine: &Machine) -> Geometry {
        let lane = 8 * word_bytes(machine.word()) as u32;
        let beat = machine.stream_words();
        let divisor = 1 << beat.trailing_zeros();
        let words = u32::min(divisor, MOST_PORTS * PORT_BITS / lane);
        Geometry { lane, words, transfers: beat / words, outputs: machine.output_words() }
    }

    /// Bits of one transfer of the input.
    pub fn bits(&self) -> u32 {
        self.lane * self.words
    }

    /// Memory ports that fill a transfer of the input in a cycle, each an equal part of it.
    pub fn ports(&self) -> u32 {
        self.bits().div_ceil(PORT_BITS)
    }

    /// Bits of one transfer of the output.
    pub fn output_bits(&self) -> u32 {
        self.lane * self.outputs
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::ReadWrite => "read, write",
    }
}

/// The reference page, docs/registers.md.
#[expect(clippy::too_many_lines, reason = "one page, in the order in which it is read")]
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
    for (region, name) in Region::ALL.into_iter().filter(|(region, _)| *region != Region::Registers) {
        let (number, offset, chunks) = (region as u32, WINDOW + 4 * region.base(), region.chunks());
        page += &format!("| {number} | {offset:#x} | {name} | number * {chunks} + chunk |\n");
    }
    page += &format!(
        "\nOf a program with more than {REGION_INSTRUCTIONS} instructions the others lie in the region with the number {UPPER} above.\n"
    );
    page += "
## A way out

An access that is refused, a start that cannot work and a run that does not end leave a cause; the first one stays until `cause` is written.

| cause | name | meaning | cause_place |
|---|---|---|---|
";
    for (cause, name, meaning, place) in Cause::ALL {
        page += &format!("| {} | {name} | {meaning} | {place} |\n", cause as u32);
    }
    page + "
A program counts as loaded once `step_length` is written (2 or more), and no longer when a program or table is written: so a program
that is loaded in part cannot be started. `image.control_writes` and microcode.hex have that order.

**Abort** ends a run in 20 cycles, whatever run and streams are doing; programs, tables and registers stay, what pads hold is lost: the next
run loads the model. **Reset** (`stop` bit 1) does the same, and all registers are as after `s_axi_aresetn`: a program has to be loaded
again. The **watchdog** aborts by itself.

**Input** that comes while there is no run, up to the write that starts one, is taken and thrown away: start first, then send. A run that is aborted
throws away what it has not used.

**Output** that is offered stays until it is taken. A packet that a run leaves open when it is aborted gets one more word, 0, with `tlast`. While any of
that waits (`status` bit 4) no run starts. During a run writes through the control port are refused; `output_words`, `steps` and `run_flags` are
those of the start.

## Streams

`s_axis` carries the input: each word in 8, 16 or 32 bits, as few as hold it; a transfer has as many words as are a power of two, divide a
beat and take at most 512 bits; lane 0 comes first, lowest. Where a transfer has more than 128 bits, each 128 may come from a memory port of their own. Packets (`tlast`) end with beats; what is missing of a beat, and unused bytes (`tkeep`), count as 0 and are
told in `status`. `m_axis` carries a beat per transfer: as many words as `output_words` of the `[machine]` table says, lane 0 lowest, each sign-extended. The
register `output_words` says after how many words, a multiple of those of a beat, its packets end.
"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineSpec;

    #[test]
    fn the_page_is_fresh() {
        const COMMAND: &str = "cargo run -p arch --example registers > docs/registers.md";
        let expected = page();
        let found = include_str!("../../docs/registers.md");
        for (line, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "docs/registers.md:{}: {COMMAND}", line + 1);
        }
        assert_eq!(found.len(), expected.len(), "{COMMAND}");
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
            (geometry.lane, geometry.words, geometry.transfers, geometry.ports())
        };
        assert_eq!(geometry(16, 16, 16), (16, 16, 1, 2));
        assert_eq!(geometry(32, 16, 32), (16, 32, 1, 4));
        assert_eq!(geometry(64, 16, 64), (16, 32, 2, 4));
        assert_eq!(geometry(24, 16, 24), (16, 8, 3, 1));
        assert_eq!(geometry(16, 24, 16), (32, 16, 1, 4));
        assert_eq!(geometry(5, 8, 5), (8, 1, 5, 1));
        assert_eq!(geometry(12, 9, 12), (16, 4, 3, 1));
        assert_eq!(geometry(2, 32, 1), (32, 1, 1, 1));
    }
}
