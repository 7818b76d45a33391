//! A board that is not there: its top module under Verilator, at the other end of a line that keeps account of its time.
//!
//! ```text
//! Link ──bytes──▶ SimulatedLine ──▶ BoardDevice (board_top without its serial port, clocked)
//!                       └─▶ Spent: cycles by phase
//! ```
//!
//! Cycles are counted at the grid's clock. The line is simulated faster than it is; what each byte takes longer at the rate of the board is added
//! to the count. While the grid trains from its store those cycles are simulated, too, since the grid works in them.

use crate::failure::Failure;
use crate::project::store::Store;
use arch::link::{LEAST_DIVISOR, Size};
use hdl::store::Sdram;
use hdl::{Design, shell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::link::{Phase, Wire};
use sim::train::engine::Comparison;
use sim::verilator::{BoardDevice, Library, Options};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Clock of the grid, Hz.
    pub clock_hz: u64,
    /// Bits per second of the line.
    pub baud: u32,
    /// How much its host link keeps.
    pub link_size: Size,
    /// Its sample store.
    pub store: Store,
    /// What keeps a training from its store from being faster.
    pub playing: Bound,
}

/// Cycles that a line has spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Since the first byte.
    pub all: u64,
    /// On samples for the store.
    pub upload: u64,
    /// While the grid trained from the store.
    pub play: u64,
    /// What kept that from being faster.
    pub playing: Bound,
    /// Nobody counts any more.
    pub settled: bool,
}

impl Spent {
    /// By one and by two epochs of a part of the samples, which are sent in every epoch: so many epochs of `share` times as many.
    pub fn extrapolated(one: Spent, two: Spent, share: f64, epochs: usize) -> Spent {
        let epoch = two.all - one.all;
        let once = one.all - epoch.min(one.all);
        Spent { all: once + (epoch as f64 * share * epochs as f64).round() as u64, ..Spent::default() }
    }

    /// With more samples: so many times as many rows that are sent to the store, so many times as many that are played.
    #[must_use]
    pub fn stretched(self, sent: f64, played: f64) -> Spent {
        let times = |cycles: u64, factor: f64| (cycles as f64 * factor).round() as u64;
        let (upload, play) = (times(self.upload, sent), times(self.play, played));
        Spent { all: self.all - self.upload - self.play + upload + play, upload, play, ..self }
    }
}

/// What keeps a training from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The store gives it a beat whenever it takes one.
    #[default]
    Grid,
    /// The words of a sample take longer to come from the SDRAM than the sample takes on the grid.
    Store,
    /// Every epoch sends its samples.
    Link,
    /// What a sample gives leaves more slowly than it is computed.
    Output,
}

impl Bound {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Grid => "grid",
            Bound::Store => "store",
            Bound::Link => "link",
            Bound::Output => "output",
        }
    }
}

/// A training on the whole system: board, store, line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Samples that went into updates.
    pub samples: u64,
    /// Epochs of the training.
    pub epochs: usize,
    /// From the first byte sent to the last weight received, at the clock and the rate of the board.
    pub seconds: f64,
    /// Once the samples are on the board.
    pub samples_per_second: f64,
    /// What keeps it from being faster.
    pub bound_by: Bound,
    /// Part of the seconds in which samples were sent to the store.
    pub upload_seconds: f64,
    /// Words compared with the array.
    pub words_compared: u64,
    /// Words that differ.
    pub words_differing: u64,
}

impl System {
    /// Of what was spent at a clock.
    pub fn new(spent: Spent, clock_hz: u64, samples: u64, epochs: usize, comparison: &Comparison) -> System {
        let seconds = |cycles: u64| cycles as f64 / clock_hz as f64;
        let stays = spent.play > 0 && spent.playing != Bound::Link;
        let bound_by = if stays { spent.playing } else { Bound::Link };
        let sustained = if stays { spent.play } else { spent.all };
        System {
            samples,
            epochs,
            seconds: seconds(spent.all),
            samples_per_second: samples as f64 / seconds(sustained.max(1)),
            bound_by,
            upload_seconds: seconds(spent.upload),
            words_compared: comparison.words,
            words_differing: comparison.differing,
        }
    }

