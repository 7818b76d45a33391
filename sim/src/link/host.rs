//! The host's end of the link: one request after the other, each repeated until it is answered.

use arch::link::{self, Command, Decoder, REPLY_HEADER, Received, Status};
use arch::{Machine, registers};
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// A line that carries bytes both ways.
pub trait Wire {
    /// Send all of them.
    ///
    /// # Errors
    /// The line is gone.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Wait for bytes, at most this long; how many came, 0 if none.
    ///
    /// # Errors
    /// The line is gone.
    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize>;

    /// What the host does from now on, for a line that keeps account of its time.
    fn phase(&mut self, phase: Phase) {
        let _ = phase;
    }
}

/// What the time of a line is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Programs, weights, questions; samples that are sent in every epoch.
    Talk,
    /// Samples for the store.
    Upload,
    /// The grid trains from the store; the host asks how far it is.
    Play,
}

impl<W: Wire + ?Sized> Wire for Box<W> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).send(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        (**self).receive(buffer, patience)
    }

    fn phase(&mut self, phase: Phase) {
        (**self).phase(phase);
    }
}

/// How long the host waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a reply, before it asks again.
    pub reply: Duration,
    /// How often it asks.
    pub attempts: u32,
    /// For a grid that neither takes input nor gives output nor ends.
    pub progress: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { reply: Duration::from_millis(500), attempts: 6, progress: Duration::from_secs(20) }
    }
}

/// Why the link does not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The line itself.
    #[error("the line failed: {0} (is the board still plugged in?)")]
    Line(String),
    /// Nothing comes back.
    #[error(
        "no answer after {attempts} attempts (is the board on, does it hold a bitstream of tabla-gen, is the rate right?)"
    )]
    Silent {
        /// Requests sent.
        attempts: u32,
    },
    /// What comes back is damaged, or the board says that what it got was.
    #[error("{damaged} of {attempts} attempts ended with damaged bytes (is the rate right?)")]
    Damaged {
        /// Requests sent.
        attempts: u32,
        /// How many were seen to be damaged.
        damaged: u32,
    },
    /// The board lost its session.
    #[error("the board was reset while it worked")]
    Reset,
    /// The board refuses a request.
    #[error("the board refuses {command}: {meaning}")]
    Refused {
        /// The request.
        command: &'static str,
        /// What its status means.
        meaning: &'static str,
    },
    /// Another version of the protocol, or a reply that it does not know.
    #[error("the board speaks another protocol: {0}")]
    Protocol(String),
    /// The registers describe no grid of ours.
    #[error("no grid of tabla-gen is behind the link: its identity register is {0:#010x}")]
    Identity(u32),
    /// Nothing moves.
    #[error("the grid made no progress for {seconds} s: {waiting}")]
    Stalled {
        /// How long.
        seconds: u64,
        /// What is waited for.
        waiting: String,
    },
}

/// A reply without its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Words the input buffer had room for.
    pub free: u16,
    /// Words that waited in the output buffer.
    pub ready: u16,
    /// Payload.
    pub payload: Vec<u8>,
}

/// A line with a board at its other end.
pub struct Link<W> {
    wire: W,
    patience: Patience,
    sequence: u8,
    decoder: Decoder,
    received: VecDeque<u8>,
    machine: Machine,
}

impl<W: Wire> Link<W> {
    /// Begin a session and ask what grid is there.
    ///
    /// # Errors
    /// The link does not work, or something else is at its other end.
    pub fn open(wire: W, patience: Patience) -> Result<Link<W>, LinkError> {
        // Which machine it is comes to light below; until then any will do.
        let unknown = Machine::grid(1, 1, 16).expect("a valid grid");
        let (decoder, received) = (Decoder::of_replies(), VecDeque::new());
        let mut link = Link { wire, patience, sequence: 0, decoder, received, machine: unknown };
        link.discard()?;
        let greeting = link.request(Command::Hello, &[])?.payload;
        let &[version, word, lanes, _] = greeting.as_slice() else {
            return Err(LinkError::Protocol(format!("a greeting of {} bytes", greeting.len())));
        };
        if version != link::VERSION {
            return Err(LinkError::Protocol(format!("version {version}, not {}", link::VERSION)));
        }
        let numbers = registers::DESCRIPTION;
        let values = link.read(&numbers)?;
        let value = |number| numbers.iter().position(|&at| at == number).map_or(0, |at| values[at]);
        link.machine = registers::described(value).ok_or(LinkError::Identity(values[0]))?;
        if (link.machine.word(), link.machine.stream_words()) != (word.into(), lanes.into()) {
            return Err(LinkError::Protocol("the greeting contradicts the registers".to_owned()));
        }
        Ok(link)
    }

