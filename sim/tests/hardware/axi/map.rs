//! Answers of the AXI4-Lite port while no run is started. Regions and registers of the grid are those of the tables in docs/machine.md,
//! section 7, registers of the shell those of [`SHELL`]: neither comes from the constants that the hardware is made of.

use super::bus::Response;
use arch::axi::{CTRL_IDLE, WINDOW};
use arch::{Machine, registers};
use std::collections::BTreeMap;

/// A register at the front of the shell.
#[derive(Clone, Copy)]
enum Front {
    /// It has a value; these bits can be written.
    Held(u32),
    /// Always the same, read only.
    Constant(u32),
    /// A register of the grid with this number.
    Grid(u32),
    /// Writing does something; it reads as this.
    Command(u32),
    /// Bits that writing 1 clears.
    Events,
    /// The first cause, and where it was.
    Cause,
    CausePlace,
}

/// In the order of their offsets.
const SHELL: [Front; 20] = [
    Front::Command(CTRL_IDLE),
    Front::Held(1),
    Front::Held(7),
    Front::Events,
    Front::Grid(0x10),
    Front::Constant(2),
    Front::Grid(0x11),
    Front::Grid(0x02),
    Front::Grid(0x03),
    Front::Grid(0x01),
    Front::Held(11),
    Front::Constant(0),
    Front::Held(u32::MAX),
    Front::Grid(0x12),
    Front::Grid(0x13),
    Front::Grid(0x14),
    Front::Command(0),
    Front::Held(u32::MAX),
    Front::Cause,
    Front::CausePlace,
];
const INTERRUPT_ENABLE: u32 = 0x08;
const STOP: u32 = 0x40;
/// `cause`: an access that the map does not have; and the bit of `isr` for causes.
const NO_ACCESS: u32 = 5;
const CAUSE_EVENT: u32 = 4;
const OF_A_READ: u32 = 1 << 31;

/// The rows of the tables between two headings.
fn cells<'a>(page: &'a str, [from, to]: [&str; 2]) -> Vec<Vec<&'a str>> {
    let section = &page[page.find(from).unwrap()..page.find(to).unwrap()];
    let rows = section.lines().filter(|line| line.starts_with("| "));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The port of a grid without gradient pads and scalar unit.
pub(crate) struct Map {
    machine: Machine,
    /// Numbers of the grid's registers, and whether they can be written.
    registers: BTreeMap<u32, bool>,
    memories: Vec<u32>,
    values: BTreeMap<u32, u32>,
    cause: (u32, u32),
    events: u32,
}

impl Map {
    pub(crate) fn new(machine: &Machine) -> Map {
        let registers = cells(
            include_str!("../../../../docs/registers.md"),
            ["\n## Control port, region 0", "\n## Control port, programs"],
        );
        let registers = registers.iter().filter_map(|row| {
            let number = u32::from_str_radix(row[0].strip_prefix("0x")?, 16).unwrap();
            Some((number, row[3] == "read, write"))
        });
        let registers: BTreeMap<u32, bool> = registers.collect();
        let regions = cells(include_str!("../../../../docs/machine.md"), ["\n## 7. ", "\n## 8. "]);
        let regions = regions.iter().filter(|row| row[1].starts_with("program") || row[1].starts_with("function"));
        let memories: Vec<u32> =
            regions.flat_map(|row| row[0].split(", ")).map(|number| number.parse().unwrap()).collect();
        assert_eq!((registers.len(), memories.as_slice()), (registers::REGISTERS.len(), &[1, 2, 3, 4, 5, 6][..]));
        let values = BTreeMap::new();
        Map { machine: machine.clone(), registers, memories, values, cause: (0, 0), events: 0 }
    }

    fn front(address: u32) -> Option<Front> {
        SHELL.get(address as usize / 4).copied().filter(|_| address.is_multiple_of(4))
    }

    /// The word of the control port at a byte address.
    fn behind(address: u32) -> Option<u32> {
        address.checked_sub(WINDOW).filter(|_| address.is_multiple_of(4)).map(|bytes| bytes / 4)
    }

    fn note(&mut self, place: u32) {
        if self.cause.0 == 0 {
            self.cause = (NO_ACCESS, place);
            self.events |= self.value(INTERRUPT_ENABLE) & CAUSE_EVENT;
        }
    }

    fn value(&self, address: u32) -> u32 {
        self.values.get(&address).copied().unwrap_or(0)
    }

    fn write_grid(&mut self, number: u32, data: u32) -> bool {
        let writable = self.registers.get(&number).copied().unwrap_or(false);
        let held = ![registers::CONTROL, registers::TILES, registers::ENTRY_STEP_SCALAR, registers::TILE_END]
            .contains(&number);
        if writable && held {
            self.values.insert(WINDOW + 4 * number, data);
        }
        writable
    }

    /// Whether the write is carried out.
    fn take_write(&mut self, address: u32, data: u32) -> bool {
        match (Map::front(address), Map::behind(address)) {
            (Some(Front::Held(mask)), _) => {
                self.values.insert(address, data & mask);
                true
            }
            (Some(Front::Grid(number)), _) => self.write_grid(number, data),
            (Some(Front::Command(_)), _) => {
                if address == STOP && data & 2 != 0 {
                    (self.cause, self.events) = ((0, 0), 0);
                    self.values.clear();
                }
                true
            }
            (Some(Front::Events), _) => {
                self.events &= !data;
                true
            }
            (Some(Front::Cause), _) => {
                self.cause = (0, 0);
                true
            }
            (Some(Front::Constant(_) | Front::CausePlace), _) | (None, None) => false,
            (None, Some(word)) if word >> 16 == 0 => self.write_grid(word, data),
            (None, Some(word)) => self.memories.contains(&(word >> 16)),
        }
    }

    pub(crate) fn write(&mut self, address: u32, data: u32, strobes: u32) -> Response {
        if strobes == 0 || strobes == 15 && self.take_write(address, data) {
            return Response::Okay;
        }
        self.note(address);
        Response::SlaveError
    }

    fn read_grid(&self, number: u32) -> u32 {
        let description = registers::description(&self.machine);
        let constant = description.iter().find(|(at, _)| *at == number).map(|(_, value)| *value);
        constant.unwrap_or_else(|| self.value(WINDOW + 4 * number))
    }

    pub(crate) fn read(&mut self, address: u32) -> (Response, u32) {
        let value = match (Map::front(address), Map::behind(address)) {
            (Some(Front::Held(_)), _) => self.value(address),
            (Some(Front::Constant(value) | Front::Command(value)), _) => value,
            (Some(Front::Grid(number)), _) => self.read_grid(number),
            (Some(Front::Events), _) => self.events,
            (Some(Front::Cause), _) => self.cause.0,
            (Some(Front::CausePlace), _) => self.cause.1,
            (None, Some(number)) if self.registers.contains_key(&number) => self.read_grid(number),
            (None, _) => {
                self.note(address | OF_A_READ);
                return (Response::SlaveError, 0);
            }
        };
        (Response::Okay, value)
    }
}