    /// Of samples that a stream brings from the memory of a processor, so many cycles each; not simulated.
    pub fn streamed(cycles: f64, bound_by: Bound, clock_hz: u64, samples: u64, epochs: usize) -> System {
        let samples_per_second = clock_hz as f64 / cycles;
        System {
            samples,
            epochs,
            seconds: samples as f64 / samples_per_second,
            samples_per_second,
            bound_by,
            upload_seconds: 0.0,
            words_compared: 0,
            words_differing: 0,
        }
    }

    /// Seconds until so many of the epochs are done.
    pub fn seconds_until(&self, epochs: usize) -> f64 {
        let epoch = self.samples as f64 / self.epochs as f64 / self.samples_per_second;
        self.seconds - (self.epochs - epochs) as f64 * epoch
    }

    /// For people.
    pub fn text(&self) -> String {
        format!(
            "simulated board: {} samples in {:.4} s, {:.4} s of it upload; {:.0} samples per second, bound by the {}\n",
            self.samples,
            self.seconds,
            self.upload_seconds,
            self.samples_per_second,
            self.bound_by.name()
        )
    }
}

/// A line to a verilated board.
pub struct SimulatedLine {
    device: BoardDevice,
    /// Cycles of a byte at the rate of the board.
    byte: u64,
    phase: Phase,
    /// Bytes of the board that the host has not read.
    waiting: VecDeque<u8>,
    spent: Arc<Mutex<Spent>>,
}

/// Bits of a byte on the line.
const BITS: u64 = 10;
/// Cycles of a byte at the fastest rate of a serial port.
const FAST: u32 = BITS as u32 * LEAST_DIVISOR;
/// The same while samples go to the store: more than an SDRAM takes for its share of a row.
const STORED: u32 = 6;
/// The same for predictions after a training, whose cycles do not count: more than the host link takes for it. At 2 it refuses words.
const UNCOUNTED: u32 = 3;
/// Cycles after which a line counts as silent: longer than any answer takes to begin.
const SILENCE: u32 = 20_000;
/// Cycles between two looks at the line.
const LOOK: u32 = 8 * LEAST_DIVISOR;

impl SimulatedLine {
    /// The board of this grid, after power-on, with its store in block memory or in an SDRAM, of which there has to be a model.
    ///
    /// # Errors
    /// Verilator or the C++ compiler is missing or fails.
    pub fn build<'a>(
        design: impl Into<Design<'a>>,
        facts: Facts,
        sdram: Option<&Sdram>,
    ) -> Result<SimulatedLine, Failure> {
        let board = shell::Board {
            pll: None,
            pin_hz: facts.clock_hz,
            grid_hz: facts.clock_hz,
            baud: (facts.clock_hz / u64::from(LEAST_DIVISOR)) as u32,
            link_size: facts.link_size,
            leds: 3,
            lit_by_one: true,
            pressed_is_one: true,
            held: &[],
            store: facts.store.hardware(sdram),
        };
        let rtl = shell::board_of_bytes(design, &board).map_err(|error| Failure::Usage(error.to_string()))?;
        let device = BoardDevice::of_bytes(&Library::build(&rtl, &Options::default())?, FAST, true);
        let divisor = (facts.clock_hz as f64 / f64::from(facts.baud.max(1))).round() as u64;
        let byte = BITS * divisor.max(LEAST_DIVISOR.into());
        let spent = Arc::new(Mutex::new(Spent { playing: facts.playing, ..Spent::default() }));
        Ok(SimulatedLine { device, byte, phase: Phase::Talk, waiting: VecDeque::new(), spent })
    }

    /// What it has spent, as it goes on.
    pub fn spent(&self) -> Arc<Mutex<Spent>> {
        Arc::clone(&self.spent)
    }

    fn count(&mut self, cycles: u64) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.all += cycles;
        match self.phase {
            Phase::Talk => {}
            Phase::Upload => spent.upload += cycles,
            Phase::Play => spent.play += cycles,
        }
    }

    fn run(&mut self, cycles: u32) {
        self.device.run(cycles);
        self.count(cycles.into());
    }

    /// Cycles of a byte as it is simulated.
    fn pace(&self) -> u32 {
        let settled = self.spent.lock().unwrap_or_else(PoisonError::into_inner).settled;
        match self.phase {
            Phase::Upload => STORED,
            Phase::Talk if settled => UNCOUNTED,
            Phase::Talk | Phase::Play => FAST,
        }
    }

    /// So many bytes took longer.
    fn wait_for(&mut self, bytes: usize) {
        let cycles = bytes as u64 * (self.byte - u64::from(self.pace()));
        if self.phase == Phase::Play {
            self.device.run(cycles as u32);
        }
        self.count(cycles);
    }
}

