//! One instruction stream: its program, the instruction that is current, its loop counters (docs/machine.md, section 1).

use super::watch::StreamView;
use arch::isa::{
    AluInstruction, Instruction, LEVELS, LoadInstruction, MoveInstruction, RootInstruction, ScalarInstruction,
    innermost,
};
use arch::machine::Machine;
use arch::registers;
use std::sync::Arc;

/// A beat: the instruction, its loop counters, and the addresses of this point are the datapath's to compute.
#[derive(Debug, Clone)]
pub(super) struct Beat<I> {
    /// Number of the instruction in its program.
    pub(super) number: usize,
    /// The instruction.
    pub(super) instruction: Arc<I>,
    /// Loop counters.
    pub(super) counters: [u32; LEVELS],
}

/// What a statically timed stream has to know of its instructions.
pub(super) trait Timed: Instruction {
    fn delay(&self) -> u32;
    fn interval(&self) -> u32;
    fn loops(&self) -> [u32; LEVELS];
    fn ends(&self) -> bool;
}

impl Timed for AluInstruction {
    fn delay(&self) -> u32 {
        self.delay
    }
    fn interval(&self) -> u32 {
        self.interval
    }
    fn loops(&self) -> [u32; LEVELS] {
        self.counts
    }
    fn ends(&self) -> bool {
        self.end
    }
}

impl Timed for ScalarInstruction {
    fn delay(&self) -> u32 {
        self.alu.delay
    }
    fn interval(&self) -> u32 {
        self.alu.interval
    }
    fn loops(&self) -> [u32; LEVELS] {
        self.alu.counts
    }
    fn ends(&self) -> bool {
        self.alu.end
    }
}

impl Timed for RootInstruction {
    fn delay(&self) -> u32 {
        self.delay
    }
    fn interval(&self) -> u32 {
        self.interval
    }
    fn loops(&self) -> [u32; LEVELS] {
        innermost(1, [self.count])
    }
    fn ends(&self) -> bool {
        self.end
    }
}

impl Timed for MoveInstruction {
    fn delay(&self) -> u32 {
        self.delay
    }
    fn interval(&self) -> u32 {
        self.interval
    }
    fn loops(&self) -> [u32; LEVELS] {
        self.counts
    }
    fn ends(&self) -> bool {
        self.end
    }
}

impl Timed for LoadInstruction {
    fn delay(&self) -> u32 {
        0
    }
    fn interval(&self) -> u32 {
        1
    }
    fn loops(&self) -> [u32; LEVELS] {
        self.counts
    }
    fn ends(&self) -> bool {
        self.end
    }
}

/// Advance loop counters by one beat; true when that was the last one.
fn advance(counters: &mut [u32; LEVELS], counts: &[u32; LEVELS]) -> bool {
    for level in (0..LEVELS).rev() {
        counters[level] += 1;
        if counters[level] < counts[level] {
            return false;
        }
        counters[level] = 0;
    }
    true
}

/// Where a stream is in its program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Position {
    at: usize,
    runs: bool,
    counters: [u32; LEVELS],
    delay: u32,
    interval: u32,
}

/// One stream: its program and the instruction that is current.
#[derive(Debug)]
pub(super) struct Stream<I> {
    chunks: Vec<u32>,
    chunks_per: usize,
    program: Vec<Arc<I>>,
    decoded: bool,
    at: usize,
    pub(super) current: Option<Arc<I>>,
    counters: [u32; LEVELS],
    delay: u32,
    interval: u32,
}

impl<I: Timed> Stream<I> {
    pub(super) fn new(machine: &Machine) -> Stream<I> {
        let chunks_per = I::layout(machine).chunks() as usize;
        Stream {
            chunks: vec![0; chunks_per * machine.program_depth() as usize],
            chunks_per,
            program: Vec::new(),
            decoded: false,
            at: 0,
            current: None,
            counters: [0; LEVELS],
            delay: 0,
            interval: 0,
        }
    }

    pub(super) fn write(&mut self, [slot, chunk]: [u32; 2], data: u32) {
        let at = slot as usize * self.chunks_per + chunk as usize;
        if (chunk as usize) < self.chunks_per && at < self.chunks.len() {
            self.chunks[at] = data;
            self.decoded = false;
        }
    }

    pub(super) fn decode(&mut self, machine: &Machine) {
        if !self.decoded {
            self.program = self.chunks.chunks(self.chunks_per).map(|c| Arc::new(I::decode(machine, c))).collect();
            self.decoded = true;
        }
    }

    pub(super) fn idle(&self) -> bool {
        self.current.is_none()
    }

    pub(super) fn position(&self) -> Position {
        if self.idle() {
            return Position::default();
        }
        let Stream { at, counters, delay, interval, .. } = *self;
        Position { at, runs: true, counters, delay, interval }
    }

    /// Be where it was at another time, with the same program.
    pub(super) fn go_to(&mut self, position: &Position) {
        (self.at, self.counters) = (position.at, position.counters);
        (self.delay, self.interval) = (position.delay, position.interval);
        self.current = position.runs.then(|| self.program[self.at].clone());
    }

    fn make_current(&mut self, at: usize) {
        self.at = at % self.program.len();
        let instruction = self.program[self.at].clone();
        self.counters = [0; LEVELS];
        self.delay = instruction.delay();
        self.interval = 0;
        self.current = Some(instruction);
    }

    /// Make the instruction at an enabled entry current.
    pub(super) fn start(&mut self, entry: u32) {
        if entry & registers::ENTRY_ENABLE != 0 {
            self.make_current((entry & 0xffff) as usize);
        }
    }

    /// One cycle of a stream: the beat it issues, if any, in the place of an earlier one. `may_issue` holds back a beat without losing time
    /// before it.
    pub(super) fn cycle(&mut self, place: &mut Option<Beat<I>>, may_issue: impl Fn(&I) -> bool) {
        let Some(instruction) = self.current.as_ref().filter(|_| self.delay == 0 && self.interval == 0) else {
            *place = None;
            let waits = if self.delay > 0 { &mut self.delay } else { &mut self.interval };
            *waits = waits.saturating_sub(u32::from(self.current.is_some()));
            return;
        };
        if !may_issue(instruction) {
            *place = None;
            return;
        }
        let (interval, loops, ends) = (instruction.interval(), instruction.loops(), instruction.ends());
        match place {
            // An earlier beat of the same instruction: written in place, it need not be read back in other pieces.
            Some(beat) if Arc::ptr_eq(&beat.instruction, instruction) => {
                (beat.number, beat.counters) = (self.at, self.counters);
            }
            _ => *place = Some(Beat { number: self.at, instruction: instruction.clone(), counters: self.counters }),
        }
        self.interval = interval - 1;
        if advance(&mut self.counters, &loops) {
            if ends {
                self.current = None;
            } else {
                self.make_current(self.at + 1);
            }
        }
    }

    /// What a watcher sees of it.
    pub(super) fn observe(&self) -> StreamView {
        StreamView {
            instruction: self.current.is_some().then_some(self.at),
            counters: self.counters,
            delay: self.delay,
            interval: self.interval,
            issued: false,
        }
    }
}
