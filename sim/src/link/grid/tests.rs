//! A grid at the end of a line whose traffic the test sees.

use super::super::board::tests::{Plain, Watched};
use super::super::host::Patience;
use super::*;
use crate::link::BoardModel;
use arch::Machine;
use arch::link::{self, Command, Decoder, Received, Size};
use arch::registers::{DONE, START, STEPS};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// What goes over a line.
type Events = Rc<RefCell<Vec<String>>>;

/// A line to a model of a board.
struct LoggedWire {
    board: BoardModel<Watched>,
    back: VecDeque<u8>,
    decoder: Decoder,
    events: Events,
}

impl Wire for LoggedWire {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for &byte in bytes {
            if let Some(Received::Frame(frame)) = self.decoder.byte(byte) {
                let payload = &frame[2..];
                let command = Command::ALL.iter().find(|row| row.0 as u8 == frame[1]).expect("a command");
                let count = match command.0 {
                    Command::Write => link::decode_writes(payload).len(),
                    Command::Read => payload.len() / 4,
                    Command::Input => payload.len() / 2,
                    Command::Hello | Command::Output => 0,
                };
                self.events.borrow_mut().push(format!("{} {count}", command.1));
            }
            self.back.extend(self.board.byte(byte));
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = self.back.len().min(buffer.len());
        buffer.iter_mut().zip(self.back.drain(..count)).for_each(|(place, byte)| *place = byte);
        Ok(count)
    }

    fn phase(&mut self, phase: Phase) {
        self.events.borrow_mut().push(format!("{phase:?}"));
    }
}

/// The grid, and what is at the other end.
struct Rig {
    grid: LinkedGrid<LoggedWire>,
    plain: Watched,
    events: Events,
}

impl Rig {
    /// One that waits so many milliseconds for progress. Frames hold 128 words, the board's buffers 256.
    fn new(progress: u64) -> Rig {
        let machine = Machine::grid(1, 1, 16).expect("a valid grid");
        let (board, plain) = Plain::of(&machine).board(&machine, 2);
        let events = Events::default();
        let decoder = Decoder::of_requests(Size::LEAST);
        let wire = LoggedWire { board, back: VecDeque::new(), decoder, events: Rc::clone(&events) };
        let patience = Patience { progress: Duration::from_millis(progress), ..Patience::default() };
        let grid = LinkedGrid::new(Link::open(wire, patience).expect("a session"));
        events.borrow_mut().clear();
        Rig { grid, plain, events }
    }

    /// What went over the line since this was asked last.
    fn events(&self) -> Vec<String> {
        std::mem::take(&mut self.events.borrow_mut())
    }

    fn set(&self, address: u32, value: u32) {
        self.plain.borrow_mut().registers.insert(address, value);
    }

