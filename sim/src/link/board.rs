//! What a board does with the bytes of its serial line: the model of `hdl::shell`.
//!
//! It knows no time: each request finds the grid at rest, as hardware does whose host is slow.

use crate::grid::Grid;
use arch::link::{self, BUFFER_WORDS, Command, Decoder, Received, Status};
use arch::{Machine, number, registers};
use std::collections::VecDeque;

/// A grid behind a serial line.
pub struct BoardModel<G> {
    machine: Machine,
    grid: G,
    reset: fn(&mut G),
    quiet: u32,
    decoder: Decoder,
    session: bool,
    last_sequence: u8,
    taken: u16,
    count: u16,
    input: VecDeque<i64>,
    beat: Vec<i64>,
    /// What the host has not given up; the first `read` of them were sent.
    output: VecDeque<i64>,
    read: usize,
}

impl<G: Grid> BoardModel<G> {
    /// A board after its reset, without a session. After `quiet` cycles without a transfer a grid counts as at rest.
    pub fn new(machine: Machine, grid: G, reset: fn(&mut G), quiet: u32) -> BoardModel<G> {
        BoardModel {
            machine,
            grid,
            reset,
            quiet,
            decoder: Decoder::of_requests(),
            session: false,
            last_sequence: 0,
            taken: 0,
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
        // While it answers it does not listen.
        self.decoder.hunt();
        self.settle();
        let (sequence, status, payload) = match received {
            Received::Corrupt(sequence) => (sequence.unwrap_or(0), Status::Corrupt, Vec::new()),
            Received::TooLong(sequence) => (sequence, Status::TooLong, Vec::new()),
            Received::Frame(frame) => {
                let (sequence, command, payload) = (frame[0], frame[1], &frame[2..]);
                match self.check(command, payload) {
                    Ok(command) => return self.carry_out(sequence, command, payload),
                    Err(status) => (sequence, status, Vec::new()),
                }
            }
        };
        self.reply(sequence, status, &payload)
    }

    fn check(&self, command: u8, payload: &[u8]) -> Result<Command, Status> {
        let known = Command::ALL.iter().map(|row| row.0).find(|known| *known as u8 == command);
        if !self.session && known != Some(Command::Hello) {
            return Err(Status::NoSession);
        }
        let command = known.ok_or(Status::UnknownCommand)?;
        let whole = match command {
            Command::Hello => payload.is_empty(),
            Command::Write => payload.len().is_multiple_of(8),
            Command::Read => payload.len().is_multiple_of(4),
            Command::Input => payload.len().is_multiple_of(link::word_bytes(self.machine.word())),
            Command::Output => payload.len() == 2,
        };
        if whole { Ok(command) } else { Err(Status::BadLength) }
    }

    fn carry_out(&mut self, sequence: u8, command: Command, payload: &[u8]) -> Vec<u8> {
        let repeated = command != Command::Hello && sequence == self.last_sequence;
        if repeated {
            self.read = 0;
        } else {
            self.output.drain(..self.read);
            (self.read, self.last_sequence, self.taken, self.count) = (0, sequence, 0, 0);
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
        match command {
            Command::Hello => {
                self.session = true;
                (self.reset)(&mut self.grid);
                self.forget_words();
                let (word, lanes) = (self.machine.word() as u8, self.machine.stream_words() as u8);
                let payload = [link::VERSION, word, lanes, BUFFER_WORDS.ilog2() as u8];
                self.reply(sequence, Status::Ok, &payload)
            }
            Command::Write => {
                for write in payload.chunks_exact(8).filter(|_| !repeated) {
                    let (address, data) = (word(&write[..4]) & 0xf_ffff, word(&write[4..]));
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
                    if self.input.len() == BUFFER_WORDS as usize {
                        break;
                    }
                    self.input.push_back(number::wrap(word(bytes).into(), bits) as i64);
                    self.taken += 1;
                    self.fill_beat();
                }
                let taken = self.taken.to_le_bytes();
                self.reply(sequence, Status::Ok, &taken)
            }
            Command::Output => {
                if !repeated {
                    let most = self.output.len().min(link::words_per_frame(self.machine.word()));
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
        [BUFFER_WORDS as u16 - self.input.len() as u16, (self.output.len() - self.read) as u16]
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
            let room = self.output.len() < BUFFER_WORDS as usize;
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
