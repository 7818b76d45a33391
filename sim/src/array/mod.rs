//! The array, cycle by cycle, in Rust: docs/machine.md executed. It sees what the hardware sees, the control port and the streams.
//!
//!     control port ──▶ programs, tables, registers
//!     input beats  ──▶ loader ──▶ pads ──▶ PEs ──▶ trees ──▶ roots ──▶ buses ──▶ pads
//!                       run states, streams ────▶ beats          └──▶ output FIFO ──▶ words
//!
//! | module | holds |
//! |---|---|
//! | `sequencer` | streams, run states, loader states: which beats are issued when |
//! | `datapath` | what a beat does, and when its results land |
//! | `replay` | steps that repeat earlier ones, whose cycles are not counted one by one |
//! | `bulk` | sums of many beats and lanes at once, with the vector instructions of this processor |
//! | `values` | what a word and a sum can be: `numbers`, the terms of a proof, or nothing: `control` |
//! | [`watch`] | what can be seen of all that, for waves |

mod bulk;
mod control;
mod datapath;
mod numbers;
mod replay;
mod sequencer;
mod stream;
#[cfg(test)]
mod swapped;
pub(crate) mod values;
pub mod watch;

use crate::grid::{CycleResult, Grid};
use arch::Image;
use arch::machine::Machine;
use arch::registers::{self, Region};
use arch::timing;
use datapath::Datapath;
use replay::Steps;
use sequencer::{Beats, Sequencer};
use std::collections::VecDeque;
use std::sync::Arc;
use values::Values;
use watch::Observation;

/// One simulated grid.
#[derive(Debug)]
pub struct Array {
    sequencer: Sequencer,
    datapath: Box<dyn Datapath>,
    /// Beats that have been carried out, to be overwritten.
    spare: Option<Arc<Beats>>,
    /// Steps that are known; none where each cycle is counted by itself.
    known: Option<Steps>,
    /// Which image is part of the grid; 0: none, programs are loaded.
    image: u32,
    /// An abort was written in the cycle before.
    halting: bool,
    /// What was seen in the last cycle, while somebody watches.
    observation: Option<Box<Observation>>,
}

impl Array {
    /// A grid after reset.
    pub fn new(machine: &Machine) -> Array {
        Array { known: Some(Steps::default()), ..Array::with(machine, datapath::new(machine)) }
    }

    /// A grid after reset that counts each cycle, and computes each beat and each lane by itself: the slow twin of [`Array::new`], to compare it with.
    pub fn beat_by_beat(machine: &Machine) -> Array {
        Array::with(machine, datapath::beat_by_beat(machine))
    }

    /// A grid after reset that holds nothing and sends zeros, each in the cycle in which the grid would send a word: for who counts cycles.
    pub fn without_words(machine: &Machine) -> Array {
        Array::of(machine, control::Control)
    }

    /// A grid after reset that computes with something else than numbers: what goes in and out stands for it.
    pub(crate) fn of<V: Values>(machine: &Machine, values: V) -> Array {
        Array::with(machine, datapath::of(machine, values))
    }

    fn with(machine: &Machine, datapath: Box<dyn Datapath>) -> Array {
        let sequencer = Sequencer::new(machine);
        Array { sequencer, datapath, spare: None, known: None, image: 0, halting: false, observation: None }
    }

    /// A grid that holds this image for ever, after reset (docs/machine.md, section 7).
    ///
    /// # Panics
    /// When an instruction does not fit its machine: the compiler has checked that.
    pub fn fixed(image: &Image) -> Array {
        let mut array = Array::new(&image.machine);
        for (address, data) in image.control_writes() {
            array.take_write(address, data);
        }
        array.image = image.identity();
        array
    }

    /// A write that is not a start.
    fn take_write(&mut self, address: u32, data: u32) {
        let low = address % (1 << registers::REGION_BITS);
        if let Some(known) = self.known.as_mut().filter(|_| address != registers::STEPS) {
            known.forget();
        }
        // Of a grid with an image only the number of steps can be written.
        if self.image != 0 && address != registers::STEPS {
            return;
        }
        if let Some((region, instruction, chunk)) = Region::program_of(address) {
            self.sequencer.write_program(region, [instruction, chunk], data);
            return;
        }
        match address >> registers::REGION_BITS {
            0 => self.sequencer.write_register(low, data),
            region if region == Region::Tables as u32 => {
                let (entry, chunk) = (low / registers::ENTRY_CHUNKS, low % registers::ENTRY_CHUNKS);
                self.datapath.write_table(entry, chunk, data);
            }
            _ => {}
        }
    }

    /// From now on, look into every cycle of the sequencer.
    pub fn watch_streams(&mut self) {
        self.observation = Some(Box::default());
    }

    /// From now on, look into every cycle and into this PU.
    ///
    /// # Panics
    /// When the grid has no such PU.
    pub fn watch(&mut self, pu: u32) {
        self.datapath.watch(pu as usize);
        self.watch_streams();
    }