    /// The grid at the other end.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Tell the line what its time is spent on.
    pub fn phase(&mut self, phase: Phase) {
        self.wire.phase(phase);
    }

    /// How long is waited.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// Forget what an earlier session left on the line.
    fn discard(&mut self) -> Result<(), LinkError> {
        let mut buffer = [0; 1024];
        // A flag ends whatever the board takes for the beginning of a frame.
        self.wire.send(&[link::FLAG]).map_err(line)?;
        while self.wire.receive(&mut buffer, Duration::from_millis(20)).map_err(line)? > 0 {}
        Ok(())
    }

    /// Write through the control port, in this order; at most [`link::PAYLOAD_LIMIT`] / 8 of them.
    ///
    /// # Errors
    /// The link does not work.
    pub fn write(&mut self, writes: &[(u32, u32)]) -> Result<Reply, LinkError> {
        let bytes = writes.iter().flat_map(|(address, data)| [address.to_le_bytes(), data.to_le_bytes()].concat());
        self.request(Command::Write, &bytes.collect::<Vec<u8>>())
    }

    /// End the run, whatever the grid is doing; words on their way in and out are lost, the program stays.
    ///
    /// # Errors
    /// The link does not work.
    pub fn abort(&mut self) -> Result<(), LinkError> {
        self.write(&[(registers::CONTROL, registers::ABORT)]).map(drop)
    }

    /// Read registers; at most [`link::PAYLOAD_LIMIT`] / 4 of them.
    ///
    /// # Errors
    /// The link does not work.
    pub fn read(&mut self, addresses: &[u32]) -> Result<Vec<u32>, LinkError> {
        let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        let reply = self.request(Command::Read, &bytes)?;
        if reply.payload.len() != bytes.len() {
            return Err(LinkError::Protocol(format!(
                "{} bytes for {} registers",
                reply.payload.len(),
                addresses.len()
            )));
        }
        Ok(reply
            .payload
            .chunks_exact(4)
            .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect())
    }

    /// Offer words to the input stream, at most [`link::words_per_frame`]; how many were taken.
    ///
    /// # Errors
    /// The link does not work.
    pub fn input(&mut self, words: &[i64]) -> Result<(usize, Reply), LinkError> {
        let bytes = link::word_bytes(self.machine.word());
        let payload: Vec<u8> = words.iter().flat_map(|&word| word.to_le_bytes()[..bytes].to_vec()).collect();
        let reply = self.request(Command::Input, &payload)?;
        match reply.payload.as_slice() {
            &[low, high] if usize::from(u16::from_le_bytes([low, high])) <= words.len() => {
                Ok((u16::from_le_bytes([low, high]).into(), reply))
            }
            _ => Err(LinkError::Protocol("an impossible answer to INPUT".to_owned())),
        }
    }

    /// Words of the output stream, those that wait and fit into a frame.
    ///
    /// # Errors
    /// The link does not work.
    pub fn output(&mut self) -> Result<(Vec<i64>, Reply), LinkError> {
        let word = self.machine.word();
        let bytes = link::word_bytes(word);
        let wanted = link::words_per_frame(word) as u16;
        let reply = self.request(Command::Output, &wanted.to_le_bytes())?;
        if !reply.payload.len().is_multiple_of(bytes) {
            return Err(LinkError::Protocol("an impossible answer to OUTPUT".to_owned()));
        }
        let value = |bytes: &[u8]| bytes.iter().rev().fold(0i128, |value, &byte| value << 8 | i128::from(byte));
        let words = reply.payload.chunks_exact(bytes).map(|bytes| arch::number::wrap(value(bytes), word) as i64);
        Ok((words.collect(), reply))
    }

