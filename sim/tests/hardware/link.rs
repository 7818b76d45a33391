//! The link to a board: the hardware against its model, byte by byte, and the host against both, over good lines and bad ones.

mod hostile;

use crate::logistic::{ALL, climb};
use arch::link::{self, Command, Decoder, FLAG, Received, Size, Status};
use arch::machine::{Machine, MachineSpec};
use arch::registers;
use arch::tools::Toolbox;
use hdl::shell;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::grid::{Grid, Stalls};
use sim::ladder::Climb;
use sim::link::{BoardModel, Link, LinkError, LinkedGrid, Patience, Settled, Shared, Wire};
use sim::verilator::{self, BoardDevice, Library};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// Cycles of one bit in simulation.
const DIVISOR: u32 = 4;

fn spec(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec { pus: Some(pus), pes_per_pu: Some(pes_per_pu), word: Some(word), ..MachineSpec::default() }
}

fn facts() -> shell::Board<'static> {
    shell::Board {
        pll: None,
        pin_hz: 4_000_000,
        grid_hz: 4_000_000,
        baud: 1_000_000,
        link_size: Size::LEAST,
        leds: 4,
        lit_by_one: true,
        pressed_is_one: true,
        held: &[],
        store: None,
    }
}

fn hardware(machine: &Machine) -> BoardDevice {
    hardware_of(machine, &facts())
}

fn hardware_of(machine: &Machine, facts: &shell::Board<'_>) -> BoardDevice {
    let rtl = shell::board(machine, facts).unwrap();
    let library = Library::build(&rtl, &verilator::Options::brief()).unwrap_or_else(|error| panic!("{error}"));
    BoardDevice::new(&library, DIVISOR, true)
}

/// The board without its serial port, as fast as a simulated line is at most.
fn hardware_of_bytes(machine: &Machine) -> BoardDevice {
    let rtl = shell::board_of_bytes(machine, &facts()).unwrap();
    let library = Library::build(&rtl, &verilator::Options::brief()).unwrap_or_else(|error| panic!("{error}"));
    BoardDevice::of_bytes(&library, 6, true)
}

fn model(machine: &Machine) -> BoardModel<Array> {
    BoardModel::new(machine.clone(), Size::LEAST, Array::new(machine), Array::reset, 300)
}

/// Send bytes to the hardware and wait until it is silent.
fn ask(board: &mut BoardDevice, bytes: &[u8]) -> Vec<u8> {
    board.send(bytes);
    while !board.sent() {
        board.run(100);
    }
    let mut answer = Vec::new();
    loop {
        board.run(1_500);
        let more = board.take();
        if more.is_empty() {
            return answer;
        }
        answer.extend(more);
    }
}

/// A request, often a wrong one, as bytes on the line.
fn random_request(random: &mut ChaCha8Rng, sequence: &mut u8, word: u32) -> Vec<u8> {
    let mut below = |n: u32| random.next_u32() % n;
    *sequence = match below(12) {
        0 => below(256) as u8,
        1 | 2 => *sequence,
        _ => sequence.wrapping_add(1),
    };
    let command = match below(12) {
        0 => below(256) as u8,
        1 | 2 => Command::Write as u8,
        3 | 4 => Command::Read as u8,
        5..=7 => Command::Input as u8,
        _ => Command::Output as u8,
    };
    let payload: Vec<u8> = match below(6) {
        // Nothing here may start the grid: registers that hold what is written, and addresses that nothing is at, with any kind of item.
        _ if command == Command::Write as u8 => {
            let mut writes = [0, 1, 2, 3].map(|k| (registers::STEPS + 3 * k, 0x100 << (8 * k))).to_vec();
            writes.push((0x7_0200, below(256) << 24));
            let kinds = 0x0f | 0x10 << below(2);
            let mut payload = link::encode_writes(&writes, 256).remove(0);
            payload.extend((0..below(240)).map(|_| below(256) as u8 & kinds));
            payload
        }
        0 => [registers::GRID, registers::STREAMS, registers::STEPS, 0x7d7e].map(u32::to_le_bytes).concat(),
        1 | 2 => (0..below(Size::LEAST.words(word) as u32 + 1) * link::word_bytes(word) as u32)
            .map(|_| if below(3) == 0 { FLAG - below(2) as u8 } else { below(256) as u8 })
            .collect(),
        3 => vec![below(3) as u8, 0],
        4 => vec![0; below(500) as usize],
        _ => Vec::new(),
    };
    let mut bytes = link::encode(&[&[*sequence, command], payload.as_slice()].concat());
    match below(10) {
        0 => {
            let at = below(bytes.len() as u32) as usize;
            bytes[at] ^= 1 << below(8);
        }
        1 => drop(bytes.splice(0..0, [9, FLAG, FLAG, link::ESCAPE])),
        2 => bytes.truncate(bytes.len() / 2),
        _ => {}
    }
    bytes
}

