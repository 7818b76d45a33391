//! Lines that lose, damage, double and reorder what they carry, boards that are reset, and how much of a good line is useful.

use super::{DIVISOR, Pins, STEPS, ask, facts, hardware, hardware_of, model, patience, spec};
use crate::logistic::{ALL, climb};
use arch::link::{self, FLAG, Size};
use arch::machine::Machine;
use arch::registers;
use hdl::shell;
use hdl::store::Store;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::grid::Stalls;
use sim::link::{BoardModel, Link, LinkError, LinkedGrid, Patience, Settled, Wire};
use sim::verilator::{self, BoardDevice, Library};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// What answers bytes with bytes.
trait Board {
    fn answers(&mut self, bytes: &[u8]) -> Vec<u8>;
}

impl Board for BoardModel<Array> {
    fn answers(&mut self, bytes: &[u8]) -> Vec<u8> {
        bytes.iter().flat_map(|&byte| self.byte(byte)).collect()
    }
}

impl Board for BoardDevice {
    fn answers(&mut self, bytes: &[u8]) -> Vec<u8> {
        ask(self, bytes)
    }
}

/// A line on which, once the board has greeted, `trouble` of 100 frames are lost, damaged, doubled, swapped with the next one, or come once more when others have come.
struct Hostile<B> {
    board: B,
    trouble: Rc<Cell<u32>>,
    random: ChaCha8Rng,
    /// Frames that wait for another one, on the way there and on the way back.
    late: [Vec<u8>; 2],
    waiting: VecDeque<u8>,
    /// Frames that were on the way without an answer, at most.
    most: Rc<Cell<usize>>,
    open: usize,
}

impl<B: Board> Hostile<B> {
    fn new(board: B, seed: u64) -> Hostile<B> {
        let (late, most) = ([Vec::new(), Vec::new()], Rc::default());
        let random = ChaCha8Rng::seed_from_u64(seed);
        Hostile { board, trouble: Rc::default(), random, late, waiting: VecDeque::new(), most, open: 0 }
    }

    /// A session over it. A greeting that came twice, and late, would begin another one.
    fn greeted(self, trouble: u32) -> Link<Hostile<B>> {
        let hostile = Rc::clone(&self.trouble);
        let patience = Patience { reply: Duration::from_millis(2), ..patience() };
        let link = Link::open(self, patience).unwrap();
        hostile.set(trouble);
        link
    }

    fn carried(&mut self, way: usize, bytes: &[u8]) -> Vec<u8> {
        let mut carried = Vec::new();
        for frame in bytes.split_inclusive(|&byte| byte == FLAG) {
            carried.extend(frame);
            // The flag that begins a frame is no frame.
            if frame.len() < 2 || self.random.next_u32() % 100 >= self.trouble.get() {
                carried.append(&mut self.late[way]);
                continue;
            }
            let end = carried.len();
            let begin = end - frame.len();
            match self.random.next_u32() % 6 {
                0 => carried.truncate(begin),
                1 => {
                    let at = begin + self.random.next_u32() as usize % frame.len();
                    carried[at] ^= 1 << (self.random.next_u32() % 8);
                }
                2 => carried.extend_from_within(begin..end),
                3 => self.late[way] = [&[FLAG], &carried.split_off(begin)[..]].concat(),
                4 => self.late[way] = [&[FLAG], frame].concat(),
                _ => drop(carried.remove(begin)),
            }
        }
        carried
    }
}

impl<B: Board> Wire for Hostile<B> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.open += bytes.iter().filter(|&&byte| byte == FLAG).count() / 2;
        self.most.set(self.most.get().max(self.open));
        let bytes = self.carried(0, bytes);
        let answers = self.board.answers(&bytes);
        let answers = self.carried(1, &answers);
        self.waiting.extend(answers);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        self.open = 0;
        let count = self.waiting.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(self.waiting.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}

/// What is written and sent over it is there once, and in order.
fn survives<B: Board>(machine: &Machine, line: Hostile<B>, trouble: u32, rounds: u32) {
    let most = Rc::clone(&line.most);
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut link = line.greeted(trouble);
    let registers: Vec<u32> = (registers::STEP_LENGTH..registers::ENTRY_LOAD_MODEL).collect();
    let mut expected = vec![0; registers.len()];
    let mut room = Size::LEAST.buffer() + machine.stream_words() as usize;
    for _ in 0..rounds {
        for _ in 0..random.next_u32() % 20 {
            let at = random.next_u32() as usize % registers.len();
            expected[at] = random.next_u32() & 0xff;
            link.write(&[(registers[at], expected[at]), (registers[at], expected[at])]).unwrap();
        }
        assert_eq!(link.read(&registers).unwrap(), expected);
        // No program takes them: as many as there is room for are taken, the others are not.
        let words = random.next_u32() as usize % 9;
        link.input(&vec![1; words]).unwrap();
        link.finish().unwrap();
        let refused = words > room;
        assert_eq!(link.settled(), Settled { taken: if refused { 0 } else { words }, refused });
        room -= if refused { 0 } else { words };
        assert!(link.output().unwrap().is_empty());
    }
    assert!(room < 100 && most.get() >= 8, "{room} {}", most.get());
}

#[test]
fn a_hostile_line_changes_nothing() {
    let machine = Machine::try_from(spec(2, 4, 16)).unwrap();
    for (trouble, seed) in [(5, 1), (20, 2), (20, 3)] {
        survives(&machine, Hostile::new(model(&machine), seed), trouble, 120);
    }
    survives(&machine, Hostile::new(hardware(&machine), 4), 20, 80);
}

