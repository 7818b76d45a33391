//! A board under Verilator: its pins are clocked, and bytes go in and out through its line.
//!
//!     bytes ──▶ start, 8 bits, stop ──▶ uart_rx │ board_top │ uart_tx ──▶ start, 8 bits, stop ──▶ bytes
//!
//! A board without a serial port (`hdl::shell::board_of_bytes`) takes and gives whole bytes.

mod line;

use super::{Device, Library, PortId};
use line::{Bytes, Serial};
use std::collections::VecDeque;

/// An instance of a board's top module (`hdl::shell`) whose button is not pressed.
#[derive(Debug)]
pub struct BoardDevice {
    device: Device,
    button: PortId,
    led: PortId,
    pressed: u64,
    line: Line,
    to_send: VecDeque<u8>,
    received: Vec<u8>,
}

#[derive(Debug)]
enum Line {
    Serial(Serial),
    Bytes(Bytes),
}

/// Cycles for which a board keeps itself in reset after power-on.
const POWER_ON: u32 = 300;

fn port(library: &Library, name: &str) -> PortId {
    library.port(name).unwrap_or_else(|| panic!("a board has a port {name}"))
}

impl BoardDevice {
    /// A new instance, after its power-on reset. A bit takes `divisor` cycles; a button that is pressed gives `pressed`.
    ///
    /// # Panics
    /// If the library is not a board.
    pub fn new(library: &Library, divisor: u32, pressed: bool) -> BoardDevice {
        BoardDevice::with(library, Line::Serial(Serial::new(library, divisor)), pressed)
    }

    /// A new instance of a board of bytes; a byte takes so many cycles.
    ///
    /// # Panics
    /// If the library is not such a board.
    pub fn of_bytes(library: &Library, cycles: u32, pressed: bool) -> BoardDevice {
        BoardDevice::with(library, Line::Bytes(Bytes::new(library, cycles)), pressed)
    }

    fn with(library: &Library, line: Line, pressed: bool) -> BoardDevice {
        let mut board = BoardDevice {
            device: library.device(),
            button: port(library, "button"),
            led: port(library, "led"),
            pressed: pressed.into(),
            line,
            to_send: VecDeque::new(),
            received: Vec::new(),
        };
        board.press(false);
        match &board.line {
            Line::Serial(line) => line.idle(&mut board.device),
            Line::Bytes(line) => line.idle(&mut board.device),
        }
        board.run(POWER_ON);
        board
    }

    /// Press the button, or let it go.
    pub fn press(&mut self, pressed: bool) {
        self.device.set(self.button, if pressed { self.pressed } else { 1 - self.pressed });
    }

    /// What the lights show, light 0 lowest.
    pub fn lights(&self) -> u64 {
        self.device.get(self.led)
    }

    /// Queue bytes for the board.
    pub fn send(&mut self, bytes: &[u8]) {
        self.to_send.extend(bytes);
    }

    /// Queue a byte without a stop bit, and some idle time.
    ///
    /// # Panics
    /// If the board has no serial port.
    pub fn send_break(&mut self) {
        match &mut self.line {
            Line::Serial(line) => line.send_break(),
            Line::Bytes(_) => panic!("bytes have no stop bits"),
        }
    }

    /// From now on a byte takes so many cycles.
    ///
    /// # Panics
    /// If the board has a serial port.
    pub fn set_pace(&mut self, cycles: u32) {
        match &mut self.line {
            Line::Serial(_) => panic!("the rate of a serial port is part of the hardware"),
            Line::Bytes(line) => line.cycles = cycles,
        }
    }

    /// Whether everything queued is on its way.
    pub fn sent(&self) -> bool {
        let sending = match &self.line {
            Line::Serial(line) => line.is_sending(),
            Line::Bytes(line) => line.is_sending(),
        };
        self.to_send.is_empty() && !sending
    }

    /// The bytes that came and were not taken yet.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received)
    }

    /// Clock it.
    pub fn run(&mut self, cycles: u32) {
        for _ in 0..cycles {
            match &mut self.line {
                Line::Serial(line) => {
                    line.drive(&mut self.device, &mut self.to_send);
                    self.device.step();
                    self.received.extend(line.sample(&self.device));
                }
                Line::Bytes(line) => {
                    line.drive(&mut self.device, &mut self.to_send);
                    self.device.settle();
                    self.received.extend(line.sample(&self.device));
                    self.device.tick();
                }
            }
        }
    }
}