    fn request(&mut self, command: Command, payload: &[u8]) -> Result<Reply, LinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let frame = link::encode(&[&[self.sequence, command as u8], payload].concat());
        let mut damaged = 0;
        let attempts = self.patience.attempts;
        for _ in 0..attempts {
            self.decoder.hunt();
            self.wire.send(&frame).map_err(line)?;
            match self.reply(command)? {
                Answer::Reply(reply) => return Ok(reply),
                Answer::Damaged => damaged += 1,
                Answer::None => {}
            }
        }
        Err(if damaged > 0 { LinkError::Damaged { attempts, damaged } } else { LinkError::Silent { attempts } })
    }

    /// The reply to the request that was sent last.
    fn reply(&mut self, command: Command) -> Result<Answer, LinkError> {
        let deadline = Instant::now() + self.patience.reply;
        let mut damaged = false;
        loop {
            let Some(byte) = self.received.pop_front() else {
                let now = Instant::now();
                if now >= deadline {
                    return Ok(if damaged { Answer::Damaged } else { Answer::None });
                }
                let mut buffer = [0; 1024];
                let count = self.wire.receive(&mut buffer, deadline - now).map_err(line)?;
                self.received.extend(&buffer[..count]);
                continue;
            };
            let content = match self.decoder.byte(byte) {
                None => continue,
                Some(Received::Frame(content)) if content.len() >= REPLY_HEADER => content,
                // It may have been an old one: the right one may still come.
                Some(_) => {
                    damaged = true;
                    continue;
                }
            };
            let (sequence, status) = (content[0], content[1]);
            if status == Status::Corrupt as u8 || status == Status::TooLong as u8 {
                return Ok(Answer::Damaged);
            }
            if sequence != self.sequence {
                continue;
            }
            if status == Status::NoSession as u8 {
                return Err(LinkError::Reset);
            }
            if status != Status::Ok as u8 {
                let meaning =
                    Status::ALL.iter().find(|row| row.0 as u8 == status).map_or("unknown status", |row| row.2);
                let name = Command::ALL.iter().find(|row| row.0 == command).map_or("a request", |row| row.1);
                return Err(LinkError::Refused { command: name, meaning });
            }
            let half = |at: usize| u16::from_le_bytes([content[at], content[at + 1]]);
            return Ok(Answer::Reply(Reply {
                free: half(2),
                ready: half(4),
                payload: content[REPLY_HEADER..].to_vec(),
            }));
        }
    }
}

enum Answer {
    Reply(Reply),
    Damaged,
    None,
}

#[allow(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn line(error: io::Error) -> LinkError {
    LinkError::Line(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each request with these frames, whatever it asks for.
    struct Prepared(Vec<Vec<u8>>);

    impl Wire for Prepared {
        fn send(&mut self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
            let bytes: Vec<u8> = self.0.drain(..).flatten().collect();
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    /// Replies to earlier and later requests, a damaged one among them, come before the right one.
    #[test]
    fn only_the_reply_to_this_request_is_taken() {
        let reply = |sequence: u8, value: u32| {
            let header = [sequence, Status::Ok as u8, 0, 0, 0, 0];
            link::encode(&[&header[..], &value.to_le_bytes()].concat())
        };
        let mut damaged = reply(8, 13);
        damaged[3] ^= 1;
        let wire = Prepared(vec![reply(7, 11), reply(9, 12), damaged, reply(8, 14), reply(8, 15)]);
        let patience = Patience { reply: Duration::from_millis(50), attempts: 1, ..Patience::default() };
        let machine = Machine::grid(1, 1, 16).unwrap();
        let (decoder, received) = (Decoder::of_replies(), VecDeque::new());
        let mut link = Link { wire, patience, sequence: 7, decoder, received, machine };
        assert_eq!(link.read(&[0]), Ok(vec![14]));
    }
}