/// A board's text, simulated.
type Hardware = fn(&Machine) -> BoardDevice;

/// The shell's text and its model answer the same bytes, whatever they are sent, bit by bit or byte by byte. Input is taken by no program here, so
/// the buffers fill up.
#[test]
fn hardware_and_model_answer_alike() {
    let mut seen = [0; 8];
    let boards: [(MachineSpec, u64, Hardware); 4] = [
        (spec(2, 4, 16), 1, hardware),
        (spec(1, 2, 24), 2, hardware),
        (spec(1, 1, 8), 3, hardware),
        (spec(1, 2, 16), 4, hardware_of_bytes),
    ];
    for (spec, seed, hardware) in boards {
        let machine = Machine::try_from(spec).unwrap();
        let (mut hardware, mut model) = (hardware(&machine), model(&machine));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut sequence = 0;
        let hello = link::encode(&[0, Command::Hello as u8]);
        for n in 0..120 {
            // Up to three at once: the board takes requests while it answers.
            let requests = if n % 50 == 3 {
                [&hello[..], &hello].concat()
            } else {
                let count = 1 + random.next_u32() % 3;
                (0..count).flat_map(|_| random_request(&mut random, &mut sequence, machine.word())).collect()
            };
            let expected: Vec<u8> = requests.iter().flat_map(|&byte| model.byte(byte)).collect();
            assert_eq!(ask(&mut hardware, &requests), expected, "{machine}, request {n}: {requests:02x?}");
            let mut replies = Decoder::of_replies();
            for reply in expected.iter().filter_map(|&byte| replies.byte(byte)) {
                let Received::Frame(reply) = reply else { panic!("the model sends whole frames: {reply:02x?}") };
                seen[usize::from(reply[1])] += 1;
                // The next request has the number that the board waits for, mostly.
                match Status::of(reply[1]) {
                    Some(Status::Ok) => sequence = reply[0],
                    Some(Status::OutOfOrder) => sequence = reply[6],
                    _ => {}
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "each status was seen: {seen:?}");
}

#[test]
fn the_board_says_what_it_is_and_forgets_it_when_it_is_reset() {
    let machine = Machine::try_from(spec(2, 4, 16)).unwrap();
    let mut board = hardware(&machine);
    assert_eq!(board.lights(), 0, "no session yet");
    let hello = link::encode(&[1, Command::Hello as u8]);
    let greeting = link::encode(&[1, 0, 0, 1, 0, 0, link::VERSION, 16, 8, 8]);
    // Noise, a byte without stop bit, half a frame: the next whole frame is answered.
    board.send_break();
    assert_eq!(ask(&mut board, &[&[0x55, 0xff, 0x7d], &hello[..]].concat()), greeting);
    assert_eq!(board.lights(), 1, "a session");
    board.send(&hello[..3]);
    while !board.sent() {
        board.run(10);
    }
    board.send_break();
    let corrupt = ask(&mut board, &[FLAG]);
    assert_eq!(corrupt[2], Status::Corrupt as u8, "a line error is told");
    assert_eq!(board.lights(), 5, "the last request failed");
    assert_eq!(ask(&mut board, &hello), greeting);
    board.press(true);
    board.run(100);
    board.press(false);
    board.run(1000);
    assert_eq!(board.lights(), 0);
    let read = link::encode(&[&[2, Command::Read as u8][..], &registers::GRID.to_le_bytes()].concat());
    assert_eq!(ask(&mut board, &read)[2], Status::NoSession as u8);
}

// ---- the host ---------------------------------------------------------------------------------------------------------------

/// A line to a model of a board. In `noise` of 1000 bytes something happens: lost, changed, or doubled.
struct Line {
    board: BoardModel<Array>,
    waiting: VecDeque<u8>,
    noise: u32,
    random: ChaCha8Rng,
    /// Bytes after which it is cut.
    cut_after: usize,
}

impl Line {
    fn new(machine: &Machine, noise: u32) -> Line {
        let random = ChaCha8Rng::seed_from_u64(7);
        Line { board: model(machine), waiting: VecDeque::new(), noise, random, cut_after: usize::MAX }
    }

    fn disturbed(&mut self, byte: u8) -> Vec<u8> {
        if self.random.next_u32() % 1000 >= self.noise {
            return vec![byte];
        }
        match self.random.next_u32() % 3 {
            0 => vec![],
            1 => vec![byte ^ 1 << (self.random.next_u32() % 8)],
            _ => vec![byte, byte],
        }
    }
}

impl Wire for Line {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.cut_after {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        self.cut_after -= bytes.len();
        for &byte in bytes {
            for byte in self.disturbed(byte) {
                for answer in self.board.byte(byte) {
                    let answer = self.disturbed(answer);
                    self.waiting.extend(answer);
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = self.waiting.len().min(buffer.len()).min(50);
        for (place, byte) in buffer.iter_mut().zip(self.waiting.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}

/// A line that remembers the last request.
struct Heard(Line, Rc<RefCell<Vec<u8>>>);

impl Wire for Heard {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.clone_into(&mut self.1.borrow_mut());
        self.0.send(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        self.0.receive(buffer, patience)
    }
}

/// A line on which the answer to the request before comes once more, ahead of the one that is waited for.
struct Late {
    board: BoardModel<Array>,
    last: Vec<u8>,
    waiting: VecDeque<u8>,
}

impl Wire for Late {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let answer: Vec<u8> = bytes.iter().flat_map(|&byte| self.board.byte(byte)).collect();
        self.waiting.extend(&self.last);
        self.waiting.extend(&answer);
        self.last = answer;
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = self.waiting.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(self.waiting.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}

/// The hardware as a line. Waiting costs cycles.
struct Pins(BoardDevice);

impl Wire for Pins {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.send(bytes);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        for _ in 0..50 {
            self.0.run(100);
            let bytes = self.0.take();
            if !bytes.is_empty() {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                return Ok(bytes.len());
            }
        }
        Ok(0)
    }
}

fn patience() -> Patience {
    Patience { reply: Duration::from_millis(5), attempts: 40, progress: Duration::from_secs(10) }
}

/// Enough steps to fill the buffers several times.
const STEPS: usize = 60;

#[test]
fn a_program_runs_over_the_link_as_on_the_array() {
    for spec in [spec(2, 4, 16), spec(1, 2, 24)] {
        let climb = climb(&spec, STEPS, &ALL);
        let machine = &climb.image().machine;
        let array = climb.run(Array::new(machine), Stalls::none()).unwrap();
        let link = Link::open(Line::new(machine, 0), patience()).unwrap();
        assert_eq!(link.machine(), machine);
        assert_eq!(climb.run(LinkedGrid::new(link), Stalls::none()).unwrap().words, array.words);
        let patience = Patience { reply: Duration::from_secs(10), ..patience() };
        let link = Link::open(Pins(hardware(machine)), patience).unwrap();
        assert_eq!(climb.run(LinkedGrid::new(link), Stalls::none()).unwrap().words, array.words, "the hardware");
    }
}

/// A run that waits for the rest of its input, in the middle of a beat; then, without a reset, one that gets all of it.
fn aborted_and_run_again<W: Wire>(climb: &Climb, mut link: Link<W>) {
    let image = climb.image();
    let entry = (registers::ENTRY_STEP_LOAD, registers::STEP_LENGTH);
    link.write(&image.control_writes()).unwrap();
    let before = link.read(&[entry.0, entry.1]).unwrap();
    link.write(&[(registers::STEPS, 3), (registers::CONTROL, registers::START | registers::START_LOAD_MODEL)]).unwrap();
    let beat = image.machine.stream_words() as usize;
    let words = vec![77; beat + beat / 2];
    link.input(&words).unwrap();
    link.finish().unwrap();
    assert_eq!(link.settled(), Settled { taken: words.len(), refused: false });
    assert_eq!(link.read(&[registers::CONTROL]).unwrap(), [registers::BUSY], "it waits for input");
    link.abort().unwrap();
    assert_eq!(link.read(&[registers::CONTROL]).unwrap(), [0], "idle");
    assert_eq!(link.read(&[entry.0, entry.1]).unwrap(), before, "the program stays");
    let array = climb.run(Array::new(&image.machine), Stalls::none()).unwrap();
    assert_eq!(climb.run(LinkedGrid::new(link), Stalls::none()).unwrap().words, array.words);
}

#[test]
fn a_run_is_aborted_over_the_link() {
    let climb = climb(&spec(2, 4, 16), 4, &ALL);
    let machine = &climb.image().machine;
    aborted_and_run_again(&climb, Link::open(Line::new(machine, 0), patience()).unwrap());
    let patience = Patience { reply: Duration::from_secs(10), ..patience() };
    aborted_and_run_again(&climb, Link::open(Pins(hardware(machine)), patience).unwrap());
}

#[test]
fn a_bad_line_changes_nothing() {
    let climb = climb(&spec(2, 4, 16), STEPS, &ALL);
    let machine = &climb.image().machine;
    let link = Link::open(Line::new(machine, 2), patience()).unwrap();
    assert!(climb.run(LinkedGrid::new(link), Stalls::none()).unwrap().words > 700);
}

#[test]
fn a_late_answer_is_not_taken_for_the_right_one() {
    let climb = climb(&spec(2, 4, 16), 4, &ALL);
    let machine = &climb.image().machine;
    let late = Late { board: model(machine), last: Vec::new(), waiting: VecDeque::new() };
    let link = Link::open(late, patience()).unwrap();
    assert_eq!(link.machine(), machine);
    let array = climb.run(Array::new(machine), Stalls::none()).unwrap();
    assert_eq!(climb.run(LinkedGrid::new(link), Stalls::none()).unwrap().words, array.words);
}

#[test]
fn users_of_one_board_take_turns() {
    let climb = climb(&spec(2, 4, 16), STEPS, &ALL);
    let link = Link::open(Line::new(&climb.image().machine, 0), patience()).unwrap();
    let shared = Shared::new(LinkedGrid::new(link));
    let (mut one, mut two) = (shared.handle(), shared.handle());
    assert!(one.take_over() && !one.take_over() && two.take_over() && one.take_over());
    drop(one);
    climb.run(two, Stalls::none()).unwrap();
}

#[test]
fn what_goes_wrong_is_told() {
    let machine = Machine::try_from(spec(1, 2, 16)).unwrap();
    let open = |line: Line| Link::open(line, Patience { attempts: 3, ..patience() }).map(|_| ()).unwrap_err();
    let silent = Line { noise: 1000, random: ChaCha8Rng::seed_from_u64(1), ..Line::new(&machine, 0) };
    assert!(matches!(open(silent), LinkError::Damaged { .. } | LinkError::Silent { .. }));
    let cut = Line { cut_after: 20, ..Line::new(&machine, 0) };
    assert!(matches!(open(cut), LinkError::Line(_)));

    // Unplugged in the middle of a run: the grid is dead, and says why.
    let climb = climb(&spec(1, 2, 16), STEPS, &ALL);
    let line = Line { cut_after: 3000, ..Line::new(&climb.image().machine, 0) };
    let mut grid = LinkedGrid::new(Link::open(line, patience()).unwrap());
    assert!(climb.run(&mut grid, Stalls::none()).is_err());
    assert_eq!(grid.failure().unwrap(), "the line failed: broken pipe (is the board still plugged in?)");
    assert_eq!(grid.control_read(registers::IDENTITY), 0);

    // A grid that never takes its input: it is aborted.
    let heard = Rc::default();
    let patience = Patience { progress: Duration::from_millis(50), ..patience() };
    let link = Link::open(Heard(Line::new(&machine, 0), Rc::clone(&heard)), patience).unwrap();
    let mut grid = LinkedGrid::new(link);
    for _ in 0..100_000 {
        grid.cycle(Some(&[1, 2]), false);
    }
    assert!(grid.failure().unwrap().contains("does not take its input"), "{:?}", grid.failure());
    let abort = link::encode_writes(&[(registers::CONTROL, registers::ABORT)], 256).remove(0);
    assert!(heard.borrow().windows(abort.len()).any(|bytes| bytes == abort), "the last request is an abort");
}

#[test]
fn the_shell_lints_clean() {
    for (pus, pes_per_pu, word, leds) in
        [(2, 4, 16, 1), (1, 2, 24, 8), (1, 1, 8, 1), (1, 1, 8, 3), (1, 1, 8, 8), (1, 1, 32, 3)]
    {
        let machine = Machine::grid(pus, pes_per_pu, word).unwrap();
        let rtl = shell::board(&machine, &shell::Board { leds, ..facts() }).unwrap();
        verilator::lint(&rtl, hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{error}"));
    }
    let held = [("wifi_gpio0".to_owned(), true), ("wifi_en".to_owned(), false)];
    let rtl = shell::board(&Machine::grid(1, 2, 16).unwrap(), &shell::Board { held: &held, ..facts() }).unwrap();
    assert!(rtl.verilog.contains("assign wifi_gpio0 = 1'b1;") && rtl.verilog.contains("assign wifi_en = 1'b0;"));
    assert!(rtl.ports.iter().any(|port| port.name == "wifi_en"));
    verilator::lint(&rtl, hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{error}"));
    let rtl = shell::board_of_bytes(&Machine::grid(1, 2, 16).unwrap(), &facts()).unwrap();
    verilator::lint(&rtl, hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{error}"));
}
