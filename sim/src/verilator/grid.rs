//! A grid under Verilator, behind the interface that all clocked simulators share.

use super::{Device, Library, PortId};
use crate::grid::{CycleResult, Grid};
use arch::{Machine, timing};

/// An instance of a generated grid.
#[derive(Debug)]
pub struct GridDevice {
    device: Device,
    ports: Ports,
    word: u32,
    stream_words: usize,
    output_words: usize,
    /// The beats of the current cycle, packed; kept to save allocations.
    beat: Vec<u32>,
    out_beat: Vec<u32>,
    first_cycle: u64,
}

#[derive(Debug)]
struct Ports {
    reset: PortId,
    control_write: PortId,
    control_address: PortId,
    control_data: PortId,
    control_read: PortId,
    in_data: PortId,
    in_valid: PortId,
    in_ready: PortId,
    out_data: PortId,
    out_valid: PortId,
    out_ready: PortId,
}

impl GridDevice {
    /// A new instance of the grid that `library` was built from, after reset.
    ///
    /// # Panics
    /// If the library is not a grid ([`arch::rtl::Rtl::grid_ports`]).
    pub fn new(library: &Library, machine: &Machine) -> GridDevice {
        let port = |name: &str| library.port(name).unwrap_or_else(|| panic!("a grid has a port {name}"));
        let ports = Ports {
            reset: port("reset"),
            control_write: port("control_write"),
            control_address: port("control_address"),
            control_data: port("control_data"),
            control_read: port("control_read"),
            in_data: port("in_data"),
            in_valid: port("in_valid"),
            in_ready: port("in_ready"),
            out_data: port("out_data"),
            out_valid: port("out_valid"),
            out_ready: port("out_ready"),
        };
        let mut grid = GridDevice {
            device: library.device(),
            ports,
            word: machine.word(),
            stream_words: machine.stream_words() as usize,
            output_words: machine.output_words() as usize,
            beat: Vec::new(),
            out_beat: vec![0; (machine.output_words() * machine.word()).div_ceil(32) as usize],
            first_cycle: 0,
        };
        grid.reset();
        grid
    }

    /// Hold reset for two cycles, then count cycles from 0. Memories keep their contents.
    pub fn reset(&mut self) {
        self.idle();
        self.device.set(self.ports.reset, 1);
        self.device.step();
        self.device.step();
        self.device.set(self.ports.reset, 0);
        self.device.settle();
        self.first_cycle = self.device.cycles();
    }

    /// Cycles since reset.
    pub fn cycles(&self) -> u64 {
        self.device.cycles() - self.first_cycle
    }

    /// The instance itself, for waveforms.
    pub fn device(&mut self) -> &mut Device {
        &mut self.device
    }

    fn idle(&mut self) {
        self.device.set(self.ports.control_write, 0);
        self.device.set(self.ports.in_valid, 0);
        self.device.set(self.ports.out_ready, 0);
    }
}

impl Grid for GridDevice {
    fn control_write(&mut self, address: u32, data: u32) {
        self.idle();
        self.device.set(self.ports.control_write, 1);
        self.device.set(self.ports.control_address, address.into());
        self.device.set(self.ports.control_data, data.into());
        self.device.step();
        self.device.set(self.ports.control_write, 0);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.idle();
        self.device.set(self.ports.control_address, address.into());
        for _ in 0..timing::CONTROL_READ {
            self.device.step();
        }
        self.device.get(self.ports.control_read) as u32
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let device = &mut self.device;
        device.set(self.ports.in_valid, input.is_some().into());
        device.set(self.ports.out_ready, output_ready.into());
        if let Some(words) = input {
            assert_eq!(words.len(), self.stream_words, "a beat has one word per stream lane");
            pack(words, self.word, &mut self.beat);
            device.set_words(self.ports.in_data, &self.beat);
        }
        device.settle();
        let input_taken = input.is_some() && device.get(self.ports.in_ready) == 1;
        let output = if output_ready && device.get(self.ports.out_valid) == 1 {
            device.get_words(self.ports.out_data, &mut self.out_beat);
            unpack(&self.out_beat, self.word, self.output_words)
        } else {
            Vec::new()
        };
        device.tick();
        CycleResult { input_taken, output }
    }
}

/// Words of `width` bits side by side, the first one lowest.
fn pack(words: &[i64], width: u32, packed: &mut Vec<u32>) {
    packed.clear();
    let (mut bits, mut filled) = (0u64, 0);
    for &word in words {
        bits |= (word as u64 & ((1 << width) - 1)) << filled;
        filled += width;
        if filled >= 32 {
            packed.push(bits as u32);
            bits >>= 32;
            filled -= 32;
        }
    }
    if filled > 0 {
        packed.push(bits as u32);
    }
}

/// So many words of `width` bits that lie side by side.
fn unpack(packed: &[u32], width: u32, count: usize) -> Vec<i64> {
    let word = |n: usize| {
        let (at, bit) = (n * width as usize / 32, n * width as usize % 32);
        let next = packed.get(at + 1).copied().unwrap_or(0);
        sign_extend((u64::from(packed[at]) | u64::from(next) << 32) >> bit, width)
    };
    (0..count).map(word).collect()
}

fn sign_extend(value: u64, width: u32) -> i64 {
    (value << (64 - width)) as i64 >> (64 - width)
}

#[cfg(test)]
mod tests {
    use super::{pack, sign_extend, unpack};

    #[test]
    fn words_are_packed_side_by_side() {
        let mut packed = Vec::new();
        pack(&[1, -1, 2], 24, &mut packed);
        assert_eq!(packed, [0xff00_0001, 0x0002_ffff, 0x0000]);
        assert_eq!(unpack(&packed, 24, 3), [1, -1, 2]);
        pack(&[-1, 0, -2], 32, &mut packed);
        assert_eq!(packed, [u32::MAX, 0, u32::MAX - 1]);
        assert_eq!(sign_extend(0xff_ffff, 24), -1);
        assert_eq!(sign_extend(0x7f_ffff, 24), 0x7f_ffff);
    }
}
