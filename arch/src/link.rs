//! The byte protocol between a host and a board: one table for the host, the hardware, the model of it and docs/link.md.
//!
//!     request   FLAG  sequence  command  payload ...                       crc  crc  FLAG        host  ──▶ board
//!     reply     FLAG  sequence  status   free free  ready ready  payload   crc  crc  FLAG        board ──▶ host
//!
//! Between the flags, bytes that are [`FLAG`] or [`ESCAPE`] are sent as `ESCAPE, byte ^ ESCAPE_FLIP`. All numbers are
//! little-endian, but the checksum, whose high byte comes first: over a whole frame it is then 0.

/// Begins and ends a frame; occurs nowhere else.
pub const FLAG: u8 = 0x7e;
/// Says that the next byte has [`ESCAPE_FLIP`] flipped.
pub const ESCAPE: u8 = 0x7d;
/// Bits that are flipped in a byte after [`ESCAPE`].
pub const ESCAPE_FLIP: u8 = 0x20;
/// Version of the protocol, in the reply to [`Command::Hello`].
pub const VERSION: u8 = 1;
/// Polynomial of the checksum (CRC-16/IBM-3740: not reflected, begins with [`CRC_START`], nothing added at the end).
pub const CRC_POLYNOMIAL: u16 = 0x1021;
/// Value the checksum begins with.
pub const CRC_START: u16 = 0xffff;
/// Most bytes of a payload, either way.
pub const PAYLOAD_LIMIT: usize = 256;
/// Bytes of a request around its payload: sequence, command, checksum.
pub const REQUEST_FRAME: usize = 4;
/// Bytes of a reply before its payload: sequence, status, free, ready.
pub const REPLY_HEADER: usize = 6;
/// Words the board's input and output buffers hold, each.
pub const BUFFER_WORDS: u32 = 256;
/// Fewest clock cycles of one bit on the wire.
pub const LEAST_DIVISOR: u32 = 4;
/// How far a bit's length may be off: a receiver that starts in the middle of the start bit sees ten bits.
pub const MOST_BAUD_ERROR: f64 = 0.02;

/// What the host asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Start a session: reset the grid, empty both buffers.
    Hello = 0,
    /// Write words through the control port.
    Write = 1,
    /// Read registers through the control port.
    Read = 2,
    /// Words for the input stream.
    Input = 3,
    /// Words of the output stream.
    Output = 4,
}

impl Command {
    /// All of them, with name, payload of the request, and payload of the reply: the table of docs/link.md.
    pub const ALL: [(Command, &'static str, &'static str, &'static str); 5] = [
        (Command::Hello, "HELLO", "none", "version, bits of a word, words of a beat, log2 of the words of a buffer"),
        (Command::Write, "WRITE", "for each write: address (4), data (4)", "none"),
        (Command::Read, "READ", "for each read: address (4)", "for each read: data (4)"),
        (Command::Input, "INPUT", "words, 1, 2 or 4 bytes each", "how many of them were taken (2)"),
        (Command::Output, "OUTPUT", "how many words are wanted (2)", "so many words or fewer, 1, 2 or 4 bytes each"),
    ];
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// The checksum was wrong, or a byte had no stop bit. Nothing was done.
    Corrupt = 1,
    /// The payload was longer than [`PAYLOAD_LIMIT`]. Nothing was done.
    TooLong = 2,
    /// No such command. Nothing was done.
    UnknownCommand = 3,
    /// The payload does not consist of whole elements. Nothing was done.
    BadLength = 4,
    /// There was no `HELLO` since the board's reset. Nothing was done.
    NoSession = 5,
}

impl Status {
    /// All of them, with name and meaning: the table of docs/link.md.
    pub const ALL: [(Status, &'static str, &'static str); 6] = [
        (Status::Ok, "OK", "done"),
        (Status::Corrupt, "CORRUPT", "the checksum was wrong, or a byte had no stop bit"),
        (Status::TooLong, "TOO_LONG", "the payload had more than 256 bytes"),
        (Status::UnknownCommand, "UNKNOWN_COMMAND", "there is no such command"),
        (Status::BadLength, "BAD_LENGTH", "the payload was not made of whole elements"),
        (Status::NoSession, "NO_SESSION", "there was no HELLO since the board's reset"),
    ];
}

/// Bytes of one word of `word` bits on the wire: 1, 2 or 4.
pub fn word_bytes(word: u32) -> usize {
    word.div_ceil(8).next_power_of_two() as usize
}

/// Most words in one payload.
pub fn words_per_frame(word: u32) -> usize {
    PAYLOAD_LIMIT / word_bytes(word)
}

/// Checksum of `bytes` after `crc`.
pub fn checksum(crc: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(crc, |crc, &byte| {
        (0..8).fold(
            crc ^ u16::from(byte) << 8,
            |crc, _| if crc >> 15 == 1 { crc << 1 ^ CRC_POLYNOMIAL } else { crc << 1 },
        )
    })
}

/// The bytes on the wire of a frame with this content.
pub fn encode(content: &[u8]) -> Vec<u8> {
    let crc = checksum(CRC_START, content).to_be_bytes();
    let mut bytes = vec![FLAG];
    for &byte in content.iter().chain(&crc) {
        if byte == FLAG || byte == ESCAPE {
            bytes.extend([ESCAPE, byte ^ ESCAPE_FLIP]);
        } else {
            bytes.push(byte);
        }
    }
    bytes.push(FLAG);
    bytes
}

/// What stood between two flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A frame whose checksum is right; its content.
    Frame(Vec<u8>),
    /// Anything else; its first byte, which may be the sequence number.
    Corrupt(Option<u8>),
    /// More bytes than a frame may have; its first byte.
    TooLong(u8),
}

