//! The host's end of the link: requests, several of which are under way, each repeated until it is answered.

use super::error::LinkError;
use arch::link::{self, Command, Decoder, REPLY_HEADER, Received, Size, Status};
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
    fn phase(&mut self, _: Phase) {}
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

/// What became of words that were offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settled {
    /// So many more were taken.
    pub taken: usize,
    /// The others were not, for want of room, and are no longer under way.
    pub refused: bool,
}

/// Answers in a row that say nothing new; a board does not give more.
const USELESS: usize = 64 * link::WINDOW;

/// A request that is not answered yet.
struct Flight {
    sequence: u8,
    frame: Vec<u8>,
    /// Bytes of its payload.
    bytes: usize,
    /// Words of the input stream in it.
    words: usize,
}

/// A line with a board at its other end.
///
/// What only changes something on the board ([`Link::write`], [`Link::input`]) is under way while more is sent, up to
/// [`link::WINDOW`] requests; what asks for something waits until all before it is done.
pub struct Link<W> {
    wire: W,
    patience: Patience,
    sequence: u8,
    decoder: Decoder,
    received: VecDeque<u8>,
    machine: Machine,
    size: Size,
    flights: VecDeque<Flight>,
    /// All flights were sent again since one was answered.
    again: bool,
    /// The board has not carried out the last number that was used: the next one has to be that of a request that may leave numbers out.
    gap: bool,
    settled: Settled,
    levels: [u16; 2],
}

impl<W: Wire> Link<W> {
    /// A line to a board of which nothing is known.
    fn new(wire: W, patience: Patience) -> Link<W> {
        Link {
            wire,
            patience,
            sequence: 0,
            decoder: Decoder::of_replies(),
            received: VecDeque::new(),
            // Which machine it is comes to light later; until then any will do.
            machine: Machine::grid(1, 1, 16).expect("a valid grid"),
            size: Size::LEAST,
            flights: VecDeque::new(),
            again: false,
            gap: false,
            settled: Settled::default(),
            levels: [0; 2],
        }
    }

