//! The host at a grid's streams: a queue of beats to feed, the words that came back, and stalls on either side.

use super::{CycleResult, Grid};
use arch::registers::{BUSY, CONTROL, DONE};
use arch::timing;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;

/// When the host offers nothing although it has a beat, and when it accepts nothing: a pattern that depends on the seed and
/// the number of the cycle only.
#[derive(Debug, Clone)]
pub struct Stalls {
    pattern: Option<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    random: ChaCha8Rng,
    input_percent: u32,
    output_percent: u32,
}

impl Stalls {
    /// Never.
    pub fn none() -> Stalls {
        Stalls { pattern: None }
    }

    /// In about `input_percent` and `output_percent` of the cycles.
    ///
    /// # Panics
    /// If a side would be stalled for ever.
    pub fn seeded(seed: u64, input_percent: u32, output_percent: u32) -> Stalls {
        assert!(input_percent < 100 && output_percent < 100, "a host that is always stalled never ends");
        Stalls { pattern: Some(Pattern { random: ChaCha8Rng::seed_from_u64(seed), input_percent, output_percent }) }
    }

    /// Whether input and output are stalled in the next cycle.
    fn next(&mut self) -> (bool, bool) {
        self.pattern.as_mut().map_or((false, false), |pattern| {
            let mut below = |percent| pattern.random.next_u32() % 100 < percent;
            (below(pattern.input_percent), below(pattern.output_percent))
        })
    }
}

/// A grid did not finish within the cycles it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no end after {cycles} cycles: {beats_left} beats were not taken, {words} words came back")]
pub struct Stuck {
    /// Cycles that were waited for.
    pub cycles: u64,
    /// Beats that the grid did not take.
    pub beats_left: usize,
    /// Words that came back.
    pub words: usize,
}

/// The streams of one run.
#[derive(Debug, Clone)]
pub struct Host {
    beats: VecDeque<Vec<i64>>,
    words: Vec<i64>,
    stalls: Stalls,
    /// A beat that was offered stays offered until it is taken.
    offering: bool,
}

impl Host {
    /// A host with nothing to send.
    pub fn new(stalls: Stalls) -> Host {
        Host { beats: VecDeque::new(), words: Vec::new(), stalls, offering: false }
    }

    /// Queue a beat, one word per stream lane.
    pub fn send(&mut self, beat: Vec<i64>) {
        self.beats.push_back(beat);
    }

    /// Beats that the grid has not taken yet.
    pub fn beats_left(&self) -> usize {
        self.beats.len()
    }

    /// The words that came back and were not taken from here yet.
    pub fn take_words(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.words)
    }

    /// One cycle.
    pub fn cycle(&mut self, grid: &mut impl Grid) -> CycleResult {
        let (input_stalled, output_stalled) = self.stalls.next();
        self.offering |= !input_stalled;
        let beat = if self.offering { self.beats.front() } else { None };
        self.offering &= beat.is_some();
        let result = grid.cycle(beat.map(Vec::as_slice), !output_stalled);
        if result.input_taken {
            self.beats.pop_front();
            self.offering = false;
        }
        self.words.extend_from_slice(&result.output);
        result
    }

    /// Steps that the grid can repeat, if the host is never stalled; what came back in them. Beats that are not queued are made by `more`.
    pub fn repeat(&mut self, grid: &mut impl Grid, more: &mut dyn FnMut() -> Option<Vec<i64>>) -> &[i64] {
        let before = self.words.len();
        if self.stalls.pattern.is_none() {
            grid.repeat(&mut self.beats, more, &mut self.words);
        }
        &self.words[before..]
    }

    /// Cycles until all beats were taken and `words` words have come back.
    pub fn exchange(&mut self, grid: &mut impl Grid, words: usize, limit: u64) -> Result<(), Stuck> {
        for _ in 0..limit {
            if self.beats.is_empty() && self.words.len() >= words {
                return Ok(());
            }
            self.cycle(grid);
        }
        if self.beats.is_empty() && self.words.len() >= words { Ok(()) } else { Err(self.stuck(limit)) }
    }

    /// Cycles until the grid says that its run is done. Asks every 64 cycles; the streams are idle while it asks.
    pub fn finish(&mut self, grid: &mut impl Grid, limit: u64) -> Result<(), Stuck> {
        let mut cycles = 0;
        while cycles < limit {
            if grid.control_read(CONTROL) & (BUSY | DONE) == DONE {
                return Ok(());
            }
            for _ in timing::CONTROL_READ..64 {
                self.cycle(grid);
            }
            cycles += 64;
        }
        Err(self.stuck(limit))
    }

    fn stuck(&self, cycles: u64) -> Stuck {
        Stuck { cycles, beats_left: self.beats.len(), words: self.words.len() }
    }
}
