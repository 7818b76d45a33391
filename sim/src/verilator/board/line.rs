//! The lines of a board: bits one after the other, or whole bytes.

use super::port;
use crate::verilator::{Device, Library, PortId};
use std::collections::VecDeque;

/// A serial port.
#[derive(Debug)]
pub(super) struct Serial {
    rx: PortId,
    tx: PortId,
    divisor: u32,
    /// Levels of the byte that is being sent, and cycles left of the current one.
    sending: VecDeque<bool>,
    sending_for: u32,
    /// Bits of the byte that is being received (`None` = idle), and cycles until the next sample.
    receiving: Option<(u32, u16)>,
    receiving_for: u32,
}

impl Serial {
    pub(super) fn new(library: &Library, divisor: u32) -> Serial {
        let (rx, tx) = (port(library, "uart_rx"), port(library, "uart_tx"));
        Serial { rx, tx, divisor, sending: VecDeque::new(), sending_for: 0, receiving: None, receiving_for: 0 }
    }

    pub(super) fn idle(&self, device: &mut Device) {
        device.set(self.rx, 1);
    }

    pub(super) fn send_break(&mut self) {
        self.sending.extend(std::iter::repeat_n(false, 11));
        self.sending.extend(std::iter::repeat_n(true, 11));
    }

    pub(super) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    pub(super) fn drive(&mut self, device: &mut Device, to_send: &mut VecDeque<u8>) {
        if self.sending_for > 0 {
            self.sending_for -= 1;
            return;
        }
        if self.sending.is_empty()
            && let Some(byte) = to_send.pop_front()
        {
            self.sending.push_back(false);
            self.sending.extend((0..8).map(|bit| byte >> bit & 1 == 1));
            self.sending.push_back(true);
        }
        if let Some(level) = self.sending.pop_front() {
            device.set(self.rx, level.into());
            self.sending_for = self.divisor - 1;
        }
    }

    /// After the clock: the byte that has come.
    pub(super) fn sample(&mut self, device: &Device) -> Option<u8> {
        let level = device.get(self.tx) == 1;
        match self.receiving {
            None if level => {}
            None => {
                self.receiving = Some((0, 0));
                self.receiving_for = self.divisor + self.divisor / 2 - 1;
            }
            Some(_) if self.receiving_for > 0 => self.receiving_for -= 1,
            Some((8, bits)) => {
                assert!(level, "a byte of the board has no stop bit");
                self.receiving = None;
                return Some(bits as u8);
            }
            Some((count, bits)) => {
                self.receiving = Some((count + 1, bits | u16::from(level) << count));
                self.receiving_for = self.divisor - 1;
            }
        }
        None
    }
}

/// Whole bytes, so many cycles each, both ways.
#[derive(Debug)]
pub(super) struct Bytes {
    received: PortId,
    received_valid: PortId,
    transmit: PortId,
    transmit_valid: PortId,
    transmit_ready: PortId,
    pub(super) cycles: u32,
    /// Cycles until the line is free for another byte, to the board and from it.
    sending_for: u32,
    receiving_for: u32,
}

impl Bytes {
    pub(super) fn new(library: &Library, cycles: u32) -> Bytes {
        Bytes {
            received: port(library, "received"),
            received_valid: port(library, "received_valid"),
            transmit: port(library, "transmit"),
            transmit_valid: port(library, "transmit_valid"),
            transmit_ready: port(library, "transmit_ready"),
            cycles,
            sending_for: 0,
            receiving_for: 0,
        }
    }

    pub(super) fn idle(&self, device: &mut Device) {
        device.set(self.received_valid, 0);
        device.set(self.transmit_ready, 0);
    }

    pub(super) fn is_sending(&self) -> bool {
        self.sending_for > 0
    }

    pub(super) fn drive(&mut self, device: &mut Device, to_send: &mut VecDeque<u8>) {
        self.sending_for = self.sending_for.saturating_sub(1);
        self.receiving_for = self.receiving_for.saturating_sub(1);
        let byte = if self.sending_for == 0 { to_send.pop_front() } else { None };
        if let Some(byte) = byte {
            device.set(self.received, byte.into());
            self.sending_for = self.cycles;
        }
        device.set(self.received_valid, byte.is_some().into());
        device.set(self.transmit_ready, (self.receiving_for == 0).into());
    }

    /// Before the clock: the byte that the board gives at this edge.
    pub(super) fn sample(&mut self, device: &Device) -> Option<u8> {
        let given = self.receiving_for == 0 && device.get(self.transmit_valid) == 1;
        given.then(|| {
            self.receiving_for = self.cycles;
            device.get(self.transmit) as u8
        })
    }
}