    /// Why it fails, if it does within so many milliseconds in which something is done every five.
    fn fails(&mut self, window: u64, mut step: impl FnMut(&mut Rig, u32)) -> Option<String> {
        let begin = Instant::now();
        for count in 0.. {
            step(self, count);
            if self.grid.failure().is_some() || begin.elapsed() > Duration::from_millis(window) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.grid.failure()
    }

    /// Offer words until one is not taken; how many were.
    fn offer(&mut self, words: std::ops::Range<i64>) -> usize {
        words.into_iter().take_while(|&word| self.grid.cycle(Some(&[word]), false).input_taken).count()
    }
}

#[test]
fn writes_are_gathered_and_go_ahead_of_what_follows() {
    let mut rig = Rig::new(1000);
    rig.grid.control_write(5, 1);
    rig.grid.control_write(6, 2);
    assert!(rig.events().is_empty());
    rig.grid.control_read(STEPS);
    assert_eq!(rig.events(), ["WRITE 2", "READ 1"]);
    // Words go ahead of a register that is written behind them.
    assert_eq!(rig.offer(0..3), 3);
    rig.grid.control_write(CONTROL, START);
    assert_eq!(rig.events(), ["INPUT 3"]);
    rig.grid.control_write(5, 1);
    assert!(rig.events().is_empty());
    // As many as are gathered at most.
    (3..512).for_each(|_| rig.grid.control_write(5, 1));
    assert!(rig.events().is_empty());
    rig.grid.control_write(5, 1);
    let count =
        |event: &String| event.strip_prefix("WRITE ").and_then(|count| count.parse::<usize>().ok()).expect("writes");
    assert_eq!(rig.events().iter().map(count).sum::<usize>(), 512);
}

/// The line keeps account of what its time is spent on.
#[test]
fn phases_begin_behind_what_was_written_before() {
    let mut rig = Rig::new(1000);
    for (address, data, expected) in [
        (store::RECORDS, 4, vec![]),
        (store::MODE, Mode::Fill as u32, vec!["WRITE 1", "Upload"]),
        (store::EPOCHS, 1, vec![]),
        (store::MODE, Mode::Play as u32, vec!["WRITE 2", "Play"]),
        (store::MODE, Mode::Permuted as u32, vec!["WRITE 1", "Play"]),
        (store::TAG, 7, vec!["WRITE 1", "Talk"]),
        (store::MODE, Mode::Pass as u32, vec!["WRITE 1"]),
        (store::KEY, Mode::Play as u32, vec![]),
    ] {
        rig.grid.control_write(address, data);
        assert_eq!(rig.events(), expected, "{address:#x} = {data}");
    }
    rig.grid.control_read(STEPS);
    rig.events();
    for (address, value, expected) in [
        (store::MODE, Mode::Play as u32, vec!["READ 1"]),
        (STEPS, Mode::Pass as u32, vec!["READ 1"]),
        (store::MODE, Mode::Pass as u32, vec!["READ 1", "Talk"]),
    ] {
        rig.set(address, value);
        assert_eq!(rig.grid.control_read(address), value);
        assert_eq!(rig.events(), expected, "{address:#x} is {value}");
    }
}

/// A grid that is not busy gives no output but what has been fetched; of one that is, or of which nothing is known, output is asked for.
#[test]
fn output_is_asked_for_where_some_can_come() {
    let mut rig = Rig::new(1000);
    assert_eq!(rig.grid.cycle(None, false), CycleResult::default());
    assert!(rig.events().is_empty(), "nobody wants any");
    for (address, value, asks) in [
        (CONTROL, 0, false),
        (CONTROL, DONE, false),
        (CONTROL, BUSY, true),
        (CONTROL, BUSY | DONE, true),
        (STEPS, 0, true),
    ] {
        let mut rig = Rig::new(1000);
        rig.set(address, value);
        assert_eq!(rig.grid.control_read(address), value);
        rig.events();
        assert!(rig.grid.cycle(None, true).output.is_empty());
        assert_eq!(rig.events(), if asks { vec!["OUTPUT 0"] } else { vec![] }, "{address} is {value}");
    }
    // What comes at once is asked for once.
    rig.plain.borrow_mut().output.extend([5, 6]);
    assert_eq!([(); 2].map(|()| rig.grid.cycle(None, true).output), [[5], [6]]);
    assert_eq!(rig.events(), ["OUTPUT 0"]);
    // What the run left is fetched when it ends.
    rig.plain.borrow_mut().output.extend(0..300);
    rig.grid.control_read(CONTROL);
    rig.events();
    let words: Vec<i64> = (0..300).flat_map(|_| rig.grid.cycle(None, true).output).collect();
    assert_eq!((words, rig.events().len()), ((0..300).collect(), 0));
}

#[test]
fn words_go_in_whole_frames() {
    let mut rig = Rig::new(1000);
    rig.plain.borrow_mut().takes = true;
    assert_eq!(rig.offer(0..385), 385);
    rig.grid.control_read(STEPS);
    assert_eq!(rig.events(), ["INPUT 128", "INPUT 128", "INPUT 128", "INPUT 1", "READ 1"]);
    assert_eq!(rig.plain.borrow().taken, (0..385).collect::<Vec<i64>>());
    // Output is taken along when the board has a frame of it.
    rig.plain.borrow_mut().output.extend(0..127);
    assert_eq!(rig.offer(0..129), 129);
    rig.grid.control_read(STEPS);
    assert_eq!(rig.events(), ["INPUT 128", "INPUT 1", "READ 1"]);
    rig.plain.borrow_mut().output.extend(0..1);
    rig.grid.control_read(STEPS);
    assert_eq!(rig.offer(0..129), 129);
    assert!(rig.events().contains(&"OUTPUT 0".to_owned()));
}

/// The board keeps 256 words and a beat of one, and one frame waits here.
#[test]
fn words_wait_while_the_board_is_full() {
    let mut rig = Rig::new(100_000);
    for (words, taken) in [(0..128, 128), (128..256, 128), (256..257, 1), (257..385, 128), (385..386, 0)] {
        assert_eq!(rig.offer(words), taken);
        // The first sends what is here, the second hears what became of it.
        (0..2).for_each(|_| drop(rig.grid.cycle(None, false)));
    }
    rig.plain.borrow_mut().takes = true;
    rig.grid.control_read(STEPS);
    assert_eq!(rig.plain.borrow().taken, (0..385).collect::<Vec<i64>>());
    rig.events();
    // It is as it was: whole frames, and nothing is asked for.
    assert_eq!(rig.offer(385..1000), 615);
    rig.grid.control_read(STEPS);
    assert_eq!(rig.events(), ["INPUT 128", "INPUT 128", "INPUT 128", "INPUT 128", "INPUT 103", "READ 1"]);
    assert_eq!(rig.plain.borrow().taken, (0..1000).collect::<Vec<i64>>());
}

#[test]
fn a_grid_that_hangs_is_noticed() {
    let stalled =
        |why: Option<String>, words: &str| assert!(why.as_ref().is_some_and(|why| why.contains(words)), "{why:?}");
    let mut rig = Rig::new(50);
    stalled(
        rig.fails(5000, |rig, word| {
            rig.grid.cycle(Some(&[i64::from(word)]), false);
            rig.offer(0..400);
        }),
        "it does not take its input",
    );
    assert!(Shared::new(rig.grid).handle().failure().is_some());
    let mut rig = Rig::new(50);
    stalled(
        rig.fails(5000, |rig, _| {
            rig.grid.cycle(None, true);
        }),
        "output is expected",
    );
    // Counters of a store that stands still are no progress, those that change are.
    let mut rig = Rig::new(50);
    rig.set(CONTROL, BUSY);
    rig.set(store::EPOCHS_LEFT, 7);
    rig.set(store::RECORDS_LEFT, 3);
    let poll = |rig: &mut Rig| {
        [CONTROL, store::EPOCHS_LEFT, store::RECORDS_LEFT].map(|address| rig.grid.control_read(address))
    };
    stalled(
        rig.fails(5000, |rig, _| {
            poll(rig);
        }),
        "its run does not end",
    );
    let mut rig = Rig::new(500);
    rig.set(CONTROL, BUSY);
    let moving = rig.fails(1000, |rig, count| {
        rig.set(store::RECORDS_LEFT, count);
        poll(rig);
    });
    assert_eq!(moving, None);
    // Whoever reads other registers waits for nothing.
    let mut rig = Rig::new(50);
    assert_eq!(
        rig.fails(200, |rig, _| {
            rig.grid.control_read(STEPS);
        }),
        None
    );
}
