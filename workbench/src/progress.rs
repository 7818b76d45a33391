//! Progress reports to a caller, and cancellation.
//!
//! ```text
//! caller ──▶ Training::run(.., &progress) ──▶ begins, epoch, epoch, .., ends
//!                 ▲                              │
//!                 └─────── cancelled? ◀──────────┘
//! ```

use crate::checkpoint::Checkpoint;
use crate::failure::{Failure, Source};
use arch::{Diagnostic, Machine};
use sim::train::settings::Reduction;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody who watches. Every method has a default that hears nothing and stops nothing; `()` is such a watcher.
pub trait Progress: Sync {
    /// Something the caller may want to know.
    fn note(&self, note: &Note) {
        let _ = note;
    }

    /// Warnings about a text of the user's.
    fn warnings(&self, source: &Source, warnings: &[Diagnostic]) {
        let _ = (source, warnings);
    }

    /// A training begins on an engine; `done` of its epochs were done before.
    fn begins(&self, engine: &str, epochs: usize, done: usize) {
        let _ = (engine, epochs, done);
    }

    /// Whether [`Progress::epoch`] is to be told the loss, which takes a prediction of some samples.
    fn wants_loss(&self) -> bool {
        false
    }

    /// An epoch is done, the first one is 1.
    fn epoch(&self, engine: &str, epoch: usize, loss: Option<f64>) {
        let _ = (engine, epoch, loss);
    }

    /// A board that trains from its sample store has done so many epochs of it.
    fn played(&self, engine: &str, epochs: usize) {
        let _ = (engine, epochs);
    }

    /// The training on an engine is over.
    fn ends(&self, engine: &str) {
        let _ = engine;
    }

    /// Whether [`Progress::checkpoint`] is to be called.
    fn wants_checkpoints(&self) -> bool {
        false
    }

    /// What has been reached after an epoch.
    ///
    /// # Errors
    /// The caller cannot keep it, and the training stops.
    fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        let _ = checkpoint;
        Ok(())
    }

    /// Whether the work is to stop; asked after each epoch.
    fn cancelled(&self) -> bool {
        false
    }

    /// From now on (or no longer) the work asks [`Progress::cancelled`] often.
    fn listens(&self, listens: bool) {
        let _ = listens;
    }
}

impl Progress for () {}

/// Something the caller may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// No data is named: sizes are those of the program, binary points come from made-up samples.
    MadeUpSamples,
    /// No records are named: binary points come from made-up values.
    MadeUpRecords,
    /// An epoch has samples that fill no batch.
    LeftOver {
        /// How many.
        left: usize,
        /// Of how many samples.
        count: usize,
        /// Samples per update.
        batch: usize,
        /// What happens to them.
        reduction: Reduction,
    },
    /// The board has no sample store.
    NoStore,
    /// The board has a sample store, which cannot play an order that is drawn anew.
    StoreIdle,
    /// The board has a sample store, which plays batches in the order in which they lie there, and in no other.
    StoreInOrder,
    /// The board has a sample store, which does not hold an epoch.
    StoreTooSmall {
        /// Rows of an epoch.
        needed: u64,
        /// Rows of the store.
        has: u32,
        /// They go through the store, which plays meanwhile, since rows are shorter than beats.
        streams: bool,
    },
    /// The configuration belongs to another program: its clock, depths and grid are adapted.
    Adapted {
        /// The machine in place of its own.
        machine: Machine,
        /// The clock, MHz.
        clock_mhz: f64,
    },
    /// The generated Verilog is made a simulator.
    Simulates(Machine),
    /// A step on the way to a bitstream.
    Makes {
        /// What it is.
        text: String,
        /// Whether only those who want to know more care.
        detail: bool,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::MadeUpSamples => {
                write!(f, "no data given: sizes as in the program, binary points from made-up samples")
            }
            Note::MadeUpRecords => {
                write!(f, "no records given: binary points from made-up values between -2 and 2")
            }
            Note::LeftOver { left, count, batch, reduction: Reduction::Mean } => write!(
                f,
                "the last {left} of {count} samples of each epoch make no full batch of {batch} and are left out (reduction = \"mean\")"
            ),
            Note::LeftOver { left, reduction: Reduction::Sum, .. } => {
                write!(f, "the last batch of each epoch has {left} samples (reduction = \"sum\")")
            }
            Note::NoStore => write!(f, "the board has no sample store: all samples are sent in every epoch"),
            Note::StoreIdle => write!(
                f,
                "order = \"shuffled\" sends all samples in every epoch; with --order store or permuted the board keeps them"
            ),
            Note::StoreInOrder => write!(
                f,
                "the board's sample store plays in one order only: order = \"permuted\" sends all samples in every epoch; a bitstream that was \
                 made with it keeps them"
            ),
            Note::StoreTooSmall { needed, has, streams } => {
                write!(
                    f,
                    "the samples take {needed} rows, the board's sample store has {has}: they are sent in every epoch"
                )?;
                if *streams { write!(f, ", through the store, which plays meanwhile") } else { Ok(()) }
            }
            Note::Adapted { machine, clock_mhz } => write!(
                f,
                "the configuration was measured with another program; for this one {machine}, {clock_mhz} MHz"
            ),
            Note::Makes { text, .. } => f.write_str(text),
            Note::Simulates(machine) => write!(f, "simulating the Verilog of {machine}"),
        }
    }
}

/// A wish to stop, which may come from another thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ask the work to stop; whether that had been asked before.
    pub fn ask(&self) -> bool {
        self.0.swap(true, Ordering::SeqCst)
    }

    /// Whether the work is to stop.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// While this lives, the work asks whether it is to stop.
pub(crate) struct Listening<'a>(&'a dyn Progress);

impl Listening<'_> {
    pub(crate) fn begin(progress: &dyn Progress) -> Listening<'_> {
        progress.listens(true);
        Listening(progress)
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.listens(false);
    }
}
