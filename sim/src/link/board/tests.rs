//! The board's end, request by request, with a grid that does what it is told.

use super::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A grid without a program.
#[derive(Debug, Default)]
pub(in crate::link) struct Plain {
    /// Whether it takes input.
    pub(in crate::link) takes: bool,
    /// What it took.
    pub(in crate::link) taken: Vec<i64>,
    /// What comes out, a word a cycle.
    pub(in crate::link) output: VecDeque<i64>,
    /// What registers say.
    pub(in crate::link) registers: BTreeMap<u32, u32>,
    /// For each cycle, whether it could give output.
    pub(in crate::link) ready: Vec<bool>,
}

/// The same, for a test to look into.
pub(in crate::link) type Watched = Rc<RefCell<Plain>>;

impl Plain {
    /// One whose registers describe a machine.
    pub(in crate::link) fn of(machine: &Machine) -> Plain {
        Plain { registers: registers::description(machine).into_iter().collect(), ..Plain::default() }
    }

    /// The smallest board with it.
    pub(in crate::link) fn board(self, machine: &Machine, quiet: u32) -> (BoardModel<Watched>, Watched) {
        let grid = Rc::new(RefCell::new(self));
        (BoardModel::new(machine.clone(), Size::LEAST, Rc::clone(&grid), |_| {}, quiet), grid)
    }
}

impl Grid for Watched {
    fn control_write(&mut self, _: u32, _: u32) {}

    fn control_read(&mut self, address: u32) -> u32 {
        self.borrow().registers.get(&address).copied().unwrap_or(0)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> crate::grid::CycleResult {
        let mut plain = self.borrow_mut();
        plain.ready.push(output_ready);
        let input = input.filter(|_| plain.takes);
        plain.taken.extend(input.into_iter().flatten());
        let output = if output_ready { plain.output.pop_front() } else { None };
        crate::grid::CycleResult { input_taken: input.is_some(), output: output.into_iter().collect() }
    }
}

/// The answer to a request, without its frame.
fn ask(board: &mut BoardModel<Watched>, sequence: u8, command: u8, payload: &[u8]) -> Vec<u8> {
    let request = link::encode(&[&[sequence, command], payload].concat());
    let mut decoder = Decoder::of_replies();
    let answer: Vec<u8> = request.into_iter().flat_map(|byte| board.byte(byte)).collect();
    let frames: Vec<Received> = answer.into_iter().filter_map(|byte| decoder.byte(byte)).collect();
    let [Received::Frame(content)] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!(content[0], sequence);
    content[1..].to_vec()
}

/// Status, free, ready.
fn said(board: &mut BoardModel<Watched>, sequence: u8, command: Command, payload: &[u8]) -> (Option<Status>, u16, u16) {
    let answer = ask(board, sequence, command as u8, payload);
    let level = |at: usize| u16::from_le_bytes([answer[at], answer[at + 1]]);
    (Status::of(answer[0]), level(1), level(3))
}

/// A board in a session, whose last request had number 0, and that finds these words in its grid.
fn session(word: u32, output: impl IntoIterator<Item = i64>) -> (BoardModel<Watched>, Watched) {
    let machine = Machine::grid(1, 1, word).expect("a valid grid");
    let (mut board, grid) = Plain::default().board(&machine, 4);
    assert_eq!(ask(&mut board, 0, Command::Hello as u8, &[])[0], Status::Ok as u8);
    grid.borrow_mut().output.extend(output);
    grid.borrow_mut().ready.clear();
    (board, grid)
}

/// A buffer of 256 words, and a beat of one in front of the grid.
#[test]
fn refused_words_are_refused_until_the_host_has_heard_of_it() {
    let (mut board, grid) = session(16, []);
    let ok = Some(Status::Ok);
    assert_eq!(said(&mut board, 1, Command::Input, &[0; 256]), (ok, 129, 0));
    assert_eq!(said(&mut board, 2, Command::Input, &[0; 256]), (ok, 1, 0));
    assert_eq!(said(&mut board, 3, Command::Input, &[0; 4]), (Some(Status::Full), 1, 0));
    // Now it would fit.
    assert_eq!(said(&mut board, 3, Command::Input, &[0; 2]), (Some(Status::Full), 1, 0));
    assert_eq!(said(&mut board, 4, Command::Read, &[0; 4]), (ok, 1, 0));
    assert_eq!(said(&mut board, 5, Command::Input, &[0; 2]), (ok, 0, 0));
    grid.borrow_mut().takes = true;
    assert_eq!(said(&mut board, 6, Command::Read, &[0; 4]), (ok, 256, 0));
    assert_eq!(grid.borrow().taken.len(), 257);
}

#[test]
fn payloads_are_whole() {
    let (mut board, _) = session(16, []);
    for (command, payload) in
        [(Command::Hello, 1), (Command::Read, 3), (Command::Input, 1), (Command::Output, 1), (Command::Output, 3)]
    {
        let answer = said(&mut board, 1, command, &vec![0; payload]);
        assert_eq!(answer.0, Some(Status::BadLength), "{command:?} of {payload} bytes");
    }
    assert_eq!(said(&mut board, 1, Command::Read, &[0; 8]).0, Some(Status::Ok));
}

/// Only an abort forgets what waits.
#[test]
fn an_abort_empties_the_buffers() {
    let (mut board, _) = session(16, 0..3);
    for (sequence, address, data, ready) in [
        (1, registers::CONTROL, registers::START, 3),
        (2, registers::STEPS, registers::ABORT, 3),
        (3, registers::CONTROL, registers::ABORT, 0),
    ] {
        let payload = link::encode_writes(&[(address, data)], 256).concat();
        assert_eq!(said(&mut board, sequence, Command::Write, &payload), (Some(Status::Ok), 256, ready));
    }
}

#[test]
fn words_have_their_bits_on_the_line() {
    let (mut board, _) = session(12, [-1, 0x123]);
    assert_eq!(ask(&mut board, 1, Command::Output as u8, &[9, 0])[5..], [0xff, 0x0f, 0x23, 0x01]);
}

#[test]
fn what_was_sent_does_not_wait_any_more() {
    let (mut board, _) = session(16, 0..3);
    assert_eq!(ask(&mut board, 1, Command::Output as u8, &[2, 0]).len(), 5 + 4);
    let unknown = ask(&mut board, 2, 99, &[]);
    assert_eq!((unknown[0], unknown[3]), (Status::UnknownCommand as u8, 1));
    assert_eq!(ask(&mut board, 2, Command::Output as u8, &[2, 0])[5..], [2, 0]);
}

/// The grid is at rest after so many cycles in which nothing moved.
#[test]
fn a_grid_is_left_alone_when_it_is_at_rest() {
    // 20 words come first; of 300 as many as the buffer holds.
    for (words, cycles, ready) in [(0, 4, 4), (20, 24, 24), (300, 260, 256)] {
        let (mut board, grid) = session(16, 0..words);
        ask(&mut board, 1, Command::Read as u8, &[0; 4]);
        let seen = grid.borrow().ready.clone();
        assert_eq!((seen.len(), seen.iter().filter(|ready| **ready).count()), (cycles, ready), "{words} words");
    }
}
