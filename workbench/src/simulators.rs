//! The generated Verilog as a simulator.

use crate::failure::Failure;
use crate::progress::{Note, Progress};
use arch::Machine;
use sim::verilator::{GridDevice, Library, Options};

/// A verilated grid; any number of devices share it.
pub struct Simulator {
    library: Library,
}

impl Simulator {
    /// Build it, or take it from the cache.
    ///
    /// # Errors
    /// Verilator or the C++ compiler is missing or fails.
    pub fn build(machine: &Machine, progress: &dyn Progress) -> Result<Simulator, Failure> {
        progress.note(&Note::Simulates(machine.clone()));
        Ok(Simulator { library: Library::build(&hdl::elaborate(machine), &Options::default())? })
    }

    /// A grid after reset.
    pub fn device(&self, machine: &Machine) -> GridDevice {
        GridDevice::new(&self.library, machine)
    }
}
