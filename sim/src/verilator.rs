//! Generated hardware under Verilator, compiled and loaded at run time.
//!
//!     arch::Rtl ──verilator──▶ C++ ──g++ (with our shim)──▶ shared library ──load──▶ Device ──▶ GridDevice
//!                                                            (cached by contents)
//!
//! | module | does |
//! |---|---|
//! | [`installation`] | finds Verilator and the C++ compiler |
//! | [`shim`] | the C interface of one design |
//! | [`build`] | Verilog to shared library |
//! | [`process`] | runs external programs |
//! | [`lint`](mod@lint) | what Verilator has to say against a design |
//! | [`cache`] | keeps finished libraries |
//! | [`device`] | loads libraries, clocks instances; the only unsafe code |
//! | [`grid`] | the instance of a grid behind the common interface |
//! | [`board`] | the instance of a board, with bytes at its serial port |
//!
//! Invariants: nothing is global, so any number of devices of any number of designs live side by side; inputs change only
//! while the clock is low; a library is built once per contents of Verilog, flags and tool versions, by whichever process
//! comes first.

mod board;
mod build;
pub mod cache;
mod device;
mod grid;
mod installation;
mod lint;
mod process;
mod shim;

pub use board::BoardDevice;
pub use device::{Device, Library, PortId};
pub use grid::GridDevice;
pub use lint::lint;

use arch::tools::{MissingTools, Toolbox};
use std::path::PathBuf;
use std::process::ExitStatus;

/// How to build a simulator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Build a simulator that can write waveforms; it is slower.
    pub trace: bool,
    /// Build it for few cycles: it is there in half the time, and several times slower.
    pub brief: bool,
    /// Where Verilator and the compiler are, and where finished simulators are kept.
    pub toolbox: Toolbox,
}

impl Options {
    /// For few cycles, and without waveforms.
    pub fn brief() -> Options {
        Options { brief: true, ..Options::default() }
    }
}

/// Why there is no simulator.
#[derive(Debug, thiserror::Error)]
pub enum VerilatorError {
    /// An external program is not installed.
    #[error(transparent)]
    Missing(#[from] MissingTools),
    /// The installed Verilator is too old.
    #[error("Verilator {found} is too old, 5.006 is the oldest that works; run scripts/setup")]
    Version {
        /// The version found.
        found: String,
    },
    /// An external program failed.
    #[error("{program} failed ({status}):\n{output}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said, or the end of it.
        output: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, e.g. `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A finished library could not be loaded.
    #[error("cannot load {}: {source}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why it failed.
        source: libloading::Error,
    },
}
