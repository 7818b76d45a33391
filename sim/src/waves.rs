//! Waves: what an array does, cycle by cycle, as a file for a wave viewer.
//!
//!     run ──▶ Waved<Array> ──observation of each cycle──▶ signals ──changes──▶ VCD or FST
//!
//! Cycle 0 is the first one of the run; a cycle takes ten units of time, in the first half of which the clock is high. The array
//! agrees with the Verilog in every cycle, so these are the Verilog's waves with names for people.
//!
//! | module | holds |
//! |---|---|
//! | [`signals`] | which signals there are, and their values |
//! | [`writer`] | changes of values to bytes |
//! | [`view`] | which signals a viewer shows at first |

pub mod signals;
pub mod view;
pub mod writer;

use crate::array::Array;
use crate::grid::{CycleResult, Grid};
use arch::timing;
use signals::{Moment, Ports, Signal, Value};
use std::ops::Range;
use writer::{WriteWaves, Writer};

/// Units of time per cycle.
pub const CYCLE: u64 = 10;

/// Which cycles of a run are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Window {
    /// All.
    All,
    /// These, counted from the start of the run.
    Cycles(Range<u64>),
    /// Those in which one of these steps is computed.
    Steps(Range<u32>),
}

impl Window {
    fn shows(&self, cycle: u64, step: u32) -> bool {
        match self {
            Window::All => true,
            Window::Cycles(cycles) => cycles.contains(&cycle),
            Window::Steps(steps) => steps.contains(&step),
        }
    }
}

/// An array that is recorded while it runs. The first run is recorded, and nothing outside a run.
pub struct Waved {
    array: Array,
    signals: Vec<Signal>,
    window: Window,
    writer: Option<Writer>,
    /// Values as they stand in the file.
    last: Vec<Option<Value>>,
    cycle: u64,
    recorded: u64,
    running: bool,
    failure: Option<std::io::Error>,
}

impl Waved {
    /// Record `array`, looking into PU `pu`. The signals are those of its machine and image ([`signals::all`]).
    ///
    /// # Errors
    /// The head of the file cannot be written.
    pub fn new(
        mut array: Array,
        pu: u32,
        signals: Vec<Signal>,
        window: Window,
        to: WriteWaves,
    ) -> std::io::Result<Waved> {
        array.watch(pu);
        let writer = Writer::new(to, &signals)?;
        let last = vec![None; signals.len()];
        Ok(Waved {
            array,
            signals,
            window,
            writer: Some(writer),
            last,
            cycle: 0,
            recorded: 0,
            running: false,
            failure: None,
        })
    }

    /// Finish the file; how many cycles it shows.
    ///
    /// # Errors
    /// The file could not be written, then or earlier.
    pub fn finish(&mut self) -> std::io::Result<u64> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some(writer) = self.writer.take() {
            writer.finish(self.cycle * CYCLE)?;
        }
        Ok(self.recorded)
    }

    fn record(&mut self, ports: &Ports<'_>) {
        let Some(seen) = self.array.observation() else { return };
        let active = seen.run_state != "idle";
        if !active {
            // A run that has ended is all we show.
            if self.running {
                self.running = false;
                self.end();
            }
            return;
        }
        self.running = true;
        let cycle = self.cycle;
        self.cycle += 1;
        if !self.window.shows(cycle, seen.step) || self.failure.is_some() {
            return;
        }
        let Some(writer) = &mut self.writer else { return };
        self.recorded += 1;
        let moment = Moment { seen, ports };
        let (signals, last) = (&self.signals, &mut self.last);
        let written = writer.time(cycle * CYCLE).and_then(|()| {
            for (n, signal) in signals.iter().enumerate() {
                let value = (signal.value)(&moment);
                if last[n].as_ref() != Some(&value) {
                    writer.change(n, &value)?;
                    last[n] = Some(value);
                }
            }
            writer.fall(cycle * CYCLE + CYCLE / 2)
        });
        self.failure = written.err();
    }

    fn end(&mut self) {
        if let Some(writer) = self.writer.take() {
            let ended = writer.finish(self.cycle * CYCLE);
            self.failure = self.failure.take().or(ended.err());
        }
    }
}

impl Grid for Waved {
    fn control_write(&mut self, address: u32, data: u32) {
        self.array.control_write(address, data);
        self.record(&Ports { control: Some((true, address, data)), ..Ports::default() });
    }

    fn control_read(&mut self, address: u32) -> u32 {
        let mut value = 0;
        for cycle in 0..timing::CONTROL_READ {
            if cycle == 1 {
                value = self.array.register(address);
            }
            self.array.cycle(None, false);
            self.record(&Ports { control: Some((false, address, value)), ..Ports::default() });
        }
        value
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let result = self.array.cycle(input, output_ready);
        self.record(&Ports { control: None, input, output_ready });
        result
    }
}