/// Takes bytes from the wire apart into frames. Whatever comes before the first flag is skipped.
#[derive(Debug, Clone)]
pub struct Decoder {
    limit: usize,
    state: State,
    bytes: Vec<u8>,
    crc: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hunting,
    Inside,
    Escaped,
    Broken,
    TooLong,
}

impl Decoder {
    /// For frames of at most `limit` bytes, checksum included.
    pub fn new(limit: usize) -> Decoder {
        Decoder { limit, state: State::Hunting, bytes: Vec::new(), crc: CRC_START }
    }

    /// Of the requests a board receives.
    pub fn of_requests() -> Decoder {
        Decoder::new(PAYLOAD_LIMIT + REQUEST_FRAME)
    }

    /// Of the replies a host receives.
    pub fn of_replies() -> Decoder {
        Decoder::new(PAYLOAD_LIMIT + REPLY_HEADER + 2)
    }

    /// Forget what was received and skip to the next flag.
    pub fn hunt(&mut self) {
        *self = Decoder::new(self.limit);
    }

    /// The next byte from the wire; what it completes.
    pub fn byte(&mut self, byte: u8) -> Option<Received> {
        if byte == FLAG {
            let (state, crc) = (self.state, self.crc);
            let bytes = std::mem::take(&mut self.bytes);
            (self.state, self.crc) = (State::Inside, CRC_START);
            let &first = bytes.first().filter(|_| state != State::Hunting)?;
            return Some(match state {
                State::TooLong => Received::TooLong(first),
                State::Inside if crc == 0 && bytes.len() >= REQUEST_FRAME => {
                    Received::Frame(bytes[..bytes.len() - 2].to_vec())
                }
                _ => Received::Corrupt(Some(first)),
            });
        }
        let content = match self.state {
            State::Inside if byte == ESCAPE => {
                self.state = State::Escaped;
                return None;
            }
            State::Inside => byte,
            State::Escaped if byte == ESCAPE => {
                self.state = State::Broken;
                return None;
            }
            State::Escaped => {
                self.state = State::Inside;
                byte ^ ESCAPE_FLIP
            }
            State::Hunting | State::Broken | State::TooLong => return None,
        };
        if self.bytes.len() == self.limit {
            self.state = State::TooLong;
            return None;
        }
        self.crc = checksum(self.crc, &[content]);
        self.bytes.push(content);
        None
    }

    /// The line was no byte: what stands in the current frame is worth nothing.
    pub fn line_error(&mut self) {
        if !matches!(self.state, State::Hunting | State::TooLong) {
            self.state = State::Broken;
        }
    }
}

