//! The byte protocol between a host and a board: one table for the host, the hardware, the model of it and docs/link.md.
//!
//!     request   FLAG  sequence  command  payload ...                       crc  crc  FLAG        host  ──▶ board
//!     reply     FLAG  sequence  status   free free  ready ready  payload   crc  crc  FLAG        board ──▶ host
//!
//! The board takes requests while it answers others, and carries them out in the order of their sequence numbers: [`order`].
//!
//! Between the flags, bytes that are [`FLAG`] or [`ESCAPE`] are sent as `ESCAPE, byte ^ ESCAPE_FLIP`. All numbers are
//! little-endian, but the checksum, whose high byte comes first: over a whole frame it is then 0.

use crate::registers::{ADDRESS_BITS, ENTRY_CHUNKS, INSTRUCTION_CHUNKS};

/// Addresses of the control port.
const ADDRESSES: u32 = (1 << ADDRESS_BITS) - 1;
/// Begins and ends a frame; occurs nowhere else.
pub const FLAG: u8 = 0x7e;
/// Says that the next byte has [`ESCAPE_FLIP`] flipped.
pub const ESCAPE: u8 = 0x7d;
/// Bits that are flipped in a byte after [`ESCAPE`].
pub const ESCAPE_FLIP: u8 = 0x20;
/// Version of the protocol, in the reply to [`Command::Hello`].
pub const VERSION: u8 = 2;
/// Polynomial of the checksum (CRC-16/IBM-3740: not reflected, begins with [`CRC_START`], nothing added at the end).
pub const CRC_POLYNOMIAL: u16 = 0x1021;
/// Value the checksum begins with.
pub const CRC_START: u16 = 0xffff;
/// Bytes of a request around its payload: sequence, command, checksum.
pub const REQUEST_FRAME: usize = 4;
/// Bytes of a reply before its payload: sequence, status, free, ready.
pub const REPLY_HEADER: usize = 6;
/// Requests that a host has sent and that are not answered yet, at most.
pub const WINDOW: usize = 32;
/// Bytes of them, at most, unless it is one request: what a line of 3 Mbaud carries in 27 ms. A USB bridge keeps answers for 16 ms.
pub const WINDOW_BYTES: usize = 8192;
/// Fewest clock cycles of one bit on the wire.
pub const LEAST_DIVISOR: u32 = 4;
/// How far a bit's length may be off: a receiver that starts in the middle of the start bit sees ten bits.
pub const MOST_BAUD_ERROR: f64 = 0.02;

/// What the host asks for. No number but that of `Hello` is a [`Status`]: a reply that comes back to the board is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Start a session: reset the grid, empty both buffers.
    Hello = 0,
    /// Write words through the control port: [`encode_writes`].
    Write = 16,
    /// Read registers through the control port.
    Read = 17,
    /// Words for the input stream, all of them or none.
    Input = 18,
    /// Words of the output stream.
    Output = 19,
}