    /// What was seen in the last cycle; `None` unless [watched](Array::watch).
    pub fn observation(&self) -> Option<&Observation> {
        self.observation.as_deref()
    }

    /// Whether steps are computed; not while weights are loaded or emitted.
    pub fn steps(&self) -> bool {
        self.sequencer.steps()
    }

    fn advance(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let halting = std::mem::take(&mut self.halting);
        let result = self.run(input, output_ready);
        if halting {
            self.sequencer.halt();
            self.datapath.reset();
            self.stop_recording();
        }
        result
    }

    fn run(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let output = self.datapath.output();
        let popped = !output.is_empty() && output_ready;
        let input_taken = input.is_some() && self.sequencer.input_ready();
        if let Some(seen) = &mut self.observation {
            self.sequencer.observe(seen);
            seen.output.clone_from(&output);
        }
        let ready = (input.is_some() || !self.sequencer.input_ready()) && (output.is_empty() || output_ready);
        if let Some(known) = &mut self.known {
            known.before(&self.sequencer, &*self.datapath);
        }
        let mut beats = self.spare.take().unwrap_or_default();
        self.sequencer.cycle(input_taken, popped && self.datapath.ends_beat(), Arc::make_mut(&mut beats));
        if let Some(known) = &mut self.known {
            known.note(&beats, [input_taken, popped, ready]);
        }
        let issued = [
            beats.alu.is_some(),
            beats.root.is_some(),
            beats.moves.is_some(),
            beats.load.is_some(),
            beats.scalar.is_some(),
        ];
        self.spare = self.datapath.cycle(beats, if input_taken { input } else { None }, popped);
        if let Some(seen) = &mut self.observation {
            for (stream, issued) in seen.streams.iter_mut().zip(issued) {
                stream.issued = issued;
            }
            seen.saturated = self.datapath.saturated();
            self.datapath.observe(&mut seen.pu);
        }
        CycleResult { input_taken, output: if popped { output } else { Vec::new() } }
    }
}

impl Array {
    /// A step that has not ended does not end in the next one.
    fn stop_recording(&mut self) {
        if let Some(known) = &mut self.known {
            known.stop();
        }
    }

    /// Synchronous reset; memories keep their contents, as in the hardware.
    pub fn reset(&mut self) {
        self.stop_recording();
        self.sequencer.reset();
        self.datapath.reset();
        self.halting = false;
    }

    /// The sums of a batch that has not ended, unrounded: the first words of the gradient pads, address by address, all PEs side by side (docs/machine.md,
    /// section 8). The grid is idle.
    pub fn sums(&mut self, addresses: u32) -> Vec<i128> {
        assert!(self.sequencer.idle(), "sums are handed out between runs");
        self.datapath.parked(addresses)
    }

    /// Put sums back, modulo `2^accumulator`. The next run goes on with their batch: its first step is no first tile. The grid is idle.
    ///
    /// # Panics
    /// When they are more than the gradient pads hold.
    pub fn go_on_with(&mut self, sums: &[i128]) {
        assert!(self.sequencer.idle(), "sums are put back between runs");
        self.datapath.put_back(sums);
        self.sequencer.go_on();
    }

    /// What a register of the control port holds in this cycle.
    pub fn register(&self, address: u32) -> u32 {
        let value = if address == registers::IMAGE { self.image } else { self.sequencer.read_register(address) };
        let saturated = address == registers::CONTROL && self.datapath.saturated();
        if saturated { value | registers::SATURATED } else { value }
    }
}

impl Grid for Array {
    fn control_write(&mut self, address: u32, data: u32) {
        // A write takes effect in the next cycle, so this cycle runs first.
        let idle = self.sequencer.idle();
        self.advance(None, false);
        let low = address & 0xffff;
        match address >> 16 {
            0 if low == registers::CONTROL && data & registers::ABORT != 0 => self.halting = true,
            0 if low == registers::CONTROL && idle && data & registers::START != 0 => {
                self.sequencer.ask(data);
                self.stop_recording();
                self.datapath.clear_saturated();
            }
            _ => self.take_write(address, data),
        }
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.advance(None, false);
        let value = self.register(address);
        for _ in 1..timing::CONTROL_READ {
            self.advance(None, false);
        }
        value
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        self.advance(input, output_ready)
    }

    fn repeat(
        &mut self,
        offered: &mut VecDeque<Vec<i64>>,
        more: &mut dyn FnMut() -> Option<Vec<i64>>,
        words: &mut Vec<i64>,
    ) {
        let Array { sequencer, datapath, known: Some(known), halting: false, observation: None, .. } = self else {
            return;
        };
        while known.step(sequencer, &mut **datapath, offered, more, words) {}
    }

    fn array(&mut self) -> Option<&mut Array> {
        Some(self)
    }
}
