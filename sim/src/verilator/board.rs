//! A board under Verilator: its pins are clocked, and bytes go in and out through its serial port.
//!
//!     bytes ──▶ start, 8 bits, stop ──▶ uart_rx │ board_top │ uart_tx ──▶ start, 8 bits, stop ──▶ bytes

use super::{Device, Library, PortId};
use std::collections::VecDeque;

/// An instance of a board's top module (`hdl::shell`) whose button is not pressed.
#[derive(Debug)]
pub struct BoardDevice {
    device: Device,
    button: PortId,
    uart_rx: PortId,
    uart_tx: PortId,
    led: PortId,
    pressed: u64,
    divisor: u32,
    to_send: VecDeque<u8>,
    /// Levels of the byte that is being sent, and cycles left of the current one.
    sending: VecDeque<bool>,
    sending_for: u32,
    /// Bits of the byte that is being received (`None` = idle), and cycles until the next sample.
    receiving: Option<(u32, u16)>,
    receiving_for: u32,
    received: Vec<u8>,
}

/// Cycles for which a board keeps itself in reset after power-on.
const POWER_ON: u32 = 300;

impl BoardDevice {
    /// A new instance, after its power-on reset. A bit takes `divisor` cycles; a button that is pressed gives `pressed`.
    ///
    /// # Panics
    /// If the library is not a board.
    pub fn new(library: &Library, divisor: u32, pressed: bool) -> BoardDevice {
        let port = |name: &str| library.port(name).unwrap_or_else(|| panic!("a board has a port {name}"));
        let mut board = BoardDevice {
            device: library.device(),
            button: port("button"),
            uart_rx: port("uart_rx"),
            uart_tx: port("uart_tx"),
            led: port("led"),
            pressed: pressed.into(),
            divisor,
            to_send: VecDeque::new(),
            sending: VecDeque::new(),
            sending_for: 0,
            receiving: None,
            receiving_for: 0,
            received: Vec::new(),
        };
        board.press(false);
        board.device.set(board.uart_rx, 1);
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
    pub fn send_break(&mut self) {
        self.sending.extend(std::iter::repeat_n(false, 11));
        self.sending.extend(std::iter::repeat_n(true, 11));
    }

    /// Whether everything queued is on its way.
    pub fn sent(&self) -> bool {
        self.to_send.is_empty() && self.sending.is_empty()
    }

    /// The bytes that came and were not taken yet.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received)
    }

    /// Clock it.
    pub fn run(&mut self, cycles: u32) {
        for _ in 0..cycles {
            self.drive();
            self.device.step();
            self.sample();
        }
    }

    fn drive(&mut self) {
        if self.sending_for > 0 {
            self.sending_for -= 1;
            return;
        }
        if self.sending.is_empty()
            && let Some(byte) = self.to_send.pop_front()
        {
            self.sending.push_back(false);
            self.sending.extend((0..8).map(|bit| byte >> bit & 1 == 1));
            self.sending.push_back(true);
        }
        if let Some(level) = self.sending.pop_front() {
            self.device.set(self.uart_rx, level.into());
            self.sending_for = self.divisor - 1;
        }
    }

    fn sample(&mut self) {
        let level = self.device.get(self.uart_tx) == 1;
        match self.receiving {
            None if level => {}
            None => {
                self.receiving = Some((0, 0));
                self.receiving_for = self.divisor + self.divisor / 2 - 1;
            }
            Some(_) if self.receiving_for > 0 => self.receiving_for -= 1,
            Some((8, bits)) => {
                assert!(level, "a byte of the board has no stop bit");
                self.received.push(bits as u8);
                self.receiving = None;
            }
            Some((count, bits)) => {
                self.receiving = Some((count + 1, bits | u16::from(level) << count));
                self.receiving_for = self.divisor - 1;
            }
        }
    }
}