impl Command {
    /// All of them, with name, payload of the request, and payload of the reply: the table of docs/link.md.
    pub const ALL: [(Command, &'static str, &'static str, &'static str); 5] = [
        (Command::Hello, "HELLO", "none", "version, bits of a word, words of a beat, size"),
        (Command::Write, "WRITE", "items: kind, up to 4 bytes", "none"),
        (Command::Read, "READ", "for each read: address (4)", "for each read: data (4)"),
        (Command::Input, "INPUT", "words, 1, 2 or 4 bytes each", "none"),
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
    /// The payload was longer than [`Size::payload`]. Nothing was done.
    TooLong = 2,
    /// No such command. Nothing was done.
    UnknownCommand = 3,
    /// The payload does not consist of whole elements. Nothing was done.
    BadLength = 4,
    /// There was no `HELLO` since the board's reset. Nothing was done.
    NoSession = 5,
    /// The input buffer has no room for these words. Nothing was done.
    Full = 6,
    /// Another request has to come first. Nothing was done.
    OutOfOrder = 7,
}

impl Status {
    /// All of them, with name and meaning: the table of docs/link.md.
    pub const ALL: [(Status, &'static str, &'static str); 8] = [
        (Status::Ok, "OK", "done"),
        (Status::Corrupt, "CORRUPT", "the checksum was wrong, or a byte had no stop bit"),
        (Status::TooLong, "TOO_LONG", "the payload was too long"),
        (Status::UnknownCommand, "UNKNOWN_COMMAND", "there is no such command"),
        (Status::BadLength, "BAD_LENGTH", "the payload was not made of whole elements"),
        (Status::NoSession, "NO_SESSION", "there was no HELLO since the board's reset"),
        (Status::Full, "FULL", "the input buffer has no room for all these words"),
        (Status::OutOfOrder, "OUT_OF_ORDER", "another request has to come first"),
    ];

    /// The one with this number.
    pub fn of(number: u8) -> Option<Status> {
        Status::ALL.iter().map(|row| row.0).find(|status| *status as u8 == number)
    }
}

/// What a board does with a request by its sequence number, where the last one that it carried out was `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Carry it out.
    New,
    /// It was the last one: answer as before, and do nothing.
    Repeat,
    /// [`Status::OutOfOrder`].
    Wrong,
}

/// See [`Order`]. What changes nothing on the board may leave numbers out; what changes something may not, since one that was lost would have
/// come before it.
pub fn order(command: Command, sequence: u8, last: u8) -> Order {
    match (command, sequence.wrapping_sub(last)) {
        (Command::Hello, _) | (_, 1) | (Command::Read | Command::Output, 1..=127) => Order::New,
        (_, 0) => Order::Repeat,
        _ => Order::Wrong,
    }
}

/// Bytes of one word of `word` bits on the wire: 1, 2 or 4.
pub fn word_bytes(word: u32) -> usize {
    word.div_ceil(8).next_power_of_two() as usize
}

/// How much a board keeps: the logarithm to base 2 of the bytes of a payload, and of the words of each of its two buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u8);

impl Size {
    /// Payloads of 256 bytes.
    pub const LEAST: Size = Size(8);
    /// Payloads of 1,024 bytes.
    pub const USUAL: Size = Size(10);
    /// Payloads of 4,096 bytes.
    pub const MOST: Size = Size(12);

    /// A board says this number.
    pub fn of(log2: u8) -> Option<Size> {
        Some(Size(log2)).filter(|size| (Size::LEAST..=Size::MOST).contains(size))
    }

    /// The number.
    pub fn log2(self) -> u8 {
        self.0
    }

    /// Most bytes of a payload, either way.
    pub fn payload(self) -> usize {
        1 << self.0
    }

    /// Words that the input buffer holds, and the output buffer.
    pub fn buffer(self) -> usize {
        1 << self.0
    }

    /// Bytes in which the board keeps requests that wait.
    pub fn queue(self) -> usize {
        2 << self.0
    }

    /// Most words of `word` bits in one payload.
    pub fn words(self, word: u32) -> usize {
        self.payload() / word_bytes(word)
    }
}

/// What an item of a WRITE does with its four bytes: bits 5..4 of its kind. Bits 3..0 say which of the bytes follow; the others are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Write them; the next address is the one behind.
    Next = 0,
    /// Write them; the next address is the next multiple of 4: an entry of a table.
    NextEntry = 1,
    /// Write them; the next address is the next multiple of 32: an instruction.
    NextInstruction = 2,
    /// They are the address of the next write.
    Address = 3,
}

impl Item {
    /// All of them, with name and meaning: the table of docs/link.md.
    pub const ALL: [(Item, &'static str, &'static str); 4] = [
        (Item::Next, "NEXT", "write them; the address goes on by 1"),
        (Item::NextEntry, "NEXT_ENTRY", "write them; the address goes on to the next multiple of 4"),
        (Item::NextInstruction, "NEXT_INSTRUCTION", "write them; the address goes on to the next multiple of 32"),
        (Item::Address, "ADDRESS", "they are the address of the next write"),
    ];

