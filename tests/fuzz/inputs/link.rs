//! A host and a board whose line loses, repeats, delays and damages what it carries: what the host believes is right, or it gives up.
//!
//!     host ──requests──▶ line ──▶ board ──▶ memory and a queue
//!          ◀──replies─── line ◀──
//!
//! A burst of 16 bits is noticed by the checksum; where bytes become flags or escapes, and frames others, 16 bits cannot promise that, and only that
//! nothing panics is asked.

use arbitrary::{Result, Unstructured};
use arch::link::{ESCAPE, FLAG, Size, encode};
use arch::{Machine, number};
use sim::array::Array;
use sim::grid::{CycleResult, Grid};
use sim::link::board::BoardModel;
use sim::link::host::{Link, Patience, Wire};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// Addresses that the grid itself does not use for anything that happens.
const MEMORY: u32 = 0x1000;

/// A grid that keeps what is written, and gives out what comes in.
struct Echo {
    array: Array,
    memory: BTreeMap<u32, u32>,
    words: VecDeque<i64>,
}

impl Grid for Echo {
    fn control_write(&mut self, address: u32, data: u32) {
        self.memory.insert(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        match self.memory.get(&address) {
            Some(&data) => data,
            None if address >= MEMORY => 0,
            None => self.array.control_read(address),
        }
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let output = if output_ready { self.words.pop_front() } else { None };
        self.words.extend(input.unwrap_or_default());
        CycleResult { input_taken: input.is_some(), output: output.into_iter().collect() }
    }
}

/// What the line does to frames, one after the other; then it is a good one.
struct Line {
    board: BoardModel<Echo>,
    fates: Rc<RefCell<VecDeque<Fate>>>,
    /// On its way to the host.
    replies: VecDeque<u8>,
    last: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Fate {
    Whole,
    Lost,
    Twice,
    /// The one before comes once more, first.
    AfterOld,
    /// Two bytes, one behind the other, are other ones, which are neither flag nor escape, as those before were not.
    Burst(u16, [u8; 2]),
    /// A byte of any value is put in, or stands in for another one.
    Byte {
        at: u16,
        byte: u8,
        added: bool,
    },
}

impl Line {
    fn carry(&mut self, frame: &[u8]) -> Vec<u8> {
        let fate = self.fates.borrow_mut().pop_front().unwrap_or(Fate::Whole);
        let mut carried = frame.to_vec();
        match fate {
            Fate::Whole => {}
            Fate::Lost => carried.clear(),
            Fate::Twice => carried.extend_from_slice(frame),
            Fate::AfterOld => carried = [&self.last[..], frame].concat(),
            Fate::Burst(at, flips) => {
                let special = |byte: u8| byte == FLAG || byte == ESCAPE;
                let at = usize::from(at) % frame.len();
                for (n, flip) in flips.into_iter().enumerate() {
                    // What stands behind an escape is flipped once more, and nothing else.
                    if let Some(&byte) = frame.get(at + n)
                        && !special(byte)
                        && !special(byte ^ flip)
                    {
                        carried[at + n] ^= flip;
                    }
                }
            }
            Fate::Byte { at, byte, added } => {
                let at = usize::from(at) % frame.len();
                carried.splice(at..at + usize::from(!added), [byte]);
            }
        }
        carried
    }
}

impl Wire for Line {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in self.carry(bytes) {
            let reply = self.board.byte(byte);
            if !reply.is_empty() {
                let carried = self.carry(&reply);
                self.replies.extend(carried);
                self.last = reply;
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = buffer.len().min(self.replies.len());
        for place in &mut buffer[..count] {
            *place = self.replies.pop_front().unwrap_or_default();
        }
        Ok(count)
    }
}

fn fate(u: &mut Unstructured, any: bool) -> Result<Fate> {
    Ok(match u.int_in_range(0..=if any { 7 } else { 5 })? {
        0 | 1 => Fate::Whole,
        2 => Fate::Lost,
        3 => Fate::Twice,
        4 => Fate::AfterOld,
        5 => Fate::Burst(u.arbitrary()?, u.arbitrary()?),
        _ => {
            let (at, any, added) = u.arbitrary()?;
            Fate::Byte { at, byte: *u.choose(&[FLAG, ESCAPE, 0x5e, any])?, added }
        }
    })
}

#[expect(
    clippy::too_many_lines,
    reason = "one session of requests and of what the line does to them: an arm per request"
)]
fn try_run(u: &mut Unstructured) -> Result<()> {
    let word = *u.choose(&[8, 12, 16, 24, 32])?;
    let machine = Machine::grid(*u.choose(&[1, 2])?, *u.choose(&[1, 2, 4])?, word).expect("a possible machine");
    let echo = Echo { array: Array::new(&machine), memory: BTreeMap::new(), words: VecDeque::new() };
    let board = BoardModel::new(machine.clone(), Size::LEAST, echo, |echo| echo.words.clear(), 4);
    let any = u.arbitrary()?;
    let fates = Rc::new(RefCell::new(VecDeque::new()));
    let line = Line { board, fates: Rc::clone(&fates), replies: VecDeque::new(), last: Vec::new() };
    let patience = Patience { reply: Duration::from_micros(200), attempts: 4, progress: Duration::from_millis(1) };
    let mut link = Link::open(line, patience).expect("the line is still a good one");
    assert_eq!(
        (link.machine().word(), link.machine().pus(), link.machine().pes_per_pu()),
        (machine.word(), machine.pus(), machine.pes_per_pu())
    );
    let lanes = machine.stream_words() as usize;
    let (mut memory, mut words, mut waiting) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
    for _ in 0..u.int_in_range(1..=12)? {
        for _ in 0..u.int_in_range(0..=4)? {
            fates.borrow_mut().push_back(fate(u, any)?);
        }
        let count = u.int_in_range(0..=20)?;
        let right = match u.int_in_range(0..=3)? {
            0 => {
                let mut writes = Vec::new();
                for _ in 0..count {
                    writes.push((MEMORY + u.int_in_range(0..=15)?, u.arbitrary()?));
                }
                let done = link.write(&writes).is_ok() && link.finish().is_ok();
                memory.extend(writes);
                done
            }
            1 => {
                let addresses =
                    (0..count).map(|_| Ok(MEMORY + u.int_in_range(0..=15)?)).collect::<Result<Vec<u32>>>()?;
                let read = link.read(&addresses);
                let expected: Vec<u32> =
                    addresses.iter().map(|address| memory.get(address).copied().unwrap_or(0)).collect();
                read.is_ok_and(|read| any || read == expected || panic!("{read:?} is read, {expected:?} was written"))
            }
            2 => {
                let mut sent = Vec::new();
                for _ in 0..count.min(Size::LEAST.words(word)) {
                    sent.push(number::wrap(u.arbitrary::<i32>()?.into(), word) as i64);
                }
                let done = link.input(&sent).and_then(|()| link.finish());
                done.is_ok_and(|()| {
                    let taken = link.settled().taken;
                    waiting.extend(sent[..taken].iter().copied());
                    // The grid takes whole beats.
                    while waiting.len() >= lanes {
                        words.extend(waiting.drain(..lanes));
                    }
                    true
                })
            }
            _ => link.output().is_ok_and(|read| {
                let expected: Vec<i64> = words.drain(..read.len().min(words.len())).collect();
                any || read == expected || panic!("{read:?} came out, {expected:?} was sent")
            }),
        };
        if !right {
            return Ok(());
        }
    }
    let content: Vec<u8> = u.arbitrary()?;
    // A frame of any content on a board of its own, which answers once.
    let echo = Echo { array: Array::new(&machine), memory: BTreeMap::new(), words: VecDeque::new() };
    let mut board = BoardModel::new(machine, Size::LEAST, echo, |echo| echo.words.clear(), 4);
    let answers = encode(&content).into_iter().filter(|&byte| !board.byte(byte).is_empty()).count();
    assert_eq!(answers, usize::from(!content.is_empty() || answers == 1));
    Ok(())
}

/// Nothing here may panic, and nothing that is wrong may be believed.
pub(crate) fn run(bytes: &[u8]) {
    let _ = try_run(&mut Unstructured::new(bytes));
}
