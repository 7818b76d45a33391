//! A board's side of the serial line: the model of `hdl::shell`.
//!
//! It knows no time: each request finds the grid at rest, as hardware does whose host is slow.

use crate::grid::Grid;
use arch::link::{self, Command, Decoder, Order, Received, Size, Status};
use arch::{Machine, number, registers};
use std::collections::VecDeque;

/// A grid behind a serial line.
pub struct BoardModel<G> {
    machine: Machine,
    size: Size,
    grid: G,
    reset: fn(&mut G),
    quiet: u32,
    decoder: Decoder,
    session: bool,
    last_sequence: u8,
    /// Words were refused: so are those that follow, until the host has heard of it and asks for something.
    crowded: bool,
    count: u16,
    input: VecDeque<i64>,
    beat: Vec<i64>,
    /// What the host has not given up; the first `read` of them were sent.
    output: VecDeque<i64>,
    read: usize,
}

impl<G: Grid> BoardModel<G> {
    /// A board after its reset, without a session. After `quiet` cycles without a transfer a grid counts as at rest.
    pub fn new(machine: Machine, size: Size, grid: G, reset: fn(&mut G), quiet: u32) -> BoardModel<G> {
        BoardModel {
            machine,
            size,
            grid,
            reset,
            quiet,
            decoder: Decoder::of_requests(size),
            session: false,
            last_sequence: 0,
            crowded: false,
            count: 0,
            input: VecDeque::new(),
            beat: Vec::new(),
            output: VecDeque::new(),
            read: 0,
        }
    }

    /// A byte came; what the board answers, as bytes on the line.
    pub fn byte(&mut self, byte: u8) -> Vec<u8> {
        let Some(received) = self.decoder.byte(byte) else { return Vec::new() };
        self.settle();
        let (sequence, status, payload) = match received {
            Received::Corrupt(sequence) => (sequence.unwrap_or(0), Status::Corrupt, Vec::new()),
            Received::TooLong(sequence) => (sequence, Status::TooLong, Vec::new()),
            Received::Frame(frame) => {
                let (sequence, command, payload) = (frame[0], frame[1], &frame[2..]);
                match self.check(sequence, command, payload) {
                    Ok((command, order)) => return self.carry_out(sequence, command, payload, order == Order::Repeat),
                    // How far it is.
                    Err(Status::OutOfOrder) => (sequence, Status::OutOfOrder, vec![self.last_sequence]),
                    Err(status) => {
                        self.crowded |= status == Status::Full;
                        (sequence, status, Vec::new())
                    }
                }
            }
        };
        self.reply(sequence, status, &payload)
    }

    fn check(&self, sequence: u8, command: u8, payload: &[u8]) -> Result<(Command, Order), Status> {
        let known = Command::ALL.iter().map(|row| row.0).find(|known| *known as u8 == command);
        if !self.session && known != Some(Command::Hello) {
            return Err(Status::NoSession);
        }
        let command = known.ok_or(Status::UnknownCommand)?;
        let whole = match command {
            Command::Hello => payload.is_empty(),
            Command::Write => true,
            Command::Read => payload.len().is_multiple_of(4),
            Command::Input => payload.len().is_multiple_of(link::word_bytes(self.machine.word())),
            Command::Output => payload.len() == 2,
        };
        let order = link::order(command, sequence, self.last_sequence);
        let words = payload.len() / link::word_bytes(self.machine.word());
        match order {
            _ if !whole => Err(Status::BadLength),
            Order::Wrong => Err(Status::OutOfOrder),
            Order::New if command == Command::Input && (self.crowded || words > self.levels()[0].into()) => {
                Err(Status::Full)
            }
            _ => Ok((command, order)),
        }
    }

    fn carry_out(&mut self, sequence: u8, command: Command, payload: &[u8], repeated: bool) -> Vec<u8> {
        if repeated {
            self.read = 0;
        } else {
            self.output.drain(..self.read);
            (self.read, self.last_sequence, self.count) = (0, sequence, 0);
            self.crowded &= matches!(command, Command::Write | Command::Input);
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |value, &byte| value * 256 + u32::from(byte));
        match command {
            Command::Hello => {
                self.session = true;
                (self.reset)(&mut self.grid);
                self.forget_words();
                let (word, lanes) = (self.machine.word() as u8, self.machine.stream_words() as u8);
                let payload = [link::VERSION, word, lanes, self.size.log2()];
                self.reply(sequence, Status::Ok, &payload)
            }
            Command::Write => {
                let writes = if repeated { Vec::new() } else { link::decode_writes(payload) };
                for (address, data) in writes {
                    self.grid.control_write(address, data);
                    if address == registers::CONTROL && data & registers::ABORT != 0 {
                        self.forget_words();
                    }
                }
                self.reply(sequence, Status::Ok, &[])
            }
            Command::Read => {
                let values: Vec<u8> = payload
                    .chunks_exact(4)
                    .flat_map(|address| self.grid.control_read(word(address) & 0xf_ffff).to_le_bytes())
                    .collect();
                self.reply(sequence, Status::Ok, &values)
            }
            Command::Input => {
                let bits = self.machine.word();
                for bytes in payload.chunks_exact(link::word_bytes(bits)).filter(|_| !repeated) {
                    self.input.push_back(number::wrap(word(bytes).into(), bits) as i64);
                    self.fill_beat();
                }
                self.reply(sequence, Status::Ok, &[])
            }
            Command::Output => {
                if !repeated {
                    let most = self.output.len().min(self.size.words(self.machine.word()));
                    self.count = most.min(word(payload) as usize) as u16;
                }
                let header = self.levels();
                let bytes = link::word_bytes(self.machine.word());
                let mask = u32::MAX >> (32 - self.machine.word());
                let words = self.output.iter().take(self.count.into());
                let payload: Vec<u8> =
                    words.flat_map(|&word| (word as u32 & mask).to_le_bytes()[..bytes].to_vec()).collect();
                self.read = self.count.into();
                frame(sequence, Status::Ok, header, &payload)
            }
        }
    }

    fn forget_words(&mut self) {
        self.input.clear();
        self.beat.clear();
        self.output.clear();
        self.read = 0;
    }

    fn levels(&self) -> [u16; 2] {
        [self.size.buffer() - self.input.len(), self.output.len() - self.read].map(|words| words as u16)
    }

    fn reply(&self, sequence: u8, status: Status, payload: &[u8]) -> Vec<u8> {
        frame(sequence, status, self.levels(), payload)
    }

    fn fill_beat(&mut self) {
        while self.beat.len() < self.machine.stream_words() as usize
            && let Some(word) = self.input.pop_front()
        {
            self.beat.push(word);
        }
    }

    /// Run the grid until nothing moves any more.
    fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < self.quiet {
            self.fill_beat();
            let whole = self.beat.len() == self.machine.stream_words() as usize;
            let room = self.output.len() < self.size.buffer();
            let result = self.grid.cycle(whole.then_some(self.beat.as_slice()), room);
            if result.input_taken {
                self.beat.clear();
            }
            quiet = if result.input_taken || !result.output.is_empty() { 0 } else { quiet + 1 };
            self.output.extend(result.output);
        }
    }
}

fn frame(sequence: u8, status: Status, [free, ready]: [u16; 2], payload: &[u8]) -> Vec<u8> {
    link::encode(&[&[sequence, status as u8], &free.to_le_bytes()[..], &ready.to_le_bytes(), payload].concat())
}

#[cfg(test)]
pub(super) mod tests;