    /// The address after a write to this one. `None`: nothing is written.
    pub fn after(self, address: u32) -> Option<u32> {
        match self {
            Item::Next => Some(address + 1),
            Item::NextEntry => Some((address | (ENTRY_CHUNKS - 1)) + 1),
            Item::NextInstruction => Some((address | (INSTRUCTION_CHUNKS - 1)) + 1),
            Item::Address => None,
        }
    }

    fn put(self, value: u32, payload: &mut Vec<u8>) {
        let bytes = value.to_le_bytes();
        let kind = (0..4).filter(|&n| bytes[n] != 0).fold((self as u8) << 4, |kind, n| kind | 1 << n);
        payload.push(kind);
        payload.extend(bytes.into_iter().filter(|&byte| byte != 0));
    }
}

/// Payloads of WRITE requests that do these writes, in this order; each begins with an address.
pub fn encode_writes(writes: &[(u32, u32)], limit: usize) -> Vec<Vec<u8>> {
    /// Bytes of an item, at most.
    const ITEM: usize = 5;
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    // Where the next write of the last payload goes, if it has room.
    let mut next = None;
    for (n, &(address, data)) in writes.iter().enumerate() {
        let full = payloads.last().is_none_or(|payload| payload.len() + 2 * ITEM > limit);
        if full {
            payloads.push(Vec::new());
            next = None;
        }
        let Some(payload) = payloads.last_mut() else { continue };
        if next != Some(address) {
            Item::Address.put(address, payload);
        }
        let follows = writes.get(n + 1).map(|&(address, _)| address);
        let kinds = [Item::Next, Item::NextEntry, Item::NextInstruction];
        let kind = kinds.into_iter().find(|kind| kind.after(address) == follows).unwrap_or(Item::Next);
        kind.put(data, payload);
        next = kind.after(address);
    }
    payloads
}