/// Clock cycles of one bit, and by how much that misses the rate.
pub fn divisor(clock_hz: u64, baud: u32) -> Option<u32> {
    let divisor = (clock_hz + u64::from(baud) / 2) / u64::from(baud.max(1));
    let error = (clock_hz as f64 / divisor.max(1) as f64 / f64::from(baud.max(1)) - 1.0).abs();
    (divisor >= LEAST_DIVISOR.into() && divisor < 1 << 16 && error <= MOST_BAUD_ERROR).then_some(divisor as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value that catalogues of checksums give for CRC-16/IBM-3740.
    #[test]
    fn the_checksum_is_the_known_one() {
        assert_eq!(checksum(CRC_START, b"123456789"), 0x29b1);
    }

    fn decoded(bytes: &[u8]) -> Vec<Received> {
        let mut decoder = Decoder::of_requests();
        bytes.iter().filter_map(|&byte| decoder.byte(byte)).collect()
    }

    #[test]
    fn frames_come_back() {
        for content in [vec![1, 0], vec![FLAG, ESCAPE, 0x5e, 0x5d], (0..=255).collect()] {
            let bytes = encode(&content);
            assert!(!bytes[1..bytes.len() - 1].contains(&FLAG));
            assert_eq!(decoded(&bytes), [Received::Frame(content)]);
        }
    }

    #[test]
    fn garbage_is_skipped_and_damage_noticed() {
        let frame = encode(&[7, 2, 3, 4, 5]);
        assert_eq!(decoded(&[&[9, 9, ESCAPE, 9], &frame[..]].concat()), [Received::Frame(vec![7, 2, 3, 4, 5])]);
        for at in 1..frame.len() - 1 {
            for bit in 0..8 {
                let mut damaged = frame.clone();
                damaged[at] ^= 1 << bit;
                let good = decoded(&damaged).into_iter().filter(|r| matches!(r, Received::Frame(_))).count();
                assert_eq!(good, 0, "byte {at}, bit {bit}");
                // The next frame is whole again.
                let last = decoded(&[&damaged[..], &frame[..]].concat()).pop();
                assert_eq!(last, Some(Received::Frame(vec![7, 2, 3, 4, 5])));
            }
        }
        assert_eq!(decoded(&[&[FLAG][..], &[3; 300], &[FLAG]].concat()), [Received::TooLong(3)]);
        assert_eq!(decoded(&[FLAG, 5, ESCAPE, ESCAPE, 1, 1, 1, FLAG]), [Received::Corrupt(Some(5))]);
    }

    #[test]
    fn divisors_are_close_or_refused() {
        assert_eq!(divisor(24_000_000, 3_000_000), Some(8));
        assert_eq!(divisor(110_000_000, 3_000_000), Some(37));
        assert_eq!(divisor(12_000_000, 5_000_000), None);
        assert_eq!(divisor(100_000_000, 300), None);
        assert_eq!(divisor(13_000_000, 3_000_000), None);
    }

    /// docs/link.md is what users read; its tables come from here.
    #[test]
    fn the_page_has_these_tables() {
        let page = include_str!("../../docs/link.md");
        for (command, name, request, reply) in Command::ALL {
            let row = format!("| {} | {name} | {request} | {reply} |", command as u8);
            assert!(page.contains(&row), "docs/link.md lacks: {row}");
        }
        for (status, name, meaning) in Status::ALL {
            let row = format!("| {} | {name} | {meaning} |", status as u8);
            assert!(page.contains(&row), "docs/link.md lacks: {row}");
        }
        let hello = [1, Command::Hello as u8];
        let greeting = [1, Status::Ok as u8, 0, 1, 0, 0, VERSION, 16, 16, BUFFER_WORDS.ilog2() as u8];
        let dump = |content: &[u8]| {
            let bytes: Vec<String> = encode(content).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("`{}`", bytes.join(" "))
        };
        for fact in [
            dump(&hello),
            dump(&greeting),
            format!("`FLAG` = {FLAG:#04x}"),
            format!("`ESCAPE` = {ESCAPE:#04x}"),
            format!("`byte ^ {ESCAPE_FLIP:#04x}`"),
            format!("polynomial {CRC_POLYNOMIAL:#06x}, start {CRC_START:#06x}"),
            format!("at most {PAYLOAD_LIMIT} bytes"),
            format!("{BUFFER_WORDS} words each"),
            format!("version is {VERSION}"),
        ] {
            assert!(page.contains(&fact), "docs/link.md lacks: {fact}");
        }
    }
}
