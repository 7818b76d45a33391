//! Rows of a sample store in an SDRAM, behind `LiteDRAM`'s controller (docs/store.md).
//!
//!     sample_store ──▶ sdram_memory ──▶ sdram_core (LiteDRAM, made when it is built) ──▶ pins ──▶ SDRAM, or sdram_model
//!
//! Nothing here knows `LiteDRAM` but by what its generator says: [`Sdram::core`] is its text, [`Sdram::writes`] how it is started.

use super::{STORED_TOP, Store, states, stored};
use crate::Design;
use arch::Machine;
use arch::rtl::{Direction, Port, Rtl};
use arch::store::row_in_words;

/// Name of a grid with its store and the model of its SDRAM.
pub const SIMULATED_TOP: &str = "simulated_tabla";

const START: &str = include_str!("sdram/sdram_start.v");
const TEST: &str = include_str!("sdram/sdram_test.v");
const ROWS: &str = include_str!("sdram/sdram_rows.v");
const AHEAD: &str = include_str!("sdram/store_ahead.v");
const MEMORY: &str = include_str!("sdram/sdram_memory.v");
const STORE: &str = include_str!("sdram/store_sdram.v");
const MODEL: &str = include_str!("sdram/sdram_model.v");

/// An SDRAM and its controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sdram {
    /// The module `sdram_core`.
    pub core: String,
    /// What is written to the control port of the core: address, data, cycles to wait afterwards.
    pub writes: Vec<(u32, u32, u32)>,
    /// Bits of the number of a bank.
    pub bank_bits: u32,
    /// Bits of the number of a row of a bank.
    pub row_bits: u32,
    /// Bits of the number of a word of such a row.
    pub column_bits: u32,
    /// Bits of a word.
    pub data_bits: u32,
    /// Words that are tested at the start, one after the other: the logarithm.
    pub tested: u32,
    /// Makes `sdram_clock` from `clock`.
    pub clock: String,
    /// What answers in a simulation.
    pub model: Option<Model>,
}

/// What the model of an SDRAM must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Cycles that words need on their way over the board.
    pub delay: u32,
    /// The word in which a bit is stuck.
    pub stuck: Option<u32>,
    /// Times of the part.
    pub timing: Timing,
}

/// Least times of an SDRAM, in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From opening a row to its first word.
    pub rcd: u32,
    /// From closing a row to opening another one.
    pub rp: u32,
    /// From opening a row to closing it.
    pub ras: u32,
    /// From opening a row to opening the next one of the bank.
    pub rc: u32,
    /// The same of any bank.
    pub rrd: u32,
    /// Of a refresh.
    pub rfc: u32,
    /// From a written word to closing its row.
    pub wr: u32,
    /// At most, from one refresh to the next.
    pub refi: u32,
}

impl Sdram {
    /// Bits of the address of a word.
    pub fn address_bits(&self) -> u32 {
        self.bank_bits + self.row_bits + self.column_bits
    }

    /// Rows that it holds, each as wide as a beat.
    pub fn rows(&self, machine: &Machine) -> u32 {
        1 << (self.address_bits() - row_in_words(machine, self.data_bits).1)
    }

    /// The pins.
    pub fn pins(&self) -> Vec<Port> {
        use Direction::{Both, Output};
        let pins = [
            ("clock", Output, 1),
            ("a", Output, self.row_bits),
            ("ba", Output, self.bank_bits),
            ("ras_n", Output, 1),
            ("cas_n", Output, 1),
            ("we_n", Output, 1),
            ("cs_n", Output, 1),
            ("cke", Output, 1),
            ("dm", Output, self.data_bits / 8),
            ("dq", Both, self.data_bits),
        ];
        pins.map(|(name, direction, width)| Port { name: format!("sdram_{name}"), direction, width }).into()
    }

    /// What a store in an SDRAM has beside the ports of one in block memory.
    pub(super) fn ports(&self) -> Vec<Port> {
        let power_on = Port { name: "power_on".to_owned(), direction: Direction::Input, width: 1 };
        std::iter::once(power_on).chain(self.pins()).collect()
    }

    /// Declarations of the pins, and of a reset before them, before other ports.
    pub(super) fn declared(&self) -> String {
        declarations(&self.ports())
    }

    /// The memory of a `sample_store`.
    pub(super) fn memory(&self) -> String {
        STORE.replace("//CONNECTED", &connected(self.pins()))
    }

    /// The modules of the memory.
    pub(super) fn modules(&self, machine: &Machine) -> String {
        let (words, log2_words) = row_in_words(machine, self.data_bits);
        let numbers = [
            ("DATA", self.data_bits),
            ("PLACE", self.address_bits()),
            ("TESTED", self.tested.min(self.address_bits())),
            ("WORDS", words),
            ("LOG2_WORDS", log2_words),
        ];
        let numbers = numbers.map(|(name, value)| format!("    localparam {name} = {value};\n"));
        let controller = self.pins().into_iter().filter(|pin| pin.name != "sdram_clock").collect();
        let memory = MEMORY
            .replace("//PINS\n", &declarations(&self.pins()))
            .replace("//CONSTANTS\n", &(numbers.concat() + &states(MEMORY)))
            .replace("//CONNECTED", &(connected(controller) + ","))
            .replace("//CLOCK\n", &self.clock);
        let write = |(step, (address, data, wait)): (usize, &(u32, u32, u32))| {
            format!("            8'd{step}: {{write, waits}} = {{30'd{address}, 32'd{data}, 32'd{wait}}};")
        };
        let writes: Vec<String> = self.writes.iter().enumerate().map(write).collect();
        let start = START.replace("//WRITES", &writes.join("\n"));
        [&start, TEST, ROWS, AHEAD, &self.core, &memory].join("\n")
    }