/// The writes of a WRITE request. An item that the payload's end cuts off does nothing.
pub fn decode_writes(payload: &[u8]) -> Vec<(u32, u32)> {
    let (mut writes, mut address) = (Vec::new(), 0);
    let mut bytes = payload.iter();
    while let Some(kind) = bytes.next() {
        let mut value = [0; 4];
        for (_, place) in value.iter_mut().enumerate().filter(|(n, _)| kind >> n & 1 == 1) {
            let Some(&byte) = bytes.next() else { return writes };
            *place = byte;
        }
        let value = u32::from_le_bytes(value);
        let item = Item::ALL[usize::from(kind >> 4 & 3)].0;
        address = match item.after(address) {
            Some(next) => {
                writes.push((address, value));
                next
            }
            None => value,
        } & ADDRESSES;
    }
    writes
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

    /// Of the requests that a board of this size receives.
    pub fn of_requests(size: Size) -> Decoder {
        Decoder::new(size.payload() + REQUEST_FRAME)
    }

    /// Of the replies that a host receives.
    pub fn of_replies() -> Decoder {
        Decoder::new(Size::MOST.payload() + REPLY_HEADER + 2)
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
        let mut decoder = Decoder::of_requests(Size::LEAST);
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

    /// By hand: an address has a byte for each that is not 0; two words of an entry, of which one is 0; the next entry is where the address is.
    #[test]
    fn writes_are_packed() {
        let writes = [(0x5_0000, 0x1200), (0x5_0001, 0), (0x5_0004, 0xffff_ffff), (0x5_0005, 1), (0x10, 0x0102_0304)];
        let payload = [0x34, 5, 0x02, 0x12, 0x10, 0x0f, 0xff, 0xff, 0xff, 0xff, 0x01, 1, 0x31, 0x10, 0x0f, 4, 3, 2, 1];
        assert_eq!(encode_writes(&writes, 256), [payload.to_vec()]);
        assert_eq!(decode_writes(&payload), writes);
        assert_eq!(decode_writes(&payload[..payload.len() - 1]), writes[..4], "a word that is cut off");
        let instructions = [(0x1_0003, 1), (0x1_0020, 2), (0x1_0021, 3), (0xf_ffff, 4), (0, 5)];
        let payload = [0x35, 3, 1, 0x21, 1, 0x01, 2, 0x01, 3, 0x37, 0xff, 0xff, 0x0f, 0x01, 4, 0x30, 0x01, 5];
        assert_eq!(encode_writes(&instructions, 256), [payload.to_vec()]);
        assert_eq!(decode_writes(&payload), instructions);
        // The last address of all is followed by the first.
        assert_eq!(decode_writes(&[0x37, 0xff, 0xff, 0x0f, 0x01, 4, 0x01, 5]), [(0xf_ffff, 4), (0, 5)]);
        assert_eq!(encode_writes(&[], 256), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn what_changes_something_comes_in_order() {
        use Order::{New, Repeat, Wrong};
        let orders = |command| [254, 255, 0, 1, 126, 127].map(|sequence| order(command, sequence, 255));
        assert_eq!(orders(Command::Write), [Wrong, Repeat, New, Wrong, Wrong, Wrong]);
        assert_eq!(orders(Command::Input), orders(Command::Write));
        assert_eq!(orders(Command::Read), [Wrong, Repeat, New, New, New, Wrong]);
        assert_eq!(orders(Command::Output), orders(Command::Read));
        assert_eq!(orders(Command::Hello), [New; 6]);
    }

    #[test]
    fn payloads_of_writes_stand_alone() {
        let writes: Vec<(u32, u32)> = (0..500).map(|n| (0x1_0000 + 3 * n, 0x0101_0101 * (n & 3))).collect();
        for limit in [16, 256, 1024] {
            let payloads = encode_writes(&writes, limit);
            assert!(payloads.iter().all(|payload| payload.len() <= limit));
            let done: Vec<(u32, u32)> = payloads.iter().flat_map(|payload| decode_writes(payload)).collect();
            assert_eq!(done, writes);
        }
    }

    /// A reply has a payload, if it is read as a request: it is no HELLO either.
    #[test]
    fn replies_are_no_requests() {
        for (command, ..) in Command::ALL {
            assert_eq!(Status::of(command as u8).is_some(), command == Command::Hello);
        }
    }

    #[test]
    fn sizes_have_bounds() {
        let sizes: Vec<Option<usize>> = [7, 8, 12, 13].map(|log2| Size::of(log2).map(Size::payload)).to_vec();
        assert_eq!(sizes, [None, Some(256), Some(4096), None]);
        assert_eq!((Size::USUAL.words(16), Size::USUAL.words(24), Size::LEAST.words(8)), (512, 256, 256));
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
        for (item, name, meaning) in Item::ALL {
            let row = format!("| {} | {name} | {meaning} |", item as u8);
            assert!(page.contains(&row), "docs/link.md lacks: {row}");
        }
        // The version stands where that of version 1 stood: it may never move.
        let greeting = [1, Status::Ok as u8, 0, 4, 0, 0, VERSION, 16, 16, Size::USUAL.log2()];
        let writes = encode_writes(&[(0x5_0000, 0x1200), (0x5_0001, 0), (0x5_0004, 7)], 256).remove(0);
        let write = [&[2, Command::Write as u8][..], &writes].concat();
        let dump = |content: &[u8]| {
            let bytes: Vec<String> = encode(content).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("`{}`", bytes.join(" "))
        };
        for fact in [
            dump(&hello),
            dump(&greeting),
            dump(&write),
            format!("`FLAG` = {FLAG:#04x}"),
            format!("`ESCAPE` = {ESCAPE:#04x}"),
            format!("`byte ^ {ESCAPE_FLIP:#04x}`"),
            format!("polynomial {CRC_POLYNOMIAL:#06x}, start {CRC_START:#06x}"),
            format!("{} to {}", Size::LEAST.log2(), Size::MOST.log2()),
            format!("version is {VERSION}"),
            format!("{WINDOW} requests"),
            format!("{WINDOW_BYTES} bytes"),
        ] {
            assert!(page.contains(&fact), "docs/link.md lacks: {fact}");
        }
    }
}