impl Wire for SimulatedLine {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.device.set_pace(self.pace());
        self.device.send(bytes);
        while !self.device.sent() {
            self.run(LOOK);
        }
        self.wait_for(bytes.len());
        self.waiting.extend(self.device.take());
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        // What came while something was sent took no time of its own: the line carries both ways.
        let mut looks = 0;
        while self.waiting.is_empty() && looks < SILENCE / LOOK {
            looks += 1;
            self.run(LOOK);
            let bytes = self.device.take();
            self.wait_for(bytes.len());
            self.waiting.extend(bytes);
        }
        let count = self.waiting.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(self.waiting.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }

    fn phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.device.set_pace(self.pace());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1,000 samples in 10,000 cycles of 1 MHz are 100,000 per second.
    #[test]
    fn cycles_become_seconds() {
        let comparison = Comparison { words: 7, ..Comparison::default() };
        let spent = Spent { all: 50_000, upload: 30_000, play: 10_000, playing: Bound::Store, settled: false };
        let system = System::new(spent, 1_000_000, 1000, 2, &comparison);
        assert_eq!((system.seconds, system.upload_seconds), (0.05, 0.03));
        assert_eq!((system.samples_per_second, system.bound_by), (100_000.0, Bound::Store));
        let text = "simulated board: 1000 samples in 0.0500 s, 0.0300 s of it upload; 100000 samples per second, bound by the store\n";
        assert_eq!(system.text(), text);
        let sent = System::new(Spent { all: 50_000, ..Spent::default() }, 1_000_000, 1000, 2, &comparison);
        assert_eq!((sent.samples_per_second, sent.bound_by), (20_000.0, Bound::Link));
        // 1,000 cycles at the beginning, then 200 for each sample of an epoch.
        let spent = |all: u64| Spent { all, ..Spent::default() };
        assert_eq!(Spent::extrapolated(spent(3_000), spent(5_000), 10.0, 20), spent(1_000 + 20 * 20_000));
        // Ten times the samples, which with the weights are nine times the rows: 10,000 cycles besides.
        let few = Spent { all: 50_000, upload: 30_000, play: 10_000, ..spent(0) };
        assert_eq!(few.stretched(9.0, 10.0), Spent { all: 380_000, upload: 270_000, play: 100_000, ..few });
    }

    /// By hand: 0.06 s, of which the last epoch of two takes 0.005 s.
    #[test]
    fn epochs_take_equally_long() {
        let spent = Spent { all: 60_000, upload: 30_000, play: 10_000, playing: Bound::Grid, settled: false };
        let system = System::new(spent, 1_000_000, 1000, 2, &Comparison::default());
        assert_eq!((system.seconds_until(2), system.seconds_until(1)), (0.06, 0.055));
    }
}