/// A training over such a line, of which many requests are under way, gives the words of the array.
#[test]
fn a_program_runs_over_a_hostile_line() {
    let climb = climb(&spec(2, 4, 16), STEPS, &ALL);
    let machine = &climb.image().machine;
    let array = climb.run(Array::new(machine), Stalls::none()).unwrap();
    let link = Hostile::new(model(machine), 5).greeted(10);
    assert_eq!(climb.run(LinkedGrid::new(link), Stalls::none()).unwrap().words, array.words);
    let link = Hostile::new(hardware(machine), 6).greeted(10);
    assert_eq!(climb.run(LinkedGrid::new(link), Stalls::none()).unwrap().words, array.words, "the hardware");
}

/// The button is pressed after so many bytes: the host is told, or all was done before; the next session works.
#[test]
fn a_reset_at_any_moment_is_told() {
    struct Pressed(BoardDevice, usize);
    impl Wire for Pressed {
        fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
            for &byte in bytes {
                self.0.send(&[byte]);
                while !self.0.sent() {
                    self.0.run(20);
                }
                if self.1 == 1 {
                    self.0.press(true);
                    self.0.run(50);
                    self.0.press(false);
                    self.0.run(400);
                }
                self.1 = self.1.saturating_sub(1);
            }
            Ok(())
        }

        fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
            self.0.run(1_000);
            let bytes = self.0.take();
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }
    let machine = Machine::try_from(spec(1, 2, 16)).unwrap();
    let rtl = shell::board(&machine, &facts()).unwrap();
    let library = Library::build(&rtl, &verilator::Options::brief()).unwrap_or_else(|error| panic!("{error}"));
    let patience = Patience { reply: Duration::from_millis(20), attempts: 4, ..patience() };
    let writes: Vec<(u32, u32)> = (0..60).map(|n| (registers::STEP_LENGTH, n)).collect();
    let mut told = 0;
    for after in (1..400).step_by(23) {
        let talk = |after: usize| -> Result<u32, LinkError> {
            let board = BoardDevice::new(&library, DIVISOR, true);
            let mut link = Link::open(Pressed(board, after), patience)?;
            for some in writes.chunks(10) {
                link.write(some)?;
                link.input(&[1, 2, 3])?;
            }
            Ok(link.read(&[registers::STEP_LENGTH])?[0])
        };
        match talk(after) {
            Ok(value) => assert_eq!(value, 59, "after {after} bytes"),
            Err(error) => {
                assert!(!matches!(error, LinkError::Protocol(_) | LinkError::Refused { .. }), "{error}");
                told += u32::from(error == LinkError::Reset);
            }
        }
    }
    assert!(told > 3, "{told}");
}

/// A board that the other version of tabla-gen made: both versions have the first byte of the greeting in common.
#[test]
fn another_version_is_told_apart() {
    struct Old;
    impl Wire for Old {
        fn send(&mut self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
            if patience == Duration::from_millis(20) {
                return Ok(0);
            }
            let greeting = link::encode(&[1, 0, 0, 1, 0, 0, 1, 16, 8, 8]);
            buffer[..greeting.len()].copy_from_slice(&greeting);
            Ok(greeting.len())
        }
    }
    let error = Link::open(Old, patience()).map(drop).unwrap_err();
    assert_eq!(error, LinkError::Version { board: 1 });
    let said =
        "the board speaks version 1 of the link, this tabla-gen version 2: load a bitstream that this tabla-gen made";
    assert!(error.to_string().starts_with(said), "{error}");
}

/// While samples are sent, at least 85 % of what the line could carry are bytes of them.
#[test]
fn most_of_the_line_is_useful() {
    struct Timed(Pins, Rc<Cell<u64>>);
    impl Wire for Timed {
        fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.send(bytes)
        }

        fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
            loop {
                let bytes = self.0.0.take();
                if !bytes.is_empty() {
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    return Ok(bytes.len());
                }
                self.0.0.run(20);
                self.1.set(self.1.get() + 20);
            }
        }
    }
    let machine = Machine::try_from(spec(1, 4, 16)).unwrap();
    for link_size in [Size::LEAST, Size::USUAL] {
        let board = hardware_of(&machine, &shell::Board { store: Some(Store::of_rows(20_000)), link_size, ..facts() });
        let cycles = Rc::default();
        // The first question of a session waits for nothing to come.
        let mut pins = Pins(board);
        pins.send(&[FLAG]).unwrap();
        let line = Silent(Timed(pins, Rc::clone(&cycles)));
        let mut link = Link::open(line, Patience { reply: Duration::from_secs(20), ..patience() }).unwrap();
        link.write(&[(arch::store::MODE, arch::store::Mode::Fill as u32)]).unwrap();
        link.finish().unwrap();
        cycles.set(0);
        let words: Vec<i64> = (0..6_000).map(|n| n * 7 % 30_000).collect();
        for some in words.chunks(link.words_per_frame()) {
            link.input(some).unwrap();
        }
        link.finish().unwrap();
        assert_eq!(link.settled(), Settled { taken: words.len(), refused: false });
        let useful = (2 * words.len() as u64 * 10 * u64::from(DIVISOR)) as f64 / cycles.get() as f64;
        assert!((0.85..1.0).contains(&useful), "{link_size:?}: {useful}");
    }
}

/// A line on which nothing is left from an earlier session.
struct Silent<W>(W);

impl<W: Wire> Wire for Silent<W> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.send(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        if patience == Duration::from_millis(20) { Ok(0) } else { self.0.receive(buffer, patience) }
    }
}