    /// The text of the model, and an instance at wires that have the names of the pins, which it declares. `None`: the memory is a real one.
    pub(crate) fn simulation(&self) -> Option<(String, String)> {
        let model = self.model?;
        let wire = |pin: Port| match pin.width {
            1 => format!("    wire {};\n", pin.name),
            width => format!("    wire [{}:0] {};\n", width - 1, pin.name),
        };
        let Timing { rcd, rp, ras, rc, rrd, rfc, wr, refi } = model.timing;
        let stuck = model.stuck.map_or_else(|| "-1".to_owned(), |word| word.to_string());
        let instance = format!(
            "{}    sdram_model #(
        .BANK_BITS({}), .ROW_BITS({}), .COLUMN_BITS({}), .DATA({}), .DELAY({}), .STUCK({stuck}),
        .RCD({rcd}), .RP({rp}), .RAS({ras}), .RC({rc}), .RRD({rrd}), .RFC({rfc}), .WR({wr}), .REFI({refi})
    ) sdram (
        .clock(sdram_clock), .cke(sdram_cke), .cs_n(sdram_cs_n), .ras_n(sdram_ras_n), .cas_n(sdram_cas_n), .we_n(sdram_we_n),
        .ba(sdram_ba), .a(sdram_a), .dm(sdram_dm), .dq(sdram_dq)
    );
",
            self.pins().into_iter().map(wire).collect::<String>(),
            self.bank_bits,
            self.row_bits,
            self.column_bits,
            self.data_bits,
            model.delay,
        );
        Some((MODEL.to_owned(), instance))
    }
}

/// Ports as connections to what has their names.
pub(crate) fn connected(ports: Vec<Port>) -> String {
    let connections: Vec<String> = ports.into_iter().map(|port| format!(".{0}({0})", port.name)).collect();
    connections.chunks(6).map(|line| format!("        {}", line.join(", "))).collect::<Vec<_>>().join(",\n")
}

/// Declarations before others.
pub(crate) fn declarations(ports: &[Port]) -> String {
    let line = |port: &Port| {
        let direction = match port.direction {
            Direction::Input => "input ",
            Direction::Output => "output",
            Direction::Both => "inout ",
        };
        let range = if port.width == 1 { String::new() } else { format!("[{}:0] ", port.width - 1) };
        format!("    {direction} wire {range}{},\n", port.name)
    };
    ports.iter().map(line).collect()
}

/// A grid with a store in an SDRAM, which permutes batches, and the model of that, with the ports of a grid. Its reset is that of the memory, too.
///
/// # Panics
/// There is no model.
pub fn simulated<'a>(design: impl Into<Design<'a>>, sdram: &Sdram) -> Rtl {
    let design = design.into();
    let machine = design.machine();
    let stored = stored(design, &Store { sdram: Some(sdram), ..Store::of_rows(sdram.rows(machine)) });
    let ports = Rtl::grid_ports(machine.stream_words() * machine.word(), machine.word());
    let (module, instance) = sdram.simulation().expect("there is a model");
    let top = format!(
        "// The grid, its sample store, and an SDRAM.
module {SIMULATED_TOP} (
{});
{instance}    {STORED_TOP} stored (
        .power_on(reset),
{},
{}
    );
endmodule
",
        crate::declared(&ports),
        connected(sdram.pins()),
        connected(ports.clone()),
    );
    Rtl { top: SIMULATED_TOP.to_owned(), verilog: [stored.verilog, module, top].join("\n"), ports }
}

#[cfg(test)]
mod tests {
    use super::super::address_bits;
    use super::*;
    use arch::machine::MachineSpec;

    fn sdram() -> Sdram {
        Sdram {
            core: String::new(),
            writes: vec![(512, 14, 20)],
            bank_bits: 2,
            row_bits: 13,
            column_bits: 9,
            data_bits: 16,
            tested: 24,
            clock: String::new(),
            model: None,
        }
    }

    /// 16 M words of 16 bits: by hand, rows of 16 words are 1 M, of 6 words 2 M with two to spare each, of 24 bits 8 M.
    #[test]
    fn rows_begin_at_powers_of_two() {
        for (word, lanes, rows, words) in [(16, 16, 1 << 20, 16), (16, 6, 1 << 21, 6), (24, 1, 1 << 23, 2)] {
            let (word, lanes) = (Some(word), Some(lanes));
            let spec =
                MachineSpec { pus: Some(1), pes_per_pu: lanes, word, stream_words: lanes, ..MachineSpec::default() };
            let machine = Machine::try_from(spec).unwrap();
            assert_eq!((sdram().rows(&machine), row_in_words(&machine, 16).0), (rows, words));
            assert_eq!(address_bits(rows), rows.ilog2());
        }
    }
}
