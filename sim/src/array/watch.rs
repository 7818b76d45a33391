//! Observable state of an array in one cycle: registers of the sequencer, one PU and its PEs, trees and buses.
//!
//! Sequencer, streams, trees, buses and the pads' write ports are seen in the cycle in which the hardware has these values. Operands
//! and sums of a PE are seen in the cycle in which the beat reaches the PE, all at once; the hardware takes them through its
//! pipeline (docs/machine.md section 3).

use arch::isa::{LEVELS, Pad};

/// One cycle.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// State of the run.
    pub run_state: &'static str,
    /// State of the loader.
    pub load_state: &'static str,
    /// The step that is computed or comes next, counted from 0.
    pub step: u32,
    /// Steps that are not done.
    pub steps_left: u32,
    /// Cycles left in the step.
    pub timer: u32,
    /// Bank that is computed on.
    pub bank: u32,
    /// Whether the step is the first tile of its batch, and whether it is the last one.
    pub tile: [bool; 2],
    /// Bank that is filled.
    pub load_bank: u32,
    /// Which banks are full.
    pub full: [bool; 2],
    /// Beats that the output has room for.
    pub credits: u32,
    /// Whether a beat of input would be taken.
    pub input_ready: bool,
    /// The words at the output, lane by lane; none if there is no beat.
    pub output: Vec<i64>,
    /// The sticky status.
    pub saturated: bool,
    /// Streams alu, root, move, load, scalar.
    pub streams: [StreamView; 5],
    /// The PU that is watched.
    pub pu: PuView,
}

/// One stream of the sequencer.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamView {
    /// Number of the current instruction.
    pub instruction: Option<usize>,
    /// Its loop counters.
    pub counters: [u32; LEVELS],
    /// Cycles until its first beat.
    pub delay: u32,
    /// Cycles until its next beat.
    pub interval: u32,
    /// Whether it issues a beat in this cycle.
    pub issued: bool,
}

/// One PU.
#[derive(Debug, Clone, Default)]
pub struct PuView {
    /// Whether a beat of the alu stream reaches the PEs.
    pub beat: bool,
    /// Its PEs, from column 0 on.
    pub pes: Vec<PeView>,
    /// Pad and address that results are written to in this cycle.
    pub write: Option<(Pad, usize)>,
    /// Sum at the output of this PU's row tree; 0 when nothing arrives.
    pub row_tree: i128,
    /// Sum at the output of the global tree; 0 when nothing arrives.
    pub global_tree: i128,
    /// The row bus register.
    pub row_bus: i64,
    /// The global bus register.
    pub global_bus: i64,
    /// Beats in the output FIFO.
    pub fifo: usize,
    /// The scalar unit, where there is one.
    pub scalar: PeView,
}

/// One PE, or the scalar unit.
#[derive(Debug, Clone, Copy, Default)]
pub struct PeView {
    /// Whether the mask lets it take part.
    pub taken: bool,
    /// First factor.
    pub a: i64,
    /// Second factor.
    pub b: i64,
    /// Where a sum starts; 0 in the middle of one.
    pub c: i64,
    /// The accumulator after the beat.
    pub sum: i128,
    /// The word that is written in this cycle.
    pub result: Option<i64>,
}