    /// Begin a session and ask what grid is there.
    ///
    /// # Errors
    /// The link does not work, or something else is at its other end.
    pub fn open(wire: W, patience: Patience) -> Result<Link<W>, LinkError> {
        let mut link = Link::new(wire, patience);
        link.discard()?;
        let greeting = link.request(Command::Hello, &[])?.payload;
        // The version is the first byte in all versions.
        if let Some(&board) = greeting.first().filter(|&&version| version != link::VERSION) {
            return Err(LinkError::Version { board });
        }
        let &[_, word, lanes, size] = greeting.as_slice() else {
            return Err(LinkError::Protocol(format!("a greeting of {} bytes", greeting.len())));
        };
        link.size = Size::of(size).ok_or_else(|| LinkError::Protocol(format!("a board of size {size}")))?;
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

    /// Most words in one request.
    pub fn words_per_frame(&self) -> usize {
        self.size.words(self.machine.word())
    }

    /// Words that the input buffer had room for when the board answered last, and words that waited in the output buffer.
    pub fn levels(&self) -> [u16; 2] {
        self.levels
    }

    /// Tell the line what its time is spent on.
    ///
    /// # Errors
    /// The link does not work.
    pub fn phase(&mut self, phase: Phase) -> Result<(), LinkError> {
        self.finish()?;
        self.wire.phase(phase);
        Ok(())
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

    /// Write through the control port, in this order, before whatever is asked for later. Words that were offered have to be taken before.
    ///
    /// # Errors
    /// The link does not work.
    pub fn write(&mut self, writes: &[(u32, u32)]) -> Result<(), LinkError> {
        for payload in link::encode_writes(writes, self.size.payload()) {
            self.begin(Command::Write, &payload, 0)?;
        }
        Ok(())
    }

    /// End the run, whatever the grid is doing; words on their way in and out are lost, the program stays.
    ///
    /// # Errors
    /// The link does not work.
    pub fn abort(&mut self) -> Result<(), LinkError> {
        self.gap |= !self.flights.is_empty();
        self.flights.clear();
        self.write(&[(registers::CONTROL, registers::ABORT)])?;
        self.finish()
    }

    /// Read registers; at most a quarter as many as a payload has bytes.
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

    /// Offer words to the input stream, at most [`Link::words_per_frame`]. What became of them is [`Link::settled`]; where words before them
    /// are refused, so are they.
    ///
    /// # Errors
    /// The link does not work.
    pub fn input(&mut self, words: &[i64]) -> Result<(), LinkError> {
        let bytes = link::word_bytes(self.machine.word());
        let payload: Vec<u8> = words.iter().flat_map(|&word| word.to_le_bytes()[..bytes].to_vec()).collect();
        self.begin(Command::Input, &payload, words.len())
    }

    /// What became of the words that were offered, since this was asked last.
    pub fn settled(&mut self) -> Settled {
        std::mem::take(&mut self.settled)
    }

    /// Words of the output stream, those that wait and fit into a frame.
    ///
    /// # Errors
    /// The link does not work.
    pub fn output(&mut self) -> Result<Vec<i64>, LinkError> {
        let word = self.machine.word();
        let bytes = link::word_bytes(word);
        let wanted = self.words_per_frame() as u16;
        let reply = self.request(Command::Output, &wanted.to_le_bytes())?;
        if !reply.payload.len().is_multiple_of(bytes) {
            return Err(LinkError::Protocol("an impossible answer to OUTPUT".to_owned()));
        }
        let value = |bytes: &[u8]| bytes.iter().rev().fold(0i128, |value, &byte| value * 256 + i128::from(byte));
        let words = reply.payload.chunks_exact(bytes).map(|bytes| arch::number::wrap(value(bytes), word) as i64);
        let words: Vec<i64> = words.collect();
        self.levels[1] = self.levels[1].saturating_sub(words.len() as u16);
        Ok(words)
    }

    /// Wait until all that is under way is done, or refused.
    ///
    /// # Errors
    /// The link does not work.
    pub fn finish(&mut self) -> Result<(), LinkError> {
        while !self.flights.is_empty() {
            self.advance()?;
        }
        Ok(())
    }

    fn next_frame(&mut self, command: Command, payload: &[u8]) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        link::encode(&[&[self.sequence, command as u8], payload].concat())
    }

    /// Send a request, and do not wait for its answer, unless too many are waited for.
    fn begin(&mut self, command: Command, payload: &[u8], words: usize) -> Result<(), LinkError> {
        while self.flights.len() >= link::WINDOW
            || !self.flights.is_empty() && self.bytes_under_way() + payload.len() > link::WINDOW_BYTES
        {
            self.advance()?;
        }
        if self.settled.refused && words > 0 {
            return Ok(());
        }
        if self.gap {
            self.request(Command::Read, &registers::IDENTITY.to_le_bytes())?;
        }
        let frame = self.next_frame(command, payload);
        self.wire.send(&frame).map_err(line)?;
        self.flights.push_back(Flight { sequence: self.sequence, frame, bytes: payload.len(), words });
        Ok(())
    }

    fn bytes_under_way(&self) -> usize {
        self.flights.iter().map(|flight| flight.bytes).sum()
    }

    /// Wait until at least one request that is under way is answered.
    fn advance(&mut self) -> Result<(), LinkError> {
        let attempts = self.patience.attempts;
        let (mut sent, mut damaged, mut useless) = (1, 0, 0);
        loop {
            // While something comes, what was sent is still on its way: a slow line needs time for it.
            let deadline = Instant::now() + self.patience.reply;
            useless += 1;
            let content = match self.hear(deadline)? {
                _ if useless > USELESS => return Err(LinkError::Damaged { attempts, damaged }),
                Heard::Frame(content) => content,
                Heard::Damaged => {
                    damaged += 1;
                    continue;
                }
                Heard::Nothing if sent < attempts => {
                    sent += 1;
                    self.send_again()?;
                    continue;
                }
                Heard::Nothing if damaged > 0 => return Err(LinkError::Damaged { attempts, damaged }),
                Heard::Nothing => return Err(LinkError::Silent { attempts }),
            };
            if is_damaged(content[1]) {
                damaged += 1;
                if !self.again {
                    self.send_again()?;
                }
                continue;
            }
            let place = |sequence| self.flights.iter().position(|flight| flight.sequence == sequence);
            // Answers to what was sent twice are no news.
            let Some(at) = place(content[0]) else { continue };
            match Status::of(content[1]) {
                Some(Status::Ok) => {
                    self.land(at + 1, &content);
                    self.again = false;
                    return Ok(());
                }
                Some(Status::Full) => {
                    self.land(at, &content);
                    self.flights.clear();
                    self.settled.refused = true;
                    (self.again, self.gap) = (false, true);
                    return Ok(());
                }
                Some(Status::OutOfOrder) => {
                    let done = content.get(REPLY_HEADER).and_then(|&last| place(last)).map_or(0, |last| last + 1);
                    self.land(done, &content);
                    // One before it was lost.
                    if done <= at && !self.again {
                        self.send_again()?;
                    }
                    if done > 0 {
                        return Ok(());
                    }
                }
                status => return Err(refusal(status, "a request")),
            }
        }
    }

    /// The first flights are done.
    fn land(&mut self, count: usize, content: &[u8]) {
        self.levels = levels(content);
        self.settled.taken += self.flights.drain(..count).map(|flight| flight.words).sum::<usize>();
    }

    fn send_again(&mut self) -> Result<(), LinkError> {
        self.again = true;
        let frames: Vec<u8> = self.flights.iter().flat_map(|flight| flight.frame.clone()).collect();
        self.wire.send(&frames).map_err(line)
    }

    /// Ask, when all before is done, until there is an answer.
    fn request(&mut self, command: Command, payload: &[u8]) -> Result<Reply, LinkError> {
        self.finish()?;
        let frame = self.next_frame(command, payload);
        let mut damaged = 0;
        let attempts = self.patience.attempts;
        for _ in 0..attempts {
            self.decoder.hunt();
            self.wire.send(&frame).map_err(line)?;
            match self.reply(command)? {
                Answer::Reply(reply) => {
                    self.gap = false;
                    self.levels = [reply.free, reply.ready];
                    return Ok(reply);
                }
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
            let content = match self.hear(deadline)? {
                Heard::Frame(content) => content,
                // It may have been an old one: the right one may still come.
                Heard::Damaged => {
                    damaged = true;
                    continue;
                }
                Heard::Nothing => return Ok(if damaged { Answer::Damaged } else { Answer::None }),
            };
            let (sequence, status) = (content[0], content[1]);
            if is_damaged(status) {
                return Ok(Answer::Damaged);
            }
            if sequence != self.sequence {
                continue;
            }
            if status != Status::Ok as u8 {
                let name = Command::ALL.iter().find(|row| row.0 == command).map_or("a request", |row| row.1);
                return Err(refusal(Status::of(status), name));
            }
            let [free, ready] = levels(&content);
            return Ok(Answer::Reply(Reply { free, ready, payload: content[REPLY_HEADER..].to_vec() }));
        }
    }

    /// What comes next, until then, or has come already: sending may take as long as waiting.
    fn hear(&mut self, deadline: Instant) -> Result<Heard, LinkError> {
        loop {
            let Some(byte) = self.received.pop_front() else {
                let left = deadline.saturating_duration_since(Instant::now());
                let mut buffer = [0; 1024];
                let count = self.wire.receive(&mut buffer, left).map_err(line)?;
                if count == 0 && left.is_zero() {
                    return Ok(Heard::Nothing);
                }
                self.received.extend(&buffer[..count]);
                continue;
            };
            match self.decoder.byte(byte) {
                None => {}
                Some(Received::Frame(content)) if content.len() >= REPLY_HEADER => return Ok(Heard::Frame(content)),
                Some(_) => return Ok(Heard::Damaged),
            }
        }
    }
}

/// What the board did not understand is asked again.
fn is_damaged(status: u8) -> bool {
    status == Status::Corrupt as u8 || status == Status::TooLong as u8
}

fn levels(content: &[u8]) -> [u16; 2] {
    [2, 4].map(|at| u16::from_le_bytes([content[at], content[at + 1]]))
}

fn refusal(status: Option<Status>, command: &'static str) -> LinkError {
    if status == Some(Status::NoSession) {
        return LinkError::Reset;
    }
    let meaning = Status::ALL.iter().find(|row| Some(row.0) == status).map_or("unknown status", |row| row.2);
    LinkError::Refused { command, meaning }
}

enum Heard {
    /// A whole frame.
    Frame(Vec<u8>),
    Damaged,
    Nothing,
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
mod tests;
